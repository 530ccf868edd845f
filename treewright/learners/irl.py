"""Inverse reinforcement learning: find rewards for which the expert's plans are the best ones.

An action earns the reward θᵀφ(x, a), a *planner* finds the plans with the highest reward, and a treebank has the plans
of an expert. Learning looks for weights θ with which the planner's plans are similar to the expert's. Each method has
its own measure, the *dissimilarity* J. The algorithms and equations are those of Neu & Szepesvári, *Training parsers by
inverse reinforcement learning* (2009). All methods are one algorithm, their Algorithm 1, :func:`incremental_pass` here:

    θ ← g(g⁻¹(θ) + α_k·(Δ − λθ))        Δ = the mean of computeUpdate over the corpus

and differ in ``compute_update``, in the link function g, and in the step size α_k (:mod:`treewright.learners.steps`):

>>> for row in irl_table():
...     print(f"{row['learner']:16} {row['g']:9} {row['planner']:17} {row['source']}")
projection       identity  optimal_features  Alg. 2, eq. 9–12
mwal             exp       optimal_features  Alg. 3, eq. 13–14
irl-perceptron   identity  optimal_features  Alg. 3, §4.4
max-margin       identity  optimal_features  Alg. 4, eq. 15
policy-matching  identity  policy_matching   Alg. 5, eq. 16–19
maxent           identity  n_best_features   Alg. 6, §4.2.5

The column ``planner`` names the function of :class:`~treewright.search.Planner` that a method uses. Training, with
passes, development data and checkpoints, is in :func:`~treewright.learners.train_irl`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, TaskError
from treewright.learners.registry import PASSES, Family, Learner, register
from treewright.learners.steps import BATCH, NORMALISE, STEP, STEPS, TEMPERATURE, AdaGrad, StepRule, make_step
from treewright.policies.updates import AVERAGED, MARGIN, STEP_SIZE
from treewright.search.planning import Features, Planner
from treewright.settings import Real, Setting, Whole

__all__ = [
    "IRL",
    "MWAL",
    "InverseRL",
    "Learned",
    "MaxEnt",
    "MaxMargin",
    "PerceptronIRL",
    "PolicyMatching",
    "Projection",
    "begin",
    "dissimilarity",
    "incremental_pass",
    "irl_table",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: g(g⁻¹(θ) + change), by the name of g
LINKS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "identity": lambda θ, change: θ + change,  # g(x) = x: additive updates
    "exp": lambda θ, change: θ * np.exp(change),  # g(x) = exp x, g⁻¹ = log: multiplicative updates
}

_PASS = 2000.0  # with step_size None: the step size of the first pass times the expert's actions in the corpus
_LARGEST_STEP = 0.2
_ADAGRAD_STEP = 0.05  # with step_size None and AdaGrad
_AT_ONCE = 256  # instances per call of the planner; after each call, progress is reported and Ctrl-C works

PATIENCE = Setting(
    "patience",
    Whole(1),
    "End after this many passes that were no better on development data",
    none="make all passes",
    none_written=0,
)
IRL_STEP_SIZE = replace(
    STEP_SIZE,
    none="0.05 with adagrad, otherwise by the size of the corpus (for grammars)",
    none_written=0,
)
L2 = Setting("l2", Real(0), "Regularisation towards small weights; 0: none")
L1 = Setting("l1", Real(0), "Regularisation towards few weights; 0: none")
N_BEST = Setting("n_best", Whole(0), "maxent: the number of best plans to learn from; 0: all plans")
LEAST = Setting(
    "least",
    Real(above=0),
    "mwal: the initial value of weights that would be 0",
    why="a weight of 0 cannot be changed by multiplication",
)


@dataclass(frozen=True, kw_only=True)
class InverseRL(Learner):
    """The base class of all methods: the settings of Algorithm 1.

    * ``passes``: the number of passes over the corpus. ``patience``: training ends early after this many passes in a
      row without an improvement on development data; None runs all passes.
    * ``step``: the rule of the step size α_k: ``constant``, ``1/k``, ``1/sqrt(k)``, ``adagrad`` or ``irprop``, with k
      the number of the pass, and ``step_size``, its constant (for ``adagrad`` and ``irprop`` the first step of each
      weight; 0.05 and 0.1 are usual). The paper tried constants from 0.01 to 10 for each method. With None, the
      constant depends on the size of the corpus: see :meth:`sized`. ``projection`` is the rule of the Projection
      method.
    * ``normalise``: Δ is scaled to length 1 before regularisation and step size are applied, as in the paper (§6).
    * ``l2``: λ: minimise J + λ/2·‖θ‖². ``l1``: minimise also l1·‖θ‖₁, for weights of which many are 0: after each step
      all weights move towards 0 by α_k·l1, and stop there (a *proximal* step: Duchi & Singer 2009). Both change every
      weight in every update.
    * ``averaged``: the result is the mean of the weights after each update.
    * ``batch``: the number of instances per update, drawn again in each pass; None for the whole corpus, as in the
      paper. Without l2 and l1 the cost of such an update is proportional to the number of features that it changes.

    Your own method needs ``compute_update``, a ``name``, and an entry in ``IRL``.
    """

    about: ClassVar[str] = ""
    settings: ClassVar[tuple[Setting, ...]] = (
        PASSES,
        PATIENCE,
        STEP,
        IRL_STEP_SIZE,
        NORMALISE,
        L2,
        L1,
        AVERAGED,
        BATCH,
    )
    link: ClassVar[str] = "identity"
    sign: ClassVar[float] = 1.0  # −1 if the method learns negated scores

    passes: int = 100
    patience: int | None = None
    step: str = "1/sqrt(k)"
    step_size: float | None = 1.0
    normalise: bool = True
    l2: float = 0.0
    l1: float = 0.0
    averaged: bool = False
    batch: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if STEPS[self.step].whole and self.batch is not None:
            raise ConfigError(
                f"{self.step!r} compares updates of the whole corpus: set batch to None (--batch 0 on the command "
                "line), or set step = '1/sqrt(k)'",
                setting="step",
                value=self.step,
            )
        if STEPS[self.step].adaptive and self.l1:
            raise ConfigError(
                f"needs one step size for all weights, not {self.step!r}: set step = '1/sqrt(k)'",
                setting="l1",
                value=self.l1,
            )
        if self.step_size is None and (self.batch is None or self.normalise):
            raise ConfigError(
                "must be a number if an update is normalised, or has the whole corpus: set it, or batch = 1 and "
                "normalise = False",
                setting="step_size",
                value=None,
            )
        if self.step == "projection" and (self.l2 != 1.0 or self.normalise):
            raise ConfigError(
                "'projection' makes a projection of steps with l2 = 1 and normalise = False only (§4.4): set these, or "
                "another step",
                setting="step",
                value=self.step,
            )

    def sized(self, planner: Planner) -> Self:
        """The learner with a number as its step size.

        None becomes 2,000·b/N, at most 0.2, with b the number of instances per update and N the number of the expert's
        actions in the corpus. So the steps of a pass add up to the same for all corpora, and weights move as far from
        the initial ones in a pass over 750 sentences as over 5,000. This was found for grammars, whose plans have one
        feature for each action. AdaGrad adapts its steps itself: for it, None is 0.05.
        """
        if self.step_size is not None:
            return self
        if self.step == AdaGrad.name:
            return replace(self, step_size=_ADAGRAD_STEP)
        assert self.batch is not None
        actions = float(planner.expert_features(np.arange(len(planner), dtype=np.int64)).amount.sum())
        return replace(self, step_size=min(_LARGEST_STEP, _PASS * self.batch / max(actions, 1.0)))

    def compute_update(self, planner: Planner, θ: Floats, which: Ints, jobs: int = 1) -> Features:
        """``computeUpdate``, summed over the instances ``which``; the value is the sum of their dissimilarities."""
        raise NotImplementedError

    @property
    def needs(self) -> str:
        """The planner's function that the updates rest upon."""
        return "optimal_features"

    def first_weights(self, θ: Floats) -> Floats:
        """The initial scores, given the planner's."""
        return np.array(θ, np.float64)

    def measure(self, update: Features, n: int) -> float:
        """J, given the sum of the updates of n instances."""
        return update.value / n

    def penalty(self, θ: Floats) -> float:
        """The regularisation term of J (§4.3, with λ/2 instead of λ, which matches the update −λθ)."""
        return 0.5 * self.l2 * float(θ @ θ) + self.l1 * float(np.abs(θ).sum())


def _towards_expert(planner: Planner, θ: Floats, which: Ints, planned: Features) -> Features:
    """Σ Φ_E − Σ Φ of the plans, and the value of the plans minus the value of the expert's."""
    expert = planner.expert_features(which)
    at, amount = np.concatenate([expert.at, planned.at]), np.concatenate([expert.amount, -planned.amount])
    return Features(at, amount, planned.value - planner.expert_values(θ, which))


@dataclass(frozen=True, kw_only=True)
class Projection(InverseRL):
    """Match the expert's feature expectations by projection (Abbeel & Ng 2004; eq. 9–12, Algorithm 2).

    J(θ) = ‖Φ̄_θ − Φ̄_E‖² (eq. 9), where Φ̄_θ are the mean features of the best plans. The update is Φ̄_E − Φ̄_θ − θ (eq. 10)
    with its own step sizes, so step, normalise, l2 (which is 1), l1 and batch are fixed. The first update discards the
    planner's initial weights: see :class:`~treewright.learners.steps.ProjectionStep`. The weights go to 0 as a mixture
    of the policies approaches the expert, so give development data to choose the best pass.
    """

    name: ClassVar[str] = "projection"
    source: ClassVar[str] = "Alg. 2, eq. 9–12"
    about: ClassVar[str] = "match the expert's feature counts, by projection; has its own steps"

    step: str = "projection"
    normalise: bool = False
    l2: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step != "projection":
            raise ConfigError(
                f"cannot be {self.step!r} with the learner 'projection', which computes its own step sizes (eq. 11): "
                "leave it out, or take the learner 'irl-perceptron', which has the same update",
                setting="step",
                value=self.step,
            )

    def compute_update(self, planner: Planner, θ: Floats, which: Ints, jobs: int = 1) -> Features:
        """Algorithm 2: f(R, τ_E) − f(R, τ*)."""
        return _towards_expert(planner, θ, which, planner.optimal_features(θ, which, jobs=jobs))

    def measure(self, update: Features, n: int) -> float:
        """Equation 9. It is one distance for the whole corpus, and not a sum over instances."""
        total = np.bincount(update.at, update.amount)
        return float(total @ total) / n**2

    def penalty(self, θ: Floats) -> float:
        """Zero: λ = 1 is part of the projection here."""
        return 0.0


@dataclass(frozen=True, kw_only=True)
class MWAL(InverseRL):
    """Multiplicative weights for apprenticeship learning (Syed & Schapire 2008; eq. 13–14, Algorithm 3).

    J(θ) = θᵀ(Φ̄_θ − Φ̄_E) (eq. 13) with θ > 0, and g = exp: it assumes that the signs of all weights are known. Scores
    are logarithms of probabilities, so the method learns *negated* scores, all positive, of negated features. The
    planner gets, and training returns, the scores themselves, all negative.

    Multiplication does not change a weight of 0. So a weight whose initial value is 0 (a rule of relative frequency 1,
    whose logarithm is 0) or has the other sign begins with ``least``. If all initial weights of the planner are zero,
    all begin with 1.
    """

    name: ClassVar[str] = "mwal"
    source: ClassVar[str] = "Alg. 3, eq. 13–14"
    about: ClassVar[str] = "the perceptron with multiplicative updates; all scores stay negative"
    link: ClassVar[str] = "exp"
    sign: ClassVar[float] = -1.0

    settings: ClassVar[tuple[Setting, ...]] = (*InverseRL.settings, LEAST)
    least: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.l1:
            raise ConfigError(
                "must be 0 with the learner 'mwal', which multiplies weights and cannot make them 0: set l2 instead",
                setting="l1",
                value=self.l1,
            )

    def first_weights(self, θ: Floats) -> Floats:
        """The planner's scores, made negative."""
        return -np.maximum(-θ, self.least) if θ.any() else -np.ones(len(θ))

    def compute_update(self, planner: Planner, θ: Floats, which: Ints, jobs: int = 1) -> Features:
        """Algorithm 3: −(f(R, τ_E) − f(R, τ*)), the difference of negated features (eq. 14)."""
        update = _towards_expert(planner, θ, which, planner.optimal_features(θ, which, jobs=jobs))
        return update._replace(amount=-update.amount)


@dataclass(frozen=True, kw_only=True)
class PerceptronIRL(InverseRL):
    """Towards the expert's plans, away from the best ones (Collins & Roark 2004; §4.4, Algorithm 3 without the minus).

    J(θ) = θᵀ(Φ̄_θ − Φ̄_E) (eq. 13): the value of the best plans minus the value of the expert's. It is Max-Margin with
    a margin of 0. The perceptron of Collins (2002) has ``batch=1, normalise=False, step="constant", averaged=True``.
    """

    name: ClassVar[str] = "irl-perceptron"
    source: ClassVar[str] = "Alg. 3, §4.4"
    about: ClassVar[str] = "towards the expert's plans, away from the best ones"

    def compute_update(self, planner: Planner, θ: Floats, which: Ints, jobs: int = 1) -> Features:
        """Algorithm 3 with the features as they are: f(R, τ_E) − f(R, τ*)."""
        return _towards_expert(planner, θ, which, planner.optimal_features(θ, which, jobs=jobs))


@dataclass(frozen=True, kw_only=True)
class MaxMargin(InverseRL):
    """The expert's plans must be best by a margin (Ratliff et al. 2006, Taskar et al. 2004; eq. 15, Algorithm 4).

    In training, the expert's actions are penalised: the best plans are those for r − ℓ, with ℓ(a) = c·f(R, τ_E): the
    ``margin`` c times the number of times that the expert uses the rule. 0 is the perceptron, 0.5 the paper's choice.
    J(θ) = max (r − ℓ) − r(τ_E) + λ/2·‖θ‖². It is negative where the margin is satisfied, because the constant c·Σ f(R,
    τ_E)² that would make it a hinge is omitted.
    """

    name: ClassVar[str] = "max-margin"
    source: ClassVar[str] = "Alg. 4, eq. 15"
    about: ClassVar[str] = "the expert's plans must be best by a margin"

    settings: ClassVar[tuple[Setting, ...]] = (*InverseRL.settings, MARGIN)
    margin: float = 0.5

    def compute_update(self, planner: Planner, θ: Floats, which: Ints, jobs: int = 1) -> Features:
        """Algorithm 4: f(R, τ_E) − f(R, τ*), where τ* is the best for θ' = θ − c·f(R, τ_E)."""
        return _towards_expert(planner, θ, which, planner.optimal_features(θ, which, margin=self.margin, jobs=jobs))


@dataclass(frozen=True, kw_only=True)
class PolicyMatching(InverseRL):
    """Do what the expert does in each state (Neu & Szepesvári 2007; eq. 16–19, Algorithm 5).

    J(θ) = ½·Σ (π_θ(a|x) − π_E(a|x))² over the states of the expert's plans (eq. 16), per sentence. π_θ is the Boltzmann
    policy (eq. 17): the probability of an action is proportional to the exponential of the value of the best plan after
    it, divided by the ``temperature`` η. At small temperatures the policy is nearly optimal, and the gradient vanishes
    far from the expert.
    """

    name: ClassVar[str] = "policy-matching"
    source: ClassVar[str] = "Alg. 5, eq. 16–19"
    about: ClassVar[str] = "do what the expert does in each state, with a Boltzmann policy"

    settings: ClassVar[tuple[Setting, ...]] = (*InverseRL.settings, TEMPERATURE)
    temperature: float = 0.1

    @property
    def needs(self) -> str:
        """The planner's function that the updates rest upon."""
        return "policy_matching"

    def compute_update(self, planner: Planner, θ: Floats, which: Ints, jobs: int = 1) -> Features:
        """Algorithm 5: Σ (π_E(a|x) − π_θ(a|x))·∂π_θ(a|x) (eq. 18)."""
        return planner.policy_matching(θ, which, self.temperature, jobs=jobs)


@dataclass(frozen=True, kw_only=True)
class MaxEnt(InverseRL):
    """Make the expert's plans probable (Ziebart et al. 2008; §4.2.5, Algorithm 6).

    The probability of a plan is proportional to the exponential of its value, among the ``n_best`` plans (reranking:
    Charniak & Johnson 2005), or with ``n_best`` = 0 among all plans, exactly. J(θ) = −(1/|Λ|)·Σ log P_θ(τ_E).
    """

    name: ClassVar[str] = "maxent"
    source: ClassVar[str] = "Alg. 6, §4.2.5"
    about: ClassVar[str] = "make the expert's plans probable, among the n best or (n_best = 0) all"

    settings: ClassVar[tuple[Setting, ...]] = (*InverseRL.settings, N_BEST)
    n_best: int = 50

    @property
    def needs(self) -> str:
        """The planner's function that the updates rest upon."""
        return "n_best_features" if self.n_best else "expected_features"

    def compute_update(self, planner: Planner, θ: Floats, which: Ints, jobs: int = 1) -> Features:
        """Algorithm 6: f(R, τ_E) − Σ p(τ)·f(R, τ)."""
        if self.n_best:
            expected = planner.n_best_features(θ, which, self.n_best, jobs=jobs)
        else:
            expected = planner.expected_features(θ, which, jobs=jobs)
        return _towards_expert(planner, θ, which, expected)


#: the methods of inverse reinforcement learning by name; you can add your own, as in ``LEARNERS``
IRL: dict[str, type[InverseRL]] = {
    row.name: row for row in (Projection, MWAL, PerceptronIRL, MaxMargin, PolicyMatching, MaxEnt)
}


def _described(learner: InverseRL) -> dict[str, str]:
    return {
        "learner": learner.name,
        "what it does": learner.about,
        "g": learner.link,
        "planner": learner.needs,
        "source": learner.source,
    }


FAMILY = register(
    Family(
        "planning",
        "Inverse reinforcement learning (Neu & Szepesvári 2009)",
        "whole plans",
        InverseRL,
        IRL,
        _described,
    )
)


def irl_table() -> list[dict[str, str]]:
    """The named methods and their requirements."""
    return FAMILY.table()


@dataclass
class Learned:
    """The state that updates change: the scores for the planner, and the state of step sizes and averaging.

    ``totals`` are the sums for averaging, Σ (t − 1)·(the change of update t), as in :mod:`treewright.policies.updates`:
    of the weights after updates 1 … T that change is in all but the first t − 1. So the cost of an update is
    proportional to the number of weights that it changes, and the mean is θ_T − totals / T.
    """

    θ: Floats
    totals: Floats  # empty if the mean is not needed
    updates: int
    rule: StepRule

    def weights(self) -> Floats:
        """The weights for decoding: the last ones themselves, or their mean if they are averaged."""
        return self.θ - self.totals / self.updates if len(self.totals) and self.updates else self.θ

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that the next update depends on, for a checkpoint."""
        steps = {f"step_{name}": array for name, array in self.rule.arrays.items()}
        return {"weights": self.θ, "totals": self.totals, "updates": np.array([self.updates], np.int64), **steps}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the result of :meth:`arrays`."""
        self.θ, self.totals, self.updates = arrays["weights"], arrays["totals"], int(arrays["updates"][0])
        self.rule.arrays = {name: arrays[f"step_{name}"] for name in self.rule.arrays}


def begin(learner: InverseRL, planner: Planner) -> Learned:
    """The state before the first update."""
    θ = np.asarray(planner.initial(), np.float64)
    if θ.shape != (planner.size,):
        raise TaskError(f"the planner has {planner.size} weights, but its initial weights have the shape {θ.shape}")
    totals = np.zeros(planner.size if learner.averaged else 0)
    step_size = learner.sized(planner).step_size
    assert step_size is not None
    return Learned(learner.first_weights(θ), totals, 0, make_step(learner.step, step_size, planner.size))


def incremental_pass(
    learner: InverseRL,
    planner: Planner,
    learned: Learned,
    k: int,
    *,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> float:
    """Algorithm 1, the generic incremental training algorithm: its pass k, which changes ``learned``.

    Returns J, regularised, of the weights that the planner used: with one update for the whole corpus, J of the weights
    before it. ``progress`` receives the number of finished instances.
    """
    n, done = len(planner), 0
    θ, J = learned.θ, learner.penalty(learned.θ)
    # regularisation changes all weights; without it, a small batch changes only a few
    sparse = learner.batch is not None and learner.batch < n and not learner.l2 and not learner.l1

    def tell(instances: int) -> None:
        if progress is not None:
            progress(done + instances)

    for which in _batches(n, learner.batch, [seed, k]):
        update = _summed_update(learner, planner, θ, which, jobs, tell)
        J += learner.measure(update, len(which)) * len(which) / n
        done += len(which)
        at: Any = update.at if sparse else slice(None)
        difference = (update.amount if sparse else _dense(update, planner.size)) / len(which)
        if learner.normalise:
            length = float(np.linalg.norm(difference))
            difference = difference / length if length > 0.0 else difference
        before = learner.sign * θ[at]
        with np.errstate(over="ignore", invalid="ignore"):  # checked below, with a better message
            Δ = difference - learner.l2 * before
            after = LINKS[learner.link](before, learned.rule.change(k, Δ, difference, at))
        if learner.l1:
            after = np.sign(after) * np.maximum(np.abs(after) - learned.rule.size(k) * learner.l1, 0.0)
        if not np.isfinite(after).all():
            step_size = learner.sized(planner).step_size
            raise ConfigError(
                f"{step_size:g} is too large for the learner {learner.name!r}: in pass {k} weights have grown beyond "
                "all numbers; take a smaller one, or normalise = True",
                setting="step_size",
                value=step_size,
            )
        if learner.averaged:
            learned.totals[at] += learned.updates * learner.sign * (after - before)
        θ[at] = learner.sign * after
        learned.updates += 1
    return J


def dissimilarity(learner: InverseRL, planner: Planner, θ: Floats, *, jobs: int = 1) -> float:
    """J of a method over all instances of a planner, regularised, for the planner's weights."""
    everything = np.arange(len(planner), dtype=np.int64)
    update = _summed_update(learner, planner, np.asarray(θ, np.float64), everything, jobs, None)
    return learner.measure(update, len(planner)) + learner.penalty(θ)


def _batches(n: int, batch: int | None, seeds: list[int]) -> Iterator[Ints]:
    """The instances of each update: all of them, or ``batch`` at a time in random order."""
    if batch is None or batch >= n:
        yield np.arange(n, dtype=np.int64)
        return
    order = np.random.default_rng(seeds).permutation(n).astype(np.int64)
    for first in range(0, n, batch):
        yield order[first : first + batch]


def _summed_update(
    learner: InverseRL, planner: Planner, θ: Floats, which: Ints, jobs: int, tell: Callable[[int], None] | None
) -> Features:
    """Σ computeUpdate over some instances: each index once, in order, and only where the sum is not 0."""
    at, amount, value = np.zeros(0, np.int64), np.zeros(0), 0.0
    for first in range(0, len(which), _AT_ONCE):
        part = which[first : first + _AT_ONCE]
        update = learner.compute_update(planner, θ, part, jobs)
        if len(update.at) and not 0 <= update.at.min() <= update.at.max() < planner.size:
            raise TaskError(f"the planner has {planner.size} weights, but some of its features are not among them")
        if not np.isfinite(update.amount).all() or not math.isfinite(update.value):
            raise TaskError(
                f"learner {learner.name!r}: weights have become too large to compute with (at instances "
                f"{part.min()} to {part.max()} values are not finite numbers); take a step_size smaller than "
                f"{learner.sized(planner).step_size:g}, or begin with smaller weights"
            )
        value += float(update.value)
        places, inverse = np.unique(np.concatenate([at, update.at]), return_inverse=True)
        sums = np.bincount(inverse, np.concatenate([amount, update.amount]), len(places))
        at, amount = places[sums != 0.0], sums[sums != 0.0]
        if tell is not None:
            tell(first + len(part))
    return Features(at, amount, value)


def _dense(features: Features, size: int) -> Floats:
    dense = np.zeros(size)
    dense[features.at] = features.amount
    return dense
