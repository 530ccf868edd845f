"""The file with the results."""

from __future__ import annotations

import multiprocessing
import sqlite3

import numpy as np
import pytest

from treewright.experiments import Outcome, Store, StoreError

JOB = {"task": "tagging"}


def test_results_come_back(tmp_path):
    counts = np.array([[1.0, 2.0], [3.0, 3.0]])
    with Store.open(tmp_path / "a.sqlite") as store:
        store.write("k1", "v1", JOB, Outcome(1.5, {"scores": {}}, {"test": counts}))
        store.write("k2", "v1", JOB, Outcome(0.5, error="ValueError: no"))
        store.write("k1", "v2", JOB, Outcome(2.5, {"scores": {"a": 1}}))
    with Store.open(tmp_path / "a.sqlite", write=False) as store:
        found = store.outcomes("v1")
        assert found["k1"].seconds == 1.5
        assert found["k1"].result == {"scores": {}}
        assert np.array_equal(found["k1"].counts["test"], counts)
        assert found["k2"].error == "ValueError: no"
        assert store.outcomes()["k1"].seconds == 2.5  # the newest
        assert store.codes() == {"v1": 1, "v2": 1}
        assert store.durations() == [(JOB, 1.5), (JOB, 2.5)]


def _hold(path, opened, leave):
    with Store.open(path):
        opened.set()
        leave.wait(20)


def test_two_processes_on_one_store(tmp_path):
    path = tmp_path / "a.sqlite"
    context = multiprocessing.get_context("spawn")
    opened, leave = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, opened, leave))
    other.start()
    try:
        assert opened.wait(60)
        with pytest.raises(StoreError, match=r"a\.sqlite: another process"):
            Store.open(path)
        Store.open(path, write=False).close()  # readers may come in
    finally:
        leave.set()
        other.join()
    Store.open(path).close()


def test_a_store_of_another_version(tmp_path):
    path = tmp_path / "a.sqlite"
    Store.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE about SET value = '99' WHERE name = 'store_version'")
    connection.close()
    for write in (True, False):
        with pytest.raises(StoreError, match=r"a\.sqlite: .*99"):
            Store.open(path, write=write)


def test_no_store(tmp_path):
    (tmp_path / "text").write_text("not a database, but more than a few bytes of text " * 20)
    with pytest.raises(StoreError, match="not a store"):
        Store.open(tmp_path / "text")
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="no store"):
        Store.open(tmp_path / "other.sqlite")
    with pytest.raises(StoreError, match="no results yet"):
        Store.open(tmp_path / "none.sqlite", write=False)
    with pytest.raises(StoreError, match="folder"):
        Store.open(tmp_path / "no" / "a.sqlite")


def test_a_full_disk_loses_nothing(tmp_path):
    path = tmp_path / "a.sqlite"
    large = {"test": np.random.default_rng(0).random((20_000, 2))}
    with Store.open(path) as store:
        store.write("k1", "v1", JOB, Outcome(1.0, {"a": 1}))
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")  # what SQLite sees where nothing is left
        with pytest.raises(StoreError, match=r"a\.sqlite: the disk is full"):
            store.write("k2", "v1", JOB, Outcome(1.0, {"a": 2}, large))
        assert list(store.outcomes()) == ["k1"]
    with Store.open(path) as store:
        store.write("k2", "v1", JOB, Outcome(1.0, {"a": 2}, large))
        assert set(store.outcomes()) == {"k1", "k2"}
