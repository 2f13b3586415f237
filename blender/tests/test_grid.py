"""Grids and meshes, without Blender."""

import numpy as np
import pytest

from addon import grid
from conftest import hills


def triangles_of(quads):
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def edges_of(quads):
    return np.concatenate([quads[:, [k, (k + 1) % 4]] for k in range(4)])


def normals(points, quads):
    a, b, c, d = (points[quads[:, k]].astype(np.float64) for k in range(4))
    return np.cross(c - a, d - b)


def test_a_surface_has_each_height_at_its_place():
    heights = hills(5, 7)
    made = grid.surface(heights, 10)
    assert made.points[:, 2].tobytes() == heights.tobytes()
    # North-west, north-east, south-west: x is east, y north, and the middle is over (0, 0).
    assert made.points[0, :2].tolist() == [-30, 20]
    assert made.points[6, :2].tolist() == [30, 20]
    assert made.points[28, :2].tolist() == [-30, -20]
    assert made.uvs[0].tolist() == pytest.approx([0.5 / 7, 1 - 0.5 / 5])
    assert len(made.quads) == 4 * 6
    assert (normals(made.points, made.quads)[:, 2] > 0).all()


def test_a_surface_has_no_face_at_a_cell_without_a_height():
    heights = hills(5, 7)
    heights[2, 3] = np.nan
    made = grid.surface(heights, 10)
    assert len(made.points) == 34 and len(made.quads) == 24 - 4
    assert 2 * 7 + 3 not in made.cells
    assert (made.points[:, 2] == heights.ravel()[made.cells]).all()
    assert made.quads.max() == 33
    assert (np.ptp(made.points[made.quads][..., 0], axis=1) == 10).all()


@pytest.mark.parametrize("hole", [False, True])
def test_a_surface_is_a_lattice_again(hole):
    heights = hills()
    if hole:
        heights[10:20, 5:9] = np.nan
    made = grid.surface(heights, 12.5)
    found = grid.lattice(made.points, edges_of(made.quads))
    assert np.array_equal(found.heights, heights, equal_nan=True)
    assert found.spacing_m == 12.5
    assert (found.cells == made.cells).all()


def test_a_lattice_may_have_its_points_in_any_order_and_place():
    heights = hills()
    made = grid.surface(heights, 3)
    order = np.random.default_rng(0).permutation(len(made.points))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    found = grid.lattice(made.points[order] + [1000, -50, 0], edges_of(place[made.quads]))
    assert np.array_equal(found.heights, heights)
    assert (found.heights.ravel()[found.cells] == made.points[order][:, 2]).all()


def test_other_meshes_are_no_lattice():
    made = grid.surface(hills(), 10)
    edges = edges_of(made.quads)
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    assert grid.lattice(cube, np.zeros((0, 2), int)) is None
    assert grid.lattice(made.points[:3], edges[:0]) is None
    # Cells that are not square, points off their places, an edge over three cells, a line.
    assert grid.lattice(made.points * [1, 1.1, 1], edges) is None
    bent = made.points.copy()
    bent[:, 0] += 3 * np.cos(np.pi * bent[:, 0] / 630)
    assert grid.lattice(bent, edges) is None
    moved = made.points.copy()
    moved[5, 0] += 1
    assert grid.lattice(moved, edges) is None
    assert grid.lattice(made.points, np.append(edges, [[0, 3]], axis=0)) is None
    assert grid.lattice(made.points * [1, 0, 1], edges) is None
    assert grid.lattice(made.points * [0, 0, 1], edges) is None


def test_from_above_sees_a_plane_exactly_where_it_is():
    points = np.array([[0, 0, 0], [30, 0, 30], [30, 10, 50], [0, 10, 20]], float)
    found = grid.from_above(points, np.array([[0, 1, 2], [0, 2, 3]]), 31)
    assert found.heights.shape == (11, 31)
    assert found.spacing_m == 1 and found.middle == (15, 5)
    row, column = np.mgrid[0:11, 0:31]
    assert np.abs(found.heights - (column + 2 * (10 - row))).max() < 1e-4


def test_from_above_takes_the_highest_and_leaves_the_outside_out():
    points = np.array([[0, 0, 1], [8, 0, 1], [0, 8, 1], [0, 0, 5], [4, 0, 5], [0, 4, 5]], float)
    for triangles in ([[0, 1, 2], [3, 4, 5]], [[3, 5, 4], [0, 2, 1]]):
        found = grid.from_above(points, np.array(triangles), 9)
        row, column = np.mgrid[0:9, 0:9]
        north = 8 - row
        want = np.where(column + north <= 4, 5.0, np.where(column + north <= 8, 1.0, np.nan))
        assert np.allclose(found.heights, want, equal_nan=True)


def test_from_above_agrees_with_a_lattice():
    heights = hills()
    made = grid.surface(heights, 10)
    found = grid.from_above(made.points, triangles_of(made.quads), 64)
    assert found.heights.shape == heights.shape
    # Weights that sum to 1 within a millionth.
    assert np.abs(found.heights - heights).max() < 1e-3


def test_from_above_does_not_depend_on_how_much_is_done_at_a_time(monkeypatch):
    made = grid.surface(hills(), 10)
    turned = made.points @ np.array([[0.8, 0.6, 0], [-0.6, 0.8, 0], [0, 0, 1]])
    triangles = triangles_of(made.quads)
    whole = grid.from_above(turned, triangles, 50)
    monkeypatch.setattr(grid, "AT_ONCE", 97)
    parts = grid.from_above(turned, triangles, 50)
    assert whole.heights.tobytes() == parts.heights.tobytes()
    # A turned rectangle fills half of the square around it.
    assert 0.45 < np.isnan(whole.heights).mean() < 0.55


def test_what_cannot_be_seen_from_above_is_refused():
    wall = np.array([[0, 0, 0], [9, 0, 0], [9, 0, 9], [0, 0, 9]], float)
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    with pytest.raises(grid.Refused, match="no area seen from above"):
        grid.from_above(wall, faces, 8)
    slanted = wall @ np.array([[0.8, 0.6, 0], [-0.6, 0.8, 0], [0, 0, 1]])
    with pytest.raises(grid.Refused, match="no area seen from above"):
        grid.from_above(slanted, faces, 8)
    with pytest.raises(grid.Refused, match="no faces"):
        grid.from_above(wall, faces[:0], 8)


def test_water_is_level_and_reaches_the_banks():
    level = np.array([[9, 9, 9, 9, 9], [9, 1, 1, 9, 9], [9, 9, 9, 9, 7.0]])
    wet = level < 9
    quads = grid.level_quads(level, wet, 10)
    assert (np.ptp(quads[..., 2], axis=1) == 0).all()
    runs = sorted(
        (z[0], x.min(), x.max(), y.min(), y.max()) for x, y, z in quads.transpose(0, 2, 1)
    )
    # Three faces of the lake are one run in each row; the pool reaches into one face.
    assert runs == [(1, -20, 10, -10, 0), (1, -20, 10, 0, 10), (7, 10, 20, -10, 0)]
    a, b, d = quads[:, 0], quads[:, 1], quads[:, 3]
    assert (np.cross(b - a, d - a)[:, 2] > 0).all()
    assert len(grid.level_quads(level, wet & False, 10)) == 0


def test_lines_lie_in_the_grid():
    def feature(*places):
        return {"geometry": {"coordinates": [list(p) for p in places]}, "properties": {"id": 1}}

    # Metres from the middle of the first cell, or of a map whose corner is at (1000, 500).
    ((line, about),) = grid.lines([feature((40, -20, 3), (60, 0, 2))], 20, None)
    assert line.tolist() == [[2, 1, 3], [3, 0, 2]] and about == {"id": 1}
    placed = (20, 0, 1000, 0, -20, 500)
    ((line, _),) = grid.lines([feature((1050, 470, 3), (1070, 490, 2))], 20, placed)
    assert line.tolist() == [[2, 1, 3], [3, 0, 2]]
