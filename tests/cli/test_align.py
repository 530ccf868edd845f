import json
import re

import pytest

AMR = """# ::id a.1
# ::snt The boy does n't go .
(g / go-02 :polarity - :ARG0 (b / boy) :time (z / zzz))

# ::snt Two dogs
(d / dog :quant 2)
"""
TREES = """# sent_id = a.1
1	The	the	DET	DT	_	2	det	_	_
2	boy	boy	NOUN	NN	_	5	nsubj	_	_
3	does	do	AUX	VBZ	_	5	aux	_	_
4	n't	not	PART	RB	_	5	advmod	_	_
5	go	go	VERB	VB	_	0	root	_	_
6	.	.	PUNCT	.	_	5	punct	_	_

1	Two	two	NUM	CD	_	2	nummod	_	_
2	dogs	dog	NOUN	NNS	_	0	root	_	_
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.delenv("TREEWRIGHT_DATA", raising=False)
    paths = [tmp_path / name for name in ("corpus.amr", "corpus.conllu")]
    for path, text in zip(paths, (AMR, TREES), strict=True):
        path.write_text(text)
    return paths


def test_words_and_nodes_side_by_side(run, files):
    result = run("align", files[0])
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["a.1"],
        ["1", "The"],
        ["2", "boy", "boy"],
        ["3", "does"],
        ["4", "n't", ":polarity", "-"],
        ["5", "go", "go-02"],
        ["6", "."],
        ["–", "zzz"],
        [],
        ["1", "Two", ":quant", "2"],
        ["2", "dogs", "dog"],
        [],
    ]
    assert result.stderr == "2 graphs; words for 5 of 6 nodes\n"


def test_standard_input_and_json(run, files):
    lines = run("align", "-", "--json", input=AMR).stdout.splitlines()
    first, second = map(json.loads, lines)
    assert first["id"] == "a.1"
    assert first["words"] == ["The", "boy", "does", "n't", "go", "."]
    assert first["nodes"][0] == {"node": "g", "label": "go-02", "words": [4]}
    assert first["nodes"][2] == {"node": "z", "label": "zzz", "words": []}
    assert first["nodes"][3] == {"node": ["g", ":polarity", "-"], "label": ":polarity -", "words": [3]}
    assert second["id"] is None
    assert run("align", "-", "--format", "json", input=AMR).stdout.splitlines() == lines
    assert (first["top"], first["edges"][0]) == ("g", ["g", ":ARG0", "b"])
    assert first["graph"].startswith("(g / go-02")


@pytest.mark.parametrize("aligner", ["rules", "improved"])
def test_with_trees(run, files, aligner):
    amr, trees = files
    lines = run("align", amr, "--trees", trees, "--aligner", aligner, "--json").stdout.splitlines()
    assert [[node["words"] for node in json.loads(line)["nodes"]] for line in lines] == [
        [[4], [1], [], [3]],
        [[1], [0]],
    ]


def test_one_is_no_plural(run):
    said = run("align", "-", input="# ::snt dog\n(d / dog)\n").stderr
    assert said == "1 graph; words for 1 of 1 node\n"


def test_dictionaries(run, files, tmp_path, monkeypatch):
    folder = tmp_path / "amr-dictionaries"
    folder.mkdir()
    (folder / "verbalization-list.txt").write_text("VERBALIZE boy TO zzz-01\n")
    assert "6 of 6" not in run("align", files[0]).stderr
    (folder / "verbalization-list.txt").write_text("VERBALIZE does TO zzz-01\n")
    assert "6 of 6 nodes" in run("align", files[0], "--dictionaries", folder).stderr
    monkeypatch.setenv("TREEWRIGHT_DATA", str(tmp_path))
    assert "6 of 6 nodes" in run("align", files[0]).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(w / want-01\n", "bad.amr:1: not a graph in PENMAN notation"),
        ("# ::id 1\n(w / want-01)\n", "bad.amr:2: cannot be aligned without words: write them in a comment"),
        ("", "bad.amr: no graph in it"),
    ],
)
def test_bad_files(run, tmp_path, text, message):
    bad = tmp_path / "bad.amr"
    bad.write_text(text)
    said = run("align", bad, code=2).stderr
    assert message in said
    assert "Traceback" not in said


def test_trees_of_other_sentences(run, files):
    amr, trees = files
    trees.write_text(TREES.replace("\tboy\tboy", "\tgirl\tgirl"))
    said = run("align", amr, "--trees", trees, code=2).stderr
    assert re.search(r"corpus\.conllu:2: .*word 2 .*'girl'.*'boy'", said)


def test_bad_commands(run, files, tmp_path):
    assert (
        "there is no aligner 'best'; choose one of rules, improved"
        in run("align", files[0], "--aligner", "best", code=2).stderr
    )
    assert "--json is --format json" in run("align", files[0], "--json", "-f", "dot", code=2).stderr
    assert "needs dependency trees" in run("align", files[0], "--aligner", "improved", code=2).stderr
    assert "only one of the two" in run("align", "-", "--trees", "-", code=2).stderr
    assert "there is no such folder" in run("align", files[0], "--dictionaries", tmp_path / "nix", code=2).stderr
    assert "there is no such file" in run("align", "nix.amr", code=2).stderr
