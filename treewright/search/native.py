"""Machine code on disk: find, load and call a kernel without importing Numba.

A kernel is a function over arrays, numbers, and named tuples of these. All its arguments are passed in one table of
64-bit integers: the address of an array object, a whole number itself, the bits of a floating-point number. The
results are returned at the end of the table. The *layout* defines the meaning of each cell. It is part of the name of
the file, with a digest of all code that the kernel runs, the processor, and the versions of the compiler. Code for
another layout would write to wrong addresses.

A file has a line with the digest of its name and of everything after it, a line with a description in JSON, and an
object file. LLVM's loader puts it into memory, which does not need the compiler. The description has ``result``, the
type of the result (``int``, ``bool``, ``float``, the type and the dimensions of an array, or a tuple by its ``parts``,
and by the module and the name of its class if it is named).
Numbers of 32 bits are passed as 64 bits, and the entry converts them.

The helpers of kernels are kept, too, as long as they do not depend on a task: as LLVM's intermediate code, which only
the compiler reads (:class:`treewright.search.numba_internals.OwnPart`).

Only files that are complete, have their own name, and belong to this user, or to an owner of the library itself, are
loaded. A damaged or renamed file, or a file of another user, is compiled again.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import stat
import struct
import sys
import time
import uuid
import warnings
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "SYMBOL",
    "NativeCode",
    "Static",
    "describe",
    "ensure_memory",
    "file_name",
    "find",
    "keep",
    "machine",
    "pack",
    "read",
    "whole",
    "write",
]

SYMBOL = "treewright_kernel"  # the function of an object file
MOST_FILES = 1000  # in a folder; the oldest ones are removed

_FORMAT = 4  # counts changes of the table and of the file
_ROOM_TO_LOAD = 64 << 20  # bytes; LLVM takes about half of it
_DEAD = 3600.0  # seconds after which a file that is not finished belongs to a process that was killed
_BESIDE = Path(__file__).parent
_COMPILER = tuple(_BESIDE / name for name in ("entries.py", "intrinsics.py", "numba_internals.py", "numba_types.py"))
_SCALARS = {"b", "i", "u", "f"}  # kinds of NumPy's types that have a place in the table
_NO_CODE = {"NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS"}  # settings of Numba that change no code


class Static:
    """Base class of arguments that have no values at run time: their class determines what is compiled."""

    def static_key(self) -> tuple[str, str]:
        """The name of the class, and a digest of all its code that compiled callers run."""
        raise NotImplementedError

    def compiled_functions(self) -> dict[str, Any]:
        """The functions that compiled code calls as methods, by name."""
        raise NotImplementedError

    def plain(self) -> Any:
        """An object with the same functions, interpreted."""
        raise NotImplementedError

    @property
    def _numba_type_(self) -> Any:
        from treewright.search.numba_types import type_of

        return type_of(self)


# ---- the table


def describe(arguments: Sequence[Any]) -> str | None:
    """The layout of arguments, or None if one of them cannot be represented in a table.

    >>> describe((np.zeros((2, 3), np.int32), 5, 0.5, np.float32(1), None, (True, 7)))
    '<i4*2 <i8 <f8 <f4 none (|b1 <i8)'
    """
    parts = [_describe(value) for value in arguments]
    return None if None in parts else " ".join(parts)  # type: ignore[arg-type]


def _describe(value: Any) -> str | None:
    if isinstance(value, np.ndarray):
        flags, kind = value.flags, value.dtype
        plain = flags.c_contiguous and flags.aligned and kind.isnative and kind.kind in _SCALARS
        return f"{kind.str}*{value.ndim}" if plain else None
    if isinstance(value, tuple):
        inner = describe(value)
        name = "" if type(value) is tuple else f"{type(value).__module__}.{type(value).__qualname__}"
        return None if inner is None else f"{name}({inner})"
    if isinstance(value, np.generic):
        return value.dtype.str if value.dtype.kind in _SCALARS else None
    if isinstance(value, bool):
        return "|b1"
    if isinstance(value, int):
        return "<i8"
    if isinstance(value, float):
        return "<f8"
    if value is None:
        return "none"
    if isinstance(value, Static):
        return ":".join(value.static_key())
    return None


def pack(arguments: Sequence[Any]) -> tuple[tuple[Any, ...], list[int]] | None:
    """The arguments as 64-bit integers, after a key that is the same for all arguments of one layout.

    None if one of them cannot be represented in a table. The arrays must stay alive as long as the table is in use.

    >>> pack((3, -1, None, (True, 0.5)))[1]
    [3, -1, 1, 4602678819172646912]
    """
    key: list[Any] = []
    cells: list[int] = []
    return (tuple(key), cells) if _pack(arguments, key, cells) else None


def _pack(arguments: Sequence[Any], key: list[Any], cells: list[int]) -> bool:
    """Add the key and the integers of some arguments; False if one of them cannot be represented."""
    for value in arguments:  # this runs in every call of a kernel, so the cost of each line matters
        if isinstance(value, _Array):
            flags = value.flags
            if not (flags.carray or (flags.c_contiguous and flags.aligned)):
                return False
            key.append(value.dtype)
            key.append(value.ndim)
            cells.append(id(value))
            continue
        key.append(type(value))
        if isinstance(value, tuple):
            key.append(len(value))
            if not _pack(value, key, cells):
                return False
        elif isinstance(value, (float, np.floating)):
            cells += _WHOLE.unpack(_REAL.pack(value))
        elif isinstance(value, (int, np.integer, np.bool_)):
            cells.append(((int(value) + _HALF) & _ALL) - _HALF)  # unsigned numbers keep their bits
        elif isinstance(value, Static):
            key[-1] = value.static_key()  # two classes with the same code share machine code
        elif value is not None:
            return False
    return True


_Array = np.ndarray
_WHOLE, _REAL = struct.Struct("<q"), struct.Struct("<d")
_HALF, _ALL = 1 << 63, (1 << 64) - 1


class NativeCode:
    """The machine code of one kernel for one layout, in memory. Calling it releases the GIL."""

    def __init__(self, code: bytes) -> None:
        head, _, body = code.partition(b"\n")
        about = json.loads(head)
        self._result = about["result"]
        self._room = [0] * (_places(self._result) + 2)
        self._engine, address = _load(body)
        # Numba's calling convention: a pointer for the result, a pointer for an exception, then the arguments
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(address)

    def __call__(self, cells: list[int]) -> Any:
        """Run the kernel on packed arguments; raises :class:`Stopped` if it raised an exception."""
        table = array("q", cells + self._room)
        address, size = table.buffer_info()
        end = address + 8 * size
        status = self._function(end - 16, end - 8, address)
        if status not in (0, -2):  # −2: there is no result
            raise Stopped
        return _read(self._result, iter(table[len(cells) :]))


def _places(result: Any) -> int:
    """The number of cells of a result in the table."""
    if result is None:
        return 0
    if isinstance(result, dict):
        return sum(map(_places, result["parts"]))
    return 2 + int(result.partition("*")[2]) if "*" in result else 1


def _read(name: Any, places: Iterator[int]) -> Any:
    """A result, from its cells in the table."""
    if name is None:
        return None
    if isinstance(name, dict):
        parts = [_read(part, places) for part in name["parts"]]
        if name["record"] is None:
            return tuple(parts)
        module, record = name["record"]
        return getattr(import_module(module), record)(*parts)
    if name == "float":
        return struct.unpack("<d", struct.pack("<q", next(places)))[0]
    if name in ("int", "bool"):
        return (int if name == "int" else bool)(next(places))
    kind, _, dimensions = name.partition("*")
    header, data = next(places), next(places)
    made = np.empty([next(places) for _ in range(int(dimensions))], kind)
    ctypes.memmove(made.__array_interface__["data"][0], data, made.nbytes)
    if header:  # the kernel allocated the array, and we are its only owner: free it
        owners = ctypes.c_int64.from_address(header)
        owners.value -= 1
        if owners.value == 0:
            _free()(header)
    return made


@cache
def _free() -> Any:
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    return free


class Stopped(Exception):
    """A kernel raised an exception. Machine code does not report which one."""


def whole(about: dict[str, Any], code: bytes) -> bytes:
    """The content of a file: object code, and the information that its caller needs."""
    return json.dumps(about).encode() + b"\n" + code


def ensure_memory(size: int) -> None:
    """Raise :class:`MemoryError` if this number of bytes is not available: LLVM would end the process."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    try:
        mmap.mmap(-1, size, **private).close()
    except (OSError, OverflowError) as error:
        raise MemoryError(f"{size:,} bytes are missing for compiled code") from error


def _load(code: bytes) -> tuple[Any, int]:
    """Object code in memory: its owner, and the address of its function."""
    ensure_memory(_ROOM_TO_LOAD + 4 * len(code))
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, engine.get_function_address(SYMBOL)


def machine() -> Any:
    """LLVM's description of this computer's processor; each loader owns one."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently("")  # the functions of the C library, such as malloc and exp
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
    )


# ---- the disk


def find(name: str, digest: str, layout: str) -> NativeCode | None:
    """The machine code of a kernel, from disk; None if it has not been compiled yet."""
    code = read(file_name(name, digest, layout))
    try:
        return None if code is None else NativeCode(code)
    except (ValueError, KeyError, RuntimeError):  # not what this version writes
        return None


def read(file: str) -> bytes | None:
    """What was written to a file of this name; None if there is none."""
    for folder in _folders():
        with suppress(OSError):
            code = _read_file(folder / file)
            if code is not None:
                return code
    return None


def _read_file(path: Path) -> bytes | None:
    """The code in a file; None if it is not as it was written, or if it is not safe to run."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not _is_trusted(os.fstat(file.fileno())):
            return None
        digest, _, code = file.read().partition(b"\n")
    return code if digest == _digest(path.name, code) else None  # LLVM would crash on other code


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe of that name would wait for a writer


def _digest(name: str, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + code).hexdigest().encode()


def _is_trusted(file: os.stat_result) -> bool:
    """Whether nobody else could have written a file: its owner is this user, root, or the owner of the library."""
    if not stat.S_ISREG(file.st_mode):
        return False
    if not hasattr(os, "geteuid"):  # Windows
        return True
    return file.st_uid in (os.geteuid(), 0, _BESIDE.stat().st_uid) and not file.st_mode & stat.S_IWOTH


def keep(name: str, digest: str, layout: str, code: bytes) -> None:
    """Write machine code to disk, whole or not at all; warn once where that is not possible."""
    write({file_name(name, digest, layout): code})


def write(files: Mapping[str, bytes]) -> None:
    """Write files, each whole or not at all; warn once where that is not possible."""
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _make_room(folder)
            for file, code in files.items():
                _write_file(folder / file, code)
            return
        except OSError:
            continue
    _warn_once(
        "compiled code cannot be kept on disk; every process compiles again, which takes some seconds. "
        "Set NUMBA_CACHE_DIR to a folder that can be written."
    )


def _write_file(path: Path, code: bytes) -> None:
    """Write a file, whole or not at all. It need not reach the disk at once: one that is not whole is not read."""
    temporary = path.with_name(f".{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(_digest(path.name, code) + b"\n" + code)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _make_room(folder: Path) -> None:
    """Remove the oldest files, and what killed processes have left. Other processes may do the same at this moment."""
    ages: dict[Path, float] = {}
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            ages[file] = file.stat().st_mtime
    spare: list[Path] = []
    for suffix in (".kernel", ".part"):
        kept = sorted((file for file in ages if file.suffix == suffix), key=ages.__getitem__)
        spare += kept[: 1 - MOST_FILES] if len(kept) >= MOST_FILES else []
    now = time.time()
    for file in [*spare, *(file for file in ages if _is_unfinished(file.name) and now - ages[file] > _DEAD)]:
        file.unlink(missing_ok=True)


def _is_unfinished(name: str) -> bool:
    return len(name) == 33 and name[0] == "." and set(name[1:]) <= set("0123456789abcdef")


def _folders() -> list[Path]:
    """The folder of machine code: the one that the user sets, one beside the sources, or one in the home folder."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named)]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    own = [Path(home) / "treewright"] if os.path.isabs(home) else []  # a user without a home has "~" there
    return [_BESIDE / "__pycache__", *own]


def file_name(name: str, digest: str, layout: str, kind: str = "kernel") -> str:
    """The name of the file with code for arguments of a layout."""
    key = repr((digest, layout, _environment())).encode()
    return f"{name}-{hashlib.sha256(key).hexdigest()[:24]}.{kind}"


@cache
def _environment() -> tuple[str, ...]:
    """Everything else that machine code depends on."""
    import llvmlite.binding as llvm

    sources = hashlib.sha256(b"".join(file.read_bytes() for file in _COMPILER)).hexdigest()
    processor = f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    versions = (version(name) for name in ("numba", "llvmlite", "numpy"))
    settings = (f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("NUMBA_") and k not in _NO_CODE)
    return str(_FORMAT), sources, str(sys.implementation.cache_tag), processor, *versions, *settings


@cache
def _warn_once(message: str) -> None:
    warnings.warn(message, stacklevel=4)
