"""Windows of lands that are too large to make at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _arguments as arguments
from . import _thalweg
from ._recipe import Recipe, RecipeLike

if TYPE_CHECKING:
    import numpy as np


class World:
    """A land of any size, or without an end, of which windows are made from tiles.

    What a window has is what one run of the whole land has there, so windows that overlap have the
    same values. Workers in the background share the tiles. Any thread may ask for windows, and
    several at a time. A process that was forked has workers of its own.

    Parameters
    ----------
    recipe : dict, str, os.PathLike or Recipe
        What to make: see `Recipe`. ``"world"`` is an example without an end.
    store : str or os.PathLike, optional
        A folder for tiles, which other processes and runs may share. Without it they stay in
        memory, up to `memory_bytes`.
    device : str or int
        As of `run`.
    threads : int
        Workers; 0: one a core of the CPU, and one on a graphics card.
    seed : int, optional
        Another seed, 0 to 2⁶⁴ − 1.
    maps : sequence of str, optional
        The maps that windows can be of, beside the height; those of the recipe if not given.
    side : int, optional
        Cells a side of a tile, 128 if not given. It changes the time and not the values.
    memory_bytes : int, optional
        Bytes of tiles that stay in memory.

    Raises
    ------
    RecipeError
        For what is not allowed, and for a land that has no tiles.
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        recipe: RecipeLike,
        *,
        store: str | os.PathLike | None = None,
        device: str | int = "auto",
        threads: int = 0,
        seed: int | None = None,
        maps: Sequence[str] | None = None,
        side: int | None = None,
        memory_bytes: int | None = None,
    ):
        changed = Recipe(recipe)
        if seed is not None or maps is not None:
            changed = changed.changed(seed=seed, maps=maps)
        whole = arguments.whole
        self._native = _thalweg.World(
            changed._native,
            store,
            arguments.device(device),
            whole("threads", threads, 0, 65535),
            side if side is None else whole("side", side, 0, arguments.CELLS_MAX),
            memory_bytes
            if memory_bytes is None
            else whole("memory_bytes", memory_bytes, 0, arguments.SEED_MAX),
        )

    def window(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        *,
        level: int = 0,
        field: str = "height",
        priority: int = 0,
    ) -> np.ndarray:
        """A map of a window. It waits until the window is there; Ctrl-C ends the wait.

        Parameters
        ----------
        x, y : int
            Column and row of its north-west cell in the world, on the lattice of the level.
        width, height : int
            Cells, 1 or more.
        level : int
            0 is the recipe's lattice; each next one has cells twice as wide.
        field : str
            The name of a map: see `names`.
        priority : int
            Of the windows that threads wait for, the one of the highest is made first.

        Returns
        -------
        numpy.ndarray
            float32 of the shape (height, width), in the unit of the map.

        Raises
        ------
        RecipeError
            For a level or a map that the land does not have, and for a window beyond the land.
        LimitError
            For a window that does not fit into memory.
        """
        whole, far = arguments.whole, arguments.PLACE_MAX
        return self._native.window(
            whole("x", x, -far, far),
            whole("y", y, -far, far),
            whole("width", width, 0, arguments.CELLS_MAX),
            whole("height", height, 0, arguments.CELLS_MAX),
            whole("level", level, -64, 64),
            field,
            whole("priority", priority, -far, far),
        )

    @property
    def recipe(self) -> Recipe:
        """The recipe."""
        return Recipe._of(self._native.recipe)

    @property
    def spacing_m(self) -> float:
        """Metres from a cell of level 0 to the next."""
        return self._native.spacing_m

    @property
    def names(self) -> list[str]:
        """The maps that windows can be of."""
        return self._native.names

    @property
    def counts(self) -> tuple[int, int]:
        """How many tiles were made, and how many the store had."""
        return self._native.counts

    def __repr__(self) -> str:
        recipe = self.recipe
        size = "x".join(map(str, recipe.size or ())) + " cells"
        extent = "without an end" if recipe.endless else size
        return f"<thalweg.World {recipe.name!r}, {extent}, seed {recipe.seed}>"


def window(
    recipe: RecipeLike,
    x: int,
    y: int,
    width: int,
    height: int,
    level: int = 0,
    store: str | os.PathLike | None = None,
    field: str = "height",
    *,
    device: str | int = "auto",
    threads: int = 0,
) -> np.ndarray:
    """A map of one window of a land. For several windows make a `World`, which keeps its tiles.

    Parameters
    ----------
    recipe, store, device, threads
        As of `World`.
    x, y, width, height, level, field
        As of `World.window`.

    Returns
    -------
    numpy.ndarray
        float32 of the shape (height, width), in the unit of the map.
    """
    read = Recipe(recipe)
    maps = None if field == "height" or field in read.maps else [*read.maps, field]
    world = World(read, store=store, device=device, threads=threads, maps=maps)
    return world.window(x, y, width, height, level=level, field=field)
