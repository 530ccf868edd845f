"""``treewright trace`` of a parser of meaning graphs: a tree turned into a graph, action by action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from treewright.cli.console import make_table, patience_while_compiling, print_json, wide_stdout
from treewright.cli.tasks.amr import NO_TREES, check_trees

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["GRAPH_COLUMNS", "GRAPH_STYLES", "trace_graphs"]

GRAPH_STYLES = ("steps", "graphs")


class _Row(NamedTuple):
    """A step of the parser and its number; the last one is the finished graph, and has no action."""

    number: int
    step: Any


def _list(words: Sequence[str]) -> str:
    return f"[{', '.join(words)}]"


def _expert(row: _Row) -> str:
    """What the expert would do, where that is something else."""
    return "" if row.step.expert in (None, row.step.action) else row.step.expert


def _agrees(row: _Row) -> str:
    """Where nothing can be saved any more, the expert takes any action."""
    if row.step.expert in (None, "any"):
        return ""
    return "yes" if row.step.expert == row.step.action else "no"


GRAPH_COLUMNS: dict[str, Callable[[_Row], str]] = {
    "step": lambda row: str(row.number),
    "stack": lambda row: _list(row.step.stack),
    "buffer": lambda row: _list(row.step.buffer),
    "action": lambda row: row.step.action,
    "correct": _agrees,
    "expert": _expert,
    "scores": lambda row: ", ".join(f"{action} {score:.2f}" for action, score in row.step.scores.items()),
    "graph": lambda row: " ".join(row.step.graph.split()),
}
_TITLES = {"stack": "σ (stack)", "buffer": "β (buffer)"}
_ANY = "any: nothing can be saved any more here, so that every action is as good to the expert"
_USUAL = ("step", "stack", "buffer", "action", "correct", "expert", "scores")


def trace_graphs(
    parser: Any,
    sentences: Sequence[tuple[int, Sentence]],
    columns: Sequence[str] | None,
    format: str,
    *,
    style: str,
    top: int,
) -> None:
    """Print the steps of numbered sentences, with these columns or the usual ones; or a slide a step."""
    check_trees([sentence for _, sentence in sentences], NO_TREES)
    lost = False
    for k, (number, sentence) in enumerate(sentences):
        with patience_while_compiling():
            steps = parser.trace(sentence, top=top)
        if format == "json":
            print_json({"sentence": number, "text": str(sentence), "steps": [asdict(step) for step in steps]})
            continue
        if k:
            print()
        if len(sentences) > 1 and format == "table":
            print(f"{number}: {sentence}\n")
        rows = [_Row(place, step) for place, step in enumerate(steps)]
        lost = lost or any(_expert(row) == "any" for row in rows)
        if style == "graphs" and columns is None and format == "table":
            _print_slides(rows)
        else:
            _print(rows, columns, format)
    if lost and format == "table" and (columns is None or "expert" in columns):
        print(f"\n{_ANY}")


def _print(rows: Sequence[_Row], columns: Sequence[str] | None, format: str) -> None:
    made = [row for row in rows if row.step.action]
    titles = {} if format == "tsv" else _TITLES
    table = {titles.get(name, name): [GRAPH_COLUMNS[name](row) for row in made] for name in columns or _USUAL}
    if columns is None:
        table = {title: cells for title, cells in table.items() if any(cells)}
    lines = list(zip(*table.values(), strict=True))
    if format == "tsv":
        print("\n".join("\t".join(line) for line in [tuple(table), *lines]))
        return
    wide_stdout().print(make_table(None, list(table), lines, left=len(table)))


def _title(name: str, row: _Row) -> str:
    """The first slide says what σ and β are; then their letters do."""
    return _TITLES[name] if row.number == 0 else _TITLES[name].split()[0]


def _print_slides(rows: Sequence[_Row]) -> None:
    """σ and β, the graph so far, and what comes next."""
    for row in rows:
        if row.number:
            print()
        if row.step.action:
            print(f"{row.number}.  " + "  ".join(f"{_title(name, row)} {GRAPH_COLUMNS[name](row)}" for name in _TITLES))
        print("\n".join(f"    {line}" for line in row.step.graph.splitlines()))
        if row.step.action:
            print(f"Next action: {row.step.action}")
        if expert := _expert(row):
            print(f"Expert: {expert}")
