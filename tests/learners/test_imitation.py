"""The table of learners and what may be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from tests.toys import Track, random_track
from treewright.errors import ConfigError
from treewright.learners import LEARNERS, SEARN, DAgger, Imitation, Supervised, make_learner, table, train
from treewright.policies import AROW, Perceptron


def test_the_table_has_every_named_learner_with_its_source():
    """The docstring of the module has the rows, and is a test."""
    rows = table()
    assert [row["learner"] for row in rows] == [name for name in LEARNERS if name != "imitation"]
    assert all(row["source"] for row in rows)


@pytest.mark.parametrize("name", LEARNERS)
def test_settings_of_a_learner_make_it_again(name):
    learner = make_learner(name)
    assert learner.name == name
    assert make_learner(learner.params()) == learner
    assert make_learner(learner) is learner


def test_a_learner_is_made_from_words():
    learner = make_learner({"name": "V_DAgger", "beta": "linear:4", "update": {"name": "arow", "r": 2.0}})
    assert (learner.name, learner.beta(4), learner.update) == ("v-dagger", 0.0, AROW(r=2.0))
    assert make_learner({"roll_in": "learned"}) == Imitation(roll_in="learned")
    assert Imitation(update="perceptron").update == Perceptron()
    assert Imitation(beta=0.5).beta(9) == 0.5


def test_unknown_learners_and_settings_are_named():
    with pytest.raises(ConfigError, match=r"'daggr'.*: supervised, exploration, dagger"):
        make_learner("daggr")
    with pytest.raises(ConfigError, match=r"rollin is no setting of learner 'dagger', .*: roll_in, roll_out"):
        make_learner({"name": "dagger", "rollin": "expert"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"roll_in": "oracle"}, "roll_in cannot be 'oracle'; it is one of: expert, learned"),
        ({"roll_in": "both"}, "roll_in cannot be 'both'"),
        ({"roll_out": "explore", "cost": "loss"}, "roll_out cannot be 'explore'"),
        ({"cost": "hamming"}, "cost cannot be 'hamming'; it is one of: action, optimal, oracle, loss"),
        ({"data": "some"}, "data cannot be 'some'; it is one of: first, current, all, online"),
        ({"cost": "loss"}, "cost 'loss' does not go with roll_out 'none'"),
        ({"roll_out": "expert"}, "cost 'action' does not go with roll_out 'expert'"),
        ({"passes": 0}, "passes must be a whole number from 1 to 2147483647, not 0"),
        ({"epochs": 0}, "epochs must be a whole number from 1"),
        ({"samples": -1}, "samples must be a whole number from 1"),
        ({"focus": -1}, "must be a whole number from 0"),
        ({"alpha": -1}, "alpha must be a whole number from 0"),
        ({"alpha": 2, "data": "online"}, "examples must be kept"),
        ({"small_first": 0.5}, "small_first must be a whole number from 0"),
        ({"k": -1}, "must be a whole number from 0"),
        ({"p": 1.1}, "p must .* at least 0 and at most 1, not 1.1"),
        ({"interpolation": -0.5}, "interpolation must .* at least 0"),
        ({"interpolation": 0.5}, 'set data = "current"'),
        ({"roll_in": "explore"}, 'set data = "online"'),
        ({"beta": "never"}, "beta cannot be 'never': .*decay:0.1"),
        ({"update": "adam"}, "update cannot be 'adam'"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Imitation(**settings)


def test_an_impossible_size_or_an_empty_corpus_is_refused():
    task = Track()
    with pytest.raises(ConfigError, match="the corpus has no sentences"):
        train(Supervised(), task.pack([]))
    for bits in (0, 31):
        with pytest.raises(ConfigError, match=f"bits must be a whole number from 1 to 30, not {bits}"):
            train(Supervised(), task.pack(random_track(np.random.default_rng(0), 1, 2)), bits=bits)


def test_a_row_of_ones_own_takes_three_lines():
    @dataclass(frozen=True, kw_only=True)
    class Mine(DAgger):
        name: ClassVar[str] = "mine"
        cost: str = "oracle"

    packed = Track().pack(random_track(np.random.default_rng(0), 20, 4))
    trained = train(Mine(passes=5), packed, bits=10)
    assert Mine().params()["name"] == "mine"
    assert trained.policy.decode(packed).losses.sum() == 0.0


def test_a_row_of_ones_own_in_the_table_is_known_by_name(monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Mine(SEARN):
        name: ClassVar[str] = "mine"
        interpolation: float = 0.9

    monkeypatch.setitem(LEARNERS, "mine", Mine)
    assert make_learner("mine").interpolation == 0.9
    assert "mine" in [row["learner"] for row in table()]


@pytest.mark.parametrize("data", ["first", "current", "all", "online"])
@pytest.mark.parametrize("roll_in", ["expert", "learned", "mixed-per-step", "mixed-per-roll"])
def test_every_roll_in_goes_with_all_data(roll_in, data):
    packed = Track().pack(random_track(np.random.default_rng(0), 12, 4))
    learner = Imitation(roll_in=roll_in, data=data, beta=0.5, passes=6, cost="optimal")
    assert train(learner, packed, bits=10).policy.decode(packed).losses.mean() < 0.5
