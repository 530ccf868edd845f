"""The transition system against its twin, and that every policy comes to an end with a well-formed graph."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
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
from tests.examples import examples
from treewright.amr.concepts import FORMS
from treewright.amr.encoding import Example
from treewright.amr.transitions import (
    ACTIONS,
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


@examples(60)
@given(
    trees(), st.randoms(use_true_random=False), st.integers(1, 6), st.sampled_from([1, 2, 3]), st.sampled_from([0, 1])
)
def test_states_and_actions_are_those_of_the_twin(heads, chance, reach, swaps, joint):
    """After every action of random episodes: the graph, σ, β, and which kinds of actions and which κ are offered."""
    settings = {"reach": reach, "swaps": swaps, "joint": joint}
    task, x, state, twin, _ = world(heads, **settings)
    room, extra_room = len(state.parent), len(state.extra) // 3
    agree(twin, state)
    while not task.is_final(x, state):
        actions = offered(task, x, state)
        kinds = twin.kinds(options(**settings), room, extra_room)
        params = [action for action in actions if kind_of(action) in (REATTACH, REENTRANCE) and param_of(action) > 0]
        assert set(names(actions)) - {"Insert", "InsertLeaf"} == kinds - {"Insert", "InsertLeaf"}
        assert set(names(actions)) <= kinds  # a concept in use nearby is not inserted, so there may be none
        if params:
            assert joint
            assert [param_of(action) - 1 for action in params] == [node.number for node in twin.targets(reach, 4)]
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
    assert state.registers[ACTIONS] <= steps
    return check_graph(task, state, graph_of), steps


@examples(60)
@given(trees(), st.randoms(use_true_random=False), st.booleans(), st.sampled_from([0, 1]))
def test_any_policy_ends_with_a_graph(heads, chance, reentrance, joint):
    graph, _ = play(heads, lambda state, actions: chance.choice(actions), reentrance=int(reentrance), joint=joint)
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
@examples(8)
@given(trees(), st.integers(0, 99), st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_adversaries_end(name, heads, seed, family, joint):
    """Also with the rules of the thesis."""
    rules = {"swaps": 2, "family": 1} if family else {}
    play(heads, preferring(ADVERSARIES[name], random.Random(seed)), joint=joint, **rules)


@pytest.mark.slow
@pytest.mark.parametrize("name", ADVERSARIES)
@pytest.mark.parametrize("heads", [chain(1), chain(25), star(12)], ids=["one word", "chain", "star"])
def test_adversaries_end_on_chains_and_stars(name, heads):
    play(heads, preferring(ADVERSARIES[name], random.Random(1)), reach=3)


def test_the_bound_is_far_from_what_adversaries_reach():
    """The docstring counts 32 steps for each of the 3n + 4 nodes that there can be."""
    worst = 0.0
    for heads in (chain(3), chain(6), star(6)):
        for kinds in ADVERSARIES.values():
            for swaps in (2, 3):
                _, steps = play(heads, preferring(kinds, random.Random(0)), swaps=swaps)
                worst = max(worst, steps / (3 * len(heads) + 4))
    assert 4 < worst < 32


def test_one_word_is_never_deleted():
    task, x, state, _, _ = world([-1])
    assert "Delete" not in names(offered(task, x, state))


def test_a_concept_is_inserted_once_for_a_word():
    task, x, state, _, _ = world([-1])
    for action in (*both(INSERT, 1), *both(NEXT_NODE, LEMMA), *both(NEXT_EDGE, 0), action_of(INSERT, 0)):
        assert action in offered(task, x, state)
        task.step(x, state, action)
    assert [int(param_of(action)) - 1 for action in offered(task, x, state)] == [0, 2]  # above the node that was new


def test_the_insert_rule_of_the_thesis():
    """§4.3.6: no concept that a parent, child, grandparent or grandchild of σ₀ has; other words do not matter."""
    # 0 — 1 — 2 — 3 — 4, from the top; each gets the concept see-01 but for the middle one, which stands on top of σ
    task, x, state, _, _ = world(chain(5), family=1)
    see, thing, name = 0, 1, 2

    def inserts(concepts):
        for node, concept in enumerate(concepts):
            state.concept[node] = concept
        state.registers[0] = 3  # the words 0, 1 and 2 are on the stack
        state.role[3] = 0
        return {int(param_of(action)) - 1 for action in interpreted_parameters(task, x, state, INSERT)}

    assert inserts([-1, -1, -1, -1, -1]) == {see, thing, name}
    for near in (0, 1, 3, 4):
        assert inserts([thing if node == near else -1 for node in range(5)]) == {see, name}
    assert inserts([see, -1, -1, thing, -1]) == {name}
    task, x, state, _, _ = world(chain(7), family=1)  # a node that is three edges away may have it
    state.registers[0] = 4
    state.role[4] = 0
    state.concept[0] = state.concept[6] = thing
    assert thing in {int(param_of(action)) - 1 for action in interpreted_parameters(task, x, state, INSERT)}


def interpreted_parameters(task, x, state, kind):
    """The parameters of an action that is chosen in a state; the state stays as it is."""
    before = state.registers.copy()
    task.step(x, state, action_of(kind, 0))
    found = offered(task, x, state)
    state.registers[:] = before
    return found


def test_a_swapped_edge_is_not_swapped_back():
    """§4.3.6. The node that comes to the top has another Swap for its other children."""
    task, x, state, _, _ = world([-1, 0, 0])
    for action in (*both(NEXT_NODE, LEMMA), *both(NEXT_NODE, LEMMA), action_of(SWAP, 0)):
        assert action in offered(task, x, state)
        task.step(x, state, action)
    assert (int(state.parent[0]), int(state.parent[1])) == (1, -1)
    for action in (*both(NEXT_EDGE, 2), *both(NEXT_NODE, LEMMA)):  # the edge from 0 to 2; then 0
        assert action in offered(task, x, state)
        task.step(x, state, action)
    assert "Swap" not in names(offered(task, x, state))  # 1 is σ₀, and its only child is 0
    again, y, other, _, _ = world([-1, 0, 0], swaps=1)  # models of earlier versions allow it
    for action in (
        *both(NEXT_NODE, LEMMA),
        *both(NEXT_NODE, LEMMA),
        action_of(SWAP, 0),
        *both(NEXT_EDGE, 2),
        *both(NEXT_NODE, LEMMA),
    ):
        again.step(y, other, action)
    assert "Swap" in names(offered(again, y, other))


@examples(40)
@given(trees(), st.randoms(use_true_random=False), st.sampled_from([2, 3]))
def test_no_pair_of_nodes_is_swapped_back(heads, chance, swaps):
    """In random episodes that like Swap, an edge that Swap made is never the edge that Swap reverses."""
    task, x, state, twin, _ = world(heads, swaps=swaps)
    made = set()
    choose = preferring((SWAP,), chance)
    while not task.is_final(x, state):
        action = choose(state, offered(task, x, state))
        pair = (twin.top, twin.buffer[0]) if kind_of(action) == SWAP else None
        if kind_of(action) == REATTACH or twin.pending == "Reattach":
            made = {(above, below) for above, below in made if below is not twin.buffer[0]}
        if pair is not None:
            assert pair not in made
            made.add(pair[::-1])
        task.step(x, state, action)
        twin.act(action)


def test_an_action_counts_once_with_its_parameter_and_done_does_not_count():
    """§5.2.3: T is the number of actions."""
    task, x, state, _, _ = world([-1, 0])
    counts = []
    for action in (
        *both(NEXT_NODE, LEMMA),
        *both(NEXT_EDGE, 2),
        *both(INSERT_LEAF, 0),
        *both(NEXT_NODE, LEMMA),
        *[action_of(DONE, 0)] * 3,
    ):
        assert action in offered(task, x, state)
        task.step(x, state, action)
        counts.append(int(state.registers[ACTIONS]))
    assert counts == [0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4]
    assert task.is_final(x, state)


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
