"""The outer loop of all training: passes, the best pass on development data, and checkpoints.

A :class:`Learnable` defines a pass. :func:`run` calls it repeatedly, scores the result, keeps the best, writes
checkpoints and reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners import checkpoints
from treewright.learners.checkpoints import Arrays, Fingerprint
from treewright.search.compilation import watching

__all__ = ["Learnable", "Pass", "TrainedWeights", "best_score", "run", "run_weights"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pass:
    """A report on one iteration. ``loss`` is the mean cost per decision of the actions that the policy preferred.

    With beam search, ``loss`` is the loss of the best hypothesis per decision, and ``examples`` are the sentences with
    a search error, which caused an update. In inverse reinforcement learning, ``loss`` is the dissimilarity J,
    ``decisions`` are the plans that were compared and ``examples`` the updates.
    """

    iteration: int
    beta: float
    loss: float
    decisions: int
    examples: int
    seconds: float  # without compilation
    score: float | None = None
    best: bool = False


Row = TypeVar("Row", bound=Pass)
Learned = TypeVar("Learned")
Learned_co = TypeVar("Learned_co", covariant=True)


def best_score(history: Iterable[Pass]) -> float | None:
    """Return the best score of all iterations; None if there are no scores."""
    return max((row.score for row in history if row.score is not None), default=None)


class Learnable(Protocol[Learned_co]):
    """The state of a learner between two iterations, which passes change."""

    def advance(self, iteration: int) -> dict[str, Any]:
        """Learn for one iteration (1, 2, …) and return the fields of its :class:`Pass`."""

    def current(self) -> Learned_co:
        """Return the current model for scoring; it may change later."""

    def keep(self, score: float | None, best: bool) -> None:
        """Keep the current model if it is the best; ``score`` is None without scoring."""

    def arrays(self, folder: Path) -> Arrays:
        """Return everything that the next iteration depends on, and the best model so far.

        Data that grow from iteration to iteration may be written to separate files in ``folder``
        (:func:`~treewright.learners.checkpoints.save_arrays`).
        """

    def restore(self, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
        """Restore the state that :meth:`arrays` returned."""


_LARGE = 20_000_000  # bytes; smaller states are stored after each iteration
_WRITING_SHARE = 10


def run(
    learnable: Learnable[Learned],
    iterations: int,
    row: type[Row],
    *,
    fingerprint: Callable[[], Fingerprint],
    evaluate: Callable[[Learned], float] | None = None,
    patience: int | None = None,
    report: Callable[[Row], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> list[Row]:
    """Run a number of iterations, and return a ``row`` for each of them.

    ``evaluate`` scores the model after each iteration; higher is better, and without it the last is the best.
    With ``patience``, training ends after this number of iterations in a row without an improvement.
    With ``checkpoint``, a folder, the state after each iteration is stored there, and ``resume`` continues from it, if
    it has the same ``fingerprint`` and not more iterations: the result is the same to the bit as without the
    interruption. A large state is stored after some of the iterations only, so that writing takes a tenth of the time
    at most.
    """
    history = list[Row]()
    due = 0.0  # when the next checkpoint may be written
    known = {} if checkpoint is None else {**fingerprint(), **checkpoints.judged_by(evaluate)}
    if checkpoint is not None and resume:
        found = checkpoints.load_state(checkpoint, known)
        if found is not None:
            history = [row(**fields) for fields in found[0]]
            if len(history) > iterations:
                raise ConfigError(
                    f"{checkpoint} has {len(history)} passes already, and {iterations} are wanted: resume with at "
                    f"least {len(history)}, or train without resuming"
                )
            learnable.restore(found[1], checkpoint)
    if checkpoint is not None and not history:  # nothing of another training may be left, even if it was killed
        checkpoints.clear(checkpoint)
        checkpoint.mkdir(parents=True, exist_ok=True)  # as long as it exists, training is not finished
    for iteration in range(len(history) + 1, iterations + 1):
        if patience is not None and len(history) >= patience and not any(row.best for row in history[-patience:]):
            break
        started = time.perf_counter()
        with watching() as compilation:
            done = learnable.advance(iteration)
        seconds = max(0.0, time.perf_counter() - started - compilation.seconds)
        score = None if evaluate is None else float(evaluate(learnable.current()))
        best_before = best_score(history)
        best = score is None or best_before is None or score > best_before
        learnable.keep(score, best)
        history.append(row(**{**done, "iteration": iteration, "seconds": seconds, "score": score, "best": best}))
        if checkpoint is not None and time.perf_counter() >= due:
            begun = time.perf_counter()
            rows = [asdict(each) for each in history]
            arrays = learnable.arrays(checkpoint)
            checkpoints.save_state(checkpoint, known, rows, arrays)
            ended = time.perf_counter()
            is_large = sum(array.nbytes for array in arrays.values()) > _LARGE
            due = ended + _WRITING_SHARE * (ended - begun) if is_large else 0.0
        if report is not None:
            report(history[-1])
    return history


# ---- weights, for inverse reinforcement learning and reinforcement learning


@dataclass
class TrainedWeights(Generic[Row]):
    """The final weights (the best on development data, if there was a score), and the history of training."""

    weights: Floats
    history: list[Row]


class Weighted(Protocol):
    """Weights in training, and everything else that the next update depends on."""

    def weights(self) -> Floats:
        """Return the current weights for prediction."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that the next update depends on."""

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the result of :meth:`arrays`."""


class _Weights:
    """A :class:`Learnable` of weights: ``one_pass(k)`` changes them."""

    def __init__(self, learned: Weighted, one_pass: Callable[[int], dict[str, Any]]) -> None:
        self.learned, self.advance = learned, one_pass
        self.best: Floats | None = None

    def current(self) -> Floats:
        return self.learned.weights()

    def keep(self, score: float | None, best: bool) -> None:
        if best:
            self.best = self.learned.weights().copy()

    def arrays(self, folder: Path) -> Arrays:
        assert self.best is not None
        return {**self.learned.arrays(), "best": self.best}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
        self.best = arrays.pop("best")
        self.learned.restore(arrays)


def run_weights(
    learned: Weighted, one_pass: Callable[[int], dict[str, Any]], passes: int, row: type[Row], **running: Any
) -> TrainedWeights[Row]:
    """Run ``one_pass(k)`` for k = 1, 2, …, each of which changes ``learned`` and returns the fields of its ``row``.

    ``running`` are the keyword arguments of :func:`run`.
    """
    weights = _Weights(learned, one_pass)
    history = run(weights, passes, row, **running)
    assert weights.best is not None
    return TrainedWeights(weights.best, history)
