"""The labels and the known words of a corpus, which taggers collect before training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from treewright.corpora import Sentence
from treewright.errors import CorpusError
from treewright.estimators import Corpus, read_corpus
from treewright.models import pack_strings, unpack_strings

__all__ = ["collect_labels", "count_words", "labelled_corpus", "words_from_arrays", "words_to_arrays"]

_ADVICE = 'from words and labels: Sentence.from_words(["a", "dog"]).with_column("upos", ["DET", "NOUN"])'


def labelled_corpus(corpus: Corpus, column: str) -> list[Sentence]:
    """Return the sentences of a corpus; the labels of a tabular file become ``column``."""
    return read_corpus(corpus, column=column, advice=_ADVICE)


def collect_labels(sentences: Sequence[Sentence], column: str) -> list[str]:
    """Return all labels in a column, sorted; it is an error if there are none."""
    labels = {getattr(token, column) for sentence in sentences for token in sentence.tokens}
    if not labels:
        raise CorpusError("there is nothing to learn from or to score: no words", path=sentences[0].path)
    if labels == {"_"}:
        raise CorpusError(
            f"the column {column} is empty (_) everywhere: is this the right column?", path=sentences[0].path
        )
    return sorted(labels)


def count_words(sentences: Iterable[Sentence], min_count: int) -> dict[str, int]:
    """Return the lower-case forms that occur at least ``min_count`` times, and their counts."""
    counts = Counter(form.lower() for sentence in sentences for form in sentence.forms)
    return {word: count for word, count in counts.items() if count >= min_count}


def words_to_arrays(vocabulary: Mapping[str, int]) -> dict[str, Any]:
    """Return the words of a vocabulary and their counts as arrays of a model file."""
    words = sorted(vocabulary)
    return {**pack_strings(words, "words"), "word_counts": np.array([vocabulary[word] for word in words], np.int32)}


def words_from_arrays(arrays: Mapping[str, Any]) -> dict[str, int]:
    """Return the vocabulary that :func:`words_to_arrays` packed."""
    return dict(zip(unpack_strings(arrays, "words"), arrays["word_counts"].tolist(), strict=True))
