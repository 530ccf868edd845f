"""Candidates of words that training saw, and of words that look like them."""

from treewright.text.candidates import Candidates


def suffixes(word):
    return [word[-n:] for n in (3, 2, 1)]


PAIRS = [("sing", 0), ("sing", 0), ("sing", 1), ("king", 2), ("ring", 1), *([("the", 3)] * 20)]


def learned():
    return Candidates.learn(((word, suffixes(word), label) for word, label in PAIRS), sure=5, rare=10)


def test_a_frequent_word_has_its_own_labels_only():
    assert learned().of("the", suffixes("the")) == [3]


def test_a_rare_word_has_its_own_labels_first_and_then_those_of_words_like_it():
    assert learned().of("king", suffixes("king")) == [2, 0, 1]


def test_a_new_word_has_the_labels_of_its_narrowest_classes():
    assert learned().of("bring", suffixes("bring")) == [0, 1, 2]


def test_a_word_like_none_has_the_most_frequent_labels():
    assert learned().of("xyz", suffixes("xyz")) == [3, 0, 1, 2]


def test_labels_that_are_not_allowed_are_not_offered():
    assert learned().of("bring", suffixes("bring"), allowed=lambda label: label != 0) == [1, 2]
    assert learned().of("xyz", suffixes("xyz"), more=[2])[0] == 2


def test_the_table_survives_a_model_file():
    arrays = learned().to_arrays("tags")
    again = Candidates.from_arrays(arrays, "tags")
    for word in ("the", "king", "bring", "xyz"):
        assert again.of(word, suffixes(word)) == learned().of(word, suffixes(word))
    assert again.times("sing") == 3


def test_labels_that_words_often_have_together_are_offered_together():
    both = [(word, label) for word in ("walk", "talk", "visit") for label in (0, 1) for _ in range(4)]
    one = [("arrive", 0)] * 12 + [("be", 0)] * 120 + [("table", 2)] * 12
    seen = [(word, suffixes(word), label) for word, label in [*both, *one]]
    table = Candidates.learn(seen, together=0.5)
    assert table.of("arrive", suffixes("arrive")) == [0, 1]  # three of five words with the label 0 have 1
    assert table.of("be", suffixes("be")) == [0]  # so frequent that its labels are known
    assert table.of("table", suffixes("table")) == [2]
    assert Candidates.learn(seen, together=0.7).of("arrive", suffixes("arrive")) == [0]
    assert Candidates.from_arrays(table.to_arrays("x"), "x").of("arrive", suffixes("arrive")) == [0, 1]
