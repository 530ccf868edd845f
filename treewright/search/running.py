"""Run passes of the engine from Python: threads, progress, interruption, and error messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, cached_property
from threading import current_thread, main_thread
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from treewright.errors import TaskError
from treewright.search.beams import beam_pass, new_beam
from treewright.search.compiling import interpreted, is_compiler_error
from treewright.search.decoding import decode_pass, greedy_pass, loss_pass, trajectory_pass
from treewright.search.diagnosis import explain_compilation
from treewright.search.engine import LEARNED, Sentences, Shard
from treewright.search.policy import Policy, Scorer, Scratch
from treewright.search.scoring import LINEAR
from treewright.search.task import Packed, Task
from treewright.search.threads import thread_pool
from treewright.search.trouble import TROUBLE
from treewright.settings import whole_number

__all__ = ["Decoded", "Trajectory", "decode", "run_shards", "sentences_of", "trajectory"]

Result = TypeVar("Result")
_SHARD = 64  # the least sentences of a shard, if all threads get one: it costs time to start a shard
Progress = Callable[[int], None]
Weights = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Decoded:
    """The result of decoding: the final state and the number of steps of each sentence, and losses on demand."""

    packed: Packed
    states: npt.NDArray[np.int32]
    state_at: Longs
    steps: Longs
    scores: npt.NDArray[np.float64] | None = None
    jobs: int = 1

    @cached_property
    def losses(self) -> npt.NDArray[np.float64]:
        """The loss of each sentence, computed on first use; this needs the gold answer."""
        losses, sentences = np.zeros(len(self.packed), np.float64), sentences_of(self.packed)
        run = kernel_for(self.packed, loss_pass)

        def work(*shard: Any) -> None:
            run(self.packed.task, sentences, Shard(*shard), self.states, losses)

        run_shards(work, len(self.packed), packed=self.packed, jobs=self.jobs)
        return losses

    def state(self, i: int) -> Any:
        """The final state of sentence ``i``, with its fields by name."""
        buffer = self.states[self.state_at[i] : self.state_at[i + 1]]
        return self.packed.task.state_view(buffer, int(self.packed.lengths[i]))

    def field(self, name: str) -> tuple[npt.NDArray[np.int32], Longs]:
        """One field of all final states in one array, and the offset of each sentence; faster than one by one."""
        start, size = self.packed.task.field_place(name, self.packed.lengths.astype(np.int64))
        at = np.zeros(len(size) + 1, np.int64)
        size.cumsum(out=at[1:])
        places = np.arange(at[-1]) + (self.state_at[:-1] + start - at[:-1]).repeat(size)
        return self.states[places], at


@dataclass(frozen=True)
class Trajectory:
    """One episode: ``states[t]`` is the state before ``actions[t]``; the last state is final."""

    actions: list[int]
    states: list[Any]


@dataclass(frozen=True)
class LinearWeights(Policy):
    """A linear policy by its weights alone: one policy (rows × width), or several (policies × rows × width)."""

    weights: Weights

    @property
    def mixture(self) -> npt.NDArray[np.float64]:
        """Equal shares of all policies, and none of the expert."""
        policies = 1 if self.weights.ndim == 2 else len(self.weights)
        return np.arange(policies + 1) / policies

    def prepare(self, packed: Packed, which: Longs) -> Scorer:
        """The weights themselves."""
        return Scorer(LINEAR, self.weights if self.weights.ndim == 3 else self.weights[None], self.mixture)


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
    in ``control`` and, on Ctrl-C, sets ``control[0]``, which every kernel reads once a sentence. If the task in
    ``packed`` does not compile, the error names the function that fails.
    """
    shards = min(max(n, 1), 1 if jobs <= 1 else max(jobs, min(4 * jobs, n // _SHARD)))
    edges = [n * k // shards for k in range(shards + 1)]
    control = np.zeros(1 + shards, np.int64)
    if shards == 1 and progress is None and current_thread() is not main_thread():
        try:  # a server's thread cannot be interrupted, and starting another one would cost more than a short sentence
            return [work(0, n, control, 1)]
        except Exception as error:
            _explain(packed, error)
            raise
    with thread_pool(max(1, jobs)) as pool:
        futures = [pool.submit(copy_context().run, work, edges[k], edges[k + 1], control, k + 1) for k in range(shards)]
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
    except Exception as error:
        _explain(packed, error)
        raise


def _explain(packed: Packed | None, error: Exception) -> None:
    """Replace an error of the compiler by one that names the function of the task."""
    if packed is not None and is_compiler_error(error):
        raise TaskError(f"task {packed.task.name!r}: {explain_compilation(packed, error)}") from None


def check_steps(packed: Packed, steps: npt.NDArray[np.int64]) -> None:
    """Raise the error of the first sentence with an error code."""
    if steps.min(initial=0) < 0:
        i = int(np.flatnonzero(steps < 0)[0])
        raise_trouble(packed, i, int(steps[i]))


def raise_trouble(packed: Packed, i: int, code: int) -> NoReturn:
    """Raise the error that a kernel reported for sentence ``i``."""
    n = int(packed.lengths[i])
    if code in TROUBLE:
        what = TROUBLE[code].format(bound=packed.task.steps_bound(n))
        raise TaskError(f"task {packed.task.name!r}: sentence {i} (of length {n}) {what}")
    raise KeyboardInterrupt


def sentences_of(packed: Packed) -> Sentences:
    """Packed sentences in the form for kernels."""
    return Sentences(packed.arrays, packed.state_at, packed.bounds)


def kernel_for(packed: Packed, kernel: Any) -> Any:
    """The kernel, or its interpreted version if the functions of the task are interpreted (:meth:`Task.plain`)."""
    return _interpreted(kernel) if packed.task.is_plain else kernel


_interpreted = cache(interpreted)


def prepare(policy: Policy, packed: Packed, which: Longs, mixture: npt.ArrayLike | None = None) -> Scorer:
    """The scorer of a policy for some sentences; ``mixture``, if given, replaces the policy's own."""
    scorer = policy.prepare(packed, which)
    kind = scorer.kind.plain() if packed.task.is_plain else scorer.kind
    return Scorer(kind, scorer.arrays, scorer.mixture if mixture is None else np.asarray(mixture, np.float64))


def scratch_for(scorer: Scorer | None, task: Task) -> Scratch:
    """The working space of one thread, for a policy or for the expert alone."""
    scratch: Scratch = (LINEAR if scorer is None else scorer.kind).scratch(task)
    return scratch


def blocks(policy: Policy | None, lengths: npt.NDArray[Any], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Consecutive ranges from ``first`` to ``last``, with at most as many words as the policy prepares at a time.

    ``lengths`` are the lengths of all sentences; a sentence that is too long for a block is a separate range.
    """
    most = None if policy is None else policy.block
    if most is None:
        yield from [(first, last)] * (first < last)
        return
    words = 0
    for place in range(first, last):
        words += int(lengths[place])
        if words > most and place > first:
            yield first, place
            first, words = place, int(lengths[place])
    if first < last:
        yield first, last


def as_policy(policy: Policy | Weights | None) -> Policy | None:
    """Return a policy, given a policy or the weights of a linear one."""
    return LinearWeights(policy) if isinstance(policy, np.ndarray) else policy


def decode(
    packed: Packed,
    policy: Policy | Weights | None,
    *,
    mixture: npt.ArrayLike | None = None,
    who: int = LEARNED,
    beam: int = 1,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Decoded:
    """Decode packed sentences: greedily by default, by beam search with ``beam`` > 1.

    A linear policy may be given by its weights, rows × width or policies × rows × width. Without a policy, the expert
    acts. ``who`` says who acts, and ``mixture`` has the cumulative probabilities of the expert and of each member of
    the policy, if they differ from the policy's own. The results do not depend on ``jobs``.
    """
    beam, seed, jobs = whole_number("beam", beam, 1), whole_number("seed", seed, 0), whole_number("jobs", jobs, 1)
    policy, task, sentences = as_policy(policy), packed.task, sentences_of(packed)
    states, steps = np.zeros(int(sentences.state_at[-1]), np.int32), np.zeros(len(packed), np.int64)
    scores = np.zeros(len(packed), np.float64) if beam > 1 else None
    longest = int(np.diff(sentences.state_at).max(initial=1)) if beam > 1 else 0

    def work(first: int, last: int, control: Longs, slot: int) -> None:
        for start, end in blocks(policy, packed.lengths, first, last):
            shard = Shard(start, end, control, slot)
            scorer = None if policy is None else prepare(policy, packed, np.arange(start, end), mixture)
            scratch = scratch_for(scorer, task)
            if beam > 1:
                run, space = kernel_for(packed, beam_pass), new_beam(beam, longest)
                run(task, sentences, shard, scorer, space, scratch, states, steps, scores)
            elif scorer is not None and who == LEARNED:
                run = kernel_for(packed, greedy_pass)
                run(task, sentences, shard, scorer, scratch, seed, states, steps)
            else:
                run = kernel_for(packed, decode_pass)
                run(task, sentences, shard, scorer, who, scratch, seed, states, steps)

    run_shards(work, len(packed), packed=packed, jobs=jobs, progress=progress)
    check_steps(packed, steps)
    return Decoded(packed, states, sentences.state_at, steps, scores, jobs)


def trajectory(
    packed: Packed,
    i: int,
    policy: Policy | Weights | None,
    *,
    mixture: npt.ArrayLike | None = None,
    who: int = LEARNED,
    seed: int = 0,
) -> Trajectory:
    """The episode of sentence ``i``, step by step; see :func:`decode` for what the policy may be."""
    task, n = packed.task, int(packed.lengths[i])
    bound, size = task.steps_bound(n), task.state_size(n)
    actions, states = np.zeros(bound + 1, np.int32), np.zeros((bound + 1, size), np.int32)
    policy = as_policy(policy)
    scorer = None if policy is None else prepare(policy, packed, np.array([i]), mixture)
    run = kernel_for(packed, trajectory_pass)
    steps = run(task, sentences_of(packed), i, scorer, who, scratch_for(scorer, task), seed, actions, states)
    if steps < 0:
        raise_trouble(packed, i, steps)
    views = [task.state_view(states[t], n) for t in range(steps + 1)]
    return Trajectory([int(a) for a in actions[:steps]], views)
