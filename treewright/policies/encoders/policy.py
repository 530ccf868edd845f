"""Encoded policies: an encoder computes one table per sentence, and a layer scores actions from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, TaskError
from treewright.models import pack_strings, unpack_strings
from treewright.policies.encoders.architecture import Architecture
from treewright.policies.encoders.inference import Encoder
from treewright.policies.encoders.inputs import Inputs, Words
from treewright.policies.encoders.parameters import Parameters
from treewright.policies.encoders.scoring import Encoded, EncodedScoring, StructuredScoring
from treewright.policies.encoders.stack_scoring import PARAMETERS, StackScoring, Summarised
from treewright.policies.learning import LearnablePolicy, Trainer
from treewright.search.policy import Scorer
from treewright.search.task import Packed

__all__ = ["EncodedPolicy", "Teaching", "UntrainedEncoder", "make_scorer", "output_names", "words_of"]

Longs = npt.NDArray[np.int64]

_BLOCK = 1000  # the number of words that are encoded at a time


@dataclass(frozen=True, eq=False)
class EncodedPolicy(LearnablePolicy):
    """A policy with an encoder: score = W·relu(Σₖ Pₖ[positionₖ]), where P is computed once per sentence.

    With several ``members`` (SEARN), each decision is made by one member, which is drawn according to
    ``probabilities``. All members have the same architecture and the same inputs.
    """

    architecture: Architecture
    inputs: Inputs
    members: tuple[Parameters, ...]
    probabilities: Sequence[float] = (1.0,)

    @property
    def block(self) -> int:
        """The maximum number of words that are encoded at a time."""
        return _BLOCK

    @property
    def mixture(self) -> npt.NDArray[np.float64]:
        """Cumulative probabilities of the expert (here: none) and of the members, in the format of the engine."""
        cumulative = np.cumsum([0.0, *self.probabilities])
        cumulative[-1] = 1.0
        return cumulative

    @property
    def n_parameters(self) -> int:
        """The number of parameters of one member."""
        return sum(int(np.prod(array.shape)) for array in self.members[0].values())

    @cached_property
    def _encoders(self) -> list[Encoder]:
        return [Encoder(self.architecture, self.inputs, each) for each in self.members]

    @cached_property
    def _outputs(self) -> tuple[npt.NDArray[np.float32], ...]:
        """The parameters of the layer that scores actions; each array contains all members."""
        return tuple(
            np.ascontiguousarray(np.stack([each.parameters[name] for each in self._encoders]))
            for name in output_names(self.members[0])
        )

    def prepare(self, packed: Packed, which: Longs) -> Scorer:
        """Encode the sentences ``which``."""
        words = words_of(packed)
        tables = [encoder.table(words, which) for encoder in self._encoders]
        table = tables[0][0][None] if len(tables) == 1 else np.stack([each for each, _ in tables])
        return make_scorer(self.architecture, self._outputs, table, tables[0][1], packed, which, self.mixture)

    def trainer(self, packed: Packed, update: Any) -> Trainer:
        """Return a trainer that continues from this policy, which must have one member."""
        if len(self.members) != 1:
            raise ConfigError("training can continue only from a single encoded policy")
        return UntrainedEncoder(self.architecture, self.inputs, start=self.members[0]).trainer(packed, update)

    def compressed(self, most: int | None = None) -> EncodedPolicy:
        """Return the policy with 16-bit parameters; ``most`` applies to linear policies only and is ignored."""

        def narrow(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
            return array.astype(np.float16).astype(np.float32)

        return replace(self, members=tuple({name: narrow(a) for name, a in each.items()} for each in self.members))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the policy as arrays."""
        arrays: dict[str, npt.NDArray[Any]] = {
            **pack_strings([json.dumps(self.architecture.to_plain())], "architecture"),
            "probabilities": np.asarray(self.probabilities, np.float64),
            **self.inputs.to_arrays(),
        }
        for k, member in enumerate(self.members):
            arrays |= {f"parameters{k}.{name}": array for name, array in member.items()}
        return arrays

    def stored(self) -> dict[str, npt.NDArray[Any]]:
        """Return the policy as arrays for a model file, with 16-bit parameters."""
        return {
            name: array.astype(np.float16) if name.startswith("parameters") else array
            for name, array in self.to_arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> EncodedPolicy:
        """Return the policy from the result of :meth:`to_arrays` or :meth:`stored`."""
        [written] = unpack_strings(arrays, "architecture")
        probabilities = tuple(float(p) for p in arrays["probabilities"])
        members = []
        for k in range(len(probabilities)):
            prefix = f"parameters{k}."
            found = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            members.append({name: a.astype(np.float32) for name, a in found.items()})
        architecture = Architecture.from_plain(json.loads(written))
        return cls(architecture, Inputs.from_arrays(arrays), tuple(members), probabilities)


@dataclass(frozen=True, eq=False)
class Teaching:
    """A larger policy as teacher, the words of the corpus as its inputs, and its weight in the loss."""

    policy: EncodedPolicy
    words: Words
    share: float = 0.5


@dataclass(frozen=True, eq=False)
class UntrainedEncoder:
    """An untrained policy with an encoder.

    Args:
        architecture: the architecture of the encoder.
        inputs: the vocabularies of the corpus.
        seed: the seed of the initial parameters and of dropout.
        step_size: the initial step size of AdamW; it decreases linearly to 0.
        batch: the number of words in a step.
        target_weight: the weight of the auxiliary loss: the first layer predicts the targets of the inputs.
        device: ``cuda``, ``cpu``, or ``auto``: CUDA if there is a GPU.
        teacher: a policy to learn from besides the oracle (distillation).
        start: initial parameters, instead of random ones.
    """

    architecture: Architecture
    inputs: Inputs
    seed: int = 0
    step_size: float = 2e-3
    batch: int = 2500
    target_weight: float = 0.0
    device: str = "auto"
    teacher: Teaching | None = None
    start: Parameters | None = field(default=None, repr=False)

    def trainer(self, packed: Packed, update: Any) -> Trainer:
        """Return a trainer that uses PyTorch; ``update`` applies to linear policies only and is ignored."""
        words_of(packed)
        if self.architecture.reads_structure and not packed.task.max_structure:
            raise TaskError(
                f"task {packed.task.name!r} has no states with a stack and arcs: a stack-LSTM needs its function "
                "`structure` and `max_structure`; the encoders convolution and lstm do not"
            )
        if not self.architecture.reads_structure and packed.task.max_positions < 1:
            raise TaskError(
                f"task {packed.task.name!r} does not say which words matter in a state: a policy with an encoder needs "
                "its function `positions` and `max_positions`"
            )
        from treewright.policies.encoders.torch_import import checked_torch

        checked_torch()
        from treewright.policies.encoders.training import EncoderTrainer

        return EncoderTrainer(self, packed)


def output_names(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the parameters that score actions."""
    if "summary" in parameters:
        return PARAMETERS
    if "actions" in parameters:
        return "missing", "actions", "action_bias"
    return "missing", "output", "output_bias"


def make_scorer(
    architecture: Architecture,
    outputs: Sequence[npt.NDArray[np.float32]],
    table: npt.NDArray[np.float32],
    at: Longs,
    packed: Packed,
    which: Longs,
    mixture: npt.NDArray[np.float64],
) -> Scorer:
    """Return the scorer for the sentences ``which``; ``at`` contains their first rows in the table."""
    start = np.full(len(packed), -1, np.int64)
    start[which] = at[:-1]
    if architecture.reads_structure:
        longest = int(packed.lengths[which].max(initial=0))
        room = np.array([longest, packed.task.steps_bound(longest)], np.int64)
        stack = StackScoring(architecture.width, architecture.layers, architecture.hidden, longest)
        action, *others = outputs
        arrays = Summarised(table, start, packed.lengths + 1, room, action.reshape(len(action), -1), *others)
        return Scorer(stack, arrays, mixture)
    missing, weights, bias = outputs
    kind = (StructuredScoring if packed.task.structured else EncodedScoring)(architecture.hidden)
    return Scorer(kind, Encoded(table, missing, start, weights, bias), mixture)


def words_of(packed: Packed) -> Words:
    """Return the words of packed sentences in the format that an encoder reads."""
    if not isinstance(packed.words, Words):
        raise TaskError(
            f"task {packed.task.name!r}: the sentences were packed without their words; use "
            "packed.with_words(inputs.read(sentences))"
        )
    return packed.words
