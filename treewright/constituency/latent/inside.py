"""Inside values over the substates of a latent-variable grammar: charts that build only what a mask allows.

In a span from i to j, over all splits k,

    X(b, c) = ⊕ over k of     V(B, b, i, k) ⊗ V(C, c, k, j)               for each pair of base symbols B, C
    V(A, a, i, j) = ⊕ over B, C, b, c of  r(A, a → B, b  C, c) ⊗ X(b, c)   and unary rules above, once

in plain, scaled numbers: ⊕ is max (Viterbi) or + (inside), ⊗ is ×. Bit sets record which pairs of symbols are present.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewright.constituency.charts.bulk import rules_of_pairs
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent.blocks import Blocks, Cells, are_in, is_in, meet, members
from treewright.search.bits import bit, lowest
from treewright.search.bulk import add_rows, ranges
from treewright.search.compiling import in_bulk, inlined, lean
from treewright.search.lanes import LANES, add_scaled, set_block

__all__ = ["inside", "products"]


@inlined
def _plus(viterbi: Any, out: Any, o: int, values: Any, i: int, by: float) -> None:
    """Compute out ← out ⊕ values · a number, for a block of each: the only code where sums and maxima differ."""
    if viterbi is None:
        add_scaled(out, o, values, i, by)
    else:
        for k in range(LANES):
            out[o + k] = max(out[o + k], values[i + k] * by)


@lean
def inside(grammar: Blocks, words: Any, cells: Cells, beam: float, viterbi: Any) -> bool:
    """Fill the chart of a sentence, whose words are given as rows of the lexicon; returns whether there is a tree.

    Values are inside probabilities if ``viterbi`` is None, otherwise those of the best derivations; the largest of each
    span is 1. With ``beam`` above 0, substates below this fraction of the largest are dropped.
    """
    n = words.shape[0]
    values, present, allowed = cells.values, cells.present, cells.allowed
    stride = grammar.at[grammar.at.shape[0] - 1]
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            span = span_of(start, end)
            cell = span * stride
            cells.scale[span] = -np.inf
            for w in range(present.shape[1]):
                present[span, w] = np.uint64(0)
            if not meet(allowed, span, allowed, span):
                continue
            if end - start == 1:
                row = words[start]
                for entry in range(grammar.word_at[row], grammar.word_at[row + 1]):
                    if is_in(allowed, span, grammar.tag[entry]):
                        _claim(grammar, cells, span, grammar.tag[entry])
                        values[cell + grammar.tag_place[entry]] = grammar.tag_weight[entry]
                cells.scale[span] = grammar.word_scale[row]
            else:
                pairs = products(grammar, cells, start, end, viterbi, allowed)
                _apply_binary(grammar, cells, span, pairs, viterbi)
            _settle(grammar, cells, span, beam, False)
            _apply_unary(grammar, cells, span, viterbi)
            _settle(grammar, cells, span, beam, True)
            _rescale(grammar, cells, span)
    return is_in(present, span_of(0, n), grammar.rules.root)


@inlined
def _claim(grammar: Blocks, cells: Cells, span: int, symbol: int) -> None:
    """Clear the substates of a symbol before the first write to them."""
    if not is_in(cells.present, span, symbol):
        cells.present[span, symbol >> 6] |= bit(symbol)
        cell = span * grammar.at[grammar.at.shape[0] - 1]
        for k in range(cell + grammar.at[symbol], cell + grammar.at[symbol + 1], LANES):
            set_block(cells.values, k, 0.0)


@lean
def products(grammar: Blocks, cells: Cells, start: int, end: int, viterbi: Any, parents: Any) -> int:
    """Compute X of all pairs that lead to a parent of the span, and set its scale; returns the number of pairs."""
    span, stride = span_of(start, end), grammar.at[grammar.at.shape[0] - 1]
    present, scale = cells.present, cells.scale
    values, product = cells.values, cells.product
    largest = -np.inf
    for split in range(start + 1, end):
        largest = max(largest, scale[span_of(start, split)] + scale[span_of(split, end)])
    count, filled = 0, 0
    for split in range(start + 1, end):
        left_span, right_span = span_of(start, split), span_of(split, end)
        both = scale[left_span] + scale[right_span]
        cells.factor[split] = math.exp(both - largest) if both > -np.inf else 0.0
        if cells.factor[split] == 0.0:
            continue
        for v in range(present.shape[1]):
            lefts = present[left_span, v]
            while lefts != np.uint64(0):
                left = 64 * v + lowest(lefts)
                lefts &= lefts - np.uint64(1)
                for w in range(present.shape[1]):
                    rights = grammar.partners[left, w] & present[right_span, w]
                    while rights != np.uint64(0):
                        right = 64 * w + lowest(rights)
                        rights &= rights - np.uint64(1)
                        pair = grammar.pair[left, right]
                        if not meet(grammar.parents, pair, parents, span):
                            continue
                        width = grammar.at[right + 1] - grammar.at[right]
                        if cells.product_at[pair] < 0:
                            cells.product_at[pair] = filled
                            cells.pairs[count] = pair
                            count += 1
                            for k in range(filled, filled + grammar.substates[left] * width, LANES):
                                set_block(product, k, 0.0)
                            filled += grammar.substates[left] * width
                        at = cells.product_at[pair]
                        at_left = left_span * stride + grammar.at[left]
                        at_right = right_span * stride + grammar.at[right]
                        for b in range(grammar.substates[left]):
                            by = values[at_left + b] * cells.factor[split]
                            if by > 0.0:
                                for k in range(0, width, LANES):
                                    _plus(viterbi, product, at + b * width + k, values, at_right + k, by)
    scale[span] = largest
    return count


@in_bulk(products)
def _(loops: Any, grammar: Blocks, cells: Cells, start: int, end: int, viterbi: Any, parents: Any) -> int:
    span, stride, splits = span_of(start, end), grammar.at[-1], np.arange(start + 1, end)
    left_spans: Any = span_of(start, splits)
    right_spans: Any = span_of(splits, end)
    both = (cells.scale[left_spans] + cells.scale[right_spans]).tolist()
    largest = max(both)
    cells.factor[start + 1 : end] = [math.exp(one - largest) if one > -np.inf else 0.0 for one in both]
    cells.scale[span] = largest
    some = np.flatnonzero((grammar.parents & parents[span]).any(axis=1))
    lefts, rights = (grammar.rules.binary[grammar.rules.rule_at[some], k].astype(np.int64) for k in (1, 2))
    found = are_in(cells.present, left_spans, lefts) & are_in(cells.present, right_spans, rights)
    split, which = np.nonzero(found & (cells.factor[splits, None] > 0.0))
    left, right, pair = lefts[which], rights[which], some[which]
    width = grammar.at[right + 1] - grammar.at[right]
    sizes = grammar.substates[left] * width
    _, first = np.unique(pair, return_index=True)
    first.sort()  # pairs in the order in which they are found
    cells.pairs[: len(first)] = pair[first]
    cells.product_at[pair[first]] = np.cumsum(sizes[first]) - sizes[first]
    cells.product[: sizes[first].sum()] = 0.0
    entry, of = ranges(np.zeros(len(pair), np.int64), sizes)
    b, c = np.divmod(entry, width[of])
    at_left, at_right = left_spans[split] * stride + grammar.at[left], right_spans[split] * stride + grammar.at[right]
    by = cells.values[at_left[of] + b] * cells.factor[splits[split]][of]
    plus = np.add if viterbi is None else np.maximum
    plus.at(cells.product, cells.product_at[pair][of] + entry, cells.values[at_right[of] + c] * by)
    return len(first)


@lean
def _apply_binary(grammar: Blocks, cells: Cells, span: int, pairs: int, viterbi: Any) -> None:
    """Apply the binary rules of all pairs that have an X, and clear these."""
    rules, values = grammar.rules, cells.values
    at, cell = grammar.at, span * grammar.at[grammar.at.shape[0] - 1]
    for p in range(pairs):
        pair = cells.pairs[p]
        right = rules.right[pair]
        width = at[right + 1] - at[right]
        for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
            parent = rules.binary[rule, 0]
            if is_in(cells.allowed, span, parent):
                _claim(grammar, cells, span, parent)
                cells.work[0] += grammar.block_at[rule + 1] - grammar.block_at[rule]
                product, at_parent = cells.product_at[pair], cell + at[parent]
                _apply(grammar, rule, cells.product, product, width, values, at_parent, viterbi)
        cells.product_at[pair] = -1


@in_bulk(_apply_binary)
def _(loops: Any, grammar: Blocks, cells: Cells, span: int, pairs: int, viterbi: Any) -> None:
    rules, pair = grammar.rules, cells.pairs[:pairs]
    rule, of = rules_of_pairs(rules, pair)
    allowed = are_in(cells.allowed, span, rules.parent[rule])
    rule, of = rule[allowed], of[allowed]
    width = np.diff(grammar.at)[rules.right[pair]]
    cells.work[0] += (grammar.block_at[rule + 1] - grammar.block_at[rule]).sum()
    _apply_all(
        grammar, cells, span, rule, rules.parent[rule], cells.product, cells.product_at[pair][of], width[of], viterbi
    )
    cells.product_at[pair] = -1


@lean
def _apply_unary(grammar: Blocks, cells: Cells, span: int, viterbi: Any) -> None:
    """Apply the unary rules of a span, once."""
    rules, values, some = grammar.rules, cells.values, cells.some
    at, cell = grammar.at, span * grammar.at[grammar.at.shape[0] - 1]
    n_binary = rules.binary.shape[0]
    for k in range(members(cells.allowed, span, some)):
        top = some[k]
        for j in range(rules.of_top_at[top], rules.of_top_at[top + 1]):
            rule = rules.of_top[j]
            bottom = rules.unary[rule, 1]
            if is_in(cells.present, span, bottom):
                _claim(grammar, cells, span, top)
                _apply(grammar, n_binary + rule, values, cell + at[bottom], 1, values, cell + at[top], viterbi)


@in_bulk(_apply_unary)
def _(loops: Any, grammar: Blocks, cells: Cells, span: int, viterbi: Any) -> None:
    rules = grammar.rules
    top, bottom = rules.unary[rules.of_top].T
    here = are_in(cells.allowed, span, top) & are_in(cells.present, span, bottom)
    number, bottoms = len(rules.binary) + rules.of_top[here], span * grammar.at[-1] + grammar.at[bottom[here]]
    _apply_all(grammar, cells, span, number, top[here], cells.values, bottoms, np.ones(len(number), np.int64), viterbi)


def _apply_all(
    grammar: Blocks,
    cells: Cells,
    span: int,
    rule: Any,
    parent: Any,
    source: Any,
    first: Any,
    width: Any,
    viterbi: Any,
) -> None:
    """Apply rules in bulk: :func:`_claim` the substates of their parents, and :func:`_apply` each rule."""
    cell = span * grammar.at[-1]
    new = np.unique(parent)
    new = new[~are_in(cells.present, span, new)]
    cells.values[cell + ranges(grammar.at[new], grammar.at[new + 1])[0]] = 0.0
    np.bitwise_or.at(cells.present[span], new >> 6, bit(new.astype(np.uint64)))
    k, of = ranges(grammar.block_at[rule], grammar.block_at[rule + 1])
    x = source[first[of] + grammar.left[k] * width[of] + grammar.right[k]]
    places = cell + grammar.at[parent][of] + grammar.block[k]
    rows = grammar.weight.reshape(-1, LANES)[k] * x[:, None]
    add_rows(np.add if viterbi is None else np.maximum, cells.values, places, rows)


@inlined
def _apply(grammar: Blocks, rule: int, source: Any, first: int, width: int, out: Any, at: int, viterbi: Any) -> None:
    """Apply one rule: add (⊕) each block, times the value of the source for (b, c), to the parent's substates."""
    for k in range(grammar.block_at[rule], grammar.block_at[rule + 1]):
        x = source[first + grammar.left[k] * width + grammar.right[k]]
        _plus(viterbi, out, at + grammar.block[k], grammar.weight, k * LANES, x)


@lean
def _settle(grammar: Blocks, cells: Cells, span: int, beam: float, tops: bool) -> None:
    """Drop substates that the mask or the beam forbids, of symbols that start unary chains or of the others."""
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    values, present = cells.values, cells.present
    symbols = members(present, span, cells.some)
    largest = 0.0
    for turn in range(2 if beam > 0.0 else 1):
        for k in range(symbols):
            symbol = cells.some[k]
            if grammar.rules.is_top[symbol] != tops:
                continue
            mask, some, at = cells.mask[span, symbol], 0.0, cell + grammar.at[symbol]
            for a in range(grammar.substates[symbol]):
                if (mask & bit(a)) == np.uint64(0) or values[at + a] < beam * largest:
                    values[at + a] = 0.0
                some = max(some, np.float64(values[at + a]))
            if turn == 0:
                largest = max(largest, some)
            if some == 0.0:
                present[span, symbol >> 6] &= ~bit(symbol)


@lean
def _rescale(grammar: Blocks, cells: Cells, span: int) -> None:
    """Divide the values of a span by the largest."""
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    symbols = members(cells.present, span, cells.some)
    largest = 0.0
    for k in range(symbols):
        for j in range(cell + grammar.at[cells.some[k]], cell + grammar.at[cells.some[k] + 1]):
            largest = max(largest, np.float64(cells.values[j]))
    if largest == 0.0:  # nothing spans these words
        cells.scale[span] = -np.inf
        return
    cells.scale[span] += math.log(largest)
    by = 1.0 / largest
    for k in range(symbols):
        for j in range(cell + grammar.at[cells.some[k]], cell + grammar.at[cells.some[k] + 1]):
            cells.values[j] *= by
