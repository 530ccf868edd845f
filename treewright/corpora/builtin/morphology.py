"""Regular English inflection: plurals, verb forms, comparatives, *a* or *an*.

>>> plural("watch"), plural("city"), third_person("go"), past("stop"), past("carry"), gerund("write")
('watches', 'cities', 'goes', 'stopped', 'carried', 'writing')
>>> comparative("happy"), comparative("big"), comparative("careful")
('happier', 'bigger', None)
>>> [indefinite(word) for word in ("dog", "old", "hour", "university", "8", "11", "18", "80")]
['a', 'an', 'an', 'a', 'an', 'an', 'an', 'an']
"""

from __future__ import annotations

__all__ = ["comparative", "gerund", "indefinite", "past", "plural", "third_person"]

_VOWELS = "aeiou"
_DOUBLES = "begin big chat cut fat forget get hit hot hug plan put rub run sad ship shop sit stop swim thin wet win"
_DOUBLING = frozenset(_DOUBLES.split())
_SIBILANTS = ("s", "x", "z", "ch", "sh")
_SHORT = """
cheap clean clear cold dark deep fast fresh great green loud long old poor quick quiet rich short sick slow
small soft strong sweet tall warm weak young kind low calm round sharp new
"""
_WITH_ER = frozenset(_SHORT.split())


def plural(noun: str) -> str:
    """The regular plural of a noun."""
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(_SIBILANTS) else "s")


def third_person(verb: str) -> str:
    """The regular third person singular: like a plural, but ``goes``, ``does``."""
    return verb + "es" if verb.endswith("o") else plural(verb)


def past(verb: str) -> str:
    """The regular past tense."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def gerund(verb: str) -> str:
    """The *-ing* form."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def comparative(adjective: str) -> str | None:
    """The *-er* form, or ``None`` where English says *more*."""
    if adjective.endswith("y") and adjective[-2] not in _VOWELS:
        return adjective[:-1] + "ier"
    if adjective in _DOUBLING:
        return _doubled(adjective) + "er"
    if adjective.endswith("e") and len(adjective) <= 5:
        return adjective + "r"
    return adjective + "er" if adjective in _WITH_ER else None


def indefinite(following: str) -> str:
    """*a* or *an*, by the sound of the word that follows."""
    word = following.lower()
    if word.startswith(("uni", "use", "eur", "one")):
        return "a"
    if word[0].isdigit():
        return "an" if word[0] == "8" or word in ("11", "18") else "a"
    return "an" if word[0] in _VOWELS or word.startswith(("hour", "honest")) else "a"


def _doubled(word: str) -> str:
    return word + word[-1] if word in _DOUBLING else word
