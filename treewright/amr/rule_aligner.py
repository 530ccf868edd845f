"""A rule-based aligner, after that of JAMR (Flanigan et al. 2014), which Goodman (2015) builds on.

The :data:`RULES` are applied in order, each to every node that has no words yet. The first rules inspect words: names,
dates, numbers, negation, words that have the letters of a concept or begin with them. The other rules inspect
neighbours: in *China*, the ``country`` and its ``name`` have the word of ``"China"``; in *strikers*, the ``person`` has
the word of ``strike-01``.

>>> from treewright.corpora import Graph, Sentence
>>> graph = Graph.from_penman('''
...     (b / bark-01 :polarity -
...        :ARG0 (d / dog :quant 2)
...        :location (c / country :name (n / name :op1 "New" :op2 "Zealand")))
... ''')
>>> sentence = Sentence(Sentence.from_words("Two dogs do n't bark in New Zealand .".split()).tokens, graph=graph)
>>> for node, words in RuleAligner().align(sentence).items():
...     print(node_label(graph, node), [sentence.forms[word] for word in words])
bark-01 ['bark']
dog ['dogs']
country ['New', 'Zealand']
name ['New', 'Zealand']
:polarity - ["n't"]
:quant 2 ['Two']
:op1 "New" ['New']
:op2 "Zealand" ['Zealand']

If several words fit, a node gets one that no other node has, and of these the one nearest to the words of its
neighbours in the graph. Lemmas are used if the sentence has them; otherwise endings are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from treewright.amr.alignment import Node, graph_of, node_label, nodes_of
from treewright.amr.wording import MONTHS, NEGATIONS, WORDINGS, number_of, readings
from treewright.corpora.lemmas import plain
from treewright.corpora.types import Sentence

__all__ = ["RULES", "PartialAlignment", "Rule", "RuleAligner", "apply_rules"]

Span = tuple[int, ...]

_FUZZY = 4  # letters that a word and a concept must have in common, from the first one on
_LONGEST = 12  # words of a name, a number or a phrase
_PARTS = (":unit", ":quant", ":value", ":year", ":month", ":day", ":weekday", ":time", ":season", ":decade", ":century")
_VERBALISED = ("person", "thing", "picture")
_CONTENT = ("NOUN", "VERB", "ADJ", "ADV", "PROPN")


class PartialAlignment:
    """A sentence and its graph, with the words of the nodes that are aligned so far."""

    def __init__(self, sentence: Sentence, verbalisations: Mapping[str, Sequence[str]]) -> None:
        self.graph = graph_of(sentence)
        self.tokens = sentence.tokens
        self.forms = [form.lower() for form in sentence.forms]
        self.readings = [readings(token, verbalisations) for token in sentence]
        # the order of edges and attributes in a graph must not matter
        place = {variable: k for k, variable in enumerate(self.graph.variables)}
        edges = sorted(self.graph.edges, key=lambda edge: (place[edge[0]], len(edge[1]), edge[1], place[edge[2]]))
        attributes = [node for node in nodes_of(self.graph) if not isinstance(node, str)]
        attributes.sort(key=lambda attribute: (place[attribute[0]], len(attribute[1]), *attribute[1:]))
        self.nodes: list[Node] = [*self.graph.variables, *attributes]
        self.words: dict[Node, Span] = {}
        concepts = dict(self.graph.instances)
        # concepts without their senses, and constants without their quotes
        self.labels = {
            node: re.sub(r"-\d+$", "", concepts[node]) if isinstance(node, str) else node[2].strip('"')
            for node in self.nodes
        }
        self.children: dict[Node, list[tuple[str, Node]]] = {node: [] for node in self.nodes}
        self.parents: dict[Node, list[tuple[str, Node]]] = {node: [] for node in self.nodes}
        links: list[tuple[str, str, Node]] = [*edges, *((node[0], node[1], node) for node in attributes)]
        for source, role, target in links:
            self.children[source].append((role, target))
            self.parents[target].append((role, source))
        self.depth = self.distances(self.graph.top)

    def neighbours(self, node: Node) -> list[Node]:
        """Children, then parents."""
        return [other for _, other in self.children[node] + self.parents[node]]

    def distances(self, start: Node) -> dict[Node, int]:
        """The distances of nodes in edges, in either direction."""
        found, queue = {start: 0}, [start]
        for node in queue:
            for other in self.neighbours(node):
                if other not in found:
                    found[other] = found[node] + 1
                    queue.append(other)
        return found

    def taken(self) -> set[int]:
        """The words of a node."""
        return {word for words in self.words.values() for word in words}

    def words_at(self, links: list[tuple[str, Node]], *roles: str) -> Span | None:
        """The words of the first aligned child or parent whose role begins with one of these prefixes."""
        return next((self.words[node] for role, node in links if role.startswith(roles) and node in self.words), None)

    def nearest(self, node: Node, spans: Iterable[Span], *, shared: bool = False) -> Span | None:
        """The span nearest to the words of the node's neighbours; only free ones, unless ``shared``."""
        taken = set() if shared else self.taken()
        near = [self.words[other] for other in self.neighbours(node) if other in self.words]

        def distance(span: Span) -> tuple[int, int]:
            return sum(min(abs(span[0] - word) for word in words) for words in near), span[0]

        return min((span for span in spans if taken.isdisjoint(span)), key=distance, default=None)

    def where(self, fits: Callable[[str], object]) -> Iterator[Span]:
        """The words whose form fits."""
        return ((k,) for k, form in enumerate(self.forms) if fits(form))

    def spelt(self, text: str) -> Iterator[Span]:
        """The spans whose words have these letters; hyphens are ignored."""
        letters = plain(text).replace("-", "")
        for first in range(len(self.forms)) if letters else ():
            if self.forms[first].strip("-") and (end := self._end(first, first + _LONGEST, letters)):
                yield tuple(range(first, end))

    def _end(self, first: int, limit: int, letters: str) -> int | None:
        """The end of the words that begin at ``first``, end at or before ``limit``, and have exactly these letters."""
        for reading in self.readings[first]:
            begun = reading.replace("-", "")
            if begun == letters:
                return first + 1
            more = letters.startswith(begun) and first + 1 < min(limit, len(self.forms))
            if more and (end := self._end(first + 1, limit, letters[len(begun) :])):
                return end
        return None

    def fuzzy(self, node: Node) -> Span | None:
        """The free word with the longest common prefix with a node, if it is long enough."""
        label = plain(self.labels[node])
        common = [max(_common_letters(label, reading) for reading in each) for each in self.readings]
        enough = min(_FUZZY, max(_FUZZY - 1, len(label) - 1))
        for most in range(max(common), enough - 1, -1):
            if span := self.nearest(node, ((k,) for k, letters in enumerate(common) if letters == most)):
                return span
        return None

    def is_unspoken(self, node: Node) -> bool:
        """Whether a concept is abstract, with English words in its name that do not occur, as ``have-rel-role-91``."""
        return node_label(self.graph, node).endswith("-91")


def _common_letters(one: str, two: str) -> int:
    """The length of the common prefix of two words."""
    return next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


Rule = Callable[[PartialAlignment, Node], Span | None]
"""Finds the words of a node, or None."""


# ---- rules for words


def named_entity(at: PartialAlignment, node: Node) -> Span | None:
    """A ``name`` has the words of its ``:op1``, ``:op2``, …, in this order."""
    parts = [at.labels[child] for role, child in at.children[node] if role.startswith(":op")]
    return at.nearest(node, at.spelt("".join(parts))) if at.labels[node] == "name" else None


def fuzzy_named_entity(at: PartialAlignment, node: Node) -> Span | None:
    """A ``name`` has the words that begin as its ``:op1``, ``:op2``, … do: *Turkish* for ``"Turkey"``."""
    parts = [at.fuzzy(child) for role, child in at.children[node] if role.startswith(":op")]
    return _united(parts) if at.labels[node] == "name" else None


def name_part(at: PartialAlignment, node: Node) -> Span | None:
    """Each word of a name has its own place in it."""
    name = None if isinstance(node, str) or at.labels[node[0]] != "name" else at.words_at(at.parents[node], ":op")
    return next(((word,) for word in name or () if plain(at.labels[node]) in at.readings[word]), name)


def clock_time(at: PartialAlignment, node: Node) -> Span | None:
    """``:time "16:00"`` is *four o'clock*."""
    if not (time := re.fullmatch(r"(\d+):00", at.labels[node])):
        return None
    hours = (int(time[1]), int(time[1]) % 12)
    clocks = at.where(lambda form: form in ("o'clock", "am", "pm", "a.m.", "p.m."))
    return at.nearest(node, ((k - 1, k) for (k,) in clocks if k and number_of([at.forms[k - 1]]) in hours))


def month(at: PartialAlignment, node: Node) -> Span | None:
    """``:month 5`` is *May*."""
    if isinstance(node, str) or node[1] != ":month" or not re.fullmatch(r"0?[1-9]|1[0-2]", node[2]):
        return None
    name = MONTHS[int(node[2]) - 1]
    return at.nearest(node, at.where(lambda form: form in (name, name[:3], name[:3] + ".")))


def number(at: PartialAlignment, node: Node) -> Span | None:
    """A number has digits or words, also ordinals: *two hundred*, *third*; and 1 has *a*, if nothing else fits."""
    if isinstance(node, str) or not re.fullmatch(r"-?\d*\.?\d+", at.labels[node]):
        return None
    value, end = float(at.labels[node]), len(at.forms)
    spans = [tuple(range(k, m)) for k in range(end) for m in range(k + 1, min(k + _LONGEST, end) + 1)]
    fitting = [span for span in spans if number_of([at.forms[word] for word in span]) == value]
    certain = [span for span in fitting if len(span) > 1 or at.forms[span[0]] not in ("a", "an")]
    return at.nearest(node, certain) or at.nearest(node, fitting)


def minus_polarity_token(at: PartialAlignment, node: Node) -> Span | None:
    """``-`` is *no*, *not*, *never*, …"""
    return at.nearest(node, at.where(NEGATIONS.__contains__)) if at.labels[node] == "-" else None


def only_concept(at: PartialAlignment, node: Node) -> Span | None:
    """A concept has words with its letters, as form or lemma: *dogs*, *find out*, *grown - ups*, *some one*.

    If no other node has the same one, it is the first of them, as *I* in *I think that I am*.
    """
    rivals = [other for other in at.nodes if at.labels[other] == at.labels[node]]
    return next(at.spelt(at.labels[node]), None) if len(rivals) == 1 else None


def single_concept(at: PartialAlignment, node: Node) -> Span | None:
    """A concept that several nodes have: each has the words with its letters that are nearest to its neighbours."""
    return at.nearest(node, at.spelt(at.labels[node]))


def particle_verb(at: PartialAlignment, node: Node) -> Span | None:
    """A verb may have its object before its particle: *put the lamp out* for ``put-out-09``."""
    verb, _, particle = at.labels[node].partition("-")
    return at.nearest(node, (span for span in at.spelt(verb) if particle and particle in at.forms[span[-1] + 1 :]))


def wording(at: PartialAlignment, node: Node, *, shared: bool = False) -> Span | None:
    """A concept has the first word of its list that occurs: ``contrast-01`` has *but*."""
    spans = (at.nearest(node, at.where(word.__eq__), shared=shared) for word in WORDINGS.get(at.labels[node], ()))
    return next(filter(None, spans), None)


def fuzzy_single_concept(at: PartialAlignment, node: Node) -> Span | None:
    """A concept has the word with the same first letters, at least four: ``courtesy`` has *courteously*."""
    return None if at.is_unspoken(node) else at.fuzzy(node)


def compound(at: PartialAlignment, node: Node) -> Span | None:
    """A concept is in the middle of a word: ``lamp`` and ``light-04`` in *lamplighter*, ``ever`` in *never*."""
    part = plain(at.labels[node])
    return at.nearest(node, at.where(lambda form: len(part) >= _FUZZY and part in form and part != form), shared=True)


# ---- rules for neighbours


def _united(spans: Iterable[Span | None]) -> Span | None:
    return tuple(sorted({word for span in spans if span for word in span})) or None


def entity_type(at: PartialAlignment, node: Node) -> Span | None:
    """A node with a name has the words of the name: the ``country`` in *China*."""
    return at.words_at(at.children[node], ":name")


def quantity(at: PartialAlignment, node: Node) -> Span | None:
    """A quantity, an ordinal or a date has the words of its parts: ``:unit``, ``:quant``, ``:value``, ``:month``, …"""
    parts = (at.words.get(child) for role, child in at.children[node] if role.startswith(_PARTS))
    return _united(parts) if at.labels[node].endswith(("-quantity", "-entity")) else None


def role(at: PartialAlignment, node: Node) -> Span | None:
    """``have-org-role-91`` has the word of the role, *ambassador*."""
    return at.words_at(at.children[node], ":ARG2") if at.labels[node] in ("have-org-role", "have-rel-role") else None


def person_of(at: PartialAlignment, node: Node) -> Span | None:
    """A ``person`` or ``thing`` that does something has the word of the action: the ``person`` in *strikers*."""
    deeds = [(role, deed) for role, deed in at.parents[node] if at.depth.get(deed, 0) > at.depth.get(node, 0)]
    return at.words_at(deeds, ":ARG") if at.labels[node] in _VERBALISED else None


def person(at: PartialAlignment, node: Node) -> Span | None:
    """A ``person`` with exactly one neighbour has the word of that neighbour: in *Koreans*, that of ``"Korea"``."""
    return at.words_at(at.children[node], ":") if at.labels[node] == "person" and len(at.children[node]) == 1 else None


def possible_suffix(at: PartialAlignment, node: Node) -> Span | None:
    """``possible-01`` is in *reasonable* and *invisible*."""
    suffixed = at.where(re.compile(r".+[ai]bl[ey]").fullmatch)
    return at.nearest(node, suffixed, shared=True) if at.labels[node] == "possible" else None


def minus_polarity_affix(at: PartialAlignment, node: Node) -> Span | None:
    """``-`` is in *unhappy*, *invisible*, *disorder*, *motionless*, if that is the word of its node."""
    negated = at.words_at(at.parents[node], ":polarity") if at.labels[node] == "-" else None
    return _united((word,) for word in negated or () if re.match("un|i[nmlr]|dis|.*less", at.forms[word]))


def degree(at: PartialAlignment, node: Node) -> Span | None:
    """``most`` has *largest*, ``more`` *larger*; ``have-degree-91`` has the word of the degree, or of its domain."""
    if at.labels[node] in ("have-degree", "have-quant"):
        return at.words_at(at.children[node], ":ARG3") or at.words_at(at.children[node], ":ARG2")
    if at.labels[node] not in ("more", "most", "very"):
        return None
    frames = [above for role, above in at.parents[node] if role == ":ARG3"]
    compared = at.words_at(at.children[frames[0]], ":ARG2") if frames else at.words_at(at.parents[node], ":degree")
    return _united((word,) for word in compared or () if at.forms[word].endswith(("er", "est")))


def imperative(at: PartialAlignment, node: Node) -> Span | None:
    """A ``:mode`` has the word of its node, *Go!* or *Oh!*, and so does the ``you`` of an imperative."""
    if not isinstance(node, str):
        return at.words_at(at.parents[node], ":mode")
    orders = [
        (role, verb)
        for role, verb in at.parents[node]
        if any(at.labels[mode] == "imperative" for _, mode in at.children[verb])
    ]
    return at.words_at(orders, ":ARG") if at.labels[node] == "you" else None


def elimination(at: PartialAlignment, node: Node) -> Span | None:
    """A concept has the only remaining content word that the tree links with words of the node's neighbours."""
    if not isinstance(node, str) or at.is_unspoken(node) or at.labels[node] in WORDINGS:
        return None
    near = set(_united(at.words.get(other) for other in at.neighbours(node)) or ())
    links = [(k, token.head - 1) for k, token in enumerate(at.tokens) if token.head]
    linked = {word for k, head in links for word, other in ((k, head), (head, k)) if other in near}
    left = [(word,) for word in linked - at.taken() if at.tokens[word].upos in _CONTENT]
    return left[0] if len(left) == 1 else None


RULES: dict[str, Rule] = {
    "Named Entity": named_entity,
    "Fuzzy Named Entity": fuzzy_named_entity,
    "Name Part": name_part,
    "Clock Time": clock_time,
    "Month": month,
    "Number": number,
    "Only Concept": only_concept,
    "Single Concept": single_concept,
    "Minus Polarity Tokens": minus_polarity_token,
    "Particle Verb": particle_verb,
    "Wording": wording,
    "Fuzzy Single Concept": fuzzy_single_concept,
    "Compound": compound,
    "Entity Type": entity_type,
    "Quantity": quantity,
    "Role": role,
    "Person-Of, Thing-Of": person_of,
    "Person": person,
    "Possible Suffixes": possible_suffix,
    "Minus Polarity Affixes": minus_polarity_affix,
    "Degree": degree,
    "Shared Wording": partial(wording, shared=True),
    "Imperative": imperative,
    "Elimination": elimination,
}
"""The rules by name, in the order in which they are tried."""


@dataclass(frozen=True)
class RuleAligner:
    """Aligns by rules; ``verbalisations`` are additional readings of words from dictionaries."""

    verbalisations: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def align(self, sentence: Sentence) -> dict[Node, Span]:
        """The alignment that the rules find: first variables, then attributes."""
        return {node: words for node, (words, _) in self.explain(sentence).items()}

    def explain(self, sentence: Sentence) -> dict[Node, tuple[Span, str]]:
        """The alignment with the name of the rule that found the words of each node."""
        at = PartialAlignment(sentence, self.verbalisations)
        found = apply_rules(at, RULES)
        return {node: (at.words[node], found[node]) for node in at.nodes if node in at.words}


def apply_rules(at: PartialAlignment, rules: Mapping[str, Rule]) -> dict[Node, str]:
    """Apply rules in order to nodes without words; return the name of the rule for each node that was aligned."""
    found: dict[Node, str] = {}
    for name, rule in rules.items():
        for node in at.nodes:
            if node not in at.words and (span := rule(at, node)):
                at.words[node], found[node] = span, name
    return found
