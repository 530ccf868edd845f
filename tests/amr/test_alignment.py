import io
import json
from dataclasses import replace

import pytest

from treewright.amr.alignment import (
    AlignmentScores,
    join_trees,
    nodes_of,
    read_gold_alignments,
    score_alignments,
    with_alignment,
)
from treewright.corpora import Graph, Sentence
from treewright.corpora.amr import parse_amr
from treewright.corpora.conllu import parse_conllu
from treewright.errors import CorpusError

AMR = """# ::id a.1
# ::snt I do n't see China .
(s / see-01 :polarity -
   :ARG0 (i / i)
   :ARG1 (c / country :wiki "China"
      :name (n / name :op1 "China")))

# ::id a.2
# ::snt Go !
(g / go-02 :mode imperative :ARG0 (y / you))
"""
TREES = """# sent_id = a.2
1	Go	go	VERB	VB	_	0	root	_	_
2	!	!	PUNCT	.	_	1	punct	_	_

# sent_id = a.1
1	I	I	PRON	PRP	_	4	nsubj	_	_
2	do	do	AUX	VBP	_	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	_	_
4	see	see	VERB	VB	_	0	root	_	_
5	China	China	PROPN	NNP	_	4	obj	_	_
6	.	.	PUNCT	.	_	4	punct	_	_
"""
GOLD = {
    "a.1": [
        {"type": "subgraph", "tokens": [0], "nodes": ["1.2"]},
        {"type": "subgraph", "tokens": [2], "nodes": ["1.1"]},
        {"type": "subgraph", "tokens": [3], "nodes": ["1"]},
        {"type": "subgraph", "tokens": [4], "nodes": ["1.3", "1.3.2", "1.3.2.1"]},
    ],
    "a.2": [{"type": "dupl-subgraph", "tokens": [0], "nodes": ["1", "1.1", "1.2"]}],
}


def graphs():
    return list(parse_amr(AMR.split("\n"), "a.amr"))


def trees(text=TREES):
    return list(parse_conllu(text.split("\n"), "a.conllu"))


def gold(value, text=AMR):
    return read_gold_alignments(
        io.StringIO(value if isinstance(value, str) else json.dumps(value)), [io.StringIO(text)]
    )


def test_gold_alignments_name_nodes_by_their_place():
    assert gold(GOLD) == {
        "a.1": {
            "i": (0,),
            ("s", ":polarity", "-"): (2,),
            "s": (3,),
            "c": (4,),
            "n": (4,),
            ("n", ":op1", '"China"'): (4,),
        },
        "a.2": {"g": (0,), ("g", ":mode", "imperative"): (0,), "y": (0,)},
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{\n\n,}", "<stream>:3: not a file of alignments in JSON"),
        ("[]", "not a file of alignments"),
        ({"a.1": {"tokens": []}}, "not a file of alignments"),
        ({"a.1": [{"tokens": [0]}]}, "not a file of alignments"),
        ({"a.1": [{"tokens": ["x"], "nodes": ["1"]}]}, "not a file of alignments"),
        ({"a.9": []}, "no graph with the id 'a.9'"),
        ({"a.1": [{"tokens": [0], "nodes": ["1.7"]}]}, "the graph 'a.1' has no node 1.7"),
    ],
)
def test_bad_gold_alignments(value, message):
    with pytest.raises(CorpusError, match=message):
        gold(value)


def test_gold_alignments_of_a_graph_that_is_none():
    with pytest.raises(CorpusError, match=r"<stream>: .*'a\.1'.*PENMAN"):
        gold(GOLD, "# ::id a.1\n(s / see-01 :ARG0\n")


def test_the_real_ones(real_data):
    folder = real_data("amr-little-prince")
    corpora = [folder / f"{part}.txt" for part in ("train", "dev", "test")]
    found = [read_gold_alignments(folder / "alignments-gold" / f"leamr_{part}.subgraph.lpp.json", corpora)
             for part in ("dev", "test")]  # fmt: skip
    assert [len(part) for part in found] == [50, 45]
    assert [sum(map(len, part.values())) for part in found] == [347, 281]


def test_scores():
    right = {"a": (0,), "b": (2, 3), "c": (5,)}
    found = score_alignments([right, {}], [{"a": (0,), "b": (3,), "c": (5, 6), "d": (1,)}, {"a": (1,)}])
    assert found == AlignmentScores(right=2, exact=1, predicted=5, gold=3)
    assert (found.precision, found.recall, found.f1, found.exact_f1) == pytest.approx((0.4, 2 / 3, 0.5, 0.25))
    assert score_alignments([], []).to_dict()["f1"] == 0


def test_alignments_in_graphs():
    [sentence, _] = graphs()
    kept = with_alignment(sentence, {"s": (3,), ("s", ":polarity", "-"): (2,)})
    assert dict(kept.graph.alignments) == {"s": (3,)}
    kept.graph.validate()
    with pytest.raises(CorpusError, match="without a graph"):
        with_alignment(Sentence.from_words(["Go"]), {})


def test_nodes_are_without_wiki():
    assert nodes_of(graphs()[0].graph) == ("s", "i", "c", "n", ("s", ":polarity", "-"), ("n", ":op1", '"China"'))


def test_trees_are_found_by_id():
    joined = join_trees(graphs(), trees())
    assert [sentence.column("lemma")[0] for sentence in joined] == ["I", "go"]
    assert joined[0].graph == graphs()[0].graph
    assert join_trees(iter(graphs()), iter(trees())) == joined


def test_trees_without_ids_are_in_order():
    nameless = [replace(tree, comments=()) for tree in reversed(trees())]
    assert join_trees(graphs(), nameless) == join_trees(graphs(), trees())
    with pytest.raises(CorpusError, match=r"a.conllu: 1 trees for 2 graphs"):
        join_trees(graphs(), nameless[:1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TREES.replace("a.2", "a.3"), "a.amr:10: there is no tree with the id 'a.2'"),
        (TREES.replace("a.2", "a.1"), "a.conllu:6: another tree .*'a.1'"),
        (TREES.replace("\tChina\tChina", "\tchina\tChina"), "a.conllu:6: .* word 5 is 'china', and 'China' in"),
        (TREES.replace("6\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_\n", ""), "a.conllu:6: .* has 5 words, .* 6"),
        (TREES.replace("\t4\tpunct", "\t6\tpunct"), "a.conllu:6: .*word 6 .*cycle"),
    ],
)
def test_trees_of_other_sentences(text, message):
    with pytest.raises(CorpusError, match=message):
        join_trees(graphs(), trees(text))


def test_sentences_need_not_be_written_in_the_file_of_graphs():
    [sentence] = parse_amr(["# ::id a.2", "(g / go-02)"])
    [joined] = join_trees([sentence], trees())
    assert joined.forms == ("Go", "!")
    assert joined.graph == Graph("g", (("g", "go-02"),))
