"""One pass of Goodman's Algorithm 6 over a corpus: roll in, deviate, roll out; learn at once or collect examples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.policies.learning import Online
from treewright.search.compiling import kernel, lean
from treewright.search.engine import (
    EXPLORE,
    LEARNED,
    MIX_PER_STEP,
    THE_EXPERT,
    Episode,
    RollOut,
    Sentences,
    Shard,
    begin,
    deviation_costs,
    draw_actor,
    look,
)
from treewright.search.examples import Log, add_example, fits
from treewright.search.hashing import random_below, seed_random, uniform
from treewright.search.policy import Scorer, Scratch
from treewright.search.scoring import argmax, argmin
from treewright.search.task import Task
from treewright.search.trouble import INTERRUPTED, NOT_FINAL

__all__ = [
    "COST_OF_ACTION",
    "COST_OF_OPTIMAL",
    "COST_OF_ORACLE",
    "Choices",
    "Outcome",
    "Space",
    "imitate_pass",
    "new_space",
]

# The cost of an action without roll-outs.
COST_OF_ACTION = 0  # 0 for the expert's own action, 1 for all others (Goodman's Algorithm 1)
COST_OF_OPTIMAL = 1  # 0 for every optimal action, 1 for the others
COST_OF_ORACLE = 2  # the oracle's cost as it is

Floats = npt.NDArray[np.float64]


class Choices(NamedTuple):
    """The choices of a learner for one iteration."""

    roll_in: int
    cost: int
    explore: bool  # for EXPLORE: whether this pass is later than k
    p: float
    predicts: bool  # whether the policy must score every state, even if the expert acts
    seed: int
    iteration: int


class Space(NamedTuple):
    """The working space of one thread."""

    kept: Scratch  # the current state of the roll-in, its actions and their costs
    scratch: Scratch  # for roll-outs, and the random numbers
    expert_costs: Floats
    cells: npt.NDArray[np.int32]  # of the state
    rolled: npt.NDArray[np.int32]  # of its copy in a roll-out


def new_space(scorer: Scorer, task: Task, cells: int) -> Space:
    """Working space for states of at most ``cells`` cells."""
    kept, scratch = scorer.kind.scratch(task), scorer.kind.scratch(task)
    return Space(kept, scratch, np.zeros(task.n_actions), np.zeros(cells, np.int32), np.zeros(cells, np.int32))


class Outcome(NamedTuple):
    """The results of a pass for each sentence, by its number."""

    decisions: Floats  # the states with more than one action
    costs: Floats  # the sum of the costs of the preferred actions
    trouble: npt.NDArray[np.int64]  # 0, or an error code


@kernel
def imitate_pass(
    task: Any,
    sentences: Sentences,
    order: Any,
    shard: Shard,
    scorer: Scorer,
    choices: Choices,
    rolling: RollOut | None,
    online: Online | None,
    space: Space,
    log: Log,
    outcome: Outcome,
) -> int:
    """Visit the sentences ``order[first:last]``: one iteration of Goodman's Algorithm 6, without Train(C, E).

    In each state of a roll-in every action gets a cost (:func:`cost_actions`), and the policy or the expert chooses
    where the roll-in goes next (:func:`predict`, :func:`follow`). Where ``online`` is given, the policy learns from
    each state at once (Algorithm 3, and the lecture's Algorithm 3); otherwise examples are added to ``log``. Returns
    the place in the order where it ended: before the last sentence, if the examples of the next one do not fit into
    the log.
    Without ``rolling`` the oracle gives the costs, and roll-outs are not compiled.
    """
    kept, random = space.kept, space.scratch.random
    for position in range(shard.first, shard.last):
        i = order[position]
        if shard.control[0] != 0:
            outcome.trouble[i] = INTERRUPTED
            continue
        seed_random(random, choices.seed, choices.iteration, i)
        episode = begin(task, sentences, i, space.cells)
        rolled = episode
        if rolling is not None:
            rolled = begin(task, sentences, i, space.rolled)
        x, state = episode.x, episode.state
        actor = draw_actor(scorer, choices.roll_in, random)
        decisions, costs, trouble = 0, 0.0, NOT_FINAL
        examples, actions = log.counts[0], log.counts[1]
        for t in range(episode.bound + 1):
            if task.is_final(x, state):
                trouble = 0
                break
            if t == episode.bound:
                break
            n, size = look(task, episode, scorer, kept)
            if n < 0:
                trouble = n
                break
            chosen = 0
            if n > 1:
                # roll in: draw who acts here
                if t > 0 and (choices.roll_in == MIX_PER_STEP or choices.roll_in == LEARNED):
                    actor = draw_actor(scorer, choices.roll_in, random)
                predicted = predict(scorer, choices, actor, size, n, kept)
                # cost every action, by the oracle or by roll-outs
                code = cost_actions(task, episode, rolled, scorer, choices, rolling, actor, n, space)
                if code < 0:
                    trouble = code
                    break
                chosen = follow(choices, actor, predicted, n, space)  # before the weights change
                # train, or keep the example for later
                decisions += 1
                if online is not None:
                    costs += online.kind.update(online, size, n, kept)
                else:
                    costs += kept.costs[chosen]
                    further = kept.extra_at[n]
                    if not fits(log, size, n, further):
                        log.counts[0], log.counts[1] = examples, actions  # without this sentence
                        return position
                    add_example(log, kept, size, n)
            task.step(x, state, kept.actions[chosen])
        outcome.decisions[i], outcome.costs[i], outcome.trouble[i] = decisions, costs, trouble
        shard.control[shard.slot] += 1
    return shard.last


@lean
def predict(scorer: Scorer, choices: Choices, actor: int, size: int, n: int, kept: Scratch) -> int:
    """The index of the action that the policy prefers; scored only if it is needed."""
    if actor == THE_EXPERT and not choices.predicts:
        return 0
    member = actor if actor > 0 else np.int64(0)
    scorer.kind.score(scorer.arrays, member, size, n, kept)
    return argmax(kept.scores, n)


@lean
def cost_actions(
    task: Any,
    episode: Episode,
    rolled: Episode,
    scorer: Scorer,
    choices: Choices,
    rolling: RollOut | None,
    actor: int,
    n: int,
    space: Space,
) -> int:
    """Write the cost of each of ``n`` actions to ``space.kept.costs``; return 0 or an error code.

    The costs are the oracle's, or the losses of roll-outs less the lowest. The oracle is also called where it acts.
    """
    actions, costs, expert_costs = space.kept.actions, space.kept.costs, space.expert_costs
    if rolling is None:
        task.expert_costs(episode.x, episode.state, actions, n, expert_costs)
        best = argmin(expert_costs, n)
        for k in range(n):
            if choices.cost == COST_OF_ORACLE:
                costs[k] = expert_costs[k]
            elif choices.cost == COST_OF_OPTIMAL:
                costs[k] = 0.0 if expert_costs[k] <= expert_costs[best] else 1.0
            else:
                costs[k] = 0.0 if k == best else 1.0
        return 0
    else:
        if actor == THE_EXPERT or choices.roll_in == EXPLORE:
            task.expert_costs(episode.x, episode.state, actions, n, expert_costs)
        return deviation_costs(task, episode, rolled, scorer, rolling, actions, n, costs, space.scratch)


@lean
def follow(choices: Choices, actor: int, predicted: int, n: int, space: Space) -> int:
    """The next action of the roll-in, as an index."""
    if choices.roll_in == EXPLORE:
        return choose_next(space.expert_costs, n, predicted, choices.explore, choices.p, space.scratch.random)
    return argmin(space.expert_costs, n) if actor == THE_EXPERT else predicted


@lean
def choose_next(costs: Any, n: int, predicted: int, explore: bool, p: float, random: Any) -> int:
    """CHOOSE_NEXT of the lecture's Algorithm 3: the predicted action where exploring, else one of zero cost.

    With ``explore`` (the pass is later than k) and a random number above ``p`` it is CHOOSE_NEXT_EXP: follow the
    prediction wherever it leads. Otherwise CHOOSE_NEXT_AMB: follow it if it is optimal, else a random optimal action.
    """
    if explore and uniform(random) > p:
        return predicted
    lowest = costs[argmin(costs, n)]
    if costs[predicted] <= lowest:
        return predicted
    optimal = 0
    for k in range(n):
        if costs[k] <= lowest:
            optimal += 1
    chosen = random_below(random, optimal)
    for k in range(n):
        if costs[k] <= lowest:
            if chosen == 0:
                return k
            chosen -= 1
    return predicted
