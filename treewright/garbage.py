"""Python's search for reference cycles, which now and then visits all objects, and how it is avoided."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["kept_forever", "set_aside", "uncollected"]

_NEVER = 1_000_000_000
_SERVING = 20_000


@contextmanager
def uncollected() -> Iterator[None]:
    """Do not search for reference cycles within the block, which makes many objects that stay and have no cycles.

    With a corpus in memory, a search of all objects takes as long as parsing some hundred sentences. If threads are in
    such blocks at the same time, the first of them decides, so that searches are not put off forever.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def set_aside() -> Iterator[None]:
    """Within the block, search for reference cycles only among recent objects, not among all of them.

    For work that takes long, such as training: its own cycles are found, and the corpus is not visited. Full searches
    are put off by their threshold. (``gc.freeze`` would make them more frequent after the block, because Python
    compares the number of new objects with the number of objects that the last full search visited.)
    """
    youngest, middle, oldest = gc.get_threshold()
    gc.set_threshold(youngest, middle, max(oldest, _NEVER))
    try:
        yield
    finally:
        gc.set_threshold(youngest, middle, oldest)


def kept_forever() -> None:
    """Exclude all present objects from later searches, and search less often: for a server that has loaded its models.

    Otherwise a sixth of the time of a server under load goes into searches that find nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(max(gc.get_threshold()[0], _SERVING), *gc.get_threshold()[1:])
