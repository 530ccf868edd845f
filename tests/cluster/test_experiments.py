"""Experiments on a cluster: the results of one process, whatever happens to workers and to the scheduler."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

from tests.cluster.conftest import ROOT
from tests.experiments.conftest import TINY
from treewright.cluster import ClusterError, DaskExecutor, connect
from treewright.cluster.executor import run_on_worker
from treewright.experiments import OneProcess, Store, read_experiment, run_experiment

pytestmark = pytest.mark.slow


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY.replace("seeds = 2", "seeds = 3"))
    return read_experiment(path)


def _results(store):
    return {key: each.counts["test"].tolist() for key, each in store.outcomes().items() if each.error is None}


@pytest.fixture
def alone(experiment, tmp_path):
    with Store.open(tmp_path / "alone.sqlite") as store:
        run_experiment(experiment, store, OneProcess(experiment.corpora))
        return _results(store)


def test_workers_die_and_results_stay_the_same(dask_processes, experiment, alone, tmp_path):
    first, second = dask_processes.worker(), dask_processes.worker()
    pids = {first.pid: first, second.pid: second}
    with connect(dask_processes.address) as client, Store.open(tmp_path / "a.sqlite") as store:
        client.wait_for_workers(2, timeout=60)
        executor = DaskExecutor(client, experiment.corpora)
        assert executor.workers == 2
        killed = []

        def kill(progress):
            pid = progress.outcome.result["machine"]["pid"]
            if not killed:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)  # in the middle of its next job

        summary = run_experiment(experiment, store, executor, report=kill)
        assert summary.failed == []
        assert _results(store) == alone
        pids[killed[0]].wait()
        survivors = {each.result["machine"]["pid"] for each in store.outcomes().values()} - {*killed}
        assert survivors <= pids.keys()
        assert survivors
        executor.close()
    assert dask_processes.log().count("Starting Worker plugin treewright-corpus") == 2  # once for each worker


def test_the_scheduler_dies_and_work_goes_on_elsewhere(dask_processes, experiment, alone, tmp_path):
    dask_processes.worker()
    with Store.open(tmp_path / "a.sqlite") as store:

        def kill(progress):
            if progress.done == 2:
                dask_processes.scheduler.kill()

        with (
            pytest.raises(ClusterError, match="scheduler is gone"),
            connect(dask_processes.address) as client,
        ):
            run_experiment(experiment, store, DaskExecutor(client, experiment.corpora), report=kill)
        kept = len(_results(store))
        assert 2 <= kept < len(alone)
        summary = run_experiment(experiment, store, OneProcess(experiment.corpora))
        assert summary.ran == len(alone) - kept
        assert _results(store) == alone


def test_a_worker_with_another_version_is_refused(dask_processes, tmp_path):
    shutil.copytree(ROOT / "treewright", tmp_path / "treewright", ignore=shutil.ignore_patterns("__pycache__", "*.tw"))
    with (tmp_path / "treewright" / "errors.py").open("a") as file:
        file.write("\n# another version\n")
    dask_processes.worker(path=str(tmp_path))
    with pytest.raises(ClusterError) as error, connect(dask_processes.address):
        pass
    assert "127.0.0.1" in str(error.value)
    assert "install the same version" in str(error.value)


def test_a_worker_that_joins_later_with_another_version_runs_nothing():
    outcome = run_on_worker({}, "corpus", "0.0.1+another", 1)
    assert "this worker has Treewright" in outcome.error
    assert "0.0.1+another" in outcome.error


def test_no_scheduler(monkeypatch):
    monkeypatch.setattr("treewright.cluster.connecting._TIMEOUT", "1s")
    with pytest.raises(ClusterError, match="dask scheduler"), connect("tcp://127.0.0.1:1"):
        pass


def test_failures_are_reported(dask_processes, tmp_path):
    dask_processes.worker()
    path = tmp_path / "fails.toml"
    path.write_text(TINY.replace("train = 6", "train = 0").replace("seeds = 2", "seeds = 1"))
    experiment = read_experiment(path)
    with connect(dask_processes.address) as client, Store.open(tmp_path / "a.sqlite") as store:
        summary = run_experiment(experiment, store, DaskExecutor(client, experiment.corpora))
    assert len(summary.failed) == 2
    assert all("no sentences in train" in error for _, error in summary.failed)
