"""The interface between inverse reinforcement learning and its planners.

A *planner* holds a corpus: for each instance (a sentence) the rewardless decision process that builds its analyses, and
the plan that the expert followed (the treebank's analysis). A *plan* is a sequence of actions from the initial state to
a final one; its features are the sum of the features of its actions, and its value is their inner product with the
weights θ, plus a term that is not learned (a fixed lexicon, say).

The interface does not define actions or their features. A planner for grammars may give an action only the feature of
its rule, or features of the anchored action (rule, start, split, end, words): the learners do not depend on it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Features", "Planner"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Features(NamedTuple):
    """A sparse sum of feature vectors (an index may occur repeatedly), and the sum of a value over the instances."""

    at: Ints
    amount: Floats
    value: float


class Planner(Protocol):
    """Plans for all instances of a corpus. ``which`` are numbers of instances; sums are over these."""

    @property
    def size(self) -> int:
        """The number of weights."""

    def __len__(self) -> int:
        """The number of instances."""

    def initial(self) -> Floats:
        """The initial weights: logarithms of relative frequencies, or zeros."""

    def expert_features(self, which: Ints) -> Features:
        """Σ Φ of the experts' plans (eq. 20, without the division); the value is 0."""

    def optimal_features(self, θ: Floats, which: Ints, *, margin: float = 0.0, jobs: int = 1) -> Features:
        """Σ Φ of the best plans; the value is the sum of their values.

        With a ``margin`` c, plans are the best for the rewards of Algorithm 4, r(x, a) − c·f(φ(a), τ_E), which penalise
        the expert's actions; the value includes the penalty.
        """

    def n_best_features(self, θ: Floats, which: Ints, n: int, *, jobs: int = 1) -> Features:
        """Σ of E[Φ] over the n best plans, each as probable as the exponential of its value (Algorithm 6).

        The value is the sum of the logarithms of the sums of these exponentials.
        """

    def expected_features(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Features:
        """Σ of E[Φ] over all plans; the value is Σ log Z."""

    def policy_matching(self, θ: Floats, which: Ints, temperature: float, *, jobs: int = 1) -> Features:
        """Σ of eq. 18 over the states of the experts' plans, without the division; the value is J of eq. 16, summed."""

    def expert_values(self, θ: Floats, which: Ints) -> float:
        """Σ of the values of the experts' plans."""
