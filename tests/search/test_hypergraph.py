"""Hypergraphs against the enumeration of all derivations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.search import naive_hypergraph as naive
from treewright.search.compiling import interpreted
from treewright.search.forests import (
    Batch,
    HypergraphPlanner,
    best_pass,
    expected_pass,
    matching_pass,
    n_best_pass,
    pack_graphs,
)
from treewright.search.hypergraph import Hypergraph

MOST = 3000  # derivations


@st.composite
def graphs(draw):
    """A graph with gaps between its places, nodes in any order of places, and fans of all kinds; not too large."""
    size, parts = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    order = draw(st.permutations(range(size + 2)))[:size]
    places = size + 2
    fans, fans_at, total = [], [0], {places: 1}
    for m, place in enumerate(order):
        total[place] = 0
        for _ in range(draw(st.integers(1, 2))):
            count = draw(st.integers(1, 3))
            columns = []
            for _ in range(2):
                start, step = draw(st.sampled_from([*order[:m], places])), draw(st.integers(-2, 2))
                if not all(start + k * step in order[:m] for k in range(count)):
                    step = 0
                columns += [start, step]
            part, step = draw(st.integers(0, parts)), draw(st.integers(-1, 1))
            if not 0 <= part + (count - 1) * step <= parts:
                step = 0
            fans.append([*columns, part, step, count])
            for k in range(count):
                total[place] += total[columns[0] + k * columns[1]] * total[columns[2] + k * columns[3]]
        fans_at.append(len(fans))
    assume(all(n <= MOST for n in total.values()))
    ints = [np.array(values, np.int32) for values in (order, fans_at, fans)]
    return Hypergraph(*ints, places, parts)


@st.composite
def forests(draw):
    """Some graphs, and scores of their parts."""
    some = draw(st.lists(graphs(), min_size=1, max_size=2))
    score = st.floats(-3.0, 3.0, allow_subnormal=False)
    scores = [np.array([*draw(st.lists(score, min_size=g.parts, max_size=g.parts)), 0.0]) for g in some]
    return some, scores


def batch_of(some, scores, gold=None):
    gold = gold or [[] for _ in some]
    at = np.cumsum([0, *map(len, scores)], dtype=np.int64)
    parts = np.array([part for row in gold for part in row], np.int32)
    gold_at = np.cumsum([0, *map(len, gold)], dtype=np.int64)
    return Batch(np.arange(len(some)), np.concatenate(scores), at, parts, gold_at)


def run(kernel, some, scores, *args, gold=None, shape=()):
    """The weights of the parts of each graph, and the values."""
    batch = batch_of(some, scores, gold)
    weights, totals = np.zeros(len(batch.scores)), np.zeros((len(some), *shape))
    kernel(pack_graphs(some), batch, *args, weights, totals)
    return [weights[a : b - 1] for a, b in zip(batch.at[:-1], batch.at[1:], strict=True)], totals


@given(forests())
@examples(60)
def test_best_derivation(forest):
    some, scores = forest
    weights, totals = run(best_pass, some, scores)
    for i, graph in enumerate(some):
        best, value = naive.naive_best(graph, scores[i])
        assert totals[i] == pytest.approx(value)
        assert totals[i] == pytest.approx(naive.naive_values(graph, scores[i])[0])
        assert weights[i].tolist() == naive.counts(graph, best).tolist()


@given(forests())
@examples(60)
def test_expected_parts(forest):
    some, scores = forest
    weights, totals = run(expected_pass, some, scores)
    for i, graph in enumerate(some):
        expected, log_z = naive.naive_expected(graph, scores[i])
        assert totals[i] == pytest.approx(log_z)
        assert weights[i] == pytest.approx(expected, abs=1e-9)


@given(forests(), st.sampled_from([1, 2, 7, 50]))
@examples(60)
def test_n_best(forest, n):
    some, scores = forest
    weights, best = run(n_best_pass, some, scores, n, shape=(n,))
    for i, graph in enumerate(some):
        wanted = naive.naive_values(graph, scores[i], n)
        assert best[i, : len(wanted)] == pytest.approx(wanted)
        assert (best[i, len(wanted) :] == -math.inf).all()
        every = naive.naive_values(graph, scores[i])
        if len(every) <= n or every[n - 1] > every[n] + 1e-9:  # else it is open which ones are the n best
            assert weights[i] == pytest.approx(naive.naive_expected(graph, scores[i], n)[0], abs=1e-9)


@given(forests(), st.sampled_from([0.5, 1.0, 3.0]), st.data())
@examples(60)
def test_policy_matching(forest, temperature, data):
    some, scores = forest
    gold = [data.draw(st.lists(st.integers(0, graph.parts - 1), unique=True)) for graph in some]
    weights, totals = run(matching_pass, some, scores, temperature, gold=gold)
    for i, graph in enumerate(some):
        marks = np.zeros(graph.parts)
        marks[gold[i]] = 1.0
        expert, _ = naive.naive_best(graph, marks)
        Δ, J = naive.naive_matching(graph, scores[i], expert, temperature)
        assert totals[i] == pytest.approx(J, abs=1e-9)
        assert weights[i] == pytest.approx(Δ, abs=1e-9)


@pytest.mark.parametrize(
    ("kernel", "arguments", "sign"),
    [(best_pass, (), 1.0), (expected_pass, (), 1.0), (matching_pass, (0.7,), -1.0)],
)
def test_weights_are_gradients_of_values(kernel, arguments, sign):
    """Of log Z, of the best value, and (with a minus) of J: eq. 18 is the direction in which it falls."""
    graph, random = chain(3, 3), np.random.default_rng(3)
    scores, gold = [np.append(random.normal(size=graph.parts), 0.0)], [[9, 13, 17]]
    weights, _ = run(kernel, [graph], scores, *arguments, gold=gold)
    for part in range(graph.parts):
        values = []
        for change in (1e-5, -1e-5):
            changed = scores[0].copy()
            changed[part] += change
            values.append(run(kernel, [graph], [changed], *arguments, gold=gold)[1][0])
        assert sign * weights[0][part] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


def chain(n, labels):
    from treewright.tagging.viterbi import labelling_graph

    return labelling_graph(n, labels)


def test_many_best_of_a_longer_chain():
    """All 4⁵ labellings in order, and more than there are: more candidates than there is room for at first."""
    graph, random = chain(5, 4), np.random.default_rng(1)
    scores = [np.append(random.normal(size=graph.parts), 0.0)]
    weights, best = run(n_best_pass, [graph], scores, 1100, shape=(1100,))
    assert best[0, :1024] == pytest.approx(naive.naive_values(graph, scores[0]))
    assert (best[0, 1024:] == -math.inf).all()
    assert weights[0] == pytest.approx(naive.naive_expected(graph, scores[0])[0])


@pytest.mark.jit
@pytest.mark.parametrize(
    ("kernel", "arguments", "shape"),
    [(best_pass, (), ()), (n_best_pass, (9,), (9,)), (expected_pass, (), ()), (matching_pass, (0.7,), ())],
)
def test_compiled_and_interpreted_are_the_same(kernel, arguments, shape):
    graph, random = chain(4, 3), np.random.default_rng(7)
    scores, gold = [np.append(random.normal(size=graph.parts), 0.0)] * 2, [[15, 19, 21, 24], [17, 18, 22, 25]]
    found = [run(k, [graph, graph], scores, *arguments, gold=gold, shape=shape) for k in (kernel, interpreted(kernel))]
    for (one, totals), (two, others) in [found]:
        assert np.concatenate(one) == pytest.approx(np.concatenate(two), abs=1e-12)
        assert totals == pytest.approx(others, abs=1e-12)


class Plain(HypergraphPlanner):
    """A planner whose parts are the features, two instances a graph."""

    def score(self, θ, which, at, scores):
        for k in range(len(which)):
            scores[at[k] : at[k + 1] - 1] = θ

    def collect(self, which, at, weights, sums):
        for k in range(len(which)):
            for part, weight in enumerate(weights[at[k] : at[k + 1] - 1]):
                if weight and not sums.touched[part]:
                    sums.touched[part] = True
                    sums.places[sums.size[0]] = part
                    sums.size[0] += 1
                sums.totals[part] += weight


@pytest.fixture(scope="module")
def planner():
    graph, random = chain(2, 2), np.random.default_rng(5)
    labels = random.integers(0, 2, (40, 2))
    pairs = [[4 + a, 2 * b + a, 6 + b, 8 + a, 10 + b] for a, b in labels]
    gold, gold_at = np.array(pairs, np.int32).reshape(-1), 5 * np.arange(41)
    anchors = np.array(pairs, np.int32)[:, 3:].reshape(-1), 2 * np.arange(41)
    return Plain(graph.parts, [graph], np.zeros(40, np.int64), gold, gold_at, anchors)


@pytest.mark.parametrize(
    "ask",
    [
        lambda p, θ, which, jobs: p.optimal_features(θ, which, margin=0.5, jobs=jobs),
        lambda p, θ, which, jobs: p.expected_features(θ, which, jobs=jobs),
        lambda p, θ, which, jobs: p.n_best_features(θ, which, 3, jobs=jobs),
        lambda p, θ, which, jobs: p.policy_matching(θ, which, 0.5, jobs=jobs),
    ],
)
def test_sums_do_not_depend_on_threads(planner, ask):
    θ, which = np.random.default_rng(2).normal(size=planner.size), np.arange(40)
    once, twice = ask(planner, θ, which, 1), ask(planner, θ, which, 2)
    assert once.at.tolist() == twice.at.tolist()
    assert once.amount.tobytes() == twice.amount.tobytes()
    assert once.value == twice.value


def test_loss_makes_the_experts_plan_less_attractive(planner):
    θ = np.zeros(planner.size)
    assert planner.optimal_features(θ, np.arange(40)).value == 0.0
    assert planner.optimal_features(θ, np.arange(40), margin=1.0).value == 0.0, "there is a plan that shares nothing"
    θ[planner.expert_features(np.arange(1)).at] = 10.0
    free, charged = (planner.optimal_features(θ, np.arange(1), margin=margin).value for margin in (0.0, 1.0))
    assert free - charged == 2.0, "one for each of the two words"


def test_expert_features_and_values(planner):
    θ = np.random.default_rng(4).normal(size=planner.size)
    which = np.array([3, 7, 3])
    gold, at = planner.gold
    parts = np.concatenate([gold[at[i] : at[i + 1]] for i in which])
    features = planner.expert_features(which)
    dense = np.zeros(planner.size)
    np.add.at(dense, features.at, features.amount)
    assert dense.tolist() == np.bincount(parts, minlength=planner.size).tolist()
    assert planner.expert_values(θ, which) == pytest.approx(θ[parts].sum())
    assert features.value == 0.0
