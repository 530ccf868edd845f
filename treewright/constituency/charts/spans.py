"""Numbers of spans, ordered by end and then by start. They do not depend on the sentence."""

from __future__ import annotations

import math

import numpy as np

from treewright.search.compiling import lean

__all__ = ["ends_of", "span_of"]


@lean
def span_of(start: int, end: int) -> int:
    """The number of a span. In a loop over rising ends and falling starts, parts come before wholes.

    >>> [int(span_of(start, end)) for start, end in ((0, 1), (1, 2), (0, 2), (2, 3))]
    [0, 2, 1, 5]
    """
    return end * (end - 1) // 2 + start


@lean
def ends_of(span: int) -> tuple[int, int]:
    """The start and the end of a span, from its number."""
    end = np.int64((1.0 + math.sqrt(1.0 + 8.0 * np.float64(span))) / 2.0)
    if span_of(0, end) > span:
        end -= 1
    elif span_of(0, end + 1) <= span:
        end += 1
    return span - span_of(0, end), end
