"""Constituency parsers from the command line: train, parse, evaluate, compare, grammar, info, and bad input."""

from __future__ import annotations

import json
import os
import statistics
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from treewright.cli.tasks import TASKS
from treewright.cli.tasks.constituency import _MUCH_LEARNED
from treewright.cli.train import PassReport
from treewright.constituency import ConstituencyParser, Grammar, compare_constituents, score_constituents
from treewright.corpora import load_corpus
from treewright.learners import IRL
from treewright.metrics import error_reduction
from treewright.models import read_model
from treewright.tracing import Trace

SMALL = ("--passes", 2)

GOLD = "(S (NP (PRP I)) (VP (VBP see) (NP (PRP it))) (. .))\n"
WORSE = "(S (NP (PRP I)) (VP (VBP see)) (NP (PRP it)) (. .))\n"

EVERYTHING = """
--grammar v1h2-left-tags --lexicon word --tags gold --rewards spans --trained binary --loss rules --decoder max-rule
--prune 1e-5 --max-gap 30 --max-length 8 --memory 0.5 --seed 3 --learner max-margin --passes 1 --step constant
--step-size 0.5 --no-normalise --l2 0.01 --l1 0.001 --averaged --batch 7 --patience 4 --margin 0.25
"""


def same_model(a: Path, b: Path) -> bool:
    one, other = read_model(a), read_model(b)
    assert one.config == other.config
    return all(np.array_equal(one.arrays[name], other.arrays[name]) for name in one.arrays)


@pytest.fixture(scope="module")
def data(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("trees")
    run("corpus", folder, "--train", 40, "--dev", 6, "--test", 8)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory, run, data):
    path = tmp_path_factory.mktemp("parser") / "trees.tw"
    run("train", "constituency", data / "train.ptb", "--dev", data / "dev.ptb", "--out", path, *SMALL)
    return path


@pytest.fixture(scope="module")
def frequencies(tmp_path_factory, run, data):
    """A parser that only counts."""
    path = tmp_path_factory.mktemp("frequencies") / "ml.tw"
    run("train", "constituency", data / "train.ptb", "-l", "maximum-likelihood", "--out", path)
    return path


@pytest.fixture(scope="module")
def parsed(tmp_path_factory, run, model, data):
    path = tmp_path_factory.mktemp("parsed") / "parsed.ptb"
    run("parse", model, data / "test.ptb", "--out", path)
    return path


class TestTraining:
    def test_a_row_a_pass_and_a_model(self, run, data, tmp_path):
        out = tmp_path / "m.tw"
        result = run("train", "constituency", data / "train.ptb", "--dev", data / "dev.ptb", "-o", out, "-n", 2)
        header, first, second, summary = result.stdout.splitlines()
        assert header.split() == ["pass", "β", "loss", "dev", "F1", "tokens/s", "seconds"]
        assert first.split()[:2] == ["1", "–"]
        assert second.split()[0] == "2"
        assert summary.startswith(f"{out}: pass ")
        assert "dev F1" in summary
        assert os.listdir(tmp_path) == ["m.tw"]

    def test_frequencies_need_no_passes(self, run, data, tmp_path):
        settings = ("--dev", data / "dev.ptb", "-l", "maximum-likelihood", "-o", tmp_path / "m.tw")
        [summary] = run("train", "constituency", data / "train.ptb", *settings).stdout.splitlines()
        assert summary.startswith(f"{tmp_path / 'm.tw'}: dev F1 ")
        done = json.loads(run("train", "constituency", data / "train.ptb", *settings, "--json").stdout)
        assert (done["event"], done["pass"]) == ("done", 0)
        assert done["config"]["learner"] == {"name": "maximum-likelihood"}

    def test_json(self, run, data, tmp_path):
        settings = ("--dev", data / "dev.ptb", "-o", tmp_path / "m.tw", "--json", *SMALL)
        result = run("train", "constituency", data / "train.ptb", *settings)
        first, second, done = map(json.loads, result.stdout.splitlines())
        assert (first["iteration"], second["iteration"], done["event"]) == (1, 2, "done")
        assert done["scores"]["dev F1"] >= max(first["score"], second["score"])  # it may be better when shrunk

    def test_every_setting_reaches_the_model(self, run, data, tmp_path):
        out = tmp_path / "m.tw"
        run("train", "constituency", data / "train.ptb", "-o", out, *EVERYTHING.split())
        params = json.loads(run("info", out, "--json").stdout)["params"]
        learner = params.pop("learner")
        assert params == {
            "grammar": {"vertical": 1, "horizontal": 2, "direction": "left", "tag_parents": True}, "lexicon": "word",
            "tags": "gold", "rewards": "spans", "trained": "binary", "loss": "rules", "decoder": "max-rule",
            "prune": 1e-5, "max_gap": 30.0, "max_length": 8, "memory": 0.5, "seed": 3, "search": "cky",
            "tradeoff": None, "shrink": True, "time": "pops", "priority_learner": "on-policy",
        }  # fmt: skip
        assert learner == {
            "name": "max-margin", "passes": 1, "step": "constant", "step_size": 0.5, "normalise": False, "l2": 0.01,
            "l1": 0.001, "averaged": True, "batch": 7, "margin": 0.25, "patience": 4,
        }  # fmt: skip

    @pytest.mark.parametrize("option", ["--passes", "--iterations", "-n"])
    def test_passes_have_three_names(self, run, option):
        printed = run("train", "constituency", option, 3, "--print-config").stdout
        assert tomllib.loads(printed)["learner"]["passes"] == 3

    def test_a_grammar_of_ones_own(self, run, data, tmp_path, frequencies):
        rules, out = tmp_path / "rules.txt", tmp_path / "m.tw"
        run("grammar", frequencies, "--export", rules)
        settings = ("--grammar", rules, "-l", "maximum-likelihood", "-o", out)
        run("train", "constituency", data / "train.ptb", *settings)
        assert Grammar.read_text(rules).to_text() == ConstituencyParser.load(out).grammar_.to_text()
        printed = run("info", out, "--print-config").stdout
        assert tomllib.loads(printed)["grammar"] == str(rules)
        assert json.loads(run("info", out, "--json").stdout)["card"]["grammar_file"] == str(rules)
        again = run("train", "constituency", data / "train.ptb", *settings[:-2], "--print-config").stdout
        assert tomllib.loads(again)["grammar"] == str(rules)

    def test_the_grammar_of_a_model(self, run, data, tmp_path, frequencies):
        settings = ("--grammar", frequencies, "-l", "maximum-likelihood", "-o", tmp_path / "m.tw")
        run("train", "constituency", data / "train.ptb", *settings)
        assert read_model(tmp_path / "m.tw").arrays.keys() == read_model(frequencies).arrays.keys()

    @pytest.mark.slow
    def test_resumed_is_the_same_to_the_bit(self, run, data, tmp_path, monkeypatch):
        settings = ("--dev", data / "dev.ptb", "--passes", 3, "--averaged", "--batch", 20)
        whole, out = tmp_path / "whole.tw", tmp_path / "m.tw"
        run("train", "constituency", data / "train.ptb", "-o", whole, *settings)
        report = PassReport.__call__

        def interrupt(self, row):
            report(self, row)
            if row.iteration == 2:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(PassReport, "__call__", interrupt)
            result = run("train", "constituency", data / "train.ptb", "-o", out, *settings, code=130)
        assert "interrupted after pass 2 of 3" in result.stderr
        assert not out.exists()
        again = ("train", "constituency", data / "train.ptb", "-o", out, "--resume", *settings)
        assert "other data or settings" in run(*again, "--l2", 0.1, code=2).stderr
        result = run(*again)
        assert [line.split()[0] for line in result.stdout.splitlines()[1:4]] == ["1", "2", "3"]
        assert same_model(whole, out)
        assert sorted(os.listdir(tmp_path)) == ["m.tw", "whole.tw"]


class TestConfiguration:
    def resolved(self, run, *args):
        return tomllib.loads(run("train", "constituency", *args, "--print-config").stdout)

    @pytest.mark.parametrize(
        "choices",
        [
            *[("-l", name) for name in (*IRL, "maximum-likelihood")],
            ("--batch", "0", "--max-gap", "0", "--max-length", "0"),
            ("--batch", "10", "--max-gap", "5", "--max-length", "40", "--grammar", "v3hinf-head-tags"),
            ("-l", "policy-matching", "--temperature", "0.5", "--loss", "rules", "--no-normalise"),
        ],
        ids=" ".join,
    )
    def test_printed_configuration_gives_itself_back(self, run, tmp_path, choices):
        text = run("train", "constituency", "a.ptb", "--dev", "b.ptb", *choices, "--print-config").stdout
        file = tmp_path / "config.toml"
        file.write_text(text)
        assert run("train", "constituency", "--config", file, "--print-config").stdout == text
        assert tomllib.loads(text)["grammar"].startswith("v")

    def test_loss_and_margin(self, run, tmp_path):
        file = tmp_path / "c.toml"
        file.write_text('loss = "rules"\n[learner]\nname = "max-margin"\nmargin = 0.75\npasses = 7\nbatch = 0\n')
        config = self.resolved(run, "--config", file)
        assert (config["loss"], config["learner"]["margin"], config["learner"]["passes"]) == ("rules", 0.75, 7)
        config = self.resolved(run, "--config", file, "--margin", 0.125, "--loss", "constituents")
        assert (config["loss"], config["learner"]["margin"], config["learner"]["batch"]) == ("constituents", 0.125, 0)

    def test_training_from_a_file_alone(self, run, data, tmp_path):
        file, out = tmp_path / "c.toml", tmp_path / "m.tw"
        text = f'task = "constituency"\ntrain = "{data / "train.ptb"}"\nout = "{out}"\nmax-length = 8\n'
        file.write_text(text + 'learner = "maximum-likelihood"\n')
        run("train", "constituency", "--config", file)
        config = tomllib.loads(run("info", out, "--print-config").stdout)
        assert (config["max_length"], config["max_gap"], config["grammar"]) == (8, 0, "v2h1")

    @pytest.mark.parametrize(
        ("text", "line", "said"),
        [
            ("[learner]\nepochs = 3", 2, ["learner.epochs", "passes", "step_size"]),
            ("[learner.update]\nname = 'arow'", 1, ["learner.update", "passes"]),
            ("[learner]\niterations = 3\npasses = 3", 1, ["iterations", "old name of passes"]),
            ("[learner]\nloss = 'rules'", 1, [": learner.margin must be a number", "'rules'"]),
            ("loss = 0.5", 1, [": loss cannot be 0.5", "rules, constituents"]),
            ("grammar = 3", 1, [": grammar cannot be 3"]),
            ("grammar = 'v2'", 1, ["grammar cannot be 'v2'"]),
            ("[learner]\nname = 'dagger'", 1, ["learns from single actions"]),
            ("[learner]\nstep_size = -1", 2, [": learner.step_size must", "above 0"]),
        ],
    )
    def test_mistakes_in_the_file(self, run, tmp_path, text, line, said):
        file = tmp_path / "c.toml"
        file.write_text(text)
        message = run("train", "constituency", "--config", file, "--print-config", code=2).stderr
        assert message.startswith(f"error: {file}:{line}: ")
        assert all(word in message for word in said)
        assert message.count("\n") == 1

    def test_the_file_is_named_for_what_only_training_finds(self, run, data, tmp_path):
        file = tmp_path / "c.toml"
        file.write_text('loss = "gain"')
        command = ("train", "constituency", data / "train.ptb", "--config", file, "-o", tmp_path / "m.tw")
        assert run(*command, code=2).stderr.startswith(f"error: {file}:1: loss cannot be 'gain'")
        assert run(*command, "--loss", "x", code=2).stderr.startswith("error: --loss cannot be 'x'")

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("--step-size=-1",), "--step-size must be a number that is above 0, not -1.0"),
            (
                ("-l", "policy-matching", "--temperature", "0"),
                "--temperature must be a number that is above 0, not 0.0",
            ),
            (("--temperature", "1"), "--temperature is no setting of learner 'max-margin'"),
            (("--step", "2/k"), "--step cannot be '2/k'; it is one of: constant, 1/k, 1/sqrt(k), adagrad, irprop"),
            (("--l2", "-1"), "--l2 must be a number that is at least 0"),
            (("-n", "0"), "--passes must be a whole number from 1"),
            (("-l", "mwal", "--least", "0"), "--least must be a number that is above 0"),
            (("-l", "maximum-likelihood", "-n", "2"), "--passes is no setting of learner 'maximum-likelihood'"),
            (("-l", "dagger"), "it is one of: projection, mwal, irl-perceptron"),
            (("-l", "nix"), "--learner cannot be 'nix'"),
            (("--grammar", "v0h1"), "vertical must be"),
            (("--grammar", "big"), "--grammar cannot be 'big'; it is a name such as 'v2h1'"),
            (("--grammar", "nix.txt"), "nix.txt: there is no such file"),
            (("--grammar", "nix.tw"), "nix.tw: there is no such model file"),
            (("--lexicon", "thick"), "--lexicon cannot be 'thick'; it is one of: ratio, word"),
            (("--trained", "none"), "--trained cannot be 'none'"),
            (("--decoder", "oracle"), "--decoder cannot be 'oracle'"),
            (("--prune", "2"), "--prune must be"),
            (("--max-gap", "-1"), "--max-gap must be"),
            (("--memory", "0"), "--memory must be"),
            (("--max-length", "1"), "no sentence has 1 words or fewer: the shortest has"),
        ],
    )
    def test_mistakes_on_the_command_line(self, run, data, tmp_path, args, said):
        message = run("train", "constituency", data / "train.ptb", "-o", tmp_path / "m.tw", *args, code=2).stderr
        assert said in message
        assert message.count("\n") == 1
        assert os.listdir(tmp_path) == []

    def test_help(self, run):
        text = run("train", "constituency", "--help").stdout
        for word in ("--loss", "--margin", "--n-best", "--no-normalise", "--passes", "max-margin", "Examples"):
            assert word in text
        assert "--roll-in" not in text
        assert "--loss-on" not in text

    def test_the_help_shows_the_defaults_of_the_library(self):
        learner = ConstituencyParser().resolved_config()["learner"]
        shown = {option.parameter: option.shown for option in TASKS["constituency"].options}
        assert shown["learner"] == learner["name"]
        assert shown["passes"] == f"{learner['passes']} with {learner['name']}"
        assert (shown["grammar"], shown["max_gap"], shown["n_best"]) == ("v2h1", "0", "")


BAD = {
    "unbalanced": ("x.ptb", "(S (NP (PRP I)) (VP (VBP see))\n", ":1: the tree that begins here has no end"),
    "one too many": ("x.ptb", "(S (PRP I) (VBP see)))\n", ":1: a closing bracket too many"),
    "empty tree": ("x.ptb", f"{GOLD}(S (NP) (VBP see))\n", ":2: an empty tree, (NP)"),
    "empty": ("x.ptb", "", ": no tree in it: it is empty"),
    "a word without a tag": ("x.ptb", "(S I (VP (VBP see)))\n", ":1: a word, 'I', beside a tree"),
    "nothing but traces": ("x.ptb", "(S (-NONE- *))\n", "only traces"),
    "no trees": ("x.conllu", "1\tI\t_\tX\tX\t_\t0\troot\t_\t_\n\n", ":1: this sentence has no constituency tree"),
    "text": ("x.txt", "I see it .\n", ":1: this sentence has no constituency tree; give a treebank in brackets"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("verb", ["train", "dev", "grammar"])
def test_bad_treebanks(run, data, tmp_path, name, verb):
    file, text, said = BAD[name]
    if verb == "grammar" and file.endswith(".txt"):
        said = ":1: "  # not a rule
    path = tmp_path / file
    path.write_text(text)
    commands = {
        "train": ("train", "constituency", path, "-o", tmp_path / "m.tw"),
        "dev": ("train", "constituency", data / "train.ptb", "--dev", path, "-o", tmp_path / "m.tw"),
        "grammar": ("grammar", path),
    }
    message = run(*commands[verb], code=2).stderr
    assert message.startswith(f"error: {path}")
    assert said in message
    assert message.count("\n") == 1
    assert os.listdir(tmp_path) == [file]


@pytest.mark.parametrize("name", ["unbalanced", "empty tree", "no trees"])
def test_bad_treebanks_to_evaluate_on(run, model, tmp_path, name):
    file, text, said = BAD[name]
    path = tmp_path / file
    path.write_text(text)
    message = run("evaluate", model, path, code=2).stderr
    assert message.startswith(f"error: {path}")
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TOP -> S\t1\t0.0\nS -> NP VP\t1\n", ":2: the rule 'S -> NP VP' has no weight; a line is PARENT -> CHILD"),
        ("TOP -> S\n", ":1: the rule 'TOP -> S' has no count and no weight"),
        ("# mine\nTOP -> S\t1\tmuch\n", ":2: not a number"),
        ("TOP S\t1\t0\n", ":1: not a rule"),
        ("S -> NP VP\t1\t0\n", ": no rule expands TOP"),
    ],
)
@pytest.mark.parametrize("verb", ["train", "grammar"])
def test_bad_grammars(run, data, tmp_path, verb, text, said):
    rules = tmp_path / "rules.txt"
    rules.write_text(text)
    train = ("train", "constituency", data / "train.ptb", "--grammar", rules, "-o", tmp_path / "m.tw")
    message = run(*(train if verb == "train" else ("grammar", rules)), code=2).stderr
    assert message.startswith(f"error: {rules}{said}")
    assert message.count("\n") == 1


def test_a_grammar_with_other_tags(run, data, tmp_path):
    rules = tmp_path / "rules.txt"
    rules.write_text("TOP -> S\t1\t0\nS -> A B\t1\t0\n")
    message = run("train", "constituency", data / "train.ptb", "--grammar", rules, "-o", tmp_path / "m", code=2).stderr
    assert "the grammar has none of the treebank's tags" in message


def test_constituency_trees_for_a_dependency_parser(run, data, tmp_path):
    message = run("train", "dependency", data / "train.ptb", "-o", tmp_path / "m.tw", code=2).stderr
    assert message.startswith(f"error: {data / 'train.ptb'}: these are constituency trees, which have no heads")
    assert "treewright train constituency" in message
    dev = ("--dev", data / "dev.ptb")
    assert "no heads" in run("train", "dependency", data / "train.conllu", *dev, "-o", tmp_path / "m", code=2).stderr


class TestParse:
    def test_brackets_whatever_the_input(self, run, model, data):
        gold = load_corpus(data / "test.ptb")
        texts = {
            "ptb": run("parse", model, data / "test.ptb").stdout,
            "conllu": run("parse", model, data / "test.conllu").stdout,
            "text": run("parse", model, input="".join(f"{sentence}\n" for sentence in gold)).stdout,
            "tabular": run("parse", model, input="".join("\n".join(f"{w}\tX" for w in s.forms) + "\n\n" for s in gold),
                           ).stdout,
        }  # fmt: skip
        assert len(set(texts.values())) == 1
        assert len(texts["ptb"].splitlines()) == len(gold)

    def test_trees_of_the_same_words(self, parsed, data):
        gold, found = load_corpus(data / "test.ptb"), load_corpus(parsed)
        assert [sentence.forms for sentence in found] == [sentence.forms for sentence in gold]
        assert score_constituents(gold, found).f1 > 0.5

    def test_jobs(self, run, model, data, parsed):
        assert run("parse", model, data / "test.ptb", "-j", 2).stdout == parsed.read_text()

    def test_text_is_a_drawing(self, run, model):
        drawing = run("parse", model, "-f", "text", input="She sleeps .\n").stdout.splitlines()
        assert drawing[-1] == ""
        assert drawing[-2].split() == ["She", "sleeps", "."]
        assert "┌" in drawing[1]

    def test_json(self, run, model):
        [line] = run("parse", model, "-f", "json", input="She sleeps .\n").stdout.splitlines()
        found = json.loads(line)
        assert [token["form"] for token in found["tokens"]] == ["She", "sleeps", "."]
        assert all(token["xpos"] for token in found["tokens"])
        assert found["tree"] == run("parse", model, input="She sleeps .\n").stdout.strip()

    def test_pictures(self, run, model, data, tmp_path):
        out = tmp_path / "tree.svg"
        assert run("parse", model, "-o", out, input="She sleeps .\n").output == ""
        assert ElementTree.parse(out).getroot().tag.endswith("svg")
        assert "--format html" in run("parse", model, data / "test.ptb", "-o", out, code=2).stderr
        run("parse", model, data / "test.ptb", "-f", "svg", "-o", tmp_path / "drawings")
        assert len(os.listdir(tmp_path / "drawings")) == 8
        run("parse", model, data / "test.ptb", "-o", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        opened: list[str] = []
        reader = HTMLParser()
        reader.handle_starttag = lambda tag, attributes: opened.append(tag)
        reader.feed(page)
        assert opened.count("svg") == opened.count("figure") == 8
        assert "<title>Constituency trees</title>" in page

    def test_brackets_in_the_text(self, run, model, tmp_path):
        text = run("parse", model, input="She (really) sees ( it ) .\n").stdout
        out = tmp_path / "out.ptb"
        out.write_text(text)
        [sentence] = load_corpus(out)
        assert sentence.forms == ("She", "-LRB-really-RRB-", "sees", "-LRB-", "it", "-RRB-", ".")

    @pytest.mark.parametrize("format", ["ptb", "text", "svg", "json"])
    def test_nothing_in_nothing_out(self, run, model, format):
        assert run("parse", model, "-f", format, input="").output == ""

    def test_nothing_in_is_an_empty_page(self, run, model):
        page = run("parse", model, "-f", "html", input="").stdout
        assert page.startswith("<!DOCTYPE html>")
        assert page.endswith("</html>\n")
        assert "<svg" not in page

    @pytest.mark.parametrize("words", ["Stop", "x y z", ". . . ."])
    def test_every_sentence_has_a_tree(self, run, model, words):
        assert [word.strip(")") for word in run("parse", model, input=f"{words}\n").stdout.split()[1::1]
                if not word.startswith("(")] == words.split()  # fmt: skip

    def test_k_best(self, run, model, data):
        gold = load_corpus(data / "test.ptb")[:3]
        expected = ConstituencyParser.load(model).parse_k_best(gold, 4)
        text = "".join(f"{sentence}\n" for sentence in gold)
        for line, trees in zip(run("parse", model, "--k-best", 4, "-f", "json", input=text).stdout.splitlines(),
                               expected, strict=True):  # fmt: skip
            found = json.loads(line)
            assert [(each["tree"], each["score"]) for each in found["trees"]] == [(str(t), s) for t, s in trees]
            assert "".join(token["form"] for token in found["tokens"]) == "".join(trees[0].tree.leaves())
        blocks = run("parse", model, "--k-best", 4, input=text).stdout.split("\n\n")
        assert [block.splitlines() for block in blocks[:-1]] == [[str(t) for t, _ in trees] for trees in expected]
        assert (
            f"score {expected[0][0].score:.4f}" in run("parse", model, "--k-best", 2, "-f", "text", input=text).stdout
        )

    def test_the_best_of_a_sentence_without_a_tree_has_no_score(self, run, model):
        [line] = run("parse", model, "--k-best", 2, "-f", "json", input=". . . .\n").stdout.splitlines()
        assert [tree["score"] for tree in json.loads(line)["trees"]] == [None]
        assert "no tree in the grammar" in run("parse", model, "--k-best", 2, "-f", "text", input=". . . .\n").stdout

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("-f", "conllu"), "constituency cannot be written as 'conllu'; choose one of ptb, text, svg, html, json"),
            (("-f", "svg", "--k-best", "2"), "several trees a sentence cannot be written as 'svg'"),
        ],
    )
    def test_mistakes(self, run, model, args, said):
        assert said in run("parse", model, *args, input="a\n", code=2).stderr


def test_k_best_of_another_task(run, data, tmp_path):
    run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "--bits", 10, "-n", 1)
    assert (
        "--k-best has no meaning for tagging" in run("parse", tmp_path / "m.tw", "--k-best", 2, input="", code=2).stderr
    )


class TestEvaluate:
    def test_table(self, run, model, data):
        text = run("evaluate", model, data / "test.ptb").stdout
        for word in ("F1", "precision", "exact match", "95% interval", "evalb", "no crossing brackets", "NP",
                     "up to 40 words", "no tree in the grammar", "words in the sentence"):  # fmt: skip
            assert word in text

    def test_json_agrees_with_the_library(self, run, model, data):
        scores = json.loads(run("evaluate", model, data / "test.ptb", "--json").stdout)
        parser = ConstituencyParser.load(model)
        expected = parser.evaluate(data / "test.ptb")
        assert (scores["f1"], scores["lp"], scores["exact"]) == (expected.f1, expected.lp, expected.exact)
        assert scores["up_to_40"]["f1"] == expected.up_to_40.f1
        covered = sum(each.covered for each in parser.analyse(load_corpus(data / "test.ptb")))
        assert (scores["task"], scores["covered"]) == ("constituency", covered)
        other = json.loads(run("evaluate", model, data / "test.ptb", "--json", "--rules", "parseval").stdout)
        assert other["f1"] == parser.evaluate(data / "test.ptb", rules="parseval").f1
        assert other["rules"] == "parseval"

    def test_max_length(self, run, model, data):
        gold = load_corpus(data / "test.ptb")
        longest = sorted(map(len, gold))[3]
        scores = json.loads(run("evaluate", model, data / "test.ptb", "--json", "--max-length", longest).stdout)
        assert scores["sentences"] == sum(len(sentence) <= longest for sentence in gold) < len(gold)
        message = run("evaluate", model, data / "test.ptb", "--max-length", 1, code=2).stderr
        assert "no sentence has 1 words or fewer: the shortest has" in message

    def test_sentences_without_a_tree(self, run, model, tmp_path):
        file = tmp_path / "odd.ptb"
        file.write_text("(S (. .) (. .) (PRP She) (. .))\n" + GOLD)
        scores = json.loads(run("evaluate", model, file, "--json").stdout)
        assert scores["covered"] == 1
        assert " 50.00 " in next(
            line for line in run("evaluate", model, file).stdout.splitlines() if line.startswith("no tree")
        )

    def test_a_file_scores_as_its_parser(self, run, model, parsed, data):
        by_model, by_file = (
            json.loads(run("evaluate", what, data / "test.ptb", "--json").stdout) for what in (model, parsed)
        )
        assert "covered" not in by_file
        assert by_file == {name: by_model[name] for name in by_file} | {"model": str(parsed)}
        again = run("evaluate", "-", data / "test.ptb", "--json", input=parsed.read_text()).stdout
        assert json.loads(again)["f1"] == by_model["f1"]

    def test_mistakes(self, run, model, data, tmp_path):
        command = ("evaluate", model, data / "test.ptb")
        assert "--no-subtypes has no meaning for constituency" in run(*command, "--no-subtypes", code=2).stderr
        assert (
            "there are no rules 'golden'; choose evalb or parseval" in run(*command, "--rules", "golden", code=2).stderr
        )
        assert "a model for constituency, not for tagging" in run(*command, "--task", "tagging", code=2).stderr
        one, two = tmp_path / "one.ptb", tmp_path / "two.ptb"
        one.write_text(GOLD)
        two.write_text(GOLD * 2)
        assert f"{two}:2: the gold annotation goes on here" in run("evaluate", one, two, code=2).stderr
        two.write_text(GOLD.replace("see", "saw"))
        assert "'see' in the predicted annotation and 'saw'" in run("evaluate", one, two, code=2).stderr
        conllu = data / "test.conllu"
        assert (
            "--rules has no meaning for dependency"
            in run("evaluate", conllu, conllu, "--rules", "evalb", code=2).stderr
        )


class TestCompare:
    @pytest.fixture
    def files(self, tmp_path):
        paths = [tmp_path / f"{name}.ptb" for name in ("worse", "better", "gold")]
        for path, text in zip(paths, (WORSE * 20, GOLD * 10 + WORSE * 10, GOLD * 20), strict=True):
            path.write_text(text)
        return paths

    def test_agrees_with_the_library(self, run, files):
        worse, better, gold = map(load_corpus, files)
        for rules in ("evalb", "parseval"):
            expected = compare_constituents(gold, worse, better, rules=rules)
            found = json.loads(run("compare", *files, "--json", "--rules", rules).stdout)
            assert found["difference"] == expected.difference > 0
            assert (found["p_bootstrap"], found["p_randomization"]) == (expected.p_bootstrap, expected.p_randomization)
            assert (found["b_better"], found["equal"]) == (10, 10)

    def test_table(self, run, files):
        text = run("compare", *files).stdout
        for word in ("F1 %", "B − A", "paired bootstrap", "approximate randomization", "60 words in 20 sentences"):
            assert word in text

    def test_models(self, run, model, frequencies, data, parsed):
        command = ("compare", frequencies, model, data / "test.ptb", "--json", "--samples", 99)
        found = json.loads(run(*command).stdout)
        assert found["b"] == json.loads(run("evaluate", model, data / "test.ptb", "--json").stdout)["f1"]
        short = json.loads(run(*command, "--max-length", 9).stdout)
        assert short["sentences"] < found["sentences"] == 8
        mixed = run("compare", parsed, model, data / "test.ptb", "--json", "--samples", 99, "--max-length", 9).stdout
        assert (json.loads(mixed)["difference"], json.loads(mixed)["b"]) == (0.0, short["b"])
        piped = run("compare", "-", model, data / "test.ptb", "--json", "--samples", 9, input=parsed.read_text()).stdout
        assert json.loads(piped)["equal"] == 8

    def test_mistakes(self, run, files, data):
        conllu = data / "test.conllu"
        message = run("compare", files[0], conllu, files[2], code=2).stderr
        assert f"{files[0]} is about constituency, and {conllu} about dependency: give two of the same kind" in message
        message = run("compare", *files, "--measure", "las", code=2).stderr
        assert "there is no measure 'las' for constituency; choose f1" in message
        assert "--no-punctuation has no meaning" in run("compare", *files, "--no-punctuation", code=2).stderr


class TestGrammar:
    def test_treebank(self, run, data):
        text = run("grammar", data / "train.ptb", "--top", 3).stdout
        assert text.startswith(f"{data / 'train.ptb'}: v2h1, 40 trees\n")
        for word in ("symbols", "intermediate", "binary", "unary", "probability", "more rules; --top"):
            assert word in text
        assert len([line for line in text.splitlines() if " -> " in line]) == 3

    def test_json_agrees_with_the_library(self, run, data):
        settings = ("--grammar", "v3hinf-head", "--top", 10_000, "--json")
        found = json.loads(run("grammar", data / "train.ptb", *settings).stdout)
        expected = ConstituencyParser("v3hinf-head", learner="maximum-likelihood").fit(data / "train.ptb").grammar_
        assert (found["grammar"], found["trees"]) == ("v3hinf-head", 40)
        assert found["size"]["symbols"] == len(expected.symbols)
        assert found["size"]["rules"] == len(found["rules"]) == len(expected)
        counts = [rule["count"] for rule in found["rules"]]
        assert counts == sorted(counts, reverse=True)
        assert sorted(rule["weight"] for rule in found["rules"]) == sorted(expected.weights)
        assert all(np.isclose(np.exp(rule["weight"]), rule["probability"]) for rule in found["rules"])

    def test_model(self, run, model, data):
        found, counted = (
            json.loads(run("grammar", what, "--top", 10_000, "--json").stdout) for what in (model, data / "train.ptb")
        )
        assert (found["size"], found["trees"]) == (counted["size"], None)
        without = [{name: value for name, value in rule.items() if name != "weight"} for rule in found["rules"]]
        assert without == [{k: v for k, v in rule.items() if k != "weight"} for rule in counted["rules"]]
        assert found["rules"] != counted["rules"]  # learning has changed weights

    def test_standard_input(self, run, data):
        text = run("grammar", "-", "--top", 1, input=(data / "train.ptb").read_text()).stdout
        assert "40 trees" in text

    def test_a_treebank_by_another_name(self, run, data, tmp_path):
        other = tmp_path / "wsj_0001"
        other.write_text("\n" + GOLD)
        assert "1 tree" in run("grammar", other).stdout

    def test_symbol(self, run, data):
        rules = json.loads(run("grammar", data / "train.ptb", "--symbol", "NP^S", "--json").stdout)["rules"]
        assert {rule["parent"] for rule in rules} == {"NP^S", "NP^S~"}
        text = run("grammar", data / "train.ptb", "--symbol", "NP^S", "--top", 1).stdout
        assert "more rules of NP^S" in text
        assert "symbols" not in text

    @pytest.mark.parametrize("suffix", ["txt", "tw"])
    def test_export(self, run, model, tmp_path, suffix):
        file = tmp_path / f"rules.{suffix}"
        result = run("grammar", model, "--export", file)
        grammar = ConstituencyParser.load(model).grammar_
        assert result.stderr == f"{file}: {len(grammar):,} rules\n"
        read = Grammar.read_text(file) if suffix == "txt" else Grammar.load(file)
        assert read.to_text() == grammar.to_text()
        assert run("grammar", file, "--top", 5, "--json").stdout == run(
            "grammar", model, "--top", 5, "--json"
        ).stdout.replace(json.dumps(str(model)), json.dumps(str(file)))

    def test_export_to_standard_output(self, run, data):
        text = run("grammar", data / "train.ptb", "--export", "-").stdout
        assert Grammar.from_text(text.splitlines()).to_text() == text

    def test_mistakes(self, run, data, model, tmp_path):
        treebank = data / "train.ptb"
        said = {
            ("--symbol", "NP"): "there is no symbol 'NP' in the grammar; there are: NP^",
            ("--symbol", "DT"): "'DT' is a tag",
            ("--grammar", "v2"): "grammar cannot be 'v2'",
            ("--export", tmp_path / "x.csv"): "ends in .txt, or to one in .tw",
            ("--export", tmp_path / "x.txt", "--json"): "leave out --symbol and --json",
        }
        for args, words in said.items():
            message = run("grammar", treebank, *args, code=2).stderr
            assert words in message
            assert message.count("\n") == 1
        assert "--grammar is for treebanks" in run("grammar", model, "--grammar", "v1h0", code=2).stderr
        assert "there is no such model file" in run("grammar", tmp_path / "nix", code=2).stderr

    def test_other_models_have_none(self, run, data, tmp_path):
        run("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", "--bits", 10, "-n", 1)
        assert "a model for tagging, which has no grammar" in run("grammar", tmp_path / "m.tw", code=2).stderr

    def test_a_grammar_is_no_model(self, run, data, tmp_path):
        file = tmp_path / "rules.tw"
        run("grammar", data / "train.ptb", "--export", file)
        message = run("parse", file, data / "test.ptb", code=2).stderr
        assert f"treewright train constituency TRAIN --grammar {file}" in message
        assert "grammar" in run("info", file).stdout


def test_info(run, model):
    about = json.loads(run("info", model, "--json").stdout)
    grammar = ConstituencyParser.load(model).grammar_
    assert (about["task"], about["symbols"]) == ("constituency", len(grammar.symbols))
    assert (about["binary_rules"], about["unary_rules"]) == (len(grammar.binary), len(grammar.unary))
    text = run("info", model).stdout
    for word in ("binary_rules", "v2h1", "max-margin", "step_size", "dev F1"):
        assert word in text


class TestTrace:
    def rows(self, text):
        return [line.split("\t") for line in text.splitlines()]

    def test_the_steps_build_the_parsers_tree(self, run, model, data):
        [found] = ConstituencyParser.load(model).parse_k_best([["She", "sleeps", "."]], 1)
        text = run("trace", "--model", model, "--text", "She sleeps .", "-f", "json").stdout
        trace = Trace.from_json(json.loads(text))
        *steps, done = trace.steps
        assert steps[0].state["focus"]["symbol"] == "TOP"
        assert done.chosen is None
        assert done.measures["total"] == pytest.approx(found[0].score)
        assert all(step.choice.score == 0.0 for step in steps)
        assert all(candidate.score <= 0.0 for step in steps for candidate in step.candidates)
        assert [action.split()[-1] for action in trace.actions if '"' in action] == ['"She"', '"sleeps"', '"."']
        assert sum(step.measures["reward"] for step in steps) == pytest.approx(steps[0].measures["value"])
        assert {step.correct for step in steps} == {None}
        assert trace.result == {"tree": str(found[0].tree)}

    def test_table(self, run, model, data):
        header, *body = run("trace", "--model", model, data / "train.ptb", "-n", 2).stdout.splitlines()
        assert header.split()[:7] == ["step", "constituent", "rule", "words", "reward", "total", "advantage"]
        assert "correct" in header
        assert body[0].split()[:4] == ["0", f"TOP[0:{len(load_corpus(data / 'train.ptb')[1])}]", "TOP", "->"]
        assert "Done" in body[-1]

    def test_gold(self, run, model, data):
        """What training saw has a derivation, of correct steps, none of which is better than the best."""
        text = run("trace", "--model", model, data / "train.ptb", "-n", 5, "--gold", "-f", "json", "--top", 1).stdout
        *steps, done = Trace.from_json(json.loads(text)).steps
        assert all(step.correct and step.choice.score <= 0.0 and len(step.candidates) <= 2 for step in steps)
        [best] = ConstituencyParser.load(model).parse_k_best([load_corpus(data / "train.ptb")[4]], 1)
        lost = sum(step.choice.score for step in steps)
        assert done.measures["total"] - best[0].score == pytest.approx(lost)

    def test_what_the_expert_does_instead(self, run, model, data):
        lines = run("trace", "--model", model, data / "train.ptb", "-f", "json").stdout.splitlines()
        number, wrong = next(
            (k, wrong) for k, line in enumerate(lines, 1) if (wrong := Trace.from_json(json.loads(line)).first_error)
        )
        assert wrong.expert != (wrong.action,)
        command = ("trace", "--model", model, data / "train.ptb", "-n", number)
        assert wrong.expert[0] in run(*command, "--full-symbols").stdout
        assert wrong.expert[0] not in run(*command).stdout  # symbols are shown plainly

    def test_columns_and_tsv(self, run, model):
        command = ("trace", "--model", model, "--text", "She sleeps .", "-f", "tsv", "--columns")
        table = self.rows(run(*command, "constituent,split,words").stdout)
        assert table[0] == ["constituent", "split", "words"]
        assert ["TOP[0:3]", "", "She sleeps ."] in table
        assert any(" | " in row[2] and row[1] for row in table)
        everything = "step,constituent,rule,split,words,reward,advantage,value,total,correct,expert,rivals"
        assert {len(row) for row in self.rows(run(*command, everything).stdout)} == {12}

    def test_several_sentences(self, run, model, data):
        text = run("trace", "--model", model, data / "test.ptb").stdout
        assert text.count("Done") == 8
        assert f"\n3: {load_corpus(data / 'test.ptb')[2]}\n" in text

    def test_what_has_no_derivation(self, run, model, tmp_path):
        result = run("trace", "--model", model, "--text", ". . . .")
        assert "the grammar has no tree for these words" in result.stderr
        assert result.stdout == ""
        file = tmp_path / "odd.ptb"
        file.write_text("(S (X (PRP She)) (VP (VBZ sleeps)) (. .))\n")
        result = run("trace", "--model", model, file)
        assert "no such constituent" in result.stdout
        result = run("trace", "--model", model, file, "--gold")
        assert f"{file}:1: the grammar has no" in result.stderr
        assert result.stdout == ""

    def test_decoders(self, run, data, tmp_path):
        settings = ("-l", "maximum-likelihood", "--decoder", "max-rule", "-o", tmp_path / "m.tw")
        run("train", "constituency", data / "train.ptb", *settings)
        values = json.loads(run("trace", "--model", tmp_path / "m.tw", data / "test.ptb", "-n", 1, "-f", "json").stdout)
        [parsed] = ConstituencyParser.load(tmp_path / "m.tw").parse(load_corpus(data / "test.ptb")[:1])
        assert values["result"]["tree"] == str(parsed.tree)

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("--style", "edges", "--text", "a"), "--style and --unlabelled are for dependency parsers"),
            (("--unlabelled", "--text", "a"), "--style and --unlabelled are for dependency parsers"),
            (("--columns", "stack", "--text", "a"), "there is no column 'stack'; there are: step, constituent"),
            (("--moves", "SHIFT", "--text", "a"), "makes its own moves"),
            (("--gold", "--text", "a"), "this sentence has no constituency tree"),
        ],
    )
    def test_mistakes(self, run, model, args, said):
        result = run("trace", "--model", model, *args, code=2)
        assert said in result.stderr
        assert result.stdout == ""

    def test_trees_without_a_model(self, run, data):
        message = run("trace", data / "test.ptb", code=2).stderr
        assert f"{data / 'test.ptb'}:1: this is a constituency tree" in message


def test_the_setting_of_the_paper_is_what_the_page_says(run):
    """The commands of docs/constituency.md resolve to Neu & Szepesvári's grammar, temperature and lists of trees."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "constituency.md").read_text(encoding="utf-8")
    commands = [line for line in page.replace("\\\n", " ").splitlines() if "--out paper" in line]
    configs = []
    for command in commands:
        words = command.removeprefix("$ treewright ").split()
        configs.append(tomllib.loads(run(*words, "--print-config").stdout))
    learners = [config["learner"] for config in configs]
    assert [each["name"] for each in learners] == ["policy-matching", "maxent"]
    assert learners[0]["temperature"] == 0.1
    assert learners[1]["n_best"] == 50
    for config, learner in zip(configs, learners, strict=True):
        assert (config["grammar"], config["trained"], config["max_length"]) == ("v2h0", "binary", 15)
        assert (config["shrink"], learner["averaged"], learner["normalise"]) == (False, False, True)
        assert (learner["batch"], learner["l2"], learner["passes"], learner["step"]) == (0, 0.0, 100, "1/sqrt(k)")


@pytest.mark.jit
def test_a_user_is_told_when_a_latent_grammar_would_serve_better(run, data, tmp_path):
    command = ("train", "constituency", data / "train.ptb", "--dev", data / "dev.ptb", "--out", tmp_path / "model.tw")
    little = ("--passes", 1, "--step-size", 1e-6)  # learns nothing
    said = run(*command, *little)
    assert "train latent" in said.stderr
    assert "0 %" in said.stderr
    assert "dev F1 of counting" in said.stdout
    assert "train latent" not in run(*command, *little, "--quiet").stderr
    assert "train latent" not in run(*command, "-l", "maximum-likelihood").stderr
    assert "train latent" not in run(*command, *little, "--search", "agenda").stderr  # which changes the score, too


@pytest.mark.jit
def test_what_a_user_should_know_before_training(run, data, tmp_path):
    command = ("train", "constituency", data / "train.ptb", "--out", tmp_path / "model.tw", *SMALL)
    said = run(*command, "--max-length", 6, "--json")
    sentences = load_corpus(data / "train.ptb")
    short = [sentence for sentence in sentences if len(sentence) <= 6]
    left_out = f"{len(sentences) - len(short):,} of {len(sentences):,} sentences are longer than --max-length"
    assert left_out in " ".join(said.stderr.split())
    first = json.loads(said.stdout.splitlines()[0])
    assert first["tokens_per_second"] == pytest.approx(sum(map(len, short)) / first["seconds"], rel=0.02)
    assert "only rules have" not in said.stderr
    assert "--patience has no effect without --dev" in run(*command, "--patience", 3).stderr
    agenda = " ".join(run(*command, "--max-length", 6, "--search", "agenda").stderr.split())
    assert "with --search only rules have learned rewards" in agenda
    assert "only rules have" not in run(*command, "--search", "agenda", "--rewards", "rules").stderr


@pytest.mark.jit
def test_the_score_of_a_given_grammar_is_not_that_of_counting(run, data, tmp_path, frequencies):
    out = tmp_path / "m.tw"
    given = ("--grammar", frequencies, "--dev", data / "dev.ptb", "--out", out, *SMALL)
    said = run("train", "constituency", data / "train.ptb", *given)
    assert "dev F1 of the given grammar" in said.stdout
    assert "only rules have learned rewards" in " ".join(said.stderr.split())
    assert "counting" not in said.output
    assert set(read_model(out).card["scores"]) == {"dev F1", "dev F1 of the given grammar"}


def test_the_advice_follows_from_what_was_measured():
    """Where learned weights removed few errors on dev, latent-variable grammars were mostly better on test."""
    results = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "constituency_learners.json"
    measured = json.loads(results.read_text())
    latent_is_better = []
    for treebank, seeds in measured["adaptive"].items():
        rows = measured["defaults"][treebank]
        runs = [each["the defaults, with span features"] for each in seeds.values()]
        dev, test = (statistics.mean(run[part] for run in runs) for part in ("dev", "test"))
        if error_reduction(rows["counting"]["dev"], dev) < _MUCH_LEARNED:
            latent_is_better.append(rows["`train latent`, one start"]["test"] > test)
    assert sum(latent_is_better) > len(latent_is_better) / 2


def test_the_last_line_says_how_much_of_the_weights_is_kept(run, data, tmp_path):
    out = tmp_path / "m.tw"
    command = ("train", "constituency", data / "train.ptb", "--dev", data / "dev.ptb", "--out", out, *SMALL)
    said = run(*command, "--step-size", 10).stdout  # much too large: counting is better
    strength = read_model(out).card["strength"]
    assert strength < 1.0
    assert f"then shrunk to {100 * strength:.0f} % of what was learned" in said
    assert "shrunk" not in run(*command, "--step-size", 10, "--no-shrink").stdout
