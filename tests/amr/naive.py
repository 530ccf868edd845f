"""Slow, obvious twins of what `treewright.amr` computes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import permutations

from hypothesis import strategies as st

from treewright.corpora import Graph


def triples(graph: Graph) -> set[tuple[str, str, str]]:
    """The triples that Smatch compares."""
    found = {("instance", variable, concept.lower()) for variable, concept in graph.instances}
    found |= {(role.lower(), node, constant.strip('"').lower()) for node, role, constant in graph.attributes}
    found |= {(":domain", y, x) if role == ":mod" else (role.lower(), x, y) for x, role, y in graph.edges}
    return found | {("TOP", graph.top, "top")}


def score(gold: Graph, predicted: Graph, mapping: dict[str, str]) -> int:
    """How many triples of the predicted graph are in the gold one, with its variables renamed."""
    variables = set(predicted.variables)
    right, matched = triples(gold), 0
    for role, source, target in triples(predicted):
        is_edge = role not in ("instance", "TOP") and target in variables
        renamed = (role, mapping.get(source, "?"), mapping.get(target, "?") if is_edge else target)
        matched += renamed in right
    return matched


def mappings(gold: Graph, predicted: Graph) -> Iterator[dict[str, str]]:
    """All ways to map as many variables as possible; to map fewer is never better."""
    ours, theirs = predicted.variables, gold.variables
    if len(ours) <= len(theirs):
        for chosen in permutations(theirs, len(ours)):
            yield dict(zip(ours, chosen, strict=True))
    else:
        for chosen in permutations(ours, len(theirs)):
            yield dict(zip(chosen, theirs, strict=True))


def best(gold: Graph, predicted: Graph) -> int:
    return max(score(gold, predicted, mapping) for mapping in mappings(gold, predicted))


def entries(graph: Graph) -> Counter[tuple[str, ...]]:
    """Node labels, and edges and attributes with the labels of their ends; a list has one role, ``:op``."""
    concept = {variable: name.strip('"').lower() for variable, name in graph.instances}
    found = Counter((name,) for name in concept.values())
    for role, source, target in triples(graph):
        if role not in ("instance", "TOP"):
            role = re.sub(r"^:(op|snt)\d+$", r":\1", role)
            end = concept.get(target, f"constant {target}")
            found[concept[source], role, end] += 1
    return found


@st.composite
def graphs(draw, names: str, most: int = 5) -> Graph:
    """Small graphs with few concepts and roles, so that much can be mapped to much; not always well-formed."""
    variables = [f"{names}{k}" for k in range(draw(st.integers(1, most)))]
    node = st.sampled_from(variables)
    role = st.sampled_from([":ARG0", ":arg0", ":ARG1", ":mod", ":domain", ":op1", ":op2"])
    concept = st.sampled_from(["boy", "Boy", "want-01", "go-02"])
    constant = st.sampled_from(["-", '"-"', "1"])
    return Graph(
        top=draw(node),
        instances=tuple((variable, draw(concept)) for variable in variables),
        edges=tuple(draw(st.lists(st.tuples(node, role, node), max_size=8))),
        attributes=tuple(
            draw(st.lists(st.tuples(node, st.sampled_from([":polarity", ":quant"]), constant), max_size=3))
        ),
    )


PAIRS = st.lists(st.tuples(graphs("g"), graphs("p")), min_size=1, max_size=5)
