from __future__ import annotations

import numpy as np
import pytest

from tests.toys import Picking, Track, random_track
from treewright.errors import ConfigError, ModelError
from treewright.learners import train
from treewright.policies import LinearPolicy, UntrainedLinear


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


@pytest.fixture(scope="module")
def packed():
    return Track().pack(random_track(np.random.default_rng(9), 10, 4))


def test_training_begins_with_zeros_or_goes_on_from_a_policy(packed):
    learner = {"name": "exploration", "iterations": 2, "update": "log-linear"}
    from_bits = train(learner, packed, bits=8).policy
    from_nothing = train(learner, packed, policy=UntrainedLinear(8)).policy
    from_zeros = train(learner, packed, policy=LinearPolicy(np.zeros((1, 256, 4), np.float32))).policy
    np.testing.assert_array_equal(from_bits.weights, from_nothing.weights)
    np.testing.assert_array_equal(from_bits.weights, from_zeros.weights)
    before = from_bits.weights.copy()
    further = train(learner, packed, policy=from_bits).policy
    assert not np.array_equal(further.weights, before)
    np.testing.assert_array_equal(from_bits.weights, before)  # it is learned from a copy


def test_a_checkpoint_knows_the_policy_that_training_began_with(packed, tmp_path):
    starts = [LinearPolicy(np.full((1, 256, 4), value, np.float32)) for value in (0.0, 1.0)]
    train({"name": "dagger", "iterations": 1}, packed, policy=starts[0], checkpoint=tmp_path)
    with pytest.raises(ConfigError, match="start"):
        train({"name": "dagger", "iterations": 2}, packed, policy=starts[1], checkpoint=tmp_path, resume=True)


@pytest.mark.parametrize("weights", [np.zeros((2, 256, 4), np.float32), np.zeros((1, 256, 4), np.int16)])
def test_training_goes_on_from_one_policy_in_32_bits_only(packed, weights):
    with pytest.raises(ConfigError, match="single linear policy with weights in 32 bits"):
        train("dagger", packed, policy=LinearPolicy(weights, (0.5,) * len(weights)))


def test_training_goes_on_from_a_table_of_the_tasks_width_only(packed):
    with pytest.raises(ConfigError, match=r"256 × 3.*'Track'.*4"):
        train("dagger", packed, policy=LinearPolicy(np.zeros((1, 256, 3), np.float32)))
