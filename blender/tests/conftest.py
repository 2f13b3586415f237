"""What the tests share. Those that need Blender say so when they are skipped."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# `grid` and `job` are imported from the add-on's folder; Blender gets the built extension.
sys.path.insert(0, str(HERE.parent))

HOW = "pip install -r blender/tests/requirements.txt, and name a wheel in THALWEG_WHEEL"


def build(*words):
    """Runs `blender/build`."""
    command = [sys.executable, HERE.parent / "build", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hills(rows=48, columns=64):
    """Metres of hilly land."""
    random = np.random.default_rng(1)
    y, x = np.mgrid[0:rows, 0:columns]
    waves = 40 * np.sin(x / 9) + 30 * np.cos(y / 7) + 0.5 * x
    return (200 + waves + random.random((rows, columns))).astype(np.float32)


def pytest_terminal_summary(terminalreporter):
    """Says by name which tests Blender was lacking for."""
    lacking = _lacking()
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if "test_blender" in r.nodeid]
    if lacking and skipped:
        terminalreporter.section(f"{len(skipped)} tests of Blender were left out")
        terminalreporter.write_line(lacking)
        for report in skipped:
            terminalreporter.write_line(f"  {report.nodeid}")


def _lacking():
    wheel = os.environ.get("THALWEG_WHEEL")
    if importlib.util.find_spec("bpy") is None:
        return f"there is no module bpy: {HOW}"
    if not wheel:
        return f"no wheel is named: {HOW}"
    if not Path(wheel).is_file():
        return f"THALWEG_WHEEL = {wheel}: there is no such file"
    return None


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Blender with the extension, installed by Blender itself from the built zip."""
    lacking = _lacking()
    if lacking:
        if os.environ.get("THALWEG_BLENDER") == "require":
            pytest.fail(lacking)
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("blender")
    os.environ["BLENDER_USER_RESOURCES"] = str(folder / "user")
    said = build(os.environ["THALWEG_WHEEL"], "-o", folder)
    assert said.returncode == 0, said.stderr
    archive = Path(said.stdout.strip())
    import bpy

    done = bpy.ops.extensions.package_install_files(
        filepath=str(archive), repo="user_default", enable_on_install=True
    )
    assert done == {"FINISHED"}
    import bl_ext.user_default.thalweg as addon
    from bl_ext.user_default.thalweg import grid, operators, scene, settings

    return SimpleNamespace(
        bpy=bpy,
        archive=archive,
        folder=folder,
        addon=addon,
        grid=grid,
        operators=operators,
        scene=scene,
        settings=settings,
    )


@pytest.fixture
def blender(installed):
    """The same with an empty file, small sizes, and nothing to undo."""
    bpy = installed.bpy
    assert installed.operators.running is None
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False)
    settings = bpy.context.scene.thalweg
    settings.size, settings.metres_per_unit = 64, 1
    settings.device = "cpu"
    bpy.ops.ed.undo_push(message="begin")
    return installed


@pytest.fixture(scope="session")
def command():
    """The command `thalweg`, which the add-on's words are compared with."""
    named = os.environ.get("THALWEG_BIN")
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "thalweg"
    program = named or (str(built) if built.exists() else shutil.which("thalweg"))
    if program is None:
        pytest.skip("no command thalweg: cargo build --release, or name it in THALWEG_BIN")
    return program
