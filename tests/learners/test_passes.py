"""What a pass collects, against a slow twin; and CHOOSE_NEXT."""

from __future__ import annotations

import numpy as np
import pytest

from tests.learners.naive import imitate, naive_imitate
from tests.search.naive import Dice
from tests.toys import CUE, FORK, FREE, Picking, Token, Track, random_picking, random_track
from treewright.errors import TaskError
from treewright.learners.passes import (
    COST_OF_ACTION,
    COST_OF_OPTIMAL,
    COST_OF_ORACLE,
    choose_next,
)
from treewright.search.engine import BOTH, EXPERT, LEARNED, MIX_PER_ROLL, MIX_PER_STATE, MIX_PER_STEP

WHO = {"expert": EXPERT, "learned": LEARNED, "mixed-per-step": MIX_PER_STEP, "mixed-per-roll": MIX_PER_ROLL}
ROLL_OUTS = {**WHO, "mixed-per-state": MIX_PER_STATE, "both": BOTH, "none": None}


@pytest.fixture(scope="module")
def corpora():
    track = random_track(np.random.default_rng(21), 10, 5)
    return {
        "track": Track().pack(track),
        "track without partial loss": Track(tells_partial_loss=False).pack(track),
        "picking": Picking().pack(random_picking(np.random.default_rng(22), 6, 4)),
    }


def random_weights(packed, seed=0, policies=1):
    shape = (policies, 256, 1 if packed.task.structured else packed.task.n_actions)
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def assert_same(seen, expected):
    assert len(seen) == len(expected)
    for one, other in zip(seen, expected, strict=True):
        assert one[:2] == other[:2]
        assert one.extra == other.extra
        assert one.costs == pytest.approx(other.costs, abs=1e-6)


@pytest.mark.parametrize("roll_out", ROLL_OUTS)
@pytest.mark.parametrize("roll_in", WHO)
@pytest.mark.parametrize("corpus", ["track", "picking"])
def test_examples_equal_the_twin_for_each_roll_in_and_roll_out(corpora, corpus, roll_in, roll_out):
    packed, choices = corpora[corpus], (WHO[roll_in], ROLL_OUTS[roll_out])
    weights = random_weights(packed)
    for β in (0.0, 0.3, 1.0):
        seen = imitate(packed, weights, [β, 1.0], *choices, seed=3, iteration=2)
        assert_same(seen, naive_imitate(packed, weights, [β, 1.0], *choices, seed=3, iteration=2))


@pytest.mark.parametrize("roll_out", [MIX_PER_STEP, MIX_PER_ROLL, MIX_PER_STATE, LEARNED, BOTH])
def test_examples_equal_the_twin_for_a_mixture_of_many_policies_and_several_samples(corpora, roll_out):
    packed, mixture = corpora["track"], [0.2, 0.5, 1.0]
    weights = random_weights(packed, policies=2)
    seen = imitate(packed, weights, mixture, MIX_PER_STEP, roll_out, samples=3, seed=5)
    assert_same(seen, naive_imitate(packed, weights, mixture, MIX_PER_STEP, roll_out, samples=3, seed=5))


@pytest.mark.parametrize("cost", [COST_OF_ACTION, COST_OF_OPTIMAL, COST_OF_ORACLE])
def test_without_roll_out_costs_come_from_the_oracle(corpora, cost):
    packed = corpora["track"]
    weights = random_weights(packed)
    seen = imitate(packed, weights, [0.0, 1.0], LEARNED, cost=cost)
    assert_same(seen, naive_imitate(packed, weights, [0.0, 1.0], LEARNED, cost=cost))
    found = {c for example in seen for c in example.costs}
    assert found == ({0.0, 1.0, 2.0} if cost == COST_OF_ORACLE else {0.0, 1.0})
    if cost == COST_OF_ACTION:
        assert all(example.costs.count(0.0) == 1 for example in seen)


@pytest.mark.parametrize(
    "roll_out", ["expert", "learned", "mixed-per-step", "mixed-per-roll", "mixed-per-state", "both"]
)
@pytest.mark.parametrize("corpus", ["track", "track without partial loss"])
@pytest.mark.parametrize("cut", [1, 2, 10])
def test_focused_costing_equals_the_twin_with_and_without_partial_losses(corpora, corpus, roll_out, cut):
    packed, choices = corpora[corpus], (LEARNED, ROLL_OUTS[roll_out])
    weights = random_weights(packed)
    seen = imitate(packed, weights, [0.4, 1.0], *choices, cut=cut, seed=9)
    assert_same(seen, naive_imitate(packed, weights, [0.4, 1.0], *choices, cut=cut, seed=9))


def test_a_cut_beyond_the_end_changes_nothing_and_an_earlier_one_does(corpora):
    packed = corpora["track"]
    weights = random_weights(packed)
    whole, far, near = (imitate(packed, weights, [0.0, 1.0], LEARNED, LEARNED, cut=cut) for cut in (0, 50, 1))
    assert whole == far
    assert [example.costs for example in near] != [example.costs for example in whole]


def test_partial_loss_and_the_expert_finishing_agree_where_the_oracle_is_exact(corpora):
    one, other = corpora["track"], corpora["track without partial loss"]
    weights = random_weights(one)
    assert imitate(one, weights, [0.0, 1.0], LEARNED, LEARNED, cut=2) == imitate(
        other, weights, [0.0, 1.0], LEARNED, LEARNED, cut=2
    )


def test_expert_roll_outs_find_the_costs_of_an_exact_oracle(corpora):
    for packed in corpora.values():
        weights = random_weights(packed)
        rolled = imitate(packed, weights, [0.0, 1.0], LEARNED, EXPERT)
        assert rolled == imitate(packed, weights, [0.0, 1.0], LEARNED, cost=COST_OF_ORACLE)


def test_both_roll_outs_are_weighted_by_beta_and_the_rest(corpora):
    """A learned policy that, once off the track, stays off it: losses that can be counted by hand."""
    packed = Track().pack([[Token(FORK, 0), Token(CUE, 0), Token(CUE, 0)]])
    weights = np.zeros((1, 256, 4), np.float32)
    weights[0, :, 0] = 1.0  # always says 0: right on the track, wrong off it
    for β in (0.0, 0.25, 1.0):
        first = imitate(packed, weights, [β, 1.0], EXPERT, BOTH)[0]
        assert first.costs == pytest.approx([0.0] + [β * 1.0 + (1.0 - β) * 3.0] * 2)


@pytest.mark.slow
def test_mixed_roll_outs_cost_what_the_mixture_loses_on_average():
    packed = Track().pack([[Token(FORK, 0), Token(CUE, 0), Token(CUE, 0)]])
    weights = np.zeros((1, 256, 4), np.float32)
    weights[0, :, 0] = 1.0
    per_roll = imitate(packed, weights, [0.5, 1.0], EXPERT, MIX_PER_ROLL, samples=4000)[0].costs
    per_step = imitate(packed, weights, [0.5, 1.0], EXPERT, MIX_PER_STEP, samples=4000)[0].costs
    assert per_roll == pytest.approx([0.0, 2.0, 2.0], abs=0.1)  # 1 or 3
    # 1, then: with ½ back on the track for good; else another error, and once more with ½
    assert per_step == pytest.approx([0.0, 1.75, 1.75], abs=0.1)


def test_a_draw_for_all_actions_of_a_state_compares_like_with_like():
    """A policy that errs at the last token whatever is done first: only if actions draw apart do their costs differ."""
    packed = Track().pack([[Token(FREE, 0), Token(CUE, 1)]])
    weights = np.zeros((1, 256, 4), np.float32)
    weights[0, :, 0] = 1.0
    for seed in range(40):
        costs = imitate(packed, weights, [0.5, 1.0], EXPERT, MIX_PER_STATE, seed=seed)[0].costs
        assert costs[:2] == [0.0, 0.0]
    apart = [imitate(packed, weights, [0.5, 1.0], EXPERT, MIX_PER_ROLL, seed=seed)[0].costs for seed in range(40)]
    assert {costs[0] for costs in apart} == {0.0, 1.0}


def test_roll_ins_of_the_expert_never_leave_the_track_and_learned_ones_do(corpora):
    packed = corpora["track"]
    weights = random_weights(packed)
    by_expert = imitate(packed, weights, [0.5, 1.0], EXPERT, cost=COST_OF_ORACLE)
    learned = imitate(packed, weights, [0.5, 1.0], LEARNED, cost=COST_OF_ORACLE)
    assert {tuple(e.features) for e in by_expert} < {tuple(e.features) for e in learned + by_expert}


def test_many_examples_outgrow_the_first_arrays(corpora):
    corpus = random_track(np.random.default_rng(1), 400, 6)
    packed = Track().pack(corpus)
    seen = imitate(packed, random_weights(packed), [1.0, 1.0], EXPERT)
    assert len(seen) > 1024
    assert_same(seen, naive_imitate(packed, random_weights(packed), [1.0, 1.0], EXPERT))


@pytest.mark.parametrize("roll_out", [None, EXPERT])
def test_an_episode_longer_than_declared_is_told_with_and_without_roll_outs(roll_out):
    class Hasty(Track):
        max_steps = "n - 1"

    packed = Hasty().plain().pack([[Token(CUE, 0)] * 4])
    with pytest.raises(TaskError, match=r"'Hasty': sentence 0 \(of length 4\) is not final after 3 steps"):
        imitate(packed, random_weights(packed), [0.0, 1.0], LEARNED, roll_out)


def test_a_dead_end_that_only_roll_outs_reach_is_told():
    class DeadEnd(Track):
        @staticmethod
        def actions(x, state, out):
            return 0 if state.off[0] == 1 else Track.actions(x, state, out)

    packed = DeadEnd().plain().pack([[Token(CUE, 0)] * 2])
    assert len(imitate(packed, random_weights(packed), [1.0, 1.0], EXPERT)) == 2
    with pytest.raises(TaskError, match=r"'DeadEnd': sentence 0 .* offers no action"):
        imitate(packed, random_weights(packed), [1.0, 1.0], EXPERT, EXPERT)


# ---- CHOOSE_NEXT


def chosen(costs, predicted, explore, p, draws=200):
    random = Dice(1, 2, 3).state
    array = np.array([*costs, 0.0])  # what is beyond n does not count
    return [choose_next(array, len(costs), predicted, explore, p, random) for _ in range(draws)]


def test_an_optimal_prediction_is_always_followed():
    for explore in (False, True):
        assert set(chosen([1.0, 0.5, 0.5], 2, explore, 0.5)) == {2}


def test_before_pass_k_a_wrong_prediction_gives_way_to_a_random_optimal_action():
    followed = chosen([0.0, 1.0, 0.0, 3.0, 0.0], 3, False, 0.0, draws=600)
    assert set(followed) == {0, 2, 4}
    assert min(followed.count(k) for k in (0, 2, 4)) > 150


def test_with_p_0_the_prediction_is_always_followed_after_pass_k():
    assert set(chosen([0.0, 1.0, 0.0], 1, True, 0.0)) == {1}


def test_with_p_1_nothing_is_explored():
    assert set(chosen([0.0, 1.0, 0.0], 1, True, 1.0)) == {0, 2}


def test_p_is_the_share_of_wrong_predictions_not_followed():
    followed = chosen([0.0, 1.0], 1, True, 0.1, draws=3000)
    assert followed.count(0) / 3000 == pytest.approx(0.1, abs=0.02)
