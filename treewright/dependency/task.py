"""Dependency parsing as a search space: a task class for each transition system and set of templates.

A system brings its moves and oracles; here they meet labels, features and costs. :func:`parsing_task` composes the
class: the functions of the system are values in the closures of the task's functions, and so each task is compiled with
its own system and no other. Labels are chosen together with the move (``joint``: one action for each move and label) or
after it (``staged``: first the move, then, if it makes an arc, one of the labels), which is several times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import new_class
from typing import Any, ClassVar, NamedTuple

import numpy as np

from treewright.dependency import configuration, reading
from treewright.dependency.configuration import (
    ATTACHED,
    DEPTH,
    FRONT,
    PENDING,
    PLACES,
    STATE,
    WRONG_HEADS,
    WRONG_LABELS,
    attach,
    begin,
    node_at,
)
from treewright.dependency.reading import position
from treewright.dependency.systems import TransitionSystem
from treewright.dependency.templates import WORD_ATTRIBUTES, Templates, positions_source
from treewright.errors import ConfigError
from treewright.search import Task, compiled, inlined, interpreted
from treewright.search.layout import parse_size

__all__ = ["DependencyParsing", "Transitions", "parsing_task"]

# the options that compiled code reads
STAGED, STATIC = range(2)

_FAR = 1.0e6


class Transitions(NamedTuple):
    """The compiled functions of a system, put together: what the task, traces and tests call."""

    admissible: Callable[..., Any]
    """``(x, state) → bits``: the moves that may be made."""
    arc_of: Callable[..., Any]
    """``(x, state, move) → (head, dependent)``: the arc that a move makes."""
    make_move: Callable[..., Any]
    """``(x, state, move, label)``: makes a move, with its arc if it makes one."""
    static_move: Callable[..., Any]
    """``(x, state) → move``: the move of the static oracle."""
    move_costs: Callable[..., Any]
    """``(x, state, out)``: what each move costs: the gold arcs it loses (or an estimate), or 0 and 1 with a static
    oracle."""
    gold_label: Callable[..., Any]
    """``(x, state, move) → label``: the label of the gold arc; −2 where any will do, as the arc is an error anyway."""

    def plain(self) -> Transitions:
        """The same functions, interpreted."""
        return Transitions(*map(interpreted, self))


@inlined
def offer_labels(x: Any, head: int, first: int, stride: int, out: Any, n: int) -> int:
    """Write the actions ``first + stride·label`` for the labels that an arc from this head may have, behind ``n``."""
    n_root = x.labels[0]
    begin, end = (1, 1 + n_root) if head == 0 else (1 + n_root, x.labels.shape[0])
    for k in range(begin, end):
        out[n + k - begin] = first + stride * x.labels[k]
    return n + end - begin


class DependencyParsing(Task):
    """Labelled dependency parsing with attachment loss; :func:`parsing_task` makes the class of a system.

    A wrong head costs 1, a right head with a wrong label ``label_weight``: 1 makes the loss that of LAS, 0 that of UAS.

    Actions are numbered as follows. Staged: the moves, and from ``width`` on the labels. Joint: the moves without arcs,
    and from ``first_arc`` on, for each label, the moves with arcs.
    """

    name = "dependency"
    instance = ("attributes", "gold_heads", "gold_labels", "prepared")
    shared = ("options", "labels", "label_weight")
    lean = ("initial", "is_final", "actions", "step", "features", "positions", "structure", "loss")
    oracle: str

    system: ClassVar[TransitionSystem]
    transitions: ClassVar[Transitions]
    plain_moves: ClassVar[tuple[int, ...]]
    """The moves that make no arcs."""
    arc_moves: ClassVar[tuple[int, ...]]
    """The moves that make arcs."""
    first_arc: ClassVar[int]
    """The first joint action that makes an arc."""
    first_label: ClassVar[int]
    """The first staged action that is a label: the width of a staged task."""

    def __init__(
        self,
        n_labels: int,
        *,
        staged: bool = False,
        static: bool = False,
        label_weight: float = 1.0,
        root_labels: Sequence[int] | None = None,
        word_labels: Sequence[int] | None = None,
    ) -> None:
        self.staged = staged
        self.oracle = "static" if static or self.system.costs is None else "exact"
        self.n_actions = self.first_label + n_labels if staged else self.first_arc + len(self.arc_moves) * n_labels
        self.width = self.first_label if staged else 0
        self.max_positions = len(self.system.slots) + (2 if staged else 0)
        self.n_relations = 2 * n_labels  # those of dependents on the left, and on the right
        every = range(n_labels)
        root, word = every if root_labels is None else root_labels, every if word_labels is None else word_labels
        self._tables = {
            "options": np.array([staged, static], np.int32),
            "labels": np.array([len(root), *root, *word], np.int32),
            "label_weight": np.array([label_weight], np.float64),
        }

    def move_and_label(self, action: int) -> tuple[int, int]:
        """The move and the label of an action; −1 for none. A label that is chosen after its move has the move −1."""
        if self.staged:
            return (-1, action - self.first_label) if action >= self.first_label else (action, -1)
        if action < self.first_arc:
            return self.plain_moves[action], -1
        label, k = divmod(action - self.first_arc, len(self.arc_moves))
        return self.arc_moves[k], label

    def action_of(self, move: int, label: int = -1) -> int:
        """The action that makes a move, with a label if it makes an arc and labels are chosen at once."""
        if self.staged or move not in self.arc_moves:
            return move if self.staged else self.plain_moves.index(move)
        return self.first_arc + len(self.arc_moves) * label + self.arc_moves.index(move)

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """Wrong heads, and wrong labels by their weight."""
        return np.float64(state.registers[WRONG_HEADS]) + x.label_weight[0] * np.float64(state.registers[WRONG_LABELS])

    def shared_arrays(self) -> dict[str, Any]:
        """The labels, the options, and what a wrong label costs."""
        return self._tables

    def encode(self, sentence: Sequence[int]) -> dict[str, Any]:
        """The arrays of a bare tree, given by the heads of its words: all words differ, and all labels are 0."""
        n, prepare = len(sentence), self.system.prepare
        return {
            "attributes": np.arange((n + 2) * len(WORD_ATTRIBUTES)),
            "gold_heads": np.array([-1, *sentence, -1]),
            "gold_labels": np.array([-1, *[0] * n, -1]),
            "prepared": np.zeros(0, np.int32) if prepare is None else prepare(np.array(sentence, np.int32)),
        }


@cache
def parsing_task(system: TransitionSystem, templates: Templates, *, recording: bool = False) -> type[DependencyParsing]:
    """The task of a transition system, with the features that some templates describe, written as code.

    With ``recording``, a state also records its actions and the order of its arcs. The task then has a ``structure``.

    >>> from treewright.dependency.systems import find_system
    >>> parsing_task(find_system("arc-hybrid"), Templates(["s0.w", "b0.w"]))(3, staged=True).n_actions
    7
    """
    transitions = _transitions(system, recording)
    plain_moves = tuple(k for k, move in enumerate(system.moves) if not move.makes_arc)
    arc_moves = tuple(k for k, move in enumerate(system.moves) if move.makes_arc)
    # Tables have the same shape for all systems of up to four moves, as they always had in model files: a system of
    # three moves leaves a column without use.
    first_arc = max(len(plain_moves), 2)
    first_label = max(len(system.moves), 4)
    names: dict[str, Any] = {"np": np, "arc_of": transitions.arc_of, "__name__": __name__}
    names |= {name: getattr(reading, name) for name in reading.__all__}
    names |= {name: value for name, value in vars(configuration).items() if name.isupper()}
    names |= {"STAGED": STAGED}
    exec(templates.source() + positions_source(system.slots), names)
    body = {
        **_protocol(system, transitions, plain_moves, arc_moves, first_arc, first_label, recording),
        "features": names["features"],
        "positions": names["positions"],
        "max_features": max(len(templates.moves), len(templates.labels)),
        "state": {**STATE, **system.state, **(_record(system) if recording else {})},
        "max_steps": system.max_steps,
        "max_structure": f"{system.max_steps} + 5*n + 7" if recording else 0,
        "system": system,
        "transitions": transitions,
        "plain_moves": plain_moves,
        "arc_moves": arc_moves,
        "first_arc": first_arc,
        "first_label": first_label,
        "name": "dependency",
        "__module__": __name__,
    }
    return new_class("DependencyParsing", (DependencyParsing,), {}, lambda space: space.update(body))


def _transitions(system: TransitionSystem, recording: bool) -> Transitions:
    """Put the functions of a system together."""
    n_moves = len(system.moves)
    makes_arc = sum(1 << k for k, move in enumerate(system.moves) if move.makes_arc)
    heads = tuple(PLACES.index(move.head or "s0") for move in system.moves)
    dependents = tuple(PLACES.index(move.dependent or "s0") for move in system.moves)
    admissible, static, change = system.admissible, system.static, system.move
    is_late, costs = system.is_late or _never, system.costs or system.estimate or _nothing
    has_costs = costs is not _nothing
    record_arc = _record_arc if recording else _keep_no_arc

    @inlined
    def declared_arc(x: Any, state: Any, move: int) -> tuple[int, int]:
        return node_at(x, state, heads[move]), node_at(x, state, dependents[move])

    arc_of = system.arc or declared_arc

    @inlined
    def make_move(x: Any, state: Any, move: int, label: int) -> None:
        if makes_arc >> move & 1:
            head, dependent = arc_of(x, state, move)
            record_arc(state, dependent)
            attach(x, state, head, dependent, label, not is_late(x, state))
        change(x, state, move)

    @compiled
    def move_costs(x: Any, state: Any, out: Any) -> None:
        for move in range(n_moves):
            out[move] = _FAR
        if has_costs and x.options[STATIC] == 0:
            costs(x, state, out)
        else:
            out[static(x, state)] = 0.0
            for move in range(n_moves):
                out[move] = min(out[move], 1.0)
        least = _FAR
        moves = admissible(x, state)
        for move in range(n_moves):
            if moves >> move & 1:
                least = min(least, out[move])
        for move in range(n_moves):
            out[move] -= least

    @compiled
    def gold_label(x: Any, state: Any, move: int) -> int:
        head, dependent = arc_of(x, state, move)
        if not is_late(x, state) and x.gold_heads[dependent] == head:
            return np.int64(x.gold_labels[dependent])
        return np.int64(-2)

    return Transitions(admissible, arc_of, make_move, static, move_costs, gold_label)


def _protocol(
    system: TransitionSystem,
    transitions: Transitions,
    plain_moves: tuple[int, ...],
    arc_moves: tuple[int, ...],
    first_arc: int,
    first_label: int,
    recording: bool,
) -> dict[str, Callable[..., Any]]:
    """The functions of the task of a system, all but the features and the loss."""
    n_moves, n_plain, n_arcs = len(system.moves), len(plain_moves), len(arc_moves)
    makes_arc = sum(1 << move for move in arc_moves)
    admissible, arc_of, make_move, _, move_costs, gold_label = transitions
    change_initial, is_complete_parse = system.initial or _unchanged, system.is_final or _all_attached
    record_action = _record_action if recording else _keep_no_action
    least_loss, is_known = system.least_loss or _unknown, system.costs is not None and system.least_loss is not None

    def initial(x: Any, state: Any) -> None:
        """The root on the stack, all words in the buffer."""
        begin(x, state)
        change_initial(x, state)

    def is_final(x: Any, state: Any) -> bool:
        """Is the parse complete?"""
        return is_complete_parse(x, state)

    def actions(x: Any, state: Any, out: Any) -> int:
        """The admissible moves; joint ones with all their labels; or the labels of an arc that waits for one."""
        if state.registers[PENDING] != 0:
            head, _ = arc_of(x, state, np.int64(state.registers[PENDING]) - 1)
            return offer_labels(x, head, first_label, 1, out, 0)
        moves = admissible(x, state)
        n = 0
        if x.options[STAGED] != 0:
            for move in range(n_moves):
                if moves >> move & 1:
                    out[n] = move
                    n += 1
            return n
        for k in range(n_plain):
            if moves >> plain_moves[k] & 1:
                out[n] = k
                n += 1
        for k in range(n_arcs):
            if moves >> arc_moves[k] & 1:
                head, _ = arc_of(x, state, np.int64(arc_moves[k]))
                n = offer_labels(x, head, first_arc + k, n_arcs, out, n)
        return n

    def step(x: Any, state: Any, action: int) -> None:
        """Make a move, or remember it until its label is known."""
        move, label = np.int64(action), np.int64(-1)
        record_action(state, action)
        if state.registers[PENDING] != 0:
            move, label = np.int64(state.registers[PENDING]) - 1, np.int64(action) - first_label
            state.registers[PENDING] = 0
        elif x.options[STAGED] != 0:
            if makes_arc >> move & 1:
                state.registers[PENDING] = move + 1
                return
        elif move >= first_arc:
            label = (move - first_arc) // n_arcs
            move = np.int64(arc_moves[(move - first_arc) % n_arcs])
        else:
            move = np.int64(plain_moves[move])
        make_move(x, state, move, label)

    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """The oracle: the loss that each action adds to the best that can still be reached."""
        weight = x.label_weight[0]
        if state.registers[PENDING] != 0:
            label = gold_label(x, state, np.int64(state.registers[PENDING]) - 1)
            for k in range(n):
                out[k] = 0.0 if label == -2 or actions[k] - first_label == label else weight
            return
        costs = np.empty(n_moves, np.float64)
        move_costs(x, state, costs)
        if x.options[STAGED] != 0:
            for k in range(n):
                out[k] = costs[actions[k]]
            return
        moves = admissible(x, state)
        wanted = np.empty(n_arcs, np.int64)
        for k in range(n_arcs):
            move = np.int64(arc_moves[k])
            wanted[k] = gold_label(x, state, move) if moves >> move & 1 else np.int64(-2)
        for k in range(n):
            action = np.int64(actions[k])
            if action < first_arc:
                out[k] = costs[plain_moves[action]]
            else:
                arc, label = (action - first_arc) % n_arcs, (action - first_arc) // n_arcs
                out[k] = costs[arc_moves[arc]]
                if wanted[arc] != -2 and label != wanted[arc]:
                    out[k] += weight

    def partial_loss(x: Any, state: Any) -> float:
        """The errors so far and those that cannot be avoided any more; unknown with a static oracle."""
        if not is_known or x.options[STATIC] != 0:
            return -1.0
        lost = least_loss(x, state)
        waiting = 0.0
        if state.registers[PENDING] != 0:  # a move is chosen already, only its label is not
            costs = np.empty(n_moves, np.float64)
            move_costs(x, state, costs)
            waiting = costs[state.registers[PENDING] - 1]
        weight = x.label_weight[0]
        return (
            waiting
            + np.float64(state.registers[WRONG_HEADS] + lost)
            + weight * np.float64(state.registers[WRONG_LABELS])
        )

    functions = (initial, is_final, actions, step, expert_costs, partial_loss, *((structure,) if recording else ()))
    return {function.__name__: function for function in functions}


# ---- states that record how they came about


def _record(system: TransitionSystem) -> dict[str, int | str]:
    """Further fields: the dependents of the arcs in their order, and the actions, behind their number."""
    if parse_size(system.max_steps, quadratic=True).squared:
        problem = "takes too many steps for a stack-LSTM, whose states record them: max_steps must be linear in n"
        raise ConfigError(problem, setting="system", value=system.name)
    return {"made": "n + 2", "taken": f"{system.max_steps} + 1"}


@inlined
def _record_arc(state: Any, dependent: int) -> None:
    state.made[state.registers[ATTACHED]] = dependent


@inlined
def _record_action(state: Any, action: int) -> None:
    state.taken[0] += 1
    state.taken[state.taken[0]] = action


def structure(x: Any, state: Any, out: Any) -> int:
    """The stack, the buffer, the arcs and the actions."""
    n, depth, front = np.int64(x.n), np.int64(state.registers[DEPTH]), np.int64(state.registers[FRONT])
    out[0] = depth
    for k in range(depth):
        out[1 + k] = position(np.int64(state.stack[k]), n)
    end = 1 + depth
    out[end] = n - front
    for k in range(n - front):
        out[end + 1 + k] = position(np.int64(state.buffer[n - 1 - k]), n)
    end += 1 + n - front
    arcs = np.int64(state.registers[ATTACHED])
    out[end] = arcs
    for k in range(arcs):
        dependent = np.int64(state.made[k])
        head, label = np.int64(state.heads[dependent]), np.int64(state.labels[dependent])
        out[end + 1 + 3 * k] = position(head, n)
        out[end + 2 + 3 * k] = position(dependent, n)
        out[end + 3 + 3 * k] = 2 * label + (1 if dependent > head else 0)
    end += 1 + 3 * arcs
    actions = np.int64(state.taken[0])
    out[end] = actions
    for k in range(actions):
        out[end + 1 + k] = state.taken[1 + k]
    return end + 1 + actions


# what stands for the functions that a system does not have


@inlined
def _never(x: Any, state: Any) -> bool:
    return False


@inlined
def _nothing(x: Any, state: Any, out: Any) -> None:
    return


@inlined
def _keep_no_arc(state: Any, dependent: int) -> None:
    return


@inlined
def _keep_no_action(state: Any, action: int) -> None:
    return


@inlined
def _unchanged(x: Any, state: Any) -> None:
    return


@inlined
def _all_attached(x: Any, state: Any) -> bool:
    return state.registers[ATTACHED] >= x.n


@inlined
def _unknown(x: Any, state: Any) -> int:
    return 0
