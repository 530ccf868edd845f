"""Agenda parsing of a shard of sentences by the greedy policy, called from Python."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.features import (
    CHAIN,
    INSIDE,
    Packed,
    Places,
    Tables,
    look,
    mark,
    new_view,
    static_merits,
)
from treewright.constituency.agenda.queue import POPS, PRUNED, PUSHES, new_agenda
from treewright.constituency.agenda.results import score_of, write_result
from treewright.constituency.agenda.search import AgendaGrammar, Merit, Search, search
from treewright.constituency.charts.corpus import Parsed, Shard, longest, nodes_of, words_of
from treewright.constituency.charts.passes import COVERED, WHOLE
from treewright.search.compiling import kernel

__all__ = ["Limits", "Weights", "Work", "agenda_pass"]


class Weights(NamedTuple):
    """The weights of priorities, and the tables of their features."""

    θ: npt.NDArray[np.float64]  # empty for A*₀: priorities are inside scores
    tables: Tables


class Limits(NamedTuple):
    """Limits of pruning and of the number of pops."""

    Δ: float  # constituents whose score is more than this below another one over the same words are pruned
    growth: float  # above 1: a sentence without a parse is parsed again with Δ multiplied by this
    most_pops: int


class Work(NamedTuple):
    """The numbers of pops and pushes of each sentence."""

    pops: npt.NDArray[np.int64]
    pushes: npt.NDArray[np.int64]


@kernel
def agenda_pass(
    grammar: AgendaGrammar,
    packed: Packed,
    shard: Shard,
    weights: Weights,
    wants: Places,
    limits: Limits,
    parsed: Parsed,
    work: Work,
    order: Any,
) -> None:
    """Parse sentences with the priorities θ·φ, or by inside scores alone: A*₀ of §6.1.

    With ``limits.growth`` pops are added up over all attempts: IDA*₀. ``wants`` are the places of the cheating feature,
    or empty. ``order`` is that of :func:`~treewright.constituency.agenda.search.search`, for the last sentence.
    """
    θ, tables, lexical = weights.θ, weights.tables, grammar.weighted.lexical
    symbols, most = grammar.of.shape[0], longest(packed, shard.which)
    learned = θ.shape[0] > 0
    static = np.zeros(most * (most + 1) // 2 * grammar.classes if learned else 0)
    merit = Merit(θ[INSIDE] if learned else 1.0, θ[CHAIN] if learned else 0.0, grammar.of, static, grammar.classes)
    agenda = new_agenda(symbols, most)
    view = new_view(most if learned else 1, grammar.classes if wants.place.shape[0] > 0 else 0)
    for i in shard.which:
        if shard.control[0] != 0:
            break
        words = words_of(packed, i)
        n = words.shape[0]
        if learned:
            look(tables, lexical, grammar.of, packed, i, view)
            mark(wants, i, view.wanted, 1)
            static_merits(θ, tables, view, n, static)
            mark(wants, i, view.wanted, 0)
        Δ, again = limits.Δ, True
        work.pops[i], work.pushes[i], whole = 0, 0, False
        while again:
            state = Search(grammar.combinations, merit, Δ, n, agenda)
            whole = search(state, lexical, words, limits.most_pops, -np.inf, order)
            work.pops[i] += agenda.counters[POPS]
            work.pushes[i] += agenda.counters[PUSHES]
            pruned = agenda.counters[PRUNED] > 0
            again = not whole and limits.growth > 1.0 and pruned and work.pops[i] < limits.most_pops
            Δ = Δ * limits.growth if Δ > 0.0 else 1.0
        out = nodes_of(packed, parsed.nodes, i)
        parsed.filled[i] = write_result(grammar, agenda, n, whole, out)
        parsed.values[i] = score_of(grammar.weighted, words, out[: parsed.filled[i]])
        parsed.status[i] = WHOLE if whole else COVERED
        shard.control[shard.slot] += 1
