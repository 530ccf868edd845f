"""The possible labels of a word: its labels in training, and the labels of similar words.

A :class:`Candidates` table is learned from *keys* with their labels: a key is a word, or a word with its tags. For each
key, the table stores its labels, most frequent first. For each *class* of keys, such as the words that end in *-ing*,
it stores the most usual labels. A rare or new key gets the labels of its classes as candidates, the narrowest class
first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.models import pack_strings, unpack_strings
from treewright.text.choosing import MOST_CANDIDATES

__all__ = ["Candidates"]

# thresholds for the probable labels of rare keys, chosen on development data
_SMOOTHING, _OWN_SMOOTHING = 10.0, 3.0
_LEAST_CHANCE = 0.0005
_SHORT = 4  # letters of the names of classes whose probabilities are remembered
_MOST_PROBABLE = 20
# thresholds for labels that words often have together, also chosen on development data
_LEAST_TIMES, _LEAST_WORDS = 5, 3
_ALL_SEEN = 100  # a word with this many occurrences has shown all its labels


class _Lists:
    """A map from strings to lists of small numbers, stored in two arrays."""

    def __init__(self, names: Iterable[str], at: npt.NDArray[np.int32], values: npt.NDArray[np.int32]) -> None:
        self.number = {name: number for number, name in enumerate(names)}
        self.at, self.values = at, values
        self._lists, self._bounds = values.tolist(), at.tolist()

    @classmethod
    def of(cls, lists: Mapping[str, Sequence[int]]) -> _Lists:
        names = sorted(lists)
        at = np.cumsum([0, *(len(lists[name]) for name in names)])
        values = [value for name in names for value in lists[name]]
        return cls(names, at.astype(np.int32), np.array(values, np.int32))

    def get(self, name: str) -> list[int]:
        number = self.number.get(name)
        return [] if number is None else self._lists[self._bounds[number] : self._bounds[number + 1]]

    def to_arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        return {
            **pack_strings(list(self.number), prefix),
            f"{prefix}_lists_at": self.at,
            f"{prefix}_lists": self.values,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> _Lists:
        return cls(unpack_strings(arrays, prefix), arrays[f"{prefix}_lists_at"], arrays[f"{prefix}_lists"])


class Candidates:
    """The candidate labels of keys.

    ``own`` has the labels of each key in the training data and, in ``counts``, the number of occurrences with each
    label. ``classes`` has the usual labels of classes of keys. Keys with at least ``sure`` occurrences have only their
    own labels. The labels in ``always`` are the candidates if there are no others. With ``class_counts``, the number of
    occurrences of each class with its labels, a rare key has only its probable labels. ``related`` has, for each label,
    the labels that keys with this label often have too: *visit* was seen as an infinitive, and may be a present tense
    as well.
    """

    def __init__(
        self,
        own: _Lists,
        counts: _Lists,
        classes: _Lists,
        sure: int,
        always: Sequence[int],
        class_counts: _Lists | None = None,
        related: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        self.own, self.counts, self.classes, self.sure, self.always = own, counts, classes, sure, list(always)
        self.class_counts, self.related = class_counts, related or {}
        self._remembered: dict[str, dict[int, float]] = {}  # probabilities in classes with short names, which are wide

    @classmethod
    def learn(
        cls,
        seen: Iterable[tuple[str, Sequence[str], int]],
        *,
        sure: int = 8,
        rare: int = 10,
        usual: int = 20,
        share: float = 0.0,
        probable: bool = False,
        together: float = 0.0,
    ) -> Candidates:
        """Learn from occurrences of keys, each with its classes and its label.

        The labels of classes are counted on keys with fewer than ``rare`` occurrences, because new keys resemble rare
        ones. The table keeps the ``usual`` most frequent labels of each class, and the labels that a key has in at
        least this ``share`` of its occurrences: the others are often errors. With ``probable``, a rare key gets only
        the labels that are probable by the counts of its classes. With ``together``, a key that is not very frequent
        also gets the labels that at least this share of the keys with one of its labels have.
        """
        seen = list(seen)
        by_key: dict[str, Counter[int]] = defaultdict(Counter)
        for key, _, label in seen:
            by_key[key][label] += 1
        by_class: dict[str, Counter[int]] = defaultdict(Counter)
        for key, classes, label in seen:
            if by_key[key].total() < rare:
                for name in classes:
                    by_class[name][label] += 1
        ranked = {
            key: [label for label in _ranked(counter) if counter[label] >= share * counter.total()]
            for key, counter in by_key.items()
        }
        usual_labels = {name: _ranked(counter)[:usual] for name, counter in by_class.items()}
        return cls(
            _Lists.of(ranked),
            _Lists.of({key: [by_key[key][label] for label in order] for key, order in ranked.items()}),
            _Lists.of(usual_labels),
            sure,
            _ranked(Counter(label for _, _, label in seen))[:usual],
            _Lists.of({name: [by_class[name][label] for label in order] for name, order in usual_labels.items()})
            if probable
            else None,
            _related((ranked[key] for key, counter in by_key.items() if counter.total() >= _LEAST_TIMES), together)
            if together
            else None,
        )

    def knows(self, key: str, classes: Iterable[str]) -> bool:
        """Return whether the training data had a key, or another one of its classes."""
        return key in self.own.number or not self.classes.number.keys().isdisjoint(classes)

    def times(self, key: str) -> int:
        """Return the number of occurrences of a key in training."""
        return sum(self.counts.get(key))

    def of(
        self, key: str, classes: Iterable[str], more: Sequence[int] = (), allowed: Callable[[int], bool] | None = None
    ) -> list[int]:
        """Return the candidates of a key, by its classes from narrow to wide; ``more`` come before those of classes."""
        own, times = self.own.get(key), self.times(key)
        found = dict.fromkeys([label for label in [*own, *more] if allowed is None or allowed(label)])
        if self.related and times < _ALL_SEEN:
            found.update(dict.fromkeys(other for label in own for other in self.related.get(label, ())))
        if self.class_counts is not None:
            if times < self.sure:
                found.update(dict.fromkeys(self._probable(key, classes)))
        elif times < self.sure:
            enough = len(found) + (20 if not own else 12)
            for name in classes:
                if len(found) >= enough:
                    break
                if labels := self.classes.get(name):  # most classes of an odd key are unknown
                    for label in labels:
                        if label not in found and (allowed is None or allowed(label)):
                            found[label] = None
        if not found:
            found = dict.fromkeys(label for label in self.always if allowed is None or allowed(label))
        return list(found)[:MOST_CANDIDATES] or self.always[:1]

    def _probable(self, key: str, classes: Iterable[str]) -> list[int]:
        """Return the labels of a rare key that are not too improbable, the most probable first.

        The relative frequencies in each class are smoothed by those of the next wider one, as in the suffix tries of
        TnT (Brants 2000): p ← (count + θ·p) / (total + θ).
        """
        chances = self.chances(key, classes)
        probable = [label for label, chance in chances.items() if chance >= _LEAST_CHANCE]
        return sorted(probable, key=lambda label: (-chances[label], label))[:_MOST_PROBABLE]

    def chances(self, key: str, classes: Iterable[str]) -> dict[int, float]:
        """Return the probabilities of the labels of a key, from its own counts and the counts of its classes.

        The name of a class must determine the wider classes.
        """
        assert self.class_counts is not None
        chances: dict[int, float] = {}
        for name in reversed(list(classes)):
            known = self._remembered.get(name)
            if known is None:
                known = _smoothed(chances, self.classes.get(name), self.class_counts.get(name), _SMOOTHING)
                if len(name) <= _SHORT and name in self.classes.number:
                    self._remembered[name] = known
            chances = known
        return _smoothed(chances, self.own.get(key), self.counts.get(key), _OWN_SMOOTHING)

    def to_arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """Return the table as arrays for a model file."""
        return {
            **self.own.to_arrays(f"{prefix}_own"),
            f"{prefix}_counts": self.counts.values,
            **self.classes.to_arrays(f"{prefix}_classes"),
            f"{prefix}_always": np.array([self.sure, *self.always], np.int32),
            **({} if self.class_counts is None else {f"{prefix}_class_counts": _narrow(self.class_counts.values)}),
            **({f"{prefix}_related": np.array(list(self._pairs()), np.int32)} if self.related else {}),
        }

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return ((label, other) for label, others in self.related.items() for other in others)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Candidates:
        """Restore the table from the result of :meth:`to_arrays`."""
        own = _Lists.from_arrays(arrays, f"{prefix}_own")
        sure, *always = arrays[f"{prefix}_always"].tolist()
        counts = _Lists(own.number, own.at, arrays[f"{prefix}_counts"])
        classes = _Lists.from_arrays(arrays, f"{prefix}_classes")
        of_classes = arrays.get(f"{prefix}_class_counts")
        class_counts = None if of_classes is None else _Lists(classes.number, classes.at, of_classes)
        related: dict[int, list[int]] = {}
        for label, other in arrays.get(f"{prefix}_related", np.empty((0, 2))).tolist():
            related.setdefault(label, []).append(other)
        return cls(own, counts, classes, sure, always, class_counts, related)


def _smoothed(
    chances: dict[int, float], labels: Sequence[int], counts: Sequence[int], weight: float
) -> dict[int, float]:
    """Return the relative frequencies of labels, smoothed by their probabilities in a wider class."""
    if not labels:
        return chances
    total = sum(counts) + weight
    found = {label: weight * chance / total for label, chance in chances.items()}
    for label, count in zip(labels, counts, strict=True):
        found[label] = found.get(label, 0.0) + count / total
    return found


def _related(lists: Iterable[Sequence[int]], share: float) -> dict[int, list[int]]:
    """Return for each label the other labels that at least this share of the keys with it have."""
    alone: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    for labels in lists:
        alone.update(labels)
        pairs.update(permutations(labels, 2))
    related: dict[int, list[int]] = {}
    for (label, other), count in sorted(pairs.items()):
        if count >= max(_LEAST_WORDS, share * alone[label]):
            related.setdefault(label, []).append(other)
    return related


def _narrow(counts: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """Store counts in 16 bits if they fit."""
    return counts.astype(np.uint16) if counts.max(initial=0) < 1 << 16 else counts


def _ranked(counter: Counter[int]) -> list[int]:
    """Sort labels by their counts; ties are broken by the smaller label, so that the order is deterministic."""
    return sorted(counter, key=lambda label: (-counter[label], label))
