"""How a linear policy scores actions: the one thing that the engine must know of policies.

The weights are a matrix of ``rows × width``. With ``width > 1`` the set of actions is fixed and a feature owns one row
over all of them. With ``width == 1`` actions carry structure, and each (feature, action) is hashed to a row.
The number of rows is a power of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search.compiling import compiled, inlined
from treewright.search.hashing import mix

__all__ = ["argmax", "argmin", "column", "row", "score_actions"]


@compiled
def row(feature: int, action: int, rows: int, width: int) -> int:
    """The row where the weight of (feature, action) lives."""
    if width > 1:
        return np.int64(feature) & (np.int64(rows) - np.int64(1))
    return mix(feature, action) & (np.int64(rows) - np.int64(1))


@compiled
def column(action: int, width: int) -> int:
    """The column where the weight of (feature, action) lives."""
    if width > 1:
        return np.int64(action)
    return np.int64(0)


@inlined
def _sum_rows(weights: Any, features: Any, n_features: int, last: int, sums: Any) -> None:
    """Add up the rows of the features, in order; four at a time, so that their cache misses overlap."""
    width = weights.shape[1]
    for j in range(width):
        sums[j] = np.float32(0.0)
    i = 0
    while i + 4 <= n_features:
        a, b = np.int64(features[i]) & last, np.int64(features[i + 1]) & last
        c, d = np.int64(features[i + 2]) & last, np.int64(features[i + 3]) & last
        for j in range(width):
            sums[j] = (((sums[j] + weights[a, j]) + weights[b, j]) + weights[c, j]) + weights[d, j]
        i += 4
    while i < n_features:
        a = np.int64(features[i]) & last
        for j in range(width):
            sums[j] += weights[a, j]
        i += 1


@inlined
def score_actions(
    weights: Any, features: Any, n_features: int, actions: Any, n: int, extra: Any, extra_at: Any, sums: Any, out: Any
) -> None:
    """Write w·φ(s, a) to ``out`` for each of the ``n`` actions (Goodman's eq. 2.4 takes the largest).

    ``features`` are those of the state; the further features of action k are ``extra[extra_at[k]:extra_at[k + 1]]``.
    ``sums`` is scratch space of at least ``width`` numbers.
    """
    rows, width = weights.shape
    last = np.int64(rows) - np.int64(1)
    if width > 1:
        _sum_rows(weights, features, n_features, last, sums)
        for k in range(n):
            out[k] = sums[actions[k]]
    else:
        for k in range(n):
            total = np.float32(0.0)
            for i in range(n_features):
                total += weights[mix(features[i], actions[k]) & last, 0]
            for i in range(extra_at[k], extra_at[k + 1]):
                total += weights[np.int64(extra[i]) & last, 0]
            out[k] = total


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
