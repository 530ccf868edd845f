import json
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora.vocabulary import UNKNOWN, Vocabulary, signature
from treewright.errors import ConfigError, CorpusError, ModelError


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("walking", "<rare lower -ng>"),
        ("Walking", "<rare Cap -ng>"),
        ("WALKING", "<rare CAPS -ng>"),
        ("I", "<rare Cap>"),
        ("McDonald", "<rare Cap -ld>"),
        ("eBay", "<rare Mixed -ay>"),
        ("'Tis", "<rare Cap -is>"),
        ("of", "<rare lower>"),
        ("1987", "<rare number>"),
        ("-3.5%", "<rare number>"),
        ("12/24", "<rare number>"),
        ("3rd", "<rare lower digit -rd>"),
        ("F-16", "<rare Cap digit hyphen>"),
        ("well-known", "<rare lower hyphen -wn>"),
        ("-ing", "<rare lower -ng>"),
        ("--", "<rare>"),
        ("", "<rare>"),
        ("東京都", "<rare -京都>"),
        ("Ǆungla", "<rare Cap -la>"),
    ],
)
def test_signatures(word, expected):
    assert signature(word) == expected


def test_order_is_by_count_then_by_string():
    vocabulary = Vocabulary.build(["b", "a", "c", "b", "c", "c", "é"])
    assert vocabulary.words == ("c", "b", "a", "é")
    assert vocabulary == Vocabulary.build(Counter(["é", "c", "c", "c", "b", "b", "a"]))
    assert [vocabulary.id(word) for word in ("<unk>", "c", "é", "never")] == [0, 1, 4, 0]


def test_rare_words_join_a_class():
    words = ["the"] * 5 + ["walking", "talking", "Anna", "1987", "1988", "1989"]
    vocabulary = Vocabulary.build(words, min_count=2)
    assert vocabulary.words == ("the",)
    assert vocabulary.classes == ("<rare number>", "<rare lower -ng>")  # Anna is alone in her class
    assert vocabulary.id("walking") == vocabulary.id("jogging") == 3
    assert vocabulary.id("2024") == 2
    assert vocabulary.id("Anna") == vocabulary.id("Hannah") == 0
    assert "the" in vocabulary
    assert "walking" not in vocabulary
    assert 3 not in vocabulary


def test_max_size_keeps_the_most_frequent_words():
    vocabulary = Vocabulary.build(["b", "a", "c", "b", "c", "c"], max_size=2)
    assert vocabulary.words == ("c", "b")
    assert vocabulary.classes == ("<rare lower>",)
    assert len(vocabulary) == 4
    assert Vocabulary.build(["b", "a"], max_size=0).words == ()


def test_specials_come_first_and_once():
    vocabulary = Vocabulary.build(["<pad>", "a", "<unk>"], specials=("<pad>", "<unk>"))
    assert [vocabulary.word(id) for id in range(len(vocabulary))] == ["<pad>", "<unk>", "a"]
    assert vocabulary.id("never") == 1


def test_without_unknown_it_is_closed():
    vocabulary = Vocabulary.build(["NOUN", "VERB"], specials=())
    assert vocabulary.encode(["VERB", "NOUN"]).tolist() == [1, 0]
    with pytest.raises(CorpusError, match="'VREB' is not in this closed vocabulary of 2"):
        vocabulary.id("VREB")


def test_a_word_spelled_like_a_class_is_still_a_word():
    name = signature("walking")
    vocabulary = Vocabulary.build([name] * 3 + ["walking", "talking"], min_count=2)
    assert vocabulary.id(name) == 1
    assert vocabulary.id("walking") == 2
    assert vocabulary.word(1) == vocabulary.word(2) == name


def test_encode():
    ids = Vocabulary.build(["a", "b"]).encode(["b", "x", "a"])
    assert ids.dtype == np.int32
    assert ids.tolist() == [2, 0, 1]
    assert Vocabulary().encode([]).shape == (0,)


def test_it_is_immutable():
    vocabulary = Vocabulary.build(["a", "b"])
    with pytest.raises(AttributeError):
        vocabulary.words = ("c",)
    assert hash(vocabulary) == hash(pickle.loads(pickle.dumps(vocabulary)))


@pytest.mark.parametrize("id", [-1, 3])
def test_numbers_outside(id):
    with pytest.raises(ConfigError, match="0 to 2"):
        Vocabulary.build(["a", "b"]).word(id)


@pytest.mark.parametrize("settings", [{"min_count": 0}, {"max_size": -1}, {"specials": ("a", "a")}])
def test_settings_that_cannot_be_used(settings):
    with pytest.raises(ConfigError):
        Vocabulary.build(["a"], **settings)


@given(st.lists(st.text(max_size=4)), st.integers(1, 3), st.none() | st.integers(0, 5))
def test_round_trips(words, min_count, max_size):
    vocabulary = Vocabulary.build(words, min_count=min_count, max_size=max_size)
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary
    assert len({vocabulary.word(id) for id in range(len(vocabulary))}) <= len(vocabulary)
    for word in words:
        known = vocabulary.word(vocabulary.id(word))
        assert known == word if word in vocabulary else known in (signature(word), UNKNOWN)
    assert len(vocabulary.words) <= (len(words) if max_size is None else max_size)


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        {},
        {"specials": [], "words": ["a", "a"], "classes": []},
        {"specials": [], "words": [1], "classes": []},
        {"specials": [], "words": "abc", "classes": []},
    ],
)
def test_damaged_json(damaged):
    with pytest.raises(ModelError, match="vocabulary is damaged"):
        Vocabulary.from_json(damaged)
