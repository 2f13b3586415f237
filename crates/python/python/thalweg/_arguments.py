"""Arguments as the native half takes them."""

from __future__ import annotations

import json
import operator
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

SEED_MAX = 2**64 - 1
CELLS_MAX = 2**32 - 1
PLACE_MAX = 2**63 - 1


def whole(name: str, value: Any, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    if isinstance(value, bool):
        raise TypeError(f"{name}: a bool: allowed is a whole number")
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name}: {kind} {value!r}: allowed is a whole number") from None
    if not low <= number <= high:
        raise ValueError(f"{name} = {number}: allowed {low} to {high}")
    return number


def seed(value: Any) -> int | None:
    """A seed, if one is given."""
    return None if value is None else whole("seed", value, 0, SEED_MAX)


def metres(value: Any) -> float | None:
    """The metres of a cell, if they are given; the library checks their range."""
    return None if value is None else number("spacing_m", value)


def number(name: str, value: Any) -> float:
    """A number."""
    if isinstance(value, (str, bytes, bool)):
        raise TypeError(f"{name}: {type(value).__name__} {value!r}: allowed is a number")
    try:
        return float(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name}: {kind} {value!r}: allowed is a number") from None


def size(value: Any) -> tuple[int, int] | None:
    """Width and height in cells."""
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(f"size = {value!r}: allowed are a side, or (width, height), in cells")
        width, height = value
    else:
        width = height = value
    return whole("width", width, 0, CELLS_MAX), whole("height", height, 0, CELLS_MAX)


def window(value: Any, least: int = 1) -> tuple[int, int, int, int]:
    """A window: column and row of its north-west cell, and its cells."""
    if not isinstance(value, (tuple, list)) or len(value) != 4:
        raise TypeError(f"window = {value!r}: allowed is (x, y, width, height), in cells")
    x, y, width, height = value
    return (
        whole("x", x, -PLACE_MAX, PLACE_MAX),
        whole("y", y, -PLACE_MAX, PLACE_MAX),
        whole("width", width, least, CELLS_MAX),
        whole("height", height, least, CELLS_MAX),
    )


def device(value: Any) -> str:
    """A device as text."""
    if isinstance(value, str):
        return value
    return str(whole("device", value, 0, CELLS_MAX))


def text(value: Any) -> str:
    """The value of a setting as a recipe writes it."""
    if isinstance(value, str):
        return value
    return as_json(value)


def as_json(value: Any) -> str:
    """JSON, also of NumPy's numbers and of paths."""

    def other(one: Any) -> Any:
        if isinstance(one, os.PathLike):
            return os.fspath(one)
        if hasattr(one, "tolist"):
            return one.tolist()
        kind = type(one).__name__
        raise TypeError(f"{kind} {one!r}: a recipe has numbers, texts, lists and dicts")

    return json.dumps(value, default=other)


def grid(array: Any, what: str, nodata: float | None = None) -> np.ndarray:
    """An array of two dimensions as C-contiguous float32, NaN where a cell has no value.

    An array that is such already is not copied.
    """
    import numpy as np

    if isinstance(array, (str, bytes)) or array is None:
        raise TypeError(f"{what}: {type(array).__name__}: allowed is an array (rows, columns)")
    given = np.asanyarray(array)
    if given.dtype.kind not in "fiu":
        raise TypeError(
            f"{what}: an array of {given.dtype}: allowed are floating-point numbers and integers"
        )
    if given.ndim != 2:
        raise ValueError(
            f"{what}: an array of shape {given.shape}: allowed are two dimensions, (rows, columns)"
        )
    if given.size == 0:
        raise ValueError(
            f"{what}: an array of shape {given.shape}: allowed are one row and column or more"
        )
    missing = None
    if isinstance(given, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(given)
        given = np.ma.getdata(given)
    if nodata is not None:
        named = np.asarray(given) == nodata
        missing = named if missing is None else missing | named
    # What is too large for float32 becomes infinite, which the library refuses by its place.
    with np.errstate(over="ignore"):
        values = np.require(given, np.float32, ["C", "A", "E"])
    if missing is not None and missing.any():
        values = np.where(missing, np.float32("nan"), values)
    return values
