"""Configurations: from a TOML file and the command line, which wins, and back to TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from treewright.cli.outcomes import note
from treewright.cli.settings import RUNNING, Setting
from treewright.cli.tasks import TASKS, Task
from treewright.errors import ConfigError

__all__ = ["Config", "blame", "dump_toml", "params_toml", "read_config", "resolve"]

_TRAIN = Setting("train", Path, "The corpus to learn from.")
_ASSIGNED = re.compile(r"\b(\w+)='(\w+)'")


@dataclass(frozen=True)
class Config:
    """What a training is told: ``params`` for the estimator, and where its files are."""

    task: str
    params: dict[str, Any]
    train: Path | None
    dev: Path | None
    out: Path | None
    jobs: int
    files: dict[str, Path] = field(default_factory=dict)
    """What the task needs besides the corpora."""

    def to_toml(self) -> str:
        """The configuration as a file that gives it back."""
        files = {"train": self.train, "dev": self.dev, "out": self.out, **self.files}
        given = {name: str(path) for name, path in files.items() if path is not None}
        return params_toml(self.task, {"task": self.task, **given, "jobs": self.jobs}, self.params)


def resolve(
    task: Task, given: Mapping[str, Any], file: Path | None, *, say: Callable[[str], None] = note
) -> tuple[Config, Any]:
    """The configuration with every choice spelled out, and the estimator that it makes.

    ``given`` is what the command line said (None: nothing). It wins over the file. Naming another learner or
    update than the file does replaces that table of the file, whose settings were meant for the other one.
    An error that the file alone is to blame for names it.
    """
    if file is None:
        return _combine(task, given, {}, None, say)
    read = partial(read_config, file, task)
    values = read()
    try:
        return _combine(task, given, values, file, say)
    except ConfigError as error:
        from_the_file = _mistake(task, {}, read(), file) is not None
        from_the_command = _mistake(task, given, {}, None) == str(error)
        if from_the_file and not from_the_command:
            raise ConfigError(f"{file}: {error}") from None
        raise


def blame(error: ConfigError, file: Path | None, given: Mapping[str, Any], task: Task) -> ConfigError:
    """An error that only training found; where its message begins with a setting from the file, it names the file.

    Elsewhere settings are written as options: ``search='agenda'`` is ``--search agenda``.
    """
    word = str(error).partition(" ")[0]
    parameter = next((setting.parameter for setting in task.settings if setting.name == word), word)
    if file is not None and word in read_config(file, task) and given.get(parameter) is None:
        return ConfigError(f"{file}: {error}")
    flags = {setting.name: setting.flags[0] for setting in task.settings}
    return ConfigError(_ASSIGNED.sub(lambda found: f"{flags.get(found[1], found[1])} {found[2]}", str(error)))


def _mistake(task: Task, given: Mapping[str, Any], values: dict[str, Any], file: Path | None) -> str | None:
    """What is wrong with the command line alone, or with the file alone."""
    try:
        _combine(task, given, values, file, lambda _: None)
    except ConfigError as error:
        return str(error)
    return None


def _combine(
    task: Task, given: Mapping[str, Any], values: dict[str, Any], file: Path | None, say: Callable[[str], None]
) -> tuple[Config, Any]:
    learner = values.pop("learner", {})
    update = learner.pop("update", {})
    for setting in (_TRAIN, *RUNNING, *task.files, *task.settings):
        if given.get(setting.parameter) is not None:
            values[setting.name] = given[setting.parameter]
    stays = bool(update) and given.get("update") in (None, update.get("name"))
    learner = _merge("learner", task, learner, given, file, say, "; those of its update stay" if stays else "")
    update = _merge("update", task, update, given, file, say)
    learner.setdefault("name", task.default_learner)
    running = {name: values.pop(name, None) for name in ("train", "dev", "out", "jobs")}
    jobs = 1 if running["jobs"] is None else int(running["jobs"])
    if jobs < 1:
        raise ConfigError(f"jobs must be at least 1, not {jobs}")
    files = {setting.name: Path(values.pop(setting.name)) for setting in task.files if setting.name in values}
    params = task.params(_with_none(values, task.settings))
    learner = _with_none(learner, [setting for setting in task.learning if setting.table == "learner"])
    if update:
        usual = task.estimator()(**params, learner=learner).resolved_config()["learner"].get("update")
        if usual is None:
            raise ConfigError(f"learner {learner['name']!r} has no update: leave out {', '.join(update)}")
        update.setdefault("name", usual["name"])
        learner["update"] = {**usual, **update} if update["name"] == usual["name"] else update
    estimator = task.estimator()(**params, learner=learner)
    train, dev, out = (None if running[name] is None else Path(running[name]) for name in ("train", "dev", "out"))
    resolved = task.plain_params(estimator.resolved_config(), values)
    return Config(task.name, resolved, train, dev, out, jobs, files), estimator


def _with_none(values: dict[str, Any], settings: Iterable[Setting]) -> dict[str, Any]:
    """The values as the library takes them: None where a person wrote what stands for it."""
    nothing = {setting.name: setting.nothing for setting in settings if setting.nothing is not None}
    for name, none in nothing.items():
        value = values.get(name)
        if isinstance(value, (int, float)) and value < none:
            raise ConfigError(f"{name} must be above {none}, or {none}, which means none, not {value}")
    return {name: None if name in nothing and value == nothing[name] else value for name, value in values.items()}


def _merge(
    table: str,
    task: Task,
    values: dict[str, Any],
    given: Mapping[str, Any],
    file: Path | None,
    say: Callable[[str], None],
    but: str = "",
) -> dict[str, Any]:
    settings = [setting for setting in task.learning if setting.table == table]
    new = {s.name: given[s.parameter] for s in settings if given.get(s.parameter) is not None}
    if "name" in new and len(values) > 1 and new["name"] != values.get("name"):
        say(f"note: --{table} {new['name']} replaces the settings of the {table} in {file}{but}")
        values = {}
    return {**values, **new}


def read_config(path: Path, task: Task) -> dict[str, Any]:
    """Read and check a file; learner and update come out as tables, also where they were only named."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: the configuration cannot be read: {(error.strerror or str(error)).lower()}"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the configuration is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: this is not TOML: {error}") from None
    values = _underscores(values)
    if values.get("task", task.name) != task.name:
        raise ConfigError(f"{path}: this is a configuration for {values['task']}, not for {task.name}")
    own = (Setting("task", str, ""), _TRAIN, *RUNNING, *task.files, *task.settings)
    _check(path, "", values, own, ("learner",))
    if "learner" in values:
        learner = values["learner"] = _table(path, "learner", values["learner"])
        choices, update_choices = ([s for s in task.learning if s.table == table] for table in ("learner", "update"))
        _resolve_aliases(path, learner, choices)
        _check(path, "learner.", learner, choices, ("update",) if update_choices else ())
        if "update" in learner:
            update = learner["update"] = _table(path, "learner.update", learner["update"])
            _check(path, "learner.update.", update, update_choices)
    values.pop("task", None)
    return values


def _underscores(table: dict[str, Any]) -> dict[str, Any]:
    """Keys as Python spells them: ``roll-in`` is ``roll_in``."""
    return {
        key.replace("-", "_"): _underscores(value) if isinstance(value, dict) else value for key, value in table.items()
    }


def _resolve_aliases(path: Path, values: dict[str, Any], settings: Iterable[Setting]) -> None:
    for setting in settings:
        if setting.alias and setting.alias in values:
            if setting.name in values:
                raise ConfigError(f"{path}: {setting.alias} and {setting.name} are the same setting; leave one out")
            values[setting.name] = values.pop(setting.alias)


def _table(path: Path, name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: {name} must be a name or a table, not {value!r}")
    return value


def _check(
    path: Path,
    where: str,
    values: Mapping[str, Any],
    settings: Iterable[Setting],
    tables: tuple[str, ...] = (),
) -> None:
    known = {setting.name: setting for setting in settings}
    for key, value in values.items():
        if key in tables:
            continue
        if key not in known:
            names = ", ".join([*known, *tables])
            raise ConfigError(f"{path}: there is no setting {where}{key}; known here: {names}")
        if not _fits(value, known[key]):
            kind = {int: "a whole number", float: "a number", bool: "true or false"}.get(known[key].type, "a string")
            if key == "features":
                kind = "the name of a set, a list of templates, or a table of such lists, moves and labels"
            raise ConfigError(f"{path}: {where}{key} must be {kind}, not {value!r}")


def _fits(value: Any, setting: Setting) -> bool:
    if setting.type is bool or isinstance(value, bool):
        return setting.type is bool and isinstance(value, bool)
    if setting.type is float or setting.name == "beta":
        return isinstance(value, (int, float)) or (setting.name == "beta" and isinstance(value, str))
    if setting.name == "features" and not isinstance(value, str):
        lists = list(value.values()) if isinstance(value, dict) else [value]
        return all(isinstance(part, list) and all(isinstance(item, str) for item in part) for part in lists)
    return isinstance(value, int if setting.type is int else str)


def params_toml(task: str, about: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Settings as :meth:`Task.plain_params` gives them, as a file for ``--config``, with ``about`` at its beginning."""
    known = TASKS.get(task)
    settings = [] if known is None else [*known.settings, *known.learning]
    plain = _without_none(params, [setting for setting in settings if not setting.table])
    if isinstance(plain.get("learner"), Mapping):
        plain["learner"] = _without_none(plain["learner"], [s for s in settings if s.table == "learner"])
    return dump_toml({**about, **plain})


def _without_none(values: Mapping[str, Any], settings: Iterable[Setting]) -> dict[str, Any]:
    """The values as a person writes them; where nothing stands for None, it is left out."""
    nothing = {setting.name: setting.nothing for setting in settings}
    plain = {name: nothing.get(name) if value is None else value for name, value in values.items()}
    return {name: value for name, value in plain.items() if value is not None}


def dump_toml(values: Mapping[str, Any], prefix: str = "") -> str:
    """Plain values and nested tables as TOML.

    >>> print(dump_toml({"bits": 18, "learner": {"name": "dagger", "update": {"name": "arow", "C": 10.0}}}))
    bits = 18
    <BLANKLINE>
    [learner]
    name = "dagger"
    <BLANKLINE>
    [learner.update]
    name = "arow"
    C = 10.0
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
