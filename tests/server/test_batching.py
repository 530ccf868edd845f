"""Batches of requests, and what happens to them when nobody waits for the answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from treewright.server.batching import Abandoned, Batcher
from treewright.server.limits import Refused
from treewright.server.registry import Model, Text


class Work:
    """Work that can be held up: it returns its inputs in capitals, and notes them."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.batches: list[list[str]] = []
        self.wanted: list[bool] = []

    def __call__(self, inputs: Sequence[str], is_wanted: Callable[[], bool]) -> list[str]:
        self.batches.append(list(inputs))
        self.begun.set()
        assert self.may_end.wait(60)
        self.wanted.append(is_wanted())
        if "wrong" in inputs:
            raise ValueError("wrong")
        if not self.wanted[-1]:
            raise Abandoned
        return [each.upper() for each in inputs]


def run(scene: Callable[[Batcher, Work], Awaitable[None]], **options: float) -> Work:
    async def play() -> None:
        await scene(Batcher(work, threads, **options), work)

    work = Work()
    with ThreadPoolExecutor(1) as threads:
        try:
            asyncio.run(asyncio.wait_for(play(), 60))
        finally:
            work.may_end.set()
    return work


async def begin(batcher: Batcher, work: Work, text: str) -> asyncio.Task[str]:
    """Submit a text, and return when the work on it has begun."""
    task = asyncio.create_task(batcher.submit(text, 1))
    await asyncio.to_thread(work.begun.wait, 60)
    return task


async def queued(batcher: Batcher, *texts: str) -> list[asyncio.Task[str]]:
    tasks = [asyncio.create_task(batcher.submit(text, 1)) for text in texts]
    await asyncio.sleep(0)
    return tasks


def test_a_request_that_is_cancelled_leaves_the_queue_at_once():
    async def scene(batcher: Batcher, work: Work) -> None:
        first = await begin(batcher, work, "a")
        second, third = await queued(batcher, "b", "c")
        with pytest.raises(Refused):
            await batcher.submit("d", 1)
        second.cancel()
        await asyncio.sleep(0)
        assert len(batcher) == 1
        [fourth] = await queued(batcher, "d")  # there is room for it
        work.may_end.set()
        assert await asyncio.gather(first, third, fourth) == ["A", "C", "D"]

    assert run(scene, waiting=2).batches == [["a"], ["c", "d"]]


def test_work_is_told_when_nobody_waits_for_it():
    async def scene(batcher: Batcher, work: Work) -> None:
        first = await begin(batcher, work, "a")
        [second] = await queued(batcher, "b")
        first.cancel()
        await asyncio.sleep(0)
        work.may_end.set()
        assert await second == "B"

    assert run(scene).wanted == [False, True]


def test_only_the_wrong_request_of_a_batch_fails():
    async def scene(batcher: Batcher, work: Work) -> None:
        work.may_end.set()
        right, wrong = await queued(batcher, "right", "wrong")
        assert await right == "RIGHT"
        with pytest.raises(ValueError, match="wrong"):
            await wrong

    assert run(scene).batches == [["right", "wrong"], ["right"], ["wrong"]]


def test_one_client_alone_does_not_wait():
    async def scene(batcher: Batcher, work: Work) -> None:
        work.may_end.set()
        for text in "abc":
            assert await batcher.submit(text, 1) == text.upper()

    assert run(scene, pause=1_000, window=1_000).batches == [["a"], ["b"], ["c"]]


def test_clients_that_have_just_got_their_answers_are_waited_for():
    async def scene(batcher: Batcher, work: Work) -> None:
        first = await begin(batcher, work, "a")
        [second] = await queued(batcher, "b")
        work.may_end.set()
        assert await first == "A"
        [third] = await queued(batcher, "c")  # from the client that sent "a"
        assert await asyncio.gather(second, third) == ["B", "C"]

    assert run(scene).batches == [["a"], ["b", "c"]]


@pytest.mark.jit
@pytest.mark.slow
def test_a_long_text_is_not_finished_if_nobody_waits():
    model, asked = Model("english", "english"), []
    model.load()
    words = frozenset({"upos"})

    def is_wanted() -> bool:
        asked.append(True)
        return len(asked) < 3

    text = Text("It rains here. " * 6_000, layers=words)
    with pytest.raises(Abandoned):
        model.annotate([text], is_wanted)
    assert len(asked) == 3  # of the six parts, three were annotated
    assert len(model.annotate([text])[0]) == 6_000
