#!/usr/bin/env python3
"""Opens what thalweg writes with readers that are not ours, and holds it against a formula.

pip install -r tests/requirements.txt
cargo build --release && python3 tests/readers.py target/release/thalweg
"""

import json
import pathlib
import re
import runpy
import sqlite3
import struct
import subprocess
import sys
import types
import tempfile
import warnings

import fiona
import numpy as np
import OpenEXR
import pygltflib
import pyogrio
import rasterio
import rasterio.features
import shapely
import trimesh
import xarray
import zarr
from PIL import Image
from pxr import Usd, UsdGeom
from scipy.ndimage import map_coordinates

thalweg = pathlib.Path(sys.argv[1]).resolve()
tests = pathlib.Path(__file__).resolve().parent
data = tests / "data" / "tiff"
root = pathlib.Path(tempfile.mkdtemp())
opened = []


def run(*words):
    done = subprocess.run(
        [thalweg, *map(str, words), "-q"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"


def hold(name, made, expected, within=0.0):
    made = np.asarray(made, dtype=np.float64)
    assert made.shape == expected.shape, f"{name}: {made.shape}, expected {expected.shape}"
    worst = float(np.abs(made - expected).max())
    assert worst <= within, f"{name}: off by {worst}"
    opened.append(name)


# Heights as `make.py` has them.
y, x = np.mgrid[0:70, 0:100]
height = (100 + 0.25 * x + 0.5 * y + (x * y % 7)).astype("f4")
source = data / "big.tif"
reach = float(height.max() - height.min())

run("convert", source, "h.tif")
with rasterio.open(root / "h.tif") as file:
    hold("tif, rasterio", file.read(1), height)
    with rasterio.open(source) as original:
        assert file.crs == original.crs and file.transform == original.transform
for name in ["albers", "laea", "vertical"]:
    run("convert", data / f"{name}.tif", f"{name}.tif")
    with (
        rasterio.open(root / f"{name}.tif") as file,
        rasterio.open(data / f"{name}.tif") as original,
    ):
        assert file.crs == original.crs, name
        hold(f"tif, {name}, rasterio", file.read(1), height)
run("convert", data / "void.tif", "void.tif", "--nodata", "0", "--keep-nodata")
with rasterio.open(root / "void.tif") as file:
    assert (file.read_masks(1) == 0).sum() == ((x + y) % 50 == 0).sum()
    opened.append("tif with missing samples, rasterio")
run("convert", source, "h.asc")
with rasterio.open(root / "h.asc") as file:
    hold("asc, rasterio", file.read(1), height)
    assert file.transform.a == 30 and file.bounds.left == 500000
run("convert", source, "h.png")
with rasterio.open(root / "h.png") as file:
    hold("png, rasterio", file.read(1) / 65535 * reach + height.min(), height, reach / 65535)
run("convert", source, "h.npy")
hold("npy, numpy", np.load(root / "h.npy"), height)
run("convert", source, "h.r16", "--output-range", "0", "256")
hold(
    "r16, numpy",
    np.fromfile(root / "h.r16", "<u2").reshape(70, 100) / 65535 * 256,
    height,
    256 / 65535,
)
with rasterio.open(root / "h.r16") as file:
    hold(
        "r16 with its header, rasterio",
        file.read(1) * file.scales[0] + file.offsets[0],
        height,
        256 / 65535,
    )
    assert file.res == (30, 30), file.res
run("convert", source, "h.r32")
hold("r32, numpy", np.fromfile(root / "h.r32", "<f4").reshape(70, 100), height)
run("convert", source, "h.exr")
hold("exr, OpenEXR", OpenEXR.File(str(root / "h.exr")).channels()["Y"].pixels, height)
# A tile of SRTM has 1201 samples a side.
side = 1201
ramp = (np.add.outer(np.arange(side), 2 * np.arange(side)) % 3000).astype("f4")
np.save(root / "ramp.npy", ramp)
run("convert", "ramp.npy", "N10W020.hgt", "--force")
with rasterio.open(root / "N10W020.hgt") as file:
    hold("hgt, rasterio", file.read(1), ramp)
    assert file.crs.to_epsg() == 4326 and abs(file.bounds.left - (-20 - 1 / 2400)) < 1e-9

run("convert", source, "h.glb", "--max-error", "0.5")
run("convert", source, "h.obj", "--max-error", "0.5")
run("convert", source, "h.stl", "--max-error", "0.5")
pygltflib.GLTF2().load(str(root / "h.glb"))
for name in ["glb", "obj", "stl"]:
    mesh = trimesh.load(root / f"h.{name}", force="mesh")
    spans = sorted(mesh.extents)[1:]
    assert np.allclose(spans, [69 * 30, 99 * 30], rtol=1e-6), f"{name}: {mesh.extents}"
    assert name != "stl" or (mesh.is_watertight and mesh.volume > 0), "the body is not closed"
    opened.append(f"{name}, trimesh")

run("convert", source, "houdini", "--engine", "houdini")
channels = OpenEXR.File(str(root / "houdini" / "big_layers.exr")).channels()
hold("houdini's exr, OpenEXR", channels["height"].pixels, height)
run("convert", source, "godot", "--engine", "godot")
channels = OpenEXR.File(str(root / "godot" / "big_height.exr")).channels()
hold("godot's exr, OpenEXR", channels["RGB"].pixels[:, :, 0], height)


def numbers(program, line):
    """The numbers of the line of a README that begins so."""
    text = (root / "game" / program / "README.txt").read_text()
    found = [own for own in text.splitlines() if own.strip().startswith(line)]
    assert found, f"{program}: no line begins with {line!r}: {text}"
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", found[0][len(line) :])]


# A game map: what the texts tell people to type makes the land, its lake and its rivers.
maps = '["height","water_level","water_depth","rock"]'
for program in ["unreal", "unity", "godot"]:
    size = {"unity": 513}.get(program, 505)
    run(
        "run",
        "game-small",
        "-o",
        "game",
        "--device",
        "cpu",
        "--engine",
        program,
        "--size",
        size,
        "--force",
        "--set",
        f"output.maps={maps}",
        "--set",
        "output.format=npy",
    )
    land = {name: np.load(root / f"game/{name}.npy") for name in ["height", "water_level", "rock"]}
    low, high = float(land["height"].min()), float(land["height"].max())
    folder = root / "game" / program
    if program == "unreal":
        levels = np.fromfile(folder / "game-small_height.r16", "<u2").reshape(size, size)
        (location,) = numbers(program, "Location Z:")
        across, up = numbers(program, "Scale X and Y:")
        hold("unreal's scale", np.array([across]), np.array([200.0]))
        made = (location + (levels.astype(float) - 32768) * up / 128) / 100
        hold("unreal's heights", made, land["height"], (high - low) / 65535)
        x, y, z = np.array(numbers(program, "X")[:3]) / 100
        weights = [Image.open(file) for file in sorted(folder.glob("*_weight_*.png"))]
        assert len(weights) == 8
        total = sum(np.asarray(weight).astype(int) for weight in weights)
        hold("unreal's weights", total, np.full((size, size), 255))
        rock = np.asarray(Image.open(folder / "game-small_weight_rock.png")) / 255
        hold("unreal's rock", rock, land["rock"], 1 / 255)
        rivers = json.loads((folder / "rivers_unreal.json").read_text())["rivers"]
        points = [point for river in rivers for point in river["points"]]
        off = max(
            abs(
                point["z"] / 100
                - land["water_level"][round(point["y"] / 200), round(point["x"] / 200)]
            )
            for point in points
        )
        assert len(points) > 20 and off < 1, f"rivers are {off} m off"
    elif program == "unity":
        levels = np.fromfile(folder / "game-small_height.raw", "<u2").reshape(size, size)[::-1]
        width, tall, deep = numbers(program, "Terrain Size: X")
        (bottom,) = numbers(program, "Position Y:")
        made = bottom + levels / 65536 * tall
        hold("unity's heights", made, land["height"], 1.01 * tall / 65536)
        x, z, y = numbers(program, "X")[:3]
        y = deep - y
    else:
        pixels = OpenEXR.File(str(folder / "game-small_height.exr")).channels()["RGB"].pixels
        hold("godot's heights", pixels[:, :, 0], land["height"])
        x, z, y = numbers(program, "X")[:3]
        scene = (folder / "rivers_godot.tscn").read_text()
        assert scene.count('type="Path3D"') > 1
    splats = [np.asarray(Image.open(file)).astype(int) for file in folder.glob("*_splat_*.png")]
    if program != "unreal":
        assert len(splats) == 2
        hold(f"{program}'s splats", sum(s.sum(axis=2) for s in splats), np.full((size, size), 255))
    # Trees stand on the ground, where the file for people has them.
    known = np.genfromtxt(root / "game/scatter_trees.csv", delimiter=",", names=True)
    table = np.genfromtxt(folder / "game-small_trees.csv", delimiter=",", names=True)
    assert numbers(program, f"{len(known)} of trees") is not None
    metres = np.array([table[axis] for axis in "xyz"]) / (100 if program == "unreal" else 1)
    east, south, up = {
        "unreal": lambda: metres,
        "unity": lambda: (metres[0], deep - metres[2], metres[1]),
        "godot": lambda: (metres[0], metres[2], metres[1]),
    }[program]()
    hold(f"{program}'s trees, to the east", east, known["x"] * 2, 0.001)
    hold(f"{program}'s trees, to the south", south, known["y"] * 2, 0.001)
    ground = map_coordinates(
        land["height"].astype(float), [south / 2, east / 2], order=1, mode="nearest"
    )
    hold(f"{program}'s trees, on the ground", up, ground, 0.01)
    turn = -table["turn_deg"] if program == "godot" else table["turn_deg"]
    hold(
        f"{program}'s trees, turned",
        (turn - known["turn_deg"] + 180) % 360,
        np.full(len(known), 180.0),
        0.002,
    )
    # The place of the lake is a corner of its shore: one of the cells round it is the lake.
    column, row = int(x / 2), int(y / 2)
    near = land["water_level"][row - 1 : row + 3, column - 1 : column + 3]
    assert np.abs(near - z).min() < 0.001, f"{program}: no lake at {z} m at {x}, {y}: {near}"
    opened.append(f"{program}'s lake")

# Terrain3D's control map, by its documented bits: the strongest texture, the next one, and how
# they blend.
names = ["grass", "forest", "gravel", "sand", "wet", "scree", "rock", "snow"]
run("run", "game-small", "-o", "game", "--device", "cpu", "--engine", "godot", "--size", "505",
    "--force", "--set", f"output.maps={json.dumps(['height', *names])}",
    "--set", "output.format=npy")  # fmt: skip
weights = np.stack([np.load(root / f"game/{name}.npy") for name in names])
pixels = OpenEXR.File(str(root / "game/godot/game-small_control.exr")).channels()["R"].pixels
bits = pixels.view("<u4")
base, over, blend = bits >> 27 & 0x1F, bits >> 22 & 0x1F, bits >> 14 & 0xFF
assert (bits & 0x3FFF == 0).all()
strongest = np.take_along_axis(weights, base[None].astype(int), axis=0)[0]
next_one = np.take_along_axis(weights, over[None].astype(int), axis=0)[0]
ordered = np.sort(weights, axis=0)
# Weights of textures have 8 bits.
hold("Terrain3D's base", strongest, ordered[-1], 1 / 255)
hold("Terrain3D's overlay", next_one, ordered[-2], 1 / 255)
hold("Terrain3D's blend", blend / 255, next_one / (strongest + next_one), 0.02)

# Levels of detail for pages: corners on samples, with skirts, in the picture's colours.
run("run", "game-small", "-o", "game", "--device", "cpu", "--engine", "web", "--size", "505",
    "--force", "--set", "output.maps=height", "--set", "output.format=npy")  # fmt: skip
height = np.load(root / "game/height.npy")
picture = np.asarray(Image.open(root / "game/preview.png")).astype(float)
for level in range(3):
    name = f"game-small_lod{level}.glb"
    triangles = numbers("web", f"{name}:")[0]
    mesh = trimesh.load(root / "game/web" / name, process=False, force="mesh")
    column, row = (mesh.vertices[:, [0, 2]] / 2).round().astype(int).T
    ground = np.abs(mesh.vertices[:, 1] - height[row, column]) < 1e-3
    hung = mesh.vertices[~ground]
    assert (
        len(mesh.faces) > triangles and (mesh.faces < ground.sum()).all(axis=1).sum() == triangles
    )
    on_border = np.isin(hung[:, [0, 2]], [0, 1008]).any(axis=1)
    assert on_border.all(), "skirts hang at the border"
    gltf = pygltflib.GLTF2().load(str(root / "game/web" / name))
    colour = gltf.accessors[gltf.meshes[0].primitives[0].attributes.COLOR_0]
    view = gltf.bufferViews[colour.bufferView]
    data = gltf.binary_blob()[view.byteOffset : view.byteOffset + view.byteLength]
    light = np.frombuffer(data, "<u2").reshape(-1, 4)[:, :3] / 65535
    byte = 255 * np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    hold(f"colours of {name}", byte, picture[row, column], 0.51)
    opened.append(f"{name}, trimesh")

# USD, by Pixar's library.
run("run", "game-small", "-o", "game", "--device", "cpu", "--engine", "houdini", "--size", "257",
    "--force", "--set", "output.maps=height", "--set", "output.format=npy")  # fmt: skip
height = np.load(root / "game/height.npy")
stage = Usd.Stage.Open(str(root / "game/houdini/game-small.usda"))
assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1
mesh = UsdGeom.Mesh(stage.GetDefaultPrim())
points = np.array(mesh.GetPointsAttr().Get())
column, row = (points[:, [0, 2]] / 2).round().astype(int).T
hold("usda, usd-core", points[:, 1], height[row, column], 1e-3)
counts, corners = (
    np.array(a.Get()) for a in [mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr()]
)
assert mesh.ValidateTopology(
    mesh.GetFaceVertexIndicesAttr().Get(), mesh.GetFaceVertexCountsAttr().Get(), len(points)
)[0]
assert (counts == 3).all() and corners.max() == len(points) - 1
a, b, c = points[corners.reshape(-1, 3)].transpose(1, 0, 2)
assert (np.cross(b - a, c - a)[:, 1] > 0).all(), "triangles face up"
st = np.array(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").Get())
hold("usda's places on textures", st, np.stack([column / 256, 1 - row / 256], axis=1), 1e-6)

# Tables of rivers lie on the water, from their sources down, in the axes of each program; so do
# the lakes of its text.
for program, size in {"unity": 513, "blender": 505, "houdini": 505, "web": 505}.items():
    run("run", "game-small", "-o", "game", "--device", "cpu", "--engine", program, "--size",
        str(size), "--force", "--set", 'output.maps=["height","water_level","river_width"]',
        "--set", "output.format=npy")  # fmt: skip
    level, wide = (np.load(root / f"game/{name}.npy") for name in ["water_level", "river_width"])
    side = (size - 1) * 2
    metres = {
        "unity": lambda x, y, z: (x, side - z, y),
        "blender": lambda x, y, z: (x + side / 2, side / 2 - y, z),
    }.get(program, lambda x, y, z: (x, z, y))
    table = np.genfromtxt(root / f"game/{program}/rivers.csv", delimiter=",", names=True)
    assert numbers(program, "rivers.csv:")[0] == table["piece"].max()
    east, south, up = metres(table["x"], table["y"], table["z"])
    cells = (south / 2).round().astype(int), (east / 2).round().astype(int)
    assert len(table) > 20, len(table)
    hold(f"{program}'s rivers, on the water", up, level[cells], 0.001)
    goes_on = np.diff(table["piece"]) == 0
    # The last point lies in the larger river that it joins.
    own = np.append(goes_on, False)
    hold(f"{program}'s rivers, as wide", table["width"][own], wide[cells][own], 0.001)
    falls = np.diff(up)[goes_on]
    assert (falls <= 0.001).all(), f"{program}: a river rises by {falls.max()} m"
    text = (root / "game" / program / "README.txt").read_text()
    lake = re.search(r"^  x (\S+), y (\S+), z (\S+): \d+ m2", text, re.MULTILINE | re.IGNORECASE)
    east, south, up = metres(*map(float, lake.groups()))
    column, row = int(east / 2), int(south / 2)
    near = level[row - 1 : row + 3, column - 1 : column + 3]
    assert np.abs(near - up).min() < 0.001, f"{program}: no lake at {up} m: {near}"
    opened.append(f"{program}'s lake and rivers")
run("run", "game-small", "-o", "game", "--device", "cpu", "--engine", "worldpainter", "--size",
    "505", "--force", "--set", 'output.maps=["height","water_level"]',
    "--set", "output.format=npy")  # fmt: skip
text = (root / "game/worldpainter/README.txt").read_text()
found = re.search(r"^  X (\d+), Z (\d+), Y (\d+): ", text, re.MULTILINE)
column, row, block = map(int, found.groups())
near = np.load(root / "game/water_level.npy")[row - 2 : row + 2, column - 2 : column + 2] / 2
assert np.abs(near - block).min() <= 0.5, f"worldpainter: no lake at block {block}: {near}"
opened.append("worldpainter's lake")

# Blender's script for rivers, against a stand-in: a mesh whose pairs of corners lie about the
# points, as far apart as the river is wide, and square to its way.
run("run", "game-small", "-o", "blend", "--device", "cpu", "--engine", "blender")


class BlenderMesh:
    def from_pydata(self, corners, edges, faces):
        self.corners, self.faces = np.array(corners), faces

    def clear_geometry(self):
        self.corners = self.faces = None

    def update(self):
        pass


class Thing(dict):
    def __init__(self, data):
        self.data = data


class Named(dict):
    def new(self, name, *data):
        self[name] = Thing(*data) if data else BlenderMesh()
        return self[name]


linked = []
bpy = types.ModuleType("bpy")
bpy.data = types.SimpleNamespace(meshes=Named(), objects=Named())
collection = types.SimpleNamespace(objects=types.SimpleNamespace(link=linked.append))
bpy.context = types.SimpleNamespace(space_data=None, collection=collection)
sys.modules["bpy"] = bpy
for _ in range(2):
    runpy.run_path(str(root / "blend/blender/rivers.py"))
assert len(linked) == 1, "the script may run again"
mesh = linked[0].data
table = np.genfromtxt(root / "blend/blender/rivers.csv", delimiter=",", names=True)
points = np.array([table[axis] for axis in "xyz"]).T + [0, 0, 0.3]  # above the ground
left, right = mesh.corners[::2], mesh.corners[1::2]
hold("rivers.py's points", (left + right) / 2, points, 1e-9)
hold("rivers.py's widths", np.linalg.norm(left - right, axis=1), table["width"], 1e-9)
for river in np.unique(table["piece"]):
    own = table["piece"] == river
    way = np.gradient(points[own][:, :2], axis=0)
    across = (right - left)[own][:, :2]
    assert np.abs((way * across).sum(axis=1)).max() < 1e-6, "across the river"
    # To the right, seen downstream.
    assert (way[:, 1] * across[:, 0] - way[:, 0] * across[:, 1] > 0).all()
assert len(mesh.faces) == len(points) - len(np.unique(table["piece"]))
assert all(max(face) - min(face) == 3 for face in mesh.faces)

# Unreal's script, against a stand-in for its editor that keeps what it is told.
run("run", "game-small", "-o", "game", "--device", "cpu", "--engine", "unreal", "--size", "505",
    "--force", "--set", "output.maps=height", "--set", "output.format=npy")  # fmt: skip
script = (root / "game/unreal/import.py").read_text()


class Unreal(types.ModuleType):
    """Records what is asked of the editor, and refuses what Epic's documentation does not have."""

    class Actor:
        def __init__(self):
            self.told, self.instances, self.points = {}, [], None

        def set_actor_location(self, at, sweep, teleport):
            self.told["location"] = at

        def set_actor_scale3d(self, scale):
            self.told["scale"] = scale

        def set_actor_label(self, name):
            self.told["label"] = name

        def set_editor_property(self, name, value):
            self.told[name] = value

        def get_component_by_class(self, kind):
            return self

        def set_spline_points(self, points, space, update):
            self.points = points

        def add_instance(self, transform, world_space):
            self.instances.append(transform)

    class Landscape(Actor):
        pass

    class WaterBodyRiver(Actor):
        pass

    class SplineComponent:
        pass

    class HierarchicalInstancedStaticMeshComponent:
        pass

    class EditorActorSubsystem:
        pass

    class SubobjectDataSubsystem:
        pass

    class SplineCoordinateSpace:
        WORLD = 1

    def __init__(self):
        super().__init__("unreal")
        self.actors = [self.Landscape()]
        self.components = []

    def get_editor_subsystem(self, kind):
        return self

    get_engine_subsystem = get_editor_subsystem

    def get_all_level_actors(self):
        return self.actors

    def spawn_actor_from_class(self, kind, at):
        self.actors.append(kind())
        return self.actors[-1]

    def k2_gather_subobject_data_for_instance(self, actor):
        return [actor]

    def AddNewSubobjectParams(self, parent_handle, new_class):
        return self.Actor()

    def add_new_subobject(self, component):
        self.components.append(component)
        return component, ""

    @property
    def SubobjectDataBlueprintFunctionLibrary(self):
        return types.SimpleNamespace(get_data=lambda c: c, get_object=lambda c: c)

    def Vector(self, x, y, z):
        return np.array([x, y, z])

    def Rotator(self, roll, pitch, yaw):
        return yaw

    def Transform(self, location, rotation, scale):
        return (location, rotation, scale)

    def load_asset(self, path):
        return path

    def log(self, text):
        self.said = text


unreal = Unreal()
sys.modules["unreal"] = unreal
exec(compile(script, "import.py", "exec"), {"__file__": str(root / "game/unreal/import.py")})
land, *others = unreal.actors
hold(
    "import.py's location",
    land.told["location"],
    np.array([0, 0, *numbers("unreal", "Location Z:")]),
)
across, up = numbers("unreal", "Scale X and Y:")
hold("import.py's scale", land.told["scale"], np.array([across, across, up]))
for component, name in zip(unreal.components, ["trees", "rocks"], strict=True):
    table = np.genfromtxt(root / f"game/unreal/game-small_{name}.csv", delimiter=",", names=True)
    made = np.array([[*at, turn, size[0]] for at, turn, size in component.instances])
    known = np.array([table[key] for key in ["x", "y", "z", "turn_deg", "size"]]).T
    known[:, 2] += 50 * table["size"]  # the foot of the cone that stands for them
    hold(f"import.py's {name}", made, known, 1e-6)
rivers = json.loads((root / "game/unreal/rivers_unreal.json").read_text())["rivers"]
made = [actor.points for actor in others if isinstance(actor, Unreal.WaterBodyRiver)]
assert [len(points) for points in made] == [len(river["points"]) for river in rivers]
assert f"Z = {int(numbers('unreal', 'X')[2])}" in unreal.said

# Unity's script, against a stand-in for its editor that records the script's calls.
run("run", "game-small", "-o", "tiled", "--device", "cpu", "--engine", "unity-tiles", "--size",
    "1025x513", "--set", "output.maps=height", "--set", "output.format=npy")  # fmt: skip
height = np.load(root / "tiled/height.npy")
folder = root / "tiled/unity-tiles"
pictures = {file.name: Image.open(file).convert("RGBA") for file in folder.glob("*_splat_*.png")}
for name, picture in pictures.items():
    (folder / name).write_bytes(np.asarray(picture)[::-1].tobytes())
script = (folder / "Import.cs").read_text()
prefab = '// { "trees", "Assets/Trees/Spruce.prefab" },'
assert prefab in script
(folder / "Import.cs").write_text(script.replace(prefab, prefab[3:]))
subprocess.run(
    ["mcs", "-d:UNITY_EDITOR", f"-out:{root}/unity.exe", folder / "Import.cs",
     tests / "unity/StandIn.cs"], check=True)  # fmt: skip
told = subprocess.run(
    ["mono", root / "unity.exe", folder], check=True, capture_output=True, text=True
).stdout.splitlines()
terrains = {line.split()[1]: line.split()[2:] for line in told if line.startswith("terrain")}
assert sorted(terrains) == ["game-small_x0_z0", "game-small_x1_z0"]
assert "rocks have no prefab at the top of Import.cs, and are left out" in told
low, tall = float(height.min()), float(height.max() - height.min())
for column, (name, words) in enumerate(sorted(terrains.items())):
    hold(f"{name}'s place and size", np.array(words[:7], dtype=float),
         np.array([1024 * column, low, 0, 1024, tall, 1024, 513]), 1e-4)  # fmt: skip
    other = f"game-small_x{1 - column}_z0"
    # To the left, at the top, to the right and below.
    assert words[7:] == [["-", "-", other, "-"], [other, "-", "-", "-"]][column], words
    made = np.fromfile(folder / f"{name}.heights", "<f4").reshape(513, 513)[::-1]
    own = height[:, 512 * column :][:, :513]
    hold(f"{name}'s heights", low + made * tall, own, 1.01 * tall / 65536)
    weights = np.fromfile(folder / f"{name}.weights", "<f4").reshape(512, 512, 8)[::-1]
    splats = [np.asarray(pictures[f"{name}_splat_{n}.png"]).astype(float) for n in (1, 2)]
    known = np.concatenate(splats, axis=2) / 255
    known = (known[1:, 1:] + known[:-1, 1:] + known[1:, :-1] + known[:-1, :-1]) / 4
    hold(f"{name}'s weights", weights, known, 1e-6)
made = np.array([line.split()[1:] for line in told if line.startswith("tree")], dtype=float)
table = np.genfromtxt(folder / "game-small_trees.csv", delimiter=",", names=True)
known = np.array([table[key] for key in ["x", "y", "z", "turn_deg", "size"]]).T
known[:, 3] = np.radians(known[:, 3])
made, known = (rows[np.lexsort(rows.T[:3])] for rows in (made[:, 1:].round(2), known.round(2)))
hold("trees of Import.cs", made, known, 0.011)
made = np.array([line.split()[1:] for line in told if line.startswith("river")], dtype=float)
table = np.genfromtxt(folder / "rivers.csv", delimiter=",", names=True)
known = np.array([table[key] for key in ["piece", "x", "y", "z", "width"]]).T
known[:, 2] += 0.3  # above the ground
hold("rivers of Import.cs", made[:, :5], known, 1e-3)
for river in np.unique(table["piece"]):
    line = known[table["piece"] == river, 1:4]
    along = np.cumsum([0, *np.linalg.norm(np.diff(line, axis=0), axis=1)])
    hold("their widths lie along them", made[made[:, 0] == river, 5], along / along[-1], 1e-5)

# Instances of glTF, by another reader: as many as the table has, at its places.
recipe = (pathlib.Path(__file__).parents[1] / "examples/game-small.toml").read_text()
recipe = recipe.replace('shape = "rock"', 'shape = "rock"\nformats = ["csv", "glb"]')
(root / "rocks.toml").write_text(recipe)
run("run", "rocks.toml", "-o", "rocks", "--device", "cpu")
known = np.genfromtxt(root / "rocks/scatter_rocks.csv", delimiter=",", names=True)
gltf = pygltflib.GLTF2().load(str(root / "rocks/scatter_rocks.glb"))
assert gltf.extensionsRequired == ["EXT_mesh_gpu_instancing"]
(node,) = gltf.nodes
attributes = node.extensions["EXT_mesh_gpu_instancing"]["attributes"]


def accessor(name, width):
    accessor = gltf.accessors[attributes[name]]
    view = gltf.bufferViews[accessor.bufferView]
    data = gltf.binary_blob()[view.byteOffset : view.byteOffset + view.byteLength]
    return np.frombuffer(data, "<f4").reshape(accessor.count, width)


feet = np.stack([known["x"] * 2, known["height_m"], known["y"] * 2], axis=1)
hold("instances of glTF, pygltflib", accessor("TRANSLATION", 3), feet, 0.001)
hold("their sizes", accessor("SCALE", 3), np.repeat(known["size"][:, None], 3, axis=1), 1e-6)
x, y, z, w = accessor("ROTATION", 4).T
clockwise = -2 * np.degrees(np.arctan2(y, w)) % 360
hold("their turns", (clockwise - known["turn_deg"] + 180) % 360, np.full(len(known), 180.0), 0.001)

# Cells without a height lie outside the land, floats from 0 to 1 can be given metres,
# and cells have the sizes of their rows.
hills = (900 + 3 * np.arange(64)[None, :] + 40 * np.sin(np.arange(64)[:, None] * 0.3)).astype("f4")
holed = hills.copy()
holed[24:40, 24:40] = -9999
profile = {"driver": "GTiff", "width": 64, "height": 64, "count": 1, "dtype": "float32"}


def write(name, values, **more):
    with rasterio.open(root / name, "w", **{**profile, **more}) as file:
        file.write(values, 1)


utm = {"crs": "EPSG:32632", "transform": rasterio.transform.from_origin(400000, 5200000, 10, 10)}
write("whole.tif", hills, **utm)
write("hole.tif", holed, nodata=-9999, **utm)
for name in ["whole", "hole"]:
    run(
        "erode",
        f"{name}.tif",
        "-o",
        f"{name}_eroded.tif",
        "--device",
        "cpu",
        "--nodata",
        "0",
        "--keep-nodata",
    )
with (
    rasterio.open(root / "hole_eroded.tif") as file,
    rasterio.open(root / "whole_eroded.tif") as whole_file,
):
    hold("missing cells, rasterio", file.read_masks(1) == 0, holed == -9999)
    rim = np.zeros((64, 64), bool)
    rim[22:42, 22:42] = True
    sunk = [(hills - f.read(1))[rim & (holed != -9999)].mean() for f in (file, whole_file)]
    assert abs(sunk[0] - sunk[1]) < 20, (
        f"the rim of a hole sinks by {sunk[0]} m, without the hole by {sunk[1]} m"
    )
np.save(root / "shares.npy", (hills - hills.min()) / (hills.max() - hills.min()))
run("convert", "shares.npy", "metres.npy", "--range", "0", "2000", "--spacing", "10")
metres = np.load(root / "metres.npy")
assert metres.min() == 0 and metres.max() == 2000, (metres.min(), metres.max())
degrees = {"transform": rasterio.transform.from_origin(7, 60, 0.001, 0.001), "crs": "EPSG:4326"}
write("degrees.tif", np.tile(np.arange(64, dtype="f4") * 10, (64, 1)), **degrees)
(root / "degrees.toml").write_text(
    'schema = 2\ninput = "degrees.tif"\n[water]\n[output]\nmaps = ["slope", "drainage_area"]\n'
)
run("run", "degrees.toml", "-o", "degrees", "--device", "cpu")
latitudes = np.radians(60 - 0.001 * (np.arange(64) + 0.5))
wide = 111.32 * np.cos(latitudes)
with rasterio.open(root / "degrees/slope.tif") as file:
    hold("slopes in degrees", file.read(1)[:, 5], np.degrees(np.arctan(10 / wide)), 1e-3)
with rasterio.open(root / "degrees/drainage_area.tif") as file:
    # All water goes west, along its row.
    hold("areas in degrees", file.read(1)[1:-1, 0] / (64 * 111.32 * wide[1:-1]), np.ones(62), 1e-4)
moon = rasterio.crs.CRS.from_wkt(
    'GEOGCS["Moon",DATUM["Moon",SPHEROID["Moon",1737400,0]],PRIMEM["Reference Meridian",0],UNIT["degree",0.0174532925199433]]'
)
write("moon.tif", hills, crs=moon, transform=rasterio.transform.from_origin(7, 0.032, 0.001, 0.001))
write(
    "mercator.tif",
    hills,
    crs="EPSG:3857",
    transform=rasterio.transform.from_origin(0, 8399737.9 + 320, 10, 10),
)
for name, spacing in {"moon": 0.001 * np.pi / 180 * 1737400, "mercator": 5.0}.items():
    told = subprocess.run(
        [thalweg, "info", f"{name}.tif", "--json"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert abs(json.loads(told.stdout)[0]["spacing_m"] - spacing) < 1e-3, told.stdout
opened.append("the Moon and Web Mercator")

# A land by tiles has the heights of one run; overviews are means of two by two cells, and coarser
# arrays of Zarr are levels.
(root / "land.toml").write_text(
    'schema = 2\nseed = 3\nwidth = 1300\nheight = 700\nspacing_m = 10\nlevels = 2\n[[stage]]\nkind = "diamond_square"\n'
    '[[stage]]\nkind = "thermal"\nsteps = 2\n[output]\nmaps = ["height"]\nformat = "tif"\npreview = false\n'
)
for name, options in {"whole": [], "coarse": ["--level", "1"]}.items():
    run("run", "land.toml", "-o", name, *options)
run("tiles", "land.toml", "-o", "land.tif", "--tile-size", "300")
run("tiles", "land.toml", "-o", "land.zarr", "--tile-size", "300")
whole, coarse = (rasterio.open(root / name / "height.tif").read(1) for name in ["whole", "coarse"])
with rasterio.open(root / "land.tif") as file:
    hold("cog, rasterio", file.read(1), whole)
    assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG" and file.overviews(1) == [2, 4]
    hold(
        "cog's overview, rasterio",
        file.read(1, out_shape=(350, 650)),
        whole.reshape(350, 2, 650, 2).mean((1, 3)),
        1e-3,
    )
land = zarr.open_group(str(root / "land.zarr"), mode="r")
hold("zarr, zarr-python", land["0/height"][:], whole)
hold("zarr's level, zarr-python", land["1/height"][:], coarse)
for scale in land.attrs["ome"]["multiscales"]:
    assert [land[one["path"]].shape for one in scale["datasets"]] == [whole.shape, coarse.shape]


# xarray opens each level, and all of them as a tree, without a word and without reading a map;
# with places, units and the coordinate system.
def opens(name, level, expected, x, y, units, crs=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = xarray.open_zarr(root / name, group=str(level), consolidated=True)
        below = xarray.open_zarr(root / name / str(level), consolidated=True)
        tree = xarray.open_datatree(root / name, engine="zarr", consolidated=True)
    for one in [data, below, tree[str(level)].to_dataset()]:
        assert not one["height"].variable._in_memory, f"{name}: not lazy"
        assert one["height"].dims == ("y", "x") and one["height"].attrs["units"] == "m", one
        hold(f"{name}, level {level}, xarray", one["height"].values, expected)
        for axis, places in [("x", x), ("y", y)]:
            assert one[axis].dims == (axis,) and one[axis].attrs["units"] == units[axis], one[axis]
            assert np.array_equal(one[axis].values, places), (
                name,
                axis,
                one[axis].values[:3],
                places[:3],
            )
        if crs:
            system = one[
                one["height"].attrs.get("grid_mapping") or one["height"].encoding["grid_mapping"]
            ].attrs["spatial_ref"]
            assert rasterio.crs.CRS.from_user_input(system) == crs, system


metres = {"x": "m", "y": "m"}
opens("land.zarr", 0, whole, np.arange(1300) * 10.0, np.arange(700) * -10.0, metres)
opens("land.zarr", 1, coarse, np.arange(651) * 20.0, np.arange(351) * -20.0, metres)
chunk = (root / "land.zarr/0/height/c/0/0").stat().st_size
assert chunk < 0.95 * 512 * 512 * 4, f"a chunk has {chunk} bytes: is it compressed?"
# On Earth: the centres of the cells of a file.
(root / "earth.toml").write_text(
    f'schema = 2\ninput = "{source}"\nlevels = 2\n[[stage]]\nkind = "thermal"\nsteps = 1\n[output]\nmaps = ["height"]\nformat = "tif"\npreview = false\n'
)
run("run", "earth.toml", "-o", "earth")
run("run", "earth.toml", "-o", "earth1", "--level", "1")
run("tiles", "earth.toml", "-o", "earth.zarr")
with rasterio.open(root / "earth/height.tif") as file:
    x_m, y_m = (
        np.array(file.xy(np.arange(n) * (axis == 1), np.arange(n) * (axis == 0))[axis])
        for axis, n in [(0, 100), (1, 70)]
    )
    opens("earth.zarr", 0, file.read(1), x_m, y_m, metres, file.crs)
    with rasterio.open(root / "earth1/height.tif") as coarse_file:
        # Every second sample, and the first one beyond the land.
        beyond = [2 * axis[-1] - axis[-2] for axis in [x_m, y_m]]
        x_2, y_2 = (np.append(axis, end)[::2] for axis, end in zip([x_m, y_m], beyond))
        opens("earth.zarr", 1, coarse_file.read(1), x_2, y_2, metres, file.crs)
# Rivers, lakes, basins and points, by GDAL as in the wheels of pyogrio and fiona, against the maps
# of the same run.
(root / "rivers.toml").write_text("""
schema = 2
seed = 3
width = 150
height = 110
spacing_m = 20
[[stage]]
kind = "diamond_square"
relief_m = 300
[water]
sea_level_m = 30
channel_area_km2 = 0.03
vectors = ["geojson", "gpkg"]
[output]
maps = ["water_level", "basin", "drainage_area", "stream_order"]
""")
run("run", "rivers.toml", "-o", "rivers", "--device", "cpu")
maps = {
    name: rasterio.open(root / f"rivers/{name}.tif")
    for name in ["water_level", "basin", "drainage_area", "stream_order"]
}
raster = {name: file.read(1) for name, file in maps.items()}
place = maps["basin"].transform
kinds = {
    "rivers": "LineString Z",
    "lakes": "MultiPolygon Z",
    "basins": "MultiPolygon",
    "water_points": "Point Z",
}
for name, kind in kinds.items():
    files = [(root / "rivers/water.gpkg", name), (root / f"rivers/{name}.geojson", None)]
    tables = [pyogrio.raw.read(path, layer=layer) for path, layer in files]
    for (path, layer), (meta, _, shapes, _) in zip(files, tables):
        assert meta["geometry_type"] == kind and len(shapes) > 0, (path, meta["geometry_type"])
        assert "metre" in meta["crs"].lower() or "Cartesian" in meta["crs"], meta["crs"]
        with fiona.open(path, layer=layer) as file:
            assert len(list(file)) == len(shapes)
        opened.append(f"{path.name} {name}, pyogrio and fiona")
    assert pyogrio.read_info(files[0][0], layer=name)["capabilities"]["fast_spatial_filter"], (
        "a GeoPackage has an index of places"
    )
    shapes = [[shapely.from_wkb(shape) for shape in table[2]] for table in tables]
    assert all(shapely.is_valid(a) and a.equals(b) for a, b in zip(*shapes)), name
    rows = [
        dict(zip(table[0]["fields"], values)) for table in tables[1:] for values in zip(*table[3])
    ]
    if name == "rivers":
        for line, row in zip(shapes[0], rows):
            heights = [point[2] for point in line.coords]
            assert heights == sorted(heights, reverse=True), "a river runs uphill"
            cells = [tuple(int(v) for v in ~place * point[:2]) for point in line.coords[:-1]]
            assert all(
                raster["water_level"][r, c] == np.float32(z) for (c, r), z in zip(cells, heights)
            )
            assert all(raster["stream_order"][r, c] == row["strahler"] for c, r in cells)
            c, r = cells[-1]
            assert abs(raster["drainage_area"][r, c] / row["drainage_km2"] / 1e6 - 1) < 1e-6
    if name == "basins":
        ids = rasterio.features.rasterize(
            zip(shapes[0], range(1, len(shapes[0]) + 1)),
            out_shape=raster["basin"].shape,
            transform=place,
        )
        hold("basins, rasterised by GDAL", ids, raster["basin"].astype("f8"))
    if name == "lakes":
        sea = [shape for shape, row in zip(shapes[0], rows) if row["kind"] == "sea"]
        ids = rasterio.features.rasterize(sea, out_shape=raster["basin"].shape, transform=place)
        hold("the sea, rasterised by GDAL", ids, (raster["basin"] == 0).astype("f8"))
# The lines of an example lie on the thalwegs of the maps to the letter: at each vertex on land the
# lowest of the eight neighbours is on the line, downstream of it, or in the sea.
# docs/water.md says so of these settings alone, so with steepest descent it must fail.
example = pathlib.Path(__file__).resolve().parent.parent / "examples" / "rivers.toml"


def off_the_thalweg(folder, name):
    with rasterio.open(root / folder / f"{name}.tif") as file:
        raster, place = file.read(1), file.transform
    meta, fids, shapes, values = pyogrio.raw.read(
        root / folder / "water.gpkg", layer="rivers", return_fids=True
    )
    lakes = pyogrio.raw.read(root / folder / "water.gpkg", layer="lakes")[2]
    wet = (
        rasterio.features.rasterize(
            [shapely.from_wkb(shape) for shape in lakes], out_shape=raster.shape, transform=place
        )
        > 0
    )
    down = dict(zip(fids, values[list(meta["fields"]).index("downstream")]))
    lines = {
        fid: [
            tuple(int(v) for v in np.floor(~place * point[:2]))[::-1]
            for point in shapely.from_wkb(shape).coords
        ]
        for fid, shape in zip(fids, shapes)
    }
    # A line of a river that leaves the map ends on its edge, where no middle of a cell is.
    edge = {
        fid: any(v % 1 == 0 for v in ~place * shapely.from_wkb(shape).coords[-1][:2])
        for fid, shape in zip(fids, shapes)
    }
    count, off = 0, 0
    wide = np.pad(raster.astype("f8"), 1, constant_values=np.inf)
    for fid, cells in lines.items():
        line, at = set(), fid
        while not np.isnan(at):
            line.update(lines[at])
            at = down[at]
        for r, c in cells[:-1]:
            if wet[r, c]:
                continue
            block = wide[r : r + 3, c : c + 3].copy()
            block[1, 1] = np.inf
            lowest = [(r + i - 1, c + j - 1) for i, j in np.argwhere(block == block.min())]
            count += 1
            # Where a line leaves the map, nothing round its last cell is lower but the floor of the
            # sea or a lake.
            leaves = (r, c) == cells[-2] and edge[fid]
            dry = np.where(np.pad(wet, 1)[r : r + 3, c : c + 3], np.inf, block).min()
            off += (
                dry < raster[r, c]
                if leaves
                else not any(cell in line or wet[cell] for cell in lowest)
            )
    return count, off


words = [
    "--set",
    "water.simplify_m=0",
    "--set",
    "output.maps=height,water_level",
    "--size",
    "300",
    "--device",
    "cpu",
]
run("run", example, "-o", "steepest", *words)
run(
    "run",
    example,
    "-o",
    "lowest",
    *words,
    "--set",
    "water.routing=lowest",
    "--set",
    "water.depressions=breach",
    "--set",
    "water.carve=true",
)
for name in ["water_level", "height"]:
    (count, off), (_, others) = off_the_thalweg("lowest", name), off_the_thalweg("steepest", name)
    assert count > 300 and off == 0 and others > 5, (
        f"{name}: {off} of {count} vertices are off the thalweg, {others} with steepest descent"
    )
# The island of the example has lakes.
run("run", example.with_name("coast.toml"), "-o", "island", "--device", "cpu")
for name in ["water_level", "height"]:
    count, off = off_the_thalweg("island", name)
    assert count > 300 and off == 0, (
        f"coast.toml, {name}: {off} of {count} vertices are off the thalweg"
    )
    opened.append(f"thalwegs on {name}, rasterio and pyogrio")
# Coordinate systems without a code, as GDAL writes their keys and as PROJ reads the text that is
# made of them. The last ones have no text.
systems = {
    "albers": "ESRI:102008",
    "albers, PE": ("ESRI:102008", {"GEOTIFF_KEYS_FLAVOR": "ESRI_PE"}),
    "laea": "+proj=laea +lat_0=45 +lon_0=10 +x_0=7 +ellps=GRS80",
    "laea, sphere": "+proj=laea +lat_0=10 +lon_0=20 +R=6371228",
    "tmerc": "+proj=tmerc +lat_0=-3 +lon_0=12.5 +k=0.9999 +x_0=500000 +y_0=-100000 +ellps=bessel",
    "tmerc, own ellipsoid": "+proj=tmerc +lat_0=0 +lon_0=9 +k=1 +a=6377000 +b=6356000",
    "tmerc, shifted": "+proj=tmerc +lat_0=0 +lon_0=9 +x_0=3500000 +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7",
    "tmerc, feet": "+proj=tmerc +lat_0=33 +lon_0=-80 +k=0.9999 +x_0=304800 +datum=NAD27 +units=ft",
    "utm": "+proj=utm +zone=33 +ellps=bessel",
    "utm, south": "+proj=utm +zone=24 +south +ellps=intl",
    "lcc, one": "+proj=lcc +lat_1=46.5 +lat_0=46.5 +lon_0=3 +k_0=0.99987742 +x_0=600000 +y_0=2200000 +ellps=clrk80ign",
    "lcc, Paris": "+proj=lcc +lat_1=46.5 +lat_0=46.5 +lon_0=0 +k_0=0.99987742 +x_0=600000 +y_0=2200000 +ellps=clrk80ign +pm=paris",
    "lcc, two": "+proj=lcc +lat_1=49 +lat_2=44 +lat_0=46.5 +lon_0=3 +x_0=700000 +y_0=6600000 +datum=WGS84",
    "lcc, feet": "+proj=lcc +lat_1=34 +lat_2=36 +lat_0=33 +lon_0=-80 +x_0=609601.2192024384 +y_0=30480 +datum=NAD83 +units=us-ft",
    "polar, by a latitude": "+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=20 +x_0=1000 +y_0=2000 +datum=WGS84",
    "polar, by a scale": "+proj=stere +lat_0=90 +lon_0=-45 +k=0.994 +x_0=2000000 +y_0=2000000 +datum=WGS84",
    "sinusoidal": "+proj=sinu +R=6371007.181",
    "degrees": "+proj=longlat +a=6377000 +b=6356000",
    "degrees, sphere": "+proj=longlat +R=1737400",
}
for code in [
    4167,
    4230,
    4258,
    4267,
    4269,
    4277,
    4283,
    4289,
    4314,
    4322,
    4326,
    4612,
    4617,
    4674,
    6318,
    6668,
    7844,
    4171,
]:
    base = rasterio.crs.CRS.from_epsg(code).to_wkt(version="WKT1_GDAL")
    text = (
        f'PROJCS["own",{base},PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",1],PARAMETER["central_meridian",2],'
        'PARAMETER["scale_factor",0.9],PARAMETER["false_easting",3],PARAMETER["false_northing",4],UNIT["metre",1]]'
    )
    # Version 1.1 has the code alone, and 1.0 the ellipsoid too, from which follows one whose code
    # is not known.
    systems[f"on EPSG:{code}"] = (text, {"GEOTIFF_VERSION": "1.0" if code == 4171 else "1.1"})


def plain(system):
    return re.sub(
        r',AXIS\[[^\]]*\]|DATUM\["[^"]*"|,AUTHORITY\["EPSG","(6171|7019|9001)"\]',
        "",
        system.to_wkt().replace("298.257222101004", "298.257222101"),
    )


unnamed = {
    "oblique": "+proj=omerc +lat_0=4 +lonc=102 +alpha=323 +k=0.99984 +gamma=323 +ellps=GRS80",
    "robinson": "ESRI:54030",
}
for n, (name, system) in enumerate({**systems, **unnamed}.items()):
    system, options = system if isinstance(system, tuple) else (system, {})
    system = rasterio.crs.CRS.from_user_input(system)
    step = 0.001 if system.is_geographic else 30
    corner = rasterio.transform.from_origin(8, 45, step, step)
    with rasterio.open(
        root / f"crs_{n}.tif",
        "w",
        driver="GTiff",
        width=100,
        height=70,
        count=1,
        dtype="float32",
        transform=corner,
        crs=system,
        **options,
    ) as file:
        file.write(height, 1)
    (root / f"crs_{n}.toml").write_text(
        f'schema = 2\ninput = "crs_{n}.tif"\n[[stage]]\nkind = "strokes"\n[water]\nvectors = ["geojson", "gpkg"]\n'
        '[output]\nmaps = ["height"]\nformat = "tif"\npreview = false\n'
    )
    run("run", f"crs_{n}.toml", "-o", f"crs_{n}", "--device", "cpu")
    with rasterio.open(root / f"crs_{n}.tif") as file:
        expected = file.crs
    for path, layer in [
        (root / f"crs_{n}/water.gpkg", "basins"),
        (root / f"crs_{n}/basins.geojson", None),
    ]:
        meta, _, shapes, _ = pyogrio.raw.read(path, layer=layer)
        if name in unnamed:
            assert "metre" in meta["crs"].lower() or "Cartesian" in meta["crs"], (name, meta["crs"])
        else:
            found = rasterio.crs.CRS.from_user_input(meta["crs"])
            # In files of features the longitude goes first, whatever a system says of its axes.
            # A datum that is not listed has no name of its own, and readers know it by the code of
            # its geographic system.
            as_text = system.is_geographic or name == "on EPSG:4171"
            same = plain(found) == plain(expected) if as_text else found == expected
            assert same, f"{name}: {found.to_wkt()}, expected {expected.to_wkt()}"
        bounds = shapely.total_bounds([shapely.from_wkb(shape) for shape in shapes])
        assert np.allclose(bounds, [8, 45 - 70 * step, 8 + 100 * step, 45], rtol=0, atol=1e-9), (
            f"{name}: {bounds}"
        )
        opened.append(f"{path.name}, {name}")
# Rasters as GIS have them, and what rasterio says of each: units, missing samples, places, bands.


def told(name, *words):
    """What thalweg says of a file."""
    return json.loads(
        subprocess.run(
            [thalweg, "info", name, "--json", *map(str, words)],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


def near(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(b))


def raster(
    name,
    data,
    crs="EPSG:32632",
    transform=rasterio.transform.from_origin(400000, 5200000, 10, 10),
    **options,
):
    """Writes a GeoTIFF by GDAL."""
    data = np.atleast_3d(data.T).T
    with rasterio.open(
        root / name,
        "w",
        driver="GTiff",
        width=data.shape[2],
        height=data.shape[1],
        count=data.shape[0],
        dtype=data.dtype,
        crs=crs,
        transform=transform,
        **options,
    ) as file:
        file.write(data)


def same_as_gdal(name, *words, band=1):
    """Holds the samples that are missing, the others and the place against GDAL's reading, of which
    rows may go to the north."""
    with rasterio.open(root / name) as file:
        values, there, bounds = file.read(band).astype("f8"), file.read_masks(band) > 0, file.bounds
        upwards = file.transform.e > 0
    if upwards:
        values, there = values[::-1], there[::-1]
    run("convert", name, "own.npy", "--nodata", 0, "--keep-nodata", "--force", *words)
    own = np.load(root / "own.npy")
    assert (np.isfinite(own) == there).all(), (
        f"{name}: {(~there).sum()} are missing, thalweg says {(~np.isfinite(own)).sum()}"
    )
    assert (own[there] == values[there]).all(), name
    west, south, east, north = told(name, *words)[0]["bounds"]
    assert [west, south, east, north] == [
        bounds.left,
        min(bounds.bottom, bounds.top),
        bounds.right,
        max(bounds.bottom, bounds.top),
    ], name
    opened.append(f"{name}, as rasterio reads it")


# The unit of every system of the register, where GDAL writes the code alone; the table is that
# of this version of PROJ.
made = subprocess.run(
    [sys.executable, tests / "epsg.py"], capture_output=True, text=True, check=True
).stdout
assert made == (tests.parent / "src/io/epsg.rs").read_text(), (
    "src/io/epsg.rs is not what tests/epsg.py makes"
)
register = pathlib.Path(rasterio.__file__).parent / "proj_data/proj.db"
with sqlite3.connect(f"file:{register}?mode=ro", uri=True) as db:
    listed = """SELECT s.code, u.conv_factor FROM {} s
        JOIN axis a ON a.coordinate_system_auth_name = s.coordinate_system_auth_name AND a.coordinate_system_code = s.coordinate_system_code
        JOIN unit_of_measure u ON u.auth_name = a.uom_auth_name AND u.code = a.uom_code
        WHERE s.auth_name = 'EPSG' AND a.coordinate_system_order = 1 AND CAST(s.code AS INTEGER) < 32767"""
    planes, heights = (
        db.execute(listed.format(kind)).fetchall() for kind in ["projected_crs", "vertical_crs"]
    )


def keyed(name, *keys):
    """A GeoTIFF of cells of 3 units and heights of 100, with these keys of its system."""
    directory = [1, 1, 0, len(keys)] + [word for key, value in keys for word in (key, 0, 1, value)]
    tags = [
        (256, 3, [2]),
        (257, 3, [2]),
        (258, 3, [32]),
        (259, 3, [1]),
        (262, 3, [1]),
        (273, 4, [8]),
        (277, 3, [1]),
        (278, 3, [2]),
        (279, 4, [16]),
        (339, 3, [3]),
        (33550, 12, [3, 3, 0]),
        (33922, 12, [0, 0, 0, 1000, 2000, 0]),
        (34735, 3, directory),
    ]
    head, tail = struct.pack("<H", len(tags)), b""
    start = 24 + 2 + 12 * len(tags) + 4
    for number, kind, values in tags:
        packed = struct.pack(f"<{len(values)}{ {3: 'H', 4: 'I', 12: 'd'}[kind] }", *values)
        if len(packed) > 4:
            packed, tail = struct.pack("<I", start + len(tail)), tail + packed
        head += struct.pack("<HHI", number, kind, len(values)) + packed.ljust(4, b"\0")
    heights = np.full(4, 100, "<f4").tobytes()
    (root / name).write_bytes(b"II*\0" + struct.pack("<I", 24) + heights + head + bytes(4) + tail)
    return name


codes = [(int(code), factor) for code, factor in planes]
files = [keyed(f"plane_{code}.tif", (1024, 1), (3072, code)) for code, _ in codes]
for (code, factor), reading in zip(codes, told(files[0], *files[1:])):
    # Web Mercator is a little smaller on the ground as near to the equator as this.
    assert abs(reading["spacing_m"] / (3 * factor) - 1) < 1e-6, (
        f"EPSG:{code}: {reading['spacing_m']}, expected {3 * factor}"
    )
codes = [(int(code), factor) for code, factor in heights]
files = [keyed(f"heights_{code}.tif", (1024, 1), (3072, 32632), (4096, code)) for code, _ in codes]
for (code, factor), reading in zip(codes, told(files[0], *files[1:])):
    assert abs(reading["mean"] / (100 * factor) - 1) < 1e-7, (
        f"EPSG:{code}: {reading['mean']}, expected {100 * factor}"
    )
opened.append(f"{len(planes)} systems on a plane and {len(heights)} of heights, PROJ")
y, x = np.mgrid[0:40, 0:50]
small = (500 + x + 3 * y).astype("f4")
us_foot = 1200 / 3937
for code, spacing, unit in [
    ("EPSG:6529+6360", 3 * us_foot, us_foot),
    ("EPSG:6529", 3 * us_foot, 1),
    ("EPSG:32632+6360", 3, us_foot),
    ("EPSG:2222+8228", 0.9144, 0.3048),
    ("EPSG:27700+5701", 3, 1),
]:
    raster(
        "compound.tif",
        small,
        crs=code,
        transform=rasterio.transform.from_origin(400000, 5200000, 3, 3),
    )
    reading = told("compound.tif")[0]
    assert (
        near(reading["spacing_m"], spacing) and abs(reading["mean"] - small.mean() * unit) < 1e-3
    ), (code, reading)
    opened.append(f"{code}, GDAL")
# Sparse files whose bands lie apart, in tiles and in strips; either band.
for name, blocks in {
    "tiles": dict(tiled=True, blockxsize=16, blockysize=16),
    "strips": dict(blockysize=8),
}.items():
    for sparse in [1, 2]:
        path = f"sparse_{name}_{sparse}.tif"
        options = dict(
            driver="GTiff",
            width=50,
            height=40,
            count=2,
            dtype="float32",
            crs="EPSG:32632",
            nodata=-9999,
            interleave="band",
            compress="deflate",
            SPARSE_OK=True,
            transform=rasterio.transform.from_origin(400000, 5200000, 10, 10),
        )
        with rasterio.open(root / path, "w", **options, **blocks) as file:
            file.write(small, 3 - sparse)
            file.write(
                small[:16, :16] if name == "tiles" else small[:8],
                sparse,
                window=((0, 16), (0, 16)) if name == "tiles" else ((0, 8), (0, 50)),
            )
        for band in [1, 2]:
            same_as_gdal(path, "--band", band, band=band)
# F3: masks within the file and beside it, for all bands; transparency.
hole = np.where((x > 9) & (x < 14) & (y > 5) & (y < 10), 0, 255).astype("u1")
for name, within in {"within": True, "beside": False}.items():
    for bands in [1, 2]:
        path = f"mask_{name}_{bands}.tif"
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=within):
            raster(path, np.stack([small] * bands))
            with rasterio.open(root / path, "r+") as file:
                file.write_mask(hole)
        assert (root / f"{path}.msk").exists() != within
        same_as_gdal(path, *(["--band", 2] if bands == 2 else []), band=bands)
raster(
    "alpha.tif",
    np.stack([small.astype("u2"), hole.astype("u2")]),
    photometric="minisblack",
    alpha="yes",
)
same_as_gdal("alpha.tif")
# F4: the value for missing samples, in all spellings. GDAL takes a word for 0, and thalweg says
# that it does not.
voided = np.where(hole == 0, -9999, small).astype("f4")
voided[:2] = np.finfo("f4").min
for text in [
    "-9999",
    "-9999\n",
    "\t-9999",
    "-9999\r\n",
    "-9999,0",
    "-9999.0 ",
    "-9999;0",
    "-9999abc",
    "-3.4028234663852886e+38",
    "-3.402823e+38",
    "-3.40282346639e+38",
    "-3.4e38",
    "nan",
    "NaN",
    "1.#QNAN",
    "+500,0",
    "5e2",
    "-inf",
    "1e30",
]:
    raster("spelt.tif", voided, nodata=-9999)
    bytes_ = (root / "spelt.tif").read_bytes()
    entry = struct.pack("<HHI", 42113, 2, 6)
    at = bytes_.index(entry)
    there = len(bytes_) + len(bytes_) % 2
    (root / "spelt.tif").write_bytes(
        bytes_[:at]
        + struct.pack("<HHII", 42113, 2, len(text) + 1, there)
        + bytes_[at + 12 :].ljust(there - at - 12, b"\0")
        + text.encode()
        + b"\0"
    )
    same_as_gdal("spelt.tif")
short = np.where(hole == 0, -32768, small).astype("i2")
short[0, :8] = -9999
raster("void.tif", short, nodata=-9999)
np.save(root / "void.npy", np.where(short == -9999, 7, short).astype("i2"))
assert (
    told("void.tif")[0]["missing"] == (short < 0).sum()
    and told("void.npy")[0]["missing"] == (short == -32768).sum()
)
(root / "rounded.asc").write_text(
    "ncols 3\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 10\nNODATA_value -3.4028230607370965251e+38\n1 -3.4028231e+38 2\n"
)
same_as_gdal("rounded.asc")
# F8: rows to the north, columns to the west, and a turn that is none.
for name, placed in {
    "south_up": rasterio.Affine(10, 0, 400000, 0, 10, 5199600),
    "almost": rasterio.Affine(10, 1e-10, 400000, -1e-10, -10, 5200000),
}.items():
    raster(f"{name}.tif", small, transform=placed)
    if name == "south_up":
        same_as_gdal("south_up.tif")
    assert told(f"{name}.tif")[0]["bounds"] == [400000, 5199600, 400500, 5200000], name
# F10: metadata that GDAL reads all the same.
raster("metadata.tif", small)
with rasterio.open(root / "metadata.tif", "r+") as file:
    file.update_tags(SOURCE="A & B", OTHER="<x>")
    file.scales = [2.0]
assert near(told("metadata.tif")[0]["mean"], 2 * small.mean())
bytes_ = (root / "metadata.tif").read_bytes()
for name, old, new in [
    ("stray", b"A &amp;amp; B", b"A & B        "),
    ("broken", b"</GDALMetadata>", b"</GDALMetadat> "),
]:
    assert old in bytes_
    (root / f"{name}.tif").write_bytes(bytes_.replace(old, new))
    reading = told(f"{name}.tif")[0]
    assert near(reading["mean"], small.mean() * (2 if name == "stray" else 1)), name
    assert (name == "broken") == any("metadata" in warning for warning in reading["warnings"]), (
        reading["warnings"]
    )
# F13: parts and channels of EXR by OpenEXR; kinds that are not read; units; a map without a place;
# raw samples of GDAL's.
part = lambda name, channels: OpenEXR.Part(
    {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}, channels, name
)
ones = np.ones((40, 50), "f4")
OpenEXR.File([part("beauty", {"RGBA": np.dstack([ones] * 4)}), part("height", {"Y": small})]).write(
    str(root / "parts.exr")
)
run("convert", "parts.exr", "own.npy", "--force")
hold("exr of parts, OpenEXR", np.load(root / "own.npy"), small)
run("convert", "parts.exr", "own.npy", "--band", "5", "--force")
hold("exr by its channel, OpenEXR", np.load(root / "own.npy"), small)
OpenEXR.File(
    {"compression": OpenEXR.HTJ2K256_COMPRESSION, "type": OpenEXR.scanlineimage}, {"Y": small}
).write(str(root / "htj2k.exr"))
deep = np.empty((4, 4), dtype=object)
for at in np.ndindex(4, 4):
    deep[at] = np.ones(2, "f4")
OpenEXR.File(
    {"compression": OpenEXR.ZIPS_COMPRESSION, "type": OpenEXR.deepscanline}, {"Y": deep}
).write(str(root / "deep.exr"))
for name, word in {"htj2k.exr": "not read", "deep.exr": "deep"}.items():
    done = subprocess.run([thalweg, "info", name], cwd=root, capture_output=True, text=True)
    assert (
        done.returncode == 1
        and word in done.stderr
        and "lossy" not in done.stderr
        and "damaged" not in done.stderr
    ), done.stderr
for unit, metres in {
    "US survey foot": us_foot,
    "Foot_US": us_foot,
    "us-ft": us_foot,
    "international foot": 0.3048,
    "km": 1000,
    "mm": 0.001,
}.items():
    raster("unit.tif", small)
    with rasterio.open(root / "unit.tif", "r+") as file:
        file.units = [unit]
    assert abs(told("unit.tif")[0]["mean"] / (small.mean() * metres) - 1) < 1e-6, unit
np.save(root / "plain.npy", small)
run("convert", "plain.npy", "plain.tif", "--spacing", 10)
with rasterio.open(root / "plain.tif") as file:
    assert 'UNIT["metre",1' in file.crs.to_wkt(), file.crs
with rasterio.open(
    root / "gdal.r32", "w", driver="ENVI", width=50, height=40, count=1, dtype="float32"
) as file:
    file.write(small, 1)
assert (root / "gdal.hdr").exists()
run("convert", "gdal.r32", "own.npy", "--force")
hold("raw with GDAL's header", np.load(root / "own.npy"), small)
small.byteswap().tofile(root / "gdal.r32")
(root / "gdal.hdr").write_text(
    (root / "gdal.hdr").read_text().replace("byte order = 0", "byte order = 1")
)
run("convert", "gdal.r32", "own.npy", "--force")
hold("raw of big-endian samples", np.load(root / "own.npy"), small)
json.loads(subprocess.run([thalweg, "schema"], capture_output=True, text=True, check=True).stdout)
print(f"{len(opened)} files are as they should be:", "; ".join(opened))
