"""Plans in a Viterbi chart: the best tree, the gradient of policies, and what to do where there is no tree.

A *derivation* has one node for each span of the tree, 2n − 1 for n words, parents before children and left before
right. A node has five numbers: the symbol at the bottom of the span, the unary rule above it (or −1), the binary rule
below it (or −1 where there is a word), its start and its end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewright.constituency.charts.chart import NEVER, POSSIBLE, Chart, has, place, value
from treewright.search.bits import lowest, turned_left
from treewright.search.compiling import compiled, lean

__all__ = ["NODE", "best_action", "best_tree", "cover", "policy_gradient"]

NODE = 5  # numbers of a node: symbol, unary rule, binary rule, start, end


@lean
def best_action(chart: Chart, symbol: int, start: int, width: int) -> tuple[int, int]:
    """The best action that expands a constituent: the number of a rule and a split (0 for a unary rule).

    −1 if there is none, as for a tag over its word. The search ends where the constituent's own value is attained:
    the numbers are added up as the chart added them, so the sums are the same to the bit.
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
    """``viterbiParse``: the best derivation of a constituent, behind the ``filled`` nodes; returns their new number."""
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
    """The fewest constituents, and among these the best, that cover a sentence which has no tree.

    ``pieces`` gets (symbol, start, end) of each, from left to right; returns their number. Every word has a tag, so
    there always is a cover. Only ``eligible`` symbols are used: those that are whole constituents.
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
def policy_gradient(chart: Chart, gold: Any, temperature: float, pull: Any, gradient: Any) -> float:
    """Algorithm 5 for one tree: adds eq. 18 to ``gradient`` (binary rules first) and returns J of eq. 16.

    The gradient of π(a|x) is π(a|x)/η·(Φ(x, a) − Σ_b π(b|x)Φ(x, b)) (eq. 19). With u(a) = isCorrect(a) − π(a|x), the
    sum over the actions is Σ_a g(a)Φ(x, a), where g(a) = π(a|x)/η·(u(a) − Σ_b u(b)π(b|x)). An action's features are its
    rule and those of the best trees of the constituents that it introduces; so g(a) is added to the rule and to
    these constituents (``pull``), and once all states are done, each constituent hands what pulls at it to its own
    best action, wide constituents first. No tree is built.
    """
    rules, n = chart.rules, chart.n
    for symbol in range(rules.is_top.shape[0]):
        for width in range(1, n + 1):
            if chart.space.starts[symbol, width] != np.uint64(0):
                for start in range(n - width + 1):
                    pull[place(chart, symbol, start, width)] = 0.0
    room = rules.unary.shape[0] + 1
    for node in range(gold.shape[0]):
        of_parent = rules.of_parent_at[gold[node, 0] + 1] - rules.of_parent_at[gold[node, 0]]
        room = max(room, of_parent * (gold[node, 4] - gold[node, 3]))
    action, where, q = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    dissimilarity = 0.0
    for node in range(gold.shape[0]):
        start, width = gold[node, 3], gold[node, 4] - gold[node, 3]
        if gold[node, 1] >= 0:
            top = rules.unary[gold[node, 1], 0]
            m = actions_of(chart, top, start, width, action, where, q)
            dissimilarity += _match(
                chart, top, start, width, action, where, q, m, gold[node, 1], 0, temperature, pull, gradient
            )
        if gold[node, 2] >= 0:
            m = actions_of(chart, gold[node, 0], start, width, action, where, q)
            split = gold[node + 1, 4] - start  # the next node is the left child
            dissimilarity += _match(
                chart,
                gold[node, 0],
                start,
                width,
                action,
                where,
                q,
                m,
                gold[node, 2],
                split,
                temperature,
                pull,
                gradient,
            )
    for width in range(n, 0, -1):
        for chains in (True, False):  # chains first: they pull at what is below them in the same span
            for symbol in range(rules.is_top.shape[0]):
                if rules.is_top[symbol] == chains and chart.space.starts[symbol, width] != np.uint64(0):
                    for start in range(n - width + 1):
                        g = pull[place(chart, symbol, start, width)]
                        if g != 0.0:
                            rule, split = best_action(chart, symbol, start, width)
                            if rule >= 0:
                                _pull(chart, symbol, start, width, rule, split, g, pull, gradient)
    return dissimilarity


@lean
def actions_of(chart: Chart, symbol: int, start: int, width: int, action: Any, where: Any, q: Any) -> int:
    """A(x): the actions that expand a constituent and lead to a tree, with splits and values; returns how many."""
    rules = chart.rules
    m = 0
    if rules.is_top[symbol]:
        for entry in range(rules.of_top_at[symbol], rules.of_top_at[symbol + 1]):
            rule = rules.of_top[entry]
            if has(chart, rules.unary[rule, 1], start, width):
                v = value(chart, rules.unary[rule, 1], start, width)
                if v > POSSIBLE:
                    action[m], where[m], q[m] = rule, 0, v + chart.unary[rule]
                    m += 1
        return m
    for entry in range(rules.of_parent_at[symbol], rules.of_parent_at[symbol + 1]):
        rule = rules.of_parent[entry]
        left, right = rules.binary[rule, 1], rules.binary[rule, 2]
        for split in range(1, width):
            if has(chart, left, start, split) and has(chart, right, start + split, width - split):
                v = value(chart, left, start, split) + value(chart, right, start + split, width - split)
                if v > POSSIBLE:
                    action[m], where[m], q[m] = rule, split, v + chart.binary[rule]
                    m += 1
    return m


@lean
def _match(
    chart: Chart,
    symbol: int,
    start: int,
    width: int,
    action: Any,
    where: Any,
    q: Any,
    m: int,
    expert: int,
    expert_split: int,
    temperature: float,
    pull: Any,
    gradient: Any,
) -> float:
    """One state of Algorithm 5, whose actions are listed; returns its part of J."""
    highest, total = NEVER, 0.0
    for a in range(m):
        highest = max(highest, q[a])
    for a in range(m):
        q[a] = math.exp((q[a] - highest) / temperature)
        total += q[a]
    mean, dissimilarity, correct = 0.0, 0.0, -1
    for a in range(m):
        q[a] /= total  # now it is π(a|x) (eq. 17)
        if action[a] == expert and where[a] == expert_split:
            correct = a
        u = (1.0 if a == correct else 0.0) - q[a]
        mean += u * q[a]
        dissimilarity += 0.5 * u * u
    if correct < 0:  # the expert's action is impossible here (a beam dropped it): its probability is 0
        dissimilarity += 0.5
    for a in range(m):
        g = q[a] / temperature * ((1.0 if a == correct else 0.0) - q[a] - mean)
        if abs(g) > 1e-12:
            _pull(chart, symbol, start, width, action[a], where[a], g, pull, gradient)
    return dissimilarity


@lean
def _pull(
    chart: Chart, symbol: int, start: int, width: int, rule: int, split: int, g: float, pull: Any, gradient: Any
) -> None:
    """Add to an action's rule and to the constituents that it introduces."""
    rules = chart.rules
    if rules.is_top[symbol]:
        gradient[rules.binary.shape[0] + rule] += g
        pull[place(chart, rules.unary[rule, 1], start, width)] += g
    else:
        gradient[rule] += g
        pull[place(chart, rules.binary[rule, 1], start, split)] += g
        pull[place(chart, rules.binary[rule, 2], start + split, width - split)] += g
