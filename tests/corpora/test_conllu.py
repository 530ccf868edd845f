import contextlib
import io
import os
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora.conllu import format_conllu, read_conllu, write_conllu
from treewright.corpora.types import Sentence, Token
from treewright.errors import CorpusError


def row(id, form="w", head="0"):
    return f"{id}\t{form}\tl\tU\tX\tF\t{head}\trel\tdeps\tmisc"


def read(text):
    return list(read_conllu(io.BytesIO(text.encode())))


EXAMPLE = "\n".join(
    [
        "# sent_id = 1",
        "#no space, a\ttab, trailing space ",
        "0.1\t_\t_\t_\t_\t_\t_\t_\t_\t_",
        "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        row(1, "do", "0"),
        row(2, "n't", "1"),
        "2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_",
        "2.2\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_",
        "3-3\tx y\t_\t_\t_\t_\t_\t_\t_\t_",
        row(3, "10 000", "_"),
        "3.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_",
        "",
        row(1, "#", "1"),
        "",
        "",
    ]
)


def test_all_layers_are_read():
    first, second = read(EXAMPLE)
    assert first.forms == ("do", "n't", "10 000")
    assert first.tokens[0] == Token("do", "l", "U", "X", "F", 0, "rel", "deps", "misc")
    assert type(first.tokens[0]) is Token
    assert [token.head for token in first] == [0, 1, None]
    assert first.comments == ("# sent_id = 1", "#no space, a\ttab, trailing space ")
    assert [(words, extra.split("\t")[0]) for words, extra in first.extras] == [
        (0, "0.1"), (0, "1-2"), (2, "2.1"), (2, "2.2"), (2, "3-3"), (3, "3.1"),
    ]  # fmt: skip
    assert second.forms == ("#",)
    assert (first.path, first.line, second.line) == ("<stream>", 3, 13)


def test_writing_gives_back_what_was_read():
    assert "".join(map(format_conllu, read(EXAMPLE))) == EXAMPLE


def test_liberal_in_what_it_accepts():
    expected = read(EXAMPLE)
    assert read(EXAMPLE.replace("\n", "\r\n")) == expected
    assert read("\ufeff" + EXAMPLE) == expected
    assert read("\n\n" + EXAMPLE.replace("\n\n", "\n\n\n")) == expected
    assert read(EXAMPLE.rstrip("\n")) == expected
    assert read(EXAMPLE.rstrip("\n"))[-1].line == 13
    assert list(read_conllu(io.StringIO(EXAMPLE))) == expected


def test_comments_above_a_blank_line_join_the_next_sentence():
    [sentence] = read(f"# a\n\n# b\n{row(1)}\n")
    assert sentence.comments == ("# a", "# b")
    assert sentence.line == 4


def test_long_sentences():
    text = "".join(f"{row(number, head=str(number - 1))}\n" for number in range(1, 2001)) + "\n"
    [sentence] = read(text)
    assert [token.head for token in sentence] == list(range(2000))
    assert format_conllu(sentence) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{row(1)}\n2\tw\tl\n", "<stream>:2: 10 columns separated by tabs expected, 3 found; write _"),
        (row(1).replace("\t", "  "), "1: 10 columns separated by tabs expected, 1 found; there are spaces"),
        ("%PDF-1.4", "10 columns separated by tabs expected, 1 found; .* is this not a CoNLL-U file"),
        ("PK\0\3", "zero byte"),
        (row("one"), "id 1 expected, 'one' found; the ID .* is a whole number"),
        (row(""), "id 1 expected, '' found"),
        (row("9" * 60), "id 1 expected, '9{40}…' found"),
        (row(0), "id 1 expected, '0' found; the words of a sentence are numbered"),
        (f"{row(1)}\n{row(3)}", ":2: id 2 expected, '3' found"),
        (f"{row(1)}\n{row(1)}", "id 2 expected, '1' found; is the blank line .* missing"),
        (f"{row(1)}\n{row('1-2')}", "id 2 expected, '1-2' found; a multiword token .* stands right before"),
        (row("1-0"), "id 1 expected, '1-0' found"),
        (f"{row('1.1')}\n{row(1)}", "id 1 expected, '1.1' found; an empty node .* stands after"),
        (f"{row('1-2')}\n", "a sentence without words"),
        (row(1, form=""), r"the FORM \(column 2\) is empty"),
        (row(1, head="x"), "HEAD .* not 'x'"),
        (row(1, head="-1"), "HEAD .* not '-1'"),
        (row(1, head="01"), "HEAD .* not '01'"),
        (row(1, head="1_0"), "HEAD .* not '1_0'"),
        (row(1, head="１"), "HEAD .* not '１'"),
        (row(1, head=""), "HEAD .* not ''"),
        (
            f"{row('1-2', head='9')}\n{row(1)}\n{row(2, head='3')}",
            ":3: HEAD '3' of word 2 points outside the sentence, which has 2",
        ),
        (f"{row(1)}\n# text = late\n{row(2)}", ":2: a comment inside a sentence"),
        (f"{row(1)}\n \t\n{row(2)}", ":2: a line of white space"),
        ("", "<stream>: no sentence in it: it is empty"),
        ("\n\n", "no sentence in it: only blank lines"),
        ("# text = x\n\n", "no sentence in it: only comments"),
        (f"{row(1)}\n\n# text = x\n", ":3: comments without a sentence"),
    ],
)
def test_errors_say_what_and_where(text, message):
    with pytest.raises(CorpusError, match=message):
        read(text)


def test_wrong_encoding():
    text = f"{row(1)}\n{row(2, 'née')}\n"
    with pytest.raises(CorpusError, match=r"2: not UTF-8 .* save the file as UTF-8") as caught:
        list(read_conllu(io.BytesIO(text.encode("latin-1"))))
    assert (caught.value.path, caught.value.line) == ("<stream>", 2)
    with pytest.raises(CorpusError, match="1: not UTF-8"):
        list(read_conllu(io.BytesIO(text.encode("utf-16"))))


def test_missing_file_and_directory(tmp_path):
    for path in (tmp_path / "no.conllu", tmp_path):
        with pytest.raises(CorpusError, match=re.escape(str(path))):
            list(read_conllu(path))


def test_good_sentences_come_before_the_error():
    sentences = read_conllu(io.StringIO(f"{row(1)}\n\nbad\n"))
    assert next(sentences).forms == ("w",)
    with pytest.raises(CorpusError, match=":3:"):
        next(sentences)


def sentence_with(**changes):
    return Sentence(**({"tokens": (Token("a"), Token("b"))} | changes))


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence(()), "it has no words"),
        (sentence_with(comments=("text = x",)), "must begin with #"),
        (sentence_with(comments=("# x\n1",)), "be one line"),
        (sentence_with(tokens=(Token("a"), Token("a\tb"))), r"the form of word 2, 'a\\tb', has a tab"),
        (sentence_with(tokens=(Token("a", misc="x\r"),)), "the misc of word 1"),
        (sentence_with(tokens=(Token(""),)), "the form of word 1 is empty"),
        (sentence_with(tokens=(Token("a", head=2),)), "the head of word 1 is 2, outside the sentence of 1"),
        (sentence_with(tokens=(Token("a", head=-1),)), "the head of word 1 is -1"),
        (sentence_with(extras=((0, "1-2\tab"),)), "must have ten columns"),
        (sentence_with(extras=((1, row("1-2")),)), "cannot stand after word 1"),
        (sentence_with(extras=((3, row("3.1")),)), "cannot stand after word 3"),
        (sentence_with(extras=((2, row("2.1")), (1, row("1.1")))), "cannot stand after word 1"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(sentence, message):
    with pytest.raises(CorpusError, match=message):
        format_conllu(sentence)


def test_write_to_paths_and_streams(tmp_path):
    sentences = read(EXAMPLE)
    path, binary, text = tmp_path / "a.conllu", io.BytesIO(), io.StringIO()
    for target in (path, str(path), binary, text):
        write_conllu(sentences, target)
    assert path.read_bytes() == binary.getvalue() == text.getvalue().encode() == EXAMPLE.encode()


def test_a_file_can_be_rewritten_while_it_is_read(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_bytes(EXAMPLE.encode())
    write_conllu(read_conllu(path), path)
    assert path.read_bytes() == EXAMPLE.encode()


def test_failed_writing_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("before")
    with pytest.raises(CorpusError):
        write_conllu([Sentence.from_words(["fine"]), Sentence(())], path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.conllu"]


values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\0"), max_size=6)


@st.composite
def sentences(draw):
    length = draw(st.integers(1, 6))
    heads = st.none() | st.integers(0, length)
    tokens = [
        Token(
            draw(values.filter(bool)),
            *draw(st.tuples(*[values] * 4)),
            draw(heads),
            *draw(st.tuples(*[values] * 3)),
        )
        for _ in range(length)
    ]
    comments = draw(st.lists(values.map("#{}".format), max_size=2))
    extras = []
    for words in range(length + 1):
        if draw(st.booleans()):
            extras.append((words, "\t".join([f"{words}.1", *draw(st.tuples(*[values] * 9))])))
        if words < length and draw(st.booleans()):
            extras.append((words, "\t".join([f"{words + 1}-{length}", *draw(st.tuples(*[values] * 9))])))
    return Sentence(tuple(tokens), tuple(comments), tuple(extras))


@given(st.lists(sentences(), min_size=1, max_size=3))
def test_round_trip_of_any_sentences(corpus):
    target = io.BytesIO()
    write_conllu(corpus, target)
    assert list(read_conllu(io.BytesIO(target.getvalue()))) == corpus


@given(st.binary(max_size=200) | values.map(lambda text: f"{row(1)}\n{text}".encode()))
def test_garbage_is_refused_with_our_error_or_read(data):
    with contextlib.suppress(CorpusError):
        list(read_conllu(io.BytesIO(data)))


REAL = [
    f"{folder}/{part}.conllu"
    for folder in ("ud-english-ewt", "ud-afrikaans-afribooms", "amr-little-prince/trees")
    for part in ("train", "dev", "test")
]


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_treebanks_are_given_back_byte_for_byte(real_data, name):
    path = real_data(name)
    target = io.BytesIO()
    write_conllu(read_conllu(path), target)
    assert target.getvalue() == path.read_bytes()


def test_memory_does_not_grow_with_the_file():
    def stream(sentences):
        sentence = [f"{row(number)}\n".encode() for number in range(1, 11)] + [b"\n"]
        for _ in range(sentences):
            yield from sentence

    def peak(sentences):
        tracemalloc.start()
        words = sum(map(len, read_conllu(stream(sentences))))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert words == 10 * sentences
        return peak

    assert peak(2000) < peak(20) + 100_000  # all of it would be megabytes


def test_a_zero_byte_in_a_form_is_named():
    with pytest.raises(CorpusError, match="2: a zero byte"):
        read(row(1) + "\n" + row(2, "a\0b") + "\n\n")


# ---- found by `python -m campaign readers`


@pytest.mark.parametrize("row", ["# a\rb", "1\ta\rb\t_\t_\t_\t_\t0\t_\t_\t_", "1\ta\t\r\t_\t_\t_\t0\t_\t_\t_"])
def test_a_carriage_return_inside_a_line_could_not_be_written(row):
    with pytest.raises(CorpusError, match="carriage return") as caught:
        list(read_conllu(io.BytesIO(f"# first\n{row}\n".encode())))
    assert caught.value.line == 2


@pytest.mark.slow
def test_rubbish_takes_little_memory():
    for rubbish in (b"ab\n" * 600_000, b"1-2\t" * 300_000, b"ab " * 300_000):
        tracemalloc.start()
        with pytest.raises(CorpusError):
            list(read_conllu(io.BytesIO(rubbish)))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()


def test_a_sentence_has_an_end():
    with pytest.raises(CorpusError, match="500,000 words"):
        list(read_conllu(io.BytesIO(b"a\n" * 500_001)))
