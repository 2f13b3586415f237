"""Between grids of heights and the points and faces of a mesh. It needs NumPy alone.

A grid is an array (rows, columns) of metres, row 0 in the north, NaN where there is no land. Points
are in metres, x to the east, y to the north, z up.
"""

from typing import NamedTuple

import numpy as np

#: The largest part of a cell by which a point may miss its place in a lattice.
LATTICE_MISS = 0.01
#: How many cells `from_above` handles at a time, which bounds its memory.
AT_ONCE = 1 << 21


class Refused(Exception):
    """What was given cannot be used; the message is for the user."""


class Surface(NamedTuple):
    """A grid as a mesh: a point for each cell that has a height, in its middle."""

    #: float32 (points, 3): metres.
    points: np.ndarray
    #: int32 (faces, 4): numbers of points, anticlockwise from above.
    quads: np.ndarray
    #: float32 (points, 2): where the middle of the cell lies in a picture of the grid, 0 to 1.
    uvs: np.ndarray
    #: int64 (points,): which cell of the grid, counted along rows, a point is.
    cells: np.ndarray


class Lattice(NamedTuple):
    """A mesh that is a grid."""

    #: float64 (rows, columns): metres, NaN where the mesh has no point.
    heights: np.ndarray
    #: int64 (points,): which cell of the grid, counted along rows, a point is.
    cells: np.ndarray
    #: Metres from a cell to the next.
    spacing_m: float


class Sampled(NamedTuple):
    """A mesh as it is seen from above."""

    #: float64 (rows, columns): metres, NaN outside the mesh.
    heights: np.ndarray
    #: Metres of the middle of the grid.
    middle: tuple[float, float]
    #: Metres from a cell to the next.
    spacing_m: float


def surface(heights: np.ndarray, spacing_m: float) -> Surface:
    """The mesh of a grid, its middle over (0, 0).

    Faces are left out that would touch a cell without a height.
    """
    rows, columns = heights.shape
    there = ~np.isnan(heights)
    cells = np.flatnonzero(there)
    row, column = np.divmod(cells, columns)
    points = np.empty((len(cells), 3), np.float32)
    points[:, 0] = (column - (columns - 1) / 2) * spacing_m
    points[:, 1] = ((rows - 1) / 2 - row) * spacing_m
    points[:, 2] = heights.ravel()[cells]
    uvs = np.empty((len(cells), 2), np.float32)
    uvs[:, 0] = (column + 0.5) / columns
    uvs[:, 1] = 1 - (row + 0.5) / rows

    number = np.empty(heights.shape, np.int32)
    number.ravel()[cells] = np.arange(len(cells), dtype=np.int32)
    corners = (np.s_[:-1, :-1], np.s_[1:, :-1], np.s_[1:, 1:], np.s_[:-1, 1:])
    whole = np.logical_and.reduce([there[at] for at in corners])
    quads = np.stack([number[at][whole] for at in corners], axis=1)
    return Surface(points, quads, uvs, cells)


def level_quads(level: np.ndarray, wet: np.ndarray, spacing_m: float) -> np.ndarray:
    """Level faces over wet cells, which reach into the banks as far as the next cell.

    Parameters
    ----------
    level : array (rows, columns)
        Metres of the water's surface.
    wet : array of bool (rows, columns)
        Where there is water.
    spacing_m : float
        Metres a cell.

    Returns
    -------
    float32 (faces, 4, 3)
        The corners of faces, anticlockwise from above, as `surface` places them. Faces of one level
        that are neighbours in a row are one.
    """
    rows, columns = level.shape
    surface_m = np.where(wet, level, -np.inf)
    quad = np.maximum(surface_m[:-1], surface_m[1:])
    quad = np.maximum(quad[:, :-1], quad[:, 1:])
    starts = np.ones(quad.shape, bool)
    starts[:, 1:] = quad[:, 1:] != quad[:, :-1]
    first = np.flatnonzero(starts)
    after = np.append(first[1:], quad.size)
    wanted = np.isfinite(quad.ravel()[first])
    first, after = first[wanted], after[wanted]
    row, west = np.divmod(first, columns - 1)
    east = west + (after - first)

    x = (np.stack([west, west, east, east], 1) - (columns - 1) / 2) * spacing_m
    y = ((rows - 1) / 2 - np.stack([row, row + 1, row + 1, row], 1)) * spacing_m
    z = np.repeat(quad.ravel()[first, None], 4, axis=1)
    return np.stack([x, y, z], axis=2).astype(np.float32)


def lattice(points: np.ndarray, edges: np.ndarray) -> Lattice | None:
    """The grid that a mesh is, if its points lie in a lattice of square cells along x and y.

    Points may be missing from it, as where a land ends. Edges may then not reach over the gap.
    """
    points = np.asarray(points, np.float64)
    if len(points) < 4:
        return None
    numbers, spacings, sides = [], [], []
    for along in (points[:, 0], -points[:, 1]):
        low, extent = along.min(), np.ptp(along)
        steps = np.diff(np.sort(along))
        side = 1 + np.count_nonzero(steps > 1e-3 * extent / np.sqrt(len(points)))
        if side < 2:
            return None
        spacing = extent / (side - 1)
        exact = (along - low) / spacing
        number = np.rint(exact).astype(np.int64)
        if np.abs(exact - number).max() > LATTICE_MISS:
            return None
        numbers.append(number)
        spacings.append(spacing)
        sides.append(side)
    (column, row), (columns, rows) = numbers, sides
    if abs(spacings[0] / spacings[1] - 1) * max(sides) > LATTICE_MISS:
        return None
    if 2 * len(points) < rows * columns:
        return None
    cells = row * columns + column
    if len(np.unique(cells)) != len(cells):
        return None
    if any(np.abs(np.diff(n[edges], axis=1)).max(initial=0) > 1 for n in numbers):
        return None
    heights = np.full((rows, columns), np.nan)
    heights.ravel()[cells] = points[:, 2]
    return Lattice(heights, cells, spacings[0])


def from_above(points: np.ndarray, triangles: np.ndarray, side: int) -> Sampled:
    """The heights of any mesh, the highest where one part lies above another.

    Parameters
    ----------
    points : array (points, 3)
        Metres.
    triangles : array of int (triangles, 3)
        Numbers of points.
    side : int
        Cells of the longer side of the grid, 2 or more. The first and the last touch the ends of
        the mesh.

    Raises
    ------
    Refused
        If no cell sees the mesh.
    """
    corners = np.asarray(points, np.float64)[triangles]
    if not corners.size:
        raise Refused("the mesh has no faces: allowed is a mesh that can be seen from above")
    low, high = corners.min((0, 1)), corners.max((0, 1))
    extent = high - low
    spacing = extent[:2].max() / (side - 1)
    if not extent[:2].min() > 0:
        raise Refused("the mesh has no area seen from above, along its own Z axis")
    columns, rows = (int(n) for n in np.floor(extent[:2] / spacing + 1e-6) + 1)
    # Places in cells, the first cell in the north-west.
    column = (corners[..., 0] - low[0]) / spacing
    row = (high[1] - corners[..., 1]) / spacing
    height = _highest(column, row, corners[..., 2], rows, columns)
    if not (height > -np.inf).any():
        raise Refused("the mesh has no area seen from above, along its own Z axis")
    heights = np.where(height > -np.inf, height, np.nan)
    middle = (low[0] + (columns - 1) / 2 * spacing, high[1] - (rows - 1) / 2 * spacing)
    return Sampled(heights, middle, spacing)


def _highest(column, row, z, rows, columns):
    """The highest z of triangles at each whole (row, column), −inf where there is none."""
    area = _cross(column, row)
    some = np.abs(area) > 1e-12
    column, row, z, area = column[some], row[some], z[some], area[some]
    out = np.full(rows * columns, -np.inf)
    if not len(area):
        return out.reshape(rows, columns)

    # Each height is a + b column + c row. The same for the three shares of the corners.
    after, last = np.roll(column, -1, 1), np.roll(column, -2, 1)
    after_row, last_row = np.roll(row, -1, 1), np.roll(row, -2, 1)
    by_column = (after_row - last_row) / area[:, None]
    by_row = (last - after) / area[:, None]
    constant = (after * last_row - last * after_row) / area[:, None]

    top = np.maximum(np.ceil(row.min(1) - 1e-6), 0).astype(np.int64)
    bottom = np.minimum(np.floor(row.max(1) + 1e-6), rows - 1).astype(np.int64)
    for pairs in _parts(np.maximum(bottom - top + 1, 0)):
        triangle, k = pairs
        at_row = top[triangle] + k
        # A share is zero or more from `left` on where it grows, up to `right` where it shrinks.
        share = constant[triangle] + by_row[triangle] * at_row[:, None] + 1e-6
        slope = by_column[triangle]
        flat = np.abs(slope) < 1e-15
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = -share / slope
        left = np.where(~flat & (slope > 0), zero, -np.inf).max(1)
        right = np.where(~flat & (slope < 0), zero, np.inf).min(1)
        inside = ~(flat & (share < 0)).any(1)
        start = np.clip(np.ceil(left), 0, columns).astype(np.int64)
        stop = np.clip(np.floor(right), -1, columns - 1).astype(np.int64)
        for pair, k in _parts(np.where(inside, np.maximum(stop - start + 1, 0), 0)):
            at_column, of = start[pair] + k, triangle[pair]
            shares = (
                constant[of]
                + by_row[of] * at_row[pair][:, None]
                + by_column[of] * at_column[:, None]
            )
            np.maximum.at(out, at_row[pair] * columns + at_column, (shares * z[of]).sum(1))
    return out.reshape(rows, columns)


def _cross(column, row):
    """Twice the area of triangles, with a sign."""
    first, second = column[:, 1] - column[:, 0], column[:, 2] - column[:, 0]
    return first * (row[:, 2] - row[:, 0]) - second * (row[:, 1] - row[:, 0])


def _parts(counts):
    """Pairs (i, k) for each i and each k below counts[i], some two million at a time."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, AT_ONCE):
        flat = np.arange(begin, min(begin + AT_ONCE, total))
        i = np.searchsorted(ends, flat, side="right")
        yield i, flat - (ends[i] - counts[i])


def lines(features: list, spacing_m: float, transform: tuple | None) -> list:
    """Rivers of GeoJSON as places in the grid.

    Parameters
    ----------
    features : list of dict
        LineStrings, as `thalweg.Land.rivers` has them.
    spacing_m : float
        Metres a cell.
    transform : tuple or None
        From columns and rows to the coordinates of the lines: see `thalweg.Land.transform`.

    Returns
    -------
    list of (array (points, 3), dict)
        Column, row and metres of each point, the middle of the first cell being (0, 0), and the
        properties of the line.
    """
    # A land without a place has metres from the middle of its north-west cell.
    width, _, west, _, height, north = transform or (spacing_m, 0, 0, 0, -spacing_m, 0)
    half = 0.5 if transform else 0.0
    found = []
    for feature in features:
        line = np.array(feature["geometry"]["coordinates"], np.float64)
        line[:, 0] = (line[:, 0] - west) / width - half
        line[:, 1] = (line[:, 1] - north) / height - half
        found.append((line, feature["properties"]))
    return found
