"""Episodes step by step, for traces: the functions of a task run interpreted, one decision at a time.

:func:`episode_steps` makes the same decisions as the engine (:mod:`treewright.search.engine`), greedily or with a beam,
and records the possible actions of each, their scores and their costs. A task only defines how its states are drawn and
the names of its actions (:class:`Drawing`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.errors import ConfigError
from treewright.search.compiling import interpreted
from treewright.search.engine import LEARNED, Episode, admissible, draw_actor, score_state
from treewright.search.hashing import seed_random
from treewright.search.policy import Policy
from treewright.search.running import prepare, raise_trouble, scratch_for
from treewright.search.scoring import LINEAR, place
from treewright.search.task import Packed
from treewright.search.trouble import NOT_FINAL
from treewright.tracing import Candidate, Feature, Step, softmax

__all__ = ["Decision", "Drawing", "Wishes", "episode_steps", "expert_choice", "find_action", "wishes", "wishing"]

_admissible, _draw_actor = interpreted(admissible), interpreted(draw_actor)
_score_state, _seed_random = interpreted(score_state), interpreted(seed_random)
_place = interpreted(place)

_MOST_EXPLAINED = 6  # candidates of a step whose features are listed
_MOST_FEATURES = 24  # of a candidate, those of the largest weights


@dataclass(frozen=True)
class Wishes:
    """Options of a trace that do not depend on the task.

    ``prefix`` names actions that are taken first, ``explain`` adds the features of candidates with their weights,
    and ``beam`` is another width of the beam. With a beam, ``lineage`` gets its hypotheses, a list for each step.
    """

    prefix: tuple[str, ...] = ()
    explain: bool = False
    beam: int | None = None
    lineage: list[list[dict[str, Any]]] = field(default_factory=list)


_WISHES: ContextVar[Wishes | None] = ContextVar("wishes", default=None)


@contextmanager
def wishing(wished: Wishes) -> Iterator[Wishes]:
    """Set options for all traces that are made in the block, so that tasks need not pass them on."""
    token = _WISHES.set(wished)
    try:
        yield wished
    finally:
        _WISHES.reset(token)


def wishes() -> Wishes:
    """Return the options of the current trace."""
    return _WISHES.get() or Wishes()


def find_action(name: str, names: Sequence[str], step: int) -> int:
    """Return the index of an action among the actions of a step, or raise :class:`~treewright.errors.ConfigError`."""
    if name not in names:
        known = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        raise ConfigError(
            f"has {name!r} at step {step}, where it is not possible; choose from: {known}", setting="prefix"
        )
    return list(names).index(name)


class Decision(NamedTuple):
    """A state that is not final, its admissible actions, and their scores and costs where there are any."""

    x: Any
    state: Any
    actions: list[int]
    scores: list[float] | None
    costs: list[float] | None


Choose = Callable[[Decision], int]


class Drawing(ABC):
    """How a task's states and actions are shown; ``x`` is the instance, and ``state`` has the declared fields."""

    @abstractmethod
    def state(self, x: Any, state: Any) -> dict[str, Any]:
        """Draw a state as plain data, in the vocabulary of the trace's kind."""

    @abstractmethod
    def action(self, x: Any, state: Any, action: int) -> str:
        """Name an action."""

    def measures(self, x: Any, state: Any) -> dict[str, float]:
        """The numbers that belong to a state, such as the errors made so far."""
        return {}

    def features(self, x: Any, state: Any, count: int) -> Sequence[str]:
        """The names of the features of a state, in the order in which the task lists them."""
        return [f"feature {number}" for number in range(1, count + 1)]

    def action_features(self, x: Any, action: int, count: int) -> Sequence[str]:
        """The names of the features of an action, in the order in which the task lists them."""
        return [f"of the action {number}" for number in range(1, count + 1)]

    def judged(self, decision: Decision, names: Sequence[str]) -> tuple[Sequence[float], tuple[str, ...]]:
        """The costs to show, and the names of the expert's actions, if there is a gold answer."""
        assert decision.costs is not None
        zero = tuple(name for name, cost in zip(names, decision.costs, strict=True) if cost == 0.0)
        return decision.costs, zero


def expert_choice(decision: Decision) -> int:
    """The action that the engine's expert takes: the first one of the least cost."""
    assert decision.costs is not None
    return decision.actions[decision.costs.index(min(decision.costs))]


def episode_steps(
    packed: Packed,
    drawing: Drawing,
    *,
    policy: Policy | None = None,
    beam: int = 1,
    seed: int = 0,
    gold: bool = False,
    choose: Choose | None = None,
) -> tuple[tuple[Step, ...], Any]:
    """The steps of the only sentence in ``packed``, and the final state.

    With a ``policy``, actions have scores. Without ``choose`` the policy decides, as in
    :func:`~treewright.search.running.decode`: greedily, or with a beam, and then the steps belong to the best
    hypothesis. ``gold`` says whether the instance has the gold answer, so that there are costs.
    """
    episode, wished = _Episode(packed, policy, seed), wishes()
    width = wished.beam or beam
    x, state = episode.x, episode.state
    steps: list[Step] = []
    while not episode.is_final():
        if len(steps) == episode.bound:
            raise_trouble(packed, 0, NOT_FINAL)
        actions = episode.actions()
        scores = None if policy is None else episode.scores(len(actions))
        decision = Decision(x, state, actions, scores, episode.costs(len(actions)) if gold else None)
        if len(steps) < len(wished.prefix):
            names = [drawing.action(x, state, each) for each in actions]
            action = actions[find_action(wished.prefix[len(steps)], names, len(steps))]
        else:
            if choose is None:
                assert policy is not None, "there must be a policy or a function that chooses"
                choose = _highest
                if width > 1:  # from the state that the prefix has led to
                    onwards = _Episode(packed, policy, seed)
                    onwards.buffer[:] = episode.buffer
                    choose = _along(_beam_path(onwards, width, drawing, wished.lineage))
            action = choose(decision)
        features = _explained(episode, drawing, decision, action) if wished.explain else {}
        steps.append(_step(len(steps), drawing, decision, action, features))
        episode.take(action)
    final = Step(len(steps), drawing.state(x, state), measures=drawing.measures(x, state))
    return (*steps, final), state


def _explained(episode: _Episode, drawing: Drawing, decision: Decision, action: int) -> dict[int, tuple[Feature, ...]]:
    """The features of the chosen action and of its best rivals, with their weights in a linear policy."""
    scorer, scores = episode.scorer, decision.scores
    if scorer is None or scores is None or scorer.kind.score is not LINEAR.plain().score:
        return {}
    taken = decision.actions.index(action)
    best = sorted(range(len(scores)), key=lambda k: (k != taken, -scores[k]))[:_MOST_EXPLAINED]
    weights, observed = scorer.arrays[episode.member], episode.scratch.observed[: episode.size]
    names = drawing.features(decision.x, decision.state, len(observed))
    rows, width = weights.shape
    found = {}
    for k in best:
        cells = [_place(feature, decision.actions[k], rows, width) for feature in observed]
        shares = [(name, float(weights[cell])) for name, cell in zip(names, cells, strict=True)]
        if width == 1 and len(episode.scratch.extra):
            first, last = episode.scratch.extra_at[k : k + 2]
            extra = [int(each) & (rows - 1) for each in episode.scratch.extra[first:last]]
            called = drawing.action_features(decision.x, decision.actions[k], len(extra))
            shares += [(name, float(weights[row, 0])) for name, row in zip(called, extra, strict=True)]
        shares = [share for share in shares if share[1]]
        shares.sort(key=lambda share: -abs(share[1]))
        found[k] = tuple(Feature(name, 1.0, weight) for name, weight in shares[:_MOST_FEATURES])
    return found


def _step(
    number: int, drawing: Drawing, decision: Decision, action: int, features: dict[int, tuple[Feature, ...]]
) -> Step:
    """A decision as a step of a trace."""
    x, state, actions, scores, costs = decision
    names = [drawing.action(x, state, each) for each in actions]
    shown, expert = (None, ()) if costs is None else drawing.judged(decision, names)
    probabilities = None if scores is None else softmax(scores)
    columns: list[Sequence[Any]] = [
        [None] * len(actions) if each is None else each for each in (scores, shown, probabilities)
    ]
    columns.append([features.get(k, ()) for k in range(len(actions))])
    return Step(
        number,
        drawing.state(x, state),
        tuple(map(Candidate, names, *columns)),
        actions.index(action),
        expert,
        drawing.measures(x, state),
    )


def _highest(decision: Decision) -> int:
    """The first action of the highest score."""
    assert decision.scores is not None
    return decision.actions[decision.scores.index(max(decision.scores))]


def _along(path: Iterator[int]) -> Choose:
    """Choose the actions of a path, in order."""
    return lambda _: next(path)


class _Episode:
    """The only sentence of a packed corpus, its task and a policy, interpreted.

    Of a mixture, a member is drawn for every decision.
    """

    def __init__(self, packed: Packed, policy: Policy | None, seed: int) -> None:
        plain = packed.plain()
        self.packed, self.task, self.x = packed, plain.task, packed.instance(0)
        n = int(packed.lengths[0])
        self.bound = int(self.task.steps_bound(n))
        self.scorer = None if policy is None else prepare(policy, plain, np.zeros(1, np.int64))
        self.scratch = scratch_for(self.scorer, self.task)
        self.member = self.size = 0  # of the last scores: its member, and the size of the observation
        _seed_random(self.scratch.random, seed, 0, 0)
        self.buffer = np.zeros(self.task.state_size(n), np.int32)
        self.state = self.task.state_view(self.buffer, n)
        self.task.initial(self.x, self.state)

    def is_final(self) -> bool:
        return bool(self.task.is_final(self.x, self.state))

    def actions(self) -> list[int]:
        """The admissible actions, at least one."""
        n = int(_admissible(self.task, self.x, self.state, self.scratch))
        if n < 0:
            raise_trouble(self.packed, 0, n)
        return [int(action) for action in self.scratch.actions[:n]]

    def scores(self, n: int) -> list[float]:
        """The scores of the ``n`` actions that :meth:`actions` has found."""
        assert self.scorer is not None
        episode = Episode(0, self.x, self.buffer, self.state, self.bound)
        self.member = int(_draw_actor(self.scorer, LEARNED, self.scratch.random))
        self.size = size = int(_score_state(self.task, episode, self.scorer, self.member, n, self.scratch))
        if size < 0:
            raise_trouble(self.packed, 0, size)
        return [float(each) for each in self.scratch.scores[:n]]

    def costs(self, n: int) -> list[float]:
        """The expert's costs of the ``n`` actions that :meth:`actions` has found."""
        self.task.expert_costs(self.x, self.state, self.scratch.actions, n, self.scratch.costs)
        return [float(each) for each in self.scratch.costs[:n]]

    def take(self, action: int) -> None:
        self.task.step(self.x, self.state, action)


def _beam_path(episode: _Episode, width: int, drawing: Drawing, lineage: list[list[dict[str, Any]]]) -> Iterator[int]:
    """The actions of the best hypothesis of a beam search, the same as of :func:`~treewright.search.beams.beam_pass`.

    Ties are broken in favour of the better hypothesis, and then of the earlier action. ``lineage`` receives a list for
    each step: the hypotheses that remain, each with its parent in the previous list, its action and its score.
    """
    beam: list[tuple[float, npt.NDArray[np.int32], tuple[int, ...]]] = [(0.0, episode.buffer.copy(), ())]
    for _ in range(episode.bound + 1):
        found: list[tuple[float, int, int | None]] = []
        for parent, (total, buffer, _) in enumerate(beam):
            episode.buffer[:] = buffer
            if episode.is_final():
                found.append((total, parent, None))
                continue
            actions = episode.actions()
            scores = episode.scores(len(actions))
            found += [(total + score, parent, action) for action, score in zip(actions, scores, strict=True)]
        if all(action is None for _, _, action in found):
            return iter(beam[0][2])
        successors = []
        lineage.append([])
        for total, parent, action in sorted(found, key=lambda each: -each[0])[:width]:
            _, buffer, path = beam[parent]
            name = None
            if action is not None:
                episode.buffer[:] = buffer
                name = drawing.action(episode.x, episode.state, action)
                episode.take(action)
                buffer, path = episode.buffer.copy(), (*path, action)
            lineage[-1].append({"parent": parent, "action": name, "score": float(total)})
            successors.append((total, buffer, path))
        beam = successors
    raise_trouble(episode.packed, 0, NOT_FINAL)
