from __future__ import annotations

import errno
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from treewright.cli.tasks import TASKS
from treewright.cli.train import PassReport
from treewright.dependency import DependencyParser
from treewright.learners import make_learner
from treewright.models import read_model
from treewright.tagging import Tagger

SMALL = ["--bits", "12", "--passes", "2"]

EVERYTHING = """
--column xpos --bits 11 --beam 2 --min-count 2 --seed 5
--learner imitation --roll-in learned --roll-out expert --cost loss --data all --passes 1 --epochs 2
--samples 2 --focus 1 --small-first 1 --alpha 3 --beta decay:0.1 -k 2 -p 0.2
--expert-accuracy 0.9 --expert-errors systematic
--update log-linear --margin 0.5 --step-size 0.2 --averaged
"""


def same_model(a: Path, b: Path) -> bool:
    one, other = read_model(a), read_model(b)
    assert one.config == other.config
    assert one.arrays.keys() == other.arrays.keys()
    return all(np.array_equal(one.arrays[name], other.arrays[name]) for name in one.arrays)


def test_a_row_a_pass_and_a_model(run, data, tmp_path):
    out = tmp_path / "m.tw"
    result = run("train", "tagging", data / "train.conllu", "--dev", data / "dev.conllu", "-o", out, *SMALL)
    header, first, second, summary = result.stdout.splitlines()
    assert header.split() == ["pass", "β", "loss", "dev", "accuracy", "tokens/s", "seconds"]
    assert first.split()[0] == "1"
    assert "★" in first
    assert second.split()[0] == "2"
    assert summary.startswith(f"{out}: pass ")
    assert sorted(os.listdir(tmp_path)) == ["m.tw"]


def test_without_development_data(run, data, tmp_path):
    result = run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", *SMALL)
    assert "pass 2 of 2" in result.stdout
    assert "★" not in result.stdout


def test_json_is_one_object_a_line(run, data, tmp_path):
    out = tmp_path / "m.tw"
    result = run("train", "tagging", data / "train.conllu", "--dev", data / "dev.conllu", "-o", out, "--json", *SMALL)
    first, second, done = [json.loads(line) for line in result.stdout.splitlines()]
    assert (first["event"], first["iteration"], second["iteration"]) == ("pass", 1, 2)
    assert {"beta", "loss", "score", "best", "seconds", "tokens_per_second"} <= first.keys()
    assert done["event"] == "done"
    assert done["model"] == str(out)
    assert done["bytes"] == out.stat().st_size
    assert done["scores"]["dev accuracy"] == max(first["score"], second["score"])
    assert done["config"]["bits"] == 12
    assert result.stderr == ""


def test_quiet(run, data, tmp_path):
    result = run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "-q", *SMALL)
    assert result.output == ""
    result = run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "-q", "--resume", *SMALL)
    assert result.output == ""
    checkpoint = tmp_path / "m.tw.checkpoint"
    checkpoint.mkdir()
    (checkpoint / "state.npz").touch()
    assert run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "-q", *SMALL).output == ""


def test_quiet_says_nothing_of_what_it_replaces(run, data, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('[learner]\nname = "dagger"\nepochs = 2\n')
    settings = ("--config", file, "-l", "supervised", "-o", tmp_path / "m.tw", *SMALL)
    assert run("train", "tagging", data / "train.conllu", *settings, "--quiet").output == ""


@pytest.mark.parametrize(("learner", "shown"), [("supervised", "–"), ("exploration", "–"), ("dagger", "1.000")])
def test_beta_is_shown_where_there_is_one(run, data, tmp_path, learner, shown):
    result = run("train", "tagging", data / "train.conllu", "-l", learner, "-o", tmp_path / "m.tw", *SMALL)
    assert result.stdout.splitlines()[1].split()[1] == shown


def test_a_small_model_has_a_size(run, data, tmp_path):
    result = run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "--bits", 4, "-n", 1)
    assert result.stdout.rstrip().endswith(" kB")
    assert ", 0 kB" not in result.stdout


@pytest.mark.parametrize("seed", [-1, 2**80])
def test_impossible_seeds(run, data, tmp_path, seed):
    result = run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "--seed", seed, *SMALL, code=2)
    assert result.stderr.startswith("error: --seed must be")
    assert result.stderr.count("\n") == 1


def test_the_help_shows_the_defaults_of_the_library(run):
    def shown(task):
        return {option.parameter: option.shown for option in TASKS[task].options}

    tagging, dependency = shown("tagging"), shown("dependency")
    assert (tagging["column"], tagging["bits"], tagging["learner"], tagging["update"]) == (
        "upos",
        str(Tagger().bits),
        Tagger().learner,
        "arow",
    )
    learner = make_learner(Tagger().learner)
    assert tagging["passes"] == f"{learner.passes} with {learner.name}"
    assert tagging["samples"] == "1"  # whatever the learner
    assert tagging["averaged"] == "no-averaged with arow"
    assert (tagging["r"], tagging["margin"]) == (f"{learner.update.r:g}", "")
    accurate, fast = (DependencyParser(mode=mode).resolved_config() for mode in ("accurate", "fast"))
    assert dependency["bits"] == f"{accurate['bits']}, {fast['bits']} if mode is fast"
    passes = [config["learner"]["passes"] for config in (accurate, fast)]
    assert dependency["passes"] == f"{passes[0]} with exploration, {passes[1]} if mode is fast"
    margins = [config["learner"]["update"]["margin"] for config in (accurate, fast)]
    assert dependency["margin"] == f"{margins[0]:g} with perceptron, {margins[1]:g} if mode is fast"
    text = " ".join(run("train", "tagging", "--help").stdout.replace("│", " ").split())
    for default in filter(None, tagging.values()):
        assert f"[default: ({default})]" in text


def test_jobs_do_not_change_the_model(run, data, tmp_path):
    for jobs in (1, 2):
        run(
            "train",
            "tagging",
            data / "train.conllu",
            "-l",
            "dagger",
            "-j",
            jobs,
            "-o",
            tmp_path / f"{jobs}",
            *SMALL,
        )
    one, two = tmp_path / "1", tmp_path / "2"
    assert same_model(one, two)


def test_every_setting_reaches_the_model(run, data, tmp_path):
    out = tmp_path / "m.tw"
    run("train", "tagging", data / "train.conllu", "-o", out, *EVERYTHING.split())
    params = json.loads(run("info", out, "--json").stdout)["params"]
    assert {name: params[name] for name in ("column", "bits", "beam", "min_count", "seed")} == {
        "column": "xpos", "bits": 11, "beam": 2, "min_count": 2, "seed": 5,
    }  # fmt: skip
    assert params["learner"] == {
        "name": "imitation", "roll_in": "learned", "roll_out": "expert", "cost": "loss", "data": "all",
        "passes": 1, "epochs": 2, "samples": 2, "focus": 1, "small_first": 1, "alpha": 3, "beta": "decay:0.1",
        "k": 2, "p": 0.2, "interpolation": 0.0, "expert_accuracy": 0.9, "expert_errors": "systematic",
        "update": {"name": "log-linear", "margin": 0.5, "step_size": 0.2, "averaged": True},
    }  # fmt: skip


def test_a_learner_that_needs_more_than_its_name_says_so(run, data, tmp_path):
    command = ("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "-l", "lols", *SMALL)
    assert "note: lols needs more than its name: --focus 10" in " ".join(run(*command).stderr.split())
    assert "needs more" not in run(*command, "--focus", 10).stderr
    assert "needs more" not in run(*command, "--quiet").stderr


class TestOutput:
    def test_folder_must_exist_before_training_starts(self, run, data, tmp_path):
        out = tmp_path / "nowhere" / "m.tw"
        result = run("train", "tagging", data / "train.conllu", "-o", out, code=2)
        assert "does not exist" in result.stderr
        assert result.stdout == ""

    def test_folder_is_no_model(self, run, data, tmp_path):
        assert "folder" in run("train", "tagging", data / "train.conllu", "-o", tmp_path, code=2).stderr

    def test_missing(self, run, data):
        assert "--out" in run("train", "tagging", data / "train.conllu", code=2).stderr

    def test_failure_leaves_the_old_model(self, run, data, tmp_path):
        out = tmp_path / "m.tw"
        out.write_text("precious")
        bad = tmp_path / "bad.conllu"
        bad.write_text((data / "train.conllu").read_text() + "1\tbroken\n")
        run("train", "tagging", bad, "-o", out, *SMALL, code=2)
        run("train", "tagging", data / "train.conllu", "-o", out, "--column", "misc2", code=2)
        assert out.read_text() == "precious"
        assert sorted(os.listdir(tmp_path)) == ["bad.conllu", "m.tw"]

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
    def test_folder_without_permission(self, run, data, tmp_path):
        tmp_path.chmod(0o500)
        assert "may not write" in run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m", code=2).stderr


class TestInterruption:
    SETTINGS = ("--bits", 12, "--passes", 3)

    @pytest.mark.parametrize(
        "learner", ["exploration", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dagger", "searn"))]
    )
    def test_resumed_is_the_same_to_the_bit(self, run, data, tmp_path, monkeypatch, learner):
        settings = ("--dev", data / "dev.conllu", "-l", learner, *self.SETTINGS)
        whole, out = tmp_path / "whole.tw", tmp_path / "m.tw"
        run("train", "tagging", data / "train.conllu", "-o", whole, *settings)
        report = PassReport.__call__

        def interrupt(self, row):
            report(self, row)
            if row.iteration == 2:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(PassReport, "__call__", interrupt)
            result = run("train", "tagging", data / "train.conllu", "-o", out, *settings, code=130)
        assert "interrupted after pass 2 of 3" in result.stderr
        assert "--resume" in result.stderr
        assert not out.exists()
        assert (tmp_path / "m.tw.checkpoint").is_dir()
        fewer = run("train", "tagging", data / "train.conllu", "-o", out, *settings, "--passes", 1, "--resume", code=2)
        assert "has 2 passes already, and 1 are wanted" in fewer.stderr
        result = run("train", "tagging", data / "train.conllu", "-o", out, *settings, "--resume")
        assert [line.split()[0] for line in result.stdout.splitlines()[1:4]] == ["1", "2", "3"]
        assert same_model(whole, out)
        assert not (tmp_path / "m.tw.checkpoint").exists()

    def test_nothing_to_resume(self, run, data, tmp_path):
        result = run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "--resume", *SMALL)
        assert "nothing to resume" in result.stderr
        assert (tmp_path / "m.tw").exists()

    def test_a_model_that_was_trained_otherwise_does_not_count_as_finished(self, run, data, tmp_path):
        out = tmp_path / "m.tw"
        command = ("train", "tagging", data / "train.conllu", "-o", out, *SMALL)
        run(*command)
        assert "is finished and there is nothing to resume" in run(*command, "--resume").stderr
        for other in (
            (*command, "--seed", 9),
            (*command, "--dev", data / "dev.conllu"),
            ("train", "tagging", data / "dev.conllu", "-o", out, *SMALL),
        ):
            assert "other data or settings" in run(*other, "--resume", code=2).stderr
        viterbi = ("train", "viterbi", data / "train.conllu", "-o", out)
        assert "tagging" in run(*viterbi, "--resume", code=2).stderr

    def test_an_older_model_does_not_count_as_finished(self, run, data, tmp_path, monkeypatch):
        whole, out = tmp_path / "whole.tw", tmp_path / "m.tw"
        command = ("train", "tagging", data / "train.conllu", *SMALL)
        run(*command, "-o", whole)
        run(*command, "-o", out, "--seed", 9)

        def interrupt(self, stage, done, total):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(PassReport, "progress", interrupt)
            assert "no model was written" in run(*command, "-o", out, code=130).stderr
        assert read_model(out).config["params"]["seed"] == 9
        run(*command, "-o", out, "--resume")
        assert same_model(whole, out)
        assert "is finished" in run(*command, "-o", out, "--resume").stderr

    def test_after_a_full_disk_it_goes_on(self, run, data, tmp_path, monkeypatch):
        out = tmp_path / "m.tw"
        out.write_bytes(b"something older")
        command = ("train", "tagging", data / "train.conllu", "-o", out, *SMALL)

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr("treewright.learners.checkpoints.save_state", full)
            assert "no space left" in run(*command, code=1).stderr
        assert out.read_bytes() == b"something older"
        run(*command, "--resume")
        assert read_model(out).task == "tagging"

    @pytest.mark.skipif(os.name == "nt", reason="needs limits of files")
    @pytest.mark.parametrize("limit", [0, 4_000])
    def test_no_space_for_the_model(self, run, start, data, tmp_path, limit):
        """The real thing: the system refuses to write, before the first checkpoint or in the middle of the model."""
        import resource

        out = tmp_path / "m.tw"
        out.write_bytes(b"something older")
        process = start("train", "tagging", data / "train.conllu", "-o", out, *SMALL)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 1, stderr
        assert b"Traceback" not in stderr
        assert out.read_bytes() == b"something older"
        run("train", "tagging", data / "train.conllu", "-o", out, *SMALL, "--resume")
        assert read_model(out).task == "tagging"

    def test_other_settings_cannot_be_resumed(self, run, data, tmp_path, monkeypatch):
        def interrupt(self, row):
            self.finished = row.iteration
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(PassReport, "__call__", interrupt)
            run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", *SMALL, code=130)
        again = ("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", *SMALL)
        refused = run(*again, "--seed", 9, "--resume", code=2)
        assert "other data or settings" in refused.stderr
        assert refused.stdout == ""  # no rows of passes that cannot be resumed from
        state = tmp_path / "m.tw.checkpoint" / "state.npz"
        state.write_bytes(state.read_bytes()[:100])
        assert "damaged" in run(*again, "--resume", code=2).stderr
        assert "is replaced" in run(*again).stderr

    @pytest.mark.jit
    @pytest.mark.skipif(os.name == "nt", reason="needs signals")
    def test_control_c(self, start, run, data, tmp_path):
        """The real thing: a signal in the middle of a long training, in a process of its own."""
        settings = ("--bits", 12, "-l", "lols", "--passes", 120, "--json")
        whole, out = tmp_path / "whole.tw", tmp_path / "m.tw"
        run("train", "tagging", data / "train.conllu", "-o", whole, *settings)
        process = start("train", "tagging", data / "train.conllu", "-o", out, *settings)
        assert json.loads(process.stdout.readline())["iteration"] == 1
        process.send_signal(signal.SIGINT)
        rows, stderr = process.communicate(timeout=60)
        assert process.returncode == 130, stderr
        assert b"To go on:" in stderr
        assert b"Traceback" not in stderr
        assert len(rows.splitlines()) < 119
        assert sorted(os.listdir(tmp_path)) == ["m.tw.checkpoint", "whole.tw"]
        run("train", "tagging", data / "train.conllu", "-o", out, *settings, "--resume")
        assert same_model(whole, out)
        assert sorted(os.listdir(tmp_path)) == ["m.tw", "whole.tw"]
