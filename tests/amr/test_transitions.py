"""The transition system against its twin, and that every policy comes to an end with a well-formed graph."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.amr.transition_twin import (
    agree,
    chain,
    generous_encoder,
    is_acyclic,
    offered,
    options,
    star,
    trees,
    words_of,
    world,
)
from treewright.amr.concepts import FORMS
from treewright.amr.encoding import Example
from treewright.amr.transitions import (
    DELETE,
    DONE,
    EXTRA,
    INSERT,
    INSERT_LEAF,
    KEEP,
    KINDS,
    LEMMA,
    NEXT_EDGE,
    NEXT_NODE,
    NODES,
    REATTACH,
    REENTRANCE,
    REPLACE_HEAD,
    STEPS,
    SWAP,
    action_of,
    kind_of,
    param_of,
)
from treewright.corpora import Graph
from treewright.search import interpreted

action_of, kind_of, param_of = interpreted(action_of), interpreted(kind_of), interpreted(param_of)


def both(kind, param):
    """A choice and its parameter."""
    return action_of(kind, 0), action_of(kind, param + 1)


def names(actions):
    return [KINDS[kind_of(action)] for action in actions]


@settings(max_examples=60)
@given(trees(), st.randoms(use_true_random=False), st.integers(1, 6))
def test_states_and_actions_are_those_of_the_twin(heads, chance, reach):
    """After every action of random episodes: the graph, σ, β, and which kinds of actions and which κ are offered."""
    task, x, state, twin, _ = world(heads, reach=reach)
    room, extra_room = len(state.parent), len(state.extra) // 3
    agree(twin, state)
    while not task.is_final(x, state):
        actions = offered(task, x, state)
        kinds = twin.kinds(options(reach=reach), room, extra_room)
        assert set(names(actions)) - {"Insert", "InsertLeaf"} == kinds - {"Insert", "InsertLeaf"}
        assert set(names(actions)) <= kinds  # a concept in use nearby is not inserted, so there may be none
        if kinds == {"Target"}:
            assert [param_of(action) - 1 for action in actions] == [node.number for node in twin.targets(reach, 4)]
        if twin.pending == "label":
            assert all(
                param_of(action) % 2 == 1 for action in actions
            )  # roles of further edges are not inverse, and written with 1 added
        action = chance.choice(actions)
        task.step(x, state, action)
        twin.act(action)
        agree(twin, state)
    assert twin.top is None


# ---- every episode ends


def check_graph(task, state, graph_of):
    """What is promised of any final state."""
    graph = graph_of(state)
    graph.validate()
    assert is_acyclic(graph)
    again = Graph.from_penman(graph.to_penman())
    assert again.top == graph.top
    assert set(again.triples()) == set(graph.triples())
    return graph


def play(heads, choose, **settings):
    """An episode whose actions are chosen by a function; how many steps it took, of the declared bound."""
    task, x, state, _, graph_of = world(heads, **settings)
    bound = task.steps_bound(len(heads))
    steps = 0
    while not task.is_final(x, state):
        actions = offered(task, x, state)
        assert actions, "a state that is not final offers no action"
        task.step(x, state, choose(state, actions))
        steps += 1
        assert steps <= bound
    assert steps == state.registers[STEPS]
    return check_graph(task, state, graph_of), steps


@settings(max_examples=60)
@given(trees(), st.randoms(use_true_random=False), st.booleans())
def test_any_policy_ends_with_a_graph(heads, chance, reentrance):
    graph, _ = play(heads, lambda state, actions: chance.choice(actions), reentrance=int(reentrance))
    if not reentrance:
        assert len(graph.edges) == len(graph.variables) - 1


@pytest.mark.parametrize("label", ['"two words"', "16:00", '"http://a.b"', '"#"', '"a~1"', "#"])
def test_any_label_can_be_the_concept_of_a_node(label):
    """Also one that PENMAN notation would take for something else."""
    example = Example(words_of([-1]))
    encoder = generous_encoder([example], labels=[label], inserts=[], leaves=[])
    task, x, state, _, graph_of = world([-1], example=example, encoder=encoder)
    for action in (*both(NEXT_NODE, len(FORMS)), action_of(DONE, 0)):
        task.step(x, state, action)
    check_graph(task, state, graph_of)


ADVERSARIES = {
    "insert": (INSERT, INSERT_LEAF, REENTRANCE),
    "leaves": (INSERT_LEAF, INSERT, REENTRANCE),
    "reattach": (REATTACH, SWAP, INSERT, INSERT_LEAF, REENTRANCE),
    "swap": (SWAP, REATTACH, INSERT, INSERT_LEAF, REENTRANCE),
    "reentrance": (REENTRANCE, NEXT_EDGE, NEXT_NODE),
    "replace": (REPLACE_HEAD, DELETE, INSERT),
}


def preferring(kinds, chance):
    """The first of these kinds that is offered; its parameter is left to chance."""

    def choose(state, actions):
        for kind in kinds:
            if of_kind := [action for action in actions if kind_of(action) == kind]:
                return chance.choice(of_kind)
        return chance.choice(actions)

    return choose


@pytest.mark.parametrize("name", ADVERSARIES)
@settings(max_examples=8)
@given(trees(), st.integers(0, 99))
def test_adversaries_end(name, heads, seed):
    play(heads, preferring(ADVERSARIES[name], random.Random(seed)))


@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize("heads", [chain(1), chain(25), star(12)], ids=["one word", "chain", "star"])
def test_adversaries_end_on_chains_and_stars(name, heads):
    play(heads, preferring(ADVERSARIES[name], random.Random(1)), reach=3)


def test_the_bound_is_far_from_what_adversaries_reach():
    """The docstring counts 27 steps for each of the 3n + 4 nodes that there can be."""
    worst = 0.0
    for heads in (chain(3), chain(6), star(6)):
        for kinds in ADVERSARIES.values():
            _, steps = play(heads, preferring(kinds, random.Random(0)))
            worst = max(worst, steps / (3 * len(heads) + 4))
    assert 4 < worst < 27


def test_one_word_is_never_deleted():
    task, x, state, _, _ = world([-1])
    assert "Delete" not in names(offered(task, x, state))


def test_no_node_is_inserted_beside_one_with_its_concept():
    """§4.3.6: nor above or below, to the second degree."""
    task, x, state, _, _ = world([-1])
    for action in (*both(INSERT, 1), *both(NEXT_NODE, LEMMA), *both(NEXT_EDGE, 0), action_of(INSERT, 0)):
        assert action in offered(task, x, state)
        task.step(x, state, action)
    assert [int(param_of(action)) - 1 for action in offered(task, x, state)] == [0, 2]  # above the node that was new


@pytest.mark.parametrize(("name", "field", "register"), [("insert", "parent", NODES), ("reentrance", "extra", EXTRA)])
def test_arrays_become_full_and_no_fuller(name, field, register):
    """As many nodes as there is room for, and as many edges in the second phase."""
    size = 1 if field == "parent" else 3
    fullest = 0.0
    for seed in range(5):
        task, x, state, _, _ = world(chain(4), span=9)
        choose = preferring(ADVERSARIES[name], random.Random(seed))
        while not task.is_final(x, state):
            task.step(x, state, choose(state, offered(task, x, state)))
        filled = size * int(state.registers[register]) / len(getattr(state, field))
        assert filled <= 1.0
        fullest = max(fullest, filled)
    assert fullest > 0.2


def test_a_node_that_comes_back_keeps_its_concept():
    task, x, state, _, _ = world([-1, 0])
    actions = (*both(NEXT_NODE, LEMMA), action_of(SWAP, 0), *both(NEXT_NODE, LEMMA), *both(NEXT_EDGE, 2))
    for action in actions:
        assert action in offered(task, x, state)
        task.step(x, state, action)
    assert (int(state.parent[0]), int(state.parent[1])) == (1, -1)
    task.step(x, state, action_of(NEXT_NODE, 0))
    assert offered(task, x, state) == [action_of(NEXT_NODE, KEEP + 1)]


def test_only_steps_change_a_state():
    """What :func:`treewright.search.check_task` asks of every task."""
    chance = random.Random(0)
    task, x, state, _, _ = world(chain(4))
    while not task.is_final(x, state):
        before = [part.copy() for part in state]
        actions = offered(task, x, state)
        for name, one, two in zip(state._fields, before, state, strict=True):
            assert np.array_equal(one, two), name
        task.step(x, state, chance.choice(actions))
