from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.constituency.grammar.binarisation import Markovisation
from treewright.constituency.grammar.lexicon import KINDS, Lexicon, word_classes
from treewright.corpora import Tree
from treewright.corpora.brackets import clean_tree, read_ptb
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.models import read_model, write_model

Tagged = list[list[tuple[str, str]]]

some_words = st.sampled_from(["the", "The", "walks", "Walks", "1,000", "``", "B-52", "NATO", "a", "A", "-", "~", "İ"])
words = some_words | st.text(min_size=1, max_size=6)
tags = st.sampled_from(["NN", "VB", "DT", "%2C", "CD"])
corpora = st.lists(st.lists(st.tuples(words, tags), max_size=8), min_size=1, max_size=12).filter(any)
learned = st.builds(
    Lexicon.learn, corpora, st.sampled_from(KINDS), st.integers(1, 12), st.sampled_from([0.0, 0.2, 0.5, 3.0])
)

TINY: Tagged = [
    [("``", "``"), ("Prices", "NNS"), ("rose", "VBD"), (",", ","), ("sales", "NNS"), ("fell", "VBD")],
    [("Sales", "NNS"), ("grew", "VBD"), ("prices", "NNS"), ("fell", "VBD")],
    [
        ("Ford", "NNP"),
        ("fired", "VBD"),
        ("Smith", "NNP"),
        (",", ","),
        ("who", "WP"),
        ("prices", "VBZ"),
        ("cars", "NNS"),
    ],
    [("Jones", "NNP"), ("met", "VBD"), ("Ford", "NNP"), ("and", "CC"), ("Rosen", "NNP"), ("in", "IN"), ("1989", "CD")],
    [("Jones", "NNP"), ("called", "VBD"), ("Ford", "NNP"), ("in", "IN"), ("1990", "CD"), ("and", "CC"), ("1991", "CD")],
]


def probabilities(lexicon: Lexicon, word: str, first: bool = False) -> dict[str, float]:
    """P(tag | word) from the scores of a lexicon of the kind "ratio"."""
    numbers, scores = lexicon.row(word, first)
    shares = np.exp(scores.astype(np.float64) + lexicon.prior[numbers])
    return {lexicon.tags[number]: share for number, share in zip(numbers, shares, strict=True)}


def events(lexicon: Lexicon) -> int:
    """The number of rows that are words or classes; after them there are those for given tags."""
    return len(lexicon.to_arrays()[1]["at"]) - 1


@given(corpora, st.integers(1, 12), st.sampled_from([0.0, 0.2, 0.5, 3.0]), st.lists(words))
def test_the_tags_of_a_word_have_probability_1(corpus: Tagged, rare: int, smoothing: float, more: list[str]) -> None:
    lexicon = Lexicon.learn(corpus, "ratio", rare, smoothing)
    for word in [*more, *(word for sentence in corpus for word, _ in sentence)]:
        for first in (False, True):
            assert sum(probabilities(lexicon, word, first).values()) == pytest.approx(1, abs=1e-4)
    assert np.exp(lexicon.prior.astype(np.float64)).sum() == pytest.approx(1, abs=1e-5)


@given(corpora, st.integers(1, 12), st.sampled_from([0.0, 0.2, 0.5, 3.0]))
def test_the_words_of_a_tag_and_its_new_words_have_probability_1(corpus: Tagged, rare: int, smoothing: float) -> None:
    lexicon = Lexicon.learn(corpus, "word", rare, smoothing)
    at, tag, score = lexicon.table()
    end = at[events(lexicon)]
    sums = np.bincount(tag[:end], np.exp(score[:end].astype(np.float64)), len(lexicon.tags))
    assert sums == pytest.approx(np.ones(len(lexicon.tags)), abs=1e-4)


@given(learned, st.lists(words))
def test_rows_of_sentences_are_rows_of_words(lexicon: Lexicon, sentence: list[str]) -> None:
    at, tag, score = lexicon.table()
    began = False
    for _ in range(2):  # the second time from memory
        rows = lexicon.rows(sentence)
        assert rows.dtype == np.int32
        began = False
        for word, row in zip(sentence, rows, strict=True):
            numbers, scores = lexicon.row(word, first=not began)
            assert len(numbers) > 0
            assert tag[at[row] : at[row + 1]].tolist() == numbers.tolist()
            assert score[at[row] : at[row + 1]].tolist() == scores.tolist()
            assert np.isfinite(scores).all()
            began = began or any(letter.isalnum() for letter in word)
    assert (at.dtype, tag.dtype, score.dtype) == (np.int64, np.int32, np.float32)


@given(learned, st.lists(words))
def test_saved_and_restored(lexicon: Lexicon, sentence: list[str]) -> None:
    lexicon.rows(sentence)
    settings, arrays = lexicon.to_arrays()
    twin = Lexicon.from_arrays(settings, arrays)
    assert (twin.kind, twin.rare, twin.smoothing, twin.tags) == (
        lexicon.kind, lexicon.rare, lexicon.smoothing, lexicon.tags,
    )  # fmt: skip
    assert twin.rows(sentence).tolist() == lexicon.rows(sentence).tolist()
    for one, two in zip(twin.table(), lexicon.table(), strict=True):
        assert one.tobytes() == two.tobytes()


def test_a_model_file_can_hold_it(tmp_path: Path) -> None:
    settings, arrays = Lexicon.learn(TINY).to_arrays()
    write_model(tmp_path / "a.tw", task="constituency", config=settings, arrays=arrays, card={})
    model = read_model(tmp_path / "a.tw")
    twin = Lexicon.from_arrays(model.config, model.arrays)
    assert probabilities(twin, "Fords") == probabilities(Lexicon.learn(TINY), "Fords")


def test_damaged_parts_are_told() -> None:
    settings, arrays = Lexicon.learn(TINY).to_arrays()
    for name in arrays:
        with pytest.raises(ModelError):
            Lexicon.from_arrays(settings, {key: array for key, array in arrays.items() if key != name})
    for name in ("at", "tag", "score", "prior", "favourites"):
        with pytest.raises(ModelError, match="lexicon is damaged"):
            Lexicon.from_arrays(settings, arrays | {name: arrays[name][:-1]})
    with pytest.raises(ModelError, match="lexicon is damaged"):
        Lexicon.from_arrays(settings, arrays | {"tag": arrays["tag"] + np.int32(100)})
    with pytest.raises(ModelError, match="lexicon is damaged"):
        Lexicon.from_arrays(settings | {"kind": "odd"}, arrays)
    with pytest.raises(ModelError, match="lexicon is damaged"):
        Lexicon.from_arrays({}, arrays)


@given(corpora, st.sampled_from(KINDS))
def test_the_order_of_sentences_does_not_matter(corpus: Tagged, kind: str) -> None:
    one, two = Lexicon.learn(corpus, kind), Lexicon.learn(corpus[::-1], kind)
    assert one.tags == two.tags == sorted({tag for sentence in corpus for _, tag in sentence})
    for a, b in zip(one.table(), two.table(), strict=True):
        assert a.tobytes() == b.tobytes()


def test_known_words_have_the_shares_of_their_tags() -> None:
    corpus = [[("x", "A")] * 90 + [("x", "B")] * 60 + [("y", "C"), ("z", "C")]]
    assert probabilities(Lexicon.learn(corpus), "x") == pytest.approx({"A": 0.6, "B": 0.4}, abs=1e-5)
    assert probabilities(Lexicon.learn(corpus, smoothing=0.0), "y") == pytest.approx({"C": 1.0}, abs=1e-5)


def test_rare_words_may_have_the_tags_of_their_class() -> None:
    found = probabilities(Lexicon.learn(TINY, smoothing=0.5), "cars")
    assert max(found, key=lambda tag: found[tag]) == "NNS"
    assert set(found) >= {"NNS", "VBD"}
    assert set(probabilities(Lexicon.learn(TINY, smoothing=0.0), "cars")) == {"NNS"}


def test_new_words_go_by_their_looks() -> None:
    lexicon = Lexicon.learn(TINY)
    for word, tag in (("1492", "CD"), ("Miller", "NNP"), ("jumped", "VBD")):
        found = probabilities(lexicon, word)
        assert max(found, key=lambda tag: found[tag]) == tag
    # A capital says less at the beginning, and the known form "cars" more than that.
    assert probabilities(lexicon, "Cars", first=True)["NNS"] > probabilities(lexicon, "Cars")["NNS"]
    assert probabilities(lexicon, "Cars", first=True)["NNS"] > probabilities(lexicon, "Cids", first=True).get("NNS", 0)


def test_classes_from_coarse_to_fine() -> None:
    assert word_classes("of") == ["", "a", "a~f"]
    assert word_classes("i") == ["", "a"]
    assert word_classes("A") == ["", "A"]
    assert word_classes("USA", first=True) == ["", "AA", "^AA", "^AA~a", "^AA~sa"]
    assert word_classes("iPod")[1] == "aA"
    assert word_classes("p53")[1] == "a0"
    assert word_classes("twenty-one")[1] == "a-"
    assert word_classes("--") == ["", ".-"]
    assert word_classes("-") == word_classes("...", first=True) == ["", "."]
    assert word_classes("") == ["", "."]


def test_given_tags() -> None:
    lexicon = Lexicon.learn(TINY)
    at, tag, score = lexicon.table()
    rows = lexicon.gold_rows(["NNP", "XX", ","], ["Ford", "fired", "never"])
    assert [tag[at[row] : at[row + 1]].tolist() for row in (rows[0], rows[2])] == [
        [lexicon.tags.index("NNP")], [lexicon.tags.index(",")],
    ]  # fmt: skip
    assert [score[at[row] : at[row + 1]].tolist() for row in (rows[0], rows[2])] == [[0.0], [0.0]]
    assert rows[1] == lexicon.rows(["Ford", "fired"])[1]


def test_given_tags_are_labels_and_the_lexicon_has_symbols() -> None:
    tree = Tree("S", (Tree("NP", (Tree("NN", ("a",)), Tree(",", (",",)))), Tree("X", (Tree("NN", ("b",)),))))
    binary = Markovisation(2, tag_parents=True).binarise(tree)
    lexicon = Lexicon.learn([[(str(node.children[0]), node.label) for node in binary.preterminals()]])
    assert lexicon.tags == ["%2C^NP", "NN^NP", "NN^X"]
    at, tag, _ = lexicon.table()
    rows = lexicon.gold_rows(["NN", ","], ["new", "new"])
    assert [tag[at[row] : at[row + 1]].tolist() for row in rows] == [[1, 2], [0]]


def test_new_words_change_nothing() -> None:
    lexicon = Lexicon.learn(TINY)
    known = dict(lexicon._within), dict(lexicon._first)
    at_once = lexicon.rows([f"w{k}" for k in range(500)]).tolist()
    assert [lexicon.rows(["a", f"w{k}"])[1] for k in range(1, 500)] == at_once[1:]
    assert (lexicon._within, lexicon._first) == known
    assert lexicon.knows("Ford")
    assert not lexicon.knows("w1")


def test_bad_input_is_told() -> None:
    with pytest.raises(ConfigError, match="must be one of ratio, word, not 'odd'"):
        Lexicon.learn(TINY, "odd")
    with pytest.raises(ConfigError, match="rare must be a whole number from 1"):
        Lexicon.learn(TINY, rare=0)
    for smoothing in (-1.0, float("nan"), float("inf"), "much", True):
        with pytest.raises(ConfigError, match="smoothing must be a number from 0"):
            Lexicon.learn(TINY, smoothing=smoothing)  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match="from no words"):
        Lexicon.learn([[]])


def tagged(path: Path) -> Tagged:
    trees = [clean_tree(sentence.tree) for sentence in read_ptb(path) if sentence.tree]
    return [list(zip(tree.leaves(), tree.tags(), strict=True)) for tree in trees if tree]


@pytest.mark.slow
def test_real_words(real_data) -> None:
    train = tagged(real_data("ptb-wsj-sample/train.ptb"))
    dev = tagged(real_data("ptb-wsj-sample/dev.ptb"))
    lexicon = Lexicon.learn(train)
    right: Counter[bool] = Counter()
    total: Counter[bool] = Counter()
    for sentence in dev:
        first = True
        for word, tag in sentence:
            found = probabilities(lexicon, word, first)
            right[lexicon.knows(word)] += tag == max(found, key=lambda tag: found[tag])
            total[lexicon.knows(word)] += 1
            first = first and not any(letter.isalnum() for letter in word)
    assert right[False] / total[False] > 0.81
    assert right[True] / total[True] > 0.945

    sentences = [[word for word, _ in sentence] for sentence in dev]
    for sentence in sentences:
        lexicon.rows(sentence)
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for sentence in sentences:
            lexicon.rows(sentence)
        best = min(best, time.process_time() - began)
    assert best / total.total() < 2e-6  # about a tenth of that on a quiet machine
