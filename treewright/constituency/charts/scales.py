"""Scales of sums: one factor for each span, so that the largest number of the span is 1.

A sum over derivations overflows, or becomes 0, in long sentences. So charts of sums store each value divided by a
factor of its span, whose logarithm is the span's *scale*. Then only values below e^−700 of the largest value of their
span become 0. The logarithms of weights should stay within ±300, so that the weights themselves are finite numbers.

``space.factor`` has, for each split and start, the product of the factors of two parts divided by that of the whole.
"""

from __future__ import annotations

import math

import numpy as np

from treewright.constituency.charts.chart import Chart, Row, padded
from treewright.constituency.charts.semirings import by_semiring
from treewright.search.compiling import lean
from treewright.search.lanes import LANES

__all__ = ["relate_scales", "rescale", "stride"]


@lean
def stride(chart: Chart) -> int:
    """The distance from the scales of one width to those of the next."""
    return padded(chart.n) + LANES


@lean
def _relate(chart: Chart, row: Row) -> None:
    space, width, by = chart.space, row.width, stride(chart)
    for i in range(row.spans):
        largest = -np.inf
        for split in range(1, width):
            both = space.scale[split * by + i] + space.scale[(width - split) * by + i + split]
            largest = max(largest, both)
        for split in range(1, width):
            both = space.scale[split * by + i] + space.scale[(width - split) * by + i + split]
            space.factor[split * by + i] = math.exp(both - largest) if largest > -np.inf else 0.0
        space.scale[width * by + i] = largest
    _clear_padding(chart, row)


@lean
def relate_to_whole(chart: Chart, row: Row) -> None:
    """Compute the factors of parts relative to a whole whose scale is known, for outside values."""
    space, width, by = chart.space, row.width, stride(chart)
    for split in range(1, width):
        for i in range(row.spans):
            whole = space.scale[width * by + i]
            both = space.scale[split * by + i] + space.scale[(width - split) * by + i + split]
            space.factor[split * by + i] = math.exp(both - whole) if both > -np.inf and whole > -np.inf else 0.0
    _clear_padding(chart, row)


@lean
def _clear_padding(chart: Chart, row: Row) -> None:
    """Clear the padding after the last span."""
    for split in range(1, row.width):
        for i in range(row.spans, row.blocks * LANES):
            chart.space.factor[split * stride(chart) + i] = 0.0


@lean
def _rescale(chart: Chart, row: Row) -> None:
    space, by = chart.space, stride(chart)
    largest = space.block
    for i in range(row.spans):
        largest[i] = 0.0
    for symbol in range(space.widths.shape[0]):
        if space.starts[symbol, row.width] != np.uint64(0):
            for i in range(row.spans):
                largest[i] = max(largest[i], space.values[symbol * chart.cells + row.at + i])
    for i in range(row.spans):
        if largest[i] > 0.0:
            space.scale[row.width * by + i] += math.log(largest[i])
        else:  # there is no constituent over these words
            space.scale[row.width * by + i] = -np.inf
            largest[i] = 1.0
    for symbol in range(space.widths.shape[0]):
        if space.starts[symbol, row.width] != np.uint64(0):
            for i in range(row.spans):
                space.values[symbol * chart.cells + row.at + i] /= largest[i]


@lean
def _set_scale(chart: Chart, start: int, highest: float) -> None:
    chart.space.scale[stride(chart) + start] = highest


relate_scales = by_semiring(
    viterbi=lambda semiring, chart, row: None,
    inside=lambda semiring, chart, row: _relate(chart, row),
)
"""Choose a scale for the spans of a width before they are computed, and the relative factors of their parts."""

rescale = by_semiring(
    viterbi=lambda semiring, chart, row: None,
    inside=lambda semiring, chart, row: _rescale(chart, row),
)
"""Divide by the largest number of each span."""

scale_word = by_semiring(
    viterbi=lambda semiring, chart, start, highest: None,
    inside=lambda semiring, chart, start, highest: _set_scale(chart, start, highest),
)
"""Set the scale of a word, from the highest score of its tags."""
