"""Distributions of scores against enumeration: every order of two samples, and quartiles by hand."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.errors import ConfigError
from treewright.metrics import five_numbers, kolmogorov_smirnov


def plain_statistic(a, b):
    """The largest difference of the shares of values that are no larger than x, over all x."""
    return max(abs(sum(v <= x for v in a) / len(a) - sum(v <= x for v in b) / len(b)) for x in [*a, *b])


def plain_p(statistic, n, m):
    """The share of all orders of n and m different values whose statistic is at least as large."""
    places = range(n + m)
    every = [plain_statistic(ours, [k for k in places if k not in ours]) for ours in combinations(places, n)]
    return sum(each >= statistic - 1e-12 for each in every) / len(every)


samples = st.lists(st.integers(0, 30), min_size=1, max_size=5)


@given(samples, samples)
@examples(60)
def test_the_test_counts_all_orders(a, b):
    found = kolmogorov_smirnov(a, b)
    assert found.statistic == pytest.approx(plain_statistic(a, b))
    assert found.p == pytest.approx(plain_p(found.statistic, len(a), len(b)))
    assert kolmogorov_smirnov(b, a) == pytest.approx(found)


def test_ten_folds():
    """Known values for two samples of ten: D = 0.6 and 0.7 lie on both sides of 5 %."""
    low, high = list(range(10)), [k + 6.5 for k in range(10)]
    assert kolmogorov_smirnov(low, high).statistic == pytest.approx(0.7)
    assert kolmogorov_smirnov(low, high).p == pytest.approx(0.0123, abs=5e-5)
    high = [k + 5.5 for k in range(10)]
    assert kolmogorov_smirnov(low, high).p == pytest.approx(0.0524, abs=5e-5)
    assert kolmogorov_smirnov(low, low) == (0.0, 1.0)


def test_five_numbers():
    assert five_numbers([4, 1, 3, 2]) == (1.0, 1.75, 2.5, 3.25, 4.0)
    assert five_numbers([0.5]) == (0.5,) * 5


@pytest.mark.parametrize("bad", [[], [float("nan")], [[1.0]]])
def test_samples_that_cannot_be_used(bad):
    with pytest.raises(ConfigError, match="one number or more"):
        five_numbers(bad)
    with pytest.raises(ConfigError, match="one number or more"):
        kolmogorov_smirnov([1.0], bad)
