"""Morphological tagging: the universal tag, the tag of the treebank and the features of each word, chosen together.

A label combines the values of a word in several columns. Labels are chosen as wholes, among the candidates of the word,
so that the columns always agree; they share weights by their parts (:mod:`treewright.text.choosing`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.models import pack_strings, unpack_strings
from treewright.search import Packed, mix, string_hash
from treewright.text.candidates import Candidates
from treewright.text.choosing import LABEL_PART, STYLE, Template, part_array
from treewright.text.words import (
    CASES,
    KeyRows,
    affixes,
    ambiguity,
    case_of,
    kind_of,
    label_numbers,
    numbered,
    pack_choices,
    rare_ending,
    suffix_classes,
)

__all__ = ["COLUMNS", "Morphology"]

#: the columns that a label may consist of, in the order of its parts
COLUMNS = ("upos", "xpos", "feats")

# chosen on development data:
_LEAST_SHARE = 0.01  # the minimum share of the occurrences of a word, for a label to be a candidate
_TOGETHER = 0.15  # the minimum share of the words with a label, for another label to be a candidate of each of them
_SECOND = 0.1  # the minimum probability of the second tag of a word
_HIDDEN, _HIDDEN_SHARE = 2, 70  # words with at most this many occurrences look new in this percentage of cases

# attributes of a word
(FORM, LOW, S1, S2, S3, S4, S5, P1, P2, P3, SHAPE, AMBIGUITY, LIKELY, TWO_LIKELY, CASE) = range(15)
# parts of the label of an earlier word
UPOS, TAG, FEATS = LABEL_PART, LABEL_PART + 1, LABEL_PART + 2

TEMPLATES: tuple[Template, ...] = (
    [(0, FORM)], [(0, LOW)], [(0, S1)], [(0, S2)], [(0, S3)], [(0, S4)], [(0, S5)], [(0, P1)], [(0, P2)], [(0, P3)],
    [(0, SHAPE)], [(0, SHAPE), (0, S2)], [(-1, LOW)], [(-2, LOW)], [(1, LOW)], [(2, LOW)], [(-1, S3)], [(1, S3)],
    [(0, SHAPE), (1, SHAPE)], [(0, SHAPE), (-1, SHAPE)], [(0, LOW), (-1, LOW)], [(0, LOW), (1, LOW)],
    [(0, LOW), (1, S3)], [(-1, TAG)], [(-1, TAG), (-2, TAG)], [(-1, TAG), (0, LOW)], [(-1, TAG), (-2, TAG), (0, LOW)],
    [(-1, TAG), (0, S3)], [(-1, TAG), (0, S2)], [(-1, TAG), (0, SHAPE)], [(-1, TAG), (1, LOW)], [(0, AMBIGUITY)],
    [(1, AMBIGUITY)], [(1, AMBIGUITY), (2, AMBIGUITY)], [(-1, TAG), (1, AMBIGUITY)], [(0, AMBIGUITY), (1, AMBIGUITY)],
    [(-1, TAG), (0, AMBIGUITY), (1, AMBIGUITY)], [(0, LOW), (1, AMBIGUITY)], [(-1, FEATS)], [(-1, FEATS), (0, S3)],
    [(-1, LOW), (1, LOW)], [(-1, LOW), (0, AMBIGUITY)], [(0, SHAPE), (-1, UPOS), (1, AMBIGUITY)],
    [(-1, TAG), (-2, TAG), (1, AMBIGUITY)], [(1, LIKELY)], [(1, LIKELY), (2, LIKELY)], [(-1, TAG), (1, LIKELY)],
    [(0, LOW), (1, LIKELY)], [(-1, TAG), (0, LOW), (1, LIKELY)], [(-1, TAG), (1, LIKELY), (2, LIKELY)],
    [(-1, LOW), (0, LOW), (1, LOW)], [(-2, LOW), (-1, LOW)], [(1, LOW), (2, LOW)], [(0, STYLE), (0, SHAPE), (0, S2)],
    [(0, STYLE), (0, SHAPE), (0, AMBIGUITY)], [(0, STYLE), (0, SHAPE), (-1, TAG)],
    [(0, STYLE), (0, SHAPE), (0, TWO_LIKELY), (1, SHAPE)], [(-2, FEATS)], [(-2, FEATS), (-1, TAG)],
    [(-3, TAG), (-2, TAG), (-1, TAG)], [(-1, FEATS), (-2, FEATS)],
)  # fmt: skip

_FIRST_TEMPLATES = 44  # of a model file that does not say how many it has

#: the templates crossed with the universal tag, the treebank's tag, the features as a whole, and each single feature
SHARED_BY = (
    (1, 3, 4, 5, 8, 10, 11, 12, 14, 23, 24, 25, 28, 29, 31, 32, 34, 36),
    (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 17, 23, 24, 25, 27, 28, 29, 31, 32, 33, 34, 36, 37, 41),
    (),
    (1, 3, 4, 5, 12, 14, 23, 28, 38, 31, 32),
)


class Morphology:
    """Labels, candidates and attributes of words, as learned from a treebank.

    ``columns`` are those of :data:`COLUMNS` that the treebank has. ``sharing`` crosses templates with the parts of
    labels, which helps if there are many labels for the size of the treebank. ``templates`` is the number of templates,
    the first ones of :data:`TEMPLATES`: an older model knows fewer.
    """

    def __init__(
        self, columns: Sequence[str], labels: Sequence[str], candidates: Candidates, capitalised: Sequence[int],
        *, min_count: int, sharing: bool, templates: int = len(TEMPLATES)
    ) -> None:  # fmt: skip
        self.columns, self.labels, self.candidates = tuple(columns), list(labels), candidates
        self.capitalised, self.min_count, self.sharing = list(capitalised), min_count, sharing
        self._templates = TEMPLATES[:templates]
        self.numbers = {label: number for number, label in enumerate(labels)}
        self._parts = part_array([self._parts_of(label) for label in labels], 3)
        self._short = ["/".join(self._parts_of(label)[:2]) for label in labels]
        self._rows = KeyRows(self.describe, self.offered, CASE + 1)

    @classmethod
    def learn(
        cls, sentences: Sequence[Sentence], columns: Sequence[str], *, min_count: int, sharing: bool
    ) -> Morphology:
        """Learn labels and candidates from a treebank."""
        words = [
            (token.form, label, place)
            for sentence in sentences
            for place, (token, label) in enumerate(zip(sentence, labels_of(sentence, columns), strict=True))
        ]
        labels, numbers = numbered(label for _, label, _ in words)
        candidates = Candidates.learn(
            ((form.lower(), suffix_classes(form), numbers[label]) for form, label, _ in words),
            share=_LEAST_SHARE,
            probable=True,
            together=_TOGETHER,
        )
        names = Counter(numbers[label] for form, label, place in words if place > 0 and kind_of(form) == "X")
        capitalised = [label for label, _ in names.most_common(3)]
        return cls(columns, labels, candidates, capitalised, min_count=min_count, sharing=sharing)

    def _parts_of(self, label: str) -> list[str]:
        values = dict(zip(self.columns, label.split("\t"), strict=True))
        upos, feats = values.get("upos", ""), values.get("feats", "")
        tag = values.get("xpos") or upos
        features = [f"{upos}|{feature}" for feature in feats.split("|") if feats not in ("", "_")]
        return [upos, tag, feats, *features]

    def describe(self, form: str, new: bool = False) -> list[str]:
        """Return the attributes of a word; a ``new`` or rare word is represented by its letters only."""
        low = form.lower()
        known = not new and self.candidates.times(low) >= self.min_count
        likely, second = self._likely("" if new else low, form)
        return [
            form if known else "",
            low if known else "",
            *affixes(form),
            rare_ending(low) if new else ambiguity(self.candidates, low, self._short),
            likely,
            f"{likely} {second}",
            case_of(form),
        ]

    def _likely(self, key: str, form: str) -> tuple[str, str]:
        """Return the most probable tag of a word, and the second if it is not improbable, else an empty string."""
        chances: dict[str, float] = defaultdict(float)
        for label, chance in self.candidates.chances(key, suffix_classes(form)).items():
            chances[self._short[label]] += chance
        ranked = sorted(chances, key=lambda tag: (-chances[tag], tag))[:2]
        least = _SECOND * sum(chances.values())
        return (ranked[0] if ranked else ""), (ranked[1] if len(ranked) > 1 and chances[ranked[1]] > least else "")

    def offered(self, form: str, new: bool = False) -> list[int]:
        """Return the candidates of a word, or those that it would have if it were ``new``."""
        more = self.capitalised if kind_of(form) == "X" else ()
        return self.candidates.of("" if new else form.lower(), suffix_classes(form), more)

    def pack(
        self,
        forms: Sequence[str],
        lengths: Sequence[int],
        gold: Iterable[str] | None = None,
        *,
        learning: bool = False,
    ) -> Packed:
        """Pack the words of sentences with the given lengths for the task, with their labels if they are known.

        While ``learning``, some of the rare words look like new words, so that the policy learns to handle new words.
        """
        keys: Sequence[Any] = forms
        rows: KeyRows[Any]
        if learning:
            keys = [(form, self._is_hidden(form, place)) for place, form in enumerate(forms)]
            rows = KeyRows(lambda key: self.describe(*key), lambda key: self.offered(*key), CASE + 1)
        else:
            rows = self._rows = self._rows.renewed()
        return pack_choices(
            keys,
            lengths,
            None if gold is None else label_numbers(gold, self.numbers),
            rows=rows,
            parts=self._parts,
            counted=3,
            templates=self._templates,
            shared_by=SHARED_BY if self.sharing else ((),),
            style=_styles,
        )

    def _is_hidden(self, form: str, place: int) -> bool:
        return self.candidates.times(form.lower()) <= _HIDDEN and mix(place, 1) % 100 < _HIDDEN_SHARE

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return labels and candidates as arrays for a model file."""
        return {
            **pack_strings(self.labels, "labels"),
            **self.candidates.to_arrays("words"),
            "capitalised": np.array(self.capitalised, np.int32),
            "templates": np.array(len(self._templates), np.int32),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], columns: Sequence[str], *, min_count: int, sharing: bool
    ) -> Morphology:
        """Restore the result of :meth:`to_arrays`."""
        return cls(
            columns,
            unpack_strings(arrays, "labels"),
            Candidates.from_arrays(arrays, "words"),
            arrays["capitalised"].tolist(),
            min_count=min_count,
            sharing=sharing,
            templates=int(arrays.get("templates", _FIRST_TEMPLATES)),
        )


def _styles(rows: npt.NDArray[np.int32], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return the style of each sentence: the shares of words with capitals and of words in capitals, and its length.

    In titles and headings, a capital says little about a word.
    """
    cases = [np.cumsum(np.append(0, rows[:, CASE] == hashed)) for hashed in _CASES]
    lower, title, upper = (counts[at[1:]] - counts[at[:-1]] for counts in cases)
    words = np.maximum(lower + title + upper, 1)
    capitals = np.digitize((title + upper) / words, (0.001, 0.34, 0.67, 0.999))
    style = 1 + capitals + 5 * np.digitize(upper / words, (0.3, 0.7)) + 15 * np.digitize(words, (2, 5))
    return np.asarray(style, np.int32)


_CASES = tuple(map(string_hash, CASES))


def labels_of(sentence: Sentence, columns: Sequence[str]) -> list[str]:
    """Return the labels of the words of a sentence: their columns, separated by tabs."""
    return ["\t".join(values) for values in zip(*(sentence.column(name) for name in columns), strict=True)]
