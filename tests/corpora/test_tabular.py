import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora.conllu import read_conllu
from treewright.corpora.tabular import format_tabular, parse_tabular, read_tabular, write_tabular
from treewright.corpora.types import Sentence, Token
from treewright.errors import ConfigError, CorpusError

EXAMPLE = "# \t#\nTime\tNOUN\n\n10 000\tNUM\n\n"


def read(text, **options):
    return list(read_tabular(io.BytesIO(text.encode()), **options))


def test_words_and_tags():
    first, second = read(EXAMPLE)
    assert first.tokens == (Token("# ", upos="#"), Token("Time", upos="NOUN"))
    assert second.tokens == (Token("10 000", upos="NUM"),)
    assert (first.path, first.line, second.line) == ("<stream>", 1, 4)


def test_words_alone():
    [sentence] = read("Time\nflies")
    assert sentence == Sentence.from_words(["Time", "flies"])
    assert sentence.line == 1


@pytest.mark.parametrize("column", ["lemma", "upos", "xpos", "feats", "deprel", "deps", "misc"])
def test_the_column_is_a_choice(column):
    sentences = read(EXAMPLE, column=column)
    assert sentences[1].tokens == (Token("10 000")._replace(**{column: "NUM"}),)
    assert "".join(format_tabular(sentence, column) for sentence in sentences) == EXAMPLE


@pytest.mark.parametrize("column", ["form", "head", "tag"])
def test_unknown_columns(column):
    for call in (
        lambda: read_tabular("a.tsv", column),
        lambda: list(parse_tabular([], None, column)),
        lambda: write_tabular([], io.StringIO(), column),
        lambda: format_tabular(Sentence.from_words("a"), column),
    ):
        with pytest.raises(ConfigError, match="choose one of lemma, upos"):
            call()


def test_liberal_in_what_it_accepts():
    expected = read(EXAMPLE)
    assert read("\ufeff\n\n" + EXAMPLE.replace("\n", "\r\n")) == expected
    assert read(EXAMPLE.rstrip()) == expected
    assert read(EXAMPLE + "\n\n\n") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tc", "<stream>:1: word and tag separated by one tab expected, 3 columns found"),
        ("\t".join("1234567890"), "looks like CoNLL-U"),
        ("a\tA\n\tB", ":2: the word is empty"),
        ("a\n \nb", ":2: the word is empty"),
        ("a A\nb B", ":1: a space, but no tab"),
        ("a\tA\nb", ":2: the tag is missing"),
        ("a\nb\tB", ":2: a tag here, but none"),
        ("a\tA\nb\t", ":2: the tag is empty"),
        ("a\0b", "zero byte"),
        ("", "no sentence in it: it is empty"),
        ("\n\n", "no sentence in it: only blank lines"),
    ],
)
def test_errors_say_what_and_where(text, message):
    with pytest.raises(CorpusError, match=message):
        read(text)


@pytest.mark.parametrize("token", [Token(""), Token("a\tb"), Token("a", upos=""), Token("a", upos="\n"), Token("\0")])
def test_what_could_not_be_read_back_is_not_written(token, tmp_path):
    with pytest.raises(CorpusError, match="word 1"):
        write_tabular([Sentence((token,))], tmp_path / "a.tsv")
    with pytest.raises(CorpusError, match="without words"):
        write_tabular([Sentence(())], tmp_path / "a.tsv")
    assert os.listdir(tmp_path) == []


values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\0\ufeff"), min_size=1, max_size=5)
tokens = st.builds(lambda form, tag: Token(form, upos=tag), values.filter(str.strip), values)
corpora = st.lists(
    st.lists(tokens, min_size=1, max_size=4).map(lambda row: Sentence(tuple(row))), min_size=1, max_size=3
)


@given(corpora)
def test_round_trip_of_any_sentences(corpus):
    target = io.BytesIO()
    write_tabular(corpus, target)
    # A byte order mark at the very beginning cannot be told from a word that begins with one.
    if not corpus[0].tokens[0].form.startswith("\ufeff"):
        assert list(read_tabular(io.BytesIO(target.getvalue()))) == corpus


def test_real_treebank(real_data, tmp_path):
    corpus = list(read_conllu(real_data("ud-english-ewt/dev.conllu")))
    write_tabular(corpus, tmp_path / "dev.tsv")
    again = list(read_tabular(tmp_path / "dev.tsv"))
    assert [sentence.forms for sentence in again] == [sentence.forms for sentence in corpus]
    assert [sentence.column("upos") for sentence in again] == [sentence.column("upos") for sentence in corpus]


# ---- found by `python -m campaign readers`


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tX\nb\rc\tX\n", "carriage return"),
        ("a\tX\nb\tX\rY\n", "carriage return"),
        ("a\tX\nb\tX\0\n", "zero byte"),
        ("a\tX\n" + "b\t" * 1000, "1001 columns"),
    ],
    ids=["word", "tag", "zero", "columns"],
)
def test_what_could_not_be_written_is_not_read(text, said):
    with pytest.raises(CorpusError, match=said) as caught:
        list(read_tabular(io.BytesIO(text.encode())))
    assert caught.value.line == 2


@pytest.mark.slow
def test_a_sentence_has_an_end():
    with pytest.raises(CorpusError, match="500,000 words"):
        list(read_tabular(io.BytesIO(b"a\n" * 500_001)))
