"""Answers that must come in time, with one timer for all of them."""

from __future__ import annotations

import asyncio
from typing import Any

from treewright.server.limits import Refused

__all__ = ["Deadlines"]


class Deadlines:
    """Waits for futures, each for the same number of seconds at most.

    As they all have the same time, the one that began first ends first, and one timer is enough. A timer for each
    request would take several microseconds.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._open: dict[
            asyncio.Future[Any], float
        ] = {}  # when the time of each is over, in the order of their beginning
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, answer: asyncio.Future[Any]) -> Any:
        """Return the result of a future, or cancel it and raise :class:`Refused` with the status 408."""
        loop = answer.get_loop()
        end = self._open[answer] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_at(end, self._sweep)
        try:
            return await answer
        except asyncio.CancelledError:
            if answer in self._open:  # the request itself was cancelled
                raise
            message = f"this took longer than {self.seconds:g} seconds, which is the limit; send less text"
            raise Refused(408, "too-slow", message) from None
        finally:
            self._open.pop(answer, None)

    def _sweep(self) -> None:
        """Cancel the futures whose time is over, and wait for the next one."""
        self._timer = None
        for answer, end in list(self._open.items()):
            loop = answer.get_loop()
            if end > loop.time():
                self._timer = loop.call_at(end, self._sweep)
                return
            if not answer.done():
                del self._open[answer]
                answer.cancel()
