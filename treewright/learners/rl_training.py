"""Training by reinforcement learning: passes of policy gradient, the best pass, and checkpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners import checkpoints
from treewright.learners.loop import Pass, TrainedWeights, run_weights
from treewright.learners.rl import PolicyGradient, begin, make_rl, policy_gradient_pass
from treewright.search.environment import Environment
from treewright.settings import whole_number

__all__ = ["RLPass", "train_rl"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RLPass(Pass):
    """A report on one pass of policy gradient.

    ``reward``, ``accuracy`` and ``time`` are means over its trajectories, with exploration and oracle. ``beta`` is δ,
    the oracle's share, ``loss`` the negated reward, ``decisions`` are the trajectories and ``examples`` the updates.
    """

    reward: float = 0.0
    accuracy: float = 0.0
    time: float = 0.0


def train_rl(
    learner: str | PolicyGradient | dict[str, Any],
    environment: Environment,
    *,
    jobs: int = 1,
    seed: int = 0,
    evaluate: Callable[[Floats], float] | None = None,
    report: Callable[[RLPass], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> TrainedWeights[RLPass]:
    """Learn the weights of a policy from its rewards in an environment, with a learner by name or your own.

    The initial weights are ``environment.initial()``. ``evaluate`` scores weights after each pass (higher is better),
    and the best are returned; :func:`~treewright.learners.rl.mean_reward` does this for an environment of development
    data. Its argument changes in later passes, so copy it to keep it. ``report`` receives a :class:`RLPass` after each
    pass; ``progress`` (stage, done, total) is called regularly. With ``checkpoint``, a folder, the state after each
    pass is stored there, and ``resume`` continues from it: the result is the same to the bit as without the
    interruption.

    The same ``seed`` gives the same result, with any number of ``jobs``.
    """
    learner = make_rl(learner)
    seed, jobs = whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    total = len(environment)
    if total == 0:
        raise ConfigError("there is nothing to learn from: the environment has no examples")
    learned = begin(learner, environment, jobs=jobs)
    tell = None if progress is None else lambda done: progress("learning", done, total)

    def one_pass(k: int) -> dict[str, Any]:
        seen = policy_gradient_pass(learner, environment, learned, k, seed=seed, jobs=jobs, progress=tell)
        return {
            "beta": learner.infusion(k),
            "loss": -seen.reward,
            "decisions": seen.trajectories,
            "examples": seen.updates,
            "reward": seen.reward,
            "accuracy": seen.accuracy,
            "time": seen.time,
        }

    return run_weights(
        learned,
        one_pass,
        learner.passes,
        RLPass,
        fingerprint=lambda: _fingerprint(learner, environment, seed),
        evaluate=evaluate,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )


def _fingerprint(learner: PolicyGradient, environment: Environment, seed: int) -> checkpoints.Fingerprint:
    """The identity of a training run: every setting but the number of passes, and the environment."""
    about = f"{len(environment)} {environment.size} {getattr(environment, 'fingerprint', '')}"
    digest = hashlib.sha256(about.encode())
    digest.update(np.ascontiguousarray(environment.initial(), np.float64).data)
    return {**learner.params(), "passes": None, "seed": seed, "data": digest.hexdigest()}
