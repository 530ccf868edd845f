"""Arc-eager (Nivre 2003; the UMD lecture, Algorithm 1): arcs between s0 and b0, right arcs as early as possible.

* Shift moves b0 to the stack.
* Left-Arc makes b0 the head of s0 and pops the stack; s0 must not be the root and must not have a head.
* Right-Arc makes s0 the head of b0 and moves b0 to the stack.
* Reduce pops s0, which must have a head.

The artificial root is at the bottom of the stack, and has only one child. This child stays on the stack until the
buffer is empty, so that the following words can be attached below it. When the buffer is empty, some words may have no
head. They are then attached, from the top of the stack down, to the item below them; only their labels are decided. For
the oracle and the loss such arcs are errors, even if they happen to be correct, because no transition made them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.dependency.configuration import DEPTH, FRONT, RIGHT_CHILD, pop, shift, top
from treewright.dependency.systems import Move, TransitionSystem
from treewright.search import compiled, inlined

__all__ = ["SYSTEM"]

SHIFT, LEFT, RIGHT, REDUCE = range(4)


@inlined
def admissible(x: Any, state: Any) -> int:
    """The admissible moves, as bits. When the buffer is empty there is just one."""
    s0 = top(state, 0)
    has_head = state.heads[s0] >= 0
    if state.registers[FRONT] >= x.n:
        return 1 << REDUCE if has_head else 1 << RIGHT
    moves = 1 << SHIFT
    if s0 > 0 and not has_head:
        moves |= 1 << LEFT
    if s0 > 0 or state.family[RIGHT_CHILD] == 0:
        moves |= 1 << RIGHT
    if has_head and state.registers[DEPTH] > 2:
        moves |= 1 << REDUCE
    return moves


@inlined
def move(x: Any, state: Any, action: int) -> None:
    """Change stack and buffer."""
    if action == SHIFT or (action == RIGHT and state.registers[FRONT] < x.n):
        shift(state)
    else:
        pop(state, 0)


@inlined
def is_late(x: Any, state: Any) -> bool:
    """Whether the buffer is empty, so that words without a head are attached to the item below them."""
    return state.registers[FRONT] >= x.n


@inlined
def arc(x: Any, state: Any, action: int) -> tuple[int, int]:
    """The head and the dependent of Left-Arc and Right-Arc, or those of a late arc."""
    front, s0 = state.registers[FRONT], top(state, 0)
    if front >= x.n:
        return top(state, 1), s0
    b0 = np.int64(state.buffer[front])
    return (b0, s0) if action == LEFT else (s0, b0)


@compiled
def static(x: Any, state: Any) -> int:
    """The lecture's Algorithm 1: Left-Arc and Right-Arc for gold arcs, Reduce if b0 has one deeper in the stack."""
    front = np.int64(state.registers[FRONT])
    s0 = top(state, 0)
    if front >= x.n:
        return REDUCE if state.heads[s0] >= 0 else RIGHT
    b0 = front + 1
    if s0 > 0 and x.gold_heads[s0] == b0:
        return LEFT
    if x.gold_heads[b0] == s0:
        return RIGHT
    if x.gold_heads[b0] < s0:  # (k, l, j) with k < i
        return REDUCE
    for k in range(1, s0):  # (j, l, k)
        if x.gold_heads[k] == b0:
            return REDUCE
    return SHIFT


@compiled
def costs(x: Any, state: Any, out: Any) -> None:
    """The dynamic oracle (Goldberg & Nivre 2012): the number of gold arcs that each move makes unreachable."""
    front, depth = np.int64(state.registers[FRONT]), np.int64(state.registers[DEPTH])
    if front >= x.n:
        for action in range(REDUCE + 1):
            out[action] = 0.0
        return
    s0, b0 = top(state, 0), front + 1
    head = np.int64(x.gold_heads[b0])
    children = 0  # of s0, in the buffer
    roots = 0  # a child of the root in the buffer behind b0
    for word in range(b0, x.n + 1):
        if x.gold_heads[word] == s0:
            children += 1
        if word > b0 and x.gold_heads[word] == 0:
            roots += 1
    below = 0  # the head of b0, on the stack
    waiting = 0  # children of b0, on the stack
    for i in range(depth):
        item = np.int64(state.stack[i])
        if item == head and (item > 0 or state.family[RIGHT_CHILD] == 0):
            below += 1
        if item > 0 and state.heads[item] < 0 and x.gold_heads[item] == b0:
            waiting += 1
    out[SHIFT] = np.float64(below + waiting)
    lost = waiting + (1 if head > b0 or (below > 0 and head != s0) else 0)
    if s0 == 0:
        lost += roots
    out[RIGHT] = np.float64(lost)
    if s0 > 0:
        out[LEFT] = np.float64(children + (1 if x.gold_heads[s0] > b0 else 0))
        out[REDUCE] = np.float64(children)


@compiled
def least_loss(x: Any, state: Any) -> int:
    """The number of words without a head that can no longer get their gold head.

    A word in the buffer can get it from the buffer or the stack (from the root only if that has no child yet), a word
    on the stack only from the buffer.
    """
    front, depth = state.registers[FRONT], state.registers[DEPTH]
    lost = 0
    for word in range(front + 1, x.n + 1):
        head = x.gold_heads[word]
        reachable = head > front
        for i in range(depth):
            if state.stack[i] == head and (head > 0 or state.family[RIGHT_CHILD] == 0):
                reachable = True
        if not reachable:
            lost += 1
    for i in range(1, depth):
        item = state.stack[i]
        if state.heads[item] < 0 and x.gold_heads[item] <= front:
            lost += 1
    return lost


SYSTEM = TransitionSystem(
    name="arc-eager",
    moves=(Move("SH"), Move("LA", "b0", "s0"), Move("RA", "s0", "b0"), Move("RE")),
    admissible=admissible,
    move=move,
    static=static,
    costs=costs,
    least_loss=least_loss,
    arc=arc,
    is_late=is_late,
    slots=("s1", "s0", "b0", "b1", "s0h", "s0l", "s0r", "b0l"),
)
