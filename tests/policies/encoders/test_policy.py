from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.learners.test_second_policy import PlacedTrack
from tests.policies.encoders import naive
from tests.toys import CUE, OPEN, Token, Track
from treewright.errors import ConfigError, ModelError, TaskError
from treewright.models import pack_strings
from treewright.policies.encoders import (
    SIZES,
    Architecture,
    EncodedPolicy,
    Inputs,
    UntrainedEncoder,
    find_architecture,
)
from treewright.policies.encoders.parameters import parameter_shapes
from treewright.search import decode, trajectory
from treewright.search.running import blocks

SENTENCES = [[Token(CUE, 1), Token(OPEN, 2), Token(CUE, 0)], [Token(OPEN, 0)], [Token(CUE, 2)] * 4, [], [Token(CUE, 1)]]


def forms(sentences):
    return [[f"{token.kind}/{token.value}" for token in sentence] for sentence in sentences]


@pytest.fixture(scope="module")
def packed():
    inputs = Inputs.learn(forms(SENTENCES))
    return PlacedTrack().pack(SENTENCES).with_words(inputs.read(forms(SENTENCES))).plain(), inputs


def policy_for(inputs, encoder="convolution", seeds=(1,), **options):
    made = [naive.tiny(encoder, inputs, positions=2, seed=seed) for seed in seeds]
    return EncodedPolicy(made[0][0], inputs, tuple(p for _, p in made), **options)


@pytest.mark.parametrize("encoder", ["convolution", "lstm"])
def test_scores_are_those_of_the_slow_twin(packed, encoder):
    packed, inputs = packed
    policy = policy_for(inputs, encoder)
    p = {name: value.astype(np.float64) for name, value in policy.members[0].items()}
    for i in (0, 2):
        words = [(form, ()) for form in (*forms(SENTENCES)[i], "\0root")]
        table = naive.encode_sentence(policy.architecture, inputs, policy.members[0], words)
        episode = trajectory(packed, i, policy)
        x = packed.instance(i)
        assert episode.actions
        for state, action in zip(episode.states, episode.actions, strict=False):
            out, positions = np.zeros(4, np.int32), np.zeros(2, np.int32)
            n = packed.task.actions(x, state, out)
            packed.task.positions(x, state, positions)
            scores = naive.scores(p, table, positions)
            assert action == max(out[:n], key=lambda a, scores=scores: scores[a])


@pytest.mark.jit
def test_compiled_and_interpreted_code_do_the_same_to_the_bit(packed):
    packed, inputs = packed
    policy = policy_for(inputs)
    compiled = replace(packed, task=PlacedTrack())
    for beam in (1, 3):
        one, other = (decode(some, policy, beam=beam) for some in (packed, compiled))
        np.testing.assert_array_equal(one.states, other.states)
        if beam > 1:
            np.testing.assert_array_equal(one.scores, other.scores)


def test_of_a_mixture_each_member_scores_by_its_own_parameters(packed):
    packed, inputs = packed
    members = [policy_for(inputs, seeds=(seed,)) for seed in (1, 2)]
    both = policy_for(inputs, seeds=(1, 2), probabilities=(0.5, 0.5))
    scorer = both.prepare(packed, np.array([0, 2]))
    for k, member in enumerate(members):
        alone = member.prepare(packed, np.array([0, 2]))
        np.testing.assert_array_equal(scorer.arrays.table[k], alone.arrays.table[0])
        np.testing.assert_array_equal(scorer.arrays.weights[k], alone.arrays.weights[0])
    only = replace(both, probabilities=(0.0, 1.0))
    np.testing.assert_array_equal(only.decode(packed).states, members[1].decode(packed).states)


def test_a_policy_survives_a_model_file_in_16_bits(packed):
    packed, inputs = packed
    policy = policy_for(inputs, seeds=(1, 2), probabilities=(0.25, 0.75)).compressed()
    again = EncodedPolicy.from_arrays(policy.stored())
    assert again.architecture == policy.architecture
    assert again.probabilities == (0.25, 0.75)
    assert {array.dtype for name, array in policy.stored().items() if "parameters" in name} == {np.dtype(np.float16)}
    for one, other in zip(policy.members, again.members, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_array_equal(again.decode(packed).states, policy.decode(packed).states)


@pytest.mark.parametrize("size", SIZES)
def test_a_model_file_is_below_10_mb_without_fixed_vectors(size):
    """With the vocabulary of a treebank: 9,000 words that occur twice, and the actions of 57 relations."""
    tokens = [(f"w{k}", f"tag{k % 17}", f"tag{k % 50}") for k in range(9000)]
    inputs = Inputs.learn([tokens, tokens], columns={"upos": 1, "xpos": 2}, min_count=2)
    shapes = parameter_shapes(find_architecture(size), inputs, 8, 2 + 2 * 57, n_relations=2 * 57)
    member = {name: np.zeros(shape.shape, np.float32) for name, shape in shapes.items()}
    stored = EncodedPolicy(find_architecture(size), inputs, (member,)).stored()
    assert sum(array.nbytes for array in stored.values()) < 10e6


def test_blocks_have_a_number_of_words():
    class Blocky:
        block = 6

    lengths = np.array([3, 3, 1, 9, 2, 0, 4])
    assert list(blocks(Blocky(), lengths, 0, 7)) == [(0, 2), (2, 3), (3, 4), (4, 7)]
    assert list(blocks(Blocky(), lengths, 3, 3)) == []
    assert list(blocks(None, lengths, 1, 5)) == [(1, 5)]


def test_a_model_of_a_newer_version_is_refused(packed):
    stored = policy_for(packed[1]).stored()
    for change, fact in (
        ({"version": 99}, "version 99"),
        ({"encoder": "transformer"}, "transformer"),
        ({"heads": 8}, "heads"),
    ):
        plain = {**Architecture().to_plain(), **change}
        with pytest.raises(ModelError, match=f"{fact}.*upgrade Treewright"):
            EncodedPolicy.from_arrays({**stored, **pack_strings([json.dumps(plain)], "architecture")})


def test_an_unknown_size_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"policy cannot be 'huge'.*small, medium, large"):
        find_architecture("huge")
    with pytest.raises(ConfigError, match="width must be even"):
        Architecture(encoder="lstm", width=7)
    with pytest.raises(ConfigError, match="encoder cannot be 'rnn'"):
        Architecture(encoder="rnn")


def test_a_task_must_say_which_words_matter(packed):
    inputs = packed[1]
    with pytest.raises(TaskError, match=r"'PlacedTrack'.*with_words"):
        policy_for(inputs).prepare(PlacedTrack().pack(SENTENCES), np.array([0]))
    bare = Track().pack(SENTENCES).with_words(inputs.read(forms(SENTENCES)))
    with pytest.raises(TaskError, match=r"'Track'.*`positions`"):
        UntrainedEncoder(Architecture(), inputs).trainer(bare, None)


def test_without_pytorch_the_error_names_the_command(packed, monkeypatch):
    packed, inputs = packed
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"pip install 'treewright\[torch\]'"):
        UntrainedEncoder(Architecture(), inputs).trainer(packed, None)
