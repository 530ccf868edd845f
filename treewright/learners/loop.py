"""The outer loop of all training: passes, the best of them on development data, and what survives Ctrl-C.

What a pass does is the affair of a :class:`Learnable`. :func:`run` calls it again and again, scores what it has
learned, keeps the best, writes checkpoints and reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.learners import checkpoints
from treewright.learners.checkpoints import Arrays, Fingerprint

__all__ = ["Learnable", "Pass", "TrainedWeights", "best_score", "run", "run_weights"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pass:
    """What one iteration did. ``loss`` is the mean cost, a decision, of what the policy preferred while learning.

    With beam search, ``loss`` is that of the beam's best, a decision, and ``examples`` are the sentences where the
    search went wrong, so that there was something to learn. In inverse reinforcement learning, ``loss`` is the
    dissimilarity J, ``decisions`` are the plans that were compared and ``examples`` the updates.
    """

    iteration: int
    beta: float
    loss: float
    decisions: int
    examples: int
    seconds: float
    score: float | None = None
    best: bool = False


Row = TypeVar("Row", bound=Pass)
Learned = TypeVar("Learned")
Learned_co = TypeVar("Learned_co", covariant=True)


def best_score(history: Iterable[Pass]) -> float | None:
    """Return the best score of an iteration; None where none has one."""
    return max((row.score for row in history if row.score is not None), default=None)


class Learnable(Protocol[Learned_co]):
    """What passes change: the state of a learner between two iterations."""

    def advance(self, iteration: int) -> dict[str, Any]:
        """Learn for one iteration (1, 2, …) and return the fields of its :class:`Pass` that tell what it did."""

    def current(self) -> Learned_co:
        """Return what is learned so far, as the score takes it; it may go on learning afterwards."""

    def keep(self, score: float | None, best: bool) -> None:
        """Remember what is learned so far if it is the best; ``score`` is None where nothing is scored."""

    def arrays(self, folder: Path) -> Arrays:
        """Return all that the next iteration depends on, and the best so far.

        What grows from iteration to iteration may go to files of its own in ``folder``
        (:func:`~treewright.learners.checkpoints.save_arrays`).
        """

    def restore(self, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
        """Go back to the state that :meth:`arrays` returned."""


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
    """Run a number of iterations, and return what each of them did as a ``row``.

    ``evaluate`` scores what is learned after each iteration; higher is better, and without it the last is the best.
    With ``patience``, training ends after that many iterations in a row none of which was the best.
    With ``checkpoint``, a folder, the state after each iteration is kept there, and ``resume`` goes on from it, if it
    has the same ``fingerprint``: the result is the same to the bit as without the interruption.
    """
    history = list[Row]()
    known = {} if checkpoint is None else {**fingerprint(), **checkpoints.judged_by(evaluate)}
    if checkpoint is not None and resume:
        found = checkpoints.load_state(checkpoint, known)
        if found is not None:
            history = [row(**fields) for fields in found[0]]
            learnable.restore(found[1], checkpoint)
    if checkpoint is not None and not history:  # nothing of another training may be left, even if it was killed
        checkpoints.clear(checkpoint)
        checkpoint.mkdir(parents=True, exist_ok=True)  # as long as it exists, training is not finished
    for iteration in range(len(history) + 1, iterations + 1):
        if patience is not None and len(history) >= patience and not any(row.best for row in history[-patience:]):
            break
        started = time.perf_counter()
        done = learnable.advance(iteration)
        seconds = time.perf_counter() - started
        score = None if evaluate is None else float(evaluate(learnable.current()))
        best_before = best_score(history)
        best = score is None or best_before is None or score > best_before
        learnable.keep(score, best)
        history.append(row(**{**done, "iteration": iteration, "seconds": seconds, "score": score, "best": best}))
        if checkpoint is not None:
            rows = [asdict(each) for each in history]
            checkpoints.save_state(checkpoint, known, rows, learnable.arrays(checkpoint))
        if report is not None:
            report(history[-1])
    return history


# ---- weights: what inverse reinforcement learning and reinforcement learning change


@dataclass
class TrainedWeights(Generic[Row]):
    """The weights that training ended with (those best on development data, if there was a score), and its history."""

    weights: Floats
    history: list[Row]


class Weighted(Protocol):
    """Weights that learn, and what else the next update depends on."""

    def weights(self) -> Floats:
        """Return the weights to use now."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that the next update depends on."""

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Go back to what :meth:`arrays` returned."""


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
