"""Sequence labelling as a search space: label the words from left to right, one action a label.

The expert is exact: whatever was labelled before, the gold label of the next word costs nothing and every other label
one error of Hamming loss (the lecture's "sequence labelling via imitation learning").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search import Task, compiled, mix
from treewright.tagging.words import ATTRIBUTES

__all__ = ["SequenceLabelling"]

(FORM, LOWER, SUFFIX1, SUFFIX2, SUFFIX3, SUFFIX4, SUFFIX5, PREFIX1, PREFIX2, PREFIX3, PREFIX4, SHAPE) = range(
    len(ATTRIBUTES)
)


@compiled
def _feature(template: int, a: int) -> int:
    return mix(mix(template, a), 0)


@compiled
def _pair(template: int, a: int, b: int) -> int:
    return mix(mix(template, a), b)


@compiled
def _triple(template: int, a: int, b: int, c: int) -> int:
    return mix(mix(mix(template, a), b), c)


@compiled
def _word(x: Any, i: int) -> int:
    """The row of the word at position i, 0 beyond the ends of the sentence."""
    if i < 0 or i >= x.n:
        return 0
    return x.words[i]


class SequenceLabelling(Task):
    """Left-to-right labelling with Hamming loss."""

    name = "tagging"
    state = {"position": 1, "errors": 1, "labels": "n"}
    instance = ("words", "gold")
    shared = ("table",)
    max_steps = "n"
    max_features = 36

    def __init__(self, n_labels: int, table: Any) -> None:
        self.n_actions = n_labels
        self.table = table

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Has every word a label?"""
        return state.position[0] >= x.n

    @staticmethod
    def step(x: Any, state: Any, action: int) -> None:
        """Label the next word."""
        i = state.position[0]
        state.labels[i] = action
        if x.gold[i] != action:
            state.errors[0] += 1
        state.position[0] = i + 1

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """One error for every label but the gold one."""
        gold = x.gold[state.position[0]]
        for k in range(n):
            out[k] = 0.0 if actions[k] == gold else 1.0

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """The number of wrong labels."""
        return np.float64(state.errors[0])

    @staticmethod
    def partial_loss(x: Any, state: Any) -> float:
        """The errors so far: the rest can still be right."""
        return np.float64(state.errors[0])

    @staticmethod
    def features(x: Any, state: Any, out: Any) -> int:
        """The word, its affixes and shape, its neighbours, the last two labels, and crosses of these."""
        i = state.position[0]
        t1 = state.labels[i - 1] if i > 0 else -1
        t2 = state.labels[i - 2] if i > 1 else -1
        w = x.table[_word(x, i)]
        before, after = x.table[_word(x, i - 1)], x.table[_word(x, i + 1)]
        before2, after2 = x.table[_word(x, i - 2)], x.table[_word(x, i + 2)]
        out[0] = mix(1, 0)
        out[1] = _feature(2, w[FORM])
        out[2] = _feature(3, w[LOWER])
        out[3] = _feature(4, w[SUFFIX1])
        out[4] = _feature(5, w[SUFFIX2])
        out[5] = _feature(6, w[SUFFIX3])
        out[6] = _feature(7, w[SUFFIX4])
        out[7] = _feature(8, w[SUFFIX5])
        out[8] = _feature(9, w[PREFIX1])
        out[9] = _feature(10, w[PREFIX2])
        out[10] = _feature(11, w[PREFIX3])
        out[11] = _feature(12, w[PREFIX4])
        out[12] = _pair(13, w[SHAPE], 1 if i == 0 else 0)
        out[13] = _pair(14, w[SHAPE], w[SUFFIX2])
        # neighbours
        out[14] = _feature(15, before[LOWER])
        out[15] = _feature(16, before2[LOWER])
        out[16] = _feature(17, after[LOWER])
        out[17] = _feature(18, after2[LOWER])
        out[18] = _feature(19, before[SUFFIX3])
        out[19] = _feature(20, after[SUFFIX3])
        out[20] = _feature(21, after[SUFFIX2])
        out[21] = _pair(22, w[SHAPE], after[SHAPE])
        out[22] = _pair(23, w[SHAPE], before[SHAPE])
        out[23] = _pair(24, w[LOWER], before[LOWER])
        out[24] = _pair(25, w[LOWER], after[LOWER])
        out[25] = _pair(26, w[LOWER], before[SUFFIX3])
        out[26] = _pair(27, w[LOWER], after[SUFFIX3])
        out[27] = _pair(28, before[LOWER], after[LOWER])
        # the labels before
        out[28] = _feature(29, t1)
        out[29] = _pair(30, t1, t2)
        out[30] = _pair(31, t1, w[LOWER])
        out[31] = _triple(32, t1, t2, w[LOWER])
        out[32] = _pair(33, t1, w[SUFFIX3])
        out[33] = _pair(34, t1, w[SUFFIX2])
        out[34] = _pair(35, t1, w[SHAPE])
        out[35] = _pair(36, t1, after[LOWER])
        return 36

    def shared_arrays(self) -> dict[str, Any]:
        """The table of word attributes."""
        return {"table": self.table}
