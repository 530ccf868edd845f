"""Experiments: grids of corpora, sizes, tasks, settings, learners and seeds, run as jobs whose results are kept."""

from treewright.experiments.corpora import CorpusSource
from treewright.experiments.jobs import Job, code_version
from treewright.experiments.plan import Experiment, Row, experiment_of, read_experiment
from treewright.experiments.running import OneProcess, Progress, Summary, run_experiment, run_job
from treewright.experiments.store import Outcome, Store, StoreError
from treewright.toml import Document

__all__ = [
    "CorpusSource",
    "Document",
    "Experiment",
    "Job",
    "OneProcess",
    "Outcome",
    "Progress",
    "Row",
    "Store",
    "StoreError",
    "Summary",
    "code_version",
    "experiment_of",
    "read_experiment",
    "run_experiment",
    "run_job",
]
