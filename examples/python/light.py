"""Grey relief under several lights, for the notebooks."""

import numpy as np

# Directions of the light in degrees clockwise from north, and their shares.
LIGHTS = ((225, 0.2), (270, 0.2), (315, 0.4), (360, 0.2))


def relief(height, spacing_m, altitude_deg=45):
    """The light on each cell of a map, 0 to 1, NaN where it has no height.

    Rows run from the north. Several lights are mixed, so that no slope hides along a single one.
    """
    south, east = np.gradient(np.asarray(height, float), spacing_m)
    north, length = -south, np.sqrt(1 + east**2 + south**2)
    altitude = np.radians(altitude_deg)
    light = 0.0
    for azimuth, share in LIGHTS:
        x, y = np.sin(np.radians(azimuth)), np.cos(np.radians(azimuth))
        facing = np.sin(altitude) - np.cos(altitude) * (x * east + y * north)
        light = light + share * np.maximum(facing / length, 0)
    return light
