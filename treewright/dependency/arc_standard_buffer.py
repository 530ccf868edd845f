"""Arc-standard as in Boyd-Graber's lecture: the item that is s0 in arc-standard is at the head of the buffer.

* Shift moves b0 to the stack.
* Left makes b0 the head of s0, which must not be the root, and pops the stack.
* Right makes s0 the head of b0, pops the stack and puts s0 in the place of b0. Where s0 is the root, b0 must be the
  last word: the tree has one root.

It ends when the buffer is empty, after the root has been put back on the stack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.dependency.arc_standard import LEFT, RIGHT, SHIFT, costs_of, least_loss_of
from treewright.dependency.configuration import DEPTH, FRONT, is_complete, pop, shift, top
from treewright.dependency.systems import Move, TransitionSystem
from treewright.search import compiled, inlined

__all__ = ["SYSTEM"]


@inlined
def admissible(x: Any, state: Any) -> int:
    """The admissible moves, as bits."""
    rest, depth = x.n - state.registers[FRONT], state.registers[DEPTH]
    moves = 0
    if rest > 1 or (rest == 1 and depth == 0):
        moves |= 1 << SHIFT
    if rest > 0 and depth > 1:
        moves |= 1 << LEFT
    if rest > 0 and (depth > 1 or (depth == 1 and rest == 1)):
        moves |= 1 << RIGHT
    return moves


@inlined
def is_final(x: Any, state: Any) -> bool:
    """Whether the buffer is empty; the root is then back on the stack."""
    return state.registers[FRONT] >= x.n


@inlined
def move(x: Any, state: Any, action: int) -> None:
    """Change stack and buffer."""
    if action == SHIFT:
        shift(state)
    else:
        if action == RIGHT:
            state.buffer[state.registers[FRONT]] = top(state, 0)
        pop(state, 0)


@compiled
def static(x: Any, state: Any) -> int:
    """The lecture's oracle: Left as soon as it is gold, Right once its dependent has all children, or Shift.

    If the stack is empty, the move is Shift.
    """
    s0, b0 = top(state, 0), int(state.buffer[state.registers[FRONT]])
    if s0 < 0:
        return SHIFT
    if s0 > 0 and x.gold_heads[s0] == b0:
        return LEFT
    if x.gold_heads[b0] == s0 and is_complete(x, state, b0):
        return RIGHT
    return SHIFT


@compiled
def costs(x: Any, state: Any, out: Any) -> None:
    """The dynamic oracle of arc-standard."""
    stack = np.empty(state.registers[DEPTH] + 2, np.int64)
    costs_of(x, stack, _words(x, state, stack), np.int64(state.registers[FRONT]) + 1, out)


@compiled
def least_loss(x: Any, state: Any) -> int:
    """The least number of words without a head that will get a wrong one."""
    stack = np.empty(state.registers[DEPTH] + 2, np.int64)
    return least_loss_of(x, stack, _words(x, state, stack), np.int64(state.registers[FRONT]) + 1)


@compiled
def _words(x: Any, state: Any, stack: Any) -> int:
    """Write the stack of arc-standard without the root, b0 on its top, and return its size."""
    size, front = 0, state.registers[FRONT]
    for i in range(state.registers[DEPTH]):
        if state.stack[i] > 0:
            stack[size] = state.stack[i]
            size += 1
    if front < x.n and state.buffer[front] > 0:
        stack[size] = state.buffer[front]
        size += 1
    return size


SYSTEM = TransitionSystem(
    name="arc-standard-buffer",
    moves=(Move("Shift"), Move("Left", "b0", "s0"), Move("Right", "s0", "b0")),
    admissible=admissible,
    move=move,
    static=static,
    costs=costs,
    least_loss=least_loss,
    is_final=is_final,
    slots=("s1", "s0", "b0", "b1", "s0l", "s0r", "b0l", "b0r"),
)
