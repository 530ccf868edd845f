"""Files are written whole or not at all."""

import os
import stat

import pytest

from treewright.errors import ModelError, TreewrightError
from treewright.files import atomic_write


def test_atomic_write_replaces_the_file_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_write(path) as stream:
        stream.write("new\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == b"new\n"
    with atomic_write(path, "wb") as stream:
        stream.write(b"\xff")
    assert path.read_bytes() == b"\xff"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("exception", [ValueError, KeyboardInterrupt])
def test_atomic_write_leaves_nothing_behind(tmp_path, exception):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with atomic_write(path) as stream:
            stream.write("half")
            raise exception

    with pytest.raises(exception):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_atomic_write_keeps_links_and_permissions(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_new_files_get_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    with atomic_write(tmp_path / "ours"):
        pass
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_atomic_write_does_not_replace_devices():
    with atomic_write(os.devnull) as stream:
        stream.write("gone")
    assert not os.path.isfile(os.devnull)


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(TreewrightError, match="folder"), atomic_write(tmp_path):
        pass
    with (
        pytest.raises(TreewrightError, match="folder does not exist"),
        atomic_write(tmp_path / "no" / "a"),
    ):
        pass


def test_errors_have_the_class_asked_for(tmp_path):
    for path, fact in ((tmp_path / "no" / "a", "folder"), ("a\0b", "null byte"), (tmp_path, "folder")):
        with pytest.raises(ModelError, match=fact), atomic_write(path, error=ModelError):
            pass


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"), atomic_write(tmp_path / "a.txt"):
        pass
    assert os.listdir(tmp_path) == []
