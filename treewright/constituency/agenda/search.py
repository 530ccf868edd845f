"""The agenda parser, which pops constituents by priority (Jiang, Teichert, Daumé III & Eisner 2012, §2).

The *agenda* is a priority queue of constituents that were built but not yet used; the *chart* has the used ones. The
parser pops the constituent of the highest priority, adds it to the chart, combines it with its neighbours there, and
pushes the results. It stops when it pops the root over the whole sentence: the first complete parse.

* A constituent is a symbol over a span. If it is built again, the better inside score is kept, with its rule. If it is
  on the agenda, it then gets a new priority. If it is already in the chart, it is improved in place and does not return
  to the agenda, so every constituent is popped at most once: **with any priorities, the parser pops at most N·n(n+1)/2
  constituents**, for N symbols and n words. If priorities never increase from parts to wholes (inside scores of rules
  without positive scores; exact A*), constituents in the chart are never improved.
* With the Viterbi inside score as priority this is A* with a heuristic of 0, A*₀, and the first complete parse is a
  best one, provided that no rule has a score above 0. Learned rules may have such scores; then A*₀ adds an upper bound
  of the scores of the rules outside a constituent (:meth:`~treewright.constituency.agenda.parser.AgendaParser.a_star`).
  Tags may have such scores too (a ratio of probabilities is not a probability): if the best tag of a word has one, all
  tags of this word are lowered by it, which is the same for all parses.
* A constituent is *pruned* if its inside score is more than Δ below that of another one over the same words (§6.1).
  Symbols that start unary chains are compared with each other, and so are the others, as in the beam of
  :mod:`treewright.constituency.charts.recurrence`.
* If the agenda is empty before there is a complete parse, or too many pops were made, the sentence is covered by as few
  constituents as possible (:mod:`treewright.constituency.agenda.results`).

A *push* is a constituent that was built and not pruned, even if it is merged: pushes take most of the time. A popped
constituent is first combined with all its neighbours, which only changes scores; then the agenda is updated once for
each changed constituent. In training, the parser draws the constituents that it pops
(:mod:`treewright.constituency.agenda.clocks`); otherwise the argument ``sampler`` is None.
"""

from __future__ import annotations

import heapq
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
    place_after,
    remove,
    set_key,
)
from treewright.constituency.charts.semirings import POSSIBLE
from treewright.constituency.charts.spans import ends_of, span_of
from treewright.constituency.grammar.rules import Lexical, Weighted
from treewright.search.bits import bit, lowest
from treewright.search.compiling import in_bulk, lean

__all__ = [
    "NOTED",
    "AgendaGrammar",
    "Combinations",
    "Merit",
    "Search",
    "advance",
    "agenda_grammar",
    "begin",
    "push",
    "search",
]

NOTED = 3  # numbers that :func:`note` records of a pop

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Combinations(NamedTuple):
    """The rules by their children, each with its score; the rules of a pair of children come best first."""

    left_at: Longs  # for each symbol the offset of its pairs as the left child
    right: Ints  # the right child of each pair
    right_at: Longs  # the same for right children: ``of_right`` are numbers of pairs
    of_right: Ints
    left: Ints  # the left child of each of these
    rule_at: Longs  # the offset of the rules of each pair
    parent: Ints
    score: Floats
    number: Ints  # of the rule in the grammar
    bottom_at: Longs  # for each symbol the offset of the unary rules above it
    top: Ints
    top_score: Floats
    top_number: Ints
    is_top: npt.NDArray[np.bool_]  # whether the symbol starts unary chains
    root: int


class AgendaGrammar(NamedTuple):
    """A grammar as arrays for the agenda parser."""

    weighted: Weighted
    combinations: Combinations
    of: Ints  # the class of each symbol, by which priorities are looked up
    classes: int  # the number of classes
    eligible: npt.NDArray[np.bool_]  # the symbols that cover a sentence without a parse


class Merit(NamedTuple):
    """Priorities: weight · inside score + static[span, class of the symbol], and ``chain`` unless it is a top."""

    weight: float
    chain: float  # added if a unary rule may still follow
    of: Ints  # the class of each symbol
    static: Floats  # spans × classes, flat, or empty for 0; a constituent of NEVER is dropped
    classes: int


class Search(NamedTuple):
    """The constants of parsing a sentence of n words."""

    rules: Combinations
    merit: Merit
    Δ: float  # constituents that are more than this below the best are pruned
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

    At most ``most`` constituents are popped. After the first complete parse the parser continues as long as priorities
    are above the priority of the parse minus ``margin``; −∞ stops at once, as in the paper. ``order`` receives the
    constituents in the order of their pops, with their inside scores and priorities, as far as it has space. With more
    columns than these three, it also receives back-pointers and the agenda (:func:`note_agenda`).
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
            row = order[agenda.counters[POPS]]
            note(row, item, agenda.score[item], key)
            if row.shape[0] > NOTED:
                note_agenda(row[NOTED:], agenda, item)
        advance(state, item, None)
        if item == goal:
            reached = key
    return agenda.position[goal] == IN_CHART


@in_bulk(search)
def _(loops: Any, state: Search, lexical: Lexical, words: Any, most: int, margin: float, order: Any) -> bool:
    # the same loops, over the numbers of Python: arithmetic with those of NumPy takes twice the time
    rules, agenda = Combinations(*map(_views, state.rules)), Agenda(*map(_views, state.agenda))
    merit = Merit(*map(_views, state.merit))
    found: bool = loops(state._replace(rules=rules, merit=merit, agenda=agenda), lexical, words, most, margin, order)
    return found


def _views(value: Any) -> Any:
    return memoryview(value) if isinstance(value, np.ndarray) else value


@lean
def note(row: Any, item: int, inside: float, priority: float) -> None:
    """Record a pop."""
    row[0] = np.float64(item)
    row[1] = inside
    row[2] = priority


@lean
def note_agenda(row: Any, agenda: Agenda, item: int) -> None:
    """Record how a constituent was built, and the agenda before it is popped.

    The row receives its rule and its split (−1 if there is none), the number of constituents on the agenda, and the
    first of these, in the order of their priorities: a number and a priority for each, as far as there is space.
    """
    row[0], row[1] = np.float64(agenda.rule[item]), np.float64(agenda.split[item])
    row[2] = np.float64(agenda.counters[SIZE])
    place = 0
    for k in range(3, row.shape[0], 2):
        if place >= 0:
            row[k], row[k + 1] = np.float64(agenda.heap[place]), agenda.key[place]
            place = place_after(agenda, place)


@in_bulk(note_agenda)
def _(loops: Any, row: Any, agenda: Agenda, item: int) -> None:
    row[:3] = agenda.rule[item], agenda.split[item], agenda.counters[SIZE]
    waiting, size = [(-agenda.key[0], agenda.heap[0], 0)], agenda.counters[SIZE]
    for k in range(3, row.shape[0], 2):
        if waiting:  # what comes next is below something that came before
            key, row[k], place = heapq.heappop(waiting)
            row[k + 1] = -key
            for below in range(2 * place + 1, min(2 * place + 3, size)):
                heapq.heappush(waiting, (-agenda.key[below], agenda.heap[below], below))


@lean
def begin(state: Search, lexical: Lexical, words: Any) -> None:
    """The initial state (§2.2): the tags of all words, marked as changed but not yet on the agenda."""
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
    """Add a constituent to the chart and combine it with all its neighbours there."""
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
    """Apply all rules of a pair; the best come first, so all rules after a pruned one are pruned too."""
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
    """Update the agenda with everything that the last pop changed."""
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
