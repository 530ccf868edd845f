"""Measured results: there are some for every learner of imitation, and a learner pays if its gain is beyond chance."""

from __future__ import annotations

import pytest

from treewright.learners import LEARNERS, irl_table, rl_table
from treewright.learners.measured import (
    Measurement,
    PlannerMeasurement,
    SearchMeasurement,
    measured_conditions,
    measurements,
    planner_measurements,
    search_measurements,
)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "imitation"])
def test_every_named_learner_is_measured_on_both_tasks_and_two_treebanks(name):
    """A new learner needs a run of ``python -m benchmarks learners``; graphs are measured for most."""
    found = measurements(name)
    both = {f"{task}{where}" for task in ("tagging", "dependency") for where in ("", ", Afrikaans")}
    assert set(found) - {"graphs"} == both
    assert all(row.times > 0.0 for row in found.values())
    assert all(found[task].interval >= 0.0 for task in both)


@pytest.mark.parametrize("name", ["early-update", "max-violation", *(row["learner"] for row in rl_table())])
def test_every_learner_with_a_beam_or_by_rewards_is_measured_in_dependency_parsing(name):
    assert measurements(name)["dependency"].interval > 0.0


@pytest.mark.parametrize("name", [row["learner"] for row in irl_table()])
def test_every_learner_of_plans_is_measured_on_two_treebanks(name):
    """A new one needs a row of ``python -m benchmarks constituency_learners``."""
    found = planner_measurements(name)
    assert set(found) == {"CRAFT", "WSJ sample"}
    assert all(0.0 <= row.p <= 1.0 for row in found.values())


@pytest.mark.parametrize(
    "name", ["on-policy", *(row["learner"] for row in rl_table() if row["learner"] != "policy-gradient")]
)
def test_every_learner_of_priorities_with_an_oracle_is_measured_on_two_treebanks(name):
    found = search_measurements(name)
    assert set(found) == {"CRAFT", "WSJ sample"}
    assert all(row.pops > 0.0 for row in found.values())


@pytest.mark.parametrize(("gain", "p", "pays"), [(1.0, 0.01, True), (1.0, 0.2, False), (-1.0, 0.01, False)])
def test_a_learner_of_plans_pays_if_it_is_significantly_better(gain, p, pays):
    assert PlannerMeasurement(gain, p, 2.0).pays == pays


@pytest.mark.parametrize(("pops", "gain", "pays"), [(0.2, -0.5, True), (0.2, -3.0, False), (1.2, 0.5, False)])
def test_priorities_pay_if_fewer_pops_cost_no_more_than_a_point(pops, gain, pays):
    assert SearchMeasurement(pops, gain).pays == pays


def test_supervised_is_what_the_others_are_compared_with():
    assert set(measurements("supervised").values()) == {Measurement(0.0, 0.0, 1.0)}


@pytest.mark.parametrize(
    ("gain", "interval", "pays"), [(0.5, 0.2, True), (0.2, 0.5, False), (-1.0, 0.2, False), (0.5, None, False)]
)
def test_a_learner_pays_if_its_gain_is_beyond_chance(gain, interval, pays):
    assert Measurement(gain, interval, 2.0).pays == pays


def test_the_conditions_are_said():
    assert "EWT" in measured_conditions()
    assert "LAS" in measured_conditions()
    assert "--focus 10" in measured_conditions()
    assert "--mode fast" in measured_conditions()
