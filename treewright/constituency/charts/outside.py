"""Outside values of a chart of sums, computed from wide spans to narrow ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.bulk import all_splits, blocks_between, places_of_parts, rules_of_pairs
from treewright.constituency.charts.chart import Chart, Row, blocks_of, padded, row_of
from treewright.constituency.charts.recurrence import over_splits
from treewright.constituency.charts.scales import relate_to_whole, stride
from treewright.constituency.charts.semirings import INSIDE
from treewright.search.bits import bit, lowest, turned_left, turned_right
from treewright.search.bulk import add_rows
from treewright.search.compiling import compiled, in_bulk, lean
from treewright.search.lanes import LANES, add_product, add_scaled, dot, set_block

__all__ = ["outside"]


class _Below(NamedTuple):
    """The values that are passed down from the spans of one width to their parts."""

    above: Any  # outside values, in the layout of the chart
    passed: Any  # the same times the constituents' own rewards: what their parts get; without rewards the same array
    weighted: npt.NDArray[np.float64]  # for one pair: the sum over its rules, in one row
    wanted: npt.NDArray[np.uint64]  # for each symbol the starts of the constituents that may be in a tree
    least: float  # constituents that are not more probable than this pass nothing down


@compiled
def outside(chart: Chart, above: Any, counts: Any, least: float = 0.0, rewards: Any = None) -> float:
    """The outside values of a chart of sums, into ``above``, and the expected number of each rule, added to ``counts``.

    Values are scaled so that inside × outside is the probability that the constituent is in the tree, given the words.
    ``counts`` has the binary rules first and then the unary ones; it is None if they are not needed. ``rewards`` are
    the anchored rewards with which the chart was filled; None or empty if there were none. Returns log Z; −∞ if there
    is no tree. Constituents that were dropped from the chart, by a beam or by a reward of ``NEVER``, are in no tree.
    Constituents that are not more probable than ``least`` pass nothing down.
    """
    wanted, weighted = np.zeros(chart.space.widths.shape[0], np.uint64), np.zeros(chart.space.block.shape[0])
    passed = above
    if rewards is not None and rewards.shape[0] > 0:
        passed = np.zeros(above.shape[0])
    return _outside(chart, _Below(above, passed, weighted, wanted, least), counts, rewards)


@lean
def _outside(chart: Chart, down: _Below, counts: Any, rewards: Any) -> float:
    """Row by row from wide spans to narrow ones, in whole blocks; padding has values and factors of 0."""
    space, above = chart.space, down.above
    root = chart.rules.root * chart.cells + chart.offsets[chart.n]
    if space.starts[chart.rules.root, chart.n] == np.uint64(0) or space.values[root] <= 0.0:
        return -np.inf
    for symbol in range(space.widths.shape[0]):
        for width in range(1, chart.n + 1):
            if space.starts[symbol, width] != np.uint64(0):
                at = symbol * chart.cells + chart.offsets[width]
                for k in range(padded(chart.n - width + 1) // LANES):
                    set_block(above, at + k * LANES, 0.0)
    above[root] = 1.0 / space.values[root]
    for width in range(chart.n, 0, -1):
        row = row_of(chart, width)
        _note_wanted(chart, row, True, down, rewards)
        _down_unary(chart, row, down, counts)
        if width > 1:
            _note_wanted(chart, row, False, down, rewards)
            relate_to_whole(chart, row)
            _down_binary(chart, row, down, counts)
    return math.log(space.values[root]) + space.scale[chart.n * stride(chart)]


@lean
def _down_unary(chart: Chart, row: Row, down: _Below, counts: Any) -> None:
    """From the tops of unary rules to their bottoms."""
    # by attributes, and never more than three at a time: see treewright.search.lanes
    rules, space = chart.rules, chart.space
    above, passed = down.above, down.passed
    for rule in range(rules.unary.shape[0]):
        top, bottom = rules.unary[rule, 0], rules.unary[rule, 1]
        found = down.wanted[top] & space.starts[bottom, row.width]
        if found == np.uint64(0):
            continue
        first, last = blocks_of(chart, row, found)
        for j in range(first * LANES, last * LANES, LANES):
            here, below = top * chart.cells + row.at + j, bottom * chart.cells + row.at + j
            add_scaled(above, below, passed, here, chart.unary[rule])
            if counts is not None:
                product = dot(passed, here, space.values, below)
                counts[rules.binary.shape[0] + rule] += chart.unary[rule] * product


@lean
def _down_binary(chart: Chart, row: Row, down: _Below, counts: Any) -> None:
    """From the parents of binary rules to their children: first the sum over the rules of a pair, then all splits."""
    rules, space = chart.rules, chart.space
    above, passed, weighted = down.above, down.passed, down.weighted
    values, starts = space.values, space.starts
    for g in range(rules.left.shape[0]):
        left = rules.left[g]
        if space.widths[left] == np.uint64(0):
            continue
        for pair in range(rules.left_at[g], rules.left_at[g + 1]):
            right = rules.right[pair]
            splits = space.widths[left] & turned_left(space.minus_widths[right], row.width)
            if splits == np.uint64(0):
                continue
            some = np.uint64(0)
            for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                some |= down.wanted[rules.parent[rule]]
            if some == np.uint64(0):
                continue
            if counts is not None:
                some &= over_splits(INSIDE, chart, left, right, row)
                if some == np.uint64(0):
                    continue
            first, last = blocks_of(chart, row, some)
            for k in range(first, last):
                set_block(weighted, k * LANES, 0.0)
            for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                if down.wanted[rules.parent[rule]] & some == np.uint64(0):
                    continue
                at = rules.parent[rule] * chart.cells + row.at
                for j in range(first * LANES, last * LANES, LANES):
                    add_scaled(weighted, j, passed, at + j, chart.binary[rule])
                    if counts is not None:
                        counts[rule] += chart.binary[rule] * dot(passed, at + j, space.block, j)
            while splits != np.uint64(0):
                residue = lowest(splits)
                splits &= splits - np.uint64(1)
                for split in range(residue if residue > 0 else 64, row.width, 64):  # one turn, unless it is long
                    both = some & starts[left, split] & turned_right(starts[right, row.width - split], split)
                    if both != np.uint64(0):
                        at_left = left * chart.cells + chart.offsets[split]
                        at_right = right * chart.cells + chart.offsets[row.width - split] + split
                        factor = split * stride(chart)
                        first, last = blocks_of(chart, row, both)
                        for j in range(first * LANES, last * LANES, LANES):
                            # fmt: off
                            add_product(above, at_left + j, weighted, j, values, at_right + j, space.factor, factor + j)
                            add_product(above, at_right + j, weighted, j, values, at_left + j, space.factor, factor + j)
                            # fmt: on


@in_bulk(_down_binary)
def _(loops: Any, chart: Chart, row: Row, down: _Below, counts: Any) -> None:
    if chart.n >= 64 or counts is not None:
        loops(chart, row, down, counts)
        return
    rules, space, above = chart.rules, chart.space, down.above
    starts = np.arange(row.blocks * LANES)
    pair, split, both = all_splits(chart, row)
    both &= np.bitwise_or.reduceat(down.wanted[rules.parent], rules.rule_at[:-1])[pair]
    pair, split, both = (each[both != np.uint64(0)] for each in (pair, split, both))
    some, at = np.unique(pair, return_inverse=True)
    rule, of = rules_of_pairs(rules, some)
    rule, of = (each[down.wanted[rules.parent[rule]] != np.uint64(0)] for each in (rule, of))
    weighted = np.zeros((len(some), len(starts)))
    parents = (rules.parent[rule].astype(np.int64) * chart.cells + row.at)[:, None] + starts
    add_rows(np.add, weighted.ravel(), of * len(starts), down.passed[parents] * chart.binary[rule][:, None])
    parts = places_of_parts(chart, row, pair, split, starts)
    factor = space.factor[split[:, None] * stride(chart) + starts]
    sums = [weighted[at] * space.values[part] * factor for part in parts[::-1]]
    # pairs × blocks × (left, right) × starts: the order of the loops
    shape, touched = (len(pair), row.blocks, LANES), blocks_between(row, both)
    places, numbers = (np.stack([each.reshape(shape) for each in two], axis=2)[touched] for two in (parts, sums))
    np.add.at(above, places.ravel(), numbers.ravel())


@lean
def _note_wanted(chart: Chart, row: Row, tops: bool, down: _Below, rewards: Any) -> None:
    """Mark the constituents that pass values down, of the symbols that start unary chains or of the others.

    Most constituents of a chart are in no tree. Constituents that are not in the chart pass nothing down, although
    their parts may be there: a beam may have dropped them.
    """
    space, above = chart.space, down.above
    for symbol in range(space.widths.shape[0]):
        if chart.rules.is_top[symbol] == tops:
            down.wanted[symbol] = np.uint64(0)
            if space.starts[symbol, row.width] != np.uint64(0):
                at = symbol * chart.cells + row.at
                for i in range(row.spans):
                    if space.values[at + i] == 0.0:
                        above[at + i] = 0.0
                    elif space.values[at + i] * above[at + i] > down.least:
                        down.wanted[symbol] |= bit(i)
                    if rewards is not None and rewards.shape[0] > 0:
                        down.passed[at + i] = above[at + i] * math.exp(np.float64(rewards[at + i]))
