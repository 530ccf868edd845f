"""Viterbi charts of dense grammars, in which most pairs of children have many rules.

In such a grammar nearly every symbol occurs over every span, so skipping missing constituents saves nothing. But most
rules do not improve any value: the rules of a pair are skipped if the best of them cannot raise even the lowest value
of all parents. Skipped rules change no value, so the chart is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, Row, padded
from treewright.constituency.charts.semirings import NEVER, POSSIBLE, by_semiring
from treewright.search.bits import bit
from treewright.search.compiling import compiled, lean
from treewright.search.lanes import LANES, any_above, raise_to_shifted, raise_to_sum, set_block

__all__ = ["Dense", "fill_dense_row", "new_dense"]

Floats = npt.NDArray[Any]

TURNS = 4  # in which the rules of a dense grammar are applied
NEAR_THE_TOP = 0.25  # in logarithms: pairs whose best value is this near to the highest one come first


class Dense(NamedTuple):
    """The tables of the pairs of a dense grammar; empty for long sentences."""

    best_rule: Floats  # the score of the best rule of each pair
    blocks: Floats  # for all pairs of one width: the best over the splits, block of starts after block
    done: npt.NDArray[np.bool_]  # whether the rules of the pair have been applied to the block
    lowest: Floats  # the lowest value of any parent so far, for each start
    highest: Floats  # the highest value that any pair can lead to
    floor: Floats  # pairs that stay below are skipped


@compiled
def _new_dense(chart: Chart, dense: bool | None) -> Dense | None:
    """The memory for a sentence; sentences of more than 63 words, whose sets are taken modulo 64, do not use it."""
    if dense is None:
        return None
    rules, n = chart.rules, chart.n
    pairs = rules.right.shape[0]
    kept = pairs if n < 64 else 0
    tables = Dense(
        np.full(kept, NEVER),
        np.empty(kept * padded(n) + LANES, chart.space.values.dtype),
        np.zeros(kept * padded(n) // LANES, np.bool_),
        np.full_like(chart.space.block, NEVER),
        np.full_like(chart.space.block, NEVER),
        np.full_like(chart.space.block, NEVER),
    )
    for pair in range(kept):
        for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
            tables.best_rule[pair] = max(tables.best_rule[pair], chart.binary[rule])
    return tables


new_dense = by_semiring(
    viterbi=lambda semiring, chart: _new_dense(chart, chart.rules.dense),
    inside=lambda semiring, chart: None,
)
"""The tables of pairs; None if the grammar is not dense, and for sums, in which every rule counts."""


@lean
def fill_dense_row(chart: Chart, row: Row, dense: Dense) -> None:
    """All binary rules for the spans of one width, a block of starts at a time.

    To find a good lower bound early, the rules of pairs are applied in several turns, beginning with the pairs that
    lead to the highest values. Each turn lowers the threshold, and the last one uses the lowest value.
    """
    rules, space = chart.rules, chart.space
    _over_splits(chart, row, dense)
    for symbol in range(rules.is_top.shape[0]):
        if rules.of_parent_at[symbol + 1] > rules.of_parent_at[symbol]:
            for k in range(row.blocks):
                set_block(space.values, symbol * chart.cells + row.at + k * LANES, NEVER)
    for i in range(row.spans, row.blocks * LANES):
        dense.floor[i] = -NEVER  # padding is above everything
    for turn in range(TURNS):
        _lowest_values(chart, row, dense.lowest)
        for i in range(row.spans):
            gap = np.float64(dense.highest[i]) - dense.lowest[i]
            dense.floor[i] = dense.highest[i] - (gap * turn / (TURNS - 1) if turn > 0 else min(gap, NEAR_THE_TOP))
        applied = 0
        for pair in range(rules.right.shape[0]):
            for k in range(row.blocks):
                at = (pair * row.blocks + k) * LANES
                if dense.done[pair * row.blocks + k] or not any_above(
                    dense.blocks, at, dense.best_rule[pair], dense.floor, k * LANES
                ):
                    continue
                for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                    parent = rules.parent[rule] * chart.cells + row.at + k * LANES
                    raise_to_shifted(space.values, parent, dense.blocks, at, chart.binary[rule])
                dense.done[pair * row.blocks + k] = True
                applied += 1
                if turn == TURNS - 1 and applied & 63 == 0:
                    _lowest_values(chart, row, dense.floor)
    for symbol in range(rules.is_top.shape[0]):
        if rules.of_parent_at[symbol + 1] > rules.of_parent_at[symbol]:
            _note_starts(chart, row, symbol)


@lean
def _over_splits(chart: Chart, row: Row, dense: Dense) -> None:
    """For every pair the best over the splits, and the highest value that any of them can lead to."""
    rules, space, blocks = chart.rules, chart.space, row.blocks
    for k in range(blocks):
        set_block(dense.highest, k * LANES, NEVER)
    for g in range(rules.left.shape[0]):
        left = rules.left[g]
        first, last = rules.left_at[g], rules.left_at[g + 1]
        for j in range(first * blocks, last * blocks):
            set_block(dense.blocks, j * LANES, NEVER)
            dense.done[j] = False
        for split in range(1, row.width):
            if space.widths[left] & bit(split) == np.uint64(0):
                continue
            at_left = left * chart.cells + chart.offsets[split]
            in_right = chart.offsets[row.width - split] + split
            for pair in range(first, last):
                right = rules.right[pair]
                if space.widths[right] & bit(row.width - split) != np.uint64(0):
                    at, at_right = pair * blocks * LANES, right * chart.cells + in_right
                    for j in range(0, blocks * LANES, LANES):
                        raise_to_sum(dense.blocks, at + j, space.values, at_left + j, space.values, at_right + j)
        for pair in range(first, last):
            for k in range(blocks):
                at = (pair * blocks + k) * LANES
                raise_to_shifted(dense.highest, k * LANES, dense.blocks, at, dense.best_rule[pair])


@lean
def _note_starts(chart: Chart, row: Row, symbol: int) -> None:
    """The set of starts of a symbol, from its values."""
    space, at = chart.space, symbol * chart.cells + row.at
    found = np.uint64(0)
    for i in range(row.spans):
        if space.values[at + i] > POSSIBLE:
            found |= bit(i)
    if found != np.uint64(0):
        space.starts[symbol, row.width] = found
        space.widths[symbol] |= bit(row.width)
        space.minus_widths[symbol] |= bit(-row.width)


@lean
def _lowest_values(chart: Chart, row: Row, floor: Any) -> None:
    """The lowest value that any symbol with binary rules has so far, for each start."""
    rules = chart.rules
    for i in range(row.spans):
        floor[i] = -NEVER
    for symbol in range(rules.is_top.shape[0]):
        if rules.of_parent_at[symbol + 1] > rules.of_parent_at[symbol]:
            at = symbol * chart.cells + row.at
            for i in range(row.spans):
                floor[i] = min(floor[i], chart.space.values[at + i])
