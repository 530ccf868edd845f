"""A dependency parser that is told how many heads are right when it has finished a sentence, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dependency.helpers import SMALL, sentence
from tests.search.naive import Episode
from treewright.corpora import builtin_corpus
from treewright.dependency import DependencyParser
from treewright.learners.rl import IPlus, PolicyGradient, mean_reward
from treewright.learners.rl_training import train_rl
from treewright.search import decode, interpreted
from treewright.search.scoring import score_actions


def environments(train, *others, **options):
    """The sentences as environments, with the words and labels of the first."""
    parser = DependencyParser(system="arc-hybrid", features=SMALL, mode="fast", label_weight=0.0, bits=12)
    return [parser.environment(part, **options) for part in (train, *others)]


@pytest.mark.jit
def test_policy_gradient_with_a_terminal_reward_trains_a_parser():
    train, _, test = builtin_corpus(train=100, dev=10, test=60)
    environment, held_out = environments(train, test)
    trained = train_rl(PolicyGradient(baseline=True, passes=8), environment, seed=1)
    before, after = (mean_reward(held_out, θ) for θ in (held_out.initial(), trained.weights))
    assert before < 0.3
    assert after > 0.6
    # the weights are those of a policy that decodes as any other
    (few,) = environments(test[:5])
    weights = few.policy_weights(trained.weights)
    plain = few.packed.plain()
    losses = decode(plain, weights).losses
    np.testing.assert_allclose(few.run(trained.weights, np.arange(5)).accuracy, 1.0 - losses / plain.lengths)


@pytest.mark.jit
def test_oracle_infusion_trains_a_better_one_and_goes_on_from_it():
    train, _, test = builtin_corpus(train=100, dev=10, test=60)
    environment, held_out = environments(train, test)
    infused = train_rl(IPlus(passes=8, step_size=10.0), environment, evaluate=lambda θ: mean_reward(held_out, θ))
    assert mean_reward(held_out, infused.weights) > 0.8
    again, _ = environments(train, test, initial=infused.weights)
    assert mean_reward(again, again.initial()) == mean_reward(environment, infused.weights)


def test_gradients_lie_where_scores_look_for_weights():
    """On the oracle's path, v·Σ ∇log π(a | s) = Σ v·φ(a, s) − E[v·φ(a', s)] (eq. 10), for moves and for labels."""
    trees = [
        sentence(["she", "saw", "it"], [2, 0, 2], ["subj", "root", "obj"]),
        sentence(["he", "sees", "the", "cat"], [2, 0, 4, 2], ["subj", "root", "det", "obj"]),
    ]
    (environment,) = environments(trees)
    task, packed = environment.packed.task, environment.packed.plain()
    θ, v = np.random.default_rng(6).normal(size=(2, environment.size))
    rolled = environment.rollouts(θ, np.arange(2), infusion=1.0, discount=0.0, credit="unit", temperature=0.7)

    def scores(weights, episode):
        actions, found = np.array(episode.actions(), np.int32), np.array(episode.features(), np.int32)
        nothing, out, table = np.zeros(0, np.int32), np.zeros(len(actions)), weights.reshape(environment.rows, -1)
        sums, labels = np.zeros(task.width, np.float32), np.zeros(task.n_actions - task.width, np.float32)
        interpreted(score_actions)(table, found, len(found), actions, len(actions), nothing, nothing, sums, labels, out)
        return out

    expected = 0.0
    for i in range(2):
        episode, kinds = Episode(packed, i), set()
        while not episode.is_final():
            actions = episode.actions()
            of_θ, of_v = scores(θ, episode), scores(v, episode)
            costs = episode.expert_costs()
            k = max((k for k in range(len(actions)) if costs[k] == min(costs)), key=lambda k: of_θ[k])
            π = np.exp((of_θ - of_θ.max()) / 0.7) / np.exp((of_θ - of_θ.max()) / 0.7).sum()
            expected += (of_v[k] - π @ of_v) / 0.7
            kinds.add(len(actions) > 1 and actions[0] >= task.width)
            episode = episode.after(actions[k])
        assert kinds == {False, True}
    assert v[rolled.gradient.at] @ rolled.gradient.amount == pytest.approx(expected, rel=1e-4)
    assert rolled.accuracy.tolist() == [[1.0], [1.0]]


@pytest.mark.jit
@pytest.mark.parametrize(("learner", "least"), [("apprenticeship", 0.6), ("I+", 0.6), ("D-", 0.55)])
def test_a_parser_learns_by_reinforcement(learner, least, tmp_path):
    train, dev, test = builtin_corpus(train=150, dev=40, test=40)
    parser = DependencyParser(learner={"name": learner, "passes": 3}, features=SMALL, bits=13).fit(train, dev=dev)
    scores = parser.evaluate(test)
    assert scores.las > least
    assert [row.iteration for row in parser.history_] == [1, 2, 3]
    assert parser.card_["scores"]["dev LAS"] == max(row.score for row in parser.history_)
    loaded = DependencyParser.load(parser.save(tmp_path / "model.tw"))
    assert loaded.evaluate(test).las == scores.las
    assert loaded.resolved_config()["learner"]["name"] == learner
