"""The lexicon: the possible tags of a word, and their scores.

A :class:`Lexicon` is learned from tagged sentences and scores pairs of a tag and a word, in one of two ways:

``ratio``
    log P(tag | word) / P(tag), the default of the Berkeley parser, which Neu and Szepesvári (2009, §6) also use. It
    omits P(word), which is the same in all trees over a sentence.
``word``
    log P(word | tag), as in a probabilistic grammar: with it the score of a tree is its log-probability.

>>> sentences = [[("the", "DT"), ("old", "JJ"), ("man", "NN")], [("they", "PRP"), ("man", "VBP"), ("boats", "NNS")]]
>>> lexicon = Lexicon.learn(sentences, smoothing=0.0)
>>> tags, scores = lexicon.row("man")
>>> [lexicon.tags[tag] for tag in tags], np.exp(scores + lexicon.prior[tags]).round(3).tolist()
(['NN', 'VBP'], [0.5, 0.5])

Words and their classes
-----------------------
P(tag | word) is the share of the tag among the word's occurrences in training. For words of up to 100 occurrences it is
interpolated with the distribution of the word's *class*, which counts as much as ``smoothing`` occurrences; so these
words may have tags that they were never seen with. More frequent words have only their own tags, and unknown words have
the tags of their class.

Classes are learned from words that are ``rare`` in training, because unknown words resemble them. They depend on the
spelling of a word (:func:`word_classes`): capitals (with separate classes at the beginning of a sentence, where they
are less informative), digits, hyphens, and the last one to three letters. Each class is interpolated with the next
coarser one, which smooths classes with few examples, and a word belongs to the finest class that was seen twice. For a
word with capitals whose lower-case form is known ("Profits" as the first word), the best tag of that form counts too.

Rows
----
The scores of a word are in its *row*: a row of the word itself, or of its class. Words with capitals may have two rows,
one of them for the beginning of a sentence. All rows are made when the lexicon is learned. So compiled code reads them
from three arrays that never change (:meth:`Lexicon.table`), and finding the rows of a sentence (:meth:`Lexicon.rows`)
is looking up words in a dictionary.

Rows are also the events of the probability: P(row) is the share of the word in training, discounted by the probability
mass of unknown words, which is the share of words seen once (Good and Turing). P(tag) is the sum of P(row) P(tag |
row), and P(word | tag) is P(row) P(tag | row) / P(tag): so the probabilities of all rows given a tag sum to exactly 1.
The probability of an unknown word is the probability of its class.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.binarisation import plain_label
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.models import pack_strings, unpack_strings
from treewright.settings import whole_number

__all__ = ["KINDS", "Lexicon", "word_classes"]

KINDS = ("ratio", "word")
"""The kinds of scores."""

# Found on the development parts of the WSJ sample and of CRAFT, where all of them have a flat optimum.
_FREQUENT = 100  # occurrences; a word with more has only its own tags
_SEEN = 2  # occurrences of rare words that a class needs
_COARSER = 10.0  # the weight of the next coarser class, in occurrences
_LEAST = 1e-3  # a tag that was never seen with a word needs this share of its best tag's probability

_Vector = npt.NDArray[np.float64]


def word_classes(word: str, first: bool = False) -> list[str]:
    """The classes of a word by its spelling, from the coarsest (all words) to the finest.

    ``first`` says that the word begins a sentence; it matters only for words with a capital.

    >>> word_classes("walked")
    ['', 'a', 'a~d', 'a~ed', 'a~ked']
    >>> word_classes("Ford", first=True)
    ['', 'Aa', '^Aa', '^Aa~d', '^Aa~rd', '^Aa~ord']
    >>> word_classes("1,250"), word_classes("B-52"), word_classes("McCoy")[:2], word_classes("NATO")[:2]
    (['', '0'], ['', 'A0-', 'A0-~2', 'A0-~52', 'A0-~-52'], ['', 'AaA'], ['', 'AA'])
    """
    letters = [letter for letter in word if letter.isalpha()]
    digits = any(map(str.isdigit, word))
    if not letters:
        return ["", ("0" if digits else ".") + "-" * ("-" in word[1:])]
    capitals = sum(map(str.isupper, letters))
    if not capitals:
        shape = "a"
    elif capitals == len(letters):
        shape = "A" if capitals == 1 else "AA"
    elif not word[0].isupper():
        shape = "aA"
    else:
        shape = "Aa" if capitals == 1 else "AaA"
    shape += "0" * digits + "-" * ("-" in word[1:])
    classes = ["", shape]
    if first and shape[0] == "A":
        shape = "^" + shape
        classes.append(shape)
    lower = word.lower()
    return classes + [f"{shape}~{lower[-size:]}" for size in range(1, min(4, len(lower)))]


class Lexicon:
    """Scores of tags for words; :meth:`learn` makes one.

    ``tags`` are the tags by their numbers, as they were in training: for a parser, symbols of binarised trees.
    ``prior`` is log P(tag) for each of them.
    """

    def __init__(self, settings: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.kind: str = settings["kind"]
        self.rare: int = settings["rare"]
        self.smoothing: float = settings["smoothing"]
        self.tags: list[str] = list(settings["tags"])
        self._arrays = {name: array for name, array in arrays.items() if name in _ARRAYS}
        self.prior: npt.NDArray[np.float32] = arrays["prior"]

        words = unpack_strings(arrays, "words")
        self._favourites: dict[str, int] = dict(zip(words, arrays["favourites"].tolist(), strict=True))
        self._within = {word: row for row, word in enumerate(words)}
        at_first = arrays["at_first"].tolist()  # the words with a separate row for the beginning of sentences
        self._first = {words[word]: len(words) + k for k, word in enumerate(at_first)}
        start = len(words) + len(at_first)
        self._classes = {name: start + k for k, name in enumerate(unpack_strings(arrays, "classes"))}

        # Rows for given tags: one for each label, with its tags (several, if tags include their parents).
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for number, symbol in enumerate(self.tags):
            label = plain_label(symbol)
            groups[symbol if label is None else label].append(number)
        start += len(self._classes)
        self._given = {label: start + k for k, label in enumerate(groups)}
        sizes = [len(group) for group in groups.values()]
        at = arrays["at"]
        self._at = np.concatenate([at, at[-1] + np.cumsum(sizes, dtype=np.int64)])
        self._tag = np.concatenate([arrays["tag"], *(np.array(group, np.int32) for group in groups.values())])
        self._score = np.concatenate([arrays["score"], np.zeros(sum(sizes), np.float32)])

    @classmethod
    def learn(
        cls,
        sentences: Iterable[Sequence[tuple[str, str]]],
        kind: str = "ratio",
        rare: int = 10,
        smoothing: float = 0.5,
    ) -> Lexicon:
        """Learn from sentences of (word, tag).

        Words of up to ``rare`` occurrences are the model of unknown words; a class counts as much as ``smoothing``
        occurrences of a word.
        """
        if kind not in KINDS:
            raise ConfigError(f"the kind of a lexicon must be one of {', '.join(KINDS)}, not {kind!r}")
        rare = whole_number("rare", rare, 1)
        if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float)) or not 0 <= smoothing < 1e9:
            raise ConfigError(f"smoothing must be a number from 0, not {smoothing!r}")
        counts: defaultdict[str, Counter[tuple[bool, str]]] = defaultdict(Counter)
        for sentence in sentences:
            for (word, tag), first in zip(sentence, _beginnings(word for word, _ in sentence), strict=True):
                counts[word][first, tag] += 1
        if not counts:
            raise CorpusError("a lexicon cannot be learned from no words")
        tags = sorted({tag for seen in counts.values() for _, tag in seen})
        settings = {"kind": kind, "rare": rare, "smoothing": float(smoothing), "tags": tags}
        return cls(settings, _Learning(counts, tags, rare, float(smoothing)).arrays(kind))

    def row(self, word: str, first: bool = False) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """The possible tags of a word, by number, and their scores; ``first`` if it begins a sentence."""
        return self._row(self._number(word, first))

    def rows(self, words: Sequence[str], *, unknown: Container[str] = ()) -> npt.NDArray[np.int32]:
        """The numbers of the rows of a sentence's words, of which some may be taken for ``unknown`` words."""
        known = self._within
        found = [known.get(word, -1) for word in words]
        for k, word in enumerate(words):
            row = self._first.get(word)
            found[k] = self._number(word, True) if row is None else row
            if _speaks(word):
                break
        if unknown:
            begins = zip(words, _beginnings(words), found, strict=True)
            found = [self._class_row(word, first) if word in unknown else row for word, first, row in begins]
        if -1 in found:
            found = [self._number(word, False) if row < 0 else row for word, row in zip(words, found, strict=True)]
        return np.array(found, np.int32)

    def gold_rows(self, tags: Sequence[str], words: Sequence[str]) -> npt.NDArray[np.int32]:
        """The numbers of rows for a sentence whose tags are given, as plain labels: only these tags, with score 0.

        If tags include their parents, all tags with the label are allowed. A word with a tag that was never seen in
        training has its usual row.
        """
        found = [self._given.get(tag, -1) for tag in tags]
        if -1 in found:
            instead = self.rows(words).tolist()
            found = [own if row < 0 else row for row, own in zip(found, instead, strict=True)]
        return np.array(found, np.int32)

    def table(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """All rows: row r has the tags and the scores from at[r] to at[r + 1]. The arrays never change."""
        return self._at, self._tag, self._score

    def knows(self, word: str) -> bool:
        """Whether the word occurred in training."""
        return word in self._favourites

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Settings (for JSON) and arrays, from which :meth:`from_arrays` restores the lexicon."""
        settings = {"kind": self.kind, "rare": self.rare, "smoothing": self.smoothing, "tags": list(self.tags)}
        return settings, dict(self._arrays)

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Lexicon:
        """The lexicon from the result of :meth:`to_arrays`; :class:`ModelError` if it is inconsistent."""
        try:
            lexicon = cls(settings, arrays)
            at, tag, score = (arrays[name] for name in ("at", "tag", "score"))
            fits = (
                lexicon.kind in KINDS
                and len(at) == len(lexicon._favourites) + len(lexicon._first) + len(lexicon._classes) + 1
                and at[0] == 0
                and bool((np.diff(at) > 0).all())
                and at[-1] == len(tag) == len(score)
                and len(lexicon.prior) == len(lexicon.tags)
                and bool(((tag >= 0) & (tag < len(lexicon.tags))).all())
                and "" in lexicon._classes
                and at.dtype == np.int64
                and tag.dtype == np.int32
                and score.dtype == np.float32
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            fits = False
        if not fits:
            raise ModelError("the model's lexicon is damaged: its parts do not fit; copy or train the model again")
        return lexicon

    def _row(self, number: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        part = slice(int(self._at[number]), int(self._at[number + 1]))
        return self._tag[part], self._score[part]

    def _number(self, word: str, first: bool) -> int:
        """The row of a word; the row of its class, if it is unknown."""
        row = self._first.get(word) if first else None
        row = self._within.get(word) if row is None else row  # most words have only one row
        return self._class_row(word, first) if row is None else row

    def _class_row(self, word: str, first: bool) -> int:
        """The row of a word's class."""
        other = other_tag(word, self._favourites)
        return self._classes[finest_class(word_classes(word, first), other, self._classes)]


_ARRAYS = frozenset(
    ["prior", "favourites", "at_first", "at", "tag", "score"]
    + [f"{name}.{part}" for name in ("words", "classes") for part in ("utf8", "offsets")]
)


class _Learning:
    """Counts of words and classes, and the probabilities computed from them."""

    def __init__(
        self, counts: Mapping[str, Counter[tuple[bool, str]]], tags: Sequence[str], rare: int, smoothing: float
    ) -> None:
        self.smoothing = smoothing
        numbers = {tag: k for k, tag in enumerate(tags)}
        self.words = sorted(counts)
        self.totals = [counts[word].total() for word in self.words]
        self.own = np.zeros(len(tags))  # one word's counts
        self.tags_of: list[dict[int, int]] = []
        for word in self.words:
            seen: dict[int, int] = {}
            for (_, tag), count in counts[word].items():
                seen[numbers[tag]] = seen.get(numbers[tag], 0) + count
            self.tags_of.append(dict(sorted(seen.items())))
        self.favourites = {
            word: max(seen, key=lambda tag: (seen[tag], -tag))
            for word, seen in zip(self.words, self.tags_of, strict=True)
        }
        self.begins = {word: sum(n for (first, _), n in counts[word].items() if first) for word in self.words}

        # Rare words, or all if none is rare, each with its tag and position.
        examples = [word for word, total in zip(self.words, self.totals, strict=True) if total <= rare] or self.words
        self.examples = [
            (word_classes(word, first), other_tag(word, self.favourites), numbers[tag], count)
            for word in examples
            for (first, tag), count in sorted(counts[word].items())
        ]
        self.classes = self._classes(len(tags))

    def arrays(self, kind: str) -> dict[str, npt.NDArray[Any]]:
        """All rows, and the names of their words or classes."""
        rows: list[tuple[npt.NDArray[np.int32], _Vector]] = []
        twins: list[int] = []
        for number, word in enumerate(self.words):
            rows.append(self._mixed(number, self._class(word, False)))
            if self.totals[number] <= _FREQUENT and self._class(word, True) != self._class(word, False):
                twins.append(number)
        rows += [self._mixed(number, self._class(self.words[number], True)) for number in twins]
        rows += [_pruned(vector) for vector in self.classes.values()]

        mass = self._masses(twins)
        at = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(tag) for tag, _ in rows], out=at[1:])
        tag = np.concatenate([tag for tag, _ in rows])
        share = np.concatenate([share for _, share in rows])
        joint = share * np.repeat(mass, np.diff(at))
        prior = np.log(np.bincount(tag, joint, len(self.own)))
        score = np.log(joint if kind == "word" else share) - prior[tag]
        return {
            **pack_strings(self.words, "words"),
            **pack_strings(self.classes, "classes"),
            "favourites": np.array([self.favourites[word] for word in self.words], np.int32),
            "at_first": np.array(twins, np.int32),
            "prior": prior.astype(np.float32),
            "at": at,
            "tag": tag,
            "score": score.astype(np.float32),
        }

    def _classes(self, n_tags: int) -> dict[str, _Vector]:
        """P(tag | class) of the classes seen often enough, each interpolated with the next coarser one."""
        counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
        order: dict[str, tuple[int, str]] = {}  # coarse classes first, and to each the next coarser one
        others: defaultdict[str, Counter[int]] = defaultdict(Counter)  # by shape and the best tag of the other form
        for names, other, tag, count in self.examples:
            for depth, name in enumerate(names):
                counts[name][tag] += count
                order[name] = (depth, names[depth - 1] if depth else "")
            if other is not None:
                others[f"{other}:{_shape(names)}"][tag] += count
        found: dict[str, _Vector] = {}
        for name in sorted(order, key=lambda name: (order[name][0], name)):
            if not name:
                found[name] = _mixture(counts[name], np.zeros(n_tags), 0.0)
            elif counts[name].total() >= _SEEN:
                found[name] = _mixture(counts[name], found[order[name][1]], _COARSER)

        # For words with another form: the distribution for its tag, interpolated with the class. So that all rows can
        # be made now, this is done for classes that were seen with such words, and only for those of the last letter.
        pairs: dict[str, str] = {}
        for names, other, _, _ in self.examples:
            if other is not None:
                pairs[f"{other}:{finest_class(names, None, found)}"] = _shape(names)
        for key in others:
            best, _, shape = key.partition(":")
            for name in found:
                if name == shape or (name.startswith(shape + "~") and len(name) == len(shape) + 2):
                    pairs[f"{best}:{name}"] = shape
        for pair, shape in sorted(pairs.items()):
            best, _, name = pair.partition(":")
            if (seen := others[f"{best}:{shape}"]).total() >= _SEEN:
                found[pair] = _mixture(seen, found[name], _COARSER)
        return found

    def _class(self, word: str, first: bool) -> str:
        return finest_class(word_classes(word, first), other_tag(word, self.favourites), self.classes)

    def _mixed(self, number: int, name: str) -> tuple[npt.NDArray[np.int32], _Vector]:
        """P(tag | word), the word's own tags interpolated with the tags of its class."""
        seen = np.fromiter(self.tags_of[number], np.int32)
        self.own[seen] = list(self.tags_of[number].values())
        if self.totals[number] > _FREQUENT or not self.smoothing:
            row = seen, self.own[seen] / self.own[seen].sum()
        else:
            row = _pruned(
                (self.own + self.smoothing * self.classes[name]) / (self.totals[number] + self.smoothing), seen
            )
        self.own[seen] = 0.0
        return row

    def _masses(self, twins: Sequence[int]) -> _Vector:
        """P(row): the words', their twins' at the beginning of sentences, and the classes'."""
        words = np.array(self.totals, np.float64)
        new = (np.count_nonzero(words == 1) + 1) / (words.sum() + 2)
        words *= (1.0 - new) / words.sum()
        begins = (sum(self.begins[self.words[k]] for k in twins) + 1) / (sum(self.totals[k] for k in twins) + 2)
        at_first = words[twins] * begins
        words[twins] -= at_first
        places = {name: k for k, name in enumerate(self.classes)}
        classes = np.full(len(places), 0.5)  # so that none has the probability 0
        for names, other, _, count in self.examples:
            classes[places[finest_class(names, other, places)]] += count
        return np.concatenate([words, at_first, classes * (new / classes.sum())])


def _mixture(counts: Mapping[int, int], coarser: _Vector, weight: float) -> _Vector:
    mixed = coarser * weight
    for tag, count in counts.items():
        mixed[tag] += count
    mixed /= mixed.sum()
    return mixed


def _pruned(shares: _Vector, keep: npt.NDArray[np.int32] | None = None) -> tuple[npt.NDArray[np.int32], _Vector]:
    """The sufficiently probable tags, and their probabilities."""
    enough = shares >= _LEAST * shares.max()
    if keep is not None:
        enough[keep] = True
    tags = np.flatnonzero(enough).astype(np.int32)
    return tags, shares[tags] / shares[tags].sum()


def finest_class(names: Sequence[str], other: int | None, known: Mapping[str, Any]) -> str:
    """The finest class of a word that is known: with the best tag of its other form, if it has one, or without."""
    if other is not None:
        for name in reversed(names):
            if (pair := f"{other}:{name}") in known:
                return pair
    return next(name for name in reversed(names) if name in known)


def _shape(names: Sequence[str]) -> str:
    """Of the classes of a word, the finest that does not use its last letters."""
    return next(name for name in reversed(names) if "~" not in name)


def other_tag(word: str, favourites: Mapping[str, int]) -> int | None:
    """The best tag of a word's lower-case form, if that form is different and known."""
    lower = word.lower()
    return None if lower == word else favourites.get(lower)


def _speaks(word: str) -> bool:
    """Whether this word begins the sentence; quotation marks and brackets before it are skipped."""
    return word.isalnum() or any(map(str.isalnum, word))


def _beginnings(words: Iterable[str]) -> Iterator[bool]:
    """For each word, whether it begins the sentence."""
    begins = True
    for word in words:
        yield begins
        begins = begins and not _speaks(word)
