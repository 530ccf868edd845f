"""The search space of candidates: an oracle in every state, and a learner that solves it."""

from __future__ import annotations

import numpy as np
import pytest

from treewright.learners import train
from treewright.search import check_task
from treewright.text.choosing import LABEL_PART, STYLE, Choosing, part_array

LABELS = ("NOUN|S", "NOUN|P", "VERB|S", "VERB|P")


class Words(Choosing):
    """Words are rows 1 to 4; the candidates of row r are all labels but the one with its number."""

    def encode(self, sentence):
        return {"rows": sentence[0], "gold": sentence[1], "style": [len(sentence[0]) % 2 + 1]}

    def length(self, sentence):
        return len(sentence[0])


def words() -> Words:
    parts = part_array([label.split("|") for label in LABELS], 2)
    candidates = [[k for k in range(4) if k != row - 1] for row in range(1, 5)]
    return Words(
        parts,
        2,
        [[(0, 0)], [(1, 0)], [(-1, LABEL_PART)], [(0, 0), (-1, LABEL_PART + 1)], [(0, STYLE), (0, 0)]],
        [[0, 1], [2, 3]],
        np.arange(10, dtype=np.int32).reshape(5, 2) * 31,
        np.array([k for row in candidates for k in row], np.int32),
        np.array([0, 0, 3, 6, 9, 12], np.int32),
    )


def sentences(n: int = 60):
    random = np.random.default_rng(1)
    for _ in range(n):
        rows = random.integers(1, 5, random.integers(1, 6))
        yield rows.tolist(), [(int(row) + 1) % 4 for row in rows]


def test_the_task_keeps_its_contract():
    report = check_task(words(), list(sentences(8)))
    assert report.ok, str(report)


def test_the_style_of_a_sentence_is_a_feature_of_its_words():
    task = words()
    packed = task.pack([([1], [1]), ([1, 2], [1, 2])])
    found = []
    for k in range(2):
        x = packed.instance(k)
        state = task.state_view(np.zeros(task.state_size(x.n), np.int32), x.n)
        task.plain().initial(x, state)
        found.append(state.seen[:5].tolist())
    assert found[0][0] == found[1][0]  # the word itself
    assert found[0][4] != found[1][4]  # with its style


def test_a_gold_label_that_is_no_candidate_leaves_the_nearest_one():
    task = words()
    x = task.pack([([1], [0])]).instance(0)  # NOUN|S is no candidate of row 1
    state = task.state_view(np.zeros(task.state_size(1), np.int32), 1)
    task.plain().initial(x, state)
    actions, costs = np.zeros(4, np.int32), np.zeros(4)
    n = task.actions(x, state, actions)
    task.plain().expert_costs(x, state, actions, n, costs)
    assert dict(zip([LABELS[a] for a in actions[:n]], costs, strict=False)) == {
        "NOUN|P": 0.0,
        "VERB|S": 0.0,
        "VERB|P": 1.0,
    }


@pytest.mark.parametrize("learner", ["supervised", "exploration"])
def test_it_can_be_learned(learner):
    task = words()
    packed = task.pack(list(sentences()))
    policy = train({"name": learner, "iterations": 5}, packed, bits=12).policy
    assert policy.decode(packed).losses.sum() == 0
