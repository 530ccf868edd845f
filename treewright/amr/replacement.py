"""Similar lemmas for those that training has not seen (§4.8 of Goodman 2015).

A lemma that training has not seen is replaced by the most similar one that it has seen, so that the parser has features
and parameters for it. Similar lemmas come from a file, in one of two formats:

* vectors of words, as GloVe has them: each line is a word and its numbers, separated by spaces. The most similar lemma
  is that of the nearest vector (cosine).
* a list, for example from the synonyms of WordNet: each line is a word and similar ones, separated by spaces, the best
  first. The first one that training has seen is taken.

Only words that are in the file and not in training can be replaced. A list replaces fewer of them than vectors: a word
whose similar words are all unseen is not replaced.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from treewright.amr.preparation import Word
from treewright.corpora.files import text_lines
from treewright.errors import CorpusError

__all__ = ["learn_replacements", "with_replacements"]

Vector = npt.NDArray[np.float32]

_BLOCK = 4096  # words that are compared with all lemmas at a time


def learn_replacements(file: str | os.PathLike[str], seen: Mapping[str, int]) -> dict[str, str]:
    """The replacement of each word of a file that is not among the lemmas seen in training."""
    path = Path(file)
    lines = ((number, line) for number, line in enumerate(text_lines(path), 1) if line.strip())
    first = next(lines, None)
    if first is None:
        raise CorpusError("there are no words in this file", path=path)
    numbers = _numbers(first[1])
    if numbers is None:
        rows = (line.split() for _, line in chain([first], lines))
        return {word: lemma for word, *others in rows if word not in seen and (lemma := _first(others, seen))}
    words: list[str] = []
    vectors: list[Vector] = []
    for number, line in chain([first], lines):
        vector = _numbers(line)
        if vector is None or len(vector) != len(numbers):
            raise CorpusError(f"here a word and {len(numbers)} numbers are expected, as before", path=path, line=number)
        words.append(line.split(maxsplit=1)[0])
        vectors.append(vector)
    return _nearest(words, np.stack(vectors), seen)


def _first(words: Sequence[str], seen: Container[str]) -> str | None:
    return next((word for word in words if word in seen), None)


def _numbers(line: str) -> Vector | None:
    """The numbers that follow the word of a line; None if anything else follows, or nothing."""
    texts = line.split()[1:]
    try:
        return np.array(texts, np.float32) if texts else None
    except ValueError:
        return None


def _nearest(words: Sequence[str], vectors: Vector, seen: Container[str]) -> dict[str, str]:
    """The nearest word that was seen, for each that was not."""
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
    known = [k for k, word in enumerate(words) if word in seen]
    others = [k for k, word in enumerate(words) if word not in seen]
    found: dict[str, str] = {}
    for start in range(0, len(others) if known else 0, _BLOCK):
        block = others[start : start + _BLOCK]
        best = (vectors[block] @ vectors[known].T).argmax(axis=1)
        found |= {words[k]: words[known[at]] for k, at in zip(block, best.tolist(), strict=True)}
    return found


def with_replacements(words: Sequence[Word], replacements: Mapping[str, str]) -> list[Word]:
    """The words, with replacements for unseen lemmas; the words and their own lemmas are kept."""
    if not replacements:
        return list(words)
    return [word._replace(stand_in=replacements.get(word.lemma, "")) for word in words]
