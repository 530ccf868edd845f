"""Experiments as files: the systems, the corpora, the choices on development data, and the reported parts.

:func:`read_experiment` reads a file and checks all of it before anything runs; an error names the line. The page
``docs/experiments.md`` has the keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from treewright.errors import ConfigError, CorpusError
from treewright.estimators import estimator_class, estimator_names
from treewright.experiments.corpora import PARTS, CorpusSource, expanded
from treewright.experiments.jobs import Job, make_estimator
from treewright.experiments.probes import PROBES
from treewright.toml import Document

__all__ = ["Cell", "Choosing", "Experiment", "Row", "experiment_of", "read_experiment"]

_KEYS = (
    "title",
    "about",
    "task",
    "corpora",
    "sizes",
    "seeds",
    "folds",
    "max_length",
    "held_out",
    "best_pass",
    "report",
    "baseline",
    "learners",
    "settings",
    "learner",
    "grid",
    "rows",
    "choose",
    "choosing",
    "scoring",
    "probes",
    "plots",
    "paper",
    "small",
)
PLOTS = ("sizes", "passes", "pareto", "folds", "grid")


@dataclass(frozen=True)
class Row:
    """One of the compared systems: a learner, its settings, and the values from which the best on dev is chosen."""

    name: str
    learner: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    choose: dict[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Choosing:
    """How values are chosen on development data.

    ``by`` is ``grid`` (all combinations) or ``in-turn`` (one setting at a time, keeping the best so far). The score
    is the mean over ``seeds``. ``corpora`` and ``sizes`` say where the choice is made; empty: for each one separately.
    """

    by: str = "grid"
    seeds: tuple[int, ...] = ()
    corpora: tuple[str, ...] = ()
    sizes: tuple[int | None, ...] = ()


class Cell(NamedTuple):
    """A cell of the grid; its jobs differ only in seeds and folds."""

    task: str
    corpus: str
    size: int | None
    grid: tuple[tuple[str, Any], ...]
    row: str

    @property
    def label(self) -> str:
        """The name of the row with its settings in the grid, for tables."""
        return ", ".join([self.row, *(f"{key.removeprefix('learner.')} = {value}" for key, value in self.grid)])


@dataclass(frozen=True)
class Experiment:
    """An experiment that was checked: every cell of it can be run."""

    title: str
    about: str
    path: str
    tasks: tuple[str, ...]
    corpora: dict[str, CorpusSource]
    sizes: tuple[int | None, ...]
    seeds: tuple[int, ...]
    folds: int | None
    max_length: int | None
    held_out: int | None
    best_pass: bool
    report: tuple[str, ...]
    baseline: str
    rows: dict[str, Row]
    settings: dict[str, Any]
    learner: dict[str, Any]
    grid: dict[str, tuple[Any, ...]]
    choosing: Choosing
    scoring: dict[str, Any]
    probes: tuple[str, ...]
    plots: tuple[str, ...]
    paper: dict[str, Any]

    def cells(self) -> Iterator[Cell]:
        """Yield the cells, in the order of tables."""
        combined = [tuple(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]
        for task, corpus, size, row, values in product(self.tasks, self.corpora, self.sizes, self.rows, combined):
            yield Cell(task, corpus, size, values, row)

    def choices(self, cell: Cell) -> dict[str, tuple[Any, ...]]:
        """Return the candidate values of a cell, by setting."""
        return self.rows[cell.row].choose

    @property
    def scored(self) -> tuple[str, ...]:
        """The parts that every job scores."""
        needed = {*self.report, *(("dev",) if any(row.choose for row in self.rows.values()) else ())}
        return tuple(part for part in PARTS if part in needed)

    def jobs(self, cell: Cell, chosen: Mapping[str, Any], digests: Mapping[str, str]) -> list[Job]:
        """Return the jobs of a cell with some choices made, one for each seed and fold."""
        return [
            self.job(cell, chosen, seed, fold, digests[cell.corpus])
            for seed in self.seeds
            for fold in range(self.folds or 1)
        ]

    def job(self, cell: Cell, chosen: Mapping[str, Any], seed: int, fold: int, digest: str) -> Job:
        """Return one job."""
        made = self.estimator(cell, chosen, seed)
        params = {name: value for name, value in made.resolved_config().items() if name != "seed"}
        return Job(
            task=cell.task,
            params=params,
            seed=seed,
            corpus=cell.corpus,
            digest=digest,
            size=cell.size,
            max_length=self.max_length,
            held_out=self.held_out,
            fold=None if self.folds is None else (fold, self.folds, 0),
            parts=self.scored,
            best_pass=self.best_pass,
            scoring=self.scoring,
            probes=self.probes,
        )

    def estimator(self, cell: Cell, chosen: Mapping[str, Any], seed: int) -> Any:
        """Return the estimator of a cell with some choices made, and a seed."""
        row = self.rows[cell.row]
        settings, learner = {**self.settings, **row.settings}, self._learner(cell.task, row)
        for key, value in (*cell.grid, *chosen.items()):
            if key in chosen or has_setting(cell.task, learner, key):
                _put(settings, learner, key, value)
        return make_estimator(cell.task, settings, learner or None, seed)

    def _learner(self, task: str, row: Row) -> dict[str, Any]:
        """The learner of a row, with the common settings that it supports."""
        from treewright.learners import learner_rows, learner_settings

        kinds = estimator_class(task).learners()
        if not self.learner:
            return dict(row.learner)
        if "name" not in row.learner and not row.learner:
            return dict(self.learner)
        known = {each.name for each in fields(learner_rows(*kinds)[learner_settings(row.learner, *kinds)["name"]])}
        common = {name: value for name, value in self.learner.items() if name in known}
        return {**common, **row.learner}


def _put(settings: dict[str, Any], learner: dict[str, Any], key: str, value: Any) -> None:
    """Set a setting by its key: ``bits``, ``learner.passes``, ``learner.update.r``."""
    name, _, rest = key.partition(".")
    if name != "learner" or not rest:
        settings[key] = value
        return
    inner, _, last = rest.partition(".")
    if not last:
        learner[inner] = value
        return
    update = learner.get(inner, {})
    learner[inner] = {**({"name": update} if isinstance(update, str) else update), last: value}


def read_experiment(path: str | os.PathLike[str], *, small: bool = False) -> Experiment:
    """Read an experiment from a file; with ``small``, the values of its table ``[small]`` replace the others.

    Raises:
        ConfigError: for anything that cannot be used, with the line.
        CorpusError: if a corpus is missing.
    """
    document = Document.read(path, "experiment")
    if small:
        values = dict(document.values)
        if "small" not in values:
            raise ConfigError(f"{path}: there is no table [small] that says what a small experiment is")
        document = Document(_merged(values, values.pop("small", {})), document.text, document.path)
    return experiment_of(document, Path(path).resolve().parent)


def _merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The values with changes: tables are merged, except corpora, which are replaced; a list of rows keeps these."""
    found = dict(values)
    if isinstance(rows := changes.get("rows"), list):
        found["rows"] = {name: row for name, row in values.get("rows", {}).items() if name in rows}
        changes = {name: value for name, value in changes.items() if name != "rows"}
    for name, value in changes.items():
        merges = isinstance(value, dict) and isinstance(found.get(name), dict) and name != "corpora"
        found[name] = _merged(found[name], value) if merges else value
    return found


def experiment_of(document: Document, folder: Path) -> Experiment:
    """Return the experiment of a document, checked; paths in it begin at ``folder``."""
    return _Reader(document, folder).experiment()


class _Reader:
    """Reads the values of a document one by one; errors name the line."""

    def __init__(self, document: Document, folder: Path) -> None:
        self.document, self.folder, self.values = document, folder, document.values

    def experiment(self) -> Experiment:
        self._known(self.values, _KEYS)
        tasks = self._tasks()
        corpora = self._corpora()
        grid = self._lists("grid")
        rows = self._rows(tasks)
        baseline = str(self.values.get("baseline", next(iter(rows))))
        if baseline not in rows:
            raise self._error(
                f"there is no row {baseline!r} to be the baseline; there are: {', '.join(rows)}", "baseline"
            )
        folds = self._whole("folds", None, 2)
        seeds = self._numbers("seeds", 0, self.values.get("seeds", 1))
        report = self._names("report", ("test",), PARTS)
        experiment = Experiment(
            title=str(self.values.get("title", Path(self.document.path).stem)),
            about=str(self.values.get("about", "")),
            path=self.document.path,
            tasks=tasks,
            corpora=corpora,
            sizes=self._sizes("sizes", self.values.get("sizes", [0])),
            seeds=seeds,
            folds=folds,
            max_length=self._whole("max_length", None, 1),
            held_out=self._whole("held_out", None, 1),
            best_pass=self._flag("best_pass", True),
            report=report,
            baseline=baseline,
            rows=rows,
            settings=_underscores(self._table("settings")),
            learner=self._learner(self.values.get("learner", {}), "learner"),
            grid=grid,
            choosing=self._choosing(seeds, corpora),
            scoring=_underscores(self._table("scoring")),
            probes=self._names("probes", (), tuple(PROBES)),
            plots=self._names("plots", PLOTS, PLOTS),
            paper=self._table("paper"),
        )
        self._check_parts(experiment)
        self._check_cells(experiment)
        return experiment

    # ---- values of one kind

    def _error(self, message: str, *keys: str) -> ConfigError:
        return self.document.error(message, *keys)

    def _known(self, table: Mapping[str, Any], names: Sequence[str], *where: str) -> None:
        for key in table:
            if key not in names:
                inside = f" in [{'.'.join(where)}]" if where else ""
                raise self._error(f"there is no key {key!r}{inside}; there are: {', '.join(names)}", *where, key)

    def _table(self, name: str) -> dict[str, Any]:
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self._error(f"{name} must be a table, not {value!r}", name)
        return value

    def _whole(self, name: str, default: int | None, low: int) -> int | None:
        value = self.values.get(name, default)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < low):
            raise self._error(f"{name} must be a whole number from {low}, not {value!r}", name)
        return value

    def _flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self._error(f"{name} must be true or false, not {value!r}", name)
        return value

    def _names(self, name: str, default: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
        value = self.values.get(name, list(default))
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or any(each not in known for each in value):
            raise self._error(f"{name} must be some of {', '.join(known)}, not {value!r}", name)
        return tuple(value)

    def _numbers(self, name: str, low: int, value: Any, *where: str) -> tuple[int, ...]:
        """A list of numbers, or (a number n) those from 0 to n − 1."""
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return tuple(range(value))
        whole = isinstance(value, list) and all(
            isinstance(v, int) and not isinstance(v, bool) and v >= low for v in value
        )
        if not whole or not value or len({*value}) < len(value):
            raise self._error(
                f"{name} must be a number of {name}, or a list of different whole numbers from {low}, not {value!r}",
                *(where or (name,)),
            )
        return tuple(value)

    def _sizes(self, name: str, value: Any, *where: str) -> tuple[int | None, ...]:
        value = value if isinstance(value, list) else [value]
        value = [0 if each == "all" else each for each in value]
        if not value or any(isinstance(v, bool) or not isinstance(v, int) or v < 0 for v in value):
            raise self._error(
                f'{name} must be a list of numbers of sentences, where "all" means all of them, not {value!r}',
                *(where or (name,)),
            )
        return tuple(each or None for each in value)

    def _lists(self, name: str) -> dict[str, tuple[Any, ...]]:
        return self._value_lists(self._table(name), name)

    def _value_lists(self, table: Any, *where: str) -> dict[str, tuple[Any, ...]]:
        if not isinstance(table, dict):
            raise self._error(f"{where[-1]} must be a table of lists, not {table!r}", *where)
        found = {}
        for key, value in _flat(table):
            if not isinstance(value, list) or not value:
                raise self._error(f"{key} must be a list of the values to try, not {value!r}", *where, *key.split("."))
            found[key] = tuple(value)
        return found

    def _learner(self, value: Any, *where: str) -> dict[str, Any]:
        if isinstance(value, str):
            return {"name": value}
        if not isinstance(value, dict):
            raise self._error(f"learner must be a name or a table, not {value!r}", *where)
        return _underscores(value)

    # ---- tables

    def _tasks(self) -> tuple[str, ...]:
        value = self.values.get("task")
        if value is None:
            raise self._error('the task is missing: add a line such as task = "dependency"')
        tasks = [value] if isinstance(value, str) else value
        for task in tasks if isinstance(tasks, list) else [tasks]:
            if not isinstance(task, str) or (task not in estimator_names() and ":" not in task):
                raise self._error(f"there is no task {task!r}; there are: {', '.join(estimator_names())}", "task")
        return tuple(tasks)

    def _corpora(self) -> dict[str, CorpusSource]:
        table = self._table("corpora")
        if not table:
            raise self._error(
                "the corpora are missing: add a table [corpora.NAME] with train, dev and test: files, or "
                "numbers of sentences of the built-in corpus"
            )
        return {name: self._corpus(name, value) for name, value in table.items()}

    def _corpus(self, name: str, value: Any) -> CorpusSource:
        where = ("corpora", name)
        if not isinstance(value, dict) or "train" not in value:
            raise self._error(f"the corpus {name!r} must be a table with train, and often with dev and test", *where)
        self._known(value, (*PARTS, *(f"{part}_trees" for part in PARTS), "seed", "skip", "note"), *where)
        parts: dict[str, Path | int] = {}
        trees: dict[str, Path] = {}
        for key in (*PARTS, *(f"{part}_trees" for part in PARTS)):
            if key not in value:
                continue
            found = value[key]
            part = key.removesuffix("_trees")
            try:
                if isinstance(found, str):
                    path = expanded(found, self.folder)
                    trees |= {part: path} if key != part else {}
                    parts |= {part: path} if key == part else {}
                elif key == part and isinstance(found, int) and not isinstance(found, bool) and found >= 0:
                    parts[part] = found
                else:
                    raise ConfigError(f"{key} must be a path or a number of sentences, not {found!r}")
            except ConfigError as error:
                note = f"; {value['note']}" if isinstance(found, str) and value.get("note") else ""
                raise self._error(f"{error}{note}", *where, key) from None
        if len({type(part) is int for part in parts.values()}) > 1:
            raise self._error(f"the corpus {name!r} has files and numbers: take one or the other", *where)
        skip = value.get("skip", 0)
        if not isinstance(skip, int) or isinstance(skip, bool) or skip < 0:
            raise self._error(f"skip must be a whole number of sentences, not {skip!r}", *where, "skip")
        source = CorpusSource(name, parts, trees, int(value.get("seed", 0)), str(value.get("note", "")), skip)
        try:
            source.check()
        except CorpusError as error:
            missing = next(key for key in value if str(error.path).endswith(str(value[key])[-8:]))
            raise CorpusError(f"{self.document.place(*where, missing)}: {error}") from None
        return source

    def _rows(self, tasks: tuple[str, ...]) -> dict[str, Row]:
        table, names = self._table("rows"), self.values.get("learners", [])
        if not isinstance(names, list) or any(not isinstance(name, str) for name in names):
            raise self._error(f"learners must be a list of names, not {names!r}", "learners")
        common = self._lists("choose")
        rows = {name: self._row(name, {"learner": name}, common, tasks, "learners") for name in names}
        for name, value in table.items():
            if not isinstance(value, dict):
                raise self._error(f"the row {name!r} must be a table", "rows", name)
            self._known(value, ("learner", "settings", "choose"), "rows", name)
            rows[name] = self._row(name, value, common, tasks, "rows", name)
        if not rows:
            default = self.values.get("learner", {})
            name = default if isinstance(default, str) else str(default.get("name", "")) or "default"
            rows[name] = self._row(name, {}, common, tasks, "learner")
        return rows

    def _row(
        self,
        name: str,
        value: dict[str, Any],
        common: dict[str, tuple[Any, ...]],
        tasks: tuple[str, ...],
        *where: str,
    ) -> Row:
        learner = self._learner(value.get("learner", {}), *where, "learner")
        given = value.get("choose", {})
        common = {} if given is False else common
        own = self._value_lists(given or {}, *where, "choose")
        settings = value.get("settings", {})
        if not isinstance(settings, dict):
            raise self._error(f"settings must be a table, not {settings!r}", *where, "settings")
        inherited = {key: values for key, values in common.items() if has_setting(tasks[0], learner, key)}
        return Row(name, learner, _underscores(settings), {**inherited, **own})

    def _choosing(self, seeds: tuple[int, ...], corpora: Mapping[str, Any]) -> Choosing:
        table = self._table("choosing")
        self._known(table, ("by", "seeds", "corpora", "sizes"), "choosing")
        by = table.get("by", "grid")
        if by not in ("grid", "in-turn"):
            raise self._error(f"by must be grid or in-turn, not {by!r}", "choosing", "by")
        on = table.get("corpora", [])
        if not isinstance(on, list) or any(name not in corpora for name in on):
            raise self._error(f"corpora must be some of {', '.join(corpora)}, not {on!r}", "choosing", "corpora")
        chosen = self._numbers("seeds", 0, table.get("seeds", [seeds[0]]), "choosing", "seeds")
        sizes = self._sizes("sizes", table["sizes"], "choosing", "sizes") if "sizes" in table else ()
        return Choosing(by, chosen, tuple(on), sizes)

    # ---- checks of combinations

    def _check_parts(self, experiment: Experiment) -> None:
        for name, corpus in experiment.corpora.items():
            for part in experiment.scored:
                if experiment.folds is None and part not in corpus.parts:
                    why = "is reported" if part in experiment.report else "is needed to choose settings"
                    raise self._error(f"the corpus {name!r} has no {part}, which {why}", "corpora", name)
        for key in experiment.grid:
            if not any(has_setting(experiment.tasks[0], row.learner, key) for row in experiment.rows.values()):
                raise self._error(f"no row has a learner with the setting {key}", "grid", key)
        for name, row in experiment.rows.items():
            for key in experiment.grid:
                inner = key.removeprefix("learner.")
                if key in row.settings or key in row.choose or (key != inner and inner in row.learner):
                    raise self._error(f"the row {name!r} says {key} itself, which the grid varies", "rows", name)

    def _check_cells(self, experiment: Experiment) -> None:
        for cell in experiment.cells():
            if cell.corpus != next(iter(experiment.corpora)) or cell.size != experiment.sizes[0]:
                continue  # settings do not depend on them
            choices = experiment.choices(cell)
            first = {key: values[0] for key, values in choices.items()}
            tried = [first, *({**first, key: value} for key, values in choices.items() for value in values[1:])]
            for chosen in tried:
                self._check_cell(experiment, cell, chosen)

    def _check_cell(self, experiment: Experiment, cell: Cell, chosen: Mapping[str, Any]) -> None:
        try:
            experiment.estimator(cell, chosen, experiment.seeds[0])
        except ConfigError as error:
            keys = self._blamed(error.setting or "", cell.row, error.value)
            raise self._error(f"{error} (task {cell.task}, row {cell.label})", *keys) from None

    def _blamed(self, setting: str, row: str, value: Any) -> tuple[str, ...]:
        """The keys of the value that caused an error, the most specific one first."""
        own = ("rows", row)
        places = [
            (*own, "choose", f"learner.{setting}"),
            (*own, "choose", "learner", setting),
            (*own, "choose", setting),
            (*own, "learner", setting),
            (*own, "learner", "update", setting),
            (*own, "settings", setting),
            *([(*own, "learner")] if setting in ("beam", "learner", "name", "") else []),
            ("choose", f"learner.{setting}"),
            ("choose", setting),
            ("grid", f"learner.{setting}"),
            ("grid", "learner", setting),
            ("grid", setting),
            ("learner", "update", setting),
            ("learner", setting),
            ("settings", setting),
            ("learners",),
        ]
        for keys in places:
            if self._holds(keys):
                return keys
        return own if row in self._table("rows") else ("learner",)

    def _holds(self, keys: tuple[str, ...]) -> bool:
        value: Any = self.values
        for key in keys:
            found = (
                [name for name in value if str(name).replace("-", "_") == key.replace("-", "_")]
                if isinstance(value, dict)
                else []
            )
            if not found:
                return False
            value = value[found[0]]
        return True


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested tables by dotted keys: ``learner.update.r``."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key.replace('-', '_')}.")
        else:
            yield f"{prefix}{key}".replace("-", "_"), value


def _underscores(table: Mapping[str, Any]) -> dict[str, Any]:
    """Keys as Python spells them: ``roll-in`` is ``roll_in``."""
    return {
        key.replace("-", "_"): _underscores(value) if isinstance(value, Mapping) else value
        for key, value in table.items()
    }


def has_setting(task: str, learner: Mapping[str, Any], key: str) -> bool:
    """Return whether a setting of learners, which is common to all rows, is a setting of this learner.

    >>> has_setting("tagging", {"name": "dagger"}, "learner.passes"), has_setting("tagging", {"name": "dagger"}, "bits")
    (True, True)
    >>> has_setting("constituency", {"name": "maximum-likelihood"}, "learner.passes")
    False
    """
    from treewright.learners import learner_rows, learner_settings

    if not key.startswith("learner.") or "name" not in learner:
        return True
    kinds = estimator_class(task).learners()
    try:
        row = learner_rows(*kinds)[learner_settings(learner["name"], *kinds)["name"]]
    except ConfigError:
        return True  # the error is found where the row is checked
    return key.split(".")[1] in {each.name for each in fields(row)}
