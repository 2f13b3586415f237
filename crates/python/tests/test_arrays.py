"""Any array of numbers is a height map, and whatever is not says so."""

import re

import numpy as np
import pytest
import xarray
from conftest import hills

import thalweg


@pytest.fixture(scope="module")
def whole():
    """Metres that every type of number holds exactly."""
    return np.round(hills()).astype(np.float32)


@pytest.fixture(scope="module")
def expected(whole):
    return erode(whole)


def erode(dem, **how):
    return thalweg.erode(dem, spacing_m=10, preset="gentle", device="cpu", **how)


class Wrapped:
    """Anything with `__array__`."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


KINDS = {
    "float64": lambda a: a.astype(np.float64),
    "longdouble": lambda a: a.astype(np.longdouble),
    "float16": lambda a: a.astype(np.float16),
    "int16": lambda a: a.astype(np.int16),
    "uint32": lambda a: a.astype(np.uint32),
    "int64": lambda a: a.astype(np.int64),
    "big-endian": lambda a: a.astype(">f4"),
    "Fortran order": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed twice": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda a: a.T.copy().T,
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), np.float32, offset=1).reshape(a.shape),
    "masked, nothing masked": np.ma.masked_array,
    "list of lists": lambda a: a.tolist(),
    "__array__": Wrapped,
    "xarray": lambda a: xarray.DataArray(a, dims=("y", "x")),
    "matrix": lambda a: np.asmatrix(a),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_arrays(whole, expected, kind):
    # Integers of 16 bits and half floats hold all of these whole metres.
    assert erode(KINDS[kind](whole)) == expected


def test_read_only_arrays(whole, expected):
    array = whole.copy()
    array.setflags(write=False)
    assert erode(array) == expected
    assert np.array_equal(array, whole)


def test_the_input_stays_as_it_is(whole):
    array = whole.copy()
    erode(array, nodata=float(array[0, 0]))
    assert np.array_equal(array, whole)


def test_missing_is_missing_however_it_is_said(whole):
    hole = np.zeros(whole.shape, bool)
    hole[10:20, 30:40] = True
    nan = np.where(hole, np.float32("nan"), whole)
    land = erode(nan)
    assert np.array_equal(land.missing, hole)
    assert np.array_equal(np.isnan(land["height"]), hole)
    filled = np.where(hole, -9999, whole)
    for same in (
        erode(np.ma.masked_array(whole, hole)),
        erode(np.ma.masked_array(whole.astype(np.int32), hole)),
        erode(np.ma.masked_invalid(nan)),
        erode(filled, nodata=-9999),
        erode(filled.astype(np.int16), nodata=-9999),
        erode(filled.astype(np.float64), nodata=-9999),
        erode(np.ma.masked_array(filled, False), nodata=-9999),
    ):
        assert same == land
        assert np.array_equal(same.missing, hole)


WRONG = [
    (np.zeros(5), ValueError, "shape (5,)"),
    (np.zeros((2, 3, 4)), ValueError, "two dimensions"),
    (np.float32(3), ValueError, "shape ()"),
    (np.zeros((0, 4)), ValueError, "one row and column"),
    (np.zeros((4, 4), complex), TypeError, "complex128"),
    (np.zeros((4, 4), bool), TypeError, "bool"),
    (np.full((4, 4), None), TypeError, "object"),
    (np.full((4, 4), "a"), TypeError, "<U1"),
    (np.zeros((4, 4), "datetime64[s]"), TypeError, "datetime64"),
    (np.zeros((4, 4), [("a", "f4")]), TypeError, "[('a', '<f4')]"),
    (None, TypeError, "NoneType"),
    (b"dem", TypeError, "bytes"),
    ({}, TypeError, "object"),
    (np.full((4, 4), np.nan), thalweg.RecipeError, "no cell has a height"),
    (np.full((4, 4), np.inf), thalweg.RecipeError, "column 0, row 0"),
    (np.full((4, 4), 1e300), thalweg.RecipeError, "column 0, row 0"),
]


@pytest.mark.parametrize("array, error, says", WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_wrong_arrays(array, error, says):
    with pytest.raises(error, match=re.escape(says)):
        erode(array)


@pytest.mark.parametrize(
    "how, error, says",
    [
        ({"spacing_m": None}, thalweg.RecipeError, "spacing_m is missing"),
        ({"spacing_m": 0}, thalweg.RecipeError, "spacing_m"),
        ({"spacing_m": float("nan")}, thalweg.RecipeError, "spacing_m"),
        ({"spacing_m": "ten"}, TypeError, "spacing_m"),
        ({"preset": "harsh"}, thalweg.RecipeError, "preset"),
        ({"preset": 3}, TypeError, "preset"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": 1.5}, TypeError, "seed"),
        ({"levels": 99}, ValueError, "levels"),
        ({"levels": 0}, thalweg.RecipeError, "levels"),
        ({"margin_cells": 99999}, thalweg.RecipeError, "margin"),
        ({"device": ""}, thalweg.RecipeError, "device"),
        ({"device": "no such card"}, thalweg.DeviceError, "no such card"),
        ({"device": 99}, thalweg.DeviceError, "99"),
        ({"threads": -1}, ValueError, "threads"),
        ({"progress": 7}, TypeError, "progress"),
        ({"erodibility": -1}, thalweg.RecipeError, "erodibility"),
        ({"erodability": 0.1}, thalweg.RecipeError, "erodibility"),
        ({"maps": "flow"}, TypeError, "maps"),
        ({"maps": ["rivers"]}, thalweg.RecipeError, "rivers"),
    ],
)
def test_wrong_arguments(dem, how, error, says):
    with pytest.raises(error, match=says):
        thalweg.erode(dem, **{"spacing_m": 10, "device": "cpu", **how})


def test_nodata_is_of_arrays(tmp_path, dem):
    np.save(tmp_path / "dem.npy", dem)
    with pytest.raises(ValueError, match="nodata"):
        thalweg.erode(tmp_path / "dem.npy", spacing_m=10, nodata=0)


def test_layers(dem):
    recipe = {
        "schema": 2,
        "stage": [
            {"kind": "layer", "map": "hardness", "from": "file", "file": "not there.png"},
            {"kind": "droplets", "rain": 0.5},
        ],
    }
    hard = np.linspace(0, 1, dem.size).reshape(dem.shape)

    def run(**how):
        return thalweg.run(recipe, heights=dem, spacing_m=10, device="cpu", **how)

    land = run(layers={"hardness": hard})
    assert land == run(layers={0: hard})
    assert land != run(layers={"hardness": 1 - hard})
    with pytest.raises(thalweg.InputError, match="not there.png"):
        run()
    with pytest.raises(thalweg.RecipeError, match="hardness"):
        run(layers={"rain": hard})
    with pytest.raises(thalweg.RecipeError, match="same size") as caught:
        run(layers={"hardness": hard[:5]})
    assert caught.value.pointer == "/stage/0/file"
    with pytest.raises(thalweg.RecipeError, match="allowed 0 to 1"):
        run(layers={"hardness": hard * 2})


def test_a_land_as_heights():
    first = thalweg.run("valley", size=64, device="cpu")
    exact = thalweg.erode(first, device="cpu")
    assert exact == thalweg.run("default", heights=first, device="cpu")
    assert exact.spacing_m == first.spacing_m and exact.datum_m == first.datum_m
