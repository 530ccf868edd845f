"""Experts that make mistakes, for experiments with learners whose expert is not optimal."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from types import new_class
from typing import Any, cast

import numpy as np

from treewright.search.compiling import compiled
from treewright.search.hashing import mix
from treewright.search.task import Packed

__all__ = ["weaken_expert"]

_RANGE = 1 << 31  # of hashes


def weaken_expert(packed: Packed, accuracy: float, *, systematic: bool = False, seed: int = 0) -> Packed:
    """Return the same sentences with an expert that takes an optimal action with a probability of ``accuracy`` only.

    Elsewhere it prefers an action that is not optimal, if there is one, and all others cost 1. The mistakes are a
    function of the state's features: of all of them, so that mistakes look random, or with ``systematic`` of the first
    one alone, so that the expert errs wherever that feature has the same value. Such an expert does not know the least
    reachable loss (``partial_loss``). The loss of a result is unchanged.
    """
    task = copy.copy(packed.task)
    threshold, cls = round(accuracy * _RANGE), cast(Any, type(packed.task))
    task.__class__ = _weakened(cls, packed.task.max_features, threshold, systematic, seed)
    task.oracle = "static"
    return replace(packed, task=task)


@cache
def _weakened(cls: Any, max_features: int, threshold: int, systematic: bool, seed: int) -> Any:
    """The class of a task with a weak expert."""
    right_costs, features = cls.expert_costs, cls.features
    if not cls.is_plain:
        right_costs, features = compiled(right_costs), compiled(features)

    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        right_costs(x, state, actions, n, out)
        found: Any = np.empty(max_features, np.int32)
        size = min(np.int64(features(x, state, found)), np.int64(max_features))
        look: Any = np.int64(seed)
        for i in range(min(size, np.int64(1)) if systematic else size):
            look = mix(look, found[i])
        if mix(look, 1) < threshold:
            return
        least = out[0]
        for k in range(n):
            least = min(least, out[k])
        mistake, lowest = -1, np.int64(_RANGE)
        for k in range(n):
            drawn = mix(mix(look, 2), actions[k])
            if out[k] > least and drawn < lowest:
                mistake, lowest = k, np.int64(drawn)
        if mistake >= 0:
            for k in range(n):
                out[k] = 0.0 if k == mistake else 1.0

    def partial_loss(x: Any, state: Any) -> float:
        return -1.0

    body = {
        "expert_costs": expert_costs,
        "partial_loss": partial_loss,
        "lean": tuple(name for name in cls.lean if name != "expert_costs"),
        "name": cls.name,
        "__module__": __name__,
    }
    return new_class(cls.__name__, (cls,), {"interpreted_only": cls.is_plain}, lambda names: names.update(body))
