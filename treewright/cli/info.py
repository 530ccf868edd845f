"""``treewright info``: the description in a model file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.bundled import found_model
from treewright.cli.config import params_toml
from treewright.cli.console import make_table, print_json, size_text, stdout
from treewright.cli.tasks import TASKS
from treewright.cli.tasks.base import percent

if TYPE_CHECKING:
    from treewright.models import ModelFile

__all__ = ["info"]

_COUNTED = ("bytes", "weights", "parameters", "symbols", "binary_rules", "unary_rules", "words")


def info(
    model: Annotated[Path, typer.Argument(help="The model file.", metavar="MODEL")],
    print_config: Annotated[
        bool,
        typer.Option("--print-config", help="Print the settings as TOML for `train TASK --config`, and exit."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Show the description in a model file.

    Only the header is read and checked, so the size of the model does not matter.

    Examples:
      treewright info model.tw
      treewright info model.tw --json | jq .card.corpora
      treewright info model.tw --print-config > again.toml
    """
    from treewright.models import read_model

    model = Path(found_model(model))
    header = read_model(model, arrays=False)
    known = TASKS.get(header.task)
    params = header.config.get("params", {})
    plain = params if known is None else known.plain_params(params, header.card)
    if print_config:
        print(params_toml(header.task, {"task": header.task}, plain))
        return
    learned = header.config.get("learned", {})
    shapes = {name: shape for name, (_, shape) in header.layout.items()}
    file = {
        "task": header.task,
        "bytes": model.stat().st_size,
        "weights": math.prod(shapes["weights"]) if "weights" in shapes else None,
        "labels": len(learned.get("labels", [])) or None,
        **{name: learned[name] for name in ("encoder", "parameters") if name in learned},
        **({} if known is None else known.describe(shapes)),
        "treewright": header.treewright,
        "format_version": header.format_version,
        "sha256": header.sha256,
    }
    if as_json:
        print_json({"model": str(model), **file, "params": params, "card": header.card}, pretty=True)
        return
    components = header.config.get("components", [])
    settings = {name: value for name, value in plain.items() if name != "learner"}
    origin = {name: value for name, value in header.card.items() if name not in (*settings, "components")}
    console = stdout()
    parts = {str(model): file, "settings": settings, "learner": params.get("learner", {}), "origin": origin}
    for title, values in parts.items():
        if rows := list(_rows(values)):
            console.print(make_table(title, ("", ""), rows, left=2, header=False))
            console.print()
    if components:
        heading = ("component", "learner", "size", "score", "")
        console.print(make_table("components", heading, list(_component_rows(header)), left=2))


def _component_rows(header: ModelFile) -> Iterator[tuple[str, str, str, str, str]]:
    """A row for each component of a pipeline: its task, its learner, its size, and its score on development data."""
    import numpy as np

    for number, (own, card) in enumerate(zip(header.config["components"], header.card["components"], strict=True)):
        arrays = [layout for name, layout in header.layout.items() if name.startswith(f"{number}/")]
        size = sum(np.dtype(kind).itemsize * math.prod(shape) for kind, shape in arrays)
        measure, score = next(iter(card.get("scores", {}).items()), ("", None))
        learner = own["params"].get("learner") or {}
        yield f"  {own['task']}", learner.get("name", "–"), size_text(size), percent(score), measure


def _rows(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """All names and values; nested names are joined, as in ``update.name``."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"  {prefix}{name}", _text(value, name in _COUNTED, prefix.startswith("scores."))


def _text(value: Any, is_count: bool, is_score: bool) -> str:
    """A value as text; scores are in per cent."""
    if is_score and isinstance(value, float):
        return percent(value)
    return f"{value:,}" if is_count else str(value)
