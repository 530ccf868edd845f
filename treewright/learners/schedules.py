"""Schedules: how β, the expert's share, changes from pass to pass (counted from 1)."""

from __future__ import annotations

from dataclasses import dataclass

from treewright.errors import ConfigError
from treewright.settings import Like, Setting

__all__ = ["BETA", "SCHEDULES", "Constant", "Decay", "ExpertFirst", "Linear", "Schedule", "make_schedule"]


@dataclass(frozen=True)
class Schedule:
    """A function from the number of the pass, 1, 2, …, to β in [0, 1]."""

    def __call__(self, number: int) -> float:
        """Return β in a pass."""
        raise NotImplementedError


def _check(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"a schedule's {name} must lie between 0 and 1, not {value}")


@dataclass(frozen=True)
class Decay(Schedule):
    """β = (1 − δ)^(i−1): the decay of Goodman's Algorithms 2 and 5.

    >>> [Decay(0.5)(i) for i in (1, 2, 3)]
    [1.0, 0.5, 0.25]
    """

    δ: float = 0.1

    def __post_init__(self) -> None:
        _check("decay", self.δ)

    def __call__(self, number: int) -> float:
        """Return β in a pass."""
        return float((1.0 - self.δ) ** (number - 1))

    def __str__(self) -> str:
        return f"decay:{self.δ}"


@dataclass(frozen=True)
class Constant(Schedule):
    """The same β in every pass."""

    β: float = 0.5

    def __post_init__(self) -> None:
        _check("share", self.β)

    def __call__(self, number: int) -> float:
        """Return β in a pass."""
        return float(self.β)

    def __str__(self) -> str:
        return f"constant:{self.β}"


@dataclass(frozen=True)
class ExpertFirst(Schedule):
    """β = 1 in the first pass and 0 after it: the parameter-free choice of Ross et al. (2011).

    >>> [ExpertFirst()(i) for i in (1, 2, 3)]
    [1.0, 0.0, 0.0]
    """

    def __call__(self, number: int) -> float:
        """Return β in a pass."""
        return 1.0 if number == 1 else 0.0

    def __str__(self) -> str:
        return "expert-first"


@dataclass(frozen=True)
class Linear(Schedule):
    """β falls in equal steps from 1 in the first pass to 0 in pass ``last``.

    >>> [Linear(3)(i) for i in (1, 2, 3, 4)]
    [1.0, 0.5, 0.0, 0.0]
    """

    last: int = 10

    def __post_init__(self) -> None:
        if self.last < 2:
            raise ConfigError(f"a linear schedule needs at least 2 passes, not {self.last}")

    def __call__(self, number: int) -> float:
        """Return β in a pass."""
        return max(0.0, 1.0 - (number - 1) / (self.last - 1))

    def __str__(self) -> str:
        return f"linear:{self.last}"


def make_schedule(schedule: str | float | Schedule) -> Schedule:
    """Return a schedule, given a schedule, a number (constant), or a text such as ``decay:0.1`` or ``expert-first``.

    >>> make_schedule("decay:0.02")(2)
    0.98
    >>> make_schedule(0.3)
    Constant(β=0.3)
    """
    if isinstance(schedule, Schedule):
        return schedule
    if isinstance(schedule, (int, float)):
        return Constant(float(schedule))
    name, _, value = str(schedule).partition(":")
    try:
        match name:
            case "decay":
                return Decay(float(value))
            case "constant":
                return Constant(float(value))
            case "linear":
                return Linear(int(value))
            case "expert-first":
                return ExpertFirst()
    except ValueError:
        pass
    raise ConfigError(f"{schedule!r} is not a schedule: write decay:0.1, constant:0.5, linear:10 or expert-first")


#: the values of settings for schedules
SCHEDULES = Like(make_schedule, "a schedule: decay:0.1, constant:0.5, linear:10 or expert-first", str)

BETA = Setting(
    "beta",
    SCHEDULES,
    "The expert's share β, by passes: decay:0.1, constant:0.5, linear:10, expert-first",
    metavar="SCHEDULE",
)
