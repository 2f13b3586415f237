"""Objects of Blender, made of a land's arrays.

Arrays go in and out by `foreach_set` and `foreach_get`, never point by point.
"""

from contextlib import contextmanager

import bpy
import numpy as np

from . import grid

#: The kinds of data that this add-on makes, as `bpy.data` names them.
KINDS = ("objects", "meshes", "curves", "images", "textures", "materials")
#: Levels of subdivision that a plane has at most, in the window and in a picture.
LEVELS_SHOWN, LEVELS_RENDERED = 8, 11
#: The maps that the material of the ground uses, where a recipe can leave them.
GROUND_MAPS = ("slope", "deposition", "sediment", "flow", "beach", "biome_colour")
#: The maps that water needs.
WATER_MAPS = ("water_depth", "water_level", "river_width")


@contextmanager
def all_or_nothing():
    """Takes what was made out of the file again if making it fails."""
    before = {kind: set(getattr(bpy.data, kind)) for kind in KINDS}
    try:
        yield
    except BaseException:
        bpy.data.batch_remove(
            [one for kind in KINDS for one in getattr(bpy.data, kind) if one not in before[kind]]
        )
        raise


def new_mesh(name: str, points, quads, uvs=None) -> bpy.types.Mesh:
    """A smooth mesh of points, of faces with four corners, and of one UV for each point."""
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", np.ascontiguousarray(points, np.float32).ravel())
    if len(quads):
        mesh.loops.add(quads.size)
        mesh.loops.foreach_set("vertex_index", np.ascontiguousarray(quads, np.int32).ravel())
        mesh.polygons.add(len(quads))
        mesh.polygons.foreach_set("loop_start", np.arange(0, quads.size, 4, dtype=np.int32))
    if uvs is not None:
        layer = mesh.uv_layers.new(name="UVMap")
        layer.uv.foreach_set("vector", np.ascontiguousarray(uvs[quads], np.float32).ravel())
    mesh.update(calc_edges=True)
    mesh.shade_smooth()
    return mesh


def add_maps(mesh: bpy.types.Mesh, land, names, cells) -> None:
    """Maps as attributes of points; `biome_colour` becomes a colour."""
    for name in names:
        values = land[name].ravel()[cells]
        old = mesh.attributes.get(name)
        if old is not None:
            mesh.attributes.remove(old)
        if name == "biome_colour":
            number = values.astype(np.uint32)
            colour = np.ones((len(values), 4), np.float32)
            for channel, shift in enumerate((16, 8, 0)):
                colour[:, channel] = ((number >> shift) & 255) / np.float32(255)
            layer = mesh.attributes.new(name, "BYTE_COLOR", "POINT")
            layer.data.foreach_set("color_srgb", colour.ravel())
        else:
            layer = mesh.attributes.new(name, "FLOAT", "POINT")
            layer.data.foreach_set("value", values)


def say_origin(data, land) -> None:
    """Notes on a mesh or image what made it."""
    data["thalweg_recipe"] = land.recipe.to_toml()
    data["thalweg_height_blake3"] = land.digest("height")


def land_mesh(land, names, metres_per_unit: float) -> bpy.types.Mesh:
    """A land as a mesh, its middle at (0, 0), with maps as attributes."""
    surface = grid.surface(land["height"], land.spacing_m)
    name = land.recipe.name
    mesh = new_mesh(name, surface.points / metres_per_unit, surface.quads, surface.uvs)
    add_maps(mesh, land, names, surface.cells)
    say_origin(mesh, land)
    return mesh


def new_image(name: str, values) -> bpy.types.Image:
    """A floating-point image of a grid, stored in the file."""
    rows, columns = values.shape
    image = bpy.data.images.new(name, columns, rows, alpha=False, float_buffer=True, is_data=True)
    pixels = np.ones((rows, columns, 4), np.float32)
    # Row 0 of an image is at the bottom.
    pixels[..., :3] = values[::-1, :, None]
    image.pixels.foreach_set(pixels.ravel())
    image.update()
    image.pack()
    return image


def read_image(image: bpy.types.Image) -> np.ndarray:
    """The first channel of a floating-point image, row 0 at the top."""
    columns, rows = image.size
    pixels = np.empty(rows * columns * image.channels, np.float32)
    image.pixels.foreach_get(pixels)
    return np.ascontiguousarray(pixels.reshape(rows, columns, image.channels)[::-1, :, 0])


def land_plane(land, metres_per_unit: float) -> bpy.types.Object:
    """A plane that an image of the heights displaces."""
    heights = land["height"]
    heights = np.where(np.isnan(heights), np.nanmin(heights), heights)
    rows, columns = heights.shape
    name = land.recipe.name
    image = new_image(f"{name} height", heights)
    say_origin(image, land)

    # Corners are in the middles of the corner cells, where the samples are.
    corner = np.zeros((2, 2), np.float32)
    square = grid.surface(corner, 1.0)
    reach = np.array([columns - 1, rows - 1, 0]) * land.spacing_m / metres_per_unit
    side = np.array([columns, rows])
    uvs = ((square.uvs - 0.25) * 2 * (side - 1) + 0.5) / side
    thing = bpy.data.objects.new(name, new_mesh(name, square.points * reach, square.quads, uvs))

    levels = max(1, int(np.ceil(np.log2(max(rows, columns) - 1))))
    divide = thing.modifiers.new("Cells", "SUBSURF")
    divide.subdivision_type = "SIMPLE"
    divide.levels = min(levels, LEVELS_SHOWN)
    divide.render_levels = min(levels, LEVELS_RENDERED)
    texture = bpy.data.textures.new(f"{name} height", "IMAGE")
    texture.image = image
    texture.extension = "EXTEND"
    displace = thing.modifiers.new("Height", "DISPLACE")
    displace.texture = texture
    displace.texture_coords = "UV"
    displace.uv_layer = "UVMap"
    displace.mid_level = 0
    displace.strength = 1 / metres_per_unit
    return thing


def water_object(land, metres_per_unit: float) -> bpy.types.Object | None:
    """The sea and lakes as level faces, if there are any."""
    quads = grid.level_quads(land["water_level"], land["water_depth"] > 0, land.spacing_m)
    if not len(quads):
        return None
    name = f"{land.recipe.name} water"
    numbers = np.arange(4 * len(quads), dtype=np.int32).reshape(-1, 4)
    mesh = new_mesh(name, quads.reshape(-1, 3) / metres_per_unit, numbers)
    mesh.materials.append(water_material())
    return bpy.data.objects.new(name, mesh)


def rivers_object(land, metres_per_unit: float, times: float) -> bpy.types.Object | None:
    """Rivers as one curve, as thick as they are wide, if there are any."""
    found = grid.lines(land.rivers()["features"], land.spacing_m, land.transform)
    if not found:
        return None
    rows, columns = land.shape
    width_m = land["river_width"]
    name = f"{land.recipe.name} rivers"
    curve = bpy.data.curves.new(name, "CURVE")
    curve.dimensions = "3D"
    curve.bevel_depth = 1
    curve.bevel_resolution = 1
    for line, about in found:
        column, row = line[:, 0], line[:, 1]
        cell = (
            np.clip(np.rint(row), 0, rows - 1).astype(int),
            np.clip(np.rint(column), 0, columns - 1).astype(int),
        )
        # A line ends in the sea, where there is no river.
        width = np.where(width_m[cell] > 0, width_m[cell], about["width_m"])
        points = np.empty((len(line), 4), np.float32)
        points[:, 0] = (column - (columns - 1) / 2) * land.spacing_m / metres_per_unit
        points[:, 1] = ((rows - 1) / 2 - row) * land.spacing_m / metres_per_unit
        points[:, 2] = line[:, 2] / metres_per_unit
        points[:, 3] = 1
        spline = curve.splines.new("POLY")
        spline.points.add(len(line) - 1)
        spline.points.foreach_set("co", points.ravel())
        radius = (width / 2 * times / metres_per_unit).astype(np.float32)
        spline.points.foreach_set("radius", radius)
    curve.materials.append(water_material())
    return bpy.data.objects.new(name, curve)


def _nodes(name: str):
    """A new material with a Principled BSDF, and its tree."""
    material = bpy.data.materials.new(name)
    if material.node_tree is None:
        material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    shader = tree.nodes.new("ShaderNodeBsdfPrincipled")
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    shader.location, output.location = (0, 0), (300, 0)
    tree.links.new(shader.outputs["BSDF"], output.inputs["Surface"])
    return material, tree, shader


def water_material() -> bpy.types.Material:
    """The material of all water: the one of an earlier land, else a new one."""
    material = bpy.data.materials.get("Thalweg water")
    if material is None:
        material, _, shader = _nodes("Thalweg water")
        shader.inputs["Base Color"].default_value = (0.02, 0.1, 0.14, 1)
        shader.inputs["Roughness"].default_value = 0.3
        material.diffuse_color = (0.05, 0.2, 0.3, 1)
    return material


def ground_material(land, names) -> bpy.types.Material:
    """Soil, rock on slopes, loose ground where it was laid down, and wet ground where much flows.

    Each is mixed in by an attribute node, if the mesh has that map.
    """
    material, tree, shader = _nodes(f"{land.recipe.name} ground")
    material.diffuse_color = (0.25, 0.24, 0.18, 1)
    shader.inputs["Roughness"].default_value = 0.9
    step = iter(range(-1500, 0, 220))

    def node(kind, at, **values):
        one = tree.nodes.new(kind)
        one.location = at
        for key, value in values.items():
            setattr(one, key, value)
        return one

    def attribute(name, at):
        return node("ShaderNodeAttribute", at, attribute_type="GEOMETRY", attribute_name=name)

    colour = None
    if "biome_colour" in names:
        colour = attribute("biome_colour", (-1900, 0)).outputs["Color"]

    def layer(name, low, high, tint, logarithm=False):
        """Mixes a tint in as a map goes from low to high."""
        nonlocal colour
        x = next(step)
        source = attribute(name, (x - 400, -300)).outputs["Fac"]
        if logarithm:
            log = node("ShaderNodeMath", (x - 220, -300), operation="LOGARITHM")
            log.inputs[1].default_value = 10
            tree.links.new(source, log.inputs[0])
            source = log.outputs[0]
        share = node("ShaderNodeMapRange", (x - 40, -300), interpolation_type="SMOOTHSTEP")
        share.label = name
        share.inputs["From Min"].default_value = low
        share.inputs["From Max"].default_value = high
        tree.links.new(source, share.inputs["Value"])
        mix = node("ShaderNodeMix", (x, 0), data_type="RGBA")
        mix.label = name
        # Of the colours: sockets of other types have the same names.
        factor, under, over, result = mix.inputs[0], mix.inputs[6], mix.inputs[7], mix.outputs[2]
        under.default_value = (0.13, 0.155, 0.05, 1)
        over.default_value = (*tint, 1)
        tree.links.new(share.outputs["Result"], factor)
        if colour is not None:
            tree.links.new(colour, under)
        colour = result
        return share.outputs["Result"]

    loose = "sediment" if "sediment" in names else "deposition"
    if loose in names:
        laid = land[loose][land[loose] > 0]
        if laid.size:
            layer(loose, 0, max(float(np.quantile(laid, 0.9)), 1e-3), (0.36, 0.29, 0.17))
    if "slope" in names:
        layer("slope", 22, 38, (0.24, 0.21, 0.18))
    if "beach" in names:
        layer("beach", 0, 1, (0.5, 0.43, 0.3))
    if "flow" in names:
        mean = float(np.nanmean(land["flow"]))
        if mean > 0:
            low = float(np.log10(5 * mean))
            wet = layer("flow", low, low + 1, (0.06, 0.085, 0.035), logarithm=True)
            rough = node("ShaderNodeMapRange", (-220, -300))
            rough.inputs["To Min"].default_value = 0.9
            rough.inputs["To Max"].default_value = 0.35
            tree.links.new(wet, rough.inputs["Value"])
            tree.links.new(rough.outputs["Result"], shader.inputs["Roughness"])
    if colour is not None:
        tree.links.new(colour, shader.inputs["Base Color"])
    return material
