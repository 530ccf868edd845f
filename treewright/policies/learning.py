"""The interface between learners and policies: a trainer learns from examples and returns the current policy.

A learner visits states, finds the cost of each action there, and passes the examples to the trainer of its policy. The
trainer decides how to learn from them: by online updates of a linear model, or by gradient steps of a network. A
trainer that can learn inside a compiled pass has :attr:`Trainer.online`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.search.examples import Examples
from treewright.search.kinds import Kind
from treewright.search.policy import Policy, Scratch
from treewright.search.running import Decoded, decode
from treewright.search.task import Packed

__all__ = ["LearnablePolicy", "Online", "Trainer", "Updating"]

Arrays = Mapping[str, npt.NDArray[Any]]
Longs = npt.NDArray[np.int64]


class Online(NamedTuple):
    """The arguments of a pass that updates the policy while it runs; the type of ``kind`` selects the functions."""

    kind: Any
    rule: Any
    model: Any


class Updating(Kind):
    """How one kind of policy learns inside a compiled pass. Only ``update`` may allocate arrays."""

    functions: ClassVar[Sequence[str]] = ("update", "credit", "tick")
    allocating: ClassVar[Sequence[str]] = ("update",)

    @staticmethod
    def update(online: Online, size: int, n: int, scratch: Scratch) -> float:
        """Learn from the state in scratch, whose ``n`` actions have scores and costs.

        Returns the cost, beyond the least, of the action that the policy preferred.
        """
        return 0.0

    @staticmethod
    def credit(online: Online, size: int, amount: float, scratch: Scratch) -> None:
        """Raise the score of the only action in scratch, in the state observed there, by a step of ``amount``."""

    @staticmethod
    def tick(online: Online) -> None:
        """Count one more example, for averages over time; ``update`` does so itself."""


class Trainer(Protocol):
    """Trains one policy, for one task and corpus."""

    #: the class of the policies that it trains
    policy_class: ClassVar[type[LearnablePolicy]]

    @property
    def batch(self) -> int | None:
        """The number of sentences that an online learner visits between two updates; None: the pass itself updates."""
        return None

    @property
    def online(self) -> Online | None:
        """For updates inside a pass; None: examples are collected and passed to :meth:`learn`."""
        return None

    def batches(self, order: Longs) -> list[Longs]:
        """The sentences of a pass in groups, one for each update of an online learner; by default in order."""
        size = self.batch or max(len(order), 1)
        return [order[start : start + size] for start in range(0, max(len(order), 1), size)]

    def plan(self, epochs: int) -> None:
        """Set the number of training epochs, for decreasing step sizes; ignored by default."""
        return None

    def acting(self) -> Policy:
        """The policy that visits states while an online learner learns."""
        return self.policy()

    def policy(self) -> LearnablePolicy:
        """The current policy. It may share memory with the trainer and change with it; see :meth:`kept`."""
        ...

    def kept(self, policy: LearnablePolicy, previous: LearnablePolicy | None) -> LearnablePolicy:
        """A copy of a policy that further learning does not change; it may reuse the arrays of ``previous``."""
        ...

    def learn(self, examples: Examples, order: Longs, mistakes: npt.NDArray[np.int32], tell: Tell | None) -> float:
        """Learn from the examples ``order``, one epoch; return the sum of the costs of the preferred actions.

        ``mistakes`` increases by one for each example on which a costly action was preferred. ``tell`` receives the
        number of finished examples.
        """
        ...

    def credit(self, examples: Examples) -> None:
        """Change scores, for learners that compare whole episodes: each example has one action with a cost.

        The score of the action rises where its cost is negative, and falls where it is positive. Only called if
        :attr:`online` is None.
        """
        raise ConfigError(f"{type(self).__name__} cannot learn from whole episodes: take a learner of imitation")

    def restart_average(self) -> None:
        """Average the weights from now on, if they are averaged over time; ignored by default."""
        return None

    def fresh(self) -> Self:
        """An untrained trainer with the same settings."""
        ...

    def mixed(self, policies: Sequence[LearnablePolicy], probabilities: Sequence[float]) -> LearnablePolicy:
        """The stochastic mixture of policies of this kind (SEARN)."""
        raise ConfigError(f"{type(self).__name__} cannot mix policies: take a learner without interpolation")

    def settings(self) -> dict[str, Any]:
        """What the result depends on besides the learner and the corpus, as plain values for a checkpoint."""
        ...

    def to_arrays(self) -> Arrays:
        """The complete state of training, for checkpoints."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Continue from the result of :meth:`to_arrays`."""
        ...


Tell = Callable[[int], None]


class LearnablePolicy(Policy, Protocol):
    """A policy that learners can train, decode with and store."""

    def trainer(self, packed: Packed, update: Any) -> Trainer:
        """A trainer that continues from this policy.

        ``update`` is the learner's choice of an online update (:mod:`treewright.policies.updates`). Policies that are
        not linear ignore it.
        """
        ...

    def to_arrays(self) -> Arrays:
        """The policy as a few arrays."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The policy from the result of :meth:`to_arrays`."""
        ...

    def decode(
        self,
        packed: Packed,
        *,
        beam: int = 1,
        seed: int = 0,
        jobs: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> Decoded:
        """Decode sentences greedily, or with a beam (which needs a single policy)."""
        return decode(packed, self, beam=beam, seed=seed, jobs=jobs, progress=progress)
