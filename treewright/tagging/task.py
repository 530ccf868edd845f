"""Sequence labelling as a search space: label the words from left to right, one action per label.

The expert is exact: in every state, the gold label of the next word costs nothing and every other label one error of
Hamming loss (the lecture's "sequence labelling via imitation learning").
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
    lean = ("is_final", "actions", "step", "features", "positions", "expert_costs", "loss", "partial_loss")
    max_features = 36
    max_positions = 3

    def __init__(self, n_labels: int, table: Any) -> None:
        self.n_actions = n_labels
        self.table = table

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Whether every word has a label."""
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
        """The errors so far; all other labels can still be correct."""
        return np.float64(state.errors[0])

    @staticmethod
    def features(x: Any, state: Any, out: Any) -> int:
        """The word, its affixes and shape, its neighbours, the last two labels, and crosses of these."""
        i = state.position[0]
        t1 = state.labels[i - 1] if i > 0 else -1
        t2 = state.labels[i - 2] if i > 1 else -1
        of = x.table  # of[word, attribute]
        w, before, after = _word(x, i), _word(x, i - 1), _word(x, i + 1)
        before2, after2 = _word(x, i - 2), _word(x, i + 2)
        out[0] = mix(1, 0)
        out[1] = mix(2, of[w, FORM])
        out[2] = mix(3, of[w, LOWER])
        out[3] = mix(4, of[w, SUFFIX1])
        out[4] = mix(5, of[w, SUFFIX2])
        out[5] = mix(6, of[w, SUFFIX3])
        out[6] = mix(7, of[w, SUFFIX4])
        out[7] = mix(8, of[w, SUFFIX5])
        out[8] = mix(9, of[w, PREFIX1])
        out[9] = mix(10, of[w, PREFIX2])
        out[10] = mix(11, of[w, PREFIX3])
        out[11] = mix(12, of[w, PREFIX4])
        out[12] = mix(mix(13, of[w, SHAPE]), 1 if i == 0 else 0)
        out[13] = mix(mix(14, of[w, SHAPE]), of[w, SUFFIX2])
        # neighbours
        out[14] = mix(15, of[before, LOWER])
        out[15] = mix(16, of[before2, LOWER])
        out[16] = mix(17, of[after, LOWER])
        out[17] = mix(18, of[after2, LOWER])
        out[18] = mix(19, of[before, SUFFIX3])
        out[19] = mix(20, of[after, SUFFIX3])
        out[20] = mix(21, of[after, SUFFIX2])
        out[21] = mix(mix(22, of[w, SHAPE]), of[after, SHAPE])
        out[22] = mix(mix(23, of[w, SHAPE]), of[before, SHAPE])
        out[23] = mix(mix(24, of[w, LOWER]), of[before, LOWER])
        out[24] = mix(mix(25, of[w, LOWER]), of[after, LOWER])
        out[25] = mix(mix(26, of[w, LOWER]), of[before, SUFFIX3])
        out[26] = mix(mix(27, of[w, LOWER]), of[after, SUFFIX3])
        out[27] = mix(mix(28, of[before, LOWER]), of[after, LOWER])
        # the labels before
        out[28] = mix(29, t1)
        out[29] = mix(mix(30, t1), t2)
        out[30] = mix(mix(31, t1), of[w, LOWER])
        out[31] = mix(mix(mix(32, t1), t2), of[w, LOWER])
        out[32] = mix(mix(33, t1), of[w, SUFFIX3])
        out[33] = mix(mix(34, t1), of[w, SUFFIX2])
        out[34] = mix(mix(35, t1), of[w, SHAPE])
        out[35] = mix(mix(36, t1), of[after, LOWER])
        return 36

    @staticmethod
    def positions(x: Any, state: Any, out: Any) -> int:
        """The word to label, the one before it and the one after it."""
        i = state.position[0]
        out[0] = i
        out[1] = i - 1
        out[2] = i + 1 if i + 1 < x.n else -1
        return 3

    def shared_arrays(self) -> dict[str, Any]:
        """The table of word attributes."""
        return {"table": self.table}
