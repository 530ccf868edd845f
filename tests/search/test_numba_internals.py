"""What our own classes below Numba's do: helpers as parts of kernels, and nothing changed for other users of Numba."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

from treewright.search import compiled, kernel, mix, numba_internals
from treewright.search.compiling import inlined, interpreted, lean
from treewright.search.digest import code_digest
from treewright.search.numba_internals import Flags, KernelLibrary, PartLibrary

pytestmark = pytest.mark.jit


@compiled
def scaled(n, by):
    return n * by


@compiled
def sums(n):
    return scaled(n, 2) + scaled(n, 3) + scaled(n, np.int64(4))


@compiled  # called from Python below, and so compiled as a kernel is, but never loaded from disk
def outer(n):
    return sums(n) + scaled(n, 1)


@compiled
def even(n):
    if n == 0:
        return True
    return odd(n - 1)


@compiled
def odd(n):
    if n == 0:
        return False
    return even(n - 1)


@lean
def checked(n, most):
    if n > most:
        raise ValueError("too large")
    return n


@kernel
def checking(n, most):
    return checked(n, most)


def test_this_version_of_numba_has_the_private_parts_that_are_used():
    assert numba_internals.supported(), f"Numba {numba.__version__} needs changes in numba_internals.py"


def test_helpers_become_no_machine_code_and_literals_no_variants(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # parts that are on disk are not compiled
    assert outer(5) == 50
    [result] = outer.dispatcher.overloads.values()
    assert isinstance(result.library, KernelLibrary)
    for helper in (scaled, sums):
        assert not helper.dispatcher.overloads
        [part] = helper.dispatcher.part.overloads.values()
        assert isinstance(part.library, PartLibrary)
        assert part.library.get_pointer_to_function(part.fndesc.llvm_func_name) == 0


def test_only_the_kernel_can_be_seen_from_outside():
    outer(5)
    [result] = outer.dispatcher.overloads.values()
    seen = [f.name for f in result.library.get_defined_functions() if f.linkage.name != "internal"]
    assert seen == [result.fndesc.llvm_cpython_wrapper_name]
    assert code_digest(outer.py_func) in result.fndesc.llvm_func_name


def test_python_can_call_a_helper():
    assert even(4)
    assert scaled(2.0, 3) == 6.0


def test_a_kernel_can_call_a_kernel():
    @kernel
    def twice(n):
        return checking(n, 10) + checking(n + 1, 10)

    assert twice(1) == 3


def test_a_function_may_be_defined_again():
    """As a cell of a notebook that runs twice: names in compiled code are the same, and so is the code."""

    def define(by):
        @compiled
        def raised(n):
            if n > by:
                raise ValueError("too large")
            return n + by

        @kernel
        def both(n):
            return raised(n) + scaled(n, by)

        return raised, both

    found = []
    for by in (3, 3, 4):
        raised, both = define(by)
        found.append((raised(2), both(2), both(2.0)))
        with pytest.raises(ValueError, match="too large"):
            raised(5)
        del raised, both
        gc.collect()
    assert found == [(5, 11, 11.0), (5, 11, 11.0), (6, 14, 14.0)]


def test_inlined_helpers_leave_no_call():
    @inlined
    def middle(a, b):
        return a + (b - a) // 2

    @compiled
    def halves(n):
        total = 0
        for k in range(n):
            total += middle(k, n) + middle(0, k)
        return total

    assert halves(9) == sum(k + (9 - k) // 2 + k // 2 for k in range(9))
    [result] = halves.dispatcher.overloads.values()
    assert not [f.name for f in result.library.get_defined_functions() if "middle" in f.name]


def test_functions_of_plain_numba_can_call_helpers():
    @numba.njit
    def plain(n):
        return sums(n) + mix(n, 1)

    assert plain(5) == 45 + mix(5, 1)
    [result] = plain.overloads.values()
    assert type(result.library) is JITCodeLibrary


def test_overloaded_functions_serve_kernels_and_plain_numba_alike():
    def total(n):
        return np.cumsum(np.arange(n))[-1] + np.zeros(n).sum()

    assert kernel(total)(5) == numba.njit(total)(5) == total(5)
    assert numba.njit(total)(6) == total(6)


def test_functions_that_call_each_other():
    @kernel
    def is_even(n):
        return even(n)

    @kernel
    def is_odd(n):
        return odd(n)

    assert [is_even(n) for n in range(3)] == [True, False, True]
    assert [is_odd(n) for n in range(3)] == [False, True, False]


def test_errors_of_helpers_reach_python():
    assert checking(3, 4) == 3
    with pytest.raises(ValueError, match="too large"):
        checking(5, 4)


class Inner(NamedTuple):
    one: Any
    two: Any


class Outer(NamedTuple):
    inner: Inner
    least: int


@compiled
def longer(values, by):
    """New arrays, and arguments handed back: references to both are counted."""
    if values.shape[0] >= by:
        return values
    grown = np.zeros(by, values.dtype)
    for k in range(values.shape[0]):
        grown[k] = values[k]
    return grown


@kernel
def walks(outer, turns, spare):
    inner = outer.inner
    for turn in range(turns):
        one, two = inner.one, inner.two
        if turn % 2:
            inner = Inner(two, longer(one, outer.least + turn))
        else:
            spare = longer(spare, outer.least + turn)
        spare[0] += inner.one[0] + inner.two[turn % inner.two.shape[0]]
    kept = outer.inner
    return kept.one, inner.two, spare


@pytest.mark.parametrize("through_numba", [False, True])
def test_fields_of_arguments_are_borrowed_and_what_is_returned_is_kept(through_numba):
    """Values and counts of references are the interpreter's, also where arrays come from Python's memory."""

    def given():
        arrays = [np.arange(3.0), np.arange(5.0, 9.0), np.ones(1)]
        return arrays, (Outer(Inner(*arrays[:2]), 2), 6, arrays[2])

    run = walks.dispatcher if through_numba else walks
    wanted = interpreted(walks)(*given()[1])
    arrays, arguments = given()
    counts = [sys.getrefcount(array) for array in arrays]
    for _ in range(3):  # memory that is given back too early would be used again
        arrays[2][0] = 1.0
        found = run(*arguments)
        for one, two in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, two)
        del found, one
    assert [sys.getrefcount(array) for array in arrays] == counts


@kernel
def first_of(outer):
    return outer.inner.one[0] + outer.inner.two[0]


def test_arrays_that_cannot_be_written_do_not_make_a_second_variant():
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    assert first_of(Outer(Inner(frozen, np.ones(2)), 2)) == 1.0
    numba_internals.object_code(first_of.dispatcher, (Outer(Inner(frozen, np.ones(2)), 2),))
    assert len(first_of.dispatcher.part.overloads) == 1


def test_flags_are_compared_by_their_values():
    one, two, plain = Flags(), Flags(), numba.core.compiler.Flags()
    assert one == two == plain
    assert hash(one) == hash(two) == hash(plain)
    one.nrt = False  # the default, but set
    assert one == two == plain
    two.nrt = True
    assert one != two
    assert two != plain


PROGRAM = """
import sys
sys.modules["treewright.search.numba_internals"] = None  # as if Numba had changed
import warnings
warnings.simplefilter("error")
import numpy as np
from treewright.search import Task, compiled, inlined, kernel
from treewright.search.compiling import numba_internals

try:
    numba_internals()
except UserWarning as warning:
    print(warning)
warnings.simplefilter("ignore")
assert numba_internals() is None

@inlined
def middle(a, b):
    return (a + b) // 2

@compiled
def helper(n):
    return middle(n, n + 4)

class Adding(Task):
    state = {"total": 1}
    instance = ("words",)
    n_actions = 1

    def step(x, state, action):
        state.total[0] += helper(x.words[action])

    def encode(self, sentence):
        return {"words": sentence}

@kernel
def run(task, corpus, buffer):
    x = task.instance_view(corpus, 0)
    state = task.state_view(buffer, x.n)
    task.step(x, state, 1)

task, buffer = Adding(), np.zeros(1, np.int32)
run(task, task.pack([[5, 6, 7]]).arrays, buffer)
print(buffer[0], helper(1))
"""


def test_another_version_of_numba_runs_uncached_and_says_so():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    warning, result = done.stdout.splitlines()
    assert numba.__version__ in warning
    assert result == "8 3"
