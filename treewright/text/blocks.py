"""The chunks and paragraphs of a text: white space separates chunks, and blank lines separate paragraphs.

In this module, white space is every character that is not part of a token: Unicode white space, control characters, and
the byte order mark. No token therefore contains a character that CoNLL-U cannot represent.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import CorpusError

__all__ = ["MOST_CHARACTERS", "Chunks", "find_chunks"]

Longs = npt.NDArray[np.int64]

#: a longer paragraph is cut at white space, which bounds the memory
MOST_CHARACTERS = 1 << 17
#: a longer chunk is cut, too: no word has a quarter of a million characters
LONGEST_CHUNK = 1 << 18

_BYTE_ORDER_MARK = 0xFEFF
_TABLED = 0x3002  # the ideographic space is the last one; the character after it stands for all others
_LINE_ENDS = (0x0A, 0x85, 0x2028, 0x2029)


class Chunks(NamedTuple):
    """The chunks of a text: the start and end of each, and the chunks that begin a paragraph."""

    starts: Longs
    ends: Longs
    paragraphs: Longs
    """The number of the first chunk of each paragraph."""


@cache
def _separators() -> npt.NDArray[np.bool_]:
    codes = [chr(code) for code in range(_TABLED)]
    return np.array([c.isspace() or unicodedata.category(c) == "Cc" for c in codes], np.bool_)


@cache
def _line_ends() -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(_TABLED), _LINE_ENDS)


def code_points(text: str) -> npt.NDArray[np.int32]:
    """The characters of a text as numbers.

    Raises:
        CorpusError: for one half of a surrogate pair, which is not a character.
    """
    try:
        encoded = text.encode(f"utf-32-{sys.byteorder[0]}e")
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"character {error.start} of the text, {text[error.start]!r}, is half of a surrogate pair, and no character"
        ) from None
    return np.frombuffer(encoded, np.int32)


def is_separator(codes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return a mask of the white space characters."""
    found: npt.NDArray[np.bool_] = _separators()[np.minimum(codes, _TABLED - 1)]
    found |= codes == _BYTE_ORDER_MARK
    return found


def find_chunks(text: str, *, lines: bool = False) -> Chunks:
    """Return the chunks and paragraphs of a text; with ``lines``, each line is a paragraph.

    >>> text = "One.\\nTwo.\\n \\nThree."
    >>> chunks = find_chunks(text)
    >>> [text[a:b] for a, b in zip(chunks.starts, chunks.ends)], chunks.paragraphs.tolist()
    (['One.', 'Two.', 'Three.'], [0, 2])
    """
    codes = code_points(text)
    outside = np.ones(len(codes) + 2, np.bool_)
    outside[1:-1] = is_separator(codes)
    edges = (outside[1:] != outside[:-1]).nonzero()[0]
    starts, ends = edges[0::2], edges[1::2]
    if not len(starts):
        return Chunks(starts, ends, starts)
    if (ends - starts).max() > LONGEST_CHUNK:
        starts, ends = _parts(starts, ends)
    number = np.zeros(len(codes) + 1, np.int64)
    is_end = _line_ends()[np.minimum(codes, _TABLED - 1)]
    is_end[:-1] |= (codes[:-1] == 0x0D) & (codes[1:] != 0x0A)
    is_end[-1] |= codes[-1] == 0x0D
    is_end.cumsum(out=number[1:])
    breaks = number[starts[1:]] - number[ends[:-1]] >= (1 if lines else 2)
    first = np.concatenate([[0], breaks.nonzero()[0] + 1])
    return Chunks(starts, ends, _cut(first, starts, ends))


def _parts(starts: Longs, ends: Longs) -> tuple[Longs, Longs]:
    """Return the chunks, with those that are too long divided."""
    counts = -((starts - ends) // LONGEST_CHUNK)
    of = np.repeat(np.arange(len(starts)), counts)
    number = np.arange(len(of)) - (np.cumsum(counts) - counts)[of]  # of each part within its chunk
    begins = starts[of] + number * LONGEST_CHUNK
    return begins, np.minimum(begins + LONGEST_CHUNK, ends[of])


def _cut(first: Longs, starts: Longs, ends: Longs) -> Longs:
    """Return the paragraphs, with those that are too long divided."""
    last_end = np.append(ends[first[1:] - 1], ends[-1])
    if (last_end - starts[first]).max() <= MOST_CHARACTERS:
        return first
    found: list[int] = []
    for begin, end in zip(first.tolist(), np.append(first[1:], len(starts)).tolist(), strict=True):
        while begin < end:
            found.append(begin)
            fitting = int(np.searchsorted(ends, starts[begin] + MOST_CHARACTERS, "right"))
            begin = min(end, max(begin + 1, fitting))
    return np.array(found, np.int64)
