"""What learners ask of a policy: a trainer, which learns from examples and shows the policy as it is so far.

A learner visits states, finds what each action costs there, and hands the examples to the trainer of its policy. What
the trainer makes of them is its own affair: an online update of a linear model, or steps along the gradient of a
network. A trainer that can learn inside a compiled pass says so by :attr:`Trainer.online`.
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
    """What a pass needs in order to learn on the way; the type of ``kind`` chooses the functions."""

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
        """Let the score of the only action in scratch, in the state observed there, rise by a step of ``amount``."""

    @staticmethod
    def tick(online: Online) -> None:
        """Count one more example, for averages over time; ``update`` does so itself."""


class Trainer(Protocol):
    """Learns one policy, for the task and the corpus that it was made for."""

    #: the class of the policies that it learns
    policy_class: ClassVar[type[LearnablePolicy]]

    @property
    def batch(self) -> int | None:
        """The sentences that an online learner visits between two updates; None: all, since the pass itself learns."""
        return None

    @property
    def online(self) -> Online | None:
        """What a pass needs in order to learn on the way; None: examples are collected and given to :meth:`learn`."""
        return None

    def batches(self, order: Longs) -> list[Longs]:
        """The sentences of a pass in groups, one for each update of an online learner; here: in order."""
        size = self.batch or max(len(order), 1)
        return [order[start : start + size] for start in range(0, max(len(order), 1), size)]

    def plan(self, epochs: int) -> None:
        """Take note of how many epochs of learning there will be, for step sizes that fall; here: ignored."""
        return None

    def acting(self) -> Policy:
        """The policy that visits states while an online learner learns."""
        return self.policy()

    def policy(self) -> LearnablePolicy:
        """The policy as it is so far. It may share memory with what goes on learning; see :meth:`kept`."""
        ...

    def kept(self, policy: LearnablePolicy, previous: LearnablePolicy | None) -> LearnablePolicy:
        """A policy that was asked for before, unaffected by further learning; may reuse the arrays of ``previous``."""
        ...

    def learn(self, examples: Examples, order: Longs, mistakes: npt.NDArray[np.int32], tell: Tell | None) -> float:
        """Learn from the examples ``order``, one epoch; return the sum of the costs of what was preferred.

        ``mistakes`` is raised by one for each example on which a costly action was preferred. ``tell`` receives the
        number of examples that are done.
        """
        ...

    def credit(self, examples: Examples) -> None:
        """Move scores, for learners that compare whole episodes: each example has one action with a cost.

        The score of the action rises where its cost is negative, and falls where it is positive. Only asked for where
        :attr:`online` is None.
        """
        raise ConfigError(f"{type(self).__name__} cannot learn from whole episodes: take a learner of imitation")

    def fresh(self) -> Self:
        """A trainer that has learned nothing yet, with the same settings."""
        ...

    def mixed(self, policies: Sequence[LearnablePolicy], probabilities: Sequence[float]) -> LearnablePolicy:
        """The stochastic mixture of policies of this kind (SEARN)."""
        raise ConfigError(f"{type(self).__name__} cannot mix policies: take a learner without interpolation")

    def settings(self) -> dict[str, Any]:
        """What the result depends on besides the learner and the corpus, as plain values: a checkpoint records it."""
        ...

    def to_arrays(self) -> Arrays:
        """All that must survive an interruption."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Go on from what :meth:`to_arrays` gave."""
        ...


Tell = Callable[[int], None]


class LearnablePolicy(Policy, Protocol):
    """A policy that learners can train, decode with and keep."""

    def trainer(self, packed: Packed, update: Any) -> Trainer:
        """A trainer that goes on from this policy.

        ``update`` is the learner's choice of an online update (:mod:`treewright.policies.updates`). Policies that are
        not linear learn in their own way and do not look at it.
        """
        ...

    def to_arrays(self) -> Arrays:
        """The policy as a few arrays."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The policy that :meth:`to_arrays` took apart."""
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
