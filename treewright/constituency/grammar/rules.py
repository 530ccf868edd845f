"""A grammar in the form that kernels read: flat arrays of rules, their weights, and the scores of tags."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Lexical", "Rules", "Weighted"]

Ints = npt.NDArray[np.int32]


class Rules(NamedTuple):
    """The rules of a grammar. Binary rules are sorted by left child, right child and parent."""

    left: Ints  # the symbols that are left children
    left_at: Ints  # where the pairs of each begin
    right: Ints  # the right child of each pair
    rule_at: Ints  # where the rules of each pair begin
    binary: Ints  # rules × (parent, left, right)
    parent: Ints  # the parents alone, in one array
    unary: Ints  # rules × (top, bottom)
    of_parent: Ints  # the numbers of binary rules, by parent
    of_parent_at: Ints
    of_top: Ints  # the numbers of unary rules, by top
    of_top_at: Ints
    is_top: npt.NDArray[np.bool_]  # does the symbol start unary chains?
    root: int


class Lexical(NamedTuple):
    """Scores of tags: for each kind of word (a row) the symbols of its tags and their scores."""

    at: npt.NDArray[np.int64]  # where the tags of each row begin
    symbol: Ints
    score: npt.NDArray[np.float32]


class Weighted(NamedTuple):
    """A grammar with the weights of its rules, as a chart takes it.

    Weights are logarithms where the best tree is wanted, and plain factors where trees are summed up.
    """

    rules: Rules
    binary: npt.NDArray[Any]
    unary: npt.NDArray[Any]
    lexical: Lexical
