"""Any task as an environment of reinforcement learning: trajectories of a Boltzmann policy, and their gradients.

A trajectory is run twice. First its actions are drawn (:func:`draw_trajectory`). When its reward is known, it is run
again to give each action its share of the credit (:func:`credit_trajectory`). So only the actions are stored.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, TaskError
from treewright.search.checking import preflight
from treewright.search.compiling import compiled, kernel, lean
from treewright.search.engine import Episode, Sentences, Shard, admissible, begin
from treewright.search.environment import Credit, Results, Rollouts
from treewright.search.examples import room
from treewright.search.hashing import seed_random, uniform
from treewright.search.planning import Features
from treewright.search.policy import Scratch
from treewright.search.running import raise_trouble, run_shards, sentences_of
from treewright.search.scoring import LINEAR, argmax, argmin, observe_features, place, score_features
from treewright.search.task import Packed
from treewright.search.trouble import INTERRUPTED, NOT_FINAL
from treewright.settings import whole_number

__all__ = ["TransitionEnvironment", "rollout_pass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TERMINAL, SHAPED, UNIT = range(3)
CREDITS = {"terminal": TERMINAL, "shaped": SHAPED, "unit": UNIT}

NO_PARTIAL_LOSS = -6  # besides the engine's error codes


class Drawing(NamedTuple):
    """How trajectories are drawn: at a temperature, 0 for greedy ones, and by the oracle with some probability."""

    temperature: float
    infusion: float
    trajectories: int
    seed: int


class Rewards(NamedTuple):
    """The definition of r̃_t: how credit is given, with λ and γ; and the baseline of each given sentence."""

    credit: int
    tradeoff: float
    discount: float
    baseline: Floats


class Gradient(NamedTuple):
    """A sparse sum: dense ``sums``, the indices of the changed cells, and their number."""

    sums: Floats
    touched: Ints
    used: Ints


class Space(NamedTuple):
    """The working space of one thread."""

    scratch: Scratch
    cells: npt.NDArray[np.int32]  # of a state
    taken: npt.NDArray[np.int32]  # the actions of a trajectory
    rewards: Floats  # of its steps
    gains: Floats  # of the actions of a state


class TransitionEnvironment:
    """The sentences of a task as an environment, see :class:`~treewright.search.environment.Environment`.

    * The *accuracy* of a result is 1 − loss/n, for a sentence of length n: with the losses of the tasks here, the share
      of correct words. The *time* is the number of steps. The reward is accuracy − ``tradeoff``·time.
    * *Shaped* rewards spread the accuracy of a perfect result evenly over the T steps, and charge a loss to the step
      that made it unavoidable: r̃_t = 1/T − λ − (L(s_{t+1}) − L(s_t))/n, where L is the task's ``partial_loss``, the
      least that can still be reached. A loss that is already unavoidable in the initial state is charged to the first
      step.
    * The *oracle's* actions are those that cost least, by the task's ``expert_costs``.

    The weights θ are the table of hashed features of a :class:`~treewright.policies.LinearPolicy`, with 2^``bits``
    rows, laid out flat; ``initial`` are the initial weights, such as the weights of a policy trained by imitation.
    Steps with a single action cost time, but have no gradient.
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
        self._sentences = sentences_of(packed)
        self._spare: list[Floats] = []  # arrays of zeros for sums of gradients, one for each thread

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.rows * self.width

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def fingerprint(self) -> str:
        """A digest of everything besides the weights that trajectories depend on."""
        digest = hashlib.sha256(f"{self.packed.task.digest} {self.tradeoff!r}".encode())
        for array in self.packed.arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def initial(self) -> Floats:
        """The initial weights."""
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
        rewards = Rewards(
            CREDITS[credit], self.tradeoff, float(discount), np.zeros(len(which)) if baseline is None else baseline
        )
        drawing = Drawing(float(temperature), float(infusion), trajectories, seed)
        gradient, outcome = self._roll(θ, which, drawing, rewards, jobs)
        return Rollouts(gradient, outcome[:, :, 0], outcome[:, :, 1], outcome[:, :, 2])

    def run(self, θ: Floats, which: Ints, *, jobs: int = 1) -> Results:
        """Run the greedy policy, which is the policy at temperature 0."""
        rewards = Rewards(TERMINAL, self.tradeoff, 1.0, np.zeros(len(which)))
        _, outcome = self._roll(θ, which, Drawing(0.0, 0.0, 1, 0), rewards, jobs)
        return Results(outcome[:, 0, 0], outcome[:, 0, 1], outcome[:, 0, 2])

    def _roll(self, θ: Floats, which: Ints, drawing: Drawing, rewards: Rewards, jobs: int) -> tuple[Features, Floats]:
        task, sentences = self.packed.task, self._sentences
        weights = np.ascontiguousarray(θ, np.float64).reshape(self.rows, self.width)
        which = np.ascontiguousarray(which, np.int64)
        outcome = np.zeros((len(which), drawing.trajectories, 4))

        def work(first: int, last: int, control: Ints, slot: int) -> tuple[Ints, Floats]:
            sums = self._spare.pop() if self._spare else np.zeros(self.size)
            shard, space = Shard(first, last, control, slot), self._space(which[first:last])
            found = rollout_pass(task, sentences, which, shard, weights, drawing, rewards, sums, space, outcome)
            self._spare.append(sums)  # they are zeros again
            return found

        parts = run_shards(work, len(which), packed=self.packed, jobs=jobs)
        for position in np.flatnonzero((outcome[:, :, 3] < 0.0).any(axis=1))[:1]:
            self._explain(int(which[position]), int(outcome[position, :, 3].min()))
        at, amount = (np.concatenate([part[field] for part in parts]) for field in (0, 1))
        return Features(at, amount, float(outcome[:, :, 0].sum())), outcome

    def _space(self, which: Ints) -> Space:
        """The working space for some sentences."""
        state_at = self._sentences.state_at
        longest = int(self._sentences.bounds[which].max(initial=1))
        return Space(
            LINEAR.scratch(self.packed.task),
            np.zeros(int((state_at[which + 1] - state_at[which]).max(initial=1)), np.int32),
            np.zeros(longest, np.int32),
            np.zeros(longest, np.float64),
            np.zeros(self.packed.task.n_actions, np.float64),
        )

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
    """The index, among ``n`` probabilities, that a random number in (0, 1) selects."""
    for k in range(n - 1):
        point -= probabilities[k]
        if point < 0.0:
            return k
    return n - 1


@lean
def preferred_by_oracle(costs: Any, scores: Any, n: int) -> int:
    """Of the actions of least cost, the one with the highest score (§4.1)."""
    best = argmin(costs, n)
    for k in range(best + 1, n):
        if costs[k] <= costs[best] and scores[k] > scores[best]:
            best = k
    return best


@lean
def look(task: Any, x: Any, state: Any, weights: Any, n: int, scratch: Scratch) -> int:
    """Find the features and the scores of the ``n`` actions in scratch; return the number of features of the state."""
    size = observe_features(task, x, state, n, scratch)
    if size >= 0:
        score_features(weights, size, n, scratch)
    return size


@lean
def draw_trajectory(task: Any, episode: Episode, weights: Any, drawing: Drawing, shaped: bool, space: Space) -> int:
    """Run an episode by the oracle-infused policy (eq. 11), which at a temperature of 0 is greedy.

    Writes the actions to ``taken`` and, where rewards are shaped, the loss of each of them to ``rewards``. Returns the
    number of steps, or an error code.
    """
    x, state, scratch = episode.x, episode.state, space.scratch
    least = 0.0
    for t in range(episode.bound + 1):
        if task.is_final(x, state):
            return t
        if t == episode.bound:
            break
        n = admissible(task, x, state, scratch)
        if n < 0:
            return n
        chosen = 0
        if n > 1:
            size = look(task, x, state, weights, n, scratch)
            if size < 0:
                return size
            if drawing.infusion > 0.0 and (drawing.infusion >= 1.0 or uniform(scratch.random) < drawing.infusion):
                task.expert_costs(x, state, scratch.actions, n, scratch.costs)
                chosen = preferred_by_oracle(scratch.costs, scratch.scores, n)
            elif drawing.temperature > 0.0:
                boltzmann(scratch.scores, n, drawing.temperature, space.gains)
                chosen = draw(space.gains, n, uniform(scratch.random))
            else:
                chosen = argmax(scratch.scores, n)
        space.taken[t] = scratch.actions[chosen]
        task.step(x, state, scratch.actions[chosen])
        if shaped:
            before = least
            least = task.loss(x, state) if task.is_final(x, state) else task.partial_loss(x, state)
            if least < 0.0:
                return NO_PARTIAL_LOSS
            space.rewards[t] = least - before
    return NOT_FINAL


@lean
def returns_to_go(rewards: Any, steps: int, accuracy: float, length: float, how: Rewards) -> float:
    """Write Σ_{t'≥t} γ^{t'−t} r̃_{t'} for each step, and return the reward of the trajectory.

    On entry, ``rewards`` has the loss of each step; on return, these sums.
    """
    tradeoff, discount, credit = how.tradeoff, how.discount, how.credit
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
def add_decision(into: Gradient, rows: int, width: int, size: int, n: int, gains: Any, scratch: Scratch) -> None:
    """Add ``gains[k]``·φ(a_k, s) for each of ``n`` actions.

    A cell is recorded when it changes from 0; a cell that returns to 0 in between may be recorded twice.
    """
    sums, touched, count = into.sums, into.touched, into.used[0]
    last = np.int64(rows) - np.int64(1)
    for j in range(size):
        for k in range(n):
            row, column = place(scratch.observed[j], scratch.actions[k], rows, width)
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
    into.used[0] = count


@compiled
def credit_trajectory(
    task: Any,
    episode: Episode,
    weights: Any,
    temperature: float,
    steps: int,
    baseline: float,
    into: Gradient,
    space: Space,
) -> Gradient:
    """Follow a trajectory again and add Σ_t (Σ_{t'≥t} γ^{t'−t} r̃_{t'} − b)·∇log π(a_t | s_t) (eq. 9).

    The sums over t' are the ``rewards``. By eq. 7, ∇log π(a | s) = (φ(a, s) − Σ_a' π(a' | s) φ(a', s)) / temp. Returns
    the gradient, which may have more recorded cells than before.
    """
    x, state, scratch = episode.x, episode.state, space.scratch
    taken, credits, gains = space.taken, space.rewards, space.gains
    rows, width = weights.shape
    for t in range(steps):
        n = task.actions(x, state, scratch.actions)
        if n > 1 and credits[t] != baseline:
            size = look(task, x, state, weights, n, scratch)
            boltzmann(scratch.scores, n, temperature, gains)
            for k in range(n):
                indicator = 1.0 if scratch.actions[k] == taken[t] else 0.0
                gains[k] = (credits[t] - baseline) * (indicator - gains[k]) / temperature
            further = scratch.extra_at[n] if scratch.extra.shape[0] > 0 else np.int64(0)
            touched = room(into.touched, into.used[0] + n * size + further)
            into = Gradient(into.sums, touched, into.used)
            add_decision(into, rows, width, size, n, gains, scratch)
        task.step(x, state, taken[t])
    return into


@kernel
def rollout_pass(
    task: Any,
    sentences: Sentences,
    which: Any,
    shard: Shard,
    weights: Any,
    drawing: Drawing,
    rewards: Rewards,
    sums: Any,
    space: Space,
    outcome: Any,
) -> tuple[Any, Any]:
    """Trajectories of the sentences ``which[first:last]``, and the sums of their gradients, sentence by sentence.

    ``outcome`` receives the reward, the accuracy, the number of steps and the error code of each trajectory. ``sums``
    has one cell per weight; all are zero before and after the call. At a temperature of 0 there is no gradient.
    """
    gradient = Gradient(sums, np.zeros(1024, np.int64), np.zeros(1, np.int64))
    at, amount = np.zeros(1024, np.int64), np.zeros(1024, np.float64)
    found = 0
    for position in range(shard.first, shard.last):
        i = which[position]
        if shard.control[0] != 0:
            for trajectory in range(drawing.trajectories):
                outcome[position, trajectory, 3] = INTERRUPTED
            continue
        length = np.float64(max(sentences.arrays.n[i], 1))
        gradient.used[0] = 0
        for trajectory in range(drawing.trajectories):
            seed_random(space.scratch.random, drawing.seed, trajectory, i)
            episode = begin(task, sentences, i, space.cells)
            steps = draw_trajectory(task, episode, weights, drawing, rewards.credit == SHAPED, space)
            if steps < 0:
                outcome[position, trajectory, 3] = steps
                break
            accuracy = 1.0 - task.loss(episode.x, episode.state) / length
            outcome[position, trajectory, 0] = returns_to_go(space.rewards, steps, accuracy, length, rewards)
            outcome[position, trajectory, 1] = accuracy
            outcome[position, trajectory, 2] = steps
            if drawing.temperature > 0.0:
                episode = begin(task, sentences, i, space.cells)
                baseline = rewards.baseline[position]
                gradient = credit_trajectory(
                    task, episode, weights, drawing.temperature, steps, baseline, gradient, space
                )
        count = gradient.used[0]
        at, amount = room(at, found + count), room(amount, found + count)
        for j in range(count):
            cell = gradient.touched[j]
            if sums[cell] != 0.0:
                at[found], amount[found] = cell, sums[cell]
                sums[cell] = 0.0
                found += 1
        shard.control[shard.slot] += 1
    return at[:found].copy(), amount[:found].copy()
