"""The attributes of characters and of the chunks between white space, for tokenizers.

A paragraph is encoded as arrays for :class:`~treewright.text.tokenization.Tokenization`: for each character, its code
point, its code point in lower case, and its class; for each chunk, a few hashes and its entry in the word list.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.search import string_hash
from treewright.text.tokenization import (
    CLOSING,
    COMMA,
    DIGIT,
    HYPHEN,
    LOWER,
    OPENING,
    OTHER,
    QUOTE,
    SPACE,
    STOP,
    SYMBOL,
    UNCASED,
    UPPER,
)

__all__ = ["character_class", "chunk_rows", "encode_chunks", "is_joined", "is_mark", "known_words"]

Shorts = npt.NDArray[np.int32]

_REMEMBERED = 1 << 17  # chunks
_JOINER = 0x200D  # joins the characters on both sides of it
_TABLED = 0x3000  # characters below have a table; the others are looked up one by one
_QUOTES = "\"'`“”‘’«»„‚‹›"
_STOPS = ".!?…‼⁇⁈⁉。．｡！？।॥؟۔։՜՞።፧፨။។៕།༎"
_SIGNS = _QUOTES + "()[]{}<>.,;:!?-–—_*…"
_IS_LETTER = np.isin(np.arange(UNCASED + 1), (LOWER, UPPER, UNCASED))  # by the class of a character


def character_class(character: str) -> int:
    """Return the class of a character. Marks and joiners belong to the letters that they modify.

    >>> [character_class(c) for c in "aA7.ا"] == [LOWER, UPPER, DIGIT, STOP, UNCASED]
    True
    """
    if character.isspace():
        return SPACE
    if character.isupper() or character.istitle():
        return UPPER
    if character.isalpha():
        return LOWER if character.islower() else UNCASED
    if character.isdigit():
        return DIGIT
    if character in "([{<":
        return OPENING
    if character in ")]}>":
        return CLOSING
    if character in _QUOTES:
        return QUOTE
    if character in _STOPS:
        return STOP
    if character in ",;:،؛、，；：၊፣፤":
        return COMMA
    if character in "-–—_/":
        return HYPHEN
    if unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf"):
        return UNCASED
    return OTHER if character < "\x80" else SYMBOL


def is_joined(character: str) -> bool:
    """Whether a character belongs to the preceding one: combining marks, joiners, variation selectors, skin tones.

    >>> [is_joined(c) for c in "\\u0301\\ufe0f\\u200d\U0001f3fda"]
    [True, True, True, True, False]
    """
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= character <= "\U0001f3ff"


def is_mark(character: str) -> bool:
    """Whether a character changes or joins letters: combining marks such as vowel signs, and the two joiners.

    >>> [is_mark(c) for c in "\\u0301\u093f\\u200ca"]
    [True, True, True, False]
    """
    return unicodedata.category(character)[0] == "M" or character in "\u200c\u200d"


@cache
def _joined_table() -> npt.NDArray[np.bool_]:
    return np.array([is_joined(chr(code)) for code in range(_TABLED)], np.bool_)


def _joins(chars: Shorts) -> npt.NDArray[np.bool_]:
    """Return a mask of the characters that belong to the preceding one."""
    found: npt.NDArray[np.bool_] = _joined_table()[np.minimum(chars, _TABLED - 1)] & (chars < _TABLED)
    for code in _beyond(chars):
        if is_joined(chr(code)):
            found |= chars == code
    return found


def _beyond(chars: Shorts) -> set[int]:
    """The characters without a table."""
    return set(chars[chars >= _TABLED].tolist())


@cache
def _tables() -> tuple[Shorts, Shorts]:
    """Class and lower case of each character below :data:`_TABLED`."""
    characters = [chr(code) for code in range(_TABLED)]
    return (
        np.array([character_class(c) for c in characters], np.int32),
        np.array([_lower(c) for c in characters], np.int32),
    )


def _lower(character: str) -> int:
    low = character.lower()
    return ord(low) if len(low) == 1 else ord(character)


def shape_of(chunk: str) -> str:
    """Replace capitals, letters and digits by their kind, keep signs, and shorten runs to two characters.

    >>> shape_of("U.S.-based"), shape_of("10,000")
    ('X.X.-xx', 'dd,dd')
    """
    kinds = chunk[:30].translate(_KINDS)
    return _shortened(kinds) if len(kinds) > 2 else kinds


@lru_cache(maxsize=10_000)
def _shortened(kinds: str) -> str:
    return _LONG_RUN.sub(lambda run: run[0][:2], kinds)


class _Kinds(dict[int, str]):
    """A cache with the kind of each character that a shape has contained."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = "X" if character.isupper() else "x" if character.isalpha() else "d" if character.isdigit() else character
        self[code] = kind
        return kind


_KINDS = _Kinds()
_LONG_RUN = re.compile(r"(.)\1{2,}", re.DOTALL)


def core_of(chunk: str) -> str:
    """Return a chunk in lower case without the signs around it.

    >>> core_of("(Hello!)")
    'hello'
    """
    return chunk.strip(_SIGNS).lower()


def known_words(sentences: Iterable[Sequence[str]], least: int = 3) -> dict[str, int]:
    """Return statistics of words: how often each is capitalised within sentences, begins a sentence, and occurs.

    The value of a word is a small number that combines three classes; 0 means an unknown word.
    """
    lower: Counter[str] = Counter()
    upper: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for tokens in sentences:
        for position, token in enumerate(tokens):
            if core := core_of(token):
                counter = first if position == 0 else upper if token[0].isupper() else lower
                counter[core] += 1
    known = {}
    for core in sorted({*lower, *upper, *first}):
        total = lower[core] + upper[core] + first[core]
        if total >= least:
            capitalised = upper[core] / max(1, upper[core] + lower[core])
            begins = first[core] / total
            frequent = 0 if total < 10 else 1 if total < 100 else 2
            known[core] = 1 + min(3, int(4 * capitalised)) * 16 + min(3, int(8 * begins)) * 4 + frequent
    return known


def chunk_rows(words: Mapping[str, int]) -> Callable[[str], bytes]:
    """Return a function that gives the row of a chunk, four 32-bit integers, and caches the most recent chunks.

    ``words`` has the statistics of words (:func:`known_words`).
    """

    @lru_cache(maxsize=_REMEMBERED)
    def row(chunk: str) -> bytes:
        core = core_of(chunk)
        start = chunk.lstrip(_SIGNS)[:1]
        initial = 0 if not core else 1 if start.isupper() else 2 if core[0].isdigit() else 3
        hashes = string_hash(chunk.lower()), string_hash(shape_of(chunk)), string_hash(core)
        return array("i", [*hashes, words.get(core, 0) * 4 + initial]).tobytes()

    return row


def encode_chunks(
    paragraphs: Sequence[Sequence[str]], row: Callable[[str], bytes], *, dense: bool
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of paragraphs, given as one list of their chunks (at least one each) with offsets.

    The characters of a paragraph are those of its chunks, with a space between two chunks. ``row`` comes from
    :func:`chunk_rows`. If ``dense``, tokens may end between two letters.
    """
    texts = [" ".join(chunks) for chunks in paragraphs]
    chars = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
    classes, low = _looked_up(chars)
    at = _offsets(np.array(list(map(len, texts)), np.int64))
    chunks = [chunk for paragraph in paragraphs for chunk in paragraph]
    table = np.frombuffer(b"".join(map(row, chunks)), np.int32).reshape(-1, 4)
    counts = np.array(list(map(len, paragraphs)), np.int64)
    chunk_at = _offsets(counts)
    # the start of each chunk within its paragraph, and an additional start after the last chunk
    lengths = np.fromiter(map(len, chunks), np.int64, len(chunks)) + 1
    before = _offsets(lengths)
    paragraph = np.arange(len(counts)).repeat(counts + 1)
    starts = before[np.arange(len(paragraph)) - paragraph] - before[chunk_at[paragraph]]
    # the chunk of each character; the space after a chunk belongs to it
    lengths[chunk_at[1:] - 1] -= 1
    chunk_of = (np.arange(len(chunks)) - chunk_at[:-1].repeat(counts)).repeat(lengths)
    points, points_at = _points(chars, classes, at, dense)
    return {
        "chars": chars.copy(),
        "chars_at": at,
        "low": low,
        "low_at": at,
        "classes": classes,
        "classes_at": at,
        "chunk": chunk_of.astype(np.int32),
        "chunk_at": at,
        "start": starts.astype(np.int32),
        "start_at": chunk_at + np.arange(len(chunk_at)),
        **{name: table[:, k].copy() for k, name in enumerate(("whole", "shape", "core", "flags"))},
        **{f"{name}_at": chunk_at for name in ("whole", "shape", "core", "flags")},
        "points": points,
        "points_at": points_at,
    }


def _offsets(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The offset of each part, and the end of the last one."""
    found = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=found[1:])
    return found


def _looked_up(chars: Shorts) -> tuple[Shorts, Shorts]:
    of_class, of_low = _tables()
    small = np.minimum(chars, _TABLED - 1)
    classes, low = of_class[small], of_low[small]
    for code in _beyond(chars):
        found = chars == code
        classes[found], low[found] = character_class(chr(code)), _lower(chr(code))
    return classes, low


def _points(
    chars: Shorts, classes: Shorts, at: npt.NDArray[np.int64], dense: bool
) -> tuple[Shorts, npt.NDArray[np.int64]]:
    """Return the places in each paragraph at which a token could end.

    These are the places after all characters except spaces. Places between two letters are excluded unless ``dense``,
    and so are places between a character and the marks and joiners that belong to it.
    """
    after = np.append(classes[1:], SPACE)
    after[at[1:] - 1] = SPACE
    keep = classes != SPACE
    if not dense:
        keep &= ~(_IS_LETTER[classes] & _IS_LETTER[after])
    keep[:-1] &= ~_joins(chars[1:]) | (after[:-1] == SPACE)
    keep &= (chars != _JOINER) | (after == SPACE)
    places = np.flatnonzero(keep)
    points_at = np.searchsorted(places, at)
    of = np.repeat(np.arange(len(at) - 1), np.diff(points_at))
    return (places - at[:-1][of]).astype(np.int32), points_at.astype(np.int64)
