"""Batches of requests from many clients: annotating many sentences together takes little longer than a few."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from treewright.server.deadlines import Deadlines
from treewright.server.limits import Refused

__all__ = ["Abandoned", "Batcher"]


class Abandoned(Exception):
    """Work was stopped, because nobody waits for its result."""


@dataclass(eq=False, slots=True)
class _Job:
    """A request: its input, its size in words, and the future of its answer."""

    wanted: Any
    size: int
    answer: asyncio.Future[Any]


class Batcher:
    """Gathers jobs for a few milliseconds and runs them together in a thread.

    ``work`` takes the inputs of a batch and returns an answer for each of them. If it raises an error, the jobs run one
    by one, so that only the jobs that cause the error fail. Its second argument says whether a client still waits for
    an answer of the batch; if none does, long work should raise :class:`Abandoned`.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Any], Callable[[], bool]], Sequence[Any]],
        threads: Executor,
        *,
        window: float = 0.010,
        pause: float = 0.001,
        most: int = 20_000,
        waiting: int = 512,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.work, self.threads, self.deadlines = work, threads, deadlines or Deadlines(3_600.0)
        self.window, self.pause, self.most, self.waiting = window, pause, most, waiting
        self.batches = self.jobs = 0
        self._expected = 1  # the number of clients that were waiting or have just got their answers
        self._queue: deque[_Job] = deque()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._queue)

    async def submit(self, wanted: Any, size: int) -> Any:
        """Return the answer to a job; raise :class:`Refused` with the status 429 if too many are waiting."""
        if len(self._queue) >= self.waiting:
            message = f"{len(self._queue):,} requests are waiting, which is the limit; try again in a second"
            raise Refused(429, "busy", message, {"Retry-After": "1"})
        job = _Job(wanted, size, asyncio.get_running_loop().create_future())
        self._queue.append(job)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            return await self.deadlines.wait(job.answer)
        except (asyncio.CancelledError, Refused):  # the client has disconnected, or it takes too long
            with suppress(ValueError):  # it is being worked on
                self._queue.remove(job)
            raise

    async def _run(self) -> None:
        """Run batches until the queue is empty."""
        loop = asyncio.get_running_loop()
        while self._queue:
            await self._gather()
            batch = self._next()
            if not batch:
                continue
            self.batches, self.jobs = self.batches + 1, self.jobs + len(batch)
            try:
                answers = await loop.run_in_executor(self.threads, self._answers, batch)
            except BaseException as error:  # for example, a pool that was shut down: no client may wait for ever
                answers = [error] * len(batch)
            self._expected = len(batch) + len(self._queue)
            for job, answer in zip(batch, answers, strict=True):
                if job.answer.done():
                    continue
                if isinstance(answer, BaseException):
                    job.answer.set_exception(answer)
                else:
                    job.answer.set_result(answer)

    async def _gather(self) -> None:
        """Wait for further jobs, at most for ``window``: one batch is cheaper than two.

        Clients often send their next request as soon as they have an answer, so no more jobs are expected than there
        were before. One client alone therefore never waits.
        """
        loop = asyncio.get_running_loop()
        end, seen = loop.time() + self.window, 0
        while seen < len(self._queue) < self._expected and loop.time() < end:
            seen = len(self._queue)
            await asyncio.sleep(self.pause)

    def _next(self) -> list[_Job]:
        """Return the jobs of the next batch: those whose clients are still waiting, in the order of arrival."""
        batch: list[_Job] = []
        words = 0
        while self._queue and (not batch or words + self._queue[0].size <= self.most):
            job = self._queue.popleft()
            if not job.answer.done():
                batch.append(job)
                words += job.size
        return batch

    def _answers(self, batch: Sequence[_Job]) -> Sequence[Any]:
        def is_wanted() -> bool:
            return any(not job.answer.done() for job in batch)

        try:
            return self.work([job.wanted for job in batch], is_wanted)
        except Exception as error:
            if len(batch) == 1 or isinstance(error, Abandoned):
                return [error] * len(batch)
        return [answer for job in batch for answer in self._answers([job])]
