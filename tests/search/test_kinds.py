"""Kinds: the type of an object chooses, at compile time, which functions run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof

from treewright.search.compiling import compiled, kernel
from treewright.search.kinds import Kind


@compiled
def twice(value):
    return value + value


class Doubling(Kind):
    functions = ("apply",)

    def apply(values):
        for i in range(values.shape[0]):
            values[i] = twice(values[i])


class Sorting(Doubling):
    allocating = ("apply",)

    def apply(values):
        order = np.argsort(values)
        values[:] = values[order].copy()


class Bundle(NamedTuple):
    kind: Any
    values: Any


@kernel
def apply_pass(bundle: Bundle) -> float:
    bundle.kind.apply(bundle.values)
    return bundle.values[0]


@pytest.mark.parametrize("kind", [Doubling(), Sorting()])
def test_the_type_of_a_kind_chooses_the_function(kind):
    values = np.array([3.0, 1.0, 2.0])
    expected = values.copy()
    kind.plain().apply(expected)
    assert apply_pass(Bundle(kind, values)) == expected[0]
    np.testing.assert_array_equal(values, expected)


def test_a_subclass_inherits_what_it_does_not_replace():
    class Same(Doubling):
        pass

    assert Same.apply is Doubling.apply


@pytest.mark.jit
def test_types_differ_where_functions_do():
    class Tripling(Doubling):
        def apply(values):
            for i in range(values.shape[0]):
                values[i] = twice(values[i]) + values[i]

    assert len({kind().static_key() for kind in (Doubling, Sorting, Tripling)}) == 3
    assert len({typeof(kind()) for kind in (Doubling, Sorting, Tripling)}) == 3
    assert typeof(Doubling()) == typeof(Doubling())


@pytest.mark.jit
def test_interpreted_functions_call_interpreted_helpers():
    plain = Doubling().plain()
    assert not hasattr(plain.apply.__globals__["twice"], "py_func")
    values = np.array([1, 2])
    plain.apply(values)
    assert values.tolist() == [2, 4]
