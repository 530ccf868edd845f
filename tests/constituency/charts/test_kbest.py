"""The k best trees against all of them, sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.naive import (
    Problem,
    Shape,
    as_tuples,
    filled,
    forest_kernel,
    k_best,
    k_best_kernel,
    long_problem,
    make,
    problems,
)
from tests.examples import examples
from treewright.search import interpreted

some = examples(40)
few = examples(15)


def check(problem, found, k):
    """Best first, all different, all trees of the sentence, and each has the score that its rules add up to."""
    assert [score for score, _ in found] == pytest.approx(problem.best_first[:k], rel=1e-9, abs=1e-9)
    trees = [tree for _, tree in found]
    assert len(set(trees)) == len(trees)
    assert set(trees) <= set(problem.trees)
    assert [score for score, _ in found] == pytest.approx(list(map(problem.score, trees)), rel=1e-9, abs=1e-9)


@given(problems(), st.integers(1, 30))
@some
def test_the_k_best_are_the_first_of_all(problem, k):
    check(problem, k_best(problem, filled(problem), k), k)


@given(problems(most_trees=150))
@some
def test_all_trees_and_not_one_more(problem):
    everything = k_best(problem, filled(problem), len(problem.trees) + 5, nodes=5000)
    assert {tree for _, tree in everything} == set(problem.trees)
    check(problem, everything, len(problem.trees) + 5)
    if problem.trees:
        check(problem, k_best(problem, filled(problem), len(problem.trees), nodes=5000), len(problem.trees))


@given(problems(), st.integers(1, 10))
@few
def test_trees_of_equal_score_are_all_there(problem, k):
    table = problem.lexical._replace(score=np.zeros_like(problem.lexical.score))
    equal = Problem(problem.grammar.with_weights(np.zeros(len(problem.weights))), table, problem.words.tolist())
    check(equal, k_best(equal, filled(equal), k), k)


@given(problems(), st.integers(1, 12))
@some
def test_too_little_room_is_told_and_more_is_enough(problem, k):
    chart = filled(problem)
    wanted = k_best(problem, chart, k)
    outcomes = [k_best(problem, chart, k, nodes=nodes) for nodes in (1, 2, 3, 5, 8, 13, 21, 34, 300)]
    assert outcomes[-1] == wanted
    for outcome in outcomes:  # right, or nothing
        assert outcome is None or outcome == wanted
    is_enough = [outcome is not None for outcome in outcomes]
    assert is_enough == sorted(is_enough)


@given(st.lists(problems(), min_size=2, max_size=4), st.integers(1, 8))
@few
def test_a_forest_is_used_again(several, k):
    """Also after one for which there was too little room."""
    charts = [filled(problem) for problem in several]
    places = max(len(chart.space.values) for chart in charts)
    most = max(several, key=lambda problem: len(problem.binary) * problem.n + len(problem.unary))
    forest = forest_kernel(most.grammar.rules, 200, places, 25, k)
    for problem, chart in [*zip(several, charts, strict=True)] * 2:
        scores, trees = np.zeros(k), np.zeros((k, 2 * problem.n - 1, 5), np.int32)
        found = k_best_kernel(chart, forest, scores, trees)
        assert found in (-1, min(k, len(problem.trees)))
        if found >= 0:
            check(problem, [(scores[t], as_tuples(trees[t])) for t in range(found)], k)


def test_many_derivations_of_one_span():
    """One nonterminal, one tag: Catalan(n − 1) trees, all with rules of the same weight but one."""
    shape = Shape(
        [("A", "A", "A"), ("A", "x", "A"), ("A", "A", "x"), ("A", "x", "x")], [("TOP", "A", ())], ["x"], [0] * 6
    )
    problem = make(shape, 5)
    assert len(problem.trees) == 42
    check(problem, k_best(problem, filled(problem), 100), 100)


@pytest.mark.parametrize("n", [66, pytest.param(120, marks=pytest.mark.jit)])
def test_the_best_trees_of_a_long_sentence(n):
    problem = long_problem(3, n)
    found = k_best(problem, filled(problem), 20, nodes=20000)
    scores = [score for score, _ in found]
    assert len({tree for _, tree in found}) == 20
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx([problem.score(tree) for _, tree in found], rel=1e-9)


@pytest.mark.jit
@given(problems(), st.integers(1, 10))
@few
def test_compiled_and_interpreted_are_the_same(problem, k):
    chart = filled(problem)
    results = []
    for make_forest, run in (
        (forest_kernel, k_best_kernel),
        (interpreted(forest_kernel), interpreted(k_best_kernel)),
    ):
        scores, trees = np.zeros(k), np.zeros((k, 2 * problem.n - 1, 5), np.int32)
        forest = make_forest(chart.rules, problem.n, len(chart.space.values), 500, k)
        results.append((run(chart, forest, scores, trees), scores.tolist(), trees.tolist()))
    assert results[0] == results[1]
