"""The scripts and notebooks of examples/python run, and do what they say."""

import ctypes.util
import shutil
import subprocess
import sys

import matplotlib.image
import nbclient
import nbformat
import numpy as np
import pytest
import pyvista
import rasterio
from conftest import ROOT

import thalweg

FOLDER = ROOT / "examples" / "python"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


def run(script, *words, folder):
    """Runs a script in a folder, and returns what it prints."""
    done = subprocess.run(
        [sys.executable, FOLDER / script, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_names_all():
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in [f"{name}.ipynb" for name in NOTEBOOKS] + [f"{name}.py" for name in SCRIPTS]:
        assert name == "light.py" or f"examples/python/{name}" in page, name


def test_landlab(tmp_path):
    said = run("landlab_drainage.py", folder=tmp_path)
    assert "the same drainage area in 18000 of 18000 cells" in said


def test_pyvista(tmp_path):
    assert "65536 points" in run("pyvista_mesh.py", folder=tmp_path)
    mesh = pyvista.read(tmp_path / "mountains.vts")
    land = thalweg.run("mountains", size=256, maps=["height", "flow"], device="cpu")
    height, flow = land["height"], land["flow"]
    for row, column in [(0, 0), (0, 255), (255, 0), (17, 40)]:
        place = [column * land.spacing_m, (255 - row) * land.spacing_m, height[row, column]]
        at = mesh.find_closest_point(place)
        assert np.allclose(mesh.points[at], place, rtol=1e-6)
        assert mesh.point_data["height"][at] == height[row, column]
        assert mesh.point_data["flow"][at] == flow[row, column]


@pytest.mark.skipif(
    sys.platform == "linux" and not ctypes.util.find_library("EGL"), reason="VTK draws by EGL"
)
def test_a_picture_by_pyvista(tmp_path):
    run("pyvista_mesh.py", "land.png", folder=tmp_path)
    picture = matplotlib.image.imread(tmp_path / "land.png")[..., :3]
    assert picture.shape == (480, 960, 3)
    # Land in several greys, in the middle of white.
    assert (picture.max(2) - picture.min(2)).max() == 0 and (picture[0] == 1).all()
    land = picture[picture < 1]
    assert land.size > 0.2 * picture.size and land.std() > 0.05


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook(tmp_path, name):
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells), "it is stored without outputs"
    # A copy with the land that it reads, since it writes beside itself.
    folder, data = tmp_path / "examples" / "python", tmp_path / "tests" / "data"
    folder.mkdir(parents=True)
    data.mkdir(parents=True)
    shutil.copy(FOLDER / "light.py", folder)
    shutil.copy(ROOT / "tests" / "data" / "jacksboro.tif", data)
    client = nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    outputs = [one for cell in book.cells for one in cell.get("outputs", [])]
    assert sum("image/png" in one.get("data", {}) for one in outputs) == 3
    said = "".join(one.text for one in outputs if one.output_type == "stream")
    assert "Warning" not in said and "Traceback" not in said, said
    if name == "erode-your-dem":
        with rasterio.open(folder / "eroded.tif") as file:
            assert file.crs == "EPSG:32616" and np.isnan(file.read(1)[0, 0])
    else:
        assert "equal where they overlap" in said
