"""Smatch: the number of triples that two graphs have in common under the best mapping of their variables.

:func:`match` finds a mapping of variables for each pair of graphs, by hill climbing
(:mod:`treewright.amr.hill_climbing`) and optionally with a proof of optimality (:mod:`treewright.amr.exact_smatch`).
:mod:`treewright.amr.scores` computes precision, recall and F from the counts.

>>> from treewright.corpora import Graph
>>> gold = Graph.from_penman("(d / defend-01 :ARG1 (m / military))")
>>> predicted = Graph.from_penman("(x / defend-01 :ARG0 (y / person) :ARG1 (z / force))")
>>> matches = match([gold], [predicted])
>>> matches.matched, matches.gold, matches.predicted  # defend-01, its ARG1, and being the top
(array([3]), array([4]), array([6]))
>>> matches.mapping(0)
{'x': 'd', 'z': 'm'}

References: Cai and Knight (2013), *Smatch: an evaluation metric for semantic feature structures*; Goodman (2015),
*Semantic parsing from English to AMR using imitation learning*, §5.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from treewright.amr.exact_smatch import make_relaxation, proving_pass
from treewright.amr.hill_climbing import GREEDY, IMPROVED, RANDOM, climbing_pass, make_space
from treewright.amr.packed import PackedGraphs, Packer
from treewright.corpora import Graph, Sentence
from treewright.errors import ConfigError, CorpusError
from treewright.search.compiling import at_once
from treewright.search.running import run_shards
from treewright.settings import whole_number

__all__ = ["PACKAGE", "VANILLA", "HillClimbing", "Matches", "Meaning", "graphs_of", "match", "match_packed"]

# Pairs of nodes that take as long as a word takes to parse, where both are interpreted.
_CELLS_CLIMBED, _CELLS_PROVED = 250, 20

Meaning: TypeAlias = Graph | Sentence
"""A graph, or a sentence that has one."""

Counts: TypeAlias = npt.NDArray[np.int64]

_FIRST_STARTS = {
    "mixed": (IMPROVED, GREEDY, RANDOM),
    "greedy": (GREEDY,),
    "improved": (IMPROVED,),
    "greedy-random": (GREEDY, RANDOM),
}


@dataclass(frozen=True)
class HillClimbing:
    """The settings of the search for the best mapping: Algorithm 7 with the variants that §5.2 studies.

    ``starts`` is the number of climbs; the best result counts. ``start`` is the initial mapping: equal concepts, the
    rest at random (``greedy``); a mapping that also considers the neighbours, eq. 5.1 and 5.2 (``improved``); at random
    after a first greedy one (``greedy-random``); or ``mixed``: improved, greedy, then at random. With ``satisficing``
    the climb makes the first move that improves the score, instead of the best one. ``moves`` limits each step to this
    number of random moves (the thesis's N).
    """

    starts: int = 6
    start: Literal["mixed", "greedy", "improved", "greedy-random"] = "mixed"
    satisficing: bool = False
    moves: int | None = None

    def __post_init__(self) -> None:
        whole_number("starts", self.starts, 1)
        if self.moves is not None:
            whole_number("moves", self.moves, 1)
        if self.start not in _FIRST_STARTS:
            raise ConfigError(f"there is no start {self.start!r}; choose one of {', '.join(_FIRST_STARTS)}")

    def plan(self) -> Counts:
        """The kind of initial mapping for each start."""
        first = _FIRST_STARTS[self.start][: self.starts]
        return np.array(first + first[-1:] * (self.starts - len(first)), np.int64)


VANILLA = HillClimbing(starts=4, start="greedy")
"""Algorithm 7 as the thesis prints it."""

PACKAGE = HillClimbing(starts=5, start="greedy-random")
"""The algorithm of the package ``smatch``: five starts, the first of them greedy."""


@dataclass(frozen=True)
class Matches:
    """For each pair of graphs, the number of matching triples, of gold triples and of predicted triples.

    ``proved`` says whether the mapping is known to be the best; it is None without a proof.
    """

    matched: Counts
    gold: Counts
    predicted: Counts
    proved: npt.NDArray[np.bool_] | None
    _mappings: npt.NDArray[np.int32]
    _node_at: Counts
    _variables: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()

    def mapping(self, k: int) -> dict[str, str]:
        """The mapping of the k-th pair, from variables of the predicted graph to those of the gold graph."""
        predicted, gold = self._variables[k]
        nodes = self._mappings[self._node_at[k] : self._node_at[k + 1]].tolist()
        return {variable: gold[node] for variable, node in zip(predicted, nodes, strict=True) if node >= 0}


def match(
    gold: Iterable[Meaning],
    predicted: Iterable[Meaning],
    *,
    search: HillClimbing | None = None,
    exact: bool = False,
    limit: int = 100,
    seed: int = 0,
    jobs: int = 1,
) -> Matches:
    """The best mapping between each gold graph and the predicted graph at the same position of the list.

    With ``exact``, branch and bound continues from the result of hill climbing, for at most ``limit`` search nodes per
    pair, and fewer if the graphs have more than thirty nodes, to limit the time per pair. Then ``proved`` says where
    the mapping is known to be the best. The result depends on the seed, but not on ``jobs``.
    """
    right, guessed = graphs_of(gold, "gold"), graphs_of(predicted, "predicted")
    if len(right) != len(guessed):
        raise CorpusError(f"{len(right)} gold graphs and {len(guessed)} predicted ones: give one for each")
    packer = Packer()
    found = match_packed(
        packer.pack(right), packer.pack(guessed), search=search, exact=exact, limit=limit, seed=seed, jobs=jobs
    )
    variables = tuple([(p.variables, g.variables) for g, p in zip(right, guessed, strict=True)])
    return replace(found, _variables=variables)


def match_packed(
    gold: PackedGraphs,
    predicted: PackedGraphs,
    *,
    search: HillClimbing | None = None,
    exact: bool = False,
    limit: int = 100,
    seed: int = 0,
    jobs: int = 1,
) -> Matches:
    """Like :func:`match`, for graphs that were packed by the same packer."""
    search = search or HillClimbing()
    limit, jobs, seed = whole_number("limit", limit, 1), whole_number("jobs", jobs, 1), whole_number("seed", seed, 0)
    pairs, starts, moves = len(gold.node_at) - 1, search.plan(), search.moves or 0
    matched = np.zeros(pairs, np.int64)
    mappings = np.zeros(int(predicted.node_at[-1]), np.int32)
    proved = np.zeros(pairs, np.bool_)

    def work(first: int, last: int, control: Counts, slot: int) -> None:
        space = make_space(predicted, gold)
        # fmt: off
        climbing_pass(predicted, gold, first, last, starts, search.satisficing, moves, seed, space, matched, mappings,
                      control, slot)
        if exact:
            relaxation = make_relaxation(predicted, gold, len(space.link))
            proving_pass(predicted, gold, first, last, limit, space, relaxation, matched, mappings, proved,
                         control, slot)
        # fmt: on

    cells = int(np.dot(np.diff(predicted.node_at), np.diff(gold.node_at)))
    with at_once(cells // (_CELLS_PROVED if exact else _CELLS_CLIMBED)):
        run_shards(work, pairs, jobs=jobs)
    return Matches(matched, gold.sizes(), predicted.sizes(), proved if exact else None, mappings, predicted.node_at)


def graphs_of(meanings: Iterable[Meaning], what: str) -> list[Graph]:
    """The graphs of sentences; graphs are returned unchanged, and a sentence without a graph is an error."""
    graphs = []
    for number, meaning in enumerate(meanings, 1):
        graph = meaning.graph if isinstance(meaning, Sentence) else meaning
        if graph is None:
            path, line = (meaning.path, meaning.line) if isinstance(meaning, Sentence) else (None, None)
            message = f"{what} sentence {number} has no graph; leave it out, or parse it first"
            raise CorpusError(message, path=path, line=line)
        graphs.append(graph)
    return graphs
