"""Recipes from everything that stands for one, and errors that say where they are."""

import json
import os
import pickle

import numpy as np
import pytest
from conftest import SMALL

import thalweg

ALL = [*thalweg.examples(), *thalweg.presets()]


@pytest.mark.parametrize("name", ALL)
def test_recipes_are_data(name):
    recipe = thalweg.Recipe(name)
    for again in (
        thalweg.Recipe(recipe),
        thalweg.Recipe(recipe.to_dict()),
        thalweg.Recipe(json.dumps(recipe.to_dict())),
        thalweg.Recipe(recipe.to_toml()),
        pickle.loads(pickle.dumps(recipe)),
        recipe.changed(),
    ):
        assert again == recipe and hash(again) == hash(recipe)
    assert name in repr(recipe)
    assert recipe != recipe.changed(seed=recipe.seed + 1) and recipe != name


def test_sources(tmp_path):
    recipe = thalweg.Recipe(SMALL)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "small.json").write_text(json.dumps(recipe.to_dict()))
    for source in (
        tmp_path / "small.toml",
        str(tmp_path / "small.toml"),
        tmp_path / "small.json",
        {**recipe.to_dict(), "width": np.int64(96), "spacing_m": np.float32(20)},
    ):
        assert thalweg.Recipe(source) == recipe
    assert (recipe.name, recipe.seed, recipe.size, recipe.spacing_m) == ("small", 5, (96, 64), 20)
    assert recipe.stages == ["diamond_square", "droplets"] and recipe.maps == ["height", "flow"]
    assert set(recipe.maps) <= set(recipe.possible_maps) <= set(thalweg.maps())
    assert not recipe.endless and thalweg.Recipe("world").endless
    assert thalweg.Recipe("gentle").size is None


def test_names():
    nameless = SMALL.replace('name = "small"', "")
    assert thalweg.Recipe(nameless).name == "land"
    assert thalweg.Recipe(nameless, name="mine").name == "mine"


def test_large_seeds():
    recipe = thalweg.Recipe(SMALL).changed(seed=2**64 - 1)
    assert recipe.seed == 2**64 - 1
    assert thalweg.Recipe(recipe.to_toml()) == recipe == thalweg.Recipe(recipe.to_dict())
    for seed, error in ((-1, ValueError), (2**64, ValueError), ("5", TypeError), (True, TypeError)):
        with pytest.raises(error, match="seed"):
            recipe.changed(seed=seed)


def test_changed():
    recipe = thalweg.Recipe(SMALL)
    other = recipe.changed(
        {"droplets.rain": 1.5, "1.relief_m": 300, "output.format": "exr"},
        seed=7,
        size=(32, 48),
        spacing_m=5,
        maps=["height", "slope"],
        water=True,
    )
    data = other.to_dict()
    assert (other.seed, other.size, other.spacing_m) == (7, (32, 48), 5)
    assert [data["stage"][1]["rain"], data["stage"][0]["relief_m"]] == [1.5, 300]
    assert data["output"]["format"] == "exr" and other.maps == ["height", "slope"]
    assert recipe == thalweg.Recipe(SMALL)
    assert thalweg.run(other, device="cpu").shape == (48, 32)
    lists = thalweg.Recipe("mountains").changed({"incision.uplift_m": [1, 0]})
    assert lists.to_dict() != thalweg.Recipe("mountains").to_dict()


def test_errors_say_where():
    with pytest.raises(thalweg.RecipeError) as caught:
        thalweg.Recipe(
            {
                "schema": 2,
                "width": 64,
                "height": 64,
                "spacing_m": 1,
                "stage": [{"kind": "flat"}, {"kind": "droplets", "lifetime": 90000}],
            }
        )
    e = caught.value
    assert isinstance(e, ValueError) and isinstance(e, thalweg.Error)
    assert (e.pointer, e.field, e.given) == ("/stage/1/lifetime", "lifetime", "90000")
    assert "2 to" in e.allowed and "lifetime = 90000" in str(e) and e.file is None
    again = pickle.loads(pickle.dumps(e))
    assert (type(again), str(again), again.pointer) == (type(e), str(e), e.pointer)


def test_errors_name_files(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(SMALL.replace("rain", "reign"))
    with pytest.raises(thalweg.RecipeError, match="rain") as caught:
        thalweg.Recipe(path)
    assert caught.value.file == path and caught.value.pointer == "/stage/1/reign"
    with pytest.raises(thalweg.InputError) as caught:
        thalweg.Recipe(tmp_path / "none.toml")
    assert isinstance(caught.value, OSError) and caught.value.path == tmp_path / "none.toml"


@pytest.mark.parametrize(
    "source, error, says",
    [
        ("mountain", thalweg.RecipeError, "did you mean 'mountains'"),
        ("", thalweg.RecipeError, "allowed"),
        ("schema = ", thalweg.RecipeError, "."),
        ("{", thalweg.RecipeError, "."),
        ({}, thalweg.RecipeError, "schema"),
        ({"schema": 2, "width": float("nan")}, thalweg.RecipeError, "."),
        ({"schema": {1, 2}}, TypeError, "set"),
        (b"mountains", TypeError, "bytes"),
        (None, TypeError, "NoneType"),
        (3, TypeError, "int"),
        (["mountains"], TypeError, "list"),
    ],
)
def test_wrong_recipes(source, error, says):
    with pytest.raises(error, match=says):
        thalweg.run(source)


@pytest.mark.parametrize(
    "how, error, says",
    [
        ({"size": 0}, thalweg.RecipeError, "cells a side"),
        ({"size": (1, 2, 3)}, ValueError, "size"),
        ({"size": -1}, ValueError, "width"),
        ({"size": "big"}, TypeError, "width"),
        ({"spacing_m": -1}, thalweg.RecipeError, "spacing_m"),
        ({"maps": ["heights"]}, thalweg.RecipeError, "height"),
        ({"settings": {"droplets": 3}}, thalweg.RecipeError, "STAGE.KEY"),
        ({"settings": {"droplets.rein": 3}}, thalweg.RecipeError, "rain"),
        ({"heights": np.zeros((9, 9))}, thalweg.RecipeError, "makes its own heights"),
        ({"layers": {"rain": np.zeros((64, 96))}}, thalweg.RecipeError, "no stage"),
        ({"layers": {7: np.zeros((64, 96))}}, thalweg.RecipeError, "stage"),
        ({"layers": {1.5: np.zeros((64, 96))}}, TypeError, "layers"),
    ],
)
def test_wrong_changes(how, error, says):
    with pytest.raises(error, match=says):
        thalweg.run(SMALL, device="cpu", **how)


def test_too_large_for_the_machine():
    with pytest.raises(thalweg.LimitError) as caught:
        thalweg.run(SMALL, size=32767 * 2, device="cpu")
    assert caught.value.unit and caught.value.needed > caught.value.allowed


def test_heights_are_missing():
    with pytest.raises(thalweg.RecipeError, match="heights"):
        thalweg.run("gentle", spacing_m=10)


def test_relative_files(tmp_path, dem, monkeypatch):
    np.save(tmp_path / "dem.npy", dem)
    text = 'schema = 2\ninput = "dem.npy"\nspacing_m = 10\n[[stage]]\nkind = "droplets"\n'
    (tmp_path / "own.toml").write_text(text)
    read = thalweg.Recipe(tmp_path / "own.toml")
    given = thalweg.Recipe(text, folder=tmp_path)
    land = thalweg.run(read, device="cpu")
    monkeypatch.chdir(tmp_path)
    here = thalweg.Recipe(text)
    monkeypatch.chdir(os.path.dirname(tmp_path))
    for same in (given, pickle.loads(pickle.dumps(read))):
        assert thalweg.run(same, device="cpu") == land
    with pytest.raises(thalweg.InputError):
        thalweg.run(here, device="cpu")
