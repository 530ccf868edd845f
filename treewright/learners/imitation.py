"""Imitation learning: one algorithm, and a table of its named variants.

:class:`Imitation` is Goodman's Algorithm 6. In every pass it *rolls in* (visits states), finds the *cost* of each
action in each of them, often by *rolling out* to the end, and *trains* on the examples. Every named algorithm is a set
of choices for this one, as in Goodman's Table 5.1:

>>> for row in table():
...     print(f"{row['learner']:12} {row['roll-in']:15} {row['roll-out']:15} {row['cost']:8} {row['data']}")
supervised   expert          none            action   first
exploration  explore         none            oracle   online
dagger       mixed-per-step  none            action   all
aggravate    mixed-per-step  expert          loss     all
searn        mixed-per-step  mixed-per-step  loss     current
v-dagger     mixed-per-step  mixed-per-step  loss     all
lols         learned         mixed-per-roll  loss     online
batch-lols   learned         mixed-per-roll  loss     all
det-lols     learned         both            loss     all
di-lo        mixed-per-step  mixed-per-roll  loss     all
di-dlo       mixed-per-step  both            loss     all
li-do        learned         mixed-per-step  loss     all

Your own variant takes three lines, or one: ``Imitation(roll_in="learned", roll_out="expert", data="online")``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from treewright.errors import ConfigError
from treewright.learners.registry import PASSES, Family, Learner, register
from treewright.learners.schedules import BETA, Constant, Decay, ExpertFirst, Schedule
from treewright.policies.updates import AROW, UPDATE, Regression, Update
from treewright.settings import Choice, Real, Setting, Whole

__all__ = [
    "DI_DLO",
    "DI_LO",
    "LEARNERS",
    "LI_DO",
    "LOLS",
    "SEARN",
    "AggraVaTe",
    "BatchLOLS",
    "DAgger",
    "DetLOLS",
    "Exploration",
    "Imitation",
    "Supervised",
    "VDAgger",
    "table",
]

_WHO = {"expert": "", "learned": "the learned policy", "mixed-per-step": "drawn at each step",
        "mixed-per-roll": "drawn once a sentence"}  # fmt: skip

SETTINGS = (
    Setting("roll_in", Choice({**_WHO, "explore": "follow predictions"}), "Who visits states"),
    Setting(
        "roll_out",
        Choice("none", _WHO, {"mixed-per-state": "drawn once a state", "both": "weighted by β"}),
        "Who finishes sentences, to find the costs of actions",
    ),
    Setting("cost", Choice("action", "optimal", "oracle", "loss"), "The cost of an action"),
    Setting("data", Choice("first", "current", "all", "online"), "The passes whose examples are trained on"),
    BETA,
    PASSES,
    Setting("epochs", Whole(1), "Epochs of classifier training in each pass"),
    Setting("samples", Whole(1), "Roll-outs of each action"),
    Setting("focus", Whole(0), "Actions after which roll-outs are cut; 0: never"),
    Setting("small_first", Whole(0), "The number of first passes that skip long sentences, fewer each time; 0: none"),
    Setting("alpha", Whole(0), "Mistakes after which an example is dropped; 0: never"),
    Setting("k", Whole(0), "Exploration: the pass after which predictions are followed", flags="-k"),
    Setting("p", Real(0, 1), "Exploration: the probability that they are not followed even then", flags="-p"),
    Setting("expert_accuracy", Real(0, 1), "For experiments: the probability that the expert is right"),
    Setting(
        "expert_errors",
        Choice({"random": "anywhere", "systematic": "wherever the first feature is the same"}),
        "Where an imperfect expert makes mistakes",
    ),
    Setting("interpolation", Real(0, 1), "SEARN's γ: the share of the newest policy in the mixture"),
    UPDATE,
)


@dataclass(frozen=True, kw_only=True)
class Imitation(Learner):
    """Goodman's Algorithm 6 with all its choices as settings.

    * ``roll_in``: who visits the states: the ``expert``, the ``learned`` policy (the expert in the first pass), a
      mixture of both, drawn at each step or once per sentence, with the expert's share β; or ``explore``, the lecture's
      Algorithm 3.
    * ``roll_out``: who finishes the sentence after each possible action: as above; ``both`` takes the expert's and the
      learned policy's loss, weighted by β; ``mixed-per-state`` draws one of the two for all actions of a state, so that
      their costs are comparable; ``none`` uses the oracle instead.
    * ``cost``: the cost of an action: the ``loss`` of the roll-out (less the lowest), or without roll-out ``action``: 0
      for the expert's action and 1 for the others; ``optimal``: 0 for all optimal ones; ``oracle``: the oracle's costs.
    * ``data``: the training data of the classifier: the examples of the ``first`` visit to each sentence, which is the
      expert's; those of the ``current`` pass, of ``all`` passes so far, or each example as soon as it is found
      (``online``).
    * ``beta``: the schedule of β; see :mod:`treewright.learners.schedules`.
    * ``passes`` over the corpus, each with some ``epochs`` of classifier training; ``samples`` of each roll-out;
      ``focus``: the number of steps after which roll-outs are cut (focused costing), 0 for never; ``update``: the
      classifier's update; ``interpolation``: SEARN's γ: train a new policy in each pass and add it to a stochastic
      mixture.
    * ``small_first``: the number of first passes that take only the shorter sentences, more of them each time (§7.2.4);
      with ``data="first"`` a sentence is visited in the first pass that takes it. ``alpha``: the number of mistakes
      after which an example is dropped, because it may be noise (the α-bound of Goodman, Vlachos & Naradowsky 2016). 0:
      neither.
    * ``expert_accuracy``, ``expert_errors``: an expert that is right with this probability, for experiments
      with experts that are not optimal; see :func:`~treewright.search.weak_expert.weaken_expert`.
    * ``k``, ``p``: of ``explore``: from pass k + 1 on follow the prediction unless a random number is at most p.
    """

    name: ClassVar[str] = "imitation"
    source: ClassVar[str] = "Goodman, Algorithm 6"
    settings: ClassVar[tuple[Setting, ...]] = SETTINGS

    roll_in: str = "expert"
    roll_out: str = "none"
    cost: str = "action"
    data: str = "all"
    beta: Schedule = field(default_factory=ExpertFirst)
    passes: int = 10
    epochs: int = 1
    samples: int = 1
    focus: int = 0
    small_first: int = 0
    alpha: int = 0
    k: int = 1
    p: float = 0.1
    expert_accuracy: float = 1.0
    expert_errors: str = "random"
    interpolation: float = 0.0
    update: Update = field(default_factory=AROW)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.cost == "loss") != (self.roll_out != "none"):
            raise ConfigError(
                f"{self.cost!r} does not go with roll_out {self.roll_out!r}: costs are losses exactly where there are "
                "roll-outs",
                setting="cost",
                value=self.cost,
            )
        for setting, used, data, why in (
            (
                "alpha",
                self.alpha > 0,
                ("all", "first"),
                "counts mistakes on an example, so examples must be kept",
            ),
            ("interpolation", self.interpolation > 0, ("current",), "trains each policy on the data of its own pass"),
            ("roll_in", self.roll_in == "explore", ("online",), "'explore' learns from each example at once"),
        ):
            if used and self.data not in data:
                raise ConfigError(f'{why}: set data = "{data[0]}"', setting=setting, value=getattr(self, setting))

    @property
    def hint(self) -> str:
        """The advice, unless roll-outs are cut, or are others than the usual ones of this learner."""
        return "" if self.focus or self.roll_out != type(self).roll_out else self.advice

    @property
    def uses_beta(self) -> bool:
        """Whether the expert's share β matters to the choices made."""
        mixed = ("mixed-per-step", "mixed-per-roll", "mixed-per-state", "both")
        return not self.interpolation and (self.roll_in in mixed or self.roll_out in mixed)

    @property
    def leaves_path(self) -> bool:
        """Whether the expert is used in states outside its own path."""
        if self.roll_out != "none":
            return True
        if self.roll_in == "explore":
            return self.p < 1.0 and self.k < self.passes
        return self.roll_in != "expert" and self.passes > 1

    @property
    def stages(self) -> int:
        """The number of stages of a pass: visiting states, and the epochs of training."""
        return 1 if self.data == "online" else 1 + self.epochs


@dataclass(frozen=True, kw_only=True)
class Supervised(Imitation):
    """Simple imitation: learn the expert's actions on the expert's path (lecture, Alg. 43; Goodman, Alg. 1)."""

    name: ClassVar[str] = "supervised"
    source: ClassVar[str] = "lecture, Alg. 43; Goodman, Alg. 1"
    data: str = "first"


@dataclass(frozen=True, kw_only=True)
class Exploration(Imitation):
    """Online training with a dynamic oracle (lecture, Algorithm 3; Goldberg & Nivre 2012).

    All actions of zero cost are correct; after pass ``k`` the parser's own prediction is followed, at any cost, unless
    a random number is at most ``p``.
    """

    name: ClassVar[str] = "exploration"
    source: ClassVar[str] = "lecture, Alg. 3"
    roll_in: str = "explore"
    cost: str = "oracle"
    data: str = "online"


@dataclass(frozen=True, kw_only=True)
class DAgger(Imitation):
    """Data aggregation: visit the learned policy's states, label them with the expert's action, train on all so far.

    (Lecture, Algorithm 45; Ross et al. 2011.) The expert acts with probability β at each step: by default in the first
    pass only.
    """

    name: ClassVar[str] = "dagger"
    source: ClassVar[str] = "lecture, Alg. 45"
    roll_in: str = "mixed-per-step"


@dataclass(frozen=True, kw_only=True)
class AggraVaTe(Imitation):
    """DAgger with the expert's final loss after an action as its cost (lecture; Ross & Bagnell 2014)."""

    name: ClassVar[str] = "aggravate"
    source: ClassVar[str] = "lecture, AggraVaTe"
    advice: ClassVar[str] = "--focus 1 where the oracle is exact: the same costs in less time"
    roll_in: str = "mixed-per-step"
    roll_out: str = "expert"
    cost: str = "loss"


@dataclass(frozen=True, kw_only=True)
class SEARN(Imitation):
    """Search and learn: a stochastic mixture of policies that drifts away from the expert (Goodman, Table 5.1).

    Each pass trains a new policy on its own data; the newest acts with probability γ (``interpolation``), the
    one before with γ(1 − γ), and so on; the expert has the rest, and is removed at the end.
    """

    name: ClassVar[str] = "searn"
    source: ClassVar[str] = "Goodman, Table 5.1"
    advice: ClassVar[str] = "--focus 10 where sentences are long: whole roll-outs take time"
    roll_in: str = "mixed-per-step"
    roll_out: str = "mixed-per-step"
    cost: str = "loss"
    data: str = "current"
    passes: int = 5
    epochs: int = 5
    interpolation: float = 0.5


@dataclass(frozen=True, kw_only=True)
class VDAgger(Imitation):
    """V-DAgger: step-wise mixtures for roll-in and roll-out, ``samples`` roll-outs per action, β = (1 − δ)^(i−1).

    (Goodman, Algorithm 2; Vlachos & Craven 2011.)
    """

    name: ClassVar[str] = "v-dagger"
    source: ClassVar[str] = "Goodman, Alg. 2"
    advice: ClassVar[str] = "--focus 10 where sentences are long: whole roll-outs take time"
    roll_in: str = "mixed-per-step"
    roll_out: str = "mixed-per-step"
    cost: str = "loss"
    beta: Schedule = field(default_factory=lambda: Decay(0.3))


@dataclass(frozen=True, kw_only=True)
class LOLS(Imitation):
    """Locally optimal learning to search, online (Goodman, Algorithm 3; Chang et al. 2015).

    The learned policy rolls in; each roll-out is the expert's with probability β and the learned policy's otherwise,
    from its first step to its last. In the first pass the expert replaces the untrained policy (π̂₀ = π*). Costs are
    regressed, as by the authors, because the costs of single roll-outs are noisy. ``focus``, or one draw for all
    actions of a state (``roll_out="mixed-per-state"``), removes most of the noise.
    """

    name: ClassVar[str] = "lols"
    source: ClassVar[str] = "Goodman, Alg. 3"
    advice: ClassVar[str] = "--focus 10, or --roll-out mixed-per-state: single roll-outs are noisy, and take time"
    roll_in: str = "learned"
    roll_out: str = "mixed-per-roll"
    cost: str = "loss"
    data: str = "online"
    beta: Schedule = field(default_factory=lambda: Constant(0.5))
    update: Update = field(default_factory=Regression)


@dataclass(frozen=True, kw_only=True)
class BatchLOLS(LOLS):
    """LOLS in batch mode, with decaying β and training on all data so far (Goodman, Algorithm 5)."""

    name: ClassVar[str] = "batch-lols"
    source: ClassVar[str] = "Goodman, Alg. 5"
    advice: ClassVar[str] = "--focus 10 where sentences are long: whole roll-outs take time"
    data: str = "all"
    beta: Schedule = field(default_factory=lambda: Decay(0.3))
    update: Update = field(default_factory=AROW)


@dataclass(frozen=True, kw_only=True)
class DetLOLS(BatchLOLS):
    """Deterministic LOLS: both roll-outs, the expert's loss weighted by β, the learned policy's by 1 − β (§5.1.2)."""

    name: ClassVar[str] = "det-lols"
    source: ClassVar[str] = "Goodman, Table 5.1"
    roll_out: str = "both"


@dataclass(frozen=True, kw_only=True)
class DI_LO(BatchLOLS):
    """DAgger's roll-in with LOLS's roll-out (Goodman, Table 5.1)."""

    name: ClassVar[str] = "di-lo"
    source: ClassVar[str] = "Goodman, Table 5.1"
    roll_in: str = "mixed-per-step"


@dataclass(frozen=True, kw_only=True)
class DI_DLO(DetLOLS):
    """DAgger's roll-in with DetLOLS's roll-out, the thesis's own choice (Goodman, Table 5.1)."""

    name: ClassVar[str] = "di-dlo"
    source: ClassVar[str] = "Goodman, Table 5.1"
    roll_in: str = "mixed-per-step"


@dataclass(frozen=True, kw_only=True)
class LI_DO(BatchLOLS):
    """LOLS's roll-in with V-DAgger's roll-out (Goodman, Table 5.1)."""

    name: ClassVar[str] = "li-do"
    source: ClassVar[str] = "Goodman, Table 5.1"
    roll_out: str = "mixed-per-step"


_ROWS = (
    Supervised,
    Exploration,
    DAgger,
    AggraVaTe,
    SEARN,
    VDAgger,
    LOLS,
    BatchLOLS,
    DetLOLS,
    DI_LO,
    DI_DLO,
    LI_DO,
)

#: the named algorithms; an algorithm that you add here is also available on the command line
LEARNERS: dict[str, type[Imitation]] = {row.name: row for row in (*_ROWS, Imitation)}


def _described(learner: Imitation) -> dict[str, str]:
    return {
        "learner": learner.name,
        "roll-in": learner.roll_in,
        "roll-out": learner.roll_out,
        "cost": learner.cost,
        "data": learner.data,
        "beta": str(learner.beta),
        "source": learner.source,
    }


FAMILY = register(
    Family("imitation", "Imitation learning", "single actions", Imitation, LEARNERS, _described, "imitation")
)


def table() -> list[dict[str, str]]:
    """The named algorithms and their choices (compare Goodman's Table 5.1)."""
    return FAMILY.table()
