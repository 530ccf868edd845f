"""The memory layout of a chart: the position of a constituent's value, and the sets of constituents.

A chart has a triangle for each symbol, with one row for each width of span, and in a row one number for each start.
Rows are padded to whole blocks (:mod:`treewright.search.lanes`), so that all spans of one width are computed together,
a block at a time. Sets of bits (:mod:`treewright.search.bits`) have the widths of each symbol, and the starts for each
of these widths, so that loops skip constituents that do not exist. A chart of n words with N symbols takes about
4·N·n·(n+8)/2 bytes in 32 bits (:data:`~treewright.constituency.charts.semirings.VITERBI`), and twice that in 64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.semirings import POSSIBLE, Inside, Viterbi, is_scaled
from treewright.constituency.grammar.rules import Rules
from treewright.search.bits import bit, highest, lowest
from treewright.search.compiling import compiled, inlined, lean
from treewright.search.lanes import LANES, set_block

__all__ = [
    "Chart",
    "Row",
    "Space",
    "chart_bytes",
    "has",
    "has_tree",
    "new_space",
    "place",
    "row_of",
    "row_offsets",
    "value",
]

Floats = npt.NDArray[Any]


class Space(NamedTuple):
    """The memory of a chart, reused for all sentences of a thread."""

    values: Floats  # symbols × triangle, flat
    starts: npt.NDArray[np.uint64]  # for each symbol and width the set of starts
    widths: npt.NDArray[np.uint64]  # for each symbol the set of widths
    minus_widths: npt.NDArray[np.uint64]  # the same, negated (modulo 64)
    block: Floats  # one row, while it is computed
    scale: Floats  # of sums: the logarithm of each span's factor, (n + 1) × padded starts, flat
    factor: Floats  # of sums: the factors of two parts relative to the factor of the whole, for each split


class Chart(NamedTuple):
    """A filled chart, and the rules that it was filled with."""

    rules: Rules
    binary: Floats  # the weights of the binary rules
    unary: Floats  # the weights of the unary rules
    space: Space
    offsets: npt.NDArray[np.int64]  # the offset of the row of each width in a triangle
    cells: int  # the size of a triangle
    n: int  # words


class Row(NamedTuple):
    """The spans of one width."""

    width: int
    spans: int  # the number of spans
    blocks: int  # the number of blocks
    at: int  # the offset of the row in a triangle


@lean
def row_of(chart: Chart, width: int) -> Row:
    """The row of the spans of a width."""
    count = chart.n - width + 1
    return Row(np.int64(width), np.int64(count), np.int64(padded(count) // LANES), np.int64(chart.offsets[width]))


@lean
def place(chart: Chart, symbol: int, start: int, width: int) -> int:
    """The index of a constituent in the chart."""
    return symbol * chart.cells + chart.offsets[width] + start


@lean
def has(chart: Chart, symbol: int, start: int, width: int) -> bool:
    """Whether there is such a constituent. With more than 63 words there are false positives; check the value."""
    return (chart.space.starts[symbol, width] & bit(start)) != np.uint64(0)


@lean
def value(chart: Chart, symbol: int, start: int, width: int) -> float:
    """The value of an existing constituent."""
    return np.float64(chart.space.values[place(chart, symbol, start, width)])


@lean
def has_tree(chart: Chart) -> bool:
    """Whether a Viterbi chart has a tree for the whole sentence."""
    return has(chart, chart.rules.root, 0, chart.n) and value(chart, chart.rules.root, 0, chart.n) > POSSIBLE


@compiled
def row_offsets(n: int) -> Any:
    """The offset of the row of each width in a triangle; the last entry is the triangle's size, with a spare block."""
    offsets = np.zeros(n + 2, np.int64)
    at = 0
    for width in range(1, n + 1):
        offsets[width] = at
        at += (n - width + LANES) // LANES * LANES
    offsets[n + 1] = at + LANES
    return offsets


@lean
def padded(n: int) -> int:
    """A row's length in whole blocks."""
    return (n + LANES - 1) // LANES * LANES


@compiled
def new_space(semiring: Viterbi | Inside, symbols: int, n: int) -> Space:
    """The memory of charts for sentences of up to n words."""
    size = symbols * row_offsets(n)[n + 1] + 2 * LANES
    scales = (n + 1) * (padded(n) + LANES) + LANES if is_scaled(semiring) else 1
    return Space(
        np.full(size, semiring.zero),
        np.zeros((symbols, n + 1), np.uint64),
        np.zeros(symbols, np.uint64),
        np.zeros(symbols, np.uint64),
        np.full(padded(n) + LANES, semiring.zero),
        np.full(scales, semiring.zero),
        np.full(scales, semiring.zero),
    )


def chart_bytes(symbols: int, n: int, bytes_each: int = 4) -> int:
    """The memory of a chart in bytes.

    >>> chart_bytes(1000, 40)
    4200000
    """
    whole, rest = divmod(n, LANES)  # rows of up to 8, 16, 24 … starts, eight of each
    rows = LANES * (LANES * whole * (whole + 1) // 2 + rest * (whole + 1)) + LANES
    return symbols * (rows * bytes_each + 8 * (n + 1))


@inlined
def claim(chart: Chart, symbol: int, row: Row, zero: Any) -> None:
    """Clear the row of a symbol the first time that something is written to it."""
    if chart.space.starts[symbol, row.width] == np.uint64(0):
        for k in range(row.blocks):
            set_block(chart.space.values, symbol * chart.cells + row.at + k * LANES, zero)
        chart.space.widths[symbol] |= bit(row.width)
        chart.space.minus_widths[symbol] |= bit(-row.width)


@inlined
def blocks_of(chart: Chart, row: Row, found: Any) -> tuple[int, int]:
    """The first block with a member of a set of starts, and the one after the last.

    The sets of long sentences are taken modulo 64, and do not determine blocks.
    """
    if chart.n < 64:
        return lowest(found) // LANES, highest(found) // LANES + 1
    return 0, row.blocks
