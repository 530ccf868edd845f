"""Any task as an environment of reinforcement learning: trajectories of a Boltzmann policy, and their gradients.

A trajectory is run twice. First its actions are drawn (:func:`draw_trajectory`); then it is known what it earned, and
it is followed again to give each action its share of that (:func:`credit_trajectory`). So nothing but the actions has
to be remembered of it.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, TaskError
from treewright.search.checking import preflight
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.engine import (
    INTERRUPTED,
    NO_ACTION,
    NOT_FINAL,
    TOO_MANY_ACTIONS,
    Scratch,
    new_scratch,
    observe,
    score,
)
from treewright.search.environment import Credit, Results, Rollouts
from treewright.search.examples import room
from treewright.search.hashing import seed_random, uniform
from treewright.search.planning import Features
from treewright.search.running import raise_trouble, run_shards, shape_of
from treewright.search.scoring import argmax, argmin, place
from treewright.search.task import Packed
from treewright.settings import whole_number

__all__ = ["TransitionEnvironment", "rollout_pass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TERMINAL, SHAPED, UNIT = range(3)
CREDITS = {"terminal": TERMINAL, "shaped": SHAPED, "unit": UNIT}

NO_PARTIAL_LOSS = -6  # besides the engine's codes of trouble


class TransitionEnvironment:
    """The sentences of a task as an environment, see :class:`~treewright.search.environment.Environment`.

    * The *accuracy* of a result is 1 − loss/n, for a sentence of length n: with the losses of the tasks here, the share
      of words that are right. The *time* is the number of steps. The reward is accuracy − ``tradeoff``·time.
    * *Shaped* rewards spread the accuracy of a perfect result evenly over the T steps, and charge a loss to the step
      that made it unavoidable: r̃_t = 1/T − λ − (L(s_{t+1}) − L(s_t))/n, where L is the task's ``partial_loss``, the
      least that can still be reached. What is lost in the initial state already is charged to the first step.
    * The *oracle's* actions are those that cost least, by the task's ``expert_costs``.

    The weights θ are the table of hashed features of a :class:`~treewright.policies.LinearPolicy`, with 2^``bits``
    rows, laid out flat; ``initial`` are those to begin with, such as the weights of a policy that has learned by
    imitation. Steps with a single action cost time, but there is nothing to learn from them.
    """

    def __init__(
        self, packed: Packed, *, bits: int = 18, tradeoff: float = 0.0, initial: npt.ArrayLike | None = None
    ) -> None:
        if not isinstance(packed, Packed):
            raise ConfigError("what is acted on must be packed first: TransitionEnvironment(task.pack(sentences))")
        bits = whole_number("bits", bits, 1, 30)
        if isinstance(tradeoff, (bool, str)) or not 0.0 <= tradeoff < math.inf:
            raise ConfigError(f"tradeoff must be 0 or more, not {tradeoff!r}: it is what a step costs in accuracy")
        preflight(packed)
        self.packed, self.tradeoff = packed, float(tradeoff)
        self.rows, self.width = 1 << bits, packed.task.table_width
        self._initial = np.zeros(self.size) if initial is None else np.array(initial, np.float64).reshape(-1)
        if len(self._initial) != self.size:
            raise ConfigError(
                f"there are {self.size} weights, 2^{bits} rows of {self.width}, but {len(self._initial)} to begin with"
            )
        self._sizes = np.diff(packed.state_offsets())
        self._bounds = packed.task.steps_bound(packed.lengths.astype(np.int64))
        self._spare: list[Floats] = []  # arrays of zeros to add up gradients in, one for each thread

    @property
    def size(self) -> int:
        """How many weights there are to learn."""
        return self.rows * self.width

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def fingerprint(self) -> str:
        """What trajectories depend on besides the weights."""
        digest = hashlib.sha256(f"{self.packed.task.digest} {self.tradeoff!r}".encode())
        for array in self.packed.arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def initial(self) -> Floats:
        """The weights to begin with."""
        return self._initial

    def policy_weights(self, θ: Floats) -> npt.NDArray[np.float32]:
        """Weights as :class:`~treewright.policies.LinearPolicy` and :func:`~treewright.search.decode` take them."""
        return θ.astype(np.float32).reshape(1, self.rows, self.width)

    def rollouts(
        self,
        θ: Floats,
        which: Ints,
        *,
        temperature: float = 1.0,
        infusion: float = 0.0,
        discount: float = 1.0,
        credit: Credit = "terminal",
        baseline: Floats | None = None,
        trajectories: int = 1,
        seed: int = 0,
        jobs: int = 1,
    ) -> Rollouts:
        """Draw trajectories of each sentence by the oracle-infused policy, and add up their gradients."""
        rewards = (discount, CREDITS[credit], np.zeros(len(which)) if baseline is None else baseline)
        gradient, outcome = self._roll(θ, which, temperature, infusion, rewards, trajectories, seed, jobs)
        return Rollouts(gradient, outcome[:, :, 0], outcome[:, :, 1], outcome[:, :, 2])

    def run(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Results:
        """What the greedy policy brings: that at the temperature 0."""
        _, outcome = self._roll(θ, which, 0.0, 0.0, (1.0, TERMINAL, np.zeros(len(which))), 1, 0, jobs)
        return Results(outcome[:, 0, 0], outcome[:, 0, 1], outcome[:, 0, 2])

    def _roll(
        self,
        θ: Floats,
        which: Ints,
        temperature: float,
        infusion: float,
        rewards: tuple[float, int, Floats],
        trajectories: int,
        seed: int,
        jobs: int,
    ) -> tuple[Features, Floats]:
        task, arrays, shape = self.packed.task, self.packed.arrays, shape_of(self.packed.task)
        weights = np.ascontiguousarray(θ, np.float64).reshape(self.rows, self.width)
        which = np.ascontiguousarray(which, np.int64)
        discount, credit, baseline = rewards
        outcome = np.zeros((len(which), trajectories, 4))

        def work(first: int, last: int, control: Ints, slot: int) -> tuple[Ints, Floats]:
            sums = self._spare.pop() if self._spare else np.zeros(self.size)
            # fmt: off
            found = rollout_pass(task, arrays, which, first, last, weights, float(temperature), float(infusion),
                                 float(discount), credit, self.tradeoff, baseline, trajectories, self._sizes,
                                 self._bounds, shape, seed, sums, outcome, control, slot)
            # fmt: on
            self._spare.append(sums)  # they are zeros again
            return found

        parts = run_shards(work, len(which), packed=self.packed, jobs=jobs)
        for position in np.flatnonzero((outcome[:, :, 3] < 0.0).any(axis=1))[:1]:
            self._explain(int(which[position]), int(outcome[position, :, 3].min()))
        at, amount = (np.concatenate([part[field] for part in parts]) for field in (0, 1))
        return Features(at, amount, float(outcome[:, :, 0].sum())), outcome

    def _explain(self, i: int, code: int) -> None:
        if code == NO_PARTIAL_LOSS:
            raise TaskError(
                f"task {self.packed.task.name!r} does not know the least loss that sentence {i} can still reach "
                "(`partial_loss`), and so has no rewards but that at the end: learn with credit = 'terminal'"
            )
        raise_trouble(self.packed, i, code)


@lean
def boltzmann(scores: Any, n: int, temperature: float, out: Any) -> None:
    """Write π(a | s) ∝ exp(score / temp) for each of ``n`` actions (eq. 4)."""
    best = np.float64(scores[argmax(scores, n)])
    total = 0.0
    for k in range(n):
        out[k] = math.exp((np.float64(scores[k]) - best) / temperature)
        total += out[k]
    for k in range(n):
        out[k] /= total


@lean
def draw(probabilities: Any, n: int, point: float) -> int:
    """The place, among ``n``, that a random number in (0, 1) falls into."""
    for k in range(n - 1):
        point -= probabilities[k]
        if point < 0.0:
            return k
    return n - 1


@lean
def preferred_by_oracle(costs: Any, scores: Any, n: int) -> int:
    """Of the actions that cost least, the one that the policy likes best (§4.1)."""
    best = argmin(costs, n)
    for k in range(best + 1, n):
        if costs[k] <= costs[best] and scores[k] > scores[best]:
            best = k
    return best


@lean
def look(task: Any, x: Any, state: Any, weights: Any, n: int, scratch: Scratch) -> int:
    """Find the features and the scores of the ``n`` actions in scratch; return how many features the state has."""
    n_features = observe(task, x, state, n, scratch)
    if n_features >= 0:
        score(weights, n_features, n, scratch)
    return n_features


@lean
def draw_trajectory(
    task: Any,
    x: Any,
    state: Any,
    weights: Any,
    temperature: float,
    infusion: float,
    shaped: bool,
    bound: int,
    taken: Any,
    lost: Any,
    probabilities: Any,
    scratch: Scratch,
) -> int:
    """Run an episode by the oracle-infused policy (eq. 11), which at a temperature of 0 is greedy.

    Writes the actions that were ``taken`` and, where rewards are shaped, what each of them ``lost``. Returns the
    number of steps, or a code of trouble.
    """
    least = 0.0
    for t in range(bound + 1):
        if task.is_final(x, state):
            return t
        if t == bound:
            break
        n = task.actions(x, state, scratch.actions)
        if n <= 0 or n > scratch.actions.shape[0]:
            return NO_ACTION if n <= 0 else TOO_MANY_ACTIONS
        chosen = 0
        if n > 1:
            n_features = look(task, x, state, weights, n, scratch)
            if n_features < 0:
                return n_features
            if infusion > 0.0 and (infusion >= 1.0 or uniform(scratch.random) < infusion):
                task.expert_costs(x, state, scratch.actions, n, scratch.costs)
                chosen = preferred_by_oracle(scratch.costs, scratch.scores, n)
            elif temperature > 0.0:
                boltzmann(scratch.scores, n, temperature, probabilities)
                chosen = draw(probabilities, n, uniform(scratch.random))
            else:
                chosen = argmax(scratch.scores, n)
        taken[t] = scratch.actions[chosen]
        task.step(x, state, scratch.actions[chosen])
        if shaped:
            before = least
            least = task.loss(x, state) if task.is_final(x, state) else task.partial_loss(x, state)
            if least < 0.0:
                return NO_PARTIAL_LOSS
            lost[t] = least - before
    return NOT_FINAL


@lean
def returns_to_go(
    rewards: Any, steps: int, accuracy: float, length: float, tradeoff: float, discount: float, credit: int
) -> float:
    """Write Σ_{t'≥t} γ^{t'−t} r̃_{t'} for each step, and return the reward of the trajectory.

    ``rewards`` holds what each step has lost, and has these sums in the end.
    """
    reward = accuracy - tradeoff * np.float64(steps)
    total = 0.0
    for t in range(steps):
        if credit == SHAPED:
            rewards[t] = 1.0 / np.float64(steps) - tradeoff - rewards[t] / length
            total += rewards[t]
        else:
            rewards[t] = 1.0 if credit == UNIT else 0.0
    if credit == TERMINAL and steps > 0:
        rewards[steps - 1] = reward
    for t in range(steps - 2, -1, -1):
        rewards[t] += discount * rewards[t + 1]
    return total if credit == SHAPED and steps > 0 else reward


@lean
def add_decision(
    sums: Any, touched: Any, count: int, rows: int, width: int, n_features: int, n: int, gains: Any, scratch: Scratch
) -> int:
    """Add ``gains[k]``·φ(a_k, s) for each of ``n`` actions; return how many places were ``touched`` by now.

    A place is written down when it is no longer 0; one that has come back to 0 on the way may be there twice.
    """
    last = np.int64(rows) - np.int64(1)
    for j in range(n_features):
        for k in range(n):
            row, column = place(scratch.features[j], scratch.actions[k], rows, width)
            cell = row * np.int64(width) + column
            if sums[cell] == 0.0:
                touched[count] = cell
                count += 1
            sums[cell] += gains[k]
    if scratch.extra.shape[0] > 0:
        for k in range(n):
            for j in range(scratch.extra_at[k], scratch.extra_at[k + 1]):
                cell = np.int64(scratch.extra[j]) & last
                if sums[cell] == 0.0:
                    touched[count] = cell
                    count += 1
                sums[cell] += gains[k]
    return count


@compiled
def credit_trajectory(
    task: Any,
    x: Any,
    state: Any,
    weights: Any,
    temperature: float,
    taken: Any,
    steps: int,
    credits: Any,
    baseline: float,
    sums: Any,
    touched: Any,
    count: int,
    gains: Any,
    scratch: Scratch,
) -> tuple[Any, int]:
    """Follow a trajectory again and add Σ_t (``credits[t]`` − b)·∇log π(a_t | s_t) to ``sums`` (eq. 9).

    By eq. 7, ∇log π(a | s) = (φ(a, s) − Σ_a' π(a' | s) φ(a', s)) / temp. Returns the places that were touched.
    """
    rows, width = weights.shape
    for t in range(steps):
        n = task.actions(x, state, scratch.actions)
        if n > 1 and credits[t] != baseline:
            n_features = look(task, x, state, weights, n, scratch)
            boltzmann(scratch.scores, n, temperature, gains)
            for k in range(n):
                indicator = 1.0 if scratch.actions[k] == taken[t] else 0.0
                gains[k] = (credits[t] - baseline) * (indicator - gains[k]) / temperature
            further = scratch.extra_at[n] if scratch.extra.shape[0] > 0 else np.int64(0)
            touched = room(touched, count + n * n_features + further)
            count = add_decision(sums, touched, count, rows, width, n_features, n, gains, scratch)
        task.step(x, state, taken[t])
    return touched, count


@kernel
def rollout_pass(
    task: Any,
    corpus: Any,
    which: Any,
    first: int,
    last: int,
    weights: Any,
    temperature: float,
    infusion: float,
    discount: float,
    credit: int,
    tradeoff: float,
    baseline: Any,
    trajectories: int,
    sizes: Any,
    bounds: Any,
    shape: tuple[int, int, bool],
    seed: int,
    sums: Any,
    outcome: Any,
    control: Any,
    slot: int,
) -> tuple[Any, Any]:
    """Trajectories of the sentences ``which[first:last]``, and the sums of their gradients, sentence by sentence.

    ``outcome`` receives the reward, the accuracy, the number of steps and the code of trouble of each trajectory.
    ``sums`` are zeros, as many as there are weights, and are so again in the end. At a temperature of 0 there is no
    gradient.
    """
    scratch = new_scratch(shape[0], shape[1], shape[2])
    longest, largest = 1, 1
    for position in range(first, last):
        longest = max(longest, bounds[which[position]])
        largest = max(largest, sizes[which[position]])
    taken, rewards = np.zeros(longest, np.int32), np.zeros(longest, np.float64)
    gains, buffer_room = np.zeros(shape[0], np.float64), np.zeros(largest, np.int32)
    touched = np.zeros(1024, np.int64)
    at, amount = np.zeros(1024, np.int64), np.zeros(1024, np.float64)
    found = 0

    for position in range(first, last):
        i = which[position]
        if control[0] != 0:
            outcome[position, :, 3] = INTERRUPTED
            continue
        x = task.instance_view(corpus, i)
        buffer = buffer_room[: sizes[i]]
        state = task.state_view(buffer, np.int64(corpus.n[i]))
        length = np.float64(max(corpus.n[i], 1))
        count: Any = np.int64(0)
        for trajectory in range(trajectories):
            seed_random(scratch.random, seed, trajectory, i)
            buffer[:] = 0
            task.initial(x, state)
            # fmt: off
            steps = draw_trajectory(task, x, state, weights, temperature, infusion, credit == SHAPED, bounds[i],
                                    taken, rewards, gains, scratch)
            # fmt: on
            if steps < 0:
                outcome[position, trajectory, 3] = steps
                break
            accuracy = 1.0 - task.loss(x, state) / length
            outcome[position, trajectory, 0] = returns_to_go(
                rewards, steps, accuracy, length, tradeoff, discount, credit
            )
            outcome[position, trajectory, 1] = accuracy
            outcome[position, trajectory, 2] = steps
            if temperature > 0.0:
                buffer[:] = 0
                task.initial(x, state)
                # fmt: off
                touched, count = credit_trajectory(task, x, state, weights, temperature, taken, steps, rewards,
                                                   baseline[position], sums, touched, count, gains, scratch)
                # fmt: on
        at, amount = room(at, found + count), room(amount, found + count)
        for j in range(count):
            if sums[touched[j]] != 0.0:
                at[found], amount[found] = touched[j], sums[touched[j]]
                sums[touched[j]] = 0.0
                found += 1
        control[slot] += 1
    return at[:found].copy(), amount[:found].copy()
