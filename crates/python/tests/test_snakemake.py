"""Snakemake runs what `thalweg tiles --for snakemake` writes."""

import os
import subprocess
import sys

from conftest import SMALL

RECIPE = SMALL.replace("spacing_m = 20", "spacing_m = 20\nlevels = 2")
CUT = ("--tile-size", 32, "--device", "cpu")


def snakemake(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        # It keeps a cache of sources there.
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
    )


def test_the_output_is_that_of_one_process(command, tmp_path):
    name = """it's "a" $land; (100 %) #1 é\\n"""
    folder = tmp_path / name
    folder.mkdir()
    recipe, store, output = (
        folder / f"{name}.toml",
        folder / f"{name} tiles",
        folder / f"{name}.tif",
    )
    recipe.write_text(RECIPE)
    command("tiles", recipe, "-o", folder / "known.tif", *CUT)
    said = command(
        "tiles", recipe, "-o", output, "--store", store, "--for", "snakemake", *CUT,
        "--script", folder / "Snakefile",
    )  # fmt: skip
    ran = snakemake(folder)
    assert ran.returncode == 0, ran.stderr
    assert f"{said['tiles'] + 1} of {said['tiles'] + 1} steps" in ran.stderr
    known = (folder / "known.tif").read_bytes()
    assert output.read_bytes() == known
    counted = command("tiles", recipe, "-o", output, "--store", store, *CUT, "--force")
    assert counted["made"] == 0
    assert "Nothing to be done" in snakemake(folder).stderr
    # A tile that is lost is made again, and no other one.
    lost = next(path for path in sorted(store.rglob("*.same")))
    lost.unlink()
    output.unlink()
    ran = snakemake(folder)
    assert "2 of 2 steps" in ran.stderr, ran.stderr
    assert output.read_bytes() == known


def test_a_folder_of_files_and_an_edit(command, tmp_path):
    recipe, store, output = tmp_path / "r.toml", tmp_path / "tiles", tmp_path / "files"
    recipe.write_text(RECIPE)
    words = ("--file-side", 64, "--format", "npy", *CUT)
    command("tiles", recipe, "-o", tmp_path / "known", *words)
    command(
        "tiles", recipe, "-o", output, "--store", store, "--for", "snakemake", *words,
        "--script", tmp_path / "Snakefile",
    )  # fmt: skip
    assert snakemake(tmp_path).returncode == 0

    def read(folder):
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    assert read(output) == read(tmp_path / "known")
    recipe.write_text(RECIPE.replace("seed = 5", "seed = 6"))
    assert snakemake(tmp_path).returncode == 0
    assert read(output) != read(tmp_path / "known")
    # Jobs of a recipe that has changed are refused, as often as they are tried.
    for path in store.rglob("*.tile"):
        path.unlink()
    for path in store.rglob("*.same"):
        path.unlink()
    recipe.write_text(RECIPE.replace("seed = 5", "seed = 7"))
    ran = snakemake(tmp_path)
    assert ran.returncode != 0 and ran.stderr.count("list them again") >= 3
