"""The ends of commands: errors become one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from treewright.cli.verbs import VERBS
from treewright.errors import TreewrightError

__all__ = [
    "BAD_INPUT",
    "BROKEN_PIPE",
    "EXIT_CODES",
    "INTERRUPTED",
    "TROUBLE",
    "Commands",
    "note",
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
  130  interrupted (Ctrl-C)
  141  the reader of the output closed the pipe"""


class Commands(TyperGroup):
    """The group of all commands; their exceptions pass through :func:`outcomes`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of a typical session; new ones at the end."""
        names = super().list_commands(ctx)
        order = list(VERBS)
        return sorted(names, key=lambda name: order.index(name) if name in VERBS else len(order))

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with outcomes():
            return super().invoke(ctx)


@contextmanager
def outcomes() -> Iterator[None]:
    """Turn expected errors into a message and an exit code."""
    try:
        yield
    except TreewrightError as error:
        _fail(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        note("interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except MemoryError:
        _fail("not enough memory: choose fewer --bits, a smaller corpus or fewer --jobs", TROUBLE)
    except OSError as error:
        if error.errno == errno.EPIPE:
            _forget_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        where = f"{error.filename}: " if error.filename else ""
        _fail(where + (error.strerror or str(error)).lower(), TROUBLE)


def _fail(message: str, code: int) -> None:
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {message}", err=True)
    raise typer.Exit(code) from None


def note(message: str) -> None:
    """Print a message on stderr, apart from the results."""
    with suppress(OSError):
        typer.echo(message, err=True)


def _forget_stdout() -> None:
    """Redirect stdout, whose pipe is closed, so that its buffer is not written again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
