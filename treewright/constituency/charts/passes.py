"""Passes over a shard of a corpus, called from Python.

All take a weighted grammar, sentences, and a shard of them (:mod:`treewright.constituency.charts.corpus`). The passes
for learning also take the derivations of the experts' trees.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, Space, has, has_tree, new_space, place, row_offsets, value
from treewright.constituency.charts.corpus import (
    NODE,
    Parsed,
    Sentences,
    Shard,
    longest,
    new_parsed,
    nodes_of,
    words_of,
)
from treewright.constituency.charts.derivations import best_tree, covering_trees, new_actions
from treewright.constituency.charts.kbest import k_best_trees, new_forest
from treewright.constituency.charts.outside import outside
from treewright.constituency.charts.policy_matching import Pull, policy_gradient
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import INSIDE, NEVER, VITERBI, VITERBI_64
from treewright.constituency.charts.span_rewards import Anchors, SpanRewards, anchored_in, new_anchors
from treewright.constituency.grammar.rules import Rules, Weighted
from treewright.search.compiling import compiled, kernel
from treewright.search.running import run_shards

__all__ = [
    "BEST_TREE",
    "COVERED",
    "EXACT",
    "MAX_RULE",
    "WHOLE",
    "Coarse",
    "Decoding",
    "KBestTrees",
    "expected_pass",
    "k_best_of",
    "k_best_pass",
    "n_best_pass",
    "parse_all",
    "parse_pass",
    "plan_pass",
    "policy_pass",
]


WHOLE, COVERED = 0, 1  # the status of a sentence: one tree, or pieces that cover it
BEST_TREE, MAX_RULE = 0, 1  # decoders


class Decoding(NamedTuple):
    """How trees are chosen."""

    decoder: int  # BEST_TREE or MAX_RULE
    beam: float  # infinity is exact
    threshold: float  # of coarse-to-fine pruning; 0 prunes nothing


EXACT = Decoding(BEST_TREE, np.inf, 0.0)
"""The best tree, without a beam and without pruning."""


class Coarse(NamedTuple):
    """A coarser grammar for pruning."""

    grammar: Weighted  # weights are plain factors
    of: npt.NDArray[np.int32]  # the coarse symbol of each symbol


class KBestTrees(NamedTuple):
    """The k best trees of each sentence; one without a tree may have pieces that cover it instead of the first tree."""

    scores: npt.NDArray[np.float64]  # sentences × k
    trees: npt.NDArray[np.int32]  # k × the nodes of all sentences × numbers
    found: npt.NDArray[np.int64]  # the number of trees of each sentence
    covering: npt.NDArray[np.int64]  # the number of nodes of the pieces; 0 if there is a tree


# ---- parsing


def parse_all(
    grammar: Weighted,
    sentences: Sentences,
    eligible: npt.NDArray[np.bool_],
    decoding: Decoding = EXACT,
    coarse: Coarse | None = None,
    jobs: int = 1,
    spans: SpanRewards | None = None,
) -> Parsed:
    """The trees of all sentences, by :func:`parse_pass` in ``jobs`` threads; the coarse grammar is only for pruning."""
    parsed, n = new_parsed(sentences.at), len(sentences.at) - 1
    narrowing = None if decoding == EXACT else decoding
    coarse = coarse if decoding.threshold > 0.0 else None

    def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> None:
        shard = Shard(np.arange(first, last), control, slot)
        parse_pass(grammar, sentences, shard, narrowing, coarse, spans, eligible, parsed)

    if n:
        run_shards(work, n, jobs=jobs)
    return parsed


@kernel
def parse_pass(
    grammar: Weighted,
    sentences: Sentences,
    shard: Shard,
    decoding: Decoding | None,
    coarse: Coarse | None,
    spans: SpanRewards | None,
    eligible: Any,
    parsed: Parsed,
) -> None:
    """The best tree of each sentence, and its value.

    Without ``decoding`` all trees are considered. With it, constituents less probable under the coarse grammar than
    ``decoding.threshold`` are pruned. With ``spans``, constituents have rewards. A sentence without a tree is covered
    with ``eligible`` symbols. With max-rule decoding, the value is the logarithm of the product of the rules'
    posteriors, plus log Z.
    """
    most = longest(sentences, shard.which)
    space = new_space(VITERBI, grammar.rules.is_top.shape[0], most)
    anchors = new_anchors(spans, most)
    memory = _new_memory(grammar, decoding, coarse, anchors, most, space)
    for i in shard.which:
        if shard.control[0] != 0:
            break
        words, out = words_of(sentences, i), nodes_of(sentences, parsed.nodes, i)
        if decoding is not None:
            best = _narrowed(grammar, words, decoding, coarse, anchors, memory, space)
        elif spans is not None:
            best = fill(VITERBI, grammar, words, anchored_in(anchors, words), np.inf, space)
        else:
            best = fill(VITERBI, grammar, words, None, np.inf, space)
        if has_tree(best):
            parsed.filled[i] = best_tree(best, best.rules.root, 0, best.n, out, 0)
            parsed.values[i] = value(best, best.rules.root, 0, best.n)
            parsed.status[i] = WHOLE
        else:
            parsed.filled[i], parsed.values[i] = covering_trees(best, eligible, out)
            parsed.status[i] = COVERED
        shard.control[shard.slot] += 1


class _Memory(NamedTuple):
    """What narrowed decoding works in; arrays that it does not need are empty."""

    anchored: npt.NDArray[np.float32]  # rewards of constituents
    factors: Weighted  # the grammar with plain factors, for max-rule decoding
    sums: Space
    coarse_sums: Space
    above: npt.NDArray[np.float64]  # outside values


@compiled
def _new_memory(
    grammar: Weighted,
    decoding: Decoding | None,
    coarse: Coarse | None,
    anchors: Anchors | None,
    most: int,
    space: Space,
) -> _Memory | None:
    if decoding is None:
        return None
    max_rule, prunes = decoding.decoder == MAX_RULE, False
    sums = new_space(INSIDE, grammar.rules.is_top.shape[0] if max_rule else 1, most)
    coarse_sums = sums
    if coarse is not None:
        prunes, coarse_sums = True, new_space(INSIDE, coarse.grammar.rules.is_top.shape[0], most)
    if anchors is not None:
        anchored = anchors.anchored
    else:
        anchored = np.zeros(space.values.shape[0] if max_rule or prunes else 0, np.float32)
    above = np.zeros(max(sums.values.shape[0], coarse_sums.values.shape[0]))
    return _Memory(anchored, _exponentials(grammar, max_rule), sums, coarse_sums, above)


@compiled
def _narrowed(
    grammar: Weighted,
    words: Any,
    decoding: Decoding,
    coarse: Coarse | None,
    spans: Anchors | None,
    memory: _Memory,
    space: Space,
) -> Chart:
    """The chart of the constituents that a beam and the coarse grammar keep, or that max-rule decoding prefers."""
    anchored, above = memory.anchored, memory.above
    anchors = _first_anchors(grammar, spans, words, anchored)
    if coarse is not None:
        chart = fill(INSIDE, coarse.grammar, words, anchored[:0], np.inf, memory.coarse_sums)
        if outside(chart, above, None) > -np.inf:
            _keep_probable(chart, above, decoding.threshold, coarse.of, anchored)
            anchors = anchored
    if decoding.decoder == MAX_RULE:
        chart = fill(INSIDE, memory.factors, words, anchors, decoding.beam, memory.sums)
        if outside(chart, above, None, 0.0, anchors) > -np.inf:
            _log_posteriors(chart, above, anchored)
            anchors = anchored
    best = fill(VITERBI, grammar, words, anchors, decoding.beam, space)
    if not has_tree(best) and (anchors.shape[0] > 0 or decoding.beam < np.inf):  # all trees were pruned
        best = fill(VITERBI, grammar, words, _first_anchors(grammar, spans, words, anchored), np.inf, space)
    return best


@compiled
def _first_anchors(grammar: Weighted, spans: Anchors | None, words: Any, anchored: Any) -> Any:
    """The rewards before pruning and decoding: those of spans, or none.

    What a chart of the sentence uses of ``anchored`` has these rewards, or zeros, after that.
    """
    if spans is not None:
        return anchored_in(spans, words)[:]
    n = words.shape[0]
    anchored[: grammar.rules.is_top.shape[0] * row_offsets(n)[n + 1]] = np.float32(0.0)
    return anchored[:0]


@compiled
def _exponentials(grammar: Weighted, wanted: bool) -> Weighted:
    """The same grammar with plain factors instead of logarithms; without weights if they are not needed."""
    binary = np.empty(grammar.binary.shape[0] if wanted else 0)
    unary = np.empty(grammar.unary.shape[0] if wanted else 0)
    for k in range(binary.shape[0]):
        binary[k] = math.exp(np.float64(grammar.binary[k]))
    for k in range(unary.shape[0]):
        unary[k] = math.exp(np.float64(grammar.unary[k]))
    return Weighted(grammar.rules, binary, unary, grammar.lexical)


@compiled
def _keep_probable(chart: Chart, above: Any, threshold: float, coarse_of: Any, anchored: Any) -> None:
    """Set the rewards of fine constituents to ``NEVER`` where their coarse ones are not probable enough."""
    n = chart.n
    for symbol in range(coarse_of.shape[0]):
        coarse = coarse_of[symbol]
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                at = chart.offsets[width] + start
                probable = False
                if has(chart, coarse, start, width):
                    here = place(chart, coarse, start, width)
                    probable = chart.space.values[here] * above[here] >= threshold
                if not probable:
                    anchored[symbol * chart.cells + at] = np.float32(NEVER)


@compiled
def _log_posteriors(chart: Chart, above: Any, anchored: Any) -> None:
    """Max-rule decoding (Petrov & Klein 2007): the best product of the posterior probabilities of rules.

    With M the best product for a constituent and I its inside value, the posterior of A → B C is O(A)·r·I(B)·I(C)/Z, so
    log M(A) + log I(A) obeys Viterbi's recurrence with log(O(A)·I(A)/Z), the constituent's own posterior, on top. If a
    constituent has a reward, r stands for the rule's weight and this reward; so the posterior is added to it.
    """
    for symbol in range(chart.rules.is_top.shape[0]):
        for width in range(1, chart.n + 1):
            for start in range(chart.n - width + 1):
                here = place(chart, symbol, start, width)
                posterior = 0.0
                if has(chart, symbol, start, width):
                    posterior = chart.space.values[here] * above[here]
                if posterior > 0.0:
                    anchored[here] += np.float32(math.log(posterior))
                else:
                    anchored[here] = np.float32(NEVER)


def k_best_of(
    grammar: Weighted,
    words: npt.NDArray[np.int32],
    k: int,
    beam: float | None = None,
    eligible: npt.NDArray[np.bool_] | None = None,
    anchored: npt.NDArray[np.float32] | None = None,
) -> KBestTrees:
    """The k best trees of one sentence (see :func:`k_best_pass`); weights have 64 bits.

    ``anchored`` are rewards of constituents, in the layout of a chart.
    """
    n, counts = len(words), np.zeros((2, 1), np.int64)
    best = KBestTrees(np.zeros((1, k)), np.zeros((k, 2 * n - 1, NODE), np.int32), *counts)
    shard = Shard(np.zeros(1, np.int64), np.zeros(2, np.int64), 1)
    k_best_pass(grammar, Sentences(words, np.array([0, n])), shard, k, beam, eligible, anchored, best)
    return best


@kernel
def k_best_pass(
    grammar: Weighted,
    sentences: Sentences,
    shard: Shard,
    k: int,
    beam: float | None,
    eligible: Any,
    anchored: Any,
    best: KBestTrees,
) -> None:
    """The k best trees of each sentence, of those that a beam keeps if there is one.

    If ``anchored`` is not None, it has the rewards of the constituents of the only sentence.

    If there is no tree: pieces that cover the sentence, of the symbols that are ``eligible``; none if it is None.
    """
    rules = grammar.rules
    space = new_space(VITERBI_64, rules.is_top.shape[0], longest(sentences, shard.which))
    nodes = 1000
    for i in shard.which:
        if shard.control[0] != 0:
            break
        words, at = words_of(sentences, i), sentences.at
        if anchored is not None:
            chart = fill(VITERBI_64, grammar, words, anchored, np.inf if beam is None else beam, space)
        elif beam is not None:
            chart = fill(VITERBI_64, grammar, words, np.zeros(0), beam, space)
        else:
            chart = fill(VITERBI_64, grammar, words, None, np.inf, space)
        best.found[i] = -1
        while best.found[i] < 0:
            forest = new_forest(rules, words.shape[0], space.values.shape[0], nodes, k)
            trees = best.trees[:, 2 * at[i] - i : 2 * at[i + 1] - (i + 1)]
            best.found[i] = k_best_trees(chart, forest, best.scores[i], trees)
            nodes = nodes * 2 if best.found[i] < 0 else nodes
        if eligible is not None and best.found[i] == 0:
            best.covering[i], _ = covering_trees(chart, eligible, trees[0])
        shard.control[shard.slot] += 1


# ---- learning


@compiled
def _count_rules(rules: Rules, nodes: Any, amount: float, counts: Any) -> None:
    """Add the rules of a derivation."""
    for k in range(nodes.shape[0]):
        if nodes[k, 1] >= 0:
            counts[rules.binary.shape[0] + nodes[k, 1]] += amount
        if nodes[k, 2] >= 0:
            counts[nodes[k, 2]] += amount


@kernel
def plan_pass(
    grammar: Weighted,
    sentences: Sentences,
    gold: Any,
    shard: Shard,
    loss: float,
    on_rules: bool,
    spans: SpanRewards | None,
    planned: Any,
    values: Any,
) -> None:
    """The best trees (Algorithms 2 to 4), as derivations in ``planned``, and their values.

    A loss constant is subtracted from the expert's actions: from the rules of the expert's tree wherever they are used
    (``on_rules``, as in Algorithm 4), or from the constituents of the expert's tree. A sentence without a tree gets
    the expert's derivation, so that there is no update, and the value 0.
    """
    rules, most = grammar.rules, longest(sentences, shard.which)
    space = new_space(VITERBI, rules.is_top.shape[0], most)
    anchors = new_anchors(spans, most)
    anchored = np.zeros(0 if on_rules or loss == 0.0 else space.values.shape[0], np.float32)
    lowered = Weighted(rules, grammar.binary.copy(), grammar.unary.copy(), grammar.lexical)
    for i in shard.which:
        if shard.control[0] != 0:
            break
        words, expert, nodes = words_of(sentences, i), nodes_of(sentences, gold, i), nodes_of(sentences, planned, i)
        if spans is not None:
            anchored = anchored_in(anchors, words)
        if loss != 0.0 and on_rules:
            for k in range(expert.shape[0]):
                if expert[k, 1] >= 0:
                    lowered.unary[expert[k, 1]] = np.float64(lowered.unary[expert[k, 1]]) - loss
                if expert[k, 2] >= 0:
                    lowered.binary[expert[k, 2]] = np.float64(lowered.binary[expert[k, 2]]) - loss
        elif loss != 0.0:
            _anchor(rules, expert, words.shape[0], anchored, -loss)
        chart = fill(VITERBI, lowered, words, anchored, np.inf, space)
        if has_tree(chart):
            values[i] = value(chart, rules.root, 0, chart.n)
            best_tree(chart, rules.root, 0, chart.n, nodes, 0)
        else:
            values[i] = 0.0
            for k in range(expert.shape[0]):
                for field in range(NODE):
                    nodes[k, field] = expert[k, field]
        if loss != 0.0 and on_rules:
            for k in range(expert.shape[0]):
                if expert[k, 1] >= 0:
                    lowered.unary[expert[k, 1]] = grammar.unary[expert[k, 1]]
                if expert[k, 2] >= 0:
                    lowered.binary[expert[k, 2]] = grammar.binary[expert[k, 2]]
        elif loss != 0.0:
            _anchor(rules, expert, words.shape[0], anchored, loss)
        shard.control[shard.slot] += 1


@compiled
def _anchor(rules: Rules, expert: Any, n: int, anchored: Any, amount: float) -> None:
    """Add to the rewards of the expert's constituents: where there is a unary rule, of both the top and the bottom."""
    offsets = row_offsets(n)
    for k in range(expert.shape[0]):
        here = offsets[expert[k, 4] - expert[k, 3]] + expert[k, 3]
        anchored[expert[k, 0] * offsets[n + 1] + here] += np.float32(amount)
        if expert[k, 1] >= 0:
            anchored[rules.unary[expert[k, 1], 0] * offsets[n + 1] + here] += np.float32(amount)


@kernel
def expected_pass(grammar: Weighted, sentences: Sentences, gold: Any, shard: Shard, counts: Any) -> float:
    """The expected rules of all trees, by inside and outside values, added to ``counts``; returns Σ log Z."""
    space = new_space(INSIDE, grammar.rules.is_top.shape[0], longest(sentences, shard.which))
    above = np.zeros(space.values.shape[0])
    factors = _exponentials(grammar, True)
    total = 0.0
    for i in shard.which:
        if shard.control[0] != 0:
            break
        chart = fill(INSIDE, factors, words_of(sentences, i), None, np.inf, space)
        log_z = outside(chart, above, counts)
        if log_z > -np.inf:
            total += log_z
        else:
            _count_rules(grammar.rules, nodes_of(sentences, gold, i), 1.0, counts)
        shard.control[shard.slot] += 1
    return total


@kernel
def n_best_pass(grammar: Weighted, sentences: Sentences, gold: Any, shard: Shard, k: int, counts: Any) -> float:
    """Algorithm 6: the expected rules of the k best trees, added to ``counts``; returns Σ log Σ exp of their values."""
    rules, most = grammar.rules, longest(sentences, shard.which)
    space = new_space(VITERBI_64, rules.is_top.shape[0], most)
    scores, trees = np.zeros(k), np.zeros((k, 2 * most, NODE), np.int32)
    nodes = 1000
    forest = new_forest(rules, most, space.values.shape[0], nodes, k)
    total = 0.0
    for i in shard.which:
        if shard.control[0] != 0:
            break
        chart = fill(VITERBI_64, grammar, words_of(sentences, i), None, np.inf, space)
        found = k_best_trees(chart, forest, scores, trees)
        while found < 0:
            nodes *= 2
            forest = new_forest(rules, most, space.values.shape[0], nodes, k)
            found = k_best_trees(chart, forest, scores, trees)
        if found == 0:
            _count_rules(rules, nodes_of(sentences, gold, i), 1.0, counts)
        else:
            mass = 0.0
            for t in range(found):
                mass += math.exp(scores[t] - scores[0])
            for t in range(found):
                _count_rules(rules, trees[t, : 2 * chart.n - 1], math.exp(scores[t] - scores[0]) / mass, counts)
            total += scores[0] + math.log(mass)
        shard.control[shard.slot] += 1
    return total


@kernel
def policy_pass(
    grammar: Weighted, sentences: Sentences, gold: Any, shard: Shard, temperature: float, gradient: Any
) -> float:
    """Algorithm 5 for each sentence; adds to ``gradient`` and returns the sum of J."""
    rules, most = grammar.rules, longest(sentences, shard.which)
    space = new_space(VITERBI, rules.is_top.shape[0], most)
    pull, actions = Pull(np.zeros(space.values.shape[0]), gradient), new_actions(rules, most)
    total = 0.0
    for i in shard.which:
        if shard.control[0] != 0:
            break
        chart = fill(VITERBI, grammar, words_of(sentences, i), None, np.inf, space)
        total += policy_gradient(chart, nodes_of(sentences, gold, i), temperature, actions, pull)
        shard.control[shard.slot] += 1
    return total
