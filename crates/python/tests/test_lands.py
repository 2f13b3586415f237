"""What a land is to Python: a mapping of arrays, views that outlive it, rivers as data."""

import gc
import json
import pickle
import sys

import blake3
import geopandas
import numpy as np
import pytest
import tifffile
from conftest import SMALL

import thalweg


@pytest.fixture(scope="module")
def land():
    return thalweg.run(SMALL, device="cpu")


def test_mapping(land):
    assert land.names == list(land) == list(land.keys()) and len(land) == len(land.names)
    assert "height" in land and "flow" in land and "rain" not in land and 3 not in land
    assert land.get("rain") is None and dict(land.items()).keys() == set(land.names)
    with pytest.raises(KeyError, match="the run left flow, height"):
        land["rain"]
    for of in (land.exact, land.digest):
        with pytest.raises(KeyError):
            of("rain")
    assert land.shape == (64, 96) and land.spacing_m == 20 and land.units["height"] == "m"
    assert "small" in repr(land) and "cpu" in land.device.lower()
    assert land.recipe == thalweg.Recipe(SMALL).changed() and land.origin == (0, 0)
    with pytest.raises(TypeError):
        hash(land)


def test_values(land):
    height, words = land["height"], land.exact("height")
    assert height.dtype == np.float32 and height.flags.c_contiguous and height.flags.writeable
    assert np.array_equal(height, (words / 2**18 * land.spacing_m + land.datum_m).astype("f4"))
    height[:] = 0
    assert land["height"].any()
    assert land.digest("height") == blake3.blake3(words.astype("<i4").tobytes()).hexdigest()


def test_words_are_a_view_that_outlives_the_land():
    land = thalweg.run(SMALL, device="cpu")
    words = land.exact("height")
    assert words.dtype == np.int32 and words.shape == land.shape
    assert not words.flags.owndata and not words.flags.writeable
    assert np.shares_memory(words, land.exact("height"))
    with pytest.raises(ValueError):
        words[0, 0] = 1
    with pytest.raises(ValueError):
        words.setflags(write=True)
    digest, part = land.digest("height"), words[3:5]
    del land
    gc.collect()
    others = [thalweg.run(SMALL, seed=n, device="cpu") for n in range(3)]
    assert blake3.blake3(words.tobytes()).hexdigest() == digest
    first = words[3:5].copy()
    del words, others
    gc.collect()
    assert np.array_equal(part, first)


def test_a_view_holds_its_land_and_lets_it_go():
    land = thalweg.run(SMALL, device="cpu")
    counts = [sys.getrefcount(land._native)]
    words = land.exact("height")
    counts.append(sys.getrefcount(land._native))
    del words
    counts.append(sys.getrefcount(land._native))
    assert counts == [counts[0], counts[0] + 1, counts[0]]


def test_report(land):
    report = land.report
    assert [stage["stage"] for stage in report["stages"]] == ["diamond_square", "droplets"]
    assert report["warnings"] == [] and report["stopped"]["height"] == 0
    assert json.dumps(report)


def test_equality(land):
    assert land == thalweg.run(SMALL, device="cpu", threads=1)
    assert land != thalweg.run(SMALL, seed=6, device="cpu")
    assert land != thalweg.run(SMALL, spacing_m=21, device="cpu")
    assert land != "land"


def test_maps_and_settings():
    land = thalweg.run(SMALL, maps=["slope"], settings={"droplets.rain": 1}, device="cpu")
    assert land.names == ["height", "slope"]
    assert land.recipe.to_dict()["stage"][1]["rain"] == 1


def test_rivers():
    land = thalweg.run(
        "rivers", size=256, water=True, device="cpu", settings={"water.channel_area_km2": 0.1}
    )
    rivers = land.rivers()
    assert rivers["type"] == "FeatureCollection" and rivers["features"]
    frame = land.rivers_frame()
    assert len(frame) == len(rivers["features"]) and (frame.geom_type == "LineString").all()
    assert isinstance(land.lakes_frame(), geopandas.GeoDataFrame)
    assert len(land.basins_frame()) == len(land.basins()["features"])


def test_no_rivers(land):
    with pytest.raises(thalweg.Error, match="water=True"):
        land.rivers()


def test_xarray(land):
    data = land.to_xarray()
    assert set(data) == set(land.names) and data.height.dims == ("y", "x")
    assert data.height.attrs == {
        "long_name": "height",
        "units": "m",
        "comment": thalweg.maps()["height"][1],
        "blake3": land.digest("height"),
    }
    assert data.attrs == {"Conventions": "CF-1.12", "spacing_m": 20.0, "name": "small"}
    assert float(data.x[1] - data.x[0]) == 20 and float(data.y[1]) == -20
    assert "spatial_ref" not in data.coords
    assert np.array_equal(data.height, land["height"])


def test_place_on_earth(tmp_path, dem):
    keys = [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632]
    tifffile.imwrite(
        tmp_path / "dem.tif",
        dem,
        extratags=[
            (33550, "d", 3, (10.0, 10.0, 0.0), True),
            (33922, "d", 6, (0.0, 0.0, 0.0, 500000.0, 5200000.0, 0.0), True),
            (34735, "H", len(keys), tuple(keys), True),
        ],
    )
    land = thalweg.erode(tmp_path / "dem.tif", device="cpu", water=True)
    assert land.crs == "EPSG:32632" and land.spacing_m == 10
    assert land.transform == (10.0, 0.0, 500000.0, 0.0, -10.0, 5200000.0)
    data = land.to_xarray()
    assert float(data.x[0]) == 500005 and float(data.y[0]) == 5199995
    assert data.spatial_ref.attrs == {"spatial_ref": "EPSG:32632"}
    rioxarray = pytest.importorskip("rioxarray")
    assert rioxarray and data.rio.crs == "EPSG:32632" and data.height.rio.crs == "EPSG:32632"
    assert tuple(data.rio.transform())[:6] == land.transform
    assert land.basins_frame().crs == "EPSG:32632"
    assert land == thalweg.erode(dem, spacing_m=10, device="cpu", water=True)


def test_a_land_is_not_pickled(land):
    with pytest.raises(TypeError):
        pickle.dumps(land)
