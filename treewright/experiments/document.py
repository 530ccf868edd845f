"""TOML files with line numbers in error messages.

``tomllib`` returns values without positions. :class:`Document` keeps the text, and finds the line of a key in it.

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
from pathlib import Path
from typing import Any

from treewright.errors import ConfigError

__all__ = ["Document"]

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=(.*)", re.DOTALL)
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#|[\[\]{}]')
_LINE = re.compile(r"line (\d+)")


@dataclass(frozen=True)
class Document:
    """A TOML file: its values, and the line of each key."""

    values: dict[str, Any]
    text: str
    path: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Document:
        """Read a file.

        Raises:
            ConfigError: if it cannot be read, or is not TOML.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"{path}: the experiment cannot be read: {(error.strerror or str(error)).lower()}"
            ) from None
        except UnicodeDecodeError:
            raise ConfigError(f"{path}: the experiment is not UTF-8 text") from None
        return cls.parse(text, os.fspath(path))

    @classmethod
    def parse(cls, text: str, path: str) -> Document:
        """Parse the text of a file; ``path`` is for messages."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = _LINE.search(str(error))
            where = f":{found[1]}" if found else ""
            raise ConfigError(f"{path}{where}: this is not TOML: {error}") from None
        return cls(values, text, path)

    @cached_property
    def _lines(self) -> dict[tuple[str, ...], int]:
        """The line of each key that begins a line: of tables, and of assignments in them."""
        found: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, text in _statements(self.text):
            if header := _HEADER.match(text):
                table = _parts(header[1])
                key = table
            elif assignment := _ASSIGNMENT.match(text):
                key = (*table, *_parts(assignment[1]))
            else:
                continue
            for n in range(1, len(key) + 1):
                found.setdefault(key[:n], number)
        return found

    def line(self, *keys: str) -> int:
        """Return the line of a key, or of its table; the first line if neither is found."""
        for n in range(len(keys), 0, -1):
            if keys[:n] in self._lines:
                return self._lines[keys[:n]]
        return 1

    def error(self, message: str, *keys: str) -> ConfigError:
        """Return the error about a key, with the file and the line."""
        return ConfigError(f"{self.path}:{self.line(*keys)}: {message}")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(re.sub(r"""^(["'])(.*)\1$""", r"\2", part) for part in re.findall(_KEY, dotted))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The lines at which something begins, with their numbers: not those within lists or long strings."""
    depth, quote = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        if depth == 0 and not quote:
            yield number, line
            start = len(line) if _HEADER.match(line) else line.find("=") + 1
        else:
            start = 0
        while found := _TOKEN.search(line, start):
            token, start = found[0], found.end()
            if quote:
                quote = "" if token == quote else quote
            elif token in ('"""', "'''"):
                quote = token
            elif token == "#":
                break
            elif token in "[{":
                depth += 1
            elif token in "]}":
                depth -= 1
