"""The agenda parser: constituents in the order of their priorities (Jiang, Teichert, Daumé III & Eisner 2012, §2).

The *agenda* is a priority queue of constituents that were built and not yet used; the *chart* has those that were. The
parser pops the constituent of the highest priority, puts it into the chart, combines it with its neighbours there, and
pushes what it gets. It stops when it pops the root over the whole sentence: the first complete parse.

* A constituent is a symbol over a span. Built again, it is merged with what is there, and the better inside score is
  kept, with the way to it. One that waits gets a new priority then. One that is in the chart already is improved where
  it is and does not come back to the agenda, so every constituent is popped at most once: **no priority whatever can
  make the parser pop more than N·n(n+1)/2 constituents**, for N symbols and n words. Where priorities never rise from
  parts to wholes (inside scores of rules that have no positive scores; exact A*), this never happens.
* With the Viterbi inside score as priority this is A* with a heuristic of 0, A*₀, and the first complete parse is a
  best one, provided that no rule has a score above 0. Tags may have such scores (a ratio of probabilities is no
  probability): where the best tag of a word has, all tags of this word are lowered by it, which is the same for all
  parses.
* A constituent is *pruned* if its inside score is worse by more than Δ than that of some other one over the same words
  (§6.1). Symbols that start unary chains and others are told apart in this, as in the beam of
  :mod:`treewright.constituency.charts.chart`.
* If the agenda is empty before there is a complete parse, or too many pops were made, the sentence is covered by as few
  constituents as possible (:data:`COVERED`).

A *push* is a constituent that was built and not pruned, also if it is merged: this is what takes the time.

Layout: span by span one number for each symbol, so that what one pair of neighbours builds is near together. For each
place in the sentence and each symbol, the set of ends (starts) of the chart's constituents that start (end) there: what
goes through the pairs of the grammar sees at once with which of them there is something to do. A constituent popped
goes through them all and only changes scores; then the agenda is told once of each constituent that changed.

Exploration
-----------
While it learns, the parser draws constituents from the agenda with probabilities proportional to exp(θ·φ/temp) (eq. 4),
without a sweep over it. Each constituent has a clock that rings after an exponential time of the rate exp(θ·φ/temp);
the first that rings is popped, which is an exact draw. Clocks have no memory, so the others need not be started anew,
and neither does it matter that they were started at different times; where a priority changes, its clock is started
anew.
The normaliser Z and Σ exp(θ·φ/temp)·φ, which give the expected features of eq. 7, are kept up to date by what is pushed
and popped. When they have shrunk so far that rounding would be seen, or when times have become too different to be
compared, all clocks are started anew and the sums are made anew, in one sweep (:func:`_restart`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.priorities import (
    DYNAMIC,
    FEATURES,
    INSIDE,
    Tables,
    View,
    look,
    mark,
    new_view,
    span_number,
    static_merits,
    write_features,
)
from treewright.constituency.charts.derivations import write_node
from treewright.constituency.charts.semirings import NEVER, POSSIBLE
from treewright.constituency.grammar.rules import Lexical, Rules
from treewright.search.bits import bit, lowest
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.hashing import uniform

__all__ = [
    "COVERED",
    "WHOLE",
    "Combinations",
    "Merit",
    "Room",
    "Sampler",
    "agenda_pass",
    "combinations_of",
    "room_bytes",
]

WHOLE, COVERED = 0, 1  # did a sentence get one tree, or pieces?
UNSEEN, IN_CHART, DROPPED = -1, -2, -3  # where a constituent is that is not on the agenda

# counters of a room
SIZE, TOUCHED, CHANGED, POPS, PUSHES, PRUNED, WORDS_COVERED = 0, 1, 2, 3, 4, 5, 6
# numbers of a sampler
TEMPERATURE, NOW, REFERENCE, TOTAL, PEAK = 0, 1, 2, 3, 4

_SHRUNK = 1e-7  # the sums are made anew when Z has become so small a part of what it was
_TOO_SOON = 1e12  # clocks are started anew when one would ring in so small a part of the time that has passed
_TOO_HIGH = 300.0  # and when a priority is so far above the one that all are measured by

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STOP_AT_ONCE = np.array([-1.0, 0.0, 0.0])
"""The halting rule of the paper: the first complete parse is returned."""


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


class Merit(NamedTuple):
    """Priorities: weight · inside score + static[span, class of the symbol] + the dynamic features' part."""

    weight: float
    of: Ints  # the class of each symbol
    static: Floats  # spans × classes, flat, or empty for 0; a constituent of NEVER is dropped
    classes: int
    dynamic: Floats  # the weights of the dynamic features, or empty


class Room(NamedTuple):
    """Chart and agenda of one thread, used again for sentence after sentence. Constituents are span · N + symbol."""

    score: Floats  # the inside score of each constituent
    rule: Ints  # the best way to build it: the rule (−1 for a word)
    split: Ints  # and where it splits (−1 for a unary rule)
    position: Ints  # its place in the heap
    stamp: Ints  # the pop that changed it last
    heap: Ints  # constituents, those of the highest keys first
    key: Floats  # of each place in the heap
    ends: npt.NDArray[np.uint64]  # words of bits × places × symbols: ends of the chart's constituents that start here
    starts: npt.NDArray[np.uint64]
    best: Floats  # for each span the best score of bottoms, then of tops
    touched: Ints  # the constituents that are not as new
    changed: Ints  # those that the current pop changed
    counters: Longs
    popped: Ints  # constituents in the chart, for each span
    covered: npt.NDArray[np.uint8]  # for each word: is it below something built?
    dynamic: Floats  # constituents × dynamic features, or empty


class Sampler(NamedTuple):
    """What exploration needs beside the agenda."""

    tables: Tables
    seen: View  # the features of the sentence
    priority: Floats  # of each constituent on the agenda, as it is counted in the sums
    counted: Floats  # its inside score there
    sums: Floats  # Σ exp((θ·φ − reference)/temp)·φ over the agenda
    φ: Floats
    numbers: Floats
    random: Longs


def combinations_of(rules: Rules, binary: npt.NDArray[Any], unary: npt.NDArray[Any]) -> Combinations:
    """The rules of a grammar with these scores, by their children."""
    symbols, pairs = len(rules.is_top), len(rules.right)
    scores = np.asarray(binary, np.float64)
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
        np.asarray(unary, np.float64)[by_bottom],
        by_bottom,
    )


@compiled
def new_room(symbols: int, n: int, dynamic: bool) -> Room:
    """Room for sentences of up to n words: see :func:`room_bytes`."""
    spans = n * (n + 1) // 2
    sets = (n // 64 + 1) * (n + 1) * symbols
    return Room(
        np.full(spans * symbols, NEVER),
        np.full(spans * symbols, -1, np.int32),
        np.full(spans * symbols, -1, np.int32),
        np.full(spans * symbols, UNSEEN, np.int32),
        np.full(spans * symbols, -1, np.int32),
        np.zeros(spans * symbols, np.int32),
        np.zeros(spans * symbols),
        np.zeros(sets, np.uint64),
        np.zeros(sets, np.uint64),
        np.full(2 * spans, NEVER),
        np.zeros(spans * symbols, np.int32),
        np.zeros(2 * n * symbols, np.int32),
        np.zeros(7, np.int64),
        np.zeros(spans, np.int32),
        np.zeros(n, np.uint8),
        np.zeros(spans * symbols * (FEATURES - DYNAMIC) if dynamic else 0),
    )


def room_bytes(symbols: int, n: int) -> int:
    """How much memory chart and agenda take, without that of dynamic features and of exploration.

    >>> room_bytes(1000, 40)
    33776000
    """
    return symbols * (40 * n * (n + 1) // 2 + 16 * (n // 64 + 1) * (n + 1) + 8 * n)


@lean
def clear(room: Room, symbols: int, n: int) -> None:
    """Make the room as new, in time proportional to what was built in it."""
    words = n // 64 + 1
    for k in range(room.counters[TOUCHED]):
        item = room.touched[k]
        room.score[item] = NEVER
        room.position[item] = UNSEEN
        room.stamp[item] = -1
        symbol, span = item % symbols, item // symbols
        start, end = ends_of(span)
        for word in range(words):
            room.ends[(word * (n + 1) + start) * symbols + symbol] = np.uint64(0)
            room.starts[(word * (n + 1) + end) * symbols + symbol] = np.uint64(0)
    for span in range(n * (n + 1) // 2):
        room.best[2 * span] = NEVER
        room.best[2 * span + 1] = NEVER
        room.popped[span] = 0
    for i in range(n):
        room.covered[i] = np.uint8(0)
    for k in range(room.counters.shape[0]):
        room.counters[k] = 0


@lean
def ends_of(span: int) -> tuple[int, int]:
    """The start and the end of a span, from its number."""
    end = np.int64((1.0 + math.sqrt(1.0 + 8.0 * np.float64(span))) / 2.0)
    if span_number(0, end) > span:
        end -= 1
    elif span_number(0, end + 1) <= span:
        end += 1
    return span - span_number(0, end), end


# ---- the heap


@lean
def _is_before(key: float, item: int, other_key: float, other: int) -> bool:
    """Is it popped before the other one? Of equal keys, the lower number comes first."""
    return key > other_key or (key == other_key and item < other)


@lean
def _sift_up(heap: Any, keys: Any, position: Any, k: int) -> Any:
    """Let a constituent rise to its place."""
    item, key = heap[k], keys[k]
    while k > 0:
        above = (k - 1) >> 1
        if not _is_before(key, item, keys[above], heap[above]):
            break
        heap[k], keys[k] = heap[above], keys[above]
        position[heap[k]] = k
        k = above
    heap[k], keys[k] = item, key
    position[item] = k
    return k


@lean
def _sift_down(heap: Any, keys: Any, position: Any, k: int, size: int) -> None:
    """Let a constituent sink to its place."""
    item, key = heap[k], keys[k]
    while 2 * k + 1 < size:
        below = 2 * k + 1
        if below + 1 < size and _is_before(keys[below + 1], heap[below + 1], keys[below], heap[below]):
            below += 1
        if not _is_before(keys[below], heap[below], key, item):
            break
        heap[k], keys[k] = heap[below], keys[below]
        position[heap[k]] = k
        k = below
    heap[k], keys[k] = item, key
    position[item] = k


@lean
def _set_key(room: Room, item: int, key: float) -> None:
    """Put a constituent on the agenda, or change its key there."""
    k = np.int64(room.position[item])
    if k < 0:
        k = room.counters[SIZE]
        room.counters[SIZE] += 1
    room.heap[k], room.key[k] = item, key
    k = _sift_up(room.heap, room.key, room.position, k)
    _sift_down(room.heap, room.key, room.position, k, room.counters[SIZE])


@lean
def remove(room: Room, item: int) -> None:
    """Take a constituent off the agenda and put it into the chart."""
    k, last = np.int64(room.position[item]), room.counters[SIZE] - 1
    room.counters[SIZE] = last
    if k != last:
        room.heap[k], room.key[k] = room.heap[last], room.key[last]
        k = _sift_up(room.heap, room.key, room.position, k)
        _sift_down(room.heap, room.key, room.position, k, last)
    room.position[item] = IN_CHART


# ---- building constituents


@lean
def begin(lexical: Lexical, words: Any, symbols: int, room: Room) -> None:
    """The initial state (§2.2): the tags of all words, changed and not yet on the agenda."""
    for i in range(words.shape[0]):
        lift = 0.0
        for entry in range(lexical.at[words[i]], lexical.at[words[i] + 1]):
            lift = max(lift, np.float64(lexical.score[entry]))
        for entry in range(lexical.at[words[i]], lexical.at[words[i] + 1]):
            item = span_number(i, i + 1) * symbols + lexical.symbol[entry]
            _offer(room, item, np.float64(lexical.score[entry]) - lift, -1, -1)


@lean
def _offer(room: Room, item: int, score: float, rule: int, split: int) -> None:
    """A constituent was built: keep the better one."""
    room.counters[PUSHES] += 1
    if score > room.score[item]:
        room.score[item], room.rule[item], room.split[item] = score, rule, split
        if room.stamp[item] != room.counters[POPS]:
            room.stamp[item] = room.counters[POPS]
            room.changed[room.counters[CHANGED]] = item
            room.counters[CHANGED] += 1


@lean
def combine(rules: Combinations, symbol: int, start: int, end: int, n: int, symbols: int, Δ: float, room: Room) -> None:
    """Put a constituent into the chart and build everything that it makes with its neighbours there."""
    own = room.score[span_number(start, end) * symbols + symbol]
    room.ends[((end // 64) * (n + 1) + start) * symbols + symbol] |= bit(end)
    room.starts[((start // 64) * (n + 1) + end) * symbols + symbol] |= bit(start)
    span = span_number(start, end)
    floor = room.best[2 * span + 1] - Δ
    for k in range(rules.bottom_at[symbol], rules.bottom_at[symbol + 1]):
        score = own + rules.top_score[k]
        if score < floor:
            room.counters[PRUNED] += 1
        else:
            _offer(room, span * symbols + rules.top[k], score, rules.top_number[k], -1)
    for pair in range(rules.left_at[symbol], rules.left_at[symbol + 1]):
        right = rules.right[pair]
        for word in range(end // 64, n // 64 + 1):
            found = room.ends[(word * (n + 1) + end) * symbols + right]
            while found != np.uint64(0):
                last = 64 * word + lowest(found)
                found &= found - np.uint64(1)
                both = own + room.score[span_number(end, last) * symbols + right]
                _apply(rules, pair, both, span_number(start, last), end, symbols, Δ, room)
    for k in range(rules.right_at[symbol], rules.right_at[symbol + 1]):
        pair, left = rules.of_right[k], rules.left[k]
        for word in range(start // 64 + 1):
            found = room.starts[(word * (n + 1) + start) * symbols + left]
            while found != np.uint64(0):
                first = 64 * word + lowest(found)
                found &= found - np.uint64(1)
                both = room.score[span_number(first, start) * symbols + left] + own
                _apply(rules, pair, both, span_number(first, end), start, symbols, Δ, room)


@lean
def _apply(
    rules: Combinations, pair: int, both: float, span: int, split: int, symbols: int, Δ: float, room: Room
) -> None:
    """All rules of a pair; since the best come first, what follows one that is pruned is pruned too."""
    counters, known = room.counters, room.score
    floor, row = room.best[2 * span] - Δ, span * symbols
    changed, pops = counters[CHANGED], counters[POPS]
    for k in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
        score = both + rules.score[k]
        if score < floor:
            counters[PRUNED] += rules.rule_at[pair + 1] - k
            break
        counters[PUSHES] += 1
        item = row + rules.parent[k]
        if score > known[item]:
            known[item], room.rule[item], room.split[item] = score, rules.number[k], split
            if room.stamp[item] != pops:
                room.stamp[item] = pops
                room.changed[changed] = item
                changed += 1
    counters[CHANGED] = changed


@lean
def push(merit: Merit, is_top: Any, n: int, Δ: float, room: Room, sampler: Any) -> None:
    """Tell the agenda of everything that the last pop changed."""
    symbols = is_top.shape[0]
    counters = room.counters
    for k in range(counters[CHANGED]):
        item = np.int64(room.changed[k])
        symbol, span = item % symbols, item // symbols
        kind = 2 * span + (1 if is_top[symbol] else 0)
        room.best[kind] = max(room.best[kind], room.score[item])
    for k in range(counters[CHANGED]):
        item = np.int64(room.changed[k])
        if room.position[item] == IN_CHART:
            continue
        symbol, span = item % symbols, item // symbols
        if room.position[item] == UNSEEN:
            room.touched[counters[TOUCHED]] = item
            counters[TOUCHED] += 1
            room.position[item] = DROPPED
        waits = room.position[item] >= 0
        if not waits and room.score[item] < room.best[2 * span + (1 if is_top[symbol] else 0)] - Δ:
            counters[PRUNED] += 1
            continue
        priority = merit.weight * room.score[item]
        if merit.static.shape[0] > 0:
            static = merit.static[span * merit.classes + merit.of[symbol]]
            if static <= POSSIBLE:
                counters[PRUNED] += 1
                continue
            priority += static
        if sampler is not None and waits:
            _count(merit, room, sampler, item, -1.0)
        if merit.dynamic.shape[0] > 0:
            priority += _look_around(merit, room, item, is_top[symbol], span, n)
        if sampler is None:
            _set_key(room, item, priority)
        else:
            _start_clock(merit, room, sampler, item, priority)
    counters[CHANGED] = 0


@lean
def _look_around(merit: Merit, room: Room, item: int, is_top: bool, span: int, n: int) -> float:
    """The dynamic features of a constituent as of now, and what they add to its priority."""
    at = item * (FEATURES - DYNAMIC)
    room.dynamic[at] = math.log(1.0 + np.float64(room.popped[span]))
    room.dynamic[at + 1] = room.best[2 * span + (1 if is_top else 0)] - room.score[item]
    room.dynamic[at + 2] = np.float64(room.counters[WORDS_COVERED]) / np.float64(n)
    total = 0.0
    for f in range(FEATURES - DYNAMIC):
        total += merit.dynamic[f] * room.dynamic[at + f]
    return total


@lean
def advance(
    rules: Combinations, is_top: Any, merit: Merit, item: int, n: int, Δ: float, room: Room, sampler: Any
) -> None:
    """T(s, a) of §2.2: pop a constituent, combine it with what is adjacent, push the results."""
    symbols = is_top.shape[0]
    symbol, span = item % symbols, item // symbols
    start, end = ends_of(span)
    remove(room, item)
    room.counters[POPS] += 1
    if room.score[item] < room.best[2 * span + (1 if is_top[symbol] else 0)] - Δ:
        room.counters[PRUNED] += 1
        return
    room.popped[span] += 1
    if end - start > 1:
        for i in range(start, end):
            if room.covered[i] == np.uint8(0):
                room.covered[i] = np.uint8(1)
                room.counters[WORDS_COVERED] += 1
    combine(rules, symbol, start, end, n, symbols, Δ, room)
    push(merit, is_top, n, Δ, room, sampler)


@lean
def note(place: Any, item: int, inside: float, priority: float) -> None:
    """Write down what is popped."""
    place[0] = np.float64(item)
    place[1] = inside
    place[2] = priority


@lean
def search(
    rules: Combinations,
    is_top: Any,
    root: int,
    lexical: Lexical,
    words: Any,
    merit: Merit,
    Δ: float,
    most: int,
    halting: Any,
    room: Room,
    order: Any,
) -> bool:
    """Parse a sentence by the greedy policy of eq. 2; returns whether there is a complete parse.

    At most ``most`` constituents are popped. When the first complete parse is popped, the parser goes on as long as
    ``halting``·(1, ratio, gap) is above 0: the ratio is that of all pops to those that led to the parse, and the gap is
    how much the highest priority on the agenda is above that of the parse, which may still improve. ``order`` gets the
    first constituents popped, as many as it has room for, with their inside scores and priorities.
    """
    n, symbols = words.shape[0], is_top.shape[0]
    clear(room, symbols, n)
    begin(lexical, words, symbols, room)
    push(merit, is_top, n, Δ, room, None)
    goal = span_number(0, n) * symbols + root
    reached, pops = 0.0, 1.0
    while room.counters[SIZE] > 0 and room.counters[POPS] < most:
        item, key = np.int64(room.heap[0]), room.key[0]
        complete = room.position[goal] == IN_CHART
        ratio = np.float64(room.counters[POPS]) / pops
        if complete and halting[0] + halting[1] * ratio + halting[2] * (key - reached) <= 0.0:
            break
        if room.counters[POPS] < order.shape[0]:
            note(order[room.counters[POPS]], item, room.score[item], key)
        advance(rules, is_top, merit, item, n, Δ, room, None)
        if item == goal:
            reached, pops = key, np.float64(room.counters[POPS])
    return room.position[goal] == IN_CHART


# ---- exploration


@lean
def _start_clock(merit: Merit, room: Room, sampler: Sampler, item: int, priority: float) -> None:
    """Put a constituent on the agenda, with a clock that rings at a rate of exp(priority/temp)."""
    numbers = sampler.numbers
    sampler.priority[item], sampler.counted[item] = priority, room.score[item]
    height = (priority - numbers[REFERENCE]) / numbers[TEMPERATURE]
    if height > _TOO_HIGH or (height > 0.0 and math.exp(height) * numbers[NOW] > _TOO_SOON):
        numbers[TOTAL] = np.nan
        _set_key(room, item, 0.0)
    else:
        _count(merit, room, sampler, item, 1.0)
        _set_key(room, item, math.log(uniform(sampler.random)) * math.exp(min(-height, 700.0)) - numbers[NOW])


@lean
def _count(merit: Merit, room: Room, sampler: Sampler, item: int, sign: float) -> None:
    """Add a constituent to Z and to Σ exp(θ·φ/temp)·φ, or take it away."""
    numbers, sums, φ = sampler.numbers, sampler.sums, sampler.φ
    height = (sampler.priority[item] - numbers[REFERENCE]) / numbers[TEMPERATURE]
    amount = sign * math.exp(height)
    features_of(merit, room, sampler, item)
    for f in range(FEATURES):
        sums[f] += amount * φ[f]
    numbers[TOTAL] += amount
    numbers[PEAK] = max(numbers[PEAK], numbers[TOTAL])


@lean
def features_of(merit: Merit, room: Room, sampler: Sampler, item: int) -> None:
    """φ of a constituent on the agenda, with the inside score that it is counted by."""
    symbols = merit.of.shape[0]
    symbol, span = item % symbols, item // symbols
    start, end = ends_of(span)
    inside, at = sampler.counted[item], item * (FEATURES - DYNAMIC)
    write_features(sampler.tables, sampler.seen, merit.of[symbol], start, end, inside, room.dynamic, at, sampler.φ)


@lean
def _restart(merit: Merit, room: Room, sampler: Sampler) -> None:
    """Start all clocks anew, which have no memory, and make the sums anew, measured by the highest priority."""
    numbers, size = sampler.numbers, room.counters[SIZE]
    highest = -np.inf
    for k in range(size):
        highest = max(highest, sampler.priority[room.heap[k]])
    numbers[NOW], numbers[REFERENCE], numbers[TOTAL], numbers[PEAK] = 0.0, highest, 0.0, 0.0
    for f in range(FEATURES):
        sampler.sums[f] = 0.0
    for k in range(size):
        item = room.heap[k]
        _count(merit, room, sampler, item, 1.0)
        height = (sampler.priority[item] - highest) / numbers[TEMPERATURE]
        room.key[k] = math.log(uniform(sampler.random)) * math.exp(min(-height, 700.0))
    for k in range(size // 2 - 1, -1, -1):
        _sift_down(room.heap, room.key, room.position, k, size)


@lean
def begin_exploring(
    is_top: Any,
    lexical: Lexical,
    words: Any,
    merit: Merit,
    Δ: float,
    temperature: float,
    room: Room,
    sampler: Sampler,
) -> None:
    """The initial state; its clocks will be started by :func:`trust_sums`."""
    clear(room, is_top.shape[0], words.shape[0])
    numbers = sampler.numbers
    numbers[TEMPERATURE], numbers[NOW], numbers[REFERENCE], numbers[TOTAL] = temperature, 0.0, 0.0, np.nan
    begin(lexical, words, is_top.shape[0], room)
    push(merit, is_top, words.shape[0], Δ, room, sampler)


@lean
def trust_sums(merit: Merit, room: Room, sampler: Sampler) -> None:
    """See, before an action is chosen, that the sums and clocks can be trusted. Z is not a number where they cannot."""
    if not sampler.numbers[TOTAL] > _SHRUNK * sampler.numbers[PEAK]:
        _restart(merit, room, sampler)


@lean
def draw(room: Room, sampler: Sampler) -> Any:
    """An action by eq. 4: the constituent whose clock rings first. It is still on the agenda."""
    sampler.numbers[NOW] = max(sampler.numbers[NOW], -room.key[0])
    return np.int64(room.heap[0])


@lean
def forget(merit: Merit, room: Room, sampler: Sampler, item: int) -> None:
    """A constituent leaves the agenda: take it out of the sums."""
    _count(merit, room, sampler, item, -1.0)


# ---- results


@compiled
def write_tree(rules: Rules, room: Room, item: int, nodes: Any, filled: int) -> int:
    """The derivation of a constituent, behind the ``filled`` nodes; returns their new number."""
    symbols = rules.is_top.shape[0]
    stack = np.empty(nodes.shape[0] + 2, np.int64)
    stack[0] = item
    height = 1
    while height > 0:
        height -= 1
        item = stack[height]
        symbol, span = item % symbols, item // symbols
        start, end = ends_of(span)
        above = -1
        if rules.is_top[symbol]:
            above = room.rule[item]
            symbol = np.int64(rules.unary[above, 1])
            item = span * symbols + symbol
        below = room.rule[item]
        if below >= 0:
            split = room.split[item]
            stack[height] = span_number(split, end) * symbols + rules.binary[below, 2]
            stack[height + 1] = span_number(start, split) * symbols + rules.binary[below, 1]
            height += 2
        write_node(nodes, filled, symbol, above, below, start, end)
        filled += 1
    return filled


@lean
def score_of(lexical: Lexical, words: Any, nodes: Any, binary: Any, unary: Any) -> float:
    """The score of a derivation: of its rules, and of its tags."""
    total = 0.0
    for k in range(nodes.shape[0]):
        if nodes[k, 1] >= 0:
            total += np.float64(unary[nodes[k, 1]])
        if nodes[k, 2] >= 0:
            total += np.float64(binary[nodes[k, 2]])
        else:
            word = words[nodes[k, 3]]
            for entry in range(lexical.at[word], lexical.at[word + 1]):
                if lexical.symbol[entry] == nodes[k, 0]:
                    total += np.float64(lexical.score[entry])
    return total


@compiled
def cover(room: Room, n: int, eligible: Any, pieces: Any) -> int:
    """The fewest constituents, and among these the best, that cover the words; those on the agenda count too.

    ``pieces`` gets them from left to right; returns their number, 0 if some word has no tag. Only ``eligible`` symbols
    are used.
    """
    symbols = eligible.shape[0]
    fewest, total, back = np.full(n + 1, n + 1), np.full(n + 1, NEVER), np.full(n + 1, -1, np.int64)
    fewest[0], total[0] = 0, 0.0
    for end in range(1, n + 1):
        for start in range(end):
            if fewest[start] > n:
                continue
            row = span_number(start, end) * symbols
            for symbol in range(symbols):
                score = room.score[row + symbol]
                if score > POSSIBLE and eligible[symbol]:
                    count, score = fewest[start] + 1, total[start] + score
                    if count < fewest[end] or (count == fewest[end] and score > total[end]):
                        fewest[end], total[end], back[end] = count, score, row + symbol
    if fewest[n] > n:
        return 0
    end = n
    for k in range(fewest[n] - 1, -1, -1):
        pieces[k] = back[end]
        end, _ = ends_of(back[end] // symbols)
    return fewest[n]


@compiled
def write_result(rules: Rules, room: Room, n: int, whole: bool, eligible: Any, nodes: Any) -> int:
    """The derivation of the parse, or those of the pieces that cover the sentence; returns the number of nodes."""
    if whole:
        return write_tree(rules, room, span_number(0, n) * rules.is_top.shape[0] + rules.root, nodes, 0)
    pieces = np.empty(n, np.int64)
    filled = 0
    for k in range(cover(room, n, eligible, pieces)):
        filled = write_tree(rules, room, pieces[k], nodes, filled)
    return filled


@compiled
def longest_of(at: Any, which: Any) -> int:
    """The length of the longest sentence."""
    most = 1
    for i in which:
        most = max(most, at[i + 1] - at[i])
    return most


@kernel
def agenda_pass(
    rules: Rules,
    combinations: Combinations,
    binary: Any,
    unary: Any,
    lexical: Lexical,
    words: Any,
    at: Any,
    which: Any,
    θ: Any,
    of: Any,
    tables: Tables,
    kinds: Any,
    marks: Any,
    wants: Any,
    wants_at: Any,
    Δ: float,
    growth: float,
    most: int,
    halting: Any,
    eligible: Any,
    nodes: Any,
    filled: Any,
    values: Any,
    status: Any,
    pops: Any,
    pushes: Any,
    order: Any,
    control: Any,
    slot: int,
) -> None:
    """Parse sentences with the priorities θ·φ, or, if θ is empty, by inside scores alone: A*₀ of §6.1.

    With ``growth`` above 1, a sentence that has no parse because something was pruned is tried again with a Δ that is
    so many times larger, and pops are cumulated: IDA*₀. ``wants`` are the places of the cheating feature, or nothing.
    ``nodes`` has 2n − 1 rows for each sentence. ``order`` is as for :func:`search`, and of the last one.
    """
    symbols, n_most = rules.is_top.shape[0], longest_of(at, which)
    learned = θ.shape[0] > 0
    classes = tables.tag.shape[0]
    dynamic = θ[DYNAMIC:].copy() if learned and np.any(θ[DYNAMIC:] != 0.0) else np.zeros(0)
    static = np.zeros(n_most * (n_most + 1) // 2 * classes if learned else 0)
    merit = Merit(θ[INSIDE] if learned else 1.0, of, static, classes, dynamic)
    room, view = (
        new_room(symbols, n_most, dynamic.shape[0] > 0),
        new_view(n_most if learned else 1, classes if wants.shape[0] > 0 else 0),
    )
    for i in which:
        if control[0] != 0:
            break
        sentence, n = words[at[i] : at[i + 1]], at[i + 1] - at[i]
        if learned:
            look(tables, lexical, of, sentence, kinds[at[i] : at[i + 1]], marks[at[i] : at[i + 1]], view)
            mark(wants[wants_at[i] : wants_at[i + 1]], view.wanted, 1)
            static_merits(θ, tables, view, n, static)
            mark(wants[wants_at[i] : wants_at[i + 1]], view.wanted, 0)
        margin, again = Δ, True
        pops[i], pushes[i], whole = 0, 0, False
        while again:
            whole = search(
                combinations, rules.is_top, rules.root, lexical, sentence, merit, margin, most, halting, room, order
            )
            pops[i] += room.counters[POPS]
            pushes[i] += room.counters[PUSHES]
            again = not whole and growth > 1.0 and room.counters[PRUNED] > 0 and pops[i] < most
            margin = margin * growth if margin > 0.0 else 1.0
        out = nodes[2 * at[i] - i : 2 * at[i + 1] - (i + 1)]
        filled[i] = write_result(rules, room, n, whole, eligible, out)
        values[i] = score_of(lexical, sentence, out[: filled[i]], binary, unary)
        status[i] = WHOLE if whole else COVERED
        control[slot] += 1
