"""``treewright align``: which words do the nodes of meaning graphs come from?"""

from __future__ import annotations

import os
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from treewright.cli.console import print_json, stdout
from treewright.cli.outcomes import note
from treewright.cli.streams import load
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.amr.alignment import Aligner, Alignment
    from treewright.corpora import Sentence

__all__ = ["align"]

_ALIGNERS = ("rules", "improved")
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")


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
        typer.Option(help="rules; or improved, which also asks who is near whom and needs --trees.", metavar="NAME"),
    ] = "rules",
    dictionaries: Annotated[
        Path | None,
        typer.Option(
            help="A folder with lists of verbalisations.",
            metavar="FOLDER",
            show_default="amr-dictionaries in $TREEWRIGHT_DATA, if it is there",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object a sentence.")] = False,
) -> None:
    """Align the words of sentences with the nodes of their meaning graphs (AMR).

    Words and their nodes are printed side by side; nodes without a word come last.

    Examples:
      treewright align corpus.amr
      treewright align corpus.amr --trees corpus.conllu --aligner improved
      treewright align corpus.amr --json | jq -c '.nodes[] | select(.words == [])'
    """
    if aligner not in _ALIGNERS:
        raise ConfigError(f"there is no aligner {aligner!r}; choose one of {', '.join(_ALIGNERS)}")
    if aligner == "improved" and trees is None:
        raise ConfigError("the improved aligner needs dependency trees: give them with --trees, or choose rules")
    if corpus == trees == "-":
        raise ConfigError("standard input (-) can be only one of the two")
    shown = not as_json
    sentences = load(corpus, "amr", shown=shown)
    from treewright.amr.alignment import join_trees, nodes_of

    if trees is not None:
        sentences = join_trees(sentences, load(trees, "conllu", shown=shown))
    chosen = _aligner(aligner, dictionaries)
    nodes = aligned = 0
    for sentence in sentences:
        found = chosen.align(sentence)
        assert sentence.graph is not None
        nodes += len(nodes_of(sentence.graph))
        aligned += len(found)
        if as_json:
            print_json(_as_json(sentence, found))
        else:
            _show(sentence, found)
    if shown:
        note(f"{len(sentences):,} graphs; {aligned:,} of {nodes:,} nodes have words")


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


def _id(sentence: Sentence) -> str | None:
    from treewright.corpora.amr import metadata

    return metadata(sentence).get("id")


def _as_json(sentence: Sentence, alignment: Alignment) -> dict[str, Any]:
    from treewright.amr.alignment import node_label, nodes_of

    assert sentence.graph is not None
    nodes = [
        {"node": node, "label": node_label(sentence.graph, node), "words": alignment.get(node, ())}
        for node in nodes_of(sentence.graph)
    ]
    return {"id": _id(sentence), "words": sentence.forms, "nodes": nodes}


def _show(sentence: Sentence, alignment: Alignment) -> None:
    """Words and nodes side by side; nodes that are there for the same words have a colour of their own."""
    from treewright.amr.alignment import node_label, nodes_of

    assert sentence.graph is not None
    nodes = nodes_of(sentence.graph)
    colours = dict(zip(sorted(set(alignment.values())), cycle(_COLOURS), strict=False))
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
    if name := _id(sentence):
        console.print(Text(name, style="bold"))
    console.print(table)
    console.print()
