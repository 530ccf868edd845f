"""Lemmas for words that have none: from the training data, or guesses for English.

Taggers of this library do not predict lemmas, but an AMR parser needs them. So the parser keeps the lemmas of its
training data in a table, by word and tag and by word alone. For other words, the form is the lemma, in lower case
unless the word is a name. Where the tag says that the word is inflected, :func:`guess_lemmas` removes an ending, and a
guess that is a lemma of the training data has precedence.

>>> table = learn_lemmas([Sentence((Token("saw", "see", "VERB"), Token("saw", "saw", "NOUN"), Token("walk", "walk")))])
>>> words = Sentence((Token("Saw", upos="NOUN"), Token("walked", upos="VERB"), Token("Zork", upos="PROPN")))
>>> with_lemmas(words, table).column("lemma")
('saw', 'walk', 'Zork')
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from treewright.corpora.types import Sentence, Token

__all__ = ["guess_lemmas", "learn_lemmas", "plain", "with_lemmas"]

_NAMES = ("PROPN", "NNP", "NNPS")
_INFLECTED = ("VBD", "VBG", "VBN", "VBZ", "NNS", "JJR", "JJS", "RBR", "RBS")

# Replacements of endings. The first ending that matches and leaves a stem of enough letters counts.
_ENDINGS = {"iest": "y", "ies": "y", "ied": "y", "ier": "y", "ily": "y", "sses": "ss"} | dict.fromkeys(
    ["ing", "est", "ed", "er", "es", "ly", "s"], ""
)
_IRREGULAR_FORMS = """
    be am are is was were been, begin began begun, break broke broken, bring brought, catch caught, child children,
    choose chose chosen, come came, do did done, draw drew drawn, drink drank drunk, eat ate eaten, fall fell fallen,
    feel felt, find found, fly flew flown, foot feet, forget forgot forgotten, get got gotten, give gave given,
    go went gone, grow grew grown, have had has, hear heard, hold held, keep kept, know knew known, lead led,
    leave left, lose lost, make made, man men, mean meant, meet met, run ran, say said, see saw seen, sell sold,
    send sent, shine shone, sit sat, sleep slept, speak spoke spoken, spend spent, stand stood, take took taken,
    teach taught, tell told, think thought, understand understood, woman women, write wrote written
"""
_IRREGULAR = {form: lemma for lemma, *forms in map(str.split, _IRREGULAR_FORMS.split(",")) for form in forms}
_BRITISH = ((re.compile(r"our(?=s?$|ed$|ing$|ful$|ite)"), "or"), (re.compile(r"(?<=[a-z]{2})tre(?=s?$)"), "ter"))


def learn_lemmas(sentences: Iterable[Sentence]) -> dict[str, str]:
    """The most frequent lemma of each word, and of each word with one of its tags (``saw\\tNOUN``)."""
    counts: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for token in sentence:
            if token.lemma != "_":
                for key in _keys(token):
                    counts.setdefault(key, Counter())[token.lemma] += 1
    return {key: found.most_common(1)[0][0] for key, found in sorted(counts.items())}


def with_lemmas(sentence: Sentence, table: Mapping[str, str]) -> Sentence:
    """The sentence, with lemmas for the words that had none."""
    if all(token.lemma != "_" for token in sentence):
        return sentence
    return sentence.with_column("lemma", [_lemma(token, table) for token in sentence])


def plain(text: str) -> str:
    """The text in lower case, without accents and in American spelling.

    >>> plain("Naïve"), plain("colour"), plain("metres")
    ('naive', 'color', 'meters')
    """
    text = text.lower()
    if not text.isascii():
        text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    for british, american in _BRITISH:
        text = british.sub(american, text)
    return text


def guess_lemmas(form: str) -> list[str]:
    """Guesses at the lemma of an English word in lower case; none if it does not look inflected.

    >>> guess_lemmas("went"), guess_lemmas("carries"), guess_lemmas("stopped"), guess_lemmas("red")
    (['go'], ['carry'], ['stopp', 'stoppe', 'stop'], [])
    """
    if form in _IRREGULAR:
        return [_IRREGULAR[form]]
    for ending, instead in _ENDINGS.items():
        stem = form.removesuffix(ending) + instead
        if form.endswith(ending) and len(stem) >= (2 if ending == "s" else 3):
            guesses = [stem] if instead or ending == "s" else [stem, stem + "e"]
            if len(stem) > 3 and stem[-1] == stem[-2]:
                guesses.append(stem[:-1])
            return guesses
    return []


def _keys(token: Token) -> list[str]:
    """The keys of a word in the table, the most specific first."""
    form = token.form.lower()
    return [f"{form}\t{tag}" for tag in (token.upos, token.xpos) if tag != "_"] + [form]


def _lemma(token: Token, table: Mapping[str, str]) -> str:
    if token.lemma != "_":
        return token.lemma
    for key in _keys(token):
        if key in table:
            return table[key]
    if token.upos in _NAMES or token.xpos in _NAMES:
        return token.form
    inflected = token.xpos in _INFLECTED or (token.xpos == "_" and token.upos in ("VERB", "NOUN"))
    guesses = guess_lemmas(plain(token.form)) if inflected else []
    return next(
        (guess for guess in guesses if table.get(guess) == guess), guesses[0] if guesses else token.form.lower()
    )
