"""Write what ``treewright learners`` shows, ``treewright/learners/measured.json``, from the results of several benchmarks.

* ``rows``: learners of imitation against ``supervised``, for tagging and dependency parsing (``learners``, on two treebanks) and for meaning graphs (``amr_learners``);
* ``usual``: the default learner against ``supervised``, with all defaults of the commands (``learners``);
* ``planners``: learners of inverse reinforcement learning against relative frequencies (``constituency_learners``);
* ``searches``: learners of priorities against A*₀ (``agenda``);
* ``seconds``: the CPU seconds of a pass over a thousand sentences, by task and learner, from which ``treewright experiment --dry-run``
  estimates times.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

from benchmarks import amr_learners, learners
from benchmarks.common import RESULTS, ROOT, interval

#: the rows of ``amr_learners`` that learners are shown with
GRAPHS = {
    "supervised": "supervised",
    "exploration": "exploration",
    "dagger": "DAgger",
    "aggravate": "AggraVaTe, penalty",
    "searn": "SEARN, penalty",
    "v-dagger": "V-DAgger, δ = .3, penalty",
    "lols": "LOLS, online, penalty, regression",
    "batch-lols": "LOLS, batch, δ = .1, penalty",
    "det-lols": "DetLOLS, δ = .1, penalty",
    "di-lo": "DI-LO, δ = .3, penalty",
    "di-dlo": "DI-DLO, δ = .3, penalty",
    "li-do": "LI-DO, δ = .3, penalty",
}
#: the rows of ``constituency_learners``: with features of spans where these are the default, otherwise tuned if there is such a row
PLANNERS = {
    "projection": "Projection",
    "mwal": "MWAL",
    "irl-perceptron": "Perceptron, spans",
    "max-margin": "Max-Margin, spans",
    "policy-matching": "Policy Matching, tuned",
    "maxent": "MaxEnt, exact, tuned",
}
SEARCHES = ("on-policy", "apprenticeship", "D-", "I-", "D+", "I+")
CORPORA = {"CRAFT": "craft-ptb", "WSJ sample": "ptb-wsj-sample"}


def of_graphs(runs: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Smatch of the best pass against supervised learning, seed by seed; the least CPU time, since others compile too."""
    base = runs["supervised"]
    quickest = min(one["CPU seconds"] for one in base.values())
    made = {}
    for learner, name in GRAPHS.items():
        if name not in runs:
            continue
        gains = [100 * (max(one["dev"]) - max(base[seed]["dev"])) for seed, one in runs[name].items()]
        made[learner] = {
            "gain": round(statistics.mean(gains), 2),
            "gain interval": round(interval(gains), 2) if len(gains) > 1 else None,
            "times": round(min(one["CPU seconds"] for one in runs[name].values()) / quickest, 1),
        }
    return made


def of_planners(results: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """EVALB's F1 on test against that of relative frequencies, with the p-value of a paired test."""
    made: dict[str, dict[str, dict[str, float]]] = {learner: {} for learner in PLANNERS}
    for corpus, folder in CORPORA.items():
        rows = results[f"{folder} v2h0"]
        base = rows["maximum likelihood"]
        for learner, name in PLANNERS.items():
            found, before = rows[name]["test"]["evalb"], base["test"]["evalb"]
            made[learner][corpus] = {
                "gain": round(100 * (found["F1"] - before["F1"]), 2),
                "p": round(found["p"], 4),
                "times": round(rows[name]["CPU seconds"] / base["CPU seconds"], 1),
            }
    return made


def of_searches(results: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """The pops on test as a share of those of A*₀, and the change of EVALB's F1: means over seeds."""
    made: dict[str, dict[str, dict[str, float]]] = {learner: {} for learner in SEARCHES}
    for corpus, folder in CORPORA.items():
        rows = results["figure 1"][folder]
        before = rows["A*₀"]["test"]
        for learner in SEARCHES:
            runs = [rows[learner]["test"], *results.get("seeds", {}).get(folder, {}).get(learner, {}).values()]
            made[learner][corpus] = {
                "pops": round(statistics.mean(run["pops"] for run in runs) / before["pops"], 3),
                "gain": round(100 * (statistics.mean(run["F1"] for run in runs) - before["F1"]), 2),
            }
    return made


def of_times(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """CPU seconds of training, by thousand sentences and pass; relative frequencies have one pass."""
    found: dict[str, dict[str, float]] = {}
    for task, runs in results["learners"]["small"].items():
        own = {name: each for name, each in runs.items() if name in learners.NAMED}
        found[task] = {
            name: min(run["seconds"] for run in each) / (learners.SENTENCES * learners.PASSES)
            for name, each in own.items()
        }
    graphs = results["amr_learners"]["learners"]
    found["amr"] = {
        learner: min(run["CPU seconds"] / len(run["dev"]) for run in graphs[name].values()) / amr_learners.SIZE
        for learner, name in GRAPHS.items()
        if name in graphs
    }
    rows = results["constituency_learners"]["results"][f"{CORPORA['CRAFT']} v2h0"]
    sentences = results["constituency_learners"]["evidence"]["as tuned"]["sentences"]
    planners = {"maximum-likelihood": "maximum likelihood", **PLANNERS}
    found["constituency"] = {
        learner: rows[name]["CPU seconds"] / max(rows[name]["passes"], 1) / sentences
        for learner, name in planners.items()
    }
    return {task: {name: float(f"{1000 * each:.2g}") for name, each in own.items()} for task, own in found.items()}


def main() -> None:
    results = {
        name: json.loads((RESULTS / f"{name}.json").read_text())
        for name in ("learners", "amr_learners", "constituency_learners", "agenda")
    }
    tables: dict[str, Any] = {task: learners.summary(runs) for task, runs in results["learners"]["small"].items()}
    tables |= {f"{task}, Afrikaans": learners.summary(runs) for task, runs in results["learners"]["afrikaans"].items()}
    tables["graphs"] = of_graphs(results["amr_learners"]["learners"])
    named = (*learners.NAMED, *learners.WITH_BEAM, *learners.BY_REWARDS)
    measured = {
        "corpus": f"{learners.SENTENCES} sentences of UD English EWT (graphs: {amr_learners.SIZE} of The Little Prince), {learners.PASSES} passes (10 with a beam of {learners.BEAM}, by rewards, and of what these are compared with), dependency parsing with --mode fast, the perceptron with a margin of 50 and --focus 10 (aggravate: 1), scored on dev",
        "measures": {"tagging": "accuracy of UPOS", "dependency": "LAS", "graphs": "Smatch, best pass"},
        "rows": {
            name: found for name in named if (found := {task: t[name] for task, t in tables.items() if name in t})
        },
        "usual": {
            title: {name: row[name] for name in ("gain", "gain interval", "times")}
            for title, row in learners.usual_rows(results["learners"]["usual"]).items()
        },
        "planners": of_planners(results["constituency_learners"]["results"]),
        "searches": of_searches(results["agenda"]["results"]),
        "seconds": of_times(results),
    }
    path = ROOT / "treewright" / "learners" / "measured.json"
    path.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
