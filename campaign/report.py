"""The counts of the campaign: from the store into results.json, and from there into docs/reliability.md."""

from __future__ import annotations

import json
from pathlib import Path

from campaign.frame import FOLDER, PARTS, RESULTS, Store, all_checks

PAGE = FOLDER.parent / "docs" / "reliability.md"


def write(store: Store) -> None:
    """Update the counts of the checks in the store, keep the other counts, and write the table of the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, cases, seconds, day, findings in store.counts():
        if not cases:  # the time was over before the first case
            continue
        results[name] = {"cases": cases, "findings": findings, "minutes": round(seconds / 60, 1), "day": day}
        if findings:
            results[name]["open"] = [
                (seed, number, message.strip()[-200:])
                for each, seed, number, message, _ in store.findings()
                if each == name
            ]
    checks = all_checks([])
    results = {name: results[name] for part in PARTS for name in sorted(results) if name.startswith(part + ".")}
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    rows = ["| check | what | cases | of | open findings | last run |", "|---|---|---:|---:|---:|---|"]
    for name, check in checks.items():
        result = results.get(name, {"cases": 0, "findings": 0, "day": "not yet"})
        rows.append(
            f"| `{name}` | {check.what} | {result['cases']:,} | {check.goal:,} | {result['findings']} | {result['day']} |"
        )
    replace(PAGE, "counts", "\n".join(rows))


def replace(page: Path, name: str, table: str) -> None:
    """Put a table between the comments with its name."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page} has no marks for {name}")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}")
