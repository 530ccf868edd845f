"""The settings of the library as options of a command and as keys of a configuration file.

A setting belongs to one of three tables, as in the file::

    bits = 18                    # the estimator's own, and where files are

    [learner]
    name = "dagger"
    passes = 10

    [learner.update]
    name = "arow"
    r = 10.0
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import typer

from treewright.settings import RENAMED, Choice, File, Setting, Text, Whole, settings_of

__all__ = [
    "RUNNING",
    "Option",
    "Table",
    "estimator_options",
    "given_options",
    "help_text",
    "option_parameters",
    "with_parameters",
]

_NARROW = 76  # columns of an example: what a terminal of 80 columns shows without wrapping

Table = Literal["", "learner", "update"]

_PANELS = {
    "": "Settings of the task",
    "learner": "Learner (a named one has made most of these choices)",
    "update": "Update of the classifier",
}


@dataclass(frozen=True)
class Option:
    """A setting as an option of a command and as a key of a configuration file.

    Args:
        setting: the declaration.
        table: the table of the key.
        shown: the default, as the help shows it.
        owners: the owners of the setting, for its old names (:data:`~treewright.settings.RENAMED`).
    """

    setting: Setting
    table: Table = ""
    shown: str = ""
    owners: tuple[str, ...] = ()

    @property
    def parameter(self) -> str:
        """The name of the command's parameter: the name of the setting, or of the table for its ``name``."""
        return self.table if self.setting.name == "name" and self.table else self.setting.name

    @property
    def key(self) -> str:
        """The key of the setting in a configuration file."""
        prefix = {"": "", "learner": "learner.", "update": "learner.update."}[self.table]
        return prefix.rstrip(".") if self.setting.name == "name" and prefix else prefix + self.setting.name

    @property
    def flag(self) -> str:
        """The name of the option in messages."""
        return self.setting.option_flags[0].partition("/")[0]

    def check(self, value: Any) -> Any:
        """Convert a value of the command line or a file to the library's form."""
        return replace(self.setting, name=self.parameter).check(value, written=True)

    @property
    def old_names(self) -> list[str]:
        """The old names of the setting."""
        return [old for owner in self.owners for old, new in RENAMED.get(owner, {}).items() if new == self.setting.name]

    def parameters(self, panel: str = "", taken: Collection[str] = ()) -> list[inspect.Parameter]:
        """The option as a parameter of a command; its value is None if it is not given.

        If it has old flags that are not ``taken``, a hidden option is added for them.
        """
        setting = self.setting
        info = typer.Option(
            *setting.option_flags,
            help=setting.text,
            show_default=self.shown or False,
            rich_help_panel=panel or _PANELS[self.table],
            metavar=setting.metavar,
        )
        old = [*setting.old_flags.split(), *(f"--{name.replace('_', '-')}" for name in self.old_names)]
        hidden = [flag for flag in old if flag not in taken]
        parameters = [_parameter(self.parameter, setting.values.written | None, info)]
        if hidden:
            old_option = typer.Option(*hidden, hidden=True)
            parameters.append(_parameter(f"old_{self.parameter}", setting.values.written | None, old_option))
        return parameters


def _parameter(name: str, kind: Any, info: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=None)


#: paths and running: the options of every task
RUNNING = (
    Option(Setting("dev", File(), "Development corpus: the pass that is best on it is kept", metavar="FILE")),
    Option(Setting("out", File(), "Where the model goes, once training is done", flags="--out -o", metavar="FILE")),
    Option(Setting("jobs", Whole(1), "Threads; the model does not depend on it", flags="--jobs -j"), shown="1"),
)


_LEARNER = Setting("name", Text(), "The algorithm: see `treewright learners`", flags="--learner -l")
_UPDATE = Setting("name", Choice(lambda: _updates()), "The update of the classifier", flags="--update -u")


def estimator_options(
    task: str, estimator: type[Any], variants: Iterable[Mapping[str, str]] = (), notes: Mapping[str, str] | None = None
) -> list[Option]:
    """The settings of an estimator, of the learners that it learns with, and of their updates, as options.

    ``variants`` are settings on which the defaults of others depend; the help shows these defaults too. ``notes``, by
    the names of settings, replace the notes of the declarations.
    """
    from treewright.learners import learner_rows
    from treewright.policies import UPDATES

    configs = {"": estimator().resolved_config()}
    configs |= {_condition(variant): estimator(**variant).resolved_config() for variant in variants}
    of_learners = {when: each["learner"] for when, each in configs.items()}
    of_updates = {when: each.get("update", {}) for when, each in of_learners.items()}
    learners = learner_rows(*estimator.learners())
    options = [
        Option(
            replace(setting, note=(notes or {}).get(setting.name, setting.note)),
            "",
            _shown(setting, _defaults(setting, configs)),
            (task,),
        )
        for setting in settings_of(estimator)
    ]
    options += _table_options("learner", _LEARNER, learners, of_learners)
    if any(setting.name == "update" for row in learners.values() for setting in row.settings):
        options += _table_options("update", _UPDATE, UPDATES, of_updates)
    return options


def _updates() -> list[str]:
    from treewright.policies import UPDATES

    return list(UPDATES)


def _table_options(
    table: Table, name: Setting, rows: Mapping[str, Any], configs: Mapping[str, Mapping[str, Any]]
) -> Iterator[Option]:
    """The name of a row, and the settings of all rows; ``configs`` are the resolved settings of the default row."""
    usual = configs[""].get("name", "")
    yield Option(name, table, usual)
    settings: dict[str, dict[str, Setting]] = {}
    for row, made in rows.items():
        for setting in settings_of(made):
            if setting.name != "update":
                settings.setdefault(setting.name, {})[row] = setting
    for same in settings.values():
        setting = next(iter(same.values()))
        values = {when: each[setting.name] for when, each in configs.items() if setting.name in each}
        differ = any(each.plain(each.check(each.default)) not in values.values() for each in same.values())
        shown = _shown(setting, values, f" with {usual}" if differ else "")
        yield Option(setting, table, shown, (table, *(f"{table} {row!r}" for row in same)))


def _defaults(setting: Setting, configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The default of a setting of an estimator; if that is None, the resolved value."""
    if setting.default is not None:
        return {"": setting.default}
    return {when: each[setting.name] for when, each in configs.items()}


def _shown(setting: Setting, values: Mapping[str, Any], always: str = "") -> str:
    """The default of a setting as the help shows it, given its resolved values by the condition they depend on."""
    texts = {when: _written(setting, value) for when, value in values.items()}
    first = texts.pop("", "")
    others = [f"{text} if {when}" for when, text in texts.items() if text != first]
    return ", ".join([f"{first}{always}", *others]) if first else ""


def _written(setting: Setting, value: Any) -> str:
    """A plain value as text."""
    if isinstance(value, bool):
        return setting.option_flags[0].split("/")[0 if value else 1].removeprefix("--")
    if value is None:
        return "" if setting.none_written is None else str(setting.none_written)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _condition(variant: Mapping[str, str]) -> str:
    return " and ".join(f"{name} is {value}" for name, value in variant.items())


def option_parameters(options: Iterable[Option], panel: str = "") -> list[inspect.Parameter]:
    """Options as parameters of a command; an old flag that is the flag of another option now belongs to that one.

    A setting that learners and updates have is one option, shown with the updates.
    """
    options = list(options)
    taken = {flag for option in options for flag in option.setting.option_flags}
    return list({each.name: each for option in options for each in option.parameters(panel, taken)}.values())


def given_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the command line (None: not given), with the values of old flags under the present names."""
    values = {name: value for name, value in given.items() if not name.startswith("old_")}
    for name, value in given.items():
        new = name.removeprefix("old_")
        if new != name and values.get(new) is None:
            values[new] = value
    return values


def help_text(text: str | None) -> str:
    """The help of a command from its docstring: paragraphs without line ends, so that they fill any terminal.

    Indented lines are examples, which are not changed; long ones are continued on another line, as in a shell.

    >>> help_text("A long line\\nand its end.\\n\\nExamples:\\n  treewright info")
    'A long line and its end.\\n\\n\\nExamples:\\n  treewright info'
    """
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    filled = [re.sub(r"\n(?! )", " ", paragraph) for paragraph in paragraphs]
    whole = "\n\n\n".join([filled[0], *filled[1:2]])  # with one line end less, typer may remove the indentation
    return "\n".join(row for line in "\n\n".join([whole, *filled[2:]]).split("\n") for row in _rows(line))


def _rows(line: str) -> list[str]:
    """An example in rows that fit a narrow terminal, cut before options; a paragraph is not changed."""
    if not line.startswith(" "):
        return [line]
    rows = [""]
    for part in re.split(r"(?= --?[a-z]| \| )", line):
        if rows[-1] and len(rows[-1]) + len(part) > _NARROW:
            rows[-1] += " \\"
            rows.append(f"      {part.lstrip()}")
        else:
            rows[-1] += part
    return rows


def with_parameters(function: Callable[..., None], parameters: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """A function of ``**given`` that takes exactly these parameters, so that typer makes options of them."""

    def command(**given: Any) -> None:
        function(**given)

    parameters = list(parameters)
    setattr(command, "__signature__", inspect.Signature(parameters))  # noqa: B010 - mypy knows no such attribute
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
