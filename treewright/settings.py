"""Settings: what estimators, learners and updates can be told."""

from __future__ import annotations

import operator
from typing import Any

from treewright.errors import ConfigError

__all__ = ["whole_number"]


def whole_number(name: str, value: Any, low: int, high: int = 2**31 - 1) -> int:
    """Return the value of a setting as a plain integer, or raise a :class:`ConfigError` that names the setting.

    >>> whole_number("seed", -1, 0)
    Traceback (most recent call last):
    treewright.errors.ConfigError: seed must be a whole number from 0 to 2147483647, not -1
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise ConfigError(f"must be a whole number from {low} to {high}, not {value!r}", setting=name, value=value)
    return number
