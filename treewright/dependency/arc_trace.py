"""The best projective tree step by step: the derivation that Eisner's algorithm finds, from the root down.

The parser compares all trees at once. The trace shows the decisions of an optimal policy in the same hypergraph
(:mod:`treewright.dependency.eisner`): which word is the root, which is the outermost dependent of a head in a span,
where the spans of two words meet, and which label an arc has. The score of a choice is its advantage: 0 for the best
choice, and otherwise minus the loss in score of the best tree. Its cost is the number of lost gold arcs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.corpora import Sentence
from treewright.dependency.projective import LIFTED, deprojectivize, projectivize
from treewright.dependency.trees import check_tree, is_projective
from treewright.errors import CorpusError
from treewright.search.hypergraph import COUNT, LEFT, LEFT_STEP, PART, PART_STEP, RIGHT, RIGHT_STEP, Hypergraph
from treewright.search.stepping import find_action, wishes
from treewright.tracing import Candidate, Step, Trace, softmax

if TYPE_CHECKING:
    from treewright.dependency.eisner import EisnerParser

__all__ = ["trace_arcs"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def trace_arcs(
    parser: EisnerParser,
    sentence: Sentence,
    gold: Sentence | None,
    follow: str,
    *,
    labelled: bool,
) -> Trace:
    """The decisions behind the best tree of a sentence, or with ``follow="gold"`` behind its gold tree."""
    from treewright.dependency.eisner import _LONGEST, tree_graph

    n, labels = len(sentence), parser._label_counts
    if n > _LONGEST:
        raise CorpusError(
            f"a sentence of {n} words: above {_LONGEST}, sentences are parsed in parts, whose steps cannot be shown",
            path=sentence.path,
            line=sentence.line,
        )
    scores = np.zeros((n + 1) * n * labels.number + 1)
    planner = parser._planner([sentence.tokens])
    planner.score(parser._weights, np.zeros(1, np.int64), np.array([0, len(scores)]), scores)
    right = None if gold is None else _gold_parts(parser, gold, labelled)
    run = _Derivation(tree_graph(n, labels), scores, right, parser.labels_, sentence.forms)
    steps = run.steps(follow)
    heads, names = map(list, zip(*(run.arcs[word] for word in range(1, n + 1)), strict=True))
    if any(LIFTED in name for name in names):
        heads, names = deprojectivize(heads, names)
    about = {"model": type(parser).__name__, "follow": follow, "labelled": labelled}
    return Trace(parser.task, "arcs", sentence.forms, steps, {"heads": heads, "labels": names}, gold is not None, about)


def _gold_parts(parser: EisnerParser, gold: Sentence, labelled: bool) -> Floats:
    """1 for each part of the gold tree; with every label if the label does not matter or cannot be chosen."""
    check_tree(gold)
    heads, names = [token.head or 0 for token in gold.tokens], list(gold.column("deprel"))
    if not is_projective(heads):
        heads, names = projectivize(heads, names)
    n, counts = len(heads), parser._label_counts
    right = np.zeros((n + 1) * n * counts.number + 1)
    for dependent, (head, name) in enumerate(zip(heads, names, strict=True)):
        first = (head * n + dependent) * counts.number
        known = parser.labels_.index(name) if labelled and name in parser.labels_ else -1
        allowed = range(counts.root) if head == 0 else range(counts.word, counts.number)
        right[[first + k for k in ([known] if known in allowed else allowed)]] = 1.0
    return right


class _Item(NamedTuple):
    """A node of the hypergraph: its kind of span with its first and last word, or the ends of an arc."""

    kind: str
    first: int
    last: int


_KINDS = ("meeting", "joined", "joined", "right", "left")


def _item(place: int, n: int) -> _Item:
    """The node at a place (see :func:`~treewright.dependency.eisner.tree_graph`)."""
    arcs, square = (n + 1) * n, n * n
    if place < arcs:
        return _Item("arc", place // n, place % n + 1)
    block, rest = divmod(place - arcs, square)
    if block >= len(_KINDS):
        word = place - arcs - len(_KINDS) * square
        return _Item("sentence", 1, n) if word == n else _Item("root", word + 1, word + 1)
    one, other = rest // n + 1, rest % n + 1
    return _Item(_KINDS[block], min(one, other), max(one, other))


class _Edges(NamedTuple):
    """The edges into a node: the part and the two tails of each."""

    parts: Ints
    lefts: Ints
    rights: Ints


class _Derivation:
    """The derivation of a tree in the hypergraph of all trees, from the root down, the left before the right."""

    def __init__(
        self, graph: Hypergraph, scores: Floats, right: Floats | None, labels: Sequence[str], words: Sequence[str]
    ) -> None:
        self.graph, self.scores, self.right, self.labels = graph, scores, right, labels
        self.n, self.words = len(words), words
        self.row = np.full(graph.places + 1, -1)
        self.row[graph.nodes] = np.arange(len(graph.nodes))
        self.values = self._best_values(scores)
        self.reachable = None if right is None else self._best_values(right)
        self.open: list[int] = []  # the nodes that wait for a decision, the next one last
        self.arcs: dict[int, tuple[int, str]] = {}  # the head and the label of each word that has them
        self.errors = 0

    def steps(self, follow: str) -> tuple[Step, ...]:
        """All decisions, and the final state."""
        steps: list[Step] = []
        prefix = wishes().prefix
        self._go_to(int(self.graph.nodes[-1]))
        while self.open:
            place = self.open[-1]
            item, edges = _item(place, self.n), self._edges(place)
            q, costs = self._sums(edges, self.scores, self.values), None
            if self.right is not None and self.reachable is not None:
                costs = self.reachable[place] - self._sums(edges, self.right, self.reachable)
            chosen = int(np.argmax(q))
            if follow == "gold" and costs is not None:
                chosen = int(np.argmax(np.where(costs == 0.0, q, -np.inf)))
            names = [self._action(item, edges, k) for k in range(len(q))]
            if len(steps) < len(prefix):
                chosen = find_action(prefix[len(steps)], names, len(steps))
            steps.append(self._step(len(steps), names, q, costs, chosen))
            self.open.pop()
            self._take(item, edges, chosen)
        return (*steps, Step(len(steps), self._state(), measures=self._measures()))

    def _go_to(self, place: int) -> None:
        """Add a node to the open decisions; if it has only one edge, continue with its tails."""
        item, edges = _item(place, self.n), self._edges(place)
        makes_arc = item.kind == "sentence" or (item.kind in ("right", "left") and item.first < item.last)
        if makes_arc or len(edges.parts) > 1:
            self.open.append(place)
        else:
            self._take(item, edges, 0)

    def _take(self, item: _Item, edges: _Edges, k: int) -> None:
        """Take an edge into a node: record its arc, and continue with its tails, arcs first and then left to right."""
        part = int(edges.parts[k])
        if item.kind == "arc":
            self.arcs[item.last] = item.first, self.labels[part % len(self.labels)]
            self.errors += self.right is not None and self.right[part] == 0.0
        tails = [int(tail) for tail in (edges.rights[k], edges.lefts[k]) if tail != self.graph.places]
        for tail in sorted(tails, key=lambda tail: _item(tail, self.n).kind in ("arc", "joined")):
            self._go_to(tail)

    # ---- the steps

    def _step(self, number: int, names: list[str], q: Floats, costs: Floats | None, chosen: int) -> Step:
        scores = [float(each) for each in q - q.max()]
        paid = [None] * len(names) if costs is None else [float(cost) for cost in costs]
        expert = tuple(name for name, cost in zip(names, paid, strict=True) if cost == 0.0)
        candidates = tuple(map(Candidate, names, scores, paid, softmax(scores)))
        return Step(number, self._state(), candidates, chosen, expert, self._measures())

    def _state(self) -> dict[str, Any]:
        items = [_item(place, self.n)._asdict() for place in reversed(self.open)]
        return {
            "arcs": [
                {"head": head, "dependent": word, "label": label} for word, (head, label) in sorted(self.arcs.items())
            ],
            "open": items,
            "focus": items[0] if items else None,
        }

    def _measures(self) -> dict[str, float]:
        return {} if self.right is None else {"errors": float(self.errors)}

    def _action(self, item: _Item, edges: _Edges, k: int) -> str:
        """A description of edge number k into a node; words are written with their numbers."""
        if item.kind == "arc":
            return self.labels[int(edges.parts[k]) % len(self.labels)]
        if item.kind == "sentence":
            return f"root → {self._word(k + 1)}"
        if item.kind == "right":
            return f"{self._word(item.first)} → {self._word(item.first + 1 + k)}"
        if item.kind == "left":
            return f"{self._word(item.first + k)} ← {self._word(item.last)}"
        return f"meet after {self._word(item.first + k)}"

    def _word(self, number: int) -> str:
        return f"{number} {self.words[number - 1]}"

    # ---- the hypergraph

    def _edges(self, place: int) -> _Edges:
        first, last = self.graph.fans_at[self.row[place] : self.row[place] + 2].tolist()
        fans = self.graph.fans[first:last].astype(np.int64)
        steps = [np.arange(count) for count in fans[:, COUNT].tolist()]
        columns = ((PART, PART_STEP), (LEFT, LEFT_STEP), (RIGHT, RIGHT_STEP))
        return _Edges(
            *(
                np.concatenate([fan[begin] + fan[step] * k for fan, k in zip(fans, steps, strict=True)])
                for begin, step in columns
            )
        )

    @staticmethod
    def _sums(edges: _Edges, scores: Floats, values: Floats) -> Floats:
        """The value of the best derivation that ends with each edge."""
        found: Floats = scores[edges.parts] + values[edges.lefts] + values[edges.rights]
        return found

    def _best_values(self, scores: Floats) -> Floats:
        """The value of the best derivation of each node, as :func:`~treewright.search.hypergraph.viterbi` finds it."""
        values = np.zeros(self.graph.places + 1)
        for place in self.graph.nodes.tolist():
            values[place] = self._sums(self._edges(place), scores, values).max()
        return values
