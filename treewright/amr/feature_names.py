"""Names for the features of a state: the template of each of them.

A feature is only a hash. So the functions that list features run once more, interpreted, with hashing that records the
template (:func:`feature_names`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from treewright.amr.features import MOST_FEATURES, state_features
from treewright.search import cross2, cross3
from treewright.search.compiling import CompiledFunction, interpreted

__all__ = ["feature_names"]

# the templates of a state as a whole, by their numbers
_STATE = {
    0: "always",
    1: "last action",
    2: "second last action",
    3: "third last action",
    4: "fourth last action",
    5: "last two actions",
    6: "last three actions",
    7: "signs of the sentence",
    8: "signs of the sentence, relation of σ",
    30: "relation of σ, lemma of its parent",
    31: "lemmas of σ and its parent",
    32: "POS of σ and its parent",
    33: "lemma of σ, relation of its parent",
    34: "POS of σ and its parent, relation of σ",
    35: "lemma of σ, POS of its parent",
    36: "POS of σ, lemma of its parent",
    37: "entities of σ and its parent",
    38: "role of σ",
    39: "suffix of σ",
    40: "suffix and POS of σ",
    41: "lemma of σ and the lemma before it",
    42: "lemma of σ and the lemma after it",
    43: "step in this sentence",
}
_NODE = ("lemma", "POS", "relation", "entity", "word", "POS, relation", "lemma, relation", "lemma, POS", "concept")
_FAMILY = (
    "deleted child",
    "merged child",
    "deleted child, own relation",
    "merged child, own relation",
    "role of a child",
    "lemma and role of a child",
    "relation and POS of a child",
    "number of children",
    "number of children, own relation",
    "deleted child with the lemma",
)
_PAIR = (
    "lemma of σ, POS of β",
    "lemma of σ, relation of β",
    "POS of σ, lemma of β",
    "relation of σ, lemma of β",
    "lemmas of σ and β",
    "POS of σ and β",
    "POS of σ and β, relation of β",
    "distance from σ to β",
    "path from σ to β",
    "path and distance from σ to β",
    "lemmas of σ and β, path",
    "path, POS of σ",
    "path, POS of β",
    "concept and relation of β",
    "lemma of σ, path",
    "path, lemma of β",
    "kind of concept and relation of β",
    "kind of concept of β, path",
    "kind of concept of β, lemma of σ",
    "kind of concept of β, POS of σ",
    "entities of σ and β",
)
#: where the templates of a node, its relatives or a pair begin, and what they are about
_GROUPS: dict[int, tuple[tuple[str, ...], str]] = {
    10: (_NODE, " of σ"),
    20: (_FAMILY, " of σ"),
    40: (_NODE, " of β"),
    50: (_PAIR, ""),
    70: (_FAMILY, " of β"),
    80: (_NODE, " of the parent of σ"),
}


class _Marked(int):
    """A feature with its template: the offset of its group, and its number there."""

    template: tuple[int, int]


def _marking(function: Any) -> Any:
    """A function that hashes in the same way as another one, and records the template."""
    plain = interpreted(function)

    def marked(group: Any, number: Any, *values: Any) -> _Marked:
        found = _Marked(plain(group, number, *values))
        found.template = int(group) % 100, int(number)
        return found

    return marked


@cache
def _features() -> Any:
    """The function that lists the features of a state, with marks."""
    done = {(each.py_func if isinstance(each, CompiledFunction) else each): _marking(each) for each in (cross2, cross3)}
    return interpreted(state_features, done)


def feature_names(x: Any, state: Any, count: int) -> list[str]:
    """Return the names of the features of a state, in their order; ``count`` is their number."""
    out: list[Any] = [0] * max(MOST_FEATURES, count)
    found = int(_features()(x, state, out))
    if found != count:
        return [f"feature {number}" for number in range(1, count + 1)]
    return [_name(*getattr(each, "template", (0, -1))) for each in out[:count]]


def _name(group: int, number: int) -> str:
    if group in _GROUPS:
        names, about = _GROUPS[group]
        return names[number] + about if number < len(names) else f"template {group}.{number}"
    return _STATE.get(number, f"template {group}.{number}")
