#!/usr/bin/env python3
"""What the Python door and Dask cost beside the work itself.

    benches/python/overhead.py

Prints, as medians of rounds that take turns:

- `thalweg.run` of `mountains` at 1024 x 1024, with its height as an array, beside the sum of its
  stages, which the library reports;
- 64 tiles of `world`, each with its halo, by two workers of Dask, beside two processes that share
  the same tiles out among themselves with nothing but a queue.

It needs the packages thalweg, dask, distributed and a quiet machine with two cores.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time

import thalweg
import thalweg.dask
from dask.distributed import Client, LocalCluster

ROUNDS = 5
#: 8 x 8 tiles of 512 cells.
WINDOW = (0, 0, 4096, 4096)
LEVEL = 2


def run_seconds() -> tuple[float, float]:
    """Seconds of a run with its array, and of its stages alone."""
    begin = time.perf_counter()
    land = thalweg.run("mountains", size=1024, device="cpu")
    land["height"]
    seconds = time.perf_counter() - begin
    return seconds, sum(stage["seconds"] for stage in land.report["stages"])


_world = None


def _open(store: str) -> None:
    global _world
    _world = thalweg.World("world", store=store, side=512, device="cpu", threads=1)


def _make(tile: dict) -> None:
    _world.make(tile)


def plain_seconds(store: str) -> float:
    """Seconds of two processes that take the same tiles from a queue, level by level."""
    graph = thalweg.World("world", store=store, side=512, device="cpu").graph(*WINDOW, level=LEVEL)
    layers: dict[tuple, list] = {}
    for tile in graph:
        layers.setdefault((-tile["level"], -tile["slab"]), []).append(tile)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2, _open, (store,)) as pool:
        pool.map(abs, range(2))
        begin = time.perf_counter()
        for layer in sorted(layers):
            pool.map(_make, layers[layer], chunksize=1)
        return time.perf_counter() - begin


def dask_seconds(client: Client, store: str) -> float:
    begin = time.perf_counter()
    tiles = thalweg.dask.tiles("world", store, window=WINDOW, level=LEVEL, device="cpu")
    client.gather(client.compute(tiles))
    return time.perf_counter() - begin


def ratio(name: str, pairs: list[tuple[float, float]], of: tuple[str, str]) -> None:
    ratios = sorted(a / b for a, b in pairs)
    first, second = (statistics.median(column) for column in zip(*pairs))
    print(
        f"{name}: {of[0]} {first:.3f} s, {of[1]} {second:.3f} s, ratio "
        f"{statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
    )


def main() -> None:
    ratio("1024 x 1024", [run_seconds() for _ in range(ROUNDS)], ("in Python", "stages"))
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        client.submit(int).result()
        pairs = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                pairs.append((dask_seconds(client, one), plain_seconds(other)))
        ratio("64 tiles, two workers", pairs, ("Dask", "plain"))


if __name__ == "__main__":
    main()
