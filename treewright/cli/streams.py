"""Input as it arrives, in batches that wait for nobody."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["Input"]

_CHUNK = 1 << 16
_BATCH = 20_000  # words


class Input:
    """The sentences of a file or, for ``-``, of standard input, and how far they are read.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".txt") as file:
    ...     _ = file.write(b"Time flies .\\n"), file.flush()
    ...     source = Input(file.name)
    ...     source.format, [[str(sentence) for sentence in batch] for batch in source.batches()]
    ('text', [['Time flies .']])
    """

    def __init__(self, path: str, format: str = "auto") -> None:
        self._descriptor = _open(path)
        self.name = "<stdin>" if path == "-" else path
        self.size = os.fstat(self._descriptor).st_size
        self.done = 0
        self._left: list[bytes] = []  # whole lines that were read but not taken yet, last first
        from treewright.corpora.files import text_lines

        self._lines = text_lines(cast(IO[bytes], self))
        self._seen: list[str] = []
        self.format = format if format != "auto" else self._find_format()

    def _find_format(self) -> str:
        from treewright.corpora import reading

        suffix = Path(self.name).suffix.lower()
        for name, known in reading._FORMATS.items():
            if suffix in known.suffixes:
                return name
        return reading._guess_format(self._lines, self._seen)

    def sentences(self) -> Iterator[Sentence]:
        """The sentences, one at a time."""
        from treewright.corpora import reading

        return reading._format(self.format).parse(chain(self._seen, self._lines), self.name)

    def batches(self) -> Iterator[list[Sentence]]:
        """The sentences in batches: those that are there, up to 20,000 words, and never waiting for more."""
        batch: list[Sentence] = []
        words = 0
        for sentence in self.sentences():
            batch.append(sentence)
            words += len(sentence)
            if words >= _BATCH or self._would_wait():
                yield batch
                batch, words = [], 0
        if batch:
            yield batch

    def __iter__(self) -> Iterator[bytes]:
        """The lines as bytes, each with its end."""
        rest = b""
        while chunk := os.read(self._descriptor, _CHUNK):
            self.done += len(chunk)
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            self._left = [line + b"\n" for line in reversed(lines)]
            while self._left:
                yield self._left.pop()
        if rest:
            yield rest

    def _would_wait(self) -> bool:
        if self._left:
            return False
        try:
            readable, _, _ = select.select([self._descriptor], [], [], 0)
        except (OSError, ValueError):  # not something that can be waited for, as pipes on Windows
            return False
        return not readable


def _open(path: str) -> int:
    if path == "-":
        return sys.stdin.fileno()
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        os.read(descriptor, 0)  # a directory can be opened, but not read
        return descriptor
    except OSError:
        from treewright.corpora.files import text_lines

        next(text_lines(path), None)  # raises the same, in the words of the corpus readers
        raise
