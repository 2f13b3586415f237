"""What docs/python.md shows runs, in the order of the page, and the Python of docs/worlds.md."""

import re

import pytest
from conftest import ROOT, hills

import thalweg


def blocks(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_page(tmp_path, monkeypatch):
    rasterio = pytest.importorskip("rasterio")
    pytest.importorskip("xarray")
    pytest.importorskip("geopandas")
    page = blocks("python.md")
    assert len(page) > 4
    monkeypatch.chdir(tmp_path)
    dem = hills(200, 160)
    with rasterio.open(
        "dem.tif",
        "w",
        driver="GTiff",
        width=160,
        height=200,
        count=1,
        dtype="float32",
        crs="EPSG:32632",
        transform=rasterio.transform.from_origin(500000, 5200000, 10, 10),
    ) as file:
        file.write(dem, 1)
    names = {"__name__": "page"}
    for n, block in enumerate(page):
        exec(compile(block, f"docs/python.md, block {n + 1}", "exec"), names)  # noqa: S102
    with rasterio.open("eroded.tif") as file:
        assert file.crs == "EPSG:32632" and file.read(1).shape == dem.shape


def test_dask_on_the_page_of_worlds(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    (block,) = [block for block in blocks("worlds.md") if "thalweg.dask" in block]
    names = {"__name__": "page"}
    exec(compile(block, "docs/worlds.md", "exec"), names)  # noqa: S102
    names["client"].close()
    names["cluster"].close()
    written = zarr.open_array("land.zarr", mode="r")[:]
    world = thalweg.World("world", store="tiles")
    assert (written == world.window(100_000, 40_000, 512, 512, level=3)).all()
