from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.amr.naive import graphs
from tests.examples import examples
from treewright.corpora import Graph, Sentence
from treewright.corpora.amr import read_amr
from treewright.errors import CorpusError
from treewright.reports import amr_diff_svg, amr_dot, amr_svg, graph_diff

SVG = "{http://www.w3.org/2000/svg}"
GRAPH = Graph.from_penman('(w / want-01 :polarity - :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b :mod "<a&b>"))')
WORDS = ["The", "boy", "doesn't", "want", "to", "<go>"]
ALIGNMENT = {"w": (3,), "b": (1,), ("w", ":polarity", "-"): (2,), "g": (4, 5, 17)}


def sentence(graph: Graph | None = GRAPH, words: list[str] = WORDS) -> Sentence:
    return Sentence(Sentence.from_words(words).tokens, graph=graph)


def texts(svg: str, name: str = "tw-word") -> Counter[str]:
    found = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return Counter("".join(text.itertext()) for text in found if name in text.get("class", "").split())


def paths(svg: str, name: str) -> int:
    return sum(name in path.get("class", "").split() for path in ElementTree.fromstring(svg).iter(f"{SVG}path"))


def test_everything_is_in_the_document() -> None:
    svg = amr_svg(sentence(), alignment=ALIGNMENT)
    assert texts(svg) == Counter([*WORDS, "want-01", "boy", "go-02"])
    assert texts(svg, "tw-label") == Counter([":ARG0", ":ARG1", ":ARG0"])
    assert texts(svg, "tw-tag") == Counter([":polarity -", ':mod "<a&b>"'])
    assert paths(svg, "tw-arc") == 3
    assert paths(svg, "tw-thread") == 5  # the word 17 does not exist
    assert svg.count('stroke-dasharray="5 3"') == 1  # the second edge to the boy
    assert "Meaning graph: want-01; want-01 :ARG0 boy" in svg


def test_alignments_of_the_graph_titles_and_no_words() -> None:
    aligned = Graph.from_penman("(d / dog~e.1 :ARG0-of (b / bark-01~e.2))")
    assert paths(amr_svg(sentence(aligned)), "tw-thread") == 2
    assert paths(amr_svg(aligned), "tw-thread") == 0
    svg = amr_svg(GRAPH, title="A & B")
    assert texts(svg) == Counter(["A & B", "want-01", "boy", "go-02"])
    assert ElementTree.fromstring(amr_svg(Graph("a", (("a", "\0thing"),)))) is not None


def test_graphs_that_are_not_well_formed_are_drawn_as_they_are() -> None:
    strange = Graph("a", (("a", "x"), ("b", "y")), (("a", ":ARG0", "a"), ("b", ":ARG1", "b")))
    assert texts(amr_svg(strange), "tw-tag") == Counter([":ARG0 (itself)", ":ARG1 (itself)"])


def test_no_graph() -> None:
    with pytest.raises(CorpusError, match="has no graph to draw"):
        amr_svg(sentence(None))


@examples(40)
@given(graphs("abcde"), st.integers(0, 3))
def test_any_graph(graph: Graph, words: int) -> None:
    svg = amr_svg(sentence(graph, WORDS[:words]), alignment={graph.top: (0,)})
    assert texts(svg) == Counter([*WORDS[:words], *(concept for _, concept in graph.instances)])


def test_differences_have_signs_as_well_as_colours() -> None:
    predicted = Graph.from_penman("(w / want-01 :ARG0 (b / girl :mod (s / small)) :ARG1 (g / go-02) :quant 2)")
    svg = amr_diff_svg(graph_diff(GRAPH, predicted), WORDS, title="first")
    assert texts(svg) == Counter(["first", *WORDS, "want-01", "go-02"])
    assert texts(svg, "tw-gold-text") == Counter(["− boy", "− :ARG0", "− :polarity -", '− :mod "<a&b>"'])
    assert texts(svg, "tw-new-text") == Counter(["+ girl", "+ small", "+ :mod", "+ :quant 2"])
    assert paths(svg, "tw-gold-line") == 1


def test_two_tops() -> None:
    one, other = (Graph.from_penman(text) for text in ("(a / x :ARG0 (b / y))", "(b / y :ARG0-of (a / x))"))
    svg = amr_diff_svg(graph_diff(one, other))
    assert texts(svg, "tw-gold-text") == Counter(["− top"])
    assert texts(svg, "tw-new-text") == Counter(["+ top"])
    assert svg.count('stroke-width="2.6"') == 2


def test_dot() -> None:
    text = amr_dot(sentence())
    assert '  label="The boy doesn\'t want to <go>";' in text
    assert r'"g" [label="go-02\n:mod \"<a&b>\""];' in text
    assert text.count("->") == 3


@pytest.mark.slow
def test_real_graphs(real_data) -> None:
    for one in list(read_amr(real_data("amr-little-prince/dev.txt")))[:40]:
        assert one.graph is not None
        words = {k: tuple(range(n, n + 2)) for n, k in enumerate(one.graph.variables)}
        assert not re.search("nan|inf", re.sub(">[^<]*<", "><", amr_svg(one, alignment=words)))
