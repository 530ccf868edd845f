"""The estimator: what is built from what others test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from treewright import load
from treewright.constituency import ConstituencyParser, LatentParser
from treewright.constituency.base import repeats
from treewright.corpora import Sentence, Tree, builtin_corpus, clean_tree, corpus_hash
from treewright.errors import ConfigError, CorpusError
from treewright.models import read_model

LEARNER = {"name": "split-merge", "cycles": 2, "starts": 1, "split": 3, "merge": 1, "smooth": 1}


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=30, dev=5, test=10)


@pytest.fixture(scope="module")
def parser(corpus):
    return LatentParser(learner=LEARNER).fit(corpus.train, dev=corpus.dev)


def trees(parser, sentences):
    return [sentence.tree for sentence in parser.parse(sentences)]


@pytest.mark.slow
def test_parses_and_is_the_same_from_a_file(parser, corpus, tmp_path):
    assert parser.evaluate(corpus.test).f1 > 0.6
    assert len(parser.levels_) == 1 + max(row.iteration for row in parser.history_ if row.best)
    assert parser.card_["scores"]["dev F1"] == max(row.score for row in parser.history_)
    restored = load(parser.save(tmp_path / "model.tw"))
    assert isinstance(restored, LatentParser)
    assert trees(restored, corpus.test) == trees(parser, corpus.test)
    assert restored.resolved_config() == parser.resolved_config()


@pytest.mark.jit
def test_a_product_of_the_best_grammars(corpus, tmp_path):
    learner = {**LEARNER, "cycles": 1, "starts": 3}
    parser = LatentParser(learner=learner, products=2).fit(corpus.train, dev=corpus.dev)
    assert len(parser.others_) == 1
    assert len(parser.history_) == 3
    assert parser.card_["scores"]["dev F1"] == parser.evaluate(corpus.dev).f1
    file = parser.save(tmp_path / "product.tw")
    restored = load(file)
    assert len(restored.others_) == 1
    assert trees(restored, corpus.test) == trees(parser, corpus.test)
    names = read_model(file).arrays.keys()
    assert "level0.base.binary" in names
    assert not any(name.startswith(("level1.base", "other")) and ".base." in name for name in names), "stored once"
    with pytest.raises(ConfigError, match="give some, or leave products at 1"):
        LatentParser(learner=learner, products=2).fit(corpus.train)


@pytest.mark.slow
def test_every_sentence_has_a_tree(parser):
    words = [["Zyxw"], ["the"] * 25, ["(", "?", ")"]]
    assert [tree.leaves() for tree in trees(parser, words)] == [tuple(each) for each in words]
    assert trees(parser, [[]]) == [None]


@pytest.mark.slow
def test_long_sentences_are_parsed_in_parts(parser, corpus):
    words = ["the", "cat", "sees", "the", "dog"] * 9
    small = LatentParser(learner=LEARNER, memory=1e-6)
    small.levels_ = parser.levels_
    assert small._longest() == 20
    small.top_, small.cover_, small.card_ = parser.top_, parser.cover_, {}
    small._use_levels(parser.levels_)
    [analysis] = small.analyse([words])
    assert analysis.sentence.tree.leaves() == tuple(words)
    assert analysis.covered


@pytest.mark.jit
def test_speed_is_tuned_and_kept(parser, corpus, tmp_path):
    before = trees(parser, corpus.test)
    fast = LatentParser(learner=LEARNER, seed=3)
    fast.__dict__.update({name: value for name, value in parser.__dict__.items() if name.endswith("_")})
    fast.tune_speed(corpus.train, 0.05, dev=corpus.test)
    assert fast.card_["scores"] == {"dev F1": fast.evaluate(corpus.test).f1}
    assert fast.card_["corpora"]["pruning"] == corpus_hash(corpus.train)
    assert fast.card_["corpora"]["dev"] == corpus_hash(corpus.test)
    assert (fast.card_["pruning"]["learner"], fast.card_["pruning"]["tradeoff"]) == ("on-policy", 0.05)
    rows = fast._pieces(corpus.test)
    masks, _ = fast.policy_.masks(rows.rows, rows.at)
    built, possible = np.bitwise_count(masks).sum(), len(masks) * fast.policy_.symbols
    assert built < 0.2 * possible
    after = trees(fast, corpus.test)
    assert sum(a == b for a, b in zip(before, after, strict=True)) > len(after) / 2
    assert trees(load(fast.save(tmp_path / "fast.tw")), corpus.test) == after
    assert parser.policy_ is None


def test_trees_that_the_grammar_lacks_are_left_out_of_tuning(parser):
    [strange] = builtin_corpus(train=1, dev=1, test=1, seed=5).train
    other = Sentence(strange.tokens, tree=Tree("S", (Tree("WEIRD", strange.tree.children),)))
    with pytest.raises(CorpusError, match="can derive no tree"):
        parser.tune_speed([other], 0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decoder": "max"}, "decoder cannot be 'max'; it is one of: max-rule-product, max-rule-sum, viterbi"),
        ({"prune": 1.0}, "prune must be .* below 1"),
        ({"products": 0}, "products must be a whole number"),
        ({"tradeoff": -1.0}, "tradeoff must be .* above 0 and at most 1"),
        ({"tradeoff": 2.0}, "tradeoff must be .* above 0 and at most 1"),
        ({"grammar": "v0"}, "grammar cannot be 'v0'"),
        ({"grammar": 3}, "give a name such as 'v1h0'"),
        ({"memory": 0}, "memory must be"),
        ({"learner": "maxent"}, "'maxent' learns from whole plans.*: split-merge"),
    ],
)
def test_bad_settings(settings, message, corpus):
    with pytest.raises(ConfigError, match=message):
        LatentParser(**settings).fit(corpus.train[:2])


def test_it_is_no_parser_with_a_treebank_grammar(parser):
    assert not isinstance(parser, ConstituencyParser)


@pytest.mark.jit
def test_the_score_of_a_tree_is_the_sum_over_all_substates(parser, corpus):
    fine = parser.levels_[-1]
    lexical = fine.lexical()
    for sentence in corpus.train[:5]:
        binary = parser._markovisation().binarise(clean_tree(sentence.tree))
        nodes, rows = fine.base.derivation(binary), parser._rows(list(sentence.forms), ())
        naive, end = inside(fine, lexical, rows, nodes.tolist(), 0)
        assert end == len(nodes)
        assert fine.tree_score(nodes, lexical, rows) == pytest.approx(math.log(sum(naive)))


def inside(grammar, lexical, rows, nodes, at):
    """The probability of what is below a node, for each substate of its top, and the number of the next node."""
    symbol, above, below, start, _ = nodes[at]
    sizes = grammar.substates.tolist()
    found = [0.0] * sizes[symbol]
    if below >= 0:
        left, after = inside(grammar, lexical, rows, nodes, at + 1)
        right, after = inside(grammar, lexical, rows, nodes, after)
        block = grammar.binary_block(below)
        for i, p in enumerate(left):
            for j, q in enumerate(right):
                for k in range(len(found)):
                    found[k] += p * q * block[i, j, k]
    else:
        after = at + 1
        for entry in range(lexical.at[rows[start]], lexical.at[rows[start] + 1]):
            substate = lexical.symbol[entry] - grammar.first[symbol]
            if 0 <= substate < len(found):
                found[substate] = math.exp(lexical.score[entry])
    if above >= 0:
        block = grammar.unary_block(above)
        found = [sum(p * block[i, k] for i, p in enumerate(found)) for k in range(block.shape[1])]
    return found, after


@pytest.mark.jit
def test_the_best_trees_come_with_falling_scores_and_without_repetitions(parser, corpus):
    for sentence, found in zip(corpus.test, parser.parse_k_best(corpus.test, 4), strict=True):
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=True)
        assert len({each.tree for each in found}) == len(found) <= 4
        assert all(each.tree.leaves() == sentence.forms for each in found)
        assert not any(repeats(each.tree) for each in found[1:])
        assert found[0].score >= max(scores)


def test_a_label_over_itself():
    inner = Tree("S", (Tree("NN", ("a",)), Tree("VB", ("b",))))
    assert repeats(Tree("S", (inner,)))
    assert repeats(Tree("", (Tree("S", (inner,)),)))
    assert not repeats(Tree("VP", (inner,)))
