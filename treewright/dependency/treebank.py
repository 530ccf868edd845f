"""Conversions between treebanks and arrays, for all dependency parsers.

All words of a corpus are in one array, and ``at`` has the offset of each sentence, and the end of the last one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.dependency.projective import LIFTED, deprojectivize, lift_corpus, plain_label
from treewright.dependency.trees import check_trees
from treewright.estimators import Corpus, read_corpus

__all__ = [
    "Arcs",
    "count_words",
    "framed",
    "gold_arcs",
    "las_against",
    "named_arcs",
    "named_trees",
    "offsets",
    "read_treebank",
    "words_of",
]

Shorts = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

Arcs = tuple[list[int], list[str]]
"""The heads and the labels of the words of a sentence; 0 is the root."""

_LIFTED_COUNT = 10  # labels of lifted words that are rarer than this are not separate classes


def read_treebank(corpus: Corpus) -> list[Sentence]:
    """Return the sentences of a corpus, all of which must have well-formed trees."""
    sentences = read_corpus(corpus)
    check_trees(sentences)
    return sentences


def words_of(sentences: Iterable[Sentence], min_count: int) -> set[str]:
    """Return the forms and lemmas, in lower case, that occur with ``min_count`` words or more."""
    return {word for word, count in count_words(sentences).items() if count >= min_count}


def count_words(sentences: Iterable[Sentence]) -> Counter[str]:
    """Return the number of words with each form or lemma, in lower case."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        for form, lemma, *_ in sentence.tokens:
            counts[form.lower()] += 1
            if lemma.lower() != form.lower():
                counts[lemma.lower()] += 1
    return counts


def gold_arcs(sentences: Sequence[Sentence], *, lifted: bool) -> tuple[Shorts, list[str], Longs]:
    """Return the heads and labels of all words, and the offset of each sentence.

    With ``lifted``, trees are made projective first (:mod:`treewright.dependency.projective`).
    """
    at = offsets([sentence.tokens for sentence in sentences])
    heads = np.fromiter((t.head or 0 for s in sentences for t in s.tokens), np.int32, int(at[-1]))
    labels = [t.deprel for s in sentences for t in s.tokens]
    return (*(lift_corpus(heads, labels, at, min_count=_LIFTED_COUNT) if lifted else (heads, labels)), at)


def offsets(parts: Sequence[Sequence[Any]]) -> Longs:
    """Return the offset of each sequence in their concatenation, and the end of the last one.

    >>> offsets(["ab", "", "c"]).tolist()
    [0, 2, 2, 3]
    """
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def framed(values: Shorts, at: Longs, before: int, after: int) -> Shorts:
    """Return the values of each sentence with one value added before and one after them.

    >>> framed(np.array([5, 6, 7], np.int32), np.array([0, 2, 3]), 0, 9).tolist()
    [0, 5, 6, 9, 0, 7, 9]
    """
    n = len(at) - 1
    found = np.empty(len(values) + 2 * n, np.int32)
    edges = at + 2 * np.arange(n + 1)
    inner = np.ones(len(found), np.bool_)
    inner[edges[:-1]] = inner[edges[1:] - 1] = False
    found[inner] = values
    found[edges[:-1]] = before
    found[edges[1:] - 1] = after
    return found


def named_trees(heads: Shorts, labels: Shorts, at: Longs, names: Sequence[str]) -> list[Arcs]:
    """Return the trees of sentences, with the names of labels, and with lifted words moved back."""
    all_heads, all_labels = named_arcs(heads, labels, at, names)
    return [(all_heads[a:b], all_labels[a:b]) for a, b in pairwise(at.tolist())]


def named_arcs(heads: Shorts, labels: Shorts, at: Longs, names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the heads and the names of the labels of all words, with lifted words moved back."""
    all_heads, all_labels = heads.tolist(), list(map(names.__getitem__, labels.tolist()))
    for i in _lifted_sentences(labels, at, names):
        a, b = int(at[i]), int(at[i + 1])
        all_heads[a:b], all_labels[a:b] = deprojectivize(all_heads[a:b], all_labels[a:b])
    return all_heads, all_labels


def las_against(gold: Sequence[Sentence], names: Sequence[str]) -> Callable[[Shorts, Shorts, Longs], float]:
    """Return a function that scores the trees of sentences, as :func:`named_trees` takes them, by their LAS."""
    gold_heads = np.array([t.head for s in gold for t in s.tokens], np.int32)
    numbers = {label: number for number, label in enumerate(names)}
    gold_labels = np.array([numbers.get(t.deprel, -1) for s in gold for t in s.tokens], np.int32)
    plain = np.array([numbers.get(plain_label(label), -1) for label in names])

    def las(heads: Shorts, labels: Shorts, at: Longs) -> float:
        for i in _lifted_sentences(labels, at, names):
            a, b = at[i], at[i + 1]
            heads[a:b] = deprojectivize(heads[a:b].tolist(), [names[k] for k in labels[a:b]])[0]
        return float(((heads == gold_heads) & (plain[labels] == gold_labels)).mean())

    return las


def _lifted_sentences(labels: Shorts, at: Longs, names: Sequence[str]) -> list[int]:
    """The sentences that have a label of a lifted word."""
    lifted = np.array([LIFTED in name for name in names])
    words = np.flatnonzero(lifted[labels])
    return sorted(set((np.searchsorted(at, words, side="right") - 1).tolist()))
