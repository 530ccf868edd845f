"""Same results everywhere: one seed gives one model, with any number of threads, in any process, on any Python.

A *variant* is a way to run a training. Its model must equal the model of the default way, except for the date and the
versions of the libraries in its card. ``python -m campaign.sameness FOLDER`` trains a model for each line that it reads (kind,
threads, corpus), and prints its digest; other interpreters run this command.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from campaign.frame import Check, Unavailable
from campaign.trainings import BUILD, ROOT, Corpus, commands, content, expect, need_torch, needs_torch, run_command


def checks() -> list[Check]:
    return [Variants(name) for name in VARIANTS]


@dataclass(frozen=True)
class Variant:
    """A way to run a training: threads, an interpreter, environment variables, another corpus of the same content."""

    what: str
    jobs: tuple[int, ...] = (1,)
    python: Callable[[], str] | None = None
    variables: dict[str, str] = field(default_factory=dict)
    quick: int = 2
    fresh: bool = False
    """Whether each training has its own process."""


def interpreter(version: str, *libraries: str) -> Callable[[], str]:
    """An environment with another Python, or other versions of libraries; it is created on first use."""

    def find() -> str:
        name = "-".join([version, *libraries]).replace("==", "")
        python = BUILD / "environments" / name / "bin" / "python"
        if not (python.parent.parent / "ready").exists():
            base = _base(version)
            shutil.rmtree(python.parent.parent, ignore_errors=True)
            subprocess.run([base, "-m", "venv", str(python.parent.parent)], check=True, capture_output=True)
            wanted = ["numpy", "numba", "penman>=1.3", "rich>=14.0", "typer>=0.29"]
            wanted = [each for each in wanted if not any(one.startswith(f"{each}==") for one in libraries)]
            wanted = ["numba>=0.68,<0.69" if each == "numba" else each for each in wanted]
            done = subprocess.run(
                [str(python), "-m", "pip", "install", "--quiet", *wanted, *libraries],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise Unavailable(f"{name} cannot be installed: {done.stderr.strip()[-300:]}")
            (python.parent.parent / "ready").touch()
        return str(python)

    return find


def _base(version: str) -> str:
    """Return the installed interpreter of a version."""
    here = Path(sys.base_prefix)
    for folder in (here.parent, Path.home() / ".pyenv" / "versions"):
        for python in sorted(folder.glob(f"{version}*/bin/python{version}")):
            return str(python)
    found = shutil.which(f"python{version}")
    if found is None:
        raise Unavailable(f"there is no Python {version}")
    return found


VARIANTS = {
    "again": Variant("trainings repeated in the same process: the same model to the bit"),
    "threads": Variant("trainings with 2 and 8 threads: the same model to the bit", jobs=(2, 8)),
    "process": Variant(
        "trainings in fresh processes with another hash seed: the same model to the bit",
        python=lambda: sys.executable,
        variables={"PYTHONHASHSEED": "77"},
        fresh=True,
    ),
    "interpreted": Variant(
        "trainings without the compiler: the same model to the bit",
        python=lambda: sys.executable,
        variables={"NUMBA_DISABLE_JIT": "1"},
        quick=1,
    ),
    "python-3.11": Variant(
        "trainings on Python 3.11: the same model to the bit as on this one", python=interpreter("3.11"), quick=0
    ),
    "python-3.12": Variant(
        "trainings on Python 3.12: the same model to the bit as on this one", python=interpreter("3.12"), quick=0
    ),
    "python-3.13": Variant(
        "trainings on Python 3.13: the same model to the bit as on this one", python=interpreter("3.13"), quick=0
    ),
    "oldest-libraries": Variant(
        "trainings with NumPy 2.0.2 and Numba 0.68.0: the same model to the bit",
        python=interpreter("3.12", "numpy==2.0.2", "numba==0.68.0"),
        quick=0,
    ),
    "newest-libraries": Variant(
        "trainings with the newest NumPy and Numba that are allowed: the same model to the bit",
        python=interpreter("3.13", "numba==0.68.1"),
        quick=0,
    ),
    "older-processor": Variant(
        "trainings with NumPy and OpenBLAS as on a processor without AVX-512: the same model to the bit",
        python=lambda: sys.executable,
        variables={"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX"},
        quick=0,
    ),
}


class Variants(Check):
    limit = 900

    def __init__(self, name: str) -> None:
        self.name, self.variant = name, VARIANTS[name]
        self.what, self.quick = self.variant.what, self.variant.quick
        self.kinds = [kind for kind in commands() if self.variant.python is None or not needs_torch(kind)]
        self.goal = len(self.kinds) * len(self.variant.jobs)

    def prepare(self, folder: Path) -> None:
        self.folder = folder
        self.corpora: dict[int, Corpus] = {}
        self.right: dict[tuple[str, int], str] = {}
        self.python = self.variant.python and self.variant.python()
        self.other: subprocess.Popen[str] | None = None

    def case(self, random: Random, number: int) -> tuple[str, int, int]:
        kind = self.kinds[number % len(self.kinds)]
        rest = number // len(self.kinds)
        jobs = self.variant.jobs[rest % len(self.variant.jobs)]
        sentences = (20, 40, 60)[rest // len(self.variant.jobs) % 3]
        return kind, jobs, sentences

    def run(self, case: tuple[str, int, int]) -> None:
        kind, jobs, sentences = case
        need_torch(kind)
        if sentences not in self.corpora:
            self.corpora[sentences] = Corpus(self.folder / str(sentences), sentences)
        corpus = self.corpora[sentences]
        if (kind, sentences) not in self.right:
            self.right[kind, sentences] = trained(corpus, kind, 1, self.folder / "right.tw")
        right = self.right[kind, sentences]
        if self.python is None:
            found = trained(corpus, kind, jobs, self.folder / "found.tw")
        else:
            found = self._elsewhere(f"{kind}\t{jobs}\t{corpus.folder}")
        expect(found == right, f"{kind} with {jobs} threads on {sentences} sentences: another model")

    def _elsewhere(self, order: str) -> str:
        """Let the other interpreter train a model, and return its digest."""
        assert self.python is not None
        log = self.folder / "log"
        if self.other is None:
            variables = {**os.environ, "PYTHONPATH": str(ROOT), **self.variant.variables}
            command = [self.python, "-m", "campaign.sameness", str(self.folder)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with log.open("w") as errors:
                self.other = subprocess.Popen(command, env=variables, cwd=ROOT, stderr=errors, **pipes)
        assert self.other.stdin is not None
        assert self.other.stdout is not None
        print(order, file=self.other.stdin, flush=True)
        found = self.other.stdout.readline().strip()
        if self.variant.fresh or not found:
            self.finish()
        expect(bool(found), f"{order}: the process ended: {log.read_text()[-2000:]}")
        return found

    def finish(self) -> None:
        if self.other is not None:
            self.other.communicate()
            self.other = None


def trained(corpus: Corpus, kind: str, jobs: int, model: Path) -> str:
    """Train a model in this process, and return the digest of its content."""
    model.unlink(missing_ok=True)
    code = run_command(corpus.train(kind, model, "--jobs", str(jobs)))
    expect(code == 0, f"{kind}: training ended with {code}")
    return content(model)


def serve(folder: Path) -> None:
    """Train a model for each line of standard input; messages of the trainings go to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        kind, jobs, corpus = line.rstrip("\n").split("\t")
        made = Corpus.__new__(Corpus)
        made.folder = Path(corpus)
        print(trained(made, kind, int(jobs), folder / "other.tw"), file=answers, flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
