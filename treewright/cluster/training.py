"""Training on a cluster by iterative parameter mixing: each worker learns on its shard, and weights are exchanged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.cluster.connecting import LOST, ClusterError, lost_scheduler
from treewright.estimators.mixing import FileShard, Survey, advance_shard, survey_shard
from treewright.experiments.jobs import code_version
from treewright.learners.parameter_mixing import Round

__all__ = ["DaskShards", "packed_state", "unpacked_state"]

Packed = dict[str, tuple[npt.NDArray[Any], ...]]
_ATTEMPTS = 5
_PAUSE = 1.0  # seconds, until dead workers are detected


def packed_state(state: Mapping[str, npt.NDArray[Any]]) -> Packed:
    """Return arrays without their most frequent values, for the transfer between machines.

    >>> state = {"weights": np.float32([[0, 0, 2], [0, 0, 0]]), "spread": np.float32([[1, 1], [0.5, 1]])}
    >>> {name: array.tolist() for name, array in unpacked_state(packed_state(state)).items()}
    {'weights': [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]], 'spread': [[1.0, 1.0], [0.5, 1.0]]}
    """
    packed: Packed = {}
    for name, array in state.items():
        flat = np.ascontiguousarray(array).reshape(-1)
        fill = flat[-1:].copy()
        places = np.flatnonzero(flat != fill)
        packed[name] = np.asarray(array.shape, np.int64), fill, places, flat[places]
    return packed


def unpacked_state(packed: Packed) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays from the result of :func:`packed_state`."""
    state = {}
    for name, (shape, fill, places, values) in packed.items():
        flat = np.full(int(np.prod(shape)), fill[0], fill.dtype)
        flat[places] = values
        state[name] = flat.reshape([int(size) for size in shape])
    return state


class DaskShards:
    """Runs shards on the workers of a Dask cluster.

    A worker reads its shard from the file on first use, and keeps it. If a worker dies, another one reads its shard and
    repeats the round, which depends only on its initial weights.
    """

    def __init__(self, client: Any, shards: Sequence[FileShard]) -> None:
        self.client, self.shards = client, shards

    def survey(self, task: str, params: dict[str, Any]) -> list[Survey]:
        """Return the survey of each shard."""
        return self._on_all(_survey, None, task, params)

    def advance(
        self, task: str, params: dict[str, Any], survey: Survey, when: Round, state: Mapping[str, npt.NDArray[Any]]
    ) -> list[tuple[Mapping[str, npt.NDArray[Any]], dict[str, Any]]]:
        """Learn for one round on each shard, from the same state."""
        found = self._on_all(_advance, (packed_state(state), survey), task, params, tuple(when))
        return [(unpacked_state(packed), done) for packed, done in found]

    def _on_all(self, function: Callable[..., Any], shared: Any, *arguments: Any) -> list[Any]:
        """Results in the order of shards. A shard stays on the same worker as long as the worker lives."""
        results: dict[int, Any] = {}
        for _ in range(_ATTEMPTS):
            try:
                self._attempt(function, shared, arguments, results)
            except LOST as error:  # a worker that just died, or the scheduler
                time.sleep(_PAUSE)
                if self.client.status != "running":
                    raise lost_scheduler(error) from None
            if len(results) == len(self.shards):
                return [results[k] for k in range(len(self.shards))]
        raise ClusterError(
            "workers died again and again in the same round; look into their logs: is there enough memory?"
        )

    def _attempt(
        self, function: Callable[..., Any], shared: Any, arguments: tuple[Any, ...], results: dict[int, Any]
    ) -> None:
        """Run the missing shards, and add the successful ones to the results."""
        from distributed import KilledWorker

        self.client.wait_for_workers(1, timeout=60)
        workers = sorted(self.client.nthreads())
        futures = {
            k: self.client.submit(
                function,
                code_version(),
                tuple(shard),
                shared,  # not scattered: that waits for ever for a worker that was just killed
                *arguments,
                pure=False,
                workers=[workers[k % len(workers)]],
                allow_other_workers=True,
            )
            for k, shard in enumerate(self.shards)
            if k not in results
        }
        for k, future in futures.items():
            error = future.exception()
            if error is None:
                results[k] = future.result()
            elif not isinstance(error, KilledWorker) and future.status != "cancelled":
                raise error


def _survey(code: str, shard: tuple[str, int, int], given: None, task: str, params: dict[str, Any]) -> Survey:
    _check(code)
    return survey_shard(FileShard(*shard), task, params)


def _advance(
    code: str,
    shard: tuple[str, int, int],
    given: tuple[Packed, Survey],
    task: str,
    params: dict[str, Any],
    when: tuple[int, int, int],
) -> tuple[Packed, dict[str, Any]]:
    _check(code)
    packed, survey = given
    state, done = advance_shard(FileShard(*shard), task, params, survey, Round(*when), unpacked_state(packed))
    return packed_state(state), done


def _check(code: str) -> None:
    if code != code_version():
        raise ClusterError(
            f"a worker has Treewright {code_version()}, and this process has {code}: install the same one"
        )
