"""The steps to a tree: their rewards add up to its score, and their advantages to what it lacks to the best one."""

from __future__ import annotations

import math

import pytest

from treewright.constituency import ConstituencyParser, NotInGrammar
from treewright.constituency.charts.mdp import TopDownMDP
from treewright.constituency.trace import DONE, expert_actions, trace
from treewright.corpora import Sentence, Tree, builtin_corpus
from treewright.corpora.brackets import parse_ptb
from treewright.errors import ConfigError, CorpusError, TreewrightError


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=40, dev=1, test=5)


@pytest.fixture(scope="module", params=["v2h1", "v1h0-left", "v2hinf-head"])
def parser(request, corpus):
    return ConstituencyParser(request.param, learner="maximum-likelihood").fit(corpus.train)


def test_a_parsers_steps_are_optimal_and_build_its_tree(parser, corpus):
    for sentence in corpus.train[:4]:
        *steps, done = trace(parser, sentence)
        [[best]] = parser.parse_k_best([sentence], 1)
        assert done.rule == DONE
        assert (done.total, steps[0].value) == (pytest.approx(best.score), pytest.approx(best.score))
        assert {step.advantage for step in steps} == {0.0}
        assert [step.number for step in (*steps, done)] == list(range(len(steps) + 1))
        words = [step.rule.split(" -> ")[1] for step in steps if step.rule.endswith('"')]
        assert words == [f'"{form}"' for form in sentence.forms]
        for step in steps:
            assert step.total + step.value == pytest.approx(best.score)
            assert all(value <= 0.0 for value in step.rivals.values())
            assert step.action not in step.rivals
            assert step.words == sentence.forms[step.start : step.end]


def test_gold_steps_are_correct_and_lose_what_the_tree_lacks(parser, corpus):
    lost = 0.0
    for sentence in corpus.train:
        *steps, done = trace(parser, sentence, follow="gold")
        [[best]] = parser.parse_k_best([sentence], 1)
        assert all(step.correct for step in steps)
        assert done.total - best.score == pytest.approx(sum(step.advantage for step in steps))
        lost += done.total - best.score
        assert all(step.expert == step.action for step in steps)
    assert lost < 0.0


def test_correct_is_what_the_gold_tree_has(parser, corpus):
    for sentence in corpus.train[:8]:
        *steps, _ = trace(parser, sentence)
        gold = {
            (step.constituent, step.start, step.end, step.action) for step in trace(parser, sentence, follow="gold")
        }
        for step in steps:
            assert step.correct == ((step.constituent, step.start, step.end, step.action) in gold)
            assert step.correct or step.expert != step.action


def test_experts_actions_are_those_of_the_mdp(parser, corpus):
    for sentence in corpus.train:
        binary = parser._markovisation().binarise(sentence.tree)
        rows = parser._rows(list(sentence.forms), ())
        mdp = TopDownMDP.from_lexical(parser.grammar_, sentence.forms, parser._lexical, rows)
        expected = {action.constituent: action for action in mdp.actions_in(mdp.from_tree(binary))}
        assert expert_actions(parser.grammar_, binary) == expected


def test_what_the_grammar_lacks_can_still_be_judged(corpus):
    parser = ConstituencyParser(learner="maximum-likelihood").fit(corpus.train)
    [sentence] = parse_ptb([str(corpus.train[0].tree).replace("(NP ", "(NX ", 1)])
    steps = trace(parser, sentence)
    assert {step.correct for step in steps[:-1]} == {True, False}
    with pytest.raises(NotInGrammar):
        trace(parser, sentence, follow="gold")


@pytest.mark.parametrize("top", [0, 1, 5])
def test_rivals(parser, corpus, top):
    steps = trace(parser, corpus.train[0].forms, top=top)
    assert max(len(step.rivals) for step in steps) <= top
    for step in steps:
        assert list(step.rivals.values()) == sorted(step.rivals.values(), reverse=True)


def test_words_alone_have_nothing_to_be_correct_by(parser, corpus):
    steps = trace(parser, corpus.train[0].forms)
    assert {step.correct for step in steps} == {None}
    assert {step.expert for step in steps} == {None}


def test_a_gold_tag_that_the_lexicon_does_not_allow(corpus):
    parser = ConstituencyParser(learner="maximum-likelihood").fit(corpus.train)
    [sentence] = [s for s in corpus.train if "the" in s.forms][:1]
    [changed] = parse_ptb([str(sentence.tree).replace("(DT the)", "(DT .)")])
    steps = trace(parser, changed, follow="gold")
    assert -math.inf in [step.reward for step in steps]
    assert steps[-1].total == -math.inf


def test_no_tree(corpus):
    parser = ConstituencyParser(learner="maximum-likelihood").fit(corpus.train)
    assert trace(parser, [".", ".", ".", "."]) == []


def test_mistakes(parser, corpus):
    odd = Sentence.from_words(["She"])
    with pytest.raises(CorpusError, match="no constituency tree"):
        trace(parser, odd, follow="gold")
    known = corpus.train[0]
    strange = Tree("NEW", tuple(Tree("NN", (form,)) for form in known.forms))
    sentence = Sentence(Sentence.from_words(known.forms).tokens, tree=strange, path="x.ptb", line=3)
    with pytest.raises(NotInGrammar, match=r"x\.ptb:3: the grammar has no"):
        trace(parser, sentence, follow="gold")
    assert False in {step.correct for step in trace(parser, sentence)}
    with pytest.raises(CorpusError, match="without words"):
        trace(parser, [])
    commas = Tree("S", (Tree(",", (",",)), Tree(",", (",",))))
    sentence = Sentence(Sentence.from_words([",", ","]).tokens, tree=commas)
    with pytest.raises(NotInGrammar, match="-> , "):
        trace(parser, sentence, follow="gold")
    memory, parser.memory = parser.memory, 1e-6
    with pytest.raises(CorpusError, match="a sentence of 30 words, of which 10 fit into the parser's memory of 1e-06"):
        trace(parser, ["She"] * 30)
    parser.memory = memory
    with pytest.raises(ConfigError, match="top must be"):
        trace(parser, ["She"], top=-1)
    with pytest.raises(TreewrightError, match="learned nothing yet"):
        trace(ConstituencyParser(), ["She"])
