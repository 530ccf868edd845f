"""A real server in a process of its own, on loopback, for all tests of the service and of the page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

_WAIT = 240  # seconds until all models are loaded: kernels may have to be compiled first


class Served(NamedTuple):
    """A server that runs: its address, and its process."""

    url: str
    process: subprocess.Popen[str]

    def get(self, path: str, **options: Any) -> requests.Response:
        return requests.get(self.url + path, timeout=120, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=120, **options)


def start(*arguments: str, ready: bool = True, code: str = "") -> Served:
    """Start ``treewright serve`` on a free port, or a program that prints its address, and wait until it answers."""
    serve = [sys.executable, "-m", "treewright", "serve", "--port", "0", *arguments]
    command = [sys.executable, "-c", code] if code else serve
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ})
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "http://127.0.0.1:" in line, line + (process.stdout.read() or "")
    served = Served(line.split()[-1], process)
    end = time.monotonic() + _WAIT
    while ready and requests.get(served.url + "/health", timeout=10).status_code != 200:
        assert time.monotonic() < end, "the models were not loaded in time"
        time.sleep(0.1)
    return served


def stop(served: Served) -> int:
    """Ask a server to stop, as Ctrl-C does, and return its exit status."""
    served.process.send_signal(signal.SIGINT)
    return served.process.wait(timeout=60)


@pytest.fixture(scope="session")
def starting() -> Callable[..., Served]:
    """Starts further servers: ``starting("--max-body", "1000")``."""
    return start


@pytest.fixture(scope="session")
def stopping() -> Callable[[Served], int]:
    return stop


@pytest.fixture(scope="session")
def worse_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model with a dependency parser that has forgotten two thirds of its weights."""
    import treewright

    model = treewright.load("english")
    policy = model.parser.policy_
    weights = policy.weights.copy()
    weights[:, 1::3] = weights[:, ::3] = 0
    object.__setattr__(policy, "weights", weights)
    return model.save(tmp_path_factory.mktemp("models") / "worse.tw")


@pytest.fixture(scope="session")
def agenda_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small grammar that is parsed with an agenda."""
    from treewright.constituency import ConstituencyParser
    from treewright.corpora import builtin_corpus

    parser = ConstituencyParser(learner="maximum-likelihood", search="agenda")
    return parser.fit(builtin_corpus(train=60, dev=0, test=0)[0]).save(tmp_path_factory.mktemp("models") / "agenda.tw")


@pytest.fixture(scope="session")
def served(worse_model: Path, agenda_model: Path) -> Iterator[Served]:
    """A server with the bundled model, a worse one, and one of constituents alone."""
    found = start("english", str(worse_model), str(agenda_model))
    yield found
    assert stop(found) == 0
