"""What the engine asks of a policy: a scorer for some sentences, whose type chooses the functions that score.

Before the episodes of some sentences run, a policy *prepares* a :class:`Scorer` for them: arrays, and a
:class:`Scoring` that says how to read them. A linear policy hands over its weights. A policy with an encoder makes a
table for each sentence. In a state the engine calls two compiled functions of the scoring: ``observe`` writes what the
policy looks at, as whole numbers, and ``score`` gives each action a score from these numbers alone. So what is observed
is also what an example has to record (:mod:`treewright.search.examples`), and roll-ins, roll-outs, beams and learners
do not know which kind of policy they have.

A kernel is compiled for the scoring that it is given and for no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from treewright.errors import TaskError
from treewright.search.kinds import Kind
from treewright.search.task import Packed, Task

__all__ = ["Policy", "Scorer", "Scoring", "Scratch", "Sizes"]


class Scratch(NamedTuple):
    """The working space of one thread. It holds the state under consideration, its actions and their scores."""

    actions: npt.NDArray[np.int32]
    costs: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float32]
    sums: npt.NDArray[np.float32]  # for the scoring's own use
    observed: npt.NDArray[np.int32]
    extra: npt.NDArray[np.int32]  # the further features of action k are extra[extra_at[k]:extra_at[k + 1]]
    extra_at: npt.NDArray[np.int64]
    one: npt.NDArray[np.int32]  # the further features of one action
    random: npt.NDArray[np.int64]
    labels: npt.NDArray[np.float32] | None = None  # for the scores of all labels, if decisions are of two kinds


class Sizes(NamedTuple):
    """How many cells a scoring needs in :class:`Scratch`."""

    observed: int
    sums: int
    extra: int = 0
    one: int = 0


class Scorer(NamedTuple):
    """A policy as kernels take it, ready for some sentences.

    ``arrays`` is what the functions of ``kind`` read: an array, or a named tuple of arrays. ``mixture`` holds the
    cumulative probabilities of the expert and of the members of the policy, in this order: for one policy and the share
    β of the expert it is ``[β, 1]``.
    """

    kind: Any
    arrays: Any
    mixture: npt.NDArray[np.float64]


class Scoring(Kind):
    """How one kind of policy observes states and scores actions.

    Subclass it and write the two functions, without ``self``; they are compiled into the engine and must not allocate
    arrays. :meth:`sizes` is an ordinary method.
    """

    functions: ClassVar[Sequence[str]] = ("observe", "score")

    @staticmethod
    def observe(task: Any, x: Any, i: int, state: Any, n: int, scratch: Scratch) -> int:
        """Write what the policy looks at in a state of sentence ``i`` to ``scratch.observed``, and return its size.

        The ``n`` admissible actions are in ``scratch.actions``. A negative number is a code of trouble
        (:mod:`treewright.search.trouble`).
        """
        return 0

    @staticmethod
    def score(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
        """Write the scores of the ``n`` actions in ``scratch.actions`` to ``scratch.scores``.

        ``arrays`` are those of the scorer, ``member`` is the number of a policy of the mixture, and ``size`` is what
        ``observe`` returned.
        """

    def sizes(self, task: Task) -> Sizes:
        """How many cells the functions need for a task."""
        raise NotImplementedError

    def scratch(self, task: Task) -> Scratch:
        """The working space of one thread, allocated once a pass."""
        if task.n_actions < 1:
            raise TaskError(f"task {task.name!r} declares no actions: set `n_actions`")
        sizes, n = self.sizes(task), int(task.n_actions)
        return Scratch(
            np.zeros(n, np.int32),
            np.zeros(n, np.float64),
            np.zeros(n, np.float32),
            np.zeros(sizes.sums, np.float32),
            np.zeros(sizes.observed, np.int32),
            np.zeros(sizes.extra, np.int32),
            np.zeros(n + 1, np.int64),
            np.zeros(sizes.one, np.int32),
            np.zeros(2, np.int64),
            np.zeros(n - task.width, np.float32) if task.width and not task.structured else None,
        )

    def plain(self) -> Any:
        """The same scoring with its functions interpreted."""
        twin = super().plain()
        twin.scratch = self.scratch
        return twin


class Policy(Protocol):
    """What acts: a single policy, or a stochastic mixture of several members of one kind."""

    @property
    def block(self) -> int | None:
        """The most words that are prepared at a time, in one sentence at least; None: there is no bound."""
        return None

    @property
    def mixture(self) -> npt.NDArray[np.float64]:
        """The cumulative probabilities of the expert (here: none) and of the members."""
        return np.array([0.0, 1.0])

    def prepare(self, packed: Packed, which: npt.NDArray[np.int64]) -> Scorer:
        """The scorer for the sentences ``which`` of a packed corpus; kernels ask it about no others."""
        ...
