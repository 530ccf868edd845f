"""Charts against all derivations written out, and long ones against a table without tricks."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.naive import (
    INF,
    Problem,
    Shape,
    as_tuples,
    at,
    best_tree_kernel,
    dense_problem,
    fill_kernel,
    filled,
    is_there,
    log_sum_exp,
    logarithms,
    long_problem,
    make,
    new_room,
    outside_kernel,
    plain_chart,
    posteriors,
    problems,
    rewards_of,
    table_of,
)
from tests.examples import examples
from tests.loops import as_loops
from treewright.constituency.charts import outside as outside_module
from treewright.constituency.charts import recurrence
from treewright.constituency.charts.chart import chart_bytes, has, place, row_offsets, value
from treewright.constituency.charts.outside import outside
from treewright.constituency.charts.passes import _log_posteriors
from treewright.constituency.charts.semirings import NEVER
from treewright.constituency.grammar.pcfg import Grammar
from treewright.search import interpreted

some = examples(40)
few = examples(15)
EXACT = {"rel": 1e-10, "abs": 1e-10}
types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def precision(dtype):
    return EXACT if dtype is np.float64 else {"rel": 1e-5, "abs": 1e-5}


def without(found, impossible=-INF):
    return {constituent: v for constituent, v in found.items() if v > impossible}


# ---- Viterbi


@types
@given(problems())
@some
def test_every_value_is_that_of_the_best_derivation(dtype, problem):
    wanted = without({span: problem.maximum(*span) for span in problem.spans})
    chart = filled(problem, dtype)
    assert logarithms(problem, chart) == pytest.approx(wanted, **precision(dtype))
    for span in problem.spans:  # of short sentences, the sets of bits are exact
        assert is_there(chart, *span) == (span in wanted)


@given(problems())
@few
def test_constituents_are_found_where_the_layout_says(problem):
    chart = filled(problem)
    for symbol, start, end in problem.spans:
        here = at(problem, symbol, start, end)
        assert place(chart, symbol, start, end - start) == here
        assert has(chart, symbol, start, end - start) == is_there(chart, symbol, start, end)
        if is_there(chart, symbol, start, end):
            assert value(chart, symbol, start, end - start) == chart.space.values[here]


def test_no_two_places_are_the_same_and_rows_are_whole_blocks():
    for n in (1, 2, 7, 8, 9, 40, 130):
        offsets = row_offsets(n)
        taken = [offsets[width] + start for width in range(1, n + 1) for start in range(n - width + 1)]
        assert len(set(taken)) == n * (n + 1) // 2
        assert max(taken) < offsets[n + 1]
        assert not offsets[1:].astype(int).tolist()[0]
        assert all(offset % 8 == 0 for offset in offsets)
    grammar = Grammar.from_rules([("A", "x", "x", 0.0, 1.0)], [("TOP", "A", (), 0.0, 1.0)])
    room = new_room(Problem(grammar, table_of([[(grammar.number["x"], 0.0)]]), [0] * 30), np.float32)
    assert 0 <= room.values.nbytes + room.starts.nbytes - chart_bytes(3, 30) <= 64


@given(st.lists(problems(), min_size=2, max_size=4))
@few
def test_room_is_used_again_without_a_trace(several):
    """The same room for sentences of all lengths: nothing of an earlier one is seen."""
    for summing in (False, True):
        symbols = max(several, key=lambda problem: len(problem.names))
        room = new_room(symbols, np.float64, summing, n=6)
        room.values[:] = 7.0
        for problem in several:
            fits = room._replace(
                **{k: getattr(room, k)[: len(problem.names)] for k in ("starts", "widths", "minus_widths")}
            )
            used, fresh = filled(problem, summing=summing, space=fits), filled(problem, summing=summing)
            assert logarithms(problem, used, summing) == logarithms(problem, fresh, summing)
            if summing:
                assert posteriors(problem, used)[0] == posteriors(problem, fresh)[0]


# ---- sums


@given(problems())
@some
def test_inside_values_are_sums_over_derivations(problem):
    wanted = without({span: problem.log_sum(*span) for span in problem.spans})
    chart = filled(problem, summing=True)
    assert logarithms(problem, chart, summing=True) == pytest.approx(wanted, **EXACT)
    for start in range(problem.n):  # scaled: the largest number of each span is 1
        for end in range(start + 1, problem.n + 1):
            places = [at(problem, s, start, end) for s in range(len(problem.names)) if is_there(chart, s, start, end)]
            assert not places or max(chart.space.values[here] for here in places) == pytest.approx(1.0)


@given(problems())
@some
def test_inside_times_outside_is_the_posterior(problem):
    probability, counts, log_z = posteriors(problem, filled(problem, summing=True))
    assert log_z == pytest.approx(log_sum_exp([problem.score(tree) for tree in problem.trees]), **EXACT)
    if problem.trees:
        wanted = problem.expected_constituents()
        assert without(probability, 1e-12) == pytest.approx(without(wanted, 1e-12), rel=1e-9, abs=1e-11)
    assert counts == pytest.approx(problem.expected_rules(), rel=1e-9, abs=1e-11)


@given(problems())
@few
def test_expected_rules_are_added(problem):
    chart = filled(problem, summing=True)
    counts, above = np.full(len(problem.weights), 3.0), np.zeros(len(chart.space.values))
    outside_kernel(chart, above, counts, np.zeros(0))
    outside_kernel(chart, above, counts, np.zeros(0))  # reading a chart does not change it
    assert counts == pytest.approx(3.0 + 2.0 * problem.expected_rules(), rel=1e-9, abs=1e-9)


@given(problems())
@some
def test_with_all_scores_0_a_chart_counts(problem):
    table = problem.lexical._replace(score=np.zeros_like(problem.lexical.score))
    counting = Problem(problem.grammar.with_weights(np.zeros(len(problem.weights))), table, problem.words.tolist())
    found = {span: math.exp(v) for span, v in logarithms(counting, filled(counting, summing=True), True).items()}
    assert found == pytest.approx(without({span: problem.count(*span) for span in problem.spans}, 0))


# ---- rewards of constituents in their places, and the beam


@st.composite
def problems_with_rewards(draw):
    problem = draw(problems())
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    chosen = {span: float(rng.normal()) for span in problem.spans if rng.random() < 0.5}
    forbidden = {span: NEVER for span in problem.spans if rng.random() < 0.05}
    return problem, {**chosen, **forbidden} if draw(st.booleans()) else chosen


def rewarded(problem, rewards, derivation):
    return problem.score(derivation) + sum(rewards.get(c, 0.0) for c in problem.constituents(derivation))


@types
@given(problems_with_rewards())
@some
def test_anchored_rewards_are_added_to_constituents_in_their_places(dtype, given):
    problem, rewards = given
    wanted = {}
    for span in problem.spans:
        found = [rewarded(problem, rewards, derivation) for derivation in problem.derivations(*span)]
        if max(found, default=NEVER) > 0.5 * NEVER:
            wanted[span] = max(found)
    chart = filled(problem, dtype, anchored=rewards)
    assert logarithms(problem, chart) == pytest.approx(wanted, **precision(dtype))
    for span in problem.spans:
        assert is_there(chart, *span) == (span in wanted)


@given(problems_with_rewards())
@some
def test_anchored_rewards_in_sums(given):
    problem, rewards = given
    wanted = {}
    for span in problem.spans:
        found = [rewarded(problem, rewards, derivation) for derivation in problem.derivations(*span)]
        if max(found, default=NEVER) > 0.5 * NEVER:
            wanted[span] = log_sum_exp(found)
    chart = filled(problem, summing=True, anchored=rewards)
    assert logarithms(problem, chart, summing=True) == pytest.approx(wanted, **EXACT)


@given(problems_with_rewards())
@some
def test_posteriors_with_anchored_rewards(given):
    """Inside times outside, with the constituents' own rewards in both."""
    plain, rewards = given
    rewards = {span: reward for span, reward in rewards.items() if reward > NEVER}
    problem = Problem(plain.grammar, plain.lexical, plain.words.tolist(), rewards)
    probability, counts, log_z = posteriors(problem, filled(problem, summing=True, anchored=rewards), rewards)
    assert log_z == pytest.approx(log_sum_exp([problem.score(tree) for tree in problem.trees]), **EXACT)
    if problem.trees:
        wanted = problem.expected_constituents()
        assert without(probability, 1e-12) == pytest.approx(without(wanted, 1e-12), rel=1e-9, abs=1e-11)
    assert counts == pytest.approx(problem.expected_rules(), rel=1e-9, abs=1e-11)


@given(problems_with_rewards())
@some
def test_what_is_forbidden_is_in_no_tree(given):
    """Outside values of a chart from which constituents were taken: those of the trees that are left."""
    problem, rewards = given
    rng = np.random.default_rng(len(rewards))
    forbidden = {span: NEVER for span in problem.spans if rng.random() < 0.1}
    left = [tree for tree in problem.trees if not any(c in forbidden for c in problem.constituents(tree))]
    probability, counts, log_z = posteriors(problem, filled(problem, summing=True, anchored=forbidden))
    assert log_z == pytest.approx(log_sum_exp([problem.score(tree) for tree in left]), **EXACT)
    if left:
        wanted = problem.expected_constituents(left)
        assert without(probability, 1e-12) == pytest.approx(without(wanted, 1e-12), rel=1e-9, abs=1e-11)
    assert counts == pytest.approx(problem.expected_rules(left), rel=1e-9, abs=1e-11)


def kept_by_beam(problem, beam, summing, rewards=None):
    """The chart with a beam, by its definition: symbols that start chains are compared with one another, others too."""
    rewards = rewards or {}
    plus = np.logaddexp if summing else max
    kept = defaultdict(lambda: -INF)
    for width in range(1, problem.n + 1):
        for start in range(problem.n - width + 1):
            end = start + width
            here = defaultdict(lambda: -INF)
            if width == 1:
                here.update(problem.tags[start])
            for rule, (parent, left, right) in enumerate(problem.binary):
                for split in range(start + 1, end):
                    both = kept[left, start, split] + kept[right, split, end] + problem.weights[rule]
                    if both > -INF:
                        here[parent] = plus(here[parent], both)
            above = defaultdict(lambda: -INF)
            here = rewarded_here(here, rewards, start, end)
            low = {symbol: v for symbol, v in here.items() if v >= max(here.values()) - beam}
            for rule, (top, bottom) in enumerate(problem.unary):
                if bottom in low:
                    v = low[bottom] + problem.weights[len(problem.binary) + rule]
                    above[top] = plus(above[top], v)
            above = rewarded_here(above, rewards, start, end)
            high = {symbol: v for symbol, v in above.items() if v >= max(above.values()) - beam}
            kept.update({(symbol, start, end): v for symbol, v in {**low, **high}.items()})
    return without(kept)


def rewarded_here(values, rewards, start, end):
    found = {symbol: v + rewards.get((symbol, start, end), 0.0) for symbol, v in values.items()}
    return {symbol: v for symbol, v in found.items() if v > 0.5 * NEVER}


@pytest.mark.parametrize("summing", [False, True])
@given(problems(), st.floats(0.0, 3.0))
@some
def test_the_beam_drops_what_is_worse_than_the_best_of_its_span(summing, problem, beam):
    chart = filled(problem, summing=summing, beam=beam)
    wanted = kept_by_beam(problem, beam, summing)
    assert logarithms(problem, chart, summing) == pytest.approx(wanted, **EXACT)
    for span in problem.spans:
        assert is_there(chart, *span) == (span in wanted)


@given(problems(), st.floats(0.0, 3.0))
@some
def test_what_the_beam_dropped_is_in_no_tree(problem, beam):
    kept = kept_by_beam(problem, beam, summing=True)
    left = [tree for tree in problem.trees if all(c in kept for c in problem.constituents(tree))]
    probability, counts, log_z = posteriors(problem, filled(problem, summing=True, beam=beam))
    assert log_z == pytest.approx(log_sum_exp([problem.score(tree) for tree in left]), **EXACT)
    if left:
        wanted = problem.expected_constituents(left)
        assert without(probability, 1e-12) == pytest.approx(without(wanted, 1e-12), rel=1e-9, abs=1e-11)
    assert counts == pytest.approx(problem.expected_rules(left), rel=1e-9, abs=1e-11)


# ---- max-rule decoding


@given(problems())
@some
def test_max_rule_decoding_finds_the_best_product_of_posteriors(problem):
    """The posterior of a rule in its place: how probable it is that the tree has it there, lexical rules included.

    Posteriors are handed over in 32 bits.
    """
    if not problem.trees:
        return
    probability = problem.posterior()
    of_rule = defaultdict(float)

    def places(tree):
        ends = {(start, end) for *_, start, end in tree}
        for symbol, one, two, start, end in tree:
            if one >= 0:
                yield "unary", one, start, end
            split = max((e for s, e in ends if s == start and e < end), default=None)
            yield ("tag", symbol, start) if two < 0 else ("binary", two, start, split, end)

    for tree, p in zip(problem.trees, probability, strict=True):
        for rule in places(tree):
            of_rule[rule] += p
    products = {tree: sum(math.log(of_rule[rule]) for rule in places(tree)) for tree in problem.trees}

    sums = filled(problem, summing=True)
    above, anchored = np.zeros(len(sums.space.values)), np.zeros(len(sums.space.values))
    log_z = outside_kernel(sums, above, np.zeros(len(problem.weights)), np.zeros(0))
    _log_posteriors(sums, above, anchored)
    rewards = {span: anchored[at(problem, *span)] for span in problem.spans}
    chart = filled(problem, anchored=rewards)
    best = logarithms(problem, chart)[problem.root, 0, problem.n]
    assert best - log_z == pytest.approx(max(products.values()), rel=1e-5, abs=1e-5)
    nodes = np.zeros((2 * problem.n - 1, 5), np.int32)
    best_tree_kernel(chart, problem.root, 0, problem.n, nodes)
    assert products[as_tuples(nodes)] == pytest.approx(max(products.values()), rel=1e-5, abs=1e-5)


# ---- dense grammars


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 9, 24])
def test_charts_of_dense_grammars(dtype, n):
    """Most rules are never applied, and all values are the same."""
    for seed in range(4):
        problem = dense_problem(seed, n)
        assert problem.grammar.rules.dense
        wanted = plain_chart(problem)
        chart = filled(problem, dtype)
        found = logarithms(problem, chart)
        assert found.keys() == {span for span in problem.spans if wanted[span[1], span[2], span[0]] > -INF}
        for (symbol, start, end), v in found.items():
            assert v == pytest.approx(wanted[start, end, symbol], **precision(dtype))
        assert all(is_there(chart, *span) == (span in found) for span in problem.spans)
        nodes = np.zeros((2 * n - 1, 5), np.int32)
        if (problem.root, 0, n) in found:
            best_tree_kernel(chart, problem.root, 0, n, nodes)
            assert problem.score(nodes.tolist()) == pytest.approx(wanted[0, n, problem.root], **precision(dtype))


@pytest.mark.parametrize("beam", [0.0, 1.5, INF])
def test_dense_grammars_with_rewards_and_beams(beam):
    for seed in range(3):
        problem = dense_problem(seed, 8)
        rng = np.random.default_rng(seed)
        rewards = {
            span: NEVER if rng.random() < 0.2 else float(rng.normal()) for span in problem.spans if rng.random() < 0.4
        }
        found = logarithms(problem, filled(problem, anchored=rewards, beam=beam))
        assert found == pytest.approx(kept_by_beam(problem, beam, False, rewards), **EXACT)


# ---- long sentences, and large and small numbers


def compare_with_plain_table(problem, **settings):
    for summing in (False, True):
        wanted = plain_chart(problem, summing)
        chart = filled(problem, summing=summing)
        found = np.full_like(wanted, -INF)
        for (symbol, start, end), v in logarithms(problem, chart, summing).items():
            found[start, end, symbol] = v
        assert (found > -INF).tolist() == (wanted > -INF).tolist()
        there = wanted > -INF
        np.testing.assert_allclose(found[there], wanted[there], **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "n"), [(0, 63), (1, 64), (2, 65), (3, 70)])
def test_sets_of_bits_are_folded_in_long_sentences(seed, n):
    compare_with_plain_table(long_problem(seed, n), rtol=1e-9, atol=1e-9)


@pytest.mark.jit
@pytest.mark.parametrize(("seed", "n"), [(4, 100), (5, 128), (6, 130), (7, 200)])
def test_and_folded_again(seed, n):
    problem = long_problem(seed, n)
    compare_with_plain_table(problem, rtol=1e-9, atol=1e-9)
    coarse = filled(problem, np.float32)
    fine = plain_chart(problem)
    for (symbol, start, end), v in logarithms(problem, coarse).items():
        assert v == pytest.approx(fine[start, end, symbol], rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("n", [30, pytest.param(150, marks=pytest.mark.jit)])
def test_posteriors_of_long_sentences(n):
    """Each word has one tag, and each tree n − 1 binary rules: so must the expectations."""
    for seed in range(3):
        problem = long_problem(seed, n)
        probability, counts, log_z = posteriors(problem, filled(problem, summing=True))
        assert log_z == pytest.approx(plain_chart(problem, True)[0, n, problem.root], rel=1e-9)
        assert counts[: len(problem.binary)].sum() == pytest.approx(n - 1, rel=1e-8)
        for start in range(n):
            tags = [probability.get((tag, start, start + 1), 0.0) for tag in problem.tags[start]]
            assert sum(tags) == pytest.approx(1.0, rel=1e-8)
        assert max(probability.values()) <= 1.0 + 1e-8


def chain(n, weight, score):
    """One tree: a word after the other, each step with the same weight and each word with the same score."""
    grammar = Grammar.from_rules(
        [("A", "x", "A", weight, 1), ("A", "x", "x", weight, 1)], [("TOP", "A", (), weight, 1)]
    )
    return Problem(grammar, table_of([[(grammar.number["x"], score)]]), [0] * n)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [-300.0, -1.0, 0.0, 300.0])
@pytest.mark.parametrize("score", [-1000.0, -90.0, 0.0, 1000.0])
@pytest.mark.parametrize("n", [2, 60])
def test_sums_neither_overflow_nor_vanish(n, weight, score):
    problem = chain(n, weight, score)
    probability, counts, log_z = posteriors(problem, filled(problem, summing=True))
    assert log_z == pytest.approx(n * weight + n * score, rel=1e-12)
    assert counts == pytest.approx([n - 2, 1, 1], rel=1e-9)  # A → x A is before A → x x
    assert all(p == pytest.approx(0.0) or p == pytest.approx(1.0) for p in probability.values())
    wanted = plain_chart(problem)[0, n, problem.root]
    assert logarithms(problem, filled(problem))[problem.root, 0, n] == pytest.approx(wanted, rel=1e-12)


@given(problems(spread=20.0))
@few
def test_scores_that_are_far_apart(problem):
    probability, counts, log_z = posteriors(problem, filled(problem, summing=True))
    assert log_z == pytest.approx(log_sum_exp([problem.score(tree) for tree in problem.trees]), rel=1e-9, abs=1e-9)
    assert counts == pytest.approx(problem.expected_rules(), rel=1e-6, abs=1e-6)
    assert np.isfinite(list(probability.values())).all()


# ---- corners


def test_a_grammar_without_binary_rules_parses_single_words():
    grammar = Grammar.from_rules([], [("TOP", "x", (), -0.5, 1.0), ("TOP", "y", ("A",), -1.5, 1.0)])
    table = table_of([[(grammar.number["x"], -1.0), (grammar.number["y"], -0.25)]])
    one, two = Problem(grammar, table, [0]), Problem(grammar, table, [0, 0])
    assert logarithms(one, filled(one))[one.root, 0, 1] == -1.5
    assert posteriors(one, filled(one, summing=True))[2] == pytest.approx(log_sum_exp([-1.5, -1.75]))
    assert (one.root, 0, 2) not in logarithms(two, filled(two))
    assert posteriors(two, filled(two, summing=True))[2] == -INF


def test_a_word_without_tags_has_no_tree():
    shape = Shape([("A", "x", "x"), ("A", "A", "x")], [("TOP", "A", ())], ["x", ""], [0, 1, 0])
    problem = make(shape, 0)
    assert logarithms(problem, filled(problem)).keys() == {(problem.grammar.number["x"], k, k + 1) for k in (0, 2)}
    assert posteriors(problem, filled(problem, summing=True))[2] == -INF


# ---- compiled and interpreted


interpreted_fill = interpreted(fill_kernel)


@pytest.mark.jit
@types
@given(problems_with_rewards(), st.sampled_from([INF, 1.0]), st.booleans())
@some
def test_compiled_and_interpreted_charts_are_the_same_to_the_bit(dtype, given, beam, with_rewards):
    problem, rewards = given
    rewards = rewards if with_rewards else None
    for summing in (False, True) if dtype is np.float64 else (False,):
        charts = [
            filled(problem, dtype, summing=summing, anchored=rewards, beam=beam, run=run)
            for run in (fill_kernel, interpreted_fill)
        ]
        one, two = (logarithms(problem, chart, summing) for chart in charts)
        if summing:  # exponentials of the two differ in the last bit
            assert one == pytest.approx(two, rel=1e-14, abs=1e-14)
        else:
            assert one == two


@pytest.mark.jit
@types
def test_compiled_and_interpreted_charts_of_dense_grammars_are_the_same(dtype):
    problem = dense_problem(5, 9)
    one, two = (logarithms(problem, filled(problem, dtype, run=run)) for run in (fill_kernel, interpreted_fill))
    assert one == two


@pytest.mark.jit
@given(problems())
@few
def test_compiled_and_interpreted_outside_values_are_the_same(problem):
    chart = filled(problem, summing=True)
    results = []
    for run in (outside_kernel, interpreted(outside_kernel)):
        above, counts = np.zeros(len(chart.space.values)), np.zeros(len(problem.weights))
        results.append((run(chart, above, counts, np.zeros(0)), above, counts))
    (one, above_one, counts_one), (two, above_two, counts_two) = results
    assert one == pytest.approx(two, rel=1e-14)
    np.testing.assert_allclose(above_one, above_two, rtol=1e-12)
    np.testing.assert_allclose(counts_one, counts_two, rtol=1e-12, atol=1e-15)


# ---- in bulk


def random_problems():
    return st.one_of(problems(), st.builds(long_problem, st.integers(0, 99), st.sampled_from([2, 9, 17, 26, 64])))


@pytest.mark.jit
@types
@given(random_problems())
@few
def test_charts_in_bulk_are_those_of_the_loops_to_the_bit(dtype, problem):
    loops = as_loops(fill_kernel, recurrence)
    for summing in (False, True) if dtype is np.float64 else (False,):
        one, two = (filled(problem, dtype, summing=summing, run=run) for run in (loops, interpreted_fill))
        assert logarithms(problem, one, summing) == logarithms(problem, two, summing)  # without the padding
        for name in ("starts", "widths", "minus_widths", "scale"):
            assert np.array_equal(getattr(one.space, name), getattr(two.space, name))


@pytest.mark.jit
@given(
    st.one_of(random_problems(), st.builds(dense_problem, st.integers(0, 9), st.just(20))),
    st.sampled_from([0.0, 1e-3, 0.3]),
)
@few
def test_outside_values_in_bulk_are_those_of_the_loops_to_the_bit(problem, least):
    rng = np.random.default_rng(problem.n)
    for anchored in ({}, {span: float(rng.normal()) for span in problem.spans if rng.random() < 0.3}):
        chart = filled(problem, summing=True, anchored=anchored, run=interpreted_fill)
        rewards, results = rewards_of(problem, anchored), []
        for run in (as_loops(outside, outside_module), interpreted(outside)):
            above = np.zeros(len(chart.space.values))
            results.append((run(chart, above, None, least, rewards), above.tobytes()))
        assert results[0] == results[1]
