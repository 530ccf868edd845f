"""Raw text and the analyses of it."""

from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Sentence, Token, load_corpus
from treewright.text.raw import decode_spaces, encode_spaces, paragraphs, raw_text, surface_tokens

spaces = st.text(" \t\n\r\x0b\x0c\x1c\x85\u2028\u3000\\|su", max_size=8)


@given(spaces)
def test_white_space_survives_the_column_that_it_is_written_to(text):
    code = encode_spaces(text)
    assert decode_spaces(code) == text
    assert not set(code) & set("\t\n\r|")
    assert len(code.splitlines()) <= 1


def test_an_unknown_escape_stands_for_itself():
    assert decode_spaces("a\\qb\\") == "a\\qb\\"


def test_a_multiword_token_is_one_token_of_the_text():
    sentence = Sentence(
        (Token("do"), Token("n't"), Token("go", misc="SpaceAfter=No")),
        extras=((0, "1-2\tdon't" + "\t_" * 8),),
    )
    assert [(t.form, t.first, t.last, t.after) for t in surface_tokens(sentence)] == [
        ("don't", 1, 2, " "),
        ("go", 3, 3, ""),
    ]
    assert raw_text([sentence]) == "don't go"


def test_paragraphs_as_marked_or_of_one_size():
    plain = [Sentence.from_words(["a"])] * 5
    assert [len(p) for p in paragraphs(plain, 2)] == [2, 2, 1]
    marked = [Sentence((Token("a"),), comments=("# newpar id = 1",) if k in (0, 3) else ()) for k in range(5)]
    assert [len(p) for p in paragraphs(marked, 2)] == [3, 2]


def test_the_text_of_a_treebank_is_that_of_its_comments(real_data):
    sentences = load_corpus(real_data("ud-english-ewt/dev.conllu"))
    for sentence in sentences:
        stated = next(c.removeprefix("# text = ") for c in sentence.comments if c.startswith("# text = "))
        assert raw_text([sentence]).split() == stated.split()
