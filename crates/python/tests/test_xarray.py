"""Arrays of xarray are eroded as plain ones are, and keep their places."""

import itertools
import os
import subprocess
import sys

import dask.array
import numpy as np
import pytest
import rioxarray
import xarray
from conftest import ROOT, hills

import thalweg
import thalweg.xarray

DATA = ROOT / "tests" / "data"
EAST, NORTH = 500005.0, 5199995.0


def array(values, cell=10.0, names=("y", "x"), **attributes):
    """An array that lies in the zone 32 north, rows from the north."""
    rows, columns = values.shape
    y, x = NORTH - cell * np.arange(rows), EAST + cell * np.arange(columns)
    return xarray.DataArray(values, dims=names, coords=[y, x], name="dem", attrs=attributes)


def erode(data, **how):
    return data.thalweg.erode(device="cpu", **how)


def same(data, land):
    """Whether a Dataset has the words of a land, at whatever places."""
    southwards = data.sortby("y", ascending=False).sortby("x").transpose("y", "x")
    assert set(data) == set(land.names)
    for name in land.names:
        assert data[name].attrs["blake3"] == land.digest(name)
        assert data[name].attrs["units"] == land.units[name]
        assert data[name].dtype == np.float32 and data[name].variable._in_memory
        assert np.array_equal(southwards[name], land[name], equal_nan=True), name
    return True


@pytest.fixture(scope="module")
def whole():
    """Heights that every type of number holds, and a hole in them."""
    dem = np.round(hills(40, 56))
    dem[5:9, 20:31] = np.nan
    return dem


@pytest.fixture(scope="module")
def eroded(whole):
    return thalweg.erode(whole, spacing_m=10, device="cpu")


ORDERS = list(itertools.product([1, -1], [1, -1], [("y", "x"), ("x", "y")]))


@pytest.mark.parametrize("rows, columns, dims", ORDERS)
@pytest.mark.parametrize("kind", ["f4", "f8", ">f4", "i2", "i4"])
@pytest.mark.parametrize("chunks", [None, 17, (40, 1)])
def test_any_order_type_and_chunks(whole, eroded, rows, columns, dims, kind, chunks):
    values, attributes = whole, {}
    if np.dtype(kind).kind == "i":
        values, attributes = np.where(np.isnan(whole), -32768, whole), {"_FillValue": -32768}
    given = array(values.astype(kind), **attributes)[::rows, ::columns]
    if chunks:
        given = given.copy(data=dask.array.from_array(given.values, chunks))
    given = given.transpose(*dims)
    before = given.copy(deep=True)
    data = erode(given)
    assert same(data, eroded)
    assert data.height.dims == dims and data.height.shape == given.shape
    assert data.x.identical(given.x) and data.y.identical(given.y)
    assert given.identical(before) and (chunks is None or given.chunks is not None)


@pytest.mark.parametrize("name", ["big-tujunga", "meghalaya"])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.filterwarnings("ignore:.*samples without a height:thalweg.RunWarning")
def test_real_land_has_the_words_of_the_command(command, tmp_path, name, masked):
    file, out = DATA / f"{name}.tif", tmp_path / "out.npy"
    command("erode", file, "-o", out, "--preset", "gentle", "--device", "cpu")
    with rioxarray.open_rasterio(file, masked=masked) as dem:
        data = erode(dem, preset="gentle")
        land = thalweg.erode(file, preset="gentle", device="cpu")
        assert np.array_equal(data.height, np.load(out), equal_nan=True) and same(data, land)
        assert data.rio.crs == data.height.rio.crs == dem.rio.crs and dem.rio.crs
        assert data.height.rio.transform() == dem.rio.transform()
        assert all(data[axis].variable.identical(dem[axis].variable) for axis in "xy")
    data.height.rio.to_raster(tmp_path / "out.tif")
    again = thalweg.erode(tmp_path / "out.tif", device="cpu", folder=tmp_path / "again")
    assert again.crs == land.crs and again.transform == land.transform
    plain = land.to_xarray()
    assert np.array_equal(plain.x, data.x) and np.array_equal(plain.y, data.y)
    assert same(erode(plain.height), again)


def test_attributes(whole):
    data = erode(array(whole), maps=["drainage_area"], water=True)
    assert data.drainage_area.attrs["long_name"] == "drainage area"
    assert data.drainage_area.attrs["units"] == "m²"
    assert data.drainage_area.attrs["comment"] == thalweg.maps()["drainage_area"][1]
    assert data.attrs == {"Conventions": "CF-1.12", "spacing_m": 10.0}
    assert "grid_mapping" not in data.height.encoding and "spatial_ref" not in data.coords


def test_stored_by_the_cf_conventions(whole, tmp_path):
    data = erode(array(whole).rio.write_crs("EPSG:32632"))
    data.to_zarr(tmp_path / "land.zarr", consolidated=False)
    stored = xarray.open_zarr(tmp_path / "land.zarr", consolidated=False)
    assert stored.height.attrs["grid_mapping"] == "spatial_ref"
    assert stored.spatial_ref.attrs["grid_mapping_name"] == "transverse_mercator"
    assert stored.set_coords("spatial_ref").rio.crs == "EPSG:32632"
    # The coordinate system is among the variables here: a Dataset finds it.
    again = stored.thalweg.erode("height", device="cpu")
    assert again.rio.crs == "EPSG:32632"
    assert same(again, thalweg.erode(data.height.values, spacing_m=10, device="cpu"))


def test_a_coordinate_system_without_a_code(whole, tmp_path):
    system = "+proj=laea +lat_0=46.5 +lon_0=8 +datum=WGS84 +units=m"
    given = array(np.nan_to_num(whole, nan=100)).rio.write_crs(system)
    given.rio.to_raster(tmp_path / "dem.tif")
    land = thalweg.erode(tmp_path / "dem.tif", device="cpu")
    data, own = land.to_xarray(), erode(given)
    assert data.spatial_ref.attrs["crs_wkt"] == data.spatial_ref.attrs["spatial_ref"] == land.crs
    assert data.rio.crs.to_dict() == own.rio.crs.to_dict() == given.rio.crs.to_dict()
    assert data.rio.crs.to_epsg() is None and same(own, land)


@pytest.mark.parametrize(
    "y, x, axes",
    [
        ("lat", "lon", {}),
        ("northing", "easting", {}),
        ("Y", "X", {}),
        ("a", "b", {"a": "Y", "b": "X"}),
        # An attribute tells more than a name.
        ("x", "y", {"x": "Y", "y": "X"}),
    ],
)
def test_names_of_dimensions(whole, eroded, y, x, axes):
    given = array(whole, names=(y, x))
    for name in (y, x):
        given[name].attrs["units"] = "m"
        if name in axes:
            given[name].attrs["axis"] = axes[name]
    data = erode(given)
    assert data.height.dims == (y, x)
    assert data.height.attrs["blake3"] == eroded.digest("height")


@pytest.mark.parametrize("unit, factor", [("km", 1000.0), ("metre", 1.0), ("m", 1.0)])
def test_units_of_coordinates(whole, eroded, unit, factor):
    given = array(whole).assign_coords(x=EAST / factor + 10 / factor * np.arange(56))
    given = given.assign_coords(y=NORTH / factor - 10 / factor * np.arange(40))
    for name in "yx":
        given[name].attrs["units"] = unit
    assert erode(given).attrs["spacing_m"] == 10 and same(erode(given), eroded)


def test_feet_of_the_coordinate_system(whole):
    foot = 1200 / 3937
    given = array(whole, 10.0).rio.write_crs("EPSG:2274")
    assert erode(given).attrs["spacing_m"] == pytest.approx(10 * foot, rel=1e-12)


def test_spacing_is_the_shortest_number(whole, eroded):
    # 0.1 has no exact double, and float32 has half a metre at the northing.
    for first, cell, kind in [(388328.65545426, 30, "f8"), (0.3, 0.1, "f8"), (5.2e6, 12.3, "f4")]:
        places = (first + cell * np.arange(56)).astype(kind)
        given = array(whole).assign_coords(x=places, y=-places[:40])
        land = thalweg.erode(whole, spacing_m=cell, device="cpu")
        assert erode(given).attrs["spacing_m"] == cell and same(erode(given), land)


def test_given_spacing(whole, eroded):
    plain = xarray.DataArray(whole, dims=("y", "x"))
    data = erode(plain, spacing_m=10)
    assert not data.coords and np.array_equal(data.flow, eroded["flow"], equal_nan=True)
    given = array(whole).rio.write_crs("EPSG:4326").assign_coords(x=np.arange(56) * 0.001)
    assert same(erode(given, spacing_m=10), eroded)
    assert same(erode(array(np.nan_to_num(whole, nan=-1)), nodata=-1), eroded)
    row = array(whole[:1], 10.0)
    assert erode(row).attrs["spacing_m"] == 10


def degrees(given):
    given = given.assign_coords(x=7 + np.arange(56) / 1200, y=47 - np.arange(40) / 1200)
    return given.rio.write_crs("EPSG:4326")


def named_in_degrees(given):
    return degrees(given).drop_vars("spatial_ref").rename(x="lon", y="lat")


def unit_of_degrees(given):
    given = degrees(given).drop_vars("spatial_ref")
    given.y.attrs["units"] = "degrees_north"
    return given


def metres_named(unit):
    def change(given):
        given.x.attrs["units"] = unit
        return given

    return change


WRONG = {
    "bands": (
        lambda a: xarray.concat([a, a], "band"),
        ["band (2), y (40), x (56)", "allowed are y and x", ".isel(band=0)"],
    ),
    "one dimension": (lambda a: a[0], ["the dimensions x (56)", "needed is one of y, lat"]),
    "names": (lambda a: a.rename(x="q"), ["y (40), q (56)", "needed is one of x", "'…': 'x'"]),
    "uneven": (lambda a: a[:, [0, 1, 3, 4]], ["x in uneven steps, 10 to 20", ".interp(x=…)"]),
    "level": (lambda a: a.assign_coords(y=np.zeros(40)), ["y in uneven steps, 0 to 0"]),
    "nan": (lambda a: a.assign_coords(y=np.full(40, np.nan)), ["y in uneven steps"]),
    "to and fro": (lambda a: a[[0, 1, 0, 1, 2]], ["y in uneven steps"]),
    "oblong": (lambda a: a[:, ::2], ["cells of 10 m (y) by 20 m (x)", "square", "spacing_m"]),
    "texts": (lambda a: a.assign_coords(y=list(map(str, range(40)))), ["y of <U2", "numbers"]),
    "no places": (lambda a: a.drop_vars("x"), ["x has no coordinate", "spacing_m"]),
    "a cell": (lambda a: a[:1, :1], ["a single cell", "spacing_m"]),
    "degrees": (degrees, ["y in degrees", ".rio.reproject", "spacing_m"]),
    "lat": (named_in_degrees, ["lat in degrees", ".rio.reproject"]),
    "degrees_north": (unit_of_degrees, ["y in degrees"]),
    "web": (lambda a: a.rio.write_crs("EPSG:3857"), ["Web Mercator", "spacing_m"]),
    "radians": (metres_named("rad"), ["x in 'rad'", "allowed are metres", "spacing_m"]),
    "feet": (lambda a: a.assign_attrs(units="ft"), ["heights in 'ft'", "allowed are metres"]),
    "packed": (lambda a: a.assign_attrs(scale_factor=0.1), ["scale_factor = 0.1", "decode"]),
}


@pytest.mark.parametrize("change, says", WRONG.values(), ids=WRONG)
def test_errors_say_what_was_given_and_what_to_do(whole, change, says):
    with pytest.raises(thalweg.RecipeError) as caught:
        erode(change(array(whole)))
    for part in says:
        assert part in str(caught.value)
    assert caught.value.given in str(caught.value) and caught.value.allowed in str(caught.value)
    assert caught.value.pointer == f"/{caught.value.field}"


def test_other_errors(whole):
    with pytest.raises(thalweg.RecipeError, match=r"'hight'.*has the variables dem"):
        array(whole).to_dataset().thalweg.erode("hight")
    with pytest.raises(thalweg.RecipeError, match="preset"):
        erode(array(whole), preset="harsh")
    with pytest.raises(TypeError, match="bool"):
        erode(array(whole > 0))


def test_without_rioxarray(whole, eroded, monkeypatch):
    given = array(whole).rio.write_crs("EPSG:32632")
    monkeypatch.setitem(sys.modules, "rioxarray", None)
    with pytest.raises(ImportError, match="pip install rioxarray, or give spacing_m"):
        erode(given)
    data = erode(given, spacing_m=10)
    assert same(data, eroded) and data.spatial_ref.identical(given.spatial_ref)
    assert same(erode(given.drop_vars("spatial_ref")), eroded)


def test_the_package_alone_imports_neither():
    code = "import sys, thalweg; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    ).stdout.split()
    assert "thalweg" in loaded and not {"numpy", "xarray", "thalweg.xarray"} & set(loaded)


RECIPE = """
schema = 2
name = "small"
seed = 5
width = 300
height = 200
spacing_m = 20
levels = 3
[[stage]]
kind = "diamond_square"
[[stage]]
kind = "incision"
steps = 4
[output]
maps = ["height", "flow"]
"""


def test_zarr_of_the_command(command, tmp_path):
    recipe, folder = tmp_path / "r.toml", tmp_path / "land.zarr"
    recipe.write_text(RECIPE, encoding="utf-8")
    command("tiles", recipe, "-o", folder, "--tile-size", 128, "--device", "cpu")
    land = thalweg.run(RECIPE, device="cpu")
    with xarray.open_zarr(folder, group="0") as data:
        assert set(data) == {"height", "flow"} and data.height.chunks is not None
        for name in data:
            assert np.array_equal(data[name], land[name])
            assert data[name].attrs["units"] == land.units[name]
        plain = land.to_xarray()
        assert plain.x.equals(data.x) and plain.y.equals(data.y)
        again = data.height.thalweg.erode(device="cpu")
        assert same(again, thalweg.erode(land["height"], spacing_m=20, device="cpu"))
    with xarray.open_datatree(folder, engine="zarr", chunks={}) as tree:
        assert list(tree.children) == ["0", "1", "2"]
        assert tree["0"].to_dataset().equals(data)
        for level, shape in [("1", (101, 151)), ("2", (51, 76))]:
            assert tree[level].height.shape == shape and tree[level].height.chunks is not None
            run = tmp_path / level
            command("run", recipe, "--level", level, "-o", run, "--device", "cpu")
            coarse = thalweg.erode(next(run.glob("height.*")), preset="gentle", device="cpu")
            assert tree[level].attrs["spacing_m"] == coarse.spacing_m == 20 * 2 ** int(level)
            assert float(tree[level].x[1]) == coarse.spacing_m
            assert same(tree[level].height.thalweg.erode(preset="gentle", device="cpu"), coarse)


def test_zarr_with_a_place(command, tmp_path):
    recipe, folder = tmp_path / "r.toml", tmp_path / "land.zarr"
    source = DATA / "big-tujunga.tif"
    recipe.write_text(
        f'schema = 2\ninput = "{source.as_posix()}"\n[[stage]]\nkind = "incision"\nsteps = 2\n'
    )
    command("tiles", recipe, "--map", "height", "-o", folder, "--device", "cpu")
    with rioxarray.open_rasterio(source) as dem:
        with xarray.open_zarr(folder, group="0", decode_coords="all") as data:
            assert data.rio.crs == data.height.rio.crs == dem.rio.crs
            assert np.array_equal(data.x, dem.x) and np.array_equal(data.y, dem.y)
        with xarray.open_zarr(folder, group="0") as data:
            assert data.thalweg.erode("height", device="cpu").rio.crs == dem.rio.crs
