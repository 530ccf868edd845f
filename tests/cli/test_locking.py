"""One training at a time for one model file."""

from __future__ import annotations

import os

import pytest

from treewright.cli import locking
from treewright.cli.locking import locked
from treewright.errors import ConfigError

pytestmark = pytest.mark.skipif(locking.fcntl is None, reason="needs locks of files")


def test_a_lock_is_held_once_and_leaves_nothing_behind(tmp_path):
    with locked(tmp_path / "m.tw"):
        with pytest.raises(ConfigError, match="another training"), locked(tmp_path / "m.tw"):
            pass
        with locked(tmp_path / "other.tw"):
            pass
    assert os.listdir(tmp_path) == []


def test_a_lock_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """Its last owner removes it at the end, which may be after the next one has opened it."""
    flock, removed = locking.fcntl.flock, []

    def late(file, how):
        if not removed:
            removed.append(os.unlink(file.name))
        flock(file, how)

    monkeypatch.setattr(locking.fcntl, "flock", late)
    with locked(tmp_path / "m.tw"):
        assert removed
        with pytest.raises(ConfigError, match="another training"), locked(tmp_path / "m.tw"):
            pass
