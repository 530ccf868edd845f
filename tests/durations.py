"""Where the time of test runs went: ``python tests/durations.py build/logs`` reads the reports that pytest wrote there.

It needs nothing but Python, and prints for each run the total, the slowest files and the slowest tests.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

FILES, TESTS = 15, 25


def report(path: Path) -> str:
    """The slowest files and tests of one run."""
    files: defaultdict[str, float] = defaultdict(float)
    tests: list[tuple[float, str]] = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        seconds = float(case.get("time", 0))
        file = case.get("classname", "")
        files[file] += seconds
        tests.append((seconds, f"{file} {case.get('name')}"))
    lines = [f"{path.stem}: {len(tests):,} tests, {sum(files.values()):,.0f} s in all workers together"]
    for heading, rows in (
        ("files", sorted(((seconds, name) for name, seconds in files.items()), reverse=True)[:FILES]),
        ("tests", sorted(tests, reverse=True)[:TESTS]),
    ):
        lines += [f"  {heading}", *(f"    {seconds:7.1f}  {name}" for seconds, name in rows)]
    return "\n".join(lines)


if __name__ == "__main__":
    print("\n\n".join(map(report, sorted(Path(sys.argv[1]).glob("*.xml")))))
