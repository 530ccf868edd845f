"""How long the first use takes: CPU seconds of fresh processes, from an empty cache of compiled code and from a full one.

``python -m benchmarks latency --against FOLDER`` measures another checkout too; ``--only tagger,smatch`` names scenarios.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import ROOT, keep, say

PREPARE = """
import treewright
import treewright.corpora
train, _, test = treewright.builtin_corpus(train=8, dev=1, test=4)
settings = {"learner": {"name": "exploration", "iterations": 1}, "bits": 12}
treewright.Tagger(**settings).fit(train).save("tagger.tw")
treewright.DependencyParser(**settings).fit(train).save("dependency.tw")
treewright.ConstituencyParser().fit(train).save("constituency.tw")
treewright.AMRParser(**settings).fit(train).save("amr.tw")
treewright.corpora.write_amr(test, "graphs.amr")
"""

PREDICT = """
import treewright
model = treewright.load("{name}.tw")
_, _, test = treewright.builtin_corpus(train=8, dev=1, test=1)
next(getattr(model, name) for name in ("tag", "parse", "predict") if hasattr(model, name))(test)
"""

TRAIN = """
import treewright
train, dev, _ = treewright.builtin_corpus(train=200, dev=30, test=1)
treewright.{estimator}({settings}).fit(train, dev=dev)
"""

LEARNER = 'learner={{"name": "{}", "iterations": 2}}, bits=16'
SMATCH = "import sys; sys.argv[1:] = ['smatch', 'graphs.amr', 'graphs.amr']; from treewright.cli import main; main()"

SCENARIOS = {
    "tagger predict": PREDICT.format(name="tagger"),
    "tagger train": TRAIN.format(estimator="Tagger", settings=LEARNER.format("dagger")),
    "dependency predict": PREDICT.format(name="dependency"),
    "dependency train": TRAIN.format(estimator="DependencyParser", settings=LEARNER.format("exploration")),
    "constituency predict": PREDICT.format(name="constituency"),
    "constituency train": TRAIN.format(estimator="ConstituencyParser", settings=""),
    "amr predict": PREDICT.format(name="amr"),
    "amr train": TRAIN.format(estimator="AMRParser", settings=LEARNER.format("exploration")),
    "smatch": SMATCH,
}


def cpu_seconds(checkout: Path, program: str, folder: Path, cache: Path, interpreted: bool = False) -> float:
    """CPU seconds of a process that runs a program with a checkout of Treewright."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": str(cache)}
    environment |= {"NUMBA_DISABLE_JIT": "1"} if interpreted else {}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{checkout}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(checkout: Path, names: list[str]) -> dict[str, dict[str, float]]:
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpu_seconds(checkout, PREPARE, folder, folder, interpreted=True)
        for number, name in enumerate(names):
            cache = folder / f"cache{number}"
            times = [cpu_seconds(checkout, SCENARIOS[name], folder, cache) for _ in range(2)]
            found[name] = {"first": round(times[0], 1), "second": round(times[1], 1)}
            say(f"{name:22} {times[0]:7.1f} s from an empty cache, {times[1]:5.1f} s from a full one")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks latency")
    parser.add_argument("part", nargs="*")
    parser.add_argument("--against", type=Path, help="another checkout of Treewright")
    parser.add_argument("--only", default="", help="scenarios, by the words that their names contain")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    names = [name for name in SCENARIOS if any(word in name for word in wanted)]
    results = {}
    if arguments.against:
        say(f"{arguments.against}:")
        results["before"] = measure(arguments.against.resolve(), names)
        say("this checkout:")
    results["now"] = measure(ROOT, names)
    if names == list(SCENARIOS):
        keep("latency", results)
