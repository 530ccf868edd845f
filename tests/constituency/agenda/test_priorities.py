"""Features of priorities: those learned from a treebank."""

from __future__ import annotations

import numpy as np
import pytest

from tests.constituency.naive import table_of
from treewright.constituency.agenda.features import FEATURES, NAMES
from treewright.constituency.agenda.priorities import Priorities, kind_of_word, label_classes
from treewright.constituency.agenda.punctuation import mark_of, pattern_of, punctuation_patterns
from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.grammar.pcfg import Grammar
from treewright.corpora import Tree
from treewright.errors import CorpusError


def sentence():
    noun = Tree("NP", (Tree("DT", ("The",)), Tree("NN", ("cat",))))
    return Tree("S", (noun, Tree("VP", (Tree("VBD", ("sat",)),)), Tree(".", (".",))))


def learned():
    tree = sentence()
    grammar = Grammar.learn([Markovisation().binarise(tree)])
    rows = [[(grammar.tags[tag], -1.0)] for tag in ("DT", "NN", "VBD", ".")]
    priorities = Priorities.learn(
        grammar,
        [grammar.derivation(Markovisation().binarise(tree))],
        [tree.leaves()],
        rows=[np.arange(4, dtype=np.int32)],
        lexical=table_of(rows),
    )
    return grammar, priorities


def test_names():
    assert len(NAMES) == FEATURES == len(set(NAMES))


def test_classes_have_no_ancestors_and_siblings():
    grammar, _ = learned()
    of, names = label_classes(grammar)
    assert {grammar.symbols[k]: names[c] for k, c in enumerate(of.tolist())} == {
        "TOP": "TOP",
        "S^TOP": "S",
        "NP^S": "NP",
        "VP^S": "VP",
        "@S^TOP|NP": "@S|",
        "DT": "DT",
        "NN": "NN",
        "VBD": "VBD",
        ".": ".",
    }


def test_labels_after_and_before_tags():
    _, priorities = learned()
    number = priorities.classes.index
    edge, noun = len(priorities.tags), priorities.tags.index("NN")
    assert np.exp(priorities.before).sum(axis=1) == pytest.approx(1.0)
    assert np.exp(priorities.after).sum(axis=1) == pytest.approx(1.0)
    # behind the edge: TOP, S, NP and DT; behind NN: @S, VP and VBD
    assert priorities.before[edge, number("NP")] > priorities.before[edge, number("VP")]
    assert priorities.before[noun, number("VP")] > priorities.before[noun, number("NP")]
    assert priorities.after[edge, number(".")] > priorities.after[edge, number("NP")]


def test_marks_and_kinds():
    assert [mark_of(word) for word in (",", "-LRB-", "``", "''", "--", "%", "&", "$", "cat", "U.S.")] == [
        *(",", "(", "``", "''", "--"),
        *[""] * 5,
    ]
    assert [kind_of_word(word) for word in ("Cat", "cat", "1", ",", "")] == [0, 1, 2, 3, 3]
    assert pattern_of(["", ",", ",", "", ""]) == "x , , x"
    _, priorities = learned()
    kinds, marks = priorities.shapes(["The", "cat", "sat", "."])
    assert kinds.tolist() == [0, 1, 1, 3]
    assert marks.tolist() == [0, 0, 0, -1]  # one sentence is too little for patterns
    assert [len(array) for array in priorities.shapes([])] == [0, 0]


def test_patterns_tell_constituents_from_others():
    """Constituents are ( x ) and x , x; nothing that begins or ends with a comma is one."""
    words = ["a", "b", ",", "c", "d", "-LRB-", "e", "f", "-RRB-", "g"]
    spans = {(0, 5), (5, 9), (0, 10), (6, 8)}
    patterns = punctuation_patterns([words] * 30, [spans] * 30)
    assert len(patterns) == 10
    assert {"x , x", "( x )"} <= set(patterns[:5])
    assert not {"x , x", "( x )", "x"} & set(patterns[5:])
    assert punctuation_patterns([["a", "b"]], [{(0, 2)}]) == []


def test_to_arrays_and_back():
    grammar, priorities = learned()
    again = Priorities.from_arrays(priorities.to_arrays())
    assert (again.classes, again.tags, again.patterns) == (priorities.classes, priorities.tags, priorities.patterns)
    assert (again.before == priorities.before).all()
    assert (again.of(grammar) == label_classes(grammar)[0]).all()
    assert again.describe(0) == "inside"


def test_patterns_are_described():
    _, priorities = learned()
    other = Priorities(priorities.classes, priorities.tags, priorities.before, priorities.after, ["x ,"] * 10)
    assert other.describe(19) == "punctuation +1: x ,"


def test_other_grammars_are_refused():
    _, priorities = learned()
    other = Grammar.from_rules([("Q", "x", "y", -1.0, 1.0)], [("TOP", "Q", (), -1.0, 1.0)])
    with pytest.raises(CorpusError, match="know nothing of Q"):
        priorities.of(other)
    with pytest.raises(CorpusError, match="as many as sentences"):
        Priorities.learn(other, [], [], rows=[], lexical=table_of([[(0, 0.0)]]))
