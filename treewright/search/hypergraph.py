"""Packed forests: all plans for a sentence in one small graph, and what the learners ask of them.

A plan that is built of smaller plans is a *derivation* in a hypergraph (Klein & Manning 2001; Huang & Chiang 2005). A
*node* is something to be built (a span with its head, a word with its label) and a state of the decision process; an
*edge* into it is one way to build it, and an action: it needs up to two other nodes, its *tails*, and carries up to one
*part*, the anchored action, which has a score. The value of a derivation is the sum of the scores of its parts.

The shape of the graph depends on the length of a sentence only. Here is that of a tagger with the labels N and V for two
words; words are parts, and so are pairs of neighbouring labels::

    (N, 1) ──► (N, 2)
           ╲ ╱        ╲
            ╳          ► root
           ╱ ╲        ╱
    (V, 1) ──► (V, 2)

Edges into a node are alike: those of a span differ in where it is split. So they are not listed one by one but in *fans*:
a fan says where the tails and the part of its first edge are, how many steps it is from there to those of the next edge,
and how many edges there are. A chart with O(n³) edges has O(n²) fans, and what runs over them is a loop over strided arrays.

Three sweeps answer everything. Upwards, :func:`viterbi` finds the value of the best derivation of each node, and
:func:`inside` the logarithm of the sum over all of them. Downwards, a weight that a node is given is handed on to the
edges into it: to the best one (:func:`follow`), or to all of them by their probabilities (:func:`expect`); and
:func:`match` gives weights to the actions that the expert could have taken, and hands them on along the best edges.
What arrives at the parts are weights by which to sum their features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled, kernel
from treewright.search.planning import Features
from treewright.search.running import run_shards
from treewright.search.task import ENGINE

__all__ = ["Forests", "Hypergraph", "HypergraphPlanner", "Sums", "add", "fan", "pack_graphs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]

#: the columns of a fan: place of the left tail and the step to that of the next edge, the same for the right tail and the
#: part, and the number of edges
LEFT, LEFT_STEP, RIGHT, RIGHT_STEP, PART, PART_STEP, COUNT = range(7)

_NEGLIGIBLE = 1e-15  # a probability that rounding would swallow
_UNKNOWN, _NONE = -1, -2  # of the next best derivation
_FULL = -3
_MOST_BLOCKS = 16
_LEAST_BLOCK = 8  # instances


class Hypergraph(NamedTuple):
    """The shape of a packed forest.

    Nodes have *places*, from 0 to ``places`` − 1, and one more that stands for no tail; parts likewise. ``nodes`` are the
    places that are in use, tails before heads; the last is the root. The fans of ``nodes[m]`` are those from
    ``fans_at[m]`` to ``fans_at[m + 1]``, one at least.

    Two ways to build the root from nothing, with the parts 0 and 1:

    >>> Hypergraph(np.array([0], np.int32), np.array([0, 1], np.int32), fan(1, 0, 1, 0, 0, 1, 2)[None], 1, 2).edges
    2
    """

    nodes: Shorts
    fans_at: Shorts
    fans: Shorts
    places: int
    parts: int

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return int(self.fans[:, COUNT].sum())


def fan(*columns: npt.ArrayLike) -> Shorts:
    """Fans from their seven columns, which may be numbers or arrays.

    >>> fan([4, 5], 0, 9, 0, 9, 0, 1).tolist()
    [[4, 0, 9, 0, 9, 0, 1], [5, 0, 9, 0, 9, 0, 1]]
    """
    return np.stack(np.broadcast_arrays(*columns), axis=-1).astype(np.int32)


class Forests(NamedTuple):
    """Hypergraphs, one behind the other. ``shapes`` has a row for each: its places, its parts, and its most edges."""

    nodes: Shorts
    nodes_at: Ints
    fans_at: Shorts
    fans: Shorts
    fans_from: Ints
    shapes: Ints


def pack_graphs(graphs: Sequence[Hypergraph]) -> Forests:
    """One flat array for each field, as kernels take them."""
    widest = [int(np.add.reduceat(g.fans[:, COUNT], g.fans_at[:-1]).max()) for g in graphs]
    none = np.zeros(0, np.int32)
    return Forests(
        nodes=np.concatenate([none, *(g.nodes for g in graphs)]),
        nodes_at=np.cumsum([0, *(len(g.nodes) for g in graphs)], dtype=np.int64),
        fans_at=np.concatenate([none, *(g.fans_at for g in graphs)]),
        fans=np.concatenate([none.reshape(0, 7), *(g.fans for g in graphs)]),
        fans_from=np.cumsum([0, *(len(g.fans) for g in graphs)], dtype=np.int64),
        shapes=np.array([[g.places, g.parts, w] for g, w in zip(graphs, widest, strict=True)], np.int64).reshape(-1, 3),
    )


# ---- one forest: upwards


@compiled
def viterbi(nodes: Any, fans_at: Any, fans: Any, scores: Any, values: Any, back: Any) -> float:
    """The value of the best derivation of each node, and the edge that it ends with: ``back[place]`` is fan and step.

    Of equal edges the first is the best. ``scores`` and ``values`` end with what stands for no part and no tail: 0.
    """
    for m in range(nodes.shape[0]):
        best, of_fan, of_step = -np.inf, 0, 0
        for f in range(fans_at[m], fans_at[m + 1]):
            left, right, part = np.int64(fans[f, LEFT]), np.int64(fans[f, RIGHT]), np.int64(fans[f, PART])
            for k in range(fans[f, COUNT]):
                value = scores[part] + values[left] + values[right]
                if value > best:
                    best, of_fan, of_step = value, f, k
                left += fans[f, LEFT_STEP]
                right += fans[f, RIGHT_STEP]
                part += fans[f, PART_STEP]
        values[nodes[m]] = best
        back[nodes[m], 0] = of_fan
        back[nodes[m], 1] = of_step
    return values[nodes[nodes.shape[0] - 1]]


@compiled
def inside(nodes: Any, fans_at: Any, fans: Any, scores: Any, values: Any, q: Any) -> float:
    """The logarithm of the sum over all derivations of each node; ``q`` is scratch space for the edges into one."""
    for m in range(nodes.shape[0]):
        n = _edge_values(fans_at[m], fans_at[m + 1], fans, scores, values, q)
        most = q[0]
        for e in range(1, n):
            most = max(most, q[e])
        total = 0.0
        for e in range(n):
            total += np.exp(q[e] - most)
        values[nodes[m]] = most + np.log(total)
    return values[nodes[nodes.shape[0] - 1]]


@compiled
def _edge_values(first: int, last: int, fans: Any, scores: Any, values: Any, q: Any) -> int:
    """The values Q(x, a) of all edges into a node, given those of their tails; how many they are."""
    n = 0
    for f in range(first, last):
        left, right, part = np.int64(fans[f, LEFT]), np.int64(fans[f, RIGHT]), np.int64(fans[f, PART])
        for _ in range(fans[f, COUNT]):
            q[n] = scores[part] + values[left] + values[right]
            n += 1
            left += fans[f, LEFT_STEP]
            right += fans[f, RIGHT_STEP]
            part += fans[f, PART_STEP]
    return n


# ---- one forest: downwards


@compiled
def _hand_on(first: int, last: int, fans: Any, amounts: Any, visits: Any, weights: Any) -> None:
    """Add an amount for each edge into a node to its tails and its part."""
    n = 0
    for f in range(first, last):
        left, right, part = np.int64(fans[f, LEFT]), np.int64(fans[f, RIGHT]), np.int64(fans[f, PART])
        for _ in range(fans[f, COUNT]):
            weights[part] += amounts[n]
            visits[left] += amounts[n]
            visits[right] += amounts[n]
            n += 1
            left += fans[f, LEFT_STEP]
            right += fans[f, RIGHT_STEP]
            part += fans[f, PART_STEP]


@compiled
def follow(root: int, nothing: int, fans: Any, back: Any, weight: float, stack: Any, weights: Any) -> None:
    """Add a weight to the parts of the derivation that ``back`` tells, for each time that it has them."""
    stack[0] = root
    size = 1
    while size > 0:
        size -= 1
        f, k = np.int64(back[stack[size], 0]), np.int64(back[stack[size], 1])
        weights[fans[f, PART] + k * fans[f, PART_STEP]] += weight
        left, right = fans[f, LEFT] + k * fans[f, LEFT_STEP], fans[f, RIGHT] + k * fans[f, RIGHT_STEP]
        if left != nothing:
            stack[size] = left
            size += 1
        if right != nothing:
            stack[size] = right
            size += 1


@compiled
def expect(nodes: Any, fans_at: Any, fans: Any, scores: Any, values: Any, q: Any, visits: Any, weights: Any) -> None:
    """How often each part is expected in a derivation drawn by its exponential; ``values`` are those of :func:`inside`.

    ``visits`` become the expected visits of nodes. Given a node, an edge is as probable as exp(Q − V), so they are
    handed down from the root; this is the outside pass, without its logarithms.
    """
    visits[:] = 0.0
    visits[nodes[nodes.shape[0] - 1]] = 1.0
    for m in range(nodes.shape[0] - 1, -1, -1):
        visit = visits[nodes[m]]
        if visit < _NEGLIGIBLE:
            continue
        n = _edge_values(fans_at[m], fans_at[m + 1], fans, scores, values, q)
        for e in range(n):
            q[e] = visit * np.exp(q[e] - values[nodes[m]])
        _hand_on(fans_at[m], fans_at[m + 1], fans, q, visits, weights)


@compiled
def match(
    nodes: Any, fans_at: Any, fans: Any, scores: Any, values: Any, back: Any, expert: Any, temperature: float,
    q: Any, visits: Any, weights: Any,
) -> float:  # fmt: skip
    """Policy matching (eq. 16 to 19): weights for the parts that sum their features to −∂J, and J.

    ``values`` and ``back`` are those of :func:`viterbi`. ``expert`` has fan and step of the expert's edge into each node
    of his derivation, and fan −1 elsewhere. In each of these states, π(a) = softmax(Q(a) / η) and u(a) = [a is the
    expert's] − π(a); the sum of u(a)·∂π(a) is that of g(a)·Φ(a) with g(a) = π(a)/η·(u(a) − Σ_b π(b)·u(b)). Φ(a) are the
    features of a and of the best derivations of its tails: so g(a) is given to the edge and handed on to its tails,
    which hand all that they are given on along their best edges, wide nodes before narrow ones.
    """
    visits[:] = 0.0
    total = 0.0
    for m in range(nodes.shape[0] - 1, -1, -1):
        v = nodes[m]
        if expert[v, 0] >= 0:
            n = _edge_values(fans_at[m], fans_at[m + 1], fans, scores, values, q)
            z = 0.0
            for e in range(n):
                q[e] = np.exp((q[e] - values[v]) / temperature)
                z += q[e]
            right = np.int64(expert[v, 1])
            for f in range(fans_at[m], expert[v, 0]):
                right += fans[f, COUNT]
            mean = 0.0
            for e in range(n):
                q[e] /= z
                u = (1.0 if e == right else 0.0) - q[e]
                mean += q[e] * u
                total += 0.5 * u * u
            for e in range(n):
                u = (1.0 if e == right else 0.0) - q[e]
                q[e] = q[e] / temperature * (u - mean)
            _hand_on(fans_at[m], fans_at[m + 1], fans, q, visits, weights)
        if visits[v] != 0.0:
            f, k = np.int64(back[v, 0]), np.int64(back[v, 1])
            weights[fans[f, PART] + k * fans[f, PART_STEP]] += visits[v]
            visits[fans[f, LEFT] + k * fans[f, LEFT_STEP]] += visits[v]
            visits[fans[f, RIGHT] + k * fans[f, RIGHT_STEP]] += visits[v]
    return total


# ---- one forest: the n best


class Derivations(NamedTuple):
    """Derivations that were found or are candidates (Huang & Chiang 2005, Algorithm 3), in one pool.

    A derivation is its last edge (fan and step) and those of its tails, −1 where these are the best and nobody asked
    for more. ``following`` is the next best of the same node. Candidates of a node are a pairing heap: the first child
    and the next sibling of each. ``first`` and ``heaps`` are the best derivation and the heap of each place.
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
def _make(pool: Any, f: int, k: int, left: int, right: int, value: float) -> int:
    d = pool.size[0]
    pool.size[0] += 1
    pool.edges[d, 0], pool.edges[d, 1] = f, k
    pool.tails[d, 0], pool.tails[d, 1] = left, right
    pool.links[d, 0], pool.links[d, 1], pool.links[d, 2] = -1, -1, _UNKNOWN
    pool.values[d] = value
    return d


@compiled
def _first(pool: Any, place: int, values: Any, back: Any) -> int:
    """The best derivation of a node: Viterbi has found it."""
    if pool.first[place] < 0:
        pool.first[place] = _make(pool, back[place, 0], back[place, 1], -1, -1, values[place])
    return np.int64(pool.first[place])


@compiled
def _meld(pool: Any, a: int, b: int) -> int:
    """One heap of two; of equal derivations the older one is on top."""
    if a < 0 or b < 0:
        return max(a, b)
    if pool.values[b] > pool.values[a] or (pool.values[b] == pool.values[a] and b < a):
        a, b = b, a
    pool.links[b, 1] = pool.links[a, 0]
    pool.links[a, 0] = b
    return a


@compiled
def _without_top(pool: Any, top: int) -> int:
    """What remains of a heap: its children melded in pairs, and then these from last to first."""
    pairs, child = np.int64(-1), np.int64(pool.links[top, 0])
    while child >= 0:
        other = np.int64(pool.links[child, 1])
        rest = np.int64(-1)
        if other >= 0:
            rest = np.int64(pool.links[other, 1])
            child = _meld(pool, child, other)
        pool.links[child, 1] = pairs
        pairs, child = child, rest
    heap = np.int64(-1)
    while pairs >= 0:
        rest = np.int64(pool.links[pairs, 1])
        heap = _meld(pool, heap, pairs)
        pairs = rest
    return heap


@compiled
def _fill(
    pool: Any, v: int, of_fan: int, of_step: int, first: int, last: int, fans: Any, scores: Any, values: Any
) -> None:
    """Make candidates of all edges into a node but the best one, with the best derivations of their tails."""
    for f in range(first, last):
        for k in range(fans[f, COUNT]):
            if f != of_fan or k != of_step:
                left, right = fans[f, LEFT] + k * fans[f, LEFT_STEP], fans[f, RIGHT] + k * fans[f, RIGHT_STEP]
                value = scores[fans[f, PART] + k * fans[f, PART_STEP]] + values[left] + values[right]
                pool.heaps[v] = _meld(pool, np.int64(pool.heaps[v]), _make(pool, f, k, -1, -1, value))


@compiled
def _next_best(
    pool: Any, d: int, v: int, fans_of: Any, fans: Any, scores: Any, values: Any, back: Any, nothing: int
) -> int:
    """The derivation of node ``v`` that follows on ``d`` by its value, ``_NONE``, or ``_FULL`` if the pool is too small.

    The candidates after d have the next best left tail or the next best right tail. So that none is met twice, the left
    one goes on only while the right one is the best. Tails whose next best is not known yet are found first.
    """
    pool.stack[0, 0], pool.stack[0, 1] = d, v
    depth = 1
    while depth > 0:
        e, v = np.int64(pool.stack[depth - 1, 0]), np.int64(pool.stack[depth - 1, 1])
        first, last = np.int64(fans_of[v, 0]), np.int64(fans_of[v, 1])
        room = np.int64(4)
        for f in range(first, last):
            room += fans[f, COUNT]
        if pool.size[0] + room > pool.values.shape[0]:
            return _FULL
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
        heap = np.int64(pool.heaps[v])
        part = scores[fans[f, PART] + k * fans[f, PART_STEP]]
        if next_left >= 0:
            other = pool.values[of_right] if of_right >= 0 else 0.0
            heap = _meld(pool, heap, _make(pool, f, k, next_left, of_right, part + pool.values[next_left] + other))
        if next_right >= 0:
            other = pool.values[of_left] if of_left >= 0 else 0.0
            heap = _meld(pool, heap, _make(pool, f, k, of_left, next_right, part + other + pool.values[next_right]))
        pool.heaps[v] = heap
        if e == pool.first[v]:
            _fill(pool, v, f, k, first, last, fans, scores, values)
        heap = np.int64(pool.heaps[v])
        pool.links[e, 2] = _NONE if heap < 0 else heap
        if heap >= 0:
            pool.heaps[v] = _without_top(pool, heap)
        depth -= 1
    return np.int64(pool.links[d, 2])


@compiled
def n_best(
    pool: Any, n: int, root: int, fans_of: Any, fans: Any, scores: Any, values: Any, back: Any, nothing: int, found: Any
) -> int:
    """The n best derivations of the root, best first; how many there are, or ``_FULL``."""
    pool.size[0] = 0
    pool.first[:] = -1
    pool.heaps[:] = -1
    found[0] = _first(pool, root, values, back)
    for count in range(1, n):
        d = _next_best(pool, np.int64(found[count - 1]), root, fans_of, fans, scores, values, back, nothing)
        if d == _FULL:
            return _FULL
        if d < 0:
            return count
        found[count] = d
    return n


@compiled
def follow_derivation(
    pool: Any, d: int, nothing: int, fans: Any, back: Any, weight: float, stack: Any, weights: Any
) -> None:
    """Add a weight to the parts of a derivation; tails that nobody asked for are the best ones."""
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


# ---- passes over many forests


class Batch(NamedTuple):
    """Forests of some instances: the number of the graph of each, and the scores of its parts from ``at`` on.

    The expert's parts are ``gold[gold_at[i] : gold_at[i + 1]]``; they tell his derivation from all others.
    """

    graph: Ints
    scores: Floats
    at: Ints
    gold: Shorts
    gold_at: Ints


@compiled
def _shape(forests: Any, g: int) -> tuple[Any, Any, Any, int, int]:
    """The nodes and fans of a graph, its root, and the place that stands for nothing."""
    first, last = forests.nodes_at[g], forests.nodes_at[g + 1]
    fans = forests.fans[forests.fans_from[g] : forests.fans_from[g + 1]]
    fans_at = forests.fans_at[first + g : last + g + 1]
    nodes = forests.nodes[first:last]
    return nodes, fans_at, fans, np.int64(nodes[nodes.shape[0] - 1]), np.int64(forests.shapes[g, 0])


@compiled
def _largest(forests: Any, batch: Any) -> tuple[int, int]:
    """The most places, and the most edges into a node, in a batch."""
    places = edges = np.int64(1)
    for i in range(batch.graph.shape[0]):
        places = max(places, forests.shapes[batch.graph[i], 0] + 1)
        edges = max(edges, forests.shapes[batch.graph[i], 2])
    return places, edges


@kernel
def best_pass(engine: Any, forests: Forests, batch: Batch, weights: Any, totals: Any) -> None:
    """The parts of the best derivations, and their values."""
    places, _ = _largest(forests, batch)
    values, back, stack = np.zeros(places), np.zeros((places, 2), np.int32), np.zeros(places, np.int32)
    for i in range(batch.graph.shape[0]):
        nodes, fans_at, fans, root, nothing = _shape(forests, batch.graph[i])
        scores, own = batch.scores[batch.at[i] : batch.at[i + 1]], weights[batch.at[i] : batch.at[i + 1]]
        values[nothing] = 0.0
        totals[i] = viterbi(nodes, fans_at, fans, scores, values, back)
        follow(root, nothing, fans, back, 1.0, stack, own)


@kernel
def expected_pass(engine: Any, forests: Forests, batch: Batch, weights: Any, totals: Any) -> None:
    """How often parts are expected, and the logarithms of the sums over all derivations."""
    places, edges = _largest(forests, batch)
    values, visits, q = np.zeros(places), np.zeros(places), np.zeros(edges)
    for i in range(batch.graph.shape[0]):
        nodes, fans_at, fans, root, nothing = _shape(forests, batch.graph[i])
        scores, own = batch.scores[batch.at[i] : batch.at[i + 1]], weights[batch.at[i] : batch.at[i + 1]]
        values[nothing] = 0.0
        totals[i] = inside(nodes, fans_at, fans, scores, values, q)
        expect(nodes, fans_at, fans, scores, values, q, visits, own)


@kernel
def matching_pass(engine: Any, forests: Forests, batch: Batch, temperature: float, weights: Any, totals: Any) -> None:
    """The weights of policy matching, and J. The expert's derivation is the best one where his parts have a score."""
    places, edges = _largest(forests, batch)
    values, visits, q = np.zeros(places), np.zeros(places), np.zeros(edges)
    back, expert, stack = np.zeros((places, 2), np.int32), np.zeros((places, 2), np.int32), np.zeros(places, np.int32)
    for i in range(batch.graph.shape[0]):
        nodes, fans_at, fans, root, nothing = _shape(forests, batch.graph[i])
        scores, own = batch.scores[batch.at[i] : batch.at[i + 1]], weights[batch.at[i] : batch.at[i + 1]]
        values[nothing] = 0.0
        for k in range(batch.gold_at[i], batch.gold_at[i + 1]):
            own[batch.gold[k]] = 1.0
        viterbi(nodes, fans_at, fans, own, values, back)
        own[:] = 0.0
        _only_derivation(root, nothing, fans, back, stack, expert)
        viterbi(nodes, fans_at, fans, scores, values, back)
        totals[i] = match(nodes, fans_at, fans, scores, values, back, expert, temperature, q, visits, own)


@compiled
def _only_derivation(root: int, nothing: int, fans: Any, back: Any, stack: Any, only: Any) -> None:
    """Keep of the best edges those of one derivation; the others have fan −1."""
    only[:, 0] = -1
    stack[0] = root
    size = 1
    while size > 0:
        size -= 1
        v = np.int64(stack[size])
        f, k = np.int64(back[v, 0]), np.int64(back[v, 1])
        only[v, 0], only[v, 1] = f, k
        left, right = fans[f, LEFT] + k * fans[f, LEFT_STEP], fans[f, RIGHT] + k * fans[f, RIGHT_STEP]
        if left != nothing:
            stack[size] = left
            size += 1
        if right != nothing:
            stack[size] = right
            size += 1


@kernel
def n_best_pass(engine: Any, forests: Forests, batch: Batch, n: int, weights: Any, best: Any) -> None:
    """How often parts are expected in one of the n best derivations; ``best[i]`` are the values of these.

    Where there are fewer than n, the remaining values are −∞.
    """
    places, _ = _largest(forests, batch)
    values, back, stack = np.zeros(places), np.zeros((places, 2), np.int32), np.zeros(places, np.int32)
    fans_of, found = np.zeros((places, 2), np.int32), np.zeros(n, np.int64)
    pool = new_derivations(np.int64(1024) + 8 * places, places)
    for i in range(batch.graph.shape[0]):
        nodes, fans_at, fans, root, nothing = _shape(forests, batch.graph[i])
        scores, own = batch.scores[batch.at[i] : batch.at[i + 1]], weights[batch.at[i] : batch.at[i + 1]]
        values[nothing] = 0.0
        viterbi(nodes, fans_at, fans, scores, values, back)
        for m in range(nodes.shape[0]):
            fans_of[nodes[m], 0], fans_of[nodes[m], 1] = fans_at[m], fans_at[m + 1]
        count = n_best(pool, n, root, fans_of, fans, scores, values, back, nothing, found)
        while count == _FULL:  # nobody knows before how many candidates there will be
            pool = new_derivations(2 * pool.values.shape[0], places)
            count = n_best(pool, n, root, fans_of, fans, scores, values, back, nothing, found)
        z = 0.0
        for r in range(count):
            best[i, r] = pool.values[found[r]]
            z += np.exp(best[i, r] - best[i, 0])
        best[i, count:] = -np.inf
        for r in range(count):
            share = np.exp(best[i, r] - best[i, 0]) / z
            follow_derivation(pool, np.int64(found[r]), nothing, fans, back, share, stack, own)


# ---- planners


class Sums(NamedTuple):
    """A sparse sum of features that is being made: dense totals, and the places that are not zero any more."""

    totals: Floats
    touched: npt.NDArray[np.bool_]
    places: Ints
    count: Ints


@compiled
def add(sums: Any, place: int, amount: float) -> None:
    """Add an amount of a feature."""
    if not sums.touched[place]:
        sums.touched[place] = True
        sums.places[sums.count[0]] = place
        sums.count[0] += 1
    sums.totals[place] += amount


Run = Callable[[Batch, Floats, Floats], None]


class HypergraphPlanner(ABC):
    """A :class:`~treewright.search.planning.Planner` whose plans are derivations in hypergraphs.

    A subclass knows what parts are: it scores them (:meth:`score`), and sums their features (:meth:`collect`).

    Args:
        size: how many weights there are.
        graphs: hypergraphs, and ``graph``: which of them is that of each instance.
        gold: the parts of the experts' plans, those of instance i from ``gold_at[i]`` on, each as often as it occurs.
        anchors: those of them that tell the plan from all others, and that no other plan has all of; what the loss
            constant of Algorithm 4 is taken from. By default all.
    """

    def __init__(
        self,
        size: int,
        graphs: Sequence[Hypergraph],
        graph: Ints,
        gold: Shorts,
        gold_at: Ints,
        anchors: tuple[Shorts, Ints] | None = None,
    ) -> None:
        self.forests = pack_graphs(graphs)
        self.graph = graph
        self.gold = gold, gold_at
        self.anchors = self.gold if anchors is None else anchors
        self._size = size
        self._free: list[Sums] = []
        self._latest = np.zeros(0, np.int64), Features(np.zeros(0, np.int64), np.zeros(0), 0.0)

    # ---- what a subclass knows

    @abstractmethod
    def score(self, θ: Floats, which: Ints, at: Ints, scores: Floats) -> None:
        """Write the scores of the parts of instances, those of ``which[k]`` from ``at[k]`` on; all else is 0."""

    @abstractmethod
    def collect(self, which: Ints, at: Ints, weights: Floats, sums: Sums) -> None:
        """Add the features of parts, as often as their weights say."""

    # ---- the protocol

    @property
    def size(self) -> int:
        """How many weights there are to learn."""
        return self._size

    def __len__(self) -> int:
        return len(self.graph)

    def initial(self) -> Floats:
        """Zeros."""
        return np.zeros(self._size)

    def expert_features(self, which: Ints) -> Features:
        """Σ Φ of the experts' plans."""

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            np.add.at(weights, _own_places(batch.gold, batch.gold_at, batch.at), 1.0)

        which = np.asarray(which, np.int64)
        if not np.array_equal(which, self._latest[0]):  # learners ask for features and values of the same instances
            self._latest = which.copy(), self._sum(None, which, 1, run, self.gold)
        return self._latest[1]

    def expert_values(self, θ: Floats, which: Ints) -> float:
        """Σ of the values of the experts' plans."""
        features = self.expert_features(which)
        return float((θ[features.at] * features.amount).sum())  # not @, which would start threads for so little

    def optimal_features(self, θ: Floats, which: Ints, *, loss: float = 0.0, jobs: int = 1) -> Features:
        """Σ Φ of the best plans, and their values.

        Features are of anchored actions, and the expert's plan has each of those once or not at all. So the counterpart
        of the rewards r − c·f(φ, τ_E) of Algorithm 4 is to take c from every anchored action of the expert: a plan loses
        c for each word that it treats as the expert does, and the expert's must win in spite of that. But for a
        constant this is the Hamming margin of Taskar, Guestrin & Koller (2003).
        """

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            if loss:
                np.subtract.at(batch.scores, _own_places(batch.gold, batch.gold_at, batch.at), loss)
            best_pass(ENGINE, self.forests, batch, weights, totals)

        return self._sum(θ, which, jobs, run, self.anchors)

    def n_best_features(self, θ: Floats, which: Ints, n: int, *, jobs: int = 1) -> Features:
        """Σ of E[Φ] over the n best plans; the value is Σ of the logarithms of the sums of their exponentials."""

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            best = np.empty((len(totals), n))
            n_best_pass(ENGINE, self.forests, batch, n, weights, best)
            totals[:] = best[:, 0] + np.log(np.exp(best - best[:, :1]).sum(axis=1))

        return self._sum(θ, which, jobs, run, self.anchors)

    def expected_features(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Features:
        """Σ of E[Φ] over all plans; the value is Σ log Z."""

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            expected_pass(ENGINE, self.forests, batch, weights, totals)

        return self._sum(θ, which, jobs, run, self.anchors)

    def policy_matching(self, θ: Floats, which: Ints, temperature: float, *, jobs: int = 1) -> Features:
        """Σ of eq. 18 over the nodes of the experts' derivations; the value is J of eq. 16, summed."""

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            matching_pass(ENGINE, self.forests, batch, float(temperature), weights, totals)

        return self._sum(θ, which, jobs, run, self.anchors)

    def best_parts(self, θ: Floats, which: Ints) -> tuple[Ints, Floats]:
        """The parts of the best plans: where those of each instance begin, and how often it has each of its parts."""
        batch, weights, totals = self._batch(θ, which, self.anchors)
        best_pass(ENGINE, self.forests, batch, weights, totals)
        return batch.at, weights

    # ---- how sums are made

    def _batch(self, θ: Floats | None, which: Ints, gold: tuple[Shorts, Ints]) -> tuple[Batch, Floats, Floats]:
        """The forests of some instances with their scores, and room for weights and values."""
        graph = self.graph[which]
        at = np.concatenate([[0], np.cumsum(self.forests.shapes[graph, 1] + 1)]).astype(np.int64)
        scores = np.zeros(int(at[-1]) if θ is not None else 0)
        if θ is not None:
            self.score(θ, which, at, scores)
        parts, parts_at = gold
        sizes = parts_at[which + 1] - parts_at[which]
        own_at = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(own_at[-1]) + np.repeat(parts_at[which] - own_at[:-1], sizes)
        batch = Batch(graph, scores, at, parts[places], own_at)
        return batch, np.zeros(int(at[-1])), np.zeros(len(which))

    def _sum(self, θ: Floats | None, which: Ints, jobs: int, run: Run, gold: tuple[Shorts, Ints]) -> Features:
        """Run over blocks of instances. The blocks do not depend on ``jobs``, and so neither does the sum, to the bit."""
        which = np.asarray(which, np.int64)
        blocks = max(1, min(_MOST_BLOCKS, len(which) // _LEAST_BLOCK))
        edges = [len(which) * k // blocks for k in range(blocks + 1)]

        def work(first: int, last: int, control: Any, slot: int) -> list[tuple[Ints, Floats, Floats]]:
            done = []
            for start, end in pairwise(edges[first : last + 1]):
                if control[0]:
                    break
                batch, weights, totals = self._batch(θ, which[start:end], gold)
                run(batch, weights, totals)
                done.append((*self._features(which[start:end], batch.at, weights), totals))
            return done

        if jobs <= 1:
            parts = work(0, blocks, np.zeros(1, np.int64), 0)
        else:
            parts = [part for shard in run_shards(work, blocks, jobs=jobs) for part in shard]
        at, amount, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return Features(at, amount, float(values.sum()))

    def _features(self, which: Ints, at: Ints, weights: Floats) -> tuple[Ints, Floats]:
        """The features of weighted parts, each place once."""
        try:
            sums = self._free.pop()  # one for each thread, and then used again: they are as large as θ
        except IndexError:
            size = self._size
            sums = Sums(np.zeros(size), np.zeros(size, np.bool_), np.empty(size, np.int64), np.zeros(1, np.int64))
        self.collect(which, at, weights, sums)
        places = sums.places[: sums.count[0]].copy()
        amounts = sums.totals[places]
        sums.totals[places], sums.touched[places], sums.count[0] = 0.0, False, 0
        self._free.append(sums)
        return places, amounts


def _own_places(parts: Shorts, parts_at: Ints, at: Ints) -> Ints:
    """Where the parts of instances are in an array that has those of all of them, from ``at`` on."""
    return parts + np.repeat(at[:-1], np.diff(parts_at))
