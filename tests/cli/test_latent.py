"""Latent-variable grammars from the command line: training, what a model says of itself, and its speed."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from treewright.constituency import LatentParser
from treewright.corpora import builtin_corpus, write_ptb

SMALL = ("--cycles", 2, "--starts", 1, "--split", 3, "--merge", 1, "--smooth", 1)


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    for name, part in builtin_corpus(train=40, dev=12, test=8)._asdict().items():
        write_ptb(part, folder / f"{name}.ptb")
    return folder


@pytest.fixture(scope="module")
def model(run, trees):
    files = (trees / "train.ptb", "--dev", trees / "dev.ptb", "--out", trees / "model.tw")
    said = run("train", "latent", *files, *SMALL).stdout
    assert len(said.splitlines()) == 4, "a header, a row a cycle, and a summary"
    return trees / "model.tw"


@pytest.mark.jit
def test_the_last_line_says_what_the_score_is_of(run, trees):
    files = (trees / "train.ptb", "--dev", trees / "dev.ptb", "--out", trees / "product.tw")
    small = ("--cycles", 1, "--starts", 2, "--split", 2, "--merge", 1, "--smooth", 1)
    said = run("train", "latent", *files, *small, "--products", 2, "--tradeoff", 0.01).stdout
    last = said.splitlines()[-1]
    assert re.search(r"pass \d of 2, then a product of 2 grammars and learned pruning, dev F1 ", last)
    assert re.search(r"scores.dev F1 +\d+\.\d\d ", run("info", trees / "product.tw").stdout)


def test_nothing_is_split_without_cycles(run, trees):
    said = run("train", "latent", trees / "train.ptb", "--cycles", 0, "-o", trees / "no.tw", code=2).stderr
    assert "--cycles must be a whole number from 1" in said
    assert "maximum-likelihood" in said


@pytest.mark.jit
def test_scores_and_says_what_it_is(run, model, trees):
    scores = json.loads(run("evaluate", model, trees / "test.ptb", "--json").stdout)
    assert scores["f1"] == LatentParser.load(model).evaluate(trees / "test.ptb").f1
    about = json.loads(run("info", model, "--json").stdout)
    assert about["task"] == "latent"
    sizes = [len(level.coarser) for level in LatentParser.load(model).levels_]
    assert (about["cycles"], about["symbols"], about["substates"]) == (len(sizes) - 1, sizes[0], sizes[-1])
    assert about["substates"] > about["symbols"]
    [tree] = run("parse", model, input="She sleeps .\n").stdout.splitlines()
    assert tree.count("(") == tree.count(")") > 3


def test_every_setting_is_resolved(run):
    config = tomllib.loads(run("train", "latent", "--tradeoff", 0.01, "--print-config").stdout)
    assert config["tradeoff"] == 0.01
    assert config["learner"]["cycles"] == 5
    assert config["learner"]["starts"] == 3
    assert config["products"] == 1
    assert config["grammar"] == "v1h0"


@pytest.mark.jit
def test_its_trees_are_traced(run, model, trees):
    values = json.loads(run("trace", "--model", model, trees / "test.ptb", "-n", 1, "-f", "json").stdout)
    [line] = run("parse", model, input=" ".join(values["words"]) + "\n").stdout.splitlines()
    assert (values["kind"], values["result"]["tree"]) == ("derivation", line)


@pytest.mark.jit
def test_its_grammar_is_that_of_the_treebank_before_symbols_are_divided(run, model, trees):
    found = json.loads(run("grammar", model, "--json").stdout)
    wanted = json.loads(run("grammar", trees / "train.ptb", "--grammar", "v1h0", "--json").stdout)
    assert (found["grammar"], found["size"]) == (wanted["grammar"], wanted["size"])
    assert found["rules"] == wanted["rules"]


@pytest.mark.jit
def test_speed_is_tuned(run, model, trees):
    out = trees / "fast.tw"
    files = (model, trees / "train.ptb", "--lose", 50)
    found = json.loads(run("tune-speed", *files, "--lambda", 0.01, "--lambda", 0.1, "-o", out, "--json").stdout)
    [chosen] = [row for row in found["rows"] if row["chosen"]]
    assert chosen["times_faster"] == max(row["times_faster"] for row in found["rows"])  # all lose less than 50 points
    assert LatentParser.load(out).tradeoff == chosen["lambda"]
    assert "8 sentences" in run("tune-speed", *files, "--lambda", 0.01).stdout.splitlines()[-1]
    options = ("--test", trees / "test.ptb", "--lambda", 0.05, "--json")
    found = json.loads(run("tune-speed", model, trees / "dev.ptb", *options).stdout)
    assert found["sentences"] == 8
    assert [row["lambda"] for row in found["rows"]] == [None, 0.05]
    assert sum(row["chosen"] for row in found["rows"]) == 1


@pytest.mark.parametrize("price", [0.0, -1.0, 2.0])
def test_prices_that_are_none(run, trees, price):
    files = (trees / "model.tw", trees / "dev.ptb")
    assert "--lambda must be above 0" in run("tune-speed", *files, "--lambda", price, code=2).stderr


@pytest.mark.jit
def test_small_treebanks(run, tmp_path, model, trees):
    few = tmp_path / "few.ptb"
    few.write_text("".join((trees / "dev.ptb").read_text().splitlines(keepends=True)[:3]))
    assert "too few" in run("tune-speed", model, few, code=2).stderr


@pytest.mark.parametrize(
    ("task", "option"), [("latent", "--max-length"), ("latent", "--tradeoff"), ("constituency", "--batch")]
)
def test_what_is_below_none(run, trees, task, option):
    said = run("train", task, trees / "train.ptb", option, -1, "-o", trees / "no.tw", code=2).stderr
    assert said.startswith(f"error: {option} must be")
    assert "not -1" in said
    assert "0 means" in said
