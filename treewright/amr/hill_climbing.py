"""Smatch by hill climbing (Algorithm 7 of Goodman 2015, after Cai and Knight 2013), compiled.

A *mapping* assigns to each node of the first graph at most one node of the second graph, and no node to two. Its score
is the number of triples of the first graph that are in the second one when nodes are renamed by the mapping. There is
one kind of move: *map i to j*. If k was mapped to j, then k gets the former node of i, and the move is a swap. These
are the *possibleMoves* of Algorithm 7, in either direction.

The climb is fast because it maintains the value of every pair of nodes. A pair (i, j) has a weight, the number of
labels that the two have in common, and *links* to other pairs: (i, j) is linked to (k, l) if an edge from i to k has
the role of an edge from j to l. ``worth[i, j]`` is what i would add to the score if it were mapped to j and all others
stayed: the weight, plus one for each link to a pair (k, l) with k mapped to l. A move changes this number only for
pairs that are linked to the four pairs concerned, and the gain of a move is a sum of four of these numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.arrays import copy_cells
from treewright.search.compiling import kernel, lean
from treewright.search.hashing import random_below, seed_random

__all__ = [
    "GREEDY",
    "IMPROVED",
    "RANDOM",
    "Space",
    "climb_satisficing",
    "climbing_pass",
    "judge",
    "make_space",
    "prepare",
]

Ints = npt.NDArray[np.int32]

GREEDY, IMPROVED, RANDOM = 0, 1, 2
"""The kinds of initial mappings: equal concepts, then at random; with the topology, eq. 5.2; at random."""

_ROUNDS = 3  # of the improved initialisation


class Space(NamedTuple):
    """The memory for one pair of graphs: the result of prepare(), and the state of the climb.

    Pair (i, j) has the index i · columns + j.
    """

    shape: npt.NDArray[np.int64]  # rows, columns: the nodes of the graphs; the greatest number of triples in common
    weight: Ints
    link_at: Ints
    link: Ints
    link_edge: Ints  # of the first graph: which edge the link is of
    link_back: Ints  # where the same link is listed for the other pair
    adjacent: npt.NDArray[np.uint8]  # rows × rows: is there an edge between the two?
    worth: Ints
    mapping: Ints  # of each row, its column or -1
    owner: Ints  # of each column, its row or -1
    best: Ints
    order: Ints
    similarity: npt.NDArray[np.float64]
    used: npt.NDArray[np.uint8]
    random: npt.NDArray[np.int64]


def make_space(one: Any, two: Any) -> Space:
    """Allocate memory for the largest pair of graphs."""
    rows, columns = np.diff(one.node_at).astype(np.int64), np.diff(two.node_at).astype(np.int64)
    pairs = int((rows * columns).max(initial=1))
    links = int((np.diff(one.edge_at) * np.diff(two.edge_at)).max(initial=0))
    most = int(max(rows.max(initial=1), columns.max(initial=1)))
    triples = int(max(np.diff(two.label_at).max(initial=1), np.diff(two.edge_at).max(initial=1)))
    return Space(
        shape=np.zeros(3, np.int64),
        weight=np.zeros(pairs, np.int32),
        link_at=np.zeros(pairs + 1, np.int32),
        link=np.zeros(2 * links, np.int32),
        link_edge=np.zeros(2 * links, np.int32),
        link_back=np.zeros(2 * links, np.int32),
        adjacent=np.zeros(most * most, np.uint8),
        worth=np.zeros(pairs, np.int32),
        mapping=np.zeros(most, np.int32),
        owner=np.zeros(most, np.int32),
        best=np.zeros(most, np.int32),
        order=np.zeros(max(most, pairs), np.int32),
        similarity=np.zeros(pairs, np.float64),
        used=np.zeros(triples, np.uint8),
        random=np.zeros(2, np.int64),
    )


@lean
def prepare(space: Any, one: Any, two: Any, g: int) -> None:
    """Compute weights and links of all pairs of nodes of the g-th graphs, and an upper bound of the score."""
    space.shape[0] = one.node_at[g + 1] - one.node_at[g]
    space.shape[1] = two.node_at[g + 1] - two.node_at[g]
    space.shape[2] = _weigh(space, one, two, g) + _link(space, one, two, g)


@lean
def _weigh(space: Any, one: Any, two: Any, g: int) -> int:
    """Compute the weights of all pairs, the labels in common; return the number of equal labels over all nodes."""
    columns = space.shape[1]
    weight, used = space.weight, space.used
    for p in range(space.shape[0] * columns):
        weight[p] = np.int32(0)
    first, last = two.label_at[g], two.label_at[g + 1]
    for b in range(last - first):
        used[b] = np.uint8(0)
    equal = np.int64(0)
    for a in range(one.label_at[g], one.label_at[g + 1]):
        counted = False
        for b in range(first, last):
            if one.label[a] == two.label[b]:
                weight[one.label_node[a] * columns + two.label_node[b]] += np.int32(1)
                if not counted and not used[b - first]:
                    used[b - first] = np.uint8(1)
                    equal += np.int64(1)
                    counted = True
    return equal


@lean
def _link(space: Any, one: Any, two: Any, g: int) -> int:
    """Compute the links of all pairs, edges with the same role; return the number of equal edges over all nodes.

    An edge from a node to itself can only match another such edge; it is counted in the weight of a pair.
    """
    rows, columns = space.shape[0], space.shape[1]
    used, adjacent, link_at = space.used, space.adjacent, space.link_at
    for p in range(rows * rows):
        adjacent[p] = np.uint8(0)
    for p in range(rows * columns + 1):
        link_at[p] = np.int32(0)
    first, last = two.edge_at[g], two.edge_at[g + 1]
    for b in range(last - first):
        used[b] = np.uint8(0)
    equal = np.int64(0)
    for a in range(one.edge_at[g], one.edge_at[g + 1]):
        i, k = np.int64(one.source[a]), np.int64(one.target[a])
        adjacent[i * rows + k] = adjacent[k * rows + i] = np.uint8(1)
        counted = False
        for b in range(first, last):
            if one.role[a] != two.role[b]:
                continue
            j, m = np.int64(two.source[b]), np.int64(two.target[b])
            if not counted and not used[b - first]:
                used[b - first] = np.uint8(1)
                equal += np.int64(1)
                counted = True
            if i == k and j == m:
                space.weight[i * columns + j] += np.int32(1)
            elif i != k and j != m:
                link_at[i * columns + j + 1] += np.int32(1)
                link_at[k * columns + m + 1] += np.int32(1)
    for p in range(rows * columns):
        link_at[p + 1] += link_at[p]
    for a in range(one.edge_at[g], one.edge_at[g + 1]):
        i, k = np.int64(one.source[a]), np.int64(one.target[a])
        for b in range(first, last):
            j, m = np.int64(two.source[b]), np.int64(two.target[b])
            if one.role[a] == two.role[b] and i != k and j != m:
                _join(space, a, i * columns + j, k * columns + m)
    for p in range(rows * columns, 0, -1):  # joining has moved each beginning to its end
        link_at[p] = link_at[p - 1]
    link_at[0] = np.int32(0)
    return equal


@lean
def _join(space: Any, edge: int, p: int, q: int) -> None:
    """List a link for both its pairs."""
    at, back = space.link_at[p], space.link_at[q]
    space.link[at], space.link[back] = np.int32(q), np.int32(p)
    space.link_edge[at] = space.link_edge[back] = np.int32(edge)
    space.link_back[at], space.link_back[back] = back, at
    space.link_at[p] += np.int32(1)
    space.link_at[q] += np.int32(1)


@lean
def linked(space: Any, p: int, q: int) -> int:
    """The number of links between two pairs."""
    found = np.int64(0)
    for at in range(space.link_at[p], space.link_at[p + 1]):
        found += np.int64(space.link[at] == q)
    return found


@lean
def _put(space: Any, i: int, j: int, amount: int) -> None:
    """Update the worth of all pairs linked to (i, j), which enters the mapping (amount 1) or leaves it (-1)."""
    p = i * space.shape[1] + j
    for at in range(space.link_at[p], space.link_at[p + 1]):
        space.worth[space.link[at]] += np.int32(amount)


@lean
def give(space: Any, i: int, j: int) -> None:
    """Make a move: map i to j; if another node was mapped to j, map it to the former node of i."""
    mapping, owner = space.mapping, space.owner
    m, k = np.int64(mapping[i]), np.int64(owner[j])
    if m >= 0:
        _put(space, i, m, -1)
        owner[m] = np.int32(k)
    if k >= 0:
        _put(space, k, j, -1)
        mapping[k] = np.int32(m)
        if m >= 0:
            _put(space, k, m, 1)
    mapping[i], owner[j] = np.int32(j), np.int32(i)
    _put(space, i, j, 1)


@lean
def gain(space: Any, i: int, j: int) -> int:
    """The gain of mapping i to j, which is not its current node."""
    rows, columns = space.shape[0], space.shape[1]
    worth = space.worth
    m, k = np.int64(space.mapping[i]), np.int64(space.owner[j])
    change = np.int64(worth[i * columns + j])
    if m >= 0:
        change -= np.int64(worth[i * columns + m])
    if k >= 0:
        change -= np.int64(worth[k * columns + j])
        if m >= 0:
            change += np.int64(worth[k * columns + m])
            if space.adjacent[i * rows + k]:  # their links to each other: before, counted twice; after, not at all
                change += linked(space, i * columns + m, k * columns + j)
                change += linked(space, i * columns + j, k * columns + m)
    return change


@lean
def climb(space: Any, score: int) -> int:
    """Make the best of all moves, as long as it improves the score; return the score."""
    while True:
        best, best_i, best_j = 0, -1, -1
        for i in range(space.shape[0]):
            m = np.int64(space.mapping[i])
            for j in range(space.shape[1]):
                k = np.int64(space.owner[j])
                if j == m or (m >= 0 and 0 <= k < i):  # nothing changes; the same swap as in k's turn
                    continue
                found = gain(space, i, j)
                if found > best:
                    best, best_i, best_j = found, i, j
        if best == 0:
            return score
        give(space, best_i, best_j)
        score += best


@lean
def climb_satisficing(space: Any, score: int) -> int:
    """Make each move that improves the score as soon as it is found; return the score.

    The search continues after the last move, and ends after a whole round without an improvement.
    """
    rows, columns = space.shape[0], space.shape[1]
    i = unchanged = np.int64(0)
    while unchanged < rows:
        unchanged += np.int64(1)
        for j in range(columns):
            m, k = np.int64(space.mapping[i]), np.int64(space.owner[j])
            if j == m or (m >= 0 and 0 <= k < i):
                continue
            found = gain(space, i, np.int64(j))
            if found > 0:
                give(space, i, np.int64(j))
                score += found
                unchanged = np.int64(0)
        i = i + np.int64(1) if i + 1 < rows else np.int64(0)
    return score


@lean
def climb_by_chance(space: Any, score: int, satisficing: bool, moves: int) -> int:
    """Draw ``moves`` random moves at each step and make the best; stop if none improves the score."""
    while True:
        best, best_i, best_j = 0, -1, -1
        for _ in range(moves):
            i, j = random_below(space.random, space.shape[0]), random_below(space.random, space.shape[1])
            if space.mapping[i] == j:
                continue
            found = gain(space, i, j)
            if found > best:
                best, best_i, best_j = found, i, j
                if satisficing:
                    break
        if best == 0:
            return score
        give(space, best_i, best_j)
        score += best


@lean
def clear(space: Any) -> None:
    """Map nothing."""
    for i in range(space.shape[0]):
        space.mapping[i] = np.int32(-1)
    for j in range(space.shape[1]):
        space.owner[j] = np.int32(-1)


@lean
def _shuffle(space: Any, n: int) -> None:
    """Shuffle the numbers below n."""
    order = space.order
    for i in range(n):
        order[i] = np.int32(i)
    for i in range(n - 1, 0, -1):
        k = random_below(space.random, i + 1)
        order[i], order[k] = order[k], order[i]


@lean
def _is_candidate(space: Any, p: int) -> bool:
    """Whether the pair can add to the score."""
    return space.weight[p] > 0 or space.link_at[p] < space.link_at[p + 1]


@lean
def _equal_concepts(space: Any, one: Any, two: Any, g: int) -> None:
    """Map nodes to the first free one with the same concept."""
    for i in range(space.shape[0]):
        for j in range(space.shape[1]):
            if space.owner[j] < 0 and one.label[one.label_at[g] + i] == two.label[two.label_at[g] + j]:
                space.mapping[i], space.owner[j] = np.int32(j), np.int32(i)
                break


@lean
def _by_chance(space: Any) -> None:
    """Map the remaining nodes at random, to nodes with which they can have a triple in common."""
    rows, columns = space.shape[0], space.shape[1]
    _shuffle(space, rows)
    for at in range(rows):
        i = np.int64(space.order[at])
        if space.mapping[i] >= 0:
            continue
        seen = np.int64(0)
        chosen = np.int64(-1)
        for j in range(columns):
            if space.owner[j] < 0 and _is_candidate(space, i * columns + j):
                seen += np.int64(1)
                if random_below(space.random, seen) == 0:
                    chosen = np.int64(j)
        if chosen >= 0:
            space.mapping[i], space.owner[chosen] = np.int32(chosen), np.int32(i)


@lean
def _by_similarity(space: Any, one: Any, two: Any, g: int) -> None:
    """Replace the mapping by one that takes the most similar pairs first (Algorithm 4 with eq. 5.1 and 5.2).

    similarity(a, b) = (1 + neighbours of a that are mapped to neighbours of b) · (1 + 5 δ(a, b) / 2^(c(a) - 1)), with δ
    for equal concepts, and c(a) the number of nodes in both graphs that have the concept of a. A neighbour counts once
    for each edge to it.
    """
    rows, columns = space.shape[0], space.shape[1]
    similarity, order = space.similarity, space.order
    first, second = one.label_at[g], two.label_at[g]
    for i in range(rows):
        concept = one.label[first + i]
        count = np.int64(0)
        for k in range(rows):
            count += np.int64(one.label[first + k] == concept)
        for j in range(columns):
            count += np.int64(two.label[second + j] == concept)
        bonus = 5.0 / 2.0 ** np.float64(count - 1)
        for j in range(columns):
            same = two.label[second + j] == concept
            similarity[i * columns + j] = 1.0 + (bonus if same else 0.0)
    for p in range(rows * columns):
        order[p] = np.int32(0)  # TS(a, b | M), eq. 5.1
    for a in range(one.edge_at[g], one.edge_at[g + 1]):
        for b in range(two.edge_at[g], two.edge_at[g + 1]):
            one_end, other_end = np.int64(one.source[a]), np.int64(one.target[a])
            for _ in range(2):
                if space.mapping[other_end] == two.target[b]:
                    order[one_end * columns + two.source[b]] += np.int32(1)
                if space.mapping[other_end] == two.source[b]:
                    order[one_end * columns + two.target[b]] += np.int32(1)
                one_end, other_end = other_end, one_end
    for p in range(rows * columns):
        similarity[p] *= 1.0 + np.float64(order[p])
    clear(space)
    for _ in range(min(rows, columns)):
        best, best_i, best_j = 0.0, np.int64(-1), np.int64(-1)
        for i in range(rows):
            if space.mapping[i] < 0:
                for j in range(columns):
                    if space.owner[j] < 0 and similarity[i * columns + j] > best:
                        best, best_i, best_j = similarity[i * columns + j], np.int64(i), np.int64(j)
        space.mapping[best_i], space.owner[best_j] = np.int32(best_j), np.int32(best_i)


@lean
def begin(space: Any, one: Any, two: Any, g: int, start: int) -> int:
    """Make the initial mapping and compute the worth of all pairs; return the score."""
    clear(space)
    if start != RANDOM:
        _equal_concepts(space, one, two, g)
    _by_chance(space)
    if start == IMPROVED:
        for _ in range(_ROUNDS):
            _by_similarity(space, one, two, g)
    return judge(space)


@lean
def judge(space: Any) -> int:
    """Compute the worth of all pairs for the current mapping; return its score."""
    rows, columns = space.shape[0], space.shape[1]
    for p in range(rows * columns):
        space.worth[p] = space.weight[p]
    for i in range(rows):
        if space.mapping[i] >= 0:
            _put(space, i, np.int64(space.mapping[i]), 1)
    twice = np.int64(0)  # links are in the worth of both their pairs
    for i in range(rows):
        if space.mapping[i] >= 0:
            p = i * columns + np.int64(space.mapping[i])
            twice += np.int64(space.weight[p]) + np.int64(space.worth[p])
    return twice // np.int64(2)


@lean
def keep(space: Any) -> None:
    """Store the mapping as the best one."""
    for i in range(space.shape[0]):
        space.best[i] = space.mapping[i]


@kernel
def climbing_pass(
    one: Any,
    two: Any,
    first: int,
    last: int,
    starts: npt.NDArray[np.int64],
    satisficing: bool,
    moves: int,
    seed: int,
    space: Any,
    matched: npt.NDArray[np.int64],
    mappings: Ints,
    control: npt.NDArray[np.int64],
    slot: int,
) -> None:
    """Find the best mapping of each pair of graphs from ``first`` to ``last`` over all starts (Algorithm 7).

    With ``satisficing`` the first move that improves the score is made; with ``moves`` above 0, each step tries this
    number of moves. If the score reaches its upper bound, the remaining starts are skipped.
    """
    for g in range(first, last):
        if control[0]:
            return
        prepare(space, one, two, g)
        rows, most = space.shape[0], space.shape[2]
        seed_random(space.random, seed, 0, g)
        best = -1
        for start in starts:
            score = begin(space, one, two, g, start)
            if 0 < moves < rows * space.shape[1]:
                score = climb_by_chance(space, score, satisficing, moves)
            elif satisficing:
                score = climb_satisficing(space, score)
            else:
                score = climb(space, score)
            if score > best:
                best = score
                keep(space)
            if best == most:
                break
        matched[g] = best
        copy_cells(space.best, 0, mappings, one.node_at[g], rows)
        control[slot] += np.int64(1)
