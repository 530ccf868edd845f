"""Linear policies that do not change any more, by their weights that are not zero: small in memory and fast.

Most weights of a wide table are zero. A :class:`CompactPolicy` keeps for each row the list of its actions that have a
weight. The whole table fits into the cache of the processor where the dense one does not, and scores are the same to
the bit: the weights are whole numbers of 16 bits, whose sums are exact in 32-bit floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.policies.learning import LearnablePolicy, Trainer
from treewright.policies.linear import LinearPolicy
from treewright.search.policy import Scorer, Scoring, Scratch, Sizes
from treewright.search.scoring import observe_features
from treewright.search.task import Packed, Task

__all__ = ["COMPACT", "CompactPolicy", "CompactScoring", "SparseRows"]

_MIDDLE = 32768


class SparseRows(NamedTuple):
    """The weights of one policy. Row r has the cells from ``starts[r]`` to ``starts[r + 1]``.

    A cell is an action and its weight: ``action << 16 | weight + 32768``.
    """

    starts: npt.NDArray[np.int32]
    cells: npt.NDArray[np.int32]


class CompactScoring(Scoring):
    """Adds up the cells of the rows of all features."""

    @staticmethod
    def observe(task: Any, x: Any, i: int, state: Any, n: int, scratch: Scratch) -> int:
        """Write the features of the state; return their number."""
        return observe_features(task, x, state, n, scratch)

    @staticmethod
    def score(arrays: Any, member: int, size: int, n: int, scratch: Scratch) -> None:
        """Write w·φ(s, a) for each of the ``n`` actions."""
        sums, observed, starts, cells = scratch.sums, scratch.observed, arrays.starts, arrays.cells
        last = np.int64(starts.shape[0]) - np.int64(2)
        for k in range(sums.shape[0]):
            sums[k] = np.float32(0.0)
        for i in range(size):
            row = np.int64(observed[i]) & last
            for k in range(np.int64(starts[row]), np.int64(starts[row + 1])):
                cell = np.int64(cells[k])
                sums[cell >> 16] += np.float32((cell & 0xFFFF) - _MIDDLE)
        for k in range(n):
            scratch.scores[k] = sums[scratch.actions[k]]

    def sizes(self, task: Task) -> Sizes:
        """One cell a feature, and a sum for each action."""
        return Sizes(int(task.max_features), task.n_actions + 1)


COMPACT = CompactScoring()


@dataclass(frozen=True)
class CompactPolicy(LearnablePolicy):
    """A single linear policy with weights in 16 bits, for a task whose actions all have a column of the table.

    >>> weights = np.array([[[0, -5], [0, 0], [7, 0], [0, 0]]], np.int16)
    >>> CompactPolicy.of(LinearPolicy(weights)).weights.tolist() == weights.tolist()
    True
    """

    shape: tuple[int, ...]
    rows: SparseRows

    @classmethod
    def of(cls, policy: LinearPolicy) -> CompactPolicy:
        """The same policy; its weights must be in 16 bits (:meth:`LinearPolicy.compressed`)."""
        return cls.from_arrays(policy.to_arrays())

    @property
    def weights(self) -> npt.NDArray[np.int16]:
        """The whole table, members × rows × width."""
        table = np.zeros(self.shape, np.int16)
        table.reshape(-1)[self._places()] = self._values()
        return table

    def compressed(self, most: int | None = None) -> CompactPolicy:
        """The same policy with at most ``most`` weights, the largest ones."""
        return self.of(LinearPolicy(self.weights.astype(np.float32)).compressed(most))

    def _places(self) -> npt.NDArray[np.int64]:
        row = np.repeat(np.arange(self.shape[1], dtype=np.int64), np.diff(self.rows.starts))
        return row * self.shape[2] + (self.rows.cells >> 16)

    def _values(self) -> npt.NDArray[np.int16]:
        return ((self.rows.cells & 0xFFFF) - _MIDDLE).astype(np.int16)

    def prepare(self, packed: Packed, which: npt.NDArray[np.int64]) -> Scorer:
        """The rows, whatever the sentences."""
        return Scorer(COMPACT, self.rows, self.mixture)

    def trainer(self, packed: Packed, update: Any) -> Trainer:
        """There is none: this policy does not change."""
        raise ConfigError("a compact policy does not learn: train a LinearPolicy")

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a model file: those of :meth:`LinearPolicy.to_arrays`."""
        return LinearPolicy(self.weights).to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> CompactPolicy:
        """The policy that :meth:`to_arrays` took apart."""
        members, rows, width = (int(size) for size in arrays["shape"])
        if members != 1 or width >= _MIDDLE or arrays["weights"].dtype not in (np.int16, np.int8):
            raise ConfigError("a compact policy is a single one, with weights in 16 bits")
        coded, values = arrays["gaps"], arrays["weights"].astype(np.int32)
        places = np.cumsum(coded, dtype=np.int64)[coded < 255]
        row, action = np.divmod(places, width)
        starts = np.zeros(rows + 1, np.int32)
        np.cumsum(np.bincount(row, minlength=rows), out=starts[1:])
        return cls((members, rows, width), SparseRows(starts, (action.astype(np.int32) << 16) | (values + _MIDDLE)))
