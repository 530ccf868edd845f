"""Traces are plain data: immutable, without surprises in JSON."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.errors import TraceError
from treewright.tracing import KINDS, Candidate, Feature, Record, Step, Trace, softmax

numbers = st.floats(allow_nan=False)
maybe = st.none() | numbers
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
records = st.dictionaries(st.text(), values, max_size=3)
features = st.builds(Feature, st.text(), numbers, maybe)
candidates = st.builds(Candidate, st.text(), maybe, maybe, maybe, st.lists(features, max_size=2).map(tuple))


@st.composite
def steps(draw):
    found = draw(st.lists(candidates, max_size=3))
    chosen = draw(st.none() | st.integers(0, len(found) - 1)) if found else None
    expert = draw(st.lists(st.text(), max_size=2))
    measures = draw(st.dictionaries(st.text(), numbers, max_size=2))
    return Step(draw(st.integers(0, 99)), draw(records), tuple(found), chosen, expert, measures, draw(st.text()))


traces = st.builds(
    Trace,
    st.text(),
    st.sampled_from(KINDS),
    st.lists(st.text(), max_size=3).map(tuple),
    st.lists(steps(), max_size=3).map(tuple),
    records,
    st.booleans(),
    records,
)


@given(traces)
def test_json_gives_the_same_trace(trace):
    text = json.dumps(trace.to_json(), allow_nan=False)
    again = Trace.from_json(json.loads(text))
    assert again == trace
    assert json.dumps(again.to_json(), allow_nan=False) == text


@given(traces, traces)
def test_equal_traces_have_equal_hashes_and_copies(trace, other):
    assert (trace == other) == (trace.to_json() == other.to_json())
    for same in (copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert same == trace
        assert hash(same) == hash(trace)


@given(traces, st.integers(0, 4))
def test_pruned(trace, top):
    less = trace.pruned(top)
    assert less.actions == trace.actions
    for before, after in zip(trace.steps, less.steps, strict=True):
        assert len(after.candidates) <= top + (before.chosen is not None)
        rest = iter(before.candidates)
        assert all(any(candidate is other for other in rest) for candidate in after.candidates), "the order stays"
        kept = sorted((c.score for c in after.best if c is not after.choice), reverse=True)
        others = sorted((c.score for c in before.best if c is not before.choice), reverse=True)
        assert kept == others[: len(kept)]


def example():
    right, wrong = Candidate("A", 1.0, 0.0, 0.7), Candidate("B", 0.5, 2.0, 0.3)
    state = {"stack": [0], "arcs": [{"head": 0}]}
    steps = (Step(0, state, (right, wrong), 0, ("A",)), Step(1, {}, (right, wrong), 1, ("A",)), Step(2, {}))
    return Trace("dependency", "transitions", ("a", "b"), steps, {"heads": [0, 1]}, True, {"system": "arc-hybrid"})


def test_what_a_trace_tells():
    trace = example()
    assert trace.actions == ("A", "B")
    assert [step.number for step in trace.decisions] == [0, 1]
    assert trace.first_error is trace.steps[1]
    assert [step.correct for step in trace.steps] == [True, False, None]
    assert trace.steps[0].zero_cost == ("A",)
    assert [candidate.action for candidate in trace.steps[1].best] == ["A", "B"]
    assert trace.steps[2].choice is None


def test_nothing_can_be_changed():
    trace = example()
    with pytest.raises(FrozenInstanceError):
        trace.task = "amr"
    state = trace.steps[0].state
    assert state == {"stack": (0,), "arcs": ({"head": 0},)}
    with pytest.raises(TypeError):
        state["stack"] = ()
    with pytest.raises(AttributeError):
        state["stack"].append(1)
    with pytest.raises(TypeError):
        state["arcs"][0]["head"] = 1


@pytest.mark.parametrize("value", [np.float64(1.0), np.int32(1), np.str_("x"), np.zeros(2), {1}, object()])
def test_values_are_plain(value):
    with pytest.raises(TraceError, match="the values in a trace are plain"):
        Record({"x": [value]})


@pytest.mark.parametrize("value", [np.float32(1.0), np.int64(1), math.nan, "1", True])
def test_numbers_are_plain(value):
    with pytest.raises(TraceError, match=r"'score' is .* no plain number"):
        Candidate("A", score=value)
    with pytest.raises(TraceError, match="'errors' is"):
        Step(0, measures={"errors": value})


def test_infinite_numbers_belong_to_scores_and_measures():
    assert Candidate("A", -math.inf).to_json() == {"action": "A", "score": "-Infinity"}
    assert Candidate("A", math.inf).to_json()["score"] == "Infinity"
    with pytest.raises(TraceError, match="'x' is -inf"):
        Step(0, {"x": -math.inf})


def test_mistakes():
    with pytest.raises(TraceError, match="1 candidates, and number 1 is chosen"):
        Step(0, {}, (Candidate("A"),), 1)
    with pytest.raises(TraceError, match="plain integers"):
        Step(np.int64(0))
    with pytest.raises(TraceError, match="names in a trace are strings, not 1"):
        Record({1: 2})
    with pytest.raises(TraceError, match=r"no kind of traces 'trees'; there are: .*tags"):
        Trace("x", "trees", ())


@pytest.mark.parametrize("wrong", [{}, [], {"format": "treewright-trace", "version": 2}])
def test_json_of_something_else(wrong):
    with pytest.raises(TraceError, match="'treewright-trace' and the version 1, not"):
        Trace.from_json(wrong)


def test_json_of_a_damaged_trace():
    values = example().to_json()
    for name in ("task", "kind", "words", "steps", "result", "has_gold", "metadata"):
        with pytest.raises(TraceError, match=name):
            Trace.from_json({key: value for key, value in values.items() if key != name})
    with pytest.raises(TraceError):
        Trace.from_json({**values, "steps": [3]})
    assert Trace.from_json({**values, "sentence": 7}) == example()


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6))
def test_softmax(scores):
    found = softmax(scores)
    assert sum(found) == pytest.approx(1.0)
    assert found.index(max(found)) == scores.index(max(scores)) or max(found) == found[scores.index(max(scores))]
    assert softmax([score + 5.0 for score in scores]) == pytest.approx(found)


def test_softmax_where_nothing_is_possible():
    assert softmax([-math.inf, -math.inf]) == [0.5, 0.5]
    assert softmax([]) == []
