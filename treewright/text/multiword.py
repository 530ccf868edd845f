"""Multiword tokens: which tokens consist of several words, and what these words are.

A rule divides a token into words. Most rules are cuts, counted from the end, so that they apply to new words: *don't*
is cut three letters before its end, as *won't* is. If the words are not pieces of the token (French *du*, which is *de
le*), the rule spells them out. A rule is chosen for each token in its context, among those that training saw with the
token or with tokens that have the same ending. Most tokens have a single candidate, which does not divide them.

>>> division("don't", ["do", "n't"]), divide("won't", division("don't", ["do", "n't"]))
('-3', ['wo', "n't"])
>>> divide("Du", division("du", ["de", "le"]))
['De', 'le']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.models import pack_strings, unpack_strings
from treewright.search import Packed
from treewright.text.candidates import Candidates
from treewright.text.choosing import Template, part_array
from treewright.text.raw import surface_tokens
from treewright.text.words import KeyRows, affixes, label_numbers, numbered, pack_choices

__all__ = ["WHOLE", "MultiwordTokens", "divide", "division"]

#: the rule that does not divide a token
WHOLE = ""

# attributes of a token
(LOW, S1, S2, S3, S4, S5, P1, P2, P3, SHAPE) = range(10)

TEMPLATES: tuple[Template, ...] = (
    [(0, LOW)], [(0, S1)], [(0, S2)], [(0, S3)], [(0, S4)], [(0, S5)], [(0, SHAPE)], [(0, P1)], [(0, P2)],
    [(0, P3), (0, S3)], [(-1, LOW)], [(1, LOW)], [(0, LOW), (1, LOW)], [(0, LOW), (-1, LOW)], [(0, S3), (1, S3)],
    [(0, S3), (-1, S3)], [(0, S2), (1, S2)], [(0, S2), (0, SHAPE)], [(0, S4), (1, S1)],
)  # fmt: skip


def division(token: str, words: Sequence[str]) -> str:
    """Return the rule that divides a token into words."""
    if len(words) < 2:
        return WHOLE
    if "".join(words) == token:
        ends = (sum(map(len, words[k:])) for k in range(1, len(words)))
        return " ".join(f"-{end}" for end in ends)
    return "\t" + "\t".join(word.lower() for word in words)


def divide(token: str, rule: str) -> list[str] | None:
    """Return the words of a token by a rule; None if it stays whole, or is too short for the rule."""
    if rule == WHOLE:
        return None
    if rule.startswith("\t"):
        first, *others = rule[1:].split("\t")
        return [first[:1].upper() + first[1:] if token[:1].isupper() else first, *others]
    cuts = [len(token) + int(cut) for cut in rule.split(" ")]
    if cuts[0] <= 0:
        return None
    return [token[a:b] for a, b in pairwise([0, *cuts, len(token)])]


class MultiwordTokens:
    """Rules and candidates, as learned from a treebank."""

    def __init__(self, rules: Sequence[str], candidates: Candidates) -> None:
        self.rules, self.candidates = list(rules), candidates
        self.numbers = {rule: number for number, rule in enumerate(rules)}
        self._parts = part_array([[rule or "whole"] for rule in rules], 1)
        self._rows = KeyRows(lambda token: [token.lower(), *affixes(token)], self.offered, 10)

    @classmethod
    def learn(cls, sentences: Sequence[Sentence]) -> MultiwordTokens:
        """Learn from the tokens of a treebank."""
        tokens = [pair for sentence in sentences for pair in zip(*token_rules(sentence), strict=True)]
        rules, numbers = numbered([WHOLE, *(rule for _, rule in tokens)])
        candidates = Candidates.learn(
            (
                (token.lower(), _endings(token) if rule != WHOLE and not rule.startswith("\t") else (), numbers[rule])
                for token, rule in tokens
            ),
            rare=2**30,
            usual=4,
        )
        return cls(rules, candidates)

    @property
    def any(self) -> bool:
        """Whether the training data have a multiword token."""
        return len(self.rules) > 1

    def offered(self, token: str) -> list[int]:
        """Return the rules that may divide a token, and the one that does not."""
        found = self.candidates.of(
            token.lower(),
            _endings(token),
            more=[self.numbers[WHOLE]],
            allowed=lambda number: self.rules[number] == WHOLE or divide(token, self.rules[number]) is not None,
        )
        return found[:10]

    def pack(self, sentences: Sequence[Sequence[str]], gold: Sequence[Sequence[str]] | None = None) -> Packed:
        """Pack tokens for the task, with their rules if they are known."""
        rows = self._rows = self._rows.renewed()
        return pack_choices(
            list(chain.from_iterable(sentences)),
            list(map(len, sentences)),
            None if gold is None else label_numbers(chain.from_iterable(gold), self.numbers),
            rows=rows,
            parts=self._parts,
            counted=1,
            templates=TEMPLATES,
            shared_by=((),),
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return rules and candidates as arrays for a model file."""
        return {**pack_strings(self.rules, "rules"), **self.candidates.to_arrays("tokens")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> MultiwordTokens:
        """Restore the result of :meth:`to_arrays`."""
        return cls(unpack_strings(arrays, "rules"), Candidates.from_arrays(arrays, "tokens"))


def token_rules(sentence: Sentence) -> tuple[list[str], list[str]]:
    """Return the tokens of a sentence and the rules that divide them."""
    tokens = list(surface_tokens(sentence))
    words = sentence.forms
    return [t.form for t in tokens], [division(t.form, words[t.first - 1 : t.last]) for t in tokens]


def _endings(token: str) -> list[str]:
    low = token.lower()
    return [low[-n:] for n in (4, 3, 2, 1) if n < len(low)]
