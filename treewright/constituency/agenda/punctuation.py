"""Patterns of punctuation, which indicate whether spans are constituents.

The pattern of a span is its marks of punctuation and, for every run of other words, an x: ``x , x``. As in Liang,
Daumé III & Klein (2008), a classifier learns from the treebank which spans are constituents: a logistic regression
with one weight for each pattern that is seen often enough and one for each length, since long spans have more
punctuation and are rarely constituents anyway. The five patterns of the highest weights and the five of the lowest
are features of priorities.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["mark_of", "pattern_of", "punctuation_patterns"]

Floats = npt.NDArray[np.float64]

_PATTERNS = 5  # of each sign
_LONGEST_PATTERN = 8  # longer ones are rare
_PENALTY = 2.0  # of squares of weights, for the classifier
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def mark_of(word: str) -> str:
    """The punctuation mark of a word; empty for words that are not punctuation."""
    word = _BRACKETS.get(word, word)
    is_mark = all(unicodedata.category(letter)[0] == "P" or letter == "`" for letter in word)
    return word if is_mark and word not in ("%", "&", "#", "*") else ""


def pattern_of(marks: Sequence[str]) -> str:
    """The pattern of punctuation of some words, given their marks.

    >>> pattern_of(["", "", ",", "", ","])
    'x , x ,'
    """
    pattern: list[str] = []
    for mark in marks:
        if mark or not pattern or pattern[-1] != "x":
            pattern.append(mark or "x")
    return " ".join(pattern)


def punctuation_patterns(sentences: Iterable[Sequence[str]], spans: Iterable[set[tuple[int, int]]]) -> list[str]:
    """The patterns that best distinguish constituents from other spans: five positive and five negative ones."""
    counts: defaultdict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    often: Counter[str] = Counter()
    for words, constituents in zip(sentences, spans, strict=True):
        marks = [mark_of(word) for word in words]
        for start in range(len(words)):
            pattern: list[str] = []
            for end in range(start + 1, len(words) + 1):
                mark = marks[end - 1]
                if mark or not pattern or pattern[-1] != "x":
                    pattern.append(mark or "x")
                if len(pattern) > _LONGEST_PATTERN:
                    break
                if end - start > 1:
                    name = " ".join(pattern)
                    counts[name, min(end - start, 40)][(start, end) in constituents] += 1.0
                    often[name] += 1
    enough = max(5.0, 0.0005 * often.total())
    names = sorted(name for name, count in often.items() if count >= enough)
    number = {name: k for k, name in enumerate(names)}
    data = [(number[name], length, *c) for (name, length), c in counts.items() if name in number]
    if len(names) < 2 * _PATTERNS:
        return []
    weights = _logistic_regression(np.array(data), len(names))
    order = np.argsort(weights, kind="stable")
    return [names[k] for k in [*order[::-1][:_PATTERNS], *order[:_PATTERNS]]]


def _logistic_regression(data: Floats, patterns: int, rounds: int = 30) -> Floats:
    """The weights of patterns and of lengths, by Newton's method, alternating between the two groups.

    ``data`` has rows of pattern, length, the number of spans that are not constituents, and the number that are.
    """
    pattern, length = data[:, 0].astype(np.int64), data[:, 1].astype(np.int64)
    total, positive = data[:, 2] + data[:, 3], data[:, 3]
    of_pattern, of_length = np.zeros(patterns), np.zeros(41)
    for _ in range(rounds):
        for group, weights, penalty in ((length, of_length, 1e-3), (pattern, of_pattern, _PENALTY)):
            p = 1.0 / (1.0 + np.exp(-(of_pattern[pattern] + of_length[length])))
            gradient = np.bincount(group, positive - total * p, len(weights)) - penalty * weights
            curvature = np.bincount(group, total * p * (1.0 - p), len(weights)) + penalty
            weights += np.clip(gradient / curvature, -2.0, 2.0)
    return of_pattern
