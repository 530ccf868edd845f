"""Every named learner solves small tasks, repeats itself, and does not care about threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.toys import Picking, Track, random_picking, random_track, treacherous_track
from treewright.learners import LEARNERS, make_learner, train
from treewright.policies import UPDATES

EXPLORING = [name for name in LEARNERS if name not in ("supervised", "imitation")]


@pytest.fixture(scope="module")
def track():
    return Track().pack(random_track(np.random.default_rng(31), 25, 5))


@pytest.fixture(scope="module")
def picking():
    return Picking().pack(random_picking(np.random.default_rng(32), 12, 5))


def learner_for(name, **settings):
    return make_learner({"name": name, **settings})


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_solves_a_task_that_can_be_solved(track, name):
    settings = {"interpolation": 0.9} if name == "searn" else {}
    policy = train(learner_for(name, passes=8, **settings), track, bits=10).policy
    if name == "searn":  # the mixture keeps a small share of its first policies
        assert policy.decode(track).losses.mean() <= 0.1
    else:
        assert policy.decode(track).losses.sum() == 0.0


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_solves_a_task_whose_actions_carry_structure(picking, name):
    policy = train(learner_for(name, passes=8), picking, bits=10).policy
    assert policy.weights.shape[1:] == (1024, 1)
    assert policy.decode(picking).losses.sum() == 0.0


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("name", ["dagger", "lols"])
def test_every_update_solves_the_task(track, name, update):
    policy = train(learner_for(name, passes=10, update=update), track, bits=10).policy
    assert policy.decode(track).losses.sum() == 0.0


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_repeats_itself_under_one_seed_whatever_the_number_of_threads(track, name):
    first, again, threaded = (
        train(learner_for(name, passes=3), track, bits=10, seed=7, jobs=jobs) for jobs in (1, 1, 3)
    )
    np.testing.assert_array_equal(first.policy.weights, again.policy.weights)
    np.testing.assert_array_equal(first.policy.weights, threaded.policy.weights)
    assert first.policy.probabilities == threaded.policy.probabilities
    assert [p.loss for p in first.history] == [p.loss for p in threaded.history]


@pytest.mark.parametrize("name", ["supervised", "exploration", "dagger", "lols", "v-dagger", "searn"])
def test_another_seed_gives_other_weights_where_the_data_are_noisy(name):
    packed = Track().pack(treacherous_track(np.random.default_rng(1), 20, 6))
    one, other = (train(learner_for(name, passes=2), packed, bits=10, seed=seed).policy for seed in (0, 1))
    assert not np.array_equal(one.weights, other.weights)


def test_online_learning_takes_the_sentences_in_another_order_under_another_seed():
    packed = Track().pack(treacherous_track(np.random.default_rng(1), 20, 6))
    learner = learner_for("imitation", data="online", passes=1)
    one, other = (train(learner, packed, bits=10, seed=seed).policy for seed in (0, 1))
    assert not np.array_equal(one.weights, other.weights)


# ---- errors that compound


@pytest.fixture(scope="module")
def treacherous():
    rng = np.random.default_rng(41)
    task = Track()
    return task.pack(treacherous_track(rng, 40, 8)), task.pack(treacherous_track(rng, 60, 8))


@pytest.fixture(scope="module")
def supervised_loss(treacherous):
    training, held_out = treacherous
    return train(learner_for("supervised", passes=6), training, bits=10).policy.decode(held_out).losses.mean()


def test_who_only_saw_the_expert_does_not_recover_from_an_error(supervised_loss, treacherous):
    training, _ = treacherous
    length = int(training.lengths[0])
    # two in three go wrong at the fork, and then everywhere
    assert supervised_loss > 0.5 * length


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPLORING)
def test_who_saw_errors_of_its_own_recovers(treacherous, supervised_loss, name):
    training, held_out = treacherous
    trained = train(learner_for(name, passes=6), training, bits=10)
    assert trained.policy.decode(held_out).losses.mean() < 0.5 * supervised_loss
