"""Drawings of constituency trees as text: with lines, or in brackets if the tree is too wide."""

from __future__ import annotations

from collections.abc import Sequence

from treewright.corpora import Sentence, Tree
from treewright.reports.constituency_drawing import Node, drawn_tree, flatten, place
from treewright.reports.dependency_outline import _printable, _shortened, text_columns
from treewright.settings import whole_number

__all__ = ["constituency_text"]

_NARROWEST = 40  # columns; less is not enough for the words
_WIDEST_LABEL = 16  # columns that a label keeps where the width is limited
_SHORTEST = 8  # columns that a word keeps to have its closing brackets beside it
_GAP = 2  # columns between two words
_LARGEST = 4_000_000  # characters of a drawing; larger ones are unreadable and use too much memory
_INDENT = 2
_PAGE = 100  # columns of brackets where there is no limit
_LINES = {  # by where lines leave a cell: up, down, left, right
    (True, True, False, False): "│",
    (False, False, True, True): "─",
    (False, True, False, True): "┌",
    (False, True, True, False): "┐",
    (False, True, True, True): "┬",
    (True, False, False, True): "└",
    (True, False, True, False): "┘",
    (True, False, True, True): "┴",
    (True, True, False, True): "├",
    (True, True, True, False): "┤",
    (True, True, True, True): "┼",
}


def constituency_text(tree: Tree | Sentence, *, width: int | None = None) -> str:
    """Draw a constituency tree, or that of a sentence, with lines of text, in at most ``width`` columns.

    The words are on the last line, and their tags above them:

    >>> subject = Tree("NP", (Tree("DT", ("the",)), Tree("JJ", ("fat",)), Tree("NN", ("cat",))))
    >>> tree = Tree("S", (subject, Tree("VP", (Tree("VBD", ("sat",)),))))
    >>> print(constituency_text(tree))
               S
          ┌────┴────┐
          NP        VP
     ┌────┼────┐    │
     DT   JJ   NN  VBD
    the  fat  cat  sat

    A wider tree is written in brackets. A constituent that fits into a line is not split; very long words and labels
    are shortened.

    >>> print(constituency_text(Tree("NP", (subject, subject, subject)), width=40))
    (NP
      (NP (DT the) (JJ fat) (NN cat))
      (NP (DT the) (JJ fat) (NN cat))
      (NP (DT the) (JJ fat) (NN cat)))
    """
    root = drawn_tree(tree)
    nodes = [node._replace(label=_printable(node.label)) for node in flatten(root)]
    words = [_printable(word) for word in root.leaves()]
    if width is not None:
        width = whole_number("width", width, _NARROWEST)
        nodes = [node._replace(label=_shortened(node.label, _WIDEST_LABEL)) for node in nodes]
    drawing = _drawing(nodes, words, width)
    return "\n".join(_brackets(nodes, words, width or _PAGE) if drawing is None else drawing)


def _drawing(nodes: Sequence[Node], words: Sequence[str], width: int | None) -> list[str] | None:
    """The tree drawn with lines, or None if it is too wide.

    From the top, there are two rows for each level, one for labels and one for the lines below them, then one for the
    tags and one for the words.
    """
    sizes = [max(text_columns(node.label), text_columns(words[node.first]) if not node.height else 1) for node in nodes]
    centres, needed = place(nodes, sizes, _GAP)
    top = nodes[-1].height
    if (width is not None and needed > width) or needed * (top + 1) > _LARGEST:
        return None
    rows: list[list[tuple[int, str]]] = [[] for _ in range(2 * top + 2)]

    def write(row: int, centre: int, text: str) -> None:
        rows[row].append((centre - (text_columns(text) - 1) // 2, text))

    for number, (node, centre) in enumerate(zip(nodes, centres, strict=True)):
        nameless = "" if number == len(nodes) - 1 else "│"
        write(2 * (top - node.height), centre, node.label or nameless)
        if not node.height:
            write(2 * top + 1, centre, words[node.first])
            continue
        below = 2 * (top - node.height) + 1
        ends = [centres[part] for part in node.parts]
        start = min(centre, ends[0])
        rows[below].append((start, _bar(start, max(centre, ends[-1]), centre if node.label or nameless else -1, ends)))
        for part, end in zip(node.parts, ends, strict=True):
            for row in range(below + 1, 2 * (top - nodes[part].height)):
                rows[row].append((end, "│"))
    lines = []
    for texts in rows:
        line, at = [], 0
        for start, text in sorted(texts):
            line.append(" " * (start - at) + text)
            at = start + text_columns(text)
        lines.append("".join(line).rstrip())
    return lines if lines[0] else lines[1:]


def _bar(left: int, right: int, up: int, down: Sequence[int]) -> str:
    """A line from left to right, with a line up from it and some down."""
    if left == right:
        return "│"
    below = set(down)
    return "".join(_LINES[x == up, x in below, x > left, x < right] for x in range(left, right + 1))


def _brackets(nodes: Sequence[Node], words: Sequence[str], width: int) -> list[str]:
    """The tree in brackets: a constituent that fits into a line stays in one; the children of others are indented."""
    sizes: list[int] = []  # columns, in one line
    for node in nodes:
        inside = sum(sizes[part] + 1 for part in node.parts) or text_columns(words[node.first]) + 1
        sizes.append(text_columns(node.label) + inside + 2 if node.height or node.label else inside - 1)
    lines: list[str] = []
    stack = [(len(nodes) - 1, 0, 0)]
    while stack:
        number, indent, closing = stack.pop()
        node = nodes[number]
        room = width - indent
        if sizes[number] + closing <= room:
            lines.append(" " * indent + _flat(nodes, words, number) + ")" * closing)
        elif node.height:
            lines.append(" " * indent + "(" + node.label)
            deeper = min(indent + _INDENT, width // 2)  # nesting has no limit, but the width has
            for part in reversed(node.parts):
                stack.append((part, deeper, closing + 1 if part == node.parts[-1] else 0))
        else:
            form = words[node.first]
            left = room - (sizes[number] - text_columns(form))
            short = _shortened(form, left - closing if left - closing >= _SHORTEST else left)
            line = f"({node.label} {short})" if node.label else short
            more = min(closing, room - text_columns(line))
            lines.append(" " * indent + line + ")" * more)
            for done in range(more, closing, room):
                lines.append(" " * indent + ")" * min(room, closing - done))
    return lines


def _flat(nodes: Sequence[Node], words: Sequence[str], number: int) -> str:
    """A constituent in one line."""
    out: list[str] = []
    stack = [number]
    while stack:
        number = stack.pop()
        if number < 0:
            out.append(")")
            continue
        node = nodes[number]
        if out:
            out.append(" ")
        if node.height:
            out.append("(" + node.label)
            stack.append(-1)
            stack.extend(reversed(node.parts))
        else:
            out.append(f"({node.label} {words[node.first]})" if node.label else words[node.first])
    return "".join(out)
