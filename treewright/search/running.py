"""Running passes of the engine from Python: threads, progress, interruption, and errors in words."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba.core.errors import NumbaError

from treewright.errors import TaskError
from treewright.search.diagnosis import explain_compilation
from treewright.search.engine import LEARNED, TROUBLE, beam_pass, decode_pass, trajectory_pass
from treewright.search.task import Packed, Task
from treewright.settings import whole_number

__all__ = ["Decoded", "Trajectory", "decode", "run_shards", "trajectory"]

Result = TypeVar("Result")
Progress = Callable[[int], None]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Decoded:
    """What decoding a corpus gives: the final state, loss and number of steps of each sentence."""

    packed: Packed
    states: npt.NDArray[np.int32]
    state_at: npt.NDArray[np.int64]
    losses: npt.NDArray[np.float64]
    steps: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64] | None = None

    def state(self, i: int) -> Any:
        """The final state of sentence ``i``, with its fields by name."""
        buffer = self.states[self.state_at[i] : self.state_at[i + 1]]
        return self.packed.task.state_view(buffer, int(self.packed.lengths[i]))

    def field(self, name: str) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """One field of all final states, one behind the other, and where each sentence begins: the fast way."""
        task, n = self.packed.task, self.packed.lengths.astype(np.int64)
        start, size = task.field_place(name, n)
        at = np.concatenate([[0], np.cumsum(size)])
        places = np.arange(at[-1]) + np.repeat(self.state_at[:-1] + start - at[:-1], size)
        return self.states[places], at


@dataclass(frozen=True)
class Trajectory:
    """One episode: ``states[t]`` is the state before ``actions[t]``; the last state is final."""

    actions: list[int]
    states: list[Any]


def run_shards(
    work: Callable[[int, int, npt.NDArray[np.int64], int], Result],
    n: int,
    *,
    packed: Packed | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """Call ``work(first, last, control, slot)`` over consecutive shards of ``n`` sentences, in ``jobs`` threads.

    The results come in the order of the shards. The main thread only waits: it reports progress from the counters
    in ``control`` and, on Ctrl-C, sets ``control[0]``, which every kernel reads once a sentence. Where the task in
    ``packed`` does not compile, it is said which of its functions fails.
    """
    shards = min(max(n, 1), 1 if jobs <= 1 else 4 * jobs)
    edges = [n * k // shards for k in range(shards + 1)]
    control = np.zeros(1 + shards, np.int64)
    with ThreadPoolExecutor(max_workers=max(1, jobs), thread_name_prefix="treewright") as pool:
        futures = [pool.submit(work, edges[k], edges[k + 1], control, k + 1) for k in range(shards)]
        try:
            pending = set(futures)
            while pending:
                _, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                if progress is not None:
                    progress(int(control[1:].sum()))
                if any(future.done() and future.exception() for future in futures):
                    control[0] = 1
        except BaseException:
            control[0] = 1
            raise
    try:
        return [future.result() for future in futures]
    except NumbaError as error:
        if packed is None:
            raise
        raise TaskError(f"task {packed.task.name!r}: {explain_compilation(packed, error)}") from None


def shape_of(task: Task) -> tuple[int, int, bool]:
    """What scratch space a task needs."""
    if task.n_actions < 1:
        raise TaskError(f"task {task.name!r} declares no actions: set `n_actions`")
    return int(task.n_actions), int(task.max_features), bool(task.structured)


def check_steps(packed: Packed, steps: npt.NDArray[np.int64]) -> None:
    """Raise what went wrong in the first sentence where something did."""
    bad = np.flatnonzero(steps < 0)
    if len(bad):
        i = int(bad[0])
        raise_trouble(packed, i, int(steps[i]))


def raise_trouble(packed: Packed, i: int, code: int) -> None:
    """Raise the trouble that a kernel reported for sentence ``i``."""
    n = int(packed.lengths[i])
    if code in TROUBLE:
        what = TROUBLE[code].format(bound=packed.task.steps_bound(n))
        raise TaskError(f"task {packed.task.name!r}: sentence {i} (of length {n}) {what}")
    raise KeyboardInterrupt


def as_policies(weights: Floats) -> Floats:
    """Weights as a stack of policies, also where there is only one."""
    return weights if weights.ndim == 3 else weights[None]


def decode(
    packed: Packed,
    weights: Floats,
    *,
    mixture: npt.ArrayLike = (0.0, 1.0),
    who: int = LEARNED,
    beam: int = 1,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
    passes: tuple[Any, Any] = (decode_pass, beam_pass),
) -> Decoded:
    """Decode packed sentences: greedily by default, by beam search with ``beam`` > 1.

    ``weights`` is one policy (rows × width) or a stack of them with ``mixture`` the cumulative probabilities of the
    expert and of each; ``who`` says who acts. The results do not depend on ``jobs``.
    """
    task, arrays = packed.task, packed.arrays
    beam, seed, jobs = whole_number("beam", beam, 1), whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    weights, mixture = as_policies(weights), np.asarray(mixture, np.float64)
    state_at = packed.state_offsets()
    sizes = np.diff(state_at)
    bounds = task.steps_bound(packed.lengths.astype(np.int64))
    states = np.zeros(int(state_at[-1]), np.int32)
    losses, steps = np.zeros(len(packed), np.float64), np.zeros(len(packed), np.int64)
    totals = np.zeros(len(packed), np.float64)
    shape = shape_of(task)
    greedy_pass, search_pass = passes

    def work(first: int, last: int, control: npt.NDArray[np.int64], slot: int) -> None:
        # fmt: off
        if beam > 1:
            search_pass(task, arrays, first, last, weights, beam, sizes, bounds, state_at, states, losses, steps,
                        totals, shape, control, slot)
        else:
            greedy_pass(task, arrays, first, last, weights, mixture, who, sizes, bounds, state_at, states, losses,
                        steps, shape, seed, control, slot)
        # fmt: on

    run_shards(work, len(packed), packed=packed, jobs=jobs, progress=progress)
    check_steps(packed, steps)
    return Decoded(packed, states, state_at, losses, steps, totals if beam > 1 else None)


def trajectory(
    packed: Packed,
    i: int,
    weights: Floats,
    *,
    mixture: npt.ArrayLike = (0.0, 1.0),
    who: int = LEARNED,
    seed: int = 0,
) -> Trajectory:
    """The episode of sentence ``i``, step by step."""
    task, n = packed.task, int(packed.lengths[i])
    bound, size = task.steps_bound(n), task.state_size(n)
    actions, states = np.zeros(bound + 1, np.int32), np.zeros((bound + 1, size), np.int32)
    # fmt: off
    steps = trajectory_pass(task, packed.arrays, i, as_policies(weights), np.asarray(mixture, np.float64), who, size,
                            bound, shape_of(task), seed, actions, states)
    # fmt: on
    if steps < 0:
        raise_trouble(packed, i, steps)
    views = [task.state_view(states[t], n) for t in range(steps + 1)]
    return Trajectory([int(a) for a in actions[:steps]], views)
