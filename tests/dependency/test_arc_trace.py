"""The decisions behind the best tree, against what the parser predicts and against all projective trees."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dependency import naive
from treewright.corpora import Sentence, builtin_corpus
from treewright.dependency import EisnerParser
from treewright.dependency.arc_trace import _item
from treewright.dependency.eisner import ONE, tree_graph
from treewright.errors import CorpusError
from treewright.tracing import Trace


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=15, dev=0, test=6)


@pytest.fixture(scope="module")
def parser(corpus):
    return EisnerParser(learner={"name": "max-margin", "passes": 1}, bits=9).fit(corpus.train)


def arcs_of(trace):
    return {arc["dependent"]: (arc["head"], arc["label"]) for arc in trace.steps[-1].state["arcs"]}


def test_the_steps_build_what_is_predicted(parser, corpus):
    for one, (heads, labels) in zip(corpus.test, parser.arcs(corpus.test), strict=True):
        trace = parser.trace(one, one)
        assert (trace.task, trace.kind) == ("eisner", "arcs")
        assert trace.result == {"heads": tuple(heads), "labels": tuple(labels)}
        assert arcs_of(trace) == dict(enumerate(zip(heads, labels, strict=True), 1))
        for step in trace.decisions:
            assert step.choice.score == max(candidate.score for candidate in step.candidates) == 0.0
            assert sum(candidate.probability for candidate in step.candidates) == pytest.approx(1.0)
            assert min(candidate.cost for candidate in step.candidates) == 0.0
            assert step.state["focus"] == step.state["open"][0]
        assert Trace.from_json(trace.to_json()) == trace


def test_costs_add_up_to_the_errors(parser, corpus):
    """A choice costs the gold arcs that it loses: so no error is counted twice, and none is forgotten."""
    for one, (heads, labels) in zip(corpus.test, parser.arcs(corpus.test), strict=True):
        wrong = sum((t.head, t.deprel) != arc for t, arc in zip(one, zip(heads, labels, strict=True), strict=True))
        trace = parser.trace(one, one)
        assert sum(step.choice.cost for step in trace.decisions) == trace.steps[-1].measures["errors"] == wrong
        unlabelled = parser.trace(one, one, labelled=False)
        wrong = sum(token.head != head for token, head in zip(one, heads, strict=True))
        assert sum(step.choice.cost for step in unlabelled.decisions) == wrong
        assert unlabelled.actions == trace.actions


def test_the_gold_tree_costs_nothing(parser, corpus):
    for one in corpus.test:
        trace = parser.trace(one, one, follow="gold")
        assert trace.first_error is None
        assert trace.result["heads"] == tuple(token.head for token in one)


def test_crossing_arcs_are_lifted(parser):
    words = Sentence.from_words(["the", "cat", "sees", "dogs"])
    crossing = words.with_tree([3, 4, 0, 3], ["nsubj", "obj", "root", "obj"])
    trace = parser.trace(words, crossing, follow="gold")
    assert trace.first_error is None
    assert [head for head, _ in arcs_of(trace).values()] == [3, 3, 0, 3]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_advantage_of_a_root_is_what_the_best_tree_loses(parser, n):
    """Against all trees, with the best label for each arc."""
    words = ["the", "cat", "sees", "dogs"][:n]
    planner, counts = parser._planner([Sentence.from_words(words).tokens]), parser._label_counts
    scores = np.zeros((n + 1) * n * counts.number + 1)
    planner.score(parser._weights, np.zeros(1, np.int64), np.array([0, len(scores)]), scores)
    table = scores[:-1].reshape(n + 1, n, counts.number)
    best = table[..., counts.word :].max(axis=2)
    best[0] = table[0, :, : counts.root].max(axis=1)
    by_root = [-np.inf] * n
    for heads in naive.projective_trees(n):
        value = sum(best[head, word] for word, head in enumerate(heads))
        by_root[heads.index(0)] = max(by_root[heads.index(0)], value)
    first = parser.trace(words).steps[0]
    assert [c.action for c in first.candidates] == [f"root → {k} {word}" for k, word in enumerate(words, 1)]
    assert [c.score for c in first.candidates] == pytest.approx(np.subtract(by_root, max(by_root)).tolist())


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_place_is_a_span_of_words(n):
    items = [_item(place, n) for place in tree_graph(n, ONE).nodes.tolist()]
    assert items[-1] == ("sentence", 1, n)
    kinds = [item.kind for item in items]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        name: number
        for name, number in {
            "arc": n * n,  # from the root, and between two words
            "right": n * (n + 1) // 2,
            "left": n * (n + 1) // 2,
            "meeting": n * (n - 1) // 2,
            "joined": n * (n - 1),
            "root": n,
            "sentence": 1,
        }.items()
        if number
    }
    assert all(1 <= item.first <= item.last <= n for item in items if item.kind != "arc")


def test_mistakes(parser, corpus):
    with pytest.raises(CorpusError, match="a sentence of 401 words: above 400"):
        parser.trace(["a"] * 401)
    with pytest.raises(CorpusError, match="has no head"):
        parser.trace(["a"], Sentence.from_words(["a"]))
    with pytest.raises(CorpusError, match="without words"):
        parser.trace([])
