"""Passes over packed sentences that decode them: greedily, with the expert, step by step; and their losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search.compiling import kernel, lean
from treewright.search.engine import (
    LEARNED,
    Episode,
    Sentences,
    Shard,
    admissible,
    begin,
    decide,
    draw_actor,
    finish,
    score_state,
)
from treewright.search.hashing import seed_random
from treewright.search.policy import Scorer, Scratch
from treewright.search.scoring import argmax
from treewright.search.trouble import INTERRUPTED, NOT_FINAL

__all__ = ["decode_pass", "greedy_pass", "loss_pass", "trajectory_pass"]


@lean
def follow_policy(task: Any, episode: Episode, scorer: Scorer, scratch: Scratch) -> int:
    """Run an episode by a policy and return the number of steps. The expert is not compiled."""
    for steps in range(episode.bound + 1):
        if task.is_final(episode.x, episode.state):
            return steps
        if steps == episode.bound:
            break
        member = draw_actor(scorer, LEARNED, scratch.random)
        n = admissible(task, episode.x, episode.state, scratch)
        if n < 0:
            return n
        best = 0
        if n > 1:
            size = score_state(task, episode, scorer, member, n, scratch)
            if size < 0:
                return size
            best = argmax(scratch.scores, n)
        task.step(episode.x, episode.state, np.int64(scratch.actions[best]))
    return NOT_FINAL


@kernel
def greedy_pass(
    task: Any, sentences: Sentences, shard: Shard, scorer: Scorer, scratch: Scratch, seed: int, states: Any, steps: Any
) -> None:
    """Decode each sentence by the policy alone; keep its final state and number of steps.

    This is all that prediction needs. Of a mixture, a member is drawn for every decision.
    """
    for i in range(shard.first, shard.last):
        if shard.control[0] != 0:
            steps[i] = INTERRUPTED
            continue
        seed_random(scratch.random, seed, 0, i)
        episode = begin(task, sentences, i, states[sentences.state_at[i] :])
        steps[i] = follow_policy(task, episode, scorer, scratch)
        shard.control[shard.slot] += 1


@kernel
def decode_pass(
    task: Any,
    sentences: Sentences,
    shard: Shard,
    scorer: Scorer | None,
    who: int,
    scratch: Scratch,
    seed: int,
    states: Any,
    steps: Any,
) -> None:
    """Run one episode for each sentence, by the expert or by a mixture with it; keep its state and number of steps."""
    for i in range(shard.first, shard.last):
        if shard.control[0] != 0:
            steps[i] = INTERRUPTED
            continue
        seed_random(scratch.random, seed, 0, i)
        episode = begin(task, sentences, i, states[sentences.state_at[i] :])
        steps[i] = finish(task, episode, scorer, who, 0, scratch)
        shard.control[shard.slot] += 1


@kernel
def loss_pass(task: Any, sentences: Sentences, shard: Shard, states: Any, losses: Any) -> None:
    """The loss of each sentence in its final state."""
    for i in range(shard.first, shard.last):
        if shard.control[0] == 0:
            x = task.instance_view(sentences.arrays, i)
            buffer = states[sentences.state_at[i] : sentences.state_at[i + 1]]
            losses[i] = task.loss(x, task.state_view(buffer, np.int64(sentences.arrays.n[i])))
            shard.control[shard.slot] += 1


@kernel
def trajectory_pass(
    task: Any,
    sentences: Sentences,
    i: int,
    scorer: Scorer | None,
    who: int,
    scratch: Scratch,
    seed: int,
    actions: Any,
    states: Any,
) -> int:
    """The episode of one sentence step by step: its actions, and the state before each and after the last."""
    seed_random(scratch.random, seed, 0, i)
    episode = begin(task, sentences, i, np.zeros(states.shape[1], np.int32))
    for t in range(episode.bound + 1):
        for j in range(states.shape[1]):
            states[t, j] = episode.buffer[j]
        if task.is_final(episode.x, episode.state):
            return t
        if t == episode.bound:
            break
        action = decide(task, episode, scorer, draw_actor(scorer, who, scratch.random), scratch)
        if action < 0:
            return action
        actions[t] = action
        task.step(episode.x, episode.state, action)
    return NOT_FINAL
