"""The one module that uses private parts of Numba: classes of our own below Numba's, and no change to Numba itself.

What is used, and why:

* ``Dispatcher`` and ``_FunctionCompiler``: a kernel is compiled into a code library of our own, which
  ``compile_extra`` takes as its argument ``library``.
* ``JITCodeLibrary`` (``add_llvm_module``, ``_optimize_final_module``): all functions that a kernel calls become
  private to its machine code. Numba exports them under names that differ by a counter of the process only. Code that
  two processes have kept on disk can then hold two functions of one name; a process that loads both links one of
  them into both kernels, and runs the wrong code.
* ``FunctionCache``, ``IndexDataCacheFile`` (``_data_name``, ``_load_index``): a file name of its own for each compiled
  variant, and an index that begins empty if it cannot be read.

:func:`supported` checks that the installed Numba has these parts. :mod:`treewright.search.compiling` falls back to
Numba's own decorators where it does not.
"""

from __future__ import annotations

import inspect
import uuid
from typing import Any

from numba.core import compiler
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher

__all__ = ["Kernel", "supported"]


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


class KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one kernel: an index, and one file for each compiled variant."""

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


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The compiled variants of one kernel on disk."""

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = KernelFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that Python calls: compiled as a whole, and kept on disk if ``enable_caching`` is called."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals=locals, targetoptions=targetoptions)
        self._compiler: Any = _KernelCompiler(
            py_func, self.targetdescr, self.targetoptions, self.locals, compiler.Compiler
        )

    def enable_caching(self) -> None:
        """Keep compiled variants on disk; raises RuntimeError where no folder can be written."""
        self._cache = KernelCache(self.py_func)
