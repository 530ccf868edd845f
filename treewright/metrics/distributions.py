"""Distributions of scores, such as those of the folds of a cross-validation: their quartiles, and whether two differ.

>>> box = five_numbers([0.78, 0.80, 0.81, 0.83, 0.86])
>>> box.median, box.low, box.high
(0.81, 0.78, 0.86)
>>> test = kolmogorov_smirnov([0.78, 0.80, 0.81, 0.83], [0.84, 0.85, 0.86, 0.88])
>>> test.statistic, round(test.p, 4)
(1.0, 0.0286)
"""

from __future__ import annotations

from math import comb, gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treewright.errors import ConfigError

__all__ = ["FiveNumbers", "KolmogorovSmirnov", "five_numbers", "kolmogorov_smirnov"]


class FiveNumbers(NamedTuple):
    """A sample in five numbers, as a box plot shows it: the extremes, the quartiles and the median."""

    low: float
    first: float
    median: float
    third: float
    high: float


def five_numbers(values: ArrayLike) -> FiveNumbers:
    """Return the minimum, the quartiles and the maximum of a sample; quartiles are interpolated linearly."""
    return FiveNumbers(*np.quantile(_sample(values), (0.0, 0.25, 0.5, 0.75, 1.0)).tolist())


class KolmogorovSmirnov(NamedTuple):
    """The result of a Kolmogorov–Smirnov test of two samples."""

    statistic: float
    """D: the largest difference of the two distribution functions."""
    p: float
    """The probability of a D at least as large if both samples come from one distribution."""


def kolmogorov_smirnov(a: ArrayLike, b: ArrayLike) -> KolmogorovSmirnov:
    """Test whether two samples come from the same distribution (two-sided).

    The p-value is exact for distributions without ties, and an upper bound otherwise. It counts the orders of the two
    samples: each is a path through a grid, and D is the largest distance of the path from the diagonal (Hodges 1958).
    """
    first, second = np.sort(_sample(a)), np.sort(_sample(b))
    n, m = len(first), len(second)
    values = np.concatenate([first, second])
    below = [np.searchsorted(each, values, side="right") for each in (first, second)]
    unit = n * m // gcd(n, m)  # differences are whole multiples of 1 / unit
    largest = int(np.abs(below[0] * (unit // n) - below[1] * (unit // m)).max())
    return KolmogorovSmirnov(largest / unit, 1.0 - _paths_within(n, m, largest, unit) / comb(n + m, n))


def _paths_within(n: int, m: int, largest: int, unit: int) -> int:
    """The number of paths from (0, 0) to (n, m) on which the difference is always smaller than ``largest``."""
    row = [0] * (m + 1)
    for i in range(n + 1):
        for j in range(m + 1):
            inside = abs(i * (unit // n) - j * (unit // m)) < largest
            before = 1 if i == j == 0 else row[j] * (i > 0) + (row[j - 1] if j else 0)
            row[j] = before if inside else 0
    return row[m]


def _sample(values: ArrayLike) -> NDArray[np.float64]:
    sample = np.asarray(values, np.float64)
    if sample.ndim != 1 or not len(sample) or not np.isfinite(sample).all():
        raise ConfigError("a sample must be a list of one number or more, all of them finite")
    return sample
