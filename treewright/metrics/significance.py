"""Confidence intervals and significance tests over sentences.

The words of one sentence depend on each other; sentences are (nearly) independent. So every function here works on
counts per sentence, and draws or swaps whole sentences. The usual counts are ``correct`` decisions out of ``total``
ones, and the score is the sum of the first divided by the sum of the second: tagging accuracy, attachment scores. F1
has this form too: it is *matches / ((gold + predicted) / 2)*, so the denominator is the total of a sentence.

>>> right_before, right_after, words = [3, 5, 4, 6, 2] * 20, [4, 5, 5, 6, 3] * 20, [5, 6, 5, 7, 4] * 20
>>> score = bootstrap_interval(right_after, words)
>>> round(score.value, 3), 0.82 < score.low < score.value < score.high < 0.88
(0.852, True)
>>> paired_bootstrap(right_before, right_after, words) < 0.01
True

Other scores are functions of the sums of more than two columns: :func:`resample` and :func:`compare` take the counts
as a matrix, one row per sentence, and the function from the sums of its columns to the score.

References: Efron and Tibshirani (1993), *An Introduction to the Bootstrap*; Koehn (2004), *Statistical
significance tests for machine translation evaluation*; Noreen (1989), *Computer-intensive methods for testing
hypotheses*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treewright.errors import ConfigError

__all__ = [
    "Comparison",
    "Interval",
    "approximate_randomization",
    "bootstrap_interval",
    "compare",
    "error_reduction",
    "f1",
    "paired_bootstrap",
    "precision_and_recall",
    "ratio",
    "resample",
]

Floats: TypeAlias = NDArray[np.float64]
Score: TypeAlias = Callable[[Floats], Floats]
"""From sums of columns, along the last axis, to scores."""

_CELLS_PER_BATCH = 1 << 21  # of the samples × sentences matrix: fast, and memory stays small
_TIE = 1e-12  # scores closer than this differ by rounding only


class Interval(NamedTuple):
    """A score and its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two annotations scored against the same gold annotation. A positive difference means that B is better than A.

    ``interval`` is the 95 % bootstrap interval of the difference. ``p_bootstrap`` is the one-sided p-value (B is not
    better), ``p_randomization`` the two-sided one (A and B do not differ). ``error_reduction`` is the part of A's
    errors that B does not make, None where A makes none. ``a_better``, ``b_better`` and ``equal`` count sentences.
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
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return asdict(self)


def ratio(sums: Floats) -> Floats:
    """The score of two columns, correct decisions and all decisions; 0 if there are no decisions.

    >>> ratio(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [0.75, 0.0]
    """
    correct, total = np.moveaxis(sums, -1, 0)
    return np.asarray(correct / np.where(total > 0, total, 1.0))


def precision_and_recall(sums: Floats) -> tuple[Floats, Floats]:
    """The scores of four columns a, b, c, d: the precision a / b and the recall c / d, of one test set or of each row.

    Both are 1 where there was nothing to find and nothing was found.
    """
    a, b, c, d = np.moveaxis(sums, -1, 0)
    nothing = ((b == 0) & (d == 0)).astype(np.float64)
    return np.where(b > 0, a / np.where(b > 0, b, 1), nothing), np.where(d > 0, c / np.where(d > 0, d, 1), nothing)


def f1(sums: Floats) -> Floats:
    """The harmonic mean of precision and recall, from the four columns of :func:`precision_and_recall`.

    >>> float(f1(np.array([1.0, 2.0, 1.0, 1.0])))
    0.6666666666666666
    """
    precision, recall = precision_and_recall(sums)
    return np.asarray(2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1))


def bootstrap_interval(
    correct: ArrayLike, total: ArrayLike, seed: int = 0, samples: int = 1000, level: float = 0.95
) -> Interval:
    """The percentile bootstrap interval of a score.

    It draws as many sentences as the test set has, with replacement, ``samples`` times. The interval contains the
    middle ``level`` part of the scores of these samples.

    >>> bootstrap_interval([5, 5, 5], [5, 5, 5])
    Interval(value=1.0, low=1.0, high=1.0)
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must be between 0 and 1, not {level}")
    counts = _counts(correct, total)
    low, high = np.quantile(resample(counts, ratio, seed, samples), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(ratio(counts.sum(0))), float(low), float(high))


def paired_bootstrap(
    a_correct: ArrayLike,
    b_correct: ArrayLike,
    totals: ArrayLike,
    seed: int = 0,
    samples: int = 1000,
    *,
    b_totals: ArrayLike | None = None,
) -> float:
    """The one-sided p-value of "B is better than A": the share of resampled test sets where B is *not* better.

    Both systems are scored on the same resampled sentences. The observed data count as one more sample, so
    the value is never 0. Give ``b_totals`` where the totals differ between the systems, as for F1.

    >>> paired_bootstrap([1, 2, 3], [1, 2, 3], [4, 4, 4])
    1.0
    """
    a, b = _paired(a_correct, b_correct, totals, b_totals)
    return _not_better(resample(b, ratio, seed, samples) - resample(a, ratio, seed, samples))


def approximate_randomization(
    a_correct: ArrayLike,
    b_correct: ArrayLike,
    totals: ArrayLike,
    seed: int = 0,
    samples: int = 1000,
    *,
    b_totals: ArrayLike | None = None,
) -> float:
    """The two-sided p-value of "A and B differ", by swapping their outputs.

    If the systems did not differ, their analyses of a sentence could be exchanged. So the test swaps the two on each
    sentence with probability one half, ``samples`` times, and counts how often the difference is at least as large as
    the observed one. It does not assume a distribution of the scores.

    >>> approximate_randomization([1, 2, 3], [1, 2, 3], [4, 4, 4])
    1.0
    """
    return _randomization(*_paired(a_correct, b_correct, totals, b_totals), ratio, seed, samples)


def error_reduction(baseline: float, new: float) -> float:
    """The share of the baseline's errors that the new system avoids; scores are between 0 and 1.

    >>> round(error_reduction(0.90, 0.92), 6)
    0.2
    """
    for score in (baseline, new):
        if not 0 <= score <= 1:
            raise ConfigError(f"a score must be between 0 and 1, not {score}; divide percentages by 100")
    if baseline == new:
        return 0.0
    if baseline == 1:
        return float("-inf")
    return (new - baseline) / (1 - baseline)


def compare(
    a: Floats, b: Floats, score: Score = ratio, *, measure: str = "score", seed: int = 0, samples: int = 10_000
) -> Comparison:
    """Compare two systems by their counts, one row per sentence, under a score of the sums of the columns.

    >>> before, after = np.array([[3.0, 5.0], [5.0, 6.0]] * 20), np.array([[4.0, 5.0], [5.0, 6.0]] * 20)
    >>> found = compare(before, after, samples=99)
    >>> round(found.difference, 3), found.b_better, found.equal, found.p_bootstrap
    (0.091, 20, 20, 0.01)
    """
    a_score, b_score = float(score(a.sum(0))), float(score(b.sum(0)))
    gains = score(b) - score(a)
    differences = resample(b, score, seed, samples) - resample(a, score, seed, samples)
    low, high = np.quantile(differences, [0.025, 0.975])
    return Comparison(
        measure=measure,
        a=a_score,
        b=b_score,
        difference=b_score - a_score,
        interval=(float(low), float(high)),
        p_bootstrap=_not_better(differences),
        p_randomization=_randomization(a, b, score, seed, samples),
        error_reduction=error_reduction(a_score, b_score) if a_score < 1 else None,
        a_better=int(np.count_nonzero(gains < -_TIE)),
        b_better=int(np.count_nonzero(gains > _TIE)),
        equal=int(np.count_nonzero(np.abs(gains) <= _TIE)),
        sentences=len(a),
    )


def resample(counts: Floats, score: Score = ratio, seed: int = 0, samples: int = 1000) -> Floats:
    """The scores of test sets whose sentences are drawn with replacement; the same seed draws the same sentences."""
    rng = np.random.default_rng(seed)
    found = []
    for rows in _batches(len(counts), samples):
        chosen = rng.integers(0, len(counts), size=(rows, len(counts)))
        found.append(score(np.stack([column[chosen].sum(axis=1) for column in counts.T], axis=-1)))
    return np.concatenate(found)


def _not_better(differences: Floats) -> float:
    return (int(np.count_nonzero(differences < _TIE)) + 1) / (len(differences) + 1)


def _randomization(a: Floats, b: Floats, score: Score, seed: int, samples: int) -> float:
    observed = abs(float(score(b.sum(0)) - score(a.sum(0))))
    rng = np.random.default_rng(seed)
    as_large = 0
    for rows in _batches(len(a), samples):
        swapped = rng.integers(0, 2, size=(rows, len(a)), dtype=np.int8).astype(bool)
        first, second = (
            score(np.stack([np.where(swapped, x, y).sum(axis=1) for x, y in zip(one.T, two.T, strict=True)], axis=-1))
            for one, two in ((b, a), (a, b))
        )
        as_large += int(np.count_nonzero(np.abs(first - second) > observed - _TIE))
    return (as_large + 1) / (samples + 1)


def _batches(sentences: int, samples: int) -> Iterator[int]:
    if samples < 1:
        raise ConfigError(f"samples must be 1 or more, not {samples}")
    rows = max(1, _CELLS_PER_BATCH // sentences)
    for start in range(0, samples, rows):
        yield min(rows, samples - start)


def _counts(*columns: ArrayLike) -> Floats:
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 or arrays[0].ndim != 1 or not arrays[0].size:
        raise ConfigError(f"one number per sentence expected, for the same sentences; got shapes {shapes}")
    for array in arrays:
        if not np.isfinite(array).all() or (array < 0).any():
            raise ConfigError("counts must be 0 or more in every sentence")
    return np.stack(arrays, axis=-1)


def _paired(
    a_correct: ArrayLike, b_correct: ArrayLike, totals: ArrayLike, b_totals: ArrayLike | None
) -> tuple[Floats, Floats]:
    counts = _counts(a_correct, b_correct, totals, totals if b_totals is None else b_totals)
    return counts[:, [0, 2]], counts[:, [1, 3]]
