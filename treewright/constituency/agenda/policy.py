"""A learned policy for the agenda parser: priorities that trade accuracy for speed (Jiang et al. 2012, §3–6).

:meth:`AgendaPolicy.learn` learns the weights θ of priorities from sentences with gold trees that the grammar has not
seen (the paper uses a development section), to maximise accuracy − λ·time (eq. 1). The sentences are divided into two
halves, one for learning and one for model selection:

1. The learner, one of :data:`LEARNERS`, makes passes over the first half. It begins with A*₀.
2. After each pass the weights are scored by the reward of the greedy policy on the second half; the best pass is kept.
  Learners make the oracle's actions probable, and tend to go too far: how much a long constituent with a low score
  should be preferred to a short one with a high score depends on λ, but the learned weights θ hardly do, because a pop
  costs little. So the interpolation between A*₀ and θ is also chosen. This is the *strength*: 0 is A*₀, 1 is θ.
3. Unless it is given, the threshold Δ of §6.1 is chosen in the same way after learning. ("Note that known pruning
   methods could also be employed in conjunction with learned prioritization", §6.3.)

The paper's best learner is I+. The default here is ``on-policy``, which §4.2 describes as DAgger but considers too
expensive: apprenticeship (eq. 10) in all states that the policy itself reaches, not only in the states of the oracle.
In these states a constituent of the correct parse competes with thousands of others, and the speed depends on
distinguishing it from them.

All of these are learners of :mod:`treewright.learners.rl`, with its passes, steps and schedules; for DAgger only the
environment differs, whose gradients follow the oracle in every state (``imitates``). It is not a row of the table in
:mod:`treewright.learners.imitation`: that one tries actions from copies of a state, and a state here is a whole chart
with its agenda.

Nothing else is tuned: steps suit features that are scaled (:data:`~treewright.constituency.agenda.features.SCALES`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.features import CHEATING, FEATURES, INSIDE, Packed
from treewright.constituency.agenda.parser import AgendaParser, Parses
from treewright.constituency.agenda.priorities import Priorities
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.settings import current_name, one_of

if TYPE_CHECKING:  # parsing does not need learners
    from treewright.constituency.agenda.environment import AgendaEnvironment
    from treewright.learners.rl import PolicyGradient
    from treewright.learners.rl_training import RLPass

__all__ = ["LEARNERS", "AgendaPolicy", "LearnedPriority", "make_priority_learner"]

Floats = npt.NDArray[np.float64]

#: Learners of priorities, with their default settings
LEARNERS: dict[str, dict[str, Any]] = {
    "on-policy": {
        "name": "apprenticeship",
        "passes": 15,
        "step_size": 0.2,
        "infusion": "decay:0.5",  # the oracle acts in the first passes, so that their trajectories are short
        "trajectories": 1,
    },
    "I+": {"name": "I+", "passes": 10, "step_size": 0.003},
    "D+": {"name": "D+", "passes": 10, "step_size": 0.0002},
    "I-": {"name": "I-", "passes": 10, "step_size": 0.003},
    "D-": {"name": "D-", "passes": 10, "step_size": 0.0002},
    "apprenticeship": {"name": "apprenticeship", "passes": 10, "step_size": 0.003},
    "policy-gradient": {"name": "policy-gradient", "passes": 10, "step_size": 0.0002, "baseline": True},
}
_STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_THRESHOLDS = (4.0, 6.0, 8.0, 10.0, 12.0, 16.0, np.inf)
_MILD = 12.0  # the threshold in training, if it will be chosen: the best parse is hardly ever lost
_ENOUGH = 10  # sentences that can be divided


class LearnedPriority(NamedTuple):
    """The result of learning: the policy, its strength, its reward on the half for model selection, and the passes."""

    policy: AgendaPolicy
    strength: float
    reward: float
    history: list[RLPass]

    def as_dict(self) -> dict[str, Any]:
        """Return the strength, the pass and the threshold Δ as plain values, for the card of a model."""
        best = next((row.iteration for row in reversed(self.history) if row.best), 0)
        max_gap = self.policy.max_gap if np.isfinite(self.policy.max_gap) else None
        return {"strength": self.strength, "pass": best, "max_gap": max_gap, "reward": self.reward}


@dataclass(frozen=True, eq=False)
class AgendaPolicy:
    """Priorities of constituents, and the threshold Δ by which they are pruned.

    ``weights`` are the weights of all features (:class:`~treewright.constituency.agenda.parser.AgendaParser`).
    """

    priorities: Priorities
    weights: Floats
    max_gap: float = np.inf

    def __post_init__(self) -> None:
        if self.weights.shape != (FEATURES,) or not np.isfinite(self.weights).all():
            raise ConfigError(f"priorities have {FEATURES} weights, all of them numbers")
        if not self.max_gap >= 0.0:
            raise ConfigError(f"must be 0 or more, not {self.max_gap!r}", setting="max_gap", value=self.max_gap)

    @classmethod
    def a_star(cls, parser: AgendaParser, max_gap: float = np.inf) -> AgendaPolicy:
        """A*₀: priorities are inside scores; ``max_gap`` is Δ, and infinity means no pruning."""
        return cls(parser.priorities, parser.a_star(), max_gap)

    @classmethod
    def learn(
        cls,
        environment: AgendaEnvironment,
        *,
        learner: str | dict[str, Any] | PolicyGradient = "on-policy",
        max_gap: float | None = None,
        seed: int = 0,
        jobs: int = 1,
        report: Callable[[RLPass], None] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> LearnedPriority:
        """Learn a policy from an environment, for its λ and its unit of time.

        ``learner`` is one of :data:`LEARNERS`, by name or as settings with its name, or any learner of
        :mod:`treewright.learners.rl`. ``max_gap`` is Δ; None chooses it, and infinity means no pruning. ``report`` and
        ``progress`` are those of :func:`~treewright.learners.rl_training.train_rl`.
        """
        if len(environment) == 0:
            raise CorpusError("there is nothing to learn priorities from: no sentences")
        made, imitates = make_priority_learner(learner)
        everything = range(len(environment))
        ours, theirs = (everything[::2], everything[1::2]) if len(environment) >= _ENOUGH else (everything, everything)
        mild = environment.but(max_gap=_MILD if max_gap is None else float(max_gap))
        learn, choose = mild.some(ours).but(imitates=imitates), mild.some(theirs)
        near = _STRENGTHS.index(0.5)

        def judge(θ: Floats) -> float:
            nonlocal near
            near, reward = _strongest(choose, θ, near, jobs)
            return reward

        from treewright.learners.rl_training import train_rl

        trained = train_rl(made, learn, jobs=jobs, seed=seed, evaluate=judge, report=report, progress=progress)
        near, reward = _strongest(choose, trained.weights, near, jobs)
        if max_gap is None:
            θ = _towards(choose.initial(), trained.weights, _STRENGTHS[near])
            choose = choose.but(max_gap=max(_THRESHOLDS, key=lambda Δ: _reward(choose.but(max_gap=Δ), θ, jobs)))
            near, reward = _strongest(choose, trained.weights, near, jobs)
        θ = _towards(choose.initial(), trained.weights, _STRENGTHS[near])
        policy = cls(environment.parser.priorities, environment.weights(θ), choose.max_gap)
        return LearnedPriority(policy, _STRENGTHS[near], reward, trained.history)

    def parse(self, parser: AgendaParser, packed: Packed, *, growth: float = 0.0, jobs: int = 1) -> Parses:
        """Parse with these priorities. With ``growth``, Δ grows by this factor until there is a parse: IDA*."""
        return parser.parse(packed, self.weights, max_gap=self.max_gap, growth=growth, jobs=jobs)

    def to_arrays(self) -> dict[str, Any]:
        """The policy as arrays, for a model file."""
        return {"weights": self.weights, "prune": np.array([self.max_gap]), **self.priorities.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> AgendaPolicy:
        """The policy from the result of :meth:`to_arrays`.

        Older models lack the last weight, which is 0, or have weights of dynamic features after the others. These were
        never learned, so they are 0 and ignored.
        """
        try:
            weights = np.asarray(arrays["weights"], np.float64)
            if weights.shape == (CHEATING,):
                weights = np.append(weights, 0.0)
            if weights.ndim == 1 and not weights[FEATURES:].any():
                weights = weights[:FEATURES]
            return cls(Priorities.from_arrays(arrays), weights, float(arrays["prune"][0]))
        except ConfigError as error:
            raise ModelError(f"the priorities in this model are damaged: {error}") from None


def make_priority_learner(learner: str | dict[str, Any] | PolicyGradient) -> tuple[PolicyGradient, bool]:
    """Return the learner, given its name or settings, and whether it imitates the oracle in all states.

    >>> make_priority_learner({"name": "I+", "passes": 5})[0].step_size
    0.003

    Raises:
        ConfigError: if there is no such learner of priorities.
    """
    from treewright.learners.rl import PolicyGradient, make_rl

    if isinstance(learner, PolicyGradient):
        return learner, False
    if not isinstance(learner, str | Mapping):
        raise ConfigError("is not the name of a learner, nor its settings", setting="priority_learner", value=learner)
    settings = {"name": learner} if isinstance(learner, str) else dict(learner)
    given = current_name("priorities", str(settings.pop("name", "on-policy")))
    name = next((known for known in LEARNERS if known.lower() == given.lower()), None)
    if name is None:
        raise ConfigError(one_of(given, LEARNERS), setting="learner", value=given)
    return make_rl({**LEARNERS[name], **settings}), name == "on-policy"


def _reward(environment: AgendaEnvironment, θ: Floats, jobs: int) -> float:
    """The mean reward of the greedy policy (eq. 1)."""
    return float(environment.run(θ, np.arange(len(environment)), jobs=jobs).reward.mean())


def _towards(initial: Floats, θ: Floats, strength: float) -> Floats:
    """Weights between A*₀ and those learned, both with the same weight of the inside score.

    A policy does not change if all its weights are multiplied by a number above 0.
    """
    same = θ * (initial[INSIDE] / max(float(θ[INSIDE]), 0.01 * float(initial[INSIDE])))
    return np.asarray(initial + strength * (same - initial))


def _strongest(environment: AgendaEnvironment, θ: Floats, near: int, jobs: int) -> tuple[int, float]:
    """The number of the best strength, found by hill climbing from the previous best one, and its reward."""
    known: dict[int, float] = {}

    def earned(k: int) -> float:
        if k not in known:
            known[k] = _reward(environment, _towards(environment.initial(), θ, _STRENGTHS[k]), jobs)
        return known[k]

    while True:
        around = [k for k in (near, near + 1, near - 1) if 0 <= k < len(_STRENGTHS)]
        best = max(around, key=earned)
        if best == near:
            return near, earned(near)
        near = best
