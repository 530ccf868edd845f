"""Learned pruning: a policy that decides, in chart order, which constituents a parser builds.

For every span and base symbol there are two actions: build it or skip it. The objective is

    accuracy − λ · time

(Vieira & Eisner 2017): skipping an item that the tree needs costs accuracy, and building an item that it does not need
costs time. As in Roark & Hollingshead's closed cells (2008) and Bodenstab et al.'s beams (2011), the policy has few
features, and its scores are cheap (:mod:`treewright.constituency.latent.pruning_scores`).

Learning minimises, by AdaGrad, Σ log(1 + e^−z) over needed items + λ Σ log(1 + e^z) over the others: z is above 0
exactly if the odds that the item is needed are above λ. The learners differ in the items that they learn from, and in
the costs:

``classification``
    all items; the needed ones are those of the treebank's tree.
``on-policy``
    the items that the policy itself reaches: those that can be built from parts that it has built (Ross et al. 2011).
``roll-outs``
    as ``on-policy``; in addition, for some decisions of each sentence both actions are tried: the sentence is parsed
    with each action, and the difference of the rewards is the cost of the worse action (Chang et al. 2015).

These learners are not rows of the table in :mod:`treewright.learners.imitation`, whose tasks take one action at a time
in a state that grows linearly with the sentence: here a state is a chart, and all symbols of a span are decided at
once. There is no roll-in by the expert, and so no schedule of β: in the first passes all items are examples. The two
share AdaGrad (:mod:`treewright.policies.adagrad`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.corpus import Sentences, Shard
from treewright.constituency.charts.spans import span_of
from treewright.constituency.grammar.pcfg import Grammar, NotInGrammar
from treewright.constituency.grammar.rules import Lexical
from treewright.constituency.latent.blocks import Blocks, blocks_of, new_cells
from treewright.constituency.latent.grammar import LatentGrammar
from treewright.constituency.latent.masks import Masks, new_masks
from treewright.constituency.latent.pruning_passes import Deviations, learn_pass, lols_pass
from treewright.constituency.latent.pruning_scores import Table, mask_pass
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.search.lanes import LANES
from treewright.search.running import run_shards
from treewright.settings import current_name, one_of, whole_number

__all__ = ["LEARNERS", "PruningPolicy", "check_pruning"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]

LEARNERS = ("classification", "on-policy", "roll-outs")

FREQUENT = 5  # the minimum number of occurrences in training for a word to be a feature
THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)  # the best one is chosen on held-out sentences


def check_pruning(tradeoff: float, learner: str) -> str:
    """Check the settings of :meth:`PruningPolicy.learn`, and return the present name of the learner."""
    learner = current_name("pruning", learner)
    if learner not in LEARNERS:
        raise ConfigError(one_of(learner, LEARNERS), setting="learner", value=learner)
    if not 0.0 < tradeoff <= 1.0:
        raise ConfigError(f"must be above 0 and at most 1, not {tradeoff!r}", setting="tradeoff", value=tradeoff)
    return learner


@dataclass(frozen=True, eq=False)
class PruningPolicy:
    """Selects the constituents to build; :meth:`learn` creates a policy. ``threshold`` is added to all scores."""

    weights: Floats  # rows × symbols in whole blocks
    tag: Ints  # the most probable tag of each kind of word
    word: Ints  # the index of each kind of word among the frequent ones, −1 if it is not frequent
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
        learner: str = "on-policy",
        passes: int = 4,
        step_size: float = 0.2,
        rows: int = 1 << 15,
        deviations: int = 8,
        seed: int = 0,
    ) -> PruningPolicy:
        """Learn from binarised trees of the hierarchy's base; ``tradeoff`` is λ, the price of an unnecessary item.

        A needed item that is skipped costs 1. ``on-policy`` and ``roll-outs`` begin with two passes of classification.
        Every tenth tree is held out, and the threshold with the lowest cost on these trees is chosen, because a policy
        is overconfident on the sentences that it has learned from. Trees that the grammar cannot derive are left out.
        """
        learner = check_pruning(tradeoff, learner)
        passes, seed = whole_number("passes", passes, 1), whole_number("seed", seed, 0)
        base, lexical = grammars[0].base, grammars[0].lexical()
        known = [(tree, nodes) for tree in trees if (nodes := _derivation(base, tree)) is not None]
        if not known:
            raise CorpusError("there is no tree to learn pruning from that the grammar can derive")
        words = [grammars[0].rows(tree.leaves()) for tree, _ in known]
        at = np.concatenate([[0], np.cumsum([len(each) for each in words])]).astype(np.int64)
        sentences, gold = Sentences(np.concatenate(words), at), new_masks(at, len(base.symbols))
        tags = np.zeros(len(base.symbols))
        for (_, nodes), first in zip(known, gold.at, strict=False):
            _add_items(base, nodes, gold.sets[first:])
            tags += np.bincount(nodes[nodes[:, 2] < 0, 0], minlength=len(tags))
        frequent = np.bincount(sentences.words, minlength=len(lexical.at) - 1) >= FREQUENT
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
            roll_in = learner != "classification" and number >= 2
            learn_pass(table, coarse, sentences, order, gold, tradeoff, step_size, roll_in)
        if learner == "roll-outs":
            fine = grammars[-1]
            level = blocks_of(fine, np.repeat(np.arange(len(tags)), fine.substates), grammars[0].substates)
            how = Deviations(deviations, _blocks_of_an_item(level), seed, passes)
            cells = new_cells(level, level, int(np.diff(at)[learned].max(initial=1)))
            lols_pass(table, level, sentences, rng.permutation(learned), gold, tradeoff, step_size, how, cells)
        spans = np.repeat(held_out, np.diff(gold.at))
        return min(
            (policy.with_threshold(each) for each in THRESHOLDS),
            key=lambda p: p._cost(sentences, gold.sets, spans, tradeoff),
        )

    def _cost(self, sentences: Sentences, needed: Bits, spans: npt.NDArray[np.bool_], tradeoff: float) -> float:
        """Return the cost of decisions over some spans: 1 for each needed item skipped, λ for each one built."""
        built = self.masks(*sentences).sets
        missed = np.bitwise_count(needed[spans] & ~built[spans]).sum()
        return float(missed + tradeoff * np.bitwise_count(built[spans]).sum())

    def with_threshold(self, threshold: float) -> PruningPolicy:
        """Return the same policy, which builds more (above 0) or less (below 0)."""
        return replace(self, threshold=float(threshold))

    def masks(self, rows: Ints, at: Longs, jobs: int = 1) -> Masks:
        """Return the items to build in sentences given as rows of the lexicon; sentence i begins at ``at[i]``."""
        sentences, masks = Sentences(rows, at), new_masks(at, self.symbols)
        table = self._table(np.zeros(1, np.float32))

        def work(first: int, last: int, control: Longs, slot: int) -> None:
            mask_pass(table, float(self.threshold), sentences, Shard(np.arange(first, last), control, slot), masks)

        if len(at) > 1:
            run_shards(work, len(at) - 1, jobs=jobs)
        return masks

    def _table(self, spread: Floats) -> Table:
        weights = self.weights.reshape(-1)
        return Table(weights, spread, len(self.weights), self.symbols, self.tag, self.word, self.root)

    def to_arrays(self) -> dict[str, Any]:
        """Return the policy as arrays for a model file; weights that are small whole numbers take a byte each."""
        numbers = np.array([self.symbols, self.root, self.threshold], np.float64)
        narrow = self.weights.astype(np.int8) if np.abs(self.weights).max(initial=0.0) <= 127 else self.weights
        weights = narrow if np.array_equal(narrow, self.weights) else self.weights
        return {"weights": weights, "tag": self.tag, "word": self.word, "numbers": numbers}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> PruningPolicy:
        """Restore the policy from the result of :meth:`to_arrays`; :class:`ModelError` if it is inconsistent."""
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
    """Return for each kind of word the tag with the largest P(word | tag) P(tag)."""
    joint = lexical.score + np.log(counts + 0.5)[lexical.symbol]
    order = np.lexsort((joint, np.repeat(np.arange(len(lexical.at) - 1), np.diff(lexical.at))))
    return lexical.symbol[order[lexical.at[1:] - 1]].astype(np.int32)


def _blocks_of_an_item(grammar: Blocks) -> float:
    """Return the number of blocks for an item, on average over the parents of binary rules: the unit of time."""
    return float(np.diff(grammar.block_at)[: len(grammar.rules.binary)].sum()) / max(
        len(grammar.rules.of_parent_at) - 1, 1
    )
