"""Structured learning with beam search: the perceptron over whole episodes, where the search itself goes wrong.

Imitation learning asks of every single action whether it was right. Here a sentence is searched with a beam, as it
will be when parsing, beside the *gold* episode: in each state the expert's action, the first of the least cost. Where
the search does not end with the gold episode, the weights move towards a prefix of it and away from the best
hypothesis of the same number of steps: w ← w + Φ(gold prefix) − Φ(hypothesis).

Which prefix, is the choice. The update must fix a *violation*, a hypothesis that scores no less than the gold prefix
(Huang, Fayong & Guo 2012); whole episodes often are none, because the search lost the gold one although it scores more.
A hypothesis that is finished waits for the others with its score, as in decoding, and so does the gold episode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners.registry import PASSES, Family, Learner, register
from treewright.policies.updates import UPDATE, Model, Perceptron, Rule, _change
from treewright.search.compiling import compiled, kernel
from treewright.search.engine import (
    EXPERT,
    INTERRUPTED,
    NO_ACTION,
    NOT_FINAL,
    TOO_MANY_ACTIONS,
    Scratch,
    _insert,
    new_scratch,
    observe,
    roll_out,
    score,
)
from treewright.search.scoring import argmin, place
from treewright.settings import Choice, Setting

__all__ = ["STRUCTURED", "EarlyUpdate", "MaxViolation", "Structured", "structured_pass"]

VIOLATION = Setting(
    "violation",
    Choice({"max": "where the search is worst", "early": "where it is first wrong"}),
    "Where to learn in a search with a beam",
)


@dataclass(frozen=True, kw_only=True)
class Structured(Learner):
    """The structured perceptron with beam search, a *violation-fixing* perceptron (Huang, Fayong & Guo 2012).

    * ``violation``: the prefix to learn from: ``early``, that of the step where the gold episode falls out of the beam
      (the search ends there), or the whole one if that never happens; or ``max``, that of the step where the best
      hypothesis exceeds the gold prefix most. Where the search ends with the gold episode, nothing is learned.
    * ``passes`` over the corpus.
    * ``update``: the perceptron, averaged over sentences unless told otherwise (Collins 2002), and without margin.

    The width of the beam is given to :func:`~treewright.learners.train`: it should be the one to decode with.
    """

    name: ClassVar[str] = "structured"
    source: ClassVar[str] = "Huang et al. 2012"
    settings: ClassVar[tuple[Setting, ...]] = (PASSES, VIOLATION, UPDATE)

    data: ClassVar[str] = "online"  # as in Imitation: each sentence is learned from at once

    passes: int = 10
    violation: str = "max"
    update: Perceptron = field(default_factory=Perceptron)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.update, Perceptron):
            raise ConfigError(
                f"cannot be {self.update.name!r} with the learner {self.name!r}, which compares whole episodes: there "
                "is the perceptron only",
                setting="update",
                value=self.update,
            )
        if self.update.margin != 0.0:
            raise ConfigError(
                f"must be 0 with the learner {self.name!r}, which compares whole episodes, not {self.update.margin:g}",
                setting="margin",
                value=self.update.margin,
            )


@dataclass(frozen=True, kw_only=True)
class EarlyUpdate(Structured):
    """Stop the search and learn where the gold episode falls out of the beam (Collins & Roark 2004)."""

    name: ClassVar[str] = "early-update"
    source: ClassVar[str] = "Collins & Roark 2004"
    violation: str = "early"


@dataclass(frozen=True, kw_only=True)
class MaxViolation(Structured):
    """Search to the end and learn where the best hypothesis exceeds the gold most (Huang, Fayong & Guo 2012)."""

    name: ClassVar[str] = "max-violation"
    source: ClassVar[str] = "Huang et al. 2012"
    violation: str = "max"


#: the named algorithms that learn with beam search; add your own under its name, as in ``LEARNERS``
STRUCTURED: dict[str, type[Structured]] = {row.name: row for row in (EarlyUpdate, MaxViolation, Structured)}

FAMILY = register(
    Family(
        "beam",
        "With a beam",
        "searches with a beam",
        Structured,
        STRUCTURED,
        lambda learner: {"learner": learner.name, "violation": learner.violation, "source": learner.source},
        "structured",
    )
)


class Lattice(NamedTuple):
    """The working space of the search: the beam, and how each of its hypotheses came about, step by step."""

    beam: npt.NDArray[np.int32]
    successors: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float64]
    best_scores: npt.NDArray[np.float64]
    is_gold: npt.NDArray[np.bool_]  # is this hypothesis a prefix of the gold episode?
    will_be_gold: npt.NDArray[np.bool_]
    parents: npt.NDArray[np.int64]  # steps × width
    moves: npt.NDArray[np.int64]  # −1: was finished already
    gold: npt.NDArray[np.int32]  # the actions of the gold episode
    gold_scores: npt.NDArray[np.float64]  # in sum, after so many of them


@compiled
def _new_lattice(width: int, size: int, steps: int) -> Lattice:
    return Lattice(
        np.zeros((width, size), np.int32),
        np.zeros((width, size), np.int32),
        np.zeros(width, np.float64),
        np.zeros(width, np.float64),
        np.zeros(width, np.bool_),
        np.zeros(width, np.bool_),
        np.zeros((steps + 1, width), np.int64),
        np.zeros((steps + 1, width), np.int64),
        np.zeros(steps + 1, np.int32),
        np.zeros(steps + 1, np.float64),
    )


@compiled
def _follow_expert(task: Any, x: Any, state: Any, weights: Any, bound: int, lattice: Lattice, scratch: Scratch) -> int:
    """Write the gold episode and its scores to the lattice; return its length or a code of trouble."""
    lattice.gold_scores[0] = 0.0
    for t in range(bound + 1):
        if task.is_final(x, state):
            return t
        if t == bound:
            break
        n = task.actions(x, state, scratch.actions)
        if n <= 0 or n > scratch.actions.shape[0]:
            return NO_ACTION if n <= 0 else TOO_MANY_ACTIONS
        n_features = observe(task, x, state, n, scratch)
        if n_features < 0:
            return n_features
        score(weights, n_features, n, scratch)
        k = 0
        if n > 1:
            task.expert_costs(x, state, scratch.actions, n, scratch.costs)
            k = argmin(scratch.costs, n)
        lattice.gold[t] = scratch.actions[k]
        # added up as in the beam, so that equal episodes have equal scores
        lattice.gold_scores[t + 1] = lattice.gold_scores[t] + np.float64(scratch.scores[k])
        task.step(x, state, np.int64(scratch.actions[k]))
    return NOT_FINAL


@compiled
def _search(
    task: Any,
    x: Any,
    state: Any,
    work: Any,
    weights: Any,
    width: int,
    bound: int,
    early: bool,
    gold_length: int,
    lattice: Lattice,
    scratch: Scratch,
) -> tuple[int, int]:
    """Beam search as in ``beam_pass``, from ``state``, which views ``work`` and becomes the best hypothesis.

    Returns after how many steps the search ended (or a code of trouble), and the step to learn from, 0 for none.
    """
    size = work.shape[0]
    beam, successors = lattice.beam, lattice.successors
    is_gold, will_be_gold = lattice.is_gold, lattice.will_be_gold
    scores, best_scores, gold_scores = lattice.scores, lattice.best_scores, lattice.gold_scores
    beam[0, :size] = work
    scores[0] = 0.0
    is_gold[0] = True
    alive = 1
    chosen = 0
    largest = 0.0
    for step in range(bound + 1):
        parents, moves = lattice.parents[step], lattice.moves[step]
        found = 0
        unfinished = 0
        for b in range(alive):
            work[:] = beam[b, :size]
            if task.is_final(x, state):
                found = _insert(best_scores, parents, moves, found, width, scores[b], b, -1)
                continue
            unfinished += 1
            count = task.actions(x, state, scratch.actions)
            if count <= 0 or count > scratch.actions.shape[0]:
                return NO_ACTION if count <= 0 else TOO_MANY_ACTIONS, 0
            n_features = observe(task, x, state, count, scratch)
            if n_features < 0:
                return n_features, 0
            score(weights, n_features, count, scratch)
            for k in range(count):
                total: Any = scores[b] + np.float64(scratch.scores[k])
                action: Any = np.int64(scratch.actions[k])
                found = _insert(best_scores, parents, moves, found, width, total, b, action)
        if unfinished == 0:
            work[:] = beam[0, :size]
            if is_gold[0]:
                return step, 0
            if early:  # never fell out, but is not the best
                return step, step
            for t in range(step + 1, gold_length + 1):  # the gold episode is longer than all others
                violation = scores[0] - gold_scores[t]
                if violation > largest:
                    chosen, largest = t, violation
            return step, chosen
        if step == bound:
            break
        gold_move = np.int64(lattice.gold[step]) if step < gold_length else np.int64(-1)
        kept = False
        for b in range(found):
            work[:] = beam[parents[b], :size]
            if moves[b] >= 0:
                task.step(x, state, moves[b])
            successors[b, :size] = work
            scores[b] = best_scores[b]
            will_be_gold[b] = is_gold[parents[b]] and moves[b] == gold_move
            kept = kept or will_be_gold[b]
        beam, successors = successors, beam
        is_gold, will_be_gold = will_be_gold, is_gold
        alive = found
        if early and not kept:
            work[:] = beam[0, :size]
            return step + 1, step + 1
        if not is_gold[0]:
            violation = scores[0] - gold_scores[min(step + 1, gold_length)]
            if chosen == 0 or violation > largest:
                chosen, largest = step + 1, violation
    return NOT_FINAL, 0


@compiled
def _trace(lattice: Lattice, steps: int, rival: Any) -> int:
    """Write the actions of the best hypothesis after ``steps`` steps to ``rival``; return how many there are."""
    length = 0
    b: Any = 0
    for t in range(steps - 1, -1, -1):
        if lattice.moves[t, b] >= 0:
            length = max(length, t + 1)
            rival[t] = lattice.moves[t, b]
        b = lattice.parents[t, b]
    return length


@compiled
def _credit(
    task: Any,
    x: Any,
    state: Any,
    actions: Any,
    start: int,
    end: int,
    amount: float,
    rule: Rule,
    model: Model,
    scratch: Scratch,
) -> None:
    """Follow ``actions`` from the initial state; add ``amount`` to the weights of their features from ``start`` on."""
    rows, width = model.weights.shape
    last = np.int64(rows) - np.int64(1)
    for t in range(end):
        if t >= start:
            for i in range(task.features(x, state, scratch.features)):
                r, c = place(scratch.features[i], actions[t], rows, width)
                _change(rule, model, r, c, amount)
            if scratch.extra.shape[0] > 0:
                for i in range(task.action_features(x, state, actions[t], scratch.one)):
                    row: Any = np.int64(scratch.one[i]) & last
                    _change(rule, model, row, 0, amount)
        task.step(x, state, np.int64(actions[t]))


@kernel
def structured_pass(
    task: Any,
    corpus: Any,
    order: Any,
    first: int,
    last: int,
    width: int,
    early: bool,
    rule: Rule,
    model: Model,
    sizes: Any,
    bounds: Any,
    shape: tuple[int, int, bool],
    outcome: Any,
    control: Any,
    slot: int,
) -> None:
    """Search the sentences ``order[first:last]`` with a beam of ``width`` and learn from each at once.

    ``outcome`` receives, for each sentence by its number: the loss of the beam's best before the update (where the
    search ended early, finished by the expert), the steps to there, 1 if there was a violation, and the code of
    trouble. As in decoding with a beam, an action that has no alternative is scored too, and so learned about.
    """
    scratch = new_scratch(shape[0], shape[1], shape[2])
    longest, most_steps = 1, 1
    for position in range(first, last):
        longest = max(longest, sizes[order[position]])
        most_steps = max(most_steps, bounds[order[position]])
    lattice = _new_lattice(width, longest, most_steps)
    rival = np.zeros(most_steps + 1, np.int32)
    work_room = np.zeros(longest, np.int32)
    expert_only = np.ones(2, np.float64)
    rows, columns = model.weights.shape
    policies = model.weights.reshape((1, rows, columns))
    for position in range(first, last):
        i = order[position]
        if control[0] != 0:
            outcome[i, 3] = INTERRUPTED
            continue
        outcome[i, :] = 0.0
        control[slot] += 1
        x = task.instance_view(corpus, i)
        work = work_room[: sizes[i]]
        state = task.state_view(work, np.int64(corpus.n[i]))
        work[:] = 0
        task.initial(x, state)
        length = _follow_expert(task, x, state, model.weights, bounds[i], lattice, scratch)
        if length < 0:
            outcome[i, 3] = length
            continue
        work[:] = 0
        task.initial(x, state)
        # fmt: off
        steps, chosen = _search(task, x, state, work, model.weights, width, bounds[i], early, length, lattice, scratch)
        if steps < 0:
            outcome[i, 3] = steps
            continue
        more, loss = roll_out(task, x, state, policies, expert_only, EXPERT, 0, bounds[i], scratch)
        # fmt: on
        if more < 0:
            outcome[i, 3] = more
            continue
        outcome[i, 0], outcome[i, 1] = loss, steps + more
        model.clock[0] += 1
        if chosen == 0:
            continue
        outcome[i, 2] = 1.0
        rival_length = _trace(lattice, min(chosen, steps), rival)
        length = min(chosen, length)
        common = 0
        while common < min(length, rival_length) and lattice.gold[common] == rival[common]:
            common += 1
        work[:] = 0
        task.initial(x, state)
        _credit(task, x, state, lattice.gold, common, length, 1.0, rule, model, scratch)
        work[:] = 0
        task.initial(x, state)
        _credit(task, x, state, rival, common, rival_length, -1.0, rule, model, scratch)
