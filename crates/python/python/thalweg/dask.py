"""Lands on many machines, by Dask.

Dask's workers make the tiles of a land into one store, a folder that all of them can write to. A
tile is a task whose name is the tile's key, and a tile that is in the store is not made again. So
tasks may be tried again, on any worker, and what a lost worker has made is not lost.

>>> import thalweg.dask
>>> land = thalweg.dask.array("world", "tiles", window=(100_000, 40_000, 4096, 4096))
>>> land.mean().compute()
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
from typing import TYPE_CHECKING, Any

from dask.array import Array
from dask.array.core import normalize_chunks
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from . import _arguments as arguments
from ._recipe import Recipe, RecipeLike
from ._world import World

if TYPE_CHECKING:
    import numpy as np

__all__ = ["array", "tiles"]

#: Column and row of the north-west cell, and cells.
Window = tuple[int, int, int, int]


def tiles(
    recipe: RecipeLike,
    store: str | os.PathLike,
    *,
    window: Window | None = None,
    level: int = 0,
    side: int = 512,
    device: str | int = "auto",
    threads: int = 1,
    retries: int = 3,
) -> list[Delayed]:
    """The tiles of a window of a land, as tasks that make them into a store.

    Parameters
    ----------
    recipe : dict, str, os.PathLike or Recipe
        What to make: see `thalweg.Recipe`. The workers need the files that it names, too, under
        the same paths.
    store : str or os.PathLike
        The folder of the tiles, which all workers share.
    window : (x, y, width, height), optional
        Column and row of its north-west cell, and cells, on the lattice of the level. All of the
        land if not given; of a land without an end, the window that `thalweg.run` makes.
    level : int
        0 is the recipe's lattice; each next one has cells twice as wide.
    side : int
        Cells a side of a tile, 16 to 16384. It changes the time and not the values.
    device : str or int
        As of `thalweg.run`; each worker looks for its own.
    threads : int
        Threads of a task, 1 to 65535. Give workers as many cores as they run tasks at a time,
        times this.
    retries : int
        How often a task that fails is tried again.

    Returns
    -------
    list of dask.delayed.Delayed
        The tiles that cover the window, row by row. Each depends on the coarser tiles that it is
        made from, and its value is its key. ``dask.compute(*tiles(…))`` makes them all.

    Raises
    ------
    RecipeError
        For what is not allowed, for a land that has no tiles, and for a window beyond the land.
    """
    land = _Land(recipe, store, window, level, side, device, threads)
    layer, last = land.layer(retries)
    graph = HighLevelGraph({layer[0]: layer[1]}, {layer[0]: set()})
    return [Delayed(_task(tile["key"]), graph, layer=layer[0]) for tile in last]


def array(
    recipe: RecipeLike,
    store: str | os.PathLike,
    *,
    window: Window | None = None,
    level: int = 0,
    field: str = "height",
    chunks: Any = None,
    side: int = 512,
    device: str | int = "auto",
    threads: int = 1,
    retries: int = 3,
) -> Array:
    """A map of a window of a land, as an array whose blocks are made when they are asked for.

    A block is read from the store once the tiles that it needs are there. What one part of the
    array has made serves all others, and all other arrays of the same store.

    Parameters
    ----------
    recipe, store, window, level, side, device, threads, retries
        As of `tiles`.
    field : str
        The name of a map that the recipe leaves: see `thalweg.World.names`.
    chunks : int, tuple or str, optional
        Cells of blocks, as Dask has them. `side` cells a side if not given.

    Returns
    -------
    dask.array.Array
        float32 of the shape (height, width), in the unit of the map.

    Raises
    ------
    RecipeError
        For what is not allowed, for a land that has no tiles or no such map, and for a window
        beyond the land.
    """
    import numpy as np

    maps = None if field == "height" else [field]
    land = _Land(recipe, store, window, level, side, device, threads, maps)
    if field not in land.world.names:
        # This raises what is wrong.
        land.world.window(*land.window[:2], 1, 1, level=land.level, field=field)
    x0, y0, width, height = land.window
    rows, columns = normalize_chunks(chunks or side, (height, width), dtype=np.float32)
    tops, lefts = _starts(y0, rows), _starts(x0, columns)
    blocks = [
        (left, top, columns[j], rows[i])
        for (i, top), (j, left) in itertools.product(enumerate(tops), enumerate(lefts))
    ]
    (tiles_name, tiles_layer), last = land.layer(retries)
    keys = {(tile["x"], tile["y"]): tile["key"] for tile in last}
    needed = land.world._native.needed(blocks, land.level)
    name = "thalweg-" + _digest(tiles_name, field, *map(str, (rows, columns)))
    places = itertools.product(range(len(rows)), range(len(columns)))
    tasks = {
        (name, i, j): (_read, land.task, block, land.level, field, [_task(keys[at]) for at in ats])
        for (i, j), block, ats in zip(places, blocks, needed, strict=True)
    }
    layers = {
        tiles_name: tiles_layer,
        name: MaterializedLayer(tasks, annotations={"retries": retries}),
    }
    graph = HighLevelGraph(layers, {tiles_name: set(), name: {tiles_name}})
    return Array(graph, name, (rows, columns), meta=np.empty((0, 0), np.float32))


class _Land:
    """A window of a land, and the task that tells workers which land."""

    def __init__(self, recipe, store, window, level, side, device, threads, maps=None):
        recipe = Recipe(recipe)
        if maps and not set(maps) <= set(recipe.maps):
            recipe = recipe.changed(maps=[*recipe.maps, *maps])
        # Workers may have another working folder.
        store = os.path.abspath(store)
        threads = arguments.whole("threads", threads, 1, 65535)
        options = {"side": side, "device": arguments.device(device), "threads": threads}
        self.world = World(recipe, store=store, **options)
        self.level = arguments.whole("level", level, -64, 64)
        given = self.world.extent(level=self.level) if window is None else window
        self.window = arguments.window(given)
        self.described = (recipe, store, tuple(options.items()))
        self.task = "thalweg-land-" + _digest(repr(self.described[1:]), recipe.to_toml())

    def layer(self, retries):
        """The layer of the tiles with its name, and the tiles of the window's level."""
        retries = arguments.whole("retries", retries, 0, 2**31)
        graph = self.world.graph(*self.window, level=self.level)
        tasks: dict[Any, Any] = {self.task: (_described, *self.described)}
        for tile in graph:
            place = {name: tile[name] for name in ("level", "slab", "x", "y", "key")}
            inputs = [_task(key) for key in tile["inputs"]]
            tasks[_task(tile["key"])] = (_make, self.task, place, inputs)
        last = [tile for tile in graph if tile["level"] == self.level and tile["slab"] == 0]
        name = "thalweg-tiles-" + _digest(self.task, *(tile["key"] for tile in last))
        return (name, MaterializedLayer(tasks, annotations={"retries": retries})), last


def _starts(first: int, sizes: tuple[int, ...]) -> list[int]:
    return list(itertools.accumulate(sizes[:-1], initial=first))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


def _task(key: str) -> str:
    """The name of the task of a tile."""
    return "thalweg-tile-" + key


def _described(recipe: Recipe, store: str, options: tuple) -> tuple:
    return recipe, store, options


@functools.lru_cache(maxsize=8)
def _world(recipe: Recipe, store: str, options: tuple) -> World:
    """The world of a land in this process."""
    return World(recipe, store=store, **dict(options))


def _make(land: tuple, tile: dict[str, Any], inputs: list[str]) -> str:
    """Makes a tile whose inputs are there."""
    _world(*land).make(tile)
    return tile["key"]


def _read(land: tuple, block: Window, level: int, field: str, tiles: list[str]) -> np.ndarray:
    """Reads a block whose tiles are there."""
    return _world(*land).window(*block, level=level, field=field)
