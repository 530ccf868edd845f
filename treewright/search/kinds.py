"""Kinds: classes of plain functions, each with its own Numba type.

A kernel that calls ``scorer.kind.score(...)`` is compiled for the given kind, as it is compiled for a task: the type of
the kind selects the functions at compile time, and machine code is cached on disk under that type. In the interpreter
the same line reads an attribute of the class. The type carries a digest of the sources, so that an edit changes the key
under which machine code is found.

>>> class Doubling(Kind):
...     functions = ("apply",)
...
...     def apply(values):
...         for i in range(values.shape[0]):
...             values[i] += values[i]
>>> import numpy as np
>>> numbers = np.array([1, 2])
>>> Doubling().apply(numbers)
>>> numbers.tolist()
[2, 4]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar

from treewright.search.compiling import compiled, inlined, interpreted
from treewright.search.digest import code_digest
from treewright.search.native import Static

__all__ = ["Kind"]


class Kind(Static):
    """A class of plain functions, without ``self``, that kernels call on an object of it.

    ``functions`` names them. Those in ``allocating`` may allocate arrays; all others are compiled into their callers,
    without counting references.
    """

    functions: ClassVar[Sequence[str]] = ()
    allocating: ClassVar[Sequence[str]] = ()

    _key: ClassVar[Any]  # a function without arguments

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name in cls.functions:
            if isinstance(cls.__dict__.get(name), FunctionType):
                setattr(cls, name, staticmethod(cls.__dict__[name]))
        cls._key = staticmethod(cache(partial(_key, cls)))

    def static_key(self) -> tuple[str, str]:
        """The name of the class, and the digest of its functions and of all that they reach."""
        key: tuple[str, str] = self._key()
        return key

    def compiled_functions(self) -> dict[str, Any]:
        """The functions as compiled code calls them."""
        return {
            name: (compiled if name in self.allocating else inlined)(getattr(self, name)) for name in self.functions
        }

    def plain(self) -> Any:
        """An object with the same functions interpreted, together with the compiled helpers that they call."""
        return SimpleNamespace(**{name: _interpreted(getattr(self, name)) for name in self.functions})


_interpreted = cache(interpreted)


def _key(cls: type[Kind]) -> tuple[str, str]:
    """The key of a kind. It is computed on first use, when all helpers are defined."""
    functions = [getattr(cls, name) for name in cls.functions]
    return f"{cls.__module__}.{cls.__qualname__}", code_digest(*functions, sorted(cls.allocating))
