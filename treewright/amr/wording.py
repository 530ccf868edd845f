"""English words for concepts: inflected forms, numbers, and function words with other letters than the concept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from treewright.corpora.files import text_lines
from treewright.corpora.lemmas import guess_lemmas, plain
from treewright.corpora.types import Token
from treewright.errors import CorpusError

__all__ = ["MONTHS", "NEGATIONS", "WORDINGS", "number_of", "read_verbalisations", "readings"]


def _list(words: str) -> list[str]:
    return words.split()


MONTHS = _list("january february march april may june july august september october november december")

NEGATIONS = frozenset(_list("no not n't non never without nor neither none nobody nothing cannot"))

WORDINGS: dict[str, tuple[str, ...]] = {
    concept: tuple(_list(words))
    for concept, words in {
        "i": "me my mine myself",
        "you": "your yours yourself yourselves thou thee",
        "he": "him his himself",
        "she": "her hers herself",
        "it": "its itself",
        "we": "us our ours ourselves",
        "they": "them their theirs themselves",
        "person": "people who whoever someone anyone one",
        "thing": "what which whatever that something",
        "location": "where wherever place",
        "amr-unknown": "what who whom whose which why where when how ?",
        "amr-choice": "or",
        "request-confirmation": "right ?",
        "truth-value": "whether if ?",
        "contrast": "but however yet while although though whereas",
        "cause": "because why for since so therefore thus as that",
        "have-concession": "nevertheless although though despite yet even",
        "have-condition": "if unless",
        "have-purpose": "for to",
        "possible": "can could may might able ca cannot perhaps maybe",
        "obligate": "must have has had need obliged",
        "recommend": "should ought better",
        "permit": "may let allowed",
        "allow": "let",
        "resemble": "like as",
        "exemplify": "example instance",
        "have-degree": "too than most more so enough as less least",
        "have-quant": "too than so enough as more",
        "equal": "as",
        "good": "well better best",
        "bad": "badly worse worst",
        "far": "farther farthest further",
        "ever": "never",
        "before": "ago",
        "now": "ago",
        "after": "later since",
        "more": "better worse further farther longer",
        "most": "best worst",
        "again": "more",
        "so": "how",
        "today": "tonight",
        "rate-entity": "every each per",
        "include": "of among",
        "be-located-at": "in on at from there",
        "relative-position": "from away",
        "die": "dead death",
        "live": "life alive",
        "fear": "afraid",
        "do": "deed deeds",
        "age": "old",
        "differ": "other",
        "except": "but save",
        "have": "with",
        "instead-of": "place",
        "need": "necessary unnecessary",
        "prove": "proof proofs",
        "pride": "proud",
        "return": "back",
        "sing": "song songs",
        "think": "thought thoughts",
        "+": "please",
        "and": ", ; nor",
        "multi-sentence": "; . ! ?",
        "multiple": "hundreds thousands millions billions",
    }.items()
}
"""Concepts, without their senses, and words for them with other letters."""

_LISTED = re.compile(r"(?:MAYBE-)?VERBALIZE (.+?) TO (.+)")
_FRAME = re.compile(r"(?<![:\w-])([a-z][a-z-]*?)-\d+")
_DERIVED = re.compile(r'::DERIV-(\S+) "([^"]+)"')

_SMALL = _list("zero one two three four five six seven eight nine ten eleven twelve") + _list(
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = dict(zip(_list("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10), strict=True))
_ORDINALS = dict(zip(_list("first second third fifth eighth ninth twelfth"), (1, 2, 3, 5, 8, 9, 12), strict=True))
_COUNTS = {
    "a": 1,
    "an": 1,
    "once": 1,
    "twice": 2,
    "both": 2,
    "couple": 2,
    "pair": 2,
    "dozen": 12,
    "half": 0.5,
    "last": -1,
}
_VALUES: dict[str, float] = {**{word: k for k, word in enumerate(_SMALL)}, **_TENS, **_ORDINALS, **_COUNTS}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def readings(token: Token, verbalisations: Mapping[str, Sequence[str]] | None = None) -> tuple[str, ...]:
    """The readings of a word: its form, its lemma or guesses at it, and their verbalisations.

    >>> readings(Token("went", lemma="go")), readings(Token("carries")), readings(Token("stopped"))
    (('went', 'go'), ('carries', 'carry'), ('stopped', 'stopp', 'stoppe', 'stop'))
    >>> readings(Token("proofs"), {"proof": ["prove"]})
    ('proofs', 'proof', 'prove')
    """
    form = plain(token.form)
    found = [form, plain(token.lemma)] if token.lemma != "_" else [form, *guess_lemmas(form)]
    more = [concept for word in found for concept in (verbalisations or {}).get(word, ())]
    return tuple(dict.fromkeys(found + more))


def number_of(words: Sequence[str]) -> float | None:
    """The number that a sequence of words expresses, or None.

    >>> number_of(["twenty", "-", "one"]), number_of(["two", "hundred", "million"]), number_of(["462,511"])
    (21, 200000000, 462511)
    >>> number_of(["third"]), number_of(["tenth"]), number_of(["three", "cats"])
    (3, 10, None)
    """
    total: float = 0
    group: float | None = None  # what the next hundred, thousand, … multiplies
    for word in words:
        value = _value(word)
        if value is not None and (group is None or group % 100 == 0 or (group % 10 == 0 and 0 < value < 10)):
            group = value if group is None else group + value
        elif (scale := _SCALES.get(word.removesuffix("s"))) is not None:
            group = (1 if group is None else group) * scale
            if scale > 100:
                total, group = total + group, 0
        elif word not in ("-", "and") or word in (words[0], words[-1]):
            return None
    return None if group is None else total + group


@lru_cache(maxsize=1 << 16)  # the same words come again and again
def _value(word: str) -> float | None:
    if re.fullmatch(r"-?\d[\d,]{0,30}(st|nd|rd|th)?", word):
        return int(re.sub(r"[,a-z]", "", word))
    if re.fullmatch(r"\d*\.\d+", word):
        return float(word)
    return _VALUES.get(word, _VALUES.get(word.removesuffix("th").replace("tie", "ty")))


def read_verbalisations(folder: str | Path) -> dict[str, tuple[str, ...]]:
    """Read the verbalisations of nouns and adjectives from the dictionaries of Hermjakob (USC/ISI), such as *proof* for
    ``prove``.

    The files of the folder are ``verbalization-list-….txt`` (``VERBALIZE employee TO person :ARG1-of employ-01``) and
    ``morph-verbalization-….txt`` (``::DERIV-VERB "prove" ::DERIV-NOUN "proof"``); missing ones are skipped.
    """
    found: dict[str, dict[str, None]] = {}
    for path in sorted(Path(folder).glob("*verbalization-*.txt")):
        for number, line in enumerate(text_lines(path), 1):
            if line.startswith(("#", "DO-NOT-VERBALIZE")) or not line.strip():
                continue
            if listed := _LISTED.match(line):
                words, concepts = [listed[1]], _FRAME.findall(listed[2])
            elif derived := dict(_DERIVED.findall(line)):
                concepts = [derived.pop("VERB", "")]
                words = list(derived.values())
            else:
                message = f"VERBALIZE … TO … or ::DERIV-VERB … expected, {line[:40]!r} found"
                raise CorpusError(message, path=path, line=number)
            for word in words:
                found.setdefault(plain(word), {}).update(dict.fromkeys(concepts))
    return {word: tuple(concepts) for word, concepts in found.items()}
