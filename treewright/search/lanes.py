"""Eight numbers at a time: the inner operations of charts, as vector instructions.

The compiler vectorises long loops, but the loops of a chart are short and would spend most of their time in the
remainders. So rows of a chart are padded to a multiple of :data:`LANES` numbers, and these functions process one block
of them. Their results for the padding are never used.

In the interpreter they are operations on slices. :mod:`treewright.search.intrinsics` has their compiled versions.

Caution: where one of them is inlined, Numba removes stores to arrays that it believes to be local. It knows that an
array belongs to the caller if it is an argument or an attribute (of an attribute, …) of one, but not if it went through
a tuple. So in such functions write ``space = chart.space`` and not ``rules, space, … = chart``. Assignments of two or
three at a time are fine, because Python makes no tuple of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LANES", "add_product", "add_scaled", "any_above", "dot", "raise_to_shifted", "raise_to_sum", "set_block"]

LANES = 8


def raise_to_sum(out: Any, o: int, left: Any, i: int, right: Any, j: int) -> None:
    """out ← max(out, left + right), for a block of each."""
    block = out[o : o + LANES]
    np.maximum(block, left[i : i + LANES] + right[j : j + LANES], out=block)


def raise_to_shifted(out: Any, o: int, left: Any, i: int, by: float) -> None:
    """out ← max(out, left + a number), for a block of each."""
    block = out[o : o + LANES]
    np.maximum(block, left[i : i + LANES] + out.dtype.type(by), out=block)


def add_product(out: Any, o: int, left: Any, i: int, right: Any, j: int, factor: Any, k: int) -> None:
    """out ← out + left · right · factor, for a block of each."""
    out[o : o + LANES] += left[i : i + LANES] * right[j : j + LANES] * factor[k : k + LANES]


def add_scaled(out: Any, o: int, left: Any, i: int, by: float) -> None:
    """out ← out + left · a number, for a block of each."""
    out[o : o + LANES] += left[i : i + LANES] * out.dtype.type(by)


def set_block(out: Any, o: int, to: float) -> None:
    """out ← a number, for a block."""
    out[o : o + LANES] = to


def any_above(left: Any, i: int, by: float, right: Any, j: int) -> bool:
    """Whether left + a number is above right anywhere, in a block of each."""
    return bool((left[i : i + LANES] + left.dtype.type(by) > right[j : j + LANES]).any())


def dot(left: Any, i: int, right: Any, j: int) -> float:
    """The sum of the products of two blocks: neighbours are added first, then the sums of neighbours."""
    products = left[i : i + LANES] * right[j : j + LANES]
    if products.dtype == np.float64:  # as below, in half the time
        a, b, c, d, e, f, g, h = products.tolist()
        return float((a + b + (c + d)) + (e + f + (g + h)))
    while len(products) > 1:
        products = products[0::2] + products[1::2]
    return float(products[0])
