"""Reading and writing text: lines from paths and streams, text to paths and streams.

Every reader of this package takes a *source*, a path or an open stream (bytes or text), and reads it line by
line, so that memory does not grow with the file. Every writer takes a *target*, a path or an open stream.

>>> import io
>>> list(text_lines(io.BytesIO(b"\\xef\\xbb\\xbfone\\r\\ntwo")))
['one', 'two']
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TypeAlias, cast

from treewright.errors import CorpusError
from treewright.files import atomic_write

__all__ = [
    "CARRIAGE_RETURN",
    "MOST_WORDS",
    "Source",
    "Target",
    "looks_binary",
    "source_name",
    "text_lines",
    "text_writer",
    "too_long",
]

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
"""The input of readers: a path, or an open binary or text stream such as ``sys.stdin.buffer``."""

Target: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
"""The output of writers: a path, or an open binary or text stream such as ``sys.stdout``."""

CARRIAGE_RETURN = "a carriage return inside a line; end lines with \\n or \\r\\n, and remove others"
"""The message for a line that would break in two for other programs."""

MOST_WORDS = 500_000
"""The words of the longest sentence that is read, so that a file without sentence ends does not fill the memory."""


def source_name(source: Source) -> str:
    """The name of a source in messages: its path, the name of the stream, or ``<stream>``.

    >>> import io
    >>> source_name("train.conllu"), source_name(io.StringIO())
    ('train.conllu', '<stream>')
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def too_long(path: str | None, line: int) -> CorpusError:
    """Return the error about a sentence that has more than :data:`MOST_WORDS` words, or is nested as deeply."""
    return CorpusError(
        f"a sentence of more than {MOST_WORDS:,} words or levels; is what ends a sentence missing?",
        path=path,
        line=line,
    )


def text_lines(source: Source) -> Iterator[str]:
    r"""The lines of a source, decoded from UTF-8, without their ends.

    Lines end only at ``\n`` or ``\r\n``, not at characters such as U+2028, which occur inside words of real treebanks.
    A byte order mark is skipped. Raises :class:`CorpusError` if the source cannot be read.
    """
    name = source_name(source)
    if not isinstance(source, str | os.PathLike):
        yield from _decoded_lines(source, name)
        return
    try:
        stream = open(source, "rb")  # noqa: SIM115 - closed by the `with` below
    except FileNotFoundError:
        raise CorpusError("there is no such file; check the path", path=name) from None
    except IsADirectoryError:
        raise CorpusError("this is a directory; give one file in it", path=name) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CorpusError(f"cannot be opened: {_reason(error)}", path=name) from None
    with stream:
        yield from _decoded_lines(stream, name)


def _decoded_lines(stream: IO[bytes] | IO[str], name: str) -> Iterator[str]:
    number = 0
    raw: bytes | str = ""
    start = b""  # of the first line
    try:
        lines = iter(cast(Iterable[bytes | str], stream))
        for number, raw in enumerate(lines, 1):
            if number == 1:
                start = raw[:8] if isinstance(raw, bytes) else b""
                line = raw.decode() if isinstance(raw, bytes) else raw
                yield line.removeprefix("\ufeff").rstrip("\r\n")
            else:
                yield (raw.decode() if isinstance(raw, bytes) else raw).rstrip("\r\n")
    except UnicodeDecodeError as error:
        # Each line of bytes is decoded by itself, so the number is exact; a text stream decodes ahead of it.
        exact = isinstance(raw, bytes)
        what = f"not UTF-8 text (byte 0x{error.object[error.start]:02x}{'' if exact else ' somewhere below'}); "
        raise CorpusError(
            looks_binary(start or error.object[:8], error.object) or what + "save the file as UTF-8",
            path=name,
            line=max(number, 1),
        ) from None
    except OSError as error:
        raise CorpusError(f"cannot be read: {_reason(error)}", path=name, line=number + 1) from None


_BINARY = (b"\x89PNG", b"GIF8", b"%PDF-", b"BZh", b"PK\x03\x04", b"\xff\xd8\xff", b"\x28\xb5\x2f\xfd")
_CONTROLS = bytes(code for code in range(32) if code not in b"\a\b\t\n\v\f\r\x1a\x1b")  # seldom in text


def looks_binary(start: bytes, line: bytes) -> str | None:
    """The message for a file with this beginning and this line, which is not UTF-8; None if it may be text."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not UTF-8 text: this looks like UTF-16; save the file as UTF-8"
    if start.startswith(b"\x1f\x8b"):
        return (
            "this looks like a binary file (gzip), not text; unpack it first, e.g. zcat FILE | treewright parse MODEL -"
        )
    if start.startswith(_BINARY) or line.translate(None, _CONTROLS) != line:
        return "this looks like a binary file, not text"
    return None


@contextmanager
def text_writer(target: Target) -> Iterator[Callable[[str], object]]:
    r"""Open a target and yield a function that writes text to it, as UTF-8 with ``\n`` line ends.

    A path is written atomically (:func:`treewright.files.atomic_write`); a stream stays open afterwards.

    >>> import io
    >>> target = io.BytesIO()
    >>> with text_writer(target) as write:
    ...     _ = write("née\n")
    >>> target.getvalue()
    b'n\xc3\xa9e\n'
    """
    if isinstance(target, str | os.PathLike):
        with atomic_write(target, "wb") as stream:
            yield lambda text: stream.write(_encoded(text))
    elif hasattr(target, "encoding"):  # what text streams have, and wrappers of text streams pass on
        yield cast(IO[str], target).write
    else:
        binary = cast(IO[bytes], target)
        yield lambda text: binary.write(_encoded(text))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise CorpusError(
            f"{character!r} is half a character and cannot be written as UTF-8: was the text read as UTF-8?"
        ) from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).lower()
