"""A land as a grid of Landlab, and its drainage by both: pip install landlab.

Landlab's rows begin in the south, so a map is turned upside down for it. A ring of closed nodes
round the land makes the land's own border drain as any other cell.
"""

import numpy as np
from landlab import RasterModelGrid
from landlab.components import FlowAccumulator

import thalweg


def grid_of(land: thalweg.Land, name: str = "height") -> RasterModelGrid:
    """A grid whose core nodes are the cells of a land, with a map as their elevation."""
    rows, columns = land.shape
    grid = RasterModelGrid((rows + 2, columns + 2), xy_spacing=land.spacing_m)
    elevation = np.pad(np.flipud(land[name]).astype(float), 1, mode="edge")
    grid.add_field("topographic__elevation", elevation.ravel(), at="node")
    grid.set_closed_boundaries_at_grid_edges(True, True, True, True)
    return grid


def map_of(grid: RasterModelGrid, field: str) -> np.ndarray:
    """A field of the cells, with rows from the north as thalweg has them."""
    return np.flipud(grid.at_node[field].reshape(grid.shape)[1:-1, 1:-1])


# A hollow on a slope, with furrows: water leaves it everywhere, so no lake has to be crossed.
row, column = np.mgrid[0:120, 0:150]
heights = 300 - 0.8 * row + 0.3 * np.hypot(column - 75, row - 60) + 8 * np.sin(column / 9)
land = thalweg.erode(heights, spacing_m=10, maps=["drainage_area"], water=True)

grid = grid_of(land)
FlowAccumulator(grid, flow_director="FlowDirectorD8").run_one_step()
landlab_area, area = map_of(grid, "drainage_area"), land["drainage_area"]

same = np.isclose(landlab_area, area, rtol=1e-6).sum()
print(f"the same drainage area in {same} of {area.size} cells; the largest is {area.max():.0f} m²")
