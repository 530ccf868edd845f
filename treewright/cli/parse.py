"""``treewright parse``: annotate a file or a stream."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import unicodedata
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.console import Bar, patience_while_compiling
from treewright.cli.output import check_overwritten, write_all, write_one_a_file
from treewright.cli.preparing import Parser, Tagger, preparation
from treewright.cli.streams import Input
from treewright.cli.tasks import Task, load_model
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["annotate_file", "is_pattern", "looks_untokenized", "parse", "warn_if_untokenized"]

_SUFFIXES = {
    ".conllu": "conllu",
    ".conll": "conllu",
    ".tsv": "tabular",
    ".tab": "tabular",
    ".txt": "text",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".jsonl": "json",
    ".ptb": "ptb",
    ".mrg": "ptb",
    ".amr": "penman",
    ".penman": "penman",
    ".dot": "dot",
    ".gv": "dot",
}


def parse(
    model: Annotated[
        str | None,
        typer.Argument(help="The model file, or the name of a bundled model; none with --grammar.", metavar="MODEL"),
    ] = None,
    file: Annotated[
        str,
        typer.Argument(
            help="What to parse: a file, a pattern in quotes ('texts/*.txt'), or - for standard input.", metavar="FILE"
        ),
    ] = "-",
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="Output: text, json (an object a line); of taggers tabular, conllu; of dependency parsers conllu; of "
            "constituency parsers ptb (brackets); of AMR parsers penman, and dot for Graphviz; of all parsers svg (one "
            "sentence) and html (a page with all drawings).",
        ),
    ] = None,
    input_format: Annotated[
        str,
        typer.Option(
            "--input",
            "--input-format",
            help="Input: auto; text (with a pipeline raw text, paragraphs between blank lines), lines (a paragraph on "
            "each line), tokens (a sentence on each line, words between spaces); conllu, tabular, ptb or amr.",
        ),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file, completely or not at all; with svg, to this folder, one file per sentence.",
            metavar="FILE",
        ),
    ] = None,
    k_best: Annotated[
        int | None,
        typer.Option("--k-best", help="Constituency parsers: the number of trees per sentence, best first.", min=1),
    ] = None,
    grammar: Annotated[
        Path | None,
        typer.Option("--grammar", help="Parse with rules written by hand instead of a model.", metavar="FILE"),
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", help="With --grammar: cky or agenda.", show_default="cky")
    ] = None,
    tagger: Tagger = None,
    parser: Parser = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Parse the files of a pattern on a Dask cluster: local:4, tcp://host:port, or module:object.",
            metavar="CLUSTER",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Annotate sentences with a model.

    Input is read as it comes, and each answer is written as soon as its sentence is
    complete, so memory does not grow. The output has the format of the input unless
    --format or the name of the output file says otherwise; other columns are kept.

    Text is word/LABEL from a tagger and a drawing from a parser. Constituency parsers
    write brackets, and AMR parsers graphs, for any input. An SVG file contains one drawing: several sentences
    go to a folder, or to one page with html.

    Examples:
      treewright parse model.tw test.conllu > labelled.conllu
      treewright parse model.tw test.conllu --out labelled.tsv
      echo "Time flies ." | treewright parse model.tw
      echo "Time flies ." | treewright parse parser.tw --out tree.svg
      treewright parse parser.tw test.conllu --out trees.html
      treewright parse parser.tw test.conllu --format svg --out drawings
      zcat big.conllu.gz | treewright parse model.tw - --format json | head
      echo "She can fish ." | treewright parse trees.tw --k-best 3 --format json
      treewright parse amr.tw trees.conllu --out graphs.amr
      treewright parse amr.tw text.txt --tagger xpos.tw --parser parser.tw -o graphs.html
      treewright parse english text.txt --out analysis.conllu
      echo "the man saw the dog with the telescope" | treewright parse english --k-best 2 -f html > two.html
      echo "the man saw the dog" | treewright parse --grammar toy.cfg --k-best 2
      echo "Don't stop him!" | treewright parse english
      treewright parse english 'texts/*.txt' --cluster local:4 --out analysis.conllu
    """
    if grammar is not None:
        from treewright.cli.written import parse_written

        if model is not None and file != "-":
            raise ConfigError("--grammar replaces the model: leave the model out")
        parse_written(grammar, model or file, format, out, k_best or 1, search or "cky")
        return
    if model is None:
        raise ConfigError("name a model, such as english, or give rules by --grammar")
    if search is not None:
        raise ConfigError("--search is for --grammar: a model has its own; leave it out")
    named = format or _format_of(out)
    _check_input(input_format)
    if out is not None:
        from treewright.corpora.reading import format_of

        may_be_replaced = format_of(file) not in (None, "text")  # annotation, to which layers are added
        check_overwritten(out, None if may_be_replaced else file, model, parser, *(tagger or ()))
    if cluster is not None or is_pattern(file):
        from treewright.cli.parse_shards import parse_shards

        models = {"model": model, "tagger": tagger or [], "parser": parser}
        how = {"format": format, "named": named, "input_format": input_format, "k_best": k_best, "jobs": jobs}
        parse_shards(models, file, how, out, cluster, quiet=quiet)
        return
    wanted = "ptb" if k_best is not None else named or "conllu"  # a pipeline's own format
    task, estimator = load_model(model, wanted)
    prepare = preparation(task, estimator, tagger, parser)
    annotate_file(
        task,
        estimator,
        prepare,
        file,
        out,
        format=format,
        named=named,
        input_format=input_format,
        k_best=k_best,
        jobs=jobs,
        quiet=quiet,
    )
    from treewright.search.compiling import work

    if work.interpreted:
        from treewright.cli.compile import compile_in_background

        compile_in_background([model, *(tagger or ()), *([parser] if parser else [])])


def annotate_file(
    task: Task,
    estimator: Any,
    prepare: Callable[[Sequence[Sentence], int], list[Sentence]],
    file: str,
    out: Path | None,
    *,
    format: str | None,
    named: str | None,
    input_format: str,
    k_best: int | None,
    jobs: int,
    quiet: bool,
) -> None:
    """Annotate a file with an estimator; ``named`` is the format given by the options or by the name of the output."""
    formats = _formats(task, k_best)
    _check_format(task, format, formats)
    tokenizer = estimator if task.name == "tokenization" else getattr(estimator, "tokenizer", None)
    with Input(file, input_format, may_be_empty=True, tokenizer=tokenizer) as source:
        prepare = _checking_words(prepare, source, tokenizer)
        if task.name == "pipeline" and k_best is None:
            prepare = _checking_trees(prepare, source, estimator)
        usual = source.format if task.keeps_format and source.format in formats else formats[0]
        chosen = named or usual
        _check_format(task, chosen, formats)
        on_terminal = out is None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if on_terminal else None
        parsing, text = _work(task, estimator, chosen, width, k_best)

        def work(sentences: list[Sentence], jobs: int) -> list[Any]:
            return parsing(prepare(sentences, jobs), jobs)

        with (
            Bar(shown=not quiet and source.size > 0 and not on_terminal) as bar,
            closing(_parsed(work, source, jobs, bar, quiet)) as batches,
        ):
            if chosen in task.one_a_file:
                write_one_a_file(batches, text, chosen, out)
            else:
                write_all(batches, text, task.frame(chosen), out, _text_of if chosen == "html" else None)


def is_pattern(file: str) -> bool:
    """Return whether a name is a pattern for several files.

    >>> is_pattern("texts/*.txt"), is_pattern("text.txt"), is_pattern("-")
    (True, False, False)
    """
    return any(sign in file for sign in "*?[") and not os.path.exists(file)


def _text_of(result: Any) -> str:
    """Return the text of a sentence, or of the first of its k best annotations."""
    from treewright.pipeline.document import Analysis

    return Analysis(result[0].sentence if isinstance(result, list) else result).text


def _format_of(out: Path | None) -> str | None:
    """Return the format for the suffix of a file; None for standard output and for names without a suffix."""
    if out is None or not out.suffix or out.is_dir():
        return None
    if out.suffix.lower() not in _SUFFIXES:
        raise ConfigError(
            f"{out}: no format has names that end in {out.suffix}; give a name that ends in {', '.join(_SUFFIXES)}, "
            "or choose the format with --format"
        )
    return _SUFFIXES[out.suffix.lower()]


def _check_input(format: str) -> None:
    from treewright.corpora import formats

    known = ["auto", "text", "lines", "tokens", *(name for name in formats() if name != "text")]
    if format not in known:
        raise ConfigError(f"there is no input {format!r}; choose one of {', '.join(known)}")


def _checking_words(
    prepare: Callable[[Sequence[Sentence], int], list[Sentence]], source: Input, tokenizer: Any
) -> Callable[[Sequence[Sentence], int], list[Sentence]]:
    """Warn once, at the first sentences, if the words look like text that is not tokenized."""
    if tokenizer is not None or source.format not in ("text", "lines"):
        return prepare
    seen = False

    def checked(sentences: Sequence[Sentence], jobs: int) -> list[Sentence]:
        nonlocal seen
        if not seen:
            warn_if_untokenized(sentences, "treewright parse english FILE", "(--input tokens)")
        seen = True
        return prepare(sentences, jobs)

    return checked


def _checking_trees(
    prepare: Callable[[Sequence[Sentence], int], list[Sentence]], source: Input, pipeline: Any
) -> Callable[[Sequence[Sentence], int], list[Sentence]]:
    """Warn once, at the first sentences, if they already have trees or graphs that the pipeline would build."""
    from treewright.pipeline.pipeline import STRUCTURES, layer_name, missing_layers

    given = STRUCTURES.intersection(layer for component in pipeline.components for layer in component.gives())
    seen = False

    def checked(sentences: Sequence[Sentence], jobs: int) -> list[Sentence]:
        nonlocal seen
        if not seen and any(map(len, sentences)):
            seen = True
            if kept := sorted(given.difference(missing_layers(given, sentences))):
                warnings.warn(
                    f"{source.name} has {' and '.join(map(layer_name, kept))}, and a pipeline keeps the layers that "
                    "sentences have: the output repeats them, so it says nothing about the model. To analyse the words "
                    "again, give them alone (--input tokens, a sentence on each line); treewright evaluate does so by "
                    "itself",
                    stacklevel=2,
                )
        return prepare(sentences, jobs)

    return checked


def warn_if_untokenized(sentences: Sequence[Sentence], pipeline: str, words: str) -> None:
    """Warn of text that a model without a tokenizer gets, and say how to use a pipeline, or how to give words."""
    if looks_untokenized(sentences):
        warnings.warn(
            "the input looks like text that is not tokenized: signs stand at the end of words, and this model has "
            f"no tokenizer. Use a pipeline ({pipeline}), or give words between spaces {words}".rstrip(),
            stacklevel=3,
        )


def looks_untokenized(sentences: Sequence[Sentence]) -> bool:
    """Whether punctuation such as commas is attached to words more often than separate."""
    attached = alone = 0
    for sentence in sentences:
        for form in sentence.forms:
            if unicodedata.category(form[-1]) == "Po":
                attached += len(form) > 1 and form[-2].isalpha()
                alone += len(form) == 1
    return attached > alone


def _formats(task: Task, k_best: int | None) -> tuple[str, ...]:
    if k_best is None:
        return task.formats
    if not task.k_best_formats:
        raise ConfigError(f"--k-best has no meaning for {task.name}; leave it out")
    return task.k_best_formats


def _work(
    task: Task, estimator: Any, format: str, width: int | None, k_best: int | None
) -> tuple[Callable[[list[Sentence], int], list[Any]], Callable[[Any], str]]:
    """Return a function that parses a batch of sentences in some threads, and a function that writes each result."""
    if k_best is None:
        return partial(task.parse, estimator), task.writer(estimator, format, width=width)
    k = k_best
    writer = task.k_best_writer(estimator, format, width=width)
    return lambda sentences, jobs: task.k_best(estimator, sentences, k, jobs), writer


def _parsed(
    work: Callable[[list[Sentence], int], list[Any]], source: Input, jobs: int, bar: Bar, quiet: bool
) -> Generator[list[Any], None, None]:
    """Yield batches of parsed sentences; one is parsed while another is read or written, until the input ends."""
    gc.freeze()  # sentences have no reference cycles, and searching for cycles takes a third of the time
    gc.set_threshold(100_000)
    waiting: Future[list[Any]] | None = None
    from treewright.search.threads import thread_pool

    with patience_while_compiling(shown=not quiet), thread_pool(1) as pool:
        for batch in source.batches():
            future = pool.submit(work, batch, jobs)
            if waiting is not None:
                yield waiting.result()
            waiting = future
            if source.would_wait():
                yield waiting.result()
                waiting = None
            bar.update(f"parsing {os.path.basename(source.name)}", source.done, source.size)
        if waiting is not None:
            yield waiting.result()


def _check_format(task: Task, format: str | None, formats: tuple[str, ...]) -> None:
    if format is not None and format not in formats:
        what = task.name if formats == task.formats else "several trees a sentence"
        raise ConfigError(f"{what} cannot be written as {format!r}; choose one of {', '.join(formats)}")
