"""Head rules for the labels of the Penn Treebank.

Treebanks of this kind do not mark heads; rules find them. Each label has a list of labels that its head may have, the
best first, and a side from which the children are searched. The rules are those of Collins (1999, appendix A), with
additional labels of newer treebanks (``NML``, ``EDITED``, ``TITLE``, …).

>>> head_child("VP", ["VBD", "NP", "PP"]), head_child("NP", ["DT", "JJ", "NN"]), head_child("S", ["NP", "VP", "."])
(0, 2, 1)

In a coordination, the conjunct before the conjunction is the head. Punctuation is a head only if there is nothing else:

>>> head_child("NP", ["NN", "CC", "NN"]), head_child("UNHEARD-OF", ["``", "X", "Y", "''"])
(0, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["head_child"]


class _Search(NamedTuple):
    """A search from one side for the first child with one of these labels."""

    from_left: bool
    labels: frozenset[str]


_PUNCTUATION = frozenset([",", ":", ".", "``", "''", '"', "-LRB-", "-RRB-", "HYPH", "NFP", "-NONE-", "$,", "$.", "$("])
_CONJUNCTIONS = frozenset(["CC", "CONJP"])


def _by_priority(side: str, labels: str = "") -> tuple[_Search, ...]:
    """One search for each label, the best label first."""
    return tuple(_Search(side == "left", frozenset([label])) for label in labels.split())


# Nouns are grouped: the head of a compound is its last noun, of any kind.
_NOUNS = (
    _Search(False, frozenset(["NN", "NNP", "NNPS", "NNS", "NX", "NML", "POS", "JJR", "AFX", "ADD", "GW"])),
    _Search(True, frozenset(["NP", "PRP", "WP", "EX"])),
    _Search(False, frozenset(["$", "ADJP", "JJP", "PRN"])),
    _Search(False, frozenset(["CD"])),
    _Search(False, frozenset(["JJ", "JJS", "RB", "QP", "FW", "SYM", "LS"])),
)

_RULES: dict[str, tuple[_Search, ...]] = {
    "ADJP": _by_priority("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": _by_priority("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": _by_priority("right", "CC RB IN"),
    "FRAG": _by_priority("right"),
    "INTJ": _by_priority("left"),
    "LST": _by_priority("right", "LS :"),
    "NAC": _by_priority("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "NP": _NOUNS,
    "PP": _by_priority("right", "IN TO VBG VBN RP FW"),
    "PRN": _by_priority("left"),
    "PRT": _by_priority("right", "RP"),
    "QP": _by_priority("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": _by_priority("right", "VP NP ADVP ADJP PP"),
    "S": _by_priority("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": _by_priority("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": _by_priority("left", "SQ S SINV SBARQ FRAG"),
    "SINV": _by_priority("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": _by_priority("left", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": _by_priority("right"),
    "VP": _by_priority("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": _by_priority("left", "CC WRB JJ ADJP"),
    "WHADVP": _by_priority("right", "CC WRB"),
    "WHNP": _by_priority("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": _by_priority("right", "IN TO FW"),
}
_RULES |= dict.fromkeys(["NX", "NML", "TITLE", "HEADING", "CAPTION"], _NOUNS)
_RULES |= {"JJP": _RULES["ADJP"]}

# If no label of the list occurs: English phrases of these kinds end with their heads, all others begin with them.
_HEAD_LAST = frozenset(
    ["ADVP", "CONJP", "FRAG", "LST", "NML", "NP", "NX", "PP", "PRT", "RRC", "UCP", "WHADVP", "WHPP", "X"]
)


def head_child(label: str, child_labels: Sequence[str]) -> int:
    """The position of the head among the children of a constituent; 0 is the first.

    Function tags (``NP-SBJ``) are ignored. The head of a constituent with an unknown label is its first child that is
    not punctuation.

    >>> head_child("NP-SBJ", ["NP", "PP-LOC"]), head_child("PP", ["ADVP", "IN", "NP"])
    (0, 1)
    """
    parent, children = _category(label), [_category(child) for child in child_labels]
    if not children:
        raise ValueError(f"{label!r} has no children, and so no head")
    if parent in ("NP", "NX", "NML") and children[-1] == "POS":
        return len(children) - 1  # "the parser 's": the possessive marker, as in Collins
    head = _found(_RULES.get(parent, ()), children)
    if head < 0:
        head = _first_word(children, from_left=parent not in _HEAD_LAST)
    return _before_conjunction(head, children)


def _category(label: str) -> str:
    """A label without function tags and indices: the part before the first ``-`` or ``=`` after its first letter."""
    if label.startswith("-"):  # -LRB- and its like
        return label
    return label.partition("-")[0].partition("=")[0] or label


def _found(searches: Sequence[_Search], children: Sequence[str]) -> int:
    """The head by the first search that finds one, or -1."""
    places = range(len(children))
    for search in searches:
        for place in places if search.from_left else reversed(places):
            if children[place] in search.labels:
                return place
    return -1


def _first_word(children: Sequence[str], *, from_left: bool) -> int:
    places = range(len(children)) if from_left else range(len(children) - 1, -1, -1)
    return next((place for place in places if children[place] not in _PUNCTUATION), places[0])


def _before_conjunction(head: int, children: Sequence[str]) -> int:
    """From a conjunct directly after a conjunction, move to the conjunct before it, over commas."""
    while head >= 2 and children[head - 1] in _CONJUNCTIONS:
        before = head - 2
        while before > 0 and children[before] in _PUNCTUATION:
            before -= 1
        if children[before] in _PUNCTUATION:
            break
        head = before
    return head
