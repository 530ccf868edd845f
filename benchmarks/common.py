"""What the benchmarks share: where the corpora are, clocks, and where results go."""

from __future__ import annotations

import datetime
import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
COLUMNS = ("upos", "xpos")


def corpus_folder(name: str) -> Path:
    """A corpus, in the folder that TREEWRIGHT_DATA names, or in ``../shared/data``."""
    folder = Path(os.environ.get("TREEWRIGHT_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        sys.exit(f"The corpus {name} is not in {folder.parent}: set TREEWRIGHT_DATA to the folder that holds it.")
    return folder


class Clock:
    """Wall-clock and CPU seconds of a block."""

    wall = cpu = 0.0

    @contextmanager
    def running(self):
        wall, cpu = time.perf_counter(), time.process_time()
        yield self
        self.wall, self.cpu = time.perf_counter() - wall, time.process_time() - cpu


def timed(function: Callable[[], Any]) -> tuple[Any, Clock]:
    clock = Clock()
    with clock.running():
        result = function()
    return result, clock


def median_of(function: Callable[[], Any], repeats: int = 5) -> tuple[Any, float]:
    """The result of the last call and the median of the CPU seconds of all."""
    clocks = []
    result = None
    for _ in range(repeats):
        result, clock = timed(function)
        clocks.append(clock.cpu)
    return result, statistics.median(clocks)


#: the quantile of Student's t for intervals of 95 %, by the number of values
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}


def interval(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean; 0 for a single value, which has none."""
    return STUDENT[len(values)] * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def peak_memory() -> float:
    """The most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in (
        "treewright",
        "numpy",
        "numba",
        "nltk",
        "vowpalwabbit",
        "spacy",
        "ufal.udpipe",
        "torch",
        "torch-struct",
        "smatch",
    ):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def keep(name: str, results: dict[str, Any]) -> None:
    """Write results to ``benchmarks/results/name.json``, with the date and the versions."""
    RESULTS.mkdir(exist_ok=True)
    about = {"date": datetime.date.today().isoformat(), "versions": versions()}
    everything = {**about, **results, **about}  # results that were read from the file have an older date
    (RESULTS / f"{name}.json").write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n")


def say(*words: Any) -> None:
    print(*words, flush=True)
