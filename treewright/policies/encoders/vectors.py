"""Fixed word vectors: read from text files (word2vec, GloVe, fastText), cut to the first words, in 8 bits.

A line has a word and its numbers, separated by spaces. A first line with two whole numbers, the number of words and
the width, may come before them. Files list frequent words first, so the first lines are the ones to keep.
"""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.corpora.files import text_lines
from treewright.corpora.notation import shortened
from treewright.errors import CorpusError
from treewright.models import pack_strings, unpack_strings

__all__ = ["Vectors", "read_vectors"]

_LEVELS = 127
_WIDEST = 100_000  # numbers of a vector


@dataclass(frozen=True, eq=False)
class Vectors:
    """Fixed vectors of words, as whole numbers of 8 bits and a scale for each word."""

    words: tuple[str, ...]
    values: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]

    @property
    def width(self) -> int:
        """The size of a vector."""
        return int(self.values.shape[1])

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def find(self, form: str) -> int:
        """The number of the vector of a form, or of the form in lower case; −1 where there is none."""
        found = self.numbers.get(form)
        return self.numbers.get(form.lower(), -1) if found is None else found

    def rows(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """The vectors by their numbers; zeros for −1."""
        found: npt.NDArray[np.float32] = self.values[numbers].astype(np.float32) * self.scales[numbers, None]
        found[numbers < 0] = 0.0
        return found

    @classmethod
    def quantised(cls, words: tuple[str, ...], vectors: npt.NDArray[np.float32]) -> Vectors:
        """Vectors rounded to 8 bits: the largest number of a vector becomes 127."""
        scales = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float32) / np.float32(_LEVELS)
        scales[scales == 0.0] = 1.0
        return cls(words, np.rint(vectors / scales[:, None]).astype(np.int8), scales)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The vectors as arrays for a model file."""
        return {"vectors": self.values, "vector_scales": self.scales, **pack_strings(self.words, "vector_words")}

    @classmethod
    def from_arrays(cls, arrays: Any) -> Vectors:
        """The vectors that :meth:`to_arrays` wrote."""
        return cls(tuple(unpack_strings(arrays, "vector_words")), arrays["vectors"], arrays["vector_scales"])


def read_vectors(path: str | os.PathLike[str], most: int | None = None) -> Vectors:
    """Read the first ``most`` vectors of a text file; of a word that occurs twice, the first vector counts.

    Raises:
        CorpusError: for a line without a word, with something that is not a number, or with a vector of another width
            than the first one; and if there are no vectors in the file.
    """
    words: dict[str, None] = {}
    values = array("f")
    width = 0
    for number, line in enumerate(text_lines(path), 1):
        if line.count(" ") > _WIDEST:
            raise CorpusError(f"a line of more than {_WIDEST:,} numbers", path=os.fspath(path), line=number)
        parts = line.rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
            # int() refuses thousands of digits; a width beyond the limit fits no line, and is told there
            width = int(parts[1]) if len(parts[1]) < 20 else _WIDEST + 1
            continue
        if not line.strip():
            continue
        if most is not None and len(words) >= most:
            break
        width = width or len(parts) - 1
        word = " ".join(parts[:-width]) if 0 < width < len(parts) else ""
        if not word or _ends_with_number(word):
            expected = f"a word and {width or 'its'} numbers are expected, separated by spaces"
            raise CorpusError(
                f"{expected}; found {len(parts) - 1} after {shortened(parts[0])}", path=os.fspath(path), line=number
            )
        try:
            row = np.array(parts[-width:], np.float32)
        except ValueError:
            row = np.full(1, np.nan, np.float32)
        if not np.isfinite(row).all():
            problem = f"the vector of {shortened(word)} has something that is not a finite number"
            raise CorpusError(problem, path=os.fspath(path), line=number)
        if word not in words:
            words[word] = None
            values.frombytes(row.tobytes())
    if not words:
        raise CorpusError("there are no vectors in this file", path=os.fspath(path))
    return Vectors.quantised(tuple(words), np.frombuffer(values, np.float32).reshape(len(words), -1))


def _ends_with_number(word: str) -> bool:
    """Whether a word that contains spaces ends with a number: then the line has a number too many."""
    if " " not in word:
        return False
    try:
        float(word.rsplit(" ", 1)[1])
    except ValueError:
        return False
    return True
