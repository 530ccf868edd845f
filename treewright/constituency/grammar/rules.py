"""A grammar as arrays for kernels: rules, their weights, and the scores of tags."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["DENSE", "Lexical", "Rules", "Weighted"]

Ints = npt.NDArray[np.int32]

DENSE = 8  # rules per pair of children; from this number on a grammar is dense


class Rules(NamedTuple):
    """The rules of a grammar. Binary rules are sorted by left child, right child and parent."""

    left: Ints  # the symbols that are left children
    left_at: Ints  # the offset of the pairs of each
    right: Ints  # the right child of each pair
    rule_at: Ints  # the offset of the rules of each pair
    binary: Ints  # rules × (parent, left, right)
    parent: Ints  # the parents alone, in one array
    unary: Ints  # rules × (top, bottom)
    of_parent: Ints  # the numbers of binary rules, by parent
    of_parent_at: Ints
    of_top: Ints  # the numbers of unary rules, by top
    of_top_at: Ints
    is_top: npt.NDArray[np.bool_]  # whether the symbol starts unary chains
    root: int
    dense: bool | None  # True if the grammar is dense; None if not: then kernels have no code for that


class Lexical(NamedTuple):
    """Scores of tags: for each kind of word (a row) the symbols of its tags and their scores."""

    at: npt.NDArray[np.int64]  # the offset of the tags of each row
    symbol: Ints
    score: npt.NDArray[np.float32]


class Weighted(NamedTuple):
    """A grammar with the weights of its rules, for a chart.

    Weights are logarithms for the best tree, and plain factors for sums over trees.
    """

    rules: Rules
    binary: npt.NDArray[Any]
    unary: npt.NDArray[Any]
    lexical: Lexical
