"""Drawings of constituency trees as SVG documents.

The words are on one line and their tags above them. Every constituent is as low as possible above the words that it
spans, and straight lines from a bar lead down to its children. For any tree, texts do not overlap, and no line passes
through a text or meets a line of another constituent: all parts of a constituent are in the columns of its own words,
and only its ancestors are above it.

:mod:`~treewright.reports.constituency_outline` uses the same layout, in columns and rows.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def constituency_svg(tree: Tree | Sentence, *, title: str | None = None) -> str:
    """Draw a constituency tree, or that of a sentence, as a self-contained SVG document.

    The drawing includes traces (in italics) and function tags; only an outermost node without a label is omitted. The
    title is written above the drawing; without one, screen readers use the words. A web page can contain several
    drawings.

    >>> tree = Tree("S", (Tree("NP", (Tree("PRP", ("They",)),)), Tree("VBD", ("sat",))))
    >>> print(constituency_svg(tree).splitlines()[1])
    <title>They sat</title>
    """
    root = drawn_tree(tree)
    drawing = layout(root, title)
    words = root.leaves()
    width, height = _number(drawing.width), _number(drawing.height)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
        f"<title>{_clean(' '.join(words) if title is None else title)}</title>",
        f"<desc>{_clean(f'Constituency tree: {root}')}</desc>",
        f"<style>{_SHEET}</style>",
        f'<rect {_STYLES["paper"]} width="{width}" height="{height}"/>',
    ]
    if title is not None:
        heading = f'x="{_MARGIN}" y="{_MARGIN + _TITLE}" font-size="{_TITLE}" font-weight="bold" text-anchor="start"'
        out.append(f"<text {_STYLES['word']} {heading}>{_clean(title)}</text>")
    for node, label, branch in zip(drawing.nodes, drawing.labels, drawing.branches, strict=True):
        out.append(f'<g class="tw-node"><title>{_clean(_hint(node, words))}</title>')
        out.append(f'<path {_STYLES["branch"]} d="{_path(branch)}"/>')
        if label.text:
            out.append(_text(label, "label"))
        out.append("</g>")
    out += [_text(tag, "tag") for tag in drawing.tags]
    traces = {tag.x for tag in drawing.tags if tag.text == "-NONE-"}
    out += [_text(word, "trace" if word.x in traces else "word") for word in drawing.words]
    return "\n".join([*out, "</svg>", ""])


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


def _hint(node: Node, words: Sequence[str]) -> str:
    """A constituent in words: its label, and what it spans."""
    spanned = " ".join(islice(words, node.first, min(node.last, node.first + _HINT) + 1))
    return f"{node.label or '_'}: {spanned if len(spanned) <= _HINT else spanned[:_HINT] + '…'}"


def _text(text: Text, style: str) -> str:
    place = f'x="{_number(text.x)}" y="{_number(text.y)}" font-size="{text.size}"'
    return f"<text {_STYLES[style]} {place}>{_clean(text.text)}</text>"
