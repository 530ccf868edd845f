"""Fixed word vectors from text files (word2vec, GloVe, fastText): the first words, with 8 bits per number.

A line has a word and its numbers, separated by spaces. The file may begin with a header of two integers, the number
of words and the width. Files list frequent words first, so the first lines are kept.
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
_WIDEST = 100_000  # the maximum number of dimensions


@dataclass(frozen=True, eq=False)
class Vectors:
    """Fixed vectors of words, as 8-bit integers and a scale for each word."""

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
        """Return the number of the vector of a form, or else of the form in lower case; −1 if there is none."""
        found = self.numbers.get(form)
        return self.numbers.get(form.lower(), -1) if found is None else found

    def rows(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the vectors with the given numbers; zeros for −1."""
        found: npt.NDArray[np.float32] = self.values[numbers].astype(np.float32) * self.scales[numbers, None]
        found[numbers < 0] = 0.0
        return found

    @classmethod
    def quantised(cls, words: tuple[str, ...], vectors: npt.NDArray[np.float32]) -> Vectors:
        """Round vectors to 8 bits: the largest number of a vector becomes 127."""
        scales = np.abs(vectors).max(axis=1, initial=0.0).astype(np.float32) / np.float32(_LEVELS)
        scales[scales == 0.0] = 1.0
        return cls(words, np.rint(vectors / scales[:, None]).astype(np.int8), scales)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the vectors as arrays for a model file."""
        return {"vectors": self.values, "vector_scales": self.scales, **pack_strings(self.words, "vector_words")}

    @classmethod
    def from_arrays(cls, arrays: Any) -> Vectors:
        """Return the vectors that :meth:`to_arrays` wrote."""
        return cls(tuple(unpack_strings(arrays, "vector_words")), arrays["vectors"], arrays["vector_scales"])


def read_vectors(path: str | os.PathLike[str], most: int | None = None) -> Vectors:
    """Read the first ``most`` vectors of a text file; if a word occurs twice, its first vector is used.

    Raises:
        CorpusError: if a line has no word, a value that is not a number, or a vector whose width differs from the first
            one, or if the file contains no vectors.
    """
    words: dict[str, None] = {}
    values = array("f")
    width = 0
    for number, line in enumerate(text_lines(path), 1):
        if line.count(" ") > _WIDEST:
            raise CorpusError(f"a line of more than {_WIDEST:,} numbers", path=os.fspath(path), line=number)
        parts = line.rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
            # int() rejects thousands of digits; a width beyond the limit fits no line, and the error is raised there
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
    """Whether a word with spaces ends with a number, so that the line has one number too many."""
    if " " not in word:
        return False
    try:
        float(word.rsplit(" ", 1)[1])
    except ValueError:
        return False
    return True
