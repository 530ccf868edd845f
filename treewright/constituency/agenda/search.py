"""The agenda parser: constituents in the order of their priorities (Jiang, Teichert, Daumé III & Eisner 2012, §2).

The *agenda* is a priority queue of constituents that were built and not yet used; the *chart* has those that were. The
parser pops the constituent of the highest priority, puts it into the chart, combines it with its neighbours there, and
pushes what it gets. It stops when it pops the root over the whole sentence: the first complete parse.

* A constituent is a symbol over a span. Built again, it is merged with what is there: the better inside score is kept,
  with the rule that led to it. One that waits then gets a new priority. One that is in the chart already is improved
  where it is and does not come back to the agenda, so every constituent is popped at most once: **no priority whatever
  can make the parser pop more than N·n(n+1)/2 constituents**, for N symbols and n words. Where priorities never rise
  from parts to wholes (inside scores of rules that have no positive scores; exact A*), this never happens.
* With the Viterbi inside score as priority this is A* with a heuristic of 0, A*₀, and the first complete parse is a
  best one, provided that no rule has a score above 0. Learned rules may have such scores; then A*₀ adds an upper bound
  of what the rules outside a constituent can add (:meth:`~treewright.constituency.agenda.parser.AgendaParser.a_star`).
  Tags may have such scores too (a ratio of probabilities is no probability): where the best tag of a word has, all tags
  of this word are lowered by it, which is the same for all parses.
* A constituent is *pruned* if its inside score is worse by more than Δ than that of some other one over the same words
  (§6.1). Symbols that start unary chains are compared with each other, and so are the others, as in the beam of
  :mod:`treewright.constituency.charts.recurrence`.
* If the agenda is empty before there is a complete parse, or too many pops were made, the sentence is covered by as few
  constituents as possible (:mod:`treewright.constituency.agenda.results`).

A *push* is a constituent that was built and not pruned, also if it is merged: this is what takes the time. A popped
constituent goes through all its neighbours and only changes scores; then the agenda is told once of each constituent
that changed. While it learns, the parser draws what it pops (:mod:`treewright.constituency.agenda.clocks`); functions
that take a ``sampler`` are given None when it does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.clocks import count, start_clock
from treewright.constituency.agenda.queue import (
    CHANGED,
    DROPPED,
    IN_CHART,
    POPS,
    PRUNED,
    PUSHES,
    SIZE,
    TOUCHED,
    UNSEEN,
    Agenda,
    clear,
    remove,
    set_key,
)
from treewright.constituency.charts.semirings import POSSIBLE
from treewright.constituency.charts.spans import ends_of, span_of
from treewright.constituency.grammar.rules import Lexical, Weighted
from treewright.search.bits import bit, lowest
from treewright.search.compiling import lean

__all__ = ["AgendaGrammar", "Combinations", "Merit", "Search", "advance", "agenda_grammar", "begin", "push", "search"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Combinations(NamedTuple):
    """The rules by their children, each with its score; the rules of a pair of children come best first."""

    left_at: Longs  # for each symbol where its pairs begin, as the left child
    right: Ints  # the right child of each pair
    right_at: Longs  # the same for right children: ``of_right`` are numbers of pairs
    of_right: Ints
    left: Ints  # the left child of each of these
    rule_at: Longs  # where the rules of each pair begin
    parent: Ints
    score: Floats
    number: Ints  # of the rule in the grammar
    bottom_at: Longs  # for each symbol where the unary rules above it begin
    top: Ints
    top_score: Floats
    top_number: Ints
    is_top: npt.NDArray[np.bool_]  # does the symbol start unary chains?
    root: int


class AgendaGrammar(NamedTuple):
    """A grammar as the agenda parser takes it."""

    weighted: Weighted
    combinations: Combinations
    of: Ints  # the class of each symbol, by which priorities are looked up
    classes: int  # how many classes there are
    eligible: npt.NDArray[np.bool_]  # the symbols that cover a sentence without a parse


class Merit(NamedTuple):
    """Priorities: weight · inside score + static[span, class of the symbol], and ``chain`` unless it is a top."""

    weight: float
    chain: float  # added where a unary rule may still follow
    of: Ints  # the class of each symbol
    static: Floats  # spans × classes, flat, or empty for 0; a constituent of NEVER is dropped
    classes: int


class Search(NamedTuple):
    """What stays the same while a sentence of n words is parsed."""

    rules: Combinations
    merit: Merit
    Δ: float  # constituents worse by more than this are pruned
    n: int
    agenda: Agenda


def agenda_grammar(weighted: Weighted, of: Ints, classes: int, eligible: npt.NDArray[np.bool_]) -> AgendaGrammar:
    """A grammar with its rules by their children."""
    return AgendaGrammar(weighted, _combinations(weighted), of, classes, eligible)


def _combinations(weighted: Weighted) -> Combinations:
    rules, scores = weighted.rules, np.asarray(weighted.binary, np.float64)
    symbols, pairs = len(rules.is_top), len(rules.right)
    left = np.repeat(rules.left, np.diff(rules.left_at))
    pair_of_rule = np.repeat(np.arange(pairs), np.diff(rules.rule_at))
    order = np.lexsort((-scores, pair_of_rule))
    by_right = np.argsort(rules.right, kind="stable").astype(np.int32)
    by_bottom = np.argsort(rules.unary[:, 1], kind="stable").astype(np.int32)

    def begins(keys: npt.NDArray[Any]) -> Longs:
        return np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=symbols))]).astype(np.int64)

    return Combinations(
        begins(left),
        rules.right,
        begins(rules.right),
        by_right,
        left[by_right],
        rules.rule_at.astype(np.int64),
        np.ascontiguousarray(rules.binary[order, 0]),
        scores[order],
        order.astype(np.int32),
        begins(rules.unary[:, 1]),
        np.ascontiguousarray(rules.unary[by_bottom, 0]),
        np.asarray(weighted.unary, np.float64)[by_bottom],
        by_bottom,
        rules.is_top,
        rules.root,
    )


@lean
def goal_of(state: Search) -> int:
    """The root over the whole sentence."""
    return span_of(0, state.n) * state.rules.is_top.shape[0] + state.rules.root


@lean
def search(state: Search, lexical: Lexical, words: Any, most: int, margin: float, order: Any) -> bool:
    """Parse a sentence by the greedy policy of eq. 2; returns whether there is a complete parse.

    At most ``most`` constituents are popped. After the first complete parse the parser goes on as long as priorities
    are above that of the parse less ``margin``; −∞ stops at once, as in the paper. ``order`` gets the constituents in
    the order in which they are popped, with their inside scores and priorities, as far as it is long enough.
    """
    agenda, goal = state.agenda, goal_of(state)
    begin(state, lexical, words)
    push(state, None)
    reached = 0.0
    while agenda.counters[SIZE] > 0 and agenda.counters[POPS] < most:
        item, key = np.int64(agenda.heap[0]), agenda.key[0]
        if agenda.position[goal] == IN_CHART and margin + (key - reached) <= 0.0:
            break
        if agenda.counters[POPS] < order.shape[0]:
            note(order[agenda.counters[POPS]], item, agenda.score[item], key)
        advance(state, item, None)
        if item == goal:
            reached = key
    return agenda.position[goal] == IN_CHART


@lean
def note(row: Any, item: int, inside: float, priority: float) -> None:
    """Write down what is popped."""
    row[0] = np.float64(item)
    row[1] = inside
    row[2] = priority


@lean
def begin(state: Search, lexical: Lexical, words: Any) -> None:
    """The initial state (§2.2): the tags of all words, changed and not yet on the agenda."""
    symbols = state.rules.is_top.shape[0]
    clear(state.agenda, symbols, state.n)
    for i in range(words.shape[0]):
        lift = 0.0
        for entry in range(lexical.at[words[i]], lexical.at[words[i] + 1]):
            lift = max(lift, np.float64(lexical.score[entry]))
        for entry in range(lexical.at[words[i]], lexical.at[words[i] + 1]):
            item = span_of(i, i + 1) * symbols + lexical.symbol[entry]
            _offer(state.agenda, item, np.float64(lexical.score[entry]) - lift, -1, -1)


@lean
def advance(state: Search, item: int, sampler: Any) -> None:
    """T(s, a) of §2.2: pop a constituent, combine it with what is adjacent, push the results."""
    is_top, agenda = state.rules.is_top, state.agenda
    symbols = is_top.shape[0]
    symbol, span = item % symbols, item // symbols
    remove(agenda, item)
    agenda.counters[POPS] += 1
    if agenda.score[item] < agenda.best[2 * span + (1 if is_top[symbol] else 0)] - state.Δ:
        agenda.counters[PRUNED] += 1
        return
    start, end = ends_of(span)
    _combine(state.rules, symbol, start, end, state.n, state.Δ, agenda)
    push(state, sampler)


@lean
def _combine(rules: Combinations, symbol: int, start: int, end: int, n: int, Δ: float, agenda: Agenda) -> None:
    """Put a constituent into the chart and build everything that it makes with its neighbours there."""
    symbols, span = rules.is_top.shape[0], span_of(start, end)
    own = agenda.score[span * symbols + symbol]
    agenda.ends[((end // 64) * (n + 1) + start) * symbols + symbol] |= bit(end)
    agenda.starts[((start // 64) * (n + 1) + end) * symbols + symbol] |= bit(start)
    floor = agenda.best[2 * span + 1] - Δ
    for k in range(rules.bottom_at[symbol], rules.bottom_at[symbol + 1]):
        score = own + rules.top_score[k]
        if score < floor:
            agenda.counters[PRUNED] += 1
        else:
            _offer(agenda, span * symbols + rules.top[k], score, rules.top_number[k], -1)
    for pair in range(rules.left_at[symbol], rules.left_at[symbol + 1]):
        right = rules.right[pair]
        for word in range(end // 64, n // 64 + 1):
            found = agenda.ends[(word * (n + 1) + end) * symbols + right]
            while found != np.uint64(0):
                last = 64 * word + lowest(found)
                found &= found - np.uint64(1)
                both = own + agenda.score[span_of(end, last) * symbols + right]
                _apply(rules, pair, both, span_of(start, last), end, Δ, agenda)
    for k in range(rules.right_at[symbol], rules.right_at[symbol + 1]):
        pair, left = rules.of_right[k], rules.left[k]
        for word in range(start // 64 + 1):
            found = agenda.starts[(word * (n + 1) + start) * symbols + left]
            while found != np.uint64(0):
                first = 64 * word + lowest(found)
                found &= found - np.uint64(1)
                both = agenda.score[span_of(first, start) * symbols + left] + own
                _apply(rules, pair, both, span_of(first, end), start, Δ, agenda)


@lean
def _offer(agenda: Agenda, item: int, score: float, rule: int, split: int) -> None:
    """A constituent was built: keep the better one."""
    agenda.counters[PUSHES] += 1
    if score > agenda.score[item]:
        agenda.score[item], agenda.rule[item], agenda.split[item] = score, rule, split
        if agenda.stamp[item] != agenda.counters[POPS]:
            agenda.stamp[item] = agenda.counters[POPS]
            agenda.changed[agenda.counters[CHANGED]] = item
            agenda.counters[CHANGED] += 1


@lean
def _apply(rules: Combinations, pair: int, both: float, span: int, split: int, Δ: float, agenda: Agenda) -> None:
    """All rules of a pair; since the best come first, what follows one that is pruned is pruned too."""
    counters, known = agenda.counters, agenda.score
    floor, row = agenda.best[2 * span] - Δ, span * rules.is_top.shape[0]
    changed, pops = counters[CHANGED], counters[POPS]
    for k in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
        score = both + rules.score[k]
        if score < floor:
            counters[PRUNED] += rules.rule_at[pair + 1] - k
            break
        counters[PUSHES] += 1
        item = row + rules.parent[k]
        if score > known[item]:
            known[item], agenda.rule[item], agenda.split[item] = score, rules.number[k], split
            if agenda.stamp[item] != pops:
                agenda.stamp[item] = pops
                agenda.changed[changed] = item
                changed += 1
    counters[CHANGED] = changed


@lean
def push(state: Search, sampler: Any) -> None:
    """Tell the agenda of everything that the last pop changed."""
    is_top, merit, agenda = state.rules.is_top, state.merit, state.agenda
    symbols, counters = is_top.shape[0], agenda.counters
    for k in range(counters[CHANGED]):
        item = np.int64(agenda.changed[k])
        symbol, span = item % symbols, item // symbols
        kind = 2 * span + (1 if is_top[symbol] else 0)
        agenda.best[kind] = max(agenda.best[kind], agenda.score[item])
    for k in range(counters[CHANGED]):
        item = np.int64(agenda.changed[k])
        if agenda.position[item] == IN_CHART:
            continue
        symbol, span = item % symbols, item // symbols
        if agenda.position[item] == UNSEEN:
            agenda.touched[counters[TOUCHED]] = item
            counters[TOUCHED] += 1
            agenda.position[item] = DROPPED
        waits = agenda.position[item] >= 0
        if not waits and agenda.score[item] < agenda.best[2 * span + (1 if is_top[symbol] else 0)] - state.Δ:
            counters[PRUNED] += 1
            continue
        priority = merit.weight * agenda.score[item]
        if not is_top[symbol]:
            priority += merit.chain
        if merit.static.shape[0] > 0:
            static = merit.static[span * merit.classes + merit.of[symbol]]
            if static <= POSSIBLE:
                counters[PRUNED] += 1
                continue
            priority += static
        if sampler is None:
            set_key(agenda, item, priority)
        else:
            if waits:
                count(sampler, item, -1.0)
            start_clock(agenda, sampler, item, priority)
    counters[CHANGED] = 0
