"""Linear scoring: score = w·φ(s, a) with hashed features.

The weights are a matrix of ``rows × width``; the number of rows is a power of two.

* With ``width > 1`` the set of actions is fixed. A feature has one row, with a cell for each action below ``width``.
  These are all actions, unless the task has decisions of two kinds: a few moves, and then many labels. Then ``width``
  is the number of moves, and a feature of a labelling state has a block of consecutive cells, one for each action from
  ``width`` on. Blocks begin at multiples of 16 cells and may overlap: most of their cells stay empty.
* With ``width == 1`` actions carry structure, and each (feature, action) is hashed to a row.

Weights are 32-bit floats in training and may be 16-bit integers afterwards. Integers are added as integers: scores are
the same, because 32-bit floats represent such sums exactly, and it is faster. The observation of a state consists of
the task's ``features`` and, where actions carry structure, the ``action_features`` of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search.compiling import compiled, in_bulk, inlined
from treewright.search.hashing import mix
from treewright.search.policy import Scoring, Scratch, Sizes
from treewright.search.task import Task
from treewright.search.trouble import TOO_MANY_FEATURES

__all__ = [
    "LINEAR",
    "LinearScoring",
    "argmax",
    "argmin",
    "observe_features",
    "place",
    "score_actions",
    "score_features",
]

_NOT_ALIGNED = np.int64(15)


@compiled
def _block(feature: int, rows: int, width: int) -> int:
    """The first cell of the block of a feature of a labelling state."""
    return ((np.int64(feature) & (np.int64(rows) - np.int64(1))) * np.int64(width)) & ~_NOT_ALIGNED


@compiled
def place(feature: int, action: int, rows: int, width: int) -> tuple[int, int]:
    """The row and the column of the weight of (feature, action)."""
    last = np.int64(rows) - np.int64(1)
    if width == 1:
        return mix(feature, action) & last, np.int64(0)
    if action < width:
        return np.int64(feature) & last, np.int64(action)
    cell = (_block(feature, rows, width) + np.int64(action) - np.int64(width)) % (np.int64(rows) * np.int64(width))
    return cell // np.int64(width), cell % np.int64(width)


@compiled
def _whole(weights: Any) -> bool:
    """Whether weights are integers of 16 bits."""
    return weights.itemsize == 2


@compiled
def _four(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The sum of four integers of 16 bits."""
    return np.float32(np.int32(np.int32(a) + np.int32(b) + np.int32(c) + np.int32(d)))


@inlined
def _sum_rows(weights: Any, features: Any, n_features: int, sums: Any) -> None:
    """Add up the rows of the features, in order; four at a time, so that their cache misses overlap."""
    rows, width = weights.shape
    last = np.int64(rows) - np.int64(1)
    if width == 4:  # the moves of a task with two kinds of decisions: unrolled, because they are few
        if _whole(weights):
            t0, t1, t2, t3 = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            for i in range(n_features):
                a = np.int64(features[i]) & last
                t0 += np.int64(weights[a, 0])
                t1 += np.int64(weights[a, 1])
                t2 += np.int64(weights[a, 2])
                t3 += np.int64(weights[a, 3])
            sums[0], sums[1], sums[2], sums[3] = np.float32(t0), np.float32(t1), np.float32(t2), np.float32(t3)
            return
        s0, s1, s2, s3 = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for i in range(n_features):
            a = np.int64(features[i]) & last
            s0 += np.float32(weights[a, 0])
            s1 += np.float32(weights[a, 1])
            s2 += np.float32(weights[a, 2])
            s3 += np.float32(weights[a, 3])
        sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
        return
    for j in range(width):
        sums[j] = np.float32(0.0)
    i = 0
    while i + 4 <= n_features:
        a, b = np.int64(features[i]) & last, np.int64(features[i + 1]) & last
        c, d = np.int64(features[i + 2]) & last, np.int64(features[i + 3]) & last
        if _whole(weights):
            for j in range(width):
                sums[j] += _four(weights[a, j], weights[b, j], weights[c, j], weights[d, j])
        else:
            for j in range(width):
                both = (sums[j] + np.float32(weights[a, j])) + np.float32(weights[b, j])
                sums[j] = (both + np.float32(weights[c, j])) + np.float32(weights[d, j])
        i += 4
    while i < n_features:
        a = np.int64(features[i]) & last
        for j in range(width):
            sums[j] += np.float32(weights[a, j])
        i += 1


@in_bulk(_sum_rows)
def _(loops: Any, weights: Any, features: Any, n_features: int, sums: Any) -> None:
    rows, width = weights.shape
    _add_up(weights[features[:n_features].astype(np.int64) & np.int64(rows - 1)], sums[:width])


@inlined
def _sum_blocks(weights: Any, features: Any, n_features: int, sums: Any) -> None:
    """Add up the blocks of the features, in order; the table is a ring, so that the last block wraps around."""
    rows, width = weights.shape
    n_labels = sums.shape[0]
    cells = weights.reshape(rows * width)
    for j in range(n_labels):
        sums[j] = np.float32(0.0)
    last_start = cells.shape[0] - np.int64(n_labels)
    i = 0
    while i + 4 <= n_features:
        a, b = _block(features[i], rows, width), _block(features[i + 1], rows, width)
        c, d = _block(features[i + 2], rows, width), _block(features[i + 3], rows, width)
        if max(max(a, b), max(c, d)) > last_start:
            break
        of_a, of_b = cells[a : a + n_labels], cells[b : b + n_labels]
        of_c, of_d = cells[c : c + n_labels], cells[d : d + n_labels]
        if _whole(weights):
            for j in range(n_labels):
                sums[j] += _four(of_a[j], of_b[j], of_c[j], of_d[j])
        else:
            for j in range(n_labels):
                both = (sums[j] + np.float32(of_a[j])) + np.float32(of_b[j])
                sums[j] = (both + np.float32(of_c[j])) + np.float32(of_d[j])
        i += 4
    while i < n_features:
        a = _block(features[i], rows, width)
        for j in range(n_labels):
            sums[j] += np.float32(cells[(a + j) % cells.shape[0]])
        i += 1


@in_bulk(_sum_blocks)
def _(loops: Any, weights: Any, features: Any, n_features: int, sums: Any) -> None:
    rows, width = weights.shape
    first: Any = _block(features[:n_features], rows, width)
    _add_up(weights.reshape(-1)[(first[:, None] + np.arange(sums.shape[0])) % weights.size], sums)


def _add_up(weights: Any, sums: Any) -> None:
    """Add up rows of weights, in order."""
    if _whole(weights):
        sums[:] = weights.sum(axis=0, dtype=np.int64)
        return
    sums[:] = np.float32(0.0)
    for row in weights:
        sums += row


@inlined
def score_actions(
    weights: Any,
    features: Any,
    n_features: int,
    actions: Any,
    n: int,
    extra: Any,
    extra_at: Any,
    sums: Any,
    labels: Any,
    out: Any,
) -> None:
    """Write w·φ(s, a) to ``out`` for each of the ``n`` actions (Goodman's eq. 2.4 takes the largest).

    ``features`` are those of the state; the further features of action k are ``extra[extra_at[k]:extra_at[k + 1]]``.
    ``sums`` is scratch space for a row of the weights, and ``labels`` for the scores of all labels; it is None if
    the task has decisions of one kind, and then no code for labels is compiled. A state's actions are all of one kind.
    """
    rows, width = weights.shape
    last = np.int64(rows) - np.int64(1)
    if width > 1:
        if labels is not None and n > 0 and actions[0] >= width:
            _sum_blocks(weights, features, n_features, labels)
            for k in range(n):
                out[k] = labels[actions[k] - width]
            return
        _sum_rows(weights, features, n_features, sums)
        for k in range(n):
            out[k] = sums[actions[k]]
    elif _whole(weights):
        for k in range(n):
            count = np.int64(0)
            for i in range(n_features):
                count += np.int64(weights[mix(features[i], actions[k]) & last, 0])
            for i in range(extra_at[k], extra_at[k + 1]):
                count += np.int64(weights[np.int64(extra[i]) & last, 0])
            out[k] = np.float32(count)
    else:
        for k in range(n):
            total = np.float32(0.0)
            for i in range(n_features):
                total += np.float32(weights[mix(features[i], actions[k]) & last, 0])
            for i in range(extra_at[k], extra_at[k + 1]):
                total += np.float32(weights[np.int64(extra[i]) & last, 0])
            out[k] = total


@inlined
def observe_features(task: Any, x: Any, state: Any, n: int, scratch: Scratch) -> int:
    """Write the features of the state and of its ``n`` actions to scratch; return the number of the state's."""
    size = task.features(x, state, scratch.observed)
    if size > scratch.observed.shape[0]:
        return TOO_MANY_FEATURES
    if scratch.extra.shape[0] > 0:
        end = 0
        for k in range(n):
            count = task.action_features(x, state, scratch.actions[k], scratch.one)
            if count > scratch.one.shape[0]:
                return TOO_MANY_FEATURES
            for i in range(count):
                scratch.extra[end + i] = scratch.one[i]
            end += count
            scratch.extra_at[k + 1] = end
    return size


@inlined
def score_features(weights: Any, size: int, n: int, scratch: Scratch) -> None:
    """Score the ``n`` actions in scratch by the weights of one policy."""
    score_actions(
        weights,
        scratch.observed,
        size,
        scratch.actions,
        n,
        scratch.extra,
        scratch.extra_at,
        scratch.sums,
        scratch.labels,
        scratch.scores,
    )


class LinearScoring(Scoring):
    """Linear policies: the arrays are the weights of all members, members × rows × width."""

    @staticmethod
    def observe(task: Any, x: Any, i: int, state: Any, n: int, scratch: Scratch) -> int:
        """Write the features of the state and of its actions; return the number of the state's."""
        return observe_features(task, x, state, n, scratch)

    @staticmethod
    def score(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
        """Write w·φ(s, a) for each of the ``n`` actions."""
        score_features(arrays[member], size, n, scratch)

    def sizes(self, task: Task) -> Sizes:
        """One cell per feature and, where actions carry structure, one per feature of each action."""
        most = int(task.max_features)
        return Sizes(most, task.n_actions + 1, task.n_actions * most if task.structured else 0, most)


LINEAR = LinearScoring()


@compiled
def argmax(values: Any, n: int) -> int:
    """The first position of the largest of ``n`` values."""
    best = 0
    for k in range(1, n):
        if values[k] > values[best]:
            best = k
    return best


@compiled
def argmin(values: Any, n: int) -> int:
    """The first position of the smallest of ``n`` values."""
    best = 0
    for k in range(1, n):
        if values[k] < values[best]:
            best = k
    return best
