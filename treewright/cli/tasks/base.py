"""The base class of what the command line knows about tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from treewright.cli.settings import LEARNING, Setting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence

__all__ = ["Task"]


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
    """The formats that ``parse`` can write."""

    def learning_settings(self) -> list[Setting]:
        """The settings of the learner and its update, with the defaults that this task shows."""
        return [replace(s, default=self.learner_defaults.get(s.parameter, "")) for s in LEARNING]

    @abstractmethod
    def estimator(self) -> type[Any]:
        """The estimator's class; it is imported here and not earlier."""

    @abstractmethod
    def parse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> list[Sentence]:
        """Annotate some sentences."""

    @abstractmethod
    def check_gold(self, estimator: Any, gold: Sequence[Sentence]) -> None:
        """Raise :class:`~treewright.errors.CorpusError` if a corpus lacks what scores are computed from."""

    @abstractmethod
    def writer(self, estimator: Any, format: str) -> Callable[[Sentence], str]:
        """How annotated sentences become text, in one of ``formats``."""

    @abstractmethod
    def score(
        self, estimator: Any, gold: Sequence[Sentence], parsed: Sequence[Sentence]
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """The scores of parsed sentences, as plain values and as what to show."""
