"""The decisions of taggers against what they predict, and of the planner against all labellings."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from treewright.corpora import Sentence, builtin_corpus
from treewright.errors import CorpusError, TreewrightError
from treewright.estimators import NotFittedError
from treewright.tagging import Tagger, ViterbiTagger
from treewright.tagging.trace import _scores
from treewright.tracing import Trace

EXPLORING = {"name": "exploration", "passes": 1}
PLANNING = {"name": "max-margin", "passes": 1}


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=40, dev=0, test=8)


TAGGERS = {
    "greedy": lambda: Tagger(learner=EXPLORING, bits=8),
    "beam": lambda: Tagger(learner=EXPLORING, bits=8, beam=4),
    "viterbi": lambda: ViterbiTagger(learner=PLANNING, bits=7),
    "without pairs": lambda: ViterbiTagger(learner=PLANNING, bits=7, order=0),
}


@pytest.fixture(scope="module", params=TAGGERS)
def tagger(request, corpus):
    return TAGGERS[request.param]().fit(corpus.train)


def test_the_labels_are_those_that_are_predicted(tagger, corpus):
    for sentence, labels in zip(corpus.test, tagger.labels(corpus.test), strict=True):
        trace = tagger.trace(sentence, sentence)
        assert (trace.task, trace.kind, trace.words) == (tagger.task, "tags", sentence.forms)
        assert trace.actions == trace.result["labels"] == tuple(labels)
        assert trace.metadata["column"] == "upos"
        gold = sentence.column("upos")
        for k, step in enumerate(trace.decisions):
            assert step.state == {"position": k, "labels": tuple(labels[:k])}
            assert [candidate.action for candidate in step.candidates] == tagger.labels_
            assert sum(candidate.probability for candidate in step.candidates) == pytest.approx(1.0)
            assert step.correct == (labels[k] == gold[k])
            assert step.expert == (gold[k],)
            assert getattr(tagger, "beam", 1) > 1 or step.choice.score == step.best[0].score
        wrong = sum(x != y for x, y in zip(labels, gold, strict=True))
        assert trace.steps[-1].measures == {"errors": wrong}
        assert Trace.from_json(trace.to_json()) == trace


def test_gold_labels_cost_nothing(tagger, corpus):
    for sentence in corpus.train[:5]:
        trace = tagger.trace(sentence, sentence, follow="gold")
        assert trace.actions == sentence.column("upos")
        assert trace.first_error is None


def test_words_alone(tagger):
    trace = tagger.trace(["the", "cat"])
    assert not trace.has_gold
    assert all(c.cost is None for step in trace.steps for c in step.candidates)
    assert all(not step.measures and not step.expert for step in trace.steps)


def test_a_label_that_the_tagger_does_not_know(tagger):
    gold = Sentence.from_words(["the", "cat"]).with_column("upos", ["DET", "CAT"])
    trace = tagger.trace(gold, gold)
    assert trace.steps[1].expert == ("CAT",)
    assert {candidate.cost for candidate in trace.steps[1].candidates} == {1.0}
    assert tagger.trace(gold, gold, follow="gold").first_error.number == 1


def test_mistakes(tagger):
    with pytest.raises(CorpusError, match="the column upos is empty"):
        tagger.trace(["a"], Sentence.from_words(["a"]))
    with pytest.raises(CorpusError, match="without words"):
        tagger.trace([])
    with pytest.raises(NotFittedError, match="learned nothing yet"):
        type(tagger)().trace(["a"])
    assert issubclass(NotFittedError, TreewrightError)


@pytest.mark.parametrize("order", [0, 1])
def test_advantages_are_what_the_best_labelling_loses(order, corpus):
    """Against all labellings of three words, with three labels."""
    tagger = ViterbiTagger(learner=PLANNING, bits=6, order=order)
    kept = [s.with_column("upos", ["X" if t in ("NOUN", "PROPN") else "Y" if t == "VERB" else "Z"
                                   for t in s.column("upos")]) for s in corpus.train]  # fmt: skip
    tagger.fit(kept)
    words, K = ["the", "dogs", "bark"], len(tagger.labels_)
    assert K == 3
    emissions, transitions = _scores(tagger._planner([words]), tagger._weights, 3)
    if not order:
        assert not transitions.any()

    def value(labels):
        pairs = transitions[K, labels[0]] + transitions[labels[-1], K]
        pairs += sum(transitions[y, z] for y, z in pairwise(labels))
        return pairs + sum(emissions[i, y] for i, y in enumerate(labels))

    values = {labels: value(labels) for labels in product(range(K), repeat=3)}
    trace = tagger.trace(words)
    path = tuple(step.chosen for step in trace.decisions)
    assert values[path] == pytest.approx(max(values.values()))
    for i, step in enumerate(trace.decisions):
        best = [max(v for labels, v in values.items() if labels[: i + 1] == (*path[:i], y)) for y in range(K)]
        assert [c.score for c in step.candidates] == pytest.approx(np.subtract(best, max(best)).tolist())
