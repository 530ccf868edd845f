"""The n best derivations in a hypergraph: lazily, and exactly (Huang & Chiang 2005, Algorithm 3).

The best derivation of every node is known: Viterbi has found it. The second best ends with the same edge and the second
best derivation of one of its tails, or with another edge and the best of its tails; and so on. So each node of which
more than the best derivation is needed has a heap of candidates (:mod:`treewright.search.heaps`). Whenever the best
candidate is removed, up to two are added. The next best derivation of a tail is computed only when a candidate needs
it.

The k best trees of a constituency chart are found by the same algorithm in
:mod:`treewright.constituency.charts.kbest`. Only the heap is shared: here the graph lists every edge into a node, in
fans, whereas a chart has far too many edges to list and finds the k best edges into a node on demand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled
from treewright.search.heaps import meld, without_best
from treewright.search.hypergraph import COUNT, LEFT, LEFT_STEP, PART, PART_STEP, RIGHT, RIGHT_STEP, follow

__all__ = ["FULL", "Derivations", "follow_derivation", "n_best", "new_derivations"]

Int = Any  # an integer of NumPy or Numba, of any width
Float = Any  # a floating-point number of NumPy or Numba
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]

FULL = -3
_UNKNOWN, _NONE = -1, -2  # of the next best derivation


class Derivations(NamedTuple):
    """The derivations found so far and the candidates (Huang & Chiang 2005, Algorithm 3), in one pool.

    A derivation is its last edge (fan and step) and the derivations of its tails, −1 for the best one of a tail of
    which no more are needed. ``following`` is the next best of the same node. Candidates of a node are a pairing heap.
    ``first`` and ``heaps`` are the best derivation and the heap of each place.
    """

    edges: Shorts  # derivation × (fan, step)
    tails: Shorts  # derivation × (left, right)
    links: Shorts  # derivation × (child, sibling, following)
    values: Floats
    first: Shorts
    heaps: Shorts
    stack: Shorts
    size: Ints


def _new_derivations(capacity: int, places: int) -> Derivations:
    return Derivations(
        np.empty((capacity, 2), np.int32),
        np.empty((capacity, 2), np.int32),
        np.empty((capacity, 3), np.int32),
        np.empty(capacity, np.float64),
        np.empty(places + 1, np.int32),
        np.empty(places + 1, np.int32),
        np.empty((places + 2, 2), np.int32),
        np.zeros(1, np.int64),
    )


new_derivations = compiled(_new_derivations)


@compiled
def _make(pool: Any, f: Int, k: Int, left: Int, right: Int, value: Float) -> Int:
    d = pool.size[0]
    pool.size[0] += 1
    pool.edges[d, 0], pool.edges[d, 1] = f, k
    pool.tails[d, 0], pool.tails[d, 1] = left, right
    pool.links[d, 0], pool.links[d, 1], pool.links[d, 2] = -1, -1, _UNKNOWN
    pool.values[d] = value
    return d


@compiled
def _first(pool: Any, place: Int, values: Any, back: Any) -> Int:
    """The best derivation of a node: Viterbi has found it."""
    if pool.first[place] < 0:
        pool.first[place] = _make(pool, back[place, 0], back[place, 1], -1, -1, values[place])
    return np.int64(pool.first[place])


@compiled
def _fill(
    pool: Any, v: Int, of_fan: Int, of_step: Int, first: Int, last: Int, fans: Any, scores: Any, values: Any
) -> None:
    """Make candidates of all edges into a node but the best one, with the best derivations of their tails."""
    for f in range(first, last):
        for k in range(fans[f, COUNT]):
            if f != of_fan or k != of_step:
                left, right = fans[f, LEFT] + k * fans[f, LEFT_STEP], fans[f, RIGHT] + k * fans[f, RIGHT_STEP]
                value = scores[fans[f, PART] + k * fans[f, PART_STEP]] + values[left] + values[right]
                d = _make(pool, f, k, -1, -1, value)
                pool.heaps[v] = meld(pool.values, pool.links, np.int64(pool.heaps[v]), d)


@compiled
def _next_best(
    pool: Any, d: Int, v: Int, fans_of: Any, fans: Any, scores: Any, values: Any, back: Any, nothing: Int
) -> Int:
    """The next best derivation of node ``v`` after ``d``; ``_NONE``; or ``FULL`` if the pool is too small.

    The candidates after d have the next best left tail or the next best right tail. To avoid duplicates, the left one
    advances only while the right one is the best. Tails whose next best is not known yet are found first.
    """
    pool.stack[0, 0], pool.stack[0, 1] = d, v
    depth = 1
    while depth > 0:
        e, v = np.int64(pool.stack[depth - 1, 0]), np.int64(pool.stack[depth - 1, 1])
        first, last = np.int64(fans_of[v, 0]), np.int64(fans_of[v, 1])
        room = np.int64(4)
        for some in range(first, last):
            room += fans[some, COUNT]
        if pool.size[0] + room > pool.values.shape[0]:
            return FULL
        f, k = np.int64(pool.edges[e, 0]), np.int64(pool.edges[e, 1])
        left, right = fans[f, LEFT] + k * fans[f, LEFT_STEP], fans[f, RIGHT] + k * fans[f, RIGHT_STEP]
        of_left = of_right = np.int64(-1)
        next_left = next_right = np.int64(_NONE)
        if right != nothing:
            of_right = np.int64(pool.tails[e, 1])
            if of_right < 0:
                of_right = _first(pool, right, values, back)
            next_right = np.int64(pool.links[of_right, 2])
        if left != nothing:
            of_left = np.int64(pool.tails[e, 0])
            if of_left < 0:
                of_left = _first(pool, left, values, back)
            if right == nothing or of_right == pool.first[right]:
                next_left = np.int64(pool.links[of_left, 2])
        if next_left == _UNKNOWN:
            pool.stack[depth, 0], pool.stack[depth, 1] = of_left, left
            depth += 1
            continue
        if next_right == _UNKNOWN:
            pool.stack[depth, 0], pool.stack[depth, 1] = of_right, right
            depth += 1
            continue
        heap: Any = np.int64(pool.heaps[v])
        part = scores[fans[f, PART] + k * fans[f, PART_STEP]]
        if next_left >= 0:
            other = pool.values[of_right] if of_right >= 0 else 0.0
            made = _make(pool, f, k, next_left, of_right, part + pool.values[next_left] + other)
            heap = meld(pool.values, pool.links, heap, made)
        if next_right >= 0:
            other = pool.values[of_left] if of_left >= 0 else 0.0
            made = _make(pool, f, k, of_left, next_right, part + other + pool.values[next_right])
            heap = meld(pool.values, pool.links, heap, made)
        pool.heaps[v] = heap
        if e == pool.first[v]:
            _fill(pool, v, f, k, first, last, fans, scores, values)
        heap = np.int64(pool.heaps[v])
        pool.links[e, 2] = _NONE if heap < 0 else heap
        if heap >= 0:
            pool.heaps[v] = without_best(pool.values, pool.links, heap)
        depth -= 1
    return np.int64(pool.links[d, 2])


@compiled
def n_best(
    pool: Any, n: Int, root: Int, fans_of: Any, fans: Any, scores: Any, values: Any, back: Any, nothing: Int, found: Any
) -> Int:
    """Write the n best derivations of the root, best first; return their number, or ``FULL``."""
    pool.size[0] = 0
    pool.first[:] = -1
    pool.heaps[:] = -1
    found[0] = _first(pool, root, values, back)
    for count in range(1, n):
        d = _next_best(pool, np.int64(found[count - 1]), root, fans_of, fans, scores, values, back, nothing)
        if d == FULL:
            return FULL
        if d < 0:
            return count
        found[count] = d
    return n


@compiled
def follow_derivation(
    pool: Any, d: Int, nothing: Int, fans: Any, back: Any, weight: Float, stack: Any, weights: Any
) -> None:
    """Add a weight to the parts of a derivation; a tail of −1 has its best derivation."""
    pool.stack[0, 0] = d
    depth = 1
    while depth > 0:
        depth -= 1
        e = np.int64(pool.stack[depth, 0])
        f, k = np.int64(pool.edges[e, 0]), np.int64(pool.edges[e, 1])
        weights[fans[f, PART] + k * fans[f, PART_STEP]] += weight
        for side in range(2):
            place = fans[f, RIGHT if side else LEFT] + k * fans[f, RIGHT_STEP if side else LEFT_STEP]
            if place != nothing:
                if pool.tails[e, side] >= 0:
                    pool.stack[depth, 0] = pool.tails[e, side]
                    depth += 1
                else:
                    follow(place, nothing, fans, back, weight, stack, weights)
