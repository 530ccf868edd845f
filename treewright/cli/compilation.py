"""Whether Numba is compiling: it emits events for compilation, but not for loading code from its cache."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.event import Event, Listener, install_listener

__all__ = ["Compilation", "watching"]


class Compilation(Listener):  # type: ignore[misc] # numba has no types
    """The time of compilation since this listener was registered."""

    def __init__(self) -> None:
        self._spent = self._since = 0.0
        self._depth = 0  # a function is compiled while another one is that calls it

    def on_start(self, event: Event) -> None:
        """Record that compilation of a function begins."""
        if self._depth == 0:
            self._since = time.monotonic()
        self._depth += 1

    def on_end(self, event: Event) -> None:
        """Record that compilation of a function ends."""
        self._depth -= 1
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
    with install_listener("numba:compile", Compilation()) as compilation:
        yield compilation
