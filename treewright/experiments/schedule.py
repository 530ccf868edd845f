"""The next jobs of an experiment, the choices on development data, and estimates of times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

from treewright.experiments.jobs import Job
from treewright.experiments.plan import Cell, Experiment
from treewright.experiments.store import Outcome
from treewright.learners.measured import expected_seconds

__all__ = ["Choice", "Durations", "Needed", "choose", "known_jobs", "needed"]

Outcomes = Mapping[str, Outcome]


class Needed(NamedTuple):
    """The jobs that can run now, and the maximum number of jobs that will follow when their results are known."""

    jobs: list[Job]
    later: int


class Choice(NamedTuple):
    """The choice for a cell: the values, or None with the jobs that must run first; and the scores on dev."""

    chosen: dict[str, Any] | None
    jobs: list[Job]
    tried: dict[str, float]
    """The mean score on dev of each combination, by its description."""


def needed(experiment: Experiment, digests: Mapping[str, str], outcomes: Outcomes) -> Needed:
    """Return the jobs whose results are still needed, each once."""
    found: dict[str, Job] = {}
    later = 0
    for cell in experiment.cells():
        choice = choose(experiment, cell, digests, outcomes)
        wanted = choice.jobs
        if choice.chosen is not None:
            wanted = experiment.jobs(cell, choice.chosen, digests)
        else:
            later += len(experiment.seeds) * (experiment.folds or 1)
        found |= {job.key: job for job in wanted if job.key not in outcomes}
    return Needed(list(found.values()), later if found else 0)


def known_jobs(experiment: Experiment, digests: Mapping[str, str], outcomes: Outcomes) -> list[Job]:
    """Return the jobs of all cells as far as outcomes are known, including finished jobs."""
    found: dict[str, Job] = {}
    for cell in experiment.cells():
        choice = choose(experiment, cell, digests, outcomes)
        wanted = choice.jobs if choice.chosen is None else experiment.jobs(cell, choice.chosen, digests)
        found |= {job.key: job for job in wanted}
    return list(found.values())


def choose(experiment: Experiment, cell: Cell, digests: Mapping[str, str], outcomes: Outcomes) -> Choice:
    """Return the settings of a cell that are best on development data, as far as outcomes are known.

    Values whose jobs failed are not chosen, unless all failed. Of equal scores the first one is chosen.
    """
    values = experiment.choices(cell)
    tried: dict[str, float] = {}
    if not values:
        return Choice({}, [], tried)
    if experiment.choosing.by == "grid":
        combined = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
        best, jobs = _best(experiment, cell, combined, digests, outcomes, tried)
        return Choice(best, jobs, tried)
    chosen = {key: options[0] for key, options in values.items()}
    for key, options in values.items():
        best, jobs = _best(experiment, cell, [{**chosen, key: option} for option in options], digests, outcomes, tried)
        if best is None:
            return Choice(None, jobs, tried)
        chosen = best
    return Choice(chosen, [], tried)


def _best(
    experiment: Experiment,
    cell: Cell,
    combined: list[dict[str, Any]],
    digests: Mapping[str, str],
    outcomes: Outcomes,
    tried: dict[str, float],
) -> tuple[dict[str, Any] | None, list[Job]]:
    """The combination that is best on dev, or None and the jobs whose outcomes are missing."""
    choosing = experiment.choosing
    places = [
        cell._replace(corpus=corpus, size=size)
        for corpus in (choosing.corpora or (cell.corpus,))
        for size in (choosing.sizes or (cell.size,))
    ]
    missing: list[Job] = []
    scores: list[float] = []
    for chosen in combined:
        jobs = [
            experiment.job(place, chosen, seed, fold, digests[place.corpus])
            for place in places
            for seed in choosing.seeds
            for fold in range(experiment.folds or 1)
        ]
        missing += [job for job in jobs if job.key not in outcomes]
        known = [outcomes[job.key] for job in jobs if job.key in outcomes]
        if any(outcome.error is not None for outcome in known) or len(known) < len(jobs):
            scores.append(float("-inf"))
            continue
        scores.append(sum(outcome.result["scores"]["dev"]["main"] for outcome in known) / len(known))
        tried[", ".join(f"{key} = {value}" for key, value in chosen.items())] = scores[-1]
    if missing:
        return None, missing
    return combined[scores.index(max(scores))], []


class Durations:
    """The times of jobs, to estimate the times of others.

    ``count`` returns the number of training sentences of a job, or None if that is unknown. Until a job with the same
    learner has run, estimates are from the measurements of the package, which were made on another machine; jobs of the
    task with other learners show how much slower this one is.
    """

    def __init__(
        self, known: Iterable[tuple[Job, float]] = (), count: Callable[[Job], int | None] = lambda job: job.size
    ) -> None:
        self._count = count
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        self._rates: dict[tuple[str, ...], list[float]] = {}  # by sentence and pass
        self._slower: dict[str, list[float]] = {}  # than the machine of the measurements, by task
        self._by_key: dict[str, float] = {}
        for job, seconds in known:
            self.add(job, seconds)

    def add(self, job: Job, seconds: float) -> None:
        """Record the time of a job."""
        self._by_key[job.key] = seconds
        work = self._work(job)
        for kind in self._kinds(job):
            self._seconds.setdefault(kind, []).append(seconds)
            if work:
                self._rates.setdefault(kind, []).append(seconds / work)
        if work and (measured := expected_seconds(job.task, job.learner)):
            self._slower.setdefault(job.task, []).append(1000 * seconds / (work * measured))

    def estimate(self, job: Job) -> float | None:
        """Return the estimated seconds of a job, from the most similar jobs; None if there are none."""
        if job.key in self._by_key:
            return self._by_key[job.key]
        same, *similar = self._kinds(job)
        if same in self._seconds:
            return fmean(self._seconds[same])
        if work := self._work(job):
            learner, task = similar
            if learner in self._rates:
                return work * fmean(self._rates[learner])
            if measured := expected_seconds(job.task, job.learner):
                return work * measured / 1000 * fmean(self._slower.get(job.task, [1.0]))
            if task in self._rates:
                return work * fmean(self._rates[task])
        return next((fmean(self._seconds[kind]) for kind in similar if kind in self._seconds), None)

    def left(self, jobs: Iterable[Job], workers: int) -> float | None:
        """Return the estimated seconds of all jobs together; None if there is no estimate for one of them."""
        found = [self.estimate(job) for job in jobs]
        known = [each for each in found if each is not None]
        return None if len(known) < len(found) else sum(known) / max(1, workers)

    def _work(self, job: Job) -> float | None:
        """The number of sentences that training goes over."""
        sentences, learner = self._count(job), job.params.get("learner")
        passes = learner.get("passes", 1) if isinstance(learner, dict) else 1
        return None if sentences is None else float(sentences * passes)

    @staticmethod
    def _kinds(job: Job) -> list[tuple[str, ...]]:
        """From the most to the least similar jobs; those of the first kind have the same sentences."""
        return [
            (job.task, job.corpus, job.learner, str(job.size)),
            (job.task, job.learner),
            (job.task,),
        ]
