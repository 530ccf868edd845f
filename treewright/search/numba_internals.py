"""The one module that uses private parts of Numba: classes of our own below Numba's, and no change to Numba itself.

What is used, and why:

* ``Dispatcher`` and ``_FunctionCompiler``: a kernel is compiled into a code library of our own, which
  ``compile_extra`` takes as its argument ``library``.
* ``JITCodeLibrary`` (``add_llvm_module``, ``_optimize_final_module``): all functions that a kernel calls become
  private to its machine code. Numba exports them under names that differ by a counter of the process only. Code that
  two processes have kept on disk can then hold two functions of one name; a process that loads both links one of
  them into both kernels, and runs the wrong code.
* ``Compiler._compile_bytecode`` and ``FunctionIdentity.unique_id``: the names of compiled functions contain the digest
  of their code, which makes them differ also where the counters of two processes agree.
* ``FunctionCache``, ``CompileResultCacheImpl``, ``IndexDataCacheFile`` (``_index_key``, ``get_filename_base``,
  ``_data_name``, ``_load_index``, ``_save_index``, ``save``): machine code on disk is found by the digest of the code
  that it was made of, instead of by its place in a file and the time stamp of that file. Each compiled variant has
  a file name of its own, and an index that cannot be read counts as empty.
* ``builtin_registry``: where ``@overload`` registers the functions that replace others in compiled code.

:func:`supported` checks that the installed Numba has these parts. :mod:`treewright.search.compiling` falls back to
Numba's own decorators where it does not.
"""

from __future__ import annotations

import inspect
import sys
import uuid
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numpy as np
from numba.core import compiler
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.typing.templates import builtin_registry

from treewright.search.digest import code_digest

__all__ = ["Kernel", "overloads", "supported"]

# An index that was written with other versions is not read; Numba adds its own version. The first number counts changes
# of this module that make other machine code.
_VERSIONS = (1, llvmlite.__version__, np.__version__)
_MOST_VARIANTS = 256  # of one kernel on disk; the oldest ones are removed


def supported() -> bool:
    """Say whether the installed Numba has the private parts that this module builds on."""
    library = {"add_llvm_module", "_optimize_final_module", "finalize"}
    files = {"_data_name", "_load_index", "_save_index", "save", "load"}
    return (
        library <= set(dir(JITCodeLibrary))
        and files <= set(dir(IndexDataCacheFile))
        and {"library", "pipeline_class"} <= set(inspect.signature(compiler.compile_extra).parameters)
        and list(inspect.signature(IndexDataCacheFile).parameters) == ["cache_path", "filename_base", "source_stamp"]
        and hasattr(_FunctionCompiler, "_compile_core")
        and hasattr(compiler.Compiler, "_compile_bytecode")
        and hasattr(FunctionIdentity.from_function(supported), "unique_id")
        and {"_index_key", "_impl_class"} <= set(dir(FunctionCache))
        and hasattr(CompileResultCacheImpl, "get_filename_base")
        and hasattr(builtin_registry, "globals")
    )


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel and of all that it calls; only the kernel itself can be seen from outside."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._exported: set[str] = set()

    def add_llvm_module(self, module: Any) -> None:
        """Add the code of the kernel, or of a wrapper through which Python calls it."""
        self._exported.update(function.name for function in module.functions if not function.is_declaration)
        super().add_llvm_module(module)

    def _optimize_final_module(self) -> None:
        late = {variable.name for variable in self._final_module.global_variables}
        for function in self._final_module.functions:
            # Functions that call each other in a circle find each other by name when the code is loaded.
            if not (
                function.is_declaration
                or function.name in self._exported
                or self._codegen._rtlinker.PREFIX + function.name in late
            ):
                function.linkage = "internal"
        super()._optimize_final_module()


class _KernelCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a kernel into a library of our own."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        context = self.targetdescr.target_context
        context.refresh()
        library = KernelLibrary(context.codegen(), self.py_func.__qualname__)
        library.enable_object_caching()
        return compiler.compile_extra(
            self.targetdescr.typing_context,
            context,
            self.py_func,
            args=args,
            return_type=return_type,
            flags=flags,
            locals=self.locals,
            library=library,
            pipeline_class=self.pipeline_class,
        )


class _Pipeline(compiler.Compiler):  # type: ignore[misc]
    """Numba's pipeline; the name of what is compiled contains the digest of its code."""

    def _compile_bytecode(self) -> Any:
        identity = self.state.func_id
        identity.unique_id = f"{identity.unique_id}_{code_digest(identity.func)}"
        return super()._compile_bytecode()


class KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel: an index, and one file for each compiled variant."""

    #: whether all variants are of one function, so that another digest means an older version of it
    one_function = True

    def save(self, key: Any, data: Any) -> None:
        """Save a variant, and remove variants of older versions of the code (``key`` ends with the digest)."""
        variants = self._load_index()
        kept = {other: name for other, name in variants.items() if other[-1] == key[-1] or not self.one_function}
        kept = dict(list(kept.items())[1 - _MOST_VARIANTS :])
        if len(kept) < len(variants):
            self._save_index(kept)
            for name in set(variants.values()) - set(kept.values()):
                Path(self._data_path(name)).unlink(missing_ok=True)
        super().save(key, data)

    def _data_name(self, number: int) -> str:
        """A name that never repeats.

        Numba numbers these files. Two processes that compile at the same time can choose the same number; one of them
        then finds the other's code in its place, which ends in a crash.
        """
        return str(super()._data_name(uuid.uuid4().int))

    def _load_index(self) -> Any:
        """The index; empty where it names what is no longer there, as after an update."""
        try:
            return super()._load_index()
        except (AttributeError, ImportError, EOFError, ValueError):
            return {}


class _KernelFormat(CompileResultCacheImpl):  # type: ignore[misc]
    """How a compiled variant is written; the line of the function is not part of the file name."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        name = fullname.replace("<", "").replace(">", "")
        return f"{name}.py{sys.version_info[0]}{sys.version_info[1]}{abiflags}"


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The compiled variants of one kernel on disk; their key has the digest of the code."""

    _impl_class = _KernelFormat

    def __init__(self, py_func: Any, digest: Callable[[], str]) -> None:
        super().__init__(py_func)
        self._digest = digest
        self._cache_file = KernelFiles(self._cache_path, self._impl.filename_base, source_stamp=_VERSIONS)
        self._cache_file.one_function = "<locals>" not in py_func.__qualname__

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return signature, codegen.magic_tuple(), self._digest()


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that Python calls: compiled as a whole, and kept on disk if ``enable_caching`` is called."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals=locals, targetoptions=targetoptions)
        self._compiler: Any = _KernelCompiler(py_func, self.targetdescr, self.targetoptions, self.locals, _Pipeline)

    def enable_caching(self) -> None:
        """Keep compiled variants on disk; raises RuntimeError where no folder can be written."""
        self._cache = KernelCache(self.py_func, lambda: self.digest)

    @cached_property
    def digest(self) -> str:
        """The digest of this function and of all code that it can reach, as it is when this is first asked for."""
        return code_digest(self)


def overloads() -> dict[Any, list[FunctionType]]:
    """The functions that Numba compiles in the place of others (``@overload``)."""
    found: dict[Any, list[FunctionType]] = {}
    for function, kind in builtin_registry.globals:
        if isinstance(function, FunctionType):
            templates = getattr(kind, "templates", ())
            made = [template._overload_func for template in templates if hasattr(template, "_overload_func")]
            found.setdefault(function, []).extend(made)
    return found
