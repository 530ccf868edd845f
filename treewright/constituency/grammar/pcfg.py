"""Treebank grammars: rules with weights, in a form for charts.

Trees are binarised (:mod:`treewright.constituency.grammar.binarisation`) and their rules are counted. Unary chains are
treated exactly: a whole chain of the treebank is one rule. A symbol that starts chains somewhere has two forms: its
*top*, ``NP^S``, which occurs in the rules above it, and its *bottom*, ``NP^S~``, which has two children or a word. A
unary rule leads from a top to a bottom: to its own bottom if there is no chain, or to the bottom of the last symbol of
a chain; the rule stores the middle of the chain. So every tree has exactly one derivation, a span has at most one unary
rule, and the grammar is still an ordinary PCFG, whose weights are relative frequencies:

>>> from treewright.corpora import Tree
>>> from treewright.constituency.grammar.binarisation import Markovisation
>>> noun = Tree("NP", (Tree("NN", ("time",)),))
>>> tree = Tree("S", (noun, Tree("VP", (Tree("VB", ("flies",)),))))
>>> grammar = Grammar.learn([Markovisation().binarise(tree)])
>>> print(grammar.to_text().expandtabs(24), end="")
S^TOP -> NP^S VP^S      1                       0.0
NP^S -> NN              1                       0.0
TOP -> S^TOP            1                       0.0
VP^S -> VB              1                       0.0
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.binarisation import TOP, is_intermediate, plain_label, project, unescaped
from treewright.constituency.grammar.rules import DENSE, Lexical, Rules, Weighted
from treewright.corpora import Tree
from treewright.errors import CorpusError
from treewright.models import pack_strings, read_model, unpack_strings, write_model

__all__ = ["Grammar", "NotInGrammar"]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

BOTTOM = "~"  # marks the bottom of a symbol that starts chains; labels have it escaped
TAG = "#"  # marks a tag that has the name of a phrase
_OF_RULES = ("number", "tags", "labels", "is_whole", "rules", "_numbers_of_rules", "_names_of_rules", "_namer")


class NotInGrammar(CorpusError):
    """A tree has a rule that the grammar lacks."""


class _Span(NamedTuple):
    """One span of a binarised tree: the names of its unary chain from top to bottom, and its children."""

    chain: tuple[str, ...]
    below: Tree


@dataclass(frozen=True, eq=False, repr=False)
class Grammar:
    """Symbols and weighted rules. Weights are logarithms; after :meth:`learn`, of relative frequencies.

    ``binary`` rules are (parent, left, right), sorted by left, right, parent; ``unary`` rules (top, bottom), and
    ``middles`` the symbols between these two, as names; for a symbol whose only child has the same symbol, this is one
    empty name, to distinguish it from a symbol without a chain. Weights and counts are of the binary rules, then of the
    unary ones.
    """

    symbols: list[str]
    binary: Ints
    unary: Ints
    middles: list[tuple[str, ...]]
    weights: Floats
    counts: Floats

    # ---- learning

    @classmethod
    def learn(cls, trees: Iterable[Tree]) -> Grammar:
        """The grammar of binarised trees, with relative frequencies."""
        spans = [span for tree in trees for span in _spans(tree)]
        if not spans:
            raise CorpusError("there is no tree to learn a grammar from")
        phrases = {name for span in spans for name in span.chain[: -1 if span.below.is_preterminal else None]}
        namer = _Namer(phrases, {span.chain[0] for span in spans if len(span.chain) > 1})
        binary: Counter[tuple[str, str, str]] = Counter()
        unary: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
        for span in spans:
            top, middle, bottom = namer.split(span)
            if top is not None:
                unary[top, bottom, middle] += 1
            if not span.below.is_preterminal:
                left, right = (namer.top(child) for child in span.below.children if not isinstance(child, str))
                binary[bottom, left, right] += 1
        totals: Counter[str] = Counter()
        for rule, count in [*binary.items(), *unary.items()]:
            totals[rule[0]] += count
        weight = {rule: math.log(count / totals[rule[0]]) for rule, count in [*binary.items(), *unary.items()]}
        return cls.from_rules(
            [(*rule, weight[rule], count) for rule, count in binary.items()],
            [(*rule, weight[rule], count) for rule, count in unary.items()],
        )

    @classmethod
    def from_rules(
        cls,
        binary: Iterable[tuple[str, str, str, float, float]],
        unary: Iterable[tuple[str, str, tuple[str, ...], float, float]],
    ) -> Grammar:
        """A grammar of rules by the names of their symbols, each with its weight and its count."""
        binary, unary = list(binary), list(unary)
        names = {name for rule in binary for name in rule[:3]} | {name for rule in unary for name in rule[:2]} | {TOP}
        symbols = sorted(names)
        number = {name: k for k, name in enumerate(symbols)}
        twos = sorted((number[b], number[c], number[a], weight, count) for a, b, c, weight, count in binary)
        ones = sorted((number[a], number[b], middle, weight, count) for a, b, middle, weight, count in unary)
        return cls(
            symbols,
            np.array([(a, b, c) for b, c, a, _, _ in twos], np.int32).reshape(-1, 3),
            np.array([rule[:2] for rule in ones], np.int32).reshape(-1, 2),
            [rule[2] for rule in ones],
            np.array([rule[3] for rule in [*twos, *ones]], np.float64),
            np.array([rule[4] for rule in [*twos, *ones]], np.float64),
        )

    def with_weights(self, weights: npt.ArrayLike) -> Grammar:
        """The same rules with other weights."""
        other = Grammar(
            self.symbols, self.binary, self.unary, self.middles, np.asarray(weights, np.float64), self.counts
        )
        # tables that depend only on the rules are shared
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name in _OF_RULES})
        return other

    # ---- properties

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return f"<Grammar: {', '.join(f'{count:,} {kind}' for kind, count in self.size.items())}>"

    @property
    def size(self) -> dict[str, int]:
        """The numbers of symbols, by kind, and of rules."""
        return {
            "symbols": len(self.symbols),
            "phrases": sum(not is_intermediate(s) and not s.endswith(BOTTOM) for s in self.symbols) - len(self.tags),
            "bottoms": sum(s.endswith(BOTTOM) and not is_intermediate(s) for s in self.symbols),
            "intermediate": sum(map(is_intermediate, self.symbols)),
            "tags": len(self.tags),
            "binary rules": len(self.binary),
            "unary rules": len(self.unary),
        }

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each symbol."""
        return {name: k for k, name in enumerate(self.symbols)}

    @cached_property
    def tags(self) -> dict[str, int]:
        """The tags: symbols that no rule expands. By name without the mark, and their numbers."""
        expanded = set(self.binary[:, 0].tolist()) | set(self.unary[:, 0].tolist())
        return {name.removesuffix(TAG): k for k, name in enumerate(self.symbols) if k not in expanded and name != TOP}

    @cached_property
    def labels(self) -> list[str | None]:
        """The treebank's label of each symbol; None for intermediate ones and ``TOP``."""
        return [label_of(name) for name in self.symbols]

    @cached_property
    def is_whole(self) -> npt.NDArray[np.bool_]:
        """Which symbols are whole constituents, so that they can cover a sentence without a tree."""
        names = zip(self.labels, self.symbols, strict=True)
        return np.array([label is not None and not name.endswith(BOTTOM) for label, name in names])

    @cached_property
    def rules(self) -> Rules:
        """The rules as arrays for kernels."""
        pairs, rule_at = np.unique(self.binary[:, 1:], axis=0, return_index=True)
        left, left_at = np.unique(pairs[:, 0], return_index=True)
        is_top = np.zeros(len(self.symbols), np.bool_)
        is_top[self.unary[:, 0]] = True
        is_top[self.number[TOP]] = True
        of_parent, of_parent_at = _grouped(self.binary[:, 0], len(self.symbols))
        of_top, of_top_at = _grouped(self.unary[:, 0], len(self.symbols))
        return Rules(
            left.astype(np.int32),
            np.append(left_at, len(pairs)).astype(np.int32),
            np.ascontiguousarray(pairs[:, 1], np.int32),
            np.append(rule_at, len(self.binary)).astype(np.int32),
            np.ascontiguousarray(self.binary),
            np.ascontiguousarray(self.binary[:, 0]),
            np.ascontiguousarray(self.unary),
            of_parent,
            of_parent_at,
            of_top,
            of_top_at,
            is_top,
            self.number[TOP],
            True if 0 < DENSE * len(pairs) <= len(self.binary) else None,
        )

    def weighted(self, lexical: Lexical, weights: npt.NDArray[Any] | None = None) -> Weighted:
        """The grammar for a chart, with its own weights or with others, in their precision."""
        weights, cut = self.weights if weights is None else weights, len(self.binary)
        return Weighted(self.rules, weights[:cut], weights[cut:], lexical)

    @cached_property
    def _numbers_of_rules(self) -> tuple[dict[Any, int], dict[Any, int]]:
        names = self.symbols
        binary = {(names[a], names[b], names[c]): k for k, (a, b, c) in enumerate(self.binary.tolist())}
        ones = zip(self.unary.tolist(), self.middles, strict=True)
        unary = {(names[a], names[b], middle): k for k, ((a, b), middle) in enumerate(ones)}
        return binary, unary

    @cached_property
    def _namer(self) -> _Namer:
        tops = {self.symbols[k] for k in set(self.unary[:, 0].tolist())} | {TOP}
        phrases = {name.removesuffix(TAG) for name in self.symbols if name.endswith(TAG) and not is_intermediate(name)}
        return _Namer(phrases, tops)

    # ---- trees and derivations

    def derivation(self, tree: Tree) -> Ints:
        """The derivation of a binarised tree (see :mod:`treewright.constituency.charts.corpus`)."""
        binary, unary = self._numbers_of_rules
        tags = {self.symbols[k] for k in self.tags.values()}
        nodes, ends = [], []
        for span in _spans(tree):
            top, middle, bottom = self._namer.split(span)
            if span.below.is_preterminal:
                two, children = -1, tuple[str, ...]()
            else:
                children = tuple(self._namer.top(child) for child in span.below.children if not isinstance(child, str))
                two = binary.get((bottom, *children), -2)
            if top is None:  # there is no rule, so there must be no chain
                one = -1 if len(span.chain) == 1 else -2
            else:
                one = unary.get((top, bottom, middle), -2)
            if two == -2 or one == -2:
                what = f"{bottom} -> {' '.join(children)}" if one != -2 and children else " -> ".join(span.chain)
                raise NotInGrammar(f"the grammar has no rule {unescaped(what)}")
            if span.below.is_preterminal and bottom not in tags:
                raise NotInGrammar(f"the grammar has no tag {unescaped(bottom)}")
            nodes.append([self.number[bottom], one, two, 0, 0])
            ends.append(span.below.is_preterminal)
        derivation = np.array(nodes, np.int32).reshape(-1, 5)
        _fill_spans(derivation, ends)
        return derivation

    def tree(self, derivation: npt.ArrayLike, words: Sequence[str]) -> Tree:
        """The treebank's tree of a derivation: original labels, nothing binarised. Without the node ``TOP``."""
        (tree,) = self.trees(derivation, words)
        return tree

    def trees(self, derivations: npt.ArrayLike, words: Sequence[str]) -> list[Tree]:
        """The trees of several derivations, concatenated, that cover the words together."""
        names = self._names_of_rules
        labels = self.labels
        open_labels: list[str] = []
        ends: list[int] = []
        done: list[list[Any]] = [[]]  # the finished children of each open constituent; first, the trees
        for symbol, one, two, start, end in np.asarray(derivations).tolist():
            for label in names[one] if one >= 0 else ():
                open_labels.append(label)
                ends.append(end)
                done.append([])
            if two >= 0:
                if (label := labels[symbol]) is not None:
                    open_labels.append(label)
                    ends.append(end)
                    done.append([])
                continue
            done[-1].append(Tree(labels[symbol] or "", (words[start],)))
            while ends and ends[-1] == end:
                ends.pop()
                node = Tree(open_labels.pop(), tuple(done.pop()))
                done[-1].append(node)
        return done[0]

    @cached_property
    def _names_of_rules(self) -> list[list[str]]:
        """The labels that each unary rule puts above its bottom."""
        found = []
        for (top, bottom), middle in zip(self.unary.tolist(), self.middles, strict=True):
            stays = not middle and self.symbols[bottom] == self.symbols[top] + BOTTOM
            chain = [] if stays else [self.labels[top], *(label_of(name) for name in middle if name)]
            found.append([label for label in chain if label is not None])
        return found

    # ---- files

    def lines(self) -> Iterator[str]:
        """The rules as text, the most frequent of each parent first: rule, count and weight, separated by tabs."""
        twos = [(self.symbols[a], f"{self.symbols[b]} {self.symbols[c]}") for a, b, c in self.binary.tolist()]
        ones = [
            (self.symbols[a], " ".join([*(f"[{name}]" for name in middle), self.symbols[b]]))
            for (a, b), middle in zip(self.unary.tolist(), self.middles, strict=True)
        ]
        for part, offset in ((twos, 0), (ones, len(twos))):
            order = sorted(range(len(part)), key=lambda k: (part[k][0], -self.counts[offset + k], part[k][1]))
            for k in order:
                count = self.counts[offset + k]
                yield f"{part[k][0]} -> {part[k][1]}\t{count:.15g}\t{float(self.weights[offset + k])!r}\n"

    def to_text(self) -> str:
        """All :meth:`lines`."""
        return "".join(self.lines())

    @classmethod
    def from_text(cls, lines: str | Iterable[str], path: str | None = None) -> Grammar:
        """A grammar from the text that :meth:`lines` writes: rule, count and weight on a line."""
        binary, unary = [], []
        seen: set[tuple[str, ...]] = set()
        for number, line in enumerate(lines.splitlines() if isinstance(lines, str) else lines, 1):
            text = line.rstrip("\r\n")
            if not text.strip() or text.startswith("#"):
                continue
            rule, *numbers = text.split("\t")
            parent, _, children = rule.partition(" -> ")
            names = children.split()
            if len(numbers) < 2 or not numbers[1].strip():
                raise CorpusError(
                    f"the rule {rule.strip()!r} has no {'weight' if numbers else 'count and no weight'}; a line is "
                    "PARENT -> CHILD CHILD<TAB>COUNT<TAB>WEIGHT, the weight being the logarithm of the probability",
                    path=path,
                    line=number,
                )
            try:
                count, weight = float(numbers[0]), float(numbers[1])
            except ValueError:
                raise CorpusError(f"not a number: {numbers[0]!r} or {numbers[1]!r}", path=path, line=number) from None
            if not math.isfinite(weight) or not 0.0 <= count < math.inf:
                raise CorpusError(f"not a count and a weight: {numbers[0]}, {numbers[1]}", path=path, line=number)
            middle = tuple(name[1:-1] for name in names if re.fullmatch(r"\[\S*\]", name))
            plain = names[len(middle) :]  # what is in brackets comes first
            if len(parent.split()) != 1 or len(plain) not in (1, 2) or (middle and len(plain) == 2):
                raise CorpusError(f"not a rule with one or two children: {rule!r}", path=path, line=number)
            if any(re.fullmatch(r"\[\S*\]", name) for name in plain):
                raise CorpusError(
                    f"square brackets are for what is between a parent and its child: {rule!r}", path=path, line=number
                )
            if (parent.strip(), *names) in seen:
                raise CorpusError(f"the rule {rule.strip()!r} is there twice", path=path, line=number)
            seen.add((parent.strip(), *names))
            if len(plain) == 2:
                binary.append((parent.strip(), plain[0], plain[1], weight, count))
            else:
                unary.append((parent.strip(), plain[0], middle, weight, count))
        tops, bottoms = {rule[0] for rule in unary}, {rule[1] for rule in unary}
        if both := sorted(tops & bottoms):
            raise CorpusError(
                f"unary rules lead to {both[0]} and from it; write each chain as one rule, with what is between in "
                f"square brackets, and give a symbol that starts chains a bottom form, {both[0]}{BOTTOM}",
                path=path,
            )
        if any(rule[0] == TOP for rule in binary):
            raise CorpusError(
                f"{TOP} has a binary rule; it stands over one tree, so its rules have one child", path=path
            )
        if splitting := sorted(tops & {rule[0] for rule in binary}):
            raise CorpusError(
                f"{splitting[0]} has unary and binary rules; let its binary ones be those of {splitting[0]}{BOTTOM}, "
                f"and add the rule {splitting[0]} -> {splitting[0]}{BOTTOM}",
                path=path,
            )
        if TOP not in tops:
            raise CorpusError(f"no rule expands {TOP}, the root of every tree", path=path)
        return cls.from_rules(binary, unary)

    @classmethod
    def read_text(cls, path: str | os.PathLike[str]) -> Grammar:
        """A grammar from a text file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CorpusError(f"cannot be read: {error}", path=os.fspath(path)) from None
        return cls.from_text(text.split("\n"), os.fspath(path))

    def to_arrays(self) -> dict[str, Any]:
        """The grammar as arrays, for a model file."""
        middles = ["".join(f" {name}" for name in names) for names in self.middles]
        return {
            "binary": self.binary,
            "unary": self.unary,
            "weights": self.weights,
            "counts": self.counts,
            **pack_strings(self.symbols, "symbols"),
            **pack_strings(middles, "middles"),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Grammar:
        """The grammar that :meth:`to_arrays` gave."""
        middles = [tuple(text.split(" ")[1:]) for text in unpack_strings(arrays, "middles")]
        numbers = (np.asarray(arrays[name]) for name in ("binary", "unary"))
        binary, unary = (array.astype(np.int32) for array in numbers)
        return cls(
            unpack_strings(arrays, "symbols"),
            binary,
            unary,
            middles,
            np.asarray(arrays["weights"]),
            np.asarray(arrays["counts"]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the grammar to one file, in the form of model files."""
        write_model(path, task="grammar", config={}, arrays=self.to_arrays(), card={})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Grammar:
        """Read what :meth:`save` wrote."""
        return cls.from_arrays(read_model(path, expect_task="grammar").arrays)

    # ---- coarser grammars

    def projected(self, vertical: int = 1, horizontal: int | None = 0) -> tuple[Grammar, Ints]:
        """A coarser grammar, with relative frequencies of the same counts, and the coarse symbol of each symbol.

        Symbols that differ only in ancestors and siblings beyond the shorter memory become one.
        """

        def coarse(name: str) -> str:
            mark = name[-1] if name[-1] in BOTTOM + TAG and not is_intermediate(name) else ""
            return project(name.removesuffix(mark), vertical, horizontal) + mark

        names, tags = [coarse(name) for name in self.symbols], set(self.tags.values())
        taken = {name for k, name in enumerate(names) if k not in tags or name.endswith(TAG)}
        for k in tags:  # the name of a tag may be that of a phrase, now that phrases have lost their parents
            if {names[k], names[k] + TAG} & taken and not names[k].endswith(TAG):
                names[k] += TAG
        tops = {names[k] for k in self.unary[:, 0].tolist()}
        # a symbol that starts chains for one parent only does so for all, once parents are forgotten
        bottoms = [name + BOTTOM if name in tops and not self.rules.is_top[k] else name for k, name in enumerate(names)]
        binary: Counter[tuple[str, str, str]] = Counter()
        unary: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
        counts = np.where(self.counts > 0.0, self.counts, 1.0)  # they may be unknown for a grammar written by hand
        for (a, b, c), count in zip(self.binary.tolist(), counts, strict=False):
            binary[bottoms[a], names[b], names[c]] += count
        for (a, b), count in zip(self.unary.tolist(), counts[len(self.binary) :], strict=True):
            unary[names[a], bottoms[b], ()] += count
        for k, name in enumerate(names):
            if bottoms[k] != name:  # the rule without a chain is used whenever it is expanded
                stays = counts[: len(self.binary)][self.binary[:, 0] == k].sum()
                unary[name, bottoms[k], ()] += max(stays, 1.0)
        totals: Counter[str] = Counter()
        for rule, count in [*binary.items(), *unary.items()]:
            totals[rule[0]] += count
        grammar = Grammar.from_rules(
            [(*rule, math.log(count / totals[rule[0]]), count) for rule, count in binary.items()],
            [(*rule, math.log(count / totals[rule[0]]), count) for rule, count in unary.items()],
        )
        return grammar, np.array([grammar.number[name] for name in bottoms], np.int32)


def label_of(name: str) -> str | None:
    """The treebank's label of a symbol in any form."""
    if is_intermediate(name):
        return None
    return plain_label(name.rstrip(BOTTOM + TAG))


class _Namer:
    """Names for the forms of symbols."""

    def __init__(self, phrases: set[str], tops: set[str]) -> None:
        self.phrases, self.tops = phrases, tops

    def tag(self, name: str) -> str:
        return name + TAG if name in self.phrases else name

    def top(self, node: Tree) -> str:
        """The symbol in the rule above a node."""
        return self.tag(node.label) if node.is_preterminal else node.label

    def split(self, span: _Span) -> tuple[str | None, tuple[str, ...], str]:
        """The top (None if the symbol never starts chains), the middle and the bottom of a span."""
        chain, is_tag = span.chain, span.below.is_preterminal
        last = self.tag(chain[-1]) if is_tag else chain[-1] + (BOTTOM if chain[-1] in self.tops else "")
        first = None if (is_tag and len(chain) == 1) or chain[0] not in self.tops else chain[0]
        middle = ("",) if len(chain) == 2 and chain[0] == chain[1] else chain[1:-1]
        return first, middle, last


def _spans(tree: Tree) -> Iterator[_Span]:
    """The spans of a binarised tree, parents first and left to right."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if not isinstance(node, Tree):
            raise CorpusError(f"a grammar is learned from trees, made binary by a Markovisation, not from {node!r}")
        if len(node.children) > 2:
            raise CorpusError(
                f"{node.label} has {len(node.children)} children: make trees binary first, as by "
                "Markovisation(2, 1).binarise(tree)"
            )
        chain = [node.label]
        while len(node.children) == 1 and isinstance(node.children[0], Tree):
            node = node.children[0]
            chain.append(node.label)
        yield _Span(tuple(chain), node)
        stack.extend(child for child in reversed(node.children) if isinstance(child, Tree))


def _fill_spans(derivation: Ints, is_word: Sequence[bool]) -> None:
    """Starts and ends of nodes, computed backwards from the words, because parents come first."""
    words = sum(is_word)
    ends: list[int] = []  # a stack of the ends of finished constituents
    at = words
    for k in range(len(is_word) - 1, -1, -1):
        if is_word[k]:
            derivation[k, 3:] = at - 1, at
            ends.append(at)
            at -= 1
        else:
            ends.pop()  # the left child's end: where it splits
            derivation[k, 3:] = at, ends[-1]


def _grouped(key: Ints, groups: int) -> tuple[Ints, Ints]:
    """Numbers ordered by their key, and the offset of each key."""
    order = np.argsort(key, kind="stable").astype(np.int32)
    return order, np.concatenate([[0], np.cumsum(np.bincount(key, minlength=groups))]).astype(np.int32)
