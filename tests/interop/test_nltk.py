"""The adapters for NLTK, with NLTK itself."""

from __future__ import annotations

import pytest
from nltk.parse import ParserI
from nltk.tag.api import TaggerI
from nltk.tree import Tree

import treewright
from treewright.errors import ConfigError
from treewright.interop.nltk_adapters import TreewrightDependencyParser, TreewrightParser, TreewrightTagger

pytestmark = [pytest.mark.jit, pytest.mark.slow]

WORDS = ["The", "man", "saw", "the", "dog", "."]


@pytest.fixture(scope="module")
def model():
    return treewright.load("english")


def test_constituency_trees(model):
    parser = TreewrightParser(model)
    assert isinstance(parser, ParserI)
    [tree] = parser.parse(WORDS)
    assert isinstance(tree, Tree)
    assert tree.leaves() == WORDS
    assert str(tree).split() == str(model([WORDS]).sentences[0].constituents).split()
    assert [len(list(trees)) for trees in parser.parse_sents([WORDS, ["It", "rains"]])] == [1, 1]
    assert parser.parse_one(WORDS) == tree


def test_dependency_trees(model):
    parser = TreewrightDependencyParser(model)
    [graph] = parser.parse(WORDS)
    right = model([WORDS]).sentences[0]
    assert graph.root["word"] == "saw"
    heads = [graph.nodes[k]["head"] for k in range(1, len(WORDS) + 1)]
    assert heads == [token.head for token in right.sentence]
    assert (("saw", "VBD"), "nsubj", ("man", "NN")) in [
        (
            (h[0], right.sentence.tokens[WORDS.index(h[0])].xpos),
            r,
            (d[0], right.sentence.tokens[WORDS.index(d[0])].xpos),
        )
        for h, r, d in graph.triples()
    ]


def test_tags(model):
    tagger = TreewrightTagger(model)
    assert isinstance(tagger, TaggerI)
    assert tagger.tag(WORDS)[1:3] == [("man", "NN"), ("saw", "VBD")]
    assert TreewrightTagger(model, "upos").tag(["It", "rains"]) == [("It", "PRON"), ("rains", "VERB")]
    assert len(tagger.tag_sents([WORDS, ["It", "rains"]])) == 2
    assert tagger.accuracy([[("It", "PRP"), ("rains", "VBZ")]]) == 1.0


def test_a_model_without_the_layer_is_refused(model):
    with pytest.raises(ConfigError, match="constituency"):
        TreewrightParser(model.parser)
