"""The policy that learners return and estimators keep: one set of weights, or a stochastic mixture of several."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    weights: npt.NDArray[np.float32]
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

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The policy as a few arrays: only weights that are not zero are kept, each under its place.

        >>> w = np.zeros((1, 8, 2), np.float32); w[0, 5, 1] = 1.5
        >>> {name: array.tolist() for name, array in LinearPolicy(w).to_arrays().items()}
        {'shape': [1, 8, 2], 'probabilities': [1.0], 'places': [11], 'weights': [1.5]}
        """
        flat = self.weights.reshape(-1)
        places = np.flatnonzero(flat)
        return {
            "shape": np.asarray(self.weights.shape, np.int64),
            "probabilities": np.asarray(self.probabilities, np.float64),
            "places": places.astype(np.int64 if len(flat) > 2**31 else np.int32),
            "weights": flat[places],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> LinearPolicy:
        """The policy that :meth:`to_arrays` took apart."""
        shape = tuple(int(size) for size in arrays["shape"])
        weights = np.zeros(math.prod(shape), np.float32)
        weights[arrays["places"]] = arrays["weights"]
        return cls(weights.reshape(shape), tuple(float(p) for p in arrays["probabilities"]))
