"""Inverse reinforcement learning: gradients, how the methods are related, step sizes by hand, training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest

from tests.learners.plans import Labelling, labelling, right_plans
from treewright.corpora import builtin_corpus
from treewright.dependency import DependencyParser
from treewright.errors import ConfigError, TaskError
from treewright.learners import (
    IRL,
    MWAL,
    DAgger,
    InverseRL,
    MaxEnt,
    MaxMargin,
    PerceptronIRL,
    PolicyMatching,
    Projection,
    dissimilarity,
    irl_table,
    make_learner,
    table,
    train_irl,
)
from treewright.learners.irl import begin, incremental_pass
from treewright.learners.steps import STEPS, make_step
from treewright.search import Features
from treewright.tagging import Tagger

PLAIN = {"step": "constant", "normalise": False}
FREE = [name for name in IRL if name != "projection"]  # in the choice of their steps


@pytest.fixture(scope="module")
def planner():
    """Four sentences whose expert follows hidden rewards, with a fixed lexicon that is no part of them."""
    return labelling(3, fixed=0.5)[0]


def dense(planner, features):
    return np.bincount(features.at, features.amount, planner.size)


def everything(planner):
    return np.arange(len(planner), dtype=np.int64)


def ascent(learner, planner, θ):
    """Δ − λθ, as a plain step of length 1 goes."""
    learner = replace(learner, step="constant", step_size=1.0, normalise=False)
    learned = begin(learner, planner)
    learned.θ[:] = θ
    incremental_pass(learner, planner, learned, 1)
    return learned.θ - θ


def assert_same_training(one, other):
    np.testing.assert_array_equal(one.weights, other.weights)
    assert [replace(row, seconds=0.0) for row in one.history] == [replace(row, seconds=0.0) for row in other.history]


# ---- dissimilarities and their gradients


@pytest.mark.parametrize(
    "learner",
    [
        PerceptronIRL(),
        MaxMargin(margin=0.0),
        MaxMargin(),
        MaxMargin(margin=0.7, l2=0.3),
        PolicyMatching(temperature=1.0),
        PolicyMatching(temperature=0.4, l2=0.1),
        MaxEnt(n_best=0),
        MaxEnt(n_best=0, l2=0.2),
        MaxEnt(n_best=4),
    ],
    ids=str,
)
def test_updates_descend_the_dissimilarity(planner, learner):
    ε = 1e-6
    for seed in range(3):
        θ = np.random.default_rng(seed).normal(size=planner.size)
        numerical = [
            (dissimilarity(learner, planner, θ + ε * e) - dissimilarity(learner, planner, θ - ε * e)) / (2 * ε)
            for e in np.eye(planner.size)
        ]
        assert np.abs(numerical).max() > 1e-3
        np.testing.assert_allclose(ascent(learner, planner, θ), -np.array(numerical), atol=2e-7)


def test_mwal_descends_the_dissimilarity_of_the_perceptron_in_its_own_weights(planner):
    θ = -np.random.default_rng(1).uniform(0.1, 2.0, planner.size)
    learner = MWAL(least=1e-9)
    assert dissimilarity(learner, planner, θ) == dissimilarity(PerceptronIRL(), planner, θ)
    update = learner.compute_update(planner, θ, everything(planner))
    np.testing.assert_allclose(dense(planner, update), -len(planner) * ascent(PerceptronIRL(), planner, θ), atol=1e-12)


def test_dissimilarities_by_hand():
    planner = Labelling([[0, 1]], labels=2, experts=[(0, 1)])
    which, best, expert = everything(planner), (1, 1), (0, 1)
    θ = np.zeros(planner.size)
    θ[1], θ[3] = 3.0, 1.0  # label 1 of word 0, and of word 1
    Φ_E, Φ = planner.plan_features(0, expert), planner.plan_features(0, best)
    assert dissimilarity(PerceptronIRL(), planner, θ) == 3.0 == θ @ (Φ - Φ_E)  # (13)
    assert dissimilarity(Projection(), planner, θ) == 6.0 == (Φ - Φ_E) @ (Φ - Φ_E)  # (9)
    # the best plan shares two features with the expert's: one that this uses once, and the common one, twice in each
    assert dissimilarity(MaxMargin(), planner, θ) == pytest.approx((4.0 - 0.5 * (1 + 2 * 2)) - 1.0)
    assert dissimilarity(MaxMargin(margin=0.0, l2=2.0, l1=0.1), planner, θ) == pytest.approx(3.0 + 10.0 + 0.4)
    assert dissimilarity(MaxEnt(n_best=0), planner, θ) == pytest.approx(
        np.log(np.exp([4.0, 3.0, 1.0, 0.0]).sum()) - 1.0
    )
    assert dissimilarity(MaxEnt(n_best=2), planner, θ) == pytest.approx(np.log(np.exp([4.0, 3.0]).sum()) - 1.0)
    wrong = np.exp(3.0) / (1.0 + np.exp(3.0)), 1.0 / (1.0 + np.exp(1.0))
    assert dissimilarity(PolicyMatching(temperature=1.0), planner, θ) == pytest.approx(wrong[0] ** 2 + wrong[1] ** 2)
    np.testing.assert_array_equal(dense(planner, PerceptronIRL().compute_update(planner, θ, which)), Φ_E - Φ)


def test_the_distance_of_the_projection_method_is_that_of_means(planner):
    θ, which, n = np.random.default_rng(5).normal(size=planner.size), everything(planner), len(planner)
    means = [dense(planner, f) / n for f in (planner.optimal_features(θ, which), planner.expert_features(which))]
    assert dissimilarity(Projection(), planner, θ) == pytest.approx(np.sum((means[0] - means[1]) ** 2))


def test_max_margin_is_negative_exactly_by_the_loss_of_the_expert_where_the_margin_is_kept():
    planner, hidden = labelling(3)
    counts = [planner.plan_features(i, planner.experts[i]) for i in range(len(planner))]
    loss_of_expert = np.mean([f @ f for f in counts])
    assert dissimilarity(MaxMargin(), planner, 1e3 * hidden) == pytest.approx(-0.5 * loss_of_expert)
    assert dissimilarity(MaxMargin(), planner, 0.0 * hidden) > -0.5 * loss_of_expert  # 0 is no solution


def test_all_plans_among_the_n_best_are_the_exact_expectation(planner):
    θ = np.random.default_rng(5).normal(size=planner.size)
    exact = ascent(MaxEnt(n_best=0), planner, θ)
    np.testing.assert_allclose(ascent(MaxEnt(n_best=27), planner, θ), exact, atol=1e-12)
    assert np.abs(ascent(MaxEnt(n_best=2), planner, θ) - exact).max() > 1e-3
    np.testing.assert_allclose(ascent(MaxEnt(n_best=1), planner, θ), ascent(PerceptronIRL(), planner, θ), atol=1e-12)


# ---- relationships between the methods (§4.4)


def test_max_margin_without_loss_and_regularisation_is_the_perceptron(planner):
    for settings in ({}, {"step": "irprop", "step_size": 0.1}, {"batch": 2, "averaged": True}):
        one, other = (make(passes=7, **settings) for make in (MaxMargin, PerceptronIRL))
        same = train_irl(replace(one, margin=0.0), planner, seed=3), train_irl(other, planner, seed=3)
        assert_same_training(*same)
        assert not np.array_equal(train_irl(one, planner, seed=3).weights, same[0].weights)


def test_max_margin_with_lambda_1_and_the_steps_of_equation_11_is_the_projection_method(planner):
    learner = MaxMargin(margin=0.0, l2=1.0, step="projection", normalise=False, passes=9)
    np.testing.assert_array_equal(train_irl(learner, planner).weights, train_irl(Projection(passes=9), planner).weights)


def test_mwal_is_the_exponentiated_perceptron():
    initial = np.log(np.random.default_rng(2).uniform(0.1, 0.9, labelling(3)[0].size))
    planner, _ = labelling(3, initial=initial)
    difference = train_irl(PerceptronIRL(passes=1, **PLAIN), planner).weights - initial
    # the perceptron adds Φ̄_E − Φ̄_θ to scores; MWAL multiplies negated scores with the exponential of its negation
    expected = -np.exp(np.log(-initial) - 0.3 * difference)
    found = train_irl(MWAL(passes=1, step_size=0.3, **PLAIN), planner).weights
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found < 0.0).all()
    regularised = train_irl(MWAL(passes=1, step_size=0.3, l2=0.1, **PLAIN), planner).weights
    np.testing.assert_allclose(regularised, -np.exp(np.log(-initial) - 0.3 * (difference - 0.1 * initial)), rtol=1e-12)


def test_mwal_begins_with_negative_scores_whatever_the_planner_begins_with():
    planner, _ = labelling(3)
    learner = MWAL(least=0.25)
    np.testing.assert_array_equal(begin(learner, planner).θ, -np.ones(planner.size))
    some = np.zeros(planner.size)
    some[:4] = -2.0, -0.1, 0.0, 1.0
    θ = begin(learner, labelling(3, initial=some)[0]).θ
    np.testing.assert_array_equal(θ[:5], [-2.0, -0.25, -0.25, -0.25, -0.25])
    assert (train_irl(MWAL(passes=20), planner).weights < 0.0).all()


def test_the_projection_method_is_that_of_abbeel_and_ng(planner):
    """w = μ_E − μ̄, and μ̄ is projected onto the line to the newest policy's μ (their §3.1)."""
    n, which = len(planner), everything(planner)
    μ_E = dense(planner, planner.expert_features(which)) / n
    μ = dense(planner, planner.optimal_features(planner.initial(), which)) / n
    mixture, w = μ, μ_E - μ
    for passes in range(1, 9):
        np.testing.assert_allclose(train_irl(Projection(passes=passes), planner).weights, w, atol=1e-9)
        μ = dense(planner, planner.optimal_features(w, which)) / n
        line = μ - mixture
        mixture = mixture + (line @ (μ_E - mixture)) / (line @ line) * line
        w = μ_E - mixture


def test_the_projection_method_stays_where_it_has_arrived():
    planner = Labelling([[0]], labels=2, experts=[(0,)])
    trained = train_irl(Projection(passes=4), planner)
    np.testing.assert_array_equal(trained.weights, np.zeros(planner.size))
    assert [row.loss for row in trained.history] == [0.0] * 4


# ---- Algorithm 1


def test_one_step_by_hand(planner):
    θ = np.random.default_rng(4).normal(size=planner.size)
    planner = Labelling(planner.sentences, planner.labels, planner.experts, initial=θ)
    Δ = dense(planner, MaxMargin().compute_update(planner, θ, everything(planner))) / len(planner)
    plain = train_irl(MaxMargin(passes=1, step="constant", step_size=0.2, normalise=False, l2=0.5), planner).weights
    np.testing.assert_allclose(plain, θ + 0.2 * (Δ - 0.5 * θ), atol=1e-12)
    normalised = train_irl(MaxMargin(passes=1, step="constant", step_size=0.2, l2=0.5), planner).weights
    np.testing.assert_allclose(normalised, θ + 0.2 * (Δ / np.linalg.norm(Δ) - 0.5 * θ), atol=1e-12)


def test_an_update_of_length_0_needs_no_normalisation(planner):
    hidden = train_irl(PerceptronIRL(passes=60), planner).weights
    content = Labelling(planner.sentences, planner.labels, planner.experts, initial=hidden)
    content.fixed = planner.fixed
    np.testing.assert_array_equal(train_irl(PerceptronIRL(passes=3), content).weights, hidden)


@pytest.mark.parametrize(("copies", "batch"), [(1, 1), (600, 1), (1200, 1), (1200, 2)])
def test_without_a_step_size_the_steps_of_a_pass_add_up_to_the_same_for_large_corpora(copies, batch):
    small, _ = labelling(3)
    planner = Labelling(small.sentences * copies, small.labels, small.experts * copies)
    actions = planner.expert_features(everything(planner)).amount.sum()
    learner = MaxMargin(step_size=None, normalise=False, batch=batch, passes=1)
    wanted = min(0.2, 2000.0 * batch / actions)
    assert learner.sized(planner).step_size == pytest.approx(wanted)
    assert (wanted < 0.2) == (copies > 1)
    assert learner.sized(planner).sized(planner) == learner.sized(planner)
    one, other = (train_irl(each, small) for each in (learner, learner.sized(small)))
    np.testing.assert_array_equal(one.weights, other.weights)


def test_step_sizes_by_hand():
    Δ = np.array([1.0, -2.0])
    sizes = {name: [make_step(name, 3.0, 2).size(k) for k in (1, 2, 4)] for name in ("constant", "1/k", "1/sqrt(k)")}
    assert sizes["constant"] == [3.0, 3.0, 3.0]
    assert sizes["1/k"] == [3.0, 1.5, 0.75]
    assert sizes["1/sqrt(k)"] == pytest.approx([3.0, 3.0 / np.sqrt(2.0), 1.5])
    np.testing.assert_array_equal(make_step("1/k", 3.0, 2).change(2, Δ, Δ), 1.5 * Δ)
    with pytest.raises(
        ConfigError, match=r"step cannot be '1/k²'; it is one of: constant, 1/k, 1/sqrt\(k\), adagrad, irprop"
    ):
        make_step("1/k²", 1.0, 1)


def test_adagrad_by_hand():
    rule = make_step("adagrad", 0.1, 3)
    d = np.array([3.0, -0.5, 0.0])
    np.testing.assert_allclose(rule.change(1, d, d), [0.1, -0.1, 0.0])
    np.testing.assert_allclose(rule.change(7, np.array([4.0]), np.array([4.0]), np.array([0])), [0.1 * 4.0 / 5.0])
    np.testing.assert_allclose(
        rule.change(7, d - 1.0, d), [0.1 * (3.0 / np.sqrt(34.0) - 1), 0.1 * (-np.sqrt(0.5) - 1), -0.1]
    )
    np.testing.assert_allclose(rule.arrays["squares"], [34.0, 0.5, 0.0])


@pytest.mark.parametrize("l2", [0.0, 0.2])
@pytest.mark.parametrize("batch", [1, 3, None])
def test_adagrad_divides_by_the_updates_of_each_weight(planner, batch, l2):
    learner = MaxMargin(step="adagrad", step_size=0.3, batch=batch, l2=l2, normalise=False, passes=4)
    θ, squares = planner.initial().copy(), np.zeros(planner.size)
    for k in range(1, 5):
        order = np.arange(len(planner))
        if batch is not None:
            order = np.random.default_rng([5, k]).permutation(len(planner))
        for first in range(0, len(planner), batch or len(planner)):
            which = order[first : first + (batch or len(planner))]
            d = dense(planner, learner.compute_update(planner, θ, which)) / len(which)
            squares += d**2
            for i in range(planner.size):
                step = d[i] / np.sqrt(squares[i]) if squares[i] > 0 else 0.0
                θ[i] += 0.3 * (step - l2 * θ[i])
    trained = train_irl(learner, planner, seed=5)
    np.testing.assert_allclose(trained.weights, θ, atol=1e-12)
    assert (squares > 0).any()


def test_the_usual_step_of_adagrad_does_not_depend_on_the_corpus(planner):
    learner = MaxMargin(step="adagrad", step_size=None, batch=1, normalise=False)
    assert learner.sized(planner).step_size == 0.05


def test_irprop_by_hand():
    rule = make_step("irprop", 0.1, 3)
    gradients = [[5.0, 5.0, 0.0], [0.1, -1.0, 2.0], [0.1, -1.0, -2.0], [9.0, -1.0, -2.0], [-1.0, -1.0, -2.0]]
    changes = [rule.change(k + 1, np.array(g), np.array(g)) for k, g in enumerate(gradients)]
    expected = [
        [0.1, 0.1, 0.0],
        [0.12, 0.0, 0.1],  # kept its sign; changed it, so halve the step and rest; was 0
        [0.144, -0.05, 0.0],  # after a rest the step stays as it is
        [0.1728, -0.06, -0.05],
        [0.0, -0.072, -0.06],
    ]
    np.testing.assert_allclose(changes, expected, atol=1e-15)
    for _ in range(60):
        step = rule.change(9, np.ones(3), np.ones(3))
    np.testing.assert_array_equal(step, [50.0] * 3)
    for sign in (1.0, -1.0) * 60:
        rule.change(9, np.full(3, sign), np.ones(3))
    assert rule.arrays["steps"].min() == 1e-6


@pytest.mark.parametrize("step", ["constant", "1/k", "1/sqrt(k)"])
def test_the_step_size_is_that_of_the_pass_also_with_batches(planner, step):
    learner = PerceptronIRL(step=step, batch=1, step_size=0.7)
    for k in (1, 3):
        learned = begin(learner, planner)
        before = learned.θ.copy()
        incremental_pass(replace(learner, batch=None), planner, learned, k)
        α = {"constant": 0.7, "1/k": 0.7 / k, "1/sqrt(k)": 0.7 / np.sqrt(k)}[step]
        assert np.linalg.norm(learned.θ - before) == pytest.approx(α)
        seen = []
        observed = Observed(planner, seen)
        incremental_pass(learner, observed, begin(learner, observed), k)
        lengths = [np.linalg.norm(b - a) for a, b in pairwise(seen)]
        assert all(length == pytest.approx(α) or length == 0.0 for length in lengths)
        assert max(lengths) > 0.0


class Observed:
    """A planner that remembers the weights it was asked about."""

    def __init__(self, planner, seen):
        self._planner, self._seen = planner, seen

    def __getattr__(self, name):
        return getattr(self._planner, name)

    def __len__(self):
        return len(self._planner)

    def optimal_features(self, θ, which, **options):
        self._seen.append(θ.copy())
        return self._planner.optimal_features(θ, which, **options)


@pytest.mark.parametrize(
    "learner",
    [
        PerceptronIRL(passes=5, averaged=True),
        PerceptronIRL(passes=3, averaged=True, batch=1),
        MaxMargin(passes=3, averaged=True, batch=3, l2=0.1),
        MaxMargin(passes=4, averaged=True, l1=0.1),
        MWAL(passes=4, averaged=True, batch=2),
        Projection(passes=4, averaged=True),
    ],
    ids=str,
)
def test_averaging_is_the_mean_of_the_weights_after_each_update(planner, learner):
    seen = []
    trained = train_irl(learner, Observed(planner, seen), seed=2)
    last = train_irl(replace(learner, averaged=False), planner, seed=2).weights
    np.testing.assert_allclose(trained.weights, np.mean([*seen[1:], last], axis=0), atol=1e-12)
    assert sum(row.examples for row in trained.history) == len(seen)
    first = train_irl(replace(learner, passes=1, averaged=True, batch=None), planner).weights
    np.testing.assert_allclose(
        first, train_irl(replace(learner, passes=1, averaged=False, batch=None), planner).weights, atol=1e-12
    )


def test_a_sparse_update_is_what_a_dense_one_is(planner):
    """A tiny penalty makes updates dense."""
    for make in (PerceptronIRL, MWAL, MaxEnt, PolicyMatching):
        sparse = train_irl(make(passes=3, batch=1, averaged=True), planner, seed=1).weights
        found = train_irl(make(passes=3, batch=1, averaged=True, l2=1e-14), planner, seed=1).weights
        np.testing.assert_allclose(sparse, found, atol=1e-9)


@pytest.mark.parametrize("name", FREE)
def test_a_batch_of_everything_is_the_whole_corpus(planner, name):
    learner = make_learner({"name": name, "passes": 4})
    whole = train_irl(learner, planner, seed=1)
    for batch in (len(planner), 1000):
        assert_same_training(whole, train_irl(replace(learner, batch=batch), planner, seed=2))


@pytest.mark.parametrize("name", FREE)
def test_one_seed_gives_the_same_weights_and_another_seed_others(name):
    # experts at random, whom nothing satisfies
    planner, _ = labelling(8, sentences=6)
    rng = np.random.default_rng(0)
    planner.experts = [tuple(rng.integers(0, 3, len(words)).tolist()) for words in planner.sentences]
    learner = make_learner({"name": name, "passes": 2, "batch": 2})
    one, again, other = (train_irl(learner, planner, seed=seed) for seed in (4, 4, 5))
    assert_same_training(one, again)
    assert not np.array_equal(one.weights, other.weights)


def test_batches_are_drawn_anew_in_each_pass(planner):
    drawn = []

    class Watched(Observed):
        def optimal_features(self, θ, which, **options):
            drawn.append(which.tolist())
            return super().optimal_features(θ, which, **options)

    train_irl(PerceptronIRL(passes=6, batch=3), Watched(planner, []))
    assert [len(which) for which in drawn] == [3, 1] * 6
    passes = [a + b for a, b in zip(drawn[::2], drawn[1::2], strict=True)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in passes)
    assert len({tuple(order) for order in passes}) > 1


def test_large_corpora_are_planned_in_shares():
    planner, _ = labelling(1, sentences=300, length=2, words=3, labels=2)
    told = []
    whole = train_irl(PerceptronIRL(passes=2), planner, progress=lambda *what: told.append(what))
    assert told == [("learning", 256, 300), ("learning", 300, 300)] * 2
    assert planner.calls == 4
    Δ = dense(planner, PerceptronIRL().compute_update(planner, planner.initial(), everything(planner)))
    np.testing.assert_allclose(train_irl(PerceptronIRL(passes=1), planner).weights, Δ / np.linalg.norm(Δ), atol=1e-12)
    told.clear()
    train_irl(PerceptronIRL(passes=1, batch=120), planner, progress=lambda *what: told.append(what))
    assert [done for _, done, _ in told] == [120, 240, 300]
    assert len(whole.history) == 2


# ---- regularisation


@pytest.mark.parametrize("name", FREE)
def test_regularisation_shrinks(planner, name):
    free, bound = (train_irl({"name": name, "passes": 15, "l2": λ}, planner).weights for λ in (0.0, 0.3))
    assert np.linalg.norm(bound) < np.linalg.norm(free)


@pytest.mark.parametrize("batch", [None, 2])
def test_l1_gives_zeros(planner, batch):
    def trained(l1):
        learner = MaxEnt(n_best=0, passes=20, normalise=False, l1=l1, batch=batch)
        return train_irl(learner, planner).weights

    free, some, none = (trained(l1) for l1 in (0.0, 0.05, 5.0))
    assert np.count_nonzero(none) == 0
    assert 0 < np.count_nonzero(some) < np.count_nonzero(free)
    assert np.abs(some).sum() < np.abs(free).sum()


def test_a_proximal_step_by_hand(planner):
    θ = np.linspace(-0.1, 0.1, planner.size)
    planner = Labelling(planner.sentences, planner.labels, planner.experts, initial=θ)
    Δ = dense(planner, PerceptronIRL().compute_update(planner, θ, everything(planner))) / len(planner)
    found = train_irl(PerceptronIRL(passes=1, step_size=0.5, step="constant", normalise=False, l1=0.1), planner).weights
    moved = θ + 0.5 * Δ
    expected = [np.sign(m) * (abs(m) - 0.05) if abs(m) > 0.05 else 0.0 for m in moved]
    np.testing.assert_allclose(found, expected, atol=1e-12)


# ---- training


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        pytest.param(name, settings, marks=[pytest.mark.slow] if settings else [])
        for name in IRL
        for settings in (
            {},
            {"batch": 2},
            {"step": "irprop", "step_size": 0.1},
            {"step": "adagrad", "step_size": 0.5, "batch": 2},
            {"averaged": True},
        )
        if name != "projection" or {"batch", "step"}.isdisjoint(settings)  # it determines its own steps
    ],
    ids=str,
)
def test_every_method_finds_an_expert_that_can_be_found(name, settings):
    planner, hidden = labelling(13, sentences=8, length=4, negative=True)
    planner._initial = 0.05 * np.random.default_rng(1).permutation(hidden)
    trained = train_irl({"name": name, "passes": 60, **settings}, planner, evaluate=lambda θ: right_plans(planner, θ))
    before = right_plans(planner, planner.initial())
    best = max(row.score for row in trained.history)
    assert right_plans(planner, trained.weights) == best
    losses = [row.loss for row in trained.history]
    # the Projection method matches counts, and moves on: its weights go to 0 as its mixture comes close
    assert (min(losses) if name == "projection" else losses[-1]) < losses[0]
    assert best > before
    assert best == 1.0 or "averaged" in settings  # means come after


def test_the_dissimilarity_in_the_history_is_that_of_the_weights_before_the_update(planner):
    learner = MaxEnt(n_best=0, passes=3, l2=0.1)
    history = train_irl(learner, planner).history
    for k, row in enumerate(history):
        θ = train_irl(replace(learner, passes=k), planner).weights if k else planner.initial()
        assert row.loss == pytest.approx(dissimilarity(learner, planner, θ), abs=1e-12)


def test_reports_come_as_training_goes_on(planner):
    rows = []
    trained = train_irl("irl-perceptron", planner, report=rows.append)
    assert rows == trained.history
    assert [row.iteration for row in rows] == list(range(1, 101))
    assert {(row.beta, row.decisions, row.examples, row.score, row.best) for row in rows} == {(0.0, 4, 1, None, True)}


def test_the_best_pass_on_development_data_is_kept(planner):
    scores = iter([1.0, 3.0, 3.0, 2.0])
    seen = []

    def evaluate(θ):
        seen.append(θ.copy())
        return next(scores)

    trained = train_irl(MaxEnt(passes=4), planner, evaluate=evaluate)
    np.testing.assert_array_equal(trained.weights, seen[1])
    assert not np.array_equal(seen[1], seen[3])
    assert [row.best for row in trained.history] == [True, True, False, False]
    assert [row.score for row in trained.history] == [1.0, 3.0, 3.0, 2.0]


def test_the_planner_keeps_its_initial_weights(planner):
    initial = np.full(planner.size, -0.5)
    own = Labelling(planner.sentences, planner.labels, planner.experts, initial=initial)
    for name in IRL:
        train_irl({"name": name, "passes": 2}, own)
    np.testing.assert_array_equal(initial, -0.5)


def test_without_any_instance_there_is_nothing_to_learn(planner):
    empty = Labelling(planner.sentences, planner.labels)
    empty.sentences = []
    with pytest.raises(ConfigError, match="nothing to learn from"):
        train_irl("maxent", empty)


# ---- checkpoints

RESUMABLE = {
    "sparse": {"name": "irl-perceptron", "batch": 1, "averaged": True},
    "dense": {"name": "max-margin", "batch": 3, "l2": 0.1, "averaged": True},
    "irprop": {"name": "policy-matching", "step": "irprop", "step_size": 0.1},
    "adagrad": {"name": "max-margin", "step": "adagrad", "step_size": 0.05, "batch": 2, "averaged": True},
    "projection": {"name": "projection"},
    "multiplicative": {"name": "mwal"},
    "l1": {"name": "maxent", "l1": 0.01, "step": "1/k"},
}


@pytest.fixture(params=RESUMABLE.values(), ids=RESUMABLE.keys())
def settings(request):
    return request.param


def test_resumed_training_is_the_same_to_the_bit(planner, settings, tmp_path):
    def trained(passes, **options):
        return train_irl(
            {**settings, "passes": passes}, planner, seed=5, evaluate=lambda θ: right_plans(planner, θ), **options
        )

    whole = trained(5)
    trained(2, checkpoint=tmp_path / "state")
    reported = []
    resumed = trained(5, checkpoint=tmp_path / "state", resume=True, report=reported.append)
    assert [row.iteration for row in reported] == [3, 4, 5]
    assert_same_training(whole, resumed)
    assert_same_training(whole, trained(5, checkpoint=tmp_path / "state", resume=True))
    assert not [*tmp_path.glob("**/*.tmp")]


def test_training_interrupted_in_a_pass_goes_on_from_the_one_before(planner, settings, tmp_path):
    learner = {**settings, "passes": 4}
    finished = 0

    def interrupt(stage, done, total):
        if finished == 2:
            raise KeyboardInterrupt

    def count(row):
        nonlocal finished
        finished = row.iteration

    with pytest.raises(KeyboardInterrupt):
        train_irl(learner, planner, checkpoint=tmp_path, progress=interrupt, report=count)
    resumed = train_irl(learner, planner, checkpoint=tmp_path, resume=True)
    assert_same_training(train_irl(learner, planner), resumed)


def test_resuming_where_nothing_was_saved_begins_at_the_start(planner, tmp_path):
    resumed = train_irl(MaxEnt(passes=2), planner, checkpoint=tmp_path / "new", resume=True)
    assert_same_training(train_irl(MaxEnt(passes=2), planner), resumed)


@pytest.mark.parametrize("other", ["settings", "seed", "labels", "order", "learner", "initial"])
def test_training_with_other_settings_or_data_cannot_be_resumed(planner, tmp_path, other):
    train_irl(MaxEnt(passes=1), planner, checkpoint=tmp_path)
    learner = {"settings": MaxEnt(n_best=2, passes=2), "learner": PerceptronIRL(passes=2)}.get(other, MaxEnt(passes=2))
    if other in ("labels", "order", "initial"):
        renamed = [tuple((label + 1) % 3 for label in plan) for plan in planner.experts]
        reordered = [tuple(reversed(plan)) for plan in planner.experts]
        experts = {"labels": renamed, "order": reordered}.get(other, planner.experts)
        initial = np.ones(planner.size) if other == "initial" else planner.initial()
        planner = Labelling(planner.sentences, planner.labels, experts, initial=initial)
    with pytest.raises(ConfigError, match="belongs to a training with other data or settings"):
        train_irl(learner, planner, seed=int(other == "seed"), checkpoint=tmp_path, resume=True)


def test_training_anew_forgets_its_checkpoint(planner, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    train_irl(MaxEnt(passes=2), planner, checkpoint=tmp_path)
    train_irl(PerceptronIRL(passes=1), planner, checkpoint=tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state.npz", "thesis.tex"]


# ---- settings


@pytest.mark.parametrize("name", IRL)
def test_settings_of_a_learner_make_it_again(name):
    learner = make_learner(name)
    assert isinstance(learner, InverseRL)
    assert (learner.name, learner.passes) == (name, 100)
    assert learner.source
    assert learner.about
    assert make_learner(learner.params()) == learner
    assert make_learner(learner) is learner
    assert name not in [row["learner"] for row in table()]
    assert name in [row["learner"] for row in irl_table()]


def test_the_defaults_are_the_papers():
    assert (MaxMargin().margin, PolicyMatching().temperature, MaxEnt().n_best) == (0.5, 0.1, 50)
    assert all(make().normalise and make().l2 == 0.0 for name, make in IRL.items() if name != "projection")
    assert (Projection().step, Projection().l2, Projection().normalise) == ("projection", 1.0, False)
    assert (MaxEnt(n_best=0).needs, MaxEnt().needs) == ("expected_features", "n_best_features")
    assert make_learner({"name": "Policy_Matching", "step": "irprop"}) == PolicyMatching(step="irprop")


@pytest.mark.parametrize(
    ("name", "settings", "setting", "message"),
    [
        ("irl-perceptron", {"step_size": 0}, "step_size", "above 0, not 0; without a step nothing"),
        ("irl-perceptron", {"step_size": -1.0}, "step_size", "above 0, not -1.0"),
        ("irl-perceptron", {"step_size": float("nan")}, "step_size", "not nan"),
        ("irl-perceptron", {"step_size": float("inf")}, "step_size", "not inf"),
        ("irl-perceptron", {"step_size": "1"}, "step_size", "not '1'"),
        ("irl-perceptron", {"step_size": True}, "step_size", "not True"),
        ("max-margin", {"step_size": None}, "step_size", "must be a number .*: set it, or batch = 1"),
        ("max-margin", {"step_size": None, "batch": 1}, "step_size", "normalise = False"),
        ("irl-perceptron", {"step": "adam"}, "step", r"'adam'.*: constant, 1/k, 1/sqrt\(k\), adagrad, irprop"),
        ("irl-perceptron", {"step": 1.0}, "step", "1.0"),
        ("irl-perceptron", {"passes": 0}, "passes", "a whole number from 1"),
        ("irl-perceptron", {"batch": 0}, "batch", "a whole number from 1"),
        ("irl-perceptron", {"batch": 1.5}, "batch", "a whole number from 1.*None means the whole corpus"),
        ("irl-perceptron", {"l2": -1}, "l2", "at least 0, not -1"),
        ("irl-perceptron", {"l1": -1}, "l1", "at least 0, not -1"),
        ("irl-perceptron", {"step": "irprop", "batch": 3}, "step", "'irprop' compares updates of the whole corpus"),
        ("irl-perceptron", {"step": "irprop", "l1": 0.1}, "l1", "one step size for all weights, not 'irprop'"),
        ("irl-perceptron", {"step": "adagrad", "l1": 0.1}, "l1", "one step size for all weights, not 'adagrad'"),
        ("irl-perceptron", {"step": "projection"}, "step", "'projection' .* l2 = 1 and normalise = False only"),
        ("policy-matching", {"temperature": 0}, "temperature", "above 0, not 0; at 0 .* such as 0.1"),
        ("policy-matching", {"temperature": -0.1}, "temperature", "above 0"),
        ("maxent", {"n_best": -1}, "n_best", "a whole number from 0"),
        ("max-margin", {"margin": -0.5}, "margin", "at least 0, not -0.5"),
        ("mwal", {"l1": 0.1}, "l1", "'mwal'.* cannot make them 0: set l2 instead"),
        ("mwal", {"least": 0.0}, "least", "above 0"),
        ("projection", {"step": "constant"}, "step", r"'constant'.*computes its own step sizes \(eq. 11\)"),
        ("projection", {"l2": 0.5}, "step", "l2 = 1 and normalise = False only"),
        ("projection", {"normalise": True}, "step", "l2 = 1 and normalise = False only"),
        ("projection", {"batch": 2}, "step", "set batch to None"),
        ("irl-perceptron", {"margin": 0.5}, "margin", "'irl-perceptron', which has: passes, patience, step, "),
    ],
)
def test_settings_that_cannot_be_are_refused(name, settings, setting, message):
    with pytest.raises(ConfigError, match=message) as error:
        make_learner({"name": name, **settings})
    assert error.value.setting == setting


def test_old_names_are_known():
    assert make_learner({"name": "perceptron", "iterations": 3}) == PerceptronIRL(passes=3)
    assert make_learner({"name": "max-margin", "loss": 2.0}) == MaxMargin(margin=2.0)


def test_unknown_learners_are_told_all_names():
    with pytest.raises(ConfigError, match=r"'maxint'.*: supervised, .*, max-violation, .*, maxent") as error:
        make_learner("maxint")
    assert (error.value.setting, error.value.value) == ("learner", "maxint")


def test_imitation_and_planning_do_not_mix(planner):
    with pytest.raises(ConfigError, match=r"'dagger' learns from single actions.*: projection, .*, max-margin"):
        train_irl(DAgger(), planner)
    sentences = builtin_corpus(train=5, dev=1, test=1)[0]
    for estimator in (Tagger, DependencyParser):
        for learner in ("maxent", {"name": "max-margin", "l2": 0.1}, MWAL()):
            with pytest.raises(ConfigError, match=r"learns from whole plans.*: supervised, exploration"):
                estimator(learner=learner).fit(sentences)


def test_a_method_of_ones_own_is_known_by_name(monkeypatch, planner):
    @dataclass(frozen=True, kw_only=True)
    class Hopeful(PerceptronIRL):
        name: ClassVar[str] = "hopeful"
        passes: int = 3

        def compute_update(self, planner, θ, which, jobs=1):
            return planner.expert_features(which)

    monkeypatch.setitem(IRL, "hopeful", Hopeful)
    assert make_learner("hopeful") == Hopeful(passes=3)
    trained = train_irl({"name": "hopeful", "step": "constant", "normalise": False}, planner)
    expected = 3.0 * dense(planner, planner.expert_features(everything(planner))) / len(planner)
    np.testing.assert_allclose(trained.weights, expected)


def test_the_command_line_lists_them(capsys):
    from treewright.cli.learners import learners

    learners(as_json=False)
    text = capsys.readouterr().out
    assert all(name in text for name in IRL)


# ---- trouble


def test_weights_that_grow_beyond_all_numbers_are_told_so(planner):
    with pytest.raises(ConfigError, match=r"step_size 1e\+06 .*'mwal': in pass 1"):
        train_irl(MWAL(step_size=1e6, step="constant"), planner)


class Partial:
    """A planner without n-best lists."""

    size = 1

    def __len__(self):
        return 1


def test_a_planner_that_cannot_do_what_a_learner_needs():
    with pytest.raises(ConfigError, match="'maxent' needs a planner that has n_best_features, which Partial has not"):
        train_irl("maxent", Partial())


@pytest.mark.parametrize(
    ("at", "amount", "value", "message"),
    [
        (99, 1.0, 0.0, r"the planner has \d+ weights, but .*features"),
        (-1, 1.0, 0.0, r"the planner has \d+ weights, but .*features"),
        (0, np.nan, 0.0, "at instances 0 to 3 values are not finite numbers"),
        (0, 1.0, np.inf, "at instances 0 to 3 values are not finite numbers"),
    ],
)
def test_what_a_planner_must_not_do(planner, monkeypatch, at, amount, value, message):
    found = Features(np.array([at]), np.array([amount]), value)
    monkeypatch.setattr(planner, "policy_matching", lambda *_, **__: found)
    with pytest.raises(TaskError, match=message):
        train_irl("policy-matching", planner)


def test_a_planner_must_begin_with_as_many_weights_as_it_has(planner):
    wrong = Labelling(planner.sentences, planner.labels, planner.experts, initial=np.zeros(3))
    with pytest.raises(TaskError, match=r"has \d+ weights, but .* \(3,\)"):
        train_irl("irl-perceptron", wrong)


def test_every_rule_has_a_name():
    assert list(STEPS) == ["constant", "1/k", "1/sqrt(k)", "adagrad", "irprop", "projection"]
