"""The tables of priority features, learned from a treebank: labels after and before tags, punctuation patterns.

The features themselves are in :mod:`treewright.constituency.agenda.features`. Labels are *classes* of symbols: symbols
without their ancestors, siblings and substates (:func:`label_classes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.features import CHAIN, NAMES, PUNCTUATION, Tables
from treewright.constituency.agenda.punctuation import mark_of, punctuation_patterns
from treewright.constituency.grammar.binarisation import is_intermediate, project
from treewright.constituency.grammar.pcfg import BOTTOM, TAG, Grammar
from treewright.constituency.grammar.rules import Lexical
from treewright.errors import CorpusError
from treewright.models import pack_strings, unpack_strings

__all__ = ["Priorities", "kind_of_word", "label_classes"]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_SMOOTHING = 5.0  # the weight of the general distribution of labels after each tag, in occurrences


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
    """The kind of a word's first character: upper-case, lower-case, a number, or another symbol.

    >>> from treewright.constituency.agenda.features import KINDS
    >>> [KINDS[kind_of_word(word)] for word in ("The", "cat", "3.5", "$")]
    ['upper', 'lower', 'number', 'symbol']
    """
    first = word[:1]
    return 0 if first.isupper() else 1 if first.isalpha() else 2 if first.isdigit() else 3


@dataclass(frozen=True, eq=False)
class Priorities:
    """The tables of priority features for one grammar, learned from a treebank."""

    classes: list[str]
    tags: list[str]  # classes that words have
    before: Floats  # (tags + 1) × classes
    after: Floats
    patterns: list[str]  # the most positive ones, then the most negative ones; empty strings if there are too few

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

        ``of`` is the class of each symbol of ``lexical``, if these differ from the grammar's symbols (a grammar with
        substates has a lexicon of substates, but its trees have the unsplit symbols).
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
        """The class of each symbol of a grammar, which may be finer than the grammar of :meth:`learn`."""
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
        """The arrays for kernels."""
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
        pattern = self.patterns[feature - PUNCTUATION] if self.patterns and PUNCTUATION <= feature < CHAIN else ""
        return f"{NAMES[feature]}: {pattern}" if pattern else NAMES[feature]

    def to_arrays(self) -> dict[str, Any]:
        """The tables as arrays, for a model file."""
        names = {"classes": self.classes, "tags": self.tags, "patterns": self.patterns}
        packed = {key: array for name, strings in names.items() for key, array in pack_strings(strings, name).items()}
        return {"before": self.before, "after": self.after, **packed}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Priorities:
        """The priorities from the result of :meth:`to_arrays`."""
        classes, tags, patterns = (unpack_strings(arrays, name) for name in ("classes", "tags", "patterns"))
        return cls(classes, tags, np.asarray(arrays["before"]), np.asarray(arrays["after"]), patterns)


def _favourite_classes(lexical: Lexical, of: Ints) -> Ints:
    """For each row of the lexicon the class of argmax p(w | t); −1 if it has no tags."""
    found = np.full(len(lexical.at) - 1, -1, np.int32)
    for row, (first, last) in enumerate(zip(lexical.at[:-1].tolist(), lexical.at[1:].tolist(), strict=True)):
        if last > first:
            found[row] = of[lexical.symbol[first + int(np.argmax(lexical.score[first:last]))]]
    return found
