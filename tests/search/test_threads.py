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


def interrupt(task, started):
    """Leave a pool by Ctrl-C while it runs a task."""
    with thread_pool(1) as pool:
        future = pool.submit(task)
        futures.append(future)
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


@pytest.mark.jit
def test_the_command_line_ends_while_a_thread_still_compiles():
    done = subprocess.run([sys.executable, "-c", COMPILES_FOR_A_MINUTE], capture_output=True, text=True, timeout=50)
    assert done.returncode == 130, done.stderr
