"""The experiments of the papers, and the pages about them."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest

from benchmarks.common import interval
from benchmarks.papers import joined, with_tables
from treewright.experiments import read_experiment
from treewright.experiments.plan import _KEYS, PLOTS
from treewright.experiments.probes import PROBES
from treewright.metrics import error_reduction
from treewright.toml import Document

ROOT = Path(__file__).resolve().parents[2]
PAPERS = sorted((ROOT / "papers").glob("*/*.toml"))


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_papers_can_be_run(path):
    experiment = read_experiment(path, small=True)
    cells = list(experiment.cells())
    assert 1 < len(cells) <= 40
    assert experiment.title
    whole = Document.read(path, "experiment").values
    assert set(experiment.paper) <= {*whole.get("rows", {}), *whole.get("learners", [])}
    assert len(whole["corpora"]) >= 2 or "LDC2014T12" in whole["corpora"]  # no finding on one corpus


def test_pages_name_every_file():
    for path in PAPERS:
        page = ROOT / "docs" / "papers" / f"{path.parent.name}.md"
        assert path.relative_to(ROOT).as_posix() in page.read_text()


def test_the_page_of_keys_is_complete():
    page = (ROOT / "docs" / "experiments.md").read_text()
    for name in (*_KEYS, *PLOTS, *PROBES):
        assert f"`{name}`" in page or f"`[{name}]`" in page or f"`[{name}.NAME]`" in page, name


def test_which_learner_has_the_figures_that_were_measured():
    """The gains of tagging and dependency parsing are those that ``treewright learners`` shows."""
    measured = json.loads((ROOT / "treewright" / "learners" / "measured.json").read_text())["rows"]
    page = (ROOT / "docs" / "which-learner.md").read_text()
    for task, heading in (("tagging", "## Tagging"), ("dependency", "## Dependency parsing")):
        section = page.partition(f"{heading}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"\| `([a-z-]+)` \| \+(\d\.\d\d) ± (\d\.\d\d) \| ([\d.]+) \|", section)
        assert len(rows) >= 5
        for name, gain, around, times in rows:
            row = measured[name][task]
            assert (float(gain), float(around), float(times)) == (row["gain"], row["gain interval"], row["times"])


def test_which_learner_has_scores_and_seconds():
    """They are means of scores and medians of CPU seconds over the seeds of the benchmark."""
    results = json.loads((ROOT / "benchmarks" / "results" / "learners.json").read_text())
    page = (ROOT / "docs" / "which-learner.md").read_text()
    for task, heading, rows in (("tagging", "## Tagging", 6), ("dependency", "## Dependency parsing", 9)):
        section = page.partition(f"{heading}\n")[2].partition("\n## ")[0]
        found = re.findall(r"\| `([a-z-]+)` \| [^|]*\| [\d.]+ \| ([\d.]+) \| ([\d.]+) \|", section)
        assert len(found) == rows
        whole = re.findall(r"\| `([a-z-]+)`(, [^|]*)? \| (\d\d\.\d\d) \| ([\d.]+) \|\n", section)
        assert len(whole) == (7 if task == "dependency" else 0)
        small = [("small", name, float(score), seconds) for name, score, seconds in found]
        for part, name, score, seconds in (*small, *(("full", a + b, float(c), d) for a, b, c, d in whole)):
            runs = results[part][task][name.strip()]
            digits = len(seconds.partition(".")[2])
            assert score == round(100 * statistics.mean(run["scores"][-1] for run in runs), 2), name
            assert float(seconds) == round(statistics.median(run["seconds"] for run in runs), digits), name


def test_which_learner_has_the_figures_of_grammars_and_graphs():
    page = (ROOT / "docs" / "which-learner.md").read_text()
    measured = json.loads((ROOT / "benchmarks" / "results" / "constituency_learners.json").read_text())
    results, defaults, seeds = measured["results"], measured["defaults"], measured["adaptive"]
    for command, row in (
        ("--learner maximum-likelihood`", "counting"),
        ("--rewards rules`", "rules alone, steps by size"),
        ("`train constituency`", "the defaults, with span features"),
        ("`train latent`, one start", "`train latent`, one start"),
    ):
        cells = []
        for corpus in ("WSJ sample", "MASC"):
            for words in (15, 40):
                treebank = f"{corpus}, up to {words} words"
                runs = [defaults[treebank][row]] if row in defaults[treebank] else [
                    runs[row] for runs in seeds[treebank].values()
                ]  # fmt: skip
                cells.append(f"{100 * statistics.mean(run['test'] for run in runs):.1f}")
                cells.append("" if row == "counting" else f"{min(run['seconds'] for run in runs):.0f}")
        assert re.sub(" +", " ", f"{command} | {' | '.join(cells)} |") in page
    shown = {
        "maximum-likelihood": "maximum likelihood",
        "max-margin": "Max-Margin, spans",
        "irl-perceptron": "Perceptron, spans",
        "max-margin`, rules alone": "Max-Margin, tuned",
        "policy-matching": "Policy Matching, tuned",
        "maxent": "MaxEnt, exact, tuned",
        "irl-perceptron`, rules alone": "Perceptron, tuned",
        "projection": "Projection",
    }
    for name, row in shown.items():
        start = re.escape(name if "`" in name else f"{name}`")
        [line] = re.findall(rf"^\| `{start} \| (\d\d\.\d\d \[.*) \|$", page, re.MULTILINE)
        cells = line.split(" | ")
        for corpus, score in (("craft-ptb v2h0", cells[0]), ("ptb-wsj-sample v2h0", cells[3])):
            found = results[corpus][row]["test"]["evalb"]
            low, high = found["interval"]
            assert score == f"{100 * found['F1']:.2f} [{100 * low:.2f}, {100 * high:.2f}]"
    graphs = json.loads((ROOT / "benchmarks" / "results" / "amr_learners.json").read_text())["learners"]
    section = page.partition("## Meaning graphs\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)`(, .*)? \| (\d\d\.\d) ± (\d\.\d) \| (\d+) \|$", section, re.MULTILINE)
    assert len(rows) == 10
    for name, how, score, around, seconds in rows:
        key = next(
            each
            for each in graphs
            if each.lower().split(",")[0].replace("detlols", "det-lols") == name
            and set(re.findall(r"δ = \S+\d", how.replace("0.", "."))) == set(re.findall(r"δ = \S+\d", each))
        )
        best = [max(run["dev"]) for run in graphs[key].values()]
        assert (score, around) == (f"{100 * statistics.fmean(best):.1f}", f"{100 * interval(best):.1f}"), name
        assert seconds == f"{min(run['CPU seconds'] for run in graphs[key].values()):.0f}", name


def test_the_gains_of_span_features_are_those_that_were_measured():
    measured = json.loads((ROOT / "benchmarks" / "results" / "constituency_learners.json").read_text())

    def gains(name):
        counted = {treebank: rows["counting"]["test"] for treebank, rows in measured["defaults"].items()}
        return [
            100 * statistics.mean(error_reduction(counted[treebank], runs[name]["test"]) for runs in seeds.values())
            for treebank, seeds in measured["adaptive"].items()
        ]

    def early(name):
        runs = [runs[name] for seeds in measured["adaptive"].values() for runs in seeds.values()]
        return sum(run["best pass"] <= 3 for run in runs), len(runs)

    spans, rules = (gains(name) for name in ("the defaults, with span features", "rules alone, steps by size"))
    page = " ".join((ROOT / "docs" / "constituency.md").read_text().split())
    assert f"remove {statistics.mean(spans):.0f} % of the errors of counting on test on average" in page
    assert f"at least {min(spans):.0f} % and at most {max(spans):.0f} %" in page
    assert f"weights of rules alone remove {statistics.mean(rules):.0f} %" in page
    (few, runs), (many, _) = early("the defaults, with span features"), early("rules alone, steps by size")
    assert f"one of the first three in {few} of {runs} trainings, instead of {many} with rules alone" in page
    readme, seconds = (ROOT / "README.md").read_text(), []
    for treebank, rows in measured["whole"].items():
        runs = [row for name, row in rows.items() if name != "counting"]
        learned = f"{100 * statistics.mean(run['40']['F1'] for run in runs):.1f}"
        assert re.search(
            rf"{learned} for (the )?{treebank} \((counting: )?{100 * rows['counting']['40']['F1']:.1f}\)", page
        )
        seconds.append(f"{min(run['seconds'] for run in runs):.0f}")
        if treebank == "WSJ sample":
            assert f"{learned} F1 after {seconds[0]} seconds of training" in readme
    assert f"after {seconds[0]}, {seconds[1]} and {seconds[2]} CPU seconds of training" in page


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "papers").glob("*.md")), ids=lambda path: path.stem)
def test_tables_of_pages_are_those_of_the_reports(path):
    page = path.read_text()
    assert with_tables(page) == page


def test_tables_are_joined_by_their_rows():
    one = "## A: F1\n\n|  | score | p |\n| --- | ---: | ---: |\n| x | 1 |  |\n| y | 2 | .5 |\n\n"
    report = one + "## B: F1\n\n|  | 5 |\n|---|---|\n| y | 3 |\n"
    made = joined(report, [("A: F1", ["score", "p"]), ("B: F1", ["5"])])
    assert made == [
        "|  | A | A, p | B, 5 |",
        "| --- | ---: | ---: | ---: |",
        "| x | 1 |  |  |",
        "| y | 2 | .5 | 3 |",
    ]
    with pytest.raises(ValueError, match="'C: F1'"):
        joined(report, [("C: F1", ["score"])])
    with pytest.raises(ValueError, match="'p'"):
        joined(report, [("B: F1", ["p"])])
