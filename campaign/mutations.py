"""Damaged files: a seed file with some mutations of its bytes and of the elements of its format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

#: strings that often break readers, in any format
ODD = [
    text.encode("utf-8", "surrogatepass")
    for text in (
        "",
        "\0",
        "\ufeff",
        "\r",
        "\r\n",
        "\n\n",
        "\v",
        "\f",
        "\x1c",
        "\x85",
        "\u2028",
        "\u00a0",
        "\u200b",
        "\u3000",
        "\ud800",
        "\udfff\ud800",
        "\U0010ffff",
        "\U0001f468\u200d\U0001f469",
        "é" * 3,
        "e\u0301" * 50,
        "ß",
        "İ",
        "ı",
        "ﬁ",
        "٣",
        "²",
        "½",
        "一",
        "\u202e",
        "🙂",
        "-1",
        "0",
        "00",
        "1e400",
        "-1e-400",
        "nan",
        "inf",
        "1_000",
        "+1",
        "9" * 19,
        "9" * 400,
        "9" * 5000,
        "18446744073709551616",
        "-9223372036854775809",
        "a" * 3000,
        " ",
        "\t",
        "_",
        "#",
        "\\",
        '"',
        "'",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "=",
        ":",
        "/",
        "~",
        "|",
        ",",
        "%s",
        "../../etc/passwd",
    )
]
ODD += [b"\xff", b"\xfe\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]

# Long repetitions are rare, because they take most of the time of a campaign.
_REPETITIONS = (*(1, 2) * 6, 3, 3, 10, 300)
_INSERTIONS = (*(1,) * 27, *(3,) * 4, 2000)

_PIECE = re.compile(rb"[\w.-]+|\s|[^\w\s]", re.ASCII)


def mutated(random: Random, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    """Return one of the seeds with one to eight mutations; ``pieces`` are the elements of the format."""
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        data = random.choice(_MUTATIONS)(random, data, seeds, pieces)
        if len(data) > 20_000:
            data = data[:20_000]
    return data


def _place(random: Random, data: bytes) -> int:
    return random.randrange(len(data) + 1)


def _span(random: Random, data: bytes) -> tuple[int, int]:
    begin = _place(random, data)
    return begin, min(len(data), begin + random.choice((1, 2, 5, 20, 100)))


def _flip(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _byte(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    at = _place(random, data)
    return data[:at] + random.randbytes(random.choice((1, 1, 2, 8))) + data[at:]


def _cut(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    begin, end = _span(random, data)
    return data[:begin] + data[end:]


def _end(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    return data[: _place(random, data)]


def _repeat(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    begin, end = _span(random, data)
    return data[:end] + data[begin:end] * random.choice(_REPETITIONS) + data[end:]


def _splice(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    other = random.choice(seeds)
    return data[: _place(random, data)] + other[_place(random, other) :]


def _odd(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    begin, end = _span(random, data)
    return data[:begin] + random.choice(ODD) + data[begin if random.random() < 0.5 else end :]


def _insert(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    at = _place(random, data)
    return data[:at] + random.choice(pieces) * random.choice(_INSERTIONS) + data[at:]


def _exchange(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    """Replace a word, a number or a punctuation mark by one of the same file or of the format, or by an odd string."""
    old, other = (_PIECE.search(data, random.randrange(len(data) + 1)) for _ in range(2))
    if old is None or other is None:
        return data
    new = random.choice((other[0], random.choice(pieces), random.choice(ODD)))
    return data[: old.start()] + new + data[old.end() :]


def _swap_lines(random: Random, data: bytes, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


_MUTATIONS = (_flip, _byte, _cut, _end, _repeat, _splice, _odd, _insert, _exchange, _exchange, _swap_lines)
