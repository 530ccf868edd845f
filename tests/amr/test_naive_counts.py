import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.amr import naive
from tests.examples import examples
from treewright.amr import naive_loss, naive_smatch
from treewright.amr.naive_counts import ABSOLUTE, NAIVE, PENALTY, smatch_loss, sort_entries
from treewright.corpora import Graph
from treewright.errors import ConfigError, CorpusError


@examples(60)
@given(naive.PAIRS)
def test_entries_are_compared_as_multisets(pairs):
    gold, predicted = zip(*pairs, strict=True)
    found = naive_smatch(gold, predicted)
    for k, (right, guessed) in enumerate(pairs):
        one, two = naive.entries(right), naive.entries(guessed)
        assert found.matched[k] == (one & two).total()
        assert (found.gold[k], found.predicted[k]) == (one.total(), two.total())


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.data())
def test_entries_are_sorted_up_to_a_number(entries, data):
    n = data.draw(st.integers(0, len(entries)))
    array = np.array(entries, np.int32)
    sort_entries(array, n)
    assert array.tolist() == [*sorted(entries[:n]), *entries[n:]]


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.integers(0, 100))
def test_losses(matched, missing, wrong, steps):
    gold, predicted = matched + missing, matched + wrong
    f = 2 * matched / (gold + predicted) if gold + predicted else 1.0
    assert smatch_loss(NAIVE, matched, gold, predicted, steps) == pytest.approx(1 - f)
    assert smatch_loss(ABSOLUTE, matched, gold, predicted, steps) == missing + wrong
    assert smatch_loss(PENALTY, matched, gold, predicted, steps) == pytest.approx(missing + wrong + steps / 5)


def test_a_wrong_concept_costs_its_edges_too_and_a_wrong_role_only_itself():
    gold = Graph.from_penman("(l / leave-01 :ARG0 (b / boy) :ARG1 (r / room))")
    concept = Graph.from_penman("(l / go-01 :ARG0 (b / boy) :ARG1 (r / room))")
    role = Graph.from_penman("(l / leave-01 :ARG0 (b / boy) :ARG2 (r / room))")
    assert naive_loss(gold, gold) == naive_loss(gold, gold, "absolute") == 0
    assert naive_loss(gold, concept, "absolute") == 6
    assert naive_loss(gold, role, "absolute") == 2
    assert naive_loss(gold, gold, "penalty", steps=15) == 3  # a penalty adds: the same graph, but not for nothing


def test_bad_input():
    graph = Graph.from_penman("(d / dog)")
    with pytest.raises(ConfigError, match=r"'square'.*naive, absolute, penalty"):
        naive_loss(graph, graph, "square")
    with pytest.raises(CorpusError, match="1 gold graphs and 2 predicted ones"):
        naive_smatch([graph], [graph, graph])
