"""The manifest, and the zip that `blender/build` makes, without Blender."""

import re
import tomllib
import zipfile

import pytest

from conftest import HERE, ROOT, build

# https://docs.blender.org/manual/en/latest/advanced/extensions/tags.html
TAGS = {
    "3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing", "Development",
    "Game Engine", "Geometry Nodes", "Grease Pencil", "Import-Export", "Lighting", "Material",
    "Modeling", "Mesh", "Node", "Object", "Paint", "Pipeline", "Physics", "Render", "Rigging",
    "Scene", "Sculpt", "Sequencer", "System", "Text Editor", "Tracking", "User Interface", "UV",
}  # fmt: skip
# https://developer.blender.org/docs/features/extensions/schema/1.0.0/
NEEDED = {
    "schema_version", "id", "version", "name", "tagline", "maintainer", "type",
    "blender_version_min", "license",
}  # fmt: skip
OPTIONAL = {"website", "tags", "blender_version_max", "copyright", "platforms", "wheels"}
PERMISSIONS = {"files", "network", "clipboard", "camera", "microphone"}
PLATFORMS = {
    "windows-x64", "windows-arm64", "macos-x64", "macos-arm64", "linux-x64", "linux-arm64",
}  # fmt: skip
LINUX = "thalweg-{}-cp310-abi3-manylinux_2_28_x86_64.whl"
WINDOWS = "thalweg-{}-cp310-abi3-win_amd64.whl"


def own():
    return tomllib.loads((HERE.parent / "addon/blender_manifest.toml").read_text("utf-8"))


def wheel(folder, form, version=None):
    path = folder / form.format(version or own()["version"])
    path.write_bytes(b"not opened")
    return path


def check(manifest):
    """The rules of the schema 1.0.0."""
    assert NEEDED <= manifest.keys() <= NEEDED | OPTIONAL | {"permissions"}
    assert manifest["schema_version"] == "1.0.0" and manifest["type"] == "add-on"
    assert re.fullmatch(r"[A-Za-z]\w*", manifest["id"]) and "__" not in manifest["id"]
    for key in ("tagline", *(f"permissions.{p}" for p in manifest["permissions"])):
        table, _, name = key.rpartition(".")
        text = (manifest[table] if table else manifest)[name]
        assert 0 < len(text) <= 64 and text[-1].isalnum(), text
    assert set(manifest["tags"]) <= TAGS
    assert manifest["permissions"].keys() <= PERMISSIONS
    assert all(one.startswith("SPDX:") for one in manifest["license"])
    for key in ("version", "blender_version_min"):
        assert re.fullmatch(r"\d+\.\d+\.\d+", manifest[key])


def test_the_manifest_keeps_to_the_schema():
    check(own())


def test_the_add_on_has_the_version_of_the_package():
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    assert own()["version"] == cargo["workspace"]["package"]["version"]


def test_the_zip_has_the_add_on_the_wheels_and_their_platforms(tmp_path):
    wheels = [wheel(tmp_path, WINDOWS), wheel(tmp_path, LINUX)]
    said = build(*wheels, "-o", tmp_path / "out")
    assert said.returncode == 0, said.stderr
    (made,) = (tmp_path / "out").iterdir()
    assert said.stdout.strip() == str(made)
    with zipfile.ZipFile(made) as archive:
        manifest = tomllib.loads(archive.read("blender_manifest.toml").decode())
        names = set(archive.namelist())
        assert archive.read(f"wheels/{wheels[0].name}") == b"not opened"
    check(manifest)
    assert manifest["wheels"] == [f"./wheels/{one.name}" for one in reversed(wheels)]
    assert manifest["platforms"] == ["linux-x64", "windows-x64"]
    assert set(manifest["platforms"]) <= PLATFORMS
    modules = {path.name for path in (HERE.parent / "addon").glob("*.py")}
    assert names == modules | {"blender_manifest.toml"} | {f"wheels/{w.name}" for w in wheels}

    again = build(*reversed(wheels), "-o", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / made.name).read_bytes() == made.read_bytes()


@pytest.mark.parametrize(
    "form, version, words",
    [
        (LINUX, "9.9.9", "the add-on is of version"),
        ("thalweg-{}-cp310-abi3-musllinux_1_2_x86_64.whl", None, "allowed are wheels of thalweg"),
        ("other-{}-py3-none-any.whl", None, "so must its wheels be"),
    ],
)
def test_other_wheels_are_refused_and_nothing_is_written(tmp_path, form, version, words):
    said = build(wheel(tmp_path, form, version), "-o", tmp_path / "out")
    assert said.returncode != 0 and words in said.stderr
    assert not (tmp_path / "out").exists()


def test_two_wheels_of_a_platform_and_a_missing_one_are_refused(tmp_path):
    other = LINUX.replace("2_28", "2_35")
    said = build(wheel(tmp_path, LINUX), wheel(tmp_path, other), "-o", tmp_path / "out")
    assert said.returncode != 0 and "give one for each" in said.stderr
    said = build(tmp_path / "none.whl", "-o", tmp_path / "out")
    assert said.returncode != 0 and "there is no such file" in said.stderr
    assert not (tmp_path / "out").exists()
