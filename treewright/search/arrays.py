"""Arrays for compiled code: copying between them, and where they begin in memory.

An assignment of a slice can raise an error with a message, so Numba compiles about forty string functions with it,
which takes a second. A loop does not need them and is as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import lean

__all__ = ["aligned", "copy_cells"]

_LINE = 64  # bytes of a cache line


def aligned(size: int, dtype: Any) -> npt.NDArray[Any]:
    """An array that begins at a cache line; its cells are not initialised.

    NumPy begins at multiples of 16 bytes. Then many vector instructions read two lines instead of one: parsing with
    latent grammars takes up to a tenth longer.
    """
    wanted = size * np.dtype(dtype).itemsize
    room = np.empty(wanted + _LINE, np.uint8)
    first = -room.ctypes.data % _LINE
    return room[first : first + wanted].view(dtype)


@lean
def copy_cells(source: Any, first: int, target: Any, at: int, n: int) -> None:
    """Copy ``n`` cells of one array, from ``first`` on, to another one, from ``at`` on."""
    for k in range(n):
        target[at + k] = source[first + k]
