"""Structured learning with beam search: perceptron updates over whole episodes at search errors.

Imitation learning judges every single action. Here a sentence is searched with a beam, as in parsing, and compared with
the *gold* episode, which takes the expert's action in each state: the first of the least cost. If the search does not
end with the gold episode, the weights move towards a prefix of it and away from the best hypothesis of the same number
of steps: w ← w + Φ(gold prefix) − Φ(hypothesis).

The learners differ in the prefix. The update must fix a *violation*, a hypothesis that scores no less than the gold
prefix (Huang, Fayong & Guo 2012). Whole episodes often are not violations, because the search lost the gold episode
although its score is higher. A finished hypothesis stays in the beam with its score, as in decoding, and so does the
gold episode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners.registry import PASSES, Family, Learner, register
from treewright.policies.learning import Online
from treewright.policies.updates import UPDATE, Perceptron
from treewright.search.beams import Beam, advance, expand, new_beam, show, start, turned
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.engine import EXPERT, Episode, Sentences, Shard, admissible, begin, roll_out, score_state
from treewright.search.examples import Log, add_example, fits, with_room
from treewright.search.policy import Scorer, Scratch
from treewright.search.scoring import argmin
from treewright.search.trouble import INTERRUPTED, NOT_FINAL
from treewright.settings import Choice, Setting

__all__ = [
    "STRUCTURED",
    "EarlyUpdate",
    "Lattice",
    "MaxViolation",
    "Outcome",
    "Structured",
    "check_beam",
    "new_lattice",
    "new_outcome",
    "structured_pass",
]

VIOLATION = Setting(
    "violation",
    Choice({"max": "where the search is worst", "early": "where it is first wrong"}),
    "The step of the beam search to learn from",
)


@dataclass(frozen=True, kw_only=True)
class Structured(Learner):
    """The structured perceptron with beam search, a *violation-fixing* perceptron (Huang, Fayong & Guo 2012).

    * ``violation``: the prefix to learn from: ``early``, that of the step where the gold episode falls out of the beam
      (the search ends there), or the whole one if that never happens; or ``max``, that of the step where the best
      hypothesis exceeds the gold prefix most. Where the search ends with the gold episode, nothing is learned.
    * ``passes`` over the corpus.
    * ``update``: the perceptron, by default averaged over sentences (Collins 2002), and without margin.

    The width of the beam is an argument of :func:`~treewright.learners.train`: it should be the width in decoding.
    """

    name: ClassVar[str] = "structured"
    source: ClassVar[str] = "Huang et al. 2012"
    advice: ClassVar[str] = "--beam 8, or another beam above 1"
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


def check_beam(learner: Learner, beam: int) -> None:
    """Raise :class:`~treewright.errors.ConfigError` for a learner that needs a beam and a search without one."""
    if isinstance(learner, Structured) and beam < 2:
        raise ConfigError(
            f"must be at least 2 for the learner {learner.name!r}, which learns where beam search goes wrong: set it "
            "to 8, say",
            setting="beam",
            value=beam,
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


#: the named algorithms that learn with beam search; you can add your own, as in ``LEARNERS``
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
    """The working space of the search: the beam, and the history of each of its hypotheses, step by step."""

    beam: Beam
    parents: npt.NDArray[np.int64]  # steps × width
    moves: npt.NDArray[np.int64]  # −1: was finished already
    is_gold: npt.NDArray[np.bool_]  # steps × width: whether this hypothesis is a prefix of the gold episode
    gold: npt.NDArray[np.int32]  # the actions of the gold episode
    gold_scores: npt.NDArray[np.float64]  # the sums of their scores up to each step
    rival: npt.NDArray[np.int32]  # the actions of the hypothesis that is learned from


def new_lattice(width: int, size: int, steps: int) -> Lattice:
    """A lattice for states of at most ``size`` cells and episodes of at most ``steps`` steps."""
    return Lattice(
        new_beam(width, size),
        np.zeros((steps + 1, width), np.int64),
        np.zeros((steps + 1, width), np.int64),
        np.zeros((steps + 2, width), np.bool_),
        np.zeros(steps + 1, np.int32),
        np.zeros(steps + 1, np.float64),
        np.zeros(steps + 1, np.int32),
    )


class Outcome(NamedTuple):
    """The results of a pass for each sentence, by its number."""

    losses: npt.NDArray[np.float64]  # of the best hypothesis before the update, finished by the expert if necessary
    steps: npt.NDArray[np.float64]  # to there
    violations: npt.NDArray[np.float64]  # 1 where there was one
    trouble: npt.NDArray[np.int64]  # 0, or an error code


def new_outcome(n: int) -> Outcome:
    """The empty results of a pass over a corpus of ``n`` sentences."""
    return Outcome(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64))


@lean
def follow_expert(task: Any, episode: Episode, scorer: Scorer, lattice: Lattice, scratch: Scratch) -> int:
    """Write the gold episode and its scores to the lattice; return its length or an error code."""
    x, state = episode.x, episode.state
    lattice.gold_scores[0] = 0.0
    for t in range(episode.bound + 1):
        if task.is_final(x, state):
            return t
        if t == episode.bound:
            break
        n = admissible(task, x, state, scratch)
        if n < 0:
            return n
        size = score_state(task, episode, scorer, 0, n, scratch)
        if size < 0:
            return size
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
def search(
    task: Any, episode: Episode, scorer: Scorer, early: bool, gold_length: int, lattice: Lattice, scratch: Scratch
) -> tuple[int, int]:
    """Beam search from the initial state of an episode, which ends in the state of the best hypothesis.

    Returns the number of steps of the search (or an error code), and the step to learn from, 0 for none.
    """
    beam, is_gold, gold_scores = lattice.beam, lattice.is_gold, lattice.gold_scores
    start(beam, episode)
    is_gold[0, 0] = True
    alive = 1
    chosen = 0
    largest = 0.0
    for step in range(episode.bound + 1):
        parents, moves = lattice.parents[step], lattice.moves[step]
        found, unfinished = expand(task, episode, scorer, beam, alive, parents, moves, scratch)
        if found < 0:
            return found, 0
        if unfinished == 0:
            show(beam, 0, episode)
            if is_gold[step, 0]:
                return step, 0
            if early:  # never fell out, but is not the best
                return step, step
            for t in range(step + 1, gold_length + 1):  # the gold episode is longer than all others
                violation = beam.scores[0] - gold_scores[t]
                if violation > largest:
                    chosen, largest = t, violation
            return step, chosen
        if step == episode.bound:
            break
        advance(task, episode, beam, found, parents, moves)
        beam, alive = turned(beam), found
        gold_move = np.int64(lattice.gold[step]) if step < gold_length else np.int64(-1)
        kept = False
        for b in range(found):
            is_gold[step + 1, b] = is_gold[step, parents[b]] and moves[b] == gold_move
            kept = kept or is_gold[step + 1, b]
        if early and not kept:
            show(beam, 0, episode)
            return step + 1, step + 1
        if not is_gold[step + 1, 0]:
            violation = beam.scores[0] - gold_scores[min(step + 1, gold_length)]
            if chosen == 0 or violation > largest:
                chosen, largest = step + 1, violation
    return NOT_FINAL, 0


@lean
def trace_back(lattice: Lattice, steps: int) -> int:
    """Write the actions of the best hypothesis after ``steps`` steps to ``rival``; return their number."""
    length = 0
    b: Any = 0
    for t in range(steps - 1, -1, -1):
        if lattice.moves[t, b] >= 0:
            length = max(length, t + 1)
            lattice.rival[t] = lattice.moves[t, b]
        b = lattice.parents[t, b]
    return length


@compiled
def credit_episode(
    task: Any,
    episode: Episode,
    actions: Any,
    first: int,
    last: int,
    amount: float,
    scorer: Scorer,
    online: Online | None,
    log: Log,
    scratch: Scratch,
) -> Log:
    """Follow ``actions`` from the initial state, and credit those from ``first`` to ``last`` with ``amount``.

    Without ``online`` the credits are examples of one action, whose cost is −``amount``.
    """
    for t in range(last):
        if t >= first:
            scratch.actions[0] = actions[t]
            size = scorer.kind.observe(task, episode.x, episode.i, episode.state, 1, scratch)
            if online is not None:
                online.kind.credit(online, size, amount, scratch)
            else:
                scratch.costs[0] = -amount
                if not fits(log, size, 1, scratch.extra_at[1]):
                    log = with_room(log, size, 1, scratch.extra_at[1])
                add_example(log, scratch, size, 1)
        task.step(episode.x, episode.state, np.int64(actions[t]))
    return log


@kernel
def structured_pass(
    task: Any,
    sentences: Sentences,
    order: Any,
    shard: Shard,
    scorer: Scorer,
    online: Online | None,
    early: bool,
    lattice: Lattice,
    scratch: Scratch,
    log: Log,
    outcome: Outcome,
) -> Log:
    """Search the sentences ``order[first:last]`` with a beam, and learn from each at once or add credits to ``log``.

    As in decoding with a beam, an action without alternatives is scored too, and so it is learned.
    """
    cells = lattice.beam.cells
    for position in range(shard.first, shard.last):
        i = order[position]
        if shard.control[0] != 0:
            outcome.trouble[i] = INTERRUPTED
            continue
        shard.control[shard.slot] += 1
        length = follow_expert(task, begin(task, sentences, i, cells), scorer, lattice, scratch)
        if length < 0:
            outcome.trouble[i] = length
            continue
        episode = begin(task, sentences, i, cells)
        steps, chosen = search(task, episode, scorer, early, length, lattice, scratch)
        if steps < 0:
            outcome.trouble[i] = steps
            continue
        more, loss = roll_out(task, episode, None, EXPERT, 0, scratch)
        if more < 0:
            outcome.trouble[i] = more
            continue
        outcome.losses[i], outcome.steps[i] = loss, steps + more
        if online is not None:
            online.kind.tick(online)
        if chosen == 0:
            continue
        outcome.violations[i] = 1.0
        rival_length = trace_back(lattice, min(chosen, steps))
        length = min(chosen, length)
        common = 0
        while common < min(length, rival_length) and lattice.gold[common] == lattice.rival[common]:
            common += 1
        # w ← w + Φ(gold prefix) − Φ(hypothesis), without their common prefix
        episode = begin(task, sentences, i, cells)
        log = credit_episode(task, episode, lattice.gold, common, length, 1.0, scorer, online, log, scratch)
        episode = begin(task, sentences, i, cells)
        log = credit_episode(task, episode, lattice.rival, common, rival_length, -1.0, scorer, online, log, scratch)
    return log
