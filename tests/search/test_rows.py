from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from treewright.search import rows as module
from treewright.search import string_hash
from treewright.search.rows import Rows, with_room
from treewright.text.words import KeyRows


@pytest.fixture
def described():
    return []


@pytest.fixture
def rows(described):
    def describe(word):
        described.append(word)
        return [word, word[0]]

    return Rows(describe, first=[[0, 0], [7, 7]])


def test_a_key_is_described_once(rows, described):
    assert rows.numbers(["a", "cat", "a"]).tolist() == [2, 3, 2]
    assert rows.numbers(["cat", "dogs"]).tolist() == [3, 4]
    assert described == ["a", "cat", "dogs"]
    hashes = [[string_hash(word), string_hash(word[0])] for word in ("a", "cat", "dogs")]
    assert rows.table[:5].tolist() == [[0, 0], [7, 7], *hashes]


def test_no_keys(rows):
    numbers = rows.numbers([])
    assert numbers.dtype == np.int32
    assert not len(numbers)


def test_a_table_that_was_given_away_keeps_its_rows(rows):
    numbers = rows.numbers(["a", "cat"])
    before = rows.table
    rows.numbers(map(str, range(1000, 3000)))
    assert rows.table is not before
    assert (rows.table[numbers] == before[numbers]).all()


def test_a_table_with_too_many_keys_is_replaced_by_an_empty_one(rows, monkeypatch):
    monkeypatch.setattr(module, "MOST_REMEMBERED", 2)
    rows.numbers(["a", "b"])
    assert rows.renewed() is rows
    rows.numbers(["c"])
    fresh = rows.renewed()
    assert fresh is not rows
    assert fresh.table.tolist() == [[0, 0], [7, 7]]
    assert fresh.numbers(["c"]).tolist() == [2]


def test_candidates_of_keys_follow_their_attributes(monkeypatch):
    monkeypatch.setattr(module, "MOST_REMEMBERED", 1)
    rows = KeyRows(lambda word: [word, word[:1]], lambda word: range(len(word)), 2)
    for table in (rows, rows.renewed()):
        assert table.numbers(["see", "", "so", "see"]).tolist() == [1, 2, 3, 1]
        found = [table.candidates[table.first[r] : table.first[r + 1]].tolist() for r in range(4)]
        assert found == [[], [0, 1, 2], [], [0, 1]]
        assert table.table[0].tolist() == [0, 0]
        assert table.table[1, 1] == table.table[3, 1] != table.table[2, 1]
    assert rows.renewed() is not rows


def test_threads_share_a_table():
    rows = Rows(lambda word: [word], first=[[-1]])
    words = [str(k) for k in range(2000)]

    def work(start):
        own = words[start:] + words[:start]
        for k in range(0, len(own), 50):
            numbers = rows.numbers(own[k : k + 50])
            assert rows.table[numbers, 0].tolist() == list(map(string_hash, own[k : k + 50]))
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(0, 2000, 250)))
    assert sorted(rows.values()) == list(range(1, 2001))


def test_with_room_copies_only_where_it_must():
    array = np.arange(3)
    assert with_room(array, 2) is array
    longer = with_room(array, 3)
    assert len(longer) > 3
    assert longer[:4].tolist() == [0, 1, 2, 0]
