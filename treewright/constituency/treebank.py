"""Treebanks of constituency trees for parsers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from treewright.constituency.grammar.binarisation import Markovisation
from treewright.corpora import Sentence, Tree
from treewright.corpora.brackets import clean_tree
from treewright.errors import CorpusError
from treewright.estimators import Corpus, corpus_error, read_corpus

__all__ = ["Treebank", "as_in_treebank", "binarised", "clean_trees", "learn_treebank", "read_treebank"]

# brackets as the Penn Treebank writes them, for words that come from elsewhere
_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_ADVICE = "treewright.corpora.brackets.parse_ptb makes some from lines in brackets"


class Treebank(NamedTuple):
    """Training sentences with their trees."""

    sentences: list[Sentence]
    trees: list[Tree]
    """Without traces and functions."""
    binary: list[Tree]
    """These, made binary."""
    top: str | None
    """The label above most whole trees, which cleaning removes; None if there is none."""
    cover: str
    """The most frequent label of whole sentences."""


def learn_treebank(corpus: Corpus, markovisation: Markovisation, max_length: int | None) -> Treebank:
    """Return the treebank of a corpus, without sentences of more than ``max_length`` words."""
    sentences = read_treebank(corpus, max_length)
    trees = clean_trees(sentences)
    tops = Counter(map(_top_label, sentences, trees))
    labels = Counter(tree.label for tree in trees if not tree.is_preterminal)
    cover = labels.most_common(1)[0][0] if labels else trees[0].label
    return Treebank(sentences, trees, binarised(markovisation, trees, sentences), tops.most_common(1)[0][0], cover)


def read_treebank(corpus: Corpus, max_length: int | None = None) -> list[Sentence]:
    """Return the sentences that have words, but no more than ``max_length``; all must have trees."""
    sentences = read_corpus(corpus, advice=_ADVICE)
    for number, sentence in enumerate(sentences, 1):
        if sentence.tree is None:
            message = "this sentence has no constituency tree; give a treebank in brackets (.ptb, .mrg)"
            raise corpus_error(message, sentence, number)
    some = [s for s in sentences if len(s) > 0 or (s.tree is not None and clean_tree(s.tree) is not None)]
    if not some:
        raise CorpusError("there are no words in it, only traces", path=sentences[0].path)
    short = [s for s in some if max_length is None or len(s) <= max_length]
    if not short:
        raise CorpusError(
            f"no sentence has {max_length} words or fewer: the shortest has {min(map(len, some))}; "
            "raise max_length, or leave it out",
            path=sentences[0].path,
        )
    return short


def clean_trees(sentences: Iterable[Sentence]) -> list[Tree]:
    """Return the trees of sentences without traces and functions; they must have the words of their sentences."""
    trees = []
    for number, sentence in enumerate(sentences, 1):
        tree = None if sentence.tree is None else clean_tree(sentence.tree)
        if tree is None:
            raise corpus_error("this tree has no words", sentence, number)
        if (leaves := tree.leaves()) != sentence.forms:
            other = next((x, y) for x, y in zip_longest(leaves, sentence.forms) if x != y)
            message = (
                f"the words of this tree are not those of its sentence: where it has {other[0]!r}, the tokens have "
                f"{other[1]!r}. Make both of the same words"
            )
            raise corpus_error(message, sentence, number)
        trees.append(tree)
    return trees


def binarised(markovisation: Markovisation, trees: Sequence[Tree], sentences: Sequence[Sentence]) -> list[Tree]:
    """Return clean trees made binary; errors name the sentence."""
    binary = []
    for number, (tree, sentence) in enumerate(zip(trees, sentences, strict=True), 1):
        try:
            binary.append(markovisation.binarise(tree))
        except CorpusError as error:
            raise corpus_error(str(error), sentence, number) from None
    return binary


def as_in_treebank(words: list[str], knows: Callable[[str], bool]) -> list[str]:
    """Return words with brackets escaped as in the treebank."""
    return [_BRACKETS[w] if w in _BRACKETS and not knows(w) and knows(_BRACKETS[w]) else w for w in words]


def _top_label(sentence: Sentence, cleaned: Tree) -> str | None:
    """The label that cleaning removes above a tree; None if it removes none."""
    kept = None if sentence.tree is None else clean_tree(sentence.tree, top=False)
    return None if kept is None or kept == cleaned else kept.label
