"""Atomic writes: a file is written completely or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Literal, overload

from treewright.errors import TreewrightError

__all__ = ["atomic_write"]


@overload
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["w"] = "w", *, error: type[TreewrightError] = ...
) -> AbstractContextManager[IO[str]]: ...
@overload
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["wb"], *, error: type[TreewrightError] = ...
) -> AbstractContextManager[IO[bytes]]: ...
@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w", *, error: type[TreewrightError] = TreewrightError
) -> Iterator[IO[Any]]:
    r"""Write a file completely or not at all: ``"w"`` for text (UTF-8, ``\n``), ``"wb"`` for bytes.

    The block writes to a temporary file in the same folder, which replaces ``path`` when the block ends. After an
    exception in the block, ``path`` is as it was and the temporary file is gone. A reader sees the old file or the
    new one, so a program can rewrite a file while it reads it. A link stays a link, and its target is replaced. A
    device or a pipe is opened and written to directly.

    Raises ``error`` if the file cannot be created. A failure to write, such as a full disk, stays an :class:`OSError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder, "notes.txt")) as stream:
    ...         _ = stream.write("done\n")
    ...     Path(folder, "notes.txt").read_bytes()
    b'done\n'
    """
    text: dict[str, str] = {} if mode == "wb" else {"encoding": "utf-8", "newline": "\n"}
    try:
        final = Path(os.path.realpath(path))
    except ValueError as problem:  # a null byte
        raise error(f"{os.fspath(path)!r}: cannot be written: {problem}") from None
    if final.is_dir():
        raise error(f"{path}: this is a folder; give the name of a file")
    if final.exists() and not final.is_file():  # a device such as /dev/stdout must never be replaced
        with open(final, mode, **text) as stream:  # type: ignore[call-overload]
            yield stream
        return
    temporary = final.with_name(f".treewright-{secrets.token_hex(6)}.tmp")
    try:
        # open() and not mkstemp(): the file gets the user's usual permissions.
        stream = open(temporary, mode.replace("w", "x"), **text)  # type: ignore[call-overload] # noqa: SIM115
    except FileNotFoundError:
        raise error(f"{path}: cannot be written: its folder does not exist; create it first") from None
    except OSError as problem:
        raise error(f"{path}: cannot be written: {(problem.strerror or str(problem)).lower()}") from None
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
