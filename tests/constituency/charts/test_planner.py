"""CKY as a planner: a slow twin that writes out all trees, gradients, how the methods are related, and training."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.constituency.naive import Problem, as_tuples
from treewright.constituency import CKYPlanner, Grammar, Lexicon, Markovisation
from treewright.constituency.charts.span_rewards import TEMPLATES, new_span_rewards
from treewright.constituency.grammar.rules import Lexical
from treewright.corpora import builtin_corpus, clean_tree
from treewright.corpora.brackets import parse_ptb
from treewright.errors import ConfigError
from treewright.learners import (
    IRL,
    MWAL,
    MaxEnt,
    MaxMargin,
    PerceptronIRL,
    PolicyMatching,
    Projection,
    dissimilarity,
    train_irl,
)
from treewright.learners.irl import begin, incremental_pass
from treewright.search import Features

PLAIN = {"step": "constant", "normalise": False}
LENSES = """
(S (NP (PRP I)) (VP (VBP see) (NP (NNS stars))))
(S (NP (PRP I)) (VP (VBP see) (NP (NNS stars)) (PP (IN with) (NP (NNS lenses)))))
(S (NP (PRP I)) (VP (VBP see) (NP (NP (NNS stars)) (PP (IN with) (NP (NNS names))))))
(S (NP (NP (NNS stars)) (PP (IN with) (NP (NNS names)))) (VP (VBP see) (NP (PRP it))))
(S (VP (VBP see) (NP (PRP it)) (PP (IN with) (NP (NP (NNS lenses)) (PP (IN with) (NP (NNS names)))))))
(NP (NNS stars))
""".strip().splitlines()


def planner_of(sentences, memory="v1h0", trained="all", loss="rules"):
    """A planner for a treebank, put together by hand."""
    trees = [Markovisation(int(memory[1]), int(memory[3])).binarise(clean_tree(s.tree)) for s in sentences]
    grammar = Grammar.learn(trees)
    lexicon = Lexicon.learn([list(zip(tree.leaves(), tree.tags(), strict=True)) for tree in trees])
    at, tag, score = lexicon.table()
    symbols = np.array([grammar.tags[name] for name in lexicon.tags], np.int32)
    words = [lexicon.rows(sentence.forms) for sentence in sentences]
    return CKYPlanner(
        grammar,
        Lexical(at, symbols[tag], score),
        np.concatenate(words),
        np.cumsum([0, *map(len, words)]),
        np.concatenate([grammar.derivation(tree) for tree in trees]),
        trained,
        loss,
    )


class AllTrees:
    """The twin: a planner that writes out all trees of each sentence, in 64 bits."""

    def __init__(self, planner):
        self.planner, self.size, self.initial = planner, planner.size, planner.initial
        self.words = np.split(planner.words, planner.at[1:-1])
        self.experts = [as_tuples(planner.gold[2 * a - i : 2 * b - i - 1]) for i, (a, b) in enumerate(self.bounds())]
        self.expert_features, self.expert_values = planner.expert_features, planner.expert_values
        first = [Problem(planner.grammar, planner.lexical, words.tolist()) for words in self.words]
        self.derivations = [problem.trees for problem in first]

    def bounds(self):
        return zip(self.planner.at[:-1].tolist(), self.planner.at[1:].tolist(), strict=True)

    def __len__(self):
        return len(self.words)

    def problem(self, θ, i):
        grammar = self.planner.grammar.with_weights(self.planner.weights(θ))
        return Problem(grammar, self.planner.lexical, self.words[i].tolist())

    def sum(self, parts):
        counts, values = zip(*parts, strict=True)
        total = sum(counts)[: self.size]
        return Features(np.flatnonzero(total), total[np.flatnonzero(total)], sum(values))

    def optimal_features(self, θ, which, *, margin=0.0, jobs=1):
        def best(i):
            problem, expert = self.problem(θ, i), self.experts[i]

            def value(tree):
                if self.planner.loss == "rules":
                    shared = problem.rules(tree) @ problem.rules(expert)
                else:
                    shared = len({*problem.constituents(tree)} & {*problem.constituents(expert)})
                return problem.score(tree) - margin * shared

            tree = max(self.derivations[i], key=value)
            return problem.rules(tree), value(tree)

        return self.sum([best(i) for i in which])

    def n_best_features(self, θ, which, n, *, jobs=1):
        def some(i):
            problem = self.problem(θ, i)
            trees = sorted(self.derivations[i], key=problem.score, reverse=True)[:n]
            return problem.expected_rules(trees), np.logaddexp.reduce([problem.score(tree) for tree in trees])

        return self.sum([some(i) for i in which])

    def expected_features(self, θ, which, *, jobs=1):
        return self.n_best_features(θ, which, 10**9)

    def policy_matching(self, θ, which, temperature, *, jobs=1):
        def states(i):
            """Equations 16 to 19, word for word, over the constituents of the expert's tree."""
            problem, expert, η = self.problem(θ, i), self.experts[i], temperature
            Δ, J = np.zeros(len(problem.weights)), 0.0
            for symbol, start, end in problem.constituents(expert):
                best = {}  # for each action the best tree after it
                for tree in problem.derivations(symbol, start, end):
                    action = self.action(problem, symbol, tree)
                    if action is not None and problem.score(tree) > best.get(action, (-np.inf,))[0]:
                        best[action] = problem.score(tree), problem.rules(tree)
                if not best:  # a tag: there is nothing to decide
                    continue
                correct = next(self.action(problem, symbol, expert[k:]) for k in range(len(expert))
                               if self.starts_with(problem, expert[k], symbol, start, end))  # fmt: skip
                actions = list(best)
                Q, Φ = (np.array([best[a][k] for a in actions]) for k in (0, 1))
                π = np.exp((Q - Q.max()) / η) / np.exp((Q - Q.max()) / η).sum()  # (17)
                π_E = np.array([float(a == correct) for a in actions])
                J += 0.5 * ((π - π_E) ** 2).sum()  # (16)
                for a in range(len(actions)):
                    Δ += (π_E[a] - π[a]) * π[a] / η * (Φ[a] - π @ Φ)  # (18), (19)
            return Δ, J

        return self.sum([states(i) for i in which])

    @staticmethod
    def starts_with(problem, node, symbol, start, end):
        top = problem.unary[node[1]][0] if node[1] >= 0 else None
        return (start, end) == node[3:] and symbol in (top, node[0])

    @staticmethod
    def action(problem, symbol, tree):
        """What a tree begins with: a unary rule, or a binary rule and where it splits; None for a word."""
        if symbol in problem.tops:
            return "one", tree[0][1]
        return None if tree[0][2] < 0 else ("two", tree[0][2], tree[1][4])


@pytest.fixture(scope="module")
def treebank():
    return list(parse_ptb(LENSES))


@pytest.fixture(scope="module")
def planner(treebank):
    return planner_of(treebank)


@pytest.fixture(scope="module")
def twin(planner):
    return AllTrees(planner)


@pytest.fixture(scope="module")
def corpus():
    some = [sentence for sentence in builtin_corpus(train=80, dev=1, test=1)[0] if 8 < len(sentence) < 13]
    return planner_of(some[:20])  # two blocks of sentences


def everything(planner):
    return np.arange(len(planner), dtype=np.int64)


def random_weights(planner, seed):
    """Near relative frequencies, but without ties."""
    return planner.initial() + np.random.default_rng(seed).normal(size=planner.size)


def dense(planner, features):
    return np.bincount(features.at, features.amount, planner.size)


def ascent(learner, planner, θ):
    """Δ − λθ, as a plain step of length 1 goes."""
    learned = begin(plain := replace(learner, step_size=1.0, **PLAIN), planner)
    learned.θ[:] = θ
    incremental_pass(plain, planner, learned, 1)
    return learned.θ - θ


def described(value):
    return value if isinstance(value, str) else repr(value).replace("passes=100, step='1/sqrt(k)', ", "")[:60]


# ---- the protocol


def test_there_is_something_to_plan(twin):
    assert [len(trees) for trees in twin.derivations] > [1] * 6
    assert all(expert in trees for expert, trees in zip(twin.experts, twin.derivations, strict=True))


def test_it_begins_with_the_weights_of_the_grammar(planner):
    np.testing.assert_array_equal(planner.initial(), planner.grammar.weights)
    planner.initial()[:] = 0.0  # a copy
    np.testing.assert_array_equal(planner.weights(planner.initial()), planner.grammar.weights)
    assert (len(planner), planner.size) == (6, len(planner.grammar))


def test_the_experts_features_are_the_counted_rules(planner, treebank):
    features = planner.expert_features(everything(planner))
    np.testing.assert_array_equal(dense(planner, features), planner.grammar.counts)
    assert features.value == 0.0
    some = Grammar.learn([Markovisation(1, 0).binarise(s.tree) for s in (treebank[4], treebank[1])])
    counted = dict(line.split("\t")[:2] for line in some.lines())
    found = planner.grammar.with_weights(planner.grammar.weights)
    object.__setattr__(found, "counts", dense(planner, planner.expert_features(np.array([4, 1]))))
    assert {rule: count for rule, count, _ in (line.split("\t") for line in found.lines()) if count != "0"} == counted


def test_a_sentence_is_the_sum_of_its_parts(corpus):
    """Any instances in any order: sums are over these."""
    θ, which = random_weights(corpus, 1), np.array([7, 3, 16])
    for run in (
        corpus.expert_features,
        lambda w: corpus.optimal_features(θ, w, margin=0.3),
        lambda w: corpus.n_best_features(θ, w, 5),
        lambda w: corpus.expected_features(θ, w),
        lambda w: corpus.policy_matching(θ, w, 0.5),
    ):
        together, alone = run(which), [run(np.array([i])) for i in which]
        np.testing.assert_allclose(dense(corpus, together), sum(dense(corpus, f) for f in alone), atol=1e-9)
        assert together.value == pytest.approx(sum(f.value for f in alone))
    values = corpus.expert_values(θ, which), sum(corpus.expert_values(θ, np.array([i])) for i in which)
    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize("seed", range(4))
def test_what_it_finds_is_what_writing_out_all_trees_finds(planner, twin, seed):
    θ, which = random_weights(planner, seed), everything(planner)
    for run in (
        lambda p: p.optimal_features(θ, which),
        lambda p: p.optimal_features(θ, which, margin=0.5),
        lambda p: p.n_best_features(θ, which, 3),
        lambda p: p.n_best_features(θ, which, 10**4),
        lambda p: p.expected_features(θ, which),
        lambda p: p.policy_matching(θ, which, 1.0),
        lambda p: p.policy_matching(θ, which, 0.3),
    ):
        found, wanted = run(planner), run(twin)
        assert found.value == pytest.approx(wanted.value, abs=2e-5)
        np.testing.assert_allclose(dense(planner, found), dense(planner, wanted), atol=5e-5)


@pytest.mark.parametrize("loss", ["rules", "constituents"])
def test_the_loss_makes_what_the_expert_does_less_attractive(planner, loss):
    planner = replace(planner, loss=loss)
    twin, which = AllTrees(planner), everything(planner)
    for seed in range(3):
        θ = random_weights(planner, seed)
        found, wanted = planner.optimal_features(θ, which, margin=0.7), twin.optimal_features(θ, which, margin=0.7)
        assert found.value == pytest.approx(wanted.value, abs=2e-5)
        np.testing.assert_array_equal(dense(planner, found), dense(planner, wanted))
    values = [planner.optimal_features(θ, which, margin=c).value for c in (0.0, 0.1, 1.0)]
    assert values == sorted(values, reverse=True)


def test_the_two_losses_differ(planner):
    θ, which = random_weights(planner, 0), everything(planner)
    of_rules, of_places = (
        replace(planner, loss=loss).optimal_features(θ, which, margin=0.7).value for loss in ("rules", "constituents")
    )
    assert abs(of_rules - of_places) > 0.1


def test_the_best_plan_is_worth_what_its_rules_and_tags_are_and_no_less_than_the_experts(corpus):
    for seed in range(3):
        θ = random_weights(corpus, seed)
        for i in range(0, len(corpus), 5):
            one = np.array([i])
            best = corpus.optimal_features(θ, one)
            assert best.value >= corpus.expert_values(θ, one) - 1e-4
            # as the expert's plan, the best one is worth its rules and its tags: what is left is the lexicon's part
            tags = best.value - float(dense(corpus, best) @ θ)
            row_best = [
                corpus.lexical.score[corpus.lexical.at[row] : corpus.lexical.at[row + 1]].max()
                for row in corpus.words[corpus.at[i] : corpus.at[i + 1]]
            ]
            assert tags <= sum(row_best) + 1e-3


def test_values_are_of_all_weights_also_of_those_that_are_not_learned(planner):
    binary, which = replace(planner, trained="binary"), everything(planner)
    n = binary.size
    assert n == len(planner.grammar.binary)
    θ = random_weights(planner, 2)
    θ[n:] = planner.grammar.weights[n:]
    np.testing.assert_array_equal(binary.weights(θ[:n]), θ)
    assert binary.expert_values(θ[:n], which) == pytest.approx(planner.expert_values(θ, which))
    for run in (
        lambda p, θ: p.expert_features(which),
        lambda p, θ: p.optimal_features(θ, which, margin=0.5),
        lambda p, θ: p.n_best_features(θ, which, 4),
        lambda p, θ: p.expected_features(θ, which),
        lambda p, θ: p.policy_matching(θ, which, 1.0),
    ):
        some, all_of_them = run(binary, θ[:n]), run(planner, θ)
        assert some.value == all_of_them.value
        np.testing.assert_array_equal(dense(binary, some), dense(planner, all_of_them)[:n])


def test_features_of_spans_are_counted_after_the_rules(corpus):
    spans = new_span_rewards(corpus.grammar, corpus.lexical, np.zeros(len(corpus.grammar.symbols)), 1 << 14)
    planner = replace(corpus, spans=spans)
    rules, everyone = corpus.size, everything(planner)
    assert planner.size == rules + len(spans.weights)
    assert not planner.initial()[rules:].any()
    assert planner.fingerprint != corpus.fingerprint
    expert = dense(planner, planner.expert_features(everyone))
    np.testing.assert_array_equal(expert[:rules], dense(corpus, corpus.expert_features(everyone)))
    assert expert[rules:].sum() >= len(TEMPLATES) * len(corpus.gold)  # more where there is a unary rule
    θ = random_weights(planner, 4)
    np.testing.assert_array_equal(planner.weights(θ), θ)
    for i in range(0, len(planner), 6):
        one = np.array([i])
        best, of_expert = planner.optimal_features(θ, one, margin=0.5), dense(planner, planner.expert_features(one))
        assert best.value >= planner.expert_values(θ, one) - 0.5 * of_expert.max() * of_expert.sum()
        towards = np.where(of_expert > 0.0, 1.0 + np.abs(θ), -20.0)  # rewards for which the expert's plan is the best
        towards[:rules] = θ[:rules]
        best = planner.optimal_features(towards, one)
        np.testing.assert_array_equal(dense(planner, best), of_expert)
        assert best.value == pytest.approx(planner.expert_values(towards, one), rel=1e-4)
    one, two = (planner.optimal_features(θ, everyone, margin=0.5, jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(dense(planner, one), dense(planner, two))
    with pytest.raises(ConfigError, match="expected_pass has no span features"):
        planner.expected_features(θ, everyone)


def test_a_tag_that_the_lexicon_does_not_allow_is_impossible(planner):
    lexical = planner.lexical._replace(symbol=np.full_like(planner.lexical.symbol, planner.grammar.number["IN"]))
    assert replace(planner, lexical=lexical).expert_values(planner.initial(), np.array([0])) == -np.inf
    assert planner.expert_values(planner.initial(), np.array([0])) > -np.inf


@pytest.mark.slow
def test_threads_change_nothing(corpus):
    θ, which = random_weights(corpus, 3), everything(corpus)
    for run in (
        lambda jobs: corpus.optimal_features(θ, which, margin=0.5, jobs=jobs),
        lambda jobs: corpus.n_best_features(θ, which, 5, jobs=jobs),
        lambda jobs: corpus.expected_features(θ, which, jobs=jobs),
        lambda jobs: corpus.policy_matching(θ, which, 0.5, jobs=jobs),
    ):
        one, two = run(1), run(2)
        assert one.value == two.value
        np.testing.assert_array_equal(one.at, two.at)
        np.testing.assert_array_equal(one.amount, two.amount)


@pytest.mark.parametrize("setting", [{"trained": "unary"}, {"loss": "hamming"}])
def test_settings_that_there_are_not(planner, setting):
    [name] = setting
    with pytest.raises(ConfigError, match=rf"{name} cannot be '\w+'; it is one of: (binary, all|rules, constituents)"):
        replace(planner, **setting)


# ---- gradients


@pytest.mark.parametrize(
    ("learner", "loss"),
    [
        (PerceptronIRL(), "rules"),
        (MaxMargin(), "rules"),
        (MaxMargin(), "constituents"),
        (MaxMargin(margin=0.3, l2=0.1), "constituents"),
        (PolicyMatching(temperature=1.0), "rules"),
        (PolicyMatching(temperature=0.3, l2=0.1), "rules"),
        (MaxEnt(n_best=0), "rules"),
        (MaxEnt(n_best=0, l2=0.2), "rules"),
        (MaxEnt(n_best=3), "rules"),
    ],
    ids=described,
)
def test_updates_descend_the_dissimilarity(planner, learner, loss):
    """Updates against numerical gradients of the twin's J: its 64 bits allow for small steps, which cross no kinks."""
    planner = replace(planner, loss=loss)
    twin = AllTrees(planner)
    exact = isinstance(learner, MaxEnt)  # charts of sums have 64 bits, those of best values 32
    ε = 1e-6
    for seed in range(2):
        θ = random_weights(planner, seed)
        assert dissimilarity(learner, planner, θ) == pytest.approx(dissimilarity(learner, twin, θ), abs=1e-5)
        numerical = [
            (dissimilarity(learner, twin, θ + ε * e) - dissimilarity(learner, twin, θ - ε * e)) / (2 * ε)
            for e in np.eye(planner.size)
        ]
        assert np.abs(numerical).max() > 0.01
        np.testing.assert_allclose(ascent(learner, planner, θ), -np.array(numerical), atol=1e-7 if exact else 1e-5)


def test_dissimilarities_are_those_of_the_twin(planner, twin):
    for seed, make in enumerate(IRL.values()):
        θ = random_weights(planner, seed)
        assert dissimilarity(make(), planner, θ) == pytest.approx(dissimilarity(make(), twin, θ), abs=1e-5)


# ---- relationships between the methods (§4.4)


@pytest.mark.slow
def test_max_margin_without_loss_is_the_perceptron(corpus):
    for settings in ({}, {"batch": 7, "averaged": True}):
        one, other = MaxMargin(passes=3, margin=0.0, **settings), PerceptronIRL(passes=3, **settings)
        weights = train_irl(one, corpus, seed=1).weights
        np.testing.assert_array_equal(weights, train_irl(other, corpus, seed=1).weights)
        assert not np.array_equal(weights, train_irl(replace(one, margin=0.5), corpus, seed=1).weights)


@pytest.mark.slow
def test_max_margin_with_lambda_1_and_the_steps_of_equation_11_is_the_projection_method(corpus):
    one = MaxMargin(margin=0.0, l2=1.0, step="projection", normalise=False, passes=3)
    np.testing.assert_array_equal(train_irl(one, corpus).weights, train_irl(Projection(passes=3), corpus).weights)


def test_mwal_is_the_exponentiated_perceptron(corpus):
    first = MWAL().first_weights(corpus.initial())
    start = replace(corpus, grammar=corpus.grammar.with_weights(first))
    difference = train_irl(PerceptronIRL(passes=1, **PLAIN), start).weights - first
    found = train_irl(MWAL(passes=1, step_size=0.3, **PLAIN), corpus).weights
    np.testing.assert_allclose(found, first * np.exp(-0.3 * difference), rtol=1e-12)


def test_maxent_among_one_tree_is_the_perceptron_and_among_all_it_is_exact(planner, corpus):
    θ = random_weights(corpus, 4)
    np.testing.assert_array_equal(ascent(MaxEnt(n_best=1), corpus, θ), ascent(PerceptronIRL(), corpus, θ))
    θ = random_weights(planner, 4)
    one, all_trees = (ascent(MaxEnt(n_best=n), planner, θ) for n in (10**4, 0))
    np.testing.assert_allclose(one, all_trees, atol=1e-9)


# ---- learning


@pytest.mark.slow
@pytest.mark.parametrize("trained", ["binary", "all"])
@pytest.mark.parametrize(
    "learner",
    [
        PerceptronIRL(step_size=0.5),
        MaxMargin(step_size=0.5),
        PolicyMatching(step_size=0.5),
        MaxEnt(n_best=0, step_size=0.5),
        MaxEnt(n_best=5, step_size=0.5),
        MWAL(step_size=0.5),
    ],
    ids=described,
)
def test_learning_makes_plans_like_the_experts(planner, learner, trained):
    """Of each dissimilarity less is left, and of the trees more are the expert's than before."""
    planner = replace(planner, trained=trained)
    start, which = planner.initial(), everything(planner)
    before = dissimilarity(learner, planner, start)
    θ = train_irl(replace(learner, passes=25), planner, evaluate=lambda θ: -dissimilarity(learner, planner, θ)).weights
    assert dissimilarity(learner, planner, θ) < before
    np.testing.assert_array_equal(planner.weights(θ)[planner.size :], planner.grammar.weights[planner.size :])

    def distance(θ):
        return np.abs(
            dense(planner, planner.optimal_features(θ, which)) - dense(planner, planner.expert_features(which))
        ).sum()

    assert distance(θ) <= distance(start)


def test_the_projection_method_mixes_plans_until_they_are_like_the_experts(planner):
    """θ is what the mixture of plans lacks, and is not more after any pass (eq. 11, 12)."""
    lacking = [float(np.linalg.norm(train_irl(Projection(passes=k), planner).weights)) for k in range(1, 7)]
    assert lacking[-1] < 1e-6 < lacking[0]
    assert all(after <= before for before, after in pairwise(lacking))


def test_whatever_changes_plans_changes_the_fingerprint(planner):
    others = [
        replace(planner, trained="binary"),
        replace(planner, loss="constituents"),
        replace(planner, lexical=planner.lexical._replace(score=planner.lexical.score + np.float32(1.0))),
        replace(planner, grammar=planner.grammar.with_weights(planner.grammar.weights + 1.0)),
    ]
    assert replace(planner).fingerprint == planner.fingerprint
    assert len({planner.fingerprint, *(other.fingerprint for other in others)}) == 5
