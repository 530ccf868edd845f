"""Examples in flat arrays: what is written is read again, whatever the sizes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.search.examples import (
    add_example,
    dense_costs,
    fits,
    join_examples,
    new_log,
    no_examples,
    read_example,
    spare_log,
    with_room,
)
from treewright.search.policy import Scratch

ACTIONS, OBSERVED, FURTHER = 4, 5, 3


def new_scratch(structured):
    return Scratch(
        np.zeros(ACTIONS, np.int32),
        np.zeros(ACTIONS),
        np.zeros(ACTIONS, np.float32),
        np.zeros(ACTIONS + 1, np.float32),
        np.zeros(OBSERVED, np.int32),
        np.zeros(ACTIONS * FURTHER if structured else 0, np.int32),
        np.zeros(ACTIONS + 1, np.int64),
        np.zeros(FURTHER, np.int32),
        np.zeros(2, np.int64),
    )


@st.composite
def states(draw, structured):
    """What was observed, the actions, their costs and their further features."""
    actions = draw(st.permutations(range(ACTIONS)))[: draw(st.integers(1, ACTIONS))]
    if draw(st.booleans()):
        actions = list(range(len(actions)))
    own = [draw(st.lists(st.integers(0, 99), max_size=FURTHER)) if structured else [] for _ in actions]
    costs = [draw(st.sampled_from([0.0, 0.5, 1.0])) for _ in actions]
    return draw(st.lists(st.integers(-1, 2**31 - 1), max_size=OBSERVED)), list(actions), costs, own


def put(scratch, observed, actions, costs, own):
    scratch.observed[: len(observed)], scratch.actions[: len(actions)] = observed, actions
    scratch.costs[: len(costs)] = costs
    if len(scratch.extra):
        scratch.extra_at[1 : len(own) + 1] = np.cumsum([len(features) for features in own])
        scratch.extra[: scratch.extra_at[len(own)]] = [feature for features in own for feature in features]
    return len(observed), len(actions)


def written(some, structured, size=2, log=None):
    log, scratch = log or new_log(size), new_scratch(structured)
    for state in some:
        observed, n = put(scratch, *state)
        if not fits(log, observed, n, scratch.extra_at[n]):
            log = with_room(log, observed, n, scratch.extra_at[n])
        assert fits(log, observed, n, scratch.extra_at[n])
        add_example(log, scratch, observed, n)
    return log.written(structured)


@given(st.lists(states(True), max_size=9))
@examples(30)
def test_a_log_grows_until_an_example_fits_and_keeps_what_it_has(some):
    log, scratch = new_log(2), new_scratch(True)
    for state in some:
        observed, n = put(scratch, *state)
        while not fits(log, observed, n, scratch.extra_at[n]):
            before, log = log, log.larger()
            assert sum(map(len, log.examples)) > sum(map(len, before.examples))
        add_example(log, scratch, observed, n)
    for one, two in zip(log.written(True), written(some, True), strict=True):
        np.testing.assert_array_equal(one, two)


@given(st.booleans().flatmap(lambda s: st.tuples(st.just(s), *[st.lists(states(s), max_size=5)] * 2)))
@examples(30)
def test_a_log_that_is_used_again_has_only_the_new_examples(case):
    structured, old, new = case
    logs = [new_log(200)]
    log = spare_log(logs, 200)
    written(old, structured, log=log)
    assert logs == []
    logs.append(log)
    for one, two in zip(written(new, structured, log=spare_log(logs, 1)), written(new, structured), strict=True):
        np.testing.assert_array_equal(one, two)
    assert len(spare_log(logs, 7).examples.actions) == 7


def read(examples, structured):
    found, scratch = [], new_scratch(structured)
    for e in range(examples.size):
        n, size = read_example(examples, e, scratch)
        at = scratch.extra_at
        own = [scratch.extra[at[k] : at[k + 1]].tolist() for k in range(n)]
        found.append((scratch.observed[:size].tolist(), scratch.actions[:n].tolist(), scratch.costs[:n].tolist(), own))
    return found


@given(st.booleans().flatmap(lambda s: st.tuples(st.just(s), st.lists(states(s), max_size=9), st.integers(0, 9))))
@examples(60)
def test_what_is_written_is_read_again(given):
    structured, some, split = given
    examples = written(some, structured)
    assert examples.size == len(some)
    assert read(examples, structured) == some
    parts = [written(part, structured) for part in (some[:split], some[split:])]
    assert read(join_examples(parts), structured) == some


def test_an_example_with_all_actions_does_not_list_them():
    examples = written([([1], [0, 1, 2, 3], [0.0] * 4, [[]] * 4), ([1], [0, 1, 2], [0.0] * 3, [[]] * 3)], False)
    assert examples.actions.tolist() == [0, 1, 2]
    assert examples.unusual.tolist() == []


@given(st.lists(states(False), max_size=6))
@examples(40)
def test_dense_costs_are_those_of_the_admissible_actions(some):
    admissible, costs = dense_costs(written(some, False), ACTIONS)
    assert admissible.shape == costs.shape == (len(some), ACTIONS)
    for e, (_, actions, expected, _) in enumerate(some):
        assert np.flatnonzero(admissible[e]).tolist() == sorted(actions)
        assert costs[e, actions].tolist() == expected


def test_no_examples_are_joined_to_none():
    assert join_examples([no_examples(), no_examples()]).size == 0
