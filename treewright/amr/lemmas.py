"""Lemmas for words that come without them: as training had them, or guessed.

A parser of meaning graphs wants lemmas, and taggers of ours give none. So it keeps those of its training data in a
table, by word and tag and by word alone. Other words are taken as they are, in small letters unless they are names; but
of those whose tag says that they are inflected, an ending is taken off (:func:`~treewright.amr.wording.readings`), with
preference for a lemma that training had.

>>> from treewright.corpora import Token
>>> table = learn_lemmas([Sentence((Token("saw", "see", "VERB"), Token("saw", "saw", "NOUN"), Token("walk", "walk")))])
>>> words = Sentence((Token("Saw", upos="NOUN"), Token("walked", upos="VERB"), Token("Zork", upos="PROPN")))
>>> with_lemmas(words, table).column("lemma")
('saw', 'walk', 'Zork')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from treewright.amr.wording import readings
from treewright.corpora import Sentence, Token

__all__ = ["learn_lemmas", "with_lemmas"]

_NAMES = ("PROPN", "NNP", "NNPS")
_INFLECTED = ("VBD", "VBG", "VBN", "VBZ", "NNS", "JJR", "JJS", "RBR", "RBS")


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
    """The sentence with lemmas for those of its words that have none."""
    if all(token.lemma != "_" for token in sentence):
        return sentence
    return sentence.with_column("lemma", [_lemma(token, table) for token in sentence])


def _keys(token: Token) -> list[str]:
    """Where to look for a word: the most telling first."""
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
    guesses = readings(token)[1:] if inflected else ()
    return next(
        (guess for guess in guesses if table.get(guess) == guess), guesses[0] if guesses else token.form.lower()
    )
