import io
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Sentence, Token, read_conllu
from treewright.dependency.trees import check_tree, check_trees, crossing_arcs, is_projective, word_line
from treewright.errors import CorpusError


def sentence(heads, **place):
    return Sentence(tuple(Token(chr(ord("a") + k % 26), head=head) for k, head in enumerate(heads)), **place)


@st.composite
def trees(draw, most=9):
    """Heads of a tree: every word but the first of a random order hangs from one before it."""
    order = draw(st.permutations(range(1, draw(st.integers(1, most)) + 1)))
    heads = [0] * len(order)
    for k, word in enumerate(order[1:], 1):
        heads[word - 1] = order[draw(st.integers(0, k - 1))]
    return heads


def is_below(heads, word, ancestor):
    while word and word != ancestor:
        word = heads[word - 1]
    return word == ancestor


def crossing_by_definition(heads):
    return [
        word
        for word, head in enumerate(heads, 1)
        if not all(is_below(heads, k, head) for k in range(min(word, head) + 1, max(word, head)))
    ]


def is_tree(heads):
    if not all(head is not None and 0 <= head <= len(heads) for head in heads) or heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = heads[word - 1] if word else 0
        if word:
            return False
    return True


@given(trees())
def test_arcs_cross_by_definition(heads):
    expected = crossing_by_definition(heads)
    assert crossing_arcs(heads) == expected
    assert is_projective(heads) == (not expected)


def test_crossing_arcs_by_hand():
    # A hearing is scheduled on the issue today.
    assert crossing_arcs([2, 4, 4, 0, 7, 7, 2, 4, 4]) == [7]
    assert crossing_arcs([]) == []
    assert is_projective([])


@pytest.mark.parametrize(
    "heads",
    [
        [0, *range(1, 20_000)],
        [*range(2, 20_001), 0],
        [0] + [1] * 19_999,
        [20_000] * 19_999 + [0],
        [0, *(max(1, k - 2) for k in range(2, 20_001))],
    ],
    ids=["chain", "backwards", "star", "star-on-the-right", "two-chains"],
)
def test_the_time_is_not_quadratic(heads):
    assert is_projective(heads) == (not crossing_arcs(heads))
    check_tree(sentence(heads))


@given(trees())
def test_trees_are_accepted(heads):
    check_tree(sentence(heads))
    check_trees(iter([sentence(heads)]))


@given(st.lists(st.none() | st.integers(-1, 5), min_size=1, max_size=5))
def test_everything_else_is_refused(heads):
    try:
        check_tree(sentence(heads))
    except CorpusError:
        assert not is_tree(heads)
    else:
        assert is_tree(heads)


@pytest.mark.parametrize(
    ("heads", "line", "message"),
    [
        ([], 10, "a sentence without words; remove it"),
        ([0, None], 11, "word 2 'b' has no head; write"),
        ([0, 2], 11, "word 2 'b' is its own head; write"),
        ([0, 1, 4], 12, "the head of word 3 'c' is 4, outside the sentence of 3 words; correct it"),
        ([0, 1, -1], 12, "the head of word 3 'c' is -1, outside the sentence of 3 words; correct it"),
        ([2, 3, 1], 10, "no root: every word has another one as its head; give one of them the head 0"),
        ([2, 0, 0, 0], 12, "3 roots (word 2 'b', word 3 'c', word 4 'd'); leave one with head 0"),
        ([0] * 10, 11, "10 roots (word 1 'a', word 2 'b', word 3 'c', word 4 'd', word 5 'e', word 6 'f', word 7 'g', "
                       "word 8 'h' and 2 more); leave"),
        ([0, 4, 2, 5, 3], 11, "a cycle, each with the next as its head and the last with the first: "
                              "word 2 'b', word 4 'd', word 5 'e', word 3 'c'; correct one of their heads"),
        ([4, 3, 2, 0, 4], 11, "a cycle, each with the next as its head and the last with the first: "
                              "word 2 'b', word 3 'c'; correct"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_where(heads, line, message):
    with pytest.raises(CorpusError, match=re.escape(f"x.conllu:{line}: {message}")) as caught:
        check_tree(sentence(heads, path="x.conllu", line=10))
    assert (caught.value.path, caught.value.line) == ("x.conllu", line)


def test_a_cycle_is_told_from_its_first_word():
    with pytest.raises(CorpusError, match="word 2 'b', word 3 'c'; correct"):  # the walk enters it at word 3
        check_tree(sentence([3, 3, 2, 0]))


def test_long_words_are_cut_in_messages():
    with pytest.raises(CorpusError, match=f"word 1 '{'x' * 40}…' has no head"):
        check_tree(Sentence.from_words(["x" * 1000]))


def test_sentences_in_memory_are_told_by_number():
    with pytest.raises(CorpusError, match=r"^sentence 2: word 1 'a' has no head"):
        check_trees([sentence([0]), sentence([None])])


def test_sentences_of_files_are_told_by_line():
    with pytest.raises(CorpusError, match=r"^x\.conllu:7: word 1 'a' has no head"):
        check_trees([sentence([0]), sentence([None], path="x.conllu", line=7)])


def test_rows_that_are_not_words_have_lines_too():
    def row(id, head):
        return f"{id}\tw\t_\t_\t_\t_\t{head}\t_\t_\t_"

    rows = [row("0.1", "_"), row("1-2", "_"), row(1, 2), row(2, 0), row("2.1", "_"), row("3-4", "_"), row(3, 3),
            row(4, 1), row("4.1", "_")]  # fmt: skip
    text = "\n".join(["# comment", row(1, 0), "", "# comment", *rows, "", ""])
    _, second = read_conllu(io.StringIO(text))
    lines = text.split("\n")
    for word in (1, 2, 3, 4):
        assert lines[word_line(second, word) - 1].startswith(f"{word}\t")
    with pytest.raises(CorpusError, match=r":11: word 3 'w' is its own head"):
        check_tree(second)
    assert word_line(Sentence.from_words("ab"), 2) is None


@pytest.mark.slow
def test_real_treebanks_are_trees(real_data):
    sentences = list(read_conllu(real_data("ud-english-ewt/train.conllu")))
    began = time.process_time()
    check_trees(sentences)
    assert time.process_time() - began < 5  # about 0.1 s; 12.5k sentences of 16 words
    heads = [[token.head for token in sentence] for sentence in sentences[:3000]]
    assert [crossing_arcs(tree) for tree in heads] == [crossing_by_definition(tree) for tree in heads]
    assert [is_projective(tree) for tree in heads] == [not crossing_arcs(tree) for tree in heads]
