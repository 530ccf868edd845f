"""Online updates of a linear policy from the costs of actions.

Every rule sees one example: the features of a state, its admissible actions, their scores s(a) = w·φ(s, a) under the
current weights, and their costs c(a) ≥ 0, of which the smallest is 0. The *correct* action a* is the best-scoring one
among those of the least cost; its *rival* a is the costly action that violates the margin most. With costs of 0 and 1
all rules are the textbook ones for classification.

Features are indicators: φ(s, a) has the value 1 in one place for each feature of the state crossed with a, and for each
further feature of the action. Features that two actions share cancel in the difference of their feature vectors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.policies.adagrad import adagrad
from treewright.policies.learning import Online, Updating
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.examples import Examples, read_example
from treewright.search.policy import Scratch
from treewright.search.scoring import argmax, argmin, place, score_features
from treewright.settings import Flag, Like, Real, Setting, check_fields, construct, current_names, one_of

__all__ = [
    "AROW",
    "AVERAGED",
    "MARGIN",
    "STEP_SIZE",
    "UPDATE",
    "UPDATES",
    "LogLinear",
    "Model",
    "PassiveAggressive",
    "Perceptron",
    "Regression",
    "Update",
    "learn_pass",
    "make_update",
    "new_model",
    "update_settings",
]

# settings, also of learners that have no such update
AVERAGED = Setting("averaged", Flag(), "Average the weights over time")
MARGIN = Setting("margin", Real(0), "The required margin between correct and wrong actions, per unit of cost")
STEP_SIZE = Setting("step_size", Real(above=0), "The step size of updates", why="without a step nothing is learned")
AGGRESSIVENESS = Setting("C", Real(above=0), "The largest step of passive-aggressive", flags="--C")
CAP = Setting("cap", Real(above=0), "The largest cost for regression; higher costs are reduced to it")
CAUTION = Setting("r", Real(above=0), "The regularisation of arow: large values mean small steps", flags="--r")


class Model(NamedTuple):
    """The arrays that learning changes."""

    weights: npt.NDArray[np.float32]  # rows × width
    spread: npt.NDArray[np.float32]  # AROW's variances, AdaGrad's sums of squares; 1 × 1 where not needed
    totals: npt.NDArray[np.float32]  # Σ clock·change, for averaging; 1 × 1 where not needed
    clock: npt.NDArray[np.int64]  # examples seen


class Rule(NamedTuple):
    """The numbers of an update; each update's ``rule`` defines ``strength`` and ``margin``.

    The code distinguishes the updates that compare two actions.
    """

    code: int
    strength: float
    margin: float
    averaged: bool


@dataclass(frozen=True, kw_only=True)
class Update:
    """The base class of updates: with ``averaged``, the result is the mean of the weights over time (Collins 2002)."""

    code: ClassVar[int] = -1
    name: ClassVar[str] = ""
    initial_spread: ClassVar[float | None] = None
    settings: ClassVar[tuple[Setting, ...]] = (AVERAGED,)
    averaged: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def rule(self) -> Rule:
        """The update as the kernels see it."""
        raise NotImplementedError

    def online(self, model: Model) -> Online:
        """The update with the arrays of a model, for a pass."""
        return Online(MARGIN_UPDATING, self.rule(), model)

    def params(self) -> dict[str, Any]:
        """The name and the settings, as plain values."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class Perceptron(Update):
    """The (averaged) perceptron: on a mistake, w ← w + √c(a)·(φ(s, a*) − φ(s, a)).

    The rival is the costly action with the largest s(a) + ``margin``·√c(a). It is a mistake if this is not below s(a*).
    With ``margin`` 0 and costs of 0 and 1 this is the update of the lecture's Algorithm 3, lines 8–10, except that a
    tie counts as a mistake.
    """

    code: ClassVar[int] = 0
    name: ClassVar[str] = "perceptron"
    settings: ClassVar[tuple[Setting, ...]] = (AVERAGED, MARGIN)
    averaged: bool = True
    margin: float = 0.0

    def rule(self) -> Rule:
        """The update as the kernels see it."""
        return Rule(self.code, 1.0, self.margin, self.averaged)


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(Update):
    """Cost-sensitive PA-I (Crammer et al. 2006): the smallest change of w that satisfies the margin, capped at C.

    With ℓ = √c(a) + s(a) − s(a*) and x = φ(s, a*) − φ(s, a): if ℓ > 0, w ← w + τx with τ = min(C, ℓ / ‖x‖²).
    """

    code: ClassVar[int] = 1
    name: ClassVar[str] = "passive-aggressive"
    settings: ClassVar[tuple[Setting, ...]] = (AVERAGED, AGGRESSIVENESS)
    averaged: bool = True
    C: float = 0.1

    def rule(self) -> Rule:
        """The update as the kernels see it."""
        return Rule(self.code, self.C, 1.0, self.averaged)


@dataclass(frozen=True, kw_only=True)
class AROW(Update):
    """Adaptive regularisation of weights, diagonal, cost-sensitive (Goodman §2.5, eq. 2.5–2.6).

    Each weight has a variance Σᵢ, 1 at first. With ℓ = √c(a) + s(a) − s(a*) (eq. 2.6, margin scaling by the root of the
    cost) and x = φ(s, a*) − φ(s, a): if ℓ > 0, then w ← w + ℓ/(xᵀΣx + r)·Σx and Σᵢ ← Σᵢ·r/(r + Σᵢxᵢ²).
    This minimises KL(N(w, Σ) ‖ N(w', Σ')) + ℓ(w)²/2r + xᵀΣx/2r over w and diagonal Σ. It is eq. 2.5, where r is called
    C, with the loss squared, as in Crammer et al. (2009), whose closed form this is; a loss that is not squared has no
    such form. A large r means small steps.
    """

    code: ClassVar[int] = 2
    name: ClassVar[str] = "arow"
    settings: ClassVar[tuple[Setting, ...]] = (AVERAGED, CAUTION)
    initial_spread: ClassVar[float | None] = 1.0
    r: float = 30.0

    def rule(self) -> Rule:
        """The update as the kernels see it."""
        return Rule(self.code, self.r, 1.0, self.averaged)


@dataclass(frozen=True, kw_only=True)
class LogLinear(Update):
    """A log-linear (softmax) policy trained by AdaGrad (Duchi et al. 2011).

    The loss is −log Σ{p(a) : c(a) = 0}, where p(a) ∝ exp(s(a) + ``margin``·c(a)): costs make the wrong actions
    more probable while learning (softmax-margin); with ``margin`` 0 it is the likelihood of the correct actions.
    Every weight has its own step ``step_size`` / √(sum of its squared gradients).
    """

    code: ClassVar[int] = 3
    name: ClassVar[str] = "log-linear"
    settings: ClassVar[tuple[Setting, ...]] = (AVERAGED, STEP_SIZE, MARGIN)
    initial_spread: ClassVar[float | None] = 0.0
    step_size: float = 0.1
    margin: float = 1.0

    def rule(self) -> Rule:
        """The update as the kernels see it."""
        return Rule(self.code, self.step_size, self.margin, self.averaged)

    def online(self, model: Model) -> Online:
        """The update with the arrays of a model, for a pass."""
        return Online(SOFTMAX_UPDATING, self.rule(), model)


@dataclass(frozen=True, kw_only=True)
class Regression(Update):
    """Cost-sensitive one-against-all (as in Vowpal Wabbit): −s(a) is an estimate of the cost of a, by least squares.

    The target of s(a) is c̄ − c(a), where c̄ is the mean over the actions of the state. Only differences within a state
    matter, and a weight that no example has changed belongs to an action of average cost. Noise of single roll-outs
    averages out, because no action is declared the correct one.

    Costs above ``cap`` count as ``cap``: otherwise the few most expensive decisions would dominate the squares. Every
    weight has its own step ``step_size`` / √(sum of its squared errors), as in AdaGrad, and the steps of one action
    together are shortened so that its score never passes the target: with u the sum of the steps, the score goes 1 −
    e⁻ᵘ of the way (the importance-aware update of Karampatziakis & Langford 2011). Errors below 0.001 are ignored.
    """

    code: ClassVar[int] = 4
    name: ClassVar[str] = "regression"
    settings: ClassVar[tuple[Setting, ...]] = (AVERAGED, STEP_SIZE, CAP)
    initial_spread: ClassVar[float | None] = 0.0
    averaged: bool = True
    step_size: float = 0.1
    cap: float = 1.0

    def rule(self) -> Rule:
        """The update as the kernels see it."""
        return Rule(self.code, self.step_size, self.cap, self.averaged)

    def online(self, model: Model) -> Online:
        """The update with the arrays of a model, for a pass."""
        return Online(REGRESSION_UPDATING, self.rule(), model)


#: the updates by name
UPDATES: dict[str, type[Update]] = {u.name: u for u in (Perceptron, PassiveAggressive, AROW, LogLinear, Regression)}

PERCEPTRON, PASSIVE_AGGRESSIVE = 0, 1


def make_update(update: str | Update | dict[str, Any]) -> Update:
    """An update from its name, from its settings, or as it is.

    >>> make_update("arow")
    AROW(averaged=False, r=30.0)
    >>> make_update({"name": "perceptron", "margin": 2.0}).margin
    2.0
    """
    if isinstance(update, Update):
        return update
    settings = update_settings(update)
    return construct("update", UPDATES[settings.pop("name")], settings)


def update_settings(update: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an update by their present names, with its ``name`` first.

    >>> update_settings({"name": "arow", "C": 3.0})
    {'name': 'arow', 'r': 3.0}
    """
    if not isinstance(update, (str, Mapping)):
        raise ConfigError(
            f"is a name, a dictionary of settings with its name, or an object such as AROW(), not {update!r}",
            setting="update",
            value=update,
        )
    settings = {"name": update} if isinstance(update, str) else dict(update)
    name = settings.pop("name", None)
    if name is None:
        raise ConfigError(f"has settings and no name; the names are: {', '.join(UPDATES)}", setting="update")
    if name not in UPDATES:
        raise ConfigError(one_of(name, UPDATES), setting="update", value=name)
    known = [field.name for field in fields(UPDATES[name])]
    return {"name": name, **current_names(settings, known, "update", f"update {name!r}")}


#: the update of a learner that trains a classifier
UPDATE = Setting("update", Like(make_update, "an update", lambda made: made.params()), "The update of the classifier")


def new_model(update: Update, rows: int, width: int) -> Model:
    """Fresh weights, all zero."""
    nothing = (1, 1)
    spread = update.initial_spread
    return Model(
        np.zeros((rows, width), np.float32),
        np.full(nothing if spread is None else (rows, width), 0.0 if spread is None else spread, np.float32),
        np.zeros((rows, width) if update.averaged else nothing, np.float32),
        np.zeros(1, np.int64),
    )


def final_weights(model: Model, update: Update) -> npt.NDArray[np.float32]:
    """The weights for decoding: the last ones themselves, or the mean over time if ``averaged``.

    After T examples the mean is (w₀ + w₁ + … + w_T) / (T + 1). The change that example t made is in all but the first t
    of these, so the mean is w_T − Σ t·changeₜ / (T + 1).
    """
    if not update.averaged:
        return model.weights
    mean = np.empty_like(model.weights)
    mean_pass(model, mean)
    return mean


@kernel
def mean_pass(model: Model, out: Any) -> None:
    """The mean of the weights over time, without the temporary arrays of double size that NumPy would make."""
    rows, width = model.weights.shape
    examples = np.float64(model.clock[0] + 1)
    for r in range(rows):
        for c in range(width):
            out[r, c] = np.float32(np.float64(model.weights[r, c]) - np.float64(model.totals[r, c]) / examples)


# ---- inside kernels: common to all updates


@lean
def change(rule: Rule, model: Model, r: int, c: int, amount: float) -> None:
    """Add to one weight, and to the sum that averaging needs."""
    model.weights[r, c] = np.float32(np.float64(model.weights[r, c]) + amount)
    if rule.averaged:
        model.totals[r, c] = np.float32(np.float64(model.totals[r, c]) + np.float64(model.clock[0]) * amount)


class Pair(NamedTuple):
    """The correct action and its rival, −1 where all actions cost the same, and by how much the margin is violated.

    ``lowest`` is the least cost, and ``regret`` the cost of the preferred action beyond it.
    """

    correct: int
    rival: int
    loss: float
    lowest: float
    regret: float


@lean
def compare(margin: float, n: int, costs: Any, scores: Any) -> Pair:
    """Find a* and a among ``n`` actions: see the top of this module."""
    lowest = np.float64(costs[argmin(costs, n)])
    correct = -1
    rival = -1
    rival_value = 0.0
    rooted, root = 1.0, 1.0  # most costs are equal, so one square root is enough for all of them
    for k in range(n):
        cost = np.float64(costs[k]) - lowest
        if cost <= 0.0:
            if correct < 0 or scores[k] > scores[correct]:
                correct = k
        else:
            if cost != rooted:
                rooted, root = cost, math.sqrt(cost)
            value = np.float64(scores[k]) + margin * root
            if rival < 0 or value > rival_value:
                rival, rival_value = k, value
    regret = np.float64(costs[argmax(scores, n)]) - lowest
    return Pair(correct, rival, rival_value - np.float64(scores[correct]), lowest, regret)


@lean
def credit_features(rule: Rule, model: Model, size: int, amount: float, scratch: Scratch) -> None:
    """w ← w + ``amount``·φ(s, a), for the state in scratch and its first action."""
    rows, width = model.weights.shape
    last = np.int64(rows) - np.int64(1)
    for i in range(size):
        r, c = place(scratch.observed[i], scratch.actions[0], rows, width)
        change(rule, model, r, c, amount)
    if scratch.extra.shape[0] > 0:
        for i in range(scratch.extra_at[1]):
            change(rule, model, np.int64(scratch.extra[i]) & last, 0, amount)


class LinearUpdating(Updating):
    """The parts that all updates of a linear policy share."""

    @staticmethod
    def credit(online: Online, size: int, amount: float, scratch: Scratch) -> None:
        """Add the features of the action to the weights."""
        credit_features(online.rule, online.model, size, amount, scratch)

    @staticmethod
    def tick(online: Online) -> None:
        """Count one more example."""
        online.model.clock[0] += 1


# ---- updates that compare two actions


@lean
def _is_in(value: int, values: Any, start: int, end: int) -> bool:
    found = False
    for i in range(start, end):
        found = found or values[i] == value
    return found


@compiled
def difference(model: Model, size: int, pair: Pair, scratch: Scratch) -> tuple[Any, Any, Any, int]:
    """x = φ(s, a*) − φ(s, a), as rows, columns and signs of its n entries; shared features cancel."""
    rows, width = model.weights.shape
    extra, extra_at = scratch.extra, scratch.extra_at
    further = extra_at[pair.correct + 1] - extra_at[pair.correct] + extra_at[pair.rival + 1] - extra_at[pair.rival]
    most = 2 * size + further
    r, c, sign = np.empty(most, np.int64), np.zeros(most, np.int64), np.empty(most, np.float64)
    n = 0
    for side in range(2):
        k, other = (pair.correct, pair.rival) if side == 0 else (pair.rival, pair.correct)
        for i in range(size):
            r[n], c[n] = place(scratch.observed[i], scratch.actions[k], rows, width)
            sign[n] = 1.0 - 2.0 * side
            n += 1
        for i in range(extra_at[k], extra_at[k + 1]):
            if not _is_in(extra[i], extra, extra_at[other], extra_at[other + 1]):
                r[n] = np.int64(extra[i]) & (np.int64(rows) - np.int64(1))
                sign[n] = 1.0 - 2.0 * side
                n += 1
    return r, c, sign, n


@compiled
def margin_step(rule: Rule, model: Model, size: int, pair: Pair, cost: float, scratch: Scratch) -> None:
    """One step of the perceptron, of PA-I or of AROW; ``cost`` is the rival's cost beyond the least one."""
    r, c, sign, entries = difference(model, size, pair, scratch)
    if rule.code == PERCEPTRON:
        τ = math.sqrt(cost)
        for i in range(entries):
            change(rule, model, r[i], c[i], τ * sign[i])
    elif rule.code == PASSIVE_AGGRESSIVE:
        τ = min(rule.strength, pair.loss / np.float64(max(entries, 1)))  # ‖x‖² is the number of entries, all ±1
        for i in range(entries):
            change(rule, model, r[i], c[i], τ * sign[i])
    else:
        C = rule.strength
        variance = 0.0  # xᵀΣx
        for i in range(entries):
            variance += np.float64(model.spread[r[i], c[i]])
        α = pair.loss / (variance + C)
        for i in range(entries):
            σ = np.float64(model.spread[r[i], c[i]])
            change(rule, model, r[i], c[i], α * σ * sign[i])
            model.spread[r[i], c[i]] = np.float32(σ * C / (C + σ))


class MarginUpdating(LinearUpdating):
    """The updates that compare the correct action with its rival: perceptron, passive-aggressive, AROW."""

    @staticmethod
    def update(online: Online, size: int, n: int, scratch: Scratch) -> float:
        """Learn where the margin is violated."""
        rule, model = online.rule, online.model
        model.clock[0] += 1
        pair = compare(rule.margin, n, scratch.costs, scratch.scores)
        satisfied = pair.loss < 0.0 or (pair.loss == 0.0 and rule.code != PERCEPTRON)
        if pair.rival >= 0 and not satisfied:
            margin_step(rule, model, size, pair, np.float64(scratch.costs[pair.rival]) - pair.lowest, scratch)
        return pair.regret


# ---- the log-linear update


@lean
def descend(rule: Rule, model: Model, r: int, c: int, g: float) -> None:
    """One step of AdaGrad for one weight."""
    squares, amount = adagrad(np.float64(model.spread[r, c]), g, rule.strength, 1e-8)
    model.spread[r, c] = np.float32(squares)
    change(rule, model, r, c, amount)


@compiled
def softmax_step(rule: Rule, model: Model, size: int, n: int, pair: Pair, scratch: Scratch) -> None:
    """One step of AdaGrad on −log Σ{p(a) : c(a) = 0}, whose gradient by s(a) is p(a) − p(a | c(a) = 0)."""
    rows, width = model.weights.shape
    scores, costs, lowest = scratch.scores, scratch.costs, pair.lowest
    gradients = np.empty(n, np.float64)
    highest = np.float64(scores[pair.correct])
    for k in range(n):
        gradients[k] = np.float64(scores[k]) + rule.margin * (np.float64(costs[k]) - lowest)
        highest = max(highest, gradients[k])
    everything = 0.0
    correct_mass = 0.0
    for k in range(n):
        gradients[k] = math.exp(gradients[k] - highest)  # the largest is 1: nothing overflows
        everything += gradients[k]
        if costs[k] <= lowest:
            correct_mass += gradients[k]
    for k in range(n):
        mass = gradients[k]
        gradients[k] = mass / everything
        if costs[k] <= lowest and correct_mass > 0.0:
            gradients[k] -= mass / correct_mass
        elif k == pair.correct:  # all correct actions have underflowed
            gradients[k] -= 1.0
    for k in range(n):
        if abs(gradients[k]) > 1e-7:
            for i in range(size):
                r, c = place(scratch.observed[i], scratch.actions[k], rows, width)
                descend(rule, model, r, c, gradients[k])
    # actions may share features: the sum of their gradients counts
    entries = scratch.extra_at[n]
    if entries > 0:
        at, g = np.empty(entries, np.int64), np.empty(entries, np.float64)
        for k in range(n):
            for i in range(scratch.extra_at[k], scratch.extra_at[k + 1]):
                at[i] = np.int64(scratch.extra[i]) & (np.int64(rows) - np.int64(1))
                g[i] = gradients[k]
        order = np.argsort(at, kind="mergesort")
        total = 0.0
        for i in range(entries):
            total += g[order[i]]
            if i + 1 == entries or at[order[i + 1]] != at[order[i]]:
                if abs(total) > 1e-7:
                    descend(rule, model, at[order[i]], 0, total)
                total = 0.0


class SoftmaxUpdating(LinearUpdating):
    """The log-linear update."""

    @staticmethod
    def update(online: Online, size: int, n: int, scratch: Scratch) -> float:
        """Learn in states where the costs of actions differ."""
        rule, model = online.rule, online.model
        model.clock[0] += 1
        pair = compare(rule.margin, n, scratch.costs, scratch.scores)
        if pair.rival >= 0:
            softmax_step(rule, model, size, n, pair, scratch)
        return pair.regret


# ---- regression on costs

NEGLIGIBLE = 1e-3  # errors below this are ignored: most actions of most states are estimated well


@lean
def action_places(model: Model, size: int, k: int, scratch: Scratch, r: Any, c: Any) -> int:
    """Write the rows and columns of φ(s, a) for action ``k``, and return their number."""
    rows, width = model.weights.shape
    for i in range(size):
        r[i], c[i] = place(scratch.observed[i], scratch.actions[k], rows, width)
    n = np.int64(size)
    for i in range(scratch.extra_at[k], scratch.extra_at[k + 1]):
        r[n], c[n] = np.int64(scratch.extra[i]) & (np.int64(rows) - np.int64(1)), np.int64(0)
        n += 1
    return n


@lean
def regress(rule: Rule, model: Model, r: Any, c: Any, entries: int, target: float) -> None:
    """Move a score, the sum of some weights, one step towards its target."""
    score = 0.0
    for i in range(entries):
        score += np.float64(model.weights[r[i], c[i]])
    error = score - target
    if abs(error) < NEGLIGIBLE:
        return
    u = 0.0
    for i in range(entries):
        squares = np.float64(model.spread[r[i], c[i]]) + error * error
        model.spread[r[i], c[i]] = np.float32(squares)
        u += rule.strength / math.sqrt(squares)
    share = (1.0 - math.exp(-u)) / u
    for i in range(entries):
        step = rule.strength / math.sqrt(np.float64(model.spread[r[i], c[i]]))
        change(rule, model, r[i], c[i], -error * share * step)


@compiled
def regression_step(rule: Rule, model: Model, size: int, n: int, lowest: float, scratch: Scratch) -> None:
    """Regress the cost of each action in turn, because they may share features."""
    most = size + scratch.extra_at[n]
    r, c = np.empty(most, np.int64), np.empty(most, np.int64)
    mean = 0.0
    for k in range(n):
        mean += min(np.float64(scratch.costs[k]) - lowest, rule.margin) / np.float64(n)
    for k in range(n):
        entries = action_places(model, size, k, scratch, r, c)
        regress(rule, model, r, c, entries, mean - min(np.float64(scratch.costs[k]) - lowest, rule.margin))


class RegressionUpdating(LinearUpdating):
    """The regression on costs."""

    @staticmethod
    def update(online: Online, size: int, n: int, scratch: Scratch) -> float:
        """Learn in every state, even if all actions cost the same."""
        rule, model = online.rule, online.model
        model.clock[0] += 1
        pair = compare(1.0, n, scratch.costs, scratch.scores)
        regression_step(rule, model, size, n, pair.lowest, scratch)
        return pair.regret


MARGIN_UPDATING, SOFTMAX_UPDATING = MarginUpdating(), SoftmaxUpdating()
REGRESSION_UPDATING = RegressionUpdating()


@kernel
def learn_pass(
    online: Online, examples: Examples, order: Any, mistakes: Any, scratch: Scratch, control: Any, slot: int
) -> float:
    """Learn from the examples ``order`` once; return the sum of the costs of the preferred actions.

    ``mistakes[e]`` increases by one if the preferred action has a cost.
    """
    weights = online.model.weights
    total = 0.0
    for position in range(order.shape[0]):
        if control[0] != 0:
            break
        e = order[position]
        control[slot] += 1
        n, size = read_example(examples, e, scratch)
        score_features(weights, size, n, scratch)
        regret = online.kind.update(online, size, n, scratch)
        total += regret
        if regret > 0.0:
            mistakes[e] += 1
    return total
