"""Work on many files by shards: each file is one shard, and their results are joined in order.

The result of a shard is written to a file at once, so that an interrupted command continues with the missing shards.
Only a few files are sent to workers at a time, so memory does not grow with the number of files.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from treewright.cluster.connecting import LOST, ClusterError, lost_scheduler
from treewright.cluster.sharing import Shared, shared_value
from treewright.experiments.jobs import code_version
from treewright.files import atomic_write

__all__ = ["Shard", "forget_shards", "join_shards", "run_shards", "shards_of"]

Work = Callable[[Any, str, bytes], bytes]
"""A module-level function from a shared value, the name of a file and its bytes to the bytes of its result."""

_AHEAD = 2  # shards that wait for each worker


class Shard(NamedTuple):
    """A file, and the path of its result."""

    source: Path
    result: Path

    @property
    def is_done(self) -> bool:
        """Whether the result exists."""
        return self.result.is_file()


def shards_of(files: Sequence[Path], folder: Path, about: str) -> list[Shard]:
    """Return the shards of some files; ``about`` identifies what else the results depend on besides files and code."""
    found = []
    for number, path in enumerate(files):
        digest = hashlib.sha256(f"{about}\n{code_version()}\n".encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
        found.append(Shard(path, folder / f"{number:06}-{digest.hexdigest()[:16]}"))
    return found


def run_shards(shards: Sequence[Shard], work: Work, value: Any, client: Any | None) -> Iterator[Shard]:
    """Process all shards whose results are missing; yield each shard when its result is written.

    Without a ``client`` this process works on one shard at a time; with one, the workers of its cluster do, and each
    gets the ``value`` once.

    Raises:
        ClusterError: if the scheduler is gone; results that have been written stay.
    """
    missing = [shard for shard in shards if not shard.is_done]
    for shard in missing:
        shard.result.parent.mkdir(parents=True, exist_ok=True)
    if client is None:
        for shard in missing:
            _keep(shard, work(value, shard.source.name, shard.source.read_bytes()))
            yield shard
        return
    shared, name = Shared(client), f"treewright-value-{os.getpid()}-{id(value)}"
    try:
        if missing:
            shared.put(name, lambda: value)
        yield from _on_workers(missing, work, name, client)
    except LOST as error:
        if getattr(error, "errno", None) == errno.ENOSPC:  # the disk for results is full: it is not the cluster's fault
            raise
        raise lost_scheduler(error) from None
    finally:
        with suppress(*LOST):  # if the scheduler is gone, so is the value
            shared.close()


def _on_workers(missing: Sequence[Shard], work: Work, name: str, client: Any) -> Iterator[Shard]:
    from distributed import as_completed

    left = iter(missing)
    running: dict[Any, Shard] = {}
    done = as_completed(loop=client.loop)

    def send() -> None:
        for shard in left:
            data = shard.source.read_bytes()
            future = client.submit(
                work_on_worker, work, name, shard.source.name, data, code_version(), key=f"shard-{shard.result.name}"
            )
            running[future] = shard
            done.add(future)
            return

    for _ in range(_AHEAD * max(1, sum(client.nthreads().values()))):
        send()
    for future in done:
        if future.status == "cancelled":
            raise lost_scheduler(ConnectionError("its shards were cancelled"))
        shard = running.pop(future)
        _keep(shard, future.result())
        future.release()
        yield shard
        send()


def work_on_worker(work: Work, name: str, file: str, data: bytes, code: str) -> bytes:
    """Process a shard on a worker."""
    if code != code_version():
        raise ClusterError(
            f"a worker has Treewright {code_version()}, and this process has {code}: install the same one"
        )
    return work(shared_value(name), file, data)


def _keep(shard: Shard, data: bytes) -> None:
    with atomic_write(shard.result, "wb") as file:
        file.write(data)


def join_shards(shards: Sequence[Shard], write: Callable[[bytes], object]) -> None:
    """Write the results in the order of their files."""
    for shard in shards:
        with shard.result.open("rb") as file:
            while block := file.read(1 << 20):
                write(block)


def forget_shards(shards: Sequence[Shard]) -> None:
    """Remove the results of shards, after they were joined."""
    for folder in {shard.result.parent for shard in shards}:
        shutil.rmtree(folder, ignore_errors=True)
