"""Is the difference real? Confidence intervals and tests over sentences.

Words of one sentence are not independent of each other, sentences (nearly) are. So everything here counts by
sentence: how many decisions were right, ``correct``, out of how many, ``total``. The score is the sum of one
divided by the sum of the other: tagging accuracy, attachment scores. F1 fits in too: it is
*matches / ((gold + predicted) / 2)*, so give that mean as the total of each sentence.

>>> right_before, right_after, words = [3, 5, 4, 6, 2] * 20, [4, 5, 5, 6, 3] * 20, [5, 6, 5, 7, 4] * 20
>>> score = bootstrap_interval(right_after, words)
>>> round(score.value, 3), 0.82 < score.low < score.value < score.high < 0.88
(0.852, True)
>>> paired_bootstrap(right_before, right_after, words) < 0.01
True

References: Efron and Tibshirani (1993), *An Introduction to the Bootstrap*; Koehn (2004), *Statistical
significance tests for machine translation evaluation*; Noreen (1989), *Computer-intensive methods for testing
hypotheses*.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treewright.errors import ConfigError

__all__ = [
    "Interval",
    "approximate_randomization",
    "bootstrap_interval",
    "error_reduction",
    "paired_bootstrap",
]

_CELLS_AT_A_TIME = 1 << 21  # of the samples × sentences matrix: fast, and memory stays small
_TIE = 1e-12  # scores closer than this differ by rounding only


class Interval(NamedTuple):
    """A score, and the interval that its true value lies in."""

    value: float
    low: float
    high: float


def bootstrap_interval(
    correct: ArrayLike, total: ArrayLike, seed: int = 0, samples: int = 1000, level: float = 0.95
) -> Interval:
    """The percentile bootstrap interval of a score.

    Draws as many sentences as there are, with replacement, ``samples`` times; of the scores of these samples,
    the middle ``level`` part is the interval.

    >>> bootstrap_interval([5, 5, 5], [5, 5, 5])
    Interval(value=1.0, low=1.0, high=1.0)
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must be between 0 and 1, not {level}")
    right, out_of = _by_sentence(correct, total)
    draws = _resamples(len(right), seed, samples)
    scores = np.concatenate([_score(right[chosen], out_of[chosen]) for chosen in draws])
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(_score(right, out_of)), float(low), float(high))


def paired_bootstrap(
    a_correct: ArrayLike,
    b_correct: ArrayLike,
    totals: ArrayLike,
    seed: int = 0,
    samples: int = 1000,
    *,
    b_totals: ArrayLike | None = None,
) -> float:
    """The p-value of "B is better than A" (one-sided): how often B is *not* better in a resampled test set.

    Both systems are scored on the same resampled sentences. The observed data count as one more sample, so
    the value is never 0. Give ``b_totals`` where the totals differ between the systems, as for F1.

    >>> paired_bootstrap([1, 2, 3], [1, 2, 3], [4, 4, 4])
    1.0
    """
    a, b, a_out_of, b_out_of = _paired(a_correct, b_correct, totals, b_totals)
    not_better = 0
    for chosen in _resamples(len(a), seed, samples):
        gain = _score(b[chosen], b_out_of[chosen]) - _score(a[chosen], a_out_of[chosen])
        not_better += int(np.count_nonzero(gain < _TIE))
    return (not_better + 1) / (samples + 1)


def approximate_randomization(
    a_correct: ArrayLike,
    b_correct: ArrayLike,
    totals: ArrayLike,
    seed: int = 0,
    samples: int = 1000,
    *,
    b_totals: ArrayLike | None = None,
) -> float:
    """The p-value of "A and B differ" (two-sided), by swapping their outputs.

    If the systems did not differ, it would not matter which of them made which analysis of a sentence. So
    swap the two on each sentence with probability one half, ``samples`` times, and count how often the
    difference is at least as large as the observed one. Nothing is assumed about how scores are distributed.

    >>> approximate_randomization([1, 2, 3], [1, 2, 3], [4, 4, 4])
    1.0
    """
    a, b, a_out_of, b_out_of = _paired(a_correct, b_correct, totals, b_totals)
    observed = abs(float(_score(b, b_out_of) - _score(a, a_out_of)))
    rng = np.random.default_rng(seed)
    as_large = 0
    for rows in _batches(len(a), samples):
        swapped = rng.integers(0, 2, size=(rows, len(a)), dtype=np.int8).astype(bool)
        first = _score(np.where(swapped, b, a), np.where(swapped, b_out_of, a_out_of))
        second = _score(np.where(swapped, a, b), np.where(swapped, a_out_of, b_out_of))
        as_large += int(np.count_nonzero(np.abs(first - second) > observed - _TIE))
    return (as_large + 1) / (samples + 1)


def error_reduction(baseline: float, new: float) -> float:
    """The part of the baseline's errors that the new system does not make; scores are between 0 and 1.

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


def _score(correct: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """The score of one test set, or of each row of a matrix; 0 where there is nothing to decide."""
    right, out_of = correct.sum(axis=-1), total.sum(axis=-1)
    return np.asarray(right / np.where(out_of > 0, out_of, 1.0))


def _resamples(sentences: int, seed: int, samples: int) -> Iterator[NDArray[np.int64]]:
    """Matrices of sentence numbers, each row drawn with replacement; ``samples`` rows in all."""
    rng = np.random.default_rng(seed)
    for rows in _batches(sentences, samples):
        yield rng.integers(0, sentences, size=(rows, sentences))


def _batches(sentences: int, samples: int) -> Iterator[int]:
    if samples < 1:
        raise ConfigError(f"samples must be 1 or more, not {samples}")
    rows = max(1, _CELLS_AT_A_TIME // sentences)
    for start in range(0, samples, rows):
        yield min(rows, samples - start)


def _by_sentence(*columns: ArrayLike) -> list[NDArray[np.float64]]:
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1 or arrays[0].ndim != 1 or not arrays[0].size:
        raise ConfigError(f"one number per sentence expected, for the same sentences; got shapes {shapes}")
    for array in arrays:
        if not np.isfinite(array).all() or (array < 0).any():
            raise ConfigError("counts must be 0 or more in every sentence")
    return arrays


def _paired(
    a_correct: ArrayLike, b_correct: ArrayLike, totals: ArrayLike, b_totals: ArrayLike | None
) -> list[NDArray[np.float64]]:
    return _by_sentence(a_correct, b_correct, totals, totals if b_totals is None else b_totals)
