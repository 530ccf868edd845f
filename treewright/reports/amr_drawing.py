"""Drawings of meaning graphs as SVG documents.

Concepts are boxes, in layers below the top, and roles are on the lines between them. An arrow has the direction of its
edge, so no role is inverse. Constants (``:quant 2``) are in the box of their node. All lines down to a node except the
first are dashed: these are the reentrancies. The words are below, with thin lines to their nodes.

:func:`amr_diff_svg` draws two graphs as one; triples that only one of them has are in another colour and have a sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from treewright.amr.alignment import Alignment, Node
from treewright.corpora import Graph, Sentence
from treewright.errors import CorpusError
from treewright.reports.amr_diff import GraphDiff, Side
from treewright.reports.amr_layout import Layers, Line, Place, Sketch, downward, layers
from treewright.reports.dependency_drawing import _clean, _number, text_width

__all__ = ["amr_diff_svg", "amr_svg"]

# All lengths are in pixels.
_CONCEPT, _SMALL, _WORD, _TITLE = 14, 11, 15, 13  # sizes of letters
_MARGIN = 14  # around everything
_PADDING = 7  # from a text to the side of its box
_LINE = 15  # from one line in a box to the next
_ARROW = 7  # length of an arrow; it is as wide
_SIGNS: dict[Side, str] = {"both": "", "gold": "− ", "predicted": "+ "}

# Every SVG reader understands attributes. The style sheet only adds to them.
_STYLES = {
    "paper": 'class="tw-paper" fill="#ffffff"',
    "word": 'class="tw-word" fill="#111111"',
    "link": 'class="tw-thread" fill="none" stroke="#9aa5b1" stroke-width="0.8" stroke-dasharray="1 3"',
    "box": 'class="tw-box" fill="#f3f6fa" stroke="#5a6672" stroke-width="1.2"',
    "top": 'class="tw-box" fill="#f3f6fa" stroke="#5a6672" stroke-width="2.6"',
    "concept": 'class="tw-word" fill="#111111"',
    "constant": 'class="tw-tag" fill="#59636e"',
    "role": 'class="tw-label" fill="#0b4a82"',
    "edge": 'class="tw-arc" fill="none" stroke="#5a6672" stroke-width="1.2"',
    "again": 'class="tw-arc" fill="none" stroke="#5a6672" stroke-width="1.2" stroke-dasharray="5 3"',
    "tip": 'class="tw-tip" fill="#5a6672"',
}
_SMALLEST = 0.6  # scale of a drawing that is too wide
# Triples of only one graph: colours that are easy to distinguish, and also a sign and a line style.
_ONLY = {"gold": ("tw-gold", "#b34700", 'stroke-dasharray="7 3"'), "predicted": ("tw-new", "#0062a8", "")}
_SHEET = (
    "@media screen and (prefers-color-scheme:dark){.tw-paper{fill:#15181d}.tw-word{fill:#f2f2f2}.tw-tag{fill:#a8b0ba}"
    ".tw-label{fill:#8ec5ff}.tw-arc{stroke:#9aa7b5}.tw-tip{fill:#9aa7b5}.tw-box{fill:#20262e;stroke:#9aa7b5}"
    ".tw-gold-text{fill:#ff9d5c}.tw-gold-line{stroke:#ff9d5c}.tw-new-text{fill:#5cc0ff}.tw-new-line{stroke:#5cc0ff}}"
    ".tw-link:hover .tw-arc{stroke-width:2.5}"
)


class _Text(NamedTuple):
    """A line in a box."""

    text: str
    size: int
    side: Side


class _Box(NamedTuple):
    """A node: its concept, or two, and its constants."""

    texts: tuple[_Text, ...]
    side: Side
    is_top: bool

    def size(self) -> tuple[float, float]:
        """The width and the height of the box."""
        widest = max(text_width(text.text, text.size) for text in self.texts)
        return widest + 2.0 * _PADDING, _LINE * len(self.texts) + 8.0


class _Edge(NamedTuple):
    """A line between two boxes, by their numbers."""

    source: int
    target: int
    role: str
    side: Side = "both"
    is_reentrant: bool = False


class _Figure(NamedTuple):
    """The elements of the drawing."""

    boxes: Sequence[_Box]
    edges: Sequence[_Edge]
    words: Sequence[str]
    aligned: Sequence[tuple[int, int]]
    top: int
    in_words: str
    """A description of the drawing for screen readers."""

    def sketch(self) -> Sketch:
        """The sizes of its parts."""
        return Sketch(
            [box.size() for box in self.boxes],
            [(edge.source, edge.target) for edge in self.edges],
            [text_width(edge.role, _SMALL) + 4.0 for edge in self.edges],
            [text_width(word, _WORD) for word in self.words],
            self.aligned,
            self.top,
        )


def amr_svg(
    meaning: Graph | Sentence,
    *,
    alignment: Alignment | None = None,
    title: str | None = None,
    width: float | None = None,
) -> str:
    """Draw a meaning graph, or that of a sentence, with its words, as a self-contained SVG document.

    A drawing that is wider than ``width`` pixels has no words; if it is still wider, it is made smaller, down to six
    tenths of its size.

    The lines to the words follow the given alignment, or that of the graph. The title is written above the drawing;
    without one, screen readers use the words.

    >>> graph = Graph.from_penman("(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))")
    >>> drawing = amr_svg(Sentence(Sentence.from_words("The boy wants to go".split()).tokens, graph=graph))
    >>> print(drawing.splitlines()[1])
    <title>The boy wants to go</title>
    """
    graph, words = drawn_graph(meaning), meaning.forms if isinstance(meaning, Sentence) else ()
    if alignment is None:
        alignment = {node: at for node, at in graph.alignments.items() if isinstance(at, tuple)}
    heading = title if title is not None else " ".join(words)
    return _svg(_figure(graph, words, alignment), heading, written=title is not None, most=width)


def amr_diff_svg(difference: GraphDiff, words: Sequence[str] = (), *, title: str | None = None) -> str:
    """Draw the difference between a predicted and a gold graph.

    Missing triples, which only the gold graph has, are orange and dashed and have a minus; extra triples are blue and
    have a plus.
    """
    heading = title if title is not None else " ".join(words)
    return _svg(_difference_figure(difference, words), heading, written=title is not None)


def drawn_graph(meaning: Graph | Sentence) -> Graph:
    """The graph to be drawn: that of a sentence, if it has one."""
    graph = meaning.graph if isinstance(meaning, Sentence) else meaning
    if graph is None:
        assert isinstance(meaning, Sentence)
        raise CorpusError(
            f"the sentence {str(meaning)[:60]!r} has no graph to draw", path=meaning.path, line=meaning.line
        )
    return graph


# ---- boxes and words


def _figure(graph: Graph, words: Sequence[str], alignment: Alignment) -> _Figure:
    number = {variable: k for k, variable in enumerate(graph.variables)}
    texts = [[_Text(concept, _CONCEPT, "both")] for _, concept in graph.instances]
    for source, role, constant in graph.attributes:
        texts[number[source]].append(_Text(f"{role} {constant}", _SMALL, "both"))
    for source, role, target in graph.edges:
        if source == target:
            texts[number[source]].append(_Text(f"{role} (itself)", _SMALL, "both"))
    others = [(number[source], number[target]) for source, _, target in graph.edges if source != target]
    roles = [role for source, role, target in graph.edges if source != target]
    entered: set[int] = set()
    edges: list[_Edge] = []
    for pair, role, is_down in zip(others, roles, downward(len(texts), others, number[graph.top]), strict=True):
        below = pair[1] if is_down else pair[0]
        edges.append(_Edge(*pair, role, is_reentrant=below in entered))
        entered.add(below)
    boxes = [_Box(tuple(lines), "both", graph.variables[k] == graph.top) for k, lines in enumerate(texts)]
    return _Figure(boxes, edges, words, _links(alignment, number, len(words)), number[graph.top], _in_words(graph))


def _difference_figure(difference: GraphDiff, words: Sequence[str]) -> _Figure:
    number = {node.name: k for k, node in enumerate(difference.nodes)}
    texts: list[list[_Text]] = []
    for node in difference.nodes:
        concepts: list[tuple[str | None, Side]] = [(node.concept, node.side)]
        if node.is_changed:
            concepts = [(node.gold_concept, "gold"), (node.predicted_concept, "predicted")]
        texts.append([_Text(f"{_SIGNS[side]}{concept}", _CONCEPT, side) for concept, side in concepts])
    edges: list[_Edge] = []
    for triple in difference.attributes:
        text = f"{_SIGNS[triple.side]}{triple.role} {triple.target}"
        texts[number[triple.source]].append(_Text(text, _SMALL, triple.side))
    for triple in difference.edges:
        source, target, role = number[triple.source], number[triple.target], f"{_SIGNS[triple.side]}{triple.role}"
        if source == target:
            texts[source].append(_Text(f"{role} (itself)", _SMALL, triple.side))
        else:
            edges.append(_Edge(source, target, role, triple.side))
    for triple in difference.tops if len(difference.tops) > 1 else ():
        texts[number[triple.source]].append(_Text(f"{_SIGNS[triple.side]}top", _SMALL, triple.side))
    tops = [triple.source for triple in difference.tops]
    boxes = [
        _Box(tuple(lines), node.side, node.name in tops) for node, lines in zip(difference.nodes, texts, strict=True)
    ]
    links = _links(difference.alignments, number, len(words))
    return _Figure(boxes, edges, words, links, number[tops[0]], "; ".join(difference.lines()))


def _links(alignment: Mapping[Node, tuple[int, ...]], number: Mapping[str, int], words: int) -> list[tuple[int, int]]:
    """The boxes and their words. A constant is in the box of its node."""
    links = [
        (number[node if isinstance(node, str) else node[0]], word) for node, at in alignment.items() for word in at
    ]
    return sorted(dict.fromkeys(link for link in links if 0 <= link[1] < words))


def _in_words(graph: Graph) -> str:
    concepts = dict(graph.instances)
    triples = [f"{concepts[source]} {role} {concepts.get(target, target)}" for source, role, target in graph.edges]
    triples += [f"{concepts[source]} {role} {constant}" for source, role, constant in graph.attributes]
    return "Meaning graph: " + "; ".join([concepts[graph.top], *triples])


# ---- drawing


def _svg(figure: _Figure, heading: str, *, written: bool, most: float | None = None) -> str:
    drawing = layers(figure.sketch(), role_height=_SMALL + 4.0, word_height=_WORD + 6.0)
    spoken = [{word + 1 for box, word in figure.aligned if box == k} for k in range(len(figure.boxes))]
    if most is not None and figure.words and drawing.width + 2 * _MARGIN > most:
        figure = figure._replace(words=(), aligned=())
        drawing = layers(figure.sketch(), role_height=_SMALL + 4.0, word_height=_WORD + 6.0)
    shift_y = _MARGIN + (_TITLE + 10 if written else 0)
    wide = drawing.width + 2 * _MARGIN
    if written:
        wide = max(wide, text_width(heading, _TITLE + 2) + 2 * _MARGIN)  # bold letters are wider
    high = drawing.height + shift_y + _MARGIN
    scale = 1.0 if most is None else max(min(most / wide, 1.0), _SMALLEST)
    width, height = _number(wide), _number(high)
    size = f'width="{_number(wide * scale)}" height="{_number(high * scale)}"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
        f"<title>{_clean(heading)}</title>",
        f"<desc>{_clean(figure.in_words)}</desc>",
        f"<style>{_SHEET}</style>",
        f'<rect {_STYLES["paper"]} width="{width}" height="{height}"/>',
    ]
    if written:
        start = f'x="{_MARGIN}" y="{_MARGIN + _TITLE}" font-size="{_TITLE}" font-weight="bold" text-anchor="start"'
        out.append(f"<text {_STYLES['word']} {start}>{_clean(heading)}</text>")
    out.append(f'<g transform="translate({_MARGIN} {shift_y})">')
    out += [f'<path {_STYLES["link"]} d="{_path(link)}"/>' for link in drawing.links]
    for number, edge in enumerate(figure.edges):
        out += _edge(figure, drawing, number, edge)
    for box, place, words in zip(figure.boxes, drawing.nodes, spoken, strict=True):
        numbers = " ".join(map(str, sorted(words)))
        out += [f'<g class="tw-node" data-words="{numbers}">', *_box(box, place), "</g>"]
    for number, (word, place) in enumerate(zip(figure.words, drawing.words, strict=True), 1):
        style = f'{_STYLES["word"]} data-words="{number}"'
        out.append(_text(word, place.x, place.top + _WORD, _WORD, style))
    return "\n".join([*out, "</g>", "</svg>", ""])


def _edge(figure: _Figure, drawing: Layers, number: int, edge: _Edge) -> list[str]:
    """A line, its arrow, and its role."""
    line, place = drawing.edges[number], drawing.roles[number]
    stroke, tip, role = _STYLES["again" if edge.is_reentrant else "edge"], _STYLES["tip"], _STYLES["role"]
    if edge.side != "both":
        name, colour, dashes = _ONLY[edge.side]
        stroke = f'class="tw-arc {name}-line" fill="none" stroke="{colour}" stroke-width="1.6" {dashes}'.rstrip()
        tip = role = f'class="{name}-text" fill="{colour}"'
    hint = f"{figure.boxes[edge.source].texts[0].text} {edge.role} {figure.boxes[edge.target].texts[0].text}"
    return [
        f'<g class="tw-link"><title>{_clean(hint)}</title>',
        f'<path {stroke} d="{_path(line)}"/>',
        f'<polygon {tip} points="{_arrow(line)}"/>',
        _text(edge.role, place.x, place.top + _SMALL, _SMALL, role),
        "</g>",
    ]


def _box(box: _Box, place: Place) -> list[str]:
    style = _STYLES["top" if box.is_top else "box"]
    if box.side != "both":
        name, colour, dashes = _ONLY[box.side]
        thick = 2.6 if box.is_top else 1.6
        style = f'class="tw-box {name}-line" fill="#f3f6fa" stroke="{colour}" stroke-width="{thick}" {dashes}'.rstrip()
    left, top = _number(place.x - place.width / 2), _number(place.top)
    size = f'width="{_number(place.width)}" height="{_number(place.height)}"'
    out = [f'<rect {style} x="{left}" y="{top}" {size} rx="5"/>']
    for k, text in enumerate(box.texts):
        style = _STYLES["concept" if text.size == _CONCEPT else "constant"]
        if text.side != "both":
            name, colour, _ = _ONLY[text.side]
            style = f'class="{name}-text" fill="{colour}"'
        out.append(_text(text.text, place.x, place.top + _LINE * (k + 1), text.size, style))
    return out


def _path(line: Line) -> str:
    """The vertical pieces of a line and the curves between them, with a gap for the role."""
    (x, top, bottom), *rest = line.pieces
    path = [f"M{_number(x)} {_number(top)}"]
    if bottom > top:
        path.append(f"V{_number(bottom)}")
    for k, (next_x, next_top, next_bottom) in enumerate(rest, 1):
        if next_x == x:
            path.append(f"V{_number(next_top)}")
        else:
            middle = _number((bottom + next_top) / 2)
            path.append(f"C{_number(x)} {middle} {_number(next_x)} {middle} {_number(next_x)} {_number(next_top)}")
        if k == line.role:
            path.append(f"M{_number(next_x)} {_number(next_bottom)}")
        elif next_bottom > next_top:
            path.append(f"V{_number(next_bottom)}")
        x, bottom = next_x, next_bottom
    return "".join(path)


def _arrow(line: Line) -> str:
    """The arrow at the lower end of a line, or at the upper one."""
    x, y = (line.pieces[0][0], line.pieces[0][1]) if line.points_up else (line.pieces[-1][0], line.pieces[-1][1])
    length = _ARROW if line.points_up else -_ARROW
    corners = ((-_ARROW / 2, length), (_ARROW / 2, length), (0, 0))
    return " ".join(f"{_number(x + dx)},{_number(y + dy)}" for dx, dy in corners)


def _text(text: str, x: float, y: float, size: int, style: str) -> str:
    return f'<text {style} x="{_number(x)}" y="{_number(y)}" font-size="{size}">{_clean(text)}</text>'
