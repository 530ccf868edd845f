"""The attributes of words for the components of this package: letters at both ends, shape, and statistics."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.search import Packed, string_hash
from treewright.text.candidates import Candidates
from treewright.text.characters import shape_of
from treewright.text.choosing import Choosing, Template

__all__ = ["AFFIXES", "CASES", "affixes", "case_of", "kind_of", "pack_choices", "remembered_rows", "suffix_classes"]

Key = TypeVar("Key", bound=Hashable)

_REMEMBERED = 1 << 17  # keys

#: the names of the attributes that :func:`affixes` lists
AFFIXES = ("suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "prefix1", "prefix2", "prefix3", "shape")


def affixes(form: str) -> list[str]:
    """Return the last one to five letters of a word, in lower case, its first one to three, and its shape.

    >>> affixes("Walks")
    ['s', 'ks', 'lks', 'alks', 'walks', 'w', 'wa', 'wal', 'Xxx']
    """
    low = form.lower()
    return [*(low[-n:] for n in range(1, 6)), *(low[:n] for n in range(1, 4)), shape_of(form)]


def kind_of(form: str) -> str:
    """Return the kind of a word as a letter: with a capital (X), with digits (d), letters only (x), or other (o)."""
    if form[:1].isupper():
        return "X"
    if any(character.isdigit() for character in form):
        return "d"
    return "x" if form.isalpha() else "o"


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


Row = tuple[bytes, bytes, int]
"""A key as the task sees it: attributes and candidates as bytes of 32-bit integers, and the number of candidates."""


def remembered_rows(describe: Callable[[Key], Iterable[str]], candidates: Callable[[Key], Sequence[int]]) -> Any:
    """Return a function that gives the :data:`Row` of a key, and caches the rows of the most recent keys.

    ``describe`` returns the attributes of a key as strings, and ``candidates`` the numbers of its labels.
    """

    @lru_cache(maxsize=_REMEMBERED)
    def row(key: Key) -> Row:
        offered = candidates(key)
        attributes = array("i", [string_hash(text) for text in describe(key)])
        return attributes.tobytes(), array("i", offered).tobytes(), len(offered)

    return row


def pack_choices(
    keys: Sequence[Key],
    lengths: Sequence[int],
    gold: Sequence[int] | None,
    *,
    row: Callable[[Key], Row],
    attributes: int,
    parts: npt.NDArray[np.int32],
    counted: int,
    templates: Sequence[Template],
    shared_by: Sequence[Sequence[int]],
    style: Callable[[npt.NDArray[np.int32], npt.NDArray[np.int64]], npt.NDArray[np.int32]] | None = None,
) -> Packed:
    """Pack sentences for :class:`~treewright.text.choosing.Choosing`.

    ``keys`` are the words of all sentences, and ``lengths`` the number of words of each. ``row`` returns the attributes
    and the candidates of a key; it is called once for each key. ``gold`` are the numbers of labels, −1 if a label is
    unknown. ``style`` returns the style of each sentence, from the rows of its words and the offsets of sentences. The
    other arguments are those of the task.
    """
    numbers: defaultdict[Key, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new key has the next number
    places = np.fromiter(map(numbers.__getitem__, keys), np.int32, len(keys)) + np.int32(1)
    rows = [row(key) for key in numbers]
    # row 0 is for positions beyond the ends of a sentence
    table = np.frombuffer(bytearray().join([bytes(4 * attributes), *(r[0] for r in rows)]), np.int32)
    candidates = np.frombuffer(bytearray().join(r[1] for r in rows), np.int32)
    first = np.zeros(len(rows) + 2, np.int32)
    np.cumsum([r[2] for r in rows], out=first[2:])
    table = table.reshape(-1, attributes)
    task = Choosing(parts, counted, templates, shared_by, table, candidates, first)
    at = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    labels = np.full(len(keys), -1, np.int32) if gold is None else np.array(gold, np.int32)
    styles = np.zeros(len(lengths), np.int32) if style is None else style(table[places], at)
    own = {"rows": places, "rows_at": at, "gold": labels, "gold_at": at}
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
