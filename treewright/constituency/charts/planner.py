"""CKY as a planner for inverse reinforcement learning."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.corpus import Sentences, Shard
from treewright.constituency.charts.passes import expected_pass, n_best_pass, plan_pass, policy_pass
from treewright.constituency.charts.span_rewards import TEMPLATES, SpanRewards, span_features
from treewright.constituency.grammar.pcfg import Grammar
from treewright.constituency.grammar.rules import Lexical
from treewright.errors import ConfigError
from treewright.search.planning import Features
from treewright.search.running import run_shards

__all__ = ["LOSSES", "TRAINED", "CKYPlanner"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: what the margin of Max-Margin penalises: the expert's rules wherever they are used (Algorithm 4), or the expert's
#: constituents
LOSSES = ("rules", "constituents")
#: the rules whose weights are learned: binary rules, as in the paper, or all rules
TRAINED = ("binary", "all")

_MOST_BLOCKS, _LEAST_BLOCK = 16, 8  # sentences are summed up in at most 16 blocks of at least 8


class _Part(NamedTuple):
    """Some sentences, with the derivations of the experts' trees, the features of these, and how often they occur."""

    sentences: Sentences
    gold: npt.NDArray[np.int32]
    at: Ints
    counts: Floats


@dataclass(frozen=True, eq=False)
class CKYPlanner:
    """Sentences with the derivations of their trees, and the grammar whose weights are learned.

    ``words`` are rows of the lexicon's table; sentence i has those from ``at[i]`` to ``at[i + 1]``. ``gold`` are
    derivations, with 2n − 1 nodes for each sentence. A plan's features are the counts of its rules (§5.1). The
    lexicon's scores are part of a plan's value, but are not learned. The weights of unary rules are learned only if
    ``trained`` is ``all``.

    With ``spans``, the features of the plan's spans are counted too (:mod:`~treewright.constituency.charts.\
    span_rewards`): θ has the weights of rules, and then the table of those of span features, which begin with 0. Only
    the best trees, :meth:`optimal_features`, can be planned with them.
    """

    grammar: Grammar
    lexical: Lexical
    words: npt.NDArray[np.int32]
    at: Ints
    gold: npt.NDArray[np.int32]
    trained: str = "binary"
    loss: str = "rules"
    spans: SpanRewards | None = None

    def __post_init__(self) -> None:
        for name, known in (("trained", TRAINED), ("loss", LOSSES)):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} cannot be {getattr(self, name)!r}; it is one of: {', '.join(known)}")

    @property
    def size(self) -> int:
        """The number of weights."""
        return self._rules + (0 if self.spans is None else len(self.spans.weights))

    @property
    def _rules(self) -> int:
        """The number of rules whose weights are learned."""
        return len(self.grammar.binary) + (len(self.grammar.unary) if self.trained == "all" else 0)

    def __len__(self) -> int:
        return len(self.at) - 1

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything besides the learned weights that plans depend on."""
        digest = hashlib.sha256(f"{self.trained} {self.loss} {self.size}".encode())
        for array in (self.grammar.weights, *self.lexical, self.words, self.at):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def initial(self) -> Floats:
        """The grammar's weights, and 0 for span features."""
        return np.concatenate([self.grammar.weights[: self._rules], np.zeros(self.size - self._rules)])

    def weights(self, θ: npt.ArrayLike) -> Floats:
        """The weights of all rules, learned or not, and those of span features."""
        θ = np.asarray(θ, np.float64)
        return np.concatenate([self._rule_weights(θ), θ[self._rules :]])

    def expert_features(self, which: Ints) -> Features:
        """The features of the treebank's trees (eq. 20)."""
        part = self._part(which)
        return Features(part.at, part.counts, 0.0)

    def optimal_features(self, θ: Floats, which: Ints, *, margin: float = 0.0, jobs: int = 1) -> Features:
        """The features of the best trees: Algorithms 2 to 4."""
        grammar = self.grammar.weighted(self.lexical, self._rule_weights(θ).astype(np.float32))
        spans = None if self.spans is None else self.spans._replace(weights=θ[self._rules :])
        sentences, gold, _, _ = self._part(which)
        planned, values = np.zeros_like(gold), np.zeros(len(which))

        def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> None:
            shard = Shard(np.arange(first, last), control, slot)
            plan_pass(
                grammar, sentences, gold, shard, float(margin), self.loss == "rules", spans, planned, values
            )  # fmt: skip

        if jobs <= 1 or len(which) == 1:
            work(0, len(which), np.zeros(2, np.int64), 1)
        else:
            run_shards(work, len(which), jobs=jobs)
        return Features(*self._counted(sentences, planned), float(values.sum()))

    def _part(self, which: Ints) -> _Part:
        """Some of the sentences. An update asks for the same ones several times."""
        key = np.asarray(which, np.int64).tobytes()
        if key not in self._last_part:
            ends = [(int(self.at[i]), int(self.at[i + 1]), int(i)) for i in which]
            words = np.concatenate([self.words[first:last] for first, last, _ in ends])
            gold = np.concatenate([self.gold[2 * first - i : 2 * last - i - 1] for first, last, i in ends])
            sentences = Sentences(words, np.cumsum([0, *(last - first for first, last, _ in ends)]))
            self._last_part.clear()
            self._last_part[key] = _Part(sentences, gold, *self._counted(sentences, gold))
        return self._last_part[key]

    @cached_property
    def _last_part(self) -> dict[bytes, _Part]:
        return {}

    def _counted(self, sentences: Sentences, nodes: npt.NDArray[np.int32]) -> tuple[Ints, Floats]:
        """The learned features of derivations, and how often they occur."""
        binary, unary = nodes[nodes[:, 2] >= 0, 2], nodes[nodes[:, 1] >= 0, 1]
        found = [binary.astype(np.int64), len(self.grammar.binary) + unary[: None if self.trained == "all" else 0]]
        if self.spans is not None:
            places = np.empty(2 * len(TEMPLATES) * len(nodes), np.int64)
            m = span_features(self.spans, self.grammar.rules, sentences, nodes, places)
            found.append(self._rules + places[:m])
        at, counts = np.unique(np.concatenate(found), return_counts=True)
        return at, counts.astype(np.float64)

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
        """The values of the treebank's trees, including the lexicon's scores of their tags."""
        part = self._part(which)
        fixed = sum(self._fixed_values[i] + self._lexical_values[i] for i in which)
        return float(part.counts @ θ[part.at]) + float(fixed)

    def _run(
        self, kernel: Callable[..., float], θ: Floats, kind: Any, which: Ints, jobs: int, *settings: Any
    ) -> Features:
        """One compiled pass. The blocks that are summed do not depend on ``jobs``, so neither does the sum."""
        if self.spans is not None:
            raise ConfigError(f"{kernel.__name__} has no span features: the planner's spans must be None")
        grammar = self.grammar.weighted(self.lexical, self.weights(θ).astype(kind))
        sentences = Sentences(self.words, self.at)
        which = np.asarray(which, np.int64)
        blocks = max(1, min(_MOST_BLOCKS, len(which) // _LEAST_BLOCK))
        edges = [len(which) * k // blocks for k in range(blocks + 1)]

        def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> list[tuple[Floats, float]]:
            done = []
            for start, end in pairwise(edges[first : last + 1]):
                counts = np.zeros(len(self.grammar))
                shard = Shard(which[start:end], control, slot)
                value = kernel(grammar, sentences, self.gold, shard, *settings, counts)
                done.append((counts, value))
            return done

        if jobs <= 1 or blocks == 1:
            parts = work(0, blocks, np.zeros(2, np.int64), 1)
        else:
            parts = [part for shard in run_shards(work, blocks, jobs=jobs) for part in shard]
        return self._features(sum(counts for counts, _ in parts), sum(value for _, value in parts))

    def _features(self, counts: Any, value: float) -> Features:
        found = np.flatnonzero(counts[: self.size])
        return Features(found, counts[found], float(value))

    def _rule_weights(self, θ: Floats) -> Floats:
        return np.concatenate([θ[: self._rules], self.grammar.weights[self._rules :]])

    @cached_property
    def _fixed_values(self) -> Floats:
        """The weights of the experts' rules that are not learned, by sentence."""
        sentence, rule = np.repeat(np.arange(len(self)), 2 * np.diff(self.at) - 1), self.gold[:, 1]
        fixed = np.append(self.grammar.weights[len(self.grammar.binary) :], 0.0)  # −1 is no rule
        values = fixed[rule] if self.trained == "binary" else np.zeros(len(rule))
        return np.asarray(np.bincount(sentence, values, len(self)), np.float64)

    @cached_property
    def _lexical_values(self) -> Floats:
        """The scores of the experts' tags, by sentence; −∞ where the lexicon does not allow one."""
        sentence = np.repeat(np.arange(len(self)), 2 * np.diff(self.at) - 1)
        is_tag = self.gold[:, 2] < 0
        sentence, tag, start = sentence[is_tag], self.gold[is_tag, 0], self.gold[is_tag, 3]
        n, table = len(self.grammar.symbols), self.lexical
        entry = (
            np.repeat(np.arange(len(table.at) - 1), np.diff(table.at)) * n + table.symbol
        )  # row and tag, as a number
        order = np.argsort(entry)
        wanted = self.words[self.at[sentence] + start].astype(np.int64) * n + tag
        found = order[np.minimum(np.searchsorted(entry, wanted, sorter=order), len(order) - 1)]
        scores = np.where(entry[found] == wanted, table.score[found].astype(np.float64), -np.inf)
        return np.asarray(np.bincount(sentence, scores, len(self)), np.float64)
