"""Smatch with a proof: the best of all mappings, by branch and bound over a Lagrangian relaxation.

Matching two graphs is a quadratic assignment problem: a pair (i, j) of nodes that are mapped to each other contributes
its weight, and two linked pairs contribute one more if both are chosen (:mod:`treewright.amr.hill_climbing`). The
difficulty is that both ends of a link must agree. The relaxation drops this condition: a link is split into two shares
that add up to one, each end claims its share independently, and the remaining linear assignment problem is solved
exactly. Its value is an upper bound of the best score. Scores are whole numbers; so if the bound is less than one above
the score of a mapping, that mapping is the best. A subgradient method with Polyak's steps moves shares from ends that
claim theirs alone to the other end, which lowers the bound to that of the linear program behind the usual integer
program. If this is not enough, the search branches: it chooses a pair, then forbids it.

References: Cai and Knight (2013), *Smatch: an evaluation metric for semantic feature structures* (the integer program);
Held and Karp (1971), *The traveling-salesman problem and minimum spanning trees* (the method).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.amr.hill_climbing import clear, climb_satisficing, judge, keep, prepare
from treewright.search.arrays import copy_cells
from treewright.search.compiling import kernel, lean

__all__ = ["Relaxation", "best_assignment", "make_relaxation", "proving_pass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_FORBIDDEN = -1e6
_ROUNDING = 1e-6
_FIRST_ROUNDS, _ROUNDS = 300, 40  # of the subgradient method: at the root, and at other nodes of the search
# The time of a round grows with the third power of the size of the graphs. Larger graphs than these get fewer rounds at
# the root and fewer nodes, to limit the time per pair.
_MANY_ROUNDS, _MANY_NODES = 60, 30


class Relaxation(NamedTuple):
    """The memory for the relaxation of one pair of graphs, and for the search. Matrices have side² cells."""

    share: Floats  # of each link, as the pair that it is listed for sees it
    claimed: npt.NDArray[np.uint8]
    value: Floats
    forbidden: npt.NDArray[np.uint8]
    assigned: Ints  # of each row, its column
    row_price: Floats
    column_price: Floats
    slack: Floats
    owner: Ints
    came_from: Ints
    visited: npt.NDArray[np.uint8]
    pairs: Ints  # the search: which pairs were decided upon,
    chosen: npt.NDArray[np.uint8]  # and how


def make_relaxation(one: Any, two: Any, links: int) -> Relaxation:
    """Allocate memory for the largest pair of graphs."""
    side = int(max(np.diff(one.node_at).max(initial=1), np.diff(two.node_at).max(initial=1)))
    return Relaxation(
        share=np.zeros(links, np.float64),
        claimed=np.zeros(links, np.uint8),
        value=np.zeros(side * side, np.float64),
        forbidden=np.zeros(side * side, np.uint8),
        assigned=np.zeros(side, np.int32),
        row_price=np.zeros(side + 1, np.float64),
        column_price=np.zeros(side + 1, np.float64),
        slack=np.zeros(side + 1, np.float64),
        owner=np.zeros(side + 1, np.int32),
        came_from=np.zeros(side + 1, np.int32),
        visited=np.zeros(side + 1, np.uint8),
        pairs=np.zeros(side * side + 1, np.int32),
        chosen=np.zeros(side * side + 1, np.uint8),
    )


@lean
def best_assignment(relaxation: Any, side: int) -> float:
    """Assign each row to a different column so that the sum of ``value`` is greatest; return the sum.

    The Hungarian method adds one row at a time, by a shortest augmenting path under the current prices. Rows and
    columns count from 1; column 0 holds the row that has no column yet.
    """
    value, assigned = relaxation.value, relaxation.assigned
    row_price, column_price, slack = relaxation.row_price, relaxation.column_price, relaxation.slack
    owner, came_from, visited = relaxation.owner, relaxation.came_from, relaxation.visited
    for k in range(side + 1):
        row_price[k] = column_price[k] = 0.0
        owner[k] = np.int32(0)
    for waiting in range(1, side + 1):
        owner[0] = np.int32(waiting)
        column = np.int64(0)
        for k in range(side + 1):
            slack[k] = np.inf
            visited[k] = np.uint8(0)
        while owner[column] != 0:
            visited[column] = np.uint8(1)
            row = np.int64(owner[column])
            nearest, least = np.int64(0), np.inf
            for other in range(1, side + 1):
                if visited[other]:
                    continue
                reduced = row_price[row] + column_price[other] - value[(row - 1) * side + other - 1]
                if reduced < slack[other]:
                    slack[other] = reduced
                    came_from[other] = np.int32(column)
                if slack[other] < least:
                    nearest, least = np.int64(other), slack[other]
            for other in range(side + 1):
                if visited[other]:
                    row_price[owner[other]] -= least
                    column_price[other] += least
                else:
                    slack[other] -= least
            column = nearest
        while column != 0:
            before = np.int64(came_from[column])
            owner[column] = owner[before]
            column = before
    total = 0.0
    for k in range(side):
        row = np.int64(owner[k + 1])
        assigned[row - 1] = np.int32(k)
        total += value[(row - 1) * side + k]
    return total


@lean
def _claim(space: Any, relaxation: Any, p: int, write: bool) -> float:
    """The value of a pair with its shares of links: for each edge, the greatest share, which is recorded."""
    total = np.float64(space.weight[p])
    at, end = np.int64(space.link_at[p]), np.int64(space.link_at[p + 1])
    while at < end:
        edge = space.link_edge[at]
        best, best_at = 0.0, np.int64(-1)
        while at < end and space.link_edge[at] == edge:
            if not relaxation.forbidden[space.link[at]] and relaxation.share[at] > best:
                best, best_at = relaxation.share[at], at
            at += np.int64(1)
        total += best
        if write and best_at >= 0:
            relaxation.claimed[best_at] = np.uint8(1)
    return total


@lean
def _relaxed(space: Any, relaxation: Any) -> float:
    """The value of the relaxed problem, and which ends claim which links in its solution."""
    rows, columns = space.shape[0], space.shape[1]
    side = max(rows, columns)
    for k in range(side * side):
        relaxation.value[k] = 0.0
    for i in range(rows):
        for j in range(columns):
            p = i * columns + j
            relaxation.value[i * side + j] = (
                _FORBIDDEN if relaxation.forbidden[p] else _claim(space, relaxation, p, False)
            )
    bound = best_assignment(relaxation, side)
    for at in range(space.link_at[rows * columns]):
        relaxation.claimed[at] = np.uint8(0)
    for i in range(rows):
        if relaxation.assigned[i] < columns:
            _claim(space, relaxation, i * columns + np.int64(relaxation.assigned[i]), True)
    return bound


@lean
def _lower(space: Any, relaxation: Any, best: int, rounds: int) -> tuple[bool, int]:
    """Lower the bound; return whether it proves that no mapping here is better than the best one, and its score.

    The best mapping so far is in ``space.best``; mappings found on the way may replace it.
    """
    rows, columns = space.shape[0], space.shape[1]
    links = np.int64(space.link_at[rows * columns])
    lowest, patience = np.inf, np.int64(0)
    scale = 1.0
    for _ in range(rounds):
        bound = _relaxed(space, relaxation)
        if bound < lowest - 1e-3:
            lowest, patience = bound, np.int64(0)
        else:
            patience += np.int64(1)
            if patience >= 10:
                scale, patience = scale / 2.0, np.int64(0)
        score = _try_assignment(space, relaxation)
        if score > best:
            best = score
            keep(space)
        if np.floor(bound + _ROUNDING) <= np.float64(best):
            return True, best
        disagreements = np.int64(0)
        for at in range(links):
            disagreements += np.int64(relaxation.claimed[at] and not relaxation.claimed[space.link_back[at]])
        if disagreements == 0:
            break
        step = scale * (bound - np.float64(best)) / np.float64(disagreements)
        for at in range(links):
            back = np.int64(space.link_back[at])
            if relaxation.claimed[at] and not relaxation.claimed[back]:
                relaxation.share[at] -= step / 2.0
                relaxation.share[back] += step / 2.0
    return False, best


@lean
def _try_assignment(space: Any, relaxation: Any) -> int:
    """The score of the assignment as a mapping, after hill climbing from it."""
    rows, columns = space.shape[0], space.shape[1]
    clear(space)
    for i in range(rows):
        j = relaxation.assigned[i]
        if j < columns and not relaxation.forbidden[i * columns + j]:
            space.mapping[i], space.owner[j] = j, np.int32(i)
    return climb_satisficing(space, judge(space))


@lean
def _forbid(space: Any, relaxation: Any, depth: int) -> None:
    """Exclude pairs by the decisions so far: chosen pairs exclude all others of their row and column."""
    rows, columns = space.shape[0], space.shape[1]
    forbidden = relaxation.forbidden
    for k in range(rows * columns):
        forbidden[k] = np.uint8(0)
    for d in range(depth):
        p = np.int64(relaxation.pairs[d])
        if not relaxation.chosen[d]:
            forbidden[p] = np.uint8(1)
            continue
        i, j = p // columns, p % columns
        for k in range(rows):
            if k != i:
                forbidden[k * columns + j] = np.uint8(1)
        for other in range(columns):
            if other != j:
                forbidden[i * columns + other] = np.uint8(1)


@lean
def _branching_pair(space: Any, relaxation: Any) -> int:
    """The undecided pair of the relaxed solution whose links agree least; -1 if all pairs are decided."""
    rows, columns = space.shape[0], space.shape[1]
    worst, chosen = np.int64(-1), np.int64(-1)
    for i in range(rows):
        j = np.int64(relaxation.assigned[i])
        p = i * columns + j
        if j >= columns or relaxation.forbidden[p]:
            continue
        free = np.int64(0)
        for other in range(columns):
            free += np.int64(relaxation.forbidden[i * columns + other] == 0)
        disagreements = np.int64(0)
        for at in range(space.link_at[p], space.link_at[p + 1]):
            disagreements += np.int64(relaxation.claimed[at] != relaxation.claimed[space.link_back[at]])
        if free > 1 and disagreements > worst:
            worst, chosen = disagreements, p
    return chosen


@lean
def _less(number: int, side: int, usual: int) -> int:
    """Scale an amount of work down so that large graphs take the same time as graphs of the usual size."""
    return max(np.int64(1), np.int64(number) * usual**3 // max(np.int64(side), np.int64(usual)) ** 3)


@lean
def _search(space: Any, relaxation: Any, best: int, limit: int) -> tuple[bool, int]:
    """Branch and bound, depth first, up to ``limit`` nodes; return whether the mapping is proved, and its score."""
    rows, columns = space.shape[0], space.shape[1]
    for at in range(space.link_at[rows * columns]):
        relaxation.share[at] = 0.5
    side = max(rows, columns)
    rounds, nodes = _less(_FIRST_ROUNDS, side, _MANY_ROUNDS), _less(limit, side, _MANY_NODES)
    depth = np.int64(0)
    for node in range(nodes):
        _forbid(space, relaxation, depth)
        closed, best = _lower(space, relaxation, best, rounds if node == 0 else _ROUNDS)
        if best == space.shape[2]:
            return True, best
        pair = -1 if closed else _branching_pair(space, relaxation)
        if pair >= 0:
            relaxation.pairs[depth], relaxation.chosen[depth] = np.int32(pair), np.uint8(1)
            depth += np.int64(1)
            continue
        while depth > 0 and not relaxation.chosen[depth - 1]:
            depth -= np.int64(1)
        if depth == 0:
            return True, best
        relaxation.chosen[depth - 1] = np.uint8(0)
    return False, best


@kernel
def proving_pass(
    one: Any,
    two: Any,
    first: int,
    last: int,
    limit: int,
    space: Any,
    relaxation: Any,
    matched: npt.NDArray[np.int64],
    mappings: Ints,
    proved: npt.NDArray[np.bool_],
    control: npt.NDArray[np.int64],
    slot: int,
) -> None:
    """Prove that the mappings of the pairs from ``first`` to ``last`` are the best, or replace them by better ones.

    ``matched`` and ``mappings`` come from hill climbing. ``proved`` says where at most ``limit`` search nodes (fewer
    for large graphs) were enough.
    """
    for g in range(first, last):
        if control[0]:
            return
        prepare(space, one, two, g)
        rows, most = space.shape[0], space.shape[2]
        copy_cells(mappings, one.node_at[g], space.best, 0, rows)
        proved[g] = matched[g] == most
        if not proved[g]:
            proved[g], matched[g] = _search(space, relaxation, matched[g], limit)
            copy_cells(space.best, 0, mappings, one.node_at[g], rows)
        control[slot] += np.int64(1)
