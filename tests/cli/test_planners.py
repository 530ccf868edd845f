"""The tagger and the parser that plan, from the command line: what differs from their siblings."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from treewright import load
from treewright.corpora import load_corpus
from treewright.dependency import EisnerParser
from treewright.tagging import ViterbiTagger

pytestmark = pytest.mark.filterwarnings("ignore:the words have no")
SMALL = ("--bits", 11, "--passes", 2)
TASKS = {"viterbi": ("accuracy", ViterbiTagger), "eisner": ("las", EisnerParser)}


@pytest.fixture(scope="module", params=list(TASKS))
def model(request, tmp_path_factory, run, data):
    path = tmp_path_factory.mktemp("planner") / "model.tw"
    files = (data / "train.conllu", "--dev", data / "dev.conllu", "--out", path)
    said = run("train", request.param, *files, *SMALL).stdout
    assert len(said.splitlines()) == 4, "a header, a row a pass, and a summary"
    return request.param, path


@pytest.mark.jit
def test_scores_are_those_of_the_library(run, model, data):
    task, path = model
    measure, estimator = TASKS[task]
    scores = json.loads(run("evaluate", path, data / "test.conllu", "--json").stdout)
    assert scores["task"] == task
    assert scores[measure] == getattr(estimator.load(path).evaluate(data / "test.conllu"), measure)


@pytest.mark.jit
def test_parses_and_says_what_it_is(run, model, tmp_path):
    task, path = model
    [line] = run("parse", path, "--format", "json", input="She sleeps .\n").stdout.splitlines()
    assert len(json.loads(line)["tokens"]) == 3
    about = json.loads(run("info", path, "--json").stdout)
    assert about["task"] == task
    assert about["params"]["learner"]["name"] == "max-margin"
    file = tmp_path / "again.toml"
    file.write_text(run("info", path, "--print-config").stdout)
    config = tomllib.loads(run("train", task, "--config", file, "--print-config").stdout)
    assert (config["bits"], config["learner"]["passes"]) == (11, 2)


@pytest.mark.jit
def test_a_model_that_plans_can_be_compared_and_traced(run, model, data):
    task, path = model
    values = json.loads(run("trace", "--model", path, data / "test.conllu", "-n", 1, "-f", "json").stdout)
    [found] = load(path).predict(load_corpus(data / "test.conllu")[:1])
    assert values["result"]["labels"] == list(found.column("deprel" if task == "eisner" else "upos"))
    assert "rivals" in run("trace", "--model", path, "--text", "She sleeps .").stdout or task == "viterbi"
    if task == "eisner":
        scores = json.loads(run("compare", path, path, data / "test.conllu", "--json").stdout)
        assert scores["difference"] == 0.0
        said = run("trace", "--model", path, data / "test.conllu", "--style", "edges", code=2).stderr
        assert "the style 'edges' is not for arcs" in said


@pytest.mark.parametrize("task", TASKS)
def test_every_setting_is_resolved(run, task):
    config = tomllib.loads(run("train", task, "-l", "maxent", "--n-best", 7, "--print-config").stdout)
    assert config["learner"]["n_best"] == 7
    assert config["learner"]["averaged"] is True
    assert config["learner"]["batch"] == 4
    assert ("order" in config) == (task == "viterbi")


@pytest.mark.parametrize("task", TASKS)
def test_learners_of_actions_and_unknown_options_are_refused(run, data, tmp_path, task):
    command = ("train", task, data / "train.conllu", "-o", tmp_path / "m.tw")
    assert "--learner 'dagger' learns from single actions" in run(*command, "-l", "dagger", code=2).stderr
    assert "No such option" in run(*command, "--beam", 4, code=2).output
    assert os.listdir(tmp_path) == []
