"""The attributes of words: a row of hashed attributes, computed once for each word with its annotation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.dependency.templates import WORD_ATTRIBUTES
from treewright.search import string_hash

__all__ = ["NOTHING_ROW", "ROOT_ROW", "word_case", "word_rows"]

NOTHING_ROW, ROOT_ROW = 0, 1

_RARE = "\0rare"
_REMEMBERED = 1 << 17  # words with their annotation


def word_case(form: str) -> str:
    """Return the pattern of capitals and digits in a word, in short.

    >>> word_case("Paris"), word_case("NATO"), word_case("B52"), word_case("of")
    ('Xx', 'X', 'X0', 'x')
    """
    kinds = ["X" if c.isupper() else "0" if c.isdigit() else "x" if c.isalpha() else "." for c in form[:20]]
    return "".join([kind for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]])


def word_rows(
    words: Iterable[Sequence[Any]], vocabulary: Container[str]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the row of each word in a table, and the table: one row for each word with its annotation.

    A word is a token, or its first five columns. Two further rows are for no word and for the root. Forms and lemmas
    that are not in ``vocabulary`` are rare or unknown: they share one value, and only tag, features, suffix and
    capitals distinguish them.
    """
    numbers: defaultdict[Any, int] = defaultdict(None, {("\0nothing",): NOTHING_ROW, ("\0root",): ROOT_ROW})
    numbers.default_factory = numbers.__len__  # a new word has the next row
    keys = [word[:5] for word in words]
    rows = np.fromiter(map(numbers.__getitem__, keys), np.int32, len(keys))
    lines = [_row(key, key[0].lower() in vocabulary, key[1].lower() in vocabulary) for key in islice(numbers, 2, None)]
    table = np.frombuffer(bytearray().join([_FIRST_ROWS, *lines]), np.int32).reshape(-1, len(WORD_ATTRIBUTES))
    return rows, table


@lru_cache(maxsize=_REMEMBERED)
def _row(word: tuple[str, ...], known_form: bool, known_lemma: bool) -> bytes:
    """The attributes of a word as the bytes of an array."""
    form, lemma, upos, xpos, feats = word
    lower = form.lower()
    tag = xpos if xpos != "_" else upos
    seen, base = lower if known_form else _RARE, lemma.lower() if known_lemma else _RARE
    values = (
        f"w {seen}", f"m {base}", f"t {tag}", f"u {upos}", f"f {feats}", f"wt {seen} {tag}", f"g {upos} {feats}",
        f"s {lower[-3:]}", f"c {word_case(form)}",
    )  # fmt: skip
    return _hashed(values)


def _hashed(values: Iterable[str]) -> bytes:
    return np.array([string_hash(value) for value in values], np.int32).tobytes()


_FIRST_ROWS = b"".join(
    _hashed(f"{name} {attribute}" for attribute in WORD_ATTRIBUTES) for name in ("\0nothing", "\0root")
)
