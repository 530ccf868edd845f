"""What compiled code depends on, as one short digest.

Numba's disk cache notices a change in the file of the cached function only. A pass of the engine also runs the
task's functions, the helpers that those import, and the other files of the engine; the digest of all of them is part
of the task's type, and so of the cache key: an edit anywhere makes the new code run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

__all__ = ["engine_digest", "source_digest"]

_PACKAGE = Path(__file__).resolve().parent.parent
_ENGINE_ROOMS = ("search", "policies", "learners")
# a file of ours without these has nothing to do with compiled code
_MARKS = (b"\n@kernel", b"\n@compiled", b"\n@inlined", b"\n@lean", b"njit(", b"overload_method(", b"@overload(")


@cache
def engine_digest() -> str:
    """The digest of every file of the engine that holds compiled code."""
    files = [file for room in _ENGINE_ROOMS for file in sorted((_PACKAGE / room).rglob("*.py"))]
    return _sha(text for text in (file.read_bytes() for file in files) if any(mark in text for mark in _MARKS))


def source_digest(functions: Iterable[FunctionType]) -> str:
    """The digest of the engine, of the modules that define these functions, and of what those modules import."""
    functions = _with_held(functions)
    seen: dict[str, ModuleType] = {}
    queue = [sys.modules[function.__module__] for function in functions if function.__module__ in sys.modules]
    while queue:
        module = queue.pop()
        if module.__name__ not in seen and _is_source(module):
            seen[module.__name__] = module
            if not _is_installed(module):
                queue.extend(_imports(module))
    parts = [engine_digest().encode()]
    for name in sorted(seen):
        file = Path(str(seen[name].__file__))
        parts.append(file.read_bytes())
        parts.append(repr(sorted(_constants(seen[name]))).encode())
    for function in functions:  # one file can make several classes of one name, and a notebook has no file
        values = [value for value in _held(function) if not isinstance(value, (Dispatcher, FunctionType))]
        parts.append(repr((_code(function.__code__), values)).encode())
    return _sha(parts)


def _with_held(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """The functions, and those that they hold in their closures."""
    found: dict[FunctionType, None] = {}
    queue: list[Any] = list(functions)
    while queue:
        given = queue.pop(0)
        function: FunctionType = given.py_func if isinstance(given, Dispatcher) else given
        if function not in found:
            found[function] = None
            queue.extend(value for value in _held(function) if isinstance(value, (Dispatcher, FunctionType)))
    return list(found)


def _held(function: FunctionType) -> list[Any]:
    """The values in a function's closure."""
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _sha(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:16]


def _is_source(module: ModuleType) -> bool:
    """Is this a file whose edits can change a task (not the standard library, NumPy or Numba)?"""
    top = module.__name__.partition(".")[0]
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py") or not Path(file).is_file():
        return False
    if top in sys.stdlib_module_names and top != "__main__":
        return False
    if top == "treewright":
        return any(mark in Path(file).read_bytes() for mark in (*_MARKS, b"(Task)"))
    return top not in ("numpy", "numba", "llvmlite", "scipy")


def _is_installed(module: ModuleType) -> bool:
    return "site-packages" in str(module.__file__) and not module.__name__.startswith("treewright.")


def _imports(module: ModuleType) -> Iterator[ModuleType]:
    for value in vars(module).values():
        if isinstance(value, ModuleType):
            yield value
        else:
            home = getattr(value.py_func if isinstance(value, Dispatcher) else value, "__module__", None)
            if isinstance(home, str) and home in sys.modules:
                yield sys.modules[home]


def _constants(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Constants that may come from another module: compiled code holds their values."""
    for name, value in vars(module).items():
        if not name.startswith("__"):
            if isinstance(value, (bool, int, float, str, bytes, tuple, np.generic)):
                yield name, repr(value)
            elif isinstance(value, np.ndarray):
                yield name, _sha([np.ascontiguousarray(value).tobytes(), repr(value.shape).encode()])


def _code(code: CodeType) -> tuple[Any, ...]:
    constants = [_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return code.co_code, code.co_names, constants
