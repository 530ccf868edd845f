"""Graphs as parsers learn them: numbered roles as one role, and back.

What belongs to a list is on roles ``:op1``, ``:op2``, …: the members of an ``and``, the words of a name. Numbers say
where in the list, not what the role is, so a parser learns one role, ``:op``, and numbers are given at the end.

>>> from treewright.corpora import Graph
>>> graph = Graph.from_penman('(a / and :op1 (c / cat) :op2 (d / dog :name (n / name :op1 "Old" :op2 "Tom")))')
>>> collapsed = collapse_ops(graph)
>>> collapsed.edges[:2], collapsed.attributes
((('a', ':op', 'c'), ('a', ':op', 'd')), (('n', ':op', '"Old"'), ('n', ':op', '"Tom"')))
>>> number_ops(collapsed) == graph
True
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from treewright.corpora.graphs import Graph, Triple

__all__ = ["collapse_ops", "number_ops"]

_OP = re.compile(r":op(\d+)")


def collapse_ops(graph: Graph) -> Graph:
    """The graph with ``:op`` for ``:op1``, ``:op2``, …; those of a node are put into the order of their numbers.

    A list may have a member twice, so a collapsed graph may have a triple twice.
    """
    return replace(graph, edges=_collapsed(graph.edges), attributes=_collapsed(graph.attributes))


def _collapsed(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    listed = list(triples)
    places: dict[str, list[int]] = {}
    for place, (source, role, _) in enumerate(listed):
        if _OP.fullmatch(role):
            places.setdefault(source, []).append(place)
    found = list(listed)
    for source, at in places.items():
        ordered = sorted((listed[place] for place in at), key=lambda triple: int(triple[1][len(":op") :]))
        for place, (_, _, target) in zip(at, ordered, strict=True):
            found[place] = (source, ":op", target)
    return tuple(found)


def number_ops(graph: Graph) -> Graph:
    """The graph with the roles ``:op`` of each node numbered from 1: edges first, then attributes, in their order.

    It undoes :func:`collapse_ops` wherever the numbers were 1, 2, 3, … of either edges or attributes. A sentence that
    begins with *And* has an ``and`` with ``:op2`` alone, and gets ``:op1``.
    """
    last: Counter[str] = Counter()

    def numbered(triple: Triple) -> Triple:
        source, role, target = triple
        if role != ":op":
            return triple
        last[source] += 1
        return source, f":op{last[source]}", target

    return replace(graph, edges=tuple(map(numbered, graph.edges)), attributes=tuple(map(numbered, graph.attributes)))
