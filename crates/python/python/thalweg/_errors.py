"""What can go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os


class Error(Exception):
    """Every failure of thalweg that is not a wrong Python type."""


class RecipeError(Error, ValueError):
    """A setting, a key of a recipe or an argument is not allowed.

    Attributes
    ----------
    pointer : str or None
        Where in the recipe the value stands, as a JSON pointer (RFC 6901): ``/stage/1/rain``.
        Of an argument, ``/`` and its name.
    field : str or None
        The name of the setting.
    given : str or None
        The value that was given, as text.
    allowed : str or None
        What is allowed, in words.
    file : os.PathLike or None
        The recipe's file, if it was read from one.
    """

    def __init__(
        self,
        message: str = "",
        *,
        pointer: str | None = None,
        field: str | None = None,
        given: str | None = None,
        allowed: str | None = None,
        file: os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(message)
        self.pointer = pointer
        self.field = field
        self.given = given
        self.allowed = allowed
        self.file = file


class InputError(Error, OSError):
    """A file is missing, damaged, or of a kind that is not read.

    Attributes
    ----------
    path : os.PathLike or None
        The file.
    """

    def __init__(self, message: str = "", *, path: os.PathLike[str] | None = None) -> None:
        super().__init__(message)
        self.path = path


class OutputError(Error, OSError):
    """A file could not be written, or is there already.

    Attributes
    ----------
    path : os.PathLike or None
        The file or folder.
    """

    def __init__(self, message: str = "", *, path: os.PathLike[str] | None = None) -> None:
        super().__init__(message)
        self.path = path


class LimitError(Error):
    """Something is too large for the machine, the device or the format.

    Attributes
    ----------
    needed, allowed : int or None
        How much is needed, and how much there is.
    unit : str or None
        Of what: ``bytes``, ``cells a side`` and the like.
    """

    def __init__(
        self,
        message: str = "",
        *,
        needed: int | None = None,
        allowed: int | None = None,
        unit: str | None = None,
    ) -> None:
        super().__init__(message)
        self.needed = needed
        self.allowed = allowed
        self.unit = unit


class DeviceError(Error):
    """The graphics device refused, failed or does not exist.

    Attributes
    ----------
    adapter : str or None
        The name of the adapter.
    """

    def __init__(self, message: str = "", *, adapter: str | None = None) -> None:
        super().__init__(message)
        self.adapter = adapter


class Cancelled(Error):
    """The run was cancelled."""


class RunWarning(UserWarning):
    """Something that a run assumed or noticed."""
