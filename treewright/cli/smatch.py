"""``treewright smatch``: the Smatch scores of meaning graphs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from treewright.cli.console import make_table, patience_while_compiling, print_json, several, stdout
from treewright.cli.outcomes import note
from treewright.cli.tasks.graphs import different_ids, load_graphs
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.amr import SmatchScores

__all__ = ["smatch"]


def smatch(
    gold: Annotated[
        str | None,
        typer.Argument(
            help="The gold graphs, in PENMAN notation; or - for standard input.", metavar="GOLD", show_default=False
        ),
    ] = None,
    predicted: Annotated[
        str | None,
        typer.Argument(
            help="The graphs to score, one for each gold graph, in the same order.",
            metavar="PREDICTED",
            show_default=False,
        ),
    ] = None,
    files: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "-f",
            help="The two files in the order of the package smatch: precision is that of the first one.",
            metavar="PREDICTED GOLD",
            show_default=False,
        ),
    ] = None,
    pr: Annotated[bool, typer.Option("--pr", help="Print precision and recall too.")] = False,
    ms: Annotated[bool, typer.Option("--ms", help="Print a score for each pair of graphs.")] = False,
    breakdown: Annotated[
        bool, typer.Option("--breakdown", help="Print separate scores of concepts, negation, roles, …")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Prove that no mapping of variables matches more triples.")
    ] = False,
    restarts: Annotated[int | None, typer.Option("-r", help="Restarts of the search.", min=0, show_default="5")] = None,
    significant: Annotated[int, typer.Option("--significant", help="Digits after the point.", min=1, max=15)] = 2,
    seed: Annotated[int, typer.Option(help="The same seed gives the same scores.", min=0)] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Score meaning graphs (AMR) with Smatch: the share of triples that match.

    Graphs are separated by empty lines. The output and the options are those of the
    package smatch; with -f, so is the order of the files.

    Examples:
      treewright smatch gold.amr parsed.amr
      treewright smatch gold.amr parsed.amr --pr --breakdown --exact
      treewright smatch -f parsed.amr gold.amr --pr
      treewright smatch gold.amr parsed.amr --ms | sort | head
      treewright smatch gold.amr parsed.amr --json | jq .f1
    """
    if files is not None:
        if gold is not None or predicted is not None:
            raise ConfigError("name the files once: GOLD PREDICTED, or -f PREDICTED GOLD")
        predicted, gold = files
    if gold is None or predicted is None:
        raise ConfigError("two files are needed: GOLD PREDICTED, or -f PREDICTED GOLD")
    if gold == predicted == "-":
        raise ConfigError("standard input (-) can be only one of the two")
    shown = not as_json
    right, guessed = load_graphs(gold, shown=shown), load_graphs(predicted, shown=shown)
    if len(right) != len(guessed):
        raise ConfigError(
            f"{gold} has {several(len(right), 'graph')}, and {predicted} has {len(guessed):,}: give one for each "
            "sentence"
        )
    if (found := different_ids(right, guessed)) is not None:
        warnings.warn(f"{predicted}: {found[1]}", stacklevel=2)
    from treewright.amr import HillClimbing, score_smatch

    search = None if restarts is None else HillClimbing(starts=restarts + 1)
    with patience_while_compiling(shown=shown):
        scores = score_smatch(right, guessed, breakdown=breakdown, search=search, exact=exact, seed=seed, jobs=jobs)
    if as_json:
        by_sentence = {"sentence_scores": scores.by_sentence()} if ms else {}
        print_json({"gold": gold, "predicted": predicted, **scores.as_dict(), **by_sentence})
        return
    rows = scores.by_sentence() if ms else [(scores.precision, scores.recall, scores.f1)]
    for precision, recall, f1 in rows:
        if pr:
            print(f"Precision: {precision:.{significant}f}")
            print(f"Recall: {recall:.{significant}f}")
        print(f"F-score: {f1:.{significant}f}")
    if breakdown:
        _show_breakdown(scores, significant)
    if scores.proved is not None and scores.proved < 1:
        unproved = round((1 - scores.proved) * scores.sentences)
        were = "was" if unproved == 1 else "were"
        note(f"{unproved:,} of {several(scores.sentences, 'pair')} {were} too hard to prove; more may match there")


def _show_breakdown(scores: SmatchScores, digits: int) -> None:
    rows = []
    for part in scores.breakdown:
        values = (f"{value:.{digits}f}" for value in (part.precision, part.recall, part.f1))
        rows.append((part.name, *(values if part.gold or part.predicted else ("–", "–", "–")), f"{part.gold:,}"))
    console = stdout()
    console.print()
    console.print(make_table(None, ("", "precision", "recall", "F", "gold"), rows))
