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
from treewright.dependency.configuration import DEPTH, FRONT
from treewright.dependency.parser import DependencyParser
from treewright.dependency.projective import projectivize
from treewright.dependency.systems import TransitionSystem, find_system
from treewright.dependency.task import STATIC, DependencyParsing
from treewright.dependency.trees import check_tree, is_projective
from treewright.errors import ConfigError, CorpusError
from treewright.search import Packed, interpreted
from treewright.search.engine import LEARNED, decide, draw_policy, new_scratch
from treewright.search.hashing import seed_random
from treewright.settings import whole_number

__all__ = ["DONE", "ORACLES", "ROOT", "Step", "trace", "trace_gold"]

ORACLES = ("static", "dynamic")
ROOT = "root"
DONE = "Done"

_decide, _draw_policy, _new_scratch = interpreted(decide), interpreted(draw_policy), interpreted(new_scratch)
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
    parser: DependencyParser | TransitionSystem | str,
    sentence: Sentence | Sequence[str],
    *,
    gold: bool | None = None,
    labelled: bool = True,
    top: int = 3,
) -> list[Step]:
    """The steps of a parser, or of a transition system (see :func:`trace_gold`), on a sentence.

    The parser's steps are greedy, also where it parses with a beam. ``top`` is how many scores each step has. Where
    every word has a head, steps have costs too; ``gold=True`` insists on that, and ``gold=False`` does without.
    """
    if not isinstance(sentence, Sentence):
        sentence = Sentence.from_words(sentence)
    if not isinstance(parser, DependencyParser):
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
    system: str | TransitionSystem = "arc-standard",
    *,
    oracle: str = "static",
    labelled: bool = True,
    moves: Sequence[str] = (),
) -> list[Step]:
    """The steps that build the gold tree of a sentence.

    ``moves`` are made first, right or wrong, as in ``["SH", "LA_SBJ"]``; arcs without a label get that of the gold
    tree. Then the oracle goes on. Where the static oracle finds no move that may be made, which happens only after
    wrong ones, it makes the first that may be, such as Shift. The dynamic oracle takes a move of the least cost: of
    several that of the static one, or the first.

    Words are lifted where arcs cross, as a parser does before training, unless the system builds such trees.
    """
    system = find_system(system)
    if oracle not in ORACLES:
        raise ConfigError(f"oracle cannot be {oracle!r}; it is one of: {', '.join(ORACLES)}")
    if oracle == "dynamic" and system.costs is None:
        raise ConfigError(f"the system {system.name!r} has no dynamic oracle; choose the static one")
    check_tree(sentence)
    heads, relations = [token.head or 0 for token in sentence.tokens], list(sentence.column("deprel"))
    if system.projective and not is_projective(heads):
        heads, relations = projectivize(heads, relations)
    given = [_parsed_move(move, system) for move in moves]
    labels = list(dict.fromkeys([*relations, *(label for _, label in given if label)]))
    packed = _pack(system, sentence, heads, relations, labels)
    run = _Run(packed, sentence, labels, labelled=labelled, gold=True)
    return list(run.by_oracle(oracle, given))


def _pack(
    system: TransitionSystem, sentence: Sentence, heads: list[int], relations: list[str], labels: list[str]
) -> Packed:
    """A gold tree as a parser that has learned nothing yet would pack it."""
    parser = DependencyParser(system, features=["s0.w"])
    parser._learn_words([sentence])
    parser.labels_, parser.root_labels_, parser.word_labels_ = labels, [*range(len(labels))], [*range(len(labels))]
    numbers = [labels.index(relation) for relation in relations]
    return parser._pack([sentence.tokens], np.array(heads, np.int32), np.array(numbers, np.int32))


def _parsed_move(text: str, system: TransitionSystem) -> tuple[int, str | None]:
    """The number of a move and its label, from a text such as ``LA_SBJ``."""
    name, _, label = text.partition("_")
    names = system.move_names
    if name not in names:
        raise ConfigError(f"there is no move {name!r} in {system.name}; there are: {', '.join(names)}")
    move = names.index(name)
    if label and not system.moves[move].makes_arc:
        raise ConfigError(f"the move {text!r} has a label, but {name} makes no arc")
    return move, label or None


class _Run:
    """A sentence in the hands of a transition system, move by move."""

    def __init__(
        self, packed: Packed, sentence: Sentence, labels: Sequence[str], *, labelled: bool, gold: bool
    ) -> None:
        assert isinstance(packed.task, DependencyParsing)
        x = packed.instance(0)
        self.task = packed.task.plain()
        self.system, self.transitions = packed.task.system, packed.task.transitions.plain()
        self.staged, self.move_and_label = packed.task.staged, packed.task.move_and_label
        options = x.options.copy()
        options[STATIC] = 0  # costs are the dynamic oracle's
        self.x = x._replace(options=options, label_weight=np.array([1.0 if labelled else 0.0]))  # errors are the loss
        self.names = self.system.move_names
        self.words = (ROOT, *sentence.forms)
        self.labels, self.labelled, self.gold = labels, labelled, gold
        n = len(sentence)
        self.most_steps = int(self.task.steps_bound(n))
        self.state = self.task.state_view(np.zeros(self.task.state_size(n), np.int32), n)
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
            if self.system.moves[move].makes_arc:
                _, dependent = self.transitions.arc_of(self.x, self.state, move)
                label_number = self.labels.index(label) if label else int(self.x.gold_labels[dependent])
            yield self._step(number, move, label_number)
            self.transitions.make_move(self.x, self.state, move, label_number)

    def by_parser(self, parser: DependencyParser, top: int) -> Iterator[Step]:
        """Make the moves that a parser's policy chooses."""
        scratch = _new_scratch(self.task.n_actions, self.task.max_features, False)
        weights = parser.policy_.weights
        _seed_random(scratch.random, parser.seed, 0, 0)
        policy = _draw_policy(parser.policy_.mixture, LEARNED, scratch.random)

        def choose() -> tuple[int, list[tuple[int, float]]]:
            """The policy's action, and the scores of all, the best first; no scores where there is no choice."""
            n = self.task.actions(self.x, self.state, scratch.actions)
            action = int(_decide(self.task, self.x, self.state, weights, policy, scratch))
            scored = zip(scratch.actions[:n].tolist(), scratch.scores[:n].tolist(), strict=True) if n > 1 else ()
            return action, sorted(scored, key=lambda item: -item[1])

        for number in range(self.most_steps + 1):
            if self.task.is_final(self.x, self.state):
                yield self._step(number)
                return
            action, scored = choose()
            move, label = self.move_and_label(action)
            scores: dict[str, float] = {}
            for other, score in scored:
                other_move, other_label = self.move_and_label(other)
                scores.setdefault(_named(self.names[other_move], self._label(other_label)), score)
            label_scores: dict[str, float] = {}
            if self.staged and self.system.moves[move].makes_arc:
                self.task.step(self.x, self.state, action)
                action, scored = choose()
                _, label = self.move_and_label(action)
                label_scores = {self.labels[self.move_and_label(other)[1]]: score for other, score in scored}
            yield self._step(number, move, label, _first(scores, top), _first(label_scores, top))
            self.task.step(self.x, self.state, action)

    def _possible(self) -> list[int]:
        bits = int(self.transitions.admissible(self.x, self.state))
        return [move for move in range(len(self.names)) if bits >> move & 1]

    def _oracle_move(self, oracle: str) -> int:
        possible, static = self._possible(), int(self.transitions.static_move(self.x, self.state))
        if oracle == "static":
            return static if static in possible else possible[0]
        costs = self._costs()
        best = [move for move in possible if costs[move] == 0]
        return static if static in best else best[0]

    def _costs(self) -> dict[int, int]:
        if not self.gold or self.system.costs is None or self.task.is_final(self.x, self.state):
            return {}
        costs = np.zeros(len(self.names))
        self.transitions.move_costs(self.x, self.state, costs)
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
        if move is not None and self.system.moves[move].makes_arc:
            head, dependent = (int(node) for node in self.transitions.arc_of(self.x, state, move))
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


def _named(action: str, label: str | None) -> str:
    return f"{action}_{label}" if label else action
