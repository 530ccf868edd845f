"""Results on their way out: one after the other, or a file each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from treewright.errors import ConfigError

__all__ = ["write_all", "write_one_a_file"]


def write_all(
    batches: Iterable[list[Any]], text: Callable[[Any], str], frame: tuple[str, str], out: Path | None
) -> None:
    """Write sentences one after the other, to a file or as they come."""
    from treewright.corpora.files import text_writer

    begin, end = frame
    with text_writer(out or sys.stdout.buffer) as write:
        empty = True
        for batch in batches:
            if empty and batch:
                write(begin)
                empty = False
            for sentence in batch:
                write(text(sentence))
            if out is None:
                sys.stdout.buffer.flush()
        if not empty:
            write(end)
    if out is None:
        sys.stdout.buffer.flush()


def write_one_a_file(batches: Iterable[list[Any]], text: Callable[[Any], str], format: str, out: Path | None) -> None:
    """Write the only sentence, or each to a file of a folder: a name without a suffix is that of a folder."""
    from treewright.corpora.files import text_writer

    if out is not None and (out.is_dir() or not out.suffix):
        out.mkdir(parents=True, exist_ok=True)
        for number, sentence in enumerate(chain.from_iterable(batches), 1):
            with text_writer(out / f"{number:04}.{format}") as write:
                write(text(sentence))
        return
    only: Any = None
    for batch in batches:
        if only is not None or len(batch) > 1:
            raise ConfigError(
                f"a file holds one sentence as {format}, and here are several: "
                "name a folder, as in --out drawings, or write one page with --format html"
            )
        [only] = batch
    if only is not None:
        with text_writer(out or sys.stdout.buffer) as write:
            write(text(only))
        sys.stdout.buffer.flush()
