"""The agenda parser as an environment for learning priorities (Jiang, Teichert, Daumé III & Eisner 2012, §3–5).

An action pops a constituent; the trajectory ends when a complete parse is popped, or when the agenda is empty. The
reward is accuracy − λ·time (eq. 1 and 3). *Accuracy* is the number of gold constituents in the parse that is returned,
tags included, so that divided by their number (:attr:`AgendaEnvironment.gold`) it is labelled recall. *Time* is the
number of pops, of pushes, or seconds. Seconds are computed from the measured times of a pop and a push
(:func:`seconds_per_step`), so that trajectories are reproducible.

*Shaped* rewards (eq. 8) give 1 immediately for the pop of a gold constituent, and −λ for the time of each step; the
last step subtracts the rewards of constituents that are not in the parse. Symbols of one label over one span, such as
the substates of a latent-variable grammar, are one constituent with one reward; otherwise popping all of them would be
rewarded. If there is no complete parse, the parser returns pieces that cover the sentence, and the last step adds the
difference. So shaped and unshaped rewards of every trajectory have the same total.

Equation 8 rewards labelled constituents of the gold tree. The oracle also pops other symbols (symbols of binarisation,
and tops without a chain in the gold tree), which earn −λ. According to footnote 2 of the paper, all of the oracle's
actions earn 1 − λ, which makes I− equal to apprenticeship, and D− equal to apprenticeship in which an action counts
once for each later action. ``shaping="oracle"`` gives these rewards: 1 for each constituent of the oracle's parse,
subtracted again if it is not in the returned parse. The default follows equation 8 literally.

*Gold constituents* are defined as follows. A node of a tree is built as one symbol or as two
(:mod:`treewright.constituency.grammar.pcfg`): a bottom for the lowest label of its span, and perhaps a top. Tops count
where the gold tree has a chain of labels over the span, for the first label; the labels between the first and the last
do not count.

*Oracle actions* (§4.1) pop constituents of the best parse among those with the most gold constituents and the fewest
others. If the grammar can build the gold tree, this is the maximum likelihood parse consistent with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.features import CHAIN, CHEATING, FEATURES, SCALES, Packed, Places
from treewright.constituency.agenda.parser import NO_LIMIT, TIMES, AgendaParser, Parses, Pop
from treewright.constituency.agenda.passes import Limits
from treewright.constituency.agenda.rollouts import (
    IMITATED,
    SHAPED,
    SHAPED_BY_ORACLE,
    TERMINAL,
    UNIT,
    Expert,
    Exploration,
    Gathered,
    oracle_pass,
    rollout_pass,
)
from treewright.constituency.charts.corpus import Shard, new_parsed
from treewright.constituency.charts.spans import span_of
from treewright.constituency.grammar.pcfg import Grammar, label_of
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError
from treewright.search.environment import Credit, Results, Rollouts
from treewright.search.planning import Features
from treewright.search.running import run_shards
from treewright.settings import one_of

__all__ = ["TIMES", "AgendaEnvironment", "seconds_per_step"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_CREDITS = {"terminal": TERMINAL, "shaped": SHAPED, "unit": UNIT}


@dataclass(frozen=True, eq=False)
class AgendaEnvironment:
    """Sentences with their gold trees, a parser for them, and the cost of time.

    ``sentences`` are the words, ``rows`` their rows in the parser's lexicon, and ``trees`` gold trees of the treebank,
    cleaned; without them there are parses, but neither rewards nor an oracle. ``tradeoff`` is λ. ``time`` is one of
    :data:`TIMES`; for seconds, ``seconds`` has the times of a pop and a push. Constituents whose score is more than
    ``max_gap`` (Δ) below another one of their span are pruned. A parse ends after ``most_pops``, if that is given, and
    always after N·n(n+1)/2. ``cheating`` adds the feature of §3.3. ``shaping`` selects the constituents that earn
    shaped rewards: those of the ``gold`` tree (eq. 8), or those of the ``oracle``'s parse (footnote 2).

    Features are divided by :data:`~treewright.constituency.agenda.features.SCALES`, so that one step size suits all
    weights θ.

    With ``imitates``, gradients do not depend on rewards: in every state of a trajectory, whoever acts there, they make
    the oracle's action more probable (eq. 10). All states of a trajectory together count as one example. With a
    decreasing share of the oracle this is DAgger (:mod:`treewright.constituency.agenda.policy`).
    """

    parser: AgendaParser
    sentences: Sequence[Sequence[str]]
    rows: Sequence[Ints]
    trees: Sequence[Tree] | None = None
    tradeoff: float = 1e-6
    time: str = "pops"
    seconds: tuple[float, float] | None = None
    max_gap: float = np.inf
    most_pops: int | None = None
    cheating: bool = False
    imitates: bool = False
    shaping: str = "gold"

    def __post_init__(self) -> None:
        if self.time not in TIMES:
            raise ConfigError(f"time cannot be {self.time!r}; it is one of: {', '.join(TIMES)}")
        if (self.time == "seconds") != (self.seconds is not None):
            raise ConfigError("`seconds`, what a pop and a push take, goes with time='seconds' and with nothing else")
        if self.shaping not in ("gold", "oracle"):
            raise ConfigError(one_of(self.shaping, ("gold", "oracle")), setting="shaping", value=self.shaping)
        if not (self.tradeoff >= 0.0 and np.isfinite(self.tradeoff)):
            raise ConfigError(
                f"the tradeoff λ must be a number, 0 or more, not {self.tradeoff!r}: it is the price of time"
            )
        if not self.max_gap >= 0.0:
            raise ConfigError(f"must be 0 or more, not {self.max_gap!r}", setting="max_gap", value=self.max_gap)
        if self.most_pops is not None and self.most_pops < 1:
            raise ConfigError(f"most_pops must be 1 or more, not {self.most_pops!r}")
        if len(self.sentences) != len(self.rows) or (self.trees is not None and len(self.trees) != len(self.rows)):
            raise CorpusError("there must be a gold tree and a row of the lexicon for every sentence")
        for k, (words, rows) in enumerate(zip(self.sentences, self.rows, strict=True)):
            leaves = words if self.trees is None else self.trees[k].leaves()
            if not len(words) == len(rows) == len(leaves) or not len(words):
                raise CorpusError(f"sentence {k} has {len(words)} words, and its gold tree {len(leaves)}")

    def but(self, **changes: Any) -> Self:
        """The same sentences with other settings; computed tables are kept."""
        other = replace(self, **changes)
        if not changes.keys() & {"parser", "sentences", "rows", "trees"}:
            known: dict[str, Any] = {
                name: self.__dict__[name] for name in ("packed", "_gold", "_oracle") if name in self.__dict__
            }
            other.__dict__.update(known)
        return other

    def some(self, which: Sequence[int]) -> Self:
        """The environment with only some of the sentences."""
        trees = None if self.trees is None else [self.trees[i] for i in which]
        return replace(
            self, sentences=[self.sentences[i] for i in which], rows=[self.rows[i] for i in which], trees=trees
        )

    # ---- the protocol

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.features)

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def features(self) -> list[int]:
        """The numbers of the features that have weights (:data:`treewright.constituency.agenda.features.NAMES`).

        These are the paper's features, ``unary to come`` if A*₀ has a weight for it, and the cheating feature if it is
        selected.
        """
        needs_chain = bool(self.parser.a_star()[CHAIN] > 0.0)
        return [*range(CHAIN), *[CHAIN] * needs_chain, *[CHEATING] * self.cheating]

    def initial(self) -> Floats:
        """A*₀ (:meth:`AgendaParser.a_star`)."""
        return (self.parser.a_star() * SCALES)[self.features]

    def weights(self, θ: Floats) -> Floats:
        """The learned weights as weights of all features, for :class:`AgendaParser`."""
        found = np.zeros(FEATURES)
        found[self.features] = θ / SCALES[self.features]
        return found

    def rollouts(
        self,
        θ: Floats,
        which: Longs,
        *,
        temperature: float = 1.0,
        infusion: float = 0.0,
        discount: float = 1.0,
        credit: Credit = "terminal",
        baseline: Floats | None = None,
        trajectories: int = 1,
        seed: int = 0,
        jobs: int = 1,
    ) -> Rollouts:
        """Trajectories by the oracle-infused policy, and their gradient: see :class:`treewright.search.Environment`."""
        order = np.zeros((trajectories, 0, 3))
        settings = temperature, infusion, discount, credit, baseline, seed
        return self._explore(θ, np.asarray(which, np.int64), order, jobs, *settings)

    def run(self, θ: Floats, which: Longs, *, jobs: int = 1) -> Results:
        """Run the greedy policy."""
        return self.judge(self.parse(θ, which, jobs=jobs), which)

    # ---- more than the protocol

    def judge(self, parses: Parses, which: Longs) -> Results:
        """The rewards of parses of these sentences (eq. 1)."""
        (gold, at), (of, classes) = self._gold, self._of_classes
        accuracy = np.zeros(len(which))
        for row, (i, nodes) in enumerate(zip(np.asarray(which).tolist(), parses.derivations, strict=True)):
            correct = set(gold[at[i] : at[i + 1]].tolist())
            built = _places(nodes, self.parser.grammar, of, classes)
            accuracy[row] = sum(place in correct for place in built.tolist())
        time = self._costs[0] * parses.pops + self._costs[1] * parses.pushes
        return Results(accuracy - self.tradeoff * time, accuracy, time)

    def parse(self, θ: Floats, which: Longs, *, growth: float = 0.0, jobs: int = 1) -> Parses:
        """The parses of the greedy policy (eq. 2). With ``growth``, Δ grows by it until there is a parse: IDA*₀."""
        return self._search(θ, np.asarray(which, np.int64), np.zeros((0, 3)), growth, jobs)

    def pops(self, θ: Floats, i: int, most: int = 1_000_000) -> list[Pop]:
        """The constituents that the greedy policy pops for a sentence, in order."""
        order = np.full((min(most, self.bound(i)), 3), -1.0)
        self._search(θ, np.array([i]), order, 0.0, 1)
        return [self.parser.pop(*row) for row in order.tolist() if row[0] >= 0]

    def explain(self, i: int, pop: Pop) -> dict[str, float]:
        """The features of a constituent, by name; the priority is their product with θ."""
        [φ] = self.parser.explain(self.packed, i, [pop])
        if self.cheating:
            (wants, at), (of, classes) = self._wants, self._of_classes
            place = span_of(pop.start, pop.end) * classes + of[self.parser.grammar.number[pop.symbol]]
            φ[CHEATING] = float(place in wants[at[i] : at[i + 1]])
        φ /= SCALES
        return {self.parser.priorities.describe(f): float(φ[f]) for f in self.features}

    def drawn(
        self,
        θ: Floats,
        i: int,
        *,
        temperature: float = 1.0,
        infusion: float = 0.0,
        discount: float = 1.0,
        credit: Credit = "terminal",
        baseline: Floats | None = None,
        trajectories: int = 1,
        seed: int = 0,
        most: int = 1_000_000,
    ) -> tuple[Rollouts, list[list[Pop]]]:
        """:meth:`rollouts` of one sentence, and the first ``most`` constituents that each trajectory popped."""
        order = np.full((trajectories, min(most, self.bound(i)), 3), -1.0)
        settings = temperature, infusion, discount, credit, baseline, seed
        rollouts = self._explore(θ, np.array([i]), order, 1, *settings)
        return rollouts, [[self.parser.pop(*row) for row in rows if row[0] >= 0] for rows in order.tolist()]

    def bound(self, i: int) -> int:
        """The maximum number of pops for a sentence, for any θ: N·n(n+1)/2, or ``most_pops``."""
        return min(self._most, self.parser.bound(len(self.sentences[i])))

    @cached_property
    def gold(self) -> Longs:
        """The number of gold constituents of each sentence, which is the maximum of the accuracy."""
        return np.diff(self._gold[1])

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything besides θ that trajectories depend on."""
        costs, ends = (self.tradeoff, self.time, self.seconds), (self.max_gap, self.most_pops)
        digest = hashlib.sha256(repr((costs, ends, self.cheating, self.imitates, self.shaping)).encode())
        parser = self.parser
        for array in (parser.grammar.weights, *parser.lexical, *parser.priorities.tables, *self.packed, *self._gold):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # ---- passes

    def _search(self, θ: Floats, which: Longs, order: Floats, growth: float, jobs: int) -> Parses:
        return self.parser.parse(
            self.packed,
            self.weights(θ),
            which,
            max_gap=self.max_gap,
            growth=growth,
            most_pops=self._most,
            wants=self._wants,
            order=order,
            jobs=jobs,
        )

    def _explore(
        self,
        θ: Floats,
        which: Longs,
        order: Floats,
        jobs: int,
        temperature: float,
        infusion: float,
        discount: float,
        credit: Credit,
        baseline: Floats | None,
        seed: int,
    ) -> Rollouts:
        shape = len(which), len(order)
        pops, pushes = np.zeros((2, *shape), np.int64)
        all_of_it = Gathered(np.zeros((len(which), FEATURES)), np.zeros(shape), np.zeros(shape), pops, pushes)
        b = np.zeros(len(which)) if baseline is None else np.asarray(baseline, np.float64)
        counts, (per_pop, per_push) = IMITATED if self.imitates else _CREDITS[credit], self._costs
        if counts == SHAPED and self.shaping == "oracle":
            counts = SHAPED_BY_ORACLE
        prices = float(self.tradeoff * per_pop), float(self.tradeoff * per_push)
        how = Exploration(float(temperature), float(infusion), float(discount), counts, *prices, int(seed))
        expert, weights = Expert(self._gold, self._oracle, self._wants), self.parser.weights(self.weights(θ))
        limits = Limits(float(self.max_gap), 0.0, self._most)

        def work(first: int, last: int, control: Longs, slot: int) -> None:
            part, shard = slice(first, last), Shard(which[first:last], control, slot)
            out = Gathered._make(array[part] for array in all_of_it)
            rollout_pass(self.parser.kernel, self.packed, shard, weights, expert, how, limits, b[part], out, order)

        run_shards(work, len(which), jobs=jobs)
        summed = (all_of_it.gradient.sum(axis=0) / SCALES)[self.features]
        found = np.flatnonzero(summed)
        reward, taken = all_of_it.reward, per_pop * pops + per_push * pushes
        return Rollouts(Features(found, summed[found], float(reward.sum())), reward, all_of_it.accuracy, taken)

    # ---- arrays for kernels

    @property
    def _costs(self) -> tuple[float, float]:
        """The cost of a pop and of a push."""
        return {"pops": (1.0, 0.0), "pushes": (0.0, 1.0), "seconds": self.seconds or (0.0, 0.0)}[self.time]

    @property
    def _most(self) -> int:
        return NO_LIMIT if self.most_pops is None else self.most_pops

    @cached_property
    def packed(self) -> Packed:
        """The sentences as arrays for kernels."""
        return self.parser.pack(self.sentences, self.rows)

    @property
    def _of_classes(self) -> tuple[Ints, int]:
        """The class of each symbol, and the number of classes."""
        return self.parser.of, len(self.parser.priorities.classes)

    @cached_property
    def _gold(self) -> Places:
        """The gold constituents, span · classes + class."""
        if self.trees is None:
            raise CorpusError("there are no gold trees to learn from or to judge by: give an environment `trees`")
        bottoms, tops = _classes_by_label(self.parser)
        _, classes = self._of_classes
        found = []
        for tree in self.trees:
            places = set()
            for chain, start, end in _chains(tree):
                row = span_of(start, end) * classes
                places |= {row + c for c in bottoms.get(chain[-1], ())}
                if len(chain) > 1:
                    places |= {row + c for c in tops.get(chain[0], ())}
            found.append(sorted(places))
        return _joined(found)

    @cached_property
    def _oracle(self) -> Places:
        """The constituents of the oracle's parses, span · symbols + symbol; none where there is no parse."""
        parser, packed, (_, classes) = self.parser, self.packed, self._of_classes
        bottoms, _ = _classes_by_label(parser)
        counts = np.isin(np.arange(classes), [c for group in bottoms.values() for c in group])
        parsed = new_parsed(packed.at)
        shard = Shard(np.arange(len(self)), np.zeros(2, np.int64), 1)
        oracle_pass(parser.kernel, packed, shard, counts, self._gold, parsed)
        symbols = len(parser.grammar.symbols)
        parts = parsed.derivations(packed.at)
        return _joined(
            [_places(part, parser.grammar, np.arange(symbols, dtype=np.int32), symbols).tolist() for part in parts]
        )

    @cached_property
    def _wants(self) -> Places:
        """The constituents of the cheating feature, span · classes + class; none without it."""
        if not self.cheating:
            return Places(np.zeros(0, np.int64), np.zeros(len(self) + 1, np.int64))
        (oracle, at), symbols, (of, classes) = self._oracle, len(self.parser.grammar.symbols), self._of_classes
        return Places(oracle // symbols * classes + of[oracle % symbols], at)


def seconds_per_step(environment: AgendaEnvironment, which: Longs) -> tuple[float, float]:
    """The times of a pop and a push in seconds: measured on A*₀ with several thresholds, by least squares."""
    counts, seconds = [], []
    for max_gap in (3.0, 6.0, 9.0, 12.0, np.inf):
        pruned = environment.but(max_gap=max_gap, cheating=False)
        θ = pruned.initial()
        pruned.parse(θ, which[:1])  # compiled and warm
        begun = perf_counter()
        parses = pruned.parse(θ, which)
        seconds.append(perf_counter() - begun)
        counts.append((parses.pops.sum(), parses.pushes.sum()))
    weights = 1.0 / np.array(seconds)  # relative errors count
    found = np.linalg.lstsq(np.array(counts) * weights[:, None], np.ones(len(seconds)), rcond=None)[0]
    if (found < 0.0).any():  # pops and pushes are nearly proportional: use pushes only
        found = np.array([0.0, np.sum(seconds) / np.array(counts)[:, 1].sum()])
    return float(found[0]), float(found[1])


def _classes_by_label(parser: AgendaParser) -> tuple[dict[str, set[int]], ...]:
    """For each label its classes of bottoms and tags, and its classes of tops."""
    tops = set(parser.of[parser.grammar.rules.is_top].tolist())
    found: tuple[dict[str, set[int]], ...] = ({}, {})
    for k, name in enumerate(parser.priorities.classes):
        label = label_of(name)
        if label is not None:
            found[k in tops].setdefault(label, set()).add(k)
    return found


def _chains(tree: Tree) -> Iterator[tuple[list[str], int, int]]:
    """For each span of a tree its labels, from the highest to the lowest, its start and its end."""
    stack, at = [tree], 0
    while stack:
        node = stack.pop()
        chain, width = [node.label], len(node.leaves())
        while len(node.children) == 1 and isinstance(node.children[0], Tree):
            node = node.children[0]
            chain.append(node.label)
        yield chain, at, at + width
        at += node.is_preterminal
        stack.extend(child for child in reversed(node.children) if isinstance(child, Tree))


def _places(nodes: Ints, grammar: Grammar, of: Ints, classes: int) -> Longs:
    """The constituents of a derivation as span · classes + class: bottoms, and tops."""
    start, end = nodes[:, 3].astype(np.int64), nodes[:, 4].astype(np.int64)
    row = (end * (end - 1) // 2 + start) * classes  # span_of, for arrays
    top = nodes[:, 1] >= 0
    return np.concatenate([row + of[nodes[:, 0]], row[top] + of[grammar.unary[nodes[top, 1], 0]]])


def _joined(lists: Sequence[Sequence[int]]) -> Places:
    """The constituents of all sentences in one array."""
    at = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Places(np.array([k for each in lists for k in each], np.int64), at)
