"""Iterative parameter mixing: online learning on shards of a corpus, for corpora that one machine cannot hold.

McDonald, Hall and Mann (2010), *Distributed training strategies for the structured perceptron*, Figure 3: in each pass
every shard learns from the same weights, independently of the others; then the weights are mixed by taking their mean
(uniform mixing, μ = 1 / S), and the next pass begins with the mixture::

    IterParamMix(shards S of T)
      w = 0
      for n = 1 … N:
        w⁽ⁱ⁾ = OneEpochPerceptron(Tᵢ, w)     for all shards i, in parallel
        w    = Σᵢ μᵢ w⁽ⁱ⁾
      return w

The state of an update besides the weights is mixed in the same way: AROW's variances, and the sums from which averaged
weights are computed. With one shard the result is equal to plain training, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners import loop
from treewright.learners.loop import Pass
from treewright.learners.registry import Learner
from treewright.learners.training import Iterations, Trained, make_training
from treewright.policies.learning import Trainer
from treewright.search.task import Packed

__all__ = ["ShardLearner", "Shards", "State", "check_online", "mix", "train_mixed"]

State = Mapping[str, npt.NDArray[Any]]
"""The state of a trainer between passes: the weights, and the state of its update."""


class Shards(Protocol):
    """The shards of a corpus, in this process or elsewhere."""

    def advance(self, iteration: int, state: State) -> Sequence[tuple[State, dict[str, Any]]]:
        """Learn for one pass over each shard, each from the same state; return the states and the reports."""


def check_online(learner: Learner) -> None:
    """Raise :class:`~treewright.errors.ConfigError` for a learner that keeps more than weights between passes."""
    data, interpolation = getattr(learner, "data", ""), getattr(learner, "interpolation", 0.0)
    if data != "online" or interpolation:
        raise ConfigError(
            f"{learner.name!r} collects examples over passes, and only weights can be mixed; take one that learns at "
            "once: exploration, lols, early-update or max-violation",
            setting="learner",
            value=learner.name,
        )


def mix(states: Sequence[State]) -> dict[str, npt.NDArray[Any]]:
    """Return the uniform mixture: the mean of each array, in its own type.

    >>> mix([{"weights": np.float32([1.0, 0.0])}, {"weights": np.float32([0.0, 0.5])}])["weights"].tolist()
    [0.5, 0.25]
    """
    mixed = {}
    for name, first in states[0].items():
        total = np.zeros(first.shape, np.float64)
        for state in states:  # in the order of the shards, not in the order in which they finish
            total += state[name]
        total /= len(states)
        mixed[name] = (np.rint(total) if first.dtype.kind == "i" else total).astype(first.dtype)
    return mixed


class ShardLearner:
    """A learner on one shard; the result of a pass depends only on the given state."""

    def __init__(self, learner: Learner, packed: Packed, **settings: Any) -> None:
        check_online(learner)
        self._training = make_training(learner, packed, **settings)

    @property
    def trainer(self) -> Trainer:
        """The trainer, with the state of the last pass."""
        return self._training.trainer

    def advance(self, iteration: int, state: State) -> tuple[State, dict[str, Any]]:
        """Learn for one pass from a state; return the new state and the report."""
        self.trainer.restore({name: array.copy() for name, array in state.items()})
        done = self._training.advance(iteration)
        return dict(self.trainer.to_arrays()), done


class _Mixing(Iterations):
    """Passes over all shards."""

    def __init__(self, shards: Shards, trainer: Trainer) -> None:
        super().__init__(trainer)
        self.shards = shards

    def advance(self, iteration: int) -> dict[str, Any]:
        """Run one pass over each shard, and mix the results."""
        self.policy = None
        found = self.shards.advance(iteration, self.trainer.to_arrays())
        self.trainer.restore(mix([state for state, _ in found]))
        self.policy = self.trainer.policy()
        done = [each for _, each in found]
        decisions = sum(each["decisions"] for each in done)
        loss = sum(each["loss"] * each["decisions"] for each in done) / max(decisions, 1)
        return {
            "iteration": iteration,
            "beta": done[0]["beta"],
            "examples": sum(each["examples"] for each in done),
            "loss": loss if len(done) > 1 else done[0]["loss"],
            "decisions": decisions,
        }


def train_mixed(
    learner: Learner,
    shards: Shards,
    trainer: Trainer,
    *,
    about: Mapping[str, Any],
    evaluate: Callable[[Any], float] | None = None,
    report: Callable[[Pass], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Trained:
    """Train a policy by iterative parameter mixing.

    Args:
        learner: an online learner.
        shards: the shards of the corpus.
        trainer: an untrained trainer, which receives the mixture.
        about: the other factors that the result depends on, besides the learner and the trainer: the data, the number
            of shards, the seed.
        evaluate: scores the mixture after each pass; the best mixture is returned.
        report: receives each pass.
        checkpoint: a folder for the state after each pass.
        resume: whether to continue from the checkpoint.
    """
    check_online(learner)
    mixing = _Mixing(shards, trainer)
    history = loop.run(
        mixing,
        learner.passes,
        Pass,
        fingerprint=lambda: {**learner.params(), "passes": None, **trainer.settings(), **about},
        evaluate=evaluate,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )
    assert mixing.best is not None
    return Trained(mixing.best, history)
