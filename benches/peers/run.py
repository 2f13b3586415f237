#!/usr/bin/env python3
"""Times thalweg beside other programs that do the same kind of work, in turn, on this machine.

    python3 -m venv peers && peers/bin/pip install -r benches/peers/requirements.txt
    export CXXFLAGS=-I$(peers/bin/python -c "import pybind11; print(pybind11.get_include())")
    peers/bin/pip install --no-build-isolation richdem==0.3.4
    peers/bin/python benches/peers/run.py target/release/thalweg

RichDEM is built here, by a C++ compiler, with a newer pybind11 than it brings, which does not know
Python 3.11.

Each task is done by all programs one after the other, then again, `--rounds` times, so that a slow
phase of the machine meets them all. The table has medians with the lowest and the highest, and how
many times as long as thalweg each took. Programs differ in what they compute: the notes say how.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import edt
import fastscapelib
import numba
import numpy as np
import pydelatin
import pyflwdir
import richdem
from pyfastnoiselite.pyfastnoiselite import FastNoiseLite, FractalType, NoiseType

SPACING_M = 30.0


def land(side: int) -> np.ndarray:
    """Rough land in metres: random numbers, smoothed at several scales."""
    random = np.random.default_rng(7)
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    heights = np.zeros((side, side))
    for octave in range(9):
        wave = side / 2**octave
        for _ in range(3):
            angle, phase = random.uniform(0, 2 * np.pi, 2)
            along = (x * np.cos(angle) + y * np.sin(angle)) * 2 * np.pi / wave
            heights += np.sin(along + phase) * 300 / 2**octave
    return heights - heights.min() + random.uniform(0, 0.1, heights.shape)


class Thalweg:
    """The command, which says itself what its stages took."""

    def __init__(self, program: str, folder: Path):
        self.program, self.folder = program, folder

    def run(self, recipe: str) -> dict:
        path = self.folder / "recipe.toml"
        path.write_text(recipe)
        command = [self.program, "run", path, "-o", self.folder / "out", "--force", "--json"]
        command += ["--device", "cpu", "--threads", "2"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def stage(self, kind: str, settings: str, side: int, before: str = "") -> float:
        """Seconds of a stage."""
        head = f"schema = 2\nwidth = {side}\nheight = {side}\nspacing_m = {SPACING_M}\n"
        recipe = f'{head}{before}[[stage]]\nkind = "{kind}"\n{settings}'
        return next(s["seconds"] for s in self.run(recipe)["stages"] if s["stage"] == kind)

    def water(self, recipe: str) -> float:
        """Seconds that a table `[water]` takes, which is worked out after the last stage."""
        said = self.run(recipe)
        return said["seconds"]["stages"] - sum(stage["seconds"] for stage in said["stages"])


def timed(work) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


@contextlib.contextmanager
def silence():
    """Nothing is printed, by C++ either: RichDEM has no other way to be quiet."""
    with open(os.devnull, "wb") as nothing:
        kept = [os.dup(1), os.dup(2)]
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
        try:
            yield
        finally:
            for stream, before in zip((1, 2), kept):
                os.dup2(before, stream)
                os.close(before)


def noise(side: int, thalweg: Thalweg) -> dict:
    """Fractal gradient noise of eight octaves on all cells."""
    fast = FastNoiseLite(seed=7)
    fast.noise_type = NoiseType.NoiseType_Perlin
    fast.fractal_type = FractalType.FractalType_FBm
    fast.fractal_octaves = 8
    fast.frequency = 1 / 256
    x, y = np.meshgrid(np.arange(side, dtype=np.float32), np.arange(side, dtype=np.float32))
    coords = np.stack([x.ravel(), y.ravel()])
    return {
        "thalweg, 2 threads": lambda: thalweg.stage(
            "noise", "feature_cells = 256\noctaves = 8\n", side
        ),
        "FastNoise Lite, 1 thread": lambda: timed(lambda: fast.gen_from_coords(coords)),
    }


def rivers_cut(side: int, thalweg: Thalweg) -> dict:
    """One step of rivers that cut and slopes that creep: routing over depressions, drainage area,
    incision by area^m, creep."""
    heights = land(side)
    base = fastscapelib.NodeStatus.FIXED_VALUE
    grid = fastscapelib.RasterGrid([side, side], [SPACING_M, SPACING_M], base)
    graph = fastscapelib.FlowGraph(
        grid, [fastscapelib.SingleFlowRouter(), fastscapelib.MSTSinkResolver()]
    )
    rivers = fastscapelib.SPLEroder(graph, k_coef=1e-5, area_exp=0.5, slope_exp=1)
    creep = fastscapelib.DiffusionADIEroder(grid, 1e-2)

    def step(_kept=grid):  # the graph does not keep its grid alive
        routed = graph.update_routes(heights)
        area = graph.accumulate(1.0)
        cut = rivers.erode(routed, area, 1e4)
        creep.erode(routed - cut, 1e4)

    ground = '[[stage]]\nkind = "noise"\nfeature_cells = 256\nrelief_m = 800\n'
    steps = 20
    # Water falls for twice the map's side once a run, before anything is cut. fastscapelib does
    # that in each step, so the steps of a run share it.
    settings = f"steps = {steps}\nerodibility = 0.03\ncreep = 0.05\n"
    return {
        "thalweg, 2 threads": lambda: thalweg.stage("incision", settings, side, ground) / steps,
        "fastscapelib, 1 thread": lambda: timed(step),
    }


def drainage(side: int, thalweg: Thalweg) -> dict:
    """Depressions filled and drainage areas by D8, from heights in memory."""
    heights = land(side).astype(np.float32)
    base = fastscapelib.NodeStatus.FIXED_VALUE
    grid = fastscapelib.RasterGrid([side, side], [SPACING_M, SPACING_M], base)
    graph = fastscapelib.FlowGraph(
        grid, [fastscapelib.PFloodSinkResolver(), fastscapelib.SingleFlowRouter()]
    )

    def fastscape(_kept=grid):  # as above
        graph.update_routes(heights.astype(np.float64))
        graph.accumulate(1.0)

    def flow():
        filled, _ = pyflwdir.dem.fill_depressions(heights)
        pyflwdir.from_dem(filled).upstream_area("cell")

    def rich():
        with silence():
            grid = richdem.rdarray(heights, no_data=-9999)
            filled = richdem.FillDepressions(grid, epsilon=True)
            richdem.FlowAccumulation(filled, "D8")

    flow()  # numba compiles in the first call
    ground = (
        f"schema = 2\nwidth = {side}\nheight = {side}\nspacing_m = {SPACING_M}\n"
        '[[stage]]\nkind = "noise"\nfeature_cells = 256\nrelief_m = 800\n'
    )
    water = '[water]\n[output]\nmaps = ["drainage_area"]\nformat = "npy"\n'
    return {
        "thalweg, 2 threads": lambda: thalweg.water(ground + water),
        "fastscapelib, 1 thread": lambda: timed(fastscape),
        "pyflwdir, 1 thread": lambda: timed(flow),
        "RichDEM, 1 thread": lambda: timed(rich),
    }


@numba.njit(parallel=True, fastmath=True)
def slide(heights, after, talus, rate):
    """Musgrave's rule in floats: of the drop beyond the talus a part slides to each of four
    neighbours. All cells move together."""
    rows, columns = heights.shape
    for y in numba.prange(1, rows - 1):
        for x in range(1, columns - 1):
            h = heights[y, x]
            moved = np.float32(0)
            for other in (
                heights[y, x - 1],
                heights[y, x + 1],
                heights[y - 1, x],
                heights[y + 1, x],
            ):
                drop = other - h
                moved += max(drop - talus, np.float32(0)) + min(drop + talus, np.float32(0))
            after[y, x] = h + rate * moved


def slopes(side: int, thalweg: Thalweg) -> dict:
    """One step of slopes that slide down to their angle of repose."""
    steps = 20
    heights = land(side).astype(np.float32)
    after = heights.copy()
    talus, rate = np.float32(SPACING_M * np.tan(np.radians(34))), np.float32(0.125)
    numba.set_num_threads(min(2, numba.get_num_threads()))

    def rounds():
        now, then = heights, after
        for _ in range(steps):
            slide(now, then, talus, rate)
            now, then = then, now

    rounds()  # numba compiles in the first call
    ground = '[[stage]]\nkind = "noise"\nfeature_cells = 256\nrelief_m = 3000\n'
    settings = f"steps = {steps}\n"
    return {
        "thalweg, 2 threads": lambda: thalweg.stage("thermal", settings, side, ground) / steps,
        "a loop of floats by numba, 2 threads": lambda: timed(rounds) / steps,
    }


def coasts(side: int, thalweg: Thalweg) -> dict:
    """The distance of each cell to the nearest coast, exactly."""
    heights = land(side)
    # With two labels, cells of the land and of the sea have a distance.
    labels = np.where(heights >= np.median(heights), 2, 1).astype(np.uint8)
    ground = '[[stage]]\nkind = "noise"\nfeature_cells = 256\nrelief_m = 800\n'
    return {
        "thalweg, 2 threads": lambda: thalweg.stage(
            "shore", "within_cells = 1024\n", side, ground
        ),
        "edt, 2 threads": lambda: timed(lambda: edt.edt(labels, parallel=2)),
    }


def meshes(side: int, thalweg: Thalweg) -> dict:
    """A mesh of few triangles within an error of all heights. thalweg's time includes its start,
    reading the heights and writing the mesh."""
    heights = land(side).astype(np.float32)
    path = thalweg.folder / "land.npy"
    np.save(path, heights)
    mesh, error = thalweg.folder / "land.stl", heights.max() / 200
    command = [thalweg.program, "convert", path, mesh, "--force", "-q", "--threads", "2"]
    command += ["--spacing", str(SPACING_M), "--max-error", str(error)]
    return {
        "thalweg, 2 threads": lambda: timed(lambda: subprocess.run(command, check=True)),
        "pydelatin, 1 thread": lambda: timed(
            lambda: pydelatin.Delatin(heights, max_error=float(error)).triangles
        ),
    }


TASKS = [noise, rivers_cut, drainage, slopes, coasts, meshes]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("thalweg", help="the program")
    options.add_argument("--side", type=int, default=1024, help="cells of a side [1024]")
    options.add_argument("--rounds", type=int, default=5, help="rounds of each task [5]")
    chosen = options.parse_args()
    packages = ["edt", "fastscapelib", "pydelatin", "pyflwdir", "richdem", "pyfastnoiselite"]
    packages += ["numba", "numpy"]
    said = subprocess.run([chosen.thalweg, "--version"], capture_output=True, text=True)
    print(", ".join([said.stdout.strip(), *(f"{p} {version(p)}" for p in packages)]))
    print(f"{os.cpu_count()} cores, {chosen.side}² cells, {chosen.rounds} rounds\n")
    print("| task | program | ms | × |\n|---|---|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        thalweg = Thalweg(chosen.thalweg, Path(folder))
        for task in TASKS:
            programs = task(chosen.side, thalweg)
            seconds = {name: [] for name in programs}
            for _ in range(chosen.rounds):
                for name, work in programs.items():
                    seconds[name].append(work())
            own = statistics.median(seconds["thalweg, 2 threads"])
            for name, all_of_it in seconds.items():
                middle, low, high = statistics.median(all_of_it), min(all_of_it), max(all_of_it)
                cells = f"{middle * 1e3:.1f} ({low * 1e3:.1f} – {high * 1e3:.1f})"
                print(f"| {task.__name__} | {name} | {cells} | {middle / own:.1f} |")


if __name__ == "__main__":
    main()
