"""One pass of Goodman's Algorithm 6 over a corpus: roll in, deviate, roll out; learn at once or collect examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.policies.updates import Model, Rule, update_weights
from treewright.search.compiling import compiled, kernel
from treewright.search.engine import (
    EXPLORE,
    INTERRUPTED,
    MIX_PER_STEP,
    NO_ACTION,
    NO_ROLL_OUT,
    NOT_FINAL,
    THE_EXPERT,
    TOO_MANY_ACTIONS,
    deviation_costs,
    draw_policy,
    new_scratch,
    observe,
    score,
)
from treewright.search.examples import Examples, room, usual_value
from treewright.search.hashing import random_below, seed_random, uniform
from treewright.search.scoring import argmax, argmin

__all__ = ["COST_OF_ACTION", "COST_OF_OPTIMAL", "COST_OF_ORACLE", "imitate_pass"]

# What an action costs where nothing is rolled out.
COST_OF_ACTION = 0  # 0 for the expert's own action, 1 for all others (Goodman's Algorithm 1)
COST_OF_OPTIMAL = 1  # 0 for every optimal action, 1 for the others
COST_OF_ORACLE = 2  # the oracle's cost as it is


@compiled
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


@kernel
def imitate_pass(
    task: Any,
    corpus: Any,
    order: Any,
    first: int,
    last: int,
    weights: Any,
    mixture: Any,
    roll_in: int,
    roll_out: int,
    samples: int,
    cut: int,
    cost: int,
    explore: bool,
    p: float,
    online: bool,
    rule: Rule,
    model: Model,
    sizes: Any,
    bounds: Any,
    shape: tuple[int, int, bool],
    seed: int,
    iteration: int,
    outcome: Any,
    control: Any,
    slot: int,
) -> Examples:
    """Visit the sentences ``order[first:last]``; learn from each state at once (``online``) or return the examples.

    ``outcome`` receives, for each sentence by its number: the loss of the roll-in, the number of states that asked
    for a decision, the cost of what was preferred there, and the code of trouble.
    """
    scratch = new_scratch(shape[0], shape[1], shape[2])
    # the state's own actions, features and costs are kept while roll-outs use the scratch space
    kept = new_scratch(shape[0], shape[1], shape[2])
    costs = np.zeros(shape[0], np.float64)
    expert_costs = np.zeros(shape[0], np.float64)
    structured = shape[2]
    longest = 1
    for position in range(first, last):
        longest = max(longest, sizes[order[position]])
    buffer_room = np.zeros(longest, np.int32)
    rolled_room = np.zeros(longest, np.int32)

    size = 1 if online else 1024
    features, feature_at = np.zeros(size, np.int32), np.zeros(size + 1, np.int64)
    actions, action_at = np.zeros(size, np.int32), np.zeros(size + 1, np.int64)
    usual_cost, unusual_at = np.zeros(size, np.float32), np.zeros(size + 1, np.int64)
    unusual, unusual_cost = np.zeros(size, np.int32), np.zeros(size, np.float32)
    extra, extra_at = np.zeros(1, np.int32), np.zeros(size + 1, np.int64)
    n_examples, n_actions = 0, 0

    for position in range(first, last):
        i = order[position]
        if control[0] != 0:
            outcome[i, 3] = INTERRUPTED
            continue
        outcome[i, :] = 0.0
        x = task.instance_view(corpus, i)
        buffer, rolled = buffer_room[: sizes[i]], rolled_room[: sizes[i]]
        buffer[:] = 0
        state = task.state_view(buffer, np.int64(corpus.n[i]))
        rolled_state = task.state_view(rolled, np.int64(corpus.n[i]))
        task.initial(x, state)
        seed_random(scratch.random, seed, iteration, i)
        actor = draw_policy(mixture, roll_in, scratch.random)
        trouble = NOT_FINAL
        for t in range(bounds[i] + 1):
            if task.is_final(x, state):
                trouble = 0
                break
            if t == bounds[i]:
                break
            n = task.actions(x, state, kept.actions)
            if n <= 0 or n > shape[0]:
                trouble = NO_ACTION if n <= 0 else TOO_MANY_ACTIONS
                break
            if n == 1:
                task.step(x, state, kept.actions[0])
                continue
            n_features = observe(task, x, state, n, kept)
            if n_features < 0:
                trouble = n_features
                break
            if t > 0 and roll_in == MIX_PER_STEP:
                actor = draw_policy(mixture, roll_in, scratch.random)
            predicted = 0
            if online or actor != THE_EXPERT:
                score(weights[max(actor, 0)], n_features, n, kept)
                predicted = argmax(kept.scores, n)

            # what each action costs
            if roll_out == NO_ROLL_OUT or actor == THE_EXPERT or roll_in == EXPLORE:
                task.expert_costs(x, state, kept.actions, n, expert_costs)
            if roll_out == NO_ROLL_OUT:
                best = argmin(expert_costs, n)
                for k in range(n):
                    if cost == COST_OF_ORACLE:
                        costs[k] = expert_costs[k]
                    elif cost == COST_OF_OPTIMAL:
                        costs[k] = 0.0 if expert_costs[k] <= expert_costs[best] else 1.0
                    else:
                        costs[k] = 0.0 if k == best else 1.0
            else:
                # fmt: off
                code = deviation_costs(task, x, buffer, rolled, rolled_state, weights, mixture, roll_out, samples,
                                       cut, bounds[i], kept.actions, n, costs, scratch)
                # fmt: on
                if code < 0:
                    trouble = code
                    break

            # where the roll-in goes next, before the weights change
            if roll_in == EXPLORE:
                chosen = choose_next(expert_costs, n, predicted, explore, p, scratch.random)
            elif actor == THE_EXPERT:
                chosen = argmin(expert_costs, n)
            else:
                chosen = predicted
            chosen_action = kept.actions[chosen]

            outcome[i, 1] += 1.0
            if online:
                # fmt: off
                outcome[i, 2] += update_weights(rule, model, kept.features, n_features, kept.actions, n, kept.extra,
                                                kept.extra_at, kept.scores, costs)
                # fmt: on
            else:
                outcome[i, 2] += costs[chosen]
                start = feature_at[n_examples]
                features = room(features, start + n_features)
                feature_at = room(feature_at, n_examples + 2)
                action_at = room(action_at, n_examples + 2)
                unusual_at = room(unusual_at, n_examples + 2)
                usual_cost = room(usual_cost, n_examples + 1)
                for j in range(n_features):
                    features[start + j] = kept.features[j]
                usual = usual_value(costs, n)
                usual_cost[n_examples] = np.float32(usual)
                end = unusual_at[n_examples]
                unusual = room(unusual, end + n)
                unusual_cost = room(unusual_cost, end + n)
                for k in range(n):
                    if costs[k] != usual:
                        unusual[end] = k
                        unusual_cost[end] = np.float32(costs[k])
                        end += 1
                unusual_at[n_examples + 1] = end
                complete = not structured and n == shape[0]
                for k in range(n):
                    complete = complete and kept.actions[k] == k
                n_written = 0 if complete else n
                actions = room(actions, n_actions + n_written)
                for k in range(n_written):
                    actions[n_actions + k] = kept.actions[k]
                if structured:
                    begin = extra_at[n_actions]
                    extra_at = room(extra_at, n_actions + n + 1)
                    extra = room(extra, begin + kept.extra_at[n])
                    for k in range(n):
                        extra_at[n_actions + k + 1] = begin + kept.extra_at[k + 1]
                    for j in range(kept.extra_at[n]):
                        extra[begin + j] = kept.extra[j]
                n_examples += 1
                n_actions += n_written
                feature_at[n_examples] = start + n_features
                action_at[n_examples] = n_actions
            task.step(x, state, chosen_action)
        outcome[i, 3] = trouble
        if trouble == 0:
            outcome[i, 0] = task.loss(x, state)
        control[slot] += 1

    return Examples(
        features[: feature_at[n_examples]].copy(),
        feature_at[: n_examples + 1].copy(),
        actions[:n_actions].copy(),
        action_at[: n_examples + 1].copy(),
        usual_cost[:n_examples].copy(),
        unusual[: unusual_at[n_examples]].copy(),
        unusual_cost[: unusual_at[n_examples]].copy(),
        unusual_at[: n_examples + 1].copy(),
        extra[: extra_at[n_actions] if structured else 0].copy(),
        extra_at[: n_actions + 1 if structured else 1].copy(),
    )
