"""A package with a learner, installed as far as Python's metadata can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from treewright.learners import DAgger
from treewright.settings import Setting, Whole


@dataclass(frozen=True, kw_only=True)
class Patient(DAgger):
    """DAgger that trains on what it has seen again and again."""

    name: ClassVar[str] = "patient"
    source: ClassVar[str] = "example_learners"
    settings: ClassVar[tuple[Setting, ...]] = (*DAgger.settings, Setting("patience", Whole(0, 9), "How patient it is"))
    epochs: int = 3
    patience: int = 1


class Other:
    name = "other"
'''


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the package into a folder; return the file with its entry points."""
    info = folder / "example_learners-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-learners\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[treewright.learners]\npatient = example_learners:Patient\n")
    (folder / "example_learners.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(folder))
    return info / "entry_points.txt"
