from collections.abc import Callable
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__version__: str

_Path: TypeAlias = str | PathLike[str]
_Watch: TypeAlias = Callable[[int, int, str, int, int], object]
_Floats: TypeAlias = npt.NDArray[np.float32]
_Part: TypeAlias = tuple[int, int, int, int]

class Recipe:
    folder: str
    seed: int
    name: str
    size: tuple[int, int] | None
    spacing_m: float | None
    endless: bool
    stages: list[str]
    possible_maps: list[str]
    @staticmethod
    def of_text(text: str, folder: _Path, name: str) -> Recipe: ...
    @staticmethod
    def of_file(path: _Path) -> Recipe: ...
    @staticmethod
    def of_erosion(erosion: Any) -> Recipe: ...
    def changed(self, changes: Any) -> Recipe: ...
    def describe(self) -> str: ...

class Land:
    shape: tuple[int, int]
    origin: tuple[int, int]
    spacing_m: float
    datum_m: float
    device: str
    recipe: Recipe
    names: list[str]
    units: list[tuple[str, str]]
    georef: tuple[str | None, float, float, tuple[float, float]] | None
    def digest(self, name: str) -> str: ...
    def values(self, name: str) -> _Floats: ...
    def words(self, name: str) -> npt.NDArray[np.int32]: ...
    def missing(self) -> npt.NDArray[np.int64]: ...
    def report(self) -> str: ...
    def vectors(self, layer: str) -> str | None: ...
    def save(self, folder: _Path, replace: bool) -> None: ...

class World:
    recipe: Recipe
    spacing_m: float
    names: list[str]
    counts: tuple[int, int]
    def __init__(
        self,
        recipe: Recipe,
        store: _Path | None,
        device: str,
        threads: int,
        side: int | None,
        memory_bytes: int | None,
    ) -> None: ...
    def window(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        level: int,
        field: str,
        priority: int,
    ) -> _Floats: ...
    def extent(self, level: int) -> _Part: ...
    def graph(self, part: _Part, level: int) -> str: ...
    def needed(self, parts: list[_Part], level: int) -> list[list[tuple[int, int]]]: ...
    def make(self, level: int, slab: int, x: int, y: int, key: str | None) -> int: ...

def run(
    recipe: Recipe,
    heights: _Floats | None,
    land: Land | None,
    file: _Path | None,
    spacing_m: float | None,
    layers: list[tuple[str | int, _Floats]],
    device: str,
    threads: int,
    progress: _Watch | None,
    folder: _Path | None,
    replace: bool,
) -> Land: ...
def examples() -> list[tuple[str, str, str]]: ...
def presets() -> list[tuple[str, str]]: ...
def maps() -> list[tuple[str, str, str]]: ...
def devices() -> str: ...
def quality(heights: _Floats, spacing_m: float) -> tuple[str, str]: ...
