"""Errors that Treewright raises on purpose: one base class, messages written for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["ConfigError", "CorpusError", "ModelError", "TaskError", "TraceError", "TreewrightError"]


_LONGEST = 1_500  # characters of a message: what it quotes from a file may be of any length


def _readable(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[:1000]} … {message[-300:]}"


class TreewrightError(Exception):
    """Base class: catch this to catch every error that Treewright raises on purpose.

    The message says what was wrong, where, and what to do. The command line prints it without a traceback.
    """


class CorpusError(TreewrightError):
    """A corpus file (or a sentence in memory) is not what was expected.

    >>> str(CorpusError("10 columns expected, 3 found", path="train.conllu", line=12))
    'train.conllu:12: 10 columns expected, 3 found'
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        where = "" if path is None else str(path) + ("" if line is None else f":{line}") + ": "
        super().__init__(where + _readable(message))
        self.path, self.line = path, line


class ModelError(TreewrightError):
    """A model file is truncated, damaged, of a newer version, or not a model at all."""


class TaskError(TreewrightError):
    """A task (search space) breaks its contract, e.g. a ``step`` that does not advance."""


class TraceError(TreewrightError):
    """A trace holds a value that is not plain, or JSON that should be a trace is none."""


class ConfigError(TreewrightError):
    """A setting has a name or a value that cannot be used.

    Where one setting is to blame, ``setting`` is its name and ``value`` its value, and the message is the name followed
    by the ``problem``. So a caller that has another name for the setting, such as an option, can tell the same problem:

    >>> error = ConfigError("must be at least 1, not 0", setting="passes", value=0)
    >>> str(error)
    'passes must be at least 1, not 0'
    >>> f"--{error.setting} {error.problem}"
    '--passes must be at least 1, not 0'
    """

    def __init__(self, problem: str, *, setting: str | None = None, value: Any = None) -> None:
        problem = _readable(problem)
        super().__init__(problem if setting is None else f"{setting} {problem}")
        self.problem, self.setting, self.value = problem, setting, value
