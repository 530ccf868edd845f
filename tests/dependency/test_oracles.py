"""The oracles against exhaustive search, on every projective tree of up to five words and every configuration."""

from __future__ import annotations

import numpy as np
import pytest
from numba import config as numba_config
from numba import njit

from tests.dependency import naive
from tests.dependency.helpers import make_task, pack_trees
from treewright.dependency.configuration import DEPTH, FRONT
from treewright.dependency.task import admissible, make_move, move_costs
from treewright.search import decode, trajectory

SYSTEMS = ("arc-standard", "arc-standard-buffer", "arc-eager", "arc-hybrid", "swap")
EXACT = SYSTEMS[:-1]


@njit
def walk(task, corpus, i, moves, buffer):
    """Make some moves from the start; return the admissible ones then."""
    x = task.instance_view(corpus, i)
    state = task.state_view(buffer, np.int64(corpus.n[i]))
    task.initial(x, state)
    for k in range(moves.shape[0]):
        make_move(x, state, np.int64(moves[k]), np.int64(0))
    return admissible(x, state)


@njit
def costs_of_states(task, corpus, states, out):
    """The oracle's costs of each move in each state for each tree."""
    for i in range(corpus.n.shape[0]):
        x = task.instance_view(corpus, i)
        for k in range(states.shape[0]):
            move_costs(x, task.state_view(states[k], np.int64(corpus.n[i])), out[i, k])


@njit
def partial_losses(task, corpus, states, out):
    """What cannot be avoided any more, in each state for each tree."""
    for i in range(corpus.n.shape[0]):
        x = task.instance_view(corpus, i)
        for k in range(states.shape[0]):
            out[i, k] = task.partial_loss(x, task.state_view(states[k], np.int64(corpus.n[i])))


def states_of(task, packed, n, paths):
    states = np.zeros((len(paths), task.state_size(n)), np.int32)
    bits = [walk(task, packed.arrays, 0, np.array(path, np.int64), states[k]) for k, path in enumerate(paths)]
    return states, bits


def seen(task, state, n):
    view = task.state_view(state, n)
    stack = tuple(view.stack[: view.registers[DEPTH]].tolist())
    return stack, tuple(view.buffer[view.registers[FRONT] : n].tolist()), tuple(view.heads[1 : n + 1].tolist())


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_transitions_are_those_of_the_naive_twin(system, n):
    task = make_task(system)
    packed = pack_trees(task, naive.projective_trees(n)[:1])
    found = naive.reachable(system, n)
    states, bits = states_of(task, packed, n, list(found.values()))
    for config, state, offered in zip(found, states, bits, strict=True):
        stack, buffer, heads = config
        given = tuple(-1 if head is None else head % naive.LATE for head in heads)
        assert seen(task, state, n) == (stack, buffer, given)
        if None in heads:
            assert [m for m in range(4) if offered >> m & 1] == sorted(naive.moves(system, config))


@pytest.mark.parametrize("system", EXACT)
@pytest.mark.parametrize("n", [1, 2, 3, *(pytest.param(n, marks=pytest.mark.jit) for n in (4, 5))])
def test_the_dynamic_oracle_is_exact(system, n):
    trees = naive.projective_trees(n)
    task = make_task(system)
    packed = pack_trees(task, trees)
    found = {config: path for config, path in naive.reachable(system, n).items() if None in config[2]}
    states, _ = states_of(task, packed, n, list(found.values()))
    costs = np.zeros((len(trees), len(states), 4))
    costs_of_states(task, packed.arrays, states, costs)
    for tree, of_tree in zip(trees, costs, strict=True):
        least = naive.least_loss(system, tree)
        for config, given in zip(found, of_tree, strict=True):
            for move in naive.moves(system, config):
                wanted = least(naive.after(system, config, move)) - least(config)
                assert given[move] == wanted, (tree, config, move)


@pytest.mark.parametrize("system", EXACT)
@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.jit)])
def test_the_partial_loss_is_the_least_that_can_be_reached(system, n):
    task = make_task(system)
    found = {config: path for config, path in naive.reachable(system, n).items() if None in config[2]}
    for tree in naive.projective_trees(n):
        packed = pack_trees(task, [tree])
        states, _ = states_of(task, packed, n, list(found.values()))  # the errors so far depend on the tree
        given = np.zeros((1, len(states)))
        partial_losses(task, packed.arrays, states, given)
        least = naive.least_loss(system, tree)
        assert given[0].tolist() == [least(config) for config in found]


def gold_episode(task, packed, i):
    return trajectory(packed, i, None)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("staged", [True, False])
def test_the_expert_builds_the_gold_tree(system, static, staged):
    """Static and dynamic, with labels; all projective trees of up to four words, and all trees with Swap."""
    for n in (1, 2, 3) if numba_config.DISABLE_JIT else (1, 2, 3, 4):
        trees = naive.all_trees(n) if system == "swap" else naive.projective_trees(n)
        labels = [[k % 3 for k in range(n)] for _ in trees]
        task = make_task(system, 3, static=static, staged=staged)
        packed = pack_trees(task, trees, labels)
        for i, tree in enumerate(trees):
            end = gold_episode(task, packed, i).states[-1]
            assert tuple(end.heads[1 : n + 1].tolist()) == tree
            assert end.labels[1 : n + 1].tolist() == labels[i]


@pytest.mark.jit
def test_swap_builds_every_tree_of_five_words():
    trees = naive.all_trees(5)
    task = make_task("swap")
    packed = pack_trees(task, trees)
    for i, tree in enumerate(trees):
        assert tuple(gold_episode(task, packed, i).states[-1].heads[1:6].tolist()) == tree


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("staged", [True, False])
def test_whatever_is_done_ends_in_a_tree_with_one_root(system, staged):
    """Random policies, on sentences of up to twelve words."""
    task = make_task(system, 3, staged=staged)
    trees = [tuple(range(n)) for n in range(1, 13)]
    packed = pack_trees(task, trees)
    for seed in range(2 if numba_config.DISABLE_JIT else 40):
        weights = np.random.default_rng(seed).normal(size=(1, 64, task.table_width)).astype(np.float32)
        decoded = decode(packed, weights)
        for i, tree in enumerate(trees):
            heads = tuple(decoded.state(i).heads[1 : len(tree) + 1].tolist())
            assert heads.count(0) == 1
            assert all(naive._reaches_root(heads, word) for word in range(1, len(tree) + 1)), heads
            assert system == "swap" or naive.is_projective(heads)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("staged", [True, False])
def test_a_wrong_label_costs_its_weight_where_the_head_is_right(weight, staged):
    task = make_task("arc-hybrid", 2, staged=staged, label_weight=weight)
    packed = pack_trees(task, [(2, 0, 2)], [[0, 1, 1]])
    x = packed.instance(0)
    plain = task.plain()
    state = task.state_view(np.zeros(task.state_size(3), np.int32), 3)
    plain.initial(x, state)
    plain.step(x, state, 0)
    actions, costs = np.zeros(8, np.int32), np.zeros(8)
    if staged:
        plain.step(x, state, 1)  # Left-Arc: the label comes next
    n = plain.actions(x, state, actions)
    plain.expert_costs(x, state, actions, n, costs)
    offered = dict(zip(actions[:n].tolist(), costs[:n].tolist(), strict=True))
    assert offered == ({4: 0.0, 5: weight} if staged else {0: 2.0, 2: 0.0, 4: weight})
