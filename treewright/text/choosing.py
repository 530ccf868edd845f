"""Choosing one of the candidates of each word: the search space of morphological tags, lemmas and multiword tokens.

A tagset with morphology has hundreds of labels, but a word has few candidates. Actions are therefore *structured*: each
state offers the candidates of one word, from left to right, and a candidate is represented by its *parts*. The parts of
a label ``NOUN|NNS|Number=Plur`` are the universal tag, the tag of the treebank, the features as a whole, and each
single feature; those of the edit script of a lemma are its prefix, its suffix and its casing. Labels that have a part
in common share its weights: weights learned from plural nouns help with plural pronouns.

The features of a decision are *templates*: lists of (offset, attribute) pairs, such as the last three letters of the
next word, or a part of the label of the previous word. They are data and not code, so one compiled task serves every
component and every language.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.search import Task, compiled, mix, string_hash

__all__ = ["LABEL_PART", "MOST_CANDIDATES", "MOST_TEMPLATES", "STYLE", "Choosing", "Template"]

Template = Sequence[tuple[int, int]]
"""The parts of a feature: pairs of an offset from the current word and the number of an attribute.

Numbers from :data:`LABEL_PART` on denote a part of the label of an earlier word: LABEL_PART is the first part, and so
on. :data:`STYLE` is the style of the sentence, whatever the offset.
"""

STYLE = 99
LABEL_PART = 100
MOST_CANDIDATES = 40
MOST_TEMPLATES = 64


@compiled
def look(x: Any, state: Any) -> None:
    """Write the features of the current position into the state, where all candidates share them.

    A word with a single candidate needs no features.
    """
    i = np.int64(state.position[0])
    if i >= x.n or x.first[x.rows[i] + 1] - x.first[x.rows[i]] < 2:
        return
    for t in range(x.templates.shape[0]):
        h = np.int64(t) + 1
        for k in range(0, x.templates.shape[1], 2):
            attribute = np.int64(x.templates[t, k + 1])
            if attribute < 0:
                break
            j = i + np.int64(x.templates[t, k])
            value = np.int64(0)
            if attribute >= LABEL_PART:
                value = np.int64(x.parts[state.labels[j], attribute - LABEL_PART]) if j >= 0 else np.int64(1)
            elif attribute == STYLE:
                value = np.int64(x.style[0])
            elif 0 <= j < x.n:
                value = np.int64(x.table[x.rows[j], attribute])
            h = mix(h, value)
        state.seen[t] = np.int32(h)


@compiled
def wrong_parts(x: Any, label: int, gold: int) -> int:
    """The number of counted parts that differ between two labels."""
    wrong = 0
    for part in range(x.counted[0]):
        if x.parts[label, part] != x.parts[gold, part]:
            wrong += 1
    return wrong


class Choosing(Task):
    """Choose a candidate for each word, from left to right; each wrong part of a label is an error.

    Words are rows of a ``table`` of attributes; the candidates of row r extend from ``first[r]`` to ``first[r + 1]``.
    ``style`` is a number for the sentence as a whole.
    ``parts`` has a row for each label, padded with 0 if a label has fewer parts than others. ``shared_by`` lists for
    each part the templates that are crossed with it.
    """

    name = "choosing"
    state = {"position": 1, "errors": 1, "seen": MOST_TEMPLATES, "labels": "n"}
    instance = ("rows", "gold", "style")
    shared = ("table", "candidates", "first", "parts", "templates", "shared_by", "counted")
    structured = True
    n_actions = MOST_CANDIDATES
    max_steps = "n"
    max_features = 512
    lean = ("initial", "is_final", "actions", "step", "features", "action_features", "expert_costs", "loss")

    @staticmethod
    def initial(x: Any, state: Any) -> None:
        """Move to the first word."""
        look(x, state)

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Whether every word has a label."""
        return state.position[0] >= x.n

    @staticmethod
    def actions(x: Any, state: Any, out: Any) -> int:
        """The candidates of the current word."""
        row = x.rows[state.position[0]]
        n = 0
        for k in range(x.first[row], x.first[row + 1]):
            out[n] = x.candidates[k]
            n += 1
        return n

    @staticmethod
    def step(x: Any, state: Any, action: int) -> None:
        """Label the current word, and move to the next one."""
        i = state.position[0]
        state.labels[i] = action
        if x.gold[i] >= 0:
            state.errors[0] += wrong_parts(x, action, x.gold[i])
        state.position[0] = i + 1
        look(x, state)

    @staticmethod
    def features(x: Any, state: Any, out: Any) -> int:
        """Compute the templates at the current word; the policy crosses them with the label as a whole."""
        for t in range(x.templates.shape[0]):
            out[t] = state.seen[t]
        return x.templates.shape[0]

    @staticmethod
    def action_features(x: Any, state: Any, action: int, out: Any) -> int:
        """Templates crossed with the parts of a candidate."""
        n = 0
        for part in range(x.parts.shape[1]):
            value = x.parts[action, part]
            if value == 0:
                continue
            for k in range(x.shared_by.shape[1]):
                template = x.shared_by[part, k]
                if template < 0:
                    break
                out[n] = mix(np.int64(state.seen[template]), np.int64(value))
                n += 1
        return n

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """Count the wrong parts beyond those of the best candidate, because the gold label may not be a candidate."""
        gold = x.gold[state.position[0]]
        least = np.float64(x.counted[0])
        for k in range(n):
            out[k] = np.float64(wrong_parts(x, actions[k], gold)) if gold >= 0 else 0.0
            least = min(least, out[k])
        for k in range(n):
            out[k] -= least

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """The number of wrong parts."""
        return np.float64(state.errors[0])

    def __init__(
        self,
        parts: npt.NDArray[np.int32],
        counted: int,
        templates: Sequence[Template],
        shared_by: Sequence[Sequence[int]],
        table: npt.NDArray[np.int32],
        candidates: npt.NDArray[np.int32],
        first: npt.NDArray[np.int32],
    ) -> None:
        self._arrays = {
            "parts": parts,
            "counted": np.array([counted], np.int32),
            "templates": _template_array(tuple(map(tuple, templates))),
            "shared_by": _sharing_array(tuple(map(tuple, shared_by)), parts.shape[1]),
            "table": table,
            "candidates": candidates,
            "first": first,
        }

    def shared_arrays(self) -> dict[str, Any]:
        """Return everything except the words and their gold labels."""
        return self._arrays


@cache
def _template_array(templates: tuple[tuple[tuple[int, int], ...], ...]) -> npt.NDArray[np.int32]:
    return _rows([[number for atom in template for number in atom] for template in templates], pairs=True)


@cache
def _sharing_array(shared_by: tuple[tuple[int, ...], ...], parts: int) -> npt.NDArray[np.int32]:
    return _rows([shared_by[min(part, len(shared_by) - 1)] for part in range(parts)])


def _rows(rows: Sequence[Sequence[int]], pairs: bool = False) -> npt.NDArray[np.int32]:
    """Pack lists of different lengths into an array; −1 ends a row."""
    width = max(map(len, rows), default=0) + (2 if pairs else 1)
    array = np.full((len(rows), width), -1, np.int32)
    for number, row in enumerate(rows):
        array[number, : len(row)] = row
    return array


def part_array(parts: Sequence[Sequence[str]], counted: int) -> npt.NDArray[np.int32]:
    """Hash the parts of labels. The first ``counted`` parts are distinguished by their position, the others are not."""
    width = max(map(len, parts), default=1)
    array = np.zeros((len(parts), width), np.int32)
    for label, own in enumerate(parts):
        for place, part in enumerate(own):
            if part:
                array[label, place] = string_hash(f"{place if place < counted else '+'}:{part}") or 1
    return array
