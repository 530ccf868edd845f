"""Parses step by step: stack and buffer, the move that is made, and what each possible move costs and scores.

:func:`trace_gold` follows a gold tree, as the tables of the lectures do; :func:`trace` follows a parser.

>>> from treewright.corpora import Token
>>> they, sat = Token("They", head=2, deprel="nsubj"), Token("sat", head=0, deprel="root")
>>> for step in trace_gold(Sentence((they, sat))):
...     print(step.number, step.stack, step.buffer, step.transition)
0 ('root',) ('They', 'sat') SHIFT
1 ('root', 'They') ('sat',) SHIFT
2 ('root', 'They', 'sat') () LEFTARC_nsubj
3 ('root', 'sat') () RIGHTARC_root
4 ('root',) () Done

Everything runs in plain Python, with the same functions that are compiled for parsing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewright.corpora import Sentence
from treewright.dependency.configuration import DEPTH, FRONT, LEFT, REDUCE, RIGHT, SHIFT
from treewright.dependency.parser import DependencyParser
from treewright.dependency.projective import projectivize
from treewright.dependency.task import (
    FIRST_ARC,
    MOVES,
    STAGED,
    STATIC,
    SYSTEM,
    SYSTEMS,
    DependencyParsing,
    admissible,
    arc_of,
    make_move,
    move_costs,
    static_move,
)
from treewright.dependency.trees import check_tree, is_projective
from treewright.errors import ConfigError, CorpusError
from treewright.search import Packed, interpreted
from treewright.search.engine import LEARNED, Episode, decide, draw_actor
from treewright.search.hashing import seed_random
from treewright.search.running import prepare, scratch_for
from treewright.settings import whole_number

__all__ = ["DONE", "MOVE_NAMES", "ORACLES", "ROOT", "Step", "trace", "trace_gold"]

#: what the papers and lectures call the moves: Shift, Left-Arc, Right-Arc, and Reduce or Swap
MOVE_NAMES = {
    "arc-standard": ("SHIFT", "LEFTARC", "RIGHTARC"),
    "arc-standard-buffer": ("Shift", "Left", "Right"),
    "arc-eager": ("SH", "LA", "RA", "RE"),
    "arc-hybrid": ("SHIFT", "LEFTARC", "RIGHTARC"),
    "swap": ("SHIFT", "LEFTARC", "RIGHTARC", "SWAP"),
}
ORACLES = ("static", "dynamic")
ROOT = "root"
DONE = "Done"

_admissible, _arc_of, _make_move = interpreted(admissible), interpreted(arc_of), interpreted(make_move)
_move_costs, _static_move = interpreted(move_costs), interpreted(static_move)
_decide, _draw_actor = interpreted(decide), interpreted(draw_actor)
_seed_random = interpreted(seed_random)


@dataclass(frozen=True)
class Step:
    """A configuration and the move that is made in it; the last one is final, and its action is ``Done``.

    Words are named by their forms, and the root is ``root``, number 0. ``label``, ``head`` and ``dependent`` are those
    of the arc that the move makes. ``costs`` says, for each possible move, how many gold arcs are lost by it: the
    dynamic oracle's answer, where there is a gold tree and the system has such an oracle. ``errors`` counts the arcs
    made so far that are not gold. ``scores`` has what a parser likes best; ``label_scores`` the same for labels, where
    the parser chooses them after the move.
    """

    number: int
    stack: tuple[str, ...]
    buffer: tuple[str, ...]
    action: str
    label: str | None = None
    head: int | None = None
    head_word: str | None = None
    dependent: int | None = None
    dependent_word: str | None = None
    errors: int | None = None
    costs: dict[str, int] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    label_scores: dict[str, float] = field(default_factory=dict)

    @property
    def transition(self) -> str:
        """The action with its label, as in ``LA_SBJ``."""
        return _named(self.action, self.label)

    @property
    def zero_cost(self) -> list[str]:
        """The moves that lose nothing."""
        return [move for move, cost in self.costs.items() if cost == 0]

    @property
    def edge(self) -> str:
        """The arc with its words in the order of the sentence: ``I ← am``, ``of → general``; empty where there is none.

        >>> Step(1, (), (), "LA", head=2, head_word="am", dependent=1, dependent_word="I").edge
        'I ← am'
        """
        if self.head is None or self.dependent is None:
            return ""
        if self.dependent < self.head:
            return f"{self.dependent_word} ← {self.head_word}"
        return f"{self.head_word} → {self.dependent_word}"


def trace(
    parser: DependencyParser | str,
    sentence: Sentence | Sequence[str],
    *,
    gold: bool | None = None,
    labelled: bool = True,
    top: int = 3,
) -> list[Step]:
    """The steps of a parser, or of a transition system by its name (see :func:`trace_gold`), on a sentence.

    The parser's steps are greedy, also where it parses with a beam. ``top`` is how many scores each step has. Where
    every word has a head, steps have costs too; ``gold=True`` insists on that, and ``gold=False`` does without.
    """
    if not isinstance(sentence, Sentence):
        sentence = Sentence.from_words(sentence)
    if isinstance(parser, str):
        return trace_gold(sentence, parser, labelled=labelled)
    parser._check_fitted()
    if not sentence.tokens:
        raise CorpusError("a sentence without words; remove it", path=sentence.path, line=sentence.line)
    top = whole_number("top", top, 0)
    if gold is None:
        gold = all(token.head is not None for token in sentence.tokens)
    if gold:
        check_tree(sentence)
    packed = parser._pack_gold([sentence], learn_labels=False) if gold else parser._pack([sentence.tokens])
    run = _Run(packed, sentence, parser.labels_, labelled=labelled, gold=gold)
    return list(run.by_parser(parser, top))


def trace_gold(
    sentence: Sentence,
    system: str = "arc-standard",
    *,
    oracle: str = "static",
    labelled: bool = True,
    moves: Sequence[str] = (),
) -> list[Step]:
    """The steps that build the gold tree of a sentence.

    ``moves`` are made first, right or wrong, as in ``["SH", "LA_SBJ"]``; arcs without a label get that of the gold
    tree. Then the oracle goes on. Where the static oracle finds no move that may be made, which happens only after
    wrong ones, it shifts. The dynamic oracle takes a move of the least cost: of several that of the static one, or the
    first.

    Words are lifted where arcs cross, as a parser does before training, unless the system is ``swap``.
    """
    if system not in SYSTEMS:
        raise ConfigError(f"system cannot be {system!r}; it is one of: {', '.join(SYSTEMS)}")
    if oracle not in ORACLES:
        raise ConfigError(f"oracle cannot be {oracle!r}; it is one of: {', '.join(ORACLES)}")
    if oracle == "dynamic" and system not in DependencyParsing.exact:
        raise ConfigError(f"the system {system!r} has no dynamic oracle; choose the static one")
    check_tree(sentence)
    heads, relations = [token.head or 0 for token in sentence.tokens], list(sentence.column("deprel"))
    if system != "swap" and not is_projective(heads):
        heads, relations = projectivize(heads, relations)
    given = [_parsed_move(move, system) for move in moves]
    labels = list(dict.fromkeys([*relations, *(label for _, label in given if label)]))
    packed = _pack(system, sentence, heads, relations, labels)
    run = _Run(packed, sentence, labels, labelled=labelled, gold=True)
    return list(run.by_oracle(oracle, given))


def _pack(system: str, sentence: Sentence, heads: list[int], relations: list[str], labels: list[str]) -> Packed:
    """A gold tree as a parser that has learned nothing yet would pack it."""
    parser = DependencyParser(system, features=["s0.w"])
    parser._learn_words([sentence])
    parser.labels_, parser.root_labels_, parser.word_labels_ = labels, [*range(len(labels))], [*range(len(labels))]
    numbers = [labels.index(relation) for relation in relations]
    return parser._pack([sentence.tokens], np.array(heads, np.int32), np.array(numbers, np.int32))


def _parsed_move(text: str, system: str) -> tuple[int, str | None]:
    """The number of a move and its label, from a text such as ``LA_SBJ``."""
    name, _, label = text.partition("_")
    names = MOVE_NAMES[system]
    if name not in names:
        raise ConfigError(f"there is no move {name!r} in {system}; there are: {', '.join(names)}")
    move = names.index(name)
    if label and move not in (LEFT, RIGHT):
        raise ConfigError(f"the move {text!r} has a label, but {name} makes no arc")
    return move, label or None


class _Run:
    """A sentence in the hands of a transition system, move by move."""

    def __init__(
        self, packed: Packed, sentence: Sentence, labels: Sequence[str], *, labelled: bool, gold: bool
    ) -> None:
        x = packed.instance(0)
        self.task = packed.task.plain()
        options = x.options.copy()
        options[STATIC] = 0  # costs are the dynamic oracle's
        self.x = x._replace(options=options, label_weight=np.array([1.0 if labelled else 0.0]))  # errors are the loss
        self.system = next(name for name, number in SYSTEMS.items() if number == x.options[SYSTEM])
        self.names = MOVE_NAMES[self.system]
        self.words = (ROOT, *sentence.forms)
        self.labels, self.labelled, self.gold = labels, labelled, gold
        n = len(sentence)
        self.most_steps = int(self.task.steps_bound(n))
        self.packed, self.buffer = packed, np.zeros(self.task.state_size(n), np.int32)
        self.state = self.task.state_view(self.buffer, n)
        self.task.initial(self.x, self.state)

    def by_oracle(self, oracle: str, given: Sequence[tuple[int, str | None]]) -> Iterator[Step]:
        """Make the moves that are given, and then those of an oracle."""
        for number in range(self.most_steps + 1):
            if self.task.is_final(self.x, self.state):
                if number < len(given):
                    raise ConfigError(f"there are {len(given)} moves, but after {number} of them the tree is complete")
                yield self._step(number)
                return
            move, label = given[number] if number < len(given) else (self._oracle_move(oracle), None)
            if move not in self._possible():
                possible = ", ".join(self.names[m] for m in self._possible())
                raise ConfigError(
                    f"move {number + 1}, {self.names[move]}, is not possible there; choose from: {possible}"
                )
            label_number = -1
            if move in (LEFT, RIGHT):
                _, dependent = _arc_of(self.x, self.state, move)
                label_number = self.labels.index(label) if label else int(self.x.gold_labels[dependent])
            yield self._step(number, move, label_number)
            _make_move(self.x, self.state, move, label_number)

    def by_parser(self, parser: DependencyParser, top: int) -> Iterator[Step]:
        """Make the moves that a parser's policy chooses."""
        scorer = prepare(parser.policy_, self.packed.plain(), np.zeros(1, np.int64))
        scratch, episode = scratch_for(scorer, self.task), Episode(0, self.x, self.buffer, self.state, 0)
        _seed_random(scratch.random, parser.seed, 0, 0)
        actor = _draw_actor(scorer, LEARNED, scratch.random)

        def choose() -> tuple[int, list[tuple[int, float]]]:
            """The policy's action, and the scores of all, the best first; no scores where there is no choice."""
            n = self.task.actions(self.x, self.state, scratch.actions)
            action = int(_decide(self.task, episode, scorer, actor, scratch))
            scored = zip(scratch.actions[:n].tolist(), scratch.scores[:n].tolist(), strict=True) if n > 1 else ()
            return action, sorted(scored, key=lambda item: -item[1])

        staged = bool(self.x.options[STAGED])
        for number in range(self.most_steps + 1):
            if self.task.is_final(self.x, self.state):
                yield self._step(number)
                return
            action, scored = choose()
            move, label = (action, -1) if staged else _taken_apart(action)
            scores: dict[str, float] = {}
            for other, score in scored:
                other_move, other_label = (other, -1) if staged else _taken_apart(other)
                scores.setdefault(_named(self.names[other_move], self._label(other_label)), score)
            label_scores: dict[str, float] = {}
            if staged and move in (LEFT, RIGHT):
                self.task.step(self.x, self.state, action)
                action, scored = choose()
                label = action - MOVES
                label_scores = {self.labels[other - MOVES]: score for other, score in scored}
            yield self._step(number, move, label, _first(scores, top), _first(label_scores, top))
            self.task.step(self.x, self.state, action)

    def _possible(self) -> list[int]:
        bits = int(_admissible(self.x, self.state))
        return [move for move in range(MOVES) if bits >> move & 1]

    def _oracle_move(self, oracle: str) -> int:
        possible, static = self._possible(), int(_static_move(self.x, self.state))
        if oracle == "static":
            return static if static in possible else SHIFT if SHIFT in possible else possible[0]
        costs = self._costs()
        best = [move for move in possible if costs[move] == 0]
        return static if static in best else best[0]

    def _costs(self) -> dict[int, int]:
        if not self.gold or self.system not in DependencyParsing.exact or self.task.is_final(self.x, self.state):
            return {}
        costs = np.zeros(MOVES)
        _move_costs(self.x, self.state, costs)
        return {move: int(costs[move]) for move in self._possible()}

    def _label(self, number: int) -> str | None:
        return self.labels[number] if self.labelled and number >= 0 else None

    def _step(
        self,
        number: int,
        move: int | None = None,
        label: int = -1,
        scores: dict[str, float] | None = None,
        label_scores: dict[str, float] | None = None,
    ) -> Step:
        """What is seen before a move is made; without a move, at the end."""
        state, words = self.state, self.words
        arc: dict[str, Any] = {}
        if move in (LEFT, RIGHT):
            head, dependent = (int(node) for node in _arc_of(self.x, state, move))
            arc = {
                "label": self._label(label),
                "head": head,
                "head_word": words[head],
                "dependent": dependent,
                "dependent_word": words[dependent],
            }
        depth, front = state.registers[DEPTH], state.registers[FRONT]
        return Step(
            number=number,
            stack=tuple(words[node] for node in state.stack[:depth].tolist()),
            buffer=tuple(words[node] for node in state.buffer[front : len(words) - 1].tolist()),
            action=DONE if move is None else self.names[move],
            **arc,
            errors=int(self.task.loss(self.x, state)) if self.gold else None,
            costs={self.names[m]: cost for m, cost in self._costs().items()},
            scores=scores or {},
            label_scores=(label_scores or {}) if self.labelled else {},
        )


def _first(scores: dict[str, float], top: int) -> dict[str, float]:
    return dict(list(scores.items())[:top])


def _taken_apart(action: int) -> tuple[int, int]:
    """The move and the label of a joint action; −1 for none."""
    if action < FIRST_ARC:
        return (SHIFT, REDUCE)[action], -1
    return LEFT + (action - FIRST_ARC) % 2, (action - FIRST_ARC) // 2


def _named(action: str, label: str | None) -> str:
    return f"{action}_{label}" if label else action
