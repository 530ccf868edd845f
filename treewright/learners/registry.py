"""The registry of learners: find learners by name, and make one from its name and its settings.

Learners belong to *families*, by what they learn from: single actions (imitation), searches with a beam, whole plans
(inverse reinforcement learning), rewards (reinforcement learning). A family is a base class and a table of named
subclasses, the rows, with their own defaults. Installed packages add rows by entry points (:mod:`treewright.plugins`)::

    [project.entry-points."treewright.learners"]
    careful-dagger = "my_package:CarefulDAgger"

Such a row belongs to the family whose base class it inherits from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, overload

from treewright.errors import ConfigError
from treewright.plugins import load_plugin, plugins
from treewright.settings import Setting, Whole, check_fields, construct, current_name, current_names, one_of

__all__ = ["FAMILIES", "PASSES", "Family", "Learner", "learner_rows", "learner_settings", "make_learner", "register"]

PASSES = Setting("passes", Whole(1), "Passes over the corpus", flags="--passes -n")

A = TypeVar("A", bound="Learner")
B = TypeVar("B", bound="Learner")


@dataclass(frozen=True, kw_only=True)
class Learner:
    """The base class of all learners: a frozen dataclass whose fields are its settings, checked when it is made."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """The source of the algorithm."""
    advice: ClassVar[str] = ""
    """Recommended settings, with a reason; may be empty."""
    settings: ClassVar[tuple[Setting, ...]] = ()
    """The declarations of the fields. A subclass that adds fields adds their declarations."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def passes(self) -> int:
        """The number of passes that training makes; a field in most learners."""
        return 0

    @property
    def hint(self) -> str:
        """The advice, unless the settings follow it already."""
        return ""

    @property
    def uses_beta(self) -> bool:
        """Whether the expert's share β matters to the choices made."""
        return False

    @property
    def stages(self) -> int:
        """The number of stages of a pass that report progress."""
        return 1

    def params(self) -> dict[str, Any]:
        """Return the name and all settings, as plain values for :func:`make_learner`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"name": self.name, **values, **{s.name: s.plain(values[s.name]) for s in self.settings}}


@dataclass(frozen=True)
class Family:
    """A family of learners that learn from the same kind of data.

    Args:
        name: the name of the family in ``treewright learners --json``.
        title: the title of its table.
        learns: what its learners learn from, for messages.
        base: the class that all rows inherit from.
        rows: the learners of the family by name. Add your own, and :func:`make_learner` finds it.
        describe: returns the row of the table for a learner with its default settings.
        open_row: the name of the base row, which the table omits.
    """

    name: str
    title: str
    learns: str
    base: type[Learner]
    rows: dict[str, Any]
    describe: Callable[[Any], dict[str, str]]
    open_row: str = ""

    def table(self) -> list[dict[str, str]]:
        """Return the choices of each named learner of the family; learners of installed packages come last."""
        return [self.describe(row()) for name, row in learner_rows(self.base).items() if name != self.open_row]


#: the families by name, in the order in which they are shown
FAMILIES: dict[str, Family] = {}


_ORDER = ("imitation", "beam", "planning", "reinforcement", "counting")  # whichever module is imported first


def register(family: Family) -> Family:
    """Add a family to the registry and return it."""
    found = {**FAMILIES, family.name: family}
    FAMILIES.clear()
    FAMILIES.update({name: found[name] for name in (*_ORDER, *found) if name in found})
    return family


def learner_rows(*kinds: type[Learner]) -> dict[str, type[Learner]]:
    """Return all learners by name, or the subclasses of the given classes; plug-ins come last.

    A given class that has a name is included, registered or not. A plug-in that cannot be imported is skipped with a
    warning.
    """
    rows = _built_in(kinds)
    for name in plugins("learners"):
        try:
            rows.setdefault(name, _plugin(name))
        except ConfigError as error:
            warnings.warn(str(error), stacklevel=2)
    return {name: row for name, row in rows.items() if issubclass(row, kinds or Learner)}


def _offered(kinds: tuple[type[Learner], ...]) -> list[str]:
    """The names for messages: the base rows of families are omitted, as in the table of learners."""
    base_rows = {family.open_row for family in FAMILIES.values()}
    return [name for name in learner_rows(*kinds) if name not in base_rows]


def _built_in(kinds: tuple[type[Learner], ...]) -> dict[str, type[Learner]]:
    rows: dict[str, type[Learner]] = {name: row for family in FAMILIES.values() for name, row in family.rows.items()}
    return {**rows, **{kind.name: kind for kind in kinds if kind.name}}


def _plugin(name: str) -> type[Learner]:
    row = load_plugin("learners", name)
    if not (isinstance(row, type) and issubclass(row, Learner) and row.name == name):
        raise ConfigError(f"the entry point {name!r} in the group treewright.learners is no such learner: {row!r}")
    return row


def _row(name: str, kinds: tuple[type[Learner], ...]) -> type[Learner]:
    """Return the learner with a name, ignoring case; plug-ins are imported on demand."""
    wanted = current_name("learners", name.replace("_", "-").lower())
    built_in = {known.lower(): row for known, row in _built_in(kinds).items()}
    if wanted in built_in:
        return built_in[wanted]
    point = next((point for point in plugins("learners") if point.lower() == wanted), None)
    if point is None:
        raise ConfigError(one_of(name, _offered(kinds)), setting="learner", value=name)
    return _plugin(point)


def learner_settings(learner: str | Mapping[str, Any], *kinds: type[Learner]) -> dict[str, Any]:
    """Return the settings of a learner, with the present names of the learner and its settings; ``name`` is first.

    >>> learner_settings({"name": "V_DAgger", "iterations": 3})
    {'name': 'v-dagger', 'passes': 3}

    Raises:
        ConfigError: if there is no such learner, or it does not inherit from one of the given classes.
    """
    row, settings = _named(learner, kinds)
    return {"name": row.name, **settings}


def _named(learner: Any, kinds: tuple[type[Learner], ...]) -> tuple[type[Learner], dict[str, Any]]:
    if not isinstance(learner, (str, Mapping)):
        raise ConfigError(
            f"is a name, a dictionary of settings with its name, or an object such as DAgger(), not {learner!r}",
            setting="learner",
            value=learner,
        )
    settings = {"name": learner} if isinstance(learner, str) else dict(learner)
    default = kinds[0].name if kinds else "imitation"
    row = _row(str(settings.pop("name", default)), kinds)
    _check_kind(row, kinds)
    known = [field.name for field in fields(row)]
    return row, current_names(settings, known, "learner", f"learner {row.name!r}")


def _check_kind(row: type[Learner], kinds: tuple[type[Learner], ...]) -> None:
    if kinds and not issubclass(row, kinds):
        learns = next((family.learns for family in FAMILIES.values() if issubclass(row, family.base)), "something else")
        others = ", ".join(_offered(kinds))
        raise ConfigError(
            f"{row.name!r} learns from {learns}, which is not supported here; it is one of: {others}",
            setting="learner",
            value=row.name,
        )


@overload
def make_learner(learner: str | Learner | Mapping[str, Any]) -> Learner: ...
@overload
def make_learner(learner: str | Learner | Mapping[str, Any], kind: type[A], /) -> A: ...
@overload
def make_learner(learner: str | Learner | Mapping[str, Any], kind: type[A], other: type[B], /) -> A | B: ...
def make_learner(learner: str | Learner | Mapping[str, Any], *kinds: type[Learner]) -> Learner:
    """Return a learner, given its name, its settings (a dictionary with ``name``), or the learner itself.

    With classes, such as :class:`~treewright.learners.InverseRL`, it must be an instance of one of them.

    >>> make_learner("dagger").roll_in
    'mixed-per-step'
    >>> make_learner({"name": "v-dagger", "samples": 3, "beta": "decay:0.02"}).beta
    Decay(δ=0.02)
    >>> make_learner("max-violation").violation
    'max'
    >>> make_learner({"name": "max-margin", "l2": 0.01}).margin
    0.5
    """
    if isinstance(learner, Learner):
        _check_kind(type(learner), kinds)
        return learner
    row, settings = _named(learner, kinds)
    return construct("learner", row, settings)
