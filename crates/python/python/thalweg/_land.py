"""What a run leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _thalweg
from ._errors import Error
from ._recipe import Recipe

if TYPE_CHECKING:
    import geopandas
    import numpy as np
    import xarray


class Land(Mapping):
    """The maps that a run leaves, by name: ``land["height"]`` and so on.

    A map as an array of float32 is made from exact words each time that it is asked for. Row 0 is
    the northernmost, column 0 the westernmost. Two lands are equal if they have the same maps, of
    the same words, at the same place and scale.
    """

    __slots__ = ("_names", "_native")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, native: _thalweg.Land):
        self._native = native
        self._names = native.names

    def __getitem__(self, name: str) -> np.ndarray:
        """A map in its unit.

        Returns
        -------
        numpy.ndarray
            float32, C-contiguous, of the shape (rows, columns), NaN in cells that are outside the
            land. It is the caller's own. See `units`.

        Raises
        ------
        KeyError
            For a map that the run did not leave.
        """
        return self._native.values(self._known(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Land):
            return NotImplemented
        alike = self._lattice() == other._lattice()
        alike = alike and self._native.missing().tobytes() == other._native.missing().tobytes()
        return alike and all(self.digest(name) == other.digest(name) for name in self._names)

    def _lattice(self) -> tuple:
        own = self._native
        return own.shape, own.origin, own.spacing_m, own.datum_m, self._names

    def __repr__(self) -> str:
        rows, columns = self.shape
        name = self.recipe.name
        return (
            f"<thalweg.Land {name!r}, {columns} x {rows} cells of {self.spacing_m:g} m: "
            f"{', '.join(self._names)}; on {self.device}>"
        )

    def _known(self, name: str) -> str:
        if name not in self._names:
            raise KeyError(f"{name!r}: the run left {', '.join(self._names)}; name others in maps")
        return name

    @property
    def names(self) -> list[str]:
        """The names of the maps."""
        return list(self._names)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each map; for a number without one, what is counted."""
        return dict(self._native.units)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._native.shape

    @property
    def spacing_m(self) -> float:
        """Metres from a cell to the next."""
        return self._native.spacing_m

    @property
    def datum_m(self) -> float:
        """Metres of the word 0 of ``exact("height")``."""
        return self._native.datum_m

    @property
    def origin(self) -> tuple[int, int]:
        """Column and row of the north-west cell in its world."""
        return self._native.origin

    @property
    def device(self) -> str:
        """What computed it, and its driver."""
        return self._native.device

    @property
    def recipe(self) -> Recipe:
        """The recipe that was run."""
        return Recipe._of(self._native.recipe)

    @property
    def report(self) -> dict[str, Any]:
        """What the run did.

        Returns
        -------
        dict
            ``device``; ``stages``, with the seconds and the passes of each and the ground that it
            moved; ``levels``, ``biomes`` and ``water``; ``entrances`` of dungeons; ``stopped``, the
            number of cells at the end of the range of each map's words; ``warnings``.
        """
        return json.loads(self._native.report())

    @property
    def missing(self) -> np.ndarray:
        """Which cells are outside the land, as bools of the shape (rows, columns)."""
        import numpy as np

        outside = np.zeros(self.shape, bool)
        outside.flat[self._native.missing()] = True
        return outside

    def exact(self, name: str) -> np.ndarray:
        """The exact words of a map, which are equal on every device.

        A height in metres is ``word / 2**18 * spacing_m + datum_m``; the page of maps has the
        others. Words of cells outside the land say nothing: see `missing`.

        Returns
        -------
        numpy.ndarray
            int32 of the shape (rows, columns): a read-only view of the land's own memory. It may
            outlive the land.

        Raises
        ------
        KeyError
            For a map that the run did not leave.
        """
        return self._native.words(self._known(name))

    def digest(self, name: str) -> str:
        """BLAKE3 of a map's words as little-endian bytes, in hexadecimal digits.

        Raises
        ------
        KeyError
            For a map that the run did not leave.
        """
        return self._native.digest(self._known(name))

    def rivers(self) -> dict[str, Any]:
        """Rivers from confluence to confluence, as a GeoJSON FeatureCollection of LineStrings.

        Coordinates are those of the heights' coordinate system, where they came from a file that
        has one; else metres to the east and to the north of the north-west cell. The third is the
        height in metres.

        Raises
        ------
        Error
            If the run did not look for rivers: give it ``water=True``.
        """
        return self._vectors("rivers")

    def lakes(self) -> dict[str, Any]:
        """Lakes and the sea as a FeatureCollection of MultiPolygons: see `rivers`."""
        return self._vectors("lakes")

    def basins(self) -> dict[str, Any]:
        """What drains to one mouth, as a FeatureCollection of MultiPolygons: see `rivers`."""
        return self._vectors("basins")

    def water_points(self) -> dict[str, Any]:
        """Springs, mouths, waterfalls and outlets as a FeatureCollection: see `rivers`."""
        return self._vectors("water_points")

    def rivers_frame(self) -> geopandas.GeoDataFrame:
        """The same as `rivers`, as a GeoDataFrame. It needs geopandas."""
        return self._frame(self.rivers())

    def lakes_frame(self) -> geopandas.GeoDataFrame:
        """The same as `lakes`, as a GeoDataFrame. It needs geopandas."""
        return self._frame(self.lakes())

    def basins_frame(self) -> geopandas.GeoDataFrame:
        """The same as `basins`, as a GeoDataFrame. It needs geopandas."""
        return self._frame(self.basins())

    def _vectors(self, layer: str) -> dict[str, Any]:
        text = self._native.vectors(layer)
        if text is None:
            raise Error(
                f"{layer}: the run did not look for them; give it water=True, or the recipe "
                f'vectors = ["geojson"] under [water]'
            )
        return json.loads(text)

    def _frame(self, collection: dict[str, Any]) -> geopandas.GeoDataFrame:
        try:
            import geopandas
        except ImportError as e:
            raise ImportError("a GeoDataFrame needs geopandas: pip install geopandas") from e
        features = collection["features"]
        if not features:
            return geopandas.GeoDataFrame(geometry=[], crs=self.crs)
        return geopandas.GeoDataFrame.from_features(features, crs=self.crs)

    @property
    def crs(self) -> str | None:
        """The coordinate system of the heights, as ``EPSG:…`` or as well-known text, where they
        came from a file that has one; else None."""
        place = self._native.georef
        return None if place is None else place[0]

    @property
    def transform(self) -> tuple[float, float, float, float, float, float] | None:
        """The affine transform from columns and rows to the coordinate system of the heights,
        ``(a, b, c, d, e, f)`` as rasterio's Affine takes it; None if they have none."""
        place = self._native.georef
        if place is None:
            return None
        _, west, north, (width, height) = place
        return width, 0.0, west, 0.0, -height, north

    def to_xarray(self) -> xarray.Dataset:
        """All maps as an xarray.Dataset. It needs xarray.

        Returns
        -------
        xarray.Dataset
            Variables of the dimensions (y, x) with the attributes ``long_name``, ``units``,
            ``comment`` and ``blake3``. The coordinates are the middles of cells, in the coordinate
            system of the heights where they came from a file that has one, which ``spatial_ref``
            names; else metres to the east and to the north of the north-west cell.
        """
        from .xarray import land_dataset

        return land_dataset(self)

    def save(self, folder: str | os.PathLike, *, replace: bool = False) -> None:
        """Stores what ``thalweg run -o`` does: maps, a picture and a manifest.

        Parameters
        ----------
        folder : str or os.PathLike
            A folder, which is made if it is not there.
        replace : bool
            Whether the files of an earlier run are replaced; else they are an error.

        Raises
        ------
        OutputError
            For files that exist or cannot be written.
        """
        self._native.save(folder, bool(replace))
