"""What a tagger sees of a word: a row of integer attributes, computed once for each form."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np
import numpy.typing as npt

from treewright.search import string_hash

__all__ = ["ATTRIBUTES", "WordTable", "word_shape"]

#: the columns of the table
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


def word_shape(form: str) -> str:
    """Capitals, lower case, digits and signs, with runs shortened to two.

    >>> word_shape("McDonald's"), word_shape("1,250"), word_shape("NATO")
    ("XxXxx'x", 'd,dd', 'XX')
    """
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in form[:40]]
    return "".join([kind for i, kind in enumerate(kinds) if i < 2 or not kind == kinds[i - 1] == kinds[i - 2]])


class WordTable:
    """Attributes of forms, a row each; rows are added as new forms come. Row 0 stands for what is beyond the sentence.

    Words whose lower-case form is not in ``vocabulary`` are rare or new: all of them have the same form, and only their
    affixes and shape tell them apart.
    """

    def __init__(self, vocabulary: Container[str]) -> None:
        self.vocabulary = vocabulary
        self._numbers: dict[str, int] = {}
        self._rows = np.zeros((1024, len(ATTRIBUTES)), np.int32)

    def __len__(self) -> int:
        return len(self._numbers) + 1

    def number(self, form: str) -> int:
        """The row of a form."""
        number = self._numbers.get(form)
        if number is None:
            number = len(self)
            if number == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[number] = self._attributes(form)
            self._numbers[form] = number
        return number

    def numbers(self, forms: Sequence[str]) -> list[int]:
        """The rows of many forms."""
        known = self._numbers
        for form in dict.fromkeys(forms):  # in order, so that the same corpus has the same numbers in every process
            if form not in known:
                self.number(form)
        return [known[form] for form in forms]

    def array(self) -> npt.NDArray[np.int32]:
        """The table so far: rows × attributes."""
        return self._rows[: len(self)].copy()

    def _attributes(self, form: str) -> list[int]:
        lower = form.lower()
        suffixes, prefixes = [lower[-k:] for k in range(1, 6)], [lower[:k] for k in range(1, 5)]
        words = [form, lower] if lower in self.vocabulary else [_RARE, _RARE]
        return [string_hash(text) for text in (*words, *suffixes, *prefixes, word_shape(form))]
