"""Input in batches of the sentences that have arrived, without waiting for more."""

from __future__ import annotations

import os
import select
import sys
import warnings
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, cast

from treewright.cli.console import Bar
from treewright.errors import CorpusError

if TYPE_CHECKING:
    from treewright.corpora import Sentence
    from treewright.text import Tokenizer

__all__ = ["Input", "batched", "load"]

_CHUNK = 1 << 16
_BATCH = 20_000  # words


class Input:
    """The sentences of a file or, for ``-``, of standard input, and the position in it.

    Empty standard input is an error, as for a file, unless ``may_be_empty`` is set. With a ``tokenizer``, the formats
    ``text`` (paragraphs with blank lines between them) and ``lines`` (a paragraph on each line) are raw text;
    ``tokens`` is a sentence on each line, with its words between spaces.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".txt") as file:
    ...     _ = file.write(b"Time flies .\\n"), file.flush()
    ...     with Input(file.name) as source:
    ...         source.format, [[str(sentence) for sentence in batch] for batch in source.batches()]
    ('text', [['Time flies .']])
    """

    def __init__(
        self,
        path: str,
        format: str = "auto",
        *,
        column: str = "upos",
        may_be_empty: bool = False,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        from treewright.corpora.files import text_lines

        self._descriptor, self._read, self._close = _open(path)
        self.name = "<stdin>" if path == "-" else path
        self.column = column
        self._may_be_empty = may_be_empty and path == "-"
        self.size = 0 if self._descriptor is None else os.fstat(self._descriptor).st_size
        self.done = 0
        self._tokenizer = tokenizer
        self._first = b""  # input that was read to guess the format, and not used yet
        self._left: list[bytes] = []  # whole lines that were read but not used yet, last first
        self._lines = text_lines(cast(IO[bytes], self))
        self._seen: list[str] = []
        try:
            self.format = format if format != "auto" else self._find_format()
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _find_format(self) -> str:
        from treewright.corpora import reading

        known = reading.format_of(self.name)
        if known is None and self._tokenizer is not None:  # lines would lose their separators
            self._first = self._read(_CHUNK)
            self.done += len(self._first)
            begun = self._first.decode(errors="replace")
            known = reading.guess_format(iter(begun.splitlines()), []) if begun.strip() else "text"
            known = "text" if known == "tabular" else known
        return known or reading.guess_format(self._lines, self._seen)

    def sentences(self) -> Iterator[Sentence]:
        """The sentences, one at a time."""
        from treewright.corpora import reading

        if self._tokenizer is not None and self.format in ("text", "lines"):
            empty = True
            for sentence in self._tokenizer.stream(self._pieces(), lines=self.format == "lines"):
                empty = False
                yield sentence
            if empty and not self._may_be_empty:
                warnings.warn(f"{self.name}: there is no text in it", stacklevel=2)
            return
        lines = chain(self._seen, self._lines)
        format = "text" if self.format in ("tokens", "lines") else self.format
        try:
            yield from reading.parse_sentences(lines, self.name, format, column=self.column)
        except CorpusError:
            if self.done or not self._may_be_empty:
                raise

    def batches(self) -> Iterator[list[Sentence]]:
        """The sentences in batches of those that have arrived, up to 20,000 words, without waiting for more."""
        batch: list[Sentence] = []
        words = 0
        for sentence in self.sentences():
            batch.append(sentence)
            words += len(sentence)
            if words >= _BATCH or self.would_wait():
                yield batch
                batch, words = [], 0
        if batch:
            yield batch

    def __iter__(self) -> Iterator[bytes]:
        """The lines as bytes, each with its end."""
        begun: list[bytes] = []  # of the last line: joined once, so that a long line takes linear time
        for chunk in self._chunks():
            first, *lines = chunk.split(b"\n")
            begun.append(first)
            if not lines:
                continue
            lines.insert(0, b"".join(begun))
            begun = [lines.pop()]
            self._left = [line + b"\n" for line in reversed(lines)]
            while self._left:
                yield self._left.pop()
        if rest := b"".join(begun):
            yield rest

    def _chunks(self) -> Iterator[bytes]:
        if self._first:
            yield self._first
        while chunk := self._read(_CHUNK):
            self.done += len(chunk)
            yield chunk

    def _pieces(self) -> Iterator[str]:
        """The unchanged text, with all its line ends."""
        from treewright.corpora.files import looks_binary

        decoder = getincrementaldecoder("utf-8")()
        position, lines, start = 0, 1, b""
        for chunk in chain(self._chunks(), [b""]):
            waiting = len(decoder.getstate()[0])
            start = start or chunk[:8]
            if (zero := chunk.find(b"\0")) >= 0:
                what = f"a zero byte at offset {position + zero:,}: this looks like a binary file or UTF-16; "
                raise CorpusError(
                    looks_binary(start, b"") or what + "save it as UTF-8 text",
                    path=self.name,
                    line=lines + chunk.count(b"\n", 0, zero),
                )
            try:
                yield decoder.decode(chunk, final=not chunk)
                if chunk and self.would_wait():
                    yield ""  # the tokenizer gives what is complete
            except UnicodeDecodeError as error:
                at = position - waiting + error.start
                what = f"not UTF-8 text: byte 0x{error.object[error.start]:02x} at offset {at:,}; "
                raise CorpusError(
                    looks_binary(start, b"") or what + "save the file as UTF-8",
                    path=self.name,
                    line=lines + error.object.count(b"\n", 0, error.start),
                ) from None
            position += len(chunk)
            lines += chunk.count(b"\n")

    def would_wait(self) -> bool:
        """Whether reading would block until more input is written."""
        if self._left or self._descriptor is None:
            return False
        try:
            readable, _, _ = select.select([self._descriptor], [], [], 0)
        except (OSError, ValueError):  # it does not support waiting, like pipes on Windows
            return False
        return not readable


def load(path: str, format: str = "auto", *, column: str = "upos", shown: bool = True) -> list[Sentence]:
    """All sentences of a file, with a progress bar if it takes long."""
    sentences: list[Sentence] = []
    with Input(path, format, column=column) as source, Bar(shown=shown and source.size > 0, compiles=False) as bar:
        for batch in source.batches():
            sentences += batch
            bar.update(f"reading {source.name}", source.done, source.size)
    return sentences


def batched(sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    """Sentences in memory, in batches of about 20,000 words."""
    first = words = 0
    for k, sentence in enumerate(sentences, 1):
        words += len(sentence)
        if words >= _BATCH or k == len(sentences):
            yield sentences[first:k]
            first, words = k, 0


def _open(path: str) -> tuple[int | None, Callable[[int], bytes], Callable[[], None]]:
    """The descriptor of a file, if it has one, and functions to read the available input and to close it."""
    if path == "-":
        try:
            descriptor = sys.stdin.fileno()
        except OSError:  # not a real file: stdin was replaced by another object
            return None, sys.stdin.buffer.read, _stay_open
        return descriptor, partial(os.read, descriptor), _stay_open
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by `Input`
    except OSError:
        from treewright.corpora.files import text_lines

        next(text_lines(path), None)  # raises the error message of the corpus readers
        raise
    return file.fileno(), lambda size: file.read(size) or b"", file.close


def _stay_open() -> None:
    """Do nothing: standard input stays open."""
