"""Learned pruning: a policy that decides, in chart order, which constituents a parser builds at all.

For every span and base symbol there are two actions, build it or skip it. What counts in the end is

    accuracy − λ · time

(Vieira & Eisner 2017): skipping what the tree needs costs accuracy, building what it does not need costs time. As in
Roark & Hollingshead's closed cells (2008) and Bodenstab et al.'s beams (2011), the policy looks at little: the most
probable tags and the words around the two ends of the span, and its length. Its score for building symbol A over the
span from i to j is

    z(A, i, j) = s(A, i) + e(A, j) + w(A, i, j) + threshold

a sum of rows of one table, each with a number for every symbol: s and e are summed once for each place between two
words, w is a few rows for each span. So all decisions of a sentence take a small part of the time of one chart.

Learning minimises, by AdaGrad, Σ log(1 + e^−z) over needed items + λ Σ log(1 + e^z) over the others: z is above 0 just
where the odds that the item is needed are above λ. What differs is which items are looked at, and what they cost:

``classification``
    all of them; needed are those of the treebank's tree.
``dagger``
    those that the policy itself gets to: what can be built from parts that it has built (Ross et al. 2011).
``lols``
    as ``dagger``, and then for some decisions of each sentence both actions are tried: it is parsed with the one and
    with the other, and the difference of the rewards is what the worse action costs (Chang et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.pcfg import Grammar, NotInGrammar
from treewright.constituency.grammar.rules import Lexical
from treewright.constituency.latent.charts import (
    MAX_RULE_PRODUCT,
    Blocks,
    blocks_of,
    decode,
    members,
    new_room,
    span_of,
)
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent.parsing import refine, take_mask
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.search.bits import bit
from treewright.search.compiling import compiled, inlined, kernel, lean
from treewright.search.hashing import mix, random_below, seed_random
from treewright.search.lanes import LANES, add_scaled, set_block
from treewright.search.running import run_shards
from treewright.settings import whole_number

__all__ = ["METHODS", "PruningPolicy"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]

METHODS = ("classification", "dagger", "lols")

PLACE, SPAN = 7, 5  # rows for a place between words, in either role, and for a span
FREQUENT = 5  # occurrences in training from which a word is a feature of its own
SLIGHT = 1e-3  # gradients below this change nothing
EVEN = 2.0  # decisions with scores nearer to 0 than this are nearly even
THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)  # of which the best one is chosen on held-out sentences
LONG = 4  # tags within a span of up to so many words are looked at together


class Table(NamedTuple):
    """A policy as kernels see it."""

    weights: Floats  # rows × symbols in whole blocks, flat
    spread: Floats  # AdaGrad's sums of squares, while it learns
    rows: int  # a power of two
    symbols: int
    tag: Ints  # for each kind of word its most probable tag
    word: Ints  # and its number, or −1 where it is not frequent
    root: int


class Scratch(NamedTuple):
    """Room for one sentence."""

    tags: Longs  # two more before and behind the sentence
    words: Longs
    place: Longs  # (n + 1) × 2 × PLACE rows, of starts and ends
    span: Longs  # SPAN rows
    sums: Floats  # (n + 1) × 2 × symbols in whole blocks, flat
    score: Floats  # of one span


@compiled
def new_scratch(table: Table, n: int) -> Scratch:
    """Room for sentences of up to n words."""
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
    """The rows of all places between words, as starts and as ends, and their sums."""
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
    """z of all symbols over a span."""
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
def mask_pass(
    table: Table, threshold: float, words: Any, at: Any, which: Any, masks: Any, mask_at: Any, slot: int
) -> None:
    """The sets of symbols that are built, for all spans of each sentence. Every word keeps its most probable tag."""
    most = 1
    for i in which:
        most = max(most, at[i + 1] - at[i])
    scratch = new_scratch(table, most)
    for i in which:
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        look_at_places(table, sentence, scratch)
        for end in range(1, n + 1):
            for start in range(end):
                score_span(table, scratch, start, end)
                choose(table, threshold, sentence, start, end, scratch, masks, mask_at[i] + span_of(start, end))


@lean
def choose(
    table: Table, threshold: float, words: Any, start: int, end: int, scratch: Scratch, masks: Any, at: int
) -> None:
    """The symbols whose scores are above 0, as a set."""
    for w in range(masks.shape[1]):
        chosen = np.uint64(0)
        for symbol in range(64 * w, min(64 * w + 64, table.symbols)):
            if scratch.score[symbol] + threshold > 0.0:
                chosen |= bit(symbol)
        masks[at, w] = chosen
    if end - start == 1:
        tag = table.tag[words[start]]
        masks[at, tag >> 6] |= bit(tag)
    if end - start == words.shape[0]:
        masks[at, table.root >> 6] |= bit(table.root)


# ---- learning


@lean
def learn_from(table: Table, scratch: Scratch, start: int, end: int, symbol: int, gradient: float, rate: float) -> None:
    """One step of AdaGrad on all rows of a span, for one symbol."""
    width = table.weights.shape[0] // table.rows
    for f in range(2 * PLACE + SPAN):
        if f < PLACE:
            row = scratch.place[start * 2 * PLACE + f]
        elif f < 2 * PLACE:
            row = scratch.place[end * 2 * PLACE + f]
        else:
            row = scratch.span[f - 2 * PLACE]
        here = row * width + symbol
        squares = np.float64(table.spread[here]) + gradient * gradient
        table.spread[here] = np.float32(squares)
        table.weights[here] = np.float32(np.float64(table.weights[here]) - rate * gradient / math.sqrt(squares))


@kernel
def learn_pass(
    table: Table,
    grammar: Blocks,
    words: Any,
    at: Any,
    order: Any,
    gold: Any,
    mask_at: Any,
    tradeoff: float,
    rate: float,
    roll_in: bool,
) -> float:
    """Learn from each sentence once; returns the mean loss of a word.

    ``roll_in``: only from items that the policy gets to, going through the chart bottom up and building what it likes.
    """
    most = 1
    for i in order:
        most = max(most, at[i + 1] - at[i])
    scratch = new_scratch(table, most)
    width = gold.shape[1]
    built = np.zeros((most * (most + 1) // 2, width), np.uint64)
    buildable, some = np.zeros((1, width), np.uint64), np.zeros((2, table.symbols), np.int64)
    loss, total = 0.0, 0
    for i in order:
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        total += n
        look_at_places(table, sentence, scratch)
        for end in range(1, n + 1):
            for start in range(end - 1, -1, -1):
                span = span_of(start, end)
                needed = mask_at[i] + span
                for w in range(width):
                    buildable[0, w] = ~np.uint64(0)
                if roll_in:
                    what_can_be_built(grammar, sentence, start, end, built, buildable, some)
                score_span(table, scratch, start, end)
                for symbol in range(table.symbols):
                    word, here = symbol >> 6, bit(symbol)
                    is_needed = gold[needed, word] & here != np.uint64(0)
                    if not is_needed and buildable[0, word] & here == np.uint64(0):
                        continue
                    z = np.float64(scratch.score[symbol])
                    wrong = 1.0 / (1.0 + math.exp(z if is_needed else -z))  # the probability of the other action
                    gradient = -wrong if is_needed else tradeoff * wrong
                    loss -= math.log(1.0 - wrong) * (1.0 if is_needed else tradeoff)
                    if abs(gradient) > SLIGHT * tradeoff:
                        learn_from(table, scratch, start, end, symbol, gradient, rate)
                if roll_in:
                    choose(table, 0.0, sentence, start, end, scratch, built, span)
                    for w in range(width):
                        built[span, w] &= buildable[0, w]
        # the sums of places have not followed the weights within the sentence: they are looked up anew for the next one
    return loss / max(total, 1)


@lean
def what_can_be_built(grammar: Blocks, words: Any, start: int, end: int, built: Any, out: Any, some: Any) -> None:
    """The base symbols that some rule makes of what has been built within a span, or of its word."""
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


@kernel
def lols_pass(
    table: Table,
    grammar: Blocks,
    words: Any,
    at: Any,
    order: Any,
    gold: Any,
    mask_at: Any,
    tradeoff: float,
    rate: float,
    deviations: int,
    of_an_item: float,
    seed: int,
    number: int,
) -> float:
    """For some decisions of each sentence, parse with both actions; learn from the difference. Returns the mean reward.

    The reward is the number of items of the tree that the treebank's has too, less λ for each item built; time is the
    work done in units of ``of_an_item``. Deviations are drawn from decisions that are nearly even.
    """
    most = 1
    for i in order:
        most = max(most, at[i + 1] - at[i])
    scratch, room = new_scratch(table, most), new_room(grammar, grammar, most)
    spans = most * (most + 1) // 2
    masks, nodes = np.zeros((spans, gold.shape[1]), np.uint64), np.zeros((2 * most, 5), np.int32)
    near, random = np.zeros((spans * 4, 3), np.int64), np.zeros(2, np.int64)
    total = 0.0
    for i in order:
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        seed_random(random, seed, number, i)
        look_at_places(table, sentence, scratch)
        count = 0
        for end in range(1, n + 1):
            for start in range(end):
                score_span(table, scratch, start, end)
                choose(table, 0.0, sentence, start, end, scratch, masks, span_of(start, end))
                for symbol in range(table.symbols):
                    if abs(scratch.score[symbol]) < EVEN and count < near.shape[0]:
                        near[count, 0], near[count, 1], near[count, 2] = symbol, start, end
                        count += 1
        usual = reward_of(grammar, sentence, masks, gold, mask_at[i], room, nodes, tradeoff / of_an_item)
        total += usual
        for _ in range(deviations if count > 0 else 0):
            k = random_below(random, count)
            symbol, start, end = near[k, 0], near[k, 1], near[k, 2]
            span, word = span_of(start, end), symbol >> 6
            was_built = masks[span, word] & bit(symbol) != np.uint64(0)
            masks[span, word] ^= bit(symbol)
            other = reward_of(grammar, sentence, masks, gold, mask_at[i], room, nodes, tradeoff / of_an_item)
            masks[span, word] ^= bit(symbol)
            gain = usual - other if was_built else other - usual  # of building it
            score_span(table, scratch, start, end)
            z = np.float64(scratch.score[symbol])
            wrong = 1.0 / (1.0 + math.exp(z if gain > 0.0 else -z))
            if gain != 0.0:
                learn_from(table, scratch, start, end, symbol, -gain * wrong, rate)
    return total / max(len(order), 1)


@compiled
def reward_of(
    grammar: Blocks, words: Any, masks: Any, gold: Any, first: int, room: Any, nodes: Any, price: float
) -> float:
    """Accuracy − λ · time of parsing a sentence with a mask, in items; without a tree, nothing is right."""
    n, rules = words.shape[0], grammar.rules
    room.work[0] = 0
    take_mask(masks, 0, n, room)
    refine(grammar, n, room)
    filled = decode(grammar, words, room, 0.0, MAX_RULE_PRODUCT, nodes)
    right = 0
    for k in range(filled):
        span, symbol = first + span_of(nodes[k, 3], nodes[k, 4]), nodes[k, 0]
        right += gold[span, symbol >> 6] & bit(symbol) != np.uint64(0)
        if nodes[k, 1] >= 0:
            top = rules.unary[nodes[k, 1], 0]
            right += gold[span, top >> 6] & bit(top) != np.uint64(0)
    return right - price * room.work[0]


@dataclass(frozen=True, eq=False)
class PruningPolicy:
    """Which constituents to build; :meth:`learn` makes one. ``threshold`` is added to all scores."""

    weights: Floats  # rows × symbols in whole blocks
    tag: Ints  # of each kind of word the most probable tag
    word: Ints  # and its number, −1 where it is not frequent
    symbols: int
    root: int
    threshold: float = 0.0

    @classmethod
    def learn(
        cls,
        grammars: Sequence[LatentGrammar],
        trees: Sequence[Tree],
        *,
        tradeoff: float = 0.001,
        method: str = "dagger",
        passes: int = 4,
        rate: float = 0.2,
        rows: int = 1 << 15,
        deviations: int = 8,
        seed: int = 0,
    ) -> PruningPolicy:
        """Learn from binarised trees of the hierarchy's base; ``tradeoff`` is λ, the price of an item built in vain.

        A needed item that is skipped costs 1. ``dagger`` and ``lols`` begin with two passes of classification. Every
        tenth tree is held out: the threshold is chosen with which its items cost the least, since a policy is too sure
        of the sentences that it has learned from. Trees that the grammar cannot derive are left out.
        """
        if method not in METHODS:
            raise ConfigError(f"method cannot be {method!r}; it is one of: {', '.join(METHODS)}")
        if not 0.0 < tradeoff <= 1.0:
            raise ConfigError(f"tradeoff must be above 0 and at most 1, not {tradeoff!r}")
        passes, seed = whole_number("passes", passes, 1), whole_number("seed", seed, 0)
        base, lexical = grammars[0].base, grammars[0].lexical()
        known = [(tree, nodes) for tree in trees if (nodes := _derivation(base, tree)) is not None]
        if not known:
            raise CorpusError("there is no tree to learn pruning from that the grammar can derive")
        words = [grammars[0].rows(tree.leaves()) for tree, _ in known]
        at = np.concatenate([[0], np.cumsum([len(each) for each in words])]).astype(np.int64)
        flat, mask_at = np.concatenate(words), _mask_offsets(at)
        masks = np.zeros((mask_at[-1], (len(base.symbols) + 63) // 64), np.uint64)
        tags = np.zeros(len(base.symbols))
        for (_, nodes), first in zip(known, mask_at, strict=False):
            _add_items(base, nodes, masks[first:])
            tags += np.bincount(nodes[nodes[:, 2] < 0, 0], minlength=len(tags))
        frequent = np.bincount(flat, minlength=len(lexical.at) - 1) >= FREQUENT
        width = -(-len(base.symbols) // LANES) * LANES
        policy = cls(
            np.zeros((rows, width), np.float32),
            _best_tags(lexical, tags),
            np.where(frequent, np.arange(len(frequent)), -1).astype(np.int32),
            len(base.symbols),
            base.rules.root,
        )
        table = policy._table(np.full(rows * width, 1e-8, np.float32))
        rng = np.random.default_rng(seed)
        coarse = blocks_of(grammars[0], grammars[0].coarser, grammars[0].substates)
        held_out = np.arange(len(known)) % 10 == 9
        learned = np.flatnonzero(~held_out)
        for number in range(passes):
            order = rng.permutation(learned)
            roll_in = method != "classification" and number >= 2
            learn_pass(table, coarse, flat, at, order, masks, mask_at, tradeoff, rate, roll_in)
        if method == "lols":
            fine = grammars[-1]
            level = blocks_of(fine, np.repeat(np.arange(len(tags)), fine.substates), grammars[0].substates)
            # fmt: off
            lols_pass(table, level, flat, at, rng.permutation(learned), masks, mask_at, tradeoff, rate,
                      deviations, _blocks_of_an_item(level), seed, passes)
            # fmt: on
        spans = np.repeat(held_out, np.diff(mask_at))
        return min(
            (policy.with_threshold(each) for each in THRESHOLDS),
            key=lambda p: p._cost(flat, at, masks, spans, tradeoff),
        )

    def _cost(self, rows: Ints, at: Longs, needed: Bits, spans: npt.NDArray[np.bool_], tradeoff: float) -> float:
        """What the policy's decisions over some spans cost: needed items that are skipped, and λ for each one built."""
        built = self.masks(rows, at)[0]
        missed = np.bitwise_count(needed[spans] & ~built[spans]).sum()
        return float(missed + tradeoff * np.bitwise_count(built[spans]).sum())

    def with_threshold(self, threshold: float) -> PruningPolicy:
        """The same policy, building more (above 0) or less (below 0)."""
        return replace(self, threshold=float(threshold))

    def masks(self, rows: Ints, at: Longs, jobs: int = 1) -> tuple[Bits, Longs]:
        """What is built in sentences given as rows of the lexicon: sets of base symbols, and where each one begins.

        The sets of a sentence are in the order of :func:`~treewright.constituency.latent.parsing.span_of`.
        """
        mask_at = _mask_offsets(at)
        masks = np.zeros((mask_at[-1], (self.symbols + 63) // 64), np.uint64)
        table = self._table(np.zeros(1, np.float32))

        def work(first: int, last: int, control: Longs, slot: int) -> None:
            which = np.arange(first, last)
            mask_pass(table, float(self.threshold), rows, at, which, masks, mask_at, slot)

        if len(at) > 1:
            run_shards(work, len(at) - 1, jobs=jobs)
        return masks, mask_at

    def _table(self, spread: Floats) -> Table:
        weights = self.weights.reshape(-1)
        return Table(weights, spread, len(self.weights), self.symbols, self.tag, self.word, self.root)

    def to_arrays(self) -> dict[str, Any]:
        """The policy as arrays, for a model file."""
        numbers = np.array([self.symbols, self.root, self.threshold], np.float64)
        return {"weights": self.weights, "tag": self.tag, "word": self.word, "numbers": numbers}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> PruningPolicy:
        """The policy that :meth:`to_arrays` gave; :class:`ModelError` if something does not fit."""
        try:
            symbols, root, threshold = np.asarray(arrays["numbers"]).tolist()
            weights = np.ascontiguousarray(arrays["weights"], np.float32)
            tag, word = (np.asarray(arrays[name], np.int32) for name in ("tag", "word"))
            policy = cls(weights, tag, word, int(symbols), int(root), threshold)
            rows, width = weights.shape
            fits = (
                rows & (rows - 1) == 0
                and width == -(-policy.symbols // LANES) * LANES
                and 0 <= root < symbols
                and len(tag) == len(word)
                and bool(((tag >= 0) & (tag < symbols)).all())
            )
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            raise ModelError(
                "the model's pruning policy is damaged: its parts do not fit; copy or train the model again"
            )
        return policy


def _mask_offsets(at: Longs) -> Longs:
    """Where the spans of each sentence begin."""
    n = np.diff(at)
    return np.concatenate([[0], np.cumsum(n * (n + 1) // 2)]).astype(np.int64)


def _derivation(base: Grammar, tree: Tree) -> Ints | None:
    try:
        return base.derivation(tree)
    except NotInGrammar:
        return None


def _add_items(base: Grammar, nodes: Ints, sets: Bits) -> None:
    """Add the items of a derivation, tops and bottoms, to sets for the spans of its sentence."""
    for symbol, one, _, start, end in nodes.tolist():
        items = [symbol] if one < 0 else [symbol, int(base.unary[one, 0])]
        for item in items:
            sets[span_of(start, end), item >> 6] |= np.uint64(1 << (item & 63))


def _best_tags(lexical: Lexical, counts: npt.NDArray[np.float64]) -> Ints:
    """For each kind of word the tag with the largest P(word | tag) P(tag)."""
    joint = lexical.score + np.log(counts + 0.5)[lexical.symbol]
    order = np.lexsort((joint, np.repeat(np.arange(len(lexical.at) - 1), np.diff(lexical.at))))
    return lexical.symbol[order[lexical.at[1:] - 1]].astype(np.int32)


def _blocks_of_an_item(grammar: Blocks) -> float:
    """How many blocks an item takes part in, on average over binary rules' parents: the unit of time."""
    return float(np.diff(grammar.block_at)[: len(grammar.rules.binary)].sum()) / max(
        len(grammar.rules.of_parent_at) - 1, 1
    )
