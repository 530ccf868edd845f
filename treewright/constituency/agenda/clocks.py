"""Exploration: pops drawn with probabilities proportional to exp(θ·φ/temp) (Jiang et al. 2012, eq. 4).

This needs no pass over the agenda. Each constituent has a clock that rings after an exponentially distributed time with
the rate exp(θ·φ/temp); the constituent whose clock rings first is popped, which is an exact draw. Exponential times are
memoryless, so the other clocks need not be restarted, and may have been started at different times. When a priority
changes, its clock is restarted.

The normaliser Z and Σ exp(θ·φ/temp)·φ, which give the expected features of eq. 7, are updated with each push and pop.
When they have become so small that rounding errors matter, or when times have become too different to be compared, one
pass restarts all clocks and recomputes the sums (:func:`trust_sums`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.agenda.features import FEATURES, Tables, View, new_view, write_features
from treewright.constituency.agenda.queue import SIZE, Agenda, restore_heap, set_key
from treewright.constituency.charts.spans import ends_of
from treewright.search.compiling import compiled, lean
from treewright.search.hashing import uniform

__all__ = ["Sampler", "count", "draw", "features_of", "new_sampler", "reset_clocks", "start_clock", "trust_sums"]

Floats = npt.NDArray[np.float64]

TEMPERATURE, NOW, REFERENCE, TOTAL, PEAK = 0, 1, 2, 3, 4  # numbers of a sampler

_SHRUNK = 1e-7  # the sums are recomputed when Z is less than this part of its peak
_TOO_SOON = 1e12  # clocks are restarted when one would ring within 1/1e12 of the elapsed time
_TOO_HIGH = 300.0  # and when a priority is this far above the reference


class Sampler(NamedTuple):
    """The state of exploration besides the agenda."""

    tables: Tables
    seen: View  # the features of the sentence
    of: npt.NDArray[np.int32]  # the class of each symbol
    is_top: npt.NDArray[np.bool_]  # whether the symbol starts unary chains
    priority: Floats  # of each constituent on the agenda, as included in the sums
    counted: Floats  # its inside score in the sums
    sums: Floats  # Σ exp((θ·φ − reference)/temp)·φ over the agenda
    φ: Floats
    numbers: Floats
    random: npt.NDArray[np.int64]


@compiled
def new_sampler(tables: Tables, of: Any, is_top: Any, n: int, wanted: int) -> Sampler:
    """A sampler for sentences of up to n words; ``wanted`` as of :func:`new_view`."""
    items = n * (n + 1) // 2 * of.shape[0]
    view = new_view(n, wanted)
    sums, φ, numbers, random = np.zeros(FEATURES), np.zeros(FEATURES), np.zeros(5), np.zeros(2, np.int64)
    return Sampler(tables, view, of, is_top, np.zeros(items), np.zeros(items), sums, φ, numbers, random)


@lean
def reset_clocks(sampler: Sampler, temperature: float) -> None:
    """Reset all clocks and sums, before the first push of a sentence."""
    numbers = sampler.numbers
    numbers[TEMPERATURE], numbers[NOW], numbers[REFERENCE], numbers[TOTAL] = temperature, 0.0, 0.0, np.nan


@lean
def start_clock(agenda: Agenda, sampler: Sampler, item: int, priority: float) -> None:
    """Put a constituent on the agenda, with a clock that rings at a rate of exp(priority/temp)."""
    numbers = sampler.numbers
    sampler.priority[item], sampler.counted[item] = priority, agenda.score[item]
    height = (priority - numbers[REFERENCE]) / numbers[TEMPERATURE]
    if height > _TOO_HIGH or (height > 0.0 and math.exp(height) * numbers[NOW] > _TOO_SOON):
        numbers[TOTAL] = np.nan
        set_key(agenda, item, 0.0)
    else:
        count(sampler, item, 1.0)
        set_key(agenda, item, math.log(uniform(sampler.random)) * math.exp(min(-height, 700.0)) - numbers[NOW])


@lean
def count(sampler: Sampler, item: int, sign: float) -> None:
    """Add a constituent to Z and to Σ exp(θ·φ/temp)·φ, or remove it."""
    numbers, sums, φ = sampler.numbers, sampler.sums, sampler.φ
    height = (sampler.priority[item] - numbers[REFERENCE]) / numbers[TEMPERATURE]
    amount = sign * math.exp(height)
    features_of(sampler, item)
    for f in range(FEATURES):
        sums[f] += amount * φ[f]
    numbers[TOTAL] += amount
    numbers[PEAK] = max(numbers[PEAK], numbers[TOTAL])


@lean
def features_of(sampler: Sampler, item: int) -> None:
    """φ of a constituent on the agenda, with the inside score that is in the sums."""
    symbols = sampler.of.shape[0]
    start, end = ends_of(item // symbols)
    of, is_top = sampler.of[item % symbols], sampler.is_top[item % symbols]
    write_features(sampler.tables, sampler.seen, of, is_top, start, end, sampler.counted[item], sampler.φ)


@lean
def trust_sums(agenda: Agenda, sampler: Sampler) -> None:
    """Make sure, before an action is chosen, that sums and clocks are accurate. If they cannot be, Z becomes NaN."""
    if not sampler.numbers[TOTAL] > _SHRUNK * sampler.numbers[PEAK]:
        _restart(agenda, sampler)


@lean
def _restart(agenda: Agenda, sampler: Sampler) -> None:
    """Restart all clocks, and recompute the sums relative to the highest priority."""
    numbers, size = sampler.numbers, agenda.counters[SIZE]
    highest = -np.inf
    for k in range(size):
        highest = max(highest, sampler.priority[agenda.heap[k]])
    numbers[NOW], numbers[REFERENCE], numbers[TOTAL], numbers[PEAK] = 0.0, highest, 0.0, 0.0
    for f in range(FEATURES):
        sampler.sums[f] = 0.0
    for k in range(size):
        item = agenda.heap[k]
        count(sampler, item, 1.0)
        height = (sampler.priority[item] - highest) / numbers[TEMPERATURE]
        agenda.key[k] = math.log(uniform(sampler.random)) * math.exp(min(-height, 700.0))
    restore_heap(agenda)


@lean
def draw(agenda: Agenda, sampler: Sampler) -> Any:
    """An action by eq. 4: the constituent whose clock rings first. It is still on the agenda."""
    sampler.numbers[NOW] = max(sampler.numbers[NOW], -agenda.key[0])
    return np.int64(agenda.heap[0])
