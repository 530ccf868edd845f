"""Blocks in which Python does not search for reference cycles."""

from __future__ import annotations

import gc
import weakref

import pytest

from treewright.corpora import Sentence
from treewright.estimators import Estimator
from treewright.garbage import set_aside, uncollected


@pytest.fixture(autouse=True)
def _on():
    gc.enable()
    gc.unfreeze()  # commands that other tests run set objects aside for good
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


def test_what_is_set_aside_is_not_searched_and_what_is_new_is():
    left: list[str] = []
    gc.collect()
    assert not gc.get_freeze_count()
    Circle(left, "before")
    with set_aside():
        assert gc.get_freeze_count()
        Circle(left, "within")
        with set_aside():
            pass
        assert gc.get_freeze_count()
        gc.collect()
        assert left == ["within"]
    assert not gc.get_freeze_count()
    gc.collect()
    assert left == ["within", "before"]


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
