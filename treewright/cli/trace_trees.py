"""``treewright trace`` of a constituency parser: a tree built from the top, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from treewright.cli.console import make_table, patience_while_compiling, print_json, wide_stdout
from treewright.cli.outcomes import note

if TYPE_CHECKING:
    from treewright.constituency.trace import Step
    from treewright.corpora import Sentence

__all__ = ["TREE_COLUMNS", "trace_trees"]


def _number(value: float | None) -> str:
    """As people read it: three digits, and a dash for what cannot be."""
    return "" if value is None else f"{value:.3f}" if math.isfinite(value) else "−∞"


def _words(step: Step) -> str:
    """The words of the constituent, with a bar where it is split."""
    if step.split is None:
        return " ".join(step.words)
    at = step.split - step.start
    return f"{' '.join(step.words[:at])} | {' '.join(step.words[at:])}"


def _correct(step: Step) -> str:
    return "" if step.correct is None else "yes" if step.correct else "no"


def _expert(step: Step) -> str:
    """What the gold tree has instead, where the step is wrong."""
    if step.correct is not False:
        return ""
    return step.expert or "no such constituent"


TREE_COLUMNS: dict[str, Callable[[Step], str]] = {
    "step": lambda step: str(step.number),
    "constituent": lambda step: f"{step.constituent}[{step.start}:{step.end}]",
    "rule": lambda step: step.rule,
    "split": lambda step: "" if step.split is None else str(step.split),
    "words": _words,
    "reward": lambda step: _number(step.reward),
    "advantage": lambda step: _number(step.advantage),
    "value": lambda step: _number(step.value),
    "total": lambda step: _number(step.total + (step.reward or 0.0)),
    "correct": _correct,
    "expert": _expert,
    "rivals": lambda step: ", ".join(f"{action} {_number(value)}" for action, value in step.rivals.items()),
}
_USUAL = ("step", "constituent", "rule", "words", "reward", "total", "advantage", "correct", "expert", "rivals")


def trace_trees(
    parser: Any,
    sentences: Sequence[tuple[int, Sentence]],
    columns: Sequence[str] | None,
    format: str,
    *,
    follow_gold: bool,
    top: int,
) -> None:
    """Print the steps of numbered sentences, with these columns or the usual ones, as far as they say something."""
    if parser.decoder != "viterbi" or parser.max_gap is not None or parser.prune > 0:
        note("note: the steps are those of exact search for the best tree, without max-rule, max_gap or pruning")
    for k, (number, sentence) in enumerate(sentences):
        steps = _steps(parser, sentence, number, follow_gold, top)
        if format == "json":
            print_json({"sentence": number, "text": str(sentence), "steps": [_plain(step) for step in steps]})
            continue
        if k:
            print()
        if len(sentences) > 1 and format == "table":
            print(f"{number}: {sentence}\n")
        if steps:
            _print(steps, columns, format)


def _steps(parser: Any, sentence: Sentence, number: int, follow_gold: bool, top: int) -> list[Step]:
    """The steps; a note says why there are none."""
    from treewright.constituency import NotInGrammar
    from treewright.constituency.trace import trace

    with patience_while_compiling():
        try:
            steps = trace(parser, sentence, follow="gold" if follow_gold else "parser", top=top)
        except NotInGrammar as error:
            note(f"note: sentence {number}: the gold tree cannot be derived: {error}")
            return []
    if not steps:
        note(f"note: sentence {number}: the grammar has no tree for these words, so there are no steps to show")
    return steps


def _plain(step: Step) -> dict[str, Any]:
    """Numbers that JSON knows: null for minus infinity."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(step).items()
    }


def _print(steps: Sequence[Step], columns: Sequence[str] | None, format: str) -> None:
    table = {name: [TREE_COLUMNS[name](step) for step in steps] for name in columns or _USUAL}
    if columns is None:
        table = {name: cells for name, cells in table.items() if any(cells)}
    lines = list(zip(*table.values(), strict=True))
    if format == "tsv":
        print("\n".join("\t".join(line) for line in [tuple(table), *lines]))
        return
    wide_stdout().print(make_table(None, list(table), lines, left=len(table)))
