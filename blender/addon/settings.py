"""What the panel asks, stored with each scene of a file."""

import functools
import zlib

import bpy
import thalweg
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

#: The entry of the list of recipes that stands for a file.
FILE = "FILE"


def _items(entries):
    """Entries of a list. Each has a number of its own name, which files keep.

    So a file of an older version, or of another machine, never means another entry.
    """
    return tuple((key, name, about, zlib.crc32(key.encode()) >> 1) for key, name, about in entries)


RECIPES = _items(
    [(FILE, "File…", "A recipe in a file, TOML or JSON")]
    + [(name, name.capitalize(), about) for name, about in thalweg.examples().items()]
)
PRESETS = _items((name, name.capitalize(), about) for name, about in thalweg.presets().items())


@functools.cache
def _devices():
    """The devices, looked for once: drivers take a moment."""
    # A list that is made when it is shown begins with the number 0.
    auto = ("auto", "Automatic", "A graphics card if there is one, else the CPU", 0)
    # Of two adapters of one name the first is meant, as in the package.
    found = {one["name"]: one for one in reversed(thalweg.devices())}
    others = _items(
        ("cpu" if one["device"] == "cpu" else name, name, one.get("driver") or "")
        for name, one in found.items()
    )
    return (auto, *others)


class ThalwegSettings(bpy.types.PropertyGroup):
    """The settings of the three buttons."""

    recipe: EnumProperty(
        name="Recipe", items=RECIPES, default="mountains", description="What to make"
    )
    recipe_file: StringProperty(
        name="File", subtype="FILE_PATH", description="A recipe, TOML or JSON"
    )
    own_seed: BoolProperty(
        name="Another Seed", description="Make another land of the same kind", default=False
    )
    seed: IntProperty(
        name="Seed", min=0, default=1, description="The number from which all chance follows"
    )
    size: IntProperty(
        name="Size",
        min=0,
        soft_max=4096,
        default=512,
        description="Cells a side; 0 for the size of the recipe",
    )
    metres_per_unit: FloatProperty(
        name="Metres a Unit",
        min=0.001,
        soft_max=1000,
        default=100,
        precision=3,
        description="How many metres of land one unit of Blender is, in all three directions",
    )
    device: EnumProperty(
        name="Device",
        items=lambda self, context: _devices(),
        description="What computes; the result is the same on each",
    )
    form: EnumProperty(
        name="Form",
        items=_items(
            [
                ("MESH", "Mesh", "A point for each cell, with maps as attributes"),
                ("PLANE", "Plane", "A plane that an image of the heights displaces"),
            ]
        ),
        default="MESH",
    )
    maps: EnumProperty(
        name="Maps",
        items=_items(
            [
                ("NONE", "None", "No maps but those that the material needs"),
                ("RECIPE", "Of the Recipe", "The maps that the recipe names"),
                ("ALL", "All", "All maps that the recipe can leave"),
            ]
        ),
        default="RECIPE",
        description="Which maps become attributes of the mesh",
    )
    material: BoolProperty(
        name="Material",
        default=True,
        description="Give the mesh a material of soil, rock, loose and wet ground",
    )
    water: BoolProperty(
        name="Rivers and Lakes",
        default=False,
        description="Find rivers and lakes, and make objects of them",
    )
    river_times: FloatProperty(
        name="River Width ×",
        min=0.01,
        soft_max=20,
        default=1,
        description="How much wider than it is a river is shown",
    )
    own_sea: BoolProperty(
        name="Sea Level", default=False, description="Put the sea at a height of your own"
    )
    sea_level_m: FloatProperty(name="Sea Level (m)", default=0)
    preset: EnumProperty(
        name="Preset", items=PRESETS, default="default", description="How to erode"
    )
    sample_size: IntProperty(
        name="Samples",
        min=2,
        soft_max=4096,
        default=512,
        description="Cells of the longer side, for a mesh that is not a regular grid",
    )
    image: PointerProperty(name="Image", type=bpy.types.Image)
    image_metres: FloatProperty(
        name="Metres of Value 1",
        min=0.001,
        default=1000,
        description="The height of a pixel of value 1; 1 for an image in metres",
    )
    image_cell_m: FloatProperty(
        name="Metres a Pixel", min=0.001, soft_max=1000, default=10, description="A pixel's side"
    )


def register():
    bpy.utils.register_class(ThalwegSettings)
    bpy.types.Scene.thalweg = PointerProperty(type=ThalwegSettings)


def unregister():
    del bpy.types.Scene.thalweg
    bpy.utils.unregister_class(ThalwegSettings)
