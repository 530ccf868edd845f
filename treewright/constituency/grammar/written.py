r"""Handwritten grammars: context-free rules with optional weights, one or more per line.

>>> grammar = WrittenGrammar.from_text('''
... S -> NP VP
... NP -> Det N [3] | NP PP [1]
... VP -> V NP | VP PP
... PP -> P NP
... Det -> the
... N -> man | dog | telescope
... V -> 'saw'
... P -> "with"
... ''')
>>> best = grammar.k_best("the man saw the dog with the telescope".split(), 2)
>>> [round(each.score, 3) for each in best]
[-5.545, -6.238]
>>> print(best[0].tree)
(S (NP (Det the) (N man)) (VP (VP (V saw) (NP (Det the) (N dog))) (PP (P with) (NP (Det the) (N telescope)))))

The first symbol is the root. Words are in quotes, or are names that no rule expands. A weight in square brackets is
relative to the weights of the other rules of the symbol: with 3 and 1, the probabilities are 3/4 and 1/4. Rules without
a weight have the weight 1. ``#`` begins a comment. Rules may have any number of parts, and unary chains may be cyclic;
an empty right side is an error.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from treewright.corpora import Tree
from treewright.errors import CorpusError

__all__ = ["ScoredTree", "WrittenGrammar", "WrittenRule"]

_PART = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|\[([^\]]*)\]|([^\s'"\[\]|]+))""")
_PREFIX = "@"  # of symbols that are parts of a long rule


class WrittenRule(NamedTuple):
    """A rule: its parent, its parts (words with a quotation mark before them), and its probability."""

    parent: str
    parts: tuple[str, ...]
    probability: float

    def __str__(self) -> str:
        return f"{self.parent} -> {' '.join(map(_shown, self.parts))} [{self.probability:.3g}]"


class ScoredTree(NamedTuple):
    """A tree and the logarithm of its probability."""

    tree: Tree
    score: float


def _shown(part: str) -> str:
    return f"'{part[1:]}'" if part.startswith("'") else part


@dataclass(frozen=True)
class WrittenGrammar:
    """A handwritten grammar: its rules and the root of its trees. :meth:`from_text` reads it."""

    rules: tuple[WrittenRule, ...]
    root: str

    @classmethod
    def from_text(cls, text: str, path: str | None = None) -> WrittenGrammar:
        """Read rules from a text; ``path`` is for error messages."""
        found: list[tuple[str, list[str], float, int]] = []
        for number, line in enumerate(text.splitlines(), 1):
            bare = _without_comment(line).strip()
            if bare:
                found += [(*rule, number) for rule in _line_rules(bare, path, number)]
        if not found:
            raise CorpusError("there is no rule in it; write rules such as S -> NP VP", path=path)
        parents = {parent for parent, *_ in found}
        totals: defaultdict[str, float] = defaultdict(float)
        for parent, _, weight, _ in found:
            totals[parent] += weight
        rules: dict[tuple[str, tuple[str, ...]], WrittenRule] = {}
        for parent, parts, weight, number in found:
            named = tuple(part if part.startswith("'") or part in parents else f"'{part}" for part in parts)
            if (parent, named) in rules:
                raise CorpusError(f"the rule {parent} -> {' '.join(parts)} is there twice", path=path, line=number)
            rules[parent, named] = WrittenRule(parent, named, weight / totals[parent])
        return cls(tuple(rules.values()), found[0][0])

    # ---- the rules for charts, with one or two parts

    @cached_property
    def unary(self) -> list[tuple[str, str, float]]:
        """The rules with one symbol, with logarithms of their probabilities."""
        return [
            (rule.parent, rule.parts[0], math.log(rule.probability))
            for rule in self.rules
            if len(rule.parts) == 1 and not rule.parts[0].startswith("'") and rule.parts[0] != rule.parent
        ]

    @cached_property
    def binary(self) -> list[tuple[str, str, str, float]]:
        """The rules with two parts; longer rules are built through intermediate symbols."""
        found = []
        for number, (parent, parts, probability) in enumerate(self.rules):
            if len(parts) < 2:
                continue
            left, rest, weight = parent, list(parts), math.log(probability)
            while len(rest) > 2:
                inner = f"{_PREFIX}{parent}|{number}.{len(parts) - len(rest) + 1}"
                found.append((left, rest.pop(0), inner, weight))
                left, weight = inner, 0.0
            found.append((left, rest[0], rest[1], weight))
        return found

    @cached_property
    def lexical(self) -> dict[str, dict[str, float]]:
        """The symbols directly above each word, with logarithms of their probabilities."""
        words: dict[str, dict[str, float]] = {}
        for rule in self.rules:
            for part in rule.parts:
                if part.startswith("'"):
                    alone = len(rule.parts) == 1
                    words.setdefault(part[1:], {})[rule.parent if alone else part] = (
                        math.log(rule.probability) if alone else 0.0
                    )
        return words

    @cached_property
    def symbols(self) -> list[str]:
        """All symbols, including those of long rules and of words inside rules."""
        names = dict.fromkeys([self.root, *(rule.parent for rule in self.rules)])
        names |= dict.fromkeys(name for rule in self.binary for name in rule[:3])
        names |= dict.fromkeys(name for rule in self.unary for name in rule[:2])
        return list(names | dict.fromkeys(tag for tags in self.lexical.values() for tag in tags))

    def tags(self, words: Sequence[str]) -> list[dict[str, float]]:
        """The symbols directly above each word of a sentence; the first word may have a capital letter."""
        found = []
        for number, word in enumerate(words):
            tags = self.lexical.get(word) or (self.lexical.get(word.lower()) if number == 0 else None)
            if tags is None:
                known = ", ".join(sorted(self.lexical)[:20])
                raise CorpusError(f"the grammar has no word {word!r}; it has: {known}")
            found.append(tags)
        return found

    # ---- parsing

    def k_best(self, words: Sequence[str], k: int = 1) -> list[ScoredTree]:
        """Return the ``k`` most probable trees of a sentence, best first; fewer if there are fewer.

        No symbol occurs twice in a chain over the same words.
        """
        n = len(words)
        table: dict[tuple[int, int], dict[str, list[_Derived]]] = {}
        tags = self.tags(words)
        for width in range(1, n + 1):
            for start in range(n - width + 1):
                end = start + width
                cell: defaultdict[str, list[_Derived]] = defaultdict(list)
                if width == 1:
                    for tag, score in tags[start].items():
                        cell[tag].append(_Derived(score, tag, (), start, frozenset({tag})))
                for parent, left, right, weight in self.binary:
                    for split in range(start + 1, end):
                        for x in table[start, split].get(left, ()):
                            for y in table[split, end].get(right, ()):
                                score = weight + x.score + y.score
                                cell[parent].append(_Derived(score, parent, (x, y), start, frozenset({parent})))
                table[start, end] = _closed(cell, self.unary, k)
        best = table[0, n].get(self.root, []) if n else []
        return [ScoredTree(_tree(each, words), each.score) for each in best]


class _Derived(NamedTuple):
    """A partial tree: its score, its symbol, its parts (none above a word), and the symbols of its unary chain."""

    score: float
    symbol: str
    parts: tuple[_Derived, ...]
    start: int
    chain: frozenset[str]


def _closed(
    cell: dict[str, list[_Derived]], unary: Sequence[tuple[str, str, float]], k: int
) -> dict[str, list[_Derived]]:
    """The ``k`` best partial trees of each symbol of a cell, with chains of unary rules."""
    kept = {symbol: _top(found, k) for symbol, found in cell.items()}
    news = dict(kept)
    while news:
        grown: defaultdict[str, list[_Derived]] = defaultdict(list)
        for parent, child, weight in unary:
            for below in news.get(child, ()):
                if parent not in below.chain:
                    chain = below.chain | {parent}
                    grown[parent].append(_Derived(weight + below.score, parent, (below,), below.start, chain))
        news = {}
        for symbol, found in grown.items():
            best = _top([*kept.get(symbol, []), *found], k)
            if fresh := [each for each in best if any(each is one for one in found)]:
                news[symbol] = fresh
            kept[symbol] = best
    return kept


def _top(found: list[_Derived], k: int) -> list[_Derived]:
    return sorted(found, key=lambda each: -each.score)[:k]


def _tree(derived: _Derived, words: Sequence[str]) -> Tree:
    """The tree with the rules as they were written."""
    if not derived.parts:
        return Tree(derived.symbol, (words[derived.start],))
    return Tree(derived.symbol, tuple(_children(derived, words)))


def _children(derived: _Derived, words: Sequence[str]) -> Iterator[Tree | str]:
    for part in derived.parts:
        if part.symbol.startswith(_PREFIX):
            yield from _children(part, words)
        elif part.symbol.startswith("'"):
            yield words[part.start]
        else:
            yield _tree(part, words)


def _without_comment(line: str) -> str:
    """A line up to a ``#`` that is not in quotes."""
    quote = ""
    for place, letter in enumerate(line):
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == "#" and not quote:
            return line[:place]
    return line


def _line_rules(line: str, path: str | None, number: int) -> Iterator[tuple[str, list[str], float]]:
    """The rules of a line: a parent, an arrow, and alternatives between bars."""
    parent, arrow, rest = line.partition("->")
    if not arrow:
        parent, arrow, rest = line.partition("→")
    if not arrow or len(parent.split()) != 1 or parent.strip()[0] in "'\"":
        raise CorpusError(f"not a rule: {line!r}; write it as S -> NP VP", path=path, line=number)
    parent = parent.strip()
    if parent.startswith(_PREFIX):
        raise CorpusError(f"a symbol cannot begin with {_PREFIX}: {parent}", path=path, line=number)
    parts: list[str] = []
    weight = 1.0
    place = 0
    rest = rest.strip()
    while place < len(rest) or parts:
        if place >= len(rest) or rest[place:].lstrip().startswith("|"):
            if not parts:
                raise CorpusError(f"a rule of {parent} has nothing on its right side", path=path, line=number)
            yield parent, parts, weight
            parts, weight = [], 1.0
            if place >= len(rest):
                return
            place = rest.index("|", place) + 1
            if not rest[place:].strip():
                raise CorpusError(f"a rule of {parent} has nothing on its right side", path=path, line=number)
            continue
        found = _PART.match(rest, place)
        if found is None:
            raise CorpusError(f"cannot read {rest[place:]!r}: is a quotation mark missing?", path=path, line=number)
        single, double, bracket, name = found.groups()
        if bracket is not None:
            weight = _weight(bracket, path, number)
        elif name is not None:
            parts.append(name)
        else:
            word = single if single is not None else double
            if not word or len(word.split()) != 1:
                raise CorpusError(f"{word!r} is not one word", path=path, line=number)
            parts.append("'" + word)
        place = found.end()
    raise CorpusError(f"the rule of {parent} has nothing on its right side", path=path, line=number)


def _weight(text: str, path: str | None, number: int) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0.0 < weight < math.inf:
        raise CorpusError(f"a weight is a number above 0, not {text!r}", path=path, line=number)
    return weight
