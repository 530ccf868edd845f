"""Scores of meaning graphs: Smatch, of a corpus and of each sentence, and its breakdown.

Precision is the share of the predicted triples that match, recall the share of the gold triples. The score of a corpus
counts all triples together, as is usual.

The breakdown has the measures of Damonte, Cohen and Satta (2017). Each is a separate score, with its own best mapping
if it needs one:

``unlabelled``
    Smatch with all roles equal.
``no-sense``
    Smatch without the senses of concepts: ``want-01`` is ``want``.
``concepts``, ``named-entities``, ``negation``, ``wiki``
    Multisets: all concepts; those of nodes with a ``:name``; those of nodes with ``:polarity -``; the values of
    ``:wiki``.
``reentrancies``, ``roles``
    Smatch of a part of each graph: the edges into nodes that have more than one; the edges ``:ARG0``, ``:ARG1``, …
    (often called SRL); with the concepts of the nodes at their ends.

>>> from treewright.corpora import Graph
>>> gold = Graph.from_penman("(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b :polarity -))")
>>> predicted = Graph.from_penman("(w / want-02 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG1 b))")
>>> scores = score_smatch([gold], [predicted], breakdown=True)
>>> f"{scores.precision:.3f} {scores.recall:.3f} {scores.f1:.3f}"
'0.714 0.625 0.667'
>>> {part.name: round(part.f1, 2) for part in scores.breakdown}  # doctest: +NORMALIZE_WHITESPACE
{'unlabelled': 0.8, 'no-sense': 0.8, 'concepts': 0.67, 'named-entities': 0.0, 'negation': 0.0, 'wiki': 0.0,
 'reentrancies': 0.6, 'roles': 0.67}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treewright.amr.packed import Packer
from treewright.amr.smatch import HillClimbing, Meaning, graphs_of, match_packed
from treewright.amr.unseen import UnseenScore
from treewright.corpora import Graph
from treewright.corpora.graphs import Triple
from treewright.errors import CorpusError
from treewright.metrics import Comparison, bootstrap_interval, compare

__all__ = ["PartScore", "SmatchScores", "compare_smatch", "count_triples", "score_smatch"]

_SENSE = re.compile(r"-\d\d+$")


@dataclass(frozen=True)
class PartScore:
    """The score of one part of the breakdown; all values are 0 if neither annotation has this part."""

    name: str
    precision: float
    recall: float
    f1: float
    matched: int
    gold: int
    predicted: int


@dataclass(frozen=True)
class SmatchScores:
    """Smatch of a corpus. ``f1_interval`` is the 95 % bootstrap interval.

    ``exact`` is the share of sentences without a mistake. ``proved`` is the share of pairs whose mapping is known to be
    the best, or None without a proof. ``matched``, ``gold`` and ``predicted`` are the numbers of triples of each
    sentence. ``unseen`` are the scores by the share of unseen words and concepts, where a parser was evaluated.
    """

    precision: float
    recall: float
    f1: float
    f1_interval: tuple[float, float]
    exact: float
    total_matched: int
    total_gold: int
    total_predicted: int
    sentences: int
    proved: float | None
    breakdown: tuple[PartScore, ...]
    matched: tuple[int, ...] = field(repr=False)
    gold: tuple[int, ...] = field(repr=False)
    predicted: tuple[int, ...] = field(repr=False)
    unseen: tuple[UnseenScore, ...] = ()

    def by_sentence(self) -> list[tuple[float, float, float]]:
        """Precision, recall and F of each sentence."""
        return [_ratios(*counts) for counts in zip(self.matched, self.gold, self.predicted, strict=True)]

    name: ClassVar[str] = "Smatch"

    @property
    def main(self) -> float:
        """Smatch's F."""
        return self.f1

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of Smatch's F."""
        return self.f1_interval

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values, without the numbers of each sentence."""
        left_out = {"matched", "gold", "predicted", *(() if self.unseen else ("unseen",))}
        return {name: value for name, value in asdict(self).items() if name not in left_out}


def score_smatch(
    gold: Iterable[Meaning],
    predicted: Iterable[Meaning],
    *,
    breakdown: bool = False,
    search: HillClimbing | None = None,
    exact: bool = False,
    seed: int = 0,
    jobs: int = 1,
) -> SmatchScores:
    """Compare the graphs of two annotations of the same sentences. Sentences are paired in order."""
    right, guessed = graphs_of(gold, "gold"), graphs_of(predicted, "predicted")
    if len(right) != len(guessed):
        raise CorpusError(f"{len(right)} gold graphs and {len(guessed)} predicted ones: give one for each")
    if not right:
        raise CorpusError("no graphs to compare")
    how: dict[str, Any] = {"search": search, "exact": exact, "seed": seed, "jobs": jobs}
    packer = Packer()
    found = match_packed(packer.pack(right), packer.pack(guessed), **how)
    counts = tuple(found.matched.tolist()), tuple(found.gold.tolist()), tuple(found.predicted.tolist())
    matched, of_gold, of_predicted = map(sum, counts)
    precision, recall, f1 = _ratios(matched, of_gold, of_predicted)
    interval = bootstrap_interval(found.matched, (found.gold + found.predicted) / 2, seed=seed)
    return SmatchScores(
        precision=precision,
        recall=recall,
        f1=f1,
        f1_interval=(interval.low, interval.high),
        exact=float(np.mean((found.matched == found.gold) & (found.matched == found.predicted))),
        total_matched=matched,
        total_gold=of_gold,
        total_predicted=of_predicted,
        sentences=len(right),
        proved=None if found.proved is None else float(found.proved.mean()),
        breakdown=_breakdown(right, guessed, how) if breakdown else (),
        matched=counts[0],
        gold=counts[1],
        predicted=counts[2],
    )


def compare_smatch(
    gold: Sequence[Meaning],
    a: Iterable[Meaning],
    b: Iterable[Meaning],
    *,
    samples: int = 1000,
    exact: bool = True,
    seed: int = 0,
    jobs: int = 1,
) -> Comparison:
    """Test whether one parser is better than another. Both are scored with a proof, unless ``exact`` is off.

    >>> from treewright.corpora import Graph
    >>> gold = [Graph.from_penman("(b / bark-01 :ARG0 (d / dog))")] * 40
    >>> worse = [Graph.from_penman("(b / bark-01 :ARG0 (c / cat))")] * 40
    >>> found = compare_smatch(gold, worse, gold)
    >>> found.a, found.b, found.b_better, found.p_bootstrap < 0.01
    (0.75, 1.0, 40, True)
    """
    how: dict[str, Any] = {"exact": exact, "seed": seed, "jobs": jobs}
    first, second = (count_triples(score_smatch(gold, other, **how)) for other in (a, b))
    return compare(first, second, measure="smatch", seed=seed, samples=samples)


def count_triples(scores: SmatchScores) -> NDArray[np.float64]:
    """Return the matches and mean sizes of each pair of graphs: F is the ratio of their sums."""
    matched, gold, predicted = (
        np.array(column, np.float64) for column in (scores.matched, scores.gold, scores.predicted)
    )
    return np.stack([matched, (gold + predicted) / 2], axis=-1)


def _ratios(matched: int, gold: int, predicted: int) -> tuple[float, float, float]:
    """Precision, recall and F."""
    precision, recall = matched / max(predicted, 1), matched / max(gold, 1)
    return precision, recall, 2 * matched / max(gold + predicted, 1)


def _breakdown(gold: list[Graph], predicted: list[Graph], how: dict[str, Any]) -> tuple[PartScore, ...]:
    parts = []
    for name, (simplified, tops) in _MATCHED.items():
        packer = Packer()
        sides = [packer.pack(map(simplified, graphs), tops=tops) for graphs in (gold, predicted)]
        found = match_packed(*sides, **how)
        parts.append((name, int(found.matched.sum()), int(found.gold.sum()), int(found.predicted.sum())))
    for name, listed in _LISTED.items():
        matched = of_gold = of_predicted = 0
        for right, guessed in zip(gold, predicted, strict=True):
            one, two = Counter(map(str.lower, listed(right))), Counter(map(str.lower, listed(guessed)))
            matched, of_gold = matched + (one & two).total(), of_gold + one.total()
            of_predicted += two.total()
        parts.append((name, matched, of_gold, of_predicted))
    scores = {name: PartScore(name, *_ratios(*counts), *counts) for name, *counts in parts}
    return tuple(scores[name] for name in _ORDER)


def _without_roles(graph: Graph) -> Graph:
    directed = [
        (target, role, source) if role == ":mod" else (source, role, target) for source, role, target in graph.edges
    ]
    return replace(
        graph,
        edges=tuple((source, ":role", target) for source, _, target in directed),
        attributes=tuple((source, ":role", constant) for source, _, constant in graph.attributes),
    )


def _without_senses(graph: Graph) -> Graph:
    return replace(graph, instances=tuple((node, _SENSE.sub("", concept)) for node, concept in graph.instances))


def _only(graph: Graph, wanted: Callable[[Triple], bool]) -> Graph:
    """Some edges of a graph, with the nodes at their ends."""
    edges = tuple(edge for edge in graph.edges if wanted(edge))
    ends = {end for source, _, target in edges for end in (source, target)}
    return Graph(graph.top, tuple(instance for instance in graph.instances if instance[0] in ends), edges)


def _reentrancies(graph: Graph) -> Graph:
    entered = Counter(target for _, _, target in dict.fromkeys(graph.edges))
    return _only(graph, lambda edge: entered[edge[2]] > 1)


def _roles(graph: Graph) -> Graph:
    return _only(graph, lambda edge: edge[1].upper().startswith(":ARG"))


def _concepts(graph: Graph) -> list[str]:
    return [concept for _, concept in graph.instances]


def _named_entities(graph: Graph) -> list[str]:
    named = {source for source, role, _ in graph.edges if role == ":name"}
    return [concept for variable, concept in graph.instances if variable in named]


def _negated(graph: Graph) -> list[str]:
    negated = {source for source, role, constant in graph.attributes if (role, constant) == (":polarity", "-")}
    return [concept for variable, concept in graph.instances if variable in negated]


def _wiki(graph: Graph) -> list[str]:
    return [constant.strip('"') for _, role, constant in graph.attributes if role == ":wiki"]


_MATCHED: dict[str, tuple[Callable[[Graph], Graph], bool]] = {
    "unlabelled": (_without_roles, True),
    "no-sense": (_without_senses, True),
    "reentrancies": (_reentrancies, False),
    "roles": (_roles, False),
}
_LISTED: dict[str, Callable[[Graph], list[str]]] = {
    "concepts": _concepts,
    "named-entities": _named_entities,
    "negation": _negated,
    "wiki": _wiki,
}
_ORDER = ("unlabelled", "no-sense", "concepts", "named-entities", "negation", "wiki", "reentrancies", "roles")
