"""Intervals and tests over sentences and over seeds at once, and the correction for many comparisons.

A system that is trained with several seeds has a score for each. Both the sentences of the test set and the seeds are
random samples, so the bootstrap resamples both with replacement. It draws the same sentences for all seeds, and for
both systems where two are compared (the two-level bootstrap of Davison and Hinkley 1997, §3.8). The score of a system
is the mean over its seeds.

>>> seeds = [np.array([[4.0, 5.0], [5.0, 6.0]] * 30), np.array([[3.0, 5.0], [5.0, 6.0]] * 30)]
>>> found = replicate_interval(seeds)
>>> round(found.value, 4), found.low < found.value < found.high
(0.7727, True)
>>> better = [counts + [0.5, 0.0] for counts in seeds]
>>> compared = replicate_comparison(seeds, better)
>>> round(compared.difference, 4), compared.p < 0.01
(0.0909, True)
>>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
{'a': 0.03, 'b': 0.06, 'c': 0.06}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.metrics.significance import Floats, Interval, Score, f1, ratio

__all__ = ["ReplicateComparison", "holm", "replicate_comparison", "replicate_interval", "score_of"]

_CELLS_PER_BATCH = 1 << 21  # of the samples × sentences matrix
_TIE = 1e-12  # scores closer than this differ by rounding only

Name = TypeVar("Name")


class ReplicateComparison(NamedTuple):
    """The difference of two systems, B minus A, its 95 % interval, and the two-sided p-value of no difference."""

    difference: float
    low: float
    high: float
    p: float


def score_of(counts: Floats) -> Score:
    """Return the score of counts by the number of their columns: two make a ratio, four make F1.

    >>> score_of(np.zeros((3, 2))) is ratio, score_of(np.zeros((3, 4))) is f1
    (True, True)
    """
    columns = counts.shape[-1]
    if columns not in (2, 4):
        raise ConfigError(f"counts have 2 or 4 columns, not {columns}")
    return ratio if columns == 2 else f1


def replicate_interval(
    replicates: Sequence[Floats], *, seed: int = 0, samples: int = 1000, level: float = 0.95
) -> Interval:
    """Return the mean score over seeds and its bootstrap interval over seeds and sentences.

    ``replicates`` are the counts of each seed, one row per sentence, for the same sentences.
    """
    counts = _stacked(replicates)
    found = _samples([counts], seed, samples)[0]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(_mean(counts), float(low), float(high))


def replicate_comparison(
    a: Sequence[Floats], b: Sequence[Floats], *, seed: int = 0, samples: int = 10_000
) -> ReplicateComparison:
    """Return whether system B is better than A: the same seeds and the same sentences are drawn for both.

    The p-value is two-sided: twice the share of samples in which the difference has the other sign, at most 1. The
    observed data count as one more sample, so it is never 0.
    """
    first, second = _stacked(a), _stacked(b)
    if first.shape[1] != second.shape[1]:
        raise ConfigError(
            f"systems are compared on the same sentences; one has {first.shape[1]} and the other {second.shape[1]}"
        )
    before, after = _samples([first, second], seed, samples)
    differences = after - before
    low, high = np.quantile(differences, [0.025, 0.975])
    against = min(np.count_nonzero(differences < _TIE), np.count_nonzero(differences > -_TIE))
    p = min(1.0, 2.0 * (int(against) + 1) / (samples + 1))
    return ReplicateComparison(_mean(second) - _mean(first), float(low), float(high), p)


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Return p-values corrected for their number, by the step-down method of Holm (1979), in the order given.

    If hypotheses below 0.05 are rejected, the probability of any false rejection is at most 0.05, however the tests
    depend on each other.
    """
    corrected, largest = dict[Name, float](), 0.0
    ordered = sorted(p_values, key=lambda name: p_values[name])
    for rank, name in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}


def _stacked(replicates: Sequence[Floats]) -> Floats:
    """Counts as one array: seeds × sentences × columns."""
    shapes = {counts.shape for counts in replicates}
    if len(shapes) != 1 or not next(iter(shapes))[0]:
        raise ConfigError(f"the counts of all seeds must be of the same sentences, one or more; got {shapes}")
    return np.stack(replicates).astype(np.float64)


def _mean(counts: Floats) -> float:
    return float(score_of(counts)(counts.sum(1)).mean())


def _samples(systems: Sequence[Floats], seed: int, samples: int) -> list[Floats]:
    """The scores of each system in each sample. Systems with different numbers of seeds draw seeds separately."""
    seeds, sentences = systems[0].shape[:2]
    others = np.random.default_rng([seed, 1])
    found: list[list[Floats]] = [[] for _ in systems]
    for times, same in _draws(sentences, seeds, seed, samples):
        weights = times.astype(np.float64)
        for counts, scores in zip(systems, found, strict=True):
            sums = np.einsum("ns,ksc->nkc", weights, counts, optimize=True)
            n, drawn = len(times), same
            if len(counts) != seeds:
                drawn = others.integers(0, len(counts), size=(n, len(counts)))
            by_seed = score_of(counts)(sums)
            scores.append(np.take_along_axis(by_seed, drawn, axis=1).mean(axis=1))
    return [np.concatenate(scores) for scores in found]


@lru_cache(maxsize=2)  # a table makes many comparisons on the same sentences, and draws take most of their time
def _draws(sentences: int, seeds: int, seed: int, samples: int) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """How many times each sentence is in each sample, and which seeds are, batch by batch."""
    rng, batches = np.random.default_rng(seed), []
    rows, kind = max(1, _CELLS_PER_BATCH // sentences), np.min_scalar_type(sentences)
    for start in range(0, samples, rows):
        n = min(rows, samples - start)
        times = rng.multinomial(sentences, np.full(sentences, 1.0 / sentences), size=n).astype(kind)
        batches.append((times, rng.integers(0, seeds, size=(n, seeds))))
    return batches
