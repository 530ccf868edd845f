"""Dependency parsers from the command line: train, parse, evaluate, info, and bad trees."""

from __future__ import annotations

import json
import os
import tomllib
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from tests.cli.trees import SMALL, conllu
from treewright.corpora import builtin_corpus, load_corpus, write_conllu
from treewright.dependency import DependencyParser, score_dependencies

# Each is a file, the line to blame, and what is said.
pytestmark = pytest.mark.filterwarnings("ignore:the words have no")
BAD = {
    "cycle": ("a:2 b:3 c:1 d:0", 1, "a cycle"),
    "two roots": ("a:0 b:1 c:0", 3, "2 roots (word 1 'a', word 3 'c')"),
    "no root": ("a:2 b:1", 1, "no root"),
    "outside": ("a:2 b:0 c:7", 3, "points outside the sentence, which has 3 word(s)"),
    "its own head": ("a:2 b:0 c:3", 3, "word 3 'c' is its own head"),
    "no number": ("a:2 b:zero", 2, "HEAD (column 7) must be 0 (root), the id of a word, or _, not 'zero'"),
    "negative": ("a:-1 b:0", 1, "HEAD (column 7) must be"),
    "missing": ("a:2 b:0 c:_", 3, "word 3 'c' has no head"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("trees")
    run("corpus", folder, "--train", 60, "--dev", 10, "--test", 10)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory, run, data):
    path = tmp_path_factory.mktemp("parser") / "parser.tw"
    run("train", "dependency", data / "train.conllu", "--dev", data / "dev.conllu", "--out", path, *SMALL)
    return path


@pytest.fixture(scope="module")
def parsed(tmp_path_factory, run, model, data):
    path = tmp_path_factory.mktemp("parsed") / "parsed.conllu"
    run("parse", model, data / "test.conllu", "--out", path)
    return path


@pytest.mark.jit
class TestTraining:
    def test_a_row_a_pass_and_a_model(self, run, data, tmp_path):
        out = tmp_path / "m.tw"
        result = run("train", "dependency", data / "train.conllu", "--dev", data / "dev.conllu", "-o", out, *SMALL)
        header, first, _, summary = result.stdout.splitlines()
        assert header.split()[3:5] == ["dev", "LAS"]
        assert first.split()[0] == "1"
        assert "dev LAS" in summary
        assert os.listdir(tmp_path) == ["m.tw"]

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", ["accurate", "fast"])
    def test_the_default_templates(self, run, data, tmp_path, mode):
        out = tmp_path / "m.tw"
        run("train", "dependency", data / "train.conllu", "-o", out, "--bits", 14, "-n", 3, "--mode", mode)
        assert json.loads(run("info", out, "--json").stdout)["params"]["features"] == "rich"
        scores = json.loads(run("evaluate", out, data / "train.conllu", "--json").stdout)
        assert scores["las"] > 0.9

    def test_every_setting_reaches_the_model(self, run, data, tmp_path):
        out = tmp_path / "m.tw"
        given = "--system arc-eager --oracle static --beam 2 --min-count 2 --label-weight 0.5 --seed 3"
        run("train", "dependency", data / "train.conllu", "-o", out, *SMALL, *given.split())
        params = json.loads(run("info", out, "--json").stdout)["params"]
        assert {name: value for name, value in params.items() if name != "learner"} == {
            "system": "arc-eager", "features": "basic", "mode": "accurate", "oracle": "static", "beam": 2,
            "bits": 12, "min_count": 2, "label_weight": 0.5, "seed": 3,
            "policy": "linear", "vectors": None, "max_vectors": 100_000, "input_columns": ["upos", "xpos"],
            "output_columns": [],
            "teacher": None, "tag_loss": 0.0, "device": "auto",
        }  # fmt: skip
        assert "arc-eager" in run("info", out).stdout


class TestSettings:
    def config(self, run, *args):
        return tomllib.loads(run("train", "dependency", *args, "--print-config").stdout)

    def test_defaults(self, run):
        config = self.config(run)
        assert (config["system"], config["features"]) == ("arc-hybrid", "rich")

    @pytest.mark.parametrize(
        ("text", "features"),
        [
            ("basic", "basic"),
            ("s0.w", ["s0.w"]),
            ("s0.w; s0.t b0.t;", ["s0.w", "s0.t b0.t"]),
        ],
    )
    def test_templates_are_separated_by_semicolons(self, run, text, features):
        assert self.config(run, "--features", text)["features"] == features

    @pytest.mark.parametrize(
        "text",
        [
            'features = ["s0.w", "s0.t b0.t"]\n',
            '[features]\nmoves = ["s0.w"]\nlabels = ["h.w d.w"]\n',
            'features = "basic"\nlabel-weight = 0\n',
        ],
    )
    def test_printed_configuration_gives_itself_back(self, run, tmp_path, text):
        file, again = tmp_path / "c.toml", tmp_path / "again.toml"
        file.write_text(text)
        printed = run("train", "dependency", "--config", file, "--print-config").stdout
        again.write_text(printed)
        assert run("train", "dependency", "--config", again, "--print-config").stdout == printed
        assert tomllib.loads(printed)["features"] == tomllib.loads(text)["features"]

    @pytest.mark.parametrize("text", ["features = 3", "features = [1]", "[features]\nmoves = 's0.w'"])
    def test_features_of_another_kind(self, run, tmp_path, text):
        file = tmp_path / "c.toml"
        file.write_text(text)
        message = run("train", "dependency", "--config", file, "--print-config", code=2).stderr
        assert message.startswith(f"error: {file}:1: features must be the name of a set")

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("--system", "arc-lazy"), "--system cannot be 'arc-lazy'; it is one of: arc-standard"),
            (("--mode", "slow"), "--mode cannot be 'slow'"),
            (("--oracle", "delphi"), "--oracle cannot be 'delphi'"),
            (("--features", "poor"), "--features cannot be 'poor'; it is one of: basic, rich"),
            (("--features", "s0.x"), "in the template 's0.x': a word has no attribute 'x'"),
            (("--features", ";"), "at least one template"),
            (("--label-weight", "2"), "--label-weight must be a number that is at least 0 and at most 1"),
            (("--beam", "0"), "--beam must be"),
        ],
    )
    def test_mistakes(self, run, data, tmp_path, args, said):
        message = run("train", "dependency", data / "train.conllu", "-o", tmp_path / "m.tw", *args, code=2).stderr
        assert said in message
        assert message.count("\n") == 1


@pytest.mark.jit
class TestParse:
    def test_keeps_everything_but_the_tree(self, run, model, data):
        gold = load_corpus(data / "test.conllu")
        rows = [row.split("\t") for row in run("parse", model, data / "test.conllu").stdout.splitlines() if row]
        rows = [row for row in rows if row[0][0] != "#"]
        tokens = [token for sentence in gold for token in sentence]
        assert [(row[1], row[3], row[4]) for row in rows] == [(t.form, t.upos, t.xpos) for t in tokens]
        assert sum(int(row[6]) == t.head for row, t in zip(rows, tokens, strict=True)) > 0.4 * len(rows)

    def test_text_is_a_drawing(self, run, model):
        drawing = run("parse", model, input="She sleeps .\n").stdout.splitlines()
        assert len(drawing) == 4
        assert [line.split()[-3] for line in drawing[:3]] == ["She", "sleeps", "."]
        assert drawing[3] == ""

    def test_two_columns_in_are_conllu_out(self, run, model):
        assert run("parse", model, input="She\tPRON\nsleeps\tVERB\n\n").stdout.startswith("1\tShe\t_\tPRON\t_\t_\t")
        assert "choose one of conllu, text, svg" in run("parse", model, "-f", "tabular", input="a\n", code=2).stderr

    def test_json(self, run, model):
        [line] = run("parse", model, "-f", "json", input="She sleeps .\n").stdout.splitlines()
        tokens = json.loads(line)["tokens"]
        assert [token["form"] for token in tokens] == ["She", "sleeps", "."]
        assert [token["head"] for token in tokens].count(0) == 1
        assert all(isinstance(token["deprel"], str) for token in tokens)

    def test_one_svg(self, run, model, tmp_path):
        out = tmp_path / "tree.svg"
        assert run("parse", model, "-o", out, input="She sleeps .\n").output == ""
        assert ElementTree.parse(out).getroot().tag.endswith("svg")
        assert run("parse", model, "-f", "svg", input="She sleeps .\n").stdout == out.read_text()

    @pytest.mark.parametrize("text", ["She sleeps .\nStop !\n", "She sleeps .\n" * 30])
    def test_several_svgs_do_not_fit_a_file(self, run, model, tmp_path, text):
        message = run("parse", model, "-o", tmp_path / "trees.svg", input=text, code=2).stderr
        assert "--out drawings" in message
        assert "--format html" in message
        assert os.listdir(tmp_path) == []
        assert run("parse", model, "-f", "svg", input=text, code=2).stdout == ""

    def test_a_folder_of_svgs(self, run, model, data, tmp_path):
        run("parse", model, data / "test.conllu", "-f", "svg", "-o", tmp_path / "new")
        names = sorted(os.listdir(tmp_path / "new"))
        assert names == [f"{number:04}.svg" for number in range(1, 11)]
        for name in names:
            ElementTree.parse(tmp_path / "new" / name)
        dotted = tmp_path / "v1.0"
        dotted.mkdir()
        run("parse", model, data / "test.conllu", "-f", "svg", "-o", dotted)
        assert sorted(os.listdir(dotted)) == names

    def test_a_page(self, run, model, data, tmp_path):
        out = tmp_path / "trees.html"
        run("parse", model, data / "test.conllu", "-o", out)
        page = out.read_text()
        opened: list[str] = []
        reader = HTMLParser()
        reader.handle_starttag = lambda tag, attributes: opened.append(tag)
        reader.feed(page)
        assert opened.count("svg") == opened.count("figure") == 10
        assert page.startswith("<!DOCTYPE html>")
        assert page.endswith("</html>\n")

    @pytest.mark.parametrize("format", ["conllu", "text", "svg", "json"])
    def test_nothing_in_nothing_out(self, run, model, format):
        assert run("parse", model, "-f", format, input="").output == ""

    def test_nothing_in_is_an_empty_page(self, run, model):
        page = run("parse", model, "-f", "html", input="").stdout
        assert page.startswith("<!DOCTYPE html>")
        assert page.endswith("</html>\n")
        assert "<svg" not in page

    def test_a_sentence_of_one_word(self, run, model):
        assert run("parse", model, "-f", "conllu", input="Stop\n").stdout.split("\t")[6:8] == ["0", "root"]

    def test_jobs(self, run, model, data):
        once = run("parse", model, data / "train.conllu").stdout
        assert run("parse", model, data / "train.conllu", "-j", 2).stdout == once


@pytest.mark.jit
class TestEvaluate:
    def test_table(self, run, model, data):
        text = run("evaluate", model, data / "test.conllu").stdout
        for word in ("LAS", "UAS", "label accuracy", "exact match", "95% interval", "without punctuation", "nsubj",
                     "words to the head", "words in the sentence", "taken for"):  # fmt: skip
            assert word in text

    def test_json_agrees_with_the_library(self, run, model, data):
        scores = json.loads(run("evaluate", model, data / "test.conllu", "--json").stdout)
        expected = DependencyParser.load(model).evaluate(data / "test.conllu")
        assert scores["las"] == expected.las
        assert scores["las_interval"] == list(expected.las_interval)
        assert scores["unseen_labels"] == []
        assert scores["task"] == "dependency"

    def test_a_file_scores_as_its_parser(self, run, model, parsed, data):
        by_model, by_file = (
            json.loads(run("evaluate", what, data / "test.conllu", "--json").stdout) for what in (model, parsed)
        )
        assert by_file == {name: by_model[name] for name in by_file} | {"model": str(parsed)}
        again = run("evaluate", "-", data / "test.conllu", "--json", input=parsed.read_text()).stdout
        assert json.loads(again)["las"] == by_model["las"]

    def test_labels_that_training_never_saw(self, run, model, data, tmp_path):
        file = tmp_path / "odd.conllu"
        file.write_text((data / "test.conllu").read_text().replace("\tdet\t", "\t[b]odd\t"))
        scores = json.loads(run("evaluate", model, file, "--json").stdout)
        assert scores["unseen_labels"] == ["[b]odd"]
        assert scores["unseen_label_tokens"] > 0
        text = run("evaluate", model, file).stdout
        assert "gold relations that training never saw, of " in text
        assert ", count as errors: [b]odd" in text

    def test_options_of_another_task(self, run, model, data):
        command = ("evaluate", model, data / "test.conllu")
        assert "a model for dependency, not for tagging" in run(*command, "--task", "tagging", code=2).stderr
        assert "leave out --column" in run(*command, "--column", "upos", code=2).stderr


class TestEvaluateFiles:
    """Annotations against gold ones; no model is needed."""

    def files(self, tmp_path, gold, guess):
        paths = tmp_path / "gold.conllu", tmp_path / "guess.conllu"
        for path, text in zip(paths, (gold, guess), strict=True):
            path.write_text(text)
        return paths

    def scores(self, run, paths, *options):
        gold, guess = paths
        return json.loads(run("evaluate", guess, gold, "--json", *options).stdout)

    def test_agrees_with_the_library(self, run, tmp_path):
        paths = self.files(tmp_path, conllu("a:2:x b:0:root c:2:y"), conllu("a:2:z b:0:root c:1:y"))
        scores = self.scores(run, paths)
        expected = score_dependencies(*(load_corpus(path) for path in paths))
        assert (scores["las"], scores["uas"]) == (expected.las, expected.uas) == (1 / 3, 2 / 3)
        assert "unseen_labels" not in scores

    def test_subtypes(self, run, tmp_path):
        paths = self.files(tmp_path, conllu("a:2:x:y b:0:root"), conllu("a:2:x b:0:root"))
        assert self.scores(run, paths)["las"] == 0.5
        assert self.scores(run, paths, "--no-subtypes")["las"] == 1.0

    def test_punctuation(self, run, tmp_path):
        paths = self.files(tmp_path, conllu("a:0:root .:1:punct", "_"), conllu("a:0:root .:1:dep", "_"))
        scores = self.scores(run, paths)
        assert (scores["las"], scores["without_punctuation"]["las"]) == (0.5, 1.0)
        assert self.scores(run, paths, "--no-punctuation")["las"] == 1.0
        assert "without punctuation" not in run("evaluate", *reversed(paths), "--no-punctuation").stdout

    def test_what_is_predicted_need_not_be_a_tree(self, run, tmp_path):
        paths = self.files(tmp_path, conllu("a:2 b:0 c:2"), conllu("a:2 b:1 c:0"))
        assert self.scores(run, paths)["uas"] == 1 / 3

    def test_tags(self, run, tmp_path):
        paths = self.files(tmp_path, conllu("a:2 b:0", "X"), conllu("a:2 b:0", "Y"))
        assert self.scores(run, paths, "--task", "tagging")["accuracy"] == 0.0
        assert self.scores(run, paths, "--task", "tagging", "--column", "deprel")["accuracy"] == 1.0
        text = run("evaluate", *paths, "--task", "tagging").stdout
        assert "accuracy" in text
        assert "unknown words" not in text

    def test_two_columns(self, run, tmp_path):
        for name, tag in (("gold", "X"), ("guess", "Y")):
            (tmp_path / f"{name}.tsv").write_text(f"a\tX\nb\t{tag}\n")
        scores = json.loads(run("evaluate", tmp_path / "guess.tsv", tmp_path / "gold.tsv", "--json").stdout)
        assert (scores["task"], scores["accuracy"]) == ("tagging", 0.5)

    @pytest.mark.parametrize("task", ["dependency", "tagging"])
    @pytest.mark.parametrize(
        ("gold", "guess", "said"),
        [
            (["a:0", "b:0"], ["a:0"], "gold.conllu:3: "),
            (["a:0"], ["a:0", "b:0"], "guess.conllu:3: "),
            (["a:0", "a:2 b:0"], ["a:0", "a:0"], "guess.conllu:3: sentence 2 has "),
            (["a:2 b:0"], ["a:2 B:0"], "'B'"),
        ],
    )
    def test_other_sentences(self, run, tmp_path, task, gold, guess, said):
        paths = self.files(tmp_path, *("".join(map(conllu, part)) for part in (gold, guess)))
        message = run("evaluate", *reversed(paths), "--task", task, code=2).stderr
        assert message.startswith(f"error: {tmp_path}")
        assert said in message
        assert "of the same" in message
        assert message.count("\n") == 1

    def test_no_heads(self, run, tmp_path):
        gold, guess = self.files(tmp_path, conllu("a:_ b:_"), conllu("a:2 b:0"))
        assert "there is nothing to compare with" in run("evaluate", guess, gold, code=2).stderr
        assert "word 1 of sentence 1 has no head in the predicted" in run("evaluate", gold, guess, code=2).stderr

    def test_usage(self, run, tmp_path):
        gold, guess = self.files(tmp_path, conllu("a:2 b:0"), conllu("a:2 b:0"))
        assert "there is no task 'x'" in run("evaluate", guess, gold, "--task", "x", code=2).stderr
        for option in ("--no-subtypes", "--no-punctuation"):
            message = run("evaluate", guess, gold, "--task", "tagging", option, code=2).stderr
            assert f"{option} has no meaning for tagging" in message
        assert "--column has no meaning" in run("evaluate", guess, gold, "--column", "upos", code=2).stderr
        assert "only one of the two" in run("evaluate", "-", "-", code=2).stderr


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("verb", ["train", "dev", "gold of a file", "gold of a comparison", "trace"])
def test_bad_trees(run, data, tmp_path, name, verb):
    text, line, said = BAD[name]
    path = tmp_path / "bad.conllu"
    path.write_text("# text = good\n" + conllu("good:0") + conllu(text))
    good = data / "test.conllu"
    commands = {
        "train": ("train", "dependency", path, "-o", tmp_path / "m.tw"),
        "dev": ("train", "dependency", data / "train.conllu", "--dev", path, "-o", tmp_path / "m.tw"),
        "gold of a file": ("evaluate", good, path),
        "gold of a comparison": ("compare", good, good, path),
        "trace": ("trace", path, "--sentence", 2),
    }
    message = run(*commands[verb], code=2).stderr
    assert message.startswith(f"error: {path}:{line + 3}: ")
    assert said in message
    assert message.count("\n") == 1
    assert os.listdir(tmp_path) == ["bad.conllu"]


@pytest.mark.jit
@pytest.mark.parametrize("name", BAD)
def test_bad_trees_to_evaluate_a_model_on(run, model, tmp_path, name):
    text, line, said = BAD[name]
    path = tmp_path / "bad.conllu"
    path.write_text(conllu(text))
    message = run("evaluate", model, path, code=2).stderr
    assert message.startswith(f"error: {path}:{line}: ")
    assert said in message


@pytest.mark.parametrize("verb", ["train", "evaluate", "compare", "trace"])
def test_empty_files(run, data, tmp_path, verb):
    path = tmp_path / "empty.conllu"
    path.touch()
    good = data / "test.conllu"
    commands = {
        "train": ("train", "dependency", path, "-o", tmp_path / "m.tw"),
        "evaluate": ("evaluate", good, path),
        "compare": ("compare", path, good, good),
        "trace": ("trace", path),
    }
    assert run(*commands[verb], code=2).stderr == f"error: {path}: no sentence in it: it is empty\n"


def test_learners_are_the_same(run):
    text = run("train", "dependency", "--help").stdout
    assert "--learner" in text
    assert "treewright train dependency" in text


@pytest.mark.jit
def test_learners_by_reinforcement(run, tmp_path):
    write_conllu(builtin_corpus(train=30, dev=3, test=3).train, tmp_path / "train.conllu")
    choices = ("--learner", "policy-gradient", "--passes", 2, "--trajectories", 1, "--step-size", 0.5, "--averaged")
    command = ("train", "dependency", tmp_path / "train.conllu", "--features", "basic", "--bits", 10)
    config = tomllib.loads(run(*command, *choices, "--print-config").stdout)
    assert config["learner"]["name"] == "policy-gradient"
    assert (config["learner"]["step_size"], config["learner"]["averaged"]) == (0.5, True)
    assert "update" not in config["learner"]
    run(*command, *choices, "--out", tmp_path / "model.tw")
    assert "policy-gradient" in run("info", tmp_path / "model.tw").stdout


def test_a_setting_of_learners_and_of_updates_goes_where_it_belongs(run):
    config = tomllib.loads(run("train", "dependency", "--no-averaged", "--print-config").stdout)
    assert config["learner"]["update"]["averaged"] is False
    assert "averaged" not in config["learner"]
    config = tomllib.loads(run("train", "dependency", "-l", "i+", "--averaged", "--print-config").stdout)
    assert config["learner"]["averaged"] is True
