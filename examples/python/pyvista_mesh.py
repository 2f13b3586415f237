"""A land as a mesh of PyVista, and its picture: pip install pyvista.

Writes mountains.vts, which ParaView opens too, and with an argument a picture:

    python pyvista_mesh.py mountains.png
"""

import sys

import numpy as np
import pyvista

import thalweg

land = thalweg.run("mountains", size=256, maps=["height", "flow"])

# Metres to the east and to the north of the south-west cell.
rows, columns = land.shape
x, y = np.meshgrid(np.arange(columns), np.arange(rows)[::-1])
mesh = pyvista.StructuredGrid(x * land.spacing_m, y * land.spacing_m, land["height"].astype(float))
# The points of such a grid are counted column by column.
for name in land:
    mesh.point_data[name] = land[name].ravel(order="F")
mesh.save("mountains.vts")
print(f"mountains.vts: {mesh.n_points} points, {np.ptp(mesh.points[:, 2]):.0f} m of relief")

if len(sys.argv) > 1:
    plotter = pyvista.Plotter(off_screen=True, window_size=(960, 480), lighting="none")
    # Grey, under a light from the north-west and a weaker one from the south-west.
    for azimuth, share in ((315, 0.7), (225, 0.3)):
        light = pyvista.Light(light_type="scene light", intensity=share)
        light.set_direction_angle(45, 90 - azimuth)
        plotter.add_light(light)
    plotter.add_mesh(mesh, color="white", specular=0, smooth_shading=True)
    plotter.camera_position = "xy"
    plotter.camera.elevation = -50
    plotter.camera.zoom(1.9)
    plotter.screenshot(sys.argv[1])
    print(f"{sys.argv[1]}: the land from the south")
