"""Threads that compiled code runs in, and what Ctrl-C does to them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from numba.core.event import Event, Listener, register

__all__ = ["is_compiling", "thread_pool"]


class _Compilations(Listener):  # type: ignore[misc]
    """How many functions are being compiled now: one, and those that it calls."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Event) -> None:
        self.count += 1

    def on_end(self, event: Event) -> None:
        self.count -= 1


_compilations = _Compilations()
register("numba:compile", _compilations)


def is_compiling() -> bool:
    """Return whether a thread of this process is compiling now."""
    return _compilations.count > 0


@contextmanager
def thread_pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Run some threads, and wait for all of them in the end.

    After an interruption, kernels stop within a sentence; but the compiler cannot be stopped, and is not waited for.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="treewright")
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=not is_compiling(), cancel_futures=True)
        raise
    pool.shutdown()
