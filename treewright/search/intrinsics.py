"""What stands in compiled code for functions that the interpreter runs otherwise: vector and bit instructions.

:mod:`treewright.search.lanes` and :mod:`treewright.search.bits` have the functions and say what they mean. Every digest
of compiled code contains this file as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from treewright.search.bits import highest, lowest
from treewright.search.lanes import (
    LANES,
    add_product,
    add_scaled,
    any_above,
    dot,
    raise_to_shifted,
    raise_to_sum,
    set_block,
)

__all__: list[str] = []


@intrinsic  # type: ignore[untyped-decorator]
def _trailing_zeros(context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]
def _leading_zeros(context: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), build


@overload(lowest)  # type: ignore[untyped-decorator]
def _lowest(bits: Any) -> Any:
    def built(bits: Any) -> Any:
        return _trailing_zeros(np.uint64(bits))

    return built


@overload(highest)  # type: ignore[untyped-decorator]
def _highest(bits: Any) -> Any:
    def built(bits: Any) -> Any:
        return np.int64(63) - _leading_zeros(np.uint64(bits))

    return built


def _are_alike(arrays: list[Any]) -> bool:
    """Blocks are loaded whole: numbers of different types, or with gaps between them, would be misread."""
    first = arrays[0]
    return all(
        isinstance(array, types.Array)
        and isinstance(array.dtype, types.Float)
        and (array.dtype, array.ndim, array.layout) == (first.dtype, 1, "C")
        for array in arrays
    )


def _block(context: Any, builder: Any, kind: Any, array: Any, place: Any, vector: Any) -> Any:
    """The address of a block of an array, which is checked where Numba checks indices (``NUMBA_BOUNDSCHECK=1``)."""
    whole = context.make_array(kind)(context, builder, array)
    if context.enable_boundscheck:
        [size] = cgutils.unpack_tuple(builder, whole.shape)
        cgutils.do_boundscheck(context, builder, place, size)
        cgutils.do_boundscheck(context, builder, builder.add(place, place.type(LANES - 1)), size)
    return builder.bitcast(builder.gep(whole.data, [place]), vector.as_pointer())


def _vector_operation(places: int, number: bool, combine: Callable[..., Any]) -> Any:
    """The compiled twin of a function over ``places`` blocks (the first is changed) and perhaps a number."""

    def typed(context: Any, arguments: Any) -> Any:
        array = arguments[0]
        if not _are_alike([arguments[2 * k] for k in range(places)]):
            return None

        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            items = cgutils.unpack_tuple(builder, values[0])
            element = context.get_value_type(array.dtype)
            vector = ir.VectorType(element, LANES)
            pointers = [
                _block(context, builder, arguments[2 * k], items[2 * k], items[2 * k + 1], vector)
                for k in range(places)
            ]
            blocks = [builder.load(pointer, align=array.dtype.bitwidth // 8) for pointer in pointers]
            if number:
                blocks.append(_spread(builder, vector, items[-1]))
            builder.store(combine(builder, *blocks), pointers[0], align=array.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.none(arguments), build

    return intrinsic(typed)


@intrinsic  # type: ignore[untyped-decorator]
def _any_above(context: Any, left: Any, i: Any, by: Any, right: Any, j: Any) -> Any:
    if not _are_alike([left, right]):
        return None

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(context.get_value_type(left.dtype), LANES)
        blocks = []
        for kind, array, place in ((left, values[0], values[1]), (right, values[3], values[4])):
            at = _block(context, builder, kind, array, place, vector)
            blocks.append(builder.load(at, align=left.dtype.bitwidth // 8))
        above = builder.fcmp_ordered(">", builder.fadd(blocks[0], _spread(builder, vector, values[2])), blocks[1])
        bits = builder.bitcast(above, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(left, i, by, right, j), build


@intrinsic  # type: ignore[untyped-decorator]
def _dot(context: Any, left: Any, i: Any, right: Any, j: Any) -> Any:
    if not _are_alike([left, right]):
        return None

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(context.get_value_type(left.dtype), LANES)
        blocks = []
        for kind, array, place in ((left, values[0], values[1]), (right, values[2], values[3])):
            at = _block(context, builder, kind, array, place, vector)
            blocks.append(builder.load(at, align=left.dtype.bitwidth // 8))
        sums, count = builder.fmul(*blocks), LANES
        while count > 1:
            count //= 2
            halves = [
                ir.Constant(ir.VectorType(ir.IntType(32), count), [2 * k + odd for k in range(count)]) for odd in (0, 1)
            ]
            sums = builder.fadd(*(builder.shuffle_vector(sums, sums, half) for half in halves))
        found = builder.extract_element(sums, ir.Constant(ir.IntType(32), 0))
        return context.cast(builder, found, left.dtype, types.float64)

    return types.float64(left, i, right, j), build


def _spread(builder: Any, vector: Any, number: Any) -> Any:
    """A vector of one number."""
    nothing = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _maximum(builder: Any, one: Any, two: Any) -> Any:
    # a comparison and a selection would become a masked store, which a load that follows soon has to wait for
    kind = ir.FunctionType(one.type, [one.type, one.type])
    bits = 32 if isinstance(one.type.element, ir.FloatType) else 64
    maximum = cgutils.get_or_insert_function(builder.module, kind, f"llvm.maxnum.v{LANES}f{bits}")
    return builder.call(maximum, [one, two], fastmath=("nnan", "nsz"))


_raise_to_sum = _vector_operation(3, False, lambda b, out, left, right: _maximum(b, out, b.fadd(left, right)))
_raise_to_shifted = _vector_operation(2, True, lambda b, out, left, by: _maximum(b, out, b.fadd(left, by)))
_add_product = _vector_operation(
    4, False, lambda b, out, left, right, factor: b.fadd(out, b.fmul(b.fmul(left, right), factor))
)
_set_block = _vector_operation(1, True, lambda b, out, to: to)
_add_scaled = _vector_operation(2, True, lambda b, out, left, by: b.fadd(out, b.fmul(left, by)))


@overload(raise_to_sum, inline="always")  # type: ignore[untyped-decorator]
def _(out: Any, o: Any, left: Any, i: Any, right: Any, j: Any) -> Any:
    def built(out: Any, o: Any, left: Any, i: Any, right: Any, j: Any) -> None:
        _raise_to_sum((out, np.int64(o), left, np.int64(i), right, np.int64(j)))

    return built


@overload(raise_to_shifted, inline="always")  # type: ignore[untyped-decorator]
def _(out: Any, o: Any, left: Any, i: Any, by: Any) -> Any:
    as_float = np.float32 if out.dtype == types.float32 else np.float64

    def built(out: Any, o: Any, left: Any, i: Any, by: Any) -> None:
        _raise_to_shifted((out, np.int64(o), left, np.int64(i), as_float(by)))

    return built


@overload(add_product, inline="always")  # type: ignore[untyped-decorator]
def _(out: Any, o: Any, left: Any, i: Any, right: Any, j: Any, factor: Any, k: Any) -> Any:
    def built(out: Any, o: Any, left: Any, i: Any, right: Any, j: Any, factor: Any, k: Any) -> None:
        _add_product((out, np.int64(o), left, np.int64(i), right, np.int64(j), factor, np.int64(k)))

    return built


@overload(add_scaled, inline="always")  # type: ignore[untyped-decorator]
def _(out: Any, o: Any, left: Any, i: Any, by: Any) -> Any:
    as_float = np.float32 if out.dtype == types.float32 else np.float64

    def built(out: Any, o: Any, left: Any, i: Any, by: Any) -> None:
        _add_scaled((out, np.int64(o), left, np.int64(i), as_float(by)))

    return built


@overload(any_above, inline="always")  # type: ignore[untyped-decorator]
def _(left: Any, i: Any, by: Any, right: Any, j: Any) -> Any:
    as_float = np.float32 if left.dtype == types.float32 else np.float64

    def built(left: Any, i: Any, by: Any, right: Any, j: Any) -> Any:
        return _any_above(left, np.int64(i), as_float(by), right, np.int64(j))

    return built


@overload(dot, inline="always")  # type: ignore[untyped-decorator]
def _(left: Any, i: Any, right: Any, j: Any) -> Any:
    def built(left: Any, i: Any, right: Any, j: Any) -> Any:
        return _dot(left, np.int64(i), right, np.int64(j))

    return built


@overload(set_block, inline="always")  # type: ignore[untyped-decorator]
def _(out: Any, o: Any, to: Any) -> Any:
    as_float = np.float32 if out.dtype == types.float32 else np.float64

    def built(out: Any, o: Any, to: Any) -> None:
        _set_block((out, np.int64(o), as_float(to)))

    return built
