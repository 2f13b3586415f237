"""Terrain and its erosion, with the same bytes on the GPU and on the CPU.

>>> import thalweg
>>> land = thalweg.run("mountains", size=256)
>>> land["height"].shape
(256, 256)
"""

from ._errors import (
    Cancelled,
    DeviceError,
    Error,
    InputError,
    LimitError,
    OutputError,
    RecipeError,
    RunWarning,
)
from ._land import Land
from ._progress import Progress
from ._recipe import Recipe, examples, maps, presets
from ._run import devices, erode, quality, run
from ._thalweg import __version__
from ._world import World, window

__all__ = [
    "Cancelled",
    "DeviceError",
    "Error",
    "InputError",
    "Land",
    "LimitError",
    "OutputError",
    "Progress",
    "Recipe",
    "RecipeError",
    "RunWarning",
    "World",
    "__version__",
    "devices",
    "erode",
    "examples",
    "maps",
    "presets",
    "quality",
    "run",
    "window",
]
