"""Scores of a pruning policy: for every span, a score for building each base symbol.

The policy has few features: the most probable tags and the words around the two ends of the span, and its length. Its
score for building symbol A over the span from i to j is

    z(A, i, j) = s(A, i) + e(A, j) + w(A, i, j) + threshold

a sum of rows of one table, each with a number for every symbol: s and e are summed once for each position between two
words, w is a few rows for each span. All decisions of a sentence therefore take a small fraction of the time of one
chart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.corpus import Sentences, Shard, longest, words_of
from treewright.constituency.charts.spans import span_of
from treewright.constituency.latent.masks import Masks
from treewright.search.bits import bit
from treewright.search.compiling import compiled, inlined, kernel, lean
from treewright.search.hashing import mix
from treewright.search.lanes import LANES, add_scaled, set_block

__all__ = ["Scratch", "Table", "choose", "look_at_places", "mask_pass", "new_scratch", "score_span"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

PLACE, SPAN = 7, 5  # the number of rows for a position between words, in either role, and for a span
LONG = 4  # the tags within a span of up to this many words form one feature


class Table(NamedTuple):
    """The arrays of a policy, for kernels."""

    weights: Floats  # rows × symbols in whole blocks, flat
    spread: Floats  # the sums of squares of AdaGrad, during learning
    rows: int  # a power of two
    symbols: int
    tag: Ints  # the most probable tag of each kind of word
    word: Ints  # the index of each kind of word among the frequent ones, −1 if it is not frequent
    root: int


class Scratch(NamedTuple):
    """The rows and scores of one sentence."""

    tags: Longs  # with two additional tags before and after the sentence
    words: Longs
    place: Longs  # (n + 1) × 2 × PLACE rows, of starts and ends
    span: Longs  # SPAN rows
    sums: Floats  # (n + 1) × 2 × symbols in whole blocks, flat
    score: Floats  # the scores of one span


@compiled
def new_scratch(table: Table, n: int) -> Scratch:
    """Allocate the arrays for sentences of up to n words."""
    width = table.weights.shape[0] // table.rows
    return Scratch(
        np.zeros(n + 4, np.int64),
        np.zeros(n + 4, np.int64),
        np.zeros((n + 1) * 2 * PLACE, np.int64),
        np.zeros(SPAN, np.int64),
        np.zeros((n + 1) * 2 * width, np.float32),
        np.zeros(width, np.float32),
    )


@inlined
def _row(table: Table, template: int, a: int, b: int, c: int) -> int:
    return mix(mix(mix(np.int64(template + 1), a + 3), b + 3), c + 3) & (table.rows - 1)


@lean
def look_at_places(table: Table, words: Any, scratch: Scratch) -> None:
    """Compute the rows of all positions between words, as starts and as ends, and their sums."""
    n, width = words.shape[0], table.weights.shape[0] // table.rows
    t, w = scratch.tags, scratch.words
    for i in range(-2, n + 2):
        inside = 0 <= i < n
        t[i + 2] = table.tag[words[i]] if inside else -1
        w[i + 2] = table.word[words[i]] if inside else -2
    for p in range(n + 1):
        for role in range(2):
            at = (p * 2 + role) * PLACE
            k = 16 * role
            scratch.place[at] = _row(table, k, t[p + 1], t[p + 2], 0)
            scratch.place[at + 1] = _row(table, k + 1, t[p], t[p + 1], 0)
            scratch.place[at + 2] = _row(table, k + 2, t[p + 2], t[p + 3], 0)
            scratch.place[at + 3] = _row(table, k + 3, t[p], t[p + 1], t[p + 2])
            scratch.place[at + 4] = _row(table, k + 4, t[p + 1], t[p + 2], t[p + 3])
            scratch.place[at + 5] = _row(table, k + 5, w[p + 1], 0, 0)
            scratch.place[at + 6] = _row(table, k + 6, w[p + 2], 0, 0)
            out = (p * 2 + role) * width
            for k in range(0, width, LANES):
                set_block(scratch.sums, out + k, 0.0)
                for f in range(PLACE):
                    add_scaled(scratch.sums, out + k, table.weights, scratch.place[at + f] * width + k, 1.0)


@lean
def score_span(table: Table, scratch: Scratch, start: int, end: int) -> None:
    """Compute z of all symbols over a span."""
    width, length = table.weights.shape[0] // table.rows, end - start
    t = scratch.tags
    size = length if length <= 8 else 8 + min(length // 4, 10)
    scratch.span[0] = _row(table, 40, size, 0, 0)
    scratch.span[1] = _row(table, 41, t[start + 2], t[end + 1], min(length, 3))
    scratch.span[2] = _row(table, 42, t[start + 1], t[end + 2], 0)
    scratch.span[3] = _row(table, 43, t[end + 1], size, 0)
    inner = np.int64(0)
    if length <= LONG:
        for k in range(start, end):
            inner = np.int64(mix(inner, t[k + 2] + 3))
        scratch.span[4] = _row(table, 44, inner, length, 0)
    else:
        scratch.span[4] = _row(table, 45, t[start + 2], size, 0)
    one, two = (start * 2) * width, (end * 2 + 1) * width
    for k in range(0, width, LANES):
        set_block(scratch.score, k, 0.0)
        add_scaled(scratch.score, k, scratch.sums, one + k, 1.0)
        add_scaled(scratch.score, k, scratch.sums, two + k, 1.0)
        for f in range(SPAN):
            add_scaled(scratch.score, k, table.weights, scratch.span[f] * width + k, 1.0)


@kernel
def mask_pass(table: Table, threshold: float, sentences: Sentences, shard: Shard, masks: Masks) -> None:
    """Find the sets of symbols to build, for all spans of each sentence. Every word keeps its most probable tag."""
    scratch = new_scratch(table, longest(sentences, shard.which))
    for i in shard.which:
        if shard.control[0] != 0:
            break
        words = words_of(sentences, i)
        n = words.shape[0]
        look_at_places(table, words, scratch)
        for end in range(1, n + 1):
            for start in range(end):
                score_span(table, scratch, start, end)
                choose(table, threshold, words, start, end, scratch, masks.sets, masks.at[i] + span_of(start, end))
        shard.control[shard.slot] += 1


@lean
def choose(
    table: Table, threshold: float, words: Any, start: int, end: int, scratch: Scratch, sets: Any, at: int
) -> None:
    """Write the symbols of a span whose scores are above 0 to the set ``at``."""
    for w in range(sets.shape[1]):
        chosen = np.uint64(0)
        for symbol in range(64 * w, min(64 * w + 64, table.symbols)):
            if scratch.score[symbol] + threshold > 0.0:
                chosen |= bit(symbol)
        sets[at, w] = chosen
    if end - start == 1:
        tag = table.tag[words[start]]
        sets[at, tag >> 6] |= bit(tag)
    if end - start == words.shape[0]:
        sets[at, table.root >> 6] |= bit(table.root)
