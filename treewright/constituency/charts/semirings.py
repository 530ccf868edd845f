"""Semirings, which define ⊕ and ⊗ in a chart.

* :class:`Viterbi` is (max, +). Values are logarithms; the value of a constituent is the score of its best derivation.
* :class:`Inside` is (+, ×). Values are plain numbers; the value of a constituent is the sum over its derivations,
  divided by a factor that all constituents of the span share (:mod:`treewright.constituency.charts.scales`). With all
  scores 0 it counts derivations.

The recurrence is written once (:mod:`treewright.constituency.charts.recurrence`), with the operations below. The
interpreter selects the implementation of an operation by the semiring, the compiler by the semiring's type: compiled
code has no branches for it, and only the operations of one semiring are compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from treewright.search.compiling import overload
from treewright.search.lanes import add_product, add_scaled, raise_to_shifted, raise_to_sum

__all__ = [
    "INSIDE",
    "NEVER",
    "POSSIBLE",
    "VITERBI",
    "VITERBI_64",
    "Inside",
    "Viterbi",
    "add_parts",
    "add_rule",
    "beam_floor",
    "by_semiring",
    "in_bulk_by",
    "is_scaled",
    "plus",
    "rewarded",
    "word_value",
]

NEVER = -1e30
"""The value of an impossible constituent in logarithms: far below any score, and sums of it stay finite."""

POSSIBLE = 0.5 * NEVER
"""Only values above this belong to derivations."""


class Viterbi(NamedTuple):
    """(max, +) over logarithms."""

    zero: np.floating[Any]  # its type is that of the chart's numbers


class Inside(NamedTuple):
    """(+, ×) over scaled numbers."""

    zero: np.floating[Any]


VITERBI = Viterbi(np.float32(NEVER))
VITERBI_64 = Viterbi(np.float64(NEVER))
INSIDE = Inside(np.float64(0.0))


def by_semiring(viterbi: Callable[..., Any], inside: Callable[..., Any]) -> Callable[..., Any]:
    """An operation of both semirings, from its two implementations with the same parameters, the semiring first."""

    def operation(semiring: Any, *arguments: Any) -> Any:
        return (inside if isinstance(semiring, Inside) else viterbi)(semiring, *arguments)

    @overload(operation, inline="always")
    @wraps(viterbi)  # the compiler compares signatures
    def choose(semiring: Any, *arguments: Any) -> Any:
        return inside if semiring.instance_class is Inside else viterbi

    operation.__module__ = viterbi.__module__  # for the digest of what compiled code depends on
    return operation


is_scaled = by_semiring(viterbi=lambda semiring: False, inside=lambda semiring: True)
"""Have values scales?"""

plus = by_semiring(
    viterbi=lambda semiring, one, two: max(one, two),
    inside=lambda semiring, one, two: one + two,
)
"""one ⊕ two, for two numbers."""

word_value = by_semiring(
    viterbi=lambda semiring, score, highest: score,
    inside=lambda semiring, score, highest: math.exp(score - highest),
)
"""The value of a tag over its word, from its score and the highest score of the word."""

add_rule = by_semiring(
    viterbi=lambda semiring, out, o, values, i, weight: raise_to_shifted(out, o, values, i, weight),
    inside=lambda semiring, out, o, values, i, weight: add_scaled(out, o, values, i, weight),
)
"""out ← out ⊕ values ⊗ the weight of a rule, for a block of each."""

add_parts = by_semiring(
    viterbi=lambda semiring, out, o, values, i, j, factor, k: raise_to_sum(out, o, values, i, values, j),
    inside=lambda semiring, out, o, values, i, j, factor, k: add_product(out, o, values, i, values, j, factor, k),
)
"""out ← out ⊕ left ⊗ right, for a block of each; the values of both parts are in one array, at i and j."""

in_bulk_by = by_semiring(
    viterbi=lambda semiring: (np.maximum, np.add),
    inside=lambda semiring: (np.add, np.multiply),
)
"""⊕ and ⊗ of NumPy, for the interpreter."""

rewarded = by_semiring(
    viterbi=lambda semiring, value, reward: value + reward,
    inside=lambda semiring, value, reward: value * math.exp(np.float64(reward)),
)
"""value ⊗ a reward, which is a logarithm in both semirings."""

beam_floor = by_semiring(
    viterbi=lambda semiring, best, beam: max(np.float64(best) - beam, POSSIBLE),
    inside=lambda semiring, best, beam: best * math.exp(-beam),
)
"""The lowest value that a beam keeps in a span whose best value is ``best``."""
