"""Learners of installed packages on the command line."""

from __future__ import annotations

import json

import pytest

from tests.learners.package import install
from treewright.cli.tasks import TASKS


@pytest.fixture
def _package(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch)
    vars(TASKS["tagging"]).pop("options", None)  # made before the package was installed
    yield
    vars(TASKS["tagging"]).pop("options", None)


@pytest.mark.usefixtures("_package")
def test_a_learner_of_an_installed_package_is_listed_and_trains(run, data, tmp_path):
    assert json.loads(run("learners", "--json").stdout)["imitation"][-1]["learner"] == "patient"
    assert "--patience" in run("train", "tagging", "--help").stdout
    out = tmp_path / "m.tw"
    command = ("train", "tagging", data / "train.conllu", "--learner", "patient", "-n", 1, "--bits", 10, "-o", out)
    run(*command, "--patience", 3)
    learner = json.loads(run("info", out, "--json").stdout)["params"]["learner"]
    assert (learner["name"], learner["patience"], learner["epochs"]) == ("patient", 3, 3)
    assert "error: --patience must be a whole number" in run(*command, "--patience", 10, code=2).stderr
    run("evaluate", out, data / "test.conllu")
