"""Training with PyTorch, on a toy task whose words say what to do. Everything here runs interpreted."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.learners.test_second_policy import PlacedTrack
from tests.policies.encoders.naive import tiny
from tests.policies.encoders.test_inference import learned, sentences
from tests.toys import CUE, FORK, OPEN, Token, sha
from treewright.errors import ConfigError
from treewright.learners import train
from treewright.policies.encoders import Architecture, EncodedPolicy, Inputs, Teaching, UntrainedEncoder
from treewright.policies.encoders.batches import chosen, grouped
from treewright.policies.encoders.inference import Encoder
from treewright.search.examples import dense_costs

torch = pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")

TINY = Architecture(layers=1, width=12, hidden=12, word=10, letters=4, letter=4, dropout=0.0, channel_dropout=0.0)


@pytest.fixture(scope="module")
def track():
    rng = np.random.default_rng(5)
    kinds, values = rng.choice([CUE, OPEN, FORK], (30, 5)), rng.integers(0, 3, (30, 5))
    tokens = [
        [Token(int(k), int(v), 1 + int(v)) for k, v in zip(*both, strict=True)]
        for both in zip(kinds, values, strict=True)
    ]
    written = [[f"{'abc'[token.value]}{token.kind}" for token in sentence] for sentence in tokens]
    inputs = Inputs.learn(written)
    return PlacedTrack().pack(tokens).with_words(inputs.read(written)).plain(), inputs


def untrained(inputs, **options):
    settings = {"batch": 25, "step_size": 0.02, "device": "cpu", **options}
    return UntrainedEncoder(settings.pop("architecture", TINY), inputs, **settings)


def fitted(track, learner="exploration", passes=4, seed=0, architecture=TINY, **options):
    packed, inputs = track
    policy = untrained(inputs, seed=seed, architecture=architecture, **options.pop("policy", {}))
    settings = {"name": learner, "passes": passes, **options.pop("more", {})}
    return train(settings, packed, policy=policy, seed=seed, **options)


def error(track, policy):
    return policy.decode(track[0]).losses.sum() / track[0].lengths.sum()


def digest(policy):
    return sha(*policy.members[0].values())


@pytest.mark.parametrize("encoder", ["convolution", "lstm"])
def test_pytorch_and_numpy_encode_alike(encoder):
    from treewright.policies.encoders.network import CorpusOnDevice, encode

    inputs, corpus = learned(), sentences(count=12)
    architecture, parameters = tiny(encoder, inputs)
    words, which = inputs.read(corpus), np.array([4, 11, 0, 7])
    table, at = Encoder(architecture, inputs, parameters).table(words, which)
    tensors = {name: torch.tensor(value) for name, value in parameters.items()}
    with torch.no_grad():
        encoding = encode(architecture, tensors, CorpusOnDevice(inputs, words, "cpu"), which)
    np.testing.assert_array_equal(encoding.layout.at, at)
    np.testing.assert_allclose(encoding.table.numpy(), table, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("encoder", ["convolution", "lstm"])
def test_pytorch_and_numpy_predict_the_same_targets(encoder):
    from treewright.policies.encoders.network import CorpusOnDevice, encode

    corpus = [[(word[0], word[0][-1]) for word in sentence] for sentence in sentences(count=12)]
    inputs = Inputs.learn(corpus, targets={"last": 1})
    architecture, parameters = tiny(encoder, inputs)
    words, which = inputs.read(corpus, predicting=True), np.array([4, 11, 0, 7])
    Encoder(architecture, inputs, parameters).table(words, which)
    tensors = {name: torch.tensor(value) for name, value in parameters.items()}
    with torch.no_grad():
        encoding = encode(architecture, tensors, CorpusOnDevice(inputs, words, "cpu"), which)
    preferred = 2 + encoding.targets[0][:, 2:].argmax(1).numpy()  # neither unknown nor the root
    assert len(set(preferred.tolist())) > 1
    np.testing.assert_array_equal(words.predicted[0][encoding.layout.rows], preferred)
    others = np.delete(np.arange(len(words.form)), encoding.layout.rows)
    assert not words.predicted[0][others].any()


LEARNERS = ["supervised", "exploration", "dagger", "aggravate", "searn", "v-dagger", "lols", "det-lols"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_trains_it(track, learner):
    trained = fitted(track, learner, more={"epochs": 6} if learner == "searn" else {})
    assert isinstance(trained.policy, EncodedPolicy)
    assert error(track, trained.policy) < 0.1
    assert trained.history[-1].loss < trained.history[0].loss + 0.1


def test_it_learns_with_a_beam(track):
    trained = fitted(track, "early-update", passes=8, beam=3)
    assert trained.policy.decode(track[0], beam=3).losses.sum() / track[0].lengths.sum() < 0.2


def test_an_lstm_learns_with_units_left_out(track):
    architecture = replace(TINY, encoder="lstm", dropout=0.1, channel_dropout=0.1)
    assert error(track, fitted(track, passes=10, architecture=architecture, policy={"step_size": 0.05}).policy) < 0.1


def test_one_seed_gives_one_result_whatever_the_number_of_threads(track):
    first = digest(fitted(track, passes=2).policy)
    assert digest(fitted(track, passes=2).policy) == digest(fitted(track, passes=2, jobs=3).policy) == first
    assert digest(fitted(track, passes=2, seed=1).policy) != first


@pytest.mark.parametrize("learner", ["exploration", "dagger"])
def test_resumed_training_is_the_same_to_the_bit(track, learner, tmp_path):
    packed, _ = track
    evaluate = lambda policy: -float(policy.decode(packed).losses.sum())  # noqa: E731
    whole = fitted(track, learner, evaluate=evaluate)

    class Stop(Exception):
        pass

    def stop(row):
        if row.iteration == 2:
            raise Stop

    with pytest.raises(Stop):
        fitted(track, learner, evaluate=evaluate, checkpoint=tmp_path, report=stop)
    resumed = fitted(track, learner, evaluate=evaluate, checkpoint=tmp_path, resume=True)
    assert digest(resumed.policy) == digest(whole.policy)
    assert [row.score for row in resumed.history] == [row.score for row in whole.history]
    with pytest.raises(ConfigError, match="policy"):
        fitted(track, learner, checkpoint=tmp_path, resume=True, architecture=replace(TINY, hidden=8))


def test_training_goes_on_from_a_policy(track):
    policy = fitted(track).policy
    again = train({"name": "exploration", "passes": 1}, track[0], policy=policy)
    assert error(track, again.policy) < 0.1
    with pytest.raises(ConfigError, match="single"):
        replace(policy, members=policy.members * 2, probabilities=(0.5, 0.5)).trainer(track[0], None)


def test_a_teacher_is_listened_to(track):
    packed, _ = track
    teacher = fitted(track).policy
    # a teacher whose labels are turned round: the pupil that hears only the teacher follows it
    wrong = dict(teacher.members[0])
    order = [1, 2, 0, 3]
    wrong["output"], wrong["output_bias"] = wrong["output"][:, order], wrong["output_bias"][order]
    teaching = Teaching(replace(teacher, members=(wrong,)), packed.words, share=1.0)
    pupil = fitted(track, "supervised", passes=8, policy={"teacher": teaching}).policy
    own = fitted(track, "supervised", passes=8, policy={"teacher": replace(teaching, share=0.0)}).policy
    assert error(track, own) < 0.1
    assert error(track, pupil) > 0.5


def test_the_targets_of_the_first_layer_are_learned(track):
    packed, _ = track
    pairs = [[(form, form[0]) for form in sentence] for sentence in _written(packed)]
    inputs = Inputs.learn(pairs, targets={"letter": 1})
    packed = packed.with_words(inputs.read(pairs, targets=True))
    policy = untrained(inputs, target_weight=1.0)
    parameters = train({"name": "exploration", "passes": 4}, packed, policy=policy).policy.members[0]
    first = policy.trainer(packed, None).parameters
    assert not np.allclose(parameters["target_letter"], first["target_letter"].detach().numpy())


def _written(packed):
    words = packed.words
    return [[words.forms[k] for k in words.form[a : b - 1]] for a, b in zip(words.at[:-1], words.at[1:], strict=True)]


def test_a_gpu_without_memory_gets_smaller_steps(track, monkeypatch):
    from treewright.policies.encoders import training

    real, sizes = training.EncoderTrainer._step, []

    def step(self, examples, which, mistakes, **options):
        sentences = np.unique(examples.observed[examples.observed_at[:-1][which]])
        if len(sentences) > most:
            raise torch.OutOfMemoryError
        sizes.append(len(sentences))
        return real(self, examples, which, mistakes, **options)

    monkeypatch.setattr(training.EncoderTrainer, "_step", step)
    most = 2
    assert error(track, fitted(track, passes=6).policy) < 0.2
    assert max(sizes) == 2
    most = 0
    with pytest.raises(ConfigError, match=r"memory of the GPU.*5 words.*--device cpu"):
        fitted(track, passes=1)


def test_a_gpu_that_is_not_there(track, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"device cannot be 'cuda'.*no GPU.*'cpu'"):
        untrained(track[1], device="cuda").trainer(track[0], None)


def test_groups_have_similar_lengths_and_hold_every_sentence_once():
    lengths = np.random.default_rng(0).integers(0, 40, 200)
    groups = grouped(lengths, 100, np.random.default_rng(1))
    assert sorted(np.concatenate(groups).tolist()) == list(range(200))
    assert all(lengths[group].sum() <= 100 for group in groups)
    assert all(np.ptp(lengths[group]) <= 8 for group in groups)


def test_some_examples_are_the_same_as_among_all(track):
    packed, inputs = track
    collected = []
    trainer = untrained(inputs).trainer(packed, None)
    trainer_learn = type(trainer).learn

    def learn(self, examples, order, mistakes, tell):
        collected.append(examples)
        return trainer_learn(self, examples, order, mistakes, tell)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(trainer), "learn", learn)
        fitted(track, "dagger", passes=2)
    examples, which = collected[-1], np.array([3, 40, 7])
    some = chosen(examples, which)
    for part, whole in zip(dense_costs(some, 4), dense_costs(examples, 4), strict=True):
        np.testing.assert_array_equal(part, whole[which])
    from treewright.policies.encoders.training import _costs

    costs, (admissible, table) = _costs(some, 4, "cpu"), dense_costs(some, 4)
    np.testing.assert_array_equal(costs.admissible.numpy(), admissible)
    np.testing.assert_array_equal(np.where(admissible, costs.costs.numpy(), 0.0), table)


def test_pytorch_is_imported_for_training_only():
    import subprocess

    code = "import sys, treewright.policies.encoders, treewright.dependency; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
