"""Naive Smatch: an approximation that needs no mapping of variables, as a loss for training (§5.2.1 of Goodman 2015).

A graph becomes a list of *entries*: the label of each node, and for each edge the labels of its ends around its role,
as ``leave-01 :ARG0 room``. An attribute is an edge to its constant, which is no node: so it is one entry, as it is one
triple in Smatch. The members of a list have the role ``:op``, without their number. Two lists of entries are compared
directly, as multisets. A wrong concept therefore costs more than in Smatch, one more for each edge at its node, and
nodes with equal labels are not distinguished. The loss of a parser (:mod:`treewright.amr.losses`) counts the same.

There are three losses of the number of entries in common (or of matched triples, for Smatch itself): 1 − F (``naive``);
the number of mistakes, not scaled to the size of the graph (``absolute``, §5.2.2); and that number plus a fifth of the
number of actions, so that of two paths to the same graph the shorter one is better (``penalty``, §5.2.3; equation 5.3
subtracts T/5, which would reward long trajectories). An action counts once with its parameter.

>>> from treewright.corpora import Graph
>>> gold = Graph.from_penman("(l / leave-01 :ARG0 (b / boy) :ARG1 (r / room))")
>>> predicted = Graph.from_penman("(x / leave-01 :ARG0 (y / girl) :ARG1 (z / room))")
>>> naive_smatch([gold], [predicted])  # three of five entries; Smatch finds five of six triples
NaiveCounts(matched=array([3]), gold=array([5]), predicted=array([5]))
>>> [round(naive_loss(gold, predicted, kind, steps=10), 3) for kind in KINDS]
[0.4, 4.0, 6.0]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.amr.packed import PackedGraphs, Packer
from treewright.amr.smatch import Meaning, graphs_of
from treewright.errors import ConfigError, CorpusError
from treewright.search.compiling import compiled, kernel

__all__ = [
    "ABSOLUTE",
    "KINDS",
    "NAIVE",
    "PENALTY",
    "NaiveCounts",
    "common_entries",
    "edge_entry",
    "graph_entries",
    "naive_loss",
    "naive_packed",
    "naive_pass",
    "naive_smatch",
    "node_entry",
    "smatch_loss",
    "sort_entries",
]

KINDS = ("naive", "absolute", "penalty")
"""The losses by name."""

NAIVE, ABSOLUTE, PENALTY = range(3)
"""The losses as numbers, for kernels."""

Counts = npt.NDArray[np.int64]

_BITS = np.int64(21)  # of a label or a role, so that an entry is one number
_MOST = 1 << 21
_ACTION = 1.0 / 5.0  # "the coefficient of 1/5 was selected after experiments on the training set"


class NaiveCounts(NamedTuple):
    """For each pair of graphs, the number of entries in common, and of each of them."""

    matched: Counts
    gold: Counts
    predicted: Counts


@compiled
def node_entry(label: int) -> int:
    """The entry of a node with this label."""
    return np.int64(label)


@compiled
def edge_entry(label: int, role: int, target_label: int) -> int:
    """The entry of an edge, from the labels of its ends; different edges and nodes have different entries."""
    return ((np.int64(role) + np.int64(1)) << (_BITS + _BITS)) | (np.int64(label) << _BITS) | np.int64(target_label)


@compiled
def sort_entries(entries: Any, n: int) -> None:
    """Sort the first ``n`` entries in place, by heapsort.

    NumPy's ``sort`` needs a list in compiled code, and code with lists cannot be kept on disk.
    """
    for first in range(n // 2 - 1, -1, -1):
        _sift(entries, first, n)
    for last in range(n - 1, 0, -1):
        entries[0], entries[last] = entries[last], entries[0]
        _sift(entries, 0, last)


@compiled
def _sift(entries: Any, place: int, n: int) -> None:
    """Move an entry down in a heap of ``n`` entries until none below it is larger."""
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and entries[child + 1] > entries[child]:
            child += 1
        if entries[child] <= entries[place]:
            return
        entries[place], entries[child] = entries[child], entries[place]
        place = child


@compiled
def common_entries(one: Counts, two: Counts) -> int:
    """The number of entries that two sorted lists have in common, as multisets."""
    a, b, found = np.int64(0), np.int64(0), np.int64(0)
    while a < len(one) and b < len(two):
        if one[a] == two[b]:
            found += np.int64(1)
            a += np.int64(1)
            b += np.int64(1)
        elif one[a] < two[b]:
            a += np.int64(1)
        else:
            b += np.int64(1)
    return found


@compiled
def graph_entries(packed: Any, g: int, out: Counts) -> int:
    """List the entries of the g-th graph, sorted; return their number."""
    first, nodes = packed.label_at[g], packed.node_at[g + 1] - packed.node_at[g]
    n = np.int64(0)
    for at in range(first, packed.label_at[g + 1]):
        label = packed.label[at]
        if at - first < nodes:
            out[n] = node_entry(label)
        else:  # the label of an attribute is its role and constant together, and no concept has the same number
            out[n] = edge_entry(packed.label[first + packed.label_node[at]], 0, label)
        n += np.int64(1)
    for at in range(packed.edge_at[g], packed.edge_at[g + 1]):
        source, target = packed.label[first + packed.source[at]], packed.label[first + packed.target[at]]
        out[n] = edge_entry(source, np.int64(packed.role[at]) + np.int64(1), target)
        n += np.int64(1)
    sort_entries(out, n)
    return n


@compiled
def smatch_loss(kind: int, matched: int, gold: int, predicted: int, steps: int) -> float:
    """A loss (NAIVE, ABSOLUTE or PENALTY) from counts, of entries or, for Smatch itself, of triples."""
    mistakes = np.float64(gold) + np.float64(predicted) - 2.0 * np.float64(matched)
    if kind == NAIVE:
        return mistakes / (np.float64(gold) + np.float64(predicted)) if mistakes > 0.0 else 0.0
    if kind == ABSOLUTE:
        return mistakes
    return mistakes + _ACTION * np.float64(steps)


@kernel
def naive_pass(gold: Any, predicted: Any, matched: Counts, longest: int) -> None:
    """The number of common entries of each pair of graphs; no graph has more than ``longest``."""
    one, two = np.zeros(longest, np.int64), np.zeros(longest, np.int64)
    for g in range(len(matched)):
        n, m = graph_entries(gold, g, one), graph_entries(predicted, g, two)
        matched[g] = common_entries(one[:n], two[:m])


def naive_smatch(gold: Iterable[Meaning], predicted: Iterable[Meaning]) -> NaiveCounts:
    """Compare each gold graph with the predicted graph at the same position of the list."""
    right, guessed = graphs_of(gold, "gold"), graphs_of(predicted, "predicted")
    if len(right) != len(guessed):
        raise CorpusError(f"{len(right)} gold graphs and {len(guessed)} predicted ones: give one for each")
    packer = Packer()
    gold_packed, predicted_packed = packer.pack(right, tops=False), packer.pack(guessed, tops=False)
    return naive_packed(packer.without_list_numbers(gold_packed), packer.without_list_numbers(predicted_packed))


def naive_packed(gold: PackedGraphs, predicted: PackedGraphs) -> NaiveCounts:
    """Like :func:`naive_smatch`, for graphs that were packed by the same packer, without tops."""
    sizes = gold.sizes(), predicted.sizes()
    if max(int(packed.label.max(initial=0)) for packed in (gold, predicted)) >= _MOST:
        raise CorpusError(f"more than {_MOST:,} different labels: compare the graphs in parts")
    matched = np.zeros(len(sizes[0]), np.int64)
    naive_pass(gold, predicted, matched, int(max(size.max(initial=1) for size in sizes)))
    return NaiveCounts(matched, *sizes)


def naive_loss(gold: Meaning, predicted: Meaning, kind: str = "naive", *, steps: int = 0) -> float:
    """The loss of one predicted graph that was made in ``steps`` actions; ``kind`` is one of :data:`KINDS`."""
    if kind not in KINDS:
        raise ConfigError(f"there is no loss {kind!r}; choose one of {', '.join(KINDS)}")
    matched, of_gold, of_predicted = (int(count[0]) for count in naive_smatch([gold], [predicted]))
    return float(smatch_loss(KINDS.index(kind), matched, of_gold, of_predicted, steps))
