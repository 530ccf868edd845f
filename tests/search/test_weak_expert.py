"""An expert that errs: how often, where, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.search.naive import Episode
from tests.toys import CUE, Picking, Token, Track, random_picking, random_track
from treewright.search import decode
from treewright.search.hashing import mix
from treewright.search.weak_expert import weaken_expert


@pytest.fixture(scope="module")
def track():
    """States that nearly all look different."""
    rng = np.random.default_rng(4)
    return Track().pack([[Token(CUE, int(v)) for v in rng.integers(0, 10**6, 6)] for _ in range(200)])


def naive_weak_costs(episode, accuracy, systematic, seed):
    """What each action costs for an expert that errs, from what it costs for one that does not."""
    costs, features = episode.expert_costs(), episode.features()
    look = seed
    for feature in features[:1] if systematic else features:
        look = mix(look, feature)
    wrong = [k for k, cost in enumerate(costs) if cost > min(costs)]
    if mix(look, 1) < accuracy * 2**31 or not wrong:
        return costs
    actions = episode.actions()
    mistake = min(wrong, key=lambda k: mix(mix(look, 2), actions[k]))
    return [float(k != mistake) for k in range(len(costs))]


@pytest.mark.parametrize("systematic", [False, True])
@pytest.mark.parametrize("accuracy", [0.0, 0.4, 0.7, 1.0])
def test_the_costs_are_those_of_the_twin(accuracy, systematic):
    for packed in (
        Track().pack(random_track(np.random.default_rng(5), 10, 5)),
        Picking().pack(random_picking(np.random.default_rng(6), 8, 4)),
    ):
        weak = weaken_expert(packed, accuracy, systematic=systematic, seed=3)
        assert weak.task.oracle == "static"
        for i in range(len(packed)):
            episode, same = Episode(packed, i), Episode(weak, i)
            while not episode.is_final():
                if len(episode.actions()) > 1:
                    assert same.expert_costs() == naive_weak_costs(episode, accuracy, systematic, 3)
                    assert same.partial_loss() == -1.0
                action = episode.decision(None, -1)
                episode, same = episode.after(action), same.after(action)
            assert same.loss() == episode.loss() == 0.0


@pytest.mark.parametrize("accuracy", [0.3, 0.7])
def test_it_is_right_as_often_as_it_should_be(track, accuracy):
    states = len(track) * 6
    for seed in (0, 1):  # interpreted, because each accuracy and each seed would be compiled
        losses = decode(weaken_expert(track.plain(), accuracy, seed=seed), None).losses
        assert 1.0 - losses.sum() / states == pytest.approx(accuracy, abs=0.05)


def test_other_seeds_make_other_mistakes_and_the_same_seed_the_same(track):
    one, same, other = (decode(weaken_expert(track.plain(), 0.7, seed=seed), None).states for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_compiled_and_interpreted_experts_make_the_same_mistakes(track):
    weak = weaken_expert(track, 0.6, seed=2)
    np.testing.assert_array_equal(decode(weak, None).states, decode(weak.plain(), None).states)
    np.testing.assert_array_equal(
        decode(weak, None).states, decode(weaken_expert(track.plain(), 0.6, seed=2), None).states
    )
