"""The base class of constituency parsers: annotation, scores, and trees for sentences of any length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.constituency.grammar.pcfg import Grammar
from treewright.constituency.scores import (
    ConstituencyScores,
    compare_constituents,
    count_constituents,
    score_constituents,
)
from treewright.constituency.treebank import clean_trees, read_treebank
from treewright.corpora import Sentence, Tree
from treewright.estimators import Corpus, Estimator, Input
from treewright.metrics import Comparison
from treewright.settings import whole_number

__all__ = ["Analysis", "ConstituencyEstimator", "Derivation", "Pieces", "repeats"]

Shorts = npt.NDArray[np.int32]


class Pieces(NamedTuple):
    """Sentences as arrays for kernels: pieces of words whose charts fit into the memory."""

    words: list[list[str]]
    rows: Shorts  # of the lexicon, for all words
    at: npt.NDArray[np.int64]  # the offset of each piece
    of: list[int]  # the sentence of each piece

    @property
    def each_rows(self) -> list[Shorts]:
        """The rows of each piece."""
        return [self.rows[first:last] for first, last in pairwise(self.at.tolist())]


class Derivation(NamedTuple):
    """The result for a piece."""

    nodes: Shorts
    covered: bool
    """Whether the grammar has no tree for it, so that these are derivations of its parts."""
    pops: int = 0
    pushes: int = 0


class _Parse(NamedTuple):
    """The result for a sentence; without a tree if it has no words."""

    tree: Tree | None
    covered: bool
    pops: int
    pushes: int
    nodes: Shorts | None
    """The derivation, if it is one: None if the sentence was parsed in parts."""


class Analysis(NamedTuple):
    """A parsed sentence, and statistics of parsing it."""

    sentence: Sentence
    covered: bool
    """Whether the grammar has no tree for it, or it was parsed in parts: then constituents that cover it are joined."""
    pops: int = 0
    """The number of constituents that an agenda popped."""
    pushes: int = 0
    """The number of constituents that an agenda built, including repeated ones."""


class ConstituencyEstimator(Estimator[ConstituencyScores]):
    """An estimator that finds constituency trees.

    A subclass has ``_derivations``, which returns the derivation of each piece of words; ``_rows``, which returns the
    rows of the lexicon for the words of a sentence; and ``_longest``, the number of words whose charts fit into the
    memory.
    """

    annotates: ClassVar[str] = "constituency"
    _batch_size: ClassVar[int] = 4_000

    seed: int
    grammar_: Grammar
    top_: str | None
    """The label above whole trees in the treebank, which is added to parsed trees; None if there is none."""
    cover_: str
    """The label over the pieces of a sentence without a tree."""

    parse = Estimator.predict

    def analyse(self, sentences: Input, *, jobs: int = 1) -> list[Analysis]:
        """Parse sentences as :meth:`predict` does, and report for each whether the grammar has a tree for it."""
        self._check_fitted()
        found = self._decoded(self._batches(sentences), whole_number("jobs", jobs, 1))
        return [
            Analysis(self._with_tree(sentence, parse.tree), parse.covered, parse.pops, parse.pushes)
            for batch, parses in found
            for sentence, parse in zip(batch, parses, strict=True)
        ]

    def evaluate(
        self, corpus: Corpus, *, rules: str = "evalb", max_length: int | None = None, jobs: int = 1
    ) -> ConstituencyScores:
        """Parse a treebank and score the trees by the rules of EVALB, or of the paper with ``rules="parseval"``.

        Only sentences of up to ``max_length`` words are scored; the setting of the same name applies to training.
        """
        self._check_fitted()
        gold = read_treebank(corpus, None if max_length is None else whole_number("max_length", max_length, 1))
        clean_trees(gold)  # raise errors before parsing, not after
        return self._score(gold, self.predict(gold, jobs=jobs), rules=rules)

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        gold = read_treebank(corpus)
        clean_trees(gold)
        return gold

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> ConstituencyScores:
        return score_constituents(gold, predicted, seed=self.seed, **options)

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        return compare_constituents(gold, a, b, **options)

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        return count_constituents(gold, predicted, **options)

    # ---- parsing

    def _derivations(self, pieces: Pieces, jobs: int) -> Iterable[Derivation]:
        raise NotImplementedError

    def _rows(self, words: list[str], tags: Sequence[str]) -> Shorts:
        raise NotImplementedError

    def _longest(self, bytes_each: int | None = None) -> int:
        raise NotImplementedError

    def _anchored(self, rows: Shorts) -> npt.NDArray[np.float32] | None:
        """The rewards of the constituents of a sentence, in the layout of a chart; None if there are none."""
        return None

    def _given_tags(self, sentence: Sentence) -> tuple[str, ...]:
        """The given tags of a sentence, if the parser does not choose them."""
        return ()

    def _decode(self, batch: Sequence[Sentence], jobs: int) -> list[_Parse]:
        pieces = self._pieces(batch)
        trees: list[list[Tree]] = [[] for _ in batch]
        nodes: list[Shorts | None] = [None] * len(batch)
        covered, counts = [False] * len(batch), np.zeros((len(batch), 2), np.int64)
        for piece, found in enumerate(self._derivations(pieces, jobs)):
            i = pieces.of[piece]
            trees[i].extend(self.grammar_.trees(found.nodes, pieces.words[piece]))
            nodes[i] = found.nodes
            covered[i] = covered[i] or found.covered
            counts[i] += found.pops, found.pushes
        parses = []
        for each, own, is_covered, (pops, pushes) in zip(trees, nodes, covered, counts.tolist(), strict=True):
            in_parts = is_covered or len(each) > 1
            tree = Tree(self.cover_, tuple(each)) if in_parts and each else each[0] if each else None
            parses.append(_Parse(tree, in_parts, pops, pushes, None if in_parts else own))
        return parses

    def _trees(self, sentences: Sequence[Sentence], jobs: int) -> list[Tree | None]:
        """The tree of each sentence, without the node above it; None where there are no words."""
        return [parse.tree for parse in self._decode(sentences, jobs)]

    def _annotate(self, batch: list[Sentence], found: list[_Parse]) -> Iterator[Sentence]:
        for sentence, parse in zip(batch, found, strict=True):
            yield self._with_tree(sentence, parse.tree)

    def _with_tree(self, sentence: Sentence, tree: Tree | None) -> Sentence:
        """The sentence with a tree, and with the tree's tags if it has none."""
        if tree is None:
            return sentence
        tokens = sentence.tokens
        if any(token.xpos == "_" for token in tokens):
            tokens = tuple(
                token if token.xpos != "_" else token._replace(xpos=tag)
                for token, tag in zip(tokens, tree.tags(), strict=True)
            )
        return replace(sentence, tokens=tokens, tree=self._topped(tree))

    def _topped(self, tree: Tree) -> Tree:
        """The tree below the label that the treebank has above whole trees."""
        return tree if self.top_ is None or tree.label == self.top_ else Tree(self.top_, (tree,))

    def _pieces(self, sentences: Sequence[Sentence]) -> Pieces:
        longest = self._longest()
        pieces, rows, of = [], [np.zeros(0, np.int32)], []
        for i, sentence in enumerate(sentences):
            words = list(sentence.forms)
            if words:
                rows.append(self._rows(words, self._given_tags(sentence)))
            for first in range(0, len(words), longest):
                pieces.append(words[first : first + longest])
                of.append(i)
        return Pieces(pieces, np.concatenate(rows), np.cumsum([0, *map(len, pieces)], dtype=np.int64), of)


def repeats(tree: Tree) -> bool:
    """Whether a constituent has a single child of the same label."""
    stack = [tree]
    while stack:
        node = stack.pop()
        below = [child for child in node.children if isinstance(child, Tree)]
        if len(node.children) == 1 and below and below[0].label == node.label and not node.is_preterminal:
            return True
        stack += below
    return False
