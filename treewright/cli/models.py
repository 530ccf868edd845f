"""``treewright models``: the models that come with the library."""

from __future__ import annotations

from typing import Annotated

import typer

from treewright.cli.console import make_table, print_json, size_text, stdout
from treewright.cli.tasks.base import percent

__all__ = ["models"]


def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print the cards as one JSON object.")] = False,
) -> None:
    """List the bundled models: what they give, how large they are, their licence, command and scores.

    Examples:
      treewright models
      echo "Don't stop him!" | treewright parse english
    """
    from treewright.bundled import bundled_models
    from treewright.models import read_model

    found = {name: (path, read_model(path, arrays=False)) for name, path in bundled_models().items()}
    if as_json:
        print_json({name: {"file": str(path), **model.card} for name, (path, model) in found.items()}, pretty=True)
        return
    console = stdout()
    if not found:
        console.print("No models are bundled with this installation; train one: treewright train pipeline --help")
    for name, (path, model) in found.items():
        about = [
            ("  what", str(model.card.get("description", model.task))),
            ("  size", size_text(path.stat().st_size)),
            ("  licence", str(model.card.get("licence", "unknown"))),
            ("  made by", str(model.card.get("command", "unknown"))),
            *((f"  trained on {corpus}", licence) for corpus, licence in model.card.get("data", {}).items()),
            *((f"  {measure}", percent(score)) for measure, score in model.card.get("scores", {}).items()),
        ]
        console.print(make_table(name, ("", ""), about, left=2, header=False))
