"""Sets of small numbers as the bits of 64-bit words, for kernels that must skip what is not there.

Larger numbers are folded (number modulo 64): a set may then seem to have members that it has not, never the reverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from treewright.search.compiling import lean

__all__ = ["bit", "highest", "lowest", "turned_left", "turned_right"]


def lowest(bits: Any) -> int:
    """The lowest member of a set that is not empty.

    >>> lowest(np.uint64(0b101000))
    3
    """
    return (int(bits) & -int(bits)).bit_length() - 1


def highest(bits: Any) -> int:
    """The highest member of a set that is not empty.

    >>> highest(np.uint64(0b101000))
    5
    """
    return int(bits).bit_length() - 1


@intrinsic  # type: ignore[untyped-decorator]
def _trailing_zeros(context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]
def _leading_zeros(context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), build


@overload(lowest)  # type: ignore[untyped-decorator]
def _lowest(bits: Any) -> Any:
    def built(bits: Any) -> Any:
        return _trailing_zeros(np.uint64(bits))

    return built


@overload(highest)  # type: ignore[untyped-decorator]
def _highest(bits: Any) -> Any:
    def built(bits: Any) -> Any:
        return np.int64(63) - _leading_zeros(np.uint64(bits))

    return built


@lean
def bit(number: int) -> Any:
    """The set of one number."""
    return np.uint64(1) << np.uint64(number & 63)


@lean
def turned_left(bits: Any, by: int) -> Any:
    """Every member raised by a number, modulo 64."""
    return (bits << np.uint64(by & 63)) | (bits >> np.uint64(-by & 63))


@lean
def turned_right(bits: Any, by: int) -> Any:
    """Every member lowered by a number, modulo 64."""
    return (bits >> np.uint64(by & 63)) | (bits << np.uint64(-by & 63))
