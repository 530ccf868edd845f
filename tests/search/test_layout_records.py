from __future__ import annotations

import pickle

import numpy as np
import pytest

from treewright.errors import TaskError
from treewright.search import records
from treewright.search.layout import Size, parse_size
from treewright.search.records import record


@pytest.mark.parametrize(
    ("declared", "size"),
    [
        (3, Size(0, 3)),
        ("n", Size(1, 0)),
        ("2*n + 1", Size(2, 1)),
        ("n*2 - 1", Size(2, -1)),
        ("3 * (n + 2)", Size(3, 6)),
        ("n + n", Size(2, 0)),
        ("7", Size(0, 7)),
    ],
)
def test_sizes_are_linear_in_the_length(declared, size):
    assert parse_size(declared) == size
    assert parse_size(declared)(5) == eval(str(declared), {"n": 5})
    assert parse_size(declared)(np.array([1, 5])).tolist()[-1] == size(5) if size.per_token else True


@pytest.mark.parametrize(
    ("declared", "size"),
    [
        ("n*n", Size(0, 0, 1)),
        ("(n + 1) * (2*n - 3)", Size(-1, -3, 2)),
        ("n*n - n*n + n", Size(1, 0)),
        ("3 * n * n + 4*n + 2", Size(4, 2, 3)),
    ],
)
def test_a_bound_on_steps_may_be_quadratic(declared, size):
    assert parse_size(declared, quadratic=True) == size
    assert parse_size(declared, quadratic=True)(np.array([1, 5])).tolist() == [eval(declared, {"n": n}) for n in (1, 5)]


@pytest.mark.parametrize("declared", ["n*n*n", "n*n*(n - n + 1)*n", "n**2", "m"])
def test_what_is_not_quadratic_either_is_refused(declared):
    with pytest.raises(TaskError, match="is not a whole number or a polynomial in n"):
        parse_size(declared, quadratic=True)


@pytest.mark.parametrize("declared", ["n*n", "m", "n/2", "n**2", "", "2 n", "f(n)", "n if n else 1", "'n'", 1.5])
def test_other_sizes_are_refused_in_words(declared):
    with pytest.raises(TaskError, match="is not a whole number or a linear expression in n"):
        parse_size(declared)


def test_records_are_made_once():
    assert record(("position", "labels")) is record(("position", "labels"))
    assert record(("labels", "position")) is not record(("position", "labels"))
    assert record(("a", "b"))(1, 2).b == 2


def test_records_are_found_again_by_name():
    made = record(("words", "words_at"))(1, 2)
    assert pickle.loads(pickle.dumps(made)) == made
    assert pickle.loads(pickle.dumps(type(made))) is type(made)


def test_records_are_found_by_name_in_a_process_that_has_not_made_them():
    made = record(("only", "here"))(1, 2)
    pickled = pickle.dumps(made)
    record.cache_clear()
    delattr(records, type(made).__name__)
    again = pickle.loads(pickled)
    assert again == made
    assert type(again)._fields == ("only", "here")
    with pytest.raises(AttributeError, match="nonsense"):
        _ = records.nonsense


@pytest.mark.parametrize("field", ["_hidden", "hidden_", "two__words", "class", "no space", "1st", ""])
def test_names_that_cannot_be_fields_are_refused(field):
    with pytest.raises(TaskError, match="cannot be the name of a field"):
        record(("good", field))
