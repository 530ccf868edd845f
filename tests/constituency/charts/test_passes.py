"""Passes over a corpus: sums of what the twins find for each sentence, in any order and in any shards."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.naive import INF, Shape, as_tuples, corpora, literally, log_sum_exp, make
from tests.examples import examples
from treewright.constituency.charts.corpus import Parsed, Sentences, Shard
from treewright.constituency.charts.passes import (
    BEST_TREE,
    COVERED,
    EXACT,
    MAX_RULE,
    WHOLE,
    Coarse,
    Decoding,
    KBestTrees,
    expected_pass,
    k_best_pass,
    n_best_pass,
    parse_pass,
    plan_pass,
    policy_pass,
)
from treewright.constituency.grammar.rules import Weighted
from treewright.search import interpreted

some = examples(25)
few = examples(10)
SLOT = 2


class Corpus:
    """Problems with one grammar, packed, and an expert's tree for each; where there is none, rules at random."""

    def __init__(self, problems, seed):
        rng = np.random.default_rng(seed)
        self.problems, first = problems, problems[0]
        self.words = np.concatenate([problem.words for problem in problems]).astype(np.int32)
        self.at = np.cumsum([0, *(problem.n for problem in problems)])
        self.experts = []
        for problem in problems:
            if problem.trees:
                self.experts.append(problem.trees[rng.integers(len(problem.trees))])
            else:
                ones, twos = len(first.unary), len(first.binary)
                rows = range(2 * problem.n - 1)
                self.experts.append([(0, rng.integers(-1, ones), rng.integers(-1, twos), 0, 1) for _ in rows])
        self.gold = np.array([node for expert in self.experts for node in expert], np.int32)
        self.everything = np.arange(len(problems))
        self.grammar, self.lexical = first.grammar, first.lexical
        self.n_binary = len(first.binary)

    def __repr__(self):
        return f"<Corpus {self.problems}>"

    def given(self, precision):
        weights = self.grammar.weights.astype(precision)
        grammar = Weighted(self.grammar.rules, weights[: self.n_binary], weights[self.n_binary :], self.lexical)
        return grammar, Sentences(self.words, self.at)

    def sums(self, run, *settings, which=None, stop=0):
        """What a pass for learning adds up, what it returns, and how many sentences it counted."""
        counts, control = np.zeros(len(self.grammar)), np.zeros(4, np.int64)
        control[0] = stop
        which = self.everything if which is None else np.array(which, np.int64)
        precision = np.float32 if run.__name__ in ("plan_pass", "policy_pass") else np.float64
        shard = Shard(which, control, SLOT)
        if run.__name__ == "plan_pass":
            planned, values = np.full_like(self.gold, -9), np.zeros(len(self.problems))
            run(*self.given(precision), self.gold, shard, *settings, None, planned, values)
            for i in () if stop else which:
                counts += self.problems[i].rules(planned[2 * self.at[i] - i : 2 * self.at[i + 1] - i - 1])
            total = values.sum()
        else:
            total = run(*self.given(precision), self.gold, shard, *settings, counts)
        assert control.tolist() == [stop, 0, 0 if stop else len(which), 0]
        return counts, total

    def parse(self, decoder=BEST_TREE, beam=INF, coarse=None, threshold=0.0, eligible=None, which=None, run=parse_pass):
        """For each sentence: its tree or pieces, value and status."""
        nodes = np.full((2 * self.at[-1] - len(self.problems), 5), -9, np.int32)
        filled, status = np.full(len(self.problems), -1, np.int64), np.full(len(self.problems), -1, np.int64)
        values, control = np.full(len(self.problems), np.nan), np.zeros(4, np.int64)
        factors = np.exp(self.grammar.weights)
        same = Weighted(self.grammar.rules, factors[: self.n_binary], factors[self.n_binary :], self.lexical)
        coarse = Coarse(same, np.arange(len(self.grammar.symbols), dtype=np.int32)) if coarse is None else coarse
        eligible = np.ones(len(self.grammar.symbols), np.bool_) if eligible is None else eligible
        which = self.everything if which is None else np.array(which, np.int64)
        shard, decoding = Shard(which, control, SLOT), Decoding(decoder, beam, threshold)
        if decoding == EXACT:
            decoding = coarse = None
        elif threshold == 0.0:
            coarse = None
        run(*self.given(np.float32), shard, decoding, coarse, None, eligible, Parsed(nodes, filled, values, status))
        found = []
        for i, problem in enumerate(self.problems):
            at = 2 * self.at[i] - i
            found.append((as_tuples(nodes[at : at + filled[i]]), values[i], status[i]))
            assert filled[i] <= 2 * problem.n - 1
        return found


@st.composite
def packed(draw, all_have_trees=False):
    problems = draw(corpora(most_words=5, most_trees=150))
    if all_have_trees:
        problems = [problem for problem in problems if problem.trees] or [make(EASY, 1)]
    return Corpus(problems, draw(st.integers(0, 10**6)))


EASY = Shape([("A", "A", "A"), ("A", "x", "A"), ("A", "x", "x")], [("TOP", "A", ()), ("TOP", "x", ())], ["x"], [0] * 4)

# ---- learning


def best(problem, extra=lambda derivation: 0.0):
    """The best tree and its value, with what is added to the score of each."""
    value, tree = max(((problem.score(tree) + extra(tree), tree) for tree in problem.trees), key=lambda pair: pair[0])
    return tree, value


def planned(corpus, loss, on_rules):
    counts, total = np.zeros(len(corpus.grammar)), 0.0
    for problem, expert in zip(corpus.problems, corpus.experts, strict=True):
        if not problem.trees:
            counts += problem.rules(expert)
            continue
        of_expert, places = problem.rules(expert), set(problem.constituents(expert))

        def extra(tree, problem=problem, of_expert=of_expert, places=places):
            if on_rules:  # Algorithm 4: θ'ᵢ = θᵢ − c·f(Rᵢ, τ_E)
                return -loss * float(problem.rules(tree) @ of_expert)
            return -loss * sum(constituent in places for constituent in problem.constituents(tree))

        tree, value = best(problem, extra)
        counts += problem.rules(tree)
        total += value
    return counts, total


@pytest.mark.parametrize("on_rules", [False, True])
@pytest.mark.parametrize("loss", [0.0, 0.4])
@given(corpus=packed())
@some
def test_plans_are_the_best_trees_with_and_without_loss(loss, on_rules, corpus):
    counts, total = corpus.sums(plan_pass, loss, on_rules)
    wanted_counts, wanted = planned(corpus, loss, on_rules)
    assert total == pytest.approx(wanted, rel=1e-5, abs=1e-4)
    assert counts.tolist() == wanted_counts.tolist()


@given(packed())
@some
def test_expected_rules_of_all_trees(corpus):
    counts, total = corpus.sums(expected_pass)
    wanted, log_z = np.zeros(len(counts)), 0.0
    for problem, expert in zip(corpus.problems, corpus.experts, strict=True):
        wanted += problem.expected_rules() if problem.trees else problem.rules(expert)
        log_z += log_sum_exp(problem.best_first) if problem.trees else 0.0
    assert total == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(counts, wanted, rtol=1e-8, atol=1e-8)


@given(packed(), st.sampled_from([1, 2, 5, 200]))
@some
def test_expected_rules_of_the_n_best_trees(corpus, n):
    counts, total = corpus.sums(n_best_pass, n)
    wanted, log_z = np.zeros(len(counts)), 0.0
    for problem, expert in zip(corpus.problems, corpus.experts, strict=True):
        if problem.trees:
            trees = sorted(problem.trees, key=problem.score, reverse=True)[:n]
            wanted += problem.expected_rules(trees)
            log_z += log_sum_exp(problem.best_first[:n])
        else:
            wanted += problem.rules(expert)
    assert total == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(counts, wanted, rtol=1e-6, atol=1e-6)


@given(packed(all_have_trees=True), st.sampled_from([0.2, 1.0]))
@some
def test_policy_matching(corpus, temperature):
    gradient, total = corpus.sums(policy_pass, temperature)
    parts = [literally(p, expert, temperature) for p, expert in zip(corpus.problems, corpus.experts, strict=True)]
    assert total == pytest.approx(sum(j for j, _ in parts), rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(gradient, sum(g for _, g in parts), rtol=1e-3, atol=1e-3)


PASSES = [(plan_pass, 0.3, True), (plan_pass, 0.3, False), (expected_pass,), (n_best_pass, 3), (policy_pass, 1.0)]


@given(packed(all_have_trees=True), st.randoms(use_true_random=False))
@few
def test_order_and_shards_do_not_matter(corpus, random):
    """Also room that was made for a longer sentence, or left behind by one, does not."""
    shuffled = corpus.everything.tolist()
    random.shuffle(shuffled)
    cut = random.randint(0, len(shuffled))
    for run, *chosen in PASSES:
        counts, total = corpus.sums(run, *chosen)
        for shards in ([shuffled], [shuffled[:cut], shuffled[cut:]], [[i] for i in shuffled]):
            parts = [corpus.sums(run, *chosen, which=shard) for shard in shards]
            np.testing.assert_allclose(sum(c for c, _ in parts), counts, rtol=1e-9, atol=1e-12)
            assert sum(t for _, t in parts) == pytest.approx(total, rel=1e-9, abs=1e-12)
        assert corpus.sums(run, *chosen, stop=1)[1] == 0.0
        twice = corpus.sums(run, *chosen, which=[0, 0])[0]
        np.testing.assert_allclose(twice, 2 * corpus.sums(run, *chosen, which=[0])[0], rtol=1e-9, atol=1e-12)


# ---- parsing


@given(packed(), st.integers(0, 10**6))
@some
def test_the_best_tree_or_the_best_cover(corpus, seed):
    rng = np.random.default_rng(seed)
    eligible = rng.random(len(corpus.grammar.symbols)) < 0.5
    eligible[list(corpus.grammar.tags.values())] = True
    for problem, (nodes, value, status) in zip(corpus.problems, corpus.parse(eligible=eligible), strict=True):
        if problem.trees:
            assert status == WHOLE
            assert nodes in problem.trees
            assert problem.score(nodes) == pytest.approx(problem.best_first[0], rel=1e-5, abs=1e-5)
            assert value == pytest.approx(problem.best_first[0], rel=1e-5, abs=1e-5)
        else:
            assert status == COVERED
            assert value == pytest.approx(problem.score(nodes), rel=1e-5, abs=1e-5)
            check_cover(problem, nodes, eligible)


def check_cover(problem, nodes, eligible):
    """Each piece is a derivation of an eligible symbol, and begins where the last one ended."""
    at = 0
    while nodes:
        symbol, one, _, start, end = nodes[0]
        piece, nodes = nodes[: 2 * (end - start) - 1], nodes[2 * (end - start) - 1 :]
        top = problem.unary[one][0] if one >= 0 else symbol
        assert start == at
        assert eligible[top]
        assert piece in problem.derivations(top, start, end)
        at = end
    assert at == problem.n


def posterior_of_rules(problem, trees):
    """How probable each rule is in each place, given that the tree is one of these."""
    found = defaultdict(float)
    for tree, probability in zip(trees, problem.posterior(trees), strict=True):
        for rule in places_of_rules(tree):
            found[rule] += probability
    return found


def places_of_rules(tree):
    for k, (symbol, one, two, start, end) in enumerate(tree):
        if one >= 0:
            yield "unary", one, start, end
        yield ("tag", symbol, start) if two < 0 else ("binary", two, start, tree[k + 1][4], end)


@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.3])
@given(corpus=packed())
@some
def test_max_rule_decoding_with_and_without_pruning(threshold, corpus):
    """Pruned with the posteriors of the grammar itself: what is left are the trees all of whose parts are probable."""
    for problem, (nodes, value, status) in zip(
        corpus.problems, corpus.parse(MAX_RULE, threshold=threshold), strict=True
    ):
        if not problem.trees:
            assert status == COVERED
            continue
        assert status == WHOLE
        probable = problem.expected_constituents()
        left = [t for t in problem.trees if all(probable[c] >= threshold for c in problem.constituents(t))]
        if not left:  # pruned away: the best tree of all
            assert problem.score(nodes) == pytest.approx(problem.best_first[0], rel=1e-5, abs=1e-5)
            continue
        of_rule = posterior_of_rules(problem, left)
        products = {tree: sum(math.log(of_rule[rule]) for rule in places_of_rules(tree)) for tree in left}
        assert products[nodes] == pytest.approx(max(products.values()), rel=1e-4, abs=1e-4)
        log_z = log_sum_exp([problem.score(tree) for tree in left])
        assert value == pytest.approx(max(products.values()) + log_z, rel=1e-4, abs=1e-4)


@given(packed(), st.sampled_from([0.01, 0.1, 0.4]))
@some
def test_pruning_leaves_out_what_is_improbable(corpus, threshold):
    for problem, (nodes, _, status) in zip(corpus.problems, corpus.parse(threshold=threshold), strict=True):
        assert status == (WHOLE if problem.trees else COVERED)
        if problem.trees:
            probable = problem.expected_constituents()
            left = [t for t in problem.trees if all(probable[c] >= threshold for c in problem.constituents(t))]
            wanted = max(map(problem.score, left or problem.trees))
            assert problem.score(nodes) == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@given(packed())
@some
def test_pruning_with_a_coarser_grammar(corpus):
    """Symbols A to D become one. With a tiny threshold nothing is lost; with a large one there is still a tree."""
    fine = corpus.grammar

    def merged(name):
        return name if name == "TOP" or name in "xyz" else "P~" if name.endswith("~") or not is_top[name] else "P"

    is_top = dict(zip(fine.symbols, fine.rules.is_top.tolist(), strict=True))
    starts_chains = any(is_top[name] for name in fine.symbols if name != "TOP")
    above = {name: merged(name) if merged(name) != "P~" or not starts_chains else "P" for name in fine.symbols}
    binary = {(merged(fine.symbols[a]), above[fine.symbols[b]], above[fine.symbols[c]]) for a, b, c in fine.binary}
    unary = {(merged(fine.symbols[a]), merged(fine.symbols[b]), ()) for a, b in fine.unary}
    unary |= {("P", "P~", ())} if starts_chains else set()
    coarse = type(fine).from_rules([(*r, 0.0, 1.0) for r in binary], [(*r, 0.0, 1.0) for r in unary])
    coarse_of = np.array([coarse.number.get(merged(name), 0) for name in fine.symbols], np.int32)
    table = corpus.lexical._replace(symbol=coarse_of[corpus.lexical.symbol])
    ones = np.ones(len(coarse))
    weighted = Weighted(coarse.rules, ones[: len(coarse.binary)], ones[len(coarse.binary) :], table)
    settings = Coarse(weighted, coarse_of)
    exact = corpus.parse()
    for threshold in (1e-12, 0.2):
        for problem, plain, (nodes, value, status) in zip(
            corpus.problems, exact, corpus.parse(coarse=settings, threshold=threshold), strict=True
        ):
            assert status == plain[2]
            if problem.trees:
                assert nodes in problem.trees
                assert value == pytest.approx(problem.score(nodes), rel=1e-5, abs=1e-5)
                if threshold < 1e-9:
                    assert value == pytest.approx(plain[1], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("decoder", [BEST_TREE, MAX_RULE])
@given(packed(), st.sampled_from([0.0, 0.5, 2.0, 50.0]))
@some
def test_what_a_beam_leaves_without_a_tree_is_parsed_again(decoder, corpus, beam):
    for problem, (nodes, _, status) in zip(corpus.problems, corpus.parse(decoder, beam=beam), strict=True):
        assert status == (WHOLE if problem.trees else COVERED)
        assert not problem.trees or nodes in problem.trees
        if beam == 50.0 and problem.trees and decoder == BEST_TREE:
            assert problem.score(nodes) == pytest.approx(problem.best_first[0], rel=1e-5, abs=1e-5)


@given(packed(), st.randoms(use_true_random=False))
@few
def test_sentences_are_parsed_in_any_order(corpus, random):
    shuffled = corpus.everything.tolist()
    random.shuffle(shuffled)
    for decoder in (BEST_TREE, MAX_RULE):
        wanted = corpus.parse(decoder)
        assert corpus.parse(decoder, which=shuffled) == wanted
        for i in shuffled[:2]:
            alone = Corpus([corpus.problems[i]], 0)
            assert alone.parse(decoder) == [wanted[i]]


@given(packed(), st.sampled_from([1, 3, 40]))
@some
def test_the_k_best_trees_of_each_sentence(corpus, k):
    n = len(corpus.problems)
    scores, trees = np.zeros((n, k)), np.zeros((k, 2 * corpus.at[-1] - n, 5), np.int32)
    found, control = np.full(n, -7, np.int64), np.zeros(4, np.int64)
    which = corpus.everything[::-1].copy()
    covering, eligible = np.zeros(n, np.int64), np.ones(len(corpus.grammar.symbols), np.bool_)
    best = KBestTrees(scores, trees, found, covering)
    k_best_pass(*corpus.given(np.float64), Shard(which, control, SLOT), k, None, eligible, None, best)
    assert control[SLOT] == n
    for i, problem in enumerate(corpus.problems):
        assert found[i] == min(k, len(problem.trees))
        if not problem.trees:
            first = 2 * corpus.at[i] - i
            check_cover(problem, as_tuples(trees[0, first : first + covering[i]]), eligible)
        assert scores[i, : found[i]] == pytest.approx(problem.best_first[:k], rel=1e-9, abs=1e-9)
        mine = [as_tuples(tree) for tree in trees[: found[i], 2 * corpus.at[i] - i : 2 * corpus.at[i + 1] - i - 1]]
        assert len(set(mine)) == len(mine)
        assert [problem.score(tree) for tree in mine] == pytest.approx(problem.best_first[:k], rel=1e-9, abs=1e-9)
        assert set(mine) <= set(problem.trees)


def with_small_forests(run, made):
    """A pass as plain Python whose forests have a hundredth of the room that it asks for."""
    plain = interpreted(run)
    new_forest = plain.__globals__["new_forest"]

    def small(rules, n, places, nodes, k):
        made.append(nodes)
        return new_forest(rules, n, places, nodes // 100, k)

    plain.__globals__["new_forest"] = small
    return plain


def test_a_forest_with_too_little_room_is_made_larger():
    problem = make(EASY._replace(binary=[*EASY.binary, ("A", "A", "x")], words=[0] * 8), 3)
    k = len(problem.trees) + 10
    assert k == 429 + 10
    corpus, made = Corpus([problem, problem], 0), []
    scores, trees, found = np.zeros((2, k)), np.zeros((k, 30, 5), np.int32), np.zeros(2, np.int64)
    run, control = with_small_forests(k_best_pass, made), np.zeros(4, np.int64)
    best = KBestTrees(scores, trees, found, np.zeros(2, np.int64))
    run(*corpus.given(np.float64), Shard(corpus.everything, control, SLOT), k, INF, None, None, best)
    assert made[:2] == [1000, 2000]  # and what was enough for one sentence is kept for the next
    assert made[-1] == made[-2]
    assert found.tolist() == [429, 429]
    assert len({tree[15:].tobytes() for tree in trees[:429]}) == 429
    assert scores[1, :429] == pytest.approx(problem.best_first, rel=1e-9, abs=1e-9)
    made.clear()
    counts, total = corpus.sums(with_small_forests(n_best_pass, made), k)
    assert made[:2] == [1000, 2000]
    assert total == pytest.approx(2 * log_sum_exp(problem.best_first))
    np.testing.assert_allclose(counts, 2 * problem.expected_rules(), rtol=1e-9)


@pytest.mark.jit
@given(packed(all_have_trees=True))
@few
def test_compiled_and_interpreted_passes_are_the_same(corpus):
    for run, *chosen in PASSES:
        one, two = (corpus.sums(version, *chosen) for version in (run, interpreted(run)))
        np.testing.assert_allclose(one[0], two[0], rtol=1e-9, atol=1e-12)
        assert one[1] == pytest.approx(two[1], rel=1e-12)
    assert corpus.parse() == corpus.parse(run=interpreted(parse_pass))
