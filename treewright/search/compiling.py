"""Decorators that compile functions, and their interpreted counterparts.

``@kernel`` marks functions that Python calls, such as a pass over a corpus. They are compiled on first use, cached on
disk for the next process, and run without the GIL. ``@compiled`` marks functions that kernels and tasks call. With
``NUMBA_DISABLE_JIT=1`` both return the function unchanged. :func:`interpreted` returns the plain Python version of
either.

Numba is imported only when something must be compiled: a process that finds all its kernels on disk
(:mod:`treewright.search.native`) does not import it. For a few words, compiling takes longer than interpreting. So
:func:`at_once` interprets kernels that are not compiled yet, unless ``TREEWRIGHT_COMPILE=now`` is set. On the command
line another process compiles them meanwhile, unless ``TREEWRIGHT_COMPILE=later`` is set.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import types as python_types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from typing import Any, TypeVar, cast

from treewright.garbage import uncollected
from treewright.search import native
from treewright.search.digest import code_digest, is_foreign

__all__ = [
    "CompiledFunction",
    "at_once",
    "compilations",
    "compiled",
    "in_bulk",
    "inlined",
    "interpreted",
    "is_compiler_error",
    "is_disabled",
    "kernel",
    "lean",
    "numba_internals",
    "overload",
]

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_WHOLE = {"nopython": True, "boundscheck": None, **_OPTIONS}
_lock = threading.RLock()  # one compilation at a time
_ROOM_TO_COMPILE = 256 << 20  # bytes; what a large kernel needs

MOST_INTERPRETED = 100
"""The number of words that a process interprets before it compiles: a few seconds, where compiling takes ten."""

#: Whether kernels that are not compiled yet are interpreted; None outside of :func:`at_once`. Threads that run shards
#: of a corpus get a copy of the context (:func:`treewright.search.running.run_shards`).
_interpreting: ContextVar[bool | None] = ContextVar("interpreting", default=None)


def is_disabled() -> bool:
    """Return whether compilation is off (``NUMBA_DISABLE_JIT=1``)."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")


def is_compiler_error(error: BaseException) -> bool:
    """Return whether an exception is the compiler's rejection of some code."""
    if "numba" not in sys.modules:
        return False
    from numba.core.errors import NumbaError

    return isinstance(error, NumbaError)


def compiled(function: Function) -> Function:
    """Compile a helper that tasks and kernels call. It becomes part of its callers, so it needs no cache."""
    return _decorated(CompiledFunction, function, _nrt=True, forceinline=False)


def inlined(function: Function) -> Function:
    """Compile a helper of the inner loop into its callers, without counting references, as :func:`lean` does.

    It saves the call, which is expensive with dozens of array arguments.
    """
    return _decorated(CompiledFunction, function, _nrt=False, forceinline=True)


def lean(function: Function) -> Function:
    """Compile a helper that allocates no arrays: without counting references, which costs an atomic operation for each
    array argument.
    """
    return _decorated(CompiledFunction, function, _nrt=False, forceinline=False)


def kernel(function: Function) -> Function:
    """Compile an entry point, cached across processes if a cache folder is writable."""
    return _decorated(Kernel, function)


def _decorated(kind: type[CompiledFunction], function: Function, **options: bool) -> Function:
    return function if is_disabled() else cast(Function, kind(function, **options))


class CompiledFunction:
    """A function that is compiled when it is called, by compiled code or by Python."""

    def __init__(self, function: Callable[..., Any], **options: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.bulk: Callable[..., Any] | None = None  # what the interpreter runs instead, see in_bulk
        self.targetoptions = {**_WHOLE, **options}

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object for this function."""
        internals = numba_internals()
        if internals is None:
            from numba import njit

            options = {name: value for name, value in self.targetoptions.items() if name != "nopython"}
            return njit(**options)(self.py_func)
        return internals.KernelDispatcher(self.py_func, targetoptions=self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compile the function for Python, and call it; interpret it where nothing is compiled."""
        if "dispatcher" in self.__dict__ and self.dispatcher.overloads:
            return self.dispatcher(*arguments, **named)
        if _interpreting.get():
            return self._interpreted(*_plain(arguments), **named)
        with compilations.recorded():
            return self.dispatcher(*arguments, **named)

    @cached_property
    def _interpreted(self) -> Callable[..., Any]:
        return interpreted(self)


class Kernel(CompiledFunction):
    """A function that Python calls, with machine code on disk: one file for each layout of the arguments."""

    def __init__(self, function: Callable[..., Any], **options: bool) -> None:
        super().__init__(function, **options)
        self._variants: dict[tuple[Any, ...], native.NativeCode] = {}  # by the key of a layout
        self._memory_only: set[tuple[Any, ...]] = (
            set()
        )  # layouts whose code cannot be stored in a file: Numba keeps it in memory
        self._signature = inspect.signature(function)

    @cached_property
    def digest(self) -> str:
        """The digest of this function and of all code that it can reach, computed on first use."""
        return code_digest(self)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the machine code for arguments like these, from memory, from disk, or compiled now."""
        if named or len(arguments) < len(self._signature.parameters):
            bound = self._signature.bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        packed = native.pack(arguments)
        if packed is None:  # an argument that has no place in the table
            return super().__call__(*arguments)
        key, cells = packed
        code = self._variants.get(key) or self._find(key, arguments)
        if code is None and _interpreting.get():
            work.interpreted = True
            return self._interpreted(*_plain(arguments))
        code = code or self._compile(key, arguments)
        if code is None:
            return super().__call__(*arguments)
        try:
            return code(cells)
        except native.Stopped:
            super().__call__(*arguments)  # which raises the same exception, now in Python
            # it does not: what was missing was memory, and arrays have been changed twice
            raise MemoryError(f"not enough memory in {self._name}") from None

    def is_ready(self, *arguments: Any) -> bool:
        """Return whether there is machine code for arguments like these, so that no compilation is needed."""
        packed = native.pack(arguments)
        return packed is not None and self._find(packed[0], arguments) is not None

    def _find(self, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> native.NativeCode | None:
        """The code for arguments like these, from memory or from disk."""
        with _lock:
            known = key in self._variants or key in self._memory_only
            layout = None if known else native.describe(arguments)
            code = None if layout is None else native.find(self._name, self.digest, layout)
            if code is not None:
                self._variants[key] = code
            return self._variants.get(key)

    def _compile(self, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> native.NativeCode | None:
        """Compile, load and keep the code; None where this Numba or the type of a value does not allow it."""
        with _lock:
            layout = native.describe(arguments)
            if key in self._variants or key in self._memory_only or layout is None:
                return self._variants.get(key)
            native.ensure_memory(_ROOM_TO_COMPILE)
            with compilations.recorded():
                internals = numba_internals()
                code = None if internals is None else internals.object_code(self.dispatcher, arguments)
            if code is None:
                self._memory_only.add(key)
                return None
            native.keep(self._name, self.digest, layout, code)
            self._variants[key] = made = native.NativeCode(code)
            return made

    @property
    def _name(self) -> str:
        module, name = self.py_func.__module__.removeprefix("treewright."), self.py_func.__qualname__
        return f"{module}.{name}".replace("<locals>.", "").replace("<", "").replace(">", "")


def _plain(arguments: tuple[Any, ...]) -> Iterator[Any]:
    """The arguments of an interpreted kernel: tasks and kinds with interpreted functions."""
    for value in arguments:
        if isinstance(value, native.Static):
            yield value.plain()
        elif isinstance(value, tuple):
            yield type(value)(*_plain(value)) if hasattr(value, "_fields") else tuple(_plain(value))
        else:
            yield value


class _Work:
    """A record of what this process has interpreted."""

    def __init__(self) -> None:
        self.words = 0  # in calls that might have been interpreted
        self.interpreted = False  # whether a kernel was


work = _Work()


@contextmanager
def at_once(words: int) -> Iterator[None]:
    """Within the block, interpret kernels that are not compiled yet, if it processes only a few words.

    The outermost of such blocks decides. ``at_once(0)`` is for work that is never worth a compilation, such as a trace
    of one sentence, or the tables of a model that is loaded: it is interpreted after many words, too.
    """
    if _interpreting.get() is not None:
        yield
        return
    work.words += words
    few = (words == 0 or work.words <= MOST_INTERPRETED) and os.environ.get("TREEWRIGHT_COMPILE") != "now"
    token = _interpreting.set(few)
    try:
        yield
    finally:
        _interpreting.reset(token)


def in_bulk(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Define what the interpreter runs instead of a compiled function: operations on whole arrays instead of loops.

    The result must be the same to the bit. The first argument is the loops, for cases that are left to them. Without
    the compiler (``NUMBA_DISABLE_JIT=1``) the loops run themselves.
    """

    def register(bulk: Function) -> Function:
        if isinstance(function, CompiledFunction):
            function.bulk = bulk
        return bulk

    return register


class _Compilations:
    """Listeners for compilations: they are called with True at the beginning and False at the end."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[bool], None]] = []
        self.count = 0

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Announce a compilation at the beginning and the end of the block.

        The compiler makes a million objects that stay; garbage collection would take a tenth of the time.
        """
        self.count += 1
        for listener in list(self.listeners):
            listener(True)
        try:
            with uncollected():
                yield
        finally:
            self.count -= 1
            for listener in list(self.listeners):
                listener(False)


compilations = _Compilations()

_overloads: list[tuple[Any, dict[str, Any], Callable[..., Any]]] = []


def overload(function: Callable[..., Any], **options: Any) -> Callable[[Function], Function]:
    """Define what compiled code runs instead of a function, as ``numba.extending.overload`` does, but lazily.

    The digest of a caller covers ``function`` and not its replacement, so both must reach the same code.
    """

    def register(choose: Function) -> Function:
        with _lock:
            _overloads.append((function, options, choose))
            if numba_internals.cache_info().currsize:
                _register_overloads()
        return choose

    return register


def _register_overloads() -> None:
    from numba.extending import overload as register

    while _overloads:
        function, options, choose = _overloads.pop(0)
        register(function, **options)(choose)


@cache
def numba_internals() -> Any:
    """Our subclasses of Numba's classes, or None for an unknown version of Numba."""
    from treewright.search import intrinsics  # noqa: F401 # registers replacements of functions in compiled code

    _register_overloads()
    try:
        from treewright.search import numba_internals as internals

        if internals.supported():
            return internals
    except (ImportError, AttributeError):
        pass
    import numba

    warnings.warn(
        f"this version of Numba ({numba.__version__}) is not known here, and so compiled code is not kept on disk; "
        "every process compiles again, which takes some seconds.",
        stacklevel=3,
    )
    return None


def interpreted(function: Function, _done: dict[Any, Any] | None = None) -> Function:
    """The plain Python version of a function, including all compiled functions that it calls, :func:`in_bulk` or not.

    >>> @compiled
    ... def double(n):
    ...     return n + n
    >>> interpreted(double)(21)
    42
    """
    done: dict[Any, Any] = {} if _done is None else _done
    plain, bulk = (function.py_func, function.bulk) if isinstance(function, CompiledFunction) else (function, None)
    if plain in done:
        return cast(Function, done[plain])
    names = dict(plain.__globals__)
    cells = tuple(python_types.CellType() for _ in plain.__closure__ or ())
    twin = python_types.FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, cells)
    done[plain] = twin if bulk is None else functools.partial(interpreted(bulk, done), twin)
    for cell, held in zip(cells, plain.__closure__ or (), strict=True):
        cell.cell_contents = _twin(held.cell_contents, done)
    for name in _names(plain.__code__):
        if name in names:
            names[name] = _twin(names[name], done)
    return cast(Function, done[plain])


def _twin(value: Any, done: dict[Any, Any]) -> Any:
    """The value of a name in an interpreted function."""
    if isinstance(value, CompiledFunction):
        return interpreted(value, done)
    if isinstance(value, python_types.FunctionType) and not is_foreign(value.__module__):
        return interpreted(value, done)  # it may call compiled functions
    if isinstance(value, python_types.ModuleType) and not is_foreign(value.__name__):
        return _PlainModule(value, done)
    return value


def _names(code: python_types.CodeType) -> list[str]:
    """The global names that a function uses, also in functions and comprehensions inside it."""
    inner = [name for part in code.co_consts if isinstance(part, python_types.CodeType) for name in _names(part)]
    return [*code.co_names, *inner]


class _PlainModule:
    """A module whose compiled functions are seen as plain Python: ``import helpers; helpers.f(...)``."""

    def __init__(self, module: python_types.ModuleType, done: dict[Any, Any]) -> None:
        self._module, self._done = module, done

    def __getattr__(self, name: str) -> Any:
        return _twin(getattr(self._module, name), self._done)
