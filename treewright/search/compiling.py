"""How functions are compiled: two decorators, and the way back to plain Python.

``@kernel`` marks what Python calls (a pass over a corpus): compiled on first use, kept on disk for the next
process, and run without the GIL. ``@compiled`` marks what kernels and tasks call. With ``NUMBA_DISABLE_JIT=1``
both leave the function as it is. :func:`interpreted` gives the plain Python twin of either.
"""

from __future__ import annotations

import types as python_types
import uuid
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.dispatcher import Dispatcher

__all__ = ["compiled", "inlined", "interpreted", "kernel", "lean"]

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_warned = False


def compiled(function: Function) -> Function:
    """Compile a helper that tasks and kernels call. It ends up inside its callers, so it needs no cache."""
    return cast(Function, njit(_nrt=True, **_OPTIONS)(function))


def inlined(function: Function) -> Function:
    """Compile a helper into its callers: for the inner loop, where handing over dozens of arrays costs much."""
    return cast(Function, njit(forceinline=True, _nrt=False, **_OPTIONS)(function))


def lean(function: Function) -> Function:
    """Compile a helper that makes no arrays of its own: without counting references, which costs an atomic operation
    for each array that is handed over.
    """
    return cast(Function, njit(_nrt=False, **_OPTIONS)(function))


def kernel(function: Function) -> Function:
    """Compile an entry point, cached across processes; where no folder can be written, uncached."""
    global _warned
    try:
        return cast(Function, _with_own_files(njit(cache=True, **_OPTIONS)(function)))
    except RuntimeError as error:  # Numba found no cache folder that it can write to
        if not _warned:
            _warned = True
            warnings.warn(
                f"compiled code cannot be kept on disk ({error}); every process will compile anew, which takes "
                "some seconds. Set NUMBA_CACHE_DIR to a folder that can be written.",
                stacklevel=2,
            )
        return cast(Function, njit(**_OPTIONS)(function))


def _with_own_files(dispatcher: Any) -> Any:
    """Let every compiled variant have a file of its own in the cache.

    Numba numbers these files. Two processes that compile at the same time can choose the same number, and then one of
    them finds the other's code in its place, which ends in a crash. Names that never repeat cannot be confused.
    """
    files: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    name = getattr(files, "_data_name", None)
    if name is not None:
        files._data_name = lambda number: name(uuid.uuid4().int)
        files._load_index = _forgiving(files._load_index)
    return dispatcher


def _forgiving(load: Callable[[], Any]) -> Callable[[], Any]:
    """An index that names what is no longer there, as after an update, is as good as none: it is written anew."""

    def load_or_begin_anew() -> Any:
        try:
            return load()
        except (AttributeError, ImportError, EOFError, ValueError):
            return {}

    return load_or_begin_anew


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
    twin = python_types.FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__)
    done[plain] = twin
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
