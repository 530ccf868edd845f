from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.search import compiled, interpreted
from treewright.search.bits import bit, highest, lowest, turned_left, turned_right

members = st.sets(st.integers(0, 63))
numbers = st.integers(-300, 300)
fast = examples(100)


def as_bits(numbers):
    """A set of Python as a set of bits, folded."""
    return np.uint64(sum(1 << number for number in {number % 64 for number in numbers}))


def as_set(bits):
    return {number for number in range(64) if int(bits) >> number & 1}


@compiled
def ends_of(bits):
    return lowest(bits), highest(bits)


@compiled
def all_members(bits, out):
    """The loop that charts use."""
    n = 0
    while bits != np.uint64(0):
        out[n] = lowest(bits)
        bits &= bits - np.uint64(1)
        n += 1
    return n


@given(numbers)
@fast
def test_the_set_of_one_number_is_folded(number):
    assert as_set(bit(number)) == {number % 64}
    assert as_set(interpreted(bit)(number)) == {number % 64}


@pytest.mark.parametrize("run", [ends_of, interpreted(ends_of)], ids=["compiled", "interpreted"])
@given(members.filter(bool))
@fast
def test_lowest_and_highest_member(run, numbers):
    assert run(as_bits(numbers)) == (min(numbers), max(numbers))


@pytest.mark.parametrize("run", [all_members, interpreted(all_members)], ids=["compiled", "interpreted"])
@given(members)
@fast
def test_members_in_order(run, numbers):
    out = np.zeros(64, np.int64)
    assert out[: run(as_bits(numbers), out)].tolist() == sorted(numbers)


@pytest.mark.parametrize("plain", [False, True], ids=["compiled", "interpreted"])
@given(members, numbers)
@fast
def test_turning_raises_and_lowers_all_members(plain, numbers, by):
    left, right = (interpreted(turned_left), interpreted(turned_right)) if plain else (turned_left, turned_right)
    bits = as_bits(numbers)
    assert as_set(left(bits, by)) == {(number + by) % 64 for number in numbers}
    assert as_set(right(bits, by)) == {(number - by) % 64 for number in numbers}
    assert as_set(right(np.uint64(left(bits, by)), by)) == numbers


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)), st.integers(0, 300))
@fast
def test_folded_sets_seem_larger_never_smaller(one, two, number):
    assert as_set(as_bits(one)) == {member % 64 for member in one}
    both = as_set(as_bits(one) & as_bits(two))
    assert {member % 64 for member in one & two} <= both
    if max(one | two, default=0) < 64:
        assert both == one & two
    if number in one:
        assert as_bits(one) & bit(number)


@given(st.sets(st.integers(0, 200)), st.sets(st.integers(0, 200)), st.integers(1, 90))
@fast
def test_the_starts_of_two_parts_that_meet(left, right, split):
    """How charts find the starts of spans whose first part has width ``split``: none of them is missed."""
    found = as_set(as_bits(left) & turned_right(as_bits(right), split))
    assert {start % 64 for start in left if start + split in right} <= found
