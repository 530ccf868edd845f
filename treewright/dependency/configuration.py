"""The configuration that all transition systems share: a stack, a buffer, and the arcs made so far.

Words are the nodes 1 … n, and the root is node 0. The stack is ``state.stack[: state.registers[DEPTH]]``; its last item
is the top, s0. The buffer is ``state.buffer[state.registers[FRONT] : n]``; its first item is b0. ``state.heads`` and
``state.labels`` have the head of each node (−1 for none) and the label of its arc. A move changes stack and buffer;
:func:`attach` records an arc.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search import compiled, inlined

__all__ = [
    "ATTACHED",
    "DEPTH",
    "FAMILY",
    "FRONT",
    "LEFT_CHILD",
    "LEFT_CHILD2",
    "LEFT_COUNT",
    "LEFT_LABELS",
    "NO_HEAD",
    "PENDING",
    "PLACES",
    "RIGHT_CHILD",
    "RIGHT_CHILD2",
    "RIGHT_COUNT",
    "RIGHT_LABELS",
    "STATE",
    "WRONG_HEADS",
    "WRONG_LABELS",
    "attach",
    "begin",
    "is_complete",
    "node_at",
    "pop",
    "shift",
    "top",
]

NO_HEAD = -1

#: the places between which moves make arcs: the stack from its top, the buffer from its head
PLACES = ("s0", "s1", "s2", "s3", "b0", "b1", "b2", "b3")
_FIRST_OF_BUFFER = PLACES.index("b0")

#: the fields of a state and their sizes: only a few, because every call of a compiled function passes all of them
STATE: dict[str, int | str] = {
    "stack": "n + 2",
    "buffer": "n + 1",
    "registers": 6,
    "heads": "n + 2",
    "labels": "n + 2",
    "family": "8*n + 16",  # eight numbers for each node
}

# The registers: the number of items on the stack, the position of b0 in the buffer, the number of words with a head,
# the move whose arc has no label yet (its number + 1; 0 for none), and the errors so far (label errors only for correct
# heads).
DEPTH, FRONT, ATTACHED, PENDING, WRONG_HEADS, WRONG_LABELS = range(6)

# The family of a node: its outermost children and the second ones (0 for none), the number of children on each side,
# and the sets of their labels as bits.
LEFT_CHILD, LEFT_CHILD2, RIGHT_CHILD, RIGHT_CHILD2, LEFT_COUNT, RIGHT_COUNT, LEFT_LABELS, RIGHT_LABELS = range(8)
FAMILY = 8


@inlined
def begin(x: Any, state: Any) -> None:
    """Write the initial configuration: the root on the stack, all words in the buffer, no arcs."""
    state.registers[DEPTH] = 1
    for i in range(x.n):
        state.buffer[i] = i + 1
    for node in range(x.n + 2):
        state.heads[node] = NO_HEAD
        state.labels[node] = -1


@inlined
def top(state: Any, k: int) -> int:
    """The item s_k of the stack, −1 if there is none."""
    place = state.registers[DEPTH] - 1 - k
    return np.int64(state.stack[place]) if place >= 0 else np.int64(-1)


@inlined
def node_at(x: Any, state: Any, place: int) -> int:
    """The node at a place, by its number in ``PLACES``; −1 or 0 if there is none."""
    if place < _FIRST_OF_BUFFER:
        return top(state, place)
    return np.int64(state.buffer[min(state.registers[FRONT] + place - _FIRST_OF_BUFFER, x.n)])


@inlined
def shift(state: Any) -> None:
    """Move b0 to the stack."""
    state.stack[state.registers[DEPTH]] = state.buffer[state.registers[FRONT]]
    state.registers[DEPTH] += 1
    state.registers[FRONT] += 1


@inlined
def pop(state: Any, k: int) -> None:
    """Remove s0 or s1 from the stack."""
    if k == 1:
        state.stack[state.registers[DEPTH] - 2] = state.stack[state.registers[DEPTH] - 1]
    state.registers[DEPTH] -= 1


@inlined
def attach(x: Any, state: Any, head: int, dependent: int, label: int, counts: bool) -> None:
    """Make an arc and compare it with the gold one; if it does not ``count``, it is always an error."""
    state.heads[dependent] = head
    state.labels[dependent] = label
    state.registers[ATTACHED] += 1
    if not counts or x.gold_heads[dependent] != head:
        state.registers[WRONG_HEADS] += 1
    elif x.gold_labels[dependent] != label:
        state.registers[WRONG_LABELS] += 1
    bit = 1 << (label % 31) if label >= 0 else 0
    side = 0 if dependent < head else 1
    family = state.family[head * FAMILY : head * FAMILY + FAMILY]
    family[LEFT_CHILD2 + 2 * side] = family[LEFT_CHILD + 2 * side]
    family[LEFT_CHILD + 2 * side] = dependent
    family[LEFT_COUNT + side] += 1
    family[LEFT_LABELS + side] |= bit


@compiled
def is_complete(x: Any, state: Any, node: int) -> bool:
    """Whether all gold children of a node have been attached."""
    missing = 0
    for child in range(1, x.n + 1):
        if x.gold_heads[child] == node and state.heads[child] < 0:
            missing += 1
    return missing == 0
