"""Latent-variable grammars: symbols of a treebank grammar, divided into substates that are not annotated.

The NP of a treebank may be a subject, a date or a list. A latent-variable grammar (Matsuzaki et al. 2005; Petrov et
al. 2006) gives every symbol A of a treebank grammar (its *base*) some substates A₀, A₁, …, and every rule A → B C one
probability for each choice of the three substates. EM finds the probabilities
(:mod:`treewright.constituency.latent.training`).

The probabilities of one base rule are a dense block. The parent's substate is the last index, because a block is only
multiplied by vectors over the children. Substates are numbered in the order of the base's symbols: the substates of A
begin at ``first[A]``.

A symbol that starts unary chains has a top and a bottom (:mod:`treewright.constituency.grammar.pcfg`). They are one
category and have the same substates: without a chain, the substate does not change, so the block of the rule NP → NP~
is diagonal. EM never changes a zero, so it stays diagonal. (With separate substates for tops and bottoms, a grammar of
three cycles lost three points of F1 on the development part of the WSJ sample.)

>>> from treewright.constituency.grammar.binarisation import Markovisation
>>> from treewright.corpora import Tree
>>> noun = Tree("NP", (Tree("NN", ("time",)),))
>>> tree = Tree("S", (noun, Tree("VP", (Tree("VB", ("flies",)),))))
>>> grammar = LatentGrammar.from_treebank([Markovisation(1, 0).binarise(tree)])
>>> grammar
<LatentGrammar: 6 symbols, 6 substates, 4 rules>
>>> grammar.split(np.random.default_rng(0)).split(np.random.default_rng(1))
<LatentGrammar: 6 symbols, 21 substates, 100 rules>
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.binarisation import TOP, is_intermediate
from treewright.constituency.grammar.pcfg import BOTTOM, TAG, Grammar
from treewright.constituency.grammar.rules import Lexical
from treewright.constituency.latent.lexicon import LatentLexicon
from treewright.corpora import Tree
from treewright.errors import CorpusError, ModelError
from treewright.search.compiling import kernel

__all__ = ["Expanded", "LatentGrammar", "hierarchy_from_arrays", "hierarchy_to_arrays", "named_so"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SMOOTHING = 0.1  # smoothing of the lexicon towards the mean over the substates of a tag
_ITS_OWN = ("substates", "coarser")  # the arrays that a file always has for each grammar
_SHARED = ("category", "stays", "tags")  # the attributes that depend on the base alone


class Expanded(NamedTuple):
    """A latent grammar as an ordinary grammar, whose symbols are substates."""

    grammar: Grammar
    weights: Floats  # the weights of the grammar: logarithms, of binary rules and then of unary ones
    of: Ints  # the base symbol of each substate


@dataclass(frozen=True, eq=False, repr=False)
class LatentGrammar:
    """A treebank grammar whose symbols have substates.

    ``binary`` has a block (substates of B, of C, of A) for each rule A → B C of the base, at ``binary_at``; ``unary``
    has a block (of B, of A) for each rule A → B, at ``unary_at``. ``coarser`` maps each substate to the one that it was
    split from, in the next coarser grammar of a hierarchy.
    """

    base: Grammar
    substates: Ints  # the number of substates of each symbol
    binary: Floats
    unary: Floats
    lexicon: LatentLexicon
    coarser: Ints

    @classmethod
    def from_treebank(cls, trees: Iterable[Tree], **lexicon_settings: Any) -> LatentGrammar:
        """Return the grammar of binarised trees, by relative frequencies, with one substate for each symbol.

        The settings are those of :meth:`LatentLexicon.learn`.
        """
        trees = list(trees)
        base = Grammar.learn(trees)
        sentences = (list(zip(tree.leaves(), tree.tags(), strict=True)) for tree in trees)
        lexicon = LatentLexicon.learn(sentences, **lexicon_settings)
        ones, weights = np.ones(len(base.symbols), np.int32), np.exp(base.weights)
        cut, coarser = len(base.binary), np.arange(len(base.symbols), dtype=np.int32)
        return cls(base, ones, weights[:cut], weights[cut:], lexicon, coarser)

    def __repr__(self) -> str:
        return f"<LatentGrammar: {', '.join(f'{count:,} {kind}' for kind, count in self.size.items())}>"

    @property
    def size(self) -> dict[str, int]:
        """The number of symbols, of substates, and of rules with a probability above 0."""
        rules = int(np.count_nonzero(self.binary) + np.count_nonzero(self.unary))
        return {"symbols": len(self.base.symbols), "substates": int(self.substates.sum()), "rules": rules}

    # ---- offsets and blocks

    @cached_property
    def first(self) -> Longs:
        """The number of the first substate of each symbol, followed by the total number of substates."""
        return _offsets(self.substates)

    @cached_property
    def binary_at(self) -> Longs:
        """The offset of the block of each binary rule."""
        return _offsets(self.substates[self.base.binary].astype(np.int64).prod(axis=1))

    @cached_property
    def unary_at(self) -> Longs:
        """The offset of the block of each unary rule."""
        return _offsets(self.substates[self.base.unary].astype(np.int64).prod(axis=1))

    def binary_block(self, rule: int) -> Floats:
        """Return the probabilities of a binary rule: left × right × parent."""
        parent, left, right = self.substates[self.base.binary[rule]]
        return self.binary[self.binary_at[rule] : self.binary_at[rule + 1]].reshape(left, right, parent)

    def unary_block(self, rule: int) -> Floats:
        """Return the probabilities of a unary rule: bottom × top."""
        top, bottom = self.substates[self.base.unary[rule]]
        return self.unary[self.unary_at[rule] : self.unary_at[rule + 1]].reshape(bottom, top)

    @cached_property
    def category(self) -> Ints:
        """The symbol with which each symbol shares its substates: its top for a bottom, itself for any other symbol."""
        names, number = self.base.symbols, self.base.number
        tops = (name.removesuffix(BOTTOM) if not is_intermediate(name) else name for name in names)
        return np.array([number.get(top, k) for k, top in enumerate(tops)], np.int32)

    @cached_property
    def stays(self) -> npt.NDArray[np.bool_]:
        """Whether each unary rule is not a chain, but leads from a top to its own bottom."""
        top, bottom = self.base.unary.T
        to_its_own: npt.NDArray[np.bool_] = self.category[bottom] == top
        return to_its_own & np.array([not middle for middle in self.base.middles], np.bool_)

    @cached_property
    def tags(self) -> Ints:
        """The symbols of the lexicon's tags."""
        return np.array([self.base.tags[name] for name in self.lexicon.base.tags], np.int32)

    # ---- words

    @cached_property
    def emission(self) -> Floats:
        """Return P(row | substate) for each entry of the lexicon, as a block of substates each."""
        return self.lexicon.emission(smoothing=SMOOTHING)

    def lexical(self) -> Lexical:
        """Return the lexicon for charts: for each row, the substates of its tags and log P(word | substate)."""
        at, tag, score = self.lexicon.base.table()
        sizes = self.lexicon.substates[tag].astype(np.int64)
        begins = _offsets(sizes)
        symbol = np.arange(begins[-1]) + np.repeat(self.first[self.tags[tag]] - begins[:-1], sizes)
        scores = np.repeat(score, sizes)  # 0 for tags that are given
        with np.errstate(divide="ignore"):
            scores[: len(self.emission)] = np.log(self.emission)
        possible = np.flatnonzero(scores > -np.inf)
        rows = np.searchsorted(possible, begins[at])
        return Lexical(rows.astype(np.int64), symbol[possible].astype(np.int32), scores[possible].astype(np.float32))

    def tree_score(self, derivation: Ints, lexical: Lexical, rows: Ints) -> float:
        """Return the log-probability of a tree, summed over all substates of its symbols.

        ``derivation`` is a derivation of the base grammar, ``lexical`` is :meth:`lexical`, and ``rows`` are the rows of
        the words.
        """

        def inside(at: int) -> tuple[Floats, float, int]:
            """Return the probabilities below a node, the logarithm of their common factor, and the next node."""
            symbol, above, below, start, _ = derivation[at].tolist()
            if below >= 0:
                left, one, after = inside(at + 1)
                right, two, after = inside(after)
                found, scale = np.einsum("i,j,ijk->k", left, right, self.binary_block(below)), one + two
            else:
                found, scale, after = np.zeros(int(self.substates[symbol])), 0.0, at + 1
                entries = slice(*lexical.at[rows[start] : rows[start] + 2])
                own = lexical.symbol[entries] - self.first[symbol]
                mine = (own >= 0) & (own < len(found))
                found[own[mine]] = np.exp(lexical.score[entries][mine])
            if above >= 0:
                found = found @ self.unary_block(above)
            largest = float(found.max(initial=0.0))
            return (found / largest, scale + math.log(largest), after) if largest > 0.0 else (found, -math.inf, after)

        found, scale, _ = inside(0)
        total = float(found.sum())
        return scale + math.log(total) if total > 0.0 else -math.inf

    def rows(self, words: Sequence[str]) -> Ints:
        """Return the rows of the lexicon for the words of a sentence."""
        return self.lexicon.base.rows(words)

    # ---- other grammars with the same base

    def with_probabilities(self, binary: Floats, unary: Floats, lexicon: LatentLexicon) -> LatentGrammar:
        """Return a grammar with the same substates and other probabilities."""
        return self._same_base(replace(self, binary=binary, unary=unary, lexicon=lexicon))

    def split(self, rng: np.random.Generator, noise: float = 0.01) -> LatentGrammar:
        """Split every substate in two (Petrov et al. 2006, §2.2); a little noise lets EM distinguish the halves.

        The root is not split.
        """
        halves = np.full(len(self.substates), 2, np.int32)
        halves[self.base.number[TOP]] = 1

        def block_of(old: Floats, symbols: Sequence[int], stays: bool) -> Floats:
            """Return a block for halves: the probability of each child is divided between its halves, with noise."""
            for axis, symbol in enumerate(symbols):
                old = old.repeat(halves[symbol], axis)
                if axis < len(symbols) - 1 and not stays:
                    old = old / halves[symbol]
            if stays:
                old = old * np.eye(len(old))
            return old * (1.0 + noise * rng.uniform(-1.0, 1.0, old.shape))

        binary, unary = self.mapped(block_of)
        matrices = []
        for tag, k in zip(self.tags, self.lexicon.substates.tolist(), strict=True):
            shares = 0.5 + 0.5 * noise * rng.uniform(-1.0, 1.0, k)
            halved = np.stack([shares, 1.0 - shares], axis=1) if halves[tag] == 2 else np.ones((k, 1))
            matrices.append((np.eye(k)[:, :, None] * halved[:, None]).reshape(k, -1))
        coarser = np.arange(self.first[-1]).repeat(halves.repeat(self.substates)).astype(np.int32)
        split = LatentGrammar(
            self.base, self.substates * halves, binary, unary, self.lexicon.passed_on(matrices), coarser
        )
        return self._same_base(split).normalised()

    def merged(self, into: Sequence[Ints], counts: Floats) -> LatentGrammar:
        """Merge substates: ``into`` maps the substates of each symbol to new ones.

        The rule probabilities of a merged substate are the mean of those of its parts, weighted by their ``counts``. If
        the merged substate is a child, the probabilities are added.
        """
        joins, means = [], []
        for symbol, targets in enumerate(into):
            own = counts[self.first[symbol] : self.first[symbol + 1]] + 1e-300  # so that no substate has a share of 0
            join = np.equal.outer(targets, np.arange(targets.max() + 1)).astype(np.float64)
            joins.append(join)
            means.append(join * own[:, None] / (own @ join))

        def block_of(old: Floats, symbols: Sequence[int], stays: bool) -> Floats:
            for axis, symbol in enumerate(symbols):
                matrix = joins[symbol] if axis < len(symbols) - 1 else means[symbol]
                old = joined(old, axis, matrix)
            return old

        binary, unary = self.mapped(block_of)
        coarser = np.concatenate(
            [
                self.coarser[self.first[symbol] + np.unique(targets, return_index=True)[1]]
                for symbol, targets in enumerate(into)
            ]
        )
        substates = np.array([join.shape[1] for join in joins], np.int32)
        lexicon = self.lexicon.passed_on([joins[tag] for tag in self.tags])
        return self._same_base(LatentGrammar(self.base, substates, binary, unary, lexicon, coarser)).normalised()

    def normalised(self, least: float = 0.0) -> LatentGrammar:
        """Return a grammar whose probabilities sum to 1 for each substate with rules; any below ``least`` become 0."""
        binary, unary = self.binary.copy(), self.unary.copy()
        for smallest in (least, 0.0) if least > 0.0 else (0.0,):
            totals = self.totals(binary, unary)
            _divide(binary, self.base.binary, self.binary_at, self.substates, self.first, totals, smallest)
            _divide(unary, self.base.unary, self.unary_at, self.substates, self.first, totals, smallest)
        return self.with_probabilities(binary, unary, self.lexicon)

    def totals(self, binary: Floats, unary: Floats) -> Floats:
        """Return for each substate the sum of the given values over its rules."""
        found = np.zeros(self.first[-1])
        _add_up(binary, self.base.binary, self.binary_at, self.substates, self.first, found)
        _add_up(unary, self.base.unary, self.unary_at, self.substates, self.first, found)
        return found

    def mapped(self, block_of: Callable[[Floats, Sequence[int], bool], Floats]) -> tuple[Floats, Floats]:
        """Compute new blocks with a function of a block, the symbols of its axes, and whether it is diagonal."""
        binary = [
            block_of(self.binary_block(r), (left, right, parent), False)
            for r, (parent, left, right) in enumerate(self.base.binary.tolist())
        ]
        unary = [
            block_of(self.unary_block(r), (bottom, top), bool(self.stays[r]))
            for r, (top, bottom) in enumerate(self.base.unary.tolist())
        ]
        return _flat(binary), _flat(unary)

    def _same_base(self, other: LatentGrammar) -> LatentGrammar:
        other.__dict__.update({name: getattr(self, name) for name in _SHARED})
        return other

    # ---- as an ordinary grammar

    def expanded(self) -> Expanded:
        """Return an ordinary grammar whose symbols are the substates; rules of probability 0 are left out.

        Substate 3 of NP is called ``NP^3``, and that of its bottom ``NP^3~``, so that trees have the right labels.
        """
        of = np.repeat(np.arange(len(self.substates)), self.substates).astype(np.int32)
        names = [_named(self.base.symbols[s], int(k - self.first[s])) for k, s in enumerate(of.tolist())]
        twos = np.flatnonzero(self.binary)
        binary, _ = self._rules(twos, self.base.binary[:, [1, 2, 0]], self.binary_at)
        order = np.lexsort(binary.T[::-1])
        ones = np.flatnonzero(self.unary)
        unary, unary_of = self._rules(ones, self.base.unary[:, [1, 0]], self.unary_at)
        weights = np.log(np.concatenate([self.binary[twos[order]], self.unary[ones]]))
        grammar = Grammar(
            names,
            np.ascontiguousarray(binary[order][:, [2, 0, 1]], np.int32),
            np.ascontiguousarray(unary[:, [1, 0]], np.int32),
            [self.base.middles[r] for r in unary_of.tolist()],
            weights,
            np.zeros(len(weights)),
        )
        return Expanded(grammar, weights, of)

    def _rules(self, places: Longs, symbols: Ints, at: Longs) -> tuple[Longs, Longs]:
        """Return the substates along the axes and the base's rules for positions in blocks."""
        rule = np.searchsorted(at, places, side="right") - 1
        rest = places - at[rule]
        columns: list[Longs] = []
        for axis in range(symbols.shape[1] - 1, -1, -1):
            symbol = symbols[rule, axis]
            rest, own = np.divmod(rest, self.substates[symbol])
            columns.insert(0, self.first[symbol] + own)
        return np.stack(columns, axis=1), rule

    # ---- files

    def to_arrays(self) -> dict[str, Any]:
        """Return the grammar as arrays for a model file; of the blocks, which are mostly 0, only the nonzero values."""
        settings, words = self.lexicon.to_arrays()
        places = {kind: np.flatnonzero(blocks) for kind, blocks in (("binary", self.binary), ("unary", self.unary))}
        return {
            **{f"base.{name}": array for name, array in self.base.to_arrays().items()},
            **{f"lexicon.{name}": array for name, array in words.items()},
            "lexicon.settings": np.frombuffer(json.dumps(settings).encode(), np.uint8),
            "substates": self.substates,
            "coarser": self.coarser,
            **{f"{kind}.places": each for kind, each in places.items()},
            **{f"{kind}.values": getattr(self, kind)[each] for kind, each in places.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], coarse: LatentGrammar | None = None) -> LatentGrammar:
        """Restore the grammar from the result of :meth:`to_arrays`; :class:`ModelError` if it is inconsistent.

        ``coarse`` is another grammar of the same hierarchy, whose words are reused.
        """
        parts = {part: named_so(arrays, part) for part in ("base.", "lexicon.")}
        try:
            settings = json.loads(parts["lexicon."].pop("settings").tobytes())
            lexicon = LatentLexicon.from_arrays(settings, parts["lexicon."], coarse and coarse.lexicon)
            substates, coarser = (np.asarray(arrays[name], np.int32) for name in ("substates", "coarser"))
            grammar = cls(Grammar.from_arrays(parts["base."]), substates, np.zeros(0), np.zeros(0), lexicon, coarser)
            binary, unary = np.zeros(grammar.binary_at[-1]), np.zeros(grammar.unary_at[-1])
            for kind, blocks in (("binary", binary), ("unary", unary)):
                blocks[arrays[f"{kind}.places"]] = arrays[f"{kind}.values"]
            grammar = grammar.with_probabilities(binary, unary, lexicon)
            fits = (
                len(substates) == len(grammar.base.symbols)
                and bool((substates > 0).all())
                and grammar.first[-1] == len(coarser)
                and bool((substates[grammar.tags] == lexicon.substates).all())
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, CorpusError):
            fits = False
        if not fits:
            raise ModelError("the model's grammar is damaged: its parts do not fit; copy or train the model again")
        return grammar


def hierarchy_to_arrays(
    grammars: Sequence[LatentGrammar], name: str = "level", common: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the grammars of a hierarchy as arrays, without those that equal arrays of the first, or of ``common``."""
    arrays: dict[str, Any] = {}
    for k, grammar in enumerate(grammars):
        own = grammar.to_arrays()
        known = common or {}
        arrays |= {
            f"{name}{k}.{part}": array
            for part, array in own.items()
            if part in _ITS_OWN or part not in known or not np.array_equal(array, known[part])
        }
        common = known or own
    return arrays


def hierarchy_from_arrays(
    arrays: Mapping[str, Any], name: str = "level", common: Mapping[str, Any] | None = None
) -> list[LatentGrammar]:
    """Restore the hierarchy from the result of :func:`hierarchy_to_arrays`; empty if there is none of this name."""
    grammars: list[LatentGrammar] = []
    while own := named_so(arrays, f"{name}{len(grammars)}."):
        common = common or own
        grammars.append(LatentGrammar.from_arrays({**common, **own}, grammars[0] if grammars else None))
    return grammars


def named_so(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


@kernel
def _add_up(values: Any, rules: Any, at: Any, substates: Any, first: Any, totals: Any) -> None:
    """Add the values of blocks for each substate of the parent."""
    for rule in range(rules.shape[0]):
        parent, k = first[rules[rule, 0]], substates[rules[rule, 0]]
        for row in range(at[rule], at[rule + 1], k):
            for a in range(k):
                totals[parent + a] += values[row + a]


@kernel
def _divide(values: Any, rules: Any, at: Any, substates: Any, first: Any, totals: Any, least: float) -> None:
    """Divide blocks by their totals; results below ``least`` become 0."""
    for rule in range(rules.shape[0]):
        parent, k = first[rules[rule, 0]], substates[rules[rule, 0]]
        for row in range(at[rule], at[rule + 1], k):
            for a in range(k):
                share = values[row + a] / totals[parent + a] if totals[parent + a] > 0.0 else 0.0
                values[row + a] = share if share >= least else 0.0


def _offsets(sizes: npt.NDArray[Any]) -> Longs:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def joined(block: Floats, axis: int, matrix: Floats) -> Floats:
    """Return a block whose substates of one axis are joined by a matrix from old to new substates.

    Products come first, then sums. A library for matrices rounds both at once, in another order on each kind of
    processor, and the same training would not give the same grammar everywhere.

    >>> joined(np.array([[1.0, 2.0, 3.0]]), 1, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    array([[3., 3.]])
    """
    parts = np.moveaxis(block, axis, -1)[..., None] * matrix
    return np.moveaxis(parts.sum(axis=-2), -1, axis)


def _flat(blocks: Sequence[Floats]) -> Floats:
    return np.concatenate([block.ravel() for block in blocks]) if blocks else np.zeros(0)


def _named(symbol: str, substate: int) -> str:
    """Return the name of a substate.

    >>> [_named(name, 3) for name in ("NP", "NP~", "@NP|", "@NP^S|DT", "TOP")]
    ['NP^3', 'NP^3~', '@NP^3|', '@NP^S^3|DT', 'TOP']
    """
    if symbol == TOP:
        return symbol
    name, bar, memory = symbol.partition("|")
    plain = name if bar else name.rstrip(BOTTOM + TAG)
    return f"{plain}^{substate}{name[len(plain) :]}{bar}{memory}"
