"""Arc-hybrid (Kuhlmann, Gómez-Rodríguez & Satta 2011): left arcs from the buffer, right arcs within the stack.

* Shift moves b0 to the stack.
* Left-Arc makes b0 the head of s0, which must not be the root, and pops the stack.
* Right-Arc makes s1 the head of s0 and pops the stack. Where s1 is the root, the buffer must be empty: the tree has one
  root.

It ends when only the root is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.dependency.configuration import DEPTH, FRONT, pop, shift, top
from treewright.dependency.systems import Move, TransitionSystem
from treewright.search import compiled, inlined

__all__ = ["SYSTEM"]

SHIFT, LEFT, RIGHT = range(3)


@inlined
def admissible(x: Any, state: Any) -> int:
    """The admissible moves, as bits."""
    rest, depth = x.n - state.registers[FRONT], state.registers[DEPTH]
    moves = 0
    if rest > 0:
        moves |= 1 << SHIFT
    if rest > 0 and depth > 1:
        moves |= 1 << LEFT
    if depth > 2 or (depth == 2 and rest == 0):
        moves |= 1 << RIGHT
    return moves


@inlined
def move(x: Any, state: Any, action: int) -> None:
    """Change stack and buffer."""
    if action == SHIFT:
        shift(state)
    else:
        pop(state, 0)


@compiled
def static(x: Any, state: Any) -> int:
    """Left-Arc as soon as it is gold, Right-Arc once s0 has all its children, or Shift."""
    s0, s1 = top(state, 0), top(state, 1)
    front = state.registers[FRONT]
    if s0 > 0 and front < x.n and x.gold_heads[s0] == front + 1:
        return LEFT
    if s0 > 0 and x.gold_heads[s0] == s1:
        complete = True
        for word in range(front + 1, x.n + 1):
            complete = complete and x.gold_heads[word] != s0
        if complete:
            return RIGHT
    return SHIFT


@compiled
def costs(x: Any, state: Any, out: Any) -> None:
    """The dynamic oracle (Goldberg & Nivre 2013): the number of gold arcs that each move makes unreachable."""
    front, depth = np.int64(state.registers[FRONT]), np.int64(state.registers[DEPTH])
    s0, s1 = top(state, 0), top(state, 1)
    b0 = front + 1
    if s0 > 0:
        head = np.int64(x.gold_heads[s0])
        children = 0  # of s0, in the buffer
        for word in range(b0, x.n + 1):
            if x.gold_heads[word] == s0:
                children += 1
        out[LEFT] = np.float64(children + (1 if head == s1 or head > b0 else 0))
        out[RIGHT] = np.float64(children + (1 if head >= b0 else 0))
    if front < x.n:
        lost = 0
        head = np.int64(x.gold_heads[b0])
        for i in range(depth):
            item = np.int64(state.stack[i])
            if item == head and item != s0:
                lost += 1
            if x.gold_heads[item] == b0:
                lost += 1
        out[SHIFT] = np.float64(lost)


@compiled
def least_loss(x: Any, state: Any) -> int:
    """The number of words without a head that can no longer get their gold head.

    A word in the buffer can get it as long as the head is on the stack or in the buffer; a word on the stack can get it
    from the buffer or from the item below it.
    """
    lost = 0
    for word in range(state.registers[FRONT] + 1, x.n + 1):
        head = x.gold_heads[word]
        if head > 0 and state.heads[head] >= 0:  # the head is neither on the stack nor in the buffer
            lost += 1
    for i in range(1, state.registers[DEPTH]):
        head = x.gold_heads[state.stack[i]]
        if head <= state.registers[FRONT] and head != state.stack[i - 1]:
            lost += 1
    return lost


SYSTEM = TransitionSystem(
    name="arc-hybrid",
    moves=(Move("SHIFT"), Move("LEFTARC", "b0", "s0"), Move("RIGHTARC", "s1", "s0")),
    admissible=admissible,
    move=move,
    static=static,
    costs=costs,
    least_loss=least_loss,
)
