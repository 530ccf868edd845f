"""Imitation learning: one algorithm, and a table of the named ones.

:class:`Imitation` is Goodman's Algorithm 6. In every iteration it *rolls in* (visits states), finds what each action
*costs* in each of them, often by *rolling out* to the end, and *trains* on the examples. Every named algorithm is this
one with some choices made, as in his Table 5.1:

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

A row of your own takes three lines, or one: ``Imitation(roll_in="learned", roll_out="expert", data="online")``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from treewright.errors import ConfigError
from treewright.learners.irl import IRL, InverseRL
from treewright.learners.schedules import Constant, Decay, ExpertFirst, Schedule, make_schedule
from treewright.learners.structured import STRUCTURED, Structured
from treewright.policies.updates import AROW, Update, make_update
from treewright.settings import whole_number

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
    "Learner",
    "Supervised",
    "VDAgger",
    "make_learner",
    "table",
]

ROLL_INS = ("expert", "learned", "mixed-per-step", "mixed-per-roll", "explore")
ROLL_OUTS = ("none", "expert", "learned", "mixed-per-step", "mixed-per-roll", "both")
COSTS = ("action", "optimal", "oracle", "loss")
_OR_NONE = (("focus", 0), ("small_first", 0), ("alpha", 0), ("k", 0))
DATA = ("first", "current", "all", "online")


@dataclass(frozen=True, kw_only=True)
class Imitation:
    """Goodman's Algorithm 6 with every choice open.

    * ``roll_in``: who visits the states: the ``expert``, the ``learned`` policy (the expert while there is none), a
      mixture drawn anew at each step or once a sentence, with the expert's share β; or ``explore``, the lecture's
      Algorithm 3.
    * ``roll_out``: who finishes the sentence after each action that could be taken: as above; ``both`` takes the
      expert's and the learned policy's loss, weighted by β; ``none`` asks the oracle instead.
    * ``cost``: what an action costs: the ``loss`` of the roll-out (less the lowest), or without roll-out ``action``: 0
      for the expert's action and 1 for the others; ``optimal``: 0 for all optimal ones; ``oracle``: the oracle's costs.
    * ``data``: what the classifier is trained on: the ``first`` iteration's examples, those of the ``current`` one, of
      ``all`` so far, or each at once as it is met (``online``).
    * ``beta``: the schedule of β; see :mod:`treewright.learners.schedules`.
    * ``iterations``, and ``epochs`` of classifier training in each; ``samples`` of each roll-out; ``focus``: roll-outs
      are cut after so many steps (focused costing), 0 for never; ``update``: the classifier's update;
      ``interpolation``: SEARN's γ: train a fresh policy each time and add it to a stochastic mixture.
    * ``small_first``: in the first so many iterations take the shorter sentences only, more of them each time (§7.2.4);
      ``alpha``: leave out an example once the classifier has been wrong on it so often, because it may be noise (the
      α-bound of Goodman, Vlachos & Naradowsky 2016). 0: neither.
    * ``k``, ``p``: of ``explore``: from pass k + 1 on follow the prediction unless a random number is at most p.
    """

    name: ClassVar[str] = "imitation"
    source: ClassVar[str] = "Goodman, Algorithm 6"

    roll_in: str = "expert"
    roll_out: str = "none"
    cost: str = "action"
    data: str = "all"
    beta: Schedule = field(default_factory=ExpertFirst)
    iterations: int = 10
    epochs: int = 1
    samples: int = 1
    focus: int = 0
    small_first: int = 0
    alpha: int = 0
    k: int = 1
    p: float = 0.1
    interpolation: float = 0.0
    update: Update = field(default_factory=AROW)

    def __post_init__(self) -> None:
        object.__setattr__(self, "update", make_update(self.update))
        object.__setattr__(self, "beta", make_schedule(self.beta))
        for setting, known in (("roll_in", ROLL_INS), ("roll_out", ROLL_OUTS), ("cost", COSTS), ("data", DATA)):
            if getattr(self, setting) not in known:
                raise ConfigError(f"{setting} cannot be {getattr(self, setting)!r}; it is one of: {', '.join(known)}")
        if (self.cost == "loss") != (self.roll_out != "none"):
            raise ConfigError(
                f"cost {self.cost!r} does not go with roll-out {self.roll_out!r}: costs are losses exactly where there "
                "are roll-outs"
            )
        for setting, least in (("iterations", 1), ("epochs", 1), ("samples", 1), *_OR_NONE):
            object.__setattr__(self, setting, whole_number(setting, getattr(self, setting), least))
        for setting in ("p", "interpolation"):
            value = getattr(self, setting)
            if isinstance(value, str) or not 0.0 <= value <= 1.0:
                raise ConfigError(f"{setting} must lie between 0 and 1, not {value!r}")
        if self.alpha and self.data in ("online", "current"):
            raise ConfigError('alpha counts mistakes on the same example, so examples must be kept: set data = "all"')
        if self.interpolation and self.data != "current":
            raise ConfigError('interpolation (SEARN) trains each policy on its own iteration: set data = "current"')
        if self.roll_in == "explore" and self.data != "online":
            raise ConfigError('the roll-in "explore" is an online algorithm: set data = "online"')

    @property
    def uses_beta(self) -> bool:
        """Does the expert's share β matter to the choices made?"""
        mixed = ("mixed-per-step", "mixed-per-roll", "both")
        return not self.interpolation and (self.roll_in in mixed or self.roll_out in mixed)

    def params(self) -> dict[str, Any]:
        """The name and all choices, as plain values that :func:`make_learner` takes back."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"name": self.name, **plain, "beta": str(self.beta), "update": self.update.params()}


@dataclass(frozen=True, kw_only=True)
class Supervised(Imitation):
    """Simple imitation: learn what the expert does where the expert goes (lecture, Alg. 43; Goodman, Alg. 1)."""

    name: ClassVar[str] = "supervised"
    source: ClassVar[str] = "lecture, Alg. 43; Goodman, Alg. 1"
    data: str = "first"


@dataclass(frozen=True, kw_only=True)
class Exploration(Imitation):
    """Online training with a dynamic oracle (lecture, Algorithm 3; Goldberg & Nivre 2012).

    All actions of zero cost are right; after pass ``k`` the parser's own prediction is followed, whatever it costs,
    unless a random number is at most ``p``.
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
    iteration only.
    """

    name: ClassVar[str] = "dagger"
    source: ClassVar[str] = "lecture, Alg. 45"
    roll_in: str = "mixed-per-step"


@dataclass(frozen=True, kw_only=True)
class AggraVaTe(Imitation):
    """Like DAgger, but an action costs the loss that the expert ends with after it (lecture; Ross & Bagnell 2014)."""

    name: ClassVar[str] = "aggravate"
    source: ClassVar[str] = "lecture, AggraVaTe"
    roll_in: str = "mixed-per-step"
    roll_out: str = "expert"
    cost: str = "loss"


@dataclass(frozen=True, kw_only=True)
class SEARN(Imitation):
    """Search and learn: a stochastic mixture of policies that drifts away from the expert (Goodman, Table 5.1).

    Each iteration trains a fresh policy on its own data; the newest acts with probability γ (``interpolation``), the
    one before with γ(1 − γ), and so on; the expert keeps the rest, and is left out in the end.
    """

    name: ClassVar[str] = "searn"
    source: ClassVar[str] = "Goodman, Table 5.1"
    roll_in: str = "mixed-per-step"
    roll_out: str = "mixed-per-step"
    cost: str = "loss"
    data: str = "current"
    iterations: int = 5
    epochs: int = 5
    interpolation: float = 0.5


@dataclass(frozen=True, kw_only=True)
class VDAgger(Imitation):
    """V-DAgger: step-wise mixtures for roll-in and roll-out, ``samples`` roll-outs an action, β = (1 − δ)^(i−1).

    (Goodman, Algorithm 2; Vlachos & Craven 2011.)
    """

    name: ClassVar[str] = "v-dagger"
    source: ClassVar[str] = "Goodman, Alg. 2"
    roll_in: str = "mixed-per-step"
    roll_out: str = "mixed-per-step"
    cost: str = "loss"
    beta: Schedule = field(default_factory=lambda: Decay(0.3))


@dataclass(frozen=True, kw_only=True)
class LOLS(Imitation):
    """Locally optimal learning to search, online (Goodman, Algorithm 3; Chang et al. 2015).

    The learned policy rolls in; each roll-out is the expert's with probability β and the learned policy's otherwise,
    from its first step to its last.
    """

    name: ClassVar[str] = "lols"
    source: ClassVar[str] = "Goodman, Alg. 3"
    roll_in: str = "learned"
    roll_out: str = "mixed-per-roll"
    cost: str = "loss"
    data: str = "online"
    beta: Schedule = field(default_factory=lambda: Constant(0.5))


@dataclass(frozen=True, kw_only=True)
class BatchLOLS(LOLS):
    """LOLS in batch mode, with decaying β and training on all data so far (Goodman, Algorithm 5)."""

    name: ClassVar[str] = "batch-lols"
    source: ClassVar[str] = "Goodman, Alg. 5"
    data: str = "all"
    beta: Schedule = field(default_factory=lambda: Decay(0.3))


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

#: the named algorithms; add your own under its name and the command line knows it too
LEARNERS: dict[str, type[Imitation]] = {row.name: row for row in (*_ROWS, Imitation)}

#: what :func:`~treewright.learners.train` takes, or :func:`~treewright.learners.train_irl`
Learner = Imitation | Structured | InverseRL


def make_learner(learner: str | Learner | dict[str, Any]) -> Learner:
    """A learner from its name, from its settings (a dict with ``name``), or as it is.

    Besides the table there are the learners of :mod:`treewright.learners.structured`, which need a beam, and those of
    :mod:`treewright.learners.irl`, which need a planner.

    >>> make_learner("dagger").roll_in
    'mixed-per-step'
    >>> make_learner({"name": "v-dagger", "samples": 3, "beta": "decay:0.02"}).beta
    Decay(δ=0.02)
    >>> make_learner("max-violation").violation
    'max'
    >>> make_learner({"name": "max-margin", "l2": 0.01}).loss
    0.5
    """
    if isinstance(learner, (Imitation, Structured, InverseRL)):
        return learner
    if not isinstance(learner, (str, dict)):
        raise ConfigError(
            "a learner is a name, a dictionary of settings with its name, or an object such as DAgger(); "
            f"{learner!r} is none of these"
        )
    settings = {"name": learner} if isinstance(learner, str) else dict(learner)
    name = str(settings.pop("name", "imitation")).replace("_", "-").lower()
    rows: dict[str, type[Imitation] | type[Structured] | type[InverseRL]] = {**IRL, **STRUCTURED, **LEARNERS}
    if name not in rows:
        raise ConfigError(f"there is no learner {name!r}; there are: {', '.join([*LEARNERS, *STRUCTURED, *IRL])}")
    known = [f.name for f in fields(rows[name])]
    for setting in settings:
        if setting not in known:
            raise ConfigError(f"learner {name!r} has no setting {setting!r}; it has: {', '.join(known)}")
    return rows[name](**settings)


def table() -> list[dict[str, str]]:
    """The named algorithms and what each of them chooses (compare Goodman's Table 5.1)."""
    return [
        {
            "learner": name,
            "roll-in": row.roll_in,
            "roll-out": row.roll_out,
            "cost": row.cost,
            "data": row.data,
            "beta": str(row.beta),
            "source": row.source,
        }
        for name, row in ((name, make()) for name, make in LEARNERS.items() if make is not Imitation)
    ]
