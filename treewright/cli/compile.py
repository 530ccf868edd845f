"""``treewright compile``: compile the code that a model needs, ahead of its first use."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.bundled import found_model
from treewright.cli.console import patience_while_compiling
from treewright.cli.outcomes import note
from treewright.cli.tasks import Task, load_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["compile", "compile_in_background", "make_ready"]

_PATIENCE = 600.0  # seconds after which a compilation in the background counts as dead


def compile(
    models: Annotated[list[str], typer.Argument(help="Model files, or names of bundled models.", metavar="MODEL...")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Compile what models need, ahead of their first use.

    Compiled code is kept on disk, and all later commands find it there. Training does this by itself, and `parse` does
    it in the background where it finds nothing: this command is for the image of a container, or before a measurement.

    Examples:
      treewright compile model.tw
      treewright compile tagger.tw parser.tw
    """
    from treewright.models import read_model

    for model in models:
        read_model(found_model(model), arrays=False)  # raises an error at once if there is no such model
    os.environ["TREEWRIGHT_COMPILE"] = "now"  # also for code that runs during loading
    for model in models:
        with _compilations() as begun:
            task, estimator = load_model(model)
            with patience_while_compiling(shown=not quiet):
                make_ready(task, estimator)
        if not quiet:
            note(f"{model}: compiled" if begun else f"{model}: everything is compiled already")


@contextlib.contextmanager
def _compilations() -> Iterator[list[bool]]:
    """A list that receives an entry when a compilation begins or ends."""
    from treewright.search.compiling import compilations

    begun: list[bool] = []
    listener = begun.append
    compilations.listeners.append(listener)
    try:
        yield begun
    finally:
        compilations.listeners.remove(listener)


def make_ready(task: Task, estimator: Any) -> None:
    """Compile everything that `parse`, `evaluate`, `compare` and `--k-best` run, by parsing one sentence."""
    from treewright.corpora.builtin import builtin_corpus
    from treewright.search.compiling import is_disabled

    if is_disabled():
        return
    [sentence] = builtin_corpus(train=1, dev=1, test=1).test
    before = os.environ.get("TREEWRIGHT_COMPILE")
    os.environ["TREEWRIGHT_COMPILE"] = "now"
    try:
        task.exercise(estimator, sentence)
    finally:
        os.environ.pop("TREEWRIGHT_COMPILE")
        if before is not None:
            os.environ["TREEWRIGHT_COMPILE"] = before


def compile_in_background(models: Sequence[Path | str]) -> None:
    """Compile for models in another process, if this one had to interpret and no other process is compiling."""
    from treewright.search.compiling import work

    if not work.interpreted or os.environ.get("TREEWRIGHT_COMPILE") == "later":
        return
    with contextlib.suppress(OSError):  # no temporary folder, or no more processes: a later command will compile
        names = [str(Path(found_model(model)).resolve()) for model in models]
        marked = [os.environ.get("NUMBA_CACHE_DIR"), *((name, os.stat(name).st_mtime_ns) for name in names)]
        key = hashlib.sha256(repr(marked).encode()).hexdigest()[:16]
        mark = Path(tempfile.gettempdir()) / f"treewright-{os.getuid() if hasattr(os, 'getuid') else ''}-{key}"
        if mark.exists() and 0 <= time.time() - mark.stat().st_mtime < _PATIENCE:  # less than 0: the clock was set back
            return
        mark.touch()
        subprocess.Popen(
            [sys.executable, "-m", "treewright", "compile", "--quiet", *names],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
