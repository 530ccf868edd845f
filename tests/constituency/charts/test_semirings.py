"""Semirings: their operations by definition, and compiled as interpreted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from treewright.constituency.charts.semirings import (
    INSIDE,
    NEVER,
    POSSIBLE,
    VITERBI,
    VITERBI_64,
    add_parts,
    add_rule,
    beam_floor,
    is_scaled,
    plus,
    rewarded,
    word_value,
)
from treewright.search.compiling import interpreted, kernel
from treewright.search.lanes import LANES

semirings = pytest.mark.parametrize("semiring", [VITERBI, VITERBI_64, INSIDE], ids=["32 bits", "64 bits", "sums"])


@kernel
def numbers(semiring, one, two):
    values = plus(semiring, one, two), word_value(semiring, two, one), rewarded(semiring, one, two)
    return (*values, beam_floor(semiring, one, 2.0), is_scaled(semiring))


@kernel
def blocks(semiring, out, values, factor, weight):
    add_rule(semiring, out, 0, values, LANES, weight)
    add_parts(semiring, out, LANES, values, 0, LANES, factor, 0)


def test_numbers_by_definition():
    assert numbers(VITERBI_64, -1.0, -2.0) == (-1.0, -2.0, -3.0, -3.0, False)
    assert beam_floor(VITERBI_64, NEVER, 2.0) == POSSIBLE  # an impossible constituent is never kept
    wanted = 0.75, math.exp(0.25 - 0.5), 0.5 * math.exp(0.25), 0.5 * math.exp(-2.0)
    assert numbers(INSIDE, 0.5, 0.25)[:4] == pytest.approx(wanted)
    assert numbers(INSIDE, 0.5, 0.25)[4]


@semirings
def test_zero_is_neutral(semiring):
    for value in (0.5, 2.0):
        assert plus(semiring, semiring.zero, value) == value == plus(semiring, value, semiring.zero)


@semirings
def test_blocks_by_definition(semiring):
    dtype, rng = semiring.zero.dtype, np.random.default_rng(0)
    values, factor = rng.random(2 * LANES).astype(dtype), rng.random(LANES).astype(dtype)
    out = rng.random(2 * LANES).astype(dtype)
    left, right, before, weight = values[:LANES], values[LANES:], out.copy(), dtype.type(0.25)
    if semiring is INSIDE:
        wanted = before + np.concatenate([right * weight, left * right * factor])
    else:
        wanted = np.maximum(before, np.concatenate([right + weight, left + right]))
    blocks(semiring, out, values, factor, weight)
    assert out.tolist() == wanted.tolist()
    again = before.copy()
    interpreted(blocks)(semiring, again, values, factor, weight)
    assert again.tolist() == wanted.tolist()
