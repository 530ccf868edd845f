"""Compiled and interpreted, the task does the same to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dependency import naive
from tests.dependency.helpers import make_task, pack_trees
from treewright.dependency.systems import system_names
from treewright.learners import train
from treewright.search import decode

TREES = [(2, 0, 2), (0,), (2, 0, 5, 5, 2), (3, 1, 0), (2, 0)]
LABELS = [[k % 3 for k in range(len(tree))] for tree in TREES]


def random_weights(task, seed):
    return np.random.default_rng(seed).integers(-9, 9, (1, 64, task.table_width)).astype(np.float32)


@pytest.mark.parametrize(
    ("system", "staged", "beam"),
    [
        *((system, staged, 1) for system in system_names() for staged in (True, False)),
        *((system, True, 3) for system in ("arc-eager", "swap")),
        ("arc-hybrid", False, 3),
    ],
)
def test_decoding(system, staged, beam):
    task = make_task(system, 3, staged=staged)
    packed, plain = pack_trees(task, TREES, LABELS), pack_trees(task.plain(), TREES, LABELS)
    for seed in range(3):
        weights = random_weights(task, seed)
        found = decode(packed, weights, beam=beam)
        wanted = decode(plain, weights, beam=beam)
        assert np.array_equal(found.states, wanted.states)
        assert found.losses.tolist() == wanted.losses.tolist()


@pytest.mark.parametrize("staged", [True, False])
def test_a_policy_that_knows_the_words_finds_the_trees(staged):
    """Also interpreted: a few sentences, with words that are all different."""
    trees = naive.projective_trees(3)
    task = make_task("arc-hybrid", 1, staged=staged)
    packed = pack_trees(task, trees[:1])
    trained = train({"name": "exploration", "passes": 6, "update": "perceptron"}, packed, bits=8)
    assert trained.policy.decode(packed).losses.tolist() == [0.0]


def test_the_loss_counts_heads_and_weighs_labels():
    task = make_task("arc-standard", 2, label_weight=0.5, plain=True)
    packed = pack_trees(task, [(2, 0)], [[0, 1]])
    x = packed.instance(0)
    state = task.state_view(np.zeros(task.state_size(2), np.int32), 2)
    task.initial(x, state)
    for action in (0, 0, 4, 5):  # Shift, Shift, Left-Arc with label 1 (wrong), Right-Arc with label 1
        task.step(x, state, action)
    assert task.is_final(x, state)
    assert (state.heads[1:3].tolist(), state.labels[1:3].tolist()) == ([2, 0], [1, 1])
    assert task.loss(x, state) == 0.5
    assert task.partial_loss(x, state) == 0.5
