"""Charts over the substates of a latent-variable grammar: they build only what a mask allows.

The symbols of a treebank grammar (the *base*) are split into substates, and a rule A → B C has a block of numbers, one
for each (b, c, a). In a span from i to j, of all splits k,

    X(b, c) = ⊕ over k of     V(B, b, i, k) ⊗ V(C, c, k, j)               for each pair of base symbols B, C
    V(A, a, i, j) = ⊕ over B, C, b, c of  r(A, a → B, b  C, c) ⊗ X(b, c)   and unary rules above, once

in plain, scaled numbers: ⊕ is max (Viterbi) or + (inside), ⊗ is ×. Outside values come from the same products X, and
from both the posterior probabilities of rules of the base, over spans, which is all that max-rule decoding asks for.

Three things make it fast. A *mask* says for each span and base symbol which of its substates may be built, as the bits
of one number (so a symbol has at most 64 substates); everything else is never touched. What pairs of symbols there are
is found by sets of bits. And a rule is a list of blocks, each with eight of the parent's substates for one (b, c),
without the blocks that are zero: most of them, once EM has found out what the substates are good for.

A cell has room for all substates of all symbols, so a chart of n words takes 16·n·(n+1)/2 bytes a substate (inside and
outside); with a thousand substates that is 13 MB for 40 words and 80 MB for 100.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.derivations import write_node
from treewright.constituency.grammar.rules import Rules
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.search.bits import bit, lowest
from treewright.search.compiling import compiled, inlined, lean
from treewright.search.lanes import LANES, add_scaled, dot, set_block

__all__ = [
    "MAX_RULE_PRODUCT",
    "MAX_RULE_SUM",
    "VITERBI",
    "Anchored",
    "Blocks",
    "Room",
    "blocks_of",
    "decode",
    "inside",
    "max_rule_tree",
    "members",
    "new_anchored",
    "new_room",
    "outside_of",
    "posteriors",
    "span_of",
    "viterbi_tree",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[Any]

VITERBI, MAX_RULE_PRODUCT, MAX_RULE_SUM = 0, 1, 2
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
    all_down: Floats  # and all parents of a pair to each (b, c)
    some: Longs  # some symbols, while a loop goes through them
    work: Longs  # how many blocks of rules have been applied: a measure of time that is the same everywhere
    best: Floats  # spans × base symbols: the best that max-rule decoding has found
    choice: Longs  # and how


@lean
def _sizes(grammar: Blocks) -> tuple[int, int, int, int]:
    """How many substates a cell has, how many numbers all products X together, the largest of them, and how many blocks
    a rule has at most.
    """
    products, largest, blocks = np.int64(0), np.int64(LANES), np.int64(1)
    for pair in range(grammar.parents.shape[0]):
        left, right = grammar.rules.binary[grammar.rules.rule_at[pair], 1], grammar.rules.right[pair]
        size = grammar.substates[left] * (grammar.at[right + 1] - grammar.at[right])
        products, largest = products + size, max(largest, size)
    for rule in range(grammar.block_at.shape[0] - 1):
        blocks = max(blocks, grammar.block_at[rule + 1] - grammar.block_at[rule])
    return grammar.at[grammar.at.shape[0] - 1], products, largest, blocks


@compiled
def new_room(coarse: Blocks, fine: Blocks, n: int) -> Room:
    """Room for sentences of up to n words at both levels."""
    spans = span_of(0, n) + n
    one, two = _sizes(coarse), _sizes(fine)
    substates, products = max(one[0], two[0]), max(one[1], two[1])
    largest, blocks = max(one[2], two[2]), max(one[3], two[3])
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
        np.empty(largest, zero.dtype),
        np.zeros(n_symbols, np.int64),
        np.zeros(1, np.int64),
        np.empty((spans, n_symbols)),
        np.empty((spans, n_symbols), np.int64),
    )


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
                for p in range(_products(grammar, room, start, end, summing, allowed)):
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
def _products(grammar: Blocks, room: Room, start: int, end: int, summing: bool, parents: Any) -> int:
    """X of all pairs that lead to one of the parents of the span, whose scale they set; returns how many there are."""
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
                        if not _meet(grammar.parents, pair, parents, span):
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
def outside_of(grammar: Blocks, n: int, room: Room, anchored: Anchored, least: float) -> int:
    """The outside values of a chart of sums that has a tree; inside × outside is the posterior probability.

    Symbols less probable than ``least`` are taken out of the chart, and hand nothing down: most of them, and most of
    the work. Writes down the anchored rules if there is room for any. Returns how many there are, which may be more
    than there was room for.
    """
    rules, values, above = grammar.rules, room.values, room.above
    present = room.present
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
            _drop(grammar, room, span, least, True)
            for s in range(members(present, span, some)):
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
                            d = dot(above, cell + at[top] + grammar.block[k], grammar.weight, k * LANES)
                            above[b] += d
                            probability += d * values[b]
                    if listing:
                        count = _anchor(anchored, count, n_binary + rule, start, 0, end, probability)
            _drop(grammar, room, span, least, False)
            if end - start == 1:
                for s in range(members(present, span, some) if listing else 0):
                    if not rules.is_top[some[s]]:
                        probability = 0.0
                        for k in range(cell + at[some[s]], cell + at[some[s] + 1], LANES):
                            probability += dot(above, k, values, k)
                        count = _anchor(anchored, count, n_rules + some[s], start, 0, end, probability)
                continue
            whole = room.scale[span]
            pairs = _products(grammar, room, start, end, True, present)
            ratio = math.exp(room.scale[span] - whole)
            room.scale[span] = whole
            for p in range(pairs):
                pair = room.pairs[p]
                count = _hand_down(grammar, room, pair, start, end, ratio, anchored, count)
                room.product_at[pair] = -1
    return count


@lean
def _drop(grammar: Blocks, room: Room, span: int, least: float, tops: bool) -> None:
    """Take what is not probable out of a span, of symbols that start unary chains or of the others.

    Substates that the mask or the beam has dropped hand nothing down either, although their parts may be there.
    """
    cell = span * grammar.at[grammar.at.shape[0] - 1]
    values, above = room.values, room.above
    for k in range(members(room.present, span, room.some)):
        symbol, probability = room.some[k], 0.0
        if grammar.rules.is_top[symbol] != tops:
            continue
        for j in range(cell + grammar.at[symbol], cell + grammar.at[symbol + 1]):
            if values[j] == 0.0:
                above[j] = 0.0
            probability += values[j] * above[j]
        if probability < least:
            room.present[span, symbol >> 6] &= ~bit(symbol)


@lean
def _hand_down(
    grammar: Blocks, room: Room, pair: int, start: int, end: int, ratio: float, anchored: Anchored, count: int
) -> int:
    """What all parents of a pair hand down to it in a span: one number for each (b, c), and from there to all splits.

    Anchored rules are written down, unless there is no room for any; returns their new number.
    """
    rules, values, above = grammar.rules, room.values, room.above
    product, down, all_down = room.product, room.down, room.all_down
    at, stride = grammar.at, grammar.at[grammar.at.shape[0] - 1]
    cell, x = span_of(start, end) * stride, room.product_at[pair]
    left, right = rules.binary[rules.rule_at[pair], 1], rules.right[pair]
    width = at[right + 1] - at[right]
    for k in range(0, grammar.substates[left] * width, LANES):
        set_block(all_down, k, 0.0)
    together = 0.0
    for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
        parent = rules.binary[rule, 0]
        if not _is_in(room.present, span_of(start, end), parent):
            continue
        first, last = grammar.block_at[rule], grammar.block_at[rule + 1]
        probability = 0.0
        for k in range(first, last):
            d = ratio * dot(above, cell + at[parent] + grammar.block[k], grammar.weight, k * LANES)
            bc = grammar.left[k] * width + grammar.right[k]
            down[k - first] = d
            all_down[bc] += d
            probability += d * product[x + bc]
        together += probability
        if anchored.probability.shape[0] == 0 or probability < LEAST:
            continue
        for split in range(start + 1, end):
            left_span, right_span = span_of(start, split), span_of(split, end)
            if _is_in(room.present, left_span, left) and _is_in(room.present, right_span, right):
                at_left, at_right = left_span * stride + at[left], right_span * stride + at[right]
                probability = 0.0
                for k in range(first, last):
                    one, two = values[at_left + grammar.left[k]], values[at_right + grammar.right[k]]
                    probability += down[k - first] * one * two
                probability *= room.factor[split]
                count = _anchor(anchored, count, rule, start, split, end, probability)
    if together == 0.0:
        return count
    for split in range(start + 1, end):
        left_span, right_span = span_of(start, split), span_of(split, end)
        if _is_in(room.present, left_span, left) and _is_in(room.present, right_span, right):
            at_left, at_right = left_span * stride + at[left], right_span * stride + at[right]
            for b in range(grammar.substates[left]):
                by = values[at_left + b] * room.factor[split]
                if by > 0.0:
                    beside = 0.0
                    for k in range(0, width, LANES):
                        beside += dot(all_down, b * width + k, values, at_right + k)
                        add_scaled(above, at_right + k, all_down, b * width + k, by)
                    above[at_left + b] += beside * room.factor[split]
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
        for k in range(members(room.allowed, span, room.some)):
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


@compiled
def posteriors(grammar: Blocks, n: int, room: Room) -> tuple[Anchored, int]:
    """The anchored rules of a chart of sums that has a tree, and how many they are."""
    anchored = new_anchored(200 * n)
    count = outside_of(grammar, n, room, anchored, LEAST)
    if count > anchored.probability.shape[0]:
        anchored = new_anchored(count)
        count = outside_of(grammar, n, room, anchored, LEAST)
    return anchored, count


@compiled
def decode(grammar: Blocks, words: Any, room: Room, beam: float, decoder: int, nodes: Any) -> int:
    """The tree of a sentence, built of what the mask allows; returns the number of its nodes, 0 if there is none."""
    n = words.shape[0]
    if not inside(grammar, words, room, beam, decoder != VITERBI):
        return 0
    if decoder == VITERBI:
        return viterbi_tree(grammar, n, room, nodes)
    anchored, count = posteriors(grammar, n, room)
    return max_rule_tree(grammar, n, room, anchored, count, decoder, nodes)
