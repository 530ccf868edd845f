"""Parsing with latent-variable grammars: charts that build only what a mask allows, coarse-to-fine, max-rule decoding.

The symbols of a treebank grammar (the *base*) are split into substates, and a rule A → B C has a block of numbers, one
for each (b, c, a). In a span from i to j, of all splits k,

    X(b, c) = ⊕ over k of     V(B, b, i, k) ⊗ V(C, c, k, j)               for each pair of base symbols B, C
    V(A, a, i, j) = ⊕ over B, C, b, c of  r(A, a → B, b  C, c) ⊗ X(b, c)   and unary rules above, once

in plain, scaled numbers: ⊕ is max (Viterbi) or + (inside), ⊗ is ×. Outside values come from the same products X.

Three things make it fast. A *mask* says for each span and base symbol which of its substates may be built, as the bits
of one number (so a symbol has at most 64 substates); everything else is never touched. What pairs of symbols there are
is found by sets of bits. And a rule is a list of blocks, each with eight of the parent's substates for one (b, c),
without the blocks that are zero: most of them, once EM has found out what the substates are good for.

A cell has room for all substates of all symbols, so a chart of n words takes 16·n·(n+1)/2 bytes a substate (inside and
outside); with a thousand substates that is 13 MB for 40 words and 80 MB for 100.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.chart import (
    NEVER,
    POSSIBLE,
    Chart,
    Lexical,
    Rules,
    fill,
    has,
    new_space,
    outside,
    place,
    value,
)
from treewright.constituency.derivations import NODE, best_tree, cover, write_node
from treewright.constituency.grammar import BOTTOM
from treewright.constituency.latent import LatentGrammar
from treewright.corpora import Tree
from treewright.errors import ConfigError
from treewright.search.bits import bit, lowest
from treewright.search.compiling import compiled, inlined, kernel, lean
from treewright.search.lanes import LANES, add_scaled, set_block
from treewright.search.running import run_shards
from treewright.search.task import Engine

__all__ = ["DECODERS", "CoarseToFine", "Derivation"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[Any]

VITERBI, MAX_RULE_PRODUCT, MAX_RULE_SUM = 0, 1, 2
DECODERS = {"viterbi": VITERBI, "max-rule-product": MAX_RULE_PRODUCT, "max-rule-sum": MAX_RULE_SUM}
LEAST = 1e-12  # anchored rules less probable than this are in no tree that max-rule decoding looks at


class Blocks(NamedTuple):
    """A latent-variable grammar as kernels see it. Rules are numbered as in the base: binary ones, then unary ones."""

    rules: Rules  # of the base
    substates: Ints  # how many each base symbol has
    at: Longs  # where those of each symbol begin in a cell: whole blocks
    pair: Ints  # base symbols × base symbols: the number of the pair, or −1
    partners: Bits  # base symbols × words of bits: the right children that there are for a left child
    parents: Bits  # pairs × words of bits: the parents that a pair has
    block_at: Longs  # for each rule, where its blocks begin
    left: Ints  # of each block the substate of the left child (of the only one)
    right: Ints  # and of the right child (0 for unary rules)
    block: Ints  # and where it belongs among the parent's substates
    weight: Floats  # blocks × LANES, flat
    word_at: Longs  # for each kind of word, where its tags begin
    tag: Ints  # their base symbols
    tag_place: Longs  # and places in a cell
    tag_weight: Floats  # and probabilities, in parts of the largest
    word_scale: Floats  # whose logarithm this is
    finer_at: Longs  # for each base symbol, where its substates of the next coarser level begin
    finer: Bits  # for each of these, the set of its substates here


class Room(NamedTuple):
    """Room for charts, used again for sentence after sentence."""

    allowed: Bits  # spans × words of bits: which base symbols may be built
    mask: Bits  # spans × base symbols: which substates of these
    present: Bits  # spans × words of bits: which were
    values: Floats  # spans × substates in whole blocks, flat
    above: Floats  # outside values, in the same order
    scale: Floats  # the logarithm of each span's factor
    factor: Floats  # for each split, what its parts' factors are to that of the whole
    product_at: Longs  # for each pair where its X is; −1: it has none
    product: Floats  # X, one pair after the other
    pairs: Longs  # the pairs that have one
    down: Floats  # what the parent hands down to each block of a rule
    some: Longs  # some symbols, while a loop goes through them
    work: Longs  # how many blocks of rules have been applied: a measure of time that is the same everywhere
    best: Floats  # spans × base symbols: the best that max-rule decoding has found
    choice: Longs  # and how


@lean
def span_of(start: int, end: int) -> int:
    """The number of a span. Spans come in chart order if ends rise and, for each end, starts fall."""
    return end * (end - 1) // 2 + start


@inlined
def _meet(one: Any, i: int, two: Any, j: int) -> bool:
    """Have two sets of base symbols a member in common?"""
    common = np.uint64(0)
    for w in range(one.shape[1]):
        common |= one[i, w] & two[j, w]
    return common != np.uint64(0)


@inlined
def _is_in(sets: Any, span: int, symbol: int) -> bool:
    return (sets[span, symbol >> 6] & bit(symbol)) != np.uint64(0)


@lean
def members(sets: Any, span: int, out: Any) -> int:
    """List the members of a set of base symbols; returns how many they are."""
    count = 0
    for w in range(sets.shape[1]):
        rest = sets[span, w]
        while rest != np.uint64(0):
            out[count] = 64 * w + lowest(rest)
            rest &= rest - np.uint64(1)
            count += 1
    return count


@inlined
def _raise_to_scaled(out: Any, o: int, left: Any, i: int, by: float) -> None:
    """out ← max(out, left · a number), for a block of each."""
    for k in range(LANES):
        out[o + k] = max(out[o + k], left[i + k] * by)


@inlined
def _dot(left: Any, i: int, right: Any, j: int) -> float:
    """The inner product of two blocks."""
    one = left[i] * right[j] + left[i + 1] * right[j + 1]
    two = left[i + 2] * right[j + 2] + left[i + 3] * right[j + 3]
    three = left[i + 4] * right[j + 4] + left[i + 5] * right[j + 5]
    four = left[i + 6] * right[j + 6] + left[i + 7] * right[j + 7]
    return (one + two) + (three + four)


# ---- inside


@lean
def inside(grammar: Blocks, words: Any, room: Room, beam: float, summing: bool) -> bool:
    """Fill the chart of a sentence, whose words are given as rows of the lexicon; returns whether it has a tree.

    With ``summing`` values are inside probabilities, else those of the best derivations; the largest of each span is 1.
    With ``beam`` above 0, substates below that part of the largest are dropped.
    """
    n = words.shape[0]
    rules, values, present = grammar.rules, room.values, room.present
    allowed, some = room.allowed, room.some
    at, stride = grammar.at, grammar.at[grammar.at.shape[0] - 1]
    n_binary = rules.binary.shape[0]
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            span = span_of(start, end)
            cell = span * stride
            room.scale[span] = -np.inf
            for w in range(present.shape[1]):
                present[span, w] = np.uint64(0)
            if not _meet(allowed, span, allowed, span):
                continue
            if end - start == 1:
                row = words[start]
                for entry in range(grammar.word_at[row], grammar.word_at[row + 1]):
                    if _is_in(allowed, span, grammar.tag[entry]):
                        _claim(grammar, room, span, grammar.tag[entry])
                        values[cell + grammar.tag_place[entry]] = grammar.tag_weight[entry]
                room.scale[span] = grammar.word_scale[row]
            else:
                for p in range(_products(grammar, room, start, end, summing)):
                    pair = room.pairs[p]
                    right = rules.right[pair]
                    width = at[right + 1] - at[right]
                    for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                        parent = rules.binary[rule, 0]
                        if _is_in(allowed, span, parent):
                            _claim(grammar, room, span, parent)
                            room.work[0] += grammar.block_at[rule + 1] - grammar.block_at[rule]
                            _apply(
                                grammar,
                                rule,
                                room.product,
                                room.product_at[pair],
                                width,
                                values,
                                cell + at[parent],
                                summing,
                            )
                    room.product_at[pair] = -1
            _settle(grammar, room, span, beam, False)
            for k in range(members(allowed, span, some)):
                top = some[k]
                for j in range(rules.of_top_at[top], rules.of_top_at[top + 1]):
                    rule = rules.of_top[j]
                    bottom = rules.unary[rule, 1]
                    if _is_in(present, span, bottom):
                        _claim(grammar, room, span, top)
                        _apply(grammar, n_binary + rule, values, cell + at[bottom], 1, values, cell + at[top], summing)
            _settle(grammar, room, span, beam, True)
            _rescale(grammar, room, span)
    return _is_in(present, span_of(0, n), rules.root)


@inlined
def _claim(grammar: Blocks, room: Room, span: int, symbol: int) -> None:
    """Make the place of a symbol ready the first time that something is written to it."""
    if not _is_in(room.present, span, symbol):
        room.present[span, symbol >> 6] |= bit(symbol)
        cell = span * grammar.at[grammar.at.shape[0] - 1]
        for k in range(cell + grammar.at[symbol], cell + grammar.at[symbol + 1], LANES):
            set_block(room.values, k, 0.0)


@lean
def _products(grammar: Blocks, room: Room, start: int, end: int, summing: bool) -> int:
    """X of all pairs that lead to an allowed parent, whose scale is set as the span's; returns how many there are."""
    span, stride = span_of(start, end), grammar.at[grammar.at.shape[0] - 1]
    present, scale = room.present, room.scale
    values, product = room.values, room.product
    largest = -np.inf
    for split in range(start + 1, end):
        largest = max(largest, scale[span_of(start, split)] + scale[span_of(split, end)])
    count, filled = 0, 0
    for split in range(start + 1, end):
        left_span, right_span = span_of(start, split), span_of(split, end)
        both = scale[left_span] + scale[right_span]
        room.factor[split] = math.exp(both - largest) if both > -np.inf else 0.0
        if room.factor[split] == 0.0:
            continue
        for v in range(present.shape[1]):
            lefts = present[left_span, v]
            while lefts != np.uint64(0):
                left = 64 * v + lowest(lefts)
                lefts &= lefts - np.uint64(1)
                for w in range(present.shape[1]):
                    rights = grammar.partners[left, w] & present[right_span, w]
                    while rights != np.uint64(0):
                        right = 64 * w + lowest(rights)
                        rights &= rights - np.uint64(1)
                        pair = grammar.pair[left, right]
                        if not _meet(grammar.parents, pair, room.allowed, span):
                            continue
                        width = grammar.at[right + 1] - grammar.at[right]
                        if room.product_at[pair] < 0:
                            room.product_at[pair] = filled
                            room.pairs[count] = pair
                            count += 1
                            for k in range(filled, filled + grammar.substates[left] * width, LANES):
                                set_block(product, k, 0.0)
                            filled += grammar.substates[left] * width
                        at = room.product_at[pair]
                        at_left = left_span * stride + grammar.at[left]
                        at_right = right_span * stride + grammar.at[right]
                        for b in range(grammar.substates[left]):
                            by = values[at_left + b] * room.factor[split]
                            if by > 0.0:
                                for k in range(0, width, LANES):
                                    if summing:
                                        add_scaled(product, at + b * width + k, values, at_right + k, by)
                                    else:
                                        _raise_to_scaled(product, at + b * width + k, values, at_right + k, by)
    scale[span] = largest
    return count


@inlined
def _apply(grammar: Blocks, rule: int, source: Any, first: int, width: int, out: Any, at: int, summing: bool) -> None:
    """One rule: its blocks, each times the number that the source has for (b, c), ⊕ to the parent's substates."""
    for k in range(grammar.block_at[rule], grammar.block_at[rule + 1]):
        x = source[first + grammar.left[k] * width + grammar.right[k]]
        if summing:
            add_scaled(out, at + grammar.block[k], grammar.weight, k * LANES, x)
        else:
            _raise_to_scaled(out, at + grammar.block[k], grammar.weight, k * LANES, x)


@lean
def _settle(grammar: Blocks, room: Room, span: int, beam: float, tops: bool) -> None:
    """Drop the substates that the mask or the beam forbids, of symbols that start unary chains or of the others."""
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    values, present = room.values, room.present
    symbols = members(present, span, room.some)
    largest = 0.0
    for turn in range(2 if beam > 0.0 else 1):
        for k in range(symbols):
            symbol = room.some[k]
            if grammar.rules.is_top[symbol] != tops:
                continue
            mask, some, at = room.mask[span, symbol], 0.0, cell + grammar.at[symbol]
            for a in range(grammar.substates[symbol]):
                if (mask & bit(a)) == np.uint64(0) or values[at + a] < beam * largest:
                    values[at + a] = 0.0
                some = max(some, np.float64(values[at + a]))
            if turn == 0:
                largest = max(largest, some)
            if some == 0.0:
                present[span, symbol >> 6] &= ~bit(symbol)


@lean
def _rescale(grammar: Blocks, room: Room, span: int) -> None:
    """Divide by the largest number of the span."""
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    symbols = members(room.present, span, room.some)
    largest = 0.0
    for k in range(symbols):
        for j in range(cell + grammar.at[room.some[k]], cell + grammar.at[room.some[k] + 1]):
            largest = max(largest, np.float64(room.values[j]))
    if largest == 0.0:  # nothing spans these words
        room.scale[span] = -np.inf
        return
    room.scale[span] += math.log(largest)
    by = 1.0 / largest
    for k in range(symbols):
        for j in range(cell + grammar.at[room.some[k]], cell + grammar.at[room.some[k] + 1]):
            room.values[j] *= by


# ---- outside, and the posteriors of anchored rules


class Anchored(NamedTuple):
    """The anchored rules of a sentence that are probable enough: from wide spans to narrow ones, unary rules first.

    A rule is numbered as in the base, binary ones first; behind all rules come the symbols of tags, over their words.
    """

    what: Ints  # rule, start, split (0 if it is not binary), end
    probability: Floats


@compiled
def new_anchored(size: int) -> Anchored:
    """Room for so many."""
    return Anchored(np.empty((size, 4), np.int32), np.empty(size))


@lean
def _anchor(anchored: Anchored, count: int, rule: int, start: int, split: int, end: int, probability: float) -> int:
    """Write one down, if it is probable and there is room; returns their new number, wherever there is room."""
    if probability < LEAST:
        return count
    if count < anchored.probability.shape[0]:
        anchored.what[count, 0] = rule
        anchored.what[count, 1] = start
        anchored.what[count, 2] = split
        anchored.what[count, 3] = end
        anchored.probability[count] = probability
    return count + 1


@lean
def outside_of(grammar: Blocks, n: int, room: Room, anchored: Anchored) -> int:
    """The outside values of a chart of sums that has a tree; inside × outside is the posterior probability.

    Writes down the anchored rules if there is room for any. Returns how many there are, which may be more than there
    was room for.
    """
    rules, values, above = grammar.rules, room.values, room.above
    present, product, down = room.present, room.product, room.down
    at, stride = grammar.at, grammar.at[grammar.at.shape[0] - 1]
    n_binary, n_rules = rules.binary.shape[0], rules.binary.shape[0] + rules.unary.shape[0]
    some = room.some
    listing = anchored.probability.shape[0] > 0
    count = 0
    for span in range(span_of(0, n) + n):
        for k in range(members(present, span, some)):
            for j in range(span * stride + at[some[k]], span * stride + at[some[k] + 1], LANES):
                set_block(above, j, 0.0)
    root = span_of(0, n) * stride + at[rules.root]
    above[root] = 1.0 / values[root]
    for end in range(n, 0, -1):
        for start in range(end):
            span = span_of(start, end)
            cell = span * stride
            if room.scale[span] == -np.inf:
                continue
            symbols = members(present, span, some)
            for k in range(symbols):  # what is not in the chart hands nothing down, although its parts may be there
                for j in range(cell + at[some[k]], cell + at[some[k] + 1]):
                    if values[j] == 0.0:
                        above[j] = 0.0
            for s in range(symbols):
                top = some[s]
                for j in range(rules.of_top_at[top], rules.of_top_at[top + 1]):
                    rule = rules.of_top[j]
                    bottom = rules.unary[rule, 1]
                    if not _is_in(present, span, bottom):
                        continue
                    probability = 0.0
                    for k in range(grammar.block_at[n_binary + rule], grammar.block_at[n_binary + rule + 1]):
                        b = cell + at[bottom] + grammar.left[k]
                        if values[b] > 0.0:
                            d = _dot(above, cell + at[top] + grammar.block[k], grammar.weight, k * LANES)
                            above[b] += d
                            probability += d * values[b]
                    if listing:
                        count = _anchor(anchored, count, n_binary + rule, start, 0, end, probability)
            if end - start == 1:
                for s in range(symbols if listing else 0):
                    if not rules.is_top[some[s]]:
                        probability = 0.0
                        for k in range(cell + at[some[s]], cell + at[some[s] + 1], LANES):
                            probability += _dot(above, k, values, k)
                        count = _anchor(anchored, count, n_rules + some[s], start, 0, end, probability)
                continue
            whole = room.scale[span]
            pairs = _products(grammar, room, start, end, True)
            ratio = math.exp(room.scale[span] - whole)
            room.scale[span] = whole
            for p in range(pairs):
                pair = room.pairs[p]
                x = room.product_at[pair]
                room.product_at[pair] = -1
                left, right = rules.binary[rules.rule_at[pair], 1], rules.right[pair]
                width = at[right + 1] - at[right]
                for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                    parent = rules.binary[rule, 0]
                    if not _is_in(present, span, parent):
                        continue
                    first, last = grammar.block_at[rule], grammar.block_at[rule + 1]
                    probability = 0.0
                    for k in range(first, last):
                        d = ratio * _dot(above, cell + at[parent] + grammar.block[k], grammar.weight, k * LANES)
                        down[k - first] = d
                        probability += d * product[x + grammar.left[k] * width + grammar.right[k]]
                    if probability == 0.0:
                        continue
                    for split in range(start + 1, end):
                        left_span, right_span = span_of(start, split), span_of(split, end)
                        if not _is_in(present, left_span, left) or not _is_in(present, right_span, right):
                            continue
                        at_left, at_right = left_span * stride + at[left], right_span * stride + at[right]
                        probability = 0.0
                        for k in range(first, last):
                            b, c = at_left + grammar.left[k], at_right + grammar.right[k]
                            one, two, d = values[b], values[c], down[k - first] * room.factor[split]
                            above[b] += d * two
                            above[c] += d * one
                            probability += d * one * two
                        if listing:
                            count = _anchor(anchored, count, rule, start, split, end, probability)
    return count


# ---- decoders


@compiled
def max_rule_tree(grammar: Blocks, n: int, room: Room, anchored: Anchored, count: int, decoder: int, nodes: Any) -> int:
    """Max-rule decoding (Petrov & Klein 2007, §3): the tree with the largest product, or sum, of its rules' posteriors.

    With q(r, i, k, j) the posterior of an anchored rule, M(A, i, j) = max over r and k of q·M(B, i, k)·M(C, k, j).
    Anchored rules come from wide spans to narrow ones, so that going through them backwards has all parts ready.
    Returns the number of nodes, 0 where there is no tree.
    """
    rules = grammar.rules
    n_binary, n_unary = rules.binary.shape[0], rules.unary.shape[0]
    best, choice = room.best, room.choice
    for span in range(span_of(0, n) + n):
        for k in range(members(room.present, span, room.some)):
            best[span, room.some[k]], choice[span, room.some[k]] = -np.inf, -1
    for k in range(count - 1, -1, -1):
        rule, start, split, end = anchored.what[k, 0], anchored.what[k, 1], anchored.what[k, 2], anchored.what[k, 3]
        span, q = span_of(start, end), anchored.probability[k]
        gain = math.log(q) if decoder == MAX_RULE_PRODUCT else q
        if rule < n_binary:
            symbol = rules.binary[rule, 0]
            gain += (
                best[span_of(start, split), rules.binary[rule, 1]] + best[span_of(split, end), rules.binary[rule, 2]]
            )
        elif rule < n_binary + n_unary:
            symbol = rules.unary[rule - n_binary, 0]
            gain += best[span, rules.unary[rule - n_binary, 1]]
        else:
            symbol = rule - n_binary - n_unary
        if gain > best[span, symbol]:
            best[span, symbol], choice[span, symbol] = gain, k
    if choice[span_of(0, n), rules.root] < 0:
        return 0
    stack = np.empty((n + 2, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = rules.root, 0, n
    height, filled = 1, 0
    while height > 0:
        height -= 1
        symbol, start, end = stack[height, 0], stack[height, 1], stack[height, 2]
        span, above, below = span_of(start, end), -1, -1
        if rules.is_top[symbol]:
            above = anchored.what[choice[span, symbol], 0] - n_binary
            symbol = np.int64(rules.unary[above, 1])
        if end - start > 1:
            below, split = anchored.what[choice[span, symbol], 0], anchored.what[choice[span, symbol], 2]
            stack[height, 0], stack[height, 1], stack[height, 2] = rules.binary[below, 2], split, end
            stack[height + 1, 0], stack[height + 1, 1], stack[height + 1, 2] = rules.binary[below, 1], start, split
            height += 2
        write_node(nodes, filled, symbol, above, below, start, end)
        filled += 1
    return filled


@compiled
def viterbi_tree(grammar: Blocks, n: int, room: Room, nodes: Any) -> int:
    """The best derivation in substates, of a Viterbi chart that has one, as one of the base; returns its size."""
    rules = grammar.rules
    stack = np.empty((n + 2, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = rules.root, 0, 0, n
    height, filled = 1, 0
    while height > 0:
        height -= 1
        symbol, substate, start, end = stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3]
        above, below = -1, -1
        if rules.is_top[symbol]:
            above, substate = _best_unary(grammar, room, symbol, substate, start, end)
            symbol = np.int64(rules.unary[above, 1])
        if end - start > 1:
            below, split, b, c = _best_binary(grammar, room, symbol, substate, start, end)
            stack[height, 0], stack[height, 1] = rules.binary[below, 2], c
            stack[height, 2], stack[height, 3] = split, end
            stack[height + 1, 0], stack[height + 1, 1] = rules.binary[below, 1], b
            stack[height + 1, 2], stack[height + 1, 3] = start, split
            height += 2
        write_node(nodes, filled, symbol, above, below, start, end)
        filled += 1
    return filled


@lean
def _best_unary(grammar: Blocks, room: Room, top: int, a: int, start: int, end: int) -> tuple[int, int]:
    """The best unary rule of a substate over a span: its number, and the bottom's substate."""
    rules, span = grammar.rules, span_of(start, end)
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    best, choice, substate = 0.0, np.int64(-1), np.int64(0)
    for entry in range(rules.of_top_at[top], rules.of_top_at[top + 1]):
        rule = rules.of_top[entry]
        bottom = rules.unary[rule, 1]
        if _is_in(room.present, span, bottom):
            number = rules.binary.shape[0] + rule
            for k in range(grammar.block_at[number], grammar.block_at[number + 1]):
                if 0 <= a - grammar.block[k] < LANES:
                    b = grammar.left[k]
                    v = room.values[cell + grammar.at[bottom] + b] * grammar.weight[k * LANES + a - grammar.block[k]]
                    if v > best:
                        best, choice, substate = np.float64(v), np.int64(rule), np.int64(b)
    return choice, substate


@lean
def _best_binary(grammar: Blocks, room: Room, parent: int, a: int, start: int, end: int) -> tuple[int, int, int, int]:
    """The best binary rule of a substate over a span: its number, its split, and the children's substates."""
    rules, stride = grammar.rules, grammar.at[grammar.at.shape[0] - 1]
    scale, largest = room.scale, -np.inf
    for split in range(start + 1, end):
        largest = max(largest, scale[span_of(start, split)] + scale[span_of(split, end)])
    best, choice, where = 0.0, np.int64(-1), np.int64(0)
    one, two = np.int64(0), np.int64(0)
    for split in range(start + 1, end):
        left_span, right_span = span_of(start, split), span_of(split, end)
        both = scale[left_span] + scale[right_span]
        factor = math.exp(both - largest) if both > -np.inf else 0.0
        for entry in range(rules.of_parent_at[parent], rules.of_parent_at[parent + 1]):
            rule = rules.of_parent[entry]
            left, right = rules.binary[rule, 1], rules.binary[rule, 2]
            if not _is_in(room.present, left_span, left) or not _is_in(room.present, right_span, right):
                continue
            at_left, at_right = left_span * stride + grammar.at[left], right_span * stride + grammar.at[right]
            for k in range(grammar.block_at[rule], grammar.block_at[rule + 1]):
                if 0 <= a - grammar.block[k] < LANES:
                    b, c = grammar.left[k], grammar.right[k]
                    v = room.values[at_left + b] * room.values[at_right + c] * factor
                    v *= grammar.weight[k * LANES + a - grammar.block[k]]
                    if v > best:
                        best, choice, where = np.float64(v), np.int64(rule), np.int64(split)
                        one, two = np.int64(b), np.int64(c)
    return choice, where, one, two


# ---- masks, from the coarse to the fine


@lean
def allow_all(n: int, room: Room) -> None:
    """A mask that forbids nothing."""
    for span in range(span_of(0, n) + n):
        for symbol in range(room.mask.shape[1]):
            room.allowed[span, symbol >> 6] |= bit(symbol)
            room.mask[span, symbol] = ~np.uint64(0)


@lean
def take_mask(masks: Any, first: int, n: int, room: Room) -> None:
    """A mask of base symbols that somebody else made: sets for all spans."""
    for span in range(span_of(0, n) + n):
        for w in range(masks.shape[1]):
            room.allowed[span, w] = masks[first + span, w]
        for k in range(members(masks, first + span, room.some)):
            room.mask[span, room.some[k]] = np.uint64(1)


@lean
def keep_probable(grammar: Blocks, n: int, room: Room, threshold: float) -> None:
    """Allow the substates whose posterior is at least the threshold (Petrov & Klein 2007, §2)."""
    stride = grammar.at[grammar.at.shape[0] - 1]
    for span in range(span_of(0, n) + n):
        for w in range(room.allowed.shape[1]):
            room.allowed[span, w] = np.uint64(0)
        for k in range(members(room.present, span, room.some)):
            symbol, mask = room.some[k], np.uint64(0)
            at = span * stride + grammar.at[symbol]
            for a in range(grammar.substates[symbol]):
                if room.values[at + a] * room.above[at + a] >= threshold:
                    mask |= bit(a)
            if mask != np.uint64(0):
                room.allowed[span, symbol >> 6] |= bit(symbol)
                room.mask[span, symbol] = mask


@lean
def refine(grammar: Blocks, n: int, room: Room) -> None:
    """Turn a mask of the next coarser level into one of this level: whatever descends from an allowed substate."""
    for span in range(span_of(0, n) + n):
        for k in range(members(room.allowed, span, room.some)):
            symbol = room.some[k]
            coarse, fine = room.mask[span, symbol], np.uint64(0)
            while coarse != np.uint64(0):
                fine |= grammar.finer[grammar.finer_at[symbol] + lowest(coarse)]
                coarse &= coarse - np.uint64(1)
            room.mask[span, symbol] = fine


@lean
def keep_probable_symbols(chart: Chart, above: Any, room: Room, threshold: float) -> None:
    """Allow the base symbols whose posterior under the treebank grammar is at least the threshold."""
    n = chart.n
    for span in range(span_of(0, n) + n):
        for w in range(room.allowed.shape[1]):
            room.allowed[span, w] = np.uint64(0)
    for symbol in range(room.mask.shape[1]):
        for width in range(1, n + 1):
            if chart.space.starts[symbol, width] == np.uint64(0):
                continue
            here = place(chart, symbol, 0, width)
            for start in range(n - width + 1):
                if chart.space.values[here + start] * above[here + start] >= threshold:
                    span = span_of(start, start + width)
                    room.allowed[span, symbol >> 6] |= bit(symbol)
                    room.mask[span, symbol] = np.uint64(1)


# ---- passes over a corpus


class LatentCharts(Engine):
    """Handed to the kernels here, it puts the digest of this file and of what it imports in the key of their cache."""

    def is_final(x: Any, state: Any) -> bool:  # type: ignore[override]
        """Of no use; but it makes this file one of the task's sources."""
        return True


LATENT_CHARTS = LatentCharts()

WHOLE, COVERED = 0, 1  # did a sentence get one tree, or pieces?
RELAXED = (1.0, 1e-3, 1e-6)  # thresholds are multiplied by these in turn, until there is a tree


class Treebank(NamedTuple):
    """The base grammar as the ordinary chart takes it, its scores as plain factors and as logarithms."""

    rules: Rules
    lexical: Lexical
    binary: Floats
    unary: Floats
    log_binary: Floats
    log_unary: Floats
    eligible: npt.NDArray[np.bool_]  # the symbols that cover a sentence without a tree


@lean
def _sizes(grammar: Blocks) -> tuple[int, int, int]:
    """How many substates a cell has, how many numbers all products X together, and how many blocks a rule at most."""
    products, blocks = np.int64(LANES), np.int64(1)
    for pair in range(grammar.parents.shape[0]):
        left, right = grammar.rules.binary[grammar.rules.rule_at[pair], 1], grammar.rules.right[pair]
        products += grammar.substates[left] * (grammar.at[right + 1] - grammar.at[right])
    for rule in range(grammar.block_at.shape[0] - 1):
        blocks = max(blocks, grammar.block_at[rule + 1] - grammar.block_at[rule])
    return grammar.at[grammar.at.shape[0] - 1], products, blocks


@compiled
def new_room(coarse: Blocks, fine: Blocks, n: int) -> Room:
    """Room for sentences of up to n words at both levels."""
    spans = span_of(0, n) + n
    substates, products, blocks = _sizes(coarse)
    others = _sizes(fine)
    substates, products, blocks = max(substates, others[0]), max(products, others[1]), max(blocks, others[2])
    n_symbols, n_pairs = fine.substates.shape[0], fine.parents.shape[0]
    words = fine.partners.shape[1]
    zero = fine.weight[:1] * 0
    return Room(
        np.zeros((spans, words), np.uint64),
        np.zeros((spans, n_symbols), np.uint64),
        np.zeros((spans, words), np.uint64),
        np.empty(spans * substates, zero.dtype),
        np.empty(spans * substates, zero.dtype),
        np.zeros(spans),
        np.zeros(n + 1),
        np.full(n_pairs, np.int64(-1)),
        np.empty(products, zero.dtype),
        np.zeros(n_pairs, np.int64),
        np.empty(blocks, zero.dtype),
        np.zeros(n_symbols, np.int64),
        np.zeros(1, np.int64),
        np.empty((spans, n_symbols)),
        np.empty((spans, n_symbols), np.int64),
    )


@compiled
def descend(
    coarse: Blocks,
    fine: Blocks,
    words: Any,
    room: Room,
    thresholds: Any,
    relaxed: float,
    beam: float,
    decoder: int,
    nodes: Any,
) -> int:
    """From a mask of base symbols to a tree, with two thresholds through the coarser level; returns its nodes, or 0."""
    n = words.shape[0]
    if thresholds.shape[0] > 1:
        refine(coarse, n, room)
        if not inside(coarse, words, room, 0.0, True):
            return 0
        outside_of(coarse, n, room, new_anchored(0))
        keep_probable(coarse, n, room, thresholds[1] * relaxed)
    refine(fine, n, room)
    return decode(fine, words, room, beam, decoder, nodes)


@compiled
def decode(grammar: Blocks, words: Any, room: Room, beam: float, decoder: int, nodes: Any) -> int:
    """The tree of a sentence, built of what the mask allows; returns the number of its nodes, 0 if there is none."""
    n = words.shape[0]
    if not inside(grammar, words, room, beam, decoder != VITERBI):
        return 0
    if decoder == VITERBI:
        return viterbi_tree(grammar, n, room, nodes)
    anchored = new_anchored(200 * n)
    count = outside_of(grammar, n, room, anchored)
    if count > anchored.probability.shape[0]:
        anchored = new_anchored(count)
        count = outside_of(grammar, n, room, anchored)
    return max_rule_tree(grammar, n, room, anchored, count, decoder, nodes)


@kernel
def latent_pass(
    charts: Any,
    treebank: Treebank,
    coarse: Blocks,
    fine: Blocks,
    words: Any,
    at: Any,
    which: Any,
    masks: Any,
    mask_at: Any,
    decoder: int,
    thresholds: Any,
    beam: float,
    nodes: Any,
    filled: Any,
    status: Any,
    control: Any,
    slot: int,
) -> None:
    """The tree of each sentence, as a derivation of the base. ``nodes`` has 2n − 1 rows each, ``filled`` of them used.

    ``masks``, unless empty, are sets of base symbols for all spans of all sentences, which begin at ``mask_at``: the
    first that is tried. Without masks, or where they leave no tree, the treebank grammar's posteriors decide, with the
    first of the ``thresholds`` (one a level), then with lower ones. A threshold of 0 there, or no tree even so, means
    the exact chart.
    """
    most = 1
    for i in which:
        most = max(most, at[i + 1] - at[i])
    room = new_room(coarse, fine, most)
    sums = new_space(treebank.rules.is_top.shape[0], most, np.float64(0.0), True)
    above, no_anchors = np.zeros(sums.values.shape[0]), np.zeros(0)
    counts = np.zeros(treebank.binary.shape[0] + treebank.unary.shape[0])
    for i in which:
        if control[0] != 0:
            break
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        out = nodes[2 * at[i] - i : 2 * at[i + 1] - (i + 1)]
        filled[i], status[i] = 0, WHOLE
        if masks.shape[0] > 0:
            take_mask(masks, mask_at[i], n, room)
            filled[i] = descend(coarse, fine, sentence, room, thresholds, 1.0, beam, decoder, out)
        possible = True
        if filled[i] == 0 and thresholds[0] > 0.0:
            # fmt: off
            chart = fill(treebank.rules, treebank.binary, treebank.unary, treebank.lexical, sentence, no_anchors,
                         np.inf, sums, True)
            # fmt: on
            possible = outside(chart, above, counts) > -np.inf
            for relaxed in RELAXED:
                if possible and filled[i] == 0:
                    keep_probable_symbols(chart, above, room, thresholds[0] * relaxed)
                    filled[i] = descend(coarse, fine, sentence, room, thresholds, relaxed, beam * relaxed, decoder, out)
        if possible and filled[i] == 0:
            allow_all(n, room)
            filled[i] = decode(fine, sentence, room, beam, decoder, out)
        if filled[i] == 0:
            filled[i], status[i] = _without_substates(treebank, sentence, out)
        control[slot] += 1


@compiled
def _without_substates(treebank: Treebank, words: Any, nodes: Any) -> tuple[int, int]:
    """Where the latent grammar has no tree: the best one of the treebank grammar, or pieces that cover the words."""
    n = words.shape[0]
    space = new_space(treebank.rules.is_top.shape[0], n, np.float32(NEVER), False)
    no_anchors = np.zeros(0, np.float32)
    # fmt: off
    chart = fill(treebank.rules, treebank.log_binary, treebank.log_unary, treebank.lexical, words, no_anchors, np.inf,
                 space, False)
    # fmt: on
    if has(chart, treebank.rules.root, 0, n) and value(chart, treebank.rules.root, 0, n) > POSSIBLE:
        return best_tree(chart, treebank.rules.root, 0, n, nodes, 0), WHOLE
    pieces = np.zeros((n, 3), np.int64)
    filled = 0
    for k in range(cover(chart, treebank.eligible, pieces)):
        filled = best_tree(chart, pieces[k, 0], pieces[k, 1], pieces[k, 2] - pieces[k, 1], nodes, filled)
    return filled, COVERED


# ---- from grammars


class Derivation(NamedTuple):
    """The derivation of a sentence in the base grammar; where there is no tree, those of the pieces that cover it."""

    nodes: Ints
    is_whole: bool


class CoarseToFine:
    """Parses with the last of a hierarchy of latent grammars, and prunes with the others (Petrov & Klein 2007).

    Args:
        grammars: the hierarchy: the treebank grammar first, which has one substate a symbol, then finer and finer ones.
        levels: which one or two of them are used, by their numbers, after the treebank grammar; the last one decides.
            Unless it is said, the last and the last but two: on the Wall Street Journal more of them save nothing.
        threshold: substates whose posterior at one level is below this are not built at the next: one number, or one
            for the treebank grammar and for each level but the last. 0 for the first one is exact: no pruning at all.
        decoder: ``viterbi``, ``max-rule-product`` or ``max-rule-sum``.
        beam: at the last level, substates below this part of the best one in their span are dropped.
        policy: what to build at all, instead of what the treebank grammar makes probable: anything with a method
            ``masks(rows, at)``, see :mod:`treewright.constituency.pruning`.

    Where pruning leaves no tree, thresholds are lowered, by a thousand and by a million, and in the end nothing is
    pruned. Where the latent grammar has no tree, the treebank grammar's best one is taken, or the fewest constituents
    that cover the sentence.
    """

    def __init__(
        self,
        grammars: Sequence[LatentGrammar],
        *,
        levels: Sequence[int] | None = None,
        threshold: float | Sequence[float] = 1e-4,
        decoder: str = "max-rule-product",
        beam: float = 0.0,
        policy: Any = None,
    ) -> None:
        self.grammars, self.policy, self.beam = list(grammars), policy, float(beam)
        usual = [len(grammars) - 3, len(grammars) - 1] if len(grammars) > 3 else [len(grammars) - 1]
        self.levels = usual if levels is None else [int(level) for level in levels]
        if (
            not 0 < len(self.levels) <= 2
            or self.levels != sorted(set(self.levels))
            or not 0 <= self.levels[0] <= self.levels[-1] < len(grammars)
        ):
            raise ConfigError(f"levels must be one or two rising numbers below {len(grammars)}, not {levels!r}")
        if decoder not in DECODERS:
            raise ConfigError(f"decoder cannot be {decoder!r}; it is one of: {', '.join(DECODERS)}")
        self.decoder = decoder
        thresholds = np.broadcast_to(np.asarray(threshold, np.float64), len(self.levels))
        if not ((thresholds >= 0.0) & (thresholds < 1.0)).all():
            raise ConfigError(f"a threshold is a probability, from 0 to less than 1, not {threshold!r}")
        self.thresholds = np.ascontiguousarray(thresholds)
        self.base = self.grammars[0].base
        self._treebank = treebank_of(self.grammars[0])
        self._blocks = hierarchy_of(self.grammars, self.levels)

    def parse(self, sentences: Sequence[Sequence[str]], *, jobs: int = 1) -> list[list[Tree]]:
        """The tree of each sentence, or the trees of the pieces that cover it."""
        found = self.derivations(sentences, jobs=jobs)
        return [self.base.trees(each.nodes, words) for each, words in zip(found, sentences, strict=True)]

    def derivations(self, sentences: Sequence[Sequence[str]], *, jobs: int = 1) -> list[Derivation]:
        """The derivation of each sentence, all of which have words."""
        rows = [self.grammars[0].rows(words) for words in sentences]
        at = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        return self.decode(np.concatenate([*rows, np.zeros(0, np.int32)]), at, jobs)

    def decode(self, rows: Ints, at: Longs, jobs: int = 1) -> list[Derivation]:
        """The derivations of sentences that are given as rows of the lexicon; sentence i begins at ``at[i]``."""
        n = len(at) - 1
        nodes = np.zeros((max(2 * int(at[-1]) - n, 0), NODE), np.int32)
        filled, status = np.zeros(n, np.int64), np.zeros(n, np.int64)
        masks, mask_at = np.zeros((0, self._blocks[0].parents.shape[1]), np.uint64), np.zeros(0, np.int64)
        if self.policy is not None:
            masks, mask_at = self.policy.masks(rows, at, jobs)

        def work(first: int, last: int, control: Longs, slot: int) -> None:
            # fmt: off
            latent_pass(LATENT_CHARTS, self._treebank, *self._blocks, rows, at, np.arange(first, last), masks, mask_at,
                        DECODERS[self.decoder], self.thresholds, self.beam, nodes, filled, status, control, slot)
            # fmt: on

        if n:
            run_shards(work, n, jobs=jobs)
        begins = 2 * at[:-1] - np.arange(n)
        return [Derivation(nodes[b : b + f], s == WHOLE) for b, f, s in zip(begins, filled, status, strict=True)]


def hierarchy_of(grammars: Sequence[LatentGrammar], levels: Sequence[int]) -> tuple[Blocks, Blocks]:
    """The levels of a hierarchy that are used, each with the way from the one before it; the first from the base."""
    found, before = [], 0
    for level in levels:
        coarser = np.arange(grammars[level].first[-1])
        for k in range(level, before, -1):
            coarser = grammars[k].coarser[coarser]
        found.append(blocks_of(grammars[level], coarser, grammars[before].substates))
        before = level
    return found[0], found[-1]


def blocks_of(grammar: LatentGrammar, coarser: Any, coarse_substates: Ints, dtype: Any = np.float64) -> Blocks:
    """A latent grammar as the kernels see it; ``coarser`` leads from its substates to those of a coarser level."""
    base, substates, rules = grammar.base, grammar.substates, grammar.base.rules
    n_symbols, n_pairs = len(substates), len(rules.right)
    at = np.concatenate([[0], np.cumsum((substates + LANES - 1) // LANES * LANES)]).astype(np.int64)
    pairs = np.stack([np.repeat(rules.left, np.diff(rules.left_at)), rules.right], axis=1)
    pair = np.full((n_symbols, n_symbols), -1, np.int32)
    pair[pairs[:, 0], pairs[:, 1]] = np.arange(n_pairs)
    partners = _bits(pairs[:, 0], pairs[:, 1], n_symbols, n_symbols)
    parents = _bits(np.repeat(np.arange(n_pairs), np.diff(rules.rule_at)), rules.binary[:, 0], n_pairs, n_symbols)
    sparse = [_sparse(grammar.binary_block(r), dtype) for r in range(len(base.binary))]
    sparse += [_sparse(grammar.unary_block(r)[:, None], dtype) for r in range(len(base.unary))]
    left, right, block = (np.concatenate([rule[k] for rule in sparse]).astype(np.int32) for k in range(3))
    lexical, first = grammar.lexical(), grammar.first
    of = np.repeat(np.arange(n_symbols), substates)
    scale = np.maximum.reduceat(lexical.score.astype(np.float64), lexical.at[:-1])
    finer_at = np.concatenate([[0], np.cumsum(coarse_substates)]).astype(np.int64)
    finer = np.zeros(finer_at[-1], np.uint64)
    np.bitwise_or.at(finer, coarser, np.uint64(1) << (np.arange(len(of)) - first[of]).astype(np.uint64))
    return Blocks(
        rules,
        substates.astype(np.int32),
        at,
        pair,
        partners,
        parents,
        np.concatenate([[0], np.cumsum([len(rule[0]) for rule in sparse])]).astype(np.int64),
        left,
        right,
        block,
        np.concatenate([rule[3] for rule in sparse]),
        lexical.at,
        of[lexical.symbol].astype(np.int32),
        (at[of] + np.arange(len(of)) - first[of])[lexical.symbol],
        np.exp(lexical.score - np.repeat(scale, np.diff(lexical.at))).astype(dtype),
        scale,
        finer_at,
        finer,
    )


def _sparse(rule: Floats, dtype: Any) -> tuple[Any, Any, Any, Floats]:
    """The blocks of a rule (left × right × parent) that are not zero: left, right, where they belong, and weights."""
    padded = np.zeros((*rule.shape[:2], -(-rule.shape[2] // LANES), LANES), dtype)
    padded.reshape(*rule.shape[:2], -1)[:, :, : rule.shape[2]] = rule
    left, right, block = np.nonzero(padded.any(axis=3))
    return left, right, block * LANES, padded[left, right, block].ravel()


def _bits(row: Any, member: Any, rows: int, members: int) -> Bits:
    sets = np.zeros((rows, (members + 63) // 64), np.uint64)
    np.bitwise_or.at(sets, (row, member >> 6), np.uint64(1) << (member & 63).astype(np.uint64))
    return sets


def treebank_of(grammar: LatentGrammar) -> Treebank:
    """A latent grammar with one substate a symbol, for the ordinary chart."""
    log_binary, log_unary = np.log(grammar.binary).astype(np.float32), np.log(grammar.unary).astype(np.float32)
    names = zip(grammar.base.labels, grammar.base.symbols, strict=True)
    eligible = np.array([label is not None and not name.endswith(BOTTOM) for label, name in names])
    return Treebank(
        grammar.base.rules, grammar.lexical(), grammar.binary, grammar.unary, log_binary, log_unary, eligible
    )
