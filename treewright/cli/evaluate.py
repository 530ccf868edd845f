"""``treewright evaluate``: how good is a model?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewright.cli.console import print_json, stdout
from treewright.cli.tasks import load_model

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[Path, typer.Argument(help="The model file.", metavar="MODEL")],
    test: Annotated[Path, typer.Argument(help="A corpus with the right annotation.", metavar="TEST")],
    input_format: Annotated[
        str, typer.Option("--input-format", help="auto, conllu, tabular or text.")
    ] = "auto",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Compare a model's annotation with the right one.

    Labels that the model has never seen count as errors.

    Examples:
      treewright evaluate model.tw test.conllu
      treewright evaluate model.tw test.conllu --json | jq .accuracy
    """
    from treewright.corpora import load_corpus

    task, estimator = load_model(model)
    scores, shown = task.evaluate(estimator, load_corpus(test, input_format), jobs)
    if as_json:
        print_json({"model": str(model), "test": str(test), "task": task.name, **scores})
        return
    console = stdout()
    for part in shown:
        console.print(part, markup=False)
