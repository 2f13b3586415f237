"""How far a run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """How far a run is."""

    #: The kind of the stage that runs.
    stage: str
    #: Its number, from 1.
    number: int
    #: How many stages there are, counted once for each level that they run on.
    of: int
    #: Passes of the stage that are done.
    done: int
    #: Passes of the stage.
    passes: int
    #: The share of the run that is done, 0 to 1, each stage counted alike.
    fraction: float


def _progress(stage: int, stages: int, name: str, done: int, passes: int) -> Progress:
    share = done / passes if passes else 1.0
    return Progress(name, stage + 1, stages, done, passes, (stage + share) / max(stages, 1))


@contextmanager
def watching(progress: Any) -> Iterator[Callable[[int, int, str, int, int], object] | None]:
    """What the native half calls with its progress."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError as e:
            raise ImportError(
                "progress=True needs tqdm: pip install tqdm, or give a callable"
            ) from e
        form = "{desc}{percentage:3.0f}%|{bar}| {elapsed}"
        with tqdm(total=100.0, bar_format=form) as bar:

            def show(*told: Any) -> None:
                at = _progress(*told)
                bar.set_description(f"{at.stage} ({at.number} of {at.of})", refresh=False)
                bar.n = 100 * at.fraction
                bar.refresh()

            yield show
            bar.n = 100.0
            bar.refresh()
    elif callable(progress):
        yield lambda *told: progress(_progress(*told))
    else:
        kind = type(progress).__name__
        raise TypeError(f"progress: {kind} {progress!r}: allowed are a callable, True and None")
