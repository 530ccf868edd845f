"""A tiny experiment: taggers of a few sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

TINY = """\
title = "Tiny"
task = "tagging"
seeds = 2
baseline = "supervised"
learners = ["supervised", "exploration"]

[corpora.toy]
train = 6
dev = 3
test = 5

[settings]
bits = 8

[learner]
passes = 1
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path
