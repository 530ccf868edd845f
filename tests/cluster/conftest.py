"""A real scheduler and real workers on loopback, started from the command line of Dask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class DaskProcesses:
    """A scheduler and workers in processes of their own; all of them end with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--scheduler-file", self.file, "--port", "0", "--host", "127.0.0.1", "--no-dashboard"
        )
        deadline = time.monotonic() + 60
        while not self.file.exists():
            assert time.monotonic() < deadline
            assert self.scheduler.poll() is None, self.log()
            time.sleep(0.05)
        import json

        self.address: str = json.loads(self.file.read_text())["address"]

    def worker(self, path: str | None = None) -> subprocess.Popen[bytes]:
        """Start a worker without a nanny, so that its process can be killed; ``path`` comes first to import."""
        options = (
            "--host",
            "127.0.0.1",
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--local-directory",
            self.folder,
        )
        return self._start("worker", self.address, *options, path=path)

    def log(self) -> str:
        return "\n".join(file.read_text(errors="replace") for file in sorted(self.folder.glob("*.log")))

    def _start(self, *args: object, path: str | None = None) -> subprocess.Popen[bytes]:
        search = os.pathsep.join(filter(None, [path, str(ROOT), os.environ.get("PYTHONPATH")]))
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        command = [sys.executable, "-m", "dask", *map(str, args)]
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": search}, cwd=self.folder
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture
def dask_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """A scheduler; tests start the workers that they need."""
    pytest.importorskip("distributed")
    found = DaskProcesses(tmp_path_factory.mktemp("dask"))
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """A scheduler with two workers, for all tests of a module that harm neither."""
    pytest.importorskip("distributed")
    found = DaskProcesses(tmp_path_factory.mktemp("dask"))
    try:
        found.worker()
        found.worker()
        yield found
    finally:
        found.close()
