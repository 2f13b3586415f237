"""Makes a mesh of the rivers of rivers.csv, with their widths. You can run it again."""

import csv
import itertools
import math
import os

import bpy

NAME = "@STEM@ rivers"
# How far rivers lie above their water, so that the ground does not hide them, m.
LIFT = 0.3


def folder():
    text = getattr(bpy.context.space_data, "text", None)
    return os.path.dirname(bpy.path.abspath(text.filepath) if text else os.path.abspath(__file__))


def ribbon(points):
    """Corners to the left and to the right of each point, seen downstream."""
    corners = []
    for i, (x, y, z, width) in enumerate(points):
        before, after = points[max(i - 1, 0)], points[min(i + 1, len(points) - 1)]
        east, north = after[0] - before[0], after[1] - before[1]
        length = math.hypot(east, north) or 1.0
        aside, on = -north / length * width / 2, east / length * width / 2
        corners += [(x + aside, y + on, z + LIFT), (x - aside, y - on, z + LIFT)]
    return corners


def main():
    with open(os.path.join(folder(), "rivers.csv"), newline="") as table:
        rows = [
            (row["piece"], [float(row[key]) for key in ("x", "y", "z", "width")])
            for row in csv.DictReader(table)
        ]
    corners, faces = [], []
    for _, points in itertools.groupby(rows, lambda row: row[0]):
        first = len(corners)
        corners += ribbon([point for _, point in points])
        faces += [(i, i + 1, i + 3, i + 2) for i in range(first, len(corners) - 2, 2)]
    thing = bpy.data.objects.get(NAME)
    if thing is None or not thing.get("thalweg"):
        thing = bpy.data.objects.new(NAME, bpy.data.meshes.new(NAME))
        thing["thalweg"] = True
        bpy.context.collection.objects.link(thing)
    thing.data.clear_geometry()
    thing.data.from_pydata(corners, [], faces)
    thing.data.update()


main()
