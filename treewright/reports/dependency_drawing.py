"""Drawings of dependency trees as SVG documents.

Arcs have flat tops and straight legs. For every tree, :func:`layout` guarantees that no two arcs share a piece of line,
that labels do not overlap, and that no line passes through a label, even if arcs cross. The height grows with the
nesting of arcs, not with their length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from treewright.corpora import Sentence
from treewright.reports.arcs import Arc, inside, overlap, sentence_arcs, stack

__all__ = ["dependency_svg"]

# All lengths are in pixels.
_WORD, _TAG, _LABEL, _TITLE = 15, 10, 11, 13  # sizes of letters
_MARGIN = 14  # around everything
_WORD_GAP = 12  # between two words, at least
_LABEL_GAP = 5  # between a label and a line beside it, at least
_PORT = 7  # from one end of an arc to the next one, at the same word
_FOOT = 20  # from the words up to the lowest arcs
_STEP = 18  # from the top of an arc to the next level
_LIFT = 4  # from the top of an arc up to the baseline of its label
_BEND = 7  # radius of the corners
_ARROW = 7  # length of an arrow; it is as wide
_WORD_LINE, _TAG_LINE = 16, 31  # from the tips of the arrows down to the baselines

_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTHS = {  # of letters in DejaVu Sans, the widest of the fonts that "sans-serif" may turn out to be
    letter: width
    for letters, width in (
        ("'ijlIJ", 0.3),
        (" ,./:;\\|’‘", 0.34),
        ("-()[]ft!r", 0.41),
        ('"*_`szc?“”–', 0.55),
        ("LFkvxyPTYaoe", 0.62),
        ("wm+<=>^~%#WM@…—", 1.0),
    )
    for letter in letters
}
# Every SVG reader understands attributes. The style sheet only adds to them.
_STYLES = {
    "paper": 'class="tw-paper" fill="#ffffff"',
    "word": 'class="tw-word" fill="#111111"',
    "tag": 'class="tw-tag" fill="#59636e"',
    "label": 'class="tw-label" fill="#0b4a82"',
    "arc": 'class="tw-arc" fill="none" stroke="#5a6672" stroke-width="1.2"',
    "tip": 'class="tw-tip" fill="#5a6672"',
}
_SHEET = (
    "@media screen and (prefers-color-scheme:dark){.tw-paper{fill:#15181d}.tw-word{fill:#f2f2f2}.tw-tag{fill:#a8b0ba}"
    ".tw-label{fill:#8ec5ff}.tw-arc{stroke:#9aa7b5}.tw-tip{fill:#9aa7b5}}.tw-link:hover .tw-arc{stroke-width:2.5}"
)


class Box(NamedTuple):
    """The rectangle of an element."""

    left: float
    top: float
    right: float
    bottom: float


class Text(NamedTuple):
    """A text, the position of the centre of its baseline, and the size of its letters."""

    text: str
    x: float
    y: float
    size: int

    @property
    def box(self) -> Box:
        """The estimated rectangle of the text."""
        half = text_width(self.text, self.size) / 2
        return Box(self.x - half, self.y - 0.8 * self.size, self.x + half, self.y + 0.25 * self.size)


class Line(NamedTuple):
    """An arc: the positions of its legs, and the height of its top. The line of a root is a single leg."""

    arc: Arc
    start: float
    end: float
    top: float


@dataclass(frozen=True)
class Layout:
    """The positions of all elements. ``labels`` has one entry per line, and None where there is no relation."""

    width: float
    height: float
    base: float
    words: tuple[Text, ...]
    tags: tuple[Text, ...]
    lines: tuple[Line, ...]
    labels: tuple[Text | None, ...]
    rails: tuple[Box, ...]  # over words that are too short for all the arcs that end there


class _Row(NamedTuple):
    """A row of a drawing that is cut at word boundaries: the words from ``first`` to before ``last``.

    ``left`` and ``right`` are the cuts, in the coordinates of the uncut drawing; ``margins`` is the space beside them,
    in which arcs run on to the edge and have their labels.
    """

    first: int
    last: int
    left: float
    right: float
    margins: tuple[float, float]

    @property
    def width(self) -> float:
        return self.right - self.left + sum(self.margins)

    @property
    def shift(self) -> float:
        """The offset of horizontal positions."""
        return self.margins[0] - self.left


def dependency_svg(sentence: Sentence, *, title: str | None = None, width: float | None = None) -> str:
    """Draw the dependency tree of a sentence as a self-contained SVG document.

    A drawing that is wider than ``width`` pixels is cut into rows between words. An arc between words of different rows
    runs to the edge of its row and continues in the next one at the other side. Words without a head have no arc. The
    title is written above the drawing; without one, screen readers use the words. A web page can contain several
    drawings.

    >>> from treewright.corpora import Token
    >>> they, sat = Token("They", upos="PRON", head=2, deprel="nsubj"), Token("sat", upos="VERB", head=0, deprel="root")
    >>> print(dependency_svg(Sentence((they, sat))).splitlines()[1])
    <title>They sat</title>
    """
    drawing = layout(sentence, title)
    if width is not None and drawing.width > width and len(rows := _cut(drawing, width)) > 1:
        parts, wide, high = _in_rows(sentence, drawing, rows, 0.0 if title is None else _TITLE + 8.0)
        wide = max(wide, 0.0 if title is None else 2 * _MARGIN + text_width(title, _TITLE + 2))
    else:
        parts, wide, high = list(_whole(sentence, drawing)), drawing.width, drawing.height
    full, height = _number(wide), _number(high)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{full}" height="{height}" '
        f'viewBox="0 0 {full} {height}" font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
        f"<title>{_clean(str(sentence) if title is None else title)}</title>",
        f"<desc>{_clean(_in_words(sentence))}</desc>",
        f"<style>{_SHEET}</style>",
        f'<rect {_STYLES["paper"]} width="{full}" height="{height}"/>',
    ]
    if title is not None:
        heading = f'x="{_MARGIN}" y="{_MARGIN + _TITLE}" font-size="{_TITLE}" font-weight="bold" text-anchor="start"'
        out.append(f"<text {_STYLES['word']} {heading}>{_clean(title)}</text>")
    return "\n".join([*out, *parts, "</svg>", ""])


def _whole(sentence: Sentence, drawing: Layout) -> Iterator[str]:
    """The elements of a drawing in one row."""
    for line, label in zip(drawing.lines, drawing.labels, strict=True):
        yield _group(sentence, line.arc)
        yield f'<path {_STYLES["arc"]} d="{_path(line, drawing.base)}"/>'
        yield f'<polygon {_STYLES["tip"]} points="{_arrow(line, drawing.base)}"/>'
        if label is not None:
            yield _text(label, "label")
        yield "</g>"
    yield from map(_rail, drawing.rails)
    for number, word in enumerate(drawing.words, 1):
        yield _text(word, "word", number)
    numbers = [number for number, token in enumerate(sentence, 1) if token.upos != "_"]
    for number, tag in zip(numbers, drawing.tags, strict=True):
        yield _text(tag, "tag", number)


def _group(sentence: Sentence, arc: Arc) -> str:
    """The beginning of the group of an arc, with its words and its tooltip."""
    head = sentence.tokens[arc.head - 1].form + " → " if arc.head else ""
    hint = f"{head}{sentence.tokens[arc.dependent - 1].form}: {arc.label or '_'}"
    words = f"{arc.head} {arc.dependent}" if arc.head else str(arc.dependent)
    return f'<g class="tw-link" data-words="{words}"><title>{_clean(hint)}</title>'


def _rail(rail: Box) -> str:
    ends = f'x1="{_number(rail.left)}" x2="{_number(rail.right)}" y1="{_number(rail.top)}" y2="{_number(rail.top)}"'
    return f'<line {_STYLES["arc"]} {ends} stroke-linecap="square"/>'


# ---- drawings in rows


def _cut(drawing: Layout, width: float) -> list[_Row]:
    """The rows of a drawing: as many words in each as its width allows."""
    boxes = [word.box for word in drawing.words]
    gaps = [(a.right + b.left) / 2 for a, b in pairwise(boxes)]  # the cut after each word but the last
    side = _MARGIN + max((text_width(line.arc.label, _LABEL) for line in drawing.lines), default=0) + 2.0 * _LABEL_GAP
    rows: list[_Row] = []
    first, left = 0, 0.0
    for last in range(1, len(boxes) + 1):
        is_end = last == len(boxes)
        right = drawing.width if is_end else gaps[last - 1]
        after = drawing.width if last + 1 >= len(boxes) else gaps[last]
        taken = (side if first else 0.0) + (0.0 if last + 1 >= len(boxes) else side)
        if is_end or after - left + taken > width:
            margins = side if first else 0.0, 0.0 if is_end else side
            rows.append(_Row(first, last, left, right, margins))
            first, left = last, right
    return rows


def _in_rows(
    sentence: Sentence, drawing: Layout, rows: Sequence[_Row], heading: float
) -> tuple[list[str], float, float]:
    """The elements of a drawing that is cut into rows, its width and its height."""
    out: list[str] = []
    y = _MARGIN + heading
    below = drawing.height - drawing.base - _MARGIN
    tags = {word.x: tag for tag in drawing.tags for word in drawing.words if word.x == tag.x}
    for row in rows:
        words = range(row.first + 1, row.last + 1)
        inside = [
            (line, label)
            for line, label in zip(drawing.lines, drawing.labels, strict=True)
            if max(_ends(line.arc)) >= words[0] and min(_ends(line.arc)) <= words[-1]
        ]
        tallest = max((drawing.base - line.top for line, _ in inside), default=0.0)
        base = y + (tallest + _LABEL + _LIFT if inside else 0.0)
        for line, label in inside:
            out += _piece(sentence, drawing, row, words, line, label, base)
        for rail in drawing.rails:
            if row.left <= rail.left < row.right:
                out.append(_rail(Box(rail.left + row.shift, base, rail.right + row.shift, base)))
        for number in words:
            word = drawing.words[number - 1]
            out.append(_text(word._replace(x=word.x + row.shift, y=word.y - drawing.base + base), "word", number))
            if (tag := tags.get(word.x)) is not None:
                out.append(_text(tag._replace(x=tag.x + row.shift, y=tag.y - drawing.base + base), "tag", number))
        y = base + below + _MARGIN
    return out, max(row.width for row in rows), y


def _ends(arc: Arc) -> tuple[int, int]:
    """The words of an arc; the line of a root has one."""
    return (arc.dependent, arc.dependent) if not arc.head else (arc.head, arc.dependent)


def _piece(
    sentence: Sentence, drawing: Layout, row: _Row, words: range, line: Line, label: Text | None, base: float
) -> Iterator[str]:
    """The part of an arc that is in a row."""
    top = base - (drawing.base - line.top)
    moved = Line(line.arc, line.start + row.shift, line.end + row.shift, top)
    yield _group(sentence, line.arc)
    head, dependent = _ends(line.arc)
    if head in words and dependent in words:
        yield f'<path {_STYLES["arc"]} d="{_path(moved, base)}"/>'
        yield f'<polygon {_STYLES["tip"]} points="{_arrow(moved, base)}"/>'
        if label is not None:
            yield _text(label._replace(x=label.x + row.shift, y=top - _LIFT), "label")
    else:
        yield f'<path {_STYLES["arc"]} d="{_open_path(moved, row, words, base)}"/>'
        if dependent in words:
            yield f'<polygon {_STYLES["tip"]} points="{_arrow(moved, base)}"/>'
            if label is not None:  # in the margin, where there are no legs
                leaves_right = head > dependent
                x = row.width - row.margins[1] / 2 if leaves_right else row.margins[0] / 2
                yield _text(label._replace(x=x, y=top - _LIFT), "label")
    yield "</g>"


def _open_path(line: Line, row: _Row, words: range, base: float) -> str:
    """An arc whose head or dependent, or both, are in other rows."""
    head, dependent = _ends(line.arc)
    top, width = _number(line.top), _number(row.width)
    if head not in words and dependent not in words:
        return f"M0 {top}H{width}"
    x, bottom = (line.start, base) if head in words else (line.end, base - _ARROW)
    here, other = (head, dependent) if head in words else (dependent, head)
    side, edge = (_BEND, width) if other > here else (-_BEND, "0")
    low = _number(line.top + _BEND)
    return f"M{_number(x)} {_number(bottom)}V{low}Q{_number(x)} {top} {_number(x + side)} {top}H{edge}"


def layout(sentence: Sentence, title: str | None = None) -> Layout:
    """Compute the layout of the drawing of a sentence.

    >>> from treewright.corpora import Token
    >>> [word.x for word in layout(Sentence((Token("They", head=2, deprel="nsubj"), Token("sat", head=0)))).words]
    [33.0, 77.5]
    """
    arcs = sentence_arcs(sentence)
    levels = _levels(arcs)
    ports = _ports(len(sentence), levels)
    posts = {arc: _posts(arc, levels, ports) for arc in arcs}
    slots = [
        max(text_width(token.form, _WORD), text_width(token.upos, _TAG), _PORT * len(ports[number]))
        for number, token in enumerate(sentence, 1)
    ]
    centres = _centres(slots, posts)

    # The labels of roots may be wider than the words below them, on both sides.
    places = [*zip(centres, slots, strict=True)]
    places += [(_x(posts[arc][0], centres), text_width(arc.label, _LABEL)) for arc in arcs if not arc.head]
    shift = _MARGIN - min((x - width / 2 for x, width in places), default=0.0)
    right = max((x + width / 2 for x, width in places), default=0.0) + shift
    heading = 0
    if title is not None:
        right = max(right, _MARGIN + text_width(title, _TITLE + 2))  # bold letters are wider
        heading = _TITLE + 8
    centres = [x + shift for x in centres]

    highest = max(levels.values(), default=0)
    base = _MARGIN + heading + (_LABEL + _LIFT + _STEP * (highest - 1) + _FOOT if highest else 0)
    lines: list[Line] = []
    labels: list[Text | None] = []
    for arc in arcs:
        start, end = (_x(post, centres) for post in (posts[arc][0], posts[arc][-1]))
        if arc.head > arc.dependent:
            start, end = end, start
        top = base - _FOOT - _STEP * (levels[arc] - 1)
        lines.append(Line(arc, start, end, top))
        if arc.label:
            x = _free_place(text_width(arc.label, _LABEL), [_x(post, centres) for post in posts[arc]])
            labels.append(Text(arc.label, x, top - _LIFT, _LABEL))
        else:
            labels.append(None)
    rails = [
        Box(x - fan / 2, base, x + fan / 2, base)
        for x, token, legs in zip(centres, sentence, ports[1:], strict=True)
        if (fan := _PORT * (len(legs) - 1)) > text_width(token.form, _WORD)
    ]
    words = [Text(token.form, x, base + _WORD_LINE, _WORD) for x, token in zip(centres, sentence, strict=True)]
    tags = [Text(token.upos, x, base + _TAG_LINE, _TAG) for x, token in zip(centres, sentence, strict=True)]
    tags = [tag for tag in tags if tag.text != "_"]
    height = base + (_TAG_LINE if tags else _WORD_LINE) + 4 + _MARGIN
    return Layout(right + _MARGIN, height, base, tuple(words), tuple(tags), tuple(lines), tuple(labels), tuple(rails))


def text_width(text: str, size: int) -> int:
    """An estimate of the largest width of a text over common fonts."""
    return ceil(size * sum(_WIDTHS[c] if c in _WIDTHS else _other_width(c) for c in text))


def _other_width(letter: str) -> float:
    if letter.isascii():
        return 0.8 if letter.isupper() or letter == "&" else 0.64
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.8 if letter.isupper() else 0.7


def _levels(arcs: Sequence[Arc]) -> dict[Arc, int]:
    """Short arcs first, so that the arcs inside an arc precede it; lines of roots come last."""
    between = sorted((arc for arc in arcs if arc.head), key=lambda arc: (arc.right - arc.left, arc.left))
    levels = stack(between, lambda arc, other: inside(other, arc), overlap)
    top = 1 + max(levels.values(), default=0)
    return levels | {arc: top for arc in arcs if not arc.head}


class _Post(NamedTuple):
    """The position of a leg: its word, and the offset to the right of the word's centre."""

    word: int
    offset: float


def _ports(words: int, levels: dict[Arc, int]) -> list[dict[Arc, _Post]]:
    """The legs of each word (index 0 is unused).

    From left to right: arcs to the left, the longest one last; the root's; arcs to the right, the longest one
    first. So the legs of nested arcs are nested too.
    """
    at: list[list[tuple[int, int, Arc]]] = [[] for _ in range(words + 1)]
    for arc, level in levels.items():
        if not arc.head:
            at[arc.dependent].append((1, 0, arc))
        else:
            at[arc.right].append((0, level, arc))
            at[arc.left].append((2, -level, arc))
    return [
        {arc: _Post(word, _PORT * (k - (len(legs) - 1) / 2)) for k, (_, _, arc) in enumerate(sorted(legs))}
        for word, legs in enumerate(at)
    ]


def _posts(arc: Arc, levels: dict[Arc, int], ports: list[dict[Arc, _Post]]) -> list[_Post]:
    """The legs that an arc's label must avoid, from left to right: its own, and those that cross its top."""
    if not arc.head:
        return [ports[arc.dependent][arc]]
    crossing = [
        post
        for word in range(arc.left + 1, arc.right)
        for other, post in ports[word].items()
        if levels[other] > levels[arc]
    ]
    return [ports[arc.left][arc], *crossing, ports[arc.right][arc]]


def _x(post: _Post, centres: Sequence[float]) -> float:
    return centres[post.word - 1] + post.offset


def _centres(slots: Sequence[int], posts: dict[Arc, list[_Post]]) -> list[float]:
    """The centres of the words, with enough distance for all texts."""
    apart = [(k, k + 1, (a + b) / 2 + _WORD_GAP) for k, (a, b) in enumerate(pairwise(slots))]

    def keep_apart(left: _Post, right: _Post, distance: float) -> None:
        apart.append((left.word - 1, right.word - 1, distance + left.offset - right.offset))

    for (one, [left]), (other, [right]) in pairwise((arc, found) for arc, found in posts.items() if not arc.head):
        keep_apart(left, right, (text_width(one.label, _LABEL) + text_width(other.label, _LABEL)) / 2 + _LABEL_GAP)
    for arc, found in posts.items():
        if arc.head:
            keep_apart(found[0], found[-1], text_width(arc.label, _LABEL) + 2 * _LABEL_GAP)
    draft = _solve(len(slots), apart)
    # If other arcs cross, the label is put between two of their legs, where there is most space.
    for arc, found in posts.items():
        if len(found) > 2:
            gaps = [(left, right) for left, right in pairwise(found) if left.word < right.word]
            left, right = max(gaps, key=lambda gap: _x(gap[1], draft) - _x(gap[0], draft))
            keep_apart(left, right, text_width(arc.label, _LABEL) + 2 * _LABEL_GAP)
    return _solve(len(slots), apart)


def _solve(count: int, apart: Iterable[tuple[int, int, float]]) -> list[float]:
    """Numbers from 0 that satisfy lower bounds on the differences of pairs.

    The least solution has all slack on one side, the greatest with the same end on the other. Their mean distributes
    the slack and still satisfies the bounds.
    """
    ordered = sorted(apart)
    least = [0.0] * count
    for i, j, distance in ordered:
        least[j] = max(least[j], least[i] + distance)
    most = [least[-1]] * count if least else []
    for i, j, distance in reversed(ordered):
        most[i] = min(most[i], most[j] - distance)
    return [(a + b) / 2 for a, b in zip(least, most, strict=True)]


def _free_place(width: float, posts: Sequence[float]) -> float:
    """The centre of a label: as near as possible to the centre of its arc, without touching lines."""
    middle = (posts[0] + posts[-1]) / 2
    half = width / 2 + _LABEL_GAP
    places = [
        min(max(middle, left + half), right - half) for left, right in pairwise(posts) if right - left >= 2 * half
    ]
    return min(places, key=lambda x: abs(x - middle), default=middle)


def _in_words(sentence: Sentence) -> str:
    """The tree as a list of its arcs, for screen readers."""
    phrases = []
    for arc in sentence_arcs(sentence):
        head = f" of {sentence.tokens[arc.head - 1].form}" if arc.head else ""
        phrases.append(f"{sentence.tokens[arc.dependent - 1].form}: {arc.label or 'dependent'}{head}")
    return "Dependency tree: " + ("; ".join(phrases) or "no arcs")


def _path(line: Line, base: float) -> str:
    """From the head up, over and down to the arrow."""
    start, end, top, bottom = (_number(x) for x in (line.start, line.end, line.top, base - _ARROW))
    if line.start == line.end:
        return f"M{end} {top}V{bottom}"
    bend = min(_BEND, abs(line.end - line.start) / 2)
    side = bend if line.end > line.start else -bend
    low = _number(line.top + bend)
    return (
        f"M{start} {_number(base)}V{low}Q{start} {top} {_number(line.start + side)} {top}"
        f"H{_number(line.end - side)}Q{end} {top} {end} {low}V{bottom}"
    )


def _arrow(line: Line, base: float) -> str:
    corners = ((-_ARROW / 2, -_ARROW), (_ARROW / 2, -_ARROW), (0, 0))
    return " ".join(f"{_number(line.end + x)},{_number(base + y)}" for x, y in corners)


def _text(text: Text, style: str, number: int | None = None) -> str:
    """A text; ``number`` is the number of its word, so that a page can find all elements of the word."""
    place = f'x="{_number(text.x)}" y="{_number(text.y)}" font-size="{text.size}"'
    place += "" if number is None else f' data-words="{number}"'
    return f"<text {_STYLES[style]} {place}>{_clean(text.text)}</text>"


def _clean(text: str) -> str:
    """A text as XML; characters that XML does not allow become U+FFFD."""
    return escape(_NOT_IN_XML.sub("\ufffd", text), quote=False)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
