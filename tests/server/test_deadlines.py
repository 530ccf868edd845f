"""Answers that must come in time."""

from __future__ import annotations

import asyncio

import pytest

from treewright.server.deadlines import Deadlines
from treewright.server.limits import Refused


def test_an_answer_in_time_is_returned_and_forgotten():
    async def play() -> None:
        deadlines, answer = Deadlines(60.0), asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(deadlines.wait(answer))
        await asyncio.sleep(0)
        answer.set_result("yes")
        assert await waiting == "yes"
        assert not deadlines._open

    asyncio.run(play())


def test_answers_that_do_not_come_in_time_are_cancelled_in_their_order():
    async def play() -> None:
        loop, deadlines = asyncio.get_running_loop(), Deadlines(0.05)
        first, second = loop.create_future(), loop.create_future()
        one = asyncio.create_task(deadlines.wait(first))
        await asyncio.sleep(0.02)
        other = asyncio.create_task(deadlines.wait(second))
        with pytest.raises(Refused, match=r"0\.05 seconds") as refused:
            await one
        assert (refused.value.status, refused.value.code) == (408, "too-slow")
        assert first.cancelled()
        assert not second.done()
        with pytest.raises(Refused):
            await other
        assert second.cancelled()
        third = loop.create_future()  # the timer starts again
        with pytest.raises(Refused):
            await deadlines.wait(third)

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_request_that_is_cancelled_is_not_refused():
    async def play() -> None:
        deadlines, answer = Deadlines(60.0), asyncio.get_running_loop().create_future()
        waiting = asyncio.create_task(deadlines.wait(answer))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert answer.cancelled()
        assert not deadlines._open

    asyncio.run(play())


def test_the_answer_of_a_thread_that_ends_too_late_is_dropped():
    """Nothing is set on a future that was cancelled; the event loop would report it."""

    async def play() -> None:
        loop, reported = asyncio.get_running_loop(), []
        loop.set_exception_handler(lambda _, context: reported.append(context))
        done = asyncio.Event()

        def work() -> None:
            import time

            time.sleep(0.1)
            loop.call_soon_threadsafe(done.set)

        with pytest.raises(Refused):
            await Deadlines(0.01).wait(loop.run_in_executor(None, work))
        await done.wait()
        await asyncio.sleep(0.01)
        assert reported == []

    asyncio.run(asyncio.wait_for(play(), 60))
