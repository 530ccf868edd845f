"""Entries: functions that rebuild the arguments of a kernel from the numbers in a table, and call it.

The Python source of an entry is generated for one layout, and compiled together with the kernel. See
:mod:`treewright.search.native` for the table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray, from_dtype, typeof, types
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from treewright.search.native import Static

__all__ = ["Entry", "NoPlace", "write_entry"]


class NoPlace(Exception):
    """A result cannot be represented in the table."""


class Entry(NamedTuple):
    """An entry: the function, the types of its arguments, and the information that its caller needs."""

    function: Any
    types: tuple[Any, ...]
    about: dict[str, Any]


def write_entry(function: Any, returned: Any, arguments: tuple[Any, ...]) -> Entry:
    """The entry of a compiled function, for arguments like these; ``returned`` is the type of its result."""
    return _Writer(function).write(returned, arguments)


class _Writer:
    def __init__(self, function: Any) -> None:
        self.names: dict[str, Any] = {
            "carray": carray,
            "as_float": _as_float,
            "as_bits": _as_bits,
            "give_away": _give_away,
            "np": np,
            "kernel": function,
            "__name__": __name__,
        }
        self.statics: list[Any] = []
        self.lines: list[str] = []
        self.size = 0

    def write(self, returned: Any, arguments: tuple[Any, ...]) -> Entry:
        call = f"kernel({', '.join(self._expression(value) for value in arguments)})"
        nothing = returned == types.none
        self.lines.append(call if nothing else f"r = {call}")
        result = None if nothing else self._result("r", returned)
        parameters = "".join(f"s{k}, " for k in range(len(self.statics)))
        exec(f"def entry({parameters}t):\n" + "".join(f"    {line}\n" for line in self.lines), self.names)
        kinds = (*(typeof(value) for value in self.statics), types.CPointer(types.int64))
        return Entry(self.names["entry"], kinds, {"statics": len(self.statics), "result": result})

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
        self.size += 1
        return f"t[{self.size - 1}]"

    def _expression(self, value: Any) -> str:
        """The expression that makes an argument like this one."""
        if isinstance(value, np.ndarray):
            pointer = f"pointer_{value.dtype.str[1:]}"
            self.names.setdefault(pointer, _pointer_to(from_dtype(value.dtype)))
            name, address = f"a{self.size}", self._next()
            sizes = "".join(f"{self._next()}, " for _ in range(value.ndim))
            self.lines.append(f"{name} = carray({pointer}({address}), ({sizes}))")
            return name
        if isinstance(value, tuple):
            inner = "".join(f"{self._expression(part)}, " for part in value)
            if type(value) is tuple:
                return f"({inner})"
            name = f"Tuple_{len(self.names)}"
            self.names[name] = type(value)
            return f"{name}({inner})"
        if isinstance(value, (bool, np.bool_)):
            return f"({self._next()} != 0)"
        if isinstance(value, (float, np.floating)):
            number = f"as_float({self._next()})"
            return number if isinstance(value, float) else f"np.{value.dtype.name}({number})"
        if isinstance(value, (int, np.integer)):
            return self._next() if isinstance(value, int) else f"np.{value.dtype.name}({self._next()})"
        if isinstance(value, Static):
            self.statics.append(value)
            return f"s{len(self.statics) - 1}"
        return "None"


def _pointer_to(element: Any) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), generate

    return pointer


@intrinsic  # type: ignore[untyped-decorator]
def _as_float(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


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
