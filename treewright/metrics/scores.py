"""The shape of scores: what all scorers of this library return, and what a comparison of two annotations says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from treewright.metrics.significance import (
    approximate_randomization,
    bootstrap_interval,
    error_reduction,
    paired_bootstrap,
)

__all__ = ["Comparison", "Scores", "compare_counts"]


@runtime_checkable
class Scores(Protocol):
    """The scores of an annotation: one main score, its name, its 95 % interval, and everything as plain values.

    Each task has further fields beside these.
    """

    @property
    def name(self) -> str:
        """The name of the main score, such as ``LAS``."""

    @property
    def main(self) -> float:
        """The main score, from 0 to 1; higher is better."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the main score."""

    def as_dict(self) -> dict[str, Any]:
        """Return all scores as plain values."""


@dataclass(frozen=True)
class Comparison:
    """Two annotations against the same gold one. Positive differences mean that B is better than A.

    ``interval`` is the 95 % bootstrap interval of the difference. ``p_bootstrap`` is one-sided (B is not better),
    ``p_randomization`` two-sided (they do not differ). ``error_reduction`` is the part of A's errors that B does not
    make, None where A makes none. ``a_better``, ``b_better`` and ``equal`` count sentences.
    """

    measure: str
    a: float
    b: float
    difference: float
    interval: tuple[float, float]
    p_bootstrap: float
    p_randomization: float
    error_reduction: float | None
    a_better: int
    b_better: int
    equal: int
    words: int
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return asdict(self)


def compare_counts(
    measure: str, a: Sequence[int], b: Sequence[int], totals: Sequence[int], *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two annotations by how many words each has right in each sentence, out of how many.

    >>> found = compare_counts("accuracy", [1] * 20, [2] * 20, [2] * 20, samples=99)
    >>> found.difference, found.b_better, found.p_bootstrap
    (0.5, 20, 0.01)
    """
    words = sum(totals)
    a_score, b_score = sum(a) / words, sum(b) / words
    # The totals are the same, so the difference is a score too: of b - a, raised by 1 as counts cannot be negative.
    gains = [y - x for x, y in zip(a, b, strict=True)]
    raised = [gain + total for gain, total in zip(gains, totals, strict=True)]
    interval = bootstrap_interval(raised, totals, seed, samples)
    return Comparison(
        measure=measure,
        a=a_score,
        b=b_score,
        difference=sum(gains) / words,
        interval=(interval.low - 1, interval.high - 1),
        p_bootstrap=paired_bootstrap(a, b, totals, seed, samples),
        p_randomization=approximate_randomization(a, b, totals, seed, samples),
        error_reduction=error_reduction(a_score, b_score) if a_score < 1 else None,
        a_better=sum(gain < 0 for gain in gains),
        b_better=sum(gain > 0 for gain in gains),
        equal=sum(gain == 0 for gain in gains),
        words=words,
        sentences=len(totals),
    )
