"""The best trees, covers and the gradient of Policy Matching, against all derivations written out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.constituency.naive import (
    INF,
    as_tuples,
    best_tree_kernel,
    cover_kernel,
    filled,
    first_action,
    is_there,
    literally,
    logarithms,
    long_problem,
    plain_chart,
    policy_kernel,
    problems,
)
from tests.examples import examples
from treewright.constituency.charts.derivations import best_action
from treewright.search import interpreted

some = examples(40)
few = examples(15)


def best_of(problem, chart, symbol, start, end, run=best_tree_kernel):
    nodes = np.full((2 * (end - start), 5), -9, np.int32)
    filled_nodes = run(chart, symbol, start, end - start, nodes)
    assert filled_nodes == 2 * (end - start) - 1
    assert (nodes[filled_nodes:] == -9).all()
    return as_tuples(nodes[:filled_nodes])


# ---- viterbiParse


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(problems())
@some
def test_the_best_tree_of_every_constituent(dtype, problem):
    chart = filled(problem, dtype)
    for span in problem.spans:
        if is_there(chart, *span):
            found = best_of(problem, chart, *span)
            assert found in problem.derivations(*span)
            assert problem.score(found) == pytest.approx(problem.maximum(*span), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("n", [66, pytest.param(140, marks=pytest.mark.jit)])
@pytest.mark.parametrize("seed", [1, 3])
def test_the_best_tree_of_a_long_sentence(seed, n):
    problem = long_problem(seed, n)
    best = plain_chart(problem)[0, n, problem.root]
    assert best > -INF
    tree = best_of(problem, filled(problem), problem.root, 0, n)
    assert problem.score(tree) == pytest.approx(best, rel=1e-9)
    assert sum(node[2] < 0 for node in tree) == n
    for k, (symbol, one, two, start, end) in enumerate(tree):
        assert one < 0 or problem.unary[one][1] == symbol
        if two >= 0:  # the left child is the next node, and the right one begins where that ends
            left = tree[k + 1]
            right = next(node for node in tree[k + 2 :] if node[3] == left[4])
            tops = [problem.unary[node[1]][0] if node[1] >= 0 else node[0] for node in (left, right)]
            assert (symbol, *tops) == problem.binary[two]
            assert (left[3], right[4]) == (start, end)


@given(problems())
@few
def test_the_best_action_is_the_first_step_of_a_best_tree(problem):
    chart = filled(problem)
    run = interpreted(best_action)
    for symbol, start, end in problem.spans:
        if is_there(chart, symbol, start, end):
            rule, split = run(chart, symbol, start, end - start)
            if symbol in problem.tops:
                action = "unary", rule
                assert split == 0
            elif end - start > 1:
                action = "binary", rule, start + split
            else:
                action = ("lexical",)
                assert rule == -1
            derivations = problem.derivations(symbol, start, end)
            best = max(problem.score(d) for d in derivations if first_action(problem, symbol, d) == action)
            assert best == pytest.approx(problem.maximum(symbol, start, end), rel=1e-9, abs=1e-9)


# ---- covers


def every_cover(n):
    """All ways to cut a sentence into pieces."""
    for pieces in range(1, n + 1):
        for cuts in combinations(range(1, n), pieces - 1):
            yield list(zip((0, *cuts), (*cuts, n), strict=True))


@given(problems(), st.integers(0, 10**6))
@some
def test_a_cover_has_the_fewest_pieces_and_the_best_of_these(problem, seed):
    rng = np.random.default_rng(seed)
    eligible = rng.random(len(problem.names)) < 0.5
    eligible[list(problem.grammar.tags.values())] = True
    chart = filled(problem)
    values = logarithms(problem, chart)
    best = {}
    for (symbol, start, end), v in values.items():
        if eligible[symbol]:
            best[start, end] = max(best.get((start, end), (-INF, 0)), (v, symbol))
    whole = [pieces for pieces in every_cover(problem.n) if all(piece in best for piece in pieces)]
    fewest = min(map(len, whole))
    wanted = max(sum(best[piece][0] for piece in pieces) for pieces in whole if len(pieces) == fewest)
    pieces = np.zeros((problem.n, 3), np.int64)
    count = cover_kernel(chart, eligible, pieces)
    assert count == fewest
    assert [(start, end) for _, start, end in pieces[:count].tolist()] in whole
    assert sum(values[tuple(piece)] for piece in pieces[:count].tolist()) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [70])
def test_a_cover_of_a_long_sentence_has_pieces_that_are_there(n):
    for seed in range(4):
        problem = long_problem(seed, n)
        eligible = np.array([name in ("A", "B", "C", "x", "y") for name in problem.names])
        pieces = np.zeros((n, 3), np.int64)
        values = plain_chart(problem)
        found = pieces[: cover_kernel(filled(problem), eligible, pieces)].tolist()
        assert [start for _, start, _ in found] == [0, *(end for *_, end in found[:-1])]
        assert found[-1][2] == n
        assert all(values[start, end, symbol] > -INF and eligible[symbol] for symbol, start, end in found)


# ---- Algorithm 5


def by_kernel(problem, gold, temperature, dtype=np.float64, run=policy_kernel):
    chart = filled(problem, dtype)
    pull, gradient = np.full(len(chart.space.values), 99.0), np.zeros(len(problem.weights))
    return run(chart, np.array(gold, np.int32), temperature, pull, gradient), gradient


@st.composite
def problems_with_gold(draw):
    problem = draw(problems().filter(lambda problem: problem.trees))
    return problem, problem.trees[draw(st.integers(0, len(problem.trees) - 1))]


@given(problems_with_gold(), st.sampled_from([0.1, 1.0, 3.0]))
@some
def test_the_gradient_of_policy_matching_is_that_of_the_paper(given, temperature):
    problem, gold = given
    j, gradient = by_kernel(problem, gold, temperature)
    wanted_j, wanted = literally(problem, gold, temperature)
    assert j == pytest.approx(wanted_j, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-7, atol=1e-9)


@given(problems_with_gold())
@few
def test_the_gradient_in_32_bits(given):
    problem, gold = given
    j, gradient = by_kernel(problem, gold, 1.0, np.float32)
    wanted_j, wanted = literally(problem, gold, 1.0)
    assert j == pytest.approx(wanted_j, rel=1e-4, abs=1e-5)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-4)


@given(problems_with_gold())
@few
def test_it_is_the_gradient_of_j(given):
    """Where the best derivations are unique: elsewhere J has kinks."""
    problem, gold = given
    for span in problem.spans:
        scores = sorted((problem.score(d) for d in problem.derivations(*span)), reverse=True)
        assume(len(scores) < 2 or scores[0] - scores[1] > 1e-3)
    _, gradient = by_kernel(problem, gold, 1.0)
    step = 1e-5
    for k in range(len(problem.weights)):
        shift = np.zeros(len(problem.weights))
        shift[k] = step
        above, below = (by_kernel(problem.with_weights(problem.weights + s), gold, 1.0)[0] for s in (shift, -shift))
        assert -gradient[k] == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-6)


@given(problems_with_gold())
@few
def test_an_expert_whose_action_was_dropped_has_probability_0(given):
    """With a beam, the expert's action may be missing: its part of J is what the others took, and 1/2."""
    problem, gold = given
    chart = filled(problem, beam=0.0)
    pull, gradient = np.zeros(len(chart.space.values)), np.zeros(len(problem.weights))
    j = policy_kernel(chart, np.array(gold, np.int32), 1.0, pull, gradient)
    assert np.isfinite(gradient).all()
    states = sum((one >= 0) + (two >= 0) for _, one, two, _, _ in gold)
    assert 0.0 <= j <= states + 1e-9


@pytest.mark.jit
@given(problems_with_gold())
@few
def test_compiled_and_interpreted_are_the_same(given):
    problem, gold = given
    one, two = (by_kernel(problem, gold, 0.5, run=run) for run in (policy_kernel, interpreted(policy_kernel)))
    assert one[0] == pytest.approx(two[0], rel=1e-12)
    np.testing.assert_allclose(one[1], two[1], rtol=1e-9, atol=1e-12)
    chart = filled(problem)
    whole = problem.root, 0, problem.n
    assert best_of(problem, chart, *whole) == best_of(problem, chart, *whole, run=interpreted(best_tree_kernel))
