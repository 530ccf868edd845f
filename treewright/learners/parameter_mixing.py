"""Iterative parameter mixing: online learning on shards of a corpus, for corpora that one machine cannot hold.

McDonald, Hall and Mann (2010), *Distributed training strategies for the structured perceptron*, Figure 3: in each epoch
every shard learns from the same weights, independently of the others; then the weights are mixed, and the next epoch
begins with the mixture::

    IterParamMix(shards S of T)
      w = 0
      for n = 1 … N:
        w⁽ⁱ⁾ = OneEpochPerceptron(Tᵢ, w)     for all shards i, in parallel
        w    = Σᵢ μᵢ w⁽ⁱ⁾
      return w

Three changes make each pass learn more than in the paper:

- The paper mixes uniformly, μᵢ = 1 / S. Most features of a parser are so rare that only some shards have them. In a
  uniform mixture such a weight makes 1 / S of the step that it makes in plain training, and learning takes S times as
  many passes. So each weight is mixed over the c shards that have changed it. The mean of their changes gives too much
  to rare features in comparison with frequent ones, which would have been changed c times as often in plain training;
  the sum of their changes overshoots, because shards repeat each other's work. The step is in between: the mean change
  times √(c / √S), which is between S^-¼ for a weight of one shard and S^¼ for a weight of all.
- An epoch of the paper is a pass over the shard. Here a pass has several *rounds*, each over the next part of the
  shuffled shard, with a mixture after each. The shards then repeat less of each other's work.
- Averaged weights are averaged from the third pass on. A mixture moves more slowly than the weights of plain training,
  so that the first passes would pull the mean back for longer.

The sums from which averaged weights are computed are mixed like the weights. AROW's variances and the count of examples
are the means over the shards that have changed them. With one shard the result is equal to plain training, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners import loop
from treewright.learners.loop import Pass
from treewright.learners.registry import Learner
from treewright.learners.training import Iterations, Trained, make_training
from treewright.policies.learning import Trainer
from treewright.search.task import Packed

__all__ = ["ROUNDS", "Round", "ShardLearner", "Shards", "State", "check_online", "mix", "train_mixed"]

State = Mapping[str, npt.NDArray[Any]]
"""The state of a trainer between rounds: the weights, and the state of its update."""

ROUNDS = 5
"""The number of mixtures in a pass over several shards."""

SETTLING = 2
"""The number of first passes over several shards that averages leave out."""


class Round(NamedTuple):
    """A part of a pass: the pass, counted from 1, the number of the part, counted from 0, and the number of parts."""

    iteration: int
    part: int = 0
    parts: int = 1


class Shards(Protocol):
    """The shards of a corpus, in this process or elsewhere."""

    def advance(self, when: Round, state: State) -> Sequence[tuple[State, dict[str, Any]]]:
        """Learn for one round on each shard, each from the same state; return the states and the reports."""


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


def mix(start: State, states: Sequence[State]) -> None:
    """Turn the state ``start`` into the mixture of states that were all learned from it.

    An entry is mixed over those of the S shards that have changed it, c of them: variances and counts are the mean; the
    change of a weight is the mean change times √(c / √S). Arrays of one size belong together: an entry counts as
    changed if it is in any of them.

    >>> start = {"weights": np.float32([0.0, 1.0, 1.0]), "spread": np.float32([1.0, 1.0, 1.0])}
    >>> one = {"weights": np.float32([1.0, 1.0, 0.0]), "spread": np.float32([0.5, 1.0, 0.5])}
    >>> two = {"weights": np.float32([0.5, 1.0, 1.0]), "spread": np.float32([0.25, 1.0, 1.0])}
    >>> mix(start, [one, two])
    >>> [round(float(weight), 3) for weight in start["weights"]]  # 0.75 · 2^¼ and 1 − 2^-¼
    [0.892, 1.0, 0.159]
    >>> start["spread"].tolist()
    [0.375, 1.0, 0.5]
    """
    by_size: dict[int, list[str]] = {}
    for name, array in start.items():
        by_size.setdefault(array.size, []).append(name)
    for size, names in by_size.items():
        for first in range(0, size, _BLOCK):  # so that the temporary arrays stay small
            block = slice(first, first + _BLOCK)
            old = {name: start[name].reshape(-1)[block] for name in names}
            new = [{name: state[name].reshape(-1)[block] for name in names} for state in states]
            changed = np.array([np.logical_or.reduce([own[name] != old[name] for name in names]) for own in new])
            places = np.flatnonzero(changed.any(axis=0))  # few, so that all the rest is quick
            if not len(places):
                continue
            changed = changed[:, places]
            count = changed.sum(axis=0)
            for name in names:
                total = np.zeros(len(places), np.float64)
                for own, here in zip(new, changed, strict=True):  # in the order of the shards: sums depend on it
                    total += np.where(here, own[name][places], 0)
                mixed = total / count
                if name in _STEPPED:
                    mixed += (np.sqrt(count / np.sqrt(len(states))) - 1.0) * (mixed - old[name][places])
                old[name][places] = np.rint(mixed) if old[name].dtype.kind == "i" else mixed


_BLOCK = 1 << 16
_STEPPED = ("weights", "totals")  # the arrays that are sums of steps


class ShardLearner:
    """A learner on one shard; the result of a round depends only on the given state."""

    def __init__(self, learner: Learner, packed: Packed, **settings: Any) -> None:
        check_online(learner)
        self._training = make_training(learner, packed, **settings)

    @property
    def trainer(self) -> Trainer:
        """The trainer, with the state of the last round."""
        return self._training.trainer

    def advance(self, when: Round, state: State) -> tuple[State, dict[str, Any]]:
        """Learn for one round from a state; return the new state (valid until the next round) and the report."""
        for name, array in self.trainer.to_arrays().items():
            np.copyto(array, state[name])  # in place, because a new table takes longer than learning
        self._training.part = when.part, when.parts
        done = self._training.advance(when.iteration)
        return dict(self.trainer.to_arrays()), done


class _Mixing(Iterations):
    """Passes over all shards, each of some rounds."""

    def __init__(self, shards: Shards, trainer: Trainer, rounds: int) -> None:
        super().__init__(trainer)
        self.shards, self.rounds = shards, rounds

    def advance(self, iteration: int) -> dict[str, Any]:
        """Run one pass over each shard, and mix the results of each round."""
        self.policy, done = None, list[dict[str, Any]]()
        for part in range(self.rounds):
            state = self.trainer.to_arrays()
            found = self.shards.advance(Round(iteration, part, self.rounds), state)
            mix(state, [learned for learned, _ in found])
            done += [each for _, each in found]
        self.policy = self.trainer.policy()
        if iteration <= SETTLING and len(found) > 1:
            self.trainer.restart_average()
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
    rounds: int = 1,
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
        rounds: the number of mixtures in a pass.
        evaluate: scores the mixture after each pass; the best mixture is returned.
        report: receives each pass.
        checkpoint: a folder for the state after each pass.
        resume: whether to continue from the checkpoint.
    """
    check_online(learner)
    mixing = _Mixing(shards, trainer, rounds)
    history = loop.run(
        mixing,
        learner.passes,
        Pass,
        fingerprint=lambda: {**learner.params(), "passes": None, **trainer.settings(), **about, "rounds": rounds},
        evaluate=evaluate,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )
    assert mixing.best is not None
    return Trained(mixing.best, history)
