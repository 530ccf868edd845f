"""Who waits is told that something is being compiled, and only then."""

from __future__ import annotations

import time

import pytest

from treewright.cli import console
from treewright.search import kernel
from treewright.search.compilation import Compilation, watching


@pytest.fixture
def said(monkeypatch):
    notes = []
    monkeypatch.setattr(console, "note", notes.append)
    monkeypatch.setattr(console, "_compiles", lambda: True)
    monkeypatch.setattr(console, "_telling", False)  # another test may have been stopped in the middle of such a block
    monkeypatch.setattr(console, "_PATIENCE", 0.05)
    monkeypatch.setattr(console, "_TICK", 0.01)
    return notes


def compile_until(said, compilation):
    compilation(True)
    for _ in range(1000):
        if said:
            break
        time.sleep(0.01)
    compilation(False)


@pytest.mark.jit
def test_the_compiler_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @kernel
    def double(n):
        return n + n

    with watching() as compilation:
        assert (compilation.goes_on, compilation.seconds) == (False, 0.0)
        double(2)
        first = compilation.seconds
        assert first > 0.0
        double(3)
        assert compilation.seconds == first


def test_functions_inside_functions_count_once():
    compilation = Compilation()
    compilation(True)
    compilation(True)
    compilation(False)
    assert compilation.goes_on
    compilation(False)
    assert not compilation.goes_on


def test_patience(said, monkeypatch):
    compilation = Compilation()
    monkeypatch.setattr("treewright.search.compilation.Compilation", lambda: compilation)
    with console.patience_while_compiling():
        time.sleep(0.1)
    assert said == []
    with console.patience_while_compiling():
        compile_until(said, compilation)
    assert said == [console.COMPILING, console.compiled_in(compilation.seconds)]


def test_nested_blocks_tell_once(said, monkeypatch):
    compilation = Compilation()
    monkeypatch.setattr("treewright.search.compilation.Compilation", lambda: compilation)
    with console.Bar() as bar, console.patience_while_compiling():
        bar.update("parsing", 1, 3)  # what is compiled after the first progress counts, too
        compile_until(said, compilation)
    assert said == [console.COMPILING, console.compiled_in(compilation.seconds)]


def test_what_was_interrupted_is_not_called_compiled(said, monkeypatch):
    compilation = Compilation()
    monkeypatch.setattr("treewright.search.compilation.Compilation", lambda: compilation)
    bar = console.Bar()
    bar.__enter__()
    compile_until(said, compilation)
    bar.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert said == [console.COMPILING]


def test_a_bar_without_a_terminal(said, monkeypatch):
    compilation = Compilation()
    monkeypatch.setattr("treewright.search.compilation.Compilation", lambda: compilation)
    with console.Bar() as bar:
        bar.begin("learning", 3)
        time.sleep(0.1)
        assert said == []
        compile_until(said, compilation)
        bar.update("learning", 1, 3)
        bar.update("learning", 2, 3)
    assert said == [console.COMPILING, console.compiled_in(compilation.seconds)]
