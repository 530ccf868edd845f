"""Jobs: one training and its scores, as plain data with a key that is the same on every machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from treewright.errors import ConfigError
from treewright.estimators import Estimator, estimator_class
from treewright.models import library_versions
from treewright.settings import settings_of

__all__ = ["Job", "code_version", "described", "make_estimator"]

#: packages whose code does not affect results
_NO_RESULTS = ("cli", "cluster", "experiments", "interop", "reports", "server")


@dataclass(frozen=True)
class Job:
    """One training: the task, the corpus, the settings, and the parts that are scored."""

    task: str
    params: dict[str, Any]
    """The settings of the estimator, all of them, without the seed."""
    seed: int
    corpus: str
    """The name of the corpus in the experiment, which is not part of the key."""
    digest: str
    size: int | None
    max_length: int | None
    held_out: int | None
    """The largest number of sentences of dev and of test; None: all of them."""
    fold: tuple[int, int, int] | None
    parts: tuple[str, ...]
    """The parts that are scored."""
    best_pass: bool
    """Whether the pass that is best on development data is kept."""
    scoring: dict[str, Any]
    probes: tuple[str, ...]

    @property
    def key(self) -> str:
        """A digest of everything that the result depends on, except the code."""
        values = {name: value for name, value in asdict(self).items() if name != "corpus"}
        if self.held_out is None:
            del values["held_out"]  # so that keys from before this setting stay valid
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:20]

    @property
    def learner(self) -> str:
        """The name of the learner."""
        learner = self.params.get("learner", {})
        return str(learner.get("name", "")) if isinstance(learner, dict) else str(learner)

    def as_dict(self) -> dict[str, Any]:
        """Return the job as plain values, for :meth:`from_dict`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Job:
        """Return the job from plain values, also after a round trip through JSON."""
        fold = values["fold"]
        lists = {"parts": tuple(values["parts"]), "probes": tuple(values["probes"])}
        return cls(**{"held_out": None, **values, **lists, "fold": None if fold is None else tuple(fold)})

    def estimator(self) -> Estimator[Any]:
        """Return the unfitted estimator."""
        settings = {**self.params, "seed": self.seed}
        return estimator_class(self.task)(**settings)

    def __str__(self) -> str:
        size = "all" if self.size is None else self.size
        fold = "" if self.fold is None else f", fold {self.fold[0] + 1} of {self.fold[1]}"
        return f"{self.task}, {self.corpus} ({size}), {self.learner}, seed {self.seed}{fold}"


def described(jobs: Sequence[Job]) -> dict[str, str]:
    """Return a description of each job, by its key: jobs of the same name have the settings in which they differ."""
    named: dict[str, dict[str, dict[str, Any]]] = {}
    for job in jobs:
        named.setdefault(str(job), {})[job.key] = _flat(job.params)
    found = {}
    for name, settings in named.items():
        keys = dict.fromkeys(key for each in settings.values() for key in each)
        differing = [key for key in keys if len({repr(each.get(key)) for each in settings.values()}) > 1]
        for job_key, each in settings.items():
            own = [f"{key.removeprefix('learner.')} = {each[key]}" for key in differing if key in each]
            found[job_key] = ", ".join([name, *own])
    return found


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their keys in experiments: ``bits``, ``learner.passes``, ``learner.update.r``."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def make_estimator(task: str, settings: dict[str, Any], learner: dict[str, Any] | None, seed: int) -> Estimator[Any]:
    """Return the estimator of settings from a file, in which a number may mean None.

    Raises:
        ConfigError: for a setting or a combination that cannot be used; it has the name of the setting.
    """
    from treewright.learners import learner_rows, learner_settings
    from treewright.learners.structured import check_beam

    make = estimator_class(task)
    known = {setting.name: setting for setting in settings_of(make)}
    params: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in known:
            raise ConfigError(f"is no setting of {make.__name__}, which has: {', '.join(known)}", setting=name)
        params[name] = known[name].check(value, written=True)
    if learner is not None:
        given = learner_settings(learner, *make.learners())
        declared = {setting.name: setting for setting in learner_rows(*make.learners())[given["name"]].settings}
        params["learner"] = {
            name: declared[name].check(value, written=True) if name in declared and name != "update" else value
            for name, value in given.items()
        }
    if "seed" in known:
        params["seed"] = seed
    made = make(**params)
    made._check_settings()
    made.resolved_config()
    if made.learners():
        check_beam(made._make_learner(), params.get("beam", 1))
    return made


@cache
def code_version() -> str:
    """Return the version of the package, with a digest of the code that results depend on.

    >>> len(code_version().split("+")[1])
    12
    """
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        if path.parts[0] not in _NO_RESULTS:
            digest.update(f"{path.as_posix()}\n".encode() + file.read_bytes())
    return f"{library_versions()['treewright']}+{digest.hexdigest()[:12]}"
