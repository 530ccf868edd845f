from __future__ import annotations

import zlib
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.search import cross2, cross3, interpreted, mix, string_hash, string_hashes
from treewright.search.hashing import random_below, seed_random, uniform

ANY = st.integers(-(2**31), 2**31 - 1)
fast = examples(200)


@given(st.lists(st.text()))
@fast
def test_hashes_of_strings_are_those_of_single_strings(texts):
    hashes = string_hashes(texts)
    assert hashes.dtype == np.int32
    assert hashes.tolist() == [string_hash(text) for text in texts]


@given(ANY, ANY)
@fast
def test_hashes_stay_below_two_to_the_31_and_are_the_same_compiled_and_interpreted(h, value):
    hashed = mix(h, value)
    assert 0 <= hashed < 2**31
    assert hashed == interpreted(mix)(h, value)
    assert hashed == interpreted(mix)(np.int32(h), np.int32(value))


@given(ANY, ANY, ANY, ANY)
@fast
def test_crosses_are_the_same_compiled_and_interpreted(template, a, b, c):
    assert 0 <= cross2(template, a, b) < 2**31
    assert cross2(template, a, b) == interpreted(cross2)(template, a, b)
    assert cross3(template, a, b, c) == interpreted(cross3)(template, a, b, c)


def test_crosses_of_small_numbers_hardly_collide():
    made = [cross2(template, a, b) for template, a, b in product(range(30), range(30), range(30))]
    assert len(made) - len(set(made)) < 10


@pytest.mark.parametrize("bits", [4, 10])
def test_low_bits_of_hashes_are_spread_evenly(bits):
    rows = [cross2(3, a, b) & ((1 << bits) - 1) for a in range(128) for b in range(128)]
    counts = np.bincount(rows, minlength=1 << bits)
    expected = len(rows) / (1 << bits)
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    degrees = (1 << bits) - 1
    assert abs(chi_square - degrees) < 5 * np.sqrt(2 * degrees)


def test_string_hash_is_fixed_for_all_processes():
    assert string_hash("") == 0
    assert string_hash("größer") == zlib.crc32("größer".encode()) & 0x7FFFFFFF


def draws(count, *seeds):
    state = np.zeros(2, np.int64)
    seed_random(state, *seeds)
    return [uniform(state) for _ in range(count)]


def test_random_numbers_lie_strictly_between_0_and_1_and_are_roughly_uniform():
    numbers = np.array(draws(20_000, 1, 2, 3))
    assert numbers.min() > 0.0
    assert numbers.max() < 1.0
    counts = np.histogram(numbers, bins=20, range=(0.0, 1.0))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 45.0  # 19 degrees of freedom: p < 0.001 beyond 43.8
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.03


def test_random_numbers_are_the_same_compiled_and_interpreted():
    state = np.zeros(2, np.int64)
    interpreted(seed_random)(state, 1, 2, 3)
    assert [interpreted(uniform)(state) for _ in range(50)] == draws(50, 1, 2, 3)


def test_every_seed_pass_and_sentence_has_random_numbers_of_its_own():
    firsts = [draws(1, seed, number, i)[0] for seed in range(10) for number in range(10) for i in range(20)]
    assert len(set(firsts)) == len(firsts)
    assert abs(np.mean(firsts) - 0.5) < 0.03


def test_random_below_reaches_every_number_and_no_other():
    state = np.zeros(2, np.int64)
    seed_random(state, 0, 0, 0)
    counts = np.bincount([random_below(state, 3) for _ in range(3000)], minlength=3)
    assert len(counts) == 3
    assert (np.abs(counts - 1000) < 130).all()
    assert random_below(state, 1) == 0
