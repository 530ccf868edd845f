"""The evaluation of an experiment: scores with intervals, and comparisons with the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.experiments.jobs import Job, code_version
from treewright.experiments.plan import Cell, Experiment
from treewright.experiments.schedule import choose
from treewright.experiments.store import Outcome, Store
from treewright.metrics import Interval, ReplicateComparison, holm, replicate_comparison, replicate_interval

__all__ = ["CellResult", "Results", "gather"]

Counts = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CellResult:
    """The results of a cell: the choices on dev, and the finished jobs with their outcomes."""

    cell: Cell
    chosen: dict[str, Any] | None
    tried: dict[str, float]
    jobs: tuple[tuple[Job, Outcome], ...]
    expected: int

    @property
    def is_complete(self) -> bool:
        """Whether all seeds and folds have results."""
        return len(self.jobs) == self.expected

    def replicates(self, part: str) -> list[Counts]:
        """Return the counts of each seed; the counts of folds are concatenated."""
        by_seed: dict[int, list[Counts]] = {}
        for job, outcome in self.jobs:
            by_seed.setdefault(job.seed, []).append(outcome.counts[part])
        return [np.concatenate(counts) for counts in by_seed.values()]

    def interval(self, part: str) -> Interval:
        """Return the mean score over seeds with its 95 % interval over seeds and sentences."""
        return replicate_interval(self.replicates(part))

    def values(self, part: str) -> list[float]:
        """Return the main score of each job: each seed, and each fold."""
        return [outcome.result["scores"][part]["main"] for _, outcome in self.jobs]

    def score_name(self, part: str) -> str:
        """Return the name of the main score."""
        return str(self.jobs[0][1].result["scores"][part]["name"]) if self.jobs else "score"

    def mean(self, *path: str) -> float | None:
        """Return the mean of a number of the results over all jobs: ``mean("train", "CPU seconds")``."""
        found = []
        for _, outcome in self.jobs:
            value: Any = outcome.result
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                found.append(float(value))
        return float(np.mean(found)) if found else None

    def by_pass(self) -> list[float]:
        """Return the mean score on dev after each pass; empty if passes have no scores."""
        passes = [[row["score"] for row in outcome.result["passes"]] for _, outcome in self.jobs]
        if not passes or any(score is None for row in passes for score in row):
            return []
        return [float(np.mean(scores)) for scores in zip(*passes, strict=False)]


@dataclass(frozen=True)
class Results:
    """The results of all cells of an experiment, and the jobs that failed."""

    experiment: Experiment
    cells: dict[Cell, CellResult]
    failed: tuple[tuple[Job, str], ...]
    code: str
    missing: int

    def of(self, task: str, corpus: str, size: int | None = None, *, any_size: bool = False) -> list[CellResult]:
        """Return the existing results on a corpus, in the order of tables."""
        return [
            result
            for cell, result in self.cells.items()
            if cell.task == task and cell.corpus == corpus and (any_size or cell.size == size) and result.jobs
        ]

    def baseline(self, cell: Cell) -> CellResult | None:
        """Return the baseline of a cell, with the same corpus, size and settings."""
        found = self.cells.get(cell._replace(row=self.experiment.baseline))
        return found if found is not None and found.jobs and found.cell != cell else None

    @cached_property
    def _compared(self) -> dict[str, dict[Cell, tuple[ReplicateComparison, float]]]:
        """For each part, the comparisons with the baseline, and p-values that are corrected within task and corpus."""
        found: dict[str, dict[Cell, tuple[ReplicateComparison, float]]] = {}
        for part in self.experiment.report:
            raw: dict[Cell, ReplicateComparison] = {}
            for cell, result in self.cells.items():
                base = self.baseline(cell)
                if base is not None and result.jobs and _paired(base.replicates(part), result.replicates(part)):
                    raw[cell] = replicate_comparison(base.replicates(part), result.replicates(part))
            found[part] = {}
            for task in self.experiment.tasks:
                for corpus in self.experiment.corpora:
                    family = {c: r.p for c, r in raw.items() if (c.task, c.corpus) == (task, corpus)}
                    found[part] |= {cell: (raw[cell], p) for cell, p in holm(family).items()}
        return found

    def compared(self, cell: Cell, part: str) -> tuple[ReplicateComparison, float] | None:
        """Return the comparison of a cell with the baseline, and its p-value with Holm's correction; None: baseline."""
        return self._compared[part].get(cell)


def _paired(a: Sequence[Counts], b: Sequence[Counts]) -> bool:
    return bool(a) and bool(b) and {len(each) for each in a} == {len(each) for each in b}


def gather(experiment: Experiment, store: Store, *, any_code: bool = False) -> Results:
    """Return the results that a store has for an experiment: those of this version of the code, or of any."""
    code = code_version()
    digests = {name: source.digest() for name, source in experiment.corpora.items()}
    outcomes = store.outcomes(None if any_code else code)
    good = {key: each for key, each in outcomes.items() if each.error is None}
    cells: dict[Cell, CellResult] = {}
    failed: dict[str, tuple[Job, str]] = {}
    missing = 0
    for cell in experiment.cells():
        choice = choose(experiment, cell, digests, good)
        jobs = [] if choice.chosen is None else experiment.jobs(cell, choice.chosen, digests)
        for job in (*jobs, *choice.jobs):
            if job.key in outcomes and (error := outcomes[job.key].error) is not None:
                failed[job.key] = job, error
        expected = len(experiment.seeds) * (experiment.folds or 1)
        done = tuple((job, good[job.key]) for job in jobs if job.key in good)
        missing += expected - len(done)
        cells[cell] = CellResult(cell, choice.chosen, choice.tried, done, expected)
    made_by = " and ".join(store.codes()) if any_code else code
    return Results(experiment, cells, tuple(failed.values()), made_by, missing)
