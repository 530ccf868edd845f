"""Scores of the columns of words, and of the tokens and sentences of a text, against a treebank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.errors import CorpusError
from treewright.metrics import Comparison, bootstrap_interval, compare
from treewright.text.raw import surface_tokens

__all__ = [
    "ColumnScores",
    "TokenScores",
    "compare_columns",
    "compare_tokens",
    "count_columns",
    "count_words",
    "score_columns",
    "score_tokens",
]


@dataclass(frozen=True)
class ColumnScores:
    """The share of words that are right in all columns, with its 95 % interval, and in each single column."""

    accuracy: float
    interval: tuple[float, float]
    columns: dict[str, float]
    exact: float
    tokens: int
    sentences: int

    name: ClassVar[str] = "accuracy"

    @property
    def main(self) -> float:
        """The share of words that are right in all columns."""
        return self.accuracy

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        return asdict(self)


def score_columns(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], columns: Sequence[str], *, seed: int = 0
) -> ColumnScores:
    """Compare columns of two annotations of the same sentences.

    >>> a = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "VERB"])
    >>> b = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "NOUN"])
    >>> score_columns([a], [b], ["upos", "xpos"]).columns
    {'upos': 0.5, 'xpos': 1.0}
    """
    pairs = list(_paired(gold, predicted))
    hits = _hits(pairs, columns)
    totals = np.array([len(right) for right, _ in pairs])
    tokens = int(totals.sum())
    if not tokens:
        raise CorpusError("there is nothing to score: no tokens")
    interval = bootstrap_interval(hits.tolist(), totals.tolist(), seed=seed)
    return ColumnScores(
        accuracy=float(hits.sum()) / tokens,
        interval=(float(interval.low), float(interval.high)),
        columns={column: float(_hits(pairs, [column]).sum()) / tokens for column in columns},
        exact=float((hits == totals).mean()),
        tokens=tokens,
        sentences=len(pairs),
    )


def compare_columns(
    gold: Sequence[Sentence], a: Iterable[Sentence], b: Iterable[Sentence], columns: Sequence[str], **options: Any
) -> Comparison:
    """Compare annotations A and B of some columns: is B better, and is the difference significant?"""
    first, second = (count_columns(gold, annotation, columns) for annotation in (a, b))
    return compare(first, second, measure="accuracy", **options)


def count_columns(
    gold: Sequence[Sentence], predicted: Iterable[Sentence], columns: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Return the number of words that are right in all columns, and of all words, for each sentence with words."""
    pairs = [pair for pair in _paired(gold, predicted) if len(pair[0])]
    if not pairs:
        raise CorpusError("there is nothing to score: no tokens")
    return np.stack([_hits(pairs, columns), [len(right) for right, _ in pairs]], 1).astype(np.float64)


def _hits(pairs: Sequence[tuple[Sentence, Sentence]], columns: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the number of words of each sentence that are right in all of some columns."""
    found = []
    for right, guess in pairs:
        both = (zip(*(side.column(name) for name in columns), strict=True) for side in (right, guess))
        found.append(sum(a == b for a, b in zip(*both, strict=True)))
    return np.array(found, np.int64)


def _paired(gold: Iterable[Sentence], predicted: Iterable[Sentence]) -> Iterator[tuple[Sentence, Sentence]]:
    for number, (right, guess) in enumerate(zip(gold, predicted, strict=True), 1):
        if right.forms != guess.forms:
            raise CorpusError(f"sentence {number} has other words in the gold and in the predicted annotation")
        yield right, guess


@dataclass(frozen=True)
class TokenScores:
    """F1 of words with its 95 % interval, and of tokens and sentences, by the rules of CoNLL 2018.

    A word is right if its token has the right span and the word has the right form and position in the token.
    """

    words: float
    interval: tuple[float, float]
    tokens: float
    sentences: float
    gold_words: int

    name: ClassVar[str] = "words F1"

    @property
    def main(self) -> float:
        """The F1 of words."""
        return self.words

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        return asdict(self)


def score_tokens(
    gold: Sequence[Sequence[Sentence]], found: Sequence[Sequence[Sentence]], *, seed: int = 0
) -> TokenScores:
    """Compare the gold sentences of paragraphs with those found in their text.

    >>> gold, found = [Sentence.from_words(["A", "dog"])], [Sentence.from_words(["A"]), Sentence.from_words(["dog"])]
    >>> scores = score_tokens([gold], [found])
    >>> scores.tokens, scores.sentences
    (1.0, 0.0)
    """
    counts = {name: _span_counts(gold, found, name) for name in ("words", "tokens", "sentences")}
    both = counts["words"]
    if not both[:, 1].sum():
        raise CorpusError("there is nothing to score: no tokens")
    interval = bootstrap_interval(both[:, 0].tolist(), both[:, 1].tolist(), seed=seed)
    f1 = {name: float(count[:, 0].sum() / max(1.0, count[:, 1].sum())) for name, count in counts.items()}
    gold_words = sum(len(sentence) for paragraph in gold for sentence in paragraph)
    return TokenScores(
        f1["words"], (float(interval.low), float(interval.high)), f1["tokens"], f1["sentences"], gold_words
    )


def compare_tokens(
    gold: Sequence[Sequence[Sentence]],
    a: Sequence[Sequence[Sentence]],
    b: Sequence[Sequence[Sentence]],
    **options: Any,
) -> Comparison:
    """Compare the words of A and B: is B better, and is the difference significant?"""
    return compare(count_words(gold, a), count_words(gold, b), measure="words F1", **options)


def count_words(gold: Sequence[Sequence[Sentence]], predicted: Sequence[Sequence[Sentence]]) -> npt.NDArray[np.float64]:
    """Return two counts for the words of each paragraph, whose ratio is F1."""
    return _span_counts(gold, predicted, "words")


def _span_counts(
    gold: Sequence[Sequence[Sentence]], found: Sequence[Sequence[Sentence]], what: str
) -> npt.NDArray[np.float64]:
    """Return for each paragraph twice the number of common spans, and the number of spans on both sides."""
    counts = []
    for right, guess in zip(gold, found, strict=True):
        a, b = _spans(right, what), _spans(guess, what)
        counts.append((2.0 * len(a & b), float(len(a) + len(b))))
    return np.array(counts, np.float64).reshape(-1, 2)


def _spans(sentences: Iterable[Sentence], what: str) -> set[tuple[Any, ...]]:
    """Return sentences, tokens or words as spans of the text without white space."""
    spans: set[tuple[Any, ...]] = set()
    position = 0
    for sentence in sentences:
        start = position
        for token in surface_tokens(sentence):
            end = position + len("".join(token.form.split()))
            if what == "tokens":
                spans.add((position, end))
            if what == "words":
                forms = sentence.forms[token.first - 1 : token.last]
                spans |= {(position, end, place, form) for place, form in enumerate(forms)}
            position = end
        if what == "sentences" and position > start:
            spans.add((start, position))
    return spans
