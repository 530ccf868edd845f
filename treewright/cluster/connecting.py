"""Find a cluster by its name, and reject workers that would give other results."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import Any

from treewright.errors import ConfigError, TreewrightError
from treewright.experiments.jobs import code_version

__all__ = ["LOST", "ClusterError", "check_workers", "cluster_name", "connect", "lost_scheduler"]

_TIMEOUT = "10s"

LOST: tuple[type[BaseException], ...] = (
    OSError,
    TimeoutError,
    RuntimeError,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)
"""The exceptions of calls if the scheduler, or a worker that they need, is gone."""


class ClusterError(TreewrightError):
    """A cluster cannot be reached, has gone away, or has workers that cannot be used."""


def cluster_name(cluster: str) -> tuple[str, str]:
    """Return the kind of a cluster and the rest of its name.

    >>> cluster_name("local:4"), cluster_name("tcp://10.0.0.1:8786"), cluster_name("my_cluster:slurm")
    (('local', '4'), ('address', 'tcp://10.0.0.1:8786'), ('object', 'my_cluster:slurm'))

    Raises:
        ConfigError: if it is none of these.
    """
    if cluster == "local" or cluster.startswith("local:"):
        number = cluster.partition(":")[2] or "1"
        if not number.isdecimal() or int(number) < 1:
            raise ConfigError(f"the number of workers must be 1 or more, as in local:4, not {number!r}")
        return "local", number
    if "://" in cluster:
        return "address", cluster
    module, _, name = cluster.partition(":")
    if module.replace(".", "").isidentifier() and name.isidentifier():
        return "object", cluster
    raise ConfigError(
        f"there is no cluster {cluster!r}: write local:4, tcp://host:port, or module:object for a cluster in Python"
    )


@contextmanager
def connect(cluster: str | Any) -> Iterator[Any]:
    """Connect to a cluster and check its workers; yields a ``distributed.Client``.

    ``cluster`` is ``local:4`` for processes of this machine, the address of a scheduler, ``module:object`` for a Python
    object such as a cluster of dask-jobqueue (or a function that returns one), or such an object itself.

    Raises:
        ClusterError: if the cluster cannot be reached, or if a worker has another version of the package.
    """
    distributed = _distributed()
    with ExitStack() as stack:
        stack.enter_context(_without_tracebacks())
        address = cluster
        if isinstance(cluster, str):
            kind, rest = cluster_name(cluster)
            if kind == "local":
                nanny = logging.getLogger("distributed.nanny")
                stack.callback(nanny.setLevel, nanny.level)
                address = stack.enter_context(
                    distributed.LocalCluster(
                        n_workers=int(rest), threads_per_worker=1, processes=True, dashboard_address=":0"
                    )
                )
                stack.callback(nanny.setLevel, logging.ERROR)  # no warning if a busy machine is slow to end a worker
            elif kind == "object":
                address = _object(rest)
        try:
            client = stack.enter_context(distributed.Client(address, timeout=_TIMEOUT, set_as_default=False))
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"{cluster}: there is no scheduler ({error}); start one with `dask scheduler`, and workers with "
                "`dask worker tcp://HOST:PORT --nthreads 1`"
            ) from None
        check_workers(client)
        yield client


@contextmanager
def _without_tracebacks() -> Iterator[None]:
    """Silence the client's log, which has tracebacks if the scheduler dies; :func:`lost_scheduler` says it in words."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise ClusterError("clusters need the package distributed: pip install 'treewright[cluster]'") from None


def _object(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the current folder, as `python -m` finds them
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ClusterError(f"the cluster {name} cannot be imported: {error}") from None
    made = found() if callable(found) and not hasattr(found, "scheduler_address") else found
    if not hasattr(made, "scheduler_address"):
        raise ClusterError(f"{name} is no cluster of Dask, and no function that returns one, but {made!r}")
    return made


def check_workers(client: Any) -> None:
    """Raise :class:`ClusterError` if a worker has no Treewright, or another version of its code than this process."""
    own = code_version()
    found = client.run(worker_version, on_error="return")
    if not found:
        with suppress(Exception):
            client.wait_for_workers(1, timeout=60)
        found = client.run(worker_version, on_error="return")
        if not found:
            raise ClusterError("the cluster has no workers: start one with `dask worker tcp://HOST:PORT --nthreads 1`")
    others = {address: version for address, version in found.items() if version != own}
    if others:
        told = "; ".join(f"{address} has {version}" for address, version in sorted(others.items()))
        raise ClusterError(
            f"all workers need Treewright {own}, the version of this process, and some have not: {told}; install the "
            "same version on all machines, and start the workers again"
        )


def worker_version() -> str:
    """Return the version of the code on a worker."""
    return code_version()


def lost_scheduler(error: BaseException) -> ClusterError:
    """Return the error for a lost scheduler, with advice."""
    return ClusterError(
        f"the scheduler is gone ({type(error).__name__}); all results that arrived are kept: start the cluster again, "
        "and run the same command to go on"
    )
