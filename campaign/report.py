"""The counts of the campaign: from the store into results.json, and from there into docs/reliability.md."""

from __future__ import annotations

import json
from pathlib import Path

from campaign.frame import FOLDER, PARTS, Store, all_checks

RESULTS = FOLDER / "results.json"
PAGE = FOLDER.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- begin: python -m campaign report -->", "<!-- end -->"


def write(store: Store) -> None:
    """Update the counts of the checks that the store knows, keep the others, and write the table of the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, cases, seconds, day, findings in store.counts():
        results[name] = {"cases": cases, "findings": findings, "cpu_minutes": round(seconds / 60, 1), "day": day}
    checks = all_checks([])
    results = {name: results[name] for part in PARTS for name in sorted(results) if name.startswith(part + ".")}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    rows = ["| check | what | cases | of | open findings | last run |", "|---|---|---:|---:|---:|---|"]
    for name, check in checks.items():
        result = results.get(name, {"cases": 0, "findings": 0, "day": "not yet"})
        rows.append(
            f"| `{name}` | {check.what} | {result['cases']:,} | {check.goal:,} | {result['findings']} | {result['day']} |"
        )
    _replace(PAGE, "\n".join(rows))


def _replace(page: Path, table: str) -> None:
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
