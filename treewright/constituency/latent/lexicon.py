"""The lexicon of a latent-variable grammar: the probabilities of words given substates of tags.

The lexicon of the treebank (:class:`~treewright.constituency.grammar.lexicon.Lexicon`) has P(row, tag), where a row is
a word or a class of words. The substates of a tag t divide this probability. Training computes the expected number of
times that each substate emits each word, c(w, t, a). With κ and λ as numbers of occurrences,

    P(a | t, class) = (c(class, t, a) + λ P(a | t, coarser class)) / (c(class, t) + λ)
    P(a | t, row)   = (c(w, t, a) + κ P(a | t, class of the row)) / (c(w, t) + κ)
    P(row | t, a)   = P(row, t) P(a | t, row) / Σ over rows of P(row, t) P(a | t, row)

where c(class, t, a) are the counts of the rare words in a class, and the coarsest class backs off to all words. The
distribution over substates thus comes from the word itself if it is frequent, mostly from similar words if it is rare,
and only from these if it is unknown. A word that has two rows, one for the beginning of sentences, has one c(w, t, a).
Finally P(row | t, a) is smoothed towards its mean over the substates of t, as in Petrov et al. (2006, §2.5). It sums to
1 over all rows for every substate.

In training, P(row, t) is the relative frequency. With κ = 0 and without smoothing, P(row | t, a) is then the M-step of
EM.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.lexicon import Lexicon, finest_class, other_tag, word_classes
from treewright.errors import ModelError

__all__ = ["LatentLexicon"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_NONE = -1


class Entries(NamedTuple):
    """The pairs of a row and a tag in the treebank's lexicon: of words, of words that begin sentences, of classes."""

    tag: Ints
    joint: Floats  # P(row, tag)
    sibling: Ints  # the same tag in the word's other row, if it has one
    backoff: Ints  # the same tag in the class of a word, or in the next coarser class of a class, if there is one
    classes: int  # the index of the first class; coarser classes precede finer ones


@dataclass(frozen=True, eq=False)
class LatentLexicon:
    """Counts of words emitted by substates of tags, and their probabilities; :meth:`learn` creates one.

    ``counts`` has a block of substates for each entry of the treebank's lexicon.
    """

    base: Lexicon
    substates: Ints  # the number for each tag
    counts: Floats
    occurrences: float
    coarser: float

    @classmethod
    def learn(
        cls,
        sentences: Iterable[Sequence[tuple[str, str]]],
        *,
        rare: int = 10,
        smoothing: float = 0.5,
        occurrences: float = 4.0,
        coarser: float = 30.0,
    ) -> LatentLexicon:
        """Learn the lexicon from sentences of (word, tag), with one substate for each tag.

        ``rare`` and ``smoothing`` are those of the treebank's lexicon, ``occurrences`` is κ and ``coarser`` λ.
        """
        sentences = list(sentences)
        base = Lexicon.learn(sentences, "word", rare, smoothing)
        lexicon = cls(base, np.ones(len(base.tags), np.int32), np.zeros(0), float(occurrences), float(coarser))
        entries = [lexicon.entries_of(sentence) for sentence in sentences]
        counts = np.bincount(np.concatenate(entries), minlength=len(lexicon.entries.tag)).astype(np.float64)
        return lexicon._same_words(replace(lexicon, counts=counts))

    def with_counts(self, substates: Ints, counts: Floats) -> LatentLexicon:
        """Return a lexicon with the same words and other counts of substates."""
        other = self._same_words(replace(self, substates=substates, counts=counts))
        other.__dict__["_is_rare"] = self._is_rare  # the frequencies of words do not change
        if np.array_equal(substates, self.substates):
            other.__dict__.update(at=self.at, _cells=self._cells)
        return other

    def _same_words(self, other: LatentLexicon) -> LatentLexicon:
        other.__dict__.update(entries=self.entries, _rows=self._rows)
        return other

    @cached_property
    def _rows(self) -> _Rows:
        return _Rows(self.base)

    def entries_of(self, sentence: Sequence[tuple[str, str]]) -> Longs:
        """Return the entries of the words and tags of a training sentence."""
        at, tag, _ = self.base.table()
        number = self._number
        found = []
        for row, (_, name) in zip(self.base.rows([word for word, _ in sentence]).tolist(), sentence, strict=True):
            place = np.flatnonzero(tag[at[row] : at[row + 1]] == number[name])
            found.append(int(at[row] + place[0]))
        return np.array(found, np.int64)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.base.tags)}

    @cached_property
    def at(self) -> Longs:
        """The offset of the block of each entry."""
        return _offsets(self.substates, self.entries.tag)

    @cached_property
    def entries(self) -> Entries:
        """The entries, with the entries that they back off to."""
        _, arrays = self.base.to_arrays()
        at, tag = arrays["at"], arrays["tag"]
        joint = np.exp(arrays["score"].astype(np.float64) + arrays["prior"].astype(np.float64)[tag])
        rows = self._rows
        of_row = np.repeat(np.arange(len(at) - 1), np.diff(at))
        place = np.full((len(at), len(self.base.tags)), _NONE, np.int32)  # the last row is for no row, −1
        place[of_row, tag] = np.arange(len(tag))
        # the entry of the same tag in the nearest of the coarser rows that has it
        towards, backoff = rows.backoff[of_row], np.full(len(tag), _NONE, np.int32)
        while (waiting := np.flatnonzero((backoff == _NONE) & (towards != _NONE))).size:
            backoff[waiting] = place[towards[waiting], tag[waiting]]
            towards[waiting] = rows.backoff[towards[waiting]]
        return Entries(tag, joint, place[rows.sibling[of_row], tag], backoff, int(at[rows.classes]))

    @cached_property
    def _is_rare(self) -> npt.NDArray[np.bool_]:
        """Whether each entry belongs to a word that is rare in training."""
        _, arrays = self.base.to_arrays()
        at = arrays["at"]
        rows = self._rows
        seen = np.add.reduceat(np.add.reduceat(self.counts, self.at[:-1]), at[:-1])
        words = np.where(rows.sibling >= 0, seen + seen[rows.sibling], seen)
        rare = (words > 0) & (words < self.base.rare + 0.5)  # sums of expected counts have rounding errors
        if not rare.any():
            rare = words > 0
        return np.repeat(rare, np.diff(at))

    def emission(self, *, in_training: bool = False, smoothing: float = 0.0) -> Floats:
        """Return P(row | tag, substate), a block of substates for each entry; ``smoothing`` is towards their mean.

        With ``in_training``, all probability mass belongs to the words of the training data.
        """
        joint = np.add.reduceat(self.counts, self.at[:-1]) if in_training else self.entries.joint
        return _emission(
            self._cells, joint, _shares(self._cells, self.counts, self.occurrences, self.coarser), smoothing
        )

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells(self.entries, self.at, self.substates, self._is_rare)

    def passed_on(self, into: Sequence[Floats]) -> LatentLexicon:
        """Redistribute counts: ``into`` has for each tag the matrix of shares from old to new substates."""
        substates = np.array([matrix.shape[1] for matrix in into], np.int32)
        tag = self.entries.tag
        at = _offsets(substates, tag)
        counts = np.zeros(at[-1])
        for t, matrix in enumerate(into):
            of_tag = np.flatnonzero(tag == t)
            old, new = (
                start[of_tag, None] + np.arange(k) for start, k in zip((self.at, at), matrix.shape, strict=True)
            )
            counts[new] = self.counts[old] @ matrix
        return self.with_counts(substates, counts)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return settings (for JSON) and arrays from which :meth:`from_arrays` restores the lexicon."""
        settings, arrays = self.base.to_arrays()
        mine = {"occurrences": self.occurrences, "coarser": self.coarser}
        places = np.flatnonzero(self.counts)
        counts = {"emitted.places": places, "emitted.values": self.counts[places]}
        return {**settings, **mine}, {**arrays, **counts, "substates": self.substates}

    @classmethod
    def from_arrays(
        cls,
        settings: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        coarser: LatentLexicon | None = None,
    ) -> LatentLexicon:
        """Restore the lexicon from the result of :meth:`to_arrays`; :class:`ModelError` if it is inconsistent.

        ``coarser`` is another lexicon of the same hierarchy, which may have the same words.
        """
        if coarser is not None and any(arrays.get(name) is not own for name, own in coarser.base._arrays.items()):
            coarser = None
        base = Lexicon.from_arrays(settings, arrays) if coarser is None else coarser.base
        try:
            mixed = float(settings["occurrences"]), float(settings["coarser"])
            lexicon = cls(base, np.asarray(arrays["substates"], np.int32), np.zeros(0), *mixed)
            if coarser is not None:
                coarser._same_words(lexicon)
            counts = np.zeros(lexicon.at[-1])
            counts[arrays["emitted.places"]] = arrays["emitted.values"]
            lexicon = lexicon._same_words(replace(lexicon, counts=counts))
            fits = len(lexicon.substates) == len(base.tags)
        except (KeyError, IndexError, TypeError, ValueError):
            fits = False
        if not fits:
            raise ModelError("the model's lexicon is damaged: its parts do not fit; copy or train the model again")
        return lexicon


def _offsets(substates: Ints, tag: Ints) -> Longs:
    """The offset of the block of each entry, and the number of all cells."""
    return np.concatenate([[0], np.cumsum(substates[tag])]).astype(np.int64)


class _Rows:
    """Return for the rows of a lexicon the other row of a word, and the row of the next coarser class."""

    def __init__(self, base: Lexicon) -> None:
        favourites, classes = base._favourites, base._classes
        words = list(favourites)
        twins = {int(number): len(words) + k for k, number in enumerate(base.to_arrays()[1]["at_first"])}
        self.classes = len(words) + len(twins)
        self.sibling = np.full(self.classes + len(classes), _NONE, np.int32)
        self.backoff = np.full(self.classes + len(classes), _NONE, np.int32)
        for number, word in enumerate(words):
            other = other_tag(word, favourites)
            self.backoff[number] = classes[finest_class(word_classes(word, False), other, classes)]
            if number in twins:
                twin = twins[number]
                self.sibling[number], self.sibling[twin] = twin, number
                self.backoff[twin] = classes[finest_class(word_classes(word, True), other, classes)]
        for name, row in classes.items():
            if name:
                self.backoff[row] = classes[_coarser_class(name, classes)]


def _coarser_class(name: str, known: Mapping[str, int]) -> str:
    """Return the next coarser known class: without the other form's tag, a letter, the position, and last the shape.

    >>> _coarser_class("^Aa~ord", {"": 0, "^Aa~d": 1}), _coarser_class("12:a~d", {"a~d": 0})
    ('^Aa~d', 'a~d')
    """
    while True:
        shape, mark, letters = name.partition("~")
        if found := re.match(r"\d+:", name):
            name = name[found.end() :]
        elif mark:
            name = f"{shape}~{letters[1:]}" if len(letters) > 1 else shape
        else:
            name = name[1:] if name.startswith("^") else ""
        if name in known:
            return name


class _Group(NamedTuple):
    """Cells that back off to others: those of all words, or of the classes of one level."""

    cells: Any  # positions, or a slice
    entry: Longs  # the entry of each cell, numbered within the group
    n: int  # the number of entries
    general: Longs  # the position of the same substate in the class, or in the table of rare words if there is none

    def mix(self, seen: Floats, weight: float, general: Floats) -> Floats:
        """Return the shares of substates among the counts of each entry, interpolated with those of its class."""
        totals = np.bincount(self.entry, seen, self.n)[self.entry] + weight
        if weight > 0.0:
            mixed: Floats = (seen + weight * general) / totals
            return mixed
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals > 0.0, seen / totals, general)


class _Cells:
    """The substates of all entries, with their tags and classes. Sums follow this order, on every machine.

    The object depends on the words and on the numbers of substates, not on counts, and serves all steps of EM. After
    the cells of the entries there is a table of tags and substates, for rare words without a class.
    """

    def __init__(self, entries: Entries, at: Longs, substates: Ints, is_rare: npt.NDArray[np.bool_]) -> None:
        self.n, self.size = len(entries.tag), int(at[-1])
        self.shape = len(substates), int(substates.max())
        self.entry = np.repeat(np.arange(self.n), np.diff(at))
        substate = np.arange(self.size) - at[self.entry]
        self.tag = entries.tag[self.entry].astype(np.int64) * self.shape[1] + substate
        backoff = entries.backoff[self.entry]
        general = np.where(backoff >= 0, at[np.maximum(backoff, 0)] + substate, self.size + self.tag)

        def group(cells: Any) -> _Group:
            known, entry = np.unique(self.entry[cells], return_inverse=True)
            return _Group(cells, entry, len(known), general[cells])

        words = slice(0, int(at[entries.classes]))
        self.words = group(words)
        self.levels = [group(level) for level in _levels(self.entry, at, entries.backoff, entries.classes)]
        self.rare = np.flatnonzero(is_rare[self.entry[words]])
        self.into = self.words.general[self.rare]
        twin = entries.sibling[self.entry[words]]
        self.twins = np.flatnonzero(twin >= 0)
        self.siblings = at[twin[self.twins]] + substate[words][self.twins]
        self.sizes = np.diff(at)[self.entry].astype(np.float64)

    def by_tag(self, values: Floats) -> Floats:
        """Sum the values of the first cells by tag and substate."""
        return _sums(self.tag[: len(values)], values, self.shape[0] * self.shape[1])


def _sums(places: Longs, values: Floats, n: int) -> Floats:
    """Sum the values of each of n positions, in their order."""
    return np.bincount(places, values, n).astype(np.float64, copy=False)  # without values, NumPy returns integers


def _shares(cells: _Cells, counts: Floats, occurrences: float, coarser: float) -> Floats:
    """Compute P(substate | tag, row): see the docstring of this module."""
    words = cells.words
    everything = cells.by_tag(counts[words.cells]).reshape(cells.shape)
    shares = _sums(cells.into, counts[cells.rare], cells.size + everything.size)
    for level in reversed(cells.levels):  # so far counts of the finest class only; now add those of finer classes
        np.add.at(shares, level.general[::-1], shares[level.cells[::-1]])
    rare = shares[cells.size :].reshape(cells.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        everything /= np.add.accumulate(everything, axis=1)[:, -1:]
        totals = np.add.accumulate(rare, axis=1)[:, -1:]
        rare[:] = (rare + coarser * everything) / (totals + coarser)
    for level in cells.levels:  # from coarse to fine
        shares[level.cells] = level.mix(shares[level.cells], coarser, shares[level.general])
    seen = counts[words.cells].copy()
    seen[cells.twins] += counts[cells.siblings]
    shares[words.cells] = words.mix(seen, occurrences, shares[words.general])
    return shares[: cells.size]


def _levels(entry: Longs, at: Longs, backoff: Ints, classes: int) -> list[Longs]:
    """Return the cells of classes, by their number of coarser classes: none, one, and so on."""
    depth, coarser = np.zeros(len(backoff), np.int64), backoff
    while (coarser >= 0).any():
        depth += coarser >= 0
        coarser = np.where(coarser >= 0, backoff[coarser], _NONE)
    of_cells = depth[entry[at[classes] :]]
    return [np.flatnonzero(of_cells == d) + at[classes] for d in range(int(of_cells.max(initial=-1)) + 1)]


def _emission(cells: _Cells, joint: Floats, shares: Floats, smoothing: float) -> Floats:
    """Compute P(row | tag, substate) from P(row, tag) and P(substate | tag, row), smoothed."""
    both = joint[cells.entry] * shares
    totals = cells.by_tag(both)[cells.tag]
    emission = np.divide(both, totals, out=np.zeros_like(both), where=totals > 0.0)
    if smoothing == 0.0:
        return emission
    mean = np.bincount(cells.entry, emission / cells.sizes, cells.n)[cells.entry]
    smoothed: Floats = emission + smoothing * (mean - emission)
    return smoothed
