r"""Multiword tokens: which tokens consist of several words, and what these words are.

A rule divides a token into words. There are three kinds. *Cuts* divide a token at places counted from its end or its
beginning, so that they apply to new words: *don't* is cut three letters before its end, as *won't* is. *Patterns*
change the letters around a part that stays, which is written as an asterisk: Portuguese *fazê-lo* is *fazer lo*, and
so *dizê-lo* is *dizer lo*. If no other token is divided in the same way, the rule spells the words out (French *du*,
which is *de le*). A rule is chosen for each token in its context, among those that training saw with the token or with
tokens that have the same ending or beginning. Most tokens have a single candidate, which does not divide them.

>>> divide("won't", "-3"), divide("wabayt", "2")
(['wo', "n't"], ['wa', 'bayt'])
>>> divide("Dizê-lo", "*ê-lo\t*er\tlo")
['Dizer', 'lo']
>>> divide("Du", "\tde\tle")
['De', 'le']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.models import pack_strings, unpack_strings
from treewright.search import Packed
from treewright.search.rows import MOST_REMEMBERED
from treewright.text.candidates import Candidates
from treewright.text.choosing import Template, part_array
from treewright.text.raw import surface_tokens
from treewright.text.words import KeyRows, affixes, label_numbers, numbered, pack_choices

__all__ = ["WHOLE", "MultiwordTokens", "cuts", "divide", "patterns", "spelling", "token_rules"]

#: the rule that does not divide a token
WHOLE = ""

_LEAST_STEM = 2  # letters that stay as they are in a pattern
_COMMON = 20  # tokens of different forms, from which on a pattern is common

# attributes of a token
(LOW, S1, S2, S3, S4, S5, P1, P2, P3, SHAPE) = range(10)

TEMPLATES: tuple[Template, ...] = (
    [(0, LOW)], [(0, S1)], [(0, S2)], [(0, S3)], [(0, S4)], [(0, S5)], [(0, SHAPE)], [(0, P1)], [(0, P2)],
    [(0, P3), (0, S3)], [(-1, LOW)], [(1, LOW)], [(0, LOW), (1, LOW)], [(0, LOW), (-1, LOW)], [(0, S3), (1, S3)],
    [(0, S3), (-1, S3)], [(0, S2), (1, S2)], [(0, S2), (0, SHAPE)], [(0, S4), (1, S1)],
)  # fmt: skip
_REACH = max(abs(offset) for template in TEMPLATES for offset, _ in template)


def patterns(token: str, words: Sequence[str]) -> list[str]:
    r"""Return the patterns that divide a token into words: one for each word as the stem, if enough of it stays.

    >>> patterns("don't", ["do", "n't"])
    ["*n't\t*\tn't", 'do*\tdo\t*']
    >>> patterns("fazê-lo", ["fazer", "lo"])
    ['*ê-lo\t*er\tlo', 'fazê-*\tfazer\t*']
    """
    low, spelt = token.lower(), [word.lower() for word in words]
    if "*" in low + "".join(spelt) or len(low) != len(token):
        return []
    if "".join(words) == token:  # the lower case of a Greek sigma depends on the letters after it
        spelt = [low[end - len(word) : end] for word, end in zip(words, accumulate(map(len, words)), strict=True)]
    found = []
    for stem, word in enumerate(spelt):
        if "".join(spelt) == low:
            start, own = sum(map(len, spelt[:stem])), "*"
            end = start + len(word)
        else:
            same = SequenceMatcher(None, low, word, autojunk=False).find_longest_match()
            if same.size < _LEAST_STEM:
                continue
            start, end = same.a, same.a + same.size
            own = f"{word[: same.b]}*{word[same.b + same.size :]}"
        found.append("\t".join([f"{low[:start]}*{low[end:]}", *spelt[:stem], own, *spelt[stem + 1 :]]))
    return found


def cuts(words: Sequence[str], stem: int) -> str:
    """Return where a token is cut into its words: before the stem counted from the beginning, after it from the end.

    >>> cuts(["do", "n't"], 0), cuts(["wa", "bayt"], 1)
    ('-3', '2')
    """
    length = sum(map(len, words))
    return " ".join(
        str(cut if place < stem else cut - length) for place, cut in enumerate(accumulate(map(len, words[:-1])))
    )


def spelling(words: Sequence[str]) -> str:
    """Return the rule that spells the words out."""
    return "\t" + "\t".join(word.lower() for word in words)


def divide(token: str, rule: str) -> list[str] | None:
    """Return the words of a token by a rule; None if it stays whole, or the rule does not fit it."""
    if rule == WHOLE:
        return None
    if "\t" in rule:
        pattern, *words = rule.split("\t")
        if pattern:
            before, after = pattern.split("*")
            end = len(token) - len(after)
            if (
                end - len(before) < _LEAST_STEM
                or token[: len(before)].lower() != before
                or token[end:].lower() != after
            ):
                return None
            words = [word.replace("*", token[len(before) : end], 1) for word in words]
        return [words[0][:1].upper() + words[0][1:] if token[:1].isupper() else words[0], *words[1:]]
    places = [0, *[cut if cut > 0 else len(token) + cut for cut in _numbers(rule)], len(token)]
    words = [token[a:b] for a, b in pairwise(places) if a < b]
    return words if len(words) == len(places) - 1 else None


@lru_cache(maxsize=1000)
def _numbers(rule: str) -> list[int]:
    return list(map(int, rule.split(" ")))


class MultiwordTokens:
    """Rules and candidates, as learned from a treebank."""

    def __init__(self, rules: Sequence[str], candidates: Candidates) -> None:
        self.rules, self.candidates = list(rules), candidates
        self.numbers = {rule: number for number, rule in enumerate(rules)}
        self._parts = part_array([[rule or "whole"] for rule in rules], 1)
        self.offered = lru_cache(MOST_REMEMBERED)(self._offered)
        """The rules that may divide a token, and the one that does not."""
        self._has_beginnings = any(name.endswith("*") for name in candidates.classes.number)
        self._whole = [self.numbers[WHOLE]] if WHOLE in self.numbers else []
        # all endings of a token are learned together, so a token that may be divided has a known last letter
        divided = {key for key in candidates.own.number if candidates.own.get(key) != self._whole}
        self._last_letters = {key[-1:] for key in divided.union(candidates.classes.number)}
        self._rows: KeyRows[str] = KeyRows(lambda token: [token.lower(), *affixes(token)], self.offered, 10)

    @classmethod
    def learn(cls, tokens: Iterable[tuple[str, str]]) -> MultiwordTokens:
        """Learn from the tokens of a treebank with their rules."""
        tokens = list(tokens)
        rules, numbers = numbered([WHOLE, *(rule for _, rule in tokens)])
        candidates = Candidates.learn(
            ((token.lower(), _classes(token, rule), numbers[rule]) for token, rule in tokens), rare=2**30, usual=4
        )
        return cls(rules, candidates)

    @property
    def any(self) -> bool:
        """Whether the training data have a multiword token."""
        return len(self.rules) > 1

    def needed(self, tokens: Sequence[str]) -> list[str]:
        """Return the tokens that may be divided, and their neighbours; the others are empty, and have no choice.

        Without a token that may be divided, the list is empty. A decision depends on neighbours only, and describing a
        token takes longer than finding that it stays whole.
        """
        places = [place for place, token in enumerate(tokens) if self._may_end(token) and len(self.offered(token)) > 1]
        near = {at for place in places for at in range(place - _REACH, place + _REACH + 1)}
        return [token if place in near else "" for place, token in enumerate(tokens)] if places else []

    def _may_end(self, token: str) -> bool:
        """Return whether a token that may be divided can have this last letter."""
        return self._has_beginnings or token.lower()[-1:] in self._last_letters

    def _offered(self, token: str) -> list[int]:
        low = token.lower()
        if not self._may_end(token):
            return self._whole
        classes = _endings(low) + (_beginnings(low) if self._has_beginnings else [])
        if not self.candidates.knows(low, classes):
            return self._whole
        rules = self.rules

        def fits(number: int) -> bool:
            return rules[number] == WHOLE or divide(token, rules[number]) is not None

        return self.candidates.of(low, classes, more=self._whole, allowed=fits)[:10]

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


def token_rules(sentences: Iterable[Sentence]) -> list[list[tuple[str, str]]]:
    """Return the tokens of each sentence with their rules.

    The stem of a token is its first word, unless another choice of the stem gives a common pattern that more tokens
    share. Hence English counts its cuts from the end (*n't*, *'s*), and a language with prefixes from the beginning.
    """
    pairs = [
        [(token.form, tuple(sentence.forms[token.first - 1 : token.last])) for token in surface_tokens(sentence)]
        for sentence in sentences
    ]
    seen = set(chain.from_iterable(pairs))
    known = {pair: patterns(*pair) for pair in seen if len(pair[1]) > 1}
    types = Counter(
        pattern for _, pattern in {(pair[0].lower(), own) for pair, found in known.items() for own in found}
    )

    def rule_of(token: str, words: tuple[str, ...]) -> str:
        if len(words) < 2:
            return WHOLE
        best = max(known[token, words], key=lambda pattern: types[pattern] >= _COMMON and types[pattern], default=None)
        if "".join(words) == token:
            return cuts(words, 0 if best is None else best.split("\t")[1:].index("*"))
        return spelling(words) if best is None or types[best] < 2 else best

    rules = {pair: rule_of(*pair) for pair in seen}
    return [[(pair[0], rules[pair]) for pair in own] for own in pairs]


def _classes(token: str, rule: str) -> list[str]:
    """Return the classes of tokens to which a rule is offered: those with its beginning, its ending, or both."""
    if rule == WHOLE or rule.startswith("\t"):
        return []
    if "\t" in rule:
        before, after = map(bool, rule.split("\t")[0].split("*"))
    else:
        before, after = not rule.startswith("-"), "-" in rule
    return (_endings(token) if after else []) + (_beginnings(token) if before else [])


def _endings(token: str) -> list[str]:
    low = token.lower()
    if len(low) > 4:  # as below, in half the time
        return [low[-4:], low[-3:], low[-2:], low[-1:]]
    return [low[-n:] for n in (4, 3, 2, 1) if n < len(low)]


def _beginnings(token: str) -> list[str]:
    """Return the first letters of a token, with a mark that tells them from endings."""
    low = token.lower()
    return [f"{low[:n]}*" for n in (4, 3, 2, 1) if n < len(low)]
