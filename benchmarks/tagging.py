"""Tagging UD English EWT with gold tokens: Treewright, NLTK's PerceptronTagger and Vowpal Wabbit's search, in one run.

All are trained on train; Treewright's settings were chosen on dev, and its pass is chosen on dev in this run; the peers
get the number of passes given here. Test is scored once for each. One thread; CPU seconds, because the machine may be shared.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import COLUMNS, corpus_folder, keep, median_of, peak_memory, say, timed
from treewright.corpora import Sentence, load_corpus
from treewright.tagging import Tagger, majority_baseline

# Chosen on EWT dev (see `learners` for other rows of the table).
SETTINGS: dict[str, dict[str, Any]] = {
    "upos": {"bits": 20, "min_count": 1},
    "xpos": {"bits": 20, "min_count": 2},
}
LEARNER = {"name": "exploration", "iterations": 5, "update": {"name": "arow", "C": 30.0}}
NLTK_PASSES = 8
VW_PASSES = 5
VW_MODES = {
    "Vowpal Wabbit, default search": "",
    "Vowpal Wabbit, learned roll-in, no roll-out": "--search_rollin learn --search_rollout none",
}
VW_FEATURES = (
    "--affix -1w,-2w,-3w,-4w,+1w,+2w,+3w,+4w --spelling w "
    "--search_neighbor_features -1:w,1:w,-2:w,2:w --search_history_length 2"
)


def accuracy(gold: list[Sentence], labels: list[list[str]], column: str) -> float:
    pairs = [
        (a, b) for s, found in zip(gold, labels, strict=True) for a, b in zip(s.column(column), found, strict=True)
    ]
    return sum(a == b for a, b in pairs) / len(pairs)


def run_treewright(train, dev, test, column: str, iterations: int) -> dict[str, Any]:
    words = [list(s.forms) for s in test] * 4
    tokens = sum(map(len, words))
    learner = {**LEARNER, "iterations": iterations}
    Tagger(column, learner=learner, bits=10).fit(train[:50], dev=dev[:50])  # compile first
    tagger, clock = timed(lambda: Tagger(column, learner=learner, **SETTINGS[column]).fit(train, dev=dev))
    tagger.labels(words)
    _, seconds = median_of(lambda: tagger.labels(words))
    scores = tagger.evaluate(test)
    with tempfile.TemporaryDirectory() as folder:
        size = tagger.save(Path(folder, "model.tw")).stat().st_size
    return {
        "accuracy": scores.accuracy,
        "interval": scores.interval,
        "unknown words": scores.unknown_accuracy,
        "train seconds": clock.cpu,
        "train wall seconds": clock.wall,
        "words a second": tokens / seconds,
        "model MB": size / 1e6,
        "dev": [p.score for p in tagger.history_],
    }


def run_nltk(train, test, column: str) -> dict[str, Any]:
    from nltk.tag.perceptron import PerceptronTagger

    pairs = [list(zip(s.forms, s.column(column), strict=True)) for s in train]
    words = [list(s.forms) for s in test]
    tagger = PerceptronTagger(load=False)
    _, clock = timed(lambda: tagger.train(pairs, nr_iter=NLTK_PASSES))
    found, seconds = median_of(lambda: [tagger.tag(w) for w in words], 3)
    return {
        "accuracy": accuracy(test, [[label for _, label in s] for s in found], column),
        "train seconds": clock.cpu,
        "words a second": sum(map(len, words)) / seconds,
    }


def run_vowpal_wabbit(train, test, column: str, mode: str) -> dict[str, Any]:
    from vowpalwabbit import pyvw

    labels = sorted({label for s in train for label in s.column(column)})
    numbers = {label: number for number, label in enumerate(labels, 1)}

    def write(path: Path, sentences: list[Sentence]) -> None:
        with path.open("w") as file:
            for s in sentences:
                for form, label in zip(s.forms, s.column(column), strict=True):
                    word = form.replace(":", "<colon>").replace("|", "<bar>")
                    file.write(f"{numbers.get(label, 1)} |w {word} |l {word.lower()}\n")
                file.write("\n")

    def run(arguments: str) -> None:
        pyvw.Workspace(arguments + " --quiet").finish()

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        write(here / "train", train)
        write(here / "test", test)
        search = f"--search {len(labels)} --search_task sequence --search_alpha 1e-8 -b 24 {VW_FEATURES} {mode}"
        _, clock = timed(lambda: run(f"-d {here}/train {search} --passes {VW_PASSES} --holdout_off -c -f {here}/model"))
        predict = f"-d {here}/test -t -i {here}/model -p {here}/found"
        _, seconds = median_of(lambda: run(predict), 3)
        found = [[labels[int(n) - 1] for n in line.split()] for line in (here / "found").read_text().splitlines()]
        size = (here / "model").stat().st_size
    found = [line for line in found if line]
    return {
        "accuracy": accuracy(test, found, column),
        "train seconds": clock.cpu,
        "words a second": sum(map(len, test)) / seconds,
        "model MB": size / 1e6,
    }


def main() -> None:
    folder = corpus_folder("ud-english-ewt")
    train, dev, test = (load_corpus(folder / f"{part}.conllu") for part in ("train", "dev", "test"))
    results: dict[str, Any] = {"settings": SETTINGS, "learner": LEARNER}
    for column in COLUMNS:
        rows = results[column] = {}
        baseline = majority_baseline(train, test, column)
        rows["majority"] = {"accuracy": accuracy(test, [list(s.column(column)) for s in baseline], column)}
        for name, iterations in (("Treewright", LEARNER["iterations"]), ("Treewright, one pass", 1)):
            rows[name] = run_treewright(train, dev, test, column, iterations)
            say(column, name, rows[name])
        results["peak memory GB"] = max(results.get("peak memory GB", 0.0), peak_memory())
        for name, mode in VW_MODES.items():
            rows[name] = run_vowpal_wabbit(train, test, column, mode)
            say(column, name, rows[name])
        rows["NLTK"] = run_nltk(train, test, column)
        say(column, "NLTK", rows["NLTK"])
        for peer in ("NLTK", *VW_MODES):
            ours, once, theirs = rows["Treewright"], rows["Treewright, one pass"], rows[peer]
            theirs["training, times"] = theirs["train seconds"] / ours["train seconds"]
            theirs["training once, times"] = theirs["train seconds"] / once["train seconds"]
            theirs["tagging, times"] = ours["words a second"] / theirs["words a second"]
    keep("tagging", results)
