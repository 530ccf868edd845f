"""Entries: functions that rebuild the arguments of a kernel from the numbers in a table, and call it.

The Python source of an entry is generated for one layout, and compiled together with the kernel. An intrinsic reads
each argument from the table. See :mod:`treewright.search.native` for the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

__all__ = ["Entry", "NoPlace", "write_entry"]

#: The offsets of two fields in a NumPy array object, fixed by NumPy's C interface: the address of the data, and that of
#: the sizes. The number of dimensions (an int, padded) is between them.
ARRAY_DATA = object.__basicsize__
ARRAY_SIZES = ARRAY_DATA + 16


class NoPlace(Exception):
    """A result cannot be represented in the table."""


class Entry(NamedTuple):
    """An entry: the function, the types of its arguments, and the information that its caller needs."""

    function: Any
    types: tuple[Any, ...]
    about: dict[str, Any]


def write_entry(function: Any, returned: Any, arguments: tuple[Any, ...]) -> Entry:
    """The entry of a compiled function, for arguments of these types; ``returned`` is the type of its result."""
    return _Writer(function).write(returned, arguments)


class _Writer:
    def __init__(self, function: Any) -> None:
        self.names: dict[str, Any] = {
            "as_bits": _as_bits,
            "give_away": _give_away,
            "np": np,
            "kernel": function,
            "__name__": __name__,
        }
        self.lines: list[str] = []
        self.places = count()

    def write(self, returned: Any, arguments: tuple[Any, ...]) -> Entry:
        for k, kind in enumerate(arguments):
            self.names[f"read_{k}"] = _reader(kind, self.places)
        call = f"kernel({', '.join(f'read_{k}(t)' for k in range(len(arguments)))})"
        nothing = returned == types.none
        self.lines.append(call if nothing else f"r = {call}")
        result = None if nothing else self._result("r", returned)
        exec("def entry(t):\n" + "".join(f"    {line}\n" for line in self.lines), self.names)
        return Entry(self.names["entry"], (types.CPointer(types.int64),), {"result": result})

    def _result(self, value: str, kind: Any) -> Any:
        """Write a result to the table, and return its description."""
        if isinstance(kind, types.BaseTuple):
            record = getattr(kind, "instance_class", None)
            parts = [self._result(f"{value}[{k}]", part) for k, part in enumerate(kind)]
            return {"record": [record.__module__, record.__qualname__] if record else None, "parts": parts}
        if isinstance(kind, types.Array) and kind.layout == "C":
            self.lines.append(f"{self._next()}, {self._next()} = give_away({value})")
            for k in range(kind.ndim):
                self.lines.append(f"{self._next()} = {value}.shape[{k}]")
            return f"{as_dtype(kind.dtype).str}*{kind.ndim}"
        if isinstance(kind, types.Float):
            self.lines.append(f"{self._next()} = as_bits(np.float64({value}))")
            return "float"
        if isinstance(kind, (types.Boolean, types.Integer)):
            self.lines.append(f"{self._next()} = np.int64({value})")
            return "bool" if isinstance(kind, types.Boolean) else "int"
        raise NoPlace(str(kind))

    def _next(self) -> str:
        return f"t[{next(self.places)}]"


def _reader(kind: Any, places: Iterator[int]) -> Any:
    """What makes an argument of a type, from the next places of a table."""
    taken = [next(places) for _ in range(_size(kind))]

    @intrinsic  # type: ignore[untyped-decorator]
    def read(typing_context: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            cells = [builder.load(builder.gep(values[0], [ir.Constant(_CELL, place)])) for place in taken]
            return _build(context, builder, kind, iter(cells))

        return kind(table), generate

    return read


_CELL = ir.IntType(64)


def _size(kind: Any) -> int:
    """The number of places that an argument of a type takes."""
    if isinstance(kind, types.BaseTuple):
        return sum(map(_size, kind))
    return int(isinstance(kind, (types.Array, types.Boolean, types.Number)))


def _build(context: Any, builder: Any, kind: Any, cells: Iterator[Any]) -> Any:
    """A value of a type, from the cells of a table."""
    wanted = context.get_value_type(kind)
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, next(cells))
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_build(context, builder, part, cells) for part in kind])
    if isinstance(kind, types.Boolean):
        return builder.icmp_unsigned("!=", next(cells), ir.Constant(_CELL, 0))
    if isinstance(kind, types.Float):
        number = builder.bitcast(next(cells), ir.DoubleType())
        return builder.fptrunc(number, wanted) if wanted != number.type else number
    if isinstance(kind, types.Integer):
        number = next(cells)
        return builder.trunc(number, wanted) if wanted != number.type else number
    return context.get_dummy_value()


def _array(context: Any, builder: Any, kind: Any, address: Any) -> Any:
    """An array without gaps, whose memory belongs to the caller, from the address of the NumPy array."""
    model = context.data_model_manager[kind]
    data, sizes = (
        builder.load(builder.inttoptr(builder.add(address, ir.Constant(_CELL, place)), _CELL.as_pointer()))
        for place in (ARRAY_DATA, ARRAY_SIZES)
    )
    sizes = builder.inttoptr(sizes, _CELL.as_pointer())
    shape = [builder.load(builder.gep(sizes, [ir.Constant(_CELL, k)])) for k in range(kind.ndim)]
    size = ir.Constant(_CELL, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    items = shape[0] if shape else ir.Constant(_CELL, 1)
    for length in shape[1:]:
        items = builder.mul(items, length)
    fields = {
        "data": builder.inttoptr(data, context.get_value_type(model.get_type("data"))),
        "itemsize": size,
        "meminfo": ir.Constant(context.get_value_type(model.get_type("meminfo")), None),
        "nitems": items,
        "parent": ir.Constant(context.get_value_type(model.get_type("parent")), None),
        "shape": context.make_tuple(builder, model.get_type("shape"), shape),
        "strides": context.make_tuple(builder, model.get_type("strides"), strides[: len(shape)]),
    }
    array = ir.Constant(model.get_value_type(), ir.Undefined)
    for name, value in fields.items():
        array = model.set(builder, array, value, name)
    return array


@intrinsic  # type: ignore[untyped-decorator]
def _as_bits(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _give_away(typing_context: Any, array: Any) -> Any:
    """The addresses of the header and of the data of an array, which the caller must free."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        context.nrt.incref(builder, array, values[0])
        found = context.make_array(array)(context, builder, values[0])
        whole = context.get_value_type(types.int64)
        addresses = [builder.ptrtoint(pointer, whole) for pointer in (found.meminfo, found.data)]
        return context.make_tuple(builder, signature.return_type, addresses)

    return types.UniTuple(types.int64, 2)(array), generate
