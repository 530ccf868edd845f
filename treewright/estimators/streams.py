"""Streams of sentences: they are checked and cut into batches, and one batch is decoded while the next one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TypeVar

from treewright.corpora import Sentence
from treewright.errors import ConfigError
from treewright.search.threads import thread_pool

__all__ = ["Input", "as_sentence", "batches", "check_words", "overlapped"]

Input = Iterable[Sentence | Sequence[str]]
"""The input of ``predict``: sentences, or lists of words."""

Item = TypeVar("Item")
Sized = TypeVar("Sized", bound=Sentence | Sequence[str])
Batch = TypeVar("Batch")
Result = TypeVar("Result")


def check_words(sentence: Sentence | Sequence[str]) -> Sentence | Sequence[str]:
    """Return a sentence or a list of words unchanged, and raise :class:`ConfigError` for anything else."""
    if isinstance(sentence, Sentence):
        return sentence
    try:
        if not isinstance(sentence, str):
            "".join(sentence)  # the fastest check that all of them are strings
            return sentence
    except TypeError:
        pass
    raise ConfigError(
        "what is annotated is a list of sentences, each a Sentence or a list of words, such as "
        f'[["she", "can", "see"]]; {sentence!r} is not a sentence'
    )


def as_sentence(sentence: Sentence | Sequence[str]) -> Sentence:
    """Return a sentence, given a sentence or a list of words.

    >>> as_sentence("she can see")
    Traceback (most recent call last):
    treewright.errors.ConfigError: what is annotated is a list of sentences, each a Sentence or a list of words, \
such as [["she", "can", "see"]]; 'she can see' is not a sentence
    """
    if isinstance(sentence, Sentence):
        return sentence
    return Sentence.from_words(map(str, check_words(sentence)))


def batches(
    sentences: Iterable[Item], size: int, convert: Callable[[Item], Sized], measure: Callable[[Sized], int] = len
) -> Iterator[list[Sized]]:
    """Cut sentences into lists of at least ``size`` words; the last one may be shorter.

    Args:
        sentences: the sentences, read only as far as needed.
        size: the sum of ``measure`` at which a batch is complete.
        convert: a function that is applied to each sentence, such as :func:`as_sentence`.
        measure: the size of a sentence, by default its number of words.

    >>> [len(batch) for batch in batches([["a"], ["b", "c"], ["d"], ["e"]], 2, as_sentence)]
    [2, 2]
    """
    batch: list[Sized] = []
    room = size
    for sentence in _iterated(sentences):
        converted = convert(sentence)
        batch.append(converted)
        room -= measure(converted)
        if room <= 0:
            yield batch
            batch, room = [], size
    if batch:
        yield batch


def _iterated(sentences: Iterable[Item]) -> Iterator[Item]:
    try:
        return iter(sentences)
    except TypeError:
        raise ConfigError(f"what is annotated is a list of sentences, and not {sentences!r}") from None


def overlapped(
    batches: Iterable[Batch], prepare: Callable[[Batch], Callable[[], Result]]
) -> Iterator[tuple[Batch, Result]]:
    """Yield each batch with its result, which another thread computes while the next batch is read and prepared.

    ``prepare`` runs in the calling thread and returns the work for the other one. So at most two batches are in memory.
    A list of a single batch needs no other thread.

    >>> list(overlapped(iter([1, 2, 3]), lambda n: lambda: n * n))
    [(1, 1), (2, 4), (3, 9)]
    """
    if isinstance(batches, list) and len(batches) == 1:
        yield batches[0], prepare(batches[0])()
        return
    with thread_pool(1) as pool:
        waiting: tuple[Batch, Future[Result]] | None = None
        for batch in batches:
            future = pool.submit(prepare(batch))
            if waiting is not None:
                yield waiting[0], waiting[1].result()
            waiting = batch, future
        if waiting is not None:
            yield waiting[0], waiting[1].result()
