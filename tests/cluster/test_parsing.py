"""Parsing by shards: the bytes of one machine, in order, and no shard twice."""

from __future__ import annotations

import os
import signal

import pytest
from typer.testing import CliRunner

from treewright.cli import make_app
from treewright.cli.parse_shards import parse_shard
from treewright.cluster import ClusterError, connect
from treewright.cluster.parsing import run_shards, shards_of
from treewright.corpora import builtin_corpus
from treewright.tagging import Tagger


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A tagger and some files of words."""
    folder = tmp_path_factory.mktemp("texts")
    train, _, test = builtin_corpus(train=8, dev=0, test=10)
    Tagger(bits=8, learner={"name": "supervised", "passes": 1}).fit(train).save(folder / "model.tw")
    for k in range(5):
        (folder / f"{k}.txt").write_text("".join(f"{sentence}\n" for sentence in test[2 * k : 2 * k + 2]))
    return folder


def run(*args, code=0):
    result = CliRunner(env={"COLUMNS": None}).invoke(make_app(["parse"]), ["parse", *map(str, args)])
    assert result.exit_code == code, result.output
    return result


def whole(files):
    """What one machine makes of the files, one by one."""
    made = [run(files / "model.tw", files / f"{k}.txt", "--format", "conllu").stdout for k in range(5)]
    return "".join(made)


def test_a_pattern_on_one_machine(files, tmp_path):
    expected = whole(files)
    out = tmp_path / "all.conllu"
    run(files / "model.tw", files / "*.txt", "--out", out)
    assert out.read_text() == expected
    assert not list(tmp_path.glob("*.shards"))
    assert run(files / "model.tw", files / "?.txt", "--format", "conllu").stdout == expected


def test_bad_patterns(files, tmp_path):
    assert "no file" in run(files / "model.tw", files / "*.none", code=2).output
    assert "svg" in run(files / "model.tw", files / "*.txt", "--format", "svg", code=2).output
    assert "no such model file" in run(tmp_path / "no.tw", files / "*.txt", code=2).output.lower()


def test_shards_are_kept(files, tmp_path):
    value = ((("model", "model.tw", (files / "model.tw").read_bytes()),), HOW)
    shards = shards_of([files / f"{k}.txt" for k in range(5)], tmp_path / "shards", "a")
    for shard in run_shards(shards, parse_shard, value, None):
        if shard == shards[2]:
            break
    assert [shard.is_done for shard in shards] == [True, True, True, False, False]
    again = shards_of([files / f"{k}.txt" for k in range(5)], tmp_path / "shards", "a")
    assert list(run_shards(again, parse_shard, value, None)) == shards[3:]
    other = shards_of([files / "0.txt"], tmp_path / "shards", "another model")
    assert not other[0].is_done


HOW = '{"format": "conllu", "named": "conllu", "input_format": "auto", "k_best": null, "jobs": 1}'


@pytest.mark.slow
def test_a_cluster_makes_the_same_bytes(dask_processes, files, tmp_path):
    first = dask_processes.worker()
    dask_processes.worker()
    value = ((("model", "model.tw", (files / "model.tw").read_bytes()),), HOW)
    expected = whole(files)
    with connect(dask_processes.address) as client:
        client.wait_for_workers(2, timeout=60)
        shards = shards_of([files / f"{k}.txt" for k in range(5)], tmp_path / "shards", "a")
        for number, _ in enumerate(run_shards(shards, parse_shard, value, client)):
            if number == 0:
                os.kill(first.pid, signal.SIGKILL)
        assert b"".join(shard.result.read_bytes() for shard in shards).decode() == expected
    out = tmp_path / "all.conllu"
    run(files / "model.tw", files / "*.txt", "--out", out, "--cluster", dask_processes.address)
    assert out.read_text() == expected
    with connect(dask_processes.address) as client:
        more = shards_of([files / f"{k}.txt" for k in range(5)], tmp_path / "more", "b")
        running = run_shards(more, parse_shard, value, client)
        next(running)
        dask_processes.scheduler.kill()
        with pytest.raises(ClusterError, match="scheduler is gone"):
            list(running)
    kept = [shard for shard in more if shard.is_done]
    assert 1 <= len(kept) <= 5
    assert [shard for shard in more if shard not in kept] == list(run_shards(more, parse_shard, value, None))
    assert b"".join(shard.result.read_bytes() for shard in more).decode() == expected
