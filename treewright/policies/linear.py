"""Linear policies with hashed features: one set of weights, or a stochastic mixture of several; and their trainer."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, ModelError
from treewright.models import library_versions, read_model, write_model
from treewright.policies.learning import LearnablePolicy, Online, Tell, Trainer
from treewright.policies.updates import Model, Update, final_weights, learn_pass, make_update, new_model
from treewright.search.examples import Examples
from treewright.search.policy import Scorer
from treewright.search.running import run_shards
from treewright.search.scoring import LINEAR
from treewright.search.task import Packed, Task

__all__ = ["LinearPolicy", "LinearTrainer", "UntrainedLinear", "mean_policy", "rows_for"]

Longs = npt.NDArray[np.int64]

_BYTE = 127
_MIDDLE = 32768


def rows_for(bits: int) -> int:
    """The number of rows of a table of features hashed to ``bits`` bits."""
    return 1 << bits


@dataclass(frozen=True)
class LinearPolicy(LearnablePolicy):
    """A linear policy, score = w·φ(s, a), with hashed features.

    ``weights`` has the shape policies × rows × width. With several policies (SEARN), one of them makes each decision,
    drawn with the ``probabilities`` given.
    """

    weights: npt.NDArray[Any]
    probabilities: Sequence[float] = (1.0,)

    @cached_property
    def mixture(self) -> npt.NDArray[np.float64]:
        """Cumulative probabilities of the expert (here: none) and of the policies, as the engine takes them."""
        cumulative = np.cumsum([0.0, *self.probabilities])
        cumulative[-1] = 1.0
        return cumulative

    def prepare(self, packed: Packed, which: Longs) -> Scorer:
        """The weights themselves; they do not depend on the sentences."""
        return Scorer(LINEAR, self.weights, self.mixture)

    def trainer(self, packed: Packed, update: Any) -> LinearTrainer:
        """A trainer that continues from these weights: a single policy in 32 bits, as after training."""
        if len(self.weights) != 1 or self.weights.dtype != np.float32:
            raise ConfigError("training can continue only from a single linear policy with weights in 32 bits")
        return LinearTrainer(packed.task, make_update(update), self.weights.shape[1], self.weights[0])

    def save(self, path: str | os.PathLike[str], task: Task, *, card: Mapping[str, Any] | None = None) -> None:
        """Write the policy of your own task to a model file; ``card`` may describe its origin."""
        about = {"libraries": library_versions(), **(card or {})}
        write_model(path, task=task.name, config={"n_actions": task.n_actions}, arrays=self.to_arrays(), card=about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], task: Task) -> LinearPolicy:
        """Read the policy that :meth:`save` wrote for a task."""
        model = read_model(path, expect_task=task.name)
        if model.config.get("n_actions") != task.n_actions or "weights" not in model.arrays:
            raise ModelError(f"{path} holds no policy for a task {task.name!r} with {task.n_actions} actions")
        return cls.from_arrays(model.arrays)

    def compressed(self, most: int | None = None, *, levels: int = 32767) -> LinearPolicy:
        """The same policy in 16-bit integers, with only the ``most`` largest weights.

        Scores change by a common factor and by rounding; half the memory makes decoding faster. Weights are rounded to
        integers from −``levels`` to ``levels``; with 127 or less, a model file has one byte for each weight. Then the
        largest weights, one in ten thousand, are clipped.

        >>> w = np.array([[[0.5, -2.0], [0.0, 1.0]]], np.float32)
        >>> LinearPolicy(w).compressed(most=2).weights.tolist()
        [[[0, -32767], [0, 16384]]]
        """
        largest = float(np.abs(self.weights).max(initial=0.0))
        least = 0.0
        if levels <= _BYTE and largest:
            sizes = np.abs(self.weights[self.weights != 0])
            place = len(sizes) - 1 - len(sizes) // 10_000
            largest = float(np.partition(sizes, place)[place])
        if most is not None and np.count_nonzero(self.weights) > most:
            sizes = np.abs(self.weights[self.weights != 0])
            least = float(np.partition(sizes, len(sizes) - most)[len(sizes) - most])
        weights = _aligned(self.weights.shape, np.int16)
        for row in range(0, weights.shape[1], 1 << 16):  # one slice at a time, because the table may be large
            part = self.weights[:, row : row + (1 << 16)]
            kept = np.where(np.abs(part) >= least, part, 0.0)
            scaled = np.rint(kept * (levels / (largest or 1.0)))
            weights[:, row : row + (1 << 16)] = np.clip(scaled, -levels, levels)
        return replace(self, weights=weights)

    def coded(self) -> LinearPolicy:
        """The same policy with at most 254 different weights: a model file has one byte for each.

        The weights must be whole numbers of 16 bits (:meth:`compressed`). Each is replaced by the nearest of 127 sizes,
        which grow by a constant factor, so that the relative error is the same for small and large weights: 2 or 3
        percent.

        >>> w = np.array([[[3, -32767], [0, 17000]]], np.int16)
        >>> LinearPolicy(w).coded().weights.tolist()
        [[[3, -32767], [0, 16865]]]
        """
        sizes = np.abs(self.weights[self.weights != 0].astype(np.int32))
        if not len(sizes):
            return self
        grid = np.unique(np.rint(np.geomspace(sizes.min(), sizes.max(), _BYTE)).astype(np.int32))
        nearest = grid[np.searchsorted((grid[1:] + grid[:-1]) / 2, np.arange(int(grid[-1]) + 1))].astype(np.int16)
        nearest[0] = 0
        weights = _aligned(self.weights.shape, np.int16)
        for row in range(0, weights.shape[1], 1 << 16):
            part = self.weights[:, row : row + (1 << 16)]
            weights[:, row : row + (1 << 16)] = np.sign(part) * nearest[np.abs(part)]
        return replace(self, weights=weights)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The policy as a few arrays: only weights that are not zero are kept, with the gaps between them.

        A gap is written in bytes, 255 for each 255 that it has and then the rest. Where there are few different weights
        (:meth:`coded`), they are numbers of ``values``.

        >>> w = np.zeros((1, 256, 2), np.float32); w[0, 5, 1], w[0, 255, 0] = 1.5, 2.0
        >>> {name: array.tolist() for name, array in LinearPolicy(w).to_arrays().items()}
        {'shape': [1, 256, 2], 'probabilities': [1.0], 'gaps': [11, 255, 244], 'weights': [1.5, 2.0]}
        """
        flat = self.weights.reshape(-1)
        places = np.flatnonzero(flat)
        gaps = np.diff(places, prepend=0)
        ends = np.cumsum(gaps // 255 + 1)
        coded = np.full(int(ends[-1]) if len(ends) else 0, 255, np.uint8)
        coded[ends - 1] = gaps % 255
        return {
            "shape": np.asarray(self.weights.shape, np.int64),
            "probabilities": np.asarray(self.probabilities, np.float64),
            "gaps": coded,
            **_narrow(flat[places]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> LinearPolicy:
        """The policy from the result of :meth:`to_arrays`."""
        shape = tuple(int(size) for size in arrays["shape"])
        coded = arrays["gaps"]
        kept = arrays["values"][arrays["weights"]] if "values" in arrays else arrays["weights"]
        weights = _aligned(shape, np.int16 if kept.dtype == np.int8 else kept.dtype)
        weights.reshape(-1)[np.cumsum(coded, dtype=np.int64)[coded < 255]] = kept
        return cls(weights, tuple(float(p) for p in arrays["probabilities"]))


def mean_policy(policies: Sequence[LinearPolicy]) -> LinearPolicy:
    """The policy with the mean of the weights of policies that have tables of the same size.

    Different seeds lead to different weights for the same task, and their mean is usually better than each of them.

    >>> a, b = (LinearPolicy(np.array([[[w, 2]]], np.int16)) for w in (1, 2))
    >>> mean_policy([a, b]).weights.tolist()
    [[[1.5, 2.0]]]
    """
    total = policies[0].weights.astype(np.float32)
    for policy in policies[1:]:
        total += policy.weights
    return LinearPolicy(total / np.float32(len(policies)))


@dataclass(frozen=True)
class UntrainedLinear:
    """An untrained linear policy, with a table of 2^``bits`` rows."""

    bits: int = 18

    def trainer(self, packed: Packed, update: Any) -> LinearTrainer:
        """A trainer that begins with weights of zero."""
        return LinearTrainer(packed.task, make_update(update), rows_for(self.bits))


class LinearTrainer(Trainer):
    """Trains a linear policy by an online update, also inside compiled passes over a corpus."""

    policy_class = LinearPolicy

    def __init__(self, task: Task, update: Update, rows: int, start: npt.NDArray[np.float32] | None = None) -> None:
        self.task, self.update, self.rows, self.start = task, update, rows, start
        self.model = new_model(update, rows, task.table_width)
        if start is not None:
            if start.shape != self.model.weights.shape:
                raise ConfigError(
                    f"the initial weights are a table of {start.shape[0]} × {start.shape[1]}, but task "
                    f"{task.name!r} has a width of {task.table_width}"
                )
            self.model.weights[:] = start

    @property
    def online(self) -> Online:
        """The update and the arrays that it changes."""
        return self.update.online(self.model)

    def acting(self) -> LinearPolicy:
        """The weights that are changing, not their mean."""
        return LinearPolicy(self.model.weights[None])

    def policy(self) -> LinearPolicy:
        """The weights for decoding: the last ones, or their mean over time if the update is ``averaged``."""
        return LinearPolicy(final_weights(self.model, self.update)[None])

    def kept(self, policy: LearnablePolicy, previous: LearnablePolicy | None) -> LinearPolicy:
        """The policy itself, or a copy if its weights still change; the copy reuses the memory of ``previous``."""
        assert isinstance(policy, LinearPolicy)
        if not np.may_share_memory(policy.weights, self.model.weights):
            return policy
        if not isinstance(previous, LinearPolicy) or previous.weights.shape != policy.weights.shape:
            previous = LinearPolicy(np.empty_like(policy.weights), policy.probabilities)
        np.copyto(previous.weights, policy.weights)
        return previous

    def learn(self, examples: Examples, order: Longs, mistakes: npt.NDArray[np.int32], tell: Tell | None) -> float:
        """Learn from examples one after the other."""
        online, scratch = self.online, LINEAR.scratch(self.task)

        def work(first: int, last: int, control: Longs, slot: int) -> float:
            return learn_pass(online, examples, order[first:last], mistakes, scratch, control, slot)

        return float(sum(run_shards(work, len(order), progress=tell)))

    def restart_average(self) -> None:
        """Average the weights from now on, if the update is ``averaged``."""
        self.model.totals[:] = 0
        self.model.clock[:] = 0

    def fresh(self) -> LinearTrainer:
        """A trainer with the initial weights of this one."""
        return LinearTrainer(self.task, self.update, self.rows, self.start)

    def mixed(self, policies: Sequence[LearnablePolicy], probabilities: Sequence[float]) -> LinearPolicy:
        """The weights of all policies in one array."""
        weights = [policy.weights for policy in policies if isinstance(policy, LinearPolicy)]
        return LinearPolicy(np.concatenate(weights), tuple(probabilities))

    def settings(self) -> dict[str, Any]:
        """The size of the table, and a digest of the initial weights."""
        start = None if self.start is None else hashlib.sha256(np.ascontiguousarray(self.start).data).hexdigest()
        return {"bits": self.rows.bit_length() - 1, **({} if start is None else {"start": start})}

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The weights and the state of the update."""
        return dict(self.model._asdict())

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Continue from the result of :meth:`to_arrays`."""
        self.model = Model(*(arrays[name] for name in Model._fields))


def _narrow(weights: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Small integers in 8 bits; codes if there are few different numbers; otherwise the array itself."""
    if weights.dtype == np.int16:
        if np.abs(weights).max(initial=0) <= _BYTE:
            return {"weights": weights.astype(np.int8)}
        present = np.bincount(weights.astype(np.int64) + _MIDDLE, minlength=2 * _MIDDLE) > 0
        if np.count_nonzero(present) <= 2 * _BYTE:
            values = np.flatnonzero(present) - _MIDDLE
            numbers = np.zeros(2 * _MIDDLE, np.uint8)
            numbers[present] = np.arange(len(values))
            codes = numbers[weights.astype(np.int64) + _MIDDLE]
            return {"weights": codes, "values": values.astype(np.int16)}
    return {"weights": weights}


def _aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros that begin at a cache line, so that short rows never cross two lines."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
