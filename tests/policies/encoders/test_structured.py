"""Encoded policies for tasks whose actions carry structure: an action is a sum of hashed rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.policies.encoders.naive import encode_sentence
from tests.toys import Picking, random_picking
from treewright.learners import train
from treewright.policies.encoders import Architecture, EncodedPolicy, Inputs, UntrainedEncoder
from treewright.policies.encoders.batches import chosen
from treewright.policies.encoders.parameters import initial_parameters, parameter_shapes
from treewright.policies.encoders.scoring import ROWS, rows_of
from treewright.search import decode, trajectory

TINY = Architecture(layers=1, width=8, hidden=8, word=8, letters=0, dropout=0.0, channel_dropout=0.0)


class PlacedPicking(Picking):
    """With positions: the token that was picked last, and the first one."""

    max_positions = 2

    @staticmethod
    def positions(x, state, out):
        out[0] = -1
        for i in range(x.n):
            if state.picked[i] == state.count[0] and state.count[0] > 0:
                out[0] = i
        out[1] = 0
        return 2


@pytest.fixture(scope="module")
def picking():
    sentences = random_picking(np.random.default_rng(2), 30, 6)
    forms = [[f"w{shape}" for shape in sentence] for sentence in sentences]
    inputs = Inputs.learn(forms)
    return PlacedPicking().pack(sentences).with_words(inputs.read(forms)).plain(), inputs, forms


def policy_for(inputs):
    parameters = initial_parameters(parameter_shapes(TINY, inputs, 2, ROWS, structured=True), 3)
    parameters["action_bias"] += np.random.default_rng(0).normal(size=ROWS).astype(np.float32)
    return EncodedPolicy(TINY, inputs, (parameters,))


def test_scores_are_sums_of_rows(picking):
    packed, inputs, forms = picking
    policy = policy_for(inputs)
    [p] = policy.members
    for i in (0, 3, 7):
        words = [(form, ()) for form in (*forms[i], "\0root")]
        table = encode_sentence(TINY, inputs, p, words)
        episode, x = trajectory(packed, i, policy), packed.instance(i)
        for state, action in zip(episode.states, episode.actions, strict=False):
            out, positions, features = np.zeros(6, np.int32), np.zeros(2, np.int32), np.zeros(3, np.int32)
            n = packed.task.actions(x, state, out)
            packed.task.positions(x, state, positions)
            hidden = sum(table[k, slot] if k >= 0 else p["missing"][slot] for slot, k in enumerate(positions))
            scores = {}
            for each in out[:n]:
                count = packed.task.action_features(x, state, each, features)
                rows = rows_of(np.array([each, *features[:count]]))
                scores[each] = (np.maximum(hidden, 0.0) * p["actions"][rows].sum(0)).sum() + p["action_bias"][
                    rows
                ].sum()
            assert scores[action] == pytest.approx(max(scores.values()), abs=1e-4)


@pytest.mark.jit
def test_compiled_and_interpreted_code_do_the_same_to_the_bit(picking):
    packed, inputs, _ = picking
    policy = policy_for(inputs)
    one, other = (decode(some, policy, beam=3) for some in (packed, replace(packed, task=PlacedPicking())))
    np.testing.assert_array_equal(one.states, other.states)
    np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("learner", ["exploration", "dagger"])
def test_it_learns(picking, learner):
    pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")
    packed, inputs, _ = picking
    policy = UntrainedEncoder(TINY, inputs, device="cpu", step_size=0.02, batch=25)
    trained = train({"name": learner, "passes": 5}, packed, policy=policy)
    assert trained.policy.decode(packed).losses.sum() / packed.lengths.sum() < 0.1
    again = EncodedPolicy.from_arrays(trained.policy.compressed().stored())
    np.testing.assert_array_equal(again.decode(packed).states, trained.policy.compressed().decode(packed).states)


def test_pytorch_scores_alike(picking):
    torch = pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")
    from treewright.policies.encoders.training import _listed_costs, _structured_scores

    packed, inputs, _ = picking
    collected = []

    class Watching(UntrainedEncoder):
        def trainer(self, packed, update):
            trainer = super().trainer(packed, update)
            learn = trainer.learn

            def watched(examples, *others):
                collected.append(examples)
                return learn(examples, *others)

            trainer.learn = watched
            return trainer

    train({"name": "supervised", "passes": 1}, packed, policy=Watching(TINY, inputs, device="cpu"))
    examples = chosen(collected[0], np.array([5, 0, 2]))
    [p] = policy_for(inputs).members
    units = np.random.default_rng(1).normal(size=(3, 8)).astype(np.float32)
    found = _structured_scores(torch.tensor(units), {name: torch.tensor(a) for name, a in p.items()}, examples).numpy()
    costs = _listed_costs(examples, "cpu")
    for i in range(3):
        first, last = examples.action_at[i : i + 2]
        for k in range(first, last):
            further = examples.extra[examples.extra_at[k] : examples.extra_at[k + 1]]
            rows = rows_of(np.array([examples.actions[k], *further]))
            expected = units[i] @ p["actions"][rows].sum(0) + p["action_bias"][rows].sum()
            assert found[i, k - first] == pytest.approx(expected, abs=1e-4)
        assert costs.admissible[i].sum() == last - first
        assert costs.least[i] == 0.0
