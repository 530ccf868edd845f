"""Feature hashing and a small random generator, identical to the bit compiled and interpreted.

All arithmetic stays below 2⁶³, so that Python's integers, NumPy's and Numba's agree without wrapping around.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled

__all__ = ["cross2", "cross3", "mix", "random_below", "seed_random", "string_hash", "string_hashes", "uniform"]

_MASK = np.int64(0x7FFFFFFF)
_A, _B = np.int64(0x2BD1E995), np.int64(0x27D4EB2F)  # odd and below 2³⁰, so that the sum of products stays below 2⁶³
_SHIFT = np.int64(29)
_FOLD = np.int64(15)

# L'Ecuyer's combined multiplicative congruential generator (1988): two 31-bit states, period about 2·10¹⁸.
_M1, _M2 = np.int64(2147483563), np.int64(2147483399)
_A1, _A2 = np.int64(40014), np.int64(40692)


def string_hash(text: str) -> int:
    """A hash of a string below 2³¹ that is the same in every process.

    >>> string_hash("cat")
    509494184
    """
    return zlib.crc32(text.encode()) & 0x7FFFFFFF


def string_hashes(texts: Iterable[str]) -> npt.NDArray[np.int32]:
    """The hashes of strings, in less time than one by one.

    >>> string_hashes(["cat", ""]).tolist()
    [509494184, 0]
    """
    return (np.fromiter(map(zlib.crc32, map(str.encode, texts)), np.uint32) & np.uint32(0x7FFFFFFF)).astype(np.int32)


@compiled
def mix(h: int, value: int) -> int:
    """Combine a hash with one more value (both are taken modulo 2³¹; the order of the two matters)."""
    total = (np.int64(h) & _MASK) * _A + (np.int64(value) & _MASK) * _B
    total = (total ^ (total >> _SHIFT)) & _MASK
    return total ^ (total >> _FOLD)


@compiled
def cross2(template: int, a: int, b: int) -> int:
    """The feature of a template with two values."""
    return mix(mix(mix(np.int64(12345), template), a), b)


@compiled
def cross3(template: int, a: int, b: int, c: int) -> int:
    """The feature of a template with three values."""
    return mix(cross2(template, a, b), c)


@compiled
def seed_random(state: npt.NDArray[np.int64], seed: int, pass_number: int, sentence: int) -> None:
    """Start the generator of one sentence in one pass: it does not depend on threads or on other sentences."""
    h = mix(mix(mix(np.int64(2654435), seed), pass_number), sentence)
    state[0] = np.int64(1) + h % (_M1 - np.int64(1))
    state[1] = np.int64(1) + mix(h, np.int64(77)) % (_M2 - np.int64(1))
    for _ in range(3):
        uniform(state)


@compiled
def uniform(state: npt.NDArray[np.int64]) -> float:
    """The next random number in (0, 1)."""
    state[0] = (_A1 * state[0]) % _M1
    state[1] = (_A2 * state[1]) % _M2
    difference = state[0] - state[1]
    if difference < np.int64(1):
        difference += _M1 - np.int64(1)
    return np.float64(difference) / np.float64(_M1)


@compiled
def random_below(state: npt.NDArray[np.int64], bound: int) -> int:
    """A random integer from 0 to bound − 1."""
    return np.int64(uniform(state) * np.float64(bound))
