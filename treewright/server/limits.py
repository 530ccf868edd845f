"""The limits of requests, and the middleware that enforces them: sizes, times, headers."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

__all__ = ["Disconnection", "Limits", "Refused", "SecurityHeaders", "SizeLimit", "check_text"]

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
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")  # except white space


@dataclass(frozen=True)
class Limits:
    """The limits of requests. A request beyond a limit gets a status from 400 to 499 that names the limit."""

    body: int = 1_000_000
    """Bytes of a request's body, its address included."""
    words: int = 20_000
    """Words of a request."""
    letters: int = 1_000
    """Letters of a word."""
    trace_words: int = 200
    """Words of a sentence that is shown step by step."""
    seconds: float = 60.0
    """Seconds that a request may take."""
    waiting: int = 512
    """Requests that may wait for a model."""
    idle: float = 15.0
    """Seconds that a connection may be open without a whole request."""
    connections: int = 1_000
    """Open connections; beyond that the oldest one that has sent no whole request is closed."""


class Refused(Exception):
    """A request that is answered with an error: its status, a short code, and a message for people."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def check_text(text: str, limits: Limits, *, name: str = "text") -> str:
    """Return a text that can be analysed, or raise :class:`Refused`."""
    if not text.strip():
        raise Refused(400, "empty", f"{name} is empty: give at least one word")
    if found := _CONTROL.search(text):
        message = f"{name} has the control character U+{ord(found[0]):04X} at {found.start():,}"
        raise Refused(400, "control-character", message)
    words = text.split()
    if len(words) > limits.words:
        raise Refused(413, "too-many-words", f"{name} has {len(words):,} words; the limit is {limits.words:,}")
    longest = max(map(len, words))
    if longest > limits.letters:
        raise Refused(
            413, "word-too-long", f"{name} has a word of {longest:,} letters; the limit is {limits.letters:,}"
        )
    return text


class SizeLimit:
    """ASGI middleware that refuses bodies and addresses that are too large, before they are read completely."""

    def __init__(self, app: Any, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer 413, or pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if (declared.isdigit() and int(declared) > self.limits.body) or len(scope["query_string"]) > self.limits.body:
            await PlainTextResponse(self._message + "\n", 413, {"connection": "close"})(scope, receive, send)
            return
        received, whole = 0, False
        clock = asyncio.get_running_loop().time
        end = clock() + self.limits.seconds

        async def counted() -> Any:
            nonlocal received, whole
            patience = min(self.limits.idle, end - clock())
            try:  # after the body, only the end of the connection follows, which has no time limit
                async with asyncio.timeout(None if whole else patience):
                    message = await receive()
            except TimeoutError:
                message = f"the request was not complete after {self.limits.seconds:g} seconds"
                if patience == self.limits.idle:
                    message = f"no more of the request came for {self.limits.idle:g} seconds"
                raise HTTPException(408, message, {"connection": "close"}) from None
            received += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if received > self.limits.body:
                raise HTTPException(413, self._message, {"connection": "close"})
            return message

        await self.app(scope, counted, send)

    @property
    def _message(self) -> str:
        return f"the request is larger than {self.limits.body:,} bytes; send the text in parts"


class Disconnection:
    """ASGI middleware that stops a request whose client has disconnected, so that nobody waits for its work.

    It is counted with the status 499.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, and wait for the end of the connection at the same time."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = asyncio.current_task()
        assert request is not None
        read: list[Any] = []
        watching: asyncio.Task[Any] | None = None
        answered = gone = False

        async def watch() -> Any:
            nonlocal gone
            message = await receive()  # after the body, only the end of the connection can follow
            if not answered:
                gone = True
                request.cancel()
            return message

        async def watched() -> Any:
            nonlocal watching, gone
            if read:
                return read.pop()
            if watching is not None:
                return await asyncio.shield(watching)
            message = await receive()
            if message["type"] == "http.disconnect":
                gone = True
                raise asyncio.CancelledError
            if not message.get("more_body", False):
                watching = asyncio.create_task(watch())
            return message

        async def sending(message: Any) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            if not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"]):
                read.append(await watched())  # without a body, the application may not read it
            await self.app(scope, watched, sending)
        except asyncio.CancelledError:
            if not gone:
                raise
            request.uncancel()
            await send({"type": "http.response.start", "status": 499, "headers": []})  # nobody receives it
        finally:
            if watching is not None:
                watching.cancel()


class SecurityHeaders:
    """ASGI middleware that adds security headers to answers."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, and add headers to the answer."""

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self.app(scope, receive, send if scope["type"] != "http" else with_headers)
