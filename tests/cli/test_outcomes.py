"""Closed streams, full devices and signals end a command with a message and an exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from treewright.cli.outcomes import outcomes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs the streams and signals of Unix")

ROOT = Path(__file__).resolve().parents[2]


def command(*arguments, closed=(), **options):
    """Run a command in a process of its own, some of whose standard streams are closed."""

    def close():
        for descriptor in closed:
            os.close(descriptor)

    return subprocess.run(
        [sys.executable, "-m", "treewright", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=close,
        timeout=300,
        check=False,
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


@pytest.mark.parametrize("closed", [0, 1])
def test_a_closed_stream_is_an_error_of_the_system(model, data, closed):
    with (data / "test.conllu").open("rb") as text:
        done = command("parse", model, closed=[closed], stdin=text)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(b"error: ")
    assert b"bad file descriptor" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_who_hears_no_errors_still_gets_the_exit_code(tmp_path):
    assert command("info", tmp_path / "missing.tw", closed=[0, 1, 2]).returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
@pytest.mark.parametrize("arguments", [["learners"], ["--help"]])
def test_output_that_cannot_be_written_is_an_error(arguments):
    with open("/dev/full", "wb") as full:
        done = command(*arguments, stdout=full)
    assert done.returncode == 1
    assert b"no space left" in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.jit
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_training_as_control_c_does(start, data, tmp_path, number):
    settings = ("--bits", 12, "--passes", 100_000, "--json")
    process = start("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", *settings)
    process.stdout.readline()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"To go on:" in stderr
    assert b"Traceback" not in stderr
    assert os.listdir(tmp_path) == ["m.tw.checkpoint"]
    assert sorted(os.listdir(tmp_path / "m.tw.checkpoint")) == ["state.npz"]


def test_a_library_that_does_not_fit_into_memory_is_said_to(capsys):
    error = ImportError("x cannot be imported")
    error.__context__ = OSError("libx.so: failed to map segment from shared object")
    with pytest.raises(typer.Exit) as end, outcomes():
        raise error
    assert end.value.exit_code == 1
    assert "not enough memory" in capsys.readouterr().err
    with pytest.raises(ImportError), outcomes():
        raise ImportError("x cannot be imported")
