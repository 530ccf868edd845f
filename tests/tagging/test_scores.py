import pytest

from treewright.corpora import Sentence
from treewright.errors import CorpusError
from treewright.tagging import compare_taggings, majority_baseline, score_tagging


def sentence(words, labels):
    return Sentence.from_words(words.split()).with_column("upos", labels.split())


def test_scores_by_hand():
    gold = [sentence("the dog runs", "D N V"), sentence("dogs run", "N V")]
    guess = [sentence("the dog runs", "D N N"), sentence("dogs run", "N V")]
    scores = score_tagging(gold, guess, known=lambda form: form != "runs")
    assert scores.accuracy == 4 / 5
    assert scores.exact == 1 / 2
    assert (scores.unknown, scores.unknown_accuracy) == (1, 0.0)
    assert scores.confusions == (("V", "N", 1),)
    noun = next(label for label in scores.labels if label.label == "N")
    assert (noun.gold, noun.precision, noun.recall) == (2, 2 / 3, 1.0)
    assert scores.as_dict()["tokens"] == 5


def test_comparisons_by_hand():
    gold = [sentence("the dog runs", "D N V"), sentence("dogs run", "N V"), Sentence(())] * 10
    worse = [sentence("the dog runs", "D N N"), sentence("dogs run", "N V"), Sentence(())] * 10
    found = compare_taggings(gold, worse, gold, samples=99)
    assert (found.measure, found.a, found.b) == ("accuracy", 4 / 5, 1.0)
    assert (found.a_better, found.b_better, found.equal, found.sentences) == (0, 10, 10, 20)
    assert found.difference == pytest.approx(1 / 5)
    assert found.error_reduction == pytest.approx(1.0)
    assert found.p_bootstrap == 0.01
    assert found.interval[0] <= found.difference <= found.interval[1]
    assert compare_taggings(gold, gold, worse, samples=99).difference == pytest.approx(-1 / 5)
    assert compare_taggings(gold, worse, worse, samples=9).as_dict()["p_randomization"] == 1.0
    assert compare_taggings(gold, worse, worse, "xpos", samples=9).a == 1.0, "another column"


def test_other_words_are_refused():
    one, other = [sentence("a", "X")], [sentence("b", "X")]
    with pytest.raises(CorpusError, match="sentence 1 has other words"):
        score_tagging(one, other)
    with pytest.raises(CorpusError, match=r"sentence 1 has other words .* B annotation"):
        compare_taggings(one, one, other)
    with pytest.raises(CorpusError, match="nothing to score"):
        compare_taggings([Sentence(())], [Sentence(())], [Sentence(())])


def test_nothing_to_score():
    with pytest.raises(CorpusError, match="nothing to score"):
        score_tagging([], [])


def test_majority_baseline_takes_the_most_frequent_label_and_breaks_ties_by_name():
    train = [sentence("can can can dog dog", "AUX NOUN AUX VERB NOUN")]
    [labelled] = majority_baseline(train, [sentence("can dog new", "_ _ _")])
    assert labelled.column("upos") == ("AUX", "NOUN", "AUX")
