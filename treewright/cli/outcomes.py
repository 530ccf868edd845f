"""The end of a command: errors become a message of one line and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from treewright.cli.values import Group
from treewright.cli.verbs import VERBS
from treewright.errors import ConfigError, TreewrightError

__all__ = [
    "BAD_INPUT",
    "BROKEN_PIPE",
    "EXIT_CODES",
    "INTERRUPTED",
    "TROUBLE",
    "Commands",
    "Terminated",
    "exit_code",
    "finish_output",
    "finished_otherwise",
    "hear_signals",
    "note",
    "open_closed_streams",
    "outcomes",
]

TROUBLE = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141

EXIT_CODES = """Exit codes:
    0  done
    1  a system error, such as a full disk, or a bug
    2  the command, a file or a setting is wrong
  130  interrupted (Ctrl-C); 129 and 143: by the signals HUP and TERM
  141  the reader of the output closed the pipe"""


class Commands(Group):
    """The group of all commands; their exceptions pass through :func:`outcomes`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of a typical session; new ones at the end."""
        names = super().list_commands(ctx)
        order = list(VERBS)
        return sorted(names, key=lambda name: order.index(name) if name in VERBS else len(order))

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the arguments; ``--help`` and ``--version`` print."""
        with outcomes():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with outcomes():
            return super().invoke(ctx)


class Terminated(KeyboardInterrupt):
    """A signal asks the process to end: it ends as after Ctrl-C, so that no temporary file is left."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.exit_code = 128 + number


def exit_code(interruption: KeyboardInterrupt) -> int:
    """The exit code after Ctrl-C, or after a signal."""
    return interruption.exit_code if isinstance(interruption, Terminated) else INTERRUPTED


def hear_signals() -> None:
    """Raise :class:`Terminated` on the signals that end a process by default. A second one ends it at once."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread receives signals
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, end)


def open_closed_streams() -> None:
    """Replace closed standard streams, so that their use raises an error of the system.

    Python sets closed streams to None, and other libraries would take the next opened file for the stream.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


@contextmanager
def outcomes() -> Iterator[None]:
    """Turn expected errors into a message and an exit code."""
    try:
        yield
    except TreewrightError as error:
        _fail(str(error), TROUBLE if isinstance(error.__cause__, OSError) else BAD_INPUT)
    except KeyboardInterrupt as error:
        note(str(error) or "interrupted")
        raise typer.Exit(exit_code(error)) from None
    except (MemoryError, RuntimeError, ImportError) as error:
        if not _lacks_memory(error):
            raise
        _fail(_NO_MEMORY, TROUBLE)
    except OSError as error:
        if _lacks_memory(error):
            _fail(_NO_MEMORY, TROUBLE)
        if error.errno == errno.EPIPE:
            _forget_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        where = f"{error.filename}: " if error.filename else ""
        _fail(where + (error.strerror or str(error)).lower(), TROUBLE)


_NO_MEMORY = "not enough memory: choose fewer --bits, a smaller corpus or fewer --jobs"
#: the messages of the system if it has no memory for a shared library or for the stack of a thread
_SIGNS = ("failed to map segment", "cannot allocate memory", "start new thread")


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether an error, or one of its causes, is about memory."""
    if error is None:
        return False
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    said = str(error).lower()
    return any(sign in said for sign in _SIGNS) or _lacks_memory(error.__cause__ or error.__context__)


def _fail(message: str, code: int) -> None:
    note(f"{typer.style('error:', fg='red', bold=True)} {message}")
    raise typer.Exit(code) from None


def finish_output(code: int) -> int:
    """Write the buffer of standard output. Return the exit code: ``code``, or another one if writing fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _forget_stdout()
        if code:
            return code
        if error.errno == errno.EPIPE:
            return BROKEN_PIPE
        note(f"{typer.style('error:', fg='red', bold=True)} {(error.strerror or str(error)).lower()}")
        return TROUBLE
    except ValueError:  # it was closed before
        pass
    return code


def note(message: str) -> None:
    """Print a message on stderr, apart from the results."""
    with suppress(OSError):
        typer.echo(message, err=True)


def _forget_stdout() -> None:
    """Redirect stdout, whose pipe is closed, so that its buffer is not written again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finished_otherwise(out: Path) -> ConfigError:
    """The error that a finished model cannot be resumed, because its training was another one."""
    return ConfigError(
        f"{out} is finished, and was trained with other data or settings: give the same ones, choose another --out, or "
        "train without --resume"
    )
