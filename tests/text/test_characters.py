"""The arrays of paragraphs, against what is written down one character at a time."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treewright.search import string_hash
from treewright.text.characters import (
    character_class,
    chunk_rows,
    core_of,
    encode_chunks,
    is_joined,
    known_words,
    shape_of,
)
from treewright.text.tokenization import LOWER, SPACE, UNCASED, UPPER, Tokenization

chunks = st.lists(st.text("aB1.(é中\u0301ﬁ😀\ufe0f\u200d", min_size=1, max_size=5), min_size=1, max_size=4)


def of(arrays, name, paragraph):
    at = arrays[f"{name}_at"]
    return arrays[name][at[paragraph] : at[paragraph + 1]].tolist()


@given(st.lists(chunks, min_size=1, max_size=3), st.booleans())
def test_the_arrays_hold_what_the_paragraphs_say(paragraphs, dense):
    arrays = encode_chunks(paragraphs, chunk_rows({}), dense=dense)
    for number, paragraph in enumerate(paragraphs):
        text = " ".join(paragraph)
        assert of(arrays, "chars", number) == [ord(c) for c in text]
        assert of(arrays, "classes", number) == [character_class(c) for c in text]
        assert of(arrays, "whole", number) == [string_hash(chunk.lower()) for chunk in paragraph]
        assert of(arrays, "shape", number) == [string_hash(shape_of(chunk)) for chunk in paragraph]
        starts = of(arrays, "start", number)
        assert [text[a : b - 1] for a, b in itertools.pairwise(starts)] == list(paragraph)
        places = of(arrays, "chunk", number)
        assert all(starts[places[i]] <= i < starts[places[i] + 1] for i in range(len(text)))
        letters = (LOWER, UPPER, UNCASED)
        kinds = [*(character_class(c) for c in text), SPACE]
        wanted = [
            i
            for i in range(len(text))
            if kinds[i] != SPACE
            and (dense or kinds[i] not in letters or kinds[i + 1] not in letters)
            and (kinds[i + 1] == SPACE or not (is_joined(text[i + 1]) or text[i] == "\u200d"))
        ]
        assert of(arrays, "points", number) == wanted


@given(st.text("aB1.-é中", max_size=40))
def test_a_shape_is_written_down_one_character_at_a_time(chunk):
    kinds: list[str] = []
    for character in chunk[:30]:
        kind = "X" if character.isupper() else "x" if character.isalpha() else "d" if character.isdigit() else character
        if len(kinds) < 2 or not kinds[-1] == kind == kinds[-2]:
            kinds.append(kind)
    assert shape_of(chunk) == "".join(kinds)


def test_the_arrays_are_those_that_the_task_declares():
    arrays = encode_chunks([["Hello,", "world!"]], chunk_rows({}), dense=False)
    assert set(Tokenization.instance) - {"gold"} == {name for name in arrays if not name.endswith("_at")}


def test_what_is_known_of_words():
    known = known_words([["The", "cat", "saw", "Paris", "."]] * 5)
    assert known["paris"] == 1 + 3 * 16  # always capitalised, never first, rare
    assert known["the"] == 1 + 3 * 4
    assert known["cat"] == 1
    assert "." not in known
    assert core_of("“Paris”,") == "paris"
    assert np.all(encode_chunks([["Paris"]], chunk_rows(known), dense=False)["flags"] == [known["paris"] * 4 + 1])
