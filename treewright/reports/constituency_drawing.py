"""Drawings of constituency trees as SVG documents.

The words are on one line and their tags above them. Every constituent is as low as possible above the words that it
spans, and straight lines from a bar lead down to its children. For any tree, texts do not overlap, and no line passes
through a text or meets a line of another constituent: all parts of a constituent are in the columns of its own words,
and only its ancestors are above it.

:mod:`~treewright.reports.constituency_outline` uses the same layout, in columns and rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from treewright.corpora import Sentence, Tree
from treewright.errors import CorpusError
from treewright.reports.dependency_drawing import Text, _clean, _number, text_width

__all__ = ["constituency_svg"]

# All lengths are in pixels.
_WORD, _TAG, _LABEL, _TITLE = 15, 11, 13, 13  # sizes of letters
_MARGIN = 14  # around everything
_GAP = 14  # between two words, at least
_TAG_LINE = 19  # from the baseline of a word up to that of its tag
_STEP = 34  # from the baseline of a label to the next level
_BELOW = 5  # from a baseline down to the line that begins below it
_BAR = 8  # from there down to the bar
_ABOVE = 3  # from the end of a line to the letters below it
_BEND = 6  # radius of the corners
_HINT = 80  # letters of the words that a constituent shows when it is pointed at

# Every SVG reader understands attributes. The style sheet only adds to them.
_STYLES = {
    "paper": 'class="tw-paper" fill="#ffffff"',
    "word": 'class="tw-word" fill="#111111"',
    "trace": 'class="tw-word tw-trace" fill="#7a828c" font-style="italic"',
    "tag": 'class="tw-tag" fill="#59636e"',
    "label": 'class="tw-label" fill="#0b4a82"',
    "branch": 'class="tw-branch" fill="none" stroke="#8a95a1" stroke-width="1.2"',
}
_SHEET = (
    "@media screen and (prefers-color-scheme:dark){.tw-paper{fill:#15181d}.tw-word{fill:#f2f2f2}.tw-trace{fill:#8b949e}"
    ".tw-tag{fill:#a8b0ba}.tw-label{fill:#8ec5ff}.tw-branch{stroke:#77828e}}"
    ".tw-node:hover .tw-branch{stroke-width:2.5}.tw-node:hover .tw-label{font-weight:bold}"
)


class Node(NamedTuple):
    """A constituent, a tag, or a word that has none (its label is empty); ``parts`` are numbers of other nodes."""

    label: str
    parts: tuple[int, ...]
    first: int  # word, from 0
    last: int
    height: int  # 0 for tags and words

    @property
    def words(self) -> slice:
        """The words that it spans."""
        return slice(self.first, self.last + 1)


class Branch(NamedTuple):
    """The lines below a constituent: a stem down to a bar, and from there down to each child, at (x, y)."""

    x: float
    top: float
    bar: float
    ends: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Layout:
    """The positions of all elements. ``labels`` and ``branches`` are those of ``nodes`` above tags, in this order."""

    width: float
    height: float
    words: tuple[Text, ...]
    tags: tuple[Text, ...]
    nodes: tuple[Node, ...]
    labels: tuple[Text, ...]
    branches: tuple[Branch, ...]


def constituency_svg(tree: Tree | Sentence, *, title: str | None = None, width: float | None = None) -> str:
    """Draw a constituency tree, or that of a sentence, as a self-contained SVG document.

    If a tree is wider than ``width`` pixels, constituents are drawn separately, and a number marks their place in the
    tree.

    The drawing includes traces (in italics) and function tags; only an outermost node without a label is omitted. The
    title is written above the drawing; without one, screen readers use the words. A web page can contain several
    drawings.

    >>> tree = Tree("S", (Tree("NP", (Tree("PRP", ("They",)),)), Tree("VBD", ("sat",))))
    >>> print(constituency_svg(tree).splitlines()[1])
    <title>They sat</title>
    """
    root = drawn_tree(tree)
    words = root.leaves()
    heading = 0.0 if title is None else _TITLE + 8.0
    out: list[str] = []
    full, height = 0.0, _MARGIN + heading
    x, y, lowest = 0.0, heading, heading
    for part in parts_of(root, width):
        drawing = layout(part.tree)
        if x and width is not None and x + drawing.width > width:
            x, y = 0.0, lowest
        elements = _elements(drawing, words, part.places)
        moved = f'<g transform="translate({_number(x)} {_number(y)})">'
        out += [moved, *elements, "</g>"] if x or y else elements
        x, lowest = x + drawing.width, max(lowest, y + drawing.height)
        full, height = max(full, x), lowest
    if title is not None:
        full = max(full, 2 * _MARGIN + text_width(title, _TITLE + 2))  # bold letters are wider
    size = f'width="{_number(full)}" height="{_number(height)}"'
    beginning = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} '
        f'viewBox="0 0 {_number(full)} {_number(height)}" font-family="Helvetica, Arial, sans-serif" '
        'text-anchor="middle">',
        f"<title>{_clean(' '.join(words) if title is None else title)}</title>",
        f"<desc>{_clean(f'Constituency tree: {root}')}</desc>",
        f"<style>{_SHEET}</style>",
        f"<rect {_STYLES['paper']} {size}/>",
    ]
    if title is not None:
        place = f'x="{_MARGIN}" y="{_MARGIN + _TITLE}" font-size="{_TITLE}" font-weight="bold" text-anchor="start"'
        beginning.append(f"<text {_STYLES['word']} {place}>{_clean(title)}</text>")
    return "\n".join([*beginning, *out, "</svg>", ""])


def _elements(drawing: Layout, words: Sequence[str], places: Sequence[range]) -> Iterator[str]:
    """The elements of a part. ``places`` are the words, from 0, below each of its leaves."""
    for node, label, branch in zip(drawing.nodes, drawing.labels, drawing.branches, strict=True):
        spanned = range(places[node.first].start, places[node.last].stop)
        hint = _hint(node.label, [*islice(words, spanned.start, spanned.stop)])
        yield f'<g class="tw-node" data-words="{_numbers(spanned)}"><title>{_clean(hint)}</title>'
        yield f'<path {_STYLES["branch"]} d="{_path(branch)}"/>'
        if label.text:
            yield _text(label, "label")
        yield "</g>"
    centres = {word.x: where for word, where in zip(drawing.words, places, strict=True)}
    yield from (_text(tag, "tag", centres[tag.x]) for tag in drawing.tags)
    traces = {tag.x for tag in drawing.tags if tag.text == "-NONE-"}
    for word, where in zip(drawing.words, places, strict=True):
        yield _text(word, "trace" if word.x in traces else "word", where)


def _numbers(places: range) -> str:
    return " ".join(str(place + 1) for place in places)


# ---- trees in parts


class Part(NamedTuple):
    """A part of a tree, and the words (from 0) below each of its leaves; numbers mark separately drawn parts."""

    tree: Tree
    places: tuple[range, ...]


def parts_of(tree: Tree, width: float | None) -> list[Part]:
    """The parts of a tree that are drawn: the tree itself if it is not too wide.

    >>> long = Tree("S", tuple(Tree("NP", tuple(Tree("NN", ("word",)) for _ in range(4))) for _ in range(3)))
    >>> for part in parts_of(long, 380):
    ...     print(part.tree)
    (S (NP (NN word) (NN word) (NN word) (NN word)) (NP ①) (NP ②))
    (①NP (NN word) (NN word) (NN word) (NN word))
    (②NP (NN word) (NN word) (NN word) (NN word))
    """
    if width is None or layout(tree).width <= width:
        return [Part(tree, tuple(range(k, k + 1) for k in range(len(tree.leaves()))))]
    cut: dict[str, tuple[Tree, int]] = {}  # the separate parts, by their marks, with their numbers of words
    waiting, done = [("", tree)], dict[str, Tree]()
    while waiting:
        mark, piece = waiting.pop(0)
        while layout(piece).width > width and (chosen := _to_cut(piece, width)) is not None:
            name = f"\ue000{len(cut)}\ue001"
            cut[name] = (chosen, sum(cut[leaf][1] if leaf in cut else 1 for leaf in chosen.leaves()))
            piece = _replaced(piece, chosen, Tree(chosen.label, (name,)))
            waiting.append((name, chosen))
        done[mark] = piece
    parts: list[Part] = []
    numbers: dict[str, str] = {}
    order = [("", 0)]
    while order:  # in the order of the words, part by part
        mark, start = order.pop(0)
        piece, places = done[mark], list[range]()
        for leaf in piece.leaves():
            size = cut[leaf][1] if leaf in cut else 1
            if leaf in cut:
                numbers[leaf] = _circled(len(numbers) + 1)
                order.append((leaf, start))
            places.append(range(start, start + size))
            start += size
        shown = _renamed(piece, numbers)
        if mark:
            shown = Tree(numbers[mark] + shown.label, shown.children)
        parts.append(Part(shown, tuple(places)))
    return parts


def _to_cut(tree: Tree, width: float) -> Tree | None:
    """The largest constituent below the root that fits; without one, the largest of all; None if there is none."""
    found = []
    stack = [child for child in tree.children if isinstance(child, Tree)]
    while stack:
        node = stack.pop()
        if not node.is_preterminal and len(node.leaves()) > 1:
            found.append(node)
            stack.extend(child for child in node.children if isinstance(child, Tree))
    found.sort(key=lambda node: -len(node.leaves()))
    return next((node for node in found if layout(node).width <= width), found[0] if found else None)


def _replaced(tree: Tree, old: Tree, new: Tree) -> Tree:
    """The tree with one of its nodes replaced."""
    if tree is old:
        return new
    children = tuple(_replaced(child, old, new) if isinstance(child, Tree) else child for child in tree.children)
    return tree if all(a is b for a, b in zip(children, tree.children, strict=True)) else Tree(tree.label, children)


def _renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    """The tree with other leaves."""
    children = (_renamed(c, names) if isinstance(c, Tree) else names.get(c, c) for c in tree.children)
    return Tree(tree.label, tuple(children))


def _circled(number: int) -> str:
    return chr(0x245F + number) if number <= 20 else f"({number})"


def drawn_tree(tree: Tree | Sentence) -> Tree:
    """The tree to draw: that of a sentence, without an outermost node that has no label."""
    if isinstance(tree, Sentence):
        if tree.tree is None:
            raise CorpusError(
                f"the sentence {str(tree)[:60]!r} has no constituency tree to draw", path=tree.path, line=tree.line
            )
        tree = tree.tree
    while not tree.label and len(tree.children) == 1 and isinstance(child := tree.children[0], Tree):
        tree = child
    return tree


def layout(tree: Tree, title: str | None = None) -> Layout:
    """Compute the layout of the drawing of a tree.

    >>> drawing = layout(Tree("S", (Tree("NP", (Tree("PRP", ("They",)),)), Tree("VBD", ("sat",)))))
    >>> [word.x for word in drawing.words], [(label.text, label.x, label.y) for label in drawing.labels]
    ([32, 79], [('NP', 32, 61), ('S', 55, 27)])
    """
    nodes = flatten(tree)
    words = tree.leaves()
    widths = [
        text_width(node.label, _LABEL)
        if node.height
        else max(text_width(node.label, _TAG), text_width(words[node.first], _WORD))
        for node in nodes
    ]
    centres, right = place(nodes, widths, _GAP)
    right += _MARGIN
    heading = 0
    if title is not None:
        right = max(right, _MARGIN + text_width(title, _TITLE + 2))  # bold letters are wider
        heading = _TITLE + 8
    root = nodes[-1]
    base = _MARGIN + heading + (_LABEL + _STEP * root.height if root.height else _TAG) + _TAG_LINE
    middles = [_MARGIN + x for x in centres]
    baselines = [base - _TAG_LINE - _STEP * node.height for node in nodes]
    texts, tags, labels, branches = [], [], [], []
    for node, x, y in zip(nodes, middles, baselines, strict=True):
        if node.height:
            labels.append(Text(node.label, x, y, _LABEL))
            ends = tuple((middles[part], _top(nodes[part], baselines[part])) for part in node.parts)
            branches.append(Branch(x, y + _BELOW, y + _BELOW + _BAR, ends))
        else:
            texts.append(Text(words[node.first], x, base, _WORD))
            if node.label:
                tags.append(Text(node.label, x, y, _TAG))
    constituents = tuple(node for node in nodes if node.height)
    width, height = right + _MARGIN, base + 4 + _MARGIN
    return Layout(width, height, tuple(texts), tuple(tags), constituents, tuple(labels), tuple(branches))


def flatten(tree: Tree) -> list[Node]:
    """All constituents, tags, and words without a tag, children before their parents."""
    nodes: list[Node] = []
    open_parts: list[list[int]] = [[]]  # of each constituent on the way from the root, the children so far
    stack: list[Tree | str | None] = [tree]
    labels: list[str] = []
    word = 0
    while stack:
        node = stack.pop()
        if node is None:  # the way back up
            parts = open_parts.pop()
            height = 1 + max(nodes[part].height for part in parts)
            found = Node(labels.pop(), tuple(parts), nodes[parts[0]].first, nodes[parts[-1]].last, height)
        elif isinstance(node, str) or node.is_preterminal:
            found = Node("" if isinstance(node, str) else node.label, (), word, word, 0)
            word += 1
        else:
            labels.append(node.label)
            open_parts.append([])
            stack.append(None)
            stack.extend(reversed(node.children))
            continue
        open_parts[-1].append(len(nodes))
        nodes.append(found)
    return nodes


def place(nodes: Sequence[Node], widths: Sequence[int], gap: int) -> tuple[list[int], int]:
    """The centre of each node, and the width of the drawing.

    A node is centred between its first and its last child, shifted to one side if its width requires it. A chain of
    only children is vertical. If a label is wider than the words below, the words move apart.
    """
    needs = list(widths)
    for number in range(len(nodes) - 1, -1, -1):
        if len(nodes[number].parts) == 1:
            child = nodes[number].parts[0]
            needs[child] = max(needs[child], needs[number])
    slots = [need for node, need in zip(nodes, needs, strict=True) if not node.height]
    narrowest = min(slots)
    for node, need in zip(nodes, needs, strict=True):
        count = node.last - node.first + 1
        if len(node.parts) > 1 and need > count * narrowest + gap * (count - 1):  # few are: adding up is slow
            missing = need - sum(slots[node.words]) - gap * (count - 1)
            for word in range(node.first, node.last + 1) if missing > 0 else ():
                slots[word] += -(-missing // count)
    lefts = [0]
    for slot in slots:
        lefts.append(lefts[-1] + slot + gap)
    centres: list[int] = []
    for node, need in zip(nodes, needs, strict=True):
        left, right = lefts[node.first], lefts[node.last + 1] - gap - 1
        if len(node.parts) == 1:
            centres.append(centres[node.parts[0]])
        else:
            middle = (centres[node.parts[0]] + centres[node.parts[-1]]) // 2 if node.parts else (left + right) // 2
            centres.append(min(max(middle, left + (need - 1) // 2), right - need // 2))
    return centres, lefts[-1] - gap


def _top(node: Node, baseline: float) -> float:
    """The end of a line from above: over the label, the tag, or the word if it has no tag."""
    if node.height:
        return baseline - 0.8 * _LABEL - _ABOVE if node.label else baseline + _BELOW
    return baseline - 0.8 * _TAG - _ABOVE if node.label else baseline + _TAG_LINE - 0.8 * _WORD - _ABOVE


def _path(branch: Branch) -> str:
    """All lines of a branch. Where the bar ends, it bends down to a child (or up, should only the stem be there)."""
    below = dict(branch.ends)
    low, high = min(branch.x, *below), max(branch.x, *below)
    if low == high:
        return f"M{_number(low)} {_number(branch.top)}V{_number(below[low])}"
    corners = [(low, below.pop(low, branch.top)), (high, below.pop(high, branch.top))]
    straight = list(below.items())
    if (branch.x, branch.top) not in corners:
        straight.append((branch.x, branch.top))
    bend = min(_BEND, (high - low) / 2)
    bends = [_number(branch.bar + (bend if y > branch.bar else -bend)) for _, y in corners]
    (left, left_end), (right, right_end) = ((_number(x), _number(y)) for x, y in corners)
    bar = _number(branch.bar)
    return (
        f"M{left} {left_end}V{bends[0]}Q{left} {bar} {_number(low + bend)} {bar}"
        f"H{_number(high - bend)}Q{right} {bar} {right} {bends[1]}V{right_end}"
    ) + "".join(f"M{_number(x)} {bar}V{_number(y)}" for x, y in straight)


def _hint(label: str, words: Sequence[str]) -> str:
    """A description of a constituent: its label, and the words that it spans."""
    spanned = " ".join(islice(words, _HINT))
    return f"{label or '_'}: {spanned if len(spanned) <= _HINT else spanned[:_HINT] + '…'}"


def _text(text: Text, style: str, places: range | None = None) -> str:
    place = f'x="{_number(text.x)}" y="{_number(text.y)}" font-size="{text.size}"'
    place += "" if places is None else f' data-words="{_numbers(places)}"'
    return f"<text {_STYLES[style]} {place}>{_clean(text.text)}</text>"
