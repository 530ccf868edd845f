"""Cross-validation: every sentence is scored once, by a model that has not seen it."""

from __future__ import annotations

import numpy as np
import pytest

from treewright.constituency import ConstituencyParser
from treewright.corpora import builtin_corpus, corpus_hash
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import CrossValidation, cross_validate
from treewright.metrics import error_reduction, kolmogorov_smirnov
from treewright.tagging import Tagger

CORPUS = builtin_corpus(train=31, dev=3, test=3).train


class Watched(Tagger):
    """A tagger that notes what it learns from and what it is scored on."""

    seen: list

    def fit(self, corpus, dev=None, **running):
        Watched.seen.append([corpus, dev])
        return super().fit(corpus, dev, **running)

    def evaluate(self, corpus, **options):
        Watched.seen[-1].append(corpus)
        return super().evaluate(corpus, **options)


def small():
    return Watched(learner={"name": "supervised", "passes": 1}, bits=10)


@pytest.mark.parametrize("dev", [False, True])
def test_every_sentence_is_scored_once_and_not_learned_from(dev):
    Watched.seen = []
    estimator, told = small(), []
    found = cross_validate(estimator, CORPUS, folds=4, seed=1, dev=dev, report=lambda k, scores: told.append(scores))
    number = {id(sentence): k for k, sentence in enumerate(CORPUS)}
    tested = []
    for learned, held_out, test in Watched.seen:
        parts = [{number[id(s)] for s in part} for part in (learned, held_out or [], test)]
        assert sum(map(len, parts)) == len(set().union(*parts)) == len(CORPUS)  # nothing is in two of them
        assert bool(parts[1]) == dev
        tested += parts[2]
    assert sorted(tested) == list(range(len(CORPUS)))
    assert {len(test) for *_, test in Watched.seen} == {7, 8}
    assert not hasattr(estimator, "card_")  # clones learn
    assert found.scores == tuple(told)
    assert found.values == tuple(scores.accuracy for scores in told)
    assert found.name == "accuracy"


@pytest.mark.slow
def test_the_seed_decides_the_folds():
    def tests_of(seed):
        Watched.seen = []
        cross_validate(small(), CORPUS, folds=3, seed=seed)
        return [corpus_hash(test) for *_, test in Watched.seen]

    assert tests_of(1) == tests_of(1) != tests_of(2)


def validation(values, seed=0, corpus="abc"):
    """A cross-validation with these scores."""

    class Fixed:
        name = "F1"

        def __init__(self, main):
            self.main = main

    return CrossValidation(tuple(map(Fixed, values)), corpus, seed)


def test_statistics_over_folds():
    before, after = [0.70, 0.72, 0.74, 0.80], [0.75, 0.72, 0.78, 0.79]
    a, b = validation(before), validation(after)
    assert b.mean == pytest.approx(np.mean(after))
    assert b.deviation == pytest.approx(np.std(after, ddof=1))
    assert (a.box.low, a.box.median, a.box.high) == (0.70, 0.73, 0.80)
    compared = b.against(a)
    assert compared.error_reduction == pytest.approx((b.mean - a.mean) / (1 - a.mean))
    assert compared.by_fold == tuple(error_reduction(*pair) for pair in zip(before, after, strict=True))
    assert compared.wins == 2
    assert compared.test == kolmogorov_smirnov(before, after)
    assert compared.as_dict()["ks_p"] == compared.test.p
    assert b.as_dict()["folds"] == after


def test_what_cannot_be_validated_or_compared():
    with pytest.raises(CorpusError, match="31 sentences are too few for 40 folds"):
        cross_validate(small(), CORPUS, folds=40)
    with pytest.raises(ConfigError, match="folds must be a whole number from 2"):
        cross_validate(small(), CORPUS, folds=1)
    with pytest.raises(ConfigError, match="3 folds or more"):
        cross_validate(small(), CORPUS, folds=2, dev=True)
    for other in (validation([0.5, 0.6], seed=1), validation([0.5, 0.6], corpus="abd"), validation([0.5, 0.6, 0.7])):
        with pytest.raises(ConfigError, match="other folds"):
            validation([0.5, 0.6]).against(other)


def test_options_of_the_scorer_are_passed_on():
    parser = ConstituencyParser("v1h0", learner="maximum-likelihood")
    every, short = (cross_validate(parser, CORPUS, folds=2, **options) for options in ({}, {"max_length": 8}))
    counts = [[scores.sentences for scores in each.scores] for each in (every, short)]
    assert sum(counts[1]) < sum(counts[0])
