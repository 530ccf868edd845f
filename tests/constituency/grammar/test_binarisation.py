from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.constituency.grammar.binarisation import (
    DIRECTIONS,
    TOP,
    Markovisation,
    escape_label,
    is_intermediate,
    plain_label,
    project,
)
from treewright.corpora import Tree
from treewright.errors import ConfigError, CorpusError

DEEP = 100_000

# Every character that names of symbols give a meaning to, and labels that look like such names.
odd_labels = ["", "%", "TOP", "%54OP", "@NP|DT", "A^B", ",", "-LRB-", "a b", "#~"]
labels = st.sampled_from(["S", "NP", "VP", "X", *odd_labels]) | st.text(max_size=3)
words = st.sampled_from(["the", "cat", "sat", "@x", TOP])
trees = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), labels, words),
    lambda children: st.builds(Tree, labels, st.lists(children, min_size=1, max_size=6).map(tuple)),
    max_leaves=20,
)
memories = st.none() | st.integers(0, 3)
settings = st.builds(Markovisation, st.integers(1, 4), memories, st.sampled_from(DIRECTIONS), st.booleans())


def flat(label: str, *children: str) -> Tree:
    return Tree(label, tuple(Tree(child, (child.lower(),)) for child in children))


def at_most(weak: int | None, strong: int | None) -> bool:
    return strong is None or (weak is not None and weak <= strong)


@given(trees, settings)
def test_restore_is_the_inverse(tree: Tree, markovisation: Markovisation) -> None:
    binary = markovisation.binarise(tree)
    assert markovisation.restore(binary) == tree
    assert Markovisation().restore(binary) == tree
    assert markovisation.binarise(markovisation.restore(binary)) == binary


@given(trees, settings)
def test_nodes_have_a_word_a_tree_or_two_trees(tree: Tree, markovisation: Markovisation) -> None:
    binary = markovisation.binarise(tree)
    assert binary.label == TOP
    assert len(binary.children) == 1
    assert binary.leaves() == tree.leaves()
    for node in binary.subtrees():
        assert node.is_preterminal or (
            len(node.children) <= 2 and all(isinstance(child, Tree) for child in node.children)
        )
    plain = [plain_label(node.label) for node in binary.subtrees()]
    assert Counter(label for label in plain if label is not None) == Counter(node.label for node in tree.subtrees())
    long = sum(max(0, len(node.children) - 2) for node in tree.subtrees())
    assert sum(is_intermediate(node.label) for node in binary.subtrees()) == long


@given(trees, settings, st.integers(1, 4), memories)
def test_projected_symbols_are_those_of_the_weaker_memory(
    tree: Tree, strong: Markovisation, vertical: int, horizontal: int | None
) -> None:
    weak = Markovisation(vertical, horizontal, strong.direction, strong.tag_parents)
    found = [project(node.label, vertical, horizontal) for node in strong.binarise(tree).subtrees()]
    if vertical <= strong.vertical and at_most(horizontal, strong.horizontal):
        assert found == [node.label for node in weak.binarise(tree).subtrees()]
    again = [project(label, vertical, horizontal) for label in found]
    assert again == found


@given(labels, labels)
def test_escaped_labels_are_distinct_and_free_of_marks(one: str, two: str) -> None:
    escaped = escape_label(one)
    assert plain_label(escaped) == one
    assert (escaped == escape_label(two)) == (one == two)
    assert escaped not in ("", TOP)
    assert not set("^@|,~#()[]{}") & set(escaped)
    assert len(escaped.split()) == 1


def test_the_right_branching_order() -> None:
    tree = flat("A", "B", "C", "D", "E")
    assert str(Markovisation(1, 1).binarise(tree)) == "(TOP (A (B b) (@A|B (C c) (@A|C (D d) (E e)))))"
    assert str(Markovisation(1, 0).binarise(tree)) == "(TOP (A (B b) (@A| (C c) (@A| (D d) (E e)))))"
    assert str(Markovisation(1, None).binarise(tree)) == "(TOP (A (B b) (@A|B (C c) (@A|B,C (D d) (E e)))))"
    assert Markovisation(1, 2).binarise(tree) == Markovisation(1, None).binarise(tree)


def test_the_left_branching_order_is_the_mirror_image() -> None:
    tree = flat("A", "B", "C", "D", "E")
    assert str(Markovisation(1, 1, "left").binarise(tree)) == "(TOP (A (@A|E (@A|D (B b) (C c)) (D d)) (E e)))"
    assert str(Markovisation(1, None, "left").binarise(tree)) == "(TOP (A (@A|E (@A|E,D (B b) (C c)) (D d)) (E e)))"


def test_the_head_comes_first_then_its_right_then_its_left() -> None:
    tree = flat("VP", "RB", "MD", "VB", "NP", "PP")  # the modal verb is the head
    rest = "(@VP|MD#VB (MD md) (VB vb)) (NP np)) (PP pp))"
    assert str(Markovisation(1, 1, "head").binarise(tree)) == f"(TOP (VP (RB rb) (@VP|MD#PP (@VP|MD#NP {rest}))"
    tree = flat("NP", "DT", "JJ", "NN", "PP")
    for horizontal, left, right in ((0, "~", "#"), (1, "~JJ", "#PP"), (2, "#PP~JJ", "#PP"), (None, "#PP~JJ", "#PP")):
        assert str(Markovisation(1, horizontal, "head").binarise(tree)) == (
            f"(TOP (NP (DT dt) (@NP|NN{left} (JJ jj) (@NP|NN{right} (NN nn) (PP pp)))))"
        )


def test_ancestors_are_those_of_the_treebank() -> None:
    tree = Tree("S", (flat("NP", "DT", "JJ", "NN"), Tree("VP", (flat("S", "VB"),))))
    assert str(Markovisation(3, 1).binarise(tree)) == (
        "(TOP (S^TOP (NP^S^TOP (DT dt) (@NP^S^TOP|DT (JJ jj) (NN nn))) (VP^S^TOP (S^VP^S (VB vb)))))"
    )
    assert str(Markovisation(2, 0, tag_parents=True).binarise(tree)) == (
        "(TOP (S^TOP (NP^S (DT^NP dt) (@NP^S| (JJ^NP jj) (NN^NP nn))) (VP^S (S^VP (VB^S vb)))))"
    )


def test_a_tag_alone_is_a_tree() -> None:
    assert str(Markovisation().binarise(Tree("NN", ("cat",)))) == "(TOP (NN cat))"
    assert str(Markovisation(2, tag_parents=True).binarise(Tree("NN", ("cat",)))) == "(TOP (NN^TOP cat))"


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.slow
def test_deep_and_wide_trees(direction: str) -> None:
    deep = Tree("X", ("w",))
    for _ in range(DEEP):
        deep = Tree("X", (deep,))
    wide = Tree("NP", (Tree("NN", ("w",)),) * DEEP)
    for tree in (deep, wide):
        markovisation = Markovisation(direction=direction)
        began = time.process_time()
        assert markovisation.restore(markovisation.binarise(tree)) == tree
        assert time.process_time() - began < 20  # a second or so; far more if time were not linear


def test_bad_settings_are_told() -> None:
    with pytest.raises(ConfigError, match="vertical must be a whole number from 1"):
        Markovisation(vertical=0)
    with pytest.raises(ConfigError, match="horizontal must be a whole number from 0"):
        Markovisation(horizontal=-1)
    with pytest.raises(ConfigError, match="direction must be one of right, left, head, not 'up'"):
        Markovisation(direction="up")
    with pytest.raises(ConfigError, match="tag_parents must be true or false"):
        Markovisation(tag_parents="no")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="vertical"):
        project("NP", 0, 1)
    with pytest.raises(ConfigError, match="horizontal"):
        project("NP", 1, -1)


def test_trees_of_another_kind_are_refused() -> None:
    with pytest.raises(CorpusError, match="the word 'cat' stands beside other children of 'NP'"):
        Markovisation().binarise(Tree("NP", (Tree("DT", ("the",)), "cat")))
    with pytest.raises(CorpusError, match="the root of a binary tree is TOP"):
        Markovisation().restore(flat("S", "NP", "VP"))
    with pytest.raises(CorpusError, match="the root of a binary tree is TOP"):
        Markovisation().restore(Tree(TOP, ("word",)))
    with pytest.raises(CorpusError, match="cannot be within it"):
        Markovisation().restore(Tree(TOP, (Tree(TOP, (flat("S", "NP"),)),)))
    with pytest.raises(CorpusError, match="there are 2 trees"):
        Markovisation().restore(Tree(TOP, (flat("@S|X", "NP", "VP"),)))
