"""Windows of worlds have what a run has, from any thread and after a fork."""

import multiprocessing
import threading

import numpy as np
import pytest

import thalweg

# Of little reach, so that windows are quick.
WORLD = """
schema = 2
seed = 5
width = 256
height = 256
spacing_m = 20
endless = true
[[stage]]
kind = "noise"
relief_m = 900
[[stage]]
kind = "thermal"
steps = 8
[output]
maps = ["height", "slope"]
"""


@pytest.fixture(scope="module")
def whole():
    return thalweg.run(WORLD, device="cpu")


def test_windows_are_parts_of_a_run(whole, tmp_path):
    for store in (None, tmp_path / "tiles"):
        world = thalweg.World(WORLD, device="cpu", store=store)
        for x, y, width, height in ((0, 0, 256, 256), (17, 33, 70, 21), (255, 255, 1, 1)):
            for field in ("height", "slope"):
                window = world.window(x, y, width, height, field=field)
                assert window.dtype == np.float32 and window.shape == (height, width)
                assert np.array_equal(window, whole[field][y : y + height, x : x + width])
    assert world.counts[0] > 0
    again = thalweg.World(WORLD, device="cpu", store=tmp_path / "tiles")
    assert np.array_equal(again.window(0, 0, 256, 256), whole["height"])
    made, stored = again.counts
    assert made == 0 and stored > 0
    one = thalweg.window(WORLD, -5, 9, 20, 10, store=tmp_path / "tiles", device="cpu")
    assert np.array_equal(one[:, 5:], whole["height"][9:19, :15])


def test_a_map_that_the_recipe_does_not_name():
    recipe = WORLD.replace('maps = ["height", "slope"]', 'maps = ["height"]')
    window = thalweg.window(recipe, 0, 0, 30, 20, field="slope", device="cpu")
    run = thalweg.run(WORLD, device="cpu")["slope"]
    assert np.array_equal(window, run[:20, :30])
    world = thalweg.World(recipe, maps=["slope"], seed=5, device="cpu")
    assert np.array_equal(world.window(0, 0, 30, 20, field="slope"), window)
    assert "slope" in world.names and world.spacing_m == 20 and "without an end" in repr(world)


def test_threads_share_a_world(whole):
    world, found = thalweg.World(WORLD, device="cpu", side=64, threads=2), {}

    def ask(n):
        found[n] = world.window(32 * n, 16 * n, 64, 64, priority=n)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, window in found.items():
        assert np.array_equal(window, whole["height"][16 * n : 16 * n + 64, 32 * n : 32 * n + 64])


def total(world):
    return float(world.window(0, 0, 64, 64).sum())


def total_of_recipe(recipe):
    return total(thalweg.World(recipe, device="cpu"))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_processes(whole):
    expected = float(whole["height"][:64, :64].sum())
    world = thalweg.World(WORLD, device="cpu")
    assert total(world) == expected
    recipe = thalweg.Recipe(WORLD)
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map_async(total_of_recipe, [recipe] * 3).get(timeout=60) == [expected] * 3
    # A world that was made before the fork has new workers after it.
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put(total(world)))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(timeout=60)
    assert child.exitcode == 0
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map_async(total_of_recipe, [recipe]).get(timeout=60) == [expected]
    assert total(world) == expected


@pytest.mark.parametrize(
    "window, how, error, says",
    [
        ((0, 0, 0, 5), {}, thalweg.RecipeError, "window"),
        ((0, 0, -1, 5), {}, ValueError, "width"),
        ((0.5, 0, 1, 5), {}, TypeError, "x"),
        ((2**70, 0, 1, 5), {}, ValueError, "x"),
        ((2**61, 0, 1, 5), {}, thalweg.RecipeError, "2\\^60"),
        ((0, 0, 5, 5), {"level": 9}, thalweg.RecipeError, "level"),
        ((0, 0, 5, 5), {"field": "flow"}, thalweg.RecipeError, "flow"),
        ((0, 0, 5, 5), {"field": 3}, TypeError, "int"),
    ],
)
def test_wrong_windows(window, how, error, says):
    world = thalweg.World(WORLD, device="cpu")
    with pytest.raises(error, match=says):
        world.window(*window, **how)


def test_wrong_worlds(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(thalweg.RecipeError, match="no store"):
        thalweg.World(WORLD, store=tmp_path, device="cpu")
    with pytest.raises(thalweg.RecipeError, match="16 to"):
        thalweg.World(WORLD, side=1, device="cpu")
    with pytest.raises(thalweg.RecipeError):
        thalweg.World("gentle")
