"""Training by inverse reinforcement learning: passes of Algorithm 1, the best pass, and checkpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners import checkpoints
from treewright.learners.irl import InverseRL, begin, incremental_pass
from treewright.learners.loop import Pass, TrainedWeights, run_weights
from treewright.learners.registry import make_learner
from treewright.search.planning import Planner
from treewright.settings import whole_number

__all__ = ["TrainedIRL", "train_irl"]

Floats = npt.NDArray[np.float64]

_A_SHARE = 1000  # instances whose expert's features are added up for the fingerprint


#: what :func:`train_irl` returns
TrainedIRL = TrainedWeights[Pass]


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
    """Learn the weights of a planner's features, with a method by name or your own.

    The initial weights are ``planner.initial()``. The result are weights for the planner, also from methods that learn
    their negation. ``evaluate`` scores weights after each pass (higher is better), and the best are returned, as in the
    paper; its argument changes in later passes, so copy it to keep it. ``report`` receives a :class:`Pass` after each
    pass, whose ``loss`` is J; ``progress`` (stage, done, total) is called regularly. With ``checkpoint``, a folder, the
    state after each pass is stored there, and ``resume`` continues from it: the result is the same to the bit as
    without the interruption.

    ``seed`` determines the order of instances, if there are batches. ``jobs`` is passed to the planner.
    """
    learner = make_learner(learner, InverseRL)
    seed, jobs = whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    if len(planner) == 0:
        raise ConfigError("there is nothing to learn from: the planner has no instances")
    if not hasattr(planner, learner.needs):
        raise ConfigError(
            f"{learner.name!r} needs a planner that has {learner.needs}, which {type(planner).__name__} has not",
            setting="learner",
            value=learner.name,
        )
    learner = learner.sized(planner)
    learned, total = begin(learner, planner), len(planner)
    tell = None if progress is None else lambda done: progress("learning", done, total)

    def one_pass(k: int) -> dict[str, Any]:
        updates = learned.updates
        J = incremental_pass(learner, planner, learned, k, seed=seed, jobs=jobs, progress=tell)
        return {"beta": 0.0, "loss": J, "decisions": total, "examples": learned.updates - updates}

    return run_weights(
        learned,
        one_pass,
        learner.passes,
        Pass,
        fingerprint=lambda: _fingerprint(learner, planner, seed),
        evaluate=evaluate,
        patience=learner.patience,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )


def _fingerprint(learner: InverseRL, planner: Planner, seed: int) -> checkpoints.Fingerprint:
    """The identity of a training run: every setting but those that end training, and the data.

    The planner's initial weights and the features of its expert identify the data; a planner with a ``fingerprint``
    adds everything else that its plans depend on.
    """
    digest = hashlib.sha256(f"{len(planner)} {planner.size} {getattr(planner, 'fingerprint', '')}".encode())
    digest.update(np.ascontiguousarray(planner.initial(), np.float64).data)
    for first in range(0, len(planner), _A_SHARE):
        share = planner.expert_features(np.arange(first, min(first + _A_SHARE, len(planner)), dtype=np.int64))
        digest.update(np.ascontiguousarray(share.at, np.int64).data)
        digest.update(np.ascontiguousarray(share.amount, np.float64).data)
    return {**learner.params(), "passes": None, "patience": None, "seed": seed, "data": digest.hexdigest()}
