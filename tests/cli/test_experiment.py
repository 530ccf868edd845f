"""Experiments from the command line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from tests.experiments.conftest import TINY
from treewright.experiments import Store, StoreError

ONE = TINY.replace("seeds = 2", "seeds = 1")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(ONE)
    return path


def test_run_report_and_run_again(run, file):
    listed = run("experiment", file, "--dry-run").stdout
    assert "2 jobs to run" in listed
    assert "on one core, by the speed of another machine" in listed
    lines = [json.loads(line) for line in run("experiment", file, "--json").stdout.splitlines()]
    assert [line["event"] for line in lines] == ["job", "job", "done"]
    assert [row["system"] for row in lines[-1]["rows"]] == ["supervised", "exploration"]
    assert lines[-1]["rows"][0]["p"] is None
    assert 0 < lines[-1]["rows"][1]["p"] <= 1
    assert lines[0]["scores"]["test"] == lines[-1]["rows"][0]["score"]
    again = run("experiment", file, "--json").stdout.splitlines()
    assert json.loads(again[0])["ran"] == 0
    table = run("experiment", file).stdout
    assert "p (Holm)" in table
    assert f"{100 * lines[-1]['rows'][1]['score']:.2f}" in table
    assert "0 jobs to run" in run("experiment", file, "--dry-run").stdout
    key = lines[0]["key"]
    assert json.loads(run("experiment", file, "--json", "--job", key).stdout.splitlines()[0])["key"] == key
    assert "nothing-like-it" in run("experiment", file, "--job", "nothing-like-it", code=2).stderr
    run("experiment", "report", file)
    assert "Tiny" in file.with_suffix(".md").read_text()
    assert key in file.with_suffix(".html").read_text()


def test_jobs_of_a_grid_are_told_apart(run, file):
    file.write_text(ONE + '\n[grid]\n"learner.passes" = [1, 2]\nbits = [7, 8]\n')
    listed = run("experiment", file, "--dry-run").stdout
    for name in ("supervised", "exploration"):
        for passes in (1, 2):
            for bits in (7, 8):
                assert f"{name}, seed 0, passes = {passes}, bits = {bits} " in listed
    assert "8 jobs to run; 0 results in the store" in listed
    lines = [json.loads(line) for line in run("experiment", file, "--json").stdout.splitlines()]
    assert len({line["job"] for line in lines[:-1]}) == 8


def test_results_of_other_code(run, file):
    run("experiment", file, "--quiet")
    with Store.open(file.with_suffix(".sqlite")) as store:
        store._connection.execute("UPDATE jobs SET code = '0.0.1+old'")
    assert "0.0.1+old" in run("experiment", file).stderr
    with Store.open(file.with_suffix(".sqlite")) as store:
        assert len(store.codes()) == 2
        store._connection.execute("DELETE FROM jobs WHERE code != '0.0.1+old'")
    assert "--any-code" in run("experiment", "report", file, code=2).stderr
    run("experiment", "report", file, "--any-code")
    assert "by Treewright 0.0.1+old from" in file.with_suffix(".md").read_text()
    assert json.loads(run("experiment", file, "--any-code", "--json").stdout.splitlines()[-1])["ran"] == 0


def test_bad_input(run, file, tmp_path):
    file.write_text(ONE.replace("bits = 8", "bots = 8"))
    said = run("experiment", file, code=2).stderr
    assert "tiny.toml:13" in said
    assert "bots" in said
    assert not file.with_suffix(".sqlite").exists()
    assert "no results yet" in run("experiment", "report", _good(file), code=2).stderr
    assert "none.toml" in run("experiment", tmp_path / "none.toml", code=2).stderr
    assert "--quick" in run("experiment", "--seeds", 2, code=2).stderr
    with Store.open(file.with_suffix(".sqlite")):
        assert "another process" in run("experiment", file, code=2).stderr


def test_a_missing_corpus(run, file):
    file.write_text(ONE.replace("train = 6\ndev = 3\ntest = 5", 'train = "gone.conllu"\ntest = "gone.conllu"'))
    for options in ((), ("--dry-run",)):
        said = run("experiment", file, *options, code=2).stderr
        assert "tiny.toml:8" in said
        assert "gone.conllu" in said
        assert "toy" in said
    assert not file.with_suffix(".sqlite").exists()


def test_a_store_of_another_version(run, file):
    store = file.with_suffix(".sqlite")
    Store.open(store).close()
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE about SET value = '99' WHERE name = 'store_version'")
    before = store.read_bytes()
    for command in (("experiment", file), ("experiment", file, "--dry-run"), ("experiment", "report", file)):
        said = run(*command, code=2).stderr
        assert str(store) in said
        assert "version 99" in said
    assert store.read_bytes() == before


def _good(file):
    file.write_text(ONE)
    return file


def test_a_failed_job_is_reported(run, file):
    file.write_text(ONE.replace("train = 6", "train = 0"))
    result = run("experiment", file, code=2)
    assert "failed" in result.stderr
    assert "no sentences in train" in result.stderr
    assert "2 jobs failed" in result.stderr
    quiet = run("experiment", file, "--quiet", code=2)
    assert quiet.stderr.startswith("error: 2 jobs failed")
    assert quiet.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("bits", "limit", "where"), [(8, 1 << 14, "tiny.sqlite"), (13, 1 << 17, "tiny.sqlite.checkpoints")]
)
def test_a_disk_that_fills_up(run, file, bits, limit, where):
    """A file that may not grow is what a program sees of a full disk: first the store, then a checkpoint."""
    file.write_text(ONE.replace("bits = 8", f"bits = {bits}"))
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); "
        "from treewright.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "experiment", str(file)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.count("error: ") == 1
    assert f"{file.with_name(where)}: the disk is full" in ended.stderr
    assert "failed" not in ended.stderr
    again = json.loads(run("experiment", file, "--json").stdout.splitlines()[-1])
    assert (again["ran"], again["failed"]) == (2, [])
    assert not file.with_name("tiny.sqlite.checkpoints").exists()


def test_quick(run, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("experiment", "--quick", data / "train.conllu", "--dev", data / "dev.conllu", "--task", "tagging")
    options = ("--learners", "supervised,exploration", "--passes", 1, "--json")
    lines = run(*command, "--test", data / "test.conllu", *options).stdout.splitlines()
    done = json.loads(lines[-1])
    assert [row["system"] for row in done["rows"]] == ["supervised", "exploration"]
    assert (tmp_path / done["store"]).is_file()
    assert "--test" in run(*command, code=2).stderr
    shown = run(*command, "--test", data / "test.conllu", *options[:-1])
    assert "treewright-quick.sqlite" in shown.stderr
    said = run(*command, "--test", data / "test.conllu", "--learners", "dager", code=2).stderr
    assert re.match("error: --quick: .*'dager'.*did you mean 'dagger'", said)
    assert "--learners" in run(*command, "--test", data / "test.conllu", "--learners", ",", code=2).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ends", "options"), [(signal.SIGINT, ()), (signal.SIGINT, ("--cluster", "local:1")), (signal.SIGKILL, ())]
)
def test_an_end_in_the_middle_loses_nothing(run, start, file, ends, options):
    file.write_text(TINY.replace("seeds = 2", "seeds = 200"))
    process = start("experiment", file, *options)
    store = file.with_suffix(".sqlite")
    deadline = time.monotonic() + 120
    while _results(store) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.kill(process.pid, ends)
    _, said = process.communicate(timeout=60)
    if ends == signal.SIGINT:
        assert process.returncode == 130
        assert "To go on" in said.decode()
        assert str(store) in said.decode()
    kept = _results(store)
    assert kept >= 2
    with Store.open(store) as opened:  # nobody holds it any more
        assert all(outcome.error is None for outcome in opened.outcomes().values())
    file.write_text(TINY)  # of its four jobs, the first two were those of the longer experiment
    again = json.loads(run("experiment", file, "--json").stdout.splitlines()[-1])
    assert again["ran"] == 2
    assert not again["failed"]


def _results(store):
    try:
        with Store.open(store, write=False) as opened:
            return len(opened.outcomes())
    except StoreError:  # not yet
        return 0
