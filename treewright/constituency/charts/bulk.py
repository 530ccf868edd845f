"""What the interpreter needs to fill a chart for all pairs of symbols at once, while nothing is compiled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, Row
from treewright.constituency.grammar.rules import Rules
from treewright.search.bits import turned_left
from treewright.search.bulk import ranges
from treewright.search.lanes import LANES

__all__ = ["all_splits", "blocks_between", "places_of_parts", "rules_of_pairs"]

Longs = npt.NDArray[np.int64]


def rules_of_pairs(rules: Rules, pairs: Longs) -> tuple[Longs, Longs]:
    """The rules of some pairs of children, in order, and for each the place of its pair in the list."""
    return ranges(rules.rule_at[pairs], rules.rule_at[pairs + 1])


def all_splits(chart: Chart, row: Row) -> tuple[Longs, Longs, npt.NDArray[np.uint64]]:
    """The pairs of symbols that are side by side in spans of a width: pair, split, and the set of starts.

    Sentences have at most 63 words.
    """
    rules, space, width = chart.rules, chart.space, row.width
    left, right = rules.binary[rules.rule_at[:-1], 1], rules.right
    some = np.flatnonzero(space.widths[left] & turned_left(space.minus_widths[right], width))
    after = space.starts[right[some], width - 1 : 0 : -1] >> np.arange(1, width, dtype=np.uint64)
    both = space.starts[left[some], 1:width] & after
    at, split = np.nonzero(both)
    return some[at], split + 1, both[at, split]


def places_of_parts(chart: Chart, row: Row, pair: Longs, split: Longs, starts: Longs) -> tuple[Longs, Longs]:
    """The places of the left and of the right parts in the chart: (pair, split) × starts."""
    rules = chart.rules
    left, right = (rules.binary[rules.rule_at[pair], k].astype(np.int64) for k in (1, 2))
    at_left = left * chart.cells + chart.offsets[split]
    at_right = right * chart.cells + chart.offsets[row.width - split] + split
    return at_left[:, None] + starts, at_right[:, None] + starts


def blocks_between(row: Row, starts: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """For each set of starts, the blocks from the first one with a member to the last one: sets × blocks."""
    shift = LANES * np.arange(row.blocks, dtype=np.uint64)
    has = (starts[:, None] >> shift) & np.uint64(2**LANES - 1) != np.uint64(0)
    after, before = np.logical_or.accumulate(has, axis=1), np.logical_or.accumulate(has[:, ::-1], axis=1)[:, ::-1]
    return after & before
