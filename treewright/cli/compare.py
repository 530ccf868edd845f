"""``treewright compare``: whether one tagger or parser is significantly better than another."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from treewright.bundled import found_model
from treewright.cli.console import make_table, print_json, several, stdout
from treewright.cli.evaluate import annotation_kind, is_annotation, parse_all, scoring_options
from treewright.cli.preparing import Parser, Tagger, Trees, check_for_models, preparation
from treewright.cli.streams import load
from treewright.cli.tasks import TASKS, Task, load_model
from treewright.cli.tasks.base import percent
from treewright.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["compare"]


def compare(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Models, or annotations (.conllu, .conll; .tsv, .tab; .ptb, .mrg; .amr, .penman; or -), two or more; "
            "the gold annotation comes last.",
            metavar="A B… GOLD",
        ),
    ],
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            "-m",
            help="Labels: accuracy; dependencies: las or uas; constituents: f1; meaning graphs: smatch.",
            show_default="accuracy, las, f1, smatch",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            help="Compare this column of CoNLL-U instead of dependencies.",
            show_default="that of taggers; upos for tables",
        ),
    ] = None,
    no_subtypes: Annotated[
        bool, typer.Option("--no-subtypes", help="Dependencies: compare relations without what follows a colon.")
    ] = False,
    no_punctuation: Annotated[
        bool, typer.Option("--no-punctuation", help="Dependencies: exclude punctuation.")
    ] = False,
    rules: Annotated[
        str | None,
        typer.Option("--rules", help="Constituents: count as evalb does, or parseval.", show_default="evalb"),
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", help="Constituents: exclude longer sentences.", min=1)
    ] = None,
    trees: Trees = None,
    tagger: Tagger = None,
    parser: Parser = None,
    samples: Annotated[
        int, typer.Option(help="The number of samples of the tests; more samples allow smaller p-values.", min=1)
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same samples.", min=0)] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Compare taggers or parsers, of dependencies, constituents or AMR, on the same sentences.

    The difference is B minus A: if it is positive, B is better. The interval and both
    p-values come from sampling sentences: paired bootstrap (one-sided: B is not better)
    and approximate randomization (two-sided: A and B do not differ). Of more than two,
    each is compared with the first one, and p-values have Holm's correction for their number.

    Examples:
      treewright compare old.tw new.tw test.conllu
      treewright compare supervised.tw dagger.tw lols.tw test.conllu
      treewright compare tagger.tw theirs.conllu gold.conllu --column upos
      treewright compare ours.conllu theirs.conllu gold.conllu --measure uas
      treewright compare ours.conllu theirs.conllu gold.conllu --json | jq .p_bootstrap
      treewright compare frequencies.tw max-margin.tw test.ptb
      treewright compare ours.amr theirs.amr gold.amr
      treewright compare supervised.tw v-dagger.tw test.amr --trees test.conllu
      treewright compare supervised.tw v-dagger.tw test.amr --tagger xpos.tw --parser parser.tw
    """
    if len(paths) < 3:
        raise ConfigError("name two or more models or annotations, and the gold annotation behind them")
    if paths.count("-") > 1:
        number = "three" if len(paths) == 3 else str(len(paths))
        raise ConfigError(f"standard input (-) can be only one of the {number}")
    *names, gold = paths
    _check_gold(names, gold)
    sides = [_side(path) for path in names]
    column = _common_column(sides, column)
    task = _common_task(sides, gold, of_labels=column is not None)
    if all(side.task is None for side in sides):
        check_for_models(trees, tagger, parser)
    measure = measure or task.measures[0]
    if measure not in task.measures:
        raise ConfigError(f"there is no measure {measure!r} for {task.name}; choose {' or '.join(task.measures)}")
    given = {
        "column": column,
        "subtypes": False if no_subtypes else None,
        "punctuation": False if no_punctuation else None,
        "rules": rules,
        "max_length": max_length,
    }
    options = scoring_options(task, given)
    shown = not as_json
    labels = options.get("column", "upos")
    right = task.read(gold, column=labels, trees=trees, shown=shown)
    task.check_gold(right, labels)
    if all(side.task is not None for side in sides):  # a file has the other sentences too
        right = task.chosen(right, options)
    first, *others = (_annotation(side, labels, right, tagger, parser, jobs, shown=shown) for side in sides)
    found = {
        name: task.compare(right, first, other, measure, **options, samples=samples, seed=seed)
        for name, other in zip(names[1:], others, strict=True)
    }
    if len(found) < len(others):
        raise ConfigError("a model or an annotation is there twice; name each once")
    if len(others) > 1:
        _show_many(names[0], gold, found, as_json)
        return
    [(b, values)] = found.items()
    if as_json:
        print_json({"a_name": names[0], "b_name": b, "gold": gold, **values})
        return
    _show(names[0], b, values)


def _check_gold(names: list[str], gold: str) -> None:
    """Raise an error if the last argument is a model; the gold annotation may stand in the place of one."""
    if is_annotation(gold):
        return
    from treewright.models import read_model

    with suppress(ModelError):
        read_model(found_model(gold), arrays=False)
        annotations = [name for name in names if is_annotation(name)]
        advice = ""
        if len(annotations) == 1:
            models = [name for name in (*names, gold) if name not in annotations]
            advice = f": treewright compare {shlex.join([*models, *annotations])}"
        raise ConfigError(f"{gold} is a model, and the gold annotation comes last{advice}")


class _Side(NamedTuple):
    """One of the two: a model with its task, or an annotation; ``kind`` is None if the suffix does not determine it."""

    path: str
    kind: str | None
    task: Task | None = None
    estimator: Any = None


def _side(path: str) -> _Side:
    if is_annotation(path):
        return _Side(path, annotation_kind(path))
    task, estimator = load_model(path)
    if not task.measures:
        raise ConfigError(f"{path}: this is a model for {task.name}; only taggers and parsers can be compared")
    return _Side(path, task.annotates, task, estimator)


def _common_column(sides: list[_Side], named: str | None) -> str | None:
    """The column of the taggers, or the one that is named; None if parsers are compared."""
    found = {side.estimator.column: side.path for side in sides if side.task is not None and side.kind == "tagging"}
    if named is not None:
        from treewright.tagging.base import COLUMN

        COLUMN.check(named)
        found = {**found, named: "--column"}
    if len(found) > 1:
        (one, first), (other, second) = found.items()
        raise ConfigError(f"{first} is about the column {one}, and {second} about {other}: give two of the same kind")
    return next(iter(found), None)


def _common_task(sides: list[_Side], gold: str, *, of_labels: bool) -> Task:
    """The common task of all; if they do not determine it, the name of the gold file does.

    A file in CoNLL-U is about dependencies, or about labels if those are compared.
    """
    kinds = {_kind(side, of_labels): side.path for side in sides if side.kind is not None}
    if len(kinds) > 1:
        (one, first), (other, second) = kinds.items()
        raise ConfigError(f"{first} is about {one}, and {second} about {other}: give two of the same kind")
    kind = next(iter(kinds), None) or ("tagging" if of_labels else annotation_kind(gold)) or "dependency"
    return TASKS[kind]


def _kind(side: _Side, of_labels: bool) -> str | None:
    return "tagging" if of_labels and side.task is None and side.kind == "dependency" else side.kind


def _annotation(
    side: _Side,
    column: str,
    gold: list[Sentence],
    taggers: list[Path] | None,
    parser: Path | None,
    jobs: int,
    *,
    shown: bool,
) -> list[Sentence]:
    """The annotation in a file, or a model's annotation of the gold sentences."""
    if side.task is None:
        return load(side.path, column=column, shown=shown)
    prepare = preparation(side.task, side.estimator, taggers, parser)
    return parse_all(side.task, side.estimator, prepare(gold, jobs), jobs, shown=shown)


def _show_many(a: str, gold: str, found: dict[str, dict[str, Any]], as_json: bool) -> None:
    """One row for each but the first, with p-values that are corrected for their number."""
    from treewright.metrics import holm

    bootstrap = holm({name: values["p_bootstrap"] for name, values in found.items()})
    randomization = holm({name: values["p_randomization"] for name, values in found.items()})
    if as_json:
        rows = [
            {"name": name, **values, "p_bootstrap_holm": bootstrap[name], "p_randomization_holm": randomization[name]}
            for name, values in found.items()
        ]
        print_json({"baseline": a, "gold": gold, "rows": rows})
        return
    first = next(iter(found.values()))
    table = [(a, percent(first["a"]), "", "", "", "")]
    for name, values in found.items():
        low, high = values.get("interval", (None, None))
        within = "" if low is None else f"{_signed(low)} to {_signed(high)}"
        p_values = f"{bootstrap[name]:.4f}", f"{randomization[name]:.4f}"
        table.append((name, percent(values["b"]), _signed(values["difference"]), within, *p_values))
    heads = ("", f"{first['measure'].upper()} %", "− first", "95% interval", "p, bootstrap", "p, randomization")
    stdout().print(make_table(None, heads, table))


def _show(a: str, b: str, values: dict[str, Any]) -> None:
    within = ""
    if "interval" in values:
        low, high = values["interval"]
        within = f"95% interval {_signed(low)} to {_signed(high)}"
    fewer, words = values["error_reduction"], values["tokens"] if "tokens" in values else values["words"]
    rows = [
        (
            f"A  {a}",
            percent(values["a"]),
            f"{several(words, 'word')} in {several(values['sentences'], 'sentence')}",
        ),
        (f"B  {b}", percent(values["b"]), ""),
        ("B − A", _signed(values["difference"]), within),
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
