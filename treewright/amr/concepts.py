"""Forms derive concepts from words, for example *the lemma* or *the lemma with sense 01*; they fit unseen words too.

A parser that learned ``sheep`` for *sheep* cannot handle *goats*; one that learned *the lemma* can. So NextNode chooses
a form, and only concepts that no form derives are learned individually (§4.3.5 of Goodman 2015; its §7.1 proposes LEMMA
and frames of PropBank). The bases of forms are the lemma, the verb that it comes from (*meditation*), the adjective
(*abruptly*) and the verb with its particle (*wake up*); each alone or with a sense.

>>> word = Word("abruptly", "abruptly", "ADV", "RB", "advmod", -1, (0,))
>>> Forms().realise(word, None)[FORMS.index("adjective")]
'abrupt'
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from treewright.amr.preparation import Word
from treewright.amr.wording import MONTHS, read_verbalisations
from treewright.corpora.files import text_lines

__all__ = ["FORMS", "Forms", "clean_concept", "is_constant", "is_number"]

_SENSES = 9
_BASES = ("lemma", "verb", "adjective", "particle")
#: the forms that depend on the word; the first one is for nodes that have a concept already
FORMS = (
    "keep",
    "number",
    "quoted",
    *(base + (f"-{sense:02}" if sense else "") for base in _BASES for sense in range(_SENSES + 1)),
)
_NOT_QUOTED = str.maketrans("", "", '"\\')
_AT = {name: k for k, name in enumerate(FORMS)}
_FRAME = re.compile(r"(\S+)-(\d\d+)\b")
_NUMBER = re.compile(r"[+-]?\.?\d[\d.,:]*(?:[eE][+-]?\d+)?")
_SYMBOLS = frozenset(["-", "+", "imperative", "expressive", "interrogative"])
_MONTHS = {name: month for month, full in enumerate(MONTHS, 1) for name in (full, full[:3])}
_ADVERBS = (("ically", "ic"), ("ably", "able"), ("ibly", "ible"), ("ily", "y"), ("ly", ""))


def is_number(label: str) -> bool:
    """Whether a label is written as a number.

    >>> [is_number(label) for label in ("7", "-1,000.5", "16:00", ".5", "1.5e-3", "e3", "3-d")]
    [True, True, True, True, True, False, False]
    """
    return _NUMBER.fullmatch(label) is not None


def is_constant(label: str) -> bool:
    """Whether a label is a constant and not a concept: a number, a string in quotes, a symbol.

    >>> [is_constant(label) for label in ('"Tom"', "42", "-", "cat", "want-01")]
    [True, True, True, False, False]
    """
    return label in _SYMBOLS or label.startswith('"') or is_number(label)


class Forms:
    """The forms of words, with dictionaries: the frames of PropBank, and the verbs of nouns."""

    def __init__(self, frames: Iterable[str] = (), verbalisations: Mapping[str, Sequence[str]] | None = None) -> None:
        self.frames = frozenset(frames)
        self.verbalisations = dict(verbalisations or {})
        self._lemmas = {frame.rpartition("-")[0] for frame in self.frames}

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Forms:
        """Read the files ``propbank…frames….txt`` and ``…verbalization-….txt`` of a folder, if they exist."""
        frames = [
            match[0]
            for path in sorted(Path(folder).glob("propbank*frames*.txt"))
            for line in text_lines(path)
            if (match := _FRAME.match(line))
        ]
        return cls(frames, read_verbalisations(Path(folder)))

    def __bool__(self) -> bool:
        """Whether there are dictionaries."""
        return bool(self.frames or self.verbalisations)

    def bases(self, word: Word, particle: str | None) -> tuple[str | None, ...]:
        """The bases of the forms, in the order lemma, verb, adjective, verb with particle."""
        lemma = clean_concept(word.lemma)
        verbs = self.verbalisations.get(word.lemma, ()) or self.verbalisations.get(word.form.lower(), ())
        verb = next((v for v in verbs if v and v != lemma), None)
        adjective = None
        if word.upos in ("ADV", "_") and lemma.endswith("ly") and len(lemma) > 4:
            stems = [lemma.removesuffix(end) + instead for end, instead in _ADVERBS if lemma.endswith(end)]
            adjective = next(
                (stem for stem in stems if stem in self._lemmas), stems[-1] if len(stems) == 1 else stems[0]
            )
        return lemma, verb, adjective, None if particle is None else f"{lemma}-{clean_concept(particle)}"

    def realise(self, word: Word, particle: str | None) -> list[str | None]:
        """The concept that each form derives from a word, or None."""
        month = _MONTHS.get(word.form.lower())
        capital = word.form[:1].isupper()
        number = word.number or (str(month) if month and capital else None)
        quoted = '"' + word.form.translate(_NOT_QUOTED) + '"' if capital or word.upos == "PROPN" else None
        found: list[str | None] = [None, number, quoted]
        for base in self.bases(word, particle):
            found += _with_senses(base)
        return found

    def known(self, concepts: Sequence[str | None]) -> list[int]:
        """The entry of the dictionary for each concept: 0 none, 1 it is a frame, 2 another sense of it is a frame."""
        if not self.frames:
            return [0] * len(concepts)
        return [
            0 if concept is None else 1 if concept in self.frames else 2 if self._has_frames(concept) else 0
            for concept in concepts
        ]

    def _has_frames(self, concept: str) -> bool:
        return concept in self._lemmas or concept.rpartition("-")[0] in self._lemmas

    def usual(self, word: Word, concepts: Sequence[str | None]) -> list[int]:
        """The forms to offer for an unseen or rare word: few senses, and if possible only those that exist."""
        found = [_AT["number"]] if concepts[_AT["number"]] else []
        if concepts[_AT["quoted"]]:
            found.append(_AT["quoted"])
        for base in _BASES:
            first = _AT[base]
            if concepts[first] is None:
                continue
            senses = [k for k in range(first + 1, first + 1 + _SENSES) if concepts[k] in self.frames][:3]
            lemma = concepts[first] or ""
            guess = [first + 1] if any(map(str.isalpha, lemma)) and not is_number(lemma) else []
            found += [first, *(senses or guess)]
        return found


@lru_cache(maxsize=1 << 16)  # the same words come again and again
def _with_senses(base: str | None) -> tuple[str | None, ...]:
    """A base alone, and with each sense."""
    if base is None:
        return (None,) * (_SENSES + 1)
    return base, *(f"{base}-{sense:02}" for sense in range(1, _SENSES + 1))


def clean_concept(text: str) -> str:
    """A text with only the characters that a concept may have in PENMAN notation.

    >>> clean_concept('"New York"'), clean_concept("16:00"), clean_concept("#")
    ('New-York', '16-00', 'thing')
    """
    cleaned, changes = re.subn(r"[\s()/:~\"#\\]+", "-", text)
    return (cleaned.strip("-") if changes else cleaned) or "thing"
