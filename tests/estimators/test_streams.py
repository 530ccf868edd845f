from __future__ import annotations

import threading
from itertools import count

import pytest

from treewright.corpora import Sentence
from treewright.errors import ConfigError
from treewright.estimators import as_sentence, batches, check_words, overlapped


def test_batches_have_at_least_as_many_words_as_asked_for():
    sentences = [["a"] * n for n in (3, 1, 5, 0, 2, 1)]
    assert [[len(s) for s in batch] for batch in batches(sentences, 4, as_sentence)] == [[3, 1], [5], [0, 2, 1]]
    assert [[len(s) for s in batch] for batch in batches(sentences, 2, as_sentence, lambda s: 1)] == [
        [3, 1], [5, 0], [2, 1],
    ]  # fmt: skip
    assert list(batches([], 4, as_sentence)) == []


def test_batches_are_read_as_they_are_needed():
    read = []
    cut = batches((read.append(k) or ["a"] for k in count()), 2, check_words)
    assert next(cut) == [["a"], ["a"]]
    assert read == [0, 1]


def test_sentences_stay_what_they_are():
    sentence = Sentence.from_words(["a"])
    assert as_sentence(sentence) is sentence
    assert as_sentence(("a", "b")).forms == ("a", "b")
    words = ["a", "b"]
    assert check_words(words) is words


@pytest.mark.parametrize("wrong", ["she sees", b"she", 3, None, [1], ["a", None], [b"a"]])
@pytest.mark.parametrize("check", [as_sentence, check_words])
def test_what_is_no_sentence_is_shown(check, wrong):
    with pytest.raises(ConfigError, match="is not a sentence") as error:
        check(wrong)
    assert repr(wrong) in str(error.value)


def test_a_batch_is_decoded_while_the_next_one_is_read():
    """The second batch is not read to its end before the first one is being worked on."""
    working = threading.Event()

    def source():
        yield 1
        assert working.wait(10), "nobody works on the first batch while the second one is read"
        yield 2

    def prepare(batch):
        def work():
            working.set()
            return 10 * batch, threading.current_thread() is threading.main_thread()

        return work

    assert list(overlapped(source(), prepare)) == [(1, (10, False)), (2, (20, False))]


def test_no_more_than_two_batches_are_in_memory():
    prepared = []
    stream = overlapped(count(), lambda batch: prepared.append(batch) or (lambda: batch))
    for k in range(5):
        assert next(stream) == (k, k)
        assert len(prepared) <= k + 2


def test_a_single_batch_needs_no_other_thread():
    found = overlapped(["batch"], lambda batch: threading.current_thread)
    assert list(found) == [("batch", threading.current_thread())]


def test_errors_come_where_they_belong():
    def prepare(batch):
        return lambda: 1 / batch

    stream = overlapped([1, 0, 2], prepare)
    assert next(stream) == (1, 1.0)
    with pytest.raises(ZeroDivisionError):
        next(stream)
