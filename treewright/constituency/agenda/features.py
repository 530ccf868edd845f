"""The features of priorities (Jiang, Teichert, Daumé III & Eisner 2012, §2.3), for all constituents of a sentence.

A priority is θ·φ(a), and φ has eight groups of features, here numbered by :data:`NAMES`: the Viterbi inside score;
whether the constituent touches the start and the end of the sentence; its length, also relative to the length of the
sentence; log p(label | tag of the word before it) and log p(label | tag of the word after it); the kind of the first
character of the words before it, after it and at its beginning; and ten patterns of punctuation. All but the inside
score depend only on the span and the symbol. So their part of the priority is computed once per sentence, in a table of
spans and labels (:func:`static_merits`), and pushing a constituent costs one look-up.

There are two more features. ``unary to come`` is 1 if a unary rule may still be applied to the constituent, because its
symbol is not a top. It has a weight only if unary rules have scores above 0, which A*₀ needs
(:meth:`~treewright.constituency.agenda.parser.AgendaParser.a_star`). For experiments, the ``cheating`` feature of §3.3
is 1 for constituents of the oracle.

Labels are *classes* of symbols (:func:`treewright.constituency.agenda.priorities.label_classes`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.semirings import NEVER
from treewright.constituency.charts.spans import span_of
from treewright.constituency.grammar.rules import Lexical
from treewright.search.compiling import compiled, lean

__all__ = [
    "FEATURES",
    "NAMES",
    "SCALES",
    "Packed",
    "Places",
    "Tables",
    "View",
    "look",
    "mark",
    "new_view",
    "static_merits",
    "write_features",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

INSIDE, AT_START, AT_END, LENGTH, SHARE, BEFORE, AFTER, CASE, PUNCTUATION = 0, 1, 2, 3, 4, 5, 6, 7, 19
CHAIN, CHEATING, FEATURES = 29, 30, 31  # the paper's features come first

_PLACES, KINDS = ("before", "after", "first"), ("upper", "lower", "number", "symbol")
NAMES = (
    *("inside", "at start", "at end", "length", "length / sentence", "label | tag before", "label | tag after"),
    *(f"{place}: {kind}" for place in _PLACES for kind in KINDS),
    *(f"punctuation {sign}{k}" for sign in "+-" for k in range(1, 6)),
    "unary to come",
    "cheating",
)
"""The names of all features, in order."""

SCALES = np.ones(FEATURES)
"""In training, features are divided by these numbers, so that all have similar sizes."""
SCALES[[INSIDE, LENGTH, BEFORE, AFTER]] = 10.0, 5.0, 3.0, 3.0

_LOWEST = 0.1 * NEVER  # no weights can make a constituent impossible


class Tables(NamedTuple):
    """The tables of the features that are learned from the treebank."""

    before: Floats  # log p(class | tag of the word before), tags × classes, flat; the last tag is the sentence's edge
    after: Floats
    tag: Ints  # the row of each class that is a tag, −1 for the others
    patterns: Ints  # sequences of marks, concatenated
    pattern_at: npt.NDArray[np.int64]


class Packed(NamedTuple):
    """Sentences with the attributes of their words that features use."""

    words: Ints  # rows of the lexicon
    at: Longs  # the offset of each sentence, and the end of the last
    kinds: Ints  # of each word the kind of its first character
    marks: Ints  # and its mark of punctuation

    @property
    def size(self) -> int:
        """The number of sentences."""
        return len(self.at) - 1


class View(NamedTuple):
    """The features of one sentence's spans."""

    spans: Floats  # spans × features, flat; without those that depend on the label
    before: Ints  # for each start the row of the table
    after: Ints  # for each end
    wanted: npt.NDArray[np.uint8]  # spans × classes: for the cheating feature; or empty


@compiled
def new_view(n: int, wanted: int) -> View:
    """The arrays for sentences of up to n words; ``wanted``: with the cheating feature the number of classes, or 0."""
    spans = n * (n + 1) // 2
    of_spans, wants = np.zeros(spans * FEATURES), np.zeros(spans * wanted, np.uint8)
    return View(of_spans, np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32), wants)


class Places(NamedTuple):
    """Constituents of each sentence, as numbers span · classes + class, or span · symbols + symbol."""

    place: Longs
    at: Longs  # where those of each sentence begin, and the end of the last


@lean
def mark(places: Places, i: int, table: Any, as_what: int) -> None:
    """Set the entries of a table that belong to the constituents of sentence i."""
    for k in range(places.at[i], places.at[i + 1]):
        table[places.place[k]] = np.uint8(as_what)


@lean
def look(tables: Tables, lexical: Lexical, of: Any, packed: Packed, i: int, view: View) -> None:
    """Compute the features of all spans of sentence i: groups 2 to 5, 7 and 8, and the tags for group 6.

    ``of`` has the class of each symbol.
    """
    first, n = packed.at[i], packed.at[i + 1] - packed.at[i]
    words, kinds, marks = (
        packed.words[first : first + n],
        packed.kinds[first : first + n],
        packed.marks[first : first + n],
    )
    edge = tables.before.shape[0] // tables.tag.shape[0] - 1
    view.before[0] = edge
    view.after[n] = edge
    for j in range(n):  # the tag of w is argmax p(w | t)
        best, row = -np.inf, edge
        for entry in range(lexical.at[words[j]], lexical.at[words[j] + 1]):
            if lexical.score[entry] > best:
                best, row = np.float64(lexical.score[entry]), tables.tag[of[lexical.symbol[entry]]]
        row = edge if row < 0 else row
        view.before[j + 1] = row
        view.after[j] = row
    for start in range(n):
        for end in range(start + 1, n + 1):
            at = span_of(start, end) * FEATURES
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
    """Whether the span has this pattern. Words that are not punctuation have the mark 0; a run of them counts once."""
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
    """The part of the priority from spans and classes: all features but the inside score and ``unary to come``."""
    classes = tables.tag.shape[0]
    for end in range(1, n + 1):
        for start in range(end):
            span = span_of(start, end)
            total = 0.0
            for f in range(FEATURES):
                total += θ[f] * view.spans[span * FEATURES + f]
            before, after = view.before[start] * classes, view.after[end] * classes
            for c in range(classes):
                merit = total + θ[BEFORE] * tables.before[before + c] + θ[AFTER] * tables.after[after + c]
                if view.wanted.shape[0] > 0:
                    merit += θ[CHEATING] * np.float64(view.wanted[span * classes + c])
                static[span * classes + c] = merit if merit > _LOWEST else _LOWEST  # also if it is not a number


@lean
def write_features(
    tables: Tables, view: View, of: int, is_top: bool, start: int, end: int, inside: float, out: Any
) -> None:
    """φ of one constituent, whose symbol is of the class ``of``."""
    classes, span = tables.tag.shape[0], span_of(start, end)
    for f in range(FEATURES):
        out[f] = view.spans[span * FEATURES + f]
    out[INSIDE] = inside
    out[BEFORE] = tables.before[view.before[start] * classes + of]
    out[AFTER] = tables.after[view.after[end] * classes + of]
    out[CHAIN] = 0.0 if is_top else 1.0
    if view.wanted.shape[0] > 0:
        out[CHEATING] = np.float64(view.wanted[span * classes + of])
