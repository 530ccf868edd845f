"""Plans in a Viterbi chart: the actions that expand a constituent, the best tree, and covers without a tree.

Trees are written as derivations (:mod:`treewright.constituency.charts.corpus`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, has, place, value
from treewright.constituency.charts.semirings import NEVER, POSSIBLE
from treewright.constituency.grammar.rules import Rules
from treewright.search.bits import lowest, turned_left
from treewright.search.compiling import compiled, lean

__all__ = ["Actions", "actions_of", "best_action", "best_tree", "cover", "covering_trees", "new_actions", "write_node"]


class Actions(NamedTuple):
    """The actions that expand one constituent."""

    rule: npt.NDArray[np.int64]
    split: npt.NDArray[np.int64]  # the width of the left part; 0 for a unary rule
    q: npt.NDArray[np.float64]  # the value of the best tree that begins with the action


@compiled
def new_actions(rules: Rules, n: int) -> Actions:
    """The arrays for the actions of any constituent in a sentence of up to n words."""
    most = rules.unary.shape[0]
    for symbol in range(rules.is_top.shape[0]):
        most = max(most, (rules.of_parent_at[symbol + 1] - rules.of_parent_at[symbol]) * n)
    return Actions(np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64), np.zeros(most + 1))


@lean
def actions_of(chart: Chart, symbol: int, start: int, width: int, actions: Actions) -> int:
    """A(x): the actions that expand a constituent and lead to a tree, with splits and values; returns their number."""
    rules = chart.rules
    m = 0
    if rules.is_top[symbol]:
        for entry in range(rules.of_top_at[symbol], rules.of_top_at[symbol + 1]):
            rule = rules.of_top[entry]
            if has(chart, rules.unary[rule, 1], start, width):
                v = value(chart, rules.unary[rule, 1], start, width)
                if v > POSSIBLE:
                    actions.rule[m], actions.split[m], actions.q[m] = rule, 0, v + chart.unary[rule]
                    m += 1
        return m
    for entry in range(rules.of_parent_at[symbol], rules.of_parent_at[symbol + 1]):
        rule = rules.of_parent[entry]
        left, right = rules.binary[rule, 1], rules.binary[rule, 2]
        for split in range(1, width):
            if has(chart, left, start, split) and has(chart, right, start + split, width - split):
                v = value(chart, left, start, split) + value(chart, right, start + split, width - split)
                if v > POSSIBLE:
                    actions.rule[m], actions.split[m], actions.q[m] = rule, split, v + chart.binary[rule]
                    m += 1
    return m


@lean
def best_action(chart: Chart, symbol: int, start: int, width: int) -> tuple[int, int]:
    """The best action that expands a constituent: the number of a rule and a split (0 for a unary rule).

    −1 if there is none, as for a tag over its word. The search ends when the constituent's own value is found: the
    numbers are added in the same order as in the chart, so the sums are the same to the bit.
    """
    rules, space, values = chart.rules, chart.space, chart.space.values
    best, choice, where = POSSIBLE, np.int64(-1), np.int64(0)
    attained = values[place(chart, symbol, start, width)]
    if rules.is_top[symbol]:
        for entry in range(rules.of_top_at[symbol], rules.of_top_at[symbol + 1]):
            rule = rules.of_top[entry]
            if has(chart, rules.unary[rule, 1], start, width):
                q = value(chart, rules.unary[rule, 1], start, width) + chart.unary[rule]
                if q > best:
                    best, choice = q, np.int64(rule)
        return choice, where
    for entry in range(rules.of_parent_at[symbol], rules.of_parent_at[symbol + 1]):
        rule = rules.of_parent[entry]
        left, right = rules.binary[rule, 1], rules.binary[rule, 2]
        splits = space.widths[left] & turned_left(space.minus_widths[right], width)
        while splits != np.uint64(0):
            split = lowest(splits)
            splits &= splits - np.uint64(1)
            split = split if split > 0 else 64
            while split < width:  # one turn, unless the sentence is long
                if has(chart, left, start, split) and has(chart, right, start + split, width - split):
                    one = values[place(chart, left, start, split)]
                    two = values[place(chart, right, start + split, width - split)]
                    q = one + two + chart.binary[rule]
                    if q > best:
                        best, choice, where = np.float64(q), np.int64(rule), np.int64(split)
                        if q == attained:
                            return choice, where
                split += 64
    return choice, where


@compiled
def best_tree(chart: Chart, symbol: int, start: int, width: int, nodes: Any, filled: int) -> int:
    """``viterbiParse``: append the best derivation of a constituent to the ``filled`` nodes; return the new number."""
    rules = chart.rules
    stack = np.empty((chart.n + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = symbol, start, width
    height = 1
    while height > 0:
        height -= 1
        symbol, start, width = stack[height, 0], stack[height, 1], stack[height, 2]
        above, below = -1, -1
        if rules.is_top[symbol]:
            above, _ = best_action(chart, symbol, start, width)
            symbol = np.int64(rules.unary[above, 1])  # type: ignore[assignment]
        if width > 1:
            below, split = best_action(chart, symbol, start, width)
            stack[height, 0], stack[height, 1], stack[height, 2] = rules.binary[below, 2], start + split, width - split
            stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = rules.binary[below, 1], start, split
            height += 2
        write_node(nodes, filled, symbol, above, below, start, start + width)
        filled += 1
    return filled


@lean
def write_node(nodes: Any, at: int, symbol: int, above: int, below: int, start: int, end: int) -> None:
    """One node of a derivation."""
    nodes[at, 0] = symbol
    nodes[at, 1] = above
    nodes[at, 2] = below
    nodes[at, 3] = start
    nodes[at, 4] = end


@compiled
def cover(chart: Chart, eligible: Any, pieces: Any) -> int:
    """The fewest constituents, and among these the best, that cover a sentence without a tree.

    ``pieces`` receives (symbol, start, end) of each, from left to right; returns their number. Every word has a tag, so
    there is always a cover. Only ``eligible`` symbols are used: those that are whole constituents.
    """
    n = chart.n
    symbol_of, value_of = np.full((n, n + 1), -1, np.int64), np.full((n, n + 1), NEVER)
    for symbol in range(eligible.shape[0]):
        if eligible[symbol]:
            for width in range(1, n + 1):
                for start in range(n - width + 1):
                    if has(chart, symbol, start, width):
                        v = value(chart, symbol, start, width)
                        if v > max(value_of[start, start + width], POSSIBLE):
                            symbol_of[start, start + width], value_of[start, start + width] = symbol, v
    fewest, total, back = np.full(n + 1, n + 1), np.full(n + 1, NEVER), np.zeros(n + 1, np.int64)
    fewest[0], total[0] = 0, 0.0
    for end in range(1, n + 1):
        for start in range(end):
            if symbol_of[start, end] >= 0:
                count, v = fewest[start] + 1, total[start] + value_of[start, end]
                if count < fewest[end] or (count == fewest[end] and v > total[end]):
                    fewest[end], total[end], back[end] = count, v, start
    end = n
    for k in range(fewest[n] - 1, -1, -1):
        start = back[end]
        pieces[k, 0], pieces[k, 1], pieces[k, 2] = symbol_of[start, end], start, end
        end = start
    return fewest[n]


@compiled
def covering_trees(chart: Chart, eligible: Any, nodes: Any) -> tuple[int, float]:
    """The best trees of the constituents that :func:`cover` a sentence: the number of nodes, and the sum of values."""
    pieces = np.zeros((chart.n, 3), np.int64)
    filled, total = 0, 0.0
    for k in range(cover(chart, eligible, pieces)):
        symbol, start, end = pieces[k, 0], pieces[k, 1], pieces[k, 2]
        filled = best_tree(chart, symbol, start, end - start, nodes, filled)
        total += value(chart, symbol, start, end - start)
    return filled, total
