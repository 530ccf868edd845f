"""Reinforcement learning: the learners on a slow, obvious environment, their settings, and training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from tests.toys import Track, random_track
from treewright.errors import ConfigError, TaskError
from treewright.learners import Constant, Decay
from treewright.learners.rl import (
    RL,
    Apprenticeship,
    DPlus,
    IMinus,
    IPlus,
    PolicyGradient,
    begin,
    make_rl,
    mean_reward,
    policy_gradient_pass,
    rl_table,
)
from treewright.learners.rl_training import RLPass, train_rl
from treewright.search import Features
from treewright.search.environment import Results, Rollouts
from treewright.search.transition_environment import TransitionEnvironment


class Corridor:
    """Two steps, left or right at each; the reward of example i is that of the path taken, from a table.

    The weights are the scores of the two actions in each of the three states of each kind of example. The oracle goes
    where the reward is highest. Shaped rewards spread the highest reward over both steps, less what each has lost.
    """

    def __init__(self, tables, kinds=None, initial=None):
        self.tables = np.asarray(tables, float).reshape(len(tables), 2, 2)
        self.kinds = list(range(len(tables))) if kinds is None else kinds
        self.size = 6 * (1 + max(self.kinds))
        self._initial = np.zeros(self.size) if initial is None else initial
        self.calls = []

    def __len__(self):
        return len(self.tables)

    def initial(self):
        return self._initial

    def place(self, i, path):
        return 6 * self.kinds[i] + 2 * (0 if not path else 1 + path[0])

    def rollouts(self, θ, which, *, temperature, infusion, discount, credit, baseline, trajectories, seed, jobs):
        self.calls.append((len(which), temperature, infusion, trajectories))
        total, reward = np.zeros(self.size), np.zeros((len(which), trajectories))
        for row, i in enumerate(which):
            for j in range(trajectories):
                rng, path, gradients = np.random.default_rng([seed, i, j]), (), []
                for _ in range(2):
                    at = self.place(i, path)
                    p = np.exp(θ[at : at + 2] / temperature)
                    p /= p.sum()
                    best = int(np.argmax([self.tables[i][(*path, a)].max() for a in (0, 1)]))
                    action = best if rng.random() < infusion else int(rng.random() < p[1])
                    gradients.append((at, (np.eye(2)[action] - p) / temperature))
                    path = (*path, action)
                most, halfway, earned = self.tables[i].max(), self.tables[i][path[0]].max(), self.tables[i][path]
                shaped = [most / 2.0 - (most - halfway), most / 2.0 - (halfway - earned)]
                r = {"terminal": [0.0, earned], "shaped": shaped, "unit": [1.0, 1.0]}[credit]
                reward[row, j] = earned
                for (at, g), to_come in zip(gradients, (r[0] + discount * r[1], r[1]), strict=True):
                    total[at : at + 2] += (to_come - (0.0 if baseline is None else baseline[row])) * g
        at = np.flatnonzero(total)
        gradient = Features(np.concatenate([at, at]), np.concatenate([total[at], total[at]]) / 2.0, reward.sum())
        return Rollouts(gradient, reward, reward.copy(), np.full(reward.shape, 2.0))

    def run(self, θ, which, *, jobs=1):
        reward = np.zeros(len(which))
        for row, i in enumerate(which):
            path = ()
            for _ in range(2):
                path = (*path, int(np.argmax(θ[self.place(i, path) : self.place(i, path) + 2])))
            reward[row] = self.tables[i][path]
        return Results(reward, reward.copy(), np.full(len(which), 2.0))


@pytest.fixture
def corridor():
    return Corridor([[0, 0, 0, 1], [0, 0, 1, 0], [0.2, 0, 0.1, 1.0]])


def same_training(one, other):
    np.testing.assert_array_equal(one.weights, other.weights)
    assert [replace(row, seconds=0.0) for row in one.history] == [replace(row, seconds=0.0) for row in other.history]


# ---- learning


@pytest.mark.parametrize("name", RL)
def test_every_learner_finds_the_way(corridor, name):
    trained = train_rl(make_rl(name), corridor)
    assert mean_reward(corridor, corridor.initial()) < 0.1
    assert mean_reward(corridor, trained.weights) == 1.0
    assert [row.iteration for row in trained.history] == list(range(1, 26))


@pytest.mark.parametrize("choices", [{"baseline": True}, {"normalise": True}, {"averaged": True}, {"batch": None}])
def test_so_it_does_with_other_choices(corridor, choices):
    trained = train_rl(PolicyGradient(passes=40, **choices), corridor)
    assert mean_reward(corridor, trained.weights) == 1.0


def test_a_pass_by_hand():
    """Of two actions that are equally probable, ∇log π of the one taken is ½ for it and −½ for the other (eq. 7)."""
    environment, learner = Corridor([[0, 0, 0, 1]]), Apprenticeship(step="1/k", step_size=0.4)
    learned = begin(learner, environment)
    seen = policy_gradient_pass(learner, environment, learned, 1)
    assert seen == (1.0, 1.0, 2.0, 1, 1)
    np.testing.assert_allclose(learned.θ, [-0.2, 0.2, 0.0, 0.0, -0.2, 0.2])  # right, and right again (eq. 10)
    policy_gradient_pass(learner, environment, learned, 2)
    p = np.exp(-0.2) / (np.exp(-0.2) + np.exp(0.2))  # of going left
    np.testing.assert_allclose(learned.θ[:2], [-0.2 - 0.2 * p, 0.2 + 0.2 * p])


def test_rewards_and_discount_give_actions_their_share():
    environment = Corridor([[0, 0, 0, 3.0]])
    steps = {}
    for name in ("D-", "I-"):
        learner = make_rl({"name": name, "step": "constant", "step_size": 1.0})
        learned = begin(learner, environment)
        policy_gradient_pass(learner, environment, learned, 1)
        steps[name] = learned.θ[[1, 5]]
    np.testing.assert_allclose(steps["D-"], [1.5, 0.75])  # (9) weights the first action by all that is to come
    np.testing.assert_allclose(steps["I-"], [0.75, 0.75])


def test_the_policy_is_weaned_off_the_oracle_and_cools_down(corridor):
    train_rl(DPlus(passes=3, temperature=2.0, cooling=0.5, batch=None), corridor)
    # while δ is 1, one trajectory is like the other
    assert corridor.calls == [(3, 2.0, 1.0, 1), (3, 1.0, 0.8, 5), (3, 0.5, pytest.approx(0.64), 5)]


def test_examples_come_in_batches(corridor):
    history = train_rl(PolicyGradient(passes=1, batch=2), corridor).history
    assert [call[0] for call in corridor.calls] == [2, 1]
    assert (history[0].examples, history[0].decisions) == (2, 15)
    many = Corridor([[0, 0, 0, 1]] * 300, kinds=[0] * 300)
    told = []
    trained = train_rl(PolicyGradient(passes=1, batch=None), many, progress=lambda *about: told.append(about))
    assert [call[0] for call in many.calls] == [256, 44]  # a few at a time, and one update
    assert trained.history[0].examples == 1
    assert told == [("learning", 256, 300), ("learning", 300, 300)]


def test_averaged_weights_are_the_mean_over_updates(corridor):
    after = []
    train_rl(PolicyGradient(passes=4, batch=None), corridor, evaluate=lambda θ: after.append(θ.copy()) or 0.0)
    averaged = train_rl(PolicyGradient(passes=4, batch=None, averaged=True), corridor)
    np.testing.assert_allclose(averaged.weights, np.mean(after, axis=0), atol=1e-12)


def test_the_baseline_is_what_is_usual_for_an_example(corridor):
    corridor.tables += 10.0
    learner = PolicyGradient(baseline=True, trajectories=50)
    learned = begin(learner, corridor)
    np.testing.assert_allclose(learned.usual, [10.0, 10.0, 10.2])  # greedy
    first = policy_gradient_pass(learner, corridor, learned, 1)
    assert learned.usual.mean() == pytest.approx(first.reward)
    assert np.abs(learned.θ).max() < 1.0  # rewards of 10 and more would have gone far
    assert len(begin(PolicyGradient(), corridor).usual) == 0


def test_normalised_steps_have_one_length():
    environment = Corridor([[0, 0, 0, 1000.0]])
    learner = DPlus(normalise=True, step_size=0.5)
    learned = begin(learner, environment)
    policy_gradient_pass(learner, environment, learned, 1)
    assert np.linalg.norm(learned.θ) == pytest.approx(0.5)
    nothing = begin(learner, Corridor([[0, 0, 0, 0]]))
    policy_gradient_pass(learner, Corridor([[0, 0, 0, 0]]), nothing, 1)
    assert not nothing.θ.any()


def test_adagrad_divides_by_the_gradients_of_each_weight():
    environment = Corridor([[0, 0, 0, 1000.0]])
    learner = DPlus(step="adagrad", step_size=0.5)
    learned = begin(learner, environment)
    policy_gradient_pass(learner, environment, learned, 1)
    changed = learned.θ != 0.0
    assert changed.any()
    assert not changed.all()
    np.testing.assert_allclose(np.abs(learned.θ[changed]), 0.5)  # the first step of each weight
    np.testing.assert_array_equal(learned.rule.arrays["squares"] > 0.0, changed)


# ---- training


def test_training_returns_the_weights_that_are_best_on_development_data(corridor):
    scores, after = iter([1.0, 3.0, 2.0]), []

    def evaluate(θ):
        after.append(θ.copy())
        return next(scores)

    reported = []
    trained = train_rl(PolicyGradient(passes=3), corridor, evaluate=evaluate, report=reported.append)
    np.testing.assert_array_equal(trained.weights, after[1])
    assert [row.best for row in trained.history] == [True, True, False]
    assert reported == trained.history
    row = trained.history[0]
    assert isinstance(row, RLPass)
    assert (row.loss, row.accuracy, row.time, row.beta) == (-row.reward, row.reward, 2.0, 0.0)


@pytest.mark.parametrize(
    "learner", [IPlus(passes=5), PolicyGradient(passes=5, baseline=True, averaged=True)], ids=["I+", "baseline"]
)
def test_training_goes_on_where_it_was_interrupted(corridor, tmp_path, learner):
    def interrupt(row):
        if row.iteration == 3:
            raise KeyboardInterrupt

    def train(**options):
        return train_rl(learner, corridor, evaluate=lambda θ: mean_reward(corridor, θ), seed=4, **options)

    whole = train()
    with pytest.raises(KeyboardInterrupt):
        train(report=interrupt, checkpoint=tmp_path)
    calls = len(corridor.calls)
    same_training(train(checkpoint=tmp_path, resume=True), whole)
    assert len(corridor.calls) - calls == 2 * len(corridor)  # two passes were left
    same_training(train(checkpoint=tmp_path, resume=True), whole)  # and now none
    same_training(train(checkpoint=tmp_path), whole)  # begins again
    with pytest.raises(ConfigError, match="other data or settings"):
        train_rl(replace(learner, step_size=0.9), corridor, seed=4, checkpoint=tmp_path, resume=True)
    corridor.fingerprint = "another corpus"
    with pytest.raises(ConfigError, match="other data or settings"):
        train(checkpoint=tmp_path, resume=True)


def test_a_checkpoint_that_is_not_there_is_begun(corridor, tmp_path):
    learner = PolicyGradient(passes=2)
    same_training(train_rl(learner, corridor, checkpoint=tmp_path / "new", resume=True), train_rl(learner, corridor))


def test_one_seed_gives_one_result_with_any_number_of_jobs():
    packed = Track().pack(random_track(np.random.default_rng(41), 12, 4))
    environment = TransitionEnvironment(packed, bits=6)
    learner = IPlus(passes=3, batch=5, trajectories=2, step_size=3.0)
    one = train_rl(learner, environment, seed=1)
    same_training(train_rl(learner, environment, seed=1, jobs=3), one)
    assert (train_rl(learner, environment, seed=2).weights != one.weights).any()


@pytest.mark.jit
@pytest.mark.parametrize("name", RL)
def test_every_learner_solves_the_toy_task(name):
    environment = TransitionEnvironment(Track().pack(random_track(np.random.default_rng(42), 40, 4)), bits=10)
    choices = {"baseline": True, "passes": 60} if name == "policy-gradient" else {}
    trained = train_rl({"name": name, "step_size": 3.0, **choices}, environment)
    assert mean_reward(environment, environment.initial()) < 0.7
    assert mean_reward(environment, trained.weights) > 0.95


# ---- settings


def test_the_table_and_names():
    assert [row["learner"] for row in rl_table()] == list(RL)
    assert make_rl("i+") == IPlus()
    assert make_rl("POLICY_GRADIENT") == PolicyGradient()
    assert make_rl({"discount": 0.5}).discount == 0.5
    assert IPlus().infusion == Decay(0.2)
    assert IMinus().infusion == Constant(1.0)
    assert [round(DPlus().infusion(k), 4) for k in (1, 2, 3)] == [1.0, 0.8, 0.64]
    for name in RL:
        assert make_rl(make_rl(name).params()) == make_rl(name)


def test_a_learner_of_your_own():
    @dataclass(frozen=True, kw_only=True)
    class Halfway(PolicyGradient):
        name: ClassVar[str] = "halfway"
        discount: float = 0.5

    RL["halfway"] = Halfway
    try:
        assert make_rl("halfway").discount == 0.5
    finally:
        del RL["halfway"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0}, "temperature must .* above 0, not 0; at 0 the policy has no gradient"),
        ({"temperature": "hot"}, "temperature must .* above 0, not 'hot'"),
        ({"cooling": 1.5}, "cooling must .* above 0 and at most 1, not 1.5"),
        ({"cooling": 0.1}, "cooling 0.1 .* 1e-24 in the last pass"),
        ({"discount": 1.1}, "discount must .* at least 0 and at most 1, not 1.1"),
        ({"discount": -0.1}, "discount must .* at least 0 and at most 1, not -0.1"),
        ({"discount": float("nan")}, "discount must .* at least 0"),
        ({"step_size": 0}, "step_size must .* above 0, not 0; without a step nothing is learned"),
        ({"step": "irprop"}, "step cannot be 'irprop'; it is one of: constant, 1/k, 1/sqrt\\(k\\)"),
        ({"credit": "late"}, "credit cannot be 'late'; it is one of: terminal, shaped, unit"),
        ({"infusion": 2.0}, "must lie between 0 and 1"),
        ({"passes": 0}, "passes must be a whole number from 1"),
        ({"trajectories": 0}, "trajectories must be a whole number from 1"),
        ({"batch": 0}, "batch must be a whole number from 1"),
        ({"baseline": True, "discount": 0.5}, "goes with discount = 1"),
        ({"baseline": True, "infusion": "decay:0.2"}, "set infusion = 0"),
        ({"name": "q-learning"}, "learner cannot be 'q-learning'; it is one of: policy-gradient, "),
        ({"momentum": 0.9}, "momentum is no setting of learner 'policy-gradient', which has: .*credit, "),
    ],
    ids=str,
)
def test_settings_that_cannot_be_used(settings, message):
    with pytest.raises(ConfigError, match=message):
        make_rl(settings)


def test_what_is_no_learner():
    with pytest.raises(ConfigError, match=r"learner is a name, .*, not 7"):
        make_rl(7)


def test_environments_that_cannot_be_learned_from(corridor):
    with pytest.raises(ConfigError, match="the environment has no examples"):
        train_rl("I+", Corridor(np.zeros((0, 4)), kinds=[0]))
    with pytest.raises(TaskError, match=r"18 weights, but .* \(2,\)"):
        train_rl("I+", Corridor(corridor.tables, initial=np.zeros(2)))
    for at, amount, message in ((99, 1.0, "18 weights, but some of its gradients"), (1, np.nan, "not finite")):
        bad = Features(np.array([at]), np.array([amount]), 0.0)
        corridor.rollouts = lambda θ, which, bad=bad, **choices: Rollouts(bad, *np.zeros((3, 1, 1)))
        with pytest.raises(TaskError, match=message):
            train_rl("I+", corridor)


def test_steps_that_are_too_large():
    with pytest.raises(ConfigError, match=r"step_size 1e\+308 is too large.*weights have grown beyond all numbers"):
        train_rl(DPlus(step_size=1e308, step="constant"), Corridor([[0, 0, 0, 1e3]]))
