"""The interface between the engine and policies: a scorer for some sentences, whose type selects the functions.

Before the episodes of some sentences run, a policy *prepares* a :class:`Scorer` for them: arrays, and a
:class:`Scoring` that says how to read them. A linear policy provides its weights. A policy with an encoder makes a
table for each sentence. In a state the engine calls two compiled functions of the scoring: ``observe`` writes the
observation of the policy, as whole numbers, and ``score`` computes a score for each action from these numbers alone. So
an example only has to record the observation (:mod:`treewright.search.examples`), and roll-ins, roll-outs, beams and
learners do not depend on the kind of policy.

A kernel is compiled separately for each scoring.
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
    """The working space of one thread. It contains the current state, its actions and their scores."""

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
    """The numbers of cells that a scoring needs in :class:`Scratch`."""

    observed: int
    sums: int
    extra: int = 0
    one: int = 0


class Scorer(NamedTuple):
    """A policy in the form for kernels, prepared for some sentences.

    The functions of ``kind`` read ``arrays``: an array, or a named tuple of arrays. ``mixture`` holds the
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
        """Write the observation of a state of sentence ``i`` to ``scratch.observed``, and return its size.

        The ``n`` admissible actions are in ``scratch.actions``. A negative result is an error code
        (:mod:`treewright.search.trouble`).
        """
        return 0

    @staticmethod
    def score(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
        """Write the scores of the ``n`` actions in ``scratch.actions`` to ``scratch.scores``.

        ``arrays`` are the arrays of the scorer, ``member`` is the number of a policy of the mixture, and ``size`` is
        the result of ``observe``.
        """

    def sizes(self, task: Task) -> Sizes:
        """The numbers of cells that the functions need for a task."""
        raise NotImplementedError

    def scratch(self, task: Task) -> Scratch:
        """The working space of one thread, allocated once per pass."""
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
    """A single policy, or a stochastic mixture of several members of one kind."""

    @property
    def block(self) -> int | None:
        """The maximum number of words that are prepared at a time (but at least one sentence); None: no limit."""
        return None

    @property
    def mixture(self) -> npt.NDArray[np.float64]:
        """The cumulative probabilities of the expert (here: none) and of the members."""
        return np.array([0.0, 1.0])

    def prepare(self, packed: Packed, which: npt.NDArray[np.int64]) -> Scorer:
        """The scorer for the sentences ``which`` of a packed corpus; kernels use it for no others."""
        ...
