"""Collected examples: what a classifier is trained on. One example is a state's features, its actions, their costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.arrays import copy_cells
from treewright.search.compiling import compiled

__all__ = ["Examples", "join_examples", "no_examples", "read_example", "room", "usual_value"]


class Examples(NamedTuple):
    """Examples one behind the other in flat arrays; ``at`` arrays say where each example begins.

    Treebanks give millions of examples, so what is usual is not written down: an example without ``actions`` has all
    of them, in order, and every action costs ``usual_cost`` but the ones at the places ``unusual``. Where actions carry
    structure, action k (counted over all examples) has the further features ``extra[extra_at[k]:extra_at[k + 1]]``.
    """

    features: npt.NDArray[np.int32]
    feature_at: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int32]
    action_at: npt.NDArray[np.int64]
    usual_cost: npt.NDArray[np.float32]
    unusual: npt.NDArray[np.int32]
    unusual_cost: npt.NDArray[np.float32]
    unusual_at: npt.NDArray[np.int64]
    extra: npt.NDArray[np.int32]
    extra_at: npt.NDArray[np.int64]


def no_examples() -> Examples:
    """An empty collection."""
    ints, floats, offsets = np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(1, np.int64)
    return Examples(ints, offsets, ints, offsets, floats, ints, floats, offsets, ints, offsets)


def join_examples(parts: list[Examples]) -> Examples:
    """All examples of all parts, in order."""
    parts = [part for part in parts if len(part.usual_cost)] or parts[:1]
    if len(parts) == 1:
        return parts[0]

    def join(field: str) -> npt.NDArray[Any]:
        arrays = [getattr(part, field) for part in parts]
        if not field.endswith("_at"):
            return np.concatenate(arrays)
        ends = np.cumsum([0, *(array[-1] for array in arrays)])
        return np.concatenate([arrays[0][:1], *(array[1:] + end for array, end in zip(arrays, ends, strict=False))])

    return Examples(*(join(field) for field in Examples._fields))


@compiled
def usual_value(values: Any, n: int) -> float:
    """The value that most of the first ``n`` are, if most of them are the same (Boyer & Moore's vote)."""
    candidate, votes = values[0], 0
    for k in range(n):
        if votes == 0:
            candidate = values[k]
        votes += 1 if values[k] == candidate else -1
    return candidate


@compiled
def read_example(examples: Examples, e: int, all_actions: Any, actions: Any, costs: Any) -> int:
    """Write the actions of example ``e`` and their costs; return how many there are."""
    first, last = examples.action_at[e], examples.action_at[e + 1]
    n = last - first
    if n == 0:
        n = all_actions.shape[0]
        for k in range(n):
            actions[k] = all_actions[k]
    else:
        for k in range(n):
            actions[k] = examples.actions[first + k]
    for k in range(n):
        costs[k] = examples.usual_cost[e]
    for i in range(examples.unusual_at[e], examples.unusual_at[e + 1]):
        costs[examples.unusual[i]] = examples.unusual_cost[i]
    return n


@compiled
def room(array: Any, needed: int) -> Any:
    """The array itself, or a copy twice as long where it has fewer than ``needed`` cells."""
    if needed <= array.shape[0]:
        return array
    larger = np.zeros(max(needed, 2 * array.shape[0]), array.dtype)
    copy_cells(array, 0, larger, 0, array.shape[0])
    return larger
