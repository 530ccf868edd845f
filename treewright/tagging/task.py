"""Sequence labelling as a search space: label the words from left to right, one action a label.

The expert is exact: whatever was labelled before, the gold label of the next word costs nothing and every other label one
error of Hamming loss (the lecture's "sequence labelling via imitation learning").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search import Task, compiled, mix
from treewright.tagging.words import ATTRIBUTES

__all__ = ["SequenceLabelling"]

(FORM, LOWER, SUFFIX1, SUFFIX2, SUFFIX3, SUFFIX4, SUFFIX5, PREFIX1, PREFIX2, PREFIX3, PREFIX4, SHAPE, USUAL) = range(
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
    max_features = 48

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
        """Words, affixes, shapes, neighbours, what labels a word usually has, the last two labels, and crosses."""
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
        out[7] = _feature(8, w[PREFIX1])
        out[8] = _feature(9, w[PREFIX2])
        out[9] = _feature(10, w[PREFIX3])
        out[10] = _pair(11, w[SHAPE], 1 if i == 0 else 0)
        out[11] = _feature(12, w[USUAL])
        out[12] = _feature(13, before[LOWER])
        out[13] = _feature(14, before2[LOWER])
        out[14] = _feature(15, after[LOWER])
        out[15] = _feature(16, after2[LOWER])
        out[16] = _feature(17, before[SUFFIX3])
        out[17] = _feature(18, after[SUFFIX3])
        out[18] = _pair(19, after[SHAPE], w[SHAPE])
        out[19] = _feature(20, after[USUAL])
        out[20] = _pair(21, w[USUAL], after[USUAL])
        out[21] = _feature(22, t1)
        out[22] = _pair(23, t1, t2)
        out[23] = _pair(24, t1, w[LOWER])
        out[24] = _pair(25, t1, w[SUFFIX3])
        out[25] = _pair(26, t1, after[LOWER])
        out[26] = _triple(27, t1, t2, w[USUAL])
        out[27] = _pair(28, w[LOWER], before[LOWER])
        out[28] = _pair(29, w[LOWER], after[LOWER])
        out[29] = _pair(30, before[LOWER], after[LOWER])
        out[30] = _pair(31, t1, after[USUAL])
        out[31] = _triple(32, t1, w[USUAL], after[USUAL])
        out[32] = _pair(33, t1, w[SHAPE])
        out[33] = _pair(34, after[USUAL], after2[USUAL])
        out[34] = _feature(35, w[SUFFIX5])
        out[35] = _feature(36, w[PREFIX4])
        out[36] = _triple(37, before[USUAL], w[USUAL], after[USUAL])
        out[37] = _pair(38, t1, w[SUFFIX2])
        out[38] = _triple(39, t1, t2, w[LOWER])
        out[39] = _pair(40, w[SHAPE], w[SUFFIX2])
        out[40] = _feature(41, after[SUFFIX2])
        out[41] = _pair(42, before[SHAPE], w[SHAPE])
        return 42

    def shared_arrays(self) -> dict[str, Any]:
        """The table of word attributes."""
        return {"table": self.table}
