"""A* against the best of all derivations, and bounds against what they bound."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.agenda.naive_agenda import environment
from tests.constituency.naive import Problem, long_problem, problems, table_of
from tests.examples import examples
from tests.loops import as_loops
from treewright.constituency.agenda import heuristics
from treewright.constituency.agenda.heuristics import (
    ContextAStar,
    HierarchicalAStar,
    context_summaries,
    level_pass,
    lowered,
    projected,
)
from treewright.constituency.grammar.pcfg import Grammar
from treewright.errors import ConfigError
from treewright.search import interpreted

some = examples(20)
EXACT = {"rel": 1e-5, "abs": 1e-5}
seeds = st.integers(0, 1000)


def parsable(**options):
    return problems(**options).filter(lambda problem: problem.trees)


def random_map(grammar, rng, share=0.5):
    """Classes of symbols, with the root and tops apart from the others."""
    kinds = np.where(grammar.rules.is_top, 1, 0)
    kinds[grammar.rules.root] = 2
    names = [(int(kind), int(rng.integers(0, max(1, round(share * len(kinds)))))) for kind in kinds]
    names = [(2, 0) if kind == 2 else name for kind, name in zip(kinds, names, strict=True)]
    number = {name: k for k, name in enumerate(sorted(set(names)))}
    return np.array([number[name] for name in names], np.int32)


def searches(problem, seed):
    """Several kinds of A* for one problem: the classes of the second projection are classes of the first one's."""
    rng = np.random.default_rng(seed)
    fine = random_map(problem.grammar, rng, 0.7)
    coarse = random_map(projected(problem.grammar, problem.lexical, fine)[0], rng, 0.4)
    yield HierarchicalAStar(problem.grammar, problem.lexical, [fine])
    yield HierarchicalAStar(problem.grammar, problem.lexical, [fine, coarse])
    yield ContextAStar(problem.grammar, problem.lexical, problem.n + 1)


def distinct_scores(problem):
    """Where nothing is equal, what is popped does not depend on how ties are broken."""
    values = [problem.maximum(*span) for span in problem.spans]
    found = sorted(v for v in values if v > -math.inf)
    return all(b - a > 1e-6 for a, b in pairwise(found))


@given(parsable(most_words=5), seeds)
@some
def test_a_star_finds_a_best_parse_with_no_more_pops(problem, seed):
    plain = environment(problem, seed)
    without = plain.parse(plain.initial(), [0])
    for search in searches(problem, seed):
        found = search.parse([problem.words.astype(np.int32)])
        assert found.whole[0]
        assert found.scores[0] == pytest.approx(problem.best_first[0], **EXACT)
        assert problem.is_valid(found.derivations[0])
        if distinct_scores(problem):
            assert found.pops[-1, 0] <= without.pops[0]


@given(parsable(most_words=5), seeds)
@some
def test_no_parse_is_worth_less_after_projection(problem, seed):
    of = random_map(problem.grammar, np.random.default_rng(seed))
    grammar, lexical = projected(problem.grammar, problem.lexical, of)
    coarse = Problem(grammar, lexical, problem.words.tolist())
    for symbol, start, end in problem.spans:
        fine = problem.maximum(symbol, start, end)
        if fine > -math.inf:
            best = max(coarse.score(d) for d in _derivations(coarse, of[symbol], start, end))
            assert best >= fine - 1e-5


def _derivations(problem, symbol, start, end):
    """Also where a word's tag has several scores, one for each symbol of its class: the best counts."""
    for i, row in enumerate(problem.words.tolist()):
        entries = range(problem.lexical.at[row], problem.lexical.at[row + 1])
        for k in entries:
            tag, score = int(problem.lexical.symbol[k]), float(problem.lexical.score[k])
            problem.tags[i][tag] = max(problem.tags[i][tag], score)
    return problem.derivations(int(symbol), start, end)


def outside(problem):
    """The best score of the rest of a parse around each constituent, from all parses."""
    best = {}
    for tree in problem.trees:
        total = problem.score(tree)
        for symbol, start, end in problem.constituents(tree):
            rest = total - problem.maximum(symbol, start, end)
            best[symbol, start, end] = max(best.get((symbol, start, end), -math.inf), rest)
    return best


@given(parsable(most_words=4))
@some
def test_context_summaries_are_bounds(problem):
    lexical, lift = lowered(problem.lexical)
    assert (lexical.score <= 0.0).all()
    assert (lift >= 0.0).all()
    estimates = context_summaries(problem.grammar, lexical, problem.n)
    for (symbol, start, end), score in outside(Problem(problem.grammar, lexical, problem.words.tolist())).items():
        assert estimates[start, problem.n - end, symbol] >= score - 1e-5


def test_context_summaries_of_a_small_grammar():
    """S → a S or a a: around an S there are only a to its left, and each costs one more rule."""
    grammar = Grammar.from_rules(
        [("S", "a", "S", -1.0, 1.0), ("S", "a", "a", -2.0, 1.0)], [("TOP", "S", (), -0.5, 1.0)]
    )
    lexical = table_of([[(grammar.number["a"], -0.25)]])
    estimates = context_summaries(grammar, lexical, 4)
    s, a = grammar.number["S"], grammar.number["a"]
    assert estimates[:, 0, s].tolist()[:4] == pytest.approx([-0.5 - 1.25 * k for k in range(4)])
    assert estimates[0, 2, a] == pytest.approx(-0.5 - 1.0 - 2.0 - 0.5)
    assert estimates[0, 1, s] < -1e29  # nothing can be to its right


@given(parsable(most_words=5), seeds, st.sampled_from([0.0, 0.5, 2.0]))
@some
def test_thresholds_prune_only(problem, seed, Δ):
    of = random_map(problem.grammar, np.random.default_rng(seed))
    exact, pruned = (HierarchicalAStar(problem.grammar, problem.lexical, [of], margin=d) for d in (math.inf, Δ))
    one, two = (search.parse([problem.words.astype(np.int32)]) for search in (exact, pruned))
    assert (two.pops[0] <= one.pops[0]).all()  # of the coarse level
    if two.whole[0]:
        assert two.scores[0] <= one.scores[0] + 1e-9
    leaves = [node[3] for node in two.derivations[0].tolist() if node[2] < 0]
    assert leaves == list(range(problem.n))


def test_a_constituent_is_pruned_at_each_level_if_another_one_of_its_span_is_better_by_more_than_delta():
    """§6.1: B is worse than A by 3, and only B leads to a parse. Whole parses are not compared."""
    rules = [("A", "x", "x", -1.0, 1.0), ("B", "x", "x", -4.0, 1.0)]
    grammar = Grammar.from_rules(rules, [("TOP", "B", (), -1.0, 1.0)])
    lexical, words = table_of([[(grammar.number["x"], -1.0)]]), [np.zeros(2, np.int32)]
    identity = np.arange(len(grammar.symbols), dtype=np.int32)
    for Δ, whole in ((2.0, False), (4.0, True)):
        assert HierarchicalAStar(grammar, lexical, [identity], max_gap=Δ).parse(words).whole.tolist() == [whole]
    assert HierarchicalAStar(grammar, lexical, [identity], margin=0.0).parse(words).whole.tolist() == [True]


@given(parsable(most_words=5), seeds, st.sampled_from([0.5, 2.0]))
@some
def test_with_pruning_a_parse_is_no_better(problem, seed, Δ):
    of = random_map(problem.grammar, np.random.default_rng(seed))
    found = HierarchicalAStar(problem.grammar, problem.lexical, [of], max_gap=Δ).parse([problem.words.astype(np.int32)])
    if found.whole[0]:
        assert found.scores[0] <= problem.best_first[0] + 1e-5
        assert problem.is_valid(found.derivations[0])


def test_a_sentence_without_a_parse_is_covered():
    grammar = Grammar.from_rules([("A", "x", "y", -1.0, 1.0)], [("TOP", "A", (), -1.0, 1.0)])
    lexical = table_of([[(grammar.number["x"], -1.0)], [(grammar.number["y"], -1.0)]])
    for search in (
        HierarchicalAStar(grammar, lexical, [np.arange(4, dtype=np.int32)], 1.0),
        ContextAStar(grammar, lexical, 4),
    ):
        found = search.parse([np.array([0, 1, 0], np.int32), np.array([0, 1], np.int32)], jobs=2)
        assert found.whole.tolist() == [False, True]
        assert [node[3] for node in found.derivations[0].tolist() if node[2] < 0] == [0, 1, 2]


def test_bad_settings():
    grammar = Grammar.from_rules([("A", "x", "y", -1.0, 1.0)], [("TOP", "A", (), -1.0, 1.0)])
    lexical = table_of([[(grammar.number["x"], -1.0)]])
    with pytest.raises(ConfigError, match="0 or more"):
        HierarchicalAStar(grammar, lexical, [], -1.0)
    with pytest.raises(ConfigError, match="map 0 has classes for 2 symbols, and there are 4"):
        HierarchicalAStar(grammar, lexical, [np.array([0, 1])])
    with pytest.raises(ConfigError, match="up to 2 words"):
        ContextAStar(grammar, lexical, 2).parse([np.zeros(3, np.int32)])


@pytest.mark.jit
@given(st.one_of(parsable(most_words=5), st.builds(long_problem, seeds, st.integers(6, 20))), seeds)
@some
def test_searches_in_bulk_are_those_of_the_loops_to_the_bit(problem, seed):
    for search in list(searches(problem, seed))[:2]:
        results = []
        for run in (level_pass, as_loops(level_pass, heuristics), interpreted(level_pass)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(heuristics, "level_pass", run)
                found = search.parse([problem.words.astype(np.int32)])
            results.append([each.tobytes() for each in (*found.derivations, *found[1:])])
        assert results[0] == results[1] == results[2]
