"""The interface between reinforcement learning and its environments.

An *environment* holds a corpus, and for each example (a sentence) the decision process that ends with an analysis of
it. In state s_t the learner's *policy* takes the action a_t. After the last action, the analysis has an *accuracy* and
has taken some *time*, and the reward of the trajectory is accuracy − λ·time. The environment defines accuracy, time and
λ: learners see only rewards. The names and equations are those of Jiang, Teichert, Daumé III & Eisner, *Learned
prioritization for trading off accuracy and speed* (2012).

The policy is linear, with ``size`` weights θ. In training it explores at a temperature (eq. 4); in prediction it takes
the best action (eq. 2; ties are always broken in the same way):

    π_θ(a | s) ∝ exp(θ·φ(a, s) / temp)        π_θ(s) = argmax_a θ·φ(a, s)

In training, an *oracle* may replace the policy (eq. 11): at each step, with probability δ, the action is one of the
oracle's, and of several the one with the highest score; otherwise it is drawn from π_θ.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from treewright.search.planning import Features

__all__ = ["Credit", "Environment", "Results", "Rollouts"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: The definitions of r̃_t, the reward of step t for which actions get credit:
#:
#: * ``terminal``: accuracy − λ·time at the last step, 0 before it (eq. 3);
#: * ``shaped``: parts of it at the steps that earn them (eq. 8). They add up to the same total, for each
#:   trajectory that ends as it should;
#: * ``unit``: 1 at every step, whatever its result. With a discount of 0 this makes the actions taken more probable,
#: and   if the oracle takes them, it is the maximum entropy classifier of eq. 10.
Credit = Literal["terminal", "shaped", "unit"]


class Rollouts(NamedTuple):
    """The results of trajectories, several for each example.

    The arrays have a row for each example, in the given order, and a column for each of its trajectories.
    """

    #: Σ over all trajectories of Σ_t (Σ_{t'≥t} γ^{t'−t} r̃_{t'} − b)·∇log π_θ(a_t | s_t) (eq. 9 and 7); the value is
    #: the sum of all rewards, ``reward.sum()``
    gradient: Features
    #: the reward of each trajectory: Σ_t r̃_t with ``shaped``, otherwise accuracy − λ·time
    reward: Floats
    accuracy: Floats
    time: Floats


class Results(NamedTuple):
    """The results of the greedy policy: a number for each example, in the given order."""

    reward: Floats
    accuracy: Floats
    time: Floats


class Environment(Protocol):
    """Trajectories for all examples of a corpus. ``which`` are distinct numbers of examples.

    The caller has checked the settings: temperatures are above 0, shares and discounts in [0, 1], whole numbers within
    their bounds. Results do not depend on ``jobs``, to the bit, and the result of an example does not depend on the
    others in ``which``. An environment may also have a string ``fingerprint`` of everything besides θ that trajectories
    depend on (the corpus, λ, …), by which a checkpoint recognises it.
    """

    @property
    def size(self) -> int:
        """The number of weights."""

    def __len__(self) -> int:
        """The number of examples."""

    def initial(self) -> Floats:
        """The initial weights: an initial policy (A*, say), or zeros."""

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

        ``infusion`` is δ of eq. 11, ``discount`` γ of eq. 9 (every step takes time, even if it has only one action),
        and ``credit`` defines r̃_t. The gradient is that of log π_θ at this temperature, 1/temp included (eq. 7), also
        at steps where the oracle acted. ``baseline`` has a number b for each of ``which``, which is subtracted from
        every Σ γ^{t'−t} r̃_{t'}; None means zeros.

        The samples depend only on θ, the settings, ``seed`` (a whole number below 2³¹), the number of the example in
        the corpus and the number of the trajectory.
        """

    def run(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Results:
        """Run the greedy policy (eq. 2), without exploration and oracle."""
