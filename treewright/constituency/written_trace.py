"""Traces of handwritten grammars: a chart that is filled width by width, or the pops of an agenda.

>>> from treewright.constituency.grammar.written import WrittenGrammar
>>> grammar = WrittenGrammar.from_text("S -> NP V\\nNP -> she | it\\nV -> sleeps")
>>> trace = trace_written(grammar, "she sleeps".split())
>>> [(step.state["start"], step.state["end"], step.action) for step in trace.decisions]
[(0, 1, 'NP[0:1]'), (1, 2, 'V[1:2]'), (0, 2, 'S[0:2]')]
>>> [step.action for step in trace_written(grammar, "she sleeps".split(), "agenda").decisions]
['V[1:2]', 'NP[0:1]', 'S[0:2]']
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from treewright.constituency.charts.cells import CellChart, CellItem
from treewright.constituency.grammar.written import WrittenGrammar
from treewright.errors import ConfigError
from treewright.tracing import Candidate, Feature, Step, Trace

__all__ = ["agenda_parse", "chart_steps", "trace_written"]

_MOST_ITEMS = 24  # of a cell, those of the best trees
_WAITING = 8  # constituents on the agenda that a step shows


def trace_written(grammar: WrittenGrammar, words: Sequence[str], search: str = "cky") -> Trace:
    """Return the trace of a handwritten grammar that parses a sentence with a chart (``cky``) or an ``agenda``.

    The agenda pops constituents in the order of their inside scores (Knuth 1977), so the first tree that it pops is the
    best one. If there is no tree, the trace has all constituents that can be built, and its result has no tree.
    """
    best = grammar.k_best(words, 1)
    result = {"tree": str(best[0].tree) if best else None}
    about = {"model": "written grammar", "search": search, "score": best[0].score if best else None}
    match search:
        case "cky":
            chart = _chart(grammar, words)
            kind, steps = "chart", tuple(chart_steps(chart, _label, None, None))
        case "agenda":
            kind, steps = "pops", tuple(_pops(grammar, words))
        case _:
            raise ConfigError("is one of: cky, agenda", setting="search", value=search)
    return Trace("constituency", kind, tuple(words), steps, result, False, about)


def _chart(grammar: WrittenGrammar, words: Sequence[str]) -> CellChart:
    number = {name: k for k, name in enumerate(grammar.symbols)}
    tags = [{number[tag]: score for tag, score in each.items()} for each in grammar.tags(words)]
    binary = [tuple(number[name] for name in rule[:3]) for rule in grammar.binary]
    unary = [tuple(number[name] for name in rule[:2]) for rule in grammar.unary]
    weights = [[rule[-1] for rule in rules] for rules in (grammar.binary, grammar.unary)]
    return CellChart(grammar.symbols, binary, weights[0], unary, weights[1], tags, number[grammar.root])


def _label(symbol: str) -> str | None:
    return None if symbol.startswith(("@", "'")) else symbol


def chart_steps(
    chart: CellChart,
    label: Callable[[str], str | None],
    gap: float | None,
    gold: Collection[tuple[str, int, int]] | None,
    used: Collection[tuple[str, int, int]] | None = None,
) -> Iterator[Step]:
    """The cells of a chart, width by width and from left to right; then a final step.

    An item that is worse than the best tree by more than ``gap`` counts as pruned. ``gold`` are the constituents of the
    gold tree, by their labels, and ``used`` the constituents of the tree that is found, by their symbols.
    """
    used = set(chart.best_nodes() if used is None else used)
    spans = [(start, start + width) for width in range(1, chart.n + 1) for start in range(chart.n - width + 1)]
    for number, (start, end) in enumerate(spans):
        items = chart.items(start, end)
        shown = items[:_MOST_ITEMS] + [i for i in items[_MOST_ITEMS:] if (i.symbol, start, end) in used]
        values = [_item(each, chart, label, gap, (each.symbol, start, end) in used) for each in shown]
        costs = [_cost(each, label, gold) for each in shown]
        scores = [_finite(each.through - chart.best) if chart.best > -math.inf else each.inside for each in shown]
        names = [f"{each.symbol}[{start}:{end}]" for each in shown]
        chosen = next((k for k, value in enumerate(values) if value["used"]), 0 if values else None)
        yield Step(
            number,
            {"start": start, "end": end, "items": values, "left_out": len(items) - len(shown)},
            tuple(map(Candidate, names, scores, costs)),
            chosen,
            tuple(name for name, cost in zip(names, costs, strict=True) if cost == 0.0),
            {"constituents": len(items), "pruned": sum(value["pruned"] for value in values)},
        )
    yield Step(len(spans), {"start": 0, "end": chart.n, "items": [], "left_out": 0})


def _finite(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _cost(item: CellItem, label: Callable[[str], str | None], gold: Any) -> float | None:
    name = label(item.symbol)
    return None if gold is None or name is None else float((name, item.start, item.end) not in gold)


def _item(
    item: CellItem, chart: CellChart, label: Callable[[str], str | None], gap: float | None, used: bool
) -> dict[str, Any]:
    splits = [(item.start, item.end)] if item.split is None else [(item.start, item.split), (item.split, item.end)]
    parts = [
        {"symbol": part, "start": start, "end": end} for part, (start, end) in zip(item.parts, splits, strict=False)
    ]
    return {
        "symbol": item.symbol,
        "label": label(item.symbol),
        "inside": item.inside,
        "outside": item.outside if item.outside > -math.inf else None,
        "split": item.split,
        "parts": parts,
        "pruned": bool(gap is not None and chart.best - item.through > gap),
        "used": used,
    }


def agenda_parse(grammar: WrittenGrammar, words: Sequence[str]) -> tuple[float | None, int]:
    """Return the score of the tree that an agenda finds first, which is the best one, and the number of its pops.

    >>> from treewright.constituency.grammar.written import WrittenGrammar
    >>> agenda_parse(WrittenGrammar.from_text("S -> NP V\\nNP -> she [1] | it [1]\\nV -> sleeps"), ["it", "sleeps"])
    (-0.6931471805599453, 3)
    """
    pops = list(_pops(grammar, words))[:-1]
    goal = f"{grammar.root}[0:{len(words)}]"
    found = [step.measures["inside"] for step in pops[-1:] if step.action == goal]
    return (found[0] if found else None), len(pops)


def _pops(grammar: WrittenGrammar, words: Sequence[str]) -> Iterator[Step]:
    """The constituents that an agenda pops, each with the best tree below it."""
    lefts: defaultdict[str, list[tuple[str, str, float]]] = defaultdict(list)
    rights: defaultdict[str, list[tuple[str, str, float]]] = defaultdict(list)
    ones: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for parent, left, right, weight in grammar.binary:
        lefts[left].append((parent, right, weight))
        rights[right].append((parent, left, weight))
    for parent, child, weight in grammar.unary:
        ones[child].append((parent, weight))
    n = len(words)
    done: dict[tuple[str, int, int], float] = {}
    starting: defaultdict[int, list[tuple[str, int, float]]] = defaultdict(list)  # popped items, by their first word
    ending: defaultdict[int, list[tuple[str, int, float]]] = defaultdict(list)
    heap: list[tuple[float, int, str, int, int, tuple[tuple[str, int, int], ...]]] = []

    def push(symbol: str, start: int, end: int, inside: float, *parts: tuple[str, int, int]) -> None:
        if (symbol, start, end) not in done:
            heapq.heappush(heap, (-inside, len(heap), symbol, start, end, parts))

    for place, tags in enumerate(grammar.tags(words)):
        for tag, score in tags.items():
            push(tag, place, place + 1, score)
    used = set(_chart(grammar, words).best_nodes())
    number = 0
    while heap:
        agenda, waiting = _waiting(heap, done)
        negative, _, symbol, start, end, parts = heapq.heappop(heap)
        if (symbol, start, end) in done:
            continue
        inside = -negative
        done[symbol, start, end] = inside
        starting[start].append((symbol, end, inside))
        ending[end].append((symbol, start, inside))
        name = f"{symbol}[{start}:{end}]"
        item = {**_named(symbol, start, end), "parts": [_named(*part) for part in parts]}
        yield Step(
            number,
            {"item": item, "used": (symbol, start, end) in used, "agenda": agenda, "waiting": waiting},
            (Candidate(name, inside, features=(Feature("inside", inside, 1.0),)),),
            0,
            measures={"inside": inside, "priority": inside},
        )
        number += 1
        if (symbol, start, end) == (grammar.root, 0, n):
            break
        for parent, weight in ones[symbol]:
            push(parent, start, end, inside + weight, (symbol, start, end))
        for parent, right, weight in lefts[symbol]:
            for other, stop, score in starting[end]:
                if other == right:
                    push(parent, start, stop, inside + score + weight, (symbol, start, end), (right, end, stop))
        for parent, left, weight in rights[symbol]:
            for other, begin, score in ending[start]:
                if other == left:
                    push(parent, begin, end, inside + score + weight, (left, begin, start), (symbol, start, end))
    yield Step(number, {"item": None, "used": False, "agenda": [], "waiting": 0})


def _named(symbol: str, start: int, end: int) -> dict[str, Any]:
    return {"symbol": symbol, "label": _label(symbol), "start": start, "end": end}


def _waiting(heap: list[Any], done: Collection[tuple[str, int, int]]) -> tuple[list[dict[str, Any]], int]:
    """The best constituents on an agenda with their priorities, and the number of all; each is counted once."""
    number = len({entry[2:5] for entry in heap if entry[2:5] not in done})
    rest, found = list(heap), dict[tuple[str, int, int], float]()
    while rest and len(found) < _WAITING:
        negative, _, *item, _ = heapq.heappop(rest)
        if tuple(item) not in done:
            found.setdefault((item[0], item[1], item[2]), -negative)
    return [{**_named(*item), "priority": priority} for item, priority in found.items()], number
