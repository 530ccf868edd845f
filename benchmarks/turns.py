"""The speed of two checkouts in turns: ``python -m benchmarks turns --before FOLDER`` trains and parses with both.

Each turn runs both checkouts, in processes of their own, one after the other; the order changes from turn to turn. What is
compared are the medians of CPU seconds over the turns (``--turns``, nine by default), once everything is compiled. What a
process makes (weights and parses) is hashed, so that the table also says whether both make the same. ``--only tagging`` names
scenarios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, corpus_folder, keep, say

PROGRAM = """
import hashlib, json, sys, time, warnings
warnings.simplefilter("ignore")
import treewright
from treewright.corpora import read_amr, read_conllu, read_ptb
data, scenario, times = sys.argv[1], sys.argv[2], int(sys.argv[3])

def conllu(name, n):
    return list(read_conllu(f"{data}/ud-english-ewt/{name}.conllu"))[:n]

def ptb(name, n):
    return [s for s in read_ptb(f"{data}/craft-ptb/{name}.ptb") if len(s) <= 25][:n]

def amr(name):
    from treewright.amr import join_trees
    folder = f"{data}/amr-little-prince"
    return join_trees(list(read_amr(f"{folder}/{name}.txt")), list(read_conllu(f"{folder}/trees/{name}.conllu")))

learner = {"name": "exploration", "iterations": 2}
if scenario == "tagging":
    made, train, test = treewright.Tagger("xpos", learner=learner), conllu("train", 3000), conllu("dev", 2000)
elif scenario == "dependency":
    made, train, test = treewright.DependencyParser(learner=learner), conllu("train", 2000), conllu("dev", 2000)
elif scenario == "constituency":
    made = treewright.ConstituencyParser(learner={"name": "max-margin", "passes": 2})
    made.rewards = "rules"  # an older version has no others
    train, test = ptb("train", 400), ptb("dev", 100)
elif scenario == "latent":
    made = treewright.LatentParser(learner={"name": "split-merge", "cycles": 2})
    train, test = ptb("train", 200), ptb("dev", 300)
else:
    made, train, test = treewright.AMRParser(learner=learner, bits=18), amr("train")[:400], amr("dev")
test = [s for s in test if len(s)]
parse = made.tag if scenario == "tagging" else made.parse
def timed(work):
    begun = time.process_time()
    found = work()
    return time.process_time() - begun, found
made.fit(train[:20])
list(parse(test[:20]))
trainings = [timed(lambda: made.fit(train))[0] for _ in range(times if scenario == "tagging" else 1)]  # it is short
parsing = [timed(lambda: list(parse(test))) for _ in range(times)]
from treewright.corpora import format_amr, format_conllu, format_ptb
write = {"constituency": format_ptb, "latent": format_ptb, "amr": format_amr}.get(scenario, format_conllu)
if scenario == "tagging":  # an older version gives labels
    write = lambda s: " ".join(s if isinstance(s, list) else s.column("xpos"))
elif scenario == "dependency":  # an older version kept the gold DEPS beside new heads
    write = lambda s: " ".join(f"{t.head} {t.deprel}" for t in s.tokens)
text = "".join(write(s) for s in parsing[-1][1])
median = lambda seconds: sorted(seconds)[len(seconds) // 2]
print(json.dumps([median(trainings), median([p for p, _ in parsing]), hashlib.sha256(text.encode()).hexdigest()]))
"""
SCENARIOS = {"tagging": 5, "dependency": 5, "constituency": 3, "latent": 3, "amr": 3}


def run(checkout: Path, scenario: str) -> list[Any]:
    """CPU seconds of training and of parsing, and a hash of the parses."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(checkout), "TREEWRIGHT_COMPILE": "now"}
    data = corpus_folder("ud-english-ewt").parent
    command = [sys.executable, "-c", PROGRAM, str(data), scenario, str(SCENARIOS[scenario])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=checkout)
    if done.returncode:
        sys.exit(f"{checkout}: {done.stderr}")
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(kept: dict[str, Any]) -> list[str]:
    """The rows for ``docs/benchmarks.md``."""
    text = [
        "Speed in turns with the version before compilation was changed (`python -m benchmarks turns`; CPU seconds, medians):",
        "",
        "| | training, before | now | change | parsing, before | now | change | same parses |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, row in kept["scenarios"].items():
        cells = [name]
        for part in ("training", "parsing"):
            before, now = row[part]
            cells += [f"{before:.2f}", f"{now:.2f}", f"{100 * (now / before - 1):+.1f} %"]
        text.append("| " + " | ".join([*cells, "yes" if row["same"] else "no"]) + " |")
    return [*text, ""]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks turns")
    parser.add_argument("part", nargs="*")
    parser.add_argument("--before", type=Path, required=True, help="another checkout of Treewright")
    parser.add_argument("--only", default="", help="scenarios, by the words that their names contain")
    parser.add_argument("--turns", type=int, default=9)
    arguments = parser.parse_args()
    checkouts = [arguments.before.resolve(), ROOT]
    path = RESULTS / "turns.json"
    for scenario in (s for s in SCENARIOS if any(word in s for word in arguments.only.split(","))):
        found: dict[Path, list[list[Any]]] = {checkout: [] for checkout in checkouts}
        for checkout in checkouts:
            run(checkout, scenario)  # compiles
        for turn in range(arguments.turns):
            for checkout in checkouts[:: 1 if turn % 2 else -1]:
                found[checkout].append(run(checkout, scenario))
        row: dict[str, Any] = {"turns": arguments.turns}
        for k, part in enumerate(("training", "parsing")):
            row[part] = [statistics.median(each[k] for each in found[checkout]) for checkout in checkouts]
        row["same"] = len({each[2] for turns in found.values() for each in turns}) == 1
        say(scenario, row)
        kept = json.loads(path.read_text())["scenarios"] if path.exists() else {}
        keep("turns", {"scenarios": {**kept, scenario: row}})
