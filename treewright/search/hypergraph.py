"""Packed forests: all plans for a sentence in one small graph, and the sums over them that learners need.

A plan that is built of smaller plans is a *derivation* in a hypergraph (Klein & Manning 2001; Huang & Chiang 2005). A
*node* is an item that is built (a span with its head, a word with its label) and a state of the decision process; an
*edge* into it is one way to build it, and an action: it needs up to two other nodes, its *tails*, and carries up to one
*part*, the anchored action, which has a score. The value of a derivation is the sum of the scores of its parts.

The shape of the graph depends only on the length of a sentence. Here is the graph of a tagger with the labels N and V
for two words; words are parts, and so are pairs of neighbouring labels::

    (N, 1) ──► (N, 2)
           ╲ ╱        ╲
            ╳          ► root
           ╱ ╲        ╱
    (V, 1) ──► (V, 2)

The edges into a node are similar: the edges into a span differ only in the split point. So they are not listed one by
one but in *fans*: a fan has the places of the tails and the part of its first edge, the strides to those of the next
edge, and the number of edges. A chart with O(n³) edges has O(n²) fans, and a loop over a fan is a loop over strided
arrays.

There are two upward passes and three downward passes. Upwards, :func:`viterbi` finds the value of the best derivation
of each node, and :func:`inside` the logarithm of the sum over all of them. Downwards, the weight of a node is passed on
to the edges into it: to the best one (:func:`follow`), or to all of them by their probabilities (:func:`expect`);
:func:`match` gives weights to the actions that the expert could have taken, and passes them on along the best edges.
The results are weights of the parts, by which their features are summed. The n best derivations are found in
:mod:`treewright.search.n_best`; planners and their passes over a corpus are in :mod:`treewright.search.forests`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled

__all__ = ["Hypergraph", "fan"]

Int = Any  # an integer of NumPy or Numba, of any width
Float = Any  # a floating-point number of NumPy or Numba
Shorts = npt.NDArray[np.int32]

#: the columns of a fan: the left tail of its first edge, and the stride to the left tail of the next edge; the same for
#: the right tail and for the part; and the number of edges
LEFT, LEFT_STEP, RIGHT, RIGHT_STEP, PART, PART_STEP, COUNT = range(7)

_NEGLIGIBLE = 1e-15  # a probability that would be lost in rounding


class Hypergraph(NamedTuple):
    """The shape of a packed forest.

    Nodes have *places*, from 0 to ``places`` − 1, and one more that means no tail; parts likewise. ``nodes`` are the
    places in use, tails before heads; the last is the root. The fans of ``nodes[m]`` are those from ``fans_at[m]`` to
    ``fans_at[m + 1]``, at least one.

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
        """The number of edges."""
        return int(self.fans[:, COUNT].sum())


def fan(*columns: npt.ArrayLike) -> Shorts:
    """Fans from their seven columns, which may be numbers or arrays.

    >>> fan([4, 5], 0, 9, 0, 9, 0, 1).tolist()
    [[4, 0, 9, 0, 9, 0, 1], [5, 0, 9, 0, 9, 0, 1]]
    """
    return np.stack(np.broadcast_arrays(*columns), axis=-1).astype(np.int32)


# ---- upwards


@compiled
def viterbi(nodes: Any, fans_at: Any, fans: Any, scores: Any, values: Any, back: Any) -> Float:
    """The value of the best derivation of each node, and its last edge: ``back[place]`` is fan and step.

    Of equal edges the first is the best. ``scores`` and ``values`` end with a 0 for no part and no tail.
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
def inside(nodes: Any, fans_at: Any, fans: Any, scores: Any, values: Any, q: Any) -> Float:
    """The logarithm of the sum over all derivations of each node; ``q`` is scratch space for the edges into a node."""
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
def _edge_values(first: Int, last: Int, fans: Any, scores: Any, values: Any, q: Any) -> Int:
    """Write the values Q(x, a) of all edges into a node, given the values of their tails; return their number."""
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


# ---- downwards


@compiled
def _hand_on(first: Int, last: Int, fans: Any, amounts: Any, visits: Any, weights: Any) -> None:
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
def follow(root: Int, nothing: Int, fans: Any, back: Any, weight: Float, stack: Any, weights: Any) -> None:
    """Add a weight to the parts of the derivation in ``back``, once for each occurrence."""
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
    """The expected counts of parts if derivations are as probable as their exponentials; ``values`` of :func:`inside`.

    ``visits`` receive the expected visits of nodes. Given a node, an edge has the probability exp(Q − V), so the visits
    are passed on from the root; this is the outside pass, without logarithms.
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
    nodes: Any, fans_at: Any, fans: Any, scores: Any, values: Any, back: Any, expert: Any, temperature: Float,
    q: Any, visits: Any, weights: Any,
) -> Float:  # fmt: skip
    """Policy matching (eq. 16 to 19): weights for the parts that sum their features to −∂J, and J.

    ``values`` and ``back`` are those of :func:`viterbi`. ``expert`` has fan and step of the expert's edge into each
    node of the expert's derivation, and fan −1 elsewhere. In each of these states, π(a) = softmax(Q(a) / η) and u(a) =
    [a is the expert's] − π(a); the sum of u(a)·∂π(a) is that of g(a)·Φ(a) with g(a) = π(a)/η·(u(a) − Σ_b π(b)·u(b)).
    Φ(a) are the features of a and of the best derivations of its tails: so g(a) is added to the edge and to its tails,
    which pass their sums on along their best edges, wide nodes before narrow ones.
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
            for before in range(fans_at[m], expert[v, 0]):
                right += fans[before, COUNT]
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


@compiled
def keep_derivation(root: Int, nothing: Int, fans: Any, back: Any, stack: Any, only: Any) -> None:
    """Keep only the best edges of one derivation; the others get fan −1."""
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
