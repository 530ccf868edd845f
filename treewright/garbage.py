"""Python's search for reference cycles, which visits all objects, and how it is avoided."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Do not search for reference cycles within the block, which makes many objects that stay and have no cycles.

    A search is due after some hundred new objects, and now and then it visits all objects of the process: for a corpus
    in memory, this takes as long as parsing some hundred sentences. If threads are in such blocks at the same time, the
    first of them decides, so that searches are not put off forever.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
