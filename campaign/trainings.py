"""One small training for every kind of estimator, on the command line, and a digest to compare two models.

:func:`commands` has an entry for each estimator of the registry; a missing entry is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from campaign.frame import FOLDER, Unavailable

ROOT = FOLDER.parent
BUILD = ROOT / "build" / "campaign"

_LEARNING = ["--passes", "5", "--bits", "10"]
_PLANNING = ["--passes", "3"]
_ENCODER = ["--policy", "small", "--passes", "3", "--device", "cpu"]

_SETTINGS: dict[str, list[str]] = {
    "tagging": _LEARNING,
    "dependency": [*_LEARNING, "--features", "basic"],
    "viterbi": [*_PLANNING, "--bits", "10"],
    "eisner": [*_PLANNING, "--bits", "10"],
    "constituency": [*_PLANNING, "--grammar", "v1h0"],
    "latent": ["--cycles", "2", "--split", "3", "--merge", "2", "--smooth", "1", "--starts", "1"],
    "amr": _LEARNING,
    "tokenization": _LEARNING,
    "morphology": _LEARNING,
    "lemmatization": _LEARNING,
}
#: other learners of the same estimators, because the contents of checkpoints depend on the learner
_FURTHER: dict[str, list[str]] = {
    "pipeline": ["--passes", "2", "--folds", "2", "--features", "basic"],
    "tagging, encoder": _ENCODER,
    "tagging, searn": [*_LEARNING, "--learner", "searn"],
    "tagging, max-violation": [*_LEARNING, "--learner", "max-violation", "--beam", "3"],
    "dependency, lols": [*_LEARNING, "--features", "basic", "--learner", "lols"],
    "amr, v-dagger": ["--passes", "3", "--bits", "10", "--learner", "v-dagger"],
}


def commands() -> dict[str, list[str]]:
    """The arguments of ``treewright train`` for each kind of training, without its files."""
    from treewright.estimators.registry import estimator_names

    missing = set(estimator_names()) ^ set(_SETTINGS)
    if missing:
        raise SystemExit(f"campaign/trainings.py does not know how to train: {', '.join(sorted(missing))}")
    return {**_SETTINGS, **_FURTHER}


def needs_torch(kind: str) -> bool:
    return "encoder" in kind


class Corpus:
    """Small generated corpora of every format, in a folder."""

    def __init__(self, folder: Path, sentences: int = 40) -> None:
        self.folder = folder
        sizes = ["--train", str(sentences), "--dev", "8", "--test", "8"]
        code = ended(forked(lambda: run_command(["corpus", str(folder), *sizes])))
        expect(code == 0, f"treewright corpus ended with {code}")

    def train(self, kind: str, out: Path, *more: str) -> list[str]:
        """Return the complete command that trains a model."""
        task = kind.partition(",")[0]
        format = {"constituency": "ptb", "latent": "ptb", "amr": "amr"}.get(task, "conllu")
        files = [str(self.folder / f"train.{format}"), "--dev", str(self.folder / f"dev.{format}"), "--out", str(out)]
        if task == "amr":
            files += ["--trees", str(self.folder / "train.conllu"), "--dev-trees", str(self.folder / "dev.conllu")]
        return ["train", task, *files, "--quiet", *commands()[kind], *more]


def content(path: Path) -> str:
    """Return a digest of the content of a model, except for its date and the versions of libraries."""
    from treewright.models import read_model

    model = read_model(path)
    card = json.dumps([model.task, model.config, _timeless(model.card)], sort_keys=True)
    digest = hashlib.sha256(card.encode())
    for name, array in sorted(model.arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(each) for key, each in value.items() if key not in ("date", "libraries")}
    return [_timeless(each) for each in value] if isinstance(value, list) else value


# ---- a process that is ready to run commands


def run_command(arguments: list[str]) -> int:
    """Run a command of ``treewright`` in this process, as ``python -m treewright`` would."""
    from treewright.cli import main

    before = sys.argv
    sys.argv = ["treewright", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return 0


def forked(work: Callable[[], int], log: Path | None = None) -> int:
    """Start a copy of this process that runs a function, and return its process id.

    Compiled kernels are in memory by then, so that a training takes a tenth of a second.
    """
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        output = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = work()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    """Wait for a process; return its exit code, or the negative number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def expect(value: bool, message: str) -> None:
    from campaign.frame import Finding

    if not value:
        raise Finding(message)


def need_torch(kind: str) -> None:
    if not needs_torch(kind):
        return
    try:
        import torch
    except ImportError:
        raise Unavailable("PyTorch is not installed") from None
    torch.set_num_threads(1)


@contextmanager
def environment(**changes: str | None) -> Iterator[None]:
    """Change environment variables while the block runs."""
    before = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        _set(before)


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
