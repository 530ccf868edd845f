"""Slow, obvious twins of the updates: on dense vectors φ(s, a), in double precision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewright.policies import AROW, LogLinear, PassiveAggressive, Perceptron, Regression, Update
from treewright.policies.updates import Model, learn_pass
from treewright.search import mix
from treewright.search.examples import Examples
from treewright.search.policy import Scratch

Vector = Any


@dataclass(frozen=True)
class Example:
    """A state's features, its actions, their costs and, where actions carry structure, their own features."""

    features: list[int]
    actions: list[int]
    costs: list[float]
    extra: list[list[int]] = field(default_factory=list)

    def vectors(self, rows: int, width: int) -> list[Vector]:
        """φ(s, a) for each action, over all rows × width weights."""
        found = []
        for k, action in enumerate(self.actions):
            φ = np.zeros((rows, width))
            if width > 1:
                for feature in self.features:
                    φ[feature % rows, action] += 1.0
            else:
                for feature in self.features:
                    φ[mix(feature, action) % rows, 0] += 1.0
                for feature in self.extra[k] if self.extra else []:
                    φ[feature % rows, 0] += 1.0
            found.append(φ.ravel())
        return found


def as_examples(examples: list[Example], structured: bool) -> Examples:
    """The examples in the flat arrays that kernels take."""
    own = [features for e in examples for features in (e.extra or [[]] * len(e.actions))] if structured else []
    return Examples(
        np.array([f for e in examples for f in e.features], np.int32),
        np.cumsum([0, *(len(e.features) for e in examples)], dtype=np.int64),
        np.array([a for e in examples for a in e.actions], np.int32),
        np.cumsum([0, *(len(e.actions) for e in examples)], dtype=np.int64),
        np.full(len(examples), -1.0, np.float32),
        np.array([k for e in examples for k in range(len(e.actions))], np.int32),
        np.array([c for e in examples for c in e.costs], np.float32),
        np.cumsum([0, *(len(e.actions) for e in examples)], dtype=np.int64),
        np.array([f for features in own for f in features], np.int32),
        np.cumsum([0, *(len(features) for features in own)], dtype=np.int64),
    )


def learn(update: Update, model: Model, examples: list[Example], order: list[int] | None = None) -> float:
    """Let the kernel learn from examples, in order; the sum of the costs of what it would have done."""
    flat = as_examples(examples, model.weights.shape[1] == 1)
    numbers = np.array(range(len(examples)) if order is None else order, np.int64)
    mistakes, control = np.zeros(flat.size, np.int32), np.zeros(2, np.int64)
    return learn_pass(update.online(model), flat, numbers, mistakes, scratch_for(examples, model), control, 1)


def scratch_for(examples: list[Example], model: Model) -> Scratch:
    """Working space that is large enough for some examples."""
    n = max(len(e.actions) for e in examples)
    own = max(sum(map(len, e.extra)) for e in examples) + 1 if model.weights.shape[1] == 1 else 0
    return Scratch(
        np.zeros(n, np.int32),
        np.zeros(n),
        np.zeros(n, np.float32),
        np.zeros(max(n, model.weights.shape[1]) + 1, np.float32),
        np.zeros(max(len(e.features) for e in examples), np.int32),
        np.zeros(own, np.int32),
        np.zeros(n + 1, np.int64),
        np.zeros(own, np.int32),
        np.zeros(2, np.int64),
    )


def naive_pair(update: Update, scores: Vector, costs: Vector) -> tuple[int, int, float] | None:
    """The correct action, its rival, and by how much the margin is violated; None where all actions cost the same."""
    regrets = np.array(costs) - min(costs)
    margin = update.margin if isinstance(update, Perceptron) else 1.0
    right, wrong = np.flatnonzero(regrets == 0.0), np.flatnonzero(regrets > 0.0)
    if len(wrong) == 0:
        return None
    violations = scores + margin * np.sqrt(regrets)
    correct, rival = right[np.argmax(scores[right])], wrong[np.argmax(violations[wrong])]
    return int(correct), int(rival), float(violations[rival] - scores[correct])


def naive_probabilities(w: Vector, vectors: list[Vector], costs: list[float], margin: float) -> Vector:
    """p(a) ∝ exp(w·φ(s, a) + margin·c(a))."""
    exponents = np.array([φ @ w for φ in vectors]) + margin * (np.array(costs) - min(costs))
    p = np.exp(exponents - exponents.max())
    return p / p.sum()


def naive_log_loss(w: Vector, vectors: list[Vector], costs: list[float], margin: float) -> float:
    """−log Σ{p(a) : c(a) = 0}."""
    p = naive_probabilities(w, vectors, costs, margin)
    return float(-np.log(p[np.array(costs) == min(costs)].sum()))


def naive_regression(
    update: Regression, w: Vector, spread: Vector, vectors: list[Vector], costs: list[float]
) -> tuple[Vector, Vector]:
    """One regression after the other: of the cost of each action, less the mean cost."""
    capped = np.minimum(np.array(costs) - min(costs), update.cap)
    for φ, target in zip(vectors, capped.mean() - capped, strict=True):
        error = φ @ w - target
        if abs(error) >= 0.001:
            spread = spread + (error * φ) ** 2
            steps = np.divide(update.step_size, np.sqrt(spread), out=np.zeros_like(w), where=φ > 0.0)
            w = w - error * steps * (1.0 - np.exp(-steps.sum())) / steps.sum()
    return w, spread


def naive_update(
    update: Update, w: Vector, spread: Vector, vectors: list[Vector], costs: list[float]
) -> tuple[Vector, Vector]:
    """The weights and their spread after one example."""
    if isinstance(update, Regression):
        return naive_regression(update, w, spread, vectors, costs)
    scores = np.array([φ @ w for φ in vectors])
    found = naive_pair(update, scores, costs)
    if found is None:
        return w, spread
    correct, rival, loss = found
    x = vectors[correct] - vectors[rival]
    match update:
        case Perceptron():
            return (w + np.sqrt(costs[rival] - min(costs)) * x if loss >= 0.0 else w), spread
        case PassiveAggressive(C=C):
            return (w + min(C, loss / (x @ x)) * x if loss > 0.0 else w), spread
        case AROW(r=C):
            if loss <= 0.0:
                return w, spread
            return w + loss / (x @ (spread * x) + C) * spread * x, spread * C / (C + spread * x**2)
        case LogLinear(step_size=rate, margin=margin):
            right = np.array(costs) == min(costs)
            p = naive_probabilities(w, vectors, costs, margin)
            target = np.where(right, p, 0.0) / p[right].sum()
            gradient = sum(weight * φ for weight, φ in zip(p - target, vectors, strict=True))
            spread = spread + gradient**2
            return w - rate * gradient / np.sqrt(spread + 1e-8), spread
    raise TypeError(update)
