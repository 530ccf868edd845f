"""Tokens and sentences as a search space: a paragraph is an episode, and each decision ends a token or continues it.

The characters of a paragraph are visited from left to right. At a *point*, a place where a token could end, there are
three actions: the token continues (``INSIDE``), the token ends (``TOKEN``), or both the token and the sentence end
(``SENTENCE``). In most writing systems no token ends between two letters, and such places are not points. If the
treebank has tokens that end there (Chinese, Japanese, clitics), every place is a point. At white space a token always
ends, unless the treebank has tokens with spaces in them (``spaced``).

The expert is exact: in every state a wrong decision costs one, or two if a sentence should end. Ends of sentences are
rare and often unmarked; with equal costs a policy misses more of them than it invents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.search import Task, compiled, cross2, cross3, mix

__all__ = ["INSIDE", "SENTENCE", "TOKEN", "Tokenization"]

INSIDE, TOKEN, SENTENCE = range(3)

#: classes of characters; 0 stands for positions beyond the ends of the paragraph
SPACE, LOWER, UPPER, DIGIT, OPENING, CLOSING, QUOTE, STOP, COMMA, HYPHEN, OTHER, SYMBOL, UNCASED = range(1, 14)

_MISSED_SENTENCE = 2  # the cost of a missed end of a sentence, chosen on development data
_NOT_SPACED = 7  # stands for the next chunk if no white space follows
_LONGEST_TOKEN = 12  # the number of characters of the current token that features see
_REST = 8  # the number of characters in the rest of the chunk that features see


@compiled
def at(values: Any, i: int) -> int:
    """Return the value at position i, or 0 beyond the ends."""
    if 0 <= i < values.shape[0]:
        return np.int64(values[i])
    return np.int64(0)


@compiled
def bucket(count: int) -> int:
    """Map a number to one of twelve classes, which are finer for small numbers."""
    if count <= 4:
        return np.int64(count)
    if count <= 6:
        return np.int64(5)
    if count <= 9:
        return np.int64(6)
    if count <= 14:
        return np.int64(7)
    if count <= 20:
        return np.int64(8)
    if count <= 30:
        return np.int64(9)
    if count <= 45:
        return np.int64(10)
    return np.int64(11)


@compiled
def hash_of(values: Any, start: int, end: int) -> int:
    """Return a hash of the values from ``start`` to ``end``."""
    h = np.int64(end - start)
    for k in range(start, end):
        h = mix(h, at(values, k))
    return h


@compiled
def price(action: int, gold: int) -> int:
    """Return the cost of a decision."""
    if action == gold:
        return np.int64(0)
    return np.int64(_MISSED_SENTENCE) if gold == SENTENCE else np.int64(1)


class Tokenization(Task):
    """Ends of tokens and sentences, with a cost for each wrong decision.

    An instance is a paragraph whose chunks are separated by single spaces. Each character has its code point in lower
    case (``low``), its code point (``chars``), its class, and the number of its chunk. Each chunk has its start, a hash
    of the chunk in lower case (``whole``), a hash of its shape, a hash of its letters without the signs around them
    (``core``), and its entry in the word list (``flags``). The ``points`` come with the gold actions.
    """

    name = "tokenization"
    state = {"position": 1, "began": 1, "previous": 1, "tokens": 1, "depth": 1, "quotes": 1, "errors": 1, "labels": "n"}
    instance = ("chars", "low", "classes", "chunk", "start", "whole", "shape", "core", "flags", "points", "gold")
    shared = ("spaced",)
    n_actions = 3
    max_steps = "n"
    max_features = 72
    lean = ("is_final", "actions", "step", "features", "expert_costs", "loss", "partial_loss")

    def __init__(self, spaced: bool = False) -> None:
        self.spaced = spaced

    @staticmethod
    def is_final(x: Any, state: Any) -> bool:
        """Whether every point has been decided."""
        return state.position[0] >= x.n

    @staticmethod
    def actions(x: Any, state: Any, out: Any) -> int:
        """List the actions: a paragraph ends with a sentence, and a token ends at white space unless ``spaced``."""
        i = x.points[state.position[0]]
        if i + 1 >= x.chars.shape[0]:
            out[0] = SENTENCE
            return 1
        n = 0
        if x.classes[i + 1] != SPACE or x.spaced[0] != 0:
            out[0] = INSIDE
            n = 1
        out[n] = TOKEN
        out[n + 1] = SENTENCE
        return n + 2

    @staticmethod
    def step(x: Any, state: Any, action: int) -> None:
        """Record the decision and go to the next point."""
        p = state.position[0]
        i = x.points[p]
        state.labels[p] = action
        state.errors[0] += price(action, x.gold[p])
        kind = x.classes[i]
        if kind == OPENING:
            state.depth[0] += 1
        if kind == CLOSING:
            state.depth[0] -= 1
        if kind == QUOTE:
            state.quotes[0] += 1
        if action != INSIDE:
            state.previous[0] = np.int32(hash_of(x.low, np.int64(state.began[0]), np.int64(i) + 1))
            state.began[0] = i + 2 if at(x.classes, np.int64(i) + 1) == SPACE else i + 1
            state.tokens[0] += 1
        if action == SENTENCE:
            state.tokens[0] = 0
            state.depth[0] = 0
            state.quotes[0] = 0
            state.previous[0] = 0
        state.position[0] = p + 1

    @staticmethod
    def features(x: Any, state: Any, out: Any) -> int:
        """Windows of characters and classes; the current token; this chunk and the next; lengths, brackets, quotes."""
        i = np.int64(x.points[state.position[0]])
        char, char1 = at(x.chars, i), at(x.chars, i + 1)
        kind, kind1 = at(x.classes, i), at(x.classes, i + 1)
        spaced = np.int64(1) if kind1 == SPACE else np.int64(0)
        j = np.int64(x.chunk[i])
        end = np.int64(x.start[j + 1]) - 1  # of the chunk
        began = np.int64(state.began[0])
        follow, flag, shape = np.int64(_NOT_SPACED), np.int64(_NOT_SPACED), np.int64(_NOT_SPACED)
        if spaced != 0:
            follow, flag, shape = at(x.core, j + 1), at(x.flags, j + 1), at(x.shape, j + 1)
        token = hash_of(x.low, max(began, i - _LONGEST_TOKEN), i + 1)
        rest = hash_of(x.low, i + 1, min(end, i + 1 + _REST))
        size, left = bucket(np.int64(state.tokens[0])), bucket(np.int64(x.core.shape[0]) - 1 - j)
        deep = min(np.int64(2), max(np.int64(-1), np.int64(state.depth[0]))) + 1
        quote = np.int64(state.quotes[0]) & 1
        previous = np.int64(state.previous[0])
        n = 0
        for k in range(-4, 6):
            out[n] = cross2(1, k, at(x.low, i + k))
            n += 1
        for k in range(-3, 4):
            out[n] = cross3(2, k, at(x.low, i + k), at(x.low, i + k + 1))
            n += 1
        for k in range(-2, 2):
            out[n] = mix(cross3(3, k, at(x.low, i + k), at(x.low, i + k + 1)), at(x.low, i + k + 2))
            n += 1
        for k in range(-3, 2):
            two = cross3(4, k, at(x.classes, i + k), at(x.classes, i + k + 1))
            out[n] = mix(mix(two, at(x.classes, i + k + 2)), at(x.classes, i + k + 3))
            n += 1
        before = cross3(5, at(x.classes, i - 2), at(x.classes, i - 1), kind)
        out[n] = mix(mix(before, kind1), at(x.classes, i + 2))
        out[n + 1] = cross2(6, char, char1)
        # the current token and the rest of its chunk
        out[n + 2] = cross2(7, token, char1)
        out[n + 3] = cross2(8, token, rest)
        out[n + 4] = cross2(9, token, shape)
        out[n + 5] = cross2(10, token, flag)
        out[n + 6] = cross2(11, at(x.whole, j), end - i)
        out[n + 7] = cross2(12, at(x.shape, j), end - i)
        out[n + 8] = cross2(13, rest, kind)
        out[n + 9] = mix(cross3(14, i - began, kind, kind1), spaced)
        # this chunk and the ones around it
        out[n + 10] = cross3(15, char, at(x.shape, j), shape)
        out[n + 11] = cross2(16, char, follow)
        out[n + 12] = cross2(17, spaced, follow)
        out[n + 13] = cross3(18, char, kind1, flag)
        out[n + 14] = cross3(19, char, at(x.classes, i - 1), shape)
        out[n + 15] = cross3(20, char, flag, at(x.flags, j))
        out[n + 16] = cross3(21, char, at(x.core, j), spaced)
        out[n + 17] = cross3(22, char, at(x.core, j), flag)
        out[n + 18] = cross3(23, at(x.core, j), follow, spaced)
        out[n + 19] = cross3(24, at(x.core, j - 1), char, flag)
        out[n + 20] = cross3(25, shape, at(x.shape, j + 2), kind)
        out[n + 21] = cross3(26, flag, at(x.flags, j + 2), char)
        out[n + 22] = cross3(27, spaced, follow, at(x.core, j + 2))
        out[n + 23] = mix(cross3(28, at(x.shape, j - 1), at(x.shape, j), shape), end - i)
        # the current sentence, and the beginning and the rest of the paragraph
        out[n + 24] = cross3(29, char, spaced, size)
        out[n + 25] = cross3(30, kind, flag, size)
        out[n + 26] = cross3(31, kind, spaced, left)
        out[n + 27] = cross3(32, kind, flag, left)
        out[n + 28] = mix(cross3(33, char, spaced, deep), quote)
        out[n + 29] = mix(cross3(34, kind, flag, deep), quote)
        out[n + 30] = cross3(35, previous, token, spaced)
        out[n + 31] = mix(cross3(36, previous, char, spaced), flag)
        out[n + 32] = mix(cross3(37, kind, spaced, size), left)
        out[n + 33] = cross3(38, at(x.whole, 0), spaced, kind)
        return n + 34

    @staticmethod
    def expert_costs(x: Any, state: Any, actions: Any, n: int, out: Any) -> None:
        """Compute the cost of each action: 0 for the gold action."""
        gold = x.gold[state.position[0]]
        for k in range(n):
            out[k] = np.float64(price(actions[k], gold))

    @staticmethod
    def loss(x: Any, state: Any) -> float:
        """Return the total cost of the wrong decisions."""
        return np.float64(state.errors[0])

    @staticmethod
    def partial_loss(x: Any, state: Any) -> float:
        """Return the cost so far: the remaining decisions can still be right."""
        return np.float64(state.errors[0])

    def shared_arrays(self) -> dict[str, Any]:
        """Whether tokens may have spaces in them."""
        return {"spaced": np.array([self.spaced], np.int32)}
