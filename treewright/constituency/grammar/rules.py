"""A grammar in the form that kernels read: flat arrays of rules, and the scores of tags."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Lexical", "Rules"]

Ints = npt.NDArray[np.int32]


class Rules(NamedTuple):
    """A grammar as kernels see it. Binary rules are sorted by left child, right child and parent."""

    left: Ints  # the symbols that are left children
    left_at: Ints  # where the pairs of each begin
    right: Ints  # the right child of each pair
    rule_at: Ints  # where the rules of each pair begin
    binary: Ints  # rules × (parent, left, right)
    parent: Ints  # the parents alone, side by side
    unary: Ints  # rules × (top, bottom)
    of_parent: Ints  # the numbers of binary rules, by parent
    of_parent_at: Ints
    of_top: Ints  # the numbers of unary rules, by top
    of_top_at: Ints
    is_top: npt.NDArray[np.bool_]  # does the symbol start unary chains?
    root: int


class Lexical(NamedTuple):
    """Scores of tags: for each kind of word (a row) the symbols of its tags and their scores."""

    at: npt.NDArray[np.int64]
    symbol: Ints
    score: npt.NDArray[np.float32]
