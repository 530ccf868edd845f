from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reports.sentences import is_projective, projective_heads, sentence, sentences
from treewright.corpora import Sentence, Token, load_corpus
from treewright.errors import ConfigError, CorpusError
from treewright.reports import dependency_text
from treewright.reports.arcs import sentence_arcs
from treewright.reports.dependency_outline import draw_arcs

CORNERS, UP, DOWN = "┌┬└┴├┼", "└┴├┼", "┌┬├┼"


def columns(line: str) -> int:
    """A twin of the width in the module, for the characters in these tests."""
    wide = sum(unicodedata.east_asian_width(letter) == "W" for letter in line)
    return len(line) + wide - sum(bool(unicodedata.combining(letter)) for letter in line)


def follow(picture: list[str], row: int) -> int | None:
    """Walk from the arrow at a word back along its arc, as an eye would, to the word's head (from 1)."""
    column = picture[row].rfind("►")
    if column < 0:
        return None
    # Between the arrow and the word there are only the word's own line, its own arcs, and arcs that pass over it.
    assert set(picture[row][column + 1 :]) <= set("─│" + CORNERS)
    while picture[row][column] not in CORNERS:
        assert picture[row][column] in "►─│"
        column -= 1
        if column < 0:
            return 0  # a line from the left edge: the root
    step = 1 if picture[row][column] in DOWN else -1
    assert picture[row][column] in "┌┬└┴", "where an arc arrives, no other one may go on"
    row += step
    while picture[row][column] == "│":
        row += step
    assert picture[row][column] in (UP if step > 0 else DOWN)
    assert set(picture[row][column + 1 :]) <= set("─│►" + CORNERS)
    return row + 1


@given(sentences())
def test_every_arc_can_be_followed(sentence: Sentence) -> None:
    picture = draw_arcs(len(sentence), sentence_arcs(sentence))
    assert [follow(picture, row) for row in range(len(sentence))] == list(sentence.column("head"))
    assert all(line.count("►") <= 1 for line in picture)
    assert len({len(line) for line in picture}) <= 1


@given(sentences())
def test_there_are_no_lines_that_lead_nowhere(sentence: Sentence) -> None:
    picture = ["", *draw_arcs(len(sentence), sentence_arcs(sentence)), ""]
    width = len(picture[1]) if len(sentence) else 0
    picture[0] = picture[-1] = " " * width
    for above, line, below in zip(picture, picture[1:], picture[2:], strict=False):
        for k, cell in enumerate(line):
            assert (cell in "│" + UP) == (above[k] in "│" + DOWN)
            assert (cell in "│" + DOWN) == (below[k] in "│" + UP)


@given(projective_heads())
def test_lines_of_projective_trees_do_not_cross(heads: list[int | None]) -> None:
    assert is_projective(heads)
    for line in draw_arcs(len(heads), sentence_arcs(sentence(heads))):
        assert "│" not in line[min((line.index(c) for c in "─" + CORNERS if c in line), default=0) :]


@given(sentences(), st.none() | st.integers(40, 80))
def test_lines_are_aligned_and_fit(sentence: Sentence, width: int | None) -> None:
    lines = dependency_text(sentence, width=width).splitlines()
    assert len(lines) == len(sentence)
    starts = set()
    for number, (line, token) in enumerate(zip(lines, sentence, strict=True), 1):
        assert width is None or columns(line) <= width
        assert f" {number} " in f" {line}"
        if width is None:
            # The last one: the arcs, and other columns before, never look like a part of speech.
            starts.add(columns(line[: line.rindex("NOUN")]))
            assert f" {token.form} " in line
            if token.head is not None:
                assert line.endswith(f" {token.head}")
                assert token.deprel == "_" or f" {token.deprel} " in line
    assert len(starts) <= 1


def test_real_sentences_fit_a_terminal(real_data) -> None:
    corpus = load_corpus(real_data("ud-english-ewt/dev.conllu"))
    long = [s for s in corpus if 55 <= len(s) <= 65]
    assert long
    for s in long:
        picture = draw_arcs(len(s), sentence_arcs(s))
        assert [follow(picture, row) for row in range(len(s))] == list(s.column("head"))
        assert len(picture[0]) <= 40
        lines = dependency_text(s, width=90).splitlines()
        assert max(columns(line) for line in lines) <= 90
        assert sum("►" in line for line in lines) == len(s)


def test_crossing_arcs_go_behind_each_other() -> None:
    drawn = sentence([3, 4, 0, 3], ["A", "B", "C", "D"], ["a", "b", "root", "d"])
    assert dependency_text(drawn).splitlines() == [
        "  ┌──► 1  A  NOUN  a     3",
        "  │ ┌► 2  B  NOUN  b     4",
        "─►┼─│─ 3  C  NOUN  root  0",
        "  └►┴─ 4  D  NOUN  d     3",
    ]


def test_too_little_room_takes_letters_then_parts_of_speech_then_arcs() -> None:
    drawn = sentence([0, 1, 2, 3], ["antidisestablishmentarianism", "b", "c", "d"])
    assert dependency_text(drawn, width=55) == dependency_text(drawn)
    first = dependency_text(drawn, width=45).splitlines()[0]
    assert first == "─►┬───── 1  antidisestablishm…  NOUN  root  0"
    assert columns(first) == 45
    wide = sentence([0], ["猫" * 30])
    assert dependency_text(wide, width=40) == "─► 1  猫猫猫猫猫猫猫猫猫…  NOUN  root  0"
    chain = sentence([0, *range(1, 25)])
    assert "NOUN" in dependency_text(chain, width=74)
    assert "NOUN" not in dependency_text(chain, width=73)
    assert "►" in dependency_text(chain, width=68)
    assert "►" not in dependency_text(chain, width=67)


def test_without_heads_there_are_only_words() -> None:
    assert dependency_text(Sentence.from_words(["just", "words"])) == "1  just\n2  words"
    assert dependency_text(Sentence(())) == ""
    assert dependency_text(Sentence((Token("Yes", head=0, deprel="root"),))) == "─► 1  Yes  root  0"


def test_words_cannot_steer_the_terminal() -> None:
    assert dependency_text(Sentence.from_words(["a\x1b[2Jb\n", "\u202etxet"])) == "1  a\ufffd[2Jb\ufffd\n2  \ufffdtxet"


def test_bad_input_is_told() -> None:
    with pytest.raises(ConfigError, match="width must be a whole number from 40"):
        dependency_text(sentence([0]), width=10)
    with pytest.raises(CorpusError, match="its head is 5"):
        dependency_text(sentence([0, 5]))
