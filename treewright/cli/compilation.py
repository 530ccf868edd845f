"""Whether Numba is compiling: it tells of all that it compiles, and is silent about what it has kept from before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.event import Event, Listener, install_listener

__all__ = ["Compilation", "watching"]


class Compilation(Listener):  # type: ignore[misc] # numba has no types
    """How long functions have been compiled since this began to listen."""

    def __init__(self) -> None:
        self._spent = self._since = 0.0
        self._depth = 0  # a function is compiled while another one is that calls it

    def on_start(self, event: Event) -> None:
        """Note that a function is being compiled."""
        if self._depth == 0:
            self._since = time.monotonic()
        self._depth += 1

    def on_end(self, event: Event) -> None:
        """Note that it is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._spent += time.monotonic() - self._since

    @property
    def goes_on(self) -> bool:
        """Whether something is being compiled now."""
        return self._depth > 0

    @property
    def seconds(self) -> float:
        """How long it has taken up to now."""
        return self._spent + (time.monotonic() - self._since if self.goes_on else 0.0)


@contextmanager
def watching() -> Iterator[Compilation]:
    """Listen for a while."""
    with install_listener("numba:compile", Compilation()) as compilation:
        yield compilation
