"""Policies with an encoder: accuracy, speed against the linear parser, and the learners with an encoder.

``python -m benchmarks encoders --train NAME --seed 0 --vectors FILE --out FOLDER`` makes one training of :data:`TRAININGS` and writes
a model and a JSON file to FOLDER; it is for a machine with a GPU. ``python -m benchmarks encoders --runs FOLDER`` reads the JSON
files and the models there, measures the speed of the models on this machine, in turns with the linear parser, compares the trees with
those of PyTorch's forward pass, and keeps everything in ``benchmarks/results/encoders.json``. Settings were chosen on dev; test is
scored once for each model. ``--here training slice shares`` measures what one core can: the time of training, the
stack-LSTM on a part of EWT, and where the time of parsing goes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # BLAS reads them when NumPy loads it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.common import RESULTS, ROOT, corpus_folder, keep, say, timed
from benchmarks.dependency_peers import spacy_parser, train_spacy, train_udpipe, udpipe_parser
from treewright.amr import AMRParser, join_trees
from treewright.corpora import Sentence, load_corpus, read_amr
from treewright.dependency import DependencyParser
from treewright.reports.line_plot import Point, plot_svg
from treewright.search.running import blocks, decode
from treewright.tagging import Tagger

EWT, AFRIKAANS = "ud-english-ewt", "ud-afrikaans-afribooms"
TURNS = 5
EXPLORATION = {"name": "exploration", "passes": 80, "k": 1}
LONGER = {**EXPLORATION, "passes": 120}
WORDS_ONLY = {"input_columns": (), "output_columns": ("upos", "xpos", "feats"), "tag_loss": 0.5}
#: the settings of each training; ``vectors`` stands for a file of fixed vectors, ``teacher`` for the best large model
TRAININGS: dict[str, dict[str, Any]] = {
    "large": {"policy": "large", "vectors": True},
    "large-plain": {"policy": "large"},
    "large-distilled": {"policy": "large", "vectors": True, "teacher": True},
    "large-words": {"policy": "large", "vectors": True, **WORDS_ONLY},
    "large-words-distilled": {"policy": "large", "vectors": True, **WORDS_ONLY, "teacher": True},
    "medium": {"policy": "medium", "vectors": True, "learner": LONGER},
    "medium-distilled": {"policy": "medium", "vectors": True, "teacher": True, "learner": LONGER},
    "small-distilled": {"policy": "small", "vectors": True, "teacher": True},
    "small-plain-distilled": {"policy": "small", "teacher": True},
    "small-plain": {"policy": "small", "learner": {**EXPLORATION, "passes": 40}},
    "stack-lstm": {"policy": "stack-lstm", "learner": {**EXPLORATION, "passes": 20}},
    "af-medium": {"policy": "medium"},
    "tag-upos": {"column": "upos", "policy": "large", "vectors": True},
    "tag-xpos": {"column": "xpos", "policy": "large", "vectors": True},
    "amr-small": {"policy": "small", "learner": {**EXPLORATION, "passes": 40}},
}
LEARNERS: dict[str, dict[str, Any]] = {
    "static": {"learner": {"name": "supervised", "passes": 40}, "oracle": "static"},
    "dynamic": {"learner": {"name": "exploration", "passes": 40, "k": 1000}},
    "exploration": {"learner": {**EXPLORATION, "passes": 40}},
    "dagger": {"learner": {"name": "dagger", "passes": 10, "epochs": 4}},
    "aggravate": {"learner": {"name": "aggravate", "passes": 10, "epochs": 4, "focus": 1}},
    "v-dagger": {"learner": {"name": "v-dagger", "passes": 6, "epochs": 6, "focus": 3}},
    "searn": {"learner": {"name": "searn", "passes": 4, "epochs": 8, "focus": 3}},
    "lols": {"learner": {"name": "lols", "passes": 30, "focus": 3}},
}
TRAININGS |= {f"learner-{name}": {"policy": "medium", "vectors": True, **row} for name, row in LEARNERS.items()}
CALLED = {
    "large": "large",
    "large-plain": "large, without fixed vectors",
    "large-distilled": "large, distilled from another large one",
    "large-words": "large, words only, predicts tags",
    "large-words-distilled": "large, words only, predicts tags, distilled from one that reads tags",
    "medium": "medium",
    "medium-distilled": "medium, distilled",
    "small-distilled": "small, distilled",
    "small-plain-distilled": "small, distilled, without fixed vectors",
    "small-plain": "small, without fixed vectors, 40 passes",
    "stack-lstm": "stack-LSTM, without fixed vectors, 20 passes",
    "af-medium": "Afrikaans: medium, without fixed vectors",
    "tag-upos": "tagging UPOS, large",
    "tag-xpos": "tagging XPOS, large",
    "amr-small": "AMR, The Little Prince, given trees: small, without fixed vectors",
}


def corpus_of(name: str) -> str:
    return AFRIKAANS if name.startswith("af-") else EWT


def read_part(name: str, part: str) -> list[Sentence]:
    """The sentences of a training, with the graphs and the given trees of The Little Prince for AMR."""
    if not name.startswith("amr-"):
        return load_corpus(corpus_folder(corpus_of(name)) / f"{part}.conllu")
    folder = corpus_folder("amr-little-prince")
    return join_trees(list(read_amr(folder / f"{part}.txt")), load_corpus(folder / "trees" / f"{part}.conllu"))


def train_one(name: str, seed: int, arguments: argparse.Namespace) -> None:
    """One training: a model, and a JSON file with its scores and its time."""
    import torch

    settings = {"learner": EXPLORATION, **TRAININGS[name], "seed": seed, "device": arguments.device}
    for key in ("vectors", "teacher"):
        if settings.pop(key, False):
            settings[key] = getattr(arguments, key)
    begun = time.perf_counter()
    train, dev, test = (read_part(name, part) for part in ("train", "dev", "test"))
    train = train[: arguments.sentences]
    estimator = {"tag": Tagger, "amr": AMRParser}.get(name[:3], DependencyParser)(**settings)
    history: list[list[Any]] = []

    def report(row: Any) -> None:
        history.append([row.iteration, row.loss, row.score, row.seconds])
        say(f"{name}-{seed}: pass {row.iteration}, loss {row.loss:.4f}, dev {row.score}, {row.seconds:.1f} s")

    judged = None if name.startswith("amr-") else dev  # Smatch would take longer than learning; the last pass counts
    estimator.fit(train, dev=judged, jobs=arguments.jobs, report=report)
    row: dict[str, Any] = {
        "name": f"{name}-{seed}",
        "settings": {key: str(value) for key, value in settings.items()},
        "seconds": time.perf_counter() - begun,
        "passes": len(history),
        "history": history,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu",
    }
    path = Path(arguments.out, f"{row['name']}.tw")
    row["bytes"] = estimator.save(path).stat().st_size
    for part, corpus in (("dev", dev), ("test", test)):
        scores = estimator.evaluate(corpus)
        row[part] = {
            measure: getattr(scores, measure)
            for measure in ("las", "uas", "accuracy", "f1")
            if hasattr(scores, measure)
        }
    path.with_suffix(".json").write_text(json.dumps(row))


# ---- what was trained elsewhere


def read_runs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of all trainings, by the name without the seed: those that were kept before, and those of the folder.

    Of several rows of a name the last one counts.
    """
    kept = RESULTS / "encoders.json"
    before = json.loads(kept.read_text())["runs"] if kept.exists() else {}
    rows: dict[str, dict[str, Any]] = {row["name"]: row for each in before.values() for row in each}
    for file in sorted(folder.rglob("*.json"), key=lambda path: path.stat().st_mtime):
        found = json.loads(file.read_text())
        rows |= {row["name"]: row for row in (found if isinstance(found, list) else [found]) if "test" in row}
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in sorted(rows, key=lambda name: (name.rpartition("-")[0], int(name.rpartition("-")[2]))):
        row = {key: value for key, value in rows[name].items() if key != "history"}
        for key in {"vectors", "teacher"} & set(row["settings"]):
            row["settings"][key] = Path(row["settings"][key]).name
        runs[name.rpartition("-")[0]].append(row)
    return dict(runs)


def score(row: dict[str, Any], part: str) -> float:
    found: dict[str, float] = row[part]
    return next(found[measure] for measure in ("las", "accuracy", "f1") if measure in found)


# ---- speed and sameness, on this machine


def linear_parser(path: Path, corpus: str = EWT) -> DependencyParser:
    """The accurate linear parser of a treebank, trained here unless it is kept."""
    if not path.exists():
        folder = corpus_folder(corpus)
        parser = DependencyParser().fit(load_corpus(folder / "train.conllu"), dev=load_corpus(folder / "dev.conllu"))
        path.parent.mkdir(parents=True, exist_ok=True)
        parser.save(path)
    return DependencyParser.load(path)


def scores_of(parser: DependencyParser, corpus: str) -> dict[str, Any]:
    """LAS and UAS on dev and test."""
    found = {part: parser.evaluate(load_corpus(corpus_folder(corpus) / f"{part}.conllu")) for part in ("dev", "test")}
    return {part: {"las": scores.las, "uas": scores.uas} for part, scores in found.items()}


def peers(folder: Path) -> dict[str, Callable[[list[Sentence]], Any]]:
    """spaCy and UDPipe 1, trained briefly: enough for their speed, which does not depend on the time of training."""
    train, dev = (load_corpus(corpus_folder(EWT) / f"{part}.conllu") for part in ("train", "dev"))
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "UDPipe 1": udpipe_parser(train_udpipe(train[:1000], dev[:200], folder, iterations=1)),
        "spaCy": spacy_parser(train_spacy(train[:2000], dev[:200], folder, steps=200)),
    }


def speeds(parsers: dict[str, Callable[[list[Sentence]], Any]]) -> dict[str, Any]:
    """Words in a CPU second on one thread, in turns: medians, and the medians of the ratios to the first parser."""
    sentences = [sentence for sentence in load_corpus(corpus_folder(EWT) / "test.conllu") if len(sentence)]
    words = sum(map(len, sentences))
    for parse in parsers.values():
        parse(sentences)  # compiles, and remembers forms as a parser that has run for a while
    found: dict[str, list[float]] = {name: [] for name in parsers}
    for _ in range(TURNS):
        for name, parse in parsers.items():
            _, clock = timed(lambda parse=parse: parse(sentences))
            found[name].append(words / clock.cpu)
    base = found[next(iter(found))]
    return {
        name: {
            "words a second": statistics.median(each),
            "against linear": statistics.median(a / b for a, b in zip(each, base, strict=True)),
        }
        for name, each in found.items()
    }


@cache
def integer_product() -> Any:
    """A product of matrices in 8 bits, summed in 32 bits, with a scale for each row of x and each column of w."""
    from numba import njit

    @njit(error_model="numpy")
    def multiply(x: Any, w: Any, scales: Any, whole: Any, sums: Any, out: Any) -> None:
        for r in range(x.shape[0]):
            largest = np.float32(1e-20)
            for k in range(x.shape[1]):
                largest = max(largest, abs(x[r, k]))
            for k in range(x.shape[1]):
                whole[k] = np.int8(np.rint(x[r, k] * (np.float32(127.0) / largest)))
            for n in range(sums.shape[0]):
                sums[n] = 0
            for k in range(0, x.shape[1], 4):
                a, b, c, d = np.int32(whole[k]), np.int32(whole[k + 1]), np.int32(whole[k + 2]), np.int32(whole[k + 3])
                wa, wb, wc, wd = w[k], w[k + 1], w[k + 2], w[k + 3]
                for n in range(sums.shape[0]):
                    sums[n] += (a * np.int32(wa[n]) + b * np.int32(wb[n])) + (c * np.int32(wc[n]) + d * np.int32(wd[n]))
            for n in range(sums.shape[0]):
                out[r, n] = np.float32(sums[n]) * (scales[n] * (largest / np.float32(127.0)))

    return multiply


def in_8_bits(x: Any, matrix: Any) -> Callable[[], Any]:
    """The product of a matrix of activations and one of parameters by :func:`integer_product`, ready to be called."""
    scales = np.abs(matrix).max(axis=0) / np.float32(127.0)
    w, out = np.rint(matrix / scales).astype(np.int8), np.zeros((len(x), matrix.shape[1]), np.float32)
    whole, sums = np.zeros(x.shape[1], np.int8), np.zeros(matrix.shape[1], np.int32)

    def run() -> Any:
        integer_product()(x, w, scales, whole, sums, out)
        return out

    exact = x @ matrix
    assert np.abs(run() - exact).max() < 0.05 * np.abs(exact).max()
    return run


def shares_of_time(parser: DependencyParser) -> dict[str, float]:
    """Where the time of parsing goes with convolutions: µs a word on one thread, medians of :data:`TURNS` turns.

    ``products`` are the matrix products of the convolutions and of the table, with the same shapes, and nothing else:
    what a kernel for whole numbers of 8 bits could make faster; ``products in 8 bits`` is such a kernel.
    """
    sentences = [sentence for sentence in load_corpus(corpus_folder(EWT) / "test.conllu") if len(sentence)]
    tokens = [sentence.tokens for sentence in sentences]
    parser.arcs(sentences)
    packed, policy = parser._pack(tokens), parser.policy_
    parts = [np.arange(*part) for part in blocks(policy, packed.lengths, 0, len(packed))]
    scorers = [policy.prepare(packed, part) for part in parts]
    p = policy._encoders[0].parameters
    rows = [int(packed.lengths[part].sum()) + 2 * len(part) for part in parts]
    names = [*(f"filters{layer}" for layer in range(policy.architecture.layers)), "slots"]
    random = np.random.default_rng(0)
    inputs = {name: [random.normal(size=(n, len(p[name]))).astype(np.float32) for n in rows] for name in names}
    whole = [in_8_bits(each, p[name]) for name in names for each in inputs[name]]

    def products() -> None:
        for name in names:
            for each in inputs[name]:
                each @ p[name]

    def products_in_8_bits() -> None:
        for each in whole:
            each()

    def scoring() -> None:
        ready = iter(scorers)
        decode(packed, SimpleNamespace(block=policy.block, prepare=lambda packed, which: next(ready)))

    work: dict[str, Callable[[], Any]] = {
        "all": lambda: parser.arcs(sentences),
        "reading": lambda: parser._pack(tokens),
        "encoding": lambda: [policy.prepare(packed, part) for part in parts],
        "products": products,
        "products in 8 bits": products_in_8_bits,
        "scoring": scoring,
    }
    found: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(TURNS):
        for name, run in work.items():
            found[name].append(timed(run)[1].cpu)
    words = sum(map(len, sentences))
    return {name: 1e6 * statistics.median(each) / words for name, each in found.items()}


def clock_training(policy: str, passes: int = 3) -> dict[str, float]:
    """The CPU seconds of a pass over EWT with its score on dev, and of a training of 40 passes at this rate."""
    train, dev = (load_corpus(corpus_folder(EWT) / f"{part}.conllu") for part in ("train", "dev"))
    settings = {"policy": policy, "device": "cpu"}
    DependencyParser(**settings, learner={**EXPLORATION, "passes": 1}).fit(train[:50], dev=dev[:10])  # compiles
    clocks = [time.process_time()]
    parser = DependencyParser(**settings, learner={**EXPLORATION, "passes": passes})
    parser.fit(train, dev=dev, report=lambda row: clocks.append(time.process_time()))
    rest = statistics.median(np.diff(clocks)[1:])
    return {"pass": rest, "40 passes": clocks[1] - clocks[0] + 39 * rest}


SLICE = 1000  # sentences of EWT, for what is compared on one core


def compare_on_a_slice() -> dict[str, Any]:
    """Encoders without fixed vectors, trained on the first :data:`SLICE` sentences of EWT: scores on dev, speed."""
    train, dev = (load_corpus(corpus_folder(EWT) / f"{part}.conllu") for part in ("train", "dev"))
    rows, parsers = {}, {"linear": DependencyParser().fit(train[:SLICE])}
    for policy, passes in (("small", 20), ("stack-lstm", 10)):
        learner = {**EXPLORATION, "passes": passes}
        made = DependencyParser(policy=policy, device="cpu", learner=learner)
        parsers[policy], clock = timed(lambda made=made: made.fit(train[:SLICE]))
        rows[policy] = {"passes": passes, "training": clock.cpu}
    for name, parser in parsers.items():
        scores = parser.evaluate(dev)
        rows[name] = {**rows.get(name, {}), "las": scores.las, "uas": scores.uas}
    for name, speed in speeds({name: parser.arcs for name, parser in parsers.items()}).items():
        rows[name] |= speed
    return rows


def measure_here(parts: list[str], folder: Path) -> None:
    """Measure on this machine what needs no GPU, and keep it beside the rest of the results."""
    path = RESULTS / "encoders.json"
    kept = json.loads(path.read_text())
    here = kept.setdefault("here", {})
    if "training" in parts:
        here["training"] = {"small": clock_training("small")}
    if "slice" in parts:
        here["slice"] = compare_on_a_slice()
    if "shares" in parts:
        models = {size: folder / f"slice-{size}.tw" for size in ("small", "medium")}
        for size, model in models.items():
            if not model.exists():
                train = load_corpus(corpus_folder(EWT) / "train.conllu")[:SLICE]
                learner = {**EXPLORATION, "passes": 10}
                DependencyParser(policy=size, device="cpu", learner=learner).fit(train).save(model)
        here["shares"] = {size: shares_of_time(DependencyParser.load(model)) for size, model in models.items()}
    for part in parts:
        say(part, here[part])
    here["date"] = datetime.date.today().isoformat()
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def different_arcs(parser: DependencyParser) -> dict[str, Any]:
    """On EWT dev: heads and labels that differ between NumPy's and PyTorch's forward pass."""
    from treewright.policies.encoders import UntrainedEncoder

    dev = [sentence for sentence in load_corpus(corpus_folder(EWT) / "dev.conllu") if len(sentence)]
    policy = parser.policy_
    packed = parser._pack([sentence.tokens for sentence in dev])
    untrained = UntrainedEncoder(policy.architecture, policy.inputs, device="cpu", start=policy.members[0])
    both = (policy, untrained.trainer(packed, None).policy())
    heads, labels = ([each.decode(packed).field(name)[0] for each in both] for name in ("heads", "labels"))
    differ = (heads[0] != heads[1]) | (labels[0] != labels[1])
    return {"words": int(packed.lengths.sum()), "different": int(np.count_nonzero(differ))}


# ---- the page


def report(kept: dict[str, Any]) -> list[str]:
    """The section for ``docs/benchmarks.md``."""
    runs, speed = kept["runs"], kept.get("speed", {})
    machines = sorted({row["device"] for rows in runs.values() for row in rows})
    text = [
        "## Encoders",
        "",
        "Policies with an [encoder](encoders.md), gold tokens and gold tags unless words only are read; EWT unless said. `python -m benchmarks",
        f"encoders` measures speed here, on one thread, in turns with the linear parser. The trainings ran on: {', '.join(machines)};",
        "several side by side, so that the times are upper bounds. Means over seeds; ± is half the distance between the best and the worst seed. "
        + kept["notes"],
        "",
        "| | seeds | dev | test | UAS test | words/s | × linear | model, MB | training, s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, called in (("linear", "linear, accurate"), ("af-linear", "Afrikaans: linear, accurate")):
        if name in kept.get("linear", {}):
            row = kept["linear"][name]
            las = [f"{100 * row[part]['las']:.2f}" for part in ("dev", "test")]
            fast = f"{speed[name]['words a second']:,.0f} | 1.00" if name in speed else " | "
            text.append(f"| {called} | | {las[0]} | {las[1]} | {100 * row['test']['uas']:.2f} | {fast} | | |")
    for name in ("spaCy", "UDPipe 1"):
        if name in speed:
            fast = speed[name]
            text.append(
                f"| {name}, for speed only | | | | | {fast['words a second']:,.0f} | {fast['against linear']:.2f} | | |"
            )
    for name, called in CALLED.items():
        if name not in runs:
            continue
        rows, fast = runs[name], speed.get(name, {})
        cells = [
            called,
            str(len(rows)),
            *(mean_and_spread([score(row, part) for row in rows]) for part in ("dev", "test")),
        ]
        cells.append(mean_and_spread([row["test"]["uas"] for row in rows]) if "uas" in rows[0]["test"] else "")
        cells.append(f"{fast['words a second']:,.0f}" if fast else "")
        cells.append(f"{fast['against linear']:.2f}" if fast else "")
        cells += [
            f"{np.mean([row['bytes'] for row in rows]) / 1e6:.1f}",
            f"{np.mean([row['seconds'] for row in rows]):.0f}",
        ]
        text.append("| " + " | ".join(cells) + " |")
    text.append("")
    if kept.get("same trees"):
        differ = ", ".join(f"{name}: {row['different']}" for name, row in kept["same trees"].items())
        words = next(iter(kept["same trees"].values()))["words"]
        text += [
            f"Words of EWT dev (of {words:,}) whose head or label differs from that of PyTorch's forward pass: {differ}.",
            "",
        ]
    learners = {name: runs[f"learner-{name}"] for name in LEARNERS if f"learner-{name}" in runs}
    return text + here_rows(kept.get("here", {})) + (learner_rows(learners) if learners else [])


def here_rows(here: dict[str, Any]) -> list[str]:
    """What was measured on one core of the machine on which this page was made."""
    text = ["### On one core", ""] if here else []
    if "training" in here:
        row = here["training"]["small"]
        text += [
            f"Training `small` on EWT without fixed vectors takes {row['pass']:.1f} CPU seconds a pass with the score on dev, "
            f"{row['40 passes'] / 60:.1f} minutes for",
            "the usual 40 passes (`python -m benchmarks encoders --here training`).",
            "",
        ]
    if "slice" in here:
        text += [
            f"The stack-LSTM beside others, all trained on the first {SLICE:,} sentences of EWT without fixed vectors (`--here slice`):",
            "",
            "| | passes | dev LAS | dev UAS | training, CPU s | words/s | × linear |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for name in ("linear", "small", "stack-lstm"):
            row = here["slice"][name]
            trained = [f"{row[key]:.0f}" if key in row else "" for key in ("passes", "training")]
            scores = [f"{100 * row[key]:.2f}" for key in ("las", "uas")]
            speed = [f"{row['words a second']:,.0f}", f"{row['against linear']:.2f}"]
            text.append("| " + " | ".join([f"`{name}`", trained[0], *scores, trained[1], *speed]) + " |")
        text.append("")
    if "shares" in here:
        text += [
            "Where the time of parsing goes, µs a word (`--here shares`). Products are the matrix products of the encoder alone, by BLAS in 32",
            "bits, and by a compiled kernel in 8 bits with sums in 32 bits, which is slower. Hence there are no kernels in 8 bits.",
            "",
            "| | all | reading | encoding | products | products in 8 bits | scoring |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for size, row in here["shares"].items():
            cells = [
                f"{row[key]:.1f}" for key in ("all", "reading", "encoding", "products", "products in 8 bits", "scoring")
            ]
            text.append("| " + " | ".join([f"`{size}`", *cells]) + " |")
        text.append("")
    return text


def learner_rows(learners: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Learners with the medium policy: the difference to the static oracle, seed by seed."""
    text = [
        "### Learners with an encoder",
        "",
        "The medium policy, by the learner, trained on the first 3,000 sentences of EWT. The interval (95 %, Student's t) of the",
        "difference is over seeds.",
        "",
        "![differences to the static oracle](images/encoder_learners.svg)",
        "",
    ]
    text += ["| learner | seeds | dev LAS | test LAS | test − static | training, s |", "|---|---:|---:|---:|---:|---:|"]
    for name, rows in learners.items():
        cells = [
            f"`{name}`",
            str(len(rows)),
            *(mean_and_spread([score(row, part) for row in rows]) for part in ("dev", "test")),
        ]
        cells.append("" if name == "static" else with_interval(against_static(learners, name)))
        text.append("| " + " | ".join([*cells, f"{np.mean([row['seconds'] for row in rows]):.0f}"]) + " |")
    return [*text, ""]


def against_static(learners: dict[str, list[dict[str, Any]]], name: str) -> list[float]:
    """The differences of a learner to the static oracle on test, seed by seed."""
    base, own = (
        {row["name"].rpartition("-")[2]: score(row, "test") for row in learners.get(each, [])}
        for each in ("static", name)
    )
    return [own[seed] - base[seed] for seed in own if seed in base]


def draw(learners: dict[str, list[dict[str, Any]]]) -> None:
    """The difference to the static oracle with its interval, over the time of training, as a picture."""
    series = {}
    for name in learners:
        mean, half = interval(against_static(learners, name)) if name != "static" else (0.0, 0.0)
        seconds = float(np.mean([row["seconds"] for row in learners[name]]))
        series[name] = [Point(seconds, 100 * mean, 100 * (mean - half), 100 * (mean + half), name)]
    picture = plot_svg(series, x_label="seconds of training", y_label="test LAS − static oracle", lines=False)
    (ROOT / "docs" / "images" / "encoder_learners.svg").write_text(picture, encoding="utf-8")


def interval(values: list[float]) -> tuple[float, float]:
    """The mean of some values, and the half-width of its 95 % interval."""
    quantile = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}.get(len(values), 1.96)
    return statistics.mean(values), quantile * statistics.stdev(values) / len(values) ** 0.5


def mean_and_spread(values: list[float]) -> str:
    half = 50 * (max(values) - min(values))
    return f"{100 * float(np.mean(values)):.2f}" + (f" ± {half:.2f}" if len(values) > 1 else "")


def with_interval(differences: list[float]) -> str:
    """The mean of differences with the half-width of its 95 % interval."""
    if len(differences) < 2:
        return "".join(f"{100 * each:+.2f}" for each in differences)
    mean, half = interval(differences)
    return f"{100 * mean:+.2f} ± {100 * half:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks encoders")
    parser.add_argument("part", nargs="*")
    parser.add_argument(
        "--runs", type=Path, default=ROOT / "build" / "device-results", help="results and models of trainings"
    )
    parser.add_argument("--notes", default="", help="what the page says of the trainings")
    parser.add_argument(
        "--linear", type=Path, default=ROOT / "build" / "linear-ewt.tw", help="the linear parser; trained if not there"
    )
    parser.add_argument(
        "--here", nargs="+", choices=["training", "slice", "shares"], help="measure this and nothing else"
    )
    parser.add_argument("--train", choices=[*TRAININGS], help="make this training and nothing else")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1, help="threads of the roll-ins")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--sentences", type=int, help="train on the first ones only")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "device-results")
    arguments = parser.parse_args()
    if arguments.here:
        arguments.out.mkdir(parents=True, exist_ok=True)
        measure_here(arguments.here, arguments.out)
        return
    if arguments.train:
        arguments.out.mkdir(parents=True, exist_ok=True)
        train_one(arguments.train, arguments.seed, arguments)
        return
    runs = read_runs(arguments.runs)
    results: dict[str, Any] = {"notes": arguments.notes, "runs": runs}
    if (RESULTS / "encoders.json").exists():
        results["here"] = json.loads((RESULTS / "encoders.json").read_text()).get("here", {})
    paths = {path.stem.rpartition("-")[0]: path for path in sorted(arguments.runs.rglob("*.tw"), reverse=True)}
    wanted = [
        name
        for name in (
            "small-distilled",
            "small-plain-distilled",
            "medium",
            "medium-distilled",
            "large",
            "large-distilled",
            "large-words",
        )
        if name in paths
    ]
    if wanted:
        encoded = {name: DependencyParser.load(paths[name]) for name in wanted}
        results["same trees"] = {name: different_arcs(each) for name, each in encoded.items()}
        say(results["same trees"])
        linear = linear_parser(arguments.linear)
        afrikaans = linear_parser(arguments.linear.with_name("linear-af.tw"), AFRIKAANS)
        results["linear"] = {"linear": scores_of(linear, EWT), "af-linear": scores_of(afrikaans, AFRIKAANS)}
        systems = {name: parser.arcs for name, parser in {"linear": linear, **encoded}.items()}
        results["speed"] = speeds({**systems, **peers(arguments.linear.parent / "peers")})
        say(results["speed"])
    learners = {name: runs[f"learner-{name}"] for name in LEARNERS if f"learner-{name}" in runs}
    if learners:
        draw(learners)
    keep("encoders", results)
    say("\n".join(report(results)))
