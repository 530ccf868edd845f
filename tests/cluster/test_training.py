"""Iterative parameter mixing by real workers: what one process makes of the same shards."""

from __future__ import annotations

import os
import signal

import pytest
from typer.testing import CliRunner

from treewright.cli import make_app
from treewright.cluster import ClusterError, DaskShards, connect
from treewright.corpora import builtin_corpus, write_conllu
from treewright.dependency import DependencyParser
from treewright.errors import CorpusError
from treewright.estimators.mixing import FileShard, LocalShards, cut_file, fit_mixed
from treewright.tagging import Tagger

pytestmark = pytest.mark.slow

TAGGER = {"bits": 8, "learner": {"name": "exploration", "passes": 3}}


def test_shards_on_workers(dask_processes, tmp_path):
    train, dev, _ = builtin_corpus(train=8, dev=3, test=0)
    write_conllu(train, tmp_path / "train.conllu")
    write_conllu(dev, tmp_path / "dev.conllu")
    cut = cut_file(tmp_path / "train.conllu", 2)
    expected = fit_mixed(Tagger(**TAGGER), LocalShards(cut), dev)
    first = dask_processes.worker()
    dask_processes.worker()
    with connect(dask_processes.address) as client:
        client.wait_for_workers(2, timeout=60)
        runner = DaskShards(client, cut)

        def kill(row):
            if row.iteration == 1:
                os.kill(first.pid, signal.SIGKILL)

        found = fit_mixed(Tagger(**TAGGER), runner, dev, report=kill)
        assert found.policy_.weights.tobytes() == expected.policy_.weights.tobytes()
        assert [row.score for row in found.history_] == [row.score for row in expected.history_]
        with pytest.raises(CorpusError, match="share"):
            DaskShards(client, [FileShard(str(tmp_path / "elsewhere.conllu"), 0, 9)]).survey("tagging", TAGGER)
    options = ["--dev", tmp_path / "dev.conllu", "--bits", 8, "--passes", 2]
    for task, kind in (("tagging", Tagger), ("dependency", DependencyParser)):
        command = ["train", task, tmp_path / "train.conllu", *options]
        for name, more in (("plain", []), ("one", ["--cluster", dask_processes.address])):  # one worker is left
            result = CliRunner().invoke(
                make_app(["train"]), [str(arg) for arg in (*command, "--out", tmp_path / f"{name}.tw", *more)]
            )
            assert result.exit_code == 0, result.output
        speeds = [line.split()[-2] for line in result.output.splitlines() if line.lstrip().startswith(("1 ", "2 "))]
        assert speeds == ["–", "–"]  # this process has not read the corpus
        plain, one = (kind.load(tmp_path / f"{name}.tw") for name in ("plain", "one"))
        assert plain.policy_.weights.tobytes() == one.policy_.weights.tobytes()
        assert plain.vocabulary_ == one.vocabulary_

    def stop(row):
        dask_processes.scheduler.kill()

    with connect(dask_processes.address) as client, pytest.raises(ClusterError, match="scheduler is gone"):
        fit_mixed(Tagger(**TAGGER), DaskShards(client, cut), dev, report=stop, checkpoint=tmp_path / "checkpoint")
    resumed = fit_mixed(Tagger(**TAGGER), LocalShards(cut), dev, checkpoint=tmp_path / "checkpoint", resume=True)
    assert resumed.policy_.weights.tobytes() == expected.policy_.weights.tobytes()
