"""The attributes of words for taggers: a row of integers, computed once for each form."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from treewright.search import string_hash

__all__ = ["ATTRIBUTES", "word_rows", "word_shape"]

#: the columns of a table of words
ATTRIBUTES = (
    "form",
    "lower",
    "suffix1",
    "suffix2",
    "suffix3",
    "suffix4",
    "suffix5",
    "prefix1",
    "prefix2",
    "prefix3",
    "prefix4",
    "shape",
)

_RARE = "<rare>"
_BEYOND = bytearray(4 * len(ATTRIBUTES))  # row 0: beyond the sentence
_REMEMBERED = 1 << 17  # forms


def word_shape(form: str) -> str:
    """Return capitals, lower case, digits and signs, with runs shortened to two.

    >>> word_shape("McDonald's"), word_shape("1,250"), word_shape("NATO")
    ("XxXxx'x", 'd,dd', 'XX')
    """
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in form[:40]]
    return "".join([kind for i, kind in enumerate(kinds) if i < 2 or not kind == kinds[i - 1] == kinds[i - 2]])


def word_rows(forms: Sequence[str], vocabulary: Container[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the row of each word in a table, and the table: one row for each form, one column for each attribute.

    Row 0 is for positions beyond the sentence. Words whose lower-case form is not in ``vocabulary`` are rare or
    unknown: all of them have the same form, and only their affixes and shape distinguish them.
    """
    numbers = {form: number for number, form in enumerate(dict.fromkeys(forms), 1)}
    rows = [_row(form, form.lower() in vocabulary) for form in numbers]
    table = np.frombuffer(bytearray().join([_BEYOND, *rows]), np.int32).reshape(-1, len(ATTRIBUTES))
    return np.fromiter(map(numbers.__getitem__, forms), np.int32, len(forms)), table


@lru_cache(maxsize=_REMEMBERED)
def _row(form: str, known: bool) -> bytes:
    """The attributes of a form as the bytes of an array."""
    lower = form.lower()
    suffixes, prefixes = [lower[-k:] for k in range(1, 6)], [lower[:k] for k in range(1, 5)]
    words = [form, lower] if known else [_RARE, _RARE]
    texts = (*words, *suffixes, *prefixes, word_shape(form))
    return np.array([string_hash(text) for text in texts], np.int32).tobytes()
