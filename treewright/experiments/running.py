"""Run jobs: one training with its scores, and all jobs of an experiment in one process or through an executor."""

from __future__ import annotations

import errno
import json
import math
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from treewright.corpora import Sentence
from treewright.errors import ConfigError, CorpusError, TreewrightError
from treewright.experiments.corpora import CorpusSource, Parts, select
from treewright.experiments.jobs import Job, code_version, described
from treewright.experiments.plan import Experiment
from treewright.experiments.probes import PROBES
from treewright.experiments.schedule import Durations, known_jobs, needed
from treewright.experiments.store import Outcome, Store, disk_full
from treewright.models import library_versions

__all__ = ["Executor", "OneProcess", "Progress", "Summary", "attempt", "run_experiment", "run_job"]


def run_job(job: Job, parts: Parts, *, jobs: int = 1, checkpoint: Path | None = None) -> Outcome:
    """Train and score: the parts are those of the whole corpus, of which the job selects its own.

    The result depends only on the job, not on the machine, the number of threads or an interruption. With
    ``checkpoint``, a folder, training continues after the last finished pass of an interrupted run.
    """
    own = select(parts, size=job.size, max_length=job.max_length, held_out=job.held_out, fold=job.fold)
    for part in ("train", *job.parts):
        if not own.get(part):
            raise CorpusError(f"there are no sentences in {part} of the corpus {job.corpus!r} for this job")
    _compile(job, own, jobs)
    estimator = job.estimator()
    resumed = checkpoint is not None and (checkpoint / "state.npz").is_file()
    wall, cpu = time.perf_counter(), time.process_time()
    dev = own.get("dev") if job.best_pass else None
    estimator.fit(own["train"], dev or None, jobs=jobs, checkpoint=checkpoint, resume=resumed)
    trained = time.perf_counter() - wall, time.process_time() - cpu
    scores, counts = dict[str, Any](), {}
    for part in job.parts:
        before = time.process_time()
        found, counts[part] = estimator.evaluate_by_sentence(own[part], jobs=jobs, **job.scoring)
        scores[part] = {
            "name": found.name,
            "main": found.main,
            "CPU seconds": time.process_time() - before,
            **{name: value for name, value in found.as_dict().items() if _is_number(value)},
        }
    if checkpoint is not None:
        shutil.rmtree(checkpoint, ignore_errors=True)
    result = {
        "scores": scores,
        "passes": [_passed(row) for row in estimator.history_],
        "train": {"seconds": trained[0], "CPU seconds": trained[1], "resumed": resumed},
        "sentences": {part: len(own[part]) for part in own},
        "probes": {name: PROBES[name](estimator, own) for name in job.probes},
        "machine": {**library_versions(), "host": platform.node(), "pid": os.getpid()},
    }
    return Outcome(time.perf_counter() - wall, result, counts)


def _compile(job: Job, own: Parts, jobs: int) -> None:
    """Train on a few sentences before the first such job of a process, so that CPU times exclude compilation."""
    kind = job.task, json.dumps(job.params, sort_keys=True)
    interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    if interpreted or kind in _COMPILED:
        return
    few = {part: sentences[:_FEW] for part, sentences in own.items()}
    small, learner = job, job.params.get("learner")
    if isinstance(learner, dict) and "passes" in learner:
        small = replace(job, params={**job.params, "learner": {**learner, "passes": min(2, learner["passes"])}})
    with suppress(TreewrightError):  # what is wrong with these few sentences may be right with all of them
        estimator = small.estimator()
        estimator.fit(few["train"], few.get("dev") if job.best_pass else None, jobs=jobs)
        estimator.evaluate_by_sentence(few[job.parts[0]], jobs=jobs, **job.scoring)
    _COMPILED.add(kind)


_FEW = 20  # sentences
_COMPILED: set[tuple[str, str]] = set()  # what this process has compiled


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _passed(row: Any) -> dict[str, Any]:
    names = ("iteration", "score", "loss", "seconds", "best")
    return {name: getattr(row, name) for name in names if hasattr(row, name)}


def attempt(job: Job, parts: Parts | Callable[[], Parts], *, jobs: int = 1, checkpoint: Path | None = None) -> Outcome:
    """Run a job; an error becomes its outcome, so that other jobs continue.

    Raises:
        StoreError: if the disk of the checkpoints is full, because all other jobs would fail, too.
    """
    started = time.perf_counter()
    try:
        return run_job(job, parts() if callable(parts) else parts, jobs=jobs, checkpoint=checkpoint)
    except Exception as error:
        if checkpoint is not None and isinstance(error, OSError) and error.errno in _NO_SPACE:
            raise disk_full(checkpoint.parent) from None
        return Outcome(time.perf_counter() - started, error=f"{type(error).__name__}: {error}")


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Executor(Protocol):
    """Runs jobs, in this process or on a cluster."""

    @property
    def workers(self) -> int:
        """The number of jobs that run at a time, to estimate the remaining time."""

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job with its outcome, as soon as it is known, in any order."""


@dataclass
class OneProcess:
    """Runs jobs one after the other in this process; ``jobs`` is the number of threads of each.

    ``checkpoints`` is a folder for jobs that were interrupted; it is removed when none is left.
    """

    corpora: Mapping[str, CorpusSource]
    jobs: int = 1
    checkpoints: Path | None = None
    workers: int = 1
    _read: dict[str, dict[str, list[Sentence]]] = field(default_factory=dict)

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job with its outcome."""
        for job in jobs:
            folder = None
            if self.checkpoints is not None:
                folder = self.checkpoints / f"{job.key}-{code_version().partition('+')[2]}"
            yield job, attempt(job, lambda job=job: self.parts(job.corpus), jobs=self.jobs, checkpoint=folder)  # type: ignore[misc]
            for empty in (folder, self.checkpoints):
                if empty is not None:
                    with suppress(OSError):  # it was never made, or there is something to continue from
                        empty.rmdir()

    def parts(self, name: str) -> dict[str, list[Sentence]]:
        """Return the sentences of a corpus, which is read once."""
        if name not in self._read:
            self._read[name] = self.corpora[name].read()
        return self._read[name]


@dataclass(frozen=True)
class Progress:
    """The progress of an experiment after a job."""

    job: Job
    description: str
    """The job with the settings in which it differs from others of its name."""
    outcome: Outcome
    done: int
    total: int
    left: float | None
    """The estimated remaining seconds; None if there is no estimate."""


@dataclass
class Summary:
    """A summary of a run: the numbers of jobs that ran and of existing results, and the failed jobs."""

    ran: int = 0
    known: int = 0
    failed: list[tuple[Job, str]] = field(default_factory=list)


def run_experiment(
    experiment: Experiment,
    store: Store,
    executor: Executor,
    *,
    only: str | None = None,
    any_code: bool = False,
    report: Callable[[Progress], None] | None = None,
) -> Summary:
    """Run all jobs whose results are not in the store; results are written as they come.

    Jobs that failed earlier run again. With ``any_code``, results of other versions of the code count too. ``only`` is
    the key of a job, or a prefix of it: only that job runs, even if its result exists.

    Raises:
        ConfigError: if no job has the key ``only``.
        StoreError: if a result cannot be written. Earlier results are kept.
    """
    code = code_version()
    digests = {name: source.digest() for name, source in experiment.corpora.items()}
    outcomes = {key: each for key, each in store.outcomes(None if any_code else code).items() if each.error is None}
    counted = dict[str, int]()  # the sentences of whole corpora, as far as they are known
    durations = Durations(
        ((Job.from_dict(job), seconds) for job, seconds in store.durations()),
        lambda job: job.size or counted.get(job.corpus),
    )
    summary, failed = Summary(known=len(outcomes)), dict[str, Outcome]()

    def run(jobs: Sequence[Job], later: int) -> None:
        left, descriptions = {job.key: job for job in jobs}, described(jobs)
        for job, outcome in executor.run(jobs):
            store.write(job.key, code, job.as_dict(), outcome)
            left.pop(job.key, None)
            summary.ran += 1
            if outcome.error is None:
                outcomes[job.key] = outcome
                if job.size is None:
                    counted[job.corpus] = outcome.result["sentences"]["train"]
                durations.add(job, outcome.seconds)
            else:
                failed[job.key] = outcome
                summary.failed.append((job, outcome.error))
            if report is not None:
                total = summary.ran + len(left) + later
                remaining = durations.left(left.values(), executor.workers)
                report(Progress(job, descriptions[job.key], outcome, summary.ran, total, remaining))

    if only is not None:
        chosen = [job for job in known_jobs(experiment, digests, outcomes) if job.key.startswith(only)]
        if not chosen:
            raise ConfigError(f"no job of this experiment has the key {only!r}; --dry-run and reports list them")
        run(chosen, 0)
        return summary
    while (wanted := needed(experiment, digests, {**outcomes, **failed})).jobs:
        run(*wanted)
    return summary
