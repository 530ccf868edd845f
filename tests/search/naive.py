"""Slow, obvious twins of the engine: episodes as Python objects, beams that sort everything, roll-outs that recurse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from treewright.search import Packed, mix
from treewright.search.engine import BOTH, EXPERT, LEARNED, MIX_PER_ROLL, MIX_PER_STATE
from treewright.search.hashing import seed_random, uniform

THE_EXPERT = -1


def naive_scores(weights: Any, features: list[int], actions: list[int], extra: list[list[int]]) -> list[float]:
    """w·φ(s, a) of each action: the sum of the weights of its features, in 32 bits, one after the other."""
    rows, width = weights.shape
    scores = []
    for action, own in zip(actions, extra, strict=True):
        if width > 1:
            places = [(feature % rows, action) for feature in features]
        else:
            places = [(mix(feature, action) % rows, 0) for feature in features] + [
                (feature % rows, 0) for feature in own
            ]
        total = np.float32(0.0)
        for place in places:
            total += weights[place]
        scores.append(float(total))
    return scores


class Episode:
    """One episode of one sentence, step by step, through the functions of the task."""

    def __init__(self, packed: Packed, i: int) -> None:
        self.packed, self.task, self.i, self.x = packed, packed.task, i, packed.instance(i)
        self.n = int(packed.lengths[i])
        self.buffer = np.zeros(self.task.state_size(self.n), np.int32)
        self.task.initial(self.x, self.state)

    @property
    def state(self) -> Any:
        return self.task.state_view(self.buffer, self.n)

    def after(self, action: int) -> Episode:
        """The episode as it is after one more action; this one stays as it is."""
        other = Episode(self.packed, self.i)
        other.buffer[:] = self.buffer
        self.task.step(self.x, other.state, action)
        return other

    def is_final(self) -> bool:
        return bool(self.task.is_final(self.x, self.state))

    def actions(self) -> list[int]:
        out = np.zeros(self.task.n_actions, np.int32)
        return out[: self.task.actions(self.x, self.state, out)].tolist()

    def features(self) -> list[int]:
        out = np.zeros(self.task.max_features, np.int32)
        return out[: self.task.features(self.x, self.state, out)].tolist()

    def action_features(self) -> list[list[int]]:
        found = []
        for action in self.actions():
            out = np.zeros(self.task.max_features, np.int32)
            count = self.task.action_features(self.x, self.state, action, out) if self.task.structured else 0
            found.append(out[:count].tolist())
        return found

    def scores(self, weights: Any) -> list[float]:
        return naive_scores(weights, self.features(), self.actions(), self.action_features())

    def expert_costs(self) -> list[float]:
        actions = np.array(self.actions(), np.int32)
        out = np.zeros(len(actions))
        self.task.expert_costs(self.x, self.state, actions, len(actions), out)
        return out.tolist()

    def decision(self, weights: Any, policy: int) -> int:
        """The action that the expert or policy number ``policy`` takes; the first of those that are equally good."""
        actions = self.actions()
        if len(actions) == 1:
            return actions[0]
        if policy == THE_EXPERT:
            return actions[int(np.argmin(self.expert_costs()))]
        return actions[int(np.argmax(self.scores(weights[policy])))]

    def loss(self) -> float:
        return float(self.task.loss(self.x, self.state))

    def is_whole(self) -> bool:
        return bool(self.task.is_whole(self.x, self.state))

    def partial_loss(self) -> float:
        return float(self.task.partial_loss(self.x, self.state))


class Dice:
    """The random numbers of one sentence in one pass."""

    def __init__(self, seed: int, pass_number: int, sentence: int) -> None:
        self.state = np.zeros(2, np.int64)
        seed_random(self.state, seed, pass_number, sentence)

    def roll(self) -> float:
        return uniform(self.state)

    def actor(self, mixture: list[float], who: int) -> int:
        """Who acts. No number is drawn where there is no choice."""
        if who == EXPERT:
            return THE_EXPERT
        actors, edges = list(range(-1, len(mixture) - 1)), list(mixture)
        start = 0.0
        if who == LEARNED:
            start = edges[0]
            actors, edges = actors[1:], edges[1:]
        shares = np.diff([start, *edges])
        if len(actors) == 1:
            return actors[0]
        if np.count_nonzero(shares) == 1:
            return actors[int(np.flatnonzero(shares)[0])]
        point = start + (1.0 - start) * self.roll()
        return next(actor for actor, edge in zip(actors, edges, strict=True) if point < edge)


def naive_finish(
    episode: Episode, weights: Any, mixture: list[float], who: int, dice: Dice, cut: int = 0
) -> tuple[Episode, int]:
    """Run an episode to its end (or its cut, in whole actions); the episode then, and the steps taken."""
    actor, steps = dice.actor(mixture, who), 0
    taken = 0 if episode.is_whole() else -1
    while not episode.is_final():
        if cut and taken >= cut:
            if episode.partial_loss() >= 0.0:
                break
            actor = THE_EXPERT
        elif steps and who != MIX_PER_ROLL:
            actor = dice.actor(mixture, who)
        episode = episode.after(episode.decision(weights, actor))
        steps += 1
        taken += episode.is_whole()
    return episode, steps


def naive_decode(
    packed: Packed, weights: Any, mixture: list[float] | None = None, who: int = LEARNED, seed: int = 0
) -> Iterator[tuple[Episode, int]]:
    """Each sentence's final state and number of steps."""
    for i in range(len(packed)):
        yield naive_finish(Episode(packed, i), weights, mixture or [0.0, 1.0], who, Dice(seed, 0, i))


def naive_rollout(episode: Episode, weights: Any, mixture: list[float], who: int, dice: Dice, cut: int = 0) -> float:
    """The loss of the episode when ``who`` has finished it, or the least still reachable at the cut."""
    last, _ = naive_finish(episode, weights, mixture, who, dice, cut)
    return last.loss() if last.is_final() else last.partial_loss()


def naive_deviation_costs(
    episode: Episode, weights: Any, mixture: list[float], who: int, dice: Dice, samples: int = 1, cut: int = 0
) -> list[float]:
    """The mean loss after each action, less the lowest."""
    if who == MIX_PER_STATE:
        totals = np.zeros(len(episode.actions()))
        for _ in range(samples):
            actor = EXPERT if dice.actor(mixture, MIX_PER_STATE) == THE_EXPERT else LEARNED
            afters = [episode.after(action) for action in episode.actions()]
            totals += [naive_rollout(after, weights, mixture, actor, dice, cut) for after in afters]
        return ((totals - totals.min()) / samples).tolist()
    means = []
    for action in episode.actions():
        after, β = episode.after(action), mixture[0]
        if who == BOTH:
            expert = β * naive_rollout(after, weights, mixture, EXPERT, dice, cut) if β > 0.0 else 0.0
            learned = (1.0 - β) * naive_rollout(after, weights, mixture, LEARNED, dice, cut) if β < 1.0 else 0.0
            means.append(expert + learned)
        else:
            losses = [naive_rollout(after, weights, mixture, who, dice, cut) for _ in range(samples)]
            means.append(sum(losses) / samples)
    return [mean - min(means) for mean in means]


def naive_beam(packed: Packed, i: int, weights: Any, width: int) -> tuple[Episode, float]:
    """The best hypothesis of a beam search and its score: expand all, sort all, keep ``width``."""
    beam = [(Episode(packed, i), 0.0)]
    while not all(episode.is_final() for episode, _ in beam):
        candidates: list[tuple[Episode, float]] = []
        for episode, total in beam:
            if episode.is_final():
                candidates.append((episode, total))
            else:
                for action, score in zip(episode.actions(), episode.scores(weights), strict=True):
                    candidates.append((episode.after(action), total + score))
        beam = sorted(candidates, key=lambda candidate: -candidate[1])[:width]  # Python's sort is stable
    return beam[0]


def every_episode(episode: Episode, weights: Any, total: float = 0.0) -> Iterator[tuple[Episode, float]]:
    """Every way in which the episode can end, with the sum of the scores on the way."""
    if episode.is_final():
        yield episode, total
        return
    for action, score in zip(episode.actions(), episode.scores(weights), strict=True):
        yield from every_episode(episode.after(action), weights, total + score)
