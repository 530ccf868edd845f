"""Scores of constituency trees against gold trees: labelled brackets.

A constituent is a label and the words that it spans; tags are not constituents. Precision (``lp``) is the share of the
predicted constituents that are correct, recall (``lr``) the share of the gold constituents that were predicted. Trees
may be given as in the treebank: traces, function tags and the node around the sentence are removed first
(:func:`~treewright.corpora.clean_tree`). Two sets of rules are in use, and their figures cannot be compared:

``evalb``
    The scores of nearly all papers on the Penn Treebank: EVALB with ``COLLINS.prm``. The constituents of the whole
    corpus are counted together. Punctuation (the tags , : `` '' and .) and constituents of only punctuation are removed
    before spans are counted; ``ADVP`` and ``PRT`` are one label; ``TOP``, ``ROOT``, ``S1`` and ``""`` do not count.
    Constituents are a multiset: of *n* and *m* equal ones, the smaller number match. A sentence of only punctuation is
    skipped.
``parseval``
    The rules of Neu and Szepesvári: ``lp``, ``lr`` and ``exact`` of each sentence, averaged over the sentences, and the
    ``f1`` of these averages. A tree is a *set* of constituents, so a constituent directly above an equal one counts
    once. All words count, including punctuation. (Their definition also has words and tags among the constituents.
    These are given, and would raise the scores of any parser, so here they do not count.)

If the two trees of a sentence have different tags, EVALB may delete different words in them, and rejects the sentence.
Here the gold tags determine what is deleted in both trees, so that every sentence is scored; ``tag_conflicts`` counts
the sentences that EVALB might skip. On all others, the results are equal. A length is a number of words, with
punctuation and without traces, as in EVALB.

References: Black et al. (1991), *A procedure for quantitatively comparing the syntactic coverage of English grammars*;
Collins (1997), *Three generative, lexicalised models for statistical parsing*; Sekine and Collins (1997), *EVALB*;
Neu and Szepesvári (2009), *Training parsers by inverse reinforcement learning*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from math import inf
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from treewright.corpora import Sentence, Tree, clean_tree
from treewright.corpora.brackets import TOP_LABELS
from treewright.corpora.trees import Span
from treewright.errors import ConfigError, CorpusError
from treewright.metrics import significance
from treewright.settings import whole_number

__all__ = [
    "BracketScores",
    "Comparison",
    "ConstituencyScores",
    "LabelScore",
    "SentenceLengthScore",
    "compare_constituents",
    "count_constituents",
    "score_constituents",
]

Parse: TypeAlias = Tree | Sentence | None
"""A tree, or a sentence that has one; None, or a sentence without a tree, if a parser found none."""

Rules: TypeAlias = Literal["evalb", "parseval"]
_Floats: TypeAlias = NDArray[np.float64]

_PUNCTUATION = frozenset([",", ":", "``", "''", "."])
_EQUAL = {"PRT": "ADVP"}
_SHORT = 40
_LENGTHS = {"1-10": 10, "11-20": 20, "21-30": 30, "31-40": 40, "41+": inf}


@dataclass(frozen=True)
class BracketScores:
    """The scores of some sentences. ``f1_interval`` is the 95 % bootstrap interval.

    ``exact`` is the share of sentences with exactly the gold constituents. ``tagging`` is the share of words with the
    correct tag. ``crossing`` is the mean number of predicted constituents per sentence that overlap with a gold one
    without one being inside the other; ``no_crossing`` and ``two_crossing`` are the shares of sentences with none of
    them, and with two or fewer. ``words`` is the number of words that count.
    """

    lp: float
    lr: float
    f1: float
    f1_interval: tuple[float, float]
    exact: float
    tagging: float
    crossing: float
    no_crossing: float
    two_crossing: float
    total_matched: int
    total_gold: int
    total_predicted: int
    words: int
    sentences: int


@dataclass(frozen=True)
class LabelScore:
    """Precision, recall and F1 of the constituents with one label, counted over the corpus."""

    label: str
    gold: int
    predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class SentenceLengthScore:
    """The scores of sentences in a range of lengths."""

    length: str
    sentences: int
    words: int
    lp: float
    lr: float
    f1: float
    exact: float


@dataclass(frozen=True)
class ConstituencyScores(BracketScores):
    """The scores of all sentences, and an error analysis.

    ``up_to_40`` are the scores of the sentences of at most 40 words, None if there are none. ``unparsed`` counts
    sentences without a predicted tree (they count as trees without constituents), ``skipped`` sentences without a word
    that counts (they do not count). ``tag_conflicts`` counts the sentences in which the tags disagree on what is
    punctuation.

    ``matched``, ``gold`` and ``predicted`` are the numbers of constituents in each sentence, for your own tests:
    under the rules of EVALB, F1 is *matches / ((gold + predicted) / 2)*, which is the form that
    :mod:`treewright.metrics` takes.
    """

    rules: str
    up_to_40: BracketScores | None
    labels: tuple[LabelScore, ...]
    sentence_lengths: tuple[SentenceLengthScore, ...]
    unparsed: int
    skipped: int
    tag_conflicts: int
    matched: tuple[int, ...] = field(repr=False)
    gold: tuple[int, ...] = field(repr=False)
    predicted: tuple[int, ...] = field(repr=False)

    name: ClassVar[str] = "F1"

    @property
    def main(self) -> float:
        """The F1 of labelled brackets."""
        return self.f1

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of F1."""
        return self.f1_interval

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values, without the numbers of each sentence."""
        return {name: value for name, value in asdict(self).items() if name not in ("matched", "gold", "predicted")}


@dataclass(frozen=True)
class Comparison(significance.Comparison):
    """A comparison of two annotations (:class:`treewright.metrics.Comparison`) by F1 under ``rules``.

    ``words`` are the words that count.
    """

    rules: str
    words: int


def score_constituents(
    gold: Iterable[Parse],
    predicted: Iterable[Parse],
    *,
    rules: Rules = "evalb",
    max_length: int | None = None,
    seed: int = 0,
) -> ConstituencyScores:
    """Compare the trees of two annotations of the same sentences.

    Sentences of more than ``max_length`` words are skipped.

    >>> from treewright.corpora.brackets import parse_ptb
    >>> gold = parse_ptb(["((S (NP (PRP I)) (VP (VBP see) (NP (PRP it)) (PP (IN at) (NP (NN night)))) (. .)))"])
    >>> other = parse_ptb(["((S (NP (PRP I)) (VP (VBP see) (NP (NP (PRP it)) (PP (IN at) (NP (NN night))))) (. .)))"])
    >>> scores = score_constituents(gold, other)
    >>> scores.total_matched, scores.total_gold, scores.total_predicted
    (6, 6, 7)
    >>> f"{scores.lp:.3f} {scores.lr:.3f} {scores.f1:.3f}"
    '0.857 1.000 0.923'
    """
    counted = _counted(gold, predicted, "predicted", rules, max_length)
    table, n = counted.table, len(counted.table)
    names: list[str] = [_bucket(length) for length in table.length.tolist()]
    lengths = []
    for name in _LENGTHS:
        if name in names:
            scores = _summary(table.only(np.array([each == name for each in names])), rules)
            lengths.append(SentenceLengthScore(name, **{key: scores[key] for key in _OF_A_LENGTH}))
    short = table.length <= _SHORT
    return ConstituencyScores(
        **_summary(table, rules, seed),
        rules=rules,
        up_to_40=BracketScores(**_summary(table.only(short), rules, seed)) if short.any() else None,
        labels=_by_label(counted),
        sentence_lengths=tuple(lengths),
        unparsed=counted.unparsed,
        skipped=counted.sentences - n,
        tag_conflicts=counted.tag_conflicts,
        matched=tuple(table.matched.tolist()),
        gold=tuple(table.gold.tolist()),
        predicted=tuple(table.predicted.tolist()),
    )


def compare_constituents(
    gold: Iterable[Parse],
    a: Iterable[Parse],
    b: Iterable[Parse],
    *,
    rules: Rules = "evalb",
    max_length: int | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Test whether the trees of annotation B are better (F1) than the trees of A.

    >>> from treewright.corpora.brackets import parse_ptb
    >>> right, wrong = parse_ptb(["(S (NP (PRP I)) (VP (VBP see)))", "(S (PRP I) (VP (VBP see)))"])
    >>> comparison = compare_constituents([right] * 20, [wrong] * 20, [right] * 20, samples=99)
    >>> round(comparison.difference, 3), comparison.b_better, comparison.p_bootstrap
    (0.2, 20, 0.01)
    """
    samples = whole_number("samples", samples, 1)
    gold = list(gold)
    one = _counted(gold, a, "A", rules, max_length).table
    two = _counted(gold, b, "B", rules, max_length).table
    columns, others = _columns(one, rules), _columns(two, rules)
    compared = significance.compare(columns, others, significance.f1, measure="f1", seed=seed, samples=samples)
    return Comparison(**vars(compared), rules=rules, words=int(one.words.sum()))


def count_constituents(
    gold: Iterable[Parse], predicted: Iterable[Parse], *, rules: Rules = "evalb", max_length: int | None = None
) -> NDArray[np.float64]:
    """Return four counts per sentence, from which :func:`treewright.metrics.f1` computes the score."""
    return _columns(_counted(list(gold), predicted, "predicted", rules, max_length).table, rules)


# Sentence by sentence


class _Table(NamedTuple):
    """The counts of each sentence, one array per column."""

    length: NDArray[np.int64]
    words: NDArray[np.int64]
    tags: NDArray[np.int64]  # right ones
    matched: NDArray[np.int64]
    gold: NDArray[np.int64]
    predicted: NDArray[np.int64]
    crossing: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.length)

    def only(self, chosen: NDArray[np.bool_]) -> _Table:
        return _Table(*[column[chosen] for column in self])


class _Counted(NamedTuple):
    table: _Table
    gold: Counter[str]
    predicted: Counter[str]
    matched: Counter[str]
    sentences: int
    unparsed: int
    tag_conflicts: int


class _Analysis(NamedTuple):
    """The parts of a tree; a word without a tag has the tag ``""``."""

    words: list[str]
    tags: list[str]
    spans: list[Span]


def _counted(
    gold: Iterable[Parse], predicted: Iterable[Parse], name: str, rules: str, max_length: int | None
) -> _Counted:
    if rules not in ("evalb", "parseval"):
        raise ConfigError(f"rules must be evalb or parseval, not {rules!r}")
    longest = inf if max_length is None else whole_number("max_length", max_length, 1)
    rows: list[tuple[int, ...]] = []
    by_label: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    sentences = unparsed = conflicts = 0
    for right, guess in _pairs(gold, predicted, name):
        length = len(right.words)
        if length > longest:
            continue
        sentences += 1
        conflicts += rules == "evalb" and guess is not None and any(map(_conflict, right.tags, guess.tags))
        counted = [rules == "parseval" or tag not in _PUNCTUATION for tag in right.tags]
        words = sum(counted)
        if not words:
            continue
        wanted = _constituents(right, counted, rules)
        found: Counter[Span] = Counter()
        tags = 0
        if guess is None:
            unparsed += 1
        else:
            found = _constituents(guess, counted, rules)
            tags = sum(map(_same_tag, right.tags, guess.tags, counted))
        matched = wanted & found
        for counter, constituents in zip(by_label, (wanted, found, matched), strict=True):
            for (label, _, _), count in constituents.items():
                counter[label] += count
        crossing = _crossing(wanted, found, words)
        rows.append((length, words, tags, matched.total(), wanted.total(), found.total(), crossing))
    if not rows:
        short = "" if max_length is None else f" in sentences of at most {max_length}"
        raise CorpusError(
            f"there is nothing to score: no words{'' if rules == 'parseval' else ' but punctuation'}{short}"
        )
    table = _Table(*np.array(rows, dtype=np.int64).T)
    return _Counted(table, *by_label, sentences, unparsed, conflicts)


def _same_tag(gold: str, predicted: str, counted: bool) -> bool:
    return counted and gold == predicted


def _conflict(gold: str, predicted: str) -> bool:
    return (gold in _PUNCTUATION) != (predicted in _PUNCTUATION)


def _constituents(tree: _Analysis, counted: list[bool], rules: str) -> Counter[Span]:
    """The constituents that count, and their multiplicities."""
    if rules == "parseval":
        return Counter({span: 1 for span in tree.spans if span[0] not in TOP_LABELS})
    before = [0]  # the number of words that count before each position
    for counts in counted:
        before.append(before[-1] + counts)
    return Counter(
        [
            (_EQUAL.get(label, label), before[start], before[end])
            for label, start, end in tree.spans
            if before[start] < before[end] and label not in TOP_LABELS and label not in _PUNCTUATION
        ]
    )


def _crossing(gold: Iterable[Span], predicted: Counter[Span], words: int) -> int:
    """The number of predicted constituents that cross a gold one.

    For each position between two words, the gold constituents around it are nested. The one that ends first and the
    one that begins last, which is the same, decide whether a constituent that begins or ends there crosses any of them.
    So no two constituents have to be compared.
    """
    first_end, last_start = np.full(words + 1, words + 1), np.full(words + 1, -1)
    for start, end in sorted({(start, end) for _, start, end in gold}, key=lambda span: span[0] - span[1]):
        first_end[start + 1 : end] = end
        last_start[start + 1 : end] = start
    return sum(
        count for (_, start, end), count in predicted.items() if first_end[start] < end or last_start[end] > start
    )


def _pairs(
    gold: Iterable[Parse], predicted: Iterable[Parse], name: str
) -> Iterator[tuple[_Analysis, _Analysis | None]]:
    """The gold tree of each sentence and the other one, if they are over the same words."""
    for number, (right, guess) in enumerate(zip_longest(gold, predicted, fillvalue=_END), 1):
        if guess is _END:
            raise _goes_on(right, number, "gold", name)
        if right is _END:
            raise _goes_on(guess, number, name, "gold")
        tree = _tree(right)
        if tree is None:
            raise _error(f"sentence {number} has no tree in the gold annotation; annotate it, or leave it out", right)
        expected, found = _analysis(tree), None
        if (tree := _tree(guess)) is not None:
            found = _analysis(tree)
            if found.words != expected.words:
                raise _error(_different(expected.words, found.words, number, name, right), guess)
        yield expected, found


_END: Any = object()


def _tree(parse: Parse) -> Tree | None:
    return parse.tree if isinstance(parse, Sentence) else parse


def _analysis(tree: Tree) -> _Analysis:
    words: list[str] = []
    tags: list[str] = []
    spans: list[Span] = []
    # The nodes to visit; a tuple is a constituent that ends here, with its label and beginning.
    stack: list[Tree | str | tuple[str, int]] = []
    if (clean := clean_tree(tree)) is not None:
        stack.append(clean)
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            spans.append((*node, len(words)))
        elif isinstance(node, str):
            words.append(node)
            tags.append("")
        elif len(node.children) == 1 and isinstance(node.children[0], str):
            words.append(node.children[0])
            tags.append(node.label)
        else:
            stack.append((node.label, len(words)))
            stack.extend(reversed(node.children))
    return _Analysis(words, tags, spans)


def _error(message: str, parse: Parse) -> CorpusError:
    path, line = (parse.path, parse.line) if isinstance(parse, Sentence) else (None, None)
    return CorpusError(message, path=path, line=line)


def _goes_on(parse: Parse, number: int, longer: str, shorter: str) -> CorpusError:
    return _error(
        f"the {longer} annotation goes on here, after the {number - 1} sentence(s) of the {shorter} one; "
        "give two annotations of the same sentences",
        parse,
    )


def _different(gold: list[str], other: list[str], number: int, name: str, right: Parse) -> str:
    known = isinstance(right, Sentence) and right.path and right.line
    place = f" ({right.path}:{right.line})" if isinstance(right, Sentence) and known else ""
    for word, (x, y) in enumerate(zip(gold, other, strict=False), 1):
        if x != y:
            what = f"word {word} of sentence {number} is {y!r} in the {name} annotation and {x!r} in the gold one"
            break
    else:
        what = f"sentence {number} has {len(other)} word(s) in the {name} annotation and {len(gold)} in the gold one"
    return f"{what}{place}; give two annotations of the same words"


# The whole corpus

_OF_A_LENGTH = ("sentences", "words", "lp", "lr", "f1", "exact")


def _summary(table: _Table, rules: str, seed: int | None = None) -> dict[str, Any]:
    """The scores of :class:`BracketScores`; the interval only if there is a seed for it."""
    columns = _columns(table, rules)
    sums = columns.sum(0)
    lp, lr = significance.precision_and_recall(sums)
    low = high = float("nan")
    if seed is not None:
        low, high = np.quantile(significance.resample(columns, significance.f1, seed), [0.025, 0.975]).tolist()
    return {
        "lp": float(lp),
        "lr": float(lr),
        "f1": float(significance.f1(sums)),
        "f1_interval": (low, high),
        "exact": float(np.mean((table.matched == table.gold) & (table.matched == table.predicted))),
        "tagging": int(table.tags.sum()) / int(table.words.sum()),
        "crossing": float(np.mean(table.crossing)),
        "no_crossing": float(np.mean(table.crossing == 0)),
        "two_crossing": float(np.mean(table.crossing <= 2)),
        "total_matched": int(table.matched.sum()),
        "total_gold": int(table.gold.sum()),
        "total_predicted": int(table.predicted.sum()),
        "words": int(table.words.sum()),
        "sentences": len(table),
    }


def _columns(table: _Table, rules: str) -> _Floats:
    """Four numbers per sentence. Their sums a, b, c, d over any sentences give precision a / b and recall c / d.

    Both rules have this form. Under ``parseval``, F1 is not a ratio of two sums, because it is made of averages of
    ratios.
    """
    if rules == "evalb":
        return np.stack([table.matched, table.predicted, table.matched, table.gold], axis=-1).astype(np.float64)
    both_empty = (table.gold == 0) & (table.predicted == 0)
    lp, lr = (
        np.where(both_empty, 1.0, table.matched / np.maximum(out_of, 1)) for out_of in (table.predicted, table.gold)
    )
    return np.stack([lp, np.ones_like(lp), lr, np.ones_like(lr)], axis=-1)


def _bucket(length: int) -> str:
    return next(name for name, most in _LENGTHS.items() if length <= most)


def _by_label(counted: _Counted) -> tuple[LabelScore, ...]:
    scores = []
    for label in sorted(counted.gold | counted.predicted):
        hits, gold, predicted = counted.matched[label], counted.gold[label], counted.predicted[label]
        f1 = 2 * hits / (gold + predicted)
        scores.append(LabelScore(label, gold, predicted, _ratio(hits, predicted), _ratio(hits, gold), f1))
    return tuple(scores)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
