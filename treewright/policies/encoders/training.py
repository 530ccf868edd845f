"""Train an encoder with PyTorch: AdamW on −log Σ{p(a) : a has the least cost}, with averaged parameters.

While an online learner visits sentences, the policy acts with the tables of a forward pass, and the following step
differentiates the same pass: sentences are encoded once. For learners that collect examples, the examples are grouped
by sentence, so that a sentence is encoded once per epoch, regardless of the number of its states.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from treewright.errors import ConfigError
from treewright.policies.encoders.architecture import Architecture
from treewright.policies.encoders.batches import chosen, grouped, in_parts
from treewright.policies.encoders.network import CorpusOnDevice, Encoding, dropped, encode
from treewright.policies.encoders.parameters import initial_parameters, parameter_shapes
from treewright.policies.encoders.policy import (
    EncodedPolicy,
    UntrainedEncoder,
    make_scorer,
    output_names,
    words_of,
)
from treewright.policies.encoders.scoring import ROWS, rows_of
from treewright.policies.encoders.stack_network import summarise
from treewright.policies.encoders.structures import plan_structures
from treewright.policies.encoders.torch_import import find_device
from treewright.policies.learning import LearnablePolicy, Tell, Trainer
from treewright.search.examples import Examples
from treewright.search.policy import Policy, Scorer
from treewright.search.task import Packed

__all__ = ["EncoderTrainer"]

Longs = npt.NDArray[np.int64]
Tensors = dict[str, torch.Tensor]

_AVERAGE = 0.995
_BETAS, _DECAY, _EPSILON = (0.9, 0.95), 1e-5, 1e-8
_STEPS, _FEWEST = 50, 50  # for small corpora: the number of steps per epoch, and the least number of words per step
_WARM_UP = 200  # the number of steps, but at most a twentieth of all steps
_LONGEST_GRADIENT = 5.0
_MOST_STATES = 24_000  # the maximum number of states in a step
_EVALUATED = 6000  # the number of words that are encoded at a time outside training
_IMPOSSIBLE = -1e9


class EncoderTrainer(Trainer):
    """The trainer of an encoded policy."""

    policy_class = EncodedPolicy

    def __init__(self, untrained: UntrainedEncoder, packed: Packed) -> None:
        self.untrained, self.packed = untrained, packed
        self.device = find_device(untrained.device)
        if self.device == "cpu":
            torch.set_num_threads(1)  # several threads would spend more time on waiting than on computing
        else:
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        task, self.architecture = packed.task, untrained.architecture
        columns = ROWS if task.structured else task.n_actions
        shapes = parameter_shapes(
            self.architecture,
            untrained.inputs,
            task.max_positions,
            columns,
            structured=task.structured,
            n_relations=task.n_relations,
        )
        first = initial_parameters(shapes, untrained.seed) if untrained.start is None else untrained.start
        self.parameters = {name: torch.tensor(first[name], device=self.device, requires_grad=True) for name in shapes}
        self.average = {name: value.detach().clone() for name, value in self.parameters.items()}
        self.optimiser = self._new_optimiser()
        self.corpora: dict[int, CorpusOnDevice] = {}
        self.corpus = self._on_device(packed)
        self.random = torch.Generator(device=self.device)
        self.epochs, self.steps, self.seen = 10, 0, 0
        self.batch_words = min(untrained.batch, max(_FEWEST, int(packed.lengths.sum()) // _STEPS))
        self.visited: tuple[Longs, Encoding] | None = None
        self.staging = torch.empty(0)
        self.teacher: tuple[Tensors, CorpusOnDevice] | None = None
        if untrained.teacher is not None:
            teacher = untrained.teacher.policy
            weights = {name: torch.tensor(a, device=self.device) for name, a in teacher.members[0].items()}
            self.teacher = weights, CorpusOnDevice(teacher.inputs, untrained.teacher.words, self.device)

    def _new_optimiser(self) -> Any:
        return torch.optim.AdamW(
            list(self.parameters.values()),
            lr=self.untrained.step_size,
            betas=_BETAS,
            weight_decay=_DECAY,
            eps=_EPSILON,
            fused=True,
        )

    def _on_device(self, packed: Packed) -> CorpusOnDevice:
        """The words of a packed corpus as tensors; those of the training corpus and of one other corpus are cached."""
        words = words_of(packed)
        if id(words) not in self.corpora:
            self.corpora = {key: each for key, each in self.corpora.items() if each is self.corpus}
            self.corpora[id(words)] = CorpusOnDevice(self.untrained.inputs, words, self.device)
        return self.corpora[id(words)]

    # ---- the interface for learners

    def plan(self, epochs: int) -> None:
        """Set the number of epochs within which the step size decreases to zero."""
        self.epochs = epochs

    def batches(self, order: Longs) -> list[Longs]:
        """Group sentences of similar lengths, with about the same number of words in each group."""
        lengths = self.packed.lengths[order]
        random = np.random.default_rng([self.untrained.seed, self.steps])
        groups = grouped(lengths, self.batch_words, random)
        return [np.sort(order[group]) for group in groups]

    def acting(self) -> Policy:
        """Return a policy with the current parameters and the dropout of the next step."""
        return _Acting(self)

    def policy(self) -> LearnablePolicy:
        """Return a policy with the averaged parameters."""
        return _Averaged(self)

    def kept(self, policy: LearnablePolicy, previous: LearnablePolicy | None) -> EncodedPolicy:
        """Return a copy of the policy that later steps do not change."""
        return policy.copied() if isinstance(policy, _Averaged) else policy  # type: ignore[return-value]

    def learn(self, examples: Examples, order: Longs, mistakes: npt.NDArray[np.int32], tell: Tell | None) -> float:
        """Learn from the examples; all examples of a sentence are in the same step."""
        if not len(order):
            return 0.0
        sentences = examples.observed[examples.observed_at[:-1]][order]
        total, done = 0.0, 0
        for which in self._groups(sentences, order):
            total += self._step_or_halves(examples, which, mistakes)
            done += len(which)
            if tell is not None:
                tell(done)
        return total

    def credit(self, examples: Examples) -> None:
        """Raise the scores of actions with negative costs, and lower those of the others."""
        if examples.size:
            self._step(examples, np.arange(examples.size), np.zeros(examples.size, np.int32), credit=True)

    def fresh(self) -> EncoderTrainer:
        """Return a new, untrained trainer."""
        trainer = EncoderTrainer(self.untrained, self.packed)
        trainer.epochs = self.epochs
        return trainer

    def mixed(self, policies: Sequence[LearnablePolicy], probabilities: Sequence[float]) -> EncodedPolicy:
        """Return a mixture of the members of all policies."""
        copies = [self.kept(policy, None) for policy in policies]
        members = tuple(member for each in copies for member in each.members)
        return replace(copies[0], members=members, probabilities=tuple(probabilities))

    # ---- steps

    def _groups(self, sentences: npt.NDArray[np.int32], order: Longs) -> Iterator[Longs]:
        """Split the examples ``order`` into groups; all examples of a sentence are in the same group."""
        visited = set() if self.visited is None else set(self.visited[0].tolist())
        distinct, inverse, counts = np.unique(sentences, return_inverse=True, return_counts=True)
        if visited.issuperset(distinct.tolist()):
            yield order
            return
        self.visited = None
        by_sentence = np.split(order[np.argsort(inverse, kind="stable")], np.cumsum(counts)[:-1])
        random = np.random.default_rng([self.untrained.seed, self.steps])
        share = max(1.0, counts.sum() / len(distinct) / max(2.0 * self.packed.lengths[distinct].mean(), 1.0))
        most = min(self.batch_words, max(1, int(_MOST_STATES / (2.0 * share))))
        for group in grouped(self.packed.lengths[distinct], most, random):
            yield np.concatenate([by_sentence[k] for k in group])

    def _step_or_halves(self, examples: Examples, which: Longs, mistakes: npt.NDArray[np.int32]) -> float:
        """Take one step, or two steps with half of the sentences each if the memory of the GPU is not sufficient."""
        try:
            return self._step(examples, which, mistakes)
        except torch.OutOfMemoryError:
            pass
        self.visited = None
        self.optimiser.zero_grad(set_to_none=True)
        self._free()
        sentences = examples.observed[examples.observed_at[:-1][which]]
        middle = np.unique(sentences)
        if len(middle) < 2:
            raise ConfigError(
                f"the memory of the GPU does not suffice for a sentence of {self.packed.lengths[middle[0]]} words: "
                "use --device cpu, or a smaller policy"
            )
        self.batch_words = max(1, self.batch_words // 2)
        left = sentences < middle[len(middle) // 2]
        return sum(self._step_or_halves(examples, part, mistakes) for part in (which[left], which[~left]))

    def _staged(self, table: torch.Tensor) -> torch.Tensor:
        """Copy a table to page-locked memory, which a GPU fills much faster; the next call overwrites it."""
        if self.device == "cpu":
            return table
        if len(self.staging) < table.numel():
            self.staging = torch.empty(int(1.3 * table.numel()), pin_memory=True)
        return self.staging[: table.numel()].view(table.shape).copy_(table.detach())

    def _free(self) -> None:
        """Return unused memory to the GPU."""
        if self.device != "cpu":
            torch.cuda.empty_cache()

    def _step(
        self, examples: Examples, which: Longs, mistakes: npt.NDArray[np.int32], *, credit: bool = False
    ) -> float:
        """Take one gradient step; return the cost of the preferred actions."""
        part = examples if len(which) == examples.size else chosen(examples, which)
        sentences = np.unique(part.observed[part.observed_at[:-1]]).astype(np.int64)
        encoding = self._encoding(sentences)
        states = self._states(self.parameters, encoding, part, self.random)
        structured = self.packed.task.structured
        costs = (
            _listed_costs(part, self.device) if structured else _costs(part, self.packed.task.n_actions, self.device)
        )
        if credit:
            loss = (states * torch.where(costs.admissible, costs.costs, 0.0)).sum() / max(part.size, 1)
        else:
            loss = self._loss(states, costs, part, encoding)
        preferred = states.detach().masked_fill(~costs.admissible, _IMPOSSIBLE).argmax(1, keepdim=True)
        regret = (costs.costs.gather(1, preferred)[:, 0] - costs.least).clamp(min=0.0)
        paid = regret.cpu().numpy()  # before the gradient, so that the GPU computes it while the next step is prepared
        self._descend(loss, int(self.packed.lengths[sentences].sum()))
        if len(which) == examples.size:
            mistakes += paid > 0.0
        else:
            mistakes[which] += paid > 0.0
        return float(paid.sum())

    def _encoding(self, sentences: Longs) -> Encoding:
        """The output of the encoder for the sentences, from the forward pass of the visit or from a new one."""
        if self.visited is not None:
            which, encoding = self.visited
            self.visited = None
            if np.array_equal(np.intersect1d(which, sentences), sentences):
                self._order = which
                return encoding
        self._order = sentences
        return encode(self.architecture, self.parameters, self.corpus, sentences, self._seeded())

    def _seeded(self) -> torch.Generator:
        """The random number generator of this step."""
        self.random.manual_seed((self.untrained.seed << 32) + self.steps)
        return self.random

    def _states(self, p: Tensors, encoding: Encoding, part: Examples, random: torch.Generator | None) -> torch.Tensor:
        """The scores of all actions in the states of some examples."""
        start = np.full(int(self._order.max()) + 1, -1, np.int64)
        start[self._order] = encoding.layout.at[:-1]
        if "summary" in p:
            summary = summarise(p, encoding.table, plan_structures(part, start, len(encoding.table)))
            units = torch.relu(summary @ p["summary"] + p["summary_bias"])
        else:
            units = torch.relu(_units(p, encoding.table, part, start))
        share = 0.0 if random is None else self.architecture.dropout
        units = dropped(units, share, random)
        return _structured_scores(units, p, part) if "actions" in p else units @ p["output"] + p["output_bias"]

    def _loss(
        self,
        states: torch.Tensor,
        costs: _Costs,
        part: Examples,
        encoding: Encoding,
    ) -> torch.Tensor:
        """−log of the probability of the actions of least cost, plus the losses of the teacher and of the targets."""
        scores = states.masked_fill(~costs.admissible, _IMPOSSIBLE)
        right = scores.masked_fill(~costs.best, _IMPOSSIBLE)
        loss = (torch.logsumexp(scores, 1) - torch.logsumexp(right, 1)).mean()
        if self.teacher is not None:
            assert self.untrained.teacher is not None
            opinion = self._opinion(part).masked_fill(~costs.admissible, _IMPOSSIBLE)
            certain, own = torch.log_softmax(opinion, 1), torch.log_softmax(scores, 1)
            apart = (certain.exp() * (certain - own)).sum(1).mean()
            share = self.untrained.teacher.share
            loss = share * apart + (1.0 - share) * loss
        if self.untrained.target_weight:
            for guessed, target in zip(encoding.targets, self.corpus.targets, strict=True):
                values = target[encoding.rows]
                is_word = values != 1
                loss = loss + self.untrained.target_weight * functional.cross_entropy(guessed[is_word], values[is_word])
        return loss

    def _opinion(self, part: Examples) -> torch.Tensor:
        """The scores of the teacher."""
        assert self.teacher is not None
        assert self.untrained.teacher is not None
        p, corpus = self.teacher
        policy = self.untrained.teacher.policy
        with torch.no_grad():
            encoding = encode(policy.architecture, p, corpus, self._order)
            return self._states(p, encoding, part, None)

    def _descend(self, loss: torch.Tensor, words: int) -> None:
        """Update the parameters along the gradient, and then their average."""
        total = max(self.epochs * int(self.packed.lengths.sum()), 1)
        steps = max(total / self.batch_words, 1.0)
        warm = min(1.0, (self.steps + 1) / max(1.0, min(_WARM_UP, steps / 20)))
        for group in self.optimiser.param_groups:
            group["lr"] = self.untrained.step_size * warm * max(1.0 - self.seen / total, 0.01)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        parameters = list(self.parameters.values())
        torch.nn.utils.clip_grad_norm_(parameters, _LONGEST_GRADIENT)
        self.optimiser.step()
        self.steps, self.seen = self.steps + 1, self.seen + words
        share = min(_AVERAGE, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.values()), parameters, 1.0 - share)

    # ---- checkpoints

    def settings(self) -> dict[str, Any]:
        """Return the architecture and all other settings that the steps depend on."""
        untrained = self.untrained
        digest = hashlib.sha256()
        for name, array in sorted(untrained.inputs.to_arrays().items()):
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return {
            "policy": untrained.architecture.to_plain(),
            "inputs": digest.hexdigest(),
            "step_size": untrained.step_size,
            "batch": untrained.batch,
            "target_weight": untrained.target_weight,
            "policy_seed": untrained.seed,
            "epochs_planned": self.epochs,
            "teacher": untrained.teacher is not None and untrained.teacher.share,
        }

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the parameters, their averages, and the state of AdamW."""
        arrays = {
            "steps": np.array([self.steps, self.seen, self.batch_words], np.int64),
        }
        for name, value in self.parameters.items():
            memory = self.optimiser.state.get(value, {})
            for part, tensor in (("parameters", value), ("average", self.average[name]), *memory.items()):
                arrays[f"{part}.{name}"] = tensor.detach().cpu().numpy().copy()
        return arrays

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from the result of :meth:`to_arrays`."""
        self.steps, self.seen, self.batch_words = (int(each) for each in arrays["steps"])
        self.optimiser = self._new_optimiser()
        with torch.no_grad():
            for name, value in self.parameters.items():
                value.copy_(torch.tensor(arrays[f"parameters.{name}"]))
                self.average[name].copy_(torch.tensor(arrays[f"average.{name}"]))
                if f"step.{name}" in arrays:
                    parts = ("step", "exp_avg", "exp_avg_sq")
                    memory = {part: torch.tensor(arrays[f"{part}.{name}"]) for part in parts}
                    self.optimiser.state[value] = {
                        part: each if part == "step" and self.device == "cpu" else each.to(self.device)
                        for part, each in memory.items()
                    }


# ---- the policies that act


class _Acting(Policy):
    """A policy with the current parameters. The next step uses the sentences that it prepares."""

    def __init__(self, trainer: EncoderTrainer) -> None:
        self.trainer = trainer

    def prepare(self, packed: Packed, which: Longs) -> Scorer:
        """Encode the sentences, and keep the result for the gradient of the next step."""
        trainer = self.trainer
        trainer.visited = None
        try:
            with torch.enable_grad():
                encoding = encode(trainer.architecture, trainer.parameters, trainer.corpus, which, trainer._seeded())
        except torch.OutOfMemoryError:
            trainer._free()
            return trainer.policy().prepare(packed, which)
        trainer.visited = which, encoding
        table = trainer._staged(encoding.table)
        return _scorer(trainer.architecture, trainer.parameters, packed, which, table, encoding.layout.at)


class _Averaged(LearnablePolicy):
    """A policy with the averaged parameters, which change during training."""

    def __init__(self, trainer: EncoderTrainer) -> None:
        self.owner = trainer

    @property
    def block(self) -> int:
        """The maximum number of words that are encoded at a time."""
        return _EVALUATED

    def prepare(self, packed: Packed, which: Longs) -> Scorer:
        """Encode the sentences, without dropout."""
        owner = self.owner
        corpus = owner._on_device(packed)
        tables, at, first = [], [0], 0
        with torch.no_grad():
            for part in in_parts(packed.lengths[which], _EVALUATED):
                encoding = encode(owner.architecture, owner.average, corpus, which[part])
                tables.append(encoding.table.cpu())
                at += (encoding.layout.at[1:] + first).tolist()
                first = at[-1]
        table = tables[0] if len(tables) == 1 else torch.cat(tables)
        return _scorer(owner.architecture, owner.average, packed, which, table, np.array(at))

    def copied(self) -> EncodedPolicy:
        """Return a fixed copy that does not need PyTorch."""
        parameters = {name: value.cpu().numpy().copy() for name, value in self.owner.average.items()}
        return EncodedPolicy(self.owner.architecture, self.owner.untrained.inputs, (parameters,))

    def trainer(self, packed: Packed, update: Any) -> Trainer:
        """Return a trainer that continues from this policy."""
        return self.copied().trainer(packed, update)

    def to_arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the policy as arrays."""
        return self.copied().to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
        """Return a policy that does not need PyTorch."""
        return EncodedPolicy.from_arrays(arrays)


def _scorer(
    architecture: Architecture, p: Tensors, packed: Packed, which: Longs, table: torch.Tensor, at: Longs
) -> Scorer:
    """The scorer for a table, in the format of the engine."""

    def plain(tensor: torch.Tensor) -> npt.NDArray[np.float32]:
        return np.ascontiguousarray(tensor.detach().cpu().numpy())[None]

    outputs = [plain(p[name]) for name in output_names(p)]
    return make_scorer(architecture, outputs, plain(table), at, packed, which, np.array([0.0, 1.0]))


# ---- examples


def _units(p: Tensors, table: torch.Tensor, examples: Examples, start: Longs) -> torch.Tensor:
    """The contributions of the words at the positions of some examples to the hidden units."""
    observed = examples.observed.reshape(examples.size, -1)
    rows, positions, hidden = table.shape
    first = torch.as_tensor(start[observed[:, :1]], device=table.device)
    places = torch.as_tensor(observed, device=table.device)[:, 1:]
    found = torch.where(places >= 0, first + places, rows)
    index = found * positions + torch.arange(positions, device=table.device)
    flat = torch.cat([table.reshape(rows * positions, hidden), p["missing"]])
    return functional.embedding_bag(index, flat, mode="sum")


class _Costs(NamedTuple):
    """Matrices of examples × actions: the admissible actions, their costs, and the actions of least cost."""

    admissible: torch.Tensor
    costs: torch.Tensor
    best: torch.Tensor
    least: torch.Tensor


def _costs(examples: Examples, n_actions: int, device: str) -> _Costs:
    """The costs of all actions of some examples."""

    def on_device(array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), device=device)

    n = examples.size
    written = np.diff(examples.action_at)
    every = torch.arange(n, device=device)
    of_action = torch.repeat_interleave(every, on_device(written), output_size=int(examples.action_at[-1]))
    actions = on_device(examples.actions[: examples.action_at[-1]]).long()
    admissible = on_device(written == 0)[:, None].repeat(1, n_actions)
    admissible[of_action, actions] = True
    unusual = on_device(examples.unusual[: examples.unusual_at[-1]]).long()
    of_unusual = torch.repeat_interleave(
        every, on_device(np.diff(examples.unusual_at)), output_size=int(examples.unusual_at[-1])
    )
    if len(actions):
        place = (on_device(examples.action_at[:-1])[of_unusual] + unusual).clamp(max=len(actions) - 1)
        unusual = torch.where(on_device(written == 0)[of_unusual], unusual, actions[place])
    costs = on_device(examples.usual_cost)[:, None].repeat(1, n_actions)
    costs[of_unusual, unusual] = on_device(examples.unusual_cost[: examples.unusual_at[-1]])
    least = costs.masked_fill(~admissible, torch.inf).amin(1)
    return _Costs(admissible, costs, admissible & (costs <= least[:, None]), least)


def _listed_costs(examples: Examples, device: str) -> _Costs:
    """The costs of the actions that examples list, in the order of the lists: examples × the longest list."""
    counts, usual = np.diff(examples.action_at), examples.usual_cost
    listed = np.arange(int(counts.max(initial=1)))[None] < counts[:, None]
    values = np.repeat(usual[:, None], listed.shape[1], axis=1)
    values[np.repeat(np.arange(len(counts)), np.diff(examples.unusual_at)), examples.unusual] = examples.unusual_cost
    admissible = torch.as_tensor(listed, device=device)
    costs = torch.as_tensor(values.astype(np.float32), device=device)
    least = costs.masked_fill(~admissible, torch.inf).amin(1)
    return _Costs(admissible, costs, admissible & (costs <= least[:, None]), least)


def _structured_scores(units: torch.Tensor, p: Tensors, examples: Examples) -> torch.Tensor:
    """The scores of the actions that examples list; an action is the sum of the rows of its number and its features."""
    counts, further = np.diff(examples.action_at), np.diff(examples.extra_at)
    starts = np.arange(len(further)) + examples.extra_at[:-1]
    numbers = np.insert(
        examples.extra, examples.extra_at[:-1], examples.actions
    )  # the number of an action, followed by its features
    of_example = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(of_example)) - np.repeat(examples.action_at[:-1], counts)

    def on_device(array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.as_tensor(array, device=units.device)

    rows, at, owner = on_device(rows_of(numbers)), on_device(starts), on_device(of_example)
    vectors = functional.embedding_bag(rows, p["actions"], at, mode="sum")
    bias = functional.embedding_bag(rows, p["action_bias"][:, None], at, mode="sum")[:, 0]
    scores = (units[owner] * vectors).sum(1) + bias
    empty = torch.full((len(counts), int(counts.max(initial=1))), _IMPOSSIBLE, device=units.device)
    return empty.index_put((owner, on_device(place)), scores)
