from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.loops import as_loops
from tests.search.naive import naive_scores
from treewright.search import interpreted, scoring
from treewright.search.scoring import argmax, argmin, place, score_actions

FEATURES = st.lists(st.integers(0, 2**31 - 1), max_size=6)


def kernel_scores(weights, features, actions, extra, n_actions=0, run=score_actions):
    own = [feature for of_action in extra for feature in of_action]
    extra_at = np.cumsum([0, *(len(of_action) for of_action in extra)], dtype=np.int64)
    sums, out = np.full(weights.shape[1], 9.0, np.float32), np.full(len(actions), 9.0, np.float32)
    labels = np.full(n_actions - weights.shape[1], 9.0, np.float32) if n_actions else None
    run(
        weights,
        np.array([*features, 0], np.int32),
        len(features),
        np.array(actions, np.int32),
        len(actions),
        np.array([*own, 0], np.int32),
        extra_at,
        sums,
        labels,
        out,
    )
    return out.tolist()


@given(FEATURES, st.permutations(range(5)), st.integers(0, 5), st.integers(0, 1000))
@examples(60)
def test_a_feature_owns_a_row_over_a_fixed_set_of_actions(features, actions, n, seed):
    weights = np.random.default_rng(seed).normal(size=(16, 5)).astype(np.float32)
    actions, none = list(actions[:n]), [[]] * n
    assert kernel_scores(weights, features, actions, none) == naive_scores(weights, features, actions, none)


@given(FEATURES, st.lists(st.tuples(st.integers(0, 99), FEATURES), max_size=5), st.integers(0, 1000))
@examples(60)
def test_a_feature_is_crossed_with_an_action_that_has_features_of_its_own(features, offered, seed):
    weights = np.random.default_rng(seed).normal(size=(64, 1)).astype(np.float32)
    actions, extra = [action for action, _ in offered], [own for _, own in offered]
    assert kernel_scores(weights, features, actions, extra) == naive_scores(weights, features, actions, extra)


@pytest.mark.parametrize("width", [1, 4])
def test_a_weight_lives_where_scoring_looks_for_it(width):
    for feature in (0, 5, 12345, 2**31 - 1):
        for action in range(4):
            weights = np.zeros((32, width), np.float32)
            weights[place(feature, action, 32, width)] = 1.0
            assert kernel_scores(weights, [feature], [action], [[]]) == [1.0]


@given(st.lists(st.integers(0, 2**31 - 1), max_size=9), st.sampled_from([3, 4]), st.integers(1, 90), st.booleans())
@examples(60)
def test_labels_live_in_blocks_behind_the_moves(features, moves, labels, whole_numbers):
    weights = np.random.default_rng(labels).integers(-50, 50, size=(32, moves))
    weights = weights.astype(np.int16 if whole_numbers else np.float32)
    actions = list(range(moves, moves + labels))
    wanted = [float(sum(weights[place(feature, action, 32, moves)] for feature in features)) for action in actions]
    assert kernel_scores(weights, features, actions, [[]] * labels, moves + labels) == wanted


@pytest.mark.parametrize("width", [1, 3, 4])
@given(st.lists(st.integers(0, 2**31 - 1), max_size=60), st.integers(0, 1000))
@examples(30)
def test_whole_numbers_have_the_scores_of_equal_floats(width, features, seed):
    """Weights of 16 bits, up to the largest ones, are added as integers, in any order; as floats, one by one."""
    limits = np.iinfo(np.int16)
    weights = np.random.default_rng(seed).integers(limits.min, limits.max, size=(32, width), endpoint=True)
    actions, extra = [2, 0, 1], [features[:7], [], features]
    found = kernel_scores(weights.astype(np.int16), features, actions, extra)
    assert found == kernel_scores(weights.astype(np.float32), features, actions, extra)


def test_a_block_has_a_cell_for_each_label():
    cells = {place(12345, action, 64, 4) for action in range(4, 104)}
    assert len(cells) == 100
    assert place(12345, 4, 64, 4)[0] % 4 == 0  # blocks begin at multiples of 16 cells


def test_the_first_of_equals_wins():
    values = np.array([1.0, 3.0, 0.0, 3.0, 0.0, 9.0], np.float32)
    assert (argmax(values, 5), argmin(values, 5)) == (1, 2)
    assert (argmax(values, 1), argmin(values, 1)) == (0, 0)
    assert argmax(values, 6) == 5


@pytest.mark.jit
@given(st.lists(st.integers(0, 2**31 - 1), max_size=30), st.sampled_from([3, 4, 20]), st.integers(1, 90), st.booleans())
@examples(30)
def test_scores_in_bulk_are_those_of_the_loops_to_the_bit(features, moves, labels, whole_numbers):
    weights = np.random.default_rng(labels).normal(0.0, 100.0, size=(32, moves))
    weights = weights.astype(np.int16 if whole_numbers else np.float32)
    for actions in (list(range(moves)), list(range(moves, moves + labels))):
        given = weights, features, actions, [[]] * len(actions), moves + labels
        wanted = kernel_scores(*given, run=as_loops(score_actions, scoring))
        assert kernel_scores(*given, run=interpreted(score_actions)) == wanted == kernel_scores(*given)
