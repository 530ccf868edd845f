"""The Viterbi planner against all labellings, and the tagger that plans with it."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

from tests.search import naive_hypergraph as naive
from treewright.corpora import Sentence, generate
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.loading import load
from treewright.tagging import Tagger, ViterbiPlanner, ViterbiTagger, majority_baseline, score_tagging
from treewright.tagging.viterbi import FEATURES, labelling_graph
from treewright.tagging.words import ATTRIBUTES

QUICK = {"name": "max-margin", "passes": 3}
METHODS = ("projection", "mwal", "irl-perceptron", "max-margin", "policy-matching", "maxent")
K = 3
LENGTHS = (1, 2, 4)


@pytest.fixture(scope="module", params=[0, 1], ids=["order 0", "order 1"])
def planner(request):
    random = np.random.default_rng(0)
    table = random.integers(0, 2**31, (6, len(ATTRIBUTES)), np.int32)
    words = random.integers(1, 6, sum(LENGTHS)).astype(np.int32)
    gold = random.integers(0, K, len(words)).astype(np.int32)
    return ViterbiPlanner(np.array(LENGTHS), words, table, K, gold, bits=6, order=request.param), gold


@pytest.fixture(scope="module")
def θ(planner):
    return np.random.default_rng(1).normal(size=planner[0].size, scale=0.5)


def features(planner, i, labels):
    """The features of a labelling: transitions first, and K weights for each row that a word looks at."""
    total = np.zeros(planner.size)
    for word, label in zip(range(planner.at[i], planner.at[i + 1]), labels, strict=True):
        for row in planner.rows[word]:
            total[planner.pairs + int(row) * K + label] += 1.0
    if planner.pairs:
        total[K * K + labels[0]] += 1.0
        total[K * K + K + labels[-1]] += 1.0
        for a, b in pairwise(labels):
            total[b * K + a] += 1.0
    return total


def every(planner, i, θ):
    labellings = list(product(range(K), repeat=LENGTHS[i]))
    rows = np.array([features(planner, i, labels) for labels in labellings])
    return labellings, rows, rows @ θ


def dense(planner, found):
    total = np.zeros(planner.size)
    np.add.at(total, found.at, found.amount)
    return total


@pytest.mark.parametrize("i", range(3))
def test_best_n_best_and_all(planner, θ, i):
    planner, gold = planner
    labellings, rows, values = every(planner, i, θ)
    which, chances = np.array([i]), np.exp(values - values.max())
    best = planner.optimal_features(θ, which)
    assert best.value == pytest.approx(values.max())
    assert dense(planner, best) == pytest.approx(rows[values.argmax()])
    found = planner.expected_features(θ, which)
    assert found.value == pytest.approx(values.max() + math.log(chances.sum()))
    assert dense(planner, found) == pytest.approx(chances @ rows / chances.sum(), abs=1e-9)
    ranked = values.argsort()[::-1][:5]
    some = planner.n_best_features(θ, which, 5)
    assert some.value == pytest.approx(values.max() + math.log(chances[ranked].sum()))
    assert dense(planner, some) == pytest.approx(chances[ranked] @ rows[ranked] / chances[ranked].sum(), abs=1e-9)
    expert = tuple(gold[planner.at[i] : planner.at[i + 1]].tolist())
    assert dense(planner, planner.expert_features(which)) == pytest.approx(features(planner, i, expert))
    common = np.array([sum(a == b for a, b in zip(expert, labels, strict=True)) for labels in labellings])
    assert planner.optimal_features(θ, which, margin=0.7).value == pytest.approx((values - 0.7 * common).max())


def test_best_labels(planner, θ):
    planner, _ = planner
    wanted = []
    for i in range(3):
        labellings, _, values = every(planner, i, θ)
        wanted += labellings[values.argmax()]
    for jobs in (1, 2):
        assert planner.best_labels(θ.astype(np.float32), jobs).tolist() == wanted


@pytest.mark.parametrize(
    ("ask", "sign"),
    [
        (lambda p, θ: p.expected_features(θ, np.arange(3)), 1.0),
        (lambda p, θ: p.optimal_features(θ, np.arange(3), margin=0.5), 1.0),
        (lambda p, θ: p.policy_matching(θ, np.arange(3), 0.8), -1.0),
    ],
    ids=["expected", "optimal", "policy matching"],
)
def test_features_are_gradients_of_values(planner, θ, ask, sign):
    planner, _ = planner
    gradient = dense(planner, ask(planner, θ))
    towards = np.random.default_rng(2).normal(size=planner.size)
    ahead, back = (ask(planner, θ + step * towards).value for step in (1e-6, -1e-6))
    assert sign * gradient @ towards == pytest.approx((ahead - back) / 2e-6, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("n", [1, 3])
def test_each_labelling_has_one_derivation(n, order):
    graph = labelling_graph(n, K, order)
    emissions = graph.parts - n * K
    found = [
        tuple(sorted(part - emissions for *_, part in derivation if part is not None and part >= emissions))
        for derivation in naive.derivations(graph)
    ]
    assert sorted(found) == sorted(
        tuple(word * K + label for word, label in enumerate(labels)) for labels in product(range(K), repeat=n)
    )


def test_words_look_at_as_many_rows_as_there_are_features(planner):
    assert planner[0].rows.shape == (sum(LENGTHS), FEATURES)
    assert 0 <= planner[0].rows.min() <= planner[0].rows.max() < 2**6


# ---- the tagger


@pytest.fixture(scope="module")
def corpus():
    sentences = generate(60, seed=5)
    return sentences[:40], sentences[40:]


@pytest.fixture(scope="module")
def tagger(corpus):
    return ViterbiTagger(learner=QUICK, bits=10).fit(corpus[0], dev=corpus[1])


@pytest.mark.slow
def test_it_beats_the_majority_baseline(tagger, corpus):
    train, test = corpus
    baseline = score_tagging(test, majority_baseline(train, test), "upos")
    assert tagger.evaluate(test).accuracy > baseline.accuracy


def test_manners():
    assert ViterbiTagger("xpos", order=0).get_params() == {
        "column": "xpos", "learner": "max-margin", "bits": 18, "order": 0, "min_count": 1, "seed": 0,
    }  # fmt: skip
    assert repr(ViterbiTagger(bits=12)) == "ViterbiTagger(bits=12)"
    assert ViterbiTagger(learner="irl-perceptron").resolved_config()["learner"]["averaged"] is True
    assert (
        ViterbiTagger(learner={"name": "irl-perceptron", "averaged": False}).resolved_config()["learner"]["averaged"]
        is False
    )
    assert not isinstance(ViterbiTagger(), Tagger)
    assert not hasattr(ViterbiTagger(), "beam")


def test_labels_alone_are_those_of_sentences(tagger, corpus):
    labels = [list(s.column("upos")) for s in tagger.tag(corpus[1])]
    assert tagger.labels([list(s.forms) for s in corpus[1]]) == labels
    assert tagger.labels(corpus[1], jobs=2) == labels


def test_a_model_file_is_for_one_estimator(tagger, tmp_path):
    assert isinstance(load(tagger.save(tmp_path / "m.tw")), ViterbiTagger)
    with pytest.raises(ModelError, match="viterbi"):
        Tagger.load(tmp_path / "m.tw")


@pytest.mark.jit
@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_model_and_every_method_learns(corpus, name):
    learner = {"name": name, "passes": 20 if name == "projection" else 4}
    one, two = (ViterbiTagger(learner=learner, bits=10, seed=3).fit(corpus[0], dev=corpus[0], jobs=j) for j in (1, 2))
    assert one.policy_.weights.tobytes() == two.policy_.weights.tobytes()
    assert one.evaluate(corpus[0]).accuracy > 0.8


@pytest.mark.jit
def test_without_pairs_words_do_not_see_each_others_labels(corpus):
    assert ViterbiTagger(learner=QUICK, bits=10, order=0).fit(corpus[0]).evaluate(corpus[0]).accuracy > 0.9


@pytest.mark.parametrize(
    "settings", [{"order": 2}, {"bits": 18.5}, {"seed": -1}, {"min_count": "2"}, {"learner": None}, {"column": "pos"}]
)
def test_settings_of_the_wrong_kind_are_named(settings, corpus):
    [name] = settings
    with pytest.raises(ConfigError, match=name):
        ViterbiTagger(**settings).fit(corpus[0][:2])


def test_a_learner_of_actions_is_refused(corpus):
    with pytest.raises(ConfigError, match="'dagger' learns from single actions"):
        ViterbiTagger(learner="dagger").fit(corpus[0])


def test_bad_and_small_input(tagger):
    with pytest.raises(CorpusError, match=r"the column feats is empty \(_\) everywhere"):
        ViterbiTagger("feats").fit([Sentence.from_words(["a", "b"])])
    assert tagger.labels([[], ["dogs"], []])[0::2] == [[], []]
    one = Sentence.from_words(["yes"]).with_column("upos", ["INTJ"])
    empty = Sentence.from_words([])
    assert ViterbiTagger(learner=QUICK, bits=4).fit([one, empty, one]).labels([["yes"], ["no", "no"]]) == [
        ["INTJ"],
        ["INTJ", "INTJ"],
    ]


def test_label_unseen_in_training_counts_as_an_error(tagger):
    sentence = Sentence.from_words(["the", "dog"]).with_column("upos", ["DET", "NEVER-SEEN"])
    assert tagger.evaluate([sentence]).accuracy <= 0.5
    assert np.isfinite(tagger.history_[-1].loss)


@pytest.mark.jit
def test_sentence_of_ten_thousand_tokens(tagger):
    assert len(tagger.labels([["dog", "sees"] * 5000])[0]) == 10_000
