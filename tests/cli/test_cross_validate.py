"""Cross-validation from the command line."""

from __future__ import annotations

import json

import pytest

from treewright.constituency import ConstituencyParser
from treewright.corpora import builtin_corpus, write_ptb
from treewright.estimators import cross_validate


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("folds") / "train.ptb"
    write_ptb(builtin_corpus(train=24, dev=2, test=2).train, path)
    return path


def test_learners_are_compared_with_the_first_one(run, corpus, tmp_path):
    config, drawing = tmp_path / "small.toml", tmp_path / "folds.svg"
    config.write_text('grammar = "v1h0"\n\n[learner]\nname = "maximum-likelihood"\n')
    command = ("cross-validate", "constituency", corpus, "-l", "maximum-likelihood", "-c", config, "--folds", 3)
    rows = json.loads(run(*command, "--json", "--svg", drawing).stdout)["rows"]
    assert [row["name"] for row in rows] == ["maximum-likelihood", "small"]
    alone = cross_validate(ConstituencyParser(learner="maximum-likelihood"), corpus, folds=3)
    other = cross_validate(ConstituencyParser("v1h0", learner="maximum-likelihood"), corpus, folds=3)
    assert rows[0]["folds"] == list(alone.values)
    assert rows[1]["folds"] == list(other.values)
    assert "against" not in rows[0]
    assert rows[1]["against"] == "maximum-likelihood"
    assert rows[1]["error_reduction"] == other.against(alone).error_reduction
    assert drawing.read_text().startswith("<svg")
    table = run(*command).stdout.splitlines()
    assert "p (KS)" in table[0]
    assert f"{100 * alone.mean:.2f}" in table[1]


def test_one_learner_and_unknown_tasks(run, corpus):
    config = corpus.with_name("one.toml")
    config.write_text('learner = "maximum-likelihood"\n')
    table = run("cross-validate", "constituency", corpus, "-c", config, "--folds", 2).stdout
    assert "p (KS)" not in table
    said = run("cross-validate", "juggling", corpus, code=2).stderr
    assert "juggling" in said
    assert "constituency" in said
