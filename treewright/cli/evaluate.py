"""``treewright evaluate``: the scores of a model or of an annotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.console import Bar, print_json, stdout
from treewright.cli.preparing import Parser, Tagger, Trees, check_for_models, preparation
from treewright.cli.streams import batched, load
from treewright.cli.tasks import TASKS, Task, load_model
from treewright.cli.tasks.pipeline import score_table
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["annotation_kind", "evaluate", "is_annotation", "parse_all", "scoring_options"]

_ANNOTATIONS = {
    ".conllu": "dependency",
    ".conll": "dependency",
    ".tsv": "tagging",
    ".tab": "tagging",
    ".ptb": "constituency",
    ".mrg": "constituency",
    ".amr": "amr",
    ".penman": "amr",
}
_LAYER_FORMATS = {"constituency": "ptb", "amr": "penman"}  # layers of a pipeline that CoNLL-U does not have
_OPTIONS = {
    "column": "--column",
    "subtypes": "--no-subtypes",
    "punctuation": "--no-punctuation",
    "rules": "--rules",
    "max_length": "--max-length",
}


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            help="The model file; or an annotation to compare: .conllu, .conll, .tsv, .tab, .ptb, .mrg, .amr, "
            ".penman, or - for standard input.",
            metavar="MODEL",
        ),
    ],
    test: Annotated[str, typer.Argument(help="A corpus with the gold annotation.", metavar="TEST")],
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            help="What to compare in an annotation: dependency, tagging, constituency or amr.",
            show_default="by the suffix; dependency for CoNLL-U",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option("--column", help="With --task tagging: the column to compare.", show_default="upos"),
    ] = None,
    no_subtypes: Annotated[
        bool, typer.Option("--no-subtypes", help="Dependencies: compare relations without what follows a colon.")
    ] = False,
    no_punctuation: Annotated[
        bool, typer.Option("--no-punctuation", help="Dependencies: exclude punctuation from all scores.")
    ] = False,
    rules: Annotated[
        str | None,
        typer.Option("--rules", help="Constituents: count as evalb does, or parseval.", show_default="evalb"),
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", help="Constituents: exclude longer sentences.", min=1)
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="A pipeline: analyse the raw text of the corpus. Two CoNLL-U files: analyses of the same text, whose "
            "tokens and sentences may differ. Both by the rules of CoNLL 2018.",
        ),
    ] = False,
    trees: Trees = None,
    tagger: Tagger = None,
    parser: Parser = None,
    input_format: Annotated[
        str, typer.Option("--input-format", help="auto, conllu, tabular, text, ptb or amr.")
    ] = "auto",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Score a model's annotation, or an annotated file, against the gold annotation.

    Labels that do not occur in the training data count as errors.

    Examples:
      treewright evaluate model.tw test.conllu
      treewright evaluate model.tw test.conllu --json | jq .accuracy
      treewright evaluate parsed.conllu gold.conllu --no-subtypes
      treewright evaluate tagged.conllu gold.conllu --task tagging --column xpos
      treewright evaluate trees.tw test.ptb --max-length 40
      treewright evaluate parsed.ptb gold.ptb --rules parseval
      treewright evaluate amr.tw test.amr --trees test.conllu
      treewright evaluate amr.tw test.amr --tagger xpos.tw --parser parser.tw
      treewright evaluate parsed.amr gold.amr
      treewright evaluate pipeline.conllu gold.conllu --raw
    """
    if raw:
        _evaluate_raw(model, test, jobs, as_json)
        return
    given: dict[str, Any] = {
        "column": column,
        "subtypes": False if no_subtypes else None,
        "punctuation": False if no_punctuation else None,
        "rules": rules,
        "max_length": max_length,
    }
    if is_annotation(model) or (task is not None and Path(model).suffix.lower() == ".txt"):
        if model == test == "-":
            raise ConfigError("standard input (-) can be only one of the two")
        check_for_models(trees, tagger, parser)
        known = _task(task or annotation_kind(model) or annotation_kind(test) or "dependency")
        options = scoring_options(known, given)
        compared = options.get("column", "upos")
        parsed = known.read(model, input_format, column=compared, shown=not as_json)
        gold = known.read(test, input_format, column=compared, shown=not as_json)
        known.check_gold(gold, compared)
        scores, shown = known.score(None, gold, parsed, **options)
    else:
        layer = task or annotation_kind(test)
        known, estimator = load_model(model, _LAYER_FORMATS.get(layer or "", "conllu"))
        of_layer = known.name == "pipeline" and layer in _LAYER_FORMATS and layer in estimator.gives
        if task is not None and task != known.name and not of_layer:
            raise ConfigError(f"{model}: this is a model for {known.name}, not for {task}; leave out --task")
        if column is not None:
            raise ConfigError(f"{model}: a model knows its column; leave out --column")
        # of a pipeline, a file of trees or graphs scores those that it makes of the words
        scorer, scored = (_task(layer), None) if of_layer and layer else (known, estimator)
        options = scoring_options(scorer, given)
        options.pop("column", None)
        compared = getattr(estimator, "column", "upos")
        gold = scorer.read(test, input_format, column=compared, trees=trees, shown=not as_json)
        scorer.check_gold(gold, compared)
        gold = scorer.chosen(gold, options)
        prepare = preparation(known, estimator, tagger, parser)
        counts: Counter[str] = Counter()
        parsed = parse_all(known, estimator, prepare(gold, jobs), jobs, shown=not as_json, counts=counts)
        scores, shown = scorer.score(scored, gold, parsed, **options, **counts)
    if as_json:
        print_json({"model": model, "test": test, "task": known.name, **scores})
        return
    console = stdout()
    for part in shown:
        console.print(part, markup=False)


def _evaluate_raw(system: str, test: str, jobs: int, as_json: bool) -> None:
    """Score an analysis of raw text, or a pipeline, against a treebank."""
    from treewright.metrics.conll18 import score_raw_text

    is_file = system == "-" or Path(system).suffix.lower() in (".conllu", ".conll")
    if test != "-" and Path(test).suffix.lower() not in (".conllu", ".conll"):
        raise ConfigError(f"{test}: --raw compares with a CoNLL-U file")
    if system == test == "-":
        raise ConfigError("standard input (-) can be only one of the two")
    gold = load(test, "conllu", shown=not as_json)
    if is_file:
        scores = score_raw_text(gold, load(system, "conllu", shown=not as_json))
    else:
        from treewright.pipeline import Pipeline

        known, model = load_model(system, "conllu")
        pipeline = model if known.name == "pipeline" else Pipeline([model])
        if pipeline.tokenizer is None:
            raise ConfigError(f"{system}: a model for {known.name} without a tokenizer cannot analyse raw text")
        scores = pipeline.evaluate(gold, raw=True, jobs=jobs)
    if as_json:
        print_json({"system": system, "test": test, **{name: score.as_dict() for name, score in scores.items()}})
        return
    stdout().print(score_table(scores))


def is_annotation(path: str) -> bool:
    """Whether a file is an annotation and not a model, by its suffix."""
    return path == "-" or Path(path).suffix.lower() in _ANNOTATIONS


def annotation_kind(path: str) -> str | None:
    """The kind of an annotation by the suffix of its file; None for other files."""
    return _ANNOTATIONS.get(Path(path).suffix.lower())


def parse_all(
    task: Task,
    estimator: Any,
    sentences: Sequence[Sentence],
    jobs: int,
    *,
    shown: bool,
    counts: Counter[str] | None = None,
) -> list[Sentence]:
    """Annotate sentences in memory, with a progress bar if it takes long.

    The counts of the task are added to ``counts``.
    """
    parsed: list[Sentence] = []
    with Bar(shown=shown) as bar:
        bar.begin("parsing", len(sentences))
        for batch in batched(sentences):
            annotated, counted = task.analyse(estimator, batch, jobs)
            parsed += annotated
            if counts is not None:
                counts.update(counted)
            bar.update("parsing", len(parsed), len(sentences))
    return parsed


def _task(name: str) -> Task:
    if name not in TASKS:
        raise ConfigError(f"there is no task {name!r}; there are: {', '.join(TASKS)}")
    return TASKS[name]


def scoring_options(task: Task, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a task, with the given values; options of other tasks must not be given."""
    usual = {"column": "upos", "subtypes": True, "punctuation": True, "rules": "evalb", "max_length": None}
    for name, value in given.items():
        if value is not None and name not in task.scoring:
            raise ConfigError(f"{_OPTIONS[name]} has no meaning for {task.name}; leave it out")
    return {name: usual[name] if given.get(name) is None else given[name] for name in task.scoring}
