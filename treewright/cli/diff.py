"""``treewright diff``: the differences between meaning graphs, triple by triple."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.text import Text

from treewright.cli.console import patience_while_compiling, several
from treewright.cli.output import check_out, write_all, write_one_a_file
from treewright.cli.tasks.graphs import ansi, graphs_page, load_graphs, sentence_id
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence
    from treewright.reports import GraphDiff

__all__ = ["diff"]

_FORMATS = ("text", "svg", "html", "json")
_COLOURS = {" ": "", "-": "red", "+": "green"}


class _Pair(NamedTuple):
    """A sentence, its number, and the difference between its graphs."""

    number: int
    sentence: Sentence
    difference: GraphDiff

    @property
    def title(self) -> str:
        """Its id or number, and its score."""
        return f"{sentence_id(self.sentence) or self.number}   Smatch {self.difference.f1:.2f}"


def diff(
    gold: Annotated[
        str, typer.Argument(help="The gold graphs, in PENMAN notation; or - for standard input.", metavar="GOLD")
    ],
    predicted: Annotated[str, typer.Argument(help="The predicted graphs, in the same order.", metavar="PREDICTED")],
    sentence: Annotated[
        str | None, typer.Option("--sentence", "-n", help="Only this one: its number in the file, or its id.")
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", "-b", help="Omit graphs without differences, and triples that match.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="text, json (one object per sentence), svg (a drawing of one sentence), html (a page with all).",
            show_default="by the name of the output file, or text",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write to this file; with svg, to this folder, one file per sentence.", metavar="FILE"
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
) -> None:
    """Show how meaning graphs (AMR) differ from the gold graphs.

    Variables are mapped to each other by the best mapping of Smatch. Then every triple
    (a concept, a relation, a constant, the top) is in both graphs, or it is missing
    (-, red), or it is extra (+, green). In drawings, missing triples are dashed and
    orange, and extra ones are blue.

    Examples:
      treewright diff gold.amr parsed.amr --brief | less -R
      treewright diff gold.amr parsed.amr -n lpp_1943.53 --out difference.svg
      treewright diff gold.amr parsed.amr --brief --out errors.html
      treewright parse model.tw test.conllu | treewright diff gold.amr -
      treewright diff gold.amr parsed.amr -f json | jq -r '.edges[] | select(.side == "gold").role'
    """
    format = format or (out.suffix.lower().lstrip(".") if out is not None and out.suffix else "text")
    if format not in _FORMATS:
        raise ConfigError(f"there is no format {format!r}; choose one of {', '.join(_FORMATS)}")
    if gold == predicted == "-":
        raise ConfigError("standard input (-) can be only one of the two")
    if format != "svg":  # drawings may go to a folder
        check_out(out, "differences")
    right, guessed = load_graphs(gold), load_graphs(predicted)
    if len(right) != len(guessed):
        raise ConfigError(
            f"{gold} has {several(len(right), 'graph')}, and {predicted} has {len(guessed):,}: give one for each "
            "sentence"
        )
    pairs = _pairs(right, guessed, _chosen(right, sentence, gold), jobs)
    if brief:
        pairs = [pair for pair in pairs if pair.difference.f1 < 1]
    match format:
        case "svg":
            write_one_a_file([pairs], _svg, format, out)
        case "html":
            write_all([pairs], lambda pair: f"<figure>\n{_svg(pair)}</figure>\n", graphs_page(format), out)
        case "json":
            write_all([pairs], _json, ("", ""), out)
        case _:
            coloured = out is None and sys.stdout.isatty()
            write_all([pairs], lambda pair: _text(pair, brief, coloured), ("", ""), out)


def _chosen(sentences: list[Sentence], wanted: str | None, path: str) -> Iterable[int]:
    """The indices of the selected sentences."""
    if wanted is None:
        return range(len(sentences))
    found = [k for k, one in enumerate(sentences) if sentence_id(one) == wanted]
    if not found and wanted.isdecimal() and 0 < int(wanted) <= len(sentences):
        found = [int(wanted) - 1]
    if not found:
        raise ConfigError(f"{path}: there is no sentence {wanted!r}: neither an id nor a number up to {len(sentences)}")
    return found[:1]


def _pairs(gold: list[Sentence], predicted: list[Sentence], chosen: Iterable[int], jobs: int) -> list[_Pair]:
    from treewright.reports import graph_diffs

    places = list(chosen)
    right = [_aligned(gold[k]) for k in places]
    with patience_while_compiling():
        found = graph_diffs(right, [predicted[k] for k in places], jobs=jobs)
    return [_Pair(k + 1, one, difference) for k, one, difference in zip(places, right, found, strict=True)]


def _aligned(sentence: Sentence) -> Sentence:
    """The sentence with an alignment by rules, if it has words and no alignment, for the drawing."""
    from treewright.amr import RuleAligner, with_alignment

    if not len(sentence) or sentence.graph is None or sentence.graph.alignments:
        return sentence
    return with_alignment(sentence, RuleAligner().align(sentence))


def _svg(pair: _Pair) -> str:
    from treewright.reports import amr_diff_svg

    return amr_diff_svg(pair.difference, pair.sentence.forms, title=pair.title)


def _json(pair: _Pair) -> str:
    about = {"sentence": pair.number, "id": sentence_id(pair.sentence), "text": str(pair.sentence)}
    return json.dumps({**about, **pair.difference.to_dict()}, ensure_ascii=False) + "\n"


def _text(pair: _Pair, brief: bool, coloured: bool) -> str:
    if not coloured:
        words = [str(pair.sentence)] if len(pair.sentence) else []
        return "\n".join([pair.title, *words, *pair.difference.lines(only_differences=brief), "", ""])
    text = Text.assemble((pair.title, "bold"), "\n")
    if len(pair.sentence):
        text.append(f"{pair.sentence}\n")
    for line in pair.difference.lines(only_differences=brief):
        text.append(f"{line}\n", style=_COLOURS[line[0]])
    return ansi(text) + "\n"
