"""The tokenizer on any text: tokens have their places, and the text comes back."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.bank import treebank
from treewright.corpora import Sentence, Token, format_conllu, read_conllu
from treewright.errors import ConfigError, CorpusError
from treewright.text import Tokenizer, blocks, tokenizer
from treewright.text.blocks import find_chunks
from treewright.text.multiword import MultiwordTokens
from treewright.text.raw import paragraphs, raw_text, surface_tokens

LEARNER = {"name": "exploration", "passes": 3}

TEXT = st.text(max_size=80) | st.text("ab .,!'-\n\r\t\0\ufeff\u3000\u2028\u200d\u0301é😀سعไท中文«»|\\", max_size=80)


@pytest.fixture(scope="module")
def fitted() -> Tokenizer:
    return Tokenizer(learner=LEARNER, bits=12).fit(treebank())


@pytest.fixture(scope="module")
def spaced() -> Tokenizer:
    """Tokens may have spaces in them, and end anywhere."""
    words = (Token("10 000", misc="SpaceAfter=No"), Token("kg"), Token("ab", misc="SpaceAfter=No"), Token("cd"))
    return Tokenizer(learner=LEARNER, bits=10).fit([Sentence(words)] * 8)


def spans(sentences):
    for sentence in sentences:
        misc = {n: token.misc for n, token in enumerate(sentence.tokens, 1)}
        misc |= {before + 1: row.split("\t")[9] for before, row in sentence.extras}
        for token in surface_tokens(sentence):
            place = dict(part.split("=", 1) for part in misc[token.first].split("|"))["TokenRange"]
            yield token.form, *map(int, place.split(":"))


@given(TEXT)
def test_any_text_comes_back(fitted, spaced, text):
    for each in (fitted, spaced):
        found = each.tokenize(text)
        if not found:
            assert all(c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160 or c == "\ufeff" for c in text)
            continue
        written = "".join(map(format_conllu, found))
        again = list(read_conllu(io.StringIO(written, newline="\n")))
        assert raw_text(again) == text
        assert all(text[a:b] == form for form, a, b in spans(again))
        assert [s.tokens for s in again] == [s.tokens for s in found]


@given(TEXT, st.integers(1, 30))
def test_pieces_make_no_difference(fitted, text, size):
    pieces = [text[k : k + size] for k in range(0, len(text), size)]
    before, tokenizer._PIECE = tokenizer._PIECE, 8
    try:
        assert list(fitted.stream(pieces)) == fitted.tokenize(text)
        assert list(fitted.stream(piece for each in pieces for piece in (each, ""))) == fitted.tokenize(text)
    finally:
        tokenizer._PIECE = before


def test_a_long_text_without_white_space(fitted, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_CHUNK", 8)
    monkeypatch.setattr(blocks, "MOST_CHARACTERS", 8)
    monkeypatch.setattr(tokenizer, "_PIECE", 8)
    text = "no" * 20 + "."
    found = list(fitted.stream([text[:13], text[13:]]))
    assert found == fitted.tokenize(text)
    assert raw_text(found) == text
    assert max(len(token.form) for sentence in found for token in sentence.tokens) <= 8


def test_the_work_on_a_long_paragraph_grows_with_its_length(fitted, monkeypatch):
    """A paragraph used to be examined again with every piece that came."""
    examined = []

    def counted(text, **options):
        examined.append(len(text))
        return find_chunks(text, **options)

    monkeypatch.setattr(tokenizer, "find_chunks", counted)
    monkeypatch.setattr(tokenizer, "_PIECE", 64)
    pieces = ["one two "] * 2_000
    assert sum(map(len, fitted.stream(pieces))) == 4_000
    assert 16_000 <= sum(examined) < 4 * 16_000


def test_a_long_paragraph_is_tokenized_in_small_parts(fitted, monkeypatch):
    """10 MB of such tokens took 204 MB of memory when half a million characters were tokenized together."""
    sizes = []
    monkeypatch.setattr(Tokenizer, "_sentences", lambda self, text, *rest: sizes.append(len(text)) or [[]])
    assert fitted.tokenize(' :op1 "x"' * 200_000) == []
    assert sum(sizes) == 1_800_000
    assert max(sizes) <= 300_000


def test_it_learns_tokens_sentences_and_multiword_tokens(fitted):
    bank = treebank()
    found = [s for own in paragraphs(bank) for s in fitted.tokenize(raw_text(own))]
    assert [s.forms for s in found] == [s.forms for s in bank]
    assert [row.split("\t")[:2] for _, row in found[1].extras] == [["3-4", "didn't"]]
    scores = fitted.evaluate(bank)
    assert (scores.words, scores.tokens, scores.sentences) == (1.0, 1.0, 1.0)


def test_only_sentences_that_may_have_multiword_tokens_are_examined(fitted, monkeypatch):
    """10 MB of different words took 15 seconds, two thirds of them for the attributes of tokens without a choice."""
    seen, pack = [], MultiwordTokens.pack
    monkeypatch.setattr(MultiwordTokens, "pack", lambda self, own, gold=None: seen.extend(own) or pack(self, own, gold))
    plain, divided = fitted.tokenize("The dogs saw the cats.\n\nThe dogs didn't.")
    assert [sentence for sentence in seen if "didn't" not in sentence] == []
    assert (plain.extras, [row.split("\t")[:2] for _, row in divided.extras]) == ((), [["3-4", "didn't"]])


def test_lines_are_paragraphs_where_that_is_asked_for(fitted):
    text = "The dogs\nsaw the cats"
    assert len(fitted.tokenize(text)) == 1
    assert [len(s) for s in fitted.tokenize(text, lines=True)] == [2, 3]


@pytest.mark.parametrize("text", ["", " ", "\n\n \r\n", "\ufeff", "\0", "\n" * 10_000])
def test_a_text_without_tokens_has_no_sentences(fitted, text):
    assert fitted.tokenize(text) == []


@pytest.mark.parametrize(
    "word", ["\u2764\ufe0f", "1\ufe0f\u20e3", "\U0001f468\u200d\U0001f469", "\U0001f44d\U0001f3fd", "e\u0301"]
)
def test_marks_and_joiners_stay_with_their_character(fitted, word):
    forms = [form for sentence in fitted.tokenize(f"The dogs {word} saw {word}.") for form in sentence.forms]
    assert sum(form.startswith(word) for form in forms) == 2
    assert not any(form[0] in "\ufe0f\u200d\u20e3\u0301\U0001f3fd" for form in forms)


@pytest.mark.jit  # a hundred thousand decisions
def test_long_lines_and_long_words(fitted):
    [sentence] = fitted.tokenize("a" * 250_000)
    assert sentence.forms == ("a" * 250_000,)
    text = "ab " * 100_000
    assert raw_text(fitted.tokenize(text)) == text


def test_what_is_no_text_is_refused(fitted):
    with pytest.raises(ConfigError, match="3"):
        fitted.tokenize(3)
    with pytest.raises(CorpusError, match="character 1"):
        fitted.tokenize("a\ud800")
    with pytest.raises(CorpusError, match="no words"):
        Tokenizer(bits=8).fit([Sentence(())])


def test_words_with_spaces_never_have_line_ends_in_them(spaced):
    assert [s.forms for s in spaced.tokenize("10 000kg")] == [("10 000", "kg")]
    assert "10\n000" not in [form for s in spaced.tokenize("10\n000kg") for form in s.forms]


@given(st.lists(TEXT, max_size=5), st.booleans())
def test_texts_together_are_tokenized_as_one_by_one(fitted, texts, lines):
    assert fitted.tokenize_all(texts, lines=lines) == [fitted.tokenize(text, lines=lines) for text in texts]
