"""A digest of the code of a function and of everything that it can reach.

Machine code on disk is valid as long as its key stays the same, and the digest is part of the key. It covers the
bytecode of a function, the constants that it loads, and the values of its global and enclosing names: functions (with
everything that these reach), numbers, arrays, records, and the attributes of modules that it reads. It does not cover
comments, docstrings, line numbers, or names that no reachable function reads.

>>> def area(width, height=2):
...     return width * height
>>> def surface(width, height=2):
...     "The same code under another name, with a docstring."
...     return width * height
>>> code_digest(area) == code_digest(surface)
True
>>> def volume(width, height=2):
...     return width * height * width
>>> code_digest(area) == code_digest(volume)
False
"""

from __future__ import annotations

import builtins
import dis
import enum
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["code_digest", "is_foreign"]

# Their code changes only with their versions, which are part of the key on disk.
_FOREIGN = frozenset(sys.stdlib_module_names) - {"__main__"} | {"numpy", "numba", "llvmlite", "scipy"}
_CONSTANT, _GLOBAL, _EXTENDED = frozenset(dis.hasconst), dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]
_NAME = dis.opmap["LOAD_NAME"]
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)


def code_digest(*values: Any) -> str:
    """The digest of functions, compiled or not, and of all that they reach; other values count as they are."""
    return _Walk().digest(values)


class _Walk:
    """A walk through all functions that can be reached. Functions are numbered in the order in which they are met."""

    def __init__(self) -> None:
        self._number: dict[int, int] = {}
        self._functions: list[FunctionType] = []
        self._overloads = _overloads()

    def digest(self, values: tuple[Any, ...]) -> str:
        found = hashlib.sha256(repr([self._value(value) for value in values]).encode())
        for function in self._functions:  # it grows in the loop
            found.update(repr(self._function(function)).encode())
        return found.hexdigest()[:16]

    def _reference(self, function: FunctionType) -> tuple[Any, ...]:
        if is_foreign(function.__module__):
            return "foreign", function.__module__, function.__qualname__
        if id(function) not in self._number:
            self._number[id(function)] = len(self._functions)
            self._functions.append(function)
        return "function", self._number[id(function)]

    def _function(self, function: FunctionType) -> tuple[Any, ...]:
        code, names, attributes = _canonical(function.__code__)
        reached = [(name, self._global(function, name, attributes)) for name in names]
        held = [self._value(_content(cell), attributes) for cell in function.__closure__ or ()]
        defaults = self._value(function.__defaults__), self._value(function.__kwdefaults__)
        return code, reached, held, defaults, [self._value(twin) for twin in self._overloads.get(function, ())]

    def _global(self, function: FunctionType, name: str, attributes: frozenset[str]) -> Any:
        if name in function.__globals__:
            return self._value(function.__globals__[name], attributes)
        return "built in" if hasattr(builtins, name) else "not there"

    def _value(self, value: Any, attributes: frozenset[str] = frozenset()) -> Any:
        """The value of a name; of a module only the attributes that the function reads."""
        if isinstance(value, _CONSTANTS):
            return _constant(value)
        if isinstance(value, np.generic):
            return value.dtype.str, value.tobytes()
        if isinstance(value, np.ndarray):
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return "array", value.dtype.str, value.shape, value.flags.f_contiguous, value.flags.writeable, content
        if isinstance(value, (tuple, list)):
            return self._value(type(value)), [self._value(part, attributes) for part in value]
        if isinstance(value, dict):
            return "dict", [(self._value(k), self._value(v, attributes)) for k, v in value.items()]
        if isinstance(value, (set, frozenset)):
            return "set", sorted(repr(self._value(part)) for part in value)
        if isinstance(value, enum.Enum):
            return self._value(type(value)), value.name
        if isinstance(value, type):
            return self._type(value)
        if isinstance(value, ModuleType):
            return self._module(value, attributes)
        if isinstance(value, CodeType):
            return _canonical(value)[0]
        function = getattr(value, "py_func", None)  # a compiled function
        if isinstance(function, FunctionType):
            return "compiled", self._value(getattr(value, "targetoptions", None)), self._reference(function)
        if isinstance(value, FunctionType):
            return self._reference(value)
        function = getattr(value, "_defn", None)  # an intrinsic of Numba
        if isinstance(function, FunctionType):
            return "intrinsic", self._reference(function)
        if isinstance(value, BuiltinFunctionType):
            return "built in", value.__module__, value.__qualname__
        text = str(value) if is_foreign(type(value).__module__) else ""
        return "object", self._type(type(value)), "" if " at 0x" in text else text

    def _type(self, kind: type) -> tuple[Any, ...]:
        name = kind.__module__, kind.__qualname__
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return "record", *name, kind._fields, self._value(getattr(kind, "_field_defaults", None))
        if issubclass(kind, enum.Enum):
            return "enum", *name, [(member.name, self._value(member.value)) for member in kind]
        return "type", *name

    def _module(self, module: ModuleType, attributes: frozenset[str]) -> tuple[Any, ...]:
        if is_foreign(module.__name__):
            return "foreign", module.__name__
        read = [(name, vars(module)[name]) for name in sorted(attributes) if name in vars(module)]
        return "module", [(name, self._value(value, attributes)) for name, value in read]


@cache
def _canonical(code: CodeType) -> tuple[str, tuple[str, ...], frozenset[str]]:
    """A digest of code without its line numbers, the global names that it reads, and all names of attributes.

    A constant is included where it is loaded, because a docstring, which is never loaded, changes the indices of
    constants.
    """
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    parts: list[Any] = [counts, arguments, code.co_flags & 0xFFF, code.co_names, code.co_exceptiontable]
    names, attributes = {}, set(code.co_names)
    for operation, argument in _instructions(code.co_code):
        if operation not in _CONSTANT:
            parts.append((operation, argument))
            if operation in (_GLOBAL, _NAME):
                names[code.co_names[argument >> 1 if operation == _GLOBAL else argument]] = True
            continue
        constant = code.co_consts[argument]
        if isinstance(constant, CodeType):
            inner, read, others = _canonical(constant)
            names.update(dict.fromkeys(read, True))
            attributes |= others
            parts.append((operation, inner))
        else:
            parts.append((operation, _constant(constant)))
    return hashlib.sha256(repr(parts).encode()).hexdigest(), tuple(names), frozenset(attributes)


def _constant(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return "tuple", [_constant(part) for part in value]
    if isinstance(value, frozenset):
        return "set", sorted(repr(_constant(part)) for part in value)  # their order differs between processes
    return type(value).__name__, repr(value)


def _instructions(code: bytes) -> Iterator[tuple[int, int]]:
    higher = 0
    for operation, argument in zip(code[::2], code[1::2], strict=True):
        argument |= higher
        higher = argument << 8 if operation == _EXTENDED else 0
        if operation != _EXTENDED:
            yield operation, argument


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _overloads() -> dict[Any, list[FunctionType]]:
    """The replacements of plain functions in compiled code (Numba's ``@overload``).

    Our own are not included: :func:`treewright.search.compiling.overload` explains why. As long as Numba is not
    imported, there are no others.
    """
    if "numba" not in sys.modules:
        return {}
    try:
        from treewright.search.numba_internals import overloads
    except ImportError:  # an unknown version of Numba, with which nothing is kept on disk
        return {}
    return overloads()


def is_foreign(module: str | None) -> bool:
    """Return whether a module belongs to Python, NumPy or the compiler, and not to Treewright or the user."""
    return (module or "").partition(".")[0] in _FOREIGN
