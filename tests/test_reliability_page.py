"""The page about reliability names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_promise_has_tests():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    promises = re.findall(r"^\| (\d+) \| .*", page, re.MULTILINE)
    assert promises == [str(number) for number in range(1, 11)]
    for row in re.findall(r"^\| \d+ \| .*", page, re.MULTILINE):
        named = re.findall(r"`([\w/]+\.py)::([\w:]+)`", row)
        assert named, row
        for file, test in named:
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            assert set(test.split("::")) <= names, f"{file}::{test}"
