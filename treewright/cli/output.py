"""Writing results: all to one file or stream, or one file per sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from treewright.errors import ConfigError

__all__ = ["check_out", "check_overwritten", "write_all", "write_one_a_file"]


def check_out(out: Path | None, content: str = "model") -> None:
    """Raise :class:`ConfigError` if a file cannot be written there, before anything is compiled or learned."""
    if out is None or out.is_char_device() or out.is_fifo():
        return
    if out.is_dir():
        raise ConfigError(f"{out}: this is a folder; give the name of a file for the {content}")
    folder = out.resolve().parent
    if not folder.is_dir():
        raise ConfigError(f"{out}: the folder {folder} does not exist; make it first")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{out}: you may not write to the folder {folder}")


def check_overwritten(out: Path, *read: str | os.PathLike[str] | None) -> None:
    """Raise :class:`ConfigError` if the output would replace one of the files that are read."""
    for path in read:
        if path is not None and out.exists() and os.path.exists(path) and os.path.samefile(out, path):
            raise ConfigError(f"{out}: this file is read, and --out would overwrite it; choose another name")


def write_all(
    batches: Iterable[list[Any]],
    text: Callable[[Any], str],
    frame: tuple[str, str],
    out: Path | None,
    heading: Callable[[Any], str] | None = None,
) -> None:
    """Write all sentences to a file, or to standard output as soon as they are parsed.

    With a ``heading``, which is for pages, sentences are numbered below their texts, and several of them have a table
    of contents: it is written last, when all texts are known, and the page shows it first.
    """
    from html import escape

    from treewright.corpora.files import text_writer

    begin, end = frame
    headings: list[str] = []
    with text_writer(out or sys.stdout.buffer) as write:
        empty = True
        for batch in batches:
            if empty and batch:
                write(begin)
                empty = False
            for sentence in batch:
                if heading is not None:
                    headings.append(escape(heading(sentence)))
                    write(f'<h2 id="s{len(headings)}">{len(headings)}. {headings[-1]}</h2>\n')
                write(text(sentence))
            if out is None:
                sys.stdout.buffer.flush()
        if len(headings) > 1:
            rows = (f'<li><a href="#s{number}">{each}</a></li>\n' for number, each in enumerate(headings, 1))
            write(f"<nav><ol>\n{''.join(rows)}</ol></nav>\n")
        write(end if not empty else begin + end)
    if out is None:
        sys.stdout.buffer.flush()


def write_one_a_file(batches: Iterable[list[Any]], text: Callable[[Any], str], format: str, out: Path | None) -> None:
    """Write one sentence to a file, or each to a file in a folder; a name without a suffix is a folder."""
    from treewright.corpora.files import text_writer

    if out is not None and (out.is_dir() or not out.suffix):
        out.mkdir(parents=True, exist_ok=True)
        for number, sentence in enumerate(chain.from_iterable(batches), 1):
            with text_writer(out / f"{number:04}.{format}") as write:
                write(text(sentence))
        return
    check_out(out, "drawing")
    only: Any = None
    for batch in batches:
        if only is not None or len(batch) > 1:
            raise ConfigError(
                f"a {format} file contains one sentence, and the input has several: "
                "name a folder, as in --out drawings, or write one page with --format html"
            )
        [only] = batch
    if only is not None:
        with text_writer(out or sys.stdout.buffer) as write:
            write(text(only))
        sys.stdout.buffer.flush()
