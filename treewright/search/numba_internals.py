"""The only module that uses private parts of Numba. It subclasses them and does not change Numba itself.

**Parts and kernels.** Numba compiles every function separately, with wrappers, optimisation and machine code, and then
links and optimises it again in each of its callers. Here a function that compiled code calls is a :class:`Part`, which
has only intermediate code. Python calls a :class:`KernelDispatcher`: the intermediate code of a part and of all that it
calls, optimised once. For this we use

* ``CPUDispatcher``, ``_FunctionCompiler`` and ``compile_extra``, which takes a library for the code as an argument;
* ``JITCodeLibrary`` and ``JITCPUCodegen``: a library that makes no machine code, one that links many of them, and a
  code generator that makes libraries of the first kind;
* ``CPUContext.subtarget``: a target context with this generator;
* the registries of ``target_extension``: Numba's own functions, if a kernel calls them, are compiled as parts too;
* ``Environment``: the kernel sets the environments of all its parts;
* ``Flags``: compared fast, because Numba compares them at every call of an overloaded function;
* ``Context.resolve_function_type``: the typing rules of Numba's functions, searched once for given types;
* ``AttributeTemplate`` and ``lower_getattr_generic``: methods of a type without a function in between;
* ``Lower``, by a pass of our own in the place of ``NativeLowering``: arguments are borrowed, records are not copied;
* ``NullCache``, the place of a dispatcher's cache: parts that do not depend on a task are kept on disk. The result of
  their compilation is made again from what is read (``PythonFunctionDescriptor``, ``compile_result``, ``rtsys``).

**Names.** Numba exports each function that a kernel calls, under a name that contains a counter of the process. Two
processes can store different functions under the same name on disk. A process that loads both links one of them into
both kernels, and runs the wrong code. Here all functions but the wrapper of the kernel are private to its machine code,
and names contain a digest of the code (``Compiler._compile_bytecode``, ``FunctionIdentity.unique_id``, ``mangle``),
which replaces the counter in parts that are kept on disk.

**Object code.** Numba stores machine code on disk in files that only Numba can load. :func:`object_code` makes an
object file that does not depend on Numba: our own LLVM code replaces the functions of Numba's runtime that arrays
inside kernels need (``NRT_…``, with the header of ``nrt.cpp``, and ``numba_attempt_nocopy_reshape``). The digest of
code follows functions that replace others (``builtin_registry``).

:func:`supported` checks that the installed Numba has these parts. :mod:`treewright.search.compiling` falls back to
Numba's own decorators where it does not.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from itertools import count
from types import FunctionType
from typing import Any, ClassVar

import llvmlite.binding
import numpy as np
from llvmlite.ir import IRBuilder
from llvmlite.ir.instructions import InsertValue
from numba import typeof, types
from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.cgutils import gep_inbounds
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, RuntimeLinker
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import Environment, lookup_environment
from numba.core.funcdesc import FunctionDescriptor, PythonFunctionDescriptor
from numba.core.imputils import lower_getattr_generic
from numba.core.ir import Arg, Assign, Expr, Var
from numba.core.itanium_mangler import mangle
from numba.core.lowering import Lower
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.typing.context import Context
from numba.core.typing.templates import AttributeTemplate, builtin_registry, infer_getattr

from treewright.search import native
from treewright.search.digest import code_digest
from treewright.search.entries import NoPlace, write_entry

__all__ = ["KernelDispatcher", "Part", "give_methods", "object_code", "overloads", "supported"]

_ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of environments begin


# The attributes that Numba must have, besides the names that are imported above.
_USED = {
    JITCodeLibrary: (
        "add_llvm_module add_linking_library finalize get_defined_functions _ensure_finalized "
        "_finalize_dynamic_globals _finalize_final_module _get_module_for_linking _optimize_final_module "
        "_optimize_functions"
    ),
    JITCPUCodegen: "set_env create_library _function_pass_manager",
    CPUContext: "subtarget codegen mangler get_executable create_cpython_wrapper insert_user_function",
    CPUDispatcher: "get_call_template compile _numba_type_",
    compiler.Compiler: "_compile_bytecode",
    compiler.CompileResult: "_replace library entry_point metadata fndesc environment call_helper target_context",
    _FunctionCompiler: "_compile_core",
    RuntimeLinker: "PREFIX",
    Lower: (
        "setup_function _find_singly_assigned_variable lower_assign lower_expr storevar delvar getvar incref typeof"
    ),
    PassManager: "finalize",
    Context: "resolve_function_type",
    NullCache: "load_overload save_overload",
    Environment: "from_fndesc",
    type(rtsys): "library",
}
_ARGUMENTS = {
    compiler.compile_extra: "typingctx targetctx func args return_type flags locals library pipeline_class",
    _FunctionCompiler: "py_func targetdescr targetoptions locals pipeline_class",
    JITCPUCodegen._function_pass_manager: "self kwargs",
    Context.resolve_function_type: "self func args kws",
    Lower.lower_assign: "self ty inst",
    Lower.lower_expr: "self resty expr",
    Lower.storevar: "self value name argidx",
    Lower.delvar: "self name",
    NullCache.load_overload: "self sig target_context",
    NullCache.save_overload: "self sig cres",
    PythonFunctionDescriptor: (
        "native modname qualname unique_name doc typemap restype calltypes args kws mangler argtypes inline noalias "
        "env_name global_dict abi_tags uid"
    ),
}


def supported() -> bool:
    """Return whether the installed Numba has the private parts that this module uses."""
    return all(hasattr(owner, name) for owner, names in _USED.items() for name in names.split()) and all(
        list(inspect.signature(function).parameters) == names.split() for function, names in _ARGUMENTS.items()
    )


class TreewrightParts(CPU):  # type: ignore[misc]
    """The target of code that is compiled for a kernel: Numba compiles a callee for the target of its caller."""


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

    file: str | None = None  # its name on disk, if it is kept; and then also:
    symbol = ""
    result: Any = None  # the type of what the function returns
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
        """The code for a caller that is a plain Numba function and not one of our kernels: compiled as a whole."""
        if self._whole is None:
            self._whole = KernelLibrary(self._codegen.machine, self.name)
            self._whole.add_llvm_module(self._final_module.clone())
            for library in self._linking_libraries:
                self._whole.add_linking_library(library)
            self._whole.finalize()
        return self._whole._get_module_for_linking()


class PartCodegen(JITCPUCodegen):  # type: ignore[misc]
    """Numba's code generator, with libraries that contain parts of kernels."""

    _library_class = PartLibrary

    def __init__(self, machine: Any) -> None:
        self.__dict__.update(machine.__dict__)
        self.machine = machine

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the kernel sets the environments of all its parts."""


class KernelLibrary(_Library):
    """The code of a kernel and of all that it calls; only its wrapper is visible from outside."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._exported: set[str] = set()
        self._environments: list[Any] = []

    def add_llvm_module(self, module: Any) -> None:
        """Add code that is visible from outside: a wrapper through which Python calls the kernel."""
        self._exported |= _defined(module)
        super().add_llvm_module(module)

    def finalize(self) -> None:
        """Link all parts, directly or indirectly called, optimise them together, and make machine code."""
        self._link()
        super().finalize()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT) and not variable.is_declaration:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._environments.append(environment)  # machine code has its address: keep it alive
                    self._codegen.set_env(variable.name, environment)

    def _link(self) -> None:
        found: list[Any] = []
        _collect(self, found, set())
        self._linking_libraries = []
        linked: set[str] = set()
        for library in reversed(found):  # callers first: functions without a caller would be dropped
            if not isinstance(library, PartLibrary):
                self._linking_libraries.append(library)
                continue
            self._reload_init.update(library._reload_init)
            names = _defined(library._final_module)
            if not names <= linked:  # a function that was compiled twice has the same name and the same code
                self._final_module.link_in(library._final_module, preserve=True)
                linked |= names
        self._resolve_circles()

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


class ObjectLibrary(KernelLibrary):
    """The code of an entry, its kernel and all that this calls, as an object file. It is not loaded here."""

    def __init__(self, codegen: Any, part: Any) -> None:
        super().__init__(codegen, part.fndesc.qualname)
        self._symbol = part.fndesc.llvm_func_name
        self._exported = {self._symbol}
        self.add_linking_library(part.library)

    def finalize(self) -> None:
        """Link all parts and optimise them together."""
        self._link()
        JITCodeLibrary.finalize(self)

    def _finalize_final_module(self) -> None:
        """Do nothing: the object is made on demand."""
        self._finalized = True

    def object_code(self) -> bytes | None:
        """The object file, None if it would need functions of Numba."""
        module = llvmlite.binding.parse_bitcode(self._final_module.as_bitcode())
        runtime = llvmlite.binding.parse_assembly(_RUNTIME)
        runtime.triple, runtime.data_layout = module.triple, module.data_layout
        module.link_in(runtime)
        for function in module.functions:
            if not function.is_declaration and function.name != self._symbol:
                function.linkage = "internal"
            elif function.is_declaration and not _is_of_c(function.name):
                return None
        for variable in module.global_variables:
            if not variable.is_declaration:
                variable.linkage = "internal"
        module.get_function(self._symbol).name = native.SYMBOL
        code: bytes = native.machine().emit_object(module)
        return code


#: The functions of Numba's runtime that arrays inside kernels need. The header of an array has 48 bytes: the number of
#: references, the destructor and its argument, the address of the data, its size, the allocator. Arrays with gaps are
#: not reshaped.
_RUNTIME = """
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %wide = zext i32 %alignment to i64
  %both = add i64 %size, %wide
  %all = add i64 %both, 48
  %header = call ptr @malloc(i64 %all)
  %failed = icmp eq ptr %header, null
  br i1 %failed, label %nothing, label %something
nothing:
  ret ptr null
something:
  %after = getelementptr i8, ptr %header, i64 48
  %address = ptrtoint ptr %after to i64
  %less = sub i64 %wide, 1
  %raised = add i64 %address, %less
  %mask = sub i64 0, %wide
  %aligned = and i64 %raised, %mask
  %data = inttoptr i64 %aligned to ptr
  store i64 1, ptr %header
  %destructor = getelementptr i8, ptr %header, i64 8
  store ptr null, ptr %destructor
  %info = getelementptr i8, ptr %header, i64 16
  store ptr null, ptr %info
  %where = getelementptr i8, ptr %header, i64 24
  store ptr %data, ptr %where
  %length = getelementptr i8, ptr %header, i64 32
  store i64 %size, ptr %length
  %allocator = getelementptr i8, ptr %header, i64 40
  store ptr null, ptr %allocator
  ret ptr %header
}

define ptr @NRT_MemInfo_alloc(i64 %size) {
  %header = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 16)
  ret ptr %header
}

define ptr @NRT_Allocate(i64 %size) {
  %memory = call ptr @malloc(i64 %size)
  ret ptr %memory
}

define void @NRT_Free(ptr %memory) {
  call void @free(ptr %memory)
  ret void
}

define void @NRT_MemInfo_call_dtor(ptr %header) {
  call void @free(ptr %header)
  ret void
}

define i32 @numba_attempt_nocopy_reshape(
    i64 %nd, ptr %dims, ptr %strides, i64 %newnd, ptr %newdims, ptr %newstrides, i64 %itemsize, i32 %fortran
) {
  %other = icmp ne i32 %fortran, 0
  br i1 %other, label %no, label %read
read:  ; without gaps, the stride of a dimension is the product of the sizes behind it
  %k = phi i64 [ %nd, %0 ], [ %before, %next ]
  %stride = phi i64 [ %itemsize, %0 ], [ %larger, %next ]
  %before = sub i64 %k, 1
  %done = icmp eq i64 %k, 0
  br i1 %done, label %write, label %compare
compare:
  %dim_at = getelementptr i64, ptr %dims, i64 %before
  %dim = load i64, ptr %dim_at
  %stride_at = getelementptr i64, ptr %strides, i64 %before
  %found = load i64, ptr %stride_at
  %equal = icmp eq i64 %found, %stride
  %single = icmp eq i64 %dim, 1
  %fine = or i1 %equal, %single
  br i1 %fine, label %next, label %no
next:
  %larger = mul i64 %stride, %dim
  br label %read
write:
  %n = phi i64 [ %newnd, %read ], [ %last, %fill ]
  %made = phi i64 [ %itemsize, %read ], [ %more, %fill ]
  %last = sub i64 %n, 1
  %ready = icmp eq i64 %n, 0
  br i1 %ready, label %yes, label %fill
fill:
  %to = getelementptr i64, ptr %newstrides, i64 %last
  store i64 %made, ptr %to
  %size_at = getelementptr i64, ptr %newdims, i64 %last
  %size = load i64, ptr %size_at
  %more = mul i64 %made, %size
  br label %write
yes:
  ret i32 1
no:
  ret i32 0
}
"""


@cache
def _is_of_c(name: str) -> bool:
    """Return whether a function is LLVM's own, or of the C library, so that every process has it."""
    return name.startswith("llvm.") or hasattr(ctypes.CDLL(None), name)


def object_code(kernel: KernelDispatcher, arguments: tuple[Any, ...]) -> bytes | None:
    """The machine code of a kernel for arguments like these, as :mod:`treewright.search.native` keeps it on disk.

    None if a result cannot be represented in the table, or if the code needs functions of Numba.
    """
    kinds = tuple(typeof(_in_table(value)) for value in arguments)
    kernel.part.compile(kinds)
    returned = kernel.part.overloads[kinds].signature.return_type
    try:
        entry = write_entry(kernel.part, returned, kinds)
    except NoPlace:
        return None
    part = OwnPart(entry.function, targetoptions=kernel.targetoptions)
    part.compile(types.none(*entry.types))
    machine, _, _ = _contexts()
    library = ObjectLibrary(machine, part.overloads[entry.types])
    with global_compiler_lock:
        library.finalize()
        code = library.object_code()
        _Kept.write()
    return None if code is None else native.whole(entry.about, code)


def _in_table(value: Any) -> Any:
    """An argument of the type that it has when it comes out of a table: all arrays can be written."""
    if isinstance(value, np.ndarray):
        return np.empty((1,) * value.ndim, value.dtype)
    if isinstance(value, tuple):
        parts = [_in_table(part) for part in value]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    return value


def _defined(module: Any) -> set[str]:
    return {function.name for function in module.functions if not function.is_declaration}


def _late_calls(module: Any, codegen: Any) -> dict[str, str]:
    """The functions whose addresses the code reads from variables that are not set yet, with these variables."""
    prefix = codegen._rtlinker.PREFIX
    names = [variable.name for variable in module.global_variables if variable.is_declaration]
    return {name.removeprefix(prefix): name for name in names if name.startswith(prefix)}


def _collect(library: Any, found: list[Any], seen: set[Any]) -> None:
    """List the libraries that a library needs, each after its own dependencies."""
    for other in library._linking_libraries:
        if other not in seen:
            seen.add(other)
            if isinstance(other, PartLibrary):
                _collect(other, found, seen)
            found.append(other)


class _Typing(Context):  # type: ignore[misc]
    """Numba's typing rules. It searches them once for each function of Numba and types of arguments.

    Numba tries the rules one after the other, with an error for each that does not fit, at every occurrence of ``+``.
    """

    __slots__ = ("_signatures",)  # not among the attributes that it shares with Numba's own object

    def __init__(self, whole: Any) -> None:
        self.__dict__ = whole.__dict__  # type: ignore[misc] # which mypy looks for among the slots
        self._signatures: dict[Any, Any] = {}

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a function for these types of arguments."""
        if not isinstance(func, types.Function):
            return super().resolve_function_type(func, args, kws)
        key = func, tuple(args), tuple(dict(kws).items())
        found = self._signatures.get(key)
        if found is None:
            found = super().resolve_function_type(func, args, kws)
            if found is not None:
                self._signatures[key] = found
        return found


@cache
def _contexts() -> tuple[Any, Any, Any]:
    """Numba's generator of machine code, a target context that generates parts, and the rules of typing."""
    context = cpu_target.target_context
    context.refresh()
    machine = context.codegen()
    parts = PartCodegen(machine)
    target = context.subtarget(_internal_codegen=parts, target=TreewrightParts, mangler=_short_name)
    return machine, target, _Typing(cpu_target.typing_context)


def _short_name(name: str, kinds: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
    """A symbol with a digest instead of the types, whose names have thousands of letters for large records."""
    text = repr((*(str(kind) for kind in kinds), *abi_tags))
    return str(mangle(name, (), abi_tags=(hashlib.sha256(text.encode()).hexdigest()[:16],), uid=uid))


class _PartCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a function for compiled callers only: no wrappers, no machine code."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        _, context, typing = _contexts()
        with target_override(TreewrightParts.__name__):
            return compiler.compile_extra(
                typing,
                context,
                self.py_func,
                args=args,
                return_type=return_type,
                flags=flags,
                locals=self.locals,
                library=PartLibrary(context.codegen(), self.py_func.__qualname__),
                pipeline_class=self.pipeline_class,
            )


class _Wrapped(PythonFunctionDescriptor):  # type: ignore[misc]
    """The description of a function whose wrapper has another name than the wrapper of the same code defined again."""

    __slots__ = ()
    _numbers = count()

    @classmethod
    def of(cls, function: Any) -> _Wrapped:
        made = cls.__new__(cls)
        for name in FunctionDescriptor.__slots__:
            setattr(made, name, getattr(function, name))
        made.unique_name = f"{function.unique_name}_{next(cls._numbers)}"
        return made

    @property
    def llvm_cpython_wrapper_name(self) -> str:
        """The name of the wrapper."""
        return f"{super().llvm_cpython_wrapper_name}.{self.unique_name}"


class _KernelCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Makes machine code of a part and of all that it calls, with a wrapper through which Python calls it."""

    def __init__(self, kernel: KernelDispatcher) -> None:
        super().__init__(kernel.py_func, kernel.targetdescr, kernel.targetoptions, kernel.locals, _Pipeline)
        self._kernel = kernel

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        self._kernel.part.compile(args if return_type is None else return_type(*args))
        part = self._kernel.part.overloads[tuple(args)]
        machine, _, _ = _contexts()
        library = KernelLibrary(machine, self.py_func.__qualname__)
        library.add_linking_library(part.library)
        context, function, environment = part.target_context, _Wrapped.of(part.fndesc), part.environment
        release = bool(self.targetoptions.get("nogil"))
        context.create_cpython_wrapper(library, function, environment, part.call_helper, release_gil=release)
        entry = context.get_executable(library, function, environment)
        context.insert_user_function(entry, function, [library])
        return part._replace(library=library, entry_point=entry, metadata={}, fndesc=function)


class _Builder(IRBuilder):  # type: ignore[misc]
    """Writes code; what was put into a record is taken out again without looking at the record."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """The part of a record that an index, or a path of them, names."""
        path = tuple(idx) if isinstance(idx, (tuple, list)) else (idx,)
        while isinstance(agg, InsertValue) and path:
            put = tuple(agg.indices)
            if path[: len(put)] == put:
                agg, path = agg.value, path[len(put) :]
            elif put[: len(path)] == path:
                break
            else:
                agg = agg.aggregate
        return super().extract_value(agg, path, name) if path else agg


class _Lowering(Lower):  # type: ignore[misc]
    """Numba's way from typed code to LLVM's, which is short for records.

    A record of arrays has hundreds of numbers. Numba keeps it in memory, reads all of it for each field that is used,
    and counts references to all its arrays. Here arguments are *borrowed*, with their fields: the caller holds
    references to them for the time of the call, so they are not counted, and they are values rather than variables. Of
    other records only the field that is used is read.
    """

    def setup_function(self, fndesc: Any) -> None:
        """Begin a function."""
        super().setup_function(fndesc)
        self.builder.__class__ = _Builder

    def _find_singly_assigned_variable(self) -> None:
        super()._find_singly_assigned_variable()
        self._borrowed: set[str] = set()
        self._counts = True
        if self.func_ir.func_id.is_generator:
            return
        assignments = [(k, inst) for k, block in sorted(self.blocks.items()) for inst in block.find_insts(Assign)]
        times = Counter(inst.target.name for _, inst in assignments)
        for k, inst in assignments:
            name = inst.target.name
            if times[name] == 1 and self._borrows(name, inst.value):
                self._borrowed.add(name)
                if k == self.firstblk:
                    self._singly_assigned_vars.add(name)

    def _borrows(self, name: str, value: Any) -> bool:
        """Is a variable an argument, or a field of one, by another name?"""
        if isinstance(value, Arg):
            return True
        if isinstance(value, Var):
            return value.name in self._borrowed and self.typeof(value.name) == self.typeof(name)
        return self._is_field(value) and value.value.name in self._borrowed

    def _is_field(self, value: Any) -> bool:
        if not isinstance(value, Expr) or value.op != "getattr":
            return False
        record = self.typeof(value.value.name)
        return isinstance(record, types.BaseNamedTuple) and value.attr in record.fields

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """The value of an assignment."""
        self._counts = inst.target.name not in self._borrowed
        try:
            return super().lower_assign(ty, inst)
        finally:
            self._counts = True

    def incref(self, typ: Any, val: Any) -> None:
        """Count a reference, unless it is borrowed."""
        if self._counts:
            super().incref(typ, val)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """The value of an expression."""
        if not self._is_field(expr):
            return super().lower_expr(resty, expr)
        name, record = expr.value.name, self.typeof(expr.value.name)
        k = record.fields.index(expr.attr)
        if name in self._blk_local_varmap:
            value = self.builder.extract_value(self._blk_local_varmap[name], k)
        else:
            value = self.builder.load(gep_inbounds(self.builder, self.getvar(name), 0, k))
        self.incref(record[k], value)
        return self.context.cast(self.builder, value, record[k], resty)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Give a variable its value."""
        if name in self._borrowed and name not in self._singly_assigned_vars:
            self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        """Forget a variable."""
        if self.context.enable_nrt and name not in self._borrowed:
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweringPass(BaseNativeLowering):  # type: ignore[misc]
    _name = "treewright_lowering"

    @property
    def lowering_class(self) -> Any:
        return _Lowering


class _Pipeline(compiler.Compiler):  # type: ignore[misc]
    """Numba's pipeline; the name of what is compiled contains the digest of its code."""

    def define_pipelines(self) -> Any:
        """Numba's passes, with our way to LLVM's code."""
        managers = super().define_pipelines()
        for manager in managers:
            manager.passes = [
                (_LoweringPass if step is NativeLowering else step, about) for step, about in manager.passes
            ]
            manager._finalized = False
            manager.finalize()
        return managers

    def _compile_bytecode(self) -> Any:
        identity = self.state.func_id
        identity.unique_id = self._unique(str(identity.unique_id), code_digest(identity.func))
        return super()._compile_bytecode()

    def _unique(self, counter: str, digest: str) -> str:
        """What follows the name of a function."""
        return f"{counter}_{digest}"


class _PipelineOfParts(_Pipeline):
    """The same for our own functions, inside kernels: their names are the same in all processes."""

    def _unique(self, counter: str, digest: str) -> str:
        return digest


def _spelled(kinds: Any) -> str | None:
    """The types of arguments, as far as code depends on them; None if a function of them is not kept on disk.

    Functions of a whole task are not, because the digest of a task changes with every edit.
    """
    from treewright.search.numba_types import StaticType  # which imports this module

    def spell(kind: Any) -> str:
        if isinstance(kind, types.BaseTuple):
            record = getattr(kind, "instance_class", tuple)
            name = record.__module__, record.__qualname__, getattr(record, "_fields", ())
            return f"{name}({', '.join(map(spell, kind))})"
        if isinstance(kind, (types.Array, types.Boolean, types.NoneType, types.Number, StaticType)):
            return str(kind)
        raise NoPlace(str(kind))

    if any(isinstance(kind, StaticType) for kind in kinds):
        return None
    try:
        return ", ".join(map(spell, kinds))
    except NoPlace:
        return None


_RESULTS = {str(kind): kind for kind in (types.none, types.boolean, *types.integer_domain, *types.real_domain)}


class _Kept(NullCache):  # type: ignore[misc]
    """The code of a part on disk, for all types of its arguments.

    After an edit of a task, most of what its kernels need is there. A file has a line of JSON with the name of the
    function, the type of its result, and the files of the functions that it calls; and LLVM's code.
    """

    _libraries: ClassVar[dict[str, PartLibrary]] = {}  # by the names of their files
    _unwritten: ClassVar[dict[str, bytes]] = {}

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._function, self._options = function, options

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The result of an earlier compilation for these types."""
        file = self._file(sig)
        library = None if file is None else self._library(file)
        if library is None:
            return None
        _, context, typing = _contexts()
        described = PythonFunctionDescriptor(
            native=True,
            modname=self._function.__module__,
            qualname=self._function.__qualname__,
            unique_name=library.symbol,
            doc="",
            typemap=None,
            restype=library.result,
            calltypes=None,
            args=tuple(inspect.signature(self._function).parameters),
            kws=(),
            mangler=lambda *_, **__: library.symbol,
            argtypes=tuple(sig),
            inline=bool(self._options.get("forceinline")),
            env_name=f"{_ENVIRONMENT}{library.symbol}",
        )
        environment = Environment.from_fndesc(described)
        return compiler.compile_result(
            typing_context=typing,
            target_context=context,
            entry_point=context.get_executable(library, described, environment),
            signature=described.restype(*sig),
            objectmode=False,
            lifted=(),
            fndesc=described,
            library=library,
            environment=environment,
            reload_init=[],
        )

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the result of a compilation, if it needs nothing but code that is kept, too."""
        file, library, result = self._file(sig), cres.library, str(cres.signature.return_type)
        called = [other for other in library._linking_libraries if other is not rtsys.library]  # which all have
        calls = list(dict.fromkeys(getattr(other, "file", None) for other in called))
        if file is None or result not in _RESULTS or None in calls or library._reload_init or library._dynamic_globals:
            return
        if _late_calls(library._final_module, library._codegen) or cres.environment.consts:
            return
        about = {"symbol": cres.fndesc.mangled_name, "result": result, "calls": calls}
        self._remember(library, file, about)
        code = library._final_module.as_bitcode()
        library._final_module = llvmlite.binding.parse_bitcode(code)  # so that machine code is the same as from disk
        self._unwritten[file] = native.whole(about, code)

    def _file(self, sig: Any) -> str | None:
        kinds = _spelled(sig) if isinstance(sig, tuple) else None
        if kinds is None:
            return None
        digest = code_digest(self._function, sorted(self._options.items()))
        return native.file_name(self._function.__name__, digest, kinds, "part")

    @classmethod
    def _library(cls, file: str) -> PartLibrary | None:
        """The code in a file, with that of all functions that it calls."""
        if file in cls._libraries:
            return cls._libraries[file]
        code = native.read(file)
        if code is None:
            return None
        head, _, bitcode = code.partition(b"\n")
        about = json.loads(head)
        called = [cls._library(each) for each in about["calls"]]
        if None in called:
            return None
        library = PartLibrary(_contexts()[1].codegen(), about["symbol"])
        library._final_module = llvmlite.binding.parse_bitcode(bitcode)
        library._linking_libraries = [*called, rtsys.library]
        library._finalized = True
        cls._remember(library, file, about)
        return library

    @classmethod
    def _remember(cls, library: PartLibrary, file: str, about: dict[str, Any]) -> None:
        library.file, library.symbol, library.result = file, about["symbol"], _RESULTS[about["result"]]
        cls._libraries[file] = library

    @classmethod
    def write(cls) -> None:
        """Write what is new."""
        native.write(cls._unwritten)
        cls._unwritten.clear()


class Part(CPUDispatcher):  # type: ignore[misc]
    """A function as compiled code calls it."""

    pipeline: ClassVar[type] = _Pipeline

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals=locals, targetoptions=targetoptions)
        self._compiler: Any = _PartCompiler(py_func, self.targetdescr, self.targetoptions, self.locals, self.pipeline)


class OwnPart(Part):
    """A function of ours, and not of Numba. It is kept on disk, unless it depends on a task."""

    pipeline = _PipelineOfParts

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions)
        self._cache: Any = _Kept(py_func, self.targetoptions)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile it for these types of arguments; a literal number counts as any number of its type."""
        args = tuple(types.unliteral(kind) for kind in args)
        kws = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return super().get_call_template(args, kws)


target_registry[TreewrightParts.__name__] = TreewrightParts
dispatcher_registry[TreewrightParts] = Part
jit_registry[TreewrightParts] = lambda **options: lambda function: Part(function, targetoptions=options)


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that Python calls through Numba: compiled as a whole.

    Compiled code that calls it takes the :class:`Part` in its place.
    """

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals=locals, targetoptions=targetoptions)
        self._compiler: Any = _KernelCompiler(self)

    @cached_property
    def part(self) -> Part:
        """The same function as compiled code calls it."""
        return OwnPart(self.py_func, self.locals, self.targetoptions)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)


def give_methods(kind: type, find: Callable[[Any, str], KernelDispatcher | None]) -> None:
    """Give a Numba type methods: a call runs the function ``find(type, name)``, without the object."""

    class Methods(AttributeTemplate):  # type: ignore[misc]
        key = kind

        def generic_resolve(self, value: Any, name: str) -> Any:
            found = find(value, name)
            return None if found is None else found._numba_type_

    infer_getattr(Methods)
    lower_getattr_generic(kind)(lambda context, builder, typ, value, name: context.get_dummy_value())


def overloads() -> dict[Any, list[FunctionType]]:
    """The functions that Numba compiles instead of others (``@overload``), without our own."""
    return _overloads(len(builtin_registry.globals))


@lru_cache(maxsize=1)
def _overloads(registered: int) -> dict[Any, list[FunctionType]]:
    found: dict[Any, list[FunctionType]] = {}
    for function, kind in builtin_registry.globals[:registered]:
        if isinstance(function, FunctionType) and not (function.__module__ or "").startswith("treewright."):
            templates = getattr(kind, "templates", ())
            made = [template._overload_func for template in templates if hasattr(template, "_overload_func")]
            found.setdefault(function, []).extend(made)
    return found
