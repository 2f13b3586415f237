"""Runs among Python's threads, processes, signals and exceptions."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
import warnings

import psutil
import pytest
from conftest import SMALL, hills

import thalweg

LONG = thalweg.Recipe(SMALL).changed({"droplets.rain": 64}, size=1024)


def test_progress():
    told = []
    land = thalweg.run("mountains", size=256, device="cpu", progress=told.append)
    assert land == thalweg.run("mountains", size=256, device="cpu", progress=False)
    assert told and all(isinstance(at, thalweg.Progress) for at in told)
    fractions = [at.fraction for at in told]
    assert fractions == sorted(fractions) and 0 <= fractions[0] and fractions[-1] <= 1
    assert all(1 <= at.number <= at.of and 0 <= at.done <= at.passes for at in told)
    assert "incision" in {at.stage for at in told}


def test_progress_by_tqdm(capsys):
    thalweg.run(SMALL, device="cpu", progress=True)
    assert "100%" in capsys.readouterr().err


def test_no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="tqdm"):
        thalweg.run(SMALL, device="cpu", progress=True)


class Stop(BaseException):
    pass


@pytest.mark.parametrize("raised", [Stop("here"), ValueError("mine"), KeyboardInterrupt()])
def test_exceptions_of_a_callback_come_through(raised):
    def watch(at):
        raise raised

    begun = time.monotonic()
    with pytest.raises(type(raised)) as caught:
        thalweg.run(LONG, device="cpu", progress=watch)
    assert caught.value is raised
    assert time.monotonic() - begun < 5
    assert thalweg.run(SMALL, device="cpu")


def test_warnings_are_pythons(tmp_path):
    import numpy as np

    np.save(tmp_path / "dem.npy", hills())
    with pytest.warns(thalweg.RunWarning, match="1 m") as caught:
        land = thalweg.erode(tmp_path / "dem.npy", device="cpu")
    assert any("1 m" in text for text in land.report["warnings"])
    assert len({str(one.message) for one in caught}) == len(caught)
    assert {one.filename for one in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(thalweg.RunWarning):
            thalweg.erode(tmp_path / "dem.npy", device="cpu")


def test_other_threads_go_on():
    ticks, over = [0], threading.Event()

    def count():
        while not over.wait(0.002):
            ticks[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    begun = time.monotonic()
    thalweg.run("mountains", size=512, device="cpu", threads=1)
    took = time.monotonic() - begun
    over.set()
    counter.join()
    assert ticks[0] > 20 * took


def test_several_runs_at_once():
    expected = [thalweg.run(SMALL, seed=n, device="cpu").digest("height") for n in range(6)]
    found = {}

    def run(n):
        found[n] = thalweg.run(SMALL, seed=n, device="cpu", progress=lambda at: None)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[n].digest("height") for n in range(6)] == expected


def digest_of(recipe):
    return thalweg.run(recipe, device="cpu").digest("height")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_processes(how):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(how)
    recipes = [thalweg.Recipe(SMALL).changed(seed=n, water=n == 1) for n in range(4)]
    # Threads that this process has do not matter to its children.
    expected = [digest_of(recipe) for recipe in recipes]
    thalweg.quality(hills(), 10)
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map_async(digest_of, recipes).get(timeout=120) == expected


INTERRUPTED = """
import sys, time
import thalweg
recipe = thalweg.Recipe(sys.stdin.read())
print("ready", flush=True)
begun = time.monotonic()
try:
    {call}
except KeyboardInterrupt:
    print("heard", flush=True)
    print("digest", thalweg.run(recipe, size=64, device="cpu").digest("height"))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    "call",
    [
        'thalweg.run(recipe, device="cpu")',
        'thalweg.run(recipe, device="cpu", progress=lambda at: None)',
        'thalweg.World("world", device="cpu").window(0, 0, 2000, 2000)',
    ],
)
def test_ctrl_c(call):
    program = textwrap.dedent(INTERRUPTED).format(call=call)

    def obey():
        # Python leaves an ignored signal ignored, as a shell's background jobs have it.
        signal.signal(signal.SIGINT, signal.default_int_handler)

    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=obey,  # noqa: PLW1509
    )
    process.stdin.write(LONG.to_toml())
    process.stdin.close()
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert process.stdout.readline() == "heard\n"
    assert time.monotonic() - begun < 1.5
    assert process.stdout.readline().startswith("digest ")
    process.stdout.close()
    assert process.wait(timeout=30) == 0


def test_memory_stays_flat():
    own = psutil.Process()
    small = thalweg.Recipe(SMALL)

    def runs(count):
        for n in range(count):
            land = thalweg.run(small, seed=n, device="cpu", progress=lambda at: None)
            land["height"], land.exact("flow"), land.report
            with pytest.raises(thalweg.RecipeError):
                small.changed(size=0)
        del land
        gc.collect()
        return own.memory_info().rss

    runs(60)
    before = runs(40)
    tracemalloc.start()
    runs(10)
    traced = tracemalloc.get_traced_memory()[0]
    runs(10)
    grown = tracemalloc.get_traced_memory()[0] - traced
    tracemalloc.stop()
    after = runs(200)
    assert grown < 20_000
    assert after - before < 8 << 20
