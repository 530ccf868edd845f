from __future__ import annotations

import json

import pytest

from treewright.tagging import Tagger


def test_table(run, model, data):
    text = run("evaluate", model, data / "test.conllu").stdout
    for word in (
        "accuracy",
        "95% interval",
        "unknown words",
        "exact match",
        "precision",
        "recall",
        "F1",
        "NOUN",
    ):
        assert word in text


def test_json_agrees_with_the_library(run, model, data):
    scores = json.loads(run("evaluate", model, data / "test.conllu", "--json").stdout)
    expected = Tagger.load(model).evaluate(data / "test.conllu")
    assert scores["accuracy"] == expected.accuracy
    assert scores["interval"] == list(expected.interval)
    assert scores["unseen_labels"] == []
    assert scores["task"] == "tagging"


def test_labels_that_training_never_saw(run, model, data, tmp_path):
    file = tmp_path / "odd.conllu"
    file.write_text((data / "test.conllu").read_text().replace("\tDET\t", "\t[b]ODD\t"))
    scores = json.loads(run("evaluate", model, file, "--json").stdout)
    before = json.loads(run("evaluate", model, data / "test.conllu", "--json").stdout)
    assert scores["unseen_labels"] == ["[b]ODD"]
    assert scores["unseen_label_tokens"] > 0
    assert scores["accuracy"] < before["accuracy"]
    text = run("evaluate", model, file).stdout
    assert f"gold labels that training never saw, of {scores['unseen_label_tokens']:,} word" in text
    assert "[b]ODD" in text


def test_nothing_to_compare_with(run, model, tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("Time flies\n")
    assert "nothing to compare with" in run("evaluate", model, file, code=2).stderr


@pytest.mark.parametrize("name", ["info", "evaluate"])
def test_model_cut_in_half(run, model, data, tmp_path, name):
    cut = tmp_path / "cut.tw"
    cut.write_bytes(model.read_bytes()[: model.stat().st_size // 2])
    message = run(*((name, cut) if name == "info" else (name, cut, data / "test.conllu")), code=2).stderr
    assert message.startswith(f"error: {cut}: truncated")


def test_analyses_with_other_tokens_are_scored_by_the_rules_of_conll_2018(run, tmp_path):
    gold, found = tmp_path / "gold.conllu", tmp_path / "found.conllu"
    gold.write_text("1\tDo\tdo\tAUX\t_\t_\t2\taux\t_\t_\n2\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    found.write_text("1\tDogo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    scores = json.loads(run("evaluate", found, gold, "--raw", "--json").stdout)
    assert scores["Sentences"]["f1"] == 1.0
    assert (scores["Tokens"]["gold"], scores["Tokens"]["system"], scores["Tokens"]["correct"]) == (2, 1, 0)
    assert "BLEX" in run("evaluate", gold, gold, "--raw").stdout
    assert "trees.ptb" in run("evaluate", "trees.ptb", gold, "--raw", code=2).stderr
    assert "only one of the two" in run("evaluate", "-", "-", "--raw", code=2).stderr
