"""What the server sends, and when."""

from __future__ import annotations

import asyncio

import pytest

from treewright.server.running import _Joining


class Wire:
    """A transport that records what is sent."""

    def __init__(self):
        self.sent, self.closed = [], False

    def write(self, data):
        assert not self.closed
        self.sent.append(data)

    def close(self):
        self.closed = True

    def get_write_buffer_size(self):
        return 7

    def is_closing(self):
        return self.closed


@pytest.fixture
def wire():
    return Wire()


def on(wire, work):
    async def run():
        await work(_Joining(wire, asyncio.get_running_loop()))

    asyncio.run(run())


def test_head_and_body_are_sent_together(wire):
    async def work(transport):
        for _ in range(2):
            transport.write(b"head ")
            assert transport.get_write_buffer_size() == 12
            transport.write(b"body")
            assert transport.get_write_buffer_size() == 7

    on(wire, work)
    assert wire.sent == [b"head body"] * 2


def test_what_is_written_alone_is_sent_at_once(wire):
    async def work(transport):
        transport.write(b"head")
        assert wire.sent == []
        await asyncio.sleep(0)
        assert wire.sent == [b"head"]
        transport.write(b"later")
        await asyncio.sleep(0)

    on(wire, work)
    assert wire.sent == [b"head", b"later"]


def test_closing_sends_the_rest_first(wire):
    async def work(transport):
        transport.write(b"goodbye")
        assert not transport.is_closing()
        transport.close()
        await asyncio.sleep(0)

    on(wire, work)
    assert wire.sent == [b"goodbye"]
    assert wire.closed
