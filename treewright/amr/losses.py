"""The losses of a parser: Smatch and naive Smatch of a final state against the gold graph, for training.

Both are about triples (:mod:`treewright.amr.packed`), of the graph that the parser would return: labels of nodes, that
is concepts, attributes and the top, and edges between nodes. Labels and roles are *codes*, hashes of strings, in which
upper and lower case are equal, and constants with and without quotes; ``:mod`` is the inverse of ``:domain``. The
members of a list have one role, ``:op``, because their numbers are added after parsing. So the losses are those of
:func:`~treewright.amr.naive_counts.naive_loss`, and of Smatch for graphs without these numbers.

``smatch`` finds a mapping of nodes by hill climbing from two initial mappings, which are the same for the same graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from treewright.amr.concepts import clean_concept, is_constant
from treewright.amr.graphs import listed
from treewright.amr.hill_climbing import GREEDY, IMPROVED, Space, begin, climb, prepare
from treewright.amr.naive_counts import KINDS as NAIVE_KINDS
from treewright.amr.naive_counts import common_entries, smatch_loss, sort_entries
from treewright.amr.packed import PackedGraphs, normal_label, normal_role
from treewright.amr.transitions import ACTIONS, DELETED, EXTRA, LOSS, NODES
from treewright.corpora.graphs import Graph
from treewright.search import compiled, cross2, cross3, interpreted, string_hash
from treewright.search.hashing import seed_random

__all__ = ["LOSSES", "Coded", "coded_graph", "label_codes", "role_codes", "state_loss", "state_triples"]

LOSSES = (*NAIVE_KINDS, "smatch", "smatch-absolute", "smatch-penalty")
"""The losses by name; a state knows them by their position."""

_TOP = 0
_NODE, _EDGE, _ATTRIBUTE = 1, 2, 3
_cross2: Any = interpreted(cross2)  # of numbers, and of arrays element by element
_cross3: Any = interpreted(cross3)


class Coded(NamedTuple):
    """A graph for the losses: its labels, first those of nodes in their order and the top last, and its edges.

    ``labels`` are pairs of a node and a code, ``links`` triples of a node, the code of a role and a node, both flat.
    ``entries`` are those of naive Smatch, sorted.
    """

    labels: list[int]
    links: list[int]
    entries: list[int]


def label_codes(labels: Sequence[str]) -> list[int]:
    """Two codes for each label, flat: of a node with this label, and of an attribute, −1 if it is no constant."""
    return [code for label in labels for code in _label_codes(label)]


@lru_cache(maxsize=1 << 16)  # the same words come again and again
def _label_codes(label: str) -> tuple[int, int]:
    if label[:1].isalpha() and label.replace("-", "").isalnum() and not is_constant(label):  # most: want-01
        return string_hash(label.lower()), -1
    return _code(clean_concept(label)), _code(label) if is_constant(label) else -1


def role_codes(roles: Sequence[str]) -> list[int]:
    """Four numbers for each role, flat: the code of an edge, whether it is reversed, the code of an attribute's role,
    and whether it is the role of a list, which may have a member twice.
    """
    found: list[int] = []
    for role in roles:
        name, is_reversed = normal_role(role)
        found += [string_hash(name), int(is_reversed), string_hash(role.lower()), int(listed(f"{role}1") == role)]
    return found


def coded_graph(graph: Graph) -> Coded:
    """A gold graph as the losses see it."""
    number = {variable: k for k, variable in enumerate(graph.variables)}
    labels = [(k, _code(concept)) for k, (_, concept) in enumerate(graph.instances)]
    nodes = len(labels)
    attributes = dict.fromkeys(
        (number[node], role.lower(), normal_label(value)) for node, role, value in graph.attributes
    )
    roles = np.array([string_hash(listed(role)) for _, role, _ in attributes], np.int64)
    values = np.array([string_hash(value) for _, _, value in attributes], np.int64)
    codes = _cross2(_ATTRIBUTE, roles, values).tolist()
    labels += [(node, code) for (node, _, _), code in zip(attributes, codes, strict=True)]
    edges: dict[tuple[int, str, int], None] = {}
    for source, role, target in graph.edges:
        name, is_reversed = normal_role(role)
        i, k = number[source], number[target]
        edges[(k, name, i) if is_reversed else (i, name, k)] = None
    links = [(source, string_hash(listed(role)), target) for source, role, target in edges]
    of, code = np.array(labels, np.int64).T
    source_, role_, target_ = np.array(links, np.int64).reshape(-1, 3).T
    entries = np.concatenate(
        [
            _cross3(_NODE, code[:nodes], 0, 0),
            _cross3(_ATTRIBUTE, code[of[nodes:]], code[nodes:], 0),
            _cross3(_EDGE, code[source_], role_, code[target_]),
        ]
    )
    labels.append((number[graph.top], _TOP))
    return Coded([n for pair in labels for n in pair], [n for link in links for n in link], np.sort(entries).tolist())


def _code(label: str) -> int:
    return string_hash(normal_label(label))


@compiled
def _code_of(x: Any, concept: int, attribute: int) -> int:
    """The code of a concept, as a node (0) or as an attribute (1; −1: it is no constant)."""
    known = x.label_codes.shape[0] // 2
    if concept < known:
        return np.int64(x.label_codes[2 * concept + attribute])
    return np.int64(x.own_codes[2 * (concept - known) + attribute])


@compiled
def state_triples(x: Any, state: Any) -> tuple[Any, int]:
    """The graph of a final state as triples, and the number of its nodes.

    A constant without edges of its own is an attribute of the node above it. An attribute that occurs twice counts
    once, unless it is the member of a list.
    """
    count, further = np.int64(state.registers[NODES]), np.int64(3) * np.int64(state.registers[EXTRA])
    inner, place = np.zeros(count, np.int32), np.zeros(count, np.int32)
    for node in range(count):
        place[node] = -1
        if state.parent[node] >= 0 and not state.flags[node] & DELETED:
            inner[state.parent[node]] = 1
    for k in range(0, further, 3):
        inner[state.extra[k]] = inner[state.extra[k + 2]] = 1
    label_node, label = np.zeros(count + 1, np.int32), np.zeros(count + 1, np.int32)
    most = count + further // 3
    source, role, target = np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros(most, np.int32)
    nodes, edges = np.int64(0), np.int64(0)
    top = np.int64(0)
    for node in range(count):
        if state.flags[node] & DELETED:
            continue
        is_leaf = inner[node] == 0 and state.parent[node] >= 0 and state.role[node] & 1 == 0
        if is_leaf and _code_of(x, np.int64(state.concept[node]), 1) >= 0:
            continue
        if state.parent[node] < 0:
            top = nodes
        place[node] = label_node[nodes] = nodes
        label[nodes] = _code_of(x, np.int64(state.concept[node]), 0)
        nodes += np.int64(1)
    labels = nodes
    for node in range(count):
        above = np.int64(state.parent[node])
        if state.flags[node] & DELETED or above < 0:
            continue
        at: Any = np.int64(4) * (np.int64(state.role[node]) >> np.int64(1))
        if place[node] >= 0:
            backwards = (state.role[node] & 1) != x.role_codes[at + 1]
            source[edges], target[edges] = place[above], place[node]
            if backwards:
                source[edges], target[edges] = place[node], place[above]
            role[edges] = x.role_codes[at]
            edges += np.int64(1)
            continue
        code = cross2(_ATTRIBUTE, x.role_codes[at + 2], _code_of(x, np.int64(state.concept[node]), 1))
        is_new = True
        for k in range(nodes, labels):
            is_new = is_new and not (label_node[k] == place[above] and label[k] == code and x.role_codes[at + 3] == 0)
        if is_new:
            label_node[labels], label[labels] = place[above], code
            labels += np.int64(1)
    for k in range(0, further, 3):
        at = np.int64(4) * (np.int64(state.extra[k + 1]) >> np.int64(1))
        backwards = (state.extra[k + 1] & 1) != x.role_codes[at + 1]
        one, two = np.int64(state.extra[k]), np.int64(state.extra[k + 2])
        source[edges], target[edges] = place[one], place[two]
        if backwards:
            source[edges], target[edges] = place[two], place[one]
        role[edges] = x.role_codes[at]
        edges += np.int64(1)
    label_node[labels], label[labels] = top, _TOP
    return _one_graph(nodes, labels + np.int64(1), edges, label_node, label, source, role, target), nodes


@compiled
def _one_graph(
    nodes: int, labels: int, edges: int, label_node: Any, label: Any, source: Any, role: Any, target: Any
) -> Any:
    """The arrays of a corpus of one graph; those of triples may be longer than needed."""
    node_at, label_at, edge_at = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    node_at[1], label_at[1], edge_at[1] = nodes, labels, edges
    return PackedGraphs(node_at, label_at, edge_at, label_node, label, source, role, target)


@compiled
def _gold_graph(x: Any) -> Any:
    """The gold graph as triples."""
    labels, edges = x.gold_labels.shape[0] // 2, x.gold_links.shape[0] // 3
    label_node, label = np.zeros(labels, np.int32), np.zeros(labels, np.int32)
    source, role, target = np.zeros(edges, np.int32), np.zeros(edges, np.int32), np.zeros(edges, np.int32)
    nodes = np.int64(0)
    for k in range(labels):
        label_node[k], label[k] = x.gold_labels[2 * k], x.gold_labels[2 * k + 1]
        if label_node[k] == nodes:  # the concepts come first, one for each node
            nodes += np.int64(1)
    for k in range(edges):
        source[k], role[k], target[k] = x.gold_links[3 * k], x.gold_links[3 * k + 1], x.gold_links[3 * k + 2]
    return _one_graph(nodes, np.int64(labels), np.int64(edges), label_node, label, source, role, target)


@compiled
def _entries(graph: Any, nodes: int, out: Any) -> int:
    """The entries of naive Smatch, sorted; return their number."""
    labels, edges = graph.label_at[1] - 1, graph.edge_at[1]  # the top is none
    n = np.int64(0)
    for k in range(labels):
        if k < nodes:
            out[n] = cross3(_NODE, graph.label[k], 0, 0)
        else:
            out[n] = cross3(_ATTRIBUTE, graph.label[graph.label_node[k]], graph.label[k], 0)
        n += np.int64(1)
    for k in range(edges):
        out[n] = cross3(_EDGE, graph.label[graph.source[k]], graph.role[k], graph.label[graph.target[k]])
        n += np.int64(1)
    sort_entries(out, n)
    return n


@compiled
def _common_triples(one: Any, two: Any) -> int:
    """The number of common triples of two graphs, by hill climbing."""
    rows, columns = one.node_at[1], two.node_at[1]
    pairs, links = rows * columns, np.int64(2) * one.edge_at[1] * two.edge_at[1]
    triples = max(two.label_at[1], two.edge_at[1])
    most = max(rows, columns)
    space = Space(
        np.zeros(3, np.int64),
        np.zeros(pairs, np.int32),
        np.zeros(pairs + 1, np.int32),
        np.zeros(links, np.int32),
        np.zeros(links, np.int32),
        np.zeros(links, np.int32),
        np.zeros(most * most, np.uint8),
        np.zeros(pairs, np.int32),
        np.zeros(most, np.int32),
        np.zeros(most, np.int32),
        np.zeros(most, np.int32),
        np.zeros(max(most, pairs), np.int32),
        np.zeros(pairs, np.float64),
        np.zeros(triples, np.uint8),
        np.zeros(2, np.int64),
    )
    prepare(space, one, two, 0)
    seed_random(space.random, 0, 0, 0)
    best = climb(space, begin(space, one, two, 0, IMPROVED))
    if best < space.shape[2]:
        best = max(best, climb(space, begin(space, one, two, 0, GREEDY)))
    return best


@compiled
def state_loss(x: Any, state: Any) -> float:
    """The loss of a final state, of the kind in the options (a position in :data:`LOSSES`)."""
    kind, actions = np.int64(x.options[LOSS]), np.int64(state.registers[ACTIONS])
    made, nodes = state_triples(x, state)
    if kind >= 3:
        gold = _gold_graph(x)
        found = np.int64(_common_triples(made, gold))
        return smatch_loss(
            kind - np.int64(3), found, gold.label_at[1] + gold.edge_at[1], made.label_at[1] + made.edge_at[1], actions
        )
    entries = np.empty(made.label_at[1] + made.edge_at[1], np.int32)
    n = _entries(made, nodes, entries)
    return smatch_loss(kind, common_entries(entries[:n], x.gold_entries), np.int64(x.gold_entries.shape[0]), n, actions)
