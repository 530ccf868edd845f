"""The attributes of words: a row of hashed attributes, computed once for each word with its annotation."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from treewright.dependency.templates import WORD_ATTRIBUTES
from treewright.search import string_hash
from treewright.search.rows import Rows

__all__ = ["NOTHING_ROW", "ROOT_ROW", "WordRows", "word_case", "word_rows"]

NOTHING_ROW, ROOT_ROW = 0, 1

_RARE = "\0rare"
_first_columns = itemgetter(slice(5))


def word_case(form: str) -> str:
    """Return the pattern of capitals and digits in a word, in short.

    >>> word_case("Paris"), word_case("NATO"), word_case("B52"), word_case("of")
    ('Xx', 'X', 'X0', 'x')
    """
    kinds = ["X" if c.isupper() else "0" if c.isdigit() else "x" if c.isalpha() else "." for c in form[:20]]
    return "".join([kind for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]])


class WordRows(Rows[tuple[str, ...]]):
    """A table with a row for each word with its annotation: its first five columns.

    Two further rows are for no word and for the root. Forms and lemmas that are not in ``vocabulary`` are rare or
    unknown: they share one value, and only tag, features, suffix and capitals distinguish them.
    """

    def __init__(self, vocabulary: Container[str]) -> None:
        super().__init__(lambda word: _row(word, vocabulary), first=_first_rows())
        self.vocabulary = vocabulary

    def numbers(self, words: Iterable[Sequence[Any]]) -> npt.NDArray[np.int32]:
        """Return the number of each word, which may be a token."""
        return super().numbers(map(_first_columns, words))

    def _empty(self) -> Self:
        return type(self)(self.vocabulary)


def word_rows(
    words: Iterable[Sequence[Any]], vocabulary: Container[str]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the row of each word in a table, and the table (:class:`WordRows`)."""
    rows = WordRows(vocabulary)
    return rows.numbers(words), rows.table[: len(rows) + 2]


def _row(word: tuple[str, ...], vocabulary: Container[str]) -> Sequence[str]:
    """The attributes of a word."""
    form, lemma, upos, xpos, feats = word
    lower, low_lemma = form.lower(), lemma.lower()
    tag = xpos if xpos != "_" else upos
    seen, base = lower if lower in vocabulary else _RARE, low_lemma if low_lemma in vocabulary else _RARE
    return (
        f"w {seen}", f"m {base}", f"t {tag}", f"u {upos}", f"f {feats}", f"wt {seen} {tag}", f"g {upos} {feats}",
        f"s {lower[-3:]}", f"c {word_case(form)}",
    )  # fmt: skip


@cache
def _first_rows() -> list[list[int]]:
    return [[string_hash(f"{name} {each}") for each in WORD_ATTRIBUTES] for name in ("\0nothing", "\0root")]
