"""Copying between arrays in compiled code.

An assignment of a slice can raise an error with a message, so Numba compiles about forty string functions with it,
which takes a second. A loop does not need them and is as fast.
"""

from __future__ import annotations

from typing import Any

from treewright.search.compiling import lean

__all__ = ["copy_cells"]


@lean
def copy_cells(source: Any, first: int, target: Any, at: int, n: int) -> None:
    """Copy ``n`` cells of one array, from ``first`` on, to another one, from ``at`` on."""
    for k in range(n):
        target[at + k] = source[first + k]
