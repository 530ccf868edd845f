"""The measured gains of learners: the results of ``python -m benchmarks learners``, as data of the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["Measurement", "measured_conditions", "measurements"]


class Measurement(NamedTuple):
    """A learner on one task, compared with ``supervised`` on the same sentences.

    ``gain`` is the difference of the scores in points, the mean over seeds, with half of its 95 % ``interval``;
    ``times`` is the CPU time of training as a multiple.
    """

    gain: float
    interval: float
    times: float

    def __str__(self) -> str:
        """The gain with its interval, and the relative training time.

        >>> str(Measurement(1.25, 0.5, 3.0))
        '+1.2 ± 0.5, 3.0×'
        """
        return f"{self.gain:+.1f} ± {self.interval:.1f}, {self.times:.1f}×"

    @property
    def pays(self) -> bool:
        """Whether the learner is significantly better than ``supervised``."""
        return self.gain > self.interval


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


def measured_conditions() -> str:
    """Return a description of the data of the measurements."""
    results = _results()
    measures = ", ".join(f"{task}: {measure}" for task, measure in results["measures"].items())
    return f"{results['corpus']} ({measures})"
