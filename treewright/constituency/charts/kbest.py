"""The k best trees of a chart, lazily and exactly: ``maximumScoringTrees`` (Huang & Chiang 2005, Algorithm 3).

Each constituent has a list of its best derivations, which is extended on demand, and a heap of candidates for the next
one (:mod:`treewright.search.heaps`). A candidate is an action (a rule and a split) together with the ranks of the
derivations of its two parts. The first candidates of a constituent are its k best actions with both ranks
0. When (l, r) is taken, (l, r+1) becomes a candidate, and (l+1, 0) if r is 0: so every combination is proposed once,
and never before a better one.

:mod:`treewright.search.n_best` has the same algorithm for graphs whose edges are written out. A chart has far too many
edges for that: the edges into a constituent are listed when it is first needed, and only the k best are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, has_tree, place, value
from treewright.constituency.charts.derivations import Actions, actions_of, new_actions, write_node
from treewright.constituency.grammar.rules import Rules
from treewright.search.compiling import compiled
from treewright.search.heaps import meld, without_best

__all__ = ["Forest", "k_best_trees", "new_forest"]

EXHAUSTED = -2  # in place of a heap: there are no more derivations


class Forest(NamedTuple):
    """Constituents with their derivations and candidates; the memory is reused for all sentences."""

    node_of: npt.NDArray[np.int32]  # the number of a constituent's node, by its place in the chart; −1 if it has none
    constituent: npt.NDArray[np.int64]  # nodes × (symbol, start, width)
    known: npt.NDArray[np.int64]  # the number of known derivations of a node
    derivation: npt.NDArray[np.int64]  # nodes × k: their items
    heap: npt.NDArray[np.int64]  # the candidates of a node; −1 if there are none now, −2 if there will be none
    item: npt.NDArray[np.int64]  # items × (rule, split, left rank, right rank)
    links: npt.NDArray[np.int64]  # of each item, in its heap
    score: npt.NDArray[np.float64]  # of each item
    used: npt.NDArray[np.int64]  # nodes, items
    actions: Actions  # of one constituent
    order: npt.NDArray[np.int64]  # the links of these actions, in a heap by their values


@compiled
def new_forest(rules: Rules, n: int, places: int, nodes: int, k: int) -> Forest:
    """The memory for charts of up to n words with ``places`` numbers, ``nodes`` constituents, k derivations of each."""
    items = nodes * (min(k, 10) + 2) + 4 * k
    actions = new_actions(rules, n)
    return Forest(
        np.full(places, -1, np.int32),
        np.zeros((nodes, 3), np.int64),
        np.zeros(nodes, np.int64),
        np.zeros((nodes, k), np.int64),
        np.zeros(nodes, np.int64),
        np.zeros((items, 4), np.int64),
        np.zeros((items, 2), np.int64),
        np.zeros(items),
        np.zeros(2, np.int64),
        actions,
        np.zeros((actions.q.shape[0], 2), np.int64),
    )


@compiled
def k_best_trees(chart: Chart, forest: Forest, scores: Any, trees: Any) -> int:
    """The k best trees of the whole sentence, best first, where k is the length of ``scores``.

    ``trees`` receives their derivations (k × nodes × numbers). Returns the number of trees, or −1 if the forest is too
    small: then try again with a larger one.
    """
    root, n, k = chart.rules.root, chart.n, scores.shape[0]
    found = 0
    if has_tree(chart):
        node = _node(chart, forest, root, 0, n)
        enough = node >= 0
        while enough and found < k:
            enough = _extend(chart, forest, node, found)
            if not enough or forest.known[node] <= found:
                break
            scores[found] = forest.score[forest.derivation[node, found]]
            enough = _write(chart, forest, found, trees[found])
            found += 1
        for node in range(forest.used[0]):
            symbol, start, width = forest.constituent[node, 0], forest.constituent[node, 1], forest.constituent[node, 2]
            forest.node_of[place(chart, symbol, start, width)] = -1
        forest.used[0], forest.used[1] = 0, 0
        if not enough:
            return -1
    return found


@compiled
def _node(chart: Chart, forest: Forest, symbol: int, start: int, width: int) -> int:
    """The node of a constituent, created on demand with its first candidates; −1 if the forest is too small."""
    here = place(chart, symbol, start, width)
    if forest.node_of[here] >= 0:
        return np.int64(forest.node_of[here])
    node = forest.used[0]
    actions = forest.actions
    m = actions_of(chart, symbol, start, width, actions)
    k = forest.derivation.shape[1]
    if node >= forest.known.shape[0] or forest.used[1] + max(1, min(m, k)) > forest.score.shape[0]:
        return np.int64(-1)
    forest.used[0] += 1
    forest.node_of[here] = node
    forest.constituent[node, 0], forest.constituent[node, 1], forest.constituent[node, 2] = symbol, start, width
    forest.known[node] = 0
    forest.heap[node] = -1
    if m == 0:  # a word: there is one derivation
        _propose(forest, node, value(chart, symbol, start, width), -1, 0, 0, 0)
    best: Any = np.int64(-1)
    for a in range(m):
        forest.order[a, 0], forest.order[a, 1] = -1, -1
        best = meld(actions.q, forest.order, best, np.int64(a))
    # the constituent's own reward, if it has one, is what its value has beyond that of its best action
    own = value(chart, symbol, start, width) - actions.q[best] if m > 0 else 0.0
    for _ in range(min(m, k)):
        _propose(forest, node, actions.q[best] + own, actions.rule[best], actions.split[best], 0, 0)
        best = without_best(actions.q, forest.order, best)
    return node


@compiled
def _propose(forest: Forest, node: int, score: float, rule: int, split: int, left: int, right: int) -> None:
    """Add a candidate."""
    item = forest.used[1]
    forest.item[item, 0], forest.item[item, 1] = rule, split
    forest.item[item, 2], forest.item[item, 3] = left, right
    forest.links[item, 0], forest.links[item, 1] = -1, -1
    forest.score[item] = score
    forest.heap[node] = meld(forest.score, forest.links, forest.heap[node], item)
    forest.used[1] += 1


@compiled
def _part(chart: Chart, forest: Forest, node: int, rule: int, split: int, side: int) -> int:
    """The node of one of the parts of an action; −1 if the forest is too small."""
    symbol, start, width = forest.constituent[node, 0], forest.constituent[node, 1], forest.constituent[node, 2]
    if chart.rules.is_top[symbol]:
        return _node(chart, forest, np.int64(chart.rules.unary[rule, 1]), start, width)
    if side == 0:
        return _node(chart, forest, np.int64(chart.rules.binary[rule, 1]), start, split)
    return _node(chart, forest, np.int64(chart.rules.binary[rule, 2]), start + split, width - split)


@compiled
def _extend(chart: Chart, forest: Forest, node: int, rank: int) -> bool:
    """Compute the derivation of a rank, if there is one; False if the forest is too small."""
    while forest.known[node] <= rank and forest.heap[node] != EXHAUSTED:
        if forest.known[node] > 0:  # the successors of the last derivation become candidates
            last = forest.derivation[node, forest.known[node] - 1]
            rule, split = forest.item[last, 0], forest.item[last, 1]
            sides = 0 if rule < 0 else 1 if chart.rules.is_top[forest.constituent[node, 0]] else 2
            for side in range(sides):
                if side == 0 and forest.item[last, 3] > 0:
                    continue
                part = _part(chart, forest, node, rule, split, side)
                wanted = forest.item[last, 2 + side] + 1
                if part < 0 or not _extend(chart, forest, part, wanted) or forest.used[1] == forest.score.shape[0]:
                    return False
                if forest.known[part] > wanted:
                    change = forest.score[forest.derivation[part, wanted]]
                    change -= forest.score[forest.derivation[part, wanted - 1]]
                    left, right = forest.item[last, 2] + (1 - side), forest.item[last, 3] + side
                    _propose(forest, node, forest.score[last] + change, rule, split, left, right)
        best = forest.heap[node]
        if best < 0 or forest.known[node] == forest.derivation.shape[1]:
            forest.heap[node] = EXHAUSTED
        else:
            forest.heap[node] = without_best(forest.score, forest.links, best)
            forest.derivation[node, forest.known[node]] = best
            forest.known[node] += 1
    return True


@compiled
def _write(chart: Chart, forest: Forest, rank: int, nodes: Any) -> bool:
    """The derivation of the whole sentence of a rank, node by node; False if the forest is too small."""
    stack = np.empty((chart.n + 2, 2), np.int64)  # node of the forest, rank
    stack[0, 0], stack[0, 1] = 0, rank
    height, filled = 1, 0
    while height > 0:
        height -= 1
        node, above, below, left_rank, right_rank = stack[height, 0], -1, -1, 0, 0
        rank = stack[height, 1]
        for _ in range(2):  # a chain, if there is one, and what is below it
            if not _extend(chart, forest, node, rank):
                return False
            item = forest.derivation[node, rank]
            if chart.rules.is_top[forest.constituent[node, 0]]:
                above, rank = forest.item[item, 0], forest.item[item, 2]
                node = _part(chart, forest, node, above, 0, 0)
                if node < 0:
                    return False
            else:
                below, left_rank, right_rank = forest.item[item, 0], forest.item[item, 2], forest.item[item, 3]
                break
        symbol, start, width = forest.constituent[node, 0], forest.constituent[node, 1], forest.constituent[node, 2]
        if below >= 0:
            split = forest.item[item, 1]
            left, right = _part(chart, forest, node, below, split, 0), _part(chart, forest, node, below, split, 1)
            if left < 0 or right < 0:
                return False
            stack[height, 0], stack[height, 1] = right, right_rank
            stack[height + 1, 0], stack[height + 1, 1] = left, left_rank
            height += 2
        write_node(nodes, filled, symbol, above, below, start, start + width)
        filled += 1
    return True
