"""Drawing corpora from the grammar: any number of sentences, and splits that share no sentence."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import NamedTuple
from zlib import crc32

from treewright.corpora.builtin.derivation import finish
from treewright.corpora.builtin.grammar import Grammar
from treewright.corpora.types import Sentence
from treewright.errors import ConfigError

__all__ = ["Splits", "builtin_corpus", "generate"]

LONGEST = 30
_BUCKETS = 12


class Splits(NamedTuple):
    """A corpus in three parts that have no sentence in common."""

    train: list[Sentence]
    dev: list[Sentence]
    test: list[Sentence]


def generate(n: int, seed: int = 0) -> list[Sentence]:
    """The first ``n`` sentences of the endless corpus with this seed.

    The same seed gives the same sentences in every process and on every version of Python, and a larger ``n`` only adds
    sentences.

    >>> for sentence in generate(3, seed=1):
    ...     print(sentence)
    This happy sailor does not decide to paint the table with the brushes .
    May 's father 's friend is bringing 22 sandwiches and 31 oranges to many angry singers .
    We 're never very kind .
    """
    if n < 0:
        raise ConfigError(f"the number of sentences must be 0 or more, not {n}")
    return list(islice(_stream(seed), n))


def builtin_corpus(train: int = 2000, dev: int = 200, test: int = 200, seed: int = 0) -> Splits:
    """The built-in corpus, split into parts that share no sentence.

    A checksum of its words decides which part a sentence belongs to: of twelve sentences, about ten are for training,
    one for development and one for test. So the parts are disjoint for all sizes, and a larger part begins with the
    smaller one. Within a part a sentence may occur twice, as in real text.

    >>> corpus = builtin_corpus(train=20, dev=2, test=2)
    >>> [len(part) for part in corpus]
    [20, 2, 2]
    """
    sizes = (train, dev, test)
    if min(sizes) < 0:
        raise ConfigError(f"the sizes of the splits must be 0 or more, not {sizes}")
    parts: tuple[list[Sentence], ...] = ([], [], [])
    stream = _stream(seed)
    while any(len(part) < size for part, size in zip(parts, sizes, strict=True)):
        sentence = next(stream)
        bucket = crc32(str(sentence).encode()) % _BUCKETS
        index = {0: 1, 1: 2}.get(bucket, 0)
        if len(parts[index]) < sizes[index]:
            parts[index].append(sentence)
    return Splits(*parts)


def _stream(seed: int) -> Iterator[Sentence]:
    grammar = Grammar(Random(int(seed)))
    while True:
        sentence = finish(grammar.sentence())
        if len(sentence) <= LONGEST:
            yield sentence
