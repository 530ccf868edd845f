"""Policies with an encoder from the command line: train, resume, info, trace, and bad input."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from tests.cli.conftest import SMALL
from tests.cli.test_train import same_model
from treewright.cli.train import PassReport

pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")

ENCODED = ("--policy", "small", "--device", "cpu", "--passes", 2)


@pytest.fixture(scope="module")
def model(tmp_path_factory, run, data):
    path = tmp_path_factory.mktemp("encoded") / "tagger.tw"
    run("train", "tagging", data / "train.conllu", "--dev", data / "dev.conllu", "--out", path, *ENCODED)
    return path


def test_resumed_is_the_same_to_the_bit(run, data, tmp_path, model, monkeypatch):
    out, report = tmp_path / "m.tw", PassReport.__call__
    command = ("train", "tagging", data / "train.conllu", "--dev", data / "dev.conllu", "-o", out, *ENCODED)

    def interrupt(self, row):
        report(self, row)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PassReport, "__call__", interrupt)
        assert "interrupted after pass 1 of 2" in run(*command, code=130).stderr
    run(*command, "--resume")
    assert same_model(out, model)


def test_info_tells_architecture_and_parameters(run, model):
    found = json.loads(run("info", model, "--json").stdout)
    assert found["params"]["policy"] == "small"
    assert (found["encoder"]["encoder"], found["encoder"]["layers"], found["encoder"]["width"]) == (
        "convolution",
        3,
        64,
    )
    assert 50_000 < found["parameters"] < 1_000_000
    assert found["bytes"] < 3 * found["parameters"]  # 16 bits each, and the vocabulary
    assert "update" not in found["params"]["learner"]  # of linear policies
    assert found["card"]["libraries"]["torch"] == metadata.version("torch")
    shown = run("info", model).stdout
    assert "encoder.width" in shown
    assert f"{found['parameters']:,}" in shown


def test_traces_have_probabilities(run, data, model):
    trace = json.loads(run("trace", data / "test.conllu", "--model", model, "--sentence", 1, "--format", "json").stdout)
    candidates = trace["steps"][0]["candidates"]
    assert sum(each["probability"] for each in candidates) == pytest.approx(1.0)


def test_evaluate_and_parse(run, data, model):
    accuracy = json.loads(run("evaluate", model, data / "train.conllu", "--json").stdout)["accuracy"]
    assert 0.0 < accuracy <= 1.0
    assert run("parse", model, data / "test.conllu").stdout.count("\n\n") == 10


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        (["--policy", "huge"], ["huge", "small", "medium", "large"]),
        (["--policy", "small", "--device", "cuda"], ["device", "no GPU", "cpu"]),
        (["--policy", "small", "--vectors", "none.txt"], ["none.txt", "no such file"]),
        (["--vectors", "none.txt"], ["vectors", "policy"]),
        (["--policy", "small", "--r", "3"], ["--r", "update", "encoder"]),
    ],
)
def test_bad_settings(run, data, tmp_path, options, facts, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    given = ("train", "tagging", data / "train.conllu", "-o", tmp_path / "m.tw", *SMALL, *options)
    message = " ".join(run(*given, code=2).stderr.split())
    assert [fact for fact in facts if fact not in message] == []
