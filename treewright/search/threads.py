"""Threads that run compiled code, and their reaction to Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from treewright.search.compiling import compilations

__all__ = ["is_compiling", "thread_pool"]


def is_compiling() -> bool:
    """Return whether a thread of this process is compiling now."""
    return compilations.count > 0


@contextmanager
def thread_pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Run some threads, and wait for all of them at the end.

    After an interruption, kernels stop within a sentence. The compiler cannot be stopped, so a compiling thread is
    abandoned.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="treewright")
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=not is_compiling(), cancel_futures=True)
        raise
    pool.shutdown()
