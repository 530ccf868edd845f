"""Parsing a shard of sentences with latent-variable grammars: what Python calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Space, has_tree, new_space
from treewright.constituency.charts.corpus import Sentences, Shard, nodes_of, words_of
from treewright.constituency.charts.derivations import best_tree, covering_trees
from treewright.constituency.charts.outside import outside
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import INSIDE, VITERBI
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
from treewright.search.arrays import copy_cells
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
    "treebank_parse",
]

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SLIGHT = 1e-2  # of a threshold: what is less probable does not help anything else to be above it
RELAXED = (1.0, 1e-3, 1e-6)  # thresholds are multiplied by these in turn, until there is a tree


class Base(NamedTuple):
    """The treebank grammar, for ordinary charts."""

    factors: Weighted  # with plain factors
    scores: Weighted  # with logarithms
    eligible: npt.NDArray[np.bool_]  # the symbols that cover a sentence without a tree


class Hierarchy(NamedTuple):
    """The grammars of coarse-to-fine parsing."""

    base: Base
    coarse: Blocks  # the level between the base and the last; the last itself, if there is none between
    fine: Blocks  # the last level


class Decoding(NamedTuple):
    """How trees are chosen."""

    decoder: int  # of max-rule decoding: which
    thresholds: Floats  # of coarse-to-fine pruning: for the base, and for the coarse level if there is one
    beam: float  # at the last level, substates below this part of the best one in their span are dropped


class Posteriors(NamedTuple):
    """The anchored rules of some sentences, each as one number that rises within a sentence, and their probabilities.

    Of several grammars, these are the rules that all of them have, and the products of their probabilities.
    """

    at: Longs  # where those of each sentence begin; empty if there is nothing to multiply with
    key: Longs
    probability: Floats


class Found(NamedTuple):
    """The derivations of sentences in the base grammar."""

    nodes: npt.NDArray[np.int32]
    filled: Longs  # how many nodes of each derivation are used; 0 where the latent grammar has no tree


@lean
def _key(anchored: Anchored, k: int, n: int) -> int:
    """An anchored rule as one number."""
    what = anchored.what
    return ((np.int64(what[k, 0]) * (n + 1) + what[k, 1]) * (n + 1) + what[k, 2]) * (n + 1) + what[k, 3]


@lean
def multiply(anchored: Anchored, count: int, n: int, others: Posteriors, first: int, last: int) -> int:
    """Multiply the probabilities of anchored rules by those that others found, from ``first`` to ``last``.

    Only the rules that these have too are left, in the same order; returns how many.
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
    """What one thread works in, for one sentence after another."""

    cells: Cells
    sums: Space  # the chart of the base
    above: Floats  # and its outside values


def new_memory(grammars: Hierarchy, n: int) -> Memory:
    """Memory for sentences of up to n words."""
    sums: Space = interpreted(new_space)(INSIDE, len(grammars.fine.substates), n)
    return Memory(new_cells(grammars.coarse, grammars.fine, n), sums, np.zeros_like(sums.values))


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
    """The tree of each sentence, as a derivation of the base; by max-rule decoding where ``viterbi`` is None."""
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

    Where ``others`` are empty, nothing is multiplied; where products leave no tree, what was found before stays.
    Returns the products where ``keeping`` asks for them, for yet another grammar.
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

    The mask of sentence i comes first, unless there are no masks. Then the posteriors of the base decide, with the
    first of the thresholds, and with lower ones. A threshold of 0 there, or no tree even so, means the exact chart.
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
    """From a mask of base symbols to a chart of the last level, with a second threshold through the coarse one.

    Returns whether it has a tree.
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
    """The numbers in use, in an array with space for more behind them."""
    if used + more <= values.shape[0]:
        return values
    larger = np.empty(2 * (used + more), values.dtype)
    copy_cells(values, 0, larger, 0, used)
    return larger


@kernel
def treebank_parse(base: Base, words: Any, nodes: Any) -> tuple[int, bool]:
    """Where the latent grammar has no tree: the best one of the treebank grammar, or pieces that cover the words.

    Returns the number of nodes, and whether it is a tree.
    """
    rules = base.scores.rules
    space = new_space(VITERBI, rules.is_top.shape[0], words.shape[0])
    chart = fill(VITERBI, base.scores, words, None, np.inf, space)
    if has_tree(chart):
        return best_tree(chart, rules.root, 0, chart.n, nodes, 0), True
    filled, _ = covering_trees(chart, base.eligible, nodes)
    return filled, False
