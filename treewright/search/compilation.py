"""Measures the time of compilation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from treewright.search.compiling import compilations

__all__ = ["Compilation", "watching"]


class Compilation:
    """The time of compilation since this listener was registered."""

    def __init__(self) -> None:
        self._spent = self._since = 0.0
        self._depth = 0  # compilations are nested: callees are compiled during their callers

    def __call__(self, begins: bool) -> None:
        """Record that a compilation begins or ends."""
        if begins and self._depth == 0:
            self._since = time.monotonic()
        self._depth += 1 if begins else -1
        if self._depth == 0:
            self._spent += time.monotonic() - self._since

    @property
    def goes_on(self) -> bool:
        """Whether something is being compiled now."""
        return self._depth > 0

    @property
    def seconds(self) -> float:
        """The seconds of compilation so far."""
        return self._spent + (time.monotonic() - self._since if self.goes_on else 0.0)


@contextmanager
def watching() -> Iterator[Compilation]:
    """Listen while the block runs."""
    compilation = Compilation()
    compilations.listeners.append(compilation)
    try:
        yield compilation
    finally:
        compilations.listeners.remove(compilation)
