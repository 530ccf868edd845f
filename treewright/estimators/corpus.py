"""Read the corpora of estimators, and report errors in them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from treewright.corpora import Sentence, load_corpus
from treewright.errors import ConfigError, CorpusError

__all__ = ["Corpus", "corpus_error", "read_corpus"]

Corpus = str | os.PathLike[str] | Iterable[Sentence]
"""Sentences, or the path of a file of them."""


def read_corpus(corpus: Corpus, *, column: str = "upos", advice: str = "") -> list[Sentence]:
    """Return the sentences of a corpus, given the path of a file or sentences.

    Args:
        corpus: sentences, or the path of a file.
        column: the column that the tags of a tabular file belong to.
        advice: how to get sentences with gold annotation, for the error message.

    Raises:
        ConfigError: if something in it is no :class:`~treewright.corpora.Sentence`.
        CorpusError: if the file cannot be read, or if there are no sentences.

    >>> read_corpus([["a", "dog"]])
    Traceback (most recent call last):
    treewright.errors.ConfigError: a corpus is a file or a list of Sentence objects, not of list
    """
    given: Any = corpus
    if isinstance(given, (str, os.PathLike)):
        sentences = load_corpus(given, column=column)
    elif isinstance(given, Iterable):
        sentences = list(given)
    else:
        raise ConfigError(f"a corpus is a file or a list of Sentence objects, not {given!r}")
    kinds = {type(sentence).__name__ for sentence in sentences if not isinstance(sentence, Sentence)}
    if kinds:
        what = f"a corpus is a file or a list of Sentence objects, not of {' or '.join(sorted(kinds))}"
        raise ConfigError(f"{what}; {advice}" if advice else what)
    if not sentences:
        raise CorpusError("the corpus has no sentences")
    return sentences


def corpus_error(message: str, sentence: Sentence, number: int) -> CorpusError:
    """Return the error that names a sentence: by its file and line, or else by its number, counted from 1.

    >>> str(corpus_error("no tree", Sentence.from_words(["a"]), 3))
    'sentence 3: no tree'
    """
    if sentence.path is None:
        return CorpusError(f"sentence {number}: {message}")
    return CorpusError(message, path=sentence.path, line=sentence.line)
