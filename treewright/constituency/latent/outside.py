"""Outside values over substates, and the posterior probabilities of anchored rules.

Outside values use the same products X as inside values (:mod:`treewright.constituency.latent.inside`). Together they
give the posteriors of the base's rules over spans, which max-rule decoding needs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.bulk import rules_of_pairs
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent.blocks import Blocks, Cells, are_in, is_in, members
from treewright.constituency.latent.inside import products
from treewright.search.bits import bit
from treewright.search.bulk import add_rows, dots, ranges
from treewright.search.compiling import compiled, in_bulk, lean
from treewright.search.lanes import LANES, add_scaled, dot, set_block

__all__ = ["Anchored", "new_anchored", "outside_of", "posteriors"]

LEAST = 1e-12  # max-rule decoding ignores anchored rules that are less probable than this


class Anchored(NamedTuple):
    """The anchored rules of a sentence that are probable enough: from wide spans to narrow ones, unary rules first.

    Rules are numbered as in the base, binary ones first; the numbers after all rules are the symbols of tags, over
    their words.
    """

    what: npt.NDArray[np.int32]  # rule, start, split (0 if the rule is not binary), end
    probability: npt.NDArray[np.float64]


@compiled
def new_anchored(size: int) -> Anchored:
    """Allocate the arrays for ``size`` anchored rules."""
    return Anchored(np.empty((size, 4), np.int32), np.empty(size))


@lean
def _anchor(anchored: Anchored, count: int, rule: int, start: int, split: int, end: int, probability: float) -> int:
    """Record an anchored rule if it is probable and there is space for it; returns the number of rules."""
    if probability < LEAST:
        return count
    if count < anchored.probability.shape[0]:
        anchored.what[count, 0] = rule
        anchored.what[count, 1] = start
        anchored.what[count, 2] = split
        anchored.what[count, 3] = end
        anchored.probability[count] = probability
    return count + 1


@lean
def outside_of(grammar: Blocks, n: int, cells: Cells, anchored: Anchored, least: float) -> int:
    """Compute the outside values of a chart of sums with a tree; inside × outside is the posterior probability.

    Symbols less probable than ``least`` are removed from the chart and pass nothing down, which saves most of the work.
    Records the anchored rules, unless the list is empty. Returns their number, which may be larger than the size of the
    list.
    """
    rules, values, above = grammar.rules, cells.values, cells.above
    present = cells.present
    at, stride = grammar.at, grammar.at[grammar.at.shape[0] - 1]
    n_binary, n_rules = rules.binary.shape[0], rules.binary.shape[0] + rules.unary.shape[0]
    some = cells.some
    listing = anchored.probability.shape[0] > 0
    count = 0
    for span in range(span_of(0, n) + n):
        for k in range(members(present, span, some)):
            for j in range(span * stride + at[some[k]], span * stride + at[some[k] + 1], LANES):
                set_block(above, j, 0.0)
    root = span_of(0, n) * stride + at[rules.root]
    above[root] = 1.0 / values[root]
    for end in range(n, 0, -1):
        for start in range(end):
            span = span_of(start, end)
            cell = span * stride
            if cells.scale[span] == -np.inf:
                continue
            _drop(grammar, cells, span, least, True)
            for s in range(members(present, span, some)):
                top = some[s]
                for j in range(rules.of_top_at[top], rules.of_top_at[top + 1]):
                    rule = rules.of_top[j]
                    bottom = rules.unary[rule, 1]
                    if not is_in(present, span, bottom):
                        continue
                    probability = 0.0
                    for k in range(grammar.block_at[n_binary + rule], grammar.block_at[n_binary + rule + 1]):
                        b = cell + at[bottom] + grammar.left[k]
                        if values[b] > 0.0:
                            d = dot(above, cell + at[top] + grammar.block[k], grammar.weight, k * LANES)
                            above[b] += d
                            probability += d * values[b]
                    if listing:
                        count = _anchor(anchored, count, n_binary + rule, start, 0, end, probability)
            _drop(grammar, cells, span, least, False)
            if end - start == 1:
                for s in range(members(present, span, some) if listing else 0):
                    if not rules.is_top[some[s]]:
                        probability = 0.0
                        for k in range(cell + at[some[s]], cell + at[some[s] + 1], LANES):
                            probability += dot(above, k, values, k)
                        count = _anchor(anchored, count, n_rules + some[s], start, 0, end, probability)
                continue
            whole = cells.scale[span]
            pairs = products(grammar, cells, start, end, None, present)
            ratio = math.exp(cells.scale[span] - whole)
            cells.scale[span] = whole
            count = _hand_down_all(grammar, cells, pairs, start, end, ratio, anchored, count)
    return count


@lean
def _drop(grammar: Blocks, cells: Cells, span: int, least: float, tops: bool) -> None:
    """Remove improbable symbols from a span, of those that start unary chains or of the others.

    Substates that the mask or the beam has dropped pass nothing down either, although their parts may be in the chart.
    """
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    values, above = cells.values, cells.above
    for k in range(members(cells.present, span, cells.some)):
        symbol, probability = cells.some[k], 0.0
        if grammar.rules.is_top[symbol] != tops:
            continue
        for j in range(cell + grammar.at[symbol], cell + grammar.at[symbol + 1]):
            if values[j] == 0.0:
                above[j] = 0.0
            probability += values[j] * above[j]
        if probability < least:
            cells.present[span, symbol >> 6] &= ~bit(symbol)


@lean
def _hand_down(
    grammar: Blocks, cells: Cells, pair: int, start: int, end: int, ratio: float, anchored: Anchored, count: int
) -> int:
    """Pass values down from all parents of a pair in a span: one number for each (b, c), and from there to all splits.

    Records the anchored rules, unless the list is empty; returns their number.
    """
    rules, values, above = grammar.rules, cells.values, cells.above
    product, down, all_down = cells.product, cells.down, cells.all_down
    at, stride = grammar.at, grammar.at[grammar.at.shape[0] - 1]
    cell, x = span_of(start, end) * stride, cells.product_at[pair]
    left, right = rules.binary[rules.rule_at[pair], 1], rules.right[pair]
    width = at[right + 1] - at[right]
    for k in range(0, grammar.substates[left] * width, LANES):
        set_block(all_down, k, 0.0)
    together = 0.0
    for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
        parent = rules.binary[rule, 0]
        if not is_in(cells.present, span_of(start, end), parent):
            continue
        first, last = grammar.block_at[rule], grammar.block_at[rule + 1]
        probability = 0.0
        for k in range(first, last):
            d = ratio * dot(above, cell + at[parent] + grammar.block[k], grammar.weight, k * LANES)
            bc = grammar.left[k] * width + grammar.right[k]
            down[k - first] = d
            all_down[bc] += d
            probability += d * product[x + bc]
        together += probability
        if anchored.probability.shape[0] == 0 or probability < LEAST:
            continue
        for split in range(start + 1, end):
            left_span, right_span = span_of(start, split), span_of(split, end)
            if is_in(cells.present, left_span, left) and is_in(cells.present, right_span, right):
                at_left, at_right = left_span * stride + at[left], right_span * stride + at[right]
                probability = 0.0
                for k in range(first, last):
                    one, two = values[at_left + grammar.left[k]], values[at_right + grammar.right[k]]
                    probability += down[k - first] * one * two
                probability *= cells.factor[split]
                count = _anchor(anchored, count, rule, start, split, end, probability)
    if together == 0.0:
        return count
    for split in range(start + 1, end):
        left_span, right_span = span_of(start, split), span_of(split, end)
        if is_in(cells.present, left_span, left) and is_in(cells.present, right_span, right):
            at_left, at_right = left_span * stride + at[left], right_span * stride + at[right]
            for b in range(grammar.substates[left]):
                by = values[at_left + b] * cells.factor[split]
                if by > 0.0:
                    beside = 0.0
                    for k in range(0, width, LANES):
                        beside += dot(all_down, b * width + k, values, at_right + k)
                        add_scaled(above, at_right + k, all_down, b * width + k, by)
                    above[at_left + b] += beside * cells.factor[split]
    return count


@lean
def _hand_down_all(
    grammar: Blocks, cells: Cells, pairs: int, start: int, end: int, ratio: float, anchored: Anchored, count: int
) -> int:
    """Pass values down from all parents of all pairs that have an X, and clear these."""
    for p in range(pairs):
        pair = cells.pairs[p]
        count = _hand_down(grammar, cells, pair, start, end, ratio, anchored, count)
        cells.product_at[pair] = -1
    return count


@in_bulk(_hand_down_all)
def _(
    loops: Any,
    grammar: Blocks,
    cells: Cells,
    pairs: int,
    start: int,
    end: int,
    ratio: float,
    anchored: Anchored,
    count: int,
) -> int:
    rules, at, values, lanes = grammar.rules, grammar.at, cells.values, np.arange(LANES)
    span, stride, pair = span_of(start, end), at[-1], cells.pairs[:pairs]
    left, right = (rules.binary[rules.rule_at[pair], k].astype(np.int64) for k in (1, 2))
    width, x = at[right + 1] - at[right], cells.product_at[pair]
    # from the parents to each (b, c)
    rule, of = rules_of_pairs(rules, pair)
    here = are_in(cells.present, span, rules.parent[rule])
    rule, of = rule[here], of[here]
    first, last = grammar.block_at[rule], grammar.block_at[rule + 1]
    k, by_rule = ranges(first, last)
    parents = (span * stride + at[rules.parent[rule]])[by_rule] + grammar.block[k]
    down = ratio * dots(cells.above[parents[:, None] + lanes], grammar.weight.reshape(-1, LANES)[k])
    bc = x[of][by_rule] + grammar.left[k] * width[of][by_rule] + grammar.right[k]
    all_down, probability = np.zeros(int((x + grammar.substates[left] * width).max(initial=0))), np.zeros(len(rule))
    np.add.at(all_down, bc, down)
    np.add.at(probability, by_rule, down * cells.product[bc])
    # where the parts are: pairs × splits
    splits = np.arange(start + 1, end)
    left_spans, right_spans = span_of(start, splits), span_of(splits, end)
    apart = (are_in(cells.present, left_spans, left) & are_in(cells.present, right_spans, right)).T
    at_left, at_right = left_spans * stride + at[left][:, None], right_spans * stride + at[right][:, None]
    factor = cells.factor[splits]
    # anchored rules
    if anchored.probability.shape[0] > 0:
        r, s = np.nonzero(apart[of] & (probability >= LEAST)[:, None])
        k, one = ranges(first[r], last[r])
        begins = np.cumsum(last - first) - (last - first)  # the values of each rule in ``down``
        p, found = of[r][one], np.zeros(len(r))
        two = values[at_right[p, s[one]] + grammar.right[k]]
        passed = down[begins[r][one] + k - first[r][one]] * values[at_left[p, s[one]] + grammar.left[k]] * two
        np.add.at(found, one, passed)
        found *= factor[s]
        probable = np.flatnonzero(found >= LEAST)
        kept = probable[: max(anchored.probability.shape[0] - count, 0)]
        anchored.what[count : count + len(kept)] = np.stack(
            [rule[r[kept]], np.full(len(kept), start), splits[s[kept]], np.full(len(kept), end)], axis=1
        )
        anchored.probability[count : count + len(kept)] = found[kept]
        count += len(probable)
    # from each (b, c) to the parts, for all splits
    together = np.zeros(pairs)
    np.add.at(together, of, probability)
    p, s = np.nonzero(apart & (together != 0.0)[:, None])
    b, one = ranges(np.zeros(len(p), np.int64), grammar.substates[left[p]])
    by = values[at_left[p, s][one] + b] * factor[s][one]
    b, one, by = (each[by > 0.0] for each in (b, one, by))
    p, s = p[one], s[one]
    block, row = ranges(np.zeros(len(p), np.int64), width[p] // LANES)
    beside, to_right = np.zeros(len(p)), at_right[p, s][row] + block * LANES
    passed = all_down[((x[p] + b * width[p])[row] + block * LANES)[:, None] + lanes]
    np.add.at(beside, row, dots(passed, values[to_right[:, None] + lanes]))
    add_rows(np.add, cells.above, to_right, passed * by[row][:, None])
    np.add.at(cells.above, at_left[p, s] + b, beside * factor[s])
    cells.product_at[pair] = -1
    return count


@compiled
def posteriors(grammar: Blocks, n: int, cells: Cells) -> tuple[Anchored, int]:
    """Return the anchored rules of a chart of sums that has a tree, and their number."""
    anchored = new_anchored(200 * n)
    count = outside_of(grammar, n, cells, anchored, LEAST)
    if count > anchored.probability.shape[0]:
        anchored = new_anchored(count)
        count = outside_of(grammar, n, cells, anchored, LEAST)
    return anchored, count
