"""Lemmas: an edit script for each word, chosen among those of words with the same tag and ending, and a lexicon.

A word that training saw several times with the same tags gets the script of the lemma that it had most often. A word
that training saw only with other features or another tag of the treebank gets the script that it had with its universal
tag, if there is only one. A word in small letters that training saw only with capitals (*india*) gets the lemma that it
had there. For all other words, a policy chooses a script (:mod:`treewright.text.edit_scripts`) by the letters of the
word, its tags, the tags around it, and by what is known of the lemma that the script gives: *hot* is the lemma of
another word, *hott* is not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence, Token
from treewright.models import pack_strings, unpack_strings
from treewright.search import Packed
from treewright.text.candidates import Candidates
from treewright.text.choosing import Template, part_array
from treewright.text.edit_scripts import EditScript, apply_script, edit_script
from treewright.text.words import KeyRows, affixes, case_of, label_numbers, numbered, pack_choices

__all__ = ["Lemmas", "TaggedWord", "tagged_words"]

# attributes of a word
(FORM, LOW, S1, S2, S3, S4, S5, P1, P2, P3, SHAPE, TAG, FEATS, UPOS, LENGTH, S6, CASE, XPOS) = range(18)

TEMPLATES: tuple[Template, ...] = (
    [(0, TAG)], [(0, LOW)], [(0, LOW), (0, TAG)], [(0, TAG), (0, S1)], [(0, TAG), (0, S2)], [(0, TAG), (0, S3)],
    [(0, TAG), (0, S4)], [(0, TAG), (0, S5)], [(0, TAG), (0, S6)], [(0, TAG), (0, SHAPE)], [(0, FEATS), (0, S2)],
    [(0, FEATS), (0, S3)], [(0, FEATS), (0, S4)], [(0, TAG), (0, P1)], [(0, TAG), (0, P2)], [(0, TAG), (0, P3)],
    [(0, TAG), (0, LENGTH), (0, S2)], [(0, FORM)], [(0, TAG), (-1, TAG)], [(0, TAG), (1, TAG)], [(0, LOW), (-1, LOW)],
    [(0, UPOS), (0, S3)], [(0, UPOS), (0, S4)], [(0, UPOS), (0, S5)], [(0, SHAPE), (-1, UPOS)],
    [(0, UPOS), (0, FEATS), (0, SHAPE)],
    [(0, TAG), (0, CASE)], [(0, XPOS), (0, CASE)], [(0, XPOS), (0, S3)], [(0, XPOS), (0, S4)],
    [(0, TAG), (0, CASE), (-1, CASE), (1, CASE)],
)  # fmt: skip

_FIRST_TEMPLATES = 26  # of a model file that does not say how many it has

_REMEMBERED = 1 << 17  # forms with their scripts
_OLD = "lexicon_lemmas"  # the array of an older model file

#: what the lexicon knows of a lemma: nothing, that it is a word, a lemma, or a lemma with the universal tag in question
KNOWN = ("", "word", "lemma", "lemma with the tag")

# chosen on development data:
_LEAST_TIMES = 2  # the occurrences of a tagged word in the lexicon
_LEAST_WORDS = 2  # the words with a script that new words may have

#: the templates that are crossed with the casing of a script, with its edit before the stem, with that after it, and
#: with what is known of the lemma
SHARED_BY = (
    (),
    (0, 2, 4, 5, 6, 9, 24, 25, 26, 27, 30),
    (0, 9, 10, 13, 14, 15),
    (3, 4, 5, 6, 7, 10, 11, 12, 16, 21, 22, 23, 28, 29),
    (0, 2, 3, 4, 5, 9, 26),
)


class TaggedWord(NamedTuple):
    """A word with its tags, which determine its lemma."""

    form: str
    upos: str
    xpos: str
    feats: str

    def entry(self) -> str:
        """The word as an entry of a lexicon."""
        return "\t".join(self)


def tagged_words(sentence: Sentence) -> list[TaggedWord]:
    """The words of a sentence with their tags."""
    return [TaggedWord(token.form, token.upos, token.xpos, token.feats) for token in sentence]


class Lemmas:
    """Scripts, candidates and a lexicon, as learned from a treebank.

    The lexicon has the number of a script for each tagged word; that of an older model file has a lemma. ``templates``
    is the number of templates, the first ones of :data:`TEMPLATES`: an older model knows fewer. A label of the task is
    a script together with what is known of the lemma that it gives, one of :data:`KNOWN`; in an older model
    (``known=1``) it is a script alone.
    """

    def __init__(
        self,
        scripts: Sequence[EditScript],
        candidates: Candidates,
        lexicon: Mapping[str, int | str],
        *,
        templates: int = len(TEMPLATES),
        known: int = len(KNOWN),
    ) -> None:
        self.scripts, self.candidates, self.lexicon = list(scripts), candidates, dict(lexicon)
        self._templates, self._known = TEMPLATES[:templates], KNOWN[:known]
        self.numbers = {script: number for number, script in enumerate(scripts)}
        self._parts = part_array([[*_parts_of(script), known] for script in scripts for known in self._known], 1)
        self._unchanged = [
            self.numbers[script]
            for casing in ("lower", "title", "upper", "same")
            if (script := EditScript(0, "", 0, "", casing)) in self.numbers
        ]
        self._rows = self._new_rows(self.candidates_of)
        self.remembered_lemma = lru_cache(maxsize=_REMEMBERED)(self.lemma_of_label)

    @classmethod
    def learn(cls, sentences: Sequence[Sentence]) -> Lemmas:
        """Learn from the words of a treebank that have lemmas."""
        by_word: dict[TaggedWord, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            for word, token in zip(tagged_words(sentence), sentence, strict=True):
                if _has_lemma(token):
                    by_word[word][token.lemma] += 1
        pairs = [(word, edit_script(word.form, lemma)) for word, counter in by_word.items() for lemma in counter]
        codes, _ = numbered(script.encode() for _, script in pairs)
        scripts = [EditScript.decode(code) for code in codes]
        numbers = {script: number for number, script in enumerate(scripts)}
        words: dict[EditScript, set[str]] = defaultdict(set)
        for word, script in pairs:
            words[script].add(word.form.lower())
        general = {script for script, own in words.items() if not script.absolute and len(own) >= _LEAST_WORDS}
        candidates = Candidates.learn(
            (
                (_own_class(word), _classes(word) if script in general else (), numbers[script])
                for word, script in pairs
            ),
            sure=2**30,
            rare=2**30,
            usual=10,
        )
        lexicon: dict[str, int | str] = {
            word.entry(): numbers[edit_script(word.form, counter.most_common(1)[0][0])]
            for word, counter in by_word.items()
            if counter.total() >= _LEAST_TIMES
        }
        return cls(scripts, candidates, lexicon)

    def describe(self, word: TaggedWord) -> list[str]:
        """The attributes of a word."""
        low = word.form.lower()
        return [
            word.form,
            low,
            *affixes(word.form),
            f"{word.upos}/{word.xpos}",
            word.feats,
            word.upos,
            str(min(len(low), 6)),
            low[-6:],
            _case(word.form),
            word.xpos,
        ]

    def offered(self, word: TaggedWord) -> list[int]:
        """Return the scripts that may apply to a word; they always include one that does not change it."""

        def applies(number: int) -> bool:
            return apply_script(self.scripts[number], word.form) is not None

        found = self.candidates.of(_own_class(word), _classes(word), allowed=applies)
        return [*found[: 40 - len(self._unchanged)], *(n for n in self._unchanged if n not in found)] or [0]

    def candidates_of(self, word: TaggedWord) -> list[int]:
        """Return the script of a word in the lexicon; for any other word, the scripts that may apply."""
        known = self.lexicon.get(word.entry())
        if known is None:
            known = self._by_upos.get((word.form, word.upos))
        if known is None and word.form == word.form.lower():
            known = self._with_capitals.get((word.form, word.upos))
        number = self.numbers.get(edit_script(word.form, known)) if isinstance(known, str) else known
        return self.offered(word) if number is None else [number]

    def _labels(self, word: TaggedWord, scripts: Iterable[int]) -> list[int]:
        """Return the labels of a word with some scripts."""
        several = len(self._known)
        return [number * several + self._knowledge(word, number) for number in scripts]

    def _knowledge(self, word: TaggedWord, script: int) -> int:
        """Return what is known of a lemma from other words, as a number of :data:`KNOWN`."""
        lemma = None if len(self._known) == 1 else apply_script(self.scripts[script], word.form)
        if lemma is None or self.scripts[script].absolute:
            return 0
        forms, low = self._forms, word.form.lower()
        if forms.get((lemma, word.upos), low) != low:
            return 3
        if forms.get((lemma, ""), low) != low:
            return 2
        return 1 if lemma.lower() != low and lemma.lower() in self._lower else 0

    @cached_property
    def _forms(self) -> dict[tuple[str, str], str]:
        """The word in lower case that has a lemma, with each universal tag and with any; "" if there are several."""
        found: dict[tuple[str, str], str] = {}
        for (low, upos), lemma in self._entries():
            for key in ((lemma, upos), (lemma, "")):
                found[key] = low if found.get(key, low) == low else ""
        return found

    @cached_property
    def _lower(self) -> set[str]:
        """The words of the lexicon in lower case."""
        return {low for (low, _), _ in self._entries()}

    def _entries(self) -> Iterator[tuple[tuple[str, str], str]]:
        """The words of the lexicon in lower case, with their universal tags and lemmas."""
        for entry, known in self.lexicon.items():
            form, upos, *_ = entry.split("\t")
            yield (form.lower(), upos), known if isinstance(known, str) else self.lemma(form, known)

    @cached_property
    def _by_upos(self) -> dict[tuple[str, str], int | str | None]:
        """What the lexicon has for a word with its universal tag, whatever its other tags are; None if it varies."""
        found: dict[tuple[str, str], int | str | None] = {}
        for entry, known in self.lexicon.items():
            form, upos, *_ = entry.split("\t")
            found[form, upos] = known if found.get((form, upos), known) == known else None
        return found

    @cached_property
    def _with_capitals(self) -> dict[tuple[str, str], str | None]:
        """The lemma of a word with its universal tag, whatever its capitals are; None if it varies."""
        found: dict[tuple[str, str], str | None] = {}
        for key, lemma in self._entries():
            found[key] = lemma if found.get(key, lemma) == lemma else None
        return found

    def pack(
        self,
        words: Sequence[Sequence[str]],
        lengths: Sequence[int],
        gold: Sequence[str] | None = None,
        *,
        learning: bool = False,
    ) -> Packed:
        """Pack the words of sentences with the given lengths for the task, with their lemmas if they are known.

        A word has the fields of :class:`TaggedWord`.

        While ``learning``, the words of the lexicon are treated as new words, so that the policy learns from them.
        """
        labels = None
        if gold is not None:
            scripts = (edit_script(word[0], lemma) for word, lemma in zip(words, gold, strict=True))
            numbers = label_numbers(scripts, self.numbers)
            labels = [
                -1 if number < 0 else self._labels(TaggedWord._make(word), [number])[0]
                for word, number in zip(words, numbers, strict=True)
            ]
        self._rows = self._rows.renewed()
        return pack_choices(
            words,
            lengths,
            labels,
            rows=self._new_rows(self.offered) if learning else self._rows,
            parts=self._parts,
            counted=1,
            templates=self._templates,
            shared_by=[[t for t in own if t < len(self._templates)] for own in SHARED_BY],
        )

    def _new_rows(self, scripts: Callable[[TaggedWord], Iterable[int]]) -> KeyRows[Any]:
        make: Callable[[Any], TaggedWord] = TaggedWord._make  # words may also come as plain tuples
        return KeyRows(
            lambda word: self.describe(make(word)), lambda word: self._labels(make(word), scripts(make(word))), XPOS + 1
        )

    def lemma(self, form: str, script: int) -> str:
        """Return the lemma of a word with a script."""
        return apply_script(self.scripts[script], form) or form

    def lemma_of_label(self, form: str, label: int) -> str:
        """Return the lemma of a word with the chosen label."""
        return self.lemma(form, label // len(self._known))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the scripts, candidates and lexicon as arrays for a model file."""
        entries = sorted(self.lexicon)
        known = [self.lexicon[entry] for entry in entries]
        parted = [entry.split("\t", 1) for entry in entries]
        tags, numbers = numbered(tag for _, tag in parted)
        is_old = any(isinstance(each, str) for each in known)  # it was read from an older model file
        return {
            **pack_strings([script.encode() for script in self.scripts], "scripts"),
            **self.candidates.to_arrays("endings"),
            **pack_strings([f"{form}\t{numbers[tag]}" for form, tag in parted], "lexicon"),
            **pack_strings(tags, "lexicon_tags"),
            **(pack_strings(map(str, known), _OLD) if is_old else {"lexicon_scripts": np.array(known, np.int32)}),
            "templates": np.array(len(self._templates), np.int32),
            "known": np.array(len(self._known), np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Lemmas:
        """Restore the result of :meth:`to_arrays`."""
        scripts = [EditScript.decode(code) for code in unpack_strings(arrays, "scripts")]
        values = arrays["lexicon_scripts"].tolist() if "lexicon_scripts" in arrays else unpack_strings(arrays, _OLD)
        entries = unpack_strings(arrays, "lexicon")
        if "lexicon_tags.utf8" in arrays:  # an older model file has the tags in each entry
            tags = unpack_strings(arrays, "lexicon_tags")
            entries = [f"{form}\t{tags[int(tag)]}" for form, tag in (entry.split("\t") for entry in entries)]
        lexicon = dict(zip(entries, values, strict=True))
        templates = int(arrays.get("templates", _FIRST_TEMPLATES))
        known = int(arrays.get("known", 1))
        return cls(scripts, Candidates.from_arrays(arrays, "endings"), lexicon, templates=templates, known=known)


def _has_lemma(token: Token) -> bool:
    return token.lemma != "_" or token.form == "_"


def _case(form: str) -> str:
    """Return the case of a word, where ``mixed`` has capitals after small letters.

    >>> [_case(form) for form in ("cats", "Cats", "CATS", "McCat", "12")]
    ['x', 'Xx', 'XX', 'mixed', '']
    """
    case = case_of(form)
    return "mixed" if case in ("x", "Xx") and form[1:].lower() != form[1:] else case


def _own_class(word: TaggedWord) -> str:
    return f"{word.form.lower()}\t{word.upos}"


def _classes(word: TaggedWord) -> list[str]:
    """Return the tag of the word with its endings, the longest first, and its tag alone."""
    low, tag = word.form.lower(), f"{word.upos}/{word.xpos}"
    return [*(f"{tag}\t{low[-n:]}" for n in (4, 3, 2, 1)), tag]


def _parts_of(script: EditScript) -> list[str]:
    if script.absolute:
        return [script.encode(), "written out", "", ""]
    before = f"before {script.cut_before} {script.prefix}"
    return [script.encode(), script.casing, before, f"after {script.cut_after} {script.suffix}"]
