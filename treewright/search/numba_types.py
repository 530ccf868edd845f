"""The Numba types of tasks and kinds, which have no value at run time, and methods selected at compile time."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import NativeValue, models, overload_method, register_model, unbox

from treewright.search.compiling import numba_internals
from treewright.search.native import Static

__all__ = ["StaticType", "type_of"]


class StaticType(types.Type):  # type: ignore[misc]
    """The type of a :class:`~treewright.search.native.Static`: its name, and the digest of its functions."""

    def __init__(self, key: tuple[str, str]) -> None:
        self._key = key
        super().__init__(name="Static({}:{})".format(*key))

    @property
    def key(self) -> tuple[str, str]:
        """The key by which types are equal."""
        return self._key


register_model(StaticType)(models.OpaqueModel)

_FUNCTIONS: dict[tuple[str, str], dict[str, Any]] = {}
_declared: set[str] = set()


def type_of(static: Static) -> StaticType:
    """The type of a static argument; it has the functions of the first object with the same key."""
    key = static.static_key()
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = static.compiled_functions()
        _declare(_FUNCTIONS[key])
    return StaticType(key)


@unbox(StaticType)  # type: ignore[untyped-decorator]
def _unbox(typ: StaticType, obj: Any, context: Any) -> Any:
    return NativeValue(context.context.get_dummy_value())


def _find(kind: StaticType, name: str) -> Any:
    found = _FUNCTIONS[kind.key].get(name)
    return None if found is None else found.dispatcher


def _declare(names: Any) -> None:
    """Declare methods by the public interface of Numba, if our own (:func:`give_methods`) is not available."""
    if _methods is None:
        for name in set(names) - _declared:
            _declared.add(name)
            _overload(name)


def _overload(name: str) -> None:
    @overload_method(StaticType, name)  # type: ignore[untyped-decorator]
    def resolve(value: Any, *arguments: Any) -> Any:
        function = _find(value, name)

        def call(value: Any, *arguments: Any) -> Any:
            return function(*arguments)

        return call


_methods = numba_internals()
if _methods is not None:
    _methods.give_methods(StaticType, _find)
