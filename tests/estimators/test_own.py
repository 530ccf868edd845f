"""Estimators of one's own: saved with their tables, loaded, in a pipeline, and on the command line."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import treewright
from treewright.cli.app import make_app
from treewright.corpora import builtin_corpus, write_conllu
from treewright.errors import ConfigError
from treewright.estimators import estimator_class
from treewright.pipeline import Pipeline

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = {"learner": {"name": "supervised", "passes": 2}, "bits": 12}


@pytest.fixture(scope="module")
def truecasing():
    spec = importlib.util.spec_from_file_location("truecasing", EXAMPLES / "truecasing.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["truecasing"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["truecasing"]


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=60, dev=10, test=10)


def test_a_model_file_holds_the_tables_and_the_class_is_found_by_its_name(truecasing, corpus, tmp_path):
    fitted = truecasing.Truecaser(**SMALL).fit(corpus.train, dev=corpus.dev)
    assert fitted.task == "truecasing:Truecaser"
    assert fitted.evaluate(corpus.train).accuracy > 0.9
    path = fitted.save(tmp_path / "case.tw")
    again = treewright.load(path)
    lower = [[form.lower() for form in sentence.forms] for sentence in corpus.train[:5]]
    assert again.predict(lower) == fitted.predict(lower)
    assert sum(s.forms[0][0].isupper() for s in again.predict(lower)) >= 4
    pipeline = Pipeline([again])
    assert treewright.load(pipeline.save(tmp_path / "pipeline.tw")).annotate(lower) == again.predict(lower)


def test_a_module_that_is_not_imported_is_named():
    with pytest.raises(ConfigError, match="import nowhere first"):
        estimator_class("nowhere:Class")


def test_commands(truecasing, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    write_conllu(corpus.train, tmp_path / "train.conllu")

    def run(*args, code=0):
        result = CliRunner().invoke(make_app(), [*map(str, args)], prog_name="treewright")
        assert result.exit_code == code, result.output
        return result

    name, model = "truecasing:Truecaser", tmp_path / "case.tw"
    run("--import", "truecasing", "train", name, tmp_path / "train.conllu", "--out", model, "--bits", 12, "--passes", 1)
    assert run("--import", "truecasing", "parse", model, tmp_path / "train.conllu").stdout.count("\n\n") == 60
    assert "1 − loss / words" in run("--import", "truecasing", "evaluate", model, tmp_path / "train.conllu").stdout
    assert "cannot be imported" in run("--import", "no_such_module", "models", code=2).stderr
