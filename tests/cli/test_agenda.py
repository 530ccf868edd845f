"""Agenda parsers from the command line: training, tuning the speed of a model that is there, and what is popped."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from treewright.cli import tune_speed
from treewright.constituency import ConstituencyParser
from treewright.corpora import builtin_corpus, write_ptb
from treewright.errors import ConfigError, CorpusError
from treewright.tracing import Trace

ML = ("-l", "maximum-likelihood")


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    for name, part in builtin_corpus(train=40, dev=15, test=8)._asdict().items():
        write_ptb(part, folder / f"{name}.ptb")
    return folder


@pytest.fixture(scope="module")
def model(run, trees):
    files = (trees / "train.ptb", "--dev", trees / "dev.ptb", "--out", trees / "model.tw")
    said = run("train", "constituency", *files, *ML, "--search", "agenda", "--tradeoff", 1e-3).stdout
    assert re.search(r"model.tw: an agenda with learned priorities, \d+ pops a sentence, dev F1 \d+", said)
    return trees / "model.tw"


@pytest.mark.jit
def test_a_model_with_an_agenda(run, model, trees):
    parser = ConstituencyParser.load(model)
    assert (parser.search, parser.tradeoff) == ("agenda", 1e-3)
    scores = json.loads(run("evaluate", model, trees / "test.ptb", "--json").stdout)
    assert scores["f1"] == parser.evaluate(trees / "test.ptb").f1
    [tree] = run("parse", model, input="She sleeps .\n").stdout.splitlines()
    assert tree.count("(") == tree.count(")") > 3


@pytest.mark.jit
def test_pops_are_shown_in_order(run, model, trees):
    text = ("trace", "--model", model, "--text", "She sleeps .")
    table = run(*text, "--top", 2).stdout
    assert "priority" in table.splitlines()[0]
    assert "TOP[0:3]" in table
    pops = Trace.from_json(json.loads(run(*text, "-f", "json").stdout)).decisions
    assert pops[-1].action == "TOP[0:3]"
    assert {"inside", "length"} <= {feature.name for feature in pops[-1].choice.features}
    popped = set()
    for pop in pops:
        item, agenda = pop.state["item"], pop.state["agenda"]
        assert {(part["symbol"], part["start"], part["end"]) for part in item["parts"]} <= popped
        popped.add((item["symbol"], item["start"], item["end"]))
        assert (agenda[0]["symbol"], agenda[0]["priority"]) == (item["symbol"], pop.measures["priority"])
        assert len(agenda) == min(pop.state["waiting"], 8)
        assert [each["priority"] for each in agenda] == sorted((each["priority"] for each in agenda), reverse=True)
    rows = run(*text, "-f", "tsv", "--columns", "constituent,from,agenda", "--top", 1).stdout.splitlines()
    [parts] = [row.split("\t")[1:] for row in rows if row.startswith("TOP[0:3]")]
    assert parts[0].endswith("[0:3]")
    assert parts[1].startswith("TOP[0:3]")
    lines = run(*text, "-f", "tsv", "--columns", "pop,constituent,features").stdout.splitlines()
    assert lines[0] == "pop\tconstituent\tfeatures"
    assert len(lines) == 1 + len(pops)
    assert "there is no column 'rule'" in run(*text, "--columns", "rule", code=2).stderr
    gold = run("trace", "--model", model, trees / "train.ptb", "-n", 1, "--gold").stdout
    assert "advantage" in gold  # the steps to the gold tree are those of exact search


@pytest.mark.jit
def test_speed_is_tuned(run, trees):
    plain, out = trees / "plain.tw", trees / "fast.tw"
    run("train", "constituency", trees / "train.ptb", *ML, "--out", plain)
    options = ("--lambda", 1e-3, "--lose", 50, "--test", trees / "test.ptb")
    found = json.loads(run("tune-speed", plain, trees / "dev.ptb", *options, "--json", "--out", out).stdout)
    assert [row["name"] for row in found["rows"]] == ["as it was", "A*₀", "0.001"]
    assert found["rows"][0]["pops"] is None
    assert found["rows"][2]["pops"] < found["rows"][1]["pops"]
    [chosen] = [row for row in found["rows"] if row["chosen"]]
    assert chosen["times_faster"] == max(row["times_faster"] for row in found["rows"])  # all lose less than 50 points
    faster = ConstituencyParser.load(out)
    assert faster.search == ("cky" if chosen["name"] == "as it was" else "agenda")
    assert faster.evaluate(trees / "test.ptb").f1 == chosen["f1"]
    tuned = run("tune-speed", plain, trees / "dev.ptb", *options)
    assert "pops/sentence" in tuned.stdout.splitlines()[0]
    assert "8 sentences" in tuned.stdout.splitlines()[-1]
    assert "warning: 8 sentences to measure with" in tuned.stderr


@pytest.mark.jit
def test_the_learner_time_and_threshold_of_tuning(run, trees):
    plain, out = trees / "plain2.tw", trees / "fast2.tw"
    run("train", "constituency", trees / "train.ptb", *ML, "--out", plain)
    files = ("tune-speed", plain, trees / "dev.ptb", "--test", trees / "test.ptb", "--lose", 100, "--json")
    choices = ("--learner", "i+", "--time", "pushes", "--delta", 6, "--lambda", 1e-3)
    rows = json.loads(run(*files, *choices).stdout)["rows"]
    assert [row["name"] for row in rows] == ["as it was", "A*₀", "0.001, Δ = 6"]
    for search in ("ida-star", "ha-star"):
        found = json.loads(run(*files, "--search", search, "--delta", 2, "--delta", 8, "--out", out).stdout)
        names = [row["name"] for row in found["rows"]]
        assert names == ["as it was", "A*₀", f"{search}, Δ = 2", f"{search}, Δ = 8"]
        assert found["rows"][2]["pops"] <= found["rows"][3]["pops"]
    [chosen] = [row for row in found["rows"] if row["chosen"]]
    kept = ConstituencyParser.load(out)
    assert kept.evaluate(trees / "test.ptb").f1 == chosen["f1"]
    assert ("ha-star" in chosen["name"]) == (kept.search == "ha-star")


@pytest.mark.jit
def test_a_learner_for_priorities_in_training(run, trees):
    files = ("train", "constituency", trees / "train.ptb", "--dev", trees / "dev.ptb", "--out", trees / "own.tw", *ML)
    choices = ("--search", "agenda", "--tradeoff", 1e-3, "--time", "pushes", "--delta", 6)
    run(*files, *choices, "--priority-learner", "apprenticeship")
    parser = ConstituencyParser.load(trees / "own.tw")
    about = parser.card_["priorities"]
    assert (about["learner"]["name"], about["time"], about["max_gap"]) == ("apprenticeship", "pushes", 6.0)
    assert parser.card_["scores"]["dev F1"] == parser.evaluate(trees / "dev.ptb").f1


def test_what_cannot_be_tuned_together():
    trials = tune_speed._trials
    assert [name for name, *_ in trials("constituency", [0.1], [2.0, 4.0], "agenda", "I+", "pops")] == [
        "0.1, Δ = 2",
        "0.1, Δ = 4",
    ]
    assert trials("latent", [0.1], None, "agenda", "on-policy", "pops") == [("0.1", 0.1, {"learner": "on-policy"})]
    for arguments, fact in (
        (("latent", None, [2.0], "agenda", "on-policy", "pops"), "train constituency"),
        (("latent", None, None, "ha-star", "on-policy", "pops"), "train constituency"),
        (("constituency", None, None, "cky", "on-policy", "pops"), "one of: agenda, ida-star, ha-star"),
        (("constituency", [0.1], None, "ida-star", "on-policy", "pops"), "ida-star learns nothing"),
    ):
        with pytest.raises(ConfigError, match=fact):
            trials(*arguments)


def test_bad_values_are_found_before_anything_is_measured(run, trees, monkeypatch):
    plain, measured = trees / "plain3.tw", []
    run("train", "constituency", trees / "train.ptb", *ML, "--out", plain)
    monkeypatch.setattr(tune_speed, "_measured", lambda *args: measured.append(args))
    for option, value in (
        ("--learner", "magic"),
        ("--learner", "max-margin"),
        ("--time", "hours"),
        ("--delta", "-1"),
        ("--delta", "nan"),
        ("--lambda", "2"),
        ("--search", "depth-first"),
    ):
        said = run("tune-speed", plain, trees / "dev.ptb", option, value, code=2).stderr
        assert value in said
        assert "Traceback" not in said
    assert not measured


def test_sentences_that_are_too_long_for_the_model_are_left_out_before_some_are_held_out(trees, capsys):
    """Every fifth sentence of the rest is for measuring; if long ones counted, all that are held out could be long."""
    learn, measure = tune_speed._sentences(trees / "train.ptb", None, None)
    lengths = sorted(len(sentence) for sentence in (*learn, *measure))
    most = lengths[len(lengths) // 2]
    assert capsys.readouterr().err == ""
    learn, measure = tune_speed._sentences(trees / "train.ptb", None, most)
    short = sum(length <= most for length in lengths)
    assert (len(learn) + len(measure), len(measure)) == (short, short // 5)
    assert max(len(sentence) for sentence in (*learn, *measure)) <= most
    assert f"{len(lengths) - short} sentences" in capsys.readouterr().err
    with pytest.raises(CorpusError, match=r"train\.ptb: no sentence has .* the model's --max-length: the shortest has"):
        tune_speed._sentences(trees / "train.ptb", trees / "test.ptb", lengths[0] - 1)


def test_little_was_measured(capsys):
    tune_speed._warn_of_chance(0.5, 200)
    assert capsys.readouterr().err == ""
    tune_speed._warn_of_chance(0.1, 200)
    assert capsys.readouterr().err.startswith("warning: 0.10 seconds of parsing")


def test_what_tuning_buys():
    def outcome(name, seconds, pops, f1):
        return tune_speed.Outcome(name, None, f1, seconds, pops, None)

    tried = [outcome("as it was", 2.0, 0, 0.9), outcome("A*₀", 4.0, 300, 0.9), outcome("0.1", 1.0, 100, 0.88)]
    assert tune_speed._what_it_buys(tried, tried[2]) == "3.0 times fewer pops than A*₀, 2.0 times faster, -2.0 F1"
    assert "faster than the original" in tune_speed._what_it_buys(tried, tried[0])


def test_only_constituency_parsers_can_be_tuned(monkeypatch, tmp_path):
    class Tagging:
        name = "tagging"

    monkeypatch.setattr(tune_speed, "load_model", lambda path: (Tagging, object()))
    with pytest.raises(ConfigError, match="model for tagging"):
        tune_speed._parser(tmp_path / "model.tw")


def test_settings(run):
    options = ("--search", "agenda", "--tradeoff", 1e-5, "--print-config")
    config = tomllib.loads(run("train", "constituency", *options).stdout)
    assert (config["search"], config["tradeoff"]) == ("agenda", 1e-5)
    assert tomllib.loads(run("train", "constituency", "--print-config").stdout)["tradeoff"] == 0


def test_settings_that_do_not_fit(run, trees):
    train = ("train", "constituency", trees / "train.ptb", "--out", trees / "no.tw")
    for fact in ("tradeoff", "search", "agenda"):
        assert fact in run(*train, "--tradeoff", 1e-5, code=2).stderr
    said = run(*train, "--search", "agenda", "--tradeoff", 3, code=2).stderr
    assert re.search(r"tradeoff .*at most 1, not 3", said)
    config = trees / "config.toml"
    config.write_text("tradeoff = 1e-5\n")
    assert "config.toml:1: tradeoff" in run(*train, "-c", config, code=2).stderr
