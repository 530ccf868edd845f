from itertools import product

import numpy as np
import pytest

import treewright.metrics.significance as significance
from treewright.errors import ConfigError
from treewright.metrics import (
    approximate_randomization,
    bootstrap_interval,
    error_reduction,
    paired_bootstrap,
)

A = [3, 5, 4, 6, 2, 0]
B = [4, 5, 5, 5, 4, 1]
TOTALS = [5, 6, 5, 7, 4, 1]


def all_resamples():
    return np.array(list(product(range(len(A)), repeat=len(A))))


def test_interval_agrees_with_all_resamples():
    chosen = all_resamples()
    scores = np.array(A)[chosen].sum(1) / np.array(TOTALS)[chosen].sum(1)
    interval = bootstrap_interval(A, TOTALS, samples=20_000, level=0.9)
    assert interval.value == pytest.approx(20 / 28)
    assert interval.low == pytest.approx(np.quantile(scores, 0.05), abs=0.01)
    assert interval.high == pytest.approx(np.quantile(scores, 0.95), abs=0.01)


def test_interval_agrees_with_the_normal_approximation():
    right = np.random.default_rng(1).random(2000) < 0.8
    value, low, high = bootstrap_interval(right, np.ones(2000), samples=4000)
    error = 1.96 * np.sqrt(value * (1 - value) / 2000)
    assert (low, high) == (pytest.approx(value - error, abs=0.002), pytest.approx(value + error, abs=0.002))


def test_interval_is_wider_at_a_higher_level():
    narrow, wide = (bootstrap_interval(A, TOTALS, level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_paired_bootstrap_agrees_with_all_resamples():
    chosen = all_resamples()
    gains = (np.array(B) - np.array(A))[chosen].sum(1)
    exact = np.mean(gains <= 0)
    assert paired_bootstrap(A, B, TOTALS, samples=20_000) == pytest.approx(exact, abs=0.01)


def test_randomization_agrees_with_all_swaps():
    difference = np.array(B) - np.array(A)
    signs = np.array(list(product([-1, 1], repeat=len(A))))
    exact = np.mean(np.abs(signs @ difference) >= abs(difference.sum()))
    assert approximate_randomization(A, B, TOTALS, samples=20_000) == pytest.approx(exact, abs=0.01)


def test_randomization_swaps_totals_too():
    a_totals, b_totals = np.array(TOTALS), np.array([6, 6, 5, 9, 4, 2])
    swapped = np.array(list(product([False, True], repeat=len(A))))
    first = np.where(swapped, B, A).sum(1) / np.where(swapped, b_totals, a_totals).sum(1)
    second = np.where(swapped, A, B).sum(1) / np.where(swapped, a_totals, b_totals).sum(1)
    exact = np.mean(np.abs(first - second) >= abs(first[0] - second[0]) - 1e-12)
    p = approximate_randomization(A, B, a_totals, samples=20_000, b_totals=b_totals)
    assert p == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_p_values(test):
    words = np.full(200, 10)
    rng = np.random.default_rng(0)
    same = rng.binomial(10, 0.8, 200)
    better = np.minimum(same + rng.integers(0, 2, 200), 10)
    assert test(same, same, words) == 1
    assert test(same, better, words, samples=500) == 1 / 501
    assert test(same, better, words, b_totals=words) == test(same, better, words)
    assert 0.01 < test(same, rng.binomial(10, 0.8, 200), words) < 0.99


def test_only_the_bootstrap_test_has_a_direction():
    words = [10] * 50
    worse, better = [5, 6] * 25, [7, 8] * 25
    assert paired_bootstrap(better, worse, words) == 1
    assert approximate_randomization(better, worse, words) < 0.01


def test_under_the_null_hypothesis_small_p_values_are_rare():
    rng = np.random.default_rng(3)
    words = np.full(60, 10)
    p = [
        approximate_randomization(rng.binomial(10, 0.8, 60), rng.binomial(10, 0.8, 60), words, samples=200)
        for _ in range(300)
    ]
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.10
    assert np.mean(p) == pytest.approx(0.5, abs=0.08)


def test_seeds_decide_everything():
    assert bootstrap_interval(A, TOTALS, seed=1) == bootstrap_interval(A, TOTALS, seed=1)
    assert paired_bootstrap(A, B, TOTALS, 1) == paired_bootstrap(A, B, TOTALS, 1)
    values = {approximate_randomization(A, B, TOTALS, seed) for seed in range(5)}
    assert len(values) > 1


def test_large_test_sets_are_done_in_parts(monkeypatch):
    whole = bootstrap_interval(A, TOTALS), paired_bootstrap(A, B, TOTALS)
    monkeypatch.setattr(significance, "_CELLS_PER_BATCH", 30)
    assert (bootstrap_interval(A, TOTALS), paired_bootstrap(A, B, TOTALS)) == whole
    assert 0 < approximate_randomization(A, B, TOTALS, samples=7) <= 1


def test_sentences_with_nothing_to_decide():
    assert bootstrap_interval([0, 0], [0, 0]) == (0, 0, 0)
    assert bootstrap_interval([0, 3], [0, 4]).high == 0.75


def test_error_reduction():
    assert error_reduction(0.9, 0.95) == pytest.approx(0.5)
    assert error_reduction(0.9, 0.85) == pytest.approx(-0.5)
    assert error_reduction(0.5, 1) == 1
    assert error_reduction(1, 1) == 0
    assert error_reduction(1, 0.9) == float("-inf")
    with pytest.raises(ConfigError, match="divide percentages by 100"):
        error_reduction(90, 95)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bootstrap_interval([], []),
        lambda: bootstrap_interval([1], [1, 2]),
        lambda: bootstrap_interval([[1]], [[1]]),
        lambda: bootstrap_interval([-1], [1]),
        lambda: bootstrap_interval([float("nan")], [1]),
        lambda: bootstrap_interval([1], [1], samples=0),
        lambda: bootstrap_interval([1], [1], level=95),
        lambda: paired_bootstrap([1], [1, 1], [1]),
    ],
)
def test_counts_that_cannot_be_used(call):
    with pytest.raises(ConfigError):
        call()
