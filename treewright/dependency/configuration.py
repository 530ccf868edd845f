"""The configuration that all transition systems share: a stack, a buffer, and the arcs made so far.

Words are the nodes 1 … n, the root is node 0. The last item of the stack is its top, s0; the first of the buffer is
b0. A move changes these two; an arc is written down by :func:`attach`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search import compiled, inlined

__all__ = [
    "LEFT",
    "NO_HEAD",
    "REDUCE",
    "RIGHT",
    "SHIFT",
    "STATE",
    "SWAP",
    "attach",
    "begin",
    "is_complete",
    "pop",
    "shift",
    "top",
]

# The moves. No system has both Reduce and Swap.
SHIFT, LEFT, RIGHT, REDUCE = range(4)
SWAP = REDUCE

NO_HEAD = -1

#: the fields of a state and their sizes
STATE = {
    "stack": "n + 2",
    "depth": 1,  # how many items are on the stack
    "buffer": "n + 1",
    "front": 1,  # where b0 is in the buffer
    "attached": 1,  # how many words have a head
    "pending": 1,  # the move whose arc waits for its label, 0 for none
    "swaps": 1,
    "wrong_heads": 1,
    "wrong_labels": 1,  # of words whose head is right
    "heads": "n + 2",
    "labels": "n + 2",
    "left": "n + 2",  # the outermost child on the left, 0 for none
    "left2": "n + 2",  # the second one
    "right": "n + 2",
    "right2": "n + 2",
    "left_count": "n + 2",
    "right_count": "n + 2",
    "left_labels": "n + 2",  # the set of the labels of the children on the left, as bits
    "right_labels": "n + 2",
}


@compiled
def begin(x: Any, state: Any) -> None:
    """The root on the stack, all words in the buffer, no arcs."""
    state.depth[0] = 1
    for i in range(x.n):
        state.buffer[i] = i + 1
    for node in range(x.n + 2):
        state.heads[node] = NO_HEAD
        state.labels[node] = -1


@inlined
def top(state: Any, k: int) -> int:
    """The item s_k of the stack, −1 if there is none."""
    place = state.depth[0] - 1 - k
    return np.int64(state.stack[place]) if place >= 0 else np.int64(-1)


@inlined
def shift(state: Any) -> None:
    """Move b0 to the stack."""
    state.stack[state.depth[0]] = state.buffer[state.front[0]]
    state.depth[0] += 1
    state.front[0] += 1


@inlined
def pop(state: Any, k: int) -> None:
    """Remove s0 or s1 from the stack."""
    if k == 1:
        state.stack[state.depth[0] - 2] = state.stack[state.depth[0] - 1]
    state.depth[0] -= 1


@compiled
def attach(x: Any, state: Any, head: int, dependent: int, label: int, counts: bool) -> None:
    """Make an arc and compare it with the gold one; where it does not ``count``, it is an error in any case."""
    state.heads[dependent] = head
    state.labels[dependent] = label
    state.attached[0] += 1
    if not counts or x.gold_heads[dependent] != head:
        state.wrong_heads[0] += 1
    elif x.gold_labels[dependent] != label:
        state.wrong_labels[0] += 1
    bit = 1 << (label % 31) if label >= 0 else 0
    if dependent < head:
        state.left2[head] = state.left[head]
        state.left[head] = dependent
        state.left_count[head] += 1
        state.left_labels[head] |= bit
    else:
        state.right2[head] = state.right[head]
        state.right[head] = dependent
        state.right_count[head] += 1
        state.right_labels[head] |= bit


@compiled
def is_complete(x: Any, state: Any, node: int) -> bool:
    """Have all gold children of a node been attached?"""
    for child in range(1, x.n + 1):
        if x.gold_heads[child] == node and state.heads[child] < 0:
            return False
    return True
