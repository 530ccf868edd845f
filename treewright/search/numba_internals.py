"""The one module that uses private parts of Numba: classes of our own below Numba's, and no change to Numba itself.

**Parts and kernels.** Numba builds every function as a product of its own, with wrappers, optimisation and machine
code, and then links and optimises it again in each of its callers. Here a function that compiled code calls is a
:class:`Part`: it has intermediate code only. A :class:`Kernel` is what Python calls: the intermediate code of a part
and of all that it calls, optimised once. For this we use

* ``CPUDispatcher``, ``_FunctionCompiler`` and ``compile_extra``, which takes a library for the code as an argument;
* ``JITCodeLibrary`` and ``JITCPUCodegen``: a library that makes no machine code, one that links many of them, and a
  code generator that makes libraries of the first kind;
* ``CPUContext.subtarget``: a target context with this generator;
* the registries of ``target_extension``: Numba's own functions, if a kernel calls them, are compiled as parts too;
* ``Environment``: the kernel sets the environments of all its parts;
* ``Flags``: compared fast, because Numba compares them at every call of an overloaded function;
* ``AttributeTemplate`` and ``lower_getattr_generic``: methods of a type without a function in between.

**Names.** Numba exports each function that a kernel calls, under a name that contains a counter of the process. Two
processes can keep different functions of one name on disk. A process that loads both links one of them into both
kernels, and runs the wrong code. Here all functions but the wrapper of the kernel are private to its machine code, and
names contain a digest of the code (``Compiler._compile_bytecode``, ``FunctionIdentity.unique_id``, ``mangle``).

**The cache.** Machine code on disk is found by the digest of the code that it was made of, instead of by its place in
a file and the time stamp of that file (``FunctionCache``, ``CompileResultCacheImpl``, ``IndexDataCacheFile``). Each
compiled variant has a file name of its own. The digest follows functions that replace others (``builtin_registry``).

:func:`supported` checks that the installed Numba has these parts. :mod:`treewright.search.compiling` falls back to
Numba's own decorators where it does not.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import uuid
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from pathlib import Path
from pickle import UnpicklingError
from types import FunctionType
from typing import Any, ClassVar

import llvmlite.binding
import numpy as np
from numba import types
from numba.core import compiler
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, RuntimeLinker
from numba.core.cpu import CPUContext
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import lookup_environment
from numba.core.imputils import lower_getattr_generic
from numba.core.itanium_mangler import mangle
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.typing.templates import AttributeTemplate, builtin_registry, infer_getattr

from treewright.search.digest import code_digest

__all__ = ["Kernel", "Part", "give_methods", "overloads", "supported"]

# An index that was written with other versions is not read; Numba adds its own version. The first number counts changes
# of this module that make other machine code.
_VERSIONS = (2, llvmlite.__version__, np.__version__)
_ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of environments begin
_UNREADABLE = (AttributeError, ImportError, EOFError, ValueError, UnpicklingError)
_MOST_VARIANTS = 256  # of one kernel on disk; the oldest ones are removed


# What must be there, besides the names that are imported above.
_USED = {
    JITCodeLibrary: (
        "add_llvm_module add_linking_library finalize enable_object_caching get_defined_functions _ensure_finalized "
        "_finalize_dynamic_globals _get_module_for_linking _optimize_final_module _optimize_functions"
    ),
    JITCPUCodegen: "set_env create_library _function_pass_manager",
    CPUContext: "subtarget codegen mangler get_executable create_cpython_wrapper insert_user_function",
    CPUDispatcher: "get_call_template compile enable_caching _numba_type_",
    compiler.Compiler: "_compile_bytecode",
    compiler.CompileResult: "_replace library entry_point metadata fndesc environment call_helper target_context",
    _FunctionCompiler: "_compile_core",
    FunctionCache: "_index_key _impl_class",
    CompileResultCacheImpl: "get_filename_base",
    IndexDataCacheFile: "save load _data_name _data_path _load_index _save_index",
    RuntimeLinker: "PREFIX",
}
_ARGUMENTS = {
    compiler.compile_extra: "typingctx targetctx func args return_type flags locals library pipeline_class",
    IndexDataCacheFile: "cache_path filename_base source_stamp",
    _FunctionCompiler: "py_func targetdescr targetoptions locals pipeline_class",
    JITCPUCodegen._function_pass_manager: "self kwargs",
}


def supported() -> bool:
    """Say whether the installed Numba has the private parts that this module builds on."""
    return all(hasattr(owner, name) for owner, names in _USED.items() for name in names.split()) and all(
        list(inspect.signature(function).parameters) == names.split() for function, names in _ARGUMENTS.items()
    )


class TreewrightParts(CPU):  # type: ignore[misc]
    """What is compiled on behalf of a kernel: Numba asks the target of a caller how to compile what it calls."""


class Flags(compiler.Flags):  # type: ignore[misc]
    """Options of a compilation that are compared fast: Numba compares them at every call of an overloaded function."""

    __slots__ = ()

    def __hash__(self) -> int:
        return _FLAGS_HASH

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, compiler.Flags):
            return NotImplemented
        return self._values == other._values or all(
            getattr(self, name) == getattr(other, name) for name in self._values.keys() | other._values.keys()
        )


_FLAGS_HASH = hash(compiler.Flags())  # it depends on the names of the options only


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """Numba's library of code; passes over single functions leave out those that are only declared."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class PartLibrary(_Library):
    """The intermediate code of one function. It is optimised and becomes machine code inside a kernel only."""

    _whole: KernelLibrary | None = None
    _waiting: ClassVar[dict[str, list[PartLibrary]]] = {}  # for the end of a circle of calls, by its name

    def finalize(self) -> None:
        """Accept no more code."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        for name in _late_calls(self._final_module, self._codegen):
            self._waiting.setdefault(name, []).append(self)
        for name in _defined(self._final_module):
            for library in self._waiting.pop(name, ()):
                library._linking_libraries.append(self)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: there is no machine code."""
        self._ensure_finalized()
        return 0

    def _get_module_for_linking(self) -> Any:
        """The code for a caller that is no kernel of ours but a function of plain Numba: compiled as a whole."""
        if self._whole is None:
            self._whole = KernelLibrary(self._codegen.machine, self.name)
            self._whole.add_llvm_module(self._final_module.clone())
            for library in self._linking_libraries:
                self._whole.add_linking_library(library)
            self._whole.finalize()
        return self._whole._get_module_for_linking()


class PartCodegen(JITCPUCodegen):  # type: ignore[misc]
    """Numba's code generator, with libraries that hold parts of kernels."""

    _library_class = PartLibrary

    def __init__(self, machine: Any) -> None:
        self.__dict__.update(machine.__dict__)
        self.machine = machine

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the kernel sets the environments of all its parts."""


class KernelLibrary(_Library):
    """The code of a kernel and of all that it calls; only its wrapper can be seen from outside."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._exported: set[str] = set()
        self._environments: list[Any] = []

    def add_llvm_module(self, module: Any) -> None:
        """Add code that can be seen from outside: a wrapper through which Python calls the kernel."""
        self._exported |= _defined(module)
        super().add_llvm_module(module)

    def finalize(self) -> None:
        """Link all parts, directly or indirectly called, and optimise them together."""
        found: list[Any] = []
        _collect(self, found, set())
        self._linking_libraries = []
        for library in reversed(found):  # callers first: what nobody calls yet would be left out
            if isinstance(library, PartLibrary):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._final_module, preserve=True)
            else:
                self._linking_libraries.append(library)
        self._resolve_circles()
        super().finalize()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT) and not variable.is_declaration:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._environments.append(environment)  # machine code has its address: keep it alive
                    self._codegen.set_env(variable.name, environment)

    def _resolve_circles(self) -> None:
        """Give functions that call each other in a circle their addresses.

        Numba lets them call through a variable that it sets after compiling, but not after loading from disk.
        """
        defined = _defined(self._final_module)
        for called, variable in _late_calls(self._final_module, self._codegen).items():
            if called in defined:
                text = f'declare void @"{called}"()\n@"{variable}" = global ptr @"{called}"\n'
                self._final_module.link_in(llvmlite.binding.parse_assembly(text))
                self._final_module.get_global_variable(variable).linkage = "internal"

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._exported:
                function.linkage = "internal"
        super()._optimize_final_module()


def _defined(module: Any) -> set[str]:
    return {function.name for function in module.functions if not function.is_declaration}


def _late_calls(module: Any, codegen: Any) -> dict[str, str]:
    """The functions whose addresses code reads from variables that are not set yet, with these variables."""
    prefix = codegen._rtlinker.PREFIX
    names = [variable.name for variable in module.global_variables if variable.is_declaration]
    return {name.removeprefix(prefix): name for name in names if name.startswith(prefix)}


def _collect(library: Any, found: list[Any], seen: set[Any]) -> None:
    """List the libraries that a library needs, each after all that it needs itself."""
    for other in library._linking_libraries:
        if other not in seen:
            seen.add(other)
            if isinstance(other, PartLibrary):
                _collect(other, found, seen)
            found.append(other)


@cache
def _contexts() -> tuple[Any, Any]:
    """Numba's generator of machine code, and a target context that generates parts."""
    context = cpu_target.target_context
    context.refresh()
    machine = context.codegen()
    parts = PartCodegen(machine)
    return machine, context.subtarget(_internal_codegen=parts, target=TreewrightParts, mangler=_short_name)


def _short_name(name: str, kinds: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """A symbol with a digest in the place of the types, whose names have thousands of letters for large records."""
    text = repr((*(str(kind) for kind in kinds), *abi_tags))
    return str(mangle(name, (), abi_tags=(hashlib.sha256(text.encode()).hexdigest()[:16],), uid=uid))


class _PartCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a function for compiled callers only: no wrappers, no machine code."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        _, context = _contexts()
        with target_override(TreewrightParts.__name__):
            return compiler.compile_extra(
                self.targetdescr.typing_context,
                context,
                self.py_func,
                args=args,
                return_type=return_type,
                flags=flags,
                locals=self.locals,
                library=PartLibrary(context.codegen(), self.py_func.__qualname__),
                pipeline_class=self.pipeline_class,
            )


class _KernelCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Makes machine code of a part and of all that it calls, with a wrapper through which Python calls it."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel.py_func, kernel.targetdescr, kernel.targetoptions, kernel.locals, _Pipeline)
        self._kernel = kernel

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        self._kernel.part.compile(args if return_type is None else return_type(*args))
        part = self._kernel.part.overloads[tuple(args)]
        machine, _ = _contexts()
        library = KernelLibrary(machine, self.py_func.__qualname__)
        library.enable_object_caching()
        library.add_linking_library(part.library)
        context, function, environment = part.target_context, part.fndesc, part.environment
        release = bool(self.targetoptions.get("nogil"))
        context.create_cpython_wrapper(library, function, environment, part.call_helper, release_gil=release)
        entry = context.get_executable(library, function, environment)
        context.insert_user_function(entry, function, [library])
        return part._replace(library=library, entry_point=entry, metadata={})


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

    def load(self, key: Any) -> Any:
        """A variant; None where there is none, or where it names what is no longer there."""
        try:
            return super().load(key)
        except _UNREADABLE:
            return None

    def _load_index(self) -> Any:
        """The index; empty where it names what is no longer there, as after an update."""
        try:
            return super()._load_index()
        except _UNREADABLE:
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


class Part(CPUDispatcher):  # type: ignore[misc]
    """A function as compiled code calls it."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None, widens: bool = False) -> None:
        super().__init__(py_func, locals=locals, targetoptions=targetoptions)
        self._compiler: Any = _PartCompiler(py_func, self.targetdescr, self.targetoptions, self.locals, _Pipeline)
        self._widens = widens

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile it for these types of arguments; a literal number counts as any number of its type."""
        if self._widens:
            args = tuple(types.unliteral(kind) for kind in args)
            kws = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return super().get_call_template(args, kws)


target_registry[TreewrightParts.__name__] = TreewrightParts
dispatcher_registry[TreewrightParts] = Part
jit_registry[TreewrightParts] = lambda **options: lambda function: Part(function, targetoptions=options)


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that Python calls: compiled as a whole, and kept on disk if ``enable_caching`` is called.

    Compiled code that calls it takes the :class:`Part` in its place.
    """

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals=locals, targetoptions=targetoptions)
        self._compiler: Any = _KernelCompiler(self)

    @cached_property
    def part(self) -> Part:
        """The same function as compiled code calls it."""
        return Part(self.py_func, locals=self.locals, targetoptions=self.targetoptions, widens=True)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)

    def enable_caching(self) -> None:
        """Keep compiled variants on disk; raises RuntimeError where no folder can be written."""
        self._cache = KernelCache(self.py_func, lambda: self.digest)

    @cached_property
    def digest(self) -> str:
        """The digest of this function and of all code that it can reach, as it is when this is first asked for."""
        return code_digest(self)


def give_methods(kind: type, find: Callable[[Any, str], Kernel | None]) -> None:
    """Let a Numba type have methods: ``find(type, name)`` is the function that a call runs, without the object."""

    class Methods(AttributeTemplate):  # type: ignore[misc]
        key = kind

        def generic_resolve(self, value: Any, name: str) -> Any:
            found = find(value, name)
            return None if found is None else found._numba_type_

    infer_getattr(Methods)
    lower_getattr_generic(kind)(lambda context, builder, typ, value, name: context.get_dummy_value())


def overloads() -> dict[Any, list[FunctionType]]:
    """The functions that Numba compiles in the place of others (``@overload``)."""
    return _overloads(len(builtin_registry.globals))


@lru_cache(maxsize=1)
def _overloads(registered: int) -> dict[Any, list[FunctionType]]:
    found: dict[Any, list[FunctionType]] = {}
    for function, kind in builtin_registry.globals[:registered]:
        if isinstance(function, FunctionType):
            templates = getattr(kind, "templates", ())
            made = [template._overload_func for template in templates if hasattr(template, "_overload_func")]
            found.setdefault(function, []).extend(made)
    return found
