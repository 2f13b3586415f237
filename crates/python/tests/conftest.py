"""What the tests share: the command, to hold the package against."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]


def _program() -> str | None:
    named = os.environ.get("THALWEG_BIN")
    if named:
        return named
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "thalweg"
    return str(built) if built.exists() else shutil.which("thalweg")


@pytest.fixture(scope="session")
def command():
    """Runs the command `thalweg`, and returns what it says as JSON."""
    program = _program()
    if program is None:
        pytest.skip("no command thalweg: cargo build --release, or name it in THALWEG_BIN")

    def call(*words):
        said = subprocess.run(
            [program, *map(str, words), "--json"], capture_output=True, text=True, check=False
        )
        assert said.returncode == 0, said.stderr
        return json.loads(said.stdout)

    return call


def hills(rows=96, columns=120, seed=1):
    """Metres of hilly land."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:rows, 0:columns]
    waves = 40 * np.sin(x / 9) + 30 * np.cos(y / 7) + 0.5 * x
    return (200 + waves + random.random((rows, columns))).astype(np.float32)


@pytest.fixture
def dem():
    return hills()


SMALL = """
schema = 2
name = "small"
seed = 5
width = 96
height = 64
spacing_m = 20
[[stage]]
kind = "diamond_square"
relief_m = 900
[[stage]]
kind = "droplets"
rain = 0.5
[output]
maps = ["height", "flow"]
"""
