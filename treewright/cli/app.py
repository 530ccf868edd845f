"""The application: its commands, and ``main``."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer

from treewright.cli.outcomes import (
    EXIT_CODES,
    Commands,
    exit_code,
    finish_output,
    hear_signals,
    note,
    open_closed_streams,
)
from treewright.cli.settings import help_text
from treewright.cli.values import Command
from treewright.cli.verbs import VERBS

__all__ = ["app_for", "main", "make_app"]


def make_app(verbs: Iterable[str] = VERBS) -> typer.Typer:
    """The application with some of its commands. Only their modules are imported."""
    app = typer.Typer(
        name="treewright",
        cls=Commands,
        epilog=EXIT_CODES,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(treewright)
    for verb in verbs:
        module = import_module(f"treewright.cli.{VERBS[verb]}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            command = getattr(module, VERBS[verb])
            app.command(verb, cls=Command, help=help_text(command.__doc__))(command)
    return app


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The application for the arguments of a command line: with the command that they name, or else with all."""
    return make_app([arguments[0]] if arguments and arguments[0] in VERBS else VERBS)


def _print_version(wanted: bool) -> None:
    if wanted:
        from treewright import __version__

        typer.echo(f"treewright {__version__}")
        raise typer.Exit


def treewright(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            help="Import a module of your own first, from the current folder or as installed: its estimators are "
            "then known as module:Class.",
            metavar="MODULE",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Treewright: parsers that learn as apprentices.

    Examples:
      treewright demo
      echo "Don't stop him!" | treewright parse english
      treewright train pipeline train.conllu --dev dev.conllu --out language.tw
      treewright train tagging train.conllu --dev dev.conllu --out model.tw
      treewright evaluate model.tw test.conllu
      echo "Time flies ." | treewright parse model.tw
    """
    if modules:
        from importlib import import_module

        from treewright.errors import ConfigError

        sys.path.insert(0, os.getcwd())
        for module in modules:
            try:
                import_module(module)
            except ImportError as error:
                raise ConfigError(f"the module {module!r} cannot be imported: {error}") from None


def main() -> None:
    """Run the command line."""
    open_closed_streams()
    hear_signals()
    warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with suppress(OSError, ValueError):
                stream.reconfigure(errors="replace")  # a terminal that lacks a character shows a question mark
    try:
        app_for(sys.argv[1:])(prog_name="treewright")
    except SystemExit as end:
        code = finish_output(end.code if isinstance(end.code, int) else int(end.code is not None))
        _leave_the_compiler(code)
        if isinstance(end.code, str):
            raise
        sys.exit(code)
    except KeyboardInterrupt as error:  # while commands are imported
        note(str(error) or "interrupted")
        sys.exit(exit_code(error))


def _leave_the_compiler(code: int) -> None:
    """End the process at once if a thread still compiles, as after Ctrl-C or a signal: Python would wait for it."""
    if "treewright.search.threads" in sys.modules:
        from treewright.search.threads import is_compiling

        if is_compiling():
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)
