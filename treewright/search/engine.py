"""The engine: everything that loops over an episode, written once against the protocol of a task.

An episode is run by a *mixture* of policies: ``weights[p]`` is policy number p, and ``mixture`` holds the cumulative
probabilities of the expert and of the policies, in this order: with β for the expert and one learned policy it is
``[β, 1]``. Kernels report trouble by a negative code instead of running on (see :data:`TROUBLE`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import compiled, inlined, kernel, lean
from treewright.search.hashing import seed_random, uniform
from treewright.search.scoring import argmax, argmin, score_actions

__all__ = [
    "BOTH",
    "EXPERT",
    "EXPLORE",
    "LEARNED",
    "MIX_PER_ROLL",
    "MIX_PER_STEP",
    "NO_ROLL_OUT",
    "TROUBLE",
    "Scratch",
    "beam_pass",
    "decide",
    "decode_pass",
    "deviation_costs",
    "draw_policy",
    "new_scratch",
    "roll_out",
    "trajectory_pass",
]

# Who acts: for roll-ins and roll-outs alike.
EXPERT = 0
LEARNED = 1
MIX_PER_STEP = 2
MIX_PER_ROLL = 3
BOTH = 4  # roll-outs only: one by the expert and one by the learned policy, weighted by β
NO_ROLL_OUT = 5  # the expert's own costs are taken instead
EXPLORE = 6  # roll-ins only: CHOOSE_NEXT of Goldberg & Nivre, see learners.passes

THE_EXPERT = -1

NOT_FINAL = -1
NO_ACTION = -2
TOO_MANY_FEATURES = -3
TOO_MANY_ACTIONS = -4
INTERRUPTED = -5
TROUBLE = {
    NOT_FINAL: "is not final after {bound} steps, the declared bound `max_steps`: does `step` always advance?",
    NO_ACTION: "reached a state that is not final and offers no action: look at `actions` and `is_final`",
    TOO_MANY_FEATURES: "has a state with more features than `max_features`: declare more",
    TOO_MANY_ACTIONS: "has a state with more actions than `n_actions`: declare more",
}


class Scratch(NamedTuple):
    """The working space of one thread, allocated once a pass."""

    actions: npt.NDArray[np.int32]
    costs: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float32]
    sums: npt.NDArray[np.float32]
    features: npt.NDArray[np.int32]
    extra: npt.NDArray[np.int32]
    extra_at: npt.NDArray[np.int64]
    one: npt.NDArray[np.int32]
    random: npt.NDArray[np.int64]


@compiled
def new_scratch(n_actions: int, max_features: int, structured: bool) -> Scratch:
    """Working space for states of at most so many actions and features."""
    per_action = max_features if structured else 0
    return Scratch(
        np.zeros(n_actions, np.int32),
        np.zeros(n_actions, np.float64),
        np.zeros(n_actions, np.float32),
        np.zeros(n_actions + 1, np.float32),
        np.zeros(max_features, np.int32),
        np.zeros(n_actions * per_action, np.int32),
        np.zeros(n_actions + 1, np.int64),
        np.zeros(max_features, np.int32),
        np.zeros(2, np.int64),
    )


@inlined
def observe(task: Any, x: Any, state: Any, n: int, scratch: Scratch) -> int:
    """Write the features of the state and of its ``n`` actions to scratch; return how many the state has."""
    n_features = task.features(x, state, scratch.features)
    if n_features > scratch.features.shape[0]:
        return TOO_MANY_FEATURES
    if scratch.extra.shape[0] > 0:
        end = 0
        for k in range(n):
            count = task.action_features(x, state, scratch.actions[k], scratch.one)
            if count > scratch.one.shape[0]:
                return TOO_MANY_FEATURES
            for i in range(count):
                scratch.extra[end + i] = scratch.one[i]
            end += count
            scratch.extra_at[k + 1] = end
    return n_features


@inlined
def score(weights: Any, n_features: int, n: int, scratch: Scratch) -> None:
    """Score the ``n`` actions in scratch by one policy."""
    score_actions(
        weights,
        scratch.features,
        n_features,
        scratch.actions,
        n,
        scratch.extra,
        scratch.extra_at,
        scratch.sums,
        scratch.scores,
    )


@inlined
def decide(task: Any, x: Any, state: Any, weights: Any, policy: int, scratch: Scratch) -> int:
    """The action that a policy takes in a state (``THE_EXPERT``: the expert's), or a code of trouble."""
    n = task.actions(x, state, scratch.actions)
    if n <= 0:
        return NO_ACTION
    if n > scratch.actions.shape[0]:
        return TOO_MANY_ACTIONS
    if n == 1:
        return np.int64(scratch.actions[0])
    if policy == THE_EXPERT:
        task.expert_costs(x, state, scratch.actions, n, scratch.costs)
        return np.int64(scratch.actions[argmin(scratch.costs, n)])
    n_features = observe(task, x, state, n, scratch)
    if n_features < 0:
        return np.int64(n_features)
    score(weights[policy], n_features, n, scratch)
    return np.int64(scratch.actions[argmax(scratch.scores, n)])


@lean
def draw_policy(mixture: Any, who: int, random: Any) -> int:
    """Draw who acts: the expert, or the number of a policy. ``LEARNED`` leaves the expert out."""
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
def finish(
    task: Any, x: Any, state: Any, weights: Any, mixture: Any, who: int, cut: int, bound: int, scratch: Scratch
) -> int:
    """Run an episode to its end; after ``cut`` > 0 steps the expert takes over. Returns the number of steps."""
    policy = draw_policy(mixture, who, scratch.random)
    for steps in range(bound + 1):
        if task.is_final(x, state):
            return steps
        if steps == bound:
            break
        if cut > 0 and steps >= cut:
            if task.partial_loss(x, state) >= 0.0:
                return steps
            policy = THE_EXPERT
        elif steps > 0 and who == MIX_PER_STEP:
            policy = draw_policy(mixture, who, scratch.random)
        action = decide(task, x, state, weights, policy, scratch)
        if action < 0:
            return action
        task.step(x, state, action)
    return NOT_FINAL


@inlined
def roll_out(
    task: Any, x: Any, state: Any, weights: Any, mixture: Any, who: int, cut: int, bound: int, scratch: Scratch
) -> tuple[int, float]:
    """How many steps it takes ``who`` to finish an episode from ``state`` (or a code of trouble), and the loss then.

    With ``cut`` > 0 this is focused costing: after so many steps the roll-out ends, and what counts is the least loss
    still reachable: the task's ``partial_loss``, or else the loss after the expert has finished.
    """
    steps = finish(task, x, state, weights, mixture, who, cut, bound, scratch)
    if steps < 0:
        return steps, 0.0
    if task.is_final(x, state):
        return steps, np.float64(task.loss(x, state))
    return steps, np.float64(task.partial_loss(x, state))


@lean
def deviation_costs(
    task: Any,
    x: Any,
    buffer: Any,
    rolled: Any,
    rolled_state: Any,
    weights: Any,
    mixture: Any,
    who: int,
    samples: int,
    cut: int,
    bound: int,
    actions: Any,
    n: int,
    costs: Any,
    scratch: Scratch,
) -> int:
    """The regret of each action: take it, roll out, compare losses (the inner loops of Goodman's Algorithm 6).

    ``buffer`` holds the state to deviate from; each roll-out runs in the copy ``rolled``. The cost is the mean loss
    over ``samples`` roll-outs; ``BOTH`` takes one roll-out by the expert, weighted by β, and one by the learned
    policy, weighted by 1 − β (DetLOLS).
    """
    β = mixture[0]
    rolls = 2 if who == BOTH else samples
    for k in range(n):
        total = 0.0
        for roll in range(rolls):
            weight = 1.0 / np.float64(rolls)
            actor = who
            if who == BOTH:
                actor = EXPERT if roll == 0 else LEARNED
                weight = β if roll == 0 else 1.0 - β
                if weight == 0.0:
                    continue
            for i in range(buffer.shape[0]):
                rolled[i] = buffer[i]
            task.step(x, rolled_state, actions[k])
            steps, loss = roll_out(task, x, rolled_state, weights, mixture, actor, cut, bound, scratch)
            if steps < 0:
                return steps
            total += weight * loss
        costs[k] = total
    lowest = costs[argmin(costs, n)]
    for k in range(n):
        costs[k] -= lowest
    return 0


@kernel
def decode_pass(
    task: Any,
    corpus: Any,
    first: int,
    last: int,
    weights: Any,
    mixture: Any,
    who: int,
    sizes: Any,
    bounds: Any,
    state_at: Any,
    states: Any,
    losses: Any,
    steps: Any,
    shape: tuple[int, int, bool],
    seed: int,
    control: Any,
    slot: int,
) -> None:
    """Run one episode for each sentence from ``first`` to ``last`` and keep its final state, loss and number of steps.

    ``who`` = LEARNED with one policy is greedy decoding. ``control[0]`` ≠ 0 asks to stop; ``control[slot]`` counts.
    """
    scratch = new_scratch(shape[0], shape[1], shape[2])
    for i in range(first, last):
        if control[0] != 0:
            steps[i] = INTERRUPTED
            continue
        x = task.instance_view(corpus, i)
        buffer = states[state_at[i] : state_at[i] + sizes[i]]
        state = task.state_view(buffer, np.int64(corpus.n[i]))
        seed_random(scratch.random, seed, 0, i)
        task.initial(x, state)
        steps[i] = finish(task, x, state, weights, mixture, who, 0, bounds[i], scratch)
        if steps[i] >= 0:
            losses[i] = task.loss(x, state)
        control[slot] += 1


@kernel
def trajectory_pass(
    task: Any,
    corpus: Any,
    i: int,
    weights: Any,
    mixture: Any,
    who: int,
    size: int,
    bound: int,
    shape: tuple[int, int, bool],
    seed: int,
    actions: Any,
    states: Any,
) -> int:
    """The episode of one sentence step by step: its actions, and the state before each and after the last."""
    scratch = new_scratch(shape[0], shape[1], shape[2])
    seed_random(scratch.random, seed, 0, i)
    x = task.instance_view(corpus, i)
    buffer = np.zeros(size, np.int32)
    state = task.state_view(buffer, np.int64(corpus.n[i]))
    task.initial(x, state)
    for t in range(bound + 1):
        states[t, :] = buffer
        if task.is_final(x, state):
            return t
        if t == bound:
            break
        action = decide(task, x, state, weights, draw_policy(mixture, who, scratch.random), scratch)
        if action < 0:
            return action
        actions[t] = action
        task.step(x, state, action)
    return NOT_FINAL


@kernel
def beam_pass(
    task: Any,
    corpus: Any,
    first: int,
    last: int,
    weights: Any,
    width: int,
    sizes: Any,
    bounds: Any,
    state_at: Any,
    states: Any,
    losses: Any,
    steps: Any,
    totals: Any,
    shape: tuple[int, int, bool],
    control: Any,
    slot: int,
) -> None:
    """Beam search for each sentence: keep the ``width`` states whose actions score highest in sum.

    Finished hypotheses stay in the beam with their score and compete with the others; the search ends when all are
    final. Ties go to the hypothesis, then to the action, that comes first.
    """
    scratch = new_scratch(shape[0], shape[1], shape[2])
    longest = 1
    for i in range(first, last):
        longest = max(longest, sizes[i])
    beam = np.zeros((width, longest), np.int32)
    successors = np.zeros((width, longest), np.int32)
    scores = np.zeros(width, np.float64)
    best_scores = np.zeros(width, np.float64)
    parents = np.zeros(width, np.int64)
    moves = np.zeros(width, np.int64)
    work = np.zeros(longest, np.int32)
    for i in range(first, last):
        if control[0] != 0:
            steps[i] = INTERRUPTED
            continue
        n, size = np.int64(corpus.n[i]), sizes[i]
        x = task.instance_view(corpus, i)
        state = task.state_view(work[:size], n)
        work[:] = 0
        task.initial(x, state)
        beam[0, :] = work
        scores[0] = 0.0
        alive = 1
        outcome = NOT_FINAL
        for step in range(bounds[i] + 1):
            found = 0
            unfinished = 0
            for b in range(alive):
                work[:size] = beam[b, :size]
                if task.is_final(x, state):
                    found = _insert(best_scores, parents, moves, found, width, scores[b], b, -1)
                    continue
                unfinished += 1
                count = task.actions(x, state, scratch.actions)
                if count <= 0 or count > scratch.actions.shape[0]:
                    outcome = NO_ACTION if count <= 0 else TOO_MANY_ACTIONS
                    break
                n_features = observe(task, x, state, count, scratch)
                if n_features < 0:
                    outcome = n_features
                    break
                score(weights[0], n_features, count, scratch)
                for k in range(count):
                    total = scores[b] + np.float64(scratch.scores[k])
                    found = _insert(best_scores, parents, moves, found, width, total, b, np.int64(scratch.actions[k]))
            if outcome < NOT_FINAL:
                break
            if unfinished == 0:
                outcome = step
                break
            if step == bounds[i]:
                break
            for b in range(found):
                work[:size] = beam[parents[b], :size]
                if moves[b] >= 0:
                    task.step(x, state, moves[b])
                successors[b, :size] = work[:size]
                scores[b] = best_scores[b]
            beam, successors = successors, beam
            alive = found
        steps[i] = outcome
        if outcome >= 0:
            work[:size] = beam[0, :size]
            for j in range(size):
                states[state_at[i] + j] = work[j]
            losses[i] = task.loss(x, state)
            totals[i] = scores[0]
        control[slot] += 1


@lean
def _insert(scores: Any, parents: Any, moves: Any, found: int, width: int, total: float, parent: int, move: int) -> int:
    """Put a candidate at its place among the best ``width``, which are in order; return how many there are."""
    if found == width and total <= scores[width - 1]:
        return found
    place = found if found < width else width - 1
    while place > 0 and scores[place - 1] < total:
        scores[place] = scores[place - 1]
        parents[place] = parents[place - 1]
        moves[place] = moves[place - 1]
        place -= 1
    scores[place] = total
    parents[place] = parent
    moves[place] = move
    return found + 1 if found < width else found
