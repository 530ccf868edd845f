"""Named tuple classes, made on demand, that Numba can find in another process.

Numba keys its disk cache by the types of the arguments; a named tuple's class must therefore be importable by
name. The name of a record class contains its fields (``Record__position__labels``), so this module can make the class
on demand, also for the cache of another process.

>>> State = record(("position", "labels"))
>>> State(1, 2).labels
2
>>> record(("position", "labels")) is State
True
"""

from __future__ import annotations

import keyword
import sys
from collections import namedtuple
from functools import cache
from typing import Any

from treewright.errors import TaskError

__all__ = ["record"]


@cache
def record(fields: tuple[str, ...]) -> Any:
    """The named tuple class with these fields."""
    for field in fields:
        if not field.isidentifier() or keyword.iskeyword(field) or "__" in field or field != field.strip("_"):
            raise TaskError(
                f"{field!r} cannot be the name of a field: use a plain name, with single underscores only inside it"
            )
    name = "Record__" + "__".join(fields)
    made = namedtuple(name, fields)  # type: ignore[misc]
    made.__module__ = __name__
    setattr(sys.modules[__name__], name, made)
    return made


def __getattr__(name: str) -> Any:
    if name.startswith("Record__"):
        return record(tuple(name.removeprefix("Record__").split("__")))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
