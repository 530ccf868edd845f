"""Parsing with latent-variable grammars: from coarse to fine, with one grammar or with the product of several.

*Coarse-to-fine* (Petrov & Klein 2007): the treebank grammar first, whose charts are small; what it finds improbable is
never built with the next grammar of the hierarchy (:mod:`treewright.constituency.latent.charts`), and so on. The last
one decides: by Viterbi, or by max-rule decoding.

*Products* (Petrov 2010): EM ends somewhere else from every seed, and grammars of several seeds make different mistakes.
Max-rule decoding works with the posteriors of the base's rules, which all of them have: the tree is taken for which
the product of all their posteriors is the largest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, has_tree, new_space, place
from treewright.constituency.charts.corpus import NODE
from treewright.constituency.charts.derivations import best_tree, covering_trees
from treewright.constituency.charts.outside import outside
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import INSIDE
from treewright.constituency.charts.semirings import VITERBI as BEST
from treewright.constituency.grammar.pcfg import BOTTOM
from treewright.constituency.grammar.rules import Lexical, Rules, Weighted
from treewright.constituency.latent.charts import (
    MAX_RULE_PRODUCT,
    MAX_RULE_SUM,
    VITERBI,
    Anchored,
    Blocks,
    Room,
    blocks_of,
    inside,
    max_rule_tree,
    members,
    new_anchored,
    new_room,
    outside_of,
    posteriors,
    span_of,
    viterbi_tree,
)
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.corpora import Tree
from treewright.errors import ConfigError
from treewright.search.bits import bit, lowest
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.running import run_shards

__all__ = ["DECODERS", "CoarseToFine", "Derivation", "Product"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[Any]

DECODERS = {"viterbi": VITERBI, "max-rule-product": MAX_RULE_PRODUCT, "max-rule-sum": MAX_RULE_SUM}
SLIGHT = 1e-2  # of a threshold: what is less probable does not help anything else to be above it


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


TOGETHER = 256  # sentences whose posteriors are kept at a time, for products
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


class Posteriors(NamedTuple):
    """The anchored rules of some sentences, each as one number that rises within a sentence, and their probabilities.

    Of several grammars, these are the rules that all of them have, and the products of their probabilities.
    """

    at: Longs  # where those of each sentence begin; empty: there is nothing to be multiplied
    key: Longs
    probability: Floats


NO_POSTERIORS = Posteriors(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


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


@compiled
def descend(
    coarse: Blocks, fine: Blocks, words: Any, room: Room, thresholds: Any, relaxed: float, beam: float, summing: bool
) -> bool:
    """From a mask of base symbols to a chart of the finer level, with two thresholds through the coarser one.

    Returns whether it has a tree.
    """
    n = words.shape[0]
    if thresholds.shape[0] > 1:
        refine(coarse, n, room)
        if not inside(coarse, words, room, 0.0, True):
            return False
        outside_of(coarse, n, room, new_anchored(0), SLIGHT * thresholds[1] * relaxed)
        keep_probable(coarse, n, room, thresholds[1] * relaxed)
    refine(fine, n, room)
    return inside(fine, words, room, beam * relaxed, summing)


@kernel
def latent_pass(
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
    others: Posteriors,
    keeping: bool,
    nodes: Any,
    filled: Any,
    control: Any,
    slot: int,
) -> Posteriors:
    """The tree of each sentence, as a derivation of the base. ``nodes`` has 2n − 1 rows each, ``filled`` of them used.

    ``masks``, unless empty, are sets of base symbols for all spans of all sentences, which begin at ``mask_at``: the
    first that is tried. Without masks, or where they leave no tree, the treebank grammar's posteriors decide, with the
    first of the ``thresholds`` (one a level), then with lower ones. A threshold of 0 there, or no tree even so, means
    the exact chart.

    Posteriors are multiplied by those of ``others``, unless these are empty; where that leaves no tree, the one that is
    there stays. Where there is none at all, ``filled`` stays 0. Returns the posteriors, if they are to be kept for yet
    another grammar.
    """
    most = 1
    for i in which:
        most = max(most, at[i + 1] - at[i])
    room = new_room(coarse, fine, most)
    sums = new_space(INSIDE, treebank.rules.is_top.shape[0], most)
    factors = Weighted(treebank.rules, treebank.binary, treebank.unary, treebank.lexical)
    above, nothing = np.zeros(sums.values.shape[0]), np.zeros(0)
    kept_at, key, probability, used = np.zeros(len(which) + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), 0
    for step, i in enumerate(which):
        if control[0] != 0:
            break
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        out = nodes[2 * at[i] - i : 2 * at[i + 1] - (i + 1)]
        found, possible = False, True
        if masks.shape[0] > 0:
            take_mask(masks, mask_at[i], n, room)
            found = descend(coarse, fine, sentence, room, thresholds, 1.0, beam, decoder != VITERBI)
        if not found and thresholds[0] > 0.0:
            chart = fill(INSIDE, factors, sentence, nothing, np.inf, sums)
            possible = outside(chart, above, nothing, SLIGHT * thresholds[0] * RELAXED[-1]) > -np.inf
            for relaxed in RELAXED:
                if possible and not found:
                    keep_probable_symbols(chart, above, room, thresholds[0] * relaxed)
                    found = descend(coarse, fine, sentence, room, thresholds, relaxed, beam, decoder != VITERBI)
        if possible and not found:
            allow_all(n, room)
            found = inside(fine, sentence, room, beam, decoder != VITERBI)
        first, last = (others.at[i], others.at[i + 1]) if others.at.shape[0] > 0 else (0, 0)
        size = 0
        if found and decoder == VITERBI:
            size = viterbi_tree(fine, n, room, out)
        elif found:
            anchored, count = posteriors(fine, n, room)
            if first < last:
                count = multiply(anchored, count, n, others, first, last)
            size = max_rule_tree(fine, n, room, anchored, count, decoder, out)
            if keeping and size > 0:
                key, probability = _with_room(key, used, count), _with_room(probability, used, count)
                for k in range(count):
                    key[used + k], probability[used + k] = _key(anchored, k, n), anchored.probability[k]
                used += count
        if keeping and size == 0:
            key, probability = _with_room(key, used, last - first), _with_room(probability, used, last - first)
            for k in range(first, last):
                key[used], probability[used] = others.key[k], others.probability[k]
                used += 1
        kept_at[step + 1] = used
        if size > 0:
            filled[i] = size
        control[slot] += 1
    return Posteriors(kept_at, key[:used], probability[:used])


@compiled
def _with_room(values: Any, used: int, more: int) -> Any:
    """The numbers, with room for more behind those that are used."""
    if used + more <= values.shape[0]:
        return values
    larger = np.empty(2 * (used + more), values.dtype)
    larger[:used] = values[:used]
    return larger


@kernel
def treebank_parse(treebank: Treebank, words: Any, nodes: Any) -> tuple[int, bool]:
    """Where the latent grammar has no tree: the best one of the treebank grammar, or pieces that cover the words.

    Returns the number of nodes, and whether it is a tree.
    """
    n = words.shape[0]
    space = new_space(BEST, treebank.rules.is_top.shape[0], n)
    scored = Weighted(treebank.rules, treebank.log_binary, treebank.log_unary, treebank.lexical)
    chart = fill(BEST, scored, words, np.zeros(0, np.float32), np.inf, space)
    if has_tree(chart):
        return best_tree(chart, treebank.rules.root, 0, n, nodes, 0), True
    filled, _ = covering_trees(chart, treebank.eligible, nodes)
    return filled, False


# ---- from grammars


class Derivation(NamedTuple):
    """The derivation of a sentence in the base grammar; where there is no tree, those of the pieces that cover it."""

    nodes: Ints
    is_whole: bool


class _Found(NamedTuple):
    """Room for the derivations of sentences: 2n − 1 nodes each, and how many of them are used."""

    nodes: Ints
    filled: Longs

    @classmethod
    def room(cls, at: Longs) -> _Found:
        n = len(at) - 1
        nodes = np.zeros((max(2 * int(at[-1]) - n, 0), NODE), np.int32)
        return cls(nodes, np.zeros(n, np.int64))

    def derivations(self, treebank: Treebank, rows: Ints, at: Longs) -> list[Derivation]:
        """The derivations; of sentences without one that of the treebank grammar, or pieces."""
        begins = 2 * at - np.arange(len(at))
        derivations = []
        for i, size in enumerate(self.filled.tolist()):
            nodes, is_whole = self.nodes[begins[i] : begins[i + 1]], True
            if not size:
                size, is_whole = treebank_parse(treebank, rows[at[i] : at[i + 1]], nodes)
            derivations.append(Derivation(nodes[:size], is_whole))
        return derivations


class _Search(ABC):
    """What parses sentences of a base grammar."""

    grammars: list[LatentGrammar]

    def parse(self, sentences: Sequence[Sequence[str]], *, jobs: int = 1) -> list[list[Tree]]:
        """The tree of each sentence, or the trees of the pieces that cover it."""
        found = self.derivations(sentences, jobs=jobs)
        base = self.grammars[0].base
        return [base.trees(each.nodes, words) for each, words in zip(found, sentences, strict=True)]

    def derivations(self, sentences: Sequence[Sequence[str]], *, jobs: int = 1) -> list[Derivation]:
        """The derivation of each sentence, all of which have words."""
        rows = [self.grammars[0].rows(words) for words in sentences]
        at = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        return self.decode(np.concatenate([*rows, np.zeros(0, np.int32)]), at, jobs)

    @abstractmethod
    def decode(self, rows: Ints, at: Longs, jobs: int = 1) -> list[Derivation]:
        """The derivations of sentences that are given as rows of the lexicon; sentence i begins at ``at[i]``."""


class CoarseToFine(_Search):
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
            ``masks(rows, at)``, see :mod:`treewright.constituency.latent.pruning`.

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
        self.treebank = treebank_of(self.grammars[0])
        self._blocks = hierarchy_of(self.grammars, self.levels)

    def decode(self, rows: Ints, at: Longs, jobs: int = 1) -> list[Derivation]:
        """The derivations of sentences that are given as rows of the lexicon; sentence i begins at ``at[i]``."""
        found = _Found.room(at)
        self.decode_into(found, rows, at, jobs)
        return found.derivations(self.treebank, rows, at)

    def decode_into(
        self,
        found: _Found,
        rows: Ints,
        at: Longs,
        jobs: int,
        others: Posteriors = NO_POSTERIORS,
        keeping: bool = False,
    ) -> Posteriors:
        """Find the derivations, with the posteriors of other grammars; returns the products, if they are to be kept."""
        masks, mask_at = np.zeros((0, self._blocks[0].parents.shape[1]), np.uint64), np.zeros(0, np.int64)
        if self.policy is not None:
            masks, mask_at = self.policy.masks(rows, at, jobs)

        def work(first: int, last: int, control: Longs, slot: int) -> Posteriors:
            # fmt: off
            kept: Posteriors = latent_pass(
                self.treebank, *self._blocks, rows, at, np.arange(first, last), masks, mask_at,
                DECODERS[self.decoder], self.thresholds, self.beam, others, keeping, *found, control, slot,
            )
            # fmt: on
            return kept

        parts = run_shards(work, len(at) - 1, jobs=jobs) if len(at) > 1 else []
        return _in_order(parts) if keeping else NO_POSTERIORS


class Product(_Search):
    """Parses with several hierarchies at once: max-rule decoding of the product of their posteriors (Petrov 2010).

    They must have been learned from the same trees, so that their base is the same. A grammar that has no tree in
    common with those before it is left out for the sentence.
    """

    def __init__(self, searches: Sequence[CoarseToFine]) -> None:
        self.searches, self.grammars = list(searches), searches[0].grammars
        if any(search.decoder != "max-rule-product" for search in searches):
            raise ConfigError("products of grammars need the decoder 'max-rule-product'")
        first = searches[0].base
        if not all(
            search.base.symbols == first.symbols
            and np.array_equal(search.base.binary, first.binary)
            and np.array_equal(search.base.unary, first.unary)
            for search in searches
        ):
            raise ConfigError("a product takes grammars that were learned from the same trees")

    def decode(self, rows: Ints, at: Longs, jobs: int = 1) -> list[Derivation]:
        """The derivations of sentences that are given as rows of the lexicon; sentence i begins at ``at[i]``."""
        derivations = []
        for first in range(0, len(at) - 1, TOGETHER):
            part = at[first : first + TOGETHER + 1]
            own, begins = rows[part[0] : part[-1]], part - part[0]
            found, product = _Found.room(begins), NO_POSTERIORS
            for k, search in enumerate(self.searches, 1):
                product = search.decode_into(found, own, begins, jobs, product, k < len(self.searches))
            derivations += found.derivations(self.searches[0].treebank, own, begins)
        return derivations


def _in_order(parts: Sequence[Posteriors]) -> Posteriors:
    """The posteriors of all shards as one, in rising order within each sentence."""
    counts = np.concatenate([np.diff(part.at) for part in parts])
    key, probability = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    order = np.lexsort((key, np.repeat(np.arange(len(counts)), counts)))
    return Posteriors(np.concatenate([[0], np.cumsum(counts)]), key[order], probability[order])


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


def treebank_of(grammar: LatentGrammar) -> Treebank:
    """A latent grammar with one substate a symbol, for the ordinary chart."""
    log_binary, log_unary = np.log(grammar.binary).astype(np.float32), np.log(grammar.unary).astype(np.float32)
    names = zip(grammar.base.labels, grammar.base.symbols, strict=True)
    eligible = np.array([label is not None and not name.endswith(BOTTOM) for label, name in names])
    return Treebank(
        grammar.base.rules, grammar.lexical(), grammar.binary, grammar.unary, log_binary, log_unary, eligible
    )
