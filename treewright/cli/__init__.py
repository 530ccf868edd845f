"""The command line: one module a verb, and in :mod:`~treewright.cli.tasks` one module a task.

Nothing here imports Numba or the library before a command needs it, so that ``--help`` answers at once.
"""

from treewright.cli.app import app, main

__all__ = ["app", "main"]
