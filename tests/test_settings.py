"""Settings: the checks of single values, and the declarations of every estimator, learner and update."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest

from treewright.constituency.agenda.policy import LEARNERS as PRIORITIES
from treewright.constituency.latent.pruning import LEARNERS as PRUNING
from treewright.constituency.latent.training import SplitMerge
from treewright.errors import ConfigError
from treewright.estimators import estimator_class, estimator_names
from treewright.learners import FAMILIES, learner_rows
from treewright.policies import UPDATES
from treewright.settings import (
    RENAMED,
    Choice,
    File,
    Flag,
    Like,
    Real,
    Setting,
    Text,
    Whole,
    checked,
    construct,
    current_names,
    settings_of,
)

ESTIMATORS = {name: estimator_class(name) for name in estimator_names()}
ROWS = {**learner_rows(), **UPDATES, SplitMerge.name: SplitMerge}
OWNERS = [*ESTIMATORS.values(), *ROWS.values()]


# ---- values


@pytest.mark.parametrize(
    ("values", "taken", "refused"),
    [
        (Whole(1, 9), [(1, 1), (np.int16(9), 9)], [0, 10, 1.0, "1", None, True, math.nan]),
        (Real(), [(-1, -1.0), (np.float32(0.5), 0.5)], ["1", None, math.nan, math.inf, True, 10**400]),
        (Real(0), [(0, 0.0)], [-0.1]),
        (Real(above=0, high=1), [(1e-9, 1e-9), (1, 1.0)], [0, 1.1]),
        (Real(0, below=1), [(0, 0.0)], [1, -0.1]),
        (Flag(), [(True, True), (False, False)], [0, 1, "true", None]),
        (Choice("a", {"b": "the other"}), [("a", "a"), ("b", "b")], ["c", 1, None]),
        (File(), [("x", Path("x")), (Path("x"), Path("x"))], [3, None]),
        (Text(), [("x", "x")], [3, None]),
    ],
)
def test_values_are_checked_and_brought_into_their_normal_form(values, taken, refused):
    setting = Setting("thing", values, "…")
    for given, normal in taken:
        found = setting.check(given)
        assert (found, type(found)) == (normal, type(normal))
    for given in refused:
        with pytest.raises(ConfigError, match=rf"^thing .*{re.escape(repr(given))}") as error:
            setting.check(given)
        assert error.value.setting == "thing"
        assert error.value.value is given


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (Whole(1, 9), "from 1 to 9"),
        (Real(above=0, high=1), "above 0 and at most 1"),
        (Real(0, below=1), "at least 0 and below 1"),
        (Choice("a", {"b": "the other"}), "a, b"),
    ],
)
def test_errors_say_what_the_value_must_be(values, text):
    with pytest.raises(ConfigError, match=text):
        Setting("thing", values, "…").check(object())


def test_a_number_stands_for_none_where_none_cannot_be_written():
    setting = Setting("batch", Whole(1), "Examples an update", none="all", none_written=0, why="so it is")
    assert setting.check(None) is setting.check(0, written=True) is None
    assert (setting.check(3), setting.plain(3), setting.plain(None), setting.plain(None, written=True)) == (
        3,
        3,
        None,
        0,
    )
    for written, nothing in ((False, "None means all"), (True, "0 means all")):
        with pytest.raises(ConfigError, match=rf"not -1; so it is; {nothing}"):
            setting.check(-1, written=written)
    with pytest.raises(ConfigError, match="not None"):
        Setting("seed", Whole(0), "…").check(None)


def test_what_a_function_takes():
    def make(value):
        if value == "odd":
            raise ConfigError("this is odd")
        if value == "other":
            raise ConfigError("is to blame", setting="part")
        return value.upper()

    setting = Setting("word", Like(make, "a word", str.lower), "…")
    assert setting.check("a") == "A"
    assert setting.plain("A") == "a"
    with pytest.raises(ConfigError, match=r"^word cannot be 'odd': this is odd"):
        setting.check("odd")
    with pytest.raises(ConfigError, match=r"^part is to blame"):
        setting.check("other")


def test_names_that_a_function_returns_may_change():
    names = ["a"]
    values = Choice(lambda: names)
    assert values.normal("a") == "a"
    names.append("b")
    assert values.normal("b") == "b"


def test_the_text_of_a_setting():
    assert Setting("a", Choice({"x": "one"}, "y"), "Which").text == "Which: x (one), y."
    assert Setting("a", Whole(), "How many", none="all", none_written=0).text == "How many; 0: all."
    assert Setting("a_b", Whole(), "…").option_flags == ["--a-b"]
    assert Setting("a_b", Flag(), "…").option_flags == ["--a-b/--no-a-b"]
    assert Setting("a", Whole(), "…", flags="--a -x").option_flags == ["--a", "-x"]


# ---- old names


def test_old_names_are_read_where_the_new_one_is_known():
    assert current_names({"iterations": 3}, ["passes"], "learner") == {"passes": 3}
    assert current_names({"iterations": 3}, ["cycles"], "learner") == {"iterations": 3}
    assert current_names({"C": 3}, ["r"], "update", "update 'arow'") == {"r": 3}
    assert current_names({"C": 3}, ["C"], "update", "update 'passive-aggressive'") == {"C": 3}
    for both in ({"passes": 1, "iterations": 2}, {"iterations": 2, "passes": 1}):
        with pytest.raises(ConfigError, match=r"iterations.*passes") as error:
            current_names(both, ["passes"], "learner")
        assert error.value.setting == "iterations"


def test_every_new_name_is_one():
    names = {setting.name for owner in OWNERS for setting in owner.settings}
    learners = {"learners": learner_rows(), "priorities": PRIORITIES, "pruning": PRUNING}
    for owner, table in RENAMED.items():
        assert set(table.values()) <= set(learners.get(owner, names))


# ---- the declarations


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_an_estimator_declares_the_arguments_of_its_constructor(estimator):
    parameters = inspect.signature(estimator).parameters
    assert sorted([*(setting.name for setting in estimator.settings), "learner"]) == sorted(parameters)
    described = inspect.getdoc(estimator).partition("Args:")[2]
    assert [name for name in parameters if not re.search(rf"^ +{name}: ", described, re.MULTILINE)] == []


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_learner_or_an_update_declares_its_fields(row):
    assert [setting.name for setting in row.settings] == [field.name for field in dataclasses.fields(row)]


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_defaults_are_values_that_settings_take_and_are_plain(owner):
    for setting in settings_of(owner):
        normal = setting.check(setting.default)
        assert setting.check(setting.plain(normal)) == normal


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_checking_changes_nothing(estimator):
    whole = [setting.name for setting in estimator.settings if isinstance(setting.values, Whole)]
    given = {name: np.int32(1) for name in whole}
    made = estimator(**given)
    values = checked(made)
    assert all(type(values[name]) is int for name in whole)
    assert all(getattr(made, name) is value for name, value in given.items())
    config = made.resolved_config()
    assert all(type(config[name]) is int for name in whole)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_values_that_cannot_be_are_refused_before_anything_is_read(estimator):
    for setting in estimator.settings:
        with pytest.raises(ConfigError) as error:
            estimator(**{setting.name: object()}).fit("there is no such file")
        assert error.value.setting == setting.name


def test_a_name_has_one_meaning():
    """Two settings of one name are of one type and mean the same, whatever has them."""
    meanings = {}
    for owner in OWNERS:
        for setting in owner.settings:
            found = (type(setting.values), setting.values.written, setting.help)
            assert meanings.setdefault(setting.name, found) == found, (setting.name, owner)


def test_choices_are_names_with_meanings_that_people_can_read():
    choices = [setting.values for owner in OWNERS for setting in owner.settings if isinstance(setting.values, Choice)]
    assert choices
    for choice in choices:
        assert all(isinstance(meaning, str) for meaning in choice.names.values()), choice


def test_every_family_declares_what_its_rows_share():
    for family in FAMILIES.values():
        shared = {setting.name for setting in family.base.settings}
        for row in family.rows.values():
            assert shared <= {setting.name for setting in row.settings}


def test_unknown_settings_are_named_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"speed is no setting of update 'arow', which has: averaged, r") as error:
        construct("update", UPDATES["arow"], {"speed": 1})
    assert error.value.setting == "speed"
