from __future__ import annotations

from collections import Counter
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.sentences import projective_heads, sentence, sentences
from treewright.corpora import Sentence, Token, load_corpus
from treewright.errors import CorpusError
from treewright.reports import dependency_svg
from treewright.reports.dependency_drawing import Box, Layout, Line, Text, layout, text_width

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: ElementTree.Element, name: str) -> Counter[str]:
    return Counter("".join(found.itertext()) for found in svg.iter(f"{SVG}text") if found.get("class") == name)


def meet(a: Box, b: Box) -> bool:
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def pieces(line: Line, base: float) -> list[Box]:
    """A line as boxes without width (its legs) or height (its top)."""
    left, right = sorted((line.start, line.end))
    return [Box(x, line.top, x, base) for x in {left, right}] + [Box(left, line.top, right, line.top)] * (left < right)


def problems(drawing: Layout) -> list[str]:
    """Everything in a layout that would be hard to read."""
    found = []
    labels = [label for label in drawing.labels if label]
    boxes = [text.box for text in (*drawing.words, *drawing.tags, *labels)]
    lines = [(line.arc, piece) for line in drawing.lines for piece in pieces(line, drawing.base)]
    found += [f"{a} and {b} overlap" for a, b in combinations(boxes, 2) if meet(a, b)]
    found += [f"{arc} passes through {box}" for arc, piece in lines for box in boxes if meet(piece, box)]
    for box in boxes:
        if min(box.left, box.top) < 0 or box.right > drawing.width or box.bottom > drawing.height:
            found.append(f"{box} is outside")
    for (one, a), (other, b) in combinations(lines, 2):
        if one == other:
            continue
        if a.left == a.right == b.left == b.right:
            found.append(f"{one} and {other} share a leg")
        if a.top == a.bottom == b.top == b.bottom and a.left <= b.right and b.left <= a.right:
            found.append(f"{one} and {other} share a top")
    return found


def crossings(drawing: Layout) -> int:
    lines = [(line.arc, piece) for line in drawing.lines for piece in pieces(line, drawing.base)]
    legs = [(arc, piece) for arc, piece in lines if piece.top < piece.bottom]
    tops = [(arc, piece) for arc, piece in lines if piece.left < piece.right]
    return sum(a.left < b.left < a.right and b.top < a.top for one, a in tops for other, b in legs if one != other)


@given(sentences())
def test_everything_is_in_the_document(sentence: Sentence) -> None:
    svg = ElementTree.fromstring(dependency_svg(sentence))
    arcs = [token for token in sentence if token.head is not None]
    assert svg.get("role") == "img"
    assert svg.findtext(f"{SVG}title") == str(sentence)
    assert texts(svg, "tw-word") == Counter(sentence.forms)
    assert texts(svg, "tw-tag") == Counter(sentence.column("upos"))
    assert texts(svg, "tw-label") == Counter(token.deprel for token in arcs if token.deprel != "_")
    assert len(list(svg.iter(f"{SVG}path"))) == len(list(svg.iter(f"{SVG}polygon"))) == len(arcs)


@given(sentences())
def test_nothing_overlaps_and_no_line_passes_through_a_text(sentence: Sentence) -> None:
    assert problems(layout(sentence)) == []


@given(projective_heads())
def test_lines_of_projective_trees_do_not_cross(heads: list[int | None]) -> None:
    assert crossings(layout(sentence(heads))) == 0


@given(sentences())
def test_each_line_goes_from_its_head_to_its_dependent(sentence: Sentence) -> None:
    drawing = layout(sentence)
    reach = [word.box for word in drawing.words]
    for rail in drawing.rails:
        [k] = [k for k, box in enumerate(reach) if rail.left < box.left and box.right < rail.right]
        reach[k] = rail

    def word_at(x: float) -> int:
        [k] = [k for k, box in enumerate(reach, 1) if box.left <= x <= box.right]
        return k

    for line in drawing.lines:
        assert word_at(line.end) == line.arc.dependent
        assert line.start == line.end if not line.arc.head else word_at(line.start) == line.arc.head


def test_arcs_are_as_high_as_they_are_nested_and_the_root_is_on_top() -> None:
    drawing = layout(sentence([2, 6, 6, 5, 6, 0]))
    tops = sorted({line.top for line in drawing.lines}, reverse=True)
    assert [1 + tops.index(line.top) for line in drawing.lines] == [1, 3, 2, 1, 1, 4]


def test_long_labels_and_many_dependents_push_words_apart() -> None:
    narrow = layout(sentence([2, 0, 2], relations=["a", "b", "c"])).words
    wide = layout(sentence([2, 0, 2], relations=["a", "b", "a_very_long_relation"])).words
    assert wide[1].x - wide[0].x == narrow[1].x - narrow[0].x
    assert wide[2].x - wide[1].x > text_width("a_very_long_relation", 11) > narrow[2].x - narrow[1].x
    many = layout(sentence([21] * 20 + [0]))
    assert len({line.start for line in many.lines}) == 21


def test_real_sentences_of_40_words_stay_small(real_data) -> None:
    found = [s for s in load_corpus(real_data("ud-english-ewt/dev.conllu")) if len(s) == 40]
    assert found
    for drawing in map(layout, found):
        assert problems(drawing) == []
        assert drawing.height <= 300
        assert drawing.width <= 40 * 65


@pytest.mark.slow
def test_a_corpus_with_crossing_arcs(real_data) -> None:
    drawings = [layout(s) for s in load_corpus(real_data("ud-afrikaans-afribooms/dev.conllu")) if len(s) <= 45]
    assert any(crossings(drawing) for drawing in drawings)
    assert [problem for drawing in drawings for problem in problems(drawing)] == []


def test_without_heads_there_are_only_words() -> None:
    svg = ElementTree.fromstring(dependency_svg(Sentence.from_words(["just", "words"])))
    assert texts(svg, "tw-word") == Counter(["just", "words"])
    assert not texts(svg, "tw-tag")
    assert not list(svg.iter(f"{SVG}path"))
    assert ElementTree.fromstring(dependency_svg(Sentence(()))).findtext(f"{SVG}title") == ""


@given(st.text(), st.text(min_size=1))
def test_any_text_gives_xml(title: str, form: str) -> None:
    svg = ElementTree.fromstring(dependency_svg(Sentence((Token(form, upos=form, head=0, deprel=form),)), title=title))
    assert len(list(svg.iter(f"{SVG}path"))) == 1


def test_what_xml_cannot_hold_is_replaced() -> None:
    svg = ElementTree.fromstring(dependency_svg(Sentence.from_words(["a\x00b\ud800"])))
    assert texts(svg, "tw-word") == Counter(["a\ufffdb\ufffd"])


def test_the_title_is_shown() -> None:
    drawn = Sentence.from_words(["a"])
    svg = ElementTree.fromstring(dependency_svg(drawn, title="Gold & more"))
    assert svg.findtext(f"{SVG}title") == "Gold & more"
    assert texts(svg, "tw-word") == Counter(["a", "Gold & more"])
    assert layout(drawn, "Gold & more").width >= text_width("Gold & more", 13)


def test_the_tree_is_told_in_words() -> None:
    svg = ElementTree.fromstring(dependency_svg(sentence([2, 0], ["They", "sat"], ["nsubj", "root"])))
    assert svg.findtext(f"{SVG}desc") == "Dependency tree: They: nsubj of sat; sat: root"


def test_one_sentence_one_drawing() -> None:
    drawn = sentence([3, 5, 0, 3, 3])
    assert dependency_svg(drawn) == dependency_svg(drawn)


@pytest.mark.parametrize("head", [1, 3, -1])
def test_heads_that_are_no_words_are_refused(head: int) -> None:
    with pytest.raises(CorpusError, match=rf"a\.conllu:7: word 1 .*'w1'.* head is {head}"):
        dependency_svg(Sentence(sentence([head, 0]).tokens, path="a.conllu", line=7))


@given(sentences(), st.integers(200, 900))
def test_a_wide_drawing_is_cut_into_rows(sentence: Sentence, width: int) -> None:
    svg = ElementTree.fromstring(dependency_svg(sentence, width=width))
    assert texts(svg, "tw-word") == Counter(sentence.forms)
    assert texts(svg, "tw-tag") == Counter(sentence.column("upos"))
    labels = Counter(token.deprel for token in sentence if token.head is not None and token.deprel != "_")
    assert texts(svg, "tw-label") == labels
    arcs = [token for token in sentence if token.head is not None]
    assert len(list(svg.iter(f"{SVG}polygon"))) == len(arcs)  # every arc has one tip, whatever the number of its pieces
    boxes = [
        Text(
            found.text or "", float(found.get("x", "")), float(found.get("y", "")), int(found.get("font-size", ""))
        ).box
        for found in svg.iter(f"{SVG}text")
    ]
    assert not [pair for pair in combinations(boxes, 2) if meet(*pair)]


def test_150_words_fit_into_a_page() -> None:
    words = [Token(f"word{k}", upos="NOUN", head=k - 1, deprel="dep" if k > 1 else "root") for k in range(1, 151)]
    svg = ElementTree.fromstring(dependency_svg(Sentence(tuple(words)), width=1000))
    assert float(svg.get("width", "")) <= 1000
    assert [found.get("data-words") for found in svg.iter(f"{SVG}g")].count("1 2") >= 1
