"""Lines of keys in TOML files."""

from __future__ import annotations

import pytest

from treewright.errors import ConfigError
from treewright.experiments import Document

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
        Document.read(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe4'")
    with pytest.raises(ConfigError, match="UTF-8"):
        Document.read(tmp_path / "latin.toml")
