from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.constituency.grammar.heads import _RULES, head_child

names = st.sampled_from([*_RULES, "CC", "CONJP", ",", "POS", "NN", "VBD", "IN", "-LRB-", "-NONE-", "", "Q-SBJ=2", "--"])


@pytest.mark.parametrize(
    ("rule", "head"),
    [
        ("S NP VP .", "VP"),
        ("S NP-SBJ VP-1 .", "VP-1"),
        ("S S CC S .", "S"),
        ("SBAR IN S", "IN"),
        ("SBAR WHNP S", "WHNP"),
        ("SBARQ WHNP SQ .", "SQ"),
        ("SINV `` S '' VP NP .", "VP"),
        ("SQ VBZ NP VP", "VBZ"),
        ("VP VBD NP PP", "VBD"),
        ("VP MD RB VP", "MD"),
        ("VP TO VP", "TO"),
        ("NP DT NN NNS", "NNS"),
        ("NP NP PP SBAR", "NP"),
        ("NP NNP NNP POS", "POS"),
        ("NP DT JJ", "JJ"),
        ("NP QP $", "$"),
        ("NML NN NN", "NN"),
        ("PP IN NP", "IN"),
        ("PP ADVP IN NP", "IN"),
        ("ADJP RB JJ PP", "JJ"),
        ("ADVP RB PP", "RB"),
        ("QP IN CD", "IN"),
        ("WHNP WDT NN", "WDT"),
        ("WHPP IN WHNP", "IN"),
        ("X A B", "B"),
        ("Y A B", "A"),
    ],
)
def test_heads_of_common_rules(rule: str, head: str) -> None:
    label, *children = rule.split()
    assert children[head_child(label, children)] == head


def test_of_a_compound_the_last_noun_counts_and_of_nested_phrases_the_first() -> None:
    assert head_child("NP", ["NNP", "NN", "NN"]) == 2
    assert head_child("NP", ["NP", ",", "NP"]) == 0


def test_in_coordination_the_head_is_before_the_conjunction() -> None:
    assert head_child("NP", ["NN", "CC", "NN"]) == 0
    assert head_child("NP", ["NN", ",", "NN", ",", "CC", "NN"]) == 2
    assert head_child("PP", ["PP", "CONJP", "PP"]) == 0
    assert head_child("NP", ["NN", "CC", "NN", "CC", "NN"]) == 0
    assert head_child("NP", ["CC", "NN"]) == 1
    assert head_child("NP", [",", "CC", "NN"]) == 2


def test_punctuation_is_a_head_only_where_there_is_nothing_else() -> None:
    assert head_child("PRN", ["-LRB-", "NP", "-RRB-"]) == 1
    assert head_child("FRAG", ["NP", "."]) == 0
    assert head_child("PRN", [",", "."]) == 0
    assert head_child("FRAG", [",", "."]) == 1


@given(names, st.lists(names, min_size=1, max_size=8))
def test_there_is_always_a_head(label: str, children: list[str]) -> None:
    assert 0 <= head_child(label, children) < len(children)


def test_no_children_no_head() -> None:
    with pytest.raises(ValueError, match="'NP' has no children"):
        head_child("NP", [])
