from dataclasses import replace

import pytest

from tests.amr.perturbed import perturbed
from treewright.amr import compare_smatch, score_smatch
from treewright.corpora import Graph, read_amr
from treewright.errors import CorpusError
from treewright.metrics import bootstrap_interval

GOLD = [
    Graph.from_penman(text)
    for text in (
        '(w / want-01 :ARG0 (p / person :name (n / name :op1 "Ann") :wiki "A") :ARG1 (g / go-02 :ARG0 p :polarity -))',
        "(c / chapter :mod 7)",
    )
]
PREDICTED = [
    Graph.from_penman(text)
    for text in (
        '(w / want-02 :ARG0 (p / person :name (n / name :op1 "Ann") :wiki -) :ARG1 (g / go-02 :ARG4 p :polarity -))',
        "(c / chapter :quant 7)",
    )
]
# Gold, of the first: 4 concepts, top, 4 edges, op1, wiki, polarity: 12. Wrong: want-02, :wiki -, ARG4.
# Of the second: concept, top, attribute: 3, of which 2 match.


def test_by_hand():
    scores = score_smatch(GOLD, PREDICTED, breakdown=True, exact=True)
    assert (scores.matched, scores.gold, scores.predicted) == ((9, 2), (12, 3), (12, 3))
    assert scores.precision == scores.recall == scores.f1 == pytest.approx(11 / 15)
    assert scores.f1_interval == pytest.approx((2 / 3, 9 / 12))
    assert (scores.exact, scores.proved, scores.sentences) == (0, 1, 2)
    assert scores.by_sentence() == [pytest.approx((0.75,) * 3), pytest.approx((2 / 3,) * 3)]
    parts = {part.name: (part.matched, part.gold, part.predicted) for part in scores.breakdown}
    assert parts == {
        "unlabelled": (10 + 3, 15, 15),
        "no-sense": (10 + 2, 15, 15),
        "concepts": (4, 5, 5),
        "named-entities": (1, 1, 1),
        "negation": (1, 1, 1),
        "wiki": (0, 1, 1),
        "reentrancies": (3, 5, 5),  # want, go, person, and two edges
        "roles": (2 + 2, 6, 6),
    }
    assert "matched" not in scores.as_dict()


@pytest.mark.jit
def test_with_a_proof_the_breakdown_does_not_depend_on_the_order_of_triples(real_data):
    gold = [sentence.graph for sentence in read_amr(real_data("amr-little-prince/dev.txt"))][:40]
    guessed = [perturbed(graph, seed, gold, 0.3) for seed, graph in enumerate(gold)]
    names = ("instances", "edges", "attributes")
    other = [replace(graph, **{name: getattr(graph, name)[::-1] for name in names}) for graph in guessed]
    scores, others = (score_smatch(gold, graphs, breakdown=True, exact=True).breakdown for graphs in (guessed, other))
    assert scores == others


def test_the_interval_is_that_of_the_statistics_room():
    scores = score_smatch(GOLD * 20, PREDICTED * 10 + GOLD * 10, seed=3)
    totals = [(g + p) / 2 for g, p in zip(scores.gold, scores.predicted, strict=True)]
    expected = bootstrap_interval(scores.matched, totals, seed=3)
    assert (scores.f1, *scores.f1_interval) == pytest.approx(tuple(expected))
    assert scores.exact == 0.5
    assert scores.proved is None


def test_compare():
    found = compare_smatch(GOLD * 20, PREDICTED * 20, GOLD * 20, samples=100)
    assert (found.a, found.b, found.error_reduction) == (pytest.approx(11 / 15), 1, 1)
    assert (found.a_better, found.b_better, found.equal, found.sentences) == (0, 40, 0, 40)
    assert max(found.p_bootstrap, found.p_randomization) < 0.02
    same = compare_smatch(GOLD, GOLD, GOLD, samples=100)
    assert (same.difference, same.p_bootstrap, same.error_reduction) == (0, 1, None)


def test_bad_input():
    with pytest.raises(CorpusError, match="no graphs to compare"):
        score_smatch([], [])
    with pytest.raises(CorpusError, match="2 gold graphs and 1 predicted ones"):
        score_smatch(GOLD, PREDICTED[:1])


def test_the_interval_of_a_difference_lies_around_it():
    gold = [Graph.from_penman("(b / bark-01 :ARG0 (d / dog))")] * 30 + [Graph.from_penman("(c / cat)")] * 10
    worse = [Graph.from_penman("(b / bark-01 :ARG0 (c / cat))")] * 30 + [Graph.from_penman("(c / cat)")] * 10
    found = compare_smatch(gold, worse, gold)
    low, high = found.interval
    assert 0 < low < found.difference < high < 0.3
    assert compare_smatch(gold, gold, gold).interval == (0.0, 0.0)
