"""Packages that add transition systems and tasks, from the command line."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.trees import SMALL, conllu
from tests.dependency.helpers import EXAMPLE
from tests.packages import install
from treewright import load

pytestmark = pytest.mark.filterwarnings("ignore:the words have no")

# a word's label is asked for in capitals
SHOUTING = """
from treewright.cli.tasks.tagging import Tagging
from treewright.tagging import Tagger

class Shouter(Tagger):
    task = "shouting"

class Shouting(Tagging):
    name = "shouting"
    help = "Train a tagger that shouts."

    def writer(self, estimator, format, *, width=None):
        write = super().writer(estimator, format, width=width)
        return lambda sentence: write(sentence).upper()
"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A package with a transition system, and one with a task; another declares what is none."""
    folder = tmp_path / "packages"
    folder.mkdir()
    install(folder, "crossing", {"systems": {"covington": "covington:SYSTEM"}}, {"covington": EXAMPLE.read_text()})
    points = {
        "tasks": {"shouting": "shouting:Shouter"},
        "commands": {"shouting": "shouting:Shouting", "whispering": "shouting:Shouting"},
    }
    install(folder, "shouting", points, {"shouting": SHOUTING})
    monkeypatch.syspath_prepend(str(folder))
    for module in ("covington", "shouting"):
        monkeypatch.delitem(sys.modules, module, raising=False)


class TestSystem:
    def test_the_help_and_the_error_name_it(self, packages, run):
        assert "covington" in run("train", "dependency", "--help").output
        assert "covington" not in sys.modules
        error = run("train", "dependency", "x.conllu", "--system", "covingtom", "-o", "m.tw", code=2).stderr
        assert "--system" in error
        assert "'covingtom'" in error
        assert "covington" in error

    def test_gold_trees_are_traced(self, packages, run, tmp_path):
        (tmp_path / "crossing.conllu").write_text(conllu("a:3 b:4 c:0 d:3"))
        result = run("trace", tmp_path / "crossing.conllu", "--system", "covington", "--oracle", "dynamic")
        assert "NOARC" in result.stdout

    @pytest.mark.jit
    def test_train_parse_evaluate_and_trace(self, packages, run, tmp_path):
        corpus, model, parsed = (tmp_path / name for name in ("corpus.conllu", "model.tw", "parsed.conllu"))
        corpus.write_text("".join(map(conllu, ["a:3 b:4 c:0 d:3", "c:0 d:1", "b:2 c:0"] * 5)))
        run("train", "dependency", corpus, "--dev", corpus, "-o", model, "--system", "covington", *SMALL, "-n", 8)
        run("parse", model, corpus, "--out", parsed)
        assert json.loads(run("evaluate", parsed, corpus, "--json").stdout)["las"] == 1.0
        assert "covington" in run("info", model).stdout
        assert "NOARC" in run("trace", "--model", model, corpus, "--sentence", 1).stdout
        assert load(model).resolved_config()["system"] == "covington"


class TestTask:
    def test_the_list_of_tasks_names_its_package(self, packages, run):
        assert "package shouting" in run("train", "--help").output
        assert "shouting" not in sys.modules
        assert "that shouts" in run("train", "shouting", "--help").output
        assert "shouting" in sys.modules

    def test_train_parse_evaluate_and_info(self, packages, run, data, tmp_path):
        model = tmp_path / "model.tw"
        run("train", "shouting", data / "train.conllu", "--dev", data / "dev.conllu", "-o", model, "-b", 12, "-n", 2)
        assert type(load(model)).__name__ == "Shouter"
        parsed = run("parse", model, "-", "--format", "text", input="a cat\n").stdout
        assert parsed == parsed.upper()
        assert parsed.startswith("A/")
        assert "accuracy" in run("evaluate", model, data / "test.conllu").stdout
        assert "shouting" in run("info", model).stdout

    def test_what_is_no_task_is_named(self, packages, run):
        error = run("train", "whispering", "x.conllu", "-o", "m.tw", code=2).stderr
        assert "'whispering'" in error
        assert "treewright.commands" in error

    def test_there_is_no_such_task(self, packages, run):
        assert "mumbling" in run("train", "mumbling", "x.conllu", "-o", "m.tw", code=2).stderr
