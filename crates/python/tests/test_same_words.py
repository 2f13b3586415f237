"""The package has the words of the command."""

import json

import numpy as np
import pytest
import tifffile

import thalweg
from conftest import ROOT

EXAMPLES = ["mountains", "island", "valley"]


def adapters():
    return [d["device"] for d in thalweg.devices() if d["device"] != "cpu"]


def digests(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    return {entry["name"]: entry["words_blake3"] for entry in manifest["maps"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_on_the_cpu(command, tmp_path, name):
    toml = tmp_path / "recipe.toml"
    toml.write_text(thalweg.Recipe(name).to_toml())
    command("run", toml, "-o", tmp_path / "out", "--size", 128, "--device", "cpu")
    land = thalweg.run(name, size=128, device="cpu")
    there = digests(tmp_path / "out")
    assert there and {name: land.digest(name) for name in there} == there


def test_all_examples_have_the_stored_words():
    """Whatever processor the wheel was built for: this one test needs no command."""
    lines = (ROOT / "tests" / "examples.txt").read_text().splitlines()
    stored = dict(line.split() for line in lines if not line.startswith("#"))
    assert sorted(stored) == sorted(thalweg.examples())
    made = {
        name: thalweg.run(name, size=128, device="cpu").digest("height") for name in stored
    }
    assert made == stored


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_on_each_adapter(name):
    if not adapters():
        pytest.skip("no graphics adapter")
    on_cpu = thalweg.run(name, size=96, device="cpu")
    for device in adapters():
        land = thalweg.run(name, size=96, device=device)
        assert land == on_cpu
        for one in land.names:
            assert np.array_equal(land.exact(one), on_cpu.exact(one))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads(threads):
    assert thalweg.run("valley", size=64, device="cpu", threads=threads) == thalweg.run(
        "valley", size=64, device="cpu"
    )


@pytest.mark.parametrize("preset", list(thalweg.presets()))
def test_erode(command, tmp_path, dem, preset):
    source = tmp_path / "dem.npy"
    np.save(source, dem)
    command(
        "erode",
        source,
        "-o",
        tmp_path / "out.npy",
        "--flow",
        tmp_path / "flow.npy",
        "--spacing",
        10,
        "--preset",
        preset,
        "--device",
        "cpu",
    )
    land = thalweg.erode(dem, spacing_m=10, preset=preset, device="cpu")
    assert np.array_equal(np.load(tmp_path / "out.npy"), land["height"])
    assert np.array_equal(np.load(tmp_path / "flow.npy"), land["flow"])
    assert land["height"].dtype == np.float32 and land["height"].flags.c_contiguous
    assert thalweg.erode(source, spacing_m=10, preset=preset, device="cpu") == land
    assert thalweg.run(preset, heights=dem, spacing_m=10, device="cpu") == land


def test_erode_with_settings(command, tmp_path, dem):
    source = tmp_path / "dem.npy"
    np.save(source, dem)
    command(
        "erode",
        source,
        "-o",
        tmp_path / "out.npy",
        "--spacing",
        10,
        "--preset",
        "fans",
        "--set",
        "rain=2",
        "--seed",
        7,
        "--margin",
        8,
        "--levels",
        2,
        "--device",
        "cpu",
    )
    land = thalweg.erode(
        dem, spacing_m=10, preset="fans", rain=2, seed=7, margin_cells=8, levels=2, device="cpu"
    )
    assert np.array_equal(np.load(tmp_path / "out.npy"), land["height"])


def test_cells_without_a_height(command, tmp_path, dem):
    dem[20:30, 40:60] = np.nan
    source = tmp_path / "dem.tif"
    tifffile.imwrite(source, dem)
    command("erode", source, "-o", tmp_path / "out.npy", "--spacing", 10, "--device", "cpu")
    land = thalweg.erode(dem, spacing_m=10, device="cpu")
    out = np.load(tmp_path / "out.npy")
    assert np.array_equal(land.missing, np.isnan(dem))
    assert np.array_equal(out, land["height"], equal_nan=True)
    assert np.isnan(land["flow"][25, 50])


def test_bundle(command, tmp_path):
    toml = tmp_path / "recipe.toml"
    toml.write_text(thalweg.Recipe("valley").changed(size=64).to_toml())
    command("run", toml, "-o", tmp_path / "a", "--device", "cpu")
    land = thalweg.run(toml, device="cpu", folder=tmp_path / "b")
    land.save(tmp_path / "c")
    for name in [path.name for path in (tmp_path / "a").iterdir()]:
        own = (tmp_path / "a" / name).read_bytes()
        assert own == (tmp_path / "b" / name).read_bytes(), name
        assert own == (tmp_path / "c" / name).read_bytes(), name
    with pytest.raises(thalweg.OutputError):
        land.save(tmp_path / "a")
    land.save(tmp_path / "a", replace=True)


def test_quality(command, tmp_path, dem):
    np.save(tmp_path / "dem.npy", dem)
    said = command("quality", tmp_path / "dem.npy", "--spacing", 10)
    figures = thalweg.quality(dem, 10)
    real = figures.pop("real")
    assert figures == said["lands"][0]["figures"]
    assert {k: list(v) for k, v in real.items()} == said["real"]


def test_rivers(command, tmp_path):
    recipe = thalweg.Recipe("rivers").changed({"water.channel_area_km2": 0.1}, size=256)
    toml = tmp_path / "recipe.toml"
    toml.write_text(recipe.changed({"water.vectors": ["geojson"]}).to_toml())
    command("run", toml, "-o", tmp_path / "out", "--device", "cpu")
    land = thalweg.run(recipe, water=True, device="cpu")
    for name, layer in [
        ("rivers", land.rivers()),
        ("lakes", land.lakes()),
        ("basins", land.basins()),
        ("water_points", land.water_points()),
    ]:
        assert layer == json.loads((tmp_path / "out" / f"{name}.geojson").read_text())
        assert layer["type"] == "FeatureCollection"
    assert land.rivers()["features"]
