from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora.trees import Tree
from treewright.errors import CorpusError

DEEP = 100_000

labels = st.sampled_from(["S", "NP", "VP", "X"])
words = st.sampled_from(["the", "cat", "sat"])
trees = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), labels, words),
    lambda children: st.builds(Tree, labels, st.lists(children | words, min_size=1, max_size=4).map(tuple)),
    max_leaves=20,
)


def chain(depth: int, word: str = "w") -> Tree:
    tree = Tree("X", (word,))
    for _ in range(depth):
        tree = Tree("X", (tree,))
    return tree


# The slow, obvious twins.


def leaves(tree: Tree) -> list[str]:
    found: list[str] = []
    for child in tree.children:
        found += [child] if isinstance(child, str) else leaves(child)
    return found


def spans(tree: Tree, start: int = 0) -> list[tuple[str, int, int]]:
    if tree.is_preterminal:
        return []
    found = [(tree.label, start, start + len(leaves(tree)))]
    for child in tree.children:
        if isinstance(child, str):
            start += 1
        else:
            found += spans(child, start)
            start += len(leaves(child))
    return found


def brackets(tree: Tree) -> str:
    inside = [child if isinstance(child, str) else brackets(child) for child in tree.children]
    return f"({tree.label} {' '.join(inside)})"


@given(trees)
def test_methods_equal_their_recursive_twins(tree: Tree) -> None:
    assert list(tree.leaves()) == leaves(tree)
    assert list(tree.spans()) == spans(tree)
    assert str(tree) == brackets(tree)
    assert tree.tags() == tuple(each.label for each in tree.subtrees() if each.is_preterminal)


@given(trees)
def test_copies_are_equal_and_hash_alike(tree: Tree) -> None:
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert twin == tree
        assert hash(twin) == hash(tree)


@given(trees, trees)
def test_trees_are_equal_exactly_if_their_brackets_are(one: Tree, two: Tree) -> None:
    assert (one == two) == (str(one) == str(two))


def test_equality_with_other_things() -> None:
    assert Tree("X", ("w",)) != "w"
    assert Tree("X", ("w",)) != Tree("Y", ("w",))
    assert Tree("X", ("w",)) != Tree("X", (Tree("w", ("w",)),))


def test_trees_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Tree("X", ("w",)).label = "Y"  # type: ignore[misc]


@pytest.mark.parametrize("children", [(), "word", ["a"]])
def test_children_are_a_tuple_of_at_least_one(children: object) -> None:
    with pytest.raises(CorpusError, match="tuple"):
        Tree("X", children)  # type: ignore[arg-type]


@pytest.mark.slow
def test_nesting_deeper_than_the_stack() -> None:
    one, two, other = chain(DEEP), chain(DEEP), chain(DEEP, "v")
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    assert one.leaves() == ("w",)
    assert one.tags() == ("X",)
    assert one.spans()[-1] == ("X", 0, 1)
    assert len(list(one.subtrees())) == DEEP + 1
    assert str(one) == "(X " * (DEEP + 1) + "w" + ")" * (DEEP + 1)
    assert repr(one) == f"<Tree {one}>"
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(two) == one
    del one, two, other  # nor does taking it apart recurse
