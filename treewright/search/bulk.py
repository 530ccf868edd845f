"""Operations on many ranges of an array at once, for the interpreter (:func:`treewright.search.compiling.in_bulk`).

Sums of floating-point numbers depend on their order. Here numbers are added in the order in which they are given, as
loops add them, so that results are the same to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["add_rows", "dots", "ranges"]

Longs = npt.NDArray[np.int64]


def ranges(first: Any, last: Any) -> tuple[Longs, Longs]:
    """The numbers from each first to each last, one range after the other, and the number of the range of each.

    >>> numbers, of = ranges(np.array([5, 0, 7]), np.array([7, 0, 10]))
    >>> numbers.tolist(), of.tolist()
    ([5, 6, 7, 8, 9], [0, 0, 2, 2, 2])
    """
    sizes = (last - first).astype(np.int64)
    of = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(of)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes), of


def add_rows(plus: np.ufunc, out: Any, at: Any, rows: Any) -> None:
    """out ← out ⊕ rows of numbers, which begin at the given places; where they overlap, in the order of the rows.

    >>> out = np.zeros(4)
    >>> add_rows(np.add, out, np.array([0, 1]), np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]))
    >>> out.tolist()
    [1.0, 12.0, 23.0, 30.0]
    """
    plus.at(out, (at[:, None] + np.arange(rows.shape[1])).ravel(), rows.ravel())


def dots(left: Any, right: Any) -> Any:
    """The sums of products of two blocks, for many of them: like :func:`treewright.search.lanes.dot`."""
    products = left * right
    while products.shape[1] > 1:
        products = products[:, 0::2] + products[:, 1::2]
    return products[:, 0]
