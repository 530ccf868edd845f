"""The start and the goal of the transitions: a normalised dependency tree, and the gold graph as a tree plus edges.

Before parsing (§4.2 of Goodman 2015), punctuation is removed, numbers of several words become one node (*two hundred*),
and dates in digits become three nodes (*25-12-1943*).

>>> from treewright.corpora import Graph, Sentence
>>> sentence = Sentence.from_words("Two hundred stars shone .".split())
>>> sentence = sentence.with_tree([2, 3, 4, 0, 4], ["compound", "nummod", "nsubj", "root", "punct"])
>>> sentence = sentence.with_column("upos", ["NUM", "NUM", "NOUN", "VERB", "PUNCT"])
>>> [(word.form, word.head, word.positions) for word in tree_words(sentence)]
[('Two hundred', 1, (0, 1)), ('stars', 2, (2,)), ('shone', -1, (3,))]

A graph is written as a tree; edges to nodes that have a parent already are further edges:

>>> graph = Graph.from_penman("(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b :polarity -))")
>>> gold = gold_tree(graph)
>>> gold.labels, gold.parents
(['want-01', 'boy', 'go-02', '-'], [-1, 0, 0, 2])
>>> gold.further
[(2, ':ARG0', 1)]
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treewright.amr.alignment import Alignment, Node, heads_of, node_label
from treewright.amr.graphs import listed
from treewright.amr.improved_aligner import jaro
from treewright.amr.wording import number_of
from treewright.corpora.graphs import NOT_INVERSE, Graph
from treewright.corpora.lemmas import plain
from treewright.corpora.types import Sentence, Token
from treewright.errors import CorpusError

__all__ = ["GoldTree", "Word", "gold_tree", "inverse", "map_words", "signs_of", "tree_words"]

_DATE = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})|(\d{2})(\d{2})(\d{2})")
# in the last column, as Stanza writes it
_ENTITY = re.compile(r"(?:^|\|)ner=(?!O(?:\||$))(?:[BIES]-)?([^|]+)", re.IGNORECASE)
_LONGEST_NUMBER = 6
_SPOKEN = "%&@#§"  # Unicode calls them punctuation, but they are read aloud


class Word(NamedTuple):
    """A node of the initial tree; ``head`` is the index of its parent (−1: the root).

    ``number`` is the value of a number; ``entity`` is the kind of named entity, if the file has it (``NER=…``);
    ``stand_in`` is a similar lemma that training has seen, for a lemma that it has not.
    """

    form: str
    lemma: str
    upos: str
    xpos: str
    relation: str
    head: int
    positions: tuple[int, ...]
    number: str | None = None
    entity: str = ""
    stand_in: str = ""


def tree_words(sentence: Sentence, *, punctuation: bool = False) -> list[Word]:
    """The nodes of the initial tree of a sentence with a dependency tree; ``punctuation`` is kept or not."""
    tokens = sentence.tokens
    heads = heads_of(sentence)
    spans = _spans(tokens, heads)
    kept: list[tuple[tuple[int, ...], int]] = []  # the words of a node, and the one that has its place in the tree
    for span in spans:
        inner = [k for k in span if heads[k] not in span]
        kept.append((span, inner[0] if inner else span[0]))
    words_only = [(span, head) for span, head in kept if not _is_punctuation(tokens[head])]
    if words_only and not punctuation:
        kept = words_only
    place = {k: number for number, (span, _) in enumerate(kept) for k in span}
    words: list[Word] = []
    for number, (span, head) in enumerate(kept):
        above = heads[head]
        seen = {head}
        while above >= 0 and (place.get(above, number) == number) and above not in seen:
            seen.add(above)
            above = heads[above]
        token = tokens[head]
        form = " ".join(tokens[k].form for k in span)
        value = number_of([tokens[k].form.lower() for k in span]) if _numeric(token) or len(span) > 1 else None
        words.append(
            Word(
                form,
                plain(token.lemma if token.lemma != "_" else token.form),
                token.upos,
                token.xpos,
                token.deprel,
                place.get(above, -1) if above >= 0 else -1,
                span,
                None if value is None else f"{value:.9f}".rstrip("0").rstrip("."),
                match[1] if (match := _ENTITY.search(token.misc)) else "",
            )
        )
    return _with_dates(_one_root(words))


def signs_of(sentence: Sentence) -> int:
    """The punctuation of a sentence as flags: 1 question, 2 exclamation, 4 quotation."""
    forms = set(sentence.forms)
    return 1 * ("?" in forms) + 2 * ("!" in forms) + 4 * bool(forms & {'"', "``", "''", "“", "”"})


def _one_root(words: list[Word]) -> list[Word]:
    """Attach further roots, which occur if punctuation was the root, to the first one."""
    roots = [k for k, word in enumerate(words) if word.head < 0]
    if len(roots) <= 1:
        return words
    return [word._replace(head=roots[0]) if k in roots[1:] else word for k, word in enumerate(words)]


def _is_punctuation(token: Token) -> bool:
    if token.upos == "PUNCT":
        return True
    return token.upos in ("_", "SYM") and all(
        unicodedata.category(letter)[0] == "P" and letter not in _SPOKEN for letter in token.form
    )


def _numeric(token: Token) -> bool:
    return token.upos == "NUM" or token.xpos == "CD" or token.form[:1].isdigit() or token.xpos == "JJ"


def _spans(tokens: Sequence[Token], heads: Sequence[int]) -> list[tuple[int, ...]]:
    """The words one by one, except that the words of a number are grouped if they are connected in the tree."""
    spans: list[tuple[int, ...]] = []
    k = 0
    while k < len(tokens):
        length = 1
        if tokens[k].upos == "NUM":
            for end in range(min(len(tokens), k + _LONGEST_NUMBER), k + 1, -1):
                span = range(k, end)
                outside = [j for j in span if heads[j] not in span]
                words = [tokens[j].form.lower() for j in span]
                if len(outside) == 1 and tokens[end - 1].upos in ("NUM", "NOUN") and number_of(words) is not None:
                    length = end - k
                    break
        spans.append(tuple(range(k, k + length)))
        k += length
    return spans


def _with_dates(words: list[Word]) -> list[Word]:
    """Split a date in digits into three nodes: day and year below the month."""
    found = list(words)
    for k, word in enumerate(words):
        if match := _DATE.fullmatch(word.form):
            day, month, year = (part for part in match.groups() if part is not None)
            if not (1 <= int(day) <= 31 and 1 <= int(month) <= 12):
                continue
            century = "" if len(year) == 4 else "20" if int(year) < 50 else "19"
            found[k] = word._replace(number=str(int(month)))
            for part, name in ((str(int(day)), "day"), (century + year, "year")):
                found.append(Word(part, "#", "NUM", "CD", name, k, word.positions, part))
    return found


# ---- the gold graph as a target


@dataclass
class GoldTree:
    """A gold graph for the transitions: variables and constants are nodes, and each except the top has a parent.

    ``further`` are the edges outside the tree, in their normal direction; ``graph`` is the graph itself.
    """

    nodes: list[Node]
    labels: list[str]
    parents: list[int]
    roles: list[str]
    further: list[tuple[int, str, int]]
    graph: Graph


def inverse(role: str) -> str:
    """The role of an edge seen from its other end.

    >>> inverse(":ARG0"), inverse(":ARG0-of"), inverse(":consist-of")
    (':ARG0-of', ':ARG0', ':consist-of-of')
    """
    if role.endswith("-of") and role not in NOT_INVERSE:
        return role[: -len("-of")]
    return role + "-of"


def gold_tree(graph: Graph) -> GoldTree:
    """The graph as a tree: each node is below the first node that its edges, in textual order, connect it to."""
    if twice := graph.named_twice():
        raise CorpusError(f"the variable {twice!r} has more than one concept; rename one")
    number: dict[Node, int] = {variable: k for k, variable in enumerate(graph.variables)}
    labels = [concept for _, concept in graph.instances]
    parents, roles = [-1] * len(labels), [""] * len(labels)
    edges = [(number[source], listed(role), number[target]) for source, role, target in graph.edges]
    reached, used = {number[graph.top]}, set[int]()
    while len(reached) < len(labels):
        before = len(reached)
        for k, (source, role, target) in enumerate(edges):
            if source in reached and target not in reached:
                parents[target], roles[target] = source, role
                reached.add(target)
                used.add(k)
            elif target in reached and source not in reached:
                parents[source], roles[source] = target, inverse(role)
                reached.add(source)
                used.add(k)
        if len(reached) == before:
            lost = next(variable for variable, k in number.items() if k not in reached)
            raise CorpusError(f"the node {lost!r} of the graph is not connected with its top")
    further = [edge for k, edge in enumerate(edges) if k not in used and edge[0] != edge[2]]
    nodes: list[Node] = list(graph.variables)
    for triple in graph.attributes:
        if triple[1] != ":wiki":
            nodes.append(triple)
            labels.append(triple[2])
            parents.append(number[triple[0]])
            roles.append(listed(triple[1]))
    return GoldTree(nodes, labels, parents, roles, further, graph)


def map_words(words: Sequence[Word], gold: GoldTree, alignment: Alignment, graph: Graph) -> list[int]:
    """The node of the gold graph for each word (−1: none): the most similar one of those that are aligned with it.

    An alignment may map a word to several nodes, and a node to several words; the result is one to one (§4.6).
    """
    places: dict[int, list[int]] = {}
    for k, word in enumerate(words):
        for position in word.positions:
            places.setdefault(position, []).append(k)
    numbers = {node: k for k, node in enumerate(gold.nodes)}
    pairs: list[tuple[float, int, int]] = []
    for node, positions in alignment.items():
        at = numbers.get(node)
        if at is None:
            continue
        text = re.sub(r"-\d+$", "", node_label(graph, node) if isinstance(node, str) else node[2]).strip('"').lower()
        for k in {k for position in positions for k in places.get(position, ())}:
            word = words[k]
            similar = max(jaro(text, word.lemma), jaro(text, word.form.lower()), float(text == word.number))
            deep = sum(1 for _ in _ancestors(words, k))
            pairs.append((-similar - 0.001 / (1 + deep), at, k))
    found = [-1] * len(words)
    taken: set[int] = set()
    for _, node_number, k in sorted(pairs):
        if found[k] < 0 and node_number not in taken:
            found[k] = node_number
            taken.add(node_number)
    return found


def _ancestors(words: Sequence[Word], k: int) -> list[int]:
    found: list[int] = []
    while words[k].head >= 0 and len(found) <= len(words):
        k = words[k].head
        found.append(k)
    return found
