"""Model files: arrays and a JSON document in one file, without code.

A model file (``*.tw``) is a safetensors file, so that other tools can read it::

    8 bytes      length of the header, little-endian
    header       {"__metadata__": {"sha256": "…", "treewright": "{…}"}, "weights": {"dtype": "F32", …}, …}
    data         the arrays, C order, little-endian, concatenated without gaps

The string under ``treewright`` is a JSON document: name and version of the format, the version of Treewright
that wrote it, the task, its configuration (every setting, resolved), the *card* (the origin of the model: seed,
corpus hashes, library versions, scores, date) and the SHA-256 of the data. ``sha256`` is the checksum of
everything before the data, computed with its own 64 digits set to zeros. So the header can be trusted without
reading the arrays, and a change of any byte is detected. (The checksum guards against accidents; it is not a
signature.)

The same input gives the same bytes; the caller provides dates, seeds and versions.

>>> import numpy as np, tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder, "toy.tw")
...     write_model(path, task="tagging", config={"epochs": 5}, card={"seed": 1, "date": "2025-01-31"},
...                 arrays={"weights": np.eye(2, dtype=np.float32)})
...     model = read_model(path, expect_task="tagging")
>>> model.config, model.card["seed"], model.arrays["weights"].tolist()
({'epochs': 5}, 1, [[1.0, 0.0], [0.0, 1.0]])
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from io import BufferedReader
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from treewright.errors import ModelError
from treewright.files import atomic_write

__all__ = [
    "FORMAT_VERSION",
    "ModelFile",
    "library_versions",
    "new_model_file",
    "pack_strings",
    "read_model",
    "unpack_strings",
    "write_model",
]

FORMAT = "treewright-model"
FORMAT_VERSION = 1
"""The version of the format that is written, and the newest one that can be read."""

Array = npt.NDArray[Any]

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_PREFIX = b'{"__metadata__":{"sha256":"'
_ZEROS = b"0" * 64
_MAX_HEADER = 100_000_000  # the limit of safetensors itself
_MOST_KEYS = 100_000  # of one object in the header: a key takes twenty times its memory while it is read


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """The contents of a model file."""

    format_version: int
    task: str
    config: dict[str, Any]
    arrays: dict[str, Array] = field(repr=False)
    """The arrays by name; empty if only the header was read."""
    card: dict[str, Any]
    treewright: str
    """The version of Treewright that wrote the file."""
    sha256: str
    """The checksum of the header. The header contains the checksum of the arrays, so this identifies the whole file."""
    layout: dict[str, tuple[str, tuple[int, ...]]] = field(repr=False)
    """Data type and shape of every array, even if only the header was read."""


def new_model_file(
    task: str, config: Mapping[str, Any], arrays: Mapping[str, Any], card: Mapping[str, Any]
) -> ModelFile:
    """The contents of a model file that has not been written: it has no checksum."""
    return ModelFile(FORMAT_VERSION, task, dict(config), dict(arrays), dict(card), _own_version(), "", {})


def write_model(
    path: str | os.PathLike[str],
    *,
    task: str,
    config: Mapping[str, Any],
    arrays: Mapping[str, npt.ArrayLike],
    card: Mapping[str, Any],
) -> None:
    """Write a model file completely or not at all: an existing file is replaced only by a complete new one.

    ``config`` and ``card`` may contain JSON values: dictionaries with string keys, lists, strings, finite
    numbers, true, false, None. Tuples are written as lists, NumPy's scalars as numbers. Write long lists of
    strings as arrays, see :func:`pack_strings`.

    Raises :class:`~treewright.errors.ModelError` if a value cannot be stored or the file cannot be written.
    """
    if not isinstance(task, str) or not task:
        raise ModelError(f"the task of a model is a name, not {task!r}")
    if len(arrays) >= _MOST_KEYS:
        raise ModelError(f"more than {_MOST_KEYS:,} arrays: put several into one")
    stored = _storable(arrays)
    digest = hashlib.sha256()
    entries: dict[str, Any] = {}
    begin = 0
    for name, array in stored:
        digest.update(_bytes(array))
        end = begin + array.nbytes
        entries[name] = {
            "dtype": _CODES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "treewright": _own_version(),
        "task": _plain(task, "task"),
        "config": _plain(config, "config"),
        "card": _plain(card, "card"),
        "arrays_sha256": digest.hexdigest(),
    }
    about = {"sha256": _ZEROS.decode(), "treewright": _dump(document)}
    head = _sign(_dump({"__metadata__": about, **entries}))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ModelError(f"{path}: this is a folder or a device; name a file for the model")
    try:
        with atomic_write(path, "wb", error=ModelError) as file:
            file.write(head)
            for _, array in stored:
                file.write(_bytes(array))
    except OSError as error:
        raise ModelError(f"{path}: the model cannot be written: {(error.strerror or str(error)).lower()}") from error


def read_model(path: str | os.PathLike[str], *, arrays: bool = True, expect_task: str | None = None) -> ModelFile:
    """Read a model file and verify its checksums. Nothing in it is executed.

    With ``arrays=False`` only the header is read and checked, which is quick for a file of any size. The arrays are
    writable, and each has its own buffer.

    Raises :class:`~treewright.errors.ModelError` if the file does not exist, if it is not a model, truncated,
    damaged or of a newer format, or if it is a model for another task than ``expect_task``.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):  # checked before opening, because opening a pipe would block
            what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise ModelError(f"{path}: this is {what}; a model file is needed")
        with open(path, "rb") as file:
            return _read(path, file, arrays, expect_task)
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such model file") from None
    except OSError as error:
        raise ModelError(f"{path}: the model file cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a null byte in the name
        raise ModelError(f"{os.fspath(path)!r}: the model file cannot be read: {error}") from error


def library_versions(*others: str) -> dict[str, str]:
    """The versions that a model card records: Python, NumPy, Numba, Treewright, and other packages by name.

    >>> sorted(library_versions())
    ['numba', 'numpy', 'python', 'treewright']
    >>> sorted(library_versions("penman"))
    ['numba', 'numpy', 'penman', 'python', 'treewright']
    """
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        **{name: _installed_version(name) for name in ("numba", *others)},
        "treewright": _own_version(),
    }


def _installed_version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)  # importing Numba only to ask would take half a second
    except metadata.PackageNotFoundError:
        return "unknown"


def pack_strings(strings: Iterable[str], name: str = "strings") -> dict[str, Array]:
    """A list of strings as two arrays: their UTF-8 bytes, and the offset of each string and of the end.

    Use it for vocabularies, which would bloat the JSON document. :func:`unpack_strings` is the inverse.

    >>> packed = pack_strings(["le", "été"], "words")
    >>> {name: array.tolist() for name, array in packed.items()}
    {'words.utf8': [108, 101, 195, 169, 116, 195, 169], 'words.offsets': [0, 2, 7]}
    >>> unpack_strings(packed, "words")
    ['le', 'été']
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(code) for code in encoded], out=offsets[1:])
    if offsets[-1] < 2**32:
        offsets = offsets.astype(np.uint32)
    return {f"{name}.utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{name}.offsets": offsets}


def unpack_strings(arrays: Mapping[str, Array], name: str = "strings") -> list[str]:
    """The strings that :func:`pack_strings` packed under this name."""
    try:
        utf8, offsets = arrays[f"{name}.utf8"], arrays[f"{name}.offsets"]
    except KeyError as error:
        raise ModelError(f"the model lacks the array {error}, a part of its list of {name}") from None
    if (
        utf8.dtype != np.uint8
        or offsets.dtype.kind not in "iu"
        or utf8.ndim != 1
        or offsets.ndim != 1
        or not len(offsets)
        or offsets[0] != 0
        or offsets[-1] != len(utf8)
        or (offsets[1:] < offsets[:-1]).any()
    ):
        raise ModelError(f"the model's list of {name} is inconsistent: its offsets do not fit its bytes")
    try:  # decoding all strings together and cutting them apart is twice as fast as decoding each
        text = utf8.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ModelError(f"the model's list of {name} is not valid UTF-8: {error}") from None
    if len(text) < len(utf8):  # some characters have several bytes
        begins = np.append((utf8 & 0xC0) != 0x80, True)
        if not begins[offsets].all():
            raise ModelError(f"the model's list of {name} is not valid UTF-8: a string ends within a character")
        offsets = (np.cumsum(begins) - 1)[offsets]
    return [text[begin:end] for begin, end in pairwise(offsets.tolist())]


def _own_version() -> str:
    # Not an import statement: the facade imports every package, and imports must point downwards.
    return str(import_module("treewright").__version__)


# ---- writing


def _storable(arrays: Mapping[str, npt.ArrayLike]) -> list[tuple[str, Array]]:
    """The arrays in the order of the file (widest first, so that all are aligned), ready to be written."""
    result = []
    for name, values in arrays.items():
        if not _is_name(name):
            raise ModelError(f"{name!r} cannot be the name of an array")
        array = np.asarray(values, order="C")
        dtype = array.dtype.newbyteorder("<")
        if dtype not in _CODES:
            raise ModelError(
                f"the array {name!r} holds {array.dtype}, which model files cannot store: "
                "booleans, integers and floats (of 16, 32 or 64 bits) only"
            )
        result.append((name, array.astype(dtype, copy=False)))
    return sorted(result, key=lambda item: (-item[1].itemsize, item[0]))


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _is_name(name: object) -> bool:
    """Whether an array can be called this: neither empty, nor with half a character in it."""
    return (
        isinstance(name, str)
        and name not in ("", "__metadata__")
        and not any("\ud800" <= char <= "\udfff" for char in name)
    )


def _plain(value: Any, where: str, depth: int = 0) -> Any:
    """A value as JSON that reads back as the same value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if value.bit_length() > 10_000:
            raise ModelError(f"{where}: an integer of more than 10,000 bits cannot be stored in a model file")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ModelError(f"{where}: {value} cannot be stored in a model file; use None for 'unknown'")
        return float(value)
    if depth >= 100:
        raise ModelError(f"{where[:100]}…: nested too deeply for a model file")
    if isinstance(value, Mapping):
        if len(value) > _MOST_KEYS:
            raise ModelError(f"{where}: more than {_MOST_KEYS:,} keys: put them among the arrays (pack_strings)")
        for key in value:
            if not isinstance(key, str):
                raise ModelError(f"{where}: the key {key!r} is not a string, so JSON would change it")
        return {str(key): _plain(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
    hint = ": put it among the arrays" if isinstance(value, np.ndarray) else ""
    raise ModelError(f"{where}: {type(value).__name__} cannot be stored in a model file{hint}")


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _sign(header: str) -> bytes:
    """All bytes before the data: the length and the header, padded to whole words, with its checksum."""
    raw = header.encode("ascii")
    raw += b" " * (-len(raw) % 8)
    if len(raw) > _MAX_HEADER:
        raise ModelError(
            f"the configuration and card take {len(raw):,} bytes, more than a model file can hold "
            f"({_MAX_HEADER:,}): store long lists of strings as arrays (pack_strings)"
        )
    head = len(raw).to_bytes(8, "little") + raw
    at = 8 + len(_PREFIX)
    return head[:at] + hashlib.sha256(head).hexdigest().encode() + head[at + 64 :]


# ---- reading


class _Damaged(Exception):
    """Something in the header contradicts the format."""


def _read(path: Any, file: BufferedReader, arrays: bool, expect_task: str | None) -> ModelFile:
    size = os.fstat(file.fileno()).st_size
    head = file.read(8 + len(_PREFIX))
    if not size:
        raise ModelError(f"{path}: not a model file: it is empty")
    length = int.from_bytes(head[:8], "little")
    ours = head[8:] == _PREFIX
    if length > min(_MAX_HEADER, size - 8):
        if len(head) < 9 or head[8:] != _PREFIX[: len(head) - 8] or length > _MAX_HEADER:
            _refuse(path, ours)
        raise ModelError(f"{path}: truncated: {size:,} bytes, and the header alone takes {length + 8:,}")
    head += file.read(8 + length - len(head)) if 8 + length > len(head) else b""
    try:
        header = _parse(head[8 : 8 + length].decode("utf-8"))
        document = _parse(_typed(_typed(header, dict).get("__metadata__"), dict).get("treewright"))
        if _typed(document, dict).get("format") != FORMAT:
            raise _Damaged
        version = _typed(document.get("format_version"), int)
        if version > 10_000:
            raise _Damaged
    except (_Damaged, UnicodeDecodeError):
        _refuse(path, ours)
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{path}: written by Treewright {str(document.get('treewright'))[:40]} with format {version}; "
            f"this version reads up to {FORMAT_VERSION}: upgrade Treewright"
        )
    at = 8 + len(_PREFIX)
    digest = head[at : at + 64]
    unsigned = head[:at] + _ZEROS + head[at + 64 :]
    if not ours or hashlib.sha256(unsigned).hexdigest().encode() != digest:
        raise ModelError(f"{path}: damaged: the checksum of the header does not match")
    try:
        tensors = _layout(header)
        model = ModelFile(
            format_version=version,
            task=_typed(document.get("task"), str),
            config=_typed(document.get("config"), dict),
            arrays={},
            card=_typed(document.get("card"), dict),
            treewright=_typed(document.get("treewright"), str),
            sha256=digest.decode("ascii"),
            layout={name: (dtype.name, shape) for name, dtype, shape in tensors},
        )
        expected_digest = _typed(document.get("arrays_sha256"), str)
        if version < 1 or not model.task:
            raise _Damaged
        for name, part in (("config", model.config), ("card", model.card)):
            _plain(part, name)  # what could not be written, such as 1e999, was not written by us
    except (_Damaged, ModelError):
        raise ModelError(f"{path}: damaged: the header does not make sense") from None
    data = sum(math.prod(shape) * dtype.itemsize for _, dtype, shape in tensors)
    expected = len(head) + data
    if size < expected:
        raise ModelError(f"{path}: truncated: {size:,} bytes of {expected:,}")
    if size > expected:
        raise ModelError(f"{path}: damaged: {size - expected:,} bytes too many at the end")
    if expect_task is not None and model.task != expect_task:
        raise ModelError(f"{path}: this is a model for {model.task[:40]}, and one for {expect_task} is needed")
    if arrays:
        try:
            found = _load(file, tensors, model.arrays)
        except _Damaged:
            raise ModelError(f"{path}: damaged: the arrays are not what the header says") from None
        if found != expected_digest:
            raise ModelError(f"{path}: damaged: the checksum of the arrays does not match")
    return model


def _refuse(path: Any, ours: bool) -> NoReturn:
    if ours:
        raise ModelError(f"{path}: damaged: the header of this model cannot be read")
    raise ModelError(f"{path}: not a model file of Treewright; commands take the model first, then the text or corpus")


def _parse(text: Any) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(pairs) > _MOST_KEYS:
            raise ValueError("too many keys")
        found = dict(pairs)
        if len(found) < len(pairs):  # which of two values counts would depend on the reader
            raise ValueError("a key twice")
        return found

    try:
        return json.loads(_typed(text, str), parse_constant=refuse, object_pairs_hook=object_of)
    except (ValueError, RecursionError):
        raise _Damaged from None


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _Damaged
    return value


def _layout(header: dict[str, Any]) -> list[tuple[str, np.dtype[Any], tuple[int, ...]]]:
    """Name, data type and shape of every array, in the order of the data; without gaps or overlaps."""
    result = []
    position = 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if not _is_name(name):
            raise _Damaged
        code, shape, offsets = (_typed(entry, dict).get(key) for key in ("dtype", "shape", "data_offsets"))
        dtype = _DTYPES.get(_typed(code, str))
        if dtype is None or any(_typed(extent, int) < 0 for extent in _typed(shape, list)):
            raise _Damaged
        end = position + math.prod(shape) * dtype.itemsize
        if offsets != [position, end] or end >= 2**63:
            raise _Damaged
        position = end
        result.append((name, dtype, tuple(shape)))
    return result


def _load(
    file: BufferedReader, tensors: list[tuple[str, np.dtype[Any], tuple[int, ...]]], into: dict[str, Array]
) -> str:
    """Read the arrays; return the checksum of their bytes."""
    digest = hashlib.sha256()
    for name, dtype, shape in tensors:
        try:
            array = np.empty(shape, dtype=dtype)
        except ValueError:  # more dimensions than NumPy has, or an empty array of an impossible shape
            raise _Damaged from None
        data = _bytes(array)
        if file.readinto(data) != len(data):
            raise _Damaged
        digest.update(data)
        if dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
            raise _Damaged
        into[name] = array.astype(dtype.newbyteorder("="), copy=False)
    return digest.hexdigest()
