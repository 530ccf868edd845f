"""The improved aligner of Goodman (2015, §4.7): words close to each other in the tree have nodes close in the graph.

In *NATO considers cyber attacks a threat to military networks* there may be two nodes ``military``: one modifies NATO,
the other networks. A greedy aligner chooses the first. :func:`improved_mapping` (Algorithm 4) first maps words to nodes
by their letters, and then three times by letters and neighbours together. It maps each word to at most one node, and
only if the letters are similar. The rules (:mod:`treewright.amr.rule_aligner`) align the remaining nodes.

>>> from treewright.corpora import Graph, Sentence
>>> graph = Graph.from_penman('''
...     (t / threaten-01
...        :ARG0 (o / organization :mod (m / military) :name (n / name :op1 "NATO"))
...        :ARG1 (w / network :mod (m2 / military)))
... ''')
>>> sentence = Sentence.from_words("NATO threatens military networks".split())
>>> sentence = sentence.with_tree([2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
>>> improved_mapping(PartialAlignment(Sentence(sentence.tokens, graph=graph), {}))
{0: ('n', ':op1', '"NATO"'), 1: 't', 2: 'm2', 3: 'w'}
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from treewright.amr.alignment import Node
from treewright.amr.rule_aligner import RULES, PartialAlignment, apply_rules
from treewright.corpora.lemmas import plain
from treewright.corpora.types import Sentence
from treewright.errors import CorpusError

__all__ = ["ImprovedAligner", "improved_mapping", "jaro"]

_SIMILAR = 0.75  # the least Jaro similarity of a word and a concept that may belong together
_ROUNDS = 3

_FIRST = dict(takewhile(lambda rule: rule[0] != "Only Concept", RULES.items()))

Pair = tuple[int, Node]


def jaro(one: str, two: str) -> float:
    """The similarity of two strings, from 0 to 1 (Jaro 1989).

    >>> round(jaro("martha", "marhta"), 3), jaro("dog", "dog"), jaro("cat", "dog")
    (0.944, 1.0, 0.0)
    """
    reach = max(len(one), len(two)) // 2 - 1
    free = [True] * len(two)
    places = []  # of the letters of one in two
    for k, letter in enumerate(one):
        for m in range(max(0, k - reach), min(len(two), k + reach + 1)):
            if free[m] and two[m] == letter:
                free[m] = False
                places.append((k, m))
                break
    if one == two or not places:
        return float(one == two)
    common = len(places)
    in_order = zip(places, sorted(m for _, m in places), strict=True)
    transposed = sum(one[k] != two[m] for (k, _), m in in_order) / 2
    return (common / len(one) + common / len(two) + (common - transposed) / common) / 3


def improved_mapping(at: PartialAlignment) -> dict[int, Node]:
    """Words and the nodes that they are mapped to, by Algorithm 4.

    Equation 4.2 multiplies by √d, where d is the number of nodes with the same concept, but the text says that a
    concept that occurs once should count more, so here √d is a divisor. A neighbour that is mapped to the node itself
    is ignored.
    """
    known = {word: node for node, words in at.words.items() for word in words}
    similarities = _similarities(at)
    duplicates = Counter(at.labels.values())
    distances = {node: at.distances(node) for _, node in similarities}
    neighbours = _tree_neighbours(at)
    mapping = _greedy(similarities)
    for _ in range(_ROUNDS):
        scores = {}
        for (word, node), j in similarities.items():
            mapped = [mapping.get(other) or known.get(other) for other in neighbours[word]]
            steps = [distances[node][other] for other in mapped if other in distances[node] and other != node]
            near = 1 + 10 / (sum(steps) / len(steps)) if steps else 1.0  # eq. 4.1: TS is the mean distance
            scores[word, node] = near * (1 + 10 * j**3 / math.sqrt(duplicates[at.labels[node]]))
        mapping = _greedy(scores)
    return mapping


def _similarities(at: PartialAlignment) -> dict[Pair, float]:
    """The Jaro similarity of each free word and node that are similar enough to belong together."""
    taken = at.taken()
    words = [k for k, form in enumerate(at.forms) if k not in taken and any(map(str.isalnum, form))]
    found = {}
    for node in [node for node in at.nodes if node not in at.words]:
        label = plain(at.labels[node])
        for word in words:
            similarity = max(jaro(reading, label) for reading in at.readings[word])
            # one letter is in most words, so that "a" and "name" would be similar
            if similarity == 1 or (similarity >= _SIMILAR and len(at.forms[word]) > 1):
                found[word, node] = similarity
    return found


def _tree_neighbours(at: PartialAlignment) -> list[list[int]]:
    """Head and dependents of each word."""
    neighbours: list[list[int]] = [[] for _ in at.tokens]
    for word, token in enumerate(at.tokens):
        if token.head:
            neighbours[word].append(token.head - 1)
            neighbours[token.head - 1].append(word)
    return neighbours


def _greedy(scores: Mapping[Pair, float]) -> dict[int, Node]:
    """Choose pairs in order of similarity, each word and each node once; among equal ones the first."""
    mapping: dict[int, Node] = {}
    taken: set[Node] = set()
    for word, node in sorted(scores, key=lambda pair: -scores[pair]):
        if word not in mapping and node not in taken:
            mapping[word] = node
            taken.add(node)
    return dict(sorted(mapping.items()))


@dataclass(frozen=True)
class ImprovedAligner:
    """Aligns by Algorithm 4, and the remaining nodes by rules. The sentence must have a dependency tree."""

    verbalisations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: bool = True
    """Whether rules align the nodes that Algorithm 4 leaves."""

    def align(self, sentence: Sentence) -> dict[Node, tuple[int, ...]]:
        """The alignment, in the order of the nodes."""
        at = PartialAlignment(sentence, self.verbalisations)
        if any(token.head is None for token in sentence):
            message = "the improved aligner needs the dependency tree of the sentence; give it, or align by rules"
            raise CorpusError(message, path=sentence.path, line=sentence.line)
        if self.rules:
            apply_rules(at, _FIRST)
        at.words.update({node: (word,) for word, node in improved_mapping(at).items()})
        if self.rules:
            apply_rules(at, RULES)
        return {node: at.words[node] for node in at.nodes if node in at.words}
