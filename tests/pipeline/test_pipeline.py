"""Taggers, lemmas and a parser in sequence: real models, trained on the sentences that they annotate."""

from __future__ import annotations

import pytest

from tests.dependency.helpers import SMALL
from treewright.corpora import Sentence, Token
from treewright.dependency import DependencyParser
from treewright.errors import ConfigError
from treewright.pipeline import Pipeline
from treewright.tagging import Tagger

GOLD = [
    Sentence(
        (
            Token(noun, noun[:-1].lower(), "NOUN", "NNS", head=2, deprel="nsubj"),
            Token(verb, lemma, "VERB", "VBD", head=0, deprel="root"),
        )
    )
    for noun, verb, lemma in (("Dogs", "barked", "bark"), ("Cats", "slept", "sleep"))
]
WORDS = [Sentence.from_words(sentence.forms) for sentence in GOLD]
LEARNER = {"name": "supervised", "passes": 4}


@pytest.fixture(scope="module")
def taggers() -> list[Tagger]:
    return [Tagger(column, learner=LEARNER, bits=10).fit(GOLD) for column in ("upos", "xpos")]


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return DependencyParser("arc-standard", features=SMALL, learner=LEARNER, bits=10).fit(GOLD)


def test_annotates_words_with_tags_lemmas_and_trees(taggers, parser):
    lemmas = {token.form.lower(): token.lemma for sentence in GOLD for token in sentence}
    assert [one.tokens for one in Pipeline(taggers, parser, lemmas).annotate(WORDS)] == [one.tokens for one in GOLD]


def test_keeps_the_annotation_that_is_there(taggers, parser):
    tagged = WORDS[0].with_column("upos", ["X", "Y"])
    whole = tagged.with_column("xpos", ["x", "y"]).with_column("lemma", ["d", "b"]).with_tree([0, 1], ["root", "dep"])
    found = Pipeline(taggers, parser, {}).annotate([tagged, whole, WORDS[1], Sentence(())])
    assert found[0].column("upos") == ("X", "Y")
    assert found[0].column("xpos") == ("NNS", "VBD")
    assert None not in found[0].column("head")
    assert found[1] == whole
    assert found[2].column("upos") == ("NOUN", "VERB")
    assert found[3] == Sentence(())


def test_leaves_lemmas_and_trees_alone_without_a_table_and_a_parser(taggers):
    [found] = Pipeline(taggers).annotate(WORDS[:1])
    assert found.column("lemma") == ("_", "_")
    assert found.column("head") == (None, None)


def test_refuses_models_of_the_wrong_kind(taggers, parser):
    with pytest.raises(ConfigError, match=r"tagger 1 .*DependencyParser"):
        Pipeline([parser])
    with pytest.raises(ConfigError, match=r"two .*upos"):
        Pipeline([taggers[0], taggers[0]])
    with pytest.raises(ConfigError, match=r"parser .*Tagger\b"):
        Pipeline([], taggers[0])
