from __future__ import annotations

import pytest

from treewright.errors import ConfigError
from treewright.learners import Constant, Decay, ExpertFirst, Linear, make_schedule

SCHEDULES = [
    (Decay(0.3), [1.0, 0.7, 0.49, 0.343]),
    (Decay(1.0), [1.0, 0.0, 0.0, 0.0]),
    (Constant(0.4), [0.4, 0.4, 0.4, 0.4]),
    (ExpertFirst(), [1.0, 0.0, 0.0, 0.0]),
    (Linear(3), [1.0, 0.5, 0.0, 0.0]),
]


@pytest.mark.parametrize(("schedule", "shares"), SCHEDULES, ids=[str(schedule) for schedule, _ in SCHEDULES])
def test_schedule_gives_these_shares(schedule, shares):
    assert [schedule(i) for i in (1, 2, 3, 4)] == pytest.approx(shares)
    assert make_schedule(str(schedule)) == schedule
    assert make_schedule(schedule) is schedule


def test_a_number_is_a_constant_schedule():
    assert make_schedule(0.25) == Constant(0.25)
    assert make_schedule(1)(7) == 1.0


@pytest.mark.parametrize("words", ["decay", "decay:fast", "linear:2.5", "sometimes", "", "constant:"])
def test_words_that_are_no_schedule_are_refused(words):
    with pytest.raises(ConfigError, match="is not a schedule: write decay:"):
        make_schedule(words)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Decay(1.5), "decay must lie between 0 and 1, not 1.5"),
        (lambda: Constant(-0.1), "share must lie between 0 and 1, not -0.1"),
        (lambda: Constant(float("nan")), "share must lie between 0 and 1, not nan"),
        (lambda: Linear(1), "at least 2 passes, not 1"),
        (lambda: make_schedule("decay:2"), "decay must lie between 0 and 1"),
        (lambda: make_schedule(3), "share must lie between 0 and 1"),
    ],
)
def test_shares_that_are_no_probabilities_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
