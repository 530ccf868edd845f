"""Tables of the reports in ``papers`` for the pages in ``docs/papers``, so that no figure there is typed by hand.

A page names a report, the headings of some of its tables, and the columns to show, one heading a line; the rows of all of them become
one table, joined by their names::

    <!-- papers/goodman/table-6.1.md
    Little Prince: Smatch on dev | score, p
    built-in: Smatch on dev | score, p, paper
    -->
    (the table, which ``python -m benchmarks papers`` writes)
    <!-- end -->

One table is from the benchmark ``constituency_learners``, because all training sentences take hours: ``<!-- all sentences -->``.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, say

PAGES = ROOT / "docs" / "papers"
BLOCK = re.compile(r"(<!-- (papers/\S+\.md)\n(.*?)\n-->\n)(.*?)(<!-- end -->)", re.DOTALL)

ALL_SENTENCES = re.compile(r"(<!-- all sentences -->\n)(.*?)(<!-- end -->)", re.DOTALL)
METHODS = {
    "ML": "maximum likelihood",
    "PE": "Perceptron",
    "MW": "MWAL",
    "ME": "MaxEnt, 50 best",
    "MM": "Max-Margin",
    "PM": "Policy Matching",
    "PR": "Projection",
}
"""The methods of Neu & Szepesvári: their names in ``papers`` and in the results of ``constituency_learners``."""

Table = dict[str, dict[str, str]]  # a row by its name, a cell by the name of its column


def tables_of(report: str, heading: str) -> list[Table]:
    """The tables below a heading of a report, those of its subsections too."""
    begin = re.search(rf"^(#+) {re.escape(heading)}$", report, re.MULTILINE)
    if begin is None:
        raise ValueError(f"there is no heading {heading!r}")
    rest = report[begin.end() :]
    end = re.search(rf"^#{{1,{len(begin[1])}}} ", rest, re.MULTILINE)
    found: list[Table] = []
    for lines in re.findall(r"(?:^\|.*\n)+", rest[: end.start()] if end else rest, re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.strip("|\n").split(" | ")] for line in lines.splitlines())
        found.append({row[0]: dict(zip(head, row, strict=True)) for row in rows})
    return found


def joined(report: str, wanted: list[tuple[str, list[str]]]) -> list[str]:
    """One table with the columns that are wanted of each heading."""
    head, rows = [""], dict[str, list[str]]()
    corpora = [heading.partition(":")[0] for heading, _ in wanted]
    for heading, columns in wanted:
        for column in columns:
            name, _, what = heading.partition(":")
            if heading.endswith(", in the paper"):
                name = "paper"
            elif corpora.count(name) > 1:  # several parts of one corpus
                name = f"{name}, {what.rpartition(' on ')[2]}"
            head.append(column if column.startswith("paper") else name if column == "score" else f"{name}, {column}")
            table = next((t for t in tables_of(report, heading) if column in next(iter(t.values()))), None)
            if table is None:
                raise ValueError(f"no table below {heading!r} has the column {column!r}")
            for row, cells in table.items():
                rows.setdefault(row, [])
                rows[row] += [""] * (len(head) - 2 - len(rows[row])) + [cells[column]]
    width = len(head)
    body = [[name, *cells, *[""] * (width - 1 - len(cells))] for name, cells in rows.items()]
    rule = ["---", *["---:"] * (width - 1)]
    return ["| " + " | ".join(line) + " |" for line in (head, rule, *body)]


def with_tables(page: str, root: Path = ROOT) -> str:
    """The page with its tables as the reports have them."""

    def table(block: re.Match[str]) -> str:
        opening, name, lines, _, closing = block.groups()
        parts = [line.split(" | ") for line in lines.splitlines()]
        wanted = [(heading.strip(), [column.strip() for column in columns.split(", ")]) for heading, columns in parts]
        try:
            made = joined((root / name).read_text(encoding="utf-8"), wanted)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return "\n".join([opening, *made, "", closing])

    def whole(block: re.Match[str]) -> str:
        results = json.loads((RESULTS / "constituency_learners.json").read_text(encoding="utf-8"))["results"]
        paper = tomllib.loads((root / "papers" / "neu-szepesvari" / "table-3.toml").read_text(encoding="utf-8"))[
            "paper"
        ]
        return "\n".join([block[1], *all_sentences(results, paper), "", block[3]])

    return ALL_SENTENCES.sub(whole, BLOCK.sub(table, page))


def all_sentences(results: dict[str, Any], paper: dict[str, Any]) -> list[str]:
    """The methods of Neu & Szepesvári on all training sentences of two corpora, beside the largest size of the paper."""
    corpora = {"CRAFT": "craft-ptb v2h0", "WSJ sample": "ptb-wsj-sample v2h0"}
    head = [
        "method",
        "paper, WSJ",
        "errors gone",
        *(f"{name}{of}" for name in corpora for of in ("", ", errors gone", ", p")),
    ]
    rows = []
    counted = paper["ML"]["test"]["1600"]
    for short, name in METHODS.items():
        theirs = paper[short]["test"]["1600"]
        row = [name, f"{theirs:.2f}", "" if short == "ML" else f"{100 * (theirs - counted) / (100 - counted):.0f} %"]
        for corpus in corpora.values():
            found = results[corpus][name]["test"]["parseval"]
            low, high = found["interval"]
            row.append(f"{100 * found['F1']:.2f} [{100 * low:.2f}, {100 * high:.2f}]")
            p = found.get("p")
            row += ["", ""] if p is None else [f"{100 * found['ER']:.1f} %", "< 0.001" if p < 0.001 else f"{p:.2f}"]
        rows.append(row)
    rule = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(line) + " |" for line in (head, rule, *rows)]


def main() -> None:
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        path.write_text(with_tables(page), encoding="utf-8")
        say(path.relative_to(ROOT), len(BLOCK.findall(page) + ALL_SENTENCES.findall(page)), "tables")
