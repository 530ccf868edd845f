r"""Explanations of errors in PENMAN notation.

The `penman` library reports where a text stops being a graph, and the names of the tokens that it expected there
(``Expected: LPAREN``). This module says what to write instead.

>>> print(problem("(b / bark-01 :ARG0 (d / dog)", "Unexpected end of input", 1, 28).message)
a closing bracket is missing at the end; add it, or is there an empty line inside the graph?
>>> print(problem("1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_", "Expected: LPAREN", 1, 0).message)
this looks like CoNLL-U; give a file of graphs here, such as (b / bark-01 :ARG0 (d / dog))
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["DEEPEST", "Problem", "problem", "shortened", "too_deep", "what_follows"]

# Brackets inside a comment, a string or a symbol are not brackets of the graph.
_PIECE = re.compile(r'#.*|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[()]|[^\s"()]+')
_NODE = re.compile(r"\(\s*[^\s()/]+\s*/")
_TREE = re.compile(r"\s*\(\s*(?:[^\s()/:]+\s*)?\(")
_LONE_VARIABLE = re.compile(r"\(\s*([^\s()/:\"]+)\s*$")
_AFTER_SLASH = re.compile(r"\(\s*([^\s()/:\"]+)\s*/\s*$")
_LAST_ROLE = re.compile(r"(:[^\s()/:\"~]*)\S*\s*$")
_SHOWN = 40  # characters of a text in a message

DEEPEST = 200
"""The deepest nesting of brackets that is read: annotated graphs have up to 30 levels, and the library recurses."""


class Problem(NamedTuple):
    """A description of an error, and its line in the text, counted from 1."""

    message: str
    line: int


def problem(text: str, message: str, line: int, offset: int) -> Problem:
    """Explain the message of the library, which also ends lines at form feeds, for a line and an offset."""
    place = sum(map(len, text.splitlines(keepends=True)[: line - 1])) + offset
    before, after = text[:place], text[place:].partition("\n")[0]
    if other := _other_format(text):
        return Problem(f"this looks like {other}; give a file of graphs here, such as (b / bark-01 :ARG0 (d / dog))", 1)
    what = _unclosed(text) if message == "Unexpected end of input" else _unexpected(message, before, after)
    return Problem(what, 1 + before.count("\n"))


def _other_format(text: str) -> str | None:
    """The name of another format that the text seems to be in."""
    rows = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if rows and rows[0].count("\t") == 9:
        return "CoNLL-U"
    if _TREE.match("\n".join(rows)) and not _NODE.search(text):
        return "a constituency tree in brackets"
    return None


def _unclosed(text: str) -> str:
    missing = sum({"(": 1, ")": -1}.get(piece, 0) for piece in _PIECE.findall(text))
    if missing < 1:
        return "there is nothing in it; write (variable / concept)"
    what = "a closing bracket is" if missing == 1 else f"{missing} closing brackets are"
    it = "it" if missing == 1 else "them"
    return f"{what} missing at the end; add {it}, or is there an empty line inside the graph?"


def _unexpected(message: str, before: str, after: str) -> str:
    """Say what is missing between the text before the error and the text after it."""
    found = shortened(after)
    if after.startswith('"'):
        return f"the quotation mark before {shortened(after[1:])} has no partner; add it"
    match message:
        case "Expected: LPAREN":
            return f"a graph begins with a bracket, as in (b / boy), and not with {found}"
        case "Expected: SYMBOL":
            return f"a variable must follow an opening bracket, as in (b / boy), and not {found}"
        case "Expected: SYMBOL, STRING, LPAREN":
            role = _LAST_ROLE.search(before)
            name = role[1] if role else "a role"
            return f"a variable, a constant or a bracket must follow {name}, and not {found}"
        case "Expected: ROLE":
            if lone := _LONE_VARIABLE.search(before):
                return f"the variable {lone[1]!r} has no concept before {found}; write ({lone[1]} / concept)"
            if slash := _AFTER_SLASH.search(before):
                return f"the concept of the variable {slash[1]!r} is missing before {found}; write it after the slash"
            return f"a role, as in :ARG0 (b / boy), or a closing bracket must come before {found}"
    return message[:1].lower() + message[1:]


def too_deep(text: str) -> int | None:
    """The line of the first bracket that is nested deeper than :data:`DEEPEST`; None if there is none."""
    depth = 0
    for piece in _PIECE.finditer(text):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth > DEEPEST:
            return 1 + text.count("\n", 0, piece.start())
    return None


def what_follows(text: str) -> tuple[str, int]:
    """The rest of a text after its first graph (perhaps empty), and the line in which the rest begins."""
    depth = 0
    for piece in _PIECE.finditer(text):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if piece[0] in "()" and depth == 0:
            rest = text[piece.end() :].strip()
            return rest, 1 + text.count("\n", 0, len(text.rstrip()) - len(rest))
    return "", 1


def shortened(text: str) -> str:
    """A text in quotes, its beginning if it is long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
