"""The inputs of an encoder for a word: its form, its characters, the values of some columns, and a fixed vector.

:class:`Inputs` holds the vocabularies of a corpus; :meth:`Inputs.read` turns sentences into the numbers of
:class:`Words`, which a packed corpus carries (``Packed.words``). Every sentence ends with an artificial root.

>>> inputs = Inputs.learn([["a", "dog"], ["a", "cat"]])
>>> words = inputs.read([["a", "fox"]])
>>> words.forms, words.form.tolist(), words.at.tolist()
(['\\x00root', 'a', 'fox'], [1, 2, 0], [0, 3])
>>> inputs.looked_up(words.forms).word.tolist()
[1, 2, 0]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.models import pack_strings, unpack_strings
from treewright.policies.encoders.vectors import Vectors

__all__ = ["FIRST", "LONGEST", "Column", "Forms", "Inputs", "Words"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

ROOT = "\0root"
#: the number of characters of a word that are read, including the marks of its beginning and its end; half of them
#: come from either end of a longer word
LONGEST = 20

# The first numbers of every vocabulary: unknown values, and the root.
_UNKNOWN, _ROOT, FIRST = 0, 1, 2
# The first numbers of characters.
_NO_LETTER, _UNKNOWN_LETTER, _ROOT_LETTER, _BEGIN, _END, _FIRST_LETTER = range(6)


class Column(NamedTuple):
    """A column of the words: its name, its position in a token, and its values in the corpus."""

    name: str
    place: int
    values: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of values, including the unknown value and the root."""
        return FIRST + len(self.values)

    def numbers(self) -> dict[str, int]:
        """The number of each value."""
        return {value: number for number, value in enumerate(self.values, FIRST)}


class Forms(NamedTuple):
    """The inputs of some forms: the numbers of the words, of their characters, and of their fixed vectors."""

    word: Ints
    letters: npt.NDArray[np.int16]
    vector: Ints


@dataclass(frozen=True, eq=False)
class Words:
    """The words of packed sentences as numbers. Sentence i has the rows ``at[i]:at[i + 1]``; its last row is the root.

    ``form`` contains the index in ``forms`` for each row. ``columns`` has a row of numbers for each column that is an
    input, and ``targets`` for each column that is predicted in training. If ``predicted`` is given, encoding writes the
    numbers of the targets' most likely values to it.
    """

    forms: list[str]
    form: Ints
    columns: Ints
    targets: Ints
    at: Longs
    predicted: Ints | None = None
    memo: list[Any] = field(default_factory=list)  # vectors of the forms that an encoder has computed; see inference


@dataclass(frozen=True, eq=False)
class Inputs:
    """The vocabularies of an encoder: known words, characters, the values of columns, and fixed vectors."""

    words: tuple[str, ...]
    counts: Ints
    letters: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    targets: tuple[Column, ...] = ()
    vectors: Vectors | None = None

    @classmethod
    def learn(
        cls,
        sentences: Sequence[Sequence[Any]],
        *,
        columns: Mapping[str, int] | None = None,
        targets: Mapping[str, int] | None = None,
        min_count: int = 1,
        vectors: Vectors | None = None,
    ) -> Inputs:
        """Return the vocabularies of some sentences.

        A token is a form, or a tuple whose first element is the form. ``columns`` and ``targets`` map names to other
        elements of the tuple: columns to read, and columns to predict in training. Words whose lower-case form occurs
        fewer than ``min_count`` times are unknown.
        """
        forms = Counter(_forms(sentences))
        counts, letters = Counter[str](), Counter[str]()
        for form, count in forms.items():
            counts[form.lower()] += count
            for letter in form:
                letters[letter] += count
        known = {word: count for word, count in counts.most_common() if count >= min_count}

        def learned(places: Mapping[str, int] | None) -> tuple[Column, ...]:
            return tuple(
                Column(name, place, tuple(sorted({token[place] for s in sentences for token in s})))
                for name, place in (places or {}).items()
            )

        frequent = sorted(letter for letter, count in letters.items() if count >= min(3, min_count + 1))
        every = np.array(list(known.values()), np.int32)
        return cls(tuple(known), every, tuple(frequent), learned(columns), learned(targets), vectors)

    @property
    def n_words(self) -> int:
        """The number of rows in the table of word embeddings."""
        return FIRST + len(self.words)

    @property
    def n_letters(self) -> int:
        """The number of rows in the table of character embeddings."""
        return _FIRST_LETTER + len(self.letters)

    def read(self, sentences: Sequence[Sequence[Any]], *, targets: bool = False, predicting: bool = False) -> Words:
        """Return the words of some sentences as numbers.

        With ``targets``, read the columns to predict in training, too. With ``predicting``, encoding predicts them.
        """
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        at = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum(lengths + 1, out=at[1:])
        inner = np.ones(int(at[-1]), np.bool_)
        inner[at[1:] - 1] = False
        numbers: dict[str, int] = {ROOT: 0}
        number = numbers.setdefault
        form = np.zeros(len(inner), np.int32)
        form[inner] = [number(each, len(numbers)) for each in _forms(sentences)]

        def read(columns: tuple[Column, ...]) -> Ints:
            found = np.full((len(columns), len(inner)), _ROOT, np.int32)
            for k, (_, place, _) in enumerate(columns):
                known = self._numbers[columns[k].name].get
                found[k, inner] = [known(token[place], _UNKNOWN) for token in chain.from_iterable(sentences)]
            return found

        predicted = np.zeros((len(self.targets), len(inner)), np.int32) if predicting else None
        return Words(list(numbers), form, read(self.columns), read(self.targets if targets else ()), at, predicted)

    def values(self, words: Words, name: str) -> list[str]:
        """Return the predicted values of a target for all words, without the roots."""
        [k] = [k for k, target in enumerate(self.targets) if target.name == name]
        assert words.predicted is not None
        numbers = np.delete(words.predicted[k], words.at[1:] - 1) - FIRST
        return list(map(self.targets[k].values.__getitem__, numbers.tolist()))

    def looked_up(self, forms: Iterable[str]) -> Forms:
        """Return the numbers of words, characters and vectors for some forms."""
        forms = list(forms)
        words = np.array([self._words.get(form.lower(), _UNKNOWN) for form in forms], np.int32)
        letters = np.zeros((len(forms), LONGEST), np.int16)
        known, half = self._letters.get, LONGEST // 2 - 1
        for k, form in enumerate(forms):
            if form == ROOT:
                letters[k, 0] = _ROOT_LETTER
                words[k] = _ROOT
                continue
            seen = form if len(form) <= LONGEST - 2 else form[:half] + form[-half:]
            spelled = [_BEGIN, *(known(letter, _UNKNOWN_LETTER) for letter in seen), _END]
            letters[k, : len(spelled)] = spelled
        find = (lambda form: -1) if self.vectors is None else self.vectors.find
        return Forms(words, letters, np.array([find(form) for form in forms], np.int32))

    @cached_property
    def _words(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, FIRST)}

    @cached_property
    def _letters(self) -> dict[str, int]:
        return {letter: number for number, letter in enumerate(self.letters, _FIRST_LETTER)}

    @cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        return {column.name: column.numbers() for column in (*self.columns, *self.targets)}

    # ---- the model file

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the vocabularies as arrays."""
        arrays: dict[str, npt.NDArray[Any]] = {
            **pack_strings(self.words, "words"),
            **pack_strings(self.letters, "letters"),
            "word_counts": self.counts,
        }
        for kind, columns in (("column", self.columns), ("target", self.targets)):
            arrays |= pack_strings([column.name for column in columns], f"{kind}_names")
            arrays[f"{kind}_places"] = np.array([column.place for column in columns], np.int32)
            for column in columns:
                arrays |= pack_strings(column.values, f"{kind}_{column.name}")
        return arrays | ({} if self.vectors is None else self.vectors.to_arrays())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Inputs:
        """Return the vocabularies that :meth:`to_arrays` wrote."""

        def columns(kind: str) -> tuple[Column, ...]:
            names, places = unpack_strings(arrays, f"{kind}_names"), arrays[f"{kind}_places"].tolist()
            return tuple(
                Column(name, place, tuple(unpack_strings(arrays, f"{kind}_{name}")))
                for name, place in zip(names, places, strict=True)
            )

        return cls(
            tuple(unpack_strings(arrays, "words")),
            arrays["word_counts"],
            tuple(unpack_strings(arrays, "letters")),
            columns("column"),
            columns("target"),
            Vectors.from_arrays(arrays) if "vectors" in arrays else None,
        )


def _forms(sentences: Iterable[Sequence[Any]]) -> list[str]:
    """The forms of all words."""
    tokens = chain.from_iterable(sentences)
    return [token if isinstance(token, str) else token[0] for token in tokens]
