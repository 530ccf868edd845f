"""What the server sends, in how many pieces, and what it notices: with the line beyond ASGI, and without it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from uvicorn.server import ServerState

from treewright.server import Limits
from treewright.server.counting import Counts
from treewright.server.door import Door
from treewright.server.running import _patient


class Wire:
    """A transport that records what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.sent.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name, default)

    def pause_reading(self) -> None:
        """Nothing is read."""

    resume_reading = pause_reading


class Scene:
    """An application behind the door, and a connection to it; ``line`` says whether the server offers its line."""

    def __init__(self, line: bool) -> None:
        self.line, self.wire, self.counts = line, Wire(), Counts()
        self.begun, self.was_cancelled = asyncio.Event(), False
        config = uvicorn.Config(self.app, interface="asgi3", lifespan="off", log_config=None, server_header=False)
        config.load()
        loop = asyncio.get_running_loop()
        self.connection = _patient(Limits())(config, ServerState(), {}, loop)
        self.connection.connection_made(self.wire)
        self.door = Door(self.answer, Limits(), self.counts)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        await self.door(scope if self.line else {**scope, "extensions": {}}, receive, send)

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        if path == "/wait":
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.was_cancelled = True
                raise
        pieces = StreamingResponse(iter(["a", "b"]))
        bare = Response("no length")
        del bare.headers["content-length"]
        answers = {
            "/": PlainTextResponse("It rains."),
            "/empty": Response(""),
            "/error": PlainTextResponse("no", 404),
            "/close": PlainTextResponse("bye", 413, {"connection": "close"}),
            "/pieces": pieces,
            "/bare": bare,
        }
        await answers[path](scope, receive, send)

    async def ask(self, *requests: bytes) -> list[bytes]:
        """What is sent in answer to requests that arrive in the same packet."""
        self.connection.data_received(b"".join(requests))
        while self.counts.under_way or sum(self.counts.requests.values()) < len(requests):
            await asyncio.sleep(0)
        return [re.sub(rb"date: [^\r]*", b"date: now", each) for each in self.wire.sent]


def asked(line: bool, *requests: bytes) -> tuple[list[bytes], bool]:
    async def play() -> tuple[list[bytes], bool]:
        scene = Scene(line)
        return await scene.ask(*requests), scene.wire.closed

    return asyncio.run(asyncio.wait_for(play(), 30))


GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.mark.parametrize(
    "requests",
    [
        [GET],
        [b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc"],
        [b"GET /empty HTTP/1.1\r\nhost: x\r\n\r\n"],
        [b"GET / HTTP/1.0\r\nhost: x\r\n\r\n"],
        [b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"],
        [b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n"],
        [b"GET /error HTTP/1.1\r\nhost: x\r\n\r\n"],
        [b"GET /close HTTP/1.1\r\nhost: x\r\n\r\n"],
        [b"GET /pieces HTTP/1.1\r\nhost: x\r\n\r\n"],
        [b"GET /bare HTTP/1.1\r\nhost: x\r\n\r\n"],
        [GET, GET.replace(b"/ ", b"/empty "), GET],
    ],
    ids=["get", "post", "empty", "1.0", "last", "head", "error", "close", "pieces", "no length", "pipelined"],
)
def test_answers_are_the_same_with_the_line_and_without_it(requests):
    (quick, quick_closed), (plain, plain_closed) = asked(True, *requests), asked(False, *requests)
    assert b"".join(quick) == b"".join(plain)
    assert quick_closed == plain_closed
    assert b"content-security-policy" in quick[0]


def test_head_and_body_are_sent_in_one_piece():
    [whole], _ = asked(True, GET)
    assert whole.startswith(b"HTTP/1.1 200 OK\r\n")
    assert whole.endswith(b"\r\n\r\nIt rains.")
    assert len(asked(False, GET)[0]) == 2


def test_a_header_with_a_line_end_is_not_sent():
    async def play() -> list[bytes]:
        scene = Scene(True)

        async def split(scope: Any, receive: Any, send: Any) -> None:
            response = PlainTextResponse("")
            response.raw_headers.append((b"x", b"1\r\nset-cookie: a"))
            await response(scope, receive, send)

        scene.door.app = split
        return await scene.ask(GET)

    assert b"set-cookie" not in b"".join(asyncio.run(play()))


@pytest.mark.parametrize("line", [True, False])
@pytest.mark.parametrize("length", [b"", b"content-length: 0\r\n"])
def test_a_request_stops_when_its_client_disconnects(line, length):
    async def play() -> Scene:
        scene = Scene(line)
        scene.connection.data_received(b"POST /wait HTTP/1.1\r\nhost: x\r\n" + length + b"\r\n")
        await scene.begun.wait()
        await asyncio.sleep(0)
        scene.connection.connection_lost(None)
        while scene.counts.under_way:
            await asyncio.sleep(0)
        return scene

    scene = asyncio.run(asyncio.wait_for(play(), 30))
    assert scene.was_cancelled
    assert dict(scene.counts.requests) == {("other", 499): 1}


@pytest.mark.parametrize("line", [True, False])
def test_a_client_that_disconnects_before_its_request_begins(line):
    async def play() -> Scene:
        scene = Scene(line)
        scene.connection.data_received(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n")
        scene.connection.connection_lost(None)
        await asyncio.sleep(0)
        while scene.counts.under_way:
            await asyncio.sleep(0)
        return scene

    assert dict(asyncio.run(asyncio.wait_for(play(), 30)).counts.requests) == {("other", 499): 1}
