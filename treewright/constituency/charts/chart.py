"""Charts: one recurrence over spans, in several semirings.

A span of width w that starts at i has a value for each symbol A; with ⊕ and ⊗ of the semiring,

    bottom: V(A, i, w) = ⊕ over rules A → B C and splits s of  r(A → B C) ⊗ V(B, i, s) ⊗ V(C, i+s, w−s)
    top:    V(A, i, w) = ⊕ over rules A → B of                 r(A → B) ⊗ V(B, i, w)

and V(tag, i, 1) is the lexicon's score. Unary rules lead from a symbol that starts a chain to one that does not
(:mod:`treewright.constituency.grammar.pcfg`), so the second line is applied once and there is nothing to iterate.
With (max, +) this is the *Viterbi* chart, the paper's ``insideScores``: V is the optimal value of the state that has
the one constituent (A, i, i+w) (Proposition 2). With (+, ×) it is the *inside* chart; with all scores 0 it counts.

Layout: for each symbol one triangle of rows, one row a width, in it one number for each start; rows are padded to whole
blocks (:mod:`treewright.search.lanes`). All spans of one width are computed together, pair (B, C) by pair: first the
best (or the sum) over the splits, then every rule A → B C once. What is not there is skipped by sets of bits: for each
symbol the widths that it has, and for each of these widths the starts. In a dense grammar, where nearly everything is
there, the rules of a pair are skipped if the best of them cannot raise even the lowest value found so far, which is
exact too. A chart of n words takes about
4·N·n·(n+8)/2 bytes (Viterbi, 32 bits) for N symbols, and twice that (inside, 64 bits).

Sums are scaled: each span has a factor of its own, so that its largest number is 1, and nothing overflows however long
the sentence. Only what is less than e^−700 of the largest in its span vanishes, and a rule's factor must itself be a
number, so weights of rules should stay within ±300.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.rules import Lexical, Rules
from treewright.search.bits import bit, highest, lowest, turned_left, turned_right
from treewright.search.compiling import compiled, inlined, lean
from treewright.search.lanes import (
    LANES,
    add_product,
    add_scaled,
    any_above,
    dot,
    raise_to_shifted,
    raise_to_sum,
    set_block,
)

__all__ = [
    "NEVER",
    "POSSIBLE",
    "Chart",
    "Space",
    "chart_bytes",
    "fill",
    "has",
    "new_space",
    "outside",
    "place",
    "value",
]

NEVER = -1e30  # the value of what cannot be: far below any score, and sums of it stay finite

DENSE = 8  # rules a pair that make a grammar dense
TURNS = 4  # in which the rules of a dense grammar are applied
NEAR_THE_TOP = 0.25  # in logarithms: pairs whose best value is so near to the highest one come first
POSSIBLE = 0.5 * NEVER  # only values above this belong to derivations

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[Any]


class Space(NamedTuple):
    """Room for a chart, used again for sentence after sentence."""

    values: Floats  # symbols × triangle, flat; 32-bit for Viterbi, 64-bit for sums
    starts: npt.NDArray[np.uint64]  # for each symbol and width the set of starts
    widths: npt.NDArray[np.uint64]  # for each symbol the set of widths
    minus_widths: npt.NDArray[np.uint64]  # the same, negated (modulo 64)
    block: Floats  # one row, while it is computed
    scale: Floats  # for sums: the logarithm of each span's factor, (n + 1) × padded starts, flat
    factor: Floats  # for sums: what the factors of two parts are to that of the whole, for each split


class Dense(NamedTuple):
    """What is remembered of pairs in a grammar where most pairs have many rules; empty for other grammars."""

    best_rule: Floats  # the score of the best rule of each pair
    blocks: Floats  # for all pairs of one width: the best over the splits, a block of starts after the other
    done: npt.NDArray[np.bool_]  # have the rules of the pair been applied to the block?
    lowest: Floats  # the lowest value of any parent so far, for each start
    highest: Floats  # the highest value that any pair can lead to
    floor: Floats  # pairs that stay below are left out


class Chart(NamedTuple):
    """A filled chart, with what it was filled from."""

    rules: Rules
    binary: Floats  # the scores of the binary rules
    unary: Floats  # and of the unary ones
    space: Space
    offsets: npt.NDArray[np.int64]  # where the row of each width begins
    n: int  # words


@lean
def place(chart: Chart, symbol: int, start: int, width: int) -> int:
    """Where a constituent is in the chart."""
    return symbol * chart.offsets[chart.n + 1] + chart.offsets[width] + start


@lean
def has(chart: Chart, symbol: int, start: int, width: int) -> bool:
    """Is there such a constituent? Of long sentences it may seem so although there is not; its value tells."""
    return (chart.space.starts[symbol, width] & bit(start)) != np.uint64(0)


@lean
def value(chart: Chart, symbol: int, start: int, width: int) -> float:
    """The value of a constituent that is there."""
    return np.float64(chart.space.values[place(chart, symbol, start, width)])


@compiled
def row_offsets(n: int) -> Any:
    """Where the row of each width begins in a triangle; the last entry is the triangle's size, one block to spare."""
    offsets = np.zeros(n + 2, np.int64)
    at = 0
    for width in range(1, n + 1):
        offsets[width] = at
        at += (n - width + LANES) // LANES * LANES
    offsets[n + 1] = at + LANES
    return offsets


@lean
def padded(n: int) -> int:
    """A row's length in whole blocks."""
    return (n + LANES - 1) // LANES * LANES


@compiled
def new_space(symbols: int, n: int, zero: Any, summing: bool) -> Space:
    """Room for sentences of up to n words; ``zero`` says by its type how precise the numbers are."""
    size = symbols * row_offsets(n)[n + 1] + 2 * LANES
    values = np.full(size, zero)
    scales = (n + 1) * (padded(n) + LANES) + LANES if summing else 1
    return Space(
        values,
        np.zeros((symbols, n + 1), np.uint64),
        np.zeros(symbols, np.uint64),
        np.zeros(symbols, np.uint64),
        np.full(padded(n) + LANES, zero),
        np.full(scales, zero),
        np.full(scales, zero),
    )


def chart_bytes(symbols: int, n: int, bytes_each: int = 4) -> int:
    """How much memory a chart takes.

    >>> chart_bytes(1000, 40)
    4200000
    """
    whole, rest = divmod(n, LANES)  # rows of up to 8, 16, 24 … starts, eight of each
    rows = LANES * (LANES * whole * (whole + 1) // 2 + rest * (whole + 1)) + LANES
    return symbols * (rows * bytes_each + 8 * (n + 1))


@inlined
def _claim(space: Space, symbol: int, width: int, at: int, blocks: int, nothing: float) -> None:
    """Make the row ready the first time that something is written to it."""
    if space.starts[symbol, width] == np.uint64(0):
        for k in range(blocks):
            set_block(space.values, at + k * LANES, nothing)
        space.widths[symbol] |= bit(width)
        space.minus_widths[symbol] |= bit(-width)


@compiled
def fill(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    anchored: Any,
    beam: float,
    space: Space,
    summing: bool,
) -> Chart:
    """The chart of a sentence, whose words are given as rows of the lexicon.

    ``binary`` and ``unary`` are the scores of the rules, as logarithms for Viterbi and as plain factors for sums.
    ``anchored``, unless empty, is added to every constituent's score: it has the layout of the chart. With ``beam``
    below infinity, constituents worse by more than that than the best of their span are dropped.
    """
    n = words.shape[0]
    offsets = row_offsets(n)
    pairs = rules.right.shape[0]
    is_dense = not summing and n < 64 and rules.binary.shape[0] >= DENSE * pairs
    kept = pairs if is_dense else 0
    dense = Dense(
        np.full(kept, NEVER),
        np.empty(kept * padded(n) + LANES, space.values.dtype),
        np.zeros(kept * padded(n) // LANES, np.bool_),
        np.full_like(space.block, NEVER),
        np.full_like(space.block, NEVER),
        np.full_like(space.block, NEVER),
    )
    for pair in range(kept):
        for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
            dense.best_rule[pair] = max(dense.best_rule[pair], binary[rule])
    _fill(rules, binary, unary, lexical, words, anchored, beam, space, summing, offsets, dense)
    return Chart(rules, binary, unary, space, offsets, words.shape[0])


@lean
def _fill(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    anchored: Any,
    beam: float,
    space: Space,
    summing: bool,
    offsets: Any,
    dense: Dense,
) -> None:
    n = words.shape[0]
    cells = offsets[n + 1]
    nothing = 0.0 if summing else NEVER
    # never more than three at a time: see treewright.search.lanes
    values, starts, block = space.values, space.starts, space.block
    widths, minus_widths = space.widths, space.minus_widths
    for symbol in range(widths.shape[0]):
        widths[symbol] = np.uint64(0)
        minus_widths[symbol] = np.uint64(0)
        for width in range(n + 1):
            starts[symbol, width] = np.uint64(0)
    for i in range(n):
        largest = -np.inf
        for entry in range(lexical.at[words[i]], lexical.at[words[i] + 1]):
            largest = max(largest, np.float64(lexical.score[entry]))
        for entry in range(lexical.at[words[i]], lexical.at[words[i] + 1]):
            tag = lexical.symbol[entry]
            _claim(space, tag, 1, tag * cells, padded(n) // LANES, nothing)
            score = np.float64(lexical.score[entry])
            here = tag * cells + i  # several tags of a fine grammar may be one of a coarse grammar
            values[here] = values[here] + math.exp(score - largest) if summing else max(values[here], score)
            starts[tag, 1] |= bit(i)
        if summing:
            space.scale[padded(n) + LANES + i] = largest
    for width in range(1, n + 1):
        count = n - width + 1
        blocks = padded(count) // LANES
        row = offsets[width]
        if summing and width > 1:
            _relate_scales(space, n, width)
        if width > 1:
            if dense.best_rule.shape[0] > 0:
                _dense_width(rules, binary, space, offsets, n, width, dense)
            for g in range(rules.left.shape[0] if dense.best_rule.shape[0] == 0 else 0):
                left = rules.left[g]
                left_widths = widths[left]
                if left_widths == np.uint64(0):
                    continue
                for pair in range(rules.left_at[g], rules.left_at[g + 1]):
                    right = rules.right[pair]
                    splits = left_widths & turned_left(minus_widths[right], width)
                    if splits == np.uint64(0):
                        continue
                    found = _over_splits(
                        space, splits, left, right, n, width, cells, offsets, blocks, nothing, summing, block
                    )
                    if found == np.uint64(0):
                        continue
                    first, last = _blocks_of(found, n, blocks)
                    for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                        parent = rules.parent[rule]
                        at = parent * cells + row
                        _claim(space, parent, width, at, blocks, nothing)
                        starts[parent, width] |= found
                        for k in range(first, last):
                            if summing:
                                add_scaled(values, at + k * LANES, block, k * LANES, binary[rule])
                            else:
                                raise_to_shifted(values, at + k * LANES, block, k * LANES, binary[rule])
        _settle(rules, space, anchored, beam, offsets, n, width, False, summing)
        for rule in range(rules.unary.shape[0]):
            top, bottom = rules.unary[rule, 0], rules.unary[rule, 1]
            found = starts[bottom, width]
            if found != np.uint64(0):
                at = top * cells + row
                _claim(space, top, width, at, blocks, nothing)
                starts[top, width] |= found
                first, last = _blocks_of(found, n, blocks)
                for k in range(first, last):
                    below = bottom * cells + row + k * LANES
                    if summing:
                        add_scaled(values, at + k * LANES, values, below, unary[rule])
                    else:
                        raise_to_shifted(values, at + k * LANES, values, below, unary[rule])
        _settle(rules, space, anchored, beam, offsets, n, width, True, summing)
        if summing:
            _rescale(space, offsets, n, width)


@lean
def _dense_width(rules: Rules, binary: Any, space: Space, offsets: Any, n: int, width: int, dense: Dense) -> None:
    """All spans of one width under a dense grammar (Viterbi), a block of starts at a time.

    Most rules cannot improve on what others have found: a pair whose best rule stays below the lowest value of all
    parents is skipped. To know a good lower bound early, pairs have their rules applied in turns, those that lead to
    the highest values first; each turn asks for less, and the last one for as little as the lowest value.
    """
    count = n - width + 1
    blocks = padded(count) // LANES
    cells, row = offsets[n + 1], offsets[width]
    _dense_splits(rules, space, offsets, n, width, dense)
    for symbol in range(rules.is_top.shape[0]):
        if rules.of_parent_at[symbol + 1] > rules.of_parent_at[symbol]:
            for k in range(blocks):
                set_block(space.values, symbol * cells + row + k * LANES, NEVER)
    for i in range(count, blocks * LANES):
        dense.floor[i] = -NEVER  # padding is above everything
    for turn in range(TURNS):
        _lowest_values(rules, space, offsets, n, width, dense.lowest)
        for i in range(count):
            gap = np.float64(dense.highest[i]) - dense.lowest[i]
            dense.floor[i] = dense.highest[i] - (gap * turn / (TURNS - 1) if turn > 0 else min(gap, NEAR_THE_TOP))
        applied = 0
        for pair in range(rules.right.shape[0]):
            for k in range(blocks):
                at = (pair * blocks + k) * LANES
                if dense.done[pair * blocks + k] or not any_above(
                    dense.blocks, at, dense.best_rule[pair], dense.floor, k * LANES
                ):
                    continue
                for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                    parent = rules.parent[rule] * cells + row + k * LANES
                    raise_to_shifted(space.values, parent, dense.blocks, at, binary[rule])
                dense.done[pair * blocks + k] = True
                applied += 1
                if turn == TURNS - 1 and applied & 63 == 0:
                    _lowest_values(rules, space, offsets, n, width, dense.floor)
    for symbol in range(rules.is_top.shape[0]):
        if rules.of_parent_at[symbol + 1] > rules.of_parent_at[symbol]:
            _note_starts(space, symbol, width, symbol * cells + row, count)


@lean
def _dense_splits(rules: Rules, space: Space, offsets: Any, n: int, width: int, dense: Dense) -> None:
    """For every pair the best over the splits, and the highest value that any of them can lead to."""
    blocks, cells = padded(n - width + 1) // LANES, offsets[n + 1]
    for k in range(blocks):
        set_block(dense.highest, k * LANES, NEVER)
    for g in range(rules.left.shape[0]):
        left = rules.left[g]
        first, last = rules.left_at[g], rules.left_at[g + 1]
        for j in range(first * blocks, last * blocks):
            set_block(dense.blocks, j * LANES, NEVER)
            dense.done[j] = False
        for split in range(1, width):
            if space.widths[left] & bit(split) == np.uint64(0):
                continue
            at_left, in_right = left * cells + offsets[split], offsets[width - split] + split
            for pair in range(first, last):
                right = rules.right[pair]
                if space.widths[right] & bit(width - split) != np.uint64(0):
                    at, at_right = pair * blocks * LANES, right * cells + in_right
                    for j in range(0, blocks * LANES, LANES):
                        raise_to_sum(dense.blocks, at + j, space.values, at_left + j, space.values, at_right + j)
        for pair in range(first, last):
            for k in range(blocks):
                at = (pair * blocks + k) * LANES
                raise_to_shifted(dense.highest, k * LANES, dense.blocks, at, dense.best_rule[pair])


@lean
def _note_starts(space: Space, symbol: int, width: int, at: int, count: int) -> None:
    """Which starts a symbol has, by its values."""
    found = np.uint64(0)
    for i in range(count):
        if space.values[at + i] > POSSIBLE:
            found |= bit(i)
    if found != np.uint64(0):
        space.starts[symbol, width] = found
        space.widths[symbol] |= bit(width)
        space.minus_widths[symbol] |= bit(-width)


@lean
def _lowest_values(rules: Rules, space: Space, offsets: Any, n: int, width: int, floor: Any) -> None:
    """The lowest value that any symbol with binary rules has so far, for each start."""
    for i in range(n - width + 1):
        floor[i] = -NEVER
    for symbol in range(rules.is_top.shape[0]):
        if rules.of_parent_at[symbol + 1] > rules.of_parent_at[symbol]:
            at = symbol * offsets[n + 1] + offsets[width]
            for i in range(n - width + 1):
                floor[i] = min(floor[i], space.values[at + i])


@inlined
def _blocks_of(found: Any, n: int, blocks: int) -> tuple[int, int]:
    """The first block with a member of the set, and the one after the last; sets of long sentences are folded."""
    if n < 64:
        return lowest(found) // LANES, highest(found) // LANES + 1
    return 0, blocks


@inlined
def _over_splits(
    space: Space,
    splits: Any,
    left: int,
    right: int,
    n: int,
    width: int,
    cells: int,
    offsets: Any,
    blocks: int,
    nothing: float,
    summing: bool,
    block: Any,
) -> Any:
    """⊕ over the splits of V(left) ⊗ V(right) for all starts, into ``block``; returns the set of starts."""
    values, starts = space.values, space.starts
    found = np.uint64(0)
    while splits != np.uint64(0):
        residue = lowest(splits)
        splits &= splits - np.uint64(1)
        split = residue if residue > 0 else 64
        while split < width:  # one turn, unless the sentence is long
            both = starts[left, split] & turned_right(starts[right, width - split], split)
            if both != np.uint64(0):
                if found == np.uint64(0):
                    for k in range(blocks):
                        set_block(block, k * LANES, nothing)
                found |= both
                first, last = _blocks_of(both, n, blocks)
                at_left = left * cells + offsets[split]
                at_right = right * cells + offsets[width - split] + split
                for k in range(first, last):
                    j = k * LANES
                    if summing:
                        factor = split * (padded(n) + LANES)
                        add_product(block, j, values, at_left + j, values, at_right + j, space.factor, factor + j)
                    else:
                        raise_to_sum(block, j, values, at_left + j, values, at_right + j)
            split += 64
    return found


@lean
def _settle(
    rules: Rules, space: Space, anchored: Any, beam: float, offsets: Any, n: int, width: int, tops: bool, summing: bool
) -> None:
    """Anchored rewards and the beam, for the symbols that start unary chains or for the others, once they are known."""
    if anchored.shape[0] == 0 and beam == np.inf:
        return
    values, starts = space.values, space.starts
    cells, row, count = offsets[n + 1], offsets[width], n - width + 1
    best = space.block
    for i in range(count):
        best[i] = 0.0 if summing else NEVER
    for symbol in range(starts.shape[0]):
        if starts[symbol, width] != np.uint64(0) and rules.is_top[symbol] == tops:
            at = symbol * cells + row
            for i in range(count):
                if anchored.shape[0] > 0:
                    if summing:
                        values[at + i] *= math.exp(np.float64(anchored[at + i]))
                    else:
                        values[at + i] += anchored[at + i]
                best[i] = max(best[i], values[at + i])
    for symbol in range(starts.shape[0]):
        if starts[symbol, width] != np.uint64(0) and rules.is_top[symbol] == tops:
            at = symbol * cells + row
            found = np.uint64(0)
            for i in range(count):
                least = best[i] * math.exp(-beam) if summing else max(np.float64(best[i]) - beam, 0.5 * NEVER)
                if values[at + i] < least or (summing and values[at + i] == 0.0):
                    values[at + i] = 0.0 if summing else NEVER
                else:
                    found |= bit(i)
            starts[symbol, width] = found


@lean
def _relate_scales(space: Space, n: int, width: int) -> None:
    """Choose a scale for the spans of this width before they are computed, and relate those of their parts to it."""
    stride = padded(n) + LANES
    for i in range(n - width + 1):
        largest = -np.inf
        for split in range(1, width):
            both = space.scale[split * stride + i] + space.scale[(width - split) * stride + i + split]
            largest = max(largest, both)
        for split in range(1, width):
            both = space.scale[split * stride + i] + space.scale[(width - split) * stride + i + split]
            space.factor[split * stride + i] = math.exp(both - largest) if largest > -np.inf else 0.0
        space.scale[width * stride + i] = largest
    for split in range(1, width):
        for i in range(n - width + 1, padded(n - width + 1)):  # behind the last span there is nothing
            space.factor[split * stride + i] = 0.0


@lean
def _rescale(space: Space, offsets: Any, n: int, width: int) -> None:
    """Divide by the largest number of each span."""
    stride, cells, row, count = padded(n) + LANES, offsets[n + 1], offsets[width], n - width + 1
    largest = space.block
    for i in range(count):
        largest[i] = 0.0
    for symbol in range(space.widths.shape[0]):
        if space.starts[symbol, width] != np.uint64(0):
            for i in range(count):
                largest[i] = max(largest[i], space.values[symbol * cells + row + i])
    for i in range(count):
        if largest[i] > 0.0:
            space.scale[width * stride + i] += math.log(largest[i])
        else:  # nothing spans these words
            space.scale[width * stride + i] = -np.inf
            largest[i] = 1.0
    for symbol in range(space.widths.shape[0]):
        if space.starts[symbol, width] != np.uint64(0):
            for i in range(count):
                space.values[symbol * cells + row + i] /= largest[i]


@compiled
def outside(chart: Chart, above: Any, counts: Any, least: float = 0.0) -> float:
    """The outside values of a chart of sums, into ``above``, and the expected number of each rule, added to ``counts``.

    Values are scaled so that inside × outside is the probability that the constituent is in the tree, given the words.
    ``counts`` has the binary rules first and then the unary ones; it may be empty where nobody asks for them. Returns
    log Z; −∞ where there is no tree. What was dropped from the chart, by a beam or by an anchored reward of ``NEVER``,
    is in no tree; other rewards are not known. Constituents no more probable than ``least`` hand nothing down.
    """
    wanted = np.zeros(chart.space.widths.shape[0], np.uint64)
    return _outside(chart, above, counts, np.zeros(chart.space.block.shape[0]), wanted, least)


@lean
def _outside(chart: Chart, above: Any, counts: Any, weighted: Any, wanted: Any, least: float) -> float:
    """Row by row from wide spans to narrow ones, in whole blocks: where there is no span, ``above`` and factors are 0.

    ``wanted`` has for each symbol the starts of those constituents of the present width that some tree may have: most
    of what a chart holds leads nowhere.
    """
    # by attributes, and never more than three at a time: see treewright.search.lanes
    rules, space, n = chart.rules, chart.space, chart.n
    binary, unary, offsets = chart.binary, chart.unary, chart.offsets
    values, starts = space.values, space.starts
    widths, block = space.widths, space.block
    cells, stride = offsets[n + 1], padded(n) + LANES
    counting = counts.shape[0] > 0
    root = rules.root * cells + offsets[n]
    if starts[rules.root, n] == np.uint64(0) or values[root] <= 0.0:
        return -np.inf
    for symbol in range(widths.shape[0]):
        for width in range(1, n + 1):
            if starts[symbol, width] != np.uint64(0):
                at = symbol * cells + offsets[width]
                for k in range(padded(n - width + 1) // LANES):
                    set_block(above, at + k * LANES, 0.0)
    above[root] = 1.0 / values[root]
    n_binary = rules.binary.shape[0]
    for width in range(n, 0, -1):
        blocks = padded(n - width + 1) // LANES
        row = offsets[width]
        _note_wanted(chart, above, width, True, wanted, least)
        for rule in range(rules.unary.shape[0]):
            top, bottom = rules.unary[rule, 0], rules.unary[rule, 1]
            found = wanted[top] & starts[bottom, width]
            if found == np.uint64(0):
                continue
            first, last = _blocks_of(found, n, blocks)
            for k in range(first, last):
                here, below = top * cells + row + k * LANES, bottom * cells + row + k * LANES
                add_scaled(above, below, above, here, unary[rule])
                if counting:
                    counts[n_binary + rule] += unary[rule] * dot(above, here, values, below)
        if width == 1:
            break
        _note_wanted(chart, above, width, False, wanted, least)
        _relate_scales_to_whole(space, n, width)
        for g in range(rules.left.shape[0]):
            left = rules.left[g]
            if widths[left] == np.uint64(0):
                continue
            for pair in range(rules.left_at[g], rules.left_at[g + 1]):
                right = rules.right[pair]
                splits = widths[left] & turned_left(space.minus_widths[right], width)
                if splits == np.uint64(0):
                    continue
                some = np.uint64(0)
                for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                    some |= wanted[rules.parent[rule]]
                if some == np.uint64(0):
                    continue
                if counting:
                    some &= _over_splits(space, splits, left, right, n, width, cells, offsets, blocks, 0.0, True, block)
                    if some == np.uint64(0):
                        continue
                first, last = _blocks_of(some, n, blocks)
                for k in range(first, last):
                    set_block(weighted, k * LANES, 0.0)
                for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                    if wanted[rules.parent[rule]] & some == np.uint64(0):
                        continue
                    at = rules.parent[rule] * cells + row
                    for k in range(first, last):
                        add_scaled(weighted, k * LANES, above, at + k * LANES, binary[rule])
                        if counting:
                            counts[rule] += binary[rule] * dot(above, at + k * LANES, block, k * LANES)
                while splits != np.uint64(0):
                    residue = lowest(splits)
                    splits &= splits - np.uint64(1)
                    for split in range(residue if residue > 0 else 64, width, 64):  # one turn, unless it is long
                        both = some & starts[left, split] & turned_right(starts[right, width - split], split)
                        if both != np.uint64(0):
                            at_left = left * cells + offsets[split]
                            at_right = right * cells + offsets[width - split] + split
                            factor = split * stride
                            first, last = _blocks_of(both, n, blocks)
                            for j in range(first * LANES, last * LANES, LANES):
                                # fmt: off
                                add_product(above, at_left + j, weighted, j, values, at_right + j,
                                            space.factor, factor + j)
                                add_product(above, at_right + j, weighted, j, values, at_left + j,
                                            space.factor, factor + j)
                                # fmt: on
    return math.log(values[root]) + space.scale[n * stride]


@lean
def _note_wanted(chart: Chart, above: Any, width: int, tops: bool, wanted: Any, least: float) -> None:
    """Which constituents hand something down, of the symbols that start unary chains or of the others.

    What is not in the chart hands nothing down, although its parts may be there: a beam may have dropped it.
    """
    space, rules = chart.space, chart.rules
    cells, row = chart.offsets[chart.n + 1], chart.offsets[width]
    for symbol in range(space.widths.shape[0]):
        if rules.is_top[symbol] == tops:
            wanted[symbol] = np.uint64(0)
            if space.starts[symbol, width] != np.uint64(0):
                at = symbol * cells + row
                for i in range(chart.n - width + 1):
                    if space.values[at + i] == 0.0:
                        above[at + i] = 0.0
                    elif space.values[at + i] * above[at + i] > least:
                        wanted[symbol] |= bit(i)


@lean
def _relate_scales_to_whole(space: Space, n: int, width: int) -> None:
    """What the factors of two parts are to that of the whole, whose largest value is 1 now; 0 behind the last span."""
    stride, count = padded(n) + LANES, n - width + 1
    for split in range(1, width):
        for i in range(count):
            whole = space.scale[width * stride + i]
            both = space.scale[split * stride + i] + space.scale[(width - split) * stride + i + split]
            space.factor[split * stride + i] = math.exp(both - whole) if both > -np.inf and whole > -np.inf else 0.0
        for i in range(count, padded(count)):
            space.factor[split * stride + i] = 0.0
