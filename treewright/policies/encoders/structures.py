"""The structures of many states as one plan: each vector that a stack-LSTM computes is listed once.

The states of one episode share most of their structure, and the states of several episodes of a sentence share a part
of it. A plan numbers the distinct composed vectors and the distinct prefixes of stacks, buffers and lists of actions.
Vectors of the same depth do not depend on each other, so they can be computed together.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.examples import Examples

__all__ = ["Chains", "Compositions", "Plan", "plan_structures"]

Longs = npt.NDArray[np.int64]


class Compositions(NamedTuple):
    """Arcs that can be composed together: the numbers of the vectors of heads and dependents, and the relations."""

    head: Longs
    dependent: Longs
    relation: Longs


class Chains(NamedTuple):
    """The distinct prefixes of lists, sorted by length; those of length k + 1 are ``at[k]:at[k + 1]``.

    A prefix is its ``parent``, which is the prefix that is shorter by one, and the number of one more vector. ``last``
    contains the number of the whole list for each state, or −1 if the list is empty.
    """

    vector: Longs
    parent: Longs
    at: Longs
    last: Longs


class Plan(NamedTuple):
    """The computation for some states: compositions by depth, and the chains of stack, buffer and actions.

    Vectors are numbered: first the rows of words, then the compositions in the order of their lists.
    """

    compositions: list[Compositions]
    chains: tuple[Chains, Chains, Chains]


def plan_structures(examples: Examples, start: Longs, rows: int) -> Plan:
    """Return the plan for the structures in some examples; ``start`` contains the first row of each sentence."""
    observed, at = examples.observed.tolist(), examples.observed_at.tolist()
    arcs: dict[tuple[int, int, int], int] = {}  # head, dependent and relation, in the order of their first occurrence
    depths: list[int] = []
    chains: tuple[dict[tuple[int, int], int], ...] = ({}, {}, {})
    last: tuple[list[int], ...] = ([], [], [])
    for begin in at[:-1]:
        first = int(start[observed[begin]])
        stack_at = begin + 1
        buffer_at = stack_at + 1 + observed[stack_at]
        arcs_at = buffer_at + 1 + observed[buffer_at]
        actions_at = arcs_at + 1 + 3 * observed[arcs_at]
        latest: dict[int, int] = {}
        for k in range(arcs_at + 1, actions_at, 3):
            head, dependent, relation = observed[k : k + 3]
            key = latest.get(head, first + head), latest.get(dependent, first + dependent), relation
            number = arcs.get(key, -1)
            if number < 0:
                number = arcs[key] = rows + len(arcs)
                depths.append(1 + max(0 if each < rows else depths[each - rows] for each in key[:2]))
            latest[head] = number
        for which, place in enumerate((stack_at, buffer_at, actions_at)):
            known, parent = chains[which], -1
            for item in observed[place + 1 : place + 1 + observed[place]]:
                vector = item if which == 2 else latest.get(item, first + item)
                parent = known.setdefault((parent, vector), len(known))
            last[which].append(parent)
    compositions, renumbered = _by_depth(arcs, depths, rows)
    made = [_chains(known, ends) for known, ends in zip(chains, last, strict=True)]
    stack, buffer = (each._replace(vector=renumbered[each.vector]) for each in made[:2])
    return Plan(compositions, (stack, buffer, made[2]))


def _by_depth(arcs: dict[tuple[int, int, int], int], depths: list[int], rows: int) -> tuple[list[Compositions], Longs]:
    """The compositions sorted by depth, and the number of each vector in this order."""
    depth = np.array(depths, np.int64)
    order = np.argsort(depth, kind="stable")
    renumbered = np.arange(rows + len(order))
    renumbered[rows + order] = rows + np.arange(len(order))
    table = np.array(list(arcs), np.int64).reshape(-1, 3)[order]
    table[:, :2] = renumbered[table[:, :2]]
    edges = np.searchsorted(depth[order], np.arange(1, depth.max(initial=0) + 2))
    parts = [table[a:b] for a, b in pairwise(edges)]
    return [Compositions(*part.T) for part in parts], renumbered


def _chains(known: dict[tuple[int, int], int], ends: list[int]) -> Chains:
    """The prefixes sorted by length."""
    table = np.array(list(known), np.int64).reshape(-1, 2)
    length = np.zeros(len(table) + 1, np.int64)  # the last cell stands for the empty list
    for k, parent in enumerate(table[:, 0].tolist()):
        length[k] = length[parent] + 1
    order = np.argsort(length[:-1], kind="stable")
    place = np.full(len(table) + 1, -1, np.int64)
    place[order] = np.arange(len(order))
    at = np.searchsorted(length[order], np.arange(1, int(length.max(initial=0)) + 2))
    parent = place[table[order, 0]]
    shorter = np.repeat(np.concatenate([[0], at[:-2]]) if len(at) > 1 else at[:0], np.diff(at))
    return Chains(table[order, 1], np.where(parent >= 0, parent - shorter, -1), at, place[np.array(ends, np.int64)])
