"""The command line: one module per command, and in :mod:`~treewright.cli.tasks` one module per task.

Commands import the library only when they run, so that ``--help`` is immediate, and a command imports no other one.
"""

from treewright.cli.app import app_for, main, make_app

__all__ = ["app_for", "main", "make_app"]
