from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.trees import SMALL, conllu
from treewright import load
from treewright.cli.trace import COLUMNS
from treewright.corpora import load_corpus
from treewright.dependency.trace import trace_gold
from treewright.reports import LAYOUTS
from treewright.tracing import Trace

pytestmark = pytest.mark.filterwarnings("ignore:the words have no")
LECTURES = Path(__file__).resolve().parents[2] / "docs" / "lectures.conllu"

FIG_14_8 = """\
Step\tStack\tWord List\tPredicted Action
0\t[root]\t[book, the, flight, through, houston]\tSHIFT
1\t[root, book]\t[the, flight, through, houston]\tSHIFT
2\t[root, book, the]\t[flight, through, houston]\tSHIFT
3\t[root, book, the, flight]\t[through, houston]\tLEFTARC
4\t[root, book, flight]\t[through, houston]\tSHIFT
5\t[root, book, flight, through]\t[houston]\tSHIFT
6\t[root, book, flight, through, houston]\t[]\tLEFTARC
7\t[root, book, flight, houston]\t[]\tRIGHTARC
8\t[root, book, flight]\t[]\tRIGHTARC
9\t[root, book]\t[]\tRIGHTARC
10\t[root]\t[]\tDone
"""

ACTIONS = """\
Action\tHead Index\tHead Word\tDep Index\tDep Word
S\t\t\t\t
S\t\t\t\t
l\t3\tcat\t2\tfat
l\t3\tcat\t1\tthe
S\t\t\t\t
l\t4\tsat\t3\tcat
S\t\t\t\t
S\t\t\t\t
S\t\t\t\t
l\t7\tmat\t6\tthe
r\t5\ton\t7\tmat
r\t4\tsat\t5\ton
r\t0\tNone\t4\tsat
S\t\t\t\t
"""

LAST_SLIDES = """\
Stack   Buffer
[root]  [am]
Edges
  I ← am
  very ← model
  the ← model
  major ← general
  modern ← general
  a ← general
  of → general
  model → of
  am → model
Next action: 19. Right

Stack  Buffer
[]     [root]
Edges
  I ← am
  very ← model
  the ← model
  major ← general
  modern ← general
  a ← general
  of → general
  model → of
  am → model
  root → am
Next action: 20. Shift

Stack   Buffer
[root]  []
Edges
  I ← am
  very ← model
  the ← model
  major ← general
  modern ← general
  a ← general
  of → general
  model → of
  am → model
  root → am
"""


def lines(text):
    return [line.rstrip() for line in text.splitlines()]


def rows(text):
    """The cells of a table, whatever the columns are padded with."""
    return [line.split("\t") for line in text.splitlines()]


class TestLectures:
    def test_fig_14_8(self, run):
        command = ("trace", LECTURES, "--sentence", "flight", "--style", "fig-14.8")
        assert run(*command, "--format", "tsv").stdout == FIG_14_8
        shown = lines(run(*command).stdout)
        assert shown[0].split("  ")[0] == "Step"
        assert ["".join(line.split()) for line in shown] == ["".join("".join(row).split()) for row in rows(FIG_14_8)]

    def test_edges(self, run):
        text = run("trace", LECTURES, "--sentence", "general", "--style", "edges").stdout
        assert text.count("Next action: ") == 20
        assert lines(text)[-len(LAST_SLIDES.splitlines()) :] == LAST_SLIDES.splitlines()
        assert lines(text)[:5] == [
            "Stack   Buffer",
            "[root]  [I, am, the, very, model, of, a, modern, major, general]",
            "Edges",
            "Next action: 1. Shift",
            "",
        ]

    def test_edges_as_rows(self, run):
        text = run("trace", LECTURES, "-n", "news", "--style", "edges", "-f", "tsv").stdout
        header, *body = rows(text)
        assert header == ["Stack", "Buffer", "Edges", "Next action"]
        assert body[11] == [
            "[root, had, effect, on]",
            "[markets, .]",
            "economic ← news, news ← had, little ← effect, financial ← markets",
            "12. Right",
        ]
        assert body[-1][0::3] == ["[root]", ""]

    def test_actions(self, run):
        text = run("trace", LECTURES, "-n", "cat", "--style", "actions", "-f", "tsv").stdout
        assert text == ACTIONS

    def test_arc_eager(self, run):
        command = ("trace", LECTURES, "-n", "letter", "-s", "arc-eager", "-f", "tsv", "--columns")
        moves = run(*command, "transition").stdout.split("\n")[1:-2]
        assert " ".join(moves) == "SH LA_SBJ RA_PRD RA_IOBJ SH LA_DET RE RA_DOBJ RE RA_P"
        assert rows(run(*command, "zero-cost").stdout)[5] == ["SH, RE"]

    def test_after_a_wrong_move(self, run):
        command = ("trace", LECTURES, "-n", "letter", "-s", "arc-eager", "--moves", "SH LA RA SH", "-f", "json")
        for oracle, loss in (("static", 3), ("dynamic", 1)):
            steps = json.loads(run(*command, "--oracle", oracle).stdout)["steps"]
            costs = {one["action"].partition("_")[0]: one["cost"] for one in steps[4]["candidates"]}
            assert costs == {"SH": 0, "LA": 0, "RA": 1}
            assert steps[-1]["measures"]["errors"] == loss


class TestOutput:
    def test_steps(self, run):
        header, *body = lines(run("trace", LECTURES, "-n", 1).stdout)
        assert header.split() == ["step", "stack", "buffer", "transition", "arc", "costs"]
        assert len(body) == 11
        assert "LEFTARC_det" in body[3]
        assert "the ← flight" in body[3]
        assert "SHIFT 0, LEFTARC 0, RIGHTARC 3" in body[3]

    def test_unlabelled(self, run):
        assert "LEFTARC_det" not in run("trace", LECTURES, "-n", 1, "--unlabelled").stdout

    def test_long_sentences_are_not_folded(self, run, tmp_path):
        file = tmp_path / "long.conllu"
        file.write_text(conllu("a:0 " + " ".join(f"word{k}:1" for k in range(2, 90))))
        text = run("trace", file, "-s", "arc-hybrid").stdout
        assert len(text.splitlines()) == 2 * 89 + 2

    def test_json(self, run):
        found = [json.loads(line) for line in run("trace", LECTURES, "-f", "json").stdout.splitlines()]
        assert [one["sentence"] for one in found] == [1, 2, 3, 4, 5]
        assert found[0]["text"] == "book the flight through houston"
        step = found[0]["steps"][3]
        assert step["candidates"][step["chosen"]] == {"action": "LEFTARC_det", "cost": 0.0}
        assert found[0]["steps"][4]["state"]["arcs"] == [{"head": 3, "dependent": 2, "label": "det"}]
        assert found[0]["steps"][-1]["chosen"] is None
        assert Trace.from_json(found[0]) == trace_gold(load_corpus(LECTURES)[0])

    def test_all_sentences(self, run):
        text = run("trace", LECTURES).stdout
        assert "\n3: I am the very model of a modern major general\n" in text
        assert text.count("Done") == 5

    def test_columns(self, run):
        text = run("trace", LECTURES, "-n", 1, "--columns", "step, action,errors", "-f", "tsv").stdout
        assert rows(text)[:2] == [["step", "action", "errors"], ["0", "SHIFT", "0"]]

    def test_every_column(self, run):
        known = LAYOUTS["transitions"].columns
        text = run("trace", LECTURES, "-n", 1, "--columns", ",".join(known), "-f", "tsv").stdout
        assert {len(row) for row in rows(text)} == {len(known)}

    def test_the_help_knows_all_columns(self):
        assert {kind: names.split(", ") for kind, names in COLUMNS.items()} == {
            kind: list(layout.columns) for kind, layout in LAYOUTS.items()
        }

    @pytest.mark.parametrize(("system", "letters"), [("arc-eager", "S l r e"), ("swap", "S l r w")])
    def test_letters_of_other_systems(self, run, tmp_path, system, letters):
        file = tmp_path / "x.conllu"
        file.write_text(conllu("a:3 b:4 c:0 d:3" if system == "swap" else "a:2 b:0 c:2 d:2"))
        text = run("trace", file, "-s", system, "--style", "actions", "-f", "tsv").stdout
        assert {row[0] for row in rows(text)[1:]} == set(letters.split())

    def test_standard_input(self, run):
        assert "Done" in run("trace", "-", input=conllu("a:2 b:0") + conllu("a:0")).stdout

    @pytest.mark.parametrize("system", ["arc-standard", "arc-standard-buffer", "arc-eager", "arc-hybrid", "swap"])
    def test_one_word(self, run, tmp_path, system):
        file = tmp_path / "one.conllu"
        file.write_text(conllu("Stop:0:root"))
        text = run("trace", file, "-s", system, "--columns", "arc", "-f", "tsv").stdout
        assert "root → Stop" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "name a file"),
        ((LECTURES, "--text", "a"), "name a file"),
        (("--text", "Time flies"), "add --model"),
        ((LECTURES, "-n", "9"), "there is no sentence '9': neither a sent_id nor a number up to 5"),
        ((LECTURES, "-n", "nix"), "there is no sentence 'nix'"),
        ((LECTURES, "--style", "baroque"), "there is no style 'baroque'; choose one of steps, fig-14.8"),
        ((LECTURES, "--format", "xml"), "there is no format 'xml'; choose one of table, tsv, json"),
        ((LECTURES, "--columns", "stack,heap"), "there is no column 'heap'; there are: step, stack"),
        ((LECTURES, "--columns", ","), "name some columns"),
        ((LECTURES, "--system", "arc-lazy"), "system cannot be 'arc-lazy'"),
        ((LECTURES, "--oracle", "delphi"), "oracle cannot be 'delphi'"),
        ((LECTURES, "--system", "swap", "--oracle", "dynamic"), "has no dynamic oracle"),
        ((LECTURES, "-n", "1", "--moves", "LEFTARC"), "move 1, LEFTARC, is not possible there"),
        ((LECTURES, "-n", "1", "--moves", "JUMP"), "there is no move 'JUMP'"),
        ((LECTURES, "--gold"), "--gold is for models"),
        ((LECTURES, "--style", "graphs"), "not a graph in PENMAN notation"),
        (("nix.conllu",), "nix.conllu"),
    ],
)
def test_mistakes(run, args, said):
    result = run("trace", *args, code=2)
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_words_alone_have_no_tree(run, tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("Time flies\n")
    assert f"{file}:1: word 1 'Time' has no head" in run("trace", file, code=2).stderr


@pytest.fixture(scope="module")
def parser(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("parser")
    run("corpus", folder, "--train", 60, "--dev", 0, "--test", 5)
    run("train", "dependency", folder / "train.conllu", "-o", folder / "m.tw", *SMALL)
    return folder / "m.tw"


class TestModel:
    @pytest.mark.jit
    def test_text(self, run, parser):
        command = ("trace", "--model", parser, "--text", "She sleeps .")
        text = run(*command).stdout
        assert "scores" in text
        assert "costs" not in text
        assert text.count("Done") == 1
        arcs = rows(run(*command, "--columns", "head,dependent", "-f", "tsv").stdout)[1:]
        drawn = json.loads(run("parse", parser, "-f", "json", input="She sleeps .\n").stdout)["tokens"]
        heads = {int(dependent): int(head) for head, dependent in arcs if head}
        assert [heads[k] for k in (1, 2, 3)] == [token["head"] for token in drawn]

    @pytest.mark.jit
    def test_gold_trees_give_costs(self, run, parser):
        command = ("trace", "--model", parser, parser.with_name("test.conllu"), "-n", 2)
        assert "costs" in run(*command).stdout
        values = json.loads(run(*command, "-f", "json").stdout)
        assert values["has_gold"]
        assert values["steps"][-1]["measures"].keys() == {"errors"}
        sentence = load_corpus(parser.with_name("test.conllu"))[1]
        assert Trace.from_json(values) == load(parser).trace(sentence, sentence)
        fewer = json.loads(run(*command, "-f", "json", "--top", 1).stdout)["steps"]
        assert {len(step["candidates"]) for step in fewer} == {0, 1}
        expert = json.loads(run(*command, "-f", "json", "--gold").stdout)
        assert expert["steps"][-1]["measures"] == {"errors": 0.0}
        assert "_" not in "".join(
            row[0] for row in rows(run(*command, "--unlabelled", "--columns", "transition").stdout)[1:]
        )

    @pytest.mark.jit
    def test_the_hypothesis_that_wins_in_a_beam_is_followed(self, run, parser, tmp_path):
        out = tmp_path / "beam.tw"
        run("train", "dependency", parser.with_name("train.conllu"), "-o", out, *SMALL, "--beam", 2)
        values = json.loads(run("trace", "--model", out, "--text", "She sleeps .", "-f", "json").stdout)
        [(heads, labels)] = load(out).arcs([["She", "sleeps", "."]])
        assert values["result"] == {"heads": heads, "labels": labels}
        assert values["metadata"]["beam"] == 2

    @pytest.mark.jit
    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("--text", "a", "--system", "swap"), "a model has its own system"),
            (("--text", "a", "-n", "1"), "leave out --sentence"),
            (("--text", " "), "there are no words"),
        ],
    )
    def test_mistakes(self, run, parser, args, said):
        assert said in run("trace", "--model", parser, *args, code=2).stderr


class TestTagger:
    def test_labels(self, run, model, data):
        header, *body = rows(run("trace", "--model", model, data / "test.conllu", "-n", 1, "-f", "tsv").stdout)
        assert header[:5] == ["step", "word", "label", "probability", "correct"]
        sentence = load_corpus(data / "test.conllu")[0]
        [labels] = load(model).labels([sentence])
        assert [row[1:3] for row in body] == [list(pair) for pair in zip(sentence.forms, labels, strict=True)]
        values = json.loads(run("trace", "--model", model, "--text", "the cat", "-f", "json").stdout)
        assert (values["kind"], values["has_gold"]) == ("tags", False)
        gold = run(
            "trace", "--model", model, data / "test.conllu", "-n", 1, "--gold", "--columns", "label,errors", "-f", "tsv"
        )
        assert [row[0] for row in rows(gold.stdout)[1:]] == list(sentence.column("upos"))

    def test_options_of_parsers(self, run, model):
        command = ("trace", "--model", model, "--text", "a")
        assert "for dependency parsers; leave them out" in run(*command, "--unlabelled", code=2).stderr
        assert "for AMR parsers; leave them out" in run(*command, "--style", "graphs", code=2).stderr
        assert "--tagger has no meaning for tagging" in run(*command, "--tagger", model, code=2).stderr
