"""Learning latent-variable grammars: split, merge and smooth, with EM in between (Petrov et al. 2006).

The treebank shows trees but not the substates in them. EM finds probabilities that make the trees likely: expected
counts of rules, given the current probabilities (:func:`expectation`), determine the next probabilities
(:func:`maximise`). For a given tree this takes time linear in its nodes, since the tree is fixed and only
substates are summed over. One cycle of learning

* *splits* every substate in two, and runs EM;
* *merges* the half of the new pairs with the least loss in likelihood (:func:`merge`), and continues with EM;
* *smooths* the probabilities of substates of one category towards each other (:func:`smooth`), in each of a few more
  steps of EM, so that rare substates do not overfit their few trees.

So the substates of a cycle descend from the substates of the previous cycle, and the grammars of all cycles are a
hierarchy for coarse-to-fine parsing.

EM finds a local optimum, which depends on the noise that distinguishes the halves of a split: other seeds give grammars
of the same likelihood that differ by a point of F1. With development data several grammars are learned, each from its
own *start*, and the best is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.latent.grammar import SMOOTHING, LatentGrammar, hierarchy_from_arrays, hierarchy_to_arrays
from treewright.corpora import Tree
from treewright.errors import CorpusError
from treewright.learners import Learner, Pass, checkpoints, loop
from treewright.learners.loop import best_score
from treewright.search.compiling import kernel, lean
from treewright.search.running import run_shards
from treewright.settings import Real, Setting, Whole, whole_number

__all__ = [
    "Expected",
    "SplitMerge",
    "TrainedLatent",
    "Treebank",
    "expectation",
    "maximise",
    "merge",
    "smooth",
    "train_latent",
]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MERGED = 0.5  # the fraction of the splits that are reversed
RULES = 0.02  # smoothing of rules; that of the lexicon is latent.SMOOTHING
LEAST = 1e-10  # probabilities below this become 0


# ---- the treebank for kernels


class Nodes(NamedTuple):
    """The nodes of all derivations, parents before children, sentence by sentence."""

    symbol: Ints  # the bottom
    one: Ints  # unary rule above it, or −1
    two: Ints  # binary rule below it, or −1
    right: Ints  # the right child; the left child is the next node
    entry: Ints  # the entry of the lexicon if the node is a tag, or −1
    at: Longs  # the offset of each sentence
    of_binary: Ints  # the nodes of each binary rule
    of_binary_at: Ints
    of_unary: Ints
    of_unary_at: Ints


class Treebank:
    """Binarised trees as derivations of a treebank grammar."""

    def __init__(self, grammar: LatentGrammar, trees: Sequence[Tree]) -> None:
        derivations = [grammar.base.derivation(tree) for tree in trees]
        symbol, one, two, _, _ = np.concatenate(derivations).T
        at = np.concatenate([[0], np.cumsum([len(each) for each in derivations])]).astype(np.int64)
        entry = np.full(len(symbol), -1, np.int32)
        tagged = (list(zip(tree.leaves(), tree.tags(), strict=True)) for tree in trees)
        entry[two < 0] = np.concatenate([grammar.lexicon.entries_of(sentence) for sentence in tagged])
        right = np.concatenate([_right_children(each) + first for each, first in zip(derivations, at, strict=False)])
        of_binary, of_unary = _grouped(two, len(grammar.base.binary)), _grouped(one, len(grammar.base.unary))
        symbol, one, two = (np.ascontiguousarray(column) for column in (symbol, one, two))
        self.nodes = Nodes(symbol, one, two, right.astype(np.int32), entry, at, *of_binary, *of_unary)
        self.size, self.words = len(trees), int((two < 0).sum())


def _right_children(derivation: Ints) -> Ints:
    """Return the right child of each node that has two: the node that begins at the end of the left one."""
    right = np.full(len(derivation), -1, np.int32)
    begins: dict[int, int] = {}  # for each word, the highest later node that begins there
    for k in range(len(derivation) - 1, -1, -1):
        _, _, two, start, _ = derivation[k].tolist()
        if two >= 0:
            right[k] = begins[int(derivation[k + 1, 4])]
        begins[start] = k
    return right


def _grouped(rules: Ints, count: int) -> tuple[Ints, Ints]:
    """Sort the nodes by their rules; also return the offset of the nodes of each rule."""
    order = np.argsort(rules, kind="stable").astype(np.int32)
    ends = np.searchsorted(rules[order], np.arange(count + 1)).astype(np.int32)
    return order, ends


# ---- EM


class Blocks(NamedTuple):
    """The arrays of a latent grammar, for kernels."""

    substates: Ints
    binary_rules: Ints
    binary: Floats
    binary_at: Longs
    unary_rules: Ints
    unary: Floats
    unary_at: Longs
    emission: Floats
    emission_at: Longs


class Rows(NamedTuple):
    """The rows of binary rules' blocks that are not all 0, of which there are soon few: rule by rule."""

    at: Longs  # the offset of the rows of each rule
    left: Ints
    right: Ints  # the substates of the children
    place: Longs  # the offset of the row in the rule's block


class Vectors(NamedTuple):
    """The values of the substates of all nodes, of the bottom and then, if there is a unary rule, of the top.

    Inside values are divided by ``scale``, so that their sum is 1; outside values are scaled so that inside times
    outside is the posterior probability of a substate.
    """

    bottom: Longs  # the offset of the bottom's values
    top: Longs  # the offset of the top's values; without a unary rule the bottom is the top
    inside: Floats
    outside: Floats
    scale: Floats  # nodes × (bottom, top)


@dataclass(frozen=True, eq=False)
class Expected:
    """The log-likelihood of the trees under a grammar, and expected counts in the grammar's layout."""

    log_likelihood: float
    binary: Floats
    unary: Floats
    emitted: Floats  # counts of the lexicon's entries
    vectors: Vectors


def expectation(grammar: LatentGrammar, treebank: Treebank, *, smoothing: float = 0.0, jobs: int = 1) -> Expected:
    """Run the E-step: expected counts of all rules and words; ``smoothing`` is that of the lexicon.

    The inside and outside values of every node are computed first, sentence by sentence, then the counts, rule by rule.
    Each sum is computed by a single thread, so the result does not depend on the number of threads.
    """
    base, nodes, lexicon = grammar.base, treebank.nodes, grammar.lexicon
    # fmt: off
    blocks = Blocks(
        grammar.substates, base.binary, grammar.binary, grammar.binary_at, base.unary, grammar.unary, grammar.unary_at,
        lexicon.emission(in_training=True, smoothing=smoothing), lexicon.at,
    )
    # fmt: on
    vectors, rows = _room(grammar, nodes), _rows(grammar)
    log_likelihood = np.zeros(treebank.size)
    binary, unary = np.zeros_like(grammar.binary), np.zeros_like(grammar.unary)

    def values(first: int, last: int, control: Longs, slot: int) -> None:
        _inside_outside_pass(blocks, rows, nodes, first, last, vectors, log_likelihood, control, slot)

    def counts(first: int, last: int, control: Longs, slot: int) -> None:
        _binary_pass(blocks, rows, nodes, first, last, vectors, binary, control, slot)

    run_shards(values, treebank.size, jobs=jobs)
    if not np.isfinite(log_likelihood).all():
        raise CorpusError("a tree of the treebank has the probability 0 under the grammar; it is not one of its own")
    run_shards(counts, len(base.binary), jobs=jobs)
    emitted = np.zeros_like(lexicon.counts)
    _unary_pass(blocks, nodes, vectors, unary, emitted)
    return Expected(float(log_likelihood.sum()), binary, unary, emitted, vectors)


def _room(grammar: LatentGrammar, nodes: Nodes) -> Vectors:
    tops = np.where(nodes.one >= 0, grammar.substates[grammar.base.unary[nodes.one, 0]], 0)
    bottoms = grammar.substates[nodes.symbol]
    ends = np.cumsum(bottoms + tops, dtype=np.int64)
    bottom = ends - bottoms - tops
    top = np.where(nodes.one >= 0, bottom + bottoms, bottom)
    return Vectors(bottom, top, np.zeros(ends[-1]), np.zeros(ends[-1]), np.ones((len(nodes.symbol), 2)))


def _rows(grammar: LatentGrammar) -> Rows:
    parent, left, right = grammar.substates[grammar.base.binary].astype(np.int64).T
    rule = np.repeat(np.arange(len(parent)), left * right)
    at = np.concatenate([[0], np.cumsum(left * right)])
    number = np.arange(at[-1]) - at[rule]
    place = grammar.binary_at[rule] + number * parent[rule]
    kept = np.flatnonzero(np.add.reduceat(grammar.binary, place)) if len(place) else place
    b, c = np.divmod(number[kept], right[rule[kept]])
    return Rows(np.searchsorted(kept, at), b.astype(np.int32), c.astype(np.int32), place[kept])


@kernel
def _inside_outside_pass(
    blocks: Blocks,
    rows: Rows,
    nodes: Nodes,
    first: int,
    last: int,
    vectors: Vectors,
    log_likelihood: Any,
    control: Any,
    slot: int,
) -> None:
    """Compute inside and outside values of the substates of each sentence's nodes (Petrov et al. 2006, §2.1)."""
    for sentence in range(first, last):
        if control[0] != 0:
            return
        begin, end = nodes.at[sentence], nodes.at[sentence + 1]
        log_likelihood[sentence] = _inside(blocks, rows, nodes, begin, end, vectors)
        if log_likelihood[sentence] > -np.inf:
            _outside(blocks, rows, nodes, begin, end, vectors)
        control[slot] += 1


@lean
def _inside(blocks: Blocks, rows: Rows, nodes: Nodes, begin: int, end: int, vectors: Vectors) -> float:
    """Compute inside values bottom-up; return the logarithm of the tree's probability."""
    inside, scale = vectors.inside, vectors.scale
    log_likelihood = 0.0
    for node in range(end - 1, begin - 1, -1):
        at, k = vectors.bottom[node], blocks.substates[nodes.symbol[node]]
        rule = nodes.two[node]
        if rule < 0:
            word = blocks.emission_at[nodes.entry[node]]
            for a in range(k):
                inside[at + a] = blocks.emission[word + a]
        else:
            for a in range(k):
                inside[at + a] = 0.0
            left, right = vectors.top[node + 1], vectors.top[nodes.right[node]]
            for row in range(rows.at[rule], rows.at[rule + 1]):
                both = inside[left + rows.left[row]] * inside[right + rows.right[row]]
                for a in range(k):
                    inside[at + a] += both * blocks.binary[rows.place[row] + a]
        scale[node, 0] = _scaled(inside, at, k)
        if scale[node, 0] == 0.0:
            return -np.inf
        log_likelihood += np.log(scale[node, 0])
        rule = nodes.one[node]
        if rule >= 0:
            top, k_top = vectors.top[node], blocks.substates[blocks.unary_rules[rule, 0]]
            row = blocks.unary_at[rule]
            for a in range(k_top):
                inside[top + a] = 0.0
            for b in range(k):
                for a in range(k_top):
                    inside[top + a] += inside[at + b] * blocks.unary[row + a]
                row += k_top
            scale[node, 1] = _scaled(inside, top, k_top)
            if scale[node, 1] == 0.0:
                return -np.inf
            log_likelihood += np.log(scale[node, 1])
    return log_likelihood


@lean
def _scaled(values: Any, at: int, k: int) -> float:
    """Normalise some numbers to a sum of 1, unless the sum is 0, and return the original sum."""
    total = 0.0
    for a in range(k):
        total += values[at + a]
    if total > 0.0:
        for a in range(k):
            values[at + a] /= total
    return total


@lean
def _outside(blocks: Blocks, rows: Rows, nodes: Nodes, begin: int, end: int, vectors: Vectors) -> None:
    """Compute outside values top-down. The scaling of the inside values makes the two consistent."""
    inside, outside, scale = vectors.inside, vectors.outside, vectors.scale
    outside[vectors.top[begin]] = 1.0
    for node in range(begin, end):
        at, k = vectors.bottom[node], blocks.substates[nodes.symbol[node]]
        rule = nodes.one[node]
        if rule >= 0:
            top, k_top = vectors.top[node], blocks.substates[blocks.unary_rules[rule, 0]]
            row = blocks.unary_at[rule]
            for b in range(k):
                outside[at + b] = _product(outside, top, blocks.unary, row, k_top) / scale[node, 1]
                row += k_top
        rule = nodes.two[node]
        if rule >= 0:
            left, right = vectors.top[node + 1], vectors.top[nodes.right[node]]
            for b in range(blocks.substates[blocks.binary_rules[rule, 1]]):
                outside[left + b] = 0.0
            for c in range(blocks.substates[blocks.binary_rules[rule, 2]]):
                outside[right + c] = 0.0
            for row in range(rows.at[rule], rows.at[rule + 1]):
                b, c = left + rows.left[row], right + rows.right[row]
                above = _product(outside, at, blocks.binary, rows.place[row], k) / scale[node, 0]
                outside[b] += above * inside[c]
                outside[c] += above * inside[b]


@lean
def _product(one: Any, i: int, two: Any, j: int, k: int) -> float:
    """Return the inner product of k numbers, in four sums that the processor can compute in parallel."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = k // 4 * 4
    for a in range(0, whole, 4):
        s0 += one[i + a] * two[j + a]
        s1 += one[i + a + 1] * two[j + a + 1]
        s2 += one[i + a + 2] * two[j + a + 2]
        s3 += one[i + a + 3] * two[j + a + 3]
    for a in range(whole, k):
        s0 += one[i + a] * two[j + a]
    return (s0 + s1) + (s2 + s3)


@kernel
def _binary_pass(
    blocks: Blocks,
    rows: Rows,
    nodes: Nodes,
    first: int,
    last: int,
    vectors: Vectors,
    counts: Any,
    control: Any,
    slot: int,
) -> None:
    """Compute expected counts of binary rules: inside of left × inside of right × outside × probability at a node."""
    inside, outside = vectors.inside, vectors.outside
    for rule in range(first, last):
        if control[0] != 0:
            return
        k = blocks.substates[blocks.binary_rules[rule, 0]]
        for occurrence in range(nodes.of_binary_at[rule], nodes.of_binary_at[rule + 1]):
            node = nodes.of_binary[occurrence]
            at, left, right = vectors.bottom[node], vectors.top[node + 1], vectors.top[nodes.right[node]]
            for row in range(rows.at[rule], rows.at[rule + 1]):
                both = inside[left + rows.left[row]] * inside[right + rows.right[row]] / vectors.scale[node, 0]
                for a in range(k):
                    counts[rows.place[row] + a] += both * outside[at + a]
        for place in range(blocks.binary_at[rule], blocks.binary_at[rule + 1]):
            counts[place] *= blocks.binary[place]
        control[slot] += 1


@kernel
def _unary_pass(blocks: Blocks, nodes: Nodes, vectors: Vectors, counts: Any, emitted: Any) -> None:
    """Compute expected counts of unary rules and of words."""
    inside, outside = vectors.inside, vectors.outside
    for node in range(nodes.symbol.shape[0]):
        at, k = vectors.bottom[node], blocks.substates[nodes.symbol[node]]
        rule, entry = nodes.one[node], nodes.entry[node]
        if rule >= 0:
            top, k_top = vectors.top[node], blocks.substates[blocks.unary_rules[rule, 0]]
            row = blocks.unary_at[rule]
            for b in range(k):
                own = inside[at + b] / vectors.scale[node, 1]
                for a in range(k_top):
                    counts[row + a] += own * outside[top + a] * blocks.unary[row + a]
                row += k_top
        if entry >= 0:
            for a in range(k):
                emitted[blocks.emission_at[entry] + a] += inside[at + a] * outside[at + a]


def maximise(grammar: LatentGrammar, expected: Expected) -> LatentGrammar:
    """Run the M-step: relative frequencies of the expected counts.

    Probabilities below 1e-10 become 0; the others of the substate are normalised again.
    """
    lexicon = grammar.lexicon.with_counts(grammar.lexicon.substates, expected.emitted)
    return grammar.with_probabilities(expected.binary, expected.unary, lexicon).normalised(LEAST)


def smooth(grammar: LatentGrammar, α: float = RULES) -> LatentGrammar:
    """Smooth rule probabilities towards their mean over the parent's substates (Petrov et al. 2006, §2.5).

    p′(Aₐ → …) = (1 − α) p(Aₐ → …) + α/k Σ over a′ of p(Aₐ′ → …). If a rule is not a chain, so that the substate does
    not change, the mean is that of the probabilities of not changing. Substates that EM has eliminated, to which no
    rule leads, become the mean.
    """

    def block_of(old: Floats, symbols: Sequence[int], stays: bool) -> Floats:
        if stays:
            own = old.diagonal()
            return np.diag((1.0 - α) * own + α * own.mean())
        mean: Floats = old.mean(axis=-1, keepdims=True)
        return (1.0 - α) * old + α * mean

    return grammar.with_probabilities(*grammar.mapped(block_of), grammar.lexicon).normalised()


# ---- merging


def merge(grammar: LatentGrammar, treebank: Treebank, expected: Expected, share: float = MERGED) -> LatentGrammar:
    """Reverse the splits with the least loss in likelihood (Petrov et al. 2006, §2.4).

    If the halves A₁ and A₂ of a substate were one at a single node, its inside value would be p₁ I(A₁) + p₂ I(A₂),
    where p are their relative frequencies, and its outside value O(A₁) + O(A₂). The ratio by which this changes the
    tree's probability, multiplied over all nodes, approximates the loss in likelihood.
    """
    usage, losses = usage_and_losses(grammar, treebank, expected)
    pairs = [
        (symbol, a)
        for symbol, k in enumerate(grammar.substates.tolist())
        for a in range(0, k - 1, 2)
        if grammar.category[symbol] == symbol
    ]
    order = np.argsort([losses[grammar.first[symbol] + a] for symbol, a in pairs], kind="stable")
    taken_back = {pairs[k] for k in order[: round(share * len(pairs))]}
    into = []
    for symbol, k in enumerate(grammar.substates.tolist()):
        is_new = [a % 2 == 0 or (int(grammar.category[symbol]), a - 1) not in taken_back for a in range(k)]
        into.append((np.cumsum(is_new) - 1).astype(np.int32))
    return grammar.merged(into, usage)


def usage_and_losses(grammar: LatentGrammar, treebank: Treebank, expected: Expected) -> tuple[Floats, Floats]:
    """Return the expected count of each substate, and the cost of merging each pair, at the first of the pair.

    The cost is in log-likelihood. A top and its bottom are merged together: their costs are stored at the top.
    """
    nodes, vectors = treebank.nodes, expected.vectors
    usage, losses = np.zeros(grammar.first[-1]), np.zeros(grammar.first[-1])
    _usage_pass(nodes, vectors, grammar.base.unary, grammar.substates, grammar.first, usage)
    together = np.zeros_like(usage)
    for symbol, top in enumerate(grammar.category.tolist()):
        k, own = grammar.substates[symbol], grammar.first[symbol]
        together[grammar.first[top] : grammar.first[top] + k] += usage[own : own + k]
    # fmt: off
    _loss_pass(nodes, vectors, grammar.base.unary, grammar.stays, grammar.category, grammar.substates, grammar.first,
               together, losses)
    # fmt: on
    return usage, losses


@kernel
def _usage_pass(nodes: Nodes, vectors: Vectors, unary: Any, substates: Any, first: Any, usage: Any) -> None:
    for node in range(nodes.symbol.shape[0]):
        symbol, at = nodes.symbol[node], vectors.bottom[node]
        for a in range(substates[symbol]):
            usage[first[symbol] + a] += vectors.inside[at + a] * vectors.outside[at + a]
        if nodes.one[node] >= 0:
            symbol, at = unary[nodes.one[node], 0], vectors.top[node]
            for a in range(substates[symbol]):
                usage[first[symbol] + a] += vectors.inside[at + a] * vectors.outside[at + a]


@kernel
def _loss_pass(
    nodes: Nodes,
    vectors: Vectors,
    unary: Any,
    stays: Any,
    category: Any,
    substates: Any,
    first: Any,
    usage: Any,
    losses: Any,
) -> None:
    """Sum, for each pair, −log of the ratio by which merging changes the probability of each node."""
    for node in range(nodes.symbol.shape[0]):
        symbol = category[nodes.symbol[node]]
        if nodes.one[node] >= 0:
            top = unary[nodes.one[node], 0]
            _add_losses(vectors, vectors.top[node], substates[top], first[top], usage, losses)
        if nodes.one[node] < 0 or not stays[nodes.one[node]]:
            _add_losses(vectors, vectors.bottom[node], substates[symbol], first[symbol], usage, losses)


@lean
def _add_losses(vectors: Vectors, at: int, k: int, first: int, usage: Any, losses: Any) -> None:
    for a in range(0, k - 1, 2):
        both = usage[first + a] + usage[first + a + 1]
        if both > 0.0:
            p = usage[first + a] / both
            one, two = vectors.inside[at + a], vectors.inside[at + a + 1]
            above, beside = vectors.outside[at + a], vectors.outside[at + a + 1]
            merged = (p * one + (1.0 - p) * two) * (above + beside)
            losses[first + a] -= np.log(max(1.0 - one * above - two * beside + merged, 1e-300))


# ---- cycles


@dataclass(frozen=True, kw_only=True)
class SplitMerge(Learner):
    """Cycles of splitting, merging and smoothing (Petrov et al. 2006), as settings.

    ``split``, ``merge`` and ``smooth`` are the numbers of steps of EM after each. On the development part of the WSJ
    sample, other numbers of steps changed the result no more than another seed does, which may be a point of F1. There
    are therefore several *starts*, each with its own seed, and the best grammar on development data is kept.

    * ``merged``: the share of the splits that are reversed.
    * ``rule_smoothing`` and ``lexicon_smoothing``: the strength of smoothing towards the mean over substates.
    """

    name: ClassVar[str] = "split-merge"
    source: ClassVar[str] = "Petrov et al. 2006"
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting(
            "cycles",
            Whole(1),
            "Cycles of splitting and merging",
            flags="--cycles -n",
            why="without any no symbol is split, as with treewright train constituency --learner maximum-likelihood",
        ),
        Setting("starts", Whole(1), "With development data: how many grammars are learned, of which the best is kept"),
        Setting("split", Whole(1), "Steps of EM after splitting"),
        Setting("merge", Whole(1), "Steps of EM after merging"),
        Setting("smooth", Whole(1), "Steps of EM with smoothing"),
        Setting("merged", Real(0, below=1), "The share of the splits that are reversed"),
        Setting("rule_smoothing", Real(0, below=1), "How far the rules of substates are drawn together"),
        Setting("lexicon_smoothing", Real(0, below=1), "How far the words of substates are drawn together"),
    )

    cycles: int = 5
    starts: int = 3
    split: int = 50
    merge: int = 20
    smooth: int = 10
    merged: float = MERGED
    rule_smoothing: float = RULES
    lexicon_smoothing: float = SMOOTHING

    @property
    def passes(self) -> int:
        """The number of cycles of all starts: training reports each cycle as other learners report passes."""
        return self.starts * self.cycles


@dataclass
class TrainedLatent:
    """Hierarchies of grammars: the treebank grammar, and one for each cycle up to the best one; and the history.

    There is a hierarchy for each start, the best first. In the history, the numbers of cycles continue from start to
    start; ``loss`` is −log P(tree) per word, ``decisions`` is the number of substates and ``examples`` the number of
    rules.
    """

    hierarchies: list[list[LatentGrammar]]
    history: list[Pass]

    @property
    def levels(self) -> list[LatentGrammar]:
        """The best hierarchy."""
        return self.hierarchies[0]

    @property
    def score(self) -> float | None:
        """The score of the best cycle on development data."""
        return best_score(self.history)


def train_latent(
    trees: Iterable[Tree],
    learner: SplitMerge | None = None,
    *,
    seed: int = 0,
    jobs: int = 1,
    evaluate: Callable[[list[LatentGrammar]], float] | None = None,
    report: Callable[[Pass], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> TrainedLatent:
    """Learn a hierarchy of latent grammars from binarised trees.

    ``evaluate`` scores the levels after each cycle, higher is better, and the levels up to the best cycle of the best
    start are returned. Without it there is one start, and all its cycles are returned. ``progress`` is called after
    each step of EM. With ``checkpoint``, a folder, the grammars are saved there after each cycle, and ``resume``
    continues from them: the result is the same as without the interruption, with any number of ``jobs``.
    """
    learner = learner or SplitMerge()
    seed, jobs = whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    trees = list(trees)
    grammar = LatentGrammar.from_treebank(trees)
    treebank = Treebank(grammar, trees)
    starts = 1 if evaluate is None else learner.starts
    cycles = _Cycles(learner, grammar, treebank, seed, jobs, progress)
    history = loop.run(
        cycles,
        starts * learner.cycles,
        Pass,
        fingerprint=lambda: _fingerprint(grammar, treebank, learner, starts, seed),
        evaluate=evaluate,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )
    return TrainedLatent(cycles.best_first(history) or [[grammar]], history)


class _Cycles:
    """The state of the training: the cycles of all starts in sequence."""

    def __init__(
        self,
        learner: SplitMerge,
        grammar: LatentGrammar,
        treebank: Treebank,
        seed: int,
        jobs: int,
        progress: Callable[[str, int, int], None] | None,
    ) -> None:
        self.learner, self.grammar, self.treebank, self.seed = learner, grammar, treebank, seed
        self.jobs, self.progress = jobs, progress
        self.levels = [grammar]
        self.kept: list[list[LatentGrammar]] = []  # the levels of each start, up to its best cycle
        self.best = -np.inf  # the score of the best cycle of the current start

    def advance(self, iteration: int) -> dict[str, Any]:
        """Run one cycle; after the last cycle of a start, begin the next start."""
        start, cycle = divmod(iteration - 1, self.learner.cycles)
        if cycle == 0:
            self.levels, self.best = [self.grammar], -np.inf
            self.kept.append(self.levels)
        # fmt: off
        grammar, value = _cycle(self.learner, self.levels[-1], self.treebank, cycle + 1, self.seed + start, self.jobs,
                                self.progress)
        # fmt: on
        self.levels = [*self.levels, grammar]
        size, loss = grammar.size, -value / self.treebank.words
        return {"beta": 0.0, "loss": loss, "decisions": size["substates"], "examples": size["rules"]}

    def current(self) -> list[LatentGrammar]:
        """The levels of the current start."""
        return self.levels

    def keep(self, score: float | None, best: bool) -> None:
        """Keep the levels if they are the best of their start."""
        if score is None or score > self.best:
            self.kept[-1], self.best = self.levels, -np.inf if score is None else score

    def best_first(self, history: Sequence[Pass]) -> list[list[LatentGrammar]]:
        """Return the levels of each start up to its best cycle, those of the best start first."""
        cycles = self.learner.cycles
        scores = [best_score(history[k * cycles : (k + 1) * cycles]) for k in range(len(self.kept))]
        order = sorted(range(len(self.kept)), key=lambda start: -(scores[start] or 0.0))
        return [self.kept[start] for start in order]

    def arrays(self, folder: Path) -> checkpoints.Arrays:
        """Return the levels of the current start, and the best ones of all starts."""
        arrays = {**hierarchy_to_arrays(self.levels), "starts": np.array(len(self.kept)), "best": np.array(self.best)}
        for start, each in enumerate(self.kept):
            if each is not self.levels:
                arrays |= hierarchy_to_arrays(each, f"start{start}.level")
        return arrays

    def restore(self, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
        """Restore the state of a checkpoint."""
        self.levels, self.best = hierarchy_from_arrays(arrays), float(arrays["best"])
        starts = range(int(arrays["starts"]))
        self.kept = [hierarchy_from_arrays(arrays, f"start{k}.level") or self.levels for k in starts]


def _cycle(
    learner: SplitMerge,
    grammar: LatentGrammar,
    treebank: Treebank,
    cycle: int,
    seed: int,
    jobs: int,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[LatentGrammar, float]:
    """Run one cycle of splitting, merging and smoothing; return the grammar and the last log-likelihood."""
    done, steps = 0, learner.split + learner.merge + learner.smooth

    def em(grammar: LatentGrammar, times: int, α: float, lexical: float) -> tuple[LatentGrammar, float]:
        nonlocal done
        value = -np.inf
        for _ in range(times):
            expected = expectation(grammar, treebank, smoothing=lexical, jobs=jobs)
            grammar = maximise(grammar, expected)
            if α > 0.0:
                grammar = smooth(grammar, α)
            value = expected.log_likelihood
            done += 1
            if progress is not None:
                progress("EM", done, steps)
        return grammar, value

    grammar = grammar.split(np.random.default_rng([seed, cycle]))
    grammar, _ = em(grammar, learner.split, 0.0, 0.0)
    grammar = merge(grammar, treebank, expectation(grammar, treebank, jobs=jobs), learner.merged)
    grammar, _ = em(grammar, learner.merge, 0.0, 0.0)
    return em(
        smooth(grammar, learner.rule_smoothing), learner.smooth, learner.rule_smoothing, learner.lexicon_smoothing
    )


def _fingerprint(
    grammar: LatentGrammar, treebank: Treebank, learner: SplitMerge, starts: int, seed: int
) -> checkpoints.Fingerprint:
    """The identity of a training run: the settings, the seed, the trees, and the grammar and lexicon read off them.

    More starts may be added to those in the checkpoint, or more cycles to a single one.
    """
    digest = hashlib.sha256()
    for array in (*treebank.nodes, *grammar.to_arrays().values()):
        digest.update(np.ascontiguousarray(array).data)
    cycles = learner.cycles if starts > 1 else None
    return {**learner.params(), "starts": None, "cycles": cycles, "seed": seed, "data": digest.hexdigest()}
