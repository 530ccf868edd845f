"""The policy that learners return and estimators keep: one set of weights, or a stochastic mixture of several."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.errors import ModelError
from treewright.models import library_versions, read_model, write_model
from treewright.search.engine import LEARNED
from treewright.search.running import Decoded, decode
from treewright.search.task import Packed, Task

__all__ = ["LinearPolicy", "rows_for"]


def rows_for(bits: int) -> int:
    """How many rows a table of features hashed to ``bits`` bits has."""
    return 1 << bits


@dataclass(frozen=True)
class LinearPolicy:
    """A linear policy, score = w·φ(s, a), with hashed features.

    ``weights`` has the shape policies × rows × width. With several policies (SEARN), each decision is made by one of
    them, drawn with the ``probabilities`` given.
    """

    weights: npt.NDArray[Any]
    probabilities: Sequence[float] = (1.0,)

    @property
    def mixture(self) -> npt.NDArray[np.float64]:
        """Cumulative probabilities of the expert (here: none) and of the policies, as the engine takes them."""
        cumulative = np.cumsum([0.0, *self.probabilities])
        cumulative[-1] = 1.0
        return cumulative

    def decode(self, packed: Packed, *, beam: int = 1, seed: int = 0, jobs: int = 1, progress: Any = None) -> Decoded:
        """Decode sentences greedily, or with a beam (which needs a single policy)."""
        return decode(
            packed,
            self.weights,
            mixture=self.mixture,
            who=LEARNED,
            beam=beam,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )

    def save(self, path: str | os.PathLike[str], task: Task, *, card: Mapping[str, Any] | None = None) -> None:
        """Write the policy of a task of your own to a model file; ``card`` may say where it comes from."""
        about = {"libraries": library_versions(), **(card or {})}
        write_model(path, task=task.name, config={"n_actions": task.n_actions}, arrays=self.to_arrays(), card=about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], task: Task) -> LinearPolicy:
        """Read the policy that :meth:`save` wrote for a task."""
        model = read_model(path, expect_task=task.name)
        if model.config.get("n_actions") != task.n_actions or "weights" not in model.arrays:
            raise ModelError(f"{path} holds no policy for a task {task.name!r} with {task.n_actions} actions")
        return cls.from_arrays(model.arrays)

    def compressed(self, most: int | None = None) -> LinearPolicy:
        """The same policy in whole numbers of 16 bits, with at most so many weights, the largest ones.

        Scores change by a common factor and by rounding; half the memory makes decoding faster.

        >>> w = np.array([[[0.5, -2.0], [0.0, 1.0]]], np.float32)
        >>> LinearPolicy(w).compressed(most=2).weights.tolist()
        [[[0, -32767], [0, 16384]]]
        """
        largest = float(np.abs(self.weights).max(initial=0.0))
        least = 0.0
        if most is not None and np.count_nonzero(self.weights) > most:
            sizes = np.abs(self.weights[self.weights != 0])
            least = float(np.partition(sizes, len(sizes) - most)[len(sizes) - most])
        weights = _aligned(self.weights.shape, np.int16)
        for row in range(0, weights.shape[1], 1 << 16):  # a slice at a time: the table may be large
            part = self.weights[:, row : row + (1 << 16)]
            kept = np.where(np.abs(part) >= least, part, 0.0)
            weights[:, row : row + (1 << 16)] = np.rint(kept * (32767.0 / (largest or 1.0)))
        return replace(self, weights=weights)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The policy as a few arrays: only weights that are not zero are kept, with the gaps between them.

        A gap is written in bytes, 255 for each 255 that it has and then the rest.

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
            "weights": flat[places],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> LinearPolicy:
        """The policy that :meth:`to_arrays` took apart."""
        shape = tuple(int(size) for size in arrays["shape"])
        coded = arrays["gaps"]
        weights = _aligned(shape, arrays["weights"].dtype)
        weights.reshape(-1)[np.cumsum(coded, dtype=np.int64)[coded < 255]] = arrays["weights"]
        return cls(weights, tuple(float(p) for p in arrays["probabilities"]))


def _aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros that begin with a line of the cache, so that short rows never lie on two."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
