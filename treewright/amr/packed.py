"""Graphs as flat arrays, for the kernels that compare them.

Smatch treats a graph as triples. Triples of one node (its concept, its attributes, and being the top) become pairs of a
node and a *label*; triples of two nodes become edges. Labels and roles are numbers, which are the same in all graphs of
one :class:`Packer`, so that kernels compare numbers.

Labels that the usual scorers treat as equal have the same number: upper and lower case, a constant with and without
quotes; and ``:mod`` is the inverse of ``:domain``. A triple that occurs twice counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.amr.graphs import listed
from treewright.corpora.graphs import Graph
from treewright.errors import CorpusError

__all__ = ["PackedGraphs", "Packer", "normal_label", "normal_role"]

Ints = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]


def normal_label(label: str) -> str:
    """A concept or a constant without the differences that do not count.

    >>> normal_label('"Tom"'), normal_label("tom")
    ('tom', 'tom')
    """
    return label.strip('"').lower()


def normal_role(role: str) -> tuple[str, bool]:
    """The name under which the edges of a role are compared, and whether their direction is reversed.

    >>> normal_role(":ARG0"), normal_role(":mod")
    ((':arg0', False), (':domain', True))
    """
    role = role.lower()
    return (":domain", True) if role == ":mod" else (role, False)


class PackedGraphs(NamedTuple):
    """Concatenated graphs: graph g has the nodes, labels and edges from ``…_at[g]`` to ``…_at[g + 1]``.

    Nodes are numbered from 0 in each graph. The first n labels of a graph with n nodes are its concepts, in order.
    """

    node_at: Offsets
    label_at: Offsets
    edge_at: Offsets
    label_node: Ints
    label: Ints
    source: Ints
    role: Ints
    target: Ints

    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of triples of each graph."""
        return np.diff(self.label_at) + np.diff(self.edge_at)


class Packer:
    """Numbers labels and roles, and converts graphs to arrays.

    >>> packer = Packer()
    >>> graph = Graph.from_penman('(w / want-01 :ARG0 (b / boy) :polarity -)')
    >>> packed = packer.pack([graph])
    >>> packed.label_node.tolist(), packed.label.tolist()  # two concepts, the attribute, the top
    ([0, 1, 0, 0], [1, 2, 3, 0])
    >>> list(zip(packed.source.tolist(), packed.role.tolist(), packed.target.tolist()))
    [(0, 0, 1)]
    """

    def __init__(self) -> None:
        numbers: dict[tuple[str, str], int] = {("TOP", "top"): 0}
        roles: dict[str, int] = {}

        def concept_number(concept: str) -> int:
            return numbers.setdefault(("", normal_label(concept)), len(numbers))

        def attribute_number(attribute: tuple[str, str]) -> int:
            role, constant = attribute
            return numbers.setdefault((role.lower(), normal_label(constant)), len(numbers))

        def role_number(role: str) -> tuple[int, bool]:
            name, is_reversed = normal_role(role)
            return roles.setdefault(name, len(roles)), is_reversed

        self._numbers, self._names = numbers, roles

        self._concepts = _Remembered(concept_number)
        self._attributes = _Remembered(attribute_number)
        self._roles = _Remembered(role_number)

    def without_list_numbers(self, packed: PackedGraphs) -> PackedGraphs:
        """The same graphs with one role for the members of a list: ``:op`` for ``:op1``, ``:op2``, ….

        A triple that occurs twice then stays: a list may have a member twice.
        """
        labels = [self._numbers.setdefault((listed(role), text), len(self._numbers)) for role, text in [*self._numbers]]
        roles = [self._names.setdefault(listed(role), len(self._names)) for role in [*self._names]]
        tables = np.array(labels, np.int32), np.array(roles, np.int32)
        return packed._replace(label=tables[0][packed.label], role=tables[1][packed.role])

    def pack(self, graphs: Iterable[Graph], *, tops: bool = True) -> PackedGraphs:
        """The arrays of graphs, with or without a triple for the top. Edges must connect variables of their graph."""
        concepts, attributes, roles = self._concepts, self._attributes, self._roles
        node_at, label_at, edge_at = [0], [0], [0]
        labels: list[tuple[int, int]] = []
        edges: list[tuple[int, int, int]] = []
        for graph in graphs:
            instances = graph.instances
            number = {variable: k for k, (variable, _) in enumerate(instances)}
            try:
                of_nodes = [(number[variable], concepts[concept]) for variable, concept in instances]
                of_nodes += [(number[node], attributes[role, value]) for node, role, value in graph.attributes]
                if tops:
                    of_nodes.append((number[graph.top], 0))
                between = []
                for source, name, target in graph.edges:
                    role, inverse = roles[name]
                    i, k = number[source], number[target]
                    between.append((k, role, i) if inverse else (i, role, k))
            except KeyError:
                graph.validate()  # says what is unknown
                raise
            if len(number) < len(instances):
                raise CorpusError(f"the variable {graph.named_twice()!r} has more than one concept; rename one")
            labels += dict.fromkeys(of_nodes)
            edges += dict.fromkeys(between)
            node_at.append(node_at[-1] + len(instances))
            label_at.append(len(labels))
            edge_at.append(len(edges))
        label_node, label = np.array(labels, np.int32).reshape(-1, 2).T
        source_, role_, target_ = np.array(edges, np.int32).reshape(-1, 3).T
        nodes, of_labels, of_edges = (np.array(at, np.int64) for at in (node_at, label_at, edge_at))
        columns = [np.ascontiguousarray(column) for column in (label_node, label, source_, role_, target_)]
        return PackedGraphs(nodes, of_labels, of_edges, *columns)


class _Remembered(dict):  # type: ignore[type-arg]
    """Values of a function, each computed once."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def __missing__(self, key: object) -> object:
        self[key] = value = self._function(key)
        return value
