"""What all estimators share: scikit-learn's manners, and saving to one file.

The constructor only stores its arguments; ``fit`` learns and sets the attributes that end in an underscore.
"""

from __future__ import annotations

import datetime
import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict

from treewright.corpora import Sentence
from treewright.errors import ConfigError, ModelError, TreewrightError
from treewright.learners.imitation import Learner, make_learner
from treewright.learners.training import Pass, best_score
from treewright.models import ModelFile, library_versions, read_model, write_model
from treewright.settings import whole_number

__all__ = ["Corpus", "Estimator", "NotFittedError", "Running"]

Corpus = str | os.PathLike[str] | Iterable[Sentence]
"""Sentences, or the path of a file of them."""


class NotFittedError(TreewrightError):
    """The estimator has learned nothing yet."""


class Running(TypedDict):
    """How learning is run and watched: the arguments of ``fit`` that are passed on to training."""

    jobs: int
    report: Callable[[Pass], None] | None
    progress: Callable[[str, int, int], None] | None
    checkpoint: Path | None
    resume: bool


class Estimator:
    """Base class of :class:`~treewright.tagging.Tagger` and the parsers.

    A subclass says its ``task``, how it learns (``_check_settings`` and ``_fit``), and how what it learned becomes
    arrays and settings and is restored from them (``_learned`` and ``_restore``).
    """

    task: ClassVar[str] = ""
    learner: str | Learner | dict[str, Any]
    card_: dict[str, Any]
    history_: list[Pass]

    @classmethod
    def _param_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in self._param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; takes effect at the next ``fit``."""
        known = self._param_names()
        for name, value in params.items():
            if name not in known:
                raise ConfigError(f"{type(self).__name__} has no setting {name!r}; it has: {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {n: v for n, v in self.get_params().items() if v != defaults[n].default}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in changed.items())})"

    def resolved_config(self) -> dict[str, Any]:
        """Every setting, with the learner's choices spelled out: what a model file records."""
        return {**self.get_params(), "learner": make_learner(self.learner).params()}

    def fit(
        self,
        corpus: Corpus,
        dev: Corpus | None = None,
        *,
        jobs: int = 1,
        report: Callable[[Pass], None] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from a corpus: sentences, or the path of a file. With ``dev``, the pass that is best there is kept.

        ``report`` receives each pass, ``progress`` (stage, done, total) all along. ``checkpoint`` is a folder for what
        must survive an interruption, and ``resume`` goes on from what is there. The result depends on neither, and not
        on ``jobs``, the number of threads.
        """
        self._check_settings()
        jobs = whole_number("jobs", jobs, 1)
        running = Running(jobs=jobs, report=report, progress=progress, checkpoint=checkpoint, resume=resume)
        self._fit(corpus, dev, running)
        return self

    def _check_settings(self) -> None:
        raise NotImplementedError

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        raise NotImplementedError

    def _dev_score(self, name: str) -> dict[str, float]:
        """The best score on development data, by its name; nothing where there are none."""
        best = best_score(self.history_)
        return {} if best is None else {name: best}

    def _check_fitted(self) -> None:
        if not hasattr(self, "card_"):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call fit, or load a model")

    def _make_card(self, corpora: dict[str, str], scores: dict[str, Any]) -> dict[str, Any]:
        return {
            "seed": getattr(self, "seed", 0),
            "corpora": corpora,
            "scores": scores,
            "libraries": library_versions(),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model to one file, whole or not at all."""
        self._check_fitted()
        settings, arrays = self._learned()
        config = {"params": self.resolved_config(), "learned": settings}
        write_model(path, task=self.task, config=config, arrays=arrays, card=self.card_)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; no code in the file is executed."""
        return cls.from_model(read_model(path, expect_task=cls.task))

    @classmethod
    def from_model(cls, model: ModelFile) -> Self:
        """The estimator that a model file holds."""
        try:
            estimator = cls(**model.config["params"])
            estimator._restore(model.config["learned"], model.arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"this is a model file, but not one that this {cls.__name__} understands ({error!r}): it was written "
                f"by Treewright {model.treewright}; train it again, or use that version"
            ) from error
        estimator.card_ = dict(model.card)
        return estimator

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        raise NotImplementedError

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        raise NotImplementedError
