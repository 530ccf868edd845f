"""What a parser needs and sentences may lack: tags, lemmas, dependency trees, from models of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.tasks import Task
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["Parser", "Tagger", "Trees", "preparation"]

Tagger = Annotated[
    list[Path] | None,
    typer.Option(
        "--tagger",
        help="Parsers of dependencies and of AMR: tag untagged words with this model first; one for each column.",
        metavar="MODEL",
        show_default=False,
    ),
]
Parser = Annotated[
    Path | None,
    typer.Option(
        "--parser",
        help="Parsers of AMR: make the dependency trees with this model where there are none.",
        metavar="MODEL",
        show_default=False,
    ),
]
Trees = Annotated[
    str | None,
    typer.Option(
        "--trees",
        help="AMR: lemmas, tags and dependency trees of the same sentences, in CoNLL-U.",
        metavar="FILE.conllu",
        show_default=False,
    ),
]


def preparation(
    task: Task, estimator: Any, taggers: Sequence[Path] | None, parser: Path | None
) -> Callable[[Sequence[Sentence], int], list[Sentence]]:
    """How sentences get what the estimator needs, in some threads; without other models they stay as they are."""
    for option, given in (("tagger", taggers), ("parser", parser)):
        if given and option not in task.made_from:
            raise ConfigError(f"--{option} has no meaning for {task.name}; leave it out")
    if not taggers and parser is None:
        return lambda sentences, jobs: list(sentences)
    from treewright.pipeline import Pipeline

    models = [_load(path, ("tagging", "viterbi"), "a tagger") for path in taggers or ()]
    trees = None if parser is None else _load(parser, ("dependency", "eisner"), "a dependency parser")
    row = Pipeline(models, trees, getattr(estimator, "lemmas_", None))
    return lambda sentences, jobs: row.annotate(sentences, jobs=jobs)


def _load(path: Path, tasks: tuple[str, ...], wanted: str) -> Any:
    from treewright.loading import load

    model = load(path)
    if model.task not in tasks:
        raise ConfigError(f"{path}: this is a model for {model.task}; give {wanted}")
    return model
