"""``treewright compare``: is one parser better than another, or may that be chance?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.console import make_table, print_json, stdout
from treewright.cli.evaluate import is_annotation, parse_all
from treewright.cli.streams import load
from treewright.cli.tasks import TASKS, load_model
from treewright.cli.tasks.base import percent
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["compare"]


def compare(
    a: Annotated[str, typer.Argument(help="A model, or an annotation (.conllu, .conll).", metavar="A")],
    b: Annotated[str, typer.Argument(help="Another one.", metavar="B")],
    gold: Annotated[str, typer.Argument(help="The right annotation.", metavar="GOLD")],
    measure: Annotated[str, typer.Option("--measure", "-m", help="las or uas.")] = "las",
    no_subtypes: Annotated[
        bool, typer.Option("--no-subtypes", help="Compare relations without what follows a colon.")
    ] = False,
    no_punctuation: Annotated[bool, typer.Option("--no-punctuation", help="Leave punctuation out.")] = False,
    samples: Annotated[int, typer.Option(help="Samples of the tests; more make smaller p possible.", min=1)] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same samples.", min=0)] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Compare two dependency parsers on the same sentences.

    The difference is B minus A: where it is positive, B is better. The interval and
    both p-values come from sampling sentences: paired bootstrap (one-sided: is B not
    better after all?) and approximate randomization (two-sided: do they not differ?).

    Examples:
      treewright compare old.tw new.tw test.conllu
      treewright compare ours.conllu theirs.conllu gold.conllu --measure uas
      treewright compare ours.conllu theirs.conllu gold.conllu --json | jq .p_bootstrap
    """
    from treewright.dependency import compare_dependencies

    if measure not in ("las", "uas"):
        raise ConfigError(f"there is no measure {measure!r}; choose las or uas")
    if [a, b, gold].count("-") > 1:
        raise ConfigError("standard input (-) can be only one of the three")
    shown = not as_json
    right = load(gold, shown=shown)
    TASKS["dependency"].check_gold(right, "deprel")
    first, second = (_annotation(path, right, jobs, shown=shown) for path in (a, b))
    comparison = compare_dependencies(
        right,
        first,
        second,
        measure="las" if measure == "las" else "uas",
        subtypes=not no_subtypes,
        punctuation=not no_punctuation,
        samples=samples,
        seed=seed,
    )
    if as_json:
        print_json({"a_name": a, "b_name": b, "gold": gold, **comparison.to_dict()})
        return
    _show(a, b, comparison.to_dict())


def _annotation(path: str, gold: list[Sentence], jobs: int, *, shown: bool) -> list[Sentence]:
    """The annotation in a file, or a model's annotation of the gold sentences."""
    if is_annotation(path):
        return load(path, shown=shown)
    task, estimator = load_model(path)
    if task.name != "dependency":
        raise ConfigError(f"{path}: this is a model for {task.name}; only dependency parsers can be compared")
    return parse_all(task, estimator, gold, jobs, shown=shown)


def _show(a: str, b: str, values: dict[str, Any]) -> None:
    low, high = values["interval"]
    fewer = values["error_reduction"]
    rows = [
        (f"A  {a}", percent(values["a"]), f"{values['tokens']:,} words in {values['sentences']:,} sentences"),
        (f"B  {b}", percent(values["b"]), ""),
        ("B − A", _signed(values["difference"]), f"95% interval {_signed(low)} to {_signed(high)}"),
        ("error reduction", percent(fewer), "of A's errors" if fewer is not None else "A makes no errors"),
    ]
    p_values = [
        ("paired bootstrap", f"{values['p_bootstrap']:.4f}", "B is not better (one-sided)"),
        ("approximate randomization", f"{values['p_randomization']:.4f}", "A and B do not differ (two-sided)"),
    ]
    sentences = [
        ("B is better", f"{values['b_better']:,}"),
        ("A is better", f"{values['a_better']:,}"),
        ("equal", f"{values['equal']:,}"),
    ]
    console = stdout()
    console.print(make_table(None, ("", f"{values['measure'].upper()} %", ""), rows))
    console.print()
    console.print(make_table(None, ("test", "p", "if it were true that"), p_values))
    console.print()
    console.print(make_table(None, ("sentences", "times"), sentences))


def _signed(value: float) -> str:
    return f"{100 * value:+.2f}"
