from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

from treewright.corpora.graphs import Graph
from treewright.errors import CorpusError

BOY = Graph(
    top="w",
    instances=(("w", "want-01"), ("b", "boy"), ("g", "go-02")),
    edges=(("w", ":ARG0", "b"), ("w", ":ARG1", "g"), ("g", ":ARG0", "b")),
    attributes=(("w", ":polarity", "-"), ("b", ":quant", "2")),
    alignments={"w": (2,), "b": "imperative-you"},
)


def test_well_formed() -> None:
    BOY.validate()
    assert BOY.variables == ("w", "b", "g")
    assert len(BOY.triples()) == 8
    assert ("g", ":instance", "go-02") in BOY.triples()


def test_penman_there_and_back() -> None:
    back = Graph.from_penman(BOY.to_penman())
    assert set(back.triples()) == set(BOY.triples())
    assert back.top == BOY.top
    assert not back.alignments


def test_inverse_roles_are_written_and_read() -> None:
    graph = Graph("d", (("d", "dog"), ("b", "bark-01")), (("b", ":ARG0", "d"),))
    assert ":ARG0-of" in graph.to_penman()
    assert Graph.from_penman(graph.to_penman()) == graph


def test_copies_are_equal() -> None:
    for twin in (pickle.loads(pickle.dumps(BOY)), copy.deepcopy(BOY)):
        assert twin == BOY
        assert hash(twin) == hash(BOY)
        assert twin.alignments == BOY.alignments


def test_alignments_count_for_equality_and_cannot_be_changed() -> None:
    assert replace(BOY, alignments={}) != BOY
    with pytest.raises(TypeError):
        BOY.alignments["w"] = (0,)  # type: ignore[index]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"top": "x"}, "the top 'x' is not a variable"),
        ({"instances": (*BOY.instances, ("b", "girl"))}, "'b' has more than one concept"),
        ({"edges": (*BOY.edges, ("g", ":ARG4", "x"))}, "unknown variable 'x'"),
        ({"edges": (*BOY.edges, ("w", ":ARG0", "b"))}, "w :ARG0 b occurs twice"),
        ({"edges": (*BOY.edges, ("w", "ARG2", "b"))}, "must start with a colon"),
        ({"edges": BOY.edges[:1]}, "not connected to the top 'w': g"),
        ({"attributes": (("x", ":quant", "2"),)}, "on an unknown variable"),
        ({"attributes": (("w", ":ARG3", "b"),)}, "should be an edge"),
        ({"alignments": {"x": (0,)}}, "alignment is on an unknown variable 'x'"),
    ],
)
def test_what_is_not_well_formed(changes: dict[str, object], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        replace(BOY, **changes).validate()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(w / want-01", "not a graph"),
        ("(w / want-01 :ARG0 (b))", "'b' has no concept"),
        ("(a / b :x )", "the role :x of the variable 'a' has no target"),
        ("(a / b :x-of )", "the role :x-of of the variable 'a' has no target"),
    ],
)
def test_what_is_not_penman(text: str, message: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(CorpusError, match=message):
        Graph.from_penman(text)
    assert not caplog.records


def test_a_graph_is_printed_in_penman_notation() -> None:
    assert str(BOY) == BOY.to_penman()
    assert str(Graph("x", (("y", "boy"),))).startswith("Graph(")  # it is not well-formed


def test_a_variable_without_a_node_is_a_warning():
    with pytest.warns(UserWarning, match="'b2', the :ARG1 of 'w', looks like a variable") as found:
        graph = Graph.from_penman("(w / want-01 :ARG0 (b / boy) :ARG1 b2)")
    assert graph.attributes == (("w", ":ARG1", "b2"),)
    assert len(found) == 1
