"""The arcs of a dependency tree, and their levels in a drawing without overlaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from treewright.corpora import Sentence
from treewright.errors import CorpusError

__all__ = ["Arc", "inside", "overlap", "sentence_arcs", "stack"]


class Arc(NamedTuple):
    """From a head to its dependent; words count from 1, and the head of a root is 0."""

    head: int
    dependent: int
    label: str

    @property
    def left(self) -> int:
        """The word at its left end."""
        return min(self.head, self.dependent)

    @property
    def right(self) -> int:
        """The word at its right end."""
        return max(self.head, self.dependent)


def sentence_arcs(sentence: Sentence) -> list[Arc]:
    """One arc for each word that has a head, in the order of the words. A relation ``_`` becomes an empty label.

    The heads need not form a tree: parsers in training, and files, have cycles and several roots.
    """
    arcs = []
    for number, token in enumerate(sentence.tokens, 1):
        if token.head is None:
            continue
        if not 0 <= token.head <= len(sentence) or token.head == number:
            raise CorpusError(
                f"word {number} ({token.form!r}) cannot be drawn: its head is {token.head}, "
                f"which must be 0 (root) or another word, up to {len(sentence)}",
                path=sentence.path,
                line=sentence.line,
            )
        arcs.append(Arc(token.head, number, "" if token.deprel == "_" else token.deprel))
    return arcs


def inside(inner: Arc, outer: Arc) -> bool:
    """Whether an arc lies below another one; they may share ends."""
    return outer.left <= inner.left and inner.right <= outer.right


def overlap(one: Arc, other: Arc) -> bool:
    """Whether two arcs pass over the same gap between two words: they are nested, or they cross."""
    return one.left < other.right and other.left < one.right


def stack(arcs: Iterable[Arc], above: Callable[[Arc, Arc], bool], apart: Callable[[Arc, Arc], bool]) -> dict[Arc, int]:
    """Assign to each arc in turn the lowest level, from 1, that is compatible with the arcs before it.

    An arc is higher than those that it must be ``above``, and not on the level of those that it must be kept
    ``apart`` from.

    >>> long, short, crossing = Arc(1, 3, ""), Arc(3, 2, ""), Arc(4, 2, "")
    >>> list(stack([short, long, crossing], lambda a, b: inside(b, a), overlap).values())
    [1, 2, 3]
    """
    levels: dict[Arc, int] = {}
    for arc in arcs:
        level = 1 + max((levels[other] for other in levels if above(arc, other)), default=0)
        taken = {levels[other] for other in levels if apart(arc, other)}
        while level in taken:
            level += 1
        levels[arc] = level
    return levels
