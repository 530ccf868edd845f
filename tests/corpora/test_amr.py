import io
import warnings
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Graph, Sentence, format_amr, metadata, read_amr, write_amr
from treewright.corpora.amr import _ordinary, parse_amr
from treewright.errors import CorpusError

TEXT = """\
# ::id a.1 ::date 2012
# ::snt The boy does n't go .
(g / go-02 :polarity -
   :ARG0 (b / boy))

# ::id a.2
# ::tok Red rings
# ::snt Red  rings.

(r / ring
   :consist-of (g / gold)
   :ARG1-of (s / see-01 :ARG0 (i / i) :op1 "a (b) \\"c\\" :d")
   :mod (r2 / red :domain-of r))
(not metadata)
"""


def read(text):
    return list(read_amr(io.StringIO(text)))


def test_sentences_with_graphs():
    one, two = read(TEXT.replace("(not metadata)\n", ""))
    assert one.forms == ("The", "boy", "does", "n't", "go", ".")
    assert metadata(one) == {"id": "a.1", "date": "2012", "snt": "The boy does n't go ."}
    assert one.graph == Graph("g", (("g", "go-02"), ("b", "boy")), (("g", ":ARG0", "b"),), (("g", ":polarity", "-"),))
    assert (one.line, two.line, two.forms) == (3, 10, ("Red", "rings"))
    assert ("r", ":consist-of", "g") in two.graph.edges
    assert ("s", ":ARG1", "r") in two.graph.edges
    assert two.graph.attributes == (("s", ":op1", '"a (b) \\"c\\" :d"'),)


def test_what_the_library_reads_is_the_same():
    graph = Graph.from_penman("(r / ring :consist-of (g / gold) :ARG1-of (s / see-01) :quant-of 2 :x g)")
    assert _ordinary("(r / ring :consist-of (g / gold) :ARG1-of (s / see-01) :quant-of 2 :x g)") == graph
    aligned = "(g / go-02~e.4 :ARG0~e.2 (b / boy~e.1))"
    assert _ordinary(aligned) is None
    assert read(aligned)[0].graph == Graph.from_penman(aligned)


PIECES = st.sampled_from(
    ["(a / b", "(c / d-01", ":x ", ":y-of ", "(", ")", " ", "\n", "/", "a", "c", '"', '"s t"', "~e.1", ":"]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_whatever_is_read_is_what_the_library_reads(text):
    found = _ordinary(text)
    if found is not None:
        assert found == Graph.from_penman(text)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "it is empty"),
        ("\n\n", None, "only blank lines"),
        ("# ::id 1\n", None, "only comments"),
        ("(a / b)\n\n# ::id 2\n", 3, "metadata without a graph"),
        ("# ::id 1\n(a / b\n   :ARG0 (c / d)\n", 3, "not a graph in PENMAN notation: a closing bracket is missing"),
        ("(a / b\n   :ARG0 (c / d) e)\n", 2, "not a graph in PENMAN notation: a role, as in :ARG0"),
        ("\n(a / b))\n", 2, r"'\)' follows the end of the graph"),
        ("(a / b)\n(c / d)\n", 2, r"'\(c / d\)' follows the end of the graph"),
        ("The boy goes .\n", 1, "not a graph"),
        ("# sent_id = 1\n1\tDogs\tdog\tNOUN\tNNS\t_\t0\troot\t_\t_\n", 2, "this looks like CoNLL-U"),
        ("(S\n  (NP (DT the) (NN cat)))\n", 1, "this looks like a constituency tree in brackets"),
        ("()\n", 1, "a graph without a top"),
        ("(a / b :ARG0 (c))\n", 1, "the variable 'c' has no concept"),
        ("(a / b :ARG0 )\n", 1, "the role :ARG0 of the variable 'a' has no target"),
        ("(a / b\n :ARG0 (a / c))\n", 1, "the variable 'a' has more than one concept"),
    ],
)
def test_bad_input(text, line, message):
    with pytest.raises(CorpusError, match=message) as caught:
        list(parse_amr(text.splitlines(), "x.amr"))
    assert (caught.value.path, caught.value.line) == ("x.amr", line)


def test_what_follows_a_graph():
    with pytest.raises(CorpusError, match=r"<stream>:14: '\(not metadata\)'"):
        read(TEXT)


def test_writing(tmp_path):
    graph = Graph.from_penman("(b / bark-01 :ARG0 (d / dog))")
    sentence = Sentence(Sentence.from_words(["Dogs", "bark"]).tokens, ("# sent_id = 7", "# ::id 7"), graph=graph)
    assert format_amr(sentence) == "# ::id 7\n# ::snt Dogs bark\n(b / bark-01\n   :ARG0 (d / dog))\n\n"
    write_amr([sentence, sentence], tmp_path / "x.amr")
    assert [back.graph for back in read_amr(tmp_path / "x.amr")] == [graph, graph]
    with pytest.raises(CorpusError, match="it has none"):
        format_amr(Sentence.from_words(["x"]))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_nothing_is_lost(real_data, part):
    """Triples, top and metadata of every graph of the corpus; and the library reads the same."""
    path = real_data(f"amr-little-prince/{part}.txt")
    corpus = list(read_amr(path))
    blocks = [block for block in path.read_text("utf-8").split("\n\n") if block.strip()]
    for sentence, block in zip(corpus, blocks, strict=True):
        graph = sentence.graph
        graph.validate()
        assert graph == Graph.from_penman(block)
        [back] = parse_amr(format_amr(sentence).splitlines())
        assert back.comments == sentence.comments
        assert back.forms == sentence.forms
        assert back.graph.top == graph.top
        assert sorted(back.graph.triples()) == sorted(graph.triples())


def test_the_id_of_a_tree_becomes_that_of_its_graph():
    graph = Graph.from_penman("(b / bark-01)")
    comments = ("# sent_id = dogs-7", "# text = Bark !")
    sentence = Sentence(Sentence.from_words(["Bark", "!"]).tokens, comments, graph=graph)
    assert format_amr(sentence) == "# ::id dogs-7\n# ::snt Bark !\n(b / bark-01)\n\n"
    [again] = read_amr(io.StringIO(format_amr(sentence)))
    assert metadata(again) == {"id": "dogs-7", "snt": "Bark !"}


@pytest.mark.parametrize(
    ("text", "known"),
    [("Bark!", {"snt": "Bark!", "tok": "Bark !"}), ("Bark ::id 8 !", {"snt": "Bark !"}), ("", {"snt": "Bark !"})],
)
def test_the_text_of_a_sentence_is_written_if_it_is_known(text, known):
    comments = ("# sent_id = 7", f"# text = {text}")
    sentence = Sentence(Sentence.from_words(["Bark", "!"]).tokens, comments, graph=Graph.from_penman("(b / bark-01)"))
    [again] = read_amr(io.StringIO(format_amr(sentence)))
    assert again.forms == sentence.forms
    assert {key: value for key, value in metadata(again).items() if key != "id"} == known
    assert format_amr(again) == format_amr(sentence)


def test_metadata_without_a_graph_in_the_middle_of_a_file_is_an_error():
    text = "# ::id 1\n# ::snt a b\n\n# ::id 2\n# ::snt c\n(c / cat)\n"
    with pytest.raises(CorpusError, match="metadata without a graph") as raised:
        list(read_amr(io.StringIO(text)))
    assert raised.value.line == 3
    header = "# a release of graphs\n\n# ::id 2\n\n(c / cat)\n"
    [sentence] = read_amr(io.StringIO(header))
    assert metadata(sentence)["id"] == "2"


def test_a_constant_that_looks_like_a_variable_is_warned_of():
    with pytest.warns(UserWarning, match=r"1: 'b', the :ARG0 of 'w'"):
        [sentence] = read_amr(io.StringIO("(w / want-01 :ARG0 b)\n"))
    assert sentence.graph.attributes == (("w", ":ARG0", "b"),)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(read_amr(io.StringIO('(w / want-01 :polarity - :ARG1 (n / name :op1 "b") :mode imperative :quant 3)\n')))


# ---- found by `python -m campaign readers`


@pytest.mark.parametrize("nodes", ["(a / a :x ", "(a / a~e.1 :x "])
def test_brackets_without_end(nodes):
    with pytest.raises(CorpusError, match="more than 200 deep") as caught:
        list(read_amr(io.StringIO("# ::id 1\n\n(t / t\n:x " + nodes * 2000)))
    assert caught.value.line == 4


def test_a_graph_of_half_a_megabyte():
    with pytest.raises(CorpusError, match="500,000 characters") as caught:
        list(read_amr(io.StringIO("(t / t\n" + " :x y\n" * 100_001)))
    assert caught.value.line > 80_000


def test_a_long_role_does_not_make_a_long_message():
    with pytest.raises(CorpusError) as caught:
        list(read_amr(io.StringIO(f"(t / t :{'9' * 5000})")))
    assert len(str(caught.value)) < 2000


def test_a_chain_that_is_too_long_to_be_written():
    names = [f"v{k}" for k in range(2000)]
    edges = tuple((a, ":x", b) for a, b in pairwise(names))
    graph = Graph("v0", tuple((name, "c") for name in names), edges)
    with pytest.raises(CorpusError, match="2,000 nodes"):
        graph.to_penman()


@pytest.mark.parametrize("alignment", ["", "~e.1"])  # with it, the penman library reads the graph
@pytest.mark.parametrize(
    ("role", "edge"),
    [
        (":r-of", ("b", ":r", "a")),
        (":r-of-of", ("a", ":r", "b")),
        (":r-of-of-of", ("b", ":r", "a")),
        (":consist-of-of", ("b", ":consist-of", "a")),
    ],
)
def test_roles_that_are_inverted_several_times(role, edge, alignment):
    [sentence] = read_amr(io.StringIO(f"(a / a{alignment} {role} (b / b))\n"))
    assert sentence.graph.edges == (edge,)
    [again] = read_amr(io.StringIO(format_amr(sentence)))
    assert again.graph.edges == (edge,)
