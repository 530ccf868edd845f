"""Planners whose plans are derivations in hypergraphs, and their passes over a corpus.

:class:`HypergraphPlanner` is a :class:`~treewright.search.planning.Planner` for any task whose plans are packed into a
:class:`~treewright.search.hypergraph.Hypergraph`. The task only defines the scores and the features of parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled, kernel
from treewright.search.hypergraph import COUNT, Hypergraph, expect, follow, inside, keep_derivation, match, viterbi
from treewright.search.n_best import FULL, follow_derivation, n_best, new_derivations
from treewright.search.planning import Features
from treewright.search.running import run_shards

__all__ = ["Batch", "Forests", "HypergraphPlanner", "Sums", "add", "best_pass", "pack_graphs"]

Int = Any  # an integer of NumPy or Numba, of any width
Float = Any  # a floating-point number of NumPy or Numba
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int32]

_MOST_BLOCKS = 16
_LEAST_BLOCK = 4  # instances


class Forests(NamedTuple):
    """Concatenated hypergraphs. ``shapes`` has a row for each: its places, its parts, and the most edges of a node."""

    nodes: Shorts
    nodes_at: Ints
    fans_at: Shorts
    fans: Shorts
    fans_from: Ints
    shapes: Ints


def pack_graphs(graphs: Sequence[Hypergraph]) -> Forests:
    """One flat array for each field, for kernels."""
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


class Batch(NamedTuple):
    """Forests of some instances: the number of the graph of each, and the scores of its parts from ``at`` on.

    The expert's parts are ``gold[gold_at[i] : gold_at[i + 1]]``; they identify the expert's derivation.
    """

    graph: Ints
    scores: Floats
    at: Ints
    gold: Shorts
    gold_at: Ints


@compiled
def _shape(forests: Any, g: Int) -> tuple[Any, Any, Any, Int, Int]:
    """The nodes and fans of a graph, its root, and the place that means no tail."""
    first, last = forests.nodes_at[g], forests.nodes_at[g + 1]
    fans = forests.fans[forests.fans_from[g] : forests.fans_from[g + 1]]
    fans_at = forests.fans_at[first + g : last + g + 1]
    nodes = forests.nodes[first:last]
    return nodes, fans_at, fans, np.int64(nodes[nodes.shape[0] - 1]), np.int64(forests.shapes[g, 0])


@compiled
def _largest(forests: Any, batch: Any) -> tuple[Int, Int]:
    """The most places, and the most edges into a node, in a batch."""
    places = edges = np.int64(1)
    for i in range(batch.graph.shape[0]):
        places = max(places, forests.shapes[batch.graph[i], 0] + 1)
        edges = max(edges, forests.shapes[batch.graph[i], 2])
    return places, edges


@kernel
def best_pass(forests: Forests, batch: Batch, weights: Any, totals: Any) -> None:
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
def expected_pass(forests: Forests, batch: Batch, weights: Any, totals: Any) -> None:
    """The expected counts of parts, and the logarithms of the sums over all derivations."""
    places, edges = _largest(forests, batch)
    values, visits, q = np.zeros(places), np.zeros(places), np.zeros(edges)
    for i in range(batch.graph.shape[0]):
        nodes, fans_at, fans, _, nothing = _shape(forests, batch.graph[i])
        scores, own = batch.scores[batch.at[i] : batch.at[i + 1]], weights[batch.at[i] : batch.at[i + 1]]
        values[nothing] = 0.0
        totals[i] = inside(nodes, fans_at, fans, scores, values, q)
        expect(nodes, fans_at, fans, scores, values, q, visits, own)


@kernel
def matching_pass(forests: Forests, batch: Batch, temperature: Float, weights: Any, totals: Any) -> None:
    """The weights of policy matching, and J. The expert's derivation is the best one if only its parts have scores."""
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
        keep_derivation(root, nothing, fans, back, stack, expert)
        viterbi(nodes, fans_at, fans, scores, values, back)
        totals[i] = match(nodes, fans_at, fans, scores, values, back, expert, temperature, q, visits, own)


@kernel
def n_best_pass(forests: Forests, batch: Batch, n: Int, weights: Any, best: Any) -> None:
    """The expected counts of parts over the n best derivations; ``best[i]`` are the values of these.

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
        while count == FULL:  # the number of candidates is not known in advance
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
    """A sparse sum of features under construction: dense totals, and the indices that are not zero."""

    totals: Floats
    touched: npt.NDArray[np.bool_]
    places: Ints
    size: Ints


@compiled
def add(sums: Any, place: Int, amount: Float) -> None:
    """Add an amount to a feature."""
    if not sums.touched[place]:
        sums.touched[place] = True
        sums.places[sums.size[0]] = place
        sums.size[0] += 1
    sums.totals[place] += amount


Run = Callable[[Batch, Floats, Floats], None]


class HypergraphPlanner(ABC):
    """A :class:`~treewright.search.planning.Planner` whose plans are derivations in hypergraphs.

    A subclass defines the parts: it scores them (:meth:`score`), and sums their features (:meth:`collect`).

    Args:
        size: the number of weights.
        graphs: hypergraphs; ``graph`` has the number of the hypergraph of each instance.
        gold: the parts of the experts' plans, those of instance i from ``gold_at[i]`` on, each as often as it occurs.
        anchors: the parts that identify the plan: no other plan has all of them. The loss constant of Algorithm 4 is
            subtracted from these. By default all.
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

    # ---- defined by subclasses

    @abstractmethod
    def score(self, θ: Floats, which: Ints, at: Ints, scores: Floats) -> None:
        """Write the scores of the parts of instances, those of ``which[k]`` from ``at[k]`` on; all else is 0."""

    @abstractmethod
    def collect(self, which: Ints, at: Ints, weights: Floats, sums: Sums) -> None:
        """Add the features of parts, multiplied by their weights."""

    # ---- the protocol

    @property
    def size(self) -> int:
        """The number of weights."""
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
        if not np.array_equal(which, self._latest[0]):  # learners need features and values of the same instances
            self._latest = which.copy(), self._sum(None, which, 1, run, self.gold)
        return self._latest[1]

    def expert_values(self, θ: Floats, which: Ints) -> float:
        """Σ of the values of the experts' plans."""
        features = self.expert_features(which)
        return float((θ[features.at] * features.amount).sum())  # not @, which would start threads for a small product

    def optimal_features(self, θ: Floats, which: Ints, *, margin: float = 0.0, jobs: int = 1) -> Features:
        """Σ Φ of the best plans, and their values.

        Features are of anchored actions, and the expert's plan has each of those once or not at all. So the counterpart
        of the rewards r − c·f(φ, τ_E) of Algorithm 4 is to take c, the ``margin``, from every anchored action of the
        expert: a plan loses c for each word that it treats as the expert does, and the expert's must win in spite of
        that. But for a constant this is the Hamming margin of Taskar, Guestrin & Koller (2003).
        """

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            if margin:
                np.subtract.at(batch.scores, _own_places(batch.gold, batch.gold_at, batch.at), margin)
            best_pass(self.forests, batch, weights, totals)

        return self._sum(θ, which, jobs, run, self.anchors)

    def n_best_features(self, θ: Floats, which: Ints, n: int, *, jobs: int = 1) -> Features:
        """Σ of E[Φ] over the n best plans; the value is Σ of the logarithms of the sums of their exponentials."""

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            best = np.empty((len(totals), n))
            n_best_pass(self.forests, batch, n, weights, best)
            totals[:] = best[:, 0] + np.log(np.exp(best - best[:, :1]).sum(axis=1))

        return self._sum(θ, which, jobs, run, self.anchors)

    def expected_features(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Features:
        """Σ of E[Φ] over all plans; the value is Σ log Z."""

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            expected_pass(self.forests, batch, weights, totals)

        return self._sum(θ, which, jobs, run, self.anchors)

    def policy_matching(self, θ: Floats, which: Ints, temperature: float, *, jobs: int = 1) -> Features:
        """Σ of eq. 18 over the nodes of the experts' derivations; the value is J of eq. 16, summed."""

        def run(batch: Batch, weights: Floats, totals: Floats) -> None:
            matching_pass(self.forests, batch, float(temperature), weights, totals)

        return self._sum(θ, which, jobs, run, self.anchors)

    def best_parts(self, θ: Floats, which: Ints) -> tuple[Ints, Floats]:
        """The parts of the best plans: the offset of each instance, and how often it has each of its parts."""
        batch, weights, totals = self._batch(θ, which, self.anchors)
        best_pass(self.forests, batch, weights, totals)
        return batch.at, weights

    # ---- sums

    def _batch(self, θ: Floats | None, which: Ints, gold: tuple[Shorts, Ints]) -> tuple[Batch, Floats, Floats]:
        """The forests of some instances with their scores, and arrays for weights and values."""
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
        """Run over blocks of instances. The blocks do not depend on ``jobs``, so neither does the sum, to the bit."""
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
            sums = self._free.pop()  # one for each thread, then reused, because they are as large as θ
        except IndexError:
            size = self._size
            sums = Sums(np.zeros(size), np.zeros(size, np.bool_), np.empty(size, np.int64), np.zeros(1, np.int64))
        self.collect(which, at, weights, sums)
        places = sums.places[: sums.size[0]].copy()
        amounts = sums.totals[places]
        sums.totals[places], sums.touched[places], sums.size[0] = 0.0, False, 0
        self._free.append(sums)
        return places, amounts


def _own_places(parts: Shorts, parts_at: Ints, at: Ints) -> Ints:
    """The indices of the parts of instances, in an array of the parts of all instances, from ``at`` on."""
    return np.repeat(at[:-1], np.diff(parts_at)) + parts
