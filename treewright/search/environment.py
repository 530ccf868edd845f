"""What reinforcement learning asks of an environment.

An *environment* holds a corpus, and for each example (a sentence) the decision process that ends with an analysis of
it. In state s_t the learner's *policy* takes the action a_t; when the last one is taken, the analysis has an *accuracy*
and has taken some *time*, and the trajectory has earned the reward accuracy − λ·time. What accuracy and time are, and λ
with them, is the environment's own affair: learners see rewards only. The names and equations are those of Jiang,
Teichert, Daumé III & Eisner, *Learned prioritization for trading off accuracy and speed* (2012).

The policy is linear, with weights θ, as many as ``size``. While learning it explores at a temperature (eq. 4), and when
it is used it takes the best action (eq. 2; of several that are equal, always the same):

    π_θ(a | s) ∝ exp(θ·φ(a, s) / temp)        π_θ(s) = argmax_a θ·φ(a, s)

While it learns, an *oracle* may take over (eq. 11): with probability δ, drawn at each step, the action is one of
the oracle's, and of several such the one that the policy likes best; otherwise it is drawn from π_θ.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from treewright.search.planning import Features

__all__ = ["Credit", "Environment", "Results", "Rollouts"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: What r̃_t is, the reward of step t for which actions get credit:
#:
#: * ``terminal``: accuracy − λ·time at the last step, 0 before it (eq. 3);
#: * ``shaped``: parts of it as soon as they are earned, at each step (eq. 8). They add up to the same total, for each
#:   trajectory that ends as it should;
#: * ``unit``: 1 at every step, whatever it brings. With a discount of 0 this makes the actions taken more probable, and
#:   if the oracle takes them, it is the maximum entropy classifier of eq. 10.
Credit = Literal["terminal", "shaped", "unit"]


class Rollouts(NamedTuple):
    """What some trajectories of each of some examples have brought.

    The arrays have a row for each example, in the order asked for, and a column for each of its trajectories.
    """

    #: Σ over all trajectories of Σ_t (Σ_{t'≥t} γ^{t'−t} r̃_{t'} − b)·∇log π_θ(a_t | s_t) (eq. 9 and 7); the value is
    #: the sum of all rewards, ``reward.sum()``
    gradient: Features
    #: the reward of each trajectory: Σ_t r̃_t with ``shaped``, otherwise accuracy − λ·time
    reward: Floats
    accuracy: Floats
    time: Floats


class Results(NamedTuple):
    """What the greedy policy brings: a number for each example, in the order asked for."""

    reward: Floats
    accuracy: Floats
    time: Floats


class Environment(Protocol):
    """Trajectories for all examples of a corpus. ``which`` are numbers of examples, none of them twice.

    Settings arrive checked: temperatures above 0, shares and discounts in [0, 1], whole numbers in their bounds. No
    result depends on ``jobs``, to the bit, nor that of an example on the others in ``which``. An environment may also
    have a string ``fingerprint`` of all that trajectories depend on besides θ (the corpus, λ, …), by which a checkpoint
    knows it again.
    """

    @property
    def size(self) -> int:
        """How many weights there are to learn."""

    def __len__(self) -> int:
        """How many examples there are."""

    def initial(self) -> Floats:
        """The weights to begin with: an initial policy (A*, say), or zeros."""

    def rollouts(
        self,
        θ: Floats,
        which: Ints,
        *,
        temperature: float = 1.0,
        infusion: float = 0.0,
        discount: float = 1.0,
        credit: Credit = "terminal",
        baseline: Floats | None = None,
        trajectories: int = 1,
        seed: int = 0,
        jobs: int = 1,
    ) -> Rollouts:
        """Draw trajectories of each example by the oracle-infused policy, and add up their gradients.

        ``infusion`` is δ of eq. 11, ``discount`` γ of eq. 9 (time goes on with every step, also where there is only one
        action to take), and ``credit`` says what r̃_t is. The gradient is that of log π_θ at this temperature, 1/temp
        included (eq. 7), also at steps where the oracle acted. ``baseline`` has a number b for each of ``which``, which
        is subtracted from every Σ γ^{t'−t} r̃_{t'}; None stands for zeros.

        What is drawn depends on θ, the settings, ``seed`` (a whole number below 2³¹), the number of the example in the
        corpus and the number of the trajectory, and on nothing else.
        """

    def run(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Results:
        """What the greedy policy brings (eq. 2), without exploration and oracle."""
