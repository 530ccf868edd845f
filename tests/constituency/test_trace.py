"""The steps to a tree: their rewards add up to its score, and their advantages to what it lacks to the best one."""

from __future__ import annotations

import math

import pytest

from treewright.constituency import ConstituencyParser, LatentParser, NotInGrammar
from treewright.constituency.charts.mdp import TopDownMDP
from treewright.constituency.trace import expert_actions
from treewright.corpora import Sentence, Tree, builtin_corpus
from treewright.corpora.brackets import parse_ptb
from treewright.errors import ConfigError, CorpusError, TreewrightError
from treewright.tracing import Trace


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=40, dev=1, test=5)


@pytest.fixture(
    scope="module",
    params=["v2h1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("v1h0-left", "v2hinf-head"))],
)
def parser(request, corpus):
    return ConstituencyParser(request.param, learner="maximum-likelihood").fit(corpus.train)


def expanded(step):
    """The constituent that a step expands, and how."""
    return (*step.state["focus"].values(), step.action)


def test_a_parsers_steps_are_optimal_and_build_its_tree(parser, corpus):
    for sentence in corpus.train[:4]:
        trace = parser.trace(sentence)
        *steps, done = trace.steps
        [[best]] = parser.parse_k_best([sentence], 1)
        [parsed] = parser.parse([sentence])
        assert trace.result == {"tree": str(parsed.tree)}
        assert (trace.kind, done.chosen, done.state["open"]) == ("derivation", None, ())
        assert (done.measures["total"], steps[0].measures["value"]) == pytest.approx((best.score, best.score))
        assert {step.choice.score for step in steps} == {0.0}
        assert [step.number for step in (*steps, done)] == list(range(len(steps) + 1))
        words = [action.split(" -> ")[1] for action in trace.actions if action.endswith('"')]
        assert words == [f'"{form}"' for form in sentence.forms]
        for step in steps:
            assert step.measures["total"] + step.measures["value"] == pytest.approx(best.score)
            assert all(candidate.score <= 0.0 for candidate in step.candidates)
            assert sum(candidate.probability for candidate in step.candidates) == pytest.approx(1.0)
            assert step.state["focus"] == step.state["open"][0]
            assert set(step.state["open"]) <= set(step.state["constituents"])
        leaves = [c["symbol"] for c in done.state["constituents"] if c["symbol"].startswith('"')]
        assert leaves == words


def test_features_of_spans_explain_the_rewards(corpus):
    """The rewards of the steps add up to the tree's score, and the features of each action to its reward."""
    learned = ConstituencyParser(learner={"name": "max-margin", "passes": 2}).fit(corpus.train)
    for sentence in corpus.train[:2]:
        trace = learned.trace(sentence, explain=True)
        *steps, done = trace.steps
        [[best]] = learned.parse_k_best([sentence], 1)
        assert done.measures["total"] == pytest.approx(best.score, abs=1e-4)
        assert steps[0].measures["value"] == pytest.approx(best.score, abs=1e-4)
        assert {round(step.choice.score, 4) for step in steps} == {0.0}
        names = set()
        for step in steps:
            features = step.choice.features
            assert f"rule: {step.action}".startswith(features[0].name)  # an action also says where it splits
            names |= {feature.name.partition(":")[0] for feature in features}
            assert sum(feature.weight for feature in features) == pytest.approx(step.measures["reward"], abs=1e-4)
        assert {"first word", "shape", "tags around"} <= names
        chart = learned.trace(sentence, kind="chart")
        assert chart.result == trace.result
        plain = learned.trace(sentence)
        assert not any(candidate.features for step in plain.steps for candidate in step.candidates)


def test_gold_steps_are_correct_and_lose_what_the_tree_lacks(parser, corpus):
    lost = 0.0
    for sentence in corpus.train[:25]:
        trace = parser.trace(sentence, sentence, follow="gold")
        *steps, done = trace.steps
        [[best]] = parser.parse_k_best([sentence], 1)
        assert trace.first_error is None
        assert all(step.correct and step.expert == (step.action,) for step in steps)
        assert done.measures["total"] - best.score == pytest.approx(sum(step.choice.score for step in steps))
        lost += done.measures["total"] - best.score
        assert trace.result == {"tree": str(sentence.tree)}
    assert lost < 0.0


def test_correct_is_what_the_gold_tree_has(parser, corpus):
    for sentence in corpus.train[:8]:
        gold = {expanded(step) for step in parser.trace(sentence, sentence, follow="gold").decisions}
        for step in parser.trace(sentence, sentence).decisions:
            assert step.correct == (expanded(step) in gold)
            assert step.correct or step.action not in step.expert


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
    assert {step.correct for step in parser.trace(sentence, sentence).decisions} == {True, False}
    with pytest.raises(NotInGrammar):
        parser.trace(sentence, sentence, follow="gold")


def test_words_alone_have_nothing_to_be_correct_by(parser, corpus):
    trace = parser.trace(corpus.train[0].forms)
    assert not trace.has_gold
    assert {(step.correct, step.expert) for step in trace.steps} == {(None, ())}


def test_a_gold_tag_that_the_lexicon_does_not_allow(corpus):
    parser = ConstituencyParser(learner="maximum-likelihood").fit(corpus.train)
    [sentence] = [s for s in corpus.train if "the" in s.forms][:1]
    [changed] = parse_ptb([str(sentence.tree).replace("(DT the)", "(DT .)")])
    trace = parser.trace(changed, changed, follow="gold")
    assert -math.inf in [step.measures["reward"] for step in trace.decisions]
    assert trace.steps[-1].measures["total"] == -math.inf
    assert Trace.from_json(trace.to_json()) == trace


def test_other_decoders_are_followed_too(corpus):
    exact = ConstituencyParser(learner="maximum-likelihood").fit(corpus.train)
    parser = ConstituencyParser(learner="maximum-likelihood", decoder="max-rule").fit(corpus.train)
    lost = 0.0
    for sentence in corpus.test:
        trace = parser.trace(sentence, sentence)
        [parsed] = parser.parse([sentence])
        [[best]] = exact.parse_k_best([sentence], 1)
        assert trace.result == {"tree": str(parsed.tree)}
        short = sum(step.choice.score for step in trace.decisions)
        assert trace.steps[-1].measures["total"] - best.score == pytest.approx(short)
        lost += short
    assert lost < 0.0


@pytest.mark.slow
def test_a_latent_grammars_tree_is_derived_by_the_treebank_grammar(corpus):
    learner = {"name": "split-merge", "cycles": 1, "starts": 1, "split": 2, "merge": 1, "smooth": 1}
    parser = LatentParser(learner=learner).fit(corpus.train)
    for sentence in corpus.test:
        trace = parser.trace(sentence, sentence)
        [parsed] = parser.parse([sentence])
        assert trace.result == {"tree": str(parsed.tree)}
        assert all(step.choice.score <= 0.0 for step in trace.decisions)
        words = [action.split(" -> ")[1] for action in trace.actions if action.endswith('"')]
        assert words == [f'"{form}"' for form in sentence.forms]
    assert parser.trace(corpus.train[0], corpus.train[0], follow="gold").first_error is None
    with pytest.raises(ConfigError, match="kind"):
        parser.trace(["She"], kind="pops")


def test_no_tree(corpus):
    parser = ConstituencyParser(learner="maximum-likelihood").fit(corpus.train)
    trace = parser.trace([".", ".", ".", "."])
    [parsed] = parser.parse([[".", ".", ".", "."]])
    assert trace.steps == ()
    assert trace.result == {"tree": str(parsed.tree)}


def test_mistakes(parser, corpus):
    odd = Sentence.from_words(["She"])
    with pytest.raises(CorpusError, match="no constituency tree"):
        parser.trace(odd, odd, follow="gold")
    known = corpus.train[0]
    strange = Tree("NEW", tuple(Tree("NN", (form,)) for form in known.forms))
    sentence = Sentence(Sentence.from_words(known.forms).tokens, tree=strange, path="x.ptb", line=3)
    with pytest.raises(NotInGrammar, match=r"x\.ptb:3: the grammar has no"):
        parser.trace(sentence, sentence, follow="gold")
    assert parser.trace(sentence, sentence).first_error is not None
    with pytest.raises(CorpusError, match="without words"):
        parser.trace([])
    commas = Tree("S", (Tree(",", (",",)), Tree(",", (",",))))
    sentence = Sentence(Sentence.from_words([",", ","]).tokens, tree=commas)
    with pytest.raises(NotInGrammar, match="-> , "):
        parser.trace(sentence, sentence, follow="gold")
    memory, parser.memory = parser.memory, 1e-6
    with pytest.raises(CorpusError, match="a sentence of 30 words, of which 10 fit into the parser's memory of 1e-06"):
        parser.trace(["She"] * 30)
    parser.memory = memory
    with pytest.raises(ConfigError, match="kind cannot be 'tags'"):
        parser.trace(["She"], kind="tags")
    with pytest.raises(ConfigError, match="search='agenda'"):
        parser.trace(["She"], kind="pops")
    with pytest.raises(TreewrightError, match="learned nothing yet"):
        ConstituencyParser().trace(["She"])


def test_what_if_another_rule_is_taken(parser, corpus):
    words = corpus.train[0].forms
    trace = parser.trace(words)
    assert parser.trace(words, prefix=trace.actions[:2]).actions == trace.actions
    step = next(step for step in trace.decisions if len(step.candidates) > 1)
    other = next(each for each in step.best if each.action != step.action)
    changed = parser.trace(words, prefix=[*trace.actions[: step.number], other.action])
    assert changed.actions[step.number] == other.action
    assert changed.steps[-1].measures["total"] == pytest.approx(trace.steps[-1].measures["total"] + other.score)
    with pytest.raises(ConfigError, match="prefix"):
        parser.trace(words, prefix=["S -> NOTHING"])


def test_a_chart_has_the_best_tree_and_its_score(parser, corpus):
    sentence = corpus.train[0]
    trace = parser.trace(sentence, sentence, kind="chart")
    n = len(sentence)
    assert len(trace.steps) == n * (n + 1) // 2 + 1
    [[best]] = parser.parse_k_best([sentence], 1)
    top = next(item for item in trace.steps[-2].state["items"] if item["symbol"] == "TOP")
    assert top["inside"] == pytest.approx(best.score, abs=1e-4)
    used = [item for step in trace.steps for item in step.state["items"] if item["used"]]
    assert all(item["inside"] + item["outside"] == pytest.approx(best.score, abs=1e-4) for item in used)
    with pytest.raises(CorpusError, match="41 words"):
        parser.trace(["a"] * 41, kind="chart")
