"""Model files that were written when settings had other names."""

from __future__ import annotations

import pytest

import treewright
from treewright.constituency import ConstituencyParser
from treewright.corpora import builtin_corpus
from treewright.models import read_model, write_model
from treewright.tagging import Tagger


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=6, dev=2, test=2)


def as_before(estimator, path, rename):
    """Save an estimator with the names of settings changed; load what was saved."""
    model = read_model(estimator.save(path))
    write_model(path, task=model.task, config=rename(model.config), arrays=model.arrays, card=model.card)
    return treewright.load(path)


def test_a_tagger_with_old_names(corpus, tmp_path):
    tagger = Tagger(learner={"name": "dagger", "passes": 1, "update": {"name": "arow", "r": 7.0}}, bits=8)
    tagger.fit(corpus.train)

    def rename(config):
        learner = dict(config["params"]["learner"])
        learner["iterations"] = learner.pop("passes")
        learner["update"] = {"name": "arow", "averaged": False, "C": learner["update"]["r"]}
        return {**config, "params": {**config["params"], "learner": learner}}

    old = as_before(tagger, tmp_path / "old.tw", rename)
    assert old.resolved_config() == tagger.resolved_config()
    assert old.predict(corpus.test) == tagger.predict(corpus.test)


def test_a_constituency_parser_with_old_names(corpus, tmp_path):
    parser = ConstituencyParser("v1h0", learner="maximum-likelihood", max_gap=9.0).fit(corpus.train)

    def rename(config):
        params = dict(config["params"])
        params["beam"] = params.pop("max_gap")
        return {**config, "params": {**params, "learner": {"name": "ml"}}}

    old = as_before(parser, tmp_path / "old.tw", rename)
    assert old.max_gap == 9.0
    assert old.resolved_config() == parser.resolved_config()
    assert old.predict(corpus.test) == parser.predict(corpus.test)
