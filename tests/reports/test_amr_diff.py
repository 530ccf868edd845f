from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.amr.naive import graphs
from tests.amr.perturbed import perturbed
from tests.examples import examples
from treewright.amr import match
from treewright.corpora import Graph
from treewright.corpora.amr import read_amr
from treewright.errors import CorpusError
from treewright.reports import graph_diff, graph_diffs

GOLD = Graph.from_penman("(w / want-01 :ARG0 (b / boy~e.1) :ARG1 (g / go-02 :ARG0 b :polarity -))")
PREDICTED = Graph.from_penman("(x / want-01 :ARG0 (y / girl) :ARG1 (g / go-02~e.3 :mod (b / small~e.2)))")


def test_lines() -> None:
    found = graph_diff(GOLD, PREDICTED)
    assert found.lines() == [
        "  top: w / want-01",
        "  w / want-01",
        "      :ARG0 b / boy",
        "      :ARG1 g / go-02",
        "- b / boy",
        "+ b / girl",
        "  g / go-02",
        "-     :polarity -",
        "-     :ARG0 b / boy",
        "+     :mod b_2 / small",
        "+ b_2 / small",
    ]
    assert found.lines(only_differences=True) == [
        "- b / boy",
        "+ b / girl",
        "  g / go-02",
        "-     :polarity -",
        "-     :ARG0 b / boy",
        "+     :mod b_2 / small",
        "+ b_2 / small",
    ]
    assert graph_diff(GOLD, GOLD).lines(only_differences=True) == []
    assert found.counts == (5, 8, 8)
    assert found.f1 == pytest.approx(5 / 8)
    assert found.alignments == {"b": (1,), "g": (3,), "b_2": (2,)}


def test_plain_values() -> None:
    values = json.loads(json.dumps(graph_diff(GOLD, PREDICTED).to_dict()))
    assert values["matched"] == 5
    assert values["nodes"][1] == {
        "name": "b",
        "gold": "b",
        "predicted": "y",
        "gold_concept": "boy",
        "predicted_concept": "girl",
        "side": "both",
        "changed": True,
    }
    assert values["attributes"] == [{"source": "g", "role": ":polarity", "target": "-", "side": "gold"}]
    assert values["tops"] == [{"node": "w", "side": "both"}]


def test_what_smatch_takes_for_equal() -> None:
    one = Graph.from_penman('(d / Dog :mod (r / red) :name "Rex")')
    other = Graph.from_penman("(x / dog :domain-of (y / red) :NAME rex)")
    assert {line[0] for line in graph_diff(one, other).lines()} == {" "}


def test_nodes_with_nothing_in_common_are_two_nodes() -> None:
    found = graph_diff(Graph.from_penman("(a / x :ARG0 (b / y))"), Graph.from_penman("(c / z :ARG0-of (a / x))"))
    assert not any(node.is_changed for node in found.nodes if node.concept == "x")
    assert found.counts == (2, 4, 4)


@examples(60)
@given(graphs("abcd"), graphs("wxyz"))
def test_counts_are_those_of_smatch(gold: Graph, predicted: Graph) -> None:
    found = match([gold], [predicted], exact=True)
    assert graph_diff(gold, predicted).counts == (found.matched[0], found.gold[0], found.predicted[0])


def test_missing_graphs() -> None:
    with pytest.raises(CorpusError, match="1 gold graphs and 0 predicted ones"):
        graph_diffs([GOLD], [])


@pytest.mark.slow
def test_real_graphs(real_data) -> None:
    gold = [one.graph for one in list(read_amr(real_data("amr-little-prince/dev.txt")))[:50]]
    predicted = [perturbed(graph, k, gold) for k, graph in enumerate(gold)]
    found = match(gold, predicted, exact=True)
    differences = graph_diffs(gold, predicted)
    assert [one.counts[0] for one in differences] == found.matched.tolist()
