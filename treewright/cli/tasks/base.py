"""The base class of what the command line knows about tasks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from treewright.cli.settings import LEARNING, Setting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence

__all__ = ["Task", "percent", "sentence_json"]


class Task(ABC):
    """One task: its settings, its estimator, and how its results are written and shown."""

    name: ClassVar[str]
    help: ClassVar[str]
    """The help of ``treewright train NAME``."""
    settings: ClassVar[tuple[Setting, ...]]
    """The estimator's settings, all but the learner."""
    default_learner: ClassVar[str]
    learner_defaults: ClassVar[dict[str, str]]
    """What the help shows as defaults of the learner's options, by parameter; the library knows them."""
    score_name: ClassVar[str]
    """What the score on development data is called."""
    formats: ClassVar[tuple[str, ...]]
    """The formats that ``parse`` can write; the first is taken where that of the input is not among them."""
    one_a_file: ClassVar[tuple[str, ...]] = ()
    """Those of them of which a file holds no more than one sentence."""
    scoring: ClassVar[tuple[str, ...]] = ()
    """The options of ``evaluate`` that :meth:`score` knows."""

    def learning_settings(self) -> list[Setting]:
        """The settings of the learner and its update, with the defaults that this task shows."""
        return [replace(s, default=self.learner_defaults.get(s.parameter, "")) for s in LEARNING]

    def params(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings as the estimator takes them, from what the command line or a file says."""
        return dict(values)

    @abstractmethod
    def estimator(self) -> type[Any]:
        """The estimator's class; it is imported here and not earlier."""

    @abstractmethod
    def parse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> list[Sentence]:
        """Annotate some sentences."""

    @abstractmethod
    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Raise :class:`~treewright.errors.CorpusError` if a corpus lacks what scores are computed from."""

    @abstractmethod
    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """How annotated sentences become text, in one of ``formats``; ``width`` is that of a terminal to fit."""

    def frame(self, format: str) -> tuple[str, str]:
        """What stands before the first sentence and after the last one."""
        return "", ""

    @abstractmethod
    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """The scores of parsed sentences, as plain values and as what to show.

        The estimator is None where somebody else parsed them.
        """


def percent(value: float | None) -> str:
    """A score as people read it.

    >>> percent(0.98765), percent(None)
    ('98.77', '–')
    """
    return "–" if value is None else f"{100 * value:.2f}"


def sentence_json(sentence: Sentence, columns: Sequence[str]) -> str:
    """An object on a line, with these columns and all others that are filled in."""
    tokens = [
        {"form": token.form, **{name: getattr(token, name) for name in columns}}
        | {name: value for name, value in token._asdict().items() if value not in ("_", None)}
        for token in sentence.tokens
    ]
    about = {"comments": list(sentence.comments)} if sentence.comments else {}
    return json.dumps({**about, "tokens": tokens}, ensure_ascii=False) + "\n"
