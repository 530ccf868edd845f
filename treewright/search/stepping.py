"""Episodes step by step, for people: the functions of a task, interpreted, one decision after the other.

:func:`episode_steps` makes the decisions that the engine makes (:mod:`treewright.search.engine`), greedily or with a
beam, and says of each what was possible, how the policy scores it, and what it costs. A task only says how its states
are drawn and what its actions are called (:class:`Drawing`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewright.search.compiling import interpreted
from treewright.search.engine import LEARNED, Episode, admissible, draw_actor, score_state
from treewright.search.hashing import seed_random
from treewright.search.policy import Policy
from treewright.search.running import prepare, raise_trouble, scratch_for
from treewright.search.task import Packed
from treewright.search.trouble import NOT_FINAL
from treewright.tracing import Candidate, Step, softmax

__all__ = ["Decision", "Drawing", "episode_steps", "expert_choice"]

_admissible, _draw_actor = interpreted(admissible), interpreted(draw_actor)
_score_state, _seed_random = interpreted(score_state), interpreted(seed_random)


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

    def judged(self, decision: Decision, names: Sequence[str]) -> tuple[Sequence[float], tuple[str, ...]]:
        """The costs to show, and the names of what the expert does, where there is a gold answer."""
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

    Where there is a ``policy``, actions have scores. Without ``choose`` the policy decides, as in
    :func:`~treewright.search.running.decode`: greedily, or with a beam, and then the steps are those of the hypothesis
    that wins. ``gold`` says whether the instance has the right answer, so that there are costs.
    """
    episode = _Episode(packed, policy, seed)
    if choose is None:
        assert policy is not None, "somebody has to choose"
        choose = _along(_beam_path(_Episode(packed, policy, seed), beam)) if beam > 1 else _highest
    x, state = episode.x, episode.state
    steps: list[Step] = []
    while not episode.is_final():
        if len(steps) == episode.bound:
            raise_trouble(packed, 0, NOT_FINAL)
        actions = episode.actions()
        scores = None if policy is None else episode.scores(len(actions))
        decision = Decision(x, state, actions, scores, episode.costs(len(actions)) if gold else None)
        action = choose(decision)
        steps.append(_step(len(steps), drawing, decision, action))
        episode.take(action)
    final = Step(len(steps), drawing.state(x, state), measures=drawing.measures(x, state))
    return (*steps, final), state


def _step(number: int, drawing: Drawing, decision: Decision, action: int) -> Step:
    """A decision as it is shown."""
    x, state, actions, scores, costs = decision
    names = [drawing.action(x, state, each) for each in actions]
    shown, expert = (None, ()) if costs is None else drawing.judged(decision, names)
    probabilities = None if scores is None else softmax(scores)
    columns = [[None] * len(actions) if each is None else each for each in (scores, shown, probabilities)]
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
    """The actions of a path, one after the other."""
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
        _seed_random(self.scratch.random, seed, 0, 0)
        self.buffer = np.zeros(self.task.state_size(n), np.int32)
        self.state = self.task.state_view(self.buffer, n)
        self.task.initial(self.x, self.state)

    def is_final(self) -> bool:
        return bool(self.task.is_final(self.x, self.state))

    def actions(self) -> list[int]:
        """The admissible actions, one at least."""
        n = int(_admissible(self.task, self.x, self.state, self.scratch))
        if n < 0:
            raise_trouble(self.packed, 0, n)
        return [int(action) for action in self.scratch.actions[:n]]

    def scores(self, n: int) -> list[float]:
        """The scores of the ``n`` actions that :meth:`actions` has found."""
        assert self.scorer is not None
        episode = Episode(0, self.x, self.buffer, self.state, self.bound)
        member = int(_draw_actor(self.scorer, LEARNED, self.scratch.random))
        size = int(_score_state(self.task, episode, self.scorer, member, n, self.scratch))
        if size < 0:
            raise_trouble(self.packed, 0, size)
        return [float(each) for each in self.scratch.scores[:n]]

    def costs(self, n: int) -> list[float]:
        """The expert's costs of the ``n`` actions that :meth:`actions` has found."""
        self.task.expert_costs(self.x, self.state, self.scratch.actions, n, self.scratch.costs)
        return [float(each) for each in self.scratch.costs[:n]]

    def take(self, action: int) -> None:
        self.task.step(self.x, self.state, action)


def _beam_path(episode: _Episode, width: int) -> Iterator[int]:
    """The actions of the hypothesis that beam search ends with, as :func:`~treewright.search.beams.beam_pass` does.

    Of equal scores, those of the better hypothesis come first, and then those of the earlier action.
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
        for total, parent, action in sorted(found, key=lambda each: -each[0])[:width]:
            _, buffer, path = beam[parent]
            if action is not None:
                episode.buffer[:] = buffer
                episode.take(action)
                buffer, path = episode.buffer.copy(), (*path, action)
            successors.append((total, buffer, path))
        beam = successors
    raise_trouble(episode.packed, 0, NOT_FINAL)
