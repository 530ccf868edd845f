"""Scores of labels against gold labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from operator import eq
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.errors import CorpusError
from treewright.metrics import Comparison, bootstrap_interval, compare

__all__ = ["LabelScore", "TaggingScores", "compare_taggings", "count_labels", "majority_baseline", "score_tagging"]


@dataclass(frozen=True)
class LabelScore:
    """Precision, recall and F1 of one label."""

    label: str
    gold: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class TaggingScores:
    """Accuracy over tokens with its 95 % bootstrap interval, over unknown words, and over whole sentences."""

    accuracy: float
    interval: tuple[float, float]
    unknown_accuracy: float | None
    exact: float
    tokens: int
    sentences: int
    unknown: int
    labels: tuple[LabelScore, ...]
    confusions: tuple[tuple[str, str, int], ...]

    name: ClassVar[str] = "accuracy"

    @property
    def main(self) -> float:
        """The accuracy."""
        return self.accuracy

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        return asdict(self)


def score_tagging(
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    column: str = "upos",
    *,
    known: Callable[[str], bool] | None = None,
    seed: int = 0,
) -> TaggingScores:
    """Compare two annotations of the same sentences.

    >>> a = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "VERB"])
    >>> b = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "NOUN"])
    >>> score_tagging([a], [b]).accuracy
    0.5
    """
    correct, totals, unknown_right, unknown_total = [], [], 0, 0
    pairs: Counter[tuple[str, str]] = Counter()
    for right, guess in _paired(gold, predicted, "predicted"):
        hits = 0
        for a, b in zip(right.tokens, guess.tokens, strict=True):
            want, got = getattr(a, column), getattr(b, column)
            pairs[want, got] += 1
            hits += want == got
            if known is not None and not known(a.form):
                unknown_total += 1
                unknown_right += want == got
        correct.append(hits)
        totals.append(len(right))
    if not sum(totals):
        raise CorpusError("there is nothing to score: no tokens")
    interval = bootstrap_interval(correct, totals, seed=seed)
    return TaggingScores(
        accuracy=sum(correct) / sum(totals),
        interval=(float(interval.low), float(interval.high)),
        unknown_accuracy=unknown_right / unknown_total if unknown_total else None,
        exact=sum(c == t for c, t in zip(correct, totals, strict=True)) / len(totals),
        tokens=sum(totals),
        sentences=len(totals),
        unknown=unknown_total,
        labels=_by_label(pairs),
        confusions=tuple((g, p, n) for (g, p), n in _ordered(pairs) if g != p)[:10],
    )


def compare_taggings(
    gold: Iterable[Sentence],
    a: Iterable[Sentence],
    b: Iterable[Sentence],
    column: str = "upos",
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Test whether annotation B of the same sentences is better than A.

    >>> a = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "VERB"])
    >>> b = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "NOUN"])
    >>> comparison = compare_taggings([a] * 20, [b] * 20, [a] * 20, samples=99)
    >>> comparison.difference, comparison.b_better, comparison.p_bootstrap
    (0.5, 20, 0.01)
    """
    gold = list(gold)
    first, second = (_counts(gold, annotation, column, name) for name, annotation in (("A", a), ("B", b)))
    return compare(first, second, measure="accuracy", seed=seed, samples=samples)


def count_labels(gold: Iterable[Sentence], predicted: Iterable[Sentence], column: str = "upos") -> npt.NDArray[Any]:
    """Return the numbers of correct labels and of words of each non-empty sentence: accuracy is the ratio of the sums.

    >>> a = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "VERB"])
    >>> b = Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "NOUN"])
    >>> count_labels([a, a], [a, b]).tolist()
    [[2.0, 2.0], [1.0, 2.0]]
    """
    return _counts(list(gold), predicted, column, "predicted")


def _counts(gold: list[Sentence], annotation: Iterable[Sentence], column: str, name: str) -> npt.NDArray[np.float64]:
    pairs = [pair for pair in _paired(gold, annotation, name) if len(pair[0])]
    if not pairs:
        raise CorpusError("there is nothing to score: no tokens")
    hits = [sum(map(eq, right.column(column), guess.column(column))) for right, guess in pairs]
    return np.array([hits, [len(right) for right, _ in pairs]], np.float64).T


def _paired(gold: Iterable[Sentence], predicted: Iterable[Sentence], name: str) -> Iterator[tuple[Sentence, Sentence]]:
    """The sentences of two annotations, if they have the same words."""
    for number, (right, guess) in enumerate(zip(gold, predicted, strict=True), 1):
        if right.forms != guess.forms:
            raise CorpusError(f"sentence {number} has other words in the gold and the {name} annotation")
        yield right, guess


def _ordered(counts: Counter[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _by_label(pairs: Counter[tuple[str, str]]) -> tuple[LabelScore, ...]:
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    for (want, got), count in pairs.items():
        gold[want] += count
        predicted[got] += count
    scores = []
    for label in sorted(set(gold) | set(predicted)):
        hits = pairs[label, label]
        precision = hits / predicted[label] if predicted[label] else 0.0
        recall = hits / gold[label] if gold[label] else 0.0
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
        scores.append(LabelScore(label, gold[label], precision, recall, f1))
    return tuple(scores)


def majority_baseline(train: Iterable[Sentence], sentences: Iterable[Sentence], column: str = "upos") -> list[Sentence]:
    """Label each word with its most frequent label in training, and unknown words with the most frequent label."""
    counts: dict[str, Counter[str]] = {}
    overall: Counter[str] = Counter()
    for sentence in train:
        for token in sentence.tokens:
            label = getattr(token, column)
            counts.setdefault(token.form, Counter())[label] += 1
            overall[label] += 1
    usual = {form: min(labels.items(), key=lambda item: (-item[1], item[0]))[0] for form, labels in counts.items()}
    fallback = min(overall.items(), key=lambda item: (-item[1], item[0]))[0]
    return [s.with_column(column, [usual.get(form, fallback) for form in s.forms]) for s in sentences]
