import pytest
from hypothesis import given

from tests.amr import naive
from tests.amr.perturbed import perturbed
from tests.examples import examples
from treewright.amr import match
from treewright.amr.packed import Packer
from treewright.corpora import Graph, Sentence, read_amr
from treewright.errors import ConfigError, CorpusError

BOY = Graph.from_penman("(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b) :polarity -)")


def matched(gold, predicted):
    [pair] = match([Graph.from_penman(gold)], [Graph.from_penman(predicted)], exact=True).matched
    return int(pair)


def test_the_example_of_the_thesis():
    """§3.2: two statements of three match; and the tops, which are not counted there."""
    assert matched("(a / defend-01 :ARG1 (b / military))", "(x / defend-01 :ARG0 (y / military) :ARG2 (z / city))") == 3


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ("(a / dog)", "(b / dog)", 2),  # the concept, and being the top
        ("(a / dog)", "(b / Dog)", 2),
        ("(a / dog)", "(b / cat)", 1),
        ("(a / dog :mod (b / red))", "(b / red :domain (a / dog))", 3),  # all but the tops
        ("(a / dog :quant 2)", '(a / dog :quant "2")', 3),
        ("(a / dog :ARG0-of (b / bark-01))", "(b / bark-01 :arg0 (a / dog))", 3),
        ("(a / ring :consist-of (b / gold))", "(b / gold :consist (a / ring))", 2),  # no inverse role, whatever its end
        ("(a / dog :ARG0 a)", "(b / dog :ARG0 b)", 3),
        ("(a / dog :ARG0 a)", "(b / dog :ARG0 (c / dog))", 2),
        ("(a / dog :ARG0 (c / cat) :ARG1 c)", "(a / dog :ARG0 (c / cat) :ARG1 (d / cat))", 4),
    ],
)
def test_what_is_equal(gold, predicted, expected):
    assert matched(gold, predicted) == expected


def test_duplicates_count_once():
    twice = Graph(BOY.top, BOY.instances, BOY.edges * 3, BOY.attributes * 2)
    for gold, predicted in ((BOY, twice), (twice, BOY), (twice, twice)):
        found = match([gold], [predicted])
        assert found.matched == found.gold == found.predicted == len(naive.triples(BOY))


@examples(20)
@given(naive.PAIRS)
def test_it_is_symmetric_and_a_graph_is_equal_to_itself(pairs):
    gold, predicted = zip(*pairs, strict=True)
    one, two = match(gold, predicted, exact=True), match(predicted, gold, exact=True)
    assert (one.matched == two.matched).all()
    assert (one.matched <= one.gold).all()
    assert (one.matched <= one.predicted).all()
    itself = match(gold, gold)
    assert (itself.matched == itself.gold).all()


def test_sentences_or_graphs():
    sentence = Sentence.from_words(["No"])
    with_graph = Sentence(sentence.tokens, graph=BOY)
    assert match([with_graph], [BOY]).mapping(0) == {"w": "w", "b": "b", "g": "g"}
    with pytest.raises(CorpusError, match="gold sentence 2 has no graph"):
        match([with_graph, sentence], [BOY, BOY])
    with pytest.raises(CorpusError, match=r"x\.amr:3: predicted sentence 1 has no graph"):
        match([BOY], [Sentence(sentence.tokens, path="x.amr", line=3)])
    with pytest.raises(CorpusError, match="2 gold graphs and 1 predicted ones"):
        match([BOY, BOY], [BOY])
    with pytest.raises(ConfigError, match="limit"):
        match([BOY], [BOY], limit=0)


def test_none_at_all():
    assert len(match([], []).matched) == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph("x", (("x", "a"), ("x", "b"))), "the variable 'x' has more than one concept"),
        (Graph("y", (("x", "a"),)), "the top 'y' is not a variable"),
        (Graph("x", (("x", "a"),), (("x", ":r", "y"),)), "unknown variable 'y'"),
        (Graph("x", (("x", "a"),), (), (("y", ":r", "1"),)), "on an unknown variable"),
    ],
)
def test_graphs_that_are_none(graph, message):
    with pytest.raises(CorpusError, match=message):
        Packer().pack([graph])


@pytest.mark.jit
def test_the_package_agrees(real_data, tmp_path):
    """F on the whole corpus, against perturbed copies, through files. The package drops `:mod 7`, and we do not."""
    package = pytest.importorskip("smatch", reason="needs the package smatch")
    gold = [
        sentence.graph
        for part in ("train", "dev", "test")
        for sentence in read_amr(real_data(f"amr-little-prince/{part}.txt"))
    ]
    predicted = [perturbed(graph, seed, gold) for seed, graph in enumerate(gold)]
    files = []
    for name, graphs in (("predicted", predicted), ("gold", gold)):
        path = tmp_path / f"{name}.amr"
        # the package takes the inverse of `:mod` for another role than `:domain`, which is what annotators write
        path.write_text("\n\n".join(graph.to_penman().replace(":mod-of", ":domain") for graph in graphs), "utf-8")
        files.append(path)
    with open(files[0]) as one, open(files[1]) as two:
        [(_, _, theirs)] = package.score_amr_pairs(one, two)
    ours = match([s.graph for s in read_amr(files[1])], [s.graph for s in read_amr(files[0])])
    f = 2 * ours.matched.sum() / (ours.gold.sum() + ours.predicted.sum())
    assert f == pytest.approx(theirs, abs=0.0005)
