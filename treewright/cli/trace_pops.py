"""``treewright trace`` of a constituency parser with an agenda: what is popped, in order, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from treewright.cli.console import make_table, patience_while_compiling, print_json, wide_stdout
from treewright.cli.outcomes import note

if TYPE_CHECKING:
    from treewright.constituency.trace import PoppedStep
    from treewright.corpora import Sentence

__all__ = ["POP_COLUMNS", "trace_pops"]

_MOST_SHOWN = 100  # pops in a table


def _answer(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


POP_COLUMNS: dict[str, Callable[[PoppedStep], str]] = {
    "pop": lambda step: str(step.number),
    "constituent": lambda step: f"{step.constituent}[{step.start}:{step.end}]",
    "words": lambda step: " ".join(step.words),
    "inside": lambda step: f"{step.inside:.3f}",
    "priority": lambda step: f"{step.priority:.3f}",
    "used": lambda step: _answer(step.used),
    "correct": lambda step: _answer(step.correct),
    "features": lambda step: ", ".join(f"{name} {value:.3g}" for name, value in step.features.items()),
    "shares": lambda step: "",  # as many as are asked for: see _cells
}
_USUAL = ("pop", "constituent", "words", "inside", "priority", "used", "correct", "shares")


def trace_pops(
    parser: Any, sentences: Sequence[tuple[int, Sentence]], columns: Sequence[str] | None, format: str, *, top: int
) -> None:
    """Print what is popped for numbered sentences; ``top`` is how many shares of a priority are shown."""
    from treewright.constituency.trace import trace_pops as pops_of

    for k, (number, sentence) in enumerate(sentences):
        with patience_while_compiling():
            steps = pops_of(parser, sentence)
        if format == "json":
            print_json({"sentence": number, "text": str(sentence), "pops": [asdict(step) for step in steps]})
            continue
        if k:
            print()
        if len(sentences) > 1 and format == "table":
            print(f"{number}: {sentence}\n")
        _print(steps, columns, format, top)
        if format == "table" and len(steps) > _MOST_SHOWN:
            note(f"note: these are the first {_MOST_SHOWN} of {len(steps):,} pops; --format tsv or json has them all")


def _print(steps: Sequence[PoppedStep], columns: Sequence[str] | None, format: str, top: int) -> None:
    shown = steps[:_MOST_SHOWN] if format == "table" else steps
    table = {name: _cells(name, shown, top) for name in columns or _USUAL}
    if columns is None:
        table = {name: cells for name, cells in table.items() if any(cells)}
    lines = list(zip(*table.values(), strict=True))
    if format == "tsv":
        print("\n".join("\t".join(line) for line in [tuple(table), *lines]))
        return
    wide_stdout().print(make_table(None, list(table), lines, left=len(table)))


def _cells(name: str, steps: Sequence[PoppedStep], top: int) -> list[str]:
    return [_shares(step, top) if name == "shares" else POP_COLUMNS[name](step) for step in steps]


def _shares(step: PoppedStep, top: int) -> str:
    """What matters most for the priority."""
    most = sorted(step.shares.items(), key=lambda item: -abs(item[1]))[:top]
    return ", ".join(f"{name} {value:+.2f}" for name, value in most if value)
