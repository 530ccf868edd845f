"""The store of an experiment: one SQLite file with the result of every job, written as soon as it is known.

The file is in WAL mode: a reader, such as a report, does not wait for the writer. Only one process at a time may write
(:meth:`Store.open`), because two that run the same experiment would do the same jobs twice. Committed results survive
the end of the process.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError, TreewrightError
from treewright.models import library_versions

__all__ = ["STORE_VERSION", "Outcome", "Store", "StoreError", "disk_full"]

STORE_VERSION = 1
"""The version of the tables. A store of another version is not read."""

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (
    key TEXT NOT NULL,
    code TEXT NOT NULL,
    job TEXT NOT NULL,
    finished REAL NOT NULL,
    seconds REAL NOT NULL,
    result TEXT,
    counts BLOB,
    error TEXT,
    PRIMARY KEY (key, code)
);
"""

# what SQLite says if a file of the store cannot grow: the disk, a quota, the limit of a process
_NO_SPACE = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")

fcntl: Any = None
with suppress(ImportError):  # Windows has no such module
    fcntl = import_module("fcntl")


class StoreError(TreewrightError):
    """A store cannot be used: another process writes to it, another version made it, or the disk is full."""


def disk_full(path: Path) -> StoreError:
    """Return the error for a store, or a folder beside it, that cannot grow, with advice."""
    return StoreError(
        f"{path}: the disk is full; all results that were written before are kept: free some space, and run the same "
        "command again"
    )


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job: its result and the counts of sentences by part, or its error."""

    seconds: float
    result: dict[str, Any] = field(default_factory=dict)
    counts: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    error: str | None = None
    finished: float = 0.0


class Store:
    """The results of an experiment, by the keys of their jobs and the version of the code."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection
        self._lock: Any = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, write: bool = True) -> Store:
        """Open a store, to ``write`` or only to read; one to write is created if it does not exist.

        Raises:
            StoreError: if another process writes to it, if it is no store, or one of another version.
        """
        path = Path(path)
        if not write and not path.is_file():
            raise StoreError(f"{path}: there are no results yet; run the experiment first")
        if not path.resolve().parent.is_dir():
            raise StoreError(f"{path}: its folder does not exist; create it first")
        lock = _locked(path) if write else None
        try:
            connection = sqlite3.connect(path, isolation_level=None, timeout=30.0, check_same_thread=False)
            store = cls(connection, path)
            store._lock = lock
            with store._trouble():
                store._prepare(write)
        except BaseException:
            if lock is not None:
                lock.close()
            raise
        return store

    def _prepare(self, write: bool) -> None:
        tables = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and "about" not in tables:
            raise StoreError(f"{self.path}: this is an SQLite file, but no store of an experiment")
        if not tables and not write:
            raise StoreError(f"{self.path}: there are no results yet; run the experiment first")
        found = dict(self._connection.execute("SELECT name, value FROM about")) if tables else {}
        version = found.get("store_version", str(STORE_VERSION))
        if version != str(STORE_VERSION):
            raise StoreError(
                f"{self.path}: this store has version {version}, made by Treewright {found.get('treewright', '?')}, "
                f"and this program reads version {STORE_VERSION}; move it away, or use that version of Treewright"
            )
        if write:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(_TABLES)
            about = {"store_version": str(STORE_VERSION), "treewright": library_versions()["treewright"]}
            self._connection.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", about.items())

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Turn the errors of SQLite into messages."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            said = str(error)
            if error.sqlite_errorname in _NO_SPACE:
                raise disk_full(self.path) from None
            if "not a database" in said or "malformed" in said:
                raise StoreError(
                    f"{self.path}: this is not a store of an experiment, or it is damaged ({said})"
                ) from None
            raise StoreError(f"{self.path}: the store cannot be used: {said}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and let other processes write to it."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # ---- results

    def write(self, key: str, code: str, job: Mapping[str, Any], outcome: Outcome) -> None:
        """Store the outcome of a job, replacing an earlier one.

        Raises:
            StoreError: if it cannot be written, e.g. because the disk is full; earlier results are kept.
        """
        blob = None
        if outcome.counts:
            buffer = io.BytesIO()
            np.savez_compressed(buffer, **dict(outcome.counts))  # type: ignore[arg-type]
            blob = buffer.getvalue()
        result = None if outcome.error is not None else json.dumps(outcome.result)
        row = (key, code, json.dumps(dict(job)), time.time(), outcome.seconds, result, blob, outcome.error)
        with self._trouble():
            self._connection.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def outcomes(self, code: str | None = None) -> dict[str, Outcome]:
        """Return the outcomes of all jobs, by key: of one version of the code, or (None) the newest of any version."""
        query = "SELECT key, seconds, result, counts, error, finished FROM jobs"
        with self._trouble():
            if code is None:
                rows = self._connection.execute(f"{query} ORDER BY finished").fetchall()
            else:
                rows = self._connection.execute(f"{query} WHERE code = ? ORDER BY finished", (code,)).fetchall()
        return {
            key: Outcome(seconds, json.loads(result) if result else {}, _arrays(blob), error, finished)
            for key, seconds, result, blob, error, finished in rows
        }

    def durations(self) -> list[tuple[dict[str, Any], float]]:
        """Return all jobs that did not fail, of any version of the code, with the seconds that they took."""
        with self._trouble():
            rows = self._connection.execute("SELECT job, seconds FROM jobs WHERE error IS NULL").fetchall()
        return [(json.loads(job), seconds) for job, seconds in rows]

    def codes(self) -> dict[str, int]:
        """Return the versions of the code that results come from, and the number of results of each."""
        with self._trouble():
            query = "SELECT code, COUNT(*) FROM jobs WHERE error IS NULL GROUP BY code ORDER BY MAX(finished)"
            return dict(self._connection.execute(query))


def _arrays(blob: bytes | None) -> dict[str, npt.NDArray[np.float64]]:
    if blob is None:
        return {}
    with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _locked(path: Path) -> Any:
    """Hold the lock of a store until the returned file is closed or the process ends."""
    if fcntl is None:
        return None
    try:
        file = open(path.with_name(path.name + ".lock"), "w")  # noqa: SIM115 - held as long as the store is open
    except OSError as error:
        raise ConfigError(f"{path}: the store cannot be written: {(error.strerror or str(error)).lower()}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StoreError(
            f"{path}: another process is writing to this store right now; wait for it, or choose another --store"
        ) from None
    return file
