from __future__ import annotations

import numpy as np
import pytest

from treewright.errors import CorpusError
from treewright.policies.encoders.inputs import LONGEST, ROOT, Inputs
from treewright.policies.encoders.vectors import Vectors, read_vectors

SENTENCES = [[("The", "DET"), ("dog", "NOUN")], [("the", "DET"), ("fox", "NOUN"), ("ran", "VERB")]]


@pytest.fixture
def inputs():
    return Inputs.learn(SENTENCES, columns={"tag": 1}, min_count=2)


def test_words_below_the_count_are_unknown(inputs):
    assert inputs.words == ("the",)
    assert inputs.counts.tolist() == [2]
    assert inputs.looked_up([ROOT, "THE", "dog"]).word.tolist() == [1, 2, 0]


def test_sentences_end_with_the_root(inputs):
    words = inputs.read([[("dog", "NOUN"), ("dog", "XX")], [], [("a", "DET")]])
    assert [words.forms[k] for k in words.form] == ["dog", "dog", ROOT, ROOT, "a", ROOT]
    assert words.at.tolist() == [0, 3, 4, 6]
    assert words.columns.tolist() == [[3, 0, 1, 1, 2, 1]]  # 0 for a value that training did not have


def test_of_long_words_both_ends_are_read(inputs):
    long, same_ends = "t" * 9 + "o" * 30 + "h" * 9, "t" * 9 + "g" * 50 + "h" * 9
    letters = inputs.looked_up([long, same_ends, "t"]).letters
    assert letters.shape == (3, LONGEST)
    np.testing.assert_array_equal(letters[0], letters[1])
    assert np.count_nonzero(letters[0]) == LONGEST
    assert np.count_nonzero(letters[2]) == 3


def test_targets_are_read_while_learning_only():
    inputs = Inputs.learn(SENTENCES, targets={"tag": 1})
    assert inputs.read(SENTENCES).targets.shape == (0, 7)
    assert inputs.read(SENTENCES, targets=True).targets.tolist() == [[2, 3, 1, 2, 3, 4, 1]]


def test_vocabularies_survive_a_model_file():
    vectors = Vectors.quantised(("the", "dog"), np.eye(2, 3, dtype=np.float32))
    inputs = Inputs.learn(SENTENCES, columns={"tag": 1}, targets={"kind": 1}, vectors=vectors)
    again = Inputs.from_arrays(inputs.to_arrays())
    assert (again.words, again.letters, again.columns, again.targets) == (
        inputs.words,
        inputs.letters,
        inputs.columns,
        inputs.targets,
    )
    forms = ["dog", "Dog", "fox"]
    for one, other in zip(inputs.looked_up(forms), again.looked_up(forms), strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.looked_up(forms).vector.tolist() == [1, 1, -1]


# ---- files of vectors


def write(tmp_path, text):
    path = tmp_path / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_the_formats_of_word2vec_and_glove(tmp_path, header):
    vectors = read_vectors(write(tmp_path, f"{header}the 1.27 -0.5\nnew york 0 0\nDog 1 0.25 \n\n"))
    assert vectors.words == ("the", "new york", "Dog")
    np.testing.assert_allclose(
        vectors.rows(np.array([0, 1, 2, -1])), [[1.27, -0.5], [0, 0], [1, 0.25], [0, 0]], atol=0.005
    )
    assert [vectors.find(form) for form in ("The", "dog", "Dog")] == [0, -1, 2]


def test_the_first_vectors_are_kept(tmp_path):
    assert read_vectors(write(tmp_path, "a 1 2\nb 3 4\nc 5 6\n"), 2).words == ("a", "b")


def test_of_a_word_that_occurs_twice_the_first_vector_counts(tmp_path):
    vectors = read_vectors(write(tmp_path, "a 1 1\na 2 2\nb 3 3\n"))
    assert vectors.words == ("a", "b")
    np.testing.assert_allclose(vectors.rows(np.array([0])), [[1, 1]], atol=0.01)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("a 1 2\nb 3\n", ":2: .*2 numbers.*found 1 after 'b'"),
        ("a 1 2\nb 3 4 5\n", ":2: .*2 numbers.*found 3 after 'b'"),
        ("2 3\na 1 2\n", ":2: .*3 numbers.*found 2 after 'a'"),
        ("a 1 x\n", ":1: .*'a'.*not a finite number"),
        ("a 1 2\nb nan 2\n", ":2: .*'b'.*not a finite number"),
        ("word\n", ":1: .*numbers.*found 0 after 'word'"),
        ("", "no vectors"),
        ("2 2\n", "no vectors"),
    ],
)
def test_malformed_files_are_refused_with_the_line(tmp_path, text, facts):
    with pytest.raises(CorpusError, match=f"vectors.txt{facts}" if facts[0] == ":" else facts):
        read_vectors(write(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CorpusError, match=r"none.txt.*no such file"):
        read_vectors(tmp_path / "none.txt")


def test_lines_that_are_no_vectors(tmp_path):  # found by `python -m campaign readers.large`
    with pytest.raises(CorpusError, match="100,000 numbers"):
        read_vectors(write(tmp_path, "a 1\nb" + " 1" * 100_001))
    with pytest.raises(CorpusError) as caught:
        read_vectors(write(tmp_path, "a 1\n" + "b" * 10_000))
    assert len(str(caught.value)) < 1000
    with pytest.raises(CorpusError, match=r":2: "):
        read_vectors(write(tmp_path, "3 " + "9" * 5000 + "\na 1 2 3\n"))
