"""The scores of actions in an encoded policy: W·relu(Σₖ Pₖ[positionₖ]).

P is a table that the encoder computes once per sentence: the contribution of each word to the hidden units at each of
the task's positions. Scoring a state therefore adds one row of the table for each position, and multiplies the units
above zero by W.

If actions carry structure, W does not have a column for each action. The vector of an action is then the sum of rows of
a hashed table: one row for its number, and one row for each of its features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import inlined
from treewright.search.policy import Scoring, Scratch, Sizes
from treewright.search.records import record
from treewright.search.task import Task
from treewright.search.trouble import TOO_MANY_FEATURES

__all__ = ["ROWS", "Encoded", "EncodedScoring", "StructuredScoring", "rows_of"]

#: The input of the functions: ``table[m, r, k]`` is the contribution of row r at position k to the hidden units of
#: member m, and ``missing[m, k]`` is that of a missing word; ``start[i]`` is the first row of sentence i; ``weights``
#: and ``bias`` of each member map hidden units to actions: units × actions, or rows × units if actions carry structure.
Encoded = record(("table", "missing", "start", "weights", "bias"))

ROWS = 1 << 14
"""The number of rows in the hashed table of actions and their features."""

_FACTOR, _SHIFT, _MASK = 0x9E3779B1, 12, ROWS - 1


@inlined
def _row_of(number: int) -> int:
    """The row of an action or a feature in the hashed table."""
    return ((np.int64(number) * np.int64(_FACTOR)) >> np.int64(_SHIFT)) & np.int64(_MASK)


def rows_of(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the rows of actions or features, which are numbers from 0 to 2³¹ − 1."""
    rows: npt.NDArray[np.int64] = ((numbers.astype(np.int64) * _FACTOR) >> _SHIFT) & _MASK
    return rows


@inlined
def _add_up(arrays: Any, member: int, size: int, scratch: Scratch, hidden: Any) -> None:
    """Write the hidden units: the sum of the contributions of the words at the positions."""
    table, missing, units = arrays.table[member], arrays.missing[member], hidden.shape[0]
    first = arrays.start[scratch.observed[0]]
    for j in range(units):
        hidden[j] = np.float32(0.0)
    for k in range(size - 1):
        position = scratch.observed[1 + k]
        row = table[first + position, k] if position >= 0 else missing[k]
        for j in range(units):
            hidden[j] += row[j]


class EncodedScoring(Scoring):
    """The scoring of encoded policies. An observation contains the number of the sentence and the task's positions."""

    def __init__(self, hidden: int) -> None:
        self.hidden = hidden

    @staticmethod
    def observe(task: Any, x: Any, i: int, state: Any, n: int, scratch: Scratch) -> int:
        """Write the number of the sentence and the positions; return the length of the observation."""
        scratch.observed[0] = i
        count = task.positions(x, state, scratch.one)
        for k in range(count):
            scratch.observed[1 + k] = scratch.one[k]
        return 1 + count

    @staticmethod
    def score(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
        """Write the scores of the ``n`` actions."""
        weights, bias = arrays.weights[member], arrays.bias[member]
        units, width = weights.shape
        hidden, out = scratch.sums[:units], scratch.sums[units:]
        _add_up(arrays, member, size, scratch, hidden)
        for a in range(width):
            out[a] = bias[a]
        # the units above zero, four at a time
        waiting, u0, u1, u2 = 0, 0, 0, 0
        for j in range(units):
            if hidden[j] > np.float32(0.0):
                if waiting == 0:
                    u0, waiting = j, 1
                elif waiting == 1:
                    u1, waiting = j, 2
                elif waiting == 2:
                    u2, waiting = j, 3
                else:
                    h0, h1, h2, h3 = hidden[u0], hidden[u1], hidden[u2], hidden[j]
                    w0, w1, w2, w3 = weights[u0], weights[u1], weights[u2], weights[j]
                    for a in range(width):
                        out[a] += (h0 * w0[a] + h1 * w1[a]) + (h2 * w2[a] + h3 * w3[a])
                    waiting = 0
        for k in range(waiting):
            unit = u0 if k == 0 else u1 if k == 1 else u2
            factor, w = hidden[unit], weights[unit]
            for a in range(width):
                out[a] += factor * w[a]
        for k in range(n):
            scratch.scores[k] = out[scratch.actions[k]]

    def plain(self) -> Any:
        """The same scoring for the interpreter. Array slices make it much faster; the scores are equal to the bit."""
        twin = super().plain()
        twin.score = _score_with_slices
        return twin

    def sizes(self, task: Task) -> Sizes:
        """Return the sizes: the sentence and its positions, and the hidden units and the scores of all actions."""
        most = int(task.max_positions)
        return Sizes(observed=1 + most, sums=self.hidden + int(task.n_actions), one=most)


class StructuredScoring(EncodedScoring):
    """The scoring of encoded policies for tasks whose actions carry structure."""

    @staticmethod
    def observe(task: Any, x: Any, i: int, state: Any, n: int, scratch: Scratch) -> int:
        """Write the features of the actions, the number of the sentence and the positions."""
        end = 0
        for k in range(n):
            count = task.action_features(x, state, scratch.actions[k], scratch.one)
            if count > scratch.one.shape[0]:
                return TOO_MANY_FEATURES
            for j in range(count):
                scratch.extra[end + j] = scratch.one[j]
            end += count
            scratch.extra_at[k + 1] = end
        scratch.observed[0] = i
        positions = task.positions(x, state, scratch.one)
        for k in range(positions):
            scratch.observed[1 + k] = scratch.one[k]
        return 1 + positions

    @staticmethod
    def score(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
        """Write the scores of the ``n`` actions."""
        weights, bias = arrays.weights[member], arrays.bias[member]
        units = weights.shape[1]
        hidden, sums = scratch.sums[:units], scratch.sums[units:]
        _add_up(arrays, member, size, scratch, hidden)
        for k in range(n):
            row = _row_of(scratch.actions[k])
            total = bias[row]
            for j in range(units):
                sums[j] = weights[row, j]
            for e in range(scratch.extra_at[k], scratch.extra_at[k + 1]):
                row = _row_of(scratch.extra[e])
                total += bias[row]
                for j in range(units):
                    sums[j] += weights[row, j]
            for j in range(units):
                if hidden[j] > np.float32(0.0):
                    total += hidden[j] * sums[j]
            scratch.scores[k] = total

    def plain(self) -> Any:
        """The same scoring for the interpreter, with array slices."""
        twin = super().plain()
        twin.score = _score_structure_with_slices
        return twin

    def sizes(self, task: Task) -> Sizes:
        """Return the sizes: the sentence and its positions, two copies of the units, the features of all actions."""
        positions, features = int(task.max_positions), int(task.max_features)
        extra = int(task.n_actions) * features
        return Sizes(observed=1 + positions, sums=2 * self.hidden, extra=extra, one=max(positions, features))


def _hidden_with_slices(arrays: Any, member: int, size: int, scratch: Scratch, units: int) -> Any:
    """Compute the same result as :func:`_add_up`."""
    table, missing = arrays.table[member], arrays.missing[member]
    first, hidden = arrays.start[scratch.observed[0]], np.zeros(units, np.float32)
    for k, position in enumerate(scratch.observed[1:size].tolist()):
        hidden += table[first + position, k] if position >= 0 else missing[k]
    return hidden


def _score_with_slices(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
    """Compute the same result as :meth:`EncodedScoring.score`: the same additions and products in the same order."""
    weights = arrays.weights[member]
    hidden = _hidden_with_slices(arrays, member, size, scratch, len(weights))
    out = arrays.bias[member].copy()
    above = np.flatnonzero(hidden > 0.0)
    h, w = hidden[above, None], weights[above]
    whole = len(above) - len(above) % 4
    for k in range(0, whole, 4):
        out += (h[k] * w[k] + h[k + 1] * w[k + 1]) + (h[k + 2] * w[k + 2] + h[k + 3] * w[k + 3])
    for k in range(whole, len(above)):
        out += h[k] * w[k]
    scratch.scores[:n] = out[scratch.actions[:n]]


def _score_structure_with_slices(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
    """Compute the result of :meth:`StructuredScoring.score`: the same additions and products in the same order."""
    weights, bias = arrays.weights[member], arrays.bias[member]
    hidden = _hidden_with_slices(arrays, member, size, scratch, weights.shape[1])
    rows = rows_of(scratch.actions[:n])
    sums, totals = weights[rows], bias[rows]
    for k in range(n):
        for row in rows_of(scratch.extra[scratch.extra_at[k] : scratch.extra_at[k + 1]]):
            totals[k] += bias[row]
            sums[k] += weights[row]
    for j in np.flatnonzero(hidden > 0.0):
        totals += hidden[j] * sums[:, j]
    scratch.scores[:n] = totals
