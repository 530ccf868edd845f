"""Dependency parsing as a search space: one task for all transition systems, which a number tells apart.

So the engine is compiled once for all of them. The moves of a system are in a module of its own; here they meet labels,
features and costs. Labels are chosen together with the move (``joint``: one action for each move and label) or after it
(``staged``: first the move, then, if it makes an arc, one of the labels), which is several times as fast.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from treewright.dependency import arc_eager, arc_hybrid, arc_standard, swap
from treewright.dependency.configuration import LEFT, REDUCE, RIGHT, SHIFT, STATE, attach, begin, top
from treewright.dependency.templates import MOST_ATOMS, PLACES, WORD_ATTRIBUTES, Templates
from treewright.search import Task, compiled, mix

__all__ = ["SYSTEMS", "DependencyParsing"]

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
SYSTEM, STAGED, STATIC = range(3)

# joint actions: Shift, Reduce or Swap, then Left-Arc and Right-Arc for each label
FIRST_ARC = 2
MOVES = 4

_PLACES = len(PLACES)
_ATTRIBUTES = len(WORD_ATTRIBUTES)
_LABEL, _LEFT_COUNT, _RIGHT_COUNT, _LEFT_LABELS, _RIGHT_LABELS, _DISTANCE = range(_ATTRIBUTES, _ATTRIBUTES + 6)
_FAR = 1.0e6
_SHIFT17, _MASK = np.int64(17), np.int64(0x7FFFFFFF)


@compiled
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


@compiled
def arc_of(x: Any, state: Any, move: int) -> tuple[int, int]:
    """The head and the dependent of the arc that a move makes."""
    ends = np.int64(x.n) - np.int64(state.front[0]) == 0 and x.arcs.shape[0] > 2
    row = 2 if ends else move - LEFT
    nodes = (
        top(state, 0),
        top(state, 1),
        np.int64(state.buffer[min(state.front[0], x.n)]),
    )
    return nodes[x.arcs[row, 0]], nodes[x.arcs[row, 1]]


@compiled
def make_move(x: Any, state: Any, move: int, label: int) -> None:
    """Make a move, with its arc if it makes one."""
    system = x.options[SYSTEM]
    if move == LEFT or move == RIGHT:
        head, dependent = arc_of(x, state, move)
        by_transition = system != ARC_EAGER or state.front[0] < x.n
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
    by_transition = x.options[SYSTEM] != ARC_EAGER or state.front[0] < x.n
    if by_transition and x.gold_heads[dependent] == head:
        return np.int64(x.gold_labels[dependent])
    return np.int64(-2)


@compiled
def _places(x: Any, state: Any, out: Any) -> None:
    """Fill in the nodes of :data:`~treewright.dependency.templates.PLACES`; n + 1 where there is nothing."""
    nothing = np.int32(x.n + 1)
    depth, front = state.depth[0], state.front[0]
    for k in range(4):
        out[k] = state.stack[depth - 1 - k] if depth > k else nothing
        out[4 + k] = state.buffer[front + k] if front + k < x.n else nothing
    head, dependent = np.int32(nothing), np.int32(nothing)
    if state.pending[0] != 0:
        h, d = arc_of(x, state, np.int64(state.pending[0]))
        head, dependent = np.int32(h), np.int32(d)
    out[8], out[9] = head, dependent
    s0, s1, s2, b0 = out[0], out[1], out[2], out[4]
    out[10] = state.left[s0] or nothing
    out[11] = state.left2[s0] or nothing
    out[12] = state.right[s0] or nothing
    out[13] = state.right2[s0] or nothing
    out[14] = state.heads[s0] if state.heads[s0] >= 0 else nothing
    out[15] = state.left[s1] or nothing
    out[16] = state.left2[s1] or nothing
    out[17] = state.right[s1] or nothing
    out[18] = state.right2[s1] or nothing
    out[19] = state.heads[s1] if state.heads[s1] >= 0 else nothing
    out[20] = state.left[s2] or nothing
    out[21] = state.right[s2] or nothing
    out[22] = state.left[b0] or nothing
    out[23] = state.left2[b0] or nothing
    out[24] = state.right[b0] or nothing
    out[25] = state.right2[b0] or nothing
    if state.pending[0] != 0:
        out[26] = state.left[head] or nothing
        out[27] = state.left2[head] or nothing
        out[28] = state.right[head] or nothing
        out[29] = state.right2[head] or nothing
        out[30] = state.heads[head] if state.heads[head] >= 0 else nothing
        out[31] = state.left[dependent] or nothing
        out[32] = state.left2[dependent] or nothing
        out[33] = state.right[dependent] or nothing
        out[34] = state.right2[dependent] or nothing
        out[35] = head - 1 if head > 0 else nothing
        out[36] = head + 1 if head < nothing else nothing
        out[37] = dependent - 1
        out[38] = dependent + 1
    else:
        for k in range(26, 39):
            out[k] = nothing
    out[39] = s0 - 1 if 0 < s0 < nothing else nothing
    out[40] = s0 + 1 if s0 < nothing else nothing
    out[41] = b0 - 1 if 0 < b0 < nothing else nothing
    out[42] = s1 - 1 if 0 < s1 < nothing else nothing
    out[43] = s1 + 1 if s1 < nothing else nothing


@compiled
def _distance(a: int, b: int, nothing: int) -> int:
    """A distance in words, in classes: 1 to 5, up to 10, more; 0 where there is none."""
    if a >= nothing or b >= nothing:
        return 0
    gap = abs(b - a)
    if gap > 5:
        gap = 6 if gap <= 10 else 7
    return gap if a < b else gap + 8


@compiled
def _tree_atom(x: Any, state: Any, places: Any, place: int, what: int) -> int:
    """What is seen of the configuration at a place."""
    nothing = np.int64(x.n + 1)
    if what == _DISTANCE:
        if place == 0:
            return _distance(np.int64(places[0]), np.int64(places[4]), nothing)
        if place == 1:
            return _distance(np.int64(places[1]), np.int64(places[0]), nothing)
        return _distance(np.int64(places[8]), np.int64(places[9]), nothing)
    node = places[place]
    if what == _LABEL:
        return np.int64(state.labels[node]) + np.int64(1)
    if what == _LEFT_COUNT:
        return np.int64(min(state.left_count[node], 6))
    if what == _RIGHT_COUNT:
        return np.int64(min(state.right_count[node], 6))
    if what == _LEFT_LABELS:
        return np.int64(state.left_labels[node])
    return np.int64(state.right_labels[node])


class DependencyParsing(Task):
    """Labelled dependency parsing with attachment loss.

    A wrong head costs 1, a right head with a wrong label ``label_weight``: 1 makes the loss that of LAS, 0 that of UAS.
    """

    name = "dependency"
    state = STATE
    instance = ("attributes", "gold_heads", "gold_labels", "order", "component")
    shared = (
        *("options", "arcs", "root_labels", "word_labels", "label_weight"),
        *("atoms", "word_atoms", "templates", "template_ends", "multipliers", "offsets"),
    )
    max_steps = "12*n + 2"
    oracle: str

    #: what compiled code is told of the system and the oracle
    exact: ClassVar[tuple[str, ...]] = ("arc-standard", "arc-standard-buffer", "arc-eager", "arc-hybrid")

    def __init__(
        self,
        system: str,
        n_labels: int,
        templates: Templates,
        *,
        staged: bool = False,
        static: bool = False,
        label_weight: float = 1.0,
        root_labels: npt.ArrayLike | None = None,
        word_labels: npt.ArrayLike | None = None,
    ) -> None:
        self.system, self.staged = system, staged
        self.oracle = "exact" if system in self.exact and not static else "static"
        self.n_actions = MOVES + n_labels if staged else FIRST_ARC + 2 * n_labels
        self.width = MOVES if staged else 0
        self._tables = templates.tables()
        self.max_features = len(self._tables["templates"]) + len(self._tables["atoms"]) + _PLACES
        places = {"s0": 0, "s1": 1, "b0": 2}
        self._tables["arcs"] = np.array([[places[p] for p in arc] for arc in ARCS[system]], np.int32)
        everything = np.arange(n_labels, dtype=np.int32)
        self._tables["options"] = np.array([SYSTEMS[system], staged, static], np.int32)
        self._tables["root_labels"] = everything if root_labels is None else np.asarray(root_labels, np.int32)
        self._tables["word_labels"] = everything if word_labels is None else np.asarray(word_labels, np.int32)
        self._tables["label_weight"] = np.array([label_weight], np.float64)

    @staticmethod
    def initial(x: Any, state: Any) -> None:
        """The root on the stack, all words in the buffer."""
        begin(x, state)

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Has every word a head? Boyd-Graber's system also puts the root back."""
        if x.options[SYSTEM] == ARC_STANDARD_BUFFER:
            return state.front[0] >= x.n
        return state.attached[0] >= x.n

    @staticmethod
    def actions(x: Any, state: Any, out: Any) -> int:
        """The admissible moves; joint ones with all their labels; or the labels of an arc that waits for one."""
        if state.pending[0] != 0:
            head, _ = arc_of(x, state, np.int64(state.pending[0]))
            labels = x.root_labels if head == 0 else x.word_labels
            for k in range(labels.shape[0]):
                out[k] = MOVES + labels[k]
            return labels.shape[0]
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
                labels = x.root_labels if head == 0 else x.word_labels
                for k in range(labels.shape[0]):
                    out[n] = FIRST_ARC + 2 * labels[k] + (move - LEFT)
                    n += 1
        return n

    @staticmethod
    def step(x: Any, state: Any, action: int) -> None:
        """Make a move, or remember it until its label is known."""
        move, label = np.int64(action), np.int64(-1)
        if state.pending[0] != 0:
            move, label = np.int64(state.pending[0]), np.int64(action) - MOVES
            state.pending[0] = 0
        elif x.options[STAGED] != 0:
            if move == LEFT or move == RIGHT:
                state.pending[0] = move
                return
        elif move >= FIRST_ARC:
            label = (move - FIRST_ARC) // 2
            move = LEFT + (move - FIRST_ARC) % 2
        elif move == 1:
            move = np.int64(REDUCE)
        make_move(x, state, move, label)

    @staticmethod
    def features(x: Any, state: Any, out: Any) -> int:
        """Fill in the places, read the atoms, and hash the templates: h = Σ multiplierₖ·atomₖ."""
        n_atoms = x.atoms.shape[0]
        places = out[out.shape[0] - _PLACES :]
        atoms = out[out.shape[0] - _PLACES - n_atoms : out.shape[0] - _PLACES]
        _places(x, state, places)
        for k in range(x.word_atoms[0]):
            atoms[k] = x.attributes[places[x.atoms[k, 0]] * _ATTRIBUTES + x.atoms[k, 1]]
        for k in range(x.word_atoms[0], n_atoms):
            value = _tree_atom(x, state, places, x.atoms[k, 0], x.atoms[k, 1])
            atoms[k] = mix(x.atoms[k, 1], value)
        stage = MOST_ATOMS if state.pending[0] != 0 else 0
        first = x.template_ends[stage]
        for size in range(1, MOST_ATOMS + 1):
            for t in range(x.template_ends[stage + size - 1], x.template_ends[stage + size]):
                total = np.int64(x.offsets[t]) << _SHIFT17
                for k in range(size):
                    total += np.int64(x.multipliers[t, k]) * np.int64(atoms[x.templates[t, k]])
                out[t - first] = np.int32((total >> _SHIFT17) & _MASK)
        return x.template_ends[stage + MOST_ATOMS] - first

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """The oracle: the loss that each action adds to the best that can still be reached."""
        weight = x.label_weight[0]
        if state.pending[0] != 0:
            label = gold_label(x, state, np.int64(state.pending[0]))
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
                label = right if is_right else left
                out[k] = costs[LEFT + is_right]
                if label != -2 and (action - FIRST_ARC) // 2 != label:
                    out[k] += weight

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """Wrong heads, and wrong labels by their weight."""
        return np.float64(state.wrong_heads[0]) + x.label_weight[0] * np.float64(state.wrong_labels[0])

    def shared_arrays(self) -> dict[str, Any]:
        """The templates, the labels and the options."""
        return self._tables
