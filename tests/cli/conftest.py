"""A small corpus, a model trained on it, and two ways to run commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from treewright.cli import app_for

SMALL = ["--bits", "12", "--passes", "2"]
COMMAND = [sys.executable, "-m", "treewright"]


@pytest.fixture(scope="session")
def run() -> Callable[..., Any]:
    """Run a command in this process."""

    def invoke(*args: object, code: int = 0, input: str | None = None) -> Any:
        words = [str(arg) for arg in args]
        result = CliRunner(env={"COLUMNS": None}).invoke(app_for(words), words, input=input, prog_name="treewright")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return invoke


@pytest.fixture(scope="session")
def start() -> Callable[..., subprocess.Popen[bytes]]:
    """Start a command in a process of its own."""

    def popen(*args: object) -> subprocess.Popen[bytes]:
        root = Path(__file__).resolve().parents[2]
        path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        pipe = subprocess.PIPE
        environment = {**os.environ, "PYTHONPATH": path}
        command = [*COMMAND, *map(str, args)]
        # what a shell starts in the background ignores Ctrl-C, and so would everything that is started from there
        hear = None if os.name == "nt" else lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, preexec_fn=hear)

    return popen


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Any]) -> Path:
    """The built-in corpus as files: 30 sentences to train on, 10 to develop and to test on."""
    folder = tmp_path_factory.mktemp("data")
    run("corpus", folder, "--train", 30, "--dev", 10, "--test", 10)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Any], data: Path) -> Path:
    """A small tagger."""
    path = tmp_path_factory.mktemp("model") / "model.tw"
    run("train", "tagging", data / "train.conllu", "--dev", data / "dev.conllu", "--out", path, *SMALL)
    return path
