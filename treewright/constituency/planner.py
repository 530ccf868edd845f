"""CKY as a planner: what inverse reinforcement learning asks for, answered by charts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.constituency.chart import Lexical
from treewright.constituency.grammar import Grammar
from treewright.constituency.passes import CHARTS, expected_pass, n_best_pass, plan_pass, policy_pass
from treewright.errors import ConfigError
from treewright.search.planning import Features
from treewright.search.running import run_shards

__all__ = ["LOSSES", "TRAINED", "CKYPlanner"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: what the loss constant of Max-Margin makes less attractive: the expert's rules wherever they are used (Algorithm 4),
#: or the expert's constituents
LOSSES = ("rules", "constituents")
#: whose weights are learned: those of binary rules, as in the paper, or those of all rules
TRAINED = ("binary", "all")


@dataclass(frozen=True, eq=False)
class CKYPlanner:
    """Sentences with the derivations of their trees, and the grammar whose weights are learned.

    ``words`` are rows of the lexicon's table, one sentence behind the other, from ``at[i]`` to ``at[i + 1]``; ``gold``
    are derivations, 2n − 1 nodes a sentence. A plan's features are the counts of its rules (§5.1); what the lexicon
    says is part of a plan's value, but not learned, and neither are the weights of unary rules unless ``trained`` is
    ``all``.
    """

    grammar: Grammar
    lexical: Lexical
    words: npt.NDArray[np.int32]
    at: Ints
    gold: npt.NDArray[np.int32]
    trained: str = "binary"
    loss: str = "rules"

    def __post_init__(self) -> None:
        for name, known in (("trained", TRAINED), ("loss", LOSSES)):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} cannot be {getattr(self, name)!r}; it is one of: {', '.join(known)}")

    @property
    def size(self) -> int:
        """How many weights there are to learn."""
        return len(self.grammar.binary) + (len(self.grammar.unary) if self.trained == "all" else 0)

    def __len__(self) -> int:
        return len(self.at) - 1

    def initial(self) -> Floats:
        """The grammar's weights."""
        return self.grammar.weights[: self.size].copy()

    def weights(self, θ: npt.ArrayLike) -> Floats:
        """The weights of all rules, those that are learned and those that are not."""
        return np.concatenate([np.asarray(θ, np.float64), self.grammar.weights[self.size :]])

    def expert_features(self, which: Ints) -> Features:
        """The rules of the treebank's trees (eq. 20)."""
        return self._features(self._expert_counts(which), 0.0)

    def optimal_features(self, θ: Floats, which: Ints, *, loss: float = 0.0, jobs: int = 1) -> Features:
        """The rules of the best trees: Algorithms 2 to 4."""
        return self._run(plan_pass, θ, np.float32, which, jobs, float(loss), self.loss == "rules")

    def n_best_features(self, θ: Floats, which: Ints, n: int, *, jobs: int = 1) -> Features:
        """The expected rules of the n best trees: Algorithm 6."""
        return self._run(n_best_pass, θ, np.float64, which, jobs, int(n))

    def expected_features(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Features:
        """The expected rules of all trees."""
        return self._run(expected_pass, θ, np.float64, which, jobs)

    def policy_matching(self, θ: Floats, which: Ints, temperature: float, *, jobs: int = 1) -> Features:
        """Algorithm 5."""
        return self._run(policy_pass, θ, np.float32, which, jobs, float(temperature))

    def expert_values(self, θ: Floats, which: Ints) -> float:
        """The values of the treebank's trees, with what the lexicon says of their tags."""
        counts = self._expert_counts(which)
        rules = float(counts @ self.weights(θ))
        return rules + float(sum(self._lexical_values[i] for i in which))

    def _run(
        self, kernel: Callable[..., float], θ: Floats, kind: Any, which: Ints, jobs: int, *settings: Any
    ) -> Features:
        """One compiled pass, in threads if there are several jobs."""
        n = len(self.grammar.binary)
        weights = self.weights(θ).astype(kind)
        binary, unary = weights[:n], weights[n:]
        which = np.asarray(which, np.int64)

        def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> tuple[Floats, float]:
            counts = np.zeros(len(weights))
            # fmt: off
            value = kernel(CHARTS, self.grammar.rules, binary, unary, self.lexical, self.words, self.at, self.gold,
                           which[first:last], *settings, counts, control, slot)
            # fmt: on
            return counts, value

        if jobs == 1 and len(which) <= _AT_ONCE:
            shards = [work(0, len(which), np.zeros(2, np.int64), 1)]
        else:
            shards = run_shards(work, len(which), jobs=jobs)
        return self._features(sum(counts for counts, _ in shards), sum(value for _, value in shards))

    def _features(self, counts: Any, value: float) -> Features:
        found = np.flatnonzero(counts[: self.size])
        return Features(found, counts[found], float(value))

    def _expert_counts(self, which: Ints) -> Floats:
        n_binary, n = len(self.grammar.binary), len(self.grammar)
        nodes = np.concatenate([self.gold[2 * self.at[i] - i : 2 * self.at[i + 1] - (i + 1)] for i in which])
        binary = np.bincount(nodes[nodes[:, 2] >= 0, 2], minlength=n)
        return np.asarray(binary + np.bincount(n_binary + nodes[nodes[:, 1] >= 0, 1], minlength=n), np.float64)

    @cached_property
    def _lexical_values(self) -> Floats:
        """The scores of the experts' tags, by sentence; −∞ where the lexicon does not allow one."""
        values = np.zeros(len(self))
        for i in range(len(self)):
            nodes = self.gold[2 * self.at[i] - i : 2 * self.at[i + 1] - (i + 1)]
            for symbol, start in nodes[nodes[:, 2] < 0][:, [0, 3]].tolist():
                row = self.words[self.at[i] + start]
                entries = slice(self.lexical.at[row], self.lexical.at[row + 1])
                fits = np.flatnonzero(self.lexical.symbol[entries] == symbol)
                values[i] += self.lexical.score[entries][fits[0]] if len(fits) else -np.inf
        return values


_AT_ONCE = 1_000  # sentences: so few are done before anybody could press Ctrl-C
