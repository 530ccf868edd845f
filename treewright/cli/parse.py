"""``treewright parse``: annotate a file or a stream."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from treewright.cli.console import Bar, patience_while_compiling
from treewright.cli.streams import Input
from treewright.cli.tasks import Task, load_model
from treewright.errors import ConfigError

__all__ = ["parse"]

_SUFFIXES = {
    ".conllu": "conllu",
    ".conll": "conllu",
    ".tsv": "tabular",
    ".tab": "tabular",
    ".txt": "text",
    ".json": "json",
    ".jsonl": "json",
}


def parse(
    model: Annotated[Path, typer.Argument(help="The model file.", metavar="MODEL")],
    file: Annotated[str, typer.Argument(help="What to parse; - is standard input.", metavar="FILE")] = "-",
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="Output: conllu, tabular, text or json (an object a line)."),
    ] = None,
    input_format: Annotated[str, typer.Option("--input-format", help="Input: auto, conllu, tabular or text.")] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write to this file, whole or not at all.", metavar="FILE"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Annotate sentences with a model.

    Input is read as it comes, and each answer is written as soon as its sentence is
    complete, so memory does not grow. The output has the format of the input unless
    --format or the name of the output file says otherwise; other columns are kept.

    Examples:
      treewright parse model.tw test.conllu > labelled.conllu
      treewright parse model.tw test.conllu --out labelled.tsv
      echo "Time flies ." | treewright parse model.tw
      zcat big.conllu.gz | treewright parse model.tw - --format json | head
    """
    from treewright.corpora.files import text_writer

    task, estimator = load_model(model)
    _check_format(task, format)
    with Input(file, input_format, may_be_empty=True) as source:
        chosen = format or (_SUFFIXES.get(out.suffix.lower()) if out else None) or source.format
        _check_format(task, chosen)
        sentence_text = task.writer(estimator, chosen)
        shown = not quiet and source.size > 0 and (out is not None or not sys.stdout.isatty())
        with Bar(shown=shown) as bar, text_writer(out or sys.stdout.buffer) as write:
            for number, batch in enumerate(source.batches()):
                with patience_while_compiling(shown=number == 0 and not quiet):
                    parsed = task.parse(estimator, batch, jobs)
                for sentence in parsed:
                    write(sentence_text(sentence))
                if out is None:
                    sys.stdout.buffer.flush()
                bar.update(f"parsing {os.path.basename(source.name)}", source.done, source.size)


def _check_format(task: Task, format: str | None) -> None:
    if format is not None and format not in task.formats:
        raise ConfigError(f"{task.name} cannot be written as {format!r}; choose one of {', '.join(task.formats)}")
