"""Examples that a policy learns from. One example is an observed state, its actions, and their costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.arrays import copy_cells
from treewright.search.compiling import compiled, lean

__all__ = [
    "Examples",
    "Log",
    "add_example",
    "dense_costs",
    "fits",
    "join_examples",
    "new_log",
    "no_examples",
    "read_example",
    "room",
    "with_room",
]


class Examples(NamedTuple):
    """Examples in flat arrays; the arrays that end in ``at`` have the offset of each example.

    ``observed`` is what the policy observed of the state, as whole numbers: the features of a linear policy, or the
    number of the sentence and positions in it for a policy that encodes sentences.

    Treebanks give millions of examples, so the common case is not stored: an example without ``actions`` has all of
    them, in order, and every action costs ``usual_cost`` except the ones at the indices ``unusual``. Where actions
    carry structure, action k (counted over all examples) has the further features ``extra[extra_at[k]:extra_at[k +
    1]]``.
    """

    observed: npt.NDArray[np.int32]
    observed_at: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int32]
    action_at: npt.NDArray[np.int64]
    usual_cost: npt.NDArray[np.float32]
    unusual: npt.NDArray[np.int32]
    unusual_cost: npt.NDArray[np.float32]
    unusual_at: npt.NDArray[np.int64]
    extra: npt.NDArray[np.int32]
    extra_at: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of examples."""
        return len(self.usual_cost)


def no_examples() -> Examples:
    """An empty collection."""
    ints, floats, offsets = np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(1, np.int64)
    return Examples(ints, offsets, ints, offsets, floats, ints, floats, offsets, ints, offsets)


def join_examples(parts: list[Examples]) -> Examples:
    """All examples of all parts, in order."""
    parts = [part for part in parts if part.size] or parts[:1]
    if len(parts) == 1:
        return parts[0]

    def join(field: str) -> npt.NDArray[Any]:
        arrays = [getattr(part, field) for part in parts]
        if not field.endswith("_at"):
            return np.concatenate(arrays)
        ends = np.cumsum([0, *(array[-1] for array in arrays)])
        return np.concatenate([arrays[0][:1], *(array[1:] + end for array, end in zip(arrays, ends, strict=False))])

    return Examples(*(join(field) for field in Examples._fields))


def dense_costs(examples: Examples, n_actions: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float32]]:
    """The admissible actions of each example, and their costs: two matrices of examples × actions.

    Actions must be numbers below ``n_actions``; those that are not admissible cost 0.

    >>> examples = Examples(
    ...     *(np.array(values) for values in ([5, 6], [0, 1, 2], [1, 2], [0, 0, 2], [1, 0], [0, 1], [0, 3], [0, 1, 2])),
    ...     *no_examples()[-2:],
    ... )
    >>> [matrix.astype(int).tolist() for matrix in dense_costs(examples, 3)]
    [[[1, 1, 1], [0, 1, 1]], [[0, 1, 1], [0, 0, 3]]]
    """
    written = np.diff(examples.action_at)
    count = np.where(written == 0, n_actions, written)
    start = np.concatenate([[0], np.cumsum(count)])
    of_example = np.repeat(np.arange(examples.size), count)
    actions = np.arange(start[-1]) - start[of_example]
    actions[np.repeat(written > 0, count)] = examples.actions
    costs = np.repeat(examples.usual_cost, count).astype(np.float32)
    costs[np.repeat(start[:-1], np.diff(examples.unusual_at)) + examples.unusual] = examples.unusual_cost
    admissible = np.zeros((examples.size, n_actions), np.bool_)
    table = np.zeros((examples.size, n_actions), np.float32)
    admissible[of_example, actions], table[of_example, actions] = True, costs
    return admissible, table


class Log(NamedTuple):
    """Examples that a pass is writing: arrays with free cells at their ends, and ``counts`` of the used cells.

    The counts are those of the examples and of the actions.
    """

    examples: Examples
    counts: npt.NDArray[np.int64]

    def written(self, structured: bool) -> Examples:
        """The examples, without the free cells; ``structured``: actions have their own features."""
        e, (n, n_actions) = self.examples, self.counts.tolist()
        return Examples(
            e.observed[: e.observed_at[n]].copy(),
            e.observed_at[: n + 1].copy(),
            e.actions[:n_actions].copy(),
            e.action_at[: n + 1].copy(),
            e.usual_cost[:n].copy(),
            e.unusual[: e.unusual_at[n]].copy(),
            e.unusual_cost[: e.unusual_at[n]].copy(),
            e.unusual_at[: n + 1].copy(),
            e.extra[: e.extra_at[n_actions]].copy(),
            e.extra_at[: n_actions + 1 if structured else 1].copy(),
        )

    def larger(self) -> Log:
        """The same with twice as many cells in the arrays that are half full; if none is, in all of them."""
        e, (n, n_actions) = self.examples, self.counts.tolist()
        unusual, extra = e.unusual_at[n], e.extra_at[n_actions]
        ends = (e.observed_at[n], n, n_actions, n, n, unusual, unusual, n, extra, n_actions)
        full = [2 * end >= len(array) for array, end in zip(e, ends, strict=True)]
        grown = [
            np.concatenate([array, np.zeros_like(array)]) if is_full or not any(full) else array
            for array, is_full in zip(e, full, strict=True)
        ]
        return Log(Examples(*grown), self.counts)


def spare_log(logs: list[Log], size: int) -> Log:
    """An empty log: one of ``logs``, whose old examples are overwritten, or a new one with ``size`` free cells.

    Several threads may call it at the same time.
    """
    try:
        log = logs.pop()
    except IndexError:
        return new_log(size)
    log.counts[:] = 0
    return log


def new_log(size: int = 1024) -> Log:
    """An empty log with ``size`` free cells in each array."""
    ints, floats = np.zeros((4, size), np.int32), np.zeros((2, size), np.float32)
    at = np.zeros((4, size + 1), np.int64)
    return Log(
        Examples(ints[0], at[0], ints[1], at[1], floats[0], ints[2], floats[1], at[2], ints[3], at[3]),
        np.zeros(2, np.int64),
    )


@lean
def usual_value(values: Any, n: int) -> float:
    """The majority value of the first ``n`` values, if there is one (Boyer & Moore's vote)."""
    candidate, votes = values[0], 0
    for k in range(n):
        if votes == 0:
            candidate = values[k]
        votes += 1 if values[k] == candidate else -1
    return candidate


@lean
def fits(log: Log, size: int, n: int, further: int) -> bool:
    """Say whether an example of this size fits into the free cells of a log.

    ``size`` numbers are observed; the ``n`` actions have ``further`` features.
    """
    e, count, actions = log.examples, log.counts[0], log.counts[1]
    return (
        e.observed_at[count] + size <= e.observed.shape[0]
        and count + 2 <= e.observed_at.shape[0]
        and count + 2 <= e.action_at.shape[0]
        and count + 2 <= e.unusual_at.shape[0]
        and count + 1 <= e.usual_cost.shape[0]
        and e.unusual_at[count] + n <= e.unusual.shape[0]
        and e.unusual_at[count] + n <= e.unusual_cost.shape[0]
        and actions + n <= e.actions.shape[0]
        and actions + n + 1 <= e.extra_at.shape[0]
        and e.extra_at[actions] + further <= e.extra.shape[0]
    )


@compiled
def with_room(log: Log, size: int, n: int, further: int) -> Log:
    """The log with larger arrays where one more example of this size does not fit."""
    e, count, actions = log.examples, log.counts[0], log.counts[1]
    return Log(
        Examples(
            room(e.observed, e.observed_at[count] + size),
            room(e.observed_at, count + 2),
            room(e.actions, actions + n),
            room(e.action_at, count + 2),
            room(e.usual_cost, count + 1),
            room(e.unusual, e.unusual_at[count] + n),
            room(e.unusual_cost, e.unusual_at[count] + n),
            room(e.unusual_at, count + 2),
            room(e.extra, e.extra_at[actions] + further),
            room(e.extra_at, actions + n + 1),
        ),
        log.counts,
    )


@lean
def add_example(log: Log, scratch: Any, size: int, n: int) -> None:
    """Write one example to a log in which it fits: the state in ``scratch``, its ``n`` actions and their costs."""
    costs = scratch.costs
    e, count, start_actions = log.examples, log.counts[0], log.counts[1]
    start = e.observed_at[count]
    for j in range(size):
        e.observed[start + j] = scratch.observed[j]
    usual = usual_value(costs, n)
    e.usual_cost[count] = np.float32(usual)
    end = e.unusual_at[count]
    for k in range(n):
        if costs[k] != usual:
            e.unusual[end] = k
            e.unusual_cost[end] = np.float32(costs[k])
            end += 1
    structured = scratch.extra.shape[0] > 0
    complete = not structured and n == scratch.actions.shape[0]
    for k in range(n):
        complete = complete and scratch.actions[k] == k
    written = 0 if complete else n
    for k in range(written):
        e.actions[start_actions + k] = scratch.actions[k]
    if structured:
        begin = e.extra_at[start_actions]
        for k in range(n):
            e.extra_at[start_actions + k + 1] = begin + scratch.extra_at[k + 1]
        for j in range(scratch.extra_at[n]):
            e.extra[begin + j] = scratch.extra[j]
    log.counts[0] = count + 1
    log.counts[1] = start_actions + written
    e.observed_at[count + 1] = start + size
    e.action_at[count + 1] = start_actions + written
    e.unusual_at[count + 1] = end


@lean
def read_example(examples: Examples, e: int, scratch: Any) -> tuple[int, int]:
    """Write example ``e`` to ``scratch``; return the number of its actions and the size of what was observed."""
    begin = examples.observed_at[e]
    size = examples.observed_at[e + 1] - begin
    for j in range(size):
        scratch.observed[j] = examples.observed[begin + j]
    first, last = examples.action_at[e], examples.action_at[e + 1]
    n = last - first
    if n == 0:
        n = np.int64(scratch.actions.shape[0])
        for k in range(n):
            scratch.actions[k] = k
    else:
        for k in range(n):
            scratch.actions[k] = examples.actions[first + k]
    for k in range(n):
        scratch.costs[k] = examples.usual_cost[e]
    for i in range(examples.unusual_at[e], examples.unusual_at[e + 1]):
        scratch.costs[examples.unusual[i]] = examples.unusual_cost[i]
    if scratch.extra.shape[0] > 0:
        start = examples.extra_at[first]
        for k in range(n):
            scratch.extra_at[k + 1] = examples.extra_at[first + k + 1] - start
        for j in range(scratch.extra_at[n]):
            scratch.extra[j] = examples.extra[start + j]
    return n, size


@compiled
def room(array: Any, needed: int) -> Any:
    """The array itself, or a copy of at least twice the length if it has fewer than ``needed`` cells."""
    if needed <= array.shape[0]:
        return array
    larger = np.zeros(max(needed, 2 * array.shape[0]), array.dtype)
    copy_cells(array, 0, larger, 0, array.shape[0])
    return larger
