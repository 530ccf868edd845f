"""Configurations from a TOML file and the command line, which takes precedence, and their conversion to TOML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.cli.outcomes import note
from treewright.cli.settings import RUNNING, Option, Table
from treewright.cli.tasks import TASKS, Task
from treewright.errors import ConfigError
from treewright.settings import File, Setting, Text, current_names
from treewright.toml import Document

__all__ = ["Config", "dump_toml", "params_toml", "read_config", "resolve"]

_TRAIN = Option(Setting("train", File(), "The corpus to learn from", flags="TRAIN"))
_TASK = Option(Setting("task", Text(), "The task that the configuration is for"))
_TABLES: tuple[Table, ...] = ("learner", "update")


@dataclass(frozen=True)
class Config:
    """The configuration of a training: ``params`` for the estimator, and the paths of its files."""

    task: str
    params: dict[str, Any]
    train: Path | None
    dev: Path | None
    out: Path | None
    jobs: int
    files: dict[str, Path] = field(default_factory=dict)
    """The files that the task needs besides the corpora."""
    origin: Mapping[str, str] = field(default_factory=dict)
    """The names of the given settings in messages: an option, or a key of a file."""

    def to_toml(self) -> str:
        """The configuration as the text of a file for ``--config``."""
        files = {"train": self.train, "dev": self.dev, "out": self.out, **self.files}
        given = {name: str(path) for name, path in files.items() if path is not None}
        return params_toml(self.task, {"task": self.task, **given, "jobs": self.jobs}, self.params)

    def blame(self, error: ConfigError) -> ConfigError:
        """The error about a setting, by the name of the option or of the key that was given."""
        return _blame(error, self.origin)


def _blame(error: ConfigError, origin: Mapping[str, str]) -> ConfigError:
    name = origin.get(error.setting or "")
    return error if name is None else ConfigError(error.problem, setting=name, value=error.value)


def resolve(
    task: Task, given: Mapping[str, Any], file: Path | None, *, say: Callable[[str], None] = note
) -> tuple[Config, Any]:
    """The configuration with every setting resolved, and its estimator.

    ``given`` are the values of the command line (None: not given), which take precedence over the file. If the learner
    or update differs from the file's, that table of the file is ignored, because its settings belong to the other one.
    An error names the option or the key of the file that caused it.
    """
    document = None if file is None else Document.read(file, "configuration")
    values = {} if document is None else read_config(document, task)
    learner = values.pop("learner", {})
    update = learner.pop("update", {})
    running = (_TRAIN, *RUNNING, *map(Option, task.files))
    own = [*running, *task.table("")]
    origin = {option.parameter: _place(document, option) for option in own if option.setting.name in values}
    for option in own:
        if given.get(option.parameter) is not None:
            values[option.setting.name] = given[option.parameter]
            origin[option.parameter] = option.flag
    stays = bool(update) and given.get("update") in (None, update.get("name"))
    of_learner, of_update = _divided(task, given, given.get("learner") or learner.get("name"))
    and_update = "; those of its update stay" if stays else ""
    learner = _merge("learner", task, learner, of_learner, document, origin, say, and_update)
    update = _merge("update", task, update, of_update, document, origin, say)
    try:
        checked = {
            option.setting.name: option.check(task.value(option.setting.name, value))
            for option in own
            if (value := values.get(option.setting.name)) is not None
        }
        paths = {option.setting.name: checked.pop(option.setting.name, None) for option in running}
        estimator = _estimator(task, checked, learner, update)
        resolved = task.plain_params(estimator.resolved_config(), values)
    except ConfigError as error:
        raise _blame(error, origin) from None
    train, dev, out, jobs = (paths.pop(name) for name in ("train", "dev", "out", "jobs"))
    files = {name: path for name, path in paths.items() if path is not None}
    return Config(task.name, resolved, train, dev, out, jobs or 1, files, origin), estimator


def _divided(task: Task, given: Mapping[str, Any], learner: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of the command line, for the learner and for its update.

    A setting that both tables have, such as ``averaged``, is the learner's if the learner has it.
    """
    from treewright.learners import learner_rows

    rows = learner_rows(*task.estimator().learners())
    row = next((row for name, row in rows.items() if name.lower() == str(learner).lower()), None)
    own = {setting.name for setting in row.settings} if row is not None else set()
    shared = {o.parameter for o in task.table("learner")} & {o.parameter for o in task.table("update")}
    of_learner = {name: value for name, value in given.items() if name not in shared - own}
    return of_learner, {name: value for name, value in given.items() if name not in shared & own}


def _estimator(task: Task, params: dict[str, Any], learner: dict[str, Any], update: dict[str, Any]) -> Any:
    """The estimator of some settings; the default update is the learner's."""
    from treewright.policies import update_settings

    make, tables = task.estimator(), dict(zip(_TABLES, (learner, update), strict=True))
    for table, values in tables.items():
        known = {option.setting.name: option for option in task.table(table)}
        tables[table] = {name: known[name].check(value) for name, value in values.items()}
    learner, update = tables.values()
    if not learner and not update:
        return make(**params)
    usual = make(**params).resolved_config()["learner"]
    learner.setdefault("name", usual["name"])
    if update:
        usual = make(**params, learner=learner).resolved_config()["learner"].get("update")
        if usual is None:
            name = next(iter(update))
            encoded = "" if params.get("policy", "linear") == "linear" else " with an encoder"
            problem = f"is no setting of learner {learner['name']!r}{encoded}: it has no update"
            raise ConfigError(problem, setting="update" if name == "name" else name)
        update = update_settings({"name": usual["name"], **update})
        learner["update"] = {**usual, **update} if update["name"] == usual["name"] else update
    return make(**params, learner=learner)


def _merge(
    table: Table,
    task: Task,
    values: dict[str, Any],
    given: Mapping[str, Any],
    document: Document | None,
    origin: dict[str, str],
    say: Callable[[str], None],
    but: str = "",
) -> dict[str, Any]:
    """A table of the file, updated with the values of the command line."""
    options = task.table(table)
    new = {o.setting.name: given[o.parameter] for o in options if given.get(o.parameter) is not None}
    if "name" in new and len(values) > 1 and new["name"] != values.get("name"):
        say(f"note: --{table} {new['name']} replaces the settings of the {table} in {document and document.path}{but}")
        values = {}
    origin |= {o.parameter: _place(document, o) for o in options if o.setting.name in values}
    origin |= {o.parameter: o.flag for o in options if o.setting.name in new}
    return {**values, **new}


def _place(document: Document | None, option: Option) -> str:
    """The position of a setting: the file, the line and the key."""
    if document is None:
        return option.key
    return f"{document.path}:{document.line(*option.key.split('.'))}: {option.key}"


def read_config(document: Document, task: Task) -> dict[str, Any]:
    """Return the settings of a file; learner and update are tables, even if only their names are given.

    Settings have their present names. Their values are checked later.
    """
    values = _underscores(document.values)
    if values.get("task", task.name) != task.name:
        raise document.error(f"this is a configuration for {values['task']}, not for {task.name}", "task")
    own = (_TASK, _TRAIN, *RUNNING, *map(Option, task.files), *task.table(""))
    values = _known(document, values, own, ("learner",))
    if "learner" in values:
        learner = _table(document, values["learner"], "learner")
        updates = task.table("update")
        learner = values["learner"] = _known(
            document, learner, task.table("learner"), ("update",) if updates else (), "learner"
        )
        if "update" in learner:
            update = _table(document, learner["update"], "learner", "update")
            learner["update"] = _known(document, update, updates, (), "learner", "update")
    values.pop("task", None)
    return values


def _underscores(table: dict[str, Any]) -> dict[str, Any]:
    """Keys as Python spells them: ``roll-in`` is ``roll_in``."""
    return {
        key.replace("-", "_"): _underscores(value) if isinstance(value, dict) else value for key, value in table.items()
    }


def _table(document: Document, value: Any, *keys: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise document.error(f"{'.'.join(keys)} must be a name or a table, not {value!r}", *keys)
    return value


def _known(
    document: Document, values: Mapping[str, Any], options: Iterable[Option], tables: tuple[str, ...], *where: str
) -> dict[str, Any]:
    """The values of a table by the present names of settings; an unknown key is an error."""
    options = list(options)
    known = [*(option.setting.name for option in options), *tables]
    owners = dict.fromkeys(owner for option in options for owner in option.owners)
    try:
        current = current_names(values, known, *owners)
    except ConfigError as error:
        raise document.error(".".join([*where, str(error)]), *where) from None
    for key in current:
        if key not in known:
            name = ".".join([*where, key])
            raise document.error(f"there is no setting {name}; known here: {', '.join(known)}", *where, key)
    return dict(current)


def params_toml(task: str, about: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Settings as :meth:`Task.plain_params` gives them, as a file for ``--config``, with ``about`` at its beginning."""
    options = TASKS[task].options if task in TASKS else []
    plain = _without_none(params, options, "")
    if isinstance(plain.get("learner"), Mapping):
        plain["learner"] = _without_none(plain["learner"], options, "learner")
    return dump_toml({**about, **plain})


def _without_none(values: Mapping[str, Any], options: Iterable[Option], table: Table) -> dict[str, Any]:
    """The values for a file; None is omitted if no number means None."""
    nothing = {option.setting.name: option.setting.none_written for option in options if option.table == table}
    plain = {name: nothing.get(name) if value is None else value for name, value in values.items()}
    return {name: value for name, value in plain.items() if value is not None}


def dump_toml(values: Mapping[str, Any], prefix: str = "") -> str:
    """Plain values and nested tables as TOML.

    >>> print(dump_toml({"bits": 18, "learner": {"name": "dagger", "update": {"name": "arow", "r": 10.0}}}))
    bits = 18
    <BLANKLINE>
    [learner]
    name = "dagger"
    <BLANKLINE>
    [learner.update]
    name = "arow"
    r = 10.0
    """
    plain = [f"{key} = {_toml(value)}" for key, value in values.items() if not isinstance(value, Mapping)]
    parts = ["\n".join(plain)] if plain else []
    for key, value in values.items():
        if isinstance(value, Mapping):
            parts.append(f"[{prefix}{key}]\n" + dump_toml(value, f"{prefix}{key}."))
    return "\n\n".join(parts)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return repr(value)
