from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dependency.helpers import make_task, pack_trees
from tests.examples import examples
from treewright.dependency.configuration import PENDING
from treewright.dependency.systems import find_system
from treewright.dependency.task import parsing_task
from treewright.dependency.templates import BASIC, DISTANCES, FEATURE_SETS, PLACES, RICH, RICH_LABELS, Templates
from treewright.errors import ConfigError

ATTRIBUTES = ("w", "m", "t", "u", "f", "wt", "g", "s", "c", "l", "vl", "vr", "sl", "sr")
OF_MOVES = [f"{p}.{a}" for p in PLACES if p[0] in "sb" for a in ATTRIBUTES] + ["s0b0.d", "s1s0.d"]
OF_LABELS = [f"{p}.{a}" for p in PLACES for a in ATTRIBUTES] + list(DISTANCES)


def templates_over(atoms):
    return st.lists(st.lists(st.sampled_from(atoms), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=6)


def test_the_lectures_templates():
    # Fig. 14.9: one word, two words; its repetitions are left out
    one = {"s0.w", "s0.t", "s0.wt", "s1.w", "s1.t", "s1.wt", "b0.w", "b0.t", "b0.wt"}
    two = {"s0.w s1.w", "s0.t s1.t", "s0.t b0.w", "s0.t s1.wt", "s0.w s1.wt", "s0.wt s1.t"}
    assert set(BASIC) == one | two
    assert FEATURE_SETS["basic"].moves == BASIC


def test_the_rich_set_looks_at_what_the_issue_of_features_is():
    seen = {atom.split(".")[1] for t in (*RICH, *RICH_LABELS) for atom in t.split()}
    assert {"w", "t", "m", "f", "g", "s", "d", "l", "vl", "vr", "sl", "sr"} <= seen
    assert {"s0l", "s0r", "s0l2", "s0r2", "b0l", "b0l2"} <= {a.split(".")[0] for t in RICH for a in t.split()}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("s0", "is not an atom"),
        ("s9.w", "no place 's9'"),
        ("s0.x", "no attribute 'x'"),
        ("s0s1.d", "the distances are"),
        ("h.w", "only while a label is chosen"),
        ("dl.w", "only while a label is chosen"),
        ("hd.d", "only while a label is chosen"),
        ("", "has 0 atoms"),
        ("s0.w s0.t s1.w s1.t b0.w", "has 5 atoms"),
    ],
)
def test_what_is_not_a_template_is_said(template, message):
    with pytest.raises(ConfigError, match=message):
        Templates([template])


def test_there_must_be_templates():
    with pytest.raises(ConfigError, match="at least one template"):
        Templates([])


def test_templates_may_be_one_string_and_repeat():
    assert Templates("s0.w").moves == ("s0.w",)
    assert Templates(["s0.w  b0.w", "s0.w b0.w"]).moves == ("s0.w b0.w",)


@given(templates_over(OF_MOVES), templates_over(OF_LABELS))
@examples(60)
def test_any_templates_become_code_that_runs_in_any_state(moves, labels):
    templates = Templates(moves, labels)
    task = parsing_task(find_system("arc-standard"), templates)(2, staged=True).plain()
    packed = pack_trees(task, [(2, 0, 2)], [[0, 1, 0]])
    x = packed.instance(0)
    state = task.state_view(np.zeros(task.state_size(3), np.int32), 3)
    task.initial(x, state)
    out, actions = np.zeros(16, np.int32), np.zeros(9, np.int32)
    seen = set()
    while not task.is_final(x, state):
        n = task.features(x, state, out)
        waiting = state.registers[PENDING] != 0
        assert n == len(templates.labels if waiting else templates.moves)
        assert (out[:n] >= 0).all()
        seen.add((waiting, *out[:n].tolist()))
        task.actions(x, state, actions)
        task.step(x, state, actions[0])
    assert len(seen) > 1


def test_features_differ_where_words_do_and_agree_where_they_do_not():
    task = make_task("arc-hybrid", plain=True)
    packed = pack_trees(task, [(2, 0)])
    x = packed.instance(0)
    state = task.state_view(np.zeros(task.state_size(2), np.int32), 2)
    out, again = np.zeros(9, np.int32), np.zeros(9, np.int32)
    task.initial(x, state)
    task.features(x, state, out)
    task.features(x, state, again)
    assert out.tolist() == again.tolist()
    task.step(x, state, 0)
    task.features(x, state, again)
    assert out[:2].tolist() != again[:2].tolist()
