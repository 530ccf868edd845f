"""Arc-standard with Swap (Nivre 2009), for trees with crossing arcs.

* Shift, Left-Arc and Right-Arc as in arc-standard.
* Swap moves s1 back to the buffer. It must come before s0 in the sentence and must not be the root.

Swaps reorder the words so that the tree has no crossing arcs: the projective order of an inorder traversal, in which
each word is between its left and its right children. The number of swaps is limited to four per word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from treewright.dependency.configuration import DEPTH, FRONT, is_complete, pop, shift, top
from treewright.dependency.systems import Move, TransitionSystem
from treewright.search import compiled, inlined

__all__ = ["SYSTEM", "projective_order"]

SHIFT, LEFT, RIGHT, SWAP = range(4)

MOST_SWAPS = 4  # for each word


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
    if depth > 2 and top(state, 1) < top(state, 0) and state.swaps[0] < MOST_SWAPS * x.n:
        moves |= 1 << SWAP
    return moves


@inlined
def move(x: Any, state: Any, action: int) -> None:
    """Change stack and buffer."""
    if action == SHIFT:
        shift(state)
        return
    if action == SWAP:
        state.registers[FRONT] -= 1
        state.buffer[state.registers[FRONT]] = top(state, 1)
        state.swaps[0] += 1
    pop(state, 0 if action == RIGHT else 1)


@inlined
def wants_swap(x: Any, state: Any, s0: int, s1: int) -> bool:
    """Whether s0 and s1 are in the wrong order and b0 is not in the same component as s0."""
    front = state.registers[FRONT]
    return x.prepared[s1] > x.prepared[s0] and (
        front >= x.n or x.prepared[x.n + 1 + state.buffer[front]] != x.prepared[x.n + 1 + s0]
    )


@compiled
def static(x: Any, state: Any) -> int:
    """The lazy oracle (Nivre, Kuhlmann & Hall 2009): an arc if it is gold and its dependent complete, Swap if s0 and s1
    are in the wrong order and b0 is not of the same component as s0, or Shift.
    """
    s0, s1 = top(state, 0), top(state, 1)
    if s1 < 0:
        return SHIFT
    if s1 > 0 and x.gold_heads[s1] == s0 and is_complete(x, state, s1):
        return LEFT
    if x.gold_heads[s0] == s1 and is_complete(x, state, s0):
        return RIGHT
    if s1 > 0 and wants_swap(x, state, s0, s1):
        return SWAP
    return SHIFT


@compiled
def estimate(x: Any, state: Any, out: Any) -> None:
    """Write the cost of each move, as if Swap could make any two items adjacent.

    The cost of an arc is the number of gold arcs that it loses. If every arc has a cost, then Swap is free if the lazy
    oracle would swap, and Shift otherwise; if neither is possible, the arc that loses least is free. On the path of the
    lazy oracle only its own move is free. Elsewhere the costs are too low if two words can no longer be swapped.
    """
    s0, s1 = top(state, 0), top(state, 1)
    moves = admissible(x, state)
    least = np.float64(x.n + 1)
    if moves >> LEFT & 1:
        out[LEFT] = np.float64(lost_arcs(x, state, s0, s1))
        least = min(least, out[LEFT])
    if moves >> RIGHT & 1:
        out[RIGHT] = np.float64(lost_arcs(x, state, s1, s0))
        least = min(least, out[RIGHT])
    out[SHIFT] = out[SWAP] = 1.0
    if least > 0.0:
        if moves >> SWAP & 1 and wants_swap(x, state, s0, s1):
            out[SWAP] = 0.0
        elif moves >> SHIFT & 1:
            out[SHIFT] = 0.0
        else:
            out[SWAP] = least + 1.0


@compiled
def lost_arcs(x: Any, state: Any, head: int, dependent: int) -> int:
    """Count the gold arcs that an arc makes impossible: of the dependent, and of its children without a head.

    An item leaves the stack as soon as it has a head, so an arc whose head has one is lost already.
    """
    gold = np.int64(x.gold_heads[dependent])
    lost = np.int64(1 if gold != head and (gold == 0 or state.heads[gold] < 0) else 0)
    for child in range(1, x.n + 1):
        if x.gold_heads[child] == dependent and state.heads[child] < 0:
            lost += 1
    return lost


def projective_order(heads: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """For each node: its position in the inorder traversal of the tree, and its maximal projective component.

    ``heads[i]`` is the head of word i + 1. A component is a subtree that arc-standard builds without swaps; it is
    identified by the word at its head.

    >>> order, component = projective_order(np.array([3, 4, 0, 3], np.int32))  # 2 hangs on 4, over 3
    >>> order.tolist(), component.tolist()
    ([0, 1, 3, 2, 4], [0, 1, 2, 3, 4])
    """
    n = len(heads)
    children: list[list[int]] = [[] for _ in range(n + 1)]
    for word, head in enumerate(heads.tolist(), 1):
        children[head].append(word)
    order = np.zeros(n + 1, np.int32)
    place = 0
    to_do: list[tuple[int, bool]] = [(0, False)]  # (node, whether its left children are done)
    while to_do:
        node, ready = to_do.pop()
        if ready:
            order[node] = place
            place += 1
            continue
        to_do += [(child, False) for child in reversed(children[node]) if child > node]
        to_do.append((node, True))
        to_do += [(child, False) for child in reversed(children[node]) if child < node]
    return order, _components(heads, children)


def prepare(heads: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The position of each node in the projective order, and then its component, for the oracle."""
    return np.concatenate(projective_order(heads))


def _components(heads: npt.NDArray[np.int32], children: list[list[int]]) -> npt.NDArray[np.int32]:
    """Run arc-standard without swaps as far as possible: each remaining item of the stack is a component."""
    n = len(heads)
    head_of = [0, *heads.tolist()]
    missing = [len(c) for c in children]
    joined = [0] * (n + 1)
    stack = [0]
    for word in range(1, n + 1):
        stack.append(word)
        while len(stack) > 2:
            s0, s1 = stack[-1], stack[-2]
            if head_of[s1] == s0 and missing[s1] == 0:
                del stack[-2]
                joined[s1] = s0
                missing[s0] -= 1
            elif head_of[s0] == s1 and missing[s0] == 0:
                stack.pop()
                joined[s0] = s1
                missing[s1] -= 1
            else:
                break
    component = np.zeros(n + 1, np.int32)
    for word in range(1, n + 1):
        top_of = word
        while joined[top_of]:
            top_of = joined[top_of]
        component[word] = top_of
    return component


SYSTEM = TransitionSystem(
    name="swap",
    moves=(Move("SHIFT"), Move("LEFTARC", "s0", "s1"), Move("RIGHTARC", "s1", "s0"), Move("SWAP")),
    admissible=admissible,
    move=move,
    static=static,
    estimate=estimate,
    state={"swaps": 1},
    projective=False,
    slots=("s2", "s1", "s0", "b0", "b1", "s1l", "s1r", "s0l", "s0r"),
    prepare=prepare,
)
