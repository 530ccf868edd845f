"""Alignments of the nodes of a graph with the words of its sentence.

A *node* is a variable, or an attribute as its triple; the value of a ``:wiki`` comes from no word. An alignment maps
nodes to the positions of their words, counted from 0. A node without a word is not in it.

>>> from treewright.corpora import Graph
>>> graph = Graph.from_penman('(s / sleep-01 :polarity - :ARG0 (b / boy :wiki -))')
>>> nodes_of(graph)
('s', 'b', ('s', ':polarity', '-'))
>>> gold = {"s": (4,), "b": (1,), ("s", ":polarity", "-"): (3,)}  # The boy does not sleep
>>> score_alignments([gold], [{"s": (4,), "b": (0,)}])
AlignmentScores(right=1, exact=1, predicted=2, gold=3)

:func:`read_gold_alignments` reads manual alignments.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from treewright.corpora.amr import metadata
from treewright.corpora.files import Source, source_name, text_lines
from treewright.corpora.graphs import Graph, Triple
from treewright.corpora.types import Sentence
from treewright.errors import CorpusError

__all__ = [
    "Aligner",
    "Alignment",
    "AlignmentScores",
    "Node",
    "graph_of",
    "heads_of",
    "join_trees",
    "node_label",
    "nodes_of",
    "read_gold_alignments",
    "score_alignments",
    "with_alignment",
]

Node = str | Triple
"""A variable, or an attribute as its triple."""

Alignment = Mapping[Node, tuple[int, ...]]
"""Nodes, and the positions of their words in rising order."""


class Aligner(Protocol):
    """An object that aligns a graph with its words."""

    def align(self, sentence: Sentence) -> dict[Node, tuple[int, ...]]:
        """An alignment of the words and the graph of a sentence."""
        ...


def graph_of(sentence: Sentence) -> Graph:
    """The graph of a sentence for alignment; the sentence must also have words."""
    if sentence.graph is None or not len(sentence):
        missing = "a graph" if sentence.graph is None else "words: write them in a comment, # ::snt …"
        raise CorpusError(f"cannot be aligned without {missing}", path=sentence.path, line=sentence.line)
    return sentence.graph


def nodes_of(graph: Graph) -> tuple[Node, ...]:
    """The nodes that come from words: variables, then attributes, each in the order of the graph."""
    return (*graph.variables, *(attribute for attribute in graph.attributes if attribute[1] != ":wiki"))


def node_label(graph: Graph, node: Node) -> str:
    """The label of a node: a concept, or a role and its constant.

    >>> graph = Graph.from_penman("(d / dog :quant 2)")
    >>> [node_label(graph, node) for node in nodes_of(graph)]
    ['dog', ':quant 2']
    """
    return dict(graph.instances)[node] if isinstance(node, str) else f"{node[1]} {node[2]}"


def with_alignment(sentence: Sentence, alignment: Alignment) -> Sentence:
    """The sentence with the alignment of its variables kept in its graph."""
    variables = {node: words for node, words in alignment.items() if isinstance(node, str)}
    return replace(sentence, graph=replace(graph_of(sentence), alignments=variables))


# ---- scores of alignments


@dataclass(frozen=True, slots=True)
class AlignmentScores:
    """The numbers of correctly aligned nodes, of aligned nodes, and of gold nodes.

    A node is correct if all its words are words of the gold node, and ``exact`` if they are the same. The choice among
    the words of a phrase such as *little by little* is arbitrary, so precision and recall count correct nodes.
    """

    right: int
    exact: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of the aligned nodes that are correct."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the nodes aligned in the gold standard that are correct."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / (self.predicted + self.gold) if self.predicted + self.gold else 0.0

    @property
    def exact_f1(self) -> float:
        """The harmonic mean for nodes with exactly the words of the gold node."""
        return 2 * self.exact / (self.predicted + self.gold) if self.predicted + self.gold else 0.0

    def to_dict(self) -> dict[str, float]:
        """All scores and counts by name."""
        names = ("precision", "recall", "f1", "exact_f1", "right", "exact", "predicted", "gold")
        return {name: getattr(self, name) for name in names}


def score_alignments(gold: Iterable[Alignment], predicted: Iterable[Alignment]) -> AlignmentScores:
    """Compare each gold alignment with the predicted alignment at the same position."""
    right = exact = of_predicted = of_gold = 0
    for golden, guessed in zip(gold, predicted, strict=True):
        of_gold += len(golden)
        of_predicted += len(guessed)
        for node, words in guessed.items():
            right += set(words) <= set(golden.get(node, ()))
            exact += set(words) == set(golden.get(node, ()))
    return AlignmentScores(right, exact, of_predicted, of_gold)


# ---- trees of the same sentences


def join_trees(graphs: Iterable[Sentence], trees: Iterable[Sentence]) -> list[Sentence]:
    """Replace the words of sentences with graphs by those of their trees, with lemmas, tags and heads.

    Graphs and trees are matched by ``::id`` and ``sent_id`` if all have them, and otherwise by their order.
    """
    graphs, trees = list(graphs), list(trees)
    names, tree_names = [metadata(sentence).get("id") for sentence in graphs], [_sent_id(tree) for tree in trees]
    if None in names or None in tree_names:
        if len(graphs) != len(trees):
            where = trees[0].path if trees else None
            raise CorpusError(f"{len(trees):,} trees for {len(graphs):,} graphs: give one for each", path=where)
        return [_joined(sentence, tree) for sentence, tree in zip(graphs, trees, strict=True)]
    found: dict[str | None, Sentence] = {}
    for name, tree in zip(tree_names, trees, strict=True):
        if name in found:
            raise CorpusError(f"another tree has the same id {name!r}", path=tree.path, line=tree.line)
        found[name] = tree
    joined = []
    for name, sentence in zip(names, graphs, strict=True):
        if name not in found:
            raise CorpusError(f"there is no tree with the id {name!r}", path=sentence.path, line=sentence.line)
        joined.append(_joined(sentence, found[name]))
    return joined


def _sent_id(tree: Sentence) -> str | None:
    for comment in tree.comments:
        key, _, value = comment.lstrip("#").partition("=")
        if key.strip() == "sent_id":
            return value.strip()
    return None


def _joined(sentence: Sentence, tree: Sentence) -> Sentence:
    words, others = sentence.forms, tree.forms
    if words and words != others:
        at = next((k for k, (one, two) in enumerate(zip(words, others, strict=False)) if one != two), None)
        what = (
            f"it has {len(others)} words, and its graph's sentence {len(words)}"
            if at is None
            else f"word {at + 1} is {others[at]!r}, and {words[at]!r} in the sentence of its graph"
        )
        raise CorpusError(f"not the tree of the same sentence: {what}", path=tree.path, line=tree.line)
    heads_of(tree)  # raises an error that names the file of the tree
    return replace(sentence, tokens=tree.tokens)


def heads_of(sentence: Sentence) -> list[int]:
    """The heads, counted from 0; −1 for the root. Without a tree, the head of each word is the word before it."""
    if any(token.head is None for token in sentence.tokens):
        return list(range(-1, len(sentence) - 1))
    heads = [int(token.head or 0) - 1 for token in sentence.tokens]
    for k, head in enumerate(heads):
        if head >= len(heads):
            message = f"the head of word {k + 1} is word {head + 1}, but the sentence has {len(heads)} word(s)"
            raise CorpusError(message, path=sentence.path, line=sentence.line)
    for k, head in enumerate(heads):
        steps = 0
        while head >= 0 and steps <= len(heads):
            head, steps = heads[head], steps + 1
        if steps > len(heads):
            message = f"the heads of word {k + 1} form a cycle; correct one of them"
            raise CorpusError(message, path=sentence.path, line=sentence.line)
    return heads


# ---- manual alignments


def read_gold_alignments(source: Source, corpora: Iterable[Source]) -> dict[str, dict[Node, tuple[int, ...]]]:
    """Manual alignments, by the ids of sentences.

    The format is that of the files ``…subgraph…json`` of `LEAMR <https://github.com/ablodge/leamr>`_.
    They identify nodes by their position in the text: ``1`` is the top, ``1.2`` the target of its second role. So the
    files of graphs are required as well.
    """
    name = source_name(source)
    aligned = _subgraphs(source)
    places: dict[str, dict[str, Node]] = {}
    for corpus in corpora:
        for id, text in _texts(corpus):
            if id in aligned:
                places[id] = _places(id, text, source_name(corpus))
    found: dict[str, dict[Node, tuple[int, ...]]] = {}
    for id, subgraphs in aligned.items():
        if id not in places:
            raise CorpusError(f"there is no graph with the id {id!r}: name the file that has it, too", path=name)
        words: dict[Node, set[int]] = {}
        for subgraph in subgraphs:
            for place in subgraph["nodes"]:
                if place not in places[id]:
                    raise CorpusError(f"the graph {id!r} has no node {place}; is it another version?", path=name)
                words.setdefault(places[id][place], set()).update(subgraph["tokens"])
        found[id] = {node: tuple(sorted(at)) for node, at in words.items()}
    return found


def _subgraphs(source: Source) -> dict[str, Any]:
    name = source_name(source)
    try:
        found = json.loads("\n".join(text_lines(source)))
    except json.JSONDecodeError as error:
        raise CorpusError(f"not a file of alignments in JSON: {error.msg}", path=name, line=error.lineno) from None
    entries = list(found.values()) if isinstance(found, dict) else None
    if entries is None or not all(isinstance(one, list) and all(map(_is_subgraph, one)) for one in entries):
        raise CorpusError(
            'not a file of alignments: {"id": [{"tokens": [0], "nodes": ["1"]}, …], …} expected', path=name
        )
    return dict(found)


def _is_subgraph(value: Any) -> bool:
    """Whether a value is ``{"tokens": [0], "nodes": ["1"]}``, perhaps with more keys."""
    kinds = {"tokens": int, "nodes": str}
    return isinstance(value, dict) and all(
        isinstance(value.get(key), list) and all(isinstance(item, kind) for item in value[key])
        for key, kind in kinds.items()
    )


def _texts(corpus: Source) -> Iterator[tuple[str, str]]:
    """The graphs of a file as they are written, with their ids."""
    for block in "\n".join(text_lines(corpus)).split("\n\n"):
        comments = [line for line in block.split("\n") if line.startswith("#")]
        if (id := metadata(Sentence((), tuple(comments))).get("id")) is not None:
            yield id, block


def _places(id: str, text: str, path: str) -> dict[str, Node]:
    """The positions of the nodes of a graph in its text."""
    import penman
    from penman.exceptions import PenmanError

    try:
        tree = penman.parse(text)
    except PenmanError:
        raise CorpusError(f"the graph {id!r} is not in PENMAN notation", path=path) from None
    places: dict[str, Node] = {}

    def walk(node: Any, place: str) -> None:
        variable, branches = node
        places[place] = variable
        for k, (role, target) in enumerate((branch for branch in branches if branch[0] != "/"), 1):
            if isinstance(target, tuple):
                walk(target, f"{place}.{k}")
            else:
                places[f"{place}.{k}"] = (variable, role, target)

    walk(tree.node, "1")
    return places
