"""Errors that Treewright raises on purpose: one base class, messages written for people."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

__all__ = ["ConfigError", "CorpusError", "ModelError", "TaskError", "TraceError", "TreewrightError", "whole_number"]


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
        super().__init__(where + message)
        self.path, self.line = path, line


class ModelError(TreewrightError):
    """A model file is truncated, damaged, of a newer version, or not a model at all."""


class TaskError(TreewrightError):
    """A task (search space) breaks its contract, e.g. a ``step`` that does not advance."""


class TraceError(TreewrightError):
    """A trace holds a value that is not plain, or JSON that should be a trace is none."""


class ConfigError(TreewrightError):
    """A setting has a name or a value that cannot be used."""


def whole_number(name: str, value: Any, low: int, high: int = 2**31 - 1) -> int:
    """The value of a setting as a plain integer, or a :class:`ConfigError` that names the setting.

    >>> whole_number("seed", -1, 0)
    Traceback (most recent call last):
    treewright.errors.ConfigError: seed must be a whole number from 0 to 2147483647, not -1
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise ConfigError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return number
