"""Graphs with errors in them, as a parser might make: to compare with the ones they come from."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from treewright.corpora import Graph
from treewright.corpora.graphs import Triple


def perturbed(graph: Graph, seed: int, others: Sequence[Graph], rate: float = 0.1) -> Graph:
    """A copy with other names for its variables and in another order, some concepts and roles changed, some edges and
    attributes dropped, some edges added. Concepts and roles are taken from ``others``. What is no longer connected to
    the top is left out.
    """
    rng = random.Random(seed)
    names = {variable: f"x{k}" for k, variable in enumerate(rng.sample(graph.variables, len(graph.variables)))}

    def other() -> Graph:
        return rng.choice(others)

    instances = [
        (names[variable], rng.choice(other().instances)[1] if rng.random() < rate else concept)
        for variable, concept in graph.instances
    ]
    edges = set()
    for source, role, target in graph.edges:
        if rng.random() < rate:
            continue
        if rng.random() < rate:
            role = rng.choice(other().edges or graph.edges)[1]
        edges.add((names[source], role, names[target]))
    for _ in graph.edges:
        if rng.random() < rate:
            source, target = rng.choice(instances)[0], rng.choice(instances)[0]
            edges.add((source, rng.choice(other().edges or graph.edges)[1], target))
    attributes = [
        (names[source], role, constant) for source, role, constant in graph.attributes if rng.random() >= rate
    ]
    rng.shuffle(instances)
    top = rng.choice(instances)[0] if rng.random() < rate else names[graph.top]
    kept = connected(top, edges)
    return Graph(
        top=top,
        instances=tuple(instance for instance in instances if instance[0] in kept),
        edges=tuple(edge for edge in rng.sample(sorted(edges), len(edges)) if edge[0] in kept),
        attributes=tuple(attribute for attribute in attributes if attribute[0] in kept),
    )


def connected(top: str, edges: Iterable[Triple]) -> set[str]:
    """The variables that edges lead to from the top, whichever way they point."""
    reached, grown = {top}, True
    while grown:
        fresh = {end for source, _, target in edges if {source, target} & reached for end in (source, target)}
        grown = not fresh <= reached
        reached |= fresh
    return reached
