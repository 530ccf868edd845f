"""Rows of hashed attributes for keys, such as words: a table that grows as new keys occur; each is described once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, count
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.search.hashing import string_hashes

__all__ = ["MOST_REMEMBERED", "Rows", "with_room"]

Key = TypeVar("Key", bound=Hashable)
Shorts = npt.NDArray[np.int32]

MOST_REMEMBERED = 1 << 17
"""The number of keys after which a table is replaced by an empty one."""

_lock = threading.Lock()


class Rows(dict[Key, int]):
    """The number of each key, and ``table``, which has the row with this number; a new key gets the next row.

    ``describe`` returns the attributes of a key as strings; a row has their hashes. ``first`` are the rows before those
    of keys. The table has room for further rows. Numbers and rows do not change, so threads may share a table: ask for
    the numbers first, then for the table.

    >>> rows = Rows(lambda word: [word, word[-1]], first=[[0, 0]])
    >>> numbers = rows.numbers(["a", "cat", "a"])
    >>> numbers.tolist(), rows.table[numbers[1]].tolist() == string_hashes(["cat", "t"]).tolist()
    ([1, 2, 1], True)
    """

    def __init__(self, describe: Callable[[Key], Iterable[str]], *, first: npt.ArrayLike) -> None:
        super().__init__()
        self.table: Shorts = np.array(first, np.int32)
        self._describe, self._before = describe, len(self.table)

    def numbers(self, keys: Iterable[Key]) -> Shorts:
        """Return the number of each key."""
        keys = list(keys)
        known = list(map(self.get, keys))
        if None in known:
            self._add(dict.fromkeys(key for key, number in zip(keys, known, strict=True) if number is None))
            known = list(map(self.get, keys))
        return np.array(known, np.int32)

    def renewed(self) -> Self:
        """Return this table, or an empty one of the same kind if this one has too many keys."""
        return self if len(self) <= MOST_REMEMBERED else self._empty()

    def _empty(self) -> Self:
        return type(self)(self._describe, first=self.table[: self._before])

    def _add(self, keys: Iterable[Key]) -> None:
        """Describe new keys. All keys of a call are added together, which takes half the time."""
        with _lock:
            new = [key for key in keys if key not in self]  # another thread may have added some
            start = self._before + len(self)
            self._write(start, new)
            self.update(zip(new, count(start)))  # at last, because other threads read without a lock

    def _write(self, start: int, keys: Sequence[Key]) -> None:
        """Write the rows of keys from row ``start`` on."""
        end = start + len(keys)
        self.table = with_room(self.table, end)
        attributes = string_hashes(chain.from_iterable(map(self._describe, keys)))
        self.table[start:end] = attributes.reshape(len(keys), self.table.shape[1])


def with_room(array: npt.NDArray[Any], place: int) -> npt.NDArray[Any]:
    """Return an array that has a place with this number: the array itself, or a copy that is about twice as long."""
    if place < len(array):
        return array
    longer = np.zeros((2 * place + 16, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
