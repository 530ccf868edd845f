"""Graphs as parsers learn them: numbered roles become one role, and are numbered again afterwards.

The members of a list have the roles ``:op1``, ``:op2``, …, for example the members of an ``and`` or the words of a
name; the sentences of a ``multi-sentence`` have ``:snt1``, …. The number is a position in the list, not part of the
role. So a parser learns one role, ``:op``, and the numbers are added at the end.

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

__all__ = ["collapse_ops", "listed", "number_ops"]

_NUMBERED = re.compile(r"(:op|:snt)(\d+)")
_LISTS = (":op", ":snt")


def listed(role: str) -> str:
    """The role without its number, if the number is a position in a list.

    >>> listed(":op2"), listed(":snt1"), listed(":ARG2")
    (':op', ':snt', ':ARG2')
    """
    return match[1] if (match := _NUMBERED.fullmatch(role)) else role


def collapse_ops(graph: Graph) -> Graph:
    """The graph with ``:op`` for ``:op1``, ``:op2``, … and ``:snt`` for ``:snt1``, …; lists are sorted.

    A list may have a member twice, so a collapsed graph may have a triple twice.
    """
    return replace(graph, edges=_collapsed(graph.edges), attributes=_collapsed(graph.attributes))


def _collapsed(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    found = list(triples)
    places: dict[tuple[str, str], list[int]] = {}
    for place, (source, role, _) in enumerate(found):
        if match := _NUMBERED.fullmatch(role):
            places.setdefault((source, match[1]), []).append(place)
    for (source, role), at in places.items():
        ordered = sorted((found[place] for place in at), key=lambda triple: int(triple[1][len(role) :]))
        for place, (_, _, target) in zip(at, ordered, strict=True):
            found[place] = (source, role, target)
    return tuple(found)


def number_ops(graph: Graph) -> Graph:
    """The graph with the roles ``:op`` of each node numbered from 1: edges first, then attributes, in their order.

    This is the inverse of :func:`collapse_ops` if the numbers were 1, 2, 3, … of either edges or attributes. A sentence
    that begins with *And* has an ``and`` with ``:op2`` alone, and gets ``:op1``.
    """
    last: Counter[tuple[str, str]] = Counter()

    def numbered(triple: Triple) -> Triple:
        source, role, target = triple
        if role not in _LISTS:
            return triple
        last[source, role] += 1
        return source, f"{role}{last[source, role]}", target

    return replace(graph, edges=tuple(map(numbered, graph.edges)), attributes=tuple(map(numbered, graph.attributes)))
