"""Masks of coarse-to-fine parsing: the constituents that a chart over substates may build.

*Coarse-to-fine* (Petrov & Klein 2007, §2): constituents that are improbable under one grammar of a hierarchy are not
built with the next. A mask from another source is a set of base symbols for each span (:class:`Masks`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, place
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent.blocks import Blocks, Cells, members
from treewright.search.bits import bit, lowest
from treewright.search.compiling import lean

__all__ = ["Masks", "allow_all", "keep_probable", "keep_probable_symbols", "new_masks", "refine", "take_mask"]

Longs = npt.NDArray[np.int64]


class Masks(NamedTuple):
    """Sets of base symbols for all spans of all sentences."""

    sets: npt.NDArray[np.uint64]  # spans × words of bits; the spans of a sentence in the order of their numbers
    at: Longs  # the offset of the spans of each sentence, and the end of the last


def new_masks(at: Longs, symbols: int) -> Masks:
    """Return empty sets for sentences that begin at ``at``."""
    n = np.diff(at)
    begins = np.concatenate([[0], np.cumsum(n * (n + 1) // 2)]).astype(np.int64)
    return Masks(np.zeros((begins[-1], (symbols + 63) // 64), np.uint64), begins)


@lean
def allow_all(n: int, cells: Cells) -> None:
    """Set a mask that allows everything."""
    for span in range(span_of(0, n) + n):
        for symbol in range(cells.mask.shape[1]):
            cells.allowed[span, symbol >> 6] |= bit(symbol)
            cells.mask[span, symbol] = ~np.uint64(0)


@lean
def take_mask(sets: Any, first: int, n: int, cells: Cells) -> None:
    """Set a given mask: sets of base symbols for all spans, from the row ``first`` on."""
    for span in range(span_of(0, n) + n):
        for w in range(sets.shape[1]):
            cells.allowed[span, w] = sets[first + span, w]
        for k in range(members(sets, first + span, cells.some)):
            cells.mask[span, cells.some[k]] = np.uint64(1)


@lean
def keep_probable(grammar: Blocks, n: int, cells: Cells, threshold: float) -> None:
    """Allow the substates whose posterior is at least the threshold (Petrov & Klein 2007, §2)."""
    stride = grammar.at[grammar.at.shape[0] - 1]
    for span in range(span_of(0, n) + n):
        for w in range(cells.allowed.shape[1]):
            cells.allowed[span, w] = np.uint64(0)
        for k in range(members(cells.present, span, cells.some)):
            symbol, mask = cells.some[k], np.uint64(0)
            at = span * stride + grammar.at[symbol]
            for a in range(grammar.substates[symbol]):
                if cells.values[at + a] * cells.above[at + a] >= threshold:
                    mask |= bit(a)
            if mask != np.uint64(0):
                cells.allowed[span, symbol >> 6] |= bit(symbol)
                cells.mask[span, symbol] = mask


@lean
def refine(grammar: Blocks, n: int, cells: Cells) -> None:
    """Turn a mask of the next coarser level into a mask of this level: all descendants of allowed substates."""
    for span in range(span_of(0, n) + n):
        for k in range(members(cells.allowed, span, cells.some)):
            symbol = cells.some[k]
            coarse, fine = cells.mask[span, symbol], np.uint64(0)
            while coarse != np.uint64(0):
                fine |= grammar.finer[grammar.finer_at[symbol] + lowest(coarse)]
                coarse &= coarse - np.uint64(1)
            cells.mask[span, symbol] = fine


@lean
def keep_probable_symbols(chart: Chart, above: Any, cells: Cells, threshold: float) -> None:
    """Allow the base symbols whose posterior under the treebank grammar is at least the threshold."""
    n = chart.n
    for span in range(span_of(0, n) + n):
        for w in range(cells.allowed.shape[1]):
            cells.allowed[span, w] = np.uint64(0)
    for symbol in range(cells.mask.shape[1]):
        for width in range(1, n + 1):
            if chart.space.starts[symbol, width] == np.uint64(0):
                continue
            here = place(chart, symbol, 0, width)
            for start in range(n - width + 1):
                if chart.space.values[here + start] * above[here + start] >= threshold:
                    span = span_of(start, start + width)
                    cells.allowed[span, symbol >> 6] |= bit(symbol)
                    cells.mask[span, symbol] = np.uint64(1)
