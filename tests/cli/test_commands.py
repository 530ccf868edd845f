from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise

import penman
import pytest

import treewright
from treewright.bundled import bundled_models
from treewright.cli.demo import _free_name, _next_commands
from treewright.corpora import load_corpus
from treewright.learners import LEARNERS, irl_table, rl_table, table
from treewright.learners.measured import default_measurements, measurements, planner_measurements, search_measurements

VERBS = ["demo", "train", "train tagging", "train pipeline", "train dependency", "train constituency",
         "train latent", "tune-speed",
         "parse", "evaluate", "compare", "smatch", "align", "trace", "grammar", "info", "models", "learners",
         "corpus"]  # fmt: skip


def test_version(run):
    assert run("--version").stdout == f"treewright {treewright.__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples(run, verb):
    assert "Example" in run(*verb.split(), "--help").stdout


@pytest.mark.parametrize("width", [80, 120])
def test_help_fills_the_terminal_and_examples_keep_their_indentation(run, width, monkeypatch):
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)
    for verb in VERBS:
        text = run(*verb.split(), "--help").stdout.partition("╭")[0]
        for paragraph in re.split(r"\n *\n", text):
            lines = [line.rstrip() for line in paragraph.splitlines() if line.strip()]
            assert max(map(len, lines), default=0) <= width
            if lines and lines[0].strip() in ("Example:", "Examples:"):
                assert all(line.startswith("   ") for line in lines[1:]), verb
            else:  # each line ends where the next word does not fit
                for line, following in pairwise(lines):
                    assert len(line) + 1 + len(following.split()[0]) > width - 1, (verb, line)


def test_help_says_the_exit_codes(run):
    text = run("--help").stdout
    assert "130  interrupted" in text
    assert [verb for verb in VERBS if " " not in verb] == [
        line.split()[1] for line in text.splitlines() if line[:1] == "│" and line.split()[1] in VERBS
    ]


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from treewright.cli import make_app; make_app(); import treewright.cli.train_pipeline; "
        "print([m for m in ('numba', 'numpy', 'penman') if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("args", [["nix"], ["train", "nix"], ["parse"], ["info", "--nix"], ["learners", "x"]])
def test_usage_errors(run, args):
    assert "Traceback" not in run(*args, code=2).stderr


NAMED = {name for name in LEARNERS if name != "imitation"}
ZERO = {"gain": 0.0, "interval": 0.0, "times": 1.0, "pays": False}


def test_learners(run):
    found = json.loads(run("learners", "--json").stdout)
    evidence = {row["learner"]: (row.pop("needs"), row.pop("measured")) for rows in found.values() for row in rows}
    assert found == {
        "imitation": table(),
        "beam": [
            {"learner": "early-update", "violation": "early", "source": "Collins & Roark 2004"},
            {"learner": "max-violation", "violation": "max", "source": "Huang et al. 2012"},
        ],
        "planning": irl_table(),
        "reinforcement": rl_table(),
        "counting": [{"learner": "maximum-likelihood", "source": "relative frequencies"}],
    }
    assert all({"tagging", "dependency"} <= set(measured) for name, (_, measured) in evidence.items() if name in NAMED)
    tasks = ("tagging", "dependency", "graphs", "tagging, Afrikaans", "dependency, Afrikaans")
    assert set(evidence["lols"][1]) == set(tasks)
    assert set(evidence["max-margin"][1]) == {"CRAFT", "WSJ sample"}
    assert set(evidence["I+"][1]) == {"dependency", "CRAFT", "WSJ sample"}
    assert "--focus" in evidence["lols"][0]
    assert evidence["supervised"] == ("", dict.fromkeys(tasks, ZERO))
    assert "--beam" in evidence["max-violation"][0]
    assert set(evidence["policy-gradient"][1]) == {"dependency"}
    assert evidence["maximum-likelihood"][1] == {}
    text = run("learners").stdout
    assert all(row["learner"] in text and row["source"] in text for row in table())
    assert str(default_measurements()["dependency, EWT"]) in " ".join(text.split())
    lines = text.partition("When it pays")[2].splitlines()
    for name, found in (
        ("lols", measurements("lols")["dependency"]),
        ("exploration", measurements("exploration")["dependency, Afrikaans"]),
        ("I+", measurements("I+")["dependency"]),
        ("max-margin", planner_measurements("max-margin")["CRAFT"]),
        ("I+", search_measurements("I+")["CRAFT"]),
    ):
        assert any(line.startswith(name) and str(found) in line for line in lines)


def test_info(run, model):
    about = json.loads(run("info", model, "--json").stdout)
    assert about["task"] == "tagging"
    assert about["bytes"] == model.stat().st_size
    assert about["weights"] > 0
    assert about["params"]["learner"]["roll_in"] == "explore"
    assert set(about["card"]) >= {"seed", "corpora", "scores", "libraries", "date"}
    text = run("info", model).stdout
    for word in (
        "explore",
        "numba",
        "corpora.train",
        "dev accuracy",
        "seed",
        about["card"]["corpora"]["train"],
    ):
        assert word in text


class TestCorpus:
    def test_files(self, data):
        assert len(list(data.iterdir())) == 9
        for name, size in (("train", 30), ("dev", 10), ("test", 10)):
            sentences = load_corpus(data / f"{name}.conllu")
            assert len(sentences) == size
            trees = (data / f"{name}.ptb").read_text().splitlines()
            assert [tree[0] for tree in trees] == ["("] * size
            graphs = penman.load(data / f"{name}.amr")
            assert [graph.metadata["snt"] for graph in graphs] == [str(sentence) for sentence in sentences]
            assert graphs[0].metadata["id"] == f"{name}.1"

    @pytest.mark.parametrize("layer", ["conllu", "ptb", "amr"])
    def test_to_stdout(self, run, data, layer):
        text = run("corpus", "--split", "dev", "--dev", 10, "--layer", layer).stdout
        assert text == (data / f"dev.{layer}").read_text()

    def test_seed(self, run):
        assert run("corpus", "--split", "dev", "--seed", 1).stdout != run("corpus", "--split", "dev").stdout

    @pytest.mark.parametrize(
        "args", [[], ["x", "--split", "dev"], ["--split", "nix"], ["--split", "dev", "--layer", "x"]]
    )
    def test_mistakes(self, run, args):
        assert run("corpus", *args, code=2).stderr.startswith("error: ")

    def test_a_file_is_in_the_way(self, run, tmp_path):
        (tmp_path / "file").touch()
        assert run("corpus", tmp_path / "file", "--train", 1, "--dev", 1, "--test", 1, code=1).stderr.startswith(
            "error: "
        )


@pytest.mark.slow
def test_demo(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = run("demo", "The [b]dog sleeps.", "--train", 40, "-n", 1).stdout
    for word in ("most frequent label", "dagger", "the same labels", "treewright train tagging"):
        assert word in text
    if "english" in bundled_models():
        assert "[b]dog sleeps." in text
        assert (tmp_path / "demo.html").read_text().count("<svg") >= 1


def test_the_page_of_the_demo_replaces_no_other_file(tmp_path):
    path = tmp_path / "demo.html"
    assert _free_name(path, "page") == path
    path.write_text("page")
    assert _free_name(path, "page") == path
    assert _free_name(path, "another page") == tmp_path / "demo-2.html"
    (tmp_path / "demo-2.html").write_text("mine")
    assert _free_name(path, "another page") == tmp_path / "demo-3.html"


def test_demo_without_words(run):
    assert "no words" in run("demo", " ", code=2).stderr


def test_demo_of_an_unknown_learner(run):
    result = run("demo", "--learner", "nope", code=2)
    assert result.stdout == ""
    assert re.match("error: .*learner.*nope", result.stderr)


def test_the_commands_after_the_demo_work_as_they_are(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert _next_commands().startswith("  treewright demo")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert _next_commands().startswith("  python3 -m treewright demo")
    assert "| python3 -m treewright parse model.tw\n" in _next_commands()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("activate", "treewright"):
        (programs / name).touch()
    assert _next_commands().startswith(f"  . {os.path.join('.venv', 'bin', 'activate')}\n  treewright demo")
