"""Trees in charts over substates: the best derivation, or the best rules.

* *Viterbi*: the tree of the best single derivation in substates.
* *Max-rule* (Petrov & Klein 2007, §3): the tree whose rules have the largest product, or sum, of posteriors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewright.constituency.charts.derivations import write_node
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent.blocks import Blocks, Cells, is_in, members
from treewright.constituency.latent.outside import Anchored
from treewright.search.compiling import compiled, lean
from treewright.search.lanes import LANES

__all__ = ["BEST_DERIVATION", "MAX_RULE_PRODUCT", "MAX_RULE_SUM", "max_rule_tree", "viterbi_tree"]

BEST_DERIVATION, MAX_RULE_PRODUCT, MAX_RULE_SUM = 0, 1, 2


@compiled
def max_rule_tree(
    grammar: Blocks, n: int, cells: Cells, anchored: Anchored, count: int, decoder: int, nodes: Any
) -> int:
    """Max-rule decoding (Petrov & Klein 2007, §3): the tree with the largest product, or sum, of its rules' posteriors.

    Let q(r, i, k, j) be the posterior of an anchored rule; then M(A, i, j) = max over r and k of q·M(B, i, k)·M(C, k,
    j). Anchored rules are sorted from wide spans to narrow ones, so a backward pass computes all parts before they are
    needed. Returns the number of nodes, 0 if there is no tree.
    """
    rules = grammar.rules
    n_binary, n_unary = rules.binary.shape[0], rules.unary.shape[0]
    best, choice = cells.best, cells.choice
    for span in range(span_of(0, n) + n):
        for k in range(members(cells.allowed, span, cells.some)):
            best[span, cells.some[k]], choice[span, cells.some[k]] = -np.inf, -1
    for k in range(count - 1, -1, -1):
        rule, start, split, end = anchored.what[k, 0], anchored.what[k, 1], anchored.what[k, 2], anchored.what[k, 3]
        span, q = span_of(start, end), anchored.probability[k]
        gain = math.log(q) if decoder == MAX_RULE_PRODUCT else q
        if rule < n_binary:
            symbol = rules.binary[rule, 0]
            gain += (
                best[span_of(start, split), rules.binary[rule, 1]] + best[span_of(split, end), rules.binary[rule, 2]]
            )
        elif rule < n_binary + n_unary:
            symbol = rules.unary[rule - n_binary, 0]
            gain += best[span, rules.unary[rule - n_binary, 1]]
        else:
            symbol = rule - n_binary - n_unary
        if gain > best[span, symbol]:
            best[span, symbol], choice[span, symbol] = gain, k
    if choice[span_of(0, n), rules.root] < 0:
        return 0
    stack = np.empty((n + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = rules.root, 0, n
    height, filled = 1, 0
    while height > 0:
        height -= 1
        symbol, start, end = stack[height, 0], stack[height, 1], stack[height, 2]
        span, above, below = span_of(start, end), -1, -1
        if rules.is_top[symbol]:
            above = anchored.what[choice[span, symbol], 0] - n_binary
            symbol = np.int64(rules.unary[above, 1])
        if end - start > 1:
            below, split = anchored.what[choice[span, symbol], 0], anchored.what[choice[span, symbol], 2]
            stack[height, 0], stack[height, 1], stack[height, 2] = rules.binary[below, 2], split, end
            stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = rules.binary[below, 1], start, split
            height += 2
        write_node(nodes, filled, symbol, above, below, start, end)
        filled += 1
    return filled


@compiled
def viterbi_tree(grammar: Blocks, n: int, cells: Cells, nodes: Any) -> int:
    """Convert the best derivation in substates of a Viterbi chart with a tree to one of the base; returns its size."""
    rules = grammar.rules
    stack = np.empty((n + 2, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = rules.root, 0, 0, n
    height, filled = 1, 0
    while height > 0:
        height -= 1
        symbol, substate, start, end = stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3]
        above, below = -1, -1
        if rules.is_top[symbol]:
            above, substate = _best_unary(grammar, cells, symbol, substate, start, end)
            symbol = np.int64(rules.unary[above, 1])
        if end - start > 1:
            below, split, b, c = _best_binary(grammar, cells, symbol, substate, start, end)
            stack[height, 0], stack[height, 1] = rules.binary[below, 2], c
            stack[height, 2], stack[height, 3] = split, end
            stack[height + 1, 0], stack[height + 1, 1] = rules.binary[below, 1], b
            stack[height + 1, 2], stack[height + 1, 3] = start, split
            height += 2
        write_node(nodes, filled, symbol, above, below, start, end)
        filled += 1
    return filled


@lean
def _best_unary(grammar: Blocks, cells: Cells, top: int, a: int, start: int, end: int) -> tuple[int, int]:
    """Return the best unary rule of a substate over a span: its number, and the substate of the bottom."""
    rules, span = grammar.rules, span_of(start, end)
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    best, choice, substate = 0.0, np.int64(-1), np.int64(0)
    for entry in range(rules.of_top_at[top], rules.of_top_at[top + 1]):
        rule = rules.of_top[entry]
        bottom = rules.unary[rule, 1]
        if is_in(cells.present, span, bottom):
            number = rules.binary.shape[0] + rule
            for k in range(grammar.block_at[number], grammar.block_at[number + 1]):
                if 0 <= a - grammar.block[k] < LANES:
                    b = grammar.left[k]
                    v = cells.values[cell + grammar.at[bottom] + b] * grammar.weight[k * LANES + a - grammar.block[k]]
                    if v > best:
                        best, choice, substate = np.float64(v), np.int64(rule), np.int64(b)
    return choice, substate


@lean
def _best_binary(grammar: Blocks, cells: Cells, parent: int, a: int, start: int, end: int) -> tuple[int, int, int, int]:
    """Return the best binary rule of a substate over a span: its number, its split, and the children's substates."""
    rules, stride = grammar.rules, grammar.at[grammar.at.shape[0] - 1]
    scale, largest = cells.scale, -np.inf
    for split in range(start + 1, end):
        largest = max(largest, scale[span_of(start, split)] + scale[span_of(split, end)])
    best, choice, where = 0.0, np.int64(-1), np.int64(0)
    one, two = np.int64(0), np.int64(0)
    for split in range(start + 1, end):
        left_span, right_span = span_of(start, split), span_of(split, end)
        both = scale[left_span] + scale[right_span]
        factor = math.exp(both - largest) if both > -np.inf else 0.0
        for entry in range(rules.of_parent_at[parent], rules.of_parent_at[parent + 1]):
            rule = rules.of_parent[entry]
            left, right = rules.binary[rule, 1], rules.binary[rule, 2]
            if not is_in(cells.present, left_span, left) or not is_in(cells.present, right_span, right):
                continue
            at_left, at_right = left_span * stride + grammar.at[left], right_span * stride + grammar.at[right]
            for k in range(grammar.block_at[rule], grammar.block_at[rule + 1]):
                if 0 <= a - grammar.block[k] < LANES:
                    b, c = grammar.left[k], grammar.right[k]
                    v = cells.values[at_left + b] * cells.values[at_right + c] * factor
                    v *= grammar.weight[k * LANES + a - grammar.block[k]]
                    if v > best:
                        best, choice, where = np.float64(v), np.int64(rule), np.int64(split)
                        one, two = np.int64(b), np.int64(c)
    return choice, where, one, two
