"""The difference between a predicted and a gold meaning graph: one graph in which every triple has a side.

The best mapping of Smatch determines which nodes of the two graphs correspond. A triple is then in both graphs or only
in one, and the numbers of triples are those of Smatch. A node with different concepts is *changed*.

>>> gold = Graph.from_penman("(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))")
>>> predicted = Graph.from_penman("(x / want-01 :ARG0 (y / girl) :ARG1 (z / go-02 :polarity -))")
>>> print(*graph_diff(gold, predicted).lines(), sep="\\n")
  top: w / want-01
  w / want-01
      :ARG0 b / boy
      :ARG1 g / go-02
- b / boy
+ b / girl
  g / go-02
+     :polarity -
-     :ARG0 b / boy
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from treewright.amr.alignment import Alignment
from treewright.amr.smatch import Meaning, graphs_of, match
from treewright.corpora.graphs import Graph, Triple

__all__ = ["DiffNode", "DiffTriple", "GraphDiff", "Side", "graph_diff", "graph_diffs"]

Side = Literal["both", "gold", "predicted"]
"""The graphs that contain a triple: if only the gold graph has it, it is missing; if only the other, it is extra."""

_ONE_SIDED: tuple[Side, Side] = ("gold", "predicted")
SIGNS: dict[Side, str] = {"both": " ", "gold": "-", "predicted": "+"}


class DiffNode(NamedTuple):
    """A node, named by its variable in the gold graph, if it has one; None is the concept of an absent node."""

    name: str
    gold: str | None
    predicted: str | None
    gold_concept: str | None
    predicted_concept: str | None

    @property
    def side(self) -> Side:
        """The graphs that have the node, with any concept."""
        return "predicted" if self.gold is None else "gold" if self.predicted is None else "both"

    @property
    def concept(self) -> str:
        """The gold concept, or else the predicted one."""
        return self.gold_concept or self.predicted_concept or ""

    @property
    def is_changed(self) -> bool:
        """Whether the two graphs have different concepts here."""
        if self.gold_concept is None or self.predicted_concept is None:
            return False
        return _plain(self.gold_concept) != _plain(self.predicted_concept)


class DiffTriple(NamedTuple):
    """An edge between named nodes, an attribute, or the top (the source; role and target are empty)."""

    source: str
    role: str
    target: str
    side: Side


@dataclass(frozen=True)
class GraphDiff:
    """Two graphs merged into one."""

    nodes: tuple[DiffNode, ...]
    edges: tuple[DiffTriple, ...]
    attributes: tuple[DiffTriple, ...]
    tops: tuple[DiffTriple, ...]
    """One top if the graphs agree, otherwise that of the gold graph and that of the predicted one."""
    alignments: Alignment = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, int, int]:
        """The number of matching triples, of gold triples and of predicted triples."""
        sides = [triple.side for triple in (*self.tops, *self.edges, *self.attributes)]
        for node in self.nodes:
            sides += ["gold", "predicted"] if node.is_changed else [node.side]
        missing, extra = sides.count("gold"), sides.count("predicted")
        both = len(sides) - missing - extra
        return both, both + missing, both + extra

    @property
    def f1(self) -> float:
        """Smatch."""
        matched, gold, predicted = self.counts
        return 2 * matched / (gold + predicted)

    def lines(self, *, only_differences: bool = False) -> list[str]:
        """One line per triple, grouped by node, with the sign of its side: - is missing, + is extra.

        With ``only_differences``, a triple that differs is still preceded by its node.
        """
        found: list[tuple[Side, str]] = []
        for heading, rest in self._by_node():
            below = [line for line in rest if line[0] != "both" or not only_differences]
            if below or not only_differences or any(side != "both" for side, _ in heading):
                found += [*heading, *below]
        return [f"{SIGNS[side]} {text}" for side, text in found]

    def _by_node(self) -> Iterator[tuple[list[tuple[Side, str]], list[tuple[Side, str]]]]:
        """The top, and then each node with its concept, attributes and edges."""
        label = {node.name: f"{node.name} / {node.concept}" for node in self.nodes}
        yield [(top.side, f"top: {label[top.source]}") for top in self.tops], []
        below: dict[str, list[tuple[Side, str]]] = {node.name: [] for node in self.nodes}
        for source, role, constant, side in self.attributes:
            below[source].append((side, f"    {role} {constant}"))
        for source, role, target, side in self.edges:
            below[source].append((side, f"    {role} {label[target]}"))
        for node in self.nodes:
            heading: list[tuple[Side, str]] = [(node.side, label[node.name])]
            if node.is_changed:
                concepts = (node.gold_concept, node.predicted_concept)
                heading = [
                    (side, f"{node.name} / {concept}") for side, concept in zip(_ONE_SIDED, concepts, strict=True)
                ]
            yield heading, below[node.name]

    def to_dict(self) -> dict[str, Any]:
        """The difference as plain values."""
        matched, gold, predicted = self.counts
        return {
            "matched": matched,
            "gold": gold,
            "predicted": predicted,
            "f1": self.f1,
            "nodes": [{**node._asdict(), "side": node.side, "changed": node.is_changed} for node in self.nodes],
            "edges": [triple._asdict() for triple in self.edges],
            "attributes": [triple._asdict() for triple in self.attributes],
            "tops": [{"node": top.source, "side": top.side} for top in self.tops],
        }


def graph_diffs(
    gold: Iterable[Meaning], predicted: Iterable[Meaning], *, exact: bool = True, seed: int = 0, jobs: int = 1
) -> list[GraphDiff]:
    """The differences between each gold graph and the predicted graph at the same position."""
    right, guessed = graphs_of(gold, "gold"), graphs_of(predicted, "predicted")
    found = match(right, guessed, exact=exact, seed=seed, jobs=jobs)
    return [_merged(one, other, found.mapping(k)) for k, (one, other) in enumerate(zip(right, guessed, strict=True))]


def graph_diff(gold: Meaning, predicted: Meaning) -> GraphDiff:
    """The difference between two graphs."""
    return graph_diffs([gold], [predicted])[0]


def _merged(gold: Graph, predicted: Graph, mapping: Mapping[str, str]) -> GraphDiff:
    mapping = _useful(gold, predicted, mapping)
    names = _names(gold, predicted, mapping)
    partner = {right: guess for guess, right in mapping.items()}
    guessed_concepts = dict(predicted.instances)
    nodes = []
    for variable, concept in gold.instances:
        guess = partner.get(variable)
        nodes.append(DiffNode(variable, variable, guess, concept, guessed_concepts.get(guess) if guess else None))
    nodes += [
        DiffNode(names[guess], None, guess, None, concept)
        for guess, concept in predicted.instances
        if guess not in mapping
    ]

    def renamed(triples: Iterable[Triple]) -> list[Triple]:
        return [(names[source], role, names.get(target, target)) for source, role, target in triples]

    guessed_attributes = [(names[source], role, constant) for source, role, constant in predicted.attributes]
    return GraphDiff(
        nodes=tuple(nodes),
        edges=_compared(gold.edges, renamed(predicted.edges), _edge_key),
        attributes=_compared(gold.attributes, guessed_attributes, _attribute_key),
        tops=_compared([(gold.top, "top", "")], [(names[predicted.top], "top", "")], _edge_key),
        alignments={
            names.get(node, node): at
            for graph, names in ((predicted, names), (gold, {}))  # where both have one, that of the gold graph
            for node, at in graph.alignments.items()
            if isinstance(at, tuple)
        },
    )


def _useful(gold: Graph, predicted: Graph, mapping: Mapping[str, str]) -> dict[str, str]:
    """The mapping without pairs that have nothing in common: these are two nodes, not a changed one."""
    right, guess = dict(gold.instances), dict(predicted.instances)
    used = {node for node, other in mapping.items() if _plain(guess[node]) == _plain(right[other])}
    golden = {_attribute_key(triple) for triple in gold.attributes}
    used |= {
        source
        for source, role, constant in predicted.attributes
        if source in mapping and _attribute_key((mapping[source], role, constant)) in golden
    }
    golden = {_edge_key(triple) for triple in gold.edges}
    for source, role, target in predicted.edges:
        if source in mapping and target in mapping and _edge_key((mapping[source], role, mapping[target])) in golden:
            used |= {source, target}
    if mapping.get(predicted.top) == gold.top:
        used.add(predicted.top)
    return {node: other for node, other in mapping.items() if node in used}


def _names(gold: Graph, predicted: Graph, mapping: Mapping[str, str]) -> dict[str, str]:
    """The names of the variables of the predicted graph: those of the gold graph, or names that are not in use."""
    taken = set(gold.variables)
    names = {}
    for variable in predicted.variables:
        name, number = mapping.get(variable, variable), 2
        while variable not in mapping and name in taken:
            name, number = f"{variable}_{number}", number + 1
        taken.add(name)
        names[variable] = name
    return names


def _compared(gold: Sequence[Triple], predicted: Sequence[Triple], key: Any) -> tuple[DiffTriple, ...]:
    """The triples of the gold graph, then those that only the other has. A triple that occurs twice counts once."""
    right, guessed = ({key(triple): triple for triple in reversed(side)} for side in (gold, predicted))
    found = [DiffTriple(*right[k], "both" if k in guessed else "gold") for k in dict.fromkeys(map(key, gold))]
    extra = [k for k in dict.fromkeys(map(key, predicted)) if k not in right]
    return tuple(found + [DiffTriple(*guessed[k], "predicted") for k in extra])


# What counts as equal is what it is for Smatch: see treewright.amr.packed.


def _plain(text: str) -> str:
    return text.strip('"').lower()


def _attribute_key(triple: Triple) -> Triple:
    source, role, constant = triple
    return source, role.lower(), _plain(constant)


def _edge_key(triple: Triple) -> Triple:
    source, role, target = triple
    role = role.lower()
    return (target, ":domain", source) if role == ":mod" else (source, role, target)
