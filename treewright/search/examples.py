"""Collected examples: what a classifier is trained on. One example is a state's features, its actions, their costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled

__all__ = ["Examples", "join_examples", "no_examples", "room"]


class Examples(NamedTuple):
    """Examples one behind the other in flat arrays.

    Example e has the features ``features[feature_at[e]:feature_at[e+1]]`` and the actions and costs
    ``action_at[e]:action_at[e+1]``; action k (counted over all examples) has the further features
    ``extra[extra_at[k]:extra_at[k+1]]`` where actions carry structure, and none where ``extra_at`` has no entry for it.
    """

    features: npt.NDArray[np.int32]
    feature_at: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int32]
    costs: npt.NDArray[np.float32]
    action_at: npt.NDArray[np.int64]
    extra: npt.NDArray[np.int32]
    extra_at: npt.NDArray[np.int64]


def no_examples() -> Examples:
    """An empty collection."""
    ints, offsets = np.zeros(0, np.int32), np.zeros(1, np.int64)
    return Examples(ints, offsets, ints, np.zeros(0, np.float32), offsets, ints, offsets)


def join_examples(parts: list[Examples]) -> Examples:
    """All examples of all parts, in order."""
    if len(parts) == 1:
        return parts[0]

    def offsets(field: str) -> npt.NDArray[np.int64]:
        pieces, end = [np.zeros(1, np.int64)], 0
        for part in parts:
            at = getattr(part, field)
            pieces.append(at[1:] + end)
            end += int(at[-1])
        return np.concatenate(pieces)

    return Examples(
        np.concatenate([part.features for part in parts]),
        offsets("feature_at"),
        np.concatenate([part.actions for part in parts]),
        np.concatenate([part.costs for part in parts]),
        offsets("action_at"),
        np.concatenate([part.extra for part in parts]),
        offsets("extra_at"),
    )


@compiled
def room(array: Any, needed: int) -> Any:
    """The array itself, or a copy twice as long where it has fewer than ``needed`` places."""
    if needed <= array.shape[0]:
        return array
    larger = np.zeros(max(needed, 2 * array.shape[0]), array.dtype)
    larger[: array.shape[0]] = array
    return larger
