"""How long the first use takes: CPU seconds of fresh processes, from an empty cache of compiled code and from a full one.

``--only tagger,smatch`` names scenarios; ``--repeats`` says how many times each of them is run (the median counts). Figures of
another checkout stand beside: ``python -m benchmarks latency --before FOLDER`` measures that one. Results are kept after each
scenario, for each version of Python.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, keep, say

PREPARE = """
import treewright
import treewright.corpora
train, _, test = treewright.builtin_corpus(train=30, dev=1, test=40)
settings = {"learner": {"name": "exploration", "iterations": 1}, "bits": 12}
treewright.Tagger(**settings).fit(train).save("tagger.tw")
treewright.DependencyParser(**settings).fit(train).save("dependency.tw")
treewright.ConstituencyParser(learner={"name": "max-margin", "iterations": 1}).fit(train).save("constituency.tw")
treewright.LatentParser(learner={"name": "split-merge", "cycles": 1}).fit(train).save("latent.tw")
treewright.AMRParser(**settings).fit(train).save("amr.tw")
treewright.corpora.write_amr(test, "graphs.amr")
treewright.corpora.write_conllu(test, "many.conllu")
treewright.corpora.write_conllu([max(test, key=len)], "few.conllu")
train, dev, _ = treewright.builtin_corpus(train=200, dev=30, test=1)
treewright.corpora.write_ptb(train, "train.ptb")
treewright.corpora.write_ptb(dev, "dev.ptb")
"""

PARSE = """
import sys
sys.argv[1:] = ['parse', '{model}.tw', '{file}.conllu', '--out', '{model}.out', '--format', '{format}', '--quiet']
from treewright.cli import main
main()
"""

TRAIN = """
import treewright
train, dev, _ = treewright.builtin_corpus(train=200, dev=30, test=1)
treewright.{estimator}({settings}).fit(train, dev=dev)
"""

TRAIN_LATENT = """
import sys
sys.argv[1:] = ['train', 'latent', 'train.ptb', '--dev', 'dev.ptb', '--cycles', '1', '--out', 'trained.tw', '--quiet']
from treewright.cli import main
main()
"""

OWN_TASK = "import runpy; runpy.run_path('own_task.py', run_name='__main__')"
EDIT = "cross2(5, word", "cross2(6, word"  # in a line of the task's features

LEARNER = 'learner={{"name": "{}", "iterations": 2}}, bits=16'
SMATCH = "import sys; sys.argv[1:] = ['smatch', 'graphs.amr', 'graphs.amr']; from treewright.cli import main; main()"
KINDS = {"tagger": "conllu", "dependency": "conllu", "constituency": "ptb", "latent": "ptb", "amr": "penman"}
TRAINING = {
    "tagger": [TRAIN.format(estimator="Tagger", settings=LEARNER.format("dagger"))],
    "dependency": [
        TRAIN.format(estimator="DependencyParser", settings=LEARNER.format("exploration") + f", mode={mode!r}")
        for mode in ("fast", "accurate")
    ],
    "constituency": [
        TRAIN.format(estimator="ConstituencyParser", settings='learner={"name": "max-margin", "iterations": 3}')
    ],
    "latent": [TRAIN.format(estimator="LatentParser", settings='learner={"name": "split-merge", "cycles": 1}')],
    "amr": [TRAIN.format(estimator="AMRParser", settings=LEARNER.format("exploration"))],
}

#: each scenario: programs that run one after the other from an empty cache
SCENARIOS = {
    **{f"{kind}: parse": [PARSE.format(model=kind, file="many", format=KINDS[kind])] for kind in KINDS},
    **{f"{kind}: train": TRAINING[kind] for kind in KINDS},
    "latent: train, as a command": [TRAIN_LATENT],
    "smatch": [SMATCH],
    "own task": [OWN_TASK],
}
SMALL = {kind: PARSE.format(model=kind, file="few", format=KINDS[kind]) for kind in KINDS}


def seconds(checkout: Path, program: str, folder: Path, cache: Path, **variables: str) -> tuple[float, float]:
    """CPU and wall-clock seconds of a process that runs a program with a checkout of Treewright."""
    ours = ("NUMBA_", "TREEWRIGHT_COMPILE", "PYTHONDONTWRITEBYTECODE")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    environment |= {"PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": str(cache)}
    environment |= {"TREEWRIGHT_COMPILE": "later", **variables}  # nothing is compiled in the background meanwhile
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{checkout}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - begun


def measure(checkout: Path, names: list[str], repeats: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Run scenarios and yield the seconds of each, by what they are of."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        seconds(checkout, PREPARE, folder, folder, NUMBA_DISABLE_JIT="1")
        example = (checkout / "examples" / "segmentation.py").read_text()
        (folder / "own_task.py").write_text(example)
        for name in names:
            first, second = [], []
            for _ in range(repeats):
                with tempfile.TemporaryDirectory() as cache:
                    for found in (first, second):
                        found.append(sum(seconds(checkout, each, folder, Path(cache))[0] for each in SCENARIOS[name]))
            row = {"empty": round(statistics.median(first), 2), "full": round(statistics.median(second), 2)}
            if name.endswith("parse") and checkout == ROOT:
                row |= few_words(checkout, name.partition(":")[0], folder, repeats)
            if name == "own task":
                row["edited"] = edited(checkout, example, folder, repeats)
            say(f"{name:22} " + ", ".join(f"{what} {value:.2f} s" for what, value in row.items()))
            yield name, row


def edited(checkout: Path, example: str, folder: Path, repeats: int) -> float:
    """CPU seconds of a user's program after an edit of its task, when its other kernels are in the cache."""
    file, found = folder / "own_task.py", []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            file.write_text(example)
            seconds(checkout, OWN_TASK, folder, Path(cache))
            file.write_text(example.replace(*EDIT))
            found.append(seconds(checkout, OWN_TASK, folder, Path(cache))[0])
    return round(statistics.median(found), 2)


def few_words(checkout: Path, kind: str, folder: Path, repeats: int) -> dict[str, float]:
    """A sentence of some 20 words: wall-clock seconds with an empty cache, and CPU seconds with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        cold = [seconds(checkout, SMALL[kind], folder, Path(cache) / str(k))[1] for k in range(repeats)]
        seconds(checkout, SMALL[kind], folder, Path(cache), TREEWRIGHT_COMPILE="now")
        warm = [seconds(checkout, SMALL[kind], folder, Path(cache))[0] for _ in range(repeats)]
    return {"few words, empty": round(statistics.median(cold), 2), "few words, full": round(statistics.median(warm), 2)}


def report(kept: dict[str, Any]) -> list[str]:
    """The section of ``docs/benchmarks.md``."""
    text = [
        "## The first use",
        "",
        "CPU seconds of fresh processes (`python -m benchmarks latency`), from a cache of compiled code that is",
        "empty and from a full one: 40 sentences parsed by the command line, a training on 200 sentences of the built-in",
        "corpus, and Smatch of 40 graphs. *A few words*: one sentence of some 20 words; with an empty cache it is interpreted,",
        "while another process compiles for the next time, and the column has wall-clock seconds. *Own task*: the program",
        "`examples/segmentation.py` as a whole; *edited*: the same after a change of one line of the task's features.",
        "Each figure is a median of three runs; *before*, of the version before compilation was changed, of a single run.",
        "",
    ]
    for python in sorted(key for key in kept if key.startswith("Python")):
        now, before = kept[python].get("now", {}), kept[python].get("before", {})
        head = [python, "empty", "before", "full", "before", "a few words, empty", "full", "edited", "before"]
        rows = []
        for name, row in now.items():
            old = before.get(name, {})
            cells = [row["empty"], old.get("empty"), row["full"], old.get("full")]
            cells += [row.get("few words, empty"), row.get("few words, full"), row.get("edited"), old.get("edited")]
            rows.append(
                [name, *("" if cell is None else f"{cell:.1f}" if cell >= 2 else f"{cell:.2f}" for cell in cells)]
            )
        line = ["---"] + ["---:"] * (len(head) - 1)
        text += ["| " + " | ".join(row) + " |" for row in (head, line, *rows)] + [""]
    return text


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks latency")
    parser.add_argument("part", nargs="*")
    parser.add_argument(
        "--before", type=Path, help="another checkout of Treewright, to be measured instead of this one"
    )
    parser.add_argument("--only", default="", help="scenarios, by the words that their names contain")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    checkout, column = (arguments.before.resolve(), "before") if arguments.before else (ROOT, "now")
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    path = RESULTS / "latency.json"
    for name, row in measure(checkout, [n for n in SCENARIOS if any(word in n for word in wanted)], arguments.repeats):
        kept = json.loads(path.read_text()) if path.exists() else {}
        rows = kept.setdefault(python, {}).setdefault(column, {})
        rows[name] = {**row, "repeats": arguments.repeats}
        kept[python][column] = {n: rows[n] for n in SCENARIOS if n in rows}
        keep("latency", kept)
