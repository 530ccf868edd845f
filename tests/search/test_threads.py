"""Threads end with what they were started for, but nobody waits for the compiler after Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from treewright.search.compiling import compilations
from treewright.search.threads import is_compiling, thread_pool

COMPILES_FOR_A_MINUTE = """
import sys, threading, time
from treewright.cli import main
from treewright.search.compiling import compilations
from treewright.search.threads import is_compiling

def compile():
    with compilations.recorded():
        time.sleep(60)

def interrupted(**_):
    threading.Thread(target=compile).start()
    while not is_compiling():
        time.sleep(0.01)
    raise SystemExit(130)

sys.modules["treewright.cli.app"].make_app = lambda verbs: interrupted
main()
"""

INTERRUPTED_SCRIPT = """
import time
from treewright.search.compiling import compilations
from treewright.search.threads import is_compiling, thread_pool

def compile():
    with compilations.recorded():
        time.sleep(60)

with thread_pool(1) as pool:
    pool.submit(compile)
    while not is_compiling():
        time.sleep(0.01)
    raise KeyboardInterrupt
"""


def interrupt(task, started, times=1):
    """Leave a pool by Ctrl-C while its only thread runs a task."""
    with thread_pool(1) as pool:
        futures.extend(pool.submit(task) for _ in range(times))
        started.wait(30)
        raise KeyboardInterrupt


futures: list = []


def test_an_interruption_does_not_wait_for_the_compiler():
    started, compiled = threading.Event(), threading.Event()

    def compile():
        with compilations.recorded():
            started.set()
            compiled.wait(30)

    with pytest.raises(KeyboardInterrupt):
        interrupt(compile, started)
    assert is_compiling()
    compiled.set()
    futures.pop().result()
    assert not is_compiling()


def test_other_threads_are_waited_for():
    started = threading.Event()

    def run():
        started.set()
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt):
        interrupt(run, started)
    assert futures.pop().done()


def test_threads_are_no_more_than_asked_for_and_what_they_raise_arrives():
    def sixth(n):
        running.append(threading.current_thread())
        return 6 // n

    running: list = []
    with thread_pool(2) as pool:
        assert list(pool.map(sixth, [1, 2, 3, 6])) == [6, 3, 2, 1]
        with pytest.raises(ZeroDivisionError):
            pool.submit(sixth, 0).result()
    assert len(set(running)) <= 2
    assert not any(thread.is_alive() for thread in running)


@pytest.mark.parametrize("is_running", [False, True])
def test_an_interruption_while_a_thread_starts(is_running, monkeypatch):
    started, ended, start = threading.Event(), threading.Event(), threading.Thread.start

    def work():
        started.set()
        time.sleep(0.05)
        ended.set()

    def interrupted(thread):
        if is_running:
            start(thread)
            started.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), thread_pool(2) as pool:
        pool.submit(work)
    assert ended.is_set() == is_running  # what has begun is waited for


def test_what_has_not_begun_is_cancelled_by_an_interruption():
    started, ended = threading.Event(), threading.Event()

    def wait():
        started.set()
        ended.wait(0.05)

    with pytest.raises(KeyboardInterrupt):
        interrupt(wait, started, times=2)
    second, first = futures.pop(), futures.pop()
    assert first.result() is None
    assert second.cancelled()


def test_a_script_ends_while_a_thread_still_compiles():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_SCRIPT], capture_output=True, text=True, timeout=50)
    assert done.stderr.endswith("KeyboardInterrupt\n")


@pytest.mark.jit
def test_the_command_line_ends_while_a_thread_still_compiles():
    done = subprocess.run([sys.executable, "-c", COMPILES_FOR_A_MINUTE], capture_output=True, text=True, timeout=50)
    assert done.returncode == 130, done.stderr
