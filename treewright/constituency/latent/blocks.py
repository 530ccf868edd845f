"""Latent-variable grammars in the form that kernels use, and the memory of their charts.

The symbols of a treebank grammar (the *base*) are split into substates, and a rule A → B C has a block of numbers, one
for each (b, c, a). In this module a rule is a list of vectors, each with eight of the parent's substates for one (b,
c). Vectors of zeros are left out: these are most of them once EM has specialised the substates.

A *mask* gives, for each span and base symbol, the set of substates that may be built, as the bits of one number (so a
symbol has at most 64 substates); no other substates are computed. A cell holds all substates of all symbols, so a chart
of n words takes 16·n·(n+1)/2 bytes for each substate (inside and outside); with a thousand substates that is 13 MB for
40 words and 80 MB for 100.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.rules import Rules
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.search.arrays import aligned
from treewright.search.bits import bit, lowest
from treewright.search.compiling import inlined, lean
from treewright.search.lanes import LANES

__all__ = ["Blocks", "Cells", "are_in", "blocks_of", "is_in", "meet", "members", "new_cells"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[Any]


class Blocks(NamedTuple):
    """A latent-variable grammar. Rules are numbered as in the base: binary ones, then unary ones."""

    rules: Rules  # the rules of the base
    substates: Ints  # the number of substates of each base symbol
    at: Longs  # the offset of the substates of each symbol in a cell, in whole blocks
    pair: Ints  # base symbols × base symbols: the number of the pair, or −1
    partners: Bits  # base symbols × words of bits: the right children that occur with a left child
    parents: Bits  # pairs × words of bits: the parents of a pair
    block_at: Longs  # the offset of the blocks of each rule
    left: Ints  # the substate of the left (or only) child of each block
    right: Ints  # the substate of the right child of each block (0 for unary rules)
    block: Ints  # the position of each block among the parent's substates
    weight: Floats  # blocks × LANES, flat
    word_at: Longs  # the offset of the tags of each kind of word
    tag: Ints  # the base symbols of these tags
    tag_place: Longs  # the positions of these tags in a cell
    tag_weight: Floats  # the probabilities of these tags, relative to the largest
    word_scale: Floats  # the logarithm of the largest probability of each kind of word
    finer_at: Longs  # for each base symbol, the offset of its substates of the next coarser level
    finer: Bits  # for each of these, the set of its substates at this level


class Cells(NamedTuple):
    """The memory of charts, reused from sentence to sentence."""

    allowed: Bits  # spans × words of bits: the base symbols that may be built
    mask: Bits  # spans × base symbols: the substates that may be built
    present: Bits  # spans × words of bits: the base symbols that have been built
    values: Floats  # spans × substates in whole blocks, flat
    above: Floats  # outside values, in the same order
    scale: Floats  # the logarithm of each span's factor
    factor: Floats  # for each split, the ratio of its parts' factors to that of the whole
    product_at: Longs  # the offset of X for each pair; −1 if it has none
    product: Floats  # X, concatenated over pairs
    pairs: Longs  # the pairs that have an X
    down: Floats  # the value that the parent passes down to each block of a rule
    all_down: Floats  # the value that all parents of a pair pass down to each (b, c)
    some: Longs  # a list of symbols for use within a loop
    work: Longs  # the number of blocks of rules applied: a measure of time that is the same on every machine
    best: Floats  # spans × base symbols: the best value that max-rule decoding has found
    choice: Longs  # the backpointer of the best value


def _sizes(grammar: Blocks) -> tuple[int, int, int, int]:
    """The substates of a cell, the numbers of all products X, the largest of these, and the most blocks of a rule."""
    rules, right = grammar.rules, grammar.rules.right
    left = rules.binary[rules.rule_at[:-1], 1]
    products = grammar.substates[left] * (grammar.at[right + 1] - grammar.at[right])
    blocks = np.diff(grammar.block_at)
    return int(grammar.at[-1]), int(products.sum()), int(products.max(initial=LANES)), int(blocks.max(initial=1))


def new_cells(coarse: Blocks, fine: Blocks, n: int) -> Cells:
    """Allocate cells for sentences of up to n words at both levels."""
    spans = n * (n + 1) // 2
    substates, products, largest, blocks = (max(sizes) for sizes in zip(_sizes(coarse), _sizes(fine), strict=True))
    n_symbols, n_pairs, words = len(fine.substates), len(fine.parents), fine.partners.shape[1]
    dtype = fine.weight.dtype
    return Cells(
        np.zeros((spans, words), np.uint64),
        np.zeros((spans, n_symbols), np.uint64),
        np.zeros((spans, words), np.uint64),
        aligned(spans * substates, dtype),
        aligned(spans * substates, dtype),
        np.zeros(spans),
        np.zeros(n + 1),
        np.full(n_pairs, -1, np.int64),
        aligned(products, dtype),
        np.zeros(n_pairs, np.int64),
        aligned(blocks, dtype),
        aligned(largest, dtype),
        np.zeros(n_symbols, np.int64),
        np.zeros(1, np.int64),
        np.empty((spans, n_symbols)),
        np.empty((spans, n_symbols), np.int64),
    )


def blocks_of(grammar: LatentGrammar, coarser: Any, coarse_substates: Ints, dtype: Any = np.float64) -> Blocks:
    """Convert a latent grammar for the kernels; ``coarser`` maps its substates to those of a coarser level."""
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
    """Return the nonzero blocks of a rule (left × right × parent): left, right, their positions, and weights."""
    padded = np.zeros((*rule.shape[:2], -(-rule.shape[2] // LANES), LANES), dtype)
    padded.reshape(*rule.shape[:2], -1)[:, :, : rule.shape[2]] = rule
    left, right, block = np.nonzero(padded.any(axis=3))
    return left, right, block * LANES, padded[left, right, block].ravel()


def _bits(row: Any, member: Any, rows: int, members: int) -> Bits:
    sets = np.zeros((rows, (members + 63) // 64), np.uint64)
    np.bitwise_or.at(sets, (row, member >> 6), np.uint64(1) << (member & 63).astype(np.uint64))
    return sets


@inlined
def meet(one: Any, i: int, two: Any, j: int) -> bool:
    """Whether two sets of base symbols have a member in common."""
    common = np.uint64(0)
    for w in range(one.shape[1]):
        common |= one[i, w] & two[j, w]
    return common != np.uint64(0)


@inlined
def is_in(sets: Any, span: int, symbol: int) -> bool:
    """Whether the set of a span contains this base symbol."""
    return (sets[span, symbol >> 6] & bit(symbol)) != np.uint64(0)


def are_in(sets: Any, spans: Any, symbols: Any) -> Any:
    """Whether the sets of spans contain base symbols: spans × symbols, or one row for a single span; uncompiled."""
    sets = sets[spans][..., symbols >> 6] >> (symbols & 63).astype(np.uint64)
    return sets & np.uint64(1) != np.uint64(0)


@lean
def members(sets: Any, span: int, out: Any) -> int:
    """List the members of a set of base symbols, and return their number."""
    count = 0
    for w in range(sets.shape[1]):
        rest = sets[span, w]
        while rest != np.uint64(0):
            out[count] = 64 * w + lowest(rest)
            rest &= rest - np.uint64(1)
            count += 1
    return count
