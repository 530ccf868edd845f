"""Two small tasks that the tests share: :class:`Track` has a fixed set of actions, :class:`Picking` structured ones.

Every kernel is compiled once for each class, which takes seconds: a test that needs something new adds a kind of token
rather than a class.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from treewright.learners import LEARNERS, train
from treewright.search import Task, cross2

CUE, FORK, FREE, FORCED, OPEN = range(5)
LABELS = 3
SKIP = 3


class Token(NamedTuple):
    """One decision of :class:`Track`: see there."""

    kind: int
    value: int
    hint: int = 0


class Track(Task):
    """Follow a track: label each token 0, 1 or 2. After an error one is off the track until the next right label.

    The right label of a token is its ``value``; off the track it is one more (modulo 3), except at a FORK. At a FREE
    token two labels are right, at a FORCED one only the right label is offered, and at an OPEN one there is also
    SKIP, which costs two errors and jumps over the next token, so that episodes differ in length.

    What can be seen: the value and whether one is on the track, both apart and together. At a FORK only the hint is
    seen. Wherever one is, the right label costs nothing and is there to be taken: the oracle is exact.
    With ``tells_partial_loss`` the task says the least loss still reachable, otherwise it says that it does not know.
    """

    state = {"position": 1, "off": 1, "errors": 1, "labels": "n"}
    instance = ("kind", "value", "hint")
    shared = ("options",)
    n_actions = LABELS + 1
    max_features = 6

    def __init__(self, *, tells_partial_loss: bool = True) -> None:
        self.tells_partial_loss = tells_partial_loss

    def encode(self, sentence: list[Token]) -> dict[str, Any]:
        return {name: np.array([getattr(token, name) for token in sentence], np.int32) for name in self.instance}

    def shared_arrays(self) -> dict[str, Any]:
        return {"options": np.array([int(self.tells_partial_loss)], np.int32)}

    @staticmethod
    def is_final(x, state):
        return state.position[0] >= x.n

    @staticmethod
    def actions(x, state, out):
        i = state.position[0]
        right = x.value[i]
        if x.kind[i] == FORCED:
            out[0] = (right + state.off[0]) % LABELS
            return 1
        for label in range(LABELS):
            out[label] = label
        if x.kind[i] == OPEN:
            out[LABELS] = SKIP
            return LABELS + 1
        return LABELS

    @staticmethod
    def expert_costs(x, state, actions, n, out):
        i = state.position[0]
        for k in range(n):
            right = x.value[i]
            if x.kind[i] != FORK:
                right = (right + state.off[0]) % LABELS
            out[k] = 1.0
            if actions[k] == SKIP:
                out[k] = 2.0
            elif actions[k] == right or (x.kind[i] == FREE and actions[k] == (right + 1) % LABELS):
                out[k] = 0.0

    @staticmethod
    def step(x, state, action):
        i = state.position[0]
        right = x.value[i]
        if x.kind[i] != FORK:
            right = (right + state.off[0]) % LABELS
        state.labels[i] = action + 1
        state.position[0] = i + 1
        if action == SKIP:
            state.errors[0] += 2
            state.position[0] = min(i + 2, x.n)
        elif action == right or (x.kind[i] == FREE and action == (right + 1) % LABELS):
            state.off[0] = 0
        else:
            state.errors[0] += 1
            state.off[0] = 1

    @staticmethod
    def features(x, state, out):
        i = state.position[0]
        if x.kind[i] == FORK:
            out[0] = cross2(1, x.hint[i], 0)
            return 1
        off = state.off[0]
        out[0] = cross2(2, x.kind[i], 0)
        out[1] = cross2(3, x.value[i], 0)
        out[2] = cross2(4, x.value[i], off)
        out[3] = cross2(5, x.kind[i], off)
        return 4

    @staticmethod
    def loss(x, state):
        return np.float64(state.errors[0])

    @staticmethod
    def partial_loss(x, state):
        if x.options[0] == 0:
            return -1.0
        return np.float64(state.errors[0])


def random_track(rng: np.random.Generator, sentences: int, longest: int, shortest: int = 1) -> list[list[Token]]:
    """Sentences of all kinds of tokens, all of whose forks have hints: a policy without any loss exists."""
    corpus = []
    for _ in range(sentences):
        kinds = rng.integers(0, 5, rng.integers(shortest, longest + 1))
        values = rng.integers(0, LABELS, len(kinds))
        corpus.append(
            [Token(int(k), int(v), 1 + int(v) if k == FORK else 0) for k, v in zip(kinds, values, strict=True)]
        )
    return corpus


def treacherous_track(rng: np.random.Generator, sentences: int, length: int) -> list[list[Token]]:
    """A fork without a hint, then cues. Whoever errs at the fork must do what no expert's path has ever shown."""
    return [
        [Token(FORK, int(v)) if i == 0 else Token(CUE, int(v)) for i, v in enumerate(rng.integers(0, LABELS, length))]
        for _ in range(sentences)
    ]


class Picking(Task):
    """Pick all tokens, one after the other: those of shape 0 first, then those of shape 1, and so on.

    An action is the number of a token, so it means nothing by itself: it has features of its own.
    The loss is the number of times that a token was picked too early.
    """

    state = {"picked": "n", "count": 1, "last": 1, "errors": 1}
    instance = ("shape",)
    structured = True
    n_actions = 6
    max_features = 3

    def encode(self, sentence: list[int]) -> dict[str, Any]:
        return {"shape": np.array(sentence, np.int32)}

    @staticmethod
    def is_final(x, state):
        return state.count[0] == x.n

    @staticmethod
    def actions(x, state, out):
        n = 0
        for i in range(x.n):
            if state.picked[i] == 0:
                out[n] = i
                n += 1
        return n

    @staticmethod
    def expert_costs(x, state, actions, n, out):
        first = x.shape[actions[0]]
        for k in range(1, n):
            first = min(first, x.shape[actions[k]])
        for k in range(n):
            out[k] = 0.0 if x.shape[actions[k]] == first else 1.0

    @staticmethod
    def step(x, state, action):
        for i in range(x.n):
            if state.picked[i] == 0 and x.shape[i] < x.shape[action]:
                state.errors[0] += 1
                break
        state.picked[action] = 1 + state.count[0]
        state.count[0] += 1
        state.last[0] = x.shape[action]

    @staticmethod
    def features(x, state, out):
        out[0] = cross2(1, state.last[0], 0)
        return 1

    @staticmethod
    def action_features(x, state, action, out):
        out[0] = cross2(2, x.shape[action], 0)
        out[1] = cross2(3, x.shape[action], state.last[0])
        if x.shape[action] == state.last[0]:
            out[2] = cross2(4, 0, 0)
            return 3
        return 2

    @staticmethod
    def loss(x, state):
        return np.float64(state.errors[0])

    @staticmethod
    def partial_loss(x, state):
        return np.float64(state.errors[0])


def random_picking(rng: np.random.Generator, sentences: int, longest: int) -> list[list[int]]:
    """Sentences of up to ``longest`` tokens of four shapes."""
    return [rng.integers(0, 4, rng.integers(1, longest + 1)).tolist() for _ in range(sentences)]


def sha(*arrays: np.ndarray) -> str:
    """The digest of arrays, to the bit."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def fingerprints() -> dict[str, str]:
    """Train every preset on both tasks for two iterations and take the digests of weights and decoded states."""
    track = Track().pack(random_track(np.random.default_rng(1), 12, 5))
    picking = Picking().pack(random_picking(np.random.default_rng(2), 8, 4))
    found = {}
    for name, preset in LEARNERS.items():
        for task, packed in (("track", track), ("picking", picking)):
            policy = train(preset(passes=2), packed, bits=10, seed=3).policy
            found[f"{task} {name}"] = sha(policy.weights, policy.decode(packed, seed=4).states)
    for update in ("passive-aggressive", "arow", "log-linear", "regression"):
        policy = train(LEARNERS["lols"](passes=2, update=update), track, bits=10, seed=3).policy
        found[f"track lols {update}"] = sha(policy.weights, policy.decode(track, beam=3).states)
    return found
