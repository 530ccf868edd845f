"""The registry: learners by name, those of the library and those of installed packages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from tests.learners.package import install
from tests.toys import Track, random_track
from treewright.errors import ConfigError
from treewright.learners import (
    FAMILIES,
    DAgger,
    Imitation,
    InverseRL,
    MaximumLikelihood,
    PolicyGradient,
    Structured,
    learner_rows,
    learner_settings,
    make_learner,
    train,
)
from treewright.learners.registry import Learner
from treewright.settings import Setting, Whole


@pytest.fixture
def package(tmp_path, monkeypatch):
    return install(tmp_path, monkeypatch)


def test_every_learner_is_found_in_its_family():
    assert [*FAMILIES] == ["imitation", "beam", "planning", "reinforcement", "counting"]
    rows = learner_rows()
    assert list(rows) == [name for family in FAMILIES.values() for name in family.rows]
    for family in FAMILIES.values():
        assert learner_rows(family.base) == family.rows
        for name in family.rows:
            assert make_learner(name, family.base).name == make_learner(name.upper().replace("-", "_")).name == name


@pytest.mark.parametrize(
    ("learner", "kinds", "said"),
    [
        ("dagger", [InverseRL], r"'dagger' learns from single actions.*: projection, mwal"),
        (DAgger(), [InverseRL, MaximumLikelihood], r"'dagger' learns from single actions.*: .*maximum-likelihood"),
        ("maxent", [Imitation, Structured], r"'maxent' learns from whole plans.*: supervised"),
        ("I+", [Imitation], r"'I\+' learns from rewards"),
        ("max-violation", [PolicyGradient], "'max-violation' learns from searches with a beam"),
        ("nix", [PolicyGradient], "cannot be 'nix'; it is one of: policy-gradient, "),
        ("dager", [Imitation, Structured], "'dager'; .*max-violation; did you mean 'dagger'"),
        (3, [], "not 3"),
    ],
)
def test_a_learner_of_another_kind_is_refused(learner, kinds, said):
    with pytest.raises(ConfigError, match=rf"^learner .*{said}") as error:
        make_learner(learner, *kinds)
    assert error.value.setting == "learner"
    assert not {"imitation", "structured"} & set(re.split("[:,;] ", str(error.value)))  # nobody chooses base rows


def test_a_class_with_a_name_need_not_be_registered():
    @dataclass(frozen=True, kw_only=True)
    class Lonely(Learner):
        name: ClassVar[str] = "lonely"
        settings: ClassVar[tuple[Setting, ...]] = (Setting("depth", Whole(1), "How deep"),)
        depth: int = 1

    assert make_learner({"name": "Lonely", "depth": 3}, Lonely) == make_learner({"depth": 3}, Lonely) == Lonely(depth=3)
    with pytest.raises(ConfigError, match=r"'dagger'.*: lonely$"):
        make_learner("dagger", Lonely)
    with pytest.raises(ConfigError, match="lonely"):
        make_learner("lonely")


def test_names_of_today():
    assert learner_settings("ML") == {"name": "maximum-likelihood"}
    assert learner_settings({"name": "perceptron", "loss": 2.0}) == {"name": "irl-perceptron", "loss": 2.0}
    assert learner_settings({"iterations": 2}) == {"name": "imitation", "passes": 2}


def test_a_learner_of_an_installed_package_is_known_by_name(package):
    assert list(learner_rows(Imitation))[-1] == "patient"
    assert make_learner({"name": "patient", "patience": 2}).params()["patience"] == 2
    with pytest.raises(ConfigError, match=r"patience must .* from 0 to 9") as error:
        make_learner({"name": "patient", "patience": 10})
    assert error.value.setting == "patience"
    assert [row["learner"] for row in FAMILIES["imitation"].table()][-1] == "patient"
    packed = Track().pack(random_track(np.random.default_rng(31), 25, 5))
    trained = train({"name": "patient", "passes": 5}, packed, bits=10)
    same = train(DAgger(passes=5, epochs=3), packed, bits=10)
    np.testing.assert_array_equal(trained.policy.weights, same.policy.weights)
    with pytest.raises(ConfigError, match=r"'patience'.*: .*patient"):
        make_learner("patience")


def test_a_package_with_something_else_does_no_harm(package):
    package.write_text("[treewright.learners]\nother = example_learners:Other\nlost = example_learners:Lost\n")
    with pytest.raises(ConfigError, match=r"'other'.*treewright\.learners.*Other"):
        make_learner("other")
    with pytest.raises(ConfigError, match=r"'lost'.*example-learners.*Lost"):
        make_learner("lost")
    with pytest.warns(UserWarning, match="'other'"), pytest.warns(UserWarning, match="'lost'"):
        rows = learner_rows()
    assert not {"other", "lost"} & set(rows)
    assert make_learner("dagger") == DAgger()
