"""Helpers of the generated feature functions, which are compiled into them."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.dependency.configuration import FAMILY
from treewright.dependency.templates import WORD_ATTRIBUTES
from treewright.search.compiling import inlined

__all__ = ["child", "distance", "hash1", "hash2", "hash3", "hash4", "position", "seen"]

_ATTRIBUTES = len(WORD_ATTRIBUTES)


@inlined
def seen(attributes: Any, node: int, which: int) -> int:
    """An attribute of a word."""
    return np.int64(attributes[node * _ATTRIBUTES + which])


@inlined
def child(family: Any, node: int, which: int, nothing: int) -> int:
    """A child of a node, or ``nothing``."""
    return np.int64(family[node * FAMILY + which]) or nothing


@inlined
def position(node: int, n: int) -> int:
    """The position of a node for :meth:`Task.positions`: words from 0, n for the root, −1 for no word."""
    return node - 1 if 0 < node <= n else n if node == 0 else np.int64(-1)


@inlined
def distance(a: int, b: int, nothing: int) -> int:
    """A distance in words, in classes: 1 to 5, up to 10, more; 1 if there is none."""
    gap = abs(b - a)
    if gap > 5:
        gap = 6 if gap <= 10 else 7
    if a > b:
        gap += 8
    return gap + 1 if a < nothing and b < nothing else np.int64(1)


@inlined
def hash1(m: int, a: int, offset: int) -> int:
    """The feature of a template of one atom: the middle bits of a sum."""
    return ((m * a + offset) >> 17) & 0x7FFFFFFF


@inlined
def hash2(m: int, a: int, n: int, b: int, offset: int) -> int:
    """The feature of a template of two atoms."""
    return ((m * a + n * b + offset) >> 17) & 0x7FFFFFFF


@inlined
def hash3(m: int, a: int, n: int, b: int, o: int, c: int, offset: int) -> int:
    """The feature of a template of three atoms."""
    return ((m * a + n * b + o * c + offset) >> 17) & 0x7FFFFFFF


@inlined
def hash4(m: int, a: int, n: int, b: int, o: int, c: int, p: int, d: int, offset: int) -> int:
    """The feature of a template of four atoms."""
    return ((m * a + n * b + o * c + p * d + offset) >> 17) & 0x7FFFFFFF
