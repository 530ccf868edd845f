"""A* for the agenda parser: upper bounds of outside scores (Klein & Manning 2003).

If the priority of a constituent is its inside score plus an upper bound of its *outside* score, the best score of the
rest of a parse around it, the first complete parse popped is a best one, and the tighter the bound the fewer
constituents are popped. Here bounds are outside scores of simpler problems:

* *Context summaries* (:func:`context_summaries`): the best outside score over all sentences with the same numbers of
  words to the left and to the right of the constituent. This is the estimate SX; it depends on the grammar alone.
* *Grammar projections* (:func:`projected`): symbols are grouped into classes, and a rule of classes has the best score
  of the rules that it represents. So no parse has a lower score in the coarser grammar, and its outside scores for the
  same words are bounds.
* *Hierarchical A\\** (:class:`HierarchicalAStar`; Felzenszwalb & McAllester 2007, Pauls & Klein 2009): a chain of such
  projections, from the coarsest to the grammar itself; the outside scores of each are the heuristic of the next. With
  one projection this is A* with a projected grammar. There are two ways to prune, both at each level. ``max_gap`` is
  the threshold Δ of Jiang et al. (2012, §6.1): a constituent is pruned if its inside score is worse by more than Δ than
  that of another one over the same words. ``margin`` compares whole parses: the agenda of a coarser level is processed
  until all parses whose score is within the margin of the best one are found, and constituents in none of these are
  pruned from the next level.

The levels run in sequence, each to its threshold, and are not interleaved on demand as in Pauls and Klein. Pops of all
levels count, and so do the outside scores that are passed on.

At all levels the scores of tags are lowered to at most 0, word by word (:func:`lowered`). Rules may have scores
above 0: the bounds count them, and the coarsest level of a chain has the bound of
:meth:`~treewright.constituency.agenda.parser.AgendaParser.a_star`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.passes import Work
from treewright.constituency.agenda.queue import IN_CHART, POPS, PUSHES, Agenda, new_agenda
from treewright.constituency.agenda.results import score_of, write_result
from treewright.constituency.agenda.search import AgendaGrammar, Merit, Search, agenda_grammar, search
from treewright.constituency.charts.corpus import (
    Parsed,
    Sentences,
    Shard,
    longest,
    new_parsed,
    nodes_of,
    words_of,
)
from treewright.constituency.charts.passes import COVERED, WHOLE
from treewright.constituency.charts.semirings import NEVER, POSSIBLE
from treewright.constituency.charts.spans import span_of
from treewright.constituency.grammar.binarisation import TOP
from treewright.constituency.grammar.pcfg import Grammar
from treewright.constituency.grammar.rules import Lexical, Weighted
from treewright.errors import ConfigError
from treewright.search.bulk import ranges
from treewright.search.compiling import compiled, in_bulk, kernel
from treewright.search.running import run_shards

__all__ = ["ContextAStar", "Found", "HierarchicalAStar", "context_summaries", "lowered", "projected"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_AT_A_TIME = 16  # sentences whose tables are in memory at a time
NO_LIMIT = 1 << 62  # of pops


def lowered(lexical: Lexical) -> tuple[Lexical, Floats]:
    """The lexicon with no score above 0, and the amount by which each row was lowered."""
    row = np.repeat(np.arange(len(lexical.at) - 1), np.diff(lexical.at))
    lift = np.zeros(len(lexical.at) - 1)
    np.maximum.at(lift, row, lexical.score.astype(np.float64))
    return Lexical(lexical.at, lexical.symbol, (lexical.score - lift[row]).astype(np.float32)), lift


def projected(grammar: Grammar, lexical: Lexical, of: Ints) -> tuple[Grammar, Lexical]:
    """The grammar of classes of symbols, where ``of`` is the class of each; no parse has a lower score under it.

    Classes are numbered from 0. They are named by their numbers, except for the class of the root.
    """
    cut = len(grammar.binary)
    (binary, two), (unary, one) = (
        _best_of(of[rules], weights)
        for rules, weights in (
            (grammar.binary[:, [1, 2, 0]], grammar.weights[:cut]),
            (grammar.unary, grammar.weights[cut:]),
        )
    )
    names = [str(k) for k in range(int(of.max()) + 1)]
    names[of[grammar.rules.root]] = TOP
    weights = np.concatenate([two, one])
    middles: list[tuple[str, ...]] = [()] * len(unary)
    coarse = Grammar(names, binary[:, [2, 0, 1]], unary, middles, weights, np.zeros(len(weights)))
    return coarse, Lexical(lexical.at, of[lexical.symbol], lexical.score)


def _best_of(rules: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """Merge equal rules, with the best of their weights, in order."""
    unique, which = np.unique(rules, axis=0, return_inverse=True)
    best = np.full(len(unique), -np.inf)
    np.maximum.at(best, which.ravel(), weights)
    return unique.astype(np.int32), best


# ---- kernels


class Bounds(NamedTuple):
    """Heuristics for the sentences of a shard: bounds of outside scores, spans × classes for each."""

    values: Floats
    at: Longs  # the offset of each sentence, and the end of the last


@kernel
def context_pass(grammar: Weighted, tags: Any, n: int) -> Any:
    """Outside scores by context, (words to the left × (n + 1) + words to the right) × symbols: see SX above.

    ``tags`` are the best scores that symbols can have over a word.
    """
    rules, symbols, size = grammar.rules, grammar.rules.is_top.shape[0], n + 1
    inside = np.full((size, symbols), NEVER)  # the best of any words, by their number
    for width in range(1, size):
        if width == 1:
            inside[1] = tags
        for rule in range(rules.binary.shape[0]):
            parent, left, right = rules.binary[rule, 0], rules.binary[rule, 1], rules.binary[rule, 2]
            for split in range(1, width):
                both = inside[split, left] + inside[width - split, right] + np.float64(grammar.binary[rule])
                inside[width, parent] = max(inside[width, parent], both)
        for rule in range(rules.unary.shape[0]):
            top, bottom = rules.unary[rule, 0], rules.unary[rule, 1]
            inside[width, top] = max(inside[width, top], inside[width, bottom] + np.float64(grammar.unary[rule]))
    outside = np.full((size * size, symbols), NEVER)
    outside[0, rules.root] = 0.0
    for total in range(size):
        for before in range(total + 1):
            after = total - before
            here = outside[before * size + after]
            for rule in range(rules.binary.shape[0]):
                parent, left, right = rules.binary[rule, 0], rules.binary[rule, 1], rules.binary[rule, 2]
                score = np.float64(grammar.binary[rule])
                for width in range(1, after + 1):
                    around = outside[before * size + after - width, parent] + score + inside[width, right]
                    here[left] = max(here[left], around)
                for width in range(1, before + 1):
                    around = outside[(before - width) * size + after, parent] + score + inside[width, left]
                    here[right] = max(here[right], around)
            for rule in range(rules.unary.shape[0]):
                top, bottom = rules.unary[rule, 0], rules.unary[rule, 1]
                here[bottom] = max(here[bottom], here[top] + np.float64(grammar.unary[rule]))
    return outside


@compiled
def outside_of_chart(grammar: Weighted, agenda: Agenda, n: int, out: Any) -> int:
    """The outside scores of constituents, spans × symbols; returns the number of those in a complete parse."""
    rules, symbols = grammar.rules, grammar.rules.is_top.shape[0]
    for k in range(n * (n + 1) // 2 * symbols):
        out[k] = NEVER
    out[span_of(0, n) * symbols + rules.root] = 0.0
    found = 0
    for width in range(n, 0, -1):
        for start in range(n - width + 1):
            row = span_of(start, start + width) * symbols
            for kind in range(2):  # first the symbols that start chains
                for symbol in range(symbols):
                    above = out[row + symbol]
                    if above <= POSSIBLE or rules.is_top[symbol] != (kind == 0):
                        continue
                    found += 1
                    for entry in range(rules.of_top_at[symbol], rules.of_top_at[symbol + 1]):
                        rule = rules.of_top[entry]
                        below = row + rules.unary[rule, 1]
                        if agenda.position[below] == IN_CHART:
                            out[below] = max(out[below], above + np.float64(grammar.unary[rule]))
                    for entry in range(rules.of_parent_at[symbol], rules.of_parent_at[symbol + 1]):
                        rule = rules.of_parent[entry]
                        for split in range(start + 1, start + width):
                            left = span_of(start, split) * symbols + rules.binary[rule, 1]
                            right = span_of(split, start + width) * symbols + rules.binary[rule, 2]
                            if agenda.position[left] == IN_CHART and agenda.position[right] == IN_CHART:
                                around = above + np.float64(grammar.binary[rule])
                                out[left] = max(out[left], around + agenda.score[right])
                                out[right] = max(out[right], around + agenda.score[left])
    return found


@in_bulk(outside_of_chart)
def _(loops: Any, grammar: Weighted, agenda: Agenda, n: int, out: Any) -> int:
    rules, symbols, found = grammar.rules, len(grammar.rules.is_top), 0
    out[: n * (n + 1) // 2 * symbols] = NEVER
    out[span_of(0, n) * symbols + rules.root] = 0.0
    for width in range(n, 0, -1):
        for start in range(n - width + 1):
            row = span_of(start, start + width) * symbols
            splits = np.arange(start + 1, start + width)
            at_left, at_right = span_of(start, splits) * symbols, span_of(splits, start + width) * symbols
            for tops in (True, False):
                some = np.flatnonzero((out[row : row + symbols] > POSSIBLE) & (rules.is_top == tops))
                found += len(some)
                above = out[row + some]
                entry, of = ranges(rules.of_top_at[some], rules.of_top_at[some + 1])
                rule = rules.of_top[entry]
                below, around = row + rules.unary[rule, 1], above[of] + grammar.unary[rule].astype(np.float64)
                here = agenda.position[below] == IN_CHART
                np.maximum.at(out, below[here], around[here])
                entry, of = ranges(rules.of_parent_at[some], rules.of_parent_at[some + 1])
                rule = rules.of_parent[entry]
                around = above[of] + grammar.binary[rule].astype(np.float64)
                left, right = at_left + rules.binary[rule, 1:2], at_right + rules.binary[rule, 2:3]
                both = (agenda.position[left] == IN_CHART) & (agenda.position[right] == IN_CHART)
                left, right, around = left[both], right[both], around[np.nonzero(both)[0]]
                np.maximum.at(out, left, around + agenda.score[right])
                np.maximum.at(out, right, around + agenda.score[left])
    return found


@kernel
def level_pass(
    level: AgendaGrammar,
    sentences: Sentences,
    shard: Shard,
    bounds: Bounds,
    margin: float,
    max_gap: float,
    out: Bounds,
    parsed: Parsed,
    work: Work,
) -> None:
    """One level: A* with the heuristic ``bounds``, by the classes of the level's symbols.

    Unless ``out`` is empty it receives the outside scores, the heuristic of the next level: 0 if this level has no
    parse, because then the next level has none either, or has no heuristic because of ``max_gap``. Otherwise this is
    the last level, and parses are written. ``margin`` is an argument of
    :func:`~treewright.constituency.agenda.search.search`.
    """
    grammar, nothing = level.weighted, np.zeros((0, 3))
    agenda = new_agenda(level.of.shape[0], longest(sentences, shard.which))
    for k in range(shard.which.shape[0]):
        if shard.control[0] != 0:
            break
        i = shard.which[k]
        words = words_of(sentences, i)
        n = words.shape[0]
        merit = Merit(1.0, 0.0, level.of, bounds.values[bounds.at[k] : bounds.at[k + 1]], level.classes)
        state = Search(level.combinations, merit, max_gap, n, agenda)
        whole = search(state, grammar.lexical, words, NO_LIMIT, margin, nothing)
        work.pops[i] += agenda.counters[POPS]
        work.pushes[i] += agenda.counters[PUSHES]
        if out.values.shape[0] > 0:
            part = out.values[out.at[k] : out.at[k + 1]]
            if whole:
                work.pops[i] += outside_of_chart(grammar, agenda, n, part)
            else:
                part[:] = 0.0
        else:
            nodes = nodes_of(sentences, parsed.nodes, i)
            parsed.filled[i] = write_result(level, agenda, n, whole, nodes)
            parsed.values[i] = score_of(grammar, words, nodes[: parsed.filled[i]])
            parsed.status[i] = WHOLE if whole else COVERED
            shard.control[shard.slot] += 1


# ---- searches


class Found(NamedTuple):
    """The results of an A* search for each sentence."""

    derivations: list[Ints]
    scores: Floats
    whole: npt.NDArray[np.bool_]
    pops: Longs  # levels × sentences, the coarsest level first
    pushes: Longs


@dataclass(frozen=True, eq=False)
class HierarchicalAStar:
    """A* with a chain of projections of the grammar.

    ``maps[0]`` has the class of each symbol of the grammar, ``maps[1]`` the coarser class of each of these classes, and
    so on; the hierarchy of a latent-variable grammar gives them. ``max_gap`` and ``margin`` prune, see above.
    """

    grammar: Grammar
    lexical: Lexical
    maps: Sequence[Ints]
    max_gap: float = np.inf
    margin: float = np.inf

    def __post_init__(self) -> None:
        for name in ("max_gap", "margin"):
            if not getattr(self, name) >= 0.0:
                raise ConfigError(f"must be 0 or more, not {getattr(self, name)!r}", setting=name)
        sizes = [len(self.grammar.symbols), *(int(np.max(each)) + 1 for each in self.maps)]
        for k, (each, size) in enumerate(zip(self.maps, sizes, strict=False)):
            if len(each) != size:
                raise ConfigError(f"map {k} has classes for {len(each)} symbols, and there are {size}")

    @cached_property
    def levels(self) -> list[AgendaGrammar]:
        """The grammars, the coarsest first, each with the coarser class of each of its symbols."""
        lexical, _ = self._lowered
        levels, grammar = [], self.grammar
        for up in self.maps:
            up = np.asarray(up, np.int32)
            levels.append(agenda_grammar(grammar.weighted(lexical), up, int(up.max()) + 1, grammar.is_whole))
            grammar, lexical = projected(grammar, lexical, up)
        no_tops = (~grammar.rules.is_top).astype(np.int32)
        levels.append(agenda_grammar(grammar.weighted(lexical), no_tops, 2, grammar.is_whole))
        return levels[::-1]

    @cached_property
    def _lowered(self) -> tuple[Lexical, Floats]:
        return lowered(self.lexical)

    def parse(self, sentences: Sequence[Ints], *, jobs: int = 1) -> Found:
        """The parses of sentences, which are given as rows of the lexicon."""
        return _parse(self.levels, self._lowered[1], sentences, None, (self.margin, self.max_gap), jobs)


@dataclass(frozen=True, eq=False)
class ContextAStar:
    """A* with context summaries, for sentences of up to ``most_words`` words."""

    grammar: Grammar
    lexical: Lexical
    most_words: int = 40

    @cached_property
    def summaries(self) -> Floats:
        """The estimates: words to the left × words to the right × symbols."""
        return context_summaries(self.grammar, self._lowered[0], self.most_words)

    @cached_property
    def _lowered(self) -> tuple[Lexical, Floats]:
        return lowered(self.lexical)

    @cached_property
    def _level(self) -> AgendaGrammar:
        symbols, weighted = len(self.grammar.symbols), self.grammar.weighted(self._lowered[0])
        return agenda_grammar(weighted, np.arange(symbols, dtype=np.int32), symbols, self.grammar.is_whole)

    def parse(self, sentences: Sequence[Ints], *, jobs: int = 1) -> Found:
        """The parses of sentences, which are given as rows of the lexicon."""
        if sentences and max(map(len, sentences)) > self.most_words:
            raise ConfigError(f"there are estimates for up to {self.most_words} words only: set most_words higher")
        return _parse([self._level], self._lowered[1], sentences, self.summaries, (np.inf, np.inf), jobs)


def context_summaries(grammar: Grammar, lexical: Lexical, n: int) -> Floats:
    """SX of Klein & Manning: outside scores by words to the left, words to the right and symbol, for up to n words.

    Time and memory grow with the cube and the square of n.
    """
    tags = np.full(len(grammar.symbols), NEVER)
    np.maximum.at(tags, lexical.symbol, lexical.score.astype(np.float64))
    found = context_pass(grammar.weighted(lexical), tags, int(n))
    return np.asarray(found).reshape(n + 1, n + 1, len(grammar.symbols))


def _parse(
    levels: Sequence[AgendaGrammar],
    lift: Floats,
    sentences: Sequence[Ints],
    summaries: Floats | None,
    pruning: tuple[float, float],
    jobs: int,
) -> Found:
    """Work through the levels, some sentences at a time; ``pruning`` is the margin and Δ."""
    n = len(sentences)
    at = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    corpus = Sentences(np.concatenate([np.zeros(0, np.int32), *sentences]).astype(np.int32), at)
    parsed, (pops, pushes) = new_parsed(at), np.zeros((2, len(levels), n), np.int64)
    widths = np.diff(at)

    def work(first: int, last: int, control: Longs, slot: int) -> None:
        for begin in range(first, last, _AT_A_TIME):
            which = np.arange(begin, min(begin + _AT_A_TIME, last))
            spans = widths[which] * (widths[which] + 1) // 2
            given = [
                _rule_table(levels[0], int(n)) if summaries is None else _context_table(summaries, int(n))
                for n in widths[which]
            ]
            bounds = Bounds(np.concatenate(given), np.cumsum([0, *map(len, given)]))
            for k, level in enumerate(levels):
                is_last = k == len(levels) - 1
                out_at = np.cumsum([0, *(spans * len(level.of))])
                out = Bounds(np.zeros(0 if is_last else int(out_at[-1])), out_at)
                margin, max_gap = -np.inf if is_last else float(pruning[0]), float(pruning[1])
                shard, done = Shard(which, control, slot), Work(pops[k], pushes[k])
                level_pass(level, corpus, shard, bounds, margin, max_gap, out, parsed, done)
                bounds = out

    run_shards(work, n, jobs=jobs)
    raised = np.array([lift[rows].sum() for rows in sentences])
    return Found(parsed.derivations(at), parsed.values + raised, parsed.status == WHOLE, pops, pushes)


def _context_table(summaries: Floats, n: int) -> Floats:
    """The estimates for the spans of a sentence, in their order."""
    start, end = _spans(n)
    return summaries[start, n - end].ravel()


def _rule_table(level: AgendaGrammar, n: int) -> Floats:
    """The maximum score of the rules outside a constituent, for spans × (tops, others); 0 if no rule is above 0."""
    start, end = _spans(n)
    b, u = (float(scores.max(initial=0.0)) for scores in (level.weighted.binary, level.weighted.unary))
    return np.asarray((n - (end - start))[:, None] * (b + 2.0 * u) + np.array([0.0, u])).ravel()


def _spans(n: int) -> tuple[Longs, Longs]:
    """The starts and the ends of the spans of n words, in their order."""
    end = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    return np.arange(len(end)) - end * (end - 1) // 2, end
