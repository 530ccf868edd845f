from __future__ import annotations

import pytest

from tests.packages import install
from treewright import load
from treewright.errors import ConfigError, ModelError
from treewright.estimators import Estimator, estimator_class, estimator_names
from treewright.models import write_model

SOURCE = """
from treewright.estimators import Estimator

class Chunker(Estimator):
    task = "chunking"

    def __init__(self, size=3):
        self.size = size

    def _restore(self, settings, arrays):
        self.known_ = settings["known"]
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    points = {
        "chunking": "chunks:Chunker",
        "tagging": "chunks:Chunker",
        "broken": "chunks:SOURCE",
        "gone": "no_such_module:X",
    }
    install(tmp_path, "chunks", {"tasks": points}, {"chunks": SOURCE + "\nSOURCE = 1\n"})
    monkeypatch.syspath_prepend(str(tmp_path))


def test_every_built_in_estimator_is_found_by_its_task():
    assert {"tagging", "viterbi", "dependency", "eisner", "constituency", "latent", "amr"} <= set(estimator_names())
    for name in estimator_names():
        kind = estimator_class(name)
        assert issubclass(kind, Estimator)
        assert kind.task == name
        assert kind.annotates in estimator_names()


def test_estimators_of_other_packages(package, tmp_path):
    assert estimator_names()[-3:] == ["chunking", "broken", "gone"]
    assert estimator_names().count("tagging") == 1
    assert estimator_class("chunking").__name__ == "Chunker"
    assert estimator_class("tagging").__name__ == "Tagger", "nobody replaces what is built in"
    path = tmp_path / "model.tw"
    write_model(path, task="chunking", config={"params": {"size": 5}, "learned": {"known": 7}}, arrays={}, card={})
    loaded = load(path)
    assert (type(loaded).__name__, loaded.size, loaded.known_) == ("Chunker", 5, 7)


@pytest.mark.parametrize(("name", "message"), [("broken", "not an Estimator class"), ("gone", "cannot be imported")])
def test_entry_points_that_are_no_estimators(package, name, message):
    with pytest.raises(ConfigError, match=message) as error:
        estimator_class(name)
    assert name in str(error.value)


def test_a_task_that_nobody_knows(tmp_path):
    with pytest.raises(ConfigError, match=r"'cooking'; there are: tagging, dependency"):
        estimator_class("cooking")
    write_model(tmp_path / "model.tw", task="cooking", config={}, arrays={}, card={})
    with pytest.raises(ModelError, match=r"model\.tw.*'cooking'"):
        load(tmp_path / "model.tw")
