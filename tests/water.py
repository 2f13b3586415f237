#!/usr/bin/env python3
"""Holds the water of thalweg against pysheds and against an accumulation of our own, on real and on
made land.

    pip install -r tests/requirements.txt
    cargo build --release && python3 tests/water.py target/release/thalweg

Lands: the elevation around Jacksboro, as it is and with half a metre of noise, and fractal land.
Levels of full depressions are compared with those of pysheds in every cell. Drainage areas are
compared with sums down the steepest slopes in every cell that no level ground drains to, since
across that several ways are right.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import rasterio
from pysheds.grid import Grid
from pysheds.view import Raster, ViewFinder

thalweg = pathlib.Path(sys.argv[1]).resolve()
jacksboro = pathlib.Path(__file__).resolve().parent / "data" / "jacksboro.tif"
root = pathlib.Path(tempfile.mkdtemp())
STEPS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]


def run(recipe):
    (root / "r.toml").write_text(
        f'schema = 2\n{recipe}\n[water]\n[output]\nmaps = ["height", "water_level", "drainage_area"]\nformat = "tif"\n'
    )
    subprocess.run(
        [thalweg, "run", "r.toml", "-o", "out", "--device", "cpu", "--force", "-q"],
        cwd=root,
        check=True,
    )
    spacing = json.loads((root / "out" / "manifest.json").read_text())["spacing_m"]
    height, level, area = (
        rasterio.open(root / "out" / f"{name}.tif").read(1).astype(np.float64)
        for name in ("height", "water_level", "drainage_area")
    )
    return height, level, np.rint(area / spacing**2)


def filled(height):
    """What pysheds makes of it: it treats the rim as open, as thalweg does."""
    dem = Raster(height, ViewFinder(shape=height.shape, nodata=np.float64(-1e9)))
    return np.asarray(Grid.from_raster(dem).fill_depressions(dem))


def sums(level):
    """Cells upstream of each cell, and the cells that level ground drains to."""
    rows, columns = level.shape
    wide = np.pad(level, 1, constant_values=np.inf)
    slopes = np.stack(
        [
            (level - wide[1 + r : rows + 1 + r, 1 + c : columns + 1 + c])
            / (2**0.5 if r and c else 1)
            for r, c in STEPS
        ]
    )
    slopes[~np.isfinite(slopes)] = -np.inf
    best, steepest = slopes.argmax(0), slopes.max(0)
    area, unsure = np.ones(level.shape), steepest <= 0
    # Level cells drain to any cell beside them.
    beside = np.pad(unsure, 1)
    unsure = np.any(
        [beside[1 + r : rows + 1 + r, 1 + c : columns + 1 + c] for r, c in STEPS + [(0, 0)]], axis=0
    )
    for cell in np.argsort(-level, axis=None, kind="stable"):
        r, c = divmod(int(cell), columns)
        if steepest[r, c] > 0:
            to = r + STEPS[best[r, c]][0], c + STEPS[best[r, c]][1]
            area[to] += area[r, c]
            unsure[to] |= unsure[r, c]
    return area, ~unsure


def hold(name, recipe):
    height, level, area = run(recipe)
    wrong = int((filled(height) != level).sum())
    ours, sure = sums(level)
    off = int((ours != area)[sure].sum())
    print(
        f"{name}: {wrong} of {level.size} levels differ from those of pysheds, {off} of {sure.sum()} areas from sums"
    )
    assert wrong == 0 and off == 0 and sure.mean() > 0.3, name


def plain():
    """Jacksboro on square cells: pysheds knows no others."""
    with rasterio.open(jacksboro) as source:
        profile, height = source.profile, source.read(1).astype(np.float32)
    for key in ["crs", "transform"]:
        profile.pop(key)
    profile.update(dtype="float32", nodata=None)
    with rasterio.open(root / "plain.tif", "w", **profile) as target:
        target.write(height, 1)
    # In steps that 32-bit floats hold exactly.
    height += np.random.default_rng(3).integers(-32, 33, height.shape).astype(np.float32) / 64
    with rasterio.open(root / "noisy.tif", "w", **profile) as target:
        target.write(height, 1)


plain()
FRACTAL = 'seed = {}\nwidth = 400\nheight = 300\nspacing_m = 16\n[[stage]]\nkind = "diamond_square"\nworld_cells = 1024\nfeature_cells = 128\nroughness = 0.8\nrelief_m = {}'
hold("Jacksboro", "input = 'plain.tif'\nspacing_m = 60")
hold("Jacksboro with noise", "input = 'noisy.tif'\nspacing_m = 60")
for seed, relief in [(1, 300), (2, 900)]:
    hold(f"fractal land, seed {seed}", FRACTAL.format(seed, relief))
