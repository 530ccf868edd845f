"""Checks that the layers of a sentence are well-formed and consistent."""

from __future__ import annotations

from treewright.corpora.graphs import Graph
from treewright.corpora.trees import Tree
from treewright.corpora.types import Sentence
from treewright.errors import CorpusError

__all__ = ["validate_sentence"]


def validate_sentence(sentence: Sentence) -> None:
    """Raise :class:`~treewright.errors.CorpusError` unless all four layers exist, are well-formed and consistent.

    * the tree's leaves are the tokens, its preterminals their ``xpos``;
    * the dependencies are one projective tree with one root;
    * exactly one token of each constituent has its head outside the constituent;
    * the graph is well-formed, each of its concepts is aligned to tokens of the sentence or to a named
      construction, and its PENMAN text reads back as the same triples.

    >>> from treewright.corpora.builtin import generate
    >>> validate_sentence(generate(1)[0])
    """
    if sentence.tree is None or sentence.graph is None:
        raise CorpusError(f"a layer is missing: {'tree' if sentence.tree is None else 'graph'}")
    for column in ("lemma", "upos", "xpos", "deprel"):
        if "_" in sentence.column(column):
            raise CorpusError(f"a token has no {column}: {sentence}")
    heads = _dependencies(sentence)
    _constituents(sentence, sentence.tree, heads)
    _concepts(sentence, sentence.graph)


def _dependencies(sentence: Sentence) -> list[int]:
    """Check the dependency tree; return the head of each token, counted from 0, and -1 for the root."""
    size = len(sentence)
    heads: list[int] = []
    for position, token in enumerate(sentence, 1):
        if token.head is None or not 0 <= token.head <= size:
            raise CorpusError(f"token {position} ({token.form!r}) has the head {token.head}, of {size} tokens")
        if (token.head == 0) != (token.deprel == "root"):
            raise CorpusError(f"token {position} ({token.form!r}) has head {token.head} as {token.deprel!r}")
        heads.append(token.head - 1)
    if heads.count(-1) != 1:
        raise CorpusError(f"{heads.count(-1)} roots in: {sentence}")
    for position in range(size):
        above, steps = heads[position], 0
        while above >= 0:
            above, steps = heads[above], steps + 1
            if steps > size:
                raise CorpusError(f"token {position + 1} is in a cycle of heads: {sentence}")
    arcs = [(min(head, position), max(head, position)) for position, head in enumerate(heads)]
    for left, right in arcs:
        for start, end in arcs:
            if left < start < right < end:
                raise CorpusError(f"arcs {left + 1}-{right + 1} and {start + 1}-{end + 1} cross: {sentence}")
    return heads


def _constituents(sentence: Sentence, tree: Tree, heads: list[int]) -> None:
    if tree.leaves() != sentence.forms:
        raise CorpusError(f"the leaves of the tree are not the tokens: {tree}")
    if tree.tags() != sentence.column("xpos"):
        raise CorpusError(f"the preterminals of the tree are not the xpos of the tokens: {tree}")
    for label, start, end in tree.spans():
        outside = [position for position in range(start, end) if not start <= heads[position] < end]
        if len(outside) != 1:
            words = " ".join(sentence.forms[start:end])
            raise CorpusError(f"{len(outside)} tokens of ({label} {words}) have their head outside, not one")


def _concepts(sentence: Sentence, graph: Graph) -> None:
    graph.validate()
    for variable, concept in graph.instances:
        alignment = graph.alignments.get(variable)
        if not alignment:
            raise CorpusError(f"the concept {concept!r} is not aligned: {sentence}")
        if not isinstance(alignment, str) and not all(0 <= at < len(sentence) for at in alignment):
            raise CorpusError(f"the concept {concept!r} is aligned to {alignment}, of {len(sentence)} tokens")
    if set(Graph.from_penman(graph.to_penman()).triples()) != set(graph.triples()):
        raise CorpusError(f"the graph does not survive PENMAN notation: {sentence}")
