#!/usr/bin/env python3
"""Opens what thalweg writes with readers that are not ours, and holds it against a formula.

    pip install -r tests/requirements.txt
    cargo build --release && python3 tests/readers.py target/release/thalweg
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import fiona
import numpy as np
import OpenEXR
import pygltflib
import pyogrio
import rasterio
import rasterio.features
import shapely
import trimesh
import zarr

thalweg = pathlib.Path(sys.argv[1]).resolve()
data = pathlib.Path(__file__).resolve().parent / "data" / "tiff"
root = pathlib.Path(tempfile.mkdtemp())
opened = []


def run(*words):
    done = subprocess.run([thalweg, *map(str, words), "-q"], cwd=root, capture_output=True, text=True)
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
    with rasterio.open(root / f"{name}.tif") as file, rasterio.open(data / f"{name}.tif") as original:
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
hold("r16, numpy", np.fromfile(root / "h.r16", "<u2").reshape(70, 100) / 65535 * 256, height, 256 / 65535)
with rasterio.open(root / "h.r16") as file:
    hold("r16 with its header, rasterio", file.read(1) * file.scales[0] + file.offsets[0], height, 256 / 65535)
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

run("convert", source, "houdini", "--for", "houdini")
channels = OpenEXR.File(str(root / "houdini" / "big_layers.exr")).channels()
hold("houdini's exr, OpenEXR", channels["height"].pixels, height)
run("convert", source, "godot", "--for", "godot")
channels = OpenEXR.File(str(root / "godot" / "big_height.exr")).channels()
hold("godot's exr, OpenEXR", channels["RGB"].pixels[:, :, 0], height)
# A land by tiles has the heights of one run; overviews are means of two by two cells, and coarser arrays of Zarr are levels.
(root / "land.toml").write_text(
    'schema = 1\nseed = 3\nwidth = 1300\nheight = 700\nspacing_m = 10\nlevels = 2\n[[stage]]\nkind = "diamond_square"\n'
    '[[stage]]\nkind = "thermal"\nsteps = 2\n[output]\nmaps = ["height"]\nformat = "tif"\npreview = false\n'
)
for name, options in {"whole": [], "coarse": ["--level", "1"]}.items():
    run("run", "land.toml", "-o", name, *options)
run("tiles", "land.toml", "-o", "land.tif", "--side", "300")
run("tiles", "land.toml", "-o", "land.zarr", "--side", "300")
whole, coarse = (rasterio.open(root / name / "height.tif").read(1) for name in ["whole", "coarse"])
with rasterio.open(root / "land.tif") as file:
    hold("cog, rasterio", file.read(1), whole)
    assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG" and file.overviews(1) == [2, 4]
    hold("cog's overview, rasterio", file.read(1, out_shape=(350, 650)), whole.reshape(350, 2, 650, 2).mean((1, 3)), 1e-3)
land = zarr.open_group(str(root / "land.zarr"), mode="r")
hold("zarr, zarr-python", land["height/0"][:], whole)
hold("zarr's level, zarr-python", land["height/1"][:], coarse)
# Rivers, lakes, basins and points, by GDAL as in the wheels of pyogrio and fiona, against the maps of the same run.
(root / "rivers.toml").write_text("""
schema = 1
seed = 3
width = 150
height = 110
spacing_m = 20
[[stage]]
kind = "diamond_square"
relief_m = 300
[water]
sea_level_m = 30
river_km2 = 0.03
vectors = ["geojson", "gpkg"]
[output]
maps = ["water_level", "basin", "drainage_area", "stream_order"]
""")
run("run", "rivers.toml", "-o", "rivers", "--device", "cpu")
maps = {name: rasterio.open(root / f"rivers/{name}.tif") for name in ["water_level", "basin", "drainage_area", "stream_order"]}
raster = {name: file.read(1) for name, file in maps.items()}
place = maps["basin"].transform
kinds = {"rivers": "LineString Z", "lakes": "MultiPolygon Z", "basins": "MultiPolygon", "water_points": "Point Z"}
for name, kind in kinds.items():
    files = [(root / "rivers/water.gpkg", name), (root / f"rivers/{name}.geojson", None)]
    tables = [pyogrio.raw.read(path, layer=layer) for path, layer in files]
    for (path, layer), (meta, _, shapes, _) in zip(files, tables):
        assert meta["geometry_type"] == kind and len(shapes) > 0, (path, meta["geometry_type"])
        assert "metre" in meta["crs"].lower() or "Cartesian" in meta["crs"], meta["crs"]
        with fiona.open(path, layer=layer) as file:
            assert len(list(file)) == len(shapes)
        opened.append(f"{path.name} {name}, pyogrio and fiona")
    assert pyogrio.read_info(files[0][0], layer=name)["capabilities"]["fast_spatial_filter"], "a GeoPackage has an index of places"
    shapes = [[shapely.from_wkb(shape) for shape in table[2]] for table in tables]
    assert all(shapely.is_valid(a) and a.equals(b) for a, b in zip(*shapes)), name
    rows = [dict(zip(table[0]["fields"], values)) for table in tables[1:] for values in zip(*table[3])]
    if name == "rivers":
        for line, row in zip(shapes[0], rows):
            heights = [point[2] for point in line.coords]
            assert heights == sorted(heights, reverse=True), "a river runs uphill"
            cells = [tuple(int(v) for v in ~place * point[:2]) for point in line.coords[:-1]]
            assert all(raster["water_level"][r, c] == np.float32(z) for (c, r), z in zip(cells, heights))
            assert all(raster["stream_order"][r, c] == row["strahler"] for c, r in cells)
            c, r = cells[-1]
            assert abs(raster["drainage_area"][r, c] / row["drainage_km2"] / 1e6 - 1) < 1e-6
    if name == "basins":
        ids = rasterio.features.rasterize(zip(shapes[0], range(1, len(shapes[0]) + 1)), out_shape=raster["basin"].shape, transform=place)
        hold("basins, rasterised by GDAL", ids, raster["basin"].astype("f8"))
    if name == "lakes":
        sea = [shape for shape, row in zip(shapes[0], rows) if row["kind"] == "sea"]
        ids = rasterio.features.rasterize(sea, out_shape=raster["basin"].shape, transform=place)
        hold("the sea, rasterised by GDAL", ids, (raster["basin"] == 0).astype("f8"))
json.loads(subprocess.run([thalweg, "schema"], capture_output=True, text=True, check=True).stdout)
print(f"{len(opened)} files are as they should be:", "; ".join(opened))
