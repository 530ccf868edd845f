"""The agenda parser: a grammar, its lexicon, and the features of priorities.

:mod:`treewright.constituency.agenda.search` has the algorithm. This module is its Python interface: it takes sentences
and returns derivations, with the numbers of pops and pushes. Tables that depend only on the grammar are computed once.

Weights of priorities are an array of all :data:`~treewright.constituency.agenda.features.FEATURES`, in the order of
:data:`~treewright.constituency.agenda.features.NAMES`; :meth:`AgendaParser.a_star` returns the weights of A*₀.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.features import (
    CHAIN,
    FEATURES,
    INSIDE,
    LENGTH,
    Packed,
    Places,
    look,
    new_view,
    write_features,
)
from treewright.constituency.agenda.passes import Limits, Weights, Work, agenda_pass
from treewright.constituency.agenda.priorities import Priorities, label_classes
from treewright.constituency.agenda.search import AgendaGrammar, agenda_grammar
from treewright.constituency.charts.corpus import Shard, new_parsed
from treewright.constituency.charts.passes import WHOLE
from treewright.constituency.charts.spans import ends_of
from treewright.constituency.grammar.pcfg import Grammar
from treewright.constituency.grammar.rules import Lexical
from treewright.corpora import Tree
from treewright.search.compiling import interpreted
from treewright.search.running import run_shards

__all__ = ["NO_LIMIT", "TIMES", "AgendaParser", "Parses", "Pop", "Refined"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_LIMIT = int(np.iinfo(np.int64).max)

TIMES = ("pops", "pushes", "seconds")
"""The units of the time of a search."""


class Pop(NamedTuple):
    """A popped constituent, with its inside score and its priority at that time."""

    symbol: str
    start: int
    end: int
    inside: float
    priority: float


class Parses(NamedTuple):
    """The results of the agenda parser for some sentences, in the given order."""

    derivations: list[Ints]
    scores: Floats
    whole: npt.NDArray[np.bool_]  # whether it is one tree, or pieces that cover the sentence
    pops: Longs
    pushes: Longs


class Expanded(Protocol):
    """A grammar whose symbols are substates."""

    @property
    def grammar(self) -> Grammar:
        """The grammar."""


class Refined(Protocol):
    """A treebank grammar whose symbols are split into substates, such as a latent-variable grammar."""

    @property
    def base(self) -> Grammar:
        """The grammar before its symbols were split."""

    def expanded(self) -> Expanded:
        """The same as an ordinary grammar, with substates as symbols."""

    def lexical(self) -> Lexical:
        """The tags of words, in substates."""

    def rows(self, words: Sequence[str]) -> Ints:
        """The rows of the lexicon for the words of a sentence."""


@dataclass(frozen=True, eq=False)
class AgendaParser:
    """The agenda parser of a grammar.

    ``lexical`` is the table of the lexicon; words are given as rows of it. ``priorities`` has the features that are
    learned from a treebank (:meth:`Priorities.learn`).
    """

    grammar: Grammar
    lexical: Lexical
    priorities: Priorities

    @classmethod
    def of_latent(cls, latent: Refined, trees: Iterable[Tree]) -> Self:
        """The agenda parser of a latent-variable grammar, with substates for symbols.

        It finds the tree of the best derivation; max-rule decoding would need all constituents. ``trees`` are the
        binarised trees that the grammar was learned from.
        """
        grammar, lexical, trees = latent.expanded().grammar, latent.lexical(), list(trees)
        derivations, words = [latent.base.derivation(tree) for tree in trees], [tree.leaves() for tree in trees]
        number = {name: k for k, name in enumerate(label_classes(latent.base)[1])}
        own, names = label_classes(grammar)
        of = np.array([number[name] for name in names], np.int32)[own]
        rows = [latent.rows(each) for each in words]
        return cls(
            grammar, lexical, Priorities.learn(latent.base, derivations, words, rows=rows, lexical=lexical, of=of)
        )

    def a_star(self) -> Floats:
        """The weights of A*₀: 1 for the inside score, and 0 for everything else unless rules have scores above 0.

        Let b and u be the largest scores of binary and of unary rules, or 0 if these are negative. A derivation of n
        words has n − 1 binary rules, and at most one unary rule above each of its 2n − 1 nodes. Inside a constituent of
        w words there are w − 1 binary rules and at most 2w − 2 unary ones, or 2w − 1 if its symbol is a top. So the
        rules outside it add at most (n − w)(b + 2u), and u more if the symbol is no top. With this bound, priorities
        never rise from parts to wholes, and the first complete parse is a best one. n·(b + 2u) is the same for all
        constituents of a sentence and is omitted.
        """
        weights = np.zeros(FEATURES)
        weights[INSIDE] = 1.0
        weighted = self.kernel.weighted
        b, u = (float(scores.max(initial=0.0)) for scores in (weighted.binary, weighted.unary))
        weights[LENGTH], weights[CHAIN] = -(b + 2.0 * u), u
        return weights

    def pack(self, sentences: Sequence[Sequence[str]], rows: Sequence[Ints]) -> Packed:
        """Sentences as arrays for kernels, given as their words and as rows of the lexicon."""
        at = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
        words = np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32)
        return Packed(words, at, *self.priorities.shapes([word for each in sentences for word in each]))

    def parse(
        self,
        packed: Packed,
        weights: Floats,
        which: Longs | None = None,
        *,
        max_gap: float = np.inf,
        growth: float = 0.0,
        most_pops: int = NO_LIMIT,
        wants: Places | None = None,
        order: Floats | None = None,
        jobs: int = 1,
    ) -> Parses:
        """Parse sentences by the greedy policy (eq. 2), all of them or those that ``which`` names.

        ``max_gap`` is Δ. With ``growth``, Δ grows by this factor until there is a parse: IDA*₀. ``order`` is that of
        :func:`~treewright.constituency.agenda.search.search`; ``wants`` are the places of the cheating feature.
        """
        n = packed.size
        which = np.arange(n) if which is None else which
        wants = Places(np.zeros(0, np.int64), np.zeros(n + 1, np.int64)) if wants is None else wants
        order = np.zeros((0, 3)) if order is None else order
        is_learned = weights[INSIDE] != 1.0 or np.any(np.delete(weights, INSIDE))
        chosen = self.weights(weights if is_learned else np.zeros(0))
        limits = Limits(float(max_gap), float(growth), int(most_pops))
        parsed, work_done = new_parsed(packed.at), Work(np.zeros(n, np.int64), np.zeros(n, np.int64))

        def work(first: int, last: int, control: Longs, slot: int) -> None:
            shard = Shard(which[first:last], control, slot)
            agenda_pass(self.kernel, packed, shard, chosen, wants, limits, parsed, work_done, order)

        if len(which):
            run_shards(work, len(which), jobs=jobs)
        derivations = parsed.derivations(packed.at)
        found = [derivations[i] for i in which.tolist()]
        pops, pushes = work_done
        return Parses(found, parsed.values[which], parsed.status[which] == WHOLE, pops[which], pushes[which])

    def pop(self, item: float, inside: float, priority: float) -> Pop:
        """A constituent that a kernel has noted."""
        span, symbol = divmod(int(item), len(self.grammar.symbols))
        start, end = ends_of(span)
        return Pop(self.grammar.symbols[symbol], int(start), int(end), inside, priority)

    def parts(self, symbol: str, start: int, end: int, rule: int, split: int) -> list[tuple[str, int, int]]:
        """The constituents that a kernel has built a constituent from, by a rule and a split; none for a tag."""
        symbols, rules = self.grammar.symbols, self.grammar.rules
        if rule < 0:
            return []
        if rules.is_top[self.grammar.number[symbol]]:
            return [(symbols[rules.unary[rule, 1]], start, end)]
        _, left, right = rules.binary[rule].tolist()
        return [(symbols[left], start, split), (symbols[right], split, end)]

    def explain(self, packed: Packed, i: int, pops: Sequence[Pop]) -> Floats:
        """The features of constituents of sentence i, a row for each, without the cheating one."""
        view, tables = interpreted(new_view)(int(packed.at[i + 1] - packed.at[i]), 0), self.priorities.tables
        interpreted(look)(tables, self.lexical, self.of, packed, i, view)
        φ, write = np.zeros((len(pops), FEATURES)), interpreted(write_features)
        for pop, row in zip(pops, φ, strict=True):
            symbol = self.grammar.number[pop.symbol]
            of, is_top = self.of[symbol], bool(self.grammar.rules.is_top[symbol])
            write(tables, view, of, is_top, pop.start, pop.end, pop.inside, row)
        return φ

    def bound(self, words: int) -> int:
        """The maximum number of pops for a sentence of ``words`` words, for any weights: N·n(n+1)/2."""
        return len(self.grammar.symbols) * words * (words + 1) // 2

    # ---- arrays for kernels

    @cached_property
    def kernel(self) -> AgendaGrammar:
        """The grammar as arrays for kernels."""
        classes = len(self.priorities.classes)
        return agenda_grammar(self.grammar.weighted(self.lexical), self.of, classes, self.grammar.is_whole)

    def weights(self, θ: Floats) -> Weights:
        """Weights of priorities and the tables of their features, for kernels."""
        return Weights(np.ascontiguousarray(θ, np.float64), self.priorities.tables)

    @cached_property
    def of(self) -> Ints:
        """The class of each symbol."""
        return self.priorities.of(self.grammar)
