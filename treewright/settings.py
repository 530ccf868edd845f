"""Settings of estimators, learners and updates, each declared once.

A :class:`Setting` has the name of a setting, the values that it accepts (:class:`Values`) and its meaning. An owner,
which is an estimator or a frozen dataclass such as a learner, lists its declarations as ``settings``. The check of a
value and its error, the option of the command line, the key of a configuration file and the table in the documentation
all come from the declaration. The default is in the signature of the owner's constructor, where :func:`settings_of`
finds it.

>>> class Sorter:
...     settings = (Setting("width", Whole(1, 9), "How many sort at once"), Setting("order", Choice("up", "down"), "…"))
...     def __init__(self, width=3, order="up"):
...         self.width, self.order = width, order
>>> [(setting.name, setting.default) for setting in settings_of(Sorter)]
[('width', 3), ('order', 'up')]
>>> checked(Sorter(width=10))
Traceback (most recent call last):
treewright.errors.ConfigError: width must be a whole number from 1 to 9, not 10
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from treewright.errors import ConfigError

__all__ = [
    "NO_DEFAULT",
    "RENAMED",
    "Choice",
    "File",
    "Flag",
    "Like",
    "Real",
    "Setting",
    "Text",
    "Values",
    "Whole",
    "check_fields",
    "checked",
    "construct",
    "current_name",
    "current_names",
    "one_of",
    "settings_of",
    "whole_number",
]

_MOST = 2**31 - 1

#: marks a setting without a default
NO_DEFAULT: Any = inspect.Parameter.empty

Row = TypeVar("Row")


def whole_number(name: str, value: Any, low: int, high: int = _MOST) -> int:
    """Return the value of a setting as a plain integer, or raise a :class:`ConfigError` that names the setting.

    >>> whole_number("seed", -1, 0)
    Traceback (most recent call last):
    treewright.errors.ConfigError: seed must be a whole number from 0 to 2147483647, not -1
    """
    if type(value) is int and low <= value <= high:  # the usual case, in every call of a parser
        return value
    number: int = Setting(name, Whole(low, high), "").check(value)
    return number


# ---- values


class Values:
    """A set of values that a setting accepts: the base class of all kinds of values.

    ``str()`` of it completes the sentence "it must be …".
    """

    written: ClassVar[type] = str
    """The type of the option on the command line."""

    def normal(self, value: Any) -> Any:
        """Return the value in its normal form, e.g. a NumPy integer as an ``int``.

        Raises:
            ValueError: if it is not one of these values. A :class:`ConfigError` with more detail is passed on.
        """
        raise NotImplementedError

    def problem(self, value: Any) -> str:
        """Return what is wrong with a value, as a sentence without its subject."""
        return f"must be {self}, not {value!r}"

    def plain(self, value: Any) -> Any:
        """Return a value in normal form as one of those that JSON and TOML have."""
        return value

    @property
    def listed(self) -> str:
        """The values by name, for the help; empty where there are no names."""
        return ""


@dataclass(frozen=True)
class Whole(Values):
    """Whole numbers from ``low`` to ``high``."""

    low: int = 0
    high: int = _MOST
    written: ClassVar[type] = int

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def normal(self, value: Any) -> int:
        """Return the number as an ``int``."""
        try:
            number = operator.index(value)
        except TypeError:
            raise ValueError from None
        if isinstance(value, bool) or not self.low <= number <= self.high:
            raise ValueError
        return number


@dataclass(frozen=True)
class Real(Values):
    """Finite numbers within bounds; ``low`` and ``high`` are inclusive, ``above`` and ``below`` exclusive."""

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    written: ClassVar[type] = float

    def __str__(self) -> str:
        bounds = {"at least": self.low, "above": self.above, "at most": self.high, "below": self.below}
        said = " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if math.isfinite(bound))
        return f"a number that is {said}" if said else "a number"

    def normal(self, value: Any) -> float:
        """Return the number as a ``float``."""
        try:
            number = float(value) if _is_number(value) else math.nan
        except OverflowError:  # a whole number of more than 308 digits
            raise ValueError from None
        if not (math.isfinite(number) and self.low <= number <= self.high and self.above < number < self.below):
            raise ValueError
        return number


@dataclass(frozen=True)
class Flag(Values):
    """True and False."""

    written: ClassVar[type] = bool

    def __str__(self) -> str:
        return "true or false"

    def normal(self, value: Any) -> bool:
        """Return the value itself."""
        if not isinstance(value, bool):
            raise ValueError
        return value


class Choice(Values):
    """A choice of names, given as arguments, as a mapping to their meanings, or as a function that returns either.

    A function is called whenever the names are needed, so that plug-ins can add some.
    """

    def __init__(self, *names: str | Mapping[str, str] | Callable[[], Iterable[str]]) -> None:
        self._names = names

    @property
    def names(self) -> dict[str, str]:
        """The names and their meanings, which may be empty."""
        found: dict[str, str] = {}
        for each in self._names:
            some = [each] if isinstance(each, str) else each() if callable(each) else each
            found |= dict(some) if isinstance(some, Mapping) else dict.fromkeys(some, "")
        return found

    @property
    def listed(self) -> str:
        """The names, with their meanings."""
        return ", ".join(f"{name} ({meaning})" if meaning else name for name, meaning in self.names.items())

    def __str__(self) -> str:
        return f"one of: {', '.join(self.names)}"

    def normal(self, value: Any) -> str:
        """Return the name itself."""
        if not isinstance(value, str) or value not in self.names:
            raise ValueError
        return value

    def problem(self, value: Any) -> str:
        """Return what is wrong with a value, as a sentence without its subject."""
        return one_of(value, self.names)


@dataclass(frozen=True)
class Text(Values):
    """Any text."""

    def __str__(self) -> str:
        return "a string"

    def normal(self, value: Any) -> str:
        """Return the text itself."""
        if not isinstance(value, str):
            raise ValueError
        return value


@dataclass(frozen=True)
class File(Values):
    """Paths of files and folders. Whether the file exists is checked when it is read."""

    written: ClassVar[type] = Path

    def __str__(self) -> str:
        return "a path"

    def normal(self, value: Any) -> Path:
        """Return the path as an object."""
        if not isinstance(value, (str, os.PathLike)):
            raise ValueError
        return Path(value)

    def plain(self, value: Any) -> str:
        """Return the path as text."""
        return str(value)


@dataclass(frozen=True)
class Like(Values):
    """The values that a function accepts; it returns the normal form or raises :class:`~treewright.errors.ConfigError`.

    ``text`` describes the values, and ``to_plain`` converts one in normal form to a value of JSON and TOML.
    """

    make: Callable[[Any], Any]
    text: str
    to_plain: Callable[[Any], Any] = field(default=lambda value: value)

    def __str__(self) -> str:
        return self.text

    def normal(self, value: Any) -> Any:
        """Return the result of the function."""
        return self.make(value)

    def plain(self, value: Any) -> Any:
        """Return a value in normal form as one of those that JSON and TOML have."""
        return self.to_plain(value)


def one_of(value: Any, names: Iterable[str]) -> str:
    """Return the problem of a value that is not one of the names, as a sentence without its subject.

    >>> one_of("dager", ["dagger", "lols"])
    "cannot be 'dager'; it is one of: dagger, lols; did you mean 'dagger'?"
    """
    from difflib import get_close_matches

    names = list(names)
    near = get_close_matches(value, names, 1) if isinstance(value, str) else []
    advice = f"; did you mean {near[0]!r}?" if near else ""
    return f"cannot be {value!r}; it is one of: {', '.join(names)}{advice}"


# ---- declarations


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting.

    Args:
        name: the name in Python and in configuration files.
        values: the values that it takes.
        help: its meaning, as a sentence without a full stop. The names of a choice are added to it.
        note: a remark that is specific to the owner; the meaning itself is the same for all owners.
        none: the meaning of None; empty if None is not allowed.
        none_written: the number that means None in options and in files, where None cannot be written.
        why: the reason for the allowed values, which the error message adds.
        flags: the flags of its option, if they are not made from the name: ``--bits -b``.
        old_flags: flags that the option had before, which still work.
        metavar: the placeholder of the value in the help of the option.
        annotates: whether it concerns prediction only, so that it can be changed on a fitted estimator.
        default: the default of its owner, which :func:`settings_of` fills in.
    """

    name: str
    values: Values
    help: str
    note: str = ""
    none: str = ""
    none_written: int | None = None
    why: str = ""
    flags: str = ""
    old_flags: str = ""
    metavar: str | None = None
    annotates: bool = False
    default: Any = NO_DEFAULT

    def check(self, value: Any, *, written: bool = False) -> Any:
        """Return a value in its normal form; a ``written`` value may be the number that means None.

        Raises:
            ConfigError: if the setting does not accept the value; the error has the name and the value.
        """
        if self.none and (value is None or (written and _is_number(value) and value == self.none_written)):
            return None
        try:
            return self.values.normal(value)
        except ValueError:
            problem = self.values.problem(value)
        except ConfigError as error:
            if error.setting is not None:
                raise
            problem = f"cannot be {value!r}: {error}"
        nothing = self.none_written if written else None
        parts = [self.why, f"{nothing} means {self.none}" if self.none and (nothing is not None or not written) else ""]
        raise ConfigError("; ".join(filter(None, [problem, *parts])), setting=self.name, value=value)

    def plain(self, value: Any, *, written: bool = False) -> Any:
        """Return a value in normal form as JSON has it, or as it is ``written`` in a file: without None."""
        if value is None:
            return self.none_written if written else None
        return self.values.plain(value)

    @property
    def option_flags(self) -> list[str]:
        """The flags of the option, the long one first."""
        if self.flags:
            return self.flags.split(" ")
        flag = f"--{self.name.replace('_', '-')}"
        return [f"{flag}/--no-{flag[2:]}"] if self.values.written is bool else [flag]

    @property
    def text(self) -> str:
        """The meaning of the setting, the names of a choice, and the note."""
        listed = self.values.listed
        parts = [f"{self.help}: {listed}" if listed else self.help]
        if self.none and self.none_written is not None:
            parts.append(f"{self.none_written}: {self.none}")
        return " ".join(f"{part}." for part in ("; ".join(parts), self.note) if part)


def settings_of(owner: type) -> tuple[Setting, ...]:
    """Return the settings that a class declares, each with its default from the constructor."""
    return _settings_of(owner, owner.settings)  # type: ignore[attr-defined]


@cache
def _settings_of(owner: type, settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    parameters = inspect.signature(owner).parameters
    factories = {
        each.name: each.default_factory
        for each in (dataclasses.fields(owner) if dataclasses.is_dataclass(owner) else ())
        if each.default_factory is not dataclasses.MISSING
    }
    return tuple(
        dataclasses.replace(
            setting,
            default=factories[setting.name]() if setting.name in factories else parameters[setting.name].default,
        )
        for setting in settings
    )


def checked(owner: Any) -> dict[str, Any]:
    """Return the values of an owner's settings in their normal form, by name; the owner is not changed.

    Raises:
        ConfigError: for the first value that its setting does not take.
    """
    return {setting.name: setting.check(getattr(owner, setting.name)) for setting in owner.settings}


def check_fields(owner: Any) -> None:
    """Check the fields of a frozen dataclass and bring them into their normal form: for its ``__post_init__``."""
    for name, value in checked(owner).items():
        object.__setattr__(owner, name, value)


# ---- old names

#: Renamed learners (of ``learners``, ``priorities`` and ``pruning``) and settings, from old names to new. The keys say
#: what is renamed. Files that were written with the old names are still read.
RENAMED: dict[str, dict[str, str]] = {
    "learners": {"ml": "maximum-likelihood", "perceptron": "irl-perceptron"},
    "priorities": {"dagger": "on-policy"},
    "pruning": {"dagger": "on-policy", "lols": "roll-outs"},
    "learner": {"iterations": "passes", "loss": "margin"},
    "learner 'split-merge'": {"rules": "rule_smoothing", "lexicon": "lexicon_smoothing"},
    "update": {"rate": "step_size"},
    "update 'arow'": {"C": "r"},
    "constituency": {"beam": "max_gap"},
}


def current_name(owner: str, name: str) -> str:
    """Return the present name, given an old name or the present one.

    >>> current_name("learner", "iterations"), current_name("learner", "passes")
    ('passes', 'passes')
    """
    return RENAMED.get(owner, {}).get(name, name)


def current_names(values: Mapping[str, Any], known: Iterable[str], *owners: str) -> dict[str, Any]:
    """Return settings by their present names; only old names of ``known`` settings are replaced.

    Raises:
        ConfigError: if a setting is given twice, by its old name and by the new one.
    """
    kept, found = {*known}, dict[str, Any]()
    for name, value in values.items():
        new = next((new for owner in owners if (new := current_name(owner, name)) in kept), name)
        if new in found or (new != name and new in values):
            raise ConfigError(f"is the old name of {new}: leave one of the two out", setting=name, value=value)
        found[new] = value
    return found


def construct(kind: str, row: type[Row], settings: Mapping[str, Any]) -> Row:
    """Make an instance of a dataclass that has a ``name``, such as a learner, from its settings, by old or new names.

    ``kind`` is the kind of the object: ``learner`` or ``update``.

    Raises:
        ConfigError: for a setting that it does not have, or a value that the setting does not take.
    """
    owner = f"{kind} {row.name!r}"  # type: ignore[attr-defined]
    known = [each.name for each in dataclasses.fields(row)]  # type: ignore[arg-type]
    current = current_names(settings, known, kind, owner)
    for name, value in current.items():
        if name not in known:
            raise ConfigError(f"is no setting of {owner}, which has: {', '.join(known)}", setting=name, value=value)
    return row(**current)


def _is_number(value: Any) -> bool:
    return type(value) is not bool and isinstance(value, numbers.Real)
