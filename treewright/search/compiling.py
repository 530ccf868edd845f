"""How functions are compiled: two decorators, and the way back to plain Python.

``@kernel`` marks what Python calls (a pass over a corpus): compiled on first use, kept on disk for the next
process, and run without the GIL. ``@compiled`` marks what kernels and tasks call. With ``NUMBA_DISABLE_JIT=1``
both leave the function as it is. :func:`interpreted` gives the plain Python twin of either.
"""

from __future__ import annotations

import types as python_types
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numba
from numba import config, njit
from numba.core.dispatcher import Dispatcher
from numba.extending import overload_method

internals: Any
try:
    from treewright.search import numba_internals as internals

    if not internals.supported():
        internals = None
except (ImportError, AttributeError):
    internals = None

__all__ = ["Methods", "compiled", "inlined", "interpreted", "kernel", "lean"]

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_WHOLE = {"nopython": True, "boundscheck": None, **_OPTIONS}
_warned = False


def compiled(function: Function) -> Function:
    """Compile a helper that tasks and kernels call. It becomes part of its callers, so it needs no cache."""
    return _helper(function, _nrt=True)


def inlined(function: Function) -> Function:
    """Compile a helper of the inner loop into its callers, without counting references, as :func:`lean` does.

    It saves the call, which costs much where dozens of arrays are arguments.
    """
    return _helper(function, _nrt=False, forceinline=True)


def lean(function: Function) -> Function:
    """Compile a helper that allocates no arrays: without counting references, which costs an atomic operation for each
    array argument.
    """
    return _helper(function, _nrt=False)


def _helper(function: Function, **options: bool) -> Function:
    if config.DISABLE_JIT:
        return function
    if internals is None:
        return cast(Function, njit(**options, **_OPTIONS)(function))
    return cast(Function, internals.Kernel(function, targetoptions={**_WHOLE, "forceinline": False, **options}))


def kernel(function: Function) -> Function:
    """Compile an entry point, cached across processes; where no folder can be written, uncached."""
    if config.DISABLE_JIT:
        return function
    if internals is None:
        _warn(
            f"this version of Numba ({numba.__version__}) is not known here, and so compiled code is not kept on disk; "
            "every process compiles again, which takes some seconds."
        )
        return cast(Function, njit(**_OPTIONS)(function))
    made = internals.Kernel(function, targetoptions=_WHOLE)
    try:
        made.enable_caching()
    except RuntimeError as error:  # Numba found no cache folder that it can write to
        _warn(
            f"compiled code cannot be kept on disk ({error}); every process compiles again, which takes some seconds. "
            "Set NUMBA_CACHE_DIR to a folder that can be written."
        )
    return cast(Function, made)


class Methods:
    """Functions that compiled code calls as methods of a Numba type: ``find(type, name)`` is what a call runs.

    ``find`` returns None for a name that is none. Where the private parts of Numba are not known, each name has to be
    declared before it is used.
    """

    def __init__(self, kind: type, find: Callable[[Any, str], Any]) -> None:
        self._kind, self._find, self._declared = kind, find, set[str]()
        if internals is not None:
            internals.give_methods(kind, find)

    def declare(self, names: Iterable[str]) -> None:
        """Say which names some objects of the type have."""
        if internals is None:
            for name in set(names) - self._declared:
                self._declared.add(name)
                self._overload(name)

    def _overload(self, name: str) -> None:
        @overload_method(self._kind, name)  # type: ignore[untyped-decorator]
        def resolve(value: Any, *arguments: Any) -> Any:
            function = self._find(value, name)

            def call(value: Any, *arguments: Any) -> Any:
                return function(*arguments)

            return call


def _warn(message: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(message, stacklevel=3)


def interpreted(function: Function, _done: dict[Any, Any] | None = None) -> Function:
    """The plain Python twin of a compiled function, together with everything compiled that it calls.

    >>> @compiled
    ... def double(n):
    ...     return n + n
    >>> interpreted(double)(21)
    42
    """
    done: dict[Any, Any] = {} if _done is None else _done
    plain = function.py_func if isinstance(function, Dispatcher) else function
    if plain in done:
        return cast(Function, done[plain])
    names = dict(plain.__globals__)
    cells = tuple(python_types.CellType() for _ in plain.__closure__ or ())
    twin = python_types.FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, cells)
    done[plain] = twin
    for cell, held in zip(cells, plain.__closure__ or (), strict=True):
        value = held.cell_contents
        cell.cell_contents = interpreted(value, done) if isinstance(value, Dispatcher) else value
    for name in _names(plain.__code__):
        value = names.get(name)
        if isinstance(value, Dispatcher):
            names[name] = interpreted(value, done)
        elif isinstance(value, python_types.ModuleType):
            names[name] = _PlainModule(value, done)
    return cast(Function, twin)


def _names(code: python_types.CodeType) -> list[str]:
    """The global names that a function uses, also in functions and comprehensions inside it."""
    inner = [name for part in code.co_consts if isinstance(part, python_types.CodeType) for name in _names(part)]
    return [*code.co_names, *inner]


class _PlainModule:
    """A module whose compiled functions are seen as plain Python: ``import helpers; helpers.f(...)``."""

    def __init__(self, module: python_types.ModuleType, done: dict[Any, Any]) -> None:
        self._module, self._done = module, done

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return interpreted(value, self._done) if isinstance(value, Dispatcher) else value
