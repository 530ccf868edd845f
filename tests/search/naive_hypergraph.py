"""Slow, obvious twins of what is computed on hypergraphs: every derivation is written down."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from treewright.search.hypergraph import COUNT, LEFT, LEFT_STEP, PART, PART_STEP, RIGHT, RIGHT_STEP


def edges_into(graph):
    """For each place the edges into it, as (left tail, right tail, part), each None where there is none."""
    edges = {}
    for m, place in enumerate(graph.nodes.tolist()):
        edges[place] = []
        for row in graph.fans[graph.fans_at[m] : graph.fans_at[m + 1]].tolist():
            for k in range(row[COUNT]):
                left, right = row[LEFT] + k * row[LEFT_STEP], row[RIGHT] + k * row[RIGHT_STEP]
                part = row[PART] + k * row[PART_STEP]
                edges[place].append(
                    (
                        None if left == graph.places else left,
                        None if right == graph.places else right,
                        None if part == graph.parts else part,
                    )
                )
    return edges


def derivations(graph, place=None):
    """All derivations of a node (the root), each as the list of its (node, number of the edge into it, part)."""
    edges = edges_into(graph)
    found = {None: [[]]}
    for node in graph.nodes.tolist():
        found[node] = [
            [(node, number, part), *left, *right]
            for number, (one, two, part) in enumerate(edges[node])
            for left, right in product(found[one], found[two])
        ]
    return found[int(graph.nodes[-1]) if place is None else place]


def counts(graph, derivation):
    """How often each part is in a derivation."""
    total = np.zeros(graph.parts)
    for _, _, part in derivation:
        if part is not None:
            total[part] += 1.0
    return total


def value(graph, derivation, scores):
    return float(counts(graph, derivation) @ scores[: graph.parts])


def naive_best(graph, scores, place=None):
    """The best derivation of a node, the first of equal ones at each node, and its value."""
    edges = edges_into(graph)
    best = {None: ([], 0.0)}
    for node in graph.nodes.tolist():
        best[node] = ([], -math.inf)
        for number, (one, two, part) in enumerate(edges[node]):
            total = (0.0 if part is None else scores[part]) + best[one][1] + best[two][1]
            if total > best[node][1]:
                best[node] = ([(node, number, part), *best[one][0], *best[two][0]], total)
    return best[int(graph.nodes[-1]) if place is None else place]


def naive_values(graph, scores, n=None):
    """The values of the n best derivations (all of them), best first."""
    return sorted((value(graph, d, scores) for d in derivations(graph)), reverse=True)[:n]


def naive_expected(graph, scores, n=None):
    """The expected counts of parts among the n best derivations (all of them), and log Z."""
    ranked = sorted(derivations(graph), key=lambda d: -value(graph, d, scores))[:n]
    values = np.array([value(graph, d, scores) for d in ranked])
    chances = np.exp(values - values.max())
    log_z = values.max() + math.log(chances.sum())
    return sum(p * counts(graph, d) for p, d in zip(chances / chances.sum(), ranked, strict=True)), log_z


def naive_matching(graph, scores, expert, temperature):
    """Algorithm 5, word for word: Δ of eq. 18 for the parts, and J of eq. 16; states are the nodes of a derivation."""
    edges = edges_into(graph)
    Δ, J = np.zeros(graph.parts), 0.0
    for node, right in {(node, number) for node, number, _ in expert}:
        Φ, Q = [], []
        for one, two, part in edges[node]:
            features, total = np.zeros(graph.parts), 0.0
            for tail in (one, two):
                if tail is not None:
                    best, worth = naive_best(graph, scores, tail)
                    features, total = features + counts(graph, best), total + worth
            if part is not None:
                features[part] += 1.0
                total += scores[part]
            Φ.append(features)
            Q.append(total)
        π = np.exp((np.array(Q) - max(Q)) / temperature)
        π /= π.sum()
        mean = sum(p * φ for p, φ in zip(π, Φ, strict=True))
        for a in range(len(π)):
            is_correct = float(a == right)
            gradient = π[a] / temperature * (Φ[a] - mean)
            Δ += (is_correct - π[a]) * gradient
            J += 0.5 * (is_correct - π[a]) ** 2
    return Δ, J
