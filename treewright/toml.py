"""TOML files whose errors have lines.

``tomllib`` returns values without their places. :class:`Document` keeps the text, and finds the line of a key in it.

>>> document = Document.parse('title = "a"\\n[rows.one]\\nlearner = { name = "dagger" }\\n', "a.toml")
>>> document.line("rows", "one", "learner"), document.line("rows", "one", "learner", "name"), document.line("title")
(3, 3, 1)
>>> print(document.error("cannot be used", "rows", "one"))
a.toml:2: cannot be used
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from treewright.errors import ConfigError

__all__ = ["Document"]

MOST_BYTES = 1_000_000
"""The size of the largest file that is read: settings take a few kilobytes, and ``tomllib`` is slow."""
DEEPEST = 50
"""The deepest nesting of tables and lists."""

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=(.*)", re.DOTALL)
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*+(?:"|$)|\'[^\']*+(?:\'|$)|#|[\[\]{}]')
_LINE = re.compile(r"line (\d+)")
# What tomllib takes quadratic time for, or raises other errors for. Possessive quantifiers (*+) do not backtrack.
_LONG_KEY = re.compile(rf"""(?<![A-Za-z0-9_-])(?:{_KEY.replace("+|", "++|")}[ \t]*+\.[ \t]*+){{{DEEPEST}}}""")
_LONG_NUMBER = re.compile(r"(?<![0-9_])[0-9](?:_?[0-9]){4000}")


@dataclass(frozen=True)
class Document:
    """A TOML file: its values, and the line of each key.

    ``text`` is None for values that stand in no file but on the command line; then ``path`` is the option.
    """

    values: dict[str, Any]
    text: str | None
    path: str

    @classmethod
    def read(cls, path: str | os.PathLike[str], what: str) -> Document:
        """Read a file; ``what`` it should be is for messages.

        Raises:
            ConfigError: if it cannot be read, or is not TOML.
        """
        try:
            with open(path, "rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
            reason = str(getattr(error, "strerror", None) or error).lower()
            raise ConfigError(f"{path}: the {what} cannot be read: {reason}") from None
        if len(data) > MOST_BYTES:
            raise ConfigError(f"{path}:1: the {what} has more than {MOST_BYTES:,} bytes; is this the right file?")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = 1 + data.count(b"\n", 0, error.start)
            raise ConfigError(f"{path}:{line}: the {what} is not UTF-8 text") from None
        return cls.parse(text, os.fspath(path))

    @classmethod
    def parse(cls, text: str, path: str) -> Document:
        """Parse the text of a file; ``path`` is for messages."""
        try:
            if found := _LONG_KEY.search(text) or _LONG_NUMBER.search(text):
                raise _Wrong("a key or a number is too long", 1 + text.count("\n", 0, found.start()))
            if line := _too_deep(text):
                raise _Wrong(f"brackets are nested more than {DEEPEST} deep", line)
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            named = _LINE.search(str(error))
            line = int(named[1]) if named else 1 + text.rstrip("\n").count("\n")  # "at end of document"
            raise ConfigError(f"{path}:{line}: this is not TOML: {error}") from None
        except _Wrong as error:
            raise ConfigError(f"{path}:{error.args[1]}: this cannot be read as TOML: {error.args[0]}") from None
        except (RecursionError, ValueError) as error:  # a date such as the 31st of February
            raise ConfigError(f"{path}:1: this cannot be read as TOML: {error}") from None
        return cls(values, text, path)

    @cached_property
    def _lines(self) -> dict[tuple[str, ...], int]:
        """The line of each key that begins a line: of tables, and of assignments in them."""
        found: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, text, _ in _statements(self.text or ""):
            if header := _HEADER.match(text):
                table = _parts(header[1])
                key = table
            elif assignment := _ASSIGNMENT.match(text):
                key = (*table, *_parts(assignment[1]))
            else:
                continue
            key = _spelled(key)
            for n in range(1, len(key) + 1):
                found.setdefault(key[:n], number)
        return found

    def line(self, *keys: str) -> int:
        """Return the line of a key, or that of the table that it stands in; the first line if neither is found."""
        keys = _spelled(keys)
        for n in range(len(keys), 0, -1):
            if keys[:n] in self._lines:
                return self._lines[keys[:n]]
        return 1

    def place(self, *keys: str) -> str:
        """Return the place of a key for messages: the file and the line."""
        return self.path if self.text is None else f"{self.path}:{self.line(*keys)}"

    def error(self, message: str, *keys: str) -> ConfigError:
        """Return the error about a key, with the file and the line."""
        return ConfigError(f"{self.place(*keys)}: {message}")


class _Wrong(Exception):
    """What is wrong with a text, and its line."""


def _spelled(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Keys as Python spells them: ``roll-in`` is ``roll_in``."""
    return tuple(key.replace("-", "_") for key in keys)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(re.sub(r"""^(["'])(.*)\1$""", r"\2", part) for part in re.findall(_KEY, dotted))


def _too_deep(text: str) -> int | None:
    """The first line in which brackets are nested more than :data:`DEEPEST` deep; None if there is none."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return None
    return next((number for number, _, depth in _statements(text) if depth > DEEPEST), None)


def _statements(text: str) -> Iterator[tuple[int, str, int]]:
    """The lines, with their numbers and the deepest nesting within them; empty, where nothing begins in a line.

    Nothing begins in lines within lists and long strings.
    """
    depth, quote = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        begins = depth == 0 and not quote
        start = (len(line) if _HEADER.match(line) else line.find("=") + 1) if begins else 0
        deepest = depth
        while True:
            if quote:
                at = line.find(quote, start)
                if at < 0:
                    break
                start, quote = at + len(quote), ""
            found = _TOKEN.search(line, start)
            if found is None:
                break
            token, start = found[0], found.end()
            if token in ('"""', "'''"):
                quote = token
            elif token == "#":
                break
            elif token in "[{":
                depth += 1
                deepest = max(deepest, depth)
            elif token in "]}":
                depth -= 1
        yield number, line if begins else "", deepest
