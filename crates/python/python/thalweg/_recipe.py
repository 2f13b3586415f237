"""Recipes: what to make."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _arguments as arguments
from . import _thalweg
from ._errors import RecipeError

#: What stands for a recipe: see `Recipe`.
RecipeLike = Union["Recipe", Mapping, str, os.PathLike]


class Recipe:
    """What to make: stages with their settings, the size, the place and the seed of the land.

    A recipe is checked when it is made, and never changes.

    Parameters
    ----------
    source : dict, str, os.PathLike or Recipe
        A dict with the keys of a recipe; a text in TOML or JSON; the path of a ``.toml`` or
        ``.json`` file; the name of an example, see `examples`; or the name of a preset, see
        `presets`, for heights that `run` is given.
    folder : str or os.PathLike, optional
        The folder that paths in a dict or a text are relative to. The working folder if not given;
        a file's own folder for a file.
    name : str, optional
        The name of the land, if the source does not say it. ``land`` if not given; a file's stem
        for a file.

    Raises
    ------
    RecipeError
        For what is not a recipe: it says where, what was given and what is allowed.
    InputError
        For a file that cannot be read.
    """

    __slots__ = ("_native",)
    _native: _thalweg.Recipe

    def __init__(
        self,
        source: RecipeLike,
        *,
        folder: str | os.PathLike | None = None,
        name: str | None = None,
    ):
        self._native = _read(source, folder, name)

    @classmethod
    def _of(cls, native: _thalweg.Recipe) -> Recipe:
        recipe = cls.__new__(cls)
        recipe._native = native
        return recipe

    @property
    def name(self) -> str:
        """What the land is called."""
        return self._native.name

    @property
    def seed(self) -> int:
        """The number from which all chance follows, 0 to 2⁶⁴ − 1."""
        return self._native.seed

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in cells; None for a recipe that starts from heights."""
        return self._native.size

    @property
    def spacing_m(self) -> float | None:
        """Metres a cell; None if the heights say it."""
        return self._native.spacing_m

    @property
    def endless(self) -> bool:
        """Whether the land has no end: see `World`."""
        return self._native.endless

    @property
    def stages(self) -> list[str]:
        """The kinds of its stages, in order."""
        return self._native.stages

    @property
    def maps(self) -> list[str]:
        """The names of the maps that a run writes."""
        return self.to_dict()["output"]["maps"]

    @property
    def possible_maps(self) -> list[str]:
        """The names of the maps that a run can leave: see `maps`."""
        return self._native.possible_maps

    def changed(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        size: int | tuple[int, int] | None = None,
        spacing_m: float | None = None,
        maps: Sequence[str] | None = None,
        water: bool = False,
    ) -> Recipe:
        """The same recipe with other settings.

        Parameters
        ----------
        settings : dict, optional
            Values by ``STAGE.KEY``, such as ``{"droplets.rain": 4, "water.lakes": "full"}``. STAGE
            is the kind of a stage, its number from 1, ``water`` or ``output``.
        seed : int, optional
            0 to 2⁶⁴ − 1.
        size : int or (width, height), optional
            Cells.
        spacing_m : float, optional
            Metres a cell, 0.001 to 1 000 000.
        maps : sequence of str, optional
            The maps that a run leaves, beside the height: see `possible_maps`.
        water : bool
            Whether a run looks for rivers and lakes.

        Returns
        -------
        Recipe

        Raises
        ------
        RecipeError
            For what is not allowed.
        """
        if isinstance(maps, str):
            raise TypeError(f"maps: str {maps!r}: allowed is a list of names")
        return Recipe._of(
            self._native.changed(
                _Changes(
                    seed=arguments.seed(seed),
                    size=arguments.size(size),
                    spacing_m=arguments.metres(spacing_m),
                    maps=None if maps is None else list(maps),
                    water=bool(water),
                    settings=[
                        f"{key}={arguments.text(value)}" for key, value in (settings or {}).items()
                    ],
                )
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """The recipe with every setting, as a dict that makes the same recipe again."""
        return json.loads(self._native.describe())

    def to_toml(self) -> str:
        """The recipe with every setting, as TOML."""
        return _toml(self.to_dict())

    def _folder(self) -> str:
        return os.path.abspath(self._native.folder)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recipe):
            return NotImplemented
        own, others = self._native.describe(), other._native.describe()
        # Only files depend on the folder.
        return own == others and ('"file"' not in own or self._folder() == other._folder())

    def __hash__(self) -> int:
        return hash(self._native.describe())

    def __reduce__(self):
        return _rebuild, (self._native.describe(), self._folder(), self.name)

    def __repr__(self) -> str:
        size = "for heights" if self.size is None else f"{self.size[0]} x {self.size[1]}"
        return f"<thalweg.Recipe {self.name!r}, {size}, seed {self.seed}: {', '.join(self.stages)}>"


class _Changes:
    """Fields by name, as the native half reads them."""

    def __init__(self, **fields: Any):
        self.__dict__.update(fields)


def _rebuild(text: str, folder: str, name: str) -> Recipe:
    return Recipe._of(_thalweg.Recipe.of_text(text, folder, name))


def _read(source: Any, folder: Any, name: str | None) -> _thalweg.Recipe:
    if isinstance(source, Recipe):
        return source._native
    if isinstance(source, Mapping):
        text = arguments.as_json(dict(source))
        return _thalweg.Recipe.of_text(text, os.fspath(folder or ""), name or "land")
    if isinstance(source, os.PathLike):
        return _thalweg.Recipe.of_file(source)
    if not isinstance(source, str):
        kind = type(source).__name__
        raise TypeError(
            f"recipe: {kind}: allowed are a dict, TOML or JSON as text, the path of a file, the "
            f"name of an example or of a preset, and a Recipe"
        )
    if any(mark in source for mark in "={\n"):
        return _thalweg.Recipe.of_text(source, os.fspath(folder or ""), name or "land")
    if source.lower().endswith((".toml", ".json")):
        return _thalweg.Recipe.of_file(source)
    for known, _, text in _thalweg.examples():
        if known == source:
            return _thalweg.Recipe.of_text(text, "", known)
    if source in presets():
        return erosion(source, name or source)
    raise _unknown(source)


def _unknown(source: str) -> RecipeError:
    import difflib

    known = [*examples(), *presets()]
    near = difflib.get_close_matches(source, known, 1)
    mean = f"; did you mean {near[0]!r}?" if near else ""
    allowed = f"TOML or JSON, a path that ends in .toml or .json, or one of {', '.join(known)}"
    return RecipeError(
        f"recipe = {source!r}: allowed {allowed}{mean}",
        field="recipe",
        pointer="/recipe",
        given=source,
        allowed=allowed,
    )


def erosion(
    preset: str,
    name: str,
    seed: int = 0,
    margin_cells: int = 0,
    levels: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> _thalweg.Recipe:
    """The recipe of a preset, for heights."""
    if not isinstance(preset, str):
        raise TypeError(f"preset: {type(preset).__name__}: allowed is one of {list(presets())}")
    return _thalweg.Recipe.of_erosion(
        _Changes(
            preset=preset,
            name=name,
            seed=arguments.whole("seed", seed, 0, arguments.SEED_MAX),
            margin_cells=arguments.whole("margin_cells", margin_cells, 0, arguments.CELLS_MAX),
            levels=levels if levels is None else arguments.whole("levels", levels, 0, 64),
            settings=[(key, arguments.text(value)) for key, value in (settings or {}).items()],
        )
    )


def examples() -> dict[str, str]:
    """The recipes to start from.

    Returns
    -------
    dict of str to str
        What each makes, by name.
    """
    return {name: about for name, about, _ in _thalweg.examples()}


def presets() -> dict[str, str]:
    """The named settings of erosion.

    Returns
    -------
    dict of str to str
        What each does, by name.
    """
    return dict(_thalweg.presets())


def maps() -> dict[str, tuple[str, str]]:
    """The maps that runs can leave.

    Returns
    -------
    dict of str to (str, str)
        The unit and the meaning of each, by name.
    """
    return {name: (unit, about) for name, unit, about in _thalweg.maps()}


def _toml(recipe: dict[str, Any]) -> str:
    """A recipe as TOML: keys of the top, then tables, then stages."""

    def value(one: Any) -> str:
        if isinstance(one, dict):
            pairs = (f"{key(k)} = {value(v)}" for k, v in one.items() if v is not None)
            return "{ " + ", ".join(pairs) + " }"
        if isinstance(one, list):
            return "[" + ", ".join(value(v) for v in one) + "]"
        if isinstance(one, str):
            # JSON's escapes are TOML's, but for this sign.
            return json.dumps(one, ensure_ascii=False).replace("\x7f", "\\u007f")
        # TOML's integers end here, and recipes take larger seeds as text.
        large = isinstance(one, int) and one >= 2**63
        return json.dumps(str(one) if large else one)

    def key(name: str) -> str:
        plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
        return name if plain else json.dumps(name)

    def lines(table: dict[str, Any]) -> list[str]:
        return [f"{key(name)} = {value(one)}" for name, one in table.items() if one is not None]

    tables = {name: one for name, one in recipe.items() if isinstance(one, dict)}
    stages = recipe.get("stage", [])
    parts = [lines({k: v for k, v in recipe.items() if k not in tables and k != "stage"})]
    parts += [["[[stage]]", *lines(stage)] for stage in stages]
    parts += [[f"[{key(name)}]", *lines(table)] for name, table in tables.items()]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
