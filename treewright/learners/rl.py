"""Reinforcement learning: a policy acts, observes rewards, and makes actions with high rewards more probable.

An *environment* (:mod:`treewright.search.environment`) has examples on which a policy acts, and rewards. Learning looks
for weights θ that maximise the reward of the Boltzmann policy π_θ(a | s) ∝ exp(θ·φ(a, s)/temp). The algorithms and
equations are those of Jiang, Teichert, Daumé III & Eisner, *Learned prioritization for trading off accuracy and speed*
(2012). All of them are variants of :func:`policy_gradient_pass`, which draws trajectories and makes this update by
their mean (eq. 9):

    θ ← θ + α_k · Σ_t (Σ_{t'≥t} γ^{t'−t} r̃_{t'}) ∇log π_θ(a_t | s_t)

They differ in the rewards r̃, in the discount γ, and in the share δ of steps at which an oracle acts (eq. 11), which
decreases from pass to pass or is constant:

>>> for row in rl_table():
...     print(f"{row['learner']:15} {row['credit']:9} {row['γ']:4} {row['δ']:13} {row['source']}")
policy-gradient terminal  1    constant:0.0  §3.2, eq. 6–7
apprenticeship  unit      0    constant:1.0  §4.2, eq. 10
D-              shaped    1    constant:1.0  §6.2
I-              shaped    0    constant:1.0  §6.2
D+              shaped    1    decay:0.2     §5, eq. 11
I+              shaped    0    decay:0.2     §5, eq. 11

Your own variant takes one line: ``PolicyGradient(credit="shaped", discount=0.5, infusion="decay:0.1")``. Training, with
passes, development data and checkpoints, is in :func:`~treewright.learners.rl_training.train_rl`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, TaskError
from treewright.learners.irl import Learned
from treewright.learners.registry import PASSES, Family, Learner, make_learner, register
from treewright.learners.schedules import SCHEDULES, Constant, Decay, Schedule
from treewright.learners.steps import BATCH, NORMALISE, STEP, STEPS, TEMPERATURE, make_step
from treewright.policies.updates import AVERAGED, STEP_SIZE
from treewright.search.environment import Credit, Environment, Rollouts
from treewright.search.hashing import mix
from treewright.search.planning import Features
from treewright.settings import Choice, Flag, Real, Setting, Whole

__all__ = [
    "RL",
    "Apprenticeship",
    "DMinus",
    "DPlus",
    "Experience",
    "IMinus",
    "IPlus",
    "LearnedPolicy",
    "PolicyGradient",
    "begin",
    "make_rl",
    "mean_reward",
    "policy_gradient_pass",
    "rl_table",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: the supported rules of :mod:`treewright.learners.steps`: the others compare one gradient with the next, which is
#: meaningless if both are estimates
RULES = tuple(name for name, rule in STEPS.items() if not rule.whole)

CREDIT = Setting(
    "credit",
    Choice({"terminal": "at the end", "shaped": "as soon as they are earned", "unit": "1 for each action"}),
    "Which rewards count",
)
DISCOUNT = Setting("discount", Real(0, 1), "γ: the factor by which a reward decreases for each step back in time")
INFUSION = Setting("infusion", SCHEDULES, "δ: the oracle's share of steps, by passes", metavar="SCHEDULE")
COOLING = Setting("cooling", Real(above=0, high=1), "The factor of the temperature after each pass; 1 keeps it")
TRAJECTORIES = Setting("trajectories", Whole(1), "Trajectories of each example in a pass")
BASELINE = Setting("baseline", Flag(), "Subtract the usual reward of the example from rewards")

_AT_ONCE = 256  # examples per call of the environment; after each call, progress is reported and Ctrl-C works
_COLDEST = 1e-6


@dataclass(frozen=True, kw_only=True)
class PolicyGradient(Learner):
    """REINFORCE (Williams 1992) with all its choices as settings; by default with the reward at the end (eq. 6–7).

    * ``credit``: the rewards r̃_t that count: the ``terminal`` one alone (eq. 3), or parts of it as soon as they are
      earned (``shaped``, eq. 8), or 1 for each action taken (``unit``).
    * ``discount``: γ: a reward t steps after an action counts γ^t times for that action. With 1
      it gets credit for all that comes after it, with 0 for its immediate reward only (eq. 9).
    * ``infusion``: δ, the share of steps at which the oracle acts (eq. 11), a schedule by passes as for β of imitation
      (:mod:`treewright.learners.schedules`): ``decay:0.2`` is 0.8^epoch, 1 in the first pass; 0 is no oracle at all.
    * ``temperature``: temp of eq. 4, times ``cooling`` after each pass: high ones explore, low ones exploit.
    * ``trajectories``: the number of trajectories per example and pass; one while δ is 1, because the oracle is
      deterministic.
    * ``baseline``: subtract the usual reward of the example from the rewards to come: the mean reward of its
      trajectories in the previous pass, or of the greedy policy in the first pass. The expectation of the gradient
      stays the same, and its variance becomes much smaller. It needs a discount of 1 and no oracle.
    * ``passes`` over the examples, in random order; ``batch``: the number of examples per update, None for all of them.
      Only the examples of one update can be distributed over several ``jobs``.
    * ``step``: the rule of the step size α_k, ``constant``, ``1/k`` or ``1/sqrt(k)``, with k the number of the pass;
      ``step_size``: its constant. ``normalise``: the gradient is scaled to length 1 before the step size is applied.
    * ``averaged``: the result is the mean of the weights after each update.
    """

    name: ClassVar[str] = "policy-gradient"
    source: ClassVar[str] = "§3.2, eq. 6–7"
    about: ClassVar[str] = "make trajectories with high rewards more probable"
    settings: ClassVar[tuple[Setting, ...]] = (
        CREDIT,
        DISCOUNT,
        INFUSION,
        TEMPERATURE,
        COOLING,
        TRAJECTORIES,
        BASELINE,
        PASSES,
        BATCH,
        replace(STEP, values=Choice(*RULES)),
        STEP_SIZE,
        NORMALISE,
        AVERAGED,
    )

    credit: Credit = "terminal"
    discount: float = 1.0
    infusion: Schedule = field(default_factory=lambda: Constant(0.0))
    temperature: float = 1.0
    cooling: float = 1.0
    trajectories: int = 5
    baseline: bool = False
    passes: int = 25
    batch: int | None = 1
    step: str = "1/sqrt(k)"
    step_size: float = 1.0
    normalise: bool = False
    averaged: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        coldest = self.temperature * self.cooling ** (self.passes - 1)
        if coldest < _COLDEST:
            raise ConfigError(
                f"{self.cooling:g} makes the temperature fall to {coldest:g} in the last pass, which is too cold to "
                f"compute with: keep it above {_COLDEST:g}",
                setting="cooling",
                value=self.cooling,
            )
        if self.baseline and (self.discount != 1.0 or self.credit == "unit"):
            raise ConfigError(
                "is a mean of whole rewards, and goes with discount = 1 and credit 'terminal' or 'shaped': set these, "
                "or leave it out",
                setting="baseline",
                value=True,
            )
        if self.baseline and any(self.infusion(k) > 0.0 for k in range(1, self.passes + 1)):
            raise ConfigError(
                "makes what the oracle does less probable where that earns less than usual: set infusion = 0, or leave "
                "it out",
                setting="baseline",
                value=True,
            )


@dataclass(frozen=True, kw_only=True)
class Apprenticeship(PolicyGradient):
    """Apprenticeship by classification: make the oracle's actions probable on the oracle's path (§4.2, eq. 10).

    It is policy gradient with the oracle acting at every step (δ = 1), each of whose actions counts 1.
    """

    name: ClassVar[str] = "apprenticeship"
    source: ClassVar[str] = "§4.2, eq. 10"
    about: ClassVar[str] = "make the oracle's actions probable, regardless of rewards"
    credit: Credit = "unit"
    discount: float = 0.0
    infusion: Schedule = field(default_factory=lambda: Constant(1.0))


@dataclass(frozen=True, kw_only=True)
class DMinus(PolicyGradient):
    """D−: delayed reward (γ = 1) on the oracle's trajectories only (§6.2)."""

    name: ClassVar[str] = "D-"
    source: ClassVar[str] = "§6.2"
    about: ClassVar[str] = "learn from the oracle's trajectories, by all rewards to come"
    credit: Credit = "shaped"
    infusion: Schedule = field(default_factory=lambda: Constant(1.0))


@dataclass(frozen=True, kw_only=True)
class IMinus(DMinus):
    """I−: immediate reward (γ = 0) on the oracle's trajectories only (§6.2): similar to apprenticeship."""

    name: ClassVar[str] = "I-"
    about: ClassVar[str] = "learn from the oracle's trajectories, by immediate rewards"
    discount: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DPlus(DMinus):
    """D+: oracle-infused policy gradient (§5) with delayed reward (γ = 1), and δ = 0.8^epoch."""

    name: ClassVar[str] = "D+"
    source: ClassVar[str] = "§5, eq. 11"
    about: ClassVar[str] = "wean the policy off the oracle, by all rewards to come"
    infusion: Schedule = field(default_factory=lambda: Decay(0.2))


@dataclass(frozen=True, kw_only=True)
class IPlus(DPlus):
    """I+: oracle-infused policy gradient (§5) with immediate reward (γ = 0), the paper's best."""

    name: ClassVar[str] = "I+"
    about: ClassVar[str] = "wean the policy off the oracle, by immediate rewards"
    discount: float = 0.0


#: the reinforcement learners by name; you can add your own, as in ``LEARNERS``
RL: dict[str, type[PolicyGradient]] = {
    row.name: row for row in (PolicyGradient, Apprenticeship, DMinus, IMinus, DPlus, IPlus)
}


def make_rl(learner: str | PolicyGradient | dict[str, Any]) -> PolicyGradient:
    """Return a learner, given its name, its settings (a dictionary with ``name``), or the learner itself.

    >>> make_rl("i+").discount
    0.0
    >>> make_rl({"name": "D+", "infusion": "decay:0.5"}).infusion(2)
    0.5
    """
    return make_learner(learner, PolicyGradient)


def _described(learner: PolicyGradient) -> dict[str, str]:
    return {
        "learner": learner.name,
        "what it does": learner.about,
        "credit": learner.credit,
        "γ": f"{learner.discount:g}",
        "δ": str(learner.infusion),
        "source": learner.source,
    }


FAMILY = register(
    Family(
        "reinforcement",
        "Reinforcement learning (Jiang, Teichert, Daumé III & Eisner 2012)",
        "rewards",
        PolicyGradient,
        RL,
        _described,
    )
)


def rl_table() -> list[dict[str, str]]:
    """The named learners and their choices."""
    return FAMILY.table()


@dataclass
class LearnedPolicy(Learned):
    """The state that updates change: the weights, their averages, and the usual reward of each example for a baseline.

    ``usual`` is empty where there is no baseline.
    """

    usual: Floats

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that the next update depends on, for a checkpoint."""
        return {**super().arrays(), "usual": self.usual}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the result of :meth:`arrays`."""
        super().restore(arrays)
        self.usual = arrays["usual"]


class Experience(NamedTuple):
    """The statistics of a pass: means over its trajectories, their number, and the number of updates."""

    reward: float
    accuracy: float
    time: float
    trajectories: int
    updates: int


def begin(learner: PolicyGradient, environment: Environment, *, jobs: int = 1) -> LearnedPolicy:
    """The state before the first update."""
    θ = np.array(environment.initial(), np.float64)
    if θ.shape != (environment.size,):
        raise TaskError(f"the environment has {environment.size} weights, but its initial weights have shape {θ.shape}")
    totals = np.zeros(environment.size if learner.averaged else 0)
    everything = np.arange(len(environment) if learner.baseline else 0, dtype=np.int64)
    usual = environment.run(θ, everything, jobs=jobs).reward if learner.baseline else np.zeros(0)
    return LearnedPolicy(θ, totals, 0, make_step(learner.step, learner.step_size, environment.size), usual)


def policy_gradient_pass(
    learner: PolicyGradient,
    environment: Environment,
    learned: LearnedPolicy,
    k: int,
    *,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Experience:
    """Oracle-infused policy gradient (§5): its pass k = 1, 2, …, which changes ``learned``.

    ``progress`` receives the number of finished examples.
    """
    n, done, δ = len(environment), 0, learner.infusion(k)
    settings: dict[str, Any] = {
        "temperature": learner.temperature * learner.cooling ** (k - 1),
        "infusion": δ,
        "discount": learner.discount,
        "credit": learner.credit,
        "trajectories": 1 if δ == 1.0 else learner.trajectories,
        "seed": int(mix(seed, k)),
        "jobs": jobs,
    }

    def roll(which: Ints) -> Rollouts:
        nonlocal done
        usual = learned.usual[which] if learner.baseline else None
        rollouts = environment.rollouts(learned.θ, which, baseline=usual, **settings)
        done += len(which)
        if progress is not None:
            progress(done)
        return rollouts

    earned, updates = np.zeros(3), 0
    order = np.random.default_rng([seed, k]).permutation(n).astype(np.int64)
    for examples in _parts(order, learner.batch or n):
        parts = [roll(which) for which in _parts(examples, _AT_ONCE)]
        gradient = _add_up([part.gradient for part in parts], environment.size)
        _climb(learner, learned, k, gradient.at, gradient.amount / (len(examples) * settings["trajectories"]))
        rewards = np.concatenate([part.reward for part in parts])
        if learner.baseline:
            learned.usual[examples] = rewards.mean(axis=1)
        earned += [rewards.sum(), sum(part.accuracy.sum() for part in parts), sum(part.time.sum() for part in parts)]
        updates += 1
    trajectories = n * settings["trajectories"]
    reward, accuracy, time = (earned / trajectories).tolist()
    return Experience(reward, accuracy, time, trajectories, updates)


def mean_reward(environment: Environment, θ: Floats, *, jobs: int = 1) -> float:
    """The mean reward of the greedy policy over all examples, to score weights on development data."""
    return float(environment.run(θ, np.arange(len(environment), dtype=np.int64), jobs=jobs).reward.mean())


def _parts(examples: Ints, size: int) -> Iterator[Ints]:
    for first in range(0, len(examples), size):
        yield examples[first : first + size]


def _add_up(gradients: list[Features], size: int) -> Features:
    """The sum of sparse gradients, each index once."""
    at = np.concatenate([gradient.at for gradient in gradients])
    amount = np.concatenate([gradient.amount for gradient in gradients])
    if len(at) and not 0 <= at.min() <= at.max() < size:
        raise TaskError(f"the environment has {size} weights, but some of its gradients are not among them")
    if not np.isfinite(amount).all():
        raise TaskError("the environment's gradients are not finite numbers: are its rewards?")
    places, inverse = np.unique(at, return_inverse=True)
    sums = np.bincount(inverse, amount, len(places))
    return Features(places.astype(np.int64), sums.astype(np.float64), sum(gradient.value for gradient in gradients))


def _climb(learner: PolicyGradient, learned: LearnedPolicy, k: int, at: Ints, gradient: Floats) -> None:
    """Take a step of pass k along a gradient, and record it if weights are averaged."""
    if learner.normalise:
        gradient = gradient / (np.linalg.norm(gradient) or 1.0)
    with np.errstate(over="ignore"):  # checked below, with a better message
        change = learned.rule.change(k, gradient, gradient, at)
        after = learned.θ[at] + change
    if not np.isfinite(after).all():
        raise ConfigError(
            f"{learner.step_size:g} is too large for the learner {learner.name!r}: in pass {k} weights have grown "
            "beyond all numbers; take a smaller one, or normalise = True",
            setting="step_size",
            value=learner.step_size,
        )
    learned.θ[at] = after
    if learner.averaged:
        learned.totals[at] += learned.updates * change
    learned.updates += 1
