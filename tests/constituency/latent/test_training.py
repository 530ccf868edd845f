from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.latent.test_grammar import assert_is_proper, few_trees, seeds, split, treebanks
from tests.examples import examples
from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent.training import (
    SplitMerge,
    Treebank,
    expectation,
    maximise,
    merge,
    smooth,
    train_latent,
    usage_and_losses,
)
from treewright.corpora import Tree, builtin_corpus
from treewright.corpora.brackets import clean_tree, read_ptb
from treewright.errors import ConfigError, CorpusError
from treewright.learners import Pass, make_learner

small_trees = few_trees.map(lambda some: [t for t in some if len(t.leaves()) <= 3][:2]).filter(bool)
small_treebanks = small_trees.map(lambda some: [Markovisation(1, 0).binarise(tree) for tree in some])


class Assignments:
    """All ways to give the symbols of a tree substates: a slow, obvious twin of inside and outside.

    The variables of a tree are its bottoms and tops; a factor is a rule or a word with the variables that it joins, the
    parent last.
    """

    def __init__(self, grammar: LatentGrammar, tree: Tree):
        self.grammar = grammar
        emission, lexicon = grammar.lexicon.emission(in_training=True), grammar.lexicon
        derivation = grammar.base.derivation(tree).tolist()
        entries = iter(lexicon.entries_of(list(zip(tree.leaves(), tree.tags(), strict=True))).tolist())
        self.symbols: list[int] = []
        self.factors: list[tuple[str, int, np.ndarray, tuple[int, ...]]] = []
        self.stays: set[int] = set()  # bottoms that are the same as their tops
        tops = {}
        for k, (symbol, one, _, start, end) in enumerate(derivation):
            self.symbols.append(symbol)
            bottom = tops[start, end, k] = len(self.symbols) - 1
            if one >= 0:
                self.symbols.append(grammar.base.unary[one, 0])
                tops[start, end, k] = len(self.symbols) - 1
                self.factors.append(("unary", one, grammar.unary_block(one), (bottom, bottom + 1)))
                if grammar.stays[one]:
                    self.stays.add(bottom)
        bottoms = [
            top - (1 if derivation[k][1] >= 0 else 0) for k, top in enumerate(tops.values())
        ]  # in the order of the nodes
        by_span = {(start, end): top for (start, end, _), top in tops.items()}
        for k, (_, _, two, start, end) in enumerate(derivation):
            if two < 0:
                entry = next(entries)
                block = emission[lexicon.at[entry] : lexicon.at[entry + 1]]
                self.factors.append(("word", entry, block, (bottoms[k],)))
            else:
                middle = derivation[k + 1][4]
                joined = (by_span[start, middle], by_span[middle, end], bottoms[k])
                self.factors.append(("binary", two, grammar.binary_block(two), joined))
        self.all = list(product(*(range(grammar.substates[symbol]) for symbol in self.symbols)))

    def weight(self, assignment):
        return math.prod(block[tuple(assignment[v] for v in joined)] for _, _, block, joined in self.factors)

    @property
    def probability(self):
        return sum(map(self.weight, self.all))

    def expected(self):
        """Posteriors of rules and words with their substates, and of the substates of variables."""
        counts: defaultdict = defaultdict(float)
        usage: defaultdict = defaultdict(float)
        for assignment in self.all:
            share = self.weight(assignment) / self.probability
            for kind, number, _, joined in self.factors:
                counts[kind, number, tuple(assignment[v] for v in joined)] += share
            for variable, substate in enumerate(assignment):
                usage[variable, substate] += share
        return counts, usage

    def if_merged(self, variable, pair, shares):
        """The probability if two substates were one at a variable: what is above it need not know which is below."""
        total = 0.0
        above = [factor for factor in self.factors if variable in factor[3][:-1]]
        below = [factor for factor in self.factors if variable not in factor[3][:-1]]
        for assignment in self.all:
            own = assignment[variable]
            part = math.prod(block[tuple(assignment[v] for v in joined)] for _, _, block, joined in below)
            seen_from_above = pair if own in pair else (own,)
            for other in seen_from_above:
                seen = (*assignment[:variable], other, *assignment[variable + 1 :])
                whole = math.prod(block[tuple(seen[v] for v in joined)] for _, _, block, joined in above)
                total += part * whole * (shares[pair.index(own)] if own in pair else 1.0)
        return total


@examples(25)
@given(small_treebanks, seeds)
def test_expectations_are_those_of_all_assignments(trees: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(trees), seed)
    treebank = Treebank(grammar, trees)
    found = expectation(grammar, treebank)
    naive = [Assignments(grammar, tree) for tree in trees]
    assert found.log_likelihood == pytest.approx(sum(math.log(each.probability) for each in naive))
    binary, unary, emitted = (np.zeros_like(a) for a in (found.binary, found.unary, found.emitted))
    usage, losses = np.zeros(grammar.first[-1]), np.zeros(grammar.first[-1])
    for each in naive:
        counts, used = each.expected()
        for (kind, number, substates), share in counts.items():
            if kind == "word":
                emitted[grammar.lexicon.at[number] + substates[0]] += share
            else:
                at, whole = (grammar.binary_at, binary) if kind == "binary" else (grammar.unary_at, unary)
                block = grammar.binary_block(number) if kind == "binary" else grammar.unary_block(number)
                whole[at[number] + np.ravel_multi_index(substates, block.shape)] += share
        for (variable, substate), share in used.items():
            usage[grammar.first[each.symbols[variable]] + substate] += share
    assert found.binary == pytest.approx(binary)
    assert found.unary == pytest.approx(unary)
    assert found.emitted == pytest.approx(emitted)

    together = usage.copy()
    for symbol, top in enumerate(grammar.category.tolist()):
        if symbol != top:
            one, two = (slice(grammar.first[k], grammar.first[k + 1]) for k in (symbol, top))
            together[two] += usage[one]
    for each in naive:
        for variable, symbol in enumerate(each.symbols):
            top = grammar.category[symbol]
            if grammar.substates[symbol] > 1 and variable not in each.stays:
                shares = together[grammar.first[top] :][:2]
                merged = each.if_merged(variable, (0, 1), shares / shares.sum())
                losses[grammar.first[top]] -= math.log(merged / each.probability)
    found_usage, found_losses = usage_and_losses(grammar, treebank, found)
    assert found_usage == pytest.approx(usage)
    assert found_losses == pytest.approx(losses, abs=1e-9)


@pytest.mark.slow
@examples(25)
@given(treebanks, seeds)
def test_the_likelihood_never_falls(trees: list[Tree], seed: int) -> None:
    grammar = split(LatentGrammar.from_treebank(trees, occurrences=0.0), seed, 2)
    treebank = Treebank(grammar, trees)
    before = -1e9
    for _ in range(6):
        expected = expectation(grammar, treebank)
        assert expected.log_likelihood >= before - 1e-9 * (1.0 + abs(before))
        before = expected.log_likelihood
        grammar = maximise(grammar, expected)
        assert_is_proper(grammar)


@pytest.mark.jit
def test_the_likelihood_of_a_real_treebank_rises(real_data: Callable[[str], Path]) -> None:
    sentences = read_ptb(real_data("ptb-wsj-sample/dev.ptb"))
    some = (clean_tree(sentence.tree) for sentence in sentences if sentence.tree is not None)
    trees = [Markovisation(1, 0).binarise(tree) for tree in some if tree is not None and len(tree.leaves()) <= 40]
    grammar = LatentGrammar.from_treebank(trees, occurrences=0.0)
    treebank = Treebank(grammar, trees)
    start, before = expectation(grammar, treebank).log_likelihood, -1e9
    grammar = grammar.split(np.random.default_rng(0), 0.1)
    for _ in range(20):
        expected = expectation(grammar, treebank, jobs=2)
        assert expected.log_likelihood >= before - 1e-3
        before = expected.log_likelihood
        grammar = maximise(grammar, expected)
    assert before > start + 0.05 * abs(start)


@examples(25)
@given(treebanks, seeds, st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_merging_takes_back_a_share_of_the_splits(trees: list[Tree], seed: int, share: float) -> None:
    coarse = split(LatentGrammar.from_treebank(trees), seed)
    grammar = split(coarse, seed + 1)
    treebank = Treebank(grammar, trees)
    expected = expectation(grammar, treebank)
    merged = merge(grammar, treebank, expected, share)
    assert_is_proper(merged)
    assert (merged.substates == merged.substates[merged.category]).all()
    chosen = grammar.category == np.arange(len(grammar.substates))
    pairs = int((grammar.substates[chosen] // 2).sum())
    assert (grammar.substates - merged.substates)[chosen].sum() == round(share * pairs)
    of, of_coarse = (np.repeat(np.arange(len(g.substates)), g.substates) for g in (merged, coarse))
    assert (of_coarse[merged.coarser] == of).all()
    assert set(merged.coarser.tolist()) == set(range(coarse.first[-1]))
    if share == 0.0:
        assert expectation(merged, treebank).log_likelihood == pytest.approx(expected.log_likelihood)


@examples(25)
@given(treebanks, seeds, st.floats(0.0, 1.0))
def test_smoothing_draws_substates_together(trees: list[Tree], seed: int, α: float) -> None:
    grammar = split(LatentGrammar.from_treebank(trees), seed)
    smoothed = smooth(grammar, α)
    assert_is_proper(smoothed)
    for r in range(len(grammar.base.binary)):
        old, new = grammar.binary_block(r), smoothed.binary_block(r)
        assert new.mean(axis=2) == pytest.approx(old.mean(axis=2))
        assert np.ptp(new, axis=2) == pytest.approx((1.0 - α) * np.ptp(old, axis=2))


def treebank_of_sentences(count: int) -> list[Tree]:
    train, _, _ = builtin_corpus(train=count, dev=1, test=1)
    return [Markovisation(1, 0).binarise(sentence.tree) for sentence in train if sentence.tree is not None]


def same(one: LatentGrammar, two: LatentGrammar) -> bool:
    first, second = one.to_arrays(), two.to_arrays()
    return first.keys() == second.keys() and all((first[name] == second[name]).all() for name in first)


def cycles(number: int) -> SplitMerge:
    return SplitMerge(cycles=number, starts=1, split=3, merge=1, smooth=1)


def test_training_reports_and_does_not_depend_on_threads() -> None:
    trees = treebank_of_sentences(8)
    rows: list[Pass] = []
    told: list[tuple[str, int, int]] = []
    trained = train_latent(
        trees,
        cycles(2),
        report=rows.append,
        progress=lambda *step: told.append(step),
        evaluate=lambda levels: float(levels[-1].first[-1]),
    )
    levels = trained.levels
    assert [level.substates.max() for level in levels] == [1, 2, pytest.approx(4, abs=1)]
    for coarse, fine in pairwise(levels):
        assert len(fine.coarser) == fine.first[-1]
        assert fine.coarser.max() == coarse.first[-1] - 1
        assert_is_proper(fine)
    assert rows == trained.history
    assert [row.iteration for row in rows] == [1, 2]
    for row, level in zip(rows, levels[1:], strict=True):
        assert row.score == row.decisions == level.first[-1]
        assert row.examples == level.size["rules"]
        assert row.best
    assert trained.score == levels[-1].first[-1]
    assert rows[1].loss < rows[0].loss
    assert told == [("EM", k, 5) for k in range(1, 6)] * 2
    again = train_latent(trees, cycles(2), jobs=3)
    assert all(same(one, two) for one, two in zip(levels, again.levels, strict=True))
    assert not same(levels[1], train_latent(trees, cycles(1), seed=1).levels[1])


def scored(scores: list[float]) -> Callable[[list[LatentGrammar]], float]:
    """An evaluation that gives these scores, one after the other."""
    following = iter(scores)
    return lambda levels: next(following)


@pytest.mark.slow
def test_starts_are_grammars_of_one_seed_after_the_other() -> None:
    trees = treebank_of_sentences(8)
    learner = replace(cycles(2), starts=3)
    trained = train_latent(trees, learner, seed=4, evaluate=scored([0.1, 0.2, 0.5, 0.4, 0.3, 0.3]))
    assert [row.iteration for row in trained.history] == [1, 2, 3, 4, 5, 6]
    assert [row.best for row in trained.history] == [True, True, True, False, False, False]
    assert trained.score == 0.5
    assert [len(levels) for levels in trained.hierarchies] == [2, 2, 3], "starts 2, 3, 1 up to their best cycles"
    for levels, seed in zip(trained.hierarchies, (5, 6, 4), strict=True):
        alone = train_latent(trees, cycles(len(levels) - 1), seed=seed).levels
        assert all(same(one, two) for one, two in zip(levels, alone, strict=True))
    assert len(train_latent(trees, learner).history) == 2, "nothing to choose by: one start"


@pytest.mark.slow
def test_starts_go_on_where_they_stopped(tmp_path: Path) -> None:
    trees, scores = treebank_of_sentences(8), [0.1, 0.4, 0.2, 0.3, 0.2, 0.5]
    learner = replace(cycles(2), starts=3)
    whole = train_latent(trees, learner, evaluate=scored(scores))
    for done in (1, 4):

        class Stop(Exception):
            pass

        def stop(row: Pass, after: int = done) -> None:
            if row.iteration == after:
                raise Stop

        settings = {"trees": trees, "learner": learner, "checkpoint": tmp_path / str(done)}
        with pytest.raises(Stop):
            train_latent(**settings, evaluate=scored(scores), report=stop)
        resumed = train_latent(**settings, evaluate=scored(scores[done:]), resume=True)
        assert len(resumed.hierarchies) == 3
        for one, two in zip(whole.hierarchies, resumed.hierarchies, strict=True):
            assert all(same(a, b) for a, b in zip(one, two, strict=True))
    with pytest.raises(ConfigError, match="cycles was 2 and is now 1"):
        train_latent(trees, replace(learner, cycles=1), evaluate=scored([0.1]), checkpoint=tmp_path / "4", resume=True)


def test_the_best_cycle_is_kept() -> None:
    trees = treebank_of_sentences(8)
    trained = train_latent(trees, cycles(2), evaluate=lambda levels: 1.0 / len(levels))
    assert [row.best for row in trained.history] == [True, False]
    assert len(trained.levels) == 2


def test_training_goes_on_where_it_stopped(tmp_path: Path) -> None:
    trees = treebank_of_sentences(8)
    whole = train_latent(trees, cycles(2))
    train_latent(trees, cycles(1), checkpoint=tmp_path / "c")
    rows: list[Pass] = []
    resumed = train_latent(trees, cycles(2), checkpoint=tmp_path / "c", resume=True, report=rows.append)
    assert [row.iteration for row in rows] == [2]
    assert all(same(one, two) for one, two in zip(whole.levels, resumed.levels, strict=True))
    for others, said in (
        ({"seed": 1}, "seed was 0 and is now 1"),
        ({"learner": replace(cycles(2), split=4)}, "split was 3 and is now 4"),
        ({"trees": trees[1:]}, "the data are not the same, or not prepared in the same way"),
    ):
        settings = {"trees": trees, "learner": cycles(2), **others}
        with pytest.raises(ConfigError, match=rf"other data or settings \({said}\)"):
            train_latent(**settings, checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ("max-margin", "'max-margin' learns from whole plans.*: split-merge"),
        (3, "not 3"),
        ({"name": "split-merge", "passes": 3}, "passes is no setting of learner 'split-merge', which has: cycles"),
        ({"name": "split-merge", "cycles": 0}, "cycles must be a whole number from 1"),
        ({"name": "split-merge", "merged": 1.0}, "merged must be .* at least 0 and below 1, not 1.0"),
    ],
)
def test_settings(learner, message) -> None:
    with pytest.raises(ConfigError, match=message):
        make_learner(learner, SplitMerge)


def test_trees_of_another_grammar_are_refused() -> None:
    with pytest.raises(CorpusError, match="no tree to learn a grammar from"):
        train_latent([])
    trees = treebank_of_sentences(5)
    grammar = LatentGrammar.from_treebank(trees)
    impossible = grammar.with_probabilities(grammar.binary * 0.0, grammar.unary, grammar.lexicon)
    with pytest.raises(CorpusError, match="probability 0"):
        expectation(impossible, Treebank(grammar, trees))
