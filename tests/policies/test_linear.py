from __future__ import annotations

import numpy as np
import pytest

from treewright.policies import LinearPolicy


@pytest.mark.parametrize("shape", [(1, 8, 3), (1, 16, 1), (3, 8, 2)])
def test_policy_survives_being_taken_apart(shape):
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=shape) * (rng.random((*shape[:2], 1)) < 0.4)).astype(np.float32)
    policy = LinearPolicy(weights, tuple([1.0 / shape[0]] * shape[0]))
    arrays = policy.to_arrays()
    assert len(arrays["rows"]) < shape[0] * shape[1]
    again = LinearPolicy.from_arrays(arrays)
    np.testing.assert_array_equal(again.weights, weights)
    assert again.probabilities == policy.probabilities


def test_mixture_gives_the_expert_no_share_and_ends_at_one():
    shares = (0.1, 0.2, 0.7)
    mixture = LinearPolicy(np.zeros((3, 2, 2), np.float32), shares).mixture
    assert mixture.tolist() == pytest.approx([0.0, 0.1, 0.3, 1.0])
    assert mixture[-1] == 1.0
