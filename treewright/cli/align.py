"""``treewright align``: the alignment of the nodes of meaning graphs with words."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from treewright.cli.console import several, stdout
from treewright.cli.outcomes import note
from treewright.cli.output import write_all, write_one_a_file
from treewright.cli.tasks.graphs import GRAPH_FORMATS, graph_writer, graphs_page, load_graphs, palette, sentence_id
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.amr.alignment import Aligner, Alignment
    from treewright.corpora import Sentence

__all__ = ["align"]

_ALIGNERS = ("rules", "improved")
_FORMATS = ("table", *GRAPH_FORMATS)


def align(
    corpus: Annotated[
        str,
        typer.Argument(
            help="Graphs with their sentences, in PENMAN notation; or - for standard input.",
            metavar="CORPUS",
            show_default=False,
        ),
    ],
    trees: Annotated[
        str | None,
        typer.Option(
            help="Lemmas and dependency trees of the same sentences, in CoNLL-U.",
            metavar="FILE.conllu",
            show_default=False,
        ),
    ] = None,
    aligner: Annotated[
        str,
        typer.Option(
            help="rules; or improved, which also uses distances in the tree and needs --trees.", metavar="NAME"
        ),
    ] = "rules",
    dictionaries: Annotated[
        Path | None,
        typer.Option(
            help="A folder with lists of verbalisations.",
            metavar="FOLDER",
            show_default="amr-dictionaries in $TREEWRIGHT_DATA, if it exists",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="table: words and nodes side by side; penman: the graphs, in colours; svg (one graph) and html (a "
            "page with all): drawings; dot, for Graphviz; json: one object per sentence.",
            show_default="table",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write to this file; with svg, to this folder, one file per graph.", metavar="FILE"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Align the words of sentences with the nodes of their meaning graphs (AMR), or draw them.

    Words and their nodes are printed side by side; nodes without a word come last.
    Drawings have the words below the graph, with lines to the nodes.

    Examples:
      treewright align corpus.amr
      treewright align corpus.amr --format penman
      treewright align corpus.amr --format html --out graphs.html
      treewright align corpus.amr --format svg --out drawings
      treewright align corpus.amr --trees corpus.conllu --aligner improved
      treewright align corpus.amr --json | jq -c '.nodes[] | select(.words == [])'
    """
    if aligner not in _ALIGNERS:
        raise ConfigError(f"there is no aligner {aligner!r}; choose one of {', '.join(_ALIGNERS)}")
    if aligner == "improved" and trees is None:
        raise ConfigError("the improved aligner needs dependency trees: give them with --trees, or choose rules")
    if as_json and format not in (None, "json"):
        raise ConfigError(f"--json is --format json: leave it out, or --format {format}")
    format = format or ("json" if as_json else "table")
    if format not in _FORMATS:
        raise ConfigError(f"there is no format {format!r}; choose one of {', '.join(_FORMATS)}")
    if out is not None and format == "table":
        raise ConfigError(f"--out needs a format: choose one of {', '.join(GRAPH_FORMATS)}")
    shown = format in ("table", "penman")
    sentences = load_graphs(corpus, trees=trees, shown=shown)
    from treewright.amr.alignment import nodes_of

    chosen = _aligner(aligner, dictionaries)
    if format != "table":
        _write(sentences, chosen, format, out)
        return
    nodes = aligned = 0
    for sentence in sentences:
        found = chosen.align(sentence)
        assert sentence.graph is not None
        nodes += len(nodes_of(sentence.graph))
        aligned += len(found)
        _show(sentence, found)
    note(f"{several(len(sentences), 'graph')}; words for {aligned:,} of {several(nodes, 'node')}")


def _aligner(name: str, dictionaries: Path | None) -> Aligner:
    from treewright.amr.improved_aligner import ImprovedAligner
    from treewright.amr.rule_aligner import RuleAligner
    from treewright.amr.wording import read_verbalisations

    if dictionaries is not None and not dictionaries.is_dir():
        raise ConfigError(f"{dictionaries}: there is no such folder")
    if dictionaries is None and (data := os.environ.get("TREEWRIGHT_DATA")):
        dictionaries = Path(data, "amr-dictionaries")
    verbalisations = read_verbalisations(dictionaries) if dictionaries else {}
    return RuleAligner(verbalisations) if name == "rules" else ImprovedAligner(verbalisations)


def _write(sentences: list[Sentence], aligner: Aligner, format: str, out: Path | None) -> None:
    """Write the graphs with their alignments."""
    writer = _json if format == "json" else graph_writer(format, colours=out is None and sys.stdout.isatty())

    def text(sentence: Sentence) -> str:
        return writer(sentence, aligner.align(sentence))

    if format == "svg":
        write_one_a_file([sentences], text, format, out)
    else:
        write_all([sentences], text, graphs_page(format), out)


def _json(sentence: Sentence, alignment: Alignment) -> str:
    """One JSON object on a line: the words, the graph, and its nodes and constants with their words, from 0."""
    from treewright.amr.alignment import node_label, nodes_of

    graph = sentence.graph
    assert graph is not None
    nodes = [
        {"node": node, "label": node_label(graph, node), "words": alignment.get(node, ())} for node in nodes_of(graph)
    ]
    values = {
        "id": sentence_id(sentence),
        "words": sentence.forms,
        "graph": graph.to_penman(),
        "top": graph.top,
        "nodes": nodes,
        "edges": graph.edges,
        "attributes": graph.attributes,
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


def _show(sentence: Sentence, alignment: Alignment) -> None:
    """Words and nodes side by side; nodes of the same words have the same colour."""
    from treewright.amr.alignment import node_label, nodes_of

    assert sentence.graph is not None
    nodes = nodes_of(sentence.graph)
    colours = palette(alignment)
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    table.columns[0].justify = "right"
    for k, form in enumerate(sentence.forms):
        here = [node for node in nodes if k in alignment.get(node, ())]
        label = Text("   ").join(
            Text(node_label(sentence.graph, node), style=colours[alignment[node]]) for node in here
        )
        style = colours[alignment[here[0]]] if here else "dim"
        table.add_row(Text(str(k + 1), style="dim"), Text(form, style=style), label)
    if lost := [node_label(sentence.graph, node) for node in nodes if node not in alignment]:
        table.add_row("", Text("–", style="dim"), Text("   ".join(lost), style="dim"))
    console = stdout()
    if name := sentence_id(sentence):
        console.print(Text(name, style="bold"))
    console.print(table)
    console.print()
