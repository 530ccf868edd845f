from __future__ import annotations

import numpy as np
import pytest

from tests.toys import Picking, Track
from treewright.errors import ModelError
from treewright.policies import LinearPolicy


@pytest.mark.parametrize("shape", [(1, 8, 3), (1, 16, 1), (3, 8, 2)])
def test_policy_survives_being_taken_apart(shape):
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=shape) * (rng.random((*shape[:2], 1)) < 0.4)).astype(np.float32)
    policy = LinearPolicy(weights, tuple([1.0 / shape[0]] * shape[0]))
    arrays = policy.to_arrays()
    assert len(arrays["weights"]) == np.count_nonzero(weights) == (arrays["gaps"] < 255).sum()
    again = LinearPolicy.from_arrays(arrays)
    np.testing.assert_array_equal(again.weights, weights)
    assert again.probabilities == policy.probabilities


def test_mixture_gives_the_expert_no_share_and_ends_at_one():
    shares = (0.1, 0.2, 0.7)
    mixture = LinearPolicy(np.zeros((3, 2, 2), np.float32), shares).mixture
    assert mixture.tolist() == pytest.approx([0.0, 0.1, 0.3, 1.0])
    assert mixture[-1] == 1.0


def test_policy_of_a_users_task_can_be_saved_and_is_for_that_task_only(tmp_path):
    track, picking = Track(), Picking()
    policy = LinearPolicy(np.arange(32, dtype=np.float32).reshape(1, 8, 4))
    policy.save(tmp_path / "p.tw", track, card={"corpus": "made up"})
    np.testing.assert_array_equal(LinearPolicy.load(tmp_path / "p.tw", track).weights, policy.weights)
    with pytest.raises(ModelError, match="Track"):
        LinearPolicy.load(tmp_path / "p.tw", picking)
