from __future__ import annotations

from dataclasses import replace

import pytest

from tests.estimators.test_checking import Majority
from treewright.corpora import builtin_corpus
from treewright.errors import ConfigError, ModelError
from treewright.estimators import NotFittedError, clone
from treewright.models import read_model
from treewright.tagging import Tagger


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=12, dev=4, test=6)


@pytest.fixture(scope="module")
def fitted(corpus):
    return Majority().fit(corpus.train, dev=corpus.dev)


def test_what_is_changed_is_shown():
    assert repr(Majority()) == "Majority()"
    assert repr(Majority("xpos", seed=0)) == "Majority(column='xpos')"


def test_clones_are_independent():
    original = Majority(about={"deep": ["list"]})
    copy = clone(original)
    copy.about["deep"].append("changed")
    assert original.about == {"deep": ["list"]}


def test_unknown_settings_are_named():
    with pytest.raises(ConfigError, match=r"col.*Majority.*column, about, seed"):
        Majority().set_params(col="upos")


def test_what_is_not_fitted_has_a_name():
    with pytest.raises(NotFittedError, match="Majority has learned nothing yet"):
        Majority().predict([["a"]])


def test_streams_of_lists_of_words(fitted, corpus):
    words = (list(sentence.forms) for sentence in corpus.test)
    found = fitted.predict(words)
    assert [s.column("upos") for s in found] == [s.column("upos") for s in fitted.predict(corpus.test)]


def test_only_estimators_of_the_same_kind_are_compared(fitted, corpus):
    found = fitted.compare(fitted, corpus.test, samples=10)
    assert (found.difference, found.equal) == (0.0, len(corpus.test))

    class Chunker(Majority):
        annotates = "chunks"

    with pytest.raises(ConfigError, match="Majority is about tagging, and Chunker about chunks"):
        fitted.compare(Chunker().fit(corpus.train), corpus.test)


def test_a_setting_of_annotating_takes_effect_at_once(corpus):
    tagger = Tagger(learner={"name": "supervised", "passes": 1}, bits=8).fit(corpus.train)
    assert tagger.set_params(beam=3, column="xpos").beam == 3
    assert (tagger.column, tagger.gives()) == ("upos", ("upos",))
    assert tagger.get_params()["column"] == "xpos"
    assert tagger.fit(corpus.train).gives() == ("xpos",)
    with pytest.raises(ConfigError, match="beam"):
        tagger.set_params(beam=0)


def test_a_file_of_something_else_is_refused(fitted, tmp_path):
    path = fitted.save(tmp_path / "model.tw")
    assert read_model(path).task == "majority"

    class Other(Majority):
        task = "other"

    with pytest.raises(ModelError, match="majority"):
        Other.load(path)

    class Newer(Majority):
        def _restore(self, settings, arrays):
            raise KeyError("more")

    with pytest.raises(ModelError, match=r"Newer.*'more'.*bug"):  # this version wrote it
        Newer.load(path)
    older = replace(read_model(path), treewright="0.1")
    with pytest.raises(ModelError, match=r"Newer.*Treewright 0\.1.*train it again"):
        Newer.from_model(older)

    class Wrong(Majority):
        def _restore(self, settings, arrays):
            self.no_such_attribute  # noqa: B018

    with pytest.raises(ModelError, match=r"no_such_attribute.*bug"):  # no traceback, whatever the file has
        Wrong.load(path)
