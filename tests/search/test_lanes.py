from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.search import compiled, interpreted
from treewright.search.lanes import LANES, add_product, add_scaled, any_above, dot, raise_to_shifted, raise_to_sum

SIZE = 5 * LANES
places = st.integers(0, SIZE - LANES)
types = st.sampled_from([np.float32, np.float64])
fast = examples(60)


@compiled
def sum_block(out, o, left, i, right, j):
    raise_to_sum(out, o, left, i, right, j)


@compiled
def shifted_block(out, o, left, i, by):
    raise_to_shifted(out, o, left, i, by)


@compiled
def product_block(out, o, left, i, right, j, factor, k):
    add_product(out, o, left, i, right, j, factor, k)


@compiled
def scaled_block(out, o, left, i, by):
    add_scaled(out, o, left, i, by)


@compiled
def above_block(left, i, by, right, j):
    return any_above(left, i, by, right, j)


@compiled
def dot_block(left, i, right, j):
    return dot(left, i, right, j)


def numbers(seed, dtype, count):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=SIZE) * 10.0 ** rng.integers(-3, 4)).astype(dtype) for _ in range(count)]


def check(function, wanted, out, *arguments):
    """Compiled and interpreted, a function changes its block to what is wanted, to the bit, and nothing else."""
    o = arguments[0]
    expected = out.copy()
    expected[o : o + LANES] = wanted
    for run in (function, interpreted(function)):
        changed = out.copy()
        run(changed, *arguments)
        assert changed.tobytes() == expected.tobytes()


@given(st.integers(0, 10**6), types, places, places, places)
@fast
def test_the_larger_of_a_number_and_a_sum(seed, dtype, o, i, j):
    out, left, right = numbers(seed, dtype, 3)
    wanted = [max(a, b + c) for a, b, c in zip(out[o:][:LANES], left[i:][:LANES], right[j:][:LANES], strict=True)]
    check(sum_block, wanted, out, o, left, i, right, j)


@given(st.integers(0, 10**6), types, places, places, st.floats(-100.0, 100.0))
@fast
def test_the_larger_of_a_number_and_a_shifted_one(seed, dtype, o, i, by):
    """The number is of the precision of the blocks, whatever it is given as."""
    out, left = numbers(seed, dtype, 2)
    for given_as in (float(by), np.float64(by), dtype(by)):
        wanted = [max(a, b + dtype(by)) for a, b in zip(out[o:][:LANES], left[i:][:LANES], strict=True)]
        check(shifted_block, wanted, out, o, left, i, given_as)


@given(st.integers(0, 10**6), types, places, places, places, places)
@fast
def test_products_are_added(seed, dtype, o, i, j, k):
    out, left, right, factor = numbers(seed, dtype, 4)
    parts = (block[place:][:LANES] for block, place in ((out, o), (left, i), (right, j), (factor, k)))
    wanted = [a + b * c * d for a, b, c, d in zip(*parts, strict=True)]
    check(product_block, wanted, out, o, left, i, right, j, factor, k)


@given(st.integers(0, 10**6), types, places, places, st.floats(-100.0, 100.0))
@fast
def test_multiples_are_added(seed, dtype, o, i, by):
    out, left = numbers(seed, dtype, 2)
    for given_as in (float(by), np.float64(by), dtype(by)):
        wanted = [a + b * dtype(by) for a, b in zip(out[o:][:LANES], left[i:][:LANES], strict=True)]
        check(scaled_block, wanted, out, o, left, i, given_as)


@given(st.integers(0, 10**6), types, places, places, st.floats(-3000.0, 3000.0))
@fast
def test_is_any_number_above_another(seed, dtype, i, j, by):
    left, right = numbers(seed, dtype, 2)
    wanted = any(a + dtype(by) > b for a, b in zip(left[i:][:LANES], right[j:][:LANES], strict=True))
    for run in (above_block, interpreted(above_block)):
        for given_as in (float(by), dtype(by)):
            assert run(left, i, given_as, right, j) is wanted
        assert not run(left, i, 0.0, left, i)  # above, and not equal
        high = left.copy()
        high[i + LANES - 1] += 1.0
        assert run(high, i, 0.0, left, i)
        assert run(left, i, 0.0, high, i) is False


@given(st.integers(0, 10**6), types, places, places)
@fast
def test_the_sum_of_products(seed, dtype, i, j):
    left, right = numbers(seed, dtype, 2)
    first, second, third, fourth, fifth, sixth, seventh, eighth = left[i:][:LANES] * right[j:][:LANES]
    wanted = ((first + second) + (third + fourth)) + ((fifth + sixth) + (seventh + eighth))
    for run in (dot_block, interpreted(dot_block)):
        assert run(left, i, right, j) == wanted


def test_blocks_of_one_array_may_be_read_and_written():
    """A chart is one array: the row below is read and the row above is raised."""
    values = np.arange(2.0 * LANES)
    for run in (shifted_block, interpreted(shifted_block)):
        changed = values.copy()
        run(changed, LANES, changed, 0, 10.0)
        assert changed.tolist() == [*range(LANES), *range(10, 10 + LANES)]


@pytest.mark.jit
@pytest.mark.parametrize("other", [np.zeros(SIZE, np.float32), np.zeros(2 * SIZE)[::2], np.zeros(SIZE, np.int64)])
def test_blocks_that_would_be_misread_are_refused(other):
    """Whole blocks are loaded at once: numbers of another type, or with gaps between them, would be garbage."""
    with pytest.raises(numba.core.errors.TypingError):
        shifted_block(np.zeros(SIZE), 0, other, 0, 1.0)
    with pytest.raises(numba.core.errors.TypingError):
        product_block(np.zeros(SIZE), 0, np.zeros(SIZE), 0, np.zeros(SIZE), 0, other, 0)
    with pytest.raises(numba.core.errors.TypingError):
        above_block(np.zeros(SIZE), 0, 1.0, other, 0)
    with pytest.raises(numba.core.errors.TypingError):
        dot_block(np.zeros(SIZE), 0, other, 0)
