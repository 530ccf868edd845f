"""Output on the terminal: tables on stdout, a progress bar on stderr."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from treewright.cli.outcomes import note

if TYPE_CHECKING:  # rich is imported on first use
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table

__all__ = [
    "COMPILING",
    "Bar",
    "compiled_in",
    "make_table",
    "patience_while_compiling",
    "print_json",
    "several",
    "size_text",
    "stdout",
    "wide_stdout",
]

_PATIENCE = 2.0  # seconds before a progress bar appears
_TICK = 0.25
COMPILING = "compiling: this takes some seconds, and the result is kept on disk for the next time"


def stdout() -> Console:
    """The console for results; without a terminal, tables have their full width."""
    from rich.console import Console

    class RaisingConsole(Console):
        """A console that raises the error of a broken pipe; that of rich would exit."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    fits = sys.stdout.isatty() or "COLUMNS" in os.environ
    return RaisingConsole(width=None if fits else 200, highlight=False)


def wide_stdout() -> Console:
    """The width of the terminal, or no limit without a terminal."""
    console = stdout()
    if not sys.stdout.isatty():
        console.width = 100_000
    return console


def make_table(
    title: str | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    header: bool = True,
) -> Table:
    """A table whose first ``left`` columns contain words and the others numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=header)
    if title is not None:
        table.title, table.title_justify, table.title_style = Text(title), "left", "bold"
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def print_json(value: Any, *, pretty: bool = False) -> None:
    """Print one JSON value on stdout, on one line or indented."""
    print(json.dumps(value, ensure_ascii=False, indent=2 if pretty else None), flush=True)


def size_text(size: int) -> str:
    """The size of a file.

    >>> size_text(41_300), size_text(1_340_000)
    ('41 kB', '1.3 MB')
    """
    return f"{size / 1e3:,.0f} kB" if size < 1e5 else f"{size / 1e6:,.1f} MB"


def several(number: int, noun: str) -> str:
    """A number with a noun whose plural ends in s.

    >>> several(1, "graph"), several(1024, "graph")
    ('1 graph', '1,024 graphs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _compiles() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


_telling = False  # whether a block is in progress that tells about compilation


@contextmanager
def patience_while_compiling(*, shown: bool = True, clear: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Print a line while code is compiled that runs for the first time, and the time that it took at the end.

    Of nested blocks the outermost tells. ``clear`` makes room for a line on the terminal.
    """
    global _telling
    if not shown or _telling or not _compiles():
        yield
        return
    from treewright.search.compilation import watching

    with watching() as compilation:
        told = False

        def remind() -> bool:
            nonlocal told
            if compilation.seconds < _PATIENCE:
                return True
            told = True
            clear()
            note(COMPILING)
            return False

        _telling = True
        try:
            with _now_and_then(remind):
                yield
        finally:
            _telling = False
        if told:
            clear()
            note(compiled_in(compilation.seconds))


def compiled_in(seconds: float) -> str:
    """The message at the end of compilation.

    >>> compiled_in(12.34)
    'compiled in 12 s'
    """
    return f"compiled in {seconds:.0f} s"


@contextmanager
def _now_and_then(action: Callable[[], bool]) -> Iterator[None]:
    """Call a function several times a second, in a separate thread, until it returns False."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(_TICK) and action():
            pass

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()  # so that it does not print anything later


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}")
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)


class Bar:
    """A progress bar with the remaining time, for work that takes longer than two seconds.

    It is drawn on stderr, if that is a terminal, and removed at the end. If something is compiled, a line says so;
    ``compiles`` is False for work that compiles nothing.
    """

    def __init__(self, *, shown: bool = True, compiles: bool = True) -> None:
        self._shown, self._compiles = shown, compiles
        self._drawn = shown and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._first: tuple[float, float] | None = None  # when the work began to move, and from where
        self._until_the_end = ExitStack()
        self._lock = threading.RLock()  # the reminder runs in another thread

    def __enter__(self) -> Bar:
        if self._compiles:
            self._until_the_end.enter_context(patience_while_compiling(shown=self._shown, clear=self.hide))
        return self

    def __exit__(self, *error: Any) -> None:
        self._until_the_end.__exit__(*error)  # after Ctrl-C nothing is said about compilation
        self.hide()

    def begin(self, stage: str, total: float) -> None:
        """Start the bar for work that may report no progress for a long time, for example because it compiles."""
        self.update(stage, 0, total)

        def remind() -> bool:
            with self._lock:
                if self._first is None:
                    self._update(stage, 0, total)
                return self._first is None

        self._until_the_end.enter_context(_now_and_then(remind))

    def update(self, stage: str, done: float, total: float) -> None:
        """Show the progress of the work."""
        with self._lock:
            self._update(stage, done, total)

    def _update(self, stage: str, done: float, total: float) -> None:
        now = time.monotonic()
        if self._first is None and done > 0:
            self._first = now, done
        if not self._drawn or now - self._started < _PATIENCE:
            return
        if self._progress is None:
            self._progress = _progress()
            self._task = self._progress.add_task("", total=total, left="")
            self._progress.start()
        assert self._task is not None
        self._progress.update(
            self._task,
            description=stage,
            completed=done,
            total=total,
            left=self._left(now, done, total),
        )

    def _left(self, now: float, done: float, total: float) -> str:
        if self._first is None or done <= self._first[1]:
            return ""
        seconds = round((now - self._first[0]) / (done - self._first[1]) * max(0.0, total - done))
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02} left"

    def hide(self) -> None:
        """Remove the bar from the screen, e.g. to print a line; the next update draws it again."""
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None
