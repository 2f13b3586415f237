"""Runs, and what they need."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _arguments as arguments
from . import _progress, _thalweg
from ._land import Land
from ._recipe import Recipe, RecipeLike, erosion

if TYPE_CHECKING:
    import numpy.typing as npt

    ProgressLike = Callable[[_progress.Progress], object] | bool | None


def run(
    recipe: RecipeLike,
    *,
    seed: int | None = None,
    size: int | tuple[int, int] | None = None,
    heights: npt.ArrayLike | Land | None = None,
    spacing_m: float | None = None,
    device: str | int = "auto",
    threads: int = 0,
    progress: ProgressLike = None,
    layers: Mapping[str | int, npt.ArrayLike] | None = None,
    maps: Sequence[str] | None = None,
    water: bool = False,
    settings: Mapping[str, Any] | None = None,
    folder: str | os.PathLike | None = None,
    replace: bool = False,
) -> Land:
    """Runs a recipe. The same recipe gives the same words on every device.

    Parameters
    ----------
    recipe : dict, str, os.PathLike or Recipe
        What to make: see `Recipe`.
    seed : int, optional
        Another seed, 0 to 2⁶⁴ − 1.
    size : int or (width, height), optional
        Another size in cells, of a recipe that makes its own land.
    heights : array_like or Land, optional
        Metres of the shape (rows, columns), row 0 in the north, for a recipe that starts from
        heights. NaN and what a masked array masks is outside the land. Values become float32. A
        land of an earlier run is taken exactly.
    spacing_m : float, optional
        Metres a cell, 0.001 to 1 000 000. It is needed with `heights` if the recipe does not say
        it.
    device : str or int
        ``"auto"``, ``"cpu"``, ``"gpu"``, a part of the name of an adapter, or its number: see
        `devices`. ``"auto"`` takes a graphics card if there is one, else the CPU.
    threads : int
        Threads of the CPU; 0: one a core.
    progress : callable or bool, optional
        Called several times a second with a `Progress`. True shows a bar by tqdm. An exception of
        it ends the run and comes through.
    layers : dict, optional
        Samples for stages that read a file, in place of the file: arrays of the land's shape, with
        shares from 0 to 1 or numbers of biomes. A key is the name of the map that a stage makes,
        such as ``"hardness"``, or the number of the stage, from 0.
    maps : sequence of str, optional
        The maps that the run leaves, beside the height: see `thalweg.maps`.
    water : bool
        Whether to look for rivers and lakes: see `Land.rivers`.
    settings : dict, optional
        Other settings: see `Recipe.changed`.
    folder : str or os.PathLike, optional
        Where to store what ``thalweg run -o`` does.
    replace : bool
        Whether files of an earlier run in `folder` are replaced; else they are an error.

    Returns
    -------
    Land

    Raises
    ------
    RecipeError
        For what is not allowed in the recipe or as an argument.
    InputError, OutputError
        For files that cannot be read or written.
    LimitError
        For a land that is too large for the machine or the device.
    DeviceError
        For a device that was named and is not there, or failed.
    """
    changed = Recipe(recipe)
    if any(v is not None for v in (seed, size, spacing_m, maps, settings)) or water:
        changed = changed.changed(
            settings, seed=seed, size=size, spacing_m=spacing_m, maps=maps, water=water
        )
    return _execute(
        changed._native,
        heights,
        None,
        spacing_m,
        layers,
        device,
        threads,
        progress,
        folder,
        replace,
    )


def erode(
    dem: npt.ArrayLike | str | os.PathLike | Land,
    *,
    spacing_m: float | None = None,
    preset: str = "default",
    seed: int = 0,
    margin_cells: int = 0,
    levels: int | None = None,
    nodata: float | None = None,
    maps: Sequence[str] | None = None,
    water: bool = False,
    device: str | int = "auto",
    threads: int = 0,
    progress: ProgressLike = None,
    folder: str | os.PathLike | None = None,
    replace: bool = False,
    **settings: Any,
) -> Land:
    """Erodes heights by a preset, with the words of the command ``thalweg erode``.

    Parameters
    ----------
    dem : array_like, str, os.PathLike or Land
        Metres of the shape (rows, columns), row 0 in the north: any array of numbers. NaN and what
        a masked array masks is outside the land and stays so. Values become float32. A path is that
        of a height map: GeoTIFF, PNG, OpenEXR, NumPy, ESRI ASCII, SRTM, raw.
    spacing_m : float, optional
        Metres a cell. It is needed for arrays; a file may say it itself.
    preset : str
        The name of a preset: see `presets`.
    seed : int
        0 to 2⁶⁴ − 1, for droplets.
    margin_cells : int
        Cells round the map that are eroded with it, its mirror image to begin with, and then cut
        off, 0 to 8192.
    levels : int, optional
        Levels to erode from coarse to fine; 1 is the map as it is. As suits the land if not given.
    nodata : float, optional
        A value of an array that stands for no height.
    maps : sequence of str, optional
        The maps that the run leaves; height and flow if not given.
    water, device, threads, progress, folder, replace
        As of `run`.
    **settings
        Settings of the preset's stage, such as ``erodibility=0.03``.

    Returns
    -------
    Land

    Raises
    ------
    RecipeError, InputError, OutputError, LimitError, DeviceError
        As `run`.
    """
    file = os.fspath(dem) if isinstance(dem, (str, os.PathLike)) else None
    name = "" if file is None else Path(file).stem
    native = erosion(preset, name, seed, margin_cells, levels, settings)
    if maps is not None or water:
        native = Recipe._of(native).changed(maps=maps, water=water)._native
    if nodata is not None and not hasattr(dem, "__array__") and not isinstance(dem, (list, tuple)):
        raise ValueError(f"nodata = {nodata!r}: allowed with an array; a file says it itself")
    if file is None and not isinstance(dem, Land):
        dem = arguments.grid(dem, "dem", nodata)
    return _execute(
        native,
        None if file is not None else dem,
        file,
        spacing_m,
        None,
        device,
        threads,
        progress,
        folder,
        replace,
    )


def _execute(
    recipe: _thalweg.Recipe,
    heights: Any,
    file: str | None,
    spacing_m: Any,
    layers: Mapping[str | int, Any] | None,
    device: Any,
    threads: Any,
    progress: Any,
    folder: Any,
    replace: bool,
) -> Land:
    land = heights._native if isinstance(heights, Land) else None
    array = None if heights is None or land else arguments.grid(heights, "heights")
    with _progress.watching(progress) as watch:
        native = _thalweg.run(
            recipe,
            array,
            land,
            file,
            arguments.metres(spacing_m),
            [
                (_place(place), arguments.grid(samples, f"layers[{place!r}]"))
                for place, samples in (layers or {}).items()
            ],
            arguments.device(device),
            arguments.whole("threads", threads, 0, 65535),
            watch,
            folder,
            bool(replace),
        )
    return Land(native)


def _place(place: Any) -> str | int:
    return place if isinstance(place, str) else arguments.whole("layers", place, 0, 65535)


def quality(heights: npt.ArrayLike | Land, spacing_m: float | None = None) -> dict[str, Any]:
    """Figures that show whether heights look like land shaped by water.

    Parameters
    ----------
    heights : array_like or Land
        Metres of the shape (rows, columns), 32 or more of each, NaN where there is none.
    spacing_m : float, optional
        Metres a cell. It is needed for arrays.

    Returns
    -------
    dict
        The figures of the command ``thalweg quality --json``, such as ``concavity``, ``hack`` and
        ``pits``, and as ``real`` the ranges that real land has. Lengths and heights are in cells. A
        figure that has no meaning on the land is None.

    Raises
    ------
    RecipeError
        For a map that is too small.
    """
    if isinstance(heights, Land):
        spacing_m = heights.spacing_m if spacing_m is None else spacing_m
        heights = heights["height"]
    array = arguments.grid(heights, "heights")
    if spacing_m is None:
        raise TypeError("spacing_m is missing: metres from a sample of heights to the next")
    figures, real = _thalweg.quality(array, arguments.number("spacing_m", spacing_m))
    return {**json.loads(figures), "real": {k: tuple(v) for k, v in json.loads(real).items()}}


def devices() -> list[dict[str, Any]]:
    """What there is to compute on.

    Returns
    -------
    list of dict
        The CPU first, then the graphics adapters. ``device`` is what `run` takes, ``name`` its
        name, and ``auto`` whether ``"auto"`` takes it. Adapters have ``kind``, ``backend``,
        ``driver``, ``software`` and their limits.
    """
    return json.loads(_thalweg.devices())
