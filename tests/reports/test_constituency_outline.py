from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.trees import chain, trees
from treewright.corpora import Sentence, Tree
from treewright.corpora.brackets import clean_tree, read_ptb
from treewright.errors import ConfigError, CorpusError
from treewright.reports import constituency_text
from treewright.reports.constituency_drawing import drawn_tree, flatten
from treewright.reports.constituency_outline import _brackets, _drawing

UP, DOWN, LEFT, RIGHT = "│└┘┴├┤┼", "│┌┐┬├┤┼", "─┐┬┘┴┤┼", "─┌┬└┴├┼"
words = st.sampled_from(["the", "cat", "sat", "extraordinarily"])
labels = st.sampled_from(["S", "NP", "VP", "WHADVP"])
plain_trees = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), labels, words),
    lambda parts: st.builds(Tree, labels, st.lists(parts, min_size=1, max_size=5).map(tuple)),
    max_leaves=15,
)


def columns(line: str) -> int:
    """A twin of the width in the other module, for the characters in these tests."""
    wide = sum(unicodedata.east_asian_width(letter) == "W" for letter in line)
    return len(line) + wide - sum(bool(unicodedata.combining(letter)) for letter in line)


def read(picture: list[str]) -> str:
    """Follow the lines from the top, as an eye would, and write down the tree in brackets."""
    size = max(map(len, picture))
    cells = [line.ljust(size) for line in picture]

    def text_at(row: int, column: int) -> str:
        # The letters around a place, up to the next space or line; labels and words here have none of these in them.
        start = end = column
        while start > 0 and cells[row][start - 1] not in " " + UP + DOWN + LEFT:
            start -= 1
        while end < size and cells[row][end] not in " " + UP + DOWN + LEFT:
            end += 1
        return cells[row][start:end]

    def tree_at(row: int, column: int) -> str:
        while cells[row][column] == "│":
            row += 1
        label = text_at(row, column)
        if row == len(cells) - 2:
            return f"({label} {text_at(row + 1, column)})"
        row += 1
        assert cells[row][column] in UP, "the lines of a constituent begin below its label"
        left = right = column
        while cells[row][left] in LEFT:
            left -= 1
        while cells[row][right] in RIGHT:
            right += 1
        assert cells[row][left] in RIGHT or left == right
        below = [place for place in range(left, right + 1) if cells[row][place] in DOWN]
        return f"({label} {' '.join(tree_at(row + 1, place) for place in below)})"

    top = cells[0].strip()
    middle = cells[0].index(top) + (len(top) - 1) // 2
    return tree_at(0, middle)


@given(plain_trees)
def test_the_tree_can_be_read_from_the_drawing(tree: Tree) -> None:
    assert read(constituency_text(tree).splitlines()) == str(tree)


@given(plain_trees, st.integers(40, 90))
def test_brackets_are_the_tree(tree: Tree, width: int) -> None:
    lines = _brackets(flatten(tree), tree.leaves(), width)
    assert " ".join(" ".join(lines).split()).replace(") )", "))") == str(tree)
    assert max(map(len, lines)) <= width


@given(trees, st.none() | st.integers(40, 80))
def test_lines_fit(tree: Tree, width: int | None) -> None:
    lines = constituency_text(tree, width=width).splitlines()
    assert lines
    assert all(line == line.rstrip() for line in lines)
    for line in lines:
        assert width is None or columns(line) <= width


@given(trees)
def test_there_are_no_lines_that_lead_nowhere(tree: Tree) -> None:
    drawn = drawn_tree(tree)
    picture = _drawing(flatten(drawn), ["w"] * len(drawn.leaves()), None)
    assert picture is not None
    if any("猫" in line for line in picture):  # the columns below would not fit
        return
    size = max(map(len, picture))
    picture = [line.ljust(size) for line in picture]
    for above, line in pairwise(picture):
        for high, low in zip(above, line, strict=True):
            if low in UP:
                assert high in DOWN or high not in " " + LEFT  # a line, or a letter
            if high in DOWN:
                assert low in UP or low not in " " + LEFT


def test_real_sentences(real_data) -> None:
    corpus = [clean_tree(s.tree) for s in read_ptb(real_data("ptb-wsj-sample/dev.ptb"))]
    drawn = 0
    for tree in corpus:
        assert tree is not None
        lines = constituency_text(tree, width=100).splitlines()
        assert max(map(columns, lines)) <= 100
        if lines[0].startswith("("):
            assert " ".join(" ".join(lines).split()).replace(") )", "))") == str(tree)
        else:
            assert lines[-1].split() == list(tree.leaves())
            drawn += 1
    assert drawn > 20


def test_names_that_are_missing() -> None:
    tree = Tree("", (Tree("A", (Tree("", (Tree("B", ("b",)), "c")),)), Tree("", (Tree("D", ("d",)),))))
    assert constituency_text(tree).splitlines() == [
        " ┌────┐",
        " A    │",
        " │    │",
        " │    │",
        "┌┴─┐  │",
        "B  │  D",
        "b  c  d",
    ]


def test_wide_letters() -> None:
    tree = Tree("S", (Tree("猫猫猫", ("猫",)), Tree("B", ("cha\u0302t",))))
    assert constituency_text(tree).splitlines() == [
        "     S",
        "  ┌──┴───┐",
        "猫猫猫   B",
        "  猫    cha\u0302t",
    ]


def test_too_little_room_takes_the_drawing_then_letters() -> None:
    tree = Tree("S", tuple(Tree("NN", (f"w{k}",)) for k in range(12)))
    assert "┌" in constituency_text(tree, width=48)
    assert constituency_text(tree, width=47).startswith("(S\n  (NN w0)\n")
    long = Tree("A-LABEL-THAT-NEVER-ENDS", (Tree("NN", ("antidisestablishmentarianism" * 2,)),))
    assert constituency_text(long, width=40).splitlines() == [
        "(A-LABEL-THAT-NE…",
        "  (NN antidisestablishmentarianismant…))",
    ]


@pytest.mark.slow
def test_nesting_deeper_than_the_stack() -> None:
    deep = chain(100_000)
    lines = constituency_text(deep, width=40).splitlines()
    assert len(lines) == 2 * 100_000 + 2
    wide = deep
    for _ in range(100):
        wide = Tree("Y", (wide, Tree("NN", ("w",))))
    lines = constituency_text(wide, width=40).splitlines()
    assert lines[0] == "(Y"
    assert max(map(len, lines)) <= 40
    assert sum(line.count("(") for line in lines) == sum(line.count(")") for line in lines) == 100_201
    assert constituency_text(wide).startswith("(Y\n")


def test_words_cannot_steer_the_terminal() -> None:
    assert constituency_text(Tree("N\n", ("a\x1b[2J",))) == "  N\ufffd\na\ufffd[2J"


def test_bad_input_is_told() -> None:
    with pytest.raises(ConfigError, match="width must be a whole number from 40"):
        constituency_text(Tree("NN", ("cat",)), width=10)
    with pytest.raises(CorpusError, match="has no constituency tree to draw"):
        constituency_text(Sentence.from_words(["cat"]))
