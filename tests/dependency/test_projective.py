"""Lifting and taking back down, against slow twins: on every short tree, on random ones and on treebanks."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import read_conllu
from treewright.dependency import projective
from treewright.dependency.projective import (
    LIFTED,
    deprojectivize,
    lift_corpus,
    nonprojective_sentences,
    plain_label,
    projectivize,
)
from treewright.errors import ConfigError, CorpusError
from treewright.search import interpreted

WHAT = [5, 4, 4, 0, 4], ["obj", "aux", "nsubj", "root", "prep"]  # What do you wait for


def ancestors(heads, word):
    """The heads above a word, the nearest first, ending in the root; None where there is a cycle."""
    found = []
    while word:
        word = heads[word - 1]
        if word in found:
            return None
        found.append(word)
    return found


def is_tree(heads):
    return all(ancestors(heads, word) for word in range(1, len(heads) + 1))


def naive_nonprojective(heads):
    """The words whose arcs are not projective, by the definition."""
    return [
        word
        for word, head in enumerate(heads, 1)
        if any(head not in ancestors(heads, k) for k in range(min(word, head) + 1, max(word, head)))
    ]


def crosses(heads):
    """Do two arcs cross? For a whole tree with the root on the left that is the same question."""
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def naive_projectivize(heads, labels):
    lifted = list(heads)
    while words := naive_nonprojective(lifted):
        word = min(words, key=lambda word: (abs(lifted[word - 1] - word), word))
        lifted[word - 1] = lifted[lifted[word - 1] - 1]
    marked = [
        label if new == old else f"{label}↑{labels[old - 1]}"
        for label, old, new in zip(labels, heads, lifted, strict=True)
    ]
    return lifted, marked


def path(heads, top, word):
    """The words on the way down from the top to a word, without the top; None if the word is not below it."""
    above = ancestors(heads, word)
    return [*reversed(above[: above.index(top)]), word] if top in above else None


def naive_deprojectivize(heads, labels):
    plain = [label.split("↑")[0] for label in labels]
    down, waiting = list(heads), set(range(1, len(heads) + 1))

    def turn(way):
        return len(way), way  # breadth first, left to right

    while waiting:
        word = min(waiting, key=lambda word: turn(path(down, 0, word)))
        waiting.remove(word)
        if "↑" in labels[word - 1]:
            wanted = labels[word - 1].split("↑", 1)[1]
            ways = [path(down, down[word - 1], k) for k, label in enumerate(plain, 1) if label == wanted]
            ways = [way for way in ways if way and word not in way]
            if ways:
                down[word - 1] = min(ways, key=turn)[-1]
    return down, plain


EVERY_TREE = [
    list(heads) for n in range(6) for heads in product(range(n + 1), repeat=n) if is_tree(heads)
]  # (n + 1) ** (n - 1) trees of n words, some with several roots


@st.composite
def trees(draw, most=10):
    """Heads in which every word hangs on the root or on a word drawn before it."""
    order = draw(st.permutations(range(1, draw(st.integers(0, most)) + 1)))
    heads = [0] * len(order)
    for i, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:i]]))
    return heads


@st.composite
def labelled(draw, alphabet=("a", "b", "c")):
    heads = draw(trees())
    return heads, draw(st.lists(st.sampled_from(alphabet), min_size=len(heads), max_size=len(heads)))


NOISE = ("a", "b", "a↑b", "b↑a", "a↑a", "c↑a", "↑", "a↑", "↑b", "a↑b↑a", "")


def check_lifting(heads, labels):
    lifted, marked = projectivize(heads, labels)
    assert (lifted, marked) == naive_projectivize(heads, labels)
    assert is_tree(lifted)
    assert not crosses(lifted)
    assert not naive_nonprojective(lifted)
    assert [plain_label(label) for label in marked] == labels
    for word, (old, new) in enumerate(zip(heads, lifted, strict=True), 1):
        assert new in ancestors(heads, word)
        assert (LIFTED in marked[word - 1]) == (old != new)
    if heads.count(0) == 1:
        assert lifted.count(0) == 1
    if not crosses(heads):
        assert (lifted, marked) == (heads, labels)
    return lifted, marked


def check_restoring(heads, labels):
    restored, plain = deprojectivize(heads, labels)
    assert (restored, plain) == naive_deprojectivize(heads, labels)
    assert is_tree(restored)
    assert plain == [plain_label(label) for label in labels]
    if heads.count(0) == 1:
        assert restored.index(0) == heads.index(0)
        assert restored.count(0) == 1
    for word, (old, new) in enumerate(zip(heads, restored, strict=True), 1):
        assert old == new or LIFTED in labels[word - 1]
    return restored, plain


def test_every_tree_of_up_to_five_words():
    assert Counter(map(len, EVERY_TREE)) == {0: 1, 1: 1, 2: 3, 3: 16, 4: 125, 5: 1296}
    for heads in EVERY_TREE:
        names = [f"l{word}" for word in range(1, len(heads) + 1)]
        assert check_restoring(*check_lifting(heads, names)) == (heads, names)  # nothing is ambiguous here
        check_restoring(*check_lifting(heads, list("abaab"[: len(heads)])))


@given(labelled())
def test_lifting_is_what_the_paper_says(sentence):
    check_restoring(*check_lifting(*sentence))


@given(trees())
def test_with_a_label_of_its_own_for_each_word_everything_is_recovered(heads):
    names = [f"l{word}" for word in range(1, len(heads) + 1)]
    assert deprojectivize(*projectivize(heads, names)) == (heads, names)


@given(labelled(NOISE))
def test_whatever_the_labels_a_tree_stays_a_tree(sentence):
    check_restoring(*sentence)


def test_arguments_are_left_alone_and_arrays_are_welcome():
    heads, labels = np.array(WHAT[0], np.int32), tuple(WHAT[1])
    lifted, marked = projectivize(heads, labels)
    assert heads.tolist() == WHAT[0]
    assert all(type(head) is int for head in lifted)
    before = list(lifted), list(marked)
    assert deprojectivize(np.array(lifted), marked) == WHAT
    assert (lifted, marked) == before


def test_shortest_arc_first_and_of_equal_ones_the_left_word_first():
    # 3→1 is shorter than 1→4, which would otherwise go up to 3, still the head of word 1.
    assert projectivize([3, 0, 2, 1], list("abcd")) == ([2, 0, 2, 2], ["a↑c", "b", "c", "d↑a"])
    # 3→1 and 5→3 are as long; if word 3 went first, up to 2, the way of word 1 would end there too.
    assert projectivize([3, 4, 5, 0, 2], list("abcde")) == ([4, 4, 2, 0, 4], ["a↑c", "b", "c↑e", "d", "e↑b"])


def test_two_lifts_keep_the_label_of_the_first_head():
    # Word 1 hangs on 5, that on 4, that on 3; only from 2, the root, does an arc to word 1 cross nothing.
    heads, labels = [5, 0, 2, 3, 4], list("abcde")
    lifted = projectivize(heads, labels)
    assert lifted == ([2, 0, 2, 3, 4], ["a↑e", "b", "c", "d", "e"])
    assert deprojectivize(*lifted) == (heads, labels)


def test_the_search_is_breadth_first_and_left_to_right():
    labels = ["x↑d", "root", "c", "d", "d", "d"]
    assert deprojectivize([2, 0, 2, 3, 2, 2], labels)[0] == [5, 0, 2, 3, 2, 2]


def test_a_word_is_never_attached_below_itself():
    assert deprojectivize([0, 1, 2], ["r↑d", "d", "d"]) == ([0, 1, 2], ["r", "d", "d"])
    assert deprojectivize([2, 0, 1], ["x↑d", "r", "d"]) == ([2, 0, 1], ["x", "r", "d"])


@pytest.mark.parametrize(
    ("heads", "labels", "message"),
    [
        ([2, 1], ["a", "b"], "the path of heads from word 1 does not end at the root"),
        ([0, 2], ["a", "b"], "the path of heads from word 2 "),
        ([0, 3], ["a", "b"], "the head of word 2 is 3, but there are 2 words"),
        ([-1, 0], ["a", "b"], "the head of word 1 is -1"),
        ([0, 1], ["a"], "2 heads and 1 labels"),
        ([0, 1], ["a", "b↑c"], "the label 'b↑c' has '↑' in it, which marks lifted words; rename the label"),
    ],
)
def test_what_cannot_be_lifted_is_said(heads, labels, message):
    with pytest.raises(CorpusError, match=message):
        projectivize(heads, labels)


def packed(sentences):
    at = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    return np.array([head for heads in sentences for head in heads], np.int32), at


def test_the_kernel_knows_every_short_tree_from_what_is_none():
    sentences = [list(heads) for n in range(5) for heads in product(range(-1, n + 2), repeat=n)] + EVERY_TREE
    expected = [
        number
        for number, heads in enumerate(sentences)
        if any(not 0 <= head <= len(heads) for head in heads) or not is_tree(heads) or crosses(heads)
    ]
    assert nonprojective_sentences(*packed(sentences)).tolist() == expected


@given(st.lists(trees(), max_size=5))
def test_kernel_and_twin(sentences):
    heads, at = packed(sentences)
    expected = [number for number, one in enumerate(sentences) if naive_nonprojective(one)]
    assert nonprojective_sentences(heads, at).tolist() == expected
    found = np.empty(len(sentences), np.bool_)
    interpreted(projective._nonprojective_pass)(heads, at, found)
    assert np.flatnonzero(found).tolist() == expected


@given(st.lists(labelled(), max_size=5), st.integers(1, 3))
def test_a_corpus_is_lifted_sentence_by_sentence(sentences, min_count):
    heads, at = packed([heads for heads, _ in sentences])
    labels = [label for _, own in sentences for label in own]
    before = heads.copy(), list(labels)
    lifted, marked = lift_corpus(heads, labels, at, min_count=min_count)
    one_by_one = [projectivize(*sentence) for sentence in sentences]
    every_mark = [label for _, own in one_by_one for label in own]
    counts = Counter(every_mark)
    assert lifted.dtype == np.int32
    assert lifted.tolist() == [head for own, _ in one_by_one for head in own]
    assert marked == [label if counts[label] >= min_count else plain_label(label) for label in every_mark]
    assert (heads == before[0]).all()
    assert labels == before[1]


def test_what_is_wrong_in_a_corpus_is_said():
    with pytest.raises(CorpusError, match=r"^sentence 2: the heads are not a tree: the path of heads from word 1 "):
        lift_corpus(np.array([0, 2, 1], np.int32), ["a"] * 3, np.array([0, 1, 3]))
    with pytest.raises(CorpusError, match="'b↑a' has"):
        lift_corpus(np.array([0, 1], np.int32), ["a", "b↑a"], np.array([0, 2]))
    with pytest.raises(ConfigError, match="min_count"):
        lift_corpus(np.array([0], np.int32), ["a"], np.array([0, 1]), min_count=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "nonprojective", "recovered"), [("ud-english-ewt", 288, 0.9), ("ud-afrikaans-afribooms", 105, 0.88)]
)
def test_treebanks(real_data, name, nonprojective, recovered):
    sentences = list(read_conllu(real_data(f"{name}/train.conllu")))
    heads, at = packed([[int(head) for head in sentence.column("head")] for sentence in sentences])
    labels = [label for sentence in sentences for label in sentence.column("deprel")]
    numbers = nonprojective_sentences(heads, at).tolist()
    assert len(numbers) == nonprojective
    lifted, marked = lift_corpus(heads, labels, at)
    assert not len(nonprojective_sentences(lifted, at))
    untouched = np.ones(len(heads), np.bool_)
    restored = lifted.copy()
    for number in numbers:
        words = slice(at[number], at[number + 1])
        untouched[words] = False
        restored[words], plain = deprojectivize(lifted[words].tolist(), marked[words])
        assert plain == labels[words]
        assert is_tree(restored[words].tolist())
    assert (lifted == heads)[untouched].all()
    moved = lifted != heads
    assert [LIFTED in label for label in marked] == moved.tolist()
    assert (restored == heads)[moved].mean() > recovered
    assert (restored == heads)[~moved].all()
