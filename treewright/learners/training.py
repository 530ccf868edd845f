"""Training for any task: Goodman's Algorithm 6 with any row of the table of learners, or learning with beam search."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners import checkpoints, loop
from treewright.learners.imitation import Imitation
from treewright.learners.loop import Pass
from treewright.learners.passes import COST_OF_ACTION, COST_OF_OPTIMAL, COST_OF_ORACLE, imitate_pass
from treewright.learners.registry import Learner, make_learner
from treewright.learners.structured import Structured, structured_pass
from treewright.policies.linear import LinearPolicy, rows_for
from treewright.policies.updates import Model, final_weights, learn_pass, new_model
from treewright.search.checking import preflight
from treewright.search.engine import (
    BOTH,
    EXPERT,
    EXPLORE,
    LEARNED,
    MIX_PER_ROLL,
    MIX_PER_STEP,
    NO_ROLL_OUT,
)
from treewright.search.examples import Examples, join_examples, no_examples
from treewright.search.running import check_steps, run_shards, shape_of
from treewright.search.task import Packed
from treewright.settings import whole_number

__all__ = ["Trained", "train"]

_WHO = {
    "expert": EXPERT,
    "learned": LEARNED,
    "mixed-per-step": MIX_PER_STEP,
    "mixed-per-roll": MIX_PER_ROLL,
    "both": BOTH,
    "none": NO_ROLL_OUT,
    "explore": EXPLORE,
}
_COST = {"action": COST_OF_ACTION, "optimal": COST_OF_OPTIMAL, "oracle": COST_OF_ORACLE, "loss": COST_OF_ORACLE}


@dataclass
class Trained:
    """The policy that training ended with (the one best on development data, if there was a score), and its history."""

    policy: LinearPolicy
    history: list[Pass] = field(default_factory=list)


@dataclass
class _Run:
    """What the next iteration depends on."""

    model: Model
    examples: Examples
    policies: list[npt.NDArray[np.float32]]  # SEARN's, oldest first
    mistakes: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # on each example, for α


class _Training:
    """Iterations of imitation or of structured learning, as the loop runs them."""

    def __init__(
        self,
        learner: Imitation | Structured,
        packed: Packed,
        bits: int,
        beam: int,
        seed: int,
        jobs: int,
        progress: Callable[[str, int, int], None] | None,
    ) -> None:
        self.learner, self.packed, self.beam, self.seed, self.jobs = learner, packed, beam, seed, jobs
        self.progress = progress
        self.rows, self.width = rows_for(bits), packed.task.table_width
        self.run = _Run(new_model(learner.update, self.rows, self.width), no_examples(), [])
        self.iteration, self.collected = 0, no_examples()
        self.policy: LinearPolicy | None = None
        self.best: LinearPolicy | None = None

    def advance(self, iteration: int) -> dict[str, Any]:
        """One iteration over the corpus."""
        self.policy, self.iteration = None, iteration  # it may be large: do not hold two while the next one is made
        learner, run = self.learner, self.run
        if isinstance(learner, Structured):
            self.policy, done = _search(learner, self.packed, run.model, self.beam, iteration, self.seed, self.progress)
        else:
            # fmt: off
            self.policy, done, self.collected = _iterate(learner, self.packed, run, iteration, self.seed, self.jobs,
                                                         self.rows, self.width, self.progress)
            # fmt: on
        return done

    def current(self) -> LinearPolicy:
        """The policy that the iteration ended with."""
        assert self.policy is not None
        return self.policy

    def keep(self, score: float | None, best: bool) -> None:
        """Keep the best policy: as a copy where it is the weights that go on learning."""
        policy = self.current()
        if not best:
            return
        if not np.may_share_memory(policy.weights, self.run.model.weights):
            self.best = policy
            return
        if self.best is None or self.best.weights.shape != policy.weights.shape:
            self.best = LinearPolicy(np.empty_like(policy.weights), policy.probabilities)
        np.copyto(self.best.weights, policy.weights)

    def arrays(self, folder: Path) -> checkpoints.Arrays:
        """The model, SEARN's policies and the best one; examples have a file for each iteration that collected some."""
        run = self.run
        arrays = {f"model_{name}": array for name, array in run.model._asdict().items()} | {"mistakes": run.mistakes}
        if self.learner.data in ("first", "all", "current") and len(self.collected.usual_cost):
            checkpoints.save_arrays(folder, f"examples-{self.iteration}", self.collected._asdict())
        for number, weights in enumerate(run.policies):
            arrays[f"policy_{number}"] = weights
        assert self.best is not None
        arrays.update({f"best_{name}": array for name, array in self.best.to_arrays().items()})
        return {**arrays, "iteration": np.array(self.iteration)}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
        """Go back to the state of a checkpoint."""
        self.iteration = int(arrays["iteration"])
        model = Model(*(arrays[f"model_{name}"] for name in Model._fields))
        policies = [arrays[f"policy_{k}"] for k in range(sum(name.startswith("policy_") for name in arrays))]
        best = {k.removeprefix("best_"): v for k, v in arrays.items() if k.startswith("best_")}
        first = self.iteration if self.learner.data == "current" else 1
        parts = [checkpoints.load_arrays(folder, f"examples-{k}") for k in range(first, self.iteration + 1)]
        kept = [Examples(**part) for part in parts if part is not None]
        self.run = _Run(model, join_examples(kept) if kept else no_examples(), policies, arrays["mistakes"])
        self.best = LinearPolicy.from_arrays(best)


def train(
    learner: str | Learner | dict[str, Any],
    packed: Packed,
    *,
    bits: int = 18,
    beam: int = 1,
    seed: int = 0,
    jobs: int = 1,
    evaluate: Callable[[LinearPolicy], float] | None = None,
    report: Callable[[Pass], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Trained:
    """Train a policy for a task, with a learner by name or one of your own.

    ``bits`` is the size of the table of hashed features. ``beam`` is the width that structured learners search with, 2
    at least; others learn without. ``evaluate`` scores a policy after each iteration (higher is
    better), and the best is returned; to keep a policy that it is given, copy its weights, for they go on learning.
    ``report`` receives each :class:`Pass`, ``progress`` (stage, done, total) all along. With ``checkpoint``, a folder,
    the state after each iteration is kept there, and ``resume`` goes on from it: the result is the same to the bit as
    without the interruption. The result does not depend on ``jobs``.
    """
    learner = make_learner(learner, Imitation, Structured)
    bits, seed, jobs = whole_number("bits", bits, 1, 30), whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    beam = whole_number("beam", beam, 1)
    if isinstance(learner, Structured) and beam < 2:
        raise ConfigError(
            f"must be at least 2 for the learner {learner.name!r}, which learns where beam search goes wrong: set it "
            "to 8, say",
            setting="beam",
            value=beam,
        )
    if not isinstance(packed, Packed):
        raise ConfigError("what is learned from must be packed first: train(learner, task.pack(sentences))")
    if len(packed) == 0:
        raise ConfigError("there is nothing to learn from: the corpus has no sentences")
    preflight(packed)
    training = _Training(learner, packed, bits, beam, seed, jobs, progress)
    history = loop.run(
        training,
        learner.passes,
        Pass,
        fingerprint=lambda: _fingerprint(learner, packed, bits, beam, seed),
        evaluate=evaluate,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )
    assert training.best is not None
    return Trained(training.best, history)


def _iterate(
    learner: Imitation,
    packed: Packed,
    run: _Run,
    iteration: int,
    seed: int,
    jobs: int,
    rows: int,
    width: int,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[LinearPolicy, dict[str, float], Examples]:
    """One iteration of Algorithm 6: visit states, cost their actions, train. Returns the policy it ends with."""
    β = learner.beta(iteration)
    collected, done = no_examples(), {"loss": 0.0, "decisions": 0}
    if learner.data == "online":
        _, done = _visit(learner, packed, run.model, run.model.weights[None], [β, 1.0], iteration, seed, 1, progress)
    elif learner.data != "first" or iteration == 1:
        weights, mixture = _acting(learner, run, β, iteration)
        collected, done = _visit(learner, packed, run.model, weights, mixture, iteration, seed, jobs, progress)
        run.examples = join_examples([run.examples, collected]) if learner.data == "all" else collected
    if learner.data != "online":
        if learner.interpolation:
            run.model = new_model(learner.update, rows, width)
        done["loss"] = _learn(learner, run, iteration, seed, packed.task.n_actions, progress)
    latest = final_weights(run.model, learner.update)
    if learner.interpolation:
        run.policies.append(latest)  # the next iteration trains a model of its own
        shares = _shares(learner.interpolation, len(run.policies))
        policy = LinearPolicy(np.stack(run.policies), tuple(float(s) for s in shares / shares.sum()))
    else:
        policy = LinearPolicy(latest[None])
    n_examples = len(run.examples.usual_cost) if learner.data != "online" else int(done["decisions"])
    return policy, {"iteration": iteration, "beta": β, "examples": n_examples, **done}, collected


def _shares(γ: float, policies: int) -> npt.NDArray[np.float64]:
    """SEARN's mixture (Goodman, Table 5.1): γ for the newest policy, γ(1−γ) for the one before; oldest first."""
    return γ * (1.0 - γ) ** np.arange(policies - 1, -1, -1, dtype=np.float64)


def _acting(learner: Imitation, run: _Run, β: float, iteration: int) -> tuple[npt.NDArray[np.float32], list[float]]:
    """The policies that act in this iteration and the cumulative shares of the expert and of each of them."""
    if iteration == 1:  # nothing is learned yet: the expert acts alone
        return run.model.weights[None], [1.0, 1.0]
    if learner.interpolation:
        shares = _shares(learner.interpolation, len(run.policies))
        return np.stack(run.policies), [float(s) for s in np.cumsum([1.0 - shares.sum(), *shares])]
    return final_weights(run.model, learner.update)[None], [β, 1.0]


def _visit(
    learner: Imitation,
    packed: Packed,
    model: Model,
    weights: npt.NDArray[np.float32],
    mixture: list[float],
    iteration: int,
    seed: int,
    jobs: int,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[Examples, dict[str, float]]:
    """Roll in and out over the corpus; learn on the way (online) or return the examples."""
    online = learner.data == "online"
    untrained = iteration == 1 and not online
    roll_in, roll_out = _WHO[learner.roll_in], _WHO[learner.roll_out]
    if untrained and roll_in == LEARNED:
        roll_in = EXPERT
    if untrained and roll_out == LEARNED:
        roll_out = EXPERT
    order = np.arange(len(packed), dtype=np.int64)
    if iteration <= learner.small_first:
        share = -(-len(packed) * iteration // (learner.small_first + 1))
        order = np.sort(np.argsort(packed.lengths, kind="stable")[:share])
    if online:
        np.random.default_rng([seed, iteration]).shuffle(order)
    state_at = packed.state_offsets()
    sizes, bounds = np.diff(state_at), packed.task.steps_bound(packed.lengths.astype(np.int64))
    outcome = np.zeros((len(packed), 4), np.float64)
    shares = np.asarray(mixture, np.float64)
    rule, shape = learner.update.rule(), shape_of(packed.task)

    def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> Examples:
        # fmt: off
        return imitate_pass(packed.task, packed.arrays, order, first, last, weights, shares, roll_in, roll_out,
                            learner.samples, learner.focus, _COST[learner.cost], iteration > learner.k, learner.p,
                            online, rule, model, sizes, bounds, shape, seed, iteration, outcome, control, slot)
        # fmt: on

    stage = "learning" if online else "visiting states"
    tell = None if progress is None else lambda count: progress(stage, count, len(order))
    parts = run_shards(work, len(order), packed=packed, jobs=1 if online else jobs, progress=tell)
    check_steps(packed, outcome[:, 3].astype(np.int64))
    decisions = outcome[:, 1].sum()
    return join_examples(parts), {
        "loss": float(outcome[:, 2].sum() / max(decisions, 1.0)),
        "decisions": int(decisions),
    }


def _learn(
    learner: Imitation,
    run: _Run,
    iteration: int,
    seed: int,
    most_actions: int,
    progress: Callable[[str, int, int], None] | None,
) -> float:
    """Train the classifier on the examples for some epochs; return the mean cost in the last one."""
    n = len(run.examples.usual_cost)
    if learner.alpha:
        run.mistakes = np.concatenate([run.mistakes, np.zeros(n - len(run.mistakes), np.int32)])
    total = 0.0
    for epoch in range(1, learner.epochs + 1):
        order = np.random.default_rng([seed, iteration, epoch]).permutation(n).astype(np.int64)

        def work(
            first: int, last: int, control: npt.NDArray[np.int64], slot: int, order: npt.NDArray[np.int64] = order
        ) -> float:
            # fmt: off
            return learn_pass(run.examples, order, learner.update.rule(), run.model, most_actions,
                              run.mistakes, learner.alpha, control, slot)
            # fmt: on

        stage = "learning" if learner.epochs == 1 else f"learning, epoch {epoch} of {learner.epochs}"
        tell = None if progress is None else lambda count, stage=stage: progress(stage, count, n)
        total = sum(run_shards(work, n, progress=tell))
    return float(total / max(n, 1))


def _search(
    learner: Structured,
    packed: Packed,
    model: Model,
    beam: int,
    iteration: int,
    seed: int,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[LinearPolicy, dict[str, float]]:
    """One pass of structured learning over the shuffled corpus, in one thread. Returns the policy it ends with."""
    order = np.arange(len(packed), dtype=np.int64)
    np.random.default_rng([seed, iteration]).shuffle(order)
    sizes, bounds = np.diff(packed.state_offsets()), packed.task.steps_bound(packed.lengths.astype(np.int64))
    outcome = np.zeros((len(packed), 4), np.float64)
    rule, shape, early = learner.update.rule(), shape_of(packed.task), learner.violation == "early"

    def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> None:
        # fmt: off
        structured_pass(packed.task, packed.arrays, order, first, last, beam, early, rule, model, sizes, bounds, shape,
                        outcome, control, slot)
        # fmt: on

    tell = None if progress is None else lambda count: progress("learning", count, len(packed))
    run_shards(work, len(packed), packed=packed, progress=tell)
    check_steps(packed, outcome[:, 3].astype(np.int64))
    loss, decisions, violations, _ = outcome.sum(axis=0)
    return LinearPolicy(final_weights(model, learner.update)[None]), {
        "iteration": iteration,
        "beta": 0.0,
        "examples": int(violations),
        "loss": float(loss / max(decisions, 1.0)),
        "decisions": int(decisions),
    }


def _fingerprint(learner: Learner, packed: Packed, bits: int, beam: int, seed: int) -> checkpoints.Fingerprint:
    """What a checkpoint belongs to: the task, the data and every setting but the number of iterations."""
    settings = {**learner.params(), "passes": None, "bits": bits, "seed": seed}
    if isinstance(learner, Structured):
        settings["beam"] = beam
    digest = hashlib.sha256(packed.task.digest.encode())
    for array in packed.arrays:
        digest.update(np.ascontiguousarray(array).data)
    return {**settings, "data": digest.hexdigest()}
