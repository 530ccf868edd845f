"""``treewright evaluate``: how good is a model?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treewright.cli.console import Bar, patience_while_compiling, print_json, stdout
from treewright.cli.streams import batched, load
from treewright.cli.tasks import load_model

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[Path, typer.Argument(help="The model file.", metavar="MODEL")],
    test: Annotated[str, typer.Argument(help="A corpus with the right annotation.", metavar="TEST")],
    input_format: Annotated[str, typer.Option("--input-format", help="auto, conllu, tabular or text.")] = "auto",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Compare a model's annotation with the right one.

    Labels that the model has never seen count as errors.

    Examples:
      treewright evaluate model.tw test.conllu
      treewright evaluate model.tw test.conllu --json | jq .accuracy
    """
    task, estimator = load_model(model)
    gold = load(test, input_format, column=getattr(estimator, "column", "upos"), shown=not as_json)
    task.check_gold(estimator, gold)
    with patience_while_compiling(shown=not as_json):
        task.parse(estimator, gold[:1], 1)
    parsed: list[Sentence] = []
    with Bar(shown=not as_json) as bar:
        for batch in batched(gold):
            parsed += task.parse(estimator, batch, jobs)
            bar.update("parsing", len(parsed), len(gold))
    scores, shown = task.score(estimator, gold, parsed)
    if as_json:
        print_json({"model": str(model), "test": test, "task": task.name, **scores})
        return
    console = stdout()
    for part in shown:
        console.print(part, markup=False)
