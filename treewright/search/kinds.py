"""Kinds: classes of plain functions with a Numba type of their own.

A kernel that calls ``scorer.kind.score(...)`` is compiled for the kind that it is given, as it is compiled for a task:
the type of the kind chooses the functions at compile time, and machine code is kept on disk under that type. In the
interpreter the same line reads an attribute of the class. The type carries a digest of the sources, so that an edit
changes the key under which machine code is found.

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

from collections.abc import Callable, Sequence
from functools import cache, partial
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar

from numba import types
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from treewright.search.compiling import Methods, compiled, inlined, interpreted
from treewright.search.digest import code_digest

__all__ = ["Kind"]


class Kind:
    """A class of plain functions, without ``self``, that kernels call on an object of it.

    ``functions`` names them. Those in ``allocating`` may allocate arrays; all others are compiled into their callers,
    without counting references.
    """

    functions: ClassVar[Sequence[str]] = ()
    allocating: ClassVar[Sequence[str]] = ()

    _numba_type: ClassVar[Any]  # a function without arguments

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name in cls.functions:
            if isinstance(cls.__dict__.get(name), FunctionType):
                setattr(cls, name, staticmethod(cls.__dict__[name]))
        cls._numba_type = staticmethod(cache(partial(_numba_type, cls)))

    def plain(self) -> Any:
        """An object with the same functions interpreted, together with the compiled helpers that they call."""
        return SimpleNamespace(**{name: _interpreted(getattr(self, name)) for name in self.functions})


_interpreted = cache(interpreted)


def _numba_type(cls: type[Kind]) -> KindType:
    """The type of a kind in compiled code. It is made when it is first asked for: by then all helpers are defined."""
    functions = {name: getattr(cls, name) for name in cls.functions}
    made = KindType(f"{cls.__module__}.{cls.__qualname__}", code_digest(*functions.values()), tuple(cls.allocating))
    _FUNCTIONS[made.key] = functions
    _methods.declare(functions)
    return made


class KindType(types.Type):  # type: ignore[misc]
    """The Numba type of a kind: its name and digest are the key of the cache."""

    def __init__(self, name: str, digest: str, allocating: tuple[str, ...]) -> None:
        self.kind_name, self.digest, self.allocating = name, digest, allocating
        super().__init__(name=f"Kind({name}:{digest}:{allocating})")

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """What makes two types the same."""
        return self.kind_name, self.digest, self.allocating


register_model(KindType)(models.OpaqueModel)

_FUNCTIONS: dict[tuple[str, str, tuple[str, ...]], dict[str, Callable[..., Any]]] = {}
_COMPILED: dict[tuple[Any, str], Any] = {}


@typeof_impl.register(Kind)  # type: ignore[untyped-decorator]
def _typeof(kind: Kind, context: Any) -> Any:
    return kind._numba_type()


@unbox(KindType)  # type: ignore[untyped-decorator]
def _unbox(typ: KindType, obj: Any, context: Any) -> Any:
    return NativeValue(context.context.get_dummy_value())


def _find(kind: KindType, name: str) -> Any:
    """A function of a kind, as compiled code calls it."""
    function = _FUNCTIONS[kind.key].get(name)
    if function is not None and (kind.key, name) not in _COMPILED:
        compile = compiled if name in kind.allocating else inlined
        _COMPILED[kind.key, name] = compile(function)
    return _COMPILED.get((kind.key, name))


_methods = Methods(KindType, _find)
