"""The memory of the agenda parser: its chart, and the priority queue of constituents.

A constituent is the number span · N + symbol (:mod:`treewright.constituency.charts.spans`), N being the number of
symbols. So the constituents that one pair of neighbours builds are adjacent in memory. The queue is a binary heap; the
position of each constituent in the heap is stored, so that its key can change.

For each position between words and each symbol, a set of bits has the ends (starts) of the chart's constituents that
start (end) there. So a loop over the pairs of the grammar finds the neighbours directly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.semirings import NEVER
from treewright.constituency.charts.spans import ends_of
from treewright.search.compiling import compiled, lean

__all__ = ["Agenda", "agenda_bytes", "clear", "new_agenda", "place_after", "remove", "restore_heap", "set_key"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

UNSEEN, IN_CHART, DROPPED = -1, -2, -3  # positions of constituents that are not in the queue
SIZE, TOUCHED, CHANGED, POPS, PUSHES, PRUNED = 0, 1, 2, 3, 4, 5  # counters


class Agenda(NamedTuple):
    """Chart and queue of one thread, reused for all its sentences."""

    score: Floats  # the inside score of each constituent
    rule: Ints  # the best way to build it: the rule (−1 for a word)
    split: Ints  # and where it splits (−1 for a unary rule)
    position: Ints  # its position in the heap
    stamp: Ints  # the pop that changed it last
    heap: Ints  # constituents, those of the highest keys first
    key: Floats  # of each position in the heap
    ends: Bits  # words of bits × places × symbols: ends of the chart's constituents that start here
    starts: Bits  # starts of those that end here
    best: Floats  # for each span the best score of bottoms, then of tops
    touched: Ints  # the constituents that were built
    changed: Ints  # those that the current pop changed
    counters: Longs


@compiled
def new_agenda(symbols: int, n: int) -> Agenda:
    """The memory for sentences of up to n words: see :func:`agenda_bytes`."""
    spans = n * (n + 1) // 2
    sets = (n // 64 + 1) * (n + 1) * symbols
    return Agenda(
        np.full(spans * symbols, NEVER),
        np.full(spans * symbols, -1, np.int32),
        np.full(spans * symbols, -1, np.int32),
        np.full(spans * symbols, UNSEEN, np.int32),
        np.full(spans * symbols, -1, np.int32),
        np.zeros(spans * symbols, np.int32),
        np.zeros(spans * symbols),
        np.zeros(sets, np.uint64),
        np.zeros(sets, np.uint64),
        np.full(2 * spans, NEVER),
        np.zeros(spans * symbols, np.int32),
        np.zeros(2 * n * symbols, np.int32),
        np.zeros(6, np.int64),
    )


def agenda_bytes(symbols: int, n: int) -> int:
    """The memory of chart and queue in bytes, without exploration.

    >>> agenda_bytes(1000, 40)
    33776000
    """
    return symbols * (40 * n * (n + 1) // 2 + 16 * (n // 64 + 1) * (n + 1) + 8 * n)


@lean
def clear(agenda: Agenda, symbols: int, n: int) -> None:
    """Empty chart and queue, in time proportional to the number of built constituents."""
    words = n // 64 + 1
    for k in range(agenda.counters[TOUCHED]):
        item = agenda.touched[k]
        agenda.score[item] = NEVER
        agenda.position[item] = UNSEEN
        agenda.stamp[item] = -1
        symbol, span = item % symbols, item // symbols
        start, end = ends_of(span)
        for word in range(words):
            agenda.ends[(word * (n + 1) + start) * symbols + symbol] = np.uint64(0)
            agenda.starts[(word * (n + 1) + end) * symbols + symbol] = np.uint64(0)
    for span in range(n * (n + 1) // 2):
        agenda.best[2 * span] = NEVER
        agenda.best[2 * span + 1] = NEVER
    for k in range(agenda.counters.shape[0]):
        agenda.counters[k] = 0


# ---- the heap


@lean
def _is_before(key: float, item: int, other_key: float, other: int) -> bool:
    """Whether it is popped before the other one. Of equal keys, the lower number comes first."""
    return key > other_key or (key == other_key and item < other)


@lean
def _sift_up(heap: Any, keys: Any, position: Any, k: int) -> Any:
    """Move a constituent up to its position."""
    item, key = heap[k], keys[k]
    while k > 0:
        above = (k - 1) >> 1
        if not _is_before(key, item, keys[above], heap[above]):
            break
        heap[k], keys[k] = heap[above], keys[above]
        position[heap[k]] = k
        k = above
    heap[k], keys[k] = item, key
    position[item] = k
    return k


@lean
def _sift_down(heap: Any, keys: Any, position: Any, k: int, size: int) -> None:
    """Move a constituent down to its position."""
    item, key = heap[k], keys[k]
    while 2 * k + 1 < size:
        below = 2 * k + 1
        if below + 1 < size and _is_before(keys[below + 1], heap[below + 1], keys[below], heap[below]):
            below += 1
        if not _is_before(keys[below], heap[below], key, item):
            break
        heap[k], keys[k] = heap[below], keys[below]
        position[heap[k]] = k
        k = below
    heap[k], keys[k] = item, key
    position[item] = k


@lean
def set_key(agenda: Agenda, item: int, key: float) -> None:
    """Put a constituent into the queue, or change its key there."""
    k = np.int64(agenda.position[item])
    if k < 0:
        k = agenda.counters[SIZE]
        agenda.counters[SIZE] += 1
    agenda.heap[k], agenda.key[k] = item, key
    k = _sift_up(agenda.heap, agenda.key, agenda.position, k)
    _sift_down(agenda.heap, agenda.key, agenda.position, k, agenda.counters[SIZE])


@lean
def remove(agenda: Agenda, item: int) -> None:
    """Move a constituent from the queue to the chart."""
    k, last = np.int64(agenda.position[item]), agenda.counters[SIZE] - 1
    agenda.counters[SIZE] = last
    if k != last:
        agenda.heap[k], agenda.key[k] = agenda.heap[last], agenda.key[last]
        k = _sift_up(agenda.heap, agenda.key, agenda.position, k)
        _sift_down(agenda.heap, agenda.key, agenda.position, k, last)
    agenda.position[item] = IN_CHART


@lean
def place_after(agenda: Agenda, place: int) -> int:
    """The position in the heap of the constituent that is popped after the one at ``place``; −1 if there is none."""
    heap, keys, found = agenda.heap, agenda.key, -1
    for k in range(agenda.counters[SIZE]):
        if _is_before(keys[place], heap[place], keys[k], heap[k]) and (
            found < 0 or _is_before(keys[k], heap[k], keys[found], heap[found])
        ):
            found = k
    return found


@lean
def restore_heap(agenda: Agenda) -> None:
    """Restore the heap after all keys have changed."""
    size = agenda.counters[SIZE]
    for k in range(size // 2 - 1, -1, -1):
        _sift_down(agenda.heap, agenda.key, agenda.position, k, size)
