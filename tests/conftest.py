"""Fixtures for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem
from hypothesis import settings

from tests.examples import MOST

# Where CI is set, every run tries the same examples, so that a failure is due to the change that it tests.
_EXAMPLES = min(60, MOST)
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=_EXAMPLES)
settings.register_profile("people", deadline=None, max_examples=_EXAMPLES)
settings.load_profile("ci" if os.environ.get("CI") else "people")

# What is tested is compiled code, also where a test treats a few words only.
os.environ.setdefault("TREEWRIGHT_COMPILE", "now")

# Compilation is most of the time of a first run, and the colours of Numba's messages a part of that.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")


@pytest.fixture(scope="module", autouse=True)
def kernels_are_kept_on_disk() -> Iterator[None]:
    """A kernel of the library whose machine code cannot be stored would be compiled again in every process."""
    yield
    from treewright.search.compiling import Kernel

    modules = [module for name, module in sys.modules.items() if name.startswith("treewright.")]
    kernels = [value for module in modules for value in vars(module).values() if isinstance(value, Kernel)]
    lost = {kernel._name for kernel in kernels if kernel._memory_only}
    for kernel in kernels:
        kernel._memory_only.clear()  # reported once
    assert not lost


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Finds a file of the real corpora: ``real_data("ud-english-ewt/test.conllu")``.

    They are not part of this repository. The test is skipped where they are absent.
    """
    beside_repository = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TREEWRIGHT_DATA") or beside_repository)

    def find(name: str) -> Path:
        path = folder / name
        if not path.exists():
            pytest.skip(f"needs the corpus {name}: set TREEWRIGHT_DATA to the folder that has it")
        return path

    return find


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let ``--dist loadfile`` keep together what shares compiled code."""
    from tests.scheduling import ByTask

    return ByTask(config, log) if config.getvalue("dist") == "loadfile" else None


_TESTS = Path(__file__).parent

# What is tested there calls no compiled code: one of the two runs of `make test` is enough, the one with coverage.
_ROOMS = ("corpora", "metrics", "reports", "constituency/grammar", "test_toml.py")
_WITHOUT_KERNELS = tuple(_TESTS / room for room in _ROOMS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples in docstrings that train models as slow, and what needs no compiler as interpreted."""
    trained = ("Tagger", "Parser", "Lemmatizer", "Tokenizer", "cross_validation", "checking")
    for item in items:
        if isinstance(item, DoctestItem) and item.name.endswith(trained):
            item.add_marker(pytest.mark.slow)
        compiled_only = any(item.get_closest_marker(name) for name in ("jit", "slow"))
        if not compiled_only and any(item.path.is_relative_to(place) for place in _WITHOUT_KERNELS):
            item.add_marker(pytest.mark.interpreted)
        if item.get_closest_marker("interpreted") and (compiled_only or item.path.is_relative_to(_TESTS / "cli")):
            raise pytest.UsageError(f"{item.nodeid}: no run of `make test` would include it")
