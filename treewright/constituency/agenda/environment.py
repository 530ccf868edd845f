"""The agenda parser as an environment to learn priorities in (Jiang, Teichert, Daumé III & Eisner 2012, §3–5).

An action pops a constituent; the trajectory ends when a complete parse is popped, or when nothing is left to pop. The
reward is accuracy − λ·time (eq. 1 and 3). *Accuracy* is the number of gold constituents in the parse that is returned,
tags included, so that divided by their number (:attr:`AgendaEnvironment.gold`) it is labelled recall. *Time* is the
number of pops, of pushes, or seconds, which are what pops and pushes took where it was measured
(:func:`seconds_per_step`): so trajectories can be repeated.

*Shaped* rewards (eq. 8) give 1 for the pop of a gold constituent, at once, and −λ for the time of each step; the last
step takes back what was given for constituents that are not in the parse. Symbols of one label over one span, such as
the substates of a latent-variable grammar, are one constituent, for which there is one reward; otherwise it would pay
to pop all of them. If there is no complete parse, the pieces that cover the sentence are what is returned, and the last
step makes up for the difference; so shaped and unshaped rewards of every trajectory have the same total.

What is a gold constituent? A node of a tree is built as one symbol or as two
(:mod:`treewright.constituency.grammar.pcfg`):
a bottom, which stands for the lowest label of its span, and perhaps a top. Tops count where the gold tree has a chain
of labels over the span, for the first one of it; in between, chains may have more, which do not count.

*Oracle actions* (§4.1) pop constituents of the best parse among those with as many gold constituents and as few others
as possible. Where the grammar can build the gold tree, this is the maximum likelihood parse consistent with it.
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

from treewright.constituency.agenda.agenda import (
    IN_CHART,
    PUSHES,
    SIZE,
    TEMPERATURE,
    TOTAL,
    Combinations,
    Merit,
    Room,
    Sampler,
    advance,
    begin_exploring,
    draw,
    features_of,
    forget,
    longest_of,
    new_room,
    note,
    trust_sums,
    write_result,
)
from treewright.constituency.agenda.parser import NO_LIMIT, AgendaParser, Packed, Parses, Pop
from treewright.constituency.agenda.priorities import (
    CHEATING,
    DYNAMIC,
    FEATURES,
    INSIDE,
    OF_THE_PAPER,
    SCALES,
    Tables,
    look,
    mark,
    new_view,
    span_number,
    static_merits,
)
from treewright.constituency.charts.chart import has_tree, new_space, row_offsets
from treewright.constituency.charts.derivations import best_tree
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import VITERBI_64
from treewright.constituency.grammar.pcfg import Grammar, label_of
from treewright.constituency.grammar.rules import Lexical, Rules, Weighted
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.environment import Credit, Results, Rollouts
from treewright.search.hashing import seed_random, uniform
from treewright.search.planning import Features
from treewright.search.running import run_shards

__all__ = ["TIMES", "AgendaEnvironment", "learn_halting", "seconds_per_step"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TIMES = ("pops", "pushes", "seconds")
"""What time can be measured in."""

TERMINAL, SHAPED, UNIT, IMITATED = 0, 1, 2, 3
GOLD, FOUND = 1, 2  # constituents of the gold tree, and those of them that were popped
_CREDITS = {"terminal": TERMINAL, "shaped": SHAPED, "unit": UNIT}
_MUCH = 1e4  # a gold constituent counts for so much more than anything that a score can say


# ---- kernels


@kernel
def oracle_pass(
    rules: Rules,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    which: Any,
    of: Any,
    counts: Any,
    gold: Any,
    gold_at: Any,
    nodes: Any,
    filled: Any,
    control: Any,
    slot: int,
) -> None:
    """The parses that the oracle builds (§4.1): ``nodes`` as of the other passes; none where there is no parse.

    ``gold`` has places (span · classes + class) of gold constituents; of the classes that ``counts`` says, all others
    are wrong.
    """
    symbols, n_most = rules.is_top.shape[0], longest_of(at, which)
    space = new_space(VITERBI_64, symbols, n_most)
    anchored = np.zeros(space.values.shape[0])
    classes = counts.shape[0]
    correct = np.zeros(n_most * (n_most + 1) // 2 * classes, np.uint8)
    for i in which:
        if control[0] != 0:
            break
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        offsets = row_offsets(n)
        mark(gold[gold_at[i] : gold_at[i + 1]], correct, 1)
        for symbol in range(symbols):
            for width in range(1, n + 1):
                for start in range(n - width + 1):
                    place = span_number(start, start + width) * classes + of[symbol]
                    reward = _MUCH if correct[place] != 0 else -_MUCH if counts[of[symbol]] else 0.0
                    anchored[symbol * offsets[n + 1] + offsets[width] + start] = reward
        mark(gold[gold_at[i] : gold_at[i + 1]], correct, 0)
        chart = fill(VITERBI_64, Weighted(rules, binary, unary, lexical), sentence, anchored, np.inf, space)
        filled[i] = 0
        if has_tree(chart):
            filled[i] = best_tree(chart, rules.root, 0, n, nodes[2 * at[i] - i : 2 * at[i + 1] - (i + 1)], 0)
        control[slot] += 1


@lean
def correct_in(rules: Rules, of: Any, classes: int, correct: Any, nodes: Any) -> int:
    """How many of a derivation's constituents are gold ones."""
    found = np.int64(0)
    for k in range(nodes.shape[0]):
        row = span_number(nodes[k, 3], nodes[k, 4]) * classes
        found += np.int64(correct[row + of[nodes[k, 0]]] != 0)
        if nodes[k, 1] >= 0:
            found += np.int64(correct[row + of[rules.unary[nodes[k, 1], 0]]] != 0)
    return found


@compiled
def new_sampler(tables: Tables, symbols: int, n: int, wanted: int) -> Sampler:
    """Room for exploring sentences of up to n words."""
    items = n * (n + 1) // 2 * symbols
    view = new_view(n, wanted)
    sums, φ, numbers, random = np.zeros(FEATURES), np.zeros(FEATURES), np.zeros(5), np.zeros(2, np.int64)
    return Sampler(tables, view, np.zeros(items), np.zeros(items), sums, φ, numbers, random)


@lean
def _favourite(room: Room, sampler: Sampler, oracle: Any) -> Any:
    """The oracle's action (§4.1): of those available, the one that the policy likes best; −1 if there is none."""
    best, favourite = -np.inf, np.int64(-1)
    for k in range(oracle.shape[0]):
        item = np.int64(oracle[k])
        if room.position[item] >= 0 and (favourite < 0 or sampler.priority[item] > best):
            best, favourite = sampler.priority[item], item
    return favourite


@lean
def roll_out(
    rules: Rules,
    combinations: Combinations,
    merit: Merit,
    n: int,
    Δ: float,
    most: int,
    infusion: float,
    discount: float,
    credit: int,
    λ: Any,
    oracle: Any,
    correct: Any,
    room: Room,
    sampler: Sampler,
    trace: Any,
    gradient: Any,
    record: Any,
    order: Any,
) -> int:
    """One trajectory from the initial state: the oracle-infused policy of eq. 11, and the gradient of eq. 9.

    ``trace`` is z_t = γ·z_{t−1} + ∇log π(a_t|s_t) in its first row, so that Σ_t r̃_t·z_t, which goes into ``gradient``,
    is the same as eq. 9; its second row sums ∇log π(a_t|s_t). ``λ`` is what a pop and a push cost. The number of gold
    constituents popped and the sum of r̃ come back in ``record``, and in ``order`` the first constituents popped,
    with inside scores and priorities. Returns the number of steps.
    """
    goal = span_number(0, n) * rules.is_top.shape[0] + rules.root
    numbers, φ, symbols = sampler.numbers, sampler.φ, rules.is_top.shape[0]
    for f in range(FEATURES):
        trace[0, f] = 0.0
        trace[1, f] = 0.0
    steps, item, pushes = 0, np.int64(-1), np.int64(0)
    record[0], record[1] = 0.0, 0.0
    while room.counters[SIZE] > 0 and steps < most and item != goal:
        trust_sums(merit, room, sampler)
        item = np.int64(-1)
        if infusion > 0.0 and (infusion == 1.0 or uniform(sampler.random) < infusion):
            item = _favourite(room, sampler, oracle)
        if item < 0:
            item = draw(room, sampler)
        if steps < order.shape[0]:
            note(order[steps], item, sampler.counted[item], sampler.priority[item])
        right = _favourite(room, sampler, oracle) if credit == IMITATED else item
        features_of(merit, room, sampler, item if right < 0 else right)
        for f in range(FEATURES):
            slope = (φ[f] - sampler.sums[f] / numbers[TOTAL]) / numbers[TEMPERATURE]  # eq. 7
            trace[0, f] = discount * trace[0, f] + slope
            trace[1, f] += slope
        forget(merit, room, sampler, item)
        advance(combinations, rules.is_top, merit, item, n, Δ, room, sampler)
        place = item // symbols * merit.classes + merit.of[item % symbols]
        is_gold = 1.0 if correct[place] == GOLD else 0.0
        if is_gold > 0.0:
            correct[place] = FOUND
        record[0] += is_gold
        reward = 0.0
        if credit == SHAPED:
            reward = is_gold - λ[0] - λ[1] * np.float64(room.counters[PUSHES] - pushes)
        elif credit == UNIT or (credit == IMITATED and right >= 0):
            reward = 1.0
        record[1] += reward
        for f in range(FEATURES):
            gradient[f] += reward * trace[0, f]
        pushes = room.counters[PUSHES]
        steps += 1
    return steps


@kernel
def rollout_pass(
    rules: Rules,
    combinations: Combinations,
    lexical: Lexical,
    words: Any,
    at: Any,
    which: Any,
    θ: Any,
    of: Any,
    tables: Tables,
    kinds: Any,
    marks: Any,
    Δ: float,
    most: int,
    eligible: Any,
    gold: Any,
    gold_at: Any,
    oracle: Any,
    oracle_at: Any,
    wants: Any,
    wants_at: Any,
    uses_dynamic: bool,
    temperature: float,
    infusion: float,
    discount: float,
    credit: int,
    λ: Any,
    baseline: Any,
    seed: int,
    gradient: Any,
    reward: Any,
    accuracy: Any,
    pops: Any,
    pushes: Any,
    order: Any,
    control: Any,
    slot: int,
) -> None:
    """Trajectories of each sentence, as many as ``reward`` has columns; row k of the results is of ``which[k]``.

    ``order`` has room for the first constituents popped of each trajectory of the last sentence.
    """
    symbols, n_most, classes = rules.is_top.shape[0], longest_of(at, which), tables.tag.shape[0]
    static = np.zeros(n_most * (n_most + 1) // 2 * classes)
    merit = Merit(θ[INSIDE], of, static, classes, θ[DYNAMIC:].copy() if uses_dynamic else np.zeros(0))
    room = new_room(symbols, n_most, uses_dynamic)
    sampler = new_sampler(tables, symbols, n_most, classes if wants.shape[0] > 0 else 0)
    correct = np.zeros(static.shape[0], np.uint8)
    nodes, record, trace = np.zeros((2 * n_most, 5), np.int32), np.zeros(2), np.zeros((2, FEATURES))
    slopes = np.zeros(FEATURES)
    for row in range(which.shape[0]):
        i = which[row]
        if control[0] != 0:
            break
        sentence, n, view = words[at[i] : at[i + 1]], at[i + 1] - at[i], sampler.seen
        steps_of_oracle = oracle[oracle_at[i] : oracle_at[i + 1]]
        look(tables, lexical, of, sentence, kinds[at[i] : at[i + 1]], marks[at[i] : at[i + 1]], view)
        mark(wants[wants_at[i] : wants_at[i + 1]], view.wanted, 1)
        static_merits(θ, tables, view, n, static)
        for k in range(reward.shape[1]):
            mark(gold[gold_at[i] : gold_at[i + 1]], correct, GOLD)
            seed_random(sampler.random, seed, k, i)
            begin_exploring(rules.is_top, lexical, sentence, merit, Δ, temperature, room, sampler)
            slopes[:] = 0.0
            pops[row, k] = roll_out(
                rules,
                combinations,
                merit,
                n,
                Δ,
                most,
                infusion,
                discount,
                credit,
                λ,
                steps_of_oracle,
                correct,
                room,
                sampler,
                trace,
                slopes,
                record,
                order[k],
            )
            pushes[row, k] = room.counters[PUSHES]
            whole = room.position[span_number(0, n) * symbols + rules.root] == IN_CHART
            filled = write_result(rules, room, n, whole, eligible, nodes)
            accuracy[row, k] = correct_in(rules, of, classes, correct, nodes[:filled])
            total = accuracy[row, k] - λ[0] * np.float64(pops[row, k]) - λ[1] * np.float64(pushes[row, k])
            last = 0.0
            if credit == SHAPED:  # −Δ(s, a) of eq. 8
                last = accuracy[row, k] - record[0]
                reward[row, k] = record[1] + last
            else:
                last = total if credit == TERMINAL else 0.0
                reward[row, k] = total
            if credit == IMITATED:
                slopes /= max(record[1], 1.0)
            for f in range(gradient.shape[1]):
                gradient[row, f] += slopes[f] + last * trace[0, f] - baseline[row] * trace[1, f]
        mark(gold[gold_at[i] : gold_at[i + 1]], correct, 0)
        mark(wants[wants_at[i] : wants_at[i + 1]], view.wanted, 0)
        control[slot] += 1


# ---- the environment


@dataclass(frozen=True, eq=False)
class AgendaEnvironment:
    """Sentences with their gold trees, a parser for them, and what time costs.

    ``sentences`` are the words, ``rows`` their rows in the parser's lexicon, and ``trees`` gold trees as they are in
    the treebank, cleaned; without them there are parses, but neither rewards nor an oracle. ``tradeoff`` is λ. ``time``
    is one of :data:`TIMES`; for seconds, ``seconds`` says what a pop and a push take. Constituents worse by more than
    ``prune`` (Δ) than another one of their span are pruned. A parse ends after ``most_pops``, if that is given; it
    always does after N·n(n+1)/2. ``halting`` says whether the greedy policy goes on after the first complete parse
    (:func:`~treewright.constituency.agenda.agenda.search`; :func:`learn_halting` finds out what pays); trajectories
    always end with it. ``dynamic`` adds the dynamic features, and ``cheating`` the feature of §3.3.

    Weights θ are those of features divided by :data:`~treewright.constituency.agenda.priorities.SCALES`: so one step
    size suits them all.

    With ``imitates``, gradients are not those of rewards: in every state of a trajectory, whoever acts there, they make
    the oracle's action more probable (eq. 10), and count together as one example. With an oracle that acts less and
    less this is DAgger, which §4.2 could not afford.
    """

    parser: AgendaParser
    sentences: Sequence[Sequence[str]]
    rows: Sequence[Ints]
    trees: Sequence[Tree] | None = None
    tradeoff: float = 1e-6
    time: str = "pops"
    seconds: tuple[float, float] | None = None
    prune: float = np.inf
    most_pops: int | None = None
    halting: tuple[float, float, float] = (-1.0, 0.0, 0.0)
    dynamic: bool = False
    cheating: bool = False
    imitates: bool = False

    def __post_init__(self) -> None:
        if self.time not in TIMES:
            raise ConfigError(f"time cannot be {self.time!r}; it is one of: {', '.join(TIMES)}")
        if (self.time == "seconds") != (self.seconds is not None):
            raise ConfigError("`seconds`, what a pop and a push take, goes with time='seconds' and with nothing else")
        if not (self.tradeoff >= 0.0 and np.isfinite(self.tradeoff)):
            raise ConfigError(
                f"the tradeoff λ must be a number, 0 or more, not {self.tradeoff!r}: it is the price of time"
            )
        if not self.prune >= 0.0:
            raise ConfigError(f"the threshold Δ must be 0 or more, not {self.prune!r}")
        if self.most_pops is not None and self.most_pops < 1:
            raise ConfigError(f"most_pops must be 1 or more, not {self.most_pops!r}")
        if len(self.halting) != 3 or not np.isfinite(self.halting).all():
            raise ConfigError(f"a halting rule has three weights, all of them numbers, not {self.halting!r}")
        if len(self.sentences) != len(self.rows) or (self.trees is not None and len(self.trees) != len(self.rows)):
            raise CorpusError("there must be a gold tree and a row of the lexicon for every sentence")
        for k, (words, rows) in enumerate(zip(self.sentences, self.rows, strict=True)):
            leaves = words if self.trees is None else self.trees[k].leaves()
            if not len(words) == len(rows) == len(leaves) or not len(words):
                raise CorpusError(f"sentence {k} has {len(words)} words, and its gold tree {len(leaves)}")

    def but(self, **changes: Any) -> Self:
        """The same sentences with other settings; what was worked out for them is kept."""
        other = replace(self, **changes)
        if not changes.keys() & {"parser", "sentences", "rows", "trees"}:
            known = {name: self.__dict__[name] for name in ("packed", "_gold", "_oracle") if name in self.__dict__}
            other.__dict__.update(known)
        return other

    def some(self, which: Sequence[int]) -> Self:
        """Some of the sentences only."""
        trees = None if self.trees is None else [self.trees[i] for i in which]
        return replace(
            self, sentences=[self.sentences[i] for i in which], rows=[self.rows[i] for i in which], trees=trees
        )

    # ---- the protocol

    @property
    def size(self) -> int:
        """How many weights there are to learn."""
        return len(self.features)

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def features(self) -> list[int]:
        """The numbers of the features that have weights: see
        :data:`treewright.constituency.agenda.priorities.NAMES`."""
        more = [CHEATING] * self.cheating + [*range(DYNAMIC, FEATURES)] * self.dynamic
        return [*range(OF_THE_PAPER), *more]

    def initial(self) -> Floats:
        """A*₀ (:meth:`AgendaParser.a_star`)."""
        return (self.parser.a_star() * SCALES)[self.features]

    def weights(self, θ: Floats) -> Floats:
        """The weights of all features, as :class:`AgendaParser` takes them, of what is learned here."""
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
        """What the greedy policy brings."""
        return self.judge(self.parse(θ, which, jobs=jobs), which)

    # ---- more than the protocol

    def judge(self, parses: Parses, which: Longs) -> Results:
        """What parses of these sentences are worth (eq. 1)."""
        gold, gold_at = self._gold
        accuracy, classes = np.zeros(len(which)), len(self.parser.priorities.classes)
        for row, (i, nodes) in enumerate(zip(np.asarray(which).tolist(), parses.derivations, strict=True)):
            correct = set(gold[gold_at[i] : gold_at[i + 1]].tolist())
            built = _places(nodes, self.parser.grammar, self.parser.of, classes)
            accuracy[row] = sum(place in correct for place in built.tolist())
        time = self._costs[0] * parses.pops + self._costs[1] * parses.pushes
        return Results(accuracy - self.tradeoff * time, accuracy, time)

    def parse(self, θ: Floats, which: Longs, *, growth: float = 0.0, jobs: int = 1) -> Parses:
        """The parses of the greedy policy (eq. 2). With ``growth``, Δ grows by it where there is no parse: IDA*₀."""
        return self._search(θ, np.asarray(which, np.int64), np.zeros((0, 3)), growth, jobs)

    def pops(self, θ: Floats, i: int, most: int = 1_000_000) -> list[Pop]:
        """What the greedy policy pops for a sentence, in order."""
        order = np.full((min(most, self.bound(i)), 3), -1.0)
        self._search(θ, np.array([i]), order, 0.0, 1)
        return [self.parser.pop(*row) for row in order.tolist() if row[0] >= 0]

    def explain(self, i: int, pop: Pop) -> dict[str, float]:
        """The features of a constituent, by name, without the dynamic ones: θ times these is its priority."""
        [φ] = self.parser.explain(self.packed, i, [pop])
        if self.cheating:
            wants, at = self._wants
            of = self.parser.of[self.parser.grammar.number[pop.symbol]]
            place = span_number(pop.start, pop.end) * len(self.parser.priorities.classes) + of
            φ[CHEATING] = float(place in wants[at[i] : at[i + 1]])
        φ /= SCALES
        return {self.parser.priorities.describe(f): float(φ[f]) for f in self.features if f < DYNAMIC}

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
        """:meth:`rollouts` of one sentence, and what each trajectory popped first, ``most`` constituents at most."""
        order = np.full((trajectories, min(most, self.bound(i)), 3), -1.0)
        settings = temperature, infusion, discount, credit, baseline, seed
        rollouts = self._explore(θ, np.array([i]), order, 1, *settings)
        return rollouts, [[self.parser.pop(*row) for row in rows if row[0] >= 0] for rows in order.tolist()]

    def bound(self, i: int) -> int:
        """How many pops a sentence can take at most, whatever θ is: N·n(n+1)/2, or ``most_pops``."""
        return min(self._most, self.parser.bound(len(self.sentences[i])))

    @cached_property
    def gold(self) -> Longs:
        """How many gold constituents each sentence has: what accuracy is at most."""
        return np.diff(self._gold[1])

    @cached_property
    def fingerprint(self) -> str:
        """What trajectories depend on, besides θ."""
        costs, ends = (self.tradeoff, self.time, self.seconds), (self.prune, self.most_pops, self.halting)
        digest = hashlib.sha256(repr((costs, ends, self.dynamic, self.cheating, self.imitates)).encode())
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
            prune=self.prune,
            growth=growth,
            most_pops=self._most,
            halting=np.array(self.halting, np.float64),
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
        reward, accuracy, gradient = np.zeros(shape), np.zeros(shape), np.zeros((len(which), FEATURES))
        pops, pushes = np.zeros((2, *shape), np.int64)
        b = np.zeros(len(which)) if baseline is None else np.asarray(baseline, np.float64)
        costs, weights = self.tradeoff * np.array(self._costs), self.weights(θ)
        counts = IMITATED if self.imitates else _CREDITS[credit]
        parser, packed = self.parser, self.packed

        def work(first: int, last: int, control: Longs, slot: int) -> None:
            part = slice(first, last)
            # fmt: off
            rollout_pass(
                parser.grammar.rules, parser.combinations, parser.lexical, packed.words, packed.at, which[part],
                weights, parser.of, parser.priorities.tables, packed.kinds, packed.marks, float(self.prune), self._most,
                parser.eligible, *self._gold, *self._oracle, *self._wants, self.dynamic, float(temperature),
                float(infusion), float(discount), counts, costs, b[part], int(seed), gradient[part],
                reward[part], accuracy[part], pops[part], pushes[part], order, control, slot,
            )
            # fmt: on

        run_shards(work, len(which), jobs=jobs)
        summed = (gradient.sum(axis=0) / SCALES)[self.features]
        found = np.flatnonzero(summed)
        taken = self._costs[0] * pops + self._costs[1] * pushes
        return Rollouts(Features(found, summed[found], float(reward.sum())), reward, accuracy, taken)

    # ---- what kernels need

    @property
    def _costs(self) -> tuple[float, float]:
        """What a pop and a push take."""
        return {"pops": (1.0, 0.0), "pushes": (0.0, 1.0), "seconds": self.seconds or (0.0, 0.0)}[self.time]

    @property
    def _most(self) -> int:
        return NO_LIMIT if self.most_pops is None else self.most_pops

    @cached_property
    def packed(self) -> Packed:
        """The sentences as kernels take them."""
        return self.parser.pack(self.sentences, self.rows)

    @cached_property
    def _gold(self) -> tuple[Longs, Longs]:
        """The places of gold constituents, span · classes + class, of all sentences, and where each one's begin."""
        if self.trees is None:
            raise CorpusError("there are no gold trees to learn from or to judge by: give an environment `trees`")
        bottoms, tops = _classes_by_label(self.parser)
        classes = len(self.parser.priorities.classes)
        found = []
        for tree in self.trees:
            places = set()
            for chain, start, end in _chains(tree):
                row = span_number(start, end) * classes
                places |= {row + c for c in bottoms.get(chain[-1], ())}
                if len(chain) > 1:
                    places |= {row + c for c in tops.get(chain[0], ())}
            found.append(sorted(places))
        return _joined(found)

    @cached_property
    def _oracle(self) -> tuple[Longs, Longs]:
        """The constituents of the oracle's parses, span · symbols + symbol; none where there is no parse."""
        parser, packed, n, classes = self.parser, self.packed, len(self), len(self.parser.priorities.classes)
        nodes, filled = np.zeros((2 * int(packed.at[-1]) - n, 5), np.int32), np.zeros(n, np.int64)
        bottoms, _ = _classes_by_label(parser)
        counts = np.isin(np.arange(classes), [c for group in bottoms.values() for c in group])
        # fmt: off
        oracle_pass(
            parser.grammar.rules, *parser.scores, parser.lexical, packed.words, packed.at, np.arange(n),
            parser.of, counts, *self._gold, nodes, filled, np.zeros(2, np.int64), 1,
        )
        # fmt: on
        symbols = len(parser.grammar.symbols)
        parts = [nodes[2 * a - i : 2 * a - i + filled[i]] for i, a in enumerate(packed.at[:-1].tolist())]
        return _joined([_places(part, parser.grammar, np.arange(symbols), symbols).tolist() for part in parts])

    @cached_property
    def _wants(self) -> tuple[Longs, Longs]:
        """The places of the cheating feature; nothing without it."""
        if not self.cheating:
            return np.zeros(0, np.int64), np.zeros(len(self) + 1, np.int64)
        (oracle, at), symbols, of = self._oracle, len(self.parser.grammar.symbols), self.parser.of
        return oracle // symbols * len(self.parser.priorities.classes) + of[oracle % symbols], at


def seconds_per_step(environment: AgendaEnvironment, which: Longs) -> tuple[float, float]:
    """What a pop and a push take, in seconds: measured on A*₀ with several thresholds, by least squares."""
    counts, seconds = [], []
    for prune in (3.0, 6.0, 9.0, 12.0, np.inf):
        pruned = environment.but(prune=prune, cheating=False, dynamic=False)
        θ = pruned.initial()
        pruned.parse(θ, which[:1])  # compiled and warm
        begun = perf_counter()
        parses = pruned.parse(θ, which)
        seconds.append(perf_counter() - begun)
        counts.append((parses.pops.sum(), parses.pushes.sum()))
    weights = 1.0 / np.array(seconds)  # relative errors count
    found = np.linalg.lstsq(np.array(counts) * weights[:, None], np.ones(len(seconds)), rcond=None)[0]
    if (found < 0.0).any():  # nearly proportional to each other: pushes alone explain it
        found = np.array([0.0, np.sum(seconds) / np.array(counts)[:, 1].sum()])
    return float(found[0]), float(found[1])


def learn_halting(environment: AgendaEnvironment, θ: Floats, which: Longs, *, jobs: int = 1) -> AgendaEnvironment:
    """The environment with the halting rule, of some dozen, that earns most on these sentences with these priorities.

    The rules: to give up after so many pops as most sentences need (§7: "give up before any complete parse is found"),
    and after the first complete parse to stop, or to go on for some part of the pops made so far, or as long as
    priorities are not much lower.
    """
    pops = environment.parse(θ, which, jobs=jobs).pops
    limits = [environment.most_pops, *(int(np.quantile(pops, share)) + 1 for share in (0.9, 0.99))]
    rules = [(-1.0, 0.0, 0.0), *((1.0 + part, -1.0, 0.0) for part in (0.25, 1.0)), (1.0, 0.0, 1.0), (4.0, 0.0, 1.0)]
    tried = [environment.but(most_pops=limit, halting=rule) for limit in limits for rule in rules]
    return max(tried, key=lambda each: float(each.run(θ, which, jobs=jobs).reward.mean()))


def _classes_by_label(parser: AgendaParser) -> tuple[dict[str, set[int]], ...]:
    """For each label the classes of bottoms and tags that stand for it, and those of tops."""
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
    row = (end * (end - 1) // 2 + start) * classes
    top = nodes[:, 1] >= 0
    return np.concatenate([row + of[nodes[:, 0]], row[top] + of[grammar.unary[nodes[top, 1], 0]]])


def _joined(lists: Sequence[Sequence[int]]) -> tuple[Longs, Longs]:
    """Lists one behind the other, and where each begins."""
    return np.array([k for each in lists for k in each], np.int64), np.cumsum([0, *map(len, lists)], dtype=np.int64)
