"""Parsers of meaning graphs from the command line: train, parse, evaluate, compare, trace; from trees and words."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from tests.cli.trees import SMALL
from treewright.cli.preparing import pipeline_of, preparation
from treewright.cli.tasks import TASKS
from treewright.corpora import Sentence
from treewright.corpora.amr import read_amr

pytestmark = pytest.mark.filterwarnings("ignore:the words have no")
AMR = """# ::id a.1
# ::snt The boy does n't go .
(g / go-02 :polarity - :ARG0 (b / boy))

# ::id a.2
# ::snt Two dogs bark
(b / bark-01 :ARG0 (d / dog :quant 2))

# ::id a.3
# ::snt The boy wants to go
(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))
"""
TREES = """# sent_id = a.1
1	The	the	DET	DT	_	2	det	_	_
2	boy	boy	NOUN	NN	_	5	nsubj	_	_
3	does	do	AUX	VBZ	_	5	aux	_	_
4	n't	not	PART	RB	_	5	advmod	_	_
5	go	go	VERB	VB	_	0	root	_	_
6	.	.	PUNCT	.	_	5	punct	_	_

# sent_id = a.2
1	Two	two	NUM	CD	_	2	nummod	_	_
2	dogs	dog	NOUN	NNS	_	3	nsubj	_	_
3	bark	bark	VERB	VBP	_	0	root	_	_

# sent_id = a.3
1	The	the	DET	DT	_	2	det	_	_
2	boy	boy	NOUN	NN	_	3	nsubj	_	_
3	wants	want	VERB	VBZ	_	0	root	_	_
4	to	to	PART	TO	_	5	mark	_	_
5	go	go	VERB	VB	_	3	xcomp	_	_

"""
QUICK = ["--bits", 12, "--passes", 2]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "gold.amr").write_text(AMR)
    (folder / "trees.conllu").write_text(TREES)
    return folder


@pytest.fixture(scope="module")
def amr(files, run):
    path = files / "amr.tw"
    train = ("train", "amr", files / "gold.amr", "--trees", files / "trees.conllu")
    said = run(*train, "--dev", files / "gold.amr", "--dev-trees", files / "trees.conllu", "--out", path, *QUICK)
    assert "dev Smatch" in said.stdout
    return path


def test_parse_writes_graphs(run, amr, files, tmp_path):
    out = tmp_path / "parsed.amr"
    run("parse", amr, files / "trees.conllu", "--out", out)
    assert run("parse", amr, files / "trees.conllu").stdout == out.read_text()
    parsed = list(read_amr(out))
    assert [str(one) for one in parsed] == ["The boy does n't go .", "Two dogs bark", "The boy wants to go"]
    assert parsed[0].comments[0] == "# ::id a.1"
    for one in parsed:
        assert one.graph is not None
        one.graph.validate()


def test_other_formats(run, amr, files, tmp_path):
    trees = files / "trees.conllu"
    first = json.loads(run("parse", amr, trees, "--format", "json").stdout.splitlines()[0])
    assert first["id"] == "a.1"
    assert first["tokens"][1]["form"] == "boy"
    assert {node["concept"] for node in first["nodes"]} == {"go-02", "boy"}
    assert [node["words"] for node in first["nodes"] if node["concept"] == "boy"] == [[1]]
    assert first["graph"].startswith("(")
    assert run("parse", amr, trees, "--format", "dot").stdout.count("digraph {") == 3
    page = run("parse", amr, trees, "--format", "html").stdout
    assert page.count("<svg") == 3
    assert page.endswith("</html>\n")
    run("parse", amr, trees, "--format", "svg", "--out", tmp_path / "drawings")
    drawings = sorted((tmp_path / "drawings").iterdir())
    assert [one.name for one in drawings] == ["0001.svg", "0002.svg", "0003.svg"]
    assert ElementTree.parse(drawings[0]).getroot().tag.endswith("svg")
    assert re.search("'ptb'.*penman", run("parse", amr, "-f", "ptb", code=2).stderr)


def test_evaluate_a_model_and_a_file(run, amr, files, tmp_path):
    gold, trees = files / "gold.amr", files / "trees.conllu"
    text = run("evaluate", amr, gold, "--trees", trees).stdout
    for name in (
        "Smatch F1",
        "unlabelled",
        "no-sense",
        "concepts",
        "named-entities",
        "negation",
        "reentrancies",
        "roles",
    ):
        assert name in text
    scores = json.loads(run("evaluate", amr, gold, "--trees", trees, "--json").stdout)
    assert scores["task"] == "amr"
    parsed = tmp_path / "parsed.amr"
    run("parse", amr, trees, "--out", parsed)
    other = json.loads(run("evaluate", parsed, gold, "--json").stdout)
    unseen = scores.pop("unseen")  # which only the model knows
    assert {k: v for k, v in scores.items() if k != "model"} == {k: v for k, v in other.items() if k != "model"}
    assert [(part["what"], part["sentences"], part["f1"]) for part in unseen] == [
        ("words", 3, scores["f1"]),
        ("concepts", 3, scores["f1"]),
    ]
    assert "unseen in training" in text
    named_txt = tmp_path / "parsed.txt"
    named_txt.write_text(parsed.read_text())
    assert json.loads(run("evaluate", named_txt, gold, "--task", "amr", "--json").stdout)["f1"] == scores["f1"]


def test_compare(run, files, tmp_path):
    worse = tmp_path / "worse.amr"
    worse.write_text(AMR.replace("boy", "girl"))
    gold = files / "gold.amr"
    assert "SMATCH %" in run("compare", worse, gold, gold).stdout
    values = json.loads(run("compare", worse, gold, gold, "--json").stdout)
    assert values["b"] == 1.0
    assert values["difference"] == pytest.approx(1 - values["a"])


def test_trace(run, amr, files):
    gold, trees = files / "gold.amr", files / "trees.conllu"
    table = run("trace", "--model", amr, trees, "-n", 1).stdout.splitlines()
    assert table[0].split()[:6] == ["step", "σ", "(stack)", "β", "(buffer)", "action"]
    assert "[go, n't, does, boy, The]" in table[1]
    traced = json.loads(run("trace", "--model", amr, gold, "--trees", trees, "-n", "a.3", "-f", "json").stdout)
    assert traced["text"] == "The boy wants to go"
    assert {"nodes", "edges", "stack", "buffer", "focus", "phase", "pending"} == traced["steps"][0]["state"].keys()
    assert traced["steps"][0]["expert"]
    expert = json.loads(
        run("trace", "--model", amr, gold, "--trees", trees, "-n", "a.3", "-f", "json", "--gold").stdout
    )
    assert expert["steps"][-1]["measures"] == {"loss": 0.0}
    slides = run("trace", "--model", amr, trees, "-n", "a.2", "--style", "graphs").stdout
    assert slides.startswith("0.  σ (stack) [bark, dogs, Two]  β (buffer) []\n    (")
    assert "\n1.  σ [" in slides
    assert slides.count("Next action: ") == slides.count(".  σ ")
    judged = run("trace", "--model", amr, gold, "--trees", trees).stdout
    assert ("any: all actions" in judged) == bool(re.search(r"  any\b", judged))
    tsv = run("trace", "--model", amr, trees, "-n", 2, "--columns", "action,graph", "-f", "tsv").stdout
    assert tsv.startswith("action\tgraph\n")


def test_a_pipeline_makes_the_trees(run, files):
    """``--parser`` takes a pipeline with a dependency parser, such as the bundled one; ``--tagger`` likewise."""
    gold, chosen = files / "gold.amr", ("-n", "a.3", "-f", "json")
    found = json.loads(run("trace", gold, "--parser", "english", *chosen).stdout)
    assert found["steps"][-1]["measures"] == {"loss": 0.0}
    twice = run("trace", gold, "--tagger", "english", "--parser", "english", *chosen, code=2).stderr
    assert "both give upos; leave one out" in twice
    made = pipeline_of([Path("english")], None, None)
    assert {"upos", "xpos"} <= {*made.gives}
    assert not {"words", "dependency", "constituency", "amr"} & {*made.gives}


def test_trace_of_the_expert(run, files):
    """Without a model: the figures 4.3 to 4.9 of the thesis show such steps."""
    gold, trees = files / "gold.amr", files / "trees.conllu"
    traced = json.loads(run("trace", gold, "--trees", trees, "-n", "a.3", "-f", "json").stdout)
    actions = [step["candidates"][step["chosen"]]["action"] for step in traced["steps"] if step["candidates"]]
    assert [action for action in actions if "(" not in action and action != "Done"] == [
        "Delete",
        "NextNode",
        "Delete",
        "NextNode",
        "NextEdge",
        "NextEdge",
        "NextNode",
        "Reentrance",
    ]
    assert traced["steps"][-1]["measures"] == {"loss": 0.0}
    slides = run("trace", gold, "--trees", trees, "-n", "a.2", "--style", "graphs").stdout
    assert "~nummod (n0 / Two)" in slides
    assert ":quant (n0 / 2)" in slides
    assert re.search("leave out --system", run("trace", gold, "--trees", trees, "-s", "arc-eager", code=2).stderr)


def test_expert(run, files, tmp_path):
    gold, trees, out = files / "gold.amr", files / "trees.conllu", tmp_path / "expert.amr"
    scores = json.loads(run("expert", gold, "--trees", trees, "--out", out, "--json").stdout)
    assert scores["f1"] == 1.0
    assert scores["settings"]["insert"] == "word"
    assert json.loads(run("evaluate", out, gold, "--json").stdout)["f1"] == 1.0
    tree = json.loads(run("expert", gold, "--trees", trees, "--no-reentrance", "--json").stdout)
    assert tree["total_gold"] - tree["total_matched"] == 1  # the boy goes
    assert "Smatch F1" in run("expert", gold, "--trees", trees).stdout
    assert re.search(r"gold\.amr:3: .*dependency tree", run("expert", gold, code=2).stderr)
    assert "strict, thesis, node" in run("expert", gold, "--trees", trees, "--swap", "x", code=2).stderr


@pytest.fixture(scope="module")
def tree_parser(tmp_path_factory, run, files):
    path = tmp_path_factory.mktemp("parser") / "parser.tw"
    run("train", "dependency", files / "trees.conllu", "--out", path, *SMALL)
    return path


@pytest.fixture(scope="module")
def taggers(tmp_path_factory, run, files):
    folder = tmp_path_factory.mktemp("taggers")
    for column in ("upos", "xpos"):
        run("train", "tagging", files / "trees.conllu", "--column", column, "-o", folder / f"{column}.tw", *QUICK)
    return folder


def test_from_words(run, amr, files, taggers, tree_parser):
    row = ("--tagger", taggers / "upos.tw", "--tagger", taggers / "xpos.tw", "--parser", tree_parser)
    values = json.loads(run("parse", amr, "-", "-f", "json", *row, input="Two dogs bark\n").stdout)
    assert all({"lemma", "upos", "xpos", "head"} <= token.keys() for token in values["tokens"])
    assert values["nodes"]
    scores = json.loads(run("evaluate", amr, files / "gold.amr", *row, "--json").stdout)
    assert scores["sentences"] == 3
    assert "σ" in run("trace", "--model", amr, "--text", "Two dogs bark", *row).stdout
    tagged = run("parse", tree_parser, "-", "--tagger", taggers / "xpos.tw", "-f", "conllu", input="Two dogs bark\n")
    tags = [line.split("\t")[4] for line in tagged.stdout.splitlines() if line]
    assert len(tags) == 3
    assert set(tags) <= {"CD", "NNS", "VBP", "DT", "NN", "VBZ", "RB", "VB", ".", "TO"}  # those of training; no "_"


def test_training_without_trees(run, files, taggers, tree_parser, tmp_path):
    """Taggers and a parser make the trees, and the model has them with it."""
    gold, out = files / "gold.amr", tmp_path / "amr.tw"
    row = ("--tagger", taggers / "upos.tw", "--tagger", taggers / "xpos.tw", "--parser", tree_parser)
    run("train", "amr", gold, "--dev", gold, *row, "-o", out, *QUICK)
    values = json.loads(run("parse", out, "-", "-f", "json", input="Two dogs bark\n").stdout)
    assert all({"lemma", "upos", "xpos", "head"} <= token.keys() for token in values["tokens"])
    assert json.loads(run("evaluate", out, gold, "--json").stdout)["sentences"] == 3
    said = run("train", "amr", gold, "--treebank", files / "trees.conllu", *row, "-o", out, code=2).stderr
    assert "leave out --tagger" in said
    said = run("train", "amr", gold, "--tagger", taggers / "upos.tw", "-o", out, code=2).stderr
    assert "--parser" in said


@pytest.mark.jit
def test_training_with_a_treebank(run, files, tmp_path):
    gold, out = files / "gold.amr", tmp_path / "amr.tw"
    run("train", "amr", gold, "--treebank", files / "trees.conllu", "-o", out, *QUICK)
    assert json.loads(run("evaluate", out, gold, "--json").stdout)["f1"] > 0.5
    assert "σ" in run("trace", "--model", out, "--text", "Two dogs bark").stdout


@pytest.mark.jit
def test_training_without_anything_but_graphs(run, files, tmp_path):
    gold, out = files / "gold.amr", tmp_path / "amr.tw"
    assert "english" in run("train", "amr", gold, "-o", out, *QUICK).stderr
    assert json.loads(run("evaluate", out, gold, "--json").stdout)["f1"] > 0.5
    assert json.loads(run("parse", out, "-", "-f", "json", input="Two dogs bark\n").stdout)["nodes"]


def test_compare_from_words(run, amr, files, taggers, tree_parser):
    gold = files / "gold.amr"
    row = ("--tagger", taggers / "upos.tw", "--tagger", taggers / "xpos.tw", "--parser", tree_parser)
    values = json.loads(run("compare", amr, gold, gold, *row, "--json").stdout)
    assert values["a"] == json.loads(run("evaluate", amr, gold, *row, "--json").stdout)["f1"]
    assert values["b"] == 1.0
    with_trees = json.loads(run("compare", amr, amr, gold, "--trees", files / "trees.conllu", "--json").stdout)
    assert with_trees["difference"] == 0.0
    assert "a graph is made from a dependency tree" in run("compare", amr, gold, gold, code=2).stderr
    trees = files / "trees.conllu"
    said = run("compare", tree_parser, trees, trees, "--parser", tree_parser, code=2).stderr
    assert "--parser has no meaning for dependency" in said
    said = run("compare", tree_parser, trees, trees, "--trees", trees, code=2).stderr
    assert "--trees has no meaning for dependency" in said


def test_missing_tags(run, amr, taggers, tree_parser):
    """A model that was trained with tags says so where words have none."""
    with pytest.warns(UserWarning, match=r"no tags \(upos and xpos\) and no lemmas.*--tagger upos.tw --tagger xpos.tw"):
        run("parse", tree_parser, "-", input="Two dogs bark\n")
    with pytest.warns(UserWarning, match=r"no tags \(upos\)"):
        run("parse", amr, "-", "--tagger", taggers / "xpos.tw", "--parser", tree_parser, input="Two dogs bark\n")
    both = ("--tagger", taggers / "xpos.tw", "--tagger", taggers / "upos.tw")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the words have no lemmas")
        run("parse", tree_parser, "-", *both, input="Two dogs bark\n")
        run("parse", taggers / "xpos.tw", "-", input="Two dogs bark\n")


def test_missing_features(taggers):
    """Words that get tags, but not the features that a model was trained with."""
    columns = ["upos", "xpos", "feats"]
    trained = SimpleNamespace(card_={"columns": columns}, needs=lambda: columns)
    models = [taggers / "xpos.tw", taggers / "upos.tw"]
    prepare = preparation(TASKS["dependency"], trained, models, None)
    with pytest.warns(UserWarning, match=r"no tags \(feats\).*--tagger feats.tw"):
        prepare([Sentence.from_words(["Two", "dogs"])], 1)


def test_missing_lemmas():
    """A model that has a table of lemmas does not need them."""
    words = [Sentence.from_words(["Two", "dogs"]).with_column("upos", ["NUM", "NOUN"])]
    columns = ["upos", "feats", "lemma"]
    for table, warned in (({}, True), ({"lemmas_": {}}, False)):
        trained = SimpleNamespace(card_={"columns": columns}, needs=lambda: columns, **table)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            preparation(TASKS["dependency"], trained, None, None)(words, 1)
        assert [str(warning.message).startswith("the words have no lemmas") for warning in found] == [True] * warned


def test_models_that_make_something_else(run, amr, taggers, tree_parser):
    said = run("parse", amr, "-", "--tagger", tree_parser, input="a\n", code=2).stderr
    assert "model for dependency" in said
    said = run("parse", amr, "-", "--parser", taggers / "upos.tw", input="a\n", code=2).stderr
    assert "model for tagging" in said
    said = run("parse", amr, "-", *["--tagger", taggers / "upos.tw"] * 2, input="a\n", code=2).stderr
    assert "both give upos" in said
    said = run("parse", taggers / "upos.tw", "-", "--parser", tree_parser, input="a\n", code=2).stderr
    assert "--parser has no meaning for tagging" in said


def test_settings(run, files, tmp_path):
    config = tmp_path / "amr.toml"
    train = ("train", "amr", files / "gold.amr", "--trees", files / "trees.conllu", *QUICK)
    config.write_text(run(*train, "--no-reentrance", "--loss", "penalty", "--print-config").stdout)
    assert f'trees = "{files / "trees.conllu"}"' in config.read_text()
    again = run("train", "amr", "--config", config, "--print-config").stdout
    assert again == config.read_text()
    assert "reentrance = false" in again


# ---- bad input


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# ::snt a\n(w / want-01\n   :ARG0 (b / boy)\n", "bad.amr:3: not a graph in PENMAN notation"),
        ("(w / want-01 :ARG0 )) )\n", "bad.amr:1: "),
        ("# ::snt a\n()\n", "bad.amr:2: a graph without a top: write (variable / concept)"),
        ("# ::snt a\n(w / want-01)\n(b / boy)\n", "bad.amr:3: '(b / boy)' follows the end of the graph"),
        ("# ::snt a\n(a / b\n  :ARG0 (a / c))\n", "bad.amr:2: the variable 'a' has more than one concept; rename one"),
        ("", "bad.amr: no graph in it: it is empty"),
    ],
    ids=["not PENMAN", "unbalanced", "no top", "disconnected", "duplicate ids", "empty file"],
)
@pytest.mark.parametrize("verb", ["train", "evaluate", "diff", "compare", "align"])
def test_bad_graphs(run, amr, files, tmp_path, verb, text, message):
    bad = tmp_path / "bad.amr"
    bad.write_text(text)
    gold, trees = files / "gold.amr", files / "trees.conllu"
    command = {
        "train": ("train", "amr", bad, "--trees", trees, "-o", tmp_path / "x.tw"),
        "evaluate": ("evaluate", amr, bad, "--trees", trees),
        "diff": ("diff", gold, bad),
        "compare": ("compare", gold, bad, gold),
        "align": ("align", bad, "--format", "html"),
    }[verb]
    said = run(*command, code=2).stderr
    assert message in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("\tboy\tboy", "\tgirl\tgirl"),
            "trees.conllu:2: not the tree of the same sentence: word 2 is 'girl', and 'boy'",
        ),
        (("# sent_id = a.2", "# sent_id = b"), "gold.amr:7: there is no tree with the id 'a.2'"),
        (
            ("6\t.\t.\tPUNCT\t.\t_\t5\tpunct\t_\t_\n", ""),
            "trees.conllu:2: not the tree of the same sentence: it has 5 words",
        ),
    ],
    ids=["another word", "another sentence", "a word less"],
)
def test_trees_that_do_not_match(run, amr, files, tmp_path, change, message):
    trees = tmp_path / "trees.conllu"
    trees.write_text(TREES.replace(*change))
    for command in (
        ("train", "amr", files / "gold.amr", "--trees", trees, "-o", tmp_path / "x.tw"),
        ("evaluate", amr, files / "gold.amr", "--trees", trees),
    ):
        assert message in run(*command, code=2).stderr


def test_no_trees_and_no_gold(run, amr, files, tmp_path):
    said = run("parse", amr, "-", input="Two dogs bark\n", code=2).stderr
    assert re.search("<stdin>:1: .*dependency tree", said)
    assert "--trees" in said
    said = run("evaluate", amr, files / "gold.amr", code=2).stderr
    assert re.search(r"gold\.amr:3: .*dependency tree", said)
    said = run("evaluate", amr, files / "trees.conllu", "--input-format", "conllu", code=2).stderr
    assert re.search(r"trees\.conllu:2: .*no graph", said)
    said = run("evaluate", files / "gold.amr", files / "gold.amr", "--trees", files / "trees.conllu", code=2).stderr
    assert "are for models, which parse" in said


def test_an_id_that_two_graphs_have(run, files, tmp_path):
    """Where ids say which tree is whose, that is an error; elsewhere it deserves a warning."""
    twice, trees = tmp_path / "twice.amr", tmp_path / "trees.conllu"
    twice.write_text(AMR.replace("a.3", "a.1"))
    trees.write_text(TREES)
    message = "twice.amr:11: the graph in line 3 has the id 'a.1', too"
    for command in (("smatch", twice, files / "gold.amr"), ("evaluate", twice, twice), ("align", twice)):
        with pytest.warns(UserWarning, match=message):
            run(*command)
    command = ("train", "amr", twice, "--trees", trees, "-o", tmp_path / "x.tw")
    assert message in run(*command, code=2).stderr
    assert message in run("align", twice, "--trees", trees, code=2).stderr
    trees.write_text(TREES.replace("# sent_id", "# id"))
    with pytest.warns(UserWarning, match=message):
        run("align", twice, "--trees", trees)


def test_trees_with_several_roots(run, files, tmp_path):
    trees = tmp_path / "trees.conllu"
    trees.write_text(TREES.replace("1\tTwo\ttwo\tNUM\tCD\t_\t2\tnummod", "1\tTwo\ttwo\tNUM\tCD\t_\t0\troot"))
    command = ("train", "amr", files / "gold.amr", "--trees", trees, "-o", tmp_path / "x.tw", *QUICK)
    with pytest.warns(UserWarning, match=r"gold.amr:7: the tree of this sentence has several roots.*1 such sentence"):
        run(*command)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(*command, "--quiet")


def test_parts_that_nobody_has(run, files):
    """Neither graph has entities with names, so that there is no score for them."""
    text = run("evaluate", files / "gold.amr", files / "gold.amr").stdout
    rows = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    assert rows["named-entities"] == ["–", "–", "–", "0"]
    assert rows["negation"] == ["100.00", "100.00", "100.00", "1"]
    text = run("smatch", files / "gold.amr", files / "gold.amr", "--breakdown").stdout
    rows = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    assert rows["named-entities"] == ["–", "–", "–", "0"]
    assert rows["negation"] == ["1.00", "1.00", "1.00", "1"]


def test_other_sentences(run, files, tmp_path):
    other = tmp_path / "other.amr"
    other.write_text(AMR.replace("a.2", "b"))
    said = run("evaluate", other, files / "gold.amr", code=2).stderr
    assert re.search(r"other\.amr:7: sentence 2 .*'b'.*'a\.2'", said)
    other.write_text(AMR.split("\n\n")[0] + "\n")
    assert "3 gold graphs and 1 predicted ones" in run("evaluate", other, files / "gold.amr", code=2).stderr


def test_a_sentence_without_words(run, amr, files, tmp_path):
    empty = tmp_path / "empty.amr"
    empty.write_text("# ::id 1\n(b / boy)\n")
    assert "empty.amr:2: this sentence has no words" in run("evaluate", amr, empty, code=2).stderr
    assert run("parse", amr, "-", input="").stdout == ""


@pytest.mark.jit
def test_a_long_sentence(run, amr, tmp_path):
    rows = [f"{k}\tgo\tgo\tVERB\tVB\t_\t{k // 2}\t{'conj' if k > 1 else 'root'}\t_\t_" for k in range(1, 201)]
    long = tmp_path / "long.conllu"
    long.write_text("\n".join(rows) + "\n\n")
    out = tmp_path / "long.amr"
    run("parse", amr, long, "--out", out)
    [parsed] = read_amr(out)
    assert parsed.graph is not None
    parsed.graph.validate()
    assert run("parse", amr, long, "-f", "svg").stdout.count("<text") >= 200


def test_options_of_other_tasks(run, amr, files):
    trees = files / "trees.conllu"
    assert "leave them out" in run("trace", "--model", amr, trees, "--style", "edges", code=2).stderr
    assert "not a graph" in run("trace", trees, "--style", "graphs", code=2).stderr
    assert "--k-best has no meaning for amr" in run("parse", amr, trees, "--k-best", 2, code=2).stderr
    assert "are for models, which parse" in run("compare", trees, trees, trees, "--trees", trees, code=2).stderr


def test_a_graph_alone_cannot_be_followed(run, files):
    said = run("trace", files / "gold.amr", code=2).stderr
    assert "gold.amr:3: this is a meaning graph" in said
    assert "add --trees" in said
