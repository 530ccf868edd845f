"""Write ``docs/benchmarks.md`` from the results that are kept, so that no figure in it is typed by hand."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.common import COLUMNS, RESULTS, ROOT, say


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    line = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(row) + " |" for row in (head, line, *rows)] + [""]


def tagging(results: dict[str, Any]) -> list[str]:
    text = [
        "## Tagging",
        "",
        "UD English EWT, gold tokens, trained on train. Treewright's settings and its pass were chosen on dev; test was scored once",
        "for each system in each run of this script, and decided nothing. `python -m benchmarks tagging` trains and measures all three in one run, on one thread, in CPU seconds;",
        "compilation, some 20 s once on a machine, is left out. The peers' figures hold for the passes named:",
        "NLTK's `PerceptronTagger` with 8, Vowpal Wabbit's `--search_task sequence` with 5 passes, two labels of history, affixes,",
        "spelling and the two words on either side, once with its default search (mostly by the reference policy; `--search_alpha 1e-8`) and once in the",
        "mode that is nearest to ours and its fastest, with learned roll-ins and without roll-outs. Treewright makes 5 passes too;",
        "against that mode it trains about twice as fast, not more.",
        "Speeds are from words in memory to labels, except that Vowpal Wabbit reads its own text format, which is the only way to",
        "have it search over a corpus without a call a sentence.",
        "",
    ]
    for column in COLUMNS:
        rows = []
        for name, row in results[column].items():
            rows.append(
                [
                    name if name != "Treewright" else "**Treewright**",
                    percent(row["accuracy"]),
                    percent(row.get("unknown words")),
                    number(row.get("train seconds"), 1),
                    number(row.get("words a second")),
                    number(row.get("model MB"), 1),
                    number(row.get("training, times"), 1),
                    number(row.get("training once, times"), 1),
                    number(row.get("tagging, times"), 1),
                ]
            )
        head = [
            column.upper(),
            "accuracy",
            "unknown words",
            "training, CPU s",
            "words/s",
            "model, MB",
            "we train × faster",
            "in one pass",
            "we tag × faster",
        ]
        text += table(head, rows)
        low, high = results[column]["Treewright"]["interval"]
        text += [f"95 % bootstrap interval of Treewright's accuracy: {percent(low)} to {percent(high)}.", ""]
    learner = results["learner"]
    update = learner["update"]
    text += [
        f"Treewright's settings: learner `{learner['name']}`, {learner['iterations']} iterations, update `{update['name']}` with "
        f"C = {update['C']:g}; " + "; ".join(f"{c}: {s}" for c, s in results["settings"].items()) + ". "
        f"Peak memory of the process after training: {results['peak memory GB']:.2f} GB.",
        "",
    ]
    return text


def learners(results: dict[str, Any]) -> list[str]:
    rows = [
        [
            f"`{name}`",
            row["roll-in"],
            row["roll-out"],
            row["data"],
            percent(row["dev"][0]),
            percent(row["best"]),
            number(row["train seconds"], 1),
        ]
        for name, row in results["rows"].items()
    ]
    return [
        "## Learners",
        "",
        f"Every row of the table on the same task (UPOS, the first {results['sentences']:,} sentences of EWT's train, accuracy on **dev**, AROW with",
        f"C = 30, {results['iterations']} iterations, one seed): a comparison, not a final figure. `python -m benchmarks learners` makes it.",
        "",
        *table(["learner", "roll-in", "roll-out", "data", "first pass", "best pass", "CPU s"], rows),
        "Hamming loss decomposes over the words and the gold labels are always reachable, so roll-outs by the expert can only repeat",
        "what the oracle says at once: on this task the costly learners have little to win, and the figures say how little.",
        "",
    ]


def engine(results: dict[str, Any]) -> list[str]:
    start, lols = results["start"], results["lols"]
    last = results["scaling"][-1]
    rows = [
        [number(row["tokens"]), *(number(row[k], 4) for k in ("tagging", "exploration pass", "dagger pass"))]
        for row in results["scaling"]
    ]
    return [
        "## Engine",
        "",
        f"LOLS, roll-ins and roll-outs by the learned policy, on the tagging task: {number(lols['compiled'])} decisions a second compiled,",
        f"{number(lols['interpreted'])} interpreted: {number(lols['times'])} times as many.",
        "",
        "Cost grows linearly with the number of tokens (one thread, seconds, built-in sentences; at the left end what a call costs",
        "anyway shows):",
        "",
        "![seconds over tokens](images/scaling.svg)",
        "",
        *table(["tokens", "tagging", "a pass of exploration", "a pass of DAgger"], rows),
        f"At the right end: {number(last['tokens'] / last['tagging'])} words a second.",
        "",
        "## Start",
        "",
        *table(["command", "seconds"], [[f"`{name}`", number(value, 2)] for name, value in start.items()]),
    ]


def main() -> None:
    text = [
        "# Benchmarks",
        "",
        "Made by `make bench` (`python -m benchmarks`); the raw results are in `benchmarks/results`. The machine has two shared, noisy",
        "cores: compare ratios within a table, not figures between machines. How to have the corpora: see",
        "[Contributing](contributing.md).",
        "",
    ]
    for part, write in (("tagging", tagging), ("learners", learners), ("engine", engine)):
        file = RESULTS / f"{part}.json"
        if file.is_file():
            results = json.loads(file.read_text())
            text += write(results)
            made = ", ".join(f"{package} {version}" for package, version in results["versions"].items())
            text += [f"*Measured {results['date']} with {made}.*", ""]
    (ROOT / "docs" / "benchmarks.md").write_text("\n".join(text).rstrip() + "\n")
    say("docs/benchmarks.md is written")
