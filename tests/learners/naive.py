"""Slow, obvious twin of a pass of Goodman's Algorithm 6 that collects examples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.search.naive import THE_EXPERT, Dice, Episode, naive_deviation_costs
from treewright.learners.passes import (
    COST_OF_ACTION,
    COST_OF_OPTIMAL,
    COST_OF_ORACLE,
    Choices,
    Outcome,
    imitate_pass,
    new_space,
)
from treewright.search import Packed
from treewright.search.engine import LEARNED, MIX_PER_STEP, RollOut, Shard
from treewright.search.examples import Examples, new_log
from treewright.search.running import as_policy, check_steps, kernel_for, prepare, sentences_of


class Seen(NamedTuple):
    """One example: a state's features, its actions, what they cost, and their own features."""

    features: list[int]
    actions: list[int]
    costs: list[float]
    extra: list[list[int]]


def naive_costs(expert_costs: list[float], cost: int) -> list[float]:
    """What actions cost where nothing is rolled out."""
    if cost == COST_OF_ORACLE:
        return expert_costs
    best = int(np.argmin(expert_costs))
    if cost == COST_OF_OPTIMAL:
        return [0.0 if c == expert_costs[best] else 1.0 for c in expert_costs]
    return [0.0 if k == best else 1.0 for k in range(len(expert_costs))]


def naive_imitate(
    packed: Packed,
    weights: Any,
    mixture: list[float],
    roll_in: int,
    roll_out: int | None = None,
    *,
    cost: int = COST_OF_ACTION,
    samples: int = 1,
    cut: int = 0,
    seed: int = 0,
    iteration: int = 1,
) -> list[Seen]:
    """The examples of all states that a roll-in visits and that ask for a decision."""
    seen = []
    for i in range(len(packed)):
        episode, dice = Episode(packed, i), Dice(seed, iteration, i)
        actor, t = dice.actor(mixture, roll_in), 0
        while not episode.is_final():
            actions = episode.actions()
            if len(actions) > 1:
                if t > 0 and roll_in in (LEARNED, MIX_PER_STEP):
                    actor = dice.actor(mixture, roll_in)
                if roll_out is None:
                    costs = naive_costs(episode.expert_costs(), cost)
                else:
                    costs = naive_deviation_costs(episode, weights, mixture, roll_out, dice, samples, cut)
                seen.append(Seen(episode.features(), actions, costs, episode.action_features()))
            episode = episode.after(episode.decision(weights, THE_EXPERT if actor < 0 else actor))
            t += 1
    return seen


def imitate(
    packed: Packed,
    weights: Any,
    mixture: list[float],
    roll_in: int,
    roll_out: int | None = None,
    *,
    cost: int = COST_OF_ACTION,
    samples: int = 1,
    cut: int = 0,
    seed: int = 0,
    iteration: int = 1,
) -> list[Seen]:
    """The same by the kernel."""
    n, task = len(packed), packed.task
    outcome = Outcome(np.zeros(n), np.zeros(n), np.zeros(n, np.int64))
    scorer = prepare(as_policy(weights), packed, np.arange(n), mixture)
    choices = Choices(roll_in, cost, False, 0.1, False, seed, iteration)
    rolling = None if roll_out is None else RollOut(roll_out, samples, cut)
    space = new_space(scorer, task, int(np.diff(packed.state_at).max()))
    run, sentences = kernel_for(packed, imitate_pass), sentences_of(packed)
    log, done = new_log(8), 0
    while done < n:
        shard = Shard(done, n, np.zeros(2, np.int64), 1)
        done = run(task, sentences, np.arange(n), shard, scorer, choices, rolling, None, space, log, outcome)
        log = log if done == n else log.larger()
    check_steps(packed, outcome.trouble)
    return unpack(log.written(task.structured), task.n_actions)


def unpack(examples: Examples, n_actions: int) -> list[Seen]:
    """Examples one by one, with all actions and costs written out."""
    found = []
    for e in range(len(examples.observed_at) - 1):
        first, last = examples.action_at[e], examples.action_at[e + 1]
        actions = examples.actions[first:last].tolist() or list(range(n_actions))
        costs = [float(examples.usual_cost[e])] * len(actions)
        for i in range(examples.unusual_at[e], examples.unusual_at[e + 1]):
            costs[examples.unusual[i]] = float(examples.unusual_cost[i])
        extra: list[list[int]] = [[] for _ in actions]
        if len(examples.extra_at) > 1:
            at = examples.extra_at[first : last + 1]
            extra = [examples.extra[at[k] : at[k + 1]].tolist() for k in range(last - first)]
        features = examples.observed[examples.observed_at[e] : examples.observed_at[e + 1]]
        found.append(Seen(features.tolist(), actions, costs, extra))
    return found
