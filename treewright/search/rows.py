"""Rows of numbers for keys, such as words: a table that grows as new keys occur, so that each is described once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_REMEMBERED", "Rows", "with_room"]

Key = TypeVar("Key", bound=Hashable)
Shorts = npt.NDArray[np.int32]

MOST_REMEMBERED = 1 << 17
"""The number of keys after which a table is replaced by an empty one."""

_lock = threading.Lock()


class Rows(dict[Key, int]):
    """The number of each key, and ``table``, which has the row with this number; a new key gets the next row.

    ``describe`` returns the row of a key, and ``first`` are the rows before those of keys. The table has room for
    further rows. Numbers and rows do not change, so threads may share a table: ask for the numbers first, then for the
    table.

    >>> rows = Rows(lambda word: [len(word), ord(word[0])], first=[[0, 0]])
    >>> numbers = rows.numbers(["a", "cat", "a"])
    >>> numbers.tolist(), rows.table[numbers].tolist()
    ([1, 2, 1], [[1, 97], [3, 99], [1, 97]])
    """

    def __init__(self, describe: Callable[[Key], Any], *, first: npt.ArrayLike) -> None:
        super().__init__()
        self.table: Shorts = np.array(first, np.int32)
        self._describe, self._before = describe, len(self.table)

    def numbers(self, keys: Iterable[Key]) -> Shorts:
        """Return the number of each key."""
        return np.fromiter(map(self.__getitem__, keys), np.int32)

    def renewed(self) -> Self:
        """Return this table, or an empty one of the same kind if this one has too many keys."""
        return self if len(self) <= MOST_REMEMBERED else self._empty()

    def _empty(self) -> Self:
        return type(self)(self._describe, first=self.table[: self._before])

    def __missing__(self, key: Key) -> int:
        row = self._describe(key)
        with _lock:
            number = self.get(key)
            if number is None:
                number = self._before + len(self)
                self._write(number, row)
                self[key] = number  # at last, because other threads read without a lock
            return number

    def _write(self, number: int, row: Any) -> None:
        self.table = with_room(self.table, number)
        self.table[number] = row


def with_room(array: npt.NDArray[Any], place: int) -> npt.NDArray[Any]:
    """Return an array that has a place with this number: the array itself, or a copy that is about twice as long."""
    if place < len(array):
        return array
    longer = np.zeros((2 * place + 16, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
