"""Passes over sentences: what Python calls, once for a whole shard of a corpus.

All take the grammar, the scores of its rules, the lexicon's table, and the concatenated sentences:
``words`` are rows of that table, and sentence i has those from ``at[i]`` to ``at[i+1]``. Experts' trees are
derivations one behind the other, of 2n − 1 nodes each. ``which`` says which sentences are meant, in what order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewright.constituency.charts.chart import (
    NEVER,
    POSSIBLE,
    Chart,
    fill,
    has,
    new_space,
    outside,
    place,
    row_offsets,
    value,
)
from treewright.constituency.charts.derivations import best_tree, cover, policy_gradient
from treewright.constituency.charts.kbest import k_best_trees, new_forest
from treewright.constituency.grammar.rules import Lexical, Rules
from treewright.search.compiling import compiled, kernel

__all__ = ["expected_pass", "k_best_pass", "n_best_pass", "parse_pass", "plan_pass", "policy_pass"]


WHOLE, COVERED = 0, 1  # did a sentence get one tree, or pieces?
VITERBI, MAX_RULE = 0, 1


@compiled
def _longest(at: Any, which: Any) -> int:
    most = 1
    for i in which:
        most = max(most, at[i + 1] - at[i])
    return most


@compiled
def _exponentials(scores: Any, wanted: bool = True) -> Any:
    out = np.empty(scores.shape[0] if wanted else 0)
    for k in range(out.shape[0]):
        out[k] = math.exp(np.float64(scores[k]))
    return out


@kernel
def parse_pass(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    which: Any,
    decoder: int,
    beam: float,
    coarse: Any,
    threshold: float,
    eligible: Any,
    nodes: Any,
    filled: Any,
    values: Any,
    status: Any,
    control: Any,
    slot: int,
) -> None:
    """The best tree of each sentence, and its value. ``nodes`` has 2n − 1 rows for each, ``filled`` of which are used.

    ``coarse`` is a coarser grammar to prune with, (rules, binary, unary, lexical, coarse symbols), its scores as plain
    factors: constituents whose probability is below ``threshold`` there are left out; a threshold of 0 prunes nothing.
    With max-rule decoding, the value is the logarithm of the product of the rules' posteriors, plus log Z.
    """
    n_symbols, most = rules.is_top.shape[0], _longest(at, which)
    space = new_space(n_symbols, most, np.float32(NEVER), False)
    no_anchors = np.zeros(0, np.float32)
    anchored = np.zeros(space.values.shape[0] if decoder == MAX_RULE or threshold > 0.0 else 0, np.float32)
    sums = new_space(n_symbols if decoder == MAX_RULE else 1, most, np.float64(0.0), True)
    coarse_rules, coarse_binary, coarse_unary, coarse_lexical, coarse_of = coarse
    coarse_symbols = coarse_rules.is_top.shape[0] if threshold > 0.0 else 1
    coarse_sums = new_space(coarse_symbols, most, np.float64(0.0), True)
    above = np.zeros(max(sums.values.shape[0], coarse_sums.values.shape[0]))
    factors = _exponentials(binary, decoder == MAX_RULE), _exponentials(unary, decoder == MAX_RULE)
    pieces = np.zeros((most, 3), np.int64)
    for i in which:
        if control[0] != 0:
            break
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        out = nodes[2 * at[i] - i : 2 * at[i + 1] - (i + 1)]
        anchors = no_anchors
        if threshold > 0.0:
            chart = fill(
                coarse_rules,
                coarse_binary,
                coarse_unary,
                coarse_lexical,
                sentence,
                no_anchors,
                np.inf,
                coarse_sums,
                True,
            )
            if outside(chart, above, np.zeros(0)) > -np.inf:
                _keep_probable(chart, above, threshold, coarse_of, anchored)
                anchors = anchored
        if decoder == MAX_RULE:
            chart = fill(rules, factors[0], factors[1], lexical, sentence, anchors, beam, sums, True)
            if outside(chart, above, np.zeros(0)) > -np.inf:
                _log_posteriors(chart, above, anchored)
                anchors = anchored
        best = fill(rules, binary, unary, lexical, sentence, anchors, beam, space, False)
        if not _has_tree(best) and (anchors.shape[0] > 0 or beam < np.inf):  # pruned away
            best = fill(rules, binary, unary, lexical, sentence, no_anchors, np.inf, space, False)
        if _has_tree(best):
            filled[i] = best_tree(best, rules.root, 0, n, out, 0)
            values[i] = value(best, rules.root, 0, n)
            status[i] = WHOLE
        else:
            count, total = 0, 0.0
            for piece in range(cover(best, eligible, pieces)):
                symbol, start, end = pieces[piece, 0], pieces[piece, 1], pieces[piece, 2]
                count = best_tree(best, symbol, start, end - start, out, count)
                total += value(best, symbol, start, end - start)
            filled[i], values[i], status[i] = count, total, COVERED
        control[slot] += 1


@compiled
def _has_tree(chart: Chart) -> bool:
    return has(chart, chart.rules.root, 0, chart.n) and value(chart, chart.rules.root, 0, chart.n) > POSSIBLE


@compiled
def _keep_probable(chart: Chart, above: Any, threshold: float, coarse_of: Any, anchored: Any) -> None:
    """For each fine constituent: 0 where its coarse one is probable enough, never elsewhere."""
    n = chart.n
    triangle = chart.offsets[n + 1]
    for symbol in range(coarse_of.shape[0]):
        coarse = coarse_of[symbol]
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                at = chart.offsets[width] + start
                probable = False
                if has(chart, coarse, start, width):
                    here = place(chart, coarse, start, width)
                    probable = chart.space.values[here] * above[here] >= threshold
                anchored[symbol * triangle + at] = np.float32(0.0 if probable else NEVER)


@compiled
def _log_posteriors(chart: Chart, above: Any, anchored: Any) -> None:
    """Max-rule decoding (Petrov & Klein 2007): the best product of the posterior probabilities of rules.

    With M the best product for a constituent and I its inside value, the posterior of A → B C is O(A)·r·I(B)·I(C)/Z, so
    log M(A) + log I(A) obeys Viterbi's recurrence with log(O(A)·I(A)/Z), the constituent's own posterior, on top.
    """
    for symbol in range(chart.rules.is_top.shape[0]):
        for width in range(1, chart.n + 1):
            for start in range(chart.n - width + 1):
                here = place(chart, symbol, start, width)
                anchored[here] = np.float32(NEVER)
                if has(chart, symbol, start, width):
                    posterior = chart.space.values[here] * above[here]
                    if posterior > 0.0:
                        anchored[here] = np.float32(math.log(posterior))


@kernel
def k_best_pass(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    which: Any,
    k: int,
    beam: float,
    scores: Any,
    trees: Any,
    found: Any,
    control: Any,
    slot: int,
) -> None:
    """The k best trees of each sentence: ``trees`` has k rows of all nodes of all sentences."""
    space = new_space(rules.is_top.shape[0], _longest(at, which), np.float64(NEVER), False)
    no_anchors = np.zeros(0, np.float64)
    nodes = 1000
    for i in which:
        if control[0] != 0:
            break
        n = at[i + 1] - at[i]
        chart = fill(rules, binary, unary, lexical, words[at[i] : at[i + 1]], no_anchors, beam, space, False)
        found[i] = -1
        while found[i] < 0:
            forest = new_forest(space.values.shape[0], nodes, k, _most_actions(rules, n))
            found[i] = k_best_trees(chart, forest, scores[i], trees[:, 2 * at[i] - i : 2 * at[i + 1] - (i + 1)])
            nodes = nodes * 2 if found[i] < 0 else nodes
        control[slot] += 1


@compiled
def _most_actions(rules: Rules, n: int) -> int:
    most = rules.unary.shape[0]
    for symbol in range(rules.is_top.shape[0]):
        most = max(most, (rules.of_parent_at[symbol + 1] - rules.of_parent_at[symbol]) * n)
    return most + 1


# ---- learning


@compiled
def _count_rules(rules: Rules, nodes: Any, amount: float, counts: Any) -> None:
    """Add a derivation's rules."""
    for k in range(nodes.shape[0]):
        if nodes[k, 1] >= 0:
            counts[rules.binary.shape[0] + nodes[k, 1]] += amount
        if nodes[k, 2] >= 0:
            counts[nodes[k, 2]] += amount


@kernel
def plan_pass(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    gold: Any,
    which: Any,
    loss: float,
    on_rules: bool,
    counts: Any,
    control: Any,
    slot: int,
) -> float:
    """The rules of the best trees (Algorithms 2 to 4), added to ``counts``; returns the sum of the trees' values.

    With a loss constant, what the expert does is worth less by it: the rules of the expert's tree wherever they are
    used (``on_rules``, as in Algorithm 4), or the constituents of the expert's tree, where they are.
    """
    space = new_space(rules.is_top.shape[0], _longest(at, which), np.float32(NEVER), False)
    anchored = np.zeros(0 if on_rules or loss == 0.0 else space.values.shape[0], np.float32)
    lowered_binary, lowered_unary = binary.copy(), unary.copy()
    nodes = np.zeros((2 * _longest(at, which), 5), np.int32)
    total = 0.0
    for i in which:
        if control[0] != 0:
            break
        expert, n = gold[2 * at[i] - i : 2 * at[i + 1] - (i + 1)], at[i + 1] - at[i]
        if loss != 0.0 and on_rules:
            for k in range(expert.shape[0]):
                if expert[k, 1] >= 0:
                    lowered_unary[expert[k, 1]] = np.float64(lowered_unary[expert[k, 1]]) - loss
                if expert[k, 2] >= 0:
                    lowered_binary[expert[k, 2]] = np.float64(lowered_binary[expert[k, 2]]) - loss
        elif loss != 0.0:
            _anchor(expert, n, anchored, -loss)
        chart = fill(
            rules, lowered_binary, lowered_unary, lexical, words[at[i] : at[i + 1]], anchored, np.inf, space, False
        )
        if _has_tree(chart):
            total += value(chart, rules.root, 0, n)
            filled = best_tree(chart, rules.root, 0, n, nodes, 0)
            _count_rules(rules, nodes[:filled], 1.0, counts)
        else:  # no tree, not even the expert's: nothing to learn
            _count_rules(rules, expert, 1.0, counts)
        if loss != 0.0 and on_rules:
            for k in range(expert.shape[0]):
                if expert[k, 1] >= 0:
                    lowered_unary[expert[k, 1]] = unary[expert[k, 1]]
                if expert[k, 2] >= 0:
                    lowered_binary[expert[k, 2]] = binary[expert[k, 2]]
        elif loss != 0.0:
            _anchor(expert, n, anchored, 0.0)
        control[slot] += 1
    return total


@compiled
def _anchor(expert: Any, n: int, anchored: Any, amount: float) -> None:
    """Set the rewards of the expert's constituents."""
    offsets = row_offsets(n)
    for k in range(expert.shape[0]):
        width = expert[k, 4] - expert[k, 3]
        anchored[expert[k, 0] * offsets[n + 1] + offsets[width] + expert[k, 3]] = amount


@kernel
def expected_pass(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    gold: Any,
    which: Any,
    counts: Any,
    control: Any,
    slot: int,
) -> float:
    """The expected rules of all trees, by inside and outside values, added to ``counts``; returns Σ log Z."""
    space = new_space(rules.is_top.shape[0], _longest(at, which), np.float64(0.0), True)
    above, no_anchors = np.zeros(space.values.shape[0]), np.zeros(0)
    factors = _exponentials(binary), _exponentials(unary)
    total = 0.0
    for i in which:
        if control[0] != 0:
            break
        chart = fill(rules, factors[0], factors[1], lexical, words[at[i] : at[i + 1]], no_anchors, np.inf, space, True)
        log_z = outside(chart, above, counts)
        if log_z > -np.inf:
            total += log_z
        else:
            _count_rules(rules, gold[2 * at[i] - i : 2 * at[i + 1] - (i + 1)], 1.0, counts)
        control[slot] += 1
    return total


@kernel
def n_best_pass(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    gold: Any,
    which: Any,
    k: int,
    counts: Any,
    control: Any,
    slot: int,
) -> float:
    """Algorithm 6: the expected rules of the k best trees, added to ``counts``; returns Σ log Σ exp of their values."""
    most = _longest(at, which)
    space = new_space(rules.is_top.shape[0], most, np.float64(NEVER), False)
    no_anchors, scores, trees = np.zeros(0), np.zeros(k), np.zeros((k, 2 * most, 5), np.int32)
    nodes = 1000
    forest = new_forest(space.values.shape[0], nodes, k, _most_actions(rules, most))
    total = 0.0
    for i in which:
        if control[0] != 0:
            break
        n = at[i + 1] - at[i]
        chart = fill(rules, binary, unary, lexical, words[at[i] : at[i + 1]], no_anchors, np.inf, space, False)
        found = k_best_trees(chart, forest, scores, trees)
        while found < 0:
            nodes *= 2
            forest = new_forest(space.values.shape[0], nodes, k, _most_actions(rules, most))
            found = k_best_trees(chart, forest, scores, trees)
        if found == 0:
            _count_rules(rules, gold[2 * at[i] - i : 2 * at[i + 1] - (i + 1)], 1.0, counts)
        else:
            mass = 0.0
            for t in range(found):
                mass += math.exp(scores[t] - scores[0])
            for t in range(found):
                _count_rules(rules, trees[t, : 2 * n - 1], math.exp(scores[t] - scores[0]) / mass, counts)
            total += scores[0] + math.log(mass)
        control[slot] += 1
    return total


@kernel
def policy_pass(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    gold: Any,
    which: Any,
    temperature: float,
    gradient: Any,
    control: Any,
    slot: int,
) -> float:
    """Algorithm 5 for each sentence; adds to ``gradient`` and returns the sum of J."""
    space = new_space(rules.is_top.shape[0], _longest(at, which), np.float32(NEVER), False)
    pull, no_anchors = np.zeros(space.values.shape[0]), np.zeros(0, np.float32)
    total = 0.0
    for i in which:
        if control[0] != 0:
            break
        chart = fill(rules, binary, unary, lexical, words[at[i] : at[i + 1]], no_anchors, np.inf, space, False)
        total += policy_gradient(chart, gold[2 * at[i] - i : 2 * at[i + 1] - (i + 1)], temperature, pull, gradient)
        control[slot] += 1
    return total
