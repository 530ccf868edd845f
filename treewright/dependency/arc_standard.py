"""Arc-standard: arcs between the two items on top of the stack (the UMD lecture, Fig. 14.5 to 14.8).

* Shift moves b0 to the stack.
* Left-Arc makes s0 the head of s1 and removes s1, which must not be the root.
* Right-Arc makes s1 the head of s0 and removes s0. Where s1 is the root, this must be the last word: the tree has one
  root.

It ends when only the root is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.dependency.configuration import DEPTH, FRONT, is_complete, pop, shift, top
from treewright.dependency.systems import Move, TransitionSystem
from treewright.search import compiled, inlined

__all__ = ["LEFT", "RIGHT", "SHIFT", "SYSTEM", "costs_of", "least_loss_of"]

SHIFT, LEFT, RIGHT = range(3)


@inlined
def admissible(x: Any, state: Any) -> int:
    """The admissible moves, as bits."""
    rest, depth = x.n - state.registers[FRONT], state.registers[DEPTH]
    moves = 0
    if rest > 0:
        moves |= 1 << SHIFT
    if depth > 2:
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
        pop(state, 1 if action == LEFT else 0)


@compiled
def static(x: Any, state: Any) -> int:
    """The lecture's oracle: Left-Arc as soon as it is gold, Right-Arc once its dependent has all children, or Shift."""
    s0, s1 = top(state, 0), top(state, 1)
    if s1 < 0:
        return SHIFT
    if s1 > 0 and x.gold_heads[s1] == s0:
        return LEFT
    if x.gold_heads[s0] == s1 and is_complete(x, state, s0):
        return RIGHT
    return SHIFT


@compiled
def costs(x: Any, state: Any, out: Any) -> None:
    """The dynamic oracle (Goldberg, Sartorio & Satta 2014)."""
    stack = np.empty(state.registers[DEPTH] + 1, np.int64)
    costs_of(x, stack, _words(state, stack), np.int64(state.registers[FRONT]), out)


@compiled
def least_loss(x: Any, state: Any) -> int:
    """The least number of words without a head that will get a wrong one."""
    stack = np.empty(state.registers[DEPTH] + 1, np.int64)
    return least_loss_of(x, stack, _words(state, stack), np.int64(state.registers[FRONT]))


@compiled
def _words(state: Any, stack: Any) -> int:
    """Write the stack without the root, and return its size."""
    size = state.registers[DEPTH] - 1
    for i in range(size):
        stack[i] = state.stack[i + 1]
    return np.int64(size)


@compiled
def costs_of(x: Any, stack: Any, size: int, front: int, out: Any) -> None:
    """Write the loss of the best tree after each move, for a stack without the root and the buffer from ``front`` on.

    The loss is the least number of further wrong heads. The costs are the differences of losses.
    """
    s0 = stack[size - 1] if size > 0 else np.int64(0)
    s1 = stack[size - 2] if size > 1 else np.int64(0)
    if front < x.n:
        stack[size] = front + 1
        out[SHIFT] = np.float64(least_loss_of(x, stack, size + 1, front + 1))
    if size > 0:
        wrong = 0.0 if x.gold_heads[s0] == s1 else 1.0
        out[RIGHT] = wrong + np.float64(least_loss_of(x, stack, size - 1, front))
    if size > 1:
        wrong = 0.0 if x.gold_heads[s1] == s0 else 1.0
        stack[size - 2] = s0
        out[LEFT] = wrong + np.float64(least_loss_of(x, stack, size - 1, front))


@compiled
def least_loss_of(x: Any, stack: Any, size: int, front: int) -> int:
    """The least number of wrong heads among words that have none yet, for a stack and the buffer from ``front`` on.

    The remaining moves combine adjacent items into one tree: the items of the stack from its top down, and the items of
    the buffer from its head on, of which only the roots of gold subtrees matter. ``best[i, j, h]`` is the least loss of
    a tree over the i + 1 topmost items of the stack and the j first of the buffer, with item h as head.
    """
    n = np.int64(x.n)
    right = np.empty(n - min(np.int64(front), n) + 1, np.int64)
    m = _buffer_items(x, stack, size, front, right)
    k = np.int64(size)
    if k == 0:
        if m == 0:
            return 0
        return _combine(x, right, np.int64(1), right[1:], m - 1)
    turned = np.empty(k, np.int64)
    for i in range(k):
        turned[i] = stack[k - 1 - i]
    return _combine(x, turned, k, right, m)


@compiled
def _buffer_items(x: Any, stack: Any, size: int, front: int, out: Any) -> int:
    """The words of the buffer that are not attached to their gold head within the buffer: the items of the table."""
    n = np.int64(x.n)
    waits = np.zeros(n + 2, np.bool_)  # for a child on the stack, itself or through its children
    for i in range(size):
        head = np.int64(x.gold_heads[stack[i]])
        while head > front and not waits[head]:
            waits[head] = True
            head = np.int64(x.gold_heads[head])
    m = 0
    for word in range(front + 1, n + 1):
        if waits[word] or x.gold_heads[word] <= front:
            out[m] = word
            m += 1
    return m


@compiled
def _combine(x: Any, left: Any, k: int, right: Any, m: int) -> int:
    """Fill the table and attach the last head to the root."""
    far = np.int32(1 << 20)
    best = np.full((k, m + 1, k + m), far, np.int32)
    best[0, 0, 0] = 0
    least = far
    for i in range(k):
        for j in range(m + 1):
            for h in range(k + m):
                loss = best[i, j, h]
                if loss >= far:
                    continue
                head = left[h] if h < k else right[h - k]
                if i + 1 < k:
                    _take(x, best, loss, head, h, left[i + 1], i + 1, i + 1, j)
                if j < m:
                    _take(x, best, loss, head, h, right[j], k + j, i, j + 1)
                if i == k - 1 and j == m:
                    least = min(least, loss + np.int32(0 if x.gold_heads[head] == 0 else 1))
    return np.int64(least)


@compiled
def _take(x: Any, best: Any, loss: int, head: int, h: int, item: int, place: int, i: int, j: int) -> None:
    """Combine a tree with the next item: one of the two becomes the head of the other."""
    as_child = loss + np.int32(0 if x.gold_heads[item] == head else 1)
    best[i, j, h] = min(best[i, j, h], as_child)
    as_head = loss + np.int32(0 if x.gold_heads[head] == item else 1)
    best[i, j, place] = min(best[i, j, place], as_head)


SYSTEM = TransitionSystem(
    name="arc-standard",
    moves=(Move("SHIFT"), Move("LEFTARC", "s0", "s1"), Move("RIGHTARC", "s1", "s0")),
    admissible=admissible,
    move=move,
    static=static,
    costs=costs,
    least_loss=least_loss,
    slots=("s2", "s1", "s0", "b0", "s1l", "s1r", "s0l", "s0r"),
)
