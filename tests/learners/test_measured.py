"""Measured results: there are some for every learner of imitation, and a learner pays if its gain is beyond chance."""

from __future__ import annotations

import pytest

from treewright.learners import LEARNERS
from treewright.learners.measured import Measurement, measured_conditions, measurements


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "imitation"])
def test_every_named_learner_is_measured_on_both_tasks(name):
    """A new learner needs a run of ``python -m benchmarks learners``."""
    found = measurements(name)
    assert set(found) == {"tagging", "dependency"}
    assert all(row.times > 0.0 and row.interval >= 0.0 for row in found.values())


def test_supervised_is_what_the_others_are_compared_with():
    assert set(measurements("supervised").values()) == {Measurement(0.0, 0.0, 1.0)}


@pytest.mark.parametrize(("gain", "interval", "pays"), [(0.5, 0.2, True), (0.2, 0.5, False), (-1.0, 0.2, False)])
def test_a_learner_pays_if_its_gain_is_beyond_chance(gain, interval, pays):
    assert Measurement(gain, interval, 2.0).pays == pays


def test_the_conditions_are_said():
    assert "EWT" in measured_conditions()
    assert "LAS" in measured_conditions()
