"""A slow, obvious planner: it labels short sequences, and finds everything by writing out all plans."""

from __future__ import annotations

from itertools import product

import numpy as np

from treewright.search import Features


class Labelling:
    """A state is a prefix of labels, an action the next label, and a plan the labels of all words.

    An action has three features: the label with the word, the label with the one before it, and one that all actions
    have, so that plans differ in what they have in common with others. A fixed value of each action is not learned.
    """

    def __init__(self, sentences, labels, experts=None, *, initial=None, fixed=0.0, seed=0):
        self.sentences = [list(words) for words in sentences]
        self.labels = labels
        self.words = 1 + max(max(words) for words in self.sentences)
        self.size = self.words * labels + (labels + 1) * labels + 1
        rng = np.random.default_rng(seed)
        self.fixed = [fixed * rng.normal(size=(len(words), labels)) for words in self.sentences]
        self._initial = np.zeros(self.size) if initial is None else np.asarray(initial, float)
        self.experts = experts
        self.calls = 0
        self._known = {}

    def __len__(self):
        return len(self.sentences)

    def initial(self):
        return self._initial

    # ---- one sentence

    def action_features(self, i, t, before, label):
        φ = np.zeros(self.size)
        φ[self.sentences[i][t] * self.labels + label] += 1.0
        φ[self.words * self.labels + before * self.labels + label] += 1.0
        φ[-1] += 1.0
        return φ

    def plan_features(self, i, plan, start=0):
        """Φ of a plan, from its step ``start`` on."""
        if (i, plan, start) not in self._known:
            befores = [self.labels, *plan]
            actions = [self.action_features(i, t, befores[t], plan[t]) for t in range(start, len(plan))]
            self._known[i, plan, start] = sum(actions)
        return self._known[i, plan, start]

    def value(self, θ, i, plan, start=0):
        fixed = sum(self.fixed[i][t, plan[t]] for t in range(start, len(plan)))
        return float(θ @ self.plan_features(i, plan, start)) + fixed

    def plans(self, i):
        return list(product(range(self.labels), repeat=len(self.sentences[i])))

    def best_first(self, θ, i):
        return sorted(self.plans(i), key=lambda plan: -self.value(θ, i, plan))

    # ---- the protocol

    def expert_features(self, which):
        return self.sparse(sum(self.plan_features(i, self.experts[i]) for i in which), 0.0)

    def expert_values(self, θ, which):
        return sum(self.value(θ, i, self.experts[i]) for i in which)

    def optimal_features(self, θ, which, *, margin=0.0, jobs=1):
        self.calls += 1
        total, value = np.zeros(self.size), 0.0
        for i in which:
            θ_loss = θ - margin * self.plan_features(i, self.experts[i])  # Algorithm 4, its first loop
            best = self.best_first(θ_loss, i)[0]
            total += self.plan_features(i, best)
            value += self.value(θ_loss, i, best)
        return self.sparse(total, value)

    def n_best_features(self, θ, which, n, *, jobs=1):
        total, value = np.zeros(self.size), 0.0
        for i in which:
            plans = self.best_first(θ, i)[:n]
            p = np.exp([self.value(θ, i, plan) for plan in plans])
            total += sum(p_plan / p.sum() * self.plan_features(i, plan) for p_plan, plan in zip(p, plans, strict=True))
            value += np.log(p.sum())
        return self.sparse(total, value)

    def expected_features(self, θ, which, *, jobs=1):
        return self.n_best_features(θ, which, self.labels**10)

    def policy_matching(self, θ, which, temperature, *, jobs=1):
        η, Δ, J = temperature, np.zeros(self.size), 0.0
        for i in which:
            expert = self.experts[i]
            for t in range(len(expert)):
                actions = range(self.labels)
                after = [[p for p in self.best_first(θ, i) if p[: t + 1] == (*expert[:t], a)] for a in actions]
                best = [max(plans, key=lambda plan: self.value(θ, i, plan, t)) for plans in after]
                Q = np.array([self.value(θ, i, plan, t) for plan in best])
                Φ = np.array([self.plan_features(i, plan, t) for plan in best])
                π = np.exp((Q - Q.max()) / η) / np.exp((Q - Q.max()) / η).sum()  # (17)
                π_E = np.array([float(a == expert[t]) for a in actions])
                J += 0.5 * ((π - π_E) ** 2).sum()  # (16)
                for a in actions:
                    dπ = π[a] / η * (Φ[a] - sum(π[b] * Φ[b] for b in actions))  # (19)
                    Δ += (π_E[a] - π[a]) * dπ  # (18)
        return self.sparse(Δ, J)

    def sparse(self, dense, value):
        """Features as planners give them: in no order, some places in two halves."""
        at = np.flatnonzero(dense)[::-1]
        return Features(np.concatenate([at, at]), np.concatenate([dense[at], dense[at]]) / 2.0, float(value))


def labelling(seed=0, sentences=4, length=3, words=4, labels=3, *, fixed=0.0, negative=False, initial=None):
    """A planner whose expert follows the best plans for hidden weights, which it returns too."""
    rng = np.random.default_rng(seed)
    corpus = [rng.integers(0, words, rng.integers(2, length + 1)).tolist() for _ in range(sentences)]
    planner = Labelling(corpus, labels, initial=initial, fixed=fixed, seed=seed)
    hidden = rng.normal(size=planner.size)
    hidden = -np.exp(hidden) if negative else hidden
    planner.experts = [planner.best_first(hidden, i)[0] for i in range(len(planner))]
    return planner, hidden


def right_plans(planner, θ):
    """The share of instances whose best plan is the expert's."""
    return np.mean([planner.best_first(θ, i)[0] == tuple(planner.experts[i]) for i in range(len(planner))])
