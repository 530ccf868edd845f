"""The limits of requests: sizes, times and numbers, and the check of their texts."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Limits", "Refused", "check_text"]

_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")  # except white space


@dataclass(frozen=True)
class Limits:
    """The limits of requests. A request beyond a limit gets a status from 400 to 499 that names the limit."""

    body: int = 1_000_000
    """Bytes of a request's body, its address included."""
    words: int = 20_000
    """Words of a request."""
    letters: int = 1_000
    """Letters of a word."""
    trace_words: int = 200
    """Words of a sentence that is shown step by step."""
    seconds: float = 60.0
    """Seconds that a request may take."""
    waiting: int = 512
    """Requests that may wait for a model."""
    idle: float = 15.0
    """Seconds that a connection may be open without a whole request."""
    connections: int = 1_000
    """Open connections; beyond that the oldest one that has sent no whole request is closed."""


class Refused(Exception):
    """A request that is answered with an error: its status, a short code, and a message for people."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def check_text(text: str, limits: Limits, *, name: str = "text") -> str:
    """Return a text that can be analysed, or raise :class:`Refused`."""
    if not text.strip():
        raise Refused(400, "empty", f"{name} is empty: give at least one word")
    if found := _CONTROL.search(text):
        message = f"{name} has the control character U+{ord(found[0]):04X} at {found.start():,}"
        raise Refused(400, "control-character", message)
    words = text.split()
    if len(words) > limits.words:
        raise Refused(413, "too-many-words", f"{name} has {len(words):,} words; the limit is {limits.words:,}")
    longest = max(map(len, words))
    if longest > limits.letters:
        raise Refused(
            413, "word-too-long", f"{name} has a word of {longest:,} letters; the limit is {limits.letters:,}"
        )
    return text
