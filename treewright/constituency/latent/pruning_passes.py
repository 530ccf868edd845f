"""Learning a pruning policy: passes over sentences whose needed items are known.

An *item* is a base symbol over a span. :mod:`treewright.constituency.latent.pruning` defines the objective.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from treewright.constituency.charts.corpus import NODE, Sentences, longest, words_of
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent.blocks import Blocks, Cells, members
from treewright.constituency.latent.decoding import MAX_RULE_PRODUCT, max_rule_tree
from treewright.constituency.latent.inside import inside
from treewright.constituency.latent.masks import Masks, refine, take_mask
from treewright.constituency.latent.outside import posteriors
from treewright.constituency.latent.pruning_scores import (
    PLACE,
    SPAN,
    Scratch,
    Table,
    choose,
    look_at_places,
    new_scratch,
    score_span,
)
from treewright.policies.adagrad import adagrad
from treewright.search.bits import bit
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.hashing import random_below, seed_random

__all__ = ["Deviations", "learn_pass", "lols_pass", "what_can_be_built"]

SLIGHT = 1e-3  # gradients below this are ignored
EVEN = 2.0  # decisions with scores closer to 0 than this are nearly even


@lean
def learn_from(table: Table, scratch: Scratch, start: int, end: int, symbol: int, gradient: float, rate: float) -> None:
    """Make one step of AdaGrad on all rows of a span, for one symbol."""
    width = table.weights.shape[0] // table.rows
    for f in range(2 * PLACE + SPAN):
        if f < PLACE:
            row = scratch.place[start * 2 * PLACE + f]
        elif f < 2 * PLACE:
            row = scratch.place[end * 2 * PLACE + f]
        else:
            row = scratch.span[f - 2 * PLACE]
        here = row * width + symbol
        squares, change = adagrad(np.float64(table.spread[here]), gradient, rate, 0.0)
        table.spread[here] = np.float32(squares)
        table.weights[here] = np.float32(np.float64(table.weights[here]) + change)


@kernel
def learn_pass(
    table: Table,
    grammar: Blocks,
    sentences: Sentences,
    order: Any,
    gold: Masks,
    tradeoff: float,
    rate: float,
    roll_in: bool,
) -> float:
    """Learn from each sentence once, in the given order; returns the mean loss of a word.

    With ``roll_in``, learn only from items that the policy reaches when it decides bottom-up which items to build.
    """
    most, width = longest(sentences, order), gold.sets.shape[1]
    scratch = new_scratch(table, most)
    built = np.zeros((most * (most + 1) // 2, width), np.uint64)
    buildable, some = np.zeros((1, width), np.uint64), np.zeros((2, table.symbols), np.int64)
    loss, total = 0.0, 0
    for i in order:
        words = words_of(sentences, i)
        n = words.shape[0]
        total += n
        look_at_places(table, words, scratch)  # these sums are not updated with the weights within the sentence
        for end in range(1, n + 1):
            for start in range(end - 1, -1, -1):
                span = span_of(start, end)
                needed = gold.at[i] + span
                for w in range(width):
                    buildable[0, w] = ~np.uint64(0)
                if roll_in:
                    what_can_be_built(grammar, words, start, end, built, buildable, some)
                score_span(table, scratch, start, end)
                for symbol in range(table.symbols):
                    word, here = symbol >> 6, bit(symbol)
                    is_needed = gold.sets[needed, word] & here != np.uint64(0)
                    if not is_needed and buildable[0, word] & here == np.uint64(0):
                        continue
                    z = np.float64(scratch.score[symbol])
                    wrong = 1.0 / (1.0 + math.exp(z if is_needed else -z))  # the probability of the other action
                    gradient = -wrong if is_needed else tradeoff * wrong
                    loss -= math.log(1.0 - wrong) * (1.0 if is_needed else tradeoff)
                    if abs(gradient) > SLIGHT * tradeoff:
                        learn_from(table, scratch, start, end, symbol, gradient, rate)
                if roll_in:
                    choose(table, 0.0, words, start, end, scratch, built, span)
                    for w in range(width):
                        built[span, w] &= buildable[0, w]
    return loss / max(total, 1)


@lean
def what_can_be_built(grammar: Blocks, words: Any, start: int, end: int, built: Any, out: Any, some: Any) -> None:
    """Find the base symbols that some rule derives from the items built within a span, or from its word."""
    rules = grammar.rules
    for w in range(out.shape[1]):
        out[0, w] = np.uint64(0)
    if end - start == 1:
        for entry in range(grammar.word_at[words[start]], grammar.word_at[words[start] + 1]):
            out[0, grammar.tag[entry] >> 6] |= bit(grammar.tag[entry])
    for split in range(start + 1, end):
        left_span, right_span = span_of(start, split), span_of(split, end)
        lefts, rights = members(built, left_span, some[0]), members(built, right_span, some[1])
        for j in range(lefts):
            for k in range(rights):
                pair = grammar.pair[some[0, j], some[1, k]]
                if pair >= 0:
                    for w in range(out.shape[1]):
                        out[0, w] |= grammar.parents[pair, w]
    for rule in range(rules.unary.shape[0]):
        top, bottom = rules.unary[rule, 0], rules.unary[rule, 1]
        if out[0, bottom >> 6] & bit(bottom) != np.uint64(0):
            out[0, top >> 6] |= bit(top)


class Deviations(NamedTuple):
    """The decisions for which both actions are tried."""

    times: int  # the number of decisions in each sentence
    of_an_item: float  # the unit of time: the average work for an item
    seed: int
    number: int  # the number of the pass


@kernel
def lols_pass(
    table: Table,
    grammar: Blocks,
    sentences: Sentences,
    order: Any,
    gold: Masks,
    tradeoff: float,
    rate: float,
    deviations: Deviations,
    cells: Cells,
) -> float:
    """Parse with both actions for some decisions of each sentence; learn from the difference. Returns the mean reward.

    The reward is the number of items of the tree that the treebank's tree has too, minus λ times the time, which is the
    work done in units of ``deviations.of_an_item``. Deviations are drawn from decisions that are nearly even.
    """
    most = longest(sentences, order)
    scratch = new_scratch(table, most)
    spans, price = most * (most + 1) // 2, tradeoff / deviations.of_an_item
    sets, nodes = np.zeros((spans, gold.sets.shape[1]), np.uint64), np.zeros((2 * most, NODE), np.int32)
    near, random = np.zeros((spans * 4, 3), np.int64), np.zeros(2, np.int64)
    total = 0.0
    for i in order:
        words = words_of(sentences, i)
        n = words.shape[0]
        seed_random(random, deviations.seed, deviations.number, i)
        look_at_places(table, words, scratch)
        count = 0
        for end in range(1, n + 1):
            for start in range(end):
                score_span(table, scratch, start, end)
                choose(table, 0.0, words, start, end, scratch, sets, span_of(start, end))
                for symbol in range(table.symbols):
                    if abs(scratch.score[symbol]) < EVEN and count < near.shape[0]:
                        near[count, 0], near[count, 1], near[count, 2] = symbol, start, end
                        count += 1
        usual = _reward_of(grammar, words, sets, gold, i, cells, nodes, price)
        total += usual
        for _ in range(deviations.times if count > 0 else 0):
            k = random_below(random, count)
            symbol, start, end = near[k, 0], near[k, 1], near[k, 2]
            span, word = span_of(start, end), symbol >> 6
            was_built = sets[span, word] & bit(symbol) != np.uint64(0)
            sets[span, word] ^= bit(symbol)
            other = _reward_of(grammar, words, sets, gold, i, cells, nodes, price)
            sets[span, word] ^= bit(symbol)
            gain = usual - other if was_built else other - usual  # the gain of building the item
            score_span(table, scratch, start, end)
            z = np.float64(scratch.score[symbol])
            wrong = 1.0 / (1.0 + math.exp(z if gain > 0.0 else -z))
            if gain != 0.0:
                learn_from(table, scratch, start, end, symbol, -gain * wrong, rate)
    return total / max(len(order), 1)


@compiled
def _reward_of(
    grammar: Blocks, words: Any, sets: Any, gold: Masks, i: int, cells: Cells, nodes: Any, price: float
) -> float:
    """Return accuracy − λ · time of parsing sentence i with a mask, in items; without a tree, accuracy is 0."""
    n, rules = words.shape[0], grammar.rules
    cells.work[0] = 0
    take_mask(sets, 0, n, cells)
    refine(grammar, n, cells)
    filled = 0
    if inside(grammar, words, cells, 0.0, None):
        anchored, count = posteriors(grammar, n, cells)
        filled = max_rule_tree(grammar, n, cells, anchored, count, MAX_RULE_PRODUCT, nodes)
    right = 0
    for k in range(filled):
        span, symbol = gold.at[i] + span_of(nodes[k, 3], nodes[k, 4]), nodes[k, 0]
        right += gold.sets[span, symbol >> 6] & bit(symbol) != np.uint64(0)
        if nodes[k, 1] >= 0:
            top = rules.unary[nodes[k, 1], 0]
            right += gold.sets[span, top >> 6] & bit(top) != np.uint64(0)
    return right - price * cells.work[0]
