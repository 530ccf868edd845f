"""``treewright expert``: the scores of the expert of AMR parsing, which are an upper bound for parsers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from treewright.cli.console import patience_while_compiling, print_json, stdout
from treewright.cli.output import check_out, write_all
from treewright.cli.preparing import Parser, Tagger, Trees, pipeline_of
from treewright.cli.tasks import TASKS
from treewright.cli.tasks.amr import NO_TREES, check_trees, show_scores
from treewright.cli.tasks.graphs import graph_writer

__all__ = ["expert"]


def expert(
    corpus: Annotated[
        str,
        typer.Argument(
            help="Graphs with their sentences, in PENMAN notation; or - for standard input.",
            metavar="CORPUS",
            show_default=False,
        ),
    ],
    trees: Trees = None,
    tagger: Tagger = None,
    parser: Parser = None,
    aligner: Annotated[
        str, typer.Option(help="How words and nodes are aligned: rules, improved, or given, by the graphs.")
    ] = "rules",
    reentrance: Annotated[
        bool, typer.Option("--reentrance/--no-reentrance", help="Add edges to the tree in a second phase.")
    ] = True,
    reach: Annotated[int, typer.Option(help="How many edges away a node may be reattached; 0: anywhere.", min=0)] = 6,
    swap: Annotated[str, typer.Option(help="When Swap is allowed: strict, thesis or node.")] = "strict",
    insert: Annotated[str, typer.Option(help="When Insert is allowed: word or thesis.")] = "word",
    punctuation: Annotated[
        bool, typer.Option("--punctuation/--no-punctuation", help="Keep punctuation in the trees.")
    ] = False,
    dictionaries: Annotated[
        Path | None,
        typer.Option(help="A folder with the frames of PropBank and lists of verbalisations.", metavar="FOLDER"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the expert's graphs to this file.", metavar="FILE")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Score the graphs that the expert of AMR parsing makes from trees, against the gold graphs.

    The expert knows the gold graph, but makes it by the actions of the parser: so this is
    the most that a parser with these settings can learn. Its errors are those of the
    alignment and of the rules.

    Examples:
      treewright expert train.amr --trees train.conllu
      treewright expert train.amr --trees train.conllu --no-reentrance --aligner improved
      treewright expert train.amr --trees train.conllu --insert thesis --out expert.amr
      treewright expert train.amr --tagger upos.tw --parser parser.tw --json
    """
    from treewright.amr import AMRParser, score_smatch

    check_out(out, "graphs")
    task = TASKS["amr"]
    gold = task.read(corpus, trees=trees, shown=not as_json)
    task.check_gold(gold, "")
    ready = pipeline_of(tagger, parser, {}).annotate(gold, jobs=jobs) if tagger or parser else gold
    check_trees(ready, NO_TREES)
    settings: dict[str, Any] = {"aligner": aligner, "reentrance": reentrance, "reach": reach, "swap": swap}
    settings |= {"insert": insert, "punctuation": punctuation, "dictionaries": dictionaries}
    with patience_while_compiling():
        made = AMRParser(**settings).by_expert(ready, jobs=jobs)
    scores = score_smatch(gold, made, breakdown=True).as_dict()
    if out is not None:
        write = graph_writer("penman")
        write_all([made], lambda sentence: write(sentence, None), ("", ""), out)
    if as_json:
        plain = {**settings, "dictionaries": None if dictionaries is None else str(dictionaries)}
        print_json({"corpus": corpus, "settings": plain, **scores})
        return
    console = stdout()
    for part in show_scores(scores):
        console.print(part, markup=False)
