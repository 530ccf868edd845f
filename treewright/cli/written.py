"""Parsing with a grammar that was written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from treewright.cli.output import write_all
from treewright.cli.streams import Input
from treewright.cli.tasks import TASKS
from treewright.cli.tasks.base import Candidate
from treewright.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from treewright.constituency import WrittenGrammar
    from treewright.corpora import Sentence

__all__ = ["parse_written", "read_written"]

_FORMATS = ("ptb", "text", "html", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json", ".jsonl": "json", ".txt": "text"}


def read_written(path: Path) -> WrittenGrammar:
    """Read rules from a file."""
    from treewright.constituency import WrittenGrammar
    from treewright.corpora.files import text_lines

    return WrittenGrammar.from_text("".join(f"{line.rstrip()}\n" for line in text_lines(str(path))), str(path))


def parse_written(path: Path, file: str, format: str | None, out: Path | None, k: int, search: str) -> None:
    """Parse the sentences of a file, one per line with words between spaces, and write their best trees."""
    chosen = format or (_SUFFIXES.get(out.suffix.lower(), "ptb") if out else "ptb")
    if chosen not in _FORMATS:
        raise ConfigError(f"trees of a grammar cannot be written as {chosen!r}; choose one of {', '.join(_FORMATS)}")
    if search not in ("cky", "agenda"):
        raise ConfigError(f"--search is cky or agenda, not {search!r}")
    if search == "agenda" and k > 1:
        raise ConfigError("an agenda stops with the best tree: leave out --k-best, or use --search cky")
    grammar = read_written(path)
    task = TASKS["constituency"]
    writer = task.k_best_writer(None, chosen)
    with Input(file, "text", may_be_empty=True) as source:
        batches = ([_trees(grammar, each, k, search) for each in batch] for batch in source.batches())
        write_all(batches, writer, task.frame(chosen), out, _heading if chosen == "html" else None)


def _trees(grammar: WrittenGrammar, sentence: Sentence, k: int, search: str) -> list[Candidate]:
    """The best trees of a sentence. An agenda finds one, and gives the number of popped constituents."""
    from dataclasses import replace

    from treewright.constituency.written_trace import agenda_parse

    words = list(sentence.forms)
    try:
        best = grammar.k_best(words, k if search == "cky" else 1)
        if search == "agenda" and best:
            score, pops = agenda_parse(grammar, words)
            comments = (f"# pops = {pops}",)
            return [Candidate(replace(sentence, tree=best[0].tree, comments=comments), score)]
    except CorpusError as error:
        raise CorpusError(str(error), path=sentence.path, line=sentence.line) from None
    if not best:
        raise CorpusError("the grammar has no tree for this sentence", path=sentence.path, line=sentence.line)
    return [Candidate(replace(sentence, tree=each.tree), each.score) for each in best]


def _heading(trees: list[Candidate]) -> str:
    return " ".join(trees[0].sentence.forms)
