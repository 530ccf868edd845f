"""Statistics over sentences and seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.errors import ConfigError
from treewright.metrics import f1, holm, ratio, replicate_comparison, replicate_interval, resample, score_of


def _slow_interval(replicates, seed, samples):
    """Draw sentences and seeds one sample after the other."""
    rng = np.random.default_rng(seed)
    n, seeds, found = len(replicates[0]), len(replicates), []
    times = rng.multinomial(n, np.full(n, 1.0 / n), size=samples)
    chosen = rng.integers(0, seeds, size=(samples, seeds))
    for weights, some in zip(times, chosen, strict=True):
        scores = [float(score_of(c)((c * weights[:, None]).sum(0))) for c in replicates]
        found.append(np.mean([scores[k] for k in some]))
    return np.quantile(found, [0.025, 0.975])


@pytest.mark.parametrize("columns", [2, 4])
def test_intervals(columns):
    rng = np.random.default_rng(0)
    replicates = [rng.integers(1, 9, (30, columns)).astype(float) for _ in range(3)]
    found = replicate_interval(replicates, seed=4, samples=200)
    score = ratio if columns == 2 else f1
    assert found.value == pytest.approx(np.mean([score(counts.sum(0)) for counts in replicates]))
    assert (found.low, found.high) == pytest.approx(tuple(_slow_interval(replicates, 4, 200)))


def test_seeds_widen_the_interval():
    one = np.array([[4.0, 5.0], [3.0, 5.0]] * 50)
    other = one + np.array([1.0, 0.0])
    alone, both = replicate_interval([one, one]), replicate_interval([one, other])
    assert both.high - both.low > alone.high - alone.low
    low, high = np.quantile(resample(one), [0.025, 0.975])
    assert (alone.low, alone.high) == pytest.approx((low, high), abs=0.005)


def test_comparisons_are_paired():
    rng = np.random.default_rng(1)
    base = np.stack([rng.integers(0, 9, 60), np.full(60, 9)], 1).astype(float)
    better = base + np.array([0.2, 0.0])
    found = replicate_comparison([base], [better])
    assert found.low == pytest.approx(found.high)  # the same sentences are drawn for both
    assert found.p < 0.001
    assert replicate_comparison([base], [base]).p == 1.0
    back = replicate_comparison([better], [base])
    assert back.difference == pytest.approx(-found.difference)
    assert back.p == found.p
    with pytest.raises(ConfigError, match="60"):
        replicate_comparison([base], [base[:10]])


@given(st.lists(st.floats(0.0001, 1.0), min_size=1, max_size=8))
def test_holm_is_the_closed_test_of_bonferroni(values):
    """A hypothesis is rejected if every set of hypotheses that contains it is rejected by Bonferroni's test."""
    found = holm(dict(enumerate(values)))
    for k in found:
        sets = [subset for subset in range(1, 1 << len(values)) if subset >> k & 1]
        worst = 0.0
        for subset in sets:
            members = [values[j] for j in range(len(values)) if subset >> j & 1]
            worst = max(worst, min(1.0, len(members) * min(members)))
        assert found[k] == pytest.approx(worst)
