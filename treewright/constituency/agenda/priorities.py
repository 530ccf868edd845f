"""Priorities of constituents on an agenda: the features of Jiang, Teichert, Daumé III & Eisner (2012, §2.3).

A priority is θ·φ(a), and φ has eight groups of features, here numbered by :data:`NAMES`: the Viterbi inside score; does
the constituent touch the start and the end of the sentence; its length, also in relation to the sentence's; log p(label
| tag of the word before it) and log p(label | tag of the word after it); what kind of character the words before it,
after it and at its beginning start with; and ten patterns of punctuation. All but the inside score depend on the span
and the label alone. So what they add to the priority is worked out once a sentence, in a table of spans and labels
(:func:`static_merits`), and pushing a constituent costs one look into it.

Three more features go beyond the paper (its §7 asks for such): how many constituents of the span are in the chart, how
much worse this one is than the best of its span, and the part of the words that the chart has built upon. They are
those of the moment when the constituent was pushed or improved last, so they do not change while it waits. And there is
the ``cheating`` feature of §3.3, for experiments: is the constituent one of the oracle's?

Labels are *classes* of symbols: what is left of a symbol without its ancestors, siblings and substates
(:func:`label_classes`).

Patterns of punctuation
-----------------------
The pattern of a span is its marks of punctuation and, for every run of other words, an x: ``x , x``. As in Liang,
Daumé III & Klein (2008), a classifier learns from the treebank which spans are constituents: a logistic regression
with one weight for each pattern that is seen often enough and one for each length, since long spans have more
punctuation and are rarely constituents anyway. The five patterns of the highest weights and the five of the lowest
are features.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.semirings import NEVER
from treewright.constituency.grammar.binarisation import is_intermediate, project
from treewright.constituency.grammar.pcfg import BOTTOM, TAG, Grammar
from treewright.constituency.grammar.rules import Lexical
from treewright.errors import CorpusError
from treewright.models import pack_strings, unpack_strings
from treewright.search.compiling import compiled, lean

__all__ = [
    "FEATURES",
    "NAMES",
    "SCALES",
    "Priorities",
    "Tables",
    "View",
    "label_classes",
    "look",
    "new_view",
    "static_merits",
]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

INSIDE, AT_START, AT_END, LENGTH, SHARE, BEFORE, AFTER, CASE, PUNCTUATION = 0, 1, 2, 3, 4, 5, 6, 7, 19
CHEATING, DYNAMIC, FEATURES = 29, 30, 33
OF_THE_PAPER = CHEATING  # so many features are the paper's

_PLACES, _KINDS = ("before", "after", "first"), ("upper", "lower", "number", "symbol")
NAMES = (
    *("inside", "at start", "at end", "length", "length / sentence", "label | tag before", "label | tag after"),
    *(f"{place}: {kind}" for place in _PLACES for kind in _KINDS),
    *(f"punctuation {sign}{k}" for sign in "+-" for k in range(1, 6)),
    "cheating",
    *("in span", "behind best of span", "words covered"),
)
"""The names of all features, in order."""

SCALES = np.ones(FEATURES)
"""While it is learned, a weight is that of a feature divided by this, so that all features have much the same size."""
SCALES[[INSIDE, LENGTH, BEFORE, AFTER, DYNAMIC + 1]] = 10.0, 5.0, 3.0, 3.0, 5.0

_PATTERNS = 5  # of each sign
_LONGEST_PATTERN = 8  # longer ones are rare, and all one
_SMOOTHING = 5.0  # how many occurrences the general distribution of labels counts for, after each tag
_PENALTY = 2.0  # of squares of weights, for the classifier
_LOWEST = 0.1 * NEVER  # no weights can make a constituent impossible
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class Tables(NamedTuple):
    """What the features know from the treebank, as kernels see it."""

    before: Floats  # log p(class | tag of the word before), tags × classes, flat; the last tag is the sentence's edge
    after: Floats
    tag: Ints  # the row of each class that is a tag, −1 for the others
    patterns: Ints  # sequences of marks, one behind the other
    pattern_at: npt.NDArray[np.int64]


class View(NamedTuple):
    """The features of one sentence's spans."""

    spans: Floats  # spans × features, flat; without those that depend on the label
    before: Ints  # for each start the row of the table
    after: Ints  # for each end
    wanted: npt.NDArray[np.uint8]  # spans × classes: for the cheating feature; or empty


@lean
def span_number(start: int, end: int) -> int:
    """Spans are numbered by their ends, and among these by their starts: it does not depend on the sentence."""
    return end * (end - 1) // 2 + start


@compiled
def new_view(n: int, wanted: int) -> View:
    """Room for sentences of up to n words; with the cheating feature, ``wanted`` is the number of classes, else 0."""
    spans = n * (n + 1) // 2
    of_spans, wants = np.zeros(spans * FEATURES), np.zeros(spans * wanted, np.uint8)
    return View(of_spans, np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32), wants)


@lean
def mark(places: Any, table: Any, as_what: int) -> None:
    """Set some places of a table."""
    for k in range(places.shape[0]):
        table[places[k]] = np.uint8(as_what)


@lean
def look(tables: Tables, lexical: Lexical, of: Any, words: Any, kinds: Any, marks: Any, view: View) -> None:
    """Work out the features of all spans: groups 2 to 5, 7 and 8, and the tags that group 6 looks at."""
    n = words.shape[0]
    edge = tables.before.shape[0] // tables.tag.shape[0] - 1
    view.before[0] = edge
    view.after[n] = edge
    for i in range(n):  # the tag of w is argmax p(w | t)
        best, row = -np.inf, edge
        for entry in range(lexical.at[words[i]], lexical.at[words[i] + 1]):
            if lexical.score[entry] > best:
                best, row = np.float64(lexical.score[entry]), tables.tag[of[lexical.symbol[entry]]]
        row = edge if row < 0 else row
        view.before[i + 1] = row
        view.after[i] = row
    for start in range(n):
        for end in range(start + 1, n + 1):
            at = span_number(start, end) * FEATURES
            for f in range(FEATURES):
                view.spans[at + f] = 0.0
            view.spans[at + AT_START] = 1.0 if start == 0 else 0.0
            view.spans[at + AT_END] = 1.0 if end == n else 0.0
            view.spans[at + LENGTH] = np.float64(end - start)
            view.spans[at + SHARE] = np.float64(end - start) / np.float64(n)
            if start > 0:
                view.spans[at + CASE + kinds[start - 1]] = 1.0
            if end < n:
                view.spans[at + CASE + 4 + kinds[end]] = 1.0
            view.spans[at + CASE + 8 + kinds[start]] = 1.0
            for p in range(tables.pattern_at.shape[0] - 1):
                if _matches(tables.patterns, tables.pattern_at[p], tables.pattern_at[p + 1], marks, start, end):
                    view.spans[at + PUNCTUATION + p] = 1.0


@lean
def _matches(patterns: Any, first: int, last: int, marks: Any, start: int, end: int) -> bool:
    """Has the span this pattern? Words other than punctuation have the mark 0, and a run of them counts once."""
    k = first
    for i in range(start, end):
        if marks[i] == 0 and i > start and marks[i - 1] == 0:
            continue
        if k == last or patterns[k] != marks[i]:
            return False
        k += 1
    return k == last and first < last


@lean
def static_merits(θ: Any, tables: Tables, view: View, n: int, static: Any) -> None:
    """What all features but the inside score and the dynamic ones add to the priority, for spans × classes."""
    classes = tables.tag.shape[0]
    for end in range(1, n + 1):
        for start in range(end):
            span = span_number(start, end)
            total = 0.0
            for f in range(FEATURES):
                total += θ[f] * view.spans[span * FEATURES + f]
            before, after = view.before[start] * classes, view.after[end] * classes
            for c in range(classes):
                merit = total + θ[BEFORE] * tables.before[before + c] + θ[AFTER] * tables.after[after + c]
                if view.wanted.shape[0] > 0:
                    merit += θ[CHEATING] * np.float64(view.wanted[span * classes + c])
                static[span * classes + c] = merit if merit > _LOWEST else _LOWEST  # also where it is not a number


@lean
def write_features(
    tables: Tables, view: View, of_symbol: int, start: int, end: int, inside: float, dynamic: Any, at: int, out: Any
) -> None:
    """φ of one constituent; its dynamic features are those at ``at``, if there are any."""
    classes, span = tables.tag.shape[0], span_number(start, end)
    for f in range(FEATURES):
        out[f] = view.spans[span * FEATURES + f]
    out[INSIDE] = inside
    out[BEFORE] = tables.before[view.before[start] * classes + of_symbol]
    out[AFTER] = tables.after[view.after[end] * classes + of_symbol]
    if view.wanted.shape[0] > 0:
        out[CHEATING] = np.float64(view.wanted[span * classes + of_symbol])
    if dynamic.shape[0] > 0:
        for f in range(FEATURES - DYNAMIC):
            out[DYNAMIC + f] = dynamic[at + f]


# ---- learning the tables


def label_classes(grammar: Grammar) -> tuple[Ints, list[str]]:
    """The class of each symbol, and their names: symbols without ancestors, siblings and substates.

    Tops and bottoms stay apart: ``NP^S`` is of the class NP, its bottom of the class NP~, ``@NP^S|DT`` of @NP|.
    """

    def name_of(symbol: str) -> str:
        mark = symbol[-1] if symbol[-1] in BOTTOM + TAG and not is_intermediate(symbol) else ""
        return project(symbol.removesuffix(mark), 1, 0) + mark

    names, tags = [name_of(symbol) for symbol in grammar.symbols], set(grammar.tags.values())
    tops = {name for name, is_top in zip(names, grammar.rules.is_top, strict=True) if is_top}
    for k, name in enumerate(names):  # a symbol that starts chains for one parent only is a bottom for the others
        if name in tops and not grammar.rules.is_top[k] and k not in tags:
            names[k] = name + BOTTOM
    classes = sorted(set(names))
    number = {name: k for k, name in enumerate(classes)}
    return np.array([number[name] for name in names], np.int32), classes


def kind_of_word(word: str) -> int:
    """What kind of character a word starts with: upper-case, lower-case, a number, or another symbol.

    >>> [_KINDS[kind_of_word(word)] for word in ("The", "cat", "3.5", "$")]
    ['upper', 'lower', 'number', 'symbol']
    """
    first = word[:1]
    return 0 if first.isupper() else 1 if first.isalpha() else 2 if first.isdigit() else 3


def mark_of(word: str) -> str:
    """The mark of punctuation that a word is; the empty string for all other words."""
    word = _BRACKETS.get(word, word)
    is_mark = all(unicodedata.category(letter)[0] == "P" or letter == "`" for letter in word)
    return word if is_mark and word not in ("%", "&", "#", "*") else ""


@dataclass(frozen=True, eq=False)
class Priorities:
    """The features of priorities for one grammar, as far as they are learned from a treebank."""

    classes: list[str]
    tags: list[str]  # classes that words have
    before: Floats  # (tags + 1) × classes
    after: Floats
    patterns: list[str]  # the most positive ones, then the most negative ones; empty where there are too few

    @classmethod
    def learn(
        cls,
        grammar: Grammar,
        derivations: Sequence[npt.NDArray[np.int32]],
        sentences: Sequence[Sequence[str]],
        *,
        rows: Sequence[npt.NDArray[np.int32]],
        lexical: Lexical,
        of: Ints | None = None,
    ) -> Priorities:
        """Learn from the derivations of a treebank's trees by this grammar; ``rows`` are words in the lexicon's table.

        ``of`` is the class of each symbol of ``lexical``, if these are not the grammar's (a grammar whose symbols were
        split into substates has a lexicon of substates, and trees of the symbols before).
        """
        if not len(derivations) == len(sentences) == len(rows) or not derivations:
            raise CorpusError("priorities are learned from sentences that have derivations, as many as sentences")
        own, classes = label_classes(grammar)
        of = own if of is None else of
        favourites = _favourite_classes(lexical, of)
        tags = sorted({classes[c] for c in np.unique(favourites[favourites >= 0]).tolist()})
        row_of = {name: k for k, name in enumerate(tags)}
        counts = np.zeros((2, len(tags) + 1, len(classes)))
        spans = []
        for nodes, row in zip(derivations, rows, strict=True):
            n = len(row)
            tag_of = [row_of[classes[c]] for c in favourites[row].tolist()]
            here = set()
            for symbol, one, _, start, end in np.asarray(nodes).tolist():
                for s in (symbol, *(grammar.unary[one, :1].tolist() if one >= 0 else ())):
                    counts[0, tag_of[start - 1] if start > 0 else len(tags), own[s]] += 1.0
                    counts[1, tag_of[end] if end < n else len(tags), own[s]] += 1.0
                    if grammar.labels[s] is not None and end - start > 1:
                        here.add((start, end))
            spans.append(here)
        general = counts[0].sum(axis=0) + 0.5
        general /= general.sum()
        totals = counts.sum(axis=2, keepdims=True)
        before, after = np.log((counts + _SMOOTHING * general) / (totals + _SMOOTHING))
        return cls(classes, tags, before, after, punctuation_patterns(sentences, spans))

    def of(self, grammar: Grammar) -> Ints:
        """The class of each symbol of a grammar, which may be a finer one than that which was learned from."""
        own, names = label_classes(grammar)
        number = {name: k for k, name in enumerate(self.classes)}
        if missing := [name for name in names if name not in number]:
            raise CorpusError(f"priorities know nothing of {missing[0]}; learn them from trees of the same grammar")
        return np.array([number[name] for name in names], np.int32)[own]

    @cached_property
    def _marks(self) -> dict[str, int]:
        """The marks that the patterns have, numbered; 0 is for words, −1 for all other marks."""
        seen = sorted({mark for pattern in self.patterns for mark in pattern.split(" ")} - {"x"})
        return {"": 0, **{mark: k for k, mark in enumerate(seen, 1)}}

    @cached_property
    def tables(self) -> Tables:
        """What kernels need."""
        tag = np.full(len(self.classes), -1, np.int32)
        for k, name in enumerate(self.tags):
            tag[self.classes.index(name)] = k
        coded = [[self._marks["" if m == "x" else m] for m in p.split(" ")] if p else [] for p in self.patterns]
        at = np.cumsum([0, *map(len, coded)], dtype=np.int64)
        flat = np.array([code for pattern in coded for code in pattern], np.int32)
        return Tables(self.before.ravel(), self.after.ravel(), tag, flat, at)

    def shapes(self, words: Sequence[str]) -> tuple[Ints, Ints]:
        """For each word the kind of its first character and its mark of punctuation."""
        known = self._shapes
        for word in words:
            if word not in known:
                known[word] = kind_of_word(word), self._marks.get(mark_of(word), -1)
        kinds, marks = zip(*(known[word] for word in words), strict=True) if words else ((), ())
        return np.array(kinds, np.int32), np.array(marks, np.int32)

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, int]]:
        return {}

    def describe(self, feature: int) -> str:
        """The name of a feature; of a pattern of punctuation, the pattern."""
        pattern = self.patterns[feature - PUNCTUATION] if self.patterns and PUNCTUATION <= feature < CHEATING else ""
        return f"{NAMES[feature]}: {pattern}" if pattern else NAMES[feature]

    def to_arrays(self) -> dict[str, Any]:
        """The tables as arrays, for a model file."""
        names = {"classes": self.classes, "tags": self.tags, "patterns": self.patterns}
        packed = {key: array for name, strings in names.items() for key, array in pack_strings(strings, name).items()}
        return {"before": self.before, "after": self.after, **packed}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Priorities:
        """What :meth:`to_arrays` took apart."""
        classes, tags, patterns = (unpack_strings(arrays, name) for name in ("classes", "tags", "patterns"))
        return cls(classes, tags, np.asarray(arrays["before"]), np.asarray(arrays["after"]), patterns)


def _favourite_classes(lexical: Lexical, of: Ints) -> Ints:
    """For each row of the lexicon the class of argmax p(w | t); −1 where it has no tags."""
    found = np.full(len(lexical.at) - 1, -1, np.int32)
    for row, (first, last) in enumerate(zip(lexical.at[:-1].tolist(), lexical.at[1:].tolist(), strict=True)):
        if last > first:
            found[row] = of[lexical.symbol[first + int(np.argmax(lexical.score[first:last]))]]
    return found


def pattern_of(marks: Sequence[str]) -> str:
    """The pattern of punctuation of some words, of which the marks are given.

    >>> pattern_of(["", "", ",", "", ","])
    'x , x ,'
    """
    pattern: list[str] = []
    for mark in marks:
        if mark or not pattern or pattern[-1] != "x":
            pattern.append(mark or "x")
    return " ".join(pattern)


def punctuation_patterns(sentences: Iterable[Sequence[str]], spans: Iterable[set[tuple[int, int]]]) -> list[str]:
    """The patterns that tell constituents from other spans: the five most positive ones and the five most negative."""
    counts: defaultdict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    often: Counter[str] = Counter()
    for words, constituents in zip(sentences, spans, strict=True):
        marks = [mark_of(word) for word in words]
        for start in range(len(words)):
            pattern: list[str] = []
            for end in range(start + 1, len(words) + 1):
                mark = marks[end - 1]
                if mark or not pattern or pattern[-1] != "x":
                    pattern.append(mark or "x")
                if len(pattern) > _LONGEST_PATTERN:
                    break
                if end - start > 1:
                    name = " ".join(pattern)
                    counts[name, min(end - start, 40)][(start, end) in constituents] += 1.0
                    often[name] += 1
    enough = max(5.0, 0.0005 * often.total())
    names = sorted(name for name, count in often.items() if count >= enough)
    number = {name: k for k, name in enumerate(names)}
    data = [(number[name], length, *c) for (name, length), c in counts.items() if name in number]
    if len(names) < 2 * _PATTERNS:
        return []
    weights = _logistic_regression(np.array(data), len(names))
    order = np.argsort(weights, kind="stable")
    return [names[k] for k in [*order[::-1][:_PATTERNS], *order[:_PATTERNS]]]


def _logistic_regression(data: Floats, patterns: int, rounds: int = 30) -> Floats:
    """The weights of patterns, with one for each length beside them, by Newton's method on one group after the other.

    ``data`` has rows of pattern, length, and how many spans are no constituents and how many are.
    """
    pattern, length = data[:, 0].astype(np.int64), data[:, 1].astype(np.int64)
    total, positive = data[:, 2] + data[:, 3], data[:, 3]
    of_pattern, of_length = np.zeros(patterns), np.zeros(41)
    for _ in range(rounds):
        for group, weights, penalty in ((length, of_length, 1e-3), (pattern, of_pattern, _PENALTY)):
            p = 1.0 / (1.0 + np.exp(-(of_pattern[pattern] + of_length[length])))
            gradient = np.bincount(group, positive - total * p, len(weights)) - penalty * weights
            curvature = np.bincount(group, total * p * (1.0 - p), len(weights)) + penalty
            weights += np.clip(gradient / curvature, -2.0, 2.0)
    return of_pattern
