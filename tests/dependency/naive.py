"""Slow, obvious twins: transition systems over tuples, and all short trees."""

from __future__ import annotations

from functools import cache
from itertools import product

SYSTEMS = ("arc-standard", "arc-standard-buffer", "arc-eager", "arc-hybrid", "swap", "covington")
SHIFT, LEFT, RIGHT, REDUCE = range(4)
SWAP = NO_ARC = 3
LATE = 1000  # added to a head that is given after the buffer is empty: it never counts as right


def start(n):
    """A configuration: the stack, the buffer, and the heads of the words 1 … n, None where there is none yet."""
    return (0,), tuple(range(1, n + 1)), (None,) * n


def moves(system, config):
    """What may be done in a configuration; nothing if it is final."""
    stack, buffer, heads = config
    if system == "arc-standard-buffer":
        if not buffer:
            return []
        if not stack:
            return [SHIFT]
        found = [SHIFT] if len(buffer) > 1 else []
        if stack[-1] != 0:
            found += [LEFT, RIGHT]
        elif len(buffer) == 1:
            found += [RIGHT]
        return found
    if None not in heads:
        return []
    if system == "arc-eager":
        has_head = stack[-1] != 0 and heads[stack[-1] - 1] is not None
        if not buffer:
            return [REDUCE] if has_head else [RIGHT]
        found = [SHIFT]
        if stack[-1] != 0 and not has_head:
            found.append(LEFT)
        if stack[-1] != 0 or 0 not in heads:
            found.append(RIGHT)
        if has_head and heads[stack[-1] - 1] != 0:
            found.append(REDUCE)
        return found
    if system == "covington":
        if not buffer:
            return [RIGHT]
        found = [SHIFT, NO_ARC] if stack else [SHIFT]
        for move, (dependent, head) in ((LEFT, (stack[-1:], buffer)), (RIGHT, (buffer, stack[-1:]))):
            if stack and dependent[0] != 0 and heads[dependent[0] - 1] is None:
                made = (*heads[: dependent[0] - 1], head[0], *heads[dependent[0] :])
                if made.count(0) <= 1 and not _has_cycle(made):
                    found.append(move)
        return found
    found = [SHIFT] if buffer else []
    if system == "arc-hybrid":
        if len(stack) >= 2 and buffer:
            found.append(LEFT)
    elif len(stack) >= 3:
        found.append(LEFT)
    if len(stack) >= 3 or (len(stack) == 2 and not buffer):
        found.append(RIGHT)
    if system == "swap" and len(stack) >= 3 and stack[-2] < stack[-1]:
        found.append(SWAP)
    return found


def after(system, config, move):
    """The configuration after a move."""
    stack, buffer, heads = config

    def attach(dependent, head):
        return (*heads[: dependent - 1], head, *heads[dependent:])

    if system == "covington":
        if move == SHIFT:
            stack, buffer = tuple(range(buffer[0] + 1)), buffer[1:]
        elif not buffer:
            root_child = next((word for word, head in enumerate(heads, 1) if head in (0, LATE)), 0)
            stack, heads = stack[:-1], attach(stack[-1], LATE + root_child)
        else:
            pair = {LEFT: (stack[-1], buffer[0]), RIGHT: (buffer[0], stack[-1])}
            stack, heads = stack[:-1], heads if move == NO_ARC else attach(*pair[move])
        while not buffer and len(stack) > 1 and heads[stack[-1] - 1] is not None:
            stack = stack[:-1]
        return stack, buffer, heads
    if move == SHIFT:
        return (*stack, buffer[0]), buffer[1:], heads
    if system == "arc-standard-buffer":
        if move == LEFT:
            return stack[:-1], buffer, attach(stack[-1], buffer[0])
        return stack[:-1], (stack[-1], *buffer[1:]), attach(buffer[0], stack[-1])
    if system == "arc-eager":
        if not buffer:
            return stack[:-1], buffer, heads if move == REDUCE else attach(stack[-1], LATE + stack[-2])
        if move == LEFT:
            return stack[:-1], buffer, attach(stack[-1], buffer[0])
        if move == RIGHT:
            return (*stack, buffer[0]), buffer[1:], attach(buffer[0], stack[-1])
        return stack[:-1], buffer, heads
    if system == "arc-hybrid":
        head = buffer[0] if move == LEFT else stack[-2]
        return stack[:-1], buffer, attach(stack[-1], head)
    if move == LEFT:
        return (*stack[:-2], stack[-1]), buffer, attach(stack[-2], stack[-1])
    if move == RIGHT:
        return stack[:-1], buffer, attach(stack[-1], stack[-2])
    return (*stack[:-2], stack[-1]), (stack[-2], *buffer), heads


def reachable(system, n):
    """All configurations that can be reached, each with a sequence of moves that leads there."""
    found = {start(n): ()}
    to_do = [start(n)]
    while to_do:
        config = to_do.pop()
        for move in moves(system, config):
            new = after(system, config, move)
            if new not in found:
                found[new] = (*found[config], move)
                to_do.append(new)
    return found


@cache
def all_trees(n):
    """Every tree over n words with one root, as tuples of heads."""
    trees = []
    for heads in product(range(n + 1), repeat=n):
        if heads.count(0) == 1 and all(_reaches_root(heads, word) for word in range(1, n + 1)):
            trees.append(heads)
    return trees


def _has_cycle(heads):
    """Is there a word that is its own ancestor?"""
    for start in range(1, len(heads) + 1):
        word = start
        for _ in heads:
            word = heads[word - 1] or 0
            if word == start:
                return True
            if word == 0:
                break
    return False


def _reaches_root(heads, word):
    for _ in heads:
        word = heads[word - 1]
        if word == 0:
            return True
    return False


def is_projective(heads):
    """Does every arc dominate all words between its ends? By the definition."""

    def dominates(head, word):
        while word != 0 and word != head:
            word = heads[word - 1]
        return word == head

    return all(
        dominates(head, between)
        for word, head in enumerate(heads, 1)
        for between in range(min(word, head) + 1, max(word, head))
    )


@cache
def projective_trees(n):
    """Every projective tree over n words with one root."""
    return [heads for heads in all_trees(n) if is_projective(heads)]
