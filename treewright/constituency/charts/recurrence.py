"""Filling a chart: one recurrence over spans, in several semirings.

A span of width w that starts at i has a value for each symbol A; with ⊕ and ⊗ of the semiring,

    bottom: V(A, i, w) = ⊕ over rules A → B C and splits s of  r(A → B C) ⊗ V(B, i, s) ⊗ V(C, i+s, w−s)
    top:    V(A, i, w) = ⊕ over rules A → B of                 r(A → B) ⊗ V(B, i, w)

and V(tag, i, 1) is the lexicon's score. Unary rules lead from a symbol that starts a chain to one that does not
(:mod:`treewright.constituency.grammar.pcfg`), so the second line is applied once, without iteration.
The Viterbi chart is ``insideScores`` of Neu & Szepesvári (2009): V is the optimal value of the state that has the one
constituent (A, i, i+w) (Proposition 2).

All spans of one width are computed together, pair (B, C) by pair: first ⊕ over the splits, then every rule A → B C.
For grammars in which most pairs have many rules there is a faster algorithm
(:mod:`treewright.constituency.charts.dense`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.constituency.charts.bulk import all_splits, places_of_parts, rules_of_pairs
from treewright.constituency.charts.chart import Chart, Row, Space, blocks_of, claim, row_of, row_offsets
from treewright.constituency.charts.dense import fill_dense_row, new_dense
from treewright.constituency.charts.scales import relate_scales, rescale, scale_word, stride
from treewright.constituency.charts.semirings import (
    add_parts,
    add_rule,
    beam_floor,
    in_bulk_by,
    is_scaled,
    plus,
    rewarded,
    word_value,
)
from treewright.constituency.grammar.rules import Lexical, Weighted
from treewright.search.bits import bit, lowest, turned_left, turned_right
from treewright.search.bulk import add_rows
from treewright.search.compiling import compiled, in_bulk, inlined, lean
from treewright.search.lanes import LANES, set_block

__all__ = ["fill"]


@compiled
def fill(semiring: Any, grammar: Weighted, words: Any, anchored: Any, beam: float, space: Space) -> Chart:
    """The chart of a sentence, whose words are given as rows of the lexicon.

    The weights of the grammar are logarithms for Viterbi and plain factors for sums. ``anchored``, unless empty, is
    a reward for every constituent: a logarithm, in the layout of the chart. With ``beam`` below infinity, constituents
    whose score is more than ``beam`` below the best of their span are dropped. Neither applies
    if ``anchored`` is None.
    """
    n = words.shape[0]
    offsets = row_offsets(n)
    chart = Chart(grammar.rules, grammar.binary, grammar.unary, space, offsets, offsets[n + 1], n)
    _fill(semiring, chart, grammar.lexical, words, anchored, beam, new_dense(semiring, chart))
    return chart


@lean
def _fill(semiring: Any, chart: Chart, lexical: Lexical, words: Any, anchored: Any, beam: float, dense: Any) -> None:
    """The recurrence. ``dense`` has the tables of a dense grammar; None for other grammars, and for sums."""
    _clear(chart)
    for start in range(chart.n):
        _add_word(semiring, chart, lexical, words[start], start)
    for width in range(1, chart.n + 1):
        row = row_of(chart, width)
        if width > 1:
            relate_scales(semiring, chart, row)
            if dense is not None and dense.best_rule.shape[0] > 0:
                fill_dense_row(chart, row, dense)
            else:
                _apply_binary(semiring, chart, row)
        if anchored is not None:
            _settle(semiring, chart, row, False, anchored, beam)
        _apply_unary(semiring, chart, row)
        if anchored is not None:
            _settle(semiring, chart, row, True, anchored, beam)
        rescale(semiring, chart, row)


@lean
def _apply_binary(semiring: Any, chart: Chart, row: Row) -> None:
    """The first line of the recurrence, for all spans of a width."""
    rules, space = chart.rules, chart.space
    for g in range(rules.left.shape[0]):
        left = rules.left[g]
        if space.widths[left] == np.uint64(0):
            continue
        for pair in range(rules.left_at[g], rules.left_at[g + 1]):
            found = over_splits(semiring, chart, left, rules.right[pair], row)
            if found != np.uint64(0):
                for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                    _add(semiring, chart, rules.parent[rule], row, found, space.block, 0, chart.binary[rule])


@in_bulk(_apply_binary)
def _(loops: Any, semiring: Any, chart: Chart, row: Row) -> None:
    if chart.n >= 64:
        loops(semiring, chart, row)
        return
    rules, space, starts = chart.rules, chart.space, np.arange(row.spans)
    plus, times = in_bulk_by(semiring)
    pair, split, both = all_splits(chart, row)
    if len(pair) == 0:
        return
    products = times(*(space.values[at] for at in places_of_parts(chart, row, pair, split, starts)))
    if is_scaled(semiring):
        products *= space.factor[split[:, None] * stride(chart) + starts]
    some, first, at = np.unique(pair, return_index=True, return_inverse=True)
    block = np.full((len(some), row.spans), semiring.zero)
    add_rows(plus, block.ravel(), at * row.spans, products)
    rule, of = rules_of_pairs(rules, some)
    parents = rules.parent[rule].astype(np.int64)
    new = np.unique(parents)
    space.values[(new * chart.cells + row.at)[:, None] + np.arange(row.blocks * LANES)] = semiring.zero
    space.widths[new] |= bit(row.width)
    space.minus_widths[new] |= bit(-row.width)
    np.bitwise_or.at(space.starts, (parents, row.width), np.bitwise_or.reduceat(both, first)[of])
    weights = chart.binary[rule].astype(space.values.dtype)
    add_rows(plus, space.values, parents * chart.cells + row.at, times(block[of], weights[:, None]))


@lean
def _apply_unary(semiring: Any, chart: Chart, row: Row) -> None:
    """The second line of the recurrence, for all spans of a width."""
    rules, space = chart.rules, chart.space
    for rule in range(rules.unary.shape[0]):
        top, bottom = rules.unary[rule, 0], rules.unary[rule, 1]
        found = space.starts[bottom, row.width]
        if found != np.uint64(0):
            below = bottom * chart.cells + row.at
            _add(semiring, chart, top, row, found, space.values, below, chart.unary[rule])


@inlined
def _add(semiring: Any, chart: Chart, parent: int, row: Row, found: Any, values: Any, at: int, weight: float) -> None:
    """V(parent) ← V(parent) ⊕ values ⊗ weight, for the given starts; the values begin at ``at``."""
    claim(chart, parent, row, semiring.zero)
    chart.space.starts[parent, row.width] |= found
    first, last = blocks_of(chart, row, found)
    for k in range(first, last):
        here = parent * chart.cells + row.at + k * LANES
        add_rule(semiring, chart.space.values, here, values, at + k * LANES, weight)


@inlined
def over_splits(semiring: Any, chart: Chart, left: int, right: int, row: Row) -> Any:
    """⊕ over the splits of V(left) ⊗ V(right) for all starts, into ``space.block``; returns the set of starts."""
    space, offsets = chart.space, chart.offsets
    splits = space.widths[left] & turned_left(space.minus_widths[right], row.width)
    found = np.uint64(0)
    while splits != np.uint64(0):
        residue = lowest(splits)
        splits &= splits - np.uint64(1)
        split = residue if residue > 0 else 64
        while split < row.width:  # one turn, unless the sentence is long
            both = space.starts[left, split] & turned_right(space.starts[right, row.width - split], split)
            if both != np.uint64(0):
                if found == np.uint64(0):
                    for k in range(row.blocks):
                        set_block(space.block, k * LANES, semiring.zero)
                found |= both
                first, last = blocks_of(chart, row, both)
                at_left = left * chart.cells + offsets[split]
                at_right = right * chart.cells + offsets[row.width - split] + split
                factor = split * stride(chart)
                for j in range(first * LANES, last * LANES, LANES):
                    # fmt: off
                    add_parts(semiring, space.block, j, space.values, at_left + j, at_right + j,
                              space.factor, factor + j)
                    # fmt: on
            split += 64
    return found


@lean
def _clear(chart: Chart) -> None:
    """Empty the chart."""
    space = chart.space
    for symbol in range(space.widths.shape[0]):
        space.widths[symbol] = np.uint64(0)
        space.minus_widths[symbol] = np.uint64(0)
        for width in range(chart.n + 1):
            space.starts[symbol, width] = np.uint64(0)


@lean
def _add_word(semiring: Any, chart: Chart, lexical: Lexical, word: int, start: int) -> None:
    """V(tag, i, 1). Several tags of a fine grammar may be one of a coarse grammar: their values are added by ⊕."""
    space, row = chart.space, row_of(chart, 1)
    highest = -np.inf
    for entry in range(lexical.at[word], lexical.at[word + 1]):
        highest = max(highest, np.float64(lexical.score[entry]))
    for entry in range(lexical.at[word], lexical.at[word + 1]):
        tag = lexical.symbol[entry]
        claim(chart, tag, row, semiring.zero)
        here = tag * chart.cells + start
        own = word_value(semiring, np.float64(lexical.score[entry]), highest)
        space.values[here] = plus(semiring, space.values[here], own)
        space.starts[tag, 1] |= bit(start)
    scale_word(semiring, chart, start, highest)


@lean
def _settle(semiring: Any, chart: Chart, row: Row, tops: bool, anchored: Any, beam: float) -> None:
    """Apply anchored rewards and the beam to complete values, of symbols that start unary chains or of the others."""
    if anchored.shape[0] == 0 and beam == np.inf:
        return
    starts, best = chart.space.starts, chart.space.block[: row.spans]
    best[:] = semiring.zero
    for symbol in range(starts.shape[0]):
        if starts[symbol, row.width] != np.uint64(0) and chart.rules.is_top[symbol] == tops:
            at = symbol * chart.cells + row.at
            values = chart.space.values[at : at + row.spans]  # slices, so that the compiler sees no negative indices
            if anchored.shape[0] > 0:
                rewards = anchored[at : at + row.spans]
                for i in range(row.spans):
                    values[i] = rewarded(semiring, values[i], rewards[i])
            if beam < np.inf:  # otherwise the best does not matter
                for i in range(row.spans):
                    best[i] = max(best[i], values[i])
    for symbol in range(starts.shape[0]):
        if starts[symbol, row.width] != np.uint64(0) and chart.rules.is_top[symbol] == tops:
            at = symbol * chart.cells + row.at
            values, found = chart.space.values[at : at + row.spans], np.uint64(0)
            for i in range(row.spans):
                if values[i] < beam_floor(semiring, best[i], beam) or values[i] == semiring.zero:
                    values[i] = semiring.zero
                else:
                    found |= bit(i)
            starts[symbol, row.width] = found
