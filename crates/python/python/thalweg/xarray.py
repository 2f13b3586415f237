"""Erosion of xarray's arrays: after ``import thalweg.xarray`` they have ``.thalweg``.

>>> import rioxarray, thalweg.xarray
>>> dem = rioxarray.open_rasterio("dem.tif", masked=True)
>>> eroded = dem.thalweg.erode(preset="deep")
>>> eroded.height.rio.to_raster("eroded.tif")
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

try:
    import xarray
except ImportError as e:
    raise ImportError("thalweg.xarray needs xarray: pip install xarray") from e
import numpy as np

from ._errors import RecipeError
from ._recipe import maps
from ._run import erode

if TYPE_CHECKING:
    from ._land import Land

# Names of the dimensions to the north and to the east, where no attribute says which they are.
_NORTH = ("y", "lat", "latitude", "northing")
_EAST = ("x", "lon", "longitude", "easting")
_METRES = {
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), 1.0),
    **dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), 1000.0),
}
# How far a cell may lie from its place on an even grid, in cells.
_UNEVEN = 0.01
_PROJECT = "project it to metres, as by .rio.reproject(….rio.estimate_utm_crs())"


@xarray.register_dataarray_accessor("thalweg")  # type: ignore[no-untyped-call]
class ArrayAccessor:
    """What thalweg does with a DataArray of heights."""

    def __init__(self, array: xarray.DataArray):
        self._array = array

    def erode(
        self, *, spacing_m: float | None = None, nodata: float | None = None, **how: Any
    ) -> xarray.Dataset:
        """Erodes heights, with the words of `thalweg.erode`.

        Parameters
        ----------
        spacing_m : float, optional
            Metres a cell. If not given, they come from the coordinates, which are evenly spaced, of
            square cells, in metres or in a projected unit that the coordinate system names.
        nodata : float, optional
            A value that stands for no height; ``_FillValue`` or ``missing_value`` among the
            attributes if not given. NaN always does.
        **how
            As of `thalweg.erode`: ``preset``, ``seed``, ``maps``, ``device`` and the others. Maps
            of water need ``water=True``; rivers as lines are those of `thalweg.erode`.

        Returns
        -------
        xarray.Dataset
            The maps of the land, with the dimensions and the coordinates of the array, and the
            attributes ``long_name``, ``units``, ``comment`` and ``blake3``, which is that of the
            map's words with rows from the north. Values are in memory, also those of a dask array.

        Notes
        -----
        The array has two dimensions, in any order; others must have the length 1, and are dropped.
        They are y and x, lat and lon, latitude and longitude, northing and easting, or have the CF
        attribute ``axis``, ``"Y"`` and ``"X"``. North is where y increases. Without coordinates,
        which need `spacing_m`, row 0 is in the north.

        Raises
        ------
        RecipeError
            For another shape, uneven or oblong cells, degrees and Web Mercator without `spacing_m`,
            heights that are not in metres or not decoded, and as `thalweg.erode`.
        ImportError
            For an array with a coordinate system, without rioxarray and without `spacing_m`.
        LimitError, DeviceError
            As `thalweg.erode`.
        """
        heights, given = _flat(self._array), self._array
        north, east = heights.dims
        if spacing_m is None:
            spacing_m = _spacing(heights)
        if nodata is None:
            nodata = _nodata(heights)
        turn = _way(heights, north, -1), _way(heights, east, 1)
        values = heights.as_numpy().values[turn]
        land = erode(values, spacing_m=spacing_m, nodata=nodata, **how)
        data = _dataset(land, (north, east), heights.coords, _mapping(heights), turn)
        return data.transpose(*(name for name in given.dims if name in heights.dims))


@xarray.register_dataset_accessor("thalweg")  # type: ignore[no-untyped-call]
class DatasetAccessor:
    """What thalweg does with a Dataset that has heights."""

    def __init__(self, data: xarray.Dataset):
        self._data = data

    def erode(self, name: Hashable, **how: Any) -> xarray.Dataset:
        """Erodes the heights that a variable has: see `ArrayAccessor.erode`.

        A coordinate system is found among the variables too, where ``open_zarr`` leaves it.

        Parameters
        ----------
        name : hashable
            The variable.
        **how
            As of `ArrayAccessor.erode`.

        Returns
        -------
        xarray.Dataset

        Raises
        ------
        RecipeError
            For a variable that is not there, and as `ArrayAccessor.erode`.
        """
        data = self._data
        if name not in data:
            known = ", ".join(map(str, data.data_vars)) or "none"
            raise _refused("name", f"{name!r}", f"the Dataset has the variables {known}")
        mapping = _mapping_name(data[name])
        if mapping in data.data_vars:
            data = data.set_coords(mapping)
        return data[name].thalweg.erode(**how)  # type: ignore[no-any-return]


def land_dataset(land: Land) -> xarray.Dataset:
    """What `Land.to_xarray` returns."""
    rows, columns = land.shape
    cell = land.spacing_m
    local = (cell, 0.0, -cell / 2, 0.0, -cell, cell / 2)
    width, _, west, _, height, north = land.transform or local
    x = west + width * (np.arange(columns) + 0.5)
    y = north + height * (np.arange(rows) + 0.5)
    unit = {} if land.transform else {"units": "m"}
    coordinates: dict[Hashable, Any] = {
        "y": ("y", y, {"axis": "Y", **unit}),
        "x": ("x", x, {"axis": "X", **unit}),
    }
    mapping = None
    if land.crs is not None:
        mapping = "spatial_ref"
        text = {} if land.crs.startswith("EPSG:") else {"crs_wkt": land.crs}
        coordinates[mapping] = ((), 0, {**text, "spatial_ref": land.crs})
    return _dataset(land, ("y", "x"), coordinates, mapping, (slice(None), slice(None)))


def _dataset(
    land: Land,
    dims: tuple[Hashable, ...],
    coordinates: Mapping[Hashable, Any],
    mapping: str | None,
    turn: tuple[slice, slice],
) -> xarray.Dataset:
    """The maps of a land, whose rows and columns are turned, with the coordinates given."""
    about = maps()

    def variable(name: str) -> xarray.Variable:
        attributes = {
            "long_name": name.replace("_", " "),
            "units": land.units[name],
            "comment": about[name][1],
            "blake3": land.digest(name),
        }
        grid = {} if mapping is None else {"grid_mapping": mapping}
        return xarray.Variable(dims, np.ascontiguousarray(land[name][turn]), attributes, grid)

    attributes = {"Conventions": "CF-1.12", "spacing_m": land.spacing_m}
    if land.recipe.name:
        attributes["name"] = land.recipe.name
    variables = {name: variable(name) for name in land.names}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _refused(field: str, given: str, allowed: str) -> RecipeError:
    return RecipeError(
        f"{field}: {given}; {allowed}",
        field=field,
        pointer=f"/{field}",
        given=given,
        allowed=allowed,
    )


def _flat(array: xarray.DataArray) -> xarray.DataArray:
    """The heights as (north, east), in metres."""
    sizes = ", ".join(f"{name} ({size})" for name, size in array.sizes.items()) or "none"
    north = _dimension(array, "Y", _NORTH, sizes)
    east = _dimension(array, "X", _EAST, sizes)
    others = [name for name in array.dims if name not in (north, east)]
    long = [name for name in others if array.sizes[name] != 1]
    if long:
        of = ", ".join(f"{name}=0" for name in long)
        raise _refused(
            "dem",
            f"the dimensions {sizes}",
            f"allowed are {north} and {east}: take one by .isel({of})",
        )
    unit = array.attrs.get("units", "")
    if unit and _METRES.get(unit) != 1:
        raise _refused(
            "dem", f"heights in {unit!r}", "allowed are metres: convert them, and set units to 'm'"
        )
    packing = {"scale_factor": 1, "add_offset": 0}
    packed = [
        f"{key} = {array.attrs[key]}"
        for key, neutral in packing.items()
        if array.attrs.get(key, neutral) != neutral
    ]
    if packed:
        raise _refused(
            "dem",
            f"values that are not decoded, with {' and '.join(packed)}",
            "decode them by xarray.decode_cf, or open the file with mask_and_scale=True",
        )
    return array.isel(dict.fromkeys(others, 0)).transpose(north, east)


def _dimension(array: xarray.DataArray, axis: str, names: tuple[str, ...], sizes: str) -> Hashable:
    """The dimension of an axis, by its attribute, else by its name."""
    found = [
        name
        for name in array.dims
        if name in array.coords and array.coords[name].attrs.get("axis") == axis
    ] or [name for name in array.dims if str(name).lower() in names]
    if len(found) == 1:
        return found[0]
    raise _refused(
        "dem",
        f"the dimensions {sizes}",
        f"needed is one of {', '.join(names)}, or with the attribute axis = {axis!r}: rename it, "
        f"as by .rename({{'…': {names[0]!r}}})",
    )


def _way(array: xarray.DataArray, name: Hashable, sign: int) -> slice:
    """The places of an axis in a land's order: eastwards, sign 1, or southwards, sign -1."""
    if name not in array.coords:
        return slice(None)
    places = array.coords[name].values
    against = (places[-1] < places[0]) if sign > 0 else (places[-1] > places[0])
    return slice(None, None, -1 if against else 1)


def _mapping_name(array: xarray.DataArray) -> str:
    named = array.encoding.get("grid_mapping") or array.attrs.get("grid_mapping")
    return str(named or "spatial_ref")


def _mapping(array: xarray.DataArray) -> str | None:
    """The coordinate whose attributes are the coordinate system."""
    name = _mapping_name(array)
    return name if name in array.coords else None


def _nodata(array: xarray.DataArray) -> float | None:
    """What stands for no height in values that are not decoded."""
    for key in ("_FillValue", "missing_value"):
        if key in array.attrs:
            return float(array.attrs[key])
    return None


def _spacing(array: xarray.DataArray) -> float:
    """Metres a cell, by the coordinates."""
    steps = {name: _step(array, name) for name in array.dims}
    known = [(name, *step, _unit(array, name)) for name, step in steps.items() if step]
    if not known:
        raise _refused("spacing_m", "a single cell", "it is needed: metres a cell")
    metres = [step * unit for _, step, _, unit in known]
    doubt = sum(doubt * unit for _, _, doubt, unit in known)
    if abs(metres[0] - metres[-1]) > 1e-6 * metres[-1] + doubt:
        cells = f"{metres[0]:g} m ({known[0][0]}) by {metres[1]:g} m ({known[1][0]})"
        raise _refused(
            "dem",
            f"cells of {cells}",
            "allowed are square ones: resample it, as by .rio.reproject(crs, resolution=…), or give "
            "spacing_m, and cells are taken for squares of that",
        )
    return metres[-1]


def _step(array: xarray.DataArray, name: Hashable) -> tuple[float, float] | None:
    """The even step of a coordinate, and its doubt; none if it has one place."""
    if name not in array.coords:
        raise _refused("spacing_m", f"{name} has no coordinate", "it is needed: metres a cell")
    places = array.coords[name].values
    if len(places) < 2:
        return None
    if places.dtype.kind not in "fiu":
        raise _refused(
            "dem", f"the coordinate {name} of {places.dtype}", "allowed are numbers, in metres"
        )
    # What the last bit of a coordinate is worth: float32 has half a metre beyond 4000 km.
    exact = places.dtype if places.dtype.kind == "f" else np.dtype("f8")
    bit = float(np.spacing(np.abs(places).max().astype(exact)))
    places = places.astype("f8")
    last = len(places) - 1
    step = float(places[-1] - places[0]) / last
    off = np.abs(places - (places[0] + step * np.arange(last + 1)))
    allowed = _UNEVEN * abs(step) + 2 * bit
    if step == 0 or not (off <= allowed).all():
        steps = np.abs(np.diff(places))
        raise _refused(
            "dem",
            f"{name} in uneven steps, {steps.min():g} to {steps.max():g}",
            f"allowed are even ones: resample it, as by .interp({name}=…)",
        )
    # The shortest number that the coordinates allow: 30, and not 29.999999999996.
    doubt = 2 * bit / last
    short = (round(abs(step), digits) for digits in range(15))
    return next((one for one in short if abs(one - abs(step)) <= doubt), abs(step)), doubt


def _unit(array: xarray.DataArray, name: Hashable) -> float:
    """The metres that the unit of a coordinate has."""
    unit = str(array.coords[name].attrs.get("units", "")).lower()
    mapping = _mapping(array)
    system = None
    if mapping is not None:
        try:
            import rioxarray  # noqa: F401
        except ImportError as e:
            raise ImportError(
                f"the coordinate system in {mapping!r} needs rioxarray: pip install rioxarray, or "
                f"give spacing_m"
            ) from e
        system = array.rio.crs
    by_name = str(name).lower() in ("lat", "latitude", "lon", "longitude")
    if unit.startswith("degree") or (system.is_geographic if system else by_name and not unit):
        raise _refused(
            "dem",
            f"{name} in degrees",
            f"allowed are metres: {_PROJECT}, or give spacing_m, and cells are taken for squares of "
            f"that; thalweg.erode reads a file in degrees itself",
        )
    if system and system.to_epsg() == 3857:
        raise _refused(
            "dem",
            "Web Mercator, whose metres are longer than those of the ground",
            f"{_PROJECT}, or give spacing_m",
        )
    if unit in _METRES:
        return _METRES[unit]
    if system:
        return float(system.linear_units_factor[1])
    if unit:
        raise _refused(
            "dem", f"{name} in {unit!r}", "allowed are metres: convert it, or give spacing_m"
        )
    return 1.0
