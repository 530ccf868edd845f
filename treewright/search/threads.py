"""Threads that run compiled code, and their reaction to Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from treewright.search.compiling import compilations

__all__ = ["is_compiling", "thread_pool"]

Result = TypeVar("Result")


def is_compiling() -> bool:
    """Return whether a thread of this process is compiling now."""
    return compilations.count > 0


@contextmanager
def thread_pool(workers: int) -> Iterator[Executor]:
    """Run some threads, and wait for all of them at the end.

    After an interruption, kernels stop within a sentence. The compiler cannot be stopped, so a compiling thread is
    abandoned.
    """
    pool = _Threads(workers)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=not is_compiling(), cancel_futures=True)
        raise
    pool.shutdown()


class _Threads(Executor):
    """Like ``ThreadPoolExecutor``, but a program can end while a thread runs: Python would wait for the compiler."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._threads: list[Thread] = []
        self._pending: set[Future[Any]] = set()
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()

    def submit(self, function: Callable[..., Result], /, *arguments: Any, **named: Any) -> Future[Result]:
        """Run a function as soon as a thread is free."""
        future: Future[Result] = Future()
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        self._work.put((future, partial(function, *arguments, **named)))
        if len(self._threads) < self._workers:
            thread = Thread(target=self._run, name=f"treewright_{len(self._threads)}", daemon=True)
            thread.start()  # an interruption may come here, when it may be running or not: its work is pending
            self._threads.append(thread)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads when they have done their work; ``cancel_futures`` drops what they have not begun."""
        with suppress(Empty):
            while cancel_futures:
                item = self._work.get_nowait()
                if item is not None:
                    item[0].cancel()
        for _ in range(self._workers):
            self._work.put(None)
        if wait:
            wait_for(list(self._pending))
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            future, work = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)
            del item, future, work  # a thread that waits keeps no result alive
