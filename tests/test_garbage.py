"""Blocks in which Python does not search for reference cycles."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from treewright.corpora import Sentence
from treewright.estimators import Estimator
from treewright.garbage import set_aside, uncollected


@pytest.fixture(autouse=True)
def _on():
    gc.enable()
    yield
    gc.enable()


def test_off_within_the_block_and_on_after_it():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_on_after_an_error():
    with pytest.raises(ValueError, match="mine"), uncollected():
        raise ValueError("mine")
    assert gc.isenabled()


def test_who_has_switched_it_off_keeps_it_off():
    gc.disable()
    with uncollected():
        pass
    assert not gc.isenabled()


class Circle:
    """An object that refers to itself."""

    def __init__(self, left: list[str], name: str) -> None:
        self.own = self
        weakref.finalize(self, left.append, name)


def churn(left: list[str]) -> None:
    """Make objects until the collector has searched the recent ones many times; some of them stay."""
    kept = [[Circle(left, "within") and []] for _ in range(100_000)]
    assert len(kept) == 100_000


def full_searches() -> int:
    return gc.get_stats()[2]["collections"]


def test_only_recent_objects_are_searched_within_the_block():
    left: list[str] = []
    usual, before = gc.get_threshold(), full_searches()
    with set_aside():
        with set_aside():
            churn(left)
        churn(left)
        assert full_searches() == before
        assert len(left) > 100_000
    assert gc.get_threshold() == usual


class Copying(Estimator):
    """Annotates nothing; remembers whether garbage was collected meanwhile."""

    def _decode(self, batch, jobs):
        self.collects = gc.isenabled()
        return batch


def test_lists_are_annotated_without_collection_and_streams_with_it():
    estimator = Copying()
    estimator.card_ = {}
    estimator.predict([["a"]])
    assert (estimator.collects, gc.isenabled()) == (False, True)
    assert list(estimator.predict(iter([["a"]]))) == [Sentence.from_words(["a"])]
    assert estimator.collects


KEEPING = """
import gc, weakref
from treewright.garbage import kept_forever

class Circle:
    def __init__(self):
        self.own = self

left, usual = [], gc.get_threshold()
weakref.finalize(Circle(), left.append, "before")  # garbage that must not be kept
model = [Circle() for _ in range(10_000)]
kept_forever()
assert left == ["before"], left
assert not any(isinstance(each, Circle) for each in gc.get_objects())
assert gc.get_threshold()[0] > usual[0] and gc.get_threshold()[1:] == usual[1:]
weakref.finalize(Circle(), left.append, "after")
gc.collect()
assert left == ["before", "after"], left  # the garbage of requests is still found
print("kept", gc.get_freeze_count() >= len(model))
"""


def test_a_loaded_model_is_not_searched_again_and_the_garbage_of_requests_is():
    answer = subprocess.run([sys.executable, "-c", KEEPING], capture_output=True, text=True, check=False)
    assert (answer.stdout.strip(), answer.stderr) == ("kept True", "")
