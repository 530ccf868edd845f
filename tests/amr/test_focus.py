"""Focused costing: roll-outs are cut after whole actions, not after the halves in which the parser chooses them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.amr.little_corpus import SENTENCES
from treewright.amr import AMRParser
from treewright.amr.transitions import PENDING
from treewright.policies import LinearPolicy
from treewright.search import interpreted
from treewright.search.engine import LEARNED, Episode, roll_out
from treewright.search.running import prepare, scratch_for

_roll_out = interpreted(roll_out)


@pytest.fixture(scope="module")
def packed():
    parser = AMRParser()
    _, encoder, examples = parser._encoded(SENTENCES[:4])
    return encoder.pack(examples, parser._options(open_to_gold=True))[0].plain()


def start(packed, i, decisions):
    """An episode after the first decisions that are offered."""
    task, x, n = packed.task, packed.instance(i), int(packed.lengths[i])
    buffer = np.zeros(task.state_size(n), np.int32)
    state = task.state_view(buffer, n)
    task.initial(x, state)
    for _ in range(decisions):
        task.step(x, state, first(task, x, state))
    return Episode(i, x, buffer, state, int(task.steps_bound(n)))


def offered(task, x, state):
    out = np.zeros(task.n_actions, np.int32)
    return out[: int(task.actions(x, state, out))]


def first(task, x, state):
    return int(offered(task, x, state)[0])


def expert(task, x, state):
    actions = offered(task, x, state)
    costs = np.zeros(len(actions))
    task.expert_costs(x, state, actions, len(actions), costs)
    return int(actions[costs.argmin()])


def loss_by_hand(task, episode, cut):
    """A policy that takes what is offered first, as one without weights does, for ``cut`` whole actions."""
    x, state = episode.x, episode.state
    if state.registers[PENDING]:  # the action that was begun is not one of them
        while state.registers[PENDING]:
            task.step(x, state, first(task, x, state))
    for _ in range(cut):
        while not task.is_final(x, state):
            task.step(x, state, first(task, x, state))
            if not state.registers[PENDING]:
                break
    while not task.is_final(x, state):
        task.step(x, state, expert(task, x, state))
    return float(task.loss(x, state))


@pytest.mark.parametrize("decisions", [0, 1, 2, 3, 5])
def test_roll_outs_are_cut_after_whole_actions(packed, decisions):
    scorer = prepare(LinearPolicy(np.zeros((1, 16, 1), np.float32)), packed, np.zeros(1, np.int64))
    differ = 0
    for i in range(len(packed)):
        whole = _roll_out(
            packed.task, start(packed, i, decisions), scorer, LEARNED, 0, scratch_for(scorer, packed.task)
        )
        for cut in (1, 2, 3):
            scratch = scratch_for(scorer, packed.task)
            _, loss = _roll_out(packed.task, start(packed, i, decisions), scorer, LEARNED, cut, scratch)
            assert loss == loss_by_hand(packed.task, start(packed, i, decisions), cut)
            differ += loss != whole[1]
    assert differ
