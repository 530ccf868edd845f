"""Dependency trees step by step: stack, buffer and arcs, the chosen move, and the cost and score of each move.

:func:`trace_gold` follows a gold tree, as the tables of the lectures do; :func:`trace_transitions` follows a parser.

>>> from treewright.corpora import Token
>>> they, sat = Token("They", head=2, deprel="nsubj"), Token("sat", head=0, deprel="root")
>>> for step in trace_gold(Sentence((they, sat))).steps:
...     print(step.number, step.state["stack"], step.state["buffer"], step.action)
0 (0,) (1, 2) SHIFT
1 (0, 1) (2,) SHIFT
2 (0, 1, 2) () LEFTARC_nsubj
3 (0, 2) () RIGHTARC_root
4 (0,) () None

Everything runs in plain Python, with the same functions that are compiled for parsing.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.corpora import Sentence, Token
from treewright.dependency.configuration import DEPTH, FRONT, PENDING
from treewright.dependency.projective import LIFTED, deprojectivize, projectivize
from treewright.dependency.systems import TransitionSystem, find_system
from treewright.dependency.task import DependencyParsing
from treewright.dependency.templates import DISTANCES, TREE_ATTRIBUTES, Templates
from treewright.dependency.trees import check_tree, is_projective
from treewright.errors import ConfigError
from treewright.search import Packed, interpreted
from treewright.search.stepping import Decision, Drawing, episode_steps, expert_choice
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.dependency.parser import DependencyParser

__all__ = ["ORACLES", "trace_gold", "trace_transitions"]

ORACLES = ("static", "dynamic")

_loss = interpreted(DependencyParsing.loss)


def trace_transitions(
    parser: DependencyParser, sentence: Sentence, gold: Sentence | None, follow: str, *, labelled: bool
) -> Trace:
    """The transitions of a parser, with costs if there is a ``gold`` tree.

    Costs are the numbers of lost gold arcs, by the dynamic oracle if the system has one, whichever oracle the parser
    was trained with. Without ``labelled``, wrong labels cost nothing, and reports omit labels.
    """
    judge = copy.copy(parser)  # the same weights and words, but its own oracle
    judge.oracle, judge.label_weight = "dynamic", 1.0 if labelled else 0.0
    if gold is None:
        packed = judge._pack([sentence.tokens])
    else:
        check_tree(gold)
        heads, labels = [token.head or 0 for token in gold.tokens], gold.column("deprel")
        packed = judge._pack_gold([sentence.with_tree(heads, labels)], learn_labels=False)
    steps, state = episode_steps(
        packed,
        _Configurations(
            packed.task,
            parser.labels_,
            gold=gold is not None,
            templates=parser.templates_,
            words=sentence.tokens,
        ),
        policy=parser.policy_,
        beam=parser.beam,
        seed=parser.seed,
        gold=gold is not None,
        choose=expert_choice if follow == "gold" else None,
    )
    about = {"model": type(parser).__name__, "mode": parser.mode, "beam": parser.beam, "follow": follow}
    about |= _about(packed.task, labelled)
    result = _tree(state, parser.labels_)
    return Trace(parser.task, "transitions", sentence.forms, steps, result, gold is not None, about)


def trace_gold(
    sentence: Sentence,
    system: str | TransitionSystem = "arc-standard",
    *,
    oracle: str = "static",
    labelled: bool = True,
    moves: Sequence[str] = (),
) -> Trace:
    """The transitions that build the gold tree of a sentence.

    ``moves`` are made first, correct or not, as in ``["SH", "LA_SBJ"]``; arcs without a label get the gold label. Then
    the oracle continues. If the move of the static oracle is not admissible, which happens only after wrong moves, it
    makes the first admissible move, such as Shift. The dynamic oracle takes a move of least cost: of several the static
    oracle's, or the first.

    If arcs cross, words are lifted, as before training, unless the system builds such trees. Without ``labelled``, arcs
    have no labels.
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
    if not labelled:
        relations, given = [""] * len(relations), [(move, None) for move, _ in given]
    labels = list(dict.fromkeys([*relations, *(label for _, label in given if label)]))
    packed = _packed(system, sentence, heads, relations, labels)
    drawing = _Configurations(packed.task, labels, gold=True)
    steps, state = episode_steps(packed, drawing, gold=True, choose=_Guide(packed.task, labels, given, oracle))
    if len(given) >= len(steps):
        raise ConfigError(f"there are {len(given)} moves, but after {len(steps) - 1} of them the tree is complete")
    about = {**_about(packed.task, labelled), "followed": oracle}
    return Trace("dependency", "transitions", sentence.forms, steps, _tree(state, labels), True, about)


def _about(task: Any, labelled: bool) -> dict[str, Any]:
    oracle = "dynamic" if task.oracle == "exact" else "static"
    names = list(task.system.move_names)
    return {"system": task.system.name, "moves": names, "oracle": oracle, "labelled": labelled}


def _tree(state: Any, names: Sequence[str]) -> dict[str, Any]:
    """The tree of a final state as a parser returns it, with lifted words moved back."""
    heads, labels = state.heads[1:-1].tolist(), [names[k] or "_" for k in state.labels[1:-1].tolist()]
    if any(LIFTED in label for label in labels):
        heads, labels = deprojectivize(heads, labels)
    return {"heads": heads, "labels": labels}


def _packed(
    system: TransitionSystem, sentence: Sentence, heads: list[int], relations: list[str], labels: list[str]
) -> Packed:
    """A gold tree, packed by an unfitted parser."""
    from treewright.dependency.parser import DependencyParser

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


class _Configurations(Drawing):
    """Stack, buffer and arcs by the numbers of words, and transitions by the names of moves and labels."""

    def __init__(
        self,
        task: Any,
        labels: Sequence[str],
        *,
        gold: bool,
        templates: Templates | None = None,
        words: Sequence[Token] = (),
    ) -> None:
        self.task, self.moves, self.labels, self.gold = task, task.system.move_names, labels, gold
        self.templates, self.words = templates, words

    def state(self, x: Any, state: Any) -> dict[str, Any]:
        """A configuration. A field that only some systems have is not shown."""
        depth, front, pending = (int(state.registers[k]) for k in (DEPTH, FRONT, PENDING))
        arcs = enumerate(zip(state.heads[1 : x.n + 1].tolist(), state.labels[1 : x.n + 1].tolist(), strict=True), 1)
        return {
            "stack": state.stack[:depth].tolist(),
            "buffer": state.buffer[front : x.n].tolist(),
            "arcs": [
                {"head": head, "dependent": word, "label": self.labels[label] or None}
                for word, (head, label) in arcs
                if head >= 0
            ],
            "pending": self.moves[pending - 1] if pending else None,
        }

    def action(self, x: Any, state: Any, action: int) -> str:
        """A transition with its label, as in ``LA_SBJ``; only the label if the move is already chosen."""
        move, label = self.task.move_and_label(action)
        names = [self.moves[move]] if move >= 0 else []
        return "_".join([*names, *([self.labels[label]] if label >= 0 and self.labels[label] else [])])

    def features(self, x: Any, state: Any, count: int) -> Sequence[str]:
        """The templates, each with its value, as in ``s0.w b0.t = saw NN``."""
        pending = int(state.registers[PENDING])
        templates = () if self.templates is None else self.templates.labels if pending else self.templates.moves
        if len(templates) != count:
            return super().features(x, state, count)
        ends = self.task.transitions.plain().arc_of(x, state, pending - 1) if pending else (-1, -1)
        seen = _Seen(x, state, self.words, self.labels, *map(int, ends))
        return [f"{template} = {' '.join(map(seen.atom, template.split()))}" for template in templates]

    def measures(self, x: Any, state: Any) -> dict[str, float]:
        """The arcs made so far that are not gold."""
        return {"errors": float(_loss(x, state))} if self.gold else {}


class _Seen:
    """The values of templates in a configuration, as text."""

    def __init__(
        self, x: Any, state: Any, words: Sequence[Token], labels: Sequence[str], head: int, dependent: int
    ) -> None:
        self.state, self.words, self.labels, self.n = state, words, labels, int(x.n)
        self.depth, self.front = int(state.registers[DEPTH]), int(state.registers[FRONT])
        self.ends = {"h": head, "d": dependent}

    def atom(self, atom: str) -> str:
        """The value of an atom such as ``s0.w``; ``–`` where there is no such word."""
        place, what = atom.split(".")
        if what == "d":
            one, other = (self.place(name) for name in DISTANCES[atom])
            return "–" if one < 0 or other < 0 else str(other - one)
        node = self.place(place)
        if node < 0:
            return "–"
        if node == 0 and what not in TREE_ATTRIBUTES:
            return "ROOT"
        if what == "l":
            label = int(self.state.labels[node])
            return self.labels[label] if int(self.state.heads[node]) >= 0 else "–"
        if what in ("vl", "sl"):
            return self._children(node, left=True, labels=what == "sl")
        if what in ("vr", "sr"):
            return self._children(node, left=False, labels=what == "sr")
        token = self.words[node - 1]
        values = {"w": token.form, "m": token.lemma, "u": token.upos, "f": token.feats, "s": token.form[-3:]}
        values["t"] = token.xpos if token.xpos != "_" else token.upos
        values |= {"wt": f"{token.form}/{values['t']}", "g": f"{token.upos}|{token.feats}"}
        return values.get(what, token.form)

    def place(self, name: str) -> int:
        """The number of the word at a place such as ``s0`` or ``b0l``; −1 where there is none."""
        base = name[:2] if name[0] in "sb" else name[0]
        kind, rest = base[0], name[len(base) :]
        if base in self.ends:
            node = self.ends[base]
        elif kind == "s":
            at = self.depth - 1 - int(base[1])
            node = int(self.state.stack[at]) if at >= 0 else -1
        else:
            at = self.front + int(base[1])
            node = int(self.state.buffer[at]) if at < self.n else -1
        return node if not rest or node < 0 else self._relative(node, rest)

    def _relative(self, node: int, rest: str) -> int:
        if rest == "h":
            return int(self.state.heads[node])
        if rest in "pn":
            other = node + (1 if rest == "n" else -1)
            return other if 0 <= other <= self.n else -1
        children = self._of(node, left=rest[0] == "l")
        number = int(rest[1:] or 1)
        return children[number - 1] if len(children) >= number else -1

    def _of(self, node: int, *, left: bool) -> list[int]:
        """The children on a side, the outermost first."""
        found = [k for k in range(1, self.n + 1) if int(self.state.heads[k]) == node and (k < node) == left]
        return found if left else found[::-1]

    def _children(self, node: int, *, left: bool, labels: bool) -> str:
        found = self._of(node, left=left)
        if not labels:
            return str(len(found))
        return "{" + ",".join(sorted({self.labels[int(self.state.labels[k])] for k in found})) + "}"


class _Guide:
    """Chooses the given moves, and then the moves of an oracle; labels are gold unless they are given."""

    def __init__(self, task: Any, labels: Sequence[str], given: Sequence[tuple[int, str | None]], oracle: str) -> None:
        self.task, self.transitions, self.labels, self.oracle = task, task.transitions.plain(), labels, oracle
        self.given, self.made = given, 0

    def __call__(self, decision: Decision) -> int:
        costs: dict[int, float] = {}  # of the admissible moves, each with its best label
        for action, cost in zip(decision.actions, decision.costs or (), strict=True):
            move, _ = self.task.move_and_label(action)
            costs[move] = min(cost, costs.get(move, cost))
        is_given = self.made < len(self.given)
        move, label = self.given[self.made] if is_given else (self._oracle_move(decision, costs), None)
        self.made += 1
        system = self.task.system
        if move not in costs:
            possible = ", ".join(system.move_names[each] for each in sorted(costs))
            message = f"move {self.made}, {system.move_names[move]}, is not possible there; choose from: {possible}"
            raise ConfigError(message)
        number = -1
        if system.moves[move].makes_arc:
            _, dependent = self.transitions.arc_of(decision.x, decision.state, move)
            number = self.labels.index(label) if label else int(decision.x.gold_labels[dependent])
        return int(self.task.action_of(move, number))

    def _oracle_move(self, decision: Decision, costs: dict[int, float]) -> int:
        static = int(self.transitions.static_move(decision.x, decision.state))
        if self.oracle == "static":
            return static if static in costs else min(costs)
        best = [move for move in sorted(costs) if costs[move] == 0.0]
        return static if static in best else best[0]
