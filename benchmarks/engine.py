"""The engine: decisions a second of LOLS compiled and interpreted, cost against size, and how long starting takes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import numpy as np

from benchmarks.common import ROOT, keep, say, timed
from treewright.corpora import generate
from treewright.learners import LOLS, make_learner, train
from treewright.learners import training as training_module
from treewright.search import interpreted
from treewright.tagging import Tagger

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def packed_corpus(tokens: int):
    """Built-in sentences, repeated to the number of tokens wanted, packed as the tagger packs them."""
    sentences = generate(min(tokens // 5, 3_000) + 1, seed=1)
    tagger = Tagger(learner={"name": "exploration", "iterations": 1}, bits=16).fit(sentences)
    chosen, count = [], 0
    while count < tokens:
        chosen.append(sentences[len(chosen) % len(sentences)])
        count += len(chosen[-1])
    return tagger, tagger._pack_gold(chosen), count


def lols() -> dict[str, float]:
    """Decisions of the roll-ins and roll-outs: for each of n states and A actions, about (n − t) decisions follow."""
    tagger, packed, _ = packed_corpus(2_000)
    labels = len(tagger.labels_)
    decisions = sum(n + labels * n * (n - 1) / 2 for n in packed.lengths.tolist())
    learner = LOLS(passes=1, beta=0.0)
    train(learner, packed, bits=16)
    rates = []
    for _ in range(5):
        _, clock = timed(lambda: train(learner, packed, bits=16))
        rates.append(decisions / clock.wall)
    few = tagger._pack_gold(generate(12, seed=1))
    few_decisions = sum(n + labels * n * (n - 1) / 2 for n in few.lengths.tolist())
    few = type(few)(few.task.plain(), few.arrays, few.lengths)
    compiled_pass = training_module.imitate_pass
    try:
        training_module.imitate_pass = interpreted(compiled_pass)
        _, clock = timed(lambda: train(learner, few, bits=16))
    finally:
        training_module.imitate_pass = compiled_pass
    fast, slow = statistics.median(rates), few_decisions / clock.wall
    say(f"LOLS: {fast:,.0f} decisions/s compiled, {slow:,.0f} interpreted, {fast / slow:,.0f} times")
    return {"compiled": fast, "interpreted": slow, "times": fast / slow}


def seconds_of(function) -> float:
    return statistics.median(timed(function)[1].wall for _ in range(3))


def measure(tokens: int) -> dict[str, float]:
    tagger, packed, count = packed_corpus(tokens)
    row = {"tokens": count, "tagging": seconds_of(lambda: tagger.policy_.decode(packed))}
    for name in ("exploration", "dagger"):
        learner = make_learner({"name": name, "iterations": 1})
        row[f"{name} pass"] = seconds_of(lambda learner=learner: train(learner, packed, bits=16))
    say(row)
    return row


def scaling() -> list[dict[str, float]]:
    rows = [measure(tokens) for tokens in SIZES]
    logs = np.log([[r["tokens"], r["tagging"]] for r in rows if r["tokens"] >= 10_000])
    slope = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
    say(f"slope of log time over log tokens, from 10⁴ tokens: {slope:.2f}")
    return rows


def plot(rows: list[dict[str, float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    tokens = [row["tokens"] for row in rows]
    for name in ("exploration pass", "dagger pass", "tagging"):
        axes.loglog(tokens, [row[name] for row in rows], marker="o", label=name)
    axes.loglog(tokens, [rows[-1]["tagging"] * t / tokens[-1] for t in tokens], "k:", label="linear")
    axes.set_xlabel("tokens")
    axes.set_ylabel("seconds")
    axes.grid(True, alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "scaling.svg", metadata={"Date": None})


def start() -> dict[str, float]:
    def seconds(*command: str) -> float:
        times = []
        for _ in range(7):
            begin = time.perf_counter()
            subprocess.run([sys.executable, *command], check=True, capture_output=True)
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    found = {
        "python itself": seconds("-c", "pass"),
        "import treewright": seconds("-c", "import treewright"),
        "import treewright and Tagger": seconds("-c", "from treewright import Tagger"),
        "treewright --help": seconds("-m", "treewright", "--help"),
    }
    say(found)
    return found


def main() -> None:
    (ROOT / "docs" / "images").mkdir(exist_ok=True)
    results = {"start": start(), "lols": lols(), "scaling": scaling()}
    plot(results["scaling"])
    keep("engine", results)
