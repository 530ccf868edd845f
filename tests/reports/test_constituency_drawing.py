from __future__ import annotations

from collections import Counter
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.trees import chain, trees
from treewright.corpora import Sentence, Token, Tree
from treewright.corpora.brackets import clean_tree, parse_ptb, read_ptb
from treewright.errors import CorpusError
from treewright.reports import constituency_svg
from treewright.reports.constituency_drawing import Branch, Layout, _path, drawn_tree, layout
from treewright.reports.dependency_drawing import Box, text_width

SVG = "{http://www.w3.org/2000/svg}"
CAT = Tree("S", (Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",)))), Tree("VP", (Tree("VBD", ("sat",)),))))


def texts(svg: ElementTree.Element, name: str) -> Counter[str]:
    return Counter(
        "".join(found.itertext()) for found in svg.iter(f"{SVG}text") if name in found.get("class", "").split()
    )


def meet(a: Box, b: Box) -> bool:
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def pieces(branch: Branch) -> list[Box]:
    """A branch as boxes without width or height: its stem, its bar, and the lines to its children."""
    places = [branch.x, *(x for x, _ in branch.ends)]
    bar = [Box(min(places), branch.bar, max(places), branch.bar)] * (len(set(places)) > 1)
    return [Box(branch.x, branch.top, branch.x, branch.bar), *bar, *(Box(x, branch.bar, x, y) for x, y in branch.ends)]


def problems(drawing: Layout) -> list[str]:
    """Everything in a layout that would be hard to read."""
    boxes = [text.box for text in (*drawing.words, *drawing.tags, *drawing.labels) if text.text]
    lines = [(number, piece) for number, branch in enumerate(drawing.branches) for piece in pieces(branch)]
    found = [f"{a} and {b} overlap" for a, b in combinations(boxes, 2) if meet(a, b)]
    # A line ends above a text; it may not go through one, nor touch it.
    found += [f"{line} passes through {box}" for _, line in lines for box in boxes if meet(line, box)]
    for box in boxes:
        if min(box.left, box.top) < 0 or box.right > drawing.width or box.bottom > drawing.height:
            found.append(f"{box} is outside")
    for (one, a), (other, b) in combinations(lines, 2):
        # A child without a label has its stem where the line to it ends.
        touch = a.left <= b.right and b.left <= a.right and a.top < b.bottom and b.top < a.bottom
        if one != other and (touch or meet(a, b)):
            found.append(f"branches {one} and {other} meet: {a}, {b}")
    return found


@given(trees)
def test_everything_is_in_the_document(tree: Tree) -> None:
    svg = ElementTree.fromstring(constituency_svg(tree))
    drawn = drawn_tree(tree)
    inner = [node for node in drawn.subtrees() if not node.is_preterminal]
    assert svg.get("role") == "img"
    assert svg.findtext(f"{SVG}title") == " ".join(tree.leaves())
    assert texts(svg, "tw-word") == Counter(tree.leaves())
    assert texts(svg, "tw-tag") == Counter(tag for tag in tree.tags() if tag)
    assert texts(svg, "tw-label") == Counter(node.label for node in inner if node.label)
    assert len(list(svg.iter(f"{SVG}path"))) == len(inner)


@given(trees)
def test_nothing_overlaps_and_no_line_passes_through_a_text(tree: Tree) -> None:
    assert problems(layout(drawn_tree(tree))) == []


@given(trees)
def test_words_are_on_one_line_with_their_tags_above_and_parents_above_children(tree: Tree) -> None:
    drawing = layout(drawn_tree(tree))
    assert len({word.y for word in drawing.words}) == 1
    assert [word.text for word in drawing.words] == list(tree.leaves())
    assert [word.x for word in drawing.words] == sorted({word.x for word in drawing.words})
    assert {tag.x for tag in drawing.tags} <= {word.x for word in drawing.words}
    for node, label, branch in zip(drawing.nodes, drawing.labels, drawing.branches, strict=True):
        assert label.x == branch.x
        assert drawing.words[node.first].box.left - 300 < label.x < drawing.words[node.last].box.right + 300
        assert len(branch.ends) == len(node.parts)
        assert all(branch.top < branch.bar < y for _, y in branch.ends)


def test_only_children_are_straight_below_their_parents() -> None:
    drawing = layout(Tree("S", (CAT,)))
    assert drawing.labels[-1].x == drawing.labels[-2].x
    assert _path(drawing.branches[-1]).count("V") == 1
    long = layout(Tree("A-VERY-LONG-LABEL-INDEED", (Tree("NP", CAT.children),)))
    assert long.labels[-1].x == long.labels[-2].x


def test_long_labels_push_words_apart() -> None:
    narrow = layout(CAT)
    wide = layout(Tree("A-VERY-LONG-LABEL-INDEED", CAT.children))
    assert wide.width > narrow.width
    assert wide.width >= text_width("A-VERY-LONG-LABEL-INDEED", 13)


@pytest.mark.parametrize(
    ("branch", "path"),
    [
        (Branch(5, 0, 10, ((5, 20),)), "M5 0V20"),
        (Branch(20, 0, 10, ((0, 20), (40, 30))), "M0 20V16Q0 10 6 10H34Q40 10 40 16V30M20 10V0"),
        (Branch(20, 0, 10, ((0, 20), (20, 25), (40, 30))), "M0 20V16Q0 10 6 10H34Q40 10 40 16V30M20 10V25M20 10V0"),
        (Branch(0, 0, 10, ((0, 20), (40, 30))), "M0 20V16Q0 10 6 10H34Q40 10 40 16V30M0 10V0"),
        (Branch(50, 0, 10, ((0, 20), (40, 30))), "M0 20V16Q0 10 6 10H44Q50 10 50 4V0M40 10V30"),
    ],
)
def test_lines(branch: Branch, path: str) -> None:
    assert _path(branch) == path


def test_real_sentences_of_40_words(real_data) -> None:
    found = [s for s in read_ptb(real_data("ptb-wsj-sample/dev.ptb")) if 38 <= len(s) <= 42]
    assert found
    for sentence in found:
        for tree in (drawn_tree(sentence), clean_tree(sentence.tree)):
            assert tree is not None
            drawing = layout(tree)
            assert problems(drawing) == []
            assert drawing.width <= 65 * len(tree.leaves())
            assert drawing.height <= 900


@pytest.mark.slow
def test_nesting_deeper_than_the_stack() -> None:
    assert constituency_svg(chain(100_000)).count('class="tw-label"') == 100_000


def test_a_single_tag_and_a_single_word() -> None:
    for tree in (Tree("NN", ("cat",)), Tree("", ("cat",))):
        drawing = layout(tree)
        assert problems(drawing) == []
        assert not drawing.branches


def test_the_tree_of_a_sentence_without_the_node_around_it() -> None:
    sentence = Sentence((Token("the"), Token("cat"), Token("sat")), tree=Tree("", (CAT,)), path="a.ptb", line=7)
    assert constituency_svg(sentence) == constituency_svg(CAT)
    with pytest.raises(CorpusError, match=r"a\.ptb:7: .*'the cat sat'"):
        constituency_svg(Sentence(sentence.tokens, path="a.ptb", line=7))


@given(st.text(), st.text(min_size=1))
def test_any_text_gives_xml(title: str, text: str) -> None:
    svg = ElementTree.fromstring(constituency_svg(Tree(text, (Tree(text, (text,)), text)), title=title))
    assert len(list(svg.iter(f"{SVG}path"))) == 1


def test_the_title_is_shown() -> None:
    svg = ElementTree.fromstring(constituency_svg(CAT, title="Gold & more"))
    assert svg.findtext(f"{SVG}title") == "Gold & more"
    assert texts(svg, "tw-word") == Counter(["the", "cat", "sat", "Gold & more"])
    assert layout(Tree("A", ("b",)), "Gold & more").width >= text_width("Gold & more", 13)
    assert problems(layout(CAT, "Gold & more")) == []


def test_the_tree_is_told_in_words() -> None:
    svg = ElementTree.fromstring(constituency_svg(CAT))
    assert svg.findtext(f"{SVG}desc") == "Constituency tree: (S (NP (DT the) (NN cat)) (VP (VBD sat)))"
    assert [group.findtext(f"{SVG}title") for group in svg.iter(f"{SVG}g")] == [
        "NP: the cat",
        "VP: sat",
        "S: the cat sat",
    ]
    long = ElementTree.fromstring(constituency_svg(Tree("X", ("word",) * 1000)))
    [hint] = [group.findtext(f"{SVG}title") for group in long.iter(f"{SVG}g")]
    assert hint is not None
    assert hint.endswith("…")
    assert len(hint) < 100


def test_traces_are_told_from_words() -> None:
    svg = ElementTree.fromstring(constituency_svg(Tree("NP", (Tree("-NONE-", ("*T*",)), Tree("NN", ("cat",))))))
    assert texts(svg, "tw-trace") == Counter(["*T*"])


def test_one_tree_one_drawing() -> None:
    assert constituency_svg(CAT) == constituency_svg(CAT)


def test_a_wide_tree_is_drawn_in_parts() -> None:
    phrase = "(NP (NP (DT the) (NN word)) (PP (IN of) {}))"
    text = "(NN end)"
    for _ in range(50):
        text = phrase.format(text)
    tree = next(parse_ptb([text])).tree
    assert tree is not None
    svg = ElementTree.fromstring(constituency_svg(tree, width=1000))
    assert float(svg.get("width", "")) <= 1000
    shown = [found.get("data-words") for found in svg.iter(f"{SVG}text") if found.get("class") == "tw-word"]
    single = [int(numbers) for numbers in shown if numbers is not None and " " not in numbers]
    assert sorted(single) == [*range(1, len(tree.leaves()) + 1)]
