"""Arc-standard: arcs between the two items on top of the stack (the UMD lecture, Fig. 14.5 to 14.8).

* Shift moves b0 to the stack.
* Left-Arc makes s0 the head of s1 and removes s1, which must not be the root.
* Right-Arc makes s1 the head of s0 and removes s0. Where s1 is the root, this must be the last word: the tree has one
  root.

It ends when only the root is left.

``arc-standard-buffer`` is the same system as Boyd-Graber's lecture draws it, with s0 shown as the head of the buffer:
Left makes b0 the head of s0 and pops the stack; Right makes s0 the head of b0, pops the stack and puts s0 in the place
of b0. It ends when the buffer is empty, after the root has been put back on the stack.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.dependency.configuration import DEPTH, FRONT, LEFT, RIGHT, SHIFT, is_complete, pop, shift, top
from treewright.search import compiled, inlined

__all__ = ["ARCS", "ARCS_AT_BUFFER", "admissible", "costs", "least_loss", "move", "static"]


#: where the head and the dependent of Left-Arc and of Right-Arc are
ARCS = (("s0", "s1"), ("s1", "s0"))
ARCS_AT_BUFFER = (("b0", "s0"), ("s0", "b0"))


@inlined
def admissible(x: Any, state: Any, at_buffer: bool) -> int:
    """The moves that may be made, as bits."""
    rest, depth = x.n - state.registers[FRONT], state.registers[DEPTH]
    if at_buffer:
        if rest == 0:
            return 0
        depth += 1
        rest -= 1
    moves = 0
    if rest > 0 or depth == 1:
        moves |= 1 << SHIFT
    if depth > 2:
        moves |= 1 << LEFT
    if depth > 2 or (depth == 2 and rest == 0):
        moves |= 1 << RIGHT
    return moves


@inlined
def move(state: Any, action: int, at_buffer: bool) -> None:
    """Change stack and buffer."""
    if action == SHIFT:
        shift(state)
    elif not at_buffer:
        pop(state, 1 if action == LEFT else 0)
    else:
        if action == RIGHT:
            state.buffer[state.registers[FRONT]] = top(state, 0)
        pop(state, 0)


@compiled
def static(x: Any, state: Any, at_buffer: bool) -> int:
    """The lectures' oracle: Left-Arc as soon as it is gold, Right-Arc once its dependent has all children, or Shift.

    With nothing on the stack one must shift.
    """
    left, right = top(state, 1), top(state, 0)
    if at_buffer:
        left, right = right, int(state.buffer[state.registers[FRONT]])
    if left < 0:
        return SHIFT
    if left > 0 and x.gold_heads[left] == right:
        return LEFT
    if x.gold_heads[right] == left and is_complete(x, state, right):
        return RIGHT
    return SHIFT


@compiled
def costs(x: Any, state: Any, at_buffer: bool, out: Any) -> None:
    """The dynamic oracle (Goldberg, Sartorio & Satta 2014): the loss of the best tree after each move.

    It is the number of words that end with a wrong head at least, counted from here. The costs are the differences.
    """
    stack = np.empty(state.registers[DEPTH] + 2, np.int64)
    size, front = _items(x, state, at_buffer, stack)
    s0 = stack[size - 1] if size > 0 else np.int64(0)
    s1 = stack[size - 2] if size > 1 else np.int64(0)
    if front < x.n:
        stack[size] = front + 1
        out[SHIFT] = np.float64(_least_loss(x, stack, size + 1, front + 1))
    if size > 0:
        wrong = 0.0 if x.gold_heads[s0] == s1 else 1.0
        out[RIGHT] = wrong + np.float64(_least_loss(x, stack, size - 1, front))
    if size > 1:
        wrong = 0.0 if x.gold_heads[s1] == s0 else 1.0
        stack[size - 2] = s0
        out[LEFT] = wrong + np.float64(_least_loss(x, stack, size - 1, front))


@compiled
def least_loss(x: Any, state: Any, at_buffer: bool) -> int:
    """How many words without a head end with a wrong one at least."""
    stack = np.empty(state.registers[DEPTH] + 2, np.int64)
    size, front = _items(x, state, at_buffer, stack)
    return _least_loss(x, stack, size, front)


@compiled
def _items(x: Any, state: Any, at_buffer: bool, stack: Any) -> tuple[int, int]:
    """Write the stack without the root; return its size and where the buffer begins."""
    front = np.int64(state.registers[FRONT])
    size = 0
    for i in range(state.registers[DEPTH]):
        if state.stack[i] > 0:
            stack[size] = state.stack[i]
            size += 1
    if at_buffer:  # there the head of the buffer is what is s0 here
        if front < x.n and state.buffer[front] > 0:
            stack[size] = state.buffer[front]
            size += 1
        front += 1
    return size, front


@compiled
def _least_loss(x: Any, stack: Any, size: int, front: int) -> int:
    """The least number of wrong heads among words that have none yet, for a stack and the buffer from ``front`` on.

    What remains to be done is to combine items, side by side, into one tree: the items of the stack from its top down,
    and those of the buffer from its head on, of which only the roots of gold subtrees matter. ``best[i, j, h]`` is the
    least loss of a tree over the i + 1 topmost items of the stack and the j first of the buffer, with item h as head.
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
    """The words of the buffer that are not simply taken by their gold head: the items of the table."""
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
