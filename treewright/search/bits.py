"""Sets of small numbers as the bits of 64-bit words, so that kernels can skip numbers that are not members.

Larger numbers are taken modulo 64. So a set may seem to have members that it does not have, but never lacks one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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


@lean
def bit(number: int) -> Any:
    """The set of one number."""
    return np.uint64(1) << np.uint64(number & 63)


@lean
def turned_left(bits: Any, by: int) -> Any:
    """The set with a number added to every member, modulo 64."""
    return (bits << np.uint64(by & 63)) | (bits >> np.uint64(-by & 63))


@lean
def turned_right(bits: Any, by: int) -> Any:
    """The set with a number subtracted from every member, modulo 64."""
    return (bits >> np.uint64(by & 63)) | (bits << np.uint64(-by & 63))
