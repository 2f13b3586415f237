"""What docs/python.md shows runs, in the order of the page."""

import re

import pytest
from conftest import ROOT, hills

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page(tmp_path, monkeypatch):
    rasterio = pytest.importorskip("rasterio")
    pytest.importorskip("xarray")
    pytest.importorskip("geopandas")
    assert len(BLOCKS) > 4
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
    for n, block in enumerate(BLOCKS):
        exec(compile(block, f"docs/python.md, block {n + 1}", "exec"), names)  # noqa: S102
    with rasterio.open("eroded.tif") as file:
        assert file.crs == "EPSG:32632" and file.read(1).shape == dem.shape
