"""Scores of dependency trees against gold trees.

By default, words are scored with punctuation, and relations with their subtypes. The LAS of the CoNLL-2018 shared task
ignores subtypes, the part after a colon: this is ``subtypes=False``. Punctuation are the words with the gold UPOS
``PUNCT`` or, without any UPOS, with the gold relation ``punct``.

References: Buchholz and Marsi (2006), *CoNLL-X shared task on multilingual dependency parsing*; McDonald and Nivre
(2007), *Characterizing the errors of data-driven dependency parsing models*; Nivre and Fang (2017), *Universal
Dependency evaluation*; Zeman et al. (2018), *CoNLL 2018 shared task*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from math import inf
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treewright.corpora import Sentence
from treewright.dependency.trees import word_line
from treewright.errors import ConfigError, CorpusError
from treewright.metrics import bootstrap_interval, significance

__all__ = [
    "ArcLengthScore",
    "Attachment",
    "Comparison",
    "DependencyScores",
    "RelationScore",
    "SentenceLengthScore",
    "compare_dependencies",
    "count_arcs",
    "score_dependencies",
]

_ARC_LENGTHS = {"1": 1, "2": 2, "3-6": 6, "7-10": 10, "11+": inf}
_SENTENCE_LENGTHS = {"1-10": 10, "11-20": 20, "21-30": 30, "31-40": 40, "41+": inf}
_ROOT = "root"
_CONTENT = {
    "acl", "advcl", "advmod", "amod", "appos", "ccomp", "compound", "conj", "csubj", "dep", "discourse", "dislocated",
    "expl", "fixed", "flat", "goeswith", "iobj", "list", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis",
    "reparandum", "root", "vocative", "xcomp",
}  # fmt: skip


@dataclass(frozen=True)
class Attachment:
    """The attachment scores of some of the words; None where there are none."""

    uas: float | None
    las: float | None
    tokens: int


@dataclass(frozen=True)
class RelationScore:
    """Precision, recall and F1 of one relation, head and label together, and the UAS of the words that have it."""

    relation: str
    gold: int
    precision: float
    recall: float
    f1: float
    uas: float


@dataclass(frozen=True)
class ArcLengthScore:
    """Scores by the distance to the head: the recall of gold arcs and the precision of predicted ones, unlabelled."""

    length: str
    gold: int
    predicted: int
    precision: float
    recall: float


@dataclass(frozen=True)
class SentenceLengthScore:
    """The attachment scores of sentences in a range of lengths, which are counted with punctuation."""

    length: str
    sentences: int
    tokens: int
    uas: float
    las: float


@dataclass(frozen=True)
class DependencyScores:
    """Labelled and unlabelled attachment scores with 95 % bootstrap intervals, and an error analysis.

    ``label_accuracy`` is the share of words with the correct label, regardless of the head. ``content`` is CLAS, the F1
    of the words with the relations of content words, None where there are none. ``confusions`` are the most frequent
    wrong labels (gold, predicted, count) of words with a correct head. Sentences without a word to score do not count.
    """

    uas: float
    las: float
    uas_interval: tuple[float, float]
    las_interval: tuple[float, float]
    label_accuracy: float
    content: float | None
    exact: float
    exact_unlabelled: float
    tokens: int
    sentences: int
    without_punctuation: Attachment
    relations: tuple[RelationScore, ...]
    arc_lengths: tuple[ArcLengthScore, ...]
    sentence_lengths: tuple[SentenceLengthScore, ...]
    confusions: tuple[tuple[str, str, int], ...]

    name: ClassVar[str] = "LAS"

    @property
    def main(self) -> float:
        """The labelled attachment score."""
        return self.las

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the labelled attachment score."""
        return self.las_interval

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Comparison(significance.Comparison):
    """A comparison of two annotations (:class:`treewright.metrics.Comparison`) by LAS or UAS over ``tokens`` words."""

    tokens: int


class _Arc(NamedTuple):
    """Both annotations of one word."""

    word: int
    head: int
    guessed_head: int
    label: str
    guessed_label: str
    punctuation: bool

    @property
    def attached(self) -> bool:
        return self.head == self.guessed_head

    @property
    def right(self) -> bool:
        return self.head == self.guessed_head and self.label == self.guessed_label


def score_dependencies(
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    *,
    subtypes: bool = True,
    punctuation: bool = True,
    seed: int = 0,
) -> DependencyScores:
    """Compare two annotations of the same sentences.

    >>> from treewright.corpora import Token
    >>> a = Sentence((Token("They", head=2, deprel="nsubj"), Token("sat", head=0, deprel="root")))
    >>> b = Sentence((Token("They", head=2, deprel="obj"), Token("sat", head=0, deprel="root")))
    >>> scores = score_dependencies([a], [b])
    >>> scores.uas, scores.las
    (1.0, 0.5)
    """
    attached, right, totals, lengths = [], [], [], []
    unpunctuated: list[_Arc] = []
    labels: Counter[tuple[str, str, bool]] = Counter()  # gold, predicted, and whether the head is right
    distances: Counter[tuple[str, str, bool]] = Counter()
    for sentence, arcs in _sentences(gold, predicted, "predicted", subtypes, punctuation):
        for arc in arcs:
            labels[arc.label, arc.guessed_label, arc.attached] += 1
            distances[_distance(arc.word, arc.head), _distance(arc.word, arc.guessed_head), arc.attached] += 1
        unpunctuated += [arc for arc in arcs if not arc.punctuation]
        attached.append(sum(arc.attached for arc in arcs))
        right.append(sum(arc.right for arc in arcs))
        totals.append(len(arcs))
        lengths.append(_bucket(len(sentence), _SENTENCE_LENGTHS))
    tokens, sentences = sum(totals), len(totals)
    uas = bootstrap_interval(attached, totals, seed=seed)
    las = bootstrap_interval(right, totals, seed=seed)
    return DependencyScores(
        uas=sum(attached) / tokens,
        las=sum(right) / tokens,
        uas_interval=(uas.low, uas.high),
        las_interval=(las.low, las.high),
        label_accuracy=sum(n for (want, got, _), n in labels.items() if want == got) / tokens,
        content=_content(labels),
        exact=sum(c == t for c, t in zip(right, totals, strict=True)) / sentences,
        exact_unlabelled=sum(c == t for c, t in zip(attached, totals, strict=True)) / sentences,
        tokens=tokens,
        sentences=sentences,
        without_punctuation=Attachment(
            uas=sum(arc.attached for arc in unpunctuated) / len(unpunctuated) if unpunctuated else None,
            las=sum(arc.right for arc in unpunctuated) / len(unpunctuated) if unpunctuated else None,
            tokens=len(unpunctuated),
        ),
        relations=_by_relation(labels),
        arc_lengths=_by_arc_length(distances),
        sentence_lengths=_by_sentence_length(lengths, attached, right, totals),
        confusions=_confusions(labels),
    )


def compare_dependencies(
    gold: Iterable[Sentence],
    a: Iterable[Sentence],
    b: Iterable[Sentence],
    *,
    measure: Literal["las", "uas"] = "las",
    subtypes: bool = True,
    punctuation: bool = True,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Test whether annotation B of the same sentences is better than A.

    >>> from treewright.corpora import Token
    >>> a = Sentence((Token("They", head=2, deprel="nsubj"), Token("sat", head=0, deprel="root")))
    >>> b = Sentence((Token("They", head=2, deprel="obj"), Token("sat", head=0, deprel="root")))
    >>> comparison = compare_dependencies([a] * 20, [b] * 20, [a] * 20, samples=99)
    >>> comparison.difference, comparison.b_better, comparison.p_bootstrap
    (0.5, 20, 0.01)
    """
    if measure not in ("las", "uas"):
        raise ConfigError(f"measure must be las or uas, not {measure!r}")
    gold = list(gold)
    how: dict[str, Any] = {"measure": measure, "subtypes": subtypes, "punctuation": punctuation}
    a_counts, b_counts = (count_arcs(gold, annotation, name, **how) for name, annotation in (("A", a), ("B", b)))
    compared = significance.compare(a_counts, b_counts, measure=measure, seed=seed, samples=samples)
    return Comparison(**vars(compared), tokens=int(a_counts[:, 1].sum()))


def count_arcs(
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    name: str = "predicted",
    *,
    measure: Literal["las", "uas"] = "las",
    subtypes: bool = True,
    punctuation: bool = True,
) -> NDArray[np.float64]:
    """Return the number of correct words and of all words of each sentence: the score is the ratio of the sums."""
    pairs = list(_sentences(list(gold), predicted, name, subtypes, punctuation))
    right = [sum(arc.right if measure == "las" else arc.attached for arc in arcs) for _, arcs in pairs]
    return np.array([right, [len(arcs) for _, arcs in pairs]], np.float64).T


def _sentences(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], name: str, subtypes: bool, punctuation: bool
) -> Iterator[tuple[Sentence, list[_Arc]]]:
    """The gold sentences with words to score, and these words."""
    empty = True
    for number, (right, guess) in enumerate(zip_longest(gold, predicted), 1):
        if guess is None:
            raise _goes_on(right, number, "gold", name)
        if right is None:
            raise _goes_on(guess, number, name, "gold")
        arcs = _arcs(right, guess, number, name, subtypes)
        if not punctuation:
            arcs = [arc for arc in arcs if not arc.punctuation]
        if arcs:
            yield right, arcs
            empty = False
    if empty:
        raise CorpusError("there is nothing to score: no tokens" + ("" if punctuation else " except punctuation"))


def _goes_on(sentence: Sentence, number: int, longer: str, shorter: str) -> CorpusError:
    return CorpusError(
        f"the {longer} annotation goes on here, after the {number - 1} sentence(s) of the {shorter} one; "
        "give two annotations of the same sentences",
        path=sentence.path,
        line=sentence.line,
    )


def _arcs(right: Sentence, guess: Sentence, number: int, name: str, subtypes: bool) -> list[_Arc]:
    """Both annotations of each word of a sentence, which must have the same words."""
    if len(right) != len(guess):
        raise CorpusError(
            f"sentence {number} has {len(guess)} word(s) in the {name} annotation and {len(right)} in the gold one"
            f"{_place(right, 1)}; give two annotations of the same words",
            path=guess.path,
            line=guess.line,
        )
    arcs = []
    for word, (a, b) in enumerate(zip(right.tokens, guess.tokens, strict=True), 1):
        if a.head is None or b.head is None:
            which, missing = ("gold", right) if a.head is None else (name, guess)
            raise CorpusError(
                f"word {word} of sentence {number} has no head in the {which} annotation; annotate it",
                path=missing.path,
                line=word_line(missing, word),
            )
        if a.form != b.form:
            raise CorpusError(
                f"word {word} of sentence {number} is {b.form!r} in the {name} annotation and {a.form!r} in the gold "
                f"one{_place(right, word)}; give two annotations of the same words",
                path=guess.path,
                line=word_line(guess, word),
            )
        relation = a.deprel.partition(":")[0]
        label, guessed = (a.deprel, b.deprel) if subtypes else (relation, b.deprel.partition(":")[0])
        is_punctuation = a.upos == "PUNCT" or (a.upos in ("_", "") and relation == "punct")
        arcs.append(_Arc(word, a.head, b.head, label, guessed, is_punctuation))
    return arcs


def _place(sentence: Sentence, word: int) -> str:
    line = word_line(sentence, word)
    return f" ({sentence.path}:{line})" if sentence.path and line else ""


def _bucket(length: int, buckets: dict[str, float]) -> str:
    return next(name for name, most in buckets.items() if length <= most)


def _distance(word: int, head: int) -> str:
    return _bucket(abs(word - head), _ARC_LENGTHS) if head else _ROOT


def _content(labels: Counter[tuple[str, str, bool]]) -> float | None:
    hits = total = 0
    for (want, got, attached), count in labels.items():
        is_content = want.partition(":")[0] in _CONTENT
        total += count * (is_content + (got.partition(":")[0] in _CONTENT))
        hits += count * (is_content and attached and want == got)
    return 2 * hits / total if total else None


def _by_relation(labels: Counter[tuple[str, str, bool]]) -> tuple[RelationScore, ...]:
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    heads: Counter[str] = Counter()
    for (want, got, attached), count in labels.items():
        gold[want] += count
        predicted[got] += count
        heads[want] += count * attached
    scores = []
    for relation in sorted(gold | predicted):
        hits = labels[relation, relation, True]
        precision, recall = _ratio(hits, predicted[relation]), _ratio(hits, gold[relation])
        f1 = 2 * hits / (gold[relation] + predicted[relation])
        uas = _ratio(heads[relation], gold[relation])
        scores.append(RelationScore(relation, gold[relation], precision, recall, f1, uas))
    return tuple(scores)


def _by_arc_length(distances: Counter[tuple[str, str, bool]]) -> tuple[ArcLengthScore, ...]:
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    for (want, got, _), count in distances.items():
        gold[want] += count
        predicted[got] += count
    scores = []
    for length in (_ROOT, *_ARC_LENGTHS):
        if gold[length] or predicted[length]:
            hits = distances[length, length, True]
            precision, recall = _ratio(hits, predicted[length]), _ratio(hits, gold[length])
            scores.append(ArcLengthScore(length, gold[length], predicted[length], precision, recall))
    return tuple(scores)


def _by_sentence_length(
    lengths: list[str], attached: list[int], right: list[int], totals: list[int]
) -> tuple[SentenceLengthScore, ...]:
    scores = []
    for name in _SENTENCE_LENGTHS:
        chosen = [k for k, length in enumerate(lengths) if length == name]
        if chosen:
            tokens = sum(totals[k] for k in chosen)
            uas, las = (sum(column[k] for k in chosen) / tokens for column in (attached, right))
            scores.append(SentenceLengthScore(name, len(chosen), tokens, uas, las))
    return tuple(scores)


def _confusions(labels: Counter[tuple[str, str, bool]]) -> tuple[tuple[str, str, int], ...]:
    wrong = [(want, got, count) for (want, got, attached), count in labels.items() if attached and want != got]
    return tuple(sorted(wrong, key=lambda item: (-item[2], item[:2]))[:10])


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
