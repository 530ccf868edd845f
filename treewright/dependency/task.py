"""Dependency parsing as a search space: one task for all transition systems, which a number tells apart.

So the engine is compiled once for all of them. The moves of a system are in a module of its own; here they meet labels,
features and costs. Labels are chosen together with the move (``joint``: one action for each move and label) or after it
(``staged``: first the move, then, if it makes an arc, one of the labels), which is several times as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import new_class
from typing import Any, ClassVar

import numpy as np

from treewright.dependency import arc_eager, arc_hybrid, arc_standard, configuration, swap
from treewright.dependency.configuration import (
    ATTACHED,
    FRONT,
    LEFT,
    PENDING,
    REDUCE,
    RIGHT,
    SHIFT,
    STATE,
    WRONG_HEADS,
    WRONG_LABELS,
    attach,
    begin,
    top,
)
from treewright.dependency.templates import Templates
from treewright.search import Task, compiled, inlined

__all__ = ["SYSTEMS", "DependencyParsing", "parsing_task"]

ARC_STANDARD, ARC_STANDARD_BUFFER, ARC_EAGER, ARC_HYBRID, SWAP_SYSTEM = range(5)
#: the transition systems by name
SYSTEMS = {
    "arc-standard": ARC_STANDARD,
    "arc-standard-buffer": ARC_STANDARD_BUFFER,
    "arc-eager": ARC_EAGER,
    "arc-hybrid": ARC_HYBRID,
    "swap": SWAP_SYSTEM,
}

ARCS = {
    "arc-standard": arc_standard.ARCS,
    "arc-standard-buffer": arc_standard.ARCS_AT_BUFFER,
    "arc-eager": arc_eager.ARCS,
    "arc-hybrid": arc_hybrid.ARCS,
    "swap": swap.ARCS,
}

# the options that compiled code reads
SYSTEM, STAGED, STATIC, FIRST_PLACE = range(4)

# joint actions: Shift, Reduce or Swap, then Left-Arc and Right-Arc for each label
FIRST_ARC = 2
MOVES = 4

_FAR = 1.0e6


@inlined
def admissible(x: Any, state: Any) -> int:
    """The moves that may be made, as bits."""
    system = x.options[SYSTEM]
    if system == ARC_HYBRID:
        return arc_hybrid.admissible(x, state)
    if system == ARC_EAGER:
        return arc_eager.admissible(x, state)
    if system == SWAP_SYSTEM:
        return swap.admissible(x, state)
    return arc_standard.admissible(x, state, system == ARC_STANDARD_BUFFER)


@inlined
def arc_of(x: Any, state: Any, move: int) -> tuple[int, int]:
    """The head and the dependent of the arc that a move makes."""
    front = state.registers[FRONT]
    row = FIRST_PLACE + 2 * (move - LEFT)
    if front >= x.n and x.options[SYSTEM] == ARC_EAGER:
        row = FIRST_PLACE + 4
    nodes = (top(state, 0), top(state, 1), np.int64(state.buffer[min(front, x.n)]))
    return nodes[x.options[row]], nodes[x.options[row + 1]]


@inlined
def offer_labels(x: Any, head: int, first: int, stride: int, out: Any, n: int) -> int:
    """Write the actions ``first + stride·label`` for the labels that an arc from this head may have, behind ``n``."""
    n_root = x.labels[0]
    begin, end = (1, 1 + n_root) if head == 0 else (1 + n_root, x.labels.shape[0])
    for k in range(begin, end):
        out[n + k - begin] = first + stride * x.labels[k]
    return n + end - begin


@inlined
def make_move(x: Any, state: Any, move: int, label: int) -> None:
    """Make a move, with its arc if it makes one."""
    system = x.options[SYSTEM]
    if move in (LEFT, RIGHT):
        head, dependent = arc_of(x, state, move)
        by_transition = system != ARC_EAGER or state.registers[FRONT] < x.n
        attach(x, state, head, dependent, label, by_transition)
    if system == ARC_HYBRID:
        arc_hybrid.move(state, move)
    elif system == ARC_EAGER:
        arc_eager.move(x, state, move)
    elif system == SWAP_SYSTEM:
        swap.move(state, move)
    else:
        arc_standard.move(state, move, system == ARC_STANDARD_BUFFER)


@compiled
def move_costs(x: Any, state: Any, out: Any) -> None:
    """What each of the four moves costs: the gold arcs it loses, or 0 and 1 with a static oracle."""
    system = x.options[SYSTEM]
    for move in range(MOVES):
        out[move] = _FAR
    if x.options[STATIC] == 0 and system != SWAP_SYSTEM:
        if system == ARC_HYBRID:
            arc_hybrid.costs(x, state, out)
        elif system == ARC_EAGER:
            arc_eager.costs(x, state, out)
        else:
            arc_standard.costs(x, state, system == ARC_STANDARD_BUFFER, out)
    else:
        out[static_move(x, state)] = 0.0
        for move in range(MOVES):
            out[move] = min(out[move], 1.0)
    least = _FAR
    moves = admissible(x, state)
    for move in range(MOVES):
        if moves >> move & 1:
            least = min(least, out[move])
    for move in range(MOVES):
        out[move] -= least


@compiled
def static_move(x: Any, state: Any) -> int:
    """The move of the static oracle."""
    system = x.options[SYSTEM]
    if system == ARC_HYBRID:
        return arc_hybrid.static(x, state)
    if system == ARC_EAGER:
        return arc_eager.static(x, state)
    if system == SWAP_SYSTEM:
        return swap.static(x, state)
    return arc_standard.static(x, state, system == ARC_STANDARD_BUFFER)


@compiled
def gold_label(x: Any, state: Any, move: int) -> int:
    """The label that the arc of a move should have; −2 where any will do, because the arc is an error anyway."""
    head, dependent = arc_of(x, state, move)
    by_transition = x.options[SYSTEM] != ARC_EAGER or state.registers[FRONT] < x.n
    if by_transition and x.gold_heads[dependent] == head:
        return np.int64(x.gold_labels[dependent])
    return np.int64(-2)


@inlined
def distance(a: int, b: int, nothing: int) -> int:
    """A distance in words, in classes: 1 to 5, up to 10, more; 1 where there is none."""
    gap = abs(b - a)
    if gap > 5:
        gap = 6 if gap <= 10 else 7
    if a > b:
        gap += 8
    return gap + 1 if a < nothing and b < nothing else np.int64(1)


class DependencyParsing(Task):
    """Labelled dependency parsing with attachment loss.

    A wrong head costs 1, a right head with a wrong label ``label_weight``: 1 makes the loss that of LAS, 0 that of UAS.
    """

    name = "dependency"
    state = STATE
    instance = ("attributes", "gold_heads", "gold_labels", "order")
    shared = ("options", "labels", "label_weight")
    max_steps = "12*n + 2"
    lean = ("initial", "is_final", "actions", "step", "features", "loss")
    oracle: str

    #: what compiled code is told of the system and the oracle
    exact: ClassVar[tuple[str, ...]] = ("arc-standard", "arc-standard-buffer", "arc-eager", "arc-hybrid")

    def __init__(
        self,
        system: str,
        n_labels: int,
        *,
        staged: bool = False,
        static: bool = False,
        label_weight: float = 1.0,
        root_labels: Sequence[int] | None = None,
        word_labels: Sequence[int] | None = None,
    ) -> None:
        self.system, self.staged = system, staged
        self.oracle = "exact" if system in self.exact and not static else "static"
        self.n_actions = MOVES + n_labels if staged else FIRST_ARC + 2 * n_labels
        self.width = MOVES if staged else 0
        places = [("s0", "s1", "b0").index(place) for arc in ARCS[system] for place in arc]
        every = range(n_labels)
        root, word = every if root_labels is None else root_labels, every if word_labels is None else word_labels
        self._tables = {
            "options": np.array([SYSTEMS[system], staged, static, *places], np.int32),
            "labels": np.array([len(root), *root, *word], np.int32),
            "label_weight": np.array([label_weight], np.float64),
        }

    @staticmethod
    def initial(x: Any, state: Any) -> None:
        """The root on the stack, all words in the buffer."""
        begin(x, state)

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Has every word a head? Boyd-Graber's system also puts the root back."""
        if x.options[SYSTEM] == ARC_STANDARD_BUFFER:
            return state.registers[FRONT] >= x.n
        return state.registers[ATTACHED] >= x.n

    @staticmethod
    def actions(x: Any, state: Any, out: Any) -> int:
        """The admissible moves; joint ones with all their labels; or the labels of an arc that waits for one."""
        if state.registers[PENDING] != 0:
            head, _ = arc_of(x, state, np.int64(state.registers[PENDING]))
            return offer_labels(x, head, MOVES, 1, out, 0)
        moves = admissible(x, state)
        n = 0
        if x.options[STAGED] != 0:
            for move in range(MOVES):
                if moves >> move & 1:
                    out[n] = move
                    n += 1
            return n
        for move in (SHIFT, REDUCE):
            if moves >> move & 1:
                out[n] = 0 if move == SHIFT else 1
                n += 1
        for move in (LEFT, RIGHT):
            if moves >> move & 1:
                head, _ = arc_of(x, state, np.int64(move))
                n = offer_labels(x, head, FIRST_ARC + move - LEFT, 2, out, n)
        return n

    @staticmethod
    def step(x: Any, state: Any, action: int) -> None:
        """Make a move, or remember it until its label is known."""
        move, label = np.int64(action), np.int64(-1)
        if state.registers[PENDING] != 0:
            move, label = np.int64(state.registers[PENDING]), np.int64(action) - MOVES
            state.registers[PENDING] = 0
        elif x.options[STAGED] != 0:
            if move in (LEFT, RIGHT):
                state.registers[PENDING] = move
                return
        elif move >= FIRST_ARC:
            label = (move - FIRST_ARC) // 2
            move = LEFT + (move - FIRST_ARC) % 2
        elif move == 1:
            move = np.int64(REDUCE)
        make_move(x, state, move, label)

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """The oracle: the loss that each action adds to the best that can still be reached."""
        weight = x.label_weight[0]
        if state.registers[PENDING] != 0:
            label = gold_label(x, state, np.int64(state.registers[PENDING]))
            for k in range(n):
                out[k] = 0.0 if label == -2 or actions[k] - MOVES == label else weight
            return
        costs = np.empty(MOVES, np.float64)
        move_costs(x, state, costs)
        if x.options[STAGED] != 0:
            for k in range(n):
                out[k] = costs[actions[k]]
            return
        moves = admissible(x, state)
        left = gold_label(x, state, np.int64(LEFT)) if moves >> LEFT & 1 else np.int64(-2)
        right = gold_label(x, state, np.int64(RIGHT)) if moves >> RIGHT & 1 else np.int64(-2)
        for k in range(n):
            action = np.int64(actions[k])
            if action < FIRST_ARC:
                out[k] = costs[SHIFT if action == 0 else REDUCE]
            else:
                is_right = (action - FIRST_ARC) % 2
                wanted = right if is_right else left
                out[k] = costs[LEFT + is_right]
                if wanted != -2 and (action - FIRST_ARC) // 2 != wanted:
                    out[k] += weight

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """Wrong heads, and wrong labels by their weight."""
        return np.float64(state.registers[WRONG_HEADS]) + x.label_weight[0] * np.float64(state.registers[WRONG_LABELS])

    @staticmethod
    def partial_loss(x: Any, state: Any) -> float:
        """The errors so far and those that cannot be avoided any more; unknown with a static oracle."""
        system = x.options[SYSTEM]
        if x.options[STATIC] != 0 or system == SWAP_SYSTEM:
            return -1.0
        if system == ARC_HYBRID:
            lost = arc_hybrid.least_loss(x, state)
        elif system == ARC_EAGER:
            lost = arc_eager.least_loss(x, state)
        else:
            lost = arc_standard.least_loss(x, state, system == ARC_STANDARD_BUFFER)
        waiting = 0.0
        if state.registers[PENDING] != 0:  # a move is chosen already, only its label is not
            costs = np.empty(MOVES, np.float64)
            move_costs(x, state, costs)
            waiting = costs[state.registers[PENDING]]
        weight = x.label_weight[0]
        return (
            waiting
            + np.float64(state.registers[WRONG_HEADS] + lost)
            + weight * np.float64(state.registers[WRONG_LABELS])
        )

    def shared_arrays(self) -> dict[str, Any]:
        """The templates, the labels and the options."""
        return self._tables


@cache
def parsing_task(templates: Templates) -> type[DependencyParsing]:
    """The task with the features that some templates describe, written as code and compiled with the rest."""
    names: dict[str, Any] = {"np": np, "arc_of": arc_of, "distance": distance, "__name__": __name__}
    names |= {name: value for name, value in vars(configuration).items() if name.isupper()}
    exec(templates.source(), names)
    body = {
        "features": staticmethod(names["features"]),
        "max_features": max(len(templates.moves), len(templates.labels)),
        "name": "dependency",
        "__module__": __name__,
    }
    return new_class("DependencyParsing", (DependencyParsing,), {}, lambda space: space.update(body))
