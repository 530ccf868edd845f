"""A chart for display: the cells of a sentence, with inside and outside scores and back-pointers, for any grammar.

The charts of parsers (:mod:`treewright.constituency.charts.chart`) keep only the values that they need. Here all values
are kept, in NumPy arrays, for a few dozen words:

* the *inside* score of a constituent is the score of the best tree below it;
* the *outside* score is the score of the best tree around it, so that the sum of both is the score of the best tree
  with it;
* its *back-pointer* is the rule and the split of the best tree below it.

>>> symbols = ["S", "NP", "VP", "V"]
>>> chart = CellChart(symbols, [(0, 1, 2), (2, 3, 1)], [-0.1, -0.2], [], [], [{1: -1.0}, {3: -0.5}, {1: -2.0}], 0)
>>> round(chart.best, 6)
-3.8
>>> [(item.symbol, round(item.inside, 6), round(item.outside, 6), item.split) for item in chart.items(1, 3)]
[('VP', -2.7, -1.1, 2)]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["CellChart", "CellItem"]

Floats = npt.NDArray[np.float64]

_TIE = 1e-9


class CellItem(NamedTuple):
    """A constituent of a cell: its scores, and its back-pointer: the parts below, and the split if there are two."""

    symbol: str
    start: int
    end: int
    inside: float
    outside: float
    parts: tuple[str, ...]
    split: int | None

    @property
    def through(self) -> float:
        """The score of the best tree that contains it."""
        return self.inside + self.outside


class CellChart:
    """The chart of a sentence, filled width by width.

    Args:
        symbols: the names.
        binary: rules (parent, left, right) by the numbers of symbols; their weights are logarithms.
        unary: rules (parent, child). Chains may have any length, but cycles must not have weights above 0.
        tags: for each word the symbols that can be directly above it, with their scores.
        root: the symbol of the whole sentence.
        rewards: of constituents: symbols × starts × ends; None if there are none. They are part of the inside score.
    """

    def __init__(
        self,
        symbols: Sequence[str],
        binary: npt.ArrayLike,
        binary_weights: npt.ArrayLike,
        unary: npt.ArrayLike,
        unary_weights: npt.ArrayLike,
        tags: Sequence[Mapping[int, float]],
        root: int,
        rewards: Floats | None = None,
    ) -> None:
        self.symbols, self.tags, self.root, self.n = list(symbols), tags, root, len(tags)
        two = np.asarray(binary, np.int64).reshape(-1, 3)
        order = np.argsort(two[:, 0], kind="stable")
        self.binary, self.binary_weights = two[order], np.asarray(binary_weights, np.float64).reshape(-1)[order]
        self.unary = np.asarray(unary, np.int64).reshape(-1, 2)
        self.unary_weights = np.asarray(unary_weights, np.float64).reshape(-1)
        n = self.n
        self.inside: Floats = np.full((len(self.symbols), n, n + 1), -np.inf)
        self.outside: Floats = np.full((len(self.symbols), n, n + 1), -np.inf)
        self.rewards: Floats = np.zeros((len(self.symbols), 1, 1)) if rewards is None else rewards
        self.rewards = np.broadcast_to(self.rewards, self.inside.shape)
        self._by_unary: dict[tuple[int, int, int], int] = {}
        self._fill_inside()
        self._fill_outside()

    @property
    def best(self) -> float:
        """The score of the best tree; −∞ if there is none."""
        return float(self.inside[self.root, 0, self.n]) if self.n else -math.inf

    # ---- filling

    def _fill_inside(self) -> None:
        parents, lefts, rights = self.binary.T
        for width in range(1, self.n + 1):
            for start in range(self.n - width + 1):
                end = start + width
                cell = self.inside[:, start, end]
                if width == 1:
                    for tag, score in self.tags[start].items():
                        cell[tag] = max(cell[tag], score)
                elif len(self.binary):
                    sums = self.inside[lefts, start, start + 1 : end] + self.inside[rights, start + 1 : end, end]
                    np.maximum.at(cell, parents, self.binary_weights + sums.max(axis=1))
                cell += self.rewards[:, start, end]
                self._add_unary(cell, start, end)

    def _add_unary(self, cell: Floats, start: int, end: int) -> None:
        """Chains of unary rules, link by link, until none is better."""
        weights = self.unary_weights + self.rewards[self.unary[:, 0], start, end]
        for _ in range(len(self.symbols) if len(self.unary) else 0):
            values = weights + cell[self.unary[:, 1]]
            better = np.flatnonzero(values > cell[self.unary[:, 0]] + _TIE)
            if not len(better):
                return
            for rule in better[np.argsort(values[better])].tolist():  # the best of a parent comes last
                parent = int(self.unary[rule, 0])
                cell[parent] = values[rule]
                self._by_unary[parent, start, end] = rule

    def _fill_outside(self) -> None:
        if not self.n or self.best == -math.inf:
            return
        self.outside[self.root, 0, self.n] = 0.0
        parents, lefts, rights = self.binary.T
        for width in range(self.n, 0, -1):
            for start in range(self.n - width + 1):
                end = start + width
                cell = self.outside[:, start, end]
                own = self.rewards[:, start, end]
                for _ in range(len(self.symbols) if len(self.unary) else 0):
                    before = cell.copy()
                    np.maximum.at(cell, self.unary[:, 1], self.unary_weights + (cell + own)[self.unary[:, 0]])
                    if (cell == before).all():
                        break
                above = (cell + own)[parents] + self.binary_weights
                live = np.flatnonzero(above > -np.inf)
                if width == 1 or not len(live):
                    continue
                b, c, weights = lefts[live], rights[live], above[live]
                for split in range(start + 1, end):
                    np.maximum.at(self.outside[:, start, split], b, weights + self.inside[c, split, end])
                    np.maximum.at(self.outside[:, split, end], c, weights + self.inside[b, start, split])

    # ---- reading

    def items(self, start: int, end: int) -> list[CellItem]:
        """The constituents of a cell, those of the best trees first."""
        cell = self.inside[:, start, end]
        found = [self._item(int(symbol), start, end) for symbol in np.flatnonzero(cell > -np.inf)]
        return sorted(found, key=lambda item: (-item.through, -item.inside, item.symbol))

    def _item(self, symbol: int, start: int, end: int) -> CellItem:
        inside, outside = (float(table[symbol, start, end]) for table in (self.inside, self.outside))
        parts, split = self._pointer(symbol, start, end)
        return CellItem(
            self.symbols[symbol], start, end, inside, outside, tuple(self.symbols[part] for part in parts), split
        )

    def _pointer(self, symbol: int, start: int, end: int) -> tuple[tuple[int, ...], int | None]:
        """The back-pointer of a constituent: empty directly above a word, one part, or two parts and the split."""
        if (rule := self._by_unary.get((symbol, start, end))) is not None:
            return (int(self.unary[rule, 1]),), None
        if end - start == 1:
            return (), None
        first, last = np.searchsorted(self.binary[:, 0], [symbol, symbol + 1])
        lefts, rights = self.binary[first:last, 1], self.binary[first:last, 2]
        sums = self.inside[lefts, start, start + 1 : end] + self.inside[rights, start + 1 : end, end]
        rule, at = divmod(int(np.argmax(sums + self.binary_weights[first:last, None])), end - start - 1)
        return (int(lefts[rule]), int(rights[rule])), start + 1 + at

    def best_nodes(self) -> list[tuple[str, int, int]]:
        """The constituents of the best tree, parents before children and left before right; empty without a tree."""
        if self.best == -math.inf:
            return []
        found, stack = [], [(self.root, 0, self.n)]
        while stack:
            symbol, start, end = stack.pop()
            found.append((self.symbols[symbol], start, end))
            parts, split = self._pointer(symbol, start, end)
            if split is not None:
                stack += [(parts[1], split, end), (parts[0], start, split)]
            elif parts:
                stack.append((parts[0], start, end))
        return found

    @classmethod
    def of_grammar(
        cls, grammar: Any, tags: Sequence[Mapping[str, float]], root: str, rewards: Floats | None = None
    ) -> CellChart:
        """The chart of a :class:`~treewright.constituency.grammar.pcfg.Grammar`; tags are given by name."""
        twos = len(grammar.binary)
        numbered = [{grammar.number[tag]: score for tag, score in each.items()} for each in tags]
        return cls(
            grammar.symbols,
            grammar.binary,
            grammar.weights[:twos],
            grammar.unary,
            grammar.weights[twos:],
            numbered,
            grammar.number[root],
            rewards,
        )
