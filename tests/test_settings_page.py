"""The page of settings in the documentation is the one that the declarations make."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_page_of_settings_is_current():
    made = runpy.run_path(str(ROOT / ".mkdocs" / "settings_page.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "run python .mkdocs/settings_page.py"
