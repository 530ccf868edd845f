"""Parsing a shard of sentences with latent-variable grammars: the kernels that Python calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Space, new_space
from treewright.constituency.charts.corpus import Sentences, Shard, nodes_of, words_of
from treewright.constituency.charts.outside import outside
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import INSIDE
from treewright.constituency.grammar.rules import Weighted
from treewright.constituency.latent.blocks import Blocks, Cells, new_cells
from treewright.constituency.latent.decoding import max_rule_tree, viterbi_tree
from treewright.constituency.latent.inside import inside
from treewright.constituency.latent.masks import (
    Masks,
    allow_all,
    keep_probable,
    keep_probable_symbols,
    refine,
    take_mask,
)
from treewright.constituency.latent.outside import Anchored, new_anchored, outside_of, posteriors
from treewright.search.arrays import aligned, copy_cells
from treewright.search.compiling import compiled, interpreted, kernel, lean

__all__ = [
    "Base",
    "Decoding",
    "Found",
    "Hierarchy",
    "Memory",
    "Posteriors",
    "latent_pass",
    "new_memory",
    "product_pass",
]

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SLIGHT = 1e-2  # fraction of a threshold: less probable items cannot raise others above the threshold
RELAXED = (1.0, 1e-3, 1e-6)  # factors of the thresholds, tried in turn until there is a tree


class Base(NamedTuple):
    """The treebank grammar, for ordinary charts."""

    factors: Weighted  # with plain factors
    scores: Weighted  # with logarithms of 64 bits
    eligible: npt.NDArray[np.bool_]  # the symbols that cover a sentence without a tree


class Hierarchy(NamedTuple):
    """The grammars of coarse-to-fine parsing."""

    base: Base
    coarse: Blocks  # the level between the base and the last; the last itself if there is no level between
    fine: Blocks  # the last level


class Decoding(NamedTuple):
    """The settings of decoding."""

    decoder: int  # the variant of max-rule decoding
    thresholds: Floats  # of coarse-to-fine pruning: for the base, and for the coarse level if there is one
    beam: float  # at the last level, substates below this fraction of the best one in their span are dropped


class Posteriors(NamedTuple):
    """The anchored rules of some sentences, as numbers that increase within a sentence, and their probabilities.

    For several grammars, these are the rules that all of them have, and the products of their probabilities.
    """

    at: Longs  # the offset of the rules of each sentence; empty if there is nothing to multiply by
    key: Longs
    probability: Floats


class Found(NamedTuple):
    """The derivations of sentences in the base grammar."""

    nodes: npt.NDArray[np.int32]
    filled: Longs  # the number of nodes of each derivation; 0 if the latent grammar has no tree


@lean
def _key(anchored: Anchored, k: int, n: int) -> int:
    """Encode an anchored rule as one number."""
    what = anchored.what
    return ((np.int64(what[k, 0]) * (n + 1) + what[k, 1]) * (n + 1) + what[k, 2]) * (n + 1) + what[k, 3]


@lean
def multiply(anchored: Anchored, count: int, n: int, others: Posteriors, first: int, last: int) -> int:
    """Multiply the probabilities of anchored rules by those of ``others`` from ``first`` to ``last``.

    Only the rules in both lists are kept, in the same order; returns their number.
    """
    left = 0
    for k in range(count):
        key, low, high = _key(anchored, k, n), first, last
        while low < high:
            middle = (low + high) // 2
            if others.key[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low < last and others.key[low] == key:
            for column in range(4):
                anchored.what[left, column] = anchored.what[k, column]
            anchored.probability[left] = anchored.probability[k] * others.probability[low]
            left += 1
    return left


class Memory(NamedTuple):
    """The working memory of one thread, reused from sentence to sentence."""

    cells: Cells
    sums: Space  # the chart of the base
    above: Floats  # the outside values of the chart of the base


def new_memory(grammars: Hierarchy, n: int) -> Memory:
    """Allocate memory for sentences of up to n words."""
    sums: Space = interpreted(new_space)(INSIDE, len(grammars.fine.substates), n)
    values, above = (aligned(len(sums.values), sums.values.dtype) for _ in range(2))
    values[:], above[:] = sums.values, 0.0
    return Memory(new_cells(grammars.coarse, grammars.fine, n), sums._replace(values=values), above)


@kernel
def latent_pass(
    grammars: Hierarchy,
    sentences: Sentences,
    shard: Shard,
    masks: Masks,
    decoding: Decoding,
    viterbi: Any,
    memory: Memory,
    found: Found,
) -> None:
    """Find the tree of each sentence, as a derivation of the base; by max-rule decoding if ``viterbi`` is None."""
    fine, cells = grammars.fine, memory.cells
    for i in shard.which:
        if shard.control[0] != 0:
            break
        words, out = words_of(sentences, i), nodes_of(sentences, found.nodes, i)
        if _fill_chart(grammars, words, masks, i, decoding, viterbi, memory):
            if viterbi is None:
                anchored, count = posteriors(fine, words.shape[0], cells)
                size = max_rule_tree(fine, words.shape[0], cells, anchored, count, decoding.decoder, out)
            else:
                size = viterbi_tree(fine, words.shape[0], cells, out)
            if size > 0:
                found.filled[i] = size
        shard.control[shard.slot] += 1


@kernel
def product_pass(
    grammars: Hierarchy,
    sentences: Sentences,
    shard: Shard,
    masks: Masks,
    decoding: Decoding,
    memory: Memory,
    others: Posteriors,
    keeping: bool,
    found: Found,
) -> Posteriors:
    """Max-rule decoding with several grammars: the posteriors of this one are multiplied by those of ``others``.

    If ``others`` are empty, nothing is multiplied; if the products leave no tree, the earlier result stays. Returns the
    products if ``keeping`` is set, for yet another grammar.
    """
    fine, cells = grammars.fine, memory.cells
    kept_at, key, probability, used = np.zeros(len(shard.which) + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), 0
    for step, i in enumerate(shard.which):
        if shard.control[0] != 0:
            break
        words, out = words_of(sentences, i), nodes_of(sentences, found.nodes, i)
        n = words.shape[0]
        first, last = (others.at[i], others.at[i + 1]) if others.at.shape[0] > 0 else (0, 0)
        size = 0
        if _fill_chart(grammars, words, masks, i, decoding, None, memory):
            anchored, count = posteriors(fine, n, cells)
            if first < last:
                count = multiply(anchored, count, n, others, first, last)
            size = max_rule_tree(fine, n, cells, anchored, count, decoding.decoder, out)
            if keeping and size > 0:
                key, probability = _grown(key, used, count), _grown(probability, used, count)
                for k in range(count):
                    key[used + k], probability[used + k] = _key(anchored, k, n), anchored.probability[k]
                used += count
        if keeping and size == 0:
            key, probability = _grown(key, used, last - first), _grown(probability, used, last - first)
            for k in range(first, last):
                key[used], probability[used] = others.key[k], others.probability[k]
                used += 1
        kept_at[step + 1] = used
        if size > 0:
            found.filled[i] = size
        shard.control[shard.slot] += 1
    return Posteriors(kept_at, key[:used], probability[:used])


@compiled
def _fill_chart(
    grammars: Hierarchy, words: Any, masks: Masks, i: int, decoding: Decoding, viterbi: Any, memory: Memory
) -> bool:
    """Fill the chart of the last level with the first mask that leaves a tree; returns whether there is one.

    The mask of sentence i is tried first, unless there are no masks. Then the posteriors of the base decide, with the
    first of the thresholds, and with lower ones. If this threshold is 0, or no mask leaves a tree, the chart is exact.
    """
    cells, above, threshold = memory.cells, memory.above, decoding.thresholds[0]
    if masks.sets.shape[0] > 0:
        take_mask(masks.sets, masks.at[i], words.shape[0], cells)
        if _descend(grammars, words, cells, decoding, viterbi, 1.0):
            return True
    if threshold > 0.0:
        chart = fill(INSIDE, grammars.base.factors, words, None, np.inf, memory.sums)
        if outside(chart, above, None, SLIGHT * threshold * RELAXED[-1]) == -np.inf:
            return False
        for relaxed in RELAXED:
            keep_probable_symbols(chart, above, cells, threshold * relaxed)
            if _descend(grammars, words, cells, decoding, viterbi, relaxed):
                return True
    allow_all(words.shape[0], cells)
    return inside(grammars.fine, words, cells, decoding.beam, viterbi)


@compiled
def _descend(grammars: Hierarchy, words: Any, cells: Cells, decoding: Decoding, viterbi: Any, relaxed: float) -> bool:
    """Fill a chart of the last level from a mask of base symbols, with a second threshold at the coarse level.

    Returns whether there is a tree.
    """
    n, thresholds = words.shape[0], decoding.thresholds
    if thresholds.shape[0] > 1:
        coarse = grammars.coarse
        refine(coarse, n, cells)
        if not inside(coarse, words, cells, 0.0, None):
            return False
        outside_of(coarse, n, cells, new_anchored(0), SLIGHT * thresholds[1] * relaxed)
        keep_probable(coarse, n, cells, thresholds[1] * relaxed)
    refine(grammars.fine, n, cells)
    return inside(grammars.fine, words, cells, decoding.beam * relaxed, viterbi)


@compiled
def _grown(values: Any, used: int, more: int) -> Any:
    """Return the numbers in an array with additional space after them."""
    if used + more <= values.shape[0]:
        return values
    larger = np.empty(2 * (used + more), values.dtype)
    copy_cells(values, 0, larger, 0, used)
    return larger
