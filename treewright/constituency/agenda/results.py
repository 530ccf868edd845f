"""The results of the agenda parser: the derivation of the parse, or of the pieces that cover the sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.constituency.agenda.queue import Agenda
from treewright.constituency.agenda.search import AgendaGrammar
from treewright.constituency.charts.derivations import write_node
from treewright.constituency.charts.semirings import NEVER, POSSIBLE
from treewright.constituency.charts.spans import ends_of, span_of
from treewright.constituency.grammar.rules import Rules, Weighted
from treewright.search.compiling import compiled, lean

__all__ = ["score_of", "write_result"]


@compiled
def write_result(grammar: AgendaGrammar, agenda: Agenda, n: int, whole: bool, nodes: Any) -> int:
    """The derivation of the parse, or those of the pieces that cover the sentence; returns the number of nodes."""
    rules = grammar.weighted.rules
    if whole:
        return _write_tree(rules, agenda, span_of(0, n) * rules.is_top.shape[0] + rules.root, nodes, 0)
    pieces = np.empty(n, np.int64)
    filled = 0
    for k in range(_cover(agenda, n, grammar.eligible, pieces)):
        filled = _write_tree(rules, agenda, pieces[k], nodes, filled)
    return filled


@compiled
def _write_tree(rules: Rules, agenda: Agenda, item: int, nodes: Any, filled: int) -> int:
    """Append the derivation of a constituent to the ``filled`` nodes; return their new number."""
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
            above = agenda.rule[item]
            symbol = np.int64(rules.unary[above, 1])
            item = span * symbols + symbol
        below = agenda.rule[item]
        if below >= 0:
            split = agenda.split[item]
            stack[height] = span_of(split, end) * symbols + rules.binary[below, 2]
            stack[height + 1] = span_of(start, split) * symbols + rules.binary[below, 1]
            height += 2
        write_node(nodes, filled, symbol, above, below, start, end)
        filled += 1
    return filled


@compiled
def _cover(agenda: Agenda, n: int, eligible: Any, pieces: Any) -> int:
    """The fewest constituents, and among these the best, that cover the words; constituents on the agenda count too.

    ``pieces`` receives them from left to right; returns their number, 0 if some word has no tag. Only ``eligible``
    symbols are used.
    """
    symbols = eligible.shape[0]
    fewest, total, back = np.full(n + 1, n + 1), np.full(n + 1, NEVER), np.full(n + 1, -1, np.int64)
    fewest[0], total[0] = 0, 0.0
    for end in range(1, n + 1):
        for start in range(end):
            if fewest[start] > n:
                continue
            row = span_of(start, end) * symbols
            for symbol in range(symbols):
                score = agenda.score[row + symbol]
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


@lean
def score_of(grammar: Weighted, words: Any, nodes: Any) -> float:
    """The score of a derivation: of its rules, and of its tags."""
    lexical, total = grammar.lexical, 0.0
    for k in range(nodes.shape[0]):
        if nodes[k, 1] >= 0:
            total += np.float64(grammar.unary[nodes[k, 1]])
        if nodes[k, 2] >= 0:
            total += np.float64(grammar.binary[nodes[k, 2]])
        else:
            word = words[nodes[k, 3]]
            for entry in range(lexical.at[word], lexical.at[word + 1]):
                if lexical.symbol[entry] == nodes[k, 0]:
                    total += np.float64(lexical.score[entry])
    return total
