"""Listings of a grammar: the kinds of its symbols and rules, and the most frequent rules.

>>> from treewright.corpora import Tree
>>> from treewright.constituency.grammar.binarisation import Markovisation
>>> def noun(word):
...     return Tree("NP", (Tree("NN", (word,)),))
>>> trees = [Tree("S", (noun("time"), Tree("VB", ("flies",)))), Tree("S", (Tree("VB", ("look",)), noun("there")))]
>>> grammar = Grammar.learn([Markovisation().binarise(tree) for tree in trees])
>>> for rule in list_rules(grammar, "S^TOP"):
...     print(rule.text, rule.count, rule.probability)
S^TOP -> NP^S VB 1.0 0.5
S^TOP -> VB NP^S 1.0 0.5
>>> list(sizes(grammar).items())[-4:]
[('rules', 4), ('binary', 2), ('unary', 2), ('seen once', 2)]
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from difflib import get_close_matches

from treewright.constituency.grammar.pcfg import BOTTOM, Grammar
from treewright.errors import ConfigError

__all__ = ["ListedRule", "list_rules", "sizes"]

_SUGGESTIONS = 8


@dataclass(frozen=True)
class ListedRule:
    """A rule: its probability is its relative frequency given the parent, its weight the parser's score.

    In ``children``, the symbols between a parent and the bottom of its unary chain are in square brackets.
    """

    parent: str
    children: str
    kind: str
    count: float
    probability: float
    weight: float

    @property
    def text(self) -> str:
        """The rule as text."""
        return f"{self.parent} -> {self.children}"


def list_rules(grammar: Grammar, symbol: str | None = None) -> list[ListedRule]:
    """The rules, the most frequent first; or the rules of one symbol, and of its bottom if it starts unary chains."""
    if symbol is not None:
        _check_symbol(grammar, symbol)
    rules = [(parent, f"{left} {right}", "binary") for parent, left, right in _named(grammar)]
    rules += [
        (grammar.symbols[top], " ".join([*(f"[{name}]" for name in middle), grammar.symbols[bottom]]), "unary")
        for (top, bottom), middle in zip(grammar.unary.tolist(), grammar.middles, strict=True)
    ]
    totals: defaultdict[str, float] = defaultdict(float)
    for (parent, _, _), count in zip(rules, grammar.counts.tolist(), strict=True):
        totals[parent] += count
    wanted = None if symbol is None else {symbol, symbol + BOTTOM}
    found = [
        ListedRule(parent, children, kind, count, count / totals[parent] if totals[parent] else 0.0, weight)
        for (parent, children, kind), count, weight in zip(
            rules, grammar.counts.tolist(), grammar.weights.tolist(), strict=True
        )
        if wanted is None or parent in wanted
    ]
    return sorted(found, key=lambda rule: (-rule.count, rule.parent, rule.children))


def sizes(grammar: Grammar) -> dict[str, int]:
    """The numbers of symbols and rules, by kind, and of rules that occur once in the treebank."""
    size = grammar.size
    symbols = {name: size[name] for name in ("symbols", "phrases", "bottoms", "intermediate", "tags")}
    binary, unary = size["binary rules"], size["unary rules"]
    once = int((grammar.counts == 1.0).sum())
    return {**symbols, "rules": binary + unary, "binary": binary, "unary": unary, "seen once": once}


def _named(grammar: Grammar) -> list[tuple[str, str, str]]:
    names = grammar.symbols
    return [(names[a], names[b], names[c]) for a, b, c in grammar.binary.tolist()]


def _check_symbol(grammar: Grammar, symbol: str) -> None:
    """Raise an error with suggestions for a symbol that has no rules."""
    if symbol not in grammar.number:
        same = [name for name, label in zip(grammar.symbols, grammar.labels, strict=True) if label == symbol]
        same = [name for name in same if not name.endswith(BOTTOM)]
        similar = same or get_close_matches(symbol, grammar.symbols, _SUGGESTIONS)
        more = ", …" if len(similar) > _SUGGESTIONS else ""
        hint = f"; there are: {', '.join(similar[:_SUGGESTIONS])}{more}" if similar else ""
        raise ConfigError(f"there is no symbol {symbol!r} in the grammar{hint}")
    if grammar.number[symbol] in grammar.tags.values():
        raise ConfigError(f"{symbol!r} is a tag: it stands over a word, and no rule expands it")
