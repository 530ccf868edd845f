"""Rewards of constituents by surface features of their spans (Hall, Durrett & Klein 2014).

The rules of a grammar see the words of a sentence only through their tags. Here a constituent (A, i, j) also earns a
reward that depends on its label and on what is at the edges of its span:

    r(A, i, j) = Σ_k w[f_k(i, j), label(A)]

The features f_k are the :data:`TEMPLATES`: the words and tags inside and outside of both edges, the length of the span
and its shape. Words are rows of the lexicon, and the tag of a word is its most probable one. The label of a symbol
includes the parent, if the grammar has it, but no siblings. Tags have rewards too, over single words.

Weights are in one table. A feature is hashed to a place in it, where the weights of all labels begin; so those of one
feature are side by side in memory. Different features may share places; the table has a limited size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import row_offsets
from treewright.constituency.charts.corpus import Sentences, nodes_of, words_of
from treewright.constituency.grammar.binarisation import TOP, is_intermediate
from treewright.constituency.grammar.pcfg import BOTTOM, TAG, Grammar
from treewright.constituency.grammar.rules import Lexical, Rules
from treewright.search.compiling import compiled, in_bulk, inlined, interpreted, kernel, lean
from treewright.search.hashing import cross2, cross3, mix
from treewright.search.lanes import LANES

__all__ = [
    "TEMPLATES",
    "Anchors",
    "SpanRewards",
    "anchored_in",
    "explain_span",
    "new_anchors",
    "new_span_rewards",
    "reward_pass",
    "span_features",
    "span_labels",
    "table_size",
]

#: the features of a span, by what they look at
TEMPLATES = (
    "first word",
    "last word",
    "word before",
    "word after",
    "length",
    "tags at the left edge",
    "tags at the right edge",
    "tags around",
    "first and last tag",
    "first tag, length",
    "last tag, length",
    "tag after, length",
    "tag before, length",
    "shape",
    "tags at both edges",
    "first word, tag after",
    "last word, tag after",
    "word before, first tag",
    "first and last word",
    "words at the left edge",
    "words at the right edge",
)
_OUTSIDE = -1  # the word and the tag before the first word and after the last one
_PER_WORD, _LEAST_BITS, _MOST_BITS = 40, 14, 22  # the size of the table: places for a word of the treebank, as a power


class SpanRewards(NamedTuple):
    """The weights of span features, and what the features are made of."""

    weights: npt.NDArray[Any]  # the table
    tag_of: npt.NDArray[np.int32]  # the most probable tag of each row of the lexicon
    label_of: npt.NDArray[np.int32]  # the label of each symbol, those of phrases before those of tags; −1 for the root
    phrases: int  # the number of labels of phrases
    labels: int  # the number of all labels
    mask: int  # places in the table are hashes modulo a power of 2


def span_labels(grammar: Grammar) -> list[str | None]:
    """The label of each symbol: its name without siblings, and without a mark for chains; None for the root.

    >>> grammar = Grammar.from_rules([("S^TOP", "NP^S", "@S^TOP|NP", 0.0, 1), ("@S^TOP|NP", "VB", "NP^S", 0.0, 1)],
    ...                              [("TOP", "S^TOP", (), 0.0, 1), ("NP^S", "NN", (), 0.0, 1)])
    >>> dict(zip(grammar.symbols, span_labels(grammar)))
    {'@S^TOP|NP': '@S^TOP', 'NN': 'NN', 'NP^S': 'NP^S', 'S^TOP': 'S^TOP', 'TOP': None, 'VB': 'VB'}
    """
    return [
        None if name == TOP else name.partition("|")[0] if is_intermediate(name) else name.rstrip(BOTTOM + TAG)
        for name in grammar.symbols
    ]


def table_size(words: int) -> int:
    """The number of places for features that are learned from a treebank of some words: a power of 2.

    >>> table_size(10_000), table_size(10**9)
    (524288, 4194304)
    """
    bits = math.ceil(math.log2(max(_PER_WORD * words, 1)))
    return 1 << min(max(bits, _LEAST_BITS), _MOST_BITS)


def new_span_rewards(grammar: Grammar, lexical: Lexical, prior: npt.NDArray[np.float64], size: int) -> SpanRewards:
    """Rewards of 0, with ``size`` places for features; ``prior`` is log P(tag) of each symbol."""
    if not 0 < size <= 1 << _MOST_BITS or size & (size - 1):  # in a model file that somebody has changed
        raise ValueError(f"the size of a table is a power of 2, at most {1 << _MOST_BITS:,}, not {size}")
    tags, names = set(grammar.tags.values()), span_labels(grammar)
    kinds = [None if name is None else (symbol in tags, name) for symbol, name in enumerate(names)]
    order = sorted({kind for kind in kinds if kind is not None})
    number = {kind: k for k, kind in enumerate(order)}
    label_of = np.array([-1 if kind is None else number[kind] for kind in kinds], np.int32)
    probable = lexical.score + prior[lexical.symbol]
    rows = np.repeat(np.arange(len(lexical.at) - 1), np.diff(lexical.at))
    best = np.lexsort((-probable, rows))[lexical.at[:-1]]  # the first of each row
    phrases = sum(not is_tag for is_tag, _ in order)
    weights = np.zeros(size + len(order), np.float32)
    return SpanRewards(weights, lexical.symbol[best], label_of, phrases, len(order), size - 1)


@inlined
def _set_keys(
    keys: Any, start: Any, length: Any, first: Any, last: Any, before: Any, after: Any,
    first_tag: Any, second: Any, third: Any, last_tag: Any, tag_before: Any, tag_after: Any,
) -> None:  # fmt: skip
    """The hashes of a span's features, in the order of :data:`TEMPLATES`; or of many spans, if all are arrays.

    ``second`` and ``third`` are the tags of the second word and of the last but one, as far as they are inside.
    """
    single, begins = np.int64(1) * (length == 1), np.int64(1) * (start == 0)
    keys[0] = cross2(0, first, single)
    keys[1] = cross2(1, last, single)
    keys[2] = cross2(2, before, single)
    keys[3] = cross2(3, after, single)
    keys[4] = cross2(4, length, begins)
    keys[5] = cross2(5, first_tag, tag_before)
    keys[6] = cross2(6, last_tag, tag_after)
    keys[7] = cross2(7, tag_before, tag_after)
    keys[8] = cross2(8, first_tag, last_tag)
    keys[9] = cross2(9, first_tag, length)
    keys[10] = cross2(10, last_tag, length)
    keys[11] = cross2(11, tag_after, length)
    keys[12] = cross2(12, tag_before, length)
    keys[13] = mix(mix(cross3(13, first_tag, second, third), last_tag), (length <= 4) * length)
    keys[14] = mix(cross3(14, tag_before, first_tag, last_tag), tag_after)
    keys[15] = cross2(15, first, tag_after)
    keys[16] = cross2(16, last, tag_after)
    keys[17] = cross2(17, before, first_tag)
    keys[18] = cross2(18, first, last)
    keys[19] = cross2(19, before, first)
    keys[20] = cross2(20, last, after)


@compiled
def _keys_of(rewards: SpanRewards, words: Any, start: int, end: int, keys: Any) -> None:
    """The places in the table of a span's features."""
    n, tag_of = words.shape[0], rewards.tag_of
    before, tag_before = np.int64(_OUTSIDE), np.int64(_OUTSIDE)
    after, tag_after = np.int64(_OUTSIDE), np.int64(_OUTSIDE)
    if start > 0:
        before, tag_before = np.int64(words[start - 1]), np.int64(tag_of[words[start - 1]])
    if end < n:
        after, tag_after = np.int64(words[end]), np.int64(tag_of[words[end]])
    length = np.int64(end - start)
    if length > 5:
        length = np.int64(6 if length <= 10 else 7 if length <= 20 else 8)
    _set_keys(
        keys, start, length, np.int64(words[start]), np.int64(words[end - 1]), before, after,
        np.int64(tag_of[words[start]]), np.int64(tag_of[words[min(start + 1, end - 1)]]),
        np.int64(tag_of[words[max(end - 2, start)]]), np.int64(tag_of[words[end - 1]]), tag_before, tag_after,
    )  # fmt: skip
    for k in range(keys.shape[0]):
        keys[k] &= rewards.mask


class Anchors(NamedTuple):
    """Span rewards, and the memory for those of a sentence."""

    rewards: SpanRewards
    table: npt.NDArray[np.float32]  # labels × triangle
    anchored: npt.NDArray[np.float32]  # symbols × triangle, flat, as in a chart


@compiled
def new_anchors(rewards: SpanRewards | None, most: int) -> Anchors | None:
    """The memory for sentences of up to ``most`` words."""
    if rewards is None:
        return None
    cells = row_offsets(most)[most + 1]
    table = np.zeros((rewards.labels, cells), np.float32)
    return Anchors(rewards, table, np.zeros(rewards.label_of.shape[0] * cells + 2 * LANES, np.float32))


@compiled
def anchored_in(anchors: Anchors, words: Any) -> Any:
    """The rewards of all constituents of a sentence, in the layout of a chart."""
    offsets = row_offsets(words.shape[0])
    _set_table(anchors.rewards, words, offsets, anchors.table)
    _spread(anchors.rewards, anchors.table, offsets[words.shape[0] + 1], anchors.anchored)
    return anchors.anchored


@lean
def _spread(rewards: SpanRewards, table: Any, cells: int, anchored: Any) -> None:
    """From labels to symbols."""
    for symbol in range(rewards.label_of.shape[0]):
        label, here = rewards.label_of[symbol], symbol * cells
        for at in range(cells):
            anchored[here + at] = table[label, at] if label >= 0 else np.float32(0.0)


@in_bulk(_spread)
def _(loops: Any, rewards: SpanRewards, table: Any, cells: int, anchored: Any) -> None:
    label = rewards.label_of
    rows = np.where(label[:, None] >= 0, table[label, :cells], np.float32(0.0))
    anchored[: len(label) * cells] = rows.ravel()


@compiled
def _set_table(rewards: SpanRewards, words: Any, offsets: Any, table: Any) -> None:
    """The rewards of all labels over all spans."""
    n, weights = words.shape[0], rewards.weights
    keys, sums = np.zeros(len(TEMPLATES), np.int64), np.zeros(rewards.labels, weights.dtype)
    for width in range(1, n + 1):
        labels = rewards.labels if width == 1 else rewards.phrases
        for start in range(n - width + 1):
            _keys_of(rewards, words, start, start + width, keys)
            own = sums[:labels]
            own[:] = 0
            for k in range(keys.shape[0]):
                add = weights[keys[k] : keys[k] + labels]  # slices, so that the compiler sees no negative indices
                for label in range(labels):
                    own[label] += add[label]
            for label in range(labels):
                table[label, offsets[width] + start] = np.float32(own[label])


@in_bulk(_set_table)
def _(loops: Any, rewards: SpanRewards, words: Any, offsets: Any, table: Any) -> None:
    n = len(words)
    start, end = (each.astype(np.int64) for each in np.triu_indices(n))
    end = end + 1
    padded = np.concatenate([words, [_OUTSIDE]]).astype(np.int64)  # before the first word, −1 is the last place
    tags = np.append(rewards.tag_of[words], _OUTSIDE).astype(np.int64)
    length = end - start
    length = np.where(length <= 5, length, np.where(length <= 10, 6, np.where(length <= 20, 7, 8)))
    keys = np.zeros((len(TEMPLATES), len(start)), np.int64)
    _set_keys(
        keys, start, length, padded[start], padded[end - 1], padded[start - 1], padded[end],
        tags[start], tags[np.minimum(start + 1, end - 1)], tags[np.maximum(end - 2, start)], tags[end - 1],
        tags[start - 1], tags[end],
    )  # fmt: skip
    keys &= rewards.mask
    sums = np.zeros((rewards.labels, len(start)), rewards.weights.dtype)
    for k in range(len(TEMPLATES)):
        sums += rewards.weights[keys[k] + np.arange(rewards.labels)[:, None]]
    at = offsets[end - start] + start
    table[: rewards.phrases, at] = sums[: rewards.phrases]
    words_at = at[end - start == 1]
    table[rewards.phrases : rewards.labels, words_at] = sums[rewards.phrases :, end - start == 1]


@kernel
def reward_pass(rewards: SpanRewards, words: Any) -> Any:
    """The rewards of all constituents of one sentence, in the layout of a chart."""
    anchors = new_anchors(rewards, words.shape[0])
    return anchored_in(anchors, words)


@kernel
def span_features(rewards: SpanRewards, rules: Rules, sentences: Sentences, nodes: Any, found: Any) -> int:
    """The features of the constituents in derivations, as places in the table; returns their number.

    A node of a derivation has the features of its bottom, and those of its top if there is a unary rule.
    """
    keys, m = np.zeros(len(TEMPLATES), np.int64), 0
    for i in range(sentences.at.shape[0] - 1):
        words, derivation = words_of(sentences, i), nodes_of(sentences, nodes, i)
        for node in range(derivation.shape[0]):
            start, end, above = derivation[node, 3], derivation[node, 4], derivation[node, 1]
            _keys_of(rewards, words, start, end, keys)
            bottom = rewards.label_of[derivation[node, 0]]
            top = rewards.label_of[rules.unary[above, 0]] if above >= 0 else np.int32(-1)
            for k in range(keys.shape[0]):
                if bottom >= 0:
                    found[m] = keys[k] + bottom
                    m += 1
                if top >= 0:
                    found[m] = keys[k] + top
                    m += 1
    return m


def explain_span(
    rewards: SpanRewards, rows: npt.NDArray[np.int32], words: Sequence[str], tags: Sequence[str], span: tuple[int, int]
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The features of a span of a sentence, in words, and their places in the table."""
    (start, end), n = span, len(words)
    keys = np.zeros(len(TEMPLATES), np.int64)
    interpreted(_keys_of)(rewards, rows, start, end, keys)
    before, tag_before = (words[start - 1], tags[start - 1]) if start else ("[", "[")
    after, tag_after = (words[end], tags[end]) if end < n else ("]", "]")
    length, first, last = end - start, tags[start], tags[end - 1]
    long = str(length) if length <= 5 else "6 to 10" if length <= 10 else "11 to 20" if length <= 20 else "more than 20"
    shape = [*tags[start:end]] if length <= 4 else [first, tags[start + 1], "…", tags[end - 2], last]
    parts = (
        words[start], words[end - 1], before, after, long + ", first" * (start == 0),
        f"{tag_before} | {first}", f"{last} | {tag_after}", f"{tag_before} | | {tag_after}", f"{first} … {last}",
        f"{first}, {long}", f"{last}, {long}", f"{tag_after}, {long}", f"{tag_before}, {long}",
        " ".join(shape), f"{tag_before} | {first} … {last} | {tag_after}",
        f"{words[start]} … | {tag_after}", f"{words[end - 1]} | {tag_after}", f"{before} | {first}",
        f"{words[start]} … {words[end - 1]}", f"{before} | {words[start]}", f"{words[end - 1]} | {after}",
    )  # fmt: skip
    return [f"{template}: {part}" for template, part in zip(TEMPLATES, parts, strict=True)], keys
