"""Policy Matching (Neu & Szepesvári 2009, Algorithm 5): the gradient of a policy that a Viterbi chart defines.

In a state x, the policy takes the action a with probability π(a|x) = exp(Q(x, a)/η) / Σ_b exp(Q(x, b)/η) (eq. 17). The
dissimilarity J sums ½(isCorrect(a) − π(a|x))² over the states of the expert's tree and their actions (eq. 16).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.charts.chart import Chart, place
from treewright.constituency.charts.derivations import Actions, actions_of, best_action
from treewright.constituency.charts.semirings import NEVER
from treewright.search.compiling import compiled, lean

__all__ = ["Pull", "policy_gradient"]

Floats = npt.NDArray[np.float64]


class Pull(NamedTuple):
    """The gradients with respect to rules and constituents."""

    constituent: Floats  # in the layout of the chart
    rule: Floats  # the gradient: binary rules first


@compiled
def policy_gradient(chart: Chart, gold: Any, temperature: float, actions: Actions, pull: Pull) -> float:
    """Algorithm 5 for one tree: adds eq. 18 to ``pull.rule`` and returns J of eq. 16.

    The gradient of π(a|x) is π(a|x)/η·(Φ(x, a) − Σ_b π(b|x)Φ(x, b)) (eq. 19). With u(a) = isCorrect(a) − π(a|x), the
    sum over the actions is Σ_a g(a)Φ(x, a), where g(a) = π(a|x)/η·(u(a) − Σ_b u(b)π(b|x)). An action's features are its
    rule and those of the best trees of the constituents that it introduces. So g(a) is added to the rule and to these
    constituents. After all states, each constituent passes its sum on to its own best action, wide constituents first.
    No tree is built. ``actions`` has the actions of one state.
    """
    rules, n = chart.rules, chart.n
    for symbol in range(rules.is_top.shape[0]):
        for width in range(1, n + 1):
            if chart.space.starts[symbol, width] != np.uint64(0):
                for start in range(n - width + 1):
                    pull.constituent[place(chart, symbol, start, width)] = 0.0
    dissimilarity = 0.0
    for node in range(gold.shape[0]):
        start, width = gold[node, 3], gold[node, 4] - gold[node, 3]
        if gold[node, 1] >= 0:
            top = rules.unary[gold[node, 1], 0]
            dissimilarity += _match(chart, top, start, width, gold[node, 1], 0, temperature, actions, pull)
        if gold[node, 2] >= 0:
            split = gold[node + 1, 4] - start  # the next node is the left child
            bottom = gold[node, 0]
            dissimilarity += _match(chart, bottom, start, width, gold[node, 2], split, temperature, actions, pull)
    for width in range(n, 0, -1):
        for chains in (True, False):  # chains first: they pass values down within the same span
            for symbol in range(rules.is_top.shape[0]):
                if rules.is_top[symbol] == chains and chart.space.starts[symbol, width] != np.uint64(0):
                    for start in range(n - width + 1):
                        g = pull.constituent[place(chart, symbol, start, width)]
                        if g != 0.0:
                            rule, split = best_action(chart, symbol, start, width)
                            if rule >= 0:
                                _pull(chart, symbol, start, width, rule, split, g, pull)
    return dissimilarity


@lean
def _match(
    chart: Chart,
    symbol: int,
    start: int,
    width: int,
    rule: int,
    split: int,
    temperature: float,
    actions: Any,
    pull: Any,
) -> float:
    """One state of Algorithm 5, in which the expert takes a rule at a split; returns its part of J."""
    m = actions_of(chart, symbol, start, width, actions)
    dissimilarity = _slopes(actions, m, rule, split, temperature)
    for a in range(m):
        if abs(actions.q[a]) > 1e-12:
            _pull(chart, symbol, start, width, actions.rule[a], actions.split[a], actions.q[a], pull)
    return dissimilarity


@lean
def _slopes(actions: Actions, m: int, rule: int, split: int, temperature: float) -> float:
    """Replace the values of m actions by g(a), given the expert's; returns the state's part of J."""
    q, highest, total = actions.q, NEVER, 0.0
    for a in range(m):
        highest = max(highest, q[a])
    for a in range(m):
        q[a] = math.exp((q[a] - highest) / temperature)
        total += q[a]
    mean, dissimilarity, correct = 0.0, 0.0, -1
    for a in range(m):
        q[a] /= total  # now it is π(a|x) (eq. 17)
        if actions.rule[a] == rule and actions.split[a] == split:
            correct = a
        u = (1.0 if a == correct else 0.0) - q[a]
        mean += u * q[a]
        dissimilarity += 0.5 * u * u
    if correct < 0:  # the expert's action is impossible here (a beam dropped it): its probability is 0
        dissimilarity += 0.5
    for a in range(m):
        q[a] = q[a] / temperature * ((1.0 if a == correct else 0.0) - q[a] - mean)
    return dissimilarity


@lean
def _pull(chart: Chart, symbol: int, start: int, width: int, rule: int, split: int, g: float, pull: Pull) -> None:
    """Add to an action's rule and to the constituents that it introduces."""
    rules = chart.rules
    if rules.is_top[symbol]:
        pull.rule[rules.binary.shape[0] + rule] += g
        pull.constituent[place(chart, rules.unary[rule, 1], start, width)] += g
    else:
        pull.rule[rule] += g
        pull.constituent[place(chart, rules.binary[rule, 1], start, split)] += g
        pull.constituent[place(chart, rules.binary[rule, 2], start + split, width - split)] += g
