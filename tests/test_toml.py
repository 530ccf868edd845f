"""Lines of keys in TOML files."""

from __future__ import annotations

import pytest

from treewright.errors import ConfigError
from treewright.toml import _LONG_NUMBER, Document

TEXT = '''title = "a # b [c]"
sizes = [
  1,
  # not = this
  2,
]
about = """
learners = 3
"""
[rows."Max-Margin"]
learner = { name = "max-margin", passes = 3 }
settings.bits = 4

[choose]
"learner.step_size" = [0.1]  # = [
[corpora.toy]
train = 3
'''


def test_lines():
    document = Document.parse(TEXT, "x.toml")
    assert document.line("title") == 1
    assert document.line("sizes") == 2
    assert document.line("about") == 7
    assert document.line("learners") == 1  # inside a string there are no keys
    assert document.line("rows", "Max-Margin") == 10
    assert document.line("rows", "Max-Margin", "learner", "passes") == 11
    assert document.line("rows", "Max-Margin", "settings", "bits") == 12
    assert document.line("choose", "learner.step_size") == 15
    assert document.line("corpora", "toy", "train") == 17
    assert document.line("corpora", "toy", "dev") == 16


def test_broken_files(tmp_path):
    with pytest.raises(ConfigError, match=r"x\.toml:2: this is not TOML"):
        Document.parse("a = 1\nb = \n", "x.toml")
    with pytest.raises(ConfigError, match="no such file"):
        Document.read(tmp_path / "none.toml", "experiment")
    (tmp_path / "latin.toml").write_bytes(b"b = 1\na = '\xe4'")
    with pytest.raises(ConfigError, match=r"latin\.toml:2: .*UTF-8"):
        Document.read(tmp_path / "latin.toml", "experiment")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb = " + "[" * 2000, 2),
        ("a = 1\nb = " + "{x=" * 2000, 2),
        ("\n" + ".".join("a" * 2000) + " = 1", 2),
        ("[" + ".".join("a" * 300_000) + "]\n", 1),
        ("a = " + "9" * 5000, 1),
        ("\n\na = 1979-02-31\n", 3),
        ("a = 1\nb", 2),
        ('a = "', 1),
        ("a = 1\rb = 2", 1),
        ('a = "' + '\\"' * 300_000, 1),
        (("9" * 3999 + "\n") * 240, 1),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_no_reader_of_toml_should_choke_on(text, line):
    with pytest.raises(ConfigError, match=rf"x\.toml:{line}: this (is not|cannot be read as) TOML"):
        Document.parse(text, "x.toml")


def test_numbers_are_counted_once():
    """A search from every digit took 36 seconds for a megabyte of numbers."""
    assert _LONG_NUMBER.search("a = " + "9" * 5000)
    assert not _LONG_NUMBER.match("9" * 5000, 1)


def test_a_file_that_is_too_large(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"#" * 2_000_000)
    with pytest.raises(ConfigError, match="1,000,000 bytes"):
        Document.read(tmp_path / "x.toml", "configuration")


def test_a_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert Document.read(tmp_path / "x.toml", "configuration").values == {"a": 1}
