"""Tiles by Dask have the words of one run, whatever becomes of workers."""

import os
import shutil
import signal

import dask
import numpy as np
import pytest

import thalweg
import thalweg.dask
from dask.distributed import Client, LocalCluster

# An endless land of two levels, with a map that looks beyond its window.
WORLD = """
schema = 2
seed = 5
width = 256
height = 200
origin = [30, -50]
spacing_m = 20
endless = true
levels = 2
[[stage]]
kind = "noise"
relief_m = 900
[[stage]]
kind = "thermal"
steps = 8
[output]
maps = ["height", "sky_view"]
"""
HOW = {"side": 64, "device": "cpu"}


@pytest.fixture(scope="module")
def whole():
    return thalweg.run(WORLD, device="cpu")


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def stored(store):
    return sorted(
        os.path.relpath(os.path.join(folder, name), store)
        for folder, _, names in os.walk(store)
        for name in names
    )


def test_the_graph_of_a_world(tmp_path, command):
    world = thalweg.World(WORLD, store=tmp_path / "tiles", threads=1, **HOW)
    assert world.extent() == (30, -50, 256, 200)
    assert world.extent(level=1) == (15, -25, 129, 101)
    graph = world.graph(*world.extent())
    places = {tile["key"]: place for place, tile in enumerate(graph)}
    for place, tile in enumerate(graph):
        assert all(places[key] < place for key in tile["inputs"])
        assert tile["worked_cells"] >= tile["width"] * tile["height"]
    (tmp_path / "world.toml").write_text(WORLD)
    listed = command(
        "tiles", tmp_path / "world.toml", "--list", "--tile-size", 64, "--device", "cpu"
    )
    assert len(listed["tiles"]) == len(graph)
    for own, of_command in zip(graph, listed["tiles"], strict=True):
        assert of_command.pop("expected_seconds") > 0
        assert own == of_command
    # The last tile is made with what it needs, and none is made twice.
    assert world.make(graph[-1]) == 1 + len(graph[-1]["inputs"])
    assert world.make(graph[-1]) == 0
    made = sum(world.make(tile) for tile in graph)
    assert made == len(graph) - 1 - len(graph[-1]["inputs"])
    assert {tile["file"] for tile in graph} <= set(stored(tmp_path / "tiles"))


def test_tiles_that_are_wrong(tmp_path):
    world = thalweg.World(WORLD, store=tmp_path / "tiles", **HOW)
    tile = world.graph(*world.extent())[-1]
    with pytest.raises(thalweg.RecipeError, match="key = abc: allowed " + tile["key"]):
        world.make({**tile, "key": "abc"})
    with pytest.raises(thalweg.RecipeError, match="level"):
        world.make({"level": 7, "x": 0, "y": 0})
    with pytest.raises(TypeError, match="x"):
        world.make({"level": 0, "x": "0", "y": 0})
    with pytest.raises(KeyError, match="y"):
        world.make({"level": 0, "x": 0})
    with pytest.raises(thalweg.RecipeError, match="level"):
        world.extent(level=2)
    with pytest.raises(ValueError, match="width = 0"):
        world.graph(0, 0, 0, 5)
    with pytest.raises(thalweg.RecipeError, match="store is missing"):
        thalweg.World(WORLD, **HOW).make(tile)
    ended = WORLD.replace("endless = true", "")
    with pytest.raises(thalweg.RecipeError, match="within 256 x 200"):
        thalweg.World(ended, **HOW).graph(0, 0, 2560, 20)


def test_tasks_are_tiles(whole, tmp_path):
    tasks = thalweg.dask.tiles(WORLD, tmp_path / "tiles", **HOW)
    world = thalweg.World(WORLD, store=tmp_path / "tiles", **HOW)
    graph = world.graph(*world.extent())
    last = [tile["key"] for tile in graph if tile["level"] == 0]
    assert [task.key for task in tasks] == ["thalweg-tile-" + key for key in last]
    with dask.config.set(scheduler="synchronous"):
        assert list(dask.compute(*tasks)) == last
    assert np.array_equal(world.window(30, -50, 256, 200), whole["height"])
    assert world.counts[0] == 0
    # The same land has the same tasks, another seed has others.
    again = thalweg.dask.tiles(WORLD, tmp_path / "other", **HOW)
    other = thalweg.Recipe(WORLD).changed(seed=6)
    others = thalweg.dask.tiles(other, tmp_path / "other", **HOW)
    assert [task.key for task in again] == [task.key for task in tasks]
    assert not {task.key for task in others} & {task.key for task in tasks}


@pytest.mark.parametrize("field", ["height", "sky_view"])
def test_blocks_are_windows(whole, tmp_path, client, field):
    land = thalweg.dask.array(WORLD, tmp_path / "tiles", field=field, chunks=(50, 70), **HOW)
    assert land.shape == (200, 256) and land.dtype == np.float32
    assert land.chunks == ((50,) * 4, (70, 70, 70, 46))
    # A part makes what it needs, and no more.
    part = land[60:80, 100:130].compute()
    assert np.array_equal(part, whole[field][60:80, 100:130])
    few = len(stored(tmp_path / "tiles"))
    assert np.array_equal(land.compute(), whole[field])
    graph = thalweg.World(WORLD, **HOW).graph(30, -50, 256, 200)
    all_files = [name for name in stored(tmp_path / "tiles") if name.endswith(".tile")]
    assert few < len(all_files) == len(graph)


def test_other_lands(tmp_path):
    recipe = WORLD.replace("endless = true", "").replace(', "sky_view"', "")
    run = thalweg.run(recipe, maps=["height", "slope"], device="cpu")
    window = (130, 20, 100, 90)
    land = thalweg.dask.array(recipe, tmp_path, window=window, field="slope", **HOW)
    with dask.config.set(scheduler="threads"):
        assert np.array_equal(land.compute(), run["slope"][70:160, 100:200])
    coarse = thalweg.dask.array(WORLD, tmp_path, window=(7, -9, 65, 33), level=1, **HOW)
    world = thalweg.World(WORLD, **HOW)
    with dask.config.set(scheduler="threads"):
        assert np.array_equal(coarse.compute(), world.window(7, -9, 65, 33, level=1))


def test_lands_that_are_wrong(tmp_path):
    ended = WORLD.replace("endless = true", "")
    with pytest.raises(thalweg.RecipeError, match="within 256 x 200"):
        thalweg.dask.tiles(ended, tmp_path, window=(0, 0, 3000, 10), **HOW)
    with pytest.raises(thalweg.RecipeError, match="lichen"):
        thalweg.dask.array(WORLD, tmp_path, field="lichen", **HOW)
    with pytest.raises(TypeError, match="window"):
        thalweg.dask.tiles(WORLD, tmp_path, window=(0, 0, 5), **HOW)
    with pytest.raises(ValueError, match="threads = 0"):
        thalweg.dask.tiles(WORLD, tmp_path, threads=0, **HOW)
    with pytest.raises(ValueError, match="retries"):
        thalweg.dask.tiles(WORLD, tmp_path, retries=-1, **HOW)
    with pytest.raises(thalweg.RecipeError, match="level"):
        thalweg.dask.array(WORLD, tmp_path, level=5, **HOW)


def failing_once(land, tile, inputs):
    """Fails where it has not failed before."""
    mark = os.path.join(os.path.dirname(land[1]), "failed-" + tile["key"])
    if not os.path.exists(mark):
        open(mark, "w").close()
        raise OSError("the disk was away")
    return tile["key"]


@pytest.mark.parametrize("retries", [0, 1])
def test_tasks_that_fail_are_tried_again(tmp_path, client, monkeypatch, retries):
    # Workers have the tests' folder, so they find what stands for the real one.
    client.run(_see_tests, os.path.dirname(__file__))
    monkeypatch.setattr(thalweg.dask, "_make", failing_once)
    how = {"window": (0, 0, 60, 60), **HOW}
    recipe = thalweg.Recipe(WORLD).changed(seed=70 + retries)
    tasks = thalweg.dask.tiles(recipe, tmp_path / "tiles", retries=retries, **how)
    if retries:
        assert dask.compute(*tasks)[0] == tasks[0].key.removeprefix("thalweg-tile-")
    else:
        with pytest.raises(OSError, match="the disk was away"):
            dask.compute(*tasks)


def _see_tests(folder):
    import sys

    if folder not in sys.path:
        sys.path.insert(0, folder)


# Slow enough for a worker to be killed in the middle.
SLOW = """
schema = 2
seed = 5
width = 768
height = 512
spacing_m = 20
levels = 2
[[stage]]
kind = "diamond_square"
relief_m = 900
[[stage]]
kind = "thermal"
steps = 120
[output]
maps = ["height"]
"""


def test_a_worker_that_is_killed(tmp_path):
    store = tmp_path / "tiles"
    whole = thalweg.run(SLOW, device="cpu")
    land = thalweg.dask.array(SLOW, store, side=128, device="cpu")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        pids = client.run(os.getpid)
        asked = client.compute(land)
        # When one tile is there, others are in work.
        while not any(name.endswith(".tile") for name in stored(store)):
            assert not asked.done()
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        before = len(stored(store))
        words = asked.result(timeout=300)
        left = len(stored(store))
    assert before < left, "the rest was made after the kill"
    assert np.array_equal(words, whole["height"])
    shutil.rmtree(store)
