"""Input of commands, in chunks."""

from __future__ import annotations

from typing import Any

from treewright.cli import streams
from treewright.cli.streams import Input


class Counted(bytes):
    """Bytes that count how many of them are searched or copied."""

    touched = 0

    def split(self, *arguments: Any) -> list[bytes]:
        Counted.touched += len(self)
        return [Counted(part) for part in bytes.split(self, *arguments)]

    def __add__(self, other: bytes) -> Counted:
        return Counted._joined(bytes(self) + bytes(other))

    def __radd__(self, other: bytes) -> Counted:
        return Counted._joined(bytes(other) + bytes(self))

    @classmethod
    def _joined(cls, data: bytes) -> Counted:
        cls.touched += len(data)
        return cls(data)


def test_the_work_on_a_long_line_grows_with_its_length(tmp_path, monkeypatch):
    """A line used to be joined to the next chunk again and again: 10 MB without a line end took minutes."""
    path = tmp_path / "long.txt"
    path.write_bytes(b"a b c d " * 2_000 + b"\nshort\n")
    monkeypatch.setattr(streams, "_CHUNK", 16)
    monkeypatch.setattr(Counted, "touched", 0)
    with Input(str(path), "text") as opened:
        read = opened._read
        monkeypatch.setattr(opened, "_read", lambda size: Counted(read(size)))
        assert [len(sentence) for sentence in opened.sentences()] == [8_000, 1]
    assert 16_000 < Counted.touched < 3 * 16_000
