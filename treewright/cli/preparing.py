"""Other models that add annotation which a parser needs and sentences lack: tags, lemmas, dependency trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.tasks import Task
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence
    from treewright.pipeline import Pipeline

__all__ = ["Parser", "Tagger", "Trees", "check_for_models", "pipeline_of", "preparation"]


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
        help="Parsers of AMR: make the dependency trees with this model where there are none; a parser or a pipeline.",
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


def check_for_models(trees: str | None, taggers: Sequence[Path] | None, parser: Path | None) -> None:
    """Raise :class:`ConfigError` if any of these options is given although nothing is parsed."""
    if trees or taggers or parser:
        raise ConfigError("--trees, --tagger and --parser are for models, which parse; leave them out")


def preparation(
    task: Task, estimator: Any, taggers: Sequence[Path] | None, parser: Path | None
) -> Callable[[Sequence[Sentence], int], list[Sentence]]:
    """A function that adds the annotation that the estimator needs; without other models, it changes nothing.

    A model file may include the models with which it was trained. The function warns if the sentences lack tags that
    the estimator was trained with.
    """
    from treewright.corpora.columns import TAGS

    for option, given in (("tagger", taggers), ("parser", parser)):
        if given and option not in task.made_from:
            raise ConfigError(f"--{option} has no meaning for {task.name}; leave it out")
    expected = [column for column in (() if task.name == "pipeline" else estimator.needs()) if column in TAGS]
    estimator.warns = False  # the command line has its own warning, which names options
    if hasattr(estimator, "lemmas_"):  # it does not need lemmas in the input
        expected = [column for column in expected if column != "lemma"]
    companions = getattr(estimator, "companions_", [])
    if not taggers and parser is None and companions:
        from treewright.pipeline import Pipeline

        own = Pipeline.from_models(companions, getattr(estimator, "lemmas_", None))
        return lambda sentences, jobs: own.annotate(sentences, jobs=jobs)
    if not taggers and parser is None:
        cure = "tagger" in task.made_from
        return lambda sentences, jobs: _warn_of_missing(expected, list(sentences), tagged=True, cure=cure)
    row = pipeline_of(taggers, parser, getattr(estimator, "lemmas_", None))
    others = [column for column in expected if column not in row.gives]
    return lambda sentences, jobs: _warn_of_missing(others, row.annotate(sentences, jobs=jobs))


def pipeline_of(taggers: Sequence[Path] | None, parser: Path | None, lemmas: Any) -> Pipeline:
    """The pipeline of models in files; each of them may be a pipeline itself, such as ``english``."""
    from treewright.pipeline import Pipeline

    models = [_load(path, ("tagging", "morphology"), "a tagger") for path in taggers or ()]
    trees = None if parser is None else _load(parser, ("dependency",), "a dependency parser")
    return Pipeline(models, trees, lemmas)


def _warn_of_missing(
    expected: Iterable[str], sentences: list[Sentence], tagged: bool = False, cure: bool = True
) -> list[Sentence]:
    """The sentences, after one warning about all empty columns that the model expects.

    If words are ``tagged``, missing features are not reported, because many words have none. ``cure`` says whether the
    model can be used with ``--tagger``.
    """
    from treewright.corpora.columns import filled_columns

    filled = filled_columns(sentences)
    missing = [column for column in expected if column not in filled] if any(map(len, sentences)) else []
    tags = [column for column in missing if column != "lemma"]
    if tagged and tags == ["feats"]:
        tags = []
    lemmas = "lemma" in missing
    if tags:
        columns = " and ".join(tags)
        models = f", with {' '.join(f'--tagger {column}.tw' for column in tags)}" if cure else ""
        warnings.warn(
            f"the words have no tags ({columns}){' and no lemmas' if lemmas else ''}, and the model was trained with "
            f"them: what it makes of such words is poor; tag them first{models}, or use a pipeline, which makes "
            "all of it: treewright train pipeline --help",
            stacklevel=2,
        )
    elif lemmas:
        warnings.warn(
            "the words have no lemmas, and the model was trained with them: it is worse without; give lemmas, train "
            "a model on words without any, or use a pipeline: treewright train pipeline --help",
            stacklevel=2,
        )
    return sentences


def _load(path: Path, kinds: Sequence[str], wanted: str) -> Any:
    """A model of one of the kinds of annotation; of a pipeline, all components that words need for it."""
    from treewright.loading import load
    from treewright.pipeline import Pipeline

    model = load(path, without=[layer for layer in ("dependency", "constituency", "amr") if layer not in kinds])
    is_pipeline = isinstance(model, Pipeline)
    components = model.components if is_pipeline else [model]
    if not any(each.annotates in kinds for each in components):
        raise ConfigError(f"{path}: this is a model for {model.task}; give {wanted}, or a pipeline that has one")
    return model.without("words") if is_pipeline else model
