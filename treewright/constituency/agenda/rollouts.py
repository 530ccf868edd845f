"""Trajectories of the agenda parser in training: the oracle, oracle-infused exploration, and their gradients.

Jiang, Teichert, Daumé III & Eisner (2012, §3–5); :mod:`treewright.constituency.agenda.environment` defines actions and
rewards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.clocks import (
    TEMPERATURE,
    TOTAL,
    Sampler,
    count,
    draw,
    features_of,
    new_sampler,
    reset_clocks,
    trust_sums,
)
from treewright.constituency.agenda.features import CHAIN, FEATURES, INSIDE, Packed, Places, look, mark, static_merits
from treewright.constituency.agenda.passes import Limits, Weights
from treewright.constituency.agenda.queue import IN_CHART, PUSHES, SIZE, Agenda, new_agenda
from treewright.constituency.agenda.results import write_result
from treewright.constituency.agenda.search import AgendaGrammar, Merit, Search, advance, begin, goal_of, note, push
from treewright.constituency.charts.chart import has_tree, new_space, row_offsets
from treewright.constituency.charts.corpus import NODE, Parsed, Shard, longest, nodes_of, words_of
from treewright.constituency.charts.derivations import best_tree
from treewright.constituency.charts.recurrence import fill
from treewright.constituency.charts.semirings import VITERBI_64
from treewright.constituency.charts.spans import span_of
from treewright.search.compiling import kernel, lean
from treewright.search.hashing import seed_random, uniform

__all__ = ["Expert", "Exploration", "Gathered", "oracle_pass", "rollout_pass"]

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

TERMINAL, SHAPED, UNIT, IMITATED, SHAPED_BY_ORACLE = 0, 1, 2, 3, 4  # what earns credit
GOLD, FOUND = 1, 2  # constituents that earn a reward, and those of them that were popped
_MUCH = 1e4  # a gold constituent counts more than any score


class Expert(NamedTuple):
    """The gold constituents and the oracle's parse of each sentence."""

    gold: Places  # gold constituents, by class
    oracle: Places  # the constituents of the oracle's parse, by symbol
    wants: Places  # those of the cheating feature, by class; or empty


class Exploration(NamedTuple):
    """How trajectories are drawn and rewarded: see :class:`treewright.search.Environment`."""

    temperature: float
    infusion: float  # δ of eq. 11
    discount: float  # γ of eq. 9
    credit: int
    per_pop: float  # λ times the cost of a pop
    per_push: float  # λ times the cost of a push
    seed: int


class Gathered(NamedTuple):
    """The results of trajectories: a row for each sentence of the shard, a column for each trajectory."""

    gradient: Floats  # sentences × features
    reward: Floats
    accuracy: Floats
    pops: Longs
    pushes: Longs


class Slopes(NamedTuple):
    """The gradient of one trajectory."""

    trace: Floats  # z_t = γ·z_{t−1} + ∇log π(a_t|s_t); in the second row, Σ ∇log π(a_t|s_t)
    gradient: Floats  # Σ_t r̃_t·z_t, which is the same as eq. 9
    record: Floats  # the number of popped constituents with a reward, and Σ r̃_t


# ---- the oracle


@kernel
def oracle_pass(
    grammar: AgendaGrammar, packed: Packed, shard: Shard, counts: Any, gold: Places, parsed: Parsed
) -> None:
    """The parses that the oracle builds (§4.1); a sentence without one has no nodes.

    Of the classes that ``counts`` names, all constituents that are not ``gold`` are wrong.
    """
    rules, of, classes = grammar.weighted.rules, grammar.of, grammar.classes
    symbols, most = rules.is_top.shape[0], longest(packed, shard.which)
    space = new_space(VITERBI_64, symbols, most)
    anchored = np.zeros(space.values.shape[0])
    correct = np.zeros(most * (most + 1) // 2 * classes, np.uint8)
    for i in shard.which:
        if shard.control[0] != 0:
            break
        words = words_of(packed, i)
        n = words.shape[0]
        offsets = row_offsets(n)
        mark(gold, i, correct, 1)
        for symbol in range(symbols):
            for width in range(1, n + 1):
                for start in range(n - width + 1):
                    place = span_of(start, start + width) * classes + of[symbol]
                    reward = _MUCH if correct[place] != 0 else -_MUCH if counts[of[symbol]] else 0.0
                    anchored[symbol * offsets[n + 1] + offsets[width] + start] = reward
        mark(gold, i, correct, 0)
        chart = fill(VITERBI_64, grammar.weighted, words, anchored, np.inf, space)
        parsed.filled[i] = 0
        if has_tree(chart):
            parsed.filled[i] = best_tree(chart, rules.root, 0, n, nodes_of(packed, parsed.nodes, i), 0)
        shard.control[shard.slot] += 1


@lean
def _favourite(agenda: Agenda, sampler: Sampler, places: Places, i: int) -> Any:
    """The oracle's action (§4.1): of those available, the one with the highest priority; −1 if there is none."""
    best, favourite = -np.inf, np.int64(-1)
    for k in range(places.at[i], places.at[i + 1]):
        item = np.int64(places.place[k])
        if agenda.position[item] >= 0 and (favourite < 0 or sampler.priority[item] > best):
            best, favourite = sampler.priority[item], item
    return favourite


# ---- trajectories


@lean
def _marked_in(unary: Any, of: Any, classes: int, table: Any, nodes: Any) -> int:
    """The number of constituents of a derivation that are marked in a table of spans × classes."""
    found = np.int64(0)
    for k in range(nodes.shape[0]):
        row = span_of(nodes[k, 3], nodes[k, 4]) * classes
        found += np.int64(table[row + of[nodes[k, 0]]] != 0)
        if nodes[k, 1] >= 0:
            found += np.int64(table[row + of[unary[nodes[k, 1], 0]]] != 0)
    return found


@lean
def _roll_out(
    state: Search,
    how: Exploration,
    most: int,
    oracle: Places,
    i: int,
    earning: Any,
    of: Any,
    classes: int,
    sampler: Sampler,
    slopes: Slopes,
    order: Any,
) -> int:
    """One trajectory of sentence i from the initial state: the oracle-infused policy of eq. 11; returns its steps.

    ``earning`` marks the constituents that earn a reward, in spans × ``classes``, with ``of`` the class of each symbol.
    ``slopes`` receives the gradient of eq. 9, and ``order`` the first popped constituents, with inside scores and
    priorities.
    """
    agenda, goal = state.agenda, goal_of(state)
    numbers, φ, symbols = sampler.numbers, sampler.φ, of.shape[0]
    trace, record = slopes.trace, slopes.record
    for f in range(FEATURES):
        trace[0, f] = 0.0
        trace[1, f] = 0.0
        slopes.gradient[f] = 0.0
    steps, item, pushes = 0, np.int64(-1), np.int64(0)
    record[0], record[1] = 0.0, 0.0
    while agenda.counters[SIZE] > 0 and steps < most and item != goal:
        trust_sums(agenda, sampler)
        item = np.int64(-1)
        if how.infusion > 0.0 and (how.infusion == 1.0 or uniform(sampler.random) < how.infusion):
            item = _favourite(agenda, sampler, oracle, i)
        if item < 0:
            item = draw(agenda, sampler)
        if steps < order.shape[0]:
            note(order[steps], item, sampler.counted[item], sampler.priority[item])
        right = _favourite(agenda, sampler, oracle, i) if how.credit == IMITATED else item
        features_of(sampler, item if right < 0 else right)
        for f in range(FEATURES):
            slope = (φ[f] - sampler.sums[f] / numbers[TOTAL]) / numbers[TEMPERATURE]  # eq. 7
            trace[0, f] = how.discount * trace[0, f] + slope
            trace[1, f] += slope
        count(sampler, item, -1.0)
        advance(state, item, sampler)
        place = item // symbols * classes + of[item % symbols]
        earned = 1.0 if earning[place] == GOLD else 0.0
        if earned > 0.0:
            earning[place] = FOUND
        record[0] += earned
        reward = 0.0
        if how.credit == SHAPED or how.credit == SHAPED_BY_ORACLE:
            reward = earned - how.per_pop - how.per_push * np.float64(agenda.counters[PUSHES] - pushes)
        elif how.credit == UNIT or (how.credit == IMITATED and right >= 0):
            reward = 1.0
        record[1] += reward
        for f in range(FEATURES):
            slopes.gradient[f] += reward * trace[0, f]
        pushes = agenda.counters[PUSHES]
        steps += 1
    return steps


@kernel
def rollout_pass(
    grammar: AgendaGrammar,
    packed: Packed,
    shard: Shard,
    weights: Weights,
    expert: Expert,
    how: Exploration,
    limits: Limits,
    baseline: Any,
    out: Gathered,
    order: Any,
) -> None:
    """Trajectories of each sentence, as many as ``out.reward`` has columns; row k is that of ``shard.which[k]``.

    ``order`` gets the first constituents popped of each trajectory of the last sentence.
    """
    θ, tables, lexical = weights.θ, weights.tables, grammar.weighted.lexical
    most, classes = longest(packed, shard.which), grammar.classes
    static = np.zeros(most * (most + 1) // 2 * classes)
    merit = Merit(θ[INSIDE], θ[CHAIN], grammar.of, static, classes)
    agenda = new_agenda(grammar.of.shape[0], most)
    is_top, wanted = grammar.combinations.is_top, classes if expert.wants.place.shape[0] > 0 else 0
    sampler = new_sampler(tables, grammar.of, is_top, most, wanted)
    correct, nodes = np.zeros(static.shape[0], np.uint8), np.zeros((2 * most, NODE), np.int32)
    by_oracle, unary = how.credit == SHAPED_BY_ORACLE, grammar.weighted.rules.unary
    symbols = np.arange(grammar.of.shape[0]).astype(np.int32)
    rewarded = np.zeros(most * (most + 1) // 2 * symbols.shape[0] if by_oracle else 0, np.uint8)
    slopes = Slopes(np.zeros((2, FEATURES)), np.zeros(FEATURES), np.zeros(2))
    for row in range(shard.which.shape[0]):
        i = shard.which[row]
        if shard.control[0] != 0:
            break
        words, view = words_of(packed, i), sampler.seen
        state = Search(grammar.combinations, merit, limits.Δ, words.shape[0], agenda)
        look(tables, lexical, grammar.of, packed, i, view)
        mark(expert.wants, i, view.wanted, 1)
        static_merits(θ, tables, view, state.n, static)
        for k in range(out.reward.shape[1]):
            mark(expert.gold, i, correct, GOLD)
            if by_oracle:
                mark(expert.oracle, i, rewarded, GOLD)
            seed_random(sampler.random, how.seed, k, i)
            reset_clocks(sampler, how.temperature)
            begin(state, lexical, words)
            push(state, sampler)
            earning, of = (rewarded, symbols) if by_oracle else (correct, grammar.of)
            per_span = symbols.shape[0] if by_oracle else classes
            steps = _roll_out(
                state, how, limits.most_pops, expert.oracle, i, earning, of, per_span, sampler, slopes, order[k]
            )
            whole = agenda.position[goal_of(state)] == IN_CHART
            filled = write_result(grammar, agenda, state.n, whole, nodes)
            found = _marked_in(unary, grammar.of, classes, correct, nodes[:filled])
            accuracy, pushes = np.float64(found), agenda.counters[PUSHES]
            out.accuracy[row, k], out.pops[row, k], out.pushes[row, k] = accuracy, steps, pushes
            total = accuracy - how.per_pop * np.float64(steps) - how.per_push * np.float64(pushes)
            last = 0.0
            if how.credit == SHAPED or by_oracle:  # −Δ(s, a) of eq. 8
                kept = np.float64(_marked_in(unary, of, per_span, earning, nodes[:filled]))
                last = kept - slopes.record[0]
                out.reward[row, k] = slopes.record[1] + last
            else:
                last = total if how.credit == TERMINAL else 0.0
                out.reward[row, k] = total
            by = max(slopes.record[1], 1.0) if how.credit == IMITATED else 1.0
            for f in range(FEATURES):
                slope = slopes.gradient[f] / by + last * slopes.trace[0, f] - baseline[row] * slopes.trace[1, f]
                out.gradient[row, f] += slope
        mark(expert.gold, i, correct, 0)
        if by_oracle:
            mark(expert.oracle, i, rewarded, 0)
        mark(expert.wants, i, view.wanted, 0)
        shard.control[shard.slot] += 1
