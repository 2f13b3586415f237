"""Windows of lands that are too large to make at once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
            *arguments.window((x, y, width, height), least=0),
            whole("level", level, -64, 64),
            field,
            whole("priority", priority, -far, far),
        )

    def extent(self, *, level: int = 0) -> tuple[int, int, int, int]:
        """The land on a level; of a land without an end, the window that `run` makes.

        Parameters
        ----------
        level : int
            As of `window`.

        Returns
        -------
        x, y, width, height : int
            Column and row of the north-west cell, and cells.

        Raises
        ------
        RecipeError
            For a level that the land does not have.
        """
        return self._native.extent(arguments.whole("level", level, -64, 64))

    def graph(
        self, x: int, y: int, width: int, height: int, *, level: int = 0
    ) -> list[dict[str, Any]]:
        """The tiles that a window is made of, and those that they are made from.

        They are what ``thalweg tiles --list`` prints. To make them on several machines, call
        `make` for each once its inputs are made; `thalweg.dask` does that.

        Parameters
        ----------
        x, y, width, height, level
            As of `window`, with 1 cell or more a side.

        Returns
        -------
        list of dict
            The coarsest tiles first: each comes after its inputs. A tile has ``level``, ``slab``,
            ``x`` and ``y``, its place among the tiles; ``key``, a digest of all that its words
            depend on; ``inputs``, the keys of the tiles that it is made from; ``layer``, 0 for
            the coarsest; ``file``, its file in a store; ``origin``, ``width`` and ``height``, in
            cells of its level; and what it costs: ``worked_cells``, its own and its halo's;
            ``work``, passes over cells, which are proportional to the time; ``store_bytes`` and
            ``memory_bytes``, about.

        Raises
        ------
        RecipeError
            For a level that the land does not have, and for a window beyond the land.
        """
        window = arguments.window((x, y, width, height))
        return json.loads(self._native.graph(window, arguments.whole("level", level, -64, 64)))

    def make(self, tile: Mapping[str, Any]) -> int:
        """Make a tile and those that it needs, unless the store has them.

        It works on `threads` threads of the CPU. Ctrl-C ends it.

        Parameters
        ----------
        tile : dict
            ``level``, ``x`` and ``y``, and ``slab`` and ``key`` where they are known, as `graph`
            has them.

        Returns
        -------
        int
            How many tiles were made: 0 if the store had it, 1 if it had all inputs.

        Raises
        ------
        RecipeError
            For a tile beyond the land, for one that has another key than ``tile["key"]``, and for
            a world without a store.
        LimitError
            For a tile that does not fit into memory.
        """
        whole, far = arguments.whole, arguments.PLACE_MAX
        return self._native.make(
            whole("level", tile["level"], -64, 64),
            whole("slab", tile.get("slab", 0), 0, arguments.CELLS_MAX),
            whole("x", tile["x"], -far, far),
            whole("y", tile["y"], -far, far),
            tile.get("key"),
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
        """How many tiles were made for windows, and how many the store had."""
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
