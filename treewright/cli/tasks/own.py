"""Your own estimators on the command line, by ``module:Class``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from treewright.cli.console import make_table
from treewright.cli.tasks.base import Task, percent, sentence_json
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence

__all__ = ["OwnTask"]


class OwnTask(Task):
    """A task of an imported module, whose estimator is a :class:`~treewright.estimators.Estimator`."""

    formats = ("conllu", "json", "ptb", "amr")
    score_name = "score"

    def __init__(self, name: str) -> None:
        self.name = self.annotates = name  # type: ignore[misc]
        self.help = f"Train {name}."  # type: ignore[misc]
        self.estimator()  # an error here if the module is not imported, or has no such class

    def exercise(self, estimator: Any, sentence: Sentence) -> None:
        """Do nothing: sentences of the built-in corpus may not suit your own task."""

    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Accept everything: the estimator checks its own input."""

    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """CoNLL-U, brackets, graphs, or a JSON object on a line."""
        from treewright.corpora import format_sentence

        return partial(sentence_json, columns=()) if format == "json" else partial(format_sentence, format=format)

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """The estimator's own scores."""
        if estimator is None:
            raise ConfigError(f"an annotation cannot be scored for {self.name}; give a model")
        scores = estimator.evaluate(gold)
        low, high = scores.interval
        row = (scores.name, percent(scores.main), f"95% interval {percent(low)} to {percent(high)}")
        return scores.as_dict(), [make_table(None, ("score", "%", ""), [row])]
