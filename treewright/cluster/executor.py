"""Experiments on a cluster: the same jobs and results; corpora are sent once to each worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from treewright.cluster.connecting import LOST, ClusterError, lost_scheduler
from treewright.cluster.sharing import Shared, shared_value
from treewright.corpora import Sentence
from treewright.experiments.corpora import CorpusSource
from treewright.experiments.jobs import Job, code_version
from treewright.experiments.running import attempt
from treewright.experiments.store import Outcome

__all__ = ["DaskExecutor"]


class DaskExecutor:
    """Runs jobs on the workers of a Dask cluster; ``jobs`` is the number of threads of each.

    Each corpus is sent once to each worker, including workers that join later. If a worker dies during a job, Dask runs
    the job on another one. Results do not depend on the worker.
    """

    def __init__(self, client: Any, corpora: Mapping[str, CorpusSource], jobs: int = 1) -> None:
        self.client, self.corpora, self.jobs = client, corpora, jobs
        self._shared = Shared(client)

    @property
    def workers(self) -> int:
        """The number of jobs that run at a time."""
        return max(1, int(sum(self.client.nthreads().values())))

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job with its outcome, as soon as it is known.

        Raises:
            ClusterError: if the scheduler is gone.
        """
        from distributed import as_completed

        try:
            waiting = {self._submit(job): job for job in jobs}
            for future in as_completed(list(waiting), loop=self.client.loop):
                yield waiting.pop(future), self._outcome(future)
        except ClusterError:
            raise
        except LOST as error:
            raise lost_scheduler(error) from None

    def close(self) -> None:
        """Remove the corpora from the workers."""
        with suppress(*LOST):  # if the scheduler is gone, so are they
            self._shared.close()

    def _submit(self, job: Job) -> Any:
        name = f"treewright-corpus-{job.digest}"
        self._shared.put(name, lambda: self.corpora[job.corpus].read())
        key = f"treewright-job-{job.key}-{code_version()}"
        return self.client.submit(run_on_worker, job.as_dict(), name, code_version(), self.jobs, key=key, pure=False)

    def _outcome(self, future: Any) -> Outcome:
        if future.status == "cancelled":
            raise lost_scheduler(ConnectionError("its jobs were cancelled"))
        error = future.exception()
        if error is None:
            outcome: Outcome = future.result()
            return outcome
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return Outcome(0.0, error=f"the job ended several workers, one after the other: {error}")
        return Outcome(0.0, error=f"{type(error).__name__}: {error}")


def run_on_worker(job: dict[str, Any], corpus: str, code: str, jobs: int) -> Outcome:
    """Run a job on a worker, which must have the same code as the process that sent it."""
    if code != code_version():
        return Outcome(0.0, error=f"this worker has Treewright {code_version()}, and the job is of version {code}")
    parts: Mapping[str, list[Sentence]] = shared_value(corpus)
    return attempt(Job.from_dict(job), parts, jobs=jobs)
