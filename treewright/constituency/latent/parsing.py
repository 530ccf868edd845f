"""Parsing with latent-variable grammars: from coarse to fine, with one grammar or with the product of several.

*Coarse-to-fine* (Petrov & Klein 2007): the treebank grammar parses first, because its charts are small. Constituents
that are improbable under this grammar are not built with the next grammar of the hierarchy
(:mod:`treewright.constituency.latent.masks`), and so on. The last grammar chooses the tree: by Viterbi, or by max-rule
decoding (:mod:`treewright.constituency.latent.decoding`).

*Products* (Petrov 2010): EM finds a different optimum for every seed, and grammars of several seeds make different
mistakes. Each grammar has posteriors of the base's rules. Max-rule decoding returns the tree with the largest product
of all these posteriors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.corpus import NODE, Sentences, Shard
from treewright.constituency.charts.passes import KBestTrees, k_best_of
from treewright.constituency.latent.blocks import Blocks, blocks_of
from treewright.constituency.latent.decoding import BEST_DERIVATION, MAX_RULE_PRODUCT, MAX_RULE_SUM
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent.masks import Masks
from treewright.constituency.latent.passes import (
    Base,
    Decoding,
    Found,
    Hierarchy,
    Memory,
    Posteriors,
    latent_pass,
    new_memory,
    product_pass,
)
from treewright.corpora import Tree
from treewright.errors import ConfigError
from treewright.search.running import run_shards

__all__ = ["DECODERS", "CoarseToFine", "Derivation", "Product", "treebank_trees"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

DECODERS = {"viterbi": BEST_DERIVATION, "max-rule-product": MAX_RULE_PRODUCT, "max-rule-sum": MAX_RULE_SUM}
TOGETHER = 256  # the number of sentences whose posteriors are kept at a time, for products
NO_POSTERIORS = Posteriors(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


class Derivation(NamedTuple):
    """The derivation of a sentence in the base grammar; if there is no tree, those of the pieces that cover it."""

    nodes: Ints
    is_whole: bool


def _new_found(at: Longs) -> Found:
    n = len(at) - 1
    return Found(np.zeros((max(2 * int(at[-1]) - n, 0), NODE), np.int32), np.zeros(n, np.int64))


def _derivations(found: Found, base: Base, sentences: Sentences) -> list[Derivation]:
    """Return the derivations; for sentences without one, that of the treebank grammar, or pieces."""
    rows, at = sentences
    begins = 2 * at - np.arange(len(at))
    derivations = []
    for i, size in enumerate(found.filled.tolist()):
        if size:
            derivations.append(Derivation(found.nodes[begins[i] : begins[i] + size], is_whole=True))
        else:
            best = treebank_trees(base, rows[at[i] : at[i + 1]], 1)
            nodes = best.trees[0] if best.found[0] else best.trees[0, : best.covering[0]]
            derivations.append(Derivation(nodes, is_whole=bool(best.found[0])))
    return derivations


def treebank_trees(base: Base, words: Ints, k: int) -> KBestTrees:
    """Return the k best trees of the treebank grammar, or the pieces that cover the words."""
    return k_best_of(base.scores, words, k, eligible=base.eligible)


class _Search(ABC):
    """The interface of parsers for a base grammar."""

    grammars: list[LatentGrammar]
    treebank: Base

    def parse(self, sentences: Sequence[Sequence[str]], *, jobs: int = 1) -> list[list[Tree]]:
        """Return the tree of each sentence, or the trees of the pieces that cover it."""
        found = self.derivations(sentences, jobs=jobs)
        base = self.grammars[0].base
        return [base.trees(each.nodes, words) for each, words in zip(found, sentences, strict=True)]

    def derivations(self, sentences: Sequence[Sequence[str]], *, jobs: int = 1) -> list[Derivation]:
        """Return the derivation of each sentence; no sentence is empty."""
        rows = [self.grammars[0].rows(words) for words in sentences]
        at = np.concatenate([[0], np.cumsum([len(each) for each in rows])]).astype(np.int64)
        return self.decode(np.concatenate([*rows, np.zeros(0, np.int32)]), at, jobs)

    @abstractmethod
    def decode(self, rows: Ints, at: Longs, jobs: int = 1) -> list[Derivation]:
        """Return the derivations of sentences given as rows of the lexicon; sentence i begins at ``at[i]``."""


class CoarseToFine(_Search):
    """Parses with the last grammar of a hierarchy of latent grammars, and prunes with the others (Petrov & Klein 2007).

    Args:
        grammars: the hierarchy: first the treebank grammar, with one substate per symbol, then increasingly fine ones.
        levels: the numbers of the one or two grammars that follow the treebank grammar; the last one chooses the tree.
            By default, the last level and the one two levels before it: on the Wall Street Journal more levels save no
            time.
        threshold: substates whose posterior at one level is below this are not built at the next: one number, or one
            for the treebank grammar and for each level but the last. If the first one is 0, parsing is exact, without
            any pruning.
        decoder: ``viterbi``, ``max-rule-product`` or ``max-rule-sum``.
        least_share: at the last level, substates below this fraction of the best one in their span are dropped.
        policy: selects the constituents to build, instead of the treebank grammar: an object with a method
            ``masks(rows, at)``, see :mod:`treewright.constituency.latent.pruning`.

    If pruning leaves no tree, thresholds are divided by a thousand and by a million, and finally nothing is pruned. If
    the latent grammar has no tree, the result is the treebank grammar's best tree, or the fewest constituents that
    cover the sentence.
    """

    def __init__(
        self,
        grammars: Sequence[LatentGrammar],
        *,
        levels: Sequence[int] | None = None,
        threshold: float | Sequence[float] = 1e-4,
        decoder: str = "max-rule-product",
        least_share: float = 0.0,
        policy: Any = None,
    ) -> None:
        self.grammars, self.policy, self.least_share = list(grammars), policy, float(least_share)
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
        self.treebank = base_of(self.grammars[0])
        self.hierarchy = Hierarchy(self.treebank, *hierarchy_of(self.grammars, self.levels))

    def decode(self, rows: Ints, at: Longs, jobs: int = 1) -> list[Derivation]:
        """Return the derivations of sentences given as rows of the lexicon; sentence i begins at ``at[i]``."""
        found, sentences = _new_found(at), Sentences(rows, at)
        masks, decoding, viterbi = (
            self._masks(sentences, jobs),
            self._decoding,
            True if self.decoder == "viterbi" else None,
        )

        def work(first: int, last: int, control: Longs, slot: int) -> None:
            shard = Shard(np.arange(first, last), control, slot)
            memory = self._memory(sentences, shard)
            latent_pass(self.hierarchy, sentences, shard, masks, decoding, viterbi, memory, found)

        if len(at) > 1:
            run_shards(work, len(at) - 1, jobs=jobs)
        return _derivations(found, self.treebank, sentences)

    def decode_product(
        self, found: Found, sentences: Sentences, jobs: int, others: Posteriors, keeping: bool
    ) -> Posteriors:
        """Find the derivations, with the posteriors of other grammars; returns the products, if they are needed."""
        masks = self._masks(sentences, jobs)

        def work(first: int, last: int, control: Longs, slot: int) -> Posteriors:
            shard = Shard(np.arange(first, last), control, slot)
            given = self.hierarchy, sentences, shard, masks, self._decoding, self._memory(sentences, shard)
            kept: Posteriors = product_pass(*given, others, keeping, found)
            return kept

        parts = run_shards(work, len(sentences.at) - 1, jobs=jobs)
        return _in_order(parts) if keeping else NO_POSTERIORS

    @property
    def _decoding(self) -> Decoding:
        return Decoding(DECODERS[self.decoder], self.thresholds, self.least_share)

    def _memory(self, sentences: Sentences, shard: Shard) -> Memory:
        return new_memory(self.hierarchy, int(np.diff(sentences.at)[shard.which].max(initial=1)))

    def _masks(self, sentences: Sentences, jobs: int) -> Masks:
        """Return the masks of the pruning policy; no masks if there is no policy."""
        if self.policy is None:
            return Masks(np.zeros((0, self.hierarchy.fine.parents.shape[1]), np.uint64), np.zeros(0, np.int64))
        return Masks(*self.policy.masks(*sentences, jobs))


class Product(_Search):
    """Parses with several hierarchies at once: max-rule decoding of the product of their posteriors (Petrov 2010).

    They must have been learned from the same trees, so that they have the same base. A grammar that has no tree in
    common with the grammars before it is skipped for the sentence.
    """

    def __init__(self, searches: Sequence[CoarseToFine]) -> None:
        self.searches, self.grammars, self.treebank = list(searches), searches[0].grammars, searches[0].treebank
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
        """Return the derivations of sentences given as rows of the lexicon; sentence i begins at ``at[i]``."""
        derivations = []
        for first in range(0, len(at) - 1, TOGETHER):
            part = at[first : first + TOGETHER + 1]
            sentences = Sentences(rows[part[0] : part[-1]], part - part[0])
            found, product = _new_found(sentences.at), NO_POSTERIORS
            for k, search in enumerate(self.searches, 1):
                product = search.decode_product(found, sentences, jobs, product, k < len(self.searches))
            derivations += _derivations(found, self.treebank, sentences)
        return derivations


def _in_order(parts: Sequence[Posteriors]) -> Posteriors:
    """Concatenate the posteriors of all shards, in ascending order within each sentence."""
    counts = np.concatenate([np.diff(part.at) for part in parts])
    key, probability = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    order = np.lexsort((key, np.repeat(np.arange(len(counts)), counts)))
    return Posteriors(np.concatenate([[0], np.cumsum(counts)]), key[order], probability[order])


def hierarchy_of(grammars: Sequence[LatentGrammar], levels: Sequence[int]) -> tuple[Blocks, Blocks]:
    """Return the levels of a hierarchy in use, each with the map from the previous one; the first from the base."""
    found, before = [], 0
    for level in levels:
        coarser = np.arange(grammars[level].first[-1])
        for k in range(level, before, -1):
            coarser = grammars[k].coarser[coarser]
        found.append(blocks_of(grammars[level], coarser, grammars[before].substates))
        before = level
    return found[0], found[-1]


def base_of(grammar: LatentGrammar) -> Base:
    """Convert a latent grammar with one substate for each symbol, for ordinary charts."""
    base, lexical, factors = grammar.base, grammar.lexical(), np.concatenate([grammar.binary, grammar.unary])
    with np.errstate(divide="ignore"):
        return Base(base.weighted(lexical, factors), base.weighted(lexical, np.log(factors)), base.is_whole)
