"""The command line: one module per command, and in :mod:`~treewright.cli.tasks` one module per task.

Commands import Numba and the library only when they run, so that ``--help`` is immediate.
"""

from treewright.cli.app import app, main

__all__ = ["app", "main"]
