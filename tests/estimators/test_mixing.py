"""Training on shards by iterative parameter mixing."""

from __future__ import annotations

import numpy as np
import pytest

from treewright.corpora import builtin_corpus, load_corpus, write_conllu
from treewright.dependency import DependencyParser
from treewright.errors import ConfigError, CorpusError
from treewright.estimators.mixing import LocalShards, cut_file, fit_mixed
from treewright.learners.parameter_mixing import mix
from treewright.tagging import Tagger

TAGGER = {"bits": 10, "learner": {"name": "exploration", "passes": 2}}
PARSER = {
    "features": "basic",
    "bits": 10,
    "learner": {"name": "exploration", "passes": 2, "update": {"name": "perceptron", "margin": 1.0}},
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    train, dev, _ = builtin_corpus(train=12, dev=4, test=0)
    write_conllu(train, folder / "train.conllu")
    write_conllu(dev, folder / "dev.conllu")
    return folder


def _learned(estimator):
    settings, arrays = estimator._learned()
    return settings, {name: array.tolist() for name, array in arrays.items()}


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 40])
def test_shards_are_the_corpus(corpus, shards):
    path = corpus / "train.conllu"
    cut = cut_file(path, shards)
    assert 1 <= len(cut) <= min(shards, 12)
    assert [sentence for shard in cut for sentence in shard.read()] == load_corpus(path)
    assert cut[0].start == 0
    assert cut[-1].end == path.stat().st_size


BEAM = {**PARSER, "beam": 2, "learner": {"name": "early-update", "passes": 2}}


@pytest.mark.parametrize("rounds", [None, 3])
@pytest.mark.parametrize(("make", "params"), [(Tagger, TAGGER), (DependencyParser, PARSER), (DependencyParser, BEAM)])
def test_one_shard_is_plain_training(corpus, make, params, rounds):
    plain = make(**params).fit(corpus / "train.conllu", corpus / "dev.conllu")
    one = LocalShards(cut_file(corpus / "train.conllu", 1))
    mixed = fit_mixed(make(**params), one, corpus / "dev.conllu", rounds=rounds)
    assert _learned(mixed) == _learned(plain)
    assert [row.score for row in mixed.history_] == [row.score for row in plain.history_]
    assert mixed.card_["corpora"] == plain.card_["corpora"]
    assert mixed.card_["scores"] == plain.card_["scores"]


def test_shards_learn_from_the_mixture(corpus):
    """Two passes by hand: c of S shards have changed a weight, which moves by their mean change times √(c / √S)."""
    cut = cut_file(corpus / "train.conllu", 2)
    mixed = fit_mixed(Tagger(**TAGGER), LocalShards(cut), rounds=1)
    from treewright.learners.training import make_training

    trainings = []
    for shard in cut:
        tagger = Tagger(**TAGGER)
        tagger.labels_, tagger.vocabulary_ = mixed.labels_, mixed.vocabulary_
        packed = tagger._pack_gold(shard.read())
        trainings.append(make_training(tagger._make_learner(), packed, bits=10))
    for iteration in (1, 2):
        start = {name: array.copy() for name, array in trainings[0].trainer.to_arrays().items()}
        for training in trainings:
            training.advance(iteration)
        one, two = (training.trainer.to_arrays() for training in trainings)
        changed = [
            (state["weights"] != start["weights"]) | (state["spread"] != start["spread"]) for state in (one, two)
        ]
        assert (changed[0] != changed[1]).any()
        assert (changed[0] & changed[1]).any()
        mixed_by_hand = {"clock": (one["clock"] + two["clock"]) // 2, "totals": start["totals"]}
        for name in ("weights", "spread"):
            both = (one[name].astype(np.float64) + two[name]) / 2
            mean = np.where(changed[0] & changed[1], both, np.where(changed[0], one[name], two[name]))
            if name == "weights":
                stretch = np.where(changed[0] & changed[1], 2**0.25, 2**-0.25)
                mean = start[name] + stretch * (mean - start[name])
            mixed_by_hand[name] = mean.astype(np.float32)
        for training in trainings:
            training.trainer.restore({name: array.copy() for name, array in mixed_by_hand.items()})
    assert np.allclose(mixed.policy_.weights, trainings[0].trainer.policy().weights)
    assert mixed.card_["shards"] == 2


@pytest.mark.parametrize("shards", [1, 2])
def test_averages_of_mixtures_begin_with_the_third_pass(corpus, shards):
    seen = {}

    class Watched(LocalShards):
        def advance(self, task, params, survey, when, state):
            seen[when.iteration, when.part] = {name: array.copy() for name, array in state.items()}
            return super().advance(task, params, survey, when, state)

    four = {**PARSER, "learner": {**PARSER["learner"], "passes": 4}}
    fit_mixed(DependencyParser(**four), Watched(cut_file(corpus / "train.conllu", shards)), rounds=2)
    assert seen[1, 1]["totals"].any()
    for iteration in (2, 3):  # one shard is plain training, which averages from the start
        assert seen[iteration, 0]["weights"].any()
        assert seen[iteration, 0]["totals"].any() == (shards == 1)
        assert (seen[iteration, 0]["clock"] > 0) == (shards == 1)
        assert seen[iteration, 1]["totals"].any()
    assert seen[4, 0]["totals"].any()
    assert seen[4, 0]["clock"] > seen[3, 1]["clock"]


def test_resumed_training(corpus, tmp_path):
    cut = cut_file(corpus / "train.conllu", 2)

    class Failing(LocalShards):
        def advance(self, task, params, survey, when, state):
            if when.iteration == 2 and when.part == 1:
                raise KeyboardInterrupt
            return super().advance(task, params, survey, when, state)

    with pytest.raises(KeyboardInterrupt):
        fit_mixed(Tagger(**TAGGER), Failing(cut), checkpoint=tmp_path)
    resumed = fit_mixed(Tagger(**TAGGER), LocalShards(cut), checkpoint=tmp_path, resume=True)
    assert _learned(resumed) == _learned(fit_mixed(Tagger(**TAGGER), LocalShards(cut)))
    with pytest.raises(ConfigError, match="shards"):
        fit_mixed(Tagger(**TAGGER), LocalShards(cut[:1]), checkpoint=tmp_path, resume=True)


def test_what_cannot_be_mixed(corpus, tmp_path):
    with pytest.raises(ConfigError, match="dagger"):
        fit_mixed(Tagger(learner="dagger"), LocalShards(cut_file(corpus / "train.conllu", 2)))
    with pytest.raises(CorpusError, match="no such file"):
        cut_file(tmp_path / "none.conllu", 2)


def test_mixtures_keep_types():
    start = {"w": np.float32([1, 2]), "clock": np.int64([1])}
    states = [{"w": np.float32([1, 2]), "clock": np.int64([3])}, {"w": np.float32([2, 2]), "clock": np.int64([6])}]
    mix(start, states)
    assert start["w"].dtype == np.float32
    assert start["w"].tolist() == [2.0, 2.0]
    assert start["clock"].tolist() == [4]
    assert start["clock"].dtype == np.int64


def test_an_entry_that_came_back_counts_as_changed():
    """Its sum for averages tells that it moved: the mixture of both arrays must be one over the same shards."""
    start = {"weights": np.float32([[1.0]]), "totals": np.float32([[0.0]])}
    back = {"weights": np.float32([[1.0]]), "totals": np.float32([[-2.0]])}
    moved = {"weights": np.float32([[3.0]]), "totals": np.float32([[4.0]])}
    mix(start, [back, moved])
    assert np.allclose(start["weights"], 1.0 + 2**0.25)
    assert np.allclose(start["totals"], 2**0.25)


def test_variances_stay_positive():
    """A variance is the mean: with a longer step, four shards that are sure would leave less than nothing."""
    start = {"weights": np.float32([0.0]), "spread": np.float32([1.0])}
    mix(start, [{"weights": np.float32([1.0]), "spread": np.float32([0.1])} for _ in range(4)])
    assert np.allclose(start["weights"], np.sqrt(2.0))
    assert np.allclose(start["spread"], 0.1)


@pytest.mark.parametrize("own", [1e-10, 3.0, -1e10])
def test_the_change_of_a_single_shard_is_kept_to_the_bit(own):
    start = {"weights": np.float32([1e10])}
    mix(start, [{"weights": np.float32([own])}])
    assert start["weights"].tolist() == np.float32([own]).tolist()


def test_shards_do_not_average_after_every_round(corpus, monkeypatch):
    """The mean of a large table takes longer than a round; only the mixture at the end of a pass needs it."""
    from treewright.policies.linear import LinearTrainer

    made, policy = [], LinearTrainer.policy
    monkeypatch.setattr(LinearTrainer, "policy", lambda self: made.append(self) or policy(self))
    fit_mixed(DependencyParser(**PARSER), LocalShards(cut_file(corpus / "train.conllu", 2)), rounds=3)
    assert len(made) == 2  # one for each pass
