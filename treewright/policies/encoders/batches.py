"""Batches of sentences and examples for one training step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.search.examples import Examples

__all__ = ["chosen", "grouped", "in_parts"]

Longs = npt.NDArray[np.int64]


def grouped(lengths: npt.NDArray[Any], most: int, random: np.random.Generator) -> list[Longs]:
    """Return groups of sentences of similar lengths, in random order, with at most ``most`` words in each group.

    A group is an array of indices of sentences. A longer sentence forms a group by itself.

    >>> groups = grouped(np.array([3, 9, 2, 3]), 6, np.random.default_rng(0))
    >>> sorted(sorted(np.array([3, 9, 2, 3])[group].tolist()) for group in groups)
    [[2, 3], [3], [9]]
    """
    order = np.argsort(lengths + 1.5 * random.random(len(lengths)), kind="stable")
    groups = [order[part] for part in in_parts(lengths[order], most)]
    return [groups[k] for k in random.permutation(len(groups))]


def in_parts(lengths: npt.NDArray[Any], most: int) -> list[slice]:
    """Split sentences into consecutive parts of at most ``most`` words, with at least one sentence in each part."""
    parts, start, words = [], 0, 0
    for k, length in enumerate(lengths.tolist()):
        if k > start and words + length > most:
            parts.append(slice(start, k))
            start, words = k, 0
        words += length
    return [*parts, slice(start, len(lengths))]


def chosen(examples: Examples, which: Longs) -> Examples:
    """Return the examples with the indices ``which``."""

    def ranges(at: Longs, which: Longs) -> tuple[Longs, Longs]:
        sizes = (at[1:] - at[:-1])[which]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        return np.arange(ends[-1]) + np.repeat(at[which] - ends[:-1], sizes), ends

    observed, observed_at = ranges(examples.observed_at, which)
    actions, action_at = ranges(examples.action_at, which)
    unusual, unusual_at = ranges(examples.unusual_at, which)
    structured = len(examples.extra_at) > 1
    extra, extra_at = ranges(examples.extra_at, actions) if structured else (actions[:0], np.zeros(1, np.int64))
    return Examples(
        examples.observed[observed],
        observed_at,
        examples.actions[actions],
        action_at,
        examples.usual_cost[which],
        examples.unusual[unusual],
        examples.unusual_cost[unusual],
        unusual_at,
        examples.extra[extra],
        extra_at,
    )
