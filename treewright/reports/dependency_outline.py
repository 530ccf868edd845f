"""Drawings of dependency trees as text: one word per line, and the arcs beside the words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from treewright.corpora import Sentence
from treewright.reports.arcs import Arc, inside, overlap, sentence_arcs, stack
from treewright.settings import whole_number

__all__ = ["dependency_text"]

_NARROWEST = 40  # columns; less is not enough for the words
_SHORTEST = 8  # columns that a word keeps as long as something else can be shortened
_TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_CORNERS = {  # by where lines leave a cell, besides to the right: up, down, left
    (False, True, False): "┌",
    (False, True, True): "┬",
    (True, False, False): "└",
    (True, False, True): "┴",
    (True, True, False): "├",
    (True, True, True): "┼",
}


def dependency_text(sentence: Sentence, *, width: int | None = None) -> str:
    """Draw the dependency tree of a sentence with lines of text.

    Each line has the arcs, the word's number, the word, its part of speech, its relation and its head's number.
    At most ``width`` columns are used. If necessary, long words are shortened, then the parts of speech are omitted,
    and finally the arcs.

    An arrow ends at the word to the right of it, or, if other arcs begin there, just before them. A line that ends at
    ``│`` continues behind it.

    >>> from treewright.corpora import Token
    >>> rows = [("They", 2, "nsubj"), ("sat", 0, "root"), ("on", 5, "case"), ("the", 5, "det"), ("mat", 2, "obl")]
    >>> print(dependency_text(Sentence(tuple(Token(form, head=head, deprel=rel) for form, head, rel in rows))))
          ┌► 1  They  nsubj  2
    ─►┬───┴─ 2  sat   root   0
      │ ┌──► 3  on    case   5
      │ │ ┌► 4  the   det    5
      └►┴─┴─ 5  mat   obl    2
    """
    arcs = sentence_arcs(sentence)
    pictures = draw_arcs(len(sentence), arcs)
    numbers = [str(number) for number in range(1, len(sentence) + 1)]
    forms = [_printable(token.form) for token in sentence]
    tags = ["" if token.upos == "_" else _printable(token.upos) for token in sentence]
    labels = {arc.dependent: (_printable(arc.label), str(arc.head)) for arc in arcs}
    relations, heads = ([labels.get(k, ("", ""))[part] for k in range(1, len(sentence) + 1)] for part in (0, 1))
    if width is not None:
        width = whole_number("width", width, _NARROWEST)
        relations = [_shortened(relation, 2 * _SHORTEST) for relation in relations]
        pictures, forms, tags = _fitting(width, pictures, numbers, forms, tags, relations, heads)
    table = [_aligned(column) for column in (forms, tags, relations)]
    columns = [_aligned(numbers, right=True), *(column for column in table if any(column)), _aligned(heads, right=True)]
    rows = zip(pictures, *columns, strict=True)
    return "\n".join((picture + " " * bool(picture) + "  ".join(cells)).rstrip() for picture, *cells in rows)


def draw_arcs(words: int, arcs: Sequence[Arc]) -> list[str]:
    """The arcs as lines of text, one per word and all of the same width. Level 1 is nearest to the words."""
    levels = _levels(words, arcs)
    deepest = max(levels.values(), default=0)
    cells = [[" "] * (2 * deepest) for _ in range(words + 1)]
    # A corner is where an arc and the line of a word meet: by column, whether arcs go up from it, and down.
    corners: list[dict[int, tuple[bool, bool]]] = [{} for _ in range(words + 1)]
    arrives: dict[int, int] = {}
    for arc, level in levels.items():
        column = 2 * (deepest - level)
        arrives[arc.dependent] = column
        if arc.head:
            for end in (arc.left, arc.right):
                up, down = corners[end].get(column, (False, False))
                corners[end][column] = (up or end == arc.right, down or end == arc.left)
        else:
            corners[arc.dependent][column] = (False, False)
    for word in range(1, words + 1):
        row, columns = cells[word], sorted(corners[word])
        if not columns:
            continue
        row[columns[0] :] = "─" * (len(row) - columns[0])
        for column in columns:
            up, down = corners[word][column]
            if up or down:
                row[column] = _CORNERS[up, down, column > columns[0]]
        if word in arrives:
            row[min((c for c in columns if c > arrives[word]), default=len(row)) - 1] = "►"
    for arc, level in levels.items():
        if arc.head:
            for word in range(arc.left + 1, arc.right):
                cells[word][2 * (deepest - level)] = "│"
    return ["".join(row) for row in cells[1:]]


def _levels(words: int, arcs: Sequence[Arc]) -> dict[Arc, int]:
    """The levels of arcs: arcs inside others are nearer to the words, and so are arcs that begin where another ends.

    The second condition separates incoming from outgoing arcs on the single line of a word. In a projective tree both
    conditions can be met, by placing the arcs below a word before the arc to that word.
    """
    below: list[list[Arc]] = [[] for _ in range(words + 1)]
    for arc in sorted(arcs, key=lambda arc: arc.right - arc.left):
        below[arc.head].append(arc)
    attached = {arc.dependent for arc in arcs if arc.head}
    found: dict[Arc, None] = {}  # heads before dependents, and at one head the longest first: the order is reversed
    for start in sorted(range(1, words + 1), key=lambda word: word in attached):  # roots first, then cycles
        waiting = list(below[start])
        while waiting:
            arc = waiting.pop()
            if arc not in found:
                found[arc] = None
                waiting += below[arc.dependent]
    levels = stack(
        reversed(found),
        lambda arc, other: inside(other, arc) or other.head == arc.dependent,
        lambda arc, other: overlap(other, arc) or other.dependent == arc.head,
    )
    top = 1 + max(levels.values(), default=0)
    return levels | dict.fromkeys(below[0], top)


def _fitting(
    width: int,
    pictures: list[str],
    numbers: list[str],
    forms: list[str],
    tags: list[str],
    relations: list[str],
    heads: list[str],
) -> tuple[list[str], list[str], list[str]]:
    """Arcs, words and parts of speech, as far as the width allows."""
    nothing = [""] * len(forms)
    for arcs, classes in ((pictures, tags), (pictures, nothing), (nothing, nothing)):
        beside = [column for column in (numbers, classes, relations, heads) if any(column)]
        room = width - sum(_widest(column) + 2 for column in beside) - (_widest(arcs) + 1 if any(arcs) else 0)
        if room >= min(_SHORTEST, _widest(forms)):
            break
    return arcs, [_shortened(form, room) for form in forms], classes


def _printable(text: str) -> str:
    """A text without characters that move the cursor or change the writing direction."""
    return "".join("\ufffd" if _unprintable(c) else c for c in text)


def _unprintable(letter: str) -> bool:
    return unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(letter) in _TURNS


def text_columns(text: str) -> int:
    """The number of terminal columns of a text: East Asian characters take two, combining ones none.

    >>> text_columns("cat"), text_columns("猫"), text_columns("cha\u0302t")
    (3, 2, 4)
    """
    return sum(_letter_columns(letter) for letter in text)


def _letter_columns(letter: str) -> int:
    if letter.isascii():
        return 1
    if unicodedata.category(letter) in ("Mn", "Me", "Cf") or "\u1160" <= letter <= "\u11ff":  # vowels of Hangul
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _widest(column: Iterable[str]) -> int:
    return max(map(text_columns, column), default=0)


def _shortened(text: str, room: int) -> str:
    if text_columns(text) <= room:
        return text
    kept, used = "", 1
    for letter in text:
        used += _letter_columns(letter)
        if used > room:
            break
        kept += letter
    return kept + "…"


def _aligned(column: list[str], *, right: bool = False) -> list[str]:
    widest = _widest(column)
    padding = [" " * (widest - text_columns(text)) for text in column]
    return [space + text if right else text + space for text, space in zip(column, padding, strict=True)]
