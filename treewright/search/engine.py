"""The engine: how an episode runs, written once against the protocols of tasks and policies.

An episode is run by the expert or by members of a policy (:class:`~treewright.search.policy.Scorer`). Functions stop
and return a negative error code if something goes wrong (:mod:`treewright.search.trouble`). If the scorer is None, only
the expert acts, and no policy is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled, inlined, lean
from treewright.search.hashing import uniform
from treewright.search.policy import Scorer, Scratch
from treewright.search.scoring import argmax, argmin
from treewright.search.trouble import NO_ACTION, NOT_FINAL, TOO_MANY_ACTIONS

__all__ = [
    "BOTH",
    "EXPERT",
    "EXPLORE",
    "LEARNED",
    "MIX_PER_ROLL",
    "MIX_PER_STATE",
    "MIX_PER_STEP",
    "THE_EXPERT",
    "Episode",
    "RollOut",
    "Sentences",
    "Shard",
    "admissible",
    "begin",
    "decide",
    "deviation_costs",
    "draw_actor",
    "finish",
    "look",
    "roll_out",
    "score_state",
]

# Who acts, in roll-ins and in roll-outs.
EXPERT = 0
LEARNED = 1
MIX_PER_STEP = 2
MIX_PER_ROLL = 3  # one actor from the first step to the last; the others are drawn at every step
BOTH = 4  # roll-outs only: one by the expert, with weight β, and one by the learned policy
EXPLORE = 5  # roll-ins only: CHOOSE_NEXT of Goldberg & Nivre, see learners.passes
MIX_PER_STATE = 6  # roll-outs only: one draw for all actions of a state

THE_EXPERT = -1


class Sentences(NamedTuple):
    """Packed sentences for kernels; the state of sentence i has the cells ``state_at[i]:state_at[i + 1]``."""

    arrays: Any
    state_at: npt.NDArray[np.int64]
    bounds: npt.NDArray[np.int64]  # the maximum number of steps of an episode


class Shard(NamedTuple):
    """The part of a pass that one thread runs: the sentences (or positions in an order) from ``first`` to ``last``.

    ``control[0]`` ≠ 0 is a request to stop; ``control[slot]`` counts the finished sentences.
    """

    first: int
    last: int
    control: npt.NDArray[np.int64]
    slot: int


class Episode(NamedTuple):
    """One sentence in one pass: its number, its instance, its state (flat, and by names), and its bound on steps."""

    i: int
    x: Any
    buffer: npt.NDArray[np.int32]
    state: Any
    bound: int


class RollOut(NamedTuple):
    """How roll-outs run: by ``who``, ``samples`` times, and only for ``cut`` steps if ``cut`` is above 0."""

    who: int
    samples: int
    cut: int


@compiled
def begin(task: Any, sentences: Sentences, i: int, cells: Any) -> Episode:
    """The episode of sentence ``i`` in its initial state, which is written to the beginning of ``cells``."""
    x = task.instance_view(sentences.arrays, i)
    buffer = cells[: sentences.state_at[i + 1] - sentences.state_at[i]]
    state = task.state_view(buffer, np.int64(sentences.arrays.n[i]))
    for j in range(buffer.shape[0]):
        buffer[j] = 0
    task.initial(x, state)
    return Episode(np.int64(i), x, buffer, state, np.int64(sentences.bounds[i]))


@inlined
def admissible(task: Any, x: Any, state: Any, scratch: Scratch) -> int:
    """Write the admissible actions to scratch and return their number, or an error code."""
    n = np.int64(task.actions(x, state, scratch.actions))
    if n <= 0:
        return np.int64(NO_ACTION)
    if n > scratch.actions.shape[0]:
        return np.int64(TOO_MANY_ACTIONS)
    return n


@inlined
def look(task: Any, episode: Episode, scorer: Scorer, scratch: Scratch) -> tuple[int, int]:
    """Write the admissible actions to scratch and, if there is a choice, what the policy observes.

    Returns the number of actions, or an error code, and the size of the observation.
    """
    n, size = admissible(task, episode.x, episode.state, scratch), np.int64(0)
    if n > 1:
        size = np.int64(scorer.kind.observe(task, episode.x, episode.i, episode.state, n, scratch))
    return (n, size) if size >= 0 else (size, np.int64(0))


@inlined
def score_state(task: Any, episode: Episode, scorer: Scorer, member: int, n: int, scratch: Scratch) -> int:
    """Score the ``n`` actions in scratch; return the size of the observation, or an error code."""
    size = np.int64(scorer.kind.observe(task, episode.x, episode.i, episode.state, n, scratch))
    if size >= 0:
        scorer.kind.score(scorer.arrays, member, size, n, scratch)
    return size


@inlined
def decide(task: Any, episode: Episode, scorer: Scorer | None, actor: int, scratch: Scratch) -> int:
    """The action that a member of a policy takes (``THE_EXPERT``: the expert's), or an error code."""
    n = admissible(task, episode.x, episode.state, scratch)
    if n < 0:
        return n
    if n == 1:
        return np.int64(scratch.actions[0])
    if scorer is None or actor == THE_EXPERT:
        task.expert_costs(episode.x, episode.state, scratch.actions, n, scratch.costs)
        return np.int64(scratch.actions[argmin(scratch.costs, n)])
    size = score_state(task, episode, scorer, actor, n, scratch)
    if size < 0:
        return size
    return np.int64(scratch.actions[argmax(scratch.scores, n)])


@lean
def draw_actor(scorer: Scorer | None, who: int, random: Any) -> int:
    """Draw who acts: the expert, or the number of a member. ``LEARNED`` excludes the expert."""
    if scorer is None:
        return THE_EXPERT
    mixture = scorer.mixture
    if who == EXPERT:
        return THE_EXPERT
    low = 0.0
    if who == LEARNED:
        low = mixture[0]
        if mixture.shape[0] == 2:
            return 0
    if mixture[0] >= 1.0:
        return THE_EXPERT if who != LEARNED else 0
    if mixture.shape[0] == 2 and mixture[0] <= 0.0:
        return 0
    point = low + (1.0 - low) * uniform(random)
    for p in range(mixture.shape[0] - 1):
        if point < mixture[p]:
            return p - 1
    return mixture.shape[0] - 2


@lean
def finish(task: Any, episode: Episode, scorer: Scorer | None, who: int, cut: int, scratch: Scratch) -> int:
    """Run an episode to its end; after ``cut`` > 0 actions the expert takes over. Returns the number of steps.

    Where a task chooses an action in several steps (its ``is_whole``), only whole actions count for ``cut``, and the
    action that has already begun does not.
    """
    actor = draw_actor(scorer, who, scratch.random)
    taken, counts = np.int64(0), task.is_whole(episode.x, episode.state)
    for steps in range(episode.bound + 1):
        if task.is_final(episode.x, episode.state):
            return steps
        if steps == episode.bound:
            break
        if cut > 0 and taken >= cut:
            if task.partial_loss(episode.x, episode.state) >= 0.0:
                return steps
            actor = THE_EXPERT
        elif steps > 0 and who != MIX_PER_ROLL:
            actor = draw_actor(scorer, who, scratch.random)
        action = decide(task, episode, scorer, actor, scratch)
        if action < 0:
            return action
        task.step(episode.x, episode.state, action)
        if task.is_whole(episode.x, episode.state):
            taken += np.int64(counts)
            counts = True
    return NOT_FINAL


@lean
def roll_out(
    task: Any, episode: Episode, scorer: Scorer | None, who: int, cut: int, scratch: Scratch
) -> tuple[int, float]:
    """Let ``who`` finish an episode; return the number of steps (or an error code), and the loss.

    With ``cut`` > 0 this is focused costing: the roll-out ends after ``cut`` actions, and the loss is the least loss
    still reachable: the task's ``partial_loss``, or else the loss after the expert has finished.
    """
    steps = finish(task, episode, scorer, who, cut, scratch)
    if steps < 0:
        return steps, 0.0
    if task.is_final(episode.x, episode.state):
        return steps, np.float64(task.loss(episode.x, episode.state))
    return steps, np.float64(task.partial_loss(episode.x, episode.state))


@lean
def deviation_costs(
    task: Any,
    episode: Episode,
    rolled: Episode,
    scorer: Scorer,
    rolling: RollOut,
    actions: Any,
    n: int,
    costs: Any,
    scratch: Scratch,
) -> int:
    """The regret of each action: take it, roll out, compare losses (the inner loops of Goodman's Algorithm 6).

    The episode is not changed; each roll-out runs in ``rolled``, a copy of it. The cost is the mean loss over
    ``samples`` roll-outs; ``BOTH`` takes one roll-out by the expert, weighted by β, and one by the learned policy,
    weighted by 1 − β (DetLOLS). With ``MIX_PER_STATE`` one of the two is drawn for each sample, the same for all
    actions.
    """
    β = scorer.mixture[0]
    who = rolling.who
    rolls = 2 if who == BOTH else rolling.samples
    per_state = who == MIX_PER_STATE
    actor = who
    for k in range(n):
        costs[k] = 0.0
    for number in range(n * rolls):
        k, roll = (number % n, number // n) if per_state else (number // rolls, number % rolls)
        weight = 1.0 / np.float64(rolls)
        if per_state and k == 0:
            actor = EXPERT if draw_actor(scorer, who, scratch.random) == THE_EXPERT else LEARNED
        elif who == BOTH:
            actor = EXPERT if roll == 0 else LEARNED
            weight = β if roll == 0 else 1.0 - β
            if weight == 0.0:
                continue
        for j in range(episode.buffer.shape[0]):
            rolled.buffer[j] = episode.buffer[j]
        task.step(rolled.x, rolled.state, actions[k])
        steps, loss = roll_out(task, rolled, scorer, actor, rolling.cut, scratch)
        if steps < 0:
            return steps
        costs[k] += weight * loss
    lowest = costs[argmin(costs, n)]
    for k in range(n):
        costs[k] -= lowest
    return 0
