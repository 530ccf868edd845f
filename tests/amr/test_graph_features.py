"""Features of states and actions: how many, how large, and what they tell apart."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.amr.transition_twin import chain, offered, star, trees, world
from tests.examples import examples
from treewright.amr.features import MOST_FEATURES
from treewright.amr.transitions import (
    KINDS,
    LEMMA,
    NEXT_EDGE,
    NEXT_NODE,
    PENDING,
    REATTACH,
    REENTRANCE,
    action_of,
    kind_of,
)
from treewright.search import interpreted

action_of, kind_of = interpreted(action_of), interpreted(kind_of)
ROOM = 2000  # more than is declared, so that what is too much is seen


def features_of(task, x, state):
    out = np.full(ROOM, -1, np.int64)
    return out[: int(task.features(x, state, out))].tolist()


def action_features_of(task, x, state, action):
    out = np.full(ROOM, -1, np.int64)
    return out[: int(task.action_features(x, state, action, out))].tolist()


def check(task, x, state, actions):
    """Within what is declared, each a number below 2³¹, and none left out."""
    found = features_of(task, x, state)
    for some in [found, *(action_features_of(task, x, state, action) for action in actions)]:
        assert len(some) <= MOST_FEATURES
        assert all(0 <= feature < 2**31 for feature in some)
    targets = state.registers[PENDING] in (REATTACH + 1, REENTRANCE + 1)
    assert bool(found) != targets  # the number of a node says nothing, so κ has features of its own
    return found


@examples(15)
@given(trees(5), st.randoms(use_true_random=False))
def test_features_of_random_episodes(heads, chance):
    task, x, state, _, _ = world(heads)
    while not task.is_final(x, state):
        actions = offered(task, x, state)
        check(task, x, state, chance.sample(actions, min(len(actions), 3)))
        before = [part.copy() for part in state]
        features_of(task, x, state)
        assert all(np.array_equal(one, two) for one, two in zip(before, state, strict=True))  # looking changes nothing
        task.step(x, state, chance.choice(actions))


@pytest.mark.parametrize(("heads", "steps"), [(chain(200), 60), (star(200), 450)], ids=["chain", "star"])
def test_two_hundred_words(heads, steps):
    """The nodes with the most children, and the most deleted and merged ones, have no more features than others."""
    chance = random.Random(0)
    task, x, state, _, _ = world(heads, reach=2)
    deleting = True
    for _ in range(steps):
        actions = offered(task, x, state)
        if state.registers[PENDING] == 0:
            check(task, x, state, actions[:1])
            names = {KINDS[kind_of(action)]: action for action in actions}
            wanted = ["Delete", "NextNode"] if deleting else ["NextNode"]
            wanted = ["NextEdge", *wanted] if chance.random() < 0.9 else ["ReplaceHead", *wanted, "NextEdge"]
            wanted.append("Done")
            action = next(names[name] for name in wanted if name in names)
            deleting = not deleting
        else:
            check(task, x, state, actions[:2])
            action = chance.choice(actions)
        task.step(x, state, action)
        if task.is_final(x, state):
            break


def state_after(*actions, heads=(-1, 0, 0)):
    task, x, state, _, _ = world(list(heads))
    for action in actions:
        assert action in offered(task, x, state)
        task.step(x, state, action)
    return task, x, state


NODE = (action_of(NEXT_NODE, 0), action_of(NEXT_NODE, LEMMA + 1))


def test_features_tell_situations_apart():
    first = set(features_of(*state_after()))
    second = set(features_of(*state_after(*NODE)))  # another word
    third = set(features_of(*state_after(*NODE, *NODE)))  # an edge
    choosing = set(features_of(*state_after(*NODE, *NODE, action_of(NEXT_EDGE, 0))))  # its role
    assert first - second
    assert len(second & third) <= 1
    assert len(third & choosing) <= 1


def test_features_tell_what_was_done_below():
    """A role that was given, and a child that was deleted, are seen from above."""
    edge = (action_of(NEXT_EDGE, 0), action_of(NEXT_EDGE, 1))
    other = (action_of(NEXT_EDGE, 0), action_of(NEXT_EDGE, 2))
    delete = action_of(KINDS.index("Delete"), 0)
    one = set(features_of(*state_after(*NODE, *NODE, *edge, *edge)))
    two = set(features_of(*state_after(*NODE, *NODE, *other, *edge)))
    three = set(features_of(*state_after(delete, *NODE, *edge)))
    assert one - two
    assert one - three
    assert three - one


def test_concepts_and_targets_have_features_of_their_own():
    task, x, state = state_after(NODE[0])
    found = {tuple(action_features_of(task, x, state, action)) for action in offered(task, x, state)}
    assert len(found) > 1
    task, x, state = state_after(*NODE, *NODE, action_of(REATTACH, 0))
    targets = offered(task, x, state)
    found = {tuple(action_features_of(task, x, state, action)) for action in targets}
    assert len(found) == len(targets)
