"""Text in, text out: lines from paths and streams, and files that are written whole or not at all.

Every reader of this package takes a *source*, a path or an open stream (bytes or text), and reads it line by
line, so that memory does not grow with the file. Every writer takes a *target*, a path or an open stream.

>>> import io
>>> list(text_lines(io.BytesIO(b"\\xef\\xbb\\xbfone\\r\\ntwo")))
['one', 'two']
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast, overload

from treewright.errors import CorpusError, TreewrightError

__all__ = ["Source", "Target", "atomic_write", "source_name", "text_lines", "text_writer"]

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
"""What the readers take: a path, or an open binary or text stream such as ``sys.stdin.buffer``."""

Target: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
"""What the writers take: a path, or an open binary or text stream such as ``sys.stdout``."""


def source_name(source: Source) -> str:
    """What to call a source in messages: its path, the stream's own name, or ``<stream>``.

    >>> import io
    >>> source_name("train.conllu"), source_name(io.StringIO())
    ('train.conllu', '<stream>')
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def text_lines(source: Source) -> Iterator[str]:
    r"""The lines of a source, decoded from UTF-8, without their ends.

    Lines end at ``\n`` or ``\r\n`` and nowhere else (not at U+2028 and its like, which occur inside words of
    real treebanks). A byte order mark is skipped. What cannot be read raises :class:`CorpusError`.
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
        for number, raw in enumerate(cast(Iterable[bytes | str], stream), 1):
            if number == 1 and isinstance(raw, bytes):
                start = raw[:8]
            line = raw.decode() if isinstance(raw, bytes) else raw
            if number == 1:
                line = line.removeprefix("\ufeff")
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        # Each line of bytes is decoded by itself, so the number is exact; a text stream decodes ahead of it.
        exact = isinstance(raw, bytes)
        what = f"not UTF-8 text (byte 0x{error.object[error.start]:02x}{'' if exact else ' somewhere below'}); "
        raise CorpusError(
            _looks_binary(start or error.object[:8], error.object) or what + "save the file as UTF-8",
            path=name,
            line=max(number, 1),
        ) from None
    except OSError as error:
        raise CorpusError(f"cannot be read: {_reason(error)}", path=name, line=number + 1) from None


_BINARY = (b"\x89PNG", b"GIF8", b"%PDF-", b"BZh", b"PK\x03\x04", b"\xff\xd8\xff", b"\x28\xb5\x2f\xfd")
_CONTROLS = bytes(code for code in range(32) if code not in b"\a\b\t\n\v\f\r\x1a\x1b")  # seldom in text


def _looks_binary(start: bytes, line: bytes) -> str | None:
    """What to say of a file that begins like this and has this line, which is not UTF-8; None if it may be text."""
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
    r"""Open a target and give the function that writes text to it, as UTF-8 with ``\n`` line ends.

    A path is written atomically (:func:`atomic_write`); a stream stays open afterwards.

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


@overload
def atomic_write(path: str | os.PathLike[str], mode: Literal["w"] = "w") -> AbstractContextManager[IO[str]]: ...
@overload
def atomic_write(path: str | os.PathLike[str], mode: Literal["wb"]) -> AbstractContextManager[IO[bytes]]: ...
@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    r"""Write a file whole or not at all: ``"w"`` for text (UTF-8, ``\n``), ``"wb"`` for bytes.

    What is written goes to a temporary file in the same directory, which takes the place of ``path`` at the
    end of the block. After an exception in the block, ``path`` is as it was and nothing else is left behind.
    A reader sees the old file or the new one, so a corpus can be rewritten while it is being read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder, "notes.txt")) as stream:
    ...         _ = stream.write("done\n")
    ...     Path(folder, "notes.txt").read_bytes()
    b'done\n'
    """
    # A link stays a link: its file is replaced.
    final = Path(os.path.realpath(path))
    text: dict[str, str] = {} if mode == "wb" else {"encoding": "utf-8", "newline": "\n"}
    if final.is_dir():
        raise TreewrightError(f"{path}: this is a directory; give the name of a file")
    if final.exists() and not final.is_file():
        # A pipe or a device such as /dev/stdout must be written to, never replaced.
        with open(final, mode, **text) as stream:  # type: ignore[call-overload]
            yield stream
        return
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
    try:
        # open() and not mkstemp(): the file gets the user's usual permissions.
        stream = open(temporary, mode.replace("w", "x"), **text)  # type: ignore[call-overload] # noqa: SIM115
    except OSError as error:
        raise TreewrightError(
            f"{path}: cannot be written: {_reason(error)}; does the directory exist, and may you write to it?"
        ) from None
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # the data must be on disk before the name points to it
        if final.exists():
            shutil.copymode(final, temporary)
        os.replace(temporary, final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).lower()
