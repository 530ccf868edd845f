"""The measured gains of learners: results of ``python -m benchmarks``, as data of the package."""

from __future__ import annotations

import json
import statistics
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = [
    "Measurement",
    "PlannerMeasurement",
    "SearchMeasurement",
    "default_measurements",
    "expected_seconds",
    "measured_conditions",
    "measurements",
    "planner_measurements",
    "search_measurements",
]

_SIGNIFICANT = 0.05
_SMALL_LOSS = -1.0  # a point of F1


class Measurement(NamedTuple):
    """A learner on one task, compared with ``supervised`` on the same sentences.

    ``gain`` is the difference of the scores in points, the mean over seeds, with half of its 95 % ``interval``, which
    is None for a single seed; ``times`` is the CPU time of training as a multiple.
    """

    gain: float
    interval: float | None
    times: float

    def __str__(self) -> str:
        """The gain with its interval, and the relative training time.

        >>> str(Measurement(1.25, 0.5, 3.0))
        '+1.2 ± 0.5, 3.0×'
        """
        return f"{self.gain:+.1f}{'' if self.interval is None else f' ± {self.interval:.1f}'}, {self.times:.1f}×"

    @property
    def pays(self) -> bool:
        """Whether the learner is significantly better than ``supervised``."""
        return self.interval is not None and self.gain > self.interval


class PlannerMeasurement(NamedTuple):
    """A learner of inverse reinforcement learning on one treebank, compared with relative frequencies.

    ``gain`` is the difference of F1 in points, ``p`` the p-value of a paired test, and ``times`` the CPU time of
    training as a multiple.
    """

    gain: float
    p: float
    times: float

    def __str__(self) -> str:
        """The gain with its p-value, and the relative training time.

        >>> str(PlannerMeasurement(2.1, 0.0001, 15.7))
        '+2.1 (p = 0.0001), 16×'
        """
        return f"{self.gain:+.1f} (p = {self.p:.4f}), {self.times:.0f}×"

    @property
    def pays(self) -> bool:
        """Whether the learner is significantly better than relative frequencies."""
        return self.gain > 0.0 and self.p < _SIGNIFICANT


class SearchMeasurement(NamedTuple):
    """A learner of priorities for an agenda on one treebank, compared with A*₀.

    ``pops`` is its number of pops as a share of those of A*₀, and ``gain`` the difference of F1 in points.
    """

    pops: float
    gain: float

    def __str__(self) -> str:
        """The share of pops, and the change of F1.

        >>> str(SearchMeasurement(0.18, -2.01))
        '18 % of the pops, -2.0 F1'
        """
        return f"{100 * self.pops:.0f} % of the pops, {self.gain:+.1f} F1"

    @property
    def pays(self) -> bool:
        """Whether fewer pops cost no more than one point of F1."""
        return self.pops < 1.0 and self.gain >= _SMALL_LOSS


@cache
def _results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(__package__).joinpath("measured.json").read_text(encoding="utf-8"))
    return found


def measurements(learner: str) -> dict[str, Measurement]:
    """Return the measurements of a learner, by task; empty for a learner that was not measured.

    >>> measurements("supervised")["tagging"].gain
    0.0
    >>> measurements("a learner of yours")
    {}
    """
    found = _results()["rows"].get(learner, {})
    return {task: Measurement(row["gain"], row["gain interval"], row["times"]) for task, row in found.items()}


def default_measurements() -> dict[str, Measurement]:
    """Return the measurements of ``exploration``, the default learner, with all defaults of the commands.

    >>> default_measurements()["dependency, EWT"].pays
    True
    """
    found = _results()["usual"]
    return {where: Measurement(row["gain"], row["gain interval"], row["times"]) for where, row in found.items()}


def planner_measurements(learner: str) -> dict[str, PlannerMeasurement]:
    """Return the measurements of a learner of inverse reinforcement learning, by treebank.

    >>> planner_measurements("max-margin")["CRAFT"].pays
    True
    """
    return {corpus: PlannerMeasurement(**row) for corpus, row in _results()["planners"].get(learner, {}).items()}


def search_measurements(learner: str) -> dict[str, SearchMeasurement]:
    """Return the measurements of a learner of priorities, by treebank.

    >>> search_measurements("I+")["WSJ sample"].pops < 0.5
    True
    """
    return {corpus: SearchMeasurement(**row) for corpus, row in _results()["searches"].get(learner, {}).items()}


def expected_seconds(task: str, learner: str) -> float | None:
    """Return the CPU seconds that a pass over a thousand sentences took, on one core of the machine of the benchmarks.

    For a learner that was not measured it is the median over those that were; None for a task without measurements.

    >>> expected_seconds("dependency", "lols") > expected_seconds("dependency", "exploration") > 0
    True
    >>> expected_seconds("a task of yours", "lols") is None
    True
    """
    found = _results()["seconds"].get(task)
    return None if found is None else float(found.get(learner, statistics.median(found.values())))


def measured_conditions() -> str:
    """Return a description of the data of the measurements."""
    results = _results()
    measures = ", ".join(f"{task}: {measure}" for task, measure in results["measures"].items())
    return f"{results['corpus']} ({measures})"
