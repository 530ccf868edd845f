"""The attributes of words for the components of this package: letters at both ends, shape, and statistics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.search import Packed
from treewright.search.rows import Rows, with_room
from treewright.text.candidates import Candidates
from treewright.text.characters import is_mark, shape_of
from treewright.text.choosing import Choosing, Template

__all__ = ["AFFIXES", "CASES", "KeyRows", "affixes", "case_of", "kind_of", "pack_choices", "suffix_classes"]

Key = TypeVar("Key", bound=Hashable)

#: the names of the attributes that :func:`affixes` lists
AFFIXES = ("suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "prefix1", "prefix2", "prefix3", "shape")


def affixes(form: str) -> list[str]:
    """Return the last one to five letters of a word, in lower case, its first one to three, and its shape.

    >>> affixes("Walks")
    ['s', 'ks', 'lks', 'alks', 'walks', 'w', 'wa', 'wal', 'Xxx']
    """
    low = form.lower()
    return [low[-1:], low[-2:], low[-3:], low[-4:], low[-5:], low[:1], low[:2], low[:3], shape_of(form)]


def kind_of(form: str) -> str:
    """Return the kind of a word as a letter: with a capital (X), with digits (d), letters only (x), or other (o).

    >>> [kind_of(form) for form in ("Cats", "3rd", "cats", "हिन्दी", "'s")]
    ['X', 'd', 'x', 'x', 'o']
    """
    if form[:1].isupper():
        return "X"
    if any(character.isdigit() for character in form):
        return "d"
    letters = form if form.isascii() else "".join(character for character in form if not is_mark(character))
    return "x" if letters.isalpha() else "o"


#: lower case, a capital at the beginning, only capitals
CASES = ("x", "Xx", "XX")


def case_of(form: str) -> str:
    """Return which of :data:`CASES` a word has; an empty string for a word without upper and lower case.

    >>> [case_of(form) for form in ("cats", "Cats", "CATS", "12")]
    ['x', 'Xx', 'XX', '']
    """
    if form.lower() == form.upper():
        return ""
    lower, title, upper = CASES
    return lower if not form[:1].isupper() else upper if len(form) > 1 and form.isupper() else title


def suffix_classes(form: str, longest: int = 5) -> list[str]:
    """Return the classes of a word: its kind with its endings, the longest first, and its kind alone.

    >>> suffix_classes("Sees", 3)
    ['Xees', 'Xes', 'Xs', 'X']
    """
    kind, low = kind_of(form), form.lower()
    return [kind + low[len(low) - n :] for n in range(min(longest, len(low)), -1, -1)]


class KeyRows(Rows[Key]):
    """The attributes of keys, and their candidates, which extend from ``first[r]`` to ``first[r + 1]``.

    ``offered`` returns the numbers of the labels of a key. Row 0 is for positions beyond the ends of a sentence.
    """

    def __init__(
        self, describe: Callable[[Key], Iterable[str]], offered: Callable[[Key], Sequence[int]], attributes: int
    ) -> None:
        self._source = describe, offered, attributes
        super().__init__(describe, first=[[0] * attributes])
        self._offered = offered
        self.candidates, self.first = np.zeros(0, np.int32), np.zeros(2, np.int32)

    def _empty(self) -> Self:
        return type(self)(*self._source)

    def _write(self, start: int, keys: Sequence[Key]) -> None:
        super()._write(start, keys)
        offered = [list(self._offered(key)) for key in keys]
        ends = int(self.first[start]) + np.cumsum([len(own) for own in offered], dtype=np.int64)
        self.first = with_room(self.first, start + len(keys) + 1)
        self.first[start + 1 : start + len(keys) + 1] = ends
        begin, end = self.first[start], self.first[start + len(keys)]
        self.candidates = with_room(self.candidates, end)
        self.candidates[begin:end] = list(chain.from_iterable(offered))


def pack_choices(
    keys: Sequence[Key],
    lengths: Sequence[int],
    gold: Sequence[int] | None,
    *,
    rows: KeyRows[Key],
    parts: npt.NDArray[np.int32],
    counted: int,
    templates: Sequence[Template],
    shared_by: Sequence[Sequence[int]],
    style: Callable[[npt.NDArray[np.int32], npt.NDArray[np.int64]], npt.NDArray[np.int32]] | None = None,
) -> Packed:
    """Pack sentences for :class:`~treewright.text.choosing.Choosing`.

    ``keys`` are the words of all sentences, and ``lengths`` the number of words of each. ``rows`` has the attributes
    and the candidates of keys. ``gold`` are the numbers of labels, −1 if a label is unknown. ``style`` returns the
    style of each sentence, from the rows of its words and the offsets of sentences. The other arguments are those of
    the task.
    """
    places = rows.numbers(keys)
    task = Choosing(parts, counted, templates, shared_by, rows.table, rows.candidates, rows.first)
    at = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=at[1:])
    labels = np.full(len(keys), -1, np.int32) if gold is None else np.array(gold, np.int32)
    styles = np.zeros(len(lengths), np.int32) if style is None else style(rows.table[places], at)
    own: dict[str, npt.NDArray[Any]] = {"rows": places, "rows_at": at, "gold": labels, "gold_at": at}
    own |= {"style": styles, "style_at": np.arange(len(lengths) + 1)}
    return task.packed(np.array(lengths, np.int32), own)


def ambiguity(candidates: Candidates, key: str, names: Sequence[str]) -> str:
    """Return the labels that a frequent word has with some regularity, as a string; for a rare word, its ending.

    >>> table = Candidates.learn([("can", [], 0)] * 9 + [("can", [], 1)])
    >>> ambiguity(table, "can", ["AUX", "NOUN"]), ambiguity(table, "cat", ["AUX", "NOUN"])
    ('AUX NOUN', 'rare at')
    """
    counts = candidates.counts.get(key)
    total = sum(counts)
    if total < 4:
        return rare_ending(key)
    usual = {
        names[label] for label, count in zip(candidates.own.get(key), counts, strict=True) if count >= 0.03 * total
    }
    return " ".join(sorted(usual))


def rare_ending(key: str) -> str:
    """Return the ending of a rare word, which stands for its ambiguity."""
    return f"rare {key[-2:]}"


def numbered(labels: Iterable[str]) -> tuple[list[str], dict[str, int]]:
    """Return the labels in order, without repetition, and the number of each."""
    names = sorted(set(labels))
    return names, {name: number for number, name in enumerate(names)}


def label_numbers(values: Iterable[Any], numbers: dict[Any, int]) -> list[int]:
    """Return the numbers of labels; −1 for an unknown label."""
    return [numbers.get(value, -1) for value in values]
