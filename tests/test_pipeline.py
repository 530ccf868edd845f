from __future__ import annotations

from dataclasses import dataclass

import pytest

from treewright.corpora import Sentence
from treewright.errors import ConfigError
from treewright.pipeline import Pipeline


@dataclass
class Tagger:
    """Says of every word that it is an X, and counts how many it was asked about."""

    column: str = "upos"
    asked: int = 0

    def tag(self, sentences, *, jobs=1):
        self.asked += len(sentences)
        return [sentence.with_column(self.column, ["X"] * len(sentence)) for sentence in sentences]


@dataclass
class Chain:
    """Hangs every word on the one before it."""

    asked: int = 0
    labels_: tuple[str, ...] = ("root", "dep")

    def parse(self, sentences, *, jobs=1):
        self.asked += len(sentences)
        return [one.with_tree(range(len(one)), ["root", *["dep"] * (len(one) - 1)]) for one in sentences]


WORDS = Sentence.from_words(["Dogs", "barked"])


def test_everything_that_is_lacking():
    [found] = Pipeline([Tagger(), Tagger("xpos")], Chain(), {"dogs": "dog"}).annotate([WORDS])
    assert found.column("upos") == found.column("xpos") == ("X", "X")
    assert found.column("lemma") == ("dog", "barked")
    assert [token.head for token in found] == [0, 1]


def test_what_is_there_stays():
    tagger, parser = Tagger(), Chain()
    tagged = WORDS.with_column("upos", ["NOUN", "VERB"])
    tree = tagged.with_column("lemma", ["d", "b"]).with_tree([2, 0], ["nsubj", "root"])
    found = Pipeline([tagger], parser, {}).annotate([tagged, tree, WORDS, Sentence(())])
    assert found[0].column("upos") == ("NOUN", "VERB")
    assert found[1] == tree
    assert found[3] == Sentence(())
    assert (tagger.asked, parser.asked) == (1, 2)


def test_lemmas_only_where_they_are_wanted():
    assert Pipeline([Tagger()]).annotate([WORDS])[0].column("lemma") == ("_", "_")


def test_wrong_models():
    with pytest.raises(ConfigError, match="tagger 1 is a Chain, which tags nothing"):
        Pipeline([Chain()])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="two taggers are for the column upos"):
        Pipeline([Tagger(), Tagger()])
    with pytest.raises(ConfigError, match="the parser is a Tagger, which makes no dependency trees"):
        Pipeline([], Tagger())  # type: ignore[arg-type]
