"""Training by inverse reinforcement learning: passes of Algorithm 1, the best of them, and what survives Ctrl-C."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, whole_number
from treewright.learners import checkpoints
from treewright.learners.imitation import make_learner
from treewright.learners.irl import InverseRL, Learned, begin, incremental_pass
from treewright.learners.training import Pass
from treewright.search.planning import Planner

__all__ = ["TrainedIRL", "train_irl"]

Floats = npt.NDArray[np.float64]

_A_SHARE = 1000  # instances whose expert's features are added up for the fingerprint


@dataclass
class TrainedIRL:
    """The weights that training ended with (those best on development data, if there was a score), and its history."""

    weights: Floats
    history: list[Pass] = field(default_factory=list)


def train_irl(
    learner: str | InverseRL | dict[str, Any],
    planner: Planner,
    *,
    jobs: int = 1,
    seed: int = 0,
    evaluate: Callable[[Floats], float] | None = None,
    report: Callable[[Pass], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> TrainedIRL:
    """Learn the weights of a planner's features, with a method by name or one of your own.

    The planner begins with ``planner.initial()``; the weights that come back are such as it takes, also from methods
    that learn their negation. ``evaluate`` scores weights after each pass (higher is better), and the best are
    returned, as in the paper; to keep weights that it is given, copy them, for they go on learning. ``report``
    receives a :class:`Pass` each time, whose ``loss`` is J; ``progress`` (stage, done, total) is called all along. With
    ``checkpoint``, a folder, the state after each pass is kept there, and ``resume`` goes on from it: the result is the
    same to the bit as without the interruption.

    ``seed`` is that of the order of instances, where there are batches of them. ``jobs`` is the planner's affair.
    """
    made = make_learner(learner)
    if not isinstance(made, InverseRL):
        raise ConfigError(
            f"learner {made.name!r} learns from single actions, not from plans: with a planner, take one of inverse "
            "reinforcement learning, such as 'max-margin'"
        )
    learner = made
    seed, jobs = whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    if len(planner) == 0:
        raise ConfigError("there is nothing to learn from: the planner has no instances")
    if not hasattr(planner, learner.needs):
        raise ConfigError(
            f"learner {learner.name!r} needs a planner that has {learner.needs}, which {type(planner).__name__} has not"
        )
    learned, best, history = begin(learner, planner), None, list[Pass]()
    fingerprint = "" if checkpoint is None else _fingerprint(learner, planner, seed)
    if checkpoint is not None and resume:
        best, history = _load(checkpoint, fingerprint, learned)
    elif checkpoint is not None:
        checkpoints.clear(checkpoint)
    total = len(planner)
    tell = None if progress is None else lambda done: progress("learning", done, total)
    for k in range(len(history) + 1, learner.passes + 1):
        started = time.perf_counter()
        updates = learned.updates
        J = incremental_pass(learner, planner, learned, k, seed=seed, jobs=jobs, progress=tell)
        weights = learned.weights()
        seconds = time.perf_counter() - started
        score = None if evaluate is None else float(evaluate(weights))
        best_before = max((row.score for row in history if row.score is not None), default=None)
        is_best = score is None or best_before is None or score > best_before
        if best is None or is_best:
            best = weights.copy()
        row = Pass(
            iteration=k,
            beta=0.0,
            loss=J,
            decisions=total,
            examples=learned.updates - updates,
            seconds=seconds,
            score=score,
            best=is_best,
        )
        history.append(row)
        if checkpoint is not None:
            _save(checkpoint, fingerprint, learned, best, history)
        if report is not None:
            report(row)
    assert best is not None
    return TrainedIRL(best, history)


def _fingerprint(learner: InverseRL, planner: Planner, seed: int) -> str:
    """What a checkpoint belongs to: every setting but the number of passes, and the data.

    What a planner begins with, and the features of its expert, share by share, tell other data from these; a planner
    with a ``fingerprint`` adds what else its plans depend on.
    """
    settings = {**learner.params(), "passes": None, "seed": seed, "instances": len(planner), "weights": planner.size}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, ensure_ascii=False).encode())
    digest.update(str(getattr(planner, "fingerprint", "")).encode())
    digest.update(np.ascontiguousarray(planner.initial(), np.float64).data)
    for first in range(0, len(planner), _A_SHARE):
        share = planner.expert_features(np.arange(first, min(first + _A_SHARE, len(planner)), dtype=np.int64))
        digest.update(np.ascontiguousarray(share.at, np.int64).data)
        digest.update(np.ascontiguousarray(share.amount, np.float64).data)
    return digest.hexdigest()


def _save(folder: Path, fingerprint: str, learned: Learned, best: Floats, history: list[Pass]) -> None:
    arrays = {
        "weights": learned.θ,
        "totals": learned.totals,
        "updates": np.array([learned.updates], np.int64),
        "best": best,
        **{f"step_{name}": array for name, array in learned.rule.arrays.items()},
    }
    checkpoints.save_state(folder, fingerprint, [asdict(row) for row in history], arrays)


def _load(folder: Path, fingerprint: str, learned: Learned) -> tuple[Floats | None, list[Pass]]:
    """Put ``learned`` into the state after the last pass that was finished; return the best weights and the history."""
    found = checkpoints.load_state(folder, fingerprint)
    if found is None:
        return None, []
    history, arrays = found
    learned.θ, learned.totals, learned.updates = arrays["weights"], arrays["totals"], int(arrays["updates"][0])
    learned.rule.arrays = {name: arrays[f"step_{name}"] for name in learned.rule.arrays}
    return arrays["best"], [Pass(**row) for row in history]
