"""Rewards of constituents by features of their spans: twins that write everything out, and what follows for parsing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.charts.test_passes import EASY, places_of_rules, posterior_of_rules
from tests.constituency.naive import INF, Problem, as_tuples, corpora, make
from tests.examples import examples
from tests.loops import as_loops
from treewright.constituency import Grammar
from treewright.constituency.charts import span_rewards
from treewright.constituency.charts.chart import row_offsets
from treewright.constituency.charts.corpus import Sentences, Shard
from treewright.constituency.charts.passes import BEST_TREE, EXACT, MAX_RULE, Decoding, k_best_of, parse_all, plan_pass
from treewright.constituency.charts.span_rewards import (
    TEMPLATES,
    explain_span,
    new_span_rewards,
    reward_pass,
    span_features,
    span_labels,
    table_size,
)
from treewright.search import interpreted

some = examples(25)
few = examples(10)
PLACES = 1 << 16


def rewards_for(problem, seed):
    """Random weights for the features of a grammar and a lexicon."""
    prior = np.zeros(len(problem.grammar.symbols))
    rewards = new_span_rewards(problem.grammar, problem.lexical, prior, PLACES)
    random = np.random.default_rng(seed).normal(size=len(rewards.weights)) * 0.5
    return rewards._replace(weights=random.astype(np.float32))


def described(problem, rewards, span):
    """The features of a span, in words."""
    names = [f"w{row}" for row in problem.words]
    tags = [f"t{rewards.tag_of[row]}" for row in problem.words]
    return explain_span(rewards, problem.words.astype(np.int32), names, tags, span)


def with_rewards(problem, rewards):
    """The same problem, with the rewards of its constituents written out."""
    found = {}
    for symbol, start, end in problem.spans:
        label = rewards.label_of[symbol]
        if label >= 0:
            _, places = described(problem, rewards, (start, end))
            found[symbol, start, end] = float(rewards.weights[places + label].astype(np.float64).sum())
    return Problem(problem.grammar, problem.lexical, problem.words.tolist(), found)


class Rewarded:
    """Problems with one grammar and one table of weights, packed, and an expert's tree for each that has trees."""

    def __init__(self, problems, seed):
        problems = [problem for problem in problems if problem.trees] or [make(EASY, 1)]
        self.rewards = rewards_for(problems[0], seed)
        self.problems = [with_rewards(problem, self.rewards) for problem in problems]
        self.grammar, self.lexical = problems[0].grammar, problems[0].lexical
        words = np.concatenate([problem.words for problem in problems]).astype(np.int32)
        self.sentences = Sentences(words, np.cumsum([0, *(problem.n for problem in problems)]))
        rng = np.random.default_rng(seed)
        self.experts = [problem.trees[rng.integers(len(problem.trees))] for problem in self.problems]

    def weighted(self, kind=np.float32):
        return self.grammar.weighted(self.lexical, self.grammar.weights.astype(kind))

    def parse(self, decoding):
        eligible = np.ones(len(self.grammar.symbols), np.bool_)
        parsed = parse_all(self.weighted(), self.sentences, eligible, decoding, None, 1, self.rewards)
        return zip(self.problems, map(as_tuples, parsed.derivations(self.sentences.at)), parsed.values, strict=True)


rewarded = st.builds(Rewarded, corpora(most_words=5, most_trees=150), st.integers(0, 10**6))


# ---- features


@given(corpora(most_sentences=1))
@some
def test_two_spans_share_a_feature_if_it_reads_the_same(problems):
    [problem] = problems
    rewards = rewards_for(problem, 0)._replace(mask=(1 << 50) - 1)  # no two features share a place
    place_of, spans = {}, sorted({span[1:] for span in problem.spans})
    for span in spans:
        names, places = described(problem, rewards, span)
        assert [name.partition(":")[0] for name in names] == list(TEMPLATES)
        for k, (name, place) in enumerate(zip(names, places, strict=True)):
            # the first four also tell single words from longer spans
            key = (name, span[1] - span[0] == 1) if k < 4 else name
            assert place_of.setdefault(key, place) == place
    assert len({*place_of.values()}) == len(place_of)


def test_what_a_span_looks_like_in_words():
    problem = make(EASY._replace(kinds=["x"] * 7, words=list(range(7))), 0)
    rewards = rewards_for(problem, 0)
    words, tags = ["The", "cat", "sees", "the", "old", "dog", "."], ["DT", "NN", "VBZ", "DT", "JJ", "NN", "."]
    names, places = explain_span(rewards, problem.words.astype(np.int32), words, tags, (3, 6))
    assert names == [
        "first word: the", "last word: dog", "word before: sees", "word after: .", "length: 3",
        "tags at the left edge: VBZ | DT", "tags at the right edge: NN | .", "tags around: VBZ | | .",
        "first and last tag: DT … NN", "first tag, length: DT, 3", "last tag, length: NN, 3",
        "tag after, length: ., 3", "tag before, length: VBZ, 3", "shape: DT JJ NN",
        "tags at both edges: VBZ | DT … NN | .", "first word, tag after: the … | .", "last word, tag after: dog | .",
        "word before, first tag: sees | DT", "first and last word: the … dog", "words at the left edge: sees | the",
        "words at the right edge: dog | .",
    ]  # fmt: skip
    assert len(places) == len(TEMPLATES)
    names, _ = explain_span(rewards, problem.words.astype(np.int32), words, tags, (0, 7))
    assert names[2:5] == ["word before: [", "word after: ]", "length: 6 to 10, first"]
    assert names[13] == "shape: DT NN … NN ."


def test_labels_are_symbols_without_siblings_and_marks_of_chains():
    grammar = Grammar.from_rules(
        [("S^TOP", "NP^S", "@S^TOP|NP", 0.0, 1), ("@S^TOP|NP", "VB", "NP^S", 0.0, 1), ("NP^S~", "NN", "NN", 0.0, 1)],
        [("TOP", "S^TOP", (), 0.0, 1), ("NP^S", "NN", (), 0.0, 1), ("NP^S", "NP^S~", (), 0.0, 1)],
    )
    labels = dict(zip(grammar.symbols, span_labels(grammar), strict=True))
    assert labels["@S^TOP|NP"] == "@S^TOP"
    assert labels["NP^S~"] == labels["NP^S"] == "NP^S"
    assert labels["TOP"] is None


def test_the_table_grows_with_the_treebank_up_to_a_limit():
    sizes = [table_size(words) for words in (0, 100, 10_000, 10**9)]
    assert sizes == sorted(sizes)
    assert all(size & (size - 1) == 0 for size in sizes)
    assert sizes[-1] == table_size(10**12)


@pytest.mark.parametrize("size", [0, -4, 3, 1 << 40])
def test_sizes_of_tables_that_no_treebank_leads_to(size):
    problem = make(EASY, 0)
    with pytest.raises(ValueError, match="is a power of 2, at most 4,194,304"):
        new_span_rewards(problem.grammar, problem.lexical, np.zeros(len(problem.names)), size)


# ---- rewards


@given(rewarded)
@some
def test_the_reward_of_a_constituent_is_the_sum_of_its_weights(corpus):
    for problem in corpus.problems:
        found = reward_pass(corpus.rewards, problem.words.astype(np.int32))
        offsets = row_offsets(problem.n)
        tags = {*corpus.grammar.tags.values()}
        for symbol, start, end in problem.spans:
            here = symbol * offsets[problem.n + 1] + offsets[end - start] + start
            if end - start == 1 or symbol not in tags:  # tags are over single words only
                wanted = problem.rewards.get((symbol, start, end), 0.0)
                assert found[here] == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@pytest.mark.jit
@given(rewarded)
@few
def test_rewards_in_bulk_are_those_of_the_loops_to_the_bit(corpus):
    for problem in corpus.problems:
        rows = problem.words.astype(np.int32)
        loops, bulk = as_loops(reward_pass, span_rewards), interpreted(reward_pass)
        one, two, three = (run(corpus.rewards, rows) for run in (loops, bulk, reward_pass))
        assert one.tobytes() == two.tobytes() == three.tobytes()


@given(rewarded)
@some
def test_the_features_of_derivations_are_those_of_their_constituents(corpus):
    nodes = np.array([node for expert in corpus.experts for node in expert], np.int32)
    found = np.empty(2 * len(TEMPLATES) * len(nodes), np.int64)
    m = span_features(corpus.rewards, corpus.grammar.rules, corpus.sentences, nodes, found)
    wanted = []
    for problem, expert in zip(corpus.problems, corpus.experts, strict=True):
        for symbol, start, end in problem.constituents(expert):
            if (label := corpus.rewards.label_of[symbol]) >= 0:
                wanted += (described(problem, corpus.rewards, (start, end))[1] + label).tolist()
    assert sorted(found[:m].tolist()) == sorted(wanted)


# ---- parsing and planning with them


@given(rewarded)
@some
def test_the_best_tree(corpus):
    for problem, tree, value in corpus.parse(EXACT):
        assert tree in problem.trees
        assert problem.score(tree) == pytest.approx(problem.best_first[0], rel=1e-4, abs=1e-4)
        assert value == pytest.approx(problem.best_first[0], rel=1e-4, abs=1e-4)


@given(rewarded)
@some
def test_max_rule_decoding(corpus):
    for problem, tree, value in corpus.parse(Decoding(MAX_RULE, INF, 0.0)):
        of_rule = posterior_of_rules(problem, problem.trees)
        products = {t: sum(math.log(of_rule[rule]) for rule in places_of_rules(t)) for t in problem.trees}
        assert products[tree] == pytest.approx(max(products.values()), rel=1e-4, abs=1e-4)
        log_z = np.logaddexp.reduce(problem.best_first)
        assert value == pytest.approx(max(products.values()) + log_z, rel=1e-4, abs=1e-4)


@given(rewarded, st.sampled_from([0.5, 2.0, 50.0]))
@some
def test_a_beam(corpus, beam):
    for problem, tree, _ in corpus.parse(Decoding(BEST_TREE, beam, 0.0)):
        assert tree in problem.trees
        if beam == 50.0:
            assert problem.score(tree) == pytest.approx(problem.best_first[0], rel=1e-4, abs=1e-4)


@given(rewarded, st.sampled_from([1, 3, 40]))
@some
def test_the_k_best_trees(corpus, k):
    for problem in corpus.problems:
        rows = problem.words.astype(np.int32)
        best = k_best_of(corpus.weighted(np.float64), rows, k, anchored=reward_pass(corpus.rewards, rows))
        m = best.found[0]
        assert m == min(k, len(problem.trees))
        assert best.scores[0, :m] == pytest.approx(problem.best_first[:k], rel=1e-5, abs=1e-5)
        trees = [as_tuples(tree) for tree in best.trees[:m]]
        assert len({*trees}) == m
        assert [problem.score(tree) for tree in trees] == pytest.approx(problem.best_first[:k], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("on_rules", [False, True])
@given(corpus=rewarded, loss=st.sampled_from([0.0, 0.4]))
@some
def test_plans_with_and_without_loss(on_rules, corpus, loss):
    gold = np.array([node for expert in corpus.experts for node in expert], np.int32)
    planned, values = np.zeros_like(gold), np.zeros(len(corpus.problems))
    shard = Shard(np.arange(len(corpus.problems)), np.zeros(2, np.int64), 1)
    rewards = corpus.rewards._replace(weights=corpus.rewards.weights.astype(np.float64))  # as in training
    plan_pass(corpus.weighted(), corpus.sentences, gold, shard, loss, on_rules, rewards, planned, values)
    for i, (problem, expert) in enumerate(zip(corpus.problems, corpus.experts, strict=True)):
        places, rules = {*problem.constituents(expert)}, problem.rules(expert)

        def value(tree, problem=problem, places=places, rules=rules):
            shared = problem.rules(tree) @ rules if on_rules else len(places & {*problem.constituents(tree)})
            return problem.score(tree) - loss * shared

        highest, first = max(map(value, problem.trees)), 2 * corpus.sentences.at[i] - i
        assert value(as_tuples(planned[first : first + 2 * problem.n - 1])) == pytest.approx(
            highest, rel=1e-4, abs=1e-4
        )
        assert values[i] == pytest.approx(highest, rel=1e-4, abs=1e-4)
