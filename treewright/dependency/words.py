"""What a parser sees of a word: a row of hashed attributes, computed once for each word with its annotation."""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np
import numpy.typing as npt

from treewright.corpora import Token
from treewright.dependency.templates import WORD_ATTRIBUTES
from treewright.search import string_hash

__all__ = ["ROOT_ROW", "WordTable", "word_case"]

NOTHING_ROW, ROOT_ROW = 0, 1

_RARE = "\0rare"


def word_case(form: str) -> str:
    """Capitals and digits in a word, in short.

    >>> word_case("Paris"), word_case("NATO"), word_case("B52"), word_case("of")
    ('Xx', 'X', 'X0', 'x')
    """
    kinds = ["X" if c.isupper() else "0" if c.isdigit() else "x" if c.isalpha() else "." for c in form[:20]]
    return "".join([kind for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]])


class WordTable:
    """Attributes of words; rows are added as new words come. Two rows stand for nothing and for the root.

    Forms and lemmas that are not in ``vocabulary`` are rare or new: they all look the same, and only tag, features,
    suffix and capitals tell them apart.
    """

    def __init__(self, vocabulary: Container[str]) -> None:
        self.vocabulary = vocabulary
        self._numbers: dict[tuple[str, ...], int] = {}
        self._rows = np.zeros((1024, len(WORD_ATTRIBUTES)), np.int32)
        for row, name in ((NOTHING_ROW, "\0nothing"), (ROOT_ROW, "\0root")):
            self._rows[row] = [string_hash(f"{name} {attribute}") for attribute in WORD_ATTRIBUTES]

    def __len__(self) -> int:
        return len(self._numbers) + 2

    def numbers(self, tokens: Iterable[Token]) -> list[int]:
        """The rows of words."""
        known = self._numbers
        found = [known.get(token[:5], -1) for token in tokens]
        if -1 in found:
            found = [self._number(token) if number < 0 else number for number, token in zip(found, tokens, strict=True)]
        return found

    def _number(self, token: Token) -> int:
        key = token[:5]
        number = self._numbers.get(key)
        if number is None:
            number = len(self)
            self._numbers[key] = number
            if number >= len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[number] = self._attributes(*key)
        return number

    def _attributes(self, form: str, lemma: str, upos: str, xpos: str, feats: str) -> list[int]:
        lower = form.lower()
        tag = xpos if xpos != "_" else upos
        word = lower if lower in self.vocabulary else _RARE
        base = lemma.lower() if lemma.lower() in self.vocabulary else _RARE
        values = (
            f"w {word}", f"m {base}", f"t {tag}", f"u {upos}", f"f {feats}", f"wt {word} {tag}", f"g {upos} {feats}",
            f"s {lower[-3:]}", f"c {word_case(form)}",
        )  # fmt: skip
        return [string_hash(value) for value in values]

    def array(self) -> npt.NDArray[np.int32]:
        """The table."""
        return self._rows[: len(self)]
