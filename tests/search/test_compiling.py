from __future__ import annotations

import numpy as np
import pytest

from tests.toys import Picking, Track, random_picking, random_track
from treewright.search import compiled, interpreted, mix
from treewright.search import hashing as helpers
from treewright.search.compiling import at_once, compilations, in_bulk, is_disabled, kernel


@compiled
def triple(n):
    return n + n + n


@compiled
def with_helper(n):
    return triple(n) + 1


@compiled
def with_module(n):
    return helpers.mix(n, 1) + np.int64(triple(n))


@compiled
def down_to_zero(n):
    if n <= 0:
        return 0
    return down_to_zero(n - 1)


@kernel
def entry(n):
    return with_helper(n)


def is_compiled(function):
    return hasattr(function, "py_func")


def test_the_interpreted_twin_calls_no_compiled_helper():
    twin = interpreted(entry)
    assert twin(5) == entry(5) == 16
    assert not is_compiled(twin)
    assert not is_compiled(twin.__globals__["with_helper"])
    assert not is_compiled(twin.__globals__["with_helper"].__globals__["triple"])


def test_helpers_that_are_attributes_of_a_module_are_interpreted_too():
    twin = interpreted(with_module)
    assert twin(5) == with_module(5) == mix(5, 1) + 15
    assert not is_compiled(twin.__globals__["helpers"].mix)
    assert not is_compiled(twin.__globals__["triple"])
    assert twin.__globals__["np"].int64 is np.int64


def test_a_function_that_calls_itself_has_a_twin_that_calls_itself():
    twin = interpreted(down_to_zero)
    assert twin(3) == 0
    assert not is_compiled(twin.__globals__["down_to_zero"])


def test_helpers_in_a_closure_are_interpreted_too():
    def make(times, helper):
        @compiled
        def multiplied(n):
            return times * helper(n) if n > 0 else multiplied(-n)

        return multiplied

    function = make(2, with_helper)
    twin = interpreted(function)
    assert twin(5) == twin(-5) == function(5) == 32
    assert not any(is_compiled(cell.cell_contents) for cell in twin.__closure__)


def test_the_twin_leaves_the_original_alone():
    before = triple
    interpreted(entry)
    assert globals()["triple"] is before


def test_plain_functions_are_their_own_twins_in_effect():
    def double(n, times=2):
        return n * times

    assert interpreted(double)(4) == 8


@compiled
def total(numbers, first):
    found = 0
    for k in range(first, numbers.shape[0]):
        found += numbers[k]
    return found


@in_bulk(total)
def _(loops, numbers, first):
    return -numbers[first:].sum() if first > 0 else loops(numbers, first)  # negative, to tell it apart


@compiled
def total_of_all(numbers, first):
    return total(numbers, first) + triple(0)


@pytest.mark.jit
def test_the_interpreter_runs_what_is_in_bulk_and_the_compiler_the_loops():
    numbers = np.arange(5)
    assert total_of_all(numbers, 1) == total_of_all(numbers, 0) == 10
    assert interpreted(total_of_all)(numbers, 1) == interpreted(total)(numbers, 1) == -10
    assert interpreted(total_of_all)(numbers, 0) == 10  # left to the loops


@pytest.mark.jit
def test_python_calls_a_helper_without_the_compiler_where_nothing_is_compiled(monkeypatch):
    @compiled
    def quadruple(n):
        return triple(n) + n

    begun: list = []
    monkeypatch.setattr(compilations, "listeners", [begun.append])
    monkeypatch.delenv("TREEWRIGHT_COMPILE", raising=False)
    with at_once(0):
        assert quadruple(2) == 8
    assert not begun
    assert quadruple(2) == 8
    assert begun == [True, False]


@pytest.mark.jit
def test_helpers_are_compiled_unless_the_compiler_is_off():
    assert not is_disabled()
    assert is_compiled(triple)
    assert is_compiled(entry)


@pytest.mark.parametrize(
    ("task", "corpus"),
    [
        (Track(), random_track(np.random.default_rng(0), 2, 4)),
        (Picking(), random_picking(np.random.default_rng(0), 2, 4)),
    ],
    ids=["track", "picking"],
)
def test_a_plain_task_has_the_same_data_and_interpreted_functions(task, corpus):
    plain, packed = task.plain(), task.pack(corpus)
    assert (plain.name, plain.n_actions, plain.__dict__) == (task.name, task.n_actions, task.__dict__)
    out, twin = np.zeros(task.max_features, np.int32), np.zeros(task.max_features, np.int32)
    state = task.state_view(np.zeros(task.state_size(int(packed.lengths[0])), np.int32), int(packed.lengths[0]))
    n = task.features(packed.instance(0), state, out)
    assert plain.features(packed.instance(0), state, twin) == n
    assert out.tolist() == twin.tolist()
    assert not is_compiled(plain.features.__globals__["cross2"])
