"""Learners of AMR parsing on 400 sentences of The Little Prince, several seeds: β, losses, Table 5.1, and settings (Table 6.1).

* ``learners``: Smatch on dev after each pass. β = 1 is the control for decay δ; losses are naive Smatch and Smatch, as 1 − F, as mistakes (*absolute*), and with the penalty for
  actions; the rows of Table 5.1; LOLS and AggraVaTe with costs that are regressed.
* ``settings``: Table 6.1 again, simple imitation: one switch of the parser changed at a time; joint against staged choice; α-bounds pass by pass.

Results are saved after each row and seed, so that an interrupted run continues. A seed is finished for all rows before the next one begins.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.amr import sentences
from benchmarks.common import RESULTS, corpus_folder, keep, say
from treewright.amr import AMRParser
from treewright.corpora import Sentence, read_conllu
from treewright.policies import UPDATES

SIZE = 400  # training sentences
SEEDS = {"plain": 3, "rolled": 2, "settings": 3}
PASSES = 4
PENALTY = {"loss": "penalty"}

#: learners without roll-outs
PLAIN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "supervised": ({"name": "supervised"}, {}),
    "exploration": ({"name": "exploration"}, {}),
    "DAgger": ({"name": "dagger"}, {}),
}
#: learners with roll-outs for every action; what is changed: of the learner, and of the parser
ROLLED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    **{
        f"{title}, {label}, penalty": ({"name": name, "beta": beta}, PENALTY)
        for title, name in (("DI-DLO", "di-dlo"), ("V-DAgger", "v-dagger"))
        for label, beta in (
            ("β = 1", "constant:1"),
            ("δ = .02", "decay:0.02"),
            ("δ = .1", "decay:0.1"),
            ("δ = .3", "decay:0.3"),
        )
    },
    **{
        f"DI-DLO, δ = .1, {loss}": ({"name": "di-dlo", "beta": "decay:0.1"}, {"loss": loss})
        for loss in ("naive", "absolute", "smatch-absolute", "smatch-penalty")
    },
    **{
        f"V-DAgger, δ = .1, {loss}": ({"name": "v-dagger", "beta": "decay:0.1"}, {"loss": loss})
        for loss in ("naive", "absolute")
    },
    "V-DAgger, δ = .1, penalty, focus 5": ({"name": "v-dagger", "beta": "decay:0.1", "focus": 5}, PENALTY),
    **{
        f"{title}, δ = .1, penalty": ({"name": name, "beta": "decay:0.1"}, PENALTY)
        for title, name in (("DetLOLS", "det-lols"), ("LOLS", "batch-lols"), ("DI-LO", "di-lo"), ("LI-DO", "li-do"))
    },
    "AggraVaTe, penalty": ({"name": "aggravate"}, PENALTY),
    "SEARN, penalty": ({"name": "searn"}, PENALTY),
}
REGRESSION = {"name": "regression"}
if "regression" in UPDATES:
    ROLLED["AggraVaTe, penalty, regression"] = ({"name": "aggravate", "update": REGRESSION}, PENALTY)
    ROLLED["LOLS, δ = .1, penalty, regression"] = (
        {"name": "batch-lols", "beta": "decay:0.1", "update": REGRESSION},
        PENALTY,
    )
    ROLLED["DI-DLO, δ = .1, penalty, regression"] = (
        {"name": "di-dlo", "beta": "decay:0.1", "update": REGRESSION},
        PENALTY,
    )

_OURS = "concepts,signs,suffixes,neighbours"  # groups that the thesis does not have
_BASE = {"aligner": "improved", "reentrance": False, "without": f"actions,merged,deleted,children,{_OURS}"}


def _with(*groups: str) -> str:
    return ",".join(group for group in str(_BASE["without"]).split(",") if group not in groups)


_STRONG = {"update": {"name": "arow", "averaged": True, "r": 100.0}}
#: Table 6.1: the change of the learner, and of the parser; each beside the baseline
SWITCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "baseline: improved aligner, base features, r = 1, no Reentrance": ({}, {}),
    "+ Shenanigan features": ({}, {"shenanigans": True}),
    "r = 100": (_STRONG, {}),
    "+ action features": ({}, {"without": _with("actions")}),
    "aligner by rules": ({}, {"aligner": "rules"}),
    "+ Insert rule of the thesis": ({}, {"insert": "thesis"}),
    "Swap rule of the thesis": ({}, {"swap": "thesis"}),
    "+ child features": ({}, {"without": _with("children")}),
    "+ deleted and merged nodes": ({}, {"without": _with("deleted", "merged")}),
    "+ punctuation": ({}, {"punctuation": True}),
    "− word features": ({}, {"without": f"{_BASE['without']},words"}),
    "− paths and distances": ({}, {"without": f"{_BASE['without']},paths"}),
    "− entities": ({}, {"without": f"{_BASE['without']},entities"}),
    "+ our features": ({}, {"without": "actions,merged,deleted,children"}),
    "+ lemma replacement": ({}, {"similar": "vectors"}),
    "joint choice": ({}, {"joint": True}),
    "+ Shenanigans, r = 100": (_STRONG, {"shenanigans": True}),
    "the thesis's choice": (
        _STRONG,
        {"aligner": "rules", "insert": "thesis", "shenanigans": True, "without": f"merged,{_OURS}", "joint": True},
    ),
    "the same, staged choice": (
        _STRONG,
        {"aligner": "rules", "insert": "thesis", "shenanigans": True, "without": f"merged,{_OURS}"},
    ),
}
#: all training sentences; the first of each pair is ours
CHOICES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "exploration, staged": ({"name": "exploration", "passes": 5}, {}),
    "exploration, joint": ({"name": "exploration", "passes": 5}, {"joint": True}),
    "DAgger": ({"name": "dagger", "passes": 6}, {}),
    "DAgger, α-bound 2": ({"name": "dagger", "passes": 6, "alpha": 2}, {}),
}


def measure(
    learner: dict[str, Any], settings: dict[str, Any], train: list[Sentence], dev: list[Sentence], seed: int
) -> dict[str, Any]:
    """One training: Smatch on dev after each pass, and on the first 300 training sentences with the best pass."""
    parser = AMRParser(learner=learner, seed=seed, **{"dictionaries": corpus_folder("amr-dictionaries"), **settings})
    cpu = time.process_time()
    parser.fit(train, dev)
    seconds = time.process_time() - cpu
    return {
        "dev": [row.score for row in parser.history_],
        "train": parser.evaluate(train[:300]).f1,
        "CPU seconds": seconds,
    }


def learners(kept: dict[str, Any], train: list[Sentence], dev: list[Sentence]) -> None:
    measure({"name": "di-dlo", "passes": 1}, PENALTY, train[:5], dev[:5], 0)  # compiles
    for seed in range(max(SEEDS["plain"], SEEDS["rolled"])):
        for kind, rows in (("plain", PLAIN), ("rolled", ROLLED)):
            for name, (learner, settings) in rows.items():
                done = kept["learners"].setdefault(name, {})
                if seed < SEEDS[kind] and str(seed) not in done:
                    done[str(seed)] = measure({**learner, "passes": PASSES}, settings, train[:SIZE], dev, seed)
                    keep("amr_learners", kept)
                    say(seed, name, json.dumps(done[str(seed)]))


def settings(kept: dict[str, Any], train: list[Sentence], dev: list[Sentence]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors.txt"
        write_vectors(vectors)
        for seed in range(SEEDS["settings"]):
            for name, (learner, changed) in {**SWITCHES, **CHOICES}.items():
                done = kept["settings"].setdefault(name, {})
                if str(seed) in done:
                    continue
                if name in SWITCHES:
                    learner, changed = {"name": "supervised", "passes": PASSES, **learner}, {**_BASE, **changed}
                if changed.get("similar"):
                    changed = {**changed, "similar": vectors}
                done[str(seed)] = measure(learner, changed, train, dev, seed)
                keep("amr_learners", kept)
                say(seed, name, json.dumps(done[str(seed)]))


def write_vectors(path: Path, *, least: int = 3, window: int = 4, contexts: int = 1000, size: int = 50) -> None:
    """Vectors of lemmas of English EWT: positive pointwise mutual information in a window, reduced by an SVD."""
    lemmas = [
        [token.lemma.lower() for token in s] for s in read_conllu(corpus_folder("ud-english-ewt") / "train.conllu")
    ]
    counts = Counter(lemma for row in lemmas for lemma in row)
    words = [lemma for lemma, count in counts.most_common() if count >= least and lemma.strip() and " " not in lemma]
    place = {word: k for k, word in enumerate(words)}
    table = np.zeros((len(words), contexts))
    for row in lemmas:
        numbers = [place.get(lemma, -1) for lemma in row]
        for k, word in enumerate(numbers):
            for other in (*numbers[max(k - window, 0) : k], *numbers[k + 1 : k + 1 + window]):
                if word >= 0 and 0 <= other < contexts:
                    table[word, other] += 1
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    information = np.log(np.maximum(table, 1e-9) / np.maximum(expected, 1e-9)).clip(0)
    left, values, _ = np.linalg.svd(information, full_matrices=False)
    vectors = left[:, :size] * np.sqrt(values[:size])
    with path.open("w", encoding="utf-8") as file:
        for word, vector in zip(words, vectors, strict=True):
            file.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")


def main() -> None:
    path = RESULTS / "amr_learners.json"
    before = json.loads(path.read_text()) if path.is_file() else {}
    kept: dict[str, Any] = {name: before.get(name, {}) for name in ("settings", "learners")}
    train, dev = sentences("train"), sentences("dev")
    settings(kept, train, dev)
    learners(kept, train, dev)


# ---- the page


def best_of(row: dict[str, Any]) -> list[float]:
    """The best Smatch on dev of each seed."""
    return [max(one["dev"]) for one in row.values()]


def mean_and_spread(values: list[float]) -> str:
    """The mean, and half the range over seeds."""
    return f"{100 * statistics.fmean(values):.1f} ± {50 * (max(values) - min(values)):.1f}"


def by_pass(row: dict[str, Any]) -> list[str]:
    """The mean on dev after each pass."""
    return [
        f"{100 * statistics.fmean(scores):.1f}" for scores in zip(*(one["dev"] for one in row.values()), strict=True)
    ]


def report(results: dict[str, Any]) -> list[str]:
    """The sections of the page of benchmarks."""
    from benchmarks.report import number, percent, table

    rows, switches = results["learners"], results["settings"]
    text = [
        "### Learners, several seeds",
        "",
        f"Trained on the first {SIZE} sentences of The Little Prince, {PASSES} passes, roll-outs for every action with one sample, one thread: `python -m benchmarks amr_learners`. Smatch on dev "
        "after each pass, the mean of the seeds; the best pass, ± half the range over the seeds; Smatch on the first 300 training sentences with the best pass; CPU seconds of one training.",
        "",
    ]
    body = [
        [name, *by_pass(row), mean_and_spread(best_of(row)), percent(statistics.fmean(one["train"] for one in row.values())), str(len(row)),
         number(statistics.fmean(one["CPU seconds"] for one in row.values()))]
        for name, row in rows.items()
        if row
    ]  # fmt: skip
    text += table(["", *(str(k + 1) for k in range(PASSES)), "best", "train", "seeds", "CPU s"], body)
    text += [
        "### Table 6.1: one switch at a time",
        "",
        f"Simple imitation on all training sentences, {PASSES} passes; the mean over {SEEDS['settings']} seeds of Smatch on training and dev sentences with the pass that is best on dev, and the change against the baseline, with "
        "that of the thesis on newswire where it has the row. Lemma replacement is by vectors of co-occurrence in English EWT (50 dimensions). The thesis has joint choices throughout; here they are staged unless a row says *joint*.",
        "",
    ]
    base = switches[next(iter(SWITCHES))]
    base_dev, base_train = statistics.fmean(best_of(base)), statistics.fmean(one["train"] for one in base.values())
    body = []
    for name in SWITCHES:
        if row := switches.get(name):
            dev, trained = statistics.fmean(best_of(row)), statistics.fmean(one["train"] for one in row.values())
            shown = [percent(trained), mean_and_spread(best_of(row))]
            change = [] if row is base else [f"{100 * (trained - base_train):+.1f}", f"{100 * (dev - base_dev):+.1f}"]
            body.append([name, *shown, *(change or ["", ""]), THESIS.get(name, "")])
    text += table(["", "train", "dev", "Δ train", "Δ dev", "Δ dev, thesis"], body)
    text += [
        "### Joint and staged choice, and α-bounds, pass by pass",
        "",
        "All training sentences; Smatch on dev after each pass, the mean of the seeds.",
        "",
    ]
    most = max(len(by_pass(switches[name])) for name in CHOICES if switches.get(name))
    body = [
        [name, *(by_pass(row) + [""] * most)[:most], mean_and_spread(best_of(row))]
        for name in CHOICES
        if (row := switches.get(name))
    ]
    text += table(["", *(str(k + 1) for k in range(most)), "best"], body)
    return text + FINDINGS


#: the column "F-Val" of Table 6.1
THESIS = {
    "+ Shenanigan features": "+2.9",
    "r = 100": "+2.3",
    "+ action features": "+2.2",
    "aligner by rules": "+2.1",
    "+ Insert rule of the thesis": "+1.9",
    "+ child features": "+1.3",
    "+ deleted and merged nodes": "+0.7",
    "+ punctuation": "+0.4",
    "− word features": "+0.1",
    "+ lemma replacement": "−1.8",
    "+ Shenanigans, r = 100": "+3.6",
}
FINDINGS: list[str] = []
