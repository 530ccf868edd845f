"""The agenda parser against CKY, and against its plain twin, pop by pop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.agenda.naive_agenda import PlainAgenda, environment, plain_features
from tests.constituency.naive import Problem, long_problem, plain_chart, problems, table_of
from tests.examples import examples
from tests.loops import as_loops
from treewright.constituency.agenda import parser, passes, search
from treewright.constituency.agenda.features import FEATURES
from treewright.constituency.agenda.passes import agenda_pass
from treewright.constituency.charts.spans import ends_of, span_of
from treewright.constituency.grammar.pcfg import Grammar
from treewright.search import interpreted

some = examples(25)
EXACT = {"rel": 1e-5, "abs": 1e-5}  # the lexicon's scores have 32 bits
seeds = st.integers(0, 1000)
thresholds = st.sampled_from([0.0, 0.5, 2.0, math.inf])


def as_items(environment, pops):
    return [(environment.parser.grammar.number[pop.symbol], pop.start, pop.end) for pop in pops]


def parsable(**options):
    return problems(**options).filter(lambda problem: problem.trees)


@given(parsable(), seeds)
@some
def test_by_inside_scores_the_first_parse_is_a_best_one(problem, seed):
    found = environment(problem, seed)
    parses = found.parse(found.initial(), [0])
    assert parses.whole[0]
    assert problem.is_valid(parses.derivations[0])
    assert parses.scores[0] == pytest.approx(problem.best_first[0], **EXACT)
    assert problem.score([tuple(node) for node in parses.derivations[0].tolist()]) == pytest.approx(parses.scores[0])


def test_a_unary_rule_above_0_may_make_up_for_a_worse_inside_score():
    """B is worse than A, until the unary rule above it brings 5 more: a parse of A must wait for it."""
    rules = [("A", "x", "x", -1.0, 1.0), ("B", "x", "x", -4.0, 1.0)]
    chains = [("TOP", "A", (), 0.0, 1.0), ("TOP", "B", (), 5.0, 1.0)]
    grammar = Grammar.from_rules(rules, chains)
    problem = Problem(grammar, table_of([[(grammar.number["x"], -1.0)]]), [0, 0])
    found = environment(problem)
    parses = found.parse(found.initial(), [0])
    assert grammar.symbols[parses.derivations[0][0][0]] == "B"
    assert parses.scores[0] == pytest.approx(-1.0) == problem.best_first[0]


@given(parsable(), seeds, thresholds, st.sampled_from(["inside", "any"]))
@some
def test_it_pops_what_its_twin_pops(problem, seed, Δ, kind):
    """Whatever the priorities are: also such as rise from parts to wholes, so that what is in the chart improves."""
    found = environment(problem, seed, max_gap=Δ)
    θ = found.initial()
    if kind == "any":
        θ = np.random.default_rng(seed).normal(0.0, 1.0, found.size)

    def priority(item, score):
        return float(θ @ plain_features(problem, found, item, score))

    twin = PlainAgenda(problem, priority, Δ)
    parses, pops = found.parse(θ, [0]), found.pops(θ, 0)
    for item in as_items(found, pops):  # equal priorities may differ in their last bits, and either may come first
        assert twin.agenda[item] == pytest.approx(twin.agenda[twin.best_item()], rel=1e-9, abs=1e-9)
        twin.pop(item)
    assert twin.is_over
    assert (parses.pops[0], parses.pushes[0]) == (len(twin.popped), twin.pushes)
    assert parses.whole[0] == (twin.goal in twin.popped)
    assert len(set(as_items(found, pops))) == len(pops) <= found.bound(0)


@given(parsable(), seeds)
@some
def test_every_priority_ends_with_a_parse_if_there_is_one(problem, seed):
    found = environment(problem, seed)
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1.0, 1e6, 1e300):
        parses = found.parse(rng.normal(0.0, scale, found.size), [0])
        assert parses.whole[0]
        assert problem.is_valid(parses.derivations[0])


@given(parsable(most_words=5), seeds)
@some
def test_iterative_deepening_finds_a_parse_and_counts_all_its_pops(problem, seed):
    found = environment(problem, seed, max_gap=0.05)
    once, again = found.parse(found.initial(), [0]), found.parse(found.initial(), [0], growth=2.0)
    assert again.whole[0]
    assert again.pops[0] >= once.pops[0]
    Δ, pops = 0.05, 0
    while True:
        attempt = environment(problem, seed, max_gap=Δ).parse(found.initial(), [0])
        pops += attempt.pops[0]
        if attempt.whole[0]:
            break
        Δ *= 2.0
    assert (pops, attempt.scores[0]) == (again.pops[0], again.scores[0])


@given(parsable(), seeds)
@some
def test_with_pruning_a_parse_is_no_better_and_pops_are_no_more(problem, seed):
    exact, pruned = environment(problem, seed), environment(problem, seed, max_gap=1.0)
    one, two = (each.parse(each.initial(), [0]) for each in (exact, pruned))
    if two.whole[0]:
        assert two.scores[0] <= one.scores[0] + 1e-9
        assert two.pops[0] <= one.pops[0] + len(problem.names)  # and what was pushed before better ones were known


@pytest.mark.jit
def test_long_sentences():
    """More than 64 words: sets of places have several words of bits."""
    problem = long_problem(3, 70)
    found = environment(problem, gold="flat")
    parses = found.parse(found.initial(), [0])
    assert parses.scores[0] == pytest.approx(plain_chart(problem)[0, problem.n, problem.root], rel=1e-5)


# ---- bad input


def test_a_sentence_without_a_parse_is_covered():
    rules = [("A", "x", "y", -1.0, 1.0), ("B", "z", "A", -1.0, 1.0)]
    grammar = Grammar.from_rules(rules, [("TOP", "B", (), -1.0, 1.0)])
    n = grammar.number
    lexical = table_of([[(n["x"], -1.0)], [(n["y"], -1.0)], [(n["z"], -1.0)]])
    problem = Problem(grammar, lexical, [2, 0, 1, 0, 1])  # z x y x y: B needs nothing behind it
    found = environment(problem, gold="flat")
    for θ in (found.initial(), -found.initial(), np.zeros(found.size)):
        parses = found.parse(θ, [0])
        assert not parses.whole[0]
        assert parses.pops[0] <= found.bound(0)
        covered = [(grammar.symbols[s], start, end) for s, _, _, start, end in parses.derivations[0].tolist()]
        whole = [("B", 0, 3), ("z", 0, 1), ("A", 1, 3), ("x", 1, 2), ("y", 2, 3)]
        assert covered == [*whole, ("A", 3, 5), ("x", 3, 4), ("y", 4, 5)]
    rollouts = found.rollouts(found.initial(), [0], trajectories=3, credit="shaped", infusion=0.5)
    assert np.isfinite(rollouts.reward).all()


def test_a_grammar_that_derives_nothing():
    grammar = Grammar.from_rules([("A", "B", "x", -1.0, 1.0)], [("TOP", "A", (), -1.0, 1.0)])
    lexical = table_of([[(grammar.number["x"], -1.0)]])
    found = environment(Problem(grammar, lexical, [0, 0]), gold="flat")
    parses = found.parse(found.initial(), [0])
    assert not parses.whole[0]
    assert parses.pops[0] == 2
    assert [node[0] for node in parses.derivations[0].tolist()] == [grammar.number["x"]] * 2


@given(parsable(most_words=4), seeds)
@some
def test_the_parser_gives_up_after_so_many_pops(problem, seed):
    found = environment(problem, seed, most_pops=1)
    parses = found.parse(found.initial(), [0])
    assert parses.pops[0] == 1
    starts = [node[3] for node in parses.derivations[0].tolist() if node[2] < 0]
    assert starts == list(range(problem.n))


@pytest.mark.jit
@given(parsable(), seeds, thresholds, st.integers(0, 6))
@some
def test_what_is_noted_in_bulk_is_what_the_loops_note(problem, seed, Δ, waiting):
    found, results = environment(problem, seed), []
    θ = np.random.default_rng(seed).normal(0.0, 1.0, FEATURES)
    for run in (agenda_pass, as_loops(agenda_pass, passes, search), interpreted(agenda_pass)):
        order = np.full((found.bound(0), 6 + 2 * waiting), -1.0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parser, "agenda_pass", run)
            parses = found.parser.parse(found.packed, θ, max_gap=Δ, order=order)
        results.append((parses.pops.tolist(), parses.pushes.tolist(), parses.scores.tolist(), order.tolist()))
    assert results[1] == results[2]
    assert results[0][:2] == results[1][:2]


def test_numbers_of_spans():
    spans = [(start, end) for end in range(1, 200) for start in range(end)]
    assert [int(span_of(*span)) for span in spans] == list(range(len(spans)))
    assert [tuple(map(int, ends_of(k))) for k in range(len(spans))] == spans
