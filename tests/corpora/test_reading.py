import hashlib
import io
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora.conllu import format_conllu
from treewright.corpora.graphs import Graph
from treewright.corpora.reading import corpus_hash, format_sentence, formats, load_corpus, read_sentences
from treewright.corpora.trees import Tree
from treewright.corpora.types import Sentence, Token
from treewright.errors import ConfigError, CorpusError

SENTENCES = [
    Sentence((Token("Time", upos="NOUN"), Token("flies", upos="VERB"))),
    Sentence((Token("Stop", upos="VERB"),)),
]


TREES = [
    Sentence(
        (Token("Time", xpos="NN"), Token("flies", xpos="VBZ")),
        tree=Tree("S", (Tree("NP", (Tree("NN", ("Time",)),)), Tree("VP", (Tree("VBZ", ("flies",)),)))),
    ),
    Sentence((Token("Stop", xpos="VB"),), tree=Tree("VB", ("Stop",))),
]

GRAPH = Graph("s", (("s", "stop-01"),))


def text_of(format):
    if format == "ptb":
        return "".join(format_sentence(sentence, format) for sentence in TREES)
    if format == "amr":
        return "".join(format_sentence(replace(sentence, graph=GRAPH), format) for sentence in SENTENCES)
    return "".join(format_sentence(sentence, format) for sentence in SENTENCES)


@pytest.mark.parametrize(
    ("suffix", "format"),
    [
        (".conllu", "conllu"),
        (".conll", "conllu"),
        (".CONLLU", "conllu"),
        (".tsv", "tabular"),
        (".tab", "tabular"),
        (".txt", "text"),
        (".ptb", "ptb"),
        (".MRG", "ptb"),
        (".unknown", "conllu"),
        ("", "tabular"),
        (".md", "text"),
        (".trees", "ptb"),
    ],
)
def test_format_by_suffix_or_content(tmp_path, suffix, format):
    path = tmp_path / f"corpus{suffix}"
    path.write_text(text_of(format))
    corpus = load_corpus(path)
    assert [sentence.forms for sentence in corpus] == [sentence.forms for sentence in SENTENCES]
    assert corpus[0].path == str(path)
    if format != "text":
        assert corpus == (TREES if format == "ptb" else SENTENCES)


@pytest.mark.parametrize("format", formats())
@pytest.mark.parametrize("given_format", ["auto", "by name"])
def test_streams(format, given_format):
    stream = io.BytesIO(("\n\n" + text_of(format)).encode())
    corpus = load_corpus(stream, "auto" if given_format == "auto" else format)
    assert [sentence.forms for sentence in corpus] == [sentence.forms for sentence in SENTENCES]
    assert corpus[0].line == (4 if format == "amr" else 3)  # where the graph begins


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Time\nflies\n\nStop\n", [["Time", "flies"], ["Stop"]]),  # one word a line: a column
        ("Stop\nTime flies\n", [["Stop"], ["Time", "flies"]]),  # no: lines of text
        ("#1 fan\nTime flies\n", [["#1", "fan"], ["Time", "flies"]]),
        ("#\t#\n1\tNUM\n", [["#", "1"]]),
        ("a\n" * 100, [["a"] * 100]),
        ("(See below)\n", [["(See", "below)"]]),  # a bracket does not make a tree
        ("(\t(\na\tX\n", [["(", "a"]]),
        ("(\nLaughter\n)\n", [["(", "Laughter", ")"]]),
        ("( Laughter )\n", [["(", "Laughter", ")"]]),
        ("  a  b \u3000 c\u00a0d\n", [["a", "b", "\u3000", "c\u00a0d"]]),  # only plain spaces separate
    ],
)
def test_guessing_loses_nothing(text, expected):
    assert [list(sentence.forms) for sentence in read_sentences(io.StringIO(text))] == expected


@pytest.mark.parametrize(
    "text",
    [
        "((S (NP (NN Time)) (VP (VBZ flies))))",
        "\n( (S (NP (NN Time))\n  (VP (VBZ flies))))",
        "(\n (S (NP (NN Time)) (VP (VBZ flies))))",
        "  (S(NP(NN Time))(VP(VBZ flies)))",
        "(TOP\n\t(S (NP (NN Time)) (VP (VBZ flies))))",
        "(S\t(NP (NN Time))\t(VP (VBZ flies)))",
    ],
)
def test_trees_are_known_by_their_brackets(text):
    [sentence] = read_sentences(io.StringIO(text))
    assert sentence.tokens == TREES[0].tokens
    assert TREES[0].tree in sentence.tree.subtrees()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# text = a b\n1 a\n", ":2: 10 columns"),
        ("# newpar\n1 a\n", ":2: 10 columns"),
        ("1 a _ _ _ _ 0 _ _ _\n", "spaces where the tabs should be"),
        ("1\ta\tDET\t0\n", "10 columns separated by tabs expected, 4 found"),
        ("", "no sentence in it"),
        ("# just a remark\n", "no sentence in it: only comments"),
        ("a b\n\0\n", ":2: a zero byte"),
        ("((S (NN a)\n", ":1: the tree that begins here has no end"),
    ],
)
def test_damaged_input_reaches_the_reader_that_can_explain_it(text, message):
    with pytest.raises(CorpusError, match=message):
        load_corpus(io.StringIO(text))


def test_text_without_words():
    with pytest.raises(CorpusError, match="it has no words"):
        load_corpus(io.StringIO(" \n\n"), "text")


def test_somebody_at_a_keyboard_gets_answers_line_by_line():
    def keyboard():
        yield "Time flies\n"
        raise AssertionError("asked for more than one line")

    assert next(read_sentences(keyboard())).forms == ("Time", "flies")


def test_unknown_formats():
    for call in (lambda: read_sentences("a.txt", "xml"), lambda: format_sentence(SENTENCES[0], "xml")):
        with pytest.raises(ConfigError, match=r"'xml'; choose one of .*conllu, tabular, text"):
            call()


@pytest.mark.parametrize("words", [["10 000"], [""], ["a\nb"], []])
def test_what_cannot_be_text(words):
    with pytest.raises(CorpusError, match="cannot be written"):
        format_sentence(Sentence.from_words(words), "text")


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\0\t\r\n "), min_size=1, max_size=5)


@given(st.lists(words, min_size=1, max_size=5))
def test_text_round_trip(words):
    text = "x\n" + format_sentence(Sentence.from_words(words), "text")
    assert [list(sentence.forms) for sentence in read_sentences(io.StringIO(text), "text")] == [["x"], words]


def test_hash_of_a_file_is_that_of_its_bytes(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(text_of("conllu"))
    assert corpus_hash(path) == hashlib.sha256(path.read_bytes()).hexdigest() == corpus_hash(load_corpus(path))
    with pytest.raises(CorpusError, match="cannot be read"):
        corpus_hash(tmp_path)


def test_hash_depends_on_every_layer():
    sentence = SENTENCES[0]
    variants = [
        sentence,
        sentence.with_column("upos", ["X", "X"]),
        replace(sentence, tree="(S Time flies)"),
        replace(sentence, graph="(f / fly)"),
    ]
    assert len({corpus_hash([variant]) for variant in variants}) == 4
    assert corpus_hash([sentence]) == hashlib.sha256(format_conllu(sentence).encode()).hexdigest()


def test_real_treebank(real_data):
    path = real_data("ud-afrikaans-afribooms/test.conllu")
    corpus = load_corpus(path)
    assert len(corpus) == 425
    assert corpus_hash(corpus) == corpus_hash(path)
    with open(path, "rb") as stream:
        assert load_corpus(stream) == corpus


@pytest.mark.parametrize("name", ["x.amr", "x.PENMAN", "x"])
def test_graphs(tmp_path, name):
    path = tmp_path / name
    path.write_text("# ::snt Why not ?\n(x / y)\n")
    [sentence] = load_corpus(path)
    assert sentence.forms == ("Why", "not", "?")
    assert sentence.graph.instances == (("x", "y"),)
    assert load_corpus(path, "text")[1].forms == ("(x", "/", "y)")


def test_a_line_of_too_many_words():  # found by `python -m campaign readers.large`
    with pytest.raises(CorpusError, match="500,000 words") as caught:
        load_corpus(io.BytesIO(b"a\n" + b"a " * 500_001), "text")
    assert caught.value.line == 2


def test_the_hash_of_a_corpus_depends_on_alignments():
    graph = Graph("b", (("b", "boy"),))
    aligned = replace(graph, alignments={"b": (0, 1)})
    corpora = [[replace(Sentence.from_words(["boy"]), graph=each)] for each in (graph, aligned)]
    assert len({corpus_hash(corpus) for corpus in corpora}) == 2


def test_guessing_the_format_takes_little_memory():
    line = b"1-2\t" * 300_000
    tracemalloc.start()
    with pytest.raises(CorpusError):
        load_corpus(io.BytesIO(line))
    assert tracemalloc.get_traced_memory()[1] < 10 * len(line)
    tracemalloc.stop()
