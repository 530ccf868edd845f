"""Train policies for any task: Goodman's Algorithm 6 with any imitation learner, or learning with beam search."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.learners import checkpoints, loop
from treewright.learners.imitation import Imitation
from treewright.learners.loop import Pass
from treewright.learners.passes import (
    COST_OF_ACTION,
    COST_OF_OPTIMAL,
    COST_OF_ORACLE,
    Choices,
    Outcome,
    imitate_pass,
    new_space,
)
from treewright.learners.registry import Learner, make_learner
from treewright.learners.structured import Outcome as SearchOutcome
from treewright.learners.structured import Structured, check_beam, new_lattice, new_outcome, structured_pass
from treewright.policies.learning import LearnablePolicy, Online, Trainer
from treewright.policies.linear import UntrainedLinear
from treewright.search.checking import preflight
from treewright.search.engine import (
    BOTH,
    EXPERT,
    EXPLORE,
    LEARNED,
    MIX_PER_ROLL,
    MIX_PER_STATE,
    MIX_PER_STEP,
    RollOut,
    Shard,
)
from treewright.search.examples import Examples, Log, join_examples, new_log, no_examples, spare_log
from treewright.search.policy import Policy
from treewright.search.running import blocks, check_steps, kernel_for, prepare, run_shards, scratch_for, sentences_of
from treewright.search.task import Packed
from treewright.search.weak_expert import weaken_expert
from treewright.settings import whole_number

__all__ = ["Trainable", "Trained", "Training", "make_training", "train"]

Longs = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]

_WHO = {
    "expert": EXPERT,
    "learned": LEARNED,
    "mixed-per-step": MIX_PER_STEP,
    "mixed-per-roll": MIX_PER_ROLL,
    "mixed-per-state": MIX_PER_STATE,
    "both": BOTH,
    "none": None,
    "explore": EXPLORE,
}
_LARGEST_LOG = 1 << 20  # free cells at first: the memory is used only where they are written
_COST = {"action": COST_OF_ACTION, "optimal": COST_OF_OPTIMAL, "oracle": COST_OF_ORACLE, "loss": COST_OF_ORACLE}


class Trainable(Protocol):
    """The starting point of :func:`train`: a trained or an untrained policy."""

    def trainer(self, packed: Packed, update: Any) -> Trainer:
        """Return the trainer of the policy for a corpus and the learner's update."""


@dataclass
class Trained:
    """The final policy (the best on development data, if it was scored), and the history of training."""

    policy: Any
    history: list[Pass] = field(default_factory=list)


def train(
    learner: str | Learner | dict[str, Any],
    packed: Packed,
    *,
    policy: Trainable | None = None,
    bits: int = 18,
    beam: int = 1,
    seed: int = 0,
    jobs: int = 1,
    evaluate: Callable[[Any], float] | None = None,
    report: Callable[[Pass], None] | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> Trained:
    """Train a policy for a task, with a named learner or your own.

    ``policy`` is the policy to train; by default it is linear with a table of 2^``bits`` rows for hashed features.
    ``beam`` is the width of the beam of structured learners, at least 2; others ignore it. ``evaluate`` scores a policy
    after each iteration (higher is better), and the best policy is returned. Later iterations change its argument, so
    copy the weights to keep them. ``report`` receives each :class:`Pass`, and ``progress`` (stage, done, total) is
    called regularly. ``checkpoint`` is a folder for the state after each iteration, and ``resume`` continues from it:
    the result is the same to the bit as without the interruption. The result does not depend on ``jobs``.
    """
    learner = make_learner(learner, Imitation, Structured)
    bits, seed, jobs = whole_number("bits", bits, 1, 30), whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    beam = whole_number("beam", beam, 1)
    check_beam(learner, beam)
    if not isinstance(packed, Packed):
        raise ConfigError("what is learned from must be packed first: train(learner, task.pack(sentences))")
    if len(packed) == 0:
        raise ConfigError("there is nothing to learn from: the corpus has no sentences")
    training = make_training(
        learner, packed, policy=policy, bits=bits, beam=beam, seed=seed, jobs=jobs, progress=progress
    )
    trainer = training.trainer
    history = loop.run(
        training,
        learner.passes,
        Pass,
        fingerprint=lambda: _fingerprint(learner, training.packed, trainer, beam, seed),
        evaluate=evaluate,
        report=report,
        checkpoint=checkpoint,
        resume=resume,
    )
    assert training.best is not None
    return Trained(training.best, history)


def make_training(
    learner: Learner,
    packed: Packed,
    *,
    policy: Trainable | None = None,
    bits: int = 18,
    beam: int = 1,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Training:
    """Return the iterations of a learner over a corpus, which :func:`train` runs."""
    learner = make_learner(learner, Imitation, Structured)
    preflight(packed)
    if isinstance(learner, Imitation) and learner.expert_accuracy < 1.0:
        packed = weaken_expert(packed, learner.expert_accuracy, systematic=learner.expert_errors == "systematic")
    trainer = (UntrainedLinear(bits) if policy is None else policy).trainer(packed, learner.update)
    trainer.plan(_planned(learner))
    if isinstance(learner, Structured):
        return _Searching(learner, beam, trainer, packed, seed, jobs, progress)
    return _Imitating(learner, trainer, packed, seed, jobs, progress)


class Iterations(ABC):
    """The iterations of a training loop. Each iteration ends with a policy, and the best policy is kept."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.policy: LearnablePolicy | None = None
        self.best: LearnablePolicy | None = None

    @abstractmethod
    def advance(self, iteration: int) -> dict[str, Any]:
        """Run one iteration over the corpus."""

    def current(self) -> LearnablePolicy:
        """Return the policy at the end of the iteration."""
        if self.policy is None:  # the mean of a large table takes a while, and not every iteration needs it
            self.policy = self.trainer.policy()
        return self.policy

    def keep(self, score: float | None, best: bool) -> None:
        """Store the current policy if it is the best."""
        if best:
            self.best = self.trainer.kept(self.current(), self.best)

    def arrays(self, folder: Path) -> checkpoints.Arrays:
        """Return the state of the trainer, and the best policy."""
        assert self.best is not None
        return {**_named("trainer", self.trainer.to_arrays()), **_named("best", self.best.to_arrays())}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
        """Restore the state of a checkpoint."""
        self.trainer.restore(_of("trainer", arrays))
        self.best = self.trainer.policy_class.from_arrays(_of("best", arrays))


class Training(Iterations):
    """Iterations of a learner over a corpus."""

    def __init__(self, trainer: Trainer, packed: Packed, seed: int, jobs: int, progress: Progress | None) -> None:
        super().__init__(trainer)
        self.packed, self.seed, self.jobs, self.progress = packed, seed, jobs, progress
        self.sentences = sentences_of(packed)
        self.part = 0, 1
        """The part of a pass that :meth:`advance` runs, from 0, and the number of parts: for online learners."""

    def shuffled(self, order: Longs, iteration: int) -> Longs:
        """Return the sentences of a pass in random order; if the pass has parts, those of the current part."""
        np.random.default_rng([self.seed, iteration]).shuffle(order)
        part, parts = self.part
        return order[len(order) * part // parts : len(order) * (part + 1) // parts]

    def cells(self, which: Longs) -> int:
        """Return the number of cells in the largest state of some sentences."""
        state_at = self.sentences.state_at
        return int((state_at[which + 1] - state_at[which]).max(initial=1))

    def tell(self, stage: str, total: int, done: int = 0) -> Callable[[int], None] | None:
        """Return a function that reports the progress of a stage, added to ``done``."""
        progress = self.progress
        return None if progress is None else lambda count: progress(stage, done + count, total)


def _named(prefix: str, arrays: checkpoints.Arrays) -> dict[str, npt.NDArray[Any]]:
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def _of(prefix: str, arrays: checkpoints.Arrays) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(f"{prefix}_"): a for name, a in arrays.items() if name.startswith(f"{prefix}_")}


class _Imitating(Training):
    """Goodman's Algorithm 6: each iteration visits states, computes the costs of their actions, and trains."""

    def __init__(self, learner: Imitation, *others: Any) -> None:
        super().__init__(*others)
        self.learner = learner
        self.examples = self.collected = no_examples()  # the training examples, and those from the last iteration
        self.policies: list[LearnablePolicy] = []  # the policies of SEARN, oldest first
        self.mistakes = np.zeros(0, np.int32)  # the number of mistakes on each example, for α
        self.unseen = np.ones(len(self.packed), np.bool_)  # sentences without examples
        self.iteration = 0

    def advance(self, iteration: int) -> dict[str, Any]:
        """Run one iteration over the corpus."""
        self.policy, self.iteration = None, iteration  # policies may be large: do not keep two in memory
        learner, β = self.learner, self.learner.beta(iteration)
        self.collected, decisions = no_examples(), 0
        if learner.data == "online":
            decisions, loss = self._learn_online(β)
            n_examples = decisions
        else:
            order = self._order()
            if learner.data == "first":
                order = order[self.unseen[order]]
            if len(order):
                policy, mixture = self._acting(β)
                tell = self.tell("visiting states", len(order))
                self.collected, decisions, _ = self._visit(policy, mixture, order, None, tell)
                self.unseen[order] = False
                earlier = [self.examples] if learner.data in ("all", "first") else []
                self.examples = join_examples([*earlier, self.collected])
            if learner.interpolation:
                self.trainer = self.trainer.fresh()
            loss, n_examples = self._learn(), self.examples.size
        if learner.interpolation:
            self.policies.append(self.trainer.policy())  # the next iteration trains a new one
            shares = self._shares()
            self.policy = self.trainer.mixed(self.policies, [float(s) for s in shares / shares.sum()])
        shown = 1.0 if learner.data == "online" and self._expert_alone else β
        return {"iteration": iteration, "beta": shown, "examples": n_examples, "loss": loss, "decisions": decisions}

    @property
    def _expert_alone(self) -> bool:
        """Whether the expert replaces the policy: in the first pass (π̂₀ = π*), or if only first visits count."""
        return self.iteration == 1 or self.learner.data == "first"

    def _shares(self) -> npt.NDArray[np.float64]:
        """SEARN's mixture (Goodman, Table 5.1): γ for the newest policy, γ(1−γ) for the one before; oldest first."""
        γ = self.learner.interpolation
        return γ * (1.0 - γ) ** np.arange(len(self.policies) - 1, -1, -1, dtype=np.float64)

    def _acting(self, β: float) -> tuple[Policy, list[float]]:
        """The policy that acts in this iteration and the cumulative shares of the expert and of each member."""
        if self._expert_alone:
            return self.trainer.acting(), [1.0, 1.0]
        if self.learner.interpolation:
            shares = self._shares()
            cumulative = [float(s) for s in np.cumsum([1.0 - shares.sum(), *shares])]
            return self.trainer.mixed(self.policies, [float(s) for s in shares / shares.sum()]), cumulative
        return self.trainer.policy(), [β, 1.0]

    def _order(self) -> Longs:
        """The sentences to visit: all sentences, or only the shorter ones in the first iterations."""
        packed, small_first = self.packed, self.learner.small_first
        if self.iteration > small_first:
            return np.arange(len(packed), dtype=np.int64)
        share = -(-len(packed) * self.iteration // (small_first + 1))
        return np.sort(np.argsort(packed.lengths, kind="stable")[:share])

    def _choices(self) -> tuple[Choices, RollOut | None]:
        """The learner's choices for the kernels. Before the first training, the expert replaces the policy."""
        learner, online = self.learner, self.learner.data == "online"
        roll_in, roll_out = (
            EXPERT if self._expert_alone and who == LEARNED else who
            for who in (_WHO[learner.roll_in], _WHO[learner.roll_out])
        )
        assert roll_in is not None
        choices = Choices(
            roll_in,
            _COST[learner.cost],
            self.iteration > learner.k,
            float(learner.p),
            online,
            self.seed,
            self.iteration,
        )
        return choices, None if roll_out is None else RollOut(roll_out, learner.samples, learner.focus)

    def _visit(
        self,
        policy: Policy,
        mixture: list[float],
        order: Longs,
        online: Online | None,
        tell: Callable[[int], None] | None,
        spare: list[Log] | None = None,
    ) -> tuple[Examples, int, float]:
        """Roll in and out over some sentences; return examples, decisions, and the costs of the preferred actions.

        Threads take their logs from ``spare`` and put them back, because new memory costs more than a short visit.
        """
        packed, task = self.packed, self.packed.task
        choices, rolling = self._choices()
        outcome = Outcome(np.zeros(len(packed)), np.zeros(len(packed)), np.zeros(len(packed), np.int64))
        run, cells = kernel_for(packed, imitate_pass), self.cells(order)
        logs: list[Log] = [] if spare is None else spare

        def visit(start: int, end: int) -> list[Examples]:
            """Visit some sentences. They are prepared together, so that the result does not depend on the threads."""
            scorer = prepare(policy, packed, order[start:end], mixture)

            def work(first: int, last: int, control: Longs, slot: int) -> Examples:
                done, end = start + first, start + last
                decisions = int(packed.bounds[order[done:end]].sum())
                size = min(decisions * task.n_actions, _LARGEST_LOG) if online is None else 1
                space, log = new_space(scorer, task, cells), spare_log(logs, max(size, 1))
                while True:
                    given = task, self.sentences, order, Shard(done, end, control, slot), scorer, choices, rolling
                    done = run(*given, online, space, log, outcome)
                    if done == end:
                        examples = log.written(task.structured)
                        logs.append(log)
                        return examples
                    log = log.larger()

            progress = None if tell is None else lambda count: tell(start + count)
            jobs = self.jobs if online is None else 1
            return run_shards(work, end - start, packed=packed, jobs=jobs, progress=progress)

        ranges = blocks(policy, packed.lengths[order], 0, len(order))
        parts = [part for start, end in ranges for part in visit(start, end)]
        check_steps(packed, outcome.trouble)
        return join_examples(parts), int(outcome.decisions.sum()), float(outcome.costs.sum())

    def _learn_online(self, β: float) -> tuple[int, float]:
        """Visit the shuffled corpus and learn from each state at once, or after each batch of sentences.

        Returns the number of decisions, and the mean cost of the preferred actions.
        """
        trainer, order = self.trainer, self.shuffled(self._order(), self.iteration)
        share = 1.0 if self._expert_alone else β
        decisions, costs, done = 0, 0.0, 0
        spare: list[Log] = []
        for batch in trainer.batches(order):
            tell = self.tell("learning", len(order), done=done)
            examples, visited, cost = self._visit(trainer.acting(), [share, 1.0], batch, trainer.online, tell, spare)
            done += len(batch)
            if trainer.online is None:
                cost = trainer.learn(examples, np.arange(examples.size), np.zeros(examples.size, np.int32), None)
            decisions, costs = decisions + visited, costs + cost
        return decisions, costs / max(decisions, 1)

    def _learn(self) -> float:
        """Train on the examples for some epochs; return the mean cost in the last one."""
        learner, n, total = self.learner, self.examples.size, 0.0
        if learner.alpha:
            self.mistakes = np.concatenate([self.mistakes, np.zeros(n - len(self.mistakes), np.int32)])
        for epoch in range(1, learner.epochs + 1):
            order = np.random.default_rng([self.seed, self.iteration, epoch]).permutation(n).astype(np.int64)
            mistakes = self.mistakes if learner.alpha else np.zeros(n, np.int32)
            if learner.alpha:
                order = order[mistakes[order] < learner.alpha]
            stage = "learning" if learner.epochs == 1 else f"learning, epoch {epoch} of {learner.epochs}"
            tell = self.tell(stage, n, done=n - len(order))
            total = self.trainer.learn(self.examples, order, mistakes, tell)
        return float(total / max(n, 1))

    def arrays(self, folder: Path) -> checkpoints.Arrays:
        """Return the state for the next iteration; the examples of each iteration are in a separate file."""
        if self.collected.size:
            checkpoints.save_arrays(folder, f"examples-{self.iteration}", self.collected._asdict())
        policies = [_named(f"policy{k}", policy.to_arrays()) for k, policy in enumerate(self.policies)]
        own = {"mistakes": self.mistakes, "iteration": np.array(self.iteration), "policies": np.array(len(policies))}
        return {**super().arrays(folder), **own, **{name: a for arrays in policies for name, a in arrays.items()}}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
        """Restore the state of a checkpoint."""
        super().restore(arrays, folder)
        self.iteration, self.mistakes = int(arrays["iteration"]), arrays["mistakes"]
        read = self.trainer.policy_class.from_arrays
        self.policies = [read(_of(f"policy{k}", arrays)) for k in range(int(arrays["policies"]))]
        first = self.iteration if self.learner.data == "current" else 1
        parts = [checkpoints.load_arrays(folder, f"examples-{k}") for k in range(first, self.iteration + 1)]
        kept = [Examples(**part) for part in parts if part is not None]
        self.examples = join_examples(kept) if kept else no_examples()
        if self.learner.data == "first":
            self.unseen[self._order()] = False


class _Searching(Training):
    """Structured learning: search the shuffled corpus with a beam, in one thread, and learn from each sentence."""

    def __init__(self, learner: Structured, beam: int, *others: Any) -> None:
        super().__init__(*others)
        self.learner, self.beam = learner, beam

    def advance(self, iteration: int) -> dict[str, Any]:
        """Run one pass over the corpus."""
        self.policy = None
        order = self.shuffled(np.arange(len(self.packed), dtype=np.int64), iteration)
        outcome = new_outcome(len(self.packed))
        done = 0
        for batch in self.trainer.batches(order):
            self._search(batch, outcome, self.tell("learning", len(order), done))
            done += len(batch)
        decisions = float(outcome.steps.sum())
        return {
            "iteration": iteration,
            "beta": 0.0,
            "examples": int(outcome.violations.sum()),
            "loss": float(outcome.losses.sum() / max(decisions, 1.0)),
            "decisions": int(decisions),
        }

    def _search(self, order: Longs, outcome: SearchOutcome, tell: Callable[[int], None] | None) -> None:
        """Search some sentences, and learn during the search or from the collected credits."""
        packed, task, online = self.packed, self.packed.task, self.trainer.online
        run, early = kernel_for(packed, structured_pass), self.learner.violation == "early"
        scorer = prepare(self.trainer.acting(), packed, order)
        scratch = scratch_for(scorer, task)
        lattice = new_lattice(self.beam, self.cells(order), int(packed.bounds[order].max(initial=1)))

        def work(*shard: Any) -> Examples:
            part, log = Shard(*shard), new_log(1)
            log = run(task, self.sentences, order, part, scorer, online, early, lattice, scratch, log, outcome)
            credits: Examples = log.written(task.structured)
            return credits

        [credits] = run_shards(work, len(order), packed=packed, progress=tell)
        check_steps(packed, outcome.trouble)
        if online is None:
            self.trainer.credit(credits)


def _planned(learner: Learner) -> int:
    """The total number of training epochs."""
    if isinstance(learner, Imitation) and learner.data != "online":
        return learner.epochs if learner.interpolation else learner.passes * learner.epochs
    return learner.passes


def _fingerprint(learner: Learner, packed: Packed, trainer: Trainer, beam: int, seed: int) -> checkpoints.Fingerprint:
    """The identity of a training run: the task, the data, and all settings except the number of iterations."""
    settings = {**learner.params(), "passes": None, **trainer.settings(), "seed": seed}
    if isinstance(learner, Structured):
        settings["beam"] = beam
    digest = hashlib.sha256(packed.task.digest.encode())
    for array in packed.arrays:
        digest.update(np.ascontiguousarray(array).data)
    return {**settings, "data": digest.hexdigest()}
