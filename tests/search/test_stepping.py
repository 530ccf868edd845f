"""Steps for people are those of the engine: the same decisions, states, scores and costs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.search.naive import Episode, naive_beam, naive_decode
from tests.toys import Picking, Track, random_picking, random_track
from treewright.errors import TaskError
from treewright.policies import LinearPolicy
from treewright.search import Task
from treewright.search.stepping import Drawing, episode_steps, expert_choice


class Plain(Drawing):
    """States as the numbers that they consist of, actions by their numbers."""

    def state(self, x, state):
        return {name: getattr(state, name).tolist() for name in state._fields}

    def action(self, x, state, action):
        return f"action {action}"

    def measures(self, x, state):
        return {"length": int(x.n)}


TRACKS = [Track().pack([s]) for s in random_track(np.random.default_rng(3), 8, 6)]
PICKINGS = [Picking().pack([s]) for s in random_picking(np.random.default_rng(4), 4, 4)]


def weights_of(packed, seed, policies=1, ties=False):
    shape = (policies, 256, 1 if packed.task.structured else packed.task.n_actions)
    rng = np.random.default_rng(seed)
    return (rng.integers(-1, 2, shape) if ties else rng.normal(size=shape)).astype(np.float32)


@pytest.mark.parametrize("packed", [*TRACKS, *PICKINGS])
@pytest.mark.parametrize("ties", [False, True])
def test_greedy_steps_are_those_of_the_obvious_loop(packed, ties):
    weights = weights_of(packed, 5, ties=ties)
    steps, state = episode_steps(packed, Plain(), policy=LinearPolicy(weights))
    [(last, length)] = naive_decode(packed, weights)
    assert len(steps) == length + 1
    assert steps[-1].state == {name: tuple(values) for name, values in Plain().state(None, state).items()}
    episode = Episode(packed, 0)
    for step in steps[:-1]:
        assert [c.action for c in step.candidates] == [f"action {action}" for action in episode.actions()]
        assert [c.score for c in step.candidates] == episode.scores(weights[0])
        assert all(c.cost is None for c in step.candidates)
        assert sum(c.probability for c in step.candidates) == pytest.approx(1.0)
        assert step.measures == {"length": int(packed.lengths[0])}
        assert step.choice.score == max(c.score for c in step.candidates)
        episode = episode.after(episode.actions()[step.chosen])
    np.testing.assert_array_equal(episode.buffer, last.buffer)


@pytest.mark.parametrize("packed", [*TRACKS, *PICKINGS])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("width", [2, 3, 7])
def test_the_hypothesis_that_wins_is_followed(packed, ties, width):
    weights = weights_of(packed, 6, ties=ties)
    steps, state = episode_steps(packed, Plain(), policy=LinearPolicy(weights), beam=width)
    best, total = naive_beam(packed, 0, weights[0], width)
    view = packed.task.state_view(best.buffer, int(packed.lengths[0]))
    assert Plain().state(None, state) == Plain().state(None, view)
    assert sum(step.choice.score for step in steps[:-1]) == pytest.approx(total)


@pytest.mark.parametrize("packed", TRACKS)
def test_the_expert_pays_nothing(packed):
    steps, state = episode_steps(packed, Plain(), gold=True, choose=expert_choice)
    episode = Episode(packed, 0)
    for step in steps[:-1]:
        assert [c.cost for c in step.candidates] == episode.expert_costs()
        assert step.correct
        assert step.expert == step.zero_cost
        assert {(c.score, c.probability) for c in step.candidates} == {(None, None)}
        episode = episode.after(episode.actions()[step.chosen])
    assert state.errors[0] == 0


def test_of_a_mixture_a_policy_is_drawn_for_each_decision_as_in_decoding():
    packed, mixture = TRACKS[0], [0.0, 0.5, 1.0]
    weights = weights_of(packed, 7, policies=2)
    finals = set()
    for seed in range(8):
        _, state = episode_steps(packed, Plain(), policy=LinearPolicy(weights, (0.5, 0.5)), seed=seed)
        [(last, _)] = naive_decode(packed, weights, mixture, seed=seed)
        np.testing.assert_array_equal(state.labels, packed.task.state_view(last.buffer, len(state.labels)).labels)
        finals.add(tuple(state.labels))
    assert len(finals) > 2


class Endless(Task):
    """Never ends, or offers nothing."""

    state = {"count": 1}
    instance = ("offered",)
    n_actions = 2
    max_steps = "n"

    def encode(self, sentence):
        return {"offered": np.array(sentence, np.int32)}

    @staticmethod
    def is_final(x, state):
        return False

    @staticmethod
    def actions(x, state, out):
        return x.offered[0]

    @staticmethod
    def step(x, state, action):
        state.count[0] += 1


@pytest.mark.parametrize(
    ("offered", "said"), [(1, "is not final after 1 steps"), (0, "offers no action"), (3, "more actions than")]
)
@pytest.mark.parametrize("beam", [1, 2])
def test_tasks_that_break_the_contract(offered, said, beam):
    policy = LinearPolicy(np.zeros((1, 4, 2), np.float32))
    with pytest.raises(TaskError, match=said):
        episode_steps(Endless().pack([[offered]]), Plain(), policy=policy, beam=beam)
