"""What training by passes has in common, whatever a pass does: the best of them, and what survives Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.learners import checkpoints
from treewright.learners.training import Pass

__all__ = ["Learnable", "TrainedWeights", "run_passes"]

Floats = npt.NDArray[np.float64]
Row = TypeVar("Row", bound=Pass)


class Learnable(Protocol):
    """What passes change."""

    def weights(self) -> Floats:
        """The weights to use now."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that the next pass depends on."""

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Go back to what :meth:`arrays` gave."""


@dataclass
class TrainedWeights(Generic[Row]):
    """The weights that training ended with (those best on development data, if there was a score), and its history."""

    weights: Floats
    history: list[Row]


def run_passes(
    learned: Learnable,
    one_pass: Callable[[int], dict[str, Any]],
    passes: int,
    row: type[Row],
    *,
    fingerprint: Callable[[], checkpoints.Fingerprint],
    evaluate: Callable[[Floats], float] | None = None,
    report: Callable[[Row], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> TrainedWeights[Row]:
    """Run ``one_pass(k)`` for k = 1, 2, …, each of which changes ``learned`` and tells the fields of its ``row``.

    ``evaluate`` scores the weights after each pass, higher is better, and the best are returned; without it, the last.
    With ``checkpoint``, a folder, the state after each pass is kept there, and ``resume`` goes on from it, if it has
    the same ``fingerprint``.
    """
    history, best = list[Row](), None
    known = {} if checkpoint is None else {**fingerprint(), **checkpoints.judged_by(evaluate)}
    found = checkpoints.load_state(checkpoint, known) if checkpoint is not None and resume else None
    if found is not None:
        history, arrays = [row(**fields) for fields in found[0]], found[1]
        best = arrays.pop("best")
        learned.restore(arrays)
    elif checkpoint is not None and not resume:
        checkpoints.clear(checkpoint)
    for k in range(len(history) + 1, passes + 1):
        started = time.perf_counter()
        done = one_pass(k)
        weights, seconds = learned.weights(), time.perf_counter() - started
        score = None if evaluate is None else float(evaluate(weights))
        best_before = max((row.score for row in history if row.score is not None), default=None)
        is_best = score is None or best_before is None or score > best_before
        if best is None or is_best:
            best = weights.copy()
        history.append(row(iteration=k, seconds=seconds, score=score, best=is_best, **done))
        if checkpoint is not None:
            checkpoints.save_state(
                checkpoint, known, [asdict(each) for each in history], {**learned.arrays(), "best": best}
            )
        if report is not None:
            report(history[-1])
    assert best is not None
    return TrainedWeights(best, history)
