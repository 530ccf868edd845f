"""The oracles of all transition systems against exhaustive search, on all short trees and in every configuration.

Nothing here knows a system: a new one, built in or installed, is tested as soon as it is registered.
"""

from __future__ import annotations

from functools import cache
from graphlib import TopologicalSorter
from itertools import count

import numpy as np
import pytest
from numba import config as numba_config

from tests.dependency import naive
from tests.dependency.helpers import SYSTEMS, make_task, pack_trees
from treewright.dependency.configuration import DEPTH, FRONT, WRONG_HEADS, WRONG_LABELS
from treewright.dependency.systems import find_system
from treewright.search import decode, interpreted, kernel, trajectory

EXACT = [system for system in SYSTEMS if system.costs is not None]
KNOWN_LOSS = [system for system in SYSTEMS if system.least_loss is not None]


def by_name(system):
    return system.name


def trees_of(system, n):
    """All trees that a system can build."""
    return naive.projective_trees(n) if system.projective else naive.all_trees(n)


class Configurations:
    """All configurations of sentences of n words that a system reaches, each with its moves, by trying everything."""

    def __init__(self, system, n):
        task = make_task(system)
        [tree] = naive.projective_trees(n)[:1]
        x = pack_trees(task, [tree]).instance(0)
        plain, transitions = task.plain(), task.transitions.plain()
        is_late = interpreted(system.is_late) if system.is_late else lambda x, state: False
        start = np.zeros(task.state_size(n), np.int32)
        plain.initial(x, task.state_view(start, n))
        numbers = {start.tobytes(): 0}
        self.states = [start]
        self.moves = []  # of each configuration: move → (the next one, the arc or None); empty if it is final
        self.is_final = []
        for k in count():
            if k == len(self.states):
                break
            state = task.state_view(self.states[k], n)
            self.is_final.append(bool(plain.is_final(x, state)))
            bits = 0 if self.is_final[k] else int(transitions.admissible(x, state))
            self.moves.append({})
            for move in (m for m in range(len(system.moves)) if bits >> m & 1):
                arc = None
                if system.moves[move].makes_arc:
                    head, dependent = map(int, transitions.arc_of(x, state, move))
                    arc = (-1 if is_late(x, state) else head, dependent)  # a late arc is always wrong
                after = self.states[k].copy()
                view = task.state_view(after, n)
                transitions.make_move(x, view, move, 0)
                view.registers[[WRONG_HEADS, WRONG_LABELS]] = 0  # they depend on the tree
                if after.tobytes() not in numbers:
                    numbers[after.tobytes()] = len(self.states)
                    self.states.append(after)
                self.moves[k][move] = numbers[after.tobytes()], arc

    def costs(self, trees):
        """The least number of errors from each configuration on, for each tree; and what each move adds to it."""
        golds = np.array([(0, *tree) for tree in trees])
        least, costs = {}, {}
        successors = {k: {to for to, _ in moves.values()} for k, moves in enumerate(self.moves)}
        for k in TopologicalSorter(successors).static_order():
            after = {
                move: least[to] + (0 if arc is None else golds[:, arc[1]] != arc[0])
                for move, (to, arc) in self.moves[k].items()
            }
            least[k] = np.min([*after.values()], axis=0) if after else np.zeros(len(trees), np.int64)
            costs[k] = {move: loss - least[k] for move, loss in after.items()}
        return least, costs


configurations = cache(Configurations)


@cache
def judge(system):
    """A compiled function that asks the oracle: what each move costs in each state, and what is lost in any case."""
    move_costs = make_task(system).transitions.move_costs

    @kernel
    def ask(task, corpus, states, costs, losses):
        for i in range(corpus.n.shape[0]):
            x = task.instance_view(corpus, i)
            for k in range(states.shape[0]):
                state = task.state_view(states[k], np.int64(corpus.n[i]))
                if not task.is_final(x, state):
                    move_costs(x, state, costs[i, k])
                    losses[i, k] = task.partial_loss(x, state)

    return ask


def compared(system, n):
    """Trees, some at a time, with what the oracle says and what exhaustive search finds: costs and losses."""
    found, trees, task = configurations(system, n), trees_of(system, n), make_task(system)
    states = np.array(found.states)
    for first in range(0, len(trees), 100):
        some = trees[first : first + 100]
        costs = np.zeros((len(some), len(states), len(system.moves)))
        losses = np.zeros((len(some), len(states)))
        judge(system)(task, pack_trees(task, some).arrays, states, costs, losses)
        yield (costs, losses), found.costs(some)


def up_to_five_words(systems):
    """Each system with lengths: up to five words, or four where arcs may cross, of which there are many more trees."""
    return [
        pytest.param(system, n, marks=[pytest.mark.jit] if n > 3 else [], id=f"{system.name}-{n}")
        for system in systems
        for n in range(1, 6 if system.projective else 5)
    ]


@pytest.mark.parametrize(("system", "n"), up_to_five_words(EXACT))
def test_the_dynamic_oracle_is_exact(system, n):
    """The cost of a move is the least loss after it minus the least loss before it."""
    found = configurations(system, n)
    assert all(moves or final for moves, final in zip(found.moves, found.is_final, strict=True))
    for (costs, _), (_, wanted) in compared(system, n):
        for k, moves in enumerate(found.moves):
            for move in moves:
                assert np.array_equal(costs[:, k, move], wanted[k][move]), (found.states[k], move)


@pytest.mark.parametrize(("system", "n"), up_to_five_words(KNOWN_LOSS))
def test_the_partial_loss_is_the_least_that_can_be_reached(system, n):
    found = configurations(system, n)
    for (_, losses), (wanted, _) in compared(system, n):
        for k, state in enumerate(found.states):
            assert np.array_equal(losses[:, k], wanted[k]), state


@pytest.mark.parametrize("system", [s for s in SYSTEMS if s.name in naive.SYSTEMS], ids=by_name)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_transitions_are_those_of_the_naive_twin(system, n):
    task = make_task(system, plain=True)
    transitions = task.transitions.plain()
    x = pack_trees(task, naive.projective_trees(n)[:1]).instance(0)
    for config, path in naive.reachable(system.name, n).items():
        state = task.state_view(np.zeros(task.state_size(n), np.int32), n)
        task.initial(x, state)
        for move in path:
            transitions.make_move(x, state, move, 0)
        stack, buffer, heads = config
        assert tuple(state.stack[: state.registers[DEPTH]].tolist()) == stack
        assert tuple(state.buffer[state.registers[FRONT] : n].tolist()) == buffer
        assert tuple(state.heads[1 : n + 1].tolist()) == tuple(-1 if h is None else h % naive.LATE for h in heads)
        if None in heads:
            offered = int(transitions.admissible(x, state))
            assert [m for m in range(4) if offered >> m & 1] == sorted(naive.moves(system.name, config))


def gold_episode(task, packed, i):
    return trajectory(packed, i, None)


@pytest.mark.parametrize("system", SYSTEMS, ids=by_name)
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("staged", [True, False])
def test_the_expert_builds_the_gold_tree(system, static, staged):
    """Static and dynamic, with labels; all trees of up to four words that the system can build."""
    for n in (1, 2, 3) if numba_config.DISABLE_JIT else (1, 2, 3, 4):
        trees = trees_of(system, n)
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


@pytest.mark.parametrize("n", [2, 3, pytest.param(4, marks=pytest.mark.jit)])
def test_the_move_that_swap_estimates_to_cost_least_is_nearly_always_right(n):
    """In all configurations of all trees; the test above says that it is always right on the way of the expert."""
    swap, right = find_system("swap"), []
    for (costs, _), (_, wanted) in compared(swap, n):
        for k, moves in enumerate(configurations(swap, n).moves):
            if moves:
                chosen = costs[:, k, list(moves)].argmin(axis=1)
                true_costs = np.array([wanted[k][move] for move in moves])
                right += (true_costs[chosen, np.arange(len(costs))] == 0).tolist()
    assert np.mean(right) > 0.97


@pytest.mark.parametrize("system", SYSTEMS, ids=by_name)
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
            assert not system.projective or naive.is_projective(heads)


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
