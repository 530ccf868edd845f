"""The door of the service: what every request and its answer pass, whichever endpoint answers."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

from treewright.server.counting import Counts
from treewright.server.limits import Limits

__all__ = ["LINE", "Door", "Line", "too_large"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
_GONE = 499  # the status under which requests of clients that have disconnected are counted

#: the name under which a server offers a :class:`Line` in ``scope["extensions"]``
LINE = "treewright.line"


class Line(Protocol):
    """What a server may offer for a request beyond ASGI, because it takes less time than messages and tasks."""

    lost: Any
    """A function that the server calls if the client disconnects before the answer."""

    @property
    def is_lost(self) -> bool:
        """Whether the client has disconnected."""

    @property
    def is_whole(self) -> bool:
        """Whether all of the request has arrived, so that reading it does not wait."""

    def send(self, head: Any, body: bytes) -> bool:
        """Send a whole answer at once; return False if it must be sent by the messages of ASGI."""


class Door:
    """ASGI middleware that all requests pass.

    It limits the sizes and times of bodies while they are read, stops a request whose client has disconnected, so that
    nobody waits for its work (it is counted with the status 499), adds security headers, and counts requests.
    """

    def __init__(self, app: Any, limits: Limits, counts: Counts) -> None:
        self.app, self.limits, self.counts = app, limits, counts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, and count it when it is answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        self.counts.under_way += 1
        exchange = _Exchange(scope, receive, send, self.limits, start + self.limits.seconds)
        try:
            await exchange.begin()
            await self.app(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:
            if not exchange.is_gone:
                raise
            exchange.status = _GONE
            exchange.task.uncancel()
        finally:
            exchange.end()
            self.counts.under_way -= 1
            self.counts.add(scope.get("route"), exchange.status, time.perf_counter() - start)


class _Exchange:
    """A request and its answer."""

    def __init__(self, scope: Any, receive: Any, send: Any, limits: Limits, end: float) -> None:
        self._scope, self._receive, self._send, self._limits, self._end = scope, receive, send, limits, end
        self._line: Line | None = scope.get("extensions", {}).get(LINE)
        self._first: Any = None  # a message that was read before the application asked for it
        self._head: Any = None  # of the answer, until its body comes
        self._watching: asyncio.Task[Any] | None = None
        self._received, self._whole = 0, False
        self.status, self.is_gone = 0, False
        task = asyncio.current_task()
        assert task is not None
        self.task = task

    async def begin(self) -> None:
        """Notice from now on if the client disconnects."""
        if self._line is not None:
            self._line.lost = self._stop
            if self._line.is_lost:
                self._stop()
        elif not _has_body(self._scope):
            self._first = await self.receive()  # the application may not read it

    def end(self) -> None:
        """Do not wait for the end of the connection any longer."""
        self.status = self.status or 500
        if self._line is not None:
            self._line.lost = None
        elif self._watching is not None:
            self._watching.cancel()

    def _stop(self) -> None:
        if not self.status:
            self.is_gone = True
            self.task.cancel()

    async def receive(self) -> Any:
        """Return the next part of the request; raise an error if it is too large or does not come in time."""
        if self._first is not None:
            message, self._first = self._first, None
            return message
        if self._whole:  # only the end of the connection can follow
            return await (self._receive() if self._watching is None else asyncio.shield(self._watching))
        message = await (self._in_time() if self._line is None or not self._line.is_whole else self._receive())
        if message["type"] == "http.disconnect":
            self.is_gone = True
            raise asyncio.CancelledError
        self._received += len(message.get("body", b""))
        if self._received > self._limits.body:
            raise HTTPException(413, _too_large(self._limits), {"connection": "close"})
        self._whole = not message.get("more_body", False)
        if self._whole and self._line is None:
            self._watching = asyncio.create_task(self._watch())
        return message

    async def _in_time(self) -> Any:
        idle = self._limits.idle
        patience = min(idle, self._end - time.perf_counter())
        try:
            async with asyncio.timeout(patience):
                return await self._receive()
        except TimeoutError:
            message = f"the request was not complete after {self._limits.seconds:g} seconds"
            if patience == idle:
                message = f"no more of the request came for {idle:g} seconds"
            raise HTTPException(408, message, {"connection": "close"}) from None

    async def _watch(self) -> Any:
        message = await self._receive()
        self._stop()
        return message

    async def send(self, message: Any) -> None:
        """Send a part of the answer; head and body together, if the server can."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], *_HEADERS]
            if self._line is not None:
                self._head = message
                return
        elif self._head is not None:
            head, self._head = self._head, None
            assert self._line is not None
            if not message.get("more_body", False) and self._line.send(head, message.get("body", b"")):
                return
            await self._send(head)
        await self._send(message)


def too_large(scope: Any, limits: Limits) -> PlainTextResponse | None:
    """Return the answer to a request that says that its body is too large, or whose address is; None for others."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if (declared.isdigit() and int(declared) > limits.body) or len(scope["query_string"]) > limits.body:
        return PlainTextResponse(_too_large(limits) + "\n", 413, {"connection": "close"})
    return None


def _too_large(limits: Limits) -> str:
    return f"the request is larger than {limits.body:,} bytes; send the text in parts"


def _has_body(scope: Any) -> bool:
    for name, value in scope["headers"]:
        if name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0"):
            return True
    return False
